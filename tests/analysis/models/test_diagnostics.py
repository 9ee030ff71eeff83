"""Each verdict on a model where it must be given and on one where it must not."""

import copy
from dataclasses import replace

import pytest
import torch
from builders import tiny_checkpoint, tiny_model

from viz_transformer.analysis.models import diagnostics
from viz_transformer.analysis.models.diagnostics import examine
from viz_transformer.checkpoint import load, save_checkpoint
from viz_transformer.model.config import tutorial
from viz_transformer.model.layers import FeedForward

PAIRS = [("abc", "uv"), ("badge", "x1")]
SLIPS = tutorial("en-it", source_vocab_size=12, target_vocab_size=20, pad_to=20).to_dict()
SLIPS = {name: SLIPS[name] for name in "norm final_norm norm_kind merge mask_fill padding_mask".split()}


def checks(ckpt, text="abc", pairs=PAIRS):
    found = examine(ckpt, text, pairs)
    assert len({check.name for check in found}) == len(found)
    return {check.name: check for check in found}


@pytest.fixture
def ckpt():
    return tiny_checkpoint()


def test_a_sound_random_model_is_fine_but_guesses(ckpt):
    found = checks(ckpt)
    bad = {name for name, check in found.items() if check.verdict == "bad"}
    assert bad == {"better than guessing"}
    for name in ("numbers", "sizes", "looking", "repeating", "causality", "steps", "padding", "rows of weights"):
        assert found[name].verdict == "ok", found[name]
    assert found["weights file"].verdict == "note" and "made in memory" in found["weights file"].sentence


def test_every_sentence_is_one_and_ends(ckpt):
    for check in examine(ckpt, "abc", PAIRS):
        assert check.sentence.endswith(".") and "\n" not in check.sentence
        assert check.verdict in ("ok", "bad", "note")


def test_progress_goes_up_to_all(ckpt):
    heard = []
    examine(ckpt, "abc", PAIRS, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(done, len(heard)) for done in range(1, len(heard) + 1)]


def test_numbers_that_are_not_finite_are_counted_and_named(ckpt):
    with torch.no_grad():
        ckpt.model.output.bias[3] = torch.nan
        ckpt.model.output.bias[4] = torch.inf
    (check,) = diagnostics._check_finite(ckpt)
    assert check.verdict == "bad"
    assert check.sentence == "2 of the parameters are NaN or infinite: output.bias (2)."


def test_a_model_of_other_sizes_than_its_config_is_bad(ckpt):
    other = replace(ckpt, hooked_model=copy.deepcopy(ckpt.model))
    other.model.config = replace(ckpt.config, attention_bias=False)
    (check,) = diagnostics._check_sizes(other)
    assert check.verdict == "bad" and "self_attention.to_key.bias" in check.sentence
    (check,) = diagnostics._check_sizes(ckpt)
    assert check.verdict == "ok" and f"{ckpt.parameter_count:,} parameters" in check.sentence


def test_a_tied_output_is_told_from_one_of_its_own(ckpt):
    (own,) = diagnostics._check_tied(ckpt)
    (tied,) = diagnostics._check_tied(tiny_checkpoint(tied_output=True))
    assert own.sentence.startswith("It is not tied") and tied.sentence.startswith("It is tied")
    assert "320 parameters fewer" in tied.sentence  # 20 tokens of 16 numbers
    with torch.no_grad():
        ckpt.model.output.weight.copy_(ckpt.model.decoder.embedding.token.weight)
    (equal,) = diagnostics._check_tied(ckpt)
    assert "equal now" in equal.sentence


def test_rows_that_are_equal_or_zero_are_named(ckpt):
    rows = ckpt.model.encoder.embedding.token.weight
    with torch.no_grad():
        rows[4] = rows[5]
        rows[6] = 0
    source, target = diagnostics._check_embeddings(ckpt)
    assert source.verdict == "bad"
    assert "2 of them equal another one: “a”, “b”" in source.sentence and "1 is zero: “c”" in source.sentence
    assert target.verdict == "ok"


def test_looking_that_changes_something_is_found_out(ckpt, monkeypatch):
    run = diagnostics.decode(ckpt, "abc")
    assert next(diagnostics._check_recording(ckpt, run)).verdict == "ok"

    class Meddling(diagnostics.Recorder):
        def inside(self, part):
            return self

        def __call__(self, name, value):
            return super().__call__(name, value + 1e-6 if value.is_floating_point() else value)

    monkeypatch.setattr(diagnostics, "Recorder", Meddling)
    assert next(diagnostics._check_recording(ckpt, run)).verdict == "bad"


