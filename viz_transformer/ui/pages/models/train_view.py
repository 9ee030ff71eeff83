"""The tab that trains on the user's own data: a file, proposed settings, and the running training."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.sentences import capitalised, put_on_one_line
from viz_transformer.train import processes
from viz_transformer.train.processes import Asked, Training
from viz_transformer.train.tasks.own import LONGEST, TOKENS, Proposal, own_task
from viz_transformer.train.tasks.own import MAX_READ as MAX_IN_A_SHELL
from viz_transformer.train.user_data import OwnData
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.frame import questions, text
from viz_transformer.ui.pages.models import question, words
from viz_transformer.ui.pages.models.given_file import Given, cut_file, given_file, name_dropped_files
from viz_transformer.ui.pages.models.live_view import live
from viz_transformer.ui.pages.models.view import file_size
from viz_transformer.ui.session import cached
from viz_transformer.ui.session.memoize import memoize

KINDS = ["tsv", "txt", "csv", "jsonl", "gz"]
MAX_READ = 4_000_000
"""The most bytes of a file, unpacked, that are read for a proposal: it is made in the app's process."""
_LOOKED_AT, _TOLD, _GOOD, _START, _NAMED = "train_looked_at", "train_told", "train_good", "train_start", "train_named"


@dataclass(frozen=True)
class _Number:
    """A setting that is a number: its bounds and step."""

    least: float
    most: float
    step: float = 1


NUMBERS = {
    "longest": _Number(1, 65_536),
    "vocabulary": _Number(1, 50_000),
    "layers": _Number(1, 64),
    "d_model": _Number(1, 8192),
    "heads": _Number(1, 512),
    "d_ff": _Number(1, 65_536),
    "dropout": _Number(0.0, 0.99, 0.05),
    "epochs": _Number(1, 100_000),
    "snapshots": _Number(0, 200),
}


def train_model(asked: DeltaGenerator) -> None:
    """Draw the running training or the last one shown; else the file, the proposed settings, and the button. The
    question goes into `asked`: on that training, else on all trainings."""
    active = processes.running()
    if active is not None:
        st.session_state[_LOOKED_AT] = active.name
    found = {each.name: each for each in processes.trainings()}
    looked_at = found.get(st.session_state.get(_LOOKED_AT, ""))
    if looked_at is not None:
        live(looked_at, _LOOKED_AT, asked)
    else:
        questions.show_question(asked, question.trained([*found]))
        _draw_new()
    _draw_others([each for each in found.values() if looked_at is None or each.name != looked_at.name])


# --- a new one


def _draw_new() -> None:
    text.paragraph(words.ABOUT_TRAINING)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        whole = given_file(words.PAIRS, "train_pairs", KINDS, words.PAIRS_HINT)
        given = _cut(whole)
    if whole.path is None or given.path is None:
        return
    told: dict[str, Any] = st.session_state.setdefault(_TOLD, {}).setdefault(str(given.path), {})
    good: dict[str, Any] = st.session_state.setdefault(_GOOD, {}).setdefault(str(given.path), {})
    proposal, problem = None, ""
    try:
        with left, st.spinner(words.READING_FILE):
            proposal = _propose(given.path, told)
        good.clear()
        good.update(_values(proposal, told))
    except (ValueError, OSError) as error:
        problem = f"{capitalised(_translate_sentence(str(error)))}."
    with right:
        _draw_settings({"tokens": TOKENS[0], **good, **told}, told)
    with left:
        if problem:
            text.paragraph(put_on_one_line(problem, 600), tone="bad")
        if "columns" in told or f"“{words.COLUMNS}”" in problem:
            _draw_columns(told)
        if given.path != whole.path:
            text.paragraph(_beginning_of(whole.path, given.path))
        for fact in () if proposal is None else proposal.facts:
            begins = str(given.path)  # a file keeps its name as it is
            said = fact.words if fact.words.startswith(begins) else capitalised(fact.words)
            text.paragraph(f"{name_dropped_files(said)}.")
        _draw_name_and_button(given, told, possible=proposal is not None)


def _cut(whole: Given) -> Given:
    """The file, or the beginning of a large one; an unreadable file unchanged, since reading it reports why."""
    try:
        with st.spinner(words.READING_FILE):
            return cut_file(whole, MAX_READ)
    except (ValueError, OSError):
        return whole


def _beginning_of(whole: Path, cut: Path) -> str:
    """A sentence on the part of a large file that is read, and on how to read all of it."""
    size, kept_size = (file_size(path.stat().st_size) for path in (whole, cut))
    return words.first_part(whole.name, size, kept_size, file_size(MAX_IN_A_SHELL))


def _propose(path: Path, told: dict[str, Any]) -> Proposal:
    stat = path.stat() if path.is_file() else None
    written = None if stat is None else (stat.st_mtime, stat.st_size)
    return _read(path, written, tuple(sorted(told.items())))


@memoize(4)
def _read(path: Path, written: tuple[float, int] | None, told: tuple[tuple[str, Any], ...]) -> Proposal:
    asked = _ask(path, dict(told))
    return own_task(asked.own, out=path.stem, epochs=asked.epochs)


