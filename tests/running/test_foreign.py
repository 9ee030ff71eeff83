"""Runs of a model that is not our Transformer, through what it says of itself: recorded, cached, searched, edited."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch
from foreign import LAYERS, SPEC, UNTOLD, Foreign, foreign_checkpoint

from viz_transformer.analysis.layers.lens import lens
from viz_transformer.model.hooked_model import ModelSpec, OutputKind, Unavailable
from viz_transformer.running.decoding import decode, follow
from viz_transformer.running.edits import AblateHead, Scale, SetMask
from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

CKPT = foreign_checkpoint()
TEXT = "uvw0"


def test_a_run_records_what_the_spec_says_in_its_shapes() -> None:
    run = decode(CKPT, TEXT, max_steps=6)
    assert run.trace.points() == tuple(point.name for point in SPEC.recorded)
    length = len(run.trace.tgt)
    assert length > len(LAYERS) + 4  # beyond the window
    for name in run.trace.points(derived=True):
        assert run.trace[name].shape == SPEC.sizes(name, batch=1, source=0, target=length), name


def test_cached_steps_are_the_rows_of_one_pass() -> None:
    run = decode(CKPT, TEXT, max_steps=8)
    assert run.trace.info["cached"] and run.trace.info["causal"]
    whole = trace(CKPT, run.trace.tgt_ids)
    assert max(whole.diff(run.trace).values()) < 1e-4 * float(whole["logits"].abs().max())
    held = run.steps[-1].cache
    assert held is not None and held.self_positions == len(run.trace.tgt)
    numbers = sum(heads.key * (heads.size + heads.value_size) for heads in LAYERS)
    assert held.bytes == 4 * numbers * len(run.trace.tgt)


@pytest.mark.parametrize(
    ("output", "gives"),
    [("none", "no logits"), ("class", "a class"), ("masked token", "the token at a masked position")],
)
def test_a_decoder_that_gives_no_next_token_writes_nothing(output: OutputKind, gives: str) -> None:
    class Other(Foreign):
        @property
        def spec(self) -> ModelSpec:
            return replace(SPEC, output=output)

    other = replace(CKPT, hooked_model=Other())
    with pytest.raises(ValueError, match=f"this model gives {gives}, not a next token: record it with trace"):
        decode(other, TEXT)
    assert torch.equal(trace(other, TEXT)["logits"], trace(CKPT, TEXT)["logits"])


def test_recording_changes_no_bit() -> None:
    ids = [[4, 5, 6, 7, 8]]
    assert torch.equal(Foreign().whole(None, ids)[0], trace(CKPT, ids[0])["logits"][0])


def test_weights_and_scores_are_those_of_shared_keys_in_a_window() -> None:
    found = trace(CKPT, list(range(4, 14)))
    for layer, heads in enumerate(LAYERS):
        site = f"decoder.{layer}.self"
        query, key = (found[f"{site}.{part}"][0].double() for part in ("query", "key"))
        for head, q, k in product(range(heads.query), range(10), range(10)):
            score = float(query[head, q] @ key[head // (heads.query // heads.key), k]) / heads.size**0.5
            assert float(found[f"{site}.scores"][0, head, q, k]) == pytest.approx(score, abs=1e-5)
        mask = found[f"{site}.mask"][0, 0]
        reach = heads.window or 10
        assert all(bool(mask[q, k]) == (0 <= q - k < reach) for q, k in product(range(10), range(10)))
        seen = found[f"{site}.scores"].masked_fill(~mask, -torch.inf).softmax(dim=-1)
        torch.testing.assert_close(found[f"{site}.weights"], seen, atol=1e-6, rtol=0)


def test_either_of_two_tokens_ends_an_answer() -> None:
    codec = CKPT.codec("target")
    names = {codec.names[i] for i in codec.ends}
    assert names == {"</s>", "z"}
    ended = set()
    for seed in range(30):
        run = decode(CKPT, TEXT, strategy=Sampling(temperature=3.0, seed=seed), max_steps=12)
        assert not any(step.token_id in codec.ends for step in run.steps[:-1])
        assert run.stopped == ("end token" if run.tokens[-1] in names else "maximum length")
        ended.add(run.tokens[-1])
    assert names <= ended
    with pytest.raises(ValueError, match="the end token is at position 1"):
        follow(CKPT, TEXT, [codec.names.index(token) for token in ("u", "z", "u")])


def best_of_all(steps: int) -> float:
    """The log-probability of the best answer that ends within so many tokens: every answer is looked at."""
    codec, model = CKPT.codec("target"), Foreign()
    start = list(codec.encode(TEXT).ids)
    alive, best = [((), 0.0)], -torch.inf
    for _ in range(steps):
        log_probs = model.whole(None, [[*start, *ids] for ids, _ in alive])[:, -1].double().log_softmax(-1)
        grown = [
            ((*ids, i), p + float(row[i]))
            for (ids, p), row in zip(alive, log_probs, strict=True)
            for i in range(len(row))
        ]
        best = max([best, *(p for ids, p in grown if ids[-1] in codec.ends)])
        alive = [each for each in grown if each[0][-1] not in codec.ends]
    return best


def test_a_wide_beam_finds_the_best_answer_of_all() -> None:
    run = decode(CKPT, TEXT, strategy=Beam(20, length_penalty=0.0), max_steps=2)
    assert run.log_prob == pytest.approx(best_of_all(2), abs=1e-4)
    assert run.tree is not None


EDITS = [AblateHead("decoder.1.self", 5), Scale("decoder.0.self.out", 2.0), SetMask("decoder.0.self", 3, 0, False)]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_moves_the_logits_the_same_cached_and_whole(edit: object) -> None:
    run = decode(CKPT, TEXT, edits=[edit], max_steps=6)  # type: ignore[list-item]
    whole = trace(CKPT, run.trace.tgt_ids, edits=[edit])  # type: ignore[list-item]
    assert max(whole.diff(run.trace).values()) < 1e-4 * float(whole["logits"].abs().max())
    assert float((whole["logits"] - trace(CKPT, run.trace.tgt_ids)["logits"]).abs().max()) > 1e-2


def test_heads_that_one_layer_has_and_another_lacks() -> None:
    with pytest.raises(ValueError, match="there is no head 5: heads go from 0 to 3"):
        trace(CKPT, TEXT, edits=[AblateHead("decoder.0.self", 5)])


def test_the_lens_ends_with_the_runs_own_logits() -> None:
    run = decode(CKPT, TEXT, max_steps=5)
    assert lens(run.trace, CKPT.hooked_model).gap < 1e-4


def test_what_it_does_not_tell_is_a_sentence() -> None:
    found = trace(CKPT, TEXT)
    for name in ("decoder.embed.position", "decoder.1.self.contribution"):
        with pytest.raises(KeyError, match=SPEC.missing[name]):
            found[name]
    with pytest.raises(Unavailable, match=UNTOLD):
        CKPT.hooked_model.parameters_of("decoder.0.self")
    for asked in (lambda: found.config, lambda: CKPT.config, lambda: CKPT.model):
        with pytest.raises(Unavailable, match="own"):
            asked()


def test_its_trace_survives_its_file_with_heads_that_differ_by_layer(tmp_path: Path) -> None:
    expected = trace(CKPT, TEXT)
    expected.save(tmp_path / "run.safetensors")
    found = Trace.load(tmp_path / "run.safetensors")
    assert found.spec.attentions == SPEC.attentions
    for name in expected.points(derived=True):
        assert torch.equal(found[name], expected[name]), name
