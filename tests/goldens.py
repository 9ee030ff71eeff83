"""Everything that the pages say and draw, as text: before something is rebuilt, and after it.

    python tests/goldens.py DIRECTORY [WORD ...]

writes one file a view: each model of MODELS, on each page and tab, with each selection of `selections`. A file has, in
the order of the page, every sentence and control, what each component and chart is told, its numbers as shape, type and
hash, and every table as the CSV that a visitor would save. Files of two states of the code made on one machine are
compared by `diff -r`; on another machine the last bits of numbers may differ. With words, only views whose names have
all of them.

    python tests/goldens.py --update

writes `goldens.txt` anew, in about a minute: for some of the views (`subset`) hashes of what they say, what they draw
and their tables, all without numbers, and so the same on every machine. `test_goldens.py` compares.

    python tests/goldens.py --how NAME ...

prints how what these views say and draw has changed since `goldens.txt` was last committed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import torch
from builders import saved, tiny_checkpoint
from google.protobuf.json_format import MessageToDict
from page_driver import ROOT, again, opened, script
from pretrained import folder as save_folder
from strangers import CASES, stranger
from streamlit.testing.v1 import AppTest

import viz_transformer
from viz_transformer import payload
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.ui.frame import pictures

Address = Mapping[str, str]
View = tuple[str, str, dict[str, str]]
"""Its name, its page, and its address."""
FILE = ROOT / "tests" / "goldens.txt"


def opened_as(name: str, place: Path, **settings: Any) -> Path:
    """A stranger's file of this name, opened as a person opens it, with these settings told."""
    file = place.with_suffix(".pt")
    torch.save(stranger(name)[0].state_dict(), file)
    return import_file(file, place, Answers(settings={**CASES[name][2], **settings}))


# name -> its text and another one, how it is put into a folder; bundled ones are there
MODELS: Mapping[str, tuple[str, str, Callable[[Path], Any] | None]] = {
    "numbers-any": ("29,284.30", "42", None),
    "shakespeare": ("To be, or not", "ROMEO:", None),
    "not-causal": ("2 7 11 5 8", "3 4", lambda place: opened_as("nn.TransformerEncoder", place, causal=False)),
    "opened": ("5 8 7 3 9 4", "4 4 2", lambda place: opened_as("nn.Transformer", place)),
    "grouped": ("the cat sat", "one two", lambda place: save_folder(place, "llama")),
    "encoder": ("abcdef", "hg", lambda place: saved(tiny_checkpoint("encoder-only"), place)),
}
TABS: Mapping[str, tuple[Address, ...]] = {
    "run": (*({"level": level} for level in ("run", "layer", "attention", "weight")), {"run_view": "map"}),
    "input": (*({"input_below": part} for part in ("data", "ids", "build", "words")), {"input_rows": "all"}),
    "positions": tuple({"pos_topic": part} for part in ("steps", "distance", "shift", "waves", "orders")),
    "attention": tuple({"panel": part} for part in ("lines", "text", "contribution")),
    "weight": tuple({"weight_beside": part} for part in ("weights", "out")),
    "layers": tuple({"part": part} for part in ("attention", "ffn", "final")),
    "tensors": tuple({"chart": part} for part in ("heatmap", "histogram", "points")),
    "masks": ({"mask_view": "masks"}, {"mask_view": "masks", "mask_of": "size"}, {"mask_view": "weights"}),
    "playground": tuple({"play": part} for part in ("attention", "simplex", "scaling", "norms", "rebuild", "copy")),
    "models": tuple(
        {"model_tab": part}
        for part in ("card", "architecture", "curves", "data", "errors", "doctor", "open", "train", "new", "training")
    ),
    "decoding": tuple({"dec_tab": part} for part in ("step", "branches", "tree", "cache", "score")),
}
"""The views of each page; one that a model has not says so, which is compared too."""
TWO_RUNS = {"shown": "A|B"}


def selections(model: str) -> Mapping[str, Address]:
    """Addresses that choose something: little; another head and position, searched for; beside a pinned run."""
    text, other, _ = MODELS[model]
    chosen = {"layer": "0", "heads": "1", "i": "1", "j": "2", "t": "2", "u": "1", "strategy": "beam"}
    pinned = {"pin_checkpoint": model, "pin_text": text, **TWO_RUNS}
    return {"start": {"text": text}, "chosen": {"text": text, **chosen}, "pinned": {"text": other, **pinned}}


