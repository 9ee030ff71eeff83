"""Checkpoint folders that are damaged in one file, or made to do harm, with digests that agree."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import torch
from builders import tiny_checkpoint

from attack import hostile, reading, texts
from attack.trying import attempt, check
from viz_transformer.checkpoint import Summary, list_checkpoints, load, save_checkpoint
from viz_transformer.checkpoint.describe import checkpoint_rows
from viz_transformer.checkpoint.files import CARD, CONFIG, EXAMPLES, HISTORY, VOCABULARIES, WEIGHTS
from viz_transformer.running.decoding import decode
from viz_transformer.text import Codec, RegexTokens, SpacyWords
from viz_transformer.text.notation import read_notation

HISTORY_TEXT = "step,train_loss,validation_loss,learning_rate,gradient_norm\n0,2.7,2.8,0,1\n10,1.5,1.6,0.1,1\n"
SNAPSHOT = "snapshots/step-4.safetensors"
METRIC = {"split": "test", "command": "viz-transformer evaluate tiny", "pairs": 100, "exact_match": 0.5, "loss": 0.25}
CARD_TEXT: dict[str, Any] = {
    "task": "numbers",
    "title": "Tiny",
    "data": "made here",
    "data_licence": "CC0",
    "weights_terms": "CC0",
    "seed": 1,
    "steps": 10,
    "exported_step": 10,
    "training_command": "viz-transformer train tiny",
    "data_sizes": {"train": 10, "validation": 2, "test": 2},
    "training_lengths": {"source": 9, "target": 8},
    "notation": {"kind": "expressions", "functions": ["exp", "sin"], "symbols": "abc", "largest": 6, "plain": True},
    "evaluation": {"data": "tiny/test.tsv", "separator": "\t", "limit": 10, "longest": [8, 8], "bleu": "13a"},
    "metrics": [METRIC],
}


@cache
def whole(tokenizer: str) -> dict[str, bytes]:
    """The files of a whole checkpoint folder, by name; its texts are split in one of three ways."""
    ckpt = tiny_checkpoint("encoder-decoder")
    assert ckpt.source_codec is not None
    splits = {
        "characters": ckpt.source_codec.tokenizer,
        "regex": RegexTokens(r"[,\-]|[^\s,\-]+"),
        "spacy": SpacyWords("en"),
    }
    with TemporaryDirectory() as folder:
        save_checkpoint(
            Path(folder) / "tiny",
            state_dict=ckpt.model.state_dict(),
            config=ckpt.config,
            source_codec=Codec(splits[tokenizer], ckpt.source_codec.vocabulary),
            target_codec=ckpt.target_codec,
            card=CARD_TEXT,
            history_csv=HISTORY_TEXT,
            examples=[("abc", "uvw"), ("h", "0")],
            snapshots={4: ckpt.model.state_dict()},
        )
        root = Path(folder) / "tiny"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def attack(draw: Random, place: Path) -> None:
    """A folder with something wrong, opened and used as the program uses it."""
    files = dict(whole(draw.choice(("characters", "regex", "spacy"))))
    name, signed = draw.choice([*files, CONFIG, CONFIG, WEIGHTS]), draw.random() < 0.8
    special = draw.choice(SPECIAL) if draw.random() < 0.1 else None
    if special is None:
        files[name] = _damaged(name, files[name], draw)
    if signed and name != CARD:
        card = json.loads(files[CARD])
        card["sha256"] = {listed: sha256(files[listed]).hexdigest() for listed in card["sha256"]}
        files[CARD] = json.dumps(card).encode()
    folder = place / "tiny"
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    if special is not None:
        (folder / name).unlink()
        special(folder / name)
    before = {entry.name for entry in place.iterdir()}
    text = texts.text(draw, ("abc",))
    try:
        attempt(lambda: open_and_use(folder, text), size=sum(map(len, files.values())))
        check({entry.name for entry in place.iterdir()} == before, "something was made beside the folder")
    finally:
        shutil.rmtree(folder)


def open_and_use(folder: Path, text: str) -> None:
    """List it, open it, read all that it has, and run it."""
    (listed,) = list_checkpoints(folder.parent)
    if isinstance(listed, Summary):
        listed.parameter_count, listed.snapshots()
    else:
        raise ValueError(listed.error)
    ckpt = load(folder)
    checkpoint_rows(ckpt)
    ckpt.history(), ckpt.examples()
    for step in ckpt.snapshots()[:2]:
        ckpt.at_snapshot(step)
    reading.check_run(decode(ckpt, text, max_steps=2))
    if (notation := read_notation(listed.card)) is not None:
        found = notation.read(text)
        check(found.inside == (found.offered is None and not found.said), "a text is neither inside nor outside")


def _damaged(name: str, content: bytes, draw: Random) -> bytes:
    if name.endswith(".safetensors"):
        return draw.choice((hostile.safetensors, hostile.safetensors, _foreign))(draw, content)
    if name.endswith(".json"):
        valid = json.loads(content)
        if name == CONFIG and draw.random() < 0.4:
            return hostile.json_bytes(_harmful_codec(valid, draw))
        if name == CONFIG and draw.random() < 0.4:
            return hostile.json_bytes(valid | {"model": _harmful_model(valid["model"], draw)})
        return hostile.json_object(draw, valid)
    lines = content.decode().splitlines(keepends=True)
    if draw.random() < 0.5:
        place = draw.randrange(len(lines))
        lines[place] = texts.text(draw, (lines[place],)) + draw.choice(("", "\n"))
        return "".join(lines).encode("utf-8", "surrogatepass")
    return hostile.bytes_damaged(content, draw)


def _harmful_codec(config: dict[str, Any], draw: Random) -> dict[str, Any]:
    """A tokenizer that is valid, or nearly so, and takes for ever or all the memory."""
    tokenizer = draw.choice(
        (
            {
                "pattern": draw.choice(
                    (r"(a+)+$", r"(a|a)*$", r"(.*)*\d", r"(a{1,60}){1,60}$", "(", "", "a{99999}", r"\1")
                )
            },
            {"replacements": [["a", "a" * draw.choice((2, 1000))]] * draw.choice((3, 12, 1000))},
            {"replacements": [["a", "b"], ["b", "ab" * 500]] * 8},
            {"join": "x" * draw.choice((1, 10**6))},
            {"pattern": "a" * 10**6},
        )
    )
    codec = {"kind": "regex", "pattern": r"\S+", "join": " ", "replacements": [], **tokenizer}
    side = draw.choice(("source_codec", "target_codec"))
    return config | {
        side: draw.choice((None, config[side] | {"tokenizer": codec}, config[side] | {"tokenizer": codec}))
    }


def _harmful_model(model: dict[str, Any], draw: Random) -> dict[str, Any]:
    """Settings that fit each other and ask for much."""
    return model | draw.choice(
        (
            {"max_source": draw.choice((2**20, 2**24, 2**28, 2**40))},
            {"max_target": draw.choice((2**20, 2**24, 2**28))},
            {"positions": "learned", "max_source": 2**24},
            {"positions": "none", "max_source": 2**62},
            {"encoder_layers": draw.choice((0, 1, 256, 257, 10**6))},
            {"d_model": draw.choice((18, 2**20, 2**40)), "n_heads": draw.choice((1, 2, 2**20))},
            {"pad_to": 20, "max_target": 20, "max_source": 20},
            {"pad_to": 2**24, "max_target": 2**24, "max_source": 2**24},
            {"mask_fill": draw.choice(("-inf", "-1e9", "added-1e9")), "padding_mask": "key-or-query"},
            {"norm_epsilon": draw.choice((1e-300, 0.999))},
            {"source_pad": draw.choice((0, 1, 2, 3, 11, 12))},
        )
    )


class Evil:
    """Unpickling it makes a folder beside the checkpoint: proof that code ran."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("code-ran",)


def _foreign(draw: Random, content: bytes) -> bytes:
    """Another kind of file in the place of the weights."""
    written = io.BytesIO()
    torch.save(draw.choice(({"w": torch.zeros(3)}, {"w": Evil()})), written)
    return draw.choice(
        (
            pickle.dumps(Evil(), draw.choice((0, 2, 4))),
            written.getvalue(),
            hostile.bytes_damaged(written.getvalue(), draw),
            b"PK\x03\x04" + content,
            b"\x80\x04" + content,
            b"\x1f\x8b" + content,
        )
    )


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ")
        file.truncate(20 * 2**30)  # takes no room on the disk


SPECIAL: tuple[Callable[[Path], None], ...] = (os.mkfifo, os.mkdir, _endless, _loop, _huge, lambda path: None)
"""What may stand in the place of a file: a pipe, a folder, a device, a link to itself, 20 GiB, nothing."""

assert {CONFIG, CARD, WEIGHTS, HISTORY, EXAMPLES, SNAPSHOT, *VOCABULARIES.values()} == {*whole("characters")}
