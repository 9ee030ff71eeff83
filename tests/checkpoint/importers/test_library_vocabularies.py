"""The `tokenizer.json` of Hugging Face's tokenizers: its ids and names, and texts cut as the library cuts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from strangers import Gpt
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import viz_transformer as vt
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.checkpoint.importers.vocabularies import read_tokens
from viz_transformer.text import tokenizers
from viz_transformer.text.tokenizers import LibraryTokens, tokenizer_from_dict

TEXTS = ["the cat sat on the mat", "a cat, a mat: the end", "Zażółć the cat"]
SIZE = 13
"""Rows of the model's vocabulary."""


def trained(kind: str) -> Tokenizer:
    """A tokenizer of this kind that was trained on the texts, its vocabulary no larger than the model's."""
    if kind == "byte-level BPE":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
        alphabet = {"vocab_size": SIZE, "special_tokens": ["<|endoftext|>"], "initial_alphabet": []}
        made.train_from_iterator(["tat at ta"], trainers.BpeTrainer(**alphabet))
    elif kind == "WordPiece":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
        made.decoder = decoders.WordPiece()
        made.train_from_iterator(["tat ta"], trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=["[UNK]"]))
    else:
        made = Tokenizer(models.WordLevel(unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        made.train_from_iterator(TEXTS, trainers.WordLevelTrainer(vocab_size=SIZE, special_tokens=["[UNK]"]))
    made.enable_padding(length=40)
    return made


@pytest.fixture(params=["byte-level BPE", "WordPiece", "WordLevel"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Tokenizer, Path]:
    made = trained(request.param)
    made.save(str(tmp_path / "tokenizer.json"))
    made.no_padding()
    return made, tmp_path


def test_ids_and_texts_are_those_of_the_library(written: tuple[Tokenizer, Path]) -> None:
    made, folder = written
    torch.save(Gpt(mini=False).state_dict(), folder / "m.pt")
    answers = Answers(settings={"n_heads": 3}, specials={"eos": None}, target_vocab=folder / "tokenizer.json")
    codec = vt.load(import_file(folder / "m.pt", folder / "out", answers)).own_codec("target")
    for text in ("tat ta", "ta tat tat"):
        wanted = made.encode(text, add_special_tokens=False)
        assert list(codec.encode(text).ids) == wanted.ids and codec.encode(text).tokens == tuple(wanted.tokens)
        assert codec.decode(wanted.ids) == made.decode(wanted.ids) or codec.vocabulary.unk in wanted.ids
    assert len(codec.vocabulary) == SIZE


def test_ids_without_a_name_are_called_by_themselves_and_added_tokens_count(tmp_path: Path) -> None:
    content = {"model": {"vocab": {"a": 0, "b": 3}}, "added_tokens": [{"id": 4, "content": "<end>"}]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert read_tokens(tmp_path / "tokenizer.json") == ("a", "‹id 1›", "‹id 2›", "b", "<end>")
    content = {"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["▁a", -1.5]]}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert read_tokens(tmp_path / "tokenizer.json") == ("<unk>", "▁a")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"model": {"vocab": {"a": 10**9}}}, "vocabularies are read up to 2,000,000"),
        ({"model": {"vocab": 3}}, "has no vocabulary of tokens and ids"),
        ({"model": {"vocab": {"a": "0"}}}, "ids are whole numbers"),
    ],
)
def test_a_damaged_file_ends_in_a_sentence(content: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(vt.CheckpointError, match=said):
        read_tokens(tmp_path / "tokenizer.json")


def test_without_the_library_a_sentence_says_which_command_adds_it(
    written: tuple[Tokenizer, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written[1]
    torch.save(Gpt(mini=False).state_dict(), folder / "m.pt")
    monkeypatch.setattr(tokenizers, "find_spec", lambda name: None)
    tokenizers._library_tokenizer.cache_clear()
    answers = Answers(settings={"n_heads": 3}, target_vocab=folder / "tokenizer.json")
    with pytest.raises(vt.CheckpointError, match=r'pip install -e "\.\[train\]"'):
        import_file(folder / "m.pt", folder / "out", answers)
    assert not (folder / "out").exists()
    blanks = Answers(settings={"n_heads": 3}, target_vocab=folder / "tokenizer.json", tokenizers={"": "words"})
    assert vt.load(import_file(folder / "m.pt", folder / "out", blanks)).own_codec("target").tokenizer.kind == "regex"


@pytest.mark.parametrize("packed", ["", "x" * (3 * 2**20 + 1), 3])
def test_a_checkpoint_with_another_text_is_refused(packed: Any) -> None:
    with pytest.raises(ValueError, match=r"packed=.* has to be a text of 1 to 3,145,728 characters$"):
        tokenizer_from_dict({"kind": "tokenizer.json", "packed": packed})


def test_what_unpacks_to_something_else_is_refused_when_it_is_used() -> None:
    with pytest.raises(ValueError, match="cannot read this tokenizer"):
        LibraryTokens.of("{}")
    with pytest.raises(ValueError, match="cannot read this tokenizer"):
        LibraryTokens("AAAA").split("a")
