"""Every page with the saved trace of a watched module: the recorded numbers, or the sentence that says why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from page_driver import SITES, again, all_sent, components, figures, numbers, select, sent, told, words
from streamlit.testing.v1 import AppTest
from watched import LAYERS, SOURCE, TARGET, D, H, drawn, watched_trace
from wording import wording

import viz_transformer as vt

NAME = "mine.safetensors"
Opened = Callable[..., AppTest]


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> vt.Trace:
    """Of an encoder and a decoder; its file lies among the person's own models."""
    made = watched_trace(name="mine")
    made.save(tmp_path / NAME)
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path))
    return made


@pytest.fixture
def opened(alone: Opened, trace: vt.Trace) -> Opened:
    return lambda page, **fields: alone(page, checkpoint=NAME, **fields)


@pytest.mark.parametrize("page", ["run", "decoding", "input", "positions", "weight", "masks", "models"])
def test_a_page_that_needs_more_says_in_one_sentence_why_it_has_nothing(opened: Opened, page: str) -> None:
    app = opened(page)
    assert words(app).count(wording("is_a_recording_of_one_call", NAME)) == 1
    assert "This model does not tell" not in words(app)


def test_the_box_for_text_says_that_no_other_text_can_be_read(opened: Opened) -> None:
    box = opened("run").text_area(key="run_recorded")
    assert box.disabled and box.placeholder == wording("a_recording_cannot_read_another_text")


def test_each_part_of_models_says_so_too(opened: Opened) -> None:
    for tab in ("architecture", "curves", "data", "errors", "doctor", "new", "training"):
        assert wording("is_a_recording_of_one_call", NAME) in words(opened("models", model_tab=tab)), tab


@pytest.mark.parametrize(("kind", "site"), [*SITES.items()])
def test_attention_draws_the_recorded_weights(opened: Opened, trace: vt.Trace, kind: str, site: str) -> None:
    app = opened("attention", kind=kind)
    for layer in range(LAYERS):
        for head in range(H):
            select(app, layer=layer, heads=(head,))
            _, arrays = sent(again(app), "matrix")
            assert np.array_equal(arrays["values"], trace[f"{site.format(layer)}.weights"][0, head].numpy())
            mask = trace[f"{site.format(layer)}.mask"][0, 0].numpy()
            assert np.array_equal(arrays.get("mask", np.ones_like(mask)), mask)
    for heads in ("mean", "max", "rollout"):
        select(app, heads=heads)
        assert sent(again(app), "matrix")[0]["scale"] == "derived"


def test_the_strip_has_its_tokens_and_no_way_to_write_another_text(opened: Opened) -> None:
    source, target = told(opened("attention"), "chips")["rows"]
    assert [chip["text"] for chip in source["chips"]] == [*SOURCE[:-1], "(empty)"]
    assert [chip["text"] for chip in target["chips"]] == [*TARGET]
    assert [(row["label"], row["field"]) for row in (source, target)] == [("source", "i"), ("target", "t")]
    assert not any("edit" in row for row in (source, target))


def test_contributions_say_that_values_were_not_recorded(opened: Opened) -> None:
    assert wording("a_watched_module_tells_its_weights") in words(opened("attention", options="contribution"))


def test_another_text_is_said_to_be_unreadable(opened: Opened) -> None:
    app = opened("layers", text="something else")
    assert wording("is_a_recording_and_cannot_read_another_text", NAME) in words(app)
    assert app.session_state["selection"]["text"] == "the cat sat <b> (empty)"
    assert wording("is_a_recording_and_cannot_read_another_text", NAME) not in words(opened("layers"))


@pytest.mark.parametrize(("kind", "stack"), [("encoder", "encoder"), ("cross", "decoder")])
def test_layers_has_the_lengths_and_cosines_of_whole_layers(
    opened: Opened, trace: vt.Trace, kind: str, stack: str
) -> None:
    app = opened("layers", kind=kind, layer="1")
    before, after = (trace[f"{stack}.1.residual_{end}"][0].double().numpy() for end in ("in", "out"))
    lengths = [np.linalg.norm(rows, axis=-1) for rows in (before, after, after - before)]
    cosines = (before * after).sum(-1) / lengths[0] / lengths[1]
    for row in range(len(before)):
        cells = [f"{values[row]:.2f}" for values in lengths] + [f"{cosines[row]:.3f}"]
        assert " ".join(cells) in words(app)
    chart = figures(app)[0]["data"]
    drawn = next(line for line in chart if line["name"] == "mean")
    means = [
        np.linalg.norm(trace[f"{stack}.{layer}.residual_out"][0].double().numpy(), axis=-1).mean() for layer in (0, 1)
    ]
    assert np.allclose(numbers(drawn["y"]), means)
    assert wording("this_is_a_recording_of_whole_layers") in words(app)


