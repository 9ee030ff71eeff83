"""Self-check of an opened model: one pass proves, bit for bit, that its parts are where the families table says.

Unproved points are removed from the spec with a reason; nothing is shown on an assumption.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from viz_transformer.checkpoint.files import TOO_LARGE, CheckpointError
from viz_transformer.huggingface.capture import MaskRuleRecorder
from viz_transformer.huggingface.families import LayerPlaces
from viz_transformer.huggingface.hooked_model import HuggingFaceModel
from viz_transformer.huggingface.windows import unproved_windows
from viz_transformer.model.attention import attention_scores
from viz_transformer.model.hook import PointEdit, Recorder
from viz_transformer.model.hooked_model import ModelSpec, Rows
from viz_transformer.model.kinds import StackName, stacks_of
from viz_transformer.model.positions import ENCODINGS, FORMULAS

LENGTH = 9
NOT_SEEN = "in a trial pass nothing stood at this place of the model"
NOT_THE_SUM = "in a trial pass the stream here was not what the sub-layer read plus what it gave out"
NOT_WHOLE = "in a trial pass a change here reached only a part of what reads it"
NOT_SCORES = "in a trial pass the weights did not follow from these scores"
NOT_WEIGHED = "in a trial pass the heads did not give out what these weights make of the values"
NOT_READ_ON = "in a trial pass the next layer read other vectors than this one gave out"
NOT_TURNED = "in a trial pass queries and keys were not as long as these, so it is not these that positions turn"
NOT_SHARES = "in a trial pass the output did not follow from these shares of the experts"
NOT_READ_OUT = "in a trial pass the output layer made other logits of the last layer than the model"


def _slack(model: HuggingFaceModel, usual: float, roundings: int = 1) -> float:
    """Relative tolerance for recomputing what the model rounded `roundings` times."""
    return usual + roundings * model.spec.rounding


def prove(model: HuggingFaceModel) -> ModelSpec:
    """The spec restricted to what a trial pass proves.

    Raises CheckpointError, a sentence that begins with the pass, if it shows no attention weights or its numbers are
    not finite.
    """
    spec, texts = model.spec, trial_texts(model.spec)
    recorder = MaskRuleRecorder()
    logits = model.whole(*texts, hook=recorder)
    values = recorder.values
    _check_finite({**values, "logits": logits})
    lacking = dict(_unseen(spec, values, texts))
    for site in spec.attentions:
        if f"{site}.weights" in lacking:
            raise CheckpointError(f"the attention {site} was not seen in a trial pass: {lacking[f'{site}.weights']}")
    lacking |= dict.fromkeys(_other_inputs(model, values), NOT_THE_SUM)
    lacking |= dict.fromkeys(_other_sums(model, values), NOT_THE_SUM)
    lacking |= dict.fromkeys(_not_read_on(model, values), NOT_READ_ON)
    lacking |= dict.fromkeys(_partial(model, texts, lacking), NOT_WHOLE)
    lacking |= dict.fromkeys(_other_scores(model, values), NOT_SCORES)
    lacking |= dict.fromkeys(_other_heads(model, values), NOT_WEIGHED)
    lacking |= dict.fromkeys(_not_turned(model, values), NOT_TURNED)
    lacking |= dict.fromkeys(_other_shares(model, texts, values), NOT_SHARES)
    if "logits" in spec.point and "read_out" not in spec.missing and not _reads_out(model, values, logits):
        lacking["read_out"] = NOT_READ_OUT
    windows = dict(unproved_windows(model, recorder))
    attentions = {
        site: replace(heads, window=None) if f"{site}.window" in windows else heads
        for site, heads in spec.attentions.items()
    }
    return replace(
        spec,
        attentions=attentions,
        positions=spec.positions or _formula(model, values),
        recorded=tuple(point for point in spec.recorded if point.name not in lacking),
        derived=tuple(point for point in spec.derived if point.name not in lacking),
        missing={**spec.missing, **lacking, **windows},
    )


def _check_finite(values: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError for the first point that is not finite; a bias may be minus infinity."""
    for name, value in values.items():
        ends = value.float().aminmax() if value.numel() and value.dtype != torch.bool else ()
        if any(map(math.isnan, ends)) or (not name.endswith((".bias", ".sink")) and any(map(math.isinf, ends))):
            raise CheckpointError(
                f"in a trial pass {name} holds NaN or infinite numbers: {TOO_LARGE}, so use weights from before the"
                " training went wrong"
            )


