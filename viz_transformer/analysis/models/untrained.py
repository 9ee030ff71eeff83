"""A model of chosen sizes with random weights, whose name alone determines it.

    new:numbers:own:e3-d3-h4-w256-f1024-pre-s0

reads and writes with the vocabularies of `numbers`, has 3 encoder and 3 decoder layers, 4 heads, d_model 256 ("width"),
d_ff 1024, pre-norm, and the random numbers of seed 0. Everything else is as `numbers` has it ("own"), as the paper or
as one of the tutorials. Nothing is written to a disk. Imports torch only when weights are made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import viz_transformer as vt
from viz_transformer import declared
from viz_transformer.analysis.models.parameters import parameter_total
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.model.config import ModelConfig, base, tutorial
from viz_transformer.model.positions import ENCODINGS

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint

PREFIX = "new:"
OWN, PAPER = "own", "paper"
TUTORIALS = ("annotated", "en-it", "fsu", "tutorial6", "upc-lab")
MAX_LAYERS, MAX_HEADS, MAX_D_MODEL, MAX_D_FF = 12, 64, 1024, 8192
MAX_SEED = 999_999_999
MAX_PARAMETERS = 60_000_000
"""The most parameters of a new model, 240 MB: a server keeps several models."""

_FIELDS = r"e(\d{1,2})-d(\d{1,2})-h(\d{1,2})-w(\d{1,4})-f(\d{1,4})-(pre|post)-s(\d{1,9})"
_SIZES = ("encoder_layers", "decoder_layers", "n_heads", "d_model", "d_ff")
_NAME = re.compile(rf"{PREFIX}([^:]+):([a-z0-9-]+):{_FIELDS}")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The complete description of a new model. `base` names the trained model whose vocabularies it has.

    `architecture` says whose settings it has where no other field speaks: OWN those of `base`, or one of those that
    `architectures` lists.
    """

    base: str
    architecture: str = OWN
    encoder_layers: int
    decoder_layers: int
    n_heads: int
    d_model: int
    d_ff: int
    norm: Literal["pre", "post"] = "pre"
    seed: int = 0

    @property
    def name(self) -> str:
        sizes = f"e{self.encoder_layers}-d{self.decoder_layers}-h{self.n_heads}-w{self.d_model}-f{self.d_ff}"
        return f"{PREFIX}{self.base}:{self.architecture}:{sizes}-{self.norm}-s{self.seed}"

    def config(self, like: ModelConfig) -> ModelConfig:
        """The new model's config; `like`: the config of the base.

        Raises ValueError, one sentence, for sizes that do not fit together, another kind of model, and too large ones.
        """
        self._check(like)
        given = {name: getattr(self, name) for name in (*_SIZES, "norm")}
        texts = ("source_vocab_size", "target_vocab_size", "source_pad", "target_pad", "max_source", "max_target")
        given |= {name: getattr(like, name) for name in texts}
        made = self._make_config(like, given)
        total = parameter_total(made)
        if total > MAX_PARAMETERS:
            raise ValueError(
                f"this model would have {total:,} parameters, a new one here has at most {MAX_PARAMETERS:,}:"
                " choose smaller sizes"
            )
        return made

    def like_architecture(self, architecture: str, like: ModelConfig) -> Recipe:
        """The recipe with the settings, sizes and norm of another architecture, without the stacks that `like`
        lacks."""
        start = like if architecture in (OWN, *offered_positions()) else _start(architecture)
        return replace(
            self,
            architecture=architecture,
            encoder_layers=start.encoder_layers if like.has_encoder else 0,
            decoder_layers=start.decoder_layers if like.has_decoder else 0,
            n_heads=start.n_heads,
            d_model=start.d_model,
            d_ff=start.d_ff,
            norm=start.norm,
        )

    def _make_config(self, like: ModelConfig, given: dict[str, Any]) -> ModelConfig:
        start = like
        if self.architecture in offered_positions():
            given = {**given, "positions": self.architecture}
        elif self.architecture != OWN:
            start = _start(self.architecture)
            pad_to = None if start.pad_to is None else min(like.max_source, like.max_target)
            if pad_to is not None:
                given = {**given, "max_source": pad_to, "max_target": pad_to}
            given = {**given, "pad_to": pad_to}
        if not like.has_encoder:
            swapped = start.padding_mask.endswith("swapped-cross")
            mask = "key-or-query" if swapped else start.padding_mask
            given = {**given, "encoder_final_norm": "same", "padding_mask": mask}
        if self.norm != start.norm:  # without a final norm the stream of a pre-norm model is unbounded
            given = {**given, "final_norm": self.norm == "pre", "encoder_final_norm": "same"}
        return replace(start, **given)

    def _check(self, like: ModelConfig) -> None:
        declared.one_of("architecture", self.architecture, architectures())
        for stack, layers, has in (
            ("encoder", self.encoder_layers, like.has_encoder),
            ("decoder", self.decoder_layers, like.has_decoder),
        ):
            if has != (layers > 0):
                wanted = f"1 to {MAX_LAYERS}" if has else "0"
                raise ValueError(
                    f"{layers} {stack} layers do not go with the vocabularies of {self.base}, which is a model of kind"
                    f" {like.kind}: choose {wanted}"
                )
            declared.at_most(layers, MAX_LAYERS, f"{{}} {stack} layers are too many", "offered")
        for name, most in (("n_heads", MAX_HEADS), ("d_model", MAX_D_MODEL), ("d_ff", MAX_D_FF)):
            declared.at_most(getattr(self, name), most, f"{name}={{}} is too large", "offered")


