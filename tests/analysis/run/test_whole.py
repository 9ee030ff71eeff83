"""The numbers of the whole run's picture are those of the trace, for the models that are bundled and for others."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint
from in_turn import each_once

from viz_transformer.analysis.layers.sublayers import share_added
from viz_transformer.analysis.run.whole import SAMPLES, sample_features, whole_run
from viz_transformer.checkpoint import load
from viz_transformer.model.kinds import KINDS
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace

BUNDLED = [
    ("numbers-any", ("42", "29,284.30", "-7.5")),
    ("multi30k-de-en", ("Ein Mann steht auf der Straße.", "Hund", "Zwei Frauen lachen, eine singt.")),
    ("taylor", ("sin(x)", "exp(x)*x", "1/(1-x)")),
    ("shakespeare", ("To be", "O", "The king is")),
    ("en-it-slips", ("a dog", "two men sit", "the red house .")),
]


def same(found, point, features):
    np.testing.assert_array_equal(found, point[0][..., list(features)].numpy())


@each_once("read, head", [(name, text) for name, texts in BUNDLED for text in texts], [None, 0])
def test_every_number_is_one_of_the_trace(read, head):
    name, text = read
    run = decode(load(name), text, max_steps=12)
    whole = whole_run(run.trace, head=head)
    assert {each.stack for each in whole.stacks} == {site.split(".")[0] for site in run.trace.spec.attentions}
    for each in whole.stacks:
        same(each.token, run.trace[f"{each.stack}.embed.token"], each.features)
        if each.position is not None:
            same(each.position, run.trace[f"{each.stack}.embed.position"], each.features)
            np.testing.assert_array_equal(each.token + each.position, each.stream[0])
        assert each.sums == (each.position is not None)
        assert len(each.points) == len(each.stream)
        for point, values in zip(each.points, each.stream, strict=True):
            same(values, run.trace[point], each.features)
        for place, share in zip(each.places, each.share, strict=True):
            came, added = (run.trace[point][0].double().norm(dim=-1) for point in (place.before, f"{place.site}.out"))
            np.testing.assert_allclose(share, share_added(came, added), rtol=1e-12)  # lengths summed in another order
    for kind, maps in whole.weights.items():
        for layer, values in enumerate(maps):
            weights = run.trace[f"{KINDS[kind].site(layer)}.weights"][0].numpy()
            np.testing.assert_array_equal(values, weights[head] if head is not None else weights.mean(axis=0))
            assert whole.heads[kind][layer] == len(weights)


def test_the_stream_is_taken_behind_the_input_each_layer_and_the_final_norm():
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    points = [each.points for each in whole_run(run.trace).stacks]
    last = {each.stack: len(each.points) for each in whole_run(run.trace).stacks}
    assert points[0][:2] == ("encoder.embed.out", "encoder.0.residual_out")
    assert points[1][-1] == "decoder.out"
    without = decode(tiny_checkpoint(final_norm=False), "abc", max_steps=3)
    for each in whole_run(without.trace).stacks:
        assert len(each.points) == last[each.stack] - 1
        assert each.points[-1].endswith(".residual_out")


@pytest.mark.parametrize(
    ("count", "samples", "expected"),
    [(3, 5, (0, 1, 2)), (5, 5, (0, 1, 2, 3, 4)), (9, 3, (0, 4, 8)), (10, 4, (0, 3, 6, 9))],
)
def test_samples_are_spread_evenly_from_the_first_feature_to_the_last(count, samples, expected):
    assert sample_features(count, samples) == expected


def test_a_stream_that_begins_as_something_else_is_not_called_the_sum():
    stack = whole_run(decode(tiny_checkpoint(), "abc", max_steps=3).trace).stacks[0]
    assert stack.sums
    coarse = torch.from_numpy(stack.stream).to(torch.bfloat16).float().numpy()
    assert replace(stack, stream=coarse).sums  # as a model in bfloat16 has it
    with_segment = stack.stream.copy()
    with_segment[0, :, 0] += 0.02 * np.abs(with_segment[0]).max()
    assert not replace(stack, stream=with_segment).sums
    assert not replace(stack, position=None).sums
    assert not replace(stack, token=None).sums


def test_no_more_features_are_taken_than_are_drawn():
    whole = whole_run(decode(load("numbers-any"), "42").trace)
    assert all(each.stream.shape[-1] == SAMPLES < each.size for each in whole.stacks)


def test_what_cannot_be_drawn_is_said():
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    with pytest.raises(ValueError, match="there is no head 99"):
        whole_run(run.trace, head=99)
    with pytest.raises(ValueError, match="at least two"):
        whole_run(run.trace, samples=1)
    stepped = decode(load("en-it-slips"), "a dog", max_steps=3)  # its later tokens change earlier rows
    with pytest.raises(ValueError, match="only weights were kept"):
        whole_run(stepped.per_step_rows)


def test_a_trace_of_an_encoder_alone_has_one_stack():
    ckpt = tiny_checkpoint("encoder-only")
    whole = whole_run(trace(ckpt, "abc"))
    assert [each.stack for each in whole.stacks] == ["encoder"]
    assert set(whole.weights) == {"encoder"}
