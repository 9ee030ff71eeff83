"""A selection through the server: from a click on a head in the running app to the map of that head painted."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import torch
from playwright.sync_api import Browser, Page

from bench.browser import WINDOW, chromium, script
from bench.pictures import HEADS, LAYERS, TOKENS
from bench.ratios import Result, measure
from viz_transformer.checkpoint import save_checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parent.parent
SPECIALS = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>"}
LETTERS = "abcdefgh"
TEXT = (LETTERS * TOKENS)[: TOKENS - 2]  # a start and an end token come with it
ROUNDS = 21


def served_results() -> Iterator[Result]:
    """Choosing heads of a random model with 144 of them in the encoder, on the Attention page."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        save_random_checkpoint(Path(folder) / "bench")
        with serving(Path(folder), Path(folder) / "app.log") as address:
            page = attention_page(browser, address)
            times = [choose_another_head(page, n) for n in range(ROUNDS + 1)]
            page.context.close()
    size = f"{LAYERS * HEADS} heads x {TOKENS} tokens"
    for n, (what, aim) in enumerate((("map painted", "<= 250"), ("page complete", ""))):
        column = iter([each[n] for each in times])
        name = f"through the server, {size}: click to {what}"
        yield measure(name, lambda c=column: next(c), rounds=ROUNDS, unit="ms", aim=aim)


def save_random_checkpoint(folder: Path) -> None:
    """Write a model of 12 + 12 layers of 12 heads with random weights that reads and writes letters."""
    vocabulary = Vocabulary((*SPECIALS.values(), *LETTERS), SPECIALS)
    codec = Codec(Characters(), vocabulary)
    size = len(vocabulary)
    config = ModelConfig(
        d_model=96,
        n_heads=HEADS,
        d_ff=192,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        source_vocab_size=size,
        target_vocab_size=size,
        source_pad=0,
        target_pad=0,
        max_source=TOKENS,
        max_target=TOKENS,
    )
    torch.manual_seed(4)
    weights = Transformer(config).state_dict()
    save_checkpoint(
        folder, state_dict=weights, config=config, source_codec=codec, target_codec=codec, card={"task": "bench"}
    )


@contextmanager
def serving(folder: Path, log: Path, *, own: bool = False) -> Iterator[str]:
    """The address of the app with the checkpoints of this folder, in the place of its own, or beside them where they
    are a person's `own`; its output goes into the file `log`."""
    command = [sys.executable, str(ROOT / "tests" / "browser" / "serve.py"), str(folder)]
    if own:
        command = [sys.executable, "-m", "viz_transformer.command", "app", "--no-browser", "--port", "0"]
        command += ["--checkpoints", str(folder)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8"))):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the app did not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.02)
        yield found[0]
    finally:
        process.terminate()
        process.wait(timeout=20)


def attention_page(browser: Browser, address: str) -> Page:
    """The Attention page with the first head of the encoder chosen, and everything on it drawn."""
    page = browser.new_context(viewport=WINDOW).new_page()
    page.set_default_timeout(120_000)
    chosen = {"checkpoint": "bench", "text": TEXT, "kind": "encoder", "layer": 0, "heads": 0, "i": 0, "j": 0}
    page.goto(f"{address}/attention?{urlencode(chosen)}")
    page.wait_for_selector('.matrix .stage[data-painted][aria-label*="layer 0, head 0"]')
    page.wait_for_selector(".grid .stage[data-painted]")
    page.wait_for_function("/layer 0, head 0(?!\\d)/.test(document.querySelector('.st-key-scores')?.textContent)")
    page.wait_for_timeout(1000)
    page.evaluate(script())
    return page


def choose_another_head(page: Page, n: int) -> list[float]:
    """Milliseconds from a click on the nth of many heads to its map painted, and to its scores, which come last."""
    stage = page.locator(".grid .stage")
    stage.scroll_into_view_if_needed()
    heads = stage.evaluate("(stage) => bench.things(stage, 11)")
    name, x, y = heads[(17 + n * 37) % len(heads)]
    page.mouse.move(x + 2, y + 2)  # it was found at its edge, and a click has no fractions of a pixel
    page.locator(".matrix .stage").evaluate("(map, name) => { bench.await_server(map, '.st-key-scores', name) }", name)
    page.mouse.down()
    page.mouse.up()
    times: list[float] = page.evaluate("bench.answer")
    page.wait_for_timeout(300)  # what the server has still to say does not count for the next one
    return times
