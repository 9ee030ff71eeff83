"""What people read on the Decoding page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viz_transformer.numerals import nth, number
from viz_transformer.sentences import capitalised, count_of, join_names

HOW = (
    "Bars are probabilities over the whole vocabulary: above, the model's own, hatched where the strategy removed the"
    " token, with the rule that removed it; below, what is left, rescaled to sum to 1. A step reads the token on the"
    " left of its row and writes the one on the right; maps and texts grow with it. Take another candidate, and the"
    " answer that begins this way becomes a branch. In the beam tree each column is a step, and a line is as wide"
    " as its token is probable."
)
NOT = (
    "The highest score is not the best answer. Log-probabilities of answers of different lengths cannot be compared. A"
    " pruned hypothesis was beaten, not wrong. A wider beam is not better by itself (Stahlberg and Byrne 2019)."
)

# What a recording or a model lacks
OF_RECORDING = "Nothing can be decoded with it."
NO_SIZES = "the sizes that the cost of a step is computed from"

# The tabs
TABS = {"step": "Step", "branches": "Branches", "tree": "Beam tree", "cache": "Cache", "score": "Score my text"}
TABS_LABEL = "View of decoding"
A_ALONE = "Only A is shown below. The tab Step shows A and B; choose B above to see the same for B."

# In all tabs
ANSWER, STEP, STEPS, TOKEN, SCORE = "answer", "step", "steps", "token", "score"
PROBABILITY, LOG_PROBABILITY = "probability", "log-probability"
LENGTH, LOG_P = "|Y|", "log p"
NOTHING = "(nothing)"
CLOSE = "Close"
TOO_LONG_FOR_ADDRESS = "A text to be scored"


def log_probability(value: float, digits: int = 2) -> str:
    """A log-probability: "about 0" below 0 where its digits cannot show it."""
    return "about 0" if -(10.0**-digits) < value < 0 else number(value, digits)


def at_step(index: int) -> str:
    return f"step {nth(index)}"


def table_note(caption: str, note: str) -> str:
    """The note of a table: whose numbers these are, and how to read them."""
    return f"{caption}. {note}"


def _lengths_differ(a: str, b: str, tokens: tuple[int, int]) -> str:
    return (
        f"{a} has {count_of(tokens[0], 'token')} and {b} {tokens[1]:,}: their log-probabilities cannot be compared,"
        " because each further token can only lower the sum."
    )


# The question of the page: of a step
def asks_both(index: int) -> str:
    return f"What did A and B write at {at_step(index)}?"


def wrote(run: str, token: str, share: str) -> str:
    return f"{run} {token}, {share}"


def had_ended(run: str, steps: int) -> str:
    return f"{run} nothing: it had ended after {count_of(steps, 'token')}"


def both_wrote(each: Sequence[str]) -> str:
    return f"{'; '.join(each)}."


def asks_step(index: int) -> str:
    return f"What could it have written at {at_step(index)}?"


def not_numbers(token: str) -> str:
    return f"Not known: the probabilities are not numbers, so {token} is not the most probable one."


def with_share(token: str, share: str) -> str:
    return f"{token} {share}"


def has(token: str, share: str) -> str:
    return f"{token} has {share}"


def tied_with(said: str, tokens: Sequence[str], more: int) -> str:
    """The tokens that are equally probable: some by name, and how many more."""
    return f"{said}, as probable as {join_names([*tokens, f'{more:,} more'] if more else tokens)}"


def then(said: str, others: Sequence[str]) -> str:
    return f"{said}, then {join_names(others)}." if others else f"{said}."


def only_token(said: str) -> str:
    return f"Nothing else: {said}, and the vocabulary has no other token."


def not_first(others: Sequence[str], written: str, share: str) -> str:
    """The sentence for a written token that is not the most probable one."""
    return f"{' or '.join(others)}; {written}, which was written, has {share}."


# of the branches
ASKS_BRANCHES = "Which other answers branch off?"
NONE_YET = "None yet."


def branch_from(name: str, index: int) -> str:
    return f"{name} from {at_step(index)}"


def branches_are(each: Sequence[str]) -> str:
    return f"{'One branch' if len(each) == 1 else f'{len(each)} branches'}: {', '.join(each)}."


def least_sure(index: int, best: Sequence[str]) -> str:
    return f"{NONE_YET} The model is least sure at {at_step(index)}: {' or '.join(best)}."


# of the beam tree
ASKS_TREE = "Which hypothesis won?"


def no_search(strategy: str) -> str:
    return f"There was no beam search: the strategy is {strategy}."


def asks_rivals(hypotheses: int) -> str:
    return f"Which of {hypotheses} hypotheses won?"


def only_hypothesis(written: str, score: str, finished: bool) -> str:
    return f"{_winner(written, score)}: the only one that {'finished' if finished else 'was still going'}."


def winner(written: str, score: str, next_score: str) -> str:
    return f"{_winner(written, score)}; the next has {next_score}."


def _winner(written: str, score: str) -> str:
    return f"“{written}”, score {score}"


# of the cache
ASKS_CACHE = "What did the cache save?"
NO_CACHE = "Nothing: this run has no cache, so every step was a whole pass."


def saved(share: str, ours: str, whole: str) -> str:
    return f"{share} of the decoder’s multiply-adds: {ours} instead of {whole}."


def millions(count: str) -> str:
    return f"{count} million"


def billions(count: str) -> str:
    return f"{count} billion"


# of a scored text
ASKS_OWN = "How probable does the model find this answer?"
ASKS_TYPED = "How probable does the model find your text?"


def own_total(total: str, tokens: int, mean: str) -> str:
    return f"{capitalised(_total(total, tokens))}, or {mean} per token."


def typed_total(typed: tuple[str, int], own: tuple[str, int]) -> str:
    """The typed text beside the model's own answer, each with its log-probability and its tokens."""
    return f"{capitalised(_total(*typed))}; its own answer: {_total(*own)}."


