"""A text whose tokens stand for another one is said to be read otherwise; one that comes back is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import tiny_checkpoint

from viz_transformer.analysis.inputs.round_trip import LONGEST, round_trip
from viz_transformer.checkpoint import load
from viz_transformer.text.codec import TokenizerOptions


def test_a_text_of_known_letters_comes_back() -> None:
    assert round_trip(tiny_checkpoint().codec("source"), "abc") is None


def test_small_letters_are_told_and_an_unknown_word_alone_is_not() -> None:
    codec = load("multi30k-de-en").codec("source")
    found = round_trip(codec, "Ein Mann mit einem Hut.")
    assert found is not None and found.read == "ein mann mit einem hut." and found.lost == ("capitals",)
    assert round_trip(codec, "ein mann mit einem zzqqxx.") is None
    both = round_trip(codec, "Ein Mann mit  einem Zzqqxx.")
    assert both is not None and both.lost == ("blanks", "capitals") and "<unk>" in both.read


@pytest.mark.parametrize(
    ("name", "text", "lost"),
    [
        ("bert", "Naïve cat", ("capitals", "accents")),
        ("bert", "the  cat", ("blanks",)),
        ("bert", "the ☃ cat", None),
        ("gpt2", "The  naïve ☃\n\tcat </s>", None),
        ("t5", "the  cat", None),
    ],
)
def test_what_a_tokenizer_of_a_folder_takes_away_is_told(
    tmp_path: Path, name: str, text: str, lost: tuple[str, ...] | None
) -> None:
    pytest.importorskip("transformers")
    from pretrained import folder

    from viz_transformer.huggingface.loading import load as load_folder

    ckpt = load_folder(folder(tmp_path / "model", name))
    codec = ckpt.codec("source" if ckpt.spec.has_encoder else "target")
    found = round_trip(codec, text)
    assert (None if found is None else found.lost) == lost
    if name == "bert":
        assert round_trip(codec.read_as(TokenizerOptions(special_tokens=True)), text) is None


def test_of_a_long_text_the_part_that_differs_is_cited() -> None:
    codec = load("multi30k-de-en").codec("source")
    found = round_trip(codec, "ein mann und " * 30 + "Frau " + "und ein kind " * 30)
    assert found is not None and "frau" in found.excerpt and found.excerpt[0] == found.excerpt[-1] == "…"
    assert len(found.excerpt) == LONGEST + 2