def trial_texts(spec: ModelSpec) -> tuple[Rows | None, Rows | None]:
    """Trial ids for each stack, without padding."""

    def ids(size: int | None, most: int) -> list[list[int]]:
        some = [i for i in range(min(size or 1, 4 * LENGTH)) if i != spec.source_pad] or [0]
        return [[some[(3 * place + 1) % len(some)] for place in range(min(LENGTH, most))]]

    source = ids(spec.source_vocab_size, spec.max_source) if spec.has_encoder else None
    return source, ids(spec.target_vocab_size, spec.max_target) if spec.has_decoder else None


def _unseen(
    spec: ModelSpec, values: Mapping[str, Tensor], texts: tuple[Rows | None, Rows | None]
) -> Iterator[tuple[str, str]]:
    source, target = (0 if rows is None else len(rows[0]) for rows in texts)
    for point in spec.recorded:
        if point.name not in values:
            yield point.name, NOT_SEEN
        elif tuple(values[point.name].shape) != spec.sizes(point.name, batch=1, source=source, target=target):
            yield point.name, "in a trial pass its numbers had another shape than this program knows"


def _formula(model: HuggingFaceModel, values: Mapping[str, Tensor]) -> str | None:
    """Name of the formula of the position tables that were added, or None."""
    tables: list[Tensor] = []
    pad = model.model.config.pad_token_id
    for stack in stacks_of(model.spec):
        added = values.get(f"{stack}.embed.position")
        if added is None:
            return None
        table = model.table("positions", stack)[: model.spec.max_source].cpu().float()
        if not torch.equal(table[: added.size(1)], added[0].cpu().float()):
            return None
        if not any(torch.equal(table, other) for other in tables):
            tables.append(table)
    behind = [] if pad is None or not 0 <= pad < min(map(len, tables)) else [pad + 1]
    for word in FORMULAS:
        for first in (0, *behind):  # row of position 0
            if all(_follows(table, word, first, _slack(model, 1e-3)) for table in tables):
                return word
    return None


def _follows(table: Tensor, word: str, first: int, near: float) -> bool:
    """Whether the table follows a formula, with position 0 at its row `first`; a few rows distinguish most."""
    for count in (3, len(table)):
        rows = table[:count]
        made = ENCODINGS[word].table(len(rows) + first, table.size(1))[first:]
        if not torch.allclose(rows, made, rtol=0, atol=near):
            return False
    return True


def _layers(model: HuggingFaceModel) -> Iterator[tuple[str, LayerPlaces]]:
    for stack in stacks_of(model.spec):
        count = model.spec.encoder_layers if stack == "encoder" else model.spec.decoder_layers
        for layer in range(count):
            yield f"{stack}.{layer}", model.family.stacks[stack].layer


def _steps(name: str, places: LayerPlaces) -> list[tuple[str, str]]:
    """(addition, stream after it) for each sub-layer, in order."""
    kinds = ["self"] + (["cross"] if places.cross is not None else [])
    return [(f"{name}.{kind}.out", f"{name}.residual_after_{kind}") for kind in kinds] + [
        (f"{name}.ffn.out", f"{name}.residual_out")
    ]


def _other_inputs(model: HuggingFaceModel, values: Mapping[str, Tensor]) -> Iterator[str]:
    """Position and segment points of stacks whose input is not the sum of the embeddings."""
    for stack in stacks_of(model.spec):
        parts = {name: values.get(f"{stack}.embed.{name}") for name in _EMBEDDED}
        total, token = (parts["out"] if parts["sum"] is None else parts["sum"]), parts["token"]
        if token is None or total is None:
            continue
        if not _is_mapped(model, stack, parts):
            yield from (f"{stack}.embed.{name}" for name in _EMBEDDED if parts[name] is not None and name != "out")
            continue
        token = token if parts["mapped"] is None else parts["mapped"]
        sums = [token, token]
        for order, names in enumerate((("segment", "position"), ("position", "segment"))):
            for name in names:
                if (part := parts[name]) is not None:
                    sums[order] = sums[order] + part
        if not any(torch.equal(each, total) for each in sums):
            yield from (f"{stack}.embed.{name}" for name in ("segment", "position", "sum") if parts[name] is not None)


