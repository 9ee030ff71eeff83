"""Commands that measure: `evaluate` and `compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import viz_transformer as vt
from viz_transformer.checkpoint.describe import count_left_out, number, table
from viz_transformer.command.options import (
    AllowDownloadOption,
    CheckpointArgument,
    JsonOption,
    LanguageOptions,
    MeasuringOptions,
    OpeningOptions,
    grouped,
    open_model,
    say_standing,
    to_json,
)

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint


@dataclass(frozen=True, kw_only=True)
class CountingOptions:
    """Which answers count as right, and which pairs count."""

    group: Annotated[bool, typer.Option("--group", help="Group equal sources: any of their targets is right.")] = False
    count_too_long: Annotated[
        bool,
        typer.Option("--count-too-long", help="Count pairs that are too long as wrong instead of skipping them."),
    ] = False


@grouped
def evaluate(
    *,
    ckpt: CheckpointArgument,
    measuring: MeasuringOptions,
    counting: CountingOptions,
    errors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the wrong answers, tab-separated: source, answer, target."),
    ] = None,
    languages: LanguageOptions,
    opening: OpeningOptions,
    json: JsonOption = False,
) -> None:
    """Measure how good a checkpoint is."""
    from viz_transformer.measuring.evaluation import evaluate_checkpoint

    file, folder = measuring.file_and_folder()
    model = open_model(ckpt, opening, languages)
    measured = evaluate_checkpoint(
        model,
        file,
        limit=measuring.limit,
        beam=measuring.beam,
        bleu=measuring.bleu,
        group=counting.group,
        count_too_long=counting.count_too_long,
        errors=errors,
        data_folder=folder,
        progress=report_progress("windows" if model.spec.kind == "decoder-only" else "pairs"),
    )
    if errors is not None:
        wrong = measured["pairs"] - round(measured["pairs"] * measured["exact_match"])
        print(f"{errors}: {wrong:,} wrong answers", file=sys.stderr)
    if file is None and not counting.count_too_long:
        say_left_out(model)
    print(to_json(measured) if json else table([(name, number(value)) for name, value in measured.items()]))


@grouped
def compare(
    *,
    first: CheckpointArgument,
    second: CheckpointArgument,
    measuring: MeasuringOptions,
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

    file, folder = measuring.file_and_folder()
    base, other = (vt.load(each, allow_download=allow_download) for each in (first, second))
    for model in (base, other):
        say_standing(model)
    found = compare_checkpoints(
        base,
        other,
        file,
        limit=measuring.limit,
        beam=measuring.beam,
        bleu=measuring.bleu,
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
