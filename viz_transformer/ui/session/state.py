"""What is selected: one value per declaration and session, read from the address and written back to it on every run.

Streamlit clears the address when the page changes and forgets the widgets of the page that was left; the values stay.
So pages never read their own widgets: they give a widget a field's value (`bind`), and its change is taken into the
selection before the next run. No value is ever written into: a change puts another one in its place.

The address is believed when it is not the one that was written last (a link, a reload, the Back button), unless the
run was caused by a widget: then the browser has only not seen the latest address yet. If another run comes before the
end of that one, it may not have seen it then either.

A text that was only offered goes with its model: when another is selected, the first text offered for that one takes
its place. A text that a person typed, and one of a link, stays; where a person takes an offer instead, the
Back button brings it back, also where it is too long for an address, and `typed_text` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import streamlit as st

from viz_transformer.figures import labels
from viz_transformer.model.kinds import KindName
from viz_transformer.ui.session.fields import ASKED, POSITIONS, Shared
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.url_fields import Field, fields_of, join_values

LONGEST_LINKED_TEXT = 1500

V = TypeVar("V")
_fields: dict[str, Field] = {}
_owners: dict[str, str] = {}
_declarations: dict[str, Declared[Any]] = {}
_defaults: dict[str, Any] = {}
_view: dict[str, Any] = {}
DEFAULTS: Mapping[str, Any] = MappingProxyType(_defaults)
"""What each field that is known starts with."""
VIEW: Mapping[str, Any] = MappingProxyType(_view)
"""Fields that an address states only where they differ from this; one with a model and without them means this."""


@dataclass(frozen=True, eq=False)
class Selection(Mapping[str, Any]):
    """What is selected: one value of each declaration, `by_owner`; as a mapping, all fields by their names.

    A change makes another selection, so one that was taken stays as it was.
    """

    by_owner: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return getattr(self.by_owner[_owners[name]], name)

    def __iter__(self) -> Iterator[str]:
        return (name for owner in self.by_owner for name in _declarations[owner].names)

    def __len__(self) -> int:
        return sum(len(_declarations[owner].names) for owner in self.by_owner)

    def changed(self, fields: Mapping[str, Any]) -> Selection:
        """The selection with these fields; the values of declarations that have none of them are the same ones."""
        new: dict[str, dict[str, Any]] = {}
        for name, value in fields.items():
            new.setdefault(_owners[name], {})[name] = value
        changed = {owner: replace(self.by_owner[owner], **new[owner]) for owner in new}
        return Selection(MappingProxyType({**self.by_owner, **changed}))


@dataclass(frozen=True)
class Declared(Generic[V]):
    """Some fields of the selection, as one value with types; `owner` names what declares them."""

    declaration: type[V]
    owner: str
    names: tuple[str, ...]

    def now(self) -> V:
        """Their values in this session."""
        value: V = selection().by_owner[self.owner]
        return value


def declare(declaration: type[V]) -> Declared[V]:
    """Make the fields of a frozen dataclass known; a page does so once, in its `fields.py`.

    Raises ValueError for a name that is declared elsewhere.
    """
    owner, own = f"{declaration.__module__}.{declaration.__qualname__}", fields_of(declaration)
    for name, field in own.items():
        if _owners.setdefault(name, owner) != owner:
            raise ValueError(f"the field {name} of {owner} is declared by {_owners[name]} already")
        _fields[name] = field
        _defaults[name] = field.start
        if not field.always:
            _view[name] = field.start
    _declarations[owner] = Declared(declaration, owner, tuple(own))
    return _declarations[owner]


def fields() -> Mapping[str, Field]:
    """All fields that are known, by name."""
    return MappingProxyType(_fields)


SHARED = declare(Shared)
PIN: Mapping[str, None] = dict.fromkeys(("pin_checkpoint", "pin_text", "pin_target", "pin_how", "shown"))
"""The fields of the pinned run, as they are without one."""

Offers = Callable[[str], Sequence[str]]
"""The texts that are offered for the model of this name."""

_SELECTION = "selection"
_MODEL = "selection_model"
_WRITTEN = "address_written"
_TOUCHED = "selection_touched"
_REMARKS = "selection_remarks"
_BEGUN = "selection_begun"
_GOOD = "selection_good"
_NEXT = "selection_next"
_FOLLOWED = "selection_followed"
_PASSING = "selection_passing"
_LEFT = "selection_left"
_UNSEEN = "selection_unseen"
_BEHIND = "address_behind"
_TYPED = "typed_text"
_SHORTENED = "texts_beside_addresses"


def start(
    checkpoints: Sequence[str], offers: Offers = lambda name: (), opens: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Bring the selection up to date with the address; called once at the start of each run.

    `offers` is asked when another model is selected than in the run before. opens: what a session begins with that has
    no address, where its model is there: nobody has chosen anything yet.
    """
    memory = st.session_state
    memory[_REMARKS], memory[_BEGUN] = [said] if (said := memory.pop(_NEXT, None)) else [], True
    first = _SELECTION not in memory
    memory[_SELECTION] = _with_all(memory.get(_SELECTION, {}))
    memory.pop(_LEFT, None)
    address, given = st.query_params.to_dict(), dict[str, Any]()
    if memory.pop(_TOUCHED, False):
        memory[_BEHIND] = address
    elif address and address not in (memory.get(_WRITTEN), memory.get(_BEHIND)):
        memory[_LEFT] = None if first else (memory[_SELECTION], memory[_MODEL], auto_fields())
        given = {**_left_out_of(address), **_understood(address)}
        if first and "text" in given:
            keep_typed(given["text"])
        named = "checkpoint" in given
        linked = {name: field.in_a_link for name, field in _fields.items() if field.in_a_link is not None}
        _change({**(VIEW if named else {}), **(linked if named and first else {}), **given})
        memory[_FOLLOWED] = (_all_that_follow() if named else auto_fields()) - given.keys()
    if first and not address and opens.get("checkpoint") in checkpoints:
        _change(opens)
    asked = SHARED.now().checkpoint
    if checkpoints and asked not in checkpoints:
        instead = DEFAULTS["checkpoint"] if DEFAULTS["checkpoint"] in checkpoints else checkpoints[0]
        if address.get("checkpoint") == asked:
            remark(f"There is no model named {_cited(asked)} here: {instead} is shown.")
        _change({"checkpoint": instead})
    if "text" not in given:
        _follow_model(memory.get(_MODEL), offers, {name: given[name] for name in POSITIONS if name in given})
    memory[_MODEL] = SHARED.now().checkpoint
    for name in selection():
        if (what := _fields[name].typed) and not text_fits_address(name):
            remark(
                f"{what} of over {LONGEST_LINKED_TEXT:,} characters is not put into the address: a link leaves it out."
            )
    if _WRITTEN in memory:
        _write()  # already now: what follows may take long, and a reload should find the selection


