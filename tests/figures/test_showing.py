"""vt.show: one line for what a run holds, and one sentence for what it does not."""

from dataclasses import replace

import numpy as np
import pytest
from builders import tiny_checkpoint

import viz_transformer as vt
from viz_transformer.payload import unpack


@pytest.fixture(scope="module")
def run():
    return vt.decode(tiny_checkpoint(), "abcd", max_steps=5)


def test_a_head_of_a_run_is_its_map(run):
    figure = vt.show(run, "decoder.1.cross", head=1)
    header, arrays = unpack(figure.data)
    assert np.array_equal(arrays["values"], run.trace["decoder.1.cross.weights"][0, 1].numpy())
    assert header["title"] == figure.title == "Decoder layer 1, head 1, cross-attention"
    assert header["scale"] == "cross" and header["unit"] == "attention weight"
    assert [token["text"] for token in header["columns"]["tokens"]] == list(run.trace.src_tokens)
    assert [token["text"] for token in header["writes"]] == [*run.tokens]
    assert header["caption"] == f"tiny, decoder layer 1, head 1, cross-attention (Viz Transformer {vt.__version__})"
    assert header["name"] == "tiny-decoder-layer-1-head-1-cross-attention"
    assert vt.show(run, "decoder.1.cross.weights", head=1).data == figure.data
    assert vt.show(run.trace, "decoder.1.cross", head=1).data == figure.data


def test_without_a_head_it_is_the_mean_and_says_so(run):
    header, arrays = unpack(vt.show(run, "encoder.0.self").data)
    assert np.array_equal(arrays["values"], run.trace["encoder.0.self.weights"][0].numpy().mean(axis=0))
    assert header["title"] == "Encoder layer 0, mean of 4 heads, self-attention"
    assert header["scale"] == "derived" and header["unit"] == "mean attention weight (derived)"
    assert "maximum of 4 heads" in vt.show(run, "encoder.0.self", head="max").title


def test_a_map_is_drawn_as_lines_or_text_and_several_heads_are_lines(run):
    kinds = [vt.show(run, "decoder.0.self", head=0, form=form).component for form in ("map", "lines", "text")]
    assert kinds == ["matrix", "lines", "shading"]
    header, arrays = unpack(vt.show(run, "decoder.0.self", head=[1, 0]).data)
    assert np.array_equal(arrays["weights"], run.trace["decoder.0.self.weights"][0].numpy()[[1, 0]])
    assert header["heads"] == ["head 1", "head 0"] and "heads 1, 0" in header["title"]
    assert np.array_equal(arrays["mask"][0], run.trace["decoder.0.self.mask"][0, 0].numpy())


def test_a_kind_is_all_its_heads_steps_are_the_candidates_and_a_search_has_its_tree(run):
    header, _ = unpack(vt.show(run, "cross").data)
    assert header["label"] == "All heads, cross-attention: 3 layers of 4 heads"
    header, arrays = unpack(vt.show(run, "steps").data)
    assert len(header["candidates"]) == len(run.steps) == len(arrays["rest"])
    words = [token["text"] for token in header["tokens"]]
    written = [words[step[place]] for step, place in zip(header["candidates"], header["written"], strict=True)]
    assert written == [*run.tokens]
    beam = vt.decode(tiny_checkpoint(), "abcd", strategy=vt.Beam(2), max_steps=3)
    header, _ = unpack(vt.show(beam, "tree").data)
    assert len(header["nodes"]["token"]) == len(beam.tree.nodes)


@pytest.mark.parametrize("kind", ["decoder-only", "encoder-only"])
def test_a_model_of_one_stack_shows_its_own_kind_alone(kind):
    trace = vt.trace(tiny_checkpoint(kind), "abcd")
    stack = kind.removesuffix("-only")
    shown = unpack(vt.show(trace, f"{stack}.0.self", head=0).data)[1]["values"]
    assert np.array_equal(shown, trace[f"{stack}.0.self.weights"][0, 0].numpy())
    with pytest.raises(ValueError, match=f"named 'cross': choose '{stack}.0.self' or '{stack}' or 'run'$"):
        vt.show(trace, "cross")


