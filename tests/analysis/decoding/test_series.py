"""Series against sympy's own and cases worked by hand; verdicts on right, wrong, cut off and hostile answers."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sympy  # type: ignore[import-untyped]
from in_turn import every

from viz_transformer.analysis.decoding import series as module
from viz_transformer.analysis.decoding.series import series, verdict
from viz_transformer.measuring import expression_trees
from viz_transformer.measuring.expression_trees import ExpressionError, parse
from viz_transformer.measuring.expressions import same_expression

X = sympy.Symbol("x")
SIN = "a*x-a**3*x**3/6+a**5*x**5/120+O(x**6)"
LAURENT_SOURCE = "cosh(g*x)/sin(f*x)"
LAURENT = "1/(f*x)+x*(f/6+g**2/(2*f))+x**3*(7*f**3/360+f*g**2/12+g**4/(24*f))"
LAURENT += "+x**5*(31*f**5/15120+7*f**3*g**2/720+f*g**4/144+g**6/(720*f))+O(x**6)"


# --- The series --------------------------------------------------------------------------------------------------


def equal(one: str, other: object) -> bool:
    return bool(sympy.cancel(sympy.sympify(one) - sympy.sympify(other)) == 0)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("sin(a*x)", {1: "a", 3: "-a**3/6", 5: "a**5/120"}),
        ("cos(x)", {0: "1", 2: "-1/2", 4: "1/24"}),
        ("tan(x)", {1: "1", 3: "1/3", 5: "2/15"}),
        ("tanh(2*b*x)", {1: "2*b", 3: "-8*b**3/3", 5: "64*b**5/15"}),
        ("sinh(x)-sin(x)", {3: "1/3"}),
        ("exp(-d*x)", {0: "1", 1: "-d", 2: "d**2/2", 3: "-d**3/6", 4: "d**4/24", 5: "-d**5/120"}),
        ("exp(x*(-c+d))-1-x*(d-c)-(d-c)**2*x**2/2-(d-c)**3*x**3/6-(d-c)**5*x**5/120", {4: "(d-c)**4/24"}),
        # 1/sin t = 1/t + t/6 + 7 t**3/360 + 31 t**5/15120
        ("1/sin(a*x)", {-1: "1/a", 1: "a/6", 3: "7*a**3/360", 5: "31*a**5/15120"}),
        ("sin(a*x)**(-2)", {-2: "1/a**2", 0: "1/3", 2: "a**2/15", 4: "2*a**4/189"}),
        ("sinh(b*x)**2/sinh(f*x)**2*f**2/b**2-1-x**2*(b**2-f**2)/3", {4: "2*b**4/45-b**2*f**2/9+f**4/15"}),
        # (a*x + b*x + ...): the first coefficient has two terms; 1/(s*x - s3*x**3/6 ...) = 1/(s*x) + s3*x/(6*s**2) ...
        ("x/(sin(a*x)+sin(b*x))*(a+b)-1", {2: "(a**3+b**3)/(6*(a+b))", 4: None}),
        ("1/(a+b*x)", {k: f"(-b)**{k}/a**{k + 1}" for k in range(6)}),
        ("1/(1-cos(x))", {-2: "2", 0: "1/6", 2: "1/120", 4: "1/3024"}),
        ("x**9/x**7", {2: "1"}),
        ("exp(x/a)*x**4", {4: "1", 5: "1/a"}),
        ("exp(sin(x))", {0: "1", 1: "1", 2: "1/2", 4: "-1/8", 5: "-1/15"}),
        ("cosh(a*x)**2-sinh(a*x)**2", {0: "1"}),
        ("sin(a*x)**2+cos(a*x)**2", {0: "1"}),
        ("tan(a*x)-sin(a*x)/cos(a*x)", {}),
        ("exp(a*x)*exp(b*x)-exp(x*(a+b))", {}),
        ("tan(a*x+b*x)*(1-tan(a*x)*tan(b*x))-tan(a*x)-tan(b*x)", {}),
        ("tanh(a*x)*cosh(a*x)/sinh(a*x)", {0: "1"}),
        ("sin(0*x)+cos(x-x)", {0: "1"}),
        ("3*a/2/a", {0: "3/2"}),
    ],
)
def test_series_worked_by_hand(source: str, wanted: dict[int, str | None]):
    found = series(source)
    assert set(found) == set(wanted)
    for power, coefficient in wanted.items():
        assert coefficient is None or equal(found[power], coefficient), (power, found[power])


FACTORS = "exp sin cos tan sinh cosh tanh".split()


def in_the_style_of_the_task(generator: random.Random) -> str:
    """Two factors, as the tutorial's file has them: f(s*x), some squared or cubed, joined by one sign."""

    def factor() -> str:
        inside = f"{generator.choice('abcdfgh')}*x"
        power = generator.choice(["**2", "**3"]) if generator.random() < 0.2 else ""
        return f"{generator.choice(FACTORS)}({inside}){power}"

    return f"{generator.choice(['', '-'])}{factor()}{generator.choice('+-*/')}{factor()}"


