"""Texts of a model of transformers: cut by its own tokenizer, with names that can be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
import transformers
from foreign import foreign_checkpoint
from pretrained import byte_pieces, folder, likely_pieces, word_pieces
from tokenizers.processors import TemplateProcessing

from viz_transformer.analysis import word_groups
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.loading import load
from viz_transformer.model.kinds import SideName
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace
from viz_transformer.text.codec import is_of_a_word

Opened = Callable[[str], Checkpoint]


@pytest.fixture(scope="module")
def one_end(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Models of which one token alone ends an answer, as the tokenizer has it."""

    def open_one(name: str) -> Checkpoint:
        where = folder(tmp_path_factory.mktemp(name), name)
        if (path := where / "generation_config.json").exists():
            path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": 2}))
        return load(where)

    return cache(open_one)


def test_ids_are_those_of_the_tokenizer(opened: Opened) -> None:
    for name, tokenizer in (("gpt2", byte_pieces()), ("bert", word_pieces()), ("t5", likely_pieces())):
        for text in ("the cat sat", "naïve  café", "x\ny"):
            ckpt = opened(name)
            codec = ckpt.codec("source" if ckpt.spec.has_encoder else "target")
            assert list(codec.encode(text).ids) == tokenizer(text)["input_ids"]


def test_bytes_and_blanks_can_be_read_and_each_name_stands_once(one_end: Opened) -> None:
    codec = one_end("gpt2").codec("target")
    encoded = codec.encode("a the ☃")
    assert encoded.tokens == ("a", " the", " ", "‹E2›", "‹98›", "‹83›")
    assert encoded.originals[-1] == "☃" and codec.decode(encoded.ids) == "a the ☃"
    assert one_end("t5").codec("source").encode("the cat").tokens[0].startswith(" t")
    for name in ("gpt2", "t5", "bert"):
        for each in one_end(name).codecs.values():
            assert len(set(each.names)) == len(each.names)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gpt2", "naïve, 3.5 cats ☃", ["naïve", ",", " ", "3", ".", "5", "cats", " ", "☃"]),
        ("bert", "unaffable, cats", ["[CLS]", "unaffable", "[UNK]", "cats", "[SEP]"]),
        ("t5", "the cats, sat", ["the", "cats", "<unk>", " ", "sat", "</s>"]),
    ],
)
def test_pieces_make_up_the_words_of_a_text(one_end: Opened, name: str, text: str, expected: list[str]) -> None:
    ckpt = one_end(name)
    codec = ckpt.codec("source" if ckpt.spec.has_encoder else "target")
    read = codec.encode(text)
    marks = [i in codec.special_ids for i in read.ids]
    added = [codec.continuation(i) for i in read.ids]
    words = word_groups(read.tokens, read.originals, special=marks, characters=False, continuations=added)
    assert len(read) > len(words) and list(words.labels) == expected


@pytest.mark.parametrize(
    ("name", "is_part"),
    [("‹C3›", True), ("‹0A›", False), ("‹41›", True), ("a", True), ("ि", True), (",", False), ("", False)],
)
def test_what_may_be_part_of_a_word(name: str, is_part: bool) -> None:
    assert is_of_a_word(name) is is_part


def test_a_byte_without_a_shape_is_called_by_its_number(one_end: Opened) -> None:
    codec = one_end("gpt2").codec("target")
    encoded = codec.encode("a\x10\x7f\n")
    assert encoded.tokens == ("a", "‹10›", "‹7F›", "\n") and codec.decode(encoded.ids) == "a\x10\x7f\n"


def test_tokens_that_the_tokenizer_does_not_know_are_called_by_their_ids(one_end: Opened) -> None:
    codec = one_end("gpt2").codec("target")
    last = len(codec.names) - 1
    assert codec.names[last] == f"‹id {last}›" and codec.decode([last]) == f"‹id {last}›"


def test_a_typed_special_token_stays_text_but_for_a_mask_that_is_filled_in(one_end: Opened) -> None:
    for name, side in (("gpt2", "target"), ("t5", "source")):
        codec = one_end(name).codec(side)  # type: ignore[arg-type]
        inner = [i for i in codec.encode("a </s> b").ids if i in codec.special_ids - {codec.unknown}]
        assert inner == ([2] if name == "t5" else [])  # the one that ends each text
    masked = one_end("bert").codec("source").encode("the [MASK] ran")
    assert masked.tokens[:3] == ("[CLS]", "the", "[MASK]") and masked.tokens[-1] == "[SEP]"


