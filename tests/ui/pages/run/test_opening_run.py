"""When the recorded run may be shown in the place of the live one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import viz_transformer as vt
from viz_transformer.analysis import strongest_key
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.ui import pages  # noqa: F401  # all fields are known
from viz_transformer.ui.pages.run import opening_run, recording
from viz_transformer.ui.session import state

FOUND = opening_run.Recording.load(opening_run.FILE)


def shown(weights: str = FOUND.weights_sha256, **changes: object) -> bool:
    summary = Summary(FOUND.checkpoint, Path("x"), None, {}, {"sha256": {"model.safetensors": weights}})
    return opening_run.recording_of(summary, {**state.DEFAULTS, **changes}) is not None


def test_the_opening_view_is_the_recorded_one_with_these_weights_only() -> None:
    assert shown()
    assert shown(t=3, i=2)  # the marked row and column are drawn on top
    assert not shown(weights="0" * 64)


@pytest.mark.parametrize("change", [{"text": "1"}, {"heads": (0,)}, {"options": ("hidden",)}, {"strategy": "beam"}])
def test_another_run_or_another_picture_is_not_recorded(change: dict[str, object]) -> None:
    assert not shown(**change)


def test_no_field_of_another_page_decides() -> None:
    for name in {*state.DEFAULTS} - {*state.SHARED.names}:
        assert shown(**{name: "another"}), name


def test_a_key_that_nobody_chose_is_that_with_most_weight_in_the_recorded_row(monkeypatch: pytest.MonkeyPatch) -> None:
    run = vt.decode(vt.load(FOUND.checkpoint), FOUND.text)
    site, (head,) = (state.DEFAULTS["kind"], state.DEFAULTS["layer"]), state.DEFAULTS["heads"]
    for row in range(len(run.trace.tgt)):
        assert FOUND.strongest_key(row) == strongest_key(run.trace, *site, head, row)
    assert FOUND.strongest_key(len(run.trace.tgt)) is None

    memory: dict[str, object] = {}
    monkeypatch.setattr(state, "st", SimpleNamespace(session_state=memory))
    memory["selection"] = state._with_all({})
    opening_run.follow(FOUND)
    chosen = state.selection()
    assert (chosen["t"], chosen["i"]) == (FOUND.first_row, FOUND.strongest_key(FOUND.first_row))
    assert chosen["i"] != state.DEFAULTS["i"]

    memory |= {"selection": state._with_all({"i": 5, "t": 2}), "selection_followed": frozenset()}
    opening_run.follow(FOUND)
    assert (state.selection()["t"], state.selection()["i"]) == (2, 5)


def test_the_recorded_chips_and_questions_are_those_that_the_page_makes_today() -> None:
    made = recording.record()
    assert FOUND.chips == made.chips and FOUND.questions == made.questions
