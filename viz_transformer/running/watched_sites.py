"""Groups the maps of a watched call into attentions: heads, layers, source and target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.watched_call import SeenCall, SeenMap

Names = Sequence[str]
_CROSS = re.compile(r"cross|encoder_attn|enc_dec|encdec|enc_attn|src_attn|multihead_attn|encoderdecoder", re.IGNORECASE)


@dataclass(frozen=True)
class WatchedSite:
    """An attention of the model."""

    kind: KindName
    layer: int
    numbers: tuple[int, ...]  # its maps: several if each head makes its own
    path: str  # its module
    unseen: str = ""  # why its weights were not recorded; "" if they were
    further: int = 0  # further softmaxes over the tokens in its module without an observed product

    @property
    def name(self) -> str:
        return KINDS[self.kind].site(self.layer)


@dataclass
class _Group:
    """The maps of one attention; without any, a module like others that have one."""

    numbers: list[int]
    path: str
    seen: bool
    further: int = 0
    like: _Group | None = None


SOFTMAX_LOST = (
    "the softmax over the tokens reaches no product with values that vt.watch can follow:"
    " keep the weights one tensor of queries and keys up to weights @ values"
)
NO_MAP = (
    "no weights of queries and keys reach a product with values there that vt.watch can follow:"
    " compute its output as weights @ values"
)


def watched_sites(seen: SeenCall, sides: tuple[Names, Names], module: nn.Module) -> tuple[WatchedSite, ...]:
    """Attentions in forward order. Raises ValueError if none was seen, or if a kind is ambiguous."""
    groups = _groups(seen)
    if not any(group.seen for group in groups):
        raise ValueError(_nothing_seen(seen, groups, sides))
    groups = _with_siblings(seen, groups, module)
    causal = {id(group): _is_causal(seen.maps[group.numbers[0]]) for group in groups if group.numbers}
    found: list[WatchedSite] = []
    for group in groups:
        told = group if group.like is None else group.like
        is_causal = causal[id(told)] if sides[0] else all(causal.values())
        kind = _kind(seen.maps[told.numbers[0]], sides, is_causal)
        layer = sum(site.kind == kind for site in found)
        unseen = "" if group.seen else SOFTMAX_LOST if group.numbers else NO_MAP
        found.append(WatchedSite(kind, layer, tuple(group.numbers), group.path, unseen, group.further))
    return tuple(found)


def _groups(seen: SeenCall) -> list[_Group]:
    groups: list[_Group] = []
    at_work = {(made.path, made.call) for made in seen.maps if made.used and made.path}
    further: dict[tuple[str, int], int] = {}
    for number, made in enumerate(seen.maps):
        if not made.is_attention:
            continue
        if not made.used and (made.path, made.call) in at_work:
            further[made.path, made.call] = further.get((made.path, made.call), 0) + 1
            continue
        last = groups[-1] if groups else None
        if last is not None and last.seen == made.used and _of_one_attention(seen.maps, last.numbers, made):
            last.numbers.append(number)
        else:
            groups.append(_Group([number], made.path, made.used))
    for group in groups:
        first = seen.maps[group.numbers[0]]
        group.further = further.pop((first.path, first.call), 0)
        group.path = _common([seen.maps[number].path for number in group.numbers])
    return groups


def _common(paths: Sequence[str]) -> str:
    """The innermost module that contains all these paths."""
    if len(set(paths)) == 1:
        return paths[0]
    parts = [path.split(".") for path in paths]
    common = [same[0] for same in zip(*parts, strict=False) if len(set(same)) == 1]
    return ".".join(common)


def layer_path(module: nn.Module, path: str) -> str:
    """Path of the enclosing layer, the outermost entry of a module list; "" if there is none."""
    parts = path.split(".")
    for end in range(1, len(parts) + 1):
        above = module.get_submodule(".".join(parts[: end - 1]))
        if parts[end - 1].isdigit() and isinstance(above, nn.ModuleList | nn.Sequential):
            return ".".join(parts[:end])
    return ""


def _with_siblings(seen: SeenCall, groups: Sequence[_Group], module: nn.Module) -> list[_Group]:
    """Add the called siblings, of the same class and list, in which no attention was seen."""
    known = {layer_path(module, group.path) for group in groups}
    found = [(group.numbers[0], 1, group) for group in groups]
    for group in groups:
        layer = layer_path(module, group.path)
        if not layer:
            continue
        entries, rest = layer.rpartition(".")[0], group.path[len(layer) :]
        for name, _ in module.get_submodule(entries).named_children():
            other = f"{entries}.{name}" if entries else name
            path = f"{other}{rest}"
            if other in known or path not in seen.begun or not _alike(module, path, group.path):
                continue
            known.add(other)
            found.append((seen.begun[path], 0, _Group([], path, False, like=group)))
    return [group for *_, group in sorted(found, key=lambda each: each[:2])]


def _alike(module: nn.Module, path: str, other: str) -> bool:
    return type(module.get_submodule(path)) is type(module.get_submodule(other))


def _nothing_seen(seen: SeenCall, groups: Sequence[_Group], sides: tuple[Names, Names]) -> str:
    """Error message when there is nothing to show, with what to do."""
    named = " and ".join(str(len(side)) for side in sides if side)
    if groups:
        paths = [*dict.fromkeys(group.path or "the module" for group in groups)]
        return f"no attention was seen: of {', '.join([*paths[:3], *['...'] * (len(paths) > 3)])}, {SOFTMAX_LOST}"
    if seen.others:
        queries, keys = seen.others[0]
        read = f"{keys} token{'s' * (keys > 1)}" if queries == keys else f"{queries} queries and {keys} keys"
        return f"the module attends over {read}, but {named} names were given: give one for each position that it reads"
    return (
        f"no attention over {named} tokens was seen, which is a matrix of queries and keys that is multiplied with"
        " values: give one name for each position that the module reads, and compute its output as weights @ values"
    )


def _of_one_attention(maps: Sequence[SeenMap], heads: Sequence[int], made: SeenMap) -> bool:
    """Whether a map is one more head of this attention: single heads in one module, or in modules of one list.

    A map that depends on the heads' outputs comes after them, not beside them.
    """
    last = maps[heads[-1]]
    if last.shape != made.shape or last.weights.size(0) > 1 or made.weights.size(0) > 1 or made.after > heads[0]:
        return False
    if (last.path, last.call) == (made.path, made.call):
        return True
    a, b = (re.fullmatch(r"(.*\.)(\d+)((?:\..*)?)", each.path) for each in (last, made))
    return bool(a and b and (a[1], a[3]) == (b[1], b[3]) and int(b[2]) == int(a[2]) + 1 and "head" in a[1].lower())


def _is_causal(made: SeenMap) -> bool:
    queries, keys = made.shape
    return queries == keys > 1 and not bool(made.weights.nan_to_num(nan=0.0).triu(1).any())


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
            raise ValueError(
                f"{made.path or 'the module'} attends from {made.shape[0]} source tokens to {made.shape[1]} of the"
                " target: give the two lists of tokens the other way round, the source's first"
            )
        return kinds[made.shape]
    if is_causal:
        return "decoder"
    if _CROSS.search(made.path):
        return "cross"
    if re.search(r"encoder(?!_attn)", made.path, re.IGNORECASE):
        return "encoder"
    raise ValueError(
        f"whether {made.path or 'an attention'} reads source or target is not clear: give texts of different lengths"
    )
