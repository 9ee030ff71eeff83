"""Expressions to their Taylor series up to x**6: the task of the FSU tutorial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from viz_transformer.measuring.data import Pair, Split, Tokenizers
from viz_transformer.model.config import ModelConfig, tutorial
from viz_transformer.text.codec import Codec
from viz_transformer.text.notation import Expressions
from viz_transformer.text.tokenizers import RegexTokens
from viz_transformer.text.vocabulary import Vocabulary
from viz_transformer.train.data import Batch, Vary
from viz_transformer.train.tasks.task import Measure, PairTask, Plan

SPECIALS = {"pad": "<pad>", "bos": "<sos>", "eos": "<eos>"}
EXPRESSIONS = RegexTokens(r"O\(x\*\*6\)|\*\*|[0-9]|[A-Za-z]+|[^\sA-Za-z0-9]", join="")
"""`O(x**6)`, `**` and names are single tokens; digits and other symbols are separate."""


def taylor_codecs(
    tokenizers: Tokenizers, pairs: Sequence[Pair], *, symbols: str, source_symbols: str = ""
) -> tuple[Codec, Codec]:
    """The tutorial's vocabularies: specials, then symbols, digits and names, sorted.

    symbols: letters of both sides. source_symbols: additional letters of the source, which also has the functions.
    """
    signs = {*"()+-/0123456789", "*", "**", "x", *symbols}
    source, target = (
        Codec(tokenizer, Vocabulary((*SPECIALS.values(), *sorted(signs | names)), SPECIALS))
        for tokenizer, names in zip(tokenizers, ({*FUNCTIONS, *source_symbols}, {"O(x**6)"}), strict=True)
    )
    return source, target


def taylor_model(source: Codec, target: Codec, *, longest: tuple[int, int], **sizes: Any) -> ModelConfig:
    """The tutorial's architecture in another size, with dropout on the sub-layer's output instead of the stream."""
    return tutorial(
        "fsu",
        source_vocab_size=len(source.vocabulary),
        target_vocab_size=len(target.vocabulary),
        max_source=longest[0] + 2,
        max_target=longest[1] + 2,
        decoder_ffn_dropout="output",
        **sizes,
    )


@dataclass(frozen=True)
class Renaming:
    """Renames the constants of an expression and its series, preserving alphabetical order.

    The printed order of terms depends on the order of the names, so the renamed series is what the recipe would print.
    """

    symbols: str  # all names, in order

    @property
    def said(self) -> str:
        return "the symbols of each pair are renamed at random, in alphabetical order"

    def key(self, source: str) -> str:
        """The expression with its constants numbered in order."""
        tokens = EXPRESSIONS.split(source)
        used = [symbol for symbol in self.symbols if symbol in tokens]
        return "".join(f"<{used.index(token)}>" if token in used else token for token in tokens)

    def vary(self, source: Codec, target: Codec) -> Vary:
        """For each pair, draw as many names as it has, uniformly, and assign them in order."""
        places = [
            torch.tensor([codec.vocabulary.tokens.index(name) for name in self.symbols]) for codec in (source, target)
        ]
        sizes = [len(codec.vocabulary) for codec in (source, target)]

        def varied(batch: Batch, generator: torch.Generator) -> Batch:
            src, tgt = batch
            assert src is not None
            here = src.device
            letters = [each.to(here) for each in places]
            used = torch.zeros(len(src), len(self.symbols), dtype=torch.bool, device=here)
            for ids, places_of in zip((src, tgt), letters, strict=True):
                used |= (ids[:, :, None] == places_of).any(dim=1)
            drawn = torch.rand(used.shape, generator=generator, device=generator.device).to(here).argsort(dim=1)
            ordered = torch.arange(used.size(1), device=here)  # [B, symbols]
            chosen = torch.zeros_like(used).scatter(1, drawn, ordered < used.sum(1, keepdim=True))
            in_order = chosen.logical_not().to(torch.uint8).argsort(dim=1, stable=True)  # the chosen ones first
            names = in_order.gather(1, (used.cumsum(dim=1) - 1).clamp(min=0))  # [B, symbols] -> new symbol
            src, tgt = (
                torch.arange(size, device=here)
                .repeat(len(src), 1)
                .scatter(1, places_of.repeat(len(src), 1), torch.where(used, places_of[names], places_of))
                .gather(1, ids)
                for ids, places_of, size in zip((src, tgt), letters, sizes, strict=True)
            )
            return src, tgt

        return varied


FUNCTIONS = ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")
TWO_TERMS = "taylor-2terms/seq2seq_series_2terms.txt.gz"
TWO_TERMS_LONGEST = (20, 83)  # the tutorial's filter: at most mean + 3 SD (20), at most 85 with start and end
GENERATED_LONGEST = (59, 198)
"""Maximum tokens of source and target, as in the tutorial: no pair of the data set is longer."""


def two_terms(skip: int, limit: int) -> Split:
    """Part of the file with two terms, in file order, without too long pairs: 17 : 2 : 1 of 11,850 pairs."""
    return Split(file=TWO_TERMS, separator="|", longest=TWO_TERMS_LONGEST, skip=skip, limit=limit)


def generate_split(name: str) -> Split:
    """A file of generated pairs."""
    return Split(file=f"taylor-generated/{name}.txt.gz", separator="|")


TASKS = (
    PairTask(
        name="taylor-2terms",
        title="Taylor series of one or two functions, with a tutorial’s data",
        does="reads an expression of x and writes its Taylor series",
        train=(two_terms(0, 10_072),),
        validation=two_terms(10_072, 1_185),
        test=two_terms(11_257, 593),
        tokenizers=(EXPRESSIONS, EXPRESSIONS),
        codecs=partial(taylor_codecs, symbols="abcdfghm", source_symbols="n"),
        model=partial(
            taylor_model,
            longest=TWO_TERMS_LONGEST,
            encoder_layers=2,
            decoder_layers=2,
            d_model=128,
            d_ff=512,
            dropout=0.1,
        ),
        plan=Plan(
            epochs=100,
            batch_tokens=4000,
            peak_rate=1.5e-3,
            warmup=500,
            smoothing=0.0,
            row_every=500,
            save_every=500,
            snapshots=(0, 100, 300, 600, 1000, 2000, 5000),
        ),
        notation=Expressions(functions=FUNCTIONS, symbols="abcdfghm", largest=8, plain=False),
        measures=(
            Measure(split="test, 593 pairs"),
            Measure(split="test with what is too long, 719 pairs", count_too_long=True),
        ),
        equivalence="sympy",
        data_name="seq2seq_series_2terms.txt (github.com/hbprosper/Terascale, commit da8a084)",
        data_licence="MIT",
        weights_terms="MIT",
        notes=("Expressions of more than 20 tokens and series of more than 83 are left out, as in the tutorial.",),
    ),
    PairTask(
        name="taylor",
        title="Taylor series of one to five functions",
        does="reads an expression of x and writes its Taylor series",
        train=(generate_split("train"), Split(file="generated:taylor/train", limit=40_000)),
        validation=generate_split("val"),
        test=generate_split("test"),
        tokenizers=(EXPRESSIONS, EXPRESSIONS),
        codecs=partial(taylor_codecs, symbols="abcdfg"),
        model=partial(taylor_model, longest=GENERATED_LONGEST, d_model=256, d_ff=768, dropout=0.0),
        notation=Expressions(functions=FUNCTIONS, symbols="abcdfg", largest=6, plain=True),
        symmetry=Renaming("abcdfg"),
        plan=Plan(
            epochs=40,
            batch_tokens=4000,
            peak_rate=3e-3,
            warmup=400,
            smoothing=0.0,
            averaging=0.998,
            best_by="exact",
            optimizer="muon-float32",
            first_rows=(0, 20, 100),
            row_every=500,
        ),
        measures=(
            Measure(split="test, 2,300 pairs"),
            Measure(split="60 textbook series", data="generated:taylor/textbook", limit=60),
            Measure(split="1,000 held-out expressions with numbers", data="generated:taylor/test", limit=1000),
        ),
        equivalence="sympy",
        data_name="Taylor series generated for this project after the tutorial's recipe, and some made by the task",
        data_licence="CC0",
        weights_terms="CC0",
        notes=(
            "The task makes 40,000 of the training pairs: expressions with numbers, as people type them, three quarters"
            " without constants. The 60 textbook expressions are not among them, nor any other expression with the"
            " series of one of them, or with that of a held-out one.",
            "d_model 256 and d_ff 768 instead of the tutorial's 200 and 1,024. No pair is left out for its length.",
            "In training the symbols were renamed at random, in alphabetical order; training pairs that a renaming"
            " turns into one of validation or test were left out.",
        ),
    ),
)
