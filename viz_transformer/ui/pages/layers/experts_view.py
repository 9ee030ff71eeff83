"""The router on the Layers page: what measures each expert at the chosen token as a bar, and which ones it has."""

from __future__ import annotations

import html
from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer.analysis.layers.experts import Measure, Routing, drawn_experts, routing
from viz_transformer.analysis.layers.sublayers import Place
from viz_transformer.figures import labels
from viz_transformer.numerals import significant
from viz_transformer.sentences import listed
from viz_transformer.ui.frame import pictures, text
from viz_transformer.ui.pages.layers import words
from viz_transformer.ui.pages.layers.layers_tables import chosen_token, token_index, token_name
from viz_transformer.ui.session.kept import kept
from viz_transformer.ui.session.runs import Shown

MOST = 16
# What measures an expert is a probability where the rule is one of the softmax; a sigmoid is none, for those of all
# experts share no whole.
_NAMES: Mapping[Measure | None, str] = {"softmax": "probability", "sigmoid": "sigmoid", None: "softmax"}
_WORKED_OUT: Mapping[Measure | None, str] = {
    "softmax": "the softmax of the router’s numbers over all {count} experts, computed here",
    "sigmoid": "of each of the router’s numbers by itself, so that those of all {count} experts share no whole,"
    " computed here",
    None: "of the router’s numbers over all {count} experts, computed here",
}
_MOST: Mapping[Measure | None, str] = {
    "softmax": "the most probable others",
    "sigmoid": "those others whose sigmoid is largest",
    None: "those others whose softmax is largest",
}


@kept(16)
def _routing(shown: Shown, place: Place) -> Routing | None:
    return routing(shown.trace, place)


def has_experts(shown: Shown, place: Place) -> bool:
    """Whether this sub-layer has a router that was recorded."""
    return _routing(shown, place) is not None


def router(shown: Shown, place: Place) -> None:
    """The experts of the chosen token: the router's number, its measure as a bar, and the share of the chosen."""
    found = _routing(shown, place)
    if found is None:
        return
    token, count = chosen_token(place.stack), found.numbers.shape[1]
    drawn = drawn_experts(found, token, MOST)
    name = labels.isolated(labels.shorten(labels.visible(token_name(shown, place.stack, token)), 24))
    text.section(f"Router: the experts of “{name}”, position {token}")
    st.html(_bars(found, token, drawn))
    pictures.table_button(
        lambda: _table(shown, place, found),
        note=f"{shown.caption(f'{place.title}: router', rows=place.stack == 'decoder')}. Number and share as recorded;"
        f" {_worked_out(found)}.",
        name=labels.file_name(shown.summary.name, place.short, "router"),
        key="layers_router",
    )
    text.paragraph(in_words(found, token, name))
    if count > len(drawn):
        text.paragraph(f"{len(drawn)} of {count} experts are shown: the chosen ones and {_MOST[_measure(found)]}.")


def _measure(found: Routing) -> Measure | None:
    return None if found.rule is None else found.rule.measure


def _worked_out(found: Routing) -> str:
    measure = _measure(found)
    return f"{_NAMES[measure]}: {_WORKED_OUT[measure].format(count=found.numbers.shape[1])}"


def rule_in_words(found: Routing) -> str:
    """How the shares of this text follow from the router's numbers."""
    rule = found.rule
    if rule is None and not found.tells:
        return words.ROUTER_NONE
    if rule is None:
        return words.ROUTER_OWN
    times = "" if rule.factor == 1 else f"{significant(rule.factor, 6)} times "
    one, all_of = {
        "softmax": ("probability of its expert", "probabilities of the chosen experts"),
        "sigmoid": ("sigmoid of its expert’s number", "sigmoids of the chosen experts’ numbers"),
    }[rule.measure]
    made = (
        f"The shares are {times}the {all_of}, divided by their sum" if rule.among else f"Each share is {times}the {one}"
    )
    return f"{made}, at every token of this text"


def in_words(found: Routing, token: int, name: str) -> str:
    """Which experts the token has, how their shares come about, and how often each is chosen in this text."""
    own = np.flatnonzero(found.chosen[token]).tolist()
    if own:
        experts = listed([f"{each}" for each in own])
        has = f"“{name}” has {'expert' if len(own) == 1 else 'experts'} {experts}."
    else:
        has = f"“{name}” has no expert here: nothing is added to its stream by one."
    tokens, count = found.tokens, len(found.chosen)
    busiest = int(tokens.argmax())
    never = int((tokens == 0).sum())
    idle = "each of them has some" if never == 0 else f"{never} of {len(tokens)} have none"
    return (
        f"{has} {rule_in_words(found)}. Bar and {_worked_out(found)}; number and share are recorded. Of {count} tokens"
        f" expert {busiest} has most, {int(tokens[busiest])}; {idle}."
    )


def _bars(found: Routing, token: int, drawn: list[int]) -> str:
    rows = []
    for expert in drawn:
        measured, chosen = float(found.measured[token, expert]), bool(found.chosen[token, expert])
        mark = ' class="vt-ly-chosen"' if chosen else ""
        share = labels.share(float(found.shares[token, expert]), 4) if chosen else "not chosen"
        rows.append(
            f"<tr{mark}><th>{expert}</th><td>{html.escape(significant(float(found.numbers[token, expert]), 6))}</td>"
            f'<td class="vt-ly-bar" style="--p: {measured:.4f}">{html.escape(labels.share(measured, 4))}</td>'
            f"<td>{html.escape(share)}</td></tr>"
        )
    head = text.cells(["expert", "router’s number", _NAMES[_measure(found)], "share in the sum"], "th")
    return (
        '<div class="vt-ly-scroll" tabindex="0"><table class="vt-layers vt-router"><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _table(shown: Shown, place: Place, found: Routing) -> pd.DataFrame:
    """A row for each token and expert."""
    parts = []
    for expert in range(found.numbers.shape[1]):
        columns = {
            "expert": expert,
            "number": found.numbers[:, expert],
            _NAMES[_measure(found)]: found.measured[:, expert],
            "share": found.shares[:, expert],
        }
        parts.append(pd.DataFrame(columns, index=token_index(shown, place.stack)))
    return pd.concat(parts)