@pytest.mark.parametrize("source", every(3, (in_the_style_of_the_task(random.Random(seed)) for seed in range(36))))
def test_sympy_has_the_same_series(source: str):
    """sympy.series goes another way, by limits and derivatives of the whole expression."""
    found = series(source)
    reference = sympy.expand(sympy.series(sympy.sympify(source), X, 0, 6).removeO())
    for power in range(-3, 6):
        assert equal(found.get(power, "0"), reference.coeff(X, power)), power
    assert min(found) >= -3
    assert not sympy.expand(reference - sum(reference.coeff(X, power) * X**power for power in range(-3, 6)))


@pytest.mark.parametrize(
    "source",
    [
        "exp(2*d*x)/sin(g*x)**3-cosh(f*x)*tan(b*x)**2+tanh(a*x)",
        "tan(c*x)*sinh(c*x)**3*tanh(g*x)/(sin(c*x)*cosh(g*x))",
        "exp(3*f*x+2*g*x)*cos(b*x)-sinh(d*x)/(cos(a*x)*tan(b*x))",
        "1/(exp(a*x)-exp(b*x))",
        "sin(a*x)/(tan(b*x)+sinh(c*x))",
    ],
)
def test_longer_series_have_the_values_of_their_sources(source: str):
    """At small x, the source less the series is about x**6 times a number: halving x divides it by about 64.

    Worked out with 60 digits, so that rounding plays no part.
    """
    numbers = {"a": "1.1", "b": "0.7", "c": "-0.4", "d": "1.3", "f": "0.9", "g": "-1.2"}
    values = {sympy.Symbol(name): sympy.Rational(value) for name, value in numbers.items()}
    function = sympy.sympify(source).subs(values)
    found = sum(sympy.sympify(text).subs(values) * X**power for power, text in series(source).items())
    gaps = [sympy.N((function - found).subs(X, sympy.Rational(1, n)), 60) for n in (1000, 2000)]
    assert gaps[1] != 0
    assert gaps[0] / gaps[1] == pytest.approx(64, rel=0.01) or gaps[0] / gaps[1] == pytest.approx(128, rel=0.01)


def test_a_series_of_five_factors_takes_a_fraction_of_a_second():
    series("sin(x)")  # the import of sympy
    start = time.process_time()
    found = series("exp(2*d*x)/sin(g*x)**3-cosh(f*x)*tan(b*x)**2+tanh(a*x)/sinh(c*x)**2+sin(f*x)/(cos(a*x)*tan(b*x))")
    assert time.process_time() - start < 0.2
    assert min(found) == -3


# --- Verdicts ----------------------------------------------------------------------------------------------------

