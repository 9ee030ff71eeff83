"""A step of the Decoding page: from a key press to all its pictures painted, for 64 steps of 6 layers and 8 heads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser

from bench.browser import chromium, plain_page
from bench.core import endless_checkpoint
from bench.pictures import Pictures
from bench.ratios import Result, measure
from viz_transformer import decode
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.running.strategies import Sampling
from viz_transformer.ui.frame import maps, steps
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import RunView

LAYERS, HEADS, STEPS = 6, 8, 64
SOURCE = "29,284.30"


def step_results() -> Iterator[Result]:
    """From an arrow key to the last picture painted; each step another one. Raises RuntimeError without a browser."""
    with chromium() as browser:
        times = _steps(browser, _pictures(_shown()))
        name = f"Decoding page, {LAYERS} layers x {HEADS} heads x {STEPS} steps: key to painted"
        yield measure(name, lambda: next(times), rounds=21, unit="ms", aim="<= 50")
        times.close()


def _shown() -> RunView:
    """A sampled run of random weights that never ends by itself."""
    ckpt = endless_checkpoint(encoder_layers=LAYERS, decoder_layers=LAYERS, n_heads=HEADS)
    run = decode(ckpt, SOURCE, strategy=Sampling(top_p=0.9, repetition_penalty=1.2), max_steps=STEPS)
    return RunView("A", Summary(ckpt.name, Path(ckpt.name), ckpt.config, {}, {}), SOURCE, ckpt, run)


def _pictures(shown: RunView) -> Pictures:
    """What the page shows of a step: candidates, both shaded texts, the map that grows."""
    cross, own = (
        maps.picture(shown, {**state.DEFAULTS, "kind": kind, "layer": LAYERS - 1, "heads": (HEADS - 1,)})
        for kind in ("cross", "decoder")
    )
    texts = [each.pack_text(grows=True) for each in (cross, own)]
    candidates = steps.scrubber_data(shown, strategy=True, takes=True)
    return [
        ("scrubber", candidates),
        *(("shading", text) for text in texts),
        ("matrix", cross.pack(grows=True)),
    ]


def _steps(browser: Browser, pictures: Pictures) -> Iterator[float]:
    data = {f"payload{n}": payload for n, (_, payload) in enumerate(pictures)}
    with plain_page(browser, data) as page:
        shown = [[name, f"/payload{n}"] for n, (name, _) in enumerate(pictures)]
        page.evaluate("(pictures) => bench.show(pictures)", shown)
        page.evaluate("() => vizTransformerSelection.pick({ t: 0, i: 0, u: 0 })")
        page.locator(".scrubber .stage").focus()
        for n in itertools.count():
            page.evaluate("() => { bench.await_key('.matrix .stage') }")  # it is drawn last
            page.keyboard.press("ArrowRight")
            took = float(page.evaluate("bench.answer"))
            if page.evaluate("vizTransformerSelection.chosen.t") != n + 1:
                raise RuntimeError(f"the key has not chosen step {n + 1}")
            yield took