def test_rows_of_steps_leave_empty_what_no_step_had():
    slips = {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features"}  # rows depend on later tokens
    run = vt.decode(tiny_checkpoint(**slips), "abcd", max_steps=4, prefix="u", ban=["</s>"])
    header, arrays = unpack(vt.show(run.per_step_rows, "decoder.0.self", head=0).data)
    assert (
        np.array_equal(arrays["there"], np.tri(len(run.trace.tgt), dtype=bool))
        and "each row of its own step" in header["caption"]
    )
    assert "rows of the last pass" in unpack(vt.show(run, "decoder.0.self", head=0).data)[0]["caption"]
    assert np.array_equal(unpack(vt.show(run.per_step_rows, "decoder").data)[1]["missing"], ~arrays["there"])


@pytest.mark.parametrize(
    ("what", "given", "message"),
    [
        ("decoder.1.cros", {}, r"named 'decoder\.1\.cros': choose 'decoder\.1\.cross' or "),
        ("decoder.9.cross", {}, r"choose 'decoder\.\d\.cross' or "),
        ("decoder.1.cross.key", {}, r"named 'decoder\.1\.cross\.key': choose 'decoder\.1\.cross'"),
        ("?", {}, "choose 'decoder.0.cross' or 'cross' or 'decoder' or 'encoder' or 'run' or 'steps' or 'tree'"),
        ("decoder.1.cross", {"head": 4}, "there is no head 4: heads go from 0 to 3"),
        ("decoder.1.cross", {"head": "most"}, "choose 'mean' or 'max', or a head's number"),
        ("decoder.1.cross", {"head": []}, "no head was given"),
        ("decoder.1.cross", {"form": "bars"}, "form='bars' is not known; choose 'map' or 'lines' or 'text'"),
        ("cross", {"head": 1}, "head and form belong to one attention, such as 'decoder.0.cross': 'cross' has neither"),
        ("tree", {}, "only a beam search has a tree"),
    ],
)
def test_what_is_not_there_is_one_sentence_with_what_is_near(run, what, given, message):
    with pytest.raises(ValueError, match=message):
        vt.show(run, what, **given)


def test_only_a_run_or_a_trace_is_shown(run):
    with pytest.raises(ValueError, match="show draws a run or a trace, not 'numbers'"):
        vt.show("numbers", "cross")
    with pytest.raises(ValueError, match="named 'steps'"):
        vt.show(run.trace, "steps")


def test_of_one_head_there_is_no_mean():
    trace = vt.trace(tiny_checkpoint(n_heads=1), "abc", "uv")
    header, arrays = unpack(vt.show(trace, "decoder.1.cross").data)
    assert (header["title"], header["scale"]) == ("Decoder layer 1, head 0, cross-attention", "cross")
    assert np.array_equal(arrays["values"], trace["decoder.1.cross.weights"][0, 0].numpy())
    assert unpack(vt.show(trace, "run").data)[0]["head"] == 0
    assert unpack(vt.show(trace, "cross").data)[0]["label"] == "All heads, cross-attention: 3 layers of 1 head"
    assert unpack(vt.show(vt.trace(tiny_checkpoint(), "abc", "uv"), "run").data)[0]["head"] is None


@pytest.mark.parametrize("what", ["decoder.1.cross", "cross", "steps", "run"])
def test_a_picture_of_an_imported_model_says_how_well_its_reading_is_known(what, tmp_path):
    ckpt = replace(tiny_checkpoint(), name="mine", card={"imported": {"settings": []}})
    failed = {"grade": "failed", "sentence": "a sentence", "proved": {"passed": False}, "of": None}
    for card, words, tone in (
        ({"verified": failed}, "wrong by its own sample", "bad"),
        ({}, "not proved (no sample)", "muted"),
    ):
        run = vt.decode(replace(ckpt, card=ckpt.card | card), "abcd", max_steps=5)
        figure = vt.show(run, what)
        assert f'color: var(--vt-{tone})">mine: {words}</p>' in figure.html
        header, _ = unpack(figure.data)
        assert header["caption"].startswith(f"mine, {words}, ")
        run.trace.save(tmp_path / "run.safetensors")
        opened = vt.Trace.load(tmp_path / "run.safetensors")
        assert opened.called == f"mine, {words}"
    assert 'id="note"' not in vt.show(vt.decode(tiny_checkpoint(), "abcd", max_steps=5), what).html


def test_an_array_of_ones_own_is_a_picture_with_its_names_and_its_scale() -> None:
    names = ["a", "<b>", "c"]
    header, arrays = unpack(vt.show(vt.Picture.of([[0, 1, 2.5], [3, 4, 5]], title="Similarity", columns=names)).data)
    assert np.array_equal(arrays["values"], [[0, 1, 2.5], [3, 4, 5]])
    assert (header["title"], header["scale"], header["signed"], header["rows"]["count"]) == (
        "Similarity",
        "derived",
        False,
        2,
    )
    assert [token["text"] for token in header["columns"]["tokens"]] == names
    signed, _ = unpack(vt.show(vt.Picture.of([[-1, 1]], title="Signed")).data)
    assert signed["signed"]
    less = vt.Picture.of([[3, 1]], title="x") - vt.Picture.of([[1, 1]], title="x")
    assert less.values.tolist() == [[2, 0]] and less.table().shape == (1, 2)
    assert vt.Picture.of([[1.0, float("nan")]], title="x").csv()


@pytest.mark.parametrize(
    ("values", "names", "said"),
    [
        ([1, 2], {}, r"a picture has rows and columns, not the shape \(2,\)"),
        ([[]], {}, r"a picture has rows and columns, not the shape \(1, 0\)"),
        ([[1, 2]], {"columns": ["a"]}, "names of columns"),
    ],
)
def test_what_is_no_picture_is_said(values: list[object], names: dict[str, list[str]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        vt.Picture.of(values, title="x", **names)