def test_layers_says_where_no_layer_was_recorded(alone: Opened, trace: vt.Trace, tmp_path: Path) -> None:
    module, x = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(1, 3, 8)
    vt.watch(module, lambda: module(x, x, x), tokens=["a", "b", "c"]).save(tmp_path / "alone.safetensors")
    app = alone("layers", checkpoint="alone.safetensors")
    assert wording("what_layers_read_was_not_recorded", "encoder") in words(app) and not figures(app)


def test_tensors_has_every_recorded_point(opened: Opened, trace: vt.Trace) -> None:
    app = opened("tensors", chart="points")
    (table,) = app.dataframe
    assert list(table.value["point"]) == list(trace.points())
    app = opened("tensors", point="modules.encoder")
    assert np.array_equal(all_sent(app, "matrix")[0][1]["values"], trace["modules.encoder"][0].numpy())


@pytest.mark.parametrize("kind", ["decoder-only", "encoder-only"])
@pytest.mark.parametrize("page", ["attention", "layers", "tensors"])
def test_a_module_of_one_stack_is_shown_too(
    alone: Opened, trace: vt.Trace, tmp_path: Path, kind: str, page: str
) -> None:
    watched_trace(kind).save(tmp_path / "one.safetensors")
    app = alone(page, checkpoint="one.safetensors")
    assert len(told(app, "chips")["rows"]) == 1
    assert components(app, "matrix") or figures(app)


def test_two_recordings_stand_beside_each_other_and_a_model_keeps_its_own_pages(
    opened: Opened, alone: Opened, trace: vt.Trace, tmp_path: Path
) -> None:
    even = watched_trace(edits=[vt.edits.AblateHead("encoder.0.self", 1, "uniform")])
    even.save(tmp_path / "even.safetensors")
    pin = {"pin_checkpoint": "even.safetensors", "pin_text": "x", "kind": "encoder", "layer": "0", "heads": "1"}
    app = opened("attention", shown="A-B", **pin)
    _, arrays = sent(app, "matrix")
    difference = trace["encoder.0.self.weights"][0, 1] - even["encoder.0.self.weights"][0, 1]
    assert np.array_equal(arrays["values"], difference.numpy())
    for page in ("attention", "layers", "tensors"):
        for shown in ("A|B", "B", "A-B"):
            assert NAME in opened(page, shown=shown, **pin).session_state["selection"]["checkpoint"]
            alone(page, checkpoint="numbers", shown=shown, **pin)
    said = words(alone("run", checkpoint="numbers", shown="A|B", **pin))
    assert wording("is_a_recording_of_one_call", "even.safetensors") in said


@pytest.mark.parametrize(("value", "shown"), [(-1.0, True), (float("inf"), False), (float("nan"), True)])
def test_numbers_that_no_softmax_makes_are_a_sentence(
    alone: Opened, trace: vt.Trace, tmp_path: Path, value: float, shown: bool
) -> None:
    for points in trace.values.values():
        if points.dtype != torch.bool:
            points.fill_(value)
    trace.save(tmp_path / "odd.safetensors")
    for page in ("attention", "layers", "tensors"):
        said = words(alone(page, checkpoint="odd.safetensors"))
        infinite = wording("has_weights_that_are_infinite", f"{next(iter(trace.spec.attentions))}.weights")
        assert (infinite not in said) == shown
    nothing = wording("is_nothing_to_draw") in words(alone("layers", checkpoint="odd.safetensors"))
    assert nothing == (value != value)


def test_two_files_that_say_the_same_of_themselves_are_two(
    opened: Opened, alone: Opened, trace: vt.Trace, tmp_path: Path
) -> None:
    before = trace["encoder.0.residual_in"].clone()
    opened("tensors", point="encoder.0.residual_in")
    trace["encoder.0.residual_in"].neg_()
    trace.save(tmp_path / "other.safetensors")
    app = alone("tensors", checkpoint="other.safetensors", point="encoder.0.residual_in")
    assert np.array_equal(all_sent(app, "matrix")[0][1]["values"], -before[0].numpy())


def test_a_recording_that_is_no_whole_file_is_named(alone: Opened, trace: vt.Trace, tmp_path: Path) -> None:
    whole = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(whole[:-10])
    said = words(alone("attention", checkpoint=NAME))
    assert wording("is_not_a_trace_that_can_be_shown_here", "its tensors end elsewhere than the file") in said


ODD = "kinds.safetensors"


