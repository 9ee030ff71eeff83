"""The anatomy of a module that was only watched: what a call of it showed, and how that stands in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from viz_transformer.model.config import MAX_LAYERS, ModelKind
from viz_transformer.model.instrument import Anatomy, Heads
from viz_transformer.model.kinds import KINDS, SIDE_OF, StackName, kinds_of
from viz_transformer.model.point import WEIGHTS, Point
from viz_transformer.model.points import ATTENTION, EMBED, FFN
from viz_transformer.sentences import quoted

WATCHED = "watched"
"""The kind of such a trace, in its `info`."""
UNTOLD = "a watched module tells its attention weights and what its modules give out, no more"
MODULES = "modules."
"""What the name of a point begins with that is what a module gave out."""
LONGEST_NAME, LONGEST_MEANING = 500, 1000

_SITE = re.compile(r"(encoder|decoder)\.(0|[1-9][0-9]{0,2})\.(self|cross)")
_STREAM = re.compile(r"(encoder|decoder)\.(0|[1-9][0-9]{0,2})\.residual_(?:in|out)")
_KIND_OF: dict[tuple[bool, bool], ModelKind] = {
    (True, True): "encoder-decoder",
    (True, False): "encoder-only",
    (False, True): "decoder-only",
}


def watched_point(name: str, meaning: str) -> Point:
    """The point of this name: weights or mask of an attention, what a layer reads or gives out, or what a module gave.

    Raises ValueError for a name that is none of these.
    """
    site, _, what = name.rpartition(".")
    if _SITE.fullmatch(site) and what in ("weights", "mask"):
        shape = WEIGHTS if what == "weights" else ("B", "1", "Q", "K")
        return Point(name, shape, meaning, "rows and keys" if _is_decoder(site) else "rows")
    if _STREAM.fullmatch(name):
        return Point(name, ("B", "T", "D"), meaning, "rows")
    if name.startswith(MODULES):
        return Point(name, ("B", "T", "F"), meaning, "rows")
    raise ValueError(f"no watched module has a point {quoted(name)}")


def _is_decoder(site: str) -> bool:
    return site.startswith("decoder.") and site.endswith(".self")


def watched_anatomy(
    heads: Mapping[str, int], points: Iterable[Point], *, d_model: int, source: int, target: int
) -> Anatomy:
    """What the module is made of, as far as a call over so many tokens showed it. heads: of each attention, in turn."""
    layers: dict[StackName, int] = {"encoder": 0, "decoder": 0}
    for site in heads:
        stack, layer, _ = site.split(".")
        layers[cast(StackName, stack)] = max(layers[cast(StackName, stack)], int(layer) + 1)
    return Anatomy(
        kind=_KIND_OF[layers["encoder"] > 0, layers["decoder"] > 0],
        encoder_layers=layers["encoder"],
        decoder_layers=layers["decoder"],
        d_model=d_model,
        attentions={site: Heads(count, count, 0, 0) for site, count in heads.items()},  # of what size, maps do not say
        recorded=tuple(points),
        missing=_missing(heads, layers),
        output="none",
        norm="post",
        final_norm=False,
        max_source=source or target,
        max_target=target or source,
    )


def _missing(sites: Iterable[str], layers: Mapping[StackName, int]) -> dict[str, str]:
    """What other models have: the same sentence for each point."""
    lacking = [*(point.name for point in ATTENTION if point.name not in ("weights", "mask")), "scores", "contribution"]
    names = [f"{site}.{name}" for site in sites for name in lacking]
    for stack, count in layers.items():
        names += [f"{stack}.embed.{point.name}" for point in EMBED] if count else []
        names += [f"{stack}.{layer}.ffn.{point.name}" for layer in range(count) for point in FFN]
    return dict.fromkeys([*names, "logits"], UNTOLD)


def uneven_layers(anatomy: Anatomy) -> str | None:
    """Why pages that go through all layers cannot show it; None if each layer of a stack has the same attentions."""
    expected = [KINDS[kind].site(layer) for kind in kinds_of(anatomy) for layer in range(KINDS[kind].layers(anatomy))]
    if lacking := [site for site in expected if site not in anatomy.attentions]:
        return f"the layers of this module are not alike: it has no attention {lacking[0]}, so see it on Tensors alone"
    return None


def watched_to_dict(anatomy: Anatomy) -> dict[str, Any]:
    """The anatomy as it stands in a file, beside the tokens, which say its lengths.

    Raises ValueError for one that could not be read again.
    """
    written = {
        "d_model": anatomy.d_model,
        "heads": {site: heads.query for site, heads in anatomy.attentions.items()},
        "points": {point.name: point.meaning for point in anatomy.recorded},
    }
    try:
        watched_from_dict(written, source=1, target=1)
    except ValueError as error:
        raise ValueError(f"this trace cannot be saved: {error}") from None
    return written


def watched_from_dict(content: Any, *, source: int, target: int) -> Anatomy:
    """The anatomy that was written so. Raises ValueError with the reason for what cannot be one."""
    if not isinstance(content, dict) or content.keys() != {"d_model", "heads", "points"}:
        raise ValueError("what it says of the module is not its sizes, heads and points")
    d_model, heads, points = content["d_model"], content["heads"], content["points"]
    if type(d_model) is not int or d_model < 0:
        raise ValueError(f"d_model is {quoted(d_model)}")
    if not isinstance(heads, dict) or not heads or not isinstance(points, dict):
        raise ValueError("it has no attention")
    for site, count in heads.items():
        found = _SITE.fullmatch(site)
        if found is None or int(found[2]) >= MAX_LAYERS or (found[1], found[3]) == ("encoder", "cross"):
            raise ValueError(f"{quoted(site)} is not an attention of the first {MAX_LAYERS} layers")
        if type(count) is not int or count < 1:
            raise ValueError(f"{site} has {quoted(count)} heads")
    for name, meaning in points.items():
        if not isinstance(meaning, str) or len(meaning) > LONGEST_MEANING or len(name) > LONGEST_NAME:
            raise ValueError(f"the point {quoted(name)} is not described in at most {LONGEST_MEANING:,} characters")
    anatomy = watched_anatomy(
        heads,
        [watched_point(name, meaning) for name, meaning in points.items()],
        d_model=d_model,
        source=source,
        target=target,
    )
    for name in (f"{site}.{what}" for site in heads for what in ("weights", "mask")):
        if name not in points:
            raise ValueError(f"it lacks its point {name}")
    for name in points:
        if (found := _STREAM.fullmatch(name)) and int(found[2]) >= SIDE_OF[cast(StackName, found[1])].layers(anatomy):
            raise ValueError(f"it has a point {name} of a layer without attention")
    return anatomy


def shape_problem(anatomy: Anatomy, name: str, shape: tuple[int, ...], *, source: int, target: int) -> str | None:
    """What is wrong with the shape of a recorded point of a run over so many tokens; None if nothing is."""
    letters = anatomy.point[name].shape
    sizes = anatomy.sizes(name, batch=1, source=source, target=target) if name.endswith((".weights", ".mask")) else ()
    if sizes:
        by_head = (1, anatomy.attentions[name.rpartition(".")[0]].query, *sizes[2:])
        fits = shape in ((sizes, by_head) if name.endswith(".mask") else (sizes,))
    else:
        own = [source, target] if name.startswith(MODULES) else [source if name.startswith("encoder.") else target]
        fits = len(shape) == 3 and shape[0] == 1 and shape[1] in own and 0 not in shape
    return None if fits else f"its point {quoted(name)} is {list(shape)}, which does not fit {list(letters)}"
