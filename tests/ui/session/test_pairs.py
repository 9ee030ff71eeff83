"""Runs that are offered beside the selected one: each can be made, and none is about another model."""

from functools import cache

import pytest
from wording import wording

from viz_transformer.checkpoint import load
from viz_transformer.checkpoint.contents import list_checkpoints
from viz_transformer.running.decoding import decode
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.pairs import pairs
from viz_transformer.ui.session.runs import RunView

SUMMARIES = list_checkpoints()
NAMES = {summary.name for summary in SUMMARIES}


@cache
def loaded(name):
    return load(name)


def offered(name, text, summaries=SUMMARIES, how=None):
    ckpt = loaded(name)
    summary = next(each for each in SUMMARIES if each.name == name)
    given = {} if how is None else {"how": how}
    return pairs(RunView("A", summary, text, ckpt, decode(ckpt, text), **given), summaries)


def models_of(found):
    return [pair.fields["pin_checkpoint"] for pair in found if pair.key.startswith("model_")]


@pytest.mark.parametrize(
    ("name", "text", "others"),
    [
        ("numbers-any", "29,284.30", ["numbers", "numbers-tiny"]),
        ("numbers-tiny", "0.07", ["numbers", "numbers-any"]),
        ("taylor-2terms", "tanh(a*x)", ["taylor"]),
        ("copy", "hello", []),
        ("shakespeare", "ROMEO:", []),
    ],
)
def test_other_models_that_read_this_text_are_offered(name, text, others):
    found = offered(name, text)
    assert set(models_of(found)) == set(others)
    for pair in found:
        if pair.key.startswith("model_"):
            assert pair.label == wording("the_same_text_in_another_model", pair.fields["pin_checkpoint"])
            assert pair.fields["pin_text"] == text and pair.fields["shown"] == "A|B"


def test_a_model_that_reads_german_is_offered_beside_one_that_does():
    assert models_of(offered("multi30k-de-en", "ein mann liest")) == ["multi30k-tutorial6"]


def test_a_text_that_is_too_long_for_a_model_is_not_offered_in_it():
    long = "tanh(a*x)**2-sinh(f*x)*cos(b*x)"
    assert models_of(offered("taylor", "exp(a*x)")) == ["taylor-2terms"]
    assert models_of(offered("taylor", long)) == []  # 22 tokens at most


def test_no_line_is_about_another_model():
    for name, text in (("numbers-any", "42"), ("taylor", "sin(a*x)"), ("tatoeba-en-it", "the cat"), ("copy", "hello")):
        for pair in offered(name, text):
            own = f"{name} {pair.fields['pin_checkpoint'] if pair.fields else ''}"
            strange = [each for each in NAMES if each in f"{pair.label} {pair.why}".split() and each not in own.split()]
            assert not strange, (name, pair)
            assert "bugs" not in pair.label or name == "tatoeba-en-it"


def test_the_model_with_the_bugs_is_offered_once_beside_the_one_without():
    found = offered("tatoeba-en-it", "the cat")
    assert [pair.label for pair in found if "en-it-slips" in pair.label] == [
        wording("with_a_notebooks_bugs_left_in", "en-it-slips")
    ]
    alone = [each for each in SUMMARIES if each.name != "en-it-slips"]
    assert not [pair for pair in offered("tatoeba-en-it", "the cat", alone) if "en-it-slips" in pair.label + pair.why]


def test_the_reversed_text_is_quoted():
    assert wording("with_the_text_reversed", "24") in [pair.label for pair in offered("numbers-any", "42")]


def test_tokens_that_are_banned_here_are_not_banned_in_another_vocabulary():
    found = offered("numbers-any", "42", how=GenerationConfig(ban=("nine",)))
    assert all(pair.fields["pin_how"] is None for pair in found if pair.key.startswith("model_"))
    (reverse,) = [pair for pair in found if pair.key == "order"]
    assert reverse.fields["pin_how"].ban == ("nine",)
