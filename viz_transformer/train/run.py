"""One training from data to checkpoint folder, with resuming."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import json
import logging
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.utilities import rank_zero_only
from msgspec import Meta
from torch import Tensor

from viz_transformer import declared
from viz_transformer.checkpoint import Checkpoint, load, save_checkpoint
from viz_transformer.checkpoint.files import read_json_object
from viz_transformer.checkpoint.writing import OutputError, write_file
from viz_transformer.measuring.answering import answers_of
from viz_transformer.measuring.data import Pair
from viz_transformer.measuring.evaluation import evaluate_checkpoint, exact_matches, writes_lower_case
from viz_transformer.model.causality import is_causal
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.train.checkpoint_callback import (
    Keeper,
    Row,
    WholeFiles,
    history_csv,
    last_path,
    last_step,
    list_snapshots,
    snapshot_path,
)
from viz_transformer.train.data import TrainingOrder
from viz_transformer.train.lock import LOCK, only_training
from viz_transformer.train.module import TrainingModule
from viz_transformer.train.processes import ASKED, LOG, Asked
from viz_transformer.train.progress import BEGINNING, EXPORTED
from viz_transformer.train.stopping import Stop
from viz_transformer.train.tasks import find_task
from viz_transformer.train.tasks.own import own_task
from viz_transformer.train.tasks.task import Material, Plan, Task
from viz_transformer.train.user_data import OwnData, TrainingSettings

DEFAULT_SETTINGS = TrainingSettings()


def train(
    task: str | Task | OwnData,
    settings: TrainingSettings = DEFAULT_SETTINGS,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    quiet: bool = False,
    stop: Stop | None = None,
) -> Path:
    """Train a task, or on one's own data, and return the checkpoint folder.

    out: default `runs/<task>`, or `runs/<file>` for own data, whose proposed settings go to stderr. State for resuming
    stays in `<out>.training`.
    stop: passed by a caller that already handles signals. SIGINT and SIGTERM save the current step and raise Stopped.
    Raises ValueError for unknown tasks, missing or bad data, a `resume` or `start_from` that does not fit, and while
    another training runs in `out`; OutputError if the disk is full, keeping the last saved step.
    """
    resume, epochs, steps = settings.resume, settings.epochs, settings.steps
    with contextlib.ExitStack() as held:
        stop = stop or held.enter_context(Stop(resumes=resume))
        accelerator = chosen_device(settings.device)
        asked = None
        if isinstance(task, OwnData):
            asked = Asked(own=task, epochs=epochs, steps=steps, peak_rate=settings.peak_rate, device=settings.device)
            out = out if out is not None else Path("runs") / Path(task.pairs).name.split(".")[0]
            proposal = own_task(task, out=out, epochs=epochs, steps=steps)
            task, data = proposal.task, proposal.folder
            if not quiet and getattr(rank_zero_only, "rank", 0) == 0:
                print("\n".join(proposal.lines), file=sys.stderr, flush=True)
        task = find_task(task) if isinstance(task, str) else task
        if settings.peak_rate is not None:
            task = dataclasses.replace(task, plan=dataclasses.replace(task.plan, peak_rate=settings.peak_rate))
        out = Path(out) if out is not None else Path("runs") / task.name
        if out.exists() and not out.is_dir():
            raise ValueError(f"{out} is a file: choose another folder for the checkpoint with --out")
        state = out.with_name(out.name + ".training")
        if resume:
            if settings.start_from is not None:
                raise ValueError("a saved training goes on from its own weights: give --resume or --start-from")
            _note(state)
            stop.saved, stop.resumes = last_step(state) or None, False
        first = load(settings.start_from) if settings.start_from is not None else None
        material = task.prepare(data)
        if first is not None:
            _check_start(first, material)
        if accelerator == "cpu":
            held.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(settings.threads or task.plan.threads or min(os.cpu_count() or 1, 8))

        order = TrainingOrder(material.train, tokens=task.plan.batch_tokens, seed=task.plan.seed, vary=material.vary)
        samples = [sample.batches(task.plan.batch_tokens) for sample in material.samples]
        length = training_length(order, task.plan, epochs=epochs, steps=steps)
        if resume and epochs is None and steps is None:
            length = _note(state)["stages"][-1]["batches"]
        kept = list_snapshots(state) if resume and task.plan.spread else []
        task = dataclasses.replace(task, plan=task.plan.with_snapshots(length, kept))
        stop.check()
        held.enter_context(_full_disk_named(state))
        if getattr(rank_zero_only, "rank", 0) == 0:  # before Lightning starts other processes
            held.enter_context(only_training(state))
            for half in state.rglob(".*.new"):  # left by a training killed while writing
                half.unlink()
            stage = {"batches": length, "command": _command(task, settings)}
            if first is not None:
                stage["started_from"] = {"name": first.name, "weights_sha256": first.weights_sha256}
            _prepare_state(state, _identity(task, material), stage, resume=resume)
        else:
            stop.silent = True
        torch.manual_seed(task.plan.seed)
        model = Transformer(material.model)
        if first is not None:
            model.load_state_dict(first.model.state_dict())
        if asked is not None and getattr(rank_zero_only, "rank", 0) == 0:
            asked.write(state)
            if not (state / BEGINNING).is_dir():
                _show_beginning(task, material, model, state)
        watched = material.held_out[: task.plan.watched]
        keeper = Keeper(state, task.plan, stop, *samples)
        if watched:
            keeper.count, keeper.counted = partial(_right, material, pairs=watched), len(watched)
        keeper.reporter.phase("preparing")
        plan = task.plan.on(accelerator)
        held.enter_context(_quiet_lightning())
        trainer = Trainer(
            accelerator={"cuda": "gpu"}.get(accelerator, accelerator),
            devices=1 if accelerator == "cpu" and settings.devices == "auto" else settings.devices,
            num_nodes=settings.nodes,
            strategy=settings.strategy,
            plugins=[WholeFiles()],
            precision=plan.precision,
            max_epochs=1,  # one long epoch: the order of the batches knows the real ones
            callbacks=[keeper, *callbacks, *_progress_bar(quiet)],
            enable_progress_bar=not quiet,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            gradient_clip_val=plan.clip,
        )
        material.train.hold_on(trainer.strategy.root_device)
        module = TrainingModule(model, order, plan, total=max(1, length // trainer.world_size))
        saved = last_path(state) if resume and last_path(state).is_file() else None
        trainer.fit(module, ckpt_path=saved, weights_only=True)
        stop.waits, stop.place = False, "before the checkpoint was complete"
        stop.check()
        if trainer.is_global_zero:
            keeper.reporter.phase("measuring")
            best = _best(task, material, keeper, module)
            _export(task, material, out, state, best, data, quiet=quiet)
        trainer.strategy.barrier()
    return out


def _check_start(first: Checkpoint, material: Material) -> None:
    """Raise ValueError unless the checkpoint has the task's model and vocabularies."""
    wanted, found = material.model.to_dict(), first.config.to_dict()
    other = [name for name in wanted if name not in _MAY_CHANGE and wanted[name] != found.get(name)]
    codecs = (first.source_codec, first.target_codec)
    for side, codec, ours in zip(("source", "target"), codecs, material.codecs, strict=True):
        if (codec and codec.names) != (ours and ours.names):
            other.append(f"{side} vocabulary")
    if other:
        raise ValueError(
            f"{first.name} has another {', '.join(other)} than the task: --start-from needs a checkpoint of its model"
        )


