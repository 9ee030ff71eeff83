"""The `ModelSpec` of a watched module: what one call revealed, and its form in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.declared import Count, CountOrZero
from viz_transformer.model.config import KIND_OF, MAX_LAYERS
from viz_transformer.model.hook_point import WEIGHTS, HookPoint
from viz_transformer.model.hooked_model import Heads, ModelSpec
from viz_transformer.model.kinds import KINDS, SIDE_OF, StackName, kinds_of
from viz_transformer.model.points import ATTENTION, EMBED, FFN
from viz_transformer.numerals import significant
from viz_transformer.sentences import quote

WATCHED = "watched"
"""Value of `info["kind"]` in a watched trace."""
UNTOLD = "a watched module tells its attention weights and what its modules give out, no more"
MODULES = "modules."
"""Prefix of points that hold a module's output."""
LONGEST_NAME, LONGEST_MEANING = 500, 1000
NO_SOFTMAX = "not a softmax over keys"
OFF_BY = 2.0**-7
"""How far a row of weights may differ from 1: bfloat16 has 8 significant bits."""

_SITE = re.compile(r"(encoder|decoder)\.(0|[1-9][0-9]{0,2})\.(self|cross)")
_STREAM = re.compile(r"(encoder|decoder)\.(0|[1-9][0-9]{0,2})\.residual_(?:in|out)")


def watched_point(name: str, meaning: str) -> HookPoint:
    """The point with this name: weights or mask of an attention, input or output of a layer, or output of a module.

    Raises ValueError for any other name.
    """
    site, _, what = name.rpartition(".")
    if _SITE.fullmatch(site) and what in ("weights", "mask"):
        shape = WEIGHTS if what == "weights" else ("B", "1", "Q", "K")
        return HookPoint(name, shape, meaning, "rows and keys" if _is_decoder(site) else "rows")
    if _STREAM.fullmatch(name):
        return HookPoint(name, ("B", "T", "D"), meaning, "rows")
    if name.startswith(MODULES):
        return HookPoint(name, ("B", "T", "F"), meaning, "rows")
    raise ValueError(f"no watched module has a point {quote(name)}")


def _is_decoder(site: str) -> bool:
    return site.startswith("decoder.") and site.endswith(".self")


def watched_spec(
    heads: Mapping[str, int],
    points: Iterable[HookPoint],
    *,
    d_model: int,
    source: int,
    target: int,
    modules: Mapping[str, str],
    unseen: Mapping[str, str],
) -> ModelSpec:
    """The spec of a watched module, as far as one call over so many tokens revealed it.

    heads: count by attention site, in order. modules, unseen: as in `ModelSpec`.
    """
    layers: dict[StackName, int] = {"encoder": 0, "decoder": 0}
    for site in (*heads, *unseen):
        stack, layer, _ = site.split(".")
        layers[cast(StackName, stack)] = max(layers[cast(StackName, stack)], int(layer) + 1)
    return ModelSpec(
        kind=KIND_OF[layers["encoder"] > 0, layers["decoder"] > 0],
        encoder_layers=layers["encoder"],
        decoder_layers=layers["decoder"],
        d_model=d_model,
        attentions={site: Heads(count, count, 0, 0) for site, count in heads.items()},  # maps do not reveal the sizes
        recorded=tuple(points),
        missing=_missing((*heads, *unseen), layers)
        | {
            f"{site}.{what}": _unseen(site, modules, why)
            for site, why in unseen.items()
            for what in ("weights", "mask")
        },
        modules=dict(modules),
        unseen=dict(unseen),
        output="none",
        norm="post",
        final_norm=False,
        max_source=source or target,
        max_target=target or source,
    )


def _missing(sites: Iterable[str], layers: Mapping[StackName, int]) -> dict[str, str]:
    """The same reason for each point that other models have."""
    lacking = [*(point.name for point in ATTENTION if point.name not in ("weights", "mask")), "scores", "contribution"]
    names = [f"{site}.{name}" for site in sites for name in lacking]
    for stack, count in layers.items():
        names += [f"{stack}.embed.{point.name}" for point in EMBED] if count else []
        names += [f"{stack}.{layer}.ffn.{point.name}" for layer in range(count) for point in FFN]
    return dict.fromkeys([*names, "logits"], UNTOLD)


def made_in(path: str) -> str:
    """Ending of a weights point's meaning: the module that computed them."""
    return f", in {path or 'the module'}"


def sites_of(spec: ModelSpec) -> tuple[str, ...]:
    """All attention sites, seen or not, layer by layer."""

    def order(site: str) -> tuple[bool, int, bool]:
        stack, layer, attention = site.split(".")
        return stack == "decoder", int(layer), attention == "cross"

    return tuple(sorted((*spec.attentions, *spec.unseen), key=order))


def place_of(spec: ModelSpec, site: str) -> str:
    """The site and its module: "encoder.2.self (blocks.2.attn)"."""
    return _named(site, spec.modules)


def _named(site: str, modules: Mapping[str, str]) -> str:
    return f"{site} ({modules[site]})" if modules.get(site) else site


def _unseen(site: str, modules: Mapping[str, str], why: str) -> str:
    return f"attention {_named(site, modules)} was not seen: {why}"


def unseen_sentences(spec: ModelSpec) -> tuple[str, ...]:
    """One sentence for each attention whose weights were not recorded."""
    return tuple(_unseen(site, spec.modules, why) for site, why in spec.unseen.items())


