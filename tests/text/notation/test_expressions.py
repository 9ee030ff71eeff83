"""Expressions as people type them."""

import random

import pytest

from viz_transformer.text.notation.expressions import Expressions
from viz_transformer.text.notation.reading import LEARNED, WRITTEN
from viz_transformer.text.notation.rewriting import UnclearError, rewrite

FUNCTIONS = ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")
SYMBOLS = "abcdfgh"
PLAIN = Expressions(functions=FUNCTIONS, symbols=SYMBOLS, largest=8, plain=True)
SCALED = Expressions(functions=FUNCTIONS, symbols=SYMBOLS, largest=8, plain=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e^x", "exp(x)"),
        ("x^2", "x**2"),
        ("2x", "2*x"),
        ("sin x", "sin(x)"),
        ("sin 2x", "sin(2*x)"),
        ("sinx cosx", "sin(x)*cos(x)"),
        ("sin^2 x", "sin(x)**2"),
        ("sin²x", "sin(x)**2"),
        ("sin(x)^2", "sin(x)**2"),
        ("x²", "x**2"),
        ("e^(2x)", "exp(2*x)"),
        ("e^{-x}", "exp(-x)"),
        ("e^-x", "exp(-x)"),
        ("e^x sin(x)", "exp(x)*sin(x)"),
        ("e**x", "exp(x)"),
        ("e^x^2", "exp(x**2)"),
        ("e^(x+1)(x-1)", "exp(x+1)*(x-1)"),
        ("e^((x+1)(x-1))", "exp((x+1)*(x-1))"),
        ("2sin(x)", "2*sin(x)"),
        ("sin(x)cos(x)", "sin(x)*cos(x)"),
        ("3(x+1)", "3*(x+1)"),
        ("(x+1)(x-1)", "(x+1)*(x-1)"),
        ("x(1-x)", "x*(1-x)"),
        ("sin ax", "sin(a*x)"),
        ("ax", "a*x"),
        ("2ax", "2*a*x"),
        ("xsin(x)", "x*sin(x)"),
        ("sinhx", "sinh(x)"),
        ("Sin(X)", "sin(x)"),
        ("2·x", "2*x"),
        ("1÷(1−x)", "1/(1-x)"),
        ("sin x / cos x", "sin(x)/cos(x)"),
        ("x^2 y".replace("y", "sin x"), "x**2*sin(x)"),
        ("+x", "x"),
        ("2^-x", "2**-x"),
    ],
)
def test_signs_that_were_left_out_are_written_out(text, expected):
    assert "".join(rewrite(text, FUNCTIONS, SYMBOLS)) == expected
    reading = PLAIN.read(text)
    assert (reading.inside, reading.offered, reading.lead, reading.said) == (False, expected, LEARNED, "")


@pytest.mark.parametrize(
    "text",
    ["sin(x)", "exp(x)*sin(x)", "1/(1-x)", "cosh(a*x)**3+tanh(b*x)", "sin(a*x) + cos(b*x)", "-exp(2*a*x)", "x*(a-b)"],
)
def test_an_expression_with_all_its_signs_is_inside(text):
    assert PLAIN.read(text).inside


@pytest.mark.parametrize(
    "text",
    [
        *("f(x)", "a(x+1)", "e^2x", "e^ax", "sin a*x", "sin a(x)", "sin^-1(x)", "sin^2(x)^3", "x2", "2 3", "(x)2"),
        *("asin(x)", "asinx", "arcsin x", "ln(x)", "sqrt(x)", "pi", "y", "e", "e*x", "0.5*x", "x!", "y=x", "x = 2"),
        *("sin", "sin()", "()", "(x", "x)", "x+", "*x", "x***2", "x//2", "sin,x", "sin(x", "<b>x</b>", "1e5x", "xy"),
        "(" * 41 + "x" + ")" * 41,
        "(" * 10_000 + "x" + ")" * 10_000,
        "-" * 41 + "x",
    ],
    ids=lambda text: text[:20],
)
def test_what_is_none_or_can_be_read_in_two_ways_is_offered_nothing(text):
    reading = PLAIN.read(text)
    assert (reading.inside, reading.offered) == (False, None)
    assert "expressions of x with the functions exp, sin, cos" in reading.said


def test_forty_levels_of_parentheses_are_read():
    assert PLAIN.read("(" * 39 + "x" + ")" * 39).inside
    with pytest.raises(UnclearError):
        rewrite("(" * 40 + "x" + ")" * 40, FUNCTIONS, SYMBOLS)


