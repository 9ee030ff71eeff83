"""A measurement in one line: the best known of its numbers, how it was made, and what it was made on."""

from __future__ import annotations

import pytest

from viz_transformer.checkpoint import describe
from viz_transformer.model.config import ModelConfig, tutorial

NOTHING = dict.fromkeys(
    "exact_match exact_match_low exact_match_high exact_match_unseen token_accuracy loss perplexity bleu"
    " bleu_signature chrf sentences_per_second".split()
)
SIGNATURE = "nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:2.5.1"
MATCHES = {"exact_match": 0.25, "exact_match_low": 0.2, "exact_match_high": 0.3, "loss": 1.5, "perplexity": 4.48}


def test_bleu_comes_first_with_its_tokenizer_and_the_beam():
    entry = {"split": "test", "command": "viz-transformer evaluate x --beam 4", "pairs": 1000, **NOTHING, **MATCHES}
    entry |= {"bleu": 40.96, "bleu_signature": SIGNATURE, "chrf": 61.04}
    assert describe.metric(entry) == (
        "BLEU 41.0 (tok:none), chrF 61.0, exact match 25.00% (20.00% to 30.00%), beam 4, 1,000 pairs, test"
    )


def test_exact_matches_come_with_equal_expressions_and_unseen_sources():
    entry = {"split": "dev", "pairs": 593, **NOTHING, **MATCHES, "equivalent": 0.5, "exact_match_unseen": 0.125}
    assert describe.metric(entry) == (
        "exact match 25.00% (20.00% to 30.00%), 50.00% equal as expressions, 12.50% of sources not trained on,"
        " 593 pairs, dev"
    )


def test_the_loss_is_said_only_where_there_is_nothing_else():
    entry = {"split": "val", "pairs": 872, **NOTHING, "loss": 1.52346, "perplexity": 4.588}
    assert describe.metric(entry) == "loss 1.5235 nats per token, perplexity 4.59, 872 windows, val"
    assert "loss" not in describe.metric(entry | {"exact_match": 0.5})


def test_the_examples_behind_the_curves_are_those_that_the_card_states():
    card = {"losses_on": {"train": "512 of 29,000 pairs", "validation": "512 of 1,014 pairs"}}
    assert describe.loss_on(card, "validation") == "512 of 1,014 pairs"
    assert describe.losses_on(card) == "training loss on 512 of 29,000 pairs, validation loss on 512 of 1,014 pairs"
    for strange in (None, 512, {"validation": 512}, [1]):
        assert describe.losses_on({"losses_on": strange}) == ""
    assert len(describe.loss_on({"losses_on": {"train": "x" * 9999}}, "train")) == 100


ALL_PAIRS = {"split": "test, all 50 pairs", "pairs": 50, **NOTHING, **MATCHES, "exact_match": 0.125, "too_long": 1850}


def test_pairs_that_are_too_long_are_said_to_count_as_wrong():
    assert describe.metric(ALL_PAIRS) == (
        "exact match 12.50% (20.00% to 30.00%), 1,850 too long counted as wrong, test, all 50 pairs"
    )


def test_what_the_first_measurement_leaves_out_is_known_from_the_one_that_counts_it():
    first = {"split": "test", "pairs": 30, **NOTHING, **MATCHES}
    card = {"metrics": [first, first | {"too_long": 0}, ALL_PAIRS | {"too_long": 20}]}
    assert describe.with_too_long(card) == ALL_PAIRS | {"too_long": 20}
    assert describe.count_left_out(card) == "20 of 50 pairs, too long"


@pytest.mark.parametrize(
    "metrics", [None, [], [ALL_PAIRS], [{}, {"too_long": 3}], [{}, ALL_PAIRS | {"pairs": "50"}], [{}, NOTHING]]
)
def test_nothing_is_said_to_be_left_out_where_no_measurement_counts_it(metrics: object):
    assert describe.with_too_long({"metrics": metrics}) is None and describe.count_left_out({"metrics": metrics}) == ""


def test_a_count_is_not_said_twice():
    assert describe.count_texts({"pairs": 1000, "split": "1,000 strings"}) == ""
    assert describe.count_texts({"pairs": 593, "split": "test, 593 pairs"}) == ""
    assert describe.count_texts({"pairs": 2000, "split": "test_full, first 2,000"}) == "2,000 pairs"


@pytest.mark.parametrize(
    ("command", "width"),
    [
        ("viz-transformer evaluate x --beam 4", 4),
        ("viz-transformer evaluate x --beam=10 --limit 3", 10),
        ("viz-transformer evaluate x --limit 4", None),
        ("viz-transformer evaluate --beamer 4", None),
        ("viz-transformer evaluate x --beam four", None),
        (None, None),
    ],
)
def test_the_beam_is_that_of_the_command(command: str | None, width: int | None):
    assert describe.beam({"command": command}) == width
    assert ("beam" in describe.metric({"command": command, "exact_match": 0.5})) == (width is not None)


@pytest.mark.parametrize(
    ("signature", "name"), [(SIGNATURE, "tok:none"), ("tok:13a", "tok:13a"), (None, None), (3, None)]
)
def test_the_tokenizer_is_that_of_the_signature(signature: object, name: str | None):
    assert describe.bleu_tokenizer({"bleu_signature": signature}) == name


@pytest.mark.parametrize("value", ["40", None, True, float("nan"), [1.0]])
def test_what_is_no_number_is_not_measured(value: object):
    assert describe.read_measurement({"bleu": value}, "bleu") is None
    assert describe.metric({"bleu": value, "exact_match": value, "loss": value, "pairs": value}) == "split not stated"


def test_unusual_settings_are_named_with_their_values():
    assert (
        describe.unusual_settings(ModelConfig(target_vocab_size=3, decoder_layers=1, d_model=4, n_heads=1, d_ff=4))
        == []
    )
    slips = tutorial("en-it", source_vocab_size=9, target_vocab_size=9, pad_to=30)
    assert dict(describe.unusual_settings(slips)) == {
        "norm kind": "positions-and-features",
        "embedding scale": "one",
        "merge": "raw-reshape",
        "mask fill": "added-1e9",
        "padding mask": "key-or-query-swapped-cross",
        "pad to": "30",
    }
    assert "merge raw-reshape" in describe.unusual(slips)
