"""What is selected: one plain dict per session, read from the address and written back to it on every run.

Streamlit clears the address when the page changes and forgets the widgets of the page that was left; the dict stays.
So pages never read their own widgets: they give a widget the dict's value (`bind`), and its change is taken into the
dict before the next run.

The address is believed when it is not the one that was written last (a link, a reload, the Back button), unless the
run was caused by a widget: then the browser has only not seen the latest address yet.

A text that was only offered goes with its model: when another is selected, the first text offered for that one takes
its place. A text that a person typed, and one that stands in a link, stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz_transformer.ui.how import (
    BEAM_BOUNDS,
    BOUNDS,
    SAMPLED,
    SEARCHED,
    STRATEGIES,
    Branch,
    How,
    parse_how,
    read_beam,
    read_branches,
    read_ids,
    read_sampling,
    write_branches,
)

LONGEST_LINKED_TEXT = 1500
MOST_HEADS = 6
DERIVED = ("mean", "max", "rollout")
KINDS = ("cross", "decoder", "encoder")
POSITIONS = ("i", "j", "t", "u")
PIN: Mapping[str, None] = {
    "pin_checkpoint": None,
    "pin_text": None,
    "pin_target": None,
    "pin_how": None,
    "shown": None,
}
TRUNK: Mapping[str, Any] = {"branches": (), "branch": 0, "branch_b": None, "dec_node": None}
"""The answer that the strategy writes by itself: what another text or strategy starts with."""
VIEW: Mapping[str, Any] = {
    "target": None,
    "strategy": "greedy",
    "sampling": SAMPLED,
    "beam": SEARCHED,
    "ban": (),
    "prefix": "",
    **TRUNK,
    "dec_tab": "branches",
    "dec_text": None,
    "options": (),
    "rows": "last",
    "scale": "fixed",
    "sort": "",
    "panel": "lines",
    "part": "attention",
    "point": "",
    "chart": "heatmap",
    "seed": None,
    "mask_of": "texts",
    "mask_batch": None,
    "mask_text": 0,
    "mask_size": 8,
    "mask_padded": 2,
    "mask_padding": "",
    "mask_fill": "",
    "mask_cells": (),
    "mask_query": 0,
    "mask_key": 0,
    "mask_swap": "target",
    "input_side": "source",
    "input_rows": "one",
    "input_entry": None,
    "input_below": "data",
    "input_part": "",
    "input_item": 0,
    "input_batch": 0,
    "pos_stack": "",
    "pos_table": "",
    "pos_width": None,
    "pos_length": None,
    "pos_columns": (),
    "pos_shift": 1,
    "pos_topic": "steps",
    "pos_order": None,
    "pos_off": "",
    "weight_line": "products",
    "weight_beside": "weights",
    "model_tab": "card",
    "model_answers": "all",
    "model_find": "",
    "model_recipe": "",
    "model_snapshot": None,
    "play": "attention",
    "play_seed": 0,
    "play_sizes": (5, 4, 4, 3),
    "play_options": (),
    "play_mask": "none",
    "play_numbers": "",
    "play_keys": 3,
    "play_heads": 2,
    "projector": "off",
    "scene": 0,
    **PIN,
}
"""Fields that stand in the address only where they differ from this; one with a model and without them means this."""

SHOWN = ("A", "B", "A-B")
DEC_TABS = ("branches", "tree", "cache", "score")
WEIGHT_LINES = (
    *("token", "stream", "norm", "maps", "shapes", "query", "key", "products", "divisor", "mask", "softmax"),
    *("weight", "value", "head", "merge", "output", "residual"),
)
MODEL_TABS = ("card", "architecture", "curves", "data", "errors", "doctor", "new", "training")
MODEL_ANSWERS = ("all", "wrong", "right")
LONGEST_FIND = 100
WEIGHT_BESIDE = ("weights", "out")
POS_STACKS = ("", "encoder", "decoder")
POS_TABLES = ("", "standard", "doubled", "learned")
POS_TOPICS = ("steps", "distance", "shift", "waves", "orders")
POS_OFF = ("", "encoder", "decoder", "both")
MOST_COLUMNS = 6
OPTIONS = ("words", "hidden", "contribution")
ROWS = ("last", "own")
SCALES = ("fixed", "row", "map")
PANELS = ("lines", "text", "contribution")
PARTS = ("attention", "ffn", "final")
CHARTS = ("heatmap", "histogram", "points")
MASK_CELL = ("mask_query", "mask_key")
MASKS_OF = ("texts", "size")
PADDING_RULES = ("", "key", "key-or-query", "key-or-query-swapped-cross")
MASK_FILLS = ("", "zero-rows", "-inf", "-1e9", "-1e10", "added-1e9")
SWAPPED = ("target", "source")
MOST_CELLS = 64
MASK_BATCH_LENGTH = 400
SIDES = ("source", "target")
INPUT_ROWS = ("one", "all")
INPUT_BELOW = ("data", "build", "words")
DATA_PARTS = ("", "train", "validation", "test", "examples")
PLAY = ("attention", "simplex", "scaling", "norms", "rebuild", "copy")
PLAY_OPTIONS = ("self", "unscaled")
PLAY_MASKS = ("none", "causal", "padding", "own")
MOST_PLAY_SIZE, MOST_PLAY_NUMBERS = 8, 60
START: Mapping[str, int | None] = {"i": 0, "j": 0, "t": None, "u": 0}
DEFAULTS: Mapping[str, Any] = {
    "checkpoint": "numbers-any",
    "text": "29,284.30",
    "kind": "cross",
    "layer": 1,
    "heads": (2,),
    **START,
    **VIEW,
}

_LINKED: Mapping[str, Any] = {"layer": 1, "heads": (0,)}
"""What a link means that names a model and no layer or head, whatever the app opens with."""

Offers = Callable[[str], Sequence[str]]
"""The texts that are offered for the model of this name."""

_SELECTION, _MODEL, _WRITTEN, _TOUCHED, _REMARKS, _BEGUN, _GOOD, _NEXT = (
    "selection",
    "selection_model",
    "address_written",
    "selection_touched",
    "selection_remarks",
    "selection_begun",
    "selection_good",
    "selection_next",
)


def begin(checkpoints: Sequence[str], offers: Offers = lambda name: ()) -> None:
    """Bring the selection up to date with the address; called once at the start of each run.

    `offers` is asked when another model is selected than in the run before.
    """
    memory = st.session_state
    memory[_REMARKS], memory[_BEGUN] = [said] if (said := memory.pop(_NEXT, None)) else [], True
    first = _SELECTION not in memory
    selection = memory.setdefault(_SELECTION, dict(DEFAULTS))
    address, given = st.query_params.to_dict(), dict[str, Any]()
    if not memory.pop(_TOUCHED, False) and address and address != memory.get(_WRITTEN):
        given = _understood(address)
        named = "checkpoint" in given
        selection.update({**(VIEW if named else {}), **(_LINKED if named and first else {}), **given})
    if checkpoints and selection["checkpoint"] not in checkpoints:
        instead = DEFAULTS["checkpoint"] if DEFAULTS["checkpoint"] in checkpoints else checkpoints[0]
        if address.get("checkpoint") == selection["checkpoint"]:
            remark(f"There is no model named {_cited(selection['checkpoint'])} here: {instead} is shown.")
        selection["checkpoint"] = instead
    if "text" not in given:
        _follow_model(memory.get(_MODEL), offers, {name: given[name] for name in POSITIONS if name in given})
    memory[_MODEL] = selection["checkpoint"]
    for name, what in _TEXTS.items():
        if not text_fits_address(name):
            remark(
                f"{what} of over {LONGEST_LINKED_TEXT:,} characters is not put into the address: a link leaves it out."
            )
    if _WRITTEN in memory:
        _write()  # already now: what follows may take long, and a reload should find the selection


def end() -> None:
    """Write the selection into the address; called once at the end of each run."""
    _write()
    st.session_state[_BEGUN] = False


def begun() -> bool:
    """Whether this run has called `begin`."""
    return bool(st.session_state.get(_BEGUN))


def selection() -> dict[str, Any]:
    """The session's selection.

    target: the answer that is given to the model; None if it is to write one itself.
    checkpoint, text, kind of attention, layer; heads: numbers in a tuple, or one of the words mean, max and rollout.
    i, j: positions of the source; t, u: of the target. The kind picks the pair: encoder (i, j), decoder (t, u),
    cross (t, i). t is None until a run is there to say which row writes the first token.
    rows: of which pass the decoder's rows are where each step had its own, of the last or each of its own step.
    options: how a map is shown, some of OPTIONS; scale: what has full colour; sort: a head score, "" for in place;
    panel: which picture stands beside the map. part: which sub-layer of the layer, or the stack's final norm.
    point: which value of the run is looked at, chart: how; seed: of the dropout of a run in training mode, None in
    evaluation mode. projector: on or off; scene: what is on it.
    mask_of: masks of texts or of a plain size; mask_batch: the other texts of the batch, one a line, None for some of
    the examples; mask_text: which of them is looked at, 0 is the run's; mask_size, mask_padded: of a plain mask;
    mask_padding, mask_fill: rule and fill, "" for the model's own; mask_cells: changed cells as words ("d3.5", "d3");
    mask_query, mask_key: a cell where it is none of the run; mask_swap: the side whose tokens are swapped.
    input_side, _rows: whose input is shown, of one token or all; _entry: of the vocabulary, None for the token's own;
    input_below, _part, _item, _batch: what stands below, which part of the data, which of its items, which batch.
    pos_stack: whose positions, "" for the stack that reads the text; pos_table, _width, _length: which table and its
    sizes, "" and None for the model's own; pos_columns: dimensions as curves, () for some; pos_shift: by how many
    positions; pos_topic: what stands below; pos_order: the text in another order, None for the words turned round;
    pos_off: whose positions are left out, "" for the most telling.
    model_tab: what of the model is shown on its page; model_answers, model_find: which of its answers; model_recipe:
    the new model that is being put together, by its name; model_snapshot: a training step, None for the last.
    weight_line: which line of a weight's ladder is active; weight_beside: what is set beside torch's own attention.
    play: what of the Playground is shown; play_seed: of its numbers; play_sizes: queries, keys, d_k, d_v; play_options:
    some of PLAY_OPTIONS; play_mask: which mask; play_numbers: cells that were edited ("q0.1=2.5"); play_keys: of the
    simplex; play_heads: of the training that gives back its input.
    strategy, sampling, beam: how an answer is written, with the settings of each; ban: ids that are never written;
    prefix: what the answer begins with. branches: other ways to go on; branch: which is looked at, 0 is the strategy's
    own answer; branch_b: which it is compared with. dec_tab: what stands below on the Decoding page; dec_node: a
    hypothesis of the beam tree, None for the answer; dec_text: a text to be scored, None for none.
    pin_checkpoint, pin_text, pin_target, pin_how: the pinned run, B; None without one. shown: A (or None), B, or A-B.
    """
    chosen: dict[str, Any] = st.session_state[_SELECTION]
    return chosen


def text_fits_address(name: str = "text") -> bool:
    value = selection()[name]
    return value is None or len(_as_text(value)) <= LONGEST_LINKED_TEXT


def select(**changes: Any) -> None:
    """Change the selection because of something that a person did, in a callback."""
    selected = selection()
    if any(name in changes and changes[name] != selected[name] for name in ("checkpoint", "text")):
        changes = {"target": None, "pos_order": None, **TRUNK, "dec_text": None, **changes}
    if "checkpoint" in changes and changes["checkpoint"] != selected["checkpoint"]:
        changes = {"ban": (), **changes}  # ids of another vocabulary
    if any(name in changes and changes[name] != selected[name] for name in _WRITING):
        changes = {**TRUNK, **START, **changes}
    if any(name in changes and changes[name] != selected[name] for name in ("text", "target")):
        changes = {**START, **changes}  # the positions of another text
    selected.update(changes)
    st.session_state[_TOUCHED] = True


def pick(fields: Mapping[str, Any]) -> None:
    """Take over what a person picked in a component: the fields that can be used, nothing else."""
    known = {name: _READERS[name](_as_text(value)) for name, value in fields.items() if name in _PICKED}
    select(**{name: value for name, value in known.items() if value is not None})


def picked() -> dict[str, Any]:
    """The fields that components know: what is chosen inside a run."""
    return {name: selection()[name] for name in _PICKED}


def pin(how: How) -> None:
    """Keep the run that is selected now, written so, as B, to compare others with."""
    now = selection()
    written = None if how == How() else how
    select(
        pin_checkpoint=now["checkpoint"],
        pin_text=now["text"],
        pin_target=now["target"],
        pin_how=written,
        shown="A",
    )


def how(fields: Mapping[str, Any] | None = None) -> How:
    """How the strategy of these fields writes an answer by itself; a given target leaves it nothing to write."""
    now = selection() if fields is None else fields
    if now["target"] is not None:
        return How()
    settings = {"sampling": now["sampling"], "beam": now["beam"]}.get(now["strategy"], ())
    return How(now["strategy"], settings, now["ban"], now["prefix"])


def good() -> Mapping[str, Any] | None:
    """The fields that the last run which could be made was written with."""
    found: Mapping[str, Any] | None = st.session_state.get(_GOOD)
    return found


def is_good() -> None:
    """Keep the fields that decide what is run: this run could be made."""
    now = selection()
    st.session_state[_GOOD] = {name: now[name] for name in ("checkpoint", "text", "target", *_WRITING, *TRUNK)}


def stop() -> None:
    """Go back to what was shown before a run that takes too long; in a callback."""
    found = good() or {name: DEFAULTS[name] for name in (*_WRITING, *TRUNK)}
    selection().update(found)
    st.session_state[_TOUCHED] = True
    say_next("Stopped: what was shown before is shown.")


def say_next(sentence: str) -> None:
    """Something to say on the page that the next run draws; in a callback."""
    st.session_state[_NEXT] = sentence


def unpin() -> None:
    select(**PIN)


def bind(name: str, *, key: str, value: Any = None, taken: Callable[[Any], Any] = lambda new: new) -> dict[str, Any]:
    """The arguments that tie a widget to a field: it shows the field's value (or `value`), and its change is kept.

    `taken` turns what the widget says into the field's value.
    """
    st.session_state[key] = selection()[name] if value is None else value

    def changed() -> None:
        new = st.session_state[key]
        select(**({} if new is None else {name: taken(new)}))

    return {"key": key, "on_change": changed}


def fit(name: str, count: int, owner: str) -> int:
    """The field's number, brought into 0 to count - 1; a change is said."""
    value: int = selection()[name]
    if value >= count:
        last = count - 1
        what = _NOUNS.get(name, name)
        which = f"{what} 0" if last == 0 else f"{what}s 0 to {last}"
        remark(f"There is no {what} {value}: {owner} has {which}, so {what} {last} is shown.")
        selection()[name] = last
    return int(selection()[name])


