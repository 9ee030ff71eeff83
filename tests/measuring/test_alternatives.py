"""What nothing in a file tells is measured on its owner's texts: found, or said that they cannot tell it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from strangers import stranger

import viz_transformer as vt
from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.contents import bundled_folder
from viz_transformer.checkpoint.importers.importing import (
    Answers,
    Opened,
    codecs_of,
    open_file,
    replan,
    special_settings,
)
from viz_transformer.measuring import alternatives
from viz_transformer.measuring.alternatives import (
    TOGETHER,
    Losses,
    Measurement,
    Texts,
    judge_masked,
    measure_alternative,
    read_texts,
)
from viz_transformer.model.kinds import SIDES
from viz_transformer.text.vocabulary import ROLES

BUNDLED = bundled_folder()
Command = Callable[..., Any]


def without_config(name: str, **more: object) -> Opened:
    """The bundled model's weights and vocabularies alone; of words it is said that blanks part them."""
    folder = BUNDLED / name
    words = {} if name in ("copy", "shakespeare") else {"": "words"}
    source = folder / "source_vocab.json"
    return open_file(
        folder / "model.safetensors",
        Answers(
            source_vocab=source if source.exists() else None,
            target_vocab=folder / "target_vocab.json",
            tokenizers=words,
            **more,  # type: ignore[arg-type]
        ),
    )


def own_texts(name: str, count: int = 12) -> Texts:
    """Test pairs of the model, or lines, with blanks between tokens that are no characters."""
    ckpt = vt.load(BUNDLED / name)
    if ckpt.spec.kind == "decoder-only":
        return [source for source, _ in ckpt.examples()[:count]]

    def parted(side: str, text: str) -> str:
        tokenizer = ckpt.own_codec(side).tokenizer  # type: ignore[arg-type]
        return text if tokenizer.kind == "characters" and name == "copy" else " ".join(tokenizer.tokenize(text))

    return [(parted("source", source), parted("target", target)) for source, target in ckpt.examples()[:count]]


USUAL = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
UNASKED = {
    "copy": USUAL,
    "numbers-any": USUAL,
    "numbers-tiny": USUAL,
    "taylor": {"bos": "<sos>", "eos": "<eos>", "pad": "<pad>"},
    "multi30k-tutorial6": {"bos": "<BOS>", "eos": "<EOS>", "unk": "<unk>", "pad": "<PAD>"},
}
"""Special tokens, which are measured elsewhere."""
SLOWER = ("numbers-tiny", 24)
"""With twelve texts its second best is only 0.013 nats behind."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [
        *((name, 12) for name in ("copy", "multi30k-tutorial6", "shakespeare", "taylor", "numbers-any")),
        SLOWER,
    ],
)
def test_heads_of_a_bundled_model_are_found_from_some_texts(name: str, count: int) -> None:
    config = vt.load(BUNDLED / name).config
    given = {setting: getattr(config, setting) for setting in ("activation", "norm_epsilon", "mask_fill")}
    roles = {} if name == "shakespeare" else dict.fromkeys(("source", "target"), UNASKED[name])
    specials = {f"{side}_{role}": token for side, tokens in roles.items() for role, token in tokens.items()}
    opened, found = measure_alternative(without_config(name, settings=given, specials=specials), own_texts(name, count))
    assert_heads_are_found(opened, found, name)
    assert found.texts == count


def assert_heads_are_found(opened: Opened, found: Measurement, name: str) -> None:
    """As the bundled model's config has them, with the settings that decide as much."""
    config = vt.load(BUNDLED / name).config
    heads = next(each for each in found.tables if each.name == "n_heads")
    assert heads.told and heads.value == opened.plan.setting("n_heads") == config.n_heads
    for setting in ("norm", "embedding_scale", "positions"):
        assert opened.plan.setting(setting) == getattr(config, setting)
    assert found.settled and found.runs > 10


def test_heads_are_found_and_what_makes_no_difference_stays_the_usual_answer() -> None:
    opened, found = measure_alternative(without_config("copy", specials=USUAL), own_texts("copy"))
    assert_heads_are_found(opened, found, "copy")
    assert found.texts == 12
    activation = next(each for each in found.tables if each.name == "activation")
    assert not activation.told and activation.value == "relu"
    assert activation.verdict.startswith("undecided: ") and activation.verdict.endswith("the usual answer stays, relu")
    origins = {each.name: each.origin for each in opened.plan.settings}
    assert origins["activation"] == "usual answer" and origins["n_heads"] == "measured"


