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

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

LONGEST_LINKED_TEXT = 1500
MEAN = "mean"
DEFAULTS: Mapping[str, Any] = {"checkpoint": "numbers", "text": "29,284.30", "layer": 1, "head": 0, "step": 0}

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
        selection.update(given)
    if checkpoints and selection["checkpoint"] not in checkpoints:
        instead = DEFAULTS["checkpoint"] if DEFAULTS["checkpoint"] in checkpoints else checkpoints[0]
        if address.get("checkpoint") == selection["checkpoint"]:
            remark(f"There is no model named {_cited(selection['checkpoint'])} here: {instead} is shown.")
        selection["checkpoint"] = instead
    if "text" not in given:
        _follow_model(memory.get(_MODEL), offers, step=given.get("step", 0))
    memory[_MODEL] = selection["checkpoint"]
    if not text_fits_address():
        remark(f"A text of over {LONGEST_LINKED_TEXT:,} characters is not put into the address: a link leaves it out.")
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
    """The session's selection: checkpoint, text, layer, head (a number or "mean"), step."""
    chosen: dict[str, Any] = st.session_state[_SELECTION]
    return chosen


def text_fits_address() -> bool:
    return len(selection()["text"]) <= LONGEST_LINKED_TEXT


def select(**changes: Any) -> None:
    """Change the selection because of something that a person did, in a callback."""
    selected = selection()
    if "text" in changes and changes["text"] != selected["text"]:
        changes.setdefault("step", 0)  # the steps of another answer
    selected.update(changes)
    st.session_state[_TOUCHED] = True


def bind(name: str, *, key: str, value: Any = None) -> dict[str, Any]:
    """The arguments that tie a widget to a field: it shows the field's value (or `value`), and its change is kept."""
    st.session_state[key] = selection()[name] if value is None else value

    def changed() -> None:
        new = st.session_state[key]
        select(**({} if new is None else {name: new}))

    return {"key": key, "on_change": changed}


def fit(name: str, count: int, owner: str) -> int:
    """The field's number, brought into 0 to count - 1; a change is said."""
    value: int = selection()[name]
    if value >= count:
        last = count - 1
        which = f"{name} 0" if last == 0 else f"{name}s 0 to {last}"
        remark(f"There is no {name} {value}: {owner} has {which}, so {name} {last} is shown.")
        selection()[name] = last
    return int(selection()[name])


def fit_head(count: int, owner: str) -> int | None:
    """The head's number, brought into the model's, or None for the mean over heads."""
    return None if selection()["head"] == MEAN else fit("head", count, owner)


def remark(sentence: str) -> None:
    """Something about the selection to say on the page."""
    st.session_state[_REMARKS].append(sentence)


def remarks() -> tuple[str, ...]:
    return tuple(st.session_state[_REMARKS])


def _follow_model(before: str | None, offers: Offers, step: int) -> None:
    """After a change of the model, put a text that fits it in the place of one that was only offered for the other."""
    selected = selection()
    model, text = selected["checkpoint"], selected["text"]
    if model == before or (text != DEFAULTS["text"] and (before is None or text not in offers(before))):
        return
    offered = offers(model)
    if offered and text not in offered:
        selected.update(text=offered[0], step=step)


def _write() -> None:
    address = {name: str(value) for name, value in selection().items()}
    if not text_fits_address():
        del address["text"]
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
            wanted = 'a whole number from 0 on, or "mean"' if name == "head" else "a whole number from 0 on"
            remark(f"The address asks for {name} {_cited(given)}, which is not {wanted}.")
        else:
            fields[name] = value
    return fields


def _number(given: str) -> int | None:
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


def _head(given: str) -> int | str | None:
    return MEAN if given == MEAN else _number(given)


def _cited(given: str) -> str:
    return f"“{given[:40]}{'…' if len(given) > 40 else ''}”"


_READERS: Mapping[str, Callable[[str], Any]] = {
    "checkpoint": str,
    "text": str,
    "layer": _number,
    "head": _head,
    "step": _number,
}
