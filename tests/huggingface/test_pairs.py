"""Two texts that are read together: which tokens are of the second, and what the model makes of that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from pretrained import folder, word_pieces

from viz_transformer import read
from viz_transformer.analysis.inputs.embeddings import embedding_table, input_sum
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.loading import load

FIRST, SECOND = "the cat sat", "a dog ran over"
Opened = Callable[[str], Checkpoint]


def bert_pieces() -> Any:
    """The same pieces with the class that numbers two texts."""
    return transformers.BertTokenizer(vocab=word_pieces().get_vocab(), do_lower_case=True)


@pytest.mark.parametrize("name", ["bert", "bert/labels", "electra/labels", "electra/tags"])
def test_segments_are_those_of_the_tokenizer_and_logits_theirs_bit_by_bit(tmp_path: Path, name: str) -> None:
    where = folder(tmp_path / "model", name, tokenizer=bert_pieces)
    ckpt = load(where)
    run = read(ckpt, FIRST, pair=SECOND)
    given = transformers.AutoTokenizer.from_pretrained(where)(FIRST, SECOND, return_tensors="pt")
    assert run.trace.src_ids == tuple(given["input_ids"][0].tolist())
    second = ckpt.codec("source").second(run.trace.src_ids)
    assert second == given["token_type_ids"][0].tolist().index(1)
    cls = type(ckpt.hooked_model.model)  # type: ignore[attr-defined]
    theirs = cls.from_pretrained(where, attn_implementation="eager", dtype="float32").eval()
    with torch.no_grad():
        assert torch.equal(run.trace["logits"], theirs(**given).logits)


@pytest.mark.parametrize("name", ["distilbert/labels", "roberta/labels"])
def test_models_without_segments_read_two_texts_too(opened: Opened, theirs: Callable[[str], Any], name: str) -> None:
    run = read(opened(name), FIRST, pair=SECOND)
    given = torch.tensor([run.trace.src_ids])
    with torch.no_grad():
        assert torch.equal(run.trace["logits"], theirs(name)(input_ids=given).logits)
    assert run.trace.src_originals[opened(name).codec("source").second(run.trace.src_ids) or 0] == "a"


def test_the_segment_of_the_second_text_is_a_part_of_the_input(opened: Opened) -> None:
    ckpt = opened("bert")
    alone, both = read(ckpt, FIRST), read(ckpt, f"{FIRST}\t{SECOND}")
    segments = both.trace["encoder.embed.segment"][0]
    table = ckpt.hooked_model.base.embeddings.token_type_embeddings.weight  # type: ignore[attr-defined]
    second = ckpt.codec("source").second(both.trace.src_ids)
    assert second == len(alone.trace.src) and ckpt.codec("source").second(alone.trace.src_ids) is None
    assert torch.equal(segments[:second], table[0].expand(second, -1))
    assert torch.equal(segments[second:], table[1].expand(len(both.trace.src) - second, -1))
    assert input_sum(both.trace, embedding_table(ckpt, "source"), "source").exact


def test_rows_of_a_batch_have_their_own_segments(opened: Opened) -> None:
    ckpt = opened("bert/labels")
    rows = [read(ckpt, text).trace.src_ids for text in (FIRST, f"{FIRST}\t{SECOND}")]
    for row, logits in zip(rows, ckpt.hooked_model.whole(rows, None), strict=True):
        torch.testing.assert_close(logits, ckpt.hooked_model.whole([row], None)[0], atol=1e-5, rtol=1e-5)


def test_a_second_text_that_is_empty_is_none(opened: Opened) -> None:
    codec = opened("bert").codec("source")
    assert codec.encode("the cat\t ").ids == codec.encode("the cat").ids
    with pytest.raises(ValueError, match="the second text is empty"):
        read(opened("bert"), "the cat", pair=" ")


def test_a_typed_separator_is_no_separator(opened: Opened) -> None:
    encoded = opened("bert").codec("source").encode("the [SEP] cat")
    assert opened("bert").codec("source").second(encoded.ids) is None
    assert encoded.tokens[2] == "[UNK]" and encoded.originals[2] == "[SEP]"


def test_only_a_model_that_reads_two_texts_takes_them(opened: Opened) -> None:
    assert not opened("gpt2").spec.reads_pairs and not opened("bart").spec.reads_pairs
    with pytest.raises(ValueError, match="this model reads one text"):
        read(opened("gpt2"), FIRST, pair=SECOND)
    assert len(opened("gpt2").codec("target").encode("a\tb")) > 2  # a tab is text there
