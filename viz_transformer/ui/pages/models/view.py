"""Parts of the Models page: a model as a card, its settings and its origin as tables, its answers aligned."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.models.untrained import UntrainedSummary
from viz_transformer.checkpoint import describe
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.checkpoint.devices import FLOAT32, computed_in_the_app
from viz_transformer.checkpoint.files import CARD, CONFIG, VOCABULARIES, WEIGHTS, CheckpointError, check_digest
from viz_transformer.checkpoint.grading import standing_of
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.huggingface.folder import HuggingFaceSummary
from viz_transformer.measuring.app_links import both_shown
from viz_transformer.model.kinds import SIDE_OF, stacks_of
from viz_transformer.ui.frame import links, text
from viz_transformer.ui.pages.models import words
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.memoize import memoize

if TYPE_CHECKING:
    from viz_transformer.analysis.models.answers import PairAnswer
    from viz_transformer.measuring.comparing import Difference
    from viz_transformer.model.config import ModelConfig


def name(model: str) -> None:
    """Draw the selected model's name as a heading."""
    st.html(f'<h2 class="vt-model">{html.escape(model)}</h2>')


def card(summary: Summary | Unreadable, *, selected: bool) -> None:
    """Draw the facts for choosing a model: task, main measurement, badge and size; or why it cannot be read.

    The whole card is the button that selects the model.
    """
    lines: list[tuple[str, str]] = []
    if not isinstance(summary, Unreadable):
        instead = words.TASK_NOT_STATED
        if isinstance(summary, RecordingSummary):
            instead = words.recording_of(summary.text)
        task = str(summary.card.get("title") or summary.card.get("task") or instead)
        value, *what = ((style, line.replace("–", "–\u2060")) for style, line in metric_lines(summary.card)[:2])
        left_out = [("vt-card-what", line) for line in too_long_lines(summary.card)]
        lines = [value, ("vt-card-task", task), *what, *left_out, ("vt-card-size", size_line(summary))]
    lines.insert(0, ("vt-card-name", summary.name))
    body = "".join(f'<div class="{style}">{html.escape(line)}</div>' for style, line in lines)
    key = f"card_selected_{summary.name}" if selected else f"card_{summary.name}"
    with st.container(border=True, height="stretch", key=key):
        if isinstance(summary, Unreadable):
            st.html(f'<div class="vt-card">{body}</div>')
            text.paragraph(summary.error, tone="bad")
            return
        st.html(f'<div class="vt-card">{body}{_read_right(summary)}{_badge(summary)}</div>')
        st.button(
            words.select(text.literal(summary.name), selected),
            key=f"select_{summary.name}",
            disabled=selected,
            width="stretch",
            on_click=state.select,
            kwargs={"checkpoint": summary.name},
        )


def size_line(summary: Summary) -> str:
    """Parameters and bytes on disk in words; unknown if the file cannot be read."""
    try:
        if isinstance(summary, RecordingSummary):
            return words.size(0, file_size(summary.path.stat().st_size))
        count = summary.parameter_count
        if isinstance(summary, UntrainedSummary):
            return words.size(count, words.IN_MEMORY)
        if isinstance(summary, HuggingFaceSummary):
            return words.size(count, file_size(summary.size))
        return words.size(count, file_size((summary.path / WEIGHTS).stat().st_size))
    except (ValueError, OSError) as problem:
        return str(problem)


def _badge(summary: Summary) -> str:
    """The badge of verified files, which says nothing about the model's quality; or of what is wrong with them."""
    if isinstance(summary, UntrainedSummary):
        return f'<div class="vt-card-badge">{words.NEVER_TRAINED}</div>'
    if isinstance(summary, RecordingSummary):
        return f'<div class="vt-card-badge">{words.A_RECORDING}</div>'
    if isinstance(summary, HuggingFaceSummary):
        dtype = computed_in_the_app().dtype
        how = words.run_by_transformers(None if dtype == FLOAT32 else str(dtype))
        badge = f'<div class="vt-card-badge">{how}</div>'
        if (left := cached.describe_unused(summary)) is None:
            return badge
        icon, hint = '<span class="vt-icon" aria-hidden="true">!</span>', html.escape(left[1])
        return f'{badge}<div class="vt-card-badge vt-warning" title="{hint}">{icon}{html.escape(left[0])}</div>'
    wrong = _find_changed(str(summary.path), _times(summary), summary)
    standing = standing_of(summary.card)
    green = standing is None or standing.tone == "ok"  # beside possibly wrong numbers it would mislead
    tone: text.Tone = "bad" if wrong else "ok" if green else "plain"
    return _line(tone, wrong or words.FILES_VERIFIED)