def rows_in_words(weights: ArrayLike) -> str:
    """What the rows of weights [..., Q, K] sum to, in words; "" if 1, as after a softmax over the keys.

    NaN rows are ignored; a zero row among rows of 1 is a fully masked query.
    """
    rows = np.asarray(weights, dtype=np.float64)
    sums = rows.sum(axis=-1)
    sums = sums[np.isfinite(sums)]
    signed = bool((rows < 0).any())
    ones, zeros = np.abs(sums - 1) <= OFF_BY, sums == 0
    if not signed and (ones | zeros).all():
        empty = int(zeros.sum())
        return f"{empty} of {sums.size} rows add to 0, the others to 1" if empty and ones.any() else _only_zeros(empty)
    columns = rows.sum(axis=-2)
    by_column = not signed and bool((np.abs(columns - 1) <= OFF_BY).all())
    least = f"weights from {significant(float(np.nanmin(rows)), 3)}, " if signed else ""
    return f"{least}rows add to {_from_to(sums)}{', columns to 1' if by_column else ''}; {NO_SOFTMAX}"


def _only_zeros(rows: int) -> str:
    return f"rows add to 0; {NO_SOFTMAX}" if rows else ""


def _from_to(sums: NDArray[np.float64]) -> str:
    """Minimum and maximum, as one number where they look equal after float32 rounding."""
    least, most = (significant(round(float(each), 6), 3) for each in (sums.min(), sums.max()))
    return least if least == most else f"{least} to {most}"


def uneven_layers(spec: ModelSpec) -> str | None:
    """Reason why pages that go through all layers cannot show the module; None if its layers are alike."""
    expected = [KINDS[kind].site(layer) for kind in kinds_of(spec) for layer in range(KINDS[kind].layers(spec))]
    if lacking := [site for site in expected if site not in spec.attentions and site not in spec.unseen]:
        return (
            f"the layers of this module are not alike: it has no attention {lacking[0]}, so it is only shown on Tensors"
        )
    return None


def dump_watched_spec(spec: ModelSpec) -> dict[str, Any]:
    """The spec as stored in a file, whose tokens give the lengths. Raises ValueError if it could not be read back."""
    written = {
        "d_model": spec.d_model,
        "heads": {site: heads.query for site, heads in spec.attentions.items()},
        "points": {point.name: point.meaning for point in spec.recorded},
        "modules": dict(spec.modules),
        "unseen": dict(spec.unseen),
    }
    with declared.prefixed("this trace cannot be saved: "):
        parse_watched_spec(written, source=1, target=1)
    return written


Site = Annotated[str, Meta(pattern=rf"\A(?:{_SITE.pattern})\Z", description="an attention")]
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Module = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Reason = Annotated[str, Meta(min_length=1, max_length=LONGEST_MEANING)]
Meaning = Annotated[str, Meta(max_length=LONGEST_MEANING)]


@dataclass(frozen=True, kw_only=True)
class _Watched:
    """The stored entry. The oldest files lack `modules` and `unseen`."""

    d_model: CountOrZero
    heads: Annotated[dict[Site, Count], Meta(min_length=1, description="heads by attention, at least one")]
    points: dict[Name, Meaning]
    modules: dict[Site, Module] = field(default_factory=dict)
    unseen: dict[Site, Reason] = field(default_factory=dict)

    def rules(self) -> Iterator[str]:
        """One sentence for each inconsistency."""
        for site in (*self.heads, *self.unseen):
            stack, layer, kind = site.split(".")
            if int(layer) >= MAX_LAYERS or (stack, kind) == ("encoder", "cross"):
                yield f"{quote(site)} is not an attention of the first {MAX_LAYERS} layers"
        for site in self.unseen:
            if site in self.heads:
                yield f"{site} is listed both as seen and as not seen"
        for site in self.modules:
            if site not in self.heads and site not in self.unseen:
                yield f"it names a module for {quote(site)}, which it does not have"
        if strange := next(
            (each for each in (*self.unseen.values(), *self.modules.values()) if not each.isprintable()), ""
        ):
            yield f"{quote(strange)} cannot be printed"
        for name in (f"{site}.{what}" for site in self.heads for what in ("weights", "mask")):
            if name not in self.points:
                yield f"it lacks its point {name}"


def parse_watched_spec(content: Any, *, source: int, target: int) -> ModelSpec:
    """Inverse of `dump_watched_spec`. Raises ValueError with the reason for invalid content."""
    told = declared.read(_Watched, content, "what it says of the module")
    declared.refuse(told.rules())
    spec = watched_spec(
        told.heads,
        [watched_point(name, meaning) for name, meaning in told.points.items()],
        d_model=told.d_model,
        source=source,
        target=target,
        modules=told.modules,
        unseen=told.unseen,
    )
    for name in told.points:
        if (found := _STREAM.fullmatch(name)) and int(found[2]) >= SIDE_OF[cast(StackName, found[1])].layers(spec):
            raise ValueError(f"it has a point {name} of a layer without attention")
    return spec


def shape_problem(spec: ModelSpec, name: str, shape: tuple[int, ...], *, source: int, target: int) -> str | None:
    """Error message for the shape of a recorded point of a run over so many tokens; None if it fits."""
    letters = spec.point[name].shape
    sizes = spec.sizes(name, batch=1, source=source, target=target) if name.endswith((".weights", ".mask")) else ()
    if sizes:
        by_head = (1, spec.attentions[name.rpartition(".")[0]].query, *sizes[2:])
        fits = shape in ((sizes, by_head) if name.endswith(".mask") else (sizes,))
    else:
        own = [source, target] if name.startswith(MODULES) else [source if name.startswith("encoder.") else target]
        fits = len(shape) == 3 and shape[0] == 1 and shape[1] in own and 0 not in shape
    return None if fits else f"its point {quote(name)} is {list(shape)}, which does not fit {list(letters)}"