def fit_heads(count: int, owner: str) -> tuple[int, ...] | str:
    """The chosen heads, those left out that the model does not have; or the word of a derived picture."""
    chosen = selection()["heads"]
    if isinstance(chosen, str):
        return chosen
    kept = tuple(head for head in chosen if head < count)
    if kept != chosen:
        missing = next(head for head in chosen if head >= count)
        kept = kept or (count - 1,)
        last = "head 0" if count == 1 else f"heads 0 to {count - 1}"
        shown = f"head{'s' if len(kept) > 1 else ''} {', '.join(map(str, kept))}"
        remark(f"There is no head {missing}: {owner} has {last}, so {shown} {'are' if len(kept) > 1 else 'is'} shown.")
        selection()["heads"] = kept
    return kept


def fit_kind(kinds: Sequence[str], owner: str) -> str:
    """The chosen kind of attention, or the first that the model has."""
    chosen: str = selection()["kind"]
    if chosen not in kinds:
        selection()["kind"] = kinds[0]
        if chosen != DEFAULTS["kind"]:
            remark(f"There is no {chosen} attention in {owner}, so {kinds[0]} attention is shown.")
    return str(selection()["kind"])


def start_at(first_row: int) -> None:
    """Without a target position, choose the row of the first step."""
    if selection()["t"] is None:
        selection()["t"] = first_row


