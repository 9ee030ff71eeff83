"""Translation of everyday sentences in words: Multi30k (German-English) and Tatoeba (English-Italian)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from viz_transformer.measuring.data import Pair, Split, Tokenizers
from viz_transformer.model.config import ModelConfig, tutorial
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import SpacyWords
from viz_transformer.text.vocabulary import SPECIALS, Vocabulary
from viz_transformer.train.tasks.task import Measure, PairTask, Plan, vocabulary_sizes


def word_codecs(
    tokenizers: Tokenizers,
    pairs: Sequence[Pair],
    *,
    specials: Mapping[str, str] = SPECIALS,
    source_ends: tuple[bool, bool] = (True, True),
    min_counts: tuple[int, int] = (2, 2),
) -> tuple[Codec, Codec]:
    """Codecs of words that occur at least `min_counts` times in the training pairs (source, target), with joining
    rules.

    source_ends: whether sources get a start and an end token.
    """
    codecs = []
    for side, tokenizer in enumerate(tokenizers):
        assert isinstance(tokenizer, SpacyWords)
        texts = [pair[side] for pair in pairs]
        vocabulary = Vocabulary.build(map(tokenizer.tokenize, texts), specials, min_counts[side])
        add_bos, add_eos = source_ends if side == 0 else (True, True)
        codecs.append(Codec(tokenizer.learn(texts), vocabulary, add_bos=add_bos, add_eos=add_eos))
    return codecs[0], codecs[1]


def clean_model(source: Codec, target: Codec, *, dropout: float) -> ModelConfig:
    """Pre-norm, three layers per stack, sinusoidal positions, output tied to the target embedding."""
    return ModelConfig(
        encoder_layers=3,
        decoder_layers=3,
        d_model=256,
        n_heads=4,
        d_ff=1024,
        dropout=dropout,
        tied_output=True,
        max_source=128,
        max_target=128,
        **vocabulary_sizes(source, target),
    )


def tutorial6_model(source: Codec, target: Codec) -> ModelConfig:
    """bentrevett's sixth tutorial at half size: post-norm, learned positions, no tied weights."""
    return tutorial(
        "tutorial6",
        encoder_layers=3,
        decoder_layers=3,
        d_model=128,
        n_heads=8,
        d_ff=256,
        dropout=0.15,
        attention_dropout=True,
        max_source=100,
        max_target=100,
        **vocabulary_sizes(source, target),
    )


TUTORIAL6_SPECIALS = {"unk": "<unk>", "bos": "<BOS>", "eos": "<EOS>", "pad": "<PAD>"}
SLIPS_LENGTH = 30
SLIPS_SPECIALS = {"bos": "<START>", "pad": "<PADDING>", "unk": "<UNKNOWN>", "eos": "<END>"}


def slips_codecs(tokenizers: Tokenizers, pairs: Sequence[Pair]) -> tuple[Codec, Codec]:
    """The notebook's ids: start and padding token first, end token last, no start token on the source.

    The notebook drops sentences with unknown words; here an unknown token allows any text.
    """
    codecs = []
    for codec in word_codecs(tokenizers, pairs, specials=SLIPS_SPECIALS, source_ends=(False, True)):
        words = [token for token in codec.vocabulary.tokens if token != SLIPS_SPECIALS["eos"]]
        codecs.append(replace(codec, vocabulary=Vocabulary((*words, SLIPS_SPECIALS["eos"]), SLIPS_SPECIALS)))
    return codecs[0], codecs[1]


def slips_model(source: Codec, target: Codec) -> ModelConfig:
    """The notebook's architecture with all its bugs, smaller and for shorter texts."""
    return tutorial(
        "en-it",
        encoder_layers=2,
        decoder_layers=2,
        d_model=128,
        n_heads=8,
        d_ff=512,
        pad_to=SLIPS_LENGTH,
        **vocabulary_sizes(source, target),
    )


def _multi30k(name: str) -> Split:
    return Split(file=f"multi30k-de-en/{name}.tsv.gz")


def _measures(split: str, *others: str) -> tuple[Measure, ...]:
    """Measures with beam search, greedy, and with another BLEU; other Multi30k files with beam search."""
    usual = (Measure(split=split, beam=4), Measure(split=split), Measure(split=split, beam=4, bleu="13a"))
    return (*usual, *(Measure(split=other, data=_multi30k(other).file, beam=4) for other in others))


