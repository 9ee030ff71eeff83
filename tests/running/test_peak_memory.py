"""No folder and no trace takes more memory than its own size and 256 MiB, whether it is opened or refused.

The files are made here, small ones that would be large in memory. A process of its own opens each of them in a forked
child, which tells by how much its peak grew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from builders import tiny_checkpoint
from safetensors import safe_open
from safetensors.torch import save_file

from viz_transformer.checkpoint import save_checkpoint
from viz_transformer.running.tracing import trace

MIB = 2**20
ROOM = 256 * MIB

OPENER = """
import json, os, resource, sys
import torch
from viz_transformer.checkpoint import load
from viz_transformer.checkpoint.contents import read_summary
from viz_transformer.running.trace import Trace

torch.set_num_threads(1)

def use(path):
    if path.endswith(".safetensors"):
        return Trace.load(path).points()
    ckpt = load(path)
    ckpt.history(), ckpt.examples(), read_summary(ckpt.path).parameter_count
    return ckpt.target_codec.decode(range(4, 12))

def grown(path):
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            use(path)
            said = "opened"
        except ValueError as error:
            said = str(error)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(writing, json.dumps([1024 * (after - before), said[:3000]]).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        return json.load(file)

use(sys.argv[1])  # what is imported late is there before anything is measured
heavy = {"streamlit", "spacy", "plotly", "pandas", "lightning", "torch._dynamo"} & set(sys.modules)
print(json.dumps([sorted(heavy), {path: grown(path) for path in sys.argv[1:]}]))
"""


def change_config(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "config.json").read_text())
    content["model"].update(changes)
    (folder / "config.json").write_text(json.dumps(content))


def with_replacements(folder: Path) -> None:
    content = json.loads((folder / "config.json").read_text())
    tokenizer = {"kind": "regex", "pattern": ".", "join": "", "replacements": [["u", "u" * 1000]] * 6}
    content["target_codec"]["tokenizer"] = tokenizer
    (folder / "config.json").write_text(json.dumps(content))


def write(name: str, content: Callable[[], str]) -> Callable[[Path], object]:
    """Made when it is written: together they are hundreds of MiB."""
    return lambda folder: (folder / name).write_text(content(), encoding="utf-8")


def filled(start: str, part: str, end: str = "", most: int = 16 * MIB) -> str:
    """As many of the parts as the file may have bytes."""
    return start + part * ((most - len(start) - len(end)) // len(part.encode())) + end


def weights_header(folder: Path) -> None:
    header = b'{"a":{"dtype":"F32","shape":[' + b"1," * (40 * MIB) + b"1]}}"
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)


def sixteen_long() -> str:
    return "[" + ",".join(f'"{i}{"x" * MIB}😀"' for i in range(15)) + "]"


FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing changed": (lambda folder: None, "opened"),
    "16 million positions": (lambda folder: change_config(folder, max_source=2**24), "a position table of more than"),
    "all the positions that may be": (
        lambda folder: change_config(folder, max_source=2**19, max_target=2**19),
        "opened",
    ),
    "a vocabulary of empty lists": (
        write("source_vocab.json", lambda: filled("[", "[],", "0]")),
        "values, at most 500,000",
    ),
    "a vocabulary of small objects": (
        write("source_vocab.json", lambda: "[" + '{"":0},' * 240_000 + "0]"),
        "has 240,001 tokens, the config's",
    ),
    "a vocabulary of small texts": (
        write("source_vocab.json", lambda: "[" + ",".join(f'"{i}"' for i in range(499_990)) + "]"),
        "has 499,990 tokens, the config's",
    ),
    "a vocabulary of wide letters": (write("source_vocab.json", sixteen_long), "has 15 tokens, the config's"),
    "a card of empty lists": (
        write("card.json", lambda: filled('{"a":[', "[],", "0]}", 4 * MIB)),
        "values, at most 100,000",
    ),
    "a card of small objects": (write("card.json", lambda: '{"a":[' + '{"":0},' * 49_000 + "0]}"), "has no sha256"),
    "a card that is nested deeply": (
        write("card.json", lambda: filled("", "[", "", 4 * MIB)),
        "values, at most 100,000",
    ),
    "a card of one number": (write("card.json", lambda: filled('{"a":', "9", "}", 4 * MIB)), "is not valid JSON"),
    "a config of wide letters": (
        write("config.json", lambda: '{"a":"😀' + "x" * 3 * MIB + '"}'),
        "has no format_version",
    ),
    "a history of empty lines": (write("history.csv", lambda: "\n" * 16 * MIB), "lines, at most 100,000"),
    "a history of empty cells": (write("history.csv", lambda: "," * 16 * MIB), "does not start with the columns"),
    "a history of blank rows": (
        write(
            "history.csv", lambda: "step,train_loss,validation_loss,learning_rate,gradient_norm\n" + ",,,,\n" * 99_999
        ),
        "opened",
    ),
    "examples without a text": (write("examples.tsv", lambda: "\t\n" * 8 * MIB), "lines, at most 100,000"),
    "examples that are one line": (write("examples.tsv", lambda: "\t" * 16 * MIB), "line 1 is not a source"),
    "weights of 20 GiB": (
        lambda folder: os.truncate(folder / "model.safetensors", 20 * 2**30),
        "weights are read up to 2,147,483,648",
    ),
    "weights that describe themselves at length": (weights_header, "at most 8,388,608 are read"),
    "replacements that grow": (with_replacements, "rules for joining tokens make a text of millions"),
}


def hostile_header(file: Path) -> None:
    content = b'{"__metadata__":{"viz_transformer":"[' + b"[]," * (42 * MIB) + b'0]"}}'
    file.write_bytes(len(content).to_bytes(8, "little") + content)


def about_changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        trace(tiny_checkpoint(), "abc", "uv").save(file)
        with safe_open(file, framework="pt") as saved:
            about = json.loads(saved.metadata()["viz_transformer"])
            values = {name: saved.get_tensor(name).clone() for name in saved.keys()}  # noqa: SIM118 (no mapping)
        change(about)
        save_file(values, file, metadata={"viz_transformer": json.dumps(about)})

    return write


TRACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a whole one": (about_changed(lambda about: None), "opened"),
    "a header of 127 MiB": (
        hostile_header,
        "at most 8,388,608 are read",
    ),
    "metadata of 90 MiB": (
        about_changed(lambda about: about["info"].update(note="x" * 90 * MIB)),
        "at most 8,388,608 are read",
    ),
    "metadata of 7 MiB": (about_changed(lambda about: about["info"].update(note="x" * 7 * MIB)), "opened"),
    "metadata of empty lists": (
        about_changed(lambda about: about["info"].update(note=[[]] * 10**6)),
        "values, at most 500,000 are read",
    ),
    "metadata of small objects": (
        about_changed(lambda about: about["info"].update(note=[{"": 0}] * 240_000)),
        "opened",
    ),
    "very many edits": (
        about_changed(lambda about: about.update(edits=[{"edit": "RemovePositions", "stack": "encoder"}] * 60_000)),
        "opened",
    ),
    "very many layers": (about_changed(lambda about: about["config"].update(encoder_layers=10**6)), "than 256 layers"),
    "very many points": (
        about_changed(lambda about: about.update(points=["logits"] * 400_000)),
        "names a point twice",
    ),
    "points nested deeply": (
        about_changed(lambda about: about.update(points=json.loads("[" * 900 + "]" * 900))),
        "is not a whole trace",
    ),
}


DAILY = ("nothing changed", "a card of empty lists", "weights of 20 GiB", "a whole one", "metadata of 7 MiB")
"""One of each kind: accepted and refused, by its size and by what is in it; a folder and a trace."""


def opened(place: Path, names: Iterable[str]) -> tuple[list[str], dict[str, tuple[int, str, int]]]:
    """Which heavy packages opening a folder imported; of each of the files what opening it took, what was said, and
    its own size."""
    ckpt = tiny_checkpoint()
    whole = save_checkpoint(
        place / "whole",
        state_dict=ckpt.model.state_dict(),
        config=ckpt.config,
        source_codec=ckpt.source_codec,
        target_codec=ckpt.target_codec,
        card={},
    )
    paths = [whole]
    for name in names:
        if name in TRACES:
            paths.append(place / f"{name}.safetensors")
            TRACES[name][0](paths[-1])
            continue
        folder = shutil.copytree(whole, place / name)
        FOLDERS[name][0](folder)
        if "card" not in name:  # signed, as somebody who means harm would
            digests = {
                path.name: sha256(path.read_bytes()).hexdigest() if path.stat().st_size < 2**30 else ""
                for path in folder.iterdir()
            }
            (folder / "card.json").write_text(json.dumps({"sha256": digests}))
        paths.append(folder)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", OPENER, *map(str, paths)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    heavy, found = json.loads(done.stdout)
    return heavy, {
        Path(path).stem: (bytes_, said, sum(file.stat().st_size for file in files_of(Path(path))))
        for path, (bytes_, said) in found.items()
    }


def files_of(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


def check(grown: dict[str, tuple[int, str, int]], names: Iterable[str]) -> None:
    wrong = []
    for name in names:
        sentence = {**FOLDERS, **TRACES}[name][1]
        peak, said, size = grown[name]
        print(taken := f"{peak / MIB:.0f} MiB for {size / MIB:.1f}: {name}")
        if sentence not in said or len(said) >= 600 or peak >= min(size, 256 * MIB) + ROOM:
            wrong.append(f"{taken}: {said:.600}")
    assert not wrong


def test_what_is_small_on_the_disk_stays_small_in_memory(tmp_path: Path) -> None:
    """And opening a folder imports no package of pages, of training and of words, nor torch's compiler."""
    heavy, grown = opened(tmp_path, DAILY)
    assert not heavy
    check(grown, DAILY)


@pytest.mark.slow
def test_whatever_is_small_on_the_disk_stays_small_in_memory(tmp_path: Path) -> None:
    names = [name for name in (*FOLDERS, *TRACES) if name not in DAILY]
    check(opened(tmp_path, names)[1], names)
