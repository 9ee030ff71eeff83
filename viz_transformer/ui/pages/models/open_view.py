"""The tab that imports a file as a model: the file, what was found in it, open questions, a name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
import streamlit as st

from viz_transformer import huggingface, numerals
from viz_transformer.checkpoint import CheckpointError, describe, load
from viz_transformer.checkpoint.contents import Unreadable
from viz_transformer.checkpoint.folders import RECORDING
from viz_transformer.checkpoint.importers.import_report import report_rows
from viz_transformer.checkpoint.importers.importing import (
    Answers,
    Opened,
    codecs_of,
    open_file,
    replan,
    special_settings,
    without_start,
    write_import,
)
from viz_transformer.checkpoint.importers.inference import gated
from viz_transformer.checkpoint.importers.mapping import How, Placement
from viz_transformer.checkpoint.importers.plan import Plan, Setting
from viz_transformer.checkpoint.importers.reported import Reported, parse_reported, read_reported
from viz_transformer.checkpoint.library import (
    keep_folder,
    keep_recording,
    kept_models,
    new_place,
    remove,
    rename,
    usual_name,
)
from viz_transformer.checkpoint.saved_traces import RecordingSummary, read_recording
from viz_transformer.checkpoint.writing import OutputError
from viz_transformer.figures import labels
from viz_transformer.huggingface.folder import HuggingFaceSummary, is_huggingface, read_folder
from viz_transformer.huggingface.names import allowed_in_the_app, is_name, not_allowed
from viz_transformer.huggingface.path_hints import instead_of
from viz_transformer.measuring.alternatives import Losses, Measurement, Texts, measure_alternative, read_texts
from viz_transformer.measuring.by_sample import settle_by_sample
from viz_transformer.measuring.sample import Sample, read_sample
from viz_transformer.measuring.sample_script import SCRIPT
from viz_transformer.measuring.verifying import verify_folder
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.sentences import capitalised, join_names, put_on_one_line
from viz_transformer.text.readable import is_read, readable
from viz_transformer.text.vocabulary import ROLES
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import question, words
from viz_transformer.ui.pages.models.given_file import given_file, name_dropped_files
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.examples import OWN_LENGTH
from viz_transformer.ui.session.waiting import waiting

KINDS = ["pt", "pth", "ckpt", "bin", "safetensors"]
_ACT, _MEASURED, _PLACES, _FETCHED = "open_act", "open_measured", "open_places", "open_fetched"


@dataclass(frozen=True)
class _Files:
    """The files that were named or dropped: weights, vocabularies and texts."""

    weights: Path | None
    source_vocab: Path | None
    target_vocab: Path | None
    texts: Path | None


@dataclass(frozen=True)
class _Found:
    """The result of measuring a file on texts; count: of measurements, each of which makes new boxes with new
    answers."""

    measurement: Measurement
    texts: Texts
    count: int


@dataclass(frozen=True)
class _Row:
    """The proposed place of a tensor; "" if none was found."""

    name: str
    shape: str
    place: str
    how: How | Literal[""]
    number: int


def open_model() -> Question:
    """Draw the files in a row; below them open questions and the button at the left, findings at the right. Returns the
    page's question: on the given file, else on the library."""
    text.paragraph(words.ABOUT_OPENING)
    given = _files()
    asks = None if given.weights is None else _draw_file(given.weights, given)
    kept = _draw_own_models()
    return question.opened(kept) if asks is None else asks