def _read_right(summary: Summary) -> str:
    """The badge for how well an imported model's loading is verified; "" for one that was trained here."""
    standing = standing_of(summary.card)
    badge = "" if standing is None else _line(standing.tone, standing.words, standing.sentence)
    without = describe.without_tensors(summary.card)
    broken = _line("warning", words.BROKEN, said) if (said := describe.broken(summary.card)) else ""
    return f"{broken}{badge}{_line('warning', without)}" if without else f"{broken}{badge}"


def _line(tone: text.Tone, said: str, hint: str = "") -> str:
    icon = f'<span class="vt-icon" aria-hidden="true">{text.ICONS[tone]}</span>' if text.ICONS[tone] else ""
    told = f' title="{html.escape(hint)}"' if hint else ""
    return f'<div class="vt-card-badge vt-{tone}"{told}>{icon}{html.escape(said)}</div>'


def _times(summary: Summary) -> tuple[float, ...]:
    """The modification times of the files: if one changes, they have to be read again."""
    return tuple(
        (summary.path / name).stat().st_mtime if (summary.path / name).exists() else 0.0
        for name in (CARD, CONFIG, WEIGHTS, *VOCABULARIES.values())
    )


@memoize(64)
def _find_changed(path: str, times: tuple[float, ...], _summary: Summary) -> str:
    """A sentence on the first file whose SHA-256 differs from the card; "" for none."""
    names = [CONFIG, *(VOCABULARIES[side] for side in VOCABULARIES if _summary.codecs.get(side) is not None), WEIGHTS]
    try:
        for name in names:
            check_digest(_summary.path, name, _summary.card)
    except CheckpointError as error:
        return str(error)
    return ""


