"""Every number of the deeper levels is one of the trace, for each bundled model; and one weight can be computed."""

from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest
import torch
from builders import SOURCE, TARGET, tiny_checkpoint
from foreign import foreign_checkpoint
from in_turn import each_once

from viz_transformer import payload
from viz_transformer.analysis.attention.maps import layer_weights, step_row
from viz_transformer.analysis.layers.sublayers import flows
from viz_transformer.analysis.run.whole import sample_features, whole_run
from viz_transformer.checkpoint import list_checkpoints, load
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.figures.components.scrubber import steps_of
from viz_transformer.figures.components.whole import Names, RunText, whole_payload
from viz_transformer.figures.details import HERE_ALONE, details_of, pack_attention, pack_details, pack_layer, run_id
from viz_transformer.model.attention import landing_place
from viz_transformer.model.config import tutorial
from viz_transformer.model.kinds import KINDS, kinds_of
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace
from viz_transformer.running.watching import watch

BUNDLED = [each for each in list_checkpoints() if isinstance(each, Summary)]
ROUNDING = 2e-6  # of the largest number that was added up: float32 sums in another order than float64 ones


@cache
def model(name):
    return load(name)


def same(found, recorded):
    np.testing.assert_array_equal(found, recorded.numpy())


def unpacked(data):
    header, arrays = payload.unpack(data)
    return header, dict(arrays)


def check_run(run):
    """Each array of the first picture against the trace and the steps; none is left over."""
    recorded = run.trace
    text = RunText(steps=steps_of(run), first_row=step_row(run, 0))
    data = whole_payload(whole_run(recorded, head=0), text, Names(caption="", file=""))
    header, arrays = unpacked(data)
    features = list(sample_features(recorded.spec.d_model, 24))
    for each in header["stacks"]:
        stack = each["name"]
        for name in ("token", "position"):
            if f"{name}.{stack}" in arrays:
                same(arrays.pop(f"{name}.{stack}"), recorded[f"{stack}.embed.{name}"][0][:, features])
            else:
                assert f"{stack}.embed.{name}" not in recorded
        points = ["embed.out", *(f"{layer}.residual_out" for layer in range(each["layers"]))]
        points += ["out"] if recorded.spec.final_norm else []
        found, lengths = arrays.pop(f"stream.{stack}"), arrays.pop(f"length.{stack}")
        assert len(found) == len(lengths) == len(points)
        for values, long, point in zip(found, lengths, points, strict=True):
            same(values, recorded[f"{stack}.{point}"][0][:, features])
            exact = np.linalg.norm(recorded[f"{stack}.{point}"][0].numpy().astype(np.float64), axis=-1)
            np.testing.assert_array_equal(long, exact.astype(np.float32))
        of_stack = flows(recorded, stack)
        for what in ("came", "added", "share"):
            expected = np.stack([getattr(flow, what) for flow in of_stack]).astype(np.float32)
            np.testing.assert_array_equal(arrays.pop(f"{what}.{stack}"), expected)
    for kind in kinds_of(recorded.spec):
        layers = range(KINDS[kind].layers(recorded.spec))
        first = [recorded[f"{KINDS[kind].site(layer)}.weights"][0, 0].numpy() for layer in layers]
        check_strongest(arrays, kind, np.stack(first))
    for row, step in zip(arrays.pop("log_probs"), run.steps, strict=True):
        shown = [candidate.log_prob for candidate in step.candidates[:6]]
        np.testing.assert_array_equal(row[: len(shown)], np.float32(shown))
    assert arrays == {}