def _total(total: str, tokens: int) -> str:
    return f"log-probability {total} over {count_of(tokens, 'token')}"


# How the answer is written
STRATEGY = "Strategy"
GIVEN = "The answer is forced (teacher forcing), so no strategy applies."
WRITE = "Let the model write"
BEGINS, BEGINS_HELP = "Force the beginning", "The answer starts with this text"
BANNED, BANNED_HELP = "Ban these tokens", "Tokens, separated by spaces"
SAMPLING = {
    "temperature": "Temperature",
    "top-k": "Top-k",
    "top-p": "Top-p",
    "min-p": "Min-p",
    "repetition penalty": "Repetition",
    "seed": "Seed",
}
SAMPLING_HELP = {
    "temperature": "The logits are divided by it; 0 is greedy",
    "top-k": "Keep the k most probable tokens; 0 keeps all",
    "top-p": "Keep the fewest tokens whose probabilities add up to p; 1 keeps all",
    "min-p": "Keep tokens with at least this share of the best token's probability; 0 keeps all",
    "repetition penalty": "Applied to the logits of tokens that the decoder has already read; 1 is none",
    "seed": "Seed of the noise, which is the same at every temperature",
}
WIDTH, WIDTH_HELP = "Width", "Hypotheses kept at each step"
PENALTY, PENALTY_HELP = "Penalty α", "0 compares plain log-probabilities; higher values favour longer answers"
FORMS: Mapping[str, str] = {"gnmt": "((5 + |Y|)/6)^α", "power": "|Y|^α"}
COUNTED = {"end": "with the end token", "no-end": "without the end token"}
STOPS = {
    "none-better": "none can be better",
    "width-finished": "beam width finished",
    "first-finished": "first finished",
    "early_stopping=False": "early: False",
    "early_stopping=True": "early: True",
    "early_stopping=never": "early: never",
}
BEAM_CHOICES = {"Score divided by": FORMS, "|Y| counts": COUNTED, "Stops when": STOPS}
USE_OWN = "Use the folder’s settings"


def own_settings(settings: object, changed: bool) -> str:
    """Whether a beam search is that of transformers' own `generate`."""
    if not changed:
        return f"This is the search of generate() in transformers, with the settings of this folder: {settings}."
    return (
        f"You chose other settings than this folder’s ({settings}), so the answer may differ from that of generate() in"
        " transformers."
    )


def refusal(label: str, given: str, kept: str, bounds: tuple[str, str], whole: bool) -> str:
    """The reason why a setting is unchanged."""
    what = "a whole number" if whole else "a number"
    return f"{label} cannot be {given}: choose {what} from {bounds[0]} to {bounds[1]}. It stays {kept}."