def _draw_file(weights: Path, given: _Files) -> Question:
    """Draw the findings for a weights file, a recording or a transformers folder; returns the page's question."""
    if is_name(weights):
        return _draw_hub(weights.as_posix())
    recording = read_recording(weights)
    if is_huggingface(weights):
        return question.file(weights.name, ready=_transformers(weights))
    if isinstance(recording, Unreadable):
        _show_problem(recording.error)
        return question.file(weights.name, ready=False)
    if recording is not None:
        _recording(recording)
        return question.file(weights.name)
    instead = instead_of(weights)
    try:
        opened, proposed = _open_file(given)
        specials = [] if opened.plan.config is None else special_settings(opened)
    except CheckpointError as error:
        _show_problem(instead or error)
        return question.file(weights.name, ready=False)
    if instead is not None and opened.plan.problems:
        _show_problem(instead)
    asked = _list_open_settings([*opened.plan.settings, *specials])
    left, right = st.columns([2, 3], gap="medium")
    with left:
        top = st.container()  # filled last: opening needs all answers below it
        _draw_leave_out(opened, _read_answers(weights))
        _draw_measure_button(opened, given.texts)
        sample = _sample()
        _draw_questions(opened, specials, _read_answers(weights))
        with top:
            _draw_name_and_button(opened, sample)
    with right:
        _draw_measured_table(opened)
        if opened.plan.layout is None:
            _draw_places(opened, proposed, _read_answers(weights))
        text.section(words.FOUND)
        names = {setting.name for setting in asked}
        found = ((name, name_dropped_files(value)) for name, value in report_rows(opened) if name not in names)
        rows = [(name, put_on_one_line(value, 200)) for name, value in found]
        text.definitions(rows)
    guessed = sum(setting.asked for setting in asked)
    ready = not opened.plan.problems and not opened.plan.unanswered
    return question.file(weights.name, ready=ready, guessed=guessed)


def _draw_hub(name: str) -> Question:
    """Offer to fetch a model of the Hugging Face hub for a name that no local file has, if that is allowed; returns the
    page's question."""
    held: dict[str, Path] = st.session_state.setdefault(_FETCHED, {})
    if name not in held or not held[name].is_dir():
        why = huggingface.needs(words.a_hub_model(name))
        if why or not allowed_in_the_app():
            _show_problem(why or words.not_fetched(name, not_allowed(name)))
            return question.file(name, ready=False)
        text.paragraph(words.may_be_of_hub(name))
        _draw_button(words.FETCH, "open_fetch", ("fetch", name))
        if _take_action() != ("fetch", name):
            return question.file(name, ready=False)
        st.session_state.pop(_ACT)
        try:
            with waiting(words.fetching(name), st.empty()):
                held[name] = huggingface.fetched(name)
        except CheckpointError as error:
            _show_problem(error)
            return question.file(name, ready=False)
        st.rerun()
    return question.file(name, ready=_transformers(held[name], Path(name)))


def _show_problem(problem: object) -> None:
    """Show a problem as a sentence."""
    text.paragraph(f"{name_dropped_files(capitalised(str(problem)))}.", tone="bad")


# --- files


def _files() -> _Files:
    """The files given for weights, both vocabularies and texts, each by a path or dropped."""
    vocabulary = ["json", "txt", "vocab", "pkl", "model", "spm"]
    with st.container(key="open_files"):
        weights, source, target, texts = st.columns(4, gap="medium")
    with weights:
        of_weights = _box("weights", KINDS)
    with source:
        of_source = _box("source", vocabulary)
    with target:
        of_target = _box("target", vocabulary)
    with texts:
        of_texts = _box("texts", ["tsv", "txt"])
    return _Files(of_weights, of_source, of_target, of_texts)


def _box(file: str, kinds: list[str]) -> Path | None:
    """The path of one of the files, from its box, typed or dropped."""
    return given_file(words.FILE_LABELS[file], f"open_{file}", kinds, words.FILE_HINTS[file]).path


# --- what was found


_NO_SETTINGS = ("weights", "places", "ignore", "reported_loss")
_ROLES = {f"{side}_{role}" for side in ("source", "target") for role in ROLES}


def _read_answers(weights: Path) -> dict[str, Any]:
    """This session's answers about a file, by name."""
    answers: dict[str, Any] = st.session_state.setdefault("open_answers", {}).setdefault(str(weights), {})
    return answers