def fit_positions(source: int, target: int, first_row: int) -> None:
    """All four positions, brought into a run of `source` and `target` tokens; without one t is the first step's row."""
    start_at(first_row)
    for name, count in (("i", source), ("j", source), ("t", target), ("u", target)):
        if count:
            fit(name, count, "the run")
        else:
            selection()[name] = 0


def remark(sentence: str) -> None:
    """Something about the selection to say on the page."""
    st.session_state[_REMARKS].append(sentence)


def remarks() -> tuple[str, ...]:
    return tuple(st.session_state[_REMARKS])


def _follow_model(before: str | None, offers: Offers, given: Mapping[str, Any]) -> None:
    """After a change of the model, put a text that fits it in the place of one that was only offered for the other."""
    selected = selection()
    model, text = selected["checkpoint"], selected["text"]
    if model == before or (text != DEFAULTS["text"] and (before is None or text not in offers(before))):
        return
    offered = offers(model)
    if offered and text not in offered:
        selected.update({**START, **given}, text=offered[0])


def _write() -> None:
    stated = {name: value for name, value in selection().items() if name not in VIEW or value != VIEW[name]}
    address = {name: _as_text(value) for name, value in stated.items() if value is not None}
    for name in _TEXTS:
        if len(address.get(name, "")) > LONGEST_LINKED_TEXT:
            del address[name]
    if st.query_params.to_dict() != address:
        st.query_params.from_dict(address)
    st.session_state[_WRITTEN] = address