def cannot_be_banned(word: str) -> str:
    return f"“{word}” is not a token of this model, so it cannot be banned."


def most_banned(most: int) -> str:
    return f"At most {most} tokens can be banned here."


# Step
SHADED = {"cross": "The source, by cross-attention", "decoder": "The answer so far, by self-attention"}
CANDIDATES = "candidates"
CANDIDATES_NOTE = "Probabilities are over the whole vocabulary."
DOUBTS = "Try a close call"


def run_named(name: str, called: str, read: str) -> str:
    """The run that a column shows: "A: numbers, “7”"."""
    return f"{name}: {called}, {read}"


def begins_with_row(row: int) -> str:
    return f"Texts and maps show the same position of both; the answer of B begins with its row {row}."


def doubt_help(model: str, given: str) -> str:
    return f"Runs {model} on “{given}”"


def branch_begins(name: str, index: int) -> str:
    return f"Branch “{name}” from {at_step(index)}: "


COMPARE_WITH_ANSWER = "Compare with the answer"


def compare_with(branch: str) -> str:
    return f"Compare with {branch}"


# Branches
GIVEN_BRANCHES = "The answer is forced (teacher forcing): branches grow only from an answer that the model writes."
WRITING_BRANCHES = "Writing the branches ..."
NO_BRANCHES = (
    "There is one answer so far. Take another candidate at any step (its button, or Enter on its row), and the answer"
    " that begins this way grows from it as a branch."
)
COMPARE_TWO = "Show another branch, or choose one to compare with, to see the two side by side."
SHOW, SHOWN = "Show", "Shown"
COMPARE, COMPARED = "Compare", "Compared"
BRANCH_NAME = "Name of the branch"
FORK_BELOW = "Fork where p is below"
FORK_HELP = "Keeps both: the answer goes on as it is, and a branch begins with the second choice"


def branch_says(step: int | None, written: str, log_prob: str, steps: int) -> str:
    """A branch's answer, and from which step on; step: None for the answer itself."""
    begins = "" if step is None else f"from {at_step(step)}: "
    return f"{begins}{written}  ({LOG_P} {log_prob}, {count_of(steps, 'step')})"


def nothing_unsure(below: str) -> str:
    return f"Every token that was chosen here has a probability of at least {below}."


def fork_at(index: int, token: str) -> str:
    return f"Fork at {at_step(index)}: “{token}”"


def fork_shares(share: str, written: str, written_share: str) -> str:
    """How probable the token of a fork is, beside the one that was written."""
    return f"p {share}, instead of “{written}” with p {written_share}"


# Two branches beside each other
SAME_TOKENS = "Both write the same tokens."
ANSWERS_HEAD = ("branch", "tokens written (underlined: not in the other)", STEPS, LOG_PROBABILITY)
CURVES_TITLE = "Log-probability under the model, in nats"
CURVES_ALT = "Log-probability of each step of A and B, and their sums so far"
CURVES = "log-probabilities"
CURVES_NOTE = "Natural logarithms, over the whole vocabulary, before the strategy is applied."
RUN = "run"
CURVES_COLUMNS = (RUN, STEP, TOKEN, "given", LOG_PROBABILITY, "sum so far", "same in both")


def side_by_side(a: str, b: str) -> str:
    return f"{a} and {b}, side by side"


def of_both(a: str, b: str) -> str:
    return f"A: {a}; B: {b}"


def token_title(index: int, in_both: bool) -> str:
    return at_step(index) + ("" if in_both else ", not in the other")


def part_at(index: int, a: str, b: str) -> str:
    """Where the two diverge, and what each writes there."""
    after = f"after {'one token' if index == 1 else f'{index} tokens'} in common"
    where = "They differ from the first step on" if index == 0 else f"They part at {at_step(index)}, {after}"
    return f"{where}: A {a}, B {b}."


HAS_ENDED = "has ended"


def writes(token: str, share: str, given: bool) -> str:
    return f"{'was given' if given else 'writes'} “{token}” (probability {share})"


def different_tokens(a: int, b: int) -> str:
    return _lengths_differ("A", "B", (a, b))