def finish() -> None:
    """Write the selection into the address; called once at the end of each run."""
    _write()
    st.session_state[_BEGUN] = st.session_state[_PASSING] = False
    st.session_state.pop(_UNSEEN, None)
    st.session_state.pop(_BEHIND, None)


def begun() -> bool:
    """Whether this run has called `begin`."""
    return bool(st.session_state.get(_BEGUN))


def selection() -> Selection:
    """The session's selection as it is now; `fields.py`, here and of a page, says what each field is.

    One that was taken before a change does not have it.
    """
    chosen: Selection = st.session_state[_SELECTION]
    return chosen


def auto_fields() -> frozenset[str]:
    """The fields that nobody chose, neither a person nor a link: they follow what is computed in each run."""
    names: frozenset[str] = st.session_state.get(_FOLLOWED, _all_that_follow())
    return names


def _all_that_follow() -> frozenset[str]:
    return frozenset(name for name, field in _fields.items() if field.follows)


def text_fits_address(name: str = "text") -> bool:
    value = selection()[name]
    return value is None or len(_fields[name].reading.write(value)) <= LONGEST_LINKED_TEXT


def select(**changes: Any) -> None:
    """Change the selection because of something that a person did, in a callback."""
    selected, given = selection(), changes.keys()
    following = auto_fields() - given
    changed = {name for name, value in changes.items() if value != selected[name]}
    while changed:
        forgotten = {
            name: _fields[name].start
            for name in selected
            if name not in changes and not changed.isdisjoint(_fields[name].forgotten_with)
        }
        changed = {name for name, start in forgotten.items() if start != selected[name]}
        following |= forgotten.keys() & _all_that_follow()
        changes |= forgotten
    _change(changes)
    st.session_state[_FOLLOWED] = following
    st.session_state[_TOUCHED], st.session_state[_PASSING] = True, False


