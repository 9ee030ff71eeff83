"""The source and the answer of a Taylor model as formulas, and whether the answer is right."""

from __future__ import annotations

import re
from collections.abc import Iterable

import streamlit as st

from viz_transformer.analysis.decoding.series import verdict
from viz_transformer.measuring.expression_trees import (
    Call,
    Expression,
    ExpressionError,
    Name,
    Number,
    Order,
    Power,
    Product,
    Sum,
    Tree,
    parse,
)
from viz_transformer.ui.frame import text

LINE = 52
"""The approximate characters per line of a formula: a longer answer continues in the next line, before a + or -."""
_TONES: dict[str, text.Tone] = {"right": "ok", "wrong": "bad", "unreadable": "warning"}


def show_formula(source: str, answer: str) -> None:
    """Draw source = answer as formulas, as far as they can be parsed, and the verdict as a sentence."""
    formula, found = equation(source, answer), verdict(source, answer)
    with st.container(key="formula"):
        if formula:
            st.latex(formula, width="content")
        text.paragraph(found.sentence, tone=_TONES[found.kind])


def equation(source: str, answer: str) -> str:
    """LaTeX of source = answer, or of the source alone if the answer cannot be read; "" for a source that cannot.

    It has nothing from the texts except digits, letters and the operators of the parsed trees.
    """
    left, right = _read(source), _read(answer)
    if left is None:
        return ""
    if right is None:
        return latex(left.tree)
    first, *others = _lines(right.tree)
    if not others and len(_glyphs(latex(left.tree) + first)) <= LINE:
        return f"{latex(left.tree)} = {first}"
    rows = [latex(left.tree), rf"\quad = {first}", *(rf"\qquad {line}" for line in others)]
    return r"\begin{aligned}" + r" \\[4pt] ".join(f"& {row}" for row in rows) + r"\end{aligned}"


def latex(tree: Tree) -> str:
    """LaTeX of a tree, with terms and factors in the order in which they are written."""
    match tree:
        case Number(value):
            return str(value)
        case Name(name):
            return name if len(name) == 1 else rf"\operatorname{{{name}}}"
        case Call("exp", argument):
            return rf"\mathrm{{e}}^{{{latex(argument)}}}"
        case Call(function, argument):
            return rf"\{function}{_in_parentheses(argument)}"
        case Power(Call(function, argument), exponent) if function != "exp" and exponent > 0:
            return rf"\{function}^{{{exponent}}}{_in_parentheses(argument)}"
        case Power(Number() | Name() as base, exponent):
            return f"{latex(base)}^{{{exponent}}}"
        case Power(base, exponent):
            return f"{_in_parentheses(base)}^{{{exponent}}}"
        case Product(factors):
            above = [factor for divides, factor in factors if not divides]
            below = [factor for divides, factor in factors if divides]
            return rf"\frac{{{_product(above)}}}{{{_product(below)}}}" if below else _product(above)
        case Sum(terms):
            return "".join(_terms(terms))
        case Order(variable, power):
            return rf"O{_in_parentheses(Power(Name(variable), power) if power != 1 else Name(variable))}"


def _read(words: str) -> Expression | None:
    try:
        return parse(words)
    except ExpressionError:
        return None


def _in_parentheses(tree: Tree) -> str:
    return rf"\left({latex(tree)}\right)"


def _product(factors: list[Tree]) -> str:
    """The factors side by side, with a dot between two numbers."""
    if len(factors) == 1:
        return latex(factors[0])
    found = ""
    for factor in factors:
        written = _in_parentheses(factor) if isinstance(factor, Sum) else latex(factor)
        dot = r" \cdot " if written[0].isdigit() or written.startswith(r"\frac") else " "
        found += dot + written if found else written
    return found


def _terms(terms: Iterable[tuple[bool, Tree]]) -> list[str]:
    """Each term with its sign in front; the first one without a plus."""
    found: list[str] = []
    for negative, term in terms:
        # A sum after a minus, and a negative term after another sign, would be misread.
        bare = not isinstance(term, Sum) or not (negative or found)
        sign = "- " if negative and not found else " - " if negative else " + " if found else ""
        found.append(sign + (latex(term) if bare else _in_parentheses(term)))
    return found


def _lines(tree: Tree) -> list[str]:
    """The terms of a sum in lines of about LINE characters."""
    if not isinstance(tree, Sum):
        return [latex(tree)]
    lines = [""]
    for term in _terms(tree.terms):
        if lines[-1] and len(_glyphs(lines[-1] + term)) > LINE:
            lines.append("")
        lines[-1] += term
    return lines


def _glyphs(formula: str) -> str:
    """The width of a formula in characters: without commands, braces and blanks, and only the numerator of simple
    fractions."""
    formula = re.sub(r"\}\{[^{}]*\}", "}", formula)
    return re.sub(r"\\(left|right|mathrm|operatorname|frac|cdot)|[\\{}^\s]", "", formula)