# their attention
PREFIX_ATTENTION = "Attention on the common prefix"
ATTENTION, LAYER, HEAD = "attention", "layer", "head"
ALL_HEADS = "all heads"
HEADS, ROW, ROWS_READ = "heads", "row", "rows, reads"
VARIATION = "total variation"
VARIATION_SCALE = f"{VARIATION}, 0 to 1 (derived)"
OF_LAST_PASS = (
    "The rows compared are those of each branch's last pass, which had also read the tokens after them, so the branches"
    " differ even where they read the same tokens."
)
AS_IT_MUST_BE = "That is as it must be: no row sees the tokens after it."
ONLY_ROUNDING = f"{AS_IT_MUST_BE} What is left is float32 rounding, so it is not drawn."
ONE_SOURCE = "Encoder self-attention is the same in both, because they read the same source."


def site(cross: bool, layer: int) -> str:
    return f"{'cross' if cross else 'self'}-attention of decoder layer {layer}"


def rows(last: int) -> str:
    return "row 0" if last == 0 else f"rows 0 to {last}"


def heads(each: Sequence[int]) -> str:
    return f"head{'s' if len(each) > 1 else ''} {', '.join(map(str, each))}"


def same_attention(last: int) -> str:
    return f"In {rows(last)} every head of every decoder layer has exactly the same weights in A and B."


def largest(last: int, value: str, place: str, head: int, row: int, token: str) -> str:
    return f"Largest over {rows(last)}: {value}, in {place}, head {head}, row {row}, which reads “{token}”."


def selected(place: str, which: str, value: str, mean: str) -> str:
    return f"Selected: {place}, {which}; largest {value}, mean {mean}."


def variation_title(place: str) -> str:
    return f"Total variation, {place}"


# Beam tree
NO_TREE = (
    "This answer was not written by a beam search, so there is no tree. Choose beam above to see what the search"
    " considers at each step."
)
BEAM_TREE = "beam tree"
TREE_NOTE = (
    "Logarithms are natural; the margin says by how much a hypothesis was beaten: in log-probability if it was pruned,"
    " otherwise in score."
)
INDEX, PARENT, MARGIN = "index", "parent", "margin"
TREE_COLUMNS = (
    INDEX,
    PARENT,
    STEP,
    TOKEN,
    "log_prob",
    "total",
    LENGTH,
    SCORE,
    "rank",
    "fate",
    "ended",
    MARGIN,
    "text so far",
)
ANSWER_SCORE = "The answer: score = "
THE_ANSWER = "the answer"
RANK_IN_STEP = "rank in its step"
CONTINUE, CONTINUE_HELP = "Continue from here", "Starts a branch: an answer that begins this way"
CONTINUE_ENDED = "This hypothesis ends with the end token: choose one that does not"
FINISHED, COUNTED_FINISHED = "Finished, best score first", "Finished, or counted as finished, best score first"
NONE_FINISHED = "None has finished: those still going, best score first"
FROM_TREE = "from the tree"


def no_hypothesis(index: int, last: int) -> str:
    return f"There is no hypothesis {index}: the tree has 0 to {last}, so the answer is shown."


def answer_score(score: str, length: int) -> str:
    return f"{score}, {LENGTH} = {length}"


def score_in_parts(total: str, divisor: str, penalty: str, score: str) -> str:
    return f"{total} / {divisor} = {total} / {penalty} = {score}"


def hypothesis_heading(index: int, step: int, fate: str) -> str:
    return f"Hypothesis {index}, {at_step(step)}: {fate}"


def sum_of(parts: Sequence[str], total: str) -> str:
    return f"{' + '.join(parts)} = {total}"


def part_of_sum(token: str, log_prob: str) -> str:
    return f"{token} {log_prob}"


def tokens_before(count: int, total: str) -> str:
    """The placeholder for the first tokens of a long sum."""
    return f"({count_of(count, 'earlier token')}) {total}"


def rank_in_step(rank: int, count: int, kept: bool) -> str:
    """The rank of a hypothesis in words, counted from 1."""
    return f"{nth(rank)} of {count:,}, {'kept' if kept else 'considered, not kept'}"


def more_in_table(count: int) -> str:
    return f"{count:,} more {'is' if count == 1 else 'are'} in the table of the tree."


def attention_heading(index: int) -> str:
    return f"Where the model looked while writing {hypothesis(index)}"


def hypothesis(index: int) -> str:
    return f"hypothesis {index}"


def title_of_hypothesis(title: str, index: int) -> str:
    return f"{title}, {hypothesis(index)}"