def check_layer(recorded, data):
    """Each array of a layer against the trace; none is left over."""
    header, arrays = unpacked(data)
    stack, layer = header["stack"], header["layer"]
    assert header["of"] == run_id(recorded)
    features = list(sample_features(recorded.spec.d_model, 48))
    assert (header["samples"], header["size"]) == (features, recorded.spec.d_model)
    of_layer = [flow for flow in flows(recorded, stack) if flow.place.layer == layer]
    assert [part["part"] for part in header["parts"]] == [flow.place.part for flow in of_layer]
    for flow, part in zip(of_layer, header["parts"], strict=True):
        place, name = flow.place, flow.place.part
        points = {"before": place.before, "in": f"{place.site}.in", "out": f"{place.site}.out", "after": place.after}
        if header["norm"] == "post":
            points["total"] = f"{place.after}_sum"
        for what, point in points.items():
            same(arrays.pop(f"{what}.{name}"), recorded[point][0][:, features])
        for what in ("mean", "scale"):
            values = recorded[f"{place.site}.norm_{what}"][0, :, 0]
            assert header["whole_text"] == (len(values) == 1)
            same(arrays.pop(f"{what}.{name}"), values.expand(len(flow.came)))
        for what in ("came", "read", "added", "left", "share"):
            np.testing.assert_array_equal(arrays.pop(f"{what}.{name}"), getattr(flow, what).astype(np.float32))
        if name == "ffn":
            hidden = recorded[f"{place.site}.hidden"][0]
            assert part["units"] == hidden.shape[-1]
            same(arrays.pop("hidden.ffn"), hidden[:, part["samples"]])
            same(arrays.pop("active.ffn"), (hidden > 0).double().mean(dim=-1).float())
        else:
            check_strongest(arrays, name, recorded[f"{place.site}.weights"][0].numpy())
            mask = recorded[f"{place.site}.mask"][0].any(dim=0)
            if mask.all():
                assert f"mask.{name}" not in arrays
            else:
                same(arrays.pop(f"mask.{name}"), mask)
    assert arrays == {}


def check_strongest(arrays, name, weights):
    keys, values, starts, rest = (arrays.pop(f"{what}.{name}") for what in ("keys", "weights", "starts", "rest"))
    rows = weights.reshape(-1, weights.shape[-1]).astype(np.float64)
    largest = (rows > 0) & (np.arange(rows.shape[-1]) == rows.argmax(axis=-1)[:, None])
    of_row, at = np.nonzero((rows >= 0.02) | largest)
    np.testing.assert_array_equal(keys, at)
    np.testing.assert_array_equal(np.repeat(np.arange(len(rows)), np.diff(starts).astype(int)), of_row)
    np.testing.assert_array_equal(values, weights.reshape(rows.shape)[of_row, at])
    rows[of_row, at] = 0
    np.testing.assert_allclose(rest.ravel(), rows.sum(axis=-1), rtol=1e-6)  # float32 of the same float64 sum


def check_attention(recorded, data):
    """Each array of a head against the trace, and the weight computed from it; none is left over."""
    header, arrays = unpacked(data)
    site, head = KINDS[header["kind"]].site(header["layer"]), header["head"]
    heads = recorded.spec.attentions[site]
    assert header["of"] == run_id(recorded)
    assert header["heads"] == heads.query
    assert header["key_head"] == head * heads.key // heads.query
    assert header["divisor"] == recorded.scalars[f"{site}.divisor"]
    weigh(header, arrays)
    for name in ("query", "scores", "weights", "head_out"):
        same(arrays.pop(name), recorded[f"{site}.{name}"][0, head])
    for name in ("key", "value"):
        same(arrays.pop(name), recorded[f"{site}.{name}"][0, header["key_head"]])
    if f"{site}.bias" in recorded:
        same(arrays.pop("bias"), recorded[f"{site}.bias"][0, head])
    weights = recorded[f"{site}.weights"]
    mask = recorded[f"{site}.mask"].expand(weights.shape)[0, head]
    if mask.all():
        assert "mask" not in arrays
        assert header["fill"] == ""
    else:
        same(arrays.pop("mask"), mask)
    np.testing.assert_allclose(arrays.pop("maps"), weights[0].numpy(), atol=4e-3)  # 256 levels
    assert arrays == {}


