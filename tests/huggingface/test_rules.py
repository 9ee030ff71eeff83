"""What the generation_config of a folder removes, token by token as `generate()` does, greedily and in beams."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from pretrained import KINDS, folder

from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.text.rules import NoRepeatedGram, NotTooShort

SOURCE = "two hundred and four"
MOST = 10
RULES = ("repeated", "once", "bad", "long", "long in new ones", "suppressed", "first", "language", "ends in a language")
LANGUAGES = ("language", "ends in a language")


def settings_of(rule: str, free: list[int], read: int) -> dict[str, Any]:
    """Settings that change an answer which would be `free`, behind so many tokens."""
    early = {"eos_token_id": free[1]}
    return {
        "repeated": {"no_repeat_ngram_size": 2},
        "once": {"no_repeat_ngram_size": 1},
        "bad": {"bad_words_ids": [[free[0]], [5, 7, 9], [free[3], free[4]]]},
        "long": {"min_length": read + 4, **early},
        "long in new ones": {"min_new_tokens": 4, **early},
        "suppressed": {"suppress_tokens": [free[0], free[3]]},
        "first": {"begin_suppress_tokens": [free[0], 5, 7]},
        "language": {"forced_bos_token_id": 9, "no_repeat_ngram_size": 2, "begin_suppress_tokens": [*range(20, 50)]},
        "ends in a language": {"forced_bos_token_id": 9, "min_new_tokens": 4, "eos_token_id": [*range(10, 54)]},
    }[rule]


def with_settings(where: Path, name: str, settings: dict[str, Any]) -> Path:
    """A folder with these settings in its generation_config."""
    path = folder(where, name, seed=3) / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    return where


def theirs(where: Path, name: str, run: Run, **given: Any) -> list[int]:
    """What `generate` writes for the same ids."""
    model = getattr(transformers, KINDS[name][0]).from_pretrained(where, attn_implementation="eager").eval()
    source = torch.tensor([run.trace.src_ids or run.trace.tgt_ids[: len(run.trace.tgt) - len(run.steps) + 1]])
    kept = torch.ones_like(source)
    found = model.generate(source, attention_mask=kept, do_sample=False, **given)[0].tolist()
    before = 1 if run.trace.src_ids else source.size(1)
    return found[before:]


def written(run: Run) -> list[int]:
    """What `generate` gives of a run: also the language that each answer begins with."""
    forced = len(run.trace.tgt) - len(run.steps) if run.trace.src_ids else 0
    return [*run.trace.tgt_ids[1 : 1 + forced], *(step.token_id for step in run.steps)]


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """What a model writes that nothing keeps from it: its only end token is one that it hardly writes."""
    return cache(lambda name: decode(load(ruled(tmp_path_factory.mktemp(name), name, {})), SOURCE, max_steps=MOST))


def ruled(where: Path, name: str, settings: dict[str, Any]) -> Path:
    return with_settings(where, name, {"eos_token_id": 3, **settings})


def both(where: Path, name: str, rule: str, free: Run) -> tuple[Path, list[int]]:
    """A folder with this rule, and what is written without it."""
    ids = [step.token_id for step in free.steps]
    return ruled(where, name, settings_of(rule, ids, len(free.trace.tgt) - len(ids) + 1)), ids


@pytest.mark.parametrize(
    ("name", "rule"),
    [*(("gpt2", rule) for rule in RULES if rule not in LANGUAGES), *(("bart", rule) for rule in RULES)],
)
def test_greedy_answers_are_theirs_token_by_token(
    tmp_path: Path, free: Callable[[str], Run], name: str, rule: str
) -> None:
    where, before = both(tmp_path / "model", name, rule, free(name))
    run = decode(load(where), SOURCE, max_steps=MOST)
    assert written(run) == theirs(where, name, run, max_new_tokens=len(written(run)))
    assert written(run) != before[: len(run.steps)] or rule.startswith("long")
    assert len(run.steps) >= 4 or not rule.startswith("long")


@pytest.mark.parametrize("rule", ["repeated", "bad", "suppressed", "first", "long in new ones"])
@pytest.mark.parametrize("name", ["gpt2", "bart"])
def test_beams_are_theirs_token_by_token(tmp_path: Path, free: Callable[[str], Run], name: str, rule: str) -> None:
    where, _ = both(tmp_path / "model", name, rule, free(name))
    run = decode(load(where), SOURCE, strategy=Beam(3, stop="early_stopping=True"), max_steps=MOST)
    given = {"num_beams": 3, "early_stopping": True, "max_new_tokens": MOST}
    found = theirs(where, name, run, **given)
    assert written(run) == found[: len(written(run))] and {*found[len(written(run)) :]} <= {0}


def removed_at(run: Run, step: int) -> dict[int, str]:
    """Why each token is not written at a step."""
    return {
        each.token_id: each.removed
        for each in run.steps[step].most_probable(len(run.steps[step].vocabulary))
        if each.removed is not None and each.removed != "greedy"
    }


def opened(where: Path, **settings: Any) -> Checkpoint:
    return load(with_settings(where, "gpt2", settings))


def test_what_is_removed_is_said_by_the_name_of_its_rule(tmp_path: Path) -> None:
    ckpt = opened(
        tmp_path / "all", no_repeat_ngram_size=1, bad_words_ids=[[40]], min_new_tokens=2, suppress_tokens=[41]
    )
    run = decode(ckpt, SOURCE, max_steps=4)
    first, third = removed_at(run, 0), removed_at(run, 2)
    read = set(run.trace.tgt_ids[: len(run.trace.tgt) - 3])
    ends = ckpt.codec("target").ends
    assert {i for i, why in first.items() if why == "repeated n-gram"} == read
    assert first[40] == "bad word" and first[41] == "suppressed"
    assert {i for i, why in first.items() if why == "too short to end"} == ends - read
    assert not [why for why in third.values() if why == "too short to end"]
    drawn = decode(ckpt, SOURCE, strategy=Sampling(seed=1), max_steps=4)
    assert not {step.token_id for step in drawn.steps} & {40, 41}
    assert drawn.steps[0].candidate(40).strategy_log_prob == -math.inf


def test_a_given_answer_knows_no_rules(tmp_path: Path) -> None:
    ckpt = load(with_settings(tmp_path / "model", "bart", {"no_repeat_ngram_size": 1, "min_length": 20}))
    run = decode(ckpt, SOURCE, target="two two two")
    assert not [each for each in run.steps if each.candidate(each.token_id).removed is not None]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"suppress_tokens": [10**6]}, "suppress_tokens"),
        ({"bad_words_ids": [["the"]]}, "bad_words_ids"),
        ({"bad_words_ids": 5}, "bad_words_ids=5 has to be a list, each a list, each an id from 0"),
        ({"no_repeat_ngram_size": 2.5}, "no_repeat_ngram_size"),
    ],
)
def test_settings_that_cannot_be_are_a_sentence(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        opened(tmp_path / "model", **settings)


def test_what_is_not_used_is_named(tmp_path: Path) -> None:
    ckpt = opened(tmp_path / "model", repetition_penalty=1.3, no_repeat_ngram_size=2, num_beams=4)
    (said,) = [note for note in ckpt.card["notes"] if "generation_config" in note]
    assert "repetition_penalty=1.3" in said and "num_beams=4" in said and "no_repeat" not in said
    assert [str(rule) for rule in ckpt.codec("target").rules] == ["no sequence of 2 tokens twice"]


def test_each_rule_is_said_with_its_number() -> None:
    rules = (NoRepeatedGram(1), NotTooShort(1, frozenset({2})), NotTooShort(3, frozenset({2}), new=True))
    assert [*map(str, rules)] == ["no token twice", "at least 1 token", "at least 3 written tokens"]
