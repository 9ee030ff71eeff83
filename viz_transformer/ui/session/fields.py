"""The fields that pages share: what is run, how its answer is written, the part of it that is shown, and the pin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.figures.theme import MAX_HEADS
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.text.codec import AS_USUAL, TokenizerOptions
from viz_transformer.ui.session.generation_config import (
    BEAM_BOUNDS,
    BOUNDS,
    OWN,
    OWN_NAME,
    SAMPLED,
    STRATEGIES,
    Branch,
    GenerationConfig,
    Sampled,
    Searched,
    parse_how,
    read_beam,
    read_branches,
    read_how_read,
    read_ids,
    read_sampling,
    write_branches,
    write_how_read,
)
from viz_transformer.ui.session.url_fields import (
    NUMBER,
    TEXT,
    Codec,
    different_numbers,
    join_values,
    one_number_of,
    one_of,
    some_of,
    url_field,
)

DERIVED = ("mean", "max", "rollout")
POSITIONS = ("i", "j", "t", "u")
ShownName = Literal["A|B", "A", "B", "A-B"]
SHOWN = get_args(ShownName)
OPTIONS = ("words", "hidden", "contribution")
ROWS = ("last", "own")
SCALES = ("fixed", "row", "map")

ASKED = ("checkpoint", "text", "target")
"""What a run is of."""
WRITING = ("strategy", "sampling", "beam", "ban", "prefix", "read_as")
"""How the text is read, and how the strategy writes an answer to it."""
_NEW_ANSWER = ("checkpoint", "text", *WRITING)
_NEW_POSITIONS = ("text", "target", *WRITING)


def _heads() -> Codec:
    """Numbers of heads, sorted, or the word of a picture that is derived from all of them."""
    several = different_numbers(MAX_HEADS)

    def read(given: str) -> tuple[int, ...] | str | None:
        if given in DERIVED:
            return given
        found = several.read(given)
        return None if found is None else tuple(sorted(found))

    return Codec(read, f"{several.wanted}, or one of {', '.join(DERIVED)}", words=DERIVED)


def _bounded(setting: tuple[str, tuple[float, float]]) -> str:
    name, (low, high) = setting
    return f"{name} {low:g} to {high:,.12g}"


_SAMPLING = Codec(read_sampling, f"{', '.join(map(_bounded, BOUNDS.items()))}, with commas between them")
_BEAM = Codec(
    read_beam,
    f"{', '.join(map(_bounded, BEAM_BOUNDS.items()))}, gnmt or power, end or no-end, and a stop rule, with commas"
    f" between them, or {OWN_NAME}",
    lambda settings: join_values(settings) or OWN_NAME,
)
_BRANCHES = Codec(read_branches, "a list of branches", write_branches)
_HOW = Codec(parse_how, "a way to write an answer", GenerationConfig.text)


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all pages show."""

    checkpoint: str = url_field("numbers-any", TEXT, always=True, brought_back=True)
    text: str = url_field("29,284.30", TEXT, always=True, brought_back=True, typed="A text")
    # Kind of attention and layer; heads: their numbers, or one of DERIVED.
    kind: KindName = url_field("cross", one_of(tuple(KINDS)), always=True, picked=True)
    layer: int = url_field(1, NUMBER, always=True, in_a_link=1, picked=True)
    heads: tuple[int, ...] | str = url_field((2,), _heads(), always=True, in_a_link=(0,), picked=True)
    # Positions of the source (i, j) and of the target (t, u). The kind picks the pair: encoder (i, j), decoder (t, u),
    # cross (t, i). t is None until a run is there to say which row writes the first token. A key that nobody chose
    # follows: it is the one with most weight in the row.
    i: int = url_field(
        0, NUMBER, always=True, picked=True, forgotten_with=_NEW_POSITIONS, noun="source position", follows=True
    )
    j: int = url_field(
        0, NUMBER, always=True, picked=True, forgotten_with=_NEW_POSITIONS, noun="source position", follows=True
    )
    t: int | None = url_field(
        None, NUMBER, always=True, picked=True, forgotten_with=_NEW_POSITIONS, noun="target position"
    )
    u: int = url_field(
        0, NUMBER, always=True, picked=True, forgotten_with=_NEW_POSITIONS, noun="target position", follows=True
    )
    # The answer that is given to the model; None if it is to write one itself.
    target: str | None = url_field(
        None, TEXT, forgotten_with=("checkpoint", "text"), brought_back=True, typed="A target"
    )
    # How an answer is written, with the settings of each strategy; ban: ids that are never written, of this vocabulary;
    # prefix: what the answer begins with.
    strategy: str = url_field("greedy", one_of(STRATEGIES), brought_back=True)
    sampling: Sampled = url_field(SAMPLED, _SAMPLING, brought_back=True)
    beam: Searched | tuple[()] = url_field(OWN, _BEAM, brought_back=True)
    ban: tuple[int, ...] = url_field(
        (), Codec(read_ids, "ids with commas between them"), forgotten_with=("checkpoint",), brought_back=True
    )
    prefix: str = url_field("", TEXT, brought_back=True, typed="A beginning of the answer")
    # How the text is read, where a model leaves a choice: languages, typed special tokens, a chat.
    read_as: TokenizerOptions = url_field(
        AS_USUAL,
        Codec(read_how_read, "such as from:en_XX,into:de_DE,special-tokens", write_how_read),
        forgotten_with=("checkpoint",),
        brought_back=True,
    )
    # Positions of the text that are hidden from a model which fills in masks.
    masked: tuple[int, ...] = url_field(
        (),
        Codec(read_ids, "positions with commas between them"),
        forgotten_with=("checkpoint", "text"),
        brought_back=True,
    )
    # Other ways to go on. branch: the one that is shown, 0 is the strategy's own answer; branch_b: what it is compared
    # with.
    branches: tuple[Branch, ...] = url_field(
        (), _BRANCHES, forgotten_with=_NEW_ANSWER, brought_back=True, typed="What branches begin with"
    )
    branch: int = url_field(0, NUMBER, forgotten_with=_NEW_ANSWER, brought_back=True)
    branch_b: int | None = url_field(None, NUMBER, forgotten_with=_NEW_ANSWER, brought_back=True)
    # How a map is shown; rows: of which pass the decoder's rows are where each step had its own, of the last or each of
    # its own step; scale: what has full colour.
    options: tuple[str, ...] = url_field((), some_of(OPTIONS))
    rows: str = url_field("last", one_of(ROWS))
    scale: str = url_field("fixed", one_of(SCALES), picked=True)
    # The projector, and which of the page's scenes is on it.
    projector: str = url_field("off", one_of(("on", "off"), "on or off"), picked=True)
    scene: int = url_field(0, NUMBER, picked=True)
    # The stop of the run in five stops that a reader is at; 0 off that way.
    stop: int = url_field(0, one_number_of(range(6), "a stop of the run in five stops, 1 to 5, or 0 for none"))
    # The pinned run, B; None without one. shown: both beside each other (also None), A, B, or A-B.
    pin_checkpoint: str | None = url_field(None, TEXT)
    pin_text: str | None = url_field(None, TEXT, typed="A pinned text")
    pin_target: str | None = url_field(None, TEXT, typed="A pinned target")
    pin_how: GenerationConfig | None = url_field(None, _HOW, typed="What the pinned run was written with")
    shown: ShownName | None = url_field(None, one_of(SHOWN))
