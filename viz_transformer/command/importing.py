"""`viz-transformer import`: prints what is found, and asks for open settings if someone is there to answer."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from viz_transformer import numerals
from viz_transformer.checkpoint import CheckpointError, load
from viz_transformer.checkpoint.describe import table
from viz_transformer.checkpoint.importers.import_report import report_rows
from viz_transformer.checkpoint.importers.importing import (
    Opened,
    all_settings,
    answers_from,
    codecs_of,
    mapping_json,
    open_file,
    read_mapping,
    replan,
    write_import,
)
from viz_transformer.checkpoint.importers.plan import Setting
from viz_transformer.checkpoint.writing import check_output, write_file
from viz_transformer.huggingface.path_hints import instead_of_importing
from viz_transformer.measuring.alternatives import measure_alternative, read_texts
from viz_transformer.measuring.by_sample import settle_by_sample
from viz_transformer.measuring.sample import read_sample
from viz_transformer.measuring.verifying import verify_folder
from viz_transformer.model.hooked_model import spec_of

if TYPE_CHECKING:
    from viz_transformer.command.options import ImportOptions


def run_import(file: Path, out: Path, options: ImportOptions) -> None:
    """Read, measure, ask, print, write. Raises CheckpointError with one sentence if the file cannot be imported.

    Raises ValueError at the end if the sample is not reproduced: the folder is written, and its card says so.
    """
    words = dict(_word(each) for each in options.set_ or ())
    if options.heads is not None:
        words["n_heads"] = str(options.heads)
    if options.write_map is not None:
        check_output(options.write_map)
    answers = answers_from(
        words,
        layout=options.layout,
        mapping=None if options.map_ is None else read_mapping(options.map_),
        source_vocab=options.source_vocab,
        target_vocab=options.target_vocab,
    )
    proof = None if options.sample is None else read_sample(options.sample)
    instead = instead_of_importing(file)
    try:
        opened = open_file(file, answers)
    except CheckpointError:
        if instead is None:
            raise
        raise CheckpointError(instead) from None
    own = None if options.texts is None else read_texts(options.texts, opened)
    measurement = None
    if own is not None:
        opened, measurement = measure_alternative(opened, own, _said)
        _said(0)
        print(table([("setting", "it could be", "loss", "verdict"), *measurement.rows()]))
        print(f"measured on {options.texts}: {measurement.sentence}; {measurement.reading}")
        print(f"no setting is decided: {measurement.doubt}\n" if measurement.doubt else "")
    if proof is not None and opened.plan.unanswered and not opened.plan.problems:
        opened = settle_by_sample(opened, proof)
    if sys.stdin.isatty() and sys.stdout.isatty():
        opened = _asked(opened)
        if own is not None and opened.reported_loss is None:
            opened = _asked_for_loss(opened)
    print(table(report_rows(opened)))
    if options.write_map is not None:
        write_file(options.write_map, mapping_json(opened.plan).encode())
    if proof is not None and not opened.plan.problems:
        proof.texts(spec_of(codecs_of(opened)[0]))  # raises for another model's sample
    if opened.plan.problems and instead is not None:
        raise CheckpointError(instead)
    folder = write_import(opened, out, None if measurement is None else measurement.to_dict(), _reading)
    verification = None
    if opened.plan.config is not None and opened.plan.config.kind == "encoder-only":
        own = None  # it predicts no text, so they are no evidence
    if proof is not None or own is not None:
        verification = verify_folder(folder, load(folder), proof, own, opened.reported_loss)
        print(table(verification.rows()))
        if own is not None and opened.reported_loss is None:
            print(LOSS_ASKED)
        if verification.grade == "doubtful":
            print(_in_red(f"warning: {verification.sentence}"), file=sys.stderr)
    print(folder)
    if verification is not None and verification.grade == "failed":
        raise ValueError(f"{verification.sentence}; {folder} was written, and its card says so")


LOSS_ASKED = (
    "what loss did its training report on such texts, in nats per token? --set reported_loss=2.45 compares it with the"
    " loss measured here"
)


def _asked_for_loss(opened: Opened) -> Opened:
    """Ask for the loss reported by the training."""
    while text := input("loss that its training reported on such texts, in nats per token [none]: ").strip():
        try:
            told = answers_from({"reported_loss": text}).reported_loss
        except CheckpointError as error:
            print(error)
            continue
        return replace(opened, answers=replace(opened.answers, reported_loss=told))
    return opened


def _in_red(sentence: str) -> str:
    """The sentence in red, if the terminal shows colours."""
    return f"\033[31m{sentence}\033[0m" if sys.stderr.isatty() and "NO_COLOR" not in os.environ else sentence


def _reading(done: int, total: int) -> None:
    """Show on one terminal line of stderr how much of the weights is read."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        read = " of ".join(numerals.number(size / 2**20, 1, ",") for size in (done, total))
        print(f"\rreading: {read} MiB", end=end, file=sys.stderr, flush=True)


def _said(runs: int) -> None:
    """Show on one terminal line of stderr how many runs are done; 0 ends the line."""
    if sys.stderr.isatty():
        print(f"\rmeasuring: {runs} runs" if runs else "", end="" if runs else "\n", file=sys.stderr, flush=True)


def _word(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise CheckpointError(f"--set {text!r:.60} is not KEY=VALUE: write for example --set norm=pre")
    return key, value


def _asked(opened: Opened) -> Opened:
    """Ask for each open setting; an empty answer takes the usual one."""
    passed: set[str] = set()
    while True:
        asked = (each for each in all_settings(opened) if each.asked and each.name not in passed)
        if (setting := next(asked, None)) is None:
            return opened
        text = input(_question(setting)).strip()
        if not text:
            passed.add(setting.name)
            continue
        try:
            more, answers = answers_from({setting.name: text}), opened.answers
            settings = {**answers.settings, **more.settings}
            specials = {**answers.specials, **more.specials}
            answered = replan(opened.found, replace(answers, settings=settings, specials=specials))
            all_settings(answered)  # raises for an unknown token
            if answered.plan.config is None and opened.plan.config is not None:
                raise CheckpointError("; ".join(answered.plan.problems))
        except CheckpointError as error:
            print(error)
            continue
        passed.add(setting.name)
        opened = answered


def _question(setting: Setting) -> str:
    if setting.origin == "open":
        return f"{setting.name} ({' or '.join(map(str, setting.options))}): "
    others = ", ".join(str(option) for option in setting.options if option != setting.value)
    return f"{setting.name} [{setting.value}]" + (f" (or {others})" if others else "") + ": "