def _open_file(given: _Files) -> tuple[Opened, Plan]:
    """The opened file with the current answers, and its plan before places were corrected."""
    assert given.weights is not None
    told = _read_answers(given.weights)
    found = _find_measurement(given.weights)
    answers = Answers(
        settings={name: value for name, value in told.items() if name not in (*_ROLES, *_NO_SETTINGS)},
        specials={role: value for role, value in told.items() if role in _ROLES},
        weights=told.get("weights"),
        ignore=tuple(re.escape(name) for name in told.get("ignore", ())),
        source_vocab=given.source_vocab,
        target_vocab=given.target_vocab,
        measured={} if found is None else found.measurement.answers,
        reported_loss=parse_reported(told["reported_loss"]) if told.get("reported_loss") else None,
    )
    opened = open_file(given.weights, answers)
    if opened.plan.layout is not None or not told.get("places"):
        return opened, opened.plan
    mapping = _correct_places(_rows(opened.plan), told["places"])
    return replan(opened.found, replace(answers, mapping=mapping)), opened.plan


def _find_measurement(weights: Path) -> _Found | None:
    """This session's measurement of the file on texts, if any."""
    found: _Found | None = st.session_state.setdefault(_MEASURED, {}).get(str(weights))
    return found


def _list_open_settings(settings: Sequence[Setting]) -> list[Setting]:
    """The settings that the file does not determine, answered or not."""
    return [setting for setting in settings if setting.asked or setting.origin in ("given", "measured")]


def _draw_questions(opened: Opened, specials: Sequence[Setting], told: dict[str, Any]) -> None:
    """Draw the questions that the file leaves open, with default or measured answers."""
    asked = _list_open_settings([*opened.plan.settings, *specials])
    key = _key(opened)
    if not asked and len(opened.weights.copies) < 2:
        return
    text.section(words.NOT_IN_FILE)
    columns = st.columns(2, gap="small")
    for index, setting in enumerate(asked):
        with columns[index % 2]:
            present = None if setting.origin == "open" else setting.value
            _answer(told, setting.name, _draw_question(setting, f"open_{key}_{setting.name}"), present)
    if len(opened.weights.copies) > 1:
        with columns[len(asked) % 2]:
            copy = st.selectbox(words.FILE_LABELS["weights"], opened.weights.copies, key=f"open_{key}_weights")
            _answer(told, "weights", copy, told.get("weights", opened.weights.copies[0]))


def _key(opened: Opened) -> str:
    """The key of the boxes about a file: another for another file or measurement."""
    found = _find_measurement(opened.found.path)
    return f"{hashlib.sha256(str(opened.found.path).encode()).hexdigest()[:8]}_{0 if found is None else found.count}"


def _draw_question(setting: Setting, key: str) -> Any:
    """The answer to one setting; the default, or the measured one, is marked."""
    label = _name_setting(setting.name)
    if setting.origin == "open":
        format_func = _describe_pooling if setting.name == "pooling" else str
        return st.selectbox(
            label, setting.options, None, format_func=format_func, key=key, placeholder=words.CHOOSE_ONE
        )
    if isinstance(setting.value, bool) or setting.options:
        options = list(dict.fromkeys([*setting.options, setting.value]))
        mark = words.ORIGINS_OF_ANSWERS.get(setting.origin, "")

        def named(value: Any) -> str:
            word = words.YES_OR_NO[value] if value is None or isinstance(value, bool) else str(value)
            word = _describe_pooling(value) if setting.name == "pooling" else word
            if setting.why and value == setting.value:
                return f"{word}: {setting.why}"
            return f"{word}{mark}" if value == setting.value else word

        return st.selectbox(label, options, options.index(setting.value), format_func=named, key=key)
    if isinstance(setting.value, int):
        return st.number_input(label, 1, 100_000, setting.value, key=key)
    return setting.value


