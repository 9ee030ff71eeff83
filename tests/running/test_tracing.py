"""Teacher-forced runs: what is read and written at each row, and clear sentences for input that does not fit."""

from __future__ import annotations

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.running.tracing import trace


def test_text_gets_the_specials_and_rows_read_one_token_and_write_the_next() -> None:
    recorded = trace(tiny_checkpoint(), "abc", "uv")
    assert recorded.src_tokens == ("<s>", "a", "b", "c", "</s>")
    assert recorded.tgt_tokens == ("<s>", "u", "v")
    assert recorded.next_tokens == ("u", "v", "</s>")
    assert recorded["logits"].shape == (1, 3, 20)
    assert recorded["decoder.1.cross.weights"].shape == (1, 4, 3, 5)


def test_ids_are_used_exactly_as_given() -> None:
    recorded = trace(tiny_checkpoint(), [4, 2, 5], [7, 1, 1, 8])
    assert recorded.src_ids == (4, 2, 5)
    assert recorded.tgt_ids == (7, 1, 1, 8)
    assert recorded.next_ids == (1, 1, 8, None)
    assert recorded["logits"].shape[1] == 4


def test_a_model_that_pads_has_its_padding_in_the_trace() -> None:
    ckpt = tiny_checkpoint(max_source=8, max_target=8, pad_to=8, norm_kind="positions-and-features")
    for recorded in (trace(ckpt, "abc", "uv"), trace(ckpt, [1, 4, 5, 6, 2], [1, 4, 5])):
        assert recorded.src_tokens == ("<s>", "a", "b", "c", "</s>", "<pad>", "<pad>", "<pad>")
        assert recorded.tgt_tokens == ("<s>", "u", "v", *["<pad>"] * 5)
        assert recorded.next_tokens[:2] == ("u", "v")
        assert recorded.next_tokens[3:] == (None,) * 5
        with torch.no_grad():
            want = ckpt.model(torch.tensor([recorded.src_ids]), torch.tensor([recorded.tgt_ids]))
        assert torch.equal(recorded["logits"], want)
    with pytest.raises(ValueError, match="source has 9 tokens, the model reads at most 8"):
        trace(ckpt, "a" * 7, "u")


def test_the_logits_are_those_of_the_model_called_by_hand() -> None:
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "abc", "uv")
    with torch.no_grad():
        want = ckpt.model(torch.tensor([[1, 4, 5, 6, 2]]), torch.tensor([[1, 4, 5]]))
    assert torch.equal(recorded["logits"], want)


@pytest.mark.parametrize(("kind", "stack"), [("encoder-only", "encoder."), ("decoder-only", "decoder.")])
def test_a_model_of_one_stack_takes_the_source_alone(kind: str, stack: str) -> None:
    ckpt = tiny_checkpoint(kind)
    text = "abc" if kind == "encoder-only" else "uvw"
    recorded = trace(ckpt, text)
    assert all(name.startswith(stack) for name in recorded.points() if name != "logits")
    with pytest.raises(ValueError, match="reads one text: leave the target out"):
        trace(ckpt, text, text)


def test_unknown_text_is_kept_beside_the_unknown_token() -> None:
    recorded = trace(tiny_checkpoint(), "aé<", "u")
    assert recorded.src_tokens == ("<s>", "a", "<unk>", "<unk>", "</s>")
    assert recorded.src_originals == ("<s>", "a", "é", "<", "</s>")


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ("", "u", "the text is empty: type at least one character"),
        ("a", None, "needs a target"),
        ("a" * 10_000, "u", "source has 10,002 tokens, the model reads at most 20: shorten it or choose another model"),
        ("a", "u" * 30, "target has 31 tokens, the model reads at most 24: shorten it or choose another model"),
        ([99], "u", "id 99 is outside the vocabulary"),
        ([], "u", "the list of ids is empty"),
    ],
)
def test_input_that_does_not_fit_ends_in_a_sentence(source: str, target: str | None, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        trace(tiny_checkpoint(), source, target)
    assert sentence in str(error.value)
