"""Plans an import: derives a config from the file and its layout, and collects open questions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import permutations
from typing import Any, Literal

import torch

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.ignoring import match_patterns, unmatched
from viz_transformer.checkpoint.importers.inference import gated, infer_placements
from viz_transformer.checkpoint.importers.layouts import GPT2, PAPER, Layout, Recognised, recognise, to_decoder
from viz_transformer.checkpoint.importers.mapping import Mapped, Placement, order_fused, place_shapes
from viz_transformer.checkpoint.importers.name_words import flat
from viz_transformer.checkpoint.importers.names import POSITIONS, Weights
from viz_transformer.checkpoint.importers.outside import same_numbers, unnamed_output
from viz_transformer.checkpoint.importers.reading import Stored
from viz_transformer.checkpoint.importers.ties import Tie
from viz_transformer.checkpoint.store import expected_shapes
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.positions import ENCODINGS, ROTARY_BASE, alibi_slopes
from viz_transformer.sentences import count_of, join_names, quote

Shapes = Mapping[str, tuple[int, ...]]
Origin = Literal["given", "from the file", "from the layout", "measured", "best on the texts", "usual answer", "open"]
"""Where a setting's value comes from; "open": unknown, without a usual answer."""
USUAL_LENGTH = 512


@dataclass(frozen=True)
class Fitted:
    """The value that fits the owner's texts best. told: whether the texts determine it, or another may fit better."""

    value: Any
    told: bool = True

    @property
    def origin(self) -> Origin:
        return "measured" if self.told else "best on the texts"


@dataclass(frozen=True)
class Setting:
    """One setting of the model."""

    name: str
    value: Any  # only a placeholder while the origin is "open"
    origin: Origin
    options: tuple[Any, ...] = ()  # alternatives to ask about
    why: str = ""  # evidence for a usual answer; "" if there is none

    @property
    def asked(self) -> bool:
        """Whether it needs an answer: the value is a guess, or missing."""
        return self.origin in ("usual answer", "best on the texts", "open")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What an import will do, or why it cannot."""

    weights: Weights
    layout: Layout | None
    mapping: Mapped
    """Place of every tensor that has one."""
    settings: tuple[Setting, ...]
    config: ModelConfig | None
    ignored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tensors excluded by name, by pattern."""
    unused: tuple[str, ...] = ()
    """Unexplained tensors."""
    missing: tuple[str, ...] = ()
    """Our tensors without a source."""
    wrong: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    """Our tensors with another shape: (found, expected)."""
    zeros: tuple[str, ...] = ()
    """Biases that the model lacks, filled with zeros, which changes nothing."""
    left_out: tuple[str, ...] = ()
    """Trained tensors that a person leaves out by `ignore` or in a mapping, though nothing shows they are unused."""
    problems: tuple[str, ...] = ()
    """Sentences; the import is possible if there are none."""
    notes: tuple[str, ...] = ()
    """Unusual features of the file, in sentences."""

    @property
    def unanswered(self) -> str:
        """A sentence on settings without a usual answer that are still open; "" if there are none."""
        names = [each.name for each in self.settings if each.origin == "open"]
        if not names:
            return ""
        words = {"n_heads": "--heads N", "pooling": f"--set pooling={'|'.join(OPTIONS['pooling'])}"}
        how = " ".join(words.get(name, f"--set {name}=...") for name in names)
        others = "texts or a sample that measure it" if names == ["n_heads"] else "a sample that tells it"
        return f"nothing in the file tells {join_names(names)}: give {how}, or {others}"

    def setting(self, name: str) -> Any:
        return next((each.value for each in self.settings if each.name == name), None)


