"""Edits: what each does to its point, that it changes the answer, and that one that fits nothing is an error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from builders import assert_same, tiny_checkpoint, tiny_config

from viz_transformer.model.hooked_model import spec_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import (
    AblateHead,
    Edit,
    FixRow,
    RemovePositions,
    Replace,
    Scale,
    SetMask,
    check_edits,
    edit_from_dict,
)
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

SITE = "decoder.1.cross"
ALL: list[Edit] = [
    AblateHead(SITE, 2, "zero"),
    AblateHead(SITE, 2, "mean"),
    AblateHead("decoder.1.self", 2, "uniform"),
    Scale("decoder.0.self.query", 0.5, at=(3, 2)),
    Replace("encoder.out", 0.25, at=(1,)),
    SetMask("decoder.0.self", query=3, key=1, allowed=False),
    SetMask("encoder.0.self", query=None, key=0, allowed=False, head=1),
    SetMask("decoder.1.cross", query=1, key=0, allowed=False, head=1),
    FixRow("decoder.2.cross", query=2, weights=(0.5, 0.5), head=0),
    RemovePositions("decoder"),
]


def run(*edits: Edit) -> Trace:
    return trace(tiny_checkpoint(), "abcde", "uvwxyz", edits=edits)


def test_ablated_heads_are_zero_their_mean_or_even() -> None:
    plain = run()[f"{SITE}.head_out"]
    zero = run(AblateHead(SITE, 2))[f"{SITE}.head_out"]
    assert not zero[:, 2].any()
    assert torch.equal(zero[:, :2], plain[:, :2])
    mean = run(AblateHead(SITE, 2, "mean"))[f"{SITE}.head_out"]
    assert torch.equal(mean[:, 2], plain[:, 2].mean(dim=1, keepdim=True).expand_as(plain[:, 2]))
    even = run(AblateHead("decoder.1.self", 2, "uniform"))["decoder.1.self.weights"][0, 2]
    want = torch.tril(torch.ones(7, 7)) / torch.arange(1, 8)[:, None]
    torch.testing.assert_close(even, want)


def test_scale_and_replace_change_the_cells_meant_and_no_others() -> None:
    name = "decoder.0.self.query"
    plain, scaled = run()[name], run(Scale(name, 0.5, at=(3, 2)))[name]
    assert torch.equal(scaled[0, 3, 2], plain[0, 3, 2] * 0.5)
    changed = scaled != plain
    assert changed[0, 3, 2].all()
    assert changed.sum() == 4
    row = tuple(float(i) for i in range(16))
    replaced = run(Replace("encoder.out", row, at=(1,)))["encoder.out"]
    assert replaced[0, 1].tolist() == list(row)
    assert torch.equal(replaced[0, 0], run()["encoder.out"][0, 0])


def test_mask_cells_are_forbidden_and_allowed() -> None:
    closed = run(SetMask("decoder.0.self", query=3, key=1, allowed=False))
    assert closed["decoder.0.self.weights"][0, :, 3, 1].tolist() == [0.0] * 4
    opened = run(SetMask("decoder.0.self", query=0, key=5, allowed=True, head=2))
    weights = opened["decoder.0.self.weights"][0, :, 0, 5]
    assert weights[2] > 0
    assert weights[[0, 1, 3]].tolist() == [0.0] * 3


def test_a_fixed_row_is_used_as_given_and_its_sum_is_told() -> None:
    edit = FixRow("decoder.2.cross", query=2, weights=(0.5, 0.25), head=0)
    row = run(edit)["decoder.2.cross.weights"][0, 0, 2]
    assert row.tolist() == [0.5, 0.25, 0, 0, 0, 0, 0]
    assert "sum 0.7500" in edit.caption()


def test_removed_positions_are_zero() -> None:
    assert not run(RemovePositions("encoder"))["encoder.embed.position"].any()


@pytest.mark.parametrize("edit", ALL, ids=lambda e: e.caption())
def test_every_edit_changes_the_logits_and_survives_its_dictionary(edit: Edit) -> None:
    assert not torch.equal(run()["logits"], run(edit)["logits"])
    assert edit_from_dict(edit.to_dict()) == edit
    assert hash(edit) == hash(edit_from_dict(edit.to_dict()))


@pytest.mark.parametrize("edit", ALL, ids=lambda e: e.caption())
def test_an_edited_decode_equals_an_edited_pass_over_what_it_wrote(edit: Edit) -> None:
    ckpt = tiny_checkpoint()
    written = decode(ckpt, "abcde", max_steps=7, prefix="uvwxyz", edits=[edit])
    once = trace(ckpt, "abcde", list(written.trace.tgt_ids), edits=[edit])
    assert written.trace.info["cached"] == (edit != ALL[1])
    for name, value in written.trace.values.items():
        assert_same(value, once[name], name)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (AblateHead("decoder.9.cross", 0), "no attention named 'decoder.9.cross'; this model has encoder.0.self"),
        (AblateHead(SITE, 4), "there is no head 4: heads go from 0 to 3"),
        (Scale("decoder.1.cross.weight", 2.0), "Did you mean 'decoder.1.cross.weights'"),
        (Scale("decoder.1.cross.scores", 2.0), "is derived: nothing in the run is computed from it"),
        (RemovePositions("encoder"), "no point named 'encoder.embed.position'"),
    ],
)
def test_an_edit_that_names_nothing_is_an_error(edit: Edit, sentence: str) -> None:
    config = tiny_config(positions="none")
    with pytest.raises(ValueError) as error:
        check_edits([edit], spec_of(config))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "edit",
    [SetMask(SITE, query=7, key=0, allowed=False), FixRow(SITE, 99, (1.0,)), Scale("logits", 2.0, at=(50,))],
    ids=lambda e: e.caption(),
)
def test_an_edit_that_never_ran_is_an_error(edit: Edit) -> None:
    with pytest.raises(ValueError, match="never ran: this run has no such position"):
        run(edit)
    with pytest.raises(ValueError, match="never ran"):
        decode(tiny_checkpoint(), "abcde", max_steps=3, edits=[edit])


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (FixRow(SITE, 0, (0.1,) * 9), "the row has 9 weights, query 0 has 7"),
        (Scale(f"{SITE}.mask", 2.0), "is a mask: use SetMask"),
        (Replace("encoder.out", (1.0, 2.0), at=(1,)), r"needs values of shape \(16,\), not \(2,\)"),
        (Scale("encoder.out", 2.0, at=(1, 2, 3)), "has 3 indices, the point has 2 axes"),
    ],
)
def test_an_edit_that_does_not_fit_its_point_says_so(edit: Edit, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        run(edit)


def test_an_edit_of_an_unknown_kind_or_field_is_refused() -> None:
    with pytest.raises(ValueError, match="edit='Sharpen' is not known; choose 'AblateHead'"):
        edit_from_dict({"edit": "Sharpen"})
    with pytest.raises(ValueError, match="Scale: 'colour' is not known"):
        edit_from_dict({"edit": "Scale", "colour": 3})
    with pytest.raises(ValueError, match="Scale: 'factor' is missing: it has to be a number"):
        edit_from_dict({"edit": "Scale", "name": "logits"})


DEEP: Any = 1.0
for _ in range(500):
    DEEP = [DEEP]

WRONG_TYPES: list[Any] = [
    1,
    None,
    [],
    "AblateHead",
    {"edit": ["AblateHead"]},
    {"edit": "x" * 10**6},
    {"edit": "Scale", "x" * 10**6: 1},
    {"edit": "AblateHead", "site": 7, "head": 0},
    {"edit": "AblateHead", "site": SITE, "head": "0"},
    {"edit": "AblateHead", "site": SITE, "head": 0.5},
    {"edit": "AblateHead", "site": SITE, "head": True},
    {"edit": "AblateHead", "site": SITE, "head": None},
    {"edit": "AblateHead", "site": SITE, "head": 10**400},
    {"edit": "AblateHead", "site": SITE, "head": 0, "how": ["zero"]},
    {"edit": "AblateHead", "site": SITE, "head": 0, "how": "x" * 10**6},
    {"edit": "Scale", "name": "logits", "factor": "2"},
    {"edit": "Scale", "name": "logits", "factor": 10**400},
    {"edit": "Scale", "name": ["logits"], "factor": 2},
    {"edit": "Scale", "name": "logits", "factor": 2, "at": 3},
    {"edit": "Scale", "name": "logits", "factor": 2, "at": ["0"]},
    {"edit": "Replace", "name": "logits", "value": "0"},
    {"edit": "Replace", "name": "logits", "value": None},
    {"edit": "Replace", "name": "logits", "value": []},
    {"edit": "Replace", "name": "logits", "value": [[1, 2], [3]]},
    {"edit": "Replace", "name": "logits", "value": [1, [2]]},
    {"edit": "Replace", "name": "logits", "value": DEEP},
    {"edit": "SetMask", "site": SITE, "query": 0, "key": 0, "allowed": 1},
    {"edit": "SetMask", "site": SITE, "query": "all", "key": 0, "allowed": True},
    {"edit": "FixRow", "site": SITE, "query": 0, "weights": 1.0},
    {"edit": "FixRow", "site": SITE, "query": 0, "weights": ["1"]},
    {"edit": "RemovePositions", "stack": "both"},
    {"edit": "RemovePositions", "stack": {}},
]


@pytest.mark.parametrize("described", WRONG_TYPES, ids=lambda described: str(described)[:60])
def test_an_edit_from_data_checks_the_types_of_its_fields(described: Any) -> None:
    with pytest.raises(ValueError) as caught:
        edit_from_dict(described)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["x" * 100_000, "decoder.0.self." + "weights" * 10_000])
def test_an_edit_of_a_point_with_an_endless_name_is_refused_in_a_short_sentence(name: str) -> None:
    for edit in (Scale(name, 2.0), AblateHead(name, 0), SetMask(name, 0, 0, True)):
        with pytest.raises(ValueError) as caught:
            check_edits([edit], tiny_checkpoint().spec)
        assert len(str(caught.value)) < 600


def test_numbers_of_numpy_are_numbers() -> None:
    assert AblateHead(SITE, np.int64(1)).head == 1
    assert Scale("logits", np.float32(2)).factor == 2


ARRAYS: list[tuple[str, Any, tuple[int | None, ...]]] = [
    ("encoder.out", lambda value: value[0], ()),
    ("encoder.out", lambda value: value, ()),
    ("encoder.out", lambda value: value[0, 2], (2,)),
    ("decoder.0.self.weights", lambda value: value, ()),
    ("decoder.0.self.mask", lambda value: value, ()),
    ("decoder.1.cross.head_out", lambda value: value[0, 3], (3,)),
    ("decoder.1.cross.head_out", lambda value: value[:, 3], (3,)),
    ("decoder.1.cross.head_out", lambda value: value[0, 3, 2, 1], (3, 2, 1)),
]


@pytest.mark.parametrize("kind", [lambda value: value, torch.Tensor.numpy, lambda value: value.half().float()])
@pytest.mark.parametrize(("name", "of", "at"), ARRAYS)
def test_a_point_is_patched_with_a_tensor_or_an_array_of_another_run(
    name: str, of: Any, at: tuple[int | None, ...], kind: Any
) -> None:
    other = trace(tiny_checkpoint(), "edcba", "zyxwvu")
    value = kind(of(other[name]))
    edit = Replace(name, value, at)
    where = (0, *(slice(None) if index is None else index for index in at))
    expected = torch.as_tensor(value).reshape(other[name][where].shape)
    assert torch.equal(run(edit)[name].expand_as(other[name])[where], expected.to(other[name].dtype))
    assert hash(edit) == hash(edit_from_dict(edit.to_dict())) and edit == edit_from_dict(edit.to_dict())
    assert edit == Replace(name, edit.value, at)


def test_a_patched_tensor_is_no_longer_the_one_that_was_given() -> None:
    value = torch.zeros(16, requires_grad=True)
    edit = Replace("encoder.out", value, at=(1,))
    with torch.no_grad():
        value += 1.0
    assert edit.value == (0.0,) * 16 and Replace("encoder.out", torch.tensor(0.25)).value == 0.25


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (torch.zeros(0, 3), "value=a tensor of float32 of shape (0, 3) has to be a number, a tensor or an array"),
        (np.zeros((1,) * 9), "value=an array of float64 of shape (1, 1, 1, 1, 1, 1, 1, 1, 1) has to be"),
        (torch.zeros(2, dtype=torch.complex64), "value=a tensor of complex64 of shape (2,) has"),
        (np.array(["a", "b"]), "value=an array of <U1 of shape (2,) has"),
    ],
    ids=str,
)
def test_what_cannot_be_put_in_a_points_place_is_said_by_its_shape(value: Any, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        Replace("encoder.out", value)
    assert said in str(caught.value)


def test_a_tensor_where_a_number_belongs_is_said_by_its_shape() -> None:
    with pytest.raises(ValueError, match=r"Scale: factor=a tensor of float32 of shape \(5, 5\) has to be a number"):
        Scale("logits", torch.full((5, 5), 0.123))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"needs values of shape \(7, 16\), not \(5, 5\)"):
        run(Replace("encoder.out", torch.full((5, 5), 0.123)))


def test_values_of_fewer_positions_than_the_run_has_say_so() -> None:
    ckpt = tiny_checkpoint("decoder-only")
    patch = Replace("decoder.0.ffn.out", trace(ckpt, "uvw")["decoder.0.ffn.out"])
    assert len(decode(ckpt, "u", max_steps=3, ban=["</s>"], edits=[patch]).steps) == 3
    sentence = "the values for 'decoder.0.ffn.out' are those of 4 positions, and this run comes to position 4: end it"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        decode(ckpt, "u", max_steps=6, ban=["</s>"], edits=[patch])
    with pytest.raises(ValueError, match=re.escape(sentence)):
        trace(ckpt, "uvwx", edits=[patch])
