"""Positions inside self-attention, rotary and ALiBi, against an independent walk in float64, and transformers' own."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from builders import SOURCE, TARGET, assert_same, random_ids, tiny_checkpoint, tiny_config, tiny_model
from numpy.typing import NDArray

from viz_transformer.analysis.models.untrained import Recipe, make_untrained
from viz_transformer.model import attention as attention_module
from viz_transformer.model.attention import Attention, NoPlaces, attention_scores
from viz_transformer.model.cache import AttentionCache, DecoderCache
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import OFF, Recorder
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.model.masks import causal_mask
from viz_transformer.model.positions import ENCODINGS, alibi_slopes
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.decoding import Beam, Greedy, decode
from viz_transformer.running.edits import RemovePositions, Replace, Scale, check_edits
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

WORDS = ["rotary", "alibi"]
KINDS = ["encoder-decoder", "encoder-only", "decoder-only"]


def in_kind(kind: str) -> list[torch.Tensor]:
    src, tgt = random_ids(len(SOURCE), 2, 7), random_ids(len(TARGET), 2, 6, seed=2)
    return {"encoder-decoder": [src, tgt], "encoder-only": [src], "decoder-only": [tgt]}[kind]


def rotated(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Features 2i, 2i+1 as one complex number, times e^(i * position * 10000^(-2i/E)): [H, T, E]."""
    pairs = vectors[..., 0::2] + 1j * vectors[..., 1::2]
    _, length, size = vectors.shape
    for position, pair in product(range(length), range(size // 2)):
        pairs[:, position, pair] *= np.exp(1j * position / 10_000 ** (2 * pair / size))
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(vectors.shape)


SLOPES_OF_4, SLOPES_OF_6 = [1 / 4, 1 / 16, 1 / 64, 1 / 256], [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]


def biased(heads: int, length: int, *, causal: bool) -> NDArray[np.float64]:
    slopes = {4: SLOPES_OF_4, 6: SLOPES_OF_6}[heads]
    bias = np.zeros((heads, length, length))
    for h, i, j in product(range(heads), range(length), range(length)):
        bias[h, i, j] = -slopes[h] * (max(i - j, 0) if causal else abs(i - j))
    return bias


def walk(recorder: Recorder, model: Any, site: str, batch: int) -> dict[str, NDArray[np.float64]]:
    """Every point of one attention from what it reads and the parameters alone, in numpy's float64."""
    stack, layer, kind = site.split(".")
    config: ModelConfig = model.config
    heads, size = config.n_heads, config.head_dim
    state = {
        name: value.double().numpy()
        for name, value in getattr(getattr(model, stack).layers[int(layer)], f"{kind}_attention").state_dict().items()
    }
    x = recorder.values[f"{site}.in"][batch].double().numpy()
    read = recorder.values["encoder.out"][batch].double().numpy() if kind == "cross" else x

    def mapped(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        made = values @ state[f"to_{name}.weight"].T + state[f"to_{name}.bias"]
        return made.reshape(len(values), heads, size).transpose(1, 0, 2)

    query, key, value = mapped("query", x), mapped("key", read), mapped("value", read)
    found = {}
    if config.positions == "rotary" and kind == "self":
        found |= {"query_unrotated": query, "key_unrotated": key}
        query, key = rotated(query), rotated(key)
    scores = np.einsum("hqe,hke->hqk", query, key) / math.sqrt(size)
    if config.positions == "alibi" and kind == "self":
        found["bias"] = biased(heads, len(x), causal=stack == "decoder")
        scores += found["bias"]
    mask = recorder.values[f"{site}.mask"][batch].numpy()
    powers = np.where(mask, np.exp(scores), 0.0)
    weights = powers / powers.sum(axis=-1, keepdims=True)
    head_out = weights @ value
    out = head_out.transpose(1, 0, 2).reshape(len(x), -1) @ state["to_out.weight"].T + state["to_out.bias"]
    return {
        **found,
        "query": query,
        "key": key,
        "value": value,
        "weights": weights,
        "head_out": head_out,
        "out": out,
    }


@pytest.mark.parametrize(
    ("positions", "kind", "sizes"),
    [
        *((word, kind, {}) for word, kind in product(WORDS, KINDS)),
        *((word, "encoder-decoder", {"d_model": 24, "n_heads": 6}) for word in WORDS),
        *((word, "encoder-decoder", {"norm": "post", "embedding_scale": "one"}) for word in WORDS),
    ],
)
@torch.no_grad()
def test_every_point_of_every_attention_equals_a_float64_walk(positions: str, kind: str, sizes: dict[str, Any]) -> None:
    model = tiny_model(tiny_config(kind, positions=positions, **sizes))
    recorder = Recorder()
    model(*in_kind(kind), hook=recorder)
    sites = {name.rsplit(".", 1)[0] for name in recorder.values if name.endswith(".weights")}
    assert any(site.endswith(".cross") for site in sites) == (kind == "encoder-decoder")
    for site, batch in product(sorted(sites), range(2)):
        wanted = walk(recorder, model, site, batch)
        made = {name.rsplit(".", 1)[1] for name in recorder.values if name.startswith(f"{site}.")}
        assert made - {"in", "mask", "norm_mean", "norm_scale"} == wanted.keys()
        for name, want in wanted.items():
            assert_same(recorder.values[f"{site}.{name}"][batch], torch.from_numpy(want).float(), f"{site}.{name}")
    for stack in {site.split(".")[0] for site in sites}:  # nothing is added to the embeddings
        assert f"{stack}.embed.position" not in recorder.values
        assert torch.equal(recorder.values[f"{stack}.embed.out"], recorder.values[f"{stack}.embed.token"])


@pytest.mark.parametrize("positions", WORDS)
@torch.no_grad()
def test_recording_changes_no_bit(positions: str) -> None:
    for kind in KINDS:
        model = tiny_model(tiny_config(kind, positions=positions))
        recorder = Recorder()
        assert torch.equal(model(*in_kind(kind)), model(*in_kind(kind), hook=recorder))


@torch.no_grad()
def test_a_rotated_product_knows_the_distance_and_not_the_place() -> None:
    torch.manual_seed(0)
    attention = Attention(tiny_config("decoder-only", positions="rotary", max_target=64), stack="decoder").eval()
    x = torch.randn(1, 1, 16).expand(1, 40, 16)  # the same vector at every place
    recorder = Recorder()
    attention(x, causal_mask(40, 40), recorder)
    scores = attention_scores(recorder.values["query"].double(), recorder.values["key"].double(), 2.0)[0]
    for offset in range(-20, 21):
        line = scores.diagonal(offset, dim1=-2, dim2=-1)
        torch.testing.assert_close(line, line[:, :1].expand_as(line), atol=1e-5, rtol=0)
    assert scores.std() > 0.01


@torch.no_grad()
def test_rotation_equals_that_of_transformers_in_both_pairings() -> None:
    from transformers.models.cohere.modeling_cohere import apply_rotary_pos_emb as adjacent
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as halves

    model = tiny_model(tiny_config("decoder-only", positions="rotary"))
    recorder = Recorder()
    model(*in_kind("decoder-only"), hook=recorder)
    before, after = (
        [recorder.values[f"decoder.1.self.{name}{suffix}"] for name in ("query", "key")]
        for suffix in ("_unrotated", "")
    )
    angle = torch.arange(6)[:, None] / 10_000 ** (torch.arange(0, 4, 2) / 4)
    twice = angle.repeat_interleave(2, dim=-1)[None]
    for ours, theirs in zip(after, adjacent(*before, twice.cos(), twice.sin()), strict=True):
        assert_same(ours, theirs, "neighbouring pairs, as Cohere")
    order = torch.tensor([0, 2, 1, 3])  # the same pairs, as Llama stores them: first halves, then second ones
    theirs = halves(*(value[..., order] for value in before), *(f(torch.cat([angle, angle], -1)[None]) for f in _BOTH))
    for ours, other in zip(after, theirs, strict=True):
        assert_same(ours[..., order], other, "halves, as Llama")


_BOTH = (torch.cos, torch.sin)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 8, 12, 16, 20])
def test_slopes_are_those_of_the_paper_and_of_transformers(heads: int) -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    slopes = alibi_slopes(heads)
    theirs = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]
    assert slopes == pytest.approx(theirs.tolist(), rel=1e-6)
    if heads == 8:  # the paper's example
        assert slopes == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