RIGHT = "Right: equal to the series by sympy, coefficient by coefficient."


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("sin(a*x)", SIN),
        ("sin(a*x)", "O(x**6) + a*x*(1 - a**2*x**2/6 + a**4*x**4/120)"),
        ("sin(a*x)", SIN + "+7*x**6-b*x**9"),  # in O(x**6)
        (LAURENT_SOURCE, LAURENT),
        (LAURENT_SOURCE, LAURENT.replace("1/(f*x)", "x**-1/f").replace("g**2/(2*f)", "2**-1*g*g*f**(-1)")),
        ("exp(a*x)*exp(-a*x)", "1+O(x**6)"),
        ("x-x", "O(x**6)"),
        ("1/(a+b*x)*a**6", "a**5-a**4*b*x+a**3*b**2*x**2-a**2*b**3*x**3+a*b**4*x**4-b**5*x**5+O(x**6)"),
        ("x*(a**2-b**2)/(a-b)", "a*x+b*x+O(x**6)"),
        ("tanh(f*x)/sin(b*x)", "f/b+x**2*(b*f/6-f**3/(3*b))+x**4*(7*b**3*f/360-b*f**3/18+2*f**5/(15*b))+O(x**6)"),
    ],
)
def test_the_series_in_any_form_is_right(source: str, answer: str):
    found = verdict(source, answer)
    assert (found.kind, found.sentence) == ("right", RIGHT)
    assert (found.power, found.wanted, found.written) == (None, None, None)


@pytest.mark.parametrize(
    ("source", "answer", "power", "wanted", "written", "sentence"),
    [
        (
            "sinh(a*x)",
            "a*x+a**3*x**3/3+a**5*x**5/120+O(x**6)",
            3,
            "a**3/6",
            "a**3/3",
            "Wrong at x**3: it should be a**3/6, the model wrote a**3/3.",
        ),
        ("sin(a*x)", SIN.replace("a*x", "b*x", 1), 1, "a", "b", "Wrong at x: it should be a, the model wrote b."),
        (
            "cos(a*x)",
            "2-a**2*x**2/2+a**4*x**4/24+O(x**6)",
            0,
            "1",
            "2",
            "Wrong in the term without x: it should be 1, the model wrote 2.",
        ),
        (
            "1/sin(a*x)",
            "1/x+a*x/6+O(x**6)",
            -1,
            "1/a",
            "1",
            "Wrong at 1/x: it should be 1/a, the model wrote 1.",
        ),
        (
            "sin(a*x)**(-2)",
            "1/3+O(x**6)",
            -2,
            "1/a**2",
            "0",
            "Wrong at 1/x**2: it should be 1/a**2, the model wrote no such term.",
        ),
        (
            "sin(a*x)",
            SIN + "-b*x**2",
            2,
            "0",
            "-b",
            "Wrong at x**2: there should be no such term, the model wrote -b.",
        ),
        (  # the first of two, though written last
            "sin(a*x)",
            "a**5*x**5/100+a*x+O(x**6)-a**3*x**3/3",
            3,
            "-a**3/6",
            "-a**3/3",
            "Wrong at x**3: it should be -a**3/6, the model wrote -a**3/3.",
        ),
    ],
)
def test_the_first_wrong_coefficient_is_named(source, answer, power, wanted, written, sentence):
    found = verdict(source, answer)
    assert (found.kind, found.power, found.wanted, found.written) == ("wrong", power, wanted, written)
    assert found.sentence == sentence


def test_each_coefficient_alone_is_found_out_when_it_is_wrong():
    source = "cosh(g*x)/sin(f*x)+exp(a*x)"
    coefficients = series(source)
    assert list(coefficients) == [-1, 0, 1, 2, 3, 4, 5]

    def written(changed: dict[int, str]) -> str:
        terms = {**coefficients, **changed}
        return "+".join(f"({terms[power]})*x**({power})" for power in terms) + "+O(x**6)"

    assert verdict(source, written({})).kind == "right"
    for power, coefficient in coefficients.items():
        for wrong in (f"2*({coefficient})", f"-({coefficient})", f"{coefficient}+1/1000000", f"{coefficient}+h", "0"):
            found = verdict(source, written({power: wrong}))
            assert (found.kind, found.power) == ("wrong", power)
            assert found.wanted == coefficient
            assert found.written is not None
            assert equal(found.written, wrong)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (SIN.replace("+O(x**6)", ""), "Wrong: the coefficients are right, but O(x**6) is missing."),
        (SIN.replace("O(x**6)", "O(x**7)"), "Wrong: it ends with O(x**7) and not with O(x**6)."),
        (SIN.replace("O(x**6)", "O(a**6)"), "Wrong: it ends with O(a**6) and not with O(x**6)."),
        ("a*x+O(x)", "Wrong: it ends with O(x) and not with O(x**6)."),
        # What stands below the O term is right; what O(x**3) leaves open is not called wrong.
        ("a*x+O(x**3)", "Wrong: it ends with O(x**3) and not with O(x**6)."),
        ("b*x+O(x**3)", "Wrong at x: it should be a, the model wrote b."),
        ("a*x", "Wrong at x**3: it should be -a**3/6, the model wrote no such term."),
    ],
)
def test_a_missing_or_another_o_term_is_wrong(answer: str, sentence: str):
    found = verdict("sin(a*x)", answer)
    assert (found.kind, found.sentence) == ("wrong", sentence)


