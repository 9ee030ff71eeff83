"""Formulas say what the texts say, hold nothing of them but letters, digits and signs, and stand above the verdict."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from page_driver import drawn, markup, words
from wording import wording

from viz_transformer.analysis.decoding.series import series
from viz_transformer.measuring.expression_trees import parse
from viz_transformer.ui.pages.run.formula import LINE, equation, latex
from viz_transformer.ui.session import examples


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("a*x-a**3*x**3/6+O(x**6)", r"a x - \frac{a^{3} x^{3}}{6} + O\left(x^{6}\right)"),
        ("-f/6+g**2/(2*f)", r"- \frac{f}{6} + \frac{g^{2}}{2 f}"),
        ("x**2*(-a+b)", r"x^{2} \left(- a + b\right)"),
        ("cosh(a*x)**3+tan(b*x)", r"\cosh^{3}\left(a x\right) + \tan\left(b x\right)"),
        ("exp(-2*a*x)", r"\mathrm{e}^{- 2 a x}"),
        ("exp(x)**2", r"\left(\mathrm{e}^{x}\right)^{2}"),
        ("sin(x)**(-1)", r"\left(\sin\left(x\right)\right)^{-1}"),  # sin^{-1} would be read as the inverse function
        ("b+a", "b + a"),  # the order in which it is written
        ("x*2*a*3", r"x \cdot 2 a \cdot 3"),
        ("a/b*c/d", r"\frac{a c}{b d}"),
        ("a-(b-c)-(-x)", r"a - \left(b - c\right) - \left(- x\right)"),
        ("-(a+b)", r"- \left(a + b\right)"),
        ("(a*x)**2", r"\left(a x\right)^{2}"),
        ("2**-3", "2^{-3}"),
        ("alpha*x", r"\operatorname{alpha} x"),
        ("O(x)", r"O\left(x\right)"),
    ],
)
def test_a_text_becomes_this_formula(text: str, formula: str):
    assert latex(parse(text).tree) == formula


class Function:
    """A function as a formula has it: a number times a power of it stands before its argument."""

    def __init__(self, function: Callable[[float], float], power: int = 1, number: float = 1.0) -> None:
        self.function, self.power, self.number = function, power, number

    def __pow__(self, power: int) -> Function:
        return Function(self.function, power, self.number)

    def __rmul__(self, number: float) -> Function:
        return Function(self.function, self.power, self.number * number)

    def __neg__(self) -> Function:
        return Function(self.function, self.power, -self.number)

    def __mul__(self, argument: float) -> float:
        return float(self.number * self.function(argument) ** self.power)


def value_of(formula: str, values: dict[str, float]) -> float:
    """What a formula says, read independently: braces become parentheses, what stands beside each other a product."""
    formula = formula.replace(r"\mathrm{e}^", r"\exp").replace(r"\left(", "(").replace(r"\right)", ")")
    while "{" in formula:
        shorter = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", formula)
        shorter = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", shorter)
        shorter = re.sub(r"\\exp\{([^{}]*)\}", r"\\exp(\1)", shorter)
        assert shorter != formula, formula
        formula = shorter
    tokens = re.findall(r"[a-zA-Z]+|[0-9]+|\*\*|[-+()/]", formula.replace(r"\cdot", " "))
    joined = tokens[0]
    for before, token in pairwise(tokens):
        beside = re.fullmatch(r"[a-zA-Z]+|[0-9]+|\)", before) and re.fullmatch(r"[a-zA-Z]+|[0-9]+|\(", token)
        joined += f"*{token}" if beside else token
    functions = {name: Function(getattr(math, name)) for name in "exp sin cos tan sinh cosh tanh".split()}
    return float(eval(joined, {"__builtins__": {}}, {**functions, **values}))


def random_expression(generator: random.Random, depth: int) -> str:
    if depth == 0 or generator.random() < 0.15:
        return generator.choice(["a", "b", "x", "2", "3"])
    one, other = random_expression(generator, depth - 1), random_expression(generator, depth - 1)
    forms = [f"{one}+{other}", f"{one}-{other}", f"({one})*({other})", f"({one})/({other})", f"-({one})", f"({one})"]
    forms += [f"{generator.choice(['exp', 'sin', 'cosh', 'tan'])}({one})" + generator.choice(["", "**2", "**(-1)"])]
    forms += [f"{one}*{other}", f"{one}/{other}", f"{one}-({other})", f"({one})**{generator.choice(['2', '3', '-1'])}"]
    return generator.choice(forms)


def test_formulas_have_the_value_of_their_texts():
    generator = random.Random(0)
    values = {"a": 0.7, "b": -1.3, "x": 0.4}
    names: dict[str, Any] = {name: getattr(math, name) for name in ("exp", "sin", "cosh", "tan")}
    compared = 0
    for _ in range(600):
        text = random_expression(generator, 4)
        try:
            wanted = eval(text, {"__builtins__": {}}, names | values)
        except (ZeroDivisionError, OverflowError, ValueError):
            continue
        if isinstance(wanted, complex) or not 1e-9 < abs(wanted) < 1e9:
            continue
        assert value_of(latex(parse(text).tree), values) == pytest.approx(wanted, rel=1e-6), text
        compared += 1
    assert compared > 300


def test_an_equation_has_source_and_answer():
    assert equation("sin(a*x)", "a*x+O(x**6)") == r"\sin\left(a x\right) = a x + O\left(x^{6}\right)"


def test_a_long_answer_goes_on_in_further_lines_and_loses_nothing():
    terms = [f"{n}*a**{n}*x**{n}*(b+c+d)" for n in range(1, 21)]
    found = equation("sin(a*x)", "-".join(terms))
    assert found.startswith(r"\begin{aligned}& \sin\left(a x\right) \\[4pt] & \quad = ")
    assert found.endswith(r"\end{aligned}")
    _, *lines = re.sub(r"\\(begin|end)\{aligned\}", "", found).split(r" \\[4pt] ")
    assert len(lines) > 3
    joined = "".join(re.sub(r"^& \\q?quad (= )?", "", line) for line in lines)
    assert joined == latex(parse("-".join(terms)).tree)
    for line in lines:
        # Each line has some 20 characters less than LINE at most, which is what a term has.
        shown = re.sub(r"\\(left|right|qquad|quad)|[\\{}^& ]", "", line)
        assert LINE - 24 <= len(shown) <= LINE + 2 or line is lines[-1]


def test_a_term_longer_than_a_line_has_a_line_of_its_own():
    term = "x*(" + "+".join("abcdfgh" * 5) + ")"
    formula = latex(parse(term).tree)
    for answer, rows in [(f"{term}+1", [formula, "+ 1"]), (f"1+{term}", ["1", f"+ {formula}"])]:
        wanted = [r"& x", rf"& \quad = {rows[0]}", rf"& \qquad  {rows[1]}"]
        assert equation("x", answer) == r"\begin{aligned}" + r" \\[4pt] ".join(wanted) + r"\end{aligned}"


def test_what_cannot_be_read_is_no_formula():
    assert equation("sin(a*x)", "a*x+") == r"\sin\left(a x\right)"
    assert equation("sin(a*x", "a*x") == ""


HOSTILE = [
    r"\href{http://example.org}{x}",
    r"\input{file}",
    "$x$",
    "x}{y",
    "x%",
    "<b>x</b>",
    "x&y",
    "x_1",
    "javascript(x)",
    "href*url*def",
    "(" * 30 + "x" + ")" * 30,
    "exp(exp(exp(exp(x))))**9",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_of_a_text_only_letters_digits_and_signs_get_into_a_formula(text: str):
    known = r"\\(begin|end)\{aligned\}|\\\\\[4pt\]|\\(operatorname|mathrm)\{[A-Za-z]+\}"
    known += (
        r"|\\(left\(|right\)|q?quad|frac|cdot|exp|sin|cos|tan|sinh|cosh|tanh)(?![A-Za-z])|\b[A-Za-z]\b|[-+&=^{}0-9 ]"
    )
    for found in (equation(text, "x"), equation("x", text)):
        assert re.fullmatch(f"({known})*", found), found
        assert found.count("{") == found.count("}")


def page(source: str, answer: str) -> None:
    from viz_transformer.ui.pages.run import formula

    formula.show_formula(source, answer)


@pytest.mark.parametrize(
    ("source", "answer", "tone", "sentence"),
    [
        ("exp(x)", "1+x+x**2/2+x**3/6+x**4/24+x**5/120+O(x**6)", "ok", wording("right_equal_to_the_series_by_sympy")),
        ("x", "a*x+O(x**6)", "bad", wording("wrong_at_x_it_should_be_the_model_wrote", 1)),
        ("x", "a*x+", "warning", wording("cannot_be_read_the_answer_ends_where")),
    ],
)
def test_the_formulas_and_the_verdict_are_drawn(source: str, answer: str, tone: str, sentence: str):
    app = drawn(page, source, answer)
    assert [element.value.strip("$\n ") for element in app.latex] == [equation(source, answer)]
    assert f"vt-{tone}" in markup(app)
    assert sentence in words(app)


def test_a_source_that_cannot_be_read_is_only_said_to_be_so():
    app = drawn(page, "<b>x</b>", "x")
    assert not app.latex
    assert wording("cannot_be_read_the_source_has_which_is_not_a_sign_of_an_expression", "<") in words(app)


@pytest.mark.parametrize("source", sorted({*examples.examples("taylor"), *examples.examples("taylor-2terms")}))
def test_the_examples_offered_for_a_taylor_model_have_a_series(source: str):
    assert len(series(source)) >= 2
    assert equation(source, "x")
