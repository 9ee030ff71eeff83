"""The tab with the training slider: the selected sentence at every snapshot of the model's training."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from viz_transformer.analysis.models.snapshots import SnapshotSeries, snapshot_series
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.figures import labels
from viz_transformer.figures.components.snapshots import MapsOfKind, SnapshotData, snapshots_payload
from viz_transformer.model.kinds import KINDS
from viz_transformer.sentences import join_names
from viz_transformer.ui.components.pictures import snapshots_view
from viz_transformer.ui.frame import frame, maps, pictures, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import question, words
from viz_transformer.ui.session import cached, passes, state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView
from viz_transformer.ui.session.waiting import waiting


def training(summary: Summary) -> Question:
    """Draw the slider, or a sentence on which models have snapshots; returns the page's question."""
    if not summary.snapshots():
        text.paragraph(words.came_without(summary.name, _list_models_with_snapshots()))
        return question.without_snapshots(summary.name)
    place = frame.place("training")
    status = place.empty()
    with waiting(words.LOADING, status):
        ckpt = cached.checkpoint(summary)
    chosen = state.SHARED.now()
    with waiting(words.running_sentence(len(summary.snapshots())), status):
        series = _series(ckpt, chosen.text, chosen.target)
    last = series.runs[-1]
    shown = RunView("A", summary, series.source, ckpt, last.run, chosen.target)
    frame.clamp_selection(shown)
    frame.follow(shown)
    frame.set_scenes(frame.Runs(shown), ("training_slider",))
    with place:
        asked = pictures.table(
            lambda: table(series),
            note=words.table_note(shown.caption(words.AT_EVERY_SNAPSHOT), labels.sentence(series.target)),
            name=f"{summary.name}-snapshots",
            key="snapshots",
        )
        with st.container(key="training_slider"):
            snapshots_view(payload(shown, series), key="snapshots", on_table=asked)
        text.paragraph(words.about_snapshots(words.TARGETS[series.origin], labels.sentence(series.target)))
        if said := passes.sentence(shown.trace):
            text.paragraph(said)
    return question.training(summary.name, series)


def table(series: SnapshotSeries) -> pd.DataFrame:
    """The table of step, loss and answer of each snapshot."""
    rows = [(run.step, run.loss, run.text, run.complete, run.right) for run in series.runs]
    return pd.DataFrame(rows, columns=words.SNAPSHOT_COLUMNS).set_index(words.SNAPSHOT_COLUMNS[0])


def _list_models_with_snapshots() -> str:
    names = [each.name for each in cached.summaries() if isinstance(each, Summary) and each.snapshots()]
    if not names:
        return words.NO_SNAPSHOTS_HERE
    return words.models_with(join_names(names), len(names))


@memoize(4)
def _series(ckpt: Checkpoint, source: str, target: str | None) -> SnapshotSeries:
    return snapshot_series(ckpt, source, target)


@memoize(4)
def payload(shown: RunView, _series: SnapshotSeries) -> bytes:
    """The payload of the replay; `shown` is the run at its last snapshot."""

    def of(kind: Any) -> MapsOfKind:
        drawn = maps.picture(shown, {"kind": kind, "layer": 0, "heads": (0,), "options": ()})
        return MapsOfKind(
            kind=kind,
            name=KINDS[kind].label,
            weights=_series.maps(kind),
            mask=_series.mask(kind),
            axes=drawn.axes,
        )

    return snapshots_payload(
        [SnapshotData(run.step, run.text, run.complete, run.right, run.loss) for run in _series.runs],
        [of(kind) for kind in _series.kinds],
        caption=shown.caption(words.MAPS_AT_A_SNAPSHOT, rows=True),
        name=labels.file_name(shown.summary.name, "snapshots"),
    )
