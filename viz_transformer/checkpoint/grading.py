"""How well it is known that an imported model is read as it was trained: the one word for it, wherever its numbers are.

It follows from the model's card, so whoever opens a link, a picture or a table of it is told the same. What was trained
here, and a folder of transformers, has no grade: nothing of these was guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from viz_transformer.checkpoint.describe import describe_verification
from viz_transformer.sentences import count_of, put_on_one_line

Tone = Literal["ok", "plain", "warning", "bad"]
_TONES: tuple[Tone, ...] = get_args(Tone)

IMPORTED, VERIFIED = "imported", "verified"
"""The entries of a card that an import and a verification write."""
LONGEST, UNTOLD = "longest_", "untold"
"""Figures of a sample that is reproduced: before the name of a side, up to how many of its tokens it proves anything;
and the wrong readings that it would miss."""
DECIDING = frozenset(
    "n_heads norm norm_kind divisor positions embedding_scale activation merge causal qkv_order rotary_pairs".split()
)
"""Settings that no shape tells and that change every number."""
GUESSED = ("usual answer", "best on the texts")
"""Where the value of a guess comes from."""


@dataclass(frozen=True)
class Standing:
    """How well a reading is known. words: to stand behind the model's name; sentence: the evidence; longest: for each
    side, up to how many tokens it is proved, without any where it is not."""

    words: str
    tone: Tone
    sentence: str
    longest: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, str]:
        """Its words and its tone, as JSON values; what the evidence is stands on the card."""
        return {"words": self.words, "tone": self.tone}

    def beyond(self, lengths: Mapping[str, int]) -> str:
        """What is said of texts of so many tokens that are longer than those that it is proved for; "" if none is."""
        longer = [side for side, most in self.longest.items() if lengths.get(side, 0) > most]
        if not longer:
            return ""
        what = "This text" if len(self.longest) == 1 else f"The {longer[0]}"
        length = count_of(lengths[longer[0]], "token")
        return (
            f"{what} has {length}, and how this model is read is {self.words}: an attention that reaches no further"
            " than that would not have been noticed."
        )


def standing_of(card: Mapping[str, Any]) -> Standing | None:
    """The grade that a card states of its folder's present files; None for a model of which nothing was guessed."""
    if IMPORTED not in card:
        return None
    grade, sentence = describe_verification(card) or ("not verified", "No sample was given to compare with.")
    proved = _mapping(_mapping(card.get(VERIFIED)).get("proved"))
    figures = _mapping(proved.get("figures"))
    if grade == "failed":
        by_sample = proved.get("passed") is False
        return Standing(f"wrong by {'its own sample' if by_sample else 'a second computation'}", "bad", sentence)
    if grade == "reproduced":
        untold = [each for each in str(figures.get(UNTOLD)).split("; ") if each]
        few = put_on_one_line(untold[0]) if len(untold) == 1 else f"{len(untold)} wrong readings"
        return Standing(f"not proved (its sample would miss {few})", "warning", sentence)
    if grade == "proved":
        longest = {side: most for side in ("source", "target") if type(most := figures.get(f"{LONGEST}{side}")) is int}
        if longest:
            return Standing(f"proved for {texts_up_to(longest)}", "ok", sentence, longest)
        return Standing("not proved (it was not tried what its sample would miss)", "warning", sentence)
    if grade == "doubtful" and _mapping(_mapping(_mapping(card[VERIFIED]).get("texts")).get("figures")):
        return Standing("doubtful (its texts cost more than its training reported)", "bad", sentence)
    return Standing(f"not proved ({_guesses(card)})", "warning" if grade == "doubtful" else "plain", sentence)


def read_standing(stated: Mapping[str, Any]) -> Standing | None:
    """The grade in a saved trace, which may be anybody's; None if it is none."""
    words, tone = stated.get("words"), next((each for each in _TONES if each == stated.get("tone")), None)
    return None if tone is None or not isinstance(words, str) else Standing(put_on_one_line(words, 120), tone, "")


def texts_up_to(longest: Mapping[str, int]) -> str:
    """For which texts a reading is proved: "texts of up to 40 tokens"."""
    if len({*longest.values()}) == 1:
        return f"texts of up to {count_of(next(iter(longest.values())), 'token')}"
    each = " and ".join(f"{side}s of up to {most:,}" for side, most in longest.items())
    return f"{each} tokens"


def graded(name: str, card: Mapping[str, Any]) -> str:
    """The model's name, and how well it is known that it is read right, as a caption has them."""
    standing = standing_of(card)
    return name if standing is None else f"{name}, {standing.words}"


def _guesses(card: Mapping[str, Any]) -> str:
    settings = _mapping(card.get(IMPORTED)).get("settings")
    given = [_mapping(each) for each in settings] if isinstance(settings, list) else []
    count = sum(each.get("origin") in GUESSED and each.get("name") in DECIDING for each in given)
    if not count:
        return "no sample"
    return "1 guess that decides" if count == 1 else f"{count} guesses that decide"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
