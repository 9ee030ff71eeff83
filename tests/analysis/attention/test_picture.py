"""A picture has one set of numbers: what is drawn of it, its table, its CSV and what is made of it are these."""

import csv
import inspect
import io
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from builders import tiny_checkpoint
from drawing import picture_of

import viz_transformer as vt
from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.maps import attention_picture, head_view
from viz_transformer.analysis.attention.picture import Heads, Picture, RunNames
from viz_transformer.analysis.attention.words import Words
from viz_transformer.analysis.weight.weight_numbers import QueryRow
from viz_transformer.figures import components
from viz_transformer.running.decoding import decode

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0, 0.75, 0.25]], np.float32)
MAX_PARAMETERS = 7


def made(values=WEIGHTS, **given) -> Picture:
    """Two queries that read "<s>" and "b" and write "b" and "c"; three keys of which the first is special."""
    rows = Axis("t", "query", "reads", "target", Texts(("<s>", "b")), writes=Texts(("b", "c")))
    columns = Axis("i", "key", "keys, source", "source", Texts(("<s>", "x", "y"), special={0}))
    return picture_of(values, rows, columns, **given)


def drawn(picture):
    return payload.unpack(picture.pack())


def test_map_lines_text_table_and_csv_have_the_same_numbers():
    run = decode(tiny_checkpoint(), "abc", max_steps=4)
    picture = attention_picture(run.trace, "cross", 1, 2)
    recorded = run.trace["decoder.1.cross.weights"][0, 2].numpy()
    in_csv = [line[1:] for line in list(csv.reader(io.StringIO(picture.csv().decode())))[1:]]
    for values in (
        picture.values,
        picture.table().to_numpy(),
        np.array(in_csv, np.float64).astype(np.float32),
        drawn(picture)[1]["values"],
        payload.unpack(picture.pack_lines())[1]["weights"][0],
        payload.unpack(picture.pack_text())[1]["weights"],
        payload.unpack(vt.show(run, "decoder.1.cross", head=2).data)[1]["values"],
    ):
        assert np.asarray(values, np.float32).tobytes() == recorded.tobytes()


@pytest.mark.parametrize("heads", [None, "max", 1, (0, 2)])
def test_a_notebook_shows_what_analysis_made_and_says_the_same_of_it(heads):
    run = decode(tiny_checkpoint(), "abc", max_steps=4)
    picture = attention_picture(run.trace, "decoder", 0, heads)
    header, _ = payload.unpack(vt.show(run, "decoder.0.self", head=heads).data)
    if heads == (0, 2):
        assert header["heads"] == list(picture.heads.names) == ["head 0", "head 2"]
    else:
        assert {name: header[name] for name in ("title", "caption", "name", "unit", "scale")} == {
            name: getattr(picture.meta, name) for name in ("title", "caption", "name", "unit", "scale")
        }


def test_a_view_of_a_head_is_a_picture_and_keeps_the_names_that_drawing_arrays_has():
    run = decode(tiny_checkpoint(), "az", max_steps=2)
    view = head_view(run.trace, "cross", 0, 1)
    assert isinstance(view, Picture) and view.weights is view.values
    assert (view.query_tokens, view.query_writes) == (("<s>", *run.tokens[:-1]), run.tokens)
    assert (view.key_tokens[2], view.key_originals[2]) == ("<unk>", "z")


def test_one_less_another_is_a_picture_whose_words_say_so():
    less = made() - made(WEIGHTS[:, ::-1], title="another", caption="its caption")
    assert np.array_equal(less.values, WEIGHTS - WEIGHTS[:, ::-1])
    assert (less.meta.title, less.meta.caption) == ("A − B: a title", "A: a caption; B: its caption")
    assert less.meta.signed and not less.meta.bounded and drawn(less)[0]["signed"]
    with pytest.raises(ValueError, match=r"A has 2 × 3 cells and B 2 × 2: only maps of one size"):
        _ = made() - made().without({0})


