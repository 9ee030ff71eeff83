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

LONGEST_LINKED_TEXT = 1500
MOST_HEADS = 6
DERIVED = ("mean", "max", "rollout")
KINDS = ("cross", "decoder", "encoder")
POSITIONS = ("i", "j", "t", "u")
PIN: Mapping[str, None] = {"pin_checkpoint": None, "pin_text": None, "pin_target": None, "shown": None}
VIEW: Mapping[str, Any] = {
    "target": None,
    "options": (),
    "scale": "fixed",
    "sort": "",
    "panel": "lines",
    "point": "",
    "chart": "heatmap",
    "seed": None,
    "projector": "off",
    "scene": 0,
    **PIN,
}
"""Fields that stand in the address only where they differ from this; one with a model and without them means this."""

SHOWN = ("A", "B", "A-B")
OPTIONS = ("words", "hidden", "contribution")
SCALES = ("fixed", "row", "map")
PANELS = ("lines", "text")
CHARTS = ("heatmap", "histogram", "points")
START: Mapping[str, int | None] = {"i": 0, "j": 0, "t": None, "u": 0}
DEFAULTS: Mapping[str, Any] = {
    "checkpoint": "numbers",
    "text": "29,284.30",
    "kind": "cross",
    "layer": 1,
    "heads": (0,),
    **START,
    **VIEW,
}

Offers = Callable[[str], Sequence[str]]
"""The texts that are offered for the model of this name."""

_SELECTION, _MODEL, _WRITTEN, _TOUCHED, _REMARKS, _BEGUN = (
    "selection",
    "selection_model",
    "address_written",
    "selection_touched",
    "selection_remarks",
    "selection_begun",
)


def begin(checkpoints: Sequence[str], offers: Offers = lambda name: ()) -> None:
    """Bring the selection up to date with the address; called once at the start of each run.

    `offers` is asked when another model is selected than in the run before.
    """
    memory = st.session_state
    memory[_REMARKS], memory[_BEGUN] = [], True
    selection = memory.setdefault(_SELECTION, dict(DEFAULTS))
    address, given = st.query_params.to_dict(), dict[str, Any]()
    if not memory.pop(_TOUCHED, False) and address and address != memory.get(_WRITTEN):
        given = _understood(address)
        selection.update({**(VIEW if "checkpoint" in given else {}), **given})
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
    options: how a map is shown, some of OPTIONS; scale: what has full colour; sort: a head score, "" for in place;
    panel: which picture stands beside the map. point: which value of the run is looked at, chart: how; seed: of the
    dropout of a run in training mode, None in evaluation mode. projector: on or off; scene: what is on it.
    pin_checkpoint, pin_text, pin_target: the pinned run, B; None without one. shown: A (or None), B, or A-B.
    """
    chosen: dict[str, Any] = st.session_state[_SELECTION]
    return chosen


def text_fits_address(name: str = "text") -> bool:
    return len(selection()[name] or "") <= LONGEST_LINKED_TEXT


def select(**changes: Any) -> None:
    """Change the selection because of something that a person did, in a callback."""
    selected = selection()
    if any(name in changes and changes[name] != selected[name] for name in ("checkpoint", "text")):
        changes = {"target": None, **changes}
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


def pin() -> None:
    """Keep the run that is selected now as B, to compare others with."""
    now = selection()
    select(pin_checkpoint=now["checkpoint"], pin_text=now["text"], pin_target=now["target"], shown="A")


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


def _options(given: str) -> tuple[str, ...] | None:
    chosen = set(given.split(",")) - {""}
    return tuple(option for option in OPTIONS if option in chosen) if chosen <= set(OPTIONS) else None


def _one_of(words: Sequence[str]) -> Callable[[str], str | None]:
    return lambda given: given if given in words else None


def _word(given: str) -> str | None:
    return given if re.fullmatch(r"[a-z ]{0,24}", given) else None


def _as_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _cited(given: str) -> str:
    return f"“{given[:40]}{'…' if len(given) > 40 else ''}”"


_TEXTS: Mapping[str, str] = {
    "text": "A text",
    "target": "A target",
    "pin_text": "A pinned text",
    "pin_target": "A pinned target",
}
_NUMBER = "a whole number from 0 on"
_WANTED: Mapping[str, str] = {
    "kind": f"one of {', '.join(KINDS)}",
    "shown": f"one of {', '.join(SHOWN)}",
    "options": f"some of {', '.join(OPTIONS)}",
    "scale": f"one of {', '.join(SCALES)}",
    "panel": f"one of {', '.join(PANELS)}",
    "point": "the name of a point",
    "chart": f"one of {', '.join(CHARTS)}",
    "sort": "the name of a score",
    "projector": "on or off",
    "heads": f"at most {MOST_HEADS} different whole numbers with commas between them, or one of {', '.join(DERIVED)}",
}
_NOUNS: Mapping[str, str] = {
    "i": "source position",
    "j": "source position",
    "t": "target position",
    "u": "target position",
}
_READERS: Mapping[str, Callable[[str], Any]] = {
    "checkpoint": str,
    "text": str,
    "kind": _one_of(KINDS),
    "options": _options,
    "scale": _one_of(SCALES),
    "sort": _word,
    "panel": _one_of(PANELS),
    "point": lambda given: given if re.fullmatch(r"[a-z0-9_.]{0,80}", given) else None,
    "chart": _one_of(CHARTS),
    "seed": _number,
    "projector": _one_of(("on", "off")),
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
_PICKED = ("kind", "layer", "heads", *POSITIONS, "scale", "sort", "projector", "scene")