def set_transient() -> None:
    """What was selected now is only passed on the way to something else: the address leaves out the next run."""
    st.session_state[_PASSING] = True


def preview() -> None:
    """What was selected is shown ahead of the page, which is not run for it: the address stays as it is, and another
    one is believed in the next run."""
    st.session_state[_TOUCHED] = st.session_state[_PASSING] = False


def passes_through() -> bool:
    """Whether what is selected now is only passed on the way to something else."""
    return bool(st.session_state.get(_PASSING))


def clamp(**values: Any) -> None:
    """Put something that is there in the place of what is not, while a page is drawn: nobody has done anything."""
    _change(values)


def pick(given: Mapping[str, Any]) -> None:
    """Take over what a person picked in a component: the fields that can be used, nothing else."""
    known = {
        name: _fields[name].reading.read(join_values(value))
        for name, value in given.items()
        if name in _fields and _fields[name].picked
    }
    select(**{name: value for name, value in known.items() if value is not None})


def picked_fields() -> dict[str, Any]:
    """The fields that components know: what is chosen inside a run, and under `followed` which of them nobody chose."""
    fields = {name: value for name, value in selection().items() if _fields[name].picked}
    return {**fields, "followed": sorted(auto_fields())}


def keep_typed(text: str) -> None:
    """Keep the text that a person typed, or that the first link has, for when something else is in its place."""
    if text.strip():
        st.session_state[_TYPED] = text


def typed_text() -> str | None:
    """The last text that a person typed, which may be the selected one; None if all were offered."""
    text: str | None = st.session_state.get(_TYPED)
    return text


def pin(how: GenerationConfig) -> None:
    """Keep the run that is selected now, written so, as B, to compare others with."""
    now = SHARED.now()
    written = None if how == GenerationConfig() else how
    select(
        pin_checkpoint=now.checkpoint,
        pin_text=now.text,
        pin_target=now.target,
        pin_how=written,
        shown="A|B",
    )


def how(given: Mapping[str, Any] | None = None) -> GenerationConfig:
    """How the strategy of these fields writes an answer by itself; a given target leaves it nothing to write."""
    now = selection() if given is None else given
    if now["target"] is not None:
        return GenerationConfig(read=now["read_as"])
    settings = {"sampling": now["sampling"], "beam": now["beam"]}.get(now["strategy"], ())
    return GenerationConfig(now["strategy"], settings, now["ban"], now["prefix"], read=now["read_as"])


def last_good() -> Mapping[str, Any] | None:
    """The fields that the last run which could be made was written with."""
    found: Mapping[str, Any] | None = st.session_state.get(_GOOD)
    return found


def keep_good() -> None:
    """Keep the fields that decide what is run: this run could be made."""
    st.session_state[_GOOD] = {name: value for name, value in selection().items() if _fields[name].brought_back}


def keep_after_loss() -> None:
    """The connection was lost and is there again: what was selected stays; in a callback.

    The new address may be among what was lost. Then Streamlit has asked for the page with the one before, as if a
    person had gone back: that run's answer to it is taken back.
    """
    if left := st.session_state.get(_LEFT):
        st.session_state[_SELECTION], st.session_state[_MODEL], st.session_state[_FOLLOWED] = left
    st.session_state[_TOUCHED] = True


