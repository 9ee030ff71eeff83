"""Pages and scores of other packages: the example in docs is installed and opened; what cannot be used is said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_driver import ROOT, address, again, all_sent, goes_to, open_table, script, sent, words
from streamlit.testing.v1 import AppTest
from streamlit_inside import calc_hash

from viz_transformer import extensions
from viz_transformer.analysis.attention.head_scores import Score, head_scores
from viz_transformer.analysis.attention.maps import layer_weights
from viz_transformer.analysis.attention.specials import special_positions
from viz_transformer.checkpoint import load
from viz_transformer.model.kinds import KindName
from viz_transformer.running.decoding import Run, decode
from viz_transformer.ui import pages
from viz_transformer.ui.frame import page
from viz_transformer.ui.session import state

EXAMPLE = ROOT / "docs" / "extension"


def forget() -> None:
    for each in (extensions.list_extensions, extensions.load_extension, page.list_extension_pages):
        each.cache_clear()


@pytest.fixture(autouse=True)
def no_field_stays() -> Iterator[None]:
    """What a package declares is unknown to the tests after these; our own pages' fields stay."""
    assert pages.__path__  # whose import declares them
    known = [state._owners, state._fields, state._defaults, state._view, state._declarations]
    before = [dict(each) for each in known]
    yield
    for each, then in zip(known, before, strict=True):
        each.clear()
        each.update(then)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example package is installed."""
    folder = tmp_path_factory.mktemp("installed")
    flags = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder))
    source = folder.parent / "source"  # a build writes beside what it builds
    source.mkdir()
    for path in EXAMPLE.rglob("*.*"):
        if "__pycache__" not in path.parts:
            copy = source / path.relative_to(EXAMPLE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    subprocess.run([sys.executable, "-m", "pip", "install", *flags, str(source)], check=True)
    return folder


@pytest.fixture
def added(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(installed))
    forget()
    yield
    monkeypatch.undo()
    forget()


def plain(label: str) -> str:
    """A label without what stops Markdown."""
    return label.replace("\\", "").replace("\u2060", "")


def sents(app: AppTest) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    return all_sent(app, "matrix")


def all_scores(run: Run, kind: KindName) -> tuple[Score, ...]:
    special = special_positions(run.trace.src, load("numbers-tiny").source_codec)
    return head_scores(run.trace, kind, source_special=special)


def opened(title: str, **fields: str) -> AppTest:
    app = again(script("app.py"))
    app._page_hash = calc_hash(f"extension-{title}")
    return goes_to(app, **fields)


def test_the_page_of_a_package_is_in_the_app_with_its_heading_and_its_question(added: None) -> None:
    app = opened("row-entropy", checkpoint="numbers-tiny", text="0.07")
    assert app.title[0].value == "Row entropy"
    assert "A bar is a row of the map below" in words(app)
    links = [each.proto.label for each in app.get("page_link")]
    assert plain(links[-1]) == "Next: Run: what does the model write for this text, and where did each step look?"
    models = [each.proto.label for each in goes_to(app.switch_page("pages/models.py")).get("page_link")]
    assert plain(models[-1]) == "Next: Row entropy: how sure is each row?"


def test_its_chart_its_sentence_and_its_picture_are_of_the_run(added: None) -> None:
    app = opened("row-entropy", checkpoint="numbers-tiny", text="0.07", kind="decoder", layer="1", heads="2")
    run = decode(load("numbers-tiny"), "0.07")
    weights = layer_weights(run.trace, "decoder", 1)[0][2]
    p = weights.astype(np.float64)
    entropy = -np.where(p > 0, p * np.log2(np.where(p > 0, p, 1)), 0).sum(axis=1)
    table = open_table(app, "entropy_0")
    assert table["Entropy in bits"].to_numpy() == pytest.approx(entropy, abs=1e-12)
    assert f"On average {entropy.mean():.3f};" in words(app)
    header, arrays = sent(app, "matrix")
    assert np.array_equal(arrays["values"], weights)
    assert "decoder layer 1, head 2" in header["title"].lower()


def test_its_own_choice_is_a_field_of_the_address(added: None) -> None:
    app = opened("row-entropy", checkpoint="numbers-tiny", text="0.07")
    assert "entropy_unit" not in address(app)
    app.button_group(key="entropy_unit").set_value("nats").run()
    assert address(app)["entropy_unit"] == "nats"
    assert [*open_table(app, "entropy_0")] == ["Entropy in nats"]
    assert "which is not one of bits, nats" in words(goes_to(app, entropy_unit="bytes"))


def test_two_runs_stand_beside_each_other_or_as_their_difference(added: None) -> None:
    two = {"pin_checkpoint": "numbers-tiny", "pin_text": "0.08"}
    app = opened("row-entropy", checkpoint="numbers-tiny", text="0.07", kind="encoder", layer="0", heads="0", **two)
    maps = [header for header, _ in sents(app)]
    assert [each["title"][:3] for each in maps] == ["A: ", "B: "]
    averages = [decode(load("numbers-tiny"), text) for text in ("0.07", "0.08")]
    assert len(averages) == 2 and words(app).count("On average") == 2
    goes_to(app, shown="A-B")
    values = [layer_weights(run.trace, "encoder", 0)[0][0] for run in averages]
    header, arrays = sent(app, "matrix")
    assert header["title"].startswith("A − B: ")
    assert np.array_equal(arrays["values"], values[0] - values[1])
    assert words(app).count("A: On average") == 1


def test_a_model_that_does_not_tell_gets_a_sentence_and_a_kind_that_b_lacks_too(added: None) -> None:
    two = {"pin_checkpoint": "shakespeare", "pin_text": "ROMEO:", "shown": "A|B"}
    app = opened("row-entropy", checkpoint="numbers-tiny", text="0.07", kind="cross", **two)
    assert "B cannot be shown this way:" in words(app)


def test_the_score_of_a_package_is_one_of_all_scores_with_its_baseline(added: None) -> None:
    run = decode(load("numbers-tiny"), "0.07")
    scores = {score.name: score for score in all_scores(run, "encoder")}
    weights, _ = layer_weights(run.trace, "encoder", 0)
    found = scores["top weight"]
    assert found.values[0] == pytest.approx(weights.max(axis=-1).mean(axis=-1), abs=1e-7)
    assert found.baseline[0] == pytest.approx(1 / weights.shape[-1])
    assert found.formula == "max_j w_ij, the largest weight of a row; all rows"
    app = goes_to(script("app.py").switch_page("pages/attention.py"), checkpoint="numbers-tiny", text="0.07")
    assert "top weight" in [score["name"] for score in sent(app, "grid")[0]["scores"]]


def test_without_such_a_package_there_is_no_heading_for_it_and_no_score() -> None:
    forget()
    assert extensions.list_extensions(extensions.PAGES) == ()
    assert "top weight" not in [score.name for score in all_scores(decode(load("numbers-tiny"), "0.07"), "encoder")]


# ---- what cannot be used


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose entry points lead to nothing that can be used."""
    (tmp_path / "bad_pages.py").write_text(BAD, encoding="utf-8")
    about = tmp_path / "bad_pages-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-pages\nVersion: 1\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(BAD_POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield
    monkeypatch.undo()
    sys.modules.pop("bad_pages", None)
    forget()


