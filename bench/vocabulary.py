"""The app with a model of transformers of 250,000 entries: from a gesture to what it asks for painted."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import torch
from playwright.sync_api import Browser, Page

from bench.browser import WINDOW, chromium, script
from bench.ratios import Result, measure
from bench.served import serving
from viz_transformer import huggingface

ENTRIES, READ, WRITTEN = 250_000, 16, 9
ROUNDS = 9
TEXT = " ".join(f"word{100 + n}" for n in range(READ))
MODEL = {"vocab_size": ENTRIES, "n_embd": 64, "n_layer": 6, "n_head": 8, "n_positions": READ + WRITTEN - 1}

Gesture = Callable[[Page, int], float]


def vocabulary_results() -> Iterator[Result | str]:
    """Milliseconds of the gestures that the vocabulary has a part in; a sentence without transformers."""
    if (library := huggingface.lacking()) is not None:
        yield f"A large vocabulary is not measured, because {library} is not there: {huggingface.INSTALL}"
        return
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        save_folder(Path(folder) / "models" / "large")
        with serving(Path(folder) / "models", Path(folder) / "app.log", own=True) as address:
            for (page, said), gesture in GESTURES.items():
                yield timed(browser, address, page, said, gesture)


def save_folder(folder: Path) -> None:
    """Write a random model of the shape of GPT-2 that knows as many words, and never ends."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"<unk>": 0} | {f"word{n}": n for n in range(1, ENTRIES)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    config = transformers.GPT2Config(**MODEL, bos_token_id=None, eos_token_id=None)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(folder)


def timed(browser: Browser, address: str, path: str, said: str, gesture: Gesture) -> Result:
    """One gesture on one page, over and over."""
    page = browser.new_context(viewport=WINDOW).new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/{path}?{urlencode({'checkpoint': 'large', 'text': TEXT, **FIELDS.get(path, {})})}")
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_timeout(1500)
    page.evaluate(script())
    rounds = iter([gesture(page, n) for n in range(ROUNDS + 1)])
    page.context.close()
    name = f"a vocabulary of {ENTRIES:,}, {said}"
    return measure(name, lambda: next(rounds), rounds=ROUNDS, unit="ms", aim="<= 300")


def answered(page: Page, event: str, selector: str, says: str, act: Callable[[], Any]) -> float:
    """From what `act` does to the element that the selector finds saying so."""
    page.evaluate("([event, selector, says]) => { bench.await_said(event, selector, says) }", [event, selector, says])
    act()
    took = float(page.evaluate("bench.answer"))
    page.wait_for_timeout(600)  # what the server has still to say does not count for the next one
    return took


def look_up(page: Page, n: int) -> float:
    """A part of a word is looked for; 11,111 entries or 1,111 hold it."""
    words, count = ("word34", "1,111") if n % 2 else ("word3", "11,111")
    page.get_by_label("Look up").fill(words)
    return answered(page, "keydown", MAIN, f"of {count} are listed", lambda: page.keyboard.press("Enter"))


def choose(page: Page, n: int) -> float:
    """A token of the text is chosen: the strips of its input; its nearest entries are below them."""
    chip = page.get_by_role("group", name="reads").locator(".chip").nth(n + 1)
    return answered(page, "pointerup", ".st-key-input_sum", f"position {n + 1}(?!\\d)", chip.click)


def step(page: Page, n: int) -> float:
    """The next step, and back."""
    page.evaluate("() => { bench.await_key('.scrubber .stage') }")
    page.keyboard.press("ArrowLeft" if n % 2 else "ArrowRight")
    took = float(page.evaluate("bench.answer"))
    page.wait_for_timeout(600)
    return took


def take(page: Page, n: int) -> float:
    """Another candidate of the first step is taken, and the answer written from there."""
    row = page.locator(".candidate:not(.empty)").nth(n % 8 + 1)
    row.hover()
    name = row.locator(".token").first.inner_text()
    return answered(
        page, "pointerup", ".scrubber .says", f"writes\\s*\\S?\\s*{name}(?!\\d)", row.get_by_role("button").click
    )


def head(page: Page, n: int) -> float:
    """A click on another head: its map."""
    heads = page.locator(".grid .stage").evaluate("(stage) => bench.things(stage, 11)")
    name, x, y = heads[(17 + n * 31) % len(heads)]
    return answered(page, "pointerup", ".matrix .stage", f"{name}(?!\\d)", lambda: page.mouse.click(x, y))


def settled(page: Page, n: int) -> float:
    """Another written token is chosen on *Layers*: from which layer on it leads, by the logits of each layer."""
    said = re.escape(page.locator(QUESTION).text_content() or "")
    chip = page.get_by_role("group", name="writes").locator(".chip").nth(1 - n % 2)
    return answered(page, "pointerup", QUESTION, f"^(?!{said}$)", chip.click)


MAIN, QUESTION = '[data-testid="stMain"]', ".st-key-question"
GESTURES: dict[tuple[str, str], Gesture] = {
    ("input", "Input: Enter to the entries that hold what is looked up"): look_up,
    ("input", "Input: click on a token to the strips of its input"): choose,
    ("decoding", "Decoding: key to the candidates of the next step painted"): step,
    ("decoding", f"Decoding: click on a candidate to {WRITTEN} steps written from it"): take,
    ("attention", "Attention: click on a head to its map painted"): head,
    ("layers", "Layers: click on a written token to what the question says of it"): settled,
}
FIELDS: dict[str, dict[str, str]] = {"attention": {"layer": "0", "heads": "0"}, "decoding": {"t": str(READ - 1)}}
