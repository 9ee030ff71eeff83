"""Where every step is a whole pass, `Run.per_step_rows` has the rows of the pass that wrote each token, no others."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.strategies import Beam, Greedy, Sampling
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

SLIPS: dict[str, Any] = {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features"}
NOT_CAUSAL = [SLIPS, {"merge": "raw-reshape"}, SLIPS | {"mask_fill": "added-1e9", "padding_mask": "key-or-query"}]
PADDED = {"pad_to": 20, "max_target": 20}
SITES = [f"decoder.{layer}.{kind}" for layer in range(3) for kind in ("self", "cross")]


@pytest.fixture(scope="module")
def slips() -> Run:
    return decode(load("en-it-slips"), "i like it .")


def test_the_own_row_that_writes_non_is_the_one_that_its_step_recorded_bit_by_bit(slips: Run) -> None:
    step, site = slips.steps[0], "decoder.1.cross.weights"
    assert (step.token, slips.trace.next_tokens[step.position]) == ("non", "non")
    own, last = slips.per_step_rows[site][0, :, step.position], slips.trace[site][0, :, step.position]
    assert torch.equal(own, step.rows[site][0, :, 0])
    head, key = divmod(int((own - last).abs().argmax()), own.size(-1))
    assert own[head, key] > 0.9999 and last[head, key] < 0.0002  # the step looked there alone, the last pass does not


def test_every_own_row_of_a_bundled_model_is_that_of_its_step_and_nothing_else_has_a_number(slips: Run) -> None:
    own = slips.per_step_rows
    for step in slips.steps:
        assert torch.equal(own["logits"][0, step.position], step.logits)
        for name, row in step.rows.items():
            assert torch.equal(own[name][:, :, step.position, : row.size(-1)], row[:, :, 0])
    for name in (*slips.steps[0].rows, "logits"):
        assert own[name].shape == slips.trace[name].shape
        assert own[name][..., len(slips.steps) :, :].isnan().all()
        assert not own[name][..., : len(slips.steps), :].isnan().any()


@pytest.mark.parametrize(
    ("changes", "padded", "strategy"),
    list(product(NOT_CAUSAL, [{}, PADDED], [Greedy(), Sampling(seed=3), Beam(2, length_penalty=0.0)])),
)
def test_own_rows_are_those_of_a_pass_over_the_tokens_so_far(
    changes: dict[str, Any], padded: dict[str, int], strategy: Any
) -> None:
    ckpt = tiny_checkpoint(**changes, **padded)
    run = decode(ckpt, "abc", strategy=strategy, prefix="u", max_steps=5)
    own, last = run.per_step_rows, run.trace
    assert (
        last.non_causal_reason == "later tokens change earlier rows of this model"
        and own.is_per_step
        and not last.is_per_step
    )
    for step in run.steps:
        so_far = trace(ckpt, "abc", [1, *(each.token_id for each in run.steps[: step.index])])
        assert torch.equal(own["logits"][0, step.position], so_far["logits"][0, step.position])
        for site in SITES:
            row, there = own[f"{site}.weights"][0, :, step.position], so_far[f"{site}.weights"].size(-1)
            assert torch.equal(row[:, :there], so_far[f"{site}.weights"][0, :, step.position])
            assert row[:, there:].isnan().all()
            mask = so_far[f"{site}.mask"].expand_as(so_far[f"{site}.weights"])[0, 0, step.position]
            own_mask = own[f"{site}.mask"].expand_as(own[f"{site}.weights"])[0, 0, step.position]
            assert torch.equal(own_mask[:there], mask) and not own_mask[there:].any()
            for same in ("key", "value") if site.endswith("cross") else ():
                assert torch.equal(own[f"{site}.{same}"], so_far[f"{site}.{same}"])
    assert not torch.equal(own["logits"][0, 0], last["logits"][0, 0])
    assert own.id != last.id and (own.tgt, own.next_tokens) == (last.tgt, last.next_tokens)


def test_rows_that_no_step_wrote_have_no_numbers() -> None:
    """Of a decoder alone the given beginning, all but its last token, is read and written by no step."""
    run = decode(tiny_checkpoint("decoder-only", merge="raw-reshape"), "uvw", max_steps=3, ban=["</s>"])
    own = run.per_step_rows
    assert [step.position for step in run.steps] == [3, 4, 5]
    for name in ("logits", "decoder.2.self.weights"):
        assert own[name][..., :3, :].isnan().all()
    assert not own["decoder.2.self.mask"][..., :3, :].any()
    assert torch.equal(own["decoder.2.self.mask"][0, 0, 3:], torch.ones(3, 6, dtype=torch.bool).tril(3))


def test_a_given_target_has_steps_and_so_rows_of_their_own() -> None:
    ckpt = tiny_checkpoint(**SLIPS)
    run, other = decode(ckpt, "abc", target="uvwx"), decode(ckpt, "abc", target="uvyz")
    site = "decoder.2.cross.weights"
    assert not torch.equal(run.trace[site][:, :, :3], other.trace[site][:, :, :3])
    assert torch.equal(
        run.per_step_rows[site][:, :, :3], other.per_step_rows[site][:, :, :3]
    )  # what comes later is no matter
    once = trace(ckpt, "abc", "uvwx")
    assert once.non_causal_reason and not once.is_per_step and "written" not in once.info


@pytest.mark.parametrize("changes", [{}, {"pad_to": 20, "max_target": 20}])
def test_a_causal_run_has_no_other_rows_than_its_trace(changes: dict[str, Any]) -> None:
    run = decode(tiny_checkpoint(**changes), "abc", max_steps=4)
    assert run.per_step_rows is run.trace and run.trace.non_causal_reason is None
    for step in run.steps:  # also where every step was a whole pass: not a bit is another
        assert all(
            torch.equal(run.trace[name][:, :, step.position, None, : row.size(-1)], row)
            for name, row in step.rows.items()
        )


@pytest.mark.parametrize(("site", "ahead"), [("decoder.0.cross", True), ("encoder.1.self", False)])
def test_an_edit_that_needs_all_rows_gives_each_step_rows_of_its_own(site: str, ahead: bool) -> None:
    ckpt, edits = tiny_checkpoint(), [AblateHead(site, 1, "mean")]
    run = decode(ckpt, "abc", max_steps=4, edits=edits)
    assert run.trace.info["cached"] is False
    assert run.trace.non_causal_reason == (f"the edit '{edits[0].caption()}' needs all rows at once" if ahead else None)
    assert trace(ckpt, "abc", "uv", edits=edits).non_causal_reason == run.trace.non_causal_reason
    point = "decoder.2.self.weights"
    for step in run.steps:
        so_far = trace(ckpt, "abc", [1, *(each.token_id for each in run.steps[: step.index])], edits=edits)[point]
        row = run.per_step_rows[point][:, :, step.position, : so_far.size(-1)]
        if ahead:
            assert torch.equal(row, so_far[:, :, step.position])
        else:  # the rows of the last pass are the same but for rounding
            torch.testing.assert_close(row, so_far[:, :, step.position], atol=1e-6, rtol=0)


def test_a_text_that_begins_with_padding_may_read_ahead() -> None:
    for fill, ahead in (("zero-rows", False), ("-1e10", True)):
        run = decode(tiny_checkpoint("decoder-only", mask_fill=fill), [0, 5, 6], max_steps=4)
        assert (run.trace.non_causal_reason is not None) == run.per_step_rows.is_per_step == ahead


def test_what_no_step_kept_is_said_to_be_missing_and_a_wrong_name_is_still_a_wrong_name(slips: Run) -> None:
    for name in ("decoder.1.self.value", "decoder.1.cross.query", "decoder.0.residual_out", "decoder.1.self.scores"):
        with pytest.raises(KeyError, match="of each step was not kept"):
            slips.per_step_rows[name]
    with pytest.raises(KeyError, match="Did you mean"):
        slips.per_step_rows["decoder.1.cross.weight"]


def test_own_rows_are_saved_and_loaded_as_what_they_are(slips: Run, tmp_path: Path) -> None:
    slips.per_step_rows.save(tmp_path / "own.safetensors")
    found = Trace.load(tmp_path / "own.safetensors")
    assert found.is_per_step and found.id == slips.per_step_rows.id and found.points() == slips.per_step_rows.points()
    assert torch.equal(found["logits"].nan_to_num(-1.0), slips.per_step_rows["logits"].nan_to_num(-1.0))


def test_a_trace_from_before_this_was_written_down_is_known_by_its_model() -> None:
    once = trace(tiny_checkpoint(**SLIPS), "abc", "uv")
    for info in ({"causal": False}, {"causal": False, "reads_ahead": ["x"]}):
        assert replace(once, info=info).non_causal_reason == once.non_causal_reason
    assert replace(once, info={}).non_causal_reason is None
