"""Run: what does the model write for this text, and where did each step look?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from viz_transformer.ui import cached, examples, frame, state, text

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.decoding import Run

HOW = (
    "A row is one step: it reads the token on the left and writes the one on the right. A cell is the share that a"
    " token has in what this head hands on; a row sums to 1 if nothing is masked. The bars are probabilities"
    " over the whole vocabulary, before anything is chosen."
)
NOT = (
    "A large weight is neither a translation link nor a cause of the answer. A probability is the model's, not the"
    " chance of being right. A mean over heads is no head's attention."
)
NOT_CAUSAL = (
    "In this model later tokens change earlier rows: every step was a pass of its own, over all tokens. Probabilities"
    " are those of the steps; the picture is of the last pass, and an earlier step may have looked elsewhere."
)


def inputs(summary: Summary | None) -> DeltaGenerator:
    """The sentence box, with examples and, for numbers, a slider that writes into the box; the place beside it."""
    left, right = st.columns([5, 3], gap="medium")
    task = None if summary is None else summary.card.get("task")
    offered = () if summary is None else examples.offered(summary)
    with left:
        st.text_input(examples.label(task), autocomplete="off", **state.bind("text", key="run_text"))
        if offered:
            key, text_now = "run_example", state.selection()["text"]
            st.session_state[key] = text_now if text_now in offered else None
            st.pills(
                "Examples",
                offered,
                format_func=text.literal,
                key=key,
                on_change=take_example,
                args=(key,),
                label_visibility="collapsed",
            )
    if examples.takes_numbers(task):
        with right:
            slider()
    with right:
        return frame.place("status").empty()


def slider() -> None:
    key, limit = "run_slider", examples.NUMBER_LIMIT
    shown = examples.number_of(state.selection()["text"])
    if shown is not None or key not in st.session_state:
        st.session_state[key] = shown or 0.0
    st.slider(
        "or pick a number",
        -limit,
        limit,
        step=examples.NUMBER_STEP,
        format="localized",
        key=key,
        on_change=take_number,
        args=(key,),
    )


def take_example(key: str) -> None:
    if st.session_state[key] is not None:
        state.select(text=st.session_state[key])


def take_number(key: str) -> None:
    state.select(text=examples.number_text(st.session_state[key]))


def site_controls(summary: Summary) -> None:
    """Which head's picture is shown."""
    config = summary.config
    layers = config.decoder_layers or config.encoder_layers
    state.fit("layer", layers, summary.name)
    state.fit_head(config.n_heads, summary.name)
    choices = {"layer": [*range(layers)], "head": [*range(config.n_heads), state.MEAN]}
    few = layers + config.n_heads <= 8
    with st.container(horizontal=True, key="site"):
        for name, options in choices.items():
            bound = state.bind(name, key=f"run_{name}")
            if few:
                st.segmented_control(name.capitalize(), options, required=True, **bound)
            else:
                st.selectbox(name.capitalize(), options, width=120, **bound)


def show_answer(ckpt: Checkpoint, run: Run) -> None:
    """The text in large, and under it what was read and written, token by token."""
    from viz_transformer.ui.strip import answer_text, run_strip

    lead, written = answer_text(ckpt, run)
    text.paragraph(written or "(nothing but the end token)", style="vt-answer", lead=lead)
    run_strip(ckpt, run, selected=state.selection()["step"], on_pick=lambda step: state.select(step=step))


def show_picture(run: Run) -> None:
    """The attention of the chosen head, the chosen step marked."""
    from viz_transformer.analysis.attention import attention_kinds, head_view, step_row
    from viz_transformer.figures import attention_heatmap

    chosen = state.selection()
    head = None if chosen["head"] == state.MEAN else chosen["head"]
    view = head_view(run.trace, attention_kinds(run.trace)[0], chosen["layer"], head)
    figure = attention_heatmap(
        view.weights,
        view.query_tokens,
        view.key_tokens,
        mask=view.mask,
        title=view.title,
        kind=view.kind,
        theme=frame.theme(),
        selected_query=step_row(run, chosen["step"]),
        query_writes=view.query_writes,
        query_originals=view.query_originals,
        key_originals=view.key_originals,
        derived=view.derived,
        scale_name=view.scale_name,
    )
    frame.chart(figure, key="run_heatmap", alt=f"Heatmap of {view.title}: rows are steps, columns are the tokens read")


def show_step(run: Run) -> None:
    """The scrubber, and the candidates of the chosen step."""
    from viz_transformer.figures import candidate_bars

    last = len(run.steps) - 1
    if last:
        st.slider("Step", 0, last, **state.bind("step", key="run_step"))
    else:
        text.paragraph("The answer has a single step, step 0.")
    step = run.steps[state.selection()["step"]]
    ids = [candidate.token_id for candidate in step.candidates]
    figure = candidate_bars(
        [candidate.token for candidate in step.candidates],
        [candidate.log_prob for candidate in step.candidates],
        chosen=ids.index(step.token_id) if step.token_id in ids else None,
        vocabulary=run.trace.config.target_vocab_size,
        title=f"Candidates of step {step.index}",
        theme=frame.theme(),
    )
    frame.chart(figure, key="run_candidates", alt=f"Bars: the most probable tokens of step {step.index}")


def remarks(ckpt: Checkpoint, run: Run) -> list[str]:
    """What there is to say about the text and the selection."""
    from viz_transformer.ui.strip import unknown_sentence

    sentences = [*state.remarks()]
    if unknown := unknown_sentence(ckpt, run):
        sentences.append(unknown)
    if run.stopped == "maximum length":
        sentences.append(stopped(ckpt, run))
    if not run.trace.info.get("causal", True):
        sentences.append(NOT_CAUSAL)
    return sentences


def stopped(ckpt: Checkpoint, run: Run) -> str:
    """Why a run ended without an end token."""
    most, steps = ckpt.config.max_target, len(run.steps)
    assert ckpt.target_codec is not None
    if ckpt.target_codec.vocabulary.eos is None:
        return f"This model knows no end: it stopped after {steps} steps, when it had read {most} tokens, its maximum."
    return f"The model stopped at its maximum of {steps} steps, without an end token."


frame.title("Run")
summary = frame.selected()
status = inputs(None if isinstance(summary, str) else summary)
answer = frame.place("answer")
left, right = st.columns([5, 3], gap="medium")
with left:
    picture = frame.place("picture")
with right:
    panel = frame.place("panel")
if isinstance(summary, str):
    frame.say(status, error=summary)
else:
    with panel:
        site_controls(summary)
    try:
        with frame.waiting("Loading the model ...", status):
            ckpt = cached.checkpoint(summary)
        with frame.waiting("Running the model ...", status):
            run = cached.run(summary, state.selection()["text"])
    except ValueError as error:
        frame.say(status, *state.remarks(), error=str(error))
    else:
        state.fit("step", len(run.steps), "the answer")
        with answer:
            show_answer(ckpt, run)
        with picture:
            show_picture(run)
        with panel:
            show_step(run)
            text.explained(HOW, NOT)
        frame.say(status, *remarks(ckpt, run))
