"""Data files: finding them, reading pairs or plain text, and splitting files."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
import random
import string
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from viz_transformer import declared
from viz_transformer.checkpoint.untrusted import regular_size
from viz_transformer.declared import Count, CountOrZero, Whole
from viz_transformer.measuring.columns import PairRow, rows_by_columns, two_columns
from viz_transformer.measuring.power_series import series_of
from viz_transformer.measuring.series_pairs import SIDES as SERIES_SIDES
from viz_transformer.measuring.series_pairs import textbook, typed_expressions
from viz_transformer.measuring.spoken_numbers import NOTATIONS, SIDES, counted_numbers, typed_numbers, words_of
from viz_transformer.sentences import quote, shorten
from viz_transformer.text.tokenizers import Tokenizer

Pair = tuple[str, str]
Tokenizers = tuple[Tokenizer, Tokenizer]

DATA_VARIABLE = "VIZ_TRANSFORMER_DATA"
GENERATED = "generated:"
LONGEST_LINE = 64 * 2**20
MAX_UNPACKED = 100
"""Maximum expansion of a gzip file, beyond one line: texts expand tenfold, bombs a thousandfold."""
MAX_PAIRS = 5_000_000
Separator = Annotated[str, Meta(pattern=r"\A[^\n]{1,16}\Z", description="1 to 16 characters in one line")]
_Two = tuple[Whole, Whole]
MAX_GENERATED = 1_000_000
"""Maximum pairs generated at once, since the number may come from an untrusted card."""


def find_data_folder(given: str | Path | None = None) -> Path:
    """The data folder: the given one, else VIZ_TRANSFORMER_DATA, else ./data. Raises ValueError if missing."""
    folder = Path(given or os.environ.get(DATA_VARIABLE) or "data").expanduser()
    if not folder.is_dir():
        raise ValueError(
            f"there is no data folder {folder}: give the folder that holds the data sets"
            f" (numbers/train_full.tsv.gz and so on) with --data, or name it in {DATA_VARIABLE}"
        )
    return folder


def find_data_file(folder: Path, name: str) -> Path:
    """A file of the data folder. Raises ValueError if missing, or if the name (possibly from a card) leads outside."""
    if Path(name).is_absolute() or Path(name).drive or ".." in Path(name).parts:
        raise ValueError(f"{quote(name)} is not a name inside the data folder: give the file itself with --data")
    path = folder / name
    if not os.path.isfile(path):  # os.path: also False for an invalid file name
        place, name = shorten(str(path), 300), shorten(name, 200)
        raise ValueError(f"{place} is missing: put the data set's file {name} into the data folder {folder}")
    return path


def read_pairs(
    path: str | Path, separator: str = "\t", *, limit: int | None = None, columns: str | None = None
) -> list[Pair]:
    """Pairs of a UTF-8 file with one `source<separator>target` per line, plain or gzip, at most `limit`.

    columns: source and target columns of a comma-separated file or JSON lines, as in `rows_by_columns`. Texts are
    stripped. Raises ValueError with the line number for a line that is not UTF-8, has another number of columns or an
    empty side, and for a file without pairs.
    """
    declared.within("limit", limit, Count | None)
    return [row.pair for row in read_rows(path, separator, limit=limit, columns=columns)]


def read_rows(
    path: str | Path, separator: str = "\t", *, limit: int | None = None, columns: str | None = None
) -> list[PairRow]:
    """Pairs as in `read_pairs`, with their lines."""
    path = Path(path)
    check_separator(separator)
    numbered = ((number, _decoded(line, path, number)) for number, line in enumerate(_lines(path), start=1))
    found = _rows(numbered, path, separator) if columns is None else rows_by_columns(numbered, path, columns)
    rows = list(islice(found, MAX_PAIRS + 1 if limit is None else limit))
    if len(rows) > MAX_PAIRS:
        raise ValueError(f"{path} has more than {MAX_PAIRS:,} pairs: take fewer")
    if not rows:
        raise ValueError(f"{path} is empty: it must have one pair of texts per line")
    return rows


def _rows(lines: Iterable[tuple[int, str]], path: Path, separator: str) -> Iterator[PairRow]:
    shown = "<TAB>" if separator == "\t" else separator
    for number, line in lines:
        columns = line.rstrip("\r\n").split(separator)
        if len(columns) != 2:
            raise ValueError(
                f"{path}, line {number} has {len(columns):,} column{'s' * (len(columns) != 1)},"
                f" each line must be source{shown}target"
            )
        source, target = columns[0].strip(), columns[1].strip()
        if not source or not target:
            raise ValueError(
                f"{path}, line {number} has no {'target' if source else 'source'}: fill it in or remove it"
            )
        yield PairRow(number, (source, target))


def read_text(path: str | Path) -> str:
    """Text of a UTF-8 file, plain or gzip, verbatim.

    Raises ValueError with the line number for invalid UTF-8, and for an empty file.
    """
    path = Path(path)
    text = "".join(_decoded(line, path, number) for number, line in enumerate(_lines(path), start=1))
    if not text:
        raise ValueError(f"{path} is empty: it must have a text")
    return text


def beginning(path: str | Path, most: int) -> bytes | None:
    """The first whole lines of a file, plain or gzip, at most `most` bytes; None if that is all of it.

    A longer first line is cut. Reads at most one line beyond `most`. Raises ValueError for an unreadable file.
    """
    lines: list[bytes] = []
    size = 0
    for line in _lines(Path(path)):
        if size + len(line) > most:
            return b"".join(lines) or line[:most].decode("utf-8", "ignore").encode()
        lines.append(line)
        size += len(line)
    return None


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path}, line {number} is not UTF-8 text: convert the file to UTF-8") from None


def check_separator(separator: str) -> None:
    """Raise ValueError for an invalid separator."""
    declared.within("separator", separator, Separator)


def _lines(path: Path) -> Iterator[bytes]:
    """Raw lines of a plain or gzip file (by its first two bytes), with an expansion limit."""
    most = MAX_UNPACKED * regular_size(path) + LONGEST_LINE
    unpacked = 0
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                unpacked += len(line)
                if len(line) > LONGEST_LINE:
                    most = LONGEST_LINE // 2**20
                    raise ValueError(f"{path}, line {number} has more than {most} MiB: split it into lines")
                if unpacked > most:
                    raise ValueError(f"{path} unpacks to more than {MAX_UNPACKED} times its size: give it unpacked")
                yield line
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{path} is a damaged gzip file: copy it again") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


@dataclass(frozen=True, kw_only=True)
class Split:
    """Some pairs of one file. Raises ValueError for impossible numbers."""

    file: str
    """Name in the data folder, or a generated set such as "generated:copy/train"."""
    separator: Separator = "\t"
    columns: str | None = None  # as in `read_pairs`
    longest: Annotated[_Two, Meta(description="two numbers of tokens: source and target")] | None = None
    """Maximum tokens of source and target, without start and end."""
    drawn: Annotated[_Two, Meta(description="two indices: the first source's, and one past the last")] | None = None
    """Range of sources in `drawing_order`: disjoint ranges share no source."""
    skip: CountOrZero = 0
    """Pairs to skip."""
    limit: Count | None = None

    def __post_init__(self) -> None:
        declared.check(self, rules=self._rules())
        if self.columns is not None:
            two_columns(self.columns)

    def _rules(self) -> Iterator[str]:
        if self.drawn is not None and not 0 <= self.drawn[0] < self.drawn[1]:
            yield f"drawn={quote(list(self.drawn))} takes no source: give the first index and a larger one"
        if self.longest is not None and self.file.startswith(GENERATED):
            yield f"{quote(self.file)} is generated to length: leave out longest={quote(self.longest)}"

    def read(
        self, folder: str | Path | None = None, tokenizers: Tokenizers | None = None, *, too_long: bool = False
    ) -> list[Pair]:
        """The pairs. tokenizers: count tokens for `longest`. folder: data folder, located if needed.

        too_long: also include the longer pairs among, before and after these, up to the next pair that fits. Raises
        ValueError for a missing folder or file, as `read_pairs`, and if no pair is left.
        """
        end = None if self.limit is None else self.skip + self.limit
        if self.file.startswith(GENERATED):
            pairs = generated_pairs(self.file, end)
        else:
            path = find_data_file(find_data_folder(folder), self.file)
            reads_all = self.longest is not None or self.drawn is not None
            pairs = read_pairs(path, self.separator, limit=None if reads_all else end, columns=self.columns)
        pairs = self.of(pairs)
        places = list(range(len(pairs)))
        if self.longest is not None:
            if tokenizers is None:
                raise ValueError("longest limits the tokens of this data: give the tokenizers that count them")
            places = [place for place in places if fits(pairs[place], tokenizers, self.longest)]
        if not places[self.skip : end]:
            file = shorten(self.file, 200)
            raise ValueError(f"{file} has {len(places)} pairs that fit, none after the first {self.skip}")
        if too_long:
            start = places[self.skip - 1] + 1 if self.skip else 0
            return pairs[start : None if end is None or end >= len(places) else places[end]]
        return [pairs[place] for place in places[self.skip : end]]

    def of(self, pairs: list[Pair]) -> list[Pair]:
        """The pairs whose source is in the drawn range."""
        if self.drawn is None:
            return pairs
        sources = set(drawing_order(source for source, _ in pairs)[slice(*self.drawn)])
        return [pair for pair in pairs if pair[0] in sources]

    def sources(self, folder: str | Path | None = None, tokenizers: Tokenizers | None = None) -> list[str]:
        """Sources of `read`, without generating targets. Raises the same."""
        if self.file.startswith(GENERATED) and self.longest is None:
            return generated_sources(self.file, None if self.limit is None else self.skip + self.limit)[self.skip :]
        return [source for source, _ in self.read(folder, tokenizers)]

    def to_dict(self) -> dict[str, Any]:
        """Fields as JSON values, without defaults."""
        values = ((field, getattr(self, field.name)) for field in dataclasses.fields(self))
        told = {field.name: value for field, value in values if value != field.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Split:
        """Inverse of `to_dict`. Raises ValueError for anything else."""
        declared.refuse(f"{name}=None says nothing: leave it out" for name, value in d.items() if value is None)
        return declared.read(cls, d, "a part of a data file")


def drawing_order(sources: Iterable[str]) -> list[str]:
    """Distinct sources in the order of their checksums: a shuffle that is the same everywhere."""
    return sorted(set(sources), key=lambda source: (hashlib.blake2b(source.encode(), digest_size=8).digest(), source))


def fits(pair: Pair, tokenizers: Tokenizers, longest: tuple[int, int]) -> bool:
    """Whether source and target have at most `longest` tokens."""
    sides = zip(pair, tokenizers, longest, strict=True)
    return all(len(tokenizer.split(text)) <= most for text, tokenizer, most in sides)


COPY_SYMBOLS = string.ascii_lowercase
COPY_LONGEST = 20
COPY_FEW = 5


def generated_pairs(name: str, n: int | None) -> list[Pair]:
    """The first n pairs of a generated data set, identical on every machine.

    "generated:copy/train", ".../test": strings of 1 to 20 letters a to z, each its own target; lengths and letters are
    uniform, and about every second string has at most COPY_FEW different letters. A checksum assigns each string to a
    side, so no test string is trained on; test strings are distinct.
    "generated:numbers-any/train", ".../validation", ".../test", ".../test/NOTATION", ".../to-9999/NOTATION": numbers
    and their words (`typed_numbers`, `words_of`).
    "generated:taylor/train", ".../test", ".../textbook": expressions and their series (`typed_expressions`, `textbook`,
    `series_of`).
    Raises ValueError for another name, without n, and for n above MAX_GENERATED.
    """
    words = _made(name)[1]
    return [(text, words(text)) for text in generated_sources(name, n)]


def generated_sources(name: str, n: int | None) -> list[str]:
    """Sources of `generated_pairs` without the slower targets. Raises the same."""
    if n is None:
        raise ValueError(f"{name} has no end: say how many pairs")
    declared.at_most(n, MAX_GENERATED, f"{{}} pairs of {name} are too many", "made")
    source = random.Random(f"viz-transformer {name}")  # the generator is the same in all Python versions
    return _made(name)[0](source, n)


def _made(name: str) -> _Maker:
    return _MADE[declared.one_of("the data", name, _MADE)]


def _copies(source: random.Random, n: int, *, tested: bool) -> list[str]:
    texts: list[str] = []
    seen: set[str] = set()
    while len(texts) < n:
        few = source.random() < 0.5
        letters = source.choices(COPY_SYMBOLS, k=source.randint(1, COPY_FEW)) if few else COPY_SYMBOLS
        text = "".join(source.choices(letters, k=source.randint(1, COPY_LONGEST)))
        if (zlib.crc32(text.encode()) % 10 == 0) != tested or (tested and text in seen):
            continue
        seen.add(text)
        texts.append(text)
    return texts


_Maker = tuple[Callable[[random.Random, int], list[str]], Callable[[str], str]]
_MADE: Mapping[str, _Maker] = {
    **{f"{GENERATED}copy/{side}": (partial(_copies, tested=side == "test"), str) for side in ("train", "test")},
    **{
        f"{GENERATED}numbers-any/{side}": (partial(typed_numbers, side=side, notations=tuple(NOTATIONS)), words_of)
        for side in SIDES
    },
    **{
        f"{GENERATED}numbers-any/test/{each}": (partial(typed_numbers, side="test", notations=(each,)), words_of)
        for each in NOTATIONS
    },
    **{
        f"{GENERATED}numbers-any/to-9999/{each}": (partial(counted_numbers, notation=each), words_of)
        for each in ("whole", "whole-grouped")
    },
    **{f"{GENERATED}taylor/{side}": (partial(typed_expressions, side=side), series_of) for side in SERIES_SIDES},
    f"{GENERATED}taylor/textbook": (textbook, series_of),
}
"""For each set: its sources, and the target of a source."""
