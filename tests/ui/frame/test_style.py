"""The page's CSS has every colour of both themes."""

import inspect
import json
import re
from dataclasses import fields

import pytest

from viz_transformer.figures import theme
from viz_transformer.ui.frame import frame, style
from viz_transformer.ui.pages.run import site

NAMES = [field.name for field in fields(theme.Palette)]
SINGLE = [name for name in NAMES if isinstance(getattr(theme.LIGHT, name), str)]
SCALES = [name for name in NAMES if name not in SINGLE]


def variables():
    """Light and dark colour of each variable."""
    return {
        name: (light, dark)
        for name, light, dark in re.findall(r"--vt-([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", style.variables())
    }


@pytest.mark.parametrize("name", SINGLE)
def test_each_colour_is_a_variable_light_and_dark(name):
    assert variables()[name.replace("_", "-")] == (getattr(theme.LIGHT, name), getattr(theme.DARK, name))


@pytest.mark.parametrize("name", SCALES)
def test_each_stop_of_each_scale_is_a_variable_light_and_dark(name):
    light, dark = getattr(theme.LIGHT, name), getattr(theme.DARK, name)
    found = variables()
    assert [found[f"{name}-{i}"] for i in range(len(light))] == list(zip(light, dark, strict=True))
    assert f"{name}-{len(light)}" not in found


def test_there_is_no_variable_that_is_no_colour_of_the_theme():
    assert len(variables()) == len(SINGLE) + sum(len(getattr(theme.LIGHT, name)) for name in SCALES)


@pytest.mark.parametrize("name", ["encoder", "decoder", "cross", "derived", "diverging"])
def test_the_scales_that_components_draw_with_have_seven_stops(name):
    assert len([variable for variable in variables() if re.fullmatch(rf"{name}-\d", variable)]) == 7


def test_the_fonts_are_variables_too():
    assert f"--vt-sans: {theme.SANS_STACK};" in style.variables()
    assert f"--vt-mono: {theme.MONO_STACK};" in style.variables()


def test_the_rules_of_the_page_use_variables_that_there_are():
    css = style._css()
    used = set(re.findall(r"var\((--vt-[\w-]+)\)", css))
    assert len(used) > 5
    # a chart says for which size it is drawn, Run how much room the choice of a head takes
    of_elements = inspect.getsource(frame) + inspect.getsource(site)
    assert used <= set(re.findall(r"(--vt-[\w-]+):", css + of_elements))


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_the_browser_takes_the_colours_of_the_theme_that_it_shows(browser, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.set_content(f'<style>:root {{ color-scheme: light dark }} {style.variables()}</style><p class="stApp"></p>')
    shown = page.locator("p").evaluate(
        """(place, names) => names.map((name) => {
          place.style.color = `var(--vt-${name})`
          const channels = getComputedStyle(place).color.match(/[0-9]+/g).slice(0, 3)
          return "#" + channels.map((channel) => Number(channel).toString(16).padStart(2, "0")).join("").toUpperCase()
        })""",
        list(variables()),
    )
    page.close()
    assert shown == [colours[theme.THEMES.index(scheme)] for colours in variables().values()]


def test_no_rule_of_every_page_waits_for_what_the_whole_page_has():
    """A browser looks at `:not(:has(...))` again at each change anywhere; what dims a page is sent only then."""
    of_all_pages = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", style._css())
    assert not re.findall(r".*:not\(:has.*", of_all_pages)
    assert "opacity: 0.4" in style._rules("stale.css")


def test_no_rule_looks_for_a_part_of_a_class_in_what_has_something():
    """Where anything comes that any `:has` may mean, a browser restyles what stands behind one: the classes that are
    named there, but everything that has a class at all for an attribute of class."""
    selectors = [one for rule in re.findall(r"[^{}]+(?=\{)", style._css()) for one in rule.split(",")]
    behind = [one.partition(":has(")[2] for one in selectors if ":has(" in one]
    assert behind
    assert not [one for one in behind if re.search(r"\).*\[class", one)]


PARTS, WORDS = 30, 20


def part(name):
    """A part of a page as Streamlit makes one, of some words."""
    words = "".join(f'<span class="word">{name}</span>' for _ in range(WORDS))
    inside = f'<div class="stHtml" data-testid="stHtml"><p class="vt-note">{words}</p></div>'
    return f'<div class="stElementContainer" data-testid="stElementContainer">{inside}</div>'


@pytest.mark.parametrize("size", [(1280, 900), (1000, 800), (1280, 1200)])
@pytest.mark.parametrize(
    "change", ["column.insertAdjacentHTML('beforeend', more)", "column.classList.add('st-emotion-cache-other')"]
)
def test_what_comes_or_is_called_otherwise_has_the_page_around_it_and_in_it_styled_as_before(
    browser, tmp_path, size, change
):
    """A rule without a name at its end, behind `:has` or an attribute of class, may mean any element: then a browser
    styles all of a page again at each insertion, or all that stands in an element at each change of its class."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    parts = "".join(part(str(number)) for number in range(PARTS))
    page.set_content(
        f"""<style>{style._css()}</style><div class="stApp"><main class="stMain" data-testid="stMain">
        <div class="stMainBlockContainer"><div class="stVerticalBlock" data-testid="stVerticalBlock">{parts}</div></div>
        </main></div>"""
    )
    trace = tmp_path / "trace.json"
    browser.start_tracing(page=page, path=trace, categories=["-*", "devtools.timeline"])
    page.evaluate(
        f"""async (more) => {{
          const frame = () => new Promise(requestAnimationFrame)
          const column = document.querySelector(".stVerticalBlock")
          await frame()
          {change}
          await frame()
          await frame()
        }}""",
        part("more"),
    )
    browser.stop_tracing()
    page.close()
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    styled = [each["args"]["elementCount"] for each in events if each["name"] == "UpdateLayoutTree"]
    assert 0 < sum(styled) < PARTS * WORDS / 4