def caption_of_hypothesis(caption: str, index: int) -> str:
    return f"{caption}, {hypothesis(index)} of the beam tree"


# Cache
IN_ONE_PASS = "it was recorded in one pass"
CACHE_STATES = {"now": "computed in this step", "old": "reused", "not": "not yet"}
CACHE_SITES = {
    "target": "self-attention, positions of the target",
    "source": "cross-attention, positions of the source",
}
THIS_STEP = "this step"
WITH_CACHE, WHOLE_PASS, SAVED = "with cache", "whole pass", "saved"
WORK_HEAD = ("multiply-adds", WITH_CACHE, WHOLE_PASS, SAVED)
WORK_PARTS = {
    "projections": "query, key, value, output",
    "scores": "scores",
    "weighted_sums": "weighted sums",
    "feed_forward": "feed-forward",
    "output_layer": "output layer",
}
WORK_TITLE = "Work per step"
WORK_ALT = "Multiply-adds of each step, with the cache and as a whole pass"
CACHE = "cache"
CACHE_COLUMNS = (
    STEP,
    TOKEN,
    "self, computed",
    "self, reused",
    "cross, computed",
    "cross, reused",
    "bytes held",
    "bytes allocated",
    "multiply-adds with cache",
    "multiply-adds of a whole pass",
    SAVED,
    *(f"{how}: {part}" for how in (WITH_CACHE, WHOLE_PASS) for part in WORK_PARTS.values()),
)


def no_cache(reason: str) -> str:
    return f"This run has no cache: {reason}. Every step was a whole pass."


def step_heading(index: int, token: str) -> str:
    return f"{capitalised(at_step(index))}, which writes “{token}”"


def self_cached(computed: int, reused: int, positions: int, layers: int) -> str:
    each = "the one decoder layer" if layers == 1 else f"each of {layers} decoder layers"
    of = f"{computed} of {count_of(positions, 'position')}"
    if not reused:
        of = "the one position" if positions == 1 else f"all {positions:,} positions"
    old = f"those of {reused} reused" if reused else "none reused"
    return f"Self-attention: keys and values of {of} were computed in this step, {old}, in {each}."


def cross_computed(positions: int) -> str:
    return f"Cross-attention: keys and values of all {_of_source(positions)} were computed, once for the run."


def cross_reused(positions: int) -> str:
    return f"Cross-attention: nothing computed, all {_of_source(positions)} reused from step 1."


def _of_source(positions: int) -> str:
    return count_of(positions, "source position")


def holds(held: str, allocated: str, room: int) -> str:
    return f"The cache holds {held} and has room for {room:,} positions; {allocated} is allocated, in float32."


def of_one_hypothesis(width: int) -> str:
    return (
        f"This is for one hypothesis; the search kept up to {width} side by side, each with keys and values of its own."
    )


def in_bytes(count: int) -> str:
    return f"{count} bytes"


def layer(index: int) -> str:
    return f"{LAYER} {index}"


def last_positions(shown: int, of: int) -> str:
    return f", the last {shown} of {of}"


def grid_label(title: str, counts: Sequence[tuple[int, str]]) -> str:
    return f"{title}: {', '.join(f'{count} {state}' for count, state in counts)}, in each layer"


def steps_so_far(index: int) -> str:
    return at_step(index) if index == 0 else f"steps 1 to {nth(index)}"


# the same run without it
WITHOUT_CACHE = "The same run without a cache"
COMPARE_PASSES = "Compare with whole passes"
RUNNING_PASSES = "Running every step as a whole pass ..."
LOGITS_WITHOUT = "logits without a cache"
DIFFERENCE_NOTE = "Largest absolute difference and largest absolute logit."
DIFFERENCE_COLUMNS = (TOKEN, "largest difference", "largest absolute logit")
OTHER_ORDER = "Both add up the same float32 numbers, in a different order."


def passes_help(steps: int) -> str:
    return f"Runs the decoder once more for each of {count_of(steps, 'step')}, over all tokens so far"


def passes_take(steps: int) -> str:
    return f"Takes {steps} whole passes, one for each step." if steps != 1 else "Takes one whole pass."


def exactly_equal(in_one_pass: bool, steps: int) -> str:
    return f"Every logit {_recorded(in_one_pass)} is exactly that of a whole pass, in all {count_of(steps, 'step')}."