def test_powers_of_x_from_the_sixth_on_are_not_compared():
    """The quotient makes the series known beyond x**7, which an answer need not have."""
    assert verdict("x**7/x**7-1+sin(a*x)", SIN.replace("O(x**6)", "O(x**8)")).sentence == (
        "Wrong: it ends with O(x**8) and not with O(x**6)."
    )


def test_an_answer_cut_off_anywhere_is_not_right():
    assert verdict(LAURENT_SOURCE, LAURENT).kind == "right"
    kinds = [verdict(LAURENT_SOURCE, LAURENT[:end]).kind for end in range(len(LAURENT))]
    assert set(kinds) == {"wrong", "unreadable"}
    assert verdict(LAURENT_SOURCE, "1/(f*x)+x*(f/6+").sentence == (
        "Not checked: the answer ends where a number, a name or a parenthesis should follow."
    )


# --- What cannot be read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("x^2", "has “^”, which is not a sign of an expression"),
        ("sin(x); x", "has “;”, which is not a sign of an expression"),
        ("x**0.5", "has “.”, which is not a sign of an expression"),
        ("x\x00", "has the character U+0000, which is not a sign of an expression"),
        ("²", "has “²”, which is not a sign of an expression"),
        ("٣", "has “٣”, which is not a sign of an expression"),
        ("<b>x</b>", "has “<”, which is not a sign of an expression"),
        ("2x", "has “x” where a sign is expected"),
        ("x)", "has “)” where a sign is expected"),
        ("(x", "ends where “)” should follow"),
        ("sin x", "has “x” where “(” is expected"),
        ("sin", "ends where “(” should follow"),
        ("x+*x", "has “*” where a number, a name or a parenthesis is expected"),
        ("x//x", "has “/” where a number, a name or a parenthesis is expected"),
        ("x+", "ends where a number, a name or a parenthesis should follow"),
        ("x**a", "has an exponent that is not a whole number from -100 to 100"),
        ("x**(1/2)", "has an exponent that is not a whole number from -100 to 100"),
        ("x**101", "has an exponent that is not a whole number from -100 to 100"),
        ("10**9**9**9", "has an exponent that is not a whole number from -100 to 100"),
        ("x**-(10**3)", "has an exponent that is not a whole number from -100 to 100"),
        ("x*O(x**6)", "has an O term inside another term"),
        ("(O(x**6))", "has an O term inside another term"),
        ("x+O(x)+O(x)", "has two O terms"),
        ("O(6)", "has “6” where a name is expected"),
        ("O(x**-1)", "has an O term with a power below 1"),
        ("O(x*a)", "has “*” where “)” is expected"),
        ("(" * 300 + "x" + ")" * 300, "is nested more than 40 deep"),
        ("-" * 1999 + "x", "is nested more than 40 deep"),
        ("x" + "**1" * 600, "is nested more than 40 deep"),
        ("9" * 1999, "has a number of more than 30 digits"),
        ("x+" * 100_000 + "x", "has more than 2,000 characters"),
        ("+".join(f"{a}{b}" for a in "abcde" for b in "abcde"), "has more than 20 names"),
    ],
    ids=lambda value: value[:12],
)
def test_what_is_no_expression_is_refused_with_the_reason(text: str, reason: str):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert str(caught.value) == reason
    found, other = verdict(text, SIN), verdict("sin(a*x)", text)
    assert found.kind == other.kind == "unreadable"
    if where := re.fullmatch("has (.*) where (.*) is expected", reason):
        found, other = (replace(each, sentence=each.sentence.partition(" Write ")[0]) for each in (found, other))
        assert found.sentence == f"Not checked: expected {where[2]} before {where[1]} in the source."
        assert other.sentence == f"Not checked: expected {where[2]} before {where[1]} in the answer."
    else:
        assert found.sentence == f"Not checked: the source {reason}."
        assert other.sentence == f"Not checked: the answer {reason}."