OPTIONS: Mapping[str, tuple[Any, ...]] = {
    "norm": ("pre", "post"),
    "activation": ("relu", "gelu", "gelu-tanh", "silu"),
    "embedding_scale": ("one", "sqrt"),
    "divisor": ("sqrt-head-dim", "sqrt-d-model"),
    "norm_epsilon": (1e-5, 1e-6, 1e-12),
    "mask_fill": ("zero-rows", "-inf", "-1e9", "-1e10", "added-1e9"),
    "causal": (True, False),
    "pooling": ("none", "mean", "first", "last"),
    "qkv_order": tuple("".join(order) for order in permutations("qkv")),
    "rotary_pairs": ("neighbours", "halves"),
}
BESIDE = ("causal", "qkv_order", "rotary_pairs")
"""Settings beside `ModelConfig`: causal torch encoder layers, order of fused query, key, value, rotary pairs."""
FIELDS = {each.name: each for each in fields(ModelConfig)}
HEADS = re.compile(
    r"(^|\.)(n_?heads?|num_(attention_)?heads|nheads|attention_heads|encoder_attention_heads|decoder_attention_heads"
    r"|heads|n_attention_heads)$"
)


def plan_import(
    weights: Weights,
    *,
    layout: str | None = None,
    mapping: Mapped | None = None,
    given: Mapping[str, Any] | None = None,
    measured: Mapping[str, Fitted] | None = None,
    ignore: Sequence[str] = (),
) -> Plan:
    """Plan the import of these tensors with these answers.

    mapping: a person's own table, instead of a layout. given: settings of `ModelConfig`, those of BESIDE, and for an
    unknown layout the tensor for an ambiguous place, such as "output.weight". measured: fitted values of settings that
    would otherwise be guessed or taken from the layout. Raises CheckpointError for an unknown layout or setting; any
    other problem is listed in the plan.
    """
    given, measured = dict(given or {}), dict(measured or {})
    chosen = {name: str(given.pop(name)) for name in [*given] if is_place(name)}
    if unknown := next((name for name in given if name not in FIELDS and name not in BESIDE), None):
        raise CheckpointError(f"{quote(unknown)} is not a setting of a model: choose {', '.join(sorted(FIELDS))}")
    known = None if mapping is not None else recognise(weights.tensors, layout)
    ties: list[Tie] = []
    if mapping is not None:
        chosen = {}  # the mapping answers each
    guessed_places = mapping is None and known is None and layout is None
    if guessed_places:
        mapping, ties = infer_placements(weights.tensors, chosen)
    if unasked := [name for name in chosen if name not in {tie.place for tie in ties}]:
        raise CheckpointError(
            f"which tensor is {unasked[0]} is not a question for this file: give a corrected --map instead"
        )
    asked = [Setting(tie.place, tie.chosen, "given" if tie.chosen else "open", tie.options) for tie in ties]
    open_ties = [tie for tie in ties if tie.chosen is None]
    if known is None and not mapping:
        first = quote(next(iter(weights.tensors)))
        if layout is not None:
            raise CheckpointError(f"the file's tensors have the names of another layout than {layout}, such as {first}")
        raise CheckpointError(
            f"no transformer is found among the file's {count_of(len(weights.tensors), 'tensor')}, such as {first}:"
            " give a file with all the weights of one"
        )
    placing: dict[str, Placement] = dict(known.mapping if known is not None else mapping or {})
    words = known.layout if known is not None else None
    beside: list[Setting] = []
    if (
        words is not None
        and words.swaps_stack
        and not any(to.startswith("decoder.") for place in placing.values() for to in place.to)
    ):
        beside = [_beside("causal", given, measured, usual=False)]
        placing = to_decoder(placing) if beside[0].value else placing
    fused = [name for name, place in placing.items() if len(place.to) == 3]
    if fused and (known is not None or guessed_places):
        named = "kqv" if any("kqv" in name.lower() for name in fused) else "qkv"
        order = _beside("qkv_order", given, measured, usual=named, known=words is not None)
        beside.append(order)
        placing = order_fused(placing, str(order.value))
    explained = {name: place for name, place in placing.items() if name in weights.tensors}
    without = [name for name in weights.tensors if name not in explained]
    ignored = match_patterns(ignore, without)
    if words is not None and words.swaps_stack:
        left = {name for names in ignored.values() for name in names}
        explained |= unnamed_output([name for name in without if name not in left], weights.tensors, explained)
        without = [name for name in without if name not in explained]
    left = {name for names in ignored.values() for name in names}
    unused = tuple(name for name in without if name not in left)
    explained |= {name: Placement((), "ignored") for name in without if name in left}
    wrong = unmatched(ignored, without, "that have no place")
    begun = Plan(
        weights=weights,
        layout=words,
        mapping=explained,
        settings=(),
        config=None,
        ignored=ignored,
        unused=unused,
        left_out=_left_out(explained, weights.tensors, known),
        problems=() if wrong is None else (wrong,),
    )
    try:
        explained, buffer_words = _without_tied(explained, weights.tensors)
        shapes = place_shapes(explained, weights.tensors)
        settings = _settings(shapes, explained, weights, words, given, measured, buffer_words) + beside + asked
        settings += _rotary_pairs(settings, weights, given, measured)
    except CheckpointError as error:
        problems = (*begun.problems, *(map(_of_tie, open_ties) if open_ties else (str(error),)))
        return replace(begun, mapping=explained, settings=tuple(asked), problems=problems)
    problems = (*begun.problems, *map(_of_tie, open_ties))
    plan = replace(begun, mapping=explained, settings=tuple(settings), problems=problems)
    return _checked(replace(plan, notes=_notes(plan, shapes)), shapes)


