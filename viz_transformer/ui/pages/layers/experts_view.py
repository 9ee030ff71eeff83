"""The router on the Layers page: each expert's probability at the chosen token as a bar, and which ones it has."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer.analysis.layers.experts import Routing, drawn_experts, routing
from viz_transformer.analysis.layers.sublayers import Place
from viz_transformer.figures import labels
from viz_transformer.numerals import significant
from viz_transformer.sentences import listed
from viz_transformer.ui.frame import pictures, text
from viz_transformer.ui.pages.layers.layers_tables import chosen_token, token_index, token_name
from viz_transformer.ui.session.kept import kept
from viz_transformer.ui.session.runs import Shown

MOST = 16
RULES = {
    "probability": "Each share is the probability of its expert",
    "probability of the chosen": "The shares are the probabilities of the chosen experts, divided by their sum",
    "other": "The shares follow from the numbers by a rule of this model’s own, not by their softmax",
}


@kept(16)
def _routing(shown: Shown, place: Place) -> Routing | None:
    return routing(shown.trace, place)


def has_experts(shown: Shown, place: Place) -> bool:
    """Whether this sub-layer has a router that was recorded."""
    return _routing(shown, place) is not None


def router(shown: Shown, place: Place) -> None:
    """The experts of the chosen token: the router's number, the probability as a bar, and the share of the chosen."""
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
        " probability: softmax of the numbers over all experts.",
        name=labels.file_name(shown.summary.name, place.short, "router"),
        key="layers_router",
    )
    text.paragraph(in_words(found, token, name))
    if count > len(drawn):
        text.paragraph(f"{len(drawn)} of {count} experts are shown: the chosen ones and the most probable others.")


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
        f"{has} {RULES[found.rule]}, at every token of this text. Bar and probability: the softmax of the router’s"
        f" numbers over all {len(tokens)} experts, worked out here; number and share are recorded. Of {count} tokens"
        f" expert {busiest} has most, {int(tokens[busiest])}; {idle}."
    )


def _bars(found: Routing, token: int, drawn: list[int]) -> str:
    rows = []
    for expert in drawn:
        probability, chosen = float(found.probabilities[token, expert]), bool(found.chosen[token, expert])
        mark = ' class="vt-ly-chosen"' if chosen else ""
        share = labels.share(float(found.shares[token, expert]), 4) if chosen else "not chosen"
        rows.append(
            f"<tr{mark}><th>{expert}</th><td>{html.escape(significant(float(found.numbers[token, expert]), 6))}</td>"
            f'<td class="vt-ly-bar" style="--p: {probability:.4f}">{html.escape(labels.share(probability, 4))}</td>'
            f"<td>{html.escape(share)}</td></tr>"
        )
    head = text.cells(["expert", "router’s number", "probability", "share in the sum"], "th")
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
            "probability": found.probabilities[:, expert],
            "share": found.shares[:, expert],
        }
        parts.append(pd.DataFrame(columns, index=token_index(shown, place.stack)))
    return pd.concat(parts)
