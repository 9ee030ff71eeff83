"""Equal and different expressions, hostile ones, and sympy as the judge of random ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from viz_transformer.measuring import expression_trees
from viz_transformer.measuring.expressions import same_expression

SERIES = "1+b*x+3*a**2*x**2/2-b**3*x**3/3+7*a**4*x**4/8+2*b**5*x**5/15+O(x**6)"
LAURENT = "1/(f*x)+x*(-f/6+g**2/(2*f))+x**3*(7*f**3/360-f*g**2/12+g**4/(24*f))+O(x**6)"


EQUAL = [
    (SERIES, "b*x+1+3*a**2*x**2/2-b**3*x**3/3+7*a**4*x**4/8+2*b**5*x**5/15+O(x**6)"),
    (SERIES, SERIES.replace("-b**3*x**3/3", "+x**3*(-b**3/3)").replace("+", " + ")),
    (LAURENT, LAURENT.replace("1/(f*x)", "x**-1*f**(-1)").replace("g**2/(2*f)", "1/2*g*g/f")),
    ("f**3*x**3/(f*f)+O(x**6)", "f*x**3+O(x**6)"),
    ("1+x+x**7+O(x**6)", "1+x+O(x**6)"),  # x**7 is in O(x**6)
    ("x+O(x**6)+a*x**6", "x+O(x**6)"),
    ("O(x**6)+1", "1-O(x**6)"),
    ("1+O(x)", "1+O(x**1)"),
    ("(a**2-b**2)/(a-b)", "a+b"),
    ("1/(a+b)+1/(a-b)", "2*a/(a*a-b*b)"),
    ("a/b/c*d", "a*d/(b*c)"),
    ("-x**2", "-(x*x)"),
    ("2**-1*x", "x/2"),
    ("2**3**2", "512"),
    ("x**(4/2)", "x*x"),
    ("x**(1+2*3-5)", "x**2"),
    ("(x**2)**3", "x**6"),
    ("--x", "+x"),
    ("x**0", "1"),
    ("sin(a*x+b)+1", "1+sin(b+x*a)"),
    ("exp(2*x/2)**2", "exp(x)*exp(x)"),
    ("123456789012345678901234567890/10", "12345678901234567890123456789"),
]
DIFFERENT = [
    (SERIES, SERIES.replace("2*b**5", "3*b**5")),
    (SERIES, SERIES.replace("-b**3", "+b**3")),
    (SERIES, SERIES.replace("O(x**6)", "O(x**5)")),
    (SERIES, SERIES.replace("+O(x**6)", "")),
    (LAURENT, LAURENT.replace("g**4/(24*f)", "g**4/24*f")),
    ("x+x**5+O(x**6)", "x+O(x**6)"),  # x**5 is not
    ("x**7", "0"),
    ("x**6/(a*x)+O(x**6)", "O(x**6)"),
    ("x**6/sin(x)+O(x**6)", "O(x**6)"),  # x**5 and smaller: what a function hides is not taken for small
    ("-x**2", "(-x)**2"),
    ("2**3**2", "64"),
    ("a/b*c", "a/(b*c)"),
    ("sin(x)", "sinh(x)"),
    ("sin(x)", "sin(2*x)"),
    ("O(a**6)", "O(x**6)"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_expressions_are_found_in_another_form(one: str, other: str):
    assert one != other
    assert same_expression(one, other)
    assert same_expression(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_expressions_are_not_taken_for_equal(one: str, other: str):
    assert not same_expression(one, other)
    assert not same_expression(other, one)


NO_EXPRESSIONS = (
    "( ) x) (x x( 2x x*+ x** x**a x**(1/2) x**0.5 1/0 1/(x-x) 0**-1 O O( O(6) O(x**0) O(x**-1) 2*O(x**6) (O(x**6)) sin"
    " sin() sin*x O(x)+O(x) O(x*a) x;y x^2 [x] x,y ² ٣ \u00e9 1__0 0x10 x/*y y//x +"
)


@pytest.mark.parametrize("text", [*NO_EXPRESSIONS.split(), "", " ", "x 2", "2 x"])
def test_what_is_no_expression_equals_only_itself(text: str):
    assert same_expression(text, text)
    assert not same_expression(text, "x")
    assert not same_expression(text, text + " ")


@pytest.mark.parametrize(
    "text",
    [
        "__import__('pathlib').Path('made').touch()",
        "open('made','w')",
        "exec(open)",
        "lambda(x)",
        "S(1).func.__class__",
    ],
)
def test_no_text_is_run(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert not same_expression(text, "1")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9",
        "((((9**100)**100)**100)**100)**100",
        "(a+b+c+d+f+g)**100",
        "((((a+b)**9)**9)**9)**9",
        "*".join(["(a+b)**100"] * 150),
        "1" + "".join(f"+1/(a+{n}*b)" for n in range(150)),
        "1" + "+1/a" * 450,
        "(" * 1000 + "x" + ")" * 1000,
        "-" * 1999 + "x",
        "x" + "**1" * 600,
        "9" * 1999,
        "+".join(f"sin(a+{n})" for n in range(100)),
        "+".join(f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"),
        "x+" * 100_000 + "x",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_texts_are_given_up(text: str):
    """Each would take for ever, all memory or the stack, if it were calculated."""
    assert not same_expression(text, "x")
    assert not same_expression("x", text)


LETTERS = "abcdefghijklmnopqrstuvwxyz"
Form = Callable[[int], str]


@pytest.mark.parametrize(
    ("limit", "form", "other"),
    [
        ("MAX_CHARACTERS", lambda n: "x" + " " * (n - 3) + "+0", lambda n: "x"),
        ("MAX_DIGITS", lambda n: "1" * n, lambda n: "1" * n + "+0"),
        ("MAX_EXPONENT", lambda n: f"x**{n}", lambda n: f"x*x**{n - 1}"),
        ("MAX_EXPONENT", lambda n: f"x**-{n}", lambda n: f"1/x/x**{n - 1}"),
        ("MAX_EXPONENT", lambda n: f"1+O(x**{n})", lambda n: f"1+0+O(x**{n})"),
        ("MAX_NESTING", lambda n: "(" * (n - 1) + "x" + ")" * (n - 1), lambda n: "x+0"),
        ("MAX_NAMES", lambda n: "+".join(LETTERS[:n]), lambda n: "+".join(LETTERS[:n][::-1])),
    ],
)
def test_each_limit_is_where_it_says(limit: str, form: Form, other: Form):
    """The largest that is read equals another form of itself, the next larger one does not."""
    most = getattr(expression_trees, limit)
    assert same_expression(form(most), other(most))
    assert not same_expression(form(most + 1), other(most + 1))


def random_expression(generator: random.Random, depth: int = 3) -> str:
    """Of sums, products, quotients and powers of a, b, x and small numbers; a quotient by nothing is possible."""
    if depth == 0 or generator.random() < 0.2:
        return generator.choice(["a", "b", "x", "2", "3", "7"])
    one, other = random_expression(generator, depth - 1), random_expression(generator, depth - 1)
    forms = [f"{one}+{other}", f"{one}-{other}", f"({one})*({other})", f"({one})/({other})", f"-({one})"]
    return generator.choice([*forms, f"({one})**{generator.choice(['2', '3', '(-1)'])}"])


def test_sympy_says_the_same():
    """On random expressions, against sympy's parser and its cancelling of quotients."""
    import sympy  # type: ignore[import-untyped]

    generator = random.Random(1)
    seen = {True: 0, False: 0}
    for _ in range(150):
        one = random_expression(generator)
        value = sympy.sympify(one)
        if value.has(sympy.zoo, sympy.nan, sympy.oo):
            continue
        other = str(sympy.expand(value)) if generator.random() < 0.6 else random_expression(generator)
        difference = sympy.cancel(sympy.together(value - sympy.sympify(other)))
        if difference.has(sympy.zoo, sympy.nan, sympy.oo) or one == other:
            continue
        assert same_expression(one, other) == (difference == 0), (one, other)
        seen[bool(difference == 0)] += 1
    assert min(seen.values()) >= 30