_PLACE = re.compile(r"output\.weight|(encoder|decoder)\.[a-z_.]+")


def is_place(name: str) -> bool:
    """Whether an answer names the tensor for a place, rather than a setting."""
    return _PLACE.fullmatch(name) is not None


def _of_tie(tie: Tie) -> str:
    """Question about a tie, with the shell option that answers it."""
    options = " or ".join(map(quote, tie.options[:4])) + (" or another" if len(tie.options) > 4 else "")
    return f"names and shapes do not tell which is {tie.place}, {options}: say it with --set {tie.place}=NAME"


def _left_out(mapping: Mapped, tensors: Mapping[str, Stored], known: Recognised | None) -> tuple[str, ...]:
    """Tensors left out only by a person: not known buffers, tied embeddings or computed position tables."""
    ignored = [name for name, place in mapping.items() if place.how == "ignored"]
    if not ignored:
        return ()
    layout = known or recognise(tensors)
    buffers = set() if layout is None else {name for name, place in layout.mapping.items() if place.how == "ignored"}
    tables = [tensors[name] for name, place in mapping.items() if any(_TOKENS in to for to in place.to)]
    return tuple(
        name
        for name in ignored
        if name not in buffers
        and not any(same_numbers(tensors[name], table) for table in tables)
        and _word_of_table(tensors[name]) is None
    )


def _beside(
    name: str, given: Mapping[str, Any], measured: Mapping[str, Fitted], *, usual: Any, known: bool = False
) -> Setting:
    """A setting of BESIDE. known: the layout determines it."""
    if name in given:
        if given[name] not in OPTIONS[name]:
            raise CheckpointError(f"{name}={quote(given[name])}: choose {', '.join(map(str, OPTIONS[name]))}")
        return Setting(name, given[name], "given", OPTIONS[name])
    if name in measured:
        return Setting(name, measured[name].value, measured[name].origin, OPTIONS[name])
    return Setting(name, usual, "from the layout" if known else "usual answer", OPTIONS[name])


def _rotary_pairs(
    settings: Sequence[Setting], weights: Weights, given: Mapping[str, Any], measured: Mapping[str, Fitted]
) -> list[Setting]:
    """Pairing of rotary features, which no file reveals."""
    positions = next((each.value for each in settings if each.name == "positions"), None)
    if positions != "rotary":
        return []
    usual = "halves" if any("inv_freq" in name for name in weights.positions) else "neighbours"
    return [_beside("rotary_pairs", given, measured, usual=usual)]


