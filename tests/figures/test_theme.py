import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from viz_transformer.analysis.attention import picture
from viz_transformer.figures import theme

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def luminance(color):
    """Relative luminance of "#RRGGBB" (WCAG 2)."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", theme.THEMES)
def test_the_config_of_the_app_agrees_with_the_theme(mode):
    palette, table = theme.palette(mode), CONFIG["theme"][mode]
    assert table["primaryColor"] == table["linkColor"] == palette.accent
    assert table["backgroundColor"] == table["sidebar"]["secondaryBackgroundColor"] == palette.page
    assert table["secondaryBackgroundColor"] == table["sidebar"]["backgroundColor"] == palette.surface
    assert table["codeBackgroundColor"] == palette.surface
    assert table["textColor"] == palette.text
    assert table["borderColor"] == table["sidebar"]["borderColor"] == palette.line
    assert (table["redColor"], table["yellowColor"], table["greenColor"]) == (palette.bad, palette.warning, palette.ok)
    assert tuple(table["chartCategoricalColors"]) == palette.heads


def test_the_fonts_are_the_theme_s_and_lie_beside_the_app_with_their_licences():
    settings = CONFIG["theme"]
    assert (settings["font"], settings["codeFont"]) == (theme.SANS, theme.MONO)
    faces = {(face["family"], face["weight"]) for face in settings["fontFaces"]}
    assert faces == {(family, weight) for family in (theme.SANS, theme.MONO) for weight in (400, 600)}
    for face in settings["fontFaces"]:
        file = ROOT / face["url"].removeprefix("app/")
        assert file.read_bytes()[:4] == b"wOF2", face["url"]
    assert CONFIG["server"]["enableStaticServing"] is True
    for family in ("sans", "mono"):
        licence = (ROOT / "static" / f"ibm-plex-{family}-LICENSE.txt").read_text(encoding="utf-8")
        assert "SIL OPEN FONT LICENSE" in licence


def test_nothing_leaves_the_machine_by_default():
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert CONFIG["client"]["toolbarMode"] == "minimal"


@pytest.mark.parametrize("mode", theme.THEMES)
@pytest.mark.parametrize("scale", ["encoder", "decoder", "cross", "derived"])
def test_scales_are_monotone_in_lightness(mode, scale):
    values = [luminance(color) for color in getattr(theme.palette(mode), scale)]
    assert values == sorted(values, reverse=mode == "light")


@pytest.mark.parametrize("mode", theme.THEMES)
@pytest.mark.parametrize("ink", ["text", "muted", "source_ink", "target_ink", "cross_ink", "ok", "warning", "bad"])
def test_inks_can_be_read_on_page_and_surface(mode, ink):
    palette = theme.palette(mode)
    for ground in (palette.page, palette.surface):
        assert contrast(getattr(palette, ink), ground) >= 4.5  # WCAG 2, level AA


def test_figures_are_imported_when_they_are_used():
    code = "import sys, viz_transformer.figures; sys.exit('plotly' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    code = "import sys; from viz_transformer.figures import attention_heatmap; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_each_head_that_lines_can_show_has_a_colour():
    assert picture.MAX_HEADS == theme.MAX_HEADS