def stop() -> None:
    """Go back to what was shown before a run that takes too long; in a callback."""
    starts = {name: DEFAULTS[name] for name in selection() if _fields[name].brought_back and name not in ASKED}
    _change(last_good() or starts)
    st.session_state[_TOUCHED] = True
    say_next("Stopped: what was shown before is shown.")


def say_next(sentence: str) -> None:
    """Something to say on the page that the next run draws; in a callback."""
    st.session_state[_NEXT] = sentence


def unpin() -> None:
    select(**PIN)


def widget_args(
    name: str, *, key: str, value: Any = None, taken: Callable[[Any], Any] = lambda new: new
) -> dict[str, Any]:
    """The arguments that tie a widget to a field: it shows the field's value (or `value`), and its change is kept.

    `taken` turns what the widget says into the field's value. A box that is written here still has its old text in the
    browser for a moment. Where that comes back before the run that wrote it has ended, because somebody did something
    else, nobody has typed it.
    """
    memory, shown = st.session_state, selection()[name] if value is None else value
    if _fields[name].typed and memory.get(key, shown) != shown:
        memory.setdefault(_UNSEEN, {}).setdefault(key, []).extend((memory[key], shown))
    memory[key] = shown

    def changed() -> None:
        new = st.session_state[key]
        behind = new in st.session_state.get(_UNSEEN, {}).get(key, ())
        value = None if new is None or behind else taken(new)
        if name == "text" and value is not None:
            keep_typed(value)
        select(**({} if new is None or behind else {name: value}))

    return {"key": key, "on_change": changed}


def clamp_index(name: str, count: int, owner: str) -> int:
    """The field's number, brought into 0 to count - 1; a change is said."""
    value: int = selection()[name]
    if value >= count and name in auto_fields():
        _change({name: 0})
        return 0
    if value >= count:
        last = count - 1
        what = _fields[name].noun or name
        which = f"{what} 0" if last == 0 else f"{what}s 0 to {last}"
        remark(f"There is no {what} {value}: {owner} has {which}, so {what} {last} is shown.")
        _change({name: last})
        return last
    return value


def fit_heads(count: int, owner: str) -> tuple[int, ...] | str:
    """The chosen heads, those left out that the model does not have; or the word of a derived picture."""
    chosen = SHARED.now().heads
    if isinstance(chosen, str):
        return chosen
    kept = tuple(head for head in chosen if head < count)
    if kept != chosen:
        missing = next(head for head in chosen if head >= count)
        kept = kept or (count - 1,)
        last = "head 0" if count == 1 else f"heads 0 to {count - 1}"
        shown = f"head{'s' if len(kept) > 1 else ''} {', '.join(map(str, kept))}"
        remark(f"There is no head {missing}: {owner} has {last}, so {shown} {'are' if len(kept) > 1 else 'is'} shown.")
        _change({"heads": kept})
    return kept


def fit_kind(kinds: Sequence[KindName], owner: str) -> KindName:
    """The chosen kind of attention, or the first that the model has."""
    chosen = SHARED.now().kind
    if chosen in kinds:
        return chosen
    _change({"kind": kinds[0]})
    if chosen != DEFAULTS["kind"]:
        remark(f"There is no {chosen} attention in {owner}, so {kinds[0]} attention is shown.")
    return kinds[0]


def start_at(first_row: int) -> None:
    """Without a target position, choose the row of the first step."""
    if SHARED.now().t is None:
        _change({"t": first_row})


def clamp_step(first_row: int, count: int) -> None:
    """Clamp t to the rows of `count` steps, if there are any; None stays None."""
    t, last = SHARED.now().t, first_row + count - 1
    if t is None or first_row <= t <= last:
        return
    shown, what = min(max(t, first_row), last), _fields["t"].noun or "t"
    where = f"the only one is at {last}" if count == 1 else f"the steps are at {first_row} to {last}"
    remark(f"There is no step at {what} {t}: {where}, so {what} {shown} is shown.")
    _change({"t": shown})


