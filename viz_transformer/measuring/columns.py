"""Reads pairs from comma-separated files and JSON lines, given two of their columns."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from viz_transformer.sentences import count_of, quote, shorten

Pair = tuple[str, str]
AS_TEXT = "none"
"""Value of `--columns` that reads a file as plain text."""
MAX_NAMED = 3
"""Maximum lines to name in a sentence."""
_JSON_NAMES, _TABLE_NAMES = (".jsonl", ".ndjson"), (".csv",)
_HEADERS = frozenset(
    "source target src tgt trg input output question answer prompt response completion instruction text label labels"
    " from to in out x y sentence translation original query reply key value english german italian french spanish"
    " en de it fr es de_text en_text source_text target_text".split()
)
"""Header words: two adjacent ones in the first line make it a header."""


class PairRow(NamedTuple):
    """One pair, its line number (from 1), and whether one of its texts was quoted."""

    line: int
    pair: Pair
    quoted: bool = False


def two_columns(columns: str) -> tuple[str, str]:
    """The two columns in `a,b`, source first; a name with a comma needs double quotes.

    Raises ValueError for anything but two different columns.
    """
    found = [cell.text.strip() for cell in _cells(columns, ",") or ()]
    if len(found) != 2 or not all(found) or found[0] == found[1]:
        raise ValueError(
            f"columns={quote(columns)} has to name two columns, source and target: give --columns source,target, by"
            " the names of the header or by numbers from 1"
        )
    return found[0], found[1]


def is_json_lines(path: Path, first: str) -> bool:
    """Whether a file is JSON lines, by its name or its first non-empty line."""
    if path.name.removesuffix(".gz").lower().endswith(_JSON_NAMES):
        return True
    return first.startswith("{") and isinstance(_parsed(first), dict)


def asks_for_columns(path: Path, text: str) -> str | None:
    """Error message asking for the columns of a file without tabs that looks tabular; None for any other file.

    Tabular: named .csv or .jsonl, or every line has the same number of commas or is JSON.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or "\t" in lines[0]:
        return None
    if is_json_lines(path, lines[0]):
        first = _parsed(lines[0])
        names = [*first] if isinstance(first, dict) else []
        return _asking(path, "is JSON lines", "keys", names)
    named = path.name.removesuffix(".gz").lower().endswith(_TABLE_NAMES)
    if not named and ("\t" in text or len(lines) < 2 or not _same_commas(lines)):
        return None
    cells = _cells(lines[0], _delimiter(lines[0])) or ()
    what = "is a comma file" if named else "has the same number of commas in every line"
    return _asking(path, what, "columns", [cell.text.strip() for cell in cells])


def _asking(path: Path, what: str, noun: str, names: Sequence[str]) -> str:
    shown = [quote(name, 30) for name in names[:6]] + ["…"] * (len(names) > 6)
    has = f", and its first line has the {noun} {', '.join(shown)}" if names else ""
    named = len(names) > 1 and (noun == "keys" or all(name.casefold() in _HEADERS for name in names[:2]))
    example = ",".join(names[:2] if named else ("1", "2"))
    example = example if example.count(",") == 1 and len(example) < 60 else "source,target"
    by = "by their keys" if noun == "keys" else "by the names in its header, or by numbers from 1"
    return (
        f"{path} {what}{has}: say which two are source and target, {by}: give --columns {example}; to learn its lines"
        f" as a plain text, give --columns {AS_TEXT}"
    )


def _same_commas(lines: Sequence[str]) -> bool:
    """Whether all lines have the same number, at least one, of unquoted commas."""
    first = len(_cells(lines[0], ",") or ())
    return first > 1 and all(len(_cells(line, ",") or ()) == first for line in lines)


