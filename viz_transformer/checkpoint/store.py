"""Opening and saving checkpoint folders."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

import torch
from torch import Tensor

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.atomic import replace_folder
from viz_transformer.checkpoint.contents import (
    Summary,
    find_folder,
    parse_history,
    read_examples,
    read_history,
    read_summary,
    snapshot_file,
    snapshot_steps,
)
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError
from viz_transformer.checkpoint.weights import (
    Shapes,
    all_finite,
    check_safetensors,
    check_stored,
    read_into,
    save_tensors,
)
from viz_transformer.checkpoint.writing import OutputError, reason, write_file
from viz_transformer.given import FLAG, MAPPING, PAIRS, PATH, TEXT, instance, optional, takes
from viz_transformer.model.config import MAX_LAYERS, ModelConfig
from viz_transformer.model.hooked_model import OF_ANOTHER, HookedModel, ModelSpec, Unavailable
from viz_transformer.model.kinds import SideName
from viz_transformer.model.transformer import Transformer
from viz_transformer.model.unfilled import Unfilled, shapes_alone
from viz_transformer.renamed import Renamed
from viz_transformer.text import Codec, Vocabulary
from viz_transformer.text.codec import TextCodec, TokenizerOptions, check_choices

MAX_PADDED = 4096
"""Maximum length for padded models: every run takes memory quadratic in it."""
MAX_POSITION_NUMBERS = 2**23
"""Maximum size of a computed position table: 32 MiB, and 160 while it is computed."""

_DTYPES = {"float16": torch.float16, "float32": torch.float32}


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A trained model, ready to run (evaluation mode, float32, CPU), with its codecs and card."""

    name: str
    path: Path | None  # none for a model that does not come from a folder
    hooked_model: HookedModel
    source_codec: TextCodec | None  # text of the encoder. Without codecs, a model can be inspected but not run.
    target_codec: TextCodec | None  # text of the decoder
    card: dict[str, Any]
    weights_sha256: str

    @property
    def spec(self) -> ModelSpec:
        return self.hooked_model.spec

    anatomy = Renamed("spec")
    instrument = Renamed("hooked_model")

    @property
    def config(self) -> ModelConfig:
        """The config of our own Transformer. Raises Unavailable for another model."""
        return self.spec.own

    @property
    def model(self) -> Transformer:
        """Our own Transformer. Raises Unavailable for another model."""
        if self.spec.config is None:
            raise Unavailable(OF_ANOTHER)
        return cast(Transformer, self.hooked_model)

    @property
    def parameter_count(self) -> int:
        """Trained parameters, shared ones counted once."""
        return self.hooked_model.parameter_count

    @property
    def codecs(self) -> dict[SideName, TextCodec]:
        given: dict[SideName, TextCodec | None] = {"source": self.source_codec, "target": self.target_codec}
        return {side: codec for side, codec in given.items() if codec is not None}

    def codec(self, side: SideName) -> TextCodec:
        """Codec of a side. Raises ValueError if there is none, since neither text nor ids can be read then."""
        if side not in self.codecs:
            raise ValueError(f"{self.name} has no {side} vocabulary, so it cannot be run: save it with its codecs")
        return self.codecs[side]

    def own_codec(self, side: SideName) -> Codec:
        """Codec of a side, if it is ours. Raises Unavailable for another program's."""
        codec = self.codec(side)
        if not isinstance(codec, Codec):
            raise Unavailable(OF_ANOTHER)
        return codec

    @takes(language=TEXT, source_language=TEXT, special_tokens=FLAG, chat=FLAG)
    def read_as(
        self, *, language: str = "", source_language: str = "", special_tokens: bool = False, chat: bool = False
    ) -> Checkpoint:
        """The same model with these tokenizer options (`TokenizerOptions`), replacing earlier ones.

        language, source_language: of answers and of texts, by the model's own codes. special_tokens: read a typed
        special token as such, not as text. chat: put the text into the model's chat template. Raises ValueError for an
        option or language that the model does not offer.
        """
        how = TokenizerOptions(language, source_language, special_tokens, chat)
        check_choices(how, {name for codec in self.codecs.values() for name in codec.choices})
        read = {f"{side}_codec": codec.read_as(how.only(codec.choices)) for side, codec in self.codecs.items()}
        return replace(self, **read)  # type: ignore[arg-type]

    def snapshots(self) -> tuple[int, ...]:
        """Training steps with saved weights, in order."""
        return snapshot_steps(self.card)

    def at_snapshot(self, step: int) -> Checkpoint:
        """The checkpoint with the weights of this training step; its name ends in "@step".

        Raises CheckpointError for an unknown step or a damaged file.
        """
        steps = self.snapshots()
        if self.path is None or step not in steps:
            kept = ", ".join(map(str, steps)) or "none"
            raise CheckpointError(f"{self.name} has no snapshot of step {step}: choose one that it has ({kept})")
        model, digest = _read_model(self.path, snapshot_file(step), self.config, self.card)
        model.labels = self.model.labels
        return replace(self, name=f"{self.path.absolute().name}@{step}", hooked_model=model, weights_sha256=digest)

    def history(self) -> list[dict[str, float]]:
        """Rows of history.csv by column, NaN for blank cells; empty without one."""
        return [] if self.path is None else read_history(self.path)

    def examples(self) -> list[tuple[str, str]]:
        """Held-out (source, target) pairs; empty without any."""
        return [] if self.path is None else read_examples(self.path)


