"""Data files that are right, and each way in which they can be wrong; the parts of a file; the sets made here."""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from viz_transformer.measuring import data
from viz_transformer.measuring.data import (
    MAX_GENERATED,
    Split,
    beginning,
    find_data_file,
    find_data_folder,
    generated_pairs,
    read_pairs,
    read_text,
)
from viz_transformer.text.tokenizers import Characters, RegexTokens


def test_pairs_are_read_plain_and_zipped(tmp_path: Path):
    content = "\ufeffa b\t c\u00e9 \r\nx\ty\n".encode()
    (tmp_path / "plain.tsv").write_bytes(content)
    (tmp_path / "zipped.tsv.gz").write_bytes(gzip.compress(content))
    for name in ("plain.tsv", "zipped.tsv.gz"):
        assert read_pairs(tmp_path / name) == [("a b", "c\u00e9"), ("x", "y")]
        assert read_pairs(tmp_path / name, limit=1) == [("a b", "c\u00e9")]


def test_columns_are_separated_by_what_is_asked_for(tmp_path: Path):
    (tmp_path / "p.txt").write_text("a\tb|c d\n", encoding="utf-8")
    assert read_pairs(tmp_path / "p.txt", "|") == [("a\tb", "c d")]
    with pytest.raises(ValueError, match=r"line 1 has 1 column, each line must be source;target"):
        read_pairs(tmp_path / "p.txt", ";")


def test_a_line_break_of_another_alphabet_ends_no_line(tmp_path: Path):
    (tmp_path / "p.tsv").write_bytes("a\u2028b\tc\u0085d\n".encode())
    assert read_pairs(tmp_path / "p.tsv") == [("a\u2028b", "c\u0085d")]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a\tb\none column only\n", r"p\.tsv, line 2 has 1 column, each line must be source<TAB>target"),
        (b"a\tb\tc\n", r"line 1 has 3 columns"),
        (b"a\tb\n\nc\td\n", r"line 2 has 1 column,"),
        (b"a\tb\n1\t\xe9\n", r"line 2 is not UTF-8 text: convert"),
        (b"a\tb\n \tb\n", r"line 2 has no source: fill it in"),
        (b"a\t\n", r"line 1 has no target: fill it in"),
        (b"", r"p\.tsv is empty: it must have one pair"),
        (gzip.compress(b"a\tb\n" * 1000, mtime=0)[:-12], r"p\.tsv is a damaged gzip file: copy it again"),
        (b"\x1f\x8bnothing", r"p\.tsv is a damaged gzip file"),
    ],
)
def test_bad_files_are_refused_with_the_line(content: bytes, sentence: str, tmp_path: Path):
    (tmp_path / "p.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_pairs(tmp_path / "p.tsv")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"there is no file .*nothing"):
        read_pairs(tmp_path / "nothing")
    with pytest.raises(ValueError, match="is a folder: give a file"):
        read_pairs(tmp_path)
    (tmp_path / "p.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match="limit=0 has to be a whole number of at least 1"):
        read_pairs(tmp_path / "p.tsv", limit=0)


def test_a_text_keeps_every_character(tmp_path: Path):
    text = "  First\r\n\n\tline\u2028é 𝒳 \n\n"
    (tmp_path / "plain.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tmp_path / "zipped.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert read_text(tmp_path / "plain.txt") == read_text(tmp_path / "zipped.txt.gz") == text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"one\ntwo\nthr\xe9e\n", r"t\.txt, line 3 is not UTF-8 text: convert"),
        (b"", r"t\.txt is empty: it must have a text"),
        (gzip.compress(b"text " * 1000, mtime=0)[:-12], r"t\.txt is a damaged gzip file: copy it again"),
    ],
)
def test_bad_texts_are_refused(content: bytes, sentence: str, tmp_path: Path):
    (tmp_path / "t.txt").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_text(tmp_path / "t.txt")


