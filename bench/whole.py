"""The picture of a whole run: how much of it is sent first, how even its frames are while it plays and while it is
zoomed, and in the app, from a key press to a deeper level."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from bench.browser import chromium, plain_page
from bench.core import endless_checkpoint
from bench.navigation import opened
from bench.pictures import random_weights, words
from bench.ratios import Result, counted, measure
from bench.served import serving
from viz_transformer.analysis.layers.sublayers import SubLayer
from viz_transformer.analysis.run.whole import SAMPLES, WholeRun, WholeStack, sample_features, whole_run
from viz_transformer.checkpoint.contents import bundled_folder
from viz_transformer.figures import details
from viz_transformer.figures.components.scrubber import CandidateData, StepData, steps_of
from viz_transformer.figures.components.whole import Names, RunText, whole_payload
from viz_transformer.model.kinds import KindName, StackName
from viz_transformer.model.layout import PartName
from viz_transformer.running.decoding import decode
from viz_transformer.running.trace import tokens_of_names

FEATURES, VOCABULARY, CANDIDATES = 512, 10_000, 10
NAMES = Names(caption="bench", file="bench")
PARTS: dict[StackName, tuple[PartName, ...]] = {"encoder": ("self", "ffn"), "decoder": ("self", "cross", "ffn")}
LEVELS = ("layer", "attention", "weight")
ROUNDS, ZOOMS, REST = 7, 5, 800
"""Measurements in the app, walks through the levels, and milliseconds until a movement, and what the server says to it,
are over."""
WALK = 9
"""Steps of the walk by keys to the cross-attention of the last of three decoder layers."""
LOOKED_INTO: tuple[tuple[str, str, KindName, int], ...] = (
    ("numbers", "29,284.30", "cross", ROUNDS),
    ("taylor", "", "cross", 3),
    ("shakespeare", "", "decoder", 3),
)
"""Models, their text (none is the first of their examples), the attention that is chosen, and measurements."""
FRAMES = """async (milliseconds) => {
  const stage = [...document.querySelector("#place").children].at(-1).shadowRoot.querySelector(".stage")
  stage.focus()
  stage.dispatchEvent(new KeyboardEvent("keydown", { key: " " }))
  const times = []
  const start = performance.now()
  let before = start
  while (before - start < milliseconds) {
    await new Promise(requestAnimationFrame)
    const now = performance.now()
    times.push(now - before)
    before = now
  }
  if (!stage.parentElement.querySelector('[title="Pause"]')) throw Error("it does not play")
  return times
}"""


def whole(layers: int, heads: int, tokens: int, *, encoder: bool = True) -> bytes:
    """The picture of a run of so many layers a stack with random numbers."""
    generator = np.random.default_rng(4)
    stacks: tuple[StackName, ...] = ("encoder", "decoder") if encoder else ("decoder",)

    def normal(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, dtype=np.float32)

    def stack(name: StackName) -> WholeStack:
        parts = PARTS[name] if encoder else ("self", "ffn")
        kinds: dict[PartName, KindName | None] = {"self": name, "cross": "cross", "ffn": None}
        places = tuple(SubLayer(name, n, part, kinds[part], "", "", "") for n in range(layers) for part in parts)
        return WholeStack(
            stack=name,
            tokens=tokens_of_names(words(tokens)),
            features=sample_features(FEATURES, SAMPLES),
            size=FEATURES,
            token=normal(tokens, SAMPLES),
            position=normal(tokens, SAMPLES),
            points=(f"{name}.embed.out", *(f"{name}.{n}.residual_out" for n in range(layers)), f"{name}.out"),
            stream=normal(layers + 2, tokens, SAMPLES),
            length=generator.random((layers + 2, tokens)),
            places=places,
            came=generator.random((len(places), tokens)),
            added=generator.random((len(places), tokens)),
            share=generator.random((len(places), tokens)),
            padded=np.zeros(tokens, dtype=bool),
        )

    kinds: tuple[KindName, ...] = ("cross", "decoder", "encoder") if encoder else ("decoder",)
    run = WholeRun(
        tuple(map(stack, stacks)),
        {kind: random_weights(layers, tokens, tokens) for kind in kinds},
        dict.fromkeys(kinds, (heads,) * layers),
        head=0,
    )
    candidates = [CandidateData(f"word{n}", n, -0.5 - n) for n in range(CANDIDATES)]
    steps = [StepData(candidates[0], candidates)] * tokens
    answer = " ".join(["word0"] * tokens)
    return whole_payload(run, RunText(steps=steps, vocabulary=VOCABULARY, answer=answer), NAMES)


def with_deeper_levels(layers: int, heads: int, tokens: int) -> bytes:
    """The picture of a real run of a model with random weights, and what the levels below its last layer need."""
    ckpt = endless_checkpoint(encoder_layers=layers, decoder_layers=layers, n_heads=heads)
    run = decode(ckpt, "1" * (tokens - 2), max_steps=tokens)
    picture = whole_payload(
        whole_run(run.trace, head=0),
        RunText(steps=steps_of(run), vocabulary=VOCABULARY, answer=run.text),
        NAMES,
        of=details.run_id(run.trace),
    )
    layer = details.pack_layer(run.trace, "decoder", layers - 1)
    return details.with_details(picture, [layer, details.pack_attention(run.trace, "cross", layers - 1, 0)])


def whole_results() -> Iterator[Result]:
    """Bytes, frames, and the app. Raises RuntimeError without a browser."""
    yield counted(
        "bytes of the whole run, 6 + 6 layers, 60 + 60 tokens", len(whole(6, 8, 60)) / 1e6, unit="MB", aim="<= 0.7"
    )
    sizes = (
        ("6 + 6 layers, 40 + 40 tokens", whole(6, 8, 40), 20, 34),
        ("12 layers, 128 tokens", whole(12, 12, 128, encoder=False), 34, 50),
    )
    with chromium() as browser:
        for what, payload, median, late in sizes:
            with plain_page(browser, {"payload": payload}) as page:
                page.evaluate("bench.show([['whole', '/payload']])")
                times = page.evaluate(FRAMES, 6000)
            yield from frames(f"whole run, {what}: a frame while it plays", times, median, late)
        with plain_page(browser, {"payload": with_deeper_levels(6, 8, 40)}) as page:
            page.evaluate("bench.show([['whole', '/payload']])")
            page.evaluate("() => vizTransformerSelection.pick({ kind: 'cross', layer: 5, heads: [0], t: 39, i: 3 })")
            times = [each for _ in range(ZOOMS) for each in page.evaluate("bench.zoom()")]
        yield from frames("whole run, 6 + 6 layers, 40 + 40 tokens: a frame while it is zoomed", times, 20, 34)
        with tempfile.TemporaryDirectory() as folder, serving(bundled_folder(), Path(folder) / "app.log") as address:
            yield from levels(browser, address)


def frames(name: str, times: list[float], median: int, late: int) -> Iterator[Result]:
    yield counted(name, statistics.median(times), unit="ms", aim=f"<= {median}")
    last = statistics.quantiles(times, n=20)[-1]
    yield counted(f"{name}, 95 of 100", last, unit="ms", aim=f"<= {late}")


def levels(browser: Browser, address: str) -> Iterator[Result]:
    """From the key to the layer that is walked to, which may have to be fetched, to the levels inside it, and to each
    anew: of a short run, of one of a hundred tokens, and of a decoder alone that is full."""
    for checkpoint, text, kind, rounds in LOOKED_INTO:
        first: list[dict[str, float]] = []
        again: list[dict[str, float]] = []
        given = {"text": text} if text else {}
        for _ in range(rounds + 1):
            page = opened(browser, address, checkpoint=checkpoint, kind=kind, layer="0", heads="0", **given)
            page.locator(".whole .stage").focus()
            for _ in range(WALK):
                page.keyboard.press("ArrowDown")
            first.append({level: entered(page, level) for level in LEVELS})
            for _ in LEVELS:
                page.keyboard.press("Escape")
                page.wait_for_timeout(REST)
            again.append({level: entered(page, level) for level in LEVELS})
            page.context.close()
        for what, times, aim in (("", first, 150), (" again", again, 50)):
            for level in LEVELS:
                column = iter([each[level] for each in times])
                name = f"whole run in the app, {checkpoint}: key press to the {level} painted{what}"
                yield measure(name, lambda c=column: next(c), rounds=rounds, unit="ms", aim=f"<= {aim}")


def entered(page: Page, level: str) -> float:
    page.evaluate("(level) => { bench.await_level(level) }", level)
    page.keyboard.press("Enter")
    took = float(page.evaluate("bench.answer"))
    page.wait_for_timeout(REST)
    return took