def test_dropout_that_is_on_is_bad(ckpt):
    run = diagnostics.decode(ckpt, "abc")
    assert next(diagnostics._check_dropout(ckpt, run)).sentence == (
        "Dropout, 0.1 in training, is off, and two runs are the same bit by bit."
    )
    ckpt.model.train()
    assert next(diagnostics._check_dropout(ckpt, run)).verdict == "bad"


def test_a_model_without_dropout_says_so():
    ckpt = tiny_checkpoint(dropout=0.0)
    assert checks(ckpt)["repeating"].sentence == "There is no dropout, and two runs are the same bit by bit."


def test_a_decoder_that_reads_the_future_is_bad_and_its_steps_differ():
    slips = tiny_checkpoint(pad_to=20, max_target=20, **SLIPS)
    found = checks(slips)
    assert found["causality"].verdict == "bad"
    assert found["steps"].verdict == "note" and "not causal" in found["steps"].sentence
    assert found["padding"].sentence.startswith("It always reads 20 tokens")
    assert "rows may read nothing" in found["rows of weights"].sentence


def test_padding_that_changes_logits_is_bad():
    assert checks(tiny_checkpoint(norm_kind="positions-and-features"))["padding"].verdict == "bad"
    none = tiny_checkpoint("decoder-only", target_pad=None)
    assert checks(none, "uv", [("uvw", "")])["padding"].verdict == "note"


def test_hidden_units_that_never_fire_are_counted_exactly(ckpt):
    with torch.no_grad():
        for module in ckpt.model.modules():
            if isinstance(module, FeedForward):
                module.to_hidden.bias.fill_(100.0)  # all fire
        ckpt.model.encoder.layers[1].feed_forward.to_hidden.bias[:3] = -1000.0  # but these
    (check,) = diagnostics._check_units(ckpt, PAIRS)
    assert check.verdict == "note"
    assert check.sentence.startswith("3 of 120 feed-forward units never fired in the texts of 2 example pairs")
    assert check.sentence.endswith("most of them in encoder.1 (3).")
    with torch.no_grad():
        ckpt.model.encoder.layers[1].feed_forward.to_hidden.bias.fill_(100.0)
    (check,) = diagnostics._check_units(ckpt, PAIRS)
    assert check.verdict == "ok" and check.sentence.startswith("Each of 120 feed-forward units fired")


def test_units_of_another_activation_are_not_judged():
    assert "hidden units" not in checks(tiny_checkpoint(activation="gelu"))


def test_tokens_that_no_text_gives_are_named(ckpt):
    tokens = list(ckpt.source_codec.vocabulary.tokens)
    tokens[4] = "ab"  # two characters: the tokenizer of characters never gives it
    vocabulary = type(ckpt.source_codec.vocabulary)(tokens, ckpt.source_codec.vocabulary.specials)
    odd = replace(ckpt, source_codec=replace(ckpt.source_codec, vocabulary=vocabulary))
    source, target = diagnostics._check_unreachable(odd)
    assert (source.verdict, target.verdict) == ("note", "ok")
    assert source.sentence == "1 of 8 tokens does not come back when its text is typed alone: “ab”."


def test_tokens_in_use_are_those_of_the_pairs(ckpt):
    source, target = diagnostics._check_seen(ckpt, [("abcdefgh", "uv")])
    assert (source.verdict, target.verdict) == ("ok", "note")
    assert source.sentence == "8 of 8 tokens occur in the 1 example pairs."
    assert target.sentence.startswith("2 of 16 tokens") and "not in them: “w”, “x”" in target.sentence


def test_a_missing_end_token_is_bad_for_a_model_that_answers(ckpt):
    specials = {role: token for role, token in ckpt.target_codec.vocabulary.specials.items() if role != "eos"}
    vocabulary = type(ckpt.target_codec.vocabulary)(ckpt.target_codec.vocabulary.tokens, specials)
    without = replace(ckpt, target_codec=replace(ckpt.target_codec, vocabulary=vocabulary, add_eos=False))
    source, target = diagnostics._check_specials(without)
    assert source.verdict == "ok"
    assert (target.verdict, target.sentence) == ("bad", "There is no token for end.")


def test_better_than_guessing_compares_with_the_logarithm_of_the_vocabulary(ckpt):
    (check,) = diagnostics._check_guessing(ckpt, PAIRS)
    assert check.verdict == "bad" and "a uniform guess among 20 has 2.996" in check.sentence  # ln 20
    with torch.no_grad():  # logits of 0 everywhere but for what the pairs ask for: better than even
        ckpt.model.output.weight.zero_()
        ckpt.model.output.bias.zero_()
        for token in "uvx1":
            ckpt.model.output.bias[ckpt.target_codec.vocabulary.id(token)] = 5.0
        ckpt.model.output.bias[ckpt.target_codec.vocabulary.eos] = 5.0
    (check,) = diagnostics._check_guessing(ckpt, PAIRS)
    assert check.verdict == "ok"