def test_the_data_folder_is_the_one_given_else_the_variable_else_data_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("given", "named", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_data_folder() == Path("data")
    monkeypatch.setenv("VIZ_TRANSFORMER_DATA", "named")
    assert find_data_folder() == Path("named")
    assert find_data_folder("given") == Path("given")
    with pytest.raises(ValueError, match=r"there is no data folder nowhere: give the folder that holds .* with --data"):
        find_data_folder("nowhere")
    with pytest.raises(ValueError, match=r"toy/x\.tsv is missing: put the data set's file toy/x\.tsv into"):
        find_data_file(Path("given"), "toy/x.tsv")


LINES = ["aa|u", "b|vvvv", "ccccc|w", "d d|x", "e|y", "fff|z", "g|u"]
TOKENIZERS = (Characters(), RegexTokens("."))  # the second does not count blanks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "pairs.txt").write_text("\n".join(LINES), encoding="utf-8")
    return tmp_path


def sources(split: Split, folder: Path) -> list[str]:
    return [source for source, _ in split.read(folder, TOKENIZERS)]


def test_a_split_without_more_is_the_whole_file(folder: Path):
    pairs = Split(file="toy/pairs.txt", separator="|").read(folder)
    assert pairs == [tuple(line.split("|")) for line in LINES]


def test_skip_and_limit_cut_out_a_part(folder: Path):
    assert sources(Split(file="toy/pairs.txt", separator="|", skip=2), folder) == ["ccccc", "d d", "e", "fff", "g"]
    assert sources(Split(file="toy/pairs.txt", separator="|", limit=2), folder) == ["aa", "b"]
    assert sources(Split(file="toy/pairs.txt", separator="|", skip=2, limit=3), folder) == ["ccccc", "d d", "e"]
    assert sources(Split(file="toy/pairs.txt", separator="|", skip=6, limit=3), folder) == ["g"]


def test_long_pairs_are_left_out_before_skip_and_limit_count(folder: Path):
    """At most 3 source and 3 target tokens: not b (4 target tokens), not ccccc (5 source tokens); "d d" has 3."""
    fitting = ["aa", "d d", "e", "fff", "g"]
    assert sources(Split(file="toy/pairs.txt", separator="|", longest=(3, 3)), folder) == fitting
    assert sources(Split(file="toy/pairs.txt", separator="|", longest=(3, 3), skip=1, limit=3), folder) == fitting[1:4]
    assert sources(Split(file="toy/pairs.txt", separator="|", longest=(2, 4)), folder) == ["aa", "b", "e", "g"]


def test_what_is_too_long_is_read_with_the_part_around_it(folder: Path):
    """Those that fit are aa, d d, e, fff, g; b and ccccc stand behind aa."""

    def read(**part: Any) -> list[str]:
        split = Split(file="toy/pairs.txt", separator="|", longest=(3, 3), **part)
        return [source for source, _ in split.read(folder, TOKENIZERS, too_long=True)]

    assert read() == read(limit=5) == ["aa", "b", "ccccc", "d d", "e", "fff", "g"]
    assert read(limit=1) == ["aa", "b", "ccccc"]
    assert read(skip=1, limit=1) == ["b", "ccccc", "d d"]
    assert read(skip=2, limit=9) == ["e", "fff", "g"]


def test_a_limit_stops_the_reading(folder: Path):
    with (folder / "toy" / "pairs.txt").open("a", encoding="utf-8") as file:
        file.write("\nno columns here\n")
    assert len(Split(file="toy/pairs.txt", separator="|", skip=1, limit=6).read(folder)) == 6
    with pytest.raises(ValueError, match="line 8 has 1 column"):
        Split(file="toy/pairs.txt", separator="|", limit=8).read(folder)


def test_parts_that_are_drawn_have_all_pairs_of_their_sources_wherever_these_stand(tmp_path: Path) -> None:
    pairs = [(str(i % 20), str(i)) for i in range(50)]
    for name, order in (("a", pairs), ("b", pairs[::-1])):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in order), encoding="utf-8")
    first, rest = (Split(file="a.tsv", drawn=places).read(tmp_path) for places in ((0, 5), (5, 20)))
    assert {source for source, _ in first}.isdisjoint(source for source, _ in rest)
    assert len({source for source, _ in first}) == 5 and sorted(first + rest) == sorted(pairs)
    assert Split(file="b.tsv", drawn=(0, 5)).read(tmp_path) == first[::-1]
    assert Split(file="a.tsv", drawn=(0, 5), limit=3).read(tmp_path) == first[:3]


def test_a_split_with_nothing_in_it_is_refused(folder: Path):
    with pytest.raises(ValueError, match=r"toy/pairs\.txt has 7 pairs that fit, none after the first 7"):
        Split(file="toy/pairs.txt", separator="|", skip=7).read(folder)
    with pytest.raises(ValueError, match="has 0 pairs that fit"):
        Split(file="toy/pairs.txt", separator="|", longest=(0, 9)).read(folder, TOKENIZERS)
    with pytest.raises(ValueError, match=r"none\.txt is missing"):
        Split(file="none.txt").read(folder)