# --- a stack of torch's encoder layers, of which nothing tells whether it reads later tokens

TORCH_NAMES = {
    "decoder.embedding.token.": "embedding.",
    "decoder.layers.": "encoder.layers.",
    "decoder.norm.": "encoder.norm.",
    "self_attention.to_out": "self_attn.out_proj",
    "feed_forward.to_hidden": "linear1",
    "feed_forward.to_out": "linear2",
    "self_residual.norm": "norm1",
    "ffn_residual.norm": "norm2",
    ".gain": ".weight",
    ".offset": ".bias",
    "output.": "linear.",
}


def as_torch_names_it(state: dict[str, torch.Tensor], layers: int) -> dict[str, torch.Tensor]:
    """Our decoder's tensors as nn.TransformerEncoder calls and stacks them."""
    found = {}
    for name, tensor in state.items():
        for ours, theirs in TORCH_NAMES.items():
            name = name.replace(ours, theirs)
        found[name] = tensor
    for layer in range(layers):
        for kind in ("weight", "bias"):
            parts = [
                found.pop(f"encoder.layers.{layer}.self_attention.to_{part}.{kind}")
                for part in ("query", "key", "value")
            ]
            found[f"encoder.layers.{layer}.self_attn.in_proj_{kind}"] = torch.cat(parts)
    return found


def torch_stack(path: Path, *, shuffled: bool = False, **settings: Any) -> Opened:
    """The bundled decoder in torch's names; shuffled: its output's rows exchanged, so that it predicts nothing."""
    ckpt = vt.load(BUNDLED / "shakespeare")
    state = {name: value.clone() for name, value in ckpt.model.state_dict().items()}
    state["output.weight"] = state["decoder.embedding.token.weight"].clone()
    if shuffled:
        order = torch.randperm(len(state["output.weight"]), generator=torch.Generator().manual_seed(0))
        state["output.weight"] = state["output.weight"][order]
    torch.save(as_torch_names_it(state, ckpt.config.decoder_layers), path)
    vocabulary = BUNDLED / "shakespeare" / "target_vocab.json"
    return open_file(path, Answers(source_vocab=vocabulary, settings={"n_heads": 6, **settings}))


SURE = {"mask_fill": "zero-rows", "norm_epsilon": 1e-5, "divisor": "sqrt-head-dim"}


def test_whether_a_stack_reads_earlier_tokens_alone_is_found(tmp_path: Path) -> None:
    before = torch_stack(tmp_path / "m.pt", **SURE, positions="sinusoidal", activation="gelu")
    assert before.plan.config is not None and before.plan.config.kind == "encoder-only"
    (tmp_path / "lines.txt").write_text("\n".join(str(text) for text in own_texts("shakespeare")))
    texts = read_texts(tmp_path / "lines.txt", before)
    assert len(texts) >= 12
    opened, found = measure_alternative(before, own_texts("shakespeare"))
    table = found.tables[0]
    assert (table.name, table.value, table.told) == ("causal", True, True) and table.verdict == "True: measured"
    want = vt.load(BUNDLED / "shakespeare").config
    got = opened.plan.config
    assert got is not None and got.kind == "decoder-only"
    assert (got.norm, got.embedding_scale) == (want.norm, want.embedding_scale)
    assert next(each for each in opened.plan.settings if each.name == "causal").origin == "measured"
    losses = dict(table.losses)
    assert losses[True] is not None and losses[False] is not None and losses[True] < losses[False] - 0.5


