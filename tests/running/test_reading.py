"""The run of a model that writes nothing: one pass over one text."""

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer import read, trace
from viz_transformer.running.edits import AblateHead


def test_what_is_read_is_the_whole_pass_and_nothing_is_written():
    ckpt = tiny_checkpoint("encoder-only")
    run, whole = read(ckpt, "abc"), trace(ckpt, "abc")
    assert not run.steps and run.text == "" and run.per_step_rows is run.trace
    assert run.trace.diff(whole) == dict.fromkeys(whole.points(), 0.0)


def test_edits_are_part_of_the_pass():
    edit = AblateHead("encoder.0.self", 1)
    run = read(tiny_checkpoint("encoder-only"), "abc", edits=[edit])
    assert torch.equal(
        run.trace["encoder.0.self.head_out"][0, 1], torch.zeros_like(run.trace["encoder.0.self.head_out"][0, 1])
    )
    assert run.trace.edits == (edit,)


def test_a_vocabulary_without_a_mask_masks_nothing():
    with pytest.raises(ValueError, match="no mask token"):
        read(tiny_checkpoint("encoder-only"), "abc", masked=[1])


def test_two_texts_are_not_read_so():
    with pytest.raises(ValueError, match="an encoder-decoder reads two texts"):
        read(tiny_checkpoint(), "abc")
