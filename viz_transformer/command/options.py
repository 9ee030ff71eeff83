"""Options shared by several commands in groups, and the opening and printing that use them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import orjson
import typer

import viz_transformer as vt
from viz_transformer.checkpoint.describe import describe_unused
from viz_transformer.checkpoint.grading import standing_of

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint

CheckpointArgument = Annotated[str, typer.Argument(metavar="CKPT", help="A checkpoint folder, or a bundled name.")]
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="What the model reads.")]
BeamOption = Annotated[int | None, typer.Option(metavar="N", help="Beam search of this width instead of greedy.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SpecialTokensOption = Annotated[
    bool,
    typer.Option("--special-tokens", help="Read a typed special token, such as </s>, as that token, not as text."),
]
AllowDownloadOption = Annotated[
    bool,
    typer.Option("--allow-download", help="Download CKPT from the Hugging Face hub if it is a name there."),
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer takes it: a parameter that is a dataclass becomes its fields, each an option of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    def options() -> Iterator[Parameter]:
        for name, parameter in signature(command).parameters.items():
            of_group = name in groups
            kinds = get_type_hints(groups[name], include_extras=True) if of_group else {name: hints[name]}
            for each in signature(groups[name]).parameters.values() if of_group else [parameter]:
                yield each.replace(annotation=kinds[each.name], kind=Parameter.KEYWORD_ONLY)

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given)

    run.__signature__ = Signature(list(options()))  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True, kw_only=True)
class OpeningOptions:
    """How a model is opened."""

    device: Annotated[str, typer.Option(help="Device for the model: cpu or cuda.")] = "cpu"
    dtype: Annotated[str, typer.Option(help="Precision for a folder of transformers: float32 or bfloat16.")] = "float32"
    allow_download: AllowDownloadOption = False
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="PATTERN",
            help="Open a folder of transformers without the tensors whose full name matches this regular expression,"
            " such as '.*lora.*'; repeatable.",
        ),
    ] = None

    def load(self, ckpt: str) -> Checkpoint:
        """The model of this name, or in this folder."""
        return vt.load(
            ckpt,
            device=self.device,
            dtype=self.dtype,
            allow_download=self.allow_download,
            ignore=self.ignore or (),
        )


@dataclass(frozen=True, kw_only=True)
class LanguageOptions:
    """The languages of a model with several."""

    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Language of the answer, for a multilingual model: de_DE, de, deu_Latn, ..."),
    ] = None
    source_language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the text, for a multilingual model.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(LanguageOptions):
    """How a model reads a text."""

    special_tokens: SpecialTokensOption = False
    chat: Annotated[
        bool, typer.Option("--chat", help="Put the text into the model's chat template, as a user's message.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """What a model is tested on, and how its answers are written and measured."""

    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Test data: a path, a name in the data folder, or the data folder itself;"
            " default: the data that the card names.",
        ),
    ] = None
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first N pairs, or windows of a text.")] = None
    beam: BeamOption = None
    bleu: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="BLEU tokenizer, instead of the card's: tokens, or one of sacrebleu's: 13a, intl, char, ...",
        ),
    ] = None

    def file_and_folder(self) -> tuple[Path | None, Path | None]:
        """--data as a file or as the data folder."""
        return (None, self.data) if self.data is not None and self.data.is_dir() else (self.data, None)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What a person says about weights of another program."""

    layout: Annotated[
        str | None,
        typer.Option(metavar="L", help="en-it, tutorial6, annotated, upc-lab, fsu, torch, gpt, ..."),
    ] = None
    map_: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="A mapping of tensors, instead of a layout.")
    ] = None
    write_map: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the mapping that was used, to correct for --map.")
    ] = None
    heads: Annotated[
        int | None, typer.Option(metavar="N", help="Number of attention heads, which no shape reveals.")
    ] = None
    source_vocab: Annotated[
        Path | None, typer.Option(metavar="F", help="JSON, one token per line, or counted:TEXT.")
    ] = None
    target_vocab: Annotated[
        Path | None, typer.Option(metavar="F", help="The same for the target, or a decoder-only model.")
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the model, or bos=, pad=; ignore=PATTERN leaves out the unplaced tensors whose full"
            r" name matches the regular expression, such as 'ignore=aux_head\..*'.",
        ),
    ] = None
    sample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ids and logits from where it was trained (.npz, .json)."),
    ] = None
    texts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ten or more of your texts, to measure settings on (source, tab, target; for a decoder, lines).",
        ),
    ] = None


def open_model(ckpt: str, opening: OpeningOptions, reading: LanguageOptions | None = None) -> Checkpoint:
    """Open a model with these options, printing to stderr which of its tensors are unused.

    Raises ValueError for options that the model does not offer, including an empty language.
    """
    model = opening.load(ckpt)
    if (left := describe_unused(model.card)) is not None:
        print(left[1], file=sys.stderr)
    reading = reading or LanguageOptions()
    languages = {"language": reading.language, "source_language": reading.source_language}
    for name, given in languages.items():
        if given == "":
            raise ValueError(f"--{name.replace('_', '-')} is empty: name a language, or leave it out")
    say_standing(model)
    return model.read_as(**asdict(reading) | {name: given or "" for name, given in languages.items()})


def say_standing(model: Checkpoint) -> None:
    """Print to stderr how well an imported model's reading is established."""
    if (standing := standing_of(model.card)) is not None:
        print(f"{model.name}: {standing.words}", file=sys.stderr)


def to_json(value: Mapping[str, Any]) -> str:
    """One indented JSON object; NaN and infinities become null."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
