"""How well it is known that an imported model is read right stands wherever its numbers are, in the same words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_driver import TEXT, all_sent, markup, open_table, opened, words
from streamlit.testing.v1 import AppTest

from viz_transformer import payload

WRONG = "wrong by its own sample"
PAGES = ("run", "decoding", "input", "positions", "attention", "weight", "layers", "tensors", "masks", "models")
TABLES = [  # page, what else is selected, and the key of the table, or of the button that opens it
    ("run", {"run_view": "map"}, "run_matrix"),
    ("run", {"run_view": "map"}, "run_scrubber"),
    ("run", {}, "run_whole_0"),
    ("attention", {}, "attention_matrix"),
    ("attention", {}, "attention_grid"),
    ("decoding", {"dec_tab": "cache"}, "cache_curves"),
    ("input", {}, "input_strips"),
    ("layers", {}, "layers_stream"),
    ("layers", {}, "layers_norm_button"),
    ("layers", {}, "layers_lens_button"),
    ("masks", {"mask_batch": "", "mask_view": "weights"}, "masks_before"),
    ("models", {"model_tab": "curves"}, "models_loss"),
    ("positions", {}, "pos_heatmap"),
    ("tensors", {}, "tensors_heatmap"),
    ("weight", {}, "weight_row_strips"),
    ("weight", {}, "weight_picture"),
]
FAILED = {"grade": "failed", "sentence": "<b>NOT</b> reproduced", "proved": {"passed": False}}


def imported(folder: Path, **verified: Any) -> None:
    """Makes the model in this folder one that was imported, of which this was verified."""
    card = json.loads((folder / "card.json").read_text())
    found = {**verified, "of": card["sha256"]}
    (folder / "card.json").write_text(json.dumps({**card, "imported": {"settings": []}, "verified": found}))


@pytest.fixture
def shelf(bundled: Path, tmp_path: Path, models_in: Callable[[Path], None]) -> Path:
    """A folder of models, whose `numbers` can be changed."""
    shutil.copytree(bundled, tmp_path / "models")
    models_in(tmp_path / "models")
    return tmp_path / "models"


def captions(app: AppTest) -> list[str]:
    """What pictures of the page say below themselves when they are saved."""
    found = []
    for each in app.get("bidi_component"):
        proto = each.proto
        header = json.loads(proto.json) if proto.json else payload.unpack(proto.bytes)[0] if proto.bytes else {}
        if isinstance(header, dict) and isinstance(header.get("caption"), str):
            found.append(header["caption"])
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_failed_reading_is_said_beside_the_name_and_under_each_saved_picture(
    page: str, app: AppTest, shelf: Path
) -> None:
    imported(shelf / "numbers", **FAILED)
    opened(app, page, **({"model_tab": "curves"} if page == "models" else {}))
    side = "".join(element.proto.body for element in app.sidebar.get("html"))
    assert "vt-bad" in side and "Wrong by its own sample" in side and "<b>NOT" not in side
    found = captions(app)
    assert found and all(WRONG in each for each in found), found


@pytest.mark.parametrize("page", PAGES)
def test_a_model_that_was_trained_here_has_no_grade(page: str, app: AppTest) -> None:
    opened(app, page)
    assert "vt-note vt-standing" not in markup(app) and not any("proved" in each for each in captions(app))


def test_the_two_runs_of_a_pair_have_each_its_own_grade(app: AppTest, shelf: Path) -> None:
    shutil.copytree(shelf / "numbers", shelf / "mine")
    imported(shelf / "mine", **FAILED)
    opened(app, "attention", pin_checkpoint="mine", pin_text=TEXT, shown="A-B")
    (header, _), *_ = all_sent(app, "matrix")
    assert f"B: mine, {WRONG}" in words(app)
    assert header["caption"].startswith("A: numbers, “") and f"; B: mine, {WRONG}, “{TEXT}”" in header["caption"]


def test_a_text_longer_than_what_was_proved_is_said_on_run(app: AppTest, shelf: Path) -> None:
    figures = {"longest_source": 5, "longest_target": 40}
    imported(shelf / "numbers", grade="proved", sentence="equal", proved={"passed": True, "figures": figures})
    said = words(opened(app, "run", text="29,284.30"))
    assert "proved for sources of up to 5 and targets of up to 40 tokens" in said.lower()
    assert "The source has " in said and "would not have been noticed" in said
    assert "would not have been noticed" not in words(opened(app, "run", text="2"))


@pytest.mark.parametrize(("page", "fields", "key"), TABLES, ids=lambda given: given if given else None)
def test_each_table_of_a_run_names_the_grade_beside_the_model(
    page: str, fields: dict[str, str], key: str, app: AppTest, shelf: Path
) -> None:
    imported(shelf / "numbers", **FAILED)
    opened(app, page, **fields)
    if key.endswith("_button"):
        app.button(key=key).click().run()
    else:
        open_table(app, key)
    said = [getattr(element.proto, "body", "") for element in app._tree.children[2].get("html")]
    assert any(WRONG in each for each in said), said


def test_no_green_stands_on_the_card_of_a_model_that_is_not_proved(app: AppTest, shelf: Path) -> None:
    imported(shelf / "numbers", **FAILED)
    said = markup(opened(app, "models", model_tab="card"))
    card = next(each for each in said.split('class="vt-card"') if 'vt-card-name">numbers<' in each)
    assert "vt-card-badge vt-bad" in card and WRONG in card and "vt-ok" not in card
