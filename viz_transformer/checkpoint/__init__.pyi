"""The names of the package, which are loaded when they are first used."""

from .contents import Summary as Summary
from .contents import bundled_folder as bundled_folder
from .contents import list_checkpoints as list_checkpoints
from .files import CheckpointError as CheckpointError
from .store import Checkpoint as Checkpoint
from .store import load as load
from .store import save_checkpoint as save_checkpoint
