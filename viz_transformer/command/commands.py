"""The commands of `viz-transformer`.

Every --help is fast: heavy imports happen when a command uses a lazy name (`vt.load`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viz_transformer import __version__, checkpoint, huggingface, numerals
from viz_transformer.checkpoint import devices
from viz_transformer.checkpoint.describe import checkpoint_rows, count_left_out, metric, metrics, table, with_too_long
from viz_transformer.checkpoint.grading import standing_of
from viz_transformer.checkpoint.own import own_checkpoints
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.checkpoint.writing import OutputError, reason
from viz_transformer.command import fail, measuring, running, server, training
from viz_transformer.command.options import CheckpointArgument, ImportOptions, OpeningOptions, grouped, say_standing
from viz_transformer.huggingface import names
from viz_transformer.huggingface.folder import recognised
from viz_transformer.measuring.sample_script import SCRIPT
from viz_transformer.train.processes import NEEDED, NEEDS

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


@dataclass(frozen=True, kw_only=True)
class AppOpeningOptions(OpeningOptions):
    """How the app opens models."""

    device: Annotated[
        str, typer.Option(help="Device for folders of transformers: cpu or cuda. Other models run on the cpu.")
    ] = "cpu"
    allow_download: Annotated[
        bool,
        typer.Option("--allow-download", help="Let the Models page download from the Hugging Face hub."),
    ] = False


@cli.command("app")
@grouped
def app_command(
    *,
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
    opening: AppOpeningOptions,
) -> None:
    """Open the app in the browser; it listens on this computer only."""
    if opening.device != devices.PROCESSOR:  # by default the app needs no torch before its first page
        huggingface.check_device(opening.device)
    devices.compute_folders(opening.device, opening.dtype, opening.ignore or ())
    names.allow_in_the_app(opening.allow_download)
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
@grouped
def import_command(
    *,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Weights: .pt, .pth, .ckpt, .bin, .safetensors or an index of shards."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Checkpoint folder to write.")],
    options: ImportOptions,
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

    run_import(file, out, options)


@cli.command()
@grouped
def inspect(
    ckpt: CheckpointArgument,
    opening: OpeningOptions,
) -> None:
    """Check a checkpoint's files, load it, and print what it is."""
    model = opening.load(ckpt)
    say_standing(model)
    rows = [*checkpoint_rows(model), ("device", opening.device)]
    if opening.dtype != devices.FLOAT32:
        found = huggingface.away(model, replace(opening, dtype=devices.FLOAT32).load(ckpt))
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


def sentence_for(error: Exception) -> str | None:
    """The sentence for an error caused by input, files or the machine; None for a bug."""
    if isinstance(error, OutputError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return where + reason(error)
    if isinstance(error, KeyError):
        message = str(error.args[0]) if error.args else ""
        return message if " " in message else None  # our KeyErrors are sentences, others are a missing key
    if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] in NEEDED:
        return NEEDS
    if isinstance(error, ValueError) or type(error).__name__ == "SafetensorError":
        return str(error) or None
    return None