def _notes(plan: Plan, shapes: Shapes) -> tuple[str, ...]:
    """Unusual features: a missing final norm, norms without an offset."""
    notes = []
    stacks = [stack for stack in ("encoder", "decoder") if f"{stack}.layers.0.feed_forward.to_hidden.weight" in shapes]
    lacking = [stack for stack in stacks if f"{stack}.norm.gain" not in shapes]
    if plan.layout is not None and plan.layout.ends_in_norm and lacking:
        notes.append(
            f"{plan.layout.title} has a norm after the last layer, and this file has none for the {lacking[0]}: the"
            " stream goes to the output as it is"
        )
    positions = next((each for each in plan.settings if each.name == "positions"), None)
    learned = plan.layout is not None and plan.layout.known.get("positions") == "learned"
    if plan.layout is not None and learned and positions is not None and positions.asked:
        notes.append(
            f"{plan.layout.title} has a trained table of positions, and this file has none: its positions have to"
            " be set separately"
        )
    gains = [name for name in shapes if name.endswith("norm.gain")]
    if gains and not any(name.endswith("norm.offset") for name in shapes):
        notes.append("its norms have no offset, as RMS norms have none: they are read as layer norms without one")
    return tuple(notes)


_TOKENS = ".embedding.token."


def _without_tied(mapping: Mapped, tensors: Mapping[str, Stored]) -> tuple[dict[str, Placement], dict[str, Any]]:
    """The mapping without an output tied to the embedding (stored once or twice), and the resulting settings."""
    by_target = {place.to[0]: name for name, place in mapping.items() if len(place.to) == 1}
    output = by_target.get("output.weight")
    words: dict[str, Any] = {}
    result = dict(mapping)
    stack = "decoder" if "decoder.embedding.token.weight" in by_target else "encoder"
    table = by_target.get(f"{stack}.embedding.token.weight")
    if table is None and output is not None:
        raise CheckpointError("no tensor of the file is placed as the embedding of tokens: say which one it is")
    if output is None:
        words["tied_output"] = stack == "decoder"
    elif table is not None and same_numbers(tensors[output], tensors[table]):
        result[output] = Placement((), "ignored")
        words["tied_output"] = True
    else:
        words["tied_output"] = False
    return result, words


def _settings(
    shapes: Shapes,
    mapping: Mapped,
    weights: Weights,
    layout: Layout | None,
    given: Mapping[str, Any],
    measured: Mapping[str, Fitted],
    tied: Mapping[str, Any],
) -> list[Setting]:
    read = {**_sizes(shapes), **tied, **_positions(shapes, mapping, weights)}
    if read["target_vocab_size"] is None and tied["tied_output"]:
        read["target_vocab_size"] = read["source_vocab_size"]  # an encoder-only model whose output is its embedding
    if numbers := {place.number for place in mapping.values() if place.how == "head"}:
        read["n_heads"] = len(numbers)
    read |= _from_values(weights.values, read)
    known = {} if layout is None else {**layout.known, **layout.refine(weights.tensors)}
    presets = (*PAPER, *GPT2) if layout is None else layout.presets
    preset = next((p for p in presets if (p.d_model, p.d_ff) == (read["d_model"], read["d_ff"])), None)
    if known.get("positions") == "learned":  # the file would contain the table: else ask
        del known["positions"]
    usual: dict[str, Any] = {
        "n_heads": _usual_heads(read["d_model"]) if preset is None else preset.n_heads,
        "norm": "pre" if read["final_norm"] else "post",
        "activation": "relu",
        "embedding_scale": "one",
        "divisor": "sqrt-head-dim",
        "positions": "sinusoidal" if read["d_model"] % 2 == 0 else "none",
        "max_source": USUAL_LENGTH,
        "max_target": USUAL_LENGTH,
        "norm_epsilon": 1e-5,
        "mask_fill": "zero-rows",
        **({} if layout is None else layout.usual),
    }
    if _gives_labels(read):
        usual["pooling"] = "none"
    if (pad := {**usual, **known, **read, **given}.get("pad_to")) is not None:  # nothing longer is read
        known |= {"max_source": pad, "max_target": pad}
    found: list[Setting] = []
    for name in FIELDS:
        if name in given:
            found.append(Setting(name, given[name], "given", _options(name, read)))
        elif name in read:
            found.append(Setting(name, read[name], "from the file"))
        elif name in measured and (name in usual or name in known):
            found.append(Setting(name, measured[name].value, measured[name].origin, _options(name, read)))
        elif name in known and _applies(name, read):
            found.append(Setting(name, known[name], "from the layout", _options(name, read)))
        elif name == "n_heads":
            why = "" if preset is None else f"{preset.name} has these sizes and {count_of(preset.n_heads, 'head')}"
            origin: Origin = "open" if preset is None else "usual answer"
            found.append(Setting(name, usual[name], origin, _options(name, read), why))
        elif name == "pooling" and name in usual:
            found.append(Setting(name, usual[name], "open", _options(name, read)))
        elif name in usual and _applies(name, read):
            found.append(Setting(name, usual[name], "usual answer", _options(name, read)))
    return found