def largest_difference(in_one_pass: bool, gap: str, index: int, logit: str, relative: str) -> str:
    return (
        f"Largest difference between a logit {_recorded(in_one_pass)} and that of a whole pass: {gap}, at"
        f" {at_step(index)}. The largest absolute logit is {logit}, so that is {relative} of it."
    )


def _recorded(in_one_pass: bool) -> str:
    return "recorded in one pass after the search" if in_one_pass else "recorded with the cache"


# Score my text
SCORE_LABEL, SCORE_PLACEHOLDER = "A text to score", "Your own answer to this text"
SCORED = "scored"
SCORE_NOTE = "Natural logarithms, over the whole vocabulary; in this table ranks count from 0 (the most probable)."
SCORE_HEAD = (TOKEN, PROBABILITY, LOG_PROBABILITY, "rank", "model’s choice")
SAME, AS_PROBABLE = "the same", "equally probable"
SCORE_COLUMNS = (
    STEP,
    TOKEN,
    PROBABILITY,
    LOG_PROBABILITY,
    "rank",
    "most probable",
    "its probability",
    "its log-probability",
)
YOUR_TEXT, GIVEN_ANSWER, MODELS_ANSWER = "your text", "the given answer", "the model’s answer"
TOKENS, PER_TOKEN, PERPLEXITY, MISSED = "tokens", "per token", "perplexity per token", "not the model’s first choice"
INFINITE = "infinite"
GREEDY_WRITES = "Every token is the one that the model finds most probable: greedy decoding writes this text."
MORE_PROBABLE = "The model finds your text more probable than the other answer, which is equally long."
CONTINUE_LABEL = "Let the model continue from"
FROM_TEXT = "from my text"


def first_tokens(shown: int, of: int, in_table: bool) -> str:
    return f"The first {shown} of {of} tokens are shown{'; the table has all' if in_table else ''}."


def untyped(own: str) -> str:
    """The text that is scored until one is typed."""
    return (
        "Type an answer to see the probability of each of its tokens, and what the model would have written in its"
        f" place. Until you do, {own} is scored."
    )


def branch(name: str) -> str:
    return f"branch {name}"


def part_of(part: int, whole: int) -> str:
    return f"{part} of {whole}"


def what_counts(ended: bool) -> str:
    ends = "the end token is one of them" if ended else "there was no room for an end token"
    return (
        f"Counted in tokens of the model’s vocabulary; {ends}. Logarithms are natural, and perplexity is"
        " exp(−log-probability per token)."
    )


def first_missed(index: int, best: str, written: str) -> str:
    return (
        f"Your text first differs from the model’s own choice at {at_step(index)}, where the model would have written"
        f" “{best}” instead of “{written}”."
    )


def tied(index: int, written: str, best: str) -> str:
    return (
        f"No other token is more probable than one of yours, but at {at_step(index)} “{written}” is only as probable as"
        f" “{best}”, which greedy decoding writes: among equals it takes the smaller id."
    )


def different_lengths(typed: int, own: int) -> str:
    return _lengths_differ("Your text", "the other answer", (typed, own))


def after(index: int, token: str) -> str:
    """A step to go on from, named by the token before it."""
    return f"{at_step(index)}, after “{token}”"


def continue_from(index: int) -> str:
    return f"Continue from {at_step(index)}"


# The stop of the tour
NOTHING_WRITTEN = "Nothing was written in this run."


def of_tokens(rank: int, tokens: int) -> str:
    """The token's rank among all: "the highest of 42 tokens", "number 3 of 42 tokens"."""
    return f"{'the highest' if rank == 0 else f'number {rank + 1:,}'} of {tokens:,} tokens"


def was_given(token: str, share: str, place: str) -> str:
    return f"{token} was given, not chosen; the model gave it a probability {share}, {place}."


def wrote_other(token: str, share: str, place: str) -> str:
    return f"The model wrote {token}, to which it gave a probability {share}: {place}."


def wrote_highest(token: str, share: str, place: str) -> str:
    return f"The model gave {token} a probability {share}, {place}, and wrote it."


def next_best(token: str, share: str, is_first: bool) -> str:
    """The most probable token other than the written one; is_first: it was more probable."""
    return f"{'The likeliest' if is_first else 'The runner-up'}, {token}, had {share}."


def of_share(share: str) -> str:
    return f"of {share}"


BOUNDS_IN_PROSE = {"<": "below ", ">": "above "}
