"""What people read on the Attention page: its labels and sentences, in one place."""

from __future__ import annotations

from viz_transformer.sentences import capitalised

HOW = (
    "A weight is the share of a key in what this head passes on to a query: the head mixes the values of the keys by"
    " these shares. In a uniform head each weight would be 1 divided by the number of keys that the query may attend"
    " to. A decoder row reads the token on its left and writes the one on its right. Above layer 0 a key is no"
    " longer its token alone: its vector has already taken in its neighbours. A coloured map is one head; a grey one is"
    " averaged or derived. Contribution is the length of what a key adds to the output of the sub-layer: weight times"
    " value times W_O (with the value's bias, without the output's). The score contribution / weight is the length that"
    " a weight of 1 adds. A line for a weight w has the opacity 0.06 + 0.94 · w^0.7, so that faint lines can be seen."
    " Rollout keeps half of the residual stream in every sub-layer by definition; with an encoder, the share of the"
    " decoder's own tokens is therefore the same for every text: 1/2 after layer 0, 1/4 after layer 1."
)
NOT = (
    "Attention is not explanation: other weights may lead to the same answer (Jain and Wallace 2019; for the other"
    " side, Wiegreffe and Pinter 2019). A mean hides that heads differ, a maximum is not a distribution, and rollout"
    " ignores values and feed-forward layers. A head that puts much weight on the first or the end token may still do"
    " something here: compare its share of the weight with its share of what is added. One sentence does not prove"
    " what a head is for."
)
A_SCORE = "the name of a score"

# What is shown
OPTIONS = "Options"
SWITCHES = {
    "words": (
        "Words",
        "Merge the tokens of a word: sum over keys, average over queries. (Contributions are added as vectors before"
        " their length is taken.)",
    ),
    "hidden": (
        "Hide special tokens",
        "Drop special tokens and rescale each row to 1 (faint where they held over 90 %)",
    ),
    "contribution": (
        "Contribution",
        "Instead of the weight, the length of what each key adds: ‖weight · value · W_O‖",
    ),
}


def options(switched: int) -> str:
    """The button that opens the switches, and how many of them are on."""
    return f"{OPTIONS} ({switched})" if switched else OPTIONS


def computed_from(what: str, runs: list[str]) -> str:
    """How the weights were computed, if the run did not record them; `runs`: whose, where there are two."""
    whose = f" of {' and '.join(runs)}" if runs else ""
    return f"The text is long: weights{whose} are computed from {what}."


# The stop of the tour
LEFT_OUT = "The chosen token is left out of this map."


def reading(token: str) -> str:
    return f"While reading {token}"


def writing(token: str) -> str:
    return f"While writing {token}"


def a_head(head: int, stack: str, layer: int) -> str:
    return f"head {head} of {stack} layer {layer}"


def looked_at_one(when: str, who: str, key: str, weight: str) -> str:
    """The sentence for a row with one open key."""
    return f"{when}, {who} could look only at {key}, which got {weight} of its attention."


def looked(when: str, who: str, key: str, weight: str) -> str:
    return f"{when}, {who} put {weight} of its attention on {key}."


def looked_evenly(when: str, who: str, keys: int, key: str, weight: str) -> str:
    return (
        f"{when}, {who} spread its attention almost evenly over all {keys:,} tokens; the most, {weight}, went to {key}."
    )


def next_came(key: str, weight: str) -> str:
    return f"Next came {key} with {weight}."


# Below the map
BESIDE_THE_MAP = "Below the map"
LINES, TEXT, WEIGHT = "Lines", "Text", "Weight"
CONTRIBUTION = "Contribution, ‖weight · value · W_O‖"
NEGATIVE_WEIGHTS = "Lines and text show weights from 0 up, and some of these weights are below 0."
NO_DIFFERENCE = "Lines and text show weights: choose A or B to see them."
NO_CONTRIBUTIONS = "Lines and text show weights: switch Contribution off in Options to see them."
ROLLOUT_HAS_NONE = "Rollout joins all layers and has no contributions: choose a head, the mean or the maximum."


def panels(shows_contribution: bool) -> dict[str, str]:
    """The pictures below the map; beside contributions, weights."""
    return {"lines": "Lines", "text": TEXT, "contribution": WEIGHT if shows_contribution else "Contribution"}


def map_title(title: str, signed: bool) -> str:
    """The title of the other map; signed: it is a difference of two."""
    return f"{'A − B: ' * signed}{title}"


def map_unit(quantity: str, derived: bool) -> str:
    return f"{quantity}{', derived' * derived}"


# All heads
ALL_HEADS, HEAD_SCORES = "all heads", "head scores"
ATTENTION_WEIGHT, SIZE_OF_WEIGHT = "attention weight", "size of weight"
LAYER, HEAD = "layer", "head"
TABLE_OF_SCORES = "Next to each score: that of a uniform head (“even”), and over how many rows it is the mean."


def all_heads(kind: str, of: str) -> str:
    """The title of the thumbnails; `of`: the run's letter, where there are two."""
    return f"All heads{f' of {of}' if of else ''}, {kind}"


def of_kind(what: str, kind: str) -> str:
    return f"{what}, {kind}"


def column_if_even(score: str) -> str:
    return f"{score}, even"


def column_of_rows(score: str) -> str:
    return f"{score}, rows"


def key_heads(sharing: str, keys: int, size: int) -> str:
    """Which heads share keys and values, and how large a key head is."""
    return f"{sharing} A key head has {keys:,} × {size} numbers, a row for each token read."


def beside_each_other(heads: str) -> str:
    """The button that shows the heads that share keys."""
    return f"{capitalised(heads)} beside each other"


# Scores of the chosen head
SCORE_HEAD = ("", "score", "if uniform", "rows")
SCORES_NEED_A_HEAD = "Scores belong to single heads: choose one above."
NO_SCORE = "–"
ABOUT_SCORES = (
    "Score: the mean over that many rows of this text. If uniform: the score of a head that looks evenly. Monotonicity"
    " is Kendall’s tau of the rows’ order. One text proves little."
)
KEY_HEAD = ("", "weight", "contribution", "rows")
ABOUT_KEYS = (
    "Shares of the weight, and of the contributions (lengths, added up). Much weight with little contribution means"
    " that a head adds little there; Contribution, below the map, shows both key by key."
)


def scores_of(layer: int, head: int, of: str) -> str:
    """The title of a head's scores."""
    return f"Scores of {f'{of}, ' if of else ''}layer {layer}, head {head}"


def key_shares_of(names: list[str]) -> str:
    """The title of the special tokens' shares of weight and contributions."""
    return f"Weight and contribution of the {' and the '.join(names)}"


def not_numbers(lost: int, rows: int) -> str:
    """How many rows are not a number, and what that means for the scores."""
    which = f"{lost} of {rows} rows {'is' if lost == 1 else 'are'} not a number"
    return f"{which}, and so is each score that is a mean over {'it' if lost == 1 else 'them'}."