_EMBEDDED = ("token", "mapped", "segment", "position", "sum", "normed", "out")


def _is_mapped(model: HuggingFaceModel, stack: StackName, parts: Mapping[str, Tensor | None]) -> bool:
    """Whether the map between embeddings and stream gives the recorded result; True without one."""
    places = model.family.stacks[stack]
    module, path = model.base.get_submodule(places.module), places.widened or ""
    steps = [("token", path, "mapped")]
    if parts["normed"] is not None:
        steps = [("sum", places.input_norm or "", "normed"), ("normed", path, "out")]
    elif parts["mapped"] is None:
        return True
    for before, step, behind in steps:
        made = module.get_submodule(step)
        kind = next(made.parameters()).dtype
        came, went = parts[before], parts[behind]
        assert came is not None and went is not None
        with torch.no_grad():
            if not torch.equal(made(came.to(model.device, kind)).cpu().float(), went.cpu().float()):
                return False
    return True


def _other_sums(model: HuggingFaceModel, values: Mapping[str, Tensor]) -> Iterator[str]:
    """Streams that are not the sum of their inputs."""
    for name, places in _layers(model):
        stream = values.get(f"{name}.residual_in")
        if places.parallel:
            parts = [values.get(each) for each in (f"{name}.self.out", f"{name}.ffn.out", f"{name}.residual_out")]
            if stream is None or not _is_sum(stream, *parts):
                yield f"{name}.residual_out"
            continue
        for added, after in _steps(name, places):
            out = values.get(added)
            total = values.get(f"{after}_sum" if places.norm == "post" else after)
            if stream is None or out is None or total is None or not torch.equal(stream + out, total):
                yield after
                if places.norm == "post":
                    yield f"{after}_sum"
            stream = values.get(after)


def _not_read_on(model: HuggingFaceModel, values: Mapping[str, Tensor]) -> Iterator[str]:
    """Layer outputs that are changed before the next layer reads them."""
    names = [name for name, _ in _layers(model)]
    for name, following in pairwise(names):
        if name.partition(".")[0] != following.partition(".")[0]:
            continue
        out, read = values.get(f"{name}.residual_out"), values.get(f"{following}.residual_in")
        if out is not None and (read is None or not torch.equal(out, read)):
            yield f"{name}.residual_out"


def _is_sum(stream: Tensor, attention: Tensor | None, ffn: Tensor | None, total: Tensor | None) -> bool:
    if attention is None or ffn is None or total is None:
        return False
    sums = ((attention + ffn) + stream, (stream + attention) + ffn, (stream + ffn) + attention)
    return any(torch.equal(each, total) for each in sums)


class _Halved:
    """Trial edit: multiplies a point by one half."""

    def __init__(self, point: str) -> None:
        self.point = point

    def apply(self, value: Tensor, start: int, values: Mapping[str, Tensor]) -> Tensor:
        return value * 0.5


def _partial(
    model: HuggingFaceModel, texts: tuple[Rows | None, Rows | None], lacking: Mapping[str, str]
) -> Iterator[str]:
    """Streams inside a layer whose change does not reach the next sum."""
    steps = [
        (after, added, behind)
        for name, places in _layers(model)
        if places.norm == "pre" and not places.parallel
        for (_, after), (added, behind) in zip(_steps(name, places)[:-1], _steps(name, places)[1:], strict=True)
        if not {after, added, behind} & lacking.keys()
    ]
    edits: list[PointEdit] = [_Halved(after) for after, _, _ in steps]
    recorder = Recorder(edits)
    model.whole(*texts, hook=recorder)
    halved = {after for after, _, _ in steps}
    for after, added, behind in steps:
        whole = recorder.values[after] + recorder.values[added]
        if not torch.equal(whole * 0.5 if behind in halved else whole, recorder.values[behind]):
            yield after


