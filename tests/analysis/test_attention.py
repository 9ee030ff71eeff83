import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.attention import attention_kinds, head_view, step_row
from viz_transformer.decoding import decode
from viz_transformer.edits import SetMask
from viz_transformer.tracing import trace


@pytest.fixture(scope="module")
def run():
    return decode(tiny_checkpoint(), "abcaz", max_steps=4)


@pytest.mark.parametrize("kind", ["cross", "decoder", "encoder"])
@pytest.mark.parametrize("head", [0, 3])
def test_a_view_of_a_head_is_what_was_recorded(run, kind, head):
    view = head_view(run.trace, kind, 1, head)
    site = {"cross": "decoder.1.cross", "decoder": "decoder.1.self", "encoder": "encoder.1.self"}[kind]
    assert view.weights.dtype == np.float32
    assert np.array_equal(view.weights, run.trace[f"{site}.weights"][0, head].numpy())
    assert not view.derived
    assert (
        view.title == f"{site.split('.')[0]} layer 1, head {head}, {'cross' if kind == 'cross' else 'self'}-attention"
    )


def test_rows_read_and_write_what_the_run_did(run):
    view = head_view(run.trace, "cross", 0, 0)
    assert view.query_tokens == ("<s>", *run.tokens[:-1])
    assert view.query_writes == run.tokens
    assert view.key_tokens == ("<s>", "a", "b", "c", "a", "<unk>", "</s>")
    assert view.key_originals == ("<s>", "a", "b", "c", "a", "z", "</s>")


def test_what_a_row_of_given_ids_writes_may_not_be_known():
    view = head_view(trace(tiny_checkpoint(), [1, 4, 2], [1, 5]), "cross", 0, 0)
    assert view.query_writes == ("v", "(not known)")


def test_encoder_rows_write_nothing(run):
    assert head_view(run.trace, "encoder", 0, 0).query_writes is None


def test_the_mean_is_the_mean_and_says_that_it_is_derived(run):
    view = head_view(run.trace, "cross", 2, None)
    heads = np.stack([head_view(run.trace, "cross", 2, head).weights for head in range(4)])
    np.testing.assert_allclose(view.weights, heads.mean(axis=0, dtype=np.float64), atol=1e-7)  # one float32 rounding
    assert view.derived
    assert view.title == "decoder layer 2, mean of 4 heads, cross-attention"
    assert "derived" in view.scale_name


def test_the_mask_of_a_decoder_is_a_triangle(run):
    view = head_view(run.trace, "decoder", 0, 2)
    assert np.array_equal(view.mask, np.tri(len(run.steps), dtype=bool))
    assert (view.weights[~view.mask] == 0).all()


def test_a_cell_is_masked_in_the_mean_only_if_it_is_in_every_head():
    ckpt = tiny_checkpoint()
    edit = SetMask("decoder.0.cross", query=0, key=1, allowed=False, head=2)
    recorded = trace(ckpt, "abc", "uv", edits=[edit])
    assert not head_view(recorded, "cross", 0, 2).mask[0, 1]
    assert head_view(recorded, "cross", 0, 1).mask[0, 1]
    assert head_view(recorded, "cross", 0, None).mask[0, 1]


def test_a_step_s_row_comes_after_the_rows_that_only_read():
    run = decode(tiny_checkpoint("decoder-only"), "uvw", max_steps=3)
    assert attention_kinds(run.trace) == ("decoder",)
    for step in run.steps:
        row = step_row(run, step.index)
        assert run.trace.next_tokens[row] == step.token
        logits = run.trace["logits"][0, row]
        assert torch.allclose(logits.log_softmax(-1), step.log_probs, atol=1e-6)  # summed in another order


def test_steps_of_a_translation_start_at_row_0(run):
    assert [step_row(run, step.index) for step in run.steps] == list(range(len(run.steps)))


def test_rows_of_padding_come_after_the_steps_and_are_named():
    run = decode(tiny_checkpoint(pad_to=20, max_target=20), "abcaz", max_steps=4)
    rows = [step_row(run, step.index) for step in run.steps]
    assert rows == list(range(len(run.steps)))
    view = head_view(run.trace, "cross", 0, 0)
    assert view.query_writes[: len(rows)] == run.tokens
    assert set(view.query_writes[len(rows) :]) == {"(unused)"}
    assert view.query_tokens[len(rows) :] == view.query_originals[len(rows) :] == ("<pad>",) * (20 - len(rows))
    assert view.key_originals == ("<s>", "a", "b", "c", "a", "z", "</s>", *["<pad>"] * 13)


@pytest.mark.parametrize(
    ("kind", "layer", "head", "sentence"),
    [
        ("cross", 3, 0, "layers go from 0 to 2"),
        ("encoder", 2, 0, "layers go from 0 to 1"),
        ("cross", 0, 4, "heads go from 0 to 3"),
        ("cross", 0, -1, "heads go from 0 to 3"),
        ("self", 0, 0, "choose 'cross' or 'decoder' or 'encoder'"),
    ],
)
def test_what_the_model_does_not_have_is_a_value_error(run, kind, layer, head, sentence):
    with pytest.raises(ValueError, match=sentence):
        head_view(run.trace, kind, layer, head)
