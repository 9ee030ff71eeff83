"""Options shared by several commands, and the opening and printing that use them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
DataOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Test data: a path, a name in the data folder, or the data folder itself;"
        " default: the data that the card names.",
    ),
]
LimitOption = Annotated[int | None, typer.Option(metavar="N", help="Only the first N pairs, or windows of a text.")]
BleuOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="BLEU tokenizer, instead of the card's: tokens, or one of sacrebleu's: 13a, intl, char, ...",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
LanguageOption = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Language of the answer, for a multilingual model: de_DE, de, deu_Latn, ..."),
]
SourceLanguageOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="Language of the text, for a multilingual model.")
]
SpecialTokensOption = Annotated[
    bool,
    typer.Option("--special-tokens", help="Read a typed special token, such as </s>, as that token, not as text."),
]
DeviceOption = Annotated[str, typer.Option(help="Device for the model: cpu or cuda.")]
DtypeOption = Annotated[str, typer.Option(help="Precision for a folder of transformers: float32 or bfloat16.")]
AllowDownloadOption = Annotated[
    bool,
    typer.Option("--allow-download", help="Download CKPT from the Hugging Face hub if it is a name there."),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="PATTERN",
        help="Open a folder of transformers without the tensors whose full name matches this regular expression, such"
        " as '.*lora.*'; repeatable.",
    ),
]
ChatOption = Annotated[
    bool, typer.Option("--chat", help="Put the text into the model's chat template, as a user's message.")
]


def open_model(
    ckpt: str,
    device: str,
    dtype: str,
    allow_download: bool,
    ignore: Sequence[str] | None = None,
    *,
    language: str | None = None,
    source_language: str | None = None,
    special_tokens: bool = False,
    chat: bool = False,
) -> Checkpoint:
    """Open a model with these options, printing to stderr which of its tensors are unused.

    Raises ValueError for options that the model does not offer, including an empty language.
    """
    model = vt.load(ckpt, device=device, dtype=dtype, allow_download=allow_download, ignore=ignore or ())
    if (left := describe_unused(model.card)) is not None:
        print(left[1], file=sys.stderr)
    for name, given in (("--language", language), ("--source-language", source_language)):
        if given == "":
            raise ValueError(f"{name} is empty: name a language, or leave it out")
    say_standing(model)
    return model.read_as(
        language=language or "", source_language=source_language or "", special_tokens=special_tokens, chat=chat
    )


def say_standing(model: Checkpoint) -> None:
    """Print to stderr how well an imported model's reading is established."""
    if (standing := standing_of(model.card)) is not None:
        print(f"{model.name}: {standing.words}", file=sys.stderr)


def to_json(value: Mapping[str, Any]) -> str:
    """One indented JSON object; NaN and infinities become null."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
