"""Runs with what is not a number, or infinite: no page fails, none calls it 0 or closed, and each says what it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from builders import saved, tiny_checkpoint
from in_turn import each_once
from page_driver import again, all_sent, goes_to, open_table, select, sent, words
from streamlit.testing.v1 import AppTest
from torch import Tensor, nn
from wording import wording

import viz_transformer as vt
from viz_transformer.checkpoint import Checkpoint

PAGES = ["run", "decoding", "input", "positions", "attention", "weight", "layers", "tensors", "masks", "models"]
RECORDING, LOST, INFINITE, OVERFLOWED = "masked-whole.safetensors", "padding-reads-nothing", "infinite", "overflowed"
PADDED = 6
CLOSED = 2
"""The query of the recording to which every key is closed."""

Opened = Callable[..., AppTest]


class OneHead(nn.Module):
    """Attention as one writes it at first: a query that may attend to nothing is not a number."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor, closed: Tensor) -> Tensor:
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / math.sqrt(8)
        out: Tensor = torch.softmax(scores.masked_fill(closed, -torch.inf), dim=-1) @ self.value(x)
        return out


def recording() -> vt.Trace:
    """Of five tokens, one of which may attend to nothing and one not to the last two."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module, x = OneHead().eval(), torch.randn(1, 5, 8)
    closed = torch.zeros(5, 5, dtype=torch.bool)
    closed[CLOSED], closed[0, 3:] = True, True
    return vt.watch(module, lambda: module(x, closed), tokens=list("abcde"))


def scaled(ckpt: Checkpoint, name: str, by: float) -> Checkpoint:
    """The checkpoint with the parameters of this name so many times as large."""
    with torch.no_grad():
        for found, parameter in ckpt.model.named_parameters():
            if found.startswith(name):
                parameter.mul_(by)
    return ckpt


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with a row of NaN; a model whose padding may read nothing, so that all is NaN in the end; one whose
    logits are infinite; and one whose stream overflows in layer 1."""
    folder = tmp_path_factory.mktemp("strange")
    recording().save(folder / RECORDING)
    pairs = {"examples": [("ab", "uv"), ("ba", "x")]}
    padded = {"pad_to": PADDED, "max_source": PADDED, "max_target": PADDED}
    saved(tiny_checkpoint(mask_fill="-inf", padding_mask="key-or-query", **padded), folder / LOST, **pairs)
    infinite = scaled(tiny_checkpoint(), "output.", 2e38)
    saved(infinite, folder / INFINITE, dtype="float32", **pairs)
    overflowed = scaled(tiny_checkpoint(), "decoder.layers.1.feed_forward", 1e25)
    saved(overflowed, folder / OVERFLOWED, dtype="float32", **pairs)
    return folder


@pytest.fixture
def opened(alone: Opened, strange: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(strange))

    def open_page(page: str, model: str = RECORDING, **fields: Any) -> AppTest:
        text = {} if model == RECORDING else {"text": "ab"}
        return alone(page, checkpoint=model, **text, **fields)

    return open_page


def test_the_models_are_what_they_are_said_to_be(strange: Path) -> None:
    weights = vt.Trace.load(strange / RECORDING)["encoder.0.self.weights"][0, 0]
    assert weights.isnan().any(dim=-1).tolist() == [n == CLOSED for n in range(5)]
    logits = {name: vt.decode(vt.load(strange / name), "ab", max_steps=2).trace["logits"] for name in (LOST, INFINITE)}
    assert logits[LOST].isnan().all() and logits[INFINITE].isinf().any()
    stream = vt.decode(vt.load(strange / OVERFLOWED), "ab", max_steps=2).trace["decoder.1.ffn.out"]
    assert not stream.isfinite().all()