def views() -> Iterator[View]:
    for model in MODELS:
        for page, tabs in TABS.items():
            for tab in tabs:
                for name in selections(model):
                    yield _view(model, page, tab, name)


def subset() -> Iterator[View]:
    """Each page with each model, each tab, and each selection of each page: in turn, all together."""
    models, chosen = list(MODELS), list(selections(next(iter(MODELS))))
    for page, tabs in TABS.items():
        for turn in range(max(len(tabs), len(models))):
            name = chosen[(turn + turn // len(chosen)) % len(chosen)]
            yield _view(models[turn % len(models)], page, tabs[turn % len(tabs)], name)


def _view(model: str, page: str, tab: Address, selection: str) -> View:
    name = "_".join((model, page, *tab.values(), selection))
    return name, page, {"checkpoint": model, **tab, **selections(model)[selection]}


# ---- what is on a page


def lines(app: AppTest, tables: Mapping[str, str], directory: Path) -> list[str]:
    """What is on the page, in its order; then the tables by their keys. Paths of this machine are left out."""
    said = [line for element in app._tree for line in _element(element)]
    said += [f"table {key}\n{tables[key]}" for key in sorted(tables)]
    return [line.replace(str(directory), "…").replace(str(ROOT), "…") for line in said]


def _element(element: Any) -> list[str]:
    if element.type == "html":
        return ["html " + re.sub(r"(?s)<style>.*?</style>", "<style>", element.proto.body)]
    if element.type == "bidi_component":
        head, name = f"component {element.proto.component_name}", element.proto.WhichOneof("data")
        if name == "bytes":
            header, arrays = payload.unpack(element.proto.bytes)
            return [f"{head} {_text(header)}", *(f"  {each} {_array(value)}" for each, value in arrays.items())]
        return [f"{head} {_text(json.loads(element.proto.json))}" if name == "json" else head]
    if element.type == "plotly_chart":
        return [f"chart {_text(json.loads(element.proto.spec))}"]
    if element.type in ("arrow_data_frame", "dataframe"):
        return [f"grid {element.value.to_csv()}"]
    proto = getattr(element, "proto", None)
    if proto is None or not hasattr(proto, "DESCRIPTOR"):
        return [element.type]
    told = MessageToDict(proto)
    for own in ("id", "formId", "page", "pageScriptHash", "url", "urls", "deferredFileId"):
        told.pop(own, None)
    return [f"{element.type} {_text(told)}"]


def _text(value: Any) -> str:
    """As JSON with its keys in order; numbers that plotly sends as bytes by their hash, links of a session not."""
    return re.sub(r"/media/[0-9a-f]+", "/media/…", json.dumps(_plain(value), sort_keys=True, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and "bdata" in value:
        return {**value, "bdata": hashlib.sha256(value["bdata"].encode()).hexdigest()[:16]}
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _array(value: np.ndarray[Any, Any]) -> str:
    return f"{value.dtype} {list(value.shape)} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]}"


def hear_tables(heard: dict[str, str]) -> None:
    """Puts the CSV of each table that a page could open, under its key, into `heard`, from now on."""
    asked = pictures.table

    @wraps(asked)
    def table(numbers: Any, *, note: str, name: str, key: str, csv: Any = None) -> Any:
        saved_as = csv().decode() if csv else numbers().to_csv()
        heard[key] = f"{name}.csv\n{note}\n{saved_as}"
        return asked(numbers, note=note, name=name, key=key, csv=csv)

    for module in list(sys.modules.values()):
        if getattr(module, "table", None) is asked:
            module.table = table  # type: ignore[attr-defined]


def make(directory: Path, wanted: list[View]) -> None:
    """Write these views."""
    if not Path(viz_transformer.__file__).is_relative_to(ROOT):
        sys.exit(f"{viz_transformer.__file__} belongs to another checkout: give PYTHONPATH={ROOT}")
    torch.set_num_threads(1)
    directory = directory.resolve()
    library = directory / "library"
    library.mkdir(parents=True, exist_ok=True)
    asked = {address["checkpoint"] for _, _, address in wanted}
    for age, (model, (_, _, put)) in enumerate(MODELS.items()):
        if put is not None and model in asked and not (library / model).exists():
            put(library / model)
            for path in filter(Path.exists, (library / model / "card.json", library / model)):
                os.utime(path, (age, age))  # by which models are in their order
    os.environ.update(VIZ_TRANSFORMER_CHECKPOINTS=str(library), VIZ_TRANSFORMER_LIBRARY=str(directory / "own"))
    os.environ.pop("VIZ_TRANSFORMER_DATA", None)
    heard: dict[str, str] = {}
    hear_tables(heard)
    for name, page, address in wanted:
        heard.clear()
        app = again(opened(script("app.py"), page, **address))
        text = "\n".join(lines(app, heard, directory)) + "\n"
        (directory / f"{name}.txt").write_text(text, encoding="utf-8")


# ---- what is the same on every machine

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+−]?\d+)?"
_ESCAPED = r"\\{1,2}[-+−<>.]|\u2060|&[lg]t;"  # in Markdown, there as JSON, and in HTML
_MASKED = rf"(?:[-+−<>≈]|{_ESCAPED})*(?:{_NUMBER})(?:{_ESCAPED}|\d)*(?:\s?·\s?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"
_HASH = r"(?<![.\w])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b"
_ARRAY = r"^(  \S+ \S+ \[[\d, ]*\]) [0-9a-f]{16}$"
_UNSURE = re.compile(f"{_ARRAY}|{_HASH}|{_MASKED}", flags=re.MULTILINE)
_DRAWN = ("component ", "chart ", "grid ", "  ")
_SAID = re.compile(r"[a-z_]+(?: \{|$)")


def without_numbers(text: str) -> str:
    """A view's text with # in place of numbers and hashes, which differ in the last bits. Arrays keep their shapes."""
    return _UNSURE.sub(lambda found: f"{found[1]} #" if found[1] else "#", text)


def by_kind(text: str) -> dict[str, str]:
    """A view's text in three: what it says, what is drawn, and the tables, which come last."""
    found: dict[str, list[str]] = {"says": [], "draws": [], "tables": []}
    kind = "says"
    for line in text.splitlines():
        if kind == "tables" or line.startswith("table "):
            kind = "tables"
        elif line.startswith(_DRAWN):
            kind = "draws"
        elif line.startswith("html ") or _SAID.match(line):
            kind = "says"
        found[kind].append(line)
    return {kind: "\n".join(lines) for kind, lines in found.items()}


def fingerprints(directory: Path) -> dict[str, dict[str, str]]:
    """Of each view of the subset that was written here: a hash of each kind of what is in it, without numbers."""

    def of(text: str) -> dict[str, str]:
        kinds = by_kind(without_numbers(text)).items()
        return {kind: hashlib.sha256(part.encode()).hexdigest()[:12] for kind, part in kinds}

    return {name: of((directory / f"{name}.txt").read_text(encoding="utf-8")) for name, _, _ in sorted(subset())}


def write(found: Mapping[str, Mapping[str, str]]) -> None:
    said = [" ".join((name, *(f"{kind}={bits}" for kind, bits in kinds.items()))) for name, kinds in found.items()]
    FILE.write_text("\n".join(said) + "\n", encoding="utf-8")


def read() -> dict[str, dict[str, str]]:
    """The fingerprints that were written last."""
    said = [line.split() for line in FILE.read_text(encoding="utf-8").splitlines()]
    return {name: dict(kind.split("=") for kind in kinds) for name, *kinds in said}


def how(directory: Path, *names: str) -> int:
    """Prints what these views say and draw since FILE was committed last; returns 1 if they differ, as `diff` does."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.check_output([*git, "log", "-1", "--format=%H", "--", str(FILE)], text=True).strip()
    then = directory / "then"
    then.mkdir()
    with subprocess.Popen([*git, "archive", commit], stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", str(then)], stdin=archive.stdout, check=True)
    for root, into in ((then, directory / "before"), (ROOT, directory / "now")):
        environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
        for name in names:
            tool = [sys.executable, str(root / "tests" / "goldens.py"), str(into), name]
            subprocess.run(tool, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
        for view in into.glob("*.txt"):
            view.write_text(without_numbers(view.read_text(encoding="utf-8")), encoding="utf-8")
    shown = ["diff", "-u", "-r", "-x", "library", "-x", "own", "before", "now"]
    return subprocess.run(shown, cwd=directory).returncode


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--update"]:
            with tempfile.TemporaryDirectory() as place:
                make(Path(place), list(subset()))
                write(fingerprints(Path(place)))
        case ["--how", *names] if names:
            with tempfile.TemporaryDirectory() as place:
                sys.exit(how(Path(place), *names))
        case [directory, "--subset"]:
            make(Path(directory), list(subset()))
        case [directory, *words]:
            wanted = [view for view in views() if all(word in view[0] for word in words)]
            make(Path(directory), wanted)
            print(f"{len(wanted)} views")
        case _:
            sys.exit(__doc__)
