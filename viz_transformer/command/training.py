"""The command `train`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from viz_transformer.command.options import grouped
from viz_transformer.train.stopping import Stop
from viz_transformer.train.user_data import OwnData, TrainingSettings


@dataclass(frozen=True, kw_only=True)
class PairsOptions:
    """A person's own data, by the names of `OwnData`."""

    pairs: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="Your own data instead: source, tab, target on each line, or plain text."),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="With --pairs: source and target in a comma file or JSON lines, by name or by number from 1; none for"
            " plain text.",
        ),
    ] = None
    valid: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="With --pairs: validation data; default: held out."),
    ] = None
    test: Annotated[Path | None, typer.Option(metavar="TSV", help="With --pairs: test data; default: held out.")] = None
    tokens: Annotated[str | None, typer.Option(help="With --pairs: chars, words or bpe; default chars.")] = None
    vocabulary: Annotated[
        int | None,
        typer.Option(min=1, max=50_000, help="With --pairs: maximum words or subwords per side."),
    ] = None
    layers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="With --pairs: layers per stack; default: by the size of the data."),
    ] = None
    heads: Annotated[int | None, typer.Option(min=1, max=512, help="With --pairs: heads per attention.")] = None
    d_model: Annotated[int | None, typer.Option(min=1, max=8192, help="With --pairs: width of the model.")] = None
    d_ff: Annotated[int | None, typer.Option(min=1, max=65536, help="With --pairs: width of the feed-forward.")] = None
    dropout: Annotated[float | None, typer.Option(help="With --pairs: dropout, from 0 to below 1.")] = None
    longest: Annotated[
        int | None,
        typer.Option(
            min=1, max=65536, help="With --pairs: maximum tokens of a text, start and end included; default 512."
        ),
    ] = None
    snapshots: Annotated[
        int | None,
        typer.Option(min=0, max=200, help="With --pairs: snapshots to keep for the replay; default 12."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How a training runs, by the names of `TrainingSettings`."""

    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last save.")] = False
    start_from: Annotated[
        str | None,
        typer.Option(metavar="CKPT", help="Start from the weights of this checkpoint of the same model."),
    ] = None
    peak_rate: Annotated[float | None, typer.Option(help="Peak learning rate, instead of the task's own.")] = None
    epochs: Annotated[int | None, typer.Option(help="Passes over the data, instead of the task's own.")] = None
    steps: Annotated[int | None, typer.Option(help="Number of batches, instead of epochs.")] = None
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto"
    devices: Annotated[str, typer.Option(help="Devices on each node.")] = "auto"
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 1
    strategy: Annotated[str, typer.Option(help="Lightning's strategy, such as ddp.")] = "auto"


@grouped
def train(
    *,
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="numbers, copy, shakespeare, ...: the name of a bundled checkpoint."),
    ] = None,
    own: PairsOptions,
    data: Annotated[Path | None, typer.Option(help="Data folder; default VIZ_TRANSFORMER_DATA, else ./data.")] = None,
    out: Annotated[Path | None, typer.Option(help="Checkpoint folder to write; default runs/TASK.")] = None,
    settings: TrainingOptions,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print neither the proposal nor the progress.")] = False,
) -> None:
    """Train a model on a task or on your own data."""
    learned = what_is_learned(task, own, data)
    with Stop(resumes=settings.resume) as stop:
        from viz_transformer.train.run import train as run  # takes seconds, during which a signal may come

        count = {"devices": int(settings.devices)} if settings.devices.isdecimal() else {}
        print(run(learned, TrainingSettings(**asdict(settings) | count), data=data, out=out, quiet=quiet, stop=stop))


def what_is_learned(task: str | None, own: PairsOptions, data: Path | None) -> str | OwnData:
    """The task or the data. Raises ValueError for neither, for both, and for options that do not apply."""
    given = {name: value for name, value in asdict(own).items() if value is not None}
    if task is not None and own.pairs is not None:
        raise ValueError("a TASK has its own data: give it or --pairs, not both")
    if own.pairs is not None:
        if data is not None:
            raise ValueError("--data is where the files of a TASK are: leave it out, --pairs names its file itself")
        return OwnData(**given)
    if given:
        raise ValueError(f"--{next(iter(given)).replace('_', '-')} is a setting of --pairs: give that with it")
    if task is None:
        raise ValueError("there is nothing to train on: give a TASK, such as copy, or --pairs with a file of your own")
    return task
