"""The sentence at each snapshot is what that snapshot's own weights make of it."""

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint, tiny_model

from viz_transformer.analysis.models.snapshots import snapshot_series
from viz_transformer.checkpoint import load, save_checkpoint
from viz_transformer.running.decoding import decode

STEPS = (0, 2, 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snapshots")
    for kind in ("encoder-decoder", "decoder-only"):
        ckpt = tiny_checkpoint(kind)
        save_checkpoint(
            folder / kind,
            state_dict=ckpt.model.state_dict(),
            config=ckpt.config,
            source_codec=ckpt.source_codec,
            target_codec=ckpt.target_codec,
            card={"task": "copy", "exported_step": 12},
            examples=[("abc", "uvw")],
            snapshots={step: tiny_model(ckpt.config, seed=step + 1).state_dict() for step in STEPS},
        )
    return folder


@pytest.fixture(scope="module")
def ckpt(folder):
    return load(folder / "encoder-decoder")


def by_hand(ckpt, source, target):
    """Loss per token of a target, from the logits of one whole pass in float64."""
    src = ckpt.source_codec.encode(source).ids
    tgt = ckpt.target_codec.encode(target).ids
    with torch.no_grad():
        logits = ckpt.model(torch.tensor([src]), torch.tensor([tgt[:-1]]))[0].double()
    picked = logits.log_softmax(dim=-1)[range(len(tgt) - 1), list(tgt[1:])]
    return -float(picked.mean())


def test_each_snapshot_has_its_own_answer_loss_and_maps(ckpt):
    series = snapshot_series(ckpt, "bad", "xyz")
    assert (series.origin, series.target, series.steps) == ("given", "xyz", (0, 2, 10, 12))
    maps = series.maps("cross")
    assert maps.shape == (4, 3, 4, 4, 5)  # snapshots, layers, heads, <s> x y z, <s> b a d </s>
    for run, step in zip(series.runs, series.steps, strict=True):
        model = ckpt if step == 12 else ckpt.at_snapshot(step)
        assert run.loss == pytest.approx(by_hand(model, "bad", "xyz"), rel=1e-5)
        assert run.text == decode(model, "bad", max_steps=2 * 4 + 4).text
        forced = decode(model, "bad", target="xyz").trace
        for layer in range(3):
            weights = forced[f"decoder.{layer}.cross.weights"][0].numpy()
            assert np.array_equal(maps[series.steps.index(step), layer], weights)
    assert len({run.loss for run in series.runs}) == 4
    assert not np.array_equal(maps[0], maps[1])


def test_the_mask_is_that_of_the_kind(ckpt):
    series = snapshot_series(ckpt, "bad", "xyz")
    assert np.array_equal(series.mask("decoder"), np.tri(4, dtype=bool))
    assert series.mask("cross").all() and series.mask("cross").shape == (4, 5)
    assert set(series.kinds) == {"cross", "decoder", "encoder"}


def test_an_example_pairs_target_is_taken_where_its_source_is_the_text(ckpt):
    series = snapshot_series(ckpt, "abc")
    assert (series.origin, series.target) == ("example", "uvw")


def test_without_a_target_the_exported_models_answer_is_it(ckpt):
    series = snapshot_series(ckpt, "bad")
    own = decode(ckpt, "bad")
    assert series.origin == "last"
    last = series.runs[-1]
    vocabulary = ckpt.target_codec.vocabulary
    special = {vocabulary.bos, vocabulary.eos, vocabulary.pad}  # a target has none of them
    written = [step.token_id for step in own.steps if step.token_id not in special]
    assert list(last.trace.tgt_ids[1:]) == written[: len(last.trace.tgt_ids) - 1]
    assert last.right == ([step.token_id for step in own.steps] == [*written, vocabulary.eos])


def test_an_answer_is_right_only_if_its_tokens_are_the_targets(ckpt):
    own = decode(ckpt.at_snapshot(2), "bad")
    series = snapshot_series(ckpt, "bad", own.text or "x")
    right = {run.step: run.right for run in series.runs}
    assert right[2] == (own.stopped == "end token" and bool(own.text))
    assert not right[0] or decode(ckpt.at_snapshot(0), "bad").text == own.text


def test_progress_counts_the_snapshots(ckpt):
    heard = []
    snapshot_series(ckpt, "bad", "x", progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_decoder_alone_has_snapshots_too(folder):
    series = snapshot_series(load(folder / "decoder-only"), "uv", "xx")
    assert series.kinds == ("decoder",)
    assert series.maps("decoder").shape[0] == 4
    assert all(np.isfinite(run.loss) for run in series.runs)


def test_a_model_without_snapshots_says_so():
    with pytest.raises(ValueError, match="tiny came without snapshots"):
        snapshot_series(tiny_checkpoint(), "abc")


def test_a_text_that_is_too_long_is_refused(ckpt):
    with pytest.raises(ValueError, match="the model reads at most 20"):
        snapshot_series(ckpt, "a" * 40)