def load(where: str | Path) -> Checkpoint:
    """Open the checkpoint in a folder, or the bundled one with that name. Runs no code from the folder.

    Raises CheckpointError with one sentence on the file and what to do, if anything is missing, damaged, changed, too
    large for its own files, or from a newer version.
    """
    for _ in range(5):
        folder = find_folder(where)
        before = files.stamp(folder)
        try:
            checkpoint = _load(folder)
        except (CheckpointError, OSError):
            if before is not None and before == files.stamp(folder):
                raise
        else:
            if before == files.stamp(folder):
                return checkpoint
        # A training saved in between: what was read may be half old, half new.
    raise CheckpointError(f"{folder} is being written again and again: open it when the training pauses")


class Kept(TypedDict, total=False):
    """What else a checkpoint folder keeps, and how."""

    history_csv: str | None
    """The losses of its training, one line a step, as history.csv has them."""
    examples: Sequence[tuple[str, str]]
    """Held-out pairs, source and target."""
    snapshots: Mapping[int, Mapping[str, Tensor]] | None
    """Weights at earlier steps of the training."""
    dtype: Literal["float16", "float32"]
    """What weights are rounded to, float16 if nothing is said."""


@takes(
    folder=PATH,
    state_dict=MAPPING,
    config=instance("a vt.ModelConfig", ModelConfig),
    source_codec=optional(instance("a codec", Codec)),
    target_codec=optional(instance("a codec", Codec)),
    card=MAPPING,
    history_csv=optional(TEXT),
    examples=PAIRS,
    snapshots=optional(MAPPING),
    dtype=TEXT,
)
def save_checkpoint(
    folder: str | Path,
    *,
    state_dict: Mapping[str, Tensor],
    config: ModelConfig,
    source_codec: Codec | None,
    target_codec: Codec | None,
    card: Mapping[str, Any],
    **more: Unpack[Kept],
) -> Path:
    """Write the checkpoint folder atomically and return it. Other files in the folder stay.

    more: history_csv, examples, snapshots and dtype, as in `Kept`. The card gets digests ("sha256") of what is needed
    to run the model. Raises CheckpointError for weights or vocabularies that do not fit the config, numbers that are
    not finite or too large for `dtype`, a history or examples that could not be read back, and a folder that must not
    be replaced; OutputError if it cannot be written.
    """
    folder = Path(folder)
    _check_replaceable(folder)
    codecs = {"source": source_codec, "target": target_codec}
    content = {"format_version": files.FORMAT_VERSION, "model": config.to_dict()}
    content |= {f"{side}_codec": None if codec is None else codec.to_dict() for side, codec in codecs.items()}
    texts = {files.CONFIG: _json(content)}
    for side, codec in codecs.items():
        if codec is not None:
            _check_vocabulary(folder / files.VOCABULARIES[side], len(codec.vocabulary), config, side)
            texts[files.VOCABULARIES[side]] = _json(codec.vocabulary.tokens)
    weights = {files.WEIGHTS: state_dict} | {
        snapshot_file(step): dict(state) for step, state in (more.get("snapshots") or {}).items()
    }
    shapes = expected_shapes(config)
    dtype, history_csv, examples = more.get("dtype", "float16"), more.get("history_csv"), more.get("examples", ())
    stored = {name: _stored(folder / name, state, shapes, dtype) for name, state in weights.items()}
    extra = {files.EXAMPLES: _tsv(folder / files.EXAMPLES, examples)} if examples else {}
    if history_csv is not None:
        files.check_rows(folder / files.HISTORY, history_csv.count("\n"))
        parse_history(history_csv.splitlines(), folder / files.HISTORY)
        extra[files.HISTORY] = history_csv

    def write(new: Path) -> None:
        for name, text in {**texts, **extra}.items():
            (new / name).write_bytes(text.encode("utf-8"))
        for name, tensors in stored.items():
            (new / name).parent.mkdir(exist_ok=True)
            save_tensors(tensors, new / name)  # copies no numbers; readable only for its owner
            (new / name).chmod(stat.S_IMODE((new / files.CONFIG).stat().st_mode))
        digests = {name: files.sha256(new / name) for name in (*texts, *stored)}
        (new / files.CARD).write_bytes(_json({**card, "sha256": digests}).encode("utf-8"))
        _keep_other_files(folder, new)

    try:
        replace_folder(folder, write)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {reason(error)}") from error
    return folder


