"""Strategies and edits, as code and as data, against a tiny random model."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from builders import tiny_checkpoint

from attack import hostile, reading, texts
from attack.trying import attempt, check
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.points import attention_sites, derived_points, recorded_points
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead, FixRow, RemovePositions, Replace, Scale, SetMask, edit_from_dict
from viz_transformer.running.strategies import STOP_RULES, Beam, Greedy, Sampling, Strategy
from viz_transformer.running.tracing import trace
from viz_transformer.ui.session.generation_config import (
    parse_how,
    read_beam,
    read_branches,
    read_ids,
    read_sampling,
    write_branches,
)

SETTINGS: dict[type[Beam | Sampling], dict[str, tuple[Any, ...]]] = {
    Beam: {
        "width": (1, 2, 4, 100, 101),
        "length_penalty": (0.0, 0.6, 10.0, None),
        "penalty": ("gnmt", "power", None),
        "count_end": (True, False),
        "stop": (*STOP_RULES, None),
        "n_best": (1, 2),
    },
    Sampling: {
        "temperature": (0.0, 1e-300, 0.01, 1.0, 100.0),
        "top_k": (None, 1, 5, 10**9),
        "top_p": (1e-300, 0.01, 0.9, 1.0),
        "min_p": (0.0, 0.5, 1.0),
        "repetition_penalty": (1e-300, 0.5, 1.0, 100.0),
        "seed": (0, 1, 2**63 - 1),
    },
}


def strategy(draw: Random) -> Strategy:
    """A strategy; one of its settings may be anything. Raises ValueError if it refuses that."""
    kind = draw.choice((Beam, Sampling, Greedy))
    if kind is Greedy:
        return Greedy()
    settings = {name: draw.choice(usual) for name, usual in SETTINGS[kind].items()}
    if kind is Beam:
        settings["width"] = draw.choice((1, 2, 3, 4, 8))
    if draw.random() < 0.3:
        settings[draw.choice([*settings])] = hostile.value(draw)
    return kind(**settings)


def attack_strategies(draw: Random, place: Path) -> None:
    """A strategy and everything else that a decode can be asked for; or its line in an address."""
    if draw.random() < 0.3:
        attempt(lambda: check_addressed(draw))
        return
    ckpt = tiny(draw.choice(("encoder-decoder", "decoder-only")))
    given = "abc" if ckpt.config.has_encoder else "uvw"
    usual = {
        "prefix": draw.choice(("uv", [4, 5], "", [])),
        "target": draw.choice(("uvw", [4, 5, 2])),
        "force": {draw.choice((0, 1, 5)): draw.choice(("u", 4, 2))},
        "ban": ["v", 5],
        "max_steps": draw.choice((1, 6)),
    }
    asked = {name: value for name, value in usual.items() if draw.random() < 0.25}
    for name in asked:
        if draw.random() < 0.4:
            asked[name] = _wrong(name, draw)
    source = _wrong("prefix", draw) if draw.random() < 0.3 else given
    attempt(lambda: reading.check_run(decode(ckpt, source, strategy=strategy(draw), **asked)))


def _wrong(name: str, draw: Random) -> Any:
    """Of the type that is asked for, with anything inside."""
    if name == "max_steps":
        return draw.choice((0, -1, 10**30))
    if name == "force":
        return {draw.choice((-1, 0, 3, 10**30)): draw.choice((-1, 4, 10**30, texts.text(draw)))}
    if name != "ban" and draw.random() < 0.5:
        return texts.text(draw, ("abc", "uvw"))
    return [draw.choice((4, 5, 2, 0, hostile.value(draw))) for _ in range(draw.choice((0, 1, 3, 30)))]


def check_addressed(draw: Random) -> None:
    """A line that an address has for a strategy is read or not; what was read can be run and is written the same."""
    valid = draw.choice(
        (
            "beam|4,0.6,gnmt,end,none-better|1,2|0:5,1:6|b|uv",
            "sampling|0.8,0,1.0,0.0,1.0,0||||",
            "greedy|||0:7|x y|",
            "0.3.17.pin;1.5.9-4.other",
            "4,0.6,gnmt,end,none-better",
            "4,-0.6,power,end,early_stopping=never",
            "0.8,0,1,0,1,0",
            "1,2,3",
        )
    )
    given = texts.text(draw, (valid,)) if draw.random() < 0.7 else valid
    for read in (read_sampling, read_beam, read_ids):
        read(given)
    if (branches := read_branches(given)) is not None:
        check(read_branches(write_branches(branches)) == branches, "branches are written as others")
    if (how := parse_how(given)) is not None:
        check(parse_how(how.text()) == how, "a strategy is written as another")
        how.words()


def attack_edits(draw: Random, place: Path) -> None:
    """An edit as data, damaged in one place, made and run."""
    ckpt = tiny(draw.choice(("encoder-decoder", "decoder-only", "encoder-only")))
    described = edit(draw, ckpt)
    if draw.random() < 0.7:
        described = hostile.damaged(described, draw)

    def run() -> None:
        made = edit_from_dict(described)
        made.caption()
        if ckpt.config.kind == "encoder-decoder" and draw.random() < 0.5:
            reading.check_labels(decode(ckpt, "abc", edits=[made], max_steps=4).text)
        else:
            trace(ckpt, "abc", "uvw" if ckpt.config.kind == "encoder-decoder" else None, edits=[made])

    attempt(run)


def edit(draw: Random, ckpt: Checkpoint) -> dict[str, Any]:
    """An edit that the model may take, as `to_dict` writes it."""
    points = [point.name for point in (*recorded_points(ckpt.config), *derived_points(ckpt.config))]
    site, point, head = draw.choice(attention_sites(ckpt.config)), draw.choice(points), draw.choice((0, 3))
    made = draw.choice(
        (
            AblateHead(site, head, draw.choice(("zero", "mean", "uniform"))),
            Scale(point, draw.choice((0.0, 2.0, -1.0, 1e30)), draw.choice(((), (0,), (None, 1), (0, 1, 2)))),
            Replace(point, draw.choice((0.0, (1.0, 2.0), ((0.5,) * 16,))), draw.choice(((), (1,), (None, 0)))),
            SetMask(
                site, draw.choice((None, 0, 2)), draw.choice((None, 1)), draw.random() < 0.5, draw.choice((None, 1))
            ),
            FixRow(site, 1, draw.choice(((1.0,), (0.5, 0.5), (0.2,) * 5)), draw.choice((None, 2))),
            RemovePositions(draw.choice(("encoder", "decoder"))),
        )
    )
    described = made.to_dict()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in described.items()}


@cache
def tiny(kind: str) -> Checkpoint:
    return tiny_checkpoint(kind)
