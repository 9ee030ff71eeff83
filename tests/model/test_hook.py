"""The hook: the same tensor comes back, a Recorder keeps that very tensor."""

from __future__ import annotations

import pytest
import torch

from viz_transformer.model.hook import OFF, Recorder


def test_off_gives_back_the_very_tensor_and_itself() -> None:
    x = torch.randn(2)
    assert OFF("anything", x) is x
    assert OFF.scope("part") is OFF


def test_a_recorder_keeps_the_very_tensor_under_its_full_name() -> None:
    x = torch.randn(2)
    recorder = Recorder()
    assert recorder.scope("decoder").scope("1").scope("cross")("weights", x) is x
    assert recorder.values == {"decoder.1.cross.weights": x}


def test_each_pass_of_a_run_has_values_of_its_own() -> None:
    recorder, x, y = Recorder(), torch.zeros(1), torch.ones(1)
    part = recorder.scope("decoder")
    part("out", x)
    first = recorder.values
    recorder.begin(start=1)
    assert recorder.scope("decoder") is part
    part("out", y)
    assert first["decoder.out"] is x and recorder.values["decoder.out"] is y


class Wrong:
    point = "logits"

    def apply(self, value: torch.Tensor, start: int, values: object) -> torch.Tensor:
        return value[:1]


def test_an_edit_that_changes_the_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the edit of 'logits' gives .* \(1,\), the run needs .* \(3,\)"):
        Recorder([Wrong()])("logits", torch.zeros(3))