def _name_setting(name: str) -> str:
    return words.SETTINGS.get(name, name)


def _describe_pooling(pooling: str) -> str:
    """The items that labels are for, in a list's words."""
    return words.POOLED.get(pooling, pooling)


def _answer(told: dict[str, Any], name: str, value: Any, present: Any) -> None:
    """Store an answer that differs from the current one, and reread the file with it."""
    if value != present:
        told[name] = value
        st.rerun()


def _draw_leave_out(opened: Opened, told: dict[str, Any]) -> None:
    """Draw the question whether to leave out the tensors without a place in a known layout; for an unknown one the
    table asks it."""
    if opened.plan.layout is None or gated(opened.plan.unused):
        return
    names = [*opened.plan.unused, *told.get("ignore", ())]
    if not names:
        return
    key = f"open_{_key(opened)}_ignore"
    st.session_state[key] = not opened.plan.unused
    st.checkbox(words.LEAVE_OUT, key=key, on_change=_leave_out, args=(key, told, names))
    if without := describe.left_out_in_words(opened.plan.left_out):
        text.paragraph(f"{without}. {words.NOT_THE_MODEL}", tone="warning")


def _leave_out(key: str, told: dict[str, Any], names: Sequence[str]) -> None:
    told["ignore"] = list(names) if st.session_state[key] else []


# --- measured answers


def _draw_measure_button(opened: Opened, path: Path | None) -> None:
    """Draw the button that measures on texts."""
    if path is None:
        return
    possible = not opened.plan.problems
    _draw_reported_loss(opened)
    _draw_button(words.MEASURE, "open_measure", ("measure", ""), disabled=not possible)
    if _take_action() == ("measure", "") and possible:
        st.session_state.pop(_ACT)
        slot = st.empty()

        def say(runs: int) -> None:
            with slot:
                text.paragraph(words.measuring(runs))

        before = _find_measurement(opened.found.path)
        try:
            texts = read_texts(path, opened)
            _, measurement = measure_alternative(_drop_measurement(opened), texts, say)
        except ValueError as error:
            slot.empty()
            _show_problem(error)
            return
        count = 1 if before is None else before.count + 1
        st.session_state[_MEASURED][str(opened.found.path)] = _Found(measurement, texts, count)
        st.rerun()


def _draw_reported_loss(opened: Opened) -> None:
    """Draw the box for the loss reported in training, to compare with the loss on the texts; the file may state one."""
    told, key = _read_answers(opened.found.path), f"open_{_key(opened)}_reported"
    stated = read_reported(opened.found)
    hint = words.REPORTED_HINT if stated is None else words.as_stated(numerals.significant(stated.nats))
    written = st.text_input(
        words.REPORTED_LOSS, told.get("reported_loss", ""), key=key, placeholder=hint, max_chars=20
    ).strip()
    if written:
        try:
            parse_reported(written)
        except CheckpointError as error:
            _show_problem(error)
            return
    if written != told.get("reported_loss", ""):
        st.session_state.get(_MEASURED, {}).pop(str(opened.found.path), None)  # it was compared with another loss
    _answer(told, "reported_loss", written, told.get("reported_loss", ""))


def _draw_measured_table(opened: Opened) -> None:
    """Draw the losses under each alternative, and the conclusion."""
    if (found := _find_measurement(opened.found.path)) is None:
        return
    measurement = found.measurement
    text.section(words.TEXTS_SHOW)
    grade, cost, sure = st.columns([1, 2, 3], gap="small")
    with grade:
        text.paragraph(words.NOT_PROVED, tone="bad" if measurement.worse else "plain", lead=words.GRADE)
    with cost:
        text.paragraph(
            words.it_reads(measurement.reading),
            tone="bad" if measurement.worse else "plain",
            lead=words.OF_TEXTS,
        )
    with sure:
        text.paragraph(words.GIVE_A_SAMPLE, lead=words.TO_BE_SURE)
        st.code(SCRIPT, language="python", height=120)
    if measurement.doubt:
        text.paragraph(words.nothing_decided(measurement.doubt), tone="warning")
    rows = [(_name_setting(each.name), each.verdict, _losses(each)) for each in measurement.tables]
    st.html(text.table(rows, head=("", "", words.LOSS_COLUMN), style="vt-facts vt-losses"))
    text.paragraph(words.measured_on_texts(measurement.sentence))


