"""What people read on the Decoding page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Mapping

from viz_transformer.numerals import nth, number

HOW = (
    "Bars are probabilities over the whole vocabulary: above, the model's own, hatched where the strategy removed the"
    " token, with the rule that removed it; below, what is left, rescaled to sum to 1. A step reads the token on the"
    " left of its row and writes the one on the right; maps and texts grow with it. Take another candidate, and the"
    " answer that begins this way becomes a branch. In the beam tree each column is a step, and a line is as wide"
    " as its token is probable."
)
NOT = (
    "The highest score is not the best answer. Log-probabilities of answers of different lengths do not compare. A"
    " pruned hypothesis was beaten, not wrong. A wider beam is not better by itself (Stahlberg and Byrne 2019)."
)
TABS = {"step": "Step", "branches": "Branches", "tree": "Beam tree", "cache": "Cache", "score": "Score my text"}
TABS_LABEL = "View of decoding"
SHADED = {"cross": "The source, by cross-attention", "decoder": "The answer so far, by self-attention"}
GIVEN_BRANCHES = "The answer is forced (teacher forcing): branches grow only from an answer that the model writes."
A_ALONE = "Only A is shown below: the step shows A and B, and B above shows the same of B."
NO_SIZES = "the sizes that the cost of a step is computed from"

# Headlines
ASKS_BRANCHES = "Which other answers branch off?"
ASKS_CACHE = "What did the cache save?"
NONE_YET = "None yet."
NO_CACHE = "Nothing: this run has no cache, so every step was a whole pass."


def no_search(strategy: str) -> str:
    return f"There was no beam search: the strategy is {strategy}."


# How the answer is written
GIVEN = "The answer is forced (teacher forcing), so no strategy applies."
WRITE = "Let the model write"
BEGINS, BEGINS_HELP = "Force the beginning", "The answer starts with this text"
BANNED, BANNED_HELP = "Ban these tokens", "Tokens, separated by spaces"
STOPS = {
    "none-better": "none can be better",
    "width-finished": "beam width finished",
    "first-finished": "first finished",
    "early_stopping=False": "early: False",
    "early_stopping=True": "early: True",
    "early_stopping=never": "early: never",
}
COUNTED = {"end": "with the end token", "no-end": "without the end token"}
SAMPLING_HELP = {
    "temperature": "The logits are divided by it; 0 is greedy",
    "top-k": "Keep the k most probable tokens; 0 keeps all",
    "top-p": "Keep the fewest tokens whose probabilities add up to p; 1 keeps all",
    "min-p": "Keep tokens with at least this share of the best token's probability; 0 keeps all",
    "repetition penalty": "Applied to the logits of tokens that the decoder has already read; 1 is none",
    "seed": "Seed of the noise, which is the same at every temperature",
}
WIDTH_HELP = "Hypotheses kept at each step"
PENALTY_HELP = "0 compares plain log-probabilities; higher values favour longer answers"

# Examples
DOUBTS = "Texts with real doubt"


def doubt_help(model: str, given: str) -> str:
    return f"Runs {model} on “{given}”"


# Branches
NO_BRANCHES = (
    "There is one answer so far. Take another candidate at any step (its button, or Enter on its row), and the answer"
    " that begins this way grows from it as a branch."
)
COMPARE_TWO = "Show another branch, or choose one to compare with, to see the two side by side."
FORK_BELOW = "Fork where p is below"
FORK_HELP = "Keeps both: the answer goes on as it is, and a branch begins with the second choice"

# Beam tree
NO_TREE = (
    "This answer was not written by a beam search, so there is no tree. Choose beam above to see what the search"
    " considers at each step."
)
CONTINUE, CONTINUE_HELP = "Continue from here", "An answer that begins this way, as a branch"
CONTINUE_ENDED = "This hypothesis ends with the end token: choose one that does not"
TREE_NOTE = (
    "Logarithms are natural; the margin is by how much a hypothesis was beaten: in log-probability if it was pruned,"
    " else in score."
)

# Cache
CACHE_STATES = {"now": "computed in this step", "old": "reused", "not": "not yet"}
COMPARE_PASSES = "Compare with whole passes"

# Score my text
SCORE_LABEL, SCORE_PLACEHOLDER = "A text to score", "Your own answer to this text"


def log_probability(value: float, digits: int = 2) -> str:
    """A log-probability: "about 0" below 0 where its digits cannot show it."""
    return "about 0" if -(10.0**-digits) < value < 0 else number(value, digits)


def at_step(index: int) -> str:
    return f"step {nth(index)}"


def branch_begins(name: str, index: int) -> str:
    return f"Branch “{name}” from {at_step(index)}: "


def fork_at(index: int, token: str) -> str:
    return f"Fork at {at_step(index)}: “{token}”"


def nothing_unsure(below: str) -> str:
    return f"Every token that was chosen here has a probability of at least {below}."


def continue_from(index: int) -> str:
    return f"Continue from {at_step(index)}"


def after(index: int, token: str) -> str:
    """A step to go on from, named by the token before it."""
    return f"{at_step(index)}, after “{token}”"


def rank_in_step(rank: int, count: int, kept: bool) -> str:
    """A rank is an index: 0 is the most probable."""
    where = f"{rank} of 0 to {count - 1}" if count > 1 else f"{rank}, the only one"
    return f"{where}, {'kept' if kept else 'considered, not kept'}"


def untyped(own: str) -> str:
    """What is scored while nothing is typed."""
    return (
        "Type an answer to see the probability of each of its tokens, and what the model would have written in its"
        f" place. Until you do, {own} is scored."
    )


def own_settings(settings: object, changed: bool) -> str:
    """Whether a beam search is that of transformers' own `generate`."""
    if not changed:
        return f"This is the search of generate() in transformers, with the settings of this folder: {settings}."
    return (
        f"You chose other settings than this folder’s ({settings}), so the answer may differ from that of generate() in"
        " transformers."
    )


FORMS: Mapping[str, str] = {"gnmt": "((5 + |Y|)/6)^α", "power": "|Y|^α"}