def metric_lines(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The lines of a card's first measurement: its main number with details, and the data it was measured on.

    That is BLEU for a model that translates, else exact matches with their 95 % interval, else the loss.
    """
    entry = next(iter(describe.metrics(card)), {})
    lines = _bleu_lines(entry) or _match_lines(entry) or _loss_lines(entry)
    if not lines:
        return [("vt-card-value", "–"), ("vt-card-what", words.UNMEASURED)]
    return [("vt-card-value", lines[0]), *(("vt-card-what", line) for line in lines[1:])]


def too_long_lines(card: Mapping[str, Any]) -> list[str]:
    """The lines on pairs that the first measurement skips as too long, with the share of right answers if they count as
    wrong."""
    entry = describe.with_too_long(card)
    exact = None if entry is None else describe.read_measurement(entry, "exact_match")
    if entry is None or exact is None:
        return []
    return [words.skipped(describe.too_long(entry), entry["pairs"], percent(exact))]


def _describe_split(entry: Mapping[str, Any]) -> str:
    return words.texts_of_split(describe.count_texts(entry), str(entry.get("split", words.SPLIT_NOT_STATED)))


def _bleu_lines(entry: Mapping[str, Any]) -> list[str]:
    bleu, chrf = describe.read_measurement(entry, "bleu"), describe.read_measurement(entry, "chrf")
    if bleu is None:
        return []
    tokenizer, width = describe.bleu_tokenizer(entry), describe.beam(entry)
    how = [words.BLEU, words.sacrebleu(tokenizer), words.decoding(width)]
    second = [] if chrf is None else [words.chrf(numerals.score(chrf))]
    return [numerals.score(bleu), ", ".join(filter(None, how)), *second, _describe_split(entry)]


def _match_lines(entry: Mapping[str, Any]) -> list[str]:
    exact, low, high = (describe.read_measurement(entry, f"exact_match{end}") for end in ("", "_low", "_high"))
    if exact is None or low is None or high is None:
        return []
    interval = words.exact_match(percent(low, ""), percent(high, ""))
    lines = [percent(exact), interval, _describe_split(entry)]
    if (equivalent := describe.read_measurement(entry, "equivalent")) is not None:
        lines.append(words.equal_as_expressions(percent(equivalent)))
    if (unseen := describe.read_measurement(entry, "exact_match_unseen")) is not None:
        lines.append(words.unseen_sources(percent(unseen)))
    return lines


def _loss_lines(entry: Mapping[str, Any]) -> list[str]:
    loss, perplexity = describe.read_measurement(entry, "loss"), describe.read_measurement(entry, "perplexity")
    if loss is None:
        return []
    second = words.loss_and_perplexity(None if perplexity is None else numerals.share(perplexity, 2))
    return [words.nats_per_token(numerals.number(loss, 2)), second, _describe_split(entry)]


def percent(share: Any, unit: str = " %") -> str:
    """A share as a percentage with two decimals."""
    return numerals.percent(float(share), 2, unit)


def file_size(size: int) -> str:
    """The bytes in a suitable unit."""
    return f"{numerals.number(size / 1e6, 1)} MB" if size >= 1e5 else f"{numerals.number(size / 1e3, 0)} kB"


def config_rows(
    config: ModelConfig, codecs: Mapping[str, Any], card: Mapping[str, Any] | None = None
) -> list[tuple[str, str]]:
    """The rows of the configuration, in the words of the config file, the sizes of each side at the end; dropout only
    if the card states it."""
    dropout = f"{numerals.significant(config.dropout, 6)}"
    rows = [
        (words.KIND, config.kind),
        (words.LAYERS, words.layers_of([(SIDE_OF[stack].layers(config), stack) for stack in stacks_of(config)])),
        (words.D_MODEL, str(config.d_model)),
        (words.HEADS, words.heads(config.n_heads, config.head_dim)),
        (words.D_FF, words.hidden(config.d_ff, config.activation)),
        (words.NORM, words.norm(config.norm, config.final_norm)),
        (words.POSITIONS, config.positions),
        (words.EMBEDDING_SCALE, words.SCALES.get(config.embedding_scale, config.embedding_scale)),
        *([(words.DROPOUT, dropout)] if describe.states_dropout(card or {}) else []),
        (words.OUTPUT_LAYER, words.TIED if config.tied_output else words.NOT_TIED),
    ]
    stated = {name for name, _ in rows}
    rows += [row for row in describe.unusual_settings(config) if row[0] not in stated]
    for side, most in (("source", config.max_source), ("target", config.max_target)):
        size = getattr(config, f"{side}_vocab_size")
        if size is not None:
            tokenizer = ((codecs.get(side) or {}).get("tokenizer") or {}).get("kind", words.IDS_ONLY)
            rows.append((side, words.vocabulary(size, most, tokenizer)))
    return rows


def folder_rows(summary: HuggingFaceSummary) -> list[tuple[str, str]]:
    """The rows for a transformers folder, as far as its config states them."""
    spec, family = summary.spec, summary.family
    heads = dict.fromkeys(describe.heads_words(each, site) for site, each in spec.attentions.items())
    added = family.stacks[stacks_of(spec)[0]].positions is not None
    positions = words.ADDED_POSITIONS if added else words.NO_POSITIONS
    rows = [
        (words.KIND, spec.kind),
        (words.CLASS, summary.architecture),
        (words.LAYERS, words.layers_of([(SIDE_OF[stack].layers(spec), stack) for stack in stacks_of(spec)])),
        (words.D_MODEL, str(spec.d_model)),
        (words.HEADS, words.one_of([*heads])),
        (words.NORM, words.norm(spec.norm, spec.final_norm)),
        (words.POSITIONS, words.self_attention(family.acts) if family.acts else positions),
    ]
    for stack in stacks_of(spec):
        side = SIDE_OF[stack]
        if (size := side.vocab_size(spec)) is not None:
            rows.append((side.name, words.vocabulary(size, side.most(spec))))
    return [*rows, *([(words.LABELS, f"{len(spec.labels):,}")] if spec.labels else [])]


def origin_rows(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rows of data, licences, and the time of training."""
    rows = [(label, _origin(name, card[name])) for name, label in words.ORIGIN.items() if card.get(name) is not None]
    without = describe.without_tensors(card)
    return [*rows, (words.LEFT_OUT, without)] if without else rows


def _origin(name: str, value: Any) -> str:
    """A value in words: a count with commas, a seed without."""
    return f"{value:,}" if name == "steps" and type(value) is int else str(value)


def answer_lines(answers: Sequence[PairAnswer], *, translates: bool) -> str:
    """A sentence on the number of pairs that were run, and of right answers."""
    right = sum(answer.right for answer in answers)
    lower = bool(answers and answers[0].lower)
    return words.answered(len(answers), right, lower=lower if translates else None)


def answer_tables(answers: Sequence[PairAnswer], shown: int, *, translates: bool, model: str) -> int:
    """Draw the first answers of each kind; for a translator all answers, since one that is not the reference may be as
    good.

    Each row links to *Run* with its source. Returns how many are left out.
    """
    right = [answer for answer in answers if answer.right]
    wrong = [answer for answer in answers if not answer.right]
    if translates:
        _answer_table(words.DIFFERENT, wrong, len(wrong), model, sides=(words.REFERENCE, words.ANSWER))
        _answer_table(words.EQUAL, right, len(right), model)
        return 0
    _answer_table(words.WRONG, wrong[:shown], len(wrong), model, tone="bad", sides=(words.TARGET, words.ANSWER))
    _answer_table(words.RIGHT, right[:shown], len(right), model, tone="ok")
    return sum(max(len(each) - shown, 0) for each in (wrong, right))


def _answer_table(
    title: str,
    answers: Sequence[PairAnswer],
    total: int,
    model: str,
    *,
    tone: text.Tone = "plain",
    sides: tuple[str, str] | None = None,
) -> None:
    """Draw sources with their answers; with `sides`, the target is above the answer, with differences marked."""
    if not answers:
        return
    rows = "".join(_answer_row(answer, sides, model) for answer in answers)
    caption = words.answers_shown(title, len(answers), total)
    sign = {"ok": "✓", "bad": "✕"}.get(tone)
    icon = f'<span class="vt-icon" aria-hidden="true">{sign}</span>' if sign else ""
    st.html(
        f'<table class="vt-answers vt-answers-{tone}"><caption class="vt-{tone}">{icon}'
        f"{html.escape(caption)}</caption>{rows}</table>"
    )


def source_cell(source: str, **fields: str) -> str:
    """The first cell of a row: a source that links to *Run* with these fields."""
    return f"<th>{linked(source, **fields)}</th>"


def linked(source: str, **fields: str) -> text.Html:
    """A source that links to *Run* with these fields; without a link if it is too long for an address."""
    where, said = links.address(**{"text": source, **fields}), html.escape(source)
    return text.Html(said if where is None else f'<a href="{html.escape(where)}">{said}</a>')


def differences_table(found: Sequence[Difference], names: tuple[str, str], total: int) -> str:
    """The table of sources with different answers of two models, with the reference, as HTML; right answers are
    marked."""
    rows = []
    for each in found:
        written = zip(each.texts, each.right, strict=True)
        texts = [words.exact(answer, right) for answer, right in written]
        rows.append((linked(each.source, **both_shown(*names, each.source)), each.target, *texts))
    caption = words.differences_shown(len(found), total)
    return text.table(rows, head=("", words.REFERENCE, *names), style="vt-answers vt-differences", caption=caption)


def _answer_row(answer: PairAnswer, sides: tuple[str, str] | None, model: str) -> str:
    source = source_cell(answer.source, checkpoint=model)
    if sides is None:
        return f"<tr>{source}<td>{html.escape(answer.written)}</td></tr>"
    wanted = "".join(_mark("".join(piece.wanted), "del", piece.same) for piece in answer.pieces)
    written = "".join(_mark("".join(piece.written), "ins", piece.same) for piece in answer.pieces)
    marked = zip(sides, (wanted, written or words.EMPTY), strict=True)
    lines = "".join(f'<div class="vt-side"><span>{name}</span><span>{said}</span></div>' for name, said in marked)
    return f"<tr>{source}<td>{lines}</td></tr>"


def _mark(said: str, tag: str, same: bool) -> str:
    return html.escape(said) if same or not said else f"<{tag}>{html.escape(said)}</{tag}>"
