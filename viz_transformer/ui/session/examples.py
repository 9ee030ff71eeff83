"""What to try first with a model: texts that fit its task, or sources of the example pairs that came with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viz_transformer.checkpoint.contents import Summary, Unreadable

NUMBER_LIMIT = 100_000.0
NUMBER_STEP = 0.1
NUMBER_DECIMALS = 2

_ENGLISH = (
    "My favourite animal is the raccoon.",  # raccoon stands nowhere in the training sentences
    "Where is the library?",
    "I have never been to Italy.",
    "Would you like a cup of coffee?",
    "She has been living here for ten years.",
)
# task -> texts; a task may have more words after a hyphen, the first name that fits counts: "numbers-tiny" is trained
# on the same texts as "numbers", "numbers-any" on others
_EXAMPLES: Mapping[str, Sequence[str]] = {
    "numbers-any": ("29,284.30", "42", "1984", "-0.5", "3.14159"),
    "numbers": ("29,284.30", "-79.42", "1,000,000.00", "0.07", "190,089,265,152.00"),
    "multi30k": (
        "Ein brauner Hund schwimmt durch einen See.",
        "Zwei Kinder bauen eine Burg am Strand.",
        "Eine Frau spielt im Park Gitarre.",
        "Drei Freunde sitzen um ein Lagerfeuer und lachen.",
        "Zwei Männer spielen Schach vor einem Café.",
    ),
    "tatoeba": _ENGLISH,
    "en-it": _ENGLISH,
    "taylor-2terms": (
        "cosh(a*x)**3+tanh(b*x)",
        "sin(a*x)**2*cos(b*x)",
        "tan(a*x)-sinh(f*x)",
        "cos(a*x)**2-exp(c*x)",
        "tanh(f*x)**2",
    ),
    "taylor": ("cosh(a*x)**3+tanh(b*x)", "sin(x)", "exp(x)*cos(x)", "1/(1-x)", "tan(2*x)-sinh(f*x)"),
    "copy": (
        "hello",
        "sphinxofblackquartz",
        "aaaabbbbaaaa",
        "zyxwvutsrqponmlkjihg",  # 20 letters, the most in training
        "abcdefghijklmnopqrstuvwx",  # 24
    ),
    "shakespeare": ("ROMEO:", "To be, or not to be", "First Citizen:", "What light", "My gracious lord,"),
}
_LABELS: Mapping[str, str] = {
    "numbers-any": "A number",
    "numbers": "A number, written as 29,284.30",
    "multi30k": "A sentence in German",
    "tatoeba": "A sentence in English",
    "en-it": "A sentence in English",
    "taylor-2terms": "An expression of x, written as tanh(a*x)",
    "taylor": "An expression of x, written as tanh(2*x)",
    "copy": "Letters from a to z",
    "shakespeare": "The beginning of a text",
}


@dataclass(frozen=True)
class Doubt:
    """A text at which a bundled model is in doubt at some step, and in a few words what about."""

    checkpoint: str
    text: str
    about: str


DOUBTS = (
    Doubt("multi30k-de-en", "Eine Frau läuft vor einer Bank.", "“läuft”: walks, runs?"),
    Doubt("multi30k-de-en", "Zwei Männer spielen Schach vor einem Café.", "“spielen”: play, playing?"),
    Doubt("numbers-any", "$5", "“$5”: a new sign"),
    Doubt("shakespeare", "To be, or not to be", "“To be, or not to be”"),
)
"""Texts for *Decoding*, each measured by a test; the first is what the page opens with."""
OPENINGS: Mapping[str, Mapping[str, object]] = {
    "Decoding": {"checkpoint": DOUBTS[0].checkpoint, "text": DOUBTS[0].text, "heads": (0,)}
}
"""What a session shows that begins on the page of this title without an address, where that model is there."""
OWN, OWN_LENGTH = 5, 60
"""How many sources of a model's own pairs are offered, and how long one may be to be called short."""


def family(task: object) -> str | None:
    """The task without its size or variant, if it is one for which there are texts here."""
    return next((name for name in _EXAMPLES if f"{task}-".startswith(f"{name}-")), None)


def examples(task: object) -> tuple[str, ...]:
    """Texts worth trying; none for a task that is not known."""
    return tuple(_EXAMPLES.get(family(task) or "", ()))


def list_examples(summary: Summary | Unreadable) -> tuple[str, ...]:
    """Texts to try with a model: those of its task, else the first short sources of its own example pairs.

    None for a model that has neither, and where its files cannot be read: other places say what is wrong with them.
    """
    if isinstance(summary, Unreadable):
        return ()
    return examples(summary.card.get("task")) or _own(summary)


def _own(summary: Summary) -> tuple[str, ...]:
    try:
        sources = list(dict.fromkeys(source for source, _ in summary.examples() if source.strip()))
    except ValueError:
        return ()
    short = [source for source in sources if len(source) <= OWN_LENGTH]
    return tuple((short or sources[:1])[:OWN])


def label(task: object) -> str:
    """What to type."""
    return _LABELS.get(family(task) or "", "A text")


def takes_numbers(task: object) -> bool:
    return family(task) in ("numbers-any", "numbers")


def number_text(value: float) -> str:
    """The number as the numbers data write it: thousands separators, two decimals, no negative zero."""
    return f"{round(value, 1) + 0.0:,.{NUMBER_DECIMALS}f}"


def number_of(text: str) -> float | None:
    """The number that a text writes, if the slider reaches it."""
    written = text.strip().replace("\N{MINUS SIGN}", "-")
    if not re.fullmatch(r"[-+]?([0-9]{1,3}(,[0-9]{3})+|[0-9]{1,15}|(?=\.))(\.[0-9]{1,6})?", written):
        return None
    value = float(written.replace(",", ""))
    return value if abs(value) <= NUMBER_LIMIT else None
