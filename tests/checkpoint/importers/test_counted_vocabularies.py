"""A vocabulary that is counted from a text again: which words, in which order, and when it does not fit."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from strangers import Gpt

import viz_transformer as vt
from viz_transformer.checkpoint.importers.importing import answers_from, import_file
from viz_transformer.checkpoint.importers.vocabularies import count_tokens

TEXT = "The cat, the mat.\r\nthe  dog doesn't sit.\nA cat isn't a <unk>\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "all.en"
    path.write_bytes(TEXT.encode())
    return path


def test_special_tokens_then_words_by_count_and_code_points(text: Path) -> None:
    # By hand: torchtext sorts by (-count, token), and takes the specials out of the words.
    assert count_tokens(text, "en", 2) == ("<s>", "</s>", "<blank>", "<unk>", ".", "cat", "n't", "the")


def test_the_order_is_that_of_torchtext(tmp_path: Path) -> None:
    # The rule of `build_vocab_from_iterator`, stated again: all tokens by (-count, token), then the specials are taken
    # out wherever they stand and put first in the order given, and only then the rare ones are dropped.
    draw = random.Random(1)
    pool = ["the", "a", "Zoo", "zoo", "Ärger", "ärger", "äpfel", "ß", "東京", "😀", "1984", "cat", "unk", "Cat", "b"]
    lines = [draw.choices(pool, k=12) for _ in range(25)]
    (tmp_path / "all.xx").write_text("\n".join(" ".join(line) for line in lines), encoding="utf-8")
    counts = Counter(word for line in lines for word in line)
    for first, least in ((["unk", "<pad>"], 1), (["<s>"], 20), (["the", "<unk>", "cat"], 18)):
        ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        for special in first:
            ordered.pop(special, None)
        want = [*first, *(word for word, count in ordered.items() if count >= least)]
        assert count_tokens(tmp_path / "all.xx", "xx", least, first) == tuple(want)
    assert len(set(counts.values())) < len(counts)  # there were ties


def test_blanks_that_are_tokens_and_words_of_one_time_are_counted(text: Path) -> None:
    tokens = count_tokens(text, "en", first=["<pad>"])
    assert tokens[:5] == ("<pad>", ".", "cat", "n't", "the")
    assert tokens[5:7] == (" ", ",")
    assert "\r" not in tokens and {"The", "dog", "A", "a"} < set(tokens)


def test_the_import_cuts_texts_as_the_words_were_counted(text: Path) -> None:
    folder = text.parent
    torch.save(Gpt(mini=False).state_dict(), folder / "m.pt")
    first = "<s> </s> <blank> <unk> " + " ".join(f"<{n}>" for n in range(5))  # 13 rows, four words
    words = {"n_heads": "3", "tokenizer": "spacy:en", "min_count": "2", "first_tokens": first}
    answers = answers_from(words, target_vocab=Path(f"counted:{text}"))
    codec = vt.load(import_file(folder / "m.pt", folder / "out", answers)).own_codec("target")
    assert codec.vocabulary.specials == {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<blank>"}
    assert codec.tokenizer.tokenize("the cat  doesn't.") == ["the", "cat", "does", "n't", "."]
    assert codec.vocabulary.tokens[-4:] == (".", "cat", "n't", "the")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "say which language's: --set target_tokenizer=spacy:en"),
        (
            {"tokenizer": "spacy:en", "min_count": "2"},
            r"gives 8 tokens, the model has 13 for the target: it was built with another text",
        ),
        ({"tokenizer": "spacy:qq"}, "cannot be counted: spaCy cannot split words of the language"),
        ({"tokenizer": "spacy:en", "first_tokens": "a a"}, "cannot be used as a vocabulary"),
    ],
)
def test_what_does_not_fit_ends_in_a_sentence(words: dict[str, str], said: str, text: Path) -> None:
    torch.save(Gpt(mini=False).state_dict(), text.parent / "m.pt")
    answers = answers_from({"n_heads": "3", **words}, target_vocab=Path(f"counted:{text}"))
    with pytest.raises(vt.CheckpointError, match=said):
        import_file(text.parent / "m.pt", text.parent / "out", answers)
    assert not (text.parent / "out").exists()


def test_a_file_that_is_not_there_and_a_count_that_is_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(vt.CheckpointError, match="none"):
        count_tokens(tmp_path / "none", "en")
    with pytest.raises(vt.CheckpointError, match="min_count='x' is not a number"):
        answers_from({"min_count": "x"})
