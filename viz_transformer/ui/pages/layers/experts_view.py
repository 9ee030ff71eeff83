"""The router on the Layers page: what measures each expert at the chosen token as a bar, and which ones it has."""

from __future__ import annotations

import html
from collections.abc import Iterator

import numpy as np
import pandas as pd

from viz_transformer.analysis.layers.experts import Measure, Routing, routing, select_drawn_experts
from viz_transformer.analysis.layers.sublayers import SubLayer
from viz_transformer.figures import labels
from viz_transformer.numerals import significant
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.drawn import Drawn, Heading, Markup, Numbers, TableButton, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.layers import words
from viz_transformer.ui.pages.layers.layers_tables import scrolled, token_index, token_name
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

MOST = 16


@memoize(16)
def _routing(shown: RunView, place: SubLayer) -> Routing | None:
    return routing(shown.trace, place)


def has_experts(both: Runs, chosen: Chosen) -> bool:
    """Whether the chosen sub-layer has a router that was recorded."""
    return chosen["place"] is not None and _routing(both.main, chosen["place"]) is not None


def draw_router(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The experts of the chosen token: the router's number, its measure as a bar, and the share of the chosen."""
    shown, place, token = both.main, chosen["place"], chosen["token"]
    found = _routing(shown, place)
    assert found is not None
    count = found.numbers.shape[1]
    drawn = select_drawn_experts(found, token, MOST)
    name = labels.isolate(labels.shorten(labels.visible(token_name(shown, place.stack, token)), 24))
    yield Heading(said=words.router_heading(name, token))
    yield _bars(found, token, drawn)
    numbers = Numbers(
        frame=lambda: _table(shown, place, found),
        note=words.router_note(
            shown.caption(words.router_of(place.title), rows=place.stack == "decoder"), _measure(found), count
        ),
        name=labels.file_name(shown.summary.name, place.short, "router"),
    )
    yield TableButton(numbers=numbers, key="layers_router")
    yield Text(said=describe_experts(found, token, name))
    if count > len(drawn):
        yield Text(said=words.experts_shown(len(drawn), count, _measure(found)))


def _measure(found: Routing) -> Measure | None:
    return None if found.rule is None else found.rule.measure


def rule_in_words(found: Routing) -> str:
    """How the shares of this text follow from the router's numbers."""
    rule = found.rule
    if rule is None and not found.tells:
        return words.RULE_UNKNOWN
    if rule is None:
        return words.RULE_ITS_OWN
    return words.rule(rule.measure, "" if rule.factor == 1 else significant(rule.factor, 6), rule.among)


def describe_experts(found: Routing, token: int, name: str) -> str:
    """Which experts the token has, how their shares come about, and how often each is chosen in this text."""
    own = np.flatnonzero(found.chosen[token]).tolist()
    tokens, count = found.tokens, found.numbers.shape[1]
    busiest = int(tokens.argmax())
    return " ".join(
        (
            words.has_experts(name, [f"{each}" for each in own]),
            f"{rule_in_words(found)}.",
            words.measured(_measure(found), count),
            words.busiest(busiest, int(tokens[busiest]), len(found.chosen), int((tokens == 0).sum()), count),
        )
    )


def _bars(found: Routing, token: int, drawn: list[int]) -> Markup:
    rows = []
    for expert in drawn:
        measured, chosen = float(found.measured[token, expert]), bool(found.chosen[token, expert])
        mark = ' class="vt-ly-chosen"' if chosen else ""
        share = labels.share(float(found.shares[token, expert]), 4) if chosen else words.NOT_CHOSEN
        rows.append(
            f"<tr{mark}><th>{expert}</th><td>{html.escape(significant(float(found.numbers[token, expert]), 6))}</td>"
            f'<td class="vt-ly-bar" style="--p: {measured:.4f}">{html.escape(labels.share(measured, 4))}</td>'
            f"<td>{html.escape(share)}</td></tr>"
        )
    names = [words.EXPERT, words.ROUTER_NUMBER, words.MEASURES[_measure(found)], words.SHARE_IN_SUM]
    head = text.cells(names, "th")
    return scrolled(
        f'<table class="vt-layers vt-router"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _table(shown: RunView, place: SubLayer, found: Routing) -> pd.DataFrame:
    """A row for each token and expert."""
    parts = []
    for expert in range(found.numbers.shape[1]):
        columns = {
            words.EXPERT: expert,
            words.NUMBER: found.numbers[:, expert],
            words.MEASURES[_measure(found)]: found.measured[:, expert],
            words.EXPERT_SHARE: found.shares[:, expert],
        }
        parts.append(pd.DataFrame(columns, index=token_index(shown, place.stack)))
    return pd.concat(parts)