def weigh(header, arrays):
    """Products, sum, divisor, bias and softmax over the row, in float64, from the payload alone."""
    query, key = (arrays[name].astype(np.float64) for name in ("query", "key"))
    products = query[:, None] * key[None]  # [Q, K, E]
    scores = products.sum(axis=-1) / header["divisor"] + arrays.get("bias", 0.0)
    largest = max(1.0, float((np.abs(products).sum(axis=-1) / header["divisor"]).max()))
    np.testing.assert_allclose(arrays["scores"], scores, rtol=0, atol=ROUNDING * largest)
    mask = arrays.get("mask", np.ones(scores.shape, dtype=bool))
    seen = arrays["scores"].astype(np.float64)
    if header["fill"] == "-1e9 added":
        seen = (arrays["scores"] + np.float32(-1e9) * ~mask).astype(np.float64)
    elif header["fill"]:
        fill = "-inf" if header["fill"] == "not told" else header["fill"]
        seen = np.where(mask, seen, float(fill))
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(seen - seen.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    weights[(~mask).all(axis=-1) & (arrays["weights"] == 0).all(axis=-1)] = 0  # a row of zeros
    np.testing.assert_allclose(arrays["weights"], weights, rtol=0, atol=ROUNDING)


def check(recorded):
    """All details of a run; their headers."""
    found = details_of(recorded)
    for data in found:
        (check_layer if payload.unpack(data)[0]["level"] == "layer" else check_attention)(recorded, data)
    spec = recorded.spec
    heads = sum(each.query for each in spec.attentions.values())
    assert len(found) == spec.encoder_layers + spec.decoder_layers + heads
    return [payload.unpack(data)[0] for data in found]


@each_once("summary, text", BUNDLED, range(3))
def test_every_number_is_one_of_the_trace_and_makes_up_the_weights(summary, text):
    source, _ = summary.examples()[text]
    run = decode(model(summary.name), source, max_steps=8)
    check_run(run)
    check(run.trace)


SLIPS = {
    "none": {},
    "post": {"norm": "post"},
    "positions-and-features": {"norm": "post", "norm_kind": "positions-and-features", "final_norm": False},
    "bessel": {"norm_kind": "bessel"},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "learned": {"divisor": "learned", "mask_fill": "-inf"},
    "fills": {"divisor": "sqrt-d-model", "mask_fill": "-1e9"},
    "reshape": {"merge": "raw-reshape", "mask_fill": "-1e10"},
    "padded": {
        "pad_to": 12,
        "max_source": 12,
        "max_target": 12,
        "padding_mask": "key-or-query",
        "mask_fill": "added-1e9",
    },
}


@pytest.mark.parametrize("name", SLIPS)
@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_so_it_is_in_models_of_every_kind_and_with_each_slip(kind, name):
    ckpt = tiny_checkpoint(kind, **SLIPS[name])
    text = "uvw" if kind == "decoder-only" else "abcd"
    check(trace(ckpt, text, "uvw" if kind == "encoder-decoder" else None))


@pytest.mark.parametrize("name", ["en-it", "tutorial6", "annotated", "upc-lab", "fsu"])
def test_so_it_is_in_each_tutorial_s_model(name):
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "encoder_layers": 2, "decoder_layers": 2}
    sizes |= {"source_vocab_size": len(SOURCE), "target_vocab_size": len(TARGET), "source_pad": 0, "target_pad": 0}
    lengths = {"pad_to": 9} if name == "en-it" else {"max_source": 12, "max_target": 12}
    check(trace(tiny_checkpoint(**asdict(tutorial(name, **sizes, **lengths))), "abcd", "uvw"))


def remarks(data):
    return payload.unpack(data)[0]["remarks"]


def said(data, words):
    return any(words in remark for remark in remarks(data))


def test_what_is_usual_has_no_remark():
    recorded = decode(model("numbers-any"), "42", max_steps=3).trace
    assert [remark for data in details_of(recorded) for remark in remarks(data)] == []


def test_slips_are_told_where_they_are():
    recorded = decode(model("en-it-slips"), "a dog", max_steps=3).trace
    last = recorded.spec.decoder_layers - 1
    layers = [pack_layer(recorded, "decoder", each) for each in range(last + 1)]
    assert all(said(each, "merges its heads by a raw reshape") for each in layers)
    assert all(said(each, "one mean and one scale over all positions") for each in layers)
    assert [said(each, "no final norm") for each in layers] == [False] * last + [True]
    cross, own = (pack_attention(recorded, kind, 0, 3) for kind in ("cross", "decoder"))
    assert said(cross, "its two sides swapped")
    assert not said(own, "its two sides swapped")
    assert payload.unpack(own)[0]["merge"] == "raw"
    queries, heads = len(recorded.tgt), recorded.spec.heads("decoder", 0).query
    row, slot = landing_place(3, queries - 1, n_heads=heads, length=queries)
    assert said(own, f"({3 * queries} + t) // {heads}")
    assert said(own, f"query {queries - 1} in row {row}, slot {slot}.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"positions": "rotary"}, "turns queries and keys by their positions"),
        ({"positions": "alibi"}, "lowers scores by the distance"),
        ({"divisor": "learned"}, "divided by a trained number"),
        ({"divisor": "sqrt-d-model"}, "the square root of d_model"),
        ({"mask_fill": "-1e9"}, "A masked score becomes -1e9"),
    ],
)
def test_what_makes_scores_is_told_at_self_attention(changes, words):
    recorded = trace(tiny_checkpoint(**changes), "abc", "uv")
    assert said(pack_attention(recorded, "decoder", 1, 2), words)
    if "positions" in changes:
        assert not said(pack_attention(recorded, "cross", 1, 2), words)


