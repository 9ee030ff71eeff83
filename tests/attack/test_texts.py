from __future__ import annotations

from pathlib import Path

import pytest

from attack.kinds import broken

pytestmark = pytest.mark.slow


def test_every_text_ends_in_an_answer_or_one_sentence(tmp_path: Path) -> None:
    """With each bundled model: read, written on for three steps, given as an answer or its beginning, drawn."""
    assert broken("texts", 120, tmp_path) == []


@pytest.mark.parametrize("kind", ["strategies", "edits"])
def test_every_strategy_and_edit_runs_or_is_refused_in_one_sentence(kind: str, tmp_path: Path) -> None:
    assert broken(kind, 300, tmp_path) == []
