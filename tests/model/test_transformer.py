"""The whole model: the hook changes nothing, the future changes nothing, padding changes nothing, nothing is kept."""

from __future__ import annotations

import threading
from itertools import product

import pytest
import torch
from builders import SOURCE, TARGET, random_ids, tiny_config, tiny_model

from viz_transformer.model.cache import DecoderCache
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import Recorder
from viz_transformer.model.transformer import Transformer, parameter_count

KINDS = ["encoder-decoder", "encoder-only", "decoder-only"]


def inputs(config: ModelConfig, batch: int = 2) -> list[torch.Tensor]:
    src, tgt = random_ids(len(SOURCE), batch, 7), random_ids(len(TARGET), batch, 6, seed=2)
    return {"encoder-decoder": [src, tgt], "encoder-only": [src], "decoder-only": [tgt]}[config.kind]


@pytest.mark.parametrize(("kind", "norm", "tied"), list(product(KINDS, ["pre", "post"], [False, True])))
@torch.no_grad()
def test_recording_changes_no_bit(kind: str, norm: str, tied: bool) -> None:
    size = {"source_vocab_size": len(TARGET)} if kind == "encoder-only" else {}  # tied: one vocabulary
    model = tiny_model(tiny_config(kind, norm=norm, tied_output=tied, **size))
    ids = inputs(model.config)
    recorder = Recorder()
    assert torch.equal(model(*ids), model(*ids, hook=recorder))
    assert torch.equal(recorder.values["logits"], model(*ids))


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only"])
@torch.no_grad()
def test_future_tokens_cannot_change_earlier_logits(kind: str) -> None:
    model = tiny_model(tiny_config(kind))
    *before, tgt = inputs(model.config)
    changed = tgt.clone()
    changed[:, 4:] = random_ids(len(TARGET), 2, 2, seed=9)
    assert not torch.equal(tgt, changed)
    first, second = model(*before, tgt), model(*before, changed)
    assert torch.equal(first[:, :4], second[:, :4])
    assert not torch.equal(first[:, 4:], second[:, 4:])


@torch.no_grad()
def test_padding_changes_nothing() -> None:
    model = tiny_model(tiny_config())
    src, tgt = random_ids(len(SOURCE), 1, 5), random_ids(len(TARGET), 1, 4, seed=2)
    pad = torch.zeros(1, 3, dtype=torch.long)
    alone = model(src, tgt)
    padded = model(torch.cat([src, pad], 1), torch.cat([tgt, pad], 1))
    # other shapes, other order of summation: a few float32 roundings
    torch.testing.assert_close(padded[:, :4], alone, atol=2e-6, rtol=0)


@torch.no_grad()
def test_what_stands_under_the_padding_changes_no_bit() -> None:
    model = tiny_model(tiny_config())
    src, tgt = random_ids(len(SOURCE), 1, 7), random_ids(len(TARGET), 1, 6, seed=2)
    src[0, 5:], tgt[0, 4:] = 0, 0
    before = model(src, tgt)[:, :4]
    with torch.no_grad():
        model.encoder.embedding.token.weight[0] = 7.0
        model.decoder.embedding.token.weight[0] = -7.0
    assert torch.equal(model(src, tgt)[:, :4], before)


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_attention_rows_sum_to_one_and_masked_cells_are_zero(norm: str) -> None:
    model = tiny_model(tiny_config(norm=norm))
    src, tgt = inputs(model.config)
    src[1, 4:], tgt[1, 3:] = 0, 0
    recorder = Recorder()
    model(src, tgt, recorder)
    sites = [name.removesuffix(".weights") for name in recorder.values if name.endswith(".weights")]
    assert len(sites) == 2 + 2 * 3
    for site in sites:
        weights, mask = recorder.values[f"{site}.weights"], recorder.values[f"{site}.mask"]
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), atol=1e-6, rtol=0)
        assert not weights[~mask.expand_as(weights)].any()


@torch.no_grad()
def test_a_source_of_padding_alone_gives_rows_of_zeros() -> None:
    model = tiny_model(tiny_config())
    recorder = Recorder()
    logits = model(torch.zeros(1, 3, dtype=torch.long), torch.tensor([[4, 5]]), recorder)
    assert not recorder.values["decoder.0.cross.weights"].any()
    assert logits.isfinite().all()


@torch.no_grad()
def test_cached_steps_equal_one_pass() -> None:
    model = tiny_model(tiny_config())
    src, tgt = inputs(model.config)
    src[1, 5:] = 0
    whole = model(src, tgt)
    memory, keep = model.encode(src)
    cache = DecoderCache(3, 10)
    parts = [tgt[:, :2], *tgt[:, 2:].split(1, dim=1)]  # a first part of two, then one by one
    steps = torch.cat([model.decode(part, memory, keep, cache=cache) for part in parts], dim=1)
    torch.testing.assert_close(steps, whole, atol=2e-6, rtol=0)
    with pytest.raises(ValueError, match="the cache holds 10 positions"):
        model.decode(random_ids(len(TARGET), 2, 5), memory, keep, cache=cache)