def test_a_function_without_parentheses_is_not_called_wrong_and_how_to_write_it_is_said():
    found = verdict("tan x", "x+x**3/3+2*x**5/15+O(x**6)")
    assert (found.kind, found.sentence) == (
        "unreadable",
        "Not checked: expected “(” before “x” in the source. Write tan(x).",
    )
    assert "Write" not in verdict("sin +", SIN).sentence


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("1/(x-x)", "divides by zero"),
        ("0**-1", "divides by zero"),
        ("sin(a)", "has sin of something that is not 0 at x = 0"),
        ("exp(1/x)", "has exp of something that is not 0 at x = 0"),
        ("exp(cos(x))", "has exp of something that is not 0 at x = 0"),
        ("1/(cosh(x)**2-sinh(x)**2-1)", "has no series that 48 powers of x would show"),
        ("1/x**90", "has no series that 48 powers of x would show"),
        ("((((9**100)**100)**100)**100)**100", "is too large to be computed"),
        ("(a+b+c+d+f+g)**100", "is too large to be computed"),
        ("((((a+b)**9)**9)**9)**9", "is too large to be computed"),
        ("*".join(["(a+b)**100"] * 150), "is too large to be computed"),
        ("1" + "".join(f"+1/(a+{n}*b)" for n in range(150)), "is too large to be computed"),
        ("*".join(f"exp({name}*x)" for name in "abcdefghijklmnopqrs"), "is too large to be computed"),
        ("/".join(["sin(a*x+b*x)"] * 100), "is too large to be computed"),
        ("(a+b+c+d+e+f+g+h+i+j+k+l)**4", "has a coefficient of more than 1,000 terms"),
    ],
    ids=lambda value: value[:12],
)
def test_what_has_no_series_within_the_limits_is_given_up_soon(source: str, reason: str):
    """Some would take for ever or all memory if they were calculated; 0.3 s is the most that was measured."""
    start = time.process_time()
    found = verdict(source, SIN)
    assert time.process_time() - start < 3
    assert (found.kind, found.sentence) == ("unreadable", f"Not checked: the source {reason}.")
    with pytest.raises(ExpressionError, match=reason):
        series(source)


def test_an_answer_is_worked_out_within_the_limits_too():
    assert verdict("x", "1/(x-x)").sentence == "Not checked: the answer divides by zero."
    assert verdict("x", "(a+b+c+d+f+g)**100").sentence == "Not checked: the answer is too large to be computed."


def test_o_terms_and_functions_stand_on_their_own_side():
    assert verdict("x+O(x**6)", "x+O(x**6)").sentence == (
        "Not checked: the source has an O term, which belongs in the answer."
    )
    assert verdict("sin(a*x)", "sin(a*x)+O(x**6)").sentence == (
        "Not checked: the answer has sin: a series has powers of x alone."
    )


def test_a_coefficient_too_long_for_a_sentence_is_not_written_out():
    name = "b" * 400
    assert verdict("a*x", f"{name}*x+O(x**6)").sentence == (
        "Wrong at x: it should be a, the model wrote an expression of 400 characters."
    )


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
    assert verdict(text, SIN).kind == verdict("sin(a*x)", text).kind == "unreadable"
    assert not list(tmp_path.iterdir())


def test_names_are_names_whatever_they_are_called():
    """Words that Python, sympy or LaTeX know are names like others."""
    for name in ("import", "E", "I", "pi", "oo", "zoo", "nan", "S", "N", "Symbol", "lambda", "frac", "e"):
        assert verdict(f"sin({name}*x)", SIN.replace("a", name)).kind == "right", name
        assert verdict(f"{name}**2*x", "-x+O(x**6)").wanted == f"{name}**2"