PARTS: list[tuple[str, dict[str, str]]] = [
    ("run", {"run_view": "map"}),
    ("decoding", {"strategy": "sampling", "temperature": "0.7"}),
    ("decoding", {"strategy": "beam"}),
    *(("decoding", {"dec_tab": tab}) for tab in ("branches", "cache", "score")),
    *(("layers", {"lens_rows": rows, "kind": kind}) for rows, kind in (("all", "cross"), ("near", "encoder"))),
    *(("attention", {"heads": heads}) for heads in ("mean", "max", "rollout", "0,1")),
    *(("attention", {"options": option}) for option in ("words", "hidden", "contribution")),
    *(("attention", {"panel": panel}) for panel in ("text", "contribution")),
    *(("attention", {"pin_checkpoint": LOST, "pin_text": "ba", "shown": shown}) for shown in ("A|B", "A-B")),
    *(("tensors", {"point": point}) for point in ("logits", "decoder.1.residual_out", "decoder.1.cross.scores")),
    ("tensors", {"chart": "histogram", "point": "logits"}),
    ("tensors", {"chart": "points"}),
]


@each_once("model, page", [RECORDING, LOST, INFINITE, OVERFLOWED], PAGES)
def test_no_page_fails(opened: Opened, model: str, page: str) -> None:
    app = opened(page, model)
    assert "closed to it" not in words(app)
    for kind in ("encoder", "cross", "decoder") if model != RECORDING else ():
        select(app, kind=kind, layer=1, heads=(1,))
        again(app)


@each_once("model, part", [LOST, INFINITE, OVERFLOWED], PARTS)
def test_no_part_of_a_page_fails(opened: Opened, model: str, part: tuple[str, dict[str, str]]) -> None:
    page, fields = part
    opened(page, model, **fields)


# ---- Attention


def test_a_row_that_is_not_a_number_is_not_called_closed(opened: Opened) -> None:
    app = opened("attention", i=str(CLOSED))
    assert wording("most_likely_every_key_is_masked") in words(app)
    assert wording("nowhere_every_key_is_closed_to_it") not in words(goes_to(app, i="1"))
    _, arrays = sent(app, "matrix")
    assert np.isnan(arrays["values"][CLOSED]).all() and arrays["mask"][CLOSED].all()
    _, arrays = sent(app, "grid")
    assert np.argwhere(arrays["none"].reshape(5, 5)).tolist() == [[CLOSED, key] for key in range(5)]
    assert np.argwhere(arrays["masked"].reshape(5, 5)).tolist() == [[0, 3], [0, 4]]


def test_what_the_scores_say_of_a_row_is_the_reason_that_is_given(opened: Opened) -> None:
    app = opened("attention", LOST, kind="encoder", layer="0", heads="0", i=str(PADDED - 1))  # padding may read nothing
    assert wording("every_key_is_masked_so_the_softmax_divides") in words(app)
    assert wording("nowhere_every_key_is_closed_to_it") not in words(app)
    app = opened("attention", LOST, kind="cross", layer="0", heads="0")
    assert wording("its_softmax_read_what_was_not_a_number") in words(app)
    app = opened("attention", LOST, kind="cross", layer="0", heads="rollout")
    assert wording("a_weight_that_it_is_made_of_is_not_a_number") in words(app)


def test_a_row_that_may_attend_to_nothing_and_is_zeros_is_still_nowhere(
    alone: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    padded = {"pad_to": PADDED, "max_source": PADDED, "max_target": PADDED, "padding_mask": "key-or-query"}
    saved(tiny_checkpoint(**padded), tmp_path / "zeros", examples=[("ab", "uv")])
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path))
    place = {"kind": "encoder", "layer": "0", "heads": "0", "i": str(PADDED - 1)}
    app = alone("attention", checkpoint="zeros", text="ab", **place)
    assert wording("nowhere_every_key_is_closed_to_it") in words(app) and "ot a number" not in words(app)


def test_a_difference_with_a_row_that_is_not_a_number_says_so(opened: Opened) -> None:
    pinned = {"pin_checkpoint": LOST, "pin_text": "ba", "shown": "A-B"}
    app = opened("attention", LOST, kind="cross", layer="0", heads="0", **pinned)
    assert wording("the_row_is_not_a_number_in_a_or_in_b") in words(app)


def test_the_scores_say_that_a_row_is_not_a_number(opened: Opened) -> None:
    assert wording("of_rows_is_not_a_number_and_so_is_each_score", 1, 5) in words(opened("attention"))