def test_a_cell_is_masked_in_a_difference_if_it_is_in_both_and_there_if_it_is_in_both():
    first, second = np.array([[1, 0, 1], [1, 1, 1]], bool), np.array([[0, 0, 1], [1, 1, 1]], bool)
    less = made(mask=first) - made(mask=second)
    assert np.array_equal(less.mask, first | second)
    assert np.array_equal((made(there=first) - made(there=second)).valid, first & second)
    assert np.array_equal((made(there=first) - made()).valid, first)


def test_without_special_keys_rows_sum_to_1_again_and_places_keep_their_positions():
    left = made(hidden=None).without({0})
    assert left.values.tolist() == [[0.5, 0.5], [0.75, 0.25]]
    assert left.hidden.tolist() == [0.5, 0]
    assert list(left.table().columns) == ["1 x", "2 y"]
    assert left.meta.unit == "attention weight without special keys, renormalised"
    lengths = made(quantity="norm", bounded=False).without({0})
    assert np.array_equal(lengths.values, WEIGHTS[:, 1:]) and lengths.hidden is None


def test_heads_go_with_the_picture_that_they_are_of():
    both = replace(made(), heads=Heads(("head 0", "head 1"), np.stack([WEIGHTS, WEIGHTS[::-1]])))
    left = both.without({0})
    assert left.heads.values.tolist() == [left.values.tolist(), left.values[::-1].tolist()]
    assert left.heads.hidden.tolist() == [[0.5, 0], [0, 0.5]]
    assert not (both - both).heads.values.any()


def test_words_are_summed_over_keys_and_averaged_over_queries():
    rows, columns = Words(((0, 1),), ("<s>b",)), Words(((0,), (1, 2)), ("<s>", "xy"))
    merged = made().words(rows, columns)
    assert merged.values.tolist() == [[0.25, 0.75]]
    assert (merged.columns.starts, merged.columns.ends) == ((0, 1), (1, 3))
    assert merged.rows.writes.tokens == ("bc",) and merged.meta.scale == "derived"
    lengths = made().words(rows, columns, lambda groups: np.full((2, len(groups)), len(groups[-1]), np.float32))
    assert lengths.values.tolist() == [[2, 2]]  # of the groups, and no sums of the keys'


def test_what_the_run_has_no_number_of_stays_empty_in_all_that_is_made_of_it():
    there = np.array([[1, 1, 0], [0, 0, 0]], bool)
    gaps = made(there=there).with_gaps()
    assert np.array_equal(np.isnan(gaps.values), ~there)
    assert gaps.without({0}).values[0].tolist()[:1] == [1] and np.isnan(gaps.without({0}).values[1]).all()
    assert "An empty cell has no number" in gaps.note and not gaps.not_a_number.any()


def test_text_stays_text_in_tables_and_captions():
    markup = "<b>&amp;</b>"
    columns = Axis("i", "key", "keys", "source", Texts(("<unk>",), (markup,)))
    picture = picture_of([[1.0]], Axis("t", "query", "reads", "target", Texts((markup,))), columns)
    assert (list(picture.table().index), list(picture.table().columns)) == ([f"0 {markup}"], [f"0 {markup}"])
    assert RunNames("n", markup).meta("what", "encoder").caption.startswith(f"{markup}, what (Viz Transformer")


def test_nothing_is_packed_with_more_than_seven_parameters():
    packing = [Picture.pack, Picture.pack_lines, Picture.pack_text, QueryRow.pack]
    for name in ("beam_tree", "grid", "masks", "scrubber", "snapshots", "whole"):
        packing.append(getattr(import_module(f"{components.__name__}.{name}"), f"{name}_payload"))
    found = {each.__qualname__: len({*inspect.signature(each).parameters} - {"self"}) for each in packing}
    assert max(found.values()) <= MAX_PARAMETERS, found


@pytest.mark.parametrize("heads", [1, (0, 2)])
def test_lines_that_stand_alone_are_as_high_as_the_map(heads):
    run = decode(tiny_checkpoint(), "abc", max_steps=2)
    shown = (vt.show(run, "decoder.0.self", head=heads, form="lines"), vt.show(run, "decoder.0.self"))
    assert len({payload.unpack(each.data)[0]["height"] for each in shown}) == 1
