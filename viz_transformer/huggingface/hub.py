"""Fetching a model from the Hugging Face hub: what is read of a folder, and nothing else."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import GatedRepoError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

from viz_transformer.checkpoint.files import CONFIG, CheckpointError
from viz_transformer.huggingface.folder import GENERATION, INDEX, TOKENIZER_CONFIG, TOKENIZERS
from viz_transformer.sentences import in_one_line, quoted

FETCHED = (
    *(CONFIG, GENERATION, INDEX, TOKENIZER_CONFIG),
    *("model.safetensors", "model-*-of-*.safetensors"),
    *(*TOKENIZERS, "target.spm", "merges.txt", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"),
)
"""The files of a model that are fetched: weights as safetensors, settings and tokenizer. No code, nothing pickled."""


def fetched(name: str) -> Path:
    """The folder of the model of this name, in the hub's cache; what lies there already is not fetched again.

    Raises CheckpointError, one sentence, where there is none, or the hub does not give it.
    """
    try:
        found = huggingface_hub.snapshot_download(name, allow_patterns=list(FETCHED), ignore_patterns=["*/*"])
    except GatedRepoError:
        raise CheckpointError(
            f"{name} is given only to those who agreed to its terms on huggingface.co: do that there, and then"
            " log in here with `hf auth login`"
        ) from None
    except (RepositoryNotFoundError, HFValidationError):
        raise CheckpointError(
            f"the Hugging Face hub has no model {quoted(name)} that can be read from here: give its whole name, such as"
            " facebook/bart-base"
        ) from None
    except LocalEntryNotFoundError:
        raise CheckpointError(
            f"{name} is not in the cache here, and the Hugging Face hub does not answer: try it again with a network,"
            " or give a folder"
        ) from None
    except Exception as error:  # of a network, a disk or a server: whatever comes
        said = in_one_line(str(error), 200) or type(error).__name__
        raise CheckpointError(f"{name} could not be fetched from the Hugging Face hub ({said}): try it again") from None
    return Path(str(found))
