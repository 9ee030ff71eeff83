from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attack.kinds import SEED

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_a_training_a_saving_or_an_opening_that_is_killed_leaves_what_opens_and_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attack.kills", "3", SEED, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
