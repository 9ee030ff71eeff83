"""What a recorded mask is made of, by masks made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from builders import tiny_checkpoint

from viz_transformer.analysis.masks.mask_rules import (
    MaskRule,
    describe_rule,
    recorded_edits,
    recorded_parts,
    rule_of,
    rules,
    turned_otherwise,
)
from viz_transformer.analysis.masks.parts import change_of, row_effects
from viz_transformer.running.edits import SetMask
from viz_transformer.running.tracing import trace

BACK = np.arange(6)[:, None] - np.arange(6)
PADDED = np.array([True, True, True, True, True, False])


@pytest.mark.parametrize(
    ("mask", "window", "both", "rule"),
    [
        (BACK >= 0, None, False, MaskRule(causal=True)),
        (np.ones((6, 6), dtype=bool), None, True, MaskRule()),
        (np.ones((2, 5), dtype=bool), None, False, MaskRule()),
        ((BACK >= 0) & (BACK < 3), 3, False, MaskRule(causal=True, window=3)),
        (np.abs(BACK) <= 2, 2, True, MaskRule(window=2, both=True)),
        (BACK >= 0, 64, False, MaskRule(causal=True, window=64)),
        ((BACK >= 0) | (np.arange(6) < 3), None, False, MaskRule(causal=True, first=3)),
        (np.ones((6, 6), dtype=bool) & PADDED, None, True, MaskRule(closed=1, padding=1)),
        ((np.abs(BACK) <= 2) & PADDED, 2, True, MaskRule(window=2, both=True, closed=1, padding=1)),
        ((BACK >= 0) & PADDED[::-1], None, False, MaskRule(causal=True, closed=1)),  # no padding stands there
        ((BACK >= 0) & (BACK < 3), 4, False, MaskRule(named=False)),  # a window that the model does not say
        (BACK % 2 == 0, None, False, MaskRule(named=False)),
    ],
)
def test_the_rule_makes_exactly_the_mask(mask: np.ndarray, window: int | None, both: bool, rule: MaskRule) -> None:
    padding = ~PADDED if mask.shape[1] == len(PADDED) else np.zeros(mask.shape[1], dtype=bool)
    assert rule_of(mask, window, both=both, padding=padding) == rule


def test_a_key_that_no_query_reads_is_called_padding_only_if_it_is() -> None:
    """A text whose last token is padding, and another key that an edit closed."""
    ckpt = tiny_checkpoint()
    pad = ckpt.spec.source_pad
    assert pad is not None
    run = trace(ckpt, [4, 5, 6, pad], [1, 4], edits=[SetMask("encoder.1.self", None, 2, allowed=False)])
    padded, both = rules(run, "encoder")
    assert (padded.closed, padded.padding) == (1, 1) and (both.closed, both.padding) == (2, 1)


CHANGES = [change_of(word) for word in ("e1.2", "e3", "e3.0", "d1.1", "e1.9")]


def test_a_recorded_mask_is_taken_apart_and_changed_by_cells_and_rows() -> None:
    """Of layer 1, where an edit closed key 2 for all queries and key 0 for query 1."""
    closed = [SetMask("encoder.1.self", None, 2, allowed=False), SetMask("encoder.1.self", 1, 0, allowed=False)]
    run = trace(tiny_checkpoint(), [4, 5, 6, 4], [1, 4], edits=closed)
    parts = recorded_parts(run, "encoder", 1, CHANGES)
    assert parts.padding.tolist() == [[True, True, False, True]] * 4
    assert parts.causal.tolist() == [[True] * 4, [False, True, True, True], [True] * 4, [True] * 4]
    assert np.array_equal(parts.own, run["encoder.1.self.mask"][0, 0].numpy() & np.ones((4, 1), dtype=bool))
    assert parts.changed.tolist() == [
        [True, True, False, True],
        [False, True, True, True],  # opened, which the first layer has open
        [True, True, False, True],
        [True, False, False, False],  # closed as a row, and one cell of it turned
    ]
    assert [change.word for change in parts.changes] == ["e3", "e1.2", "e3.0"]  # of this kind, and inside


def test_a_cell_is_turned_round_in_each_layer_by_the_mask_of_that_layer() -> None:
    ckpt, given = tiny_checkpoint(), ([4, 5, 6, 4], [1, 4])
    run = trace(ckpt, *given, edits=[SetMask("encoder.1.self", None, 2, allowed=False)])
    edits = recorded_edits(run, "encoder", CHANGES)
    assert edits == (
        SetMask("encoder.0.self", 3, None, allowed=False),
        SetMask("encoder.0.self", 1, 2, allowed=False),
        SetMask("encoder.0.self", 3, 0, allowed=True),
        SetMask("encoder.1.self", 3, None, allowed=False),
        SetMask("encoder.1.self", 1, 2, allowed=True),
        SetMask("encoder.1.self", 3, 0, allowed=True),
    )
    again = trace(ckpt, *given, edits=[*run.edits, *edits])
    for layer in (0, 1):
        changed = recorded_parts(run, "encoder", layer, CHANGES).changed
        assert np.array_equal(again[f"encoder.{layer}.self.mask"][0, 0].numpy(), changed)
        assert not again[f"encoder.{layer}.self.weights"][0][:, ~changed].any()
    assert turned_otherwise(run, "encoder", 0, CHANGES) == (1,) and turned_otherwise(run, "encoder", 1, CHANGES) == (0,)
    assert turned_otherwise(run, "encoder", 0, [change_of("e1.1"), change_of("e3")]) == ()


def test_rows_of_an_encoder_alone_are_compared_token_by_token() -> None:
    ckpt = tiny_checkpoint(kind="encoder-only")
    runs = [trace(ckpt, [4, 5, 6], edits=edits) for edits in ((), [SetMask("encoder.0.self", 1, 0, allowed=False)])]
    names = [f"label {place}" for place in range(50)]
    effects = row_effects(runs[0], runs[1], names)
    assert [each.position for each in effects] == [0, 1, 2] and [each.reads for each in effects] == list(
        runs[0].src_tokens
    )
    for row, each in enumerate(effects):
        first, second = (run["logits"][0, row].double() for run in runs)
        assert (each.before, each.after) == (names[int(first.argmax())], names[int(second.argmax())])
        assert each.change == float((first - second).abs().max()) and each.change > 0


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            MaskRule(causal=True, window=3),
            "Layers 0 and 2: a query reads the 3 keys that end at its own place, a sliding window.",
        ),
        (MaskRule(causal=True, window=9), "longer than this text of 6, so it closes nothing here."),
        (MaskRule(window=2, both=True), "its own key and the 2 beside it to each side"),
        (MaskRule(causal=True, first=3), "the first 3 keys and those up to its own place, a prefix."),
        (MaskRule(closed=1, padding=1), "every query reads every key; 1 key is closed for all of them, as padding."),
        (MaskRule(closed=3, padding=2), "; 3 keys are closed for all of them, 2 of them as padding."),
        (MaskRule(closed=2), "; 2 keys are closed for all of them, though there is no padding."),
        (MaskRule(named=False), "by a rule that has no name here"),
    ],
)
def test_a_rule_is_said_with_its_size(rule: MaskRule, said: str) -> None:
    assert said in describe_rule(rule, [0, 2], 6)
