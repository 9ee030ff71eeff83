"""Everything that the pages say and draw, as text: before something is rebuilt, and after it.

    python tests/goldens.py DIRECTORY [WORD ...]

writes one file a view: each model of MODELS, on each page and tab, with each selection of SELECTIONS. A file has, in
the order of the page, every sentence and control, what each component and chart is told, its numbers as shape, type and
hash, and every table as the CSV that a visitor would save. Files of two states of the code made on one machine are
compared by `diff -r`; on another machine the last bits of numbers may differ. With words, only views whose names have
all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
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

from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.figures.components import payload
from viz_transformer.ui.frame import pictures

Address = Mapping[str, str]


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


def views() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Name, page and address of each."""
    for model in MODELS:
        for page, tabs in TABS.items():
            for tab in tabs:
                for name, chosen in selections(model).items():
                    yield "_".join((model, page, *tab.values(), name)), page, {"checkpoint": model, **tab, **chosen}


# ---- what is on a page


def lines(app: AppTest, tables: Mapping[str, str]) -> list[str]:
    """What is on the page, in its order; then the tables by their keys."""
    said = [line for element in app._tree for line in _element(element)]
    said += [f"table {key}\n{tables[key]}" for key in sorted(tables)]
    return [line.replace(str(ROOT), "…") for line in said]


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


def make(directory: Path, *words: str) -> int:
    """Write the views whose names have all these words, and return how many these are."""
    torch.set_num_threads(1)
    library = directory / "library"
    library.mkdir(parents=True, exist_ok=True)
    wanted = [view for view in views() if all(word in view[0] for word in words)]
    for model in dict.fromkeys(address["checkpoint"] for _, _, address in wanted):
        put = MODELS[model][2]
        if put is not None and not (library / model).exists():
            put(library / model)
    os.environ.update(VIZ_TRANSFORMER_CHECKPOINTS=str(library), VIZ_TRANSFORMER_LIBRARY=str(directory / "own"))
    heard: dict[str, str] = {}
    hear_tables(heard)
    for name, page, address in wanted:
        heard.clear()
        app = again(opened(script("app.py"), page, **address))
        (directory / f"{name}.txt").write_text("\n".join(lines(app, heard)) + "\n", encoding="utf-8")
    return len(wanted)


if __name__ == "__main__":
    print(f"{make(Path(sys.argv[1]), *sys.argv[2:])} views")
