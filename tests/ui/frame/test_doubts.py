from types import SimpleNamespace

import pytest

from viz_transformer.checkpoint import load
from viz_transformer.checkpoint.contents import bundled_folder
from viz_transformer.running.decoding import decode
from viz_transformer.text.notation import Expressions, Letters, Numbers, TypedNumbers
from viz_transformer.ui.frame import doubts
from viz_transformer.ui.frame.doubts import language_doubt, length_doubt, notation_doubt, unknown_doubt
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.judging import judgement, judgement_of_all

TYPED = TypedNumbers(digits=15, decimals=6)
LAB = Numbers(decimals=2, largest=190_446_829_568)
TAYLOR = Expressions(functions=("exp", "sin", "tan"), symbols="abc", largest=6, plain=True)
LETTERS = Letters(letters="abcdefghijklmnopqrstuvwxyz", longest=20)


@pytest.mark.parametrize(
    ("notation", "text", "reason", "tries"),
    [
        (TYPED, "12.5%", "“%” was never in the training numbers", ("12.5",)),
        (TYPED, "1e9", "“e” was never in the training numbers", ("1000000000",)),
        (TYPED, "3/4", "“/” was never in the training numbers", ("0.75",)),
        (TYPED, "$5", "“$” was never in the training numbers", ("5",)),
        (TYPED, "10:30", "“:” was never in the training numbers", ()),
        (TYPED, "MCMLXXXIV", "“MCMLXXXIV” was never in the training numbers", ("1984",)),
        (TYPED, "<b>1</b>", "“<”, “b”, “>” and 1 more were never in the training numbers", ()),
        (TYPED, "1.2.3", "no training number was written like this", ()),
        (TYPED, "9" * 16, "this model learned numbers of at most 15 digits before the point", ()),
        (LAB, "12.5%", "“%” was never in the training numbers", ("12.50",)),
        (LAB, "1984", "this model learned it as 1,984.00", ("1,984.00",)),
        (LAB, "1" * 13, "the numbers that this model learned go up to 190,446,829,568", ("1,111,111,111,111.00",)),
        (TAYLOR, "tan x", "this model learned it as tan(x)", ("tan(x)",)),
        (TAYLOR, "e^x", "this model learned it as exp(x)", ("exp(x)",)),
        (TAYLOR, "log(y)", "“log” and “y” were never in the training expressions", ()),
        (LETTERS, "Hello", "this model learned it as hello", ("hello",)),
        (LETTERS, "a b1", "“␣” and “1” were never in the training strings", ()),
        (LETTERS, "a" * 24, "this model learned strings of at most 20 characters; this one has 24", ()),
    ],
)
def test_what_a_notation_does_not_have_is_a_reason_and_what_is_meant_can_be_tried(notation, text, reason, tries):
    found = notation_doubt(notation, text)
    plain = found.reason.replace("\u2068", "").replace("\u2069", "")
    assert (plain, found.tries) == (reason, tries)
    assert all(each == text or notation.read(each).inside or found.reason[:3] == "the" for each in tries)


@pytest.mark.parametrize("notation", [TYPED, LAB, TAYLOR, LETTERS])
def test_no_reason_is_given_for_an_empty_text_or_one_as_in_training(notation):
    text = {TYPED: "29,284.30", LAB: "29,284.30", TAYLOR: "exp(x)*sin(a*x)", LETTERS: "hello"}[notation]
    assert notation_doubt(notation, text) is notation_doubt(notation, "") is None


def test_another_language_is_named_where_common_words_and_unknown_words_agree():
    text = "The dog is sleeping under the table."
    unknown = [("<unk>", word) for word in ("the", "is", "sleeping")]
    found = language_doubt({"language": "de"}, text, unknown)
    assert found.reason == "this model reads German, and this looks like English"
    assert found.language == "en" and found.tries == ()
    assert language_doubt({"language": "en"}, text, unknown) is None
    assert language_doubt({"language": "de"}, text, unknown[:1]) is None  # the model knows the others
    for card in ({}, {"language": 3}, {"language": "tlh"}):
        assert language_doubt(card, text, unknown) is None


