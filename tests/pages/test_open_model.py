"""Models, "Open a model": a stranger's file is named, looked at, answered for, and is then a model of the app."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import saved, tiny_checkpoint, tiny_config, tiny_model
from page_driver import markup, opener, words
from strangers import CASES, Gpt, Lab, stranger
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox
from watched import watched_trace
from wording import wording

import viz_transformer as vt
from viz_transformer.checkpoint.contents import bundled_folder
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.ui.pages.models import open_view
from viz_transformer.ui.pages.models.words import SETTINGS

opened = opener("models", model_tab="open")


def by_head(state: dict[str, torch.Tensor], n_heads: int = 4) -> dict[str, torch.Tensor]:
    """A decoder's tensors under names that no table knows, with a small matrix for each head."""
    words = {"decoder.layers.": "cells.", "self_attention.to_out": "mix", "feed_forward.to_hidden": "mlp.0"}
    words |= {"feed_forward.to_out": "mlp.2", "self_residual.norm": "norm_a", "ffn_residual.norm": "norm_b"}
    words |= {"decoder.norm": "norm_z", "gain": "weight", "offset": "bias", "output": "to_vocab"}
    words |= {"decoder.embedding.token": "tok_table"}
    found = {}
    for name, tensor in state.items():
        for ours, theirs in words.items():
            name = name.replace(ours, theirs)
        part = next((part for part in ("query", "key", "value") if f"to_{part}." in name), None)
        if part is None:
            found[name] = tensor
            continue
        for head, piece in enumerate(tensor.chunk(n_heads)):
            found[name.replace(f"self_attention.to_{part}", f"heads.{head}.{part[0].upper()}")] = piece.clone()
    return found


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(tmp_path / "library"))
    return tmp_path / "library"


