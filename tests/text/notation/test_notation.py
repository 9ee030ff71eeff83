"""What a card states, the bundled cards beside their tasks, and what hostile cards and texts get."""

import json
import time

import pytest

from viz_transformer.checkpoint.contents import bundled_folder, read_examples
from viz_transformer.text.notation import CARD_KEY, Expressions, Letters, Numbers, TypedNumbers, read_notation
from viz_transformer.train.tasks import TASKS

NUMBERS = {"kind": "numbers", "decimals": 2, "largest": 190_446_829_568}
TYPED = {"kind": "typed-numbers", "digits": 15, "decimals": 6}
LETTERS = {"kind": "letters", "letters": "abc", "longest": 20}
EXPRESSIONS = {"kind": "expressions", "functions": ["exp", "sin"], "symbols": "abc", "largest": 6, "plain": True}
ALL = (NUMBERS, TYPED, LETTERS, EXPRESSIONS)


@pytest.mark.parametrize(
    ("stated", "kind"), list(zip(ALL, (Numbers, TypedNumbers, Letters, Expressions), strict=True)), ids=str
)
def test_what_a_card_states_is_what_its_notation_writes_down(stated, kind):
    found = read_notation({CARD_KEY: stated})
    assert isinstance(found, kind)
    assert found.settings() == stated
    assert json.loads(json.dumps(stated)) == stated


def test_a_card_that_states_no_notation_has_none():
    assert read_notation({"task": "numbers"}) is None


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (None, "has to be an object"),
        ([1], "has to be an object"),
        ("x" * 100_000, "has to be an object"),
        ({}, "kind=None is not known"),
        ({"kind": ["numbers"]}, "kind=['numbers'] is not known"),
        (
            {"kind": "roman"},
            "choose 'numbers' or 'typed-numbers' or 'expressions' or 'letters'",
        ),
        ({"kind": "numbers"}, "'decimals' is missing"),
        (NUMBERS | {"base": 3}, "'base' is not known"),
        (NUMBERS | {"decimals": True}, "decimals=True"),
        (NUMBERS | {"decimals": 10**9}, "a whole number from 1 to 20"),
        (NUMBERS | {"largest": "9"}, "largest='9'"),
        (NUMBERS | {"largest": 1e9}, "largest=1000000000.0"),
        (TYPED | {"digits": -1}, "digits=-1"),
        (LETTERS | {"letters": ""}, "letters=''"),
        (LETTERS | {"letters": "aa"}, "letters='aa'"),
        (LETTERS | {"letters": "<b>"}, "different ones of abc"),
        (LETTERS | {"letters": ["a"]}, "letters=['a']"),
        (LETTERS | {"longest": 10**9}, "longest=1000000000"),
        (EXPRESSIONS | {"functions": []}, "functions=[]"),
        (EXPRESSIONS | {"functions": "sin"}, "functions='sin'"),
        (EXPRESSIONS | {"functions": ["sin", "sin"]}, "they have to be different"),
        (EXPRESSIONS | {"functions": ["sin", 3]}, "functions[1]=3 has to be a name of 2 to 10"),
        (EXPRESSIONS | {"functions": [["sin"]]}, "functions[0]=['sin'] has to be a name"),
        (EXPRESSIONS | {"functions": ["s" * 10**5]}, "has to be a name of 2 to 10 lower-case letters"),
        (EXPRESSIONS | {"functions": ["f"]}, "2 to 10 lower-case letters"),
        (EXPRESSIONS | {"symbols": "x"}, "symbols='x'"),
        (EXPRESSIONS | {"symbols": 3}, "symbols=3"),
        (EXPRESSIONS | {"plain": 1}, "plain=1"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_card_that_states_no_readable_notation_gets_one_short_sentence(stated, said):
    with pytest.raises(ValueError) as caught:
        read_notation({CARD_KEY: stated})
    assert said in str(caught.value)
    assert str(caught.value).startswith("the card's notation")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", sorted(name for name, task in TASKS.items() if task.notation is not None))
def test_the_bundled_card_states_what_its_task_would_write(name):
    folder = bundled_folder() / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not bundled")
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert card[CARD_KEY] == TASKS[name].notation.settings() == TASKS[name].card()[CARD_KEY]


def test_no_other_bundled_card_states_a_notation():
    for folder in sorted(bundled_folder().iterdir()):
        card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
        task = TASKS.get(card["task"])
        assert (CARD_KEY in card) == (task is not None and task.notation is not None), folder.name


@pytest.mark.parametrize("name", ["numbers", "numbers-tiny", "taylor", "taylor-2terms", "copy"])
def test_the_examples_of_a_model_are_written_in_its_notation(name):
    notation = TASKS[name].notation
    examples = read_examples(bundled_folder() / name)
    assert len(examples) == 200
    outside = [source for source, _ in examples if not notation.read(source).inside]
    assert outside == []


HOSTILE = (
    "",
    "   ",
    "7" * 100_000,
    "-" * 100_000,
    "1," * 50_000,
    "1,000" + ",000" * 20_000,
    "a" * 100_000,
    "A" * 100_000,
    "sin" * 30_000,
    "sin " * 200,
    "x" * 999,
    "x^" * 400,
    "e^" * 400,
    "2" * 900 + "x",
    "(" * 10_000 + "x" + ")" * 10_000,
    "(" * 400 + "x" + ")" * 400,
    "sin(" * 240 + "x" + ")" * 200,
    "exp" * 333,
    ")" * 900,
    "<script>alert(1)</script>",
    "**42** $x$ :red[2]",
    "٤٢",
    "１２",
    "\x00\x1b[0m",
    "\ud800",
    "4\u20042",
    "²" * 900,
    "é" * 1000,
    "\u2028",
)


@pytest.mark.parametrize("stated", ALL, ids=lambda stated: stated["kind"])
def test_a_hostile_text_is_answered_at_once_and_what_is_offered_is_no_longer_than_a_commaed_text(stated):
    notation = read_notation({CARD_KEY: stated})
    for text in HOSTILE:
        what = ascii(text[:12])
        begin = time.process_time()
        reading = notation.read(text)
        # Milliseconds; a quadratic loop over 100,000 characters takes minutes.
        assert time.process_time() - begin < 1, what
        assert len(reading.said) < 400, what
        assert reading.inside == (reading.offered is None and not reading.said), what
        if reading.offered is not None:
            assert reading.offered != text, what
            assert len(reading.offered) <= 4 * len(text) + 20, what


TYPED = (
    "42",
    "-0.5",
    ".5",
    "007",
    "1 000",
    "3.14159",
    "1" * 40,
    "e^x",
    "2x",
    "sin 2x",
    "Abc",
    "CAB",
    "sinx cosx",
    "x^2",
)


@pytest.mark.parametrize("stated", ALL, ids=lambda stated: stated["kind"])
def test_what_is_offered_is_itself_in_the_notation_or_beyond_it_with_a_sentence(stated):
    notation = read_notation({CARD_KEY: stated})
    offers = {text: offered for text in TYPED if (offered := notation.read(text).offered) is not None}
    answers = {text: notation.read(offered) for text, offered in offers.items()}
    assert not [text for text, again in answers.items() if not (again.inside or (again.offered is None and again.said))]
