import math

import pytest
from builders import tiny_checkpoint

from viz_transformer import decode, trace
from viz_transformer.analysis.models.answers import PairAnswer, greedy_answers
from viz_transformer.analysis.models.counting import equal_positions, token_counts
from viz_transformer.measuring.evaluation import wilson

PAIRS = [("abc", "x"), ("a", "yx"), ("hgfedcba", "zzxy"), ("bca", "xy"), ("c", "y")]


def log_probs_by_hand(ckpt, source, target):
    """Log-probability in nats of each token of the target, its end included, and whether it is the most probable."""
    run = trace(ckpt, source, target)
    logits, found = run["logits"][0].double(), []
    for row, wanted in zip(logits, run.next_ids, strict=True):
        total = math.log(sum(math.exp(value) for value in row.tolist()))
        found.append((float(row[wanted]) - total, int(row.argmax()) == wanted))
    return found


def test_losses_per_token_and_as_a_mean_of_means_are_those_of_the_traces():
    ckpt = tiny_checkpoint()
    found = token_counts(ckpt, greedy_answers(ckpt, PAIRS))
    by_text = [log_probs_by_hand(ckpt, *pair) for pair in PAIRS]
    tokens = [each for text in by_text for each in text]
    assert found.loss == pytest.approx(-sum(value for value, _ in tokens) / len(tokens), rel=1e-5)
    means = [-sum(value for value, _ in text) / len(text) for text in by_text]
    assert found.text_loss == pytest.approx(sum(means) / len(means), rel=1e-5)
    assert abs(found.loss - found.text_loss) > 1e-4  # the lengths differ, so the two are two numbers
    assert found.next_right == pytest.approx(sum(best for _, best in tokens) / len(tokens))


def test_equal_positions_are_counted_with_start_end_and_padding():
    ckpt = tiny_checkpoint()
    answers = greedy_answers(ckpt, PAIRS)
    vocabulary = ckpt.target_codec.vocabulary
    wanted = [ckpt.target_codec.encode(target).ids for _, target in PAIRS]
    width, equal = max(map(len, wanted)), 0
    for (source, _), ids in zip(PAIRS, wanted, strict=True):
        written = [vocabulary.bos, *(step.token_id for step in decode(ckpt, source).steps)]
        rows = [[*row, *[vocabulary.pad] * width][:width] for row in (written, ids)]
        equal += sum(a == b for a, b in zip(*rows, strict=True))
    assert equal_positions(ckpt, answers) == equal / (len(PAIRS) * width)


def test_a_wrong_answer_has_equal_positions_and_a_right_one_has_them_all():
    ckpt = tiny_checkpoint()
    ids = {name: ckpt.target_codec.encode(name).ids[1:-1] for name in ("xyzx", "x", "xy")}
    right = [PairAnswer("a", name, name, True, ids=ids[name]) for name in ids]
    assert equal_positions(ckpt, right) == 1
    # <s> x y z x </s> against <s> x </s>: start and x; <s> x </s> <pad> <pad> <pad> against itself: six of six
    wrong = [PairAnswer("a", "xyzx", "x", False, ids=ids["x"]), PairAnswer("b", "x", "x", True, ids=ids["x"])]
    assert equal_positions(ckpt, wrong) == 8 / 12


def test_right_answers_have_the_interval_of_their_number():
    ckpt = tiny_checkpoint()
    answers = [PairAnswer("a", "x", "x", True, ids=(7,)), PairAnswer("b", "y", "x", False, ids=(7,))]
    found = token_counts(ckpt, answers)
    assert (found.pairs, found.right) == (2, 1) and (found.low, found.high) == wilson(1, 2)
    with pytest.raises(ValueError, match="no answer"):
        token_counts(ckpt, [])