def test_the_data_folder_is_looked_for_only_if_a_file_is_needed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VIZ_TRANSFORMER_DATA", str(folder / "nowhere"))
    assert Split(file="generated:copy/test", skip=2, limit=3).read() == generated_pairs("generated:copy/test", 5)[2:]
    with pytest.raises(ValueError, match="there is no data folder"):
        Split(file="toy/pairs.txt", separator="|").read()
    monkeypatch.setenv("VIZ_TRANSFORMER_DATA", str(folder))
    assert len(Split(file="toy/pairs.txt", separator="|").read()) == 7


@pytest.mark.parametrize(
    ("split", "described"),
    [
        (Split(file="a.tsv"), {"file": "a.tsv"}),
        (
            Split(file="a.txt", separator="|", longest=(22, 85), skip=10, limit=3),
            {"file": "a.txt", "separator": "|", "longest": [22, 85], "skip": 10, "limit": 3},
        ),
        (Split(file="a.tsv", drawn=(5, 20)), {"file": "a.tsv", "drawn": [5, 20]}),
    ],
)
def test_a_split_is_described_by_what_is_not_usual(split: Split, described: dict[str, Any]):
    assert split.to_dict() == described
    assert Split.from_dict(described) == split


@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        ({}, "a part of a data file: 'file' is missing"),
        ({"file": "a", "limt": 3}, r"'limt' is not known: did you mean 'limit'\?"),
        ({"file": 3}, "file=3 has to be a text"),
        ({"file": "a", "limit": True}, "limit=True has to be a whole number of at least 1"),
        ({"file": "a", "limit": None}, "limit=None says nothing: leave it out"),
        ({"file": "a", "longest": [1]}, r"longest=\[1\] has to be two numbers of tokens"),
        ({"file": "a", "longest": [1, "2"]}, r"longest\[1\]='2' has to be a whole number"),
        ({"file": "a", "drawn": [1]}, r"drawn=\[1\] has to be two indices"),
        ({"file": "a", "drawn": [3, 3]}, r"drawn=\[3, 3\] takes no source"),
        ({"file": "a", "drawn": [-1, 3]}, r"drawn=\[-1, 3\] takes no source"),
        ({"file": "a", "skip": -1}, "skip=-1 has to be a whole number of at least 0"),
        ({"file": "a", "limit": 0}, "limit=0 has to be a whole number of at least 1"),
        ({"file": "generated:copy/test", "longest": [5, 5]}, "is generated to length: leave out longest"),
    ],
)
def test_what_describes_no_split_is_refused(described: dict[str, Any], sentence: str):
    with pytest.raises(ValueError, match=sentence):
        Split.from_dict(described)


TRAIN, TEST = (generated_pairs(f"generated:copy/{side}", n) for side, n in (("train", 20_000), ("test", 3000)))


def test_the_copy_task_is_the_same_everywhere():
    """Written down once: a card's numbers are for these very pairs."""
    assert [source for source, _ in TEST[:3]] == ["oooooy", "zhbanmxpp", "gddpuv"]
    assert [source for source, _ in TRAIN[:3]] == ["nnddnnnxnnxnndxxn", "xrgyqbmlon", "hvejvlop"]
    assert zlib.crc32("".join(source for source, _ in TEST[:1000]).encode()) == 3236136475
    assert generated_pairs("generated:copy/test", 7) == TEST[:7]


def test_the_copy_task_copies_1_to_20_of_the_letters_a_to_z():
    for pairs in (TRAIN, TEST):
        assert all(source == target for source, target in pairs)
        assert set("".join(source for source, _ in pairs)) == set("abcdefghijklmnopqrstuvwxyz")
        assert {len(source) for source, _ in pairs} == set(range(1, 21))
    lengths, letters = Counter(len(s) for s, _ in TRAIN), Counter("".join(s for s, _ in TRAIN))
    # Even: 1,000 of each of 20 lengths, give or take five standard deviations, and the letters to a tenth, for a string
    # of few of them has its letter many times. The shortest strings are few and each falls on one side as a whole, so
    # the lengths 1 and 2 are left out.
    assert all(abs(lengths[n] - 1000) < 5 * 31 for n in range(3, 21))
    assert all(abs(count * 26 / letters.total() - 1) < 0.1 for count in letters.values())


def test_every_second_string_to_copy_has_few_letters():
    """Of 20 letters drawn from 26, five or fewer are different once in 3e9 strings."""
    longest = [len(set(source)) for source, _ in TRAIN if len(source) == 20]
    few = [count for count in longest if count <= 5]
    assert abs(len(few) / len(longest) - 0.5) < 5 * 0.016
    assert set(few) == {1, 2, 3, 4, 5} and max(longest) > 15


