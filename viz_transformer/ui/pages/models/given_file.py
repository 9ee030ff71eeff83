"""A file given by its path, or dropped."""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from viz_transformer.measuring.data import beginning

_PATHS, _FOLDER, _CUT = "given_paths", "given_folder", "given_cut"


@dataclass(frozen=True)
class Given:
    """The file, if there is one; dropped: it is in a folder that is deleted with the session."""

    path: Path | None
    dropped: bool = False


def given_file(label: str, name: str, kinds: list[str], hint: str) -> Given:
    """The file from a box for its path or a place to drop it; a typed path wins. Paths are kept when the page is
    left."""
    memory = st.session_state.setdefault(_PATHS, {})
    key = f"{name}_path"
    if key not in st.session_state:
        st.session_state[key] = memory.get(name, "")
    typed = st.text_input(label, key=key, placeholder=hint).strip()
    memory[name] = typed
    if len(typed) > 2 and typed[0] == typed[-1] and typed[0] in "\"'":  # as a file manager or a terminal copies it
        typed = typed[1:-1]
    dropped = st.file_uploader(label, kinds, key=f"{name}_file", label_visibility="collapsed")
    if typed:
        return Given(Path(typed).expanduser())
    return Given(None) if dropped is None else Given(_keep_file(dropped.name, dropped.getbuffer()), dropped=True)


def cut_file(given: Given, most: int) -> Given:
    """The file, or, if it has more than `most` bytes unpacked, its beginning under the same name, `dropped`, in the
    folder of dropped files. Raises ValueError for a file that cannot be read."""
    if given.path is None or not given.path.is_file():
        return given
    status = given.path.stat()
    known: dict[Any, Path | None] = st.session_state.setdefault(_CUT, {})
    key = str(given.path), status.st_size, status.st_mtime_ns
    if key not in known:
        content = beginning(given.path, most)
        name = given.path.name.removesuffix(".gz")
        known[key] = None if content is None else _keep_file(name, memoryview(content))
    cut = known[key]
    return given if cut is None else Given(cut, dropped=True)


def name_dropped_files(sentence: str) -> str:
    """The sentence with dropped files by name, without their temporary folder."""
    held: Any = st.session_state.get(_FOLDER)
    return sentence if held is None else re.sub(rf"{re.escape(held.name)}[/\\\\][0-9a-f]{{16}}[/\\\\]", "", sentence)


def _keep_file(name: str, content: memoryview) -> Path:
    """The path of the dropped file on disk, written once per content, for as long as the session lasts."""
    held: Any = st.session_state.get(_FOLDER)
    if held is None:
        held = st.session_state[_FOLDER] = tempfile.TemporaryDirectory(prefix="viz-transformer-")
    path = Path(held.name) / hashlib.sha256(content).hexdigest()[:16] / Path(name).name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return path
