"""Parts of the Models page: a model as a card, its settings and its origin as tables, its answers aligned."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_transformer import describe
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.checkpoint.files import WEIGHTS
from viz_transformer.ui import state, text

if TYPE_CHECKING:
    from viz_transformer.analysis.answers import Answer
    from viz_transformer.config import ModelConfig


def card(summary: Summary | Unreadable, *, selected: bool) -> None:
    """What one needs to choose a model: its task, how good it is on what, and its size; or why it cannot be read."""
    error, lines = None, [("vt-card-name", summary.name)]
    if isinstance(summary, Unreadable):
        error = summary.error
    else:
        try:
            size = f"{summary.parameter_count:,} parameters, {file_size((summary.path / WEIGHTS).stat().st_size)}"
        except (ValueError, OSError) as problem:
            error, size = str(problem), "size not known"
        task = str(summary.card.get("title") or summary.card.get("task") or "task not stated")
        lines += [("vt-card-task", task), *metric_lines(summary.card), ("vt-card-size", size)]
    body = "".join(f'<div class="{style}">{html.escape(line)}</div>' for style, line in lines)
    with st.container(border=True, key=f"card_selected_{summary.name}" if selected else f"card_{summary.name}"):
        st.html(f'<div class="vt-card">{body}</div>')
        if error is not None:
            text.paragraph(error, tone="bad")
            return
        st.button(
            "Selected" if selected else "Select",
            key=f"select_{summary.name}",
            disabled=selected,
            width="stretch",
            on_click=state.select,
            kwargs={"checkpoint": summary.name},
        )


def metric_lines(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The first measurement of a card: the number, its 95 % interval, and what it was measured on."""
    entry = next(iter(describe.metrics(card)), {})
    value, low, high = (entry.get(name) for name in ("exact_match", "exact_match_low", "exact_match_high"))
    if not all(isinstance(number, int | float) for number in (value, low, high)):
        return [("vt-card-value", "–"), ("vt-card-what", "not measured yet")]
    pairs, unseen = entry.get("pairs"), entry.get("exact_match_unseen")
    measured = f"{pairs:,} pairs of " if isinstance(pairs, int) else ""
    lines = [
        ("vt-card-value", percent(value)),
        ("vt-card-what", f"exact match, 95 % interval {percent(low, '')}–{percent(high, '')}"),
        ("vt-card-what", f"{measured}{entry.get('split', 'a split not stated')}"),
    ]
    if isinstance(unseen, int | float):
        lines.append(("vt-card-what", f"sources not in the training data: {percent(unseen)}"))
    return lines


def percent(share: Any, unit: str = " %") -> str:
    """A share as a percentage with two decimals, never rounded up to 100."""
    return f"{min(100 * float(share), 99.99):.2f}{unit}" if share < 1 else f"100{unit}"


def file_size(size: int) -> str:
    """Bytes in the unit that suits them."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"


def config_rows(config: ModelConfig, codecs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The configuration in the words of the config file, small things left together."""
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    rows = [
        ("kind", config.kind),
        ("layers", " + ".join(f"{count} {stack}" for stack, count in layers.items() if count)),
        ("d_model", str(config.d_model)),
        ("heads", f"{config.n_heads}, head_dim {config.head_dim}"),
        ("d_ff", f"{config.d_ff}, {config.activation}"),
        ("norm", f"{config.norm}-norm, {'with' if config.final_norm else 'without'} final norm"),
        ("positions", config.positions),
        ("embedding scale", "sqrt(d_model)" if config.embedding_scale == "sqrt" else "1"),
        ("dropout in training", f"{config.dropout:g}"),
        ("output layer", "tied to the embedding" if config.tied_output else "of its own"),
    ]
    for side, most in (("source", config.max_source), ("target", config.max_target)):
        size = getattr(config, f"{side}_vocab_size")
        if size is not None:
            tokenizer = ((codecs.get(side) or {}).get("tokenizer") or {}).get("kind", "ids only")
            rows.append((f"{side}", f"{size:,} tokens ({tokenizer}), at most {most}"))
    return rows


def origin_rows(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Data, licences, and when it was trained."""
    names = {
        "data": "data",
        "data_licence": "licence of the data",
        "weights_terms": "terms of the weights",
        "date": "trained on",
        "seed": "seed",
        "steps": "optimiser steps",
    }
    return [(label, str(card[name])) for name, label in names.items() if card.get(name) is not None]


def answer_table(title: str, answers: Sequence[Answer], total: int) -> None:
    """Sources with their answers; where an answer is wrong, what was asked for stands above it, differences marked."""
    if not answers:
        return
    rows = "".join(_answer_row(answer) for answer in answers)
    shown = f"{len(answers)} of {total}" if len(answers) < total else str(total)
    tone = "ok" if answers[0].right else "bad"
    icon = "✓" if answers[0].right else "✕"
    st.html(
        f'<table class="vt-answers"><caption class="vt-{tone}"><span class="vt-icon" aria-hidden="true">{icon}</span>'
        f"{html.escape(title)}, {shown} shown</caption>{rows}</table>"
    )


def _answer_row(answer: Answer) -> str:
    source = f"<th>{html.escape(answer.source)}</th>"
    if answer.right:
        return f"<tr>{source}<td>{html.escape(answer.written)}</td></tr>"
    wanted = "".join(_marked("".join(piece.wanted), "del", piece.same) for piece in answer.pieces)
    written = "".join(_marked("".join(piece.written), "ins", piece.same) for piece in answer.pieces)
    sides = (("asked for", wanted), ("written", written or "(nothing)"))
    lines = "".join(f'<div class="vt-side"><span>{name}</span><span>{marked}</span></div>' for name, marked in sides)
    return f"<tr>{source}<td>{lines}</td></tr>"


def _marked(words: str, tag: str, same: bool) -> str:
    return html.escape(words) if same or not words else f"<{tag}>{html.escape(words)}</{tag}>"