def test_a_stack_that_predicts_no_next_token_is_not_told_to_be_a_decoder(command: Command, tmp_path: Path) -> None:
    given = {**SURE, "norm": "pre", "embedding_scale": "sqrt", "positions": "sinusoidal", "activation": "gelu"}
    opened, found = measure_alternative(
        torch_stack(tmp_path / "m.pt", shuffled=True, **given), own_texts("shakespeare")
    )
    (table,) = found.tables
    assert not table.told and table.value is False
    assert table.verdict == (
        "undecided: neither predicts a next token better than counting tokens does; the usual answer stays, False"
    )
    assert opened.plan.config is not None and opened.plan.config.kind == "encoder-only"
    (tmp_path / "lines.txt").write_text("\n".join(str(text) for text in own_texts("shakespeare")))
    words = [word for name, value in {**given, "n_heads": 6}.items() for word in ("--set", f"{name}={value}")]
    files = ["--source-vocab", BUNDLED / "shakespeare" / "target_vocab.json", "--texts", tmp_path / "lines.txt"]
    done = command("import", tmp_path / "m.pt", "--out", tmp_path / "out", *files, *words)
    assert done.status == 0, done.err
    assert "undecided: neither predicts" in done.out
    assert vt.load(tmp_path / "out").config.target_vocab_size == 65


def test_a_persons_own_answer_wins_and_is_not_measured() -> None:
    own = vt.load(BUNDLED / "copy").config
    given = {name: getattr(own, name) for name in (*TOGETHER, "activation")}
    opened, found = measure_alternative(
        without_config("copy", settings={**given, "n_heads": 2}, specials=USUAL), own_texts("copy")
    )
    assert {each.name for each in found.tables} >= {"divisor"}
    assert opened.plan.setting("n_heads") == 2
    assert "n_heads" not in {each.name for each in found.tables}


ANSWERED = {name: getattr(vt.load(BUNDLED / "copy").config, name) for name in (*TOGETHER, "n_heads", "activation")}
"""By a person, where what is measured is other things."""


def of_roles(found: Measurement) -> dict[str, Losses]:
    return {each.name: each for each in found.tables if each.name.startswith(("source_", "target_"))}


def test_the_start_token_of_the_source_is_found_where_the_texts_tell_it() -> None:
    _, found = measure_alternative(
        without_config("copy", settings=ANSWERED, specials={"source_eos": None}), own_texts("copy")
    )
    roles = of_roles(found)
    assert set(roles) == {f"{side}_{role}" for side in SIDES for role in ROLES} - {"source_eos"}
    assert roles["target_bos"].told and roles["target_bos"].value == "<s>"
    assert roles["target_eos"].told and roles["target_eos"].value == "</s>"


def test_padding_that_is_masked_cannot_be_told_but_is_no_token_that_the_texts_need() -> None:
    specials = {name: token for name, token in USUAL.items() if name != "pad"}
    _, found = measure_alternative(without_config("copy", settings=ANSWERED, specials=specials), own_texts("copy"))
    roles = of_roles(found)
    for role, needed in (("source_pad", "</s>"), ("target_pad", "<s>")):  # what is read of each text, and not alone
        assert roles[role].verdict == (
            "undecided: padding is masked, and none of these texts has any; the usual answer stays, <pad>"
        )
        losses = {token: loss or 0.0 for token, loss in roles[role].losses}
        assert losses[needed] > losses["<pad>"] + 0.5 and set(losses) == {*USUAL.values(), None}


def test_a_token_that_the_texts_need_is_not_left_to_be_padding() -> None:
    """Where the usual name of padding is that of the end: nothing is chosen instead."""
    found = judge_masked("source_pad", (("<s>", 0.1), (None, 0.1), ("</s>", 0.9)), "</s>")
    assert found.verdict == "undecided: <s> or none; the usual answer, </s>, is worse, so it is none"
    assert judge_masked("source_pad", (("<s>", 0.1), (None, 0.2)), None).value is None


# --- a decoder alone

NAMED = ("<a>", "<b>", "<c>", "<d>", *"helo")
TEXT = "hel?olohe"
"""With one token that the vocabulary lacks."""


