"""What is quoted stays short, whatever was given."""

from __future__ import annotations

from typing import Any

import pytest

from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.sentences import count_of, join_names, put_on_one_line, quote, shorten


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


NESTED: list[Any] = []
NESTED.append(NESTED)


VALUES: dict[str, Any] = {
    "a long text": "x" * 10**7,
    "long bytes": b"x" * 10**7,
    "a number that Python does not write": 10**10_000,
    "a long number": -(10**4000),
    "nested lists": [[["x" * 900] * 100] * 100],
    "a long key": {"x" * 10**6: {1: 2}},
    "a circle": NESTED,
    "what cannot describe itself": Silent(),
    "line breaks and colours": "a\nb\x1b[31m",
    "half a pair": "\ud800",
}


@pytest.mark.parametrize("what", VALUES)
def test_a_quote_is_short_and_can_be_printed(what: str) -> None:
    said = quote(VALUES[what])
    assert len(said) <= 60
    assert said.isprintable()
    assert said.encode("utf-8")


def test_what_is_short_is_quoted_whole() -> None:
    for value in (7, "text", [1, 2], None, 0.5, "it's", {"a": 1}):
        assert quote(value) == repr(value)


def test_what_was_cut_ends_in_an_ellipsis() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"
    assert quote("x" * 100, 10) == "'xxxxxxxx…"


@pytest.mark.parametrize("what", [*VALUES, "nothing"])
def test_a_setting_of_a_strategy_that_is_none_is_refused_in_a_short_sentence(what: str) -> None:
    value = VALUES.get(what)
    of_the_model = (  # None is what the model itself has
        lambda: Beam(2, penalty=value),
        lambda: Beam(2, stop=value),
        lambda: Beam(2, length_penalty=value),
    )
    for make in (
        lambda: Beam(value),
        lambda: Sampling(temperature=value),
        lambda: Sampling(seed=value),
        *(of_the_model if value is not None else ()),
    ):
        with pytest.raises(ValueError) as caught:
            make()
        assert len(str(caught.value)) < 200


def test_a_line_of_anothers_text_has_nothing_that_moves_the_cursor() -> None:
    said = put_on_one_line("tensor \x1b[2J\x00\n  ok ü \ud800 \u202e", 200)
    assert said == "tensor \\x1b[2J\\x00 ok ü \\ud800 \\u202e"
    assert put_on_one_line("\x1b" * 1000, 10) == "\\x1b\\x1b\\…"


def test_names_are_listed_as_a_sentence_has_them() -> None:
    assert [join_names("abc"[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


def test_one_of_a_kind_is_no_plural() -> None:
    assert [count_of(n, "head") for n in (0, 1, 2, 1024)] == ["0 heads", "1 head", "2 heads", "1,024 heads"]