def _losses(each: Losses) -> str:
    """A line for each alternative, with its loss."""
    width = max((len(name) for name, _ in each.lines), default=0)
    return "\n".join(f"{name.ljust(width)}  {loss}" for name, loss in each.lines)


def _drop_measurement(opened: Opened) -> Opened:
    """The opened file without earlier measurements."""
    return replan(opened.found, replace(opened.answers, measured={}))


# --- a sample


def _sample() -> Path | None:
    """The owner's sample, if given; draws its box and the code that writes one where the model was trained."""
    with st.expander(words.PROVE):
        text.paragraph(words.PROOF)
        st.code(SCRIPT, language="python", height=180)
        return _box("sample", ["npz", "json"])


# --- places of tensors


_HOW = ("", *get_args(How))


def _rows(plan: Plan) -> list[_Row]:
    """The tensors of the file with their proposed places; first those without one."""
    without = [_Row(name, str(list(plan.weights.tensors[name].shape)), "", "", 0) for name in plan.unused]
    return without + [
        _Row(name, str(list(plan.weights.tensors[name].shape)), ", ".join(place.to), place.how, place.number)
        for name, place in plan.mapping.items()
    ]


def _correct_places(rows: Sequence[_Row], edits: Mapping[str, Mapping[str, Any]]) -> dict[str, Placement]:
    """The mapping of these rows with the user's changes, as for `import --map`."""
    found = {}
    for row in rows:
        mine = edits.get(row.name, {})
        to = tuple(part for each in str(mine.get("place", row.place) or "").split(",") if (part := each.strip()))
        how: Any = mine.get("how", row.how) or (Placement.how if to else "")
        if how == "ignored":
            to = ()
        if to or how == "ignored":
            found[row.name] = Placement(to, how, int(mine.get("number", row.number) or 0))
    return found


def _draw_places(opened: Opened, proposed: Plan, told: dict[str, Any]) -> None:
    """Draw the table of tensors of an unknown layout, with cells to correct."""
    text.section(words.PLACES)
    text.paragraph(words.ABOUT_PLACES)
    key = f"open_{_key(opened)}_places"
    started = st.session_state.setdefault(_PLACES, {})
    if key not in st.session_state:  # the widget forgets its changes when the page is left
        started[key] = dict(told.get("places", {}))
    start = started[key]
    rows, heads = _rows(proposed), words.PLACE_COLUMNS
    cells = [{"tensor": row.name, "shape": row.shape, **_cells(row), **start.get(row.name, {})} for row in rows]
    st.data_editor(
        pd.DataFrame(cells),
        key=key,
        hide_index=True,
        width="stretch",
        column_config={
            "tensor": st.column_config.TextColumn(heads["tensor"], disabled=True),
            "shape": st.column_config.TextColumn(heads["shape"], disabled=True),
            "place": st.column_config.TextColumn(heads["place"], max_chars=400),
            "how": st.column_config.SelectboxColumn(heads["how"], options=list(_HOW)),
            "number": st.column_config.NumberColumn(heads["number"], min_value=0, max_value=100_000, step=1, width=64),
        },
        on_change=take_table_edits,
        args=(key, tuple(row.name for row in rows), str(opened.found.path)),
        alt=words.PLACES,
    )


def _cells(row: _Row) -> dict[str, Any]:
    return {"place": row.place, "how": row.how, "number": row.number}


