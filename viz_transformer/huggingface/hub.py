"""Downloads the needed files of a model from the Hugging Face hub.

Settings and tokenizer come first, so that a refusal comes before the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from viz_transformer.checkpoint.files import CONFIG, CheckpointError
from viz_transformer.huggingface.folder import (
    ADAPTER,
    GENERATION,
    INDEX,
    TOKENIZER_CONFIG,
    TOKENIZERS,
    check_settings,
    has_weights,
)
from viz_transformer.sentences import put_on_one_line, quote

SETTINGS = (
    *(CONFIG, GENERATION, INDEX, TOKENIZER_CONFIG, ADAPTER),
    *(*TOKENIZERS, "target.spm", "merges.txt", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"),
)
FETCHED = (*SETTINGS, "model.safetensors", "model-*-of-*.safetensors")
"""Files that are downloaded: safetensors weights, settings and tokenizer; no code, no pickles."""


def fetched(name: str) -> Path:
    """Folder of a model in the hub's cache, downloading what is missing.

    Raises CheckpointError with one sentence if there is none, the download fails, or the settings cannot be opened;
    weights are then not downloaded.
    """
    with _without_bars():
        folder = _snapshot(name, None, SETTINGS)
    try:
        check_settings(folder)
    except CheckpointError as error:
        raise CheckpointError(str(error).replace(str(folder), name)) from None
    folder = _snapshot(name, folder.name, FETCHED)
    if not has_weights(folder):
        raise CheckpointError(
            f"{name} has no weights as safetensors on the Hugging Face hub, and others could run code, so they are not"
            " fetched: load it where you trust it, save it with save_pretrained, and give that folder"
        )
    return folder


def _snapshot(name: str, revision: str | None, patterns: Sequence[str]) -> Path:
    """Download these files at a revision; None: the newest."""
    try:
        return Path(
            huggingface_hub.snapshot_download(
                name, revision=revision, allow_patterns=list(patterns), ignore_patterns=["*/*"]
            )
        )
    except Exception as error:  # network, disk or server: anything may be raised
        raise CheckpointError(_why_not(name, error)) from None


@contextmanager
def _without_bars() -> Iterator[None]:
    """Hide progress bars while settings load."""
    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _why_not(name: str, error: Exception) -> str:
    """Why the hub did not provide the model, and what to do, in one sentence."""
    answer = error if isinstance(error, HfHubHTTPError) else error.__cause__
    status = answer.response.status_code if isinstance(answer, HfHubHTTPError) else None
    if isinstance(error, GatedRepoError):
        return (
            f"{name} requires agreeing to its terms on huggingface.co: do that there, and then log in"
            " here with `hf auth login`"
        )
    if isinstance(error, RepositoryNotFoundError | HFValidationError):
        return (
            f"the Hugging Face hub has no model {quote(name)} that can be read from here: give its whole name, such as"
            " facebook/bart-base"
        )
    if status in (401, 403):
        return f"the Hugging Face hub denies access to {name} ({status}): log in with `hf auth login`"
    if status == 429:
        return f"the Hugging Face hub was asked too often from here ({status}): try {name} again in some minutes"
    if status is not None:
        return f"the Hugging Face hub could not provide {name} ({status}): try it again later, or give a folder"
    if isinstance(error, LocalEntryNotFoundError):
        return (
            f"{name} is not in the cache here, and the Hugging Face hub does not answer: try it again with a network,"
            " or give a folder"
        )
    said = put_on_one_line(str(error), 200) or type(error).__name__
    return f"{name} could not be downloaded from the Hugging Face hub ({said}): try it again"
