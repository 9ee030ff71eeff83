"""Every page with a model of transformers from its folder: its picture, or the sentence that says why there is none."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from string import ascii_letters
from typing import Any

import numpy as np
import pytest
import torch
from in_turn import each_once
from page_driver import (
    address,
    again,
    all_sent,
    components,
    figures,
    goes_to,
    markup,
    numbers,
    opener,
    select,
    sent,
    table_rows,
    told,
    words,
)
from page_driver import opened as opened_page
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest
from wording import wording

pytest.importorskip("transformers")

import transformers
from pretrained import KINDS, ending, in_languages
from pretrained import folder as save_folder

from viz_transformer import huggingface
from viz_transformer.analysis.layers.lens import lens
from viz_transformer.analysis.layers.sublayers import layer_flows, share_added
from viz_transformer.analysis.masks.parts import run_in_batch
from viz_transformer.analysis.positions.in_attention import bias_rule
from viz_transformer.analysis.run.layer import layer_of
from viz_transformer.analysis.run.remarks import remark_on_attention
from viz_transformer.analysis.run.whole import whole_run
from viz_transformer.checkpoint import devices, folders
from viz_transformer.figures import labels
from viz_transformer.figures.architecture import drawing_of
from viz_transformer.huggingface import hub, names
from viz_transformer.huggingface.loading import load
from viz_transformer.model.kinds import KINDS as KINDS_OF_ATTENTION
from viz_transformer.model.kinds import KindName
from viz_transformer.numerals import percent, significant
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.edits import SetMask
from viz_transformer.running.reading import read
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace
from viz_transformer.text.codec import TokenizerOptions
from viz_transformer.ui.pages.masks import masks_source, recorded_masks_view
from viz_transformer.ui.pages.positions import attention_view
from viz_transformer.ui.session import cached, state

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
KIND = {"gpt2": "decoder", "llama": "decoder", "bert": "encoder", "t5": "cross", "bart": "cross"}
OTHERS = {
    "roberta": "encoder",
    "distilbert": "encoder",
    "gpt_neox": "decoder",
    "gemma2": "decoder",
    "mixtral": "decoder",
    "electra": "encoder",
    "bert/labels": "encoder",
    "distilbert/tags": "encoder",
}
SHOWN = {"mbart": "cross", "phi": "decoder", "cohere": "decoder", "gptj": "decoder", "gemma3_text": "decoder"}
SHOWN |= {"m2m_100": "cross", "mistral": "decoder", "deepseek_v2": "decoder", "deepseek_v3": "decoder"}
FURTHER = {
    "opt": "decoder",
    "modernbert": "encoder",
    "albert": "encoder",
    "gpt_oss": "decoder",
    "qwen2_moe": "decoder",
    "bloom": "decoder",
    "deberta-v2": "encoder",
    "xlnet": "encoder",
    "pegasus": "cross",
    "switch_transformers": "cross",
}
OTHERS |= FURTHER | SHOWN | {"opt/post": "decoder"}
PICTURES = {"run": 2, "input": 1, "positions": 1, "attention": 2, "weight": 1, "layers": 3, "tensors": 2, "masks": 1}
PICTURES |= {"decoding": 2, "models": 0, "playground": 1}
"""The components that draw a picture of the run on a page, of a model that writes."""


at_models = opener("models", model_tab="open")
at_tensors = opener("tensors")


def text_of(name: str) -> str:
    """What the model reads: a mask to be filled in, for one that does that."""
    return "the [MASK] ran" if {**KIND, **OTHERS}[name] == "encoder" else "two hundred"


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's model, which is called like the family."""

    def write(name: str) -> Path:
        made = save_folder(tmp_path_factory.mktemp("theirs") / name.replace("/", "-"), name)
        return ending(made) if name in ("t5", "bloom") else made  # they would write 2,048 tokens

    return cache(write)


@pytest.fixture
def opened(
    alone: Callable[..., AppTest], written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AppTest]:
    """Opens a page of an app that was started with `--checkpoints` and this folder; the address has these fields."""

    def open_page(name: str, page: str, **address: str) -> AppTest:
        monkeypatch.setenv(folders.CHECKPOINTS_VARIABLE, str(written(name)))
        opening = {"checkpoint": name.replace("/", "-"), "text": text_of(name), "kind": {**KIND, **OTHERS}[name]}
        monkeypatch.setattr(state, "DEFAULTS", {**state.DEFAULTS, **opening})
        return alone(page, **address)

    return open_page


@each_once("name, page", (name for name in KIND if name != "bert"), PICTURES)
def test_a_page_has_its_picture(opened: Callable[..., AppTest], name: str, page: str) -> None:
    assert len(opened(name, page).get("bidi_component")) >= PICTURES[page]


@each_once("name, page", ["gpt_neox", "gemma2", "mixtral"], ["run", "input", "attention", "tensors"])
def test_a_page_of_another_family_has_its_picture(opened: Callable[..., AppTest], name: str, page: str) -> None:
    assert len(opened(name, page).get("bidi_component")) >= PICTURES[page]


def test_a_model_that_fills_in_masks_has_each_page(opened: Callable[..., AppTest], subtests: pytest.Subtests) -> None:
    for page in PICTURES:
        with subtests.test(page):
            app = opened("bert", page)
            if page not in ("models", "playground"):
                reads, fills = told(app, "chips")["rows"]
                assert [chip["text"] for chip in reads["chips"]] == "[CLS] the [MASK] r ##a ##n [SEP]".split()
                assert len(fills["chips"]) == 1 and 0 < fills["chips"][0]["share"] < 1
            drawn = len(app.get("bidi_component")) + len(app.get("plotly_chart"))
            told_only = {"positions", "weight", "masks", "decoding"}
            assert drawn >= (1 if page in told_only else 2) or page == "models"


