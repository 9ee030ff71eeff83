"""Tensors of a file that a person leaves out are named where it is chosen, and where the model is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from page_driver import words
from strangers import without_last_norm
from streamlit.testing.v1 import AppTest
from wording import wording

from viz_transformer.checkpoint.importers.importing import Answers, import_file

LAST = ("ln_last.weight", "ln_last.bias")


@pytest.fixture
def lecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a file whose last norm no layout knows, and the library."""
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(tmp_path / "library"))
    return without_last_norm(tmp_path)


def test_it_is_named_on_run_and_on_models(alone: Callable[..., AppTest], lecture: Path) -> None:
    import_file(lecture / "m.pt", lecture / "library" / "mine", Answers(ignore=("ln_last.*",)))
    for page, address in (("run", {"run_view": "map"}), ("run", {}), ("models", {"model_tab": "card"})):
        said = words(alone(page, checkpoint="mine", text="1 2 3", **address))
        assert all(name in said for name in LAST), page


def test_the_app_names_what_is_left_out_where_it_is_chosen(app: AppTest, lecture: Path) -> None:
    app.switch_page("pages/models.py").query_params["model_tab"] = "open"
    app.run()
    app.text_input(key="open_weights_path").set_value(str(lecture / "m.pt"))
    app.run()
    (leave,) = [box for box in app.checkbox if box.label == wording("leave_out_tensors_without_a_place")]
    leave.check().run()
    assert not app.exception
    assert "2 trained tensors of the file were left out by choice: 'ln_last.weight', 'ln_last.bias'." in words(app)
    assert wording("this_is_not_the_model_that_was_trained") in words(app)
