"""Every number of a run is the one that transformers computes: compared with the untouched model's own eager pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from in_turn import every
from pretrained import KINDS, PAIRS, WRITING, folder, likely_pieces, tokenizer_of
from pretrained import model as random_model
from wording import wording

from viz_transformer.analysis.inputs.embeddings import embedding_table, input_sum
from viz_transformer.analysis.layers.lens import lens
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.loading import load
from viz_transformer.huggingface.self_check import _not_turned, prove, trial_texts
from viz_transformer.huggingface.spec import spec_of_config
from viz_transformer.model import positions
from viz_transformer.model.hook import Recorder
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.strategies import Beam
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

Opened = Callable[[str], Checkpoint]
Theirs = Callable[[str], Any]
Ran = Callable[[str], Trace]
ROTATED = {*"llama mistral qwen2 qwen3 gemma gemma2 gemma3_text olmo cohere gpt_neox mixtral".split()}
ROTATED |= {*"qwen2_moe qwen3_moe olmoe phimoe gpt_oss modernbert".split()}
NORMED = {*"bert roberta distilbert modernbert deberta deberta-v2 bart mbart bloom".split()}
NARROW = ("electra", "opt/post", "albert", "albert/groups")
SOURCE, TARGET = [5, 9, 13, 7, 20, 21, 22, 6, 8, 30], [2, 30, 12, 33, 34, 5, 36, 37]


def recorded(ckpt: Checkpoint) -> Trace:
    return trace(ckpt, SOURCE, TARGET if ckpt.spec.kind == "encoder-decoder" else None)


@torch.no_grad()
def their_pass(model: Any, ckpt: Checkpoint) -> Any:
    ids = {"input_ids": torch.tensor([SOURCE])}
    if ckpt.spec.kind == "encoder-decoder":
        ids["decoder_input_ids"] = torch.tensor([TARGET])
    if model.config.model_type == "xlnet":  # its tokenizers name segments for every text
        ids["token_type_ids"] = torch.zeros_like(ids["input_ids"])
    return model(**ids, output_attentions=True, output_hidden_states=True)


@pytest.fixture(scope="module")
def run_of(opened: Opened) -> Callable[[str], Trace]:
    """The run of a family's model, recorded once."""
    return cache(lambda name: recorded(opened(name)))


@pytest.fixture(scope="module")
def their_run(opened: Opened, theirs: Theirs) -> Callable[[str], Any]:
    """The pass of its own program, made once."""
    return cache(lambda name: their_pass(theirs(name), opened(name)))


@pytest.mark.parametrize("name", KINDS)
def test_weights_and_logits_are_theirs_bit_by_bit(opened: Opened, run_of: Ran, their_run: Theirs, name: str) -> None:
    ckpt, found, expected = opened(name), run_of(name), their_run(name)
    assert torch.equal(found["logits"], expected.logits)
    attentions = {
        "encoder-decoder": {"encoder.{}.self": "encoder_attentions", "decoder.{}.self": "decoder_attentions"}
        | {"decoder.{}.cross": "cross_attentions"},
        "encoder-only": {"encoder.{}.self": "attentions"},
        "decoder-only": {"decoder.{}.self": "attentions"},
    }[ckpt.spec.kind]
    seen = 0
    for site, field in attentions.items():
        for layer, weights in enumerate(getattr(expected, field)):
            assert torch.equal(found[f"{site.format(layer)}.weights"], weights)
            assert weights.amax() > 0.35  # not flat
            seen += 1
    assert seen == len(ckpt.spec.attentions)


@pytest.mark.parametrize("name", KINDS)
def test_recording_changes_no_bit(opened: Opened, run_of: Ran, name: str) -> None:
    ckpt = opened(name)
    pair = ckpt.spec.kind == "encoder-decoder"
    texts = ([SOURCE], [TARGET]) if pair else ([SOURCE], None) if ckpt.spec.has_encoder else (None, [SOURCE])
    assert torch.equal(ckpt.hooked_model.whole(*texts), run_of(name)["logits"])


@pytest.mark.parametrize("name", KINDS)
def test_all_points_of_the_spec_are_recorded_in_their_shapes(opened: Opened, run_of: Ran, name: str) -> None:
    ckpt = opened(name)
    found, spec = run_of(name), ckpt.spec
    assert found.points() == tuple(point.name for point in spec.recorded)
    for point in found.points(derived=True):
        sizes = spec.sizes(point, batch=1, source=len(found.src), target=len(found.tgt))
        assert found[point].shape == sizes, point
    assert not [why for why in spec.missing.values() if "trial pass" in why]