def test_a_larger_number_than_in_training_says_so():
    said = "The whole numbers that this model learned in expressions go up to 8."
    assert (PLAIN.read("9*x").said, PLAIN.read("9*x").offered) == (said, None)
    assert (PLAIN.read("9x").said, PLAIN.read("9x").offered, PLAIN.read("9x").lead) == (said, "9*x", WRITTEN)


@pytest.mark.parametrize(
    "text",
    ["sin(a*x)", "cosh(a*x)**3+tanh(b*x)", "exp(-2*a*x)/sin(b*x)", "sin(x*(a-b))", "sin(x*a)", "sin(a*2*x)-1"],
)
def test_a_constant_before_each_x_is_inside_where_training_always_had_one(text):
    assert SCALED.read(text).inside


def test_without_a_constant_an_expression_with_one_is_offered_and_the_offer_says_what_it_is():
    for text, offered, symbol in (
        ("sin(x)", "sin(a*x)", "a"),
        ("cos(2*x)", "cos(2*a*x)", "a"),
        ("sin(x)+exp(a*x)", "sin(b*x)+exp(a*x)", "b"),
    ):
        reading = SCALED.read(text)
        assert (reading.inside, reading.offered, reading.lead) == (False, offered, f"with a constant, {LEARNED}")
        assert reading.said.endswith(f"With {symbol} = 1 that is what was typed.")
        assert SCALED.read(offered).inside


def test_other_signs_are_offered_first_and_a_constant_then():
    reading = SCALED.read("e^x")
    assert (reading.offered, reading.lead) == ("exp(x)", WRITTEN)
    assert reading.said == "This model learned x only inside functions and times a constant: exp(a*x)."
    assert SCALED.read("exp(x)").offered == "exp(a*x)"
    assert (SCALED.read("e^(ax)").offered, SCALED.read("e^(ax)").lead) == ("exp(a*x)", LEARNED)


@pytest.mark.parametrize(
    "text", ["x**2", "2*x", "1/(1-x)", "sin(a*x)*x", "sin(a*x**2)", "sin(a*x/2)", "sin(cos(x))", "a"]
)
def test_where_a_constant_does_not_help_nothing_is_offered(text):
    reading = SCALED.read(text)
    assert (reading.inside, reading.offered) == (False, None)
    assert reading.said.startswith("This model learned x only inside functions and times a constant: ")
    assert PLAIN.read(text).inside


def test_a_model_that_uses_up_all_its_symbols_is_offered_no_other():
    two = Expressions(functions=("sin",), symbols="ab", largest=8, plain=False)
    assert two.read("sin(a*x)*sin(b*x)+sin(x)").offered is None


def test_an_expression_is_found_again_when_its_signs_are_left_out():
    source = random.Random(5)

    def factor(depth: int) -> tuple[str, str]:
        """With all its signs, and as typed."""
        kind = source.randrange(5 if depth else 1)
        written, typed = total(depth - 1) if depth else ("x", "x")
        if kind == 0:
            name = source.choice("xab2")
            return name, name
        if kind == 1:
            return f"({written})", f"({typed})"
        if kind == 2:
            return f"exp({written})", f"e^({typed})"
        name, power = source.choice(FUNCTIONS), source.choice(["", "2", "3"])
        return f"{name}({written})" + f"**{power}" * bool(power), f"{name}" + f"^{power}" * bool(power) + f"({typed})"

    def product(depth: int) -> tuple[str, str]:
        written, typed = factor(depth)
        for _ in range(source.randrange(4)):
            more, typed_more = factor(depth)
            unclear = typed_more[0].isdigit() or (typed_more[0] == "(" and typed[-1] in "ab")
            sign = source.choice(["*", " * ", "·", *[" "] * (not unclear), *[""] * (typed[-1] in "2)" and not unclear)])
            written, typed = f"{written}*{more}", f"{typed}{sign}{typed_more}"
        return written, typed

    def total(depth: int) -> tuple[str, str]:
        written, typed = product(depth)
        for _ in range(source.randrange(2)):
            sign, (more, typed_more) = source.choice("+-/"), factor(depth)
            written, typed = f"{written}{sign}{more}", f"{typed} {sign} {typed_more}"
        return written, typed

    for _ in range(500):
        written, typed = total(3)
        assert "".join(rewrite(typed, FUNCTIONS, SYMBOLS)) == written, typed