def add_to_card(folder: Path, facts: Mapping[str, Any]) -> None:
    """Add these facts to the folder's card, which is replaced atomically; its digests stay."""
    path = folder / files.CARD
    write_file(path, _json({**files.read_json_object(path), **facts}).encode("utf-8"))


def expected_shapes(config: ModelConfig) -> Shapes:
    """Name and shape of each tensor of a model with this config, without allocating them."""
    return dict(_shapes(config))


@lru_cache(maxsize=64)
def _shapes(config: ModelConfig) -> Shapes:
    with shapes_alone():
        return {name: tuple(tensor.shape) for name, tensor in Transformer(config).state_dict().items()}


def _load(folder: Path) -> Checkpoint:
    summary = read_summary(folder)
    files.check_digest(folder, files.CONFIG, summary.card)
    _check_weights_file(folder)
    check_safetensors(folder / files.WEIGHTS)
    _check_size(summary.config, folder / files.CONFIG, folder / files.WEIGHTS)
    codecs = {side: read_codec(summary, side) for side in files.VOCABULARIES}
    model, digest = _read_model(folder, files.WEIGHTS, summary.config, summary.card)
    if codecs["target"] is not None and not summary.config.has_decoder:
        model.labels = codecs["target"].vocabulary.tokens
    return Checkpoint(summary.name, folder, model, codecs["source"], codecs["target"], summary.card, digest)


def read_codec(summary: Summary, side: str) -> Codec | None:
    """Codec of one side of a folder in our own format; None if config.json has null.

    Raises CheckpointError with one sentence if it cannot be read.
    """
    described = summary.codecs[side]
    if described is None:
        return None
    path = summary.path / files.VOCABULARIES[side]
    tokens = files.read_json(path)
    files.check_digest(summary.path, path.name, summary.card)  # last, since hashing time is unbounded
    if not isinstance(tokens, list):
        raise CheckpointError(f"{path} is not a JSON list of tokens: {COPY_AGAIN}")
    _check_vocabulary(path, len(tokens), summary.config, side)
    with files.explaining(f"{path} cannot be used (", f"): {COPY_AGAIN}"):
        vocabulary = Vocabulary(tokens)
    with files.explaining(f"{summary.path / files.CONFIG} describes no {side} codec (", f"): {COPY_AGAIN}"):
        return Codec.from_dict(described, vocabulary)


def _check_vocabulary(path: Path, size: int, config: ModelConfig, side: str) -> None:
    if size != (wanted := getattr(config, f"{side}_vocab_size")):
        raise CheckpointError(
            f"{path} has {size:,} tokens, the config's {side}_vocab_size is {wanted}: use files of one checkpoint"
        )


def _check_weights_file(folder: Path) -> None:
    """Raise CheckpointError if the folder's weights are missing or only exist as a torch file."""
    with files.reading(folder):
        names = {path.name for path in folder.iterdir()}
    others = sorted(name for name in names if name.endswith((".pt", ".pth", ".bin", ".ckpt", ".pkl")))
    if files.WEIGHTS not in names and others:
        raise CheckpointError(f"{folder} has {others[0]} but no {files.WEIGHTS}: {files.SAVE_AS_FOLDER}")


def _read_model(folder: Path, name: str, config: ModelConfig, card: dict[str, Any]) -> tuple[Transformer, str]:
    """The model with weights from a file of the folder, and the file's digest."""
    path = folder / name
    check_safetensors(path)
    _check_size(config, folder / files.CONFIG, path)
    check_stored(path, expected_shapes(config))
    digest = files.check_digest(folder, name, card)  # slowest, so last
    with Unfilled():  # all is read; and looking changes nothing, not even the random numbers drawn next
        model = Transformer(config)
    with torch.no_grad():
        read_into(path, model.state_dict())
    return model.eval(), digest