@pytest.mark.parametrize("name", ["gpt2", "t5", "bert", "roberta"])
@pytest.mark.parametrize("typed", ["</s>", "<pad>", "[MASK]", "[SEP] [CLS]", "a</s></s> b", "<s>", "<unk>", "[PAD]"])
def test_typed_special_tokens_are_text_until_they_are_chosen(opened: Opened, name: str, typed: str) -> None:
    ckpt = opened(name)
    side: SideName = "source" if ckpt.spec.has_encoder else "target"
    tokenizer, text = ckpt.codec(side).tokenizer, f"the {typed} cat"  # type: ignore[attr-defined]
    around = tokenizer("")["input_ids"]
    specials = {*tokenizer.all_special_ids}
    codec = ckpt.codec(side)
    found = [i for i in codec.encode(text).ids if i in specials - {codec.unknown, codec.mask}]
    assert found == [i for i in around if i in specials]
    read = ckpt.read_as(special_tokens=True).codec(side).encode(text)
    assert list(read.ids) == tokenizer(text)["input_ids"]


def test_what_was_chosen_of_a_text_is_for_one_run_only(opened: Opened) -> None:
    ckpt = opened("bert")
    plain = ckpt.codec("source").encode("the [SEP] cat")
    assert plain.tokens[2] == "[UNK]" and plain.originals[2] == "[SEP]"
    chosen = ckpt.read_as(special_tokens=True)
    assert chosen.codec("source").encode("the [SEP] cat").tokens[2] == "[SEP]"
    assert chosen.read_as().codec("source").encode("the [SEP] cat") == plain
    assert trace(chosen, "the [SEP] cat").src_ids != trace(ckpt, "the [SEP] cat").src_ids
    with pytest.raises(ValueError, match="never turns into a special token"):
        foreign_checkpoint().read_as(special_tokens=True)


def test_a_prefix_stays_text_where_special_tokens_are_chosen(one_end: Opened) -> None:
    run = decode(one_end("gpt2").read_as(special_tokens=True), "the cat</s>", prefix="</s>x", max_steps=12)
    assert 2 in run.trace.tgt_ids and 2 not in [step.token_id for step in run.steps if step.forced]
    assert run.text.startswith("</s>x")


def test_unknown_text_keeps_what_was_typed(opened: Opened) -> None:
    encoded = opened("bert").codec("source").encode("The ☃")
    assert encoded.tokens == ("[CLS]", "the", "[UNK]", "[SEP]") and encoded.unknown == (2,)
    assert encoded.originals == ("[CLS]", "The", "☃", "[SEP]")


def test_a_prefix_has_no_start_token_that_a_tokenizer_puts_before_every_text(one_end: Opened) -> None:
    ckpt = one_end("gpt2")
    codec = ckpt.codec("target")
    plain = [step.token for step in decode(ckpt, "the cat", prefix="one two", max_steps=9).steps if step.forced]
    start = next(i for i in codec.special_ids if i not in {*codec.ends, codec.unknown})
    before = TemplateProcessing(single=f"{codec.names[start]} $A", special_tokens=[(codec.names[start], start)])
    codec.tokenizer.backend_tokenizer.post_processor = before  # type: ignore[attr-defined]
    run = decode(ckpt, "the cat", prefix="one two", max_steps=9)
    assert run.trace.tgt_ids[0] == start and run.trace.tgt_ids.count(start) == 1
    assert [step.token for step in run.steps if step.forced] == plain != []


def test_empty_text_and_wrong_ids_are_sentences(opened: Opened) -> None:
    codec = opened("bert").codec("source")
    for text in ("", "  "):
        with pytest.raises(ValueError, match="the text is empty"):
            codec.encode(text)
    for ids, said in (([], "empty"), ([999], "outside the vocabulary"), (["a"], "whole numbers")):
        with pytest.raises(ValueError, match=said):
            codec.encode_ids(ids)  # type: ignore[arg-type]


def test_answers_begin_with_the_forced_token_and_never_have_a_banned_one(tmp_path: Path) -> None:
    where = folder(tmp_path / "model", "bart", seed=3)
    free = decode(load(where), "two hundred", max_steps=8)
    banned = free.steps[0].token_id
    path = where / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"forced_bos_token_id": 9, "bad_words_ids": [[banned]]}))
    run = decode(load(where), "two hundred", max_steps=7)
    assert run.trace.tgt_ids[:2] == (1, 9) and banned not in {step.token_id for step in run.steps}
    theirs = transformers.BartForConditionalGeneration.from_pretrained(where, attn_implementation="eager").eval()
    given = torch.tensor([run.trace.src_ids])
    found = theirs.generate(given, attention_mask=torch.ones_like(given), max_new_tokens=8, do_sample=False)[0].tolist()
    assert [9, *(step.token_id for step in run.steps)] == found[1:]
