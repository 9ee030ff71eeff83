"""Numbers in digits to English words: the task of the UPC lab."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from viz_transformer.measuring.data import Pair, Split, Tokenizers
from viz_transformer.measuring.spoken_numbers import LONGEST, MAX_DECIMALS, NOTATIONS
from viz_transformer.model.config import ModelConfig
from viz_transformer.text.codec import Codec
from viz_transformer.text.notation import Numbers, TypedNumbers
from viz_transformer.text.tokenizers import Characters, numbers_target_tokenizer
from viz_transformer.text.vocabulary import SPECIALS, Vocabulary
from viz_transformer.train.tasks.task import Measure, PairTask, Plan, vocabulary_sizes

NUMBERS_SOURCE = tuple("<s> </s> <unk> <pad> 0 , . 1 2 4 6 8 3 5 7 9 -".split())
NUMBERS_TARGET = tuple(
    "<s> </s> <unk> <pad> and hundred - , thousand point one two four eight minus six five three million seven nine"
    " twenty forty thirty sixty fifty eighty seventy billion ninety zero twelve sixteen ten eleven thirteen fourteen"
    " fifteen eighteen seventeen nineteen".split()
)

ANY_SOURCE = (*SPECIALS.values(), *"0123456789,.+-\N{MINUS SIGN}")
ANY_TARGET = (*SPECIALS.values(), *NUMBERS_TARGET[4:], "trillion")


def numbers_codecs(
    tokenizers: Tokenizers,
    pairs: Sequence[Pair],
    *,
    symbols: Sequence[str] = NUMBERS_SOURCE,
    words: Sequence[str] = NUMBERS_TARGET,
) -> tuple[Codec, Codec]:
    """Codecs, characters -> words, with the generator's vocabularies by default."""
    source, target = tokenizers
    return Codec(source, Vocabulary(symbols, SPECIALS)), Codec(target, Vocabulary(words, SPECIALS))


def _numbers_model(source: Codec, target: Codec, *, dropout: float, **sizes: Any) -> ModelConfig:
    return ModelConfig(dropout=dropout, max_source=48, max_target=64, **vocabulary_sizes(source, target), **sizes)


_NUMBERS: dict[str, Any] = {
    "train": (Split(file="numbers/train_full.tsv.gz"),),
    "validation": Split(file="numbers/dev.tsv.gz"),
    "test": Split(file="numbers/test_full.tsv.gz", limit=2000),
    "tokenizers": (Characters(), numbers_target_tokenizer()),
    "measures": (Measure(split="test_full, first 2,000"),),
    "codecs": numbers_codecs,
    "notation": Numbers(decimals=2, largest=190_446_829_568),
    "data_name": "seq2seq-numbers-dataset (github.com/gegallego/seq2seq-numbers-dataset, commit 2a6a313)",
    "data_licence": "MIT",
    "weights_terms": "MIT",
    "notes": (
        "Numbers between -1 and 0 lose their sign in the data (-0.28 is 'zero point two eight'), and the model learns"
        " that.",
        "Trailing zeros of the decimals are not spoken (.30 is 'point three').",
    ),
}

TASKS = (
    PairTask(
        name="numbers",
        title="Numbers such as 29,284.30 to English words",
        does="reads a number and writes it in English words",
        model=partial(
            _numbers_model, dropout=0.1, encoder_layers=3, decoder_layers=3, d_model=256, n_heads=4, d_ff=1024
        ),
        plan=Plan(epochs=6, batch_tokens=4000, peak_rate=1e-3, warmup=600, precision="bf16-mixed", smoothing=0.05),
        **_NUMBERS,
    ),
    PairTask(
        name="numbers-tiny",
        title="Numbers to English words, small enough to watch it learn",
        does="reads a number and writes it in English words",
        model=partial(_numbers_model, dropout=0.0, encoder_layers=2, decoder_layers=2, d_model=64, n_heads=4, d_ff=256),
        plan=Plan(
            epochs=5,
            batch_tokens=4000,
            peak_rate=3e-3,
            warmup=300,
            smoothing=0.0,
            first_rows=(0, 1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 500),
            row_every=250,
            save_every=500,
            snapshots=(0, 1, 2, 5, 10, 20, 50, 100, 200, 350, 500, 750, 1000, 1500, 2000, 3000, 4000),
        ),
        **_NUMBERS,
    ),
    PairTask(
        name="numbers-any",
        title="Numbers in any usual notation to English words",
        does="reads a number and writes it in English words",
        model=partial(_numbers_model, dropout=0.0, encoder_layers=3, decoder_layers=2, d_model=64, n_heads=4, d_ff=256),
        plan=Plan(
            epochs=3,
            batch_tokens=4000,
            peak_rate=3e-3,
            warmup=300,
            smoothing=0.0,
            best_by="exact",
            optimizer="muon-float32",
            sample=1024,
            first_rows=(0, 1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 500),
            row_every=250,
            save_every=500,
            snapshots=(0, 1, 2, 5, 10, 20, 50, 100, 200, 350, 500, 1000, 1500, 2000, 3000, 6000),
        ),
        train=(Split(file="generated:numbers-any/train", limit=600_000),),
        validation=Split(file="generated:numbers-any/validation", limit=4096),
        test=Split(file="generated:numbers-any/test", limit=24_000),
        tokenizers=(Characters(), numbers_target_tokenizer()),
        codecs=partial(numbers_codecs, symbols=ANY_SOURCE, words=ANY_TARGET),
        notation=TypedNumbers(digits=LONGEST, decimals=MAX_DECIMALS),
        measures=(
            Measure(split="24,000 held-out numbers, 2,000 of each of 12 notations"),
            *(
                Measure(
                    split=f"{notation}, 2,000 held-out numbers",
                    data=f"generated:numbers-any/test/{notation}",
                    limit=2000,
                )
                for notation in NOTATIONS
            ),
            *(
                Measure(
                    split=f"{notation}, all from 0 to 9,999",
                    data=f"generated:numbers-any/to-9999/{notation}",
                    limit=10_000,
                )
                for notation in ("whole", "whole-grouped")
            ),
        ),
        data_name="made by the task with num2words",
        data_licence="CC0",
        weights_terms="CC0",
        notes=(
            "Trained on 50,000 numbers of each notation: " + ", ".join(NOTATIONS) + ".",
            "Of the numbers with more than four digits one in twenty is for test and one for validation, in whatever"
            " notation; none of these is trained on. Shorter ones may be.",
            "A minus is always spoken, zeros at the end of the decimals never.",
        ),
    ),
)
