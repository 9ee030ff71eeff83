"""How a transformers model says its points to a tap: one attention function, one mask function, and hooks.

All are there from the beginning and stay: each reads which pass it is in from a context variable, so that one model
serves many threads, some of which record and some not. The same function runs with the tap and without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from viz_transformer.huggingface.families import LayerPlaces, StackPlaces
from viz_transformer.model.kinds import StackName
from viz_transformer.model.tap import OFF, Tap

NAME = "viz_transformer"
"""Of the attention function and the mask function, as a config names them."""


class Pass:
    """One pass of a model: its tap, how many texts, and how many positions the cache held before it."""

    __slots__ = ("batch", "stack", "start", "tap")

    def __init__(self, tap: Tap, batch: int, start: int = 0) -> None:
        self.tap, self.batch, self.start = tap, batch, start
        self.stack: StackName | None = None


PASS: ContextVar[Pass | None] = ContextVar("pass of a model", default=None)
_SITES: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()


def _tap() -> Tap | None:
    """The tap of the pass, None if nothing listens."""
    now = PASS.get()
    return None if now is None or now.tap is OFF else now.tap


# --- attention


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """query: [B, H, Q, E], key and value: [B, G, K, E], mask: [B, 1, Q, K] True = may attend -> [B, Q, H, E], weights.

    The same operations in the same order as each family's own eager function: the numbers are equal bit by bit. A mask
    adds the lowest number to closed scores, so a row that may attend to nothing gets even weights.
    """
    now, tap, site = PASS.get(), _tap(), _SITES.get(module)
    if now is not None and tap is not None and site is not None:
        inner = tap.inside(site)
        query = inner("query", query)
        if now.start == 0 or not site.endswith(".cross"):  # the memory's keys are made once
            new = key.size(-2) - now.start if site.endswith(".self") else key.size(-2)
            _say_rows(inner, "key", key, new)
            _say_rows(inner, "value", value, new)
        mask = _open_mask(query, key) if attention_mask is None else attention_mask
        attention_mask = inner("mask", mask.expand(query.size(0), -1, -1, -1))
        if position_bias is not None and site.endswith(".self"):
            position_bias = inner("bias", position_bias.expand(query.size(0), -1, -1, -1))
    else:
        inner = OFF
    shared = query.size(1) // key.size(1)
    scores = query @ _repeated(key, shared).transpose(2, 3) * (query.size(-1) ** -0.5 if scaling is None else scaling)
    if position_bias is not None:
        scores = scores + position_bias
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if attention_mask is not None:
        assert attention_mask.dtype == torch.bool, "the mask function of the same name makes Boolean masks"
        scores = scores + torch.where(attention_mask, 0.0, torch.finfo(scores.dtype).min)
    weights = inner("weights", scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype))
    head_out = inner("head_out", weights @ _repeated(value, shared))
    return head_out.transpose(1, 2).contiguous(), weights


def boolean_mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """The mask as transformers describes it, always made and always Boolean."""
    mask: Tensor | None = sdpa_mask(
        *args, **{**kwargs, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    )
    return mask


def register() -> None:
    """Make both functions known to transformers under their name."""
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, boolean_mask)


def _say_rows(tap: Tap, name: str, rows: Tensor, new: int) -> None:
    """Say the last rows, which are new; what an edit makes of them is written where they are, in the cache as well."""
    mine = rows[..., rows.size(-2) - new :, :]
    said = rows if new == rows.size(-2) else mine.clone()
    changed = tap(name, said)
    if changed is not said:
        mine.copy_(changed)


def _repeated(heads: Tensor, shared: int) -> Tensor:
    """[B, G, K, E] -> [B, H, K, E]: each for the `shared` heads that ask it."""
    return heads if shared == 1 else heads.repeat_interleave(shared, dim=1)


def _open_mask(query: Tensor, key: Tensor) -> Tensor:
    return torch.ones(query.size(0), 1, query.size(-2), key.size(-2), dtype=torch.bool, device=query.device)


# --- hooks


def install(base: nn.Module, stacks: Mapping[StackName, StackPlaces], points: Collection[str]) -> list[RemovableHandle]:
    """Put the hooks that say these points into a model without its head."""
    hooks = _Hooks(points)
    for stack, places in stacks.items():
        module = base.get_submodule(places.module)
        hooks.begins(module, stack)
        for name, path in (("token", places.tokens), ("segment", places.segments), ("position", places.positions)):
            if path is not None:
                scale = getattr(module, places.scale) if name == "token" and places.scale else 1.0
                hooks.embeds(module.get_submodule(path), stack, f"{stack}.embed.{name}", float(scale))
        if places.input_norm is not None:
            hooks.reads(module.get_submodule(places.input_norm), f"{stack}.embed.sum")
        layers = module.get_submodule(places.layers)
        assert isinstance(layers, nn.ModuleList)
        for index, layer in enumerate(layers):
            _install_layer(hooks, layer, places.layer, f"{stack}.{index}", first=index == 0)
        hooks.gives(module, f"{stack}.out")
    return hooks.handles


def _install_layer(hooks: _Hooks, layer: nn.Module, places: LayerPlaces, name: str, *, first: bool) -> None:
    stack, ffn = name.partition(".")[0], places.ffn
    hooks.reads(layer, *([f"{stack}.embed.out"] if first else []), f"{name}.residual_in")
    attentions = {"self": places.attention} | ({} if places.cross is None else {"cross": places.cross})
    following = [*(place.norm for place in attentions.values()), ffn.norm][1:]
    for (kind, place), next_norm in zip(attentions.items(), following, strict=True):
        site, stream = f"{name}.{kind}", f"{name}.residual_after_{kind}"
        _SITES[layer.get_submodule(place.module)] = site
        hooks.reads(layer.get_submodule(place.module), f"{site}.in")
        hooks.gives(layer.get_submodule(place.added or place.out), f"{site}.out")
        if places.norm == "post":
            hooks.reads(layer.get_submodule(place.norm), f"{stream}_sum")
            hooks.gives(layer.get_submodule(place.norm), stream)
        else:
            hooks.stands_before(layer.get_submodule(next_norm), stream)
    hooks.reads(layer.get_submodule(ffn.module), f"{name}.ffn.in")
    if ffn.out is not None:
        hooks.reads(layer.get_submodule(ffn.out), f"{name}.ffn.hidden")
    hooks.gives(layer.get_submodule(ffn.added or ffn.out or ffn.module), f"{name}.ffn.out")
    if places.norm == "post":
        hooks.reads(layer.get_submodule(ffn.norm), f"{name}.residual_out_sum")
    hooks.gives(layer, f"{name}.residual_out")


def _said(tap: Tap, name: str, value: Tensor) -> Tensor:
    """The value after the tap. Where a layer puts the rows of all texts below each other they are said text by text."""
    now = PASS.get()
    if value.dim() != 2 or now is None:
        return tap(name, value)
    texts = value.view(now.batch, -1, value.size(-1))
    changed = tap(name, texts)
    return value if changed is texts else changed.flatten(0, 1)


class _Hooks:
    """The hooks of a model: those of points that are not said are never there."""

    def __init__(self, points: Collection[str]) -> None:
        self.points, self.handles = points, list[RemovableHandle]()

    def begins(self, module: nn.Module, stack: StackName) -> None:
        """Know which stack is at work: a module may embed for both."""

        def hook(*_: Any) -> None:
            if (now := PASS.get()) is not None:
                now.stack = stack

        self.handles.append(module.register_forward_pre_hook(hook))

    def reads(self, module: nn.Module, *names: str) -> None:
        """Say what the module is called with; it goes on with what comes back."""
        places = self._places(*names)

        def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
            if (tap := _tap()) is None:
                return None
            value: Tensor = args[0] if args else kwargs["hidden_states"]
            for part, name in places:
                value = _said(tap.inside(part), name, value)
            return ((value, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": value})

        if places:
            self.handles.append(module.register_forward_pre_hook(hook, with_kwargs=True))

    def gives(self, module: nn.Module, name: str) -> None:
        """Say what the module gives out: a tensor, the first of several, or what a stack calls its last state."""
        places = self._places(name)

        def hook(_: nn.Module, __: Any, output: Any) -> Any:
            if (tap := _tap()) is None:
                return None
            ((part, local),) = places
            if hasattr(output, "last_hidden_state"):
                output.last_hidden_state = tap.inside(part)(local, output.last_hidden_state)
                return output
            if isinstance(output, tuple):
                return (tap.inside(part)(local, output[0]), *output[1:])
            return _said(tap.inside(part), local, output)

        if places:
            self.handles.append(module.register_forward_hook(hook))

    def stands_before(self, norm: nn.Module, name: str) -> None:
        """Say the stream that this norm reads, and that is added to again behind it: both go on with what comes back.

        The sum was made for these two alone, so an edit is written into it.
        """
        places = self._places(name)

        def hook(_: nn.Module, args: tuple[Any, ...]) -> None:
            if (tap := _tap()) is not None:
                ((part, local),) = places
                stream: Tensor = args[0]
                changed = _said(tap.inside(part), local, stream)
                if changed is not stream:
                    stream.copy_(changed)

        if places:
            self.handles.append(norm.register_forward_pre_hook(hook))

    def embeds(self, module: nn.Module, stack: StackName, name: str, scale: float) -> None:
        """Say vectors of tokens, segments or positions, for each text; of tokens times the scale that the stack
        multiplies them by next, so an edit is divided by it."""
        places = self._places(name)

        def hook(_: nn.Module, __: Any, output: Tensor) -> Tensor | None:
            now, tap = PASS.get(), _tap()
            if now is None or tap is None or now.stack != stack:
                return None
            ((part, local),) = places
            said = output.expand(now.batch, *output.shape[-2:])
            if scale == 1:
                return tap.inside(part)(local, said)
            changed = tap.inside(part)(local, scaled := said * scale)
            return None if changed is scaled else changed / scale

        if places:
            self.handles.append(module.register_forward_hook(hook))

    def _places(self, *names: str) -> list[tuple[str, str]]:
        """The part and the local name of each point that is said."""
        return [(name.rpartition(".")[0], name.rpartition(".")[2]) for name in names if name in self.points]
