"""The data card says what the card states and that it does not state the rest."""

import re

import pytest
from builders import tiny_config
from wording import wording

from viz_transformer.checkpoint import Summary, describe, list_checkpoints, load
from viz_transformer.model.causality import is_causal
from viz_transformer.ui.pages.models.card_rows import data_rows, measurements, share

CONFIG = tiny_config()
CARD = {
    "data": "numbers",
    "data_licence": "MIT",
    "evaluation": {"split": "test_full, first 2,000", "data": "numbers/test_full.tsv.gz", "seen": "numbers/train.gz"},
    "overlap": {
        "test_pairs": 2000,
        "with_source_in_train": 395,
        "all_test_pairs": 30_000,
        "all_with_source_in_train": 5731,
        "others": [{"split": "test_2018", "test_pairs": 1071, "with_source_in_train": 1}],
    },
    "metrics": [
        {
            "split": "test",
            "command": "evaluate x --beam 4",
            "pairs": 2000,
            "exact_match": 0.99,
            "exact_match_low": 0.984638,
            "exact_match_high": 0.993503,
            "loss": 0.0396832,
            "bleu": None,
            "sentences_per_second": 99.02,
        }
    ],
}


def test_overlap_is_counted_as_the_card_counts_it():
    rows = dict(data_rows(CARD, CONFIG))
    assert rows["overlap, test"] == wording("sources_that_stand_in_the_training_data", 395, "2,000", "19.75")
    assert rows[wording("overlap_of_the_whole_test_file")] == wording(
        "sources_that_stand_in_the_training_data", "5,731", "30,000", "19.10"
    )
    assert rows["overlap, test_2018"] == wording("sources_that_stand_in_the_training_data", 1, "1,071", "0.09")
    assert rows["trained on"] == "numbers/train.gz"
    assert rows["tested on"] == "test_full, first 2,000, numbers/test_full.tsv.gz"
    assert rows["sizes"] == wording("test_pairs_train_and_validation_not_stated", "2,000")
    assert rows["source"] == wording("tokens_in_the_vocabulary_at_most_in_a_text", 12, 20)


def test_files_in_a_list_keep_their_limits():
    seen = [{"file": "a.gz"}, {"file": "b.gz", "limit": 20_000}]
    rows = dict(data_rows({"evaluation": {"seen": seen}}, CONFIG))
    assert rows["trained on"] == "a.gz and b.gz, the first 20,000"


def test_the_sizes_of_the_splits_are_those_of_the_card():
    sizes = {"train": 300, "validation": 40, "test": 20}
    assert dict(data_rows({"data_sizes": sizes}, CONFIG))["sizes"] == "train 300, validation 40, test 20 pairs"
    text = {"data_sizes": {"train": 1_003_854, "test": 111_540}, "evaluation": {"window": 128}}
    assert dict(data_rows(text, CONFIG))["sizes"] == "train 1,003,854, test 111,540 characters"


def test_a_text_in_windows_is_counted_in_windows():
    rows = dict(data_rows({"overlap": {"test_windows": 872, "with_text_in_train": 0}}, CONFIG))
    assert rows["overlap, test"] == wording("windows_that_stand_in_the_training_data", 0, 872, 0)


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"evaluation": "yes", "overlap": [1], "data": None},
        {"overlap": {"test_pairs": "many"}, "evaluation": {}, "data_sizes": {"train": True}},
    ],
)
def test_what_is_not_stated_is_said_to_be_missing(card):
    rows = dict(data_rows(card, CONFIG))
    assert {rows[name] for name in ("data", "licence", "trained on", "tested on", "sizes", "overlap")} == {"not stated"}


def test_pairs_that_the_test_leaves_out_are_counted_beside_it():
    with_them = {"split": "all", "pairs": 2300, "exact_match": 0.5, "too_long": 1852, "loss": None}
    card = {"metrics": [*CARD["metrics"], with_them]}
    assert dict(data_rows(card, CONFIG))[wording("left_out_of_the_test")] == "1,852 of 2,300 pairs, too long"
    assert wording("left_out_of_the_test") not in dict(data_rows(CARD, CONFIG))
    assert measurements(card)[1].numbers == (
        ("exact match", "50.00 %"),
        (wording("too_long_counted_as_wrong"), "1,852"),
    )


def test_the_examples_behind_the_curves_are_stated():
    card = {"losses_on": {"validation": "512 of 1,014 pairs"}}
    assert dict(data_rows(card, CONFIG))["curves"] == wording("validation_loss_on_of_pairs", 512, "1,014")
    assert dict(data_rows(CARD, CONFIG))["curves"] == "not stated"


def test_every_bundled_card_states_them():
    """All validation pairs, or so many of them, or windows of a text, as the plans of the tasks have it."""
    for summary in list_checkpoints():
        assert isinstance(summary, Summary)
        stated = describe.loss_on(summary.card, "validation")
        assert re.match(r"(1,024|512|256) (of|windows of) |all 4,600 pairs$", stated), summary.name


def test_every_bundled_card_states_whether_its_model_is_causal_as_it_is():
    for summary in list_checkpoints():
        assert isinstance(summary, Summary)
        assert summary.card["causal"] is is_causal(load(summary.path).model), summary.name


def test_a_measurement_has_all_numbers_that_apply():
    (found,) = measurements(CARD)
    assert (found.split, found.how, found.command) == ("test", "beam 4, 2,000 pairs", "evaluate x --beam 4")
    assert found.numbers == (
        ("exact match", "99.00 % (98.46 % to 99.35 %)"),
        ("loss, nats per token", "0.03968"),
        ("texts per second", "99.0"),
    )
    assert measurements({}) == ()


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 %"), (1, "100 %"), (0.99999, ">99.99 %"), (1e-6, "<0.01 %"), (0.1975, "19.75 %")]
)
def test_all_and_none_are_said_only_of_all_and_none(value, text):
    assert share(value) == text


@pytest.mark.parametrize(
    ("stated", "row"),
    [
        (
            {"kind": "numbers", "decimals": 2, "largest": 190_446_829_568},
            wording("numbers_written_as_up_to", "1,984.00", "190,446,829,568"),
        ),
        (
            {"kind": "typed-numbers", "digits": 15, "decimals": 6},
            wording("numbers_in_the_usual_english_notations_at_most", 15, 6),
        ),
        ({"kind": "letters", "letters": "abc", "longest": 20}, wording("to_of_the_letters_a_to_c", 1, 20)),
        (
            {"kind": "expressions", "functions": ["sin", "exp"], "symbols": "ab", "largest": 8, "plain": False},
            wording("expressions_of_x_with_sin_exp_the_constants", 8),
        ),
        ({"kind": "<b>"}, "the card's notation: kind='<b>' is not known; choose 'numbers' or 'typed-numbers' or"),
        (None, wording("the_cards_notation_is_none_it_has_to_be_an_object_with_a_kind")),
    ],
)
def test_a_notation_is_said_in_words(stated, row):
    assert dict(data_rows({"notation": stated}, CONFIG))["notation"].startswith(row)
    assert "notation" not in dict(data_rows({}, CONFIG))