def chosen_device(device: str) -> str:
    """ "cpu" or "cuda". Raises ValueError for anything else, and for a missing GPU."""
    declared.one_of("device", device, ("auto", "cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here: choose --device cpu, or install a CUDA build of torch")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return device


def training_length(order: TrainingOrder, plan: Plan, *, epochs: int | None, steps: int | None) -> int:
    """Number of batches: `steps`, else from `epochs`, else from the plan."""
    if epochs is not None and steps is not None:
        raise ValueError("give epochs or steps, not both")
    for name, value in (("epochs", epochs), ("steps", steps)):
        declared.within(name, value, declared.Count | None)
    return steps if steps is not None else order.steps(epochs if epochs is not None else plan.epochs)


def _identity(task: Task, material: Material) -> dict[str, Any]:
    """What must be equal for a saved training to be resumed."""
    plan = {name: value for name, value in dataclasses.asdict(task.plan).items() if name not in _FREE}
    identity = {"task": task.name, "model": material.model.to_dict(), "plan": plan, "pairs": material.counts}
    plain: dict[str, Any] = json.loads(json.dumps(identity))
    return plain


@contextlib.contextmanager
def _full_disk_named(state: Path) -> Iterator[None]:
    """Name a full disk as such in errors, with what is saved."""
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error, OutputError) else error
        if not isinstance(cause, OSError) or cause.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        step = last_step(state)
        saved = f"the last saved step is {step}" if step else "nothing was saved"
        go_on = "continue with --resume" if step else "start again"
        raise OutputError(f"the disk of {state} is full, {saved}: make room, then {go_on}") from error