def by_position(path: Path, written: Sequence[str]) -> Opened:
    """A decoder alone that writes written[i] where it has read i + 1 tokens; NAMED[1:4] among these disturb it."""
    config = vt.ModelConfig(
        target_vocab_size=len(NAMED), decoder_layers=1, d_model=16, n_heads=1, d_ff=4, max_target=16, norm="pre",
        positions="learned", embedding_scale="one",
    )  # fmt: skip
    state = {
        name: torch.ones_like(value) if name.endswith(".gain") else torch.zeros_like(value)
        for name, value in vt.Transformer(config).state_dict().items()
    }
    state["decoder.embedding.position.table"] = torch.eye(16)
    for token in NAMED[1:4]:  # whoever reads one of these likes to write it
        state["decoder.embedding.token.weight"][NAMED.index(token), 14] = 3.0
        state["output.weight"][NAMED.index(token), 15] = 1.5
    state["decoder.layers.0.self_attention.to_value.weight"][0, 14] = 1.0
    state["decoder.layers.0.self_attention.to_out.weight"][15, 0] = 1.0
    for place, token in enumerate(written):
        state["output.weight"][NAMED.index(token), place] = 1.5
    torch.save(state, path / "m.pt")
    (path / "names.json").write_text(json.dumps(NAMED))
    sure = ("n_heads", "norm", "embedding_scale", "activation", "divisor", "norm_epsilon", "mask_fill")
    settings = {name: getattr(config, name) for name in sure}
    return open_file(path / "m.pt", Answers(target_vocab=path / "names.json", settings=settings))


def test_start_end_and_unknown_token_of_a_decoder_alone_are_found(tmp_path: Path) -> None:
    opened, found = measure_alternative(by_position(tmp_path, [*"hel", "<d>", *"olohe", "<c>"]), [TEXT] * 12)
    roles = of_roles(found)
    assert {name: table.value for name, table in roles.items() if table.told} == {
        "target_bos": "<a>",
        "target_eos": "<c>",
        "target_unk": "<d>",
    }
    token, loss = roles["target_eos"].losses[0]
    model = vt.Transformer(codecs_of(opened)[0]).eval()
    model.load_state_dict(torch.load(tmp_path / "m.pt", weights_only=True))
    read = torch.tensor([[NAMED.index(each) for each in ("<a>", *"hel", "<d>", *"olohe")]])
    assert token == "<c>" and loss == pytest.approx(-float(model(read)[0, -1].log_softmax(-1)[2]), abs=1e-5)
    assert roles["target_eos"].lines[0][1].endswith(" per text")  # it comes once in each
    assert roles["target_pad"].value is None and roles["target_pad"].verdict.startswith("undecided: ")
    config, codecs = codecs_of(opened)
    codec = codecs["target"]
    assert codec is not None and codec.encode(TEXT).tokens == ("<a>", *"hel", "<d>", *"olohe", "<c>")
    assert config.target_pad is None
    assert {each.name: each.origin for each in special_settings(opened)} == {
        "target_bos": "measured",
        "target_eos": "measured",
        "target_unk": "measured",
        "target_pad": "usual answer",
    }


