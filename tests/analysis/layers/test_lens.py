import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from builders import TARGET, tiny_checkpoint

import viz_transformer.analysis.layers.lens as lens_module
from viz_transformer.analysis.layers.lens import (
    divergence,
    lens,
    lens_remarks,
    read_out,
    rows_at_a_glance,
    stations,
    undefined_lens,
)
from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import Scale
from viz_transformer.running.strategies import log_softmax
from viz_transformer.running.tracing import trace

VARIANTS = {
    "pre": {},
    "tied": {"tied_output": True},
    "pre without final norm": {"final_norm": False},
    "post": {"norm": "post", "final_norm": False},
    "post with final norm": {"norm": "post"},
    "bessel": {"norm_kind": "bessel", "norm_epsilon": 1e-6, "encoder_final_norm": "torch"},
    "positions": {"norm_kind": "positions-and-features"},
    "padded": {"norm_kind": "positions-and-features", "pad_to": 12, "max_source": 12, "max_target": 12},
    "no output bias": {"output_bias": False},
}


def station_logits(recorded, model):
    """Each station with its logits, [T, V]: of the last one those of the run."""
    *before, last = stations(recorded.spec, "decoder")
    found = [(each, read_out(recorded[each.point], model, "decoder")) for each in before]
    return [*found, (last, recorded["logits"][0])]


@pytest.fixture(params=VARIANTS)
def made(request):
    ckpt = tiny_checkpoint(**VARIANTS[request.param])
    return ckpt, trace(ckpt, "abcdefg", "uvwx")


# ---- the last column


def test_the_last_stream_read_out_once_more_gives_the_runs_logits_bit_for_bit(made):
    ckpt, recorded = made
    assert stations(recorded.spec, "decoder")[-1].point == "decoder.2.residual_out"
    assert torch.equal(read_out(recorded["decoder.2.residual_out"], ckpt.model, "decoder"), recorded["logits"][0])
    assert lens(recorded, ckpt.model).gap == 0


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only"])
def test_so_it_is_for_a_decoded_run_whose_rows_came_one_by_one(kind):
    ckpt = tiny_checkpoint(kind)
    run = decode(ckpt, "abc" if kind == "encoder-decoder" else "uvw", max_steps=6)
    found = lens(run.trace, ckpt.model)
    for step, row in zip(run.steps, found.top_ids[-len(run.steps) :, -1], strict=True):
        assert int(row[0]) == step.token_id
    largest = float(run.trace["logits"].abs().max())
    assert found.gap < 1e-6 * max(1, largest)  # the same sums, more rows at a time


def test_an_edit_of_the_logits_is_in_the_last_column(made):
    ckpt, recorded = made
    edited = trace(ckpt, "abcdefg", "uvwx", edits=[Scale("logits", 2.0)])
    found = lens(edited, ckpt.model)
    probs = (2 * recorded["logits"][0]).double().softmax(-1)
    np.testing.assert_allclose(found.top_probs[:, -1, 0], probs.amax(-1), atol=1e-12)
    assert found.gap == pytest.approx(float(recorded["logits"].abs().max()), rel=1e-6)


# ---- the other columns


def test_a_pre_norm_stream_goes_through_final_norm_and_output_layer():
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "abc", "uvw")
    norm, output = ckpt.model.decoder.norm, ckpt.model.output
    for station, logits in station_logits(recorded, ckpt.model):
        x = F.layer_norm(recorded[station.point], (16,), norm.gain, norm.offset, 1e-5)
        torch.testing.assert_close(logits, F.linear(x, output.weight, output.bias)[0], atol=1e-5, rtol=0)


def test_without_a_final_norm_the_output_layer_reads_the_stream_as_it_is():
    ckpt = tiny_checkpoint(norm="post", final_norm=False)
    recorded = trace(ckpt, "abc", "uvw")
    for station, logits in station_logits(recorded, ckpt.model):
        output = ckpt.model.output
        assert torch.equal(logits, F.linear(recorded[station.point], output.weight, output.bias)[0])


def test_a_layer_that_adds_nothing_changes_nothing():
    ckpt = tiny_checkpoint()
    with torch.no_grad():
        layer = ckpt.model.decoder.layers[2]
        maps = (layer.self_attention.to_out, layer.cross_attention.to_out, layer.feed_forward.to_out)
        for parameter in (p for module in maps for p in module.parameters()):
            parameter.zero_()
    found = lens(trace(ckpt, "abc", "uvw"), ckpt.model)
    assert np.all(found.divergence[:, 2] < 1e-12) and np.all(found.divergence[:, 0] > 1e-3)
    assert np.array_equal(found.top_ids[:, 2], found.top_ids[:, 3])


