"""The numbers of a step, also where one token is all but sure and float32 would call it certain."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Texts
from viz_transformer.analysis.decoding.scoring import target_score
from viz_transformer.analysis.layers.lens import lens
from viz_transformer.analysis.run.filling import filling
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures.components.scrubber import WrittenSteps, scrubber_payload, steps_of
from viz_transformer.measuring.evaluation import evaluate
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.strategies import (
    REASONS,
    Beam,
    Greedy,
    Sampling,
    Strategy,
    distribution,
    entropy_and_others,
    first_greatest,
    greatest,
    log_softmax,
)

SURE: dict[str, Strategy] = {
    "greedy": Greedy(),
    "sampling": Sampling(seed=3),
    "cold": Sampling(temperature=0.002, seed=3),
    "cut": Sampling(top_k=3, top_p=0.9, seed=3),
    "beam": Beam(2),
}


def sure(factor: float) -> Checkpoint:
    """A checkpoint whose most probable token is so much more probable than the next that only logarithms tell."""
    ckpt = tiny_checkpoint()
    with torch.no_grad():
        for parameter in ckpt.model.output.parameters():
            parameter.mul_(factor)
    return ckpt


def exact_log_softmax(logits: list[float]) -> list[Decimal]:
    """With 400 digits, written out."""
    with localcontext() as context:
        context.prec = 400
        total = sum((Decimal(z).exp() for z in logits), Decimal(0))
        return [Decimal(z) - total.ln() for z in logits]


@pytest.mark.parametrize("spread", [1, 10, 30, 100, 300])
def test_the_log_softmax_is_right_relative_to_its_size_also_beside_0(spread: float) -> None:
    random = np.random.default_rng(int(spread))
    for _ in range(8):
        logits = (random.normal(size=12) * spread).astype(np.float32)
        found = log_softmax(torch.from_numpy(logits)).tolist()
        for value, true in zip(found, exact_log_softmax(logits.tolist()), strict=True):
            assert abs(Decimal(value) - true) <= Decimal("1e-9") * abs(true), (value, true)


def test_a_token_is_certain_only_if_all_others_are_impossible() -> None:
    rows = torch.tensor([[0.0, -20.0], [0.0, -1000.0], [0.0, -math.inf], [0.0, 0.0]])
    first, second, third, fourth = log_softmax(rows).tolist()
    assert first[0] == pytest.approx(-math.exp(-20), rel=1e-8) and -1e-300 < second[0] < 0
    assert third == [0.0, -math.inf] and fourth[0] == pytest.approx(-math.log(2))


def _random(size: int) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(size), dtype=torch.float64)


def _few_finite(size: int) -> torch.Tensor:
    numbers = torch.full((size,), -math.inf, dtype=torch.float64)
    numbers[[0, size // 2, size - 1]] = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64)
    return numbers


def _with_nan(size: int) -> torch.Tensor:
    numbers = _random(size)
    numbers[size // 3] = math.nan
    return numbers


def _together(size: int) -> torch.Tensor:
    return torch.arange(size, dtype=torch.float64)  # the greatest in the part behind the last whole one, or beside it


@pytest.mark.parametrize("made", [_random, _few_finite, _with_nan, _together])
def test_the_greatest_are_those_that_a_search_of_all_finds(made: Any) -> None:
    for size, count in product((12, 2_560, 2_816, 100_000, 250_112), (1, 3, 10)):
        numbers = made(size)
        found, asked = numbers[greatest(numbers, count)], numbers.topk(count).values
        assert torch.equal(found.nan_to_num(nan=99.0), asked.nan_to_num(nan=99.0)), (size, count)
        if made is not _few_finite or count <= 3:
            assert greatest(numbers, count).tolist() == numbers.topk(count).indices.tolist(), (size, count)


@pytest.mark.parametrize("spread", [0, 1, 30, 300])
def test_entropy_and_the_rest_are_what_sums_with_many_digits_are(spread: float) -> None:
    logits = (np.random.default_rng(int(spread)).normal(size=12) * spread).astype(np.float32)
    exact = exact_log_softmax(logits.tolist())
    entropy, others = entropy_and_others(log_softmax(torch.from_numpy(logits)), [0, 3])
    with localcontext() as context:
        context.prec = 400
        assert entropy == pytest.approx(float(-sum(each.exp() * each for each in exact)), rel=1e-9)
        assert others == pytest.approx(float(sum(exact[i].exp() for i in range(12) if i not in (0, 3))), rel=1e-9)


def test_the_rest_is_0_only_where_no_other_token_is_possible() -> None:
    tiny = torch.tensor([0.0, -800.0, -math.inf], dtype=torch.float64)
    assert entropy_and_others(tiny, [0]) == (0.0, math.ulp(0.0))  # e^-800 is below all numbers but this
    assert entropy_and_others(tiny, [0, 1]) == (0.0, 0.0)
    assert entropy_and_others(torch.full((8,), -math.log(8), dtype=torch.float64)) == (pytest.approx(math.log(8)), 1.0)


def test_the_first_of_equals_is_the_greatest_that_is_written() -> None:
    numbers = torch.zeros(100_000)
    numbers[[70_000, 80_000]] = 1.0
    assert first_greatest(numbers) == 70_000 == int(numbers.argmax())


def _in_order(row: list[float], count: int) -> list[int]:
    """NaN first, then by number, of equals the smaller index first: sorted in plain Python."""
    order = sorted(range(len(row)), key=lambda i: (not math.isnan(row[i]), 0.0 if math.isnan(row[i]) else -row[i], i))
    return order[:count]


@pytest.mark.parametrize("kind", ["finite", "-inf", "NaN", "both", "nothing but -inf", "nothing but NaN"])
def test_tokens_have_one_order_by_number_then_by_id_also_among_many_equals(kind: str) -> None:
    sizes, levels = (1, 2, 9, 64, 700, 5_000, 20_001), (1, 2, 5, 300)
    assert not [each for each in product(sizes, levels) if not has_one_order(*each, kind)]


def has_one_order(size: int, levels: int, kind: str) -> bool:
    """Whether the greatest of three rows with so many different numbers are those of a sorting in plain Python."""
    random = torch.Generator().manual_seed(size + levels)
    numbers = torch.randint(levels, (3, size), generator=random).float() - levels / 2
    rare = torch.rand(3, size, generator=random)
    if kind in ("-inf", "both"):
        numbers[rare < 0.4] = -math.inf
    if kind in ("NaN", "both"):
        numbers[rare > 0.9] = math.nan
    if kind.startswith("nothing"):
        numbers[:] = math.nan if kind.endswith("NaN") else -math.inf
    order = [_in_order(row.tolist(), size) for row in numbers]
    right = all(
        first_greatest(row) == int(row.argmax()) == places[0] for row, places in zip(numbers, order, strict=True)
    )
    for count in {min(count, size) for count in (1, 2, 10, size)}:
        expected = [places[:count] for places in order]
        right &= greatest(numbers, count).tolist() == expected
        right &= greatest(numbers[0].double(), count).tolist() == expected[0]
    return right


@pytest.fixture(scope="module")
def tied() -> Checkpoint:
    """A checkpoint whose logits are the same three numbers at every step, each of several tokens: 7, 8, 12 and 17 share
    the largest."""
    ckpt = tiny_checkpoint()
    with torch.no_grad():
        ckpt.model.output.weight.zero_()
        ckpt.model.output.bias.copy_(torch.tensor([0.0, 1.0] * 10))
        ckpt.model.output.bias[[7, 8, 12, 17]] = 2.0
    return ckpt


FIRST = [7, 8, 12, 17, 1, 3, 5, 9, 11, 13]


@pytest.mark.parametrize("strategy", [Greedy(), Beam(1), Sampling(temperature=0), Sampling(top_k=1)])
def test_what_is_written_of_equals_is_the_first_candidate_and_all_have_one_order(
    tied: Checkpoint, strategy: Strategy
) -> None:
    run = decode(tied, "abc", strategy=strategy, max_steps=3)
    for step in run.steps:
        assert [each.token_id for each in step.candidates] == FIRST and step.token_id == 7
        assert list(step.most_probable_left(10))[:1] == [7]
    found = lens(run.trace, tied.model)
    assert found.top_ids.tolist() == [[FIRST[:5]] * len(found.stations)] * 3 and not found.rank.any()
    assert [each.token_id for each in filling(run.trace, 1, tied.codec("target").names).candidates] == FIRST


def test_a_beam_takes_equals_in_the_order_of_their_ids(tied: Checkpoint) -> None:
    tree = decode(tied, "abc", strategy=Beam(4), max_steps=1).tree
    assert tree is not None
    assert [node.token_id for node in tree.nodes][:4] == FIRST[:4]


def test_equals_share_their_rank_and_the_answer_says_as_probable_as(tied: Checkpoint) -> None:
    run = decode(tied, "abc", target=[12, 5, 4, 7])
    assert [step.rank for step in run.steps][:4] == [0, 4, 12, 0]
    for strategy in (False, True):
        steps = steps_of(run, strategy=strategy)
        assert [each.rank for each in steps[0].candidates] == [0] * 4 + [4] * 6
        assert [step.written.rank for step in steps][:4] == [0, 4, 12, 0]
    score = target_score(run)
    assert score.missed[:2] == (1, 2) and score.tied == (0,)
    assert (score.tokens[0].best_id, score.tokens[0].ties, score.tokens[3].ties) == (7, True, False)


def test_what_is_not_a_number_ties_with_nothing(tied: Checkpoint) -> None:
    step = decode(tied, "abc", max_steps=1).steps[0]
    logits = step.logits.clone()
    logits[3] = math.nan
    broken = replace(step, logits=logits)
    assert [each.token_id for each in broken.candidates] == [3, *FIRST[:5], *FIRST[6:]] and broken.rank == 0
    assert [each.rank for each in steps_of(SimpleNamespace(steps=[broken]))[0].candidates] == list(range(10))


@pytest.mark.parametrize("how", SURE)
@pytest.mark.parametrize("factor", [30, 300])
def test_what_is_most_probable_under_a_strategy_is_what_it_left(how: str, factor: float) -> None:
    for step in decode(sure(factor), "abc", strategy=SURE[how], max_steps=5).steps:
        left = step.distribution.log_probs
        ids = step.most_probable_left(10)
        assert len(ids) == min(10, int((left > -math.inf).sum())) == len(set(ids))
        assert left[list(ids)].tolist() == sorted(left.tolist(), reverse=True)[: len(ids)]
        if isinstance(SURE[how], Greedy):
            assert ids == (step.token_id,) and step.strategy_log_prob == 0


def test_greedy_leaves_the_token_that_it_writes_alone_also_where_the_next_is_all_but_as_probable() -> None:
    logits = torch.tensor([0.0, 2000.0, 2000.0 + 2**-13, -5.0])
    found = distribution(logits, Greedy())
    assert found.log_probs.tolist() == [-math.inf, -math.inf, 0.0, -math.inf]
    assert found.removed.tolist() == [REASONS.index("greedy")] * 2 + [0, REASONS.index("greedy")]
    assert distribution(logits, Greedy(), banned={2}).log_probs.tolist() == [-math.inf, 0.0, -math.inf, -math.inf]


@pytest.mark.parametrize("how", SURE)
@pytest.mark.parametrize("factor", [30, 300])
def test_no_log_probability_of_a_sure_step_is_0_for_the_model_or_its_strategy(how: str, factor: float) -> None:
    run = decode(sure(factor), "abc", strategy=SURE[how], max_steps=5)
    assert min(1 - math.exp(step.log_prob) for step in run.steps) < 1e-8  # else nothing here is hard
    for step in run.steps:
        assert all(each.log_prob < 0 for each in step.candidates) and step.entropy > 0
        others = step.distribution.log_probs > -math.inf
        assert (step.strategy_log_prob == 0) == (int(others.sum()) == 1)
    if run.tree is not None:
        assert all(node.log_prob < 0 for node in run.tree.nodes)
        answer = run.tree.path(run.tree.answer)
        for step, node in zip(run.steps, answer, strict=True):
            # Logits of some hundreds in float32, whose last bits depend on how many rows a product has.
            assert node.log_prob == pytest.approx(step.log_prob, rel=1e-3, abs=1e-300)
    assert run.log_prob == math.fsum(step.log_prob for step in run.steps) < 0


@pytest.mark.parametrize("how", ["greedy", "sampling", "cold"])
def test_nothing_that_is_sent_of_a_sure_step_is_a_0_that_is_not_0(how: str) -> None:
    run = decode(sure(300), "abc", strategy=SURE[how], max_steps=5)
    _, arrays = payload.unpack(sent(run, strategy=how != "greedy"))
    for name, values in arrays.items():
        assert (values[~np.isnan(values)] != 0).all(), name


def test_what_is_left_to_all_other_tokens_is_their_sum_and_not_a_difference() -> None:
    run = decode(sure(30), "abc", max_steps=5)
    for step, about in zip(run.steps, steps_of(run), strict=True):
        others = step.log_probs.exp().sort(descending=True).values[10:].sum().item()
        assert about.rest == pytest.approx(others, rel=1e-9)


def test_the_loss_of_an_evaluation_is_summed_and_taken_in_float64() -> None:
    ckpt = tiny_checkpoint()
    assert ckpt.source_codec is not None and ckpt.target_codec is not None
    source, target = ckpt.source_codec.encode("abc").ids, ckpt.target_codec.encode("uv").ids
    written = [1, *(i for i in target if i > 3), 2]  # <s> u v </s>
    with torch.no_grad():
        logits = ckpt.model(torch.tensor([source]), torch.tensor([written[:-1]]))[0].tolist()
    losses = [-exact_log_softmax(row)[wanted] for row, wanted in zip(logits, written[1:], strict=True)]
    assert evaluate(ckpt, [("abc", "uv")])["loss"] == pytest.approx(float(sum(losses) / 3), rel=1e-12)


def sent(run: Run, *, strategy: bool) -> bytes:
    reads = Texts(["a"] * len(run.steps))
    written = WrittenSteps(steps_of(run, strategy=strategy), reads, len(run.steps[0].vocabulary))
    return scrubber_payload(written, caption="", name="", strategy="s" if strategy else None)
