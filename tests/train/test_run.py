"""A whole training: what it writes, and that a broken one goes on as if nothing had happened."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from backwards import backwards_codecs, backwards_pairs, backwards_task, write_data
from builders import tiny_checkpoint
from lightning.pytorch import Callback
from with_settings import train_with

from viz_transformer.checkpoint import load
from viz_transformer.measuring.answering import Answer
from viz_transformer.measuring.evaluation import evaluate
from viz_transformer.running.decoding import decode
from viz_transformer.text import Characters
from viz_transformer.train import checkpoint_callback
from viz_transformer.train import run as training
from viz_transformer.train.checkpoint_callback import last_path, mean_loss
from viz_transformer.train.module import rate_factor
from viz_transformer.train.tasks.task import Plan, evenly

STEPS = 24
METRICS = (
    "pairs exact_match exact_match_low exact_match_high exact_match_unseen token_accuracy loss perplexity bleu"
    " bleu_signature chrf sentences_per_second"
).split()


class Stopped(Exception):
    """The power cut of these tests."""


class Losses(Callback):
    """The training loss of every step; stops without warning after step `stop`."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop = stop
        self.values: dict[int, float] = {}

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.values[trainer.global_step] = float(outputs["loss"])
        if trainer.global_step == self.stop:
            raise Stopped


def run(data: Path, out: Path, *, stop: int | None = None, resume: bool = False, **plan: Any) -> dict[int, float]:
    """Train for STEPS steps (or until the power cut); returns the loss of each step."""
    losses = Losses(stop)
    options: dict[str, Any] = {"data": data, "out": out, "steps": STEPS, "threads": 1, "device": "cpu", "quiet": True}
    try:
        train_with(backwards_task(**plan), resume=resume, callbacks=[losses], **options)
    except Stopped:
        assert not out.exists()
    return losses.values


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, float]]:
    """The folder of a whole training, made once and not changed, and the loss of each step."""
    place = tmp_path_factory.mktemp("trained")
    return place / "out", run(write_data(place / "data"), place / "out")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a training that was broken after step 8 left beside its folder, made once."""
    place = tmp_path_factory.mktemp("broken")
    run(write_data(place / "data"), place / "out", stop=8)
    return place / "out"


def copied(out: Path, to: Path) -> Path:
    """A copy of a training's folder, if it came so far, and of what lies beside it, to go on with."""
    for made in (out, out.with_name("out.training")):
        if made.exists():
            shutil.copytree(made, to.with_name(to.name + made.name.removeprefix("out")))
    return to


def untimed(folder: Path) -> list[dict[str, float | None]]:
    """The history without the one column that no two trainings have in common; nan as None, which equals itself."""
    rows = load(folder).history()
    assert all(row.pop("seconds") >= 0 for row in rows)
    return [{name: None if math.isnan(value) else value for name, value in row.items()} for row in rows]