def rows_by_columns(lines: Iterable[tuple[int, str]], path: Path, columns: str) -> Iterator[PairRow]:
    """Pairs from two columns of a comma-separated, tab-separated or JSON lines file, stripped.

    lines: with their numbers. Columns are named as in the first line, or numbered from 1; the delimiter is the first of
    tab, comma and semicolon found in the first line. Empty lines are skipped. Raises ValueError with the line for a
    missing column, an empty text, and a text with a tab or line break.
    """
    wanted = two_columns(columns)
    stripped = ((number, line.rstrip("\r\n")) for number, line in lines)
    filled = (each for each in stripped if each[1].strip())
    first = next(filled, None)
    if first is None:
        return
    read = _json_rows if is_json_lines(path, first[1]) else _table_rows
    yield from read(chain([first], filled), path, wanted)


def _json_rows(lines: Iterator[tuple[int, str]], path: Path, wanted: tuple[str, str]) -> Iterator[PairRow]:
    for number, line in lines:
        found = _parsed(line)
        if not isinstance(found, dict):
            raise ValueError(f"{path}, line {number} is not a JSON object: write one {{...}} in each line")
        texts = []
        for name in wanted:
            if name not in found:
                raise ValueError(f"{path}, line {number} has no {quote(name)}: its keys are {_listed([*found])}")
            if not isinstance(found[name], str):
                raise ValueError(
                    f"{path}, line {number}: {quote(name)} is {quote(found[name], 40)}, not a text: put it in quotes"
                )
            texts.append(found[name])
        yield PairRow(number, _checked(path, number, texts))


def _table_rows(lines: Iterator[tuple[int, str]], path: Path, wanted: tuple[str, str]) -> Iterator[PairRow]:
    number, header = next(lines)
    delimiter = _delimiter(header)
    cells = _closed(path, number, header, delimiter)
    names = [cell.text.strip() for cell in cells]
    if all(name.isdecimal() for name in wanted):
        places = [int(name) - 1 for name in wanted]
        if -1 in places:
            raise ValueError(f"columns={quote(','.join(wanted))}: columns are numbered from 1")
        lines = chain([(number, header)], lines)
    elif missing := [name for name in wanted if name not in names]:
        raise ValueError(
            f"{path} has no column {quote(missing[0])}: its first line has {_listed(names)}; columns of a file without"
            " a header are given by numbers from 1"
        )
    elif twice := [name for name in wanted if names.count(name) > 1]:
        raise ValueError(f"{path} has the column {quote(twice[0])} more than once: give its number, counted from 1")
    else:
        places = [names.index(name) for name in wanted]
    for number, line in lines:
        cells = _closed(path, number, line, delimiter)
        if len(cells) <= max(places):
            raise ValueError(
                f"{path}, line {number} has {count_of(len(cells), 'column')},"
                f" and column {max(places) + 1} is asked for: fill it in or remove the line"
            )
        chosen = [cells[place] for place in places]
        yield PairRow(
            number, _checked(path, number, [cell.text for cell in chosen]), any(cell.quoted for cell in chosen)
        )


class _Cell(NamedTuple):
    text: str
    quoted: bool


_QUOTED = re.compile(r' *"((?:[^"]|"")*)" *')


def _cells(line: str, delimiter: str) -> list[_Cell] | None:
    """Cells of a line (RFC 4180); None if a quote is unclosed or followed by more than the delimiter."""
    cells, at = list[_Cell](), 0
    while True:
        if (match := _QUOTED.match(line, at)) is not None:
            end = match.end()
            cells.append(_Cell(match[1].replace('""', '"'), True))
        else:
            end = line.find(delimiter, at)
            end = len(line) if end < 0 else end
            cells.append(_Cell(line[at:end], False))
            if cells[-1].text.lstrip(" ").startswith('"'):
                return None
        if end == len(line):
            return cells
        if line[end] != delimiter:
            return None
        at = end + 1


