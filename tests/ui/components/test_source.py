"""Each component is one module and one style sheet, of plain files that fetch nothing and set text only as text."""

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hard_numbers import numbers
from mounted import imported, mounted

from viz_transformer import numerals
from viz_transformer.analysis.hidden_keys import MOSTLY_HIDDEN
from viz_transformer.ui import components, style
from viz_transformer.ui.components import source

FOLDER = Path(str(files(components)))
NAMES = sorted(path.stem for path in FOLDER.glob("*.js") if path.stem not in ("shared", "address"))
SHARED = (FOLDER / "shared.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_component_is_one_module_with_what_is_shared_in_front(name):
    own = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    module = source.javascript(name)
    assert not re.search(r"^import\b", module, flags=re.MULTILINE)
    assert re.findall(r"^export\b.*", module, flags=re.MULTILINE) == re.findall(
        r"^export default\b.*", own, flags=re.MULTILINE
    )
    assert re.sub(r"^export ", "", SHARED, flags=re.MULTILINE) in module
    assert own.split('"./shared.js"\n', 1)[1] in module


@pytest.mark.parametrize("name", NAMES)
def test_what_a_component_takes_from_shared_js_is_there(name):
    (taken,) = re.findall(
        r'^import \{ (.*) \} from "\./shared\.js"$', (FOLDER / f"{name}.js").read_text(encoding="utf-8"), re.M
    )
    for each in taken.split(", "):
        assert re.search(rf"^export (const|function|class) {each}\b", SHARED, flags=re.MULTILINE), each


@pytest.mark.parametrize(
    "first",
    [
        "",
        'import { element as made } from "./shared.js"',
        'import * as shared from "./shared.js"',
        'import {\n  element,\n} from "./shared.js"',
        'import { element } from "./other.js"',
    ],
)
def test_an_import_that_cannot_be_joined_is_refused(first, monkeypatch):
    monkeypatch.setattr(source, "_read", lambda file: f"{first}\nexport default () => {{}}\n")
    with pytest.raises(ValueError, match=r"test\.js does not import names from shared\.js"):
        source.javascript.__wrapped__("test")


def test_a_style_sheet_begins_with_the_shared_one():
    sheet = source.style_sheet("matrix")
    assert sheet == (FOLDER / "shared.css").read_text() + (FOLDER / "matrix.css").read_text()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_text_is_set_as_text_and_nothing_is_fetched(path):
    code = path.read_text(encoding="utf-8")
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|DOMParser"
    assert re.findall(rf"{markup}|\beval\(|new Function", code) == []
    assert re.findall(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\bimport\(|importScripts", code) == []
    assert set(re.findall(r"(?:https?:)?//[a-z][\w.-]*\.\w+[\w/]*", code)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.css")), ids=lambda path: path.name)
def test_a_style_sheet_fetches_nothing_and_takes_its_colours_from_the_theme(path):
    sheet = path.read_text(encoding="utf-8")
    assert re.findall(r"@import|url\(|@font-face", sheet) == []
    colours = set(re.findall(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\([^)]*\)", sheet))
    assert colours <= {"rgb(0 0 0 / 45%)"}  # the shade on the page behind a dialog


def test_every_variable_that_a_component_uses_is_one_of_the_page():
    given = set(re.findall(r"(--vt-[a-z0-9-]+):", style._css()))
    for path in FOLDER.glob("*.*s"):
        text = path.read_text(encoding="utf-8")
        used = set(re.findall(r"(--vt-[a-z0-9-]+)\b(?!-|\$)", re.sub(r"--vt-[a-z0-9-]*\$\{[^}]*\}", "", text)))
        assert used - set(re.findall(r"(--vt-[a-z0-9-]+):", text)) <= given, path.name


def test_every_module_is_one_that_a_browser_takes(browser):
    with imported(browser) as shared:
        for name in NAMES:
            kind = shared(
                """async (code) => {
                  const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })))
                  return [Object.keys(module).join(), typeof module.default]
                }""",
                source.javascript(name),
            )
            assert kind == ["default", "function"], name


def test_numbers_are_written_as_everywhere_else(browser):
    given = numbers(seed=0)
    with imported(browser) as shared:
        shown = shared(
            """(given) => given.map((text) => {
              const v = text === "nan" ? NaN : text.endsWith("inf") ? Infinity * (text === "inf" || -1) : Number(text)
              return [0, 1, 2, 4].flatMap((n) => [shared.number(v, n), shared.share(v, n), shared.percent(v, n)])
            })""",
            [repr(value) for value in given],
        )
    write = (numerals.number, numerals.share, numerals.percent)
    expected = [[each(v, digits) for digits in (0, 1, 2, 4) for each in write] for v in given]
    assert [row for row in zip(given, shown, expected, strict=True) if row[1] != row[2]] == []


def test_python_and_the_browser_agree_on_when_most_of_a_row_is_hidden(browser):
    given = [0, float(np.nextafter(MOSTLY_HIDDEN, 0)), MOSTLY_HIDDEN, float(np.nextafter(MOSTLY_HIDDEN, 1)), 1]
    with imported(browser) as shared:
        assert shared("(given) => given.map(shared.isFaint)", given) == [share > MOSTLY_HIDDEN for share in given]
        assert shared("() => [null, undefined].map(shared.isFaint)") == [False, False]


def test_a_place_is_the_token_or_the_word_that_holds_the_position(browser):
    places = """([starts, ends, count]) => {
      const axis = { field: "i", starts, ends, tokens: Array(count).fill({ text: "a" }) }
      return [...Array(7).keys(), null].map((i) => {
        window.vizTransformerSelection.receive({ i }, "")
        return shared.placeOn(axis)
      })
    }"""
    with imported(browser) as shared:
        assert shared(places, [None, None, 5]) == [0, 1, 2, 3, 4, None, None, None]
        assert shared(places, [[0, 1, 4], [1, 4, 6], 3]) == [0, 1, 1, 1, 2, 2, None, None]
        assert shared(places, [[1, 3], [2, 4], 2]) == [None, 0, None, 1, None, None, None, None]  # the rest is hidden
        assert shared("() => [null, [1, 4]].map((starts) => shared.fieldOf({ field: 'i', starts }, 1))") == [
            {"i": 1},
            {"i": 4},
        ]


def test_an_error_in_a_component_fails_its_test(browser):
    with pytest.raises(AssertionError, match="thrown"), mounted(browser, "chips", {"rows": []}) as shown:
        shown.page.evaluate("() => setTimeout(() => { throw new Error('thrown') })")
        shown.painted()
