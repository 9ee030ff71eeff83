"""The tab with a model's drawing and the sum of its parameters."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_transformer import __version__, huggingface
from viz_transformer.analysis.models.parameters import parameter_blocks, parameter_rows
from viz_transformer.analysis.models.untrained import UntrainedSummary
from viz_transformer.checkpoint import describe
from viz_transformer.checkpoint.grading import graded
from viz_transformer.figures import labels
from viz_transformer.figures.architecture import architecture as drawn
from viz_transformer.figures.architecture import architecture_payload, drawing_of, norm_places, norm_places_of
from viz_transformer.huggingface.folder import HuggingFaceSummary
from viz_transformer.ui.components.pictures import architecture_view
from viz_transformer.ui.frame import frame, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import question, view, words
from viz_transformer.ui.session import cached
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.waiting import waiting

if TYPE_CHECKING:
    from viz_transformer.analysis.models.parameters import ParameterRow
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.model.config import ModelConfig
    from viz_transformer.model.layout import Block, Layout


def architecture(summary: Summary) -> Question | None:
    """Draw the model as the paper's figure, its parameters by block, and pre-norm beside post-norm. Returns the page's
    question if the files alone do not answer it."""
    if isinstance(summary, HuggingFaceSummary):
        return _draw_folder(summary)
    left, right = st.columns([5, 3], gap="medium")
    with left:
        with st.container(key="model_drawing"):
            drawing(summary.config, summary.name, graded(summary.name, summary.card))
        with st.container(key="model_norms"):
            text.section(words.NORM_PLACES)
            called = graded(summary.name, summary.card)
            _draw(norm_places(summary.config), words.norm_places_of(called), summary.name, "norm_places")
    with right:
        settings(summary)
        with st.container(key="model_parameters"):
            parameters(summary.config, stored=summary)
    return None


def _draw_folder(summary: HuggingFaceSummary) -> Question:
    """Draw the same for a transformers folder, from a trial pass of the loaded model; returns the page's question."""
    place = frame.place("architecture")
    status = place.empty()
    with waiting(words.LOADING, status):
        found = _layout(summary)
    layers = [stack.layers[stack.typical] for stack in found.stacks]
    sublayers = [part for layer in layers for part in layer.sublayers]
    norms = {norm.label for part in sublayers if (norm := part.before or part.after) is not None}
    usual = not any(layer.parallel for layer in layers) and not any(part.added for part in sublayers)
    scenes = ["model_drawing", "model_settings", "model_parameters"]
    with place:
        left, right = st.columns([5, 3], gap="medium")
        with left:
            with st.container(key="model_drawing"):
                _draw(drawing_of(found), words.architecture_of(summary.name), summary.name, "architecture")
                for note in found.notes:
                    text.paragraph(note)
            if usual and len(norms) == 1:
                scenes.insert(1, "model_norms")
                with st.container(key="model_norms"):
                    text.section(words.NORM_PLACES)
                    places = norm_places_of(summary.spec.norm, norms.pop())
                    _draw(places, words.norm_places_of(summary.name), summary.name, "norm_places")
        with right:
            settings(summary)
            with st.container(key="model_parameters"):
                total, card = _draw_parameters(found.blocks), cached.checkpoint(summary).card
                _compare_with_files(summary.parameter_count, total, card.get(describe.UNUSED))
    frame.scenes_of_page(scenes, words.architecture_of(summary.name))
    return question.architecture(summary.name, found.blocks)


def _compare_with_files(stored: int, total: int, unused: Mapping[str, Any] | None) -> None:
    """Compare the sum of parameters with the numbers in the weights files, except for those that take no part in a
    run."""
    left = 0 if unused is None else int(unused["numbers"])
    same = stored - left == total
    said = words.in_weights_files(stored - left, None if unused is None else left, same)
    text.paragraph(said, tone="ok" if same and not left else "plain")
    if unused is not None:
        text.paragraph(str(unused["sentence"]), tone="warning")


@memoize(8)
def _layout(summary: HuggingFaceSummary) -> Layout:
    return huggingface.layout_of(cached.checkpoint(summary).hooked_model)


def settings(summary: Summary) -> None:
    with st.container(key="model_settings"):
        text.section(words.CONFIGURATION)
        if isinstance(summary, HuggingFaceSummary):
            text.definitions(view.folder_rows(summary))
        else:
            text.definitions(view.config_rows(summary.config, summary.codecs, summary.card))


def drawing(config: ModelConfig, name: str, called: str = "", *, key: str = "architecture") -> None:
    """Draw the model as the paper's figure. called: its name in the caption, with further words."""
    _draw(drawn(config), words.architecture_of(called or name), name, key)


def _draw(found: Any, what: str, name: str, key: str) -> None:
    caption = words.drawn_by(what, __version__)
    made = architecture_payload(found, caption=caption, name=labels.file_name(name, key))
    architecture_view(made, key=f"model_{key}")


def parameters(config: ModelConfig, *, stored: Summary | None = None) -> None:
    """Draw shapes and parameters of each block, and compare their sum with another count.

    That count is from the weights file of `stored`, or else from the model that torch builds from the config.
    """
    total = _draw_parameters(parameter_blocks(config))
    try:
        said, same = _count_parameters(config, stored, total)
    except ValueError as error:
        text.paragraph(str(error), tone="bad")
        return
    text.paragraph(said, tone="ok" if same else "bad")


def _draw_parameters(blocks: Sequence[Block]) -> int:
    """Draw the table of parameters; returns their sum."""
    rows = parameter_rows(blocks)
    total = sum(row.count for row in rows)
    text.section(words.PARAMETERS)
    st.html(parameter_table(rows, total))
    return total


def parameter_table(rows: Sequence[ParameterRow], total: int) -> str:
    """The table of parts as HTML: name with shapes, number of copies, and parameters."""
    body = []
    for row in rows:
        name = f"{html.escape(row.name)}<i>{html.escape(row.shapes or words.NO_SHAPES)}</i>"
        body.append((text.Html(name), words.times(row.times, row.each), f"{row.count:,}"))
    foot = f"<tr><th>{words.TOTAL}</th><td></td><td>{total:,}</td></tr>"
    return text.table(body, style="vt-parameters", foot=foot)


def _count_parameters(config: ModelConfig, stored: Summary | None, total: int) -> tuple[str, bool]:
    """A sentence on the count of the weights file, or else of torch's model, and whether it equals the total."""
    if stored is not None and not isinstance(stored, UntrainedSummary):
        same = stored.parameter_count == total
        return words.in_weights_file(stored.parameter_count, same), same
    from viz_transformer.checkpoint.store import expected_shapes

    count = sum(map(math.prod, expected_shapes(config).values()))
    return words.in_torch(count, count == total), count == total
