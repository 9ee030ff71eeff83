"""What does not fit a declared type is one sentence: where, what is there, what is accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from viz_transformer import declared
from viz_transformer.declared import Count, CountOrZero, Whole

pytestmark = pytest.mark.quick

Name = Annotated[str, Meta(max_length=3, description="a name of at most 3 characters")]


@dataclass(frozen=True, kw_only=True)
class Part:
    at: CountOrZero
    name: Name = "a"


@dataclass(frozen=True, kw_only=True)
class Thing:
    """One of each kind."""

    size: Count
    share: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    word: Literal["pre", "post"] = "pre"
    most: Whole | None = None
    on: bool = True
    pair: tuple[int, int] = (0, 1)
    names: tuple[Name, ...] = ()
    numbers: dict[Name, Count] = field(default_factory=dict)
    part: Part | None = None
    few: Annotated[list[int], Meta(max_length=2)] = field(default_factory=list)

    def __post_init__(self) -> None:
        declared.check(self, rules=self._rules())

    def _rules(self) -> Iterator[str]:
        if self.size == 7 and self.word == "post":
            yield "size=7 goes with word='pre' alone"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"size": 0}, "size=0 has to be a whole number of at least 1"),
        ({"size": "3"}, "size='3' has to be a whole number of at least 1"),
        ({"size": True}, "size=True has to be a whole number of at least 1"),
        ({"size": 3.0}, "size=3.0 has to be a whole number of at least 1"),
        ({"size": 2**60}, "size=1152921504606846976 has to be a number of at most 53 bits"),
        ({"share": 1}, "share=1 has to be a number of at least 0 and below 1"),
        ({"share": float("nan")}, "share=nan has to be a number of at least 0 and below 1"),
        ({"word": "middle"}, "word='middle' is not known; choose 'pre' or 'post'"),
        ({"word": ["pre"]}, "word=['pre'] is not known; choose 'pre' or 'post'"),
        ({"most": "x"}, "most='x' has to be a whole number"),
        ({"on": 1}, "on=1 has to be true or false"),
        ({"on": None}, "on=None has to be true or false"),
        ({"pair": [1]}, "pair=[1] has to be a list of 2: (a whole number, a whole number)"),
        ({"pair": [1, "b"]}, "pair[1]='b' has to be a whole number"),
        ({"names": ["a", "long"]}, "names[1]='long' has to be a name of at most 3 characters"),
        ({"names": "abc"}, "names='abc' has to be a list, each a name of at most 3 characters"),
        ({"numbers": {"a": 0}}, "numbers['a']=0 has to be a whole number of at least 1"),
        ({"numbers": {"long": 1}}, "a name in numbers='long' has to be a name of at most 3 characters"),
        ({"part": {"at": -1}}, "part.at=-1 has to be a whole number of at least 0"),
        ({"part": {}}, "part: 'at' is missing: it has to be a whole number of at least 0"),
        ({"few": [1, 2, 3]}, "few=[1, 2, 3] has to be a list of 0 to 2, each a whole number"),
        ({"colour": 1}, "'colour' is not known: known are size, share, word"),
        ({"wrod": "pre"}, "'wrod' is not known: did you mean 'word'?"),
        ({"size": 7, "word": "post"}, "size=7 goes with word='pre' alone"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_sentence_says_where_what_and_what_is_accepted(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        declared.read(Thing, {"size": 1} | change)
    assert str(refused.value).startswith(sentence)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("given", [None, 5, "size", [1], [["size", 1]]])
def test_what_is_no_object_is_said_to_be_none(given: object) -> None:
    with pytest.raises(ValueError, match=r"has to be an object with size, share, word"):
        declared.read(Thing, given)


def test_what_is_missing_is_named_with_what_it_has_to_be() -> None:
    with pytest.raises(ValueError, match=r"^the card: 'size' is missing: it has to be a whole number of at least 1$"):
        declared.read(Thing, {}, "the card")


def test_a_value_made_in_python_is_checked_by_the_same_types() -> None:
    with pytest.raises(ValueError, match=r"^share=2 has to be a number of at least 0 and below 1$"):
        Thing(size=1, share=2)
    assert Thing(size=1, share=0, names=("a",), part=Part(at=0)).part == Part(at=0)


def test_lists_become_tuples_and_nothing_else_is_converted() -> None:
    made = declared.read(Thing, {"size": 3, "names": ["a", "b"], "pair": [1, 2], "part": {"at": 4}})
    assert made == Thing(size=3, names=("a", "b"), pair=(1, 2), part=Part(at=4))


def test_whatever_is_given_the_sentence_stays_short() -> None:
    for given in ("x" * 10**6, 10**5000, [[[["x"] * 1000] * 1000]], {"y" * 10**5: 1}):
        with pytest.raises(ValueError) as refused:
            declared.read(Thing, {"size": 1, "word": given})
        assert len(str(refused.value)) < 200


def test_an_index_that_is_not_there_says_which_are() -> None:
    assert declared.place("head", 7, 8) == 7
    for index in (-1, 8):
        with pytest.raises(ValueError, match=f"^there is no head {index}: heads go from 0 to 7$"):
            declared.place("head", index, 8)


def test_without_any_of_them_it_says_that_there_are_none() -> None:
    with pytest.raises(ValueError, match=r"^there is no query 0: there are none$"):
        declared.place("query", 0, 0)


def test_counts_that_differ_and_an_array_of_other_axes_are_said_with_all_numbers() -> None:
    declared.same_count(tokens=3, positions=3)
    with pytest.raises(ValueError, match=r"^2 typed tokens do not fit 3 tokens and 1 rows$"):
        declared.same_count(typed_tokens=2, tokens=3, rows=1)
    declared.shaped("weights", (2, 3), queries=2, keys=3)
    for shape, axes in (((2, 3), (3, 2)), ((6,), (2, 3)), ((0, 3), (0, 3))):
        with pytest.raises(ValueError, match=rf"^weights \(.*\) do not fit {axes[0]} queries and {axes[1]} keys$"):
            declared.shaped("weights", shape, queries=axes[0], keys=axes[1])


def test_what_a_sentence_is_about_stands_before_it() -> None:
    with (
        pytest.raises(ValueError, match=r"^pair 3: there is no head 1: heads go from 0 to 0$"),
        declared.prefixed("pair 3: "),
    ):
        declared.place("head", 1, 1)


class Inner(msgspec.Struct):
    at: Annotated[int, Meta(ge=0)]
    name: str | None = None


class Foreign(msgspec.Struct):
    inner: list[Inner]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"inner": [{"at": "x"}]}, "its inner[0].at has to be a whole number, not a text"),
        ({"inner": [{"at": -1}]}, "its inner[0].at has to be a whole number of at least 0"),
        ({"inner": [{"at": 1, "name": 2}]}, "its inner[0].name has to be a text or nothing, not a whole number"),
        ({"inner": [{}]}, "its inner[0] has no 'at'"),
        ({"inner": {}}, "its inner has to be a list, not an object"),
        ([], "it has to be an object, not a list"),
    ],
)
def test_of_what_another_program_wrote_the_same_is_said_and_the_rest_left_out(content: object, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        declared.converted(Foreign, content)
    assert str(refused.value) == sentence
    assert declared.converted(Foreign, {"inner": [{"at": 1, "more": 5}]}).inner == [Inner(at=1)]
