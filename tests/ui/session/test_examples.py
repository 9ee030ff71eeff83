from pathlib import Path

import pytest
from builders import tiny_config

from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.measuring.data import COPY_LONGEST, COPY_SYMBOLS
from viz_transformer.train.tasks import TASKS
from viz_transformer.train.tasks.taylor import EXPRESSIONS, TWO_TERMS_LONGEST
from viz_transformer.ui.session import examples


@pytest.mark.parametrize(
    ("value", "text"),
    [(29284.3, "29,284.30"), (-79.4, "-79.40"), (-100000.0, "-100,000.00"), (0.30000000000000004, "0.30")],
)
def test_the_slider_writes_numbers_as_the_data_do(value, text):
    assert examples.number_text(value) == text
    assert examples.number_of(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        (" 1984", 1984),
        ("3.14159", 3.14159),
        (".5", 0.5),
        ("+7", 7),
        ("007", 7),
        ("\N{MINUS SIGN}0.5", -0.5),
    ],
)
def test_the_slider_follows_a_number_in_any_usual_notation(text, value):
    assert examples.number_of(text) == value


def test_there_is_no_negative_zero():
    assert examples.number_text(-0.0) == examples.number_text(-0.04) == "0.00"


@pytest.mark.parametrize(
    "text",
    ["", "abc", "1e5", "nan", "100,000.01", "1,00.00", ".", "1.", "0.0000001", "190,089,265,152.00", "١٢", "--1"],
)
def test_the_slider_does_not_follow_what_it_cannot_reach(text):
    assert examples.number_of(text) is None


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_few_different_examples_and_says_what_to_type(task):
    texts = examples.examples(task)
    assert 4 <= len(set(texts)) == len(texts) <= 5
    assert examples.label(task) != examples.label("something") == "A text"
    assert examples.takes_numbers(task) == task.startswith("numbers")


def test_a_task_whose_name_only_begins_alike_is_another_one():
    assert examples.examples("copyright") == examples.examples("en") == ()
    assert examples.examples("en-it-slips") == examples.examples("tatoeba-en-it")
    assert examples.examples("multi30k-de-en") == examples.examples("multi30k-tutorial6")


def test_expressions_are_short_enough_and_in_letters_that_the_smaller_model_knows():
    for text in examples.examples("taylor-2terms"):
        tokens = EXPRESSIONS.tokenize(text)
        assert len(tokens) <= TWO_TERMS_LONGEST[0]
        assert {token for token in tokens if len(token) == 1 and token.isalpha()} <= set("abcdfgx")


def test_strings_to_copy_have_all_letters_reach_the_longest_of_the_training_and_go_beyond():
    texts = examples.examples("copy")
    assert set("".join(texts)) == set(COPY_SYMBOLS)
    assert COPY_LONGEST in map(len, texts)
    assert max(map(len, texts)) == COPY_LONGEST + 4


def summary(path: Path, task: object = None) -> Summary:
    return Summary("x", path, tiny_config(), {"source": None, "target": None}, {"task": task})


def own(path: Path, *sources: str) -> tuple[str, ...]:
    path.joinpath("examples.tsv").write_text("".join(f"{source}\tt\n" for source in sources), encoding="utf-8")
    return examples.list_examples(summary(path, "unheard of"))


def test_an_unknown_task_has_the_first_short_sources_of_its_own_pairs(tmp_path):
    assert own(tmp_path, "b", "x" * 61, "a", "", " ", "b", "x" * 60, "c", "d", "e") == ("b", "a", "x" * 60, "c", "d")


def test_where_no_source_is_short_the_first_one_is_offered(tmp_path):
    assert own(tmp_path, "x" * 80, "x" * 70) == ("x" * 80,)


def test_a_known_task_has_its_own_texts_whatever_the_pairs_are(tmp_path):
    tmp_path.joinpath("examples.tsv").write_text("b\tc\n", encoding="utf-8")
    assert examples.list_examples(summary(tmp_path, "copy")) == examples.examples("copy")


def test_nothing_is_offered_where_there_is_nothing_or_it_cannot_be_read(tmp_path):
    assert examples.list_examples(summary(tmp_path)) == ()
    tmp_path.joinpath("examples.tsv").write_bytes(b"no tab\xff\n")
    assert examples.list_examples(summary(tmp_path)) == ()
    assert examples.list_examples(Unreadable("x", tmp_path, "config.json is missing")) == ()


def test_all_sizes_of_a_task_have_its_examples_and_others_have_none():
    assert examples.examples("numbers-tiny") == examples.examples("numbers")
    assert {"29,284.30", "-79.42", "1,000,000.00", "0.07"} < set(examples.examples("numbers"))
    assert len(examples.examples("numbers")) == 5
    assert examples.examples(None) == examples.examples("something") == ()
