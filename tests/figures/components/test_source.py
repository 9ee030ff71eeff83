"""Each component is one module and one style sheet, of plain files that fetch nothing and set text only as text."""

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hard_numbers import numbers
from mounted import imported, mounted

from viz_transformer import numerals
from viz_transformer.analysis.attention.specials import MOSTLY_HIDDEN
from viz_transformer.figures import components
from viz_transformer.figures.components import source
from viz_transformer.ui.frame import style

FOLDER = Path(str(files(components)))
NAMES = sorted(path.stem for path in FOLDER.glob("*.js"))
FILES = sorted(FOLDER.rglob("*.js"))


@pytest.mark.parametrize("name", NAMES)
def test_a_component_is_one_module_that_exports_its_default(name):
    module = source.javascript(name)
    assert re.findall(r"^(?:import|export)\b.*", module, flags=re.MULTILINE) == re.findall(
        r"^export default\b.*", (FOLDER / f"{name}.js").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    declared = re.findall(r"^(?:const|let|class|(?:async )?function) (\w+)", module, flags=re.MULTILINE)
    for several in re.findall(r"^(?:const|let) [\[{]([^\]}]*)[\]}] =", module, flags=re.MULTILINE):
        declared += re.findall(r"\w+", several)
    assert len(declared) == len(set(declared))


def test_what_a_file_imports_is_there():
    lacking = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for names, file in re.findall(r'^import \{([^}]*)\} from "(.*)"', text, flags=re.MULTILINE):
            given = (path.parent / file).read_text(encoding="utf-8")
            exported = re.findall(r"^export (?:const|(?:async )?function|class) (\w+)", given, flags=re.MULTILINE)
            lacking += [(path.name, file, each) for each in re.findall(r"\w+", names) if each not in exported]
    assert not lacking


def joined(monkeypatch, files):
    """What Python makes of a.js where these are the files."""
    monkeypatch.setattr(source, "_read", files.__getitem__)
    return source.javascript.__wrapped__("a")


def test_imported_files_stand_in_front_each_once_and_no_others(monkeypatch):
    files = {
        "a.js": 'import { d } from "./parts/d.js"\nimport {\n  b,\n  c,\n} from "./parts/b.js"\n\nexport default b\n',
        "parts/b.js": 'import { d } from "./d.js"\nimport { e } from "../e.js"\n\nexport const [b, c] = [d, e]\n',
        "parts/d.js": "export function d() {}\n",
        "e.js": "/** Said. */\nexport const e = 1\nconst own = 2\n",
        "parts/unused.js": "export const unused = 1\n",
    }
    assert joined(monkeypatch, files) == (
        "function d() {}\n\n/** Said. */\nconst e = 1\nconst own = 2\n\nconst [b, c] = [d, e]\n\nexport default b\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        'import { b as made } from "./b.js"',
        'import * as b from "./b.js"',
        'import b from "./b.js"',
        'import "./b.js"',
        'import { b } from "b"',
        'import { b } from "https://b.test/b.js"',
        'export { b } from "./b.js"',
        'export * from "./b.js"',
        "export { b }",
    ],
)
def test_what_cannot_be_joined_is_refused(line, monkeypatch):
    with pytest.raises(ValueError, match=r"^a\.js cannot be joined to a component's module: " + re.escape(line)):
        joined(monkeypatch, {"a.js": f"{line}\nexport default 1\n", "b.js": "export const b = 1\n"})


def test_a_default_that_is_imported_and_files_in_a_circle_are_refused(monkeypatch):
    needs = 'import {{ {0} }} from "./{0}.js"\n'.format
    with pytest.raises(ValueError, match=r"^b\.js cannot be joined .*: export default 1"):
        joined(monkeypatch, {"a.js": needs("b"), "b.js": "export default 1\n"})
    with pytest.raises(ValueError, match=r"^a\.js imports b\.js imports c\.js imports b\.js: "):
        joined(monkeypatch, {"a.js": needs("b"), "b.js": needs("c"), "c.js": needs("b")})


def test_a_style_sheet_begins_with_the_shared_one():
    sheet = source.style_sheet("matrix")
    assert sheet == (FOLDER / "shared.css").read_text() + (FOLDER / "matrix.css").read_text()


def test_text_is_set_as_text_and_nothing_is_fetched():
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|DOMParser"
    fetches = r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\bimport\(|importScripts"
    found = []
    for path in FILES:
        code = path.read_text(encoding="utf-8")
        bad = re.findall(rf"{markup}|\beval\(|new Function", code) + re.findall(fetches, code)
        bad += {*re.findall(r"(?:https?:)?//[a-z][\w.-]*\.\w+[\w/]*", code)} - {"http://www.w3.org/2000/svg"}
        found += [(path.name, each) for each in bad]
    assert not found


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.css")), ids=lambda path: path.name)
def test_a_style_sheet_fetches_nothing_and_takes_its_colours_from_the_theme(path):
    sheet = path.read_text(encoding="utf-8")
    assert re.findall(r"@import|url\(|@font-face", sheet) == []
    colours = set(re.findall(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\([^)]*\)", sheet))
    assert colours <= {"rgb(0 0 0 / 45%)"}  # the shade on the page behind a dialog


def test_every_variable_that_a_component_uses_is_one_of_the_page():
    given = set(re.findall(r"(--vt-[a-z0-9-]+):", style._css() + style._rules("projector.css")))
    for path in (*FILES, *FOLDER.glob("*.css")):
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
