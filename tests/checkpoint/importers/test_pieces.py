"""Sentencepiece models: their ids and special pieces, and texts cut as the sentencepiece library cuts them."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from strangers import Fairseq, Gpt
from torch import nn

import viz_transformer as vt
from viz_transformer.checkpoint.files import MAX_TEXT_BYTES
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.checkpoint.importers.pieces import LONGEST_PIECE, MAX_BYTES, MAX_OWN, piece_tokens, read_pieces
from viz_transformer.checkpoint.importers.vocabularies import read_tokens
from viz_transformer.text import tokenizers
from viz_transformer.text.codec import Codec
from viz_transformer.text.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[3]
FOREIGN = [
    "Zażółć gęślą jaźń",
    "Ünïcödé straße",
    "Привет, мир!",
    "שלום עולם",
    "你好世界",
    "こんにちは",
    "한국어 문장",
    "नमस्ते",
]
CORPUS = [*(ROOT / "docs" / "own-models.md").read_text(encoding="utf-8").splitlines(), *FOREIGN * 3]
LINES = [line for line in CORPUS if line.strip()]
NOTHING_REMOVED = {"remove_extra_whitespaces": False, "add_dummy_prefix": False}
MODELS: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram"},
    "unigram, bytes": {"model_type": "unigram", "byte_fallback": True},
    "unigram, own symbols": {"model_type": "unigram", "user_defined_symbols": ["<sep>", "ab"]},
    "unigram, no space before": {"model_type": "unigram", "add_dummy_prefix": False},
    "unigram, all spaces": {"model_type": "unigram", "remove_extra_whitespaces": False},
    "unigram, spaces behind": {"model_type": "unigram", "treat_whitespace_as_suffix": True},
    "unigram, as it stands": {"model_type": "unigram", "normalization_rule_name": "identity"},
    "unigram, small letters": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf"},
    "unigram, ids as T5's": {"model_type": "unigram", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "unigram, languages": {"model_type": "unigram", "pad_id": 3, "control_symbols": ["<2de>", "<2en>"]},
    "bpe": {"model_type": "bpe"},
    "bpe, as Llama's": {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity"}
    | {"remove_extra_whitespaces": False, "split_digits": True},
    "bpe, own symbols": {"model_type": "bpe", "user_defined_symbols": ["<sep>", "ab"]},
    "bpe, nothing removed": {"model_type": "bpe", "byte_fallback": True, "allow_whitespace_only_pieces": True}
    | NOTHING_REMOVED,
    "bpe, spaces behind": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "char": {"model_type": "char"},
    "char, own symbols": {"model_type": "char", "user_defined_symbols": ["<sep>", "ab"]},
}


@cache
def trained(name: str) -> bytes:
    """The file of a model that the library trains."""
    return trained_with(**MODELS[name])


def trained_with(**options: Any) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=written,
        **{"vocab_size": 700, "hard_vocab_limit": False, "minloglevel": 2, "num_threads": 1} | options,
    )
    return written.getvalue()


def texts(count: int) -> Iterator[str]:
    """Texts as they are, of words and signs by chance, and those that ask for trouble."""
    yield from ("", " ", "   ", "a", " a", "a ", "▁", "a▁", "▁▁a", "a\tb\nc", "a  b   c", "trail   ", "aaaaaaaaaaaaaa")
    yield from ("<s>", "</s>", "<pad> a", "a <unk> b", "x <0x41>", "<s> hello </s>", "<2de> hello", "x<sep>y", "<sep>")
    yield from (
        "<sep> a <sep>",
        " <sep><sep>",
        "abab abc",
        "👍🏽 ok",
        "👨\u200d👩\u200d👧 family",
        "🇩🇪",
        "ﬁne ① ½ ™ ㍿",
    )
    yield from ("<b class='x'>hi</b> &amp;", "\x00\x01", "\u200b zero", "\ufeffbom", "\u00a0x\u00a0", "12345 6,789.0")
    yield from ("ＦＵＬＬ\u3000ｗｉｄｔｈ", "-----")
    yield from FOREIGN
    chance = random.Random(0)
    words = [word for line in LINES for word in line.split()]
    signs = "abcdefgh  .,<>/sepunk▁éüßЖ你한😀½①\t"
    for _ in range(count // 3):
        yield chance.choice(LINES)
        yield " ".join(chance.choice(words) for _ in range(chance.randint(1, 12)))
        yield "".join(chance.choice(signs) for _ in range(chance.randint(0, 25)))


def written(content: bytes, folder: Path, name: str = "m.model") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("name", MODELS)
def test_texts_are_cut_as_the_library_cuts_them(name: str, tmp_path: Path) -> None:
    path = written(trained(name), tmp_path)
    library = sentencepiece.SentencePieceProcessor(model_proto=trained(name))
    assert read_tokens(path) == tuple(library.id_to_piece(id) for id in range(len(library)))
    cut, model = piece_tokens(path), read_pieces(path)
    vocabulary = Vocabulary(model.names, {role: piece for role, piece in model.specials.items() if piece})
    codec = Codec(cut, vocabulary, add_bos=False, add_eos=False)
    checked = ties = 0
    for text in texts(300):
        wanted = library.encode(text)
        if not wanted:
            assert cut.split(text) == [], text
            continue
        if (found := list(codec.encode(text).ids)) != wanted:  # the same pieces in another order are equally likely
            assert "unigram" in name and sorted(found) == sorted(wanted), text
            ties += 1
        if library.unk_id() not in wanted:
            assert codec.decode(wanted) == library.decode(wanted), text
        checked += 1
    assert checked > 300 and ties <= checked // 100


@pytest.mark.parametrize("name", ["unigram", "unigram, ids as T5's", "unigram, languages"])
def test_the_special_pieces_are_those_that_the_file_names(name: str, tmp_path: Path) -> None:
    library = sentencepiece.SentencePieceProcessor(model_proto=trained(name))
    ids = {"bos": library.bos_id(), "eos": library.eos_id(), "unk": library.unk_id(), "pad": library.pad_id()}
    found = read_pieces(written(trained(name), tmp_path)).specials
    assert found == {role: library.id_to_piece(id) if id >= 0 else None for role, id in ids.items()}


class Sized(Gpt):
    """A nanoGPT with this vocabulary."""

    def __init__(self, size: int):
        super().__init__(mini=False)
        self.transformer["wte"] = nn.Embedding(size, 24)
        self.lm_head = nn.Linear(24, size, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight  # type: ignore[assignment]


def test_a_checkpoint_keeps_it_and_needs_the_file_no_more(tmp_path: Path) -> None:
    options = {"bos_piece": "[GO]", "eos_piece": "[STOP]", "unk_piece": "[?]"}
    path = written(content := trained_with(model_type="bpe", **options), tmp_path)
    library = sentencepiece.SentencePieceProcessor(model_proto=content)
    torch.save(Sized(len(library)).state_dict(), tmp_path / "w.pt")
    folder = import_file(tmp_path / "w.pt", tmp_path / "out", Answers(settings={"n_heads": 3}, target_vocab=path))
    path.unlink()
    codec = vt.load(folder).own_codec("target")
    wanted = [library.bos_id(), *library.encode("the vocabulary ☃"), library.eos_id()]
    encoded = codec.encode("the vocabulary ☃")
    assert list(encoded.ids) == wanted
    assert encoded.tokens[0] == "[GO]" and encoded.tokens[-1] == "[STOP]" and codec.vocabulary.pad is None
    assert [wanted[position] for position in encoded.unknown] == [library.unk_id()]


def test_what_a_person_says_of_special_tokens_counts_more(tmp_path: Path) -> None:
    path = written(trained("unigram, languages"), tmp_path)
    torch.save(Sized(len(read_tokens(path))).state_dict(), tmp_path / "w.pt")
    answers = Answers(settings={"n_heads": 3}, target_vocab=path, specials={"bos": "<2de>", "eos": None})
    codec = vt.load(import_file(tmp_path / "w.pt", tmp_path / "out", answers)).own_codec("target")
    assert codec.vocabulary.specials == {"bos": "<2de>", "unk": "<unk>", "pad": "<pad>"}


def test_a_fairseq_model_has_other_ids(tmp_path: Path) -> None:
    path = written(trained("unigram"), tmp_path)
    torch.save(Fairseq(False).state_dict(), tmp_path / "w.pt")
    with pytest.raises(vt.CheckpointError, match="fairseq numbers tokens anew"):
        import_file(tmp_path / "w.pt", tmp_path / "out", Answers(settings={"n_heads": 3}, source_vocab=path))


# --- what cannot be read, and what differs


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def part(number: int, content: bytes | int | float) -> bytes:
    """One field of a message."""
    if isinstance(content, float):
        return varint(number << 3 | 5) + struct.pack("<f", content)
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def piece(name: str | bytes, score: float = -1.0, type: int = 1) -> bytes:
    name = name.encode() if isinstance(name, str) else name
    return part(1, part(1, name) + part(2, score) + part(3, type))


UNK = piece("<unk>", 0.0, 2)
SMALL = UNK + piece("▁") + piece("a") + piece("▁a", -0.5)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<!DOCTYPE html><html><body>404</body></html>", "not a sentencepiece model"),
        (b"the\ncat\nsat\n", "not a sentencepiece model"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "it is cut off, or not a protocol buffer"),
        (b"\x0a" + b"\xff" * 20, "it is cut off, or not a protocol buffer"),
        (part(9, b"x"), "it has no pieces"),
        (piece("a"), "0 pieces for unknown text"),
        (UNK + piece("<?>", 0.0, 2), "2 pieces for unknown text"),
        (SMALL + piece("a"), "it has 'a' twice"),
        (SMALL + piece(""), "piece 4 has no name"),
        (SMALL + piece(b"\xff\xfe"), "is not UTF-8"),
        (SMALL + piece("b", float("nan")), "is not finite"),
        (SMALL + piece("b", -1.0, 9), "is of the type 9"),
        (SMALL + piece("<0x41>", 0.0, 6), "1 of the 256 bytes"),
        (SMALL + piece("A", 0.0, 6), "is not the name of a byte"),
        (SMALL + part(2, part(35, 1)), "0 of the 256 bytes"),
        (SMALL + part(2, part(3, 7)), "of the kind 7"),
        (SMALL + part(2, part(3, b"bpe")), "field 3 is of another kind"),
        (SMALL + part(2, 3), "field 2 is of another kind"),
        (SMALL + piece("x" * (LONGEST_PIECE + 1)), "up to 500,000 pieces are read"),
        (UNK + b"".join(piece(f"{i:0900}") for i in range(MAX_BYTES // 900 + 1)), "up to 500,000 pieces are read"),
        (b"\x0b", "it is cut off, or not a protocol buffer"),
        (b"\x00\x00", "it is cut off, or not a protocol buffer"),
    ],
)
def test_a_file_that_is_none_or_damaged_ends_in_a_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(vt.CheckpointError, match=said):
        read_tokens(written(content, tmp_path))


def test_a_file_cut_off_anywhere_ends_in_a_sentence_or_has_fewer_pieces(tmp_path: Path) -> None:
    content = SMALL + part(2, part(3, 1) + part(40, 0)) + part(3, part(1, b"nfkc") + part(3, 1))
    whole = read_tokens(written(content, tmp_path))
    for end in range(len(content)):
        path = written(content[:end], tmp_path, f"{end}.model")
        try:
            assert read_tokens(path) == whole[: len(read_tokens(path))]
        except vt.CheckpointError as error:
            assert str(path) in str(error)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "m.model").open("wb") as file:
        file.truncate(200 * 2**20)
    with pytest.raises(vt.CheckpointError, match=f"more than {MAX_TEXT_BYTES // 2**20} MiB.*a file of weights"):
        read_tokens(tmp_path / "m.model")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SMALL + part(2, part(3, 3)), "of words joins unknown words"),
        (SMALL + piece("b", -1.0, 5) + part(2, part(3, 2)), "switched off"),
        (SMALL + piece("a b", 0.0, 4), "have blanks"),
        (SMALL + b"".join(piece(f"<{i}>", 0.0, 4) for i in range(MAX_OWN + 1)), "own symbols is not read here"),
        (SMALL + part(3, part(2, b"\x01")), "cannot read this tokenizer"),
    ],
)
def test_what_cannot_be_cut_exactly_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = written(content, tmp_path)
    assert read_tokens(path)[:4] == ("<unk>", "▁", "a", "▁a")
    with pytest.raises(vt.CheckpointError, match=f"{said}.*--set tokenizer=words"):
        piece_tokens(path)


def test_own_symbols_that_the_normalization_changes_are_refused(tmp_path: Path) -> None:
    options = {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf", "user_defined_symbols": ["<SEP>"]}
    with pytest.raises(vt.CheckpointError, match="its own symbol '<SEP>' would be cut or changed"):
        piece_tokens(written(trained_with(**options), tmp_path))


def test_a_fault_inside_the_library_becomes_a_sentence(tmp_path: Path) -> None:
    """A table of normalizations whose first entry points behind its end."""
    broken = struct.pack("<I", 8) + struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF) + b"a\0"
    path = written(SMALL + part(3, part(2, broken)), tmp_path)
    with pytest.raises(ValueError, match="the tokenizers library fails on this model's tokenizer"):
        piece_tokens(path).split("a text")


def test_a_vocabulary_too_large_for_a_checkpoint_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "LONGEST_PACKED", 100)
    with pytest.raises(vt.CheckpointError, match="too large to be kept in a checkpoint"):
        piece_tokens(written(SMALL, tmp_path))


def test_without_the_tokenizers_library_a_sentence_says_what_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizers, "find_spec", lambda name: None)
    tokenizers._library_tokenizer.cache_clear()
    with pytest.raises(vt.CheckpointError, match=r'pip install -e "\.\[train\]"'):
        piece_tokens(written(trained("char"), tmp_path))


@pytest.mark.parametrize("text", ["½\u0301", "ﬁ\u0301", "ｶﾞ", "\u1100\u1161\u11a8"])
def test_signs_of_several_code_points_differ_as_the_documentation_says(text: str, tmp_path: Path) -> None:
    """Should this fail one day, docs/own-models.md says too little of what is exact."""
    library = sentencepiece.SentencePieceProcessor(model_proto=trained("unigram, bytes"))
    cut = piece_tokens(written(trained("unigram, bytes"), tmp_path))
    assert cut.split(text) != library.encode(text, out_type=str)
