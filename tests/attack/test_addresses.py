from __future__ import annotations

from pathlib import Path

import pytest

from attack.kinds import broken

pytestmark = pytest.mark.slow


def test_every_address_opens_a_page_without_a_traceback(tmp_path: Path) -> None:
    assert broken("addresses", 12, tmp_path) == []
