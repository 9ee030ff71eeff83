"""Beam searches of folders end as those of `generate` do: the same tokens and score by each of its stop rules."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
import transformers
from pretrained import KINDS, folder

from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.command import main as program
from viz_transformer.huggingface.loading import load
from viz_transformer.measuring.answering import answers_of
from viz_transformer.running.beam_tree import BeamTree
from viz_transformer.running.decoding import Run, decode, follow
from viz_transformer.running.strategies import GENERATE_RULES, Beam
from viz_transformer.text.rules import BeamSettings

FAMILIES = ["t5", "bart", "marian", "gpt2", "llama"]
TEXTS = ["the cat sat", "two hundred and four", "green", "naïve straße nine"]
SEARCHES = 18
"""Searches of each family: some of all widths, penalties, rules and lengths, by a seed."""
RULE_OF = {value: rule for rule, value in GENERATE_RULES.items()}


def untouched(where: Path, name: str) -> Any:
    return getattr(transformers, KINDS[name][0]).from_pretrained(where, attn_implementation="eager").eval()


@torch.no_grad()
def generated(model: Any, run: Run, **options: Any) -> tuple[list[int], float]:
    """What `generate` writes for the ids that the run has read, and its score."""
    read = list(run.trace.src_ids or run.trace.tgt_ids[: len(run.trace.tgt) - len(run.steps) + 1])
    found = model.generate(
        torch.tensor([read]),
        attention_mask=torch.ones(1, len(read), dtype=torch.long),
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        **options,
    )
    before = 1 if run.trace.src_ids else len(read)
    return found.sequences[0, before:].tolist(), found.sequences_scores[0].item()


def check_tree(tree: BeamTree, run: Run) -> None:
    """The tree tells of this search: the answer is the best of all that had finished or counted as finished."""
    written = [step.token_id for step in run.steps]
    answer, ends = tree.nodes[tree.answer], {node.fate for node in tree.nodes}
    assert list(tree.ids(tree.answer)) == written and answer in tree.finished and tree.best[0] == answer
    assert all(node.score <= answer.score for node in tree.finished)
    assert answer.score == run.score and not {"stopped", "cut off"} <= ends
    for node in tree.nodes:
        said = tree.why(node.index)
        if node.index == tree.answer:
            assert said.startswith("The answer: it ")
        elif node.fate == "cut off":
            assert "at the maximum length" in said and node.margin is not None and node.margin >= 0


@pytest.mark.parametrize("name", FAMILIES)
def test_beams_are_those_of_generate_by_every_stop_rule(
    opened: Callable[[str], Checkpoint], theirs: Callable[[str], Any], name: str
) -> None:
    ckpt, model, draw = opened(name), theirs(name), Random(FAMILIES.index(name))
    seen: Counter[str] = Counter()
    for place in range(SEARCHES):
        early = (True, False, "never")[place % 3]
        width, most, text = draw.choice((2, 3, 4)), draw.choice((1, 2, 4, 6, 9)), draw.choice(TEXTS)
        alpha = draw.choice((-0.7, 0.0, 0.6, 1.0, 2.0))
        beam = Beam(width, length_penalty=alpha, penalty="power", stop=RULE_OF[early])
        run = decode(ckpt, text, strategy=beam, max_steps=most)
        options = {"num_beams": width, "length_penalty": alpha, "early_stopping": early, "max_new_tokens": most}
        expected, score = generated(model, run, **options)
        written = [step.token_id for step in run.steps]
        assert written == expected[: len(written)], options
        assert {*expected[len(written) :]} <= {0, *ckpt.codec("target").ends}, options
        assert run.score == pytest.approx(score, abs=1e-4)
        total = math.fsum(step.log_prob for step in run.steps)
        assert run.score == pytest.approx(total / len(written) ** alpha, abs=1e-4)
        assert run.tree is not None and run.tree.steps <= most
        check_tree(run.tree, run)
        seen[run.tree.nodes[run.tree.answer].fate] += 1
    assert seen["cut off"] and (seen["finished"] or name == "marian"), seen  # a random one that seldom ends


def test_one_that_was_cut_off_may_win_where_a_finished_one_does_under_our_rule(
    opened: Callable[[str], Checkpoint],
) -> None:
    found = 0
    for name, text, most in product(("t5", "bart"), TEXTS, (2, 4, 6)):
        ours, other = (
            decode(opened(name), text, strategy=Beam(3, length_penalty=1.0, penalty="power", stop=stop), max_steps=most)
            for stop in ("none-better", "early_stopping=False")
        )
        if ours.tokens == other.tokens:
            continue
        assert ours.tree is not None and other.tree is not None and other.score > ours.score
        assert ours.tree.nodes[ours.tree.answer].fate == "finished"
        answer = other.tree.nodes[other.tree.answer]
        assert answer.fate == "cut off" and "which counts as finished" in other.tree.why(answer.index)
        found += 1
    assert found


@pytest.fixture(scope="module")
def with_settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that says how beams are searched."""
    where = folder(tmp_path_factory.mktemp("settings") / "model", "bart", seed=2)
    path = where / "generation_config.json"
    settings = {"num_beams": 3, "length_penalty": 2.0, "early_stopping": "never"}
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    return where


