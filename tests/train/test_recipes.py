"""The script that trains recipes on a GPU, with its own code on the CPU: its passes, batches, optimiser and files."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bench import recipe_checkpoint, taylor_pairs, train_recipes
from bench.train_recipes import Pool, Prepared, StackedMuon, Training, logits_of, prepare, read_prepared, write_prepared
from viz_transformer.checkpoint import load
from viz_transformer.model.config import ModelConfig, tutorial
from viz_transformer.model.transformer import Transformer
from viz_transformer.train.data import EncodedPairs
from viz_transformer.train.module import FloatMuon, predicted
from viz_transformer.train.tasks import find_task
from viz_transformer.train.tasks.task import Material, PairTask
from viz_transformer.train.tasks.taylor import taylor_model

CPU = torch.device("cpu")
SIZES: dict[str, Any] = {"d_model": 16, "d_ff": 24, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 2}
PAIRS = [
    ("sin(a*x)", "a*x-a**3*x**3/6+a**5*x**5/120+O(x**6)"),
    ("cosh(b*x)", "1+b**2*x**2/2+b**4*x**4/24+O(x**6)"),
    ("-cosh(a*x)+cosh(f*x)", "x**2*(-a**2/2+f**2/2)+x**4*(-a**4/24+f**4/24)+O(x**6)"),
    ("tan(b*x)", "b*x+b**3*x**3/3+2*b**5*x**5/15+O(x**6)"),
    ("cosh(c*x)", "1+c**2*x**2/2+c**4*x**4/24+O(x**6)"),
]


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    task = find_task("taylor")
    assert isinstance(task, PairTask)
    codecs = task.codecs(task.tokenizers, PAIRS)
    config = tutorial(
        "fsu",
        source_vocab_size=len(codecs[0].vocabulary),
        target_vocab_size=len(codecs[1].vocabulary),
        **SIZES,
        max_source=30,
        max_target=90,
        dropout=0.0,
    )
    encoded = EncodedPairs(PAIRS, codecs, (30, 90), "pairs")
    material = Material(
        codecs=codecs,
        model=config,
        train=encoded,
        samples=(encoded, encoded),
        losses_on={},
        counts={},
        overlap={},
        examples=[],
    )
    return Prepared("taylor", material, encoded)


def stirred(config: ModelConfig) -> Transformer:
    """A model whose biases, gains and offsets are not those it begins with."""
    torch.manual_seed(3)
    model = Transformer(config).eval()
    for p in model.parameters():
        if p.dim() == 1:
            torch.nn.init.normal_(p, mean=0.5, std=0.3)
    return model


def test_the_passes_for_a_gpu_are_those_of_the_model(prepared: Prepared) -> None:
    model = stirred(prepared.material.model)
    pool = Pool(prepared.validation, prepared.material.model, CPU)
    for where in pool.batches(300, None):
        src, tgt = pool.batch(where)
        assert src is not None
        found, wanted = logits_of(model, src, tgt[:, :-1]), predicted(model, (src, tgt))[0]
        counted = tgt[:, :-1] != 0
        assert (found - wanted)[counted].abs().max() < 1e-5 * wanted.abs().max()


def test_a_model_of_another_family_is_refused_by_what_differs(prepared: Prepared) -> None:
    config = replace(prepared.material.model, norm="pre", dropout=0.1)
    with pytest.raises(ValueError, match=r"norm, dropout$"):
        train_recipes.check_passes(config)


def test_batches_hold_every_pair_once_with_sources_of_one_length(prepared: Prepared) -> None:
    pool = Pool(prepared.validation, prepared.material.model, CPU)
    for generator in (None, torch.Generator().manual_seed(1)):
        batches = pool.batches(130, generator)
        assert sorted(i for indices, _, _ in batches for i in indices.tolist()) == [*range(len(PAIRS))]
        for where in batches:
            src, tgt = pool.batch(where)
            assert src is not None and (src != 0).all()
            longest = int((tgt != 0).sum(1).max())
            assert longest <= tgt.size(1) <= min(longest + 7, pool.tgt.size(1))
            assert len(src) == 1 or len(src) * (src.size(1) + longest) <= 130


def test_muon_of_stacked_matrices_takes_the_steps_of_single_ones() -> None:
    torch.manual_seed(5)
    shapes = [(8, 8), (8, 8), (12, 8), (8, 12)]
    one, other = ([torch.nn.Parameter(torch.ones(shape)) for shape in shapes] for _ in range(2))
    options: dict[str, Any] = {"lr": 0.02, "weight_decay": 0.01}
    first, second = FloatMuon(one, **options, nesterov=True), StackedMuon(other, **options)
    for _ in range(3):
        for p, q in zip(one, other, strict=True):
            p.grad = torch.randn_like(p)
            q.grad = p.grad.clone()
        first.step()
        second.step()
    for p, q in zip(one, other, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-6)


def test_a_recipe_learns_keeps_its_best_and_goes_on(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe, starts = train_recipes.RECIPES["taylor"], [1]
    monkeypatch.setattr(Training, "over", lambda self, *_: self.step == 6 * starts[0])
    write_prepared(prepared, tmp_path / "taylor.prepared")
    read = read_prepared(tmp_path / "taylor.prepared")
    assert read.material.model == prepared.material.model and len(read.validation) == len(PAIRS)
    first = Training(recipe, read, tmp_path / "taylor", CPU)
    first.run(1000.0)
    second = Training(recipe, read, tmp_path / "taylor", CPU)
    assert second.step == 6 and all(map(torch.equal, second.own, first.own))
    starts[0] = 2
    second.run(1000.0)
    measured = json.loads((tmp_path / "taylor" / "measured.json").read_text())
    assert measured["last"]["step"] == 12 and measured["last"]["of"] == len(PAIRS) and measured["device"] == "cpu"
    assert math.isfinite(measured["last"]["validation_loss"])
    steps = [line.split(",")[0] for line in (tmp_path / "taylor" / "history.csv").read_text().splitlines()]
    assert steps == ["step", "0", "6", "12"]
    weights = load_file(tmp_path / "taylor" / "weights.safetensors")
    assert weights.keys() == first.model.state_dict().keys()
    assert {value.dtype for value in weights.values()} == {torch.float16}


def test_a_recipe_becomes_a_checkpoint_whose_card_says_how_it_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "taylor-generated"
    folder.mkdir(parents=True)
    for name, pairs in (("train", PAIRS[:3]), ("val", PAIRS[3:4]), ("test", PAIRS[4:])):
        with gzip.open(folder / f"{name}.txt.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{source}|{target}\n" for source, target in pairs)
    whole = train_recipes.RECIPES["taylor"]
    task = replace(
        whole.task,
        train=whole.task.train[:1],
        measures=whole.task.measures[:1],
        model=partial(taylor_model, longest=(59, 198), dropout=0.0, **SIZES),
    )
    recipe = replace(whole, task=task, warmup=0.0, peak_rate=0.05)
    monkeypatch.setitem(train_recipes.RECIPES, "taylor", recipe)  # type: ignore[arg-type]
    monkeypatch.setattr(Training, "over", lambda self, *_: self.step == 6)
    Training(recipe, prepare("taylor", tmp_path / "data"), tmp_path / "taylor", CPU).run(1000.0)
    recipe_checkpoint.export(tmp_path / "taylor", tmp_path / "data", tmp_path / "out", "how it was trained")
    ckpt = load(tmp_path / "out")
    best = json.loads((tmp_path / "taylor" / "measured.json").read_text())["best"]
    stored = load_file(tmp_path / "taylor" / "weights.safetensors")
    assert all(torch.equal(ckpt.model.state_dict()[name], value.float()) for name, value in stored.items())
    assert ckpt.card["training_command"] == "how it was trained" and ckpt.card["exported_step"] == best["step"]
    assert any("on one cpu" in note and f"{best['step']:,} steps" in note for note in ckpt.card["notes"])
    assert not any("came in meanwhile" in note for note in ckpt.card["notes"])
    material = task.prepare(tmp_path / "data")
    assert ckpt.card["training_lengths"] == material.train.read_lengths()
    (metric,) = ckpt.card["metrics"]
    assert (metric["split"], metric["pairs"], ckpt.card["causal"]) == (task.measures[0].split, 1, True)
    rows = ckpt.history()
    assert [row["step"] for row in rows] == [0, 6] and all(math.isnan(row["train_loss"]) for row in rows)
    assert all(math.isfinite(row["validation_loss"]) for row in rows)


def test_more_pairs_are_taken_in_as_they_come(prepared: Prepared, tmp_path: Path) -> None:
    pool = Pool(prepared.validation, prepared.material.model, CPU)
    pool.take_in(tmp_path)
    sides = [np.ones((3, 20), np.uint8), np.ones((3, 60), np.uint8)]
    np.savez_compressed(tmp_path / "001-0000.npz", src=sides[0], tgt=sides[1])
    for _ in range(2):
        pool.take_in(tmp_path)
        assert len(pool) == len(PAIRS) + 3 and pool.lengths[:, -1].tolist() == [20, 60]


def test_more_pairs_have_their_series_and_none_is_held_out() -> None:
    found = [*islice(taylor_pairs.pairs(4, frozenset()), 60)]
    assert found == [*islice(taylor_pairs.pairs(4, frozenset()), 60)] and len({text for text, _ in found}) == 60
    assert all(taylor_pairs.with_series(text) == (text, series) for text, series in found)
    key = taylor_pairs.Renaming(taylor_pairs.SYMBOLS).key
    out = frozenset(key(text) for text, _ in found[:20])
    others = [*islice(taylor_pairs.pairs(4, out), 20)]
    assert not out & {key(text) for text, _ in others}