def test_a_decoder_alone_is_measured_on_its_texts():
    ckpt = tiny_checkpoint("decoder-only")
    loss, count = diagnostics._text_loss(ckpt, ["uvw", "x"])
    ids = ckpt.target_codec.encode("uvw").ids
    again = ckpt.target_codec.encode("x").ids
    assert count == len(ids) - 1 + len(again) - 1
    by_hand = 0.0
    for text in (ids, again):
        logits = ckpt.model(torch.tensor([text]))[0].detach().double()
        for position in range(len(text) - 1):
            by_hand -= float(torch.log_softmax(logits[position], dim=-1)[text[position + 1]])
    assert loss == pytest.approx(by_hand / count, rel=1e-5)


# ---- rows that no gradient moved, and a file that was changed


@pytest.fixture
def saved(tmp_path, ckpt):
    """A checkpoint whose source embedding moved since its first snapshot, all rows but those of <unk> and “h”."""
    before = {name: tensor.clone() for name, tensor in ckpt.model.state_dict().items()}
    rows = ckpt.model.encoder.embedding.token.weight
    kept = [ckpt.source_codec.vocabulary.unk, ckpt.source_codec.vocabulary.id("h")]
    with torch.no_grad():
        moved = rows + 0.3 * torch.randn(rows.shape, generator=torch.Generator().manual_seed(5))
        moved[kept] = 0.9 * rows[kept]  # weight decay alone
        rows.copy_(moved)
        ckpt.model.decoder.embedding.token.weight.add_(
            torch.randn(ckpt.model.decoder.embedding.token.weight.shape, generator=torch.Generator().manual_seed(6))
        )
    save_checkpoint(
        tmp_path / "kept",
        state_dict=ckpt.model.state_dict(),
        config=ckpt.config,
        source_codec=ckpt.source_codec,
        target_codec=ckpt.target_codec,
        card={"task": "copy"},
        snapshots={0: before},
    )
    return load(tmp_path / "kept")


def test_rows_that_only_shrank_were_never_trained(saved):
    source, target = diagnostics._check_trained_rows(saved)
    assert source.verdict == "note"
    assert source.sentence == "2 of 12 rows point as they did before the first step: “<unk>”, “h”."
    assert (target.verdict, target.sentence) == ("ok", "All 20 rows were turned since the first step.")


def test_without_a_first_snapshot_it_cannot_be_told(saved, ckpt):
    without = replace(saved, card={**saved.card, "sha256": {}})
    (check,) = diagnostics._check_trained_rows(without)
    assert check.verdict == "note" and check.sentence.startswith("This cannot be checked")
    (check,) = diagnostics._check_trained_rows(ckpt)
    assert check.sentence.startswith("No row was ever trained")


def test_a_weights_file_that_was_changed_is_bad(saved):
    (check,) = diagnostics._check_file(saved)
    assert check.verdict == "ok"
    path = saved.path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    (check,) = diagnostics._check_file(saved)
    assert check.verdict == "bad"


@pytest.mark.parametrize("kind", ["decoder-only", "encoder-decoder"])
def test_all_kinds_of_models_that_write_can_be_examined(kind):
    ckpt = tiny_checkpoint(kind, positions="learned")
    found = checks(ckpt, "uv" if kind == "decoder-only" else "abc", [("uvw", "")] if kind == "decoder-only" else PAIRS)
    assert ("encoder positions" in found) == (kind == "encoder-decoder")
    assert found["decoder positions"].verdict == "ok"
    assert found["steps"].verdict == "ok"


def test_pairs_that_are_too_long_for_the_model_are_left_out(ckpt):
    found = checks(ckpt, pairs=[("a" * 40, "u"), ("abc", "u" * 40), ("abc", "uv")])
    assert "on 1 example pairs (3 tokens)" in found["better than guessing"].sentence
    assert "1 example pair (" in found["hidden units"].sentence


def test_a_text_that_cannot_be_read_is_refused(ckpt):
    with pytest.raises(ValueError, match="the text is empty"):
        examine(ckpt, "", PAIRS)


def test_a_model_that_only_reads_is_told_so():
    with pytest.raises(ValueError, match="this model only reads"):
        examine(tiny_checkpoint("encoder-only"), "abc", [])


def test_the_builders_model_is_in_evaluation_mode():
    assert not tiny_model(tiny_checkpoint().config).training