def _ask(path: Path, told: dict[str, Any]) -> Asked:
    own = {name: value for name, value in told.items() if name != "epochs"}
    return Asked(own=OwnData(pairs=path, **own), epochs=told.get("epochs"))


def _values(proposal: Proposal, told: dict[str, Any]) -> dict[str, Any]:
    """The proposed values by setting."""
    config, plan = proposal.config, proposal.task.plan
    in_pairs = config.encoder_layers > 0
    values: dict[str, Any] = {
        "tokens": told.get("tokens", TOKENS[0]),
        "longest": told.get("longest", LONGEST) if in_pairs else config.max_target,
        "layers": config.decoder_layers,
        "d_model": config.d_model,
        "heads": config.n_heads,
        "d_ff": config.d_ff,
        "dropout": config.dropout,
        "epochs": plan.epochs,
        "snapshots": plan.spread,
    }
    if values["tokens"] != "chars":
        values["vocabulary"] = max(config.source_vocab_size or 0, config.target_vocab_size or 0)
    return values


def _draw_settings(values: dict[str, Any], told: dict[str, Any]) -> None:
    """Draw the proposed settings, each to be changed."""
    values.setdefault("longest", LONGEST)
    text.section(words.PROPOSED)
    columns = st.columns(3, gap="small")
    with columns[0]:
        key = _set_widget("tokens", values["tokens"])
        st.selectbox(
            words.TOKENS,
            TOKENS,
            format_func=words.TOKEN_KINDS.__getitem__,
            key=key,
            on_change=_tell,
            args=(told, "tokens", key),
        )
    there = [name for name in NUMBERS if name in values]
    for place, name in enumerate(there, start=1):
        number, value = NUMBERS[name], values[name]
        whole = isinstance(value, int)
        bounds = (int(number.least), int(number.most), int(number.step)) if whole else (0.0, number.most, number.step)
        with columns[place % 3]:
            key = _set_widget(name, value)
            st.number_input(
                words.NUMBERS[name],
                min_value=bounds[0],
                max_value=bounds[1],
                step=bounds[2],
                key=key,
                on_change=_tell,
                args=(told, name, key),
                help=words.NUMBER_HINTS.get(name),
            )
    if told:
        st.button(words.UNDO_CHANGES, key="train_as_proposed", on_click=told.clear, type="tertiary")


def _draw_columns(told: dict[str, Any]) -> None:
    """Draw the choice of the two columns of a CSV or JSON Lines file to learn from."""
    key = _set_widget("columns", told.get("columns", ""))
    st.text_input(
        words.COLUMNS,
        key=key,
        placeholder=words.COLUMNS_HINT,
        help=words.ABOUT_COLUMNS,
        on_change=_tell,
        args=(told, "columns", key),
    )


def _set_widget(name: str, value: Any) -> str:
    """The key of a setting's widget, after setting it to this value."""
    key = f"train_{name}"
    st.session_state[key] = value
    return key


def _tell(told: dict[str, Any], name: str, key: str) -> None:
    value = st.session_state[key]
    if value == "":
        told.pop(name, None)
    elif value is not None:
        told[name] = value


def _translate_sentence(sentence: str) -> str:
    """A sentence of the command in the words of the page."""
    said = name_dropped_files(sentence)
    for command, here in words.OF_THE_COMMAND.items():
        said = said.replace(command, here)
    return said


def _draw_name_and_button(given: Given, told: dict[str, Any], *, possible: bool) -> None:
    assert given.path is not None
    taken = {each.name for each in cached.summaries()}
    if st.session_state.get(_NAMED) != str(given.path):
        st.session_state[_NAMED] = str(given.path)
        st.session_state["train_name"] = processes.usual_name(given.path.name, taken)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(words.MODEL_NAME, key="train_name", max_chars=60).strip()
        clicked = st.session_state.__setitem__
        st.button(
            words.TRAIN,
            key="train_button",
            on_click=clicked,
            args=(_START, True),
            type="primary",
            disabled=not possible,
        )
    text.paragraph(words.HOW_LONG)
    if not st.session_state.pop(_START, False) or not possible:
        return
    try:
        training = processes.start(_ask(given.path, told), name, taken, keep=given.dropped)
    except (ValueError, CheckpointError) as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    st.session_state[_LOOKED_AT] = training.name
    st.session_state.pop(_NAMED)
    st.rerun()


# --- those that are there


def _remove(training: Training) -> None:
    with suppress(ValueError):  # it is running again: then it is shown above
        processes.remove(training)


def _draw_others(found: list[Training]) -> None:
    """Draw the other trainings of the folder, each to be shown or removed."""
    if not found:
        return
    text.section(words.TRAININGS)
    for each in found:
        with st.container(horizontal=True, vertical_alignment="center", key=f"train_kept_{each.name}"):
            how = words.DONE if each.done else words.CAN_GO_ON if each.saved else words.NOTHING_SAVED
            text.paragraph(words.how_it_is(each.name, how))
            look = st.session_state.__setitem__
            st.button(words.SHOW, key=f"train_show_{each.name}", on_click=look, args=(_LOOKED_AT, each.name))
            with st.popover(words.REMOVE):
                text.paragraph(words.removes_training(each.name, model_stays=each.done))
                st.button(words.REMOVE_IT, key=f"train_remove_{each.name}", on_click=_remove, args=(each,))
