"""Files that were made to do harm, or are something else: one sentence for each, nothing left behind, and no memory."""

from __future__ import annotations

import copy
import json
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from strangers import Lab

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.checkpoint.importers.reading import read_file

HEADS = {"n_heads": 3}


def lab() -> dict[str, Any]:
    torch.manual_seed(0)
    return dict(Lab().state_dict())


def torch_file(folder: Path, content: Any) -> Path:
    torch.save(content, folder / "m.pt")
    return folder / "m.pt"


def safetensors(folder: Path, header: dict[str, Any], data: bytes = b"") -> Path:
    packed = json.dumps(header).encode()
    (folder / "m.safetensors").write_bytes(struct.pack("<Q", len(packed)) + packed + data)
    return folder / "m.safetensors"


def overlapping(folder: Path) -> Path:
    """A zip file whose directory names one megabyte a hundred times."""
    path = folder / "m.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", pickle.dumps({}))
        archive.writestr("m/data/0", bytes(2**20))
        for number in range(1, 100):
            entry = copy.copy(archive.filelist[1])
            entry.filename = f"m/data/{number}"
            archive.filelist.append(entry)
    return path


def deflated(folder: Path) -> Path:
    """A hundred megabytes of zeros in a hundred kilobytes."""
    with zipfile.ZipFile(folder / "m.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/data.pkl", pickle.dumps({}))
        archive.writestr("m/data/0", bytes(100 * 2**20))
    return folder / "m.pt"