def weighed(weigh: Callable[[torch.Tensor], torch.Tensor]) -> torch.nn.Module:
    """Four heads, with whatever weights are made of the scores."""
    projected = torch.nn.Linear(D, 3 * D)

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.projected = projected

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            query, key, value = (p.view(1, -1, H, D // H).transpose(1, 2) for p in self.projected(x).chunk(3, -1))
            mixed: torch.Tensor = (weigh(query @ key.transpose(-1, -2)) @ value).transpose(1, 2).reshape(x.shape)
            return mixed

    return Attention()


def through_numpy(scores: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(scores.softmax(-1).numpy().copy())


KINDS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda s: s.softmax(-1),
    torch.sigmoid,
    through_numpy,
    lambda s: torch.nn.functional.dropout(s.softmax(-1), 0.5),
    lambda s: s,
]


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> vt.Trace:
    """A softmax, a sigmoid, one that is not seen, one with dropout, and the bare scores."""
    torch.manual_seed(5)
    layers = torch.nn.ModuleList(weighed(each) for each in KINDS)

    def call() -> None:
        x = drawn(len(SOURCE))
        for layer in layers:
            x = layer(x)

    with pytest.warns(UserWarning, match="was not seen"):
        made = vt.watch(layers.eval(), call, tokens=SOURCE, name="kinds")
    made.save(tmp_path / ODD)
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path))
    return made


@pytest.mark.parametrize("layer", [0, 1, 3, 4])
def test_a_map_of_any_weights_is_drawn_and_says_what_its_rows_add_up_to(
    alone: Opened, odd: vt.Trace, layer: int
) -> None:
    weights = odd[f"encoder.{layer}.self.weights"][0].numpy()
    for head in range(H):
        app = alone("attention", checkpoint=ODD, kind="encoder", layer=str(layer), heads=str(head))
        header, arrays = sent(app, "matrix")
        assert np.array_equal(arrays["values"], weights[head])
        assert header["title"] == f"Encoder layer {layer}, head {head}, self-attention ({layer})"
        assert header["signed"] == (layer == 4) and header["bounded"] == (weights.max() <= 1 and layer != 4)
        rows = [f"{each:.3g}" for each in np.sort(weights[head].astype(np.float64).sum(-1))[[0, -1]]]
        remark = wording("rows_add_to", " to ".join(rows))
        assert (remark.removeprefix("R") in words(app)) == (layer != 0)
        at = np.abs(weights[head, 0]).argmax()
        assert (wording("a_weight_of", f"{weights[head, 0, at]:.4g}") in words(app)) == (layer != 0)
    for heads in ("mean", "max", "0,1"):
        app = alone("attention", checkpoint=ODD, kind="encoder", layer=str(layer), heads=heads)
        assert components(app, "matrix")
    for panel in ("lines", "text"):
        app = alone("attention", checkpoint=ODD, kind="encoder", layer=str(layer), heads="0", panel=panel)
        assert (wording("some_weights_are_below_0") in words(app)) == (layer == 4)


def test_a_layer_that_was_not_seen_is_a_sentence_and_leaves_the_others_theirs(alone: Opened, odd: vt.Trace) -> None:
    why = wording("an_attention_was_not_seen", "encoder.2.self", "2")
    for heads in ("0", "mean", "max", "3", "0,1"):
        app = alone("attention", checkpoint=ODD, kind="encoder", layer="2", heads=heads)
        assert words(app).count(why) == 1 and not components(app, "matrix")
        assert len(components(app, "grid")) == 1
    app = alone("attention", checkpoint=ODD, kind="encoder", layer="3", heads="rollout")
    assert wording("a_rollout_has_all_layers", "encoder.2.self", "2") in words(app) and why in words(app)
    grid, arrays = sent(app, "grid")
    assert grid["label"] == "All heads, encoder self-attention: 5 layers of 4 heads"
    assert arrays["missing"][2].all() and not arrays["missing"][[0, 1, 3, 4]].any()
    assert components(alone("attention", checkpoint=ODD, kind="encoder", layer="1", heads="rollout"), "matrix")
    app = alone("layers", checkpoint=ODD, kind="encoder", layer="2")
    assert figures(app) and "Encoder layer 2, the whole layer" in words(app)
    app = alone("tensors", checkpoint=ODD, point="encoder.2.self.weights")
    assert why in words(app)


def test_two_such_recordings_stand_beside_each_other(alone: Opened, odd: vt.Trace) -> None:
    pin = {"pin_checkpoint": ODD, "pin_text": "x", "kind": "encoder", "heads": "1"}
    for layer in range(5):
        for shown in ("A|B", "B", "A-B"):
            app = alone("attention", checkpoint=ODD, shown=shown, layer=str(layer), **pin)
            assert bool(components(app, "matrix")) == (layer != 2)