def _understood(address: Mapping[str, str]) -> dict[str, Any]:
    """The fields that the address gives in a form that can be used; what cannot is said and left out."""
    fields = {}
    for name, given in address.items():
        if name not in _READERS:
            remark(f"The address asks for {_cited(name)}, which means nothing here.")
            continue
        value = _READERS[name](given)
        if value is None:
            remark(f"The address asks for {name} {_cited(given)}, which is not {_WANTED.get(name, _NUMBER)}.")
        else:
            fields[name] = value
    return fields


def _number(given: str) -> int | None:
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


def _heads(given: str) -> tuple[int, ...] | str | None:
    if given in DERIVED:
        return given
    heads = [_number(part) for part in given.split(",")]
    known = sorted({head for head in heads if head is not None})
    return tuple(known) if len(known) == len(heads) <= MOST_HEADS else None


def _columns(given: str) -> tuple[int, ...] | None:
    columns = [_number(part) for part in given.split(",")]
    known = tuple(dict.fromkeys(column for column in columns if column is not None))
    return known if len(known) == len(columns) <= MOST_COLUMNS else None


def _options(given: str) -> tuple[str, ...] | None:
    chosen = set(given.split(",")) - {""}
    return tuple(option for option in OPTIONS if option in chosen) if chosen <= set(OPTIONS) else None