NOTE = "training.json"
# May differ from the model to start from: only affects training.
_MAY_CHANGE = {"dropout", "embedding_dropout", "attention_dropout", "ffn_dropout", "decoder_ffn_dropout"}
# May differ without changing the weights.
_FREE = {"best_by", "epochs", "save_every", "snapshots", "spread", "threads", "first_rows", "row_every", "watched"}
_DEFAULTS = {each.name: each.default for each in dataclasses.fields(Plan) if each.default is not dataclasses.MISSING}


def _note(state: Path) -> dict[str, Any]:
    """Notes on a saved training. Raises ValueError if there are none."""
    note = state / NOTE
    if not note.is_file():
        raise ValueError(f"there is nothing to resume in {state}: start the training without --resume")
    found = read_json_object(note)
    with declared.prefixed(f"{note}: "):
        declared.within("stages", found.get("stages"), _Stages)
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Stage:
    """One start of a training: how many steps it was to have in all, from which on, and the command."""

    batches: declared.CountOrZero
    command: str
    from_step: declared.CountOrZero = 0
    started_from: dict[str, str] | None = None


_Stages = Annotated[list[_Stage], Meta(min_length=1, description="a list of the starts of a training, at least one")]


def _prepare_state(state: Path, identity: dict[str, Any], stage: dict[str, Any], *, resume: bool) -> None:
    """Make the state folder, or check that the existing one may be resumed or discarded; note the new length."""
    note = state / NOTE
    if resume:
        saved = _note(state)
        with contextlib.suppress(KeyError, TypeError, ValueError):  # an older note lacks settings: use the defaults
            saved["model"] = ModelConfig.from_dict(saved["model"]).to_dict()
            saved["plan"] = {name: _DEFAULTS[name] for name in identity["plan"] if name in _DEFAULTS} | saved["plan"]
        if changed := [name for name in identity if saved.get(name) != identity[name]]:
            raise ValueError(
                f"the training in {state} has another {changed[0]}: resume it with the options, data and program"
                " that it was started with, or start anew in another folder"
            )
        stages = saved["stages"]
        if stage["batches"] != stages[-1]["batches"]:
            done = last_step(state)
            if done >= stage["batches"]:
                raise ValueError(f"the training in {state} has {done} steps already: resume it with more than that")
            new = {"from_step": done, **stage, "command": f"{stage['command']} --resume"}
            write_file(note, json.dumps(saved | {"stages": [*stages, new]}, indent=1).encode())
        return
    if last_path(state).is_file() and not (state / EXPORTED).is_file():
        raise ValueError(
            f"{state} holds an unfinished training: continue it with --resume, or remove that folder first"
        )
    _clear(state)
    write_file(note, json.dumps({**identity, "stages": [{"from_step": 0, **stage}]}, indent=1).encode())


def _clear(state: Path) -> None:
    """Empty the folder, except the lock and its starter's files.

    What could be resumed goes first: the rest is useless without it.
    """
    last_path(state).unlink(missing_ok=True)
    for path in state.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in (LOCK, LOG, ASKED):
            path.unlink()


@dataclass(frozen=True)
class _Best:
    """The weights that are kept, of which step, what the card says about the choice, and the curve."""

    step: int
    weights: Mapping[str, Tensor]
    choice: dict[str, Any]
    history: Sequence[Row]


def _best(task: Task, material: Material, keeper: Keeper, module: TrainingModule) -> _Best:
    """Weights with the lowest validation loss, or of the last step if the plan prefers more exact matches."""
    steps = {keeper.best_step: keeper.best_weights}
    last = int(keeper.history[-1]["step"])
    if task.plan.best_by == "loss" or last == keeper.best_step or not material.held_out:
        return _Best(keeper.best_step, keeper.best_weights, {}, keeper.history)
    steps[last] = {name: value.detach().cpu().clone() for name, value in module.kept.state_dict().items()}
    right = {step: _right(material, weights, material.held_out) for step, weights in steps.items()}
    chosen = max(right, key=lambda step: (right[step], step))
    counts = [{"step": step, "right": count} for step, count in right.items()]
    choice = {"chosen_by": {"validation_pairs": len(material.held_out), "of": counts}}
    return _Best(chosen, steps[chosen], choice, keeper.history)