@pytest.mark.parametrize("name", KINDS)
def test_streams_are_the_sums_of_their_parts_and_theirs(
    opened: Opened, run_of: Ran, their_run: Theirs, name: str
) -> None:
    ckpt = opened(name)
    found, expected = run_of(name), their_run(name)
    states = {"encoder": "encoder_hidden_states", "decoder": "decoder_hidden_states"}
    for stack in {site.partition(".")[0] for site in ckpt.spec.attentions}:
        field = states[stack] if ckpt.spec.kind == "encoder-decoder" else "hidden_states"
        for layer, stream in enumerate(getattr(expected, field)[:-1]):
            assert torch.equal(found[f"{stack}.{layer}.residual_in"], stream)


@pytest.mark.parametrize("name", [name for name in KINDS if name not in NARROW])
def test_inputs_are_the_sums_of_the_embeddings(opened: Opened, run_of: Ran, name: str) -> None:
    ckpt = opened(name)
    for side in ckpt.codecs:
        made = input_sum(run_of(name), embedding_table(ckpt, side), side)
        assert made.exact
        assert (made.before_norm is not None) == (name.partition("/")[0] in NORMED)
        assert (made.scale != 1) == (
            name in ("gemma", "gemma2", "gemma3_text", "marian", "mbart", "pegasus", "m2m_100")
        )


@pytest.mark.parametrize("name", NARROW)
def test_narrow_embeddings_are_added_up_and_a_map_makes_the_stream_of_them(
    opened: Opened, run_of: Ran, theirs: Theirs, name: str
) -> None:
    ckpt = opened(name)
    ((side, _),) = ckpt.codecs.items()
    made, model = input_sum(run_of(name), embedding_table(ckpt, side), side), theirs(name).base_model
    assert made.exact and made.out.shape == (len(SOURCE), 32)
    assert made.scaled.shape[1] == (32 if name == "albert/groups" else 16)
    if name == "opt/post":
        assert made.mapped is not None and made.position is not None and made.before_norm is made.normed is None
        table = model.decoder.embed_tokens.weight[SOURCE]
        assert torch.equal(torch.from_numpy(made.scaled), table)
        near = {"atol": 1e-6, "rtol": 1e-5}
        torch.testing.assert_close(torch.from_numpy(made.mapped), table @ model.decoder.project_in.weight.T, **near)
        assert torch.equal(torch.from_numpy(made.mapped + made.position), torch.from_numpy(made.out))
        return
    assert made.before_norm is not None and made.normed is not None and made.mapped is None
    embeddings = model.embeddings
    widens = model.embeddings_project if name == "electra" else model.encoder.embedding_hidden_mapping_in
    parts = embeddings.word_embeddings.weight[SOURCE] + embeddings.token_type_embeddings.weight[0]
    parts = parts + embeddings.position_embeddings.weight[: len(SOURCE)]
    assert torch.equal(torch.from_numpy(made.before_norm), parts)
    assert torch.equal(torch.from_numpy(made.normed), embeddings.LayerNorm(parts))
    near = {"atol": 1e-6, "rtol": 1e-5}
    torch.testing.assert_close(torch.from_numpy(made.out), widens(torch.from_numpy(made.normed)), **near)


def test_a_map_between_embeddings_and_stream_that_is_not_known_is_said(tmp_path: Path) -> None:
    ckpt = load(folder(tmp_path / "deberta", "deberta", embedding_size=16))
    with pytest.raises(Unavailable, match=wording("embeddings_have_fewer_features", 16, 32)):
        input_sum(recorded(ckpt), embedding_table(ckpt, "source"), "source")


def test_a_map_that_a_trial_pass_does_not_show_is_a_sentence(tmp_path: Path) -> None:
    """A family that is believed to go through another map than it does."""
    model: Any = load(folder(tmp_path / "electra", "electra")).hooked_model
    places = replace(model.family.stacks["encoder"], widened="encoder.layer.0.attention.self.query")
    model.family = replace(model.family, stacks={"encoder": places})
    config = model.model.config.to_dict()
    model.tell(spec_of_config(config, model.family, "masked token", "here"))
    found = prove(model)
    assert "encoder.embed.token" not in found.point and "encoder.embed.out" in found.point
    assert "trial pass" in found.missing["encoder.embed.normed"]