def take_table_edits(key: str, names: Sequence[str], weights: str) -> None:
    """Store the user's changes in the table of tensors."""
    told = st.session_state["open_answers"][weights]
    places: dict[str, dict[str, Any]] = {name: dict(mine) for name, mine in st.session_state[_PLACES][key].items()}
    for row, changed in st.session_state[key]["edited_rows"].items():
        places.setdefault(names[int(row)], {}).update(changed)
    told["places"] = places


# --- the name, and what is there


def _draw_name_and_button(opened: Opened, sample: Path | None) -> None:
    possible = not opened.plan.problems and (not opened.plan.unanswered or sample is not None)
    name, taken_names = _name(opened.found.path, words.OPEN_MODEL, possible=possible)
    if _take_action() == ("open", "") and possible:
        st.session_state.pop(_ACT)
        try:
            proof = None if sample is None else read_sample(sample)
            if proof is not None:
                proof.texts(spec_of(codecs_of(opened)[0]))  # raises for a sample of another model
            if proof is not None and opened.plan.unanswered:
                opened = settle_by_sample(opened, proof)
            with st.spinner(words.READING_WEIGHTS):
                found = _find_measurement(opened.found.path)
                measurement = None if found is None else found.measurement.to_dict()
                bar = st.progress(0.0)

                def say(done: int, total: int) -> None:
                    read = (numerals.number(size / 2**20, 1, ",") for size in (done, total))
                    bar.progress(done / total, words.read_so_far(*read))

                folder = write_import(opened, new_place(name, taken_names), measurement, say)
                if found is not None or proof is not None:
                    _note_verification(folder, proof, found, opened.reported_loss)
        except (ValueError, OutputError) as error:
            _show_problem(error)
            return
        state.select(checkpoint=name, model_tab="card", **_text_for(name, opened, found))
        st.rerun()
    for problem in opened.plan.problems:
        _show_problem(problem)
    unanswered = [_name_setting(each.name) for each in opened.plan.settings if each.origin == "open"]
    if unanswered and not possible and not opened.plan.problems:
        _show_problem(words.not_said(join_names([f"“{name}”" for name in unanswered])))
    if possible and (lacking := without_start(opened)):
        text.paragraph(words.choose_start(capitalised(lacking)), tone="warning")


def _note_verification(folder: Path, proof: Sample | None, found: _Found | None, reported: Reported | None) -> None:
    """Write the results from a sample and texts into the folder's card; an encoder predicts no text."""
    ckpt = load(folder)
    texts = None if found is None or ckpt.spec.kind == "encoder-only" else found.texts
    if proof is not None or texts is not None:
        verify_folder(folder, ckpt, proof, texts, reported)


def _name(path: Path, label: str, ending: str = "", *, possible: bool = True) -> tuple[str, set[str]]:
    """Draw the box for a name and the button; returns the name, and the names in use."""
    taken_names = {each.name for each in cached.summaries()}
    if st.session_state.get("open_named_for") != str(path):
        st.session_state["open_named_for"] = str(path)
        named = Path(name_dropped_files(str(path)))  # the folder of a dropped file has no meaningful name
        told = path if named == path else Path(named.name.split(".")[0]) / named
        st.session_state["open_name"] = usual_name(told, taken_names, ending)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(words.MODEL_NAME, key="open_name", max_chars=60).strip()
        _draw_button(label, "open_button", ("open", ""), type="primary", disabled=not possible)
    return name, taken_names


def _transformers(folder: Path, called: Path | None = None) -> bool:
    """Draw the findings for a transformers folder, and link it in the library. called: the path that its name is made
    from, if not its own. Returns whether it can be read."""
    try:
        found = read_folder(folder)
    except CheckpointError as error:
        _show_problem(error)
        return False
    left, right = st.columns([2, 3], gap="medium")
    with left:
        text.paragraph(words.TRANSFORMERS_FOUND)
        name, taken_names = _name(called or folder, words.OPEN_MODEL)
    with right:
        text.section(words.FOUND)
        text.definitions(_rows_of(found))
    if _take_action() != ("open", ""):
        return True
    st.session_state.pop(_ACT)
    try:
        cached.warm_up()
        huggingface.load_in_the_app(folder)  # reports problems with weights and tokenizer before storing
        keep_folder(folder, name, taken_names)
    except (ValueError, OutputError) as error:
        _show_problem(error)
        return True
    state.select(checkpoint=name, model_tab="card")
    st.rerun()


