"""Our pictures in a real browser: from data received, and from a click, until they are painted."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser

from bench.browser import chromium, plain_page
from bench.ratios import Result, counted, measure
from viz_transformer.analysis.attention.axes import Axes, Axis, Texts
from viz_transformer.analysis.attention.picture import Heads, Meta, Picture
from viz_transformer.figures.components.grid import GridScore, HeadMaps, grid_payload

LAYERS, HEADS, TOKENS = 12, 12, 64
SCORES = 6
Pictures = Sequence[tuple[str, bytes]]
"""Components by name, each with its payload."""


@cache
def random_weights(*shape: int) -> NDArray[np.float32]:
    """Attention of random scores: rows of the last axis sum to 1, a few of their weights large and most small."""
    scores = 2 * np.random.default_rng(4).standard_normal(shape, dtype=np.float32)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    weights: NDArray[np.float32] = raised / raised.sum(-1, keepdims=True)
    return weights


def words(count: int) -> list[str]:
    return [f"word{position}" for position in range(count)]


def grid(weights: NDArray[np.float32]) -> bytes:
    """Heads as the Attention page shows them, with as many scores. weights: [L, H, Q, K]."""
    values = weights.max(-1).mean(-1)
    scores = [GridScore(f"score {n}", values, np.full_like(values, 0.1), weights.shape[-2], "") for n in range(SCORES)]
    return grid_payload(HeadMaps("encoder", weights), Meta("All heads", "bench", "bench"), scores, compact=True)


def matrix(weights: NDArray[np.float32], *, causal: bool = False) -> bytes:
    """One head. weights: [Q, K]; causal: later keys are masked."""
    mask = np.tri(*weights.shape, dtype=bool) if causal else np.ones(weights.shape, dtype=bool)
    meta = Meta("encoder layer 0, head 0", "bench", "bench", scale="encoder")
    return Picture(weights * mask, _axes(weights), mask, meta).pack()


def lines(weights: NDArray[np.float32]) -> bytes:
    """Several heads. weights: [N, Q, K]."""
    names = tuple(f"head {head}" for head in range(len(weights)))
    mask, meta = np.ones(weights.shape[1:], dtype=bool), Meta("Lines", "bench", "bench", scale="encoder")
    return Picture(weights[0], _axes(weights), mask, meta, heads=Heads(names, weights)).pack_lines()


def _axes(weights: NDArray[np.float32]) -> Axes:
    queries, keys = (Texts(words(count)) for count in weights.shape[-2:])
    return Axis("i", "query", "queries", "source", queries), Axis("j", "key", "keys", "source", keys)


def milliseconds_to_paint(browser: Browser, pictures: Pictures) -> float:
    """From data received to painted, in a fresh page."""
    data = {f"payload{n}": payload for n, (_, payload) in enumerate(pictures)}
    with plain_page(browser, data) as page:
        shown = [[name, f"/payload{n}"] for n, (name, _) in enumerate(pictures)]
        return float(page.evaluate("(pictures) => bench.show(pictures)", shown))


def clicks(browser: Browser, name: str, payload: bytes, step: int) -> Iterator[float]:
    """From a click on something else each time to the picture painted, without end; in one page."""
    with plain_page(browser, {"payload": payload}) as page:
        page.evaluate("(name) => bench.show([[name, '/payload']])", name)
        things = page.evaluate("([name, step]) => bench.things(name, step)", [name, step])
        before = None
        for n in itertools.count():
            _, x, y = things[(n * 37) % len(things)]  # far from the one before
            page.mouse.move(x, y)
            page.evaluate("(name) => { bench.await_stage(name) }", name)
            page.mouse.down()
            page.mouse.up()
            took = float(page.evaluate("bench.answer"))
            chosen = page.evaluate("JSON.stringify(vizTransformerSelection.chosen)")
            if chosen == before:
                raise RuntimeError(f"the click on the {name} at {x}, {y} has chosen nothing new")
            before = chosen
            yield took


def picture_results() -> Iterator[Result]:
    """Painting and choosing, each component alone. Raises RuntimeError without a browser."""
    heads = random_weights(LAYERS, HEADS, TOKENS, TOKENS)
    with chromium() as browser:
        grid_of_all = grid(heads)
        size = f"{LAYERS * HEADS} heads x {TOKENS} tokens"
        yield counted(f"bytes of the grid, {size}", len(grid_of_all) / 1e6, unit="MB", aim="<= 0.7")
        yield from _painted(browser, f"grid, {size}", "grid", lambda: grid(heads), aim="<= 200")
        for side, aim in ((512, "<= 150"), (2048, "<= 300")):
            name = f"matrix, {side:,} x {side:,}"
            weights = random_weights(side, side)
            yield from _painted(browser, name, "matrix", lambda w=weights: matrix(w, causal=True), aim=aim)
        large = matrix(random_weights(2048, 2048), causal=True)
        for what, name, payload, step in (
            (f"grid, {size}", "grid", grid_of_all, 11),
            (f"matrix, {TOKENS} x {TOKENS}", "matrix", matrix(heads[0, 0]), 23),
            ("matrix, 2,048 x 2,048", "matrix", large, 23),
            (f"lines, 6 heads x {TOKENS} tokens", "lines", lines(heads[0, :6]), 23),
        ):
            times = clicks(browser, name, payload, step)
            yield measure(f"{what}: click to painted", lambda t=times: next(t), rounds=21, unit="ms", aim="<= 50")
            times.close()


def _painted(browser: Browser, what: str, name: str, pack: Callable[[], bytes], aim: str) -> Iterator[Result]:
    def packed() -> float:
        start = time.perf_counter()
        pack()
        return 1000 * (time.perf_counter() - start)

    payload = pack()
    yield measure(f"{what}: packed by Python", packed, rounds=9, unit="ms")
    yield measure(
        f"{what}: data received to painted",
        lambda: milliseconds_to_paint(browser, [(name, payload)]),
        rounds=9,
        unit="ms",
        aim=aim,
    )
