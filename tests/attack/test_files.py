from __future__ import annotations

from pathlib import Path

import pytest

from attack.kinds import broken

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("kind", "count"), [("folders", 100), ("traces", 150), ("data", 50)])
def test_every_damaged_file_opens_or_is_refused_in_one_sentence(kind: str, count: int, tmp_path: Path) -> None:
    """In five seconds of work and 256 MiB beyond the file's own size; nothing runs, nothing else is read or made."""
    assert broken(kind, count, tmp_path) == []
    assert {entry.name for entry in tmp_path.iterdir()} <= {"outside.tsv"}
