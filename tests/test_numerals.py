"""What is written of a number is never 0, nor the end of its scale, unless it is."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import pytest
from hard_numbers import numbers

from viz_transformer import numerals

FINITE = [value for value in numbers(seed=1) if math.isfinite(value)]


def holds(text: str, value: Decimal, digits: int) -> bool:
    """Whether it is true of the value: a bound on the right side, at most one unit away, or the value rounded."""
    bound = Decimal(re.sub(r"[<>,+]", "", text))
    unit = Decimal(10) ** -digits
    if text[0] in "<>":
        return (value < bound if text[0] == "<" else value > bound) and abs(value - bound) <= unit
    return abs(value - bound) <= unit / 2


@pytest.mark.parametrize("digits", [0, 1, 2, 4])
@pytest.mark.parametrize("flags", ["", "+", ","])
def test_what_is_written_is_true_and_zero_only_of_zero(digits, flags):
    for value in FINITE:
        text = numerals.number(value, digits, flags)
        assert holds(text, Decimal(value), digits), (value, text)
        assert (Decimal(re.sub(r"[<>,+]", "", text)) == 0) == (value == 0), (value, text)
        assert not re.fullmatch(r"-0(\.0*)?", text), (value, text)


@pytest.mark.parametrize("digits", [0, 1, 2, 4])
@pytest.mark.parametrize(("write", "scale"), [(numerals.share, 1), (numerals.percent, 100)])
def test_the_end_of_a_scale_is_said_only_of_what_is_there(write, scale, digits):
    for value in FINITE:
        text = write(value, digits).removesuffix(" %")
        exact = Decimal(value) if scale == 1 else Decimal(100 * value)
        assert holds(text, exact, digits), (value, text)
        if text[0] not in "<>":
            assert (abs(Decimal(text)) == scale) == (abs(exact) == scale), (value, text)
            assert (Decimal(text) == 0) == (value == 0), (value, text)


@pytest.mark.parametrize("digits", [1, 2, 4, 6])
def test_significant_digits_are_right_and_never_make_a_zero_or_a_one(digits):
    for value in FINITE:
        text = numerals.significant(value, digits)
        assert float(text) == pytest.approx(value, rel=0.5001 * 10 ** (1 - digits), abs=0)
        assert (abs(float(text)) in (0, 1)) == (abs(value) in (0, 1)), (value, text)
        assert text != "-0"


@pytest.mark.parametrize("write", [numerals.number, numerals.share, numerals.percent, numerals.significant])
def test_what_is_not_finite_is_named(write):
    assert [write(value) for value in (math.nan, math.inf, -math.inf)] == ["not a number", "∞", "-∞"]


@pytest.mark.parametrize("value", [1e-320, 1e-17, 1.4e-8, 0.5, 3.0, 700.0])
def test_an_exponential_is_0_or_1_only_of_what_makes_it_so(value):
    below, above = numerals.exponential(-value), numerals.exponential(value)
    assert 0 < below < 1 < above
    assert below == pytest.approx(math.exp(-value)) and above == pytest.approx(math.exp(value))
    assert 0 < numerals.exponential(-1000.0) < 1e-300
    assert [numerals.exponential(each) for each in (0.0, -math.inf)] == [1.0, 0.0]
    assert math.isnan(numerals.exponential(math.nan))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (numerals.number(-1e-8, 2), ">-0.01"),
        (numerals.number(-0.0), "0.0000"),
        (numerals.number(1.7e-8, 2, "+"), "<+0.01"),
        (numerals.number(-1.7e-8, 2, "+"), ">-0.01"),
        (numerals.number(0.0, 2, "+"), "0.00"),
        (numerals.number(12345.678, 2, ","), "12,345.68"),
        (numerals.share(0.99999), ">0.9999"),
        (numerals.share(-0.99999, 2), "<-0.99"),
        (numerals.share(1.0000001), "<1.0001"),
        (numerals.share(0.00003), "<0.0001"),
        (numerals.share(1.0), "1.0000"),
        (numerals.percent(1.4e-7), "<0.1 %"),
        (numerals.percent(0.9996), ">99.9 %"),
        (numerals.percent(0.9994), "99.9 %"),
        (numerals.percent(0.99, 2, "%"), "99.00%"),
        (numerals.percent(0), "0 %"),
        (numerals.percent(-0.0), "0 %"),
        (numerals.percent(1), "100 %"),
        (numerals.score(99.98), ">99.9"),
        (numerals.score(100.00000000000004), "100.0"),
        (numerals.significant(1.00003), "1.00003"),
        (numerals.significant(1.0), "1"),
        (numerals.significant(0.99999994, 6), "0.9999999"),
        (numerals.significant(1234567.0), "1.235e+06"),
        (numerals.write_in_sentence(1.26e-27), "<0.0001"),
        (numerals.write_in_sentence(-2e-5), ">-0.0001"),
        (numerals.write_in_sentence(0.00012345678), "0.0001235"),
        (numerals.write_in_sentence(0.0), "0"),
        (numerals.scientific(5.94e-8), "5.9\u00a0·\u00a010⁻⁸"),
        (numerals.scientific(0), "0"),
        (numerals.tick(0.001), "0.001"),
        (numerals.tick(10_000), "10,000"),
        (numerals.tick(1e-4), "10⁻⁴"),
        (numerals.tick(2.5e-8), "2.5\u00a0·\u00a010⁻⁸"),
    ],
)
def test_numbers_worked_by_hand(written, text):
    assert written == text


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (512, "0.5 KiB"),
        (2**10, "1.0 KiB"),
        (752 * 2**20, "752 MiB"),
        (int(2.6 * 2**30), "2.6 GiB"),
        (2**44, "16,384 GiB"),
    ],
)
def test_bytes_of_memory_have_two_digits(count: int, said: str) -> None:
    assert numerals.binary_size(count) == said
