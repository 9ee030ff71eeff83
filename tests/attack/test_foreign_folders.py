from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("transformers")

from attack.kinds import broken

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["tokenizers", "configs"])
def test_every_hostile_folder_of_transformers_opens_or_is_refused_in_one_sentence(kind: str, tmp_path: Path) -> None:
    """And so is every text that it is given; no code of the folder runs."""
    assert broken(kind, 60, tmp_path) == []
    assert not any(tmp_path.iterdir())
