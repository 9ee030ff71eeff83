"""Evidence that an imported model is read as it was trained: one grade, used wherever its numbers appear.

The grade follows from the model's card, so links, pictures and tables agree. Models trained here and folders of
transformers have none: nothing about them was guessed.
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
"""Card keys written by an import and by a verification."""
LONGEST, UNTOLD = "longest_", "untold"
"""Figures of a reproduced sample: prefix, before a side, of the longest proved length; wrong readings it would miss."""
DECIDING = frozenset(
    "n_heads norm norm_kind divisor positions embedding_scale activation merge causal qkv_order rotary_pairs".split()
)
"""Settings that no shape reveals and that change every number."""
GUESSED = ("usual answer", "best on the texts")
"""Origins of a guessed value."""


@dataclass(frozen=True)
class Standing:
    """How well a reading is established."""

    words: str
    """Shown after the model's name."""
    tone: Tone
    sentence: str
    """The evidence."""
    longest: Mapping[str, int] = field(default_factory=dict)
    """Up to how many tokens of each side the reading is proved; empty if it is not."""

    def to_dict(self) -> dict[str, str]:
        """Its words and tone as JSON values; the evidence is on the card."""
        return {"words": self.words, "tone": self.tone}

    def beyond(self, lengths: Mapping[str, int]) -> str:
        """A warning if texts of these lengths are longer than those that prove the reading; else ""."""
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
    """Grade in the card for the folder's present files; None for a model without guesses."""
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
    """Grade in a saved trace, which is untrusted; None if invalid."""
    words, tone = stated.get("words"), next((each for each in _TONES if each == stated.get("tone")), None)
    return None if tone is None or not isinstance(words, str) else Standing(put_on_one_line(words, 120), tone, "")


def texts_up_to(longest: Mapping[str, int]) -> str:
    """Texts for which a reading is proved: "texts of up to 40 tokens"."""
    if len({*longest.values()}) == 1:
        return f"texts of up to {count_of(next(iter(longest.values())), 'token')}"
    each = " and ".join(f"{side}s of up to {most:,}" for side, most in longest.items())
    return f"{each} tokens"


def graded(name: str, card: Mapping[str, Any]) -> str:
    """The model's name and, if there is one, its grade, for captions."""
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
