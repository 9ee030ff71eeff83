"""Two columns of a comma file or of JSON lines, and what is said of pairs before anything learns from them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from viz_transformer.measuring.columns import AS_TEXT, PairRow, asks_for_columns, remarks, two_columns
from viz_transformer.measuring.data import Split, read_pairs, read_rows

HEADED = 'id,source,target\n1,ab,"b, a"\n\n2, "say ""hi""" ,ih\n'
LINES = "".join(json.dumps({"q": f"a{n}", "a": f"ü{n}", "id": n}) + "\n" for n in range(3))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "f.csv"


def test_columns_are_read_by_name_or_by_number_and_rows_know_their_lines(file: Path) -> None:
    file.write_text("\ufeff" + HEADED, encoding="utf-8")
    rows = [PairRow(2, ("ab", "b, a"), True), PairRow(4, ('say "hi"', "ih"), True)]
    assert read_rows(file, columns="source,target") == rows
    assert read_rows(file, columns="target, source")[0].pair == ("b, a", "ab")
    assert [row.pair for row in read_rows(file, columns="2,3")] == [("source", "target"), *(row.pair for row in rows)]
    assert read_pairs(file, columns="source,target", limit=1) == [rows[0].pair]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("zipped", [False, True])
def test_what_stands_between_columns_is_that_of_the_first_line(delimiter: str, zipped: bool, file: Path) -> None:
    content = "".join(delimiter.join(row) + "\r\n" for row in (["x", "y", "z"], ["1", "2", "3"])).encode()
    file.write_bytes(gzip.compress(content) if zipped else content)
    assert read_pairs(file, columns="z,x") == [("3", "1")]


@pytest.mark.parametrize("name", ["f.jsonl", "f.NDJSON", "f.txt"])
def test_json_lines_are_read_by_key(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(LINES, encoding="utf-8")
    assert read_pairs(tmp_path / name, columns="q,a") == [(f"a{n}", f"ü{n}") for n in range(3)]


def test_a_split_reads_its_columns_and_a_card_can_say_so(file: Path) -> None:
    file.write_text(HEADED)
    split = Split(file=file.name, columns="source,target", limit=1)
    assert Split.from_dict(split.to_dict()) == split
    assert split.read(file.parent) == [("ab", "b, a")]
    assert "columns" not in Split(file="f.tsv").to_dict()


@pytest.mark.parametrize(
    ("content", "columns", "sentence"),
    [
        (HEADED, "source,answer", "has no column 'answer': its first line has 'id', 'source', 'target'"),
        (HEADED, "0,1", "columns are numbered from 1"),
        (HEADED, "1,9", "line 1 has 3 columns, and column 9 is asked for"),
        (HEADED, "source", "has to name two columns"),
        (HEADED, "source,source", "has to name two columns"),
        (HEADED, 'a,"b', "has to name two columns"),
        ("a,b\nx,y\nz\n", "a,b", "line 3 has 1 column, and column 2 is asked for"),
        ("a,b\nx, \n", "a,b", "line 2 has no target"),
        ('a,b\nx,"y\nz"\n', "a,b", "line 2 has a quote that is not closed"),
        ('a,b\nx,"y"z\n', "a,b", "line 2 has a quote that is not closed"),
        ("a,a,b\nx,y,z\n", "a,b", "has the column 'a' more than once"),
        ('{"a": "x"}\n', "a,b", "line 1 has no 'b': its keys are 'a'"),
        ('{"a": "x", "b": 5}\n', "a,b", "line 1: 'b' is 5, not a text"),
        ('{"a": "x", "b": "y"}\nz\n', "a,b", "line 2 is not a JSON object"),
        ('{"a": "x\\ny", "b": "z"}\n', "a,b", "line 1: the source has a tab or a line break"),
        ('{"a": "x", "b": "\\ud800"}\n', "a,b", "line 1: the target has half a character"),
        ("a,b\n", "a,b", "is empty"),
        ("\n", "a,b", "is empty"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_the_line(
    content: str, columns: str, sentence: str, file: Path
) -> None:
    file.write_text(content)
    with pytest.raises(ValueError) as told:
        read_pairs(file, columns=columns)
    assert sentence in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "content", "example"),
    [
        ("f.csv", HEADED, "1,2"),
        ("f.csv", "source,target\na,b\n", "source,target"),
        ("f.csv.gz", "just one\n", "1,2"),
        ("f.txt", "a,b\n" * 5, "1,2"),
        ("f.txt", 'a,"b, c"\nd,e\n', "1,2"),
        ("f.jsonl", LINES, "q,a"),
        ("f.txt", LINES, "q,a"),
    ],
)
def test_a_file_of_columns_is_asked_about(name: str, content: str, example: str) -> None:
    asked = asks_for_columns(Path(name), content)
    assert asked is not None and f"give --columns {example};" in asked and f"--columns {AS_TEXT}" in asked


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.csv", "a\tb\nc\td\n"),
        ("f.tsv", "a, b\tc\nd, e\tf\n"),
        ("f.txt", "one, two\nthree, four, five\n"),
        ("f.txt", "a line, alone"),
        ("f.txt", "no comma\nat all\n"),
        ("f.txt", '"not closed, here\nnor, there\n' + "x" * 200_000),
        ("f.txt", "{ code }\n"),
        ("f.txt", ""),
    ],
)
def test_any_other_file_is_not(name: str, content: str) -> None:
    assert asks_for_columns(Path(name), content) is None


def test_two_columns_may_have_commas_in_their_names() -> None:
    assert two_columns('"a, b", c') == ("a, b", "c")


def test_pairs_are_remarked_on_with_their_lines() -> None:
    pairs = [("Source", "target"), ("a", "b"), ('"c"', "d"), ("a", "b"), ("e", "f"), ("a", "g"), ("e", "h"), ("a", "b")]
    rows = [PairRow(line, pair) for line, pair in enumerate(pairs, start=1)]
    assert remarks(rows, None) == [
        "line 1 looks like a header ('Source', 'target'), and is learned as a pair: remove it",
        "texts in quotes keep them, since nothing is quoted between tabs: line 3",
        "2 pairs are repeated: line 4 repeats line 2, line 8 repeats line 2",
        "2 sources have different targets, of which at most one can be answered: “a” in lines 2 and 6, “e” in lines 5"
        " and 7",
    ]
    quoted = [PairRow(line, (str(line), "x"), True) for line in range(2, 8)]
    assert remarks(quoted, "1,2") == ["texts in quotes are read without them: lines 2, 3, 4 and 3 more"]
    assert remarks(rows[1:2], None) == []