@pytest.mark.parametrize("heads", ["mean", "max"])
def test_of_one_head_there_is_no_mean(opened: Opened, heads: str) -> None:
    app = opened("attention", heads=heads)
    header, arrays = sent(app, "matrix")
    assert (header["title"], header["scale"]) == ("Encoder layer 0, head 0, self-attention", "encoder")
    assert "head 0" in words(app) and "the mean of the heads" not in words(app) and "1 heads" not in words(app)
    assert np.array_equal(arrays["values"], sent(opened("attention", heads="0"), "matrix")[1]["values"], equal_nan=True)


def test_the_table_and_its_csv_say_not_a_number(opened: Opened, downloads: dict[str, Any]) -> None:
    app = opened("attention")
    table = open_table(app, "attention_matrix")
    weights = recording()["encoder.0.self.weights"][0, 0].numpy()
    assert (table.iloc[CLOSED, :5] == "not a number").all()
    assert np.array_equal(table.iloc[1, :5].to_numpy(dtype=np.float32), weights[1])
    assert wording("of_values_are_not_a_number", 5, 25) in words_of_dialog(app)
    ((name, data),) = ((name, data) for name, data in downloads.items() if name.endswith(".csv"))
    lines = (data() if callable(data) else data).decode("utf-8").splitlines()
    assert lines[1 + CLOSED].count("not a number") == 5 and sum("not a number" in line for line in lines) == 1, name


def words_of_dialog(app: AppTest) -> str:
    """All that is said on the page and in the dialog over it."""
    found = []

    def walk(block: Any) -> None:
        for child in getattr(block, "children", {}).values():
            if hasattr(child, "proto") and hasattr(child.proto, "body"):
                found.append(str(child.proto.body))
            walk(child)

    walk(app._tree)
    return " ".join(found)


# ---- other pages


def test_tensors_counts_what_it_counted_and_says_what_it_did_not(opened: Opened) -> None:
    app = opened("tensors", point="encoder.0.self.weights")
    weights = recording()["encoder.0.self.weights"].numpy()
    numbers = weights[np.isfinite(weights)]
    ends = ("0", f"{numbers.max():.4g}", f"{numbers.mean():.4g}")
    said = wording("of_values_are_not_a_number", 5, 25)
    assert said + wording("the_others_go_from_to", 20, *ends) in words(app)
    assert said + wording("statistics_leave_them_out") in words(app)
    assert wording("none_of_its_values_is_a_number", f"{PADDED * 20:,}") in words(
        opened("tensors", LOST, point="logits")
    )


def test_one_weight_says_why_it_is_not_a_number(opened: Opened) -> None:
    place = {"kind": "encoder", "heads": "0", "i": str(PADDED - 1), "j": "1", "weight_line": "softmax"}
    app = opened("weight", LOST, layer="0", **place)
    assert wording("why_is_the_weight_of_not_a_number", "a") in words(app)
    assert wording("every_key_is_masked_each_score_is_minus_infinity") in words(app)
    assert wording("here_every_key_is_masked_so_each_score") in words_of_dialog(app)
    app = opened("weight", LOST, layer="0", kind="cross", heads="0", weight_line="weight")
    assert wording("a_score_of_the_row_is_not_a_number") in words(app)


def test_what_was_written_without_probabilities_is_not_called_the_most_probable(opened: Opened) -> None:
    written = "<pad>"
    assert wording("the_probabilities_are_not_numbers", written) in words(opened("decoding", LOST))
    assert wording("the_models_probability_of_is_not_a_number", written) in words(opened("run", LOST))
    app = opened("layers", LOST)
    assert wording("none_its_probability_is_not_a_number") in words(app)
    assert "· 0.00 2 not a number" not in words(app) and "mean KL not a number" in words(app)
    assert "NaN NaN NaN" in words(app)  # lengths of vectors


@pytest.mark.parametrize("view", ["whole", "map"])
def test_the_run_is_drawn_all_the_same(opened: Opened, view: str) -> None:
    app = opened("run", LOST, run_view=view)
    assert all_sent(app, "whole" if view == "whole" else "matrix")