@torch.no_grad()
def test_no_module_keeps_anything_of_a_run() -> None:
    model = tiny_model(tiny_config())

    def state() -> dict[str, set[str]]:
        names = {}
        for name, module in model.named_modules():
            names[name] = {f"{k}={v!r}" for k, v in vars(module).items() if not k.startswith("_")}
        return names

    before, weights = state(), {k: v.clone() for k, v in model.state_dict().items()}
    model(*inputs(model.config), hook=Recorder())
    assert state() == before
    assert all(torch.equal(v, weights[k]) for k, v in model.state_dict().items())


def test_two_threads_on_one_model_do_not_see_each_other() -> None:
    model = tiny_model(tiny_config())
    runs = [inputs(model.config), [random_ids(len(SOURCE), 2, 7, seed=5), random_ids(len(TARGET), 2, 6, seed=6)]]
    with torch.no_grad():
        alone = [Recorder() for _ in runs]
        for ids, recorder in zip(runs, alone, strict=True):
            model(*ids, hook=recorder)
    different: list[str] = []

    def work(which: int) -> None:
        with torch.no_grad():
            for _ in range(25):
                recorder = Recorder()
                model(*runs[which], hook=recorder)
                for name, value in alone[which].values.items():
                    if not torch.equal(value, recorder.values[name]):
                        different.append(name)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not different


def test_a_tied_output_has_no_weight_of_its_own() -> None:
    tied, untied = (Transformer(tiny_config(tied_output=tied)) for tied in (True, False))
    assert parameter_count(untied) - parameter_count(tied) == len(TARGET) * 16
    assert "output.weight" not in tied.state_dict()
    assert "encoder.embedding.position.table" not in tied.state_dict()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_heads": 3}, "d_model=16 cannot be split evenly into n_heads=3"),
        ({"d_model": 0}, "d_model=0 has to be a whole number of at least 1"),
        ({"norm": "middle"}, "norm='middle' is not known; choose 'pre' or 'post'"),
        ({"d_ff": True}, "d_ff=True has to be a whole number"),
        ({"dropout": float("nan")}, "dropout=nan has to be a number of at least 0 and below 1"),
        ({"encoder_layers": 0, "decoder_layers": 0}, "at least one layer"),
        ({"source_vocab_size": None}, "needs source_vocab_size"),
        ({"target_pad": 99}, "target_pad=99 is not an id"),
        ({"padding_mask": "key-or-query-swapped-cross"}, "needs an encoder-decoder with pad_to"),
        ({"pad_to": 20}, "pad_to=20 and max_target=24 must be equal"),
        ({"pad_to": 24, "max_source": 24, "source_pad": None}, "pad_to=24 needs source_pad"),
        ({"norm_kind": "bessel", "d_model": 1, "n_heads": 1, "positions": "none"}, "d_model must be at least 2"),
        ({"encoder_final_norm": "torch", "final_norm": False}, "needs an encoder and final_norm=True"),
        ({"d_model": 15, "n_heads": 5}, "must be even for sinusoidal"),
    ],
)
def test_a_config_that_does_not_fit_together_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        tiny_config(**changes)
    assert sentence in str(error.value)


def test_a_model_with_pad_to_reads_nothing_shorter() -> None:
    model = tiny_model(tiny_config(max_source=9, max_target=9, pad_to=9))
    src, tgt = random_ids(len(SOURCE), 1, 9), random_ids(len(TARGET), 1, 9)
    assert model(src, tgt).shape == (1, 9, len(TARGET))
    for short in ([src[:, :5], tgt], [src, tgt[:, :5]]):
        with pytest.raises(ValueError, match="this model reads 9 tokens, padding included, not 5"):
            model(*short)


def test_a_config_without_the_newer_fields_is_the_same_model() -> None:
    first = "source_vocab_size target_vocab_size encoder_layers decoder_layers d_model n_heads d_ff dropout activation \
        norm final_norm norm_kind norm_epsilon positions embedding_scale merge divisor mask_fill tied_output \
        attention_bias ffn_bias output_bias max_source max_target source_pad target_pad".split()
    config = tiny_config()
    old = {name: value for name, value in config.to_dict().items() if name in first}
    assert len(old) == len(first)
    assert ModelConfig.from_dict(old) == config


def test_a_config_survives_its_dictionary_and_names_what_is_unknown_or_missing() -> None:
    config = tiny_config()
    assert ModelConfig.from_dict(config.to_dict()) == config
    with pytest.raises(ValueError, match=r"'d_modle' is not known: did you mean 'd_model'\?"):
        ModelConfig.from_dict(config.to_dict() | {"d_modle": 4})
    with pytest.raises(ValueError, match="'d_ff' is missing"):
        ModelConfig.from_dict({k: v for k, v in config.to_dict().items() if k != "d_ff"})
