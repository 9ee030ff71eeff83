"""Series of expressions, found in fractions."""

import re
from pathlib import Path

import pytest

from viz_transformer.measuring.expression_trees import ExpressionError
from viz_transformer.measuring.power_series import series_of

EXAMPLES = Path(__file__).parents[2] / "checkpoints" / "taylor" / "examples.tsv"


@pytest.mark.parametrize(
    ("text", "series"),
    [
        ("sin(x)", "x-x**3/6+x**5/120+O(x**6)"),
        ("cos(2*x)", "1-2*x**2+2*x**4/3+O(x**6)"),
        ("exp(-x/2)", "1-x/2+x**2/8-x**3/48+x**4/384-x**5/3840+O(x**6)"),
        ("1/(1-x)", "1+x+x**2+x**3+x**4+x**5+O(x**6)"),
        ("1/sin(x)", "1/x+x/6+7*x**3/360+31*x**5/15120+O(x**6)"),
        ("sinh(f*x)**(-3)", "-1/(2*f*x)+17*f*x/120-457*f**3*x**3/15120+1/(f**3*x**3)+3287*f**5*x**5/604800+O(x**6)"),
        ("(exp(x)-1)/x", "1+x/2+x**2/6+x**3/24+x**4/120+x**5/720+O(x**6)"),
        ("exp(sin(x))", "1+x+x**2/2-x**4/8-x**5/15+O(x**6)"),
        ("tanh(a*x)/a-3", "-3+x-a**2*x**3/3+2*a**4*x**5/15+O(x**6)"),
        ("sin(a*x)+2*x+g", "g+x*(a+2)-a**3*x**3/6+a**5*x**5/120+O(x**6)"),
        ("cos(d*x)/sinh(x)-1/(b*x)", "(1-1/b)/x+x*(-d**2/2-1/6)+x**3*(d**4/24+d**2/12+7/360)"),
    ],
)
def test_a_series_is_printed_as_in_the_data_set(text: str, series: str) -> None:
    assert series_of(text).startswith(series)


def test_the_series_of_the_data_sets_own_expressions_are_its_targets() -> None:
    pairs = [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    seed = [pair for pair in pairs if re.search(r"\b[a-g]\b", pair[0])]
    assert len(seed) > 100
    assert [(text, series_of(text)) for text, _ in seed[::4]] == [(text, series) for text, series in seed[::4]]


@pytest.mark.parametrize(
    "text", ["log(x)", "x.real", "sin(x,x)", "x@x", "x**x", "x**0", "__import__('os')", "'x'", "sin(x", "ab*x"]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        series_of(text)
