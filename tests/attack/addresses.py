"""Addresses: any page with any fields, each with a usual value, a wrong one, or any text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from streamlit.testing.v1 import AppTest

from attack import texts
from attack.trying import attempt, check
from viz_transformer.ui import pages  # noqa: F401  # all fields are known
from viz_transformer.ui.session import state

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")))
MODELS = ("numbers-tiny", "copy", "taylor-2terms", "en-it-slips", "shakespeare", "no-such-model")
NUMBERS = ("0", "1", "2", "3", "7", "17", "200", "999999999", "-1", "1.5", "1e3", "00", "٣", " 1", "0,1,2", "0,0", ",")
SPECIAL = (
    *("4,0.6,gnmt,end,none-better", "0.8,0,1.0,0.0,1.0,0", "100,10,power,no-end,first-finished", "0.01,1,0.01,1,10,5"),
    *(
        "beam|4,0.6,gnmt,end,none-better|1,2||b|twenty",
        "greedy||5|0:7|x|",
        "0.3.17.pin;1.5.9-4.other",
        "0.0.5.a;0.0.6.b",
    ),
    *(
        "d3.5,e0.0,c1",
        "q0.1=2.5,m1.1=-3",
        "5,4,4,3",
        "8,8,8,8",
        "mean",
        "rollout",
        "new:taylor:seed-1",
        "self,unscaled",
    ),
    *("decoder.1.cross.weights", "encoder.0.self.query", "logits", "decoder.0.ffn.hidden", "encoder.embed.position"),
)
SECONDS, CLOCK, ROOM = 120.0, 400.0, 2**30


@cache
def words() -> tuple[str, ...]:
    """Every word that some field of an address may have."""
    return tuple(sorted({word for field in state.fields().values() for word in field.reading.words}))


def address(draw: Random) -> dict[str, str]:
    """A model and up to eight fields."""
    fields = {"checkpoint": draw.choice(MODELS)} if draw.random() < 0.9 else {}
    for name in draw.sample([*state.DEFAULTS], draw.randint(0, 8)):
        fields[name] = draw.choice((draw.choice(NUMBERS), draw.choice(words()), draw.choice(SPECIAL), _text(draw)))
    if draw.random() < 0.5:
        fields["text"] = draw.choice(("29,284.30", "abc", "sin(x)", "i like it .", "ROMEO:", _text(draw)))
    if draw.random() < 0.1:
        fields[_text(draw)] = _text(draw)
    return fields


def _text(draw: Random) -> str:
    """A text as an address brings it: no half of a surrogate pair, and no longer than a server lets in."""
    return texts.text(draw).encode("utf-16", "surrogatepass").decode("utf-16", "replace")[: draw.choice((60, 3_000))]


def attack(draw: Random, place: Path) -> None:
    """A page opened with such an address, and perhaps with a second one in the same session."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=CLOCK).switch_page(draw.choice(PAGES))
    for _ in range(draw.choice((1, 2))):
        fields = address(draw)
        for name in [*page.query_params]:
            del page.query_params[name]
        for name, value in fields.items():
            page.query_params[name] = value
        attempt(page.run, seconds=SECONDS, clock=2 * CLOCK, size=ROOM)
        check_page(page, fields)


def check_page(page: AppTest, fields: dict[str, str]) -> None:
    """It has its heading, and no traceback."""
    for shown in page.exception:
        check(False, f"{shown.message!r:.300} for {fields!r:.600}")
    check(len(page.title) == 1, f"there is no heading for {fields!r:.600}")
