"""All colours, fonts and margins, light and dark; `.streamlit/config.toml` repeats some and a test compares them.

Rule: colour = a head that exists; grey = anything averaged or derived. Source tokens are blue, target tokens orange.
Imports nothing heavy: the page frame reads the colours before the first paint.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from viz_transformer.model.kinds import KINDS, KindName

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

SANS = "IBM Plex Sans"
MONO = "IBM Plex Mono"
SANS_STACK = f"'{SANS}', 'Source Sans', system-ui, sans-serif"
MONO_STACK = f"'{MONO}', 'Source Code Pro', ui-monospace, monospace"


@dataclass(frozen=True, kw_only=True)
class Palette:
    """The colours of one theme. Scales go from 0 to 1 and are monotone in lightness.

    A value that is not a number is drawn as dots (`no_number_dot`) on `no_number`: a grey that no scale has for 0, and
    a texture different from the lines of masked cells.
    """

    page: str
    surface: str
    line: str
    text: str
    muted: str
    accent: str
    no_number: str
    no_number_dot: str
    source_ink: str
    target_ink: str
    cross_ink: str
    encoder: tuple[str, ...]
    decoder: tuple[str, ...]
    cross: tuple[str, ...]
    derived: tuple[str, ...]
    diverging: tuple[str, ...]
    heads: tuple[str, ...]
    ok: str
    warning: str
    bad: str


_HEADS = ("#009E73", "#CC79A7", "#6B5FB5", "#0072B2", "#D55E00", "#7F7F7F")  # first the colours that no side has
MAX_HEADS = len(_HEADS)
"""The number of colours that distinguish heads."""

LIGHT = Palette(
    page="#FFFFFF",
    surface="#F4F5F7",
    line="#D5D9DF",
    text="#15181D",
    muted="#565E69",
    accent="#2B3440",
    no_number="#B9C0CA",
    no_number_dot="#3F4650",
    source_ink="#09509B",
    target_ink="#784303",
    cross_ink="#08604F",
    encoder=("#F5F7F9", "#C2D5EF", "#8EB4E5", "#5992DA", "#236FC7", "#09509B", "#00346B"),
    decoder=("#F9F6F4", "#E7CEBA", "#D5A67E", "#C27E3E", "#A25C01", "#784303", "#502B01"),
    cross=("#F4F8F6", "#C4D9D2", "#92BCAF", "#5E9F8D", "#26816D", "#08604F", "#013F34"),
    derived=("#F4F7FB", "#CED0D4", "#A9ABAF", "#85878B", "#636568", "#424448", "#252729"),
    diverging=("#5D258B", "#9065BE", "#C0ACDB", "#F4F3F5", "#BEB88E", "#8D7E1C", "#524802"),
    heads=_HEADS,
    ok="#1D6B3A",
    warning="#7A4E00",
    bad="#A3221B",
)
DARK = Palette(
    page="#111417",
    surface="#1A1E23",
    line="#353B44",
    text="#ECEFF3",
    muted="#A3ABB6",
    accent="#D5DCE6",
    no_number="#4A525E",
    no_number_dot="#C3CAD4",
    source_ink="#98C5FF",
    target_ink="#F0B47E",
    cross_ink="#98CFBF",
    encoder=("#1A1C1F", "#283A50", "#32598B", "#397ACA", "#5D9FF2", "#98C5FF", "#D9EAFF"),
    decoder=("#1E1B19", "#493320", "#7A4C1E", "#AF6508", "#D6883B", "#F0B47E", "#FFE2CA"),
    cross=("#191D1C", "#2A3D38", "#356256", "#3D8977", "#62AE9A", "#98CFBF", "#CDF1E6"),
    derived=("#1A1C1F", "#383A3D", "#585A5D", "#7A7D80", "#9FA1A5", "#C5C7CB", "#ECEFF3"),
    diverging=("#E7D5FF", "#AD84DB", "#65527B", "#242425", "#635D36", "#AA9C48", "#EBE09F"),
    heads=_HEADS,
    ok="#85D6A0",
    warning="#F2C46D",
    bad="#FF9A8F",
)


def palette(theme: Theme) -> Palette:
    """The colours of a theme. Raises ValueError for another word than light or dark."""
    if theme not in THEMES:  # without `declared`, which takes longer to import than a page's heading may
        raise ValueError(f"theme={theme!r} is not known; choose 'light' or 'dark'")
    return LIGHT if theme == "light" else DARK


def css_variables() -> str:
    """All colours as CSS variables, scales numbered, and the fonts; the browser takes the light or dark ones."""
    found = []
    for field in fields(Palette):
        name, light, dark = field.name.replace("_", "-"), getattr(LIGHT, field.name), getattr(DARK, field.name)
        if isinstance(light, str):
            found.append(f"--vt-{name}: light-dark({light}, {dark});")
        else:
            found += [
                f"--vt-{name}-{i}: light-dark({a}, {b});" for i, (a, b) in enumerate(zip(light, dark, strict=True))
            ]
    return f"{' '.join(found)} --vt-sans: {SANS_STACK}; --vt-mono: {MONO_STACK};"


def light_colours() -> dict[str, str]:
    """The colour of the light theme for each of the dark one, for a chart that is printed; each in capitals."""
    found: dict[str, str] = {}
    for field in fields(Palette):
        light, dark = getattr(LIGHT, field.name), getattr(DARK, field.name)
        pairs = [(dark, light)] if isinstance(light, str) else zip(dark, light, strict=True)
        for old, new in pairs:
            found.setdefault(old.upper(), new.upper())
    return found


def weight_colors(kind: KindName, theme: Theme, *, derived: bool = False) -> tuple[str, ...]:
    """The colours of attention weights from 0 to 1; grey for a mean or anything else derived."""
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose {' or '.join(map(repr, KINDS))}")
    colors: tuple[str, ...] = getattr(palette(theme), "derived" if derived else kind)
    return colors