def _gives_labels(read: Mapping[str, Any]) -> bool:
    """Whether an encoder-only model's output has a different number of rows than its vocabulary."""
    rows = read["target_vocab_size"]
    return not read["decoder_layers"] and rows is not None and rows != read["source_vocab_size"]


def _applies(name: str, read: Mapping[str, Any]) -> bool:
    if name in ("max_source", "source_pad", "encoder_final_norm"):
        return bool(read["encoder_layers"])
    return bool(read["decoder_layers"]) if name in ("max_target", "target_pad") else True


def _options(name: str, read: Mapping[str, Any]) -> tuple[Any, ...]:
    d_model = read["d_model"]
    if name == "n_heads":
        return tuple(n for n in range(1, min(d_model, 64) + 1) if d_model % n == 0)
    if name == "positions":
        return tuple(word for word, each in ENCODINGS.items() if not each.trained)
    return OPTIONS.get(name, ())


def _usual_heads(d_model: int) -> int:
    """Initial guess of the heads: 64 features each, as in the paper; else the most of 8, 6, 4, 2 that fit."""
    if d_model >= 256 and d_model % 64 == 0:
        return d_model // 64
    return next((n for n in (8, 6, 4, 2) if d_model % n == 0 and d_model // n >= 4), 1)


def _layers(shapes: Shapes, stack: str) -> int:
    numbers = {int(match[1]) for name in shapes if (match := re.match(rf"{stack}\.layers\.(\d+)\.", name))}
    if numbers and numbers != set(range(len(numbers))):
        raise CheckpointError(
            f"layer {min(set(range(len(numbers))) - numbers)} of the {stack} is missing: give all files of the model"
        )
    return len(numbers)


def _sizes(shapes: Shapes) -> dict[str, Any]:
    """Sizes that follow from the shapes."""
    encoder, decoder = _layers(shapes, "encoder"), _layers(shapes, "decoder")
    if not encoder and not decoder:
        raise CheckpointError("no layer with an attention was found among the tensors")
    tables = {
        side: shapes.get(f"{stack}.embedding.token.weight")
        for side, stack in (("source", "encoder"), ("target", "decoder"))
    }
    stack = "encoder" if encoder else "decoder"
    hidden = shapes.get(f"{stack}.layers.0.feed_forward.to_hidden.weight")
    table = tables["source"] if encoder else tables["target"]
    if table is None or len(table) != 2:
        raise CheckpointError(
            f"no tensor of the file is placed as the {stack}'s embedding of tokens: say which one it is"
        )
    if hidden is None or len(hidden) != 2:
        raise CheckpointError(
            "no tensor of the file is placed as the first map of the feed-forward: say which one it is"
        )
    if any(".cross_attention." in name for name in shapes) and not encoder:
        raise CheckpointError(
            "the decoder reads an encoder that the file does not hold: give the file of the whole model"
        )
    output = shapes.get("output.weight")
    target = tables["target"][0] if tables["target"] else None if output is None else output[0]
    norms = {name.split(".")[0] for name in shapes if re.fullmatch(r"(encoder|decoder)\.norm\.gain", name)}
    if encoder and decoder and len(norms) == 1:
        raise CheckpointError(f"only the {norms.pop()} has a norm after its last layer: models here have both or none")
    return {
        "source_vocab_size": table[0] if encoder else None,
        "target_vocab_size": target,
        "encoder_layers": encoder,
        "decoder_layers": decoder,
        "d_model": table[1],
        "d_ff": hidden[0],
        "final_norm": bool(norms),
        "attention_bias": any(re.search(r"_attention\.to_\w+\.bias$", name) for name in shapes),
        "ffn_bias": any(re.search(r"feed_forward\.to_\w+\.bias$", name) for name in shapes),
        "output_bias": "output.bias" in shapes,
        **({"embedding_scale": "learned"} if any(name.endswith("embedding.scale") for name in shapes) else {}),
        **({"divisor": "learned"} if any(name.endswith("_attention.divisor") for name in shapes) else {}),
    }


def _positions(shapes: Shapes, mapping: Mapped, weights: Weights) -> dict[str, Any]:
    """Positional encoding according to its tables: trained, computed by a formula, rotary or ALiBi.

    Raises CheckpointError for tables that differ from ours.
    """
    in_attention = _in_attention(weights)
    lengths = {
        limit: shapes[f"{stack}.embedding.position.table"][0]
        for limit, stack in (("max_source", "encoder"), ("max_target", "decoder"))
        if f"{stack}.embedding.position.table" in shapes
    }
    if lengths and in_attention:
        raise CheckpointError(
            f"the file has a trained table of positions, and {quote(next(iter(weights.positions)))} says that"
            f" attention has {in_attention['positions']} ones too: a model with both is not read here"
        )
    if lengths:
        return {"positions": "learned", **lengths}
    if in_attention:
        if "head_dim" in in_attention and (size := _sizes(shapes)["d_model"]) % in_attention["head_dim"] == 0:
            in_attention["n_heads"] = size // in_attention["head_dim"]
        return {name: value for name, value in in_attention.items() if name != "head_dim"}
    stored = [weights.tensors[name] for name, place in mapping.items() if place.how == "ignored"]
    found = [(word, flat(table.shape)[0]) for table in stored if (word := _word_of_table(table)) is not None]
    if len({word for word, _ in found}) != 1:
        return {}
    length = min(length for _, length in found)
    return {"positions": found[0][0], "max_source": length, "max_target": length}


def _word_of_table(table: Stored) -> str | None:
    """Name of the formula that a stored table follows, or None."""
    shape = flat(table.shape)
    if len(shape) != 2 or not table.dtype.is_floating_point or min(shape) < 2:
        return None
    numbers = table.read().squeeze().float()
    for word, encoding in ENCODINGS.items():
        if encoding.computed and numbers.size(1) % 2 == 0 and numbers.size(1) >= 4:
            made = encoding.table(len(numbers), numbers.size(1))
            if (made - numbers).abs().max() < 2e-3:  # large angles in float32 are less exact than ours from float64
                return word
    return None


def _in_attention(weights: Weights) -> dict[str, Any]:
    """Rotary or ALiBi settings according to tensor names and numbers: the encoding, and the heads.

    Raises CheckpointError for both together, and for numbers that differ from ours.
    """
    words = {word: [n for n in weights.positions if pattern.search(n)] for word, pattern in POSITIONS.items()}
    words = {word: names for word, names in words.items() if names}
    if not words:
        return {}
    if len(words) > 1:
        both = " and ".join(quote(names[0]) for names in words.values())
        raise CheckpointError(f"{both} say that positions are rotary and ALiBi at once: such a model is not read here")
    ((word, names),) = words.items()
    told: dict[str, Any] = {"positions": word}
    for name in names:
        numbers = weights.positions[name].read().squeeze()
        if word == "rotary" and numbers.is_complex() and numbers.dim() == 2 and len(numbers) > 1:
            numbers = numbers[1].angle()
        elif numbers.dim() != 1 or not numbers.is_floating_point() or len(numbers) < 2:
            continue
        length = len(numbers)
        made = ROTARY_BASE ** -(torch.arange(length) / length) if word == "rotary" else alibi_slopes(length)
        if not torch.allclose(numbers.float().abs(), torch.as_tensor(made).float(), rtol=5e-3, atol=1e-6):
            kind = "frequencies" if word == "rotary" else "slopes"
            raise CheckpointError(
                f"{quote(name)} has other {kind} than {word} positions have here, so this model is not read"
            )
        told |= {"head_dim": 2 * length} if word == "rotary" else {"n_heads": length}
    return told


_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu", "gelu_new": "gelu-tanh"}


def _from_values(values: Mapping[str, Any], read: Mapping[str, Any]) -> dict[str, Any]:
    """Settings stored next to the weights as plain values, under a usual name."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        last = name.rsplit(".", 1)[-1]
        if HEADS.search(name) and type(value) is int and value > 0 and read["d_model"] % value == 0:
            found.setdefault("n_heads", value)
        elif last in ("activation", "activation_fn", "hidden_act", "pos_ffn_activation_fn") and value in _ACTIVATIONS:
            found.setdefault("activation", _ACTIVATIONS[value])
        elif last in ("norm_first", "encoder_normalize_before", "pre_norm", "prenorm") and isinstance(value, bool):
            found.setdefault("norm", "pre" if value else "post")
        elif last == "layer_norm_eps" and isinstance(value, float) and 0 < value < 1:
            found.setdefault("norm_epsilon", value)
        elif last == "dropout" and type(value) in (int, float) and 0 <= value < 1:
            found.setdefault("dropout", float(value))
    return {name: value for name, value in found.items() if name not in read}


def _checked(plan: Plan, shapes: Shapes) -> Plan:
    """The plan with its config and the problems found."""
    values = {each.name: each.value for each in plan.settings if each.name in FIELDS}
    try:
        config = ModelConfig.from_dict(values)
    except (ValueError, TypeError) as error:
        return replace(plan, problems=(*plan.problems, str(error)))
    expected = expected_shapes(config)
    zeros = tuple(name for name in expected if name not in shapes and name.endswith((".bias", ".offset")))
    missing = tuple(name for name in expected if name not in shapes and name not in zeros)
    wrong = {
        name: (shapes[name], expected[name]) for name in shapes if name in expected and shapes[name] != expected[name]
    }
    extra = tuple(name for name in shapes if name not in expected)
    problems = []
    if extra_maps := gated(plan.unused):
        problems.append(
            f"{quote(extra_maps)} makes this a gated feed-forward (three matrices), for which the config has no word"
        )
    if plan.unused and not plan.problems:
        problems.append(
            f"{count_of(len(plan.unused), 'tensor')} of the file would not be used, such as {quote(plan.unused[0])}"
        )
    if missing and not plan.problems:
        problems.append(f"{count_of(len(missing), 'tensor')} of the model would be missing, such as {missing[0]}")
    if wrong:
        name, (found, wanted) = next(iter(wrong.items()))
        problems.append(f"{name} has the shape {list(found)} in the file, the settings ask for {list(wanted)}")
    if extra:
        problems.append(f"{extra[0]} has no place in the model that the settings describe")
    return replace(plan, config=config, missing=missing, wrong=wrong, zeros=zeros, problems=(*plan.problems, *problems))