@dataclass(frozen=True)
class UntrainedSummary(Summary):
    """A new model before its weights are made. Its pairs are those of the base, on which it was not trained either."""

    recipe: Recipe

    @property
    def parameter_count(self) -> int:
        """Trained numbers that the model has, by its config."""
        return parameter_total(self.config)

    def snapshots(self) -> tuple[int, ...]:
        return ()

    def history(self) -> list[dict[str, float]]:
        return []


def offered_positions() -> tuple[str, ...]:
    """Kinds of positions that a new model can have with all other settings of its base."""
    return tuple(word for word, encoding in ENCODINGS.items() if encoding.offered)


def architectures() -> tuple[str, ...]:
    """The architectures that a new model can have: its base's own, that with other positions, the paper's, a
    tutorial's."""
    return (OWN, *offered_positions(), PAPER, *TUTORIALS)


def is_new(name: str) -> bool:
    """Whether this is the name of a new model, well-formed or not."""
    return name.startswith(PREFIX)


def recipe_of(name: str) -> Recipe:
    """The recipe that has this name. Raises ValueError for any other name."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(
            f"{name!r:.80} is not the name of a new model: such a name looks like"
            " new:numbers:own:e3-d3-h4-w256-f1024-pre-s0"
        )
    model, architecture, *numbers, norm, seed = found.groups()
    sizes = dict(zip(_SIZES, map(int, numbers), strict=True))
    return Recipe(
        base=model, architecture=architecture, norm="pre" if norm == "pre" else "post", seed=int(seed), **sizes
    )


def recipe_like(summary: Summary) -> Recipe:
    """The recipe of a new model with the sizes of this one; a new model's own recipe."""
    if isinstance(summary, UntrainedSummary):
        return summary.recipe
    return Recipe(base=summary.name, **{name: getattr(summary.config, name) for name in (*_SIZES, "norm")})


def summarize_untrained(name: str, bases: Mapping[str, Summary | Unreadable]) -> Summary | Unreadable | None:
    """The new model of this name, or why there is none; None for a name that is no recipe or has an unknown base."""
    try:
        recipe = recipe_of(name)
    except ValueError:
        return None
    like = bases.get(recipe.base)
    if like is None:
        return None
    if isinstance(like, Unreadable):
        return replace(like, name=name)
    try:
        config = recipe.config(like.config)
    except ValueError as error:
        return Unreadable(name, like.path, str(error))
    return UntrainedSummary(name, like.path, config, like.codecs, _card(recipe, like), recipe)


def make_untrained(recipe: Recipe, like: Checkpoint) -> Checkpoint:
    """The new model, ready to run: the same recipe gives the same weights, whatever was drawn before.

    Raises ValueError as `Recipe.config` does.
    """
    import torch

    config = recipe.config(like.config)
    with torch.random.fork_rng(devices=[]):  # the random numbers that are drawn next stay what they were
        torch.manual_seed(recipe.seed)
        model = vt.Transformer(config).eval()
    digest = hashlib.sha256()
    if recipe.architecture in offered_positions():  # which add no parameters: others would have the same digest
        digest.update(recipe.architecture.encode())
    for key, tensor in model.state_dict().items():
        digest.update(key.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return replace(
        like,
        name=recipe.name,
        path=None,
        hooked_model=model,
        card=_card(recipe, like),
        weights_sha256=digest.hexdigest(),
    )


def _start(architecture: str) -> ModelConfig:
    """The settings of the paper or a tutorial, with placeholder vocabularies that the base's replace."""
    if architecture == PAPER:
        return base()
    pads = {"pad_to": 8} if architecture == "en-it" else {}
    return tutorial(architecture, source_vocab_size=8, target_vocab_size=8, **pads)


def _card(recipe: Recipe, like: Summary | Checkpoint) -> dict[str, Any]:
    """The card of a new model; its task is the base's, whose texts it can read."""
    return {
        "task": like.card.get("task"),
        "title": "Random parameters, never trained",
        "data": f"none; it reads and writes with the vocabularies of {recipe.base}",
        "seed": recipe.seed,
        "notes": [f"The name is the recipe: {recipe.name} makes the same parameters again."],
        "metrics": [],
    }
