"""Commands that measure: `evaluate` and `compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import viz_transformer as vt
from viz_transformer.checkpoint.describe import count_left_out, number, table
from viz_transformer.command.options import (
    AllowDownloadOption,
    BeamOption,
    BleuOption,
    CheckpointArgument,
    DataOption,
    DeviceOption,
    DtypeOption,
    IgnoreOption,
    JsonOption,
    LanguageOption,
    LimitOption,
    SourceLanguageOption,
    open_model,
    say_standing,
    to_json,
)

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint


def evaluate(
    ckpt: CheckpointArgument,
    data: DataOption = None,
    limit: LimitOption = None,
    beam: BeamOption = None,
    bleu: BleuOption = None,
    group: Annotated[bool, typer.Option("--group", help="Group equal sources: any of their targets is right.")] = False,
    count_too_long: Annotated[
        bool,
        typer.Option("--count-too-long", help="Count pairs that are too long as wrong instead of skipping them."),
    ] = False,
    errors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the wrong answers, tab-separated: source, answer, target."),
    ] = None,
    language: LanguageOption = None,
    source_language: SourceLanguageOption = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: AllowDownloadOption = False,
    ignore: IgnoreOption = None,
    json: JsonOption = False,
) -> None:
    """Measure how good a checkpoint is."""
    from viz_transformer.measuring.evaluation import evaluate_checkpoint

    file, folder = file_or_folder(data)
    model = open_model(ckpt, device, dtype, allow_download, ignore, language=language, source_language=source_language)
    measured = evaluate_checkpoint(
        model,
        file,
        limit=limit,
        beam=beam,
        bleu=bleu,
        group=group,
        count_too_long=count_too_long,
        errors=errors,
        data_folder=folder,
        progress=report_progress("windows" if model.spec.kind == "decoder-only" else "pairs"),
    )
    if errors is not None:
        wrong = measured["pairs"] - round(measured["pairs"] * measured["exact_match"])
        print(f"{errors}: {wrong:,} wrong answers", file=sys.stderr)
    if file is None and not count_too_long:
        say_left_out(model)
    print(to_json(measured) if json else table([(name, number(value)) for name, value in measured.items()]))


def compare(
    first: CheckpointArgument,
    second: CheckpointArgument,
    data: DataOption = None,
    limit: LimitOption = None,
    beam: BeamOption = None,
    bleu: BleuOption = None,
    differences: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the pairs with different answers, tab-separated: source, target, both answers, which is right,"
            " a link.",
        ),
    ] = None,
    allow_download: AllowDownloadOption = False,
    json: JsonOption = False,
) -> None:
    """Test which of two checkpoints answers the same pairs better.

    Pairs and BLEU tokenizer are those of the first card. Exact matches: McNemar's exact test. BLEU and chrF:
    paired bootstrap.
    """
    from viz_transformer.measuring.comparing import compare_checkpoints, comparison_rows, verdicts

    file, folder = file_or_folder(data)
    base, other = (vt.load(each, allow_download=allow_download) for each in (first, second))
    for model in (base, other):
        say_standing(model)
    found = compare_checkpoints(
        base,
        other,
        file,
        limit=limit,
        beam=beam,
        bleu=bleu,
        data_folder=folder,
        differences=differences,
        progress=report_progress("answers"),
    )
    if file is None:
        say_left_out(base)
    print(to_json(found) if json else "\n".join([table(comparison_rows(found)), "", *verdicts(found)]))


def say_left_out(model: Checkpoint) -> None:
    """Print to stderr how many pairs the card's test skips as too long."""
    if said := count_left_out(model.card):
        print(f"left out: {said}; evaluate --count-too-long counts them as wrong", file=sys.stderr)


def file_or_folder(data: Path | None) -> tuple[Path | None, Path | None]:
    """--data as a file or as the data folder."""
    return (None, data) if data is not None and data.is_dir() else (data, None)


def report_progress(things: str) -> Callable[[int, int], None]:
    """A callback that shows progress on stderr: on one terminal line, or else a line per tenth."""
    last = -1

    def report(done: int, total: int) -> None:
        nonlocal last
        if sys.stderr.isatty():
            print(f"\revaluated {done:,} of {total:,} {things}", end="\n" if done == total else "", file=sys.stderr)
        elif done * 10 // total > last:
            last = done * 10 // total
            print(f"evaluated {done:,} of {total:,} {things}", file=sys.stderr, flush=True)

    return report
