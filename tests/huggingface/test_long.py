"""Long texts: attention runs in one kernel, and its weights are computed from queries and keys when asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from pretrained import HEARD, KINDS

from viz_transformer.analysis.attention.maps import explain_recomputation, head_view, layer_weights
from viz_transformer.analysis.tensors import points
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model import attention, hooked_model
from viz_transformer.model.kinds import kinds_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

Opened = Callable[[str], Checkpoint]
SOURCE, TARGET = [5, 9, 13, 7, 20, 21, 22, 6, 8, 30], [2, 30, 12, 33, 34, 5, 36, 37]
FROM = 5  # tokens, in the place of 512


def recorded(ckpt: Checkpoint, *edits: AblateHead) -> Trace:
    return trace(ckpt, SOURCE, TARGET if ckpt.spec.kind == "encoder-decoder" else None, edits=edits)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_computed_is_what_the_models_own_attention_makes(
    opened: Opened, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short run is theirs bit by bit. Relative to the largest number: 1e-5, sums of float32 in another order."""
    ckpt = opened(name)
    short = recorded(ckpt)
    monkeypatch.setattr(attention, "FUSED_FROM", FROM)
    long = recorded(ckpt)
    follows = [site for site in ckpt.spec.attentions if ckpt.spec.weights_follow(site)]
    assert len(follows) == (0 if name in ("gemma2", "gpt_oss", *HEARD) else len(ckpt.spec.attentions))
    for site in ckpt.spec.attentions:
        assert (f"{site}.weights" in long.values) == (site not in follows)
        assert (long[f"{site}.weights"] - short[f"{site}.weights"]).abs().max() <= 1e-5
        for head in range(ckpt.spec.attentions[site].query):
            assert torch.equal(long.of_head(f"{site}.weights", head), long[f"{site}.weights"][:, head])
    for point, gap in long.diff(short).items():
        assert gap <= 1e-5 * max(float(short[point].float().abs().max()), 10), point


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("fused_from", [FROM, 512])
def test_a_recording_takes_no_more_memory_than_was_said_before(
    opened: Opened, name: str, fused_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = opened(name)
    for module in (attention, hooked_model):
        monkeypatch.setattr(module, "FUSED_FROM", fused_from)
    found = recorded(ckpt)
    taken = {(each.data_ptr(), each.shape): each.numel() * each.element_size() for each in found.values.values()}
    said = ckpt.spec.recorded_bytes(source=len(found.src), target=len(found.tgt))
    assert 0.5 * said < sum(taken.values()) <= said


@pytest.mark.parametrize("name", KINDS)
def test_recording_a_long_text_changes_no_bit(opened: Opened, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened(name)
    monkeypatch.setattr(attention, "FUSED_FROM", FROM)
    pair = ckpt.spec.kind == "encoder-decoder"
    texts = ([SOURCE], [TARGET]) if pair else ([SOURCE], None) if ckpt.spec.has_encoder else (None, [SOURCE])
    assert torch.equal(ckpt.hooked_model.whole(*texts), recorded(ckpt)["logits"])


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5"])
def test_edited_weights_of_a_long_text_are_made(opened: Opened, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened(name)
    site = next(iter(ckpt.spec.attentions))
    edit = AblateHead(site, 1, "uniform")
    short = recorded(ckpt, edit)
    monkeypatch.setattr(attention, "FUSED_FROM", FROM)
    long = recorded(ckpt, edit)
    assert torch.equal(long.values[f"{site}.weights"], short[f"{site}.weights"])
    assert f"{site.replace('.0.', '.1.')}.weights" not in long.values
    assert (long["logits"] - short["logits"]).abs().max() <= 1e-5 * max(float(short["logits"].abs().max()), 10)


@pytest.mark.parametrize("name", ["gpt2", "llama", "marian"])
def test_a_long_text_is_written_on(opened: Opened, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pass reads all of it at once, fused; later ones read one token each, and make its weights."""
    ckpt = opened(name)
    given = "the cat sat on the mat and a dog ran"
    short = decode(ckpt, given, max_steps=4)
    monkeypatch.setattr(attention, "FUSED_FROM", FROM)
    long = decode(ckpt, given, max_steps=4)
    assert long.tokens == short.tokens
    for site in ckpt.spec.attentions:
        assert (long.trace[f"{site}.weights"] - short.trace[f"{site}.weights"]).abs().max() <= 1e-5
    for mine, theirs in zip(long.steps, short.steps, strict=True):
        assert mine.rows.keys() == theirs.rows.keys()
        for name, row in mine.rows.items():
            assert (row - theirs.rows[name]).abs().max() <= 1e-5


def test_a_page_says_what_weights_are_computed_from(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened("llama")
    short = recorded(ckpt)
    monkeypatch.setattr(attention, "FUSED_FROM", FROM)
    long = recorded(ckpt)
    (kind,) = kinds_of(ckpt.spec)
    assert explain_recomputation(short, kind) is None
    assert explain_recomputation(long, kind) == "the recorded queries and keys"
    weights, mask = layer_weights(long, kind, 1)
    for head in range(4):
        view = head_view(long, kind, 1, head)
        assert abs(view.weights - weights[head]).max() <= 1e-7
        assert (view.mask == mask[head]).all()
    with pytest.raises(ValueError, match="no head 4: heads go from 0 to 3"):
        head_view(long, kind, 1, 4)


def test_keys_that_heads_share_count_for_each_of_them(
    opened: Callable[[str], Checkpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trace(opened("llama"), "two hundred")
    heads, length, size = 4, len(run.tgt), 8
    monkeypatch.setattr(points, "LARGEST_DERIVED", heads * length * length + heads * length * size - 1)
    with pytest.raises(ValueError, match=f"and needs {heads * length * size:,} more of keys that heads share"):
        points.point_view(run, "decoder.0.self.scores")
    monkeypatch.setattr(points, "LARGEST_DERIVED", heads * length * length + heads * length * size)
    assert points.point_view(run, "decoder.0.self.scores").values.shape == (1, heads, length, length)