def _rows_of(found: HuggingFaceSummary) -> list[tuple[str, str]]:
    values = (found.architecture, describe.architecture_of(found.spec), f"{found.parameter_count:,}")
    return list(zip(words.OF_TRANSFORMERS, values, strict=True))


def _recording(recording: RecordingSummary) -> None:
    """Store the saved trace of a watched module in the library, and select it."""
    left, _ = st.columns([2, 3], gap="medium")
    with left:
        text.paragraph(words.RECORDING_FOUND)
        name, taken_names = _name(recording.path, words.OPEN_RECORDING, RECORDING)
        name = f"{name.removesuffix(RECORDING)}{RECORDING}"
        if _take_action() != ("open", ""):
            return
        st.session_state.pop(_ACT)
        try:
            keep_recording(recording, name, taken_names)
        except (ValueError, OutputError) as error:
            _show_problem(error)
            return
    state.select(checkpoint=name, model_tab="card", text=recording.text)
    st.rerun()


def _text_for(name: str, opened: Opened, found: _Found | None) -> dict[str, str]:
    """The fields of a replacement for a text that the new model cannot read: a short one of its owner's, or its own
    first tokens; empty if it can read the text."""
    codecs, before = codecs_of(opened)[1], state.SHARED.now().text
    codec = codecs["source"] or codecs["target"]
    if codec is None or is_read(codec, before):
        return {}
    texts = [] if found is None else [each if isinstance(each, str) else each[0] for each in found.texts]
    own = next((each for each in texts if len(each) <= OWN_LENGTH and is_read(codec, each)), None) or readable(codec)
    state.say_next(words.text_replaced(name, labels.sentence(own) if own else ""))
    return {"text": own or ""}


def _draw_own_models() -> list[str]:
    """Draw the library's models, each to be renamed or removed; returns the names."""
    found = kept_models()
    names = [model.name for model in found]
    if not found:
        return names
    text.section(words.LIBRARY)
    taken = {each.name for each in cached.summaries()}
    asked = _take_action()
    for model in found:
        with st.container(horizontal=True, vertical_alignment="bottom", key=f"open_kept_{model.name}"):
            key = f"open_rename_{model.name}"
            new = st.text_input(words.name_of(model.name), model.name, key=key, max_chars=60).strip()
            _draw_button(
                words.RENAME, f"open_do_rename_{model.name}", ("rename", model.name), disabled=new == model.name
            )
            with st.popover(words.REMOVE):
                text.paragraph(words.removes_model(model.name))
                _draw_button(words.REMOVE_IT, f"open_do_remove_{model.name}", ("remove", model.name))
        if asked == ("rename", model.name):
            _finish_action(partial(rename, model.name, new, taken))
        elif asked == ("remove", model.name):
            _finish_action(partial(remove, model.name))
    return names


def _draw_button(label: str, key: str, act: tuple[str, str], **more: Any) -> None:
    """Draw a button whose action runs once the page has drawn its parts."""
    st.button(label, key=key, on_click=st.session_state.__setitem__, args=(_ACT, act), **more)


def _take_action() -> tuple[str, str] | None:
    """The clicked action that has not run yet."""
    act: tuple[str, str] | None = st.session_state.get(_ACT)
    return act


def _finish_action(act: Callable[[], None]) -> None:
    st.session_state.pop(_ACT)
    try:
        act()
    except (CheckpointError, OSError) as error:
        _show_problem(error)
        return
    st.rerun()
