"""The spec of another program's model, as it stands in the file of a trace, which may be anybody's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from viz_transformer.model.config import MAX_LAYERS, ModelKind
from viz_transformer.model.hook_point import QUERIES, WEIGHTS, Growth, HookPoint
from viz_transformer.model.hooked_model import Heads, ModelSpec, OutputKind, Precision, Scoring
from viz_transformer.model.points import ATTENTION, DERIVED, SINK
from viz_transformer.model.positions import FORMULAS
from viz_transformer.sentences import quoted

DESCRIBED = "model"
"""The entry of a trace's description that has it."""
LONGEST_TEXT = 8192
"""Tokens of a side: what is computed from queries and keys takes the square of it."""
MAX_NUMBERS, MAX_POINTS, LONGEST_NAME, LONGEST_MEANING = 2**24, 50_000, 200, 1000

_SITE = re.compile(r"(encoder|decoder)\.(0|[1-9][0-9]{0,3})\.(self|cross)")
_LETTERS = frozenset("BTHEDFVQK1GUCXN")
_KINDS: Mapping[ModelKind, tuple[bool, bool]] = {
    "encoder-decoder": (True, True),
    "encoder-only": (True, False),
    "decoder-only": (False, True),
}
_SIZES = ("encoder_layers", "decoder_layers", "d_model", "max_source", "max_target")
_SIZES_OR_NONE = ("d_ff", "d_embed", "experts", "source_vocab_size", "target_vocab_size", "source_pad", "target_pad")
_BEFORE: Mapping[str, Any] = {"fuses": True, "precision": "float32", "d_embed": None}
"""What holds for a file from before this was said."""
_SWITCHES = ("final_norm", "reads_pairs", "fuses")
_WORDS: Mapping[str, tuple[Any, ...]] = {
    "kind": get_args(ModelKind),
    "output": get_args(OutputKind),
    "norm": ("pre", "post"),
    "positions": (None, "learned", *FORMULAS),
    "scoring": get_args(Scoring),
    "precision": get_args(Precision),
}


def spec_to_dict(spec: ModelSpec) -> dict[str, Any]:
    """The spec in JSON's types. Raises ValueError for one that could not be read again."""
    written: dict[str, Any] = {name: getattr(spec, name) for name in (*_SIZES, *_SIZES_OR_NONE, *_SWITCHES, *_WORDS)}
    written["labels"] = list(spec.labels)
    written["attentions"] = {
        site: [heads.query, heads.key, heads.size, heads.value_size, heads.window]
        for site, heads in spec.attentions.items()
    }
    for name, points in (("recorded", spec.recorded), ("derived", spec.derived)):
        written[name] = [[point.name, "".join(point.shape), point.meaning, point.grows] for point in points]
    written["missing"] = dict(spec.missing)
    try:
        spec_from_dict(written)
    except ValueError as error:
        raise ValueError(f"this trace cannot be saved: {error}") from None
    return written


def spec_from_dict(content: Any) -> ModelSpec:
    """The spec that was written so. Raises ValueError with the reason for what cannot be one."""
    fields = {*_SIZES, *_SIZES_OR_NONE, *_SWITCHES, *_WORDS, "labels", "attentions", "recorded", "derived", "missing"}
    if isinstance(content, dict):
        content = {**_BEFORE, **content}
    if not isinstance(content, dict) or content.keys() != fields:
        raise ValueError("what it says of the model is not its sizes, attentions and points")
    for name in (*_SIZES, *_SIZES_OR_NONE):
        value = content[name]
        if not (value is None and name in _SIZES_OR_NONE) and not _is_number(value):
            raise ValueError(f"{name} is {quoted(value)}")
    for name, allowed in _WORDS.items():
        if content[name] not in allowed:
            raise ValueError(f"{name} is {quoted(content[name])}")
    if bad := next((name for name in _SWITCHES if type(content[name]) is not bool), None):
        raise ValueError(f"{bad} is {quoted(content[bad])}")
    layers = content["encoder_layers"], content["decoder_layers"]
    if tuple(count > 0 for count in layers) != _KINDS[content["kind"]] or max(layers) > MAX_LAYERS:
        raise ValueError(f"a model of kind {content['kind']} does not have {layers[0]} and {layers[1]} layers here")
    if not 0 < content["max_source"] <= LONGEST_TEXT or not 0 < content["max_target"] <= LONGEST_TEXT:
        raise ValueError(f"its texts have more than {LONGEST_TEXT:,} tokens, or none")
    if not isinstance(content["labels"], list) or not all(_is_text(each, LONGEST_NAME) for each in content["labels"]):
        raise ValueError("its labels are not names")
    missing = content["missing"]
    if not isinstance(missing, dict) or not all(_is_text(each, LONGEST_MEANING) for each in missing.values()):
        raise ValueError("what it says of missing points is not a sentence each")
    recorded, derived = (_points(content[name]) for name in ("recorded", "derived"))
    names = [point.name for point in (*recorded, *derived)]
    if len(set(names)) < len(names):
        raise ValueError("it names a point twice")
    spec = ModelSpec(
        **{name: content[name] for name in (*_SIZES, *_SIZES_OR_NONE, *_SWITCHES, *_WORDS)},
        labels=tuple(content["labels"]),
        attentions=_attentions(content["attentions"], layers),
        recorded=recorded,
        derived=derived,
        missing=missing,
    )
    _check_attentions(spec)
    return spec


