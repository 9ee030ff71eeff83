"""A positional encoding that only this file knows: one class and one word, and everything else can do with it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from builders import assert_same, tiny_checkpoint, tiny_config, tiny_model
from in_turn import each_once
from page_driver import all_sent
from streamlit.testing.v1 import AppTest
from torch import Tensor

from viz_transformer.analysis.models.parameters import both_totals
from viz_transformer.analysis.models.untrained import Recipe, make_untrained
from viz_transformer.analysis.weight.ladder import ladder
from viz_transformer.analysis.weight.weight_numbers import Cell, parameters
from viz_transformer.checkpoint import contents, load, save_checkpoint
from viz_transformer.figures.architecture import architecture
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import Hook
from viz_transformer.model.hook_point import QUERIES, WEIGHTS, HookPoint
from viz_transformer.model.kinds import KINDS, KindName, StackName
from viz_transformer.model.points import points_table, recorded_points
from viz_transformer.model.positions import ENCODINGS, BiasSource, Encoding, Table
from viz_transformer.running.decoding import decode
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

ROOT = Path(__file__).resolve().parents[2]
APP = """
import streamlit as st
import viz_transformer.ui.pages
from viz_transformer.ui.frame import opening
page = st.navigation([st.Page({page!r}, title='Page', default=True)])
opening.show_page(page, lambda: None, {{}})
"""


class Ramp(Table):
    """Every feature of a row is its position, in hundredths."""

    noun = "linear ramps"
    box = ("linear", "ramps")

    def table(self, length: int, d_model: int) -> Tensor:
        return (torch.arange(length) / 100)[:, None].repeat(1, d_model)


def lowered_for_others(back: Any, slope: float) -> Any:
    return -slope * (back != 0)


def lowered_for_earlier(back: Any, slope: float) -> Any:
    return -slope * (back > 0)


class Elsewhere(Encoding):
    """A token's score with another than itself is lowered by the head's number and a half."""

    noun = "a bias for others"
    box = ("others",)
    picture = "bias"
    in_attention = True
    acts = "lowers the scores of other tokens"
    does = "lower the scores of other tokens"
    sentence = "Each self-attention lowers the scores of other tokens."
    points = (
        HookPoint("bias", WEIGHTS, "0 at the query's own token"),
        HookPoint("weights", WEIGHTS, "masked softmax of the scores with their bias"),
    )

    def tensors(self, config: ModelConfig, stack: StackName) -> Mapping[str, Tensor]:
        return {"depth": torch.arange(config.n_heads) + 0.5}

    def bias(self, back: Tensor, held: Mapping[str, Tensor], stack: StackName) -> Tensor:
        return (back != 0 if stack == "encoder" else back > 0) * -held["depth"][:, None, None]

    def bias_source(self, config: ModelConfig, stack: StackName, head: int) -> BiasSource:
        return BiasSource(
            bias_of=lowered_for_others if stack == "encoder" else lowered_for_earlier,
            slope=head + 0.5,
            scalars={"depth": lambda _: head + 0.5},
            sentences=("Scores of other tokens are lowered by {depth}.",),
        )


class Turns(Encoding):
    """Queries of every second position point the other way. It says no more than it must."""

    noun = "alternating queries"
    in_attention = True
    points = (
        HookPoint("query_before", QUERIES, "as W_Q makes them"),
        HookPoint("query", QUERIES, "every second one the other way"),
        HookPoint("key_before", ("B", "H", "K", "E"), "as W_K makes them"),
        HookPoint("key", ("B", "H", "K", "E"), "the same"),
    )
    unplaced = "_before"

    def placed(self, name: str, vectors: Tensor, start: int, held: Mapping[str, Tensor], hook: Hook) -> Tensor:
        vectors = hook(f"{name}_before", vectors)
        sign = 1 - 2 * (torch.arange(start, start + vectors.size(-2)) % 2)[:, None]
        return hook(name, vectors * sign if name == "query" else vectors * 1)


WORDS = {"ramp": Ramp(), "elsewhere": Elsewhere(), "turns": Turns()}


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for word, encoding in WORDS.items():
            patch.setitem(ENCODINGS, word, encoding)
        yield


def run(word: str) -> Trace:
    return trace(tiny_checkpoint(positions=word), "abcde", "uvwxyz")


def test_only_a_registered_word_makes_a_config() -> None:
    with pytest.raises(ValueError, match=r"positions='rampe' is not known; choose 'sinusoidal' or .* or 'turns'"):
        tiny_config(positions="rampe")


@pytest.mark.parametrize("word", WORDS)
def test_a_run_records_the_points_of_the_table_and_its_own_numbers(word: str) -> None:
    found = run(word)
    assert set(found.points()) == {point.name for point in recorded_points(tiny_config(positions=word))}
    if word == "ramp":
        assert found["decoder.embed.position"][0, 3].tolist() == pytest.approx([0.03] * 16)
    elif word == "elsewhere":
        own, other = (found[f"{stack}.1.self.bias"][0, 2].numpy() for stack in ("encoder", "decoder"))
        assert np.array_equal(own, -2.5 * (1 - np.eye(len(own))))
        assert np.array_equal(other, np.tril(-2.5 * (1 - np.eye(len(other)))))
    else:
        before, after = found["encoder.0.self.query_before"], found["encoder.0.self.query"]
        assert torch.equal(after[..., 1::2, :], -before[..., 1::2, :])
        assert torch.equal(after[..., 0::2, :], before[..., 0::2, :])
    scores = found["decoder.1.self.scores"].masked_fill(~found["decoder.1.self.mask"], -torch.inf)
    torch.testing.assert_close(scores.softmax(-1), found["decoder.1.self.weights"], atol=1e-6, rtol=0)


@pytest.mark.parametrize("word", WORDS)
def test_a_decode_equals_one_pass_over_what_it_wrote(word: str) -> None:
    ckpt = tiny_checkpoint(positions=word)
    written = decode(ckpt, "abcde", max_steps=6).trace
    once = trace(ckpt, "abcde", list(written.tgt_ids))
    assert written.info["cached"] and written.points() == once.points()
    for name in once.points():
        assert_same(written[name], once[name], name)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_line_of_a_weight_agrees_with_the_record(word: str, kind: KindName) -> None:
    ckpt, cell = tiny_checkpoint(positions=word), Cell(kind=kind, layer=1, head=2, query=3, key=1)
    found = ladder(trace(ckpt, "abcde", "uvwxyz"), parameters(ckpt.model, kind, 1), cell)
    assert found.agrees
    compared = [check.name for check in found.lines["divisor"].checks]
    assert ("bias of the row" in compared) == (word == "elsewhere" and kind != "cross")
    made = [check.point for check in found.lines["query"].checks]
    assert any("query_before" in point for point in made) == (word == "turns" and kind != "cross")


def test_docs_form_drawing_and_parameters_know_it() -> None:
    table = points_table()
    assert "## Self-attention with a bias for others" in table and "`query_before`" in table
    config = tiny_config(positions="ramp")
    shapes = {name: tuple(value.shape) for name, value in tiny_model(config).named_parameters()}
    assert both_totals(config, shapes).agree
    drawn = str(architecture(config))
    assert "ramps" in drawn and "others" in str(architecture(tiny_config(positions="elsewhere")))
    made = make_untrained(Recipe(base="tiny", architecture="ramp", **SIZES), tiny_checkpoint())
    assert made.config.positions == "ramp"


SIZES = {"encoder_layers": 1, "decoder_layers": 1, "n_heads": 2, "d_model": 8, "d_ff": 8}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("new_encoding")
    for word in WORDS:
        ckpt = tiny_checkpoint(positions=word)
        save_checkpoint(
            folder / word,
            state_dict=ckpt.model.state_dict(),
            config=ckpt.config,
            source_codec=ckpt.source_codec,
            target_codec=ckpt.target_codec,
            card={"task": "none", "metrics": []},
            dtype="float32",
        )
        assert torch.equal(load(folder / word).model.output.weight, ckpt.model.output.weight)
    return folder


SAID = {
    "ramp": "ramp adds a fixed table of linear ramps to its embeddings; nothing in it is trained.",
    "elsewhere": "elsewhere has a bias for others: nothing is added to its embeddings, and there is no table to show.",
    "turns": "turns has alternating queries: nothing is added to its embeddings, and there is no table to show.",
}
PAGES = [path.stem for path in sorted((ROOT / "pages").glob("*.py"))]


@each_once("page, word", PAGES, WORDS)
def test_every_page_has_a_picture_or_a_sentence(
    page: str, word: str, tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "bundled_folder", lambda: models)
    (tmp_path / "app.py").write_text(APP.format(page=str(ROOT / "pages" / f"{page}.py")), encoding="utf-8")
    app = AppTest.from_file(str(tmp_path / "app.py"), default_timeout=120)
    address = {"checkpoint": word, "text": "abcd", "kind": "encoder", "layer": "1", "i": "3", "j": "1"}
    for key, value in {**address, "weight_line": "divisor" if word == "elsewhere" else "query"}.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    body = "".join(element.proto.body for element in app.get("html"))
    said = " ".join(html.unescape(re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", body)).split())
    assert "do not give what was recorded" not in said and ("✕" not in said or page == "models")
    if page == "positions":
        assert SAID[word] in said
        titles = [header["title"] for header, _ in all_sent(app, "matrix")]
        wanted = {"ramp": "Table of positions, 20 × 16: ramp, encoder", "elsewhere": "what is added to each score"}
        assert any(wanted[word] in title for title in titles) if word in wanted else "has no picture of what" in said
    if page == "weight":
        line = {"elsewhere": "Scores of other tokens are lowered by 0.5.", "turns": "query before positions act on it"}
        assert line.get(word, "") in said
