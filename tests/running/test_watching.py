"""Modules of others, watched: each map is compared with what the module itself, or plain arithmetic, gives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import viz_transformer as vt
from viz_transformer.running.watching import watch

WORDS, OTHERS = ["the", "cat", "sat", "on", "mats"], ["die", "Katze", "sitzt"]
D, H = 12, 3


def drawn(*sizes: int) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(7))


class Fused(nn.Module):
    """nanoGPT's: one projection, torch's fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def parts(self, x: Tensor) -> list[Tensor]:
        return [part.view(*x.shape[:2], H, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]

    def forward(self, x: Tensor) -> Tensor:
        made = functional.scaled_dot_product_attention(*self.parts(x), is_causal=True)
        return self.out(made.transpose(1, 2).reshape(x.shape))


class Einsum(Fused):
    """With axes in another order, a large number in the place of -inf, and a softmax that is a module."""

    def __init__(self) -> None:
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (part.transpose(1, 2) for part in self.parts(x))
        scores = torch.einsum("bqhe,bkhe->bhqk", query, key) / math.sqrt(D // H)
        later = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        weights = functional.dropout(self.softmax(scores.masked_fill(later, -1e9)), 0.1, training=self.training)
        return self.out(torch.einsum("bhqk,bkhe->bqhe", weights, value).reshape(x.shape))


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(D, D // H, bias=False) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * (D // H) ** -0.5
        scores = scores.masked_fill(torch.ones(x.size(1), x.size(1)).tril() == 0, -math.inf)
        return functional.softmax(scores, dim=-1) @ self.value(x)


class Apart(nn.Module):
    """A tutorial's: each head is a module."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head() for _ in range(H))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


class Model(nn.Module):
    def __init__(self, attention: Callable[[], nn.Module]) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.blocks = nn.ModuleList(attention() for _ in range(2))
        self.head = nn.Linear(D, len(WORDS))  # as many answers as there are tokens

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = x + block(x)
        return self.head(x).softmax(-1)  # which weighs nothing


def alone(model: nn.Module, x: Tensor, **more: Any) -> vt.Trace:
    return watch(model, lambda: model(x), tokens=WORDS, **more)


def weights_by_hand(attention: nn.Module, x: Tensor) -> Tensor:
    """[H, Q, K] in float64."""
    if isinstance(attention, Apart):
        pairs = [(head.query(x)[0], head.key(x)[0]) for head in attention.heads]
    else:
        query, key, _ = attention.parts(x)
        pairs = list(zip(query[0], key[0], strict=True))
    scores = torch.stack([q.double() @ k.double().T for q, k in pairs]) / math.sqrt(D // H)
    return scores.masked_fill(torch.ones(len(WORDS), len(WORDS)).triu(1) == 1, -math.inf).softmax(-1)


@pytest.mark.parametrize("attention", [Fused, Einsum, Apart])
def test_each_attention_of_a_decoder_is_found_and_has_the_weights_of_the_run(attention: type[nn.Module]) -> None:
    model, x = Model(attention).eval(), drawn(1, len(WORDS), D)
    found = alone(model, x)
    assert found.spec.kind == "decoder-only"
    assert [*found.spec.attentions] == ["decoder.0.self", "decoder.1.self"]
    assert (found.tgt_tokens, found.src_tokens) == (tuple(WORDS), ())
    stream = x
    with torch.no_grad():
        for layer, block in enumerate(model.blocks):
            expected = weights_by_hand(block, stream)
            assert torch.allclose(found[f"decoder.{layer}.self.weights"][0].double(), expected, atol=1e-6)
            assert torch.equal(found[f"decoder.{layer}.self.mask"][0, 0], torch.ones(5, 5).tril() == 1)
            assert torch.allclose(found[f"decoder.{layer}.residual_in"], stream, atol=1e-6)
            assert torch.allclose(found[f"decoder.{layer}.residual_out"], block(stream), atol=1e-6)
            stream = stream + block(stream)
    assert found.info["difference"] < 1e-6
    assert "modules.head" in found.points()


@pytest.mark.parametrize("text_first", [True, False])
def test_torch_s_own_encoder_is_seen_through_its_fast_path(text_first: bool) -> None:
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(D, H, 20, batch_first=text_first)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = drawn(1, len(WORDS), D)
    fast = torch.backends.mha.get_fastpath_enabled()
    found = alone(model, x if text_first else x.transpose(0, 1))
    assert torch.backends.mha.get_fastpath_enabled() is fast
    assert found.spec.kind == "encoder-only"
    assert found.src_tokens == tuple(WORDS)
    with torch.no_grad():
        read = found["encoder.1.residual_in"]
        read = read if text_first else read.transpose(0, 1)
        _, expected = model.layers[1].self_attn(read, read, read, average_attn_weights=False)
    assert torch.allclose(found["encoder.1.self.weights"], expected, atol=1e-6)
    assert bool(found["encoder.1.self.mask"].all())


@pytest.mark.parametrize("others", [OTHERS, WORDS[::-1]], ids=["lengths", "names"])
def test_source_target_and_both_are_told_apart(others: list[str]) -> None:
    torch.manual_seed(2)
    model = nn.Transformer(D, H, 2, 1, 20, batch_first=True).eval()
    source, target = drawn(1, len(WORDS), D), drawn(1, len(others), D) + 1
    mask = nn.Transformer.generate_square_subsequent_mask(len(others))
    found = watch(model, lambda: model(source, target, tgt_mask=mask), tokens=(WORDS, others))
    assert found.spec.kind == "encoder-decoder"
    shapes = {site: tuple(found[f"{site}.weights"].shape[2:]) for site in found.spec.attentions}
    n, m = len(WORDS), len(others)
    wanted = {"encoder.0.self": (n, n), "encoder.1.self": (n, n), "decoder.0.self": (m, m), "decoder.0.cross": (m, n)}
    assert shapes == wanted
    assert (found.src_tokens, found.tgt_tokens) == (tuple(WORDS), tuple(others))
    assert torch.allclose(found["decoder.0.cross.weights"].sum(-1), torch.ones(1, H, m))


@pytest.mark.parametrize("attention", [Fused, Einsum, Apart])
def test_an_edit_of_weights_takes_the_place_of_the_softmax(attention: type[nn.Module]) -> None:
    model, x = Model(attention).eval(), drawn(1, len(WORDS), D)
    row = (0.5, 0.0, 0.5, 0.0, 0.0)
    edit = vt.edits.FixRow("decoder.0.self", 3, row, head=1)
    before, after = alone(model, x), alone(model, x, edits=[edit])
    changed = before["decoder.0.self.weights"].clone()
    changed[0, 1, 3] = torch.tensor(row)
    assert torch.equal(after["decoder.0.self.weights"], changed)
    moved = (after["decoder.1.residual_in"] - before["decoder.1.residual_in"])[0].abs().amax(-1) > 1e-6
    assert moved.tolist() == [False, False, False, True, False]
    with torch.no_grad():
        value = model.blocks[0].heads[1].value(x)[0] if attention is Apart else model.blocks[0].parts(x)[2][0, 1]
        mixed = (changed - before["decoder.0.self.weights"])[0, 1, 3] @ value
        own = model.blocks[0].out.weight[:, 4:8] @ mixed if attention is not Apart else functional.pad(mixed, (4, 4))
    gap = (after["decoder.0.residual_out"] - before["decoder.0.residual_out"])[0, 3]
    assert torch.allclose(gap, own, atol=1e-6)
    assert after.id != before.id


def test_a_head_that_looks_evenly_keeps_to_what_is_open() -> None:
    model, x = Model(Fused).eval(), drawn(1, len(WORDS), D)
    even = alone(model, x, edits=[vt.edits.AblateHead("decoder.1.self", 2, "uniform")])
    expected = torch.ones(5, 5).tril() / torch.arange(1, 6)[:, None]
    assert torch.allclose(even["decoder.1.self.weights"][0, 2], expected)


def test_the_module_is_left_as_it_was_and_the_pictures_draw_it() -> None:
    model, x = Model(Fused).eval(), drawn(1, len(WORDS), D)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = alone(model, x, name="mine")
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert found.checkpoint == "mine"
    assert "Decoder layer 1, head 2" in vt.show(found, "decoder.1.self", head=2)._repr_html_()
    assert "All heads, decoder self-attention" in vt.show(found, "decoder")._repr_html_()
    with pytest.raises(KeyError, match="a watched module tells its attention weights"):
        found["decoder.0.self.query"]
    assert found.id == alone(model, x).id != alone(model, x + 1).id


def test_a_layer_that_is_called_again_has_no_numbers_of_its_first_call() -> None:
    model, x = Fused().eval(), drawn(1, len(WORDS), D)
    layers = nn.ModuleList([model])
    found = watch(layers, lambda: layers[0](layers[0](x)), tokens=WORDS)
    assert [*found.spec.attentions] == ["decoder.0.self", "decoder.1.self"]
    assert torch.allclose(found["decoder.0.residual_out"], model(x), atol=1e-6)
    assert "decoder.0.residual_in" in found and "decoder.1.residual_in" not in found
    assert "decoder.1.residual_out" not in found


def test_an_encoder_alone_reads_the_source_where_both_texts_are_given() -> None:
    torch.manual_seed(1)
    model, x = nn.TransformerEncoderLayer(D, H, 20, batch_first=True).eval(), drawn(1, len(WORDS), D)
    found = watch(model, lambda: model(x), tokens=(WORDS, OTHERS))
    assert (found.src_tokens, found.tgt_tokens) == (tuple(WORDS), ())


class Twice(nn.Module):
    """Attention whose name says nothing, over two texts of one length."""

    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.transpose(-2, -1)).softmax(-1) @ x


def test_what_cannot_be_watched_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Model(Fused), drawn(1, len(WORDS), D)
    some = nn.Sequential(model, nn.Dropout(0.1))
    with pytest.raises(ValueError, match=r"call module\.eval"):
        alone(some, x)
    with pytest.raises(ValueError, match="attends over 5 tokens, but 2 names were given: give one for each"):
        watch(model.eval(), lambda: model(x), tokens=["a", "b"])
    with pytest.raises(ValueError, match="reads 2 texts at a time"):
        alone(model, torch.cat([x, x]))
    for tokens, why in (
        ("cats", "not one text"),
        ([], "no tokens"),
        (([], ["a"]), "source has no"),
        ([1, 2], "list of s"),
    ):
        with pytest.raises(ValueError, match=why):
            watch(model, lambda: model(x), tokens=tokens)  # type: ignore[arg-type]
    plain = Twice()
    with pytest.raises(ValueError, match="give texts of different lengths"):
        watch(plain, lambda: plain(x), tokens=(WORDS, WORDS))
    with pytest.raises(ValueError, match="only attention weights can be edited"):
        alone(model, x, edits=[vt.edits.AblateHead("decoder.0.self", 0)])
    with pytest.raises(ValueError, match="no point named"):
        alone(model, x, edits=[vt.edits.AblateHead("decoder.7.self", 0, "uniform")])
    with pytest.raises(ValueError, match="never ran"):
        alone(model, x, edits=[vt.edits.FixRow("decoder.0.self", 9, (1.0,), head=0)])
    assert not any(part._forward_hooks for part in model.modules())
    monkeypatch.setattr(model, "forward", lambda x: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        alone(model, x)
    assert not any(part._forward_hooks for part in model.modules())


def test_the_example_in_the_docs_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "own-models.md").read_text(encoding="utf-8")
    (example,) = [code for code in re.findall(r"```python\n(.*?)```", docs, flags=re.DOTALL) if "vt.watch" in code]
    found: dict[str, Any] = {}
    exec(example, found)
    said = [line.split("  # ")[1] for line in example.splitlines() if line.startswith("print")]
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(said) == 2
    assert all(words.startswith(line) for line, words in zip(printed, said, strict=True))
    assert torch.allclose(found["changed"]["encoder.0.self.weights"][0, 2], torch.full((3, 3), 1 / 3))
