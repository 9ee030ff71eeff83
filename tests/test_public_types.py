"""What is given to a public function and cannot be right ends in one sentence, whatever its type."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

import viz_transformer as vt
from viz_transformer.running.trace import Trace

ODD: dict[str, Any] = {
    "None": None,
    "a number": 42,
    "a fraction": 1.5,
    "NaN": math.nan,
    "True": True,
    "bytes": b"abc",
    "a text": "no such thing",
    "a list of texts": ["x"],
    "a list of lists": [[1, 2]],
    "a list with nothing in it": [None],
    "a list with True in it": [True],
    "a list with a fraction": [1.5],
    "a dictionary": {"a": 1},
    "a set": {1, 2},
    "an object": object(),
    "a class": dict,
    "an array": np.full((3, 3), 1.5),
    "an array of whole numbers": np.ones((2, 2), dtype=int),
    "a tensor": torch.full((100, 3), math.nan),
    "a number of NumPy": np.float32(0.5),
    "a path": Path("/no/such/place"),
    "a function": lambda: None,
}
EDIT = vt.edits.AblateHead("decoder.0.self", 1)
AXIS = vt.figures.AxisLabels("row", "rows")


def valid() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Each public function, with arguments that it takes; those that stay as they are begin with an underscore."""
    ckpt = tiny_checkpoint(max_target=4)
    reader = tiny_checkpoint("encoder-only")
    run = vt.decode(ckpt, "abc", max_steps=2)
    both: dict[str, Any] = {"ckpt": ckpt, "source": "abc"}
    decoded = {**both, "strategy": vt.Greedy(), "prefix": "u", "force": {1: "v"}, "ban": ["w"], "max_steps": 2}
    decoded |= {"edits": [EDIT], "progress": print, "target": None}
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.ones(1, 3, 8)
    pairs = [("ab", "uv")]
    sides = (ckpt.source_codec, ckpt.target_codec)
    shown = vt.show(run, "decoder.0.cross", head=1)
    special = {
        f"{name}_special": vt.analysis.special_positions(side, codec)
        for name, side, codec in zip(("source", "target"), (run.trace.src, run.trace.tgt), sides, strict=True)
    }
    stored: dict[str, Any] = {
        "state_dict": {},
        "config": ckpt.config,
        "source_codec": sides[0],
        "target_codec": sides[1],
    }
    return {
        "load": (
            vt.load,
            {"where": "numbers-tiny", "device": "cpu", "dtype": "float32", "allow_download": False, "ignore": ()},
        ),
        "list_checkpoints": (vt.list_checkpoints, {"folder": None}),
        "save_checkpoint": (
            vt.save_checkpoint,
            {"folder": "/dev/null/x", **stored, "card": {}, "examples": pairs, "history_csv": None, "dtype": "float16"},
        ),
        "open_app": (vt.open_app, {"trace": run.trace, "name": "name", "browser": False}),
        "decode": (vt.decode, decoded),
        "decode_stream": (lambda **given: [*vt.decode_stream(**given)], decoded),
        "follow": (vt.follow, {**both, "ids": [4, 5], "strategy": vt.Greedy(), "forced": 0, "ban": [], "edits": []}),
        "fork": (vt.fork, {**both, "below": 0.5, "strategy": vt.Greedy(), "ban": (), "max_steps": 2}),
        "read": (vt.read, {"ckpt": reader, "source": "abc", "pair": None, "masked": (), "edits": []}),
        "trace": (vt.trace, {**both, "target": "uv", "edits": []}),
        "show": (vt.show, {"run": run, "what": "decoder.0.cross", "head": 1, "form": "map"}),
        "link": (lambda figures: vt.link(shown, figures), {"figures": shown}),
        "watch": (
            vt.watch,
            {"module": layer, "call": lambda: layer(x, x, x), "tokens": ["a", "b", "c"], "edits": (), "name": "m"},
        ),
        "from_attentions": (
            vt.from_attentions,
            {
                "attentions": [np.full((2, 3, 3), 1 / 3)],
                "tokens": (["a", "b", "c"], ["d"]),
                "cross": [np.full((2, 1, 3), 1 / 3)],
                "decoder": [np.ones((2, 1, 1))],
                "rows": "read",
                "name": "m",
            },
        ),
        "evaluate": (
            vt.evaluate,
            {
                "ckpt": ckpt,
                "pairs": pairs,
                "beam": None,
                "seen_sources": None,
                "bleu": None,
                "group": False,
                "equivalence": None,
                "count_too_long": False,
                "errors": None,
                "progress": None,
            },
        ),
        "compare": (vt.compare, {"first": ckpt, "second": ckpt, "pairs": pairs, "beam": None, "bleu": None}),
        "verify": (vt.verify, {"ckpt": ckpt, "sample": None, "texts": None, "reported_loss": None}),
        "Greedy": (vt.Greedy, {}),
        "Sampling": (
            vt.Sampling,
            {"temperature": 1.0, "top_k": 5, "top_p": 0.5, "min_p": 0.1, "repetition_penalty": 1.0, "seed": 0},
        ),
        "Beam": (
            vt.Beam,
            {
                "width": 2,
                "length_penalty": 0.6,
                "penalty": "gnmt",
                "count_end": True,
                "stop": "none-better",
                "n_best": 1,
            },
        ),
        "special_positions": (vt.analysis.special_positions, {"side": run.trace.src, "codec": ckpt.source_codec}),
        "head_scores": (vt.analysis.head_scores, {"trace": run.trace, "kind": "cross", **special}),
        "AblateHead": (vt.edits.AblateHead, {"site": "decoder.0.self", "head": 1, "how": "zero"}),
        "Scale": (vt.edits.Scale, {"name": "logits", "factor": 2.0, "at": ()}),
        "Replace": (vt.edits.Replace, {"name": "logits", "value": 0.0, "at": ()}),
        "SetMask": (vt.edits.SetMask, {"site": "decoder.0.self", "query": 0, "key": 0, "allowed": False, "head": None}),
        "FixRow": (vt.edits.FixRow, {"site": "decoder.0.self", "query": 1, "weights": (0.5, 0.5), "head": None}),
        "RemovePositions": (vt.edits.RemovePositions, {"stack": "decoder"}),
        "Trace.load": (Trace.load, {"path": "/no/such/file"}),
        "trace[]": (run.trace.__getitem__, {"name": "logits"}),
        "read_as": (ckpt.read_as, {"language": "", "source_language": "", "special_tokens": False, "chat": False}),
    }