def four_bit(folder: Path) -> Path:
    """As bitsandbytes stores a matrix: two numbers in a byte, and what they are multiplied with."""
    state = lab()
    name = next(name for name, tensor in state.items() if tensor.dim() == 2)
    packed = {f"{name}.absmax": torch.ones(8), f"{name}.quant_map": torch.ones(16)}
    packed[f"{name}.quant_state.bitsandbytes__nf4"] = torch.zeros(90, dtype=torch.uint8)
    rows = (state[name].numel() // 2, 1)
    return torch_file(folder, {**state, **packed, name: torch.zeros(rows, dtype=torch.uint8)})


def gptq(folder: Path) -> Path:
    state = {name: tensor for name, tensor in lab().items() if not name.endswith(".weight")}
    packed = {f"layers.{i}.q_proj.qweight": torch.zeros(3, 24, dtype=torch.int32) for i in range(2)}
    return torch_file(folder, {**state, **packed})


def mixed_shards(folder: Path) -> Path:
    """Half of the files are of another model, which is twice as wide."""
    state = lab()
    names = list(state)
    parts = {"a.safetensors": names[:20], "b.safetensors": names[20:]}
    for file, part in parts.items():
        wide = file[0] == "b"
        save_file({name: torch.cat([state[name]] * 2) if wide else state[name] for name in part}, folder / file)
    where = {name: file for file, part in parts.items() for name in part}
    (folder / "m.index.json").write_text(json.dumps({"weight_map": where}))
    return folder / "m.index.json"


def index_of(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "shards").mkdir()
        save_file({"x": torch.ones(2)}, folder / "x.safetensors")
        (folder / "shards" / "link.safetensors").symlink_to(folder / "x.safetensors")
        path = folder / "shards" / "m.index.json"
        path.write_text(json.dumps({"weight_map": {"x": name.format(folder=folder)}}))
        return path

    return make


def linked(target: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "m.pt").symlink_to(target)
        return folder / "m.pt"

    return make


def huge_vocabulary(folder: Path) -> Path:
    """200 MB, of which the disk stores one block."""
    with (folder / "v.json").open("wb") as file:
        file.write(b'["a", "')
        file.truncate(200 * 10**6)
    return torch_file(folder, lab())


def cyclic(folder: Path) -> Path:
    held: list[Any] = [torch.ones(2)]
    held += [held, (held, {"again": held})]
    return torch_file(folder, held)


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "heads that do not divide": (lambda folder: torch_file(folder, lab()), "cannot be split evenly into n_heads=5"),
    "a zip bomb of overlapping parts": (overlapping, "its parts claim more"),
    "a zip bomb, deflated": (deflated, "is compressed, as files of tensors are not"),
    "a view of 10^10 numbers": (lambda f: torch_file(f, {"x": torch.ones(1).expand(10**5, 10**5)}), "claims 10,000,"),
    "10^10 numbers in a header": (
        lambda f: safetensors(f, {"x": {"dtype": "F32", "shape": [10**5] * 2, "data_offsets": [0, 4]}}, bytes(4)),
        "is cut off or damaged",
    ),
    "a header of nine megabytes": (
        lambda f: safetensors(f, {"__metadata__": {"x": "y" * 9_000_000}}),
        "its header has 9,0",
    ),
    "lists that contain themselves": (cyclic, "no transformer is found"),
    "a whole module beside its optimizer": (
        lambda f: torch_file(f, {"model": Lab(), "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}}}),
        "is a whole pickled module",
    ),
    "a whole module that is wrapped": (
        lambda f: torch_file(f, torch.nn.DataParallel(Lab())),
        "is a whole pickled module",
    ),
    "4 bits, as bitsandbytes stores them": (four_bit, "quantised"),
    "4 bits, as GPTQ stores them": (gptq, "quantised"),
    "shards of two models": (mixed_shards, "cannot be imported"),
    "an index that leads elsewhere": (index_of("../x.safetensors"), "which is not next to it"),
    "an index with a whole path": (index_of("{folder}/x.safetensors"), "which is not next to it"),
    "a shard that is a link to elsewhere": (index_of("link.safetensors"), "is a link to another folder"),
    "a link to itself": (linked("m.pt"), "there is no file"),
    "a link to a device without an end": (linked("/dev/zero"), "there is no file"),
    "a Keras file that is a zip": (
        lambda f: Path(torch_file(f, {}).replace(f / "m.keras")),
        "is a Keras file, which this program does not read",
    ),
    "200 MB of JSON as vocabulary": (huge_vocabulary, "v.json has more than 16 MiB"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_ends_in_one_sentence_and_leaves_nothing(case: str, tmp_path: Path) -> None:
    make, said = HOSTILE[case]
    path = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    answers = {"settings": {"n_heads": 5} if "heads" in case else HEADS}
    if "vocabulary" in case:
        answers["target_vocab"] = tmp_path / "v.json"
    with pytest.raises(CheckpointError) as caught:
        import_file(path, tmp_path / "out", Answers(**answers))
    sentence = str(caught.value)
    assert said in sentence and "\n" not in sentence and len(sentence) < 700
    assert sorted(tmp_path.rglob("*")) == before


def test_no_hostile_file_takes_more_memory_than_it_has_bytes(tmp_path: Path) -> None:
    """And 16 MiB, which is more than the lists of their parts take."""
    pytest.importorskip("resource")
    paths = []
    for number, (case, (make, _)) in enumerate(HOSTILE.items()):
        (tmp_path / str(number)).mkdir()
        if case not in ("200 MB of JSON as vocabulary", "a link to itself"):
            paths.append(str(make(tmp_path / str(number))))
    program = """
import os, resource, sys
from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.importers.importing import Answers, open_file
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def read(path):
    try:
        open_file(path, Answers(settings={"n_heads": 3}))
    except CheckpointError:
        pass
read(sys.argv[1])  # what is imported late, and torch's own tables, are there then
for path in sys.argv[1:]:
    before = peak()
    read(path)
    size = sum(entry.stat().st_size for entry in os.scandir(os.path.dirname(path)) if entry.is_file())
    assert peak() - before < size + 16 * 2**20, (path, peak() - before)
print("read", len(sys.argv) - 1)
"""
    done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"read {len(paths)}\n", done.stderr


@pytest.mark.parametrize("kind", ["torch", "safetensors"])
def test_a_file_that_is_cut_at_any_boundary_is_refused(kind: str, tmp_path: Path) -> None:
    """At the begin and the end of each part of it, and one byte to either side."""
    state = {"a": torch.ones(3, 4), "b": torch.zeros(5), "c": torch.ones(2, 2).half()}
    whole = tmp_path / "whole"
    if kind == "torch":
        torch.save(state, whole)
        with zipfile.ZipFile(whole) as archive:
            ends = [entry.header_offset for entry in archive.infolist()]
            ends += [entry.header_offset + 30 + len(entry.filename) + entry.file_size for entry in archive.infolist()]
            ends.append(archive.start_dir)
    else:
        save_file(state, whole)
        length = int.from_bytes(whole.read_bytes()[:8], "little")
        header = json.loads(whole.read_bytes()[8 : 8 + length])
        ends = [0, 8, 8 + length, *(8 + length + end for each in header.values() for end in each["data_offsets"])]
    content = whole.read_bytes()
    cuts = {end + by for end in ends for by in (-1, 0, 1)}
    for cut in sorted(cut for cut in cuts if 0 <= cut < len(content)):
        path = tmp_path / ("m.pt" if kind == "torch" else "m.safetensors")
        path.write_bytes(content[:cut])
        with pytest.raises(CheckpointError) as caught:
            read_file(path)
        assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    assert len(cuts) > 10