def test_unknown_words_are_named_as_text():
    assert unknown_doubt([]) is None
    one = unknown_doubt([("<unk>", "<b>"), ("<unk>", "<b>")]).reason
    assert (
        one.replace("\u2068", "").replace("\u2069", "") == "“<b>” is unknown to this model, which reads <unk> instead"
    )
    many = unknown_doubt([("<unk>", str(each)) for each in range(5)]).reason
    assert "and 2 more are unknown" in many


def test_a_text_is_too_long_only_beyond_the_longest_of_training():
    assert length_doubt(30, 29).reason == "the text has 30 tokens, and the longest in training had 29"
    assert length_doubt(29, 29) is length_doubt(30, 0) is None


def shown(name, text, *, target=None):
    ckpt = load(bundled_folder() / name)
    run = decode(ckpt, text)
    return SimpleNamespace(ckpt=ckpt, run=run, text=text, target=target, recorded=False)


def test_right_answers_are_marked_right_and_nothing_is_said_against_them():
    for name, text in (("numbers-any", "29,284.30"), ("copy", "hello")):
        found = judgement(shown(name, text))
        assert (found.sentence, found.ways, found.notes) == ("", (), ())
        assert found.mark.kind == "right" and found.mark.said.startswith("Right: ")


def test_an_answer_to_what_was_never_in_training_is_doubtful_and_says_so_first():
    found = judgement(shown("numbers-any", "12.5%"))
    assert found.sentence.startswith("Not to be trusted: ") and found.tone == "warning"
    assert found.ways == (("Try 12.5", {"text": "12.5"}),)
    assert found.mark.kind == "doubtful" and found.mark.said == found.sentence
    assert found.notes == ("Not checked: “12.5%” is not a number in digits.",)  # unknown tokens are not said twice


def test_a_wrong_answer_says_what_it_should_be():
    found = judgement(shown("numbers", "-0.28"))  # the data lose this sign
    assert found.sentence == "Wrong: it should be “minus zero point two eight”."
    assert (found.tone, found.mark.kind, found.ways) == ("bad", "wrong", ())
    found = judgement(shown("numbers", "1984"))
    assert found.sentence.startswith("Wrong: it should be “one thousand, nine hundred and eighty-four”. This model")
    assert found.ways == (("Try 1,984.00", {"text": "1,984.00"}),)


def test_of_two_answers_only_what_is_wrong_with_one_is_said_and_of_which():
    right, wrong = shown("numbers", "-79.42"), shown("numbers", "-0.28")
    of_one = judgement(wrong).sentence.removeprefix("W")
    for a, b, said in ((right, wrong, f"B is w{of_one}"), (wrong, right, f"A is w{of_one}"), (right, right, "")):
        found = judgement_of_all(Runs(a, b, "A|B"))
        assert (found.sentence, found.tone) == (said, "bad" if said else "warning")
    assert judgement_of_all(Runs(wrong, right, "A-B")).sentence == f"A is w{of_one}"
    assert judgement_of_all(Runs(wrong, right, "B")) == judgement(right)


def test_a_text_in_another_language_is_offered_to_a_model_that_reads_it():
    found = judgement(shown("multi30k-de-en", "The dog is sleeping under the table."))
    assert found.sentence.startswith("Not to be trusted: this model reads German, and this looks like English")
    assert [(label.split()[0], [*fields]) for label, fields in found.ways] == [("Open", ["checkpoint"])]
    assert any("unknown to this model" in note for note in found.notes)


def test_an_answer_that_was_given_is_not_judged():
    found = judgement(shown("numbers-any", "12.5%", target="twelve"))
    assert (found.sentence, found.mark, found.ways) == ("", None, ())
    assert "not in the vocabulary" in found.notes[0]


def test_a_long_text_to_try_has_a_short_label():
    ((label, fields),) = doubts.notation_ways(SimpleNamespace(card={"notation": LETTERS.settings()}), "ABC" * 20)
    assert label == "Try it as the model learned it" and fields == {"text": "abc" * 20}
    assert doubts.notation_ways(SimpleNamespace(card={"notation": 3}), "x") == ()
