"""Data to evaluate on: files that are damaged, and cards that name them in a damaged way."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from attack import choices, hostile, texts
from attack.folders import CARD_TEXT, SPECIAL
from attack.trying import MIB, attempt, check
from viz_transformer.measuring.evaluation import evaluate_checkpoint

PAIRS = "abc\tuvw\nh\t0\nbad face\txyz\n"
OUTSIDE = ("../outside.tsv", "data/../../outside.tsv", "./../outside.tsv", "{}/outside.tsv")


def attack(draw: Random, place: Path) -> None:
    """A tiny model evaluated on such a file, named by the caller or by its card."""
    data = place / "data"
    (data / "tiny").mkdir(parents=True)
    (place / "outside.tsv").write_text(PAIRS, encoding="utf-8")
    file, asked = data / "tiny" / "test.tsv", dict[str, Any]()
    evaluation = dict(CARD_TEXT["evaluation"])
    how, size, named = draw.randrange(5), 0, ""
    if how == 0:
        evaluation = hostile.damaged(evaluation, draw)
    elif how == 1:
        named = evaluation["data"] = draw.choice(OUTSIDE).format(place)
    elif how == 2 and draw.random() < 0.3:
        draw.choice(SPECIAL)(file)
    elif how == 3 and draw.random() < 0.1:
        file.write_bytes(bomb())
    if not file.is_symlink() and not file.exists():
        content = content_of(draw)
        size = len(content)
        file.write_bytes(content)
    if draw.random() < 0.4:
        asked = {"limit": draw.choice((1, 3, 0, -1, 10**30)), "beam": draw.choice((None, 1, 2, 0, 10**6))}
    given = draw.choice((None, None, file, "tiny/test.tsv")) if how != 1 else None
    ckpt = replace(choices.tiny("encoder-decoder"), card={**CARD_TEXT, "evaluation": evaluation})
    try:
        refused = attempt(lambda: evaluate_checkpoint(ckpt, given, data_folder=data, **asked), size=size)
        check(how != 1 or refused is not None, f"a card made it read {named!r}, outside of the data folder")
    finally:
        shutil.rmtree(data)


def content_of(draw: Random) -> bytes:
    """Pairs with something wrong, plain or gzip."""
    content = PAIRS.encode()
    how = draw.randrange(6)
    if how == 0:
        content = hostile.bytes_damaged(content, draw)
    elif how == 1:
        lines = PAIRS.splitlines(keepends=True)
        place = draw.randrange(len(lines))
        lines[place] = texts.text(draw, (lines[place],)) + draw.choice(("", "\n", "\r\n", "\r"))
        content = "".join(lines).encode("utf-8", "surrogatepass")
    elif how == 2:
        content = content.replace(b"\t", draw.choice((b"|", b"", b"\t\t", b" ", b"\x00")))
    elif how == 3:
        content = draw.choice((content.decode().encode("utf-16"), b"\xef\xbb\xbf" + content, content * 40))
    elif how == 4:
        content = content + b"x" * draw.choice((10**5, 2 * MIB)) + draw.choice((b"", b"\ty\n"))
    if draw.random() < 0.4:
        content = gzip.compress(content)
        content = hostile.bytes_damaged(content, draw) if draw.random() < 0.5 else content
    return content


@cache
def bomb() -> bytes:
    """A gzip file of one megabyte that is one line of a gibibyte."""
    return gzip.compress(bytes(16 * MIB)) * 64
