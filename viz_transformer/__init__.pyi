"""The names of the package, which are loaded when they are first used."""

from . import analysis as analysis
from . import figures as figures
from .analysis.attention.picture import Picture as Picture
from .checkpoint import Checkpoint as Checkpoint
from .checkpoint import CheckpointError as CheckpointError
from .checkpoint import list_checkpoints as list_checkpoints
from .checkpoint import save_checkpoint as save_checkpoint
from .command.opening import open_app as open_app
from .figures.showing import link as link
from .figures.showing import show as show
from .huggingface.loading import load as load
from .measuring.comparing import compare as compare
from .measuring.evaluation import evaluate as evaluate
from .measuring.verifying import Verification as Verification
from .measuring.verifying import verify as verify
from .model.config import ModelConfig as ModelConfig
from .model.transformer import Transformer as Transformer
from .running import edits as edits
from .running.decoding import Run as Run
from .running.decoding import decode as decode
from .running.decoding import decode_stream as decode_stream
from .running.decoding import follow as follow
from .running.forks import fork as fork
from .running.given_attentions import from_attentions as from_attentions
from .running.reading import read as read
from .running.step import Candidate as Candidate
from .running.step import Step as Step
from .running.strategies import Beam as Beam
from .running.strategies import Greedy as Greedy
from .running.strategies import Sampling as Sampling
from .running.trace import Trace as Trace
from .running.tracing import trace as trace
from .running.watching import watch as watch

__version__: str
