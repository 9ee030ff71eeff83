"""Folders whose tokenizer may take all memory, or for ever: refused in a sentence before it is read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pretrained import folder, in_languages

from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.checkpoint.importers.pieces import pieces_charsmap
from viz_transformer.huggingface.loading import load
from viz_transformer.text.growth import charsmap_growth

Written = Callable[[str], Path]
BLANKS = {"type": "Replace", "pattern": {"String": " "}, "content": " " * 2000}


@pytest.fixture
def changed(written: Written, tmp_path: Path) -> Callable[..., Path]:
    """A folder whose tokenizer.json has these parts."""

    def change(name: str, **parts: Any) -> Path:
        where = Path(shutil.copytree(written(name), tmp_path / name))
        path = where / "tokenizer.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | parts))
        return where

    return change


def refused(where: Path, *said: str) -> None:
    with pytest.raises(CheckpointError) as raised:
        load(where)
    sentence = str(raised.value)
    assert str(where) in sentence and "\n" not in sentence and len(sentence) < 600
    for each in said:
        assert each in sentence, sentence


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5"])
@pytest.mark.parametrize("part", ["normalizer", "decoder"])
def test_blanks_that_become_thousands_three_times_over(changed: Callable[..., Path], name: str, part: str) -> None:
    steps = {"type": "Sequence", f"{part}s": [BLANKS] * 3}
    refused(changed(name, **{part: steps}), "a tokenizer that is not used", "4,000,000 characters of one")


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(.*)*\d", r".*.*x", r"(a)\1+"])
def test_a_pattern_that_goes_back_for_ever(changed: Callable[..., Path], pattern: str) -> None:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    refused(changed("gpt2", pre_tokenizer=split), "a tokenizer that is not used", "may take forever")


def test_what_is_no_description_of_a_tokenizer(changed: Callable[..., Path]) -> None:
    where = changed("gpt2")
    (where / "tokenizer.json").write_text("[" * 100_000)
    refused(where, "a tokenizer that is not used")


def test_a_text_and_an_answer_that_may_become_too_long_end_in_a_sentence(changed: Callable[..., Path]) -> None:
    grows = {**BLANKS, "content": " " * 100}
    codec = load(changed("llama", normalizer=grows, decoder=grows)).codec("target")
    assert len(codec.encode("a a").ids) > 50
    with pytest.raises(ValueError, match=r"^the text has 60,001 characters, .*: shorten it$"):
        codec.encode("a " * 30_000 + "a")
    with pytest.raises(ValueError, match=r"characters, .*: shorten it$"):
        codec.decode(codec.encode("b").ids * 30_000)


def test_a_fault_of_the_library_is_a_sentence(changed: Callable[..., Path]) -> None:
    """Which raises what is no Exception, for a pattern that matches nothing at the end of a text."""
    empty = {"type": "Replace", "pattern": {"Regex": "b*"}, "content": "ΐ"}
    codec = load(changed("llama", normalizer=empty)).codec("target")
    with pytest.raises(ValueError, match="the tokenizers library fails"):
        codec.encode("ab")


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5", "mbart", "deberta"])
def test_texts_of_any_length_that_a_model_reads_are_read(opened: Callable[[str], Checkpoint], name: str) -> None:
    ckpt = opened(name)
    codec = ckpt.codec("source" if ckpt.spec.has_encoder else "target")
    for text in ("the cat " * 2500, "straße " * 2500, "漢字" * 8000):
        assert codec.encode(text).ids


def test_the_table_of_a_sentencepiece_model_is_looked_at(tmp_path: Path) -> None:
    where = folder(tmp_path / "model", "m2m_100", tokenizer=lambda: in_languages("m2m_100", tmp_path / "pieces"))
    path = next(path for path in where.iterdir() if path.suffix in (".model", ".spm"))
    table = pieces_charsmap(path)
    assert charsmap_growth(table).times == 18
    assert load(where).codec("source").encode("the cat").ids
    long = table[:4] + table[4 : 4 + int.from_bytes(table[:4], "little")] + b"a" * 5000 + b"\0"
    content = path.read_bytes()
    path.write_bytes(content + _field(3, _field(2, long)))
    refused(where, "a tokenizer that is not used", "5,000 characters of one")


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer; the last of several counts."""
    length, rest = bytearray(), len(content)
    while rest > 127:
        length.append(rest & 127 | 128)
        rest >>= 7
    return bytes([number << 3 | 2, *length, rest]) + content
