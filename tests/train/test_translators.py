"""The script that trains translators on a GPU, with its own code on the CPU: words and pieces, passes, files."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bench import train_translators as translators
from bench.train_translators import EOS, PAD, SPECIALS, Passes, Recipe, Training, answered, cut_batches, cut_rows
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer

CPU = torch.device("cpu")
SIZES = {"d_model": 16, "d_ff": 24, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 2}
PAIRS = [
    ("the dog runs .", "il cane corre ."),
    ("the cat sleeps .", "il gatto dorme ."),
    ("dogs sleep , cats run .", "i cani dormono , i gatti corrono ."),
    ("the cats sleep .", "i gatti dormono ."),
]
READ: dict[str, Any] = {
    "train": [[pair[side].split() for pair in PAIRS] for side in (0, 1)],
    "validation": [["the dog sleeps quietly .".split()], ["il cane dorme nero .".split()]],
    "vocab": [[*SPECIALS, *dict.fromkeys(word for pair in PAIRS for word in pair[side].split())] for side in (0, 1)],
}
RECIPES = {"words": Recipe(task="t"), "pieces": Recipe(task="t", pieces=(40, 40), cut=0.3)}


@pytest.fixture(params=["words", "pieces"])
def prepared(request: pytest.FixtureRequest) -> dict[str, Any]:
    found = translators.prepare(READ, request.param, RECIPES[request.param])
    found["config"] |= SIZES
    return found


def test_a_sentence_is_whole_however_its_words_are_cut(prepared: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(1)
    for rows, table, names, joined, texts in zip(
        prepared["rows"],
        prepared["tables"],
        prepared["tokens"],
        prepared["joined"],
        zip(*PAIRS, strict=True),
        strict=True,
    ):
        for drawn in (None, generator):
            ids, lengths = cut_rows(rows, table, drawn)
            assert [translators.text_of(row, names, joined) for row in ids.tolist()] == list(texts)
            assert lengths.tolist() == (ids != PAD).sum(1).tolist()
            assert all(row[length - 1] == EOS for row, length in zip(ids, lengths, strict=True))
    if prepared["joined"][0] == "":
        draws = {
            tuple(cut_rows(prepared["rows"][0], prepared["tables"][0], generator)[0][2].tolist()) for _ in range(9)
        }
        assert len(draws) > 1


def test_pieces_leave_no_word_of_known_letters_unknown(prepared: dict[str, Any]) -> None:
    ids, _ = cut_rows(prepared["validation"][1], prepared["tables"][1], None)
    text = translators.text_of(ids[0].tolist(), prepared["tokens"][1], prepared["joined"][1])
    assert text == ("il cane dorme <unk> ." if prepared["name"] == "words" else "il cane dorme nero .")


def test_merges_are_made_by_rank_and_left_out_at_random() -> None:
    ranks = {("a", "b"): 0, ("b", "c"): 1, ("ab", "c"): 2}
    assert translators.cut_word("abc", ranks, 0.0, random.Random(1)) == ["abc"]
    assert translators.cut_word("cbca", ranks, 0.0, random.Random(1)) == ["c", "bc", "a"]
    source = random.Random(1)
    found = {tuple(translators.cut_word("abc", ranks, 0.5, source)) for _ in range(60)}
    assert found == {("abc",), ("ab", "c"), ("a", "bc"), ("a", "b", "c")}


def test_batches_hold_every_pair_once_and_no_more_tokens_than_asked_for() -> None:
    lengths = torch.randint(3, 12, (50,)), torch.randint(3, 12, (50,))
    for generator in (None, torch.Generator().manual_seed(1)):
        batches = cut_batches(lengths, 60, generator)
        assert sorted(i for each in batches for i in each.tolist()) == [*range(50)]
        for each in batches:
            assert len(each) == 1 or len(each) * sum(int(side[each].max()) for side in lengths) <= 60


def test_the_passes_for_a_gpu_are_those_of_the_model(prepared: dict[str, Any]) -> None:
    torch.manual_seed(3)
    model = Transformer(ModelConfig.from_dict(prepared["config"])).eval()
    for p in model.parameters():
        if p.dim() == 1:
            torch.nn.init.normal_(p, mean=0.5, std=0.3)
    src, tgt = (
        cut_rows(rows, table, None)[0].long() for rows, table in zip(prepared["rows"], prepared["tables"], strict=True)
    )
    passes, keep = Passes(model), translators.kept(src)
    assert keep is not None  # there is padding
    with torch.no_grad():
        found, wanted = passes.logits(passes.memory(src, keep), keep, tgt[:, :-1]), model(src, tgt[:, :-1])
        counted = tgt[:, :-1] != PAD
        assert (found - wanted)[counted].abs().max() < 1e-5 * wanted.abs().max()
        written = answered(passes, src)
        again = model(src, written[:, :-1])
    again[..., [translators.BOS, PAD]] = -torch.inf
    there = written[:, 1:] != PAD
    assert (again.argmax(-1) == written[:, 1:])[there].all()


def test_a_model_of_another_family_is_refused_by_what_differs(prepared: dict[str, Any]) -> None:
    config = replace(ModelConfig.from_dict(prepared["config"]), activation="gelu", positions="learned")
    with pytest.raises(ValueError, match=r"activation, positions$"):
        Passes(Transformer(config))


def test_a_recipe_learns_keeps_its_best_and_goes_on(
    prepared: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [5]
    monkeypatch.setattr(Training, "over", lambda self, *_: self.step == steps[0])
    first = Training(prepared, tmp_path / "one", CPU)
    first.run(1000.0, 1e9)
    second = Training(prepared, tmp_path / "one", CPU)
    assert second.step == 5 and all(map(torch.equal, second.own, first.own))
    steps[0] = 9
    second.run(1000.0, 1e9)
    measured = json.loads((tmp_path / "one" / "measured.json").read_text())
    assert measured["last"]["step"] == 9 and measured["device"] == "cpu" and measured["training_pairs"] == len(PAIRS)
    assert measured["last"]["validation_loss"] < second.history[0]["validation_loss"]
    rows = (tmp_path / "one" / "history.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["step", "5", "9"]
    weights = load_file(tmp_path / "one" / "weights.safetensors")
    assert weights.keys() == first.model.state_dict().keys()
    assert {value.dtype for value in weights.values()} == {torch.float16}