def test_the_ends_of_texts_that_go_on_do_not_tell_that_there_is_no_end_token(tmp_path: Path) -> None:
    opened, found = measure_alternative(by_position(tmp_path, [*"elolohehh"]), ["helolohe"] * 12)
    roles = of_roles(found)
    assert roles["target_bos"].told and roles["target_bos"].verdict == "none: measured"
    assert roles["target_eos"].verdict == (
        "undecided: none of them follows these texts, which may be parts of longer ones; the usual answer stays, none"
    )
    assert roles["target_unk"].verdict == ("undecided: these texts have no unknown token; the usual answer stays, none")
    assert ("target_unk", "", "", roles["target_unk"].verdict) in found.rows()
    assert opened.plan.config is not None and opened.plan.config.kind == "decoder-only"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([("oop", "oop")] * 9, "9 texts that the model can read are too few to measure on: give 10 or more"),
        ([("o" * 99, "oop")] * 20, "0 texts that the model can read are too few"),
        (["oop"] * 20, "is encoder-decoder: give pairs of source and target"),
    ],
)
def test_texts_that_cannot_tell_are_refused(texts: Texts, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        measure_alternative(without_config("copy", settings={"max_source": 32}), texts)


def test_texts_of_a_decoder_are_lines_or_prompts_with_answers(tmp_path: Path) -> None:
    opened, path = without_config("shakespeare"), tmp_path / "texts.txt"
    path.write_text("To be, \tor not\nA horse! \ta horse!\n")
    assert read_texts(path, opened) == [("To be, ", "or not"), ("A horse! ", "a horse!")]
    path.write_text("To be, \tor not\nA horse!\n")
    with pytest.raises(ValueError, match="line 2 is not prompt<TAB>answer as the others are"):
        read_texts(path, opened)
    path.write_text("To be,\nor not\n")
    assert read_texts(path, opened) == ["To be,", "or not"]


def test_a_decoder_is_refused_a_few_letters() -> None:
    opened = without_config("shakespeare")
    with pytest.raises(ValueError, match="texts of 10 tokens to predict are too few: give 50 or more"):
        measure_alternative(opened, [("a", "b")] * 10)
    with pytest.raises(ValueError, match="texts of 20 tokens to predict are too few: give 50 or more"):
        measure_alternative(opened, ["abc"] * 10)


def test_a_file_that_cannot_be_imported_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be imported: d_model=32 cannot be split evenly into n_heads=5"):
        read_texts(tmp_path / "none.tsv", without_config("copy", settings={"n_heads": 5}))


# --- in a shell


@pytest.fixture
def copy(tmp_path: Path) -> list[object]:
    """The words that import the model that copies, without its config and with twelve pairs."""
    pairs = "".join(f"{source}\t{target}\n" for source, target in own_texts("copy"))
    (tmp_path / "pairs.tsv").write_text(pairs)
    folder = BUNDLED / "copy"
    words: list[object] = ["import", folder / "model.safetensors", "--out", tmp_path / "out"]
    words += ["--source-vocab", folder / "source_vocab.json", "--target-vocab", folder / "target_vocab.json"]
    known = (f"{name}={ANSWERED[name]}" for name in (*TOGETHER, "activation"))
    for each in ("bos=<s>", "unk=<unk>", "pad=<pad>", "source_eos=</s>", *known):
        words += ["--set", each]
    return [*words, "--texts", tmp_path / "pairs.tsv"]


def test_an_import_shows_the_table_and_its_card_keeps_what_was_measured(
    command: Command, copy: list[object], tmp_path: Path
) -> None:
    done = command(*copy)
    assert done.status == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "n_heads 4 <0.001 4: measured" in lines
    assert any(re.fullmatch(r"8 [01]\.\d{3}", line) for line in lines)
    assert "n_heads 4 (measured)" in lines
    assert any(
        re.search(
            r"12 texts, 171 tokens to predict, \d+ runs in 2 rounds, until nothing changed; reads your texts", line
        )
        for line in lines
    )
    ckpt = vt.load(tmp_path / "out")
    kept = ckpt.card["imported"]
    assert {"name": "n_heads", "value": 4, "origin": "measured"} in kept["settings"]
    assert {"name": "target_eos", "value": "</s>", "origin": "measured"} in kept["settings"]
    table = next(each for each in kept["measured"]["tables"] if each["name"] == "n_heads")
    assert table["losses"][0][0] == 4 and table["told"] is True
    assert ckpt.card["verified"]["grade"] == "not proved"
    assert any(line.startswith("texts reads your texts at <0.01 nats per token (uniform guess") for line in lines)
    assert any("what loss did its training report" in line for line in lines)
    assert vt.decode(ckpt, "ooppq").text == "ooppq"
    json.dumps(kept, allow_nan=False)


def test_too_few_texts_end_in_a_sentence_and_leave_nothing(
    command: Command, copy: list[object], tmp_path: Path
) -> None:
    (tmp_path / "pairs.tsv").write_text("oop\toop\n" * 9)
    done = command(*copy)
    assert done.status == 1 and done.err.count("\n") == 1
    assert "9 texts that the model can read are too few" in done.err
    assert not (tmp_path / "out").exists()


def test_the_special_tokens_of_a_model_without_vocabularies_are_asked_but_not_measured(tmp_path: Path) -> None:
    torch.save(stranger("D")[0].state_dict(), tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt")
    asked = {each.name: each.options for each in special_settings(opened)}
    assert asked["target_bos"] == (*map(str, range(11)), "12", None)
    _, found = measure_alternative(
        replan(opened.found, replace(opened.answers, specials={"bos": "2", "eos": "3"})), [("5 8", "7 9")] * 12
    )
    named = {each.name for each in found.tables if each.named}
    assert {each.name for each in found.tables} == {"n_heads", *named} and named <= {*alternatives.NAMED}