@pytest.mark.parametrize("name", ["bert", "bart", "llama"])
def test_the_input_is_the_sum_that_was_recorded(opened: Callable[..., AppTest], name: str) -> None:
    said = words(opened(name, "input"))
    assert wording("exact_all_recorded_numbers") in said
    assert (wording("a_norm_makes_the_input_of_it") in said) == (name != "llama")
    heading = {
        "bert": "Norm of embedding × scale + segment",
        "bart": "Norm of embedding × scale",
        "llama": "Embedding × scale",
    }
    assert f"{heading[name]}{'' if name == 'llama' else ' + position'} = input" in said


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "t5", "bert", "gemma2"])
def test_the_architecture_of_a_folder_is_drawn_with_its_own_parts(
    opened: Callable[..., AppTest], written: Callable[[str], Path], name: str
) -> None:
    app = opened(name, "models", model_tab="architecture")
    found = huggingface.layout_of(load(written(name)).hooked_model)
    drawn, *norms = (header for header, _ in all_sent(app, "architecture"))
    wanted = drawing_of(found)
    assert [box["label"] for box in drawn["boxes"]] == [box.label for box in wanted.boxes]
    assert [box["detail"] for box in drawn["boxes"]] == [box.detail for box in wanted.boxes]
    assert len(norms) == (name not in ("gpt_neox", "gemma2"))  # with two norms, or two parts at once, neither fits
    said = words(app)
    assert all(note in said for note in found.notes)
    assert f"Of {found.count:,}: " in said and wording("the_weights_files_hold", f"{found.count:,}") in said
    assert KINDS[name][0] in said


@pytest.mark.parametrize(("name", "command"), [("t5", "pairs.tsv"), ("gpt2", "text.txt"), ("bert", None)])
def test_the_card_of_a_folder_has_its_sizes_and_says_how_it_is_measured(
    opened: Callable[..., AppTest], written: Callable[[str], Path], name: str, command: str | None
) -> None:
    app = opened(name, "models", model_tab="card")
    rows = dict(row for row in table_rows(markup(app)) if len(row) == 2)
    assert rows["class"] == KINDS[name][0] and rows["d_model"] == "32" and rows["folder"] == str(written(name))
    if command is None:
        assert wording("it_writes_no_text_that_could_be_compared") in words(app)
    else:
        assert app.code[-1].value == f"viz-transformer evaluate {written(name)} --data {command}"


@pytest.mark.parametrize("name", ["electra", "albert", "opt/post"])
def test_embeddings_that_are_narrower_than_the_stream_are_strips_of_their_own_width(
    opened: Callable[..., AppTest], written: Callable[[str], Path], name: str
) -> None:
    app, ckpt = opened(name, "input", i="2", t="2"), load(written(name))
    side = "decoder" if name == "opt/post" else "encoder"
    run = decode(ckpt, text_of(name)).trace if ckpt.spec.writes else trace(ckpt, text_of(name))
    strips = figures(app)[0]["data"]
    widths = [16, 32, 32, 32] if name == "opt/post" else [16, 16, 16, 16, 16, 32]
    assert [len(numbers(strip["x"])) for strip in strips] == widths
    points = ("token", "mapped", "position", "out")
    points = points if name == "opt/post" else ("token", "segment", "position", "sum", "normed", "out")
    for strip, point in zip(strips, points, strict=True):
        assert np.array_equal(numbers(strip["z"]).ravel(), run[f"{side}.embed.{point}"][0, 2].numpy())