def test_rows_of_a_large_vocabulary_that_follow_each_other_are_those_of_all_at_once(made, monkeypatch):
    ckpt, recorded = made
    whole = lens(recorded, ckpt.model)
    vocabulary, worked = recorded["logits"].shape[-1], []
    monkeypatch.setattr(lens_module, "AT_ONCE", 2 * vocabulary + 1)
    monkeypatch.setattr(lens_module, "log_softmax", lambda each: worked.append(len(each)) or log_softmax(each))
    found = lens(recorded, ckpt.model)
    assert max(worked) == 2 < len(whole.rank)
    assert np.array_equal(found.top_ids, whole.top_ids) and np.array_equal(found.rank, whole.rank)
    for name in ("top_probs", "divergence", "written"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), atol=1e-12)


def test_a_lens_of_some_rows_is_that_part_of_the_whole_one(made):
    ckpt, recorded = made
    whole, part = lens(recorded, ckpt.model), lens(recorded, ckpt.model, rows=range(1, 3))
    assert list(whole.rows) == [*range(len(recorded.tgt))] and list(part.rows) == [1, 2]
    assert np.array_equal(part.top_ids, whole.top_ids[1:3]) and np.array_equal(part.rank, whole.rank[1:3])
    for name in ("top_probs", "divergence", "written"):
        np.testing.assert_allclose(getattr(part, name), getattr(whole, name)[1:3], atol=1e-6)  # other sums of float32
    assert part.gap < 1e-5 and np.all(part.divergence[:, -1] == 0)


def test_rows_at_a_glance_are_all_or_follow_each_other_around_the_one_that_is_looked_at(monkeypatch):
    ckpt = tiny_checkpoint("decoder-only")
    recorded = trace(ckpt, "uvwxuvw")
    assert list(rows_at_a_glance(recorded, "decoder", 5)) == [*range(len(recorded.tgt))]
    cost = 4 * len(TARGET) * (16 + lens_module.PER_LOGIT)  # four stations, vectors of 16 numbers
    monkeypatch.setattr(lens_module, "AT_A_GLANCE", 3 * cost + 1)
    assert [list(rows_at_a_glance(recorded, "decoder", row)) for row in (0, 2, 3, 6)] == [
        [0, 1, 2],
        [0, 1, 2],
        [3, 4, 5],
        [*range(6, len(recorded.tgt))],
    ]
    monkeypatch.setattr(lens_module, "AT_A_GLANCE", 1)
    assert list(rows_at_a_glance(recorded, "decoder", 4)) == [4]


def test_best_tokens_probabilities_and_ranks_are_those_of_the_logits(made):
    ckpt, recorded = made
    found = lens(recorded, ckpt.model)
    final = recorded["logits"][0].double().softmax(-1)
    for column, (station, logits) in enumerate(station_logits(recorded, ckpt.model)):
        assert station == found.stations[column]
        probs = logits.double().softmax(-1)
        for row, token_id in enumerate(recorded.next_ids):
            best = probs[row].argsort(descending=True)[:5]
            assert found.top_ids[row, column].tolist() == best.tolist()
            np.testing.assert_allclose(found.top_probs[row, column], probs[row, best], atol=1e-12)
            kl = float((final[row] * (final[row] / probs[row]).log()).sum())
            assert found.divergence[row, column] == pytest.approx(kl, abs=1e-9)
            if token_id is None:
                assert found.rank[row, column] == -1 and math.isnan(found.written[row, column])
            else:
                assert found.rank[row, column] == int((probs[row] > probs[row, token_id]).sum())
                assert found.written[row, column] == pytest.approx(float(probs[row, token_id]), abs=1e-12)


def test_the_divergence_of_the_last_column_is_exactly_0_and_no_other_is_negative(made):
    found = lens(made[1], made[0].model)
    assert np.all(found.divergence[:, -1] == 0)
    assert np.all(found.divergence >= 0) and np.all(found.divergence[:, 0] > 0)


def test_a_divergence_worked_by_hand():
    # (1/2, 1/2) from (1/4, 3/4): 1/2 ln 2 + 1/2 ln 2/3; the other way it is another number
    final, other = torch.tensor([[0.5, 0.5], [1.0, 0.0]]).log(), torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    found = divergence(final, other)
    assert found[0] == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert found[1] == pytest.approx(math.log(2))
    assert divergence(other, final)[0] != pytest.approx(float(found[0]))


def test_a_vocabulary_of_three_has_three_candidates():
    ckpt = tiny_checkpoint("decoder-only", target_vocab_size=3)
    found = lens(trace(ckpt, [1, 2, 1]), ckpt.model)
    assert found.top_ids.shape == (3, 4, 3)
    np.testing.assert_allclose(found.top_probs.sum(-1), 1, atol=1e-12)


# ---- where it is defined


def test_the_encoder_of_an_encoder_decoder_has_no_lens_and_says_why():
    ckpt = tiny_checkpoint()
    assert undefined_lens(ckpt.spec, "decoder") is None
    assert "becomes the memory, which the output layer never reads" in undefined_lens(ckpt.spec, "encoder")
    with pytest.raises(ValueError, match="not defined for the encoder"):
        lens(trace(ckpt, "abc", "uvw"), ckpt.model, "encoder")