def _check_size(config: ModelConfig, config_path: Path, weights: Path) -> None:
    """Raise CheckpointError before building a model that is larger than its weights file can be."""
    layers, d_model = config.encoder_layers + config.decoder_layers, config.d_model
    vocabulary = max(config.source_vocab_size or 0, config.target_vocab_size or 0)
    least = layers * (4 * d_model**2 + 2 * d_model * config.d_ff) + vocabulary * d_model  # ignores small parts
    longest = max(config.max_source * config.has_encoder, config.max_target * config.has_decoder)
    if config.encoding.trained:
        least += longest * d_model
    with files.reading(weights):
        room = weights.stat().st_size // 2  # at least two bytes per number
    if least > room:
        raise CheckpointError(
            f"{config_path} describes a larger model than {weights.name} with its room for {room:,} numbers can hold: "
            f"they do not belong together, so {COPY_AGAIN}"
        )
    if max(config.encoder_layers, config.decoder_layers) > MAX_LAYERS:
        raise CheckpointError(f"{config_path} asks for more than {MAX_LAYERS:,} layers: choose a smaller model")
    if (config.pad_to or 0) > MAX_PADDED:
        raise CheckpointError(f"{config_path} pads each text to more than {MAX_PADDED:,} tokens: lower pad_to")
    if longest * config.encoding.numbers(config) > MAX_POSITION_NUMBERS:
        raise CheckpointError(
            f"{config_path} asks for a position table of more than {MAX_POSITION_NUMBERS:,} numbers: "
            "lower max_source and max_target, and save the checkpoint again"
        )


def _stored(path: Path, state: Mapping[str, Tensor], shapes: Shapes, dtype: str) -> dict[str, Tensor]:
    """The tensors as stored in the file. Raises CheckpointError for what `load` would refuse."""
    for name in sorted(shapes.keys() ^ state.keys()):
        problem = "is missing" if name in shapes else "has no place in this config"
        raise CheckpointError(f"{path} cannot be saved: {name!r} {problem}; give the state_dict of the config's model")
    stored = {}
    for name, tensor in state.items():
        if tuple(tensor.shape) != shapes[name]:
            raise CheckpointError(
                f"{path} cannot be saved: {name!r} has the shape {list(tensor.shape)}, the config asks for "
                f"{list(shapes[name])}; give the state_dict of the config's model"
            )
        stored[name] = tensor.detach().to("cpu", _DTYPES[dtype]).contiguous()
        if not all_finite(stored[name]):
            raise CheckpointError(
                f"{path} cannot be saved: {name!r} holds numbers that are not finite as {dtype}; "
                "store float32 if they are only large, else use weights from before the training went wrong"
            )
    return stored


def _tsv(path: Path, pairs: Sequence[tuple[str, str]]) -> str:
    files.check_rows(path, len(pairs))
    for pair in pairs:
        if len(pair) != 2 or any(sign in text for text in pair for sign in "\t\n"):
            raise CheckpointError(f"{path} cannot be saved: {pair!r:.80} is not two texts without tab and line break")
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _check_replaceable(folder: Path) -> None:
    """Raise CheckpointError if replacing the folder would break a user of it or destroy other work."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder} is a file: give a folder to save the checkpoint in")
    if folder.is_dir() and Path.cwd().is_relative_to(folder.resolve()):
        raise CheckpointError(f"{folder} is the folder that you are in: save to a folder inside or beside it")
    try:
        content = files.read_json_object(folder / files.CONFIG)
    except CheckpointError:
        return  # missing or damaged: nothing to lose
    if "format_version" not in content:
        raise CheckpointError(f"{folder} holds the {files.CONFIG} of another program: save to another folder")


def _keep_other_files(old: Path, new: Path) -> None:
    """Link the files of `old` that are not part of a checkpoint, such as training state, into `new`."""
    for entry in old.iterdir() if old.is_dir() else ():
        if entry.name in files.ALL_FILES:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True, copy_function=_link)
        else:
            _link(entry, new / entry.name)


def _link(old: str | Path, new: str | Path) -> None:
    """Hard-link a file, or copy it where links are not supported."""
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:
        shutil.copy2(old, new, follow_symlinks=False)
