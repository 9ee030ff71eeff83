"""Checkpoints whose answers a test knows: random ones without specials, and ones that write what they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from builders import SPECIALS, tiny_checkpoint

import viz_transformer.measuring.answering as answering
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.search import decode_batch
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import SpacyWords, Tokenizer
from viz_transformer.text.vocabulary import Vocabulary

SOURCES = ["abc", "h", "gfedcba", "aab", "dddddd", "bh", "hb", "hhh", "bad", "face"]
KEYS = (
    "pairs exact_match exact_match_low exact_match_high exact_match_unseen token_accuracy loss perplexity bleu"
    " bleu_signature chrf sentences_per_second"
).split()
WORDS = ("a", "the", "cat", "dog", "sat", "ran", "on", "mat", "home", ".", ",", "it", "is", "not", "n't", "do")


def with_words(tokenizer: Tokenizer | None = None, seed: int = 0) -> Checkpoint:
    """A tiny checkpoint that reads the letters a to h and writes 16 English words, in lower case, as spaCy splits."""
    target = Codec(tokenizer or SpacyWords("en", lower=True), Vocabulary((*SPECIALS.values(), *WORDS), SPECIALS))
    return replace(tiny_checkpoint(seed=seed), target_codec=target)


def script(monkeypatch: pytest.MonkeyPatch, *parts: tuple[Checkpoint, Mapping[str, str]]) -> list[str]:
    """Makes each checkpoint answer each source with the text given; text that it cannot write becomes <unk>.

    Returns the list of the sources that are answered from now on.
    """
    answered: list[str] = []
    by_model = {ckpt.model: (ckpt, written) for ckpt, written in parts}

    def as_told(model: Transformer, src_ids: Sequence[Sequence[int]], **_: Any) -> list[list[int]]:
        ckpt, written = by_model[model]
        assert ckpt.source_codec is not None and ckpt.target_codec is not None
        sources = [ckpt.source_codec.decode(ids) for ids in src_ids]
        answered.extend(sources)
        return [list(ckpt.target_codec.encode(written[source]).ids[1:-1]) for source in sources]

    monkeypatch.setattr(answering, "decode_batch", as_told)
    return answered


def writer(seed: int, ending: float, **changes: Any) -> Checkpoint:
    """A random model that writes no specials; the larger `ending`, the sooner it stops."""
    ckpt = tiny_checkpoint(seed=seed, **changes)
    assert ckpt.model.output is not None and ckpt.model.output.bias is not None
    with torch.no_grad():
        ckpt.model.output.bias += torch.tensor([-9.0, -9.0, ending, -9.0, *[0.0] * 16])
    return ckpt


def answers(ckpt: Checkpoint, sources: list[str]) -> list[str]:
    """What the model writes, one source at a time."""
    assert ckpt.source_codec is not None and ckpt.target_codec is not None
    written = [decode_batch(ckpt.model, [ckpt.source_codec.encode(source).ids], bos=1, eos=2)[0] for source in sources]
    return [ckpt.target_codec.decode(ids) for ids in written]