def powers(name: str, count: int) -> str:
    return "(" + "+".join(f"{name}**{k}" for k in range(count)) + ")"


LETTERS = "bcdefghijklmnopqrstuvwyz"


@pytest.mark.parametrize(
    ("limit", "form"),
    [
        ("MAX_CHARACTERS", lambda n: "a" + " " * (n - 3) + "*x"),
        ("MAX_DIGITS", lambda n: "1" * n + "*x"),
        ("MAX_EXPONENT", lambda n: f"a**{n}*x"),
        ("MAX_NESTING", lambda n: "(" * (n - 1) + "a*x" + ")" * (n - 1)),
        ("MAX_NAMES", lambda n: "x*(" + "+".join(LETTERS[: n - 1]) + ")"),
        ("MAX_POWERS", lambda n: f"x**{n - 1}/x**{n - 2}"),
        ("MAX_TERMS", lambda n: f"{powers('a', 40)}*{powers('b', 25)}*x" + "+c*x" * (n - 1000)),
    ],
)
def test_the_largest_that_is_read_is_as_large_as_the_limit_says(limit: str, form: Callable[[int], str]):
    most = getattr(expression_trees, limit, None) or getattr(module, limit)
    assert list(series(form(most)))[-1] == 1
    with pytest.raises(ExpressionError):
        series(form(most + 1))


def test_random_characters_never_raise():
    generator = random.Random(5)
    alphabet = [*"xab0123+-*/()", "**", "sin(", "exp(", "O(x**6)", "é", "\u202e", "🙂", "_", ".", "\n", "\\", "$", "{"]
    kinds = set()
    for _ in range(1500):
        one, other = ("".join(generator.choices(alphabet[: generator.choice([13, 17, 26])], k=9)) for _ in "12")
        kinds.add(verdict(one, "x+O(x**6)").kind)
        kinds.add(verdict("sin(x)", other).kind)
    assert kinds == {"unreadable", "wrong"}


def random_expression(generator: random.Random, depth: int = 3) -> str:
    if depth == 0 or generator.random() < 0.2:
        return generator.choice(["a", "b", "x", "2", "3", "7"])
    one, other = random_expression(generator, depth - 1), random_expression(generator, depth - 1)
    forms = [f"{one}+{other}", f"{one}-{other}", f"({one})*({other})", f"({one})/({other})", f"-({one})"]
    return generator.choice([*forms, f"({one})**{generator.choice(['2', '3', '(-1)'])}", f"{one}*{other}"])


def reads(text: str) -> bool:
    try:
        parse(text)
    except ExpressionError:
        return False
    return True


def test_what_the_measure_of_a_model_reads_is_read_here_too():
    """`same_expression` and `parse` have one grammar: on expressions in which a token was changed, too."""
    generator = random.Random(2)
    tokens = ["x", "2", "+", "-", "*", "/", "**", "(", ")", "O(x**6)", "sin", "O"]
    seen = {True: 0, False: 0}
    for _ in range(2000):
        text = random_expression(generator)
        place = generator.randrange(len(text))
        text = text[:place] + generator.choice(tokens) + text[place + generator.choice([0, 1]) :]
        read = reads(text)
        measured = same_expression(text, f"{text}+0")
        if measured and not read:  # parse wants a whole number where same_expression works one out
            with pytest.raises(ExpressionError, match="exponent"):
                parse(text)
        elif read and not measured and parse(text).order is None:  # read, but not to be calculated
            with pytest.raises(ExpressionError, match=r"divides by zero|too large"):
                series(text)
        seen[read] += 1
    assert min(seen.values()) >= 300


def test_powers_and_signs_bind_as_in_python():
    for text, value in [("-2**2", "-4"), ("2**3**2", "512"), ("2**-1", "1/2"), ("(-2)**2", "4"), ("8/4/2", "1")]:
        assert series(text) == {0: value}
    assert series("--x*-2") == {1: "-2"}
    assert series("7-3-2") == {0: "2"}
