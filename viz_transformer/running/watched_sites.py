"""Which attentions a watched call had: heads put together, layers counted, source and target told apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.watched_call import SeenCall, SeenMap

Names = Sequence[str]
_CROSS = re.compile(r"cross|encoder_attn|enc_dec|encdec|enc_attn|src_attn|multihead_attn|encoderdecoder", re.IGNORECASE)


@dataclass(frozen=True)
class WatchedSite:
    """An attention of the model: the numbers of its softmaxes, more than one where each head makes its own."""

    kind: KindName
    layer: int
    numbers: tuple[int, ...]
    path: str

    @property
    def name(self) -> str:
        return KINDS[self.kind].site(self.layer)


def watched_sites(seen: SeenCall, sides: tuple[Names, Names]) -> tuple[WatchedSite, ...]:
    """The attentions in the order of the run. Raises ValueError if there is none, or if a kind cannot be told."""
    groups: list[list[int]] = []
    for number, made in enumerate(seen.maps):
        if not made.used:
            continue
        last = seen.maps[groups[-1][-1]] if groups else None
        if last is not None and _of_one_attention(last, made):
            groups[-1].append(number)
        else:
            groups.append([number])
    if not groups:
        lengths = " or ".join(str(len(side)) for side in sides if side)
        raise ValueError(
            f"no attention over {lengths} tokens was seen: give the names of all positions that the module reads"
        )
    causal = [_is_causal(seen.maps[group[0]]) for group in groups]
    found: list[WatchedSite] = []
    for group, is_causal in zip(groups, causal, strict=True):
        made = seen.maps[group[0]]
        kind = _kind(made, sides, is_causal if sides[0] else all(causal))
        layer = sum(site.kind == kind for site in found)
        found.append(WatchedSite(kind, layer, tuple(group), made.path))
    return tuple(found)


def _of_one_attention(first: SeenMap, second: SeenMap) -> bool:
    """Whether two softmaxes are heads of one attention: each of one head, in one module, or in modules of one list."""
    if first.shape != second.shape or first.weights.size(0) > 1 or second.weights.size(0) > 1:
        return False
    if (first.path, first.call) == (second.path, second.call):
        return True
    parts = [re.fullmatch(r"(.*\.)(\d+)((?:\..*)?)", each.path) for each in (first, second)]
    a, b = parts
    return bool(a and b and (a[1], a[3]) == (b[1], b[3]) and int(b[2]) == int(a[2]) + 1 and "head" in a[1].lower())


def _is_causal(made: SeenMap) -> bool:
    queries, keys = made.shape
    return queries == keys > 1 and not bool(made.weights.triu(1).any())


def _kind(made: SeenMap, sides: tuple[Names, Names], is_causal: bool) -> KindName:
    source, target = map(len, sides)
    if not source:
        return "decoder" if is_causal else "encoder"
    if source != target:
        kinds: dict[tuple[int, int], KindName] = {
            (source, source): "encoder",
            (target, target): "decoder",
            (target, source): "cross",
        }
        if made.shape not in kinds:
            raise ValueError(f"{made.path} attends from {made.shape[0]} source tokens to {made.shape[1]} of the target")
        return kinds[made.shape]
    if is_causal:
        return "decoder"
    if _CROSS.search(made.path):
        return "cross"
    if re.search(r"encoder(?!_attn)", made.path, re.IGNORECASE):
        return "encoder"
    raise ValueError(
        f"whether {made.path or 'an attention'} reads source or target cannot be told: give texts of different lengths"
    )