def _one_of(words: Sequence[str]) -> Callable[[str], str | None]:
    return lambda given: given if given in words else None


def cells(given: str) -> tuple[str, ...] | None:
    """Changed cells of masks, as the address writes them; None for what is none or too many."""
    words = tuple(dict.fromkeys(word for word in given.split(",") if word))
    known = all(re.fullmatch(r"[edc]\d{1,4}(\.\d{1,4})?", word) for word in words)
    return words if known and len(words) <= MOST_CELLS else None


def _play_sizes(given: str) -> tuple[int, ...] | None:
    sizes = [_number(part) for part in given.split(",")]
    known = tuple(size for size in sizes if size is not None and 1 <= size <= MOST_PLAY_SIZE)
    return known if len(known) == len(sizes) == 4 else None


def _play_options(given: str) -> tuple[str, ...] | None:
    chosen = set(given.split(",")) - {""}
    return tuple(option for option in PLAY_OPTIONS if option in chosen) if chosen <= set(PLAY_OPTIONS) else None


def _play_numbers(given: str) -> str | None:
    words = given.split(",") if given else []
    known = all(re.fullmatch(r"[qkvmxg][0-7]\.[0-7]=-?\d{1,3}(\.\d{1,4})?", word) for word in words)
    return given if known and len(words) <= MOST_PLAY_NUMBERS else None


