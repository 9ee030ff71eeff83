"""Small checkpoints with random weights in place of the bundled ones, and the app on top of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
import torch
from builders import SPECIALS as TINY_SPECIALS
from builders import saved, tiny_checkpoint
from page_driver import goes_to, script
from streamlit.testing.v1 import AppTest

from viz_transformer.checkpoint import contents, load, save_checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.decoding import decode
from viz_transformer.text import SPECIALS, Characters, Codec, Vocabulary, numbers_target_tokenizer
from viz_transformer.ui import pages  # noqa: F401  # all fields are known
from viz_transformer.ui.session import state

SOURCE = tuple("<s> </s> <unk> <pad> 0 , . 1 2 4 6 8 3 5 7 9 -".split())
TARGET = tuple("<s> </s> <unk> <pad> and hundred - , thousand point one two four <b> &".split())
HISTORY = "step,train_loss,validation_loss,learning_rate,gradient_norm\n0,2.7,2.8,0,1\n10,1.5,1.6,0.1,1\n20,1,,0.1,1\n"


def make_checkpoint(folder: Path, layers: int, seed: int) -> None:
    """A random model with four heads; of its example pairs the first is right, the second wrong."""
    torch.manual_seed(seed)
    config = ModelConfig(
        source_vocab_size=len(SOURCE),
        target_vocab_size=len(TARGET),
        encoder_layers=1,
        decoder_layers=layers,
        d_model=16,
        n_heads=4,
        d_ff=16,
        max_source=48,
        max_target=12,
        source_pad=3,
        target_pad=3,
    )
    card = {
        "task": folder.name,
        "title": "Numbers <to> words & back",
        "data_licence": "MIT",
        "training_command": f"viz-transformer train {folder.name}",
        "metrics": [
            {
                "split": "test_full, first 2,000",
                "command": f"viz-transformer evaluate {folder.name}",
                "pairs": 2000,
                "exact_match": 0.99,
                "exact_match_low": 0.984638,
                "exact_match_high": 0.993503,
                "exact_match_unseen": 0.9875,
            }
        ],
    }
    model = Transformer(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / math.sqrt(16))

    def save(examples: list[tuple[str, str]]) -> None:
        save_checkpoint(
            folder,
            state_dict=model.state_dict(),
            config=config,
            source_codec=Codec(Characters(), Vocabulary(SOURCE, SPECIALS)),
            target_codec=Codec(numbers_target_tokenizer(), Vocabulary(TARGET, SPECIALS)),
            card=card,
            history_csv=HISTORY,
            examples=examples,
        )

    save([("1", "one")])
    save([("4.20", decode(load(folder), "4.20").text), ("7.10", "one <b> point"), ("8", "eight")])


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    make_checkpoint(folder / "numbers", layers=3, seed=3)
    make_checkpoint(folder / "numbers-tiny", layers=2, seed=2)
    return folder


@pytest.fixture(autouse=True)
def _opens_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The app opens with a model that is in the folder, and its middle layer."""
    opening = {**state.DEFAULTS, "checkpoint": "numbers", "layer": 1, "heads": (0,)}
    monkeypatch.setattr(state, "DEFAULTS", opening)


TRANSLATED = {"pairs": 1000, "bleu": 40.96, "chrf": 61.04, "exact_match": 0.25, "bleu_signature": "case:lc|tok:none"}
WINDOWS = {"pairs": 872, "exact_match": None, "bleu": None, "loss": 1.523, "perplexity": 4.586}
SLIPS = {"pad_to": 20, "max_target": 20, "norm": "post", "final_norm": False, "norm_kind": "positions-and-features"}
SLIPS |= {"merge": "raw-reshape", "mask_fill": "added-1e9", "padding_mask": "key-or-query-swapped-cross"}


def make_tiny(folder: Path, metric: dict[str, Any], examples: list[tuple[str, str]], **changes: Any) -> None:
    """A random model of letters that writes lower case; of the kind of the task that the folder is named after."""
    decoder_only = folder.name == "shakespeare"
    ckpt = tiny_checkpoint("decoder-only" if decoder_only else "encoder-decoder", **changes)
    target = Codec(Characters(lower=True), Vocabulary((*TINY_SPECIALS.values(), *"uvwxyz0123456789"), TINY_SPECIALS))
    if decoder_only:
        letters = Vocabulary(["\n", *" !,-.:;?ABORTabcdefg"][: len(target.vocabulary)])
        target = Codec(Characters(strip=False), letters, add_bos=False, add_eos=False)
    card = {"task": folder.name, "metrics": [{"split": "test", "command": "evaluate --beam 4", **metric}]}
    saved(ckpt, folder, target_codec=target, card=card, examples=examples)


@pytest.fixture(scope="session")
def zoo(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of other kinds: a translator, one with slips, one that only writes on, and one of a task of its own."""
    zoo = tmp_path_factory.mktemp("zoo")
    (zoo / "numbers").symlink_to(folder / "numbers")
    make_tiny(zoo / "multi30k-de-en", TRANSLATED, [("abc", "UVW"), ("ba", "x")])
    written = decode(load(zoo / "multi30k-de-en"), "abc").text
    make_tiny(zoo / "multi30k-de-en", TRANSLATED, [("abc", written.upper()), ("ba", "x y")])
    make_tiny(zoo / "en-it-slips", TRANSLATED | {"command": "evaluate"}, [("abc", "uv")], **SLIPS)
    make_tiny(zoo / "own", {}, [("bad", "u"), ("face", "v")])
    make_tiny(zoo / "shakespeare", WINDOWS, [("ABBA", "B")], target_vocab_size=20, target_pad=None)
    return zoo


@pytest.fixture
def models_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes this folder the one that the app takes its models from."""
    return lambda folder: monkeypatch.setattr(contents, "bundled_folder", lambda: folder)


@pytest.fixture
def bundled(folder: Path, models_in: Callable[[Path], None]) -> Path:
    """The folder that the app takes its models from."""
    models_in(folder)
    return folder


@pytest.fixture
def new_app(bundled: Path) -> Callable[[], AppTest]:
    """The app in another browser, not yet run."""
    return lambda: script("app.py")


@pytest.fixture
def app(new_app: Callable[[], AppTest]) -> AppTest:
    """The app, not yet run."""
    return new_app()


@pytest.fixture
def at_the_zoo(app: AppTest, zoo: Path, models_in: Callable[[Path], None]) -> AppTest:
    """The app with the models of the zoo, not yet run."""
    models_in(zoo)
    return app


@pytest.fixture
def alone(bundled: Path) -> Callable[..., AppTest]:
    """Runs a page without app.py around it, with these fields in its address."""
    return lambda page, **address: goes_to(script(f"pages/{page}.py"), **address)


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What can be saved on the page, or the functions that make it, by the names of the files."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(st, "download_button", lambda label, data, file_name, *_, **__: found.update({file_name: data}))
    return found
