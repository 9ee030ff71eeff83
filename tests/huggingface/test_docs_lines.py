"""What the gallery shows of heads and special tokens is shown of a folder's model too."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import viz_transformer as vt
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.kinds import kinds_of

Opened = Callable[[str], Checkpoint]
SCRIPT = Path(__file__).parents[2] / "docs" / "gallery.py"


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("section", ["all_heads", "other_tokens"])
@pytest.mark.parametrize("name", ["marian", "t5"])
def test_the_lines_about_special_tokens_run_with_a_folder(
    gallery: ModuleType, opened: Opened, name: str, section: str
) -> None:
    ckpt = opened(name)
    run = vt.decode(ckpt, "two hundred and four", max_steps=8)
    assert [figure for _, figure in getattr(gallery, section)(ckpt, run)]


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "marian"])
def test_every_kind_of_folder_has_scores_of_its_heads(opened: Opened, name: str) -> None:
    ckpt = opened(name)
    read = vt.decode if ckpt.spec.has_decoder else vt.read
    trace = read(ckpt, "two hundred 東").trace
    sides = {"source": (trace.src, ckpt.source_codec), "target": (trace.tgt, ckpt.target_codec)}
    special = {f"{side}_special": vt.analysis.special_positions(*given) for side, given in sides.items()}
    for side, (tokens, codec) in sides.items():
        ids = set() if codec is None else codec.special_ids - {codec.unknown, codec.mask}
        assert special[f"{side}_special"] == tuple(token_id in ids for token_id in tokens.ids)
    assert not any(special["source_special"]) or special["source_special"][-1]  # </s> or [SEP]
    for kind in kinds_of(trace.spec):
        entropy = vt.analysis.head_scores(trace, kind, **special)[0]
        assert entropy.name == "entropy" and np.isfinite(entropy.values).all()