_LETTERS_OF_HEADS = frozenset("HEGU")
_SHAPES: Mapping[str, tuple[str, ...]] = {
    **{point.name: point.shape for point in (*ATTENTION, SINK)},
    **dict.fromkeys(("query", "query_unrotated"), QUERIES),
    **dict.fromkeys(("key", "key_unrotated"), ("B", "G", "K", "E")),
    "value": ("B", "G", "K", "U"),
    "head_out": ("B", "H", "Q", "U"),
    "bias": WEIGHTS,
}
"""Of what an attention records, where a value has features of its own number."""
_DERIVED_SHAPES: Mapping[str, tuple[str, ...]] = {point.name: point.shape for point in DERIVED}


def _check_attentions(spec: ModelSpec) -> None:
    """Raises ValueError for points of an attention that could not be what their names say: from these, numbers are
    computed, and by their shapes it is known how many."""
    for points, shapes in ((spec.recorded, _SHAPES), (spec.derived, _DERIVED_SHAPES)):
        for point in points:
            site, _, what = point.name.rpartition(".")
            heads = spec.attentions.get(site)
            if heads is None and _LETTERS_OF_HEADS & {*point.shape}:
                raise ValueError(f"the point {quoted(point.name)} has heads, and is in no attention")
            if heads is None and points is spec.derived:
                raise ValueError(f"the point {quoted(point.name)} is computed, and is in no attention")
            if heads is None:
                continue
            expected, shape = shapes.get(what), point.shape
            if heads.size == heads.value_size:  # the same number by two letters
                shape, expected = _of_queries(shape), expected and _of_queries(expected)
            if shape != expected:
                raise ValueError(f"no attention has a point {quoted(point.name)} of the shape {''.join(point.shape)}")
    recorded = {point.name for point in spec.recorded}
    if lacking := next((site for site in spec.attentions if f"{site}.weights" not in recorded), None):
        raise ValueError(f"it does not describe the weights of the attention {lacking}")


def _of_queries(shape: tuple[str, ...]) -> tuple[str, ...]:
    """The shape with the letter of a query's features for those of a value."""
    return tuple("E" if letter == "U" else letter for letter in shape)


def _attentions(given: Any, layers: tuple[int, int]) -> dict[str, Heads]:
    if not isinstance(given, dict) or not given:
        raise ValueError("it has no attention")
    found = {}
    for site, numbers in given.items():
        place = _SITE.fullmatch(site)
        stack = place and ("encoder", "decoder").index(place[1])
        if place is None or stack is None or int(place[2]) >= layers[stack] or (stack == 0 and place[3] == "cross"):
            raise ValueError(f"{quoted(site)} is not an attention of its layers")
        if place[3] == "cross" and not layers[0]:
            raise ValueError(f"{quoted(site)} has no encoder to read")
        if not isinstance(numbers, list) or len(numbers) != 5 or not all(map(_is_number, numbers[:4])):
            raise ValueError(f"{site} has other numbers than those of heads")
        query, key, size, value_size, window = numbers
        if not 0 < key <= query or query % key or 0 in (size, value_size):
            raise ValueError(f"{site} has {query} heads, of which {key} hold keys")
        if window is not None and not _is_number(window):
            raise ValueError(f"{site} reaches back {quoted(window)}")
        found[site] = Heads(query, key, size, value_size, window)
    return found


def _points(given: Any) -> tuple[HookPoint, ...]:
    if not isinstance(given, list) or len(given) > MAX_POINTS:
        raise ValueError(f"its points are not a list of at most {MAX_POINTS:,}")
    points = []
    for each in given:
        if not isinstance(each, list) or len(each) != 4:
            raise ValueError("a point of it is not a name, a shape, a meaning and how it grows")
        name, shape, meaning, grows = each
        if not _is_text(name, LONGEST_NAME) or not _is_text(meaning, LONGEST_MEANING):
            raise ValueError(f"the point {quoted(name)} is not described in at most {LONGEST_MEANING:,} characters")
        if not isinstance(shape, str) or not shape or len(shape) > 4 or not _LETTERS.issuperset(shape):
            raise ValueError(f"the point {quoted(name)} has the shape {quoted(shape)}")
        if grows not in get_args(Growth):
            raise ValueError(f"the point {quoted(name)} grows by {quoted(grows)}")
        points.append(HookPoint(name, tuple(shape), meaning, grows))
    return tuple(points)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_NUMBERS


def _is_text(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest
