"""An instrumented transformer: load a trained checkpoint, run it, and look at every number of the run.

The public names are loaded when they are first used (PEP 562), so importing the package loads neither torch nor spaCy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer import analysis as analysis
    from viz_transformer import figures as figures
    from viz_transformer.checkpoint import Checkpoint as Checkpoint
    from viz_transformer.checkpoint import CheckpointError as CheckpointError
    from viz_transformer.checkpoint import list_checkpoints as list_checkpoints
    from viz_transformer.checkpoint import save_checkpoint as save_checkpoint
    from viz_transformer.command.opening import open_app as open_app
    from viz_transformer.figures.showing import show as show
    from viz_transformer.huggingface.loading import load as load
    from viz_transformer.measuring.comparing import compare as compare
    from viz_transformer.measuring.evaluation import evaluate as evaluate
    from viz_transformer.measuring.verifying import Verification as Verification
    from viz_transformer.measuring.verifying import verify as verify
    from viz_transformer.model.config import ModelConfig as ModelConfig
    from viz_transformer.model.transformer import Transformer as Transformer
    from viz_transformer.running import edits as edits
    from viz_transformer.running.decoding import Run as Run
    from viz_transformer.running.decoding import decode as decode
    from viz_transformer.running.decoding import decode_stream as decode_stream
    from viz_transformer.running.decoding import follow as follow
    from viz_transformer.running.forks import fork as fork
    from viz_transformer.running.reading import read as read
    from viz_transformer.running.step import Candidate as Candidate
    from viz_transformer.running.step import Step as Step
    from viz_transformer.running.strategies import Beam as Beam
    from viz_transformer.running.strategies import Greedy as Greedy
    from viz_transformer.running.strategies import Sampling as Sampling
    from viz_transformer.running.trace import Trace as Trace
    from viz_transformer.running.tracing import trace as trace
    from viz_transformer.running.watching import watch as watch

__version__ = "0.1.0"

# public name -> module that has it, or that it is, if the two have one name
_HOMES = {
    "analysis": "analysis",
    "edits": "running.edits",
    "figures": "figures",
    "Checkpoint": "checkpoint",
    "CheckpointError": "checkpoint",
    "list_checkpoints": "checkpoint",
    "load": "huggingface.loading",
    "open_app": "command.opening",
    "save_checkpoint": "checkpoint",
    "ModelConfig": "model.config",
    "compare": "measuring.comparing",
    "Beam": "running.strategies",
    "Candidate": "running.step",
    "Greedy": "running.strategies",
    "Run": "running.decoding",
    "Sampling": "running.strategies",
    "Step": "running.step",
    "decode": "running.decoding",
    "decode_stream": "running.decoding",
    "evaluate": "measuring.evaluation",
    "follow": "running.decoding",
    "fork": "running.forks",
    "read": "running.reading",
    "show": "figures.showing",
    "Transformer": "model.transformer",
    "Trace": "running.trace",
    "trace": "running.tracing",
    "watch": "running.watching",
    "Verification": "measuring.verifying",
    "verify": "measuring.verifying",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (all of them are strings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES[name]}")
    value = module if name == _HOMES[name].rpartition(".")[2] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