def test_an_encoder_alone_has_a_lens_if_it_has_an_output_layer():
    ckpt = tiny_checkpoint("encoder-only")
    recorded = trace(ckpt, "abc")
    found = lens(recorded, ckpt.model)
    assert [station.point for station in found.stations] == [
        "encoder.embed.out",
        "encoder.0.residual_out",
        "encoder.1.residual_out",
    ]
    assert found.gap == 0 and np.all(found.rank == -1)
    silent = tiny_checkpoint("encoder-only", target_vocab_size=None)
    assert "no output layer" in undefined_lens(silent.spec, "encoder")
    with pytest.raises(ValueError, match="no output layer"):
        lens(trace(silent, "abc"), silent.model)


def test_a_station_that_is_missing_says_why_there_is_no_lens():
    spec = tiny_checkpoint("decoder-only").spec
    lacking = replace(spec, missing={"decoder.0.residual_out": "the next layer reads other vectors"})
    assert undefined_lens(lacking, "decoder").endswith("not defined here: the next layer reads other vectors.")


def test_a_decoder_alone_has_no_encoder_to_ask_for():
    with pytest.raises(ValueError, match="a decoder-only model has no encoder"):
        undefined_lens(tiny_checkpoint("decoder-only").spec, "encoder")


@pytest.mark.parametrize(
    ("changes", "says", "says_not"),
    [
        ({}, "through the final norm and the output layer", "post-norm model"),
        ({"norm": "post", "final_norm": False}, "read by the output layer", "through the final norm"),
        ({"norm": "post", "final_norm": False}, "In this post-norm model each layer rescales", "share one matrix"),
        ({"final_norm": False}, "made for pre-norm models with a final norm", "post-norm model"),
        ({"tied_output": True}, "share one matrix", "no final norm"),
        ({"norm_kind": "positions-and-features"}, "join all positions", "no final norm"),
        ({}, "knows nothing of the source", "join all positions"),
    ],
)
def test_what_the_lens_assumes_is_said_where_it_does_not_hold(changes, says, says_not):
    said = " ".join(lens_remarks(tiny_checkpoint(**changes).spec))
    assert says in said and says_not not in said


def test_a_decoder_alone_has_no_source_to_know_nothing_of():
    spec = tiny_checkpoint("decoder-only").spec
    assert "source" not in " ".join(lens_remarks(spec))
    assert [station.name for station in stations(spec, "decoder")] == ["embedding", "layer 0", "layer 1", "layer 2"]


def test_the_same_run_gives_the_same_lens_and_leaves_the_trace_as_it_was(made):
    ckpt, recorded = made
    before = {name: value.clone() for name, value in recorded.values.items()}
    first, second = lens(recorded, ckpt.model), lens(recorded, ckpt.model)
    assert np.array_equal(first.divergence, second.divergence)
    assert all(torch.equal(recorded[name], value) for name, value in before.items())
    assert first.top_ids.shape == (len(recorded.tgt), 4, min(5, len(TARGET)))


# ---- where each step was a pass of its own


def test_the_logits_that_wrote_the_tokens_are_a_station_of_their_own_where_the_last_pass_has_others():
    ckpt = load("en-it-slips")
    run = decode(ckpt, "I don't like the theater, but I go nevertheless because you like it.")
    found = lens(run.trace, ckpt.model, own=run.per_step_rows)
    assert [station.name for station in found.stations] == ["embedding", "layer 0", "layer 1", "own step"]
    written = [step.token_id for step in run.steps]
    assert found.top_ids[: len(written), -1, 0].tolist() == written
    differ = [step.token for step in run.steps if found.top_ids[step.position, -2, 0] != step.token_id]
    assert differ == ["."]  # where the last pass would end the sentence
    for step in run.steps:
        own, last = (logits.double().log_softmax(-1) for logits in (step.logits, run.trace["logits"][0, step.position]))
        assert found.written[step.position, -1] == own[step.token_id].exp().item()
        assert found.rank[step.position, -1] == 0
        kl = float((last.exp() * (last - own)).sum())
        assert found.divergence[step.position, -1] == pytest.approx(kl, abs=1e-9)
    assert np.all(found.divergence[:, -2] == 0) and found.gap == lens(run.trace, ckpt.model).gap


def test_a_row_without_a_step_has_no_numbers_of_its_own():
    ckpt = tiny_checkpoint("decoder-only", merge="raw-reshape")
    run = decode(ckpt, "uvw", max_steps=3, ban=["</s>"])
    found = lens(run.trace, ckpt.model, own=run.per_step_rows)
    assert np.all(found.top_ids[:3, -1] == -1) and np.all(found.rank[:3, -1] == -1)
    for values in (found.top_probs, found.divergence, found.written):
        assert np.isnan(values[:3, -1]).all() and not np.isnan(values[:, :-1]).any() and not np.isnan(values[3:]).any()


def test_a_causal_run_has_one_final_station():
    ckpt = tiny_checkpoint()
    run = decode(ckpt, "abc", max_steps=3)
    assert len(lens(run.trace, ckpt.model, own=run.per_step_rows).stations) == 4