@pytest.mark.parametrize(
    "plan",
    [
        {"optimizer": "adamw"},
        {"optimizer": "muon"},
        pytest.param({"optimizer": "muon-float32"}, marks=pytest.mark.slow),  # four trainings each
        pytest.param({"consistency": 5.0, "averaging": 0.8}, marks=pytest.mark.slow),
    ],
)
def test_resuming_gives_the_curve_of_an_unbroken_run(data: Path, tmp_path: Path, plan: dict[str, Any]):
    """Broken twice in the middle of things: between saves (every 5 steps), and in the second epoch of the data."""
    whole = run(data, tmp_path / "whole", **plan)
    first = run(data, tmp_path / "broken", stop=8, **plan)
    second = run(data, tmp_path / "broken", stop=22, resume=True, **plan)
    third = run(data, tmp_path / "broken", resume=True, **plan)
    assert (min(second), min(third)) == (6, 21)  # from the last save
    for part in (first, second, third):
        assert part == {step: whole[step] for step in part}
    assert set(first) | set(second) | set(third) == set(whole) == set(range(1, STEPS + 1))
    for name in ("model.safetensors", "snapshots/step-12.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "broken")
    states = [torch.load(last_path(tmp_path / f"{name}.training"), weights_only=True) for name in ("whole", "broken")]
    assert states[0]["state_dict"].keys() == states[1]["state_dict"].keys()
    for name, value in states[0]["state_dict"].items():
        assert torch.equal(value, states[1]["state_dict"][name])


def test_the_seconds_of_a_training_are_those_in_which_it_ran(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By a clock on which each step takes 10 seconds; the training is broken after step 8, saved after step 5."""

    class Clock(Callback):
        now = 0.0

        def on_train_batch_start(self, *_: Any) -> None:
            self.now += 10

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            if trainer.global_step == 8 and self.now == 80:
                raise Stopped

    clock = Clock()
    monkeypatch.setattr(checkpoint_callback, "time", SimpleNamespace(monotonic=lambda: clock.now))
    options: dict[str, Any] = {"data": data, "out": tmp_path / "out", "steps": STEPS, "device": "cpu", "quiet": True}
    with pytest.raises(Stopped):
        train_with(backwards_task(), callbacks=[clock], **options)
    clock.now += 3600  # the machine was off
    train_with(backwards_task(), callbacks=[clock], resume=True, **options)
    assert all(row["seconds"] == 10 * row["step"] for row in load(tmp_path / "out").history())


def test_a_training_that_began_without_counting_seconds_goes_on_without(data: Path, tmp_path: Path, broken: Path):
    copied(broken, tmp_path / "out")
    state = torch.load(last_path(tmp_path / "out.training"), weights_only=True)
    ((name, kept),) = [(name, kept) for name, kept in state["callbacks"].items() if "history" in kept]
    del state["callbacks"][name]["seconds"]
    for row in kept["history"]:
        del row["seconds"]
    torch.save(state, last_path(tmp_path / "out.training"))
    run(data, tmp_path / "out", resume=True)
    history = load(tmp_path / "out").history()
    assert history[-1]["step"] == STEPS and all(math.isnan(row["seconds"]) for row in history)


def test_the_checkpoint_folder_says_what_was_done(data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    run(data, tmp_path / "out")
    assert capfd.readouterr().out == ""  # above all no advertisement
    ckpt = load(tmp_path / "out")
    assert ckpt.snapshots() == (0, 1, 3, 12)
    assert ckpt.examples() == evenly(backwards_pairs(2, 30)[:20], 5)
    history = ckpt.history()
    assert [row["step"] for row in history] == [0, 1, 2, 3, 4, 8, 12, 16, 20, 24]
    assert history[0]["learning_rate"] == 0 and history[-1]["validation_loss"] < history[0]["validation_loss"]
    card = ckpt.card
    assert (card["task"], card["seed"], card["data_licence"]) == ("backwards", 1, "CC0")
    assert card["training_command"] == f"viz-transformer train backwards --steps {STEPS} --device cpu"
    seen = {source for source, _ in backwards_pairs(0, 300)}
    assert card["overlap"]["with_source_in_train"] == sum(s in seen for s, _ in backwards_pairs(2, 30)[:20]) > 0
    longest = max(len(source) for source, _ in backwards_pairs(0, 300))
    assert card["data_sizes"] == {"train": 300, "validation": 40, "test": 20}
    assert card["causal"] is True
    assert card["losses_on"] == {"train": "20 of 300 pairs", "validation": "20 of 40 pairs"}
    assert card["training_lengths"] == {"source": longest + 2, "target": longest + 1}  # start and end; all but the last
    (other,) = card["overlap"]["others"]
    assert other == {"split": "dev", "test_pairs": 40, "with_source_in_train": other["with_source_in_train"]}
    assert other["with_source_in_train"] == sum(s in seen for s, _ in backwards_pairs(1, 40)) > 0
    metrics, second = card["metrics"]
    assert metrics["command"] == "viz-transformer evaluate backwards" and second["bleu_signature"] is not None
    assert second["command"] == ("viz-transformer evaluate backwards --data backwards/dev.tsv --beam 2 --bleu tokens")
    assert second["pairs"] == 40 and second["split"] == "dev"
    assert list(metrics) == ["split", "command", *METRICS] and metrics["pairs"] == 20
    # no other field may be taken for a result
    assert not {"loss", "bleu", "exact_match"} & {key for key in json.loads(json.dumps(card)) if key != "metrics"}


def test_metrics_are_those_of_the_stored_weights(trained: tuple[Path, dict[int, float]]):
    ckpt = load(trained[0])
    seen = {source for source, _ in backwards_pairs(0, 300)}
    again = evaluate(ckpt, backwards_pairs(2, 30)[:20], seen_sources=seen)
    stated = {key: value for key, value in ckpt.card["metrics"][0].items() if key in METRICS}
    for measured in (again, stated):
        measured.pop("sentences_per_second")
    assert again == stated
    for value in ckpt.model.state_dict().values():
        assert torch.equal(value, value.half().float())


def test_the_best_weights_are_exported_not_the_last(data: Path, tmp_path: Path):
    """The weights are ruined after step 21: those of the smallest validation loss of the history are stored."""

    class Ruin(Callback):
        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
            if trainer.global_step == 21:
                for value in pl_module.model.parameters():
                    value.data *= 5

    options: dict[str, Any] = {"steps": STEPS, "threads": 1, "device": "cpu", "quiet": True}
    train_with(backwards_task(), data=data, out=tmp_path / "out", callbacks=[Ruin()], **options)
    ckpt = load(tmp_path / "out")
    losses = {int(row["step"]): row["validation_loss"] for row in ckpt.history()}
    best = min(losses, key=losses.__getitem__)
    assert ckpt.card["exported_step"] == best < STEPS
    from viz_transformer.train.data import EncodedPairs

    sample = EncodedPairs(evenly(backwards_pairs(1, 40), 20), backwards_codecs(), (12, 12), "dev")
    assert mean_loss(ckpt.model, sample.batches(120)) == pytest.approx(losses[best], rel=1e-3)  # float16


def test_training_learns(trained: tuple[Path, dict[int, float]]):
    losses = trained[1]
    assert losses[STEPS] < losses[1] - 0.3


def test_a_training_leaves_the_number_of_threads_as_it_was(data: Path, tmp_path: Path):
    torch.set_num_threads(3)
    try:
        train_with(backwards_task(), data=data, out=tmp_path / "model", steps=1, threads=2, device="cpu", quiet=True)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(1)


def test_an_unfinished_training_is_not_overwritten(data: Path, tmp_path: Path, broken: Path):
    copied(broken, tmp_path / "out")
    with pytest.raises(ValueError, match=r"out\.training holds an unfinished training: continue it with --resume"):
        run(data, tmp_path / "out")


def test_a_finished_training_is_only_exported_again_by_resume(
    data: Path, tmp_path: Path, trained: tuple[Path, dict[int, float]]
):
    copied(trained[0], tmp_path / "out")
    before = (tmp_path / "out" / "model.safetensors").read_bytes()
    assert run(data, tmp_path / "out", resume=True) == {}
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == before
    assert len(run(data, tmp_path / "out")) == STEPS  # and without it trained anew


def test_a_training_goes_on_after_config_and_plan_have_got_new_settings(data: Path, tmp_path: Path, broken: Path):
    copied(broken, tmp_path / "out")
    note = tmp_path / "out.training" / "training.json"
    saved = json.loads(note.read_text(encoding="utf-8"))
    assert saved["model"].pop("merge") == "concatenate" and saved["plan"].pop("averaging") == 0.0
    note.write_text(json.dumps(saved), encoding="utf-8")
    assert max(run(data, tmp_path / "out", resume=True)) == STEPS


def test_resume_refuses_what_it_cannot_continue(data: Path, tmp_path: Path, broken: Path):
    with pytest.raises(ValueError, match=r"there is nothing to resume in .*start the training without --resume"):
        run(data, tmp_path / "out", resume=True)
    copied(broken, tmp_path / "out")
    with pytest.raises(ValueError, match="has another plan: resume it with the options"):
        run(data, tmp_path / "out", resume=True, peak_rate=1.0)
    with pytest.raises(ValueError, match="has another plan: resume it with the options"):
        run(data, tmp_path / "out", resume=True, optimizer="muon")
    with pytest.raises(ValueError, match="has 5 steps already: resume it with more than that"):
        train_with(backwards_task(), data=data, out=tmp_path / "out", steps=4, resume=True, quiet=True)
    note = tmp_path / "out.training" / "training.json"
    for damaged, said in (
        ("{", "is not valid JSON"),
        ("{}", "stages=None has to be a list of the starts of a training"),
        ('{"stages": [{"batches": "x", "command": ""}]}', r"stages\[0\].batches='x' has to be a whole number"),
    ):
        note.write_text(damaged, encoding="utf-8")
        with pytest.raises(ValueError, match=rf"training\.json:? .*{said}"):
            run(data, tmp_path / "out", resume=True)


def test_weights_may_be_chosen_by_what_they_have_exactly_right(data: Path, tmp_path: Path, monkeypatch):
    """The lowest loss is pretended to be at step 1, where hardly anything is right yet."""
    monkeypatch.setattr(checkpoint_callback, "mean_loss", lambda *_: next(losses))
    losses = iter([2.0, 2.0, 1.0, 1.0, *[3.0] * 99])  # of training and validation, in turn
    options: dict[str, Any] = {"data": data, "threads": 1, "device": "cpu", "quiet": True, "epochs": 6}
    train_with(
        backwards_task(best_by="exact", smoothing=0.0, row_every=100, first_rows=(0, 1), peak_rate=2e-2),
        out=tmp_path / "exact",
        **options,
    )
    card = load(tmp_path / "exact").card
    first, last = card["chosen_by"]["of"]
    assert (first["step"], last["step"]) == (1, card["steps"]) and card["exported_step"] == card["steps"]
    assert last["right"] > first["right"] and card["chosen_by"]["validation_pairs"] == 20
    model, pairs = load(tmp_path / "exact"), evenly(backwards_pairs(1, 40), 20)
    assert last["right"] == sum(decode(model, source).text == target for source, target in pairs)
    losses = iter([2.0, 2.0, 1.0, 1.0, *[3.0] * 99])
    train_with(
        backwards_task(smoothing=0.0, row_every=100, first_rows=(0, 1)),
        out=tmp_path / "loss",
        **{**options, "epochs": 1},
    )
    card = load(tmp_path / "loss").card
    assert card["exported_step"] == 1 and "chosen_by" not in card


def test_a_training_resumed_with_another_length_ends_there_and_its_card_states_both(
    data: Path, tmp_path: Path, broken: Path
):
    out = copied(broken, tmp_path / "out")
    options: dict[str, Any] = {"data": data, "out": out, "threads": 1, "device": "cpu", "quiet": True, "resume": True}
    train_with(backwards_task(), steps=16, **options)
    ckpt = load(out)
    rows = {int(row["step"]): row["learning_rate"] for row in ckpt.history()}
    assert max(rows) == 16 and ckpt.card["steps"] == 16
    peak = backwards_task().plan.peak_rate
    assert rows[4] == pytest.approx(peak * rate_factor(3, warmup=5, total=STEPS), rel=1e-4)
    assert rows[16] == pytest.approx(peak * rate_factor(15, warmup=5, total=16), rel=1e-4)
    first, second = ckpt.card["training_stages"]
    assert (first["from_step"], first["batches"], second["from_step"], second["batches"]) == (0, STEPS, 5, 16)
    assert ckpt.card["training_command"] == f"{first['command']} && {second['command']}"
    assert second["command"].endswith("--steps 16 --device cpu --resume")
    before = (out / "model.safetensors").read_bytes()
    train_with(backwards_task(), **options)  # without a length it is the last one: nothing is left to do
    assert (out / "model.safetensors").read_bytes() == before


def test_a_training_starts_from_the_weights_of_a_checkpoint_and_its_card_names_it(
    data: Path, tmp_path: Path, trained: tuple[Path, dict[int, float]]
):
    copied(trained[0], tmp_path / "first")
    first, out = load(tmp_path / "first"), tmp_path / "second"
    options: dict[str, Any] = {"data": data, "threads": 1, "device": "cpu", "quiet": True}
    train_with(backwards_task(), out=out, start_from=tmp_path / "first", peak_rate=1e-4, steps=3, **options)
    second = load(out)
    assert second.card["started_from"] == {"name": "first", "weights_sha256": first.weights_sha256}
    assert second.card["training_command"].endswith(
        "train backwards --start-from first --peak-rate 0.0001 --steps 3 --device cpu"
    )
    before, after = first.history(), second.history()
    assert after[0]["validation_loss"] < 0.9 * before[0]["validation_loss"]
    stored = {row["step"]: row["validation_loss"] for row in before}[first.card["exported_step"]]
    assert after[0]["validation_loss"] == pytest.approx(stored, rel=1e-2)  # of weights that were rounded to float16
    assert max(row["learning_rate"] for row in after if row["step"]) <= 1e-4
    with pytest.raises(ValueError, match="give --resume or --start-from"):
        train_with(backwards_task(), out=out, start_from=tmp_path / "first", resume=True, **options)
    with pytest.raises(
        ValueError, match=r"copy has another .*d_model, .*, source vocabulary, target vocabulary than the"
    ):
        train_with(backwards_task(), out=tmp_path / "third", start_from="copy", **options)
    assert not (tmp_path / "third.training").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"peak_rate": 0.0}, "peak_rate=0.0 has to be a number above 0"),
        ({"peak_rate": math.nan}, "peak_rate=nan has to be a number above 0"),
        ({"steps": 0}, "steps=0 has to be a whole number of at least 1"),
        ({"steps": 3, "epochs": 1}, "give epochs or steps, not both"),
        ({"device": "tpu"}, "device='tpu' is not known; choose 'auto' or 'cpu' or 'cuda'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], sentence: str, data: Path, tmp_path: Path):
    with pytest.raises(ValueError, match=sentence):
        train_with(backwards_task(), data=data, out=tmp_path / "out", quiet=True, **options)


def test_bad_training_data_are_refused_with_the_line(data: Path, tmp_path: Path):
    file = data / "backwards" / "dev.tsv"
    file.write_text("abc\tcba\nabc cba\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"dev\.tsv, line 2 has 1 column, each line must be source<TAB>target"):
        train_with(backwards_task(), data=data, out=tmp_path / "out", quiet=True)
    file.unlink()
    with pytest.raises(ValueError, match=r"dev\.tsv is missing: put the data set's file backwards/dev\.tsv into"):
        train_with(backwards_task(), data=data, out=tmp_path / "out", quiet=True)
    assert not (tmp_path / "out.training").exists()


def test_a_writer_of_lower_case_is_right_whatever_the_case_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `evaluate` counts: else no answer of such a model would be right, and its weights chosen by nothing."""
    ckpt = tiny_checkpoint()
    lower = replace(ckpt.own_codec("target"), tokenizer=Characters(lower=True))
    answers = [Answer("yz", ("y", "z"), complete=True, ids=(1,)), Answer("u", ("u",), complete=True, ids=(1,))]
    monkeypatch.setattr(training, "answers_of", lambda *_: (answers, []))
    material = SimpleNamespace(
        model=ckpt.config, codecs=(ckpt.source_codec, lower), held_out=[("ab", "Yz"), ("b", "W")]
    )
    assert training._right(material, ckpt.model.state_dict(), material.held_out) == 1


@pytest.mark.parametrize("optimizer", ["adamw", pytest.param("muon-float32", marks=pytest.mark.slow)])
def test_on_a_gpu_it_learns_in_bfloat16_beside_weights_in_float32(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str
):
    """The plan of a GPU, followed by the CPU; a saved training goes on wherever the plan is the same."""
    seen: list[Any] = []

    class Look(Callback):
        def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
            seen.append((trainer.precision, module.plan.optimizer, {p.dtype for p in module.model.parameters()}))

    cpu = run(data, tmp_path / "cpu", optimizer=optimizer)
    own = Plan.on
    monkeypatch.setattr(Plan, "on", lambda self, device: own(self, "cuda"))
    gpu = run(data, tmp_path / "gpu", stop=10, optimizer=optimizer)
    gpu |= run(data, tmp_path / "gpu", resume=True, optimizer=optimizer)
    train_with(
        backwards_task(optimizer=optimizer), data=data, out=tmp_path / "few", steps=2, callbacks=[Look()], quiet=True
    )
    used = {"adamw": "adamw", "muon-float32": "muon"}[optimizer]
    assert seen == [("bf16-mixed", used, {torch.float32})] * 2
    assert cpu.keys() == gpu.keys() and cpu != gpu
    assert gpu[STEPS] == pytest.approx(cpu[STEPS], rel=0.05)  # bfloat16 rounds to 0.4 %, at each of 24 steps
    monkeypatch.undo()
    assert own(Plan(epochs=1, batch_tokens=1, peak_rate=1, warmup=1), "cpu").precision == "32-true"
