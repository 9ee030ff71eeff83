"""The command `train`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from viz_transformer.train.stopping import Stop
from viz_transformer.train.user_data import OwnData


def train(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="numbers, copy, shakespeare, ...: the name of a bundled checkpoint."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="Your own data instead: source, tab, target on each line, or plain text."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="With --pairs: source and target in a comma file or JSON lines, by name or by number from 1; none for"
            " plain text.",
        ),
    ] = None,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="With --pairs: validation data; default: held out."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="TSV", help="With --pairs: test data; default: held out.")
    ] = None,
    tokens: Annotated[str | None, typer.Option(help="With --pairs: chars, words or bpe; default chars.")] = None,
    vocabulary: Annotated[
        int | None,
        typer.Option(min=1, max=50_000, help="With --pairs: maximum words or subwords per side."),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="With --pairs: layers per stack; default: by the size of the data."),
    ] = None,
    heads: Annotated[int | None, typer.Option(min=1, max=512, help="With --pairs: heads per attention.")] = None,
    d_model: Annotated[int | None, typer.Option(min=1, max=8192, help="With --pairs: width of the model.")] = None,
    d_ff: Annotated[int | None, typer.Option(min=1, max=65536, help="With --pairs: width of the feed-forward.")] = None,
    dropout: Annotated[float | None, typer.Option(help="With --pairs: dropout, from 0 to below 1.")] = None,
    longest: Annotated[
        int | None,
        typer.Option(
            min=1, max=65536, help="With --pairs: maximum tokens of a text, start and end included; default 512."
        ),
    ] = None,
    snapshots: Annotated[
        int | None,
        typer.Option(min=0, max=200, help="With --pairs: snapshots to keep for the replay; default 12."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder; default VIZ_TRANSFORMER_DATA, else ./data.")] = None,
    out: Annotated[Path | None, typer.Option(help="Checkpoint folder to write; default runs/TASK.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last save.")] = False,
    start_from: Annotated[
        str | None,
        typer.Option(metavar="CKPT", help="Start from the weights of this checkpoint of the same model."),
    ] = None,
    peak_rate: Annotated[float | None, typer.Option(help="Peak learning rate, instead of the task's own.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data, instead of the task's own.")] = None,
    steps: Annotated[int | None, typer.Option(help="Number of batches, instead of epochs.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    devices: Annotated[str, typer.Option(help="Devices on each node.")] = "auto",
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 1,
    strategy: Annotated[str, typer.Option(help="Lightning's strategy, such as ddp.")] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print neither the proposal nor the progress.")] = False,
) -> None:
    """Train a model on a task or on your own data."""
    count: int | str = int(devices) if devices.isdecimal() else devices
    wishes = {"layers": layers, "heads": heads, "d_model": d_model, "d_ff": d_ff, "dropout": dropout}
    of_pairs = {
        "columns": columns,
        "valid": valid,
        "test": test,
        "tokens": tokens,
        "vocabulary": vocabulary,
        **wishes,
        "longest": longest,
        "snapshots": snapshots,
    }
    learned = what_is_learned(task, pairs, data, of_pairs)
    with Stop(resumes=resume) as stop:
        from viz_transformer.train.run import train as run  # takes seconds, during which a signal may come

        folder = run(
            learned,
            data=data,
            out=out,
            resume=resume,
            start_from=start_from,
            peak_rate=peak_rate,
            epochs=epochs,
            steps=steps,
            device=device,
            devices=count,
            nodes=nodes,
            strategy=strategy,
            quiet=quiet,
            stop=stop,
        )
        print(folder)


def what_is_learned(
    task: str | None, pairs: Path | None, data: Path | None, of_pairs: Mapping[str, Any]
) -> str | OwnData:
    """The task or the data. Raises ValueError for neither, for both, and for options that do not apply."""
    if task is not None and pairs is not None:
        raise ValueError("a TASK has its own data: give it or --pairs, not both")
    if pairs is not None:
        if data is not None:
            raise ValueError("--data is where the files of a TASK are: leave it out, --pairs names its file itself")
        return OwnData(pairs=pairs, **of_pairs)
    if given := [f"--{name.replace('_', '-')}" for name, value in of_pairs.items() if value is not None]:
        raise ValueError(f"{given[0]} is a setting of --pairs: give that with it")
    if task is None:
        raise ValueError("there is nothing to train on: give a TASK, such as copy, or --pairs with a file of your own")
    return task
