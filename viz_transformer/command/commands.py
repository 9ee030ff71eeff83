"""The commands of `viz-transformer`.

Every --help is fast: heavy imports happen when a command uses a lazy name (`vt.load`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import viz_transformer as vt
from viz_transformer import __version__, checkpoint, huggingface, numerals
from viz_transformer.checkpoint import devices
from viz_transformer.checkpoint.describe import checkpoint_rows, count_left_out, metric, metrics, table, with_too_long
from viz_transformer.checkpoint.grading import standing_of
from viz_transformer.checkpoint.own import own_checkpoints
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.command import fail, measuring, running, server, training
from viz_transformer.command.options import (
    AllowDownloadOption,
    CheckpointArgument,
    DeviceOption,
    DtypeOption,
    IgnoreOption,
    say_standing,
)
from viz_transformer.huggingface import names
from viz_transformer.huggingface.folder import recognised
from viz_transformer.measuring.sample_script import SCRIPT

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Summary

cli = typer.Typer(
    name="viz-transformer",
    help="Run trained transformers and see everything that happens inside.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
TEXT_MAY_START_WITH_MINUS = {"ignore_unknown_options": True}  # -79.42 is a text


def run(words: Sequence[str]) -> int:
    """Run a command line; return the exit status."""
    try:
        return typer.main.get_command(cli).main(list(words), prog_name="viz-transformer", standalone_mode=False) or 0
    except typer.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "viz-transformer")
        return fail(f"{error.format_message().rstrip('.')}. Try '{command} --help'.", status=error.exit_code)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"viz-transformer {__version__}")
        raise typer.Exit


@cli.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@cli.command("app")
def app_command(
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where to listen; default 8501, 0 takes any free port.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    window: Annotated[
        bool, typer.Option("--window", help="Open the app in its own window, with Chrome, Chromium or Edge.")
    ] = False,
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="A folder of your own checkpoints, or the saved trace of a watched module; repeatable. ./runs"
            " is always searched.",
        ),
    ] = None,
    library: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the models that you open.")] = None,
    device: Annotated[
        str, typer.Option(help="Device for folders of transformers: cpu or cuda. Other models run on the cpu.")
    ] = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: Annotated[
        bool,
        typer.Option("--allow-download", help="Let the Models page download from the Hugging Face hub."),
    ] = False,
    ignore: IgnoreOption = None,
) -> None:
    """Open the app in the browser; it listens on this computer only."""
    if device != devices.PROCESSOR:  # by default the app needs no torch before its first page
        huggingface.check_device(device)
    devices.compute_folders(device, dtype, ignore or ())
    names.allow_in_the_app(allow_download)
    server.run_app(port=port, browser=not no_browser, window=window, checkpoints=checkpoints or [], library=library)


cli.command(context_settings=TEXT_MAY_START_WITH_MINUS)(running.translate)
cli.command("read", context_settings=TEXT_MAY_START_WITH_MINUS)(running.read_command)
cli.command(context_settings=TEXT_MAY_START_WITH_MINUS)(running.trace)
cli.command()(training.train)
cli.command()(measuring.evaluate)
cli.command()(measuring.compare)


def show_sample_script(wanted: bool) -> None:
    if wanted:
        print(SCRIPT, end="")
        raise typer.Exit


@cli.command("import")
def import_command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Weights: .pt, .pth, .ckpt, .bin, .safetensors or an index of shards."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Checkpoint folder to write.")],
    layout: Annotated[
        str | None,
        typer.Option(metavar="L", help="en-it, tutorial6, annotated, upc-lab, fsu, torch, gpt, ..."),
    ] = None,
    map_: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="A mapping of tensors, instead of a layout.")
    ] = None,
    write_map: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the mapping that was used, to correct for --map.")
    ] = None,
    heads: Annotated[
        int | None, typer.Option(metavar="N", help="Number of attention heads, which no shape reveals.")
    ] = None,
    source_vocab: Annotated[
        Path | None, typer.Option(metavar="F", help="JSON, one token per line, or counted:TEXT.")
    ] = None,
    target_vocab: Annotated[
        Path | None, typer.Option(metavar="F", help="The same for the target, or a decoder-only model.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the model, or bos=, pad=; ignore=PATTERN leaves out the unplaced tensors whose full"
            r" name matches the regular expression, such as 'ignore=aux_head\..*'.",
        ),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ids and logits from where it was trained (.npz, .json)."),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ten or more of your texts, to measure settings on (source, tab, target; for a decoder, lines).",
        ),
    ] = None,
    sample_script: Annotated[
        bool,
        typer.Option(
            "--sample-script",
            callback=show_sample_script,
            is_eager=True,
            help="Print a script that writes a file for --sample.",
        ),
    ] = False,
) -> None:
    """Make a checkpoint folder from another program's weights.

    No code in the file is run.
    """
    from viz_transformer.command.importing import run_import

    run_import(
        file,
        out,
        words=set_ or [],
        heads=heads,
        write_map=write_map,
        layout=layout,
        mapping=map_,
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        sample=sample,
        texts=texts,
    )


@cli.command()
def inspect(
    ckpt: CheckpointArgument,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: AllowDownloadOption = False,
    ignore: IgnoreOption = None,
) -> None:
    """Check a checkpoint's files, load it, and print what it is."""
    how: dict[str, Any] = {"device": device, "allow_download": allow_download, "ignore": ignore or ()}
    model = vt.load(ckpt, dtype=dtype, **how)
    say_standing(model)
    rows = [*checkpoint_rows(model), ("device", device)]
    if dtype != devices.FLOAT32:
        found = huggingface.away(model, vt.load(ckpt, **how))
        given = "logits" if "logits" in model.spec.point else "outputs"
        rows.append(
            (
                "against float32",
                f"in a text of {found.tokens} tokens its {given} are off by at most"
                f" {numerals.percent(found.output, 2, ' %')} of the largest one, its attention weights by"
                f" {numerals.number(found.weight)}",
            )
        )
    print(table(rows))


@cli.command("list")
def list_command() -> None:
    """List the bundled checkpoints and your own.

    Your own are those in ./runs and in the library.
    """
    rows, broken = [], []
    bundled = checkpoint.list_checkpoints()
    for entry in (*bundled, *recognised(own_checkpoints({each.name for each in bundled}))):
        try:
            if not isinstance(entry, checkpoint.Summary):
                raise checkpoint.CheckpointError(entry.error)
            rows.append(list_row(entry))
        except checkpoint.CheckpointError as error:
            broken.append(str(error))
    if rows:
        print(table([("name", "task", "parameters", "metric"), *rows]))
    if broken:
        raise checkpoint.CheckpointError("; ".join(broken))
    if not rows:
        raise checkpoint.CheckpointError("this installation has no checkpoints: install it again")


def list_row(entry: Summary) -> tuple[str, ...]:
    if isinstance(entry, RecordingSummary):
        return entry.name, "a recording of one call", "none", "not measured"
    first, all_pairs = next(iter(metrics(entry.card)), None), with_too_long(entry.card)
    said = ["not measured" if first is None else metric(first)]
    if all_pairs is not None:
        said += [f"left out {count_left_out(entry.card)}", f"with them {metric(all_pairs)}"]
    if (standing := standing_of(entry.card)) is not None:
        said.append(standing.words)
    return entry.name, str(entry.card.get("task", "")), f"{entry.parameter_count:,}", "; ".join(said)