def _word(given: str) -> str | None:
    return given if re.fullmatch(r"[a-z ]{0,24}", given) else None


def _as_text(value: Any) -> str:
    if isinstance(value, How):
        return value.text()
    if isinstance(value, tuple) and value and isinstance(value[0], Branch):
        return write_branches(value)
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _cited(given: str) -> str:
    return f"“{given[:40]}{'…' if len(given) > 40 else ''}”"


def _bounded(setting: tuple[str, tuple[float, float]]) -> str:
    name, (low, high) = setting
    return f"{name} {low:g} to {high:,.12g}"


_WRITING = ("strategy", "sampling", "beam", "ban", "prefix")
_TEXTS: Mapping[str, str] = {
    "prefix": "A beginning of the answer",
    "dec_text": "A text to be scored",
    "pin_how": "What the pinned run was written with",
    "branches": "What branches begin with",
    "text": "A text",
    "target": "A target",
    "pin_text": "A pinned text",
    "pos_order": "A text in another order",
    "pin_target": "A pinned target",
}
_NUMBER = "a whole number from 0 on"
_WANTED: Mapping[str, str] = {
    "strategy": f"one of {', '.join(STRATEGIES)}",
    "sampling": f"{', '.join(map(_bounded, BOUNDS.items()))}, with commas between them",
    "beam": f"{', '.join(map(_bounded, BEAM_BOUNDS.items()))}, gnmt or power, end or no-end, and a stop rule, with"
    " commas between them",
    "ban": "ids with commas between them",
    "branches": "a list of branches",
    "dec_tab": f"one of {', '.join(DEC_TABS)}",
    "pin_how": "a way to write an answer",
    "kind": f"one of {', '.join(KINDS)}",
    "shown": f"one of {', '.join(SHOWN)}",
    "options": f"some of {', '.join(OPTIONS)}",
    "rows": f"one of {', '.join(ROWS)}",
    "scale": f"one of {', '.join(SCALES)}",
    "panel": f"one of {', '.join(PANELS)}",
    "part": f"one of {', '.join(PARTS)}",
    "point": "the name of a point",
    "chart": f"one of {', '.join(CHARTS)}",
    "sort": "the name of a score",
    "pos_stack": f"one of {', '.join(POS_STACKS[1:])}",
    "pos_table": f"one of {', '.join(POS_TABLES[1:])}",
    "pos_columns": f"at most {MOST_COLUMNS} different whole numbers with commas between them",
    "pos_topic": f"one of {', '.join(POS_TOPICS)}",
    "pos_off": f"one of {', '.join(POS_OFF[1:])}",
    "mask_of": f"one of {', '.join(MASKS_OF)}",
    "mask_batch": f"a text of at most {MASK_BATCH_LENGTH} characters",
    "mask_padding": f"one of {', '.join(PADDING_RULES[1:])}",
    "mask_fill": f"one of {', '.join(MASK_FILLS[1:])}",
    "mask_cells": f"at most {MOST_CELLS} cells such as d3.5, or rows such as d3, with commas between them",
    "mask_swap": f"one of {', '.join(SWAPPED)}",
    "input_side": f"one of {', '.join(SIDES)}",
    "input_rows": f"one of {', '.join(INPUT_ROWS)}",
    "input_below": f"one of {', '.join(INPUT_BELOW)}",
    "input_part": f"one of {', '.join(DATA_PARTS[1:])}",
    "weight_line": "the name of a line of the ladder",
    "weight_beside": f"one of {', '.join(WEIGHT_BESIDE)}",
    "play": f"one of {', '.join(PLAY)}",
    "play_sizes": f"four whole numbers from 1 to {MOST_PLAY_SIZE} with commas between them",
    "play_options": f"some of {', '.join(PLAY_OPTIONS)}",
    "play_mask": f"one of {', '.join(PLAY_MASKS)}",
    "play_numbers": f"at most {MOST_PLAY_NUMBERS} edited cells such as q0.1=2.5 with commas between them",
    "play_keys": "2 or 3",
    "play_heads": "2, 4 or 8",
    "projector": "on or off",
    "model_tab": f"one of {', '.join(MODEL_TABS)}",
    "model_answers": f"one of {', '.join(MODEL_ANSWERS)}",
    "model_find": f"a text of at most {LONGEST_FIND} characters",
    "model_recipe": "the name of a new model",
    "heads": f"at most {MOST_HEADS} different whole numbers with commas between them, or one of {', '.join(DERIVED)}",
}
_NOUNS: Mapping[str, str] = {
    "dec_node": "hypothesis",
    "input_item": "item",
    "i": "source position",
    "j": "source position",
    "t": "target position",
    "u": "target position",
}
_READERS: Mapping[str, Callable[[str], Any]] = {
    "checkpoint": str,
    "strategy": _one_of(STRATEGIES),
    "sampling": read_sampling,
    "beam": read_beam,
    "ban": read_ids,
    "prefix": str,
    "branches": read_branches,
    "branch": _number,
    "branch_b": _number,
    "dec_tab": _one_of(DEC_TABS),
    "dec_node": _number,
    "dec_text": str,
    "pin_how": parse_how,
    "text": str,
    "kind": _one_of(KINDS),
    "options": _options,
    "rows": _one_of(ROWS),
    "scale": _one_of(SCALES),
    "sort": _word,
    "panel": _one_of(PANELS),
    "part": _one_of(PARTS),
    "point": lambda given: given if re.fullmatch(r"[a-z0-9_.]{0,80}", given) else None,
    "chart": _one_of(CHARTS),
    "seed": _number,
    "mask_of": _one_of(MASKS_OF),
    "mask_batch": lambda given: given if len(given) <= MASK_BATCH_LENGTH else None,
    "mask_text": _number,
    "mask_size": _number,
    "mask_padded": _number,
    "mask_padding": _one_of(PADDING_RULES),
    "mask_fill": _one_of(MASK_FILLS),
    "mask_cells": cells,
    "mask_query": _number,
    "mask_key": _number,
    "mask_swap": _one_of(SWAPPED),
    "input_side": _one_of(SIDES),
    "input_rows": _one_of(INPUT_ROWS),
    "input_entry": _number,
    "input_below": _one_of(INPUT_BELOW),
    "input_part": _one_of(DATA_PARTS),
    "input_item": _number,
    "input_batch": _number,
    "pos_stack": _one_of(POS_STACKS),
    "pos_table": _one_of(POS_TABLES),
    "pos_width": _number,
    "pos_length": _number,
    "pos_columns": _columns,
    "pos_shift": _number,
    "pos_topic": _one_of(POS_TOPICS),
    "pos_order": str,
    "pos_off": _one_of(POS_OFF),
    "weight_line": _one_of(WEIGHT_LINES),
    "weight_beside": _one_of(WEIGHT_BESIDE),
    "play": _one_of(PLAY),
    "play_seed": _number,
    "play_sizes": _play_sizes,
    "play_options": _play_options,
    "play_mask": _one_of(PLAY_MASKS),
    "play_numbers": _play_numbers,
    "play_keys": lambda given: int(given) if given in ("2", "3") else None,
    "play_heads": lambda given: int(given) if given in ("2", "4", "8") else None,
    "projector": _one_of(("on", "off")),
    "model_tab": _one_of(MODEL_TABS),
    "model_answers": _one_of(MODEL_ANSWERS),
    "model_find": lambda given: given if len(given) <= LONGEST_FIND else None,
    "model_recipe": lambda given: given if re.fullmatch(r"(new:[^:]{1,100}:[a-z0-9:-]{1,80})?", given) else None,
    "model_snapshot": _number,
    "scene": _number,
    "layer": _number,
    "heads": _heads,
    "pin_checkpoint": str,
    "pin_text": str,
    "target": str,
    "pin_target": str,
    "shown": _one_of(SHOWN),
    **dict.fromkeys(POSITIONS, _number),
}
_PICKED = (
    *("kind", "layer", "heads", "part", *POSITIONS, "scale", "sort", "projector", "scene", *MASK_CELL),
    *("model_snapshot", "dec_node"),
)
