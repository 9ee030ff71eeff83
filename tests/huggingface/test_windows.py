"""How far an attention reads is proved at load, also where no trial text is as long as that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.capture import MaskRuleRecorder
from viz_transformer.huggingface.self_check import trial_texts
from viz_transformer.huggingface.windows import CLOSES_MORE, NOT_ITS_WINDOW, unproved_windows

Opened = Callable[[str], Checkpoint]
WINDOWS: Mapping[str, list[int | None]] = {
    "mistral": [4, 4],
    "gemma3_text": [4, None],
    "gpt_oss": [4, None],
    "gpt_neo": [None, 3],
    "modernbert": [None, 3],
    "llama": [None, None],
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_window_of_each_layer_is_the_one_that_its_mask_has(opened: Opened, name: str) -> None:
    spec = opened(name).spec
    assert [heads.window for heads in spec.attentions.values()] == WINDOWS[name]
    assert not [each for each in spec.missing if each.endswith(".window")]


@pytest.mark.parametrize("name", ["mistral", "gpt_neo", "modernbert"])
@pytest.mark.parametrize("other", [2, 5, 4096, None])
def test_another_window_than_that_of_the_mask_is_not_proved(opened: Opened, name: str, other: int | None) -> None:
    model: Any = opened(name).hooked_model
    seen, own = MaskRuleRecorder(), model.spec
    model.whole(*trial_texts(own), hook=seen)
    attentions = {site: replace(heads, window=other) for site, heads in own.attentions.items()}
    try:
        model.spec = replace(own, attentions=attentions)
        found = dict(unproved_windows(model, seen))
    finally:
        model.spec = own
    same = (other, None) if name == "gpt_neo" and other == 4096 else (other,)  # its table ends before 4,096
    wrong = [site for site, heads in own.attentions.items() if heads.window not in same]
    assert found == dict.fromkeys(
        [f"{site}.window" for site in wrong], CLOSES_MORE if other is None else NOT_ITS_WINDOW
    )
