"""Texts to break things with: whole ones, and usual ones with something put into one place."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

LONG = 15_000

WHOLE = (
    *("", " ", "\n", "\t\r\n", "\x00", "\ufeff", "\u200b", "\u2028", "\u202e", "\ud800", "\udfff\ud800", "\U0010ffff"),
    *("</s>", "<s>", "<unk>", "<pad>", "<s></s>", "<|endoftext|>", "[MASK]"),
    *("<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "<b>bold", "&lt;&amp;", "]]>", "<!--"),
    *(
        "[a](javascript:alert(1))",
        "**bold** _it_ `code`",
        "# heading",
        "| a | b |",
        ":material/home:",
        ":red[x]",
        "~~~",
    ),
    *(r"$$\frac{1}{0}$$", "$x$ and $y$", r"\begin{matrix}", r"\href{javascript:alert(1)}{x}", r"\\\\"),
    *("{{7*7}}", "${jndi:ldap://x}", "%s%n%d", "'; DROP TABLE runs;--", "../../../etc/passwd", "=1+1", "@SUM(1)"),
    *("\x1b[2J\x1b[31m", "\x07\x08", "a\x00b", "\r\nSet-Cookie: a=b"),
    *("0", "-0", "1e400", "NaN", "Infinity", "-1", "00000", "1,000,000,000,000", "29,284.30", "1.2.3.4", ",", "."),
    *("٣٤٥", "½", "Ⅷ", "１２", "²", "1_000", "0x10", "१२३", "−5"),
    *(
        "sin(x)",
        "cos(cos(cos(x)))",
        "x**x**x**x",
        "1/0",
        "((((((",
        "))))",
        "exp(1000*x)",
        "x^",
        "ln(0)",
        "sin()",
        "__import__",
    ),
    *("👩‍👩‍👧‍👦", "🏳️‍🌈", "🇮🇹🇩", "e\u0301\u0323", "\u0301", "מַמָּשׁ", "العربية", "ﷺ", "ｆｕｌｌ", "ﬁ", "ß", "İ", "ı", "ς"),
    *(
        "don't",
        "L'uomo",
        "twenty-nine",
        "...",
        "--",
        "''",
        '"',
        "e.g. U.S.A.",
        "http://a.b/c?d=e#f",
        "a@b.c",
        ":-)",
        "n't",
    ),
)

_RANGES = (
    *(
        (0x20, 0x7E),
        (0x30, 0x39),
        (0x61, 0x7A),
        (0x00, 0x1F),
        (0x7F, 0x9F),
        (0xA0, 0xFF),
        (0x300, 0x36F),
        (0x370, 0x3FF),
    ),
    *(
        (0x400, 0x4FF),
        (0x590, 0x5FF),
        (0x600, 0x6FF),
        (0x900, 0x97F),
        (0xE00, 0xE7F),
        (0x1100, 0x11FF),
        (0x2000, 0x206F),
    ),
    *((0x2200, 0x22FF), (0x4E00, 0x4FFF), (0xAC00, 0xACFF), (0xD800, 0xDFFF), (0xE000, 0xE0FF), (0xFE00, 0xFE0F)),
    *((0xFF00, 0xFFEF), (0xFFF0, 0xFFFF), (0x1D400, 0x1D4FF), (0x1F300, 0x1F6FF), (0xE0000, 0xE007F), (0x0, 0x10FFFF)),
)


def text(draw: Random, usual: Sequence[str] = ("29,284.30", "A man walks.")) -> str:
    """Any text: often `usual` ones that were changed in one place, sometimes of LONG characters or more."""
    return draw.choice((_random, _random, whole, _changed, _changed, _repeated, _joined))(draw, usual)


def whole(draw: Random, usual: Sequence[str]) -> str:
    return draw.choice((*WHOLE, *usual))


def _random(draw: Random, usual: Sequence[str]) -> str:
    """Characters of one or a few parts of Unicode."""
    ranges = draw.choices(_RANGES, k=draw.choice((1, 1, 2, 4)))
    length = draw.choice((1, 2, 5, 20, 60, 200))
    return "".join(chr(draw.randint(*draw.choice(ranges))) for _ in range(draw.randint(1, length)))


def _changed(draw: Random, usual: Sequence[str]) -> str:
    """A usual text with one piece put in, left out, said twice or turned round."""
    given = draw.choice(usual)
    a, b = sorted(draw.randint(0, len(given)) for _ in range(2))
    piece = draw.choice((draw.choice(WHOLE), "", given[a:b] * 2, given[a:b][::-1], given[a:b].upper()))
    return given[:a] + piece + given[b:]


def _repeated(draw: Random, usual: Sequence[str]) -> str:
    """Something short, so often that it is long."""
    piece = whole(draw, usual) or "x"
    length = draw.choice((40, 60, 150, 300, 600, 1_500, LONG, LONG))
    return (piece * (length // len(piece) + 1))[:length]


def _joined(draw: Random, usual: Sequence[str]) -> str:
    return draw.choice(("", " ", "\n", "\u200d", ", ")).join(whole(draw, usual) for _ in range(draw.randint(2, 8)))
