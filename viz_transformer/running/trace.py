"""The frozen record of one run: its points by name and its tokens, saved to one file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import orjson
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from viz_transformer import declared
from viz_transformer.checkpoint.grading import Standing, read_standing
from viz_transformer.checkpoint.saved_traces import TraceHeader
from viz_transformer.checkpoint.untrusted import (
    LONGEST_HEADER,
    MAX_VALUES,
    TooMuch,
    check_header,
    json_values,
    regular_size,
)
from viz_transformer.checkpoint.weights import save_tensors, write_tensors
from viz_transformer.checkpoint.writing import replace_file
from viz_transformer.given import PATH, shown, takes
from viz_transformer.model.attention import DIVISORS, attention_scores, split_heads
from viz_transformer.model.config import MAX_LAYERS, ModelConfig
from viz_transformer.model.described import DESCRIBED, LONGEST_TEXT, spec_from_dict, spec_to_dict
from viz_transformer.model.hooked_model import HookedModel, ModelSpec, Unavailable, spec_of
from viz_transformer.model.kinds import stacks_of
from viz_transformer.model.layers import EMBEDDING_SCALES
from viz_transformer.model.masks import LOWEST_ADDED, MASK_FILLS
from viz_transformer.model.points import unknown_point
from viz_transformer.model.watched import (
    MODULES,
    WATCHED,
    dump_watched_spec,
    made_in,
    parse_watched_spec,
    place_of,
    rows_in_words,
    shape_problem,
    sites_of,
)
from viz_transformer.renamed import Renamed
from viz_transformer.running.edits import Edit, check_edits, edit_from_dict
from viz_transformer.running.lazy_activations import LazyActivations
from viz_transformer.sentences import put_on_one_line, quote, shorten

FORMAT_VERSION = 1
OF_STEPS = "each step's own"  # info["rows"] of a trace whose rows come from many passes
_METADATA_KEY = "viz_transformer"
_OUTPUT_MAP = "parameter.{}.to_out.weight"  # W_O of an attention, [D, D]: contributions are computed from it


@dataclass(frozen=True)
class Tokens:
    """One side of a run: ids, vocabulary names and original texts, equally long."""

    ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()
    originals: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __add__(self, later: Tokens) -> Tokens:
        return Tokens(self.ids + later.ids, self.tokens + later.tokens, self.originals + later.originals)

    def without_last(self) -> Tokens:
        return Tokens(self.ids[:-1], self.tokens[:-1], self.originals[:-1])


def tokens_of_names(names: Sequence[str]) -> Tokens:
    """Tokens of a text of which only the names are known; ids are positions."""
    return Tokens(tuple(range(len(names))), tuple(names), tuple(names))


def next_of(target: Tokens) -> tuple[tuple[int | None, ...], tuple[str | None, ...]]:
    """What each row of a given target writes: the next token; None for the last row."""
    return ((*target.ids[1:], None), (*target.tokens[1:], None)) if len(target) else ((), ())


@dataclass(frozen=True, eq=False)
class Trace:
    """Everything that one run recorded, frozen.

    `trace["decoder.1.cross.weights"]` is a tensor on the CPU, without gradient, float32 (masks Boolean), batch first:
    the record itself, so do not modify it. Decoder row t reads tgt_tokens[t] and writes next_tokens[t], which is None
    for the last row of ids given as the target. With a `non_causal_reason`, rows depend on later tokens: a decode's
    trace is then its last pass, and `Run.per_step_rows` has the rows that wrote the tokens.
    """

    values: Mapping[str, Tensor] = field(repr=False)
    spec: ModelSpec = field(repr=False)
    checkpoint: str
    weights_sha256: str
    src: Tokens
    tgt: Tokens
    next_ids: tuple[int | None, ...]
    next_tokens: tuple[str | None, ...]
    edits: tuple[Edit, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    output_maps: Mapping[str, Tensor] = field(default_factory=dict, repr=False)
    scalars: Mapping[str, float] = field(default_factory=dict, repr=False)  # as in `HookedModel.scalars`

    @property
    def config(self) -> ModelConfig:
        """The config of our own Transformer. Raises Unavailable for another model."""
        return self.spec.own

    @property
    def src_ids(self) -> tuple[int, ...]:
        return self.src.ids

    @property
    def src_tokens(self) -> tuple[str, ...]:
        return self.src.tokens

    @property
    def src_originals(self) -> tuple[str, ...]:
        return self.src.originals

    @property
    def tgt_ids(self) -> tuple[int, ...]:
        return self.tgt.ids

    @property
    def tgt_tokens(self) -> tuple[str, ...]:
        return self.tgt.tokens

    @property
    def tgt_originals(self) -> tuple[str, ...]:
        return self.tgt.originals

    @property
    def notes(self) -> tuple[str, ...]:
        """For a watched module, a line per attention: its module, heads and row sums, or why it was not recorded."""
        return tuple(map(self._note, sites_of(self.spec))) if is_watched(self) else ()

    def _note(self, site: str) -> str:
        if site in self.spec.unseen:
            return f"{place_of(self.spec, site)}: not seen, {self.spec.unseen[site]}"
        heads = self.spec.attentions[site].query
        meaning = self.spec.point[f"{site}.weights"].meaning
        how = meaning.removesuffix(made_in(self.spec.modules.get(site, "")))
        said = f"{place_of(self.spec, site)}: {heads} head{'s' if heads > 1 else ''}, {how}"
        rows = rows_in_words(self[f"{site}.weights"].numpy())
        return f"{said}; {rows}" if rows else said

    def __repr__(self) -> str:
        if is_watched(self):
            words = shorten(" ".join((self.src if len(self.src) else self.tgt).tokens), 60)
            return "\n  ".join((f"Trace of {self.checkpoint} over {words!r}", *self.notes))
        return f"Trace({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in fields(self) if each.repr)})"

    @property
    def is_kept_whole(self) -> bool:
        """Whether all points are stored; a run too large for that recomputes some on demand."""
        return not isinstance(self.values, LazyActivations)

    @property
    def non_causal_reason(self) -> str | None:
        """Why a decoder row depends on later tokens; None if it does not."""
        because = self.info.get("reads_ahead")
        if not isinstance(because, str):  # an old trace without the reason
            return "later tokens change earlier rows of this model" if self.info.get("causal") is False else None
        return because

    reads_ahead = Renamed("non_causal_reason")
    anatomy = Renamed("spec")

    @property
    def is_per_step(self) -> bool:
        """Whether each row comes from the pass that wrote its token, as in `Run.per_step_rows`."""
        return self.info.get("rows") == OF_STEPS

    @property
    def standing(self) -> Standing | None:
        """Evidence, when the run was made, that its model is read correctly; None if nothing was guessed."""
        stated = self.info.get("standing")
        return read_standing(stated) if isinstance(stated, dict) else None

    @property
    def called(self) -> str:
        """The model's name and, if there is one, its standing, for captions."""
        return self.checkpoint if self.standing is None else f"{self.checkpoint}, {self.standing.words}"

    @property
    def row_source(self) -> str:
        """Caption on which pass decoder rows come from; "" if that makes no difference."""
        if self.non_causal_reason is None:
            return ""
        if "written" not in self.info:
            return "rows of one pass over the whole text"
        return "each row of its own step" if self.is_per_step else "rows of the last pass"

    def __getitem__(self, name: str) -> Tensor:
        """A recorded or derived point. Raises KeyError with near matches, or with the reason why the model lacks it."""
        if not isinstance(name, str):
            raise KeyError(f"{shown(name)} is not the name of a point: trace.points() lists them")
        if name in self.values:
            return self.values[name]
        if name in self._derived:
            return self._derive(name)
        if self.is_per_step and name in self.spec.point:
            raise KeyError(f"{name!r} of each step was not kept, only attention weights and logits: see the last pass")
        raise KeyError(self.spec.missing.get(name) or unknown_point(name, self.points(derived=True)))

    def __contains__(self, name: object) -> bool:
        return name in self.values or name in self._derived

    def points(self, *, derived: bool = False) -> tuple[str, ...]:
        """Names of the recorded points in forward order; with `derived`, also those computed on demand."""
        return (*self.values, *self._derived) if derived else tuple(self.values)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a point, without recomputing it. Raises KeyError as `[]` does."""
        return (
            self.values.shape(name)
            if isinstance(self.values, LazyActivations) and name in self.values
            else (*self[name].shape,)
        )

    @cached_property
    def id(self) -> str:
        """Id of the run: equal for equal weights, tokens, edits and dropout seed; different for per-step rows."""
        edits = [edit.to_dict() for edit in self.edits]
        parts = [self.weights_sha256, self.src_ids, self.tgt_ids, edits, self.info.get("seed")]
        parts += [OF_STEPS] if self.is_per_step else []
        parts += [self.spec.precision] if self.spec.rounding else []
        config = self.spec.config
        if config is not None and config.encoding.in_attention:  # adds no parameter that would change the digest
            parts.append(config.positions)
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]

    @cached_property
    def _derived(self) -> tuple[str, ...]:
        names, derived = [], [point.name for point in self.spec.derived]
        for site in self.spec.attentions:
            if f"{site}.query" not in self.values:
                continue
            if f"{site}.weights" not in self.values:  # a long attention ran fused
                names.append(f"{site}.weights")
            names += [name for name in derived if name.startswith(f"{site}.")]
        return tuple(names)

    def _derive(self, name: str, heads: slice = slice(None)) -> Tensor:
        """Compute a point, for all or some heads, from recorded ones with the model's own functions."""
        site, what = name.rsplit(".", 1)
        if what == "contribution":
            head_out = self.values[f"{site}.head_out"]  # [B, H, Q, E]
            by_head = split_heads(self.output_maps[site][None].float(), head_out.size(1))  # [1, H, D, E]: W_O's columns
            return head_out[:, heads] @ by_head[:, heads].transpose(-2, -1)
        if what == "weights" and len(range(self.values[f"{site}.query"].size(1))[heads]) > 1:
            return self._head_by_head(name, heads)
        divisor = self.scalars[f"{site}.divisor"]
        query, key, bias = (self.values.get(f"{site}.{part}") for part in ("query", "key", "bias"))
        assert query is not None and key is not None
        shared = query.size(1) // key.size(1)  # heads that share a key
        asked = [head // shared for head in range(query.size(1))[heads]]
        key = key if shared == 1 and heads == slice(None) else key[:, asked]
        scores = attention_scores(query[:, heads], key, divisor, _of_heads(bias, heads))
        if what == "scores":
            return scores
        fill = MASK_FILLS[self.spec.config.mask_fill] if self.spec.config is not None else LOWEST_ADDED
        return fill(scores, _of_heads(self.values[f"{site}.mask"], heads))

    def _head_by_head(self, name: str, heads: slice) -> Tensor:
        """Weights of some heads in one tensor, computed one head at a time to save memory."""
        site = name.rpartition(".")[0]
        query, key = self.values[f"{site}.query"], self.values[f"{site}.key"]
        wanted = range(query.size(1))[heads]
        made = query.new_empty(query.size(0), len(wanted), query.size(2), key.size(2))
        for place, head in enumerate(wanted):
            made[:, place] = self.of_head(name, head)
        return made

    def of_head(self, name: str, head: int) -> Tensor:
        """One head [B, ...] of a point that has a head axis; computes no other head of a derived point.

        Raises KeyError as `[]` does, and IndexError for an unknown head.
        """
        if name in self.values or name not in self._derived:
            return self[name][:, head]
        count = self.spec.attentions[name.rpartition(".")[0]].query
        head = range(count)[head]
        return self._derive(name, slice(head, head + 1))[:, 0]

    def diff(self, other: Trace) -> dict[str, float]:
        """Largest absolute difference of each recorded point that both traces have in the same shape.

        Masks count as 0 and 1; NaN in only one of them counts as infinity. Raises ValueError if they share no point.
        """
        shared = [n for n in self.values if n in other.values and self.shape(n) == other.shape(n)]
        if not shared:
            raise ValueError("the two traces have no point of the same name and shape: compare runs of one model")
        differences = {}
        for name in shared:
            gap = (self[name].double() - other[name].double()).abs()
            differences[name] = float(gap.nan_to_num(nan=torch.inf).max()) if gap.numel() else 0.0
        return differences

    @takes(path=PATH)
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one safetensors file atomically. Raises OutputError if it cannot be written.

        Raises ValueError for a trace with too many tokens or edited numbers to be opened again.
        """
        model: dict[str, Any] = {}
        if is_watched(self):
            model = {WATCHED: dump_watched_spec(self.spec)}
        elif self.spec.config is None:
            model = {DESCRIBED: spec_to_dict(self.spec)}
        elif self.spec.labels != spec_of(self.spec.config).labels:  # default labels are numbers
            model = {"labels": list(self.spec.labels)}
        about = {
            "format_version": FORMAT_VERSION,
            "config": None if self.spec.config is None else self.spec.config.to_dict(),
            **model,
            "checkpoint": self.checkpoint,
            "weights_sha256": self.weights_sha256,
            "src": [self.src.ids, self.src.tokens, self.src.originals],
            "tgt": [self.tgt.ids, self.tgt.tokens, self.tgt.originals],
            "next_ids": self.next_ids,
            "next_tokens": self.next_tokens,
            "edits": [edit.to_dict() for edit in self.edits],
            "info": dict(self.info),
            "points": list(self.values),
            "scalars": dict(self.scalars),
        }
        described = orjson.dumps(about)
        if len(described) > LONGEST_HEADER // 2 or json_values(described) > MAX_VALUES // 2:  # symbols get escaped
            raise ValueError("this trace has more tokens, or edits with more numbers, than a file of one may have")
        metadata = {_METADATA_KEY: described.decode()}
        maps = {_OUTPUT_MAP.format(site): weight for site, weight in self.output_maps.items()}
        if isinstance(self.values, LazyActivations):
            mask = {name: torch.bool if name.endswith(".mask") else torch.float32 for name in self.values}
            kinds = {name: (mask[name], self.shape(name)) for name in self.values}
            kinds |= {name: (weight.dtype, tuple(weight.shape)) for name, weight in maps.items()}
            make = lambda name: maps[name] if name in maps else self.values[name]  # noqa: E731
            replace_file(path, lambda new: write_tensors(new, kinds, make, metadata))
            return
        tensors = {
            name: value.detach().clone(memory_format=torch.contiguous_format)
            for name, value in (*self.values.items(), *maps.items())
        }
        replace_file(path, lambda new: save_tensors(tensors, new, metadata))

    @classmethod
    @takes(path=PATH)
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace written by `save`. Raises ValueError with one sentence for anything else.

        Everything is checked before numbers are read, so memory is limited to the file's size plus 256 MiB.
        """
        path = Path(path)
        regular_size(path)
        try:
            check_header(path)
            with safe_open(path, framework="pt") as file:
                about = orjson.loads((file.metadata() or {}).get(_METADATA_KEY, "null"))
                if not isinstance(about, dict):
                    raise _NoTrace(f"{path} is a safetensors file, but not a trace: save one with trace.save(file)")
                if about.get("format_version") != FORMAT_VERSION:
                    raise _NoTrace(
                        f"{path} has trace format {quote(about.get('format_version'))}, this version reads"
                        f" {FORMAT_VERSION}: open it with the version of Viz Transformer that wrote it"
                    )
                header = declared.read(TraceHeader, about)
                src, tgt = Tokens(*header.src), Tokens(*header.tgt)
                spec = _spec(header, len(src), len(tgt))
                if len(set(header.points)) < len(header.points):
                    raise _NoTrace(f"{path} is not a whole trace: it names a point twice")
                stored = set(file.keys())
                maps = {site: name for site in spec.attentions if (name := _OUTPUT_MAP.format(site)) in stored}
                empty = cls(
                    values={name: _shape_of(file.get_slice(name)) for name in header.points},
                    spec=spec,
                    checkpoint=header.checkpoint,
                    weights_sha256=header.weights_sha256,
                    src=src,
                    tgt=tgt,
                    next_ids=header.next_ids,
                    next_tokens=header.next_tokens,
                    edits=tuple(map(edit_from_dict, header.edits)),
                    info=header.info,
                    output_maps={site: _shape_of(file.get_slice(name)) for site, name in maps.items()},
                    scalars=header.scalars or _constant_scalars(spec),
                )
                check_edits(empty.edits, spec)
                if problem := _problem(empty, watched=header.config is None and header.model is None):
                    raise _NoTrace(f"{path} is not a whole trace: {problem}")
                # copied to aligned memory, so that products are the same bit for bit
                return replace(
                    empty,
                    values={name: file.get_tensor(name).clone() for name in empty.values},
                    output_maps={site: file.get_tensor(name).clone() for site, name in maps.items()},
                )
        except _NoTrace:
            raise
        except TooMuch as error:
            raise ValueError(f"{path} is not read: {error}") from None
        except _UNREADABLE as error:
            why = put_on_one_line(str(error), 200)
            raise ValueError(f"{path} is not a whole trace ({why}): save it again with trace.save(file)") from None


_UNREADABLE = (
    *(SafetensorError, OSError, MemoryError, RuntimeError),  # MemoryError: torch maps the file
    *(ValueError, LookupError, TypeError, AttributeError),
)


class _NoTrace(ValueError):
    """An error whose sentence includes the file's name."""


def is_watched(trace: Trace) -> bool:
    """Whether it was recorded by `vt.watch`."""
    return trace.spec.config is None and trace.info.get("kind") == WATCHED


def trace_value(value: Tensor) -> Tensor:
    """A tensor as a Trace stores it: on the CPU, without gradient, float32 or Boolean."""
    value = value.detach().cpu()
    return value if value.dtype == torch.bool else value.float()


def trace_values(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return each_once(values, trace_value)


def each_once(values: Mapping[str, Tensor], make: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """Apply `make` to each point, once per distinct tensor.

    A tensor may have several names, such as a bias of all layers, or a layer's output and the next one's input.
    """
    made: dict[tuple[object, ...], Tensor] = {}
    found = {}
    for name, value in values.items():
        where = (value.data_ptr(), value.shape, value.stride(), value.dtype)
        if where not in made:
            made[where] = make(value)
        found[name] = made[where]
    return found


def output_maps(model: HookedModel) -> dict[str, Tensor]:
    """W_O [D, D] of each attention, by site, on the CPU, where known; not copied if already there."""
    maps = {}
    for site in model.spec.attentions:
        with suppress(Unavailable):
            maps[site] = model.parameters_of(site).out.weight.detach().cpu()
    return maps


def _of_heads(value: Any, heads: slice) -> Any:
    """These heads of a point [B, H or 1, Q, K]; None for None."""
    return value if value is None or value.size(1) == 1 else value[:, heads]


def _spec(header: TraceHeader, source: int, target: int) -> ModelSpec:
    """The spec of the model in a file. Raises ValueError with the reason."""
    if header.config is None and header.model is not None:
        return spec_from_dict(header.model)
    if header.config is None:
        return parse_watched_spec(header.watched, source=source, target=target)
    config = ModelConfig.from_dict(header.config)
    if max(config.encoder_layers, config.decoder_layers) > MAX_LAYERS:
        raise ValueError(f"its model has more than {MAX_LAYERS} layers in a stack")
    if header.labels and (config.has_decoder or len(header.labels) != config.target_vocab_size):
        raise ValueError("its labels are not names of what its model gives out")
    return spec_of(config, header.labels)


def _constant_scalars(spec: ModelSpec) -> dict[str, float]:
    """Scalars of an old trace, from before learned ones existed."""
    config = spec.config
    if config is None:
        return {}
    scale, divisor = EMBEDDING_SCALES[config.embedding_scale](config), DIVISORS[config.divisor](config)
    scalars = {f"{stack}.embed.scale": float(scale) for stack in stacks_of(config)}
    return scalars | {f"{site}.divisor": float(divisor) for site in spec.attentions}


def _shape_of(stored: Any) -> Tensor:
    """An empty tensor with the shape and dtype of a stored one."""
    dtype = _DTYPES.get(stored.get_dtype(), torch.complex64)  # a dtype that no point has
    return torch.empty(stored.get_shape(), dtype=dtype, device="meta")


_DTYPES = {"F32": torch.float32, "BOOL": torch.bool, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16}


def _problem(trace: Trace, *, watched: bool) -> str | None:
    """Error message for a trace that was read; None if consistent. watched: the file claims `watch` made it."""
    if not trace.values:
        return "it has no points"
    if watched:
        return _problem_of_watched(trace)
    if is_watched(trace):
        return "it is marked as a watched module, but describes more"
    if not _tokens_fit(trace):
        return "its tokens do not fit its model"
    known = {point.name for point in trace.spec.recorded}
    for name, value in trace.values.items():
        if name not in known:
            return f"it has a point {name!r:.80}, which a model of its config does not"
        shape = trace.spec.sizes(name, batch=1, source=len(trace.src), target=len(trace.tgt))
        shapes = [shape]
        if name.endswith(".mask"):  # one per head
            shapes.append((1, trace.spec.attentions[name.removesuffix(".mask")].query, *shape[2:]))
        kind = torch.bool if name.endswith(".mask") else torch.float32
        if tuple(value.shape) not in shapes or value.dtype != kind:
            return f"its point {name} is {value.dtype} {list(value.shape)}, and not {kind} {list(shape)}"
    return next(
        (f"{site} lacks the points that it is computed from" for site in trace.spec.attentions if _lacks(trace, site)),
        None,
    )


def _problem_of_watched(trace: Trace) -> str | None:
    """Error message for content that watching would not produce."""
    sides, has = (trace.src, trace.tgt), (trace.spec.has_encoder, trace.spec.has_decoder)
    named = all("" not in side.tokens and side == tokens_of_names(side.tokens) for side in sides)
    if not named or any(needs and not len(side) for side, needs in zip(sides, has, strict=True)):
        return "its tokens do not fit its attentions"
    ids, tokens = next_of(trace.tgt)
    follows = (trace.next_ids[:-1], trace.next_tokens[:-1]) == (ids[:-1], tokens[:-1])
    last = [*zip(trace.next_ids[-1:], trace.next_tokens[-1:], strict=True)]  # it may be known, and not read
    if not follows or any((each is None) != (token is None) or each not in (None, len(ids)) for each, token in last):
        return "what its rows write is not the next token"
    difference = trace.info.get("difference")
    if not is_watched(trace) or trace.info.keys() - {"kind", "difference"} or type(difference) not in (float, NoneType):
        return "what it says about its run is not what watching says"
    if set(trace.values) != {point.name for point in trace.spec.recorded} or trace.scalars:
        return "its points are not those that it describes"
    for name, value in trace.values.items():
        kind = torch.bool if name.endswith(".mask") and not name.startswith(MODULES) else torch.float32
        if value.dtype != kind:
            return f"its point {quote(name)} is {value.dtype}, and not {kind}"
        if problem := shape_problem(trace.spec, name, tuple(value.shape), source=len(trace.src), target=len(trace.tgt)):
            return problem
    return None


def _lacks(trace: Trace, site: str) -> bool:
    """Whether the trace lists derived points of this attention that cannot be computed."""
    if f"{site}.query" not in trace.values:
        return False
    heads, derived = trace.spec.attentions[site], trace.spec.point
    needs = {"mask"}  # weights that the run did not compute
    if f"{site}.scores" in derived or f"{site}.weights" not in trace.values:
        needs |= {"key", *(("bias",) if _is_biased(trace.spec, site) else ())}
        if f"{site}.divisor" not in trace.scalars:
            return True
    if f"{site}.contribution" in derived:
        needs.add("head_out")
        weight = trace.output_maps.get(site)
        mapped = (trace.spec.d_model, heads.query * heads.value_size)
        if weight is None or tuple(weight.shape) != mapped or not weight.is_floating_point():
            return True
    return not all(f"{site}.{part}" in trace.values for part in needs)


def _is_biased(spec: ModelSpec, site: str) -> bool:
    """Whether a bias is added to this attention's scores."""
    if spec.config is not None:
        return spec.config.encoding.biased and site.endswith(".self")
    return f"{site}.bias" in spec.point


def _tokens_fit(trace: Trace) -> bool:
    """Whether exactly the model's sides have tokens, with as many ids as names and originals."""
    if trace.spec.config is None and max(len(trace.src), len(trace.tgt)) > LONGEST_TEXT:
        return False
    has = (trace.spec.has_encoder, trace.spec.has_decoder)
    for side, expected in zip((trace.src, trace.tgt), has, strict=True):
        if bool(len(side)) != expected or not len(side.ids) == len(side.tokens) == len(side.originals):
            return False
    return len(trace.next_ids) == len(trace.next_tokens) == len(trace.tgt)
