"""Expressions as people type them, and their Taylor series."""

import re
import warnings
from pathlib import Path

import pytest

from viz_transformer.data import Split, generated_pairs, generated_sources
from viz_transformer.expressions import same_expression
from viz_transformer.series_pairs import (
    MOST,
    MOST_DIGITS,
    MOST_SOURCE,
    MOST_TARGET,
    TEXTBOOK,
    key_of,
    renamed,
    series_of,
    side_of,
)
from viz_transformer.train.tasks.taylor import EXPRESSIONS, TASKS

SAMPLES = {side: generated_pairs(f"generated:taylor/{side}", 400) for side in ("train", "test")}
EXAMPLES = Path(__file__).parents[1] / "checkpoints" / "taylor" / "examples.tsv"


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


@pytest.mark.parametrize("text", [*TEXTBOOK, *(text for side in SAMPLES for text, _ in SAMPLES[side][:10])])
def test_sympy_finds_the_same_series(text: str) -> None:
    from sympy import Symbol, series, sympify  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = str(series(sympify(text), Symbol("x"), 0, 6)).replace(" ", "")
    assert same_expression(series_of(text), found) or same_expression(series_of(text), f"{found}+O(x**6)")


def test_the_same_pairs_are_made_each_time() -> None:
    for side, pairs in SAMPLES.items():
        assert generated_sources(f"generated:taylor/{side}", 40) == [text for text, _ in pairs[:40]]
        assert len({text for text, _ in pairs}) == len(pairs)
    assert [text for text, _ in SAMPLES["train"][:5]] == [
        "a*sinh(d*x-x**3)",
        "2*sin(x)+1",
        "4*cos(-6*x)*x**2",
        "3+tanh(3*x)",
        "b*cosh(2*x+x**3)/3",
    ]


def test_all_kinds_are_made() -> None:
    texts = [text for text, _ in SAMPLES["train"]]
    plain = [text for text in texts if not re.search(r"\b[a-g]\b", text)]
    assert 0.65 * len(texts) < len(plain) < 0.9 * len(texts)
    for form in (
        r"-?\w+\(x\)[+-]\d",  # sin(x)+1
        r"\w+\([^()]*\)[+-]\w+\([^()]*\)",  # two functions
        r"\w+\([^()]*\)\*\w+\([^()]*\)",
        r"x(\*\*\d)?\*\w+\([^()]*\)",  # x**2*exp(x)
        r".*\)\*\*[23].*",
        r".*/\(\d[+-].*x.*\).*",  # 1/(1-x)
        r".*[a-z]\(x/\d\).*",
        r".*[a-z]\(-.*",
    ):
        assert any(re.fullmatch(form, text) for text in plain), form


@pytest.mark.parametrize("side", SAMPLES)
def test_pairs_fit_the_model_and_its_vocabularies(side: str) -> None:
    task = next(task for task in TASKS if task.name == "taylor")
    source, target = task.codecs(task.tokenizers, [])
    for text, series in SAMPLES[side]:
        assert len(EXPRESSIONS.split(text)) <= MOST_SOURCE and len(EXPRESSIONS.split(series)) <= MOST_TARGET
        assert not source.encode(text).unknown and not target.encode(series).unknown
        assert all(len(number) <= MOST_DIGITS for number in re.findall("[0-9]+", series))
        assert "x" in series.removesuffix("O(x**6)")


def test_no_series_is_on_two_sides() -> None:
    keys = {side: {key_of(text) for text, _ in pairs} for side, pairs in SAMPLES.items()}
    textbook = {key_of(text) for text in TEXTBOOK}
    assert not keys["train"] & keys["test"] and not textbook & (keys["train"] | keys["test"])
    assert all(side_of(text) == side for side, pairs in SAMPLES.items() for text, _ in pairs)


def test_a_textbook_expression_is_on_no_side_however_it_is_written() -> None:
    assert len(TEXTBOOK) == len({series_of(text) for text in TEXTBOOK}) == 60
    assert {"sin(x)", "cos(2*x)", "exp(x)", "tan(x)", "cosh(x)", "exp(x)*sin(x)", "1/(1-x)"} < set(TEXTBOOK)
    assert [text for text, _ in Split(file="generated:taylor/textbook", limit=60).read()] == list(TEXTBOOK)
    for text in (*TEXTBOOK, "cos(x)+sin(x)", "1-2*sin(x)**2", "exp(2*x)/exp(x)", "sin(x)+0", "-1/(x-1)", "x/(2*x-x)"):
        assert side_of(text) is None
    assert side_of("sin(5*x)") is not None


def test_a_renaming_that_keeps_the_order_changes_no_side() -> None:
    for text, _ in SAMPLES["train"][:100]:
        for names in ("abc", "bdg"):
            assert side_of(renamed(text, names)) == "train"
    assert renamed("sin(d*x)+b*exp(x)", "cf") == "sin(f*x)+c*exp(x)"


@pytest.mark.parametrize(
    "text", ["log(x)", "x.real", "sin(x,x)", "x@x", "x**x", "x**0", "__import__('os')", "'x'", "sin(x", "ab*x"]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no expression of this grammar"):
        series_of(text)


@pytest.mark.parametrize("text", ["1/(x-x)", "1/(1+cos(a*x)-cos(b*x)-1)", "exp(1+x)", "sin(1/x)", "1/(a+b-x)"])
def test_where_there_is_no_such_series_there_is_none(text: str) -> None:
    assert side_of(text) is None
    with pytest.raises(ZeroDivisionError):
        series_of(text)


def test_too_many_are_refused() -> None:
    with pytest.raises(ValueError, match="100,001 expressions with their series are too many: take at most 100,000"):
        generated_sources("generated:taylor/train", MOST + 1)
