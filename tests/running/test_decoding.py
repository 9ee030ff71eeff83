"""Decoding: cached equals uncached, step-wise equals one pass, beam 1 equals greedy, the beam finds the best."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch
from builders import TARGET, assert_same, tiny_checkpoint
from in_turn import each_once

from viz_transformer.checkpoint import Checkpoint, load
from viz_transformer.running.decoding import decode, decode_stream
from viz_transformer.running.search import DecoderState, decode_batch
from viz_transformer.running.strategies import Beam, Greedy, Sampling, Strategy
from viz_transformer.running.tracing import trace

TEXTS = ["a", "abc", "hgfedcba", "aaaa", "é?"]


NOT_CAUSAL: list[dict[str, Any]] = [{"merge": "raw-reshape"}, {"norm_kind": "positions-and-features", "norm": "post"}]
PADDED = {"max_source": 12, "max_target": 12, "pad_to": 12}


def ended(seed: int = 0, **changes: Any) -> Checkpoint:
    """A random model that writes the end token now and then: its bias is raised."""
    ckpt = tiny_checkpoint(seed=seed, **changes)
    with torch.no_grad():
        ckpt.model.output.bias[2] += 1.2
    return ckpt


def by_hand(ckpt: Checkpoint, text: str) -> list[int]:
    """Greedy by the definition: a whole pass over everything, again for every token."""
    src = torch.tensor([ckpt.source_codec.encode(text).ids])
    ids = [1]
    with torch.no_grad():
        while len(ids) <= ckpt.config.max_target:
            ids.append(int(ckpt.model(src, torch.tensor([ids]))[0, -1].argmax()))
            if ids[-1] == 2:
                break
    return ids[1:]


@pytest.mark.parametrize(("text", "seed"), list(product(TEXTS, range(3))))
def test_cached_greedy_writes_what_uncached_passes_write(text: str, seed: int) -> None:
    ckpt = ended(seed)
    run = decode(ckpt, text)
    assert [step.token_id for step in run.steps] == by_hand(ckpt, text)
    assert run.stopped == ("end token" if run.tokens[-1] == "</s>" else "maximum length")


@pytest.mark.parametrize(("changes", "text"), list(product(NOT_CAUSAL, ["a", "abc", "hgfedcba"])))
def test_a_model_that_is_not_causal_is_decoded_in_whole_passes_and_the_trace_says_so(
    changes: dict[str, Any], text: str
) -> None:
    ckpt = ended(1, **changes)
    run = decode(ckpt, text)
    assert [step.token_id for step in run.steps] == by_hand(ckpt, text)
    info = run.trace.info
    assert (info["cached"], info["causal"]) == (False, False)
    assert info["reason"] == "later tokens change earlier rows of this model"
    once = trace(ckpt, text, list(run.trace.tgt_ids))  # the trace is the last step's pass
    assert all(torch.equal(run.trace[name], once[name]) for name in once.points())
    assert once.info["causal"] is False
    for step in run.steps:
        so_far = trace(ckpt, text, [1, *(s.token_id for s in run.steps[: step.index])])
        for name, row in step.rows.items():
            assert torch.equal(row, so_far[name][:, :, step.index, None])
    # steps hold copies of rows, not the passes that they come from
    assert all(len(step.recorded) == 6 for step in run.steps)
    last = run.steps[-1]
    kept = [*last.recorded.values(), last.logits]
    assert all(value.untyped_storage().nbytes() == 4 * value.numel() for value in kept)
    if len(run.steps) > 2:  # and the first step saw another row than the trace has
        assert not torch.allclose(run.steps[0].logits, run.trace["logits"][0, 0], atol=1e-4)


@pytest.mark.parametrize(("changes", "strategy"), list(product([{}, *NOT_CAUSAL], [Greedy(), Beam(3)])))
@torch.no_grad()
def test_a_model_that_pads_reads_its_length_at_every_step(changes: dict[str, Any], strategy: Greedy | Beam) -> None:
    ckpt = ended(1, **PADDED, **changes)
    run = decode(ckpt, "abc", strategy=strategy)
    src = torch.tensor([[1, 4, 5, 6, 2, *[0] * 7]])
    ids = [1]
    for step in run.steps:
        row = ckpt.model(src, torch.tensor([ids + [0] * (12 - len(ids))]))[0, len(ids) - 1]
        torch.testing.assert_close(step.logits, row, atol=1e-5, rtol=0)
        if isinstance(strategy, Greedy):
            assert step.token_id == int(row.argmax())
        assert step.rows["decoder.1.self.weights"].shape == (1, 4, 1, len(ids))
        assert step.rows["decoder.1.cross.weights"].shape == (1, 4, 1, 12)
        ids.append(step.token_id)
    tail = 12 - len(run.steps)
    assert run.trace.src_tokens == ("<s>", "a", "b", "c", "</s>", *["<pad>"] * 7)
    assert run.trace.tgt_tokens == ("<s>", *run.tokens[:-1], *["<pad>"] * tail)
    assert run.trace.next_tokens == (*run.tokens, *[None] * tail)
    assert run.trace["logits"].shape[1] == 12
    assert run.trace.info["cached"] is False
    assert run.trace.info["reason"] == "the model reads 12 tokens at a time, padding included"
    sources = [ckpt.source_codec.encode(text).ids for text in ["abc", "a"]]
    answers = decode_batch(ckpt.model, sources, bos=1, eos=2, beam=None if isinstance(strategy, Greedy) else 3)
    assert answers[0] == [i for i in ids[1:] if i != 2]


@pytest.mark.parametrize(("fill", "cached"), [("zero-rows", True), ("-1e10", False)])
@torch.no_grad()
def test_a_text_that_begins_with_padding_is_decoded_as_whole_passes_would(fill: str, cached: bool) -> None:
    ckpt = tiny_checkpoint("decoder-only", mask_fill=fill)
    run = decode(ckpt, [0, 5, 6], max_steps=4)
    ids = [0, 5, 6]
    for step in run.steps:
        torch.testing.assert_close(step.logits, ckpt.model(torch.tensor([ids]))[0, -1], atol=1e-5, rtol=0)
        ids.append(step.token_id)
    assert run.trace.info["cached"] is cached
    assert cached or "begins with padding" in run.trace.info["reason"]
    assert decode(ckpt, "uv", max_steps=2).trace.info["cached"] is True


def test_a_causal_model_is_cached_and_gives_no_reason() -> None:
    info = decode(ended(), "abc").trace.info
    assert (info["cached"], info["causal"]) == (True, True)
    assert "reason" not in info


@pytest.mark.parametrize("changes", NOT_CAUSAL)
@torch.no_grad()
def test_the_steps_of_a_beam_have_the_probabilities_that_the_search_saw(changes: dict[str, Any]) -> None:
    ckpt = ended(2, **changes)
    run = decode(ckpt, "abcd", strategy=Beam(3, length_penalty=0.0), prefix="uv", max_steps=6)
    src, ids = torch.tensor([run.trace.src_ids]), [1]
    assert run.steps[1].forced and not run.steps[2].forced
    for step in run.steps:
        row = ckpt.model(src, torch.tensor([ids]))[0, -1].log_softmax(-1)
        assert step.log_prob == pytest.approx(row[step.token_id].item(), abs=1e-5)
        ids.append(step.token_id)
    assert run.score == pytest.approx(run.log_prob, abs=1e-4)
    assert run.trace.info["cached"] is False
    assert decode(ckpt, "abcd", strategy=Beam(1)).tokens == decode(ckpt, "abcd").tokens


def test_the_random_models_stop_both_ways() -> None:
    stops = {decode(ended(seed), text).stopped for text, seed in product(TEXTS, range(3))}
    assert stops == {"end token", "maximum length"}


@pytest.mark.parametrize("text", TEXTS)
def test_the_recorded_steps_equal_one_pass(text: str) -> None:
    ckpt = ended()
    run = decode(ckpt, text)
    once = trace(ckpt, text, list(run.trace.tgt_ids))
    assert run.trace.points() == once.points()
    for name in once.points():
        assert_same(run.trace[name], once[name], name)
    assert run.trace.tgt_tokens == ("<s>", *run.tokens[:-1])
    assert run.trace.next_tokens == run.tokens


def test_a_step_carries_its_rows_candidates_and_log_probabilities() -> None:
    run = decode(ended(), "abc")
    for step in run.steps:
        row = run.trace["logits"][0, step.index].double().log_softmax(-1)
        torch.testing.assert_close(step.log_probs, row, atol=1e-12, rtol=0)
        assert step.log_probs.exp().sum().item() == pytest.approx(1, abs=1e-5)
        best = step.candidates
        assert len(best) == 10
        assert [c.log_prob for c in best] == sorted((c.log_prob for c in best), reverse=True)
        assert (best[0].token_id, best[0].token) == (step.token_id, step.token)
        assert all(
            c.log_prob == row_value for c, row_value in zip(best, step.log_probs.topk(10)[0].tolist(), strict=True)
        )
        assert set(step.rows) == {f"decoder.{layer}.{kind}.weights" for layer in range(3) for kind in ("self", "cross")}
        whole = run.trace["decoder.1.self.weights"]
        assert torch.equal(
            step.rows["decoder.1.self.weights"], whole[:, :, step.index : step.index + 1, : step.index + 1]
        )
        assert step.rows["decoder.1.cross.weights"].shape == (1, 4, 1, 5)
    assert run.log_prob == pytest.approx(math.fsum(step.log_prob for step in run.steps))
    assert run.score == run.log_prob


@pytest.mark.parametrize(("text", "alpha"), list(product(TEXTS, [0.0, 0.6, 2.0])))
def test_beam_one_equals_greedy(text: str, alpha: float) -> None:
    ckpt = ended()
    greedy, beam = decode(ckpt, text, strategy=Greedy()), decode(ckpt, text, strategy=Beam(1, length_penalty=alpha))
    assert beam.tokens == greedy.tokens
    assert beam.log_prob == pytest.approx(greedy.log_prob, abs=1e-5)
    assert beam.score == pytest.approx(beam.log_prob / ((5 + len(beam.steps)) / 6) ** alpha, abs=1e-5)
    assert beam.trace.points() == greedy.trace.points()


def test_a_wide_beam_finds_the_best_of_all_answers() -> None:
    ckpt = ended(1)
    src = ckpt.source_codec.encode("ab").ids
    most, vocabulary = 3, range(len(TARGET))
    best = (-math.inf, ())
    with torch.no_grad():
        for length in range(1, most + 1):
            for body in product([i for i in vocabulary if i != 2], repeat=length - 1):
                ids = (*body, 2)
                logits = ckpt.model(torch.tensor([src]), torch.tensor([[1, *body]]))[0].double().log_softmax(-1)
                best = max(best, (sum(logits[t, i].item() for t, i in enumerate(ids)), ids))
    # 100 hypotheses are more than the 19 of the first step: nothing within two tokens is pruned
    run = decode(ckpt, "ab", strategy=Beam(100, length_penalty=0.0), max_steps=most)
    assert tuple(step.token_id for step in run.steps) == best[1]
    assert run.score == pytest.approx(best[0], abs=1e-5)


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("-1,713,023.00", "minus one million, seven hundred and thirteen thousand and twenty-three"),
        ("7,859.57", "seven thousand, eight hundred and fifty-nine point five seven"),
    ],
)
def test_poor_hypotheses_that_end_early_do_not_stop_a_beam(source: str, answer: str) -> None:
    ckpt = load("numbers")
    assert decode(ckpt, source, strategy=Beam(4)).text == answer == decode(ckpt, source).text


def test_a_forced_prefix_is_part_of_the_answer_and_its_steps_are_marked() -> None:
    ckpt = ended()
    run = decode(ckpt, "abc", prefix="zy")
    assert run.text.startswith("zy")
    assert [step.forced for step in run.steps[:3]] == [True, True, False]
    assert decode(ckpt, "abc", prefix=[9, 8]).tokens == run.tokens
    assert decode(ckpt, "abc", prefix="zy", strategy=Beam(3)).text.startswith("zy")
    assert run.steps[0].log_prob < run.steps[0].candidates[0].log_prob


def test_a_stream_gives_the_steps_one_by_one_and_then_the_run() -> None:
    stream = decode_stream(ended(), "abc")
    first = next(stream)
    with pytest.raises(ValueError, match="not finished"):
        _ = stream.run
    rest = list(stream)
    assert [first, *rest] == list(stream.run.steps)
    assert torch.is_grad_enabled()


def test_a_decoder_only_model_goes_on_from_the_source() -> None:
    ckpt = tiny_checkpoint("decoder-only")
    run = decode(ckpt, "uvw", max_steps=4)
    assert run.trace.tgt_tokens == ("<s>", "u", "v", "w", *run.tokens[:-1])
    ids = [1, 4, 5, 6]
    with torch.no_grad():
        for step in run.steps:
            assert step.token_id == int(ckpt.model(torch.tensor([ids]))[0, -1].argmax())
            ids.append(step.token_id)
    once = trace(ckpt, list(run.trace.tgt_ids))
    for name in once.points():
        assert_same(run.trace[name], once[name], name)


@each_once("changes, beam", NOT_CAUSAL, [None, 3])
def test_a_batch_of_a_model_that_is_not_causal_is_answered_as_one_by_one(
    changes: dict[str, Any], beam: int | None
) -> None:
    ckpt = ended(1, **changes)
    sources = [ckpt.source_codec.encode(text).ids for text in ["ab", "ba", "hgfed", "gh", "a", "éa"]]
    answers = decode_batch(ckpt.model, sources, bos=1, eos=2, beam=beam)
    for source, answer in zip(sources, answers, strict=True):
        run = decode(ckpt, list(source), strategy=Beam(beam) if beam else Greedy())
        assert answer == [step.token_id for step in run.steps if step.token_id != 2]


@pytest.mark.parametrize("beam", [None, 3])
def test_a_batch_is_answered_as_one_by_one(beam: int | None) -> None:
    ckpt = ended()
    sources = [ckpt.source_codec.encode(text).ids for text in [*TEXTS, "hh", "gg", "fff"]]
    answers = decode_batch(ckpt.model, sources, bos=1, eos=2, beam=beam)
    for source, answer in zip(sources, answers, strict=True):
        run = decode(ckpt, list(source), strategy=Beam(beam) if beam else Greedy())
        assert answer == [step.token_id for step in run.steps if step.token_id != 2]


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("", {}, "the text is empty"),
        ("a" * 99, {}, "source has 101 tokens"),
        ("a", {"max_steps": 0}, "max_steps=0 has to be a whole number of at least 1"),
        ("a", {"prefix": "u" * 30}, "the prefix has 30 tokens, the answer at most 24"),
        ("a", {"prefix": [2]}, "prefix: id 2 is the special token '</s>'; leave it out"),
        ("a", {"prefix": [77]}, "id 77 is outside the vocabulary"),
    ],
)
def test_input_that_does_not_fit_ends_in_a_sentence(source: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        decode(ended(), source, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "wrong", [lambda: Beam(0), lambda: Beam(1000), lambda: Beam(True), lambda: Beam(2, length_penalty=math.nan)]
)
def test_a_beam_that_cannot_be_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError):
        wrong()


def test_an_encoder_only_model_writes_nothing() -> None:
    with pytest.raises(ValueError, match="record it with trace"):
        decode(tiny_checkpoint("encoder-only"), "abc")


@pytest.mark.parametrize("changes", [{}, *NOT_CAUSAL, PADDED])
def test_a_given_target_is_read_token_by_token_as_a_teacher_forced_trace_reads_it(changes: dict[str, Any]) -> None:
    ckpt = ended(2, **changes)
    run, forced = decode(ckpt, "abc", target="zyz"), trace(ckpt, "abc", "zyz")
    assert run.text == "zyz" and run.tokens == ("z", "y", "z", "</s>") and run.stopped == "end token"
    assert all(step.forced for step in run.steps)
    assert run.trace.info["kind"] == "teacher-forced" and run.trace.info["strategy"] == "given target"
    assert run.trace.tgt == forced.tgt and run.trace.next_ids == forced.next_ids
    assert_same(run.trace["logits"], forced["logits"], "logits")
    if "merge" not in changes and "norm_kind" not in changes:
        expected = torch.log_softmax(forced["logits"][0, :4].double(), -1)
        for row, step in enumerate(run.steps):
            assert step.log_prob == pytest.approx(float(expected[row, step.token_id]), abs=1e-5)


def test_unknown_text_of_a_given_target_keeps_what_was_typed() -> None:
    run = decode(ended(), "abc", target="z?y")
    assert run.tokens[1] == "<unk>" and run.trace.tgt.originals == ("<s>", "z", "?", "y")


def test_an_empty_target_is_the_end_token_alone_and_a_decoder_alone_goes_on_from_its_text() -> None:
    assert decode(ended(), "abc", target="").tokens == ("</s>",)
    run = decode(ended(kind="decoder-only"), "zz", target="yz")
    assert run.tokens == ("y", "z", "</s>")
    assert run.trace.tgt.tokens[-4:] == ("z", "z", "y", "z")


def test_a_target_that_fills_the_model_has_no_end_token() -> None:
    ckpt = ended()
    most = ckpt.config.max_target
    assert decode(ckpt, "abc", target="z" * (most - 1)).tokens == ("z",) * (most - 1) + ("</s>",)
    full = decode(ckpt, "abc", target="z" * most)
    assert full.tokens == ("z",) * most and full.stopped == "maximum length"


def test_a_target_that_cannot_be_given_is_refused_in_one_sentence() -> None:
    ckpt = ended()
    with pytest.raises(ValueError, match="leaves nothing to decode"):
        decode(ckpt, "abc", target="zy", prefix="z")
    with pytest.raises(ValueError, match="leaves nothing to decode"):
        decode(ckpt, "abc", target="zy", strategy=Beam(2))
    with pytest.raises(
        ValueError, match=r"the target has [0-9]+ tokens, the answer at most [0-9]+: shorten the target"
    ):
        decode(ckpt, "abc", target="z" * 200)
    with pytest.raises(ValueError, match="target: id 2 is the special token '</s>'"):
        decode(ckpt, "abc", target=[9, 2])


# ---- tokens that must and must not be written


ANY = [Greedy(), Sampling(seed=3, temperature=1.5), Beam(3)]
KINDS = ["encoder-decoder", "decoder-only"]


def source_for(kind: str) -> str:
    return "abc" if kind == "encoder-decoder" else "uvw"


@pytest.mark.parametrize(("strategy", "kind"), list(product(ANY, KINDS)), ids=str)
def test_forced_tokens_stand_at_their_steps_and_the_others_are_chosen(strategy: Strategy, kind: str) -> None:
    ckpt, text = tiny_checkpoint(kind), source_for(kind)
    run = decode(ckpt, text, strategy=strategy, force={1: "7", 3: 8}, ban=[2], max_steps=6)
    assert (run.tokens[1], run.steps[3].token_id, len(run.steps)) == ("7", 8, 6)
    assert [step.forced for step in run.steps] == [False, True, False, True, False, False]
    if isinstance(strategy, Greedy):
        for step in run.steps:
            allowed = {i: v for i, v in enumerate(step.logits.tolist()) if i != 2}
            assert step.forced or step.token_id == max(allowed, key=lambda i: allowed[i])
    assert decode(ckpt, text, strategy=strategy, force={0: 9, 1: 8}, max_steps=4).tokens == (
        decode(ckpt, text, strategy=strategy, prefix="zy", max_steps=4).tokens
    )


@pytest.mark.parametrize(("strategy", "kind"), list(product(ANY, KINDS)), ids=str)
def test_banned_tokens_are_never_written_and_keep_the_models_probability(strategy: Strategy, kind: str) -> None:
    ckpt, text = tiny_checkpoint(kind), source_for(kind)
    free = decode(ckpt, text, strategy=strategy, max_steps=6)
    ban = set(free.tokens)
    run = decode(ckpt, text, strategy=strategy, max_steps=6, ban=ban)
    assert not ban & set(run.tokens)
    first = run.steps[0].candidate(free.steps[0].token_id)
    assert first.removed == "banned" and first.strategy_log_prob == -math.inf
    assert first.log_prob == pytest.approx(free.steps[0].log_prob, abs=1e-6)
    assert run.steps[0].log_probs.exp().sum().item() == pytest.approx(1, abs=1e-5)
    if isinstance(strategy, Greedy):
        ids, expected = [1] if kind == "encoder-decoder" else [1, 4, 5, 6], []
        src = [torch.tensor([ckpt.source_codec.encode(text).ids])] if kind == "encoder-decoder" else []
        with torch.no_grad():
            for _ in run.steps:
                row = ckpt.model(*src, torch.tensor([ids]))[0, -1].tolist()
                expected.append(max((v, i) for i, v in enumerate(row) if TARGET[i] not in ban)[1])
                ids.append(expected[-1])
        assert [step.token_id for step in run.steps] == expected


@pytest.mark.parametrize("strategy", ANY, ids=str)
def test_a_forced_end_token_ends_the_answer_there(strategy: Strategy) -> None:
    run = decode(tiny_checkpoint(), "abc", strategy=strategy, force={2: "</s>"}, ban=[3])
    if len(run.steps) == 3:
        assert run.steps[2].forced
    assert run.stopped == "end token" and run.tokens[-1] == "</s>" and len(run.steps) <= 3
    at_once = decode(tiny_checkpoint(), "abc", strategy=strategy, force={0: 2})
    assert at_once.tokens == ("</s>",) and at_once.text == ""


@pytest.mark.parametrize("strategy", ANY, ids=str)
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"force": {0: "u"}, "ban": ["u"]}, "the token 'u' is banned, but forced at step 0"),
        ({"prefix": "uv", "ban": ["v"]}, "the token 'v' is banned, but forced at step 1"),
        ({"force": {1: 5}, "prefix": "uv"}, "step 1 is forced, but belongs to the prefix of 2 tokens"),
        ({"ban": range(len(TARGET))}, "all 20 tokens are banned"),
        ({"ban": ["Ж"]}, "ban: 'Ж' is not a token of the target vocabulary"),
        ({"ban": "uv"}, "ban='uv' has to be a list of tokens"),
        ({"ban": [20]}, "id 20 is outside the vocabulary"),
        ({"force": {0: "uv"}}, "force: 'uv' is not a token of the target vocabulary"),
        ({"force": {-1: 5}}, "-1 is not a step"),
        ({"force": {"0": 5}}, "'0' is not a step"),
        ({"force": {24: 5}}, "step 24 cannot be forced: the answer has at most 24 steps, 0 to 23"),
        ({"force": {3: 5}, "max_steps": 3}, "step 3 cannot be forced: the answer has at most 3 steps"),
        ({"force": {0: 2, 1: 5}}, "the run ended with step 0, before the forced token of step 1"),
        ({"target": "uv", "ban": ["w"]}, "leaves nothing to decode"),
        ({"target": "uv", "force": {0: 4}}, "leaves nothing to decode"),
    ],
)
def test_what_cannot_be_forced_or_banned_is_refused_in_one_sentence(
    strategy: Strategy, given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError) as error:
        decode(tiny_checkpoint(), "abc", strategy=strategy, **given)
    assert sentence in str(error.value)


# ---- progress, and the numbers of the steps


@pytest.mark.parametrize(("strategy", "changes"), list(product(ANY, [{}, NOT_CAUSAL[0]])), ids=str)
def test_progress_is_told_behind_every_step_and_may_end_the_decode(strategy: Strategy, changes: dict[str, Any]) -> None:
    ckpt, told = ended(1, **changes), []
    run = decode(ckpt, "abc", strategy=strategy, max_steps=7, progress=lambda done, most: told.append((done, most)))
    steps = run.tree.steps if run.tree is not None else len(run.steps)
    assert told == [(done, 7) for done in range(1, steps + 1)]

    class Enough(Exception):
        pass

    def stop(done: int, most: int) -> None:
        told.append((done, most))
        if done == 2:
            raise Enough

    told.clear()
    with pytest.raises(Enough):
        decode(ckpt, "abc", strategy=strategy, max_steps=7, progress=stop, ban=[2])
    assert told == [(1, 7), (2, 7)]
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(("strategy", "kind", "seed"), list(product(ANY, KINDS, range(3))), ids=str)
def test_the_rows_of_every_step_are_those_of_one_pass(strategy: Strategy, kind: str, seed: int) -> None:
    ckpt, text = tiny_checkpoint(kind, seed=seed), source_for(kind)
    run = decode(ckpt, text, strategy=strategy, max_steps=9)
    once = trace(ckpt, text, list(run.trace.tgt_ids)) if kind == "encoder-decoder" else trace(ckpt, run.trace.tgt_ids)
    first = len(run.trace.tgt_ids) - len(run.steps)
    for step in run.steps:
        assert len(step.rows) == (6 if kind == "encoder-decoder" else 3)
        for name, row in step.rows.items():
            keys = first + step.index + 1 if ".self." in name else once[name].size(3)
            assert row.shape == (1, 4, 1, keys)
            torch.testing.assert_close(row, once[name][:, :, first + step.index, None, :keys], atol=1e-6, rtol=0)


@pytest.mark.parametrize(("kind", "changes"), [(KINDS[0], {}), (KINDS[1], {}), (KINDS[0], NOT_CAUSAL[1])])
def test_a_step_says_what_the_cache_holds_behind_it(kind: str, changes: dict[str, Any]) -> None:
    ckpt, text = tiny_checkpoint(kind, **changes), source_for(kind)
    run = decode(ckpt, text, max_steps=4)
    if changes:
        assert all(step.cache is None for step in run.steps)
        return
    src = [run.trace.src_ids] if kind == "encoder-decoder" else None
    state, read = DecoderState(ckpt.model, src, edits=None), run.trace.tgt_ids[: len(run.trace.tgt_ids) - 3]
    with torch.no_grad():
        for step, new in zip(run.steps, [read, *([i] for i in run.trace.tgt_ids[-3:])], strict=True):
            state.step([new])
            cache = state.decoding.cache
            assert cache is not None and step.cache is not None
            caches = [*cache.self_attention, *(cache.cross_attention if src else [])]
            assert step.cache.bytes == sum(4 * (each.key.numel() + each.value.numel()) for each in caches)
            assert step.cache.self_positions == cache.length
            assert step.cache.cross_positions == (5 if src else 0)


@pytest.mark.parametrize("changes", [{}, NOT_CAUSAL[0]])
@torch.no_grad()
def test_a_given_target_is_scored_with_rank_and_total(changes: dict[str, Any]) -> None:
    ckpt = ended(1, **changes)
    run = decode(ckpt, "abc", target="zyx0")
    src, ids, total = torch.tensor([run.trace.src_ids]), [1], 0.0
    for step, token in zip(run.steps, [9, 8, 7, 10, 2], strict=True):
        row = ckpt.model(src, torch.tensor([ids]))[0, -1].double().log_softmax(-1).tolist()
        assert step.token_id == token and step.forced
        assert step.log_prob == pytest.approx(row[token], abs=1e-5)
        assert step.rank == sum(value > row[token] for value in row)
        assert step.entropy == pytest.approx(-math.fsum(math.exp(v) * v for v in row), abs=1e-5)
        assert step.strategy_log_prob == pytest.approx(row[token], abs=1e-5)  # nothing chooses, nothing is removed
        assert all(each.removed is None for each in step.candidates)
        total += row[token]
        ids.append(token)
    assert run.log_prob == run.score == pytest.approx(total, abs=1e-5)
    assert run.tree is None and run.steps[0].rank > 0


@each_once(
    "settings, seed",
    [{}, {"penalty": "power"}, {"length_penalty": 0.0}, {"penalty": "power", "length_penalty": 2.0}],
    range(3),
)
def test_beam_one_is_greedy_under_both_penalties(settings: dict[str, Any], seed: int) -> None:
    for text in TEXTS:
        assert decode(ended(seed), text, strategy=Beam(1, **settings)).tokens == decode(ended(seed), text).tokens


@pytest.mark.parametrize("changes", [{}, NOT_CAUSAL[0], PADDED])
@torch.no_grad()
def test_a_decoder_goes_on_with_any_of_its_rows(changes: dict[str, Any]) -> None:
    """Rows exchanged, doubled and dropped, of one source and of two, against whole passes over what each has read."""
    ckpt = tiny_checkpoint(seed=4, **changes)
    sources = [ckpt.source_codec.encode(text).ids for text in ("abc", "hgf")]
    state = DecoderState(ckpt.model, sources, cached=not changes, edits=None)
    rows: list[tuple[int, list[int]]] = [(0, []), (1, [])]
    length = ckpt.config.pad_to or 5
    for chosen in ([0, 1], [0, 0, 1, 1], [1, 0, 2, 3], [1, 1, 2, 3], [3, 2], [0, 0, 0], [0, 1, 2], [2]):
        new = [[4 + (7 * len(read) + 3 * place) % 15] for place, (_, read) in enumerate(rows)]
        if not rows[0][1]:
            new = [[1], [1]]
        rows = [(source, [*read, *more]) for (source, read), more in zip(rows, new, strict=True)]
        logits, _ = state.step(new)
        for row, (source, read) in zip(logits, rows, strict=True):
            src = torch.tensor([[*sources[source], *[0] * (length - 5)]])
            tgt = torch.tensor([[*read, *[0] * ((ckpt.config.pad_to or len(read)) - len(read))]])
            torch.testing.assert_close(row, ckpt.model(src, tgt)[0, len(read) - 1], atol=1e-5, rtol=0)
        state.select(chosen)
        rows = [rows[place] for place in chosen]
