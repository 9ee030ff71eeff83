"""The command `train`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from viz_transformer.train.owned import OwnData
from viz_transformer.train.stopping import Stop


def train(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="numbers, copy, shakespeare, ...: the name of a bundled checkpoint."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="Your own data instead: source, tab, target in each line; or a plain text."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Of --pairs: source and target of a comma file or JSON lines, by name or by number from 1; none for a"
            " plain text.",
        ),
    ] = None,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="Of --pairs: to choose the best weights by; else taken out of it."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="TSV", help="Of --pairs: to measure the result on; else taken out of it.")
    ] = None,
    tokens: Annotated[str | None, typer.Option(help="Of --pairs: chars, words or bpe; default chars.")] = None,
    vocabulary: Annotated[
        int | None, typer.Option(min=1, max=50_000, help="Of --pairs: different words or pieces of a side at most.")
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Of --pairs: in each stack; else by how much there is to learn.")
    ] = None,
    heads: Annotated[int | None, typer.Option(min=1, max=512, help="Of --pairs: in each layer.")] = None,
    d_model: Annotated[int | None, typer.Option(min=1, max=8192, help="Of --pairs: the width of the model.")] = None,
    d_ff: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Of --pairs: the width of the feed-forward.")
    ] = None,
    dropout: Annotated[float | None, typer.Option(help="Of --pairs: from 0 to below 1.")] = None,
    longest: Annotated[
        int | None,
        typer.Option(
            min=1, max=65536, help="Of --pairs: tokens of a text at most, start and end included; default 512."
        ),
    ] = None,
    snapshots: Annotated[
        int | None,
        typer.Option(min=0, max=200, help="Of --pairs: so many weights are kept for the replay; default 12."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder; default VIZ_TRANSFORMER_DATA, else ./data.")] = None,
    out: Annotated[Path | None, typer.Option(help="Checkpoint folder to write; default runs/TASK.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last save.")] = False,
    start_from: Annotated[
        str | None,
        typer.Option(metavar="CKPT", help="A checkpoint of the same model whose weights are learnt on from."),
    ] = None,
    peak_rate: Annotated[float | None, typer.Option(help="Highest learning rate, instead of the task's own.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data, instead of the task's own.")] = None,
    steps: Annotated[int | None, typer.Option(help="Batches, instead of epochs.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    devices: Annotated[str, typer.Option(help="How many of them, on each node.")] = "auto",
    nodes: Annotated[int, typer.Option(help="How many machines.")] = 1,
    strategy: Annotated[str, typer.Option(help="Lightning's strategy, such as ddp.")] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", help="Say neither what is proposed nor how far it is.")] = False,
) -> None:
    """Train one of the tasks, or on your own pairs, and write its checkpoint folder."""
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
        from viz_transformer.train.run import train as run  # takes seconds, in which a signal may come

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
    """The task or the data. Raises ValueError for none and for both, and for options that do not belong to it."""
    if task is not None and pairs is not None:
        raise ValueError("a TASK has its own data: give it or --pairs, not both")
    if pairs is not None:
        if data is not None:
            raise ValueError("--data is where the files of a TASK are: leave it out, --pairs names its file itself")
        return OwnData(pairs=pairs, **of_pairs)
    if given := [f"--{name.replace('_', '-')}" for name, value in of_pairs.items() if value is not None]:
        raise ValueError(f"{given[0]} is a setting of --pairs: give that with it")
    if task is None:
        raise ValueError("there is nothing to learn: give a TASK, such as copy, or --pairs with a file of your own")
    return task
