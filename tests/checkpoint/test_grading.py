"""One word for how well an imported model is known to be read right, from its card; a card may be anybody's."""

from __future__ import annotations

from typing import Any

import pytest

from viz_transformer.checkpoint.grading import graded, standing_of

DIGESTS = {"config.json": "0" * 64}


def card(
    grade: str | None = None, origins: tuple[str, ...] = (), passed: bool | None = None, **figures: Any
) -> dict[str, Any]:
    """That of an imported model, with settings of these origins, and what was verified of it."""
    names = ("norm", "activation", "n_heads", "norm_epsilon")
    settings = [{"name": n, "origin": o, "value": 1} for n, o in zip(names, origins, strict=False)]
    found = {"grade": grade, "sentence": "a sentence", "proved": {"passed": passed, "figures": figures}, "of": DIGESTS}
    return {"sha256": DIGESTS, "imported": {"settings": settings}} | ({} if grade is None else {"verified": found})


GUESSED, BEST = "usual answer", "best on the texts"
WORSE = {"passed": True, "figures": {"loss": 3.1, "reported": 2.4, "reported_equal": False}}


@pytest.mark.parametrize(
    ("stated", "words", "tone"),
    [
        (card(), "not proved (no sample)", "plain"),
        (card(origins=("measured", GUESSED)), "not proved (1 guess that decides)", "plain"),
        (card(origins=(GUESSED, GUESSED, "given", GUESSED)), "not proved (2 guesses that decide)", "plain"),
        (card("not proved", (GUESSED,)), "not proved (1 guess that decides)", "plain"),
        (card("not proved", (BEST,)), "not proved (1 guess that decides)", "plain"),
        (card("not proved", (GUESSED, "measured", BEST)), "not proved (2 guesses that decide)", "plain"),
        (card("not proved", ("measured", "measured", "measured")), "not proved (no sample)", "plain"),
        (card("plausible", (GUESSED,)), "not proved (1 guess that decides)", "plain"),
        (card("consistent", (GUESSED,)), "not proved (1 guess that decides)", "plain"),
        (card("not verified", (GUESSED,)), "not proved (1 guess that decides)", "plain"),
        (card("doubtful"), "not proved (no sample)", "warning"),
        (card("failed", passed=False), "wrong by its own sample", "bad"),
        (card("failed", passed=None), "wrong by a second computation", "bad"),
        (card("reproduced", passed=True, untold="x, y"), "not proved (its sample would miss x, y)", "warning"),
        (card("reproduced", passed=True, untold="a; b"), "(its sample would miss 2 wrong readings)", "warning"),
        (card("proved", passed=True, longest_target=40), "proved for texts of up to 40 tokens", "ok"),
        (card("proved", passed=True, longest_source=9, longest_target=9), "proved for texts of up to 9 tokens", "ok"),
        (
            card("proved", passed=True, longest_source=12, longest_target=40),
            "proved for sources of up to 12 and targets of up to 40 tokens",
            "ok",
        ),
        (card("proved", passed=True), "not proved (it was not tried what its sample would miss)", "warning"),
        ({"imported": 3, "verified": [], "sha256": 1}, "not proved (no sample)", "plain"),
    ],
)  # fmt: skip
def test_the_word_follows_from_the_card(stated: dict[str, Any], words: str, tone: str) -> None:
    standing = standing_of(stated)
    assert standing is not None and standing.words.endswith(words) and standing.tone == tone
    assert graded("mine", stated) == f"mine, {standing.words}"


def test_what_was_trained_here_has_no_grade() -> None:
    assert standing_of({"task": "numbers"}) is None and graded("numbers", {}) == "numbers"


def test_texts_that_cost_more_than_the_training_reported_are_said_in_the_colour_of_errors() -> None:
    stated = card("doubtful", (GUESSED,))
    stated["verified"]["texts"] = WORSE
    standing = standing_of(stated)
    assert standing is not None and standing.tone == "bad"
    assert graded("mine", stated) == "mine, doubtful (its texts cost more than its training reported)"


def test_a_grade_is_of_the_folders_present_files() -> None:
    standing = standing_of(card("proved", passed=True, longest_target=40) | {"sha256": {"config.json": "1" * 64}})
    assert standing is not None and standing.words == "not proved (no sample)"


def test_a_text_that_is_longer_than_what_was_proved_is_said() -> None:
    standing = standing_of(card("proved", passed=True, longest_target=40))
    assert standing is not None and standing.beyond({"source": 0, "target": 40}) == ""
    said = standing.beyond({"source": 0, "target": 52})
    assert said.startswith("This text has 52 tokens, and how this model is read is proved for texts of up to 40 tokens")
    both = standing_of(card("proved", passed=True, longest_source=12, longest_target=40))
    assert both is not None and both.beyond({"source": 13, "target": 9}).startswith("The source has 13 tokens")
    failed = standing_of(card("failed", passed=False))
    assert failed is not None and failed.beyond({"source": 0, "target": 999}) == ""