def test_a_pre_norm_model_without_final_norm_says_so_at_its_last_layer():
    recorded = trace(tiny_checkpoint(final_norm=False), "abc", "uv")
    assert [said(pack_layer(recorded, "decoder", each), "no final norm: what this last") for each in range(3)] == [
        False,
        False,
        True,
    ]


def test_an_edit_and_dropout_are_told_where_they_act():
    edited = trace(tiny_checkpoint(), "abc", "uv", edits=[AblateHead("decoder.1.cross", 2, "uniform")])
    assert said(pack_layer(edited, "decoder", 1), "was edited here: decoder.1.cross head 2 ablated (uniform)")
    assert said(pack_attention(edited, "cross", 1, 2), "was edited here")
    assert not said(pack_layer(edited, "decoder", 0), "edited")
    dropped = training_trace(tiny_checkpoint(dropout=0.5), "abc", "uv", 0)
    layer = pack_layer(dropped, "decoder", 1)
    assert said(layer, "in training mode")
    assert said(layer, "the stream is not what came in plus the sub-layer's output")
    assert run_id(dropped) != run_id(trace(tiny_checkpoint(dropout=0.5), "abc", "uv"))


def test_weights_that_are_no_numbers_or_above_1_are_drawn_as_they_are():
    dropped = training_trace(tiny_checkpoint(dropout=0.5), "abc", "uv", 0)
    for kind, layer in (("cross", 1), ("encoder", 0)):
        _, arrays = payload.unpack(pack_attention(dropped, kind, layer, 0))
        same(arrays["maps"], dropped[f"{KINDS[kind].site(layer)}.weights"][0])


def test_another_program_s_model_has_what_it_tells_and_a_remark_of_the_rest():
    recorded = decode(foreign_checkpoint(), "uvw0", max_steps=5).trace
    header, arrays = payload.unpack(pack_layer(recorded, "decoder", 1))
    assert "The run has no norm mean or norm scale of decoder layer 1, feed-forward." in header["remarks"]
    assert not {"mean.self", "scale.ffn"} & set(arrays)
    same(arrays["hidden.ffn"], recorded["decoder.1.ffn.hidden"][0])
    data = pack_attention(recorded, "decoder", 1, 3)
    header, arrays = unpacked(data)
    assert (header["heads"], header["key_head"], header["fill"]) == (6, 1, "not told")
    assert said(data, "Heads 2 to 3 share one key and one value.")
    assert said(data, "the 4 keys that end at its own place")
    check_attention(recorded, data)


def test_points_that_a_run_lacks_are_absent_with_the_reason():
    recorded = trace(tiny_checkpoint(), "abc", "uv")
    lacking = ("decoder.1.cross.query", "decoder.1.cross.head_out", "decoder.1.ffn.hidden", "decoder.1.ffn.out")
    values = {name: value for name, value in recorded.values.items() if name not in lacking}
    missing = {"decoder.1.cross.query": "the model keeps it to itself"}
    partial = replace(recorded, values=values, spec=replace(recorded.spec, missing=missing))
    data = pack_attention(partial, "cross", 1, 0)
    assert not {"query", "scores", "head_out"} & set(payload.unpack(data)[1])
    assert remarks(data) == [
        "The run has no query of cross-attention of layer 1: the model keeps it to itself.",
        "The run has no scores or output of the head of cross-attention of layer 1.",
    ]
    data = pack_layer(partial, "decoder", 1)
    assert not {"out.ffn", "added.ffn", "share.ffn", "hidden.ffn", "active.ffn"} & set(payload.unpack(data)[1])
    assert "The run has no output or hidden layer of decoder layer 1, feed-forward." in remarks(data)


def test_a_watched_module_has_its_weights_alone():
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(1, 3, 8)
    recorded = watch(attention, lambda: attention(x, x, x), tokens=["a", "b", "c"])
    kind = "encoder" if recorded.spec.has_encoder else "decoder"
    data = pack_attention(recorded, kind, 0, 1)
    header, arrays = unpacked(data)
    assert header["divisor"] is None
    same(arrays["weights"], recorded[f"{kind}.0.self.weights"][0, 1])
    assert "query" not in arrays
    assert said(data, "a watched module tells its attention weights")
    assert "weights.self" in payload.unpack(pack_layer(recorded, kind, 0))[1]