BAD = """
from dataclasses import dataclass

import numpy as np

from viz_transformer.ui.frame.page import Page, View
from viz_transformer.ui.session.url_fields import NUMBER, url_field

@dataclass(frozen=True, kw_only=True)
class Fields:
    layer: int = url_field(0, NUMBER)

def fails(run, chosen):
    raise ValueError("this view <b>cannot</b> be drawn")

def slips(run, chosen):
    yield {}["no such key"]

texts = {"asks": "what?", "how": "How.", "not_to_conclude": "Not."}
TAKEN = Page(title="Taken", fields=Fields, views=(), **texts)
FAILS = Page(title="Fails", views=(View(key="fails", draw=fails),), **texts)
SLIPS = Page(title="Slips", views=(View(key="slips", draw=slips),), **texts)
NUMBER_OF_PAGES = 7

def raises(weights, allowed):
    return weights / [1, 2, 3, 4, 5, 6, 7]

def long_score(weights, allowed):
    return np.zeros(3000)
"""
BAD_POINTS = """
[viz_transformer.pages]
Taken = bad_pages:TAKEN
Fails = bad_pages:FAILS
Slips = bad_pages:SLIPS
Seven = bad_pages:NUMBER_OF_PAGES
Nowhere = bad_pages_nowhere:PAGE
Run = bad_pages:FAILS

[viz_transformer.scores]
seven = bad_pages:NUMBER_OF_PAGES
nowhere = bad_pages_nowhere:score
raises = bad_pages:raises
long = bad_pages:long_score
entropy = bad_pages:long_score
"""


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("taken", "The fields of 'Taken' cannot be used: the field layer of bad_pages.Fields is declared by"),
        ("fails", "this view <b>cannot</b> be drawn."),
        ("slips", "KeyError: 'no such key'."),
        ("seven", "The entry point 'Seven' of viz_transformer.pages does not lead to a Page with the title 'Seven'."),
        ("nowhere", "bad-pages cannot add 'Nowhere': ModuleNotFoundError: No module named 'bad_pages_nowhere'"),
        ("run-added-", "bad-pages cannot add 'Run': there is a page of that name already."),
    ],
)
def test_a_page_that_cannot_be_used_says_why_in_its_place(broken: None, title: str, said: str) -> None:
    assert said in words(opened(title, checkpoint="numbers-tiny", text="0.07"))


def test_a_score_that_cannot_be_used_has_no_value_and_says_why(broken: None) -> None:
    scores = {score.name: score for score in all_scores(decode(load("numbers-tiny"), "0.07"), "encoder")}
    for name, said in (
        ("seven", "does not lead to a function."),
        ("nowhere", "No module named 'bad_pages_nowhere'"),
        ("raises", "The score 'raises' fails: ValueError: "),
        ("long", "The score 'long' does not return one number for each of "),
        ("entropy (added)", "bad-pages cannot add 'entropy': there is a score of that name already."),
    ):
        assert said in scores[name].formula
        assert np.isnan(scores[name].values).all()
        assert not scores[name].n.any()
    assert np.isfinite(scores["entropy"].values).all()