def test_no_test_string_of_the_copy_task_is_trained_on():
    trained, tested = ({source for source, _ in pairs} for pairs in (TRAIN, TEST))
    assert len(tested) == len(TEST)
    assert not trained & tested
    assert len(trained) < len(TRAIN)  # training strings do repeat, the short ones


@pytest.mark.parametrize(
    ("name", "n", "sentence"),
    [
        (
            "generated:copy",
            5,
            "the data='generated:copy' is not known; choose 'generated:copy/train' or ",
        ),
        ("generated:copy/test", None, "generated:copy/test has no end: say how many pairs"),
        ("generated:copy/test", MAX_GENERATED + 1, "1,000,001 pairs of generated:copy/test are too many"),
    ],
)
def test_sets_that_cannot_be_made_are_refused(name: str, n: int | None, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        generated_pairs(name, n)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (read_pairs, read_text):
        with pytest.raises(ValueError, match="pipe is a pipe or a device: give a file"):
            read(tmp_path / "pipe")
        with pytest.raises(ValueError, match="is a folder: give a file"):
            read(tmp_path)
        with pytest.raises(ValueError, match="cannot be read: File name too long"):
            read(tmp_path / ("x" * 300))


@pytest.mark.parametrize("name", ["../secret.tsv", "toy/../../secret.tsv", "..", "/etc/passwd", "a\0b", "x" * 5000])
def test_a_name_that_leads_out_of_the_data_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match=r"is not a name inside the data folder|is missing: put") as caught:
        Split(file=name).read(tmp_path / "data")
    assert len(str(caught.value)) < 900


@pytest.mark.parametrize("separator", ["", "x" * 17, "x" * 10**6, "a\nb"])
def test_a_separator_that_cannot_be_one_is_refused(tmp_path: Path, separator: str) -> None:
    (tmp_path / "x.tsv").write_text("a\tb\n")
    for use in (lambda: read_pairs(tmp_path / "x.tsv", separator), lambda: Split(file="x.tsv", separator=separator)):
        with pytest.raises(ValueError, match="has to be 1 to 16 characters in one line") as caught:
            use()
        assert len(str(caught.value)) < 200


def test_a_gzip_file_that_unpacks_to_very_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "one-line.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(65):
            file.write(bytes(2**20))
    for read in (read_pairs, read_text):
        with pytest.raises(ValueError, match="line 1 has more than 64 MiB"):
            read(bomb)
    monkeypatch.setattr(data, "LONGEST_LINE", 10_000)
    with gzip.open(tmp_path / "lines.gz", "wb") as file:
        file.write(b"a\tb\n" * 10**6)
    for read in (read_pairs, read_text):
        with pytest.raises(ValueError, match="unpacks to more than 100 times its size"):
            read(tmp_path / "lines.gz")


def test_texts_may_be_as_regular_as_texts_are(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.gz", "wt", encoding="utf-8") as file:
        file.write("".join(f"sentence {i % 7} of many\tFrase {i % 7} di tante\n" for i in range(20_000)))
    assert len(read_pairs(tmp_path / "x.gz")) == 20_000


def test_more_pairs_than_memory_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "MAX_PAIRS", 3)
    (tmp_path / "x.tsv").write_text("a\tb\n" * 4)
    with pytest.raises(ValueError, match="has more than 3 pairs: take fewer"):
        read_pairs(tmp_path / "x.tsv")
    assert len(read_pairs(tmp_path / "x.tsv", limit=3)) == 3


def test_a_limit_in_tokens_needs_tokenizers(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match="longest limits the tokens of this data: give the tokenizers that count them"):
        Split(file="x.tsv", longest=(3, 3)).read(tmp_path)


@pytest.mark.parametrize("zipped", [False, True])
def test_the_beginning_of_a_file_is_its_first_whole_lines(zipped: bool, tmp_path: Path) -> None:
    path = tmp_path / "text"
    content = "äb\ncde\nf\n".encode()  # 4, 4 and 2 bytes
    path.write_bytes(gzip.compress(content) if zipped else content)
    assert beginning(path, 10) is None
    assert beginning(path, 9) == "äb\ncde\n".encode()
    assert beginning(path, 5) == "äb\n".encode()
    assert beginning(path, 1) == b""  # no half of a character
    with pytest.raises(ValueError, match="there is no file"):
        beginning(tmp_path / "none", 5)