@pytest.fixture
def nano(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    folder = tmp_path / "out-letters"
    folder.mkdir()
    torch.save({"model": Gpt(mini=False).state_dict(), "model_args": {"n_head": 3}}, folder / "ckpt.pt")
    stoi = {sign: id for id, sign in enumerate("\n abcdefghijk")}
    (folder / "meta.pkl").write_bytes(pickle.dumps({"stoi": stoi}))
    return folder


def named(app: AppTest, weights: Path | str, **vocabularies: Path) -> AppTest:
    opened(app)
    app.text_input(key="open_weights_path").set_value(str(weights))
    for side, path in vocabularies.items():
        app.text_input(key=f"open_{side}_path").set_value(str(path))
    app.run()
    assert not app.exception
    return app


def test_a_file_is_opened_with_its_usual_answers_and_is_selected(app: AppTest, nano: Path, shelf: Path) -> None:
    named(app, nano / "ckpt.pt", target=nano / "meta.pkl")
    said = markup(app)
    assert "gpt: nanoGPT or minGPT" in said and wording("what_the_file_does_not_say") in said
    assert app.text_input(key="open_name").value == "out-letters"
    app.button(key="open_button").click().run()
    assert not app.exception
    assert app.session_state["selection"]["checkpoint"] == "out-letters"
    assert app.selectbox(key="sidebar_model").value == "out-letters"
    assert app.session_state["selection"]["text"] == "abcde"  # it has no digits
    assert wording("the_text_was_replaced", "out-letters", "abcde") in words(app)
    ckpt = vt.load(shelf / "out-letters")
    assert vt.trace(ckpt, "bad").tgt_tokens == ("b", "a", "d")


def test_a_model_without_examples_that_cannot_read_the_text_shows_one_that_it_can(
    alone: Callable[..., AppTest], nano: Path, shelf: Path
) -> None:
    import_file(nano / "ckpt.pt", shelf / "letters", Answers(target_vocab=nano / "meta.pkl"))
    app = alone("attention", checkpoint="letters", text="29,284.30")
    assert "Greyed out below: the run of “abcde”" in words(app)
    button = next(each for each in app.button if each.label == "Use the example")
    button.click().run()
    assert not app.exception and app.session_state["selection"]["text"] == "abcde"
    assert "Greyed out below" not in words(app)


def test_an_answer_of_special_tokens_alone_is_said_to_be_that(alone: Callable[..., AppTest], shelf: Path) -> None:
    tiny = tiny_checkpoint(output_bias=True)
    tiny.model.state_dict()["output.bias"][tiny.own_codec("target").vocabulary.bos] = 1e4
    saved(tiny, shelf / "starts")
    said = markup(alone("run", checkpoint="starts", text="ab", run_view="map"))
    assert "(nothing but special tokens)" in said and "end token)" not in said


def test_another_answer_is_what_the_model_is_made_with(app: AppTest, nano: Path, shelf: Path) -> None:
    named(app, nano / "ckpt.pt")
    activation = next(box for box in app.selectbox if box.label == "Activation")
    assert activation.value == "gelu"
    activation.set_value("gelu-tanh").run()
    box(app, "Norm’s epsilon").set_value(1e-6).run()
    assert box(app, "Activation").value == "gelu-tanh" and "gelu" in box(app, "Activation").options
    app.button(key="open_button").click().run()
    assert not app.exception
    config = vt.load(shelf / "out-letters").config
    assert (config.activation, config.norm_epsilon) == ("gelu-tanh", 1e-6)


def test_a_file_that_does_not_fit_says_why_and_cannot_be_opened(app: AppTest, tmp_path: Path, shelf: Path) -> None:
    torch.save({**Lab().state_dict(), "probe.weight": torch.ones(2, 2)}, tmp_path / "m.pt")
    named(app, tmp_path / "m.pt")
    assert "1 tensor of the file would not be used, such as 'probe.weight'." in words(app)
    assert app.button(key="open_button").disabled
    (leave,) = [box for box in app.checkbox if box.label == wording("leave_out_tensors_without_a_place")]
    leave.check().run()
    assert "would not be used" not in words(app)
    assert wording("the_file_does_not_say_what_should_be", "“Heads”") in words(app)
    assert app.button(key="open_button").disabled
    box(app, "Heads").set_value(3).run()
    app.button(key="open_button").click().run()
    assert not app.exception
    assert vt.load(next(shelf.iterdir())).config.encoder_layers > 0


def test_a_recording_is_opened_as_one_and_kept_in_the_library(app: AppTest, tmp_path: Path, shelf: Path) -> None:
    watched_trace().save(tmp_path / "mine.safetensors")
    named(app, tmp_path / "mine.safetensors")
    assert wording("this_is_a_recording_of_one_call") in words(app)
    assert app.text_input(key="open_name").value == "mine.safetensors"
    app.text_input(key="open_name").set_value("other")
    app.button(key="open_button").click().run()
    assert not app.exception
    assert app.session_state["selection"]["checkpoint"] == "other.safetensors"
    assert (shelf / "other.safetensors").read_bytes() == (tmp_path / "mine.safetensors").read_bytes()
    assert app.selectbox(key="sidebar_model").value == "other.safetensors"
    opened(app)
    app.button(key="open_do_remove_other.safetensors").click().run()
    assert not app.exception and list(shelf.iterdir()) == []


def test_of_a_dropped_file_the_name_alone_is_said(app: AppTest, nano: Path, shelf: Path) -> None:
    opened(app).file_uploader(key="open_weights_file").set_value(("page.pt", b"<html></html>", "text/plain"))
    said = words(app.run())
    assert "is a web page" in said and "viz-transformer-" not in said
    content = (nano / "ckpt.pt").read_bytes()
    app.file_uploader(key="open_weights_file").set_value(("ckpt.pt", content, "text/plain"))
    assert "viz-transformer-" not in markup(app.run()) and not app.button(key="open_button").disabled
    assert app.text_input(key="open_name").value == "ckpt"


def test_a_path_may_stand_in_quotes(app: AppTest, nano: Path, shelf: Path) -> None:
    named(app, f'"{nano / "ckpt.pt"}"')
    assert "gpt: nanoGPT or minGPT" in markup(app)


@pytest.mark.parametrize("path", ["/no/such/file.pt", "/dev/zero", "\x00", "a" * 3_000, "<b>x</b>"])
def test_what_is_no_file_ends_in_a_sentence(path: str, app: AppTest, shelf: Path) -> None:
    named(app, path)
    assert 'role="status"' in markup(app) and "<b>" not in markup(app)
    assert not shelf.exists()


def test_a_taken_name_is_said_and_nothing_is_written(app: AppTest, nano: Path, shelf: Path) -> None:
    named(app, nano / "ckpt.pt")
    app.text_input(key="open_name").set_value("numbers-tiny")
    app.button(key="open_button").click().run()
    assert "There is a model named numbers-tiny already: choose another name." in words(app)
    assert not list(shelf.glob("*"))


def test_a_model_of_the_library_is_renamed_and_removed(app: AppTest, nano: Path, shelf: Path) -> None:
    named(app, nano / "ckpt.pt")
    app.button(key="open_button").click().run()
    opened(app)
    app.text_input(key="open_rename_out-letters").set_value("letters").run()
    app.button(key="open_do_rename_out-letters").click().run()
    assert not app.exception and [path.name for path in shelf.iterdir()] == ["letters"]
    app.button(key="open_do_remove_letters").click().run()
    assert not app.exception and list(shelf.iterdir()) == []


def test_a_card_says_how_well_it_is_known_that_a_model_is_read_right(app: AppTest, nano: Path, shelf: Path) -> None:
    named(app, nano / "ckpt.pt")
    app.button(key="open_button").click().run()
    opened(app, model_tab="card")
    assert "not proved (1 guess that decides)" in markup(app)
    card = json.loads((shelf / "out-letters" / "card.json").read_text())
    found = {"passed": True, "figures": {"longest_target": 16}}
    noted = {"grade": "proved", "sentence": "<b>equal</b>", "of": card["sha256"], "proved": found}
    (shelf / "out-letters" / "card.json").write_text(json.dumps({**card, "verified": noted}))
    said = markup(opened(app, model_tab="card"))
    assert "proved for texts of up to 16 tokens" in said and "<b>equal" not in said


# --- the owner's texts, and places to correct

BUNDLED = bundled_folder()


@pytest.fixture
def copying(tmp_path: Path) -> dict[str, Path]:
    """The files of the model that copies without its config, and twelve of its pairs."""
    pairs = vt.load(BUNDLED / "copy").examples()[:12]
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    source, target = (BUNDLED / "copy" / f"{side}_vocab.json" for side in ("source", "target"))
    return {"source": source, "target": target, "texts": tmp_path / "pairs.tsv"}


def box(app: AppTest, label: str) -> Selectbox:
    return next(each for each in app.selectbox if each.label == label)


def test_texts_answer_the_questions_and_ones_own_answer_wins_over_what_was_measured(
    app: AppTest, copying: dict[str, Path], shelf: Path
) -> None:
    named(app, BUNDLED / "copy" / "model.safetensors", **copying)
    assert box(app, "Heads").value is None and box(app, "Source: end").value == "</s>"
    box(app, "Source: unknown").select("none").run()
    app.button(key="open_measure").click().run()
    assert not app.exception
    assert box(app, "Heads").value == 4 and "4 (measured)" in box(app, "Heads").options
    assert box(app, "Activation").value == "relu" and "relu (usual)" in box(app, "Activation").options
    said = words(app)
    assert "4: measured" in said and "undecided: relu or gelu" in said and "Measured on 12 texts" in said
    assert wording("the_grade_is_not_proved") in said and wording("it_reads_your_texts_at", "<0.01") in said
    assert "To be sure" in said and sum("numpy.savez" in each.value for each in app.code) == 2
    app.button(key="open_button").click().run()
    assert not app.exception
    ckpt = vt.load(shelf / "copy")
    assert ckpt.config.n_heads == 4 and ckpt.source_codec.unknown is None
    assert {"name": "n_heads", "value": 4, "origin": "measured"} in ckpt.card["imported"]["settings"]
    assert "not proved (" in markup(opened(app, model_tab="card"))

    opened(app, model_tab="open")
    assert box(app, "Heads").value == 4
    app.text_input(key="open_name").set_value("halved")
    box(app, "Heads").set_value(2).run()
    app.button(key="open_button").click().run()
    assert vt.load(shelf / "halved").config.n_heads == 2


def test_too_few_texts_are_refused_in_a_sentence(app: AppTest, copying: dict[str, Path], shelf: Path) -> None:
    copying["texts"].write_text("oop\toop\n" * 9)
    named(app, BUNDLED / "copy" / "model.safetensors", **copying)
    app.button(key="open_measure").click().run()
    assert "9 texts that the model can read are too few to measure on: give 10 or more." in words(app)


def test_the_place_of_a_tensor_of_an_unknown_layout_is_corrected(
    app: AppTest, tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model(tiny_config("decoder-only", final_norm=True, output_bias=False))
    state = by_head(dict(model.state_dict()))
    state["pale"], state["strange"] = state.pop("tok_table.weight"), state.pop("to_vocab.weight") + 1
    torch.save(state, tmp_path / "m.pt")
    named(app, tmp_path / "m.pt")
    assert "Where each tensor goes" in words(app) and app.button(key="open_button").disabled
    rows = app.dataframe[0].value
    assert [*rows["tensor"][:2]] == ["pale", "strange"] and [*rows["place"][:2]] == ["", ""]
    (key,) = app.session_state["open_places"]
    changes = {"edited_rows": {0: {"place": "decoder.embedding.token.weight"}, 1: {"place": "output.weight"}}}
    memory = {key: changes, **{name: app.session_state[name] for name in ("open_places", "open_answers")}}
    monkeypatch.setattr(open_view.st, "session_state", memory)
    names = tuple(app.dataframe[0].value["tensor"])
    open_view.take_table_edits(key, names, str(tmp_path / "m.pt"))
    monkeypatch.undo()
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(shelf))
    app.run()
    assert not app.exception and not app.button(key="open_button").disabled
    app.button(key="open_button").click().run()
    (folder,) = shelf.iterdir()
    assert torch.equal(vt.load(folder).model.state_dict()["output.weight"], state["strange"])


def test_a_tensor_that_nothing_tells_is_chosen_from_a_list(app: AppTest, tmp_path: Path, shelf: Path) -> None:
    state = by_head(dict(tiny_checkpoint("decoder-only", final_norm=True, output_bias=False).model.state_dict()))
    state["first"], state["second"] = state.pop("tok_table.weight"), state.pop("to_vocab.weight")
    torch.save(state, tmp_path / "m.pt")
    named(app, tmp_path / "m.pt")
    assert "names and shapes do not tell which is output.weight" in words(app).lower()
    assert app.button(key="open_button").disabled
    chosen = box(app, "Output layer")
    assert chosen.value is None and chosen.options == ["first", "none", "second"]
    chosen.set_value("second").run()
    assert not app.exception and box(app, "Output layer").value == "second"
    app.button(key="open_button").click().run()
    model = vt.load(next(shelf.iterdir())).model.state_dict()
    assert torch.equal(model["output.weight"], state["second"])


def test_a_sentencepiece_model_is_a_vocabulary(app: AppTest, nano: Path, shelf: Path) -> None:
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    pieces = [b"\x0a\x05<unk>\x18\x02", *(field(1, sign.encode()) for sign in ("▁", "a", "b", "▁ab"))]
    (nano / "m.model").write_bytes(b"".join(field(1, piece) for piece in pieces))
    named(app, nano / "ckpt.pt", target=nano / "m.model")
    app.button(key="open_button").click().run()
    assert not app.exception
    assert app.session_state["selection"]["checkpoint"] == "out-letters"
    codec = vt.load(shelf / "out-letters").own_codec("target")
    assert codec.encode("ab ba").tokens == ("▁ab", "▁", "b", "a")

    (nano / "m.model").write_text("<html>404</html>")
    named(app, nano / "ckpt.pt", target=nano / "m.model")
    assert "m.model is not a sentencepiece model" in words(app)


# --- a sample proves what was answered


def with_sample(app: AppTest, case: str, tmp_path: Path) -> dict[str, object]:
    """The page with this stranger's file and a sample of it; what has to be answered."""
    model, ids, logits = stranger(case)
    torch.save(model.state_dict(), tmp_path / "mine.pt")
    sides = ("source", "target")[-len(ids) :]
    given = {side: np.array([each]) for side, each in zip(sides, ids, strict=True)}
    np.savez(tmp_path / "sample.npz", logits=logits.numpy(), **given)
    named(app, tmp_path / "mine.pt")
    app.text_input(key="open_sample_path").set_value(str(tmp_path / "sample.npz")).run()
    return CASES[case][2]


@pytest.mark.parametrize("case", ["A", "nn.TransformerEncoder", "minGPT", "fairseq"])
def test_a_layout_whose_questions_are_answered_is_proved_by_a_sample(
    case: str, app: AppTest, tmp_path: Path, shelf: Path
) -> None:
    for name, value in with_sample(app, case, tmp_path).items():
        if name == "pad_to":
            next(box for box in app.number_input if box.label == "Every text padded to").set_value(value).run()
        elif not name.startswith("max_"):  # those follow from it
            box(app, SETTINGS[name]).set_value(value).run()
    app.button(key="open_button").click().run()
    assert not app.exception
    assert json.loads((shelf / "mine" / "card.json").read_text())["verified"]["grade"] == "proved"
    assert "proved for " in markup(opened(app, model_tab="card"))


def test_a_sample_that_is_not_reproduced_or_cannot_be_says_so(app: AppTest, tmp_path: Path, shelf: Path) -> None:
    with_sample(app, "minGPT", tmp_path)
    np.savez(tmp_path / "other.npz", target=[[1, 2]], logits=np.zeros((1, 2, 5)))
    box(app, "Heads").set_value(2).run()
    app.text_input(key="open_sample_path").set_value(str(tmp_path / "other.npz")).run()
    app.button(key="open_button").click().run()
    assert "5 logits at each position" in words(app) and not shelf.exists()
    app.text_input(key="open_sample_path").set_value(str(tmp_path / "sample.npz")).run()
    app.button(key="open_button").click().run()
    assert json.loads((shelf / "mine" / "card.json").read_text())["verified"]["grade"] == "failed"


def test_without_a_vocabulary_the_start_is_one_of_the_ids_that_are_offered(
    app: AppTest, tmp_path: Path, shelf: Path
) -> None:
    torch.save(Lab().state_dict(), tmp_path / "mine.pt")
    named(app, tmp_path / "mine.pt")
    box(app, "Heads").set_value(3).run()
    start = box(app, "Target: start")
    assert start.options == [*map(str, range(11)), "12", "none (usual)"]
    lacking = (
        "The target vocabulary has no start token, so the model writes nothing until one is named: choose it below"
    )
    assert lacking in words(app)
    start.set_value("2").run()
    assert lacking not in words(app)
    app.button(key="open_button").click().run()
    assert not app.exception
    ckpt = vt.load(shelf / "mine")
    assert ckpt.own_codec("target").start == 2
    assert vt.decode(ckpt, "5 8 7 3", max_steps=1).trace.tgt_tokens[0] == "2"