def fit_positions(source: int, target: int, first_row: int) -> None:
    """All four positions, brought into a run of `source` and `target` tokens; without one t is the first step's row."""
    start_at(first_row)
    for name, count in (("i", source), ("j", source), ("t", target), ("u", target)):
        if count:
            clamp_index(name, count, "the run")
        else:
            _change({name: 0})


def remark(sentence: str) -> None:
    """Something about the selection to say on the page."""
    st.session_state[_REMARKS].append(sentence)


def remarks() -> tuple[str, ...]:
    return tuple(st.session_state[_REMARKS])


def _with_all(before: Mapping[str, Any]) -> Selection:
    """The selection with a value of each declaration that is known by now: pages declare theirs when they are there.

    What there was before may be of other code, where the app is changed while it runs: then its fields are taken.
    """
    if isinstance(before, Selection) and len(before.by_owner) == len(_declarations):
        return before
    values = {
        owner: each.declaration(**{name: before.get(name, DEFAULTS[name]) for name in each.names})
        for owner, each in _declarations.items()
    }
    return Selection(MappingProxyType(values))


def _change(fields: Mapping[str, Any]) -> None:
    st.session_state[_SELECTION] = selection().changed(fields)


def _follow_model(before: str | None, offers: Offers, given: Mapping[str, Any]) -> None:
    """After a change of the model, put a text that fits it in the place of one that was only offered for the other."""
    model, text = SHARED.now().checkpoint, SHARED.now().text
    if model == before or (text != DEFAULTS["text"] and (before is None or text not in offers(before))):
        return
    offered = offers(model)
    if offered and text not in offered:
        _change({**{name: DEFAULTS[name] for name in POSITIONS}, **given, "text": offered[0]})
        st.session_state[_FOLLOWED] = _all_that_follow() - given.keys()


def _write() -> None:
    if passes_through():
        return
    following = auto_fields()
    stated = {
        name: value
        for name, value in selection().items()
        if (name not in VIEW or value != VIEW[name]) and name not in following
    }
    address = {name: _fields[name].reading.write(value) for name, value in stated.items() if value is not None}
    long = [name for name in address if _fields[name].typed and len(address[name]) > LONGEST_LINKED_TEXT]
    for name in long:
        del address[name]
    if long:
        _keep_beside(address, {name: stated[name] for name in long})
    if st.query_params.to_dict() != address:
        st.query_params.from_dict(address)
    st.session_state[_WRITTEN] = address


def _keep_beside(address: Mapping[str, str], texts: Mapping[str, Any]) -> None:
    """Keep the texts that this address leaves out, for when the Back button leads to it. A link has the same form, so
    those of before are forgotten where they were others: it would bring them back."""
    before, addresses = st.session_state.get(_SHORTENED, ({}, set()))
    st.session_state[_SHORTENED] = texts, {*(addresses if before == texts else ()), frozenset(address.items())}


def _left_out_of(address: Mapping[str, str]) -> Mapping[str, Any]:
    """The long texts with which this address was written."""
    texts, addresses = st.session_state.get(_SHORTENED, ({}, ()))
    found: Mapping[str, Any] = texts if frozenset(address.items()) in addresses else {}
    return found


def _understood(address: Mapping[str, str]) -> dict[str, Any]:
    """The fields that the address gives in a form that can be used; what cannot is said and left out."""
    found = {}
    for name, given in address.items():
        if name not in _fields:
            remark(f"The address asks for {_cited(name)}, which means nothing here.")
            continue
        reading = _fields[name].reading
        value = reading.read(given)
        if value is None:
            remark(f"The address asks for {name} {_cited(given)}, which is not {reading.wanted}.")
        else:
            found[name] = value
    return found


def _cited(given: str) -> str:
    return f"“{given and labels.sentence(given[:40])}{'…' if len(given) > 40 else ''}”"
