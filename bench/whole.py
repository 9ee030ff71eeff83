"""The picture of a whole run: how much of it is sent first, and how even its frames are while it plays."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from bench.browser import chromium, plain_page
from bench.pictures import random_weights, words
from bench.ratios import Result, counted
from viz_transformer.analysis.layers.sublayers import Part, Place
from viz_transformer.analysis.run.whole import SAMPLES, WholeRun, WholeStack, spread
from viz_transformer.figures.components.scrubber import CandidateData, StepData
from viz_transformer.figures.components.whole import whole_payload
from viz_transformer.model.kinds import KindName, StackName
from viz_transformer.running.record import tokens_of_names

FEATURES, VOCABULARY, CANDIDATES = 512, 10_000, 10
PARTS: dict[StackName, tuple[Part, ...]] = {"encoder": ("self", "ffn"), "decoder": ("self", "cross", "ffn")}
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
        places = tuple(Place(name, n, part, "", "", "") for n in range(layers) for part in parts)
        return WholeStack(
            stack=name,
            tokens=tokens_of_names(words(tokens)),
            features=spread(FEATURES, SAMPLES),
            size=FEATURES,
            token=normal(tokens, SAMPLES),
            position=normal(tokens, SAMPLES),
            points=(f"{name}.embed.out", *(f"{name}.{n}.residual_out" for n in range(layers)), f"{name}.out"),
            stream=normal(layers + 2, tokens, SAMPLES),
            places=places,
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
    return whole_payload(
        run, steps, first_row=0, vocabulary=VOCABULARY, answer=answer, title="", caption="bench", name="bench"
    )


def whole_results() -> Iterator[Result]:
    """Bytes and frames. Raises RuntimeError without a browser."""
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
            yield counted(
                f"whole run, {what}: a frame while it plays", statistics.median(times), unit="ms", aim=f"<= {median}"
            )
            yield counted(
                f"whole run, {what}: 95 of 100 frames",
                statistics.quantiles(times, n=20)[-1],
                unit="ms",
                aim=f"<= {late}",
            )
