"""What a search with a pattern of anybody's tokenizer.json costs, told by its form."""

from __future__ import annotations

import pytest

from viz_transformer.text.patterns import LONGEST_PATTERN, pattern_cost

# As published tokenizers have them, by the number of repetitions that what follows may make shorter again.
PUBLISHED = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": 1,
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)"
    r"|\s+": 1,
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t)?|\p{N}{1,3}": 1,
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*": 0,
    r" ?[^(\s|[.,!?…。，、।۔،])]+": 0,
    r"[一-龥぀-ゟ゠-ヿ]+": 0,
    r"[0-9][0-9][0-9]": 0,
    r"\d{1,3}(?=(?:\d{3})*\b)": 1,
    r" {2,}": 0,
    r"\s{2,}|[\n\r\t]": 0,
    r"\A +|(?<= ) +": 0,
    r"(?<!▁)▁+\z": 0,
    r"(?<=[^▁])▁*\z|\A▁+\z": 0,
}
HOSTILE = (
    *(r"(a+)+$", r"(a|a)*$", r"(.*)*\d", r"(?:a?){30}a{30}", r"(a{1,60}){1,60}$", r"(?:a|ab)*c", r"(a*b*)*c"),
    *(r".*.*x", r"a*a*b", r"\s*\s*x", r"\p{L}+\p{L}+\d", r"(?:.*x)?.*y", r"(?=.*.*x)", r"[^x]*(?:[^x]*)x"),
    *(r"(a)\1+", r"\k<a>", r"(?<a>b\g<a>?)", r"(?(1)a|b)", r"(?~abc)", r"(?{f})", r"(*FAIL)", r"(?x: a)", r"a\Kb"),
    *(r"\p{N}{1,3}+x", r"a**", r"(a?b?c?d?e?f?g?h?i?j?k?l?m?)", "(" * 50 + ")" * 50, "[" * 50, "(a", "a)", "[a", "*"),
    *("a{99999}", "a" * (LONGEST_PATTERN + 1), "a{2}{3}", r"(?<a>b)"),
)


@pytest.mark.parametrize("pattern", PUBLISHED, ids=range(len(PUBLISHED)))
def test_published_patterns_are_read(pattern: str) -> None:
    assert pattern_cost(pattern).degree == PUBLISHED[pattern]


@pytest.mark.parametrize(
    ("pattern", "searched"),
    [
        *((pattern, pattern.startswith(r"\d")) for pattern in PUBLISHED),
        (r"a+b|c", True),
        (r"a+b|a+", False),
        (r"a+b|a+(?!c)|a+", False),
        (r"a+b|a|a+", True),
        (r"a+b|c+|a+", True),
        (r"a+b|a+c", True),
        (r"a+b|a+?|a+", True),
        (r"[ab][ab]*c|[ab]+", True),
        (r"(?:a*b)|a+", True),
    ],
    ids=range(len(PUBLISHED) + 9),
)
def test_an_alternative_that_takes_in_what_was_repeated_for_nothing_ends_the_search(
    pattern: str, searched: bool
) -> None:
    assert pattern_cost(pattern).searched == searched


@pytest.mark.parametrize("pattern", HOSTILE, ids=lambda pattern: ascii(pattern)[:30])
def test_one_that_may_take_for_ever_is_refused_in_a_sentence(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"may take forever|characters, at most") as raised:
        pattern_cost(pattern)
    assert len(str(raised.value).splitlines()) == 1 and len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("pattern", "least"), [("", 0), ("a", 1), ("ab|c", 1), (" {2,}", 2), ("a*", 0), ("a?b", 1), (r"\b", 0), ("(ab)", 2)]
)
def test_what_it_matches_at_least(pattern: str, least: int) -> None:
    assert pattern_cost(pattern).least == least