def test_settings_that_are_not_given_are_those_of_the_folder(with_settings: Path) -> None:
    ckpt, model, most = load(with_settings), untouched(with_settings, "bart"), 7
    assert ckpt.codec("target").beam_settings == BeamSettings(3, 2.0, "never")
    for given, options in (
        ({}, {}),
        ({"length_penalty": 0.0}, {"length_penalty": 0.0}),
        ({"stop": "early_stopping=True"}, {"early_stopping": True}),
    ):
        for text in TEXTS:
            run = decode(ckpt, text, strategy=Beam(3, **given), max_steps=most)  # type: ignore[arg-type]
            expected, score = generated(model, run, max_new_tokens=most, **options)
            assert [step.token_id for step in run.steps] == expected[: len(run.steps)]
            assert run.score == pytest.approx(score, abs=1e-4) and run.tree is not None
            assert run.trace.info["strategy"] == str(run.tree.beam)
    ours = Beam(3, length_penalty=0.6, penalty="gnmt", stop="none-better")
    run = decode(ckpt, TEXTS[0], strategy=ours, max_steps=most)
    assert run.tree is not None and run.tree.beam == ours
    assert follow(ckpt, TEXTS[0], [4, 5], strategy=Beam(3)).steps[0].choosing.strategy == Beam(3).filled(
        BeamSettings(3, 2.0, "never")
    )


def test_what_measures_writes_beams_of_the_folder_too(with_settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ckpt = load(with_settings)
    expected = [decode(ckpt, text, strategy=Beam(3)).text for text in TEXTS]
    assert [answer.text for answer in answers_of(ckpt, TEXTS, beam=3)[0]] == expected
    with pytest.raises(SystemExit):
        program(["translate", str(with_settings), TEXTS[0], "--beam", "3"])
    assert capsys.readouterr().out == f"{expected[0]}\n"


def test_the_folders_settings_are_named_where_it_is_opened(with_settings: Path) -> None:
    (said,) = [note for note in load(with_settings).card["notes"] if "beam search" in note]
    assert 'length_penalty=2, early_stopping="never"' in said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"length_penalty": "2"}, "length_penalty='2' has to be a finite number"),
        ({"length_penalty": 11}, "length_penalty=11 has to be a number from -10 to 10"),
        ({"num_beams": 2.5}, "num_beams=2.5 has to be a whole number"),
        ({"num_beams": 0}, "num_beams=0 has to be"),
    ],
)
def test_settings_of_beams_that_cannot_be_are_a_sentence(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    where = folder(tmp_path / "model", "gpt2")
    path = where / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    with pytest.raises(CheckpointError, match=said):
        load(where)


def test_a_width_of_1_is_greedy_by_every_rule(opened: Callable[[str], Checkpoint]) -> None:
    for name in ("bart", "gpt2"):
        for rule in GENERATE_RULES:
            for alpha in (-1.0, 0.0, 2.0):
                beam = Beam(1, length_penalty=alpha, penalty="power", stop=rule)
                run = decode(opened(name), TEXTS[1], strategy=beam, max_steps=6)
                assert run.tokens == decode(opened(name), TEXTS[1], max_steps=6).tokens
