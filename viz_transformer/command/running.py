"""Commands that run one text: `translate`, `read`, `trace`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import viz_transformer as vt
from viz_transformer import analysis
from viz_transformer.checkpoint.describe import table
from viz_transformer.checkpoint.grading import standing_of
from viz_transformer.checkpoint.writing import check_output, write_file
from viz_transformer.command.options import (
    BeamOption,
    CheckpointArgument,
    JsonOption,
    OpeningOptions,
    ReadingOptions,
    SpecialTokensOption,
    TextArgument,
    grouped,
    open_model,
    to_json,
)
from viz_transformer.figures import labels
from viz_transformer.sentences import quote

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.running.decoding import Run
    from viz_transformer.running.step import Step
    from viz_transformer.running.strategies import Strategy
    from viz_transformer.running.trace import Trace


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """How an answer is written."""

    beam: BeamOption = None
    length_penalty: Annotated[
        float | None,
        typer.Option(help="With --beam: 0 for none, higher favours long answers; default 0.6, or the folder's own."),
    ] = None
    n_best: Annotated[
        int | None, typer.Option(metavar="N", help="With --beam: how many answers to print, best first.")
    ] = None
    tree: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --beam: write every hypothesis of the search as JSON.")
    ] = None
    sample: Annotated[bool, typer.Option("--sample", help="Draw each token instead of taking the best.")] = False
    temperature: Annotated[float | None, typer.Option(help="With --sample: default 1; 0 is greedy.")] = None
    top_k: Annotated[int | None, typer.Option(metavar="N", help="With --sample: keep the N most probable tokens.")] = (
        None
    )
    top_p: Annotated[
        float | None, typer.Option(help="With --sample: keep the fewest tokens whose probabilities reach this sum.")
    ] = None
    min_p: Annotated[
        float | None, typer.Option(help="With --sample: keep tokens at least this many times as probable as the first.")
    ] = None
    repetition_penalty: Annotated[
        float | None, typer.Option(help="With --sample: above 1 discourages tokens already read.")
    ] = None
    seed: Annotated[int | None, typer.Option(help="With --sample: seed of the draws; default 0.")] = None
    prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="Text that the answer must begin with.")] = None

    def strategy(self) -> Strategy:
        """Raises ValueError for options that do not belong together."""
        if self.beam is not None and self.sample:
            raise ValueError("--beam and --sample are two ways to write an answer: give one of them")
        of_beam, of_sampling = self._given("length_penalty", "n_best"), self._given(*SAMPLING)
        for given, needed, chosen in (
            (of_beam, "--beam N", self.beam is not None),
            (of_sampling, "--sample", self.sample),
        ):
            if given and not chosen:
                raise ValueError(f"--{next(iter(given)).replace('_', '-')} is a setting of {needed}: give that with it")
        if self.tree is not None and self.beam is None:
            raise ValueError("--tree writes the hypotheses of a beam search: give --beam N with it")
        if self.beam is not None:
            return vt.Beam(self.beam, **of_beam)
        return vt.Sampling(**of_sampling) if self.sample else vt.Greedy()

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(self, name)) is not None}


SAMPLING: Final = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")


@grouped
def translate(
    ckpt: CheckpointArgument,
    text: TextArgument,
    answer: AnswerOptions,
    reading: ReadingOptions,
    opening: OpeningOptions,
    json: JsonOption = False,
) -> None:
    """Print the model's answer."""
    strategy = answer.strategy()
    if answer.tree is not None:
        check_output(answer.tree)
    model = open_model(ckpt, opening, reading)
    if not model.spec.writes:
        raise ValueError(f"{model.name} writes nothing: 'viz-transformer read' prints what it makes of a text")
    run = vt.decode(model, text, strategy=strategy, prefix=answer.prefix)
    _say_beyond(model, run.trace)
    if answer.tree is not None and run.tree is not None:
        about = {"checkpoint": model.name, "weights_sha256": model.weights_sha256, "source": text}
        write_file(answer.tree, (to_json({**about, **run.tree.to_dict()}) + "\n").encode())
    answers = answer_facts(model, run)
    if json:
        print(to_json({**run_facts(run), **({} if answer.n_best is None else {"answers": answers})}))
    else:
        print("\n".join([run.text] if answer.n_best is None else [each["text"] for each in answers]))
    say_unknown(model, run.trace, run.steps)
    if not run.text.strip():
        print(f"the answer is empty: {_without_text(run)}", file=sys.stderr)