@pytest.mark.parametrize("positions", WORDS)
@torch.no_grad()
def test_a_long_attention_that_runs_fused_gives_the_same(positions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for stack, divisor in product(("encoder", "decoder"), ("sqrt-head-dim", "learned")):
        torch.manual_seed(0)
        attention = Attention(tiny_config(positions=positions, divisor=divisor), stack=stack).eval()
        x = torch.randn(2, 9, 16)
        mask = causal_mask(9, 9) if stack == "decoder" else torch.ones(1, 1, 9, 9, dtype=torch.bool)
        mask = mask & torch.tensor([True] * 7 + [False] * 2)
        mask = mask.expand(2, 1, 9, 9).clone()
        mask[1, :, 3] = False  # a row that may attend to nothing
        explicit = attention(x, mask, OFF)
        monkeypatch.setattr(attention_module, "FUSED_FROM", 4)
        torch.testing.assert_close(attention(x, mask, OFF), explicit, atol=1e-6, rtol=0)
        monkeypatch.undo()


@pytest.mark.parametrize("positions", WORDS)
def test_weights_of_a_long_attention_are_derived_from_what_was_recorded(
    positions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = tiny_checkpoint(positions=positions)
    plain = trace(ckpt, "abcde", "uvwxyz")
    monkeypatch.setattr(attention_module, "FUSED_FROM", 4)
    fused = trace(ckpt, "abcde", "uvwxyz")
    assert "encoder.1.self.weights" not in fused.values
    for name in plain.points():
        assert_same(fused[name], plain[name], name)


@pytest.mark.parametrize("positions", WORDS)
def test_derived_scores_are_what_the_weights_are_made_of(positions: str, tmp_path: Any) -> None:
    recorded = trace(tiny_checkpoint(positions=positions), "abcde", "uvwxyz")
    recorded.save(tmp_path / "run.safetensors")
    for run in (recorded, Trace.load(tmp_path / "run.safetensors")):
        for site in ("encoder.1.self", "decoder.2.self", "decoder.0.cross"):
            scores = run[f"{site}.scores"].double().masked_fill(~run[f"{site}.mask"], -torch.inf)
            torch.testing.assert_close(scores.softmax(-1), run[f"{site}.weights"].double(), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("positions", "kind"), list(product(WORDS, ["encoder-decoder", "decoder-only"])))
@torch.no_grad()
def test_cached_steps_equal_one_pass(positions: str, kind: str) -> None:
    model = tiny_model(tiny_config(kind, positions=positions))
    *src, tgt = in_kind(kind)
    memory = model.encode(*src) if src else ()
    whole, cache = model(*src, tgt), DecoderCache(3, 10)
    parts = [tgt[:, :2], *tgt[:, 2:].split(1, dim=1)]
    steps = torch.cat([model.decode(part, *memory, cache=cache) for part in parts], dim=1)
    torch.testing.assert_close(steps, whole, atol=2e-6, rtol=0)


@torch.no_grad()
def test_the_cache_holds_keys_turned_by_their_own_positions() -> None:
    torch.manual_seed(0)
    attention = Attention(tiny_config("decoder-only", positions="rotary"), stack="decoder").eval()
    x, cache, whole = torch.randn(2, 5, 16), AttentionCache(8), Recorder()
    attention(x, causal_mask(5, 5), whole)
    for step in range(5):
        attention(x[:, step : step + 1], causal_mask(1, step + 1, start=step), OFF, cache=cache)
    torch.testing.assert_close(cache.key, whole.values["key"], atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("positions", "strategy", "kind"), list(product(WORDS, [Greedy(), Beam(3)], ["encoder-decoder", "decoder-only"]))
)
def test_a_decode_equals_one_pass_over_what_it_wrote(positions: str, strategy: Greedy | Beam, kind: str) -> None:
    ckpt = tiny_checkpoint(kind, positions=positions)
    source = "abcde" if kind == "encoder-decoder" else "uvw"
    run = decode(ckpt, source, strategy=strategy, max_steps=8)
    ids = list(run.trace.tgt_ids)
    once = trace(ckpt, source, ids) if kind == "encoder-decoder" else trace(ckpt, ids)
    assert run.trace.info["cached"] and run.trace.points() == once.points()
    for name in once.points(derived=True):
        assert_same(run.trace[name], once[name], name)


EDITS = {
    "rotary": [
        Scale("decoder.0.self.query_unrotated", 0.5, at=(3, 2)),
        Scale("decoder.1.self.key_unrotated", -1.0, at=(None, 1)),
        Replace("encoder.1.self.key_unrotated", 0.25, at=(0,)),
        Scale("encoder.0.self.query_unrotated", 2.0),
    ],
    "alibi": [
        Scale("decoder.0.self.bias", 0.0),
        Scale("decoder.1.self.bias", 40.0, at=(3, 2)),
        Replace("encoder.1.self.bias", 0.25, at=(0, 2, 1)),
    ],
}


@pytest.mark.parametrize("edit", [edit for edits in EDITS.values() for edit in edits], ids=lambda edit: edit.caption())
def test_an_edit_of_a_new_point_is_causal_and_the_same_in_cached_steps(edit: Scale | Replace) -> None:
    positions = "alibi" if edit.point.endswith("bias") else "rotary"
    ckpt = tiny_checkpoint(positions=positions)
    plain, edited = (trace(ckpt, "abcde", "uvwxyz", edits=edits) for edits in ((), (edit,)))
    assert not torch.equal(plain["logits"], edited["logits"])
    names = list(plain.points())
    for name in names[: names.index(edit.point)]:  # what was made before it is what it was
        if name.split(".")[0] == edit.point.split(".")[0]:
            assert torch.equal(plain[name], edited[name]), name
    if edit.point.startswith("decoder") and getattr(edit, "at", ())[1:]:
        row = edit.at[1]
        assert torch.equal(plain["logits"][:, :row], edited["logits"][:, :row])
    written = decode(ckpt, "abcde", max_steps=7, prefix="uvwxyz", edits=[edit])
    once = trace(ckpt, "abcde", list(written.trace.tgt_ids), edits=[edit])
    assert written.trace.info["cached"]
    for name, value in written.trace.values.items():
        assert_same(value, once[name], name)


@pytest.mark.parametrize("positions", WORDS)
def test_without_a_bias_or_a_rotation_the_answer_is_that_of_a_model_without_positions(positions: str) -> None:
    ckpt, bare = tiny_checkpoint("decoder-only", positions=positions), tiny_checkpoint("decoder-only", positions="none")
    sites = [f"decoder.{layer}.self" for layer in range(3)]
    want = trace(bare, "uvwxyz")
    if positions == "alibi":
        edits: list[Any] = [Scale(f"{site}.bias", 0.0) for site in sites]
    else:  # queries and keys put back to what they were, layer by layer
        edits = [
            Replace(f"{site}.{part}", tuple(map(_nested, want[f"{site}.{part}"][0])))
            for site, part in product(sites, ("query", "key"))
        ]
    assert not torch.equal(trace(ckpt, "uvwxyz")["logits"], want["logits"])
    assert_same(trace(ckpt, "uvwxyz", edits=edits)["logits"], want["logits"], "logits")


def _nested(rows: torch.Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows.tolist())


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-doubled", "learned", "none"])
@torch.no_grad()
def test_models_with_a_table_or_without_positions_are_bit_for_bit_what_they_were(positions: str) -> None:
    model = tiny_model(tiny_config(positions=positions))
    recorder = Recorder()
    model(*in_kind("encoder-decoder"), hook=recorder)
    for stack, layer in (("encoder", 1), ("decoder", 2)):
        attention = getattr(model, stack).layers[layer].self_attention
        assert type(attention.positions) is NoPlaces and "positions" not in dict(attention.named_children())
        values = {name: recorder.values[f"{stack}.{layer}.self.{name}"] for name in ("in", "mask", "weights", "out")}
        query, key, value = (
            getattr(attention, f"to_{part}")(values["in"]).view(2, -1, 4, 4).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        weights = attention.masked_softmax(query @ key.transpose(-2, -1) / 2.0, values["mask"])
        assert torch.equal(weights, values["weights"])
        assert torch.equal(attention.to_out((weights @ value).transpose(1, 2).reshape(2, -1, 16)), values["out"])


@pytest.mark.parametrize("positions", WORDS)
def test_what_is_not_there_is_said(positions: str) -> None:
    config = tiny_config(positions=positions)
    with pytest.raises(ValueError, match="adds no positions to its embeddings; its self-attention"):
        check_edits([RemovePositions("encoder")], spec_of(config))
    with pytest.raises(KeyError, match="adds no positions to its embeddings"):
        trace(tiny_checkpoint(positions=positions), "abc", "uv")["decoder.embed.position"]
    with pytest.raises(ValueError, match="no point named"):
        check_edits([Scale("decoder.0.cross.query_unrotated", 2.0)], spec_of(config))


def test_rotary_positions_need_pairs_of_features() -> None:
    with pytest.raises(ValueError, match="heads of 3 features: rotary positions turn pairs"):
        tiny_config(d_model=12, positions="rotary")
    tiny_config(d_model=12, positions="alibi")


@pytest.mark.parametrize("positions", WORDS)
def test_positions_in_attention_add_nothing_to_a_checkpoint(positions: str) -> None:
    bare = tiny_model(tiny_config(positions="none")).state_dict()
    model = tiny_model(tiny_config(positions=positions)).state_dict()
    assert model.keys() == bare.keys() and all(torch.equal(model[name], bare[name]) for name in bare)


def test_runs_of_models_with_the_same_parameters_and_other_positions_have_other_names() -> None:
    runs = [trace(tiny_checkpoint(positions=word), "abc", "uv") for word in ("none", *WORDS)]
    assert len({run.id for run in runs}) == 3
    recipes = [Recipe(base="tiny", architecture=word, **SIZES) for word in ("own", *WORDS)]
    made = [make_untrained(recipe, tiny_checkpoint()) for recipe in recipes]
    assert [ckpt.config.positions for ckpt in made] == ["sinusoidal", *WORDS]
    assert len({ckpt.weights_sha256 for ckpt in made}) == 3
    assert all(torch.equal(made[0].model.output.weight, ckpt.model.output.weight) for ckpt in made)


SIZES: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "n_heads": 2, "d_model": 8, "d_ff": 8}


@pytest.mark.parametrize(("word", "divisor"), [("sinusoidal-halves", 4), ("sinusoidal-halves-fairseq", 3)])
def test_a_table_in_halves_has_all_sines_then_all_cosines(word: str, divisor: int) -> None:
    table = ENCODINGS[word].table(9, 8).double()
    for position in range(9):
        for pair in range(4):
            angle = position / 10_000 ** (pair / divisor)
            assert abs(table[position, pair] - math.sin(angle)) < 1e-7
            assert abs(table[position, 4 + pair] - math.cos(angle)) < 1e-7


def test_the_first_token_stands_where_the_offset_says() -> None:
    sizes = {"source_vocab_size": 9, "target_vocab_size": 9, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 8}
    config = ModelConfig(positions="sinusoidal-halves", position_offset=2, d_model=8, n_heads=2, max_source=5, **sizes)
    model = Transformer(config)
    assert torch.equal(model.table("positions", "encoder"), ENCODINGS["sinusoidal-halves"].table(7, 8)[2:])
    with pytest.raises(ValueError, match="position_offset=2 only applies to positions in halves"):
        ModelConfig(position_offset=2, d_model=8, n_heads=2, **sizes)