def _right(material: Material, weights: Mapping[str, Tensor], pairs: Sequence[Pair]) -> int:
    """Number of right answers of a model with these stored weights, counted as in `evaluate`."""
    model = Transformer(material.model)
    model.load_state_dict({name: value.half().float() for name, value in weights.items()})
    ckpt = Checkpoint(
        name="candidate",
        path=None,
        hooked_model=model.eval(),
        source_codec=material.codecs[0],
        target_codec=material.codecs[1],
        card={},
        weights_sha256="",
    )
    answers, _ = answers_of(ckpt, [source for source, _ in pairs])
    return sum(exact_matches(answers, [[target] for _, target in pairs], lower=writes_lower_case(ckpt)))


def _show_beginning(task: Task, material: Material, model: Transformer, state: Path) -> None:
    """Save the untrained model as a checkpoint, which becomes a snapshot with that snapshot's weights."""
    save_checkpoint(
        state / BEGINNING,
        state_dict=model.state_dict(),
        config=material.model,
        source_codec=material.codecs[0],
        target_codec=material.codecs[1],
        card=task.card(),
        examples=material.examples,
        dtype="float16",
    )


def _export(
    task: Task,
    material: Material,
    out: Path,
    state: Path,
    best: _Best,
    data: str | Path | None,
    *,
    quiet: bool,
) -> None:
    """Write the checkpoint folder, measure its weights as loaded again, and add the metrics."""
    snapshots = {
        step: torch.load(snapshot_path(state, step), weights_only=True)
        for step in task.plan.snapshots
        if snapshot_path(state, step).is_file()
    }
    stages = _note(state)["stages"]
    card = task.card() | {
        "seed": task.plan.seed,
        "date": datetime.date.today().isoformat(),
        "training_command": " && ".join(stage["command"] for stage in stages),
        **{name: value for name, value in stages[0].items() if name == "started_from"},
        "exported_step": best.step,
        **best.choice,
        "steps": int(best.history[-1]["step"]),
        "data_sizes": material.counts,
        "losses_on": material.losses_on,
        "overlap": material.overlap,
        "training_lengths": material.train.read_lengths(),
        "metrics": [],
    }
    if len(stages) > 1:  # resumed with another length
        card["training_stages"] = stages

    def write() -> None:
        save_checkpoint(
            out,
            state_dict=best.weights,
            config=material.model,
            source_codec=material.codecs[0],
            target_codec=material.codecs[1],
            card=card,
            history_csv=history_csv(best.history),
            examples=material.examples,
            snapshots=snapshots,
            dtype="float16",
        )

    write()
    stored = load(out)
    card["causal"] = is_causal(stored.model)  # otherwise the losses are of a decoder that reads the answer
    for measure in task.measures:
        measured = evaluate_checkpoint(
            stored, **measure.options(), data_folder=data, progress=None if quiet else _report
        )
        card["metrics"].append(
            {"split": measure.split, "command": measure.command(*(task.evaluated_by or (task.name,))), **measured}
        )
    write()
    write_file(state / EXPORTED, b"")


def _report(done: int, total: int) -> None:
    """Print the progress of the final evaluation to stderr."""
    print(f"\revaluated {done} of {total} pairs", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _command(task: Task, settings: TrainingSettings) -> str:
    """The public command that repeats this training."""
    epochs, start_from, device = settings.epochs, settings.start_from, settings.device
    words = ["viz-transformer", "train", *(task.trained_by or (task.name,))]
    if task.trained_by and epochs is None and settings.steps is None:
        epochs = task.plan.epochs  # proposed
    start = Path(start_from).name if start_from is not None else None  # the folder is private, its name is enough
    options = {
        "--start-from": start,
        "--peak-rate": settings.peak_rate,
        "--epochs": epochs,
        "--steps": settings.steps,
    }
    for name, value in options.items():
        words += [name, str(value)] if value is not None else []
    return shlex.join([*words, "--device", device] if device != "auto" else words)


def _progress_bar(quiet: bool) -> list[Callback]:
    if quiet:
        return []
    return [TQDMProgressBar(refresh_rate=1 if sys.stderr.isatty() else 50)]


@contextlib.contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Hide advertisements and hints about workers, which are not needed: batches are tensors already."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric", "lightning")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"lightning\.")
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
