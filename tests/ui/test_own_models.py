"""The app lists a person's own models before the bundled ones, runs them, and opens with the bundled one as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import saved, tiny_checkpoint
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]


def test_an_own_model_is_first_in_the_list_and_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.run()
    assert app.selectbox(key="sidebar_model").value == "numbers-any"
    ckpt = tiny_checkpoint()
    saved(ckpt, tmp_path / "mine")
    app.run()
    models = app.selectbox(key="sidebar_model")
    assert models.options[0] == "mine"
    models.set_value("mine").run()
    assert not app.exception and app.selectbox(key="sidebar_model").value == "mine"