def _other_scores(model: HuggingFaceModel, values: Mapping[str, Tensor]) -> Iterator[str]:
    """Derived scores that do not give the weights."""
    scalars = model.scalars()
    for site in model.spec.attentions:
        name = f"{site}.scores"
        if name not in model.spec.point:
            continue
        divisor = scalars[f"{site}.divisor"]
        query, key = values[f"{site}.query"].float(), values[f"{site}.key"].float()
        mask = values[f"{site}.mask"]
        key = key.repeat_interleave(query.size(1) // key.size(1), dim=1)
        scores = attention_scores(query, key, divisor, values.get(f"{site}.bias"))
        # Weights are exponentials of scores: they inherit the scores' error and add their own rounding.
        off = 1e-5 + math.expm1(min(_slack(model, 0.0, 6) * float(scores.abs().max()), 1.0)) + _slack(model, 0.0)
        scores = scores.masked_fill(~mask, -torch.inf)
        if (sink := values.get(f"{site}.sink")) is not None:
            scores = torch.cat([scores, sink], dim=-1)
        weights = scores.softmax(dim=-1)[..., : mask.size(-1)]
        if not torch.allclose(weights, values[f"{site}.weights"].float(), rtol=0, atol=off):
            yield name


def _other_heads(model: HuggingFaceModel, values: Mapping[str, Tensor]) -> Iterator[str]:
    """Head outputs, and their contributions, that are not weights @ value."""
    for site, heads in model.spec.attentions.items():
        value, head_out = values.get(f"{site}.value"), values.get(f"{site}.head_out")
        if value is None or head_out is None:
            continue
        shared = value.float().repeat_interleave(heads.query // heads.key, dim=1)
        made = values[f"{site}.weights"].float() @ shared
        near = 1e-5 + _slack(model, 0.0, 2) * float(shared.abs().max())
        if made.shape != head_out.shape or not torch.allclose(made, head_out.float(), rtol=1e-4, atol=near):
            yield from (f"{site}.value", f"{site}.head_out", f"{site}.contribution")


def _not_turned(model: HuggingFaceModel, values: Mapping[str, Tensor]) -> Iterator[str]:
    """Unrotated queries and keys whose lengths differ from the rotated ones by more than one common factor.

    Zero vectors, such as a padding token's, fit any factor.
    """
    for site in model.spec.attentions:
        for part in ("query", "key"):
            name = f"{site}.{part}_unrotated"
            if (before := values.get(name)) is not None:
                turned, unturned = (each.float().norm(dim=-1) for each in (values[f"{site}.{part}"], before))
                factor = (turned.norm() / unturned.norm()).nan_to_num()
                if not torch.allclose(turned, unturned * factor, rtol=_slack(model, 1e-4, 4), atol=0):
                    yield name


class _Times:
    """Trial edit: multiplies a point by a number."""

    def __init__(self, point: str, factor: float) -> None:
        self.point, self.factor = point, factor

    def apply(self, value: Tensor, start: int, values: Mapping[str, Tensor]) -> Tensor:
        return value * self.factor


def _other_shares(
    model: HuggingFaceModel, texts: tuple[Rows | None, Rows | None], values: Mapping[str, Tensor]
) -> Iterator[str]:
    """Expert shares for which half does not add half to the output, in the first layer with experts.

    The other layers have the same class.
    """
    names = [point.name for point in model.spec.recorded if point.name.endswith(".ffn.experts")]
    if not names or names[0] not in values:
        return
    outs = []
    for factor in (0.0, 0.5):
        recorder = Recorder([_Times(names[0], factor)])
        model.whole(*texts, hook=recorder)
        outs.append(recorder.values[f"{names[0].removesuffix('experts')}out"])
    nothing, half = outs
    whole = values[f"{names[0].removesuffix('experts')}out"]
    off = _slack(model, 1e-5, 4) * float(whole.abs().max())
    if not torch.allclose(half - nothing, (whole - nothing) / 2, rtol=1e-4, atol=off):
        yield from names


def _reads_out(model: HuggingFaceModel, values: Mapping[str, Tensor], logits: Tensor) -> bool:
    stack = stacks_of(model.spec)[-1]
    count = model.spec.decoder_layers if stack == "decoder" else model.spec.encoder_layers
    last = values.get(f"{stack}.{count - 1}.residual_out")
    if last is None:
        return False
    again = model.logits_of(last, stack)
    near = _slack(model, 1e-5) * logits.abs().max()
    return again.shape == logits.shape and bool((again - logits).abs().max() <= near)