def test_a_beam_is_searched_by_the_folders_own_settings_until_others_are_chosen(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    ckpt = load(written("bart"))
    app = opened("bart", "decoding", strategy="beam", dec_tab="tree")
    own = decode(ckpt, "two hundred", strategy=Beam(4))
    assert own.tree is not None and own.tree.beam == Beam(
        4, length_penalty=1.0, penalty="power", stop="early_stopping=False"
    )
    assert own.tree.beam.formula() in words(app) and str(own.tree.beam) in sent(app, "beam_tree")[0]["caption"]
    assert wording("the_search_is_that_of_generate", "length_penalty=1, early_stopping=False") in words(app)
    assert app.number_input(key="decoding_beam_1").value == 1.0 and app.session_state["selection"]["beam"] == ()
    app.selectbox(key="decoding_beam_4").set_value("none-better").run()
    assert app.session_state["selection"]["beam"] == (4, 1.0, "power", "end", "none-better")
    assert wording("the_answer_may_differ_from_that_of_generate", "length_penalty=1, early_stopping=False") in words(
        app
    )
    app.button(key="decoding_beam_own").click().run()
    assert not app.exception and app.session_state["selection"]["beam"] == ()
    assert own.tree.beam.formula() in words(app)


def test_decoding_says_that_nothing_is_written(opened: Callable[..., AppTest]) -> None:
    app = opened("bert", "decoding")
    assert wording("reads_a_text_and_writes_nothing", "bert") in words(app)
    assert not components(app, "scrubber") and not app.button_group


def test_an_answer_cannot_be_given_to_a_model_that_writes_nothing(opened: Callable[..., AppTest]) -> None:
    app = opened("bert", "attention", target="x")
    assert wording("writes_nothing_so_no_answer_can_be_given", "bert") in words(app)
    assert app.session_state["selection"]["target"] is None


def test_a_click_on_a_token_masks_it_and_another_shows_it_again(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    app = opened("bert", "run", run_view="map", text="the cat the")
    (pills,) = [each for each in app.button_group if each.key == "run_masked"]
    assert len(pills.options) == len({*pills.options}) == 3  # "the" stands there twice
    pills.set_value([3])
    again(app)
    reads, fills = told(app, "chips")["rows"]
    assert reads["chips"][3]["text"] == "[MASK]" and reads["chips"][3]["note"] == "the" and len(fills["chips"]) == 1
    assert app.session_state["selection"]["i"] == 3
    run = read(load(written("bert")), "the cat the", masked=[3])
    shares = run.trace["logits"][0, 3].double().softmax(-1).sort(descending=True).values
    assert np.allclose(figures(app)[0]["data"][0]["x"][:10], shares[:10].numpy(), rtol=1e-9)
    _, arrays = sent(app, "matrix")
    assert np.array_equal(arrays["values"], run.trace["encoder.1.self.weights"][0, 0].numpy())
    (pills,) = [each for each in app.button_group if each.key == "run_masked"]
    pills.set_value([])
    assert len(told(again(app), "chips")["rows"]) == 1


@each_once("name, page", ["bert/labels", "distilbert/tags"], PICTURES)
def test_a_model_that_gives_labels_has_each_page(opened: Callable[..., AppTest], name: str, page: str) -> None:
    app = opened(name, page, text="the cat")
    if page not in ("models", "playground"):
        reads, answers = told(app, "chips")["rows"]
        assert len(answers["chips"]) == (len(reads["chips"]) if name.endswith("tags") else 1)
    if page == "tensors":
        assert "logits" in words(app) or app.selectbox


@pytest.mark.parametrize("view", ["whole", "map"])
def test_the_label_of_a_text_stands_in_large_and_all_of_them_as_bars(
    opened: Callable[..., AppTest], written: Callable[[str], Path], view: str
) -> None:
    app = opened("bert/labels", "run", run_view=view, text="the cat")
    (found,) = read(load(written("bert/labels")), "the cat").labels
    best = f"{found.best.name} {percent(found.best.probability or 0)}"
    assert f'<p class="vt-answer vt-plain">{best}</p>' in "".join(each.body for each in app.get("html"))
    assert f"“{found.best.name}”, {percent(found.best.probability or 0)}." in words(app).replace("\xa0", " ")
    (chip,) = told(app, "chips")["rows"][1]["chips"]
    assert chip["text"] == found.best.name and chip["share"] == found.best.probability
    if view == "map":
        bars = figures(app)[0]
        assert np.allclose(bars["data"][0]["x"], [label.probability for label in found.scores], rtol=1e-12)
        assert bars["layout"]["yaxis"]["ticktext"] == [label.name for label in found.scores]


def test_the_label_of_the_chosen_token_is_asked_for(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    app = opened("distilbert/tags", "run", run_view="map", text="the cat", i="2")
    found = read(load(written("distilbert/tags")), "the cat").labels[2]
    assert np.allclose(figures(app)[0]["data"][0]["x"], [label.probability for label in found.scores], rtol=1e-12)
    assert f"“{found.best.name}”, {percent(found.best.probability or 0)}." in words(app).replace("\xa0", " ")


def test_two_texts_have_a_box_each_and_the_address_restores_them(opened: Callable[..., AppTest]) -> None:
    app = opened("bert/labels", "run", text="the cat")
    app.text_area(key="run_second").set_value("a dog ran")
    again(app)
    assert app.session_state["selection"]["text"] == "the cat\ta dog ran"
    first, second, answers = told(app, "chips")["rows"]
    assert (first["first"], second["first"], second["field"]) == (0, len(first["chips"]), "i") and answers["chips"]
    later = opened("bert/labels", "run", text="the cat\ta dog ran")
    assert [later.text_area(key=f"run_{box}").value for box in ("text", "second")] == ["the cat", "a dog ran"]
    assert told(later, "chips")["rows"] == [first, second, answers]
    assert f"From position {second['first']} on" in words(opened("bert/labels", "input", text="the cat\ta dog ran"))
    later.text_area(key="run_second").set_value("a dog\nran\n")
    assert again(later).session_state["selection"]["text"] == "the cat\ta dog\nran\n"
    assert later.text_area(key="run_second").value == "a dog\nran\n"
    later.text_area(key="run_second").set_value("")
    assert len(told(again(later), "chips")["rows"]) == 2


def test_what_cannot_be_masked_is_said_beside_another_run(opened: Callable[..., AppTest]) -> None:
    app = opened("bert", "run", run_view="map", masked="99")
    assert wording("position_cannot_be_masked", 99) in words(app)


def test_runs_that_write_nothing_stand_beside_each_other(opened: Callable[..., AppTest]) -> None:
    pin = {"pin_checkpoint": "bert", "pin_text": "the cat ran", "shown": "A|B"}
    for page in ("run", "attention", "decoding", "layers", "input", "tensors"):
        rows = told(opened("bert", page, run_view="map", **pin), "chips")["rows"]
        assert len(rows) == 2 and rows[0]["field"] == "i", page


@pytest.mark.parametrize(
    ("name", "page", "part"),
    [
        ("llama", "weight", "maps_and_norms"),
        ("bart", "weight", "maps_and_norms"),
        ("llama", "masks", "masks"),
        ("bart", "masks", "masks"),
    ],
)
def test_what_only_our_own_models_tell_is_a_sentence(
    opened: Callable[..., AppTest], name: str, page: str, part: str
) -> None:
    said = {
        "maps_and_norms": wording("this_model_does_not_tell_the_maps_and_norms_that_this_page"),
        "masks": wording("this_model_does_not_tell_how_it_masks"),
    }
    assert said[part] in words(opened(name, page))


@pytest.mark.parametrize("name", ["gpt2", "bert", "roberta", "bart", "mbart", "distilbert"])
def test_a_learned_table_of_positions_is_drawn_from_the_rows_that_are_added(
    opened: Callable[..., AppTest], written: Callable[[str], Path], name: str
) -> None:
    app = opened(name, "positions")
    ckpt = load(written(name))
    stack = "encoder" if ckpt.spec.has_encoder else "decoder"
    table = all_sent(app, "matrix")[0][1]["values"]
    run = decode(ckpt, text_of(name)) if ckpt.spec.writes else read(ckpt, text_of(name))
    added = run.trace[f"{stack}.embed.position"][0].numpy()
    assert np.array_equal(table[: len(added)], added) and len(table) > len(added)
    assert wording("has_a_learned_row_of_numbers", name, 32) in words(app)


@pytest.mark.parametrize("topic", ["steps", "distance", "shift", "waves"])
def test_what_stands_below_a_learned_table(opened: Callable[..., AppTest], topic: str) -> None:
    app = opened("bert", "positions", pos_topic=topic)
    assert all_sent(app, "matrix") and figures(app) and "does not tell" not in words(app)


def test_another_order_is_not_read_by_a_model_of_transformers(opened: Callable[..., AppTest]) -> None:
    app = opened("gpt2", "positions", pos_topic="orders")
    assert wording("this_model_does_not_tell_how_it_reads_the_same_tokens") in words(app) and figures(app)


@pytest.mark.parametrize(
    ("name", "pairs", "said"),
    [
        (
            "llama",
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            "for pair i with base 10000. A pair is a feature and the one 4",
        ),
        ("phi", [[0, 2], [1, 3]], "Features 4 to 7 of each head’s 8 are not turned: position does not change them."),
        ("cohere", [[0, 1], [2, 3], [4, 5], [6, 7]], "with base 500000. A pair is two neighbouring features."),
        ("gptj", [[0, 1], [2, 3]], "Features 4 to 7 of each head’s 8"),
        ("gemma3_text", [[0, 4], [1, 5], [2, 6], [3, 7]], "own list rotary_emb.full_attention_inv_freq"),
        ("gpt_oss", [[0, 4], [1, 5], [2, 6], [3, 7]], "they are not powers of one base: some are scaled."),
    ],
)
def test_the_models_own_frequencies_make_the_recorded_queries_and_keys(
    opened: Callable[..., AppTest], written: Callable[[str], Path], name: str, pairs: list[list[int]], said: str
) -> None:
    app = opened(name, "positions", layer="1", heads="3", t="4", u="2")
    assert said in words(app) and "does not tell" not in words(app)
    run = decode(load(written(name)), "two hundred").trace
    before, after = (run[f"decoder.1.self.query{end}"][0, 3].double().numpy() for end in ("_unrotated", ""))
    turns = numbers(figures(app)[1]["data"][0]["y"])
    factor = np.linalg.norm(after) / np.linalg.norm(before) if name == "gpt_oss" else 1
    for (first, second), turn in zip(pairs, turns, strict=True):
        made = (before[:, first] + 1j * before[:, second]) * np.exp(2j * np.pi / turn * np.arange(len(before))) * factor
        assert np.abs(made - (after[:, first] + 1j * after[:, second])).max() < 1e-5
    rest = sorted({*range(before.shape[1])} - {place for pair in pairs for place in pair})
    assert np.array_equal(before[:, rest], after[:, rest])


@pytest.mark.parametrize("zeros", ["a row", "all rows"])
def test_positions_of_a_folder_with_zeros_for_embeddings_have_an_answer(
    alone: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zeros: str
) -> None:
    where = save_folder(tmp_path / "llama", "llama")
    weights = load_file(where / "model.safetensors")
    weights["model.embed_tokens.weight"][1 if zeros == "a row" else slice(None)] = 0.0
    save_file(weights, where / "model.safetensors", metadata={"format": "pt"})
    monkeypatch.setenv(folders.CHECKPOINTS_VARIABLE, str(where))
    opening = {"checkpoint": "llama", "text": text_of("llama"), "kind": "decoder"}
    monkeypatch.setattr(state, "DEFAULTS", {**state.DEFAULTS, **opening})
    app = alone("positions")
    if zeros == "a row":
        assert "What tells the decoder that" in words(app) and "with base 10000" in words(app)
        assert "does not tell" not in words(app)
    else:
        assert wording("all_queries_and_keys_are_zeros") in words(app)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mistral", "Layers 0 and 1: a query reads the 4 keys that end at its own place, a sliding window."),
        ("gpt_oss", "Layer 1: a query reads the keys up to its own place, and none that come later."),
        ("modernbert", "Layer 1: a query reads its own key and the 3 beside it to each side, a sliding window"),
        ("albert", "Layers 0 and 1: every query reads every key."),
    ],
)
def test_the_recorded_masks_are_drawn_and_named(
    opened: Callable[..., AppTest], written: Callable[[str], Path], name: str, said: str
) -> None:
    stack = "encoder" if name in ("modernbert", "albert") else "decoder"
    app = opened(name, "masks", layer="1", mask_kind=stack, text="one two three four")
    ckpt = load(written(name))
    run = (decode if ckpt.spec.writes else read)(ckpt, "one two three four").trace
    mask = run[f"{stack}.1.self.mask"][0, 0].numpy()
    header, arrays = sent(app, "masks")
    assert np.array_equal(arrays["padding"] & arrays["causal"], mask) and header["cells"] == []
    assert said in words(app) and wording("no_cell_has_been_changed") in words(app)


def test_the_mask_of_a_long_text_is_drawn_and_not_changed(
    opened: Callable[..., AppTest], written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_masks_view, "FUSED_FROM", 8)
    app = opened("mistral", "masks", layer="1", text="one two three four", mask_cells="d3.1", mask_view="weights")
    mask = decode(load(written("mistral")), "one two three four").trace["decoder.1.self.mask"][0, 0].numpy()
    even = sent(app, "matrix")[1]["values"]
    assert np.array_equal(even > 0, mask) and np.allclose(even, mask / mask.sum(axis=1, keepdims=True))
    assert wording("cells_can_be_changed_in_texts_of_fewer_tokens") in words(app) and not all_sent(app, "masks")
    assert "Changed:" not in words(app)


@pytest.mark.parametrize(
    ("name", "kind", "closed", "opens"),
    [
        ("llama", "decoder", (3, 1), (1, 3)),
        ("gemma3_text", "decoder", (3, 1), (6, 1)),  # which the other layer, without a window, closes
        ("bloom", "decoder", (3, 1), (1, 3)),
        ("bart", "cross", (1, 2), None),
        ("albert", "encoder", (1, 2), None),
        ("distilbert/tags", "encoder", (1, 2), None),
        ("bert/labels", "encoder", (0, 2), None),
    ],
)
def test_cells_of_a_recorded_mask_are_opened_and_closed(
    opened: Callable[..., AppTest],
    written: Callable[[str], Path],
    name: str,
    kind: KindName,
    closed: tuple[int, int],
    opens: tuple[int, int] | None,
) -> None:
    """The weights before and after are those of two passes over the run's tokens, by their ids."""
    ckpt, letter, text = load(written(name)), KINDS_OF_ATTENTION[kind].letter, "one two three four"
    cells = [cell for cell in (closed, opens) if cell is not None]
    changed = ",".join(f"{letter}{query}.{key}" for query, key in cells)
    fields = {"layer": "0", "heads": "1", "mask_kind": kind, "text": text, "mask_cells": changed}
    app = opened(name, "masks", **fields)
    run = (decode if ckpt.spec.writes else read)(ckpt, text).trace
    sites = [KINDS_OF_ATTENTION[kind].site(layer) for layer in (0, 1)]
    own = {site: run[f"{site}.mask"][0, 0].numpy() for site in sites}
    queries, keys = KINDS_OF_ATTENTION[kind].sides(len(run.src), len(run.tgt))
    own = {site: np.broadcast_to(mask, (queries, keys)) for site, mask in own.items()}
    assert own[sites[0]][closed] and (opens is None or not own[sites[0]][opens])
    edits = [SetMask(site, *cell, allowed=not own[site][cell]) for site in sites for cell in cells]
    given = ([*run.src_ids], [*run.tgt_ids]) if run.src_ids and run.tgt_ids else ([*(run.src_ids or run.tgt_ids)],)
    before, after = (trace(ckpt, *given, edits=made) for made in ([], edits))
    header, arrays = sent(app, "masks")
    assert np.array_equal(arrays["padding"] & arrays["causal"], own[sites[0]]) and header["cells"] == changed.split(",")
    said = words(app)
    assert wording("query_may_not_read_key", *closed) in said
    assert opens is None or wording("query_may_read_key", *opens) in said
    other_way = wording("a_cell_is_changed_the_other_way")
    assert (other_way in said) == (name == "gemma3_text")
    moved = (before["logits"][0].double() - after["logits"][0].double()).abs()
    assert wording("the_largest_change_of_a_logit_is") + f" {labels.number(float(moved.max()))}" in said
    assert float(moved.max()) > 0
    best = [(run["logits"][0] if name != "bert/labels" else run["logits"]).argmax(-1) for run in (before, after)]
    differ = int((best[0] != best[1]).sum())
    verb = {"decoder-only": "write another token", "encoder-decoder": "write another token"}.get(ckpt.spec.kind)
    verb = verb or {"masked token": "fill in another token"}.get(ckpt.spec.output, "have another label")
    assert (f"{differ} of {len(best[0])} rows would now {verb}" in said) == (differ > 0 and name != "bert/labels")
    if name == "bert/labels":
        assert f"“{ckpt.spec.labels[int(best[1][0])]}” " in said
    app = opened(name, "masks", mask_view="weights", **fields)
    for (_, shown), expected in zip(all_sent(app, "matrix"), (before, after), strict=True):
        assert np.array_equal(shown["values"], expected[f"{sites[0]}.weights"][0, 1].numpy())
        mask = expected[f"{sites[0]}.mask"][0, 0].numpy() & np.ones((queries, 1), dtype=bool)
        assert np.array_equal(shown.get("mask", np.ones_like(mask)), mask)
    weights = after[f"{sites[0]}.weights"][0, :]
    assert not weights[(slice(None), *closed)].any() and (
        opens is None or bool((weights[(slice(None), *opens)] > 0).all())
    )


def runs_kept() -> int:
    return sum(isinstance(each.value, Run) for each in cached.store()._entries.values())


def test_passes_with_other_masks_are_made_once_and_kept_among_the_runs(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    cached.store().clear()
    made: list[tuple[object, ...]] = []

    def passed(*given: Any, edits: Any) -> Any:
        made.append(edits)
        return run_in_batch(*given, edits=edits)

    def changed(*words: str) -> None:
        select(app, mask_cells=words)
        again(app)

    monkeypatch.setattr(masks_source, "run_in_batch", passed)
    app = opened("llama", "masks", text="one two three four")
    assert not made and runs_kept() == 1  # with nothing changed it is the run itself
    changed("d3.1")
    select(app, layer=1)
    again(app)
    assert [len(edits) for edits in made] == [0, 2] and runs_kept() == 3
    changed("d3.1", "d1.3")
    changed("d3.1")
    assert [len(edits) for edits in made] == [0, 2, 4] and runs_kept() == 4
    monkeypatch.setattr(cached.store(), "max_bytes", 0)
    changed("d2.1")
    assert len(made) == 4 and runs_kept() == 1  # of which others have no room any more


def test_a_row_of_a_recorded_mask_is_closed_and_all_is_undone(opened: Callable[..., AppTest]) -> None:
    app = opened("gpt2", "masks", layer="1", t="2", u="1", text="one two three four")
    app.button(key="masks_row").click()
    again(app)
    assert app.session_state["selection"]["mask_cells"] == ("d2",) and wording("query_may_read_nothing", 2) in words(
        app
    )
    assert "None of" in words(app) and "closed by your change." in words(app)
    app.button(key="masks_undo").click()
    again(app)
    assert app.session_state["selection"]["mask_cells"] == () and wording("no_cell_has_been_changed") in words(app)
    assert "closed by your change" not in words(app)


@pytest.mark.parametrize(
    ("name", "said"),
    [("t5", wording("a_row_is_even")), ("gpt2", wording("a_row_is_even")), ("gpt_oss", wording("a_row_is_zeros"))],
)
def test_a_row_that_may_see_nothing_is_what_this_models_own_fill_makes_of_it(
    opened: Callable[..., AppTest], name: str, said: str
) -> None:
    app = opened(name, "masks", layer="0", mask_kind="decoder", text="one two three four", mask_cells="d0")
    assert wording("in_this_model_with_its_own_fill", said) in words(app)
    assert wording("query_has_no_open_key_its_weights_are", 0, said) in words(app)
    assert "zeros here" not in words(app)


def test_a_bias_by_distance_has_a_number_for_each_and_buckets_are_named(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    app = opened("t5", "positions", layer="0", heads="2", i="3", j="1", text="one two three four five six")
    bias = decode(load(written("t5")), "one two three four five six").trace["encoder.0.self.bias"][0, 2]
    assert np.array_equal(all_sent(app, "matrix")[0][1]["values"], bias.numpy())
    table = dict(row for row in table_rows(markup(app)) if len(row) == 2)
    assert table["2"] == significant(float(bias[3, 1]), 6) and table["-2"] == significant(float(bias[1, 3]), 6)
    assert "the bias depends only on the distance" in words(
        app
    ) and "each cover several distances: they are buckets." in words(app)
    assert "8 to 11" in table  # with 16 numbers for each side, from 8 on several distances share one


def test_biases_that_grow_with_the_keys_place_have_a_slope_for_each_head(written: Callable[[str], Path]) -> None:
    run = trace(load(written("bloom")), "two hundred")
    bias = run["decoder.0.self.bias"][0]
    for head in range(4):
        found = bias_rule(run, "decoder.0.self", head)
        assert found.follows == "place of the key" and not found.steps
        assert found.slope == pytest.approx(float(bias[head, -1, 1] - bias[head, -1, 0]), rel=1e-5)


def test_one_token_does_not_tell_how_fast_positions_turn(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    ckpt = load(written("llama"))
    text = next(letter for letter in ascii_letters if len(decode(ckpt, letter).trace.tgt) == 1)
    said = words(opened("llama", "positions", text=text))
    assert "how fast its positions turn: this text is one token, and at position 0 nothing is turned" in said


def test_a_table_of_sines_is_drawn_from_the_model_that_adds_it(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    for name, noun in (("pegasus", "sines and cosines in halves"), ("m2m_100", "as fairseq has them")):
        app = opened(name, "positions")
        table = all_sent(app, "matrix")[0][1]["values"]
        added = decode(load(written(name)), "two hundred").trace["encoder.embed.position"][0].numpy()
        assert np.array_equal(table[: len(added)], added)
        assert "adds a fixed table of sines and cosines in halves" in words(app) and noun in words(app)


def test_the_vocabulary_of_a_folder_is_searched_on_input(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    names = load(written("llama")).codec("target").names
    app = opened("llama", "input")
    assert f"Vocabulary: {len(names):,} entries" in words(app)
    app.text_input(key="input_find").set_value("Nine")
    found = again(app).dataframe[0].value
    assert found["id"].tolist() == [names.index("nine"), names.index(" nine")]
    app.text_input(key="input_find").set_value("zebra")
    assert "No entry contains “zebra”. " in words(again(app))


@pytest.mark.parametrize(("name", "asked"), [("llama", "rotate"), ("t5", "bias_rule"), ("bloom", "bias_rule")])
def test_what_positions_do_is_found_out_once_for_a_run(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, name: str, asked: str
) -> None:
    counted: list[tuple[Any, ...]] = []
    found_out = getattr(attention_view, asked)
    monkeypatch.setattr(attention_view, asked, lambda run, *at: counted.append(at) or found_out(run, *at))
    app = opened(name, "positions", text="two hundred and eight", kind="encoder" if name == "t5" else "decoder")
    before = len(counted)
    again(app)
    assert len(counted) == before == (4 if name == "bloom" else 1)


@pytest.mark.parametrize("name", ["llama", "bart"])
def test_the_map_is_that_of_the_run(opened: Callable[..., AppTest], written: Callable[[str], Path], name: str) -> None:
    _, arrays = sent(opened(name, "attention", layer="1", heads="3"), "matrix")
    run = decode(load(written(name)), "two hundred")
    site = "decoder.1.cross" if name == "bart" else "decoder.1.self"
    assert np.array_equal(arrays["values"], run.trace[f"{site}.weights"][0, 3].numpy())


def test_heads_that_share_keys_are_named_and_stand_beside_each_other(opened: Callable[..., AppTest]) -> None:
    app = opened("llama", "attention", heads="3")
    assert sent(app, "grid")[0]["key_heads"] == 2
    said = wording("heads_share_heads_of_keys", 4, 2, "heads 0 and 1 ask key head 0, heads 2 and 3 key head 1")
    assert said in words(app) and f"{sent(app, 'matrix')[1]['values'].shape[1]} × 8 numbers" in words(app)
    app.button(key="attention_shared").click()
    assert len(components(again(app), "matrix")) == 2 and app.session_state["selection"]["heads"] == (2, 3)
    assert not [each for each in app.button if each.key == "attention_shared"]
    assert "ask key head" not in words(opened("gpt2", "attention"))


@each_once("name, page", FURTHER, PICTURES)
def test_further_families_have_each_page_or_its_sentence(opened: Callable[..., AppTest], name: str, page: str) -> None:
    app = opened(name, page)
    drawn = len(app.get("bidi_component")) + len(app.get("plotly_chart"))
    assert drawn >= (PICTURES[page] if FURTHER[name] != "encoder" else min(PICTURES[page], 1))


def test_layers_whose_sub_layers_are_added_at_once_are_shown_whole(
    opened: Callable[..., AppTest], written: Callable[[str], Path]
) -> None:
    app = opened("gpt_neox", "layers", layer="1")
    assert words(app).count("adds attention and feed-forward to the stream at once: nothing lies between") == 1
    run = decode(load(written("gpt_neox")), "two hundred").trace
    (flow,) = [flow for flow in layer_flows(run, "decoder") if flow.layer == 1]
    left = run["decoder.1.residual_out"][0].double().norm(dim=-1)
    np.testing.assert_allclose(flow.left, left, rtol=1e-12)
    rows = [row for row in table_rows(markup(app)) if len(row) == 5][1 : len(left) + 1]
    assert [row[2] for row in rows] == [f"{each:.2f}" for each in left]
    drawn = numbers(figures(app)[0]["data"][2]["y"])
    assert drawn[1] == pytest.approx(flow.left[7], rel=1e-6)  # the token at which the answer begins


def test_layers_count_no_active_units_behind_a_gate(opened: Callable[..., AppTest]) -> None:
    assert "active units" in words(opened("gpt2", "layers", part="ffn"))
    assert "active units" not in words(opened("llama", "layers", part="ffn"))


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("qwen2_moe", "probability"),
        ("gpt_oss", "probability"),
        ("switch_transformers", "probability"),
        ("deepseek_v2", "4 times the probability"),
        ("deepseek_v3", "sigmoid"),
    ],
)
def test_a_router_has_its_recorded_numbers_and_marks_the_experts_that_were_chosen(
    opened: Callable[..., AppTest], written: Callable[[str], Path], name: str, measure: str
) -> None:
    app = opened(name, "layers", part="ffn", layer="1", i="1", t="1")
    run = decode(load(written(name)), "two hundred").trace
    site, rows = "decoder.1.ffn", [row for row in markup(app).split("<tr") if "not chosen" in row or "vt-ly-bar" in row]
    rows = [row for row in rows if re.search(r"<th>\d+</th><td>", row)]
    numbers, shares = run[f"{site}.router"][0, 1].tolist(), run[f"{site}.experts"][0, 1].tolist()
    assert len(rows) == len(numbers) == 4
    for row, number, share in zip(rows, numbers, shares, strict=True):
        assert html.escape(significant(number, 6)) in row
        assert ("vt-ly-chosen" in row) == (share != 0) == ("not chosen" not in row)
    own = [expert for expert, share in enumerate(shares) if share]
    assert f"has {'experts' if len(own) > 1 else 'expert'} {' and '.join(map(str, own))}." in words(app)
    assert "rule of this model’s own" not in words(app) and measure in words(app)
    router = words(app).partition("Router: ")[2].partition("chosen most often")[0]
    assert ("probability" in router) == (measure != "sigmoid")
    assert "Router" not in words(opened(name, "layers", part="attention"))


def test_on_a_projector_the_router_is_the_scene_after_the_lens(opened: Callable[..., AppTest]) -> None:
    app = opened("qwen2_moe", "layers", part="ffn", layer="1", projector="on")
    hidden = ", ".join(f".st-key-layers_{part}" for part in ("depth", "lens", "router", "norm"))
    assert f":is({hidden}) {{ display: none !important; }}" in markup(app)


def test_the_lens_reads_each_layer_with_the_models_own_norm(written: Callable[[str], Path]) -> None:
    ckpt = load(written("llama"))
    run = decode(ckpt, "two hundred").trace
    model: Any = ckpt.hooked_model.model  # type: ignore[attr-defined]
    with torch.no_grad():
        theirs = model.lm_head(model.model.norm(run["decoder.0.residual_out"]))[0].double().softmax(-1)
    found = lens(run, ckpt.hooked_model)
    assert found.stations[1].name == "layer 0" and found.gap < 1e-5
    best = theirs.topk(5, dim=-1)
    assert np.array_equal(found.top_ids[:, 1], best.indices.numpy())
    assert np.allclose(found.top_probs[:, 1], best.values.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["llama", "bart", "gpt_neox", "mixtral", "gpt_oss"])
def test_the_whole_run_can_be_looked_at_deeper(opened: Callable[..., AppTest], name: str) -> None:
    app = opened(name, "run", run_view="whole")
    for level in ("layer", "attention", "weight"):
        goes_to(app, level=level)
        assert len(components(app, "whole")) == 1 and not app.exception, level


def test_the_whole_run_of_parts_that_join_the_stream_at_once_has_what_each_adds_to_it(
    written: Callable[[str], Path],
) -> None:
    run = decode(load(written("gpt_neox")), "two hundred").trace
    (stack,) = whole_run(run).stacks
    came, *added = (
        run[f"decoder.1.{point}"][0].double().norm(dim=-1) for point in ("residual_in", "self.out", "ffn.out")
    )
    for share, out in zip(stack.share[-2:], added, strict=True):
        np.testing.assert_allclose(share, share_added(came, out), rtol=1e-12)
    said = layer_of(run, "decoder", 1).remarks
    assert "This model adds attention and feed-forward to the stream at once: nothing lies between." in said


def test_what_a_sink_takes_is_said_of_an_attention(written: Callable[[str], Path]) -> None:
    run = decode(load(written("gpt_oss")), "two hundred").trace
    assert any(each.endswith("a row sums to less than 1.") for each in remark_on_attention(run, "decoder", 0))
    assert float(run["decoder.0.self.weights"].sum(-1).min()) < 0.99
    assert "decoder.0.self.scores" not in run and "no key" in run.spec.missing["decoder.0.self.scores"]
    assert not list(remark_on_attention(decode(load(written("gpt2")), "two").trace, "decoder", 0))


def test_a_model_that_does_not_tell_its_embeddings_has_the_whole_run_without_them(
    written: Callable[[str], Path],
) -> None:
    (stack,) = whole_run(trace(load(written("electra")), text_of("electra"))).stacks
    assert stack.token is None and stack.position is None and np.isfinite(stack.stream).all()


def test_the_card_says_what_runs_it(opened: Callable[..., AppTest]) -> None:
    said = words(opened("llama", "models"))
    assert "Llama (LlamaForCausalLM), from transformers" in said and "run by transformers, from its own folder" in said


@each_once("name, page", ["gpt2", "bart"], PICTURES)
def test_a_page_has_its_picture_in_bfloat16_too(
    opened: Callable[..., AppTest], name: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_of_the_app", devices.Computed(dtype="bfloat16"))
    assert len(opened(name, page).get("bidi_component")) >= PICTURES[page]


def test_what_of_the_files_takes_no_part_is_named_beside_the_models_name_on_its_card_and_in_its_architecture(
    app: AppTest, written: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = Path(shutil.copytree(written("llama"), tmp_path / "heads"))
    file = where / "model.safetensors"
    tensors = load_file(file)
    save_file(tensors | {"score.weight": torch.ones(2, 32)}, file, metadata={"format": "pt"})
    monkeypatch.setenv(folders.CHECKPOINTS_VARIABLE, str(where))
    goes_to(app, checkpoint="heads", text=text_of("llama"))
    beside, short = app.sidebar.get("html"), wording("tensor_takes_no_part")
    assert any(
        short in each.proto.body and "another head: &#x27;score.weight&#x27;" in each.proto.body for each in beside
    )
    sentence = wording("take_no_part", 1, 64, "LlamaForCausalLM")
    said = words(opened_page(app, "models", model_tab="card"))
    assert sentence in said and said.count(short) >= 2  # beside the name, and on the card
    said = words(opened_page(app, "models", model_tab="architecture"))
    count = load(where).parameter_count
    assert sentence in said and wording("the_weights_files_hold_apart_from", f"{count:,}", 64) in said
    assert wording("beyond_the_sum") not in said
    save_file(tensors | {"model.layers.0.self_attn.q_norm.weight": torch.ones(32)}, file, metadata={"format": "pt"})
    said = words(opened_page(app, "models", model_tab="card"))
    assert wording("would_not_be_the_trained_models", "1 norm tensor") in said
    monkeypatch.setattr(devices, "_of_the_app", devices.Computed(ignore=(".*q_norm.*",)))
    said = words(opened_page(app, "models", model_tab="card"))
    assert "Opened without 1 norm tensor from its files" in said and wording("not_the_model_that_was_trained") in said


def test_it_is_said_that_a_model_is_computed_in_bfloat16(
    opened: Callable[..., AppTest], written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_of_the_app", devices.Computed(dtype="bfloat16"))
    assert "its own folder, computed in bfloat16: every result is rounded to 8 bits" in words(opened("llama", "models"))
    assert "are the bfloat16 sums" in words(opened("gpt2", "input"))
    rounded = decode(load(written("llama"), dtype="bfloat16"), text_of("llama")).trace
    (said,) = [each for each in remark_on_attention(rounded, "decoder", 0) if "bfloat16" in each]
    assert said == "Computed in bfloat16: each weight is rounded to 8 bits, so that a row sums to 1 up to 0.004."
    assert not any("not what came in plus" in each for each in layer_of(rounded, "decoder", 0).remarks)


def test_a_folder_is_opened_by_its_path_and_removed_without_its_files(
    app: AppTest, written: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(folders.LIBRARY_VARIABLE, str(tmp_path / "library"))
    theirs = written("gpt2")
    at_models(app)
    app.text_input(key="open_weights_path").set_value(str(theirs))
    again(app)
    assert "GPT2LMHeadModel" in words(app) and "decoder-only, 2 decoder layers" in words(app)
    app.text_input(key="open_name").set_value("mine")
    app.button(key="open_button").click()
    again(app)
    assert (tmp_path / "library" / "mine").is_symlink() and address(app)["checkpoint"] == "mine"
    at_models(app)
    app.button(key="open_do_remove_mine").click()
    again(app)
    assert not (tmp_path / "library" / "mine").exists() and (theirs / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ("config.json", "'model.layers.2."),
        ("tokenizer.json", "is not valid JSON"),
        (None, "needs no_such_library: install"),
    ],
)
def test_what_is_found_out_when_a_folder_is_opened_leaves_nothing_behind(
    app: AppTest,
    written: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of: str | None,
    said: str,
) -> None:
    monkeypatch.setenv(folders.LIBRARY_VARIABLE, str(tmp_path / "library"))
    where = Path(shutil.copytree(written("llama"), tmp_path / "model"))
    if of == "config.json":
        (where / of).write_text(json.dumps(json.loads((where / of).read_text()) | {"num_hidden_layers": 3}))
    elif of is not None:
        (where / of).write_text("{")
    else:
        monkeypatch.setattr(huggingface, "NEEDED", ("no_such_library",))
    at_models(app)
    app.text_input(key="open_weights_path").set_value(str(where))
    again(app)
    app.button(key="open_button").click()
    assert str(where) in words(again(app)) and said in words(app)
    assert not [*(tmp_path / "library").glob("*")] and address(app)["checkpoint"] != "model"


def test_a_folder_that_cannot_be_opened_is_a_sentence(app: AppTest, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    at_models(app)
    app.text_input(key="open_weights_path").set_value(str(tmp_path))
    assert "no attention" in words(again(app))


def test_a_file_of_a_folder_and_a_folder_of_folders_say_what_to_give_instead(
    app: AppTest, written: Callable[[str], Path]
) -> None:
    file = written("gpt2") / "model.safetensors"
    for given, said in ((file, f"give the folder, {file.parent}"), (file.parents[1], "holds one folder of a model")):
        at_models(app)
        app.text_input(key="open_weights_path").set_value(str(given))
        assert said in words(again(app))


def test_a_name_on_the_hub_is_fetched_where_that_is_allowed_and_asked_for(
    app: AppTest, written: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(folders.LIBRARY_VARIABLE, str(tmp_path / "library"))
    asked = []
    monkeypatch.setattr(hub.huggingface_hub, "snapshot_download", lambda name, **_: asked.append(name) or written("t5"))
    at_models(app)
    app.text_input(key="open_weights_path").set_value("someone/tiny-t5")
    assert wording("is_fetched_where_that_is_allowed", "someone/tiny-t5") in words(again(app))
    assert not asked and not [each for each in app.button if each.key == "open_fetch"]
    names.allow_in_the_app(True)
    try:
        again(app)
        assert not asked
        app.button(key="open_fetch").click()
        again(app)
    finally:
        names.allow_in_the_app(False)
    once = ["someone/tiny-t5"] * 2  # its settings, and then its weights
    assert asked == once and "T5ForConditionalGeneration" in words(app)
    assert app.text_input(key="open_name").value == "tiny-t5"
    app.button(key="open_button").click()
    again(app)
    assert address(app)["checkpoint"] == "tiny-t5" and asked == once


def test_run_reads_and_writes_in_the_languages_that_are_chosen(
    alone: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentencepiece")
    where = save_folder(tmp_path / "many", "mbart", tokenizer=lambda: in_languages("mbart50", tmp_path), seed=5)
    monkeypatch.setenv(folders.CHECKPOINTS_VARIABLE, str(where))
    app = alone("run", checkpoint="many", text="two hundred", kind="cross")
    app.selectbox(key="run_language").set_value("de_DE").run()
    app.selectbox(key="run_source_language").set_value("it_IT").run()
    assert app.session_state["selection"]["read_as"] == TokenizerOptions("de_DE", "it_IT")
    ckpt = load(where).read_as(language="de_DE", source_language="it_IT")
    reads, writes = told(app, "chips")["rows"]
    assert reads["chips"][0]["text"] == "it_IT"
    written = decode(ckpt, "two hundred").tokens
    assert [chip["text"] for chip in writes["chips"]] == [token.replace(" ", "␣") for token in written]
    assert wording("the_text_is_read", "from it_IT, into de_DE") in words(app)
    asked = {"checkpoint": "many", "text": "two hundred", "kind": "cross", "read_as": "from:it_IT,into:de_DE"}
    later = alone("attention", **asked)
    assert told(later, "chips")["rows"][0]["chips"][0]["text"] == "it_IT"
    wrong = alone("run", **{**asked, "read_as": "into:xx"})
    assert "is not a language of this model" in words(wrong)


def test_run_reads_special_tokens_as_such_where_that_is_chosen(opened: Callable[..., AppTest]) -> None:
    app = opened("bert", "run", text="the [SEP] cat")
    assert [chip["text"] for chip in told(app, "chips")["rows"][0]["chips"]][2] == "[UNK]"
    app.toggle(key="run_special_tokens").set_value(True).run()
    assert app.session_state["selection"]["read_as"] == TokenizerOptions(special_tokens=True)
    assert [chip["text"] for chip in told(app, "chips")["rows"][0]["chips"]][2] == "[SEP]"


def test_run_offers_a_chat_where_a_template_is_there(
    alone: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = save_folder(tmp_path / "talks", "gpt2")
    (where / "chat_template.jinja").write_text("Q: {{ messages[0].content }}{{ eos_token }}\nA:")
    monkeypatch.setenv(folders.CHECKPOINTS_VARIABLE, str(where))
    app = alone("run", checkpoint="talks", text="one", kind="decoder")
    app.toggle(key="run_chat").set_value(True).run()
    reads = [chip["text"] for chip in told(app, "chips")["rows"][0]["chips"]]
    assert "".join(reads[: reads.index("</s>")]) == "Q:␣one" and reads[-2:] == ["A", ":"]
    (where / "chat_template.jinja").write_text("{{ raise_exception('no') }}")
    later = alone("run", checkpoint="talks", text="two", kind="decoder", read_as="chat")
    assert wording("the_chat_template_cannot_be_used", "no") in words(later)


@pytest.mark.parametrize("page", ["run", "input"])
def test_what_is_read_instead_of_the_text_is_said(opened: Callable[..., AppTest], page: str) -> None:
    said = wording("the_model_reads_another_text", "the naive cat", "the text without capitals and accents")
    assert said in words(opened("bert", page, text="The naïve cat"))
    assert "The model reads" not in words(opened("bert", page, text="the cat"))


def test_a_saved_trace_is_opened_on_tensors(app: AppTest, written: Callable[[str], Path], tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    trace(load(written("llama")), "two hundred").save(file)
    at_tensors(app)
    app.file_uploader(key="tensors_file").set_value((file.name, file.read_bytes(), "application/octet-stream")).run()
    assert not app.exception
    assert "File: run.safetensors, a run of llama that reads t wo ␣h u n d re d" in words(app)
