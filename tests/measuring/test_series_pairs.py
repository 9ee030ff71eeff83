"""Expressions as people type them, and their Taylor series."""

import re
import warnings

import pytest

from viz_transformer.measuring.data import Split, generated_pairs, generated_sources
from viz_transformer.measuring.expressions import same_expression
from viz_transformer.measuring.power_series import series_of
from viz_transformer.measuring.series_pairs import (
    MAX_DIGITS,
    MAX_SOURCE,
    MAX_TARGET,
    MOST,
    TEXTBOOK,
    key_of,
    renamed,
    side_of,
)
from viz_transformer.train.tasks.taylor import EXPRESSIONS, TASKS

Samples = dict[str, list[tuple[str, str]]]


@pytest.fixture(scope="module")
def samples() -> Samples:
    """400 pairs of each part, by its name."""
    return {side: generated_pairs(f"generated:taylor/{side}", 400) for side in ("train", "test")}


def test_sympy_finds_the_same_series(samples: Samples) -> None:
    from sympy import Symbol, series, sympify  # type: ignore[import-untyped]

    other = []
    texts = [*TEXTBOOK, *(text for pairs in samples.values() for text, _ in pairs[:10])]
    for text in texts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = str(series(sympify(text), Symbol("x"), 0, 6)).replace(" ", "")
        ours = series_of(text)
        if not (same_expression(ours, found) or same_expression(ours, f"{found}+O(x**6)")):
            other.append((text, ours, found))
    assert not other and len(texts) == len(TEXTBOOK) + 20


def test_the_same_pairs_are_made_each_time(samples: Samples) -> None:
    for side, pairs in samples.items():
        assert generated_sources(f"generated:taylor/{side}", 40) == [text for text, _ in pairs[:40]]
        assert len({text for text, _ in pairs}) == len(pairs)
    assert [text for text, _ in samples["train"][:5]] == [
        "a*sinh(d*x-x**3)",
        "2*sin(x)+1",
        "4*cos(-6*x)*x**2",
        "3+tanh(3*x)",
        "b*cosh(2*x+x**3)/3",
    ]


def test_all_kinds_are_made(samples: Samples) -> None:
    texts = [text for text, _ in samples["train"]]
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


@pytest.mark.parametrize("side", ["train", "test"])
def test_pairs_fit_the_model_and_its_vocabularies(side: str, samples: Samples) -> None:
    task = next(task for task in TASKS if task.name == "taylor")
    source, target = task.codecs(task.tokenizers, [])
    for text, series in samples[side]:
        assert len(EXPRESSIONS.split(text)) <= MAX_SOURCE and len(EXPRESSIONS.split(series)) <= MAX_TARGET
        assert not source.encode(text).unknown and not target.encode(series).unknown
        assert all(len(number) <= MAX_DIGITS for number in re.findall("[0-9]+", series))
        assert "x" in series.removesuffix("O(x**6)")


def test_no_series_is_on_two_sides(samples: Samples) -> None:
    keys = {side: {key_of(text) for text, _ in pairs} for side, pairs in samples.items()}
    textbook = {key_of(text) for text in TEXTBOOK}
    assert not keys["train"] & keys["test"] and not textbook & (keys["train"] | keys["test"])
    assert all(side_of(text) == side for side, pairs in samples.items() for text, _ in pairs)


def test_a_textbook_expression_is_on_no_side_however_it_is_written() -> None:
    assert len(TEXTBOOK) == len({series_of(text) for text in TEXTBOOK}) == 60
    assert {"sin(x)", "cos(2*x)", "exp(x)", "tan(x)", "cosh(x)", "exp(x)*sin(x)", "1/(1-x)"} < set(TEXTBOOK)
    assert [text for text, _ in Split(file="generated:taylor/textbook", limit=60).read()] == list(TEXTBOOK)
    for text in (*TEXTBOOK, "cos(x)+sin(x)", "1-2*sin(x)**2", "exp(2*x)/exp(x)", "sin(x)+0", "-1/(x-1)", "x/(2*x-x)"):
        assert side_of(text) is None
    assert side_of("sin(5*x)") is not None


def test_a_renaming_that_keeps_the_order_changes_no_side(samples: Samples) -> None:
    for text, _ in samples["train"][:100]:
        for names in ("abc", "bdg"):
            assert side_of(renamed(text, names)) == "train"
    assert renamed("sin(d*x)+b*exp(x)", "cf") == "sin(f*x)+c*exp(x)"


@pytest.mark.parametrize("text", ["1/(x-x)", "1/(1+cos(a*x)-cos(b*x)-1)", "exp(1+x)", "sin(1/x)", "1/(a+b-x)"])
def test_where_there_is_no_such_series_there_is_none(text: str) -> None:
    assert side_of(text) is None
    with pytest.raises(ZeroDivisionError):
        series_of(text)


def test_too_many_are_refused() -> None:
    with pytest.raises(ValueError, match="100,001 expressions with their series are too many, at most 100,000"):
        generated_sources("generated:taylor/train", MOST + 1)