_MULTI30K: dict[str, Any] = {
    "train": (_multi30k("train"),),
    "validation": _multi30k("val"),
    "test": _multi30k("test_2016_flickr"),
    "tokenizers": (SpacyWords("de", lower=True), SpacyWords("en", lower=True)),
    "bleu": "tokens",
    "examples": 20,
    "data_name": "Multi30k task 1, German to English (github.com/multi30k/dataset, commit a3d2e0d), image captions",
    "data_licence": "not stated; derived from Flickr30K, for researchers and educators: non-commercial use",
    "weights_terms": "for non-commercial research and education, as the data are; attribution: Multi30k, Flickr30K",
}
_TATOEBA: dict[str, Any] = {
    "train": (Split(file="tatoeba-en-it/train.tsv.gz"), Split(file="tatoeba-en-it/train_pivot.tsv.gz")),
    "validation": Split(file="tatoeba-en-it/val.tsv.gz"),
    "test": Split(file="tatoeba-en-it/test.tsv.gz"),
    "tokenizers": (SpacyWords("en", lower=True), SpacyWords("it", lower=True)),
    "bleu": "tokens",
    "examples": 20,
    "data_name": "Tatoeba English to Italian (github.com/Helsinki-NLP/OPUS-MT-testsets, commit ac0f19c; tatoeba.org)",
    "data_licence": "CC BY 2.0 FR (Tatoeba contributors)",
    "weights_terms": "CC BY 2.0 FR: attribute 'Tatoeba contributors, tatoeba.org'",
}

TASKS = (
    PairTask(
        name="multi30k-de-en",
        title="German image captions to English, trained for quality",
        does="reads a German image caption and writes it in English",
        language="de",
        codecs=word_codecs,
        model=partial(clean_model, dropout=0.25),
        plan=Plan(epochs=18, batch_tokens=2500, peak_rate=1.2e-3, warmup=1000, precision="bf16-mixed", row_every=200),
        measures=_measures("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr"),
        notes=("Words that occur once in the training captions are unknown to the model.",),
        **_MULTI30K,
    ),
    PairTask(
        name="multi30k-tutorial6",
        title="German image captions to English, with a tutorial’s settings",
        does="reads a German image caption and writes it in English",
        language="de",
        codecs=partial(word_codecs, specials=TUTORIAL6_SPECIALS),
        model=tutorial6_model,
        plan=Plan(epochs=36, batch_tokens=2500, peak_rate=1.5e-3, warmup=1000, precision="bf16-mixed", row_every=400),
        measures=_measures("test_2016_flickr"),
        notes=(
            "Post-norm without a final norm, learned positions, embeddings that are not scaled: as the tutorial has.",
            "Words that occur once in the training captions are unknown to the model.",
        ),
        **_MULTI30K,
    ),
    PairTask(
        name="tatoeba-en-it",
        title="Everyday English to Italian",
        does="reads an English sentence and writes it in Italian",
        language="en",
        codecs=partial(word_codecs, min_counts=(2, 1)),
        model=partial(clean_model, dropout=0.3),
        plan=Plan(
            epochs=24, batch_tokens=2500, peak_rate=1.2e-3, warmup=150, averaging=0.998, best_by="exact", row_every=400
        ),
        measures=(
            Measure(split="test", beam=4),
            Measure(split="test"),
            Measure(split="test, all references", beam=4, group=True),
            Measure(split="test", beam=4, bleu="13a"),
        ),
        notes=(
            "One English sentence often has several right translations; 'all references' counts each of them.",
            "English words that occur once in the training sentences are unknown to the model. Italian ones are not:"
            " with those left out, a third of the answers had an unknown word in it.",
            "Learnt in three parts, each from the weights of the one before: 24 epochs, then 1,000 and 2,000 steps with"
            " an average of the weights. The history is that of the last part.",
        ),
        **_TATOEBA,
    ),
    PairTask(
        name="en-it-slips",
        title="English to Italian, with a notebook’s bugs left in",
        does="reads an English sentence and writes it in Italian, with a notebook’s bugs left in",
        language="en",
        broken="Broken on purpose: in training its decoder read the answer that it was to write, so by itself it writes"
        " next to nothing right, and its BLEU is 0.0. tatoeba-en-it is the same translation without the bugs.",
        codecs=slips_codecs,
        model=slips_model,
        plan=Plan(epochs=10, batch_tokens=3600, peak_rate=4e-4, warmup=400, smoothing=0.0, row_every=200),
        measures=(Measure(split="test"),),
        notes=(
            "Every slip of the tutorial's code is in this model. It was trained as that would be: the decoder reads the"
            " whole target, its end token included, and later tokens reach earlier rows.",
            "The losses of its history were measured in the same way. The metrics are measured as for every model:"
            " without the end token in what is read (loss, token accuracy), and on what it writes by itself (BLEU,"
            " exact match). Compare with tatoeba-en-it.",
        ),
        **_TATOEBA,
    ),
)