@pytest.fixture(scope="module")
def functions() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    return valid()


def test_every_public_function_is_in_the_table(functions: dict[str, Any]) -> None:
    public = {name for name in vt.__all__ if inspect.isfunction(getattr(vt, name))}
    assert public <= functions.keys()
    for name, (function, given) in functions.items():
        if name != "decode_stream" and inspect.isfunction(function):
            left = set(inspect.signature(function).parameters) - set(given)
            assert left <= {"snapshots", "longest", "progress", "differences", "weighed"}, (name, left)


def test_what_is_no_keyword_is_a_type_error(functions: dict[str, Any]) -> None:
    for name in ("decode", "decode_stream", "evaluate", "save_checkpoint"):
        function, given = functions[name]
        with pytest.raises(TypeError, match="unexpected keyword argument 'bam'"):
            function(**given, bam=[])
    for draw, given in (
        (vt.figures.tensor_heatmap, [[[1.0]], AXIS, AXIS]),
        (vt.figures.value_histogram, [[1], [0, 1]]),
        (vt.figures.attention_heatmap, [[[1.0]], ["a"], ["b"]]),
        (vt.figures.attention_lines, [[[1.0]], ["a"], ["b"]]),
        (vt.figures.attention_text, [[[1.0]], ["a"], ["b"]]),
        (partial(vt.figures.head_grid, kind="cross"), [[[[[1.0]]]]]),
        (vt.figures.loss_curves, [{}]),
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument 'heigth'"):
            draw(*given, title="", heigth=300)


def test_help_says_the_types_of_all_keywords() -> None:
    said = str(inspect.signature(vt.decode))
    assert "progress: 'Progress | None' = ..." in said and "Ellipsis" not in said
    for function in (vt.decode, vt.decode_stream, vt.save_checkpoint, vt.evaluate):
        for each in inspect.signature(function).parameters.values():
            assert each.annotation is not inspect.Parameter.empty, (function, each)


def tried(function: Callable[..., Any], given: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The argument and the value of each call that ended in another error than one sentence."""
    for argument in given:
        for called, odd in ODD.items():
            if argument in ("progress", "call") and callable(odd):
                continue  # it is called, and fails as it may
            positional = {"name": odd} if function.__name__ == "__getitem__" else {**given, argument: odd}
            try:
                function(*positional.values()) if function.__name__ == "__getitem__" else function(**positional)
            except (ValueError, KeyError, OSError) as error:
                sentence = str(error.args[0]) if isinstance(error, KeyError) else str(error)
                if " " not in sentence or len(sentence.splitlines()) != 1 or len(sentence) > 600:
                    yield argument, called, repr(error)
            except Exception as error:
                yield argument, called, repr(error)


NAMES = [*valid()]


@pytest.mark.parametrize("name", NAMES)
def test_anything_is_taken_or_refused_in_one_sentence(
    name: str, functions: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a file of errors may be called anything
    function, given = functions[name]
    assert list(tried(function, given)) == []


def calls() -> list[tuple[Callable[[Any], Any], str]]:
    ckpt = tiny_checkpoint()
    trace = vt.trace(ckpt, "ab", "uv")
    decode = partial(vt.decode, max_steps=1)
    return [
        (lambda _: decode(ckpt, 42), "source=42 has to be a text, or a list of ids"),
        (lambda _: decode(ckpt, None), "source=None has to be a text, or a list of ids"),
        (lambda _: decode(ckpt, b"ab"), "source=b'ab' has to be a text, or a list of ids"),
        (lambda _: decode("numbers", "1"), "ckpt='numbers' has to be a checkpoint: open one with vt.load"),
        (lambda _: decode(ckpt, [1, True]), "True is not a token id: ids are whole numbers"),
        (
            lambda _: decode(ckpt, torch.ones(2, 2)),
            "source=a tensor of float32 of shape (2, 2) has to be a text, or a list of ids",
        ),
        (
            lambda _: decode(ckpt, "ab", strategy="greedy"),
            "strategy='greedy' has to be a strategy: vt.Greedy(), vt.Sampling() or vt.Beam(4)",
        ),
        (lambda _: vt.decode(ckpt, "ab", max_steps=True), "max_steps=True has to be a whole number, or None"),
        (lambda _: decode(ckpt, "ab", edits=EDIT), "has to be a list of edits, such as [vt.edits.AblateHead("),
        (lambda _: vt.follow(ckpt, "ab", "uv"), "ids='uv' has to be a list of ids"),
        (lambda _: vt.fork(ckpt, "ab", below=math.nan), "below=nan has to be a probability, from 0 to 1"),
        (lambda _: vt.fork(ckpt, "ab", below=True), "below=True has to be a number"),
        (lambda _: vt.load(None), "where=None has to be the path of a folder, or the name of a bundled checkpoint"),
        (lambda _: vt.show(trace, 3), "what=3 has to be a text"),
        (lambda _: vt.evaluate(ckpt, [("a",)]), "has to be a list of pairs of texts, source and target"),
        (lambda _: vt.analysis.head_scores(trace, 5), "kind=5 has to be a text"),
        (lambda _: vt.edits.Scale("logits", math.nan), "Scale: factor=nan has to be a number"),
    ]


@pytest.mark.parametrize(("call", "sentence"), calls(), ids=[sentence for _, sentence in calls()])
def test_the_sentence_says_what_was_given_and_what_is_expected(call: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(ValueError) as told:
        call(None)
    assert sentence in str(told.value)


def test_ids_may_be_an_array_or_a_tensor_of_whole_numbers() -> None:
    ckpt = tiny_checkpoint()
    answers = {
        vt.decode(ckpt, ids, max_steps=3).text for ids in ([4, 5], (4, 5), np.array([4, 5]), torch.tensor([4, 5]))
    }
    assert len(answers) == 1
