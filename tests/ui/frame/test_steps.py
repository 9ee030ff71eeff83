"""The steps of a run as the scrubber and its table have them."""

import math

import pytest
from builders import tiny_checkpoint
from showing import shown_of

from viz_transformer import payload
from viz_transformer.running.strategies import Beam, Greedy, Sampling
from viz_transformer.ui.frame import steps

PLAIN = ["token", "probability", "log-probability", "written"]
STRATEGY = ["strategy probability", "strategy log-probability", "removed because"]


def of(**how):
    return shown_of(tiny_checkpoint(), "abc", **how)


def test_the_table_of_a_greedy_run_has_the_ten_candidates_of_each_step():
    shown = of(max_steps=3)
    table = steps.candidate_table(shown)
    assert list(table.columns) == PLAIN
    assert list(table.index) == [(s, rank) for s in range(1, 4) for rank in range(10)]
    assert table["token"].tolist() == [each.token for step in shown.run.steps for each in step.candidates]
    assert table["log-probability"].tolist() == [each.log_prob for step in shown.run.steps for each in step.candidates]
    assert table[table["written"]]["token"].tolist() == [step.token for step in shown.run.steps]


@pytest.mark.parametrize(
    "how",
    [
        {"strategy": Sampling(temperature=1.5, top_k=5, top_p=0.9, seed=4)},
        {"strategy": Sampling(repetition_penalty=4.0)},
        {"strategy": Beam(2)},
        {"ban": ["4"]},
    ],
)
def test_the_table_of_another_strategy_has_its_probabilities_and_why_it_removed_a_token(how):
    shown = of(max_steps=4, **how)
    table = steps.candidate_table(shown)
    assert list(table.columns) == PLAIN + STRATEGY
    for (s, rank), row in table.iterrows():
        step = shown.run.steps[s - 1]
        found = step.candidate(step.vocabulary.index(row["token"]))
        assert int((step.log_probs > found.log_prob).sum()) == rank
        assert row["probability"] == math.exp(found.log_prob)
        assert row["strategy probability"] == math.exp(found.strategy_log_prob)
        assert row["strategy log-probability"] == found.strategy_log_prob
        assert row["removed because"] == (found.removed or "")
    assert table[table["written"]]["token"].tolist() == [step.token for step in shown.run.steps]


def test_the_scrubber_and_the_table_have_the_same_candidates():
    shown = of(max_steps=6, strategy=Sampling(repetition_penalty=4.0))
    header, _ = payload.unpack(steps.scrubber_data(shown, strategy=True))
    drawn = [header["tokens"][place]["text"] for places in header["candidates"] for place in places]
    assert drawn == steps.candidate_table(shown)["token"].tolist()
    assert len(drawn) > 10 * len(shown.run.steps)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "greedy"),
        ({"strategy": Greedy(), "ban": ["4"]}, "greedy, 1 token banned"),
        ({"strategy": Sampling(top_k=3, seed=7), "ban": ["4", "3"]}, None),
        ({"target": "uv"}, "given target"),
    ],
)
def test_the_strategy_is_named_with_what_was_banned(how, words):
    header, arrays = payload.unpack(steps.scrubber_data(of(**how), strategy=True, takes=True))
    expected = words or f"{how['strategy']}, 2 tokens banned"
    assert header["strategy"]["name"] == expected
    assert len(arrays["entropy"]) == len(header["candidates"])
    assert len(header["ids"]) == len(header["tokens"])


def test_the_run_page_is_sent_nothing_of_the_strategy():
    shown = of(strategy=Sampling(seed=1), max_steps=3)
    header, arrays = payload.unpack(steps.scrubber_data(shown))
    assert set(arrays) == {"log_probs", "rest"}
    assert {"strategy", "ids"} & set(header) == set()
