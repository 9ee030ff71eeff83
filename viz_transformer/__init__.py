"""An instrumented transformer: load a trained checkpoint, run it, and look at every number of the run.

The public names are loaded when they are first used (PEP 562), so importing the package loads neither torch nor spaCy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer import analysis as analysis
    from viz_transformer import edits as edits
    from viz_transformer import figures as figures
    from viz_transformer.checkpoint import Checkpoint as Checkpoint
    from viz_transformer.checkpoint import CheckpointError as CheckpointError
    from viz_transformer.checkpoint import list_checkpoints as list_checkpoints
    from viz_transformer.checkpoint import load as load
    from viz_transformer.checkpoint import save_checkpoint as save_checkpoint
    from viz_transformer.comparing import compare as compare
    from viz_transformer.config import ModelConfig as ModelConfig
    from viz_transformer.decoding import Run as Run
    from viz_transformer.decoding import decode as decode
    from viz_transformer.decoding import decode_stream as decode_stream
    from viz_transformer.decoding import follow as follow
    from viz_transformer.evaluation import evaluate as evaluate
    from viz_transformer.forks import fork as fork
    from viz_transformer.model.transformer import Transformer as Transformer
    from viz_transformer.record import Trace as Trace
    from viz_transformer.step import Candidate as Candidate
    from viz_transformer.step import Step as Step
    from viz_transformer.strategies import Beam as Beam
    from viz_transformer.strategies import Greedy as Greedy
    from viz_transformer.strategies import Sampling as Sampling
    from viz_transformer.tracing import trace as trace

__version__ = "0.1.0"

# public name -> module that has it; a name that maps to itself is a module
_HOMES = {
    "analysis": "analysis",
    "edits": "edits",
    "figures": "figures",
    "Checkpoint": "checkpoint",
    "CheckpointError": "checkpoint",
    "list_checkpoints": "checkpoint",
    "load": "checkpoint",
    "save_checkpoint": "checkpoint",
    "ModelConfig": "config",
    "compare": "comparing",
    "Beam": "strategies",
    "Candidate": "step",
    "Greedy": "strategies",
    "Run": "decoding",
    "Sampling": "strategies",
    "Step": "step",
    "decode": "decoding",
    "decode_stream": "decoding",
    "evaluate": "evaluation",
    "follow": "decoding",
    "fork": "forks",
    "Transformer": "model.transformer",
    "Trace": "record",
    "trace": "tracing",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (all of them are strings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES[name]}")
    value = module if name == _HOMES[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