@pytest.mark.parametrize("name", KINDS)
def test_contributions_of_the_heads_and_the_bias_are_the_output(opened: Opened, run_of: Ran, name: str) -> None:
    ckpt = opened(name)
    found = run_of(name)
    for site in ckpt.spec.attentions:
        if f"{site}.contribution" not in found:
            assert name in ("gemma2", "gemma3_text")
            continue
        bias = ckpt.hooked_model.parameters_of(site).out.bias
        parts = found[f"{site}.contribution"].sum(dim=1) + (0 if bias is None else bias)
        torch.testing.assert_close(parts, found[f"{site}.out"], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_query_key_and_value_follow_from_the_maps(opened: Opened, run_of: Ran, name: str) -> None:
    """Values are turned by nothing, so they tell whether maps, heads and shared heads are read right."""
    ckpt = opened(name)
    found = run_of(name)
    for site, heads in ckpt.spec.attentions.items():
        value = ckpt.hooked_model.parameters_of(site).value
        if value is None:
            assert name.startswith("deepseek")
            continue
        read = found["encoder.out"] if site.endswith(".cross") else found[f"{site}.in"]
        made = torch.nn.functional.linear(read, value.weight, value.bias)
        by_head = made.unflatten(-1, (heads.key, -1)).transpose(1, 2)
        torch.testing.assert_close(by_head, found[f"{site}.value"], atol=1e-5, rtol=1e-5)


TURNED = [name for name in KINDS if name.partition("/")[0] in ROTATED]


@pytest.mark.parametrize("name", TURNED)
def test_queries_and_keys_are_those_before_turned_by_their_positions(opened: Opened, run_of: Ran, name: str) -> None:
    """Of each the pair of features i and i + half (or 2i and 2i + 1) keeps its length; position 0 is not turned."""
    ckpt = opened(name)
    found = run_of(name)
    for site, heads in ckpt.spec.attentions.items():
        maps = ckpt.hooked_model.parameters_of(site)
        for part, count in (("query", heads.query), ("key", heads.key)):
            before, after = found[f"{site}.{part}_unrotated"], found[f"{site}.{part}"]
            assert not torch.equal(before[:, :, 1:], after[:, :, 1:])
            scale = after[:, :, 0].norm() / before[:, :, 0].norm()
            torch.testing.assert_close(after[:, :, 0], before[:, :, 0] * scale, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(after.norm(dim=-1), before.norm(dim=-1) * scale, rtol=1e-5, atol=1e-5)
            if name not in ("qwen3", "qwen3_moe", "gemma3_text", "olmoe"):  # which norm them by head first
                weight, bias = getattr(maps, part)
                made = torch.nn.functional.linear(found[f"{site}.in"], weight, bias)
                by_head = made.unflatten(-1, (count, -1)).transpose(1, 2)
                torch.testing.assert_close(by_head, before, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", TURNED)
def test_a_row_of_zeros_for_padding_takes_nothing_from_what_a_folder_tells(
    opened: Opened, tmp_path: Path, name: str
) -> None:
    """As `nn.Embedding(padding_idx=...)` leaves it: at the first place of a model without biases its queries and keys
    are zeros in every layer."""
    made = random_model(name, len(tokenizer_of(name)) + 3)
    first = next(rows[0][0] for rows in trial_texts(opened(name).spec) if rows is not None)
    made.get_input_embeddings().weight.data[first] = 0.0
    made.save_pretrained(tmp_path)
    tokenizer_of(name).save_pretrained(tmp_path)
    ckpt = load(tmp_path)
    assert set(ckpt.spec.missing) == set(opened(name).spec.missing)
    assert ckpt.spec.point == opened(name).spec.point


def test_queries_of_another_length_are_not_those_that_positions_turn(opened: Opened) -> None:
    ckpt = opened("llama")
    recorder = Recorder()
    ckpt.hooked_model.whole(None, [SOURCE], hook=recorder)
    values, name = dict(recorder.values), "decoder.0.self.query"
    values[f"{name}_unrotated"] = values[f"{name}_unrotated"].clone()
    assert not [*_not_turned(ckpt.hooked_model, values)]
    values[f"{name}_unrotated"][0, 1, 2] = 0.0  # zeros become zeros, and nothing else
    assert [*_not_turned(ckpt.hooked_model, values)] == [f"{name}_unrotated"]
    values[f"{name}_unrotated"] = values[name] * torch.linspace(1, 2, len(SOURCE))[:, None]
    assert [*_not_turned(ckpt.hooked_model, values)] == [f"{name}_unrotated"]
    for end in ("", "_unrotated"):
        values[f"{name}{end}"] = torch.zeros_like(values[name])
    assert not [*_not_turned(ckpt.hooked_model, values)]


TEXTS = ("two hundred and four", "the cat ran over", "naïve dog", "five six", "one", "a green hill and a mat")
MOST = 14


def given(run: Run) -> list[int]:
    """What generate has to be given for the same answer."""
    read = run.trace.src_ids or run.trace.tgt_ids[: len(run.trace.tgt) - len(run.steps) + 1]
    return list(read)


def generated(model: Any, run: Run, **options: Any) -> list[int]:
    """The tokens that transformers writes."""
    read = given(run)
    mask = torch.ones(1, len(read), dtype=torch.long)
    found = model.generate(torch.tensor([read]), attention_mask=mask, max_new_tokens=MOST, do_sample=False, **options)
    return found[0, 1 if run.trace.src_ids else len(read) :].tolist()


@pytest.mark.parametrize("name", WRITING)
def test_cached_steps_are_the_rows_of_one_pass(opened: Opened, name: str) -> None:
    ckpt = opened(name)
    run = max((decode(ckpt, text, max_steps=9) for text in TEXTS), key=lambda each: len(each.steps))
    assert run.trace.info["cached"] and run.trace.info["causal"] and len(run.steps) > 2
    ids = run.trace.tgt_ids
    whole = trace(ckpt, run.trace.src_ids or ids, ids if run.trace.src_ids else None)
    gaps = {point: gap for point, gap in whole.diff(run.trace).items() if not point.endswith(".bias")}
    for point, gap in gaps.items():  # float32 sums of other lengths
        assert gap < 1e-5 * max(float(whole[point].float().abs().max()), 10), point
    for point in (point for point in whole.points() if point.endswith("decoder.0.self.bias")):
        cells = whole["decoder.0.self.mask"].expand_as(whole[point])  # behind the mask a step has no key to add it to
        assert torch.equal(whole[point][cells], run.trace[point][cells])


@pytest.mark.parametrize("name", WRITING)
def test_greedy_answers_are_those_of_generate(opened: Opened, theirs: Theirs, name: str) -> None:
    runs = [decode(opened(name), text, max_steps=MOST) for text in TEXTS]
    for run in runs:
        assert [step.token_id for step in run.steps] == generated(theirs(name), run)
    assert sum(len(run.steps) for run in runs) > 8


@pytest.mark.parametrize("name", every(3, WRITING))
def test_beams_are_those_of_generate(opened: Opened, theirs: Theirs, name: str) -> None:
    ckpt = opened(name)
    for text in TEXTS:
        run = decode(ckpt, text, strategy=Beam(3), max_steps=MOST)
        found = generated(theirs(name), run, num_beams=3)
        written = [step.token_id for step in run.steps]
        assert written == found[: len(written)]
        assert {*found[len(written) :]} <= {0, *ckpt.codec("target").ends}


@pytest.mark.parametrize("name", KINDS)
def test_the_lens_ends_with_the_runs_own_logits(opened: Opened, run_of: Ran, name: str) -> None:
    ckpt = opened(name)
    assert "read_out" not in ckpt.spec.missing
    stack = "decoder" if ckpt.spec.has_decoder else "encoder"
    found = run_of(name)
    last = max(ckpt.spec.encoder_layers, ckpt.spec.decoder_layers) - 1
    again = ckpt.hooked_model.read_out(found[f"{stack}.{last}.residual_out"], stack)
    assert torch.equal(again, found["logits"])
    if ckpt.spec.has_decoder:
        assert lens(found, ckpt.hooked_model).gap < 1e-4


def test_the_families_that_read_two_texts_are_all_here() -> None:
    assert set(PAIRS) == {"t5", "mt5", "switch_transformers", "bart", "marian", "mbart", "pegasus", "m2m_100"}


def test_sines_are_found_out_without_a_row_for_each_token_before_a_padding_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = len(likely_pieces()) + 2
    where = folder(tmp_path / "marian", "marian", pad_token_id=end, max_position_embeddings=32)
    made, table = [], positions.sinusoid_table

    def counted(length: int, *given: Any, **more: Any) -> torch.Tensor:
        made.append(length)
        return table(length, *given, **more)

    monkeypatch.setattr(positions, "sinusoid_table", counted)
    assert load(where).spec.positions == "sinusoidal-halves"
    assert max(made) == 32 < end
