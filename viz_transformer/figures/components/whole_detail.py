"""The deeper levels of the whole run's picture: one layer, and one head of an attention down to a weight.

A detail is a payload of its own. It says of which run it is (`of`), at which level, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from viz_transformer import payload
from viz_transformer.figures.components.strongest_only import strongest

if TYPE_CHECKING:
    from viz_transformer.analysis.run.attention import AttentionDetail
    from viz_transformer.analysis.run.layer import LayerDetail, LayerPart


def layer_detail(detail: LayerDetail, *, of: str, remarks: Sequence[str] = ()) -> bytes:
    """The payload of a layer. of: the id of the run; remarks: sentences after those of the detail.

    Arrays, for each sub-layer P, float32 as recorded: before.P, in.P, out.P, after.P [T, samples], total.P of a
    post-norm model; mean.P, scale.P, came.P, read.P, added.P, left.P, share.P [T]. Of an attention the strongest
    weights of each head (`strongest_only`): keys.P, weights.P, starts.P, rest.P, and mask.P [Q, K] where anything is
    masked. hidden.ffn [T, samples] and active.ffn [T]. Values that the run lacks are left out.
    """
    header: dict[str, Any] = {
        "of": of,
        "level": "layer",
        "stack": detail.stack,
        "layer": detail.layer,
        "norm": "pre" if detail.pre_norm else "post",
        "whole_text": detail.whole_text,
        "size": detail.size,
        "samples": detail.features,
        "parts": [_part(each) for each in detail.parts],
        "remarks": [*detail.remarks, *remarks],
    }
    arrays: dict[str, payload.Encoded] = {}
    for each in detail.parts:
        name = each.part
        rows = {**each.stream, **each.by_token}
        arrays |= {f"{what}.{name}": payload.exact(values) for what, values in rows.items()}
        if each.weights is not None:
            arrays |= strongest(each.weights).arrays(name)
        arrays |= {f"mask.{name}": cells for cells in payload.marks(mask=each.mask).values()}
        arrays |= {
            f"{what}.{name}": payload.exact(values)
            for what, values in (("hidden", each.hidden), ("active", each.active))
            if values is not None
        }
    return payload.pack(header, **arrays)


def attention_detail(detail: AttentionDetail, *, of: str, remarks: Sequence[str] = ()) -> bytes:
    """The payload of a head. of: the id of the run; remarks: sentences after those of the detail.

    Arrays, float32 as recorded or derived: query [Q, E], key, value [K, E], scores, bias, weights [Q, K], head_out [Q,
    E]; mask [Q, K] where anything is masked; maps [H, Q, K], the weights of all heads in 256 levels, or exact where
    they are no shares. Values that the run lacks are left out.
    """
    header: dict[str, Any] = {
        "of": of,
        "level": "attention",
        "kind": detail.kind,
        "layer": detail.layer,
        "head": detail.head,
        "heads": detail.heads,
        "key_head": detail.key_head,
        "divisor": detail.divisor,
        "merge": detail.merge,
        "fill": detail.fill,
        "remarks": [*detail.remarks, *remarks],
    }
    arrays = {name: payload.exact(values) for name, values in detail.arrays.items()}
    arrays |= payload.marks(mask=detail.mask)
    if detail.maps is not None:
        shares = payload.is_share(np.asarray(detail.maps))
        arrays["maps"] = payload.rounded(detail.maps, "sqrt-uint8") if shares else payload.exact(detail.maps)
    return payload.pack(header, **arrays)


def _part(part: LayerPart) -> dict[str, Any]:
    if part.kind is not None:
        heads = {} if part.weights is None else {"heads": len(part.weights)}
        return {"part": part.part, "kind": part.kind, **heads}
    return {"part": part.part} | ({} if part.units is None else {"units": part.units, "samples": part.sampled})