def _closed(path: Path, number: int, line: str, delimiter: str) -> list[_Cell]:
    """Cells of a line. Raises ValueError for an unclosed quote."""
    if (cells := _cells(line, delimiter)) is None:
        raise ValueError(
            f"{path}, line {number} has a quote that is not closed, or goes on in the next line: put each pair in one"
            ' line, and write a quote inside of quotes twice, as ""'
        )
    return cells


def _delimiter(line: str) -> str:
    return next((sign for sign in "\t,;" if sign in line), ",")


def _checked(path: Path, number: int, texts: Sequence[str]) -> Pair:
    for text, side in zip(texts, ("source", "target"), strict=True):
        if not text.strip():
            raise ValueError(f"{path}, line {number} has no {side}: fill it in or remove it")
        if any(sign in text.strip() for sign in "\t\n\r"):
            raise ValueError(
                f"{path}, line {number}: the {side} has a tab or a line break in it, which a text of a pair cannot"
                " have: replace it"
            )
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            raise ValueError(f"{path}, line {number}: the {side} has half a character in it, a surrogate: remove it")
    return texts[0].strip(), texts[1].strip()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(quote(name, 30) for name in names[:6])
    return (shown or "none") + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")


def remarks(rows: Sequence[PairRow], columns: str | None) -> list[str]:
    """Warnings about pairs before training on them, with line numbers.

    They concern a line that looks like a header, quotes, duplicate pairs, and sources with several targets.
    """
    return [
        *_header_remarks(rows, columns),
        *_quote_remarks(rows, columns),
        *_repeated(rows),
        *_contradicting(rows),
    ]


def _header_remarks(rows: Sequence[PairRow], columns: str | None) -> list[str]:
    first = rows[0]
    if not all(text.casefold() in _HEADERS for text in first.pair):
        return []
    source, target = (quote(text) for text in first.pair)
    what = "remove it" if columns is None else "choose the columns by these names, or remove it"
    return [f"line {first.line} looks like a header ({source}, {target}), and is learned as a pair: {what}"]


def _quote_remarks(rows: Sequence[PairRow], columns: str | None) -> list[str]:
    if columns is not None:
        lines = [row.line for row in rows if row.quoted]
        return [f"texts in quotes are read without them: {_lines(lines)}"] * bool(lines)
    lines = [row.line for row in rows if any(len(text) > 1 and text[0] == text[-1] == '"' for text in row.pair)]
    return [f"texts in quotes keep them, since nothing is quoted between tabs: {_lines(lines)}"] * bool(lines)


def _repeated(rows: Sequence[PairRow]) -> list[str]:
    first: dict[Pair, int] = {}
    again = [(row.line, first[row.pair]) for row in rows if first.setdefault(row.pair, row.line) != row.line]
    if not again:
        return []
    named = ", ".join(f"line {line:,} repeats line {earlier:,}" for line, earlier in again[:MAX_NAMED])
    return [f"{count_of(len(again), 'pair')} {'is' if len(again) == 1 else 'are'} repeated: {named}{_more(again)}"]


def _contradicting(rows: Sequence[PairRow]) -> list[str]:
    targets: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        targets[row.pair[0]].setdefault(row.pair[1], row.line)
    found = [(source, [*lines.values()]) for source, lines in targets.items() if len(lines) > 1]
    if not found:
        return []
    named = ", ".join(
        f"“{shorten(source, 30)}” in lines {' and '.join(f'{line:,}' for line in lines[:2])}"
        for source, lines in found[:MAX_NAMED]
    )
    has = "source has" if len(found) == 1 else "sources have"
    return [f"{len(found):,} {has} different targets, of which at most one can be answered: {named}{_more(found)}"]


def _lines(lines: Sequence[int]) -> str:
    return (
        f"{'line' if len(lines) == 1 else 'lines'} {', '.join(f'{each:,}' for each in lines[:MAX_NAMED])}{_more(lines)}"
    )


def _more(found: Sequence[object]) -> str:
    return f" and {len(found) - MAX_NAMED:,} more" if len(found) > MAX_NAMED else ""