def test_above_512_tokens_the_other_pages_have_it():
    ckpt = tiny_checkpoint("decoder-only", max_target=600)
    longest, too_long = (trace(ckpt, [4 + n % 8 for n in range(count)]) for count in (512, 513))
    check_attention(longest, pack_attention(longest, "decoder", 1, 2))
    assert said(pack_attention(longest, "decoder", 1, 2), "computed from the recorded queries and keys")
    header, arrays = payload.unpack(pack_attention(too_long, "decoder", 1, 2))
    assert arrays == {}
    assert header["remarks"] == [
        "513 tokens are too many for this level, which has at most 512: Attention and One weight have it."
    ]
    header, arrays = unpacked(pack_layer(too_long, "decoder", 1))
    check_strongest(arrays, "self", layer_weights(too_long, "decoder", 1)[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda run: pack_layer(run, "decoder", 3), "there is no layer 3: layers go from 0 to 2"),
        (lambda run: pack_attention(run, "cross", 3, 0), "there is no layer 3: layers go from 0 to 2"),
        (lambda run: pack_attention(run, "cross", 0, 4), "there is no head 4: heads go from 0 to 3"),
    ],
)
def test_a_place_that_is_not_there_is_an_error(call, words):
    with pytest.raises(ValueError, match=words):
        call(trace(tiny_checkpoint(), "abc", "uv"))


def test_rows_of_many_passes_have_no_details():
    stepped = decode(model("en-it-slips"), "a dog", max_steps=3)
    assert isinstance(stepped, Run)
    for make in (
        lambda: pack_layer(stepped.per_step_rows, "decoder", 0),
        lambda: pack_attention(stepped.per_step_rows, "cross", 0, 0),
    ):
        with pytest.raises(ValueError, match="of each step only weights were kept"):
            make()


def test_what_is_too_large_as_a_whole_is_one_place_and_says_so():
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    whole = details_of(run)
    size = sum(map(len, whole))
    assert details_of(run, most=size) == whole
    found = details_of(run, kind="decoder", layer=2, head=1, most=size - 1)
    assert [payload.unpack(each)[0]["level"] for each in found] == ["layer", "attention"]
    assert all(remarks(each)[-1] == HERE_ALONE for each in found)
    (layer, _), (head, _) = map(payload.unpack, found)
    assert (layer["stack"], layer["layer"]) == ("decoder", 2)
    assert (head["kind"], head["layer"], head["head"]) == ("decoder", 2, 1)


def test_an_answer_has_what_was_asked_for_in_its_order_until_it_is_long_enough():
    recorded = trace(tiny_checkpoint(), "abc", "uv")
    of = run_id(recorded)
    layer, head = pack_layer(recorded, "decoder", 0), pack_attention(recorded, "cross", 0, 1)
    places = [{"of": of, "stack": "decoder", "layer": 0}, {"of": of, "kind": "cross", "layer": 0, "head": 1}]

    def answered(asked, most=10**6):
        return pack_details({of: recorded}, asked, most=most)

    assert answered(places) == [layer, head]
    assert answered(places, most=len(layer)) == [layer]
    assert answered(places[::-1], most=1) == [head]


@pytest.mark.parametrize(
    "wrong",
    [
        {"of": "another"},
        {"layer": 99},
        {"layer": -1},
        {"layer": "0"},
        {"layer": True},
        {"layer": None},
        {"stack": "memory"},
        {"stack": ["decoder"]},
        {"stack": None, "kind": "cross", "head": 99},
        {"stack": None, "kind": "cross", "head": "1"},
        {"stack": None, "kind": "none", "head": 0},
        {"stack": None, "kind": {}, "head": 0},
    ],
)
def test_a_place_that_a_run_lacks_has_no_answer_and_does_not_take_that_of_others(wrong):
    recorded = trace(tiny_checkpoint(), "abc", "uv")
    there = {"of": run_id(recorded), "stack": "decoder", "layer": 0}
    assert pack_details({run_id(recorded): recorded}, [{**there, **wrong}, there], most=10**6) == [
        pack_layer(recorded, "decoder", 0)
    ]