def say_unknown(model: Checkpoint, trace: Trace, steps: Sequence[Step] = ()) -> None:
    """Print to stderr which words are unknown to the model, and how often it wrote its unknown token."""
    if (sentence := labels.unknown_sentence(analysis.hidden_texts(model, trace))) is not None:
        print(sentence, file=sys.stderr)
    if written := [step.token for step in steps if not step.forced and step.token_id == model.codec("target").unknown]:
        times = "once" if len(written) == 1 else f"{len(written):,} times"
        print(f"the model itself wrote {written[0]} {times}: a word that its vocabulary lacks", file=sys.stderr)


def _say_beyond(model: Checkpoint, recorded: Trace) -> None:
    """Warn on stderr if this text is longer than those for which the model's reading is proved."""
    standing, lengths = standing_of(model.card), {"source": len(recorded.src), "target": len(recorded.tgt)}
    if standing is not None and (said := standing.beyond(lengths)):
        print(said, file=sys.stderr)


def answer_facts(model: Checkpoint, run: Run) -> list[dict[str, Any]]:
    """The best answers of a beam search, best first; the only answer of any other run."""
    if run.tree is None or model.target_codec is None:
        return [{"text": run.text, "log_prob": run.log_prob, "score": run.score}]
    best = [(node, model.target_codec.decode(run.tree.ids(node.index))) for node in run.tree.best]
    return [{"text": text, "log_prob": node.total, "score": node.score} for node, text in best]


def run_facts(run: Run) -> dict[str, Any]:
    """A run as JSON values, for `translate --json`."""
    return {
        "text": run.text,
        "tokens": run.tokens,
        "log_prob": run.log_prob,
        "score": run.score,
        "stopped": run.stopped,
        "steps": [
            {
                "index": step.index,
                "token": step.token,
                "token_id": step.token_id,
                "log_prob": step.log_prob,
                "forced": step.forced,
                "candidates": [
                    {"token": c.token, "token_id": c.token_id, "log_prob": c.log_prob} for c in step.candidates
                ],
            }
            for step in run.steps
        ],
    }


def _without_text(run: Run) -> str:
    """The tokens of an answer that has no text, in words."""
    if not run.tokens:
        return "there is no room for a token after the given text"
    more = len(run.tokens) - 5
    listed = ", ".join(quote(token) for token in run.tokens[:5]) + (f" and {more:,} more" if more > 0 else "")
    return f"the model wrote {listed}, which {'is' if len(run.tokens) == 1 else 'are'} no text"


@grouped
def read_command(
    *,
    ckpt: CheckpointArgument,
    text: TextArgument,
    special_tokens: SpecialTokensOption = False,
    opening: OpeningOptions,
    json: JsonOption = False,
) -> None:
    """Print an encoder's labels or masked-token predictions."""
    model = open_model(ckpt, opening, ReadingOptions(special_tokens=special_tokens))
    if model.spec.writes:
        raise ValueError(f"{model.name} writes: its answer is printed by 'viz-transformer translate'")
    run = vt.read(model, text)
    facts = analysis.read_facts(model, run, every_label=json)
    if json:
        print(to_json(facts))
    else:
        print(table([[labels.sentence(cell) for cell in row] for row in analysis.read_rows(facts)]))
    say_unknown(model, run.trace)


@grouped
def trace(
    *,
    ckpt: CheckpointArgument,
    text: TextArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The safetensors file to write.")],
    target: Annotated[str | None, typer.Option(help="Target for the decoder; default: the greedy answer.")] = None,
    reading: ReadingOptions,
    opening: OpeningOptions,
) -> None:
    """Record a run and save all its tensors."""
    check_output(out)
    model = open_model(ckpt, opening, reading)
    decodes = target is None and model.spec.output == "next token"
    run = vt.decode(model, text) if decodes else None
    recorded = vt.trace(model, text, target) if run is None else run.trace
    _say_beyond(model, recorded)
    recorded.save(out)
    sides = {"source": recorded.src_tokens, "target": recorded.tgt_tokens}
    tokens = " and ".join(f"{len(read)} {side}" for side, read in sides.items() if read)
    print(f"{out}: {len(recorded.points())} points of {model.name}, {tokens} tokens")
    if decodes and recorded.non_causal_reason:
        why = recorded.non_causal_reason
        print(f"{why}: each step was a pass of its own, and the rows saved are those of the last one")
    say_unknown(model, recorded, () if run is None else run.steps)
