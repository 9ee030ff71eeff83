"""A sample that is reproduced is worth what it could have told: wrong readings that it would miss are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strangers
import torch
from builders import tiny_checkpoint
from strangers import CASES, stranger

import viz_transformer as vt
from viz_transformer.checkpoint.grading import UNTOLD
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.measuring.sample_script import SCRIPT
from viz_transformer.measuring.verifying import Verification

ATTENTION = ("exchanged queries and keys", "another divisor", "a norm on queries and keys")


def verified(ckpt: vt.Checkpoint, source: list[int] | None, target: list[int] | None, path: Path) -> Verification:
    """The checkpoint beside a sample of its own logits."""
    given = {"source": source, "target": target}
    ids = {side: [each] for side, each in given.items() if each is not None}
    both = [each for each in (source, target) if each is not None]
    np.savez(path / "s.npz", logits=vt.trace(ckpt, *both)["logits"].numpy(), **ids)
    return vt.verify(ckpt, path / "s.npz")


def test_a_sample_of_one_token_proves_nothing_of_queries_and_keys(tmp_path: Path) -> None:
    found = verified(tiny_checkpoint("decoder-only"), None, [7], tmp_path)
    assert found.proved.passed and found.grade == "reproduced"
    missed = str(found.proved.figures[UNTOLD]).split("; ")
    assert {*ATTENTION} <= {*missed} and "another activation" not in missed
    assert found.proved.figures["longest_target"] == 1
    assert all(each in found.sentence for each in missed)


def test_it_is_named_in_which_attention_a_sample_tells_nothing(tmp_path: Path) -> None:
    found = verified(tiny_checkpoint(), [6], [1, 9, 8, 7, 5, 4, 11, 12], tmp_path)
    missed = str(found.proved.figures[UNTOLD]).split("; ")
    assert "exchanged queries and keys (cross-attention, encoder self-attention)" in missed
    assert found.proved.figures["longest_source"] == 1 and found.proved.figures["longest_target"] == 8


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "none"])
def test_a_long_sample_proves_texts_of_up_to_its_length(kind: str, positions: str, tmp_path: Path) -> None:
    ids = [1, *(4 + (5 * place) % 16 for place in range(15))]
    ckpt = tiny_checkpoint(kind, positions=positions)
    source = [id % 12 or 1 for id in ids] if ckpt.spec.has_encoder else None
    found = verified(ckpt, source, ids, tmp_path)
    assert found.grade == "proved", found.sentence
    assert found.sentence.endswith("; that proves it for texts of up to 16 tokens")


def test_what_is_padded_proves_no_more_than_its_tokens(tmp_path: Path) -> None:
    found = verified(tiny_checkpoint(), [4, 5, 6, 7, 0, 0], [1, 9, 8, 7, 5, 0], tmp_path)
    assert (found.proved.figures["longest_source"], found.proved.figures["longest_target"]) == (4, 5)


def windowed(monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    """Every decoder of the strangers reads this many tokens back at most, its own included."""
    closed = lambda n: torch.ones(n, n).tril().triu(1 - window).bool()  # noqa: E731
    monkeypatch.setattr(strangers, "causal", closed)


def test_a_window_that_a_short_sample_misses_is_found_by_a_longer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model with a window of 6 is read without one: three tokens prove it for three, and 14 show that it is wrong."""
    windowed(monkeypatch, 6)
    torch.manual_seed(3)
    model = CASES["nanoGPT"][0]().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    torch.save(model.state_dict(), tmp_path / "m.pt")
    ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=CASES["nanoGPT"][2])))
    grades = {}
    for length in (3, 6, 7, 14):
        ids = [(5 * place) % 13 for place in range(length)]
        with torch.no_grad():
            np.savez(tmp_path / "s.npz", target=[ids], logits=model(torch.tensor([ids])).numpy())
        grades[length] = found = vt.verify(ckpt, tmp_path / "s.npz")
        assert found.grade == ("proved" if length <= 6 else "failed"), found.sentence
    assert grades[3].sentence.endswith("; that proves it for texts of up to 3 tokens")
    assert grades[6].proved.figures["longest_target"] == 6


def written(model: Any, folder: Path, script: str = SCRIPT) -> dict[str, np.ndarray[Any, Any]]:
    """What the printed lines write for this model."""
    exec(compile(script.replace("sample.npz", str(folder / "sample.npz")), "script", "exec"), {"model": model})
    with np.load(folder / "sample.npz") as sample:
        return dict(sample)


@pytest.mark.parametrize("name", CASES)
def test_the_printed_lines_unchanged_prove_each_layout_as_far_as_it_reads(name: str, tmp_path: Path) -> None:
    model, ids, _ = stranger(name)
    lines = SCRIPT if len(ids) == 2 else SCRIPT.replace('["source", "target"]', '["target"]')
    held = written(model, tmp_path, lines)
    missing = {*range(held["logits"].shape[-1])} - {*held["target"].ravel()}
    assert len(held["target"]) == 3 and len(missing) <= 1  # padding
    assert held["target"].shape == held["logits"].shape[:2]
    torch.save(model.state_dict(), tmp_path / "m.pt")
    ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=CASES[name][2])))
    assert held["target"].shape[1] == (40 if name == "D" else min(64, ckpt.config.max_target))
    found = vt.verify(ckpt, tmp_path / "sample.npz")
    assert found.grade == "proved", found.sentence
    assert found.proved.figures["longest_target"] == held["target"].shape[1]


def test_the_printed_lines_leave_padding_out_where_it_is_named(tmp_path: Path) -> None:
    model, _, _ = stranger("D")
    held = written(model, tmp_path, SCRIPT.replace("pad = {", "pad = {3} | {"))
    assert 3 not in held["source"] and 3 not in held["target"] and 4 in held["target"]
