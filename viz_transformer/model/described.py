"""The `ModelSpec` of a foreign model, as stored in a trace file, which is untrusted input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from msgspec import Meta

from viz_transformer import declared
from viz_transformer.declared import Count
from viz_transformer.model.config import KIND_OF, MAX_LAYERS, ModelKind
from viz_transformer.model.hook_point import QUERIES, WEIGHTS, Growth, HookPoint
from viz_transformer.model.hooked_model import Heads, ModelSpec, OutputKind, Precision, Scoring
from viz_transformer.model.points import ATTENTION, DERIVED, SINK
from viz_transformer.model.positions import FORMULAS
from viz_transformer.sentences import quote

DESCRIBED = "model"
"""Key of the spec in a trace's description."""
LONGEST_TEXT = 8192
"""Maximum tokens per side: what is computed from queries and keys grows with its square."""
LONGEST_MEANING = 1000

Size = Annotated[int, Meta(ge=0, le=2**24)]
Length = Annotated[int, Meta(ge=1, le=LONGEST_TEXT)]
Layers = Annotated[int, Meta(ge=0, le=MAX_LAYERS)]
Name = Annotated[str, Meta(max_length=200)]
Meaning = Annotated[str, Meta(max_length=LONGEST_MEANING)]
Letters = Annotated[str, Meta(pattern=r"\A[BTHEDFVQK1GUCXN]{1,4}\Z", description="a shape in 1 to 4 letters")]
Site = Annotated[
    str,
    Meta(pattern=r"\A(encoder\.[0-9]{1,3}\.self|decoder\.[0-9]{1,3}\.(self|cross))\Z", description="an attention"),
]
Numbers = tuple[Size, Count, Count, Count, Size | None]
"""One attention: query heads, key heads, query size, value size, window."""
Points = Annotated[list[tuple[Name, Letters, Meaning, Growth]], Meta(max_length=50_000)]


@dataclass(frozen=True, kw_only=True)
class _Described:
    """The stored entry. Fields with a default are missing in older files."""

    kind: ModelKind
    encoder_layers: Layers
    decoder_layers: Layers
    d_model: Size
    d_ff: Size | None
    d_embed: Size | None = None
    experts: Size | None
    output: OutputKind
    norm: Literal["pre", "post"]
    final_norm: bool
    positions: str | None
    source_vocab_size: Size | None
    target_vocab_size: Size | None
    max_source: Length
    max_target: Length
    source_pad: Size | None
    target_pad: Size | None
    reads_pairs: bool
    scoring: Scoring
    fuses: bool = True
    precision: Precision = "float32"
    labels: tuple[Name, ...]
    missing: dict[str, Meaning]
    attentions: Annotated[dict[Site, Numbers], Meta(min_length=1, description="attentions by name, at least one")]
    recorded: Points
    derived: Points


_AS_THEY_ARE = [field.name for field in fields(_Described) if field.name not in ("attentions", "recorded", "derived")]


def spec_to_dict(spec: ModelSpec) -> dict[str, Any]:
    """The spec as JSON types. Raises ValueError if it could not be read back."""
    written: dict[str, Any] = {name: getattr(spec, name) for name in _AS_THEY_ARE}
    written |= {"labels": list(spec.labels), "missing": dict(spec.missing)}
    written["attentions"] = {
        site: [heads.query, heads.key, heads.size, heads.value_size, heads.window]
        for site, heads in spec.attentions.items()
    }
    for name, points in (("recorded", spec.recorded), ("derived", spec.derived)):
        written[name] = [[point.name, "".join(point.shape), point.meaning, point.grows] for point in points]
    with declared.prefixed("this trace cannot be saved: "):
        spec_from_dict(written)
    return written


def spec_from_dict(content: Any) -> ModelSpec:
    """Inverse of `spec_to_dict`. Raises ValueError with the reason for invalid content."""
    told = declared.read(_Described, content, "what it says of the model")
    spec = ModelSpec(
        **{name: getattr(told, name) for name in _AS_THEY_ARE},
        attentions={site: Heads(*numbers) for site, numbers in told.attentions.items()},
        recorded=tuple(_point(*each) for each in told.recorded),
        derived=tuple(_point(*each) for each in told.derived),
    )
    declared.one_of("positions", spec.positions, (None, "learned", *FORMULAS))
    declared.refuse(_model_rules(spec))
    declared.refuse(_attention_rules(spec))
    return spec


def _point(name: str, letters: str, meaning: str, grows: Growth) -> HookPoint:
    return HookPoint(name, tuple(letters), meaning, grows)


def _model_rules(spec: ModelSpec) -> Iterator[str]:
    """One sentence for each inconsistency in the spec."""
    layers = {"encoder": spec.encoder_layers, "decoder": spec.decoder_layers}
    if KIND_OF.get((spec.encoder_layers > 0, spec.decoder_layers > 0)) != spec.kind:
        yield f"a model of kind {spec.kind} does not have {' and '.join(map(str, layers.values()))} layers here"
    names = [point.name for point in (*spec.recorded, *spec.derived)]
    if len(set(names)) < len(names):
        yield "it names a point twice"
    for site, heads in spec.attentions.items():
        stack, layer, kind = site.split(".")
        if int(layer) >= layers[stack] or layer != str(int(layer)):
            yield f"{quote(site)} is not an attention of its layers"
        if kind == "cross" and not layers["encoder"]:
            yield f"{quote(site)} has no encoder to read"
        if heads.key > heads.query or heads.query % heads.key:
            yield f"{site} has {heads.query} heads, and {heads.key} key heads"


_LETTERS_OF_HEADS = frozenset("HEGU")
_SHAPES: Mapping[str, tuple[str, ...]] = {
    **{point.name: point.shape for point in (*ATTENTION, SINK)},
    **dict.fromkeys(("query", "query_unrotated"), QUERIES),
    **dict.fromkeys(("key", "key_unrotated"), ("B", "G", "K", "E")),
    "value": ("B", "G", "K", "U"),
    "head_out": ("B", "H", "Q", "U"),
    "bias": WEIGHTS,
}
"""Shapes of an attention's points, where a value has its own number of features."""
_DERIVED_SHAPES: Mapping[str, tuple[str, ...]] = {point.name: point.shape for point in DERIVED}


def _attention_rules(spec: ModelSpec) -> Iterator[str]:
    """One sentence for each point whose shape contradicts its name: derived points rely on these shapes."""
    for points, shapes in ((spec.recorded, _SHAPES), (spec.derived, _DERIVED_SHAPES)):
        for point in points:
            site, _, what = point.name.rpartition(".")
            heads = spec.attentions.get(site)
            if heads is None and _LETTERS_OF_HEADS & {*point.shape}:
                yield f"the point {quote(point.name)} has heads, and is in no attention"
            if heads is None and points is spec.derived:
                yield f"the point {quote(point.name)} is computed, and is in no attention"
            if heads is None:
                continue
            expected, shape = shapes.get(what), point.shape
            if heads.size == heads.value_size:  # one number under two letters
                shape, expected = _of_queries(shape), expected and _of_queries(expected)
            if shape != expected:
                yield f"no attention has a point {quote(point.name)} of the shape {''.join(point.shape)}"
    recorded = {point.name for point in spec.recorded}
    if lacking := next((site for site in spec.attentions if f"{site}.weights" not in recorded), None):
        yield f"it does not describe the weights of the attention {lacking}"


def _of_queries(shape: tuple[str, ...]) -> tuple[str, ...]:
    """The shape with the query's feature letter in place of the value's."""
    return tuple("E" if letter == "U" else letter for letter in shape)
