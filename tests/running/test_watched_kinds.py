"""Attentions as people write them, right and wrong ones: each is told as it is, by the weights that it used."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import viz_transformer as vt
from viz_transformer.model.watched import rows_in_words
from viz_transformer.payload import unpack

NAMES, N, D = list("abcde"), 5, 32
LOW = torch.ones(N, N, dtype=torch.bool).tril()
HOLE = torch.zeros(N, N, dtype=torch.bool)
HOLE[2] = True
Weigh = Callable[[Tensor], Tensor]


def softmax(scores: Tensor, axis: int = -1) -> Tensor:
    return torch.softmax(scores, axis)


def by_hand(scores: Tensor) -> Tensor:
    made = (scores - scores.amax(-1, keepdim=True)).exp()
    return made / made.sum(-1, keepdim=True)


def plus_one(scores: Tensor) -> Tensor:
    return scores.exp() / (1 + scores.exp().sum(-1, keepdim=True))


def without_first(scores: Tensor) -> Tensor:
    left = softmax(scores) * (torch.arange(N) > 0)
    return left / left.sum(-1, keepdim=True)


def through_numpy(scores: Tensor) -> Tensor:
    return torch.from_numpy(softmax(scores).numpy().copy())


KINDS: dict[str, tuple[Weigh, str]] = {  # and what the line of the attention says, beside its rows
    "softmax": (softmax, "softmax over the keys"),
    "masked_fill behind": (lambda s: softmax(s).masked_fill(HOLE, 0.0), "softmax over the keys, then masked_fill"),
    "nan_to_num behind": (
        lambda s: softmax(s.masked_fill(HOLE, -math.inf)).nan_to_num(0.0),
        "softmax over the keys, then nan_to_num",
    ),
    "where behind": (
        lambda s: torch.where(HOLE, torch.zeros(()), softmax(s.masked_fill(HOLE, -1e9))),
        "softmax over the keys, then where",
    ),
    "a head's switch": (lambda s: softmax(s) * torch.ones(1), "softmax over the keys, then mul"),
    "float64 and back": (lambda s: softmax(s.double()).to(s.dtype), "softmax over the keys"),
    "contiguous and clone": (lambda s: softmax(s).contiguous().clone(), "softmax over the keys"),
    "exp over sum": (by_hand, "made of the scores by div, sub, exp, div"),
    "log-softmax and exp": (
        lambda s: functional.log_softmax(s, -1).exp(),
        "made of the scores by div, log_softmax, exp",
    ),
    "softmax plus one": (plus_one, "made of the scores by div, exp, div"),
    "kept in a list": (lambda s: [softmax(s)][0], "softmax over the keys"),
    "dropout always on": (lambda s: functional.dropout(softmax(s), 0.5), "softmax over the keys, then mul"),
    "softmax over the batch": (lambda s: softmax(s, 0), "made of the scores by div, softmax"),
    "a row masked whole": (lambda s: softmax(s.masked_fill(HOLE, -math.inf)), "softmax over the keys"),
    "mask turned round": (lambda s: softmax(s.masked_fill(LOW, -1e9)), "softmax over the keys"),
    "not divided by the root": (lambda s: softmax(s * 100), "softmax over the keys"),
    "sigmoid": (torch.sigmoid, "made of the scores by div, sigmoid"),
    "mask behind the softmax": (lambda s: softmax(s) * LOW, "softmax over the keys, then mul"),
    "a column taken out": (without_first, "softmax over the keys, then mul, div"),
}
SUM_TO_ONE = {
    *("softmax", "a head's switch", "float64 and back", "contiguous and clone", "exp over sum", "log-softmax and exp"),
    *("kept in a list", "a row masked whole", "mask turned round", "not divided by the root", "a column taken out"),
}
EMPTY_ROW = {"masked_fill behind", "nan_to_num behind", "where behind"}


class One(nn.Module):
    """One head, which keeps the weights that it used."""

    def __init__(self, weigh: Weigh) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(D, D) for _ in range(3))
        self.weigh = weigh
        self.kept = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.query(x) @ self.key(x).transpose(-1, -2) / math.sqrt(D)
        self.kept = self.weigh(scores)
        mixed: Tensor = self.kept @ self.value(x)
        return mixed


class Block(nn.Module):
    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attn = attention

    def forward(self, x: Tensor) -> Tensor:
        read: Tensor = self.attn(x)
        return x + read


class Layers(nn.Module):
    def __init__(self, *attentions: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(each) for each in attentions)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def drawn(*sizes: int) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(7))


def watched(model: nn.Module, x: Tensor, **more: object) -> vt.Trace:
    return vt.watch(model.eval(), lambda: model(x), tokens=NAMES, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_are_those_that_the_values_were_multiplied_with_bit_by_bit(kind: str) -> None:
    weigh, how = KINDS[kind]
    model, x = One(weigh), drawn(1, N, D)
    trace = watched(model, x)
    (site,) = trace.spec.attentions
    weights = trace[f"{site}.weights"]
    assert torch.equal(weights[0].nan_to_num(9.0), model.kept.nan_to_num(9.0))
    (line,) = trace.notes
    assert line.startswith(f"{site}: 1 head, {how}") and line in repr(trace)
    rows = line.removeprefix(f"{site}: 1 head, {how}").removeprefix("; ")
    if kind in SUM_TO_ONE:
        assert rows == ""
    elif kind in EMPTY_ROW:
        assert rows == "1 of 5 rows add to 0, the others to 1"
    else:
        sums = weights.sum(-1)
        least, most = float(sums.min()), float(sums.max())
        said = f"{least:.3g}" if f"{least:.3g}" == f"{most:.3g}" else f"{least:.3g} to {most:.3g}"
        assert rows == f"rows add to {said}; not a softmax over keys"


@pytest.mark.parametrize("kind", KINDS)
def test_watching_changes_no_bit_of_what_the_module_gives_out(kind: str) -> None:
    model, x = One(KINDS[kind][0]), drawn(1, N, D)
    given: list[Tensor] = []
    state = torch.get_rng_state()
    with torch.no_grad():
        expected = model(x)
        after = torch.get_rng_state()
    torch.set_rng_state(state)
    trace = vt.watch(model.eval(), lambda: given.append(model(x)), tokens=NAMES)
    assert len(given) == 2 and all(torch.equal(each.nan_to_num(9.0), expected.nan_to_num(9.0)) for each in given)
    assert torch.equal(torch.get_rng_state(), after)  # as behind one call
    assert watched(model, x).info["difference"] == 0.0
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
    assert trace.points()


def test_cells_that_a_mask_closed_are_told_from_weights_that_were_set_to_zero() -> None:
    x = drawn(1, N, D)
    for kind, closed in (
        ("where behind", HOLE),
        ("nan_to_num behind", HOLE),
        ("mask turned round", LOW & (torch.arange(N) < N - 1)[:, None]),
        ("masked_fill behind", torch.zeros_like(HOLE)),
        ("mask behind the softmax", torch.zeros_like(HOLE)),
    ):
        trace = watched(One(KINDS[kind][0]), x)
        (site,) = trace.spec.attentions
        assert torch.equal(trace[f"{site}.mask"][0, 0], ~closed), kind
    by_exp = watched(One(lambda s: by_hand(s.masked_fill(~LOW, -math.inf))), x)
    assert torch.equal(by_exp["decoder.0.self.mask"][0, 0], LOW)


MISSED: dict[str, Callable[[], nn.Module]] = {
    "a softmax that leaves torch": lambda: One(through_numpy),
    "no softmax, no product": lambda: Apart(torch.sigmoid),
}


class Apart(One):
    """Without a product of weights and values: one by one, and added up."""

    def forward(self, x: Tensor) -> Tensor:
        scores = (self.query(x)[:, :, None] * self.key(x)[:, None]).sum(-1) / math.sqrt(D)
        mixed: Tensor = (self.weigh(scores)[..., None] * self.value(x)[:, None]).sum(-2)
        return mixed


@pytest.mark.parametrize("kind", MISSED)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_layer_that_is_not_seen_keeps_its_place_and_is_named(kind: str, place: int, tmp_path: Path) -> None:
    like = One if kind.startswith("a softmax") else Apart
    layers: list[nn.Module] = [One(softmax) if like is One else _Seen(softmax) for _ in range(3)]
    layers[place] = MISSED[kind]() if like is One else _Seen(torch.sigmoid, apart=True)
    model, x = Layers(*layers), drawn(1, N, D)
    site, module = f"encoder.{place}.self", f"blocks.{place}.attn"
    with pytest.warns(UserWarning, match=rf"^attention {site} \({module}\) was not seen: .+ weights @ values$"):
        trace = watched(model, x)
    assert trace.spec.encoder_layers == 3
    others = [layer for layer in range(3) if layer != place]
    assert [*trace.spec.attentions] == [f"encoder.{layer}.self" for layer in others]
    for layer in others:
        attention = layers[layer]
        assert isinstance(attention, One)
        assert torch.equal(trace[f"encoder.{layer}.self.weights"][0], attention.kept)
        assert trace.notes[layer] == f"encoder.{layer}.self (blocks.{layer}.attn): 1 head, softmax over the keys"
    assert all(f"encoder.{layer}.residual_out" in trace for layer in range(3))
    assert f"{site} ({module}): not seen, " in repr(trace)
    with pytest.raises(KeyError, match=rf"{site} \({module}\) was not seen"):
        trace[f"{site}.weights"]
    with pytest.raises(ValueError, match="was not seen"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watched(model, x, edits=[vt.edits.AblateHead(site, 0, "uniform")])
    trace.save(tmp_path / "x.safetensors")
    again = vt.Trace.load(tmp_path / "x.safetensors")
    assert (again.notes, again.spec.modules, again.spec.unseen, repr(again)) == (
        trace.notes,
        trace.spec.modules,
        trace.spec.unseen,
        repr(trace),
    )


class _Seen(One):
    """As one class both with a product and without."""

    def __init__(self, weigh: Weigh, *, apart: bool = False) -> None:
        super().__init__(weigh)
        self.apart = apart

    def forward(self, x: Tensor) -> Tensor:
        return Apart.forward(self, x) if self.apart else super().forward(x)  # type: ignore[arg-type]


def test_each_wrong_layer_between_right_ones_is_seen_in_its_place() -> None:
    for kind, (weigh, how) in KINDS.items():
        trace = watched(Layers(One(softmax), One(weigh), One(softmax)), drawn(1, N, D))
        assert len(trace.notes) == 3 and not trace.spec.unseen, kind
        assert f".1.self (blocks.1.attn): 1 head, {how}" in trace.notes[1], kind
        assert ".2.self (blocks.2.attn): 1 head" in trace.notes[2], kind


class Heads(nn.Module):
    """Four heads, whose weights and values are put together by a function."""

    def __init__(self, mix: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.qkv, self.mix = nn.Linear(D, 3 * D), mix
        self.mixing = nn.Conv2d(4, 4, 1)

    def parts(self, x: Tensor) -> list[Tensor]:
        return [part.view(1, N, 4, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(*self.parts(x))


def scored(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-1, -2)


def head_by_head(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = scored(query, key).softmax(-1)
    return torch.cat([weights[:, head] @ value[:, head] for head in range(4)], -1)


def keys_last_but_heads(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key, value = (each.transpose(1, 2) for each in (query, key, value))
    weights = torch.einsum("bqhe,bkhe->bqhk", query, key).softmax(-1)
    return torch.einsum("bqhk,bkhe->bqhe", weights, value)


def values_first(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.einsum("bhke,bhqk->bhqe", value, scored(query, key).softmax(-1))


def into_a_buffer(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = torch.empty(1, 4, N, N)
    for head in range(4):
        weights[:, head] = scored(query[:, head], key[:, head]).softmax(-1)
    return weights @ value


def stacked(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    made = [scored(query[:, head], key[:, head]).softmax(-1) for head in range(4)]
    return torch.stack(made, 1) @ value


def in_place(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = scored(query, key).softmax(-1)
    return weights.mul_(1.0) @ value


def with_distances(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = scored(query, key).softmax(-1)
    return weights @ value + torch.einsum("bhqk,qkd->bhqd", weights, torch.ones(N, N, 8))


WAYS = [head_by_head, keys_last_but_heads, values_first, into_a_buffer, stacked, in_place, with_distances]


@pytest.mark.parametrize("mix", WAYS)
def test_heads_are_kept_in_their_order_however_they_are_laid_out(mix: Callable[..., Tensor]) -> None:
    model, x = Heads(mix), drawn(1, N, D)
    trace = watched(model, x)
    assert [*trace.spec.attentions] == ["encoder.0.self"]
    with torch.no_grad():
        query, key, _ = model.parts(x)
        expected = scored(query, key).softmax(-1)
    assert torch.allclose(trace["encoder.0.self.weights"], expected, atol=1e-6)
    assert trace.info["difference"] == 0.0
    even = watched(model, x, edits=[vt.edits.AblateHead("encoder.0.self", 2, "uniform")])
    assert torch.equal(even["encoder.0.self.weights"][0, 2], torch.full((N, N), 1 / N))
    assert torch.equal(even["encoder.0.self.weights"][0, :2], trace["encoder.0.self.weights"][0, :2])


def test_an_edit_reaches_every_product_that_reads_the_weights() -> None:
    model, x = Heads(with_distances), drawn(1, N, D)
    given: list[Tensor] = []
    edit = vt.edits.AblateHead("encoder.0.self", 2, "uniform")
    vt.watch(model.eval(), lambda: given.append(model(x)), tokens=NAMES, edits=[edit])
    with torch.no_grad():
        query, key, value = model.parts(x)
        weights = scored(query, key).softmax(-1)
        weights[:, 2] = 1 / N
        expected = weights @ value + torch.einsum("bhqk,qkd->bhqd", weights, torch.ones(N, N, 8))
    assert torch.allclose(given[-1], expected, atol=1e-6)


def test_what_is_multiplied_turned_round_or_mixed_over_heads_is_shown_so() -> None:
    x = drawn(1, N, D)
    turned = watched(Heads(lambda q, k, v: scored(q, k).softmax(-1).transpose(-1, -2) @ v), x)
    assert torch.allclose(turned["encoder.0.self.weights"].sum(-2), torch.ones(1, 4, N))
    assert "columns to 1; not a softmax over keys" in turned.notes[0]
    mixed = Heads(lambda q, k, v: v)
    mixed.mix = lambda q, k, v: mixed.mixing(scored(q, k).softmax(-1)) @ v
    with torch.no_grad():
        query, key, _ = mixed.parts(x)
        expected = mixed.mixing(scored(query, key).softmax(-1))
    trace = watched(mixed, x)
    assert torch.allclose(trace["encoder.0.self.weights"], expected, atol=1e-6)
    assert "then convolution; weights from -" in trace.notes[0]


def test_calls_in_inference_mode_and_with_lower_precision_are_seen() -> None:
    layer = nn.TransformerEncoderLayer(D, 4, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), drawn(1, N, D)
    plain = watched(model, x)

    def inferred() -> Tensor:
        with torch.inference_mode():
            out: Tensor = model(x)
            return out

    assert torch.equal(
        vt.watch(model, inferred, tokens=NAMES)["encoder.1.self.weights"], plain["encoder.1.self.weights"]
    )
    half = MultiheadInHalf().eval()
    trace = watched(half, x)
    assert torch.equal(trace["encoder.0.self.weights"][0], half.kept[0].float())
    assert "not a softmax" not in trace.notes[0]  # bfloat16 misses 1 by its rounding


class MultiheadInHalf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D, 4, batch_first=True).bfloat16()
        self.kept = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        x = x.bfloat16()
        out: Tensor
        out, self.kept = self.attention(x, x, x, average_attn_weights=False)
        return out


def test_matrices_as_wide_as_the_text_is_long_are_no_attention() -> None:
    """Five features and five tokens: queries, streams and what a classifier gives out are 5 x 5 too."""
    torch.manual_seed(1)
    encoder = nn.TransformerEncoderLayer(N, 1, 8, batch_first=True)
    model = nn.Sequential(encoder, nn.Linear(N, N), nn.ReLU(), nn.Linear(N, N, bias=False), nn.Softmax(dim=-1))
    trace = watched(model, drawn(1, N, N))
    assert trace.notes == ("encoder.0.self (0.self_attn): 1 head, softmax over the keys",)

    class Bare(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(2):
                x = (x @ x.transpose(-1, -2)).softmax(-1) @ x
            return x

    trace = watched(Bare(), drawn(1, N, N))
    assert trace.notes == tuple(f"encoder.{layer}.self: 1 head, softmax over the keys" for layer in range(2))


def test_refusals_are_true_and_say_what_to_do() -> None:
    x = drawn(1, N, D)
    for names in (NAMES[:4], NAMES * 2):
        with pytest.raises(ValueError, match=rf"attends over 5 tokens, but {len(names)} names were given: give one"):
            model = One(softmax)
            vt.watch(model.eval(), lambda: model(x), tokens=names)  # noqa: B023
    with pytest.raises(ValueError, match=r"of blocks\.0\.attn, blocks\.1\.attn, the softmax over .* weights @ values$"):
        watched(Layers(One(through_numpy), One(through_numpy)), x)
    with pytest.raises(ValueError, match=r"no attention over 5 tokens was seen, .* compute its output as weights @ va"):
        watched(nn.Linear(D, D), x)
    with pytest.raises(ValueError, match=r"call module\.eval"):
        module = nn.MultiheadAttention(D, 4, dropout=0.3, batch_first=True)
        vt.watch(module, lambda: module(x, x, x), tokens=NAMES)
    crossing = nn.MultiheadAttention(D, 4, batch_first=True).eval()
    with pytest.raises(ValueError, match="the other way round, the source's first"):
        vt.watch(crossing, lambda: crossing(x, x[:, :3], x[:, :3]), tokens=(NAMES, list("xyz")))


def test_other_threads_work_on_undisturbed_while_one_watches() -> None:
    layer = nn.TransformerEncoderLayer(D, 4, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), drawn(1, N, D)
    with torch.no_grad():
        expected = model(x)
    alone = watched(model, x)
    fast = torch.backends.mha.get_fastpath_enabled()
    elsewhere: list[Tensor] = []

    def work() -> None:
        with torch.no_grad():
            elsewhere.append(model(x))

    def watched_call() -> Tensor:
        thread = threading.Thread(target=work)  # in the middle of the watched call
        thread.start()
        thread.join()
        out: Tensor = model(x)
        return out

    trace = vt.watch(model, watched_call, tokens=NAMES)
    assert len(elsewhere) == 2 and all(torch.equal(each, expected) for each in elsewhere)
    assert trace.points() == alone.points()
    assert all(torch.equal(trace[name], alone[name]) for name in alone.points())

    traces: list[vt.Trace] = []
    threads = [threading.Thread(target=lambda: traces.append(watched(model, x))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [trace.id for trace in traces] == [alone.id] * 8
    assert torch.backends.mha.get_fastpath_enabled() is fast
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_rows_are_told_by_what_they_add_up_to() -> None:
    even = np.full((2, 4, 4), 0.25)
    assert rows_in_words(even) == ""
    assert rows_in_words(even * 2) == "rows add to 2; not a softmax over keys"
    assert rows_in_words(np.where(np.arange(4)[:, None] == 1, 0, even)) == "2 of 8 rows add to 0, the others to 1"
    assert rows_in_words(np.zeros((4, 4))) == "rows add to 0; not a softmax over keys"
    assert rows_in_words(np.where(np.arange(4)[:, None] == 1, np.nan, even)) == ""
    assert rows_in_words(np.full((4, 4), np.nan)) == ""
    signed = np.array([[1.5, -0.5], [0.5, 0.5]])
    assert rows_in_words(signed) == "weights from -0.5, rows add to 1; not a softmax over keys"


def test_the_picture_of_each_is_drawn_and_says_which_module_it_is_and_what_its_rows_add_up_to() -> None:
    for kind, (weigh, _) in KINDS.items():
        trace = watched(Layers(One(weigh)), drawn(1, N, D))
        (site,) = trace.spec.attentions
        header, arrays = unpack(vt.show(trace, site, head=0).data)
        assert header["title"].endswith("layer 0, head 0, self-attention (blocks.0.attn)"), kind
        assert np.array_equal(arrays["values"], trace[f"{site}.weights"][0, 0].numpy(), equal_nan=True)
        rows = rows_in_words(trace[f"{site}.weights"][0, 0].numpy())
        assert header["unit"] == "; ".join(filter(None, ("attention weight", rows))), kind
        assert header["bounded"] == (not bool((trace[f"{site}.weights"] > 1.001).any()))
        assert vt.show(trace, site.partition(".")[0])._repr_html_()
    scores = watched(Layers(One(lambda s: s)), drawn(1, N, D))
    header, _ = unpack(vt.show(scores, "encoder.0.self").data)
    assert header["signed"] and header["unit"].startswith("attention weight; weights from -")
    with pytest.raises(ValueError, match="the matrix shows signed ones"):
        vt.show(scores, "encoder.0.self", form="lines")
    assert unpack(vt.show(scores, "encoder").data)[0]["unit"] == "size of weight"


def test_the_picture_of_an_attention_that_was_not_seen_is_a_sentence() -> None:
    with pytest.warns(UserWarning, match="was not seen"):
        trace = watched(Layers(One(softmax), One(through_numpy), One(softmax)), drawn(1, N, D))
    with pytest.raises(ValueError, match=r"^attention encoder\.1\.self \(blocks\.1\.attn\) was not seen: "):
        vt.show(trace, "encoder.1.self")
    header, arrays = unpack(vt.show(trace, "encoder").data)
    assert header["title"] == "All heads, encoder self-attention; layer 1 was not seen"
    assert arrays["missing"].shape[0] == 3 and arrays["missing"][1].all() and not arrays["missing"][[0, 2]].any()
