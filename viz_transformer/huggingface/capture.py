"""Reports the points of a transformers model to a hook: an attention function, a mask function and wrapped modules.

They are installed once and stay. Each reads the current pass from a context variable, so that one model serves many
threads, recording or not. The same function runs with and without a hook.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cached_property, wraps
from typing import Any
from weakref import ref

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import causal_mask_function, sdpa_mask

from viz_transformer.huggingface.families import AttentionPlace, LayerPlaces, StackPlaces
from viz_transformer.huggingface.functional_hook import FirstLinear, FunctionalHookMode, chosen_by, shares_of, with_mask
from viz_transformer.huggingface.rows import record_rows, repeat_heads
from viz_transformer.model.attention import is_fused
from viz_transformer.model.hook import OFF, Hook, Recorder
from viz_transformer.model.hooked_model import Heads
from viz_transformer.model.kinds import StackName

NAME = "viz_transformer"
"""Name of the attention and mask functions in a config."""


class Pass:
    """One pass of a model: its hook, number of texts, and length of the cache before it.

    kept: edited keys and values of earlier passes, for a model that recomputes them in each.
    """

    __slots__ = ("_added", "_open", "batch", "hook", "kept", "mask", "rules", "site", "stack", "start")

    def __init__(self, hook: Hook, batch: int, start: int = 0, kept: dict[str, Tensor] | None = None) -> None:
        self.hook, self.batch, self.start = hook, batch, start
        self.kept = {} if kept is None else kept
        self.stack: StackName | None = None
        self.site: _AttentionNames | None = None  # whose queries and keys are rotated next
        self.mask: Tensor | None = None  # of an attention that calls torch itself
        self.rules: dict[int, tuple[Tensor, Any]] = {}  # rule of each mask, by id; keeping the mask keeps its id valid
        self._added: dict[int, tuple[Tensor, Added]] = {}
        self._open: dict[tuple[int, ...], Tensor] = {}

    def added(self, mask: Tensor, dtype: torch.dtype) -> Added:
        """What a Boolean mask adds to scores, cached for all layers that share the mask."""
        found = self._added.get(id(mask))
        if found is None:
            found = self._added[id(mask)] = (mask, Added(mask, dtype))  # keeping the mask keeps its id valid
        return found[1]

    def open_mask(self, query: Tensor, key: Tensor) -> Tensor:
        """Mask of an attention that receives none: [B, 1, Q, K], all True."""
        shape = (query.size(0), 1, query.size(-2), key.size(-2))
        found = self._open.get(shape)
        if found is None:
            found = self._open[shape] = torch.ones(shape, dtype=torch.bool, device=query.device)
        return found


class Added:
    """What a Boolean mask [B, 1 or H, Q, K] adds to scores."""

    def __init__(self, mask: Tensor, dtype: torch.dtype) -> None:
        self._mask, self._dtype = mask, dtype

    @cached_property
    def numbers(self) -> Tensor | None:
        """The lowest number in masked cells; None if nothing is masked."""
        if bool(self._mask.all()):
            return None
        return torch.where(self._mask, 0.0, torch.finfo(self._dtype).min).to(self._dtype)

    @cached_property
    def is_causal(self) -> bool:
        """Whether the mask is exactly causal: the fused kernel then skips the masked keys."""
        queries, keys = self._mask.shape[-2:]
        return queries == keys and torch.equal(self._mask, torch.ones_like(self._mask).tril())


class MaskRuleRecorder(Recorder):
    """Recorder that also stores the mask function of each mask, (text, head, query, key) -> allowed, by point."""

    def __init__(self) -> None:
        super().__init__()
        self.rules: dict[str, Any] = {}


PASS: ContextVar[Pass | None] = ContextVar("pass of a model", default=None)
_SITE = "viz_transformer_site"
"""Attribute that holds a module's `_AttentionNames`."""


class _AttentionNames:
    """One attention and the full names of its points.

    follows: queries and keys determine the weights, so that a long one may run fused. keys: key heads. latent: as in
    `AttentionPlace`.
    """

    def __init__(self, name: str, *, follows: bool, keys: int, latent: bool) -> None:
        self.follows, self.keys, self.latent = follows, keys, latent
        self.is_self, self.is_cross = name.endswith(".self"), name.endswith(".cross")
        self.query, self.key, self.value = f"{name}.query", f"{name}.key", f"{name}.value"
        self.mask, self.bias, self.sink = f"{name}.mask", f"{name}.bias", f"{name}.sink"
        self.weights, self.head_out = f"{name}.weights", f"{name}.head_out"
        self.unturned = f"{name}.query_unrotated", f"{name}.key_unrotated"


# --- attention


def attention_forward(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    position_bias: Tensor | None = None,
    **of_family: Any,
) -> tuple[Tensor, Tensor | None]:
    """query: [B, H, Q, E], key and value: [B, G, K, E], mask: [B, 1, Q, K], True = may attend -> [B, Q, H, E], weights.

    Same operations in the same order as each family's eager function, so equal bit for bit. A mask adds the lowest
    number to masked scores (a fully masked row is uniform), or nothing if all is open. A long attention (`is_fused`)
    runs in the fused kernel, hook or not, if queries and keys determine its weights and no edit changes them. Some
    families have a `softcap` of the scores, or `s_aux`, a sink of each head.
    """
    softcap: float | None = of_family.get("softcap")
    s_aux: Tensor | None = of_family.get("s_aux")
    now = PASS.get()
    if attention_mask is not None and attention_mask.dtype != torch.bool:  # made by the model, of two numbers
        attention_mask = attention_mask == 0
    site: _AttentionNames | None = module.__dict__.get(_SITE)
    hook = OFF if now is None or site is None else now.hook
    if now is not None and site is not None and hook is not OFF:
        query = hook(site.query, query)
        if now.start == 0 or not site.is_cross:  # the memory's keys are computed once
            new = key.size(-2) - now.start if site.is_self else key.size(-2)
            for name, rows in ((site.key, key), (site.value, value)):
                again = site.latent and isinstance(hook, Recorder) and hook.changes(name)
                if again and name in now.kept:
                    rows[..., :-new, :].copy_(now.kept[name])
                record_rows(hook, name, rows, new)
                if again:
                    now.kept[name] = rows.clone()
        mask = now.open_mask(query, key) if attention_mask is None else attention_mask
        if mask.size(0) != query.size(0) or mask.size(2) != query.size(2):
            mask = mask.expand(query.size(0), -1, query.size(2), -1)
        if isinstance(hook, MaskRuleRecorder) and (made := now.rules.get(id(attention_mask))) is not None:
            hook.rules[site.mask] = made[1]
        attention_mask = hook(site.mask, mask)
        if position_bias is not None and site.is_self:
            position_bias = hook(site.bias, position_bias.expand(query.size(0), -1, -1, -1))
    shared = query.size(1) // key.size(1)
    key, value = repeat_heads(key, shared), repeat_heads(value, shared)
    scaling = query.size(-1) ** -0.5 if scaling is None else scaling
    added = None
    if attention_mask is not None:
        added = Added(attention_mask, query.dtype) if now is None else now.added(attention_mask, query.dtype)
    weights = None
    if (
        softcap is None
        and is_fused(query.size(-2), key.size(-2))
        and site is not None
        and site.follows
        and not (isinstance(hook, Recorder) and hook.changes(site.weights))
    ):
        head_out = _fused(query, key, value, added, position_bias, scaling)
    else:
        sink = None if s_aux is None else s_aux.view(1, -1, 1, 1).expand(query.size(0), -1, query.size(-2), -1)
        if site is not None and sink is not None:
            sink = hook(site.sink, sink)
        weights = _weights(query, key, added, position_bias, scaling, softcap, sink)
        weights = weights if site is None else hook(site.weights, weights)
        head_out = weights @ value
    head_out = head_out if site is None else hook(site.head_out, head_out)
    return head_out.transpose(1, 2).contiguous(), weights


def _weights(
    query: Tensor,
    key: Tensor,
    added: Added | None,
    bias: Tensor | None,
    scaling: float,
    softcap: float | None,
    sink: Tensor | None,
) -> Tensor:
    """Weights [B, H, Q, K], as in eager attention.

    sink: [B, H, Q, 1], an extra logit in the softmax that belongs to no key.
    """
    scores = query @ key.transpose(2, 3)  # a new tensor, modified in place from here on
    scores *= scaling
    if bias is not None:
        scores += bias
    if softcap is not None:
        scores = scores.div_(softcap).tanh_().mul_(softcap)
    if added is not None and added.numbers is not None:
        scores += added.numbers
    if sink is not None:
        beside = torch.cat([scores, sink], dim=-1)
        return (beside - beside.amax(dim=-1, keepdim=True)).softmax(dim=-1)[..., :-1]
    weights = scores.softmax(dim=-1, dtype=torch.float32)
    return weights if query.dtype == torch.float32 else weights.to(query.dtype)


def _fused(
    query: Tensor, key: Tensor, value: Tensor, added: Added | None, bias: Tensor | None, scaling: float
) -> Tensor:
    """Output of the heads [B, H, Q, E], without materialising the weights."""
    if added is not None and bias is None and added.is_causal:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
    numbers = (
        bias if added is None or added.numbers is None else added.numbers if bias is None else bias + added.numbers
    )
    return F.scaled_dot_product_attention(query, key, value, attn_mask=numbers, scale=scaling)


def boolean_mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """transformers' mask as a Boolean tensor; None if it masks nothing and would be omitted (then `Pass.open_mask`).

    A mask whose rule is being recorded is always returned.
    """
    now = PASS.get()
    ruled = now is not None and isinstance(now.hook, MaskRuleRecorder)
    made = {"allow_is_causal_skip": False} | ({"allow_is_bidirectional_skip": False} if ruled else {})
    mask: Tensor | None = sdpa_mask(*args, **{**kwargs, **made})
    if mask is not None and now is not None and ruled:
        now.rules[id(mask)] = mask, kwargs.get("mask_function", causal_mask_function)
    return mask


def register() -> None:
    """Register both functions with transformers."""
    AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, boolean_mask)


# --- inputs and outputs of modules


class Listening:
    """Replaces a module's `forward` to report inputs and outputs; holds the module weakly.

    Cheaper than torch's hooks, which slow down every module that has one.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = ref(module)
        self.before: list[Before] = []
        self.around: list[Around] = []
        self.after: list[After] = []
        own = type(module).forward
        module.__dict__["forward"] = _forward(own, self._module, self.before, self.around, self.after)

    def remove(self) -> None:
        """Restore the module's own `forward`."""
        if (module := self._module()) is not None:
            del module.__dict__["forward"]


Before = Callable[[Pass, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]
Around = Callable[[Pass], AbstractContextManager[Any]]
After = Callable[[Pass, Any], Any]


def _forward(
    own: Callable[..., Any],
    module: ref[nn.Module],
    before: list[Before],
    around: list[Around],
    after: list[After],
) -> Any:
    @wraps(own)
    def forward(*args: Any, **kwargs: Any) -> Any:
        now = PASS.get()
        if now is None or now.hook is OFF:
            return own(module(), *args, **kwargs)
        for hear in before:
            args, kwargs = hear(now, args, kwargs)
        if around:
            with around[0](now):
                output = own(module(), *args, **kwargs)
        else:
            output = own(module(), *args, **kwargs)
        for heard in after:
            output = heard(now, output)
        return output

    return forward


def install(
    base: nn.Module,
    stacks: Mapping[StackName, StackPlaces],
    points: Collection[str],
    attentions: Mapping[str, Heads],
) -> list[Listening]:
    """Wrap the modules of a headless model that compute these points."""
    ears = _Ears(points, attentions)
    for stack, places in stacks.items():
        ears.tokens_first = places.tokens_first
        module = base.get_submodule(places.module)
        ears.begins(module, stack)
        for name, path in (("token", places.tokens), ("segment", places.segments), ("position", places.positions)):
            if path is not None:
                scale = getattr(module, places.scale) if name == "token" and places.scale else 1.0
                ears.embeds(module.get_submodule(path), stack, f"{stack}.embed.{name}", float(scale))
        if places.input_norm is not None:
            ears.reads(module.get_submodule(places.input_norm), f"{stack}.embed.sum")
        if places.widened is not None and _has(module, places.widened):
            ears.reads(module.get_submodule(places.widened), f"{stack}.embed.normed")
            ears.gives(module.get_submodule(places.widened), f"{stack}.embed.mapped")
        layers = module.get_submodule(places.layers)
        assert isinstance(layers, nn.ModuleList)
        for index, layer in enumerate(layers):
            _install_layer(ears, layer, places.layer, f"{stack}.{index}", first=index == 0)
        ears.tokens_first = False
        ears.gives(module, f"{stack}.out")
    return [*ears.listening.values()]


def _install_layer(ears: _Ears, layer: nn.Module, places: LayerPlaces, name: str, *, first: bool) -> None:
    stack, ffn = name.partition(".")[0], places.ffn
    ears.reads(layer, *([f"{stack}.embed.out"] if first else []), f"{name}.residual_in")
    attentions = {"self": places.attention} | ({} if places.cross is None else {"cross": places.cross})
    following = [*(place.norm for place in attentions.values()), ffn.norm][1:]
    for (kind, place), next_norm in zip(attentions.items(), following, strict=True):
        site, stream = f"{name}.{kind}", f"{name}.residual_after_{kind}"
        follows = f"{site}.scores" in ears.points and f"{site}.sink" not in ears.points
        named = _AttentionNames(site, follows=follows, keys=ears.attentions[site].key, latent=place.latent)
        layer.get_submodule(place.module).__dict__[_SITE] = named
        if place.sliced:
            ears.makes_heads(layer.get_submodule(place.module), place, named)
        else:
            ears.turns(layer.get_submodule(place.module), named)
        ears.reads(layer.get_submodule(place.module), f"{site}.in")
        if place.heard is not None:
            ears.hears(layer.get_submodule(place.module), place, site)
        if _has(layer, place.added or place.out):
            ears.gives(layer.get_submodule(place.added or place.out), f"{site}.out")
        if places.norm == "post":
            ears.reads(layer.get_submodule(place.norm), f"{stream}_sum")
            ears.gives(layer.get_submodule(place.norm), stream)
        else:
            ears.stands_before(layer.get_submodule(next_norm), stream)
    ears.reads(layer.get_submodule(ffn.module), f"{name}.ffn.in")
    if ffn.router and _has(layer, ffn.router):
        ears.chooses(layer.get_submodule(ffn.router), layer.get_submodule(ffn.experts), f"{name}.ffn")
        ears.gives(layer.get_submodule(ffn.module), f"{name}.ffn.out")
    else:
        assert ffn.out is not None
        ears.reads(layer.get_submodule(ffn.out), f"{name}.ffn.hidden")
        ears.gives(layer.get_submodule(ffn.added or ffn.out), f"{name}.ffn.out", rewritten=ffn.rewritten)
    if places.norm == "post":
        ears.reads(layer.get_submodule(ffn.norm), f"{name}.residual_out_sum")
    ears.gives(layer, f"{name}.residual_out")


def _listen_to_turning(attention: nn.Module) -> None:
    """Wrap the rotary function in the file of this attention's class, once for all models of that file."""
    file: Any = sys.modules[type(attention).__module__]
    own = getattr(file, _TURNS, None)
    if own is None or hasattr(own, NAME):
        return

    @wraps(own)
    def turned(query: Tensor, key: Tensor, *args: Any, **kwargs: Any) -> Any:
        now = PASS.get()
        if now is not None and now.site is not None:
            asked, held = now.site.unturned
            query, shared = now.hook(asked, query), key.size(1) // now.site.keys
            changed = now.hook(held, own_heads := key[:, ::shared])
            key = key if changed is own_heads else repeat_heads(changed, shared)
        return own(query, key, *args, **kwargs)

    setattr(turned, NAME, True)
    setattr(file, _TURNS, turned)


_TURNS = "apply_rotary_pos_emb"


def _heads_heard(name: str, size: int) -> After:
    """A callback for values by head, [B, H, T, E], or by token with heads concatenated."""

    def heard(now: Pass, output: Any) -> Any:
        if output.dim() == 4:
            return now.hook(name, output)
        said = output.view(*output.shape[:-1], -1, size).transpose(1, 2)
        changed = now.hook(name, said)
        return output if changed is said else changed.transpose(1, 2).flatten(2)

    return heard


def _has(layer: nn.Module, path: str) -> bool:
    try:
        layer.get_submodule(path)
    except AttributeError:
        return False
    return True


def _said(now: Pass, name: str, value: Tensor, *, tokens_first: bool = False) -> Tensor:
    """Report a value and return the hook's result.

    Values with all texts' rows stacked, or with tokens first, are converted for the hook.
    """
    if tokens_first:
        changed = now.hook(name, turned := value.transpose(0, 1))
        return value if changed is turned else changed.transpose(0, 1)
    if value.dim() != 2:
        return now.hook(name, value)
    texts = value.view(now.batch, -1, value.size(-1))
    changed = now.hook(name, texts)
    return value if changed is texts else changed.flatten(0, 1)


class _Ears:
    """Wraps the modules of a model that compute recorded points."""

    def __init__(self, points: Collection[str], attentions: Mapping[str, Heads]) -> None:
        self.points, self.attentions, self.listening = points, attentions, dict[nn.Module, Listening]()
        self.tokens_first = False

    def begins(self, module: nn.Module, stack: StackName) -> None:
        """Track which stack is running: a module may embed for both."""

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            now.stack = stack
            return args, kwargs

        self._at(module).before.append(hear)

    def reads(self, module: nn.Module, *names: str) -> None:
        """Report a module's input, and continue with the hook's result."""
        said, tokens_first = [name for name in names if name in self.points], self.tokens_first

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            given: Tensor = args[0] if args else kwargs["hidden_states"]
            value = given
            for name in said:
                value = _said(now, name, value, tokens_first=tokens_first)
            if value is given:
                return args, kwargs
            return ((value, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": value})

        if said:
            self._at(module).before.append(hear)

    def gives(self, module: nn.Module, name: str, *, rewritten: bool = False) -> None:
        """Report a module's output: a tensor, the first of a tuple, or a stack's last hidden state.

        rewritten: the model modifies it in place, so it gets a copy.
        """
        tokens_first = self.tokens_first

        def heard(now: Pass, output: Any) -> Any:
            if isinstance(output, Tensor):
                said = _said(now, name, output, tokens_first=tokens_first)
                return said.clone() if rewritten else said
            if isinstance(output, tuple):
                return (_said(now, name, output[0], tokens_first=tokens_first), *output[1:])
            output.last_hidden_state = now.hook(name, output.last_hidden_state)
            return output

        if name in self.points:
            self._at(module).after.append(heard)

    def turns(self, attention: nn.Module, site: _AttentionNames) -> None:
        """Report queries and keys before rotation."""

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            now.site = site
            return args, kwargs

        def heard(now: Pass, output: Any) -> Any:
            now.site = None
            return output

        if {*site.unturned} <= {*self.points}:
            _listen_to_turning(attention)
            self._at(attention).before.append(hear)
            self._at(attention).after.append(heard)

    def hears(self, attention: nn.Module, place: AttentionPlace, site: str) -> None:
        """Report the values inside an attention that calls torch itself."""
        heads = self.attentions[site]

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            now.mask, args, kwargs = with_mask(place, args, kwargs)
            return args, kwargs

        def around(now: Pass) -> FunctionalHookMode:
            return FunctionalHookMode(now.hook, site, attention, place, heads, mask=now.mask, start=now.start)

        self._at(attention).before.append(hear)
        self._at(attention).around.append(around)

    def makes_heads(self, attention: nn.Module, place: AttentionPlace, site: _AttentionNames) -> None:
        """Report queries and keys before partial rotation, after their maps or per-head norms."""
        for path, norm, name in zip(place.maps[:2], place.normed, site.unturned, strict=True):
            if name in self.points:
                made = attention.get_submodule(norm if _has(attention, norm) else path)
                self._at(made).after.append(_heads_heard(name, self.attentions[name.rpartition(".")[0]].size))

    def chooses(self, router: nn.Module, experts: nn.Module, part: str) -> None:
        """Report the router logits (its first linear map), and the share by which each expert's output is multiplied.

        Experts are chosen from the edited logits; those with an edited share run.
        """
        numbers, shares = f"{part}.router", f"{part}.experts"

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            rows, chosen, weighed = args
            count: Any = experts.num_experts
            before = shares_of(chosen, weighed, int(count))
            changed = _said(now, shares, before)
            return (args if changed is before else (rows, *chosen_by(changed, chosen))), kwargs

        if numbers in self.points:
            self._at(router).around.append(lambda now: FirstLinear(lambda made: _said(now, numbers, made)))
        if shares in self.points:
            self._at(experts).before.append(hear)

    def stands_before(self, norm: nn.Module, name: str) -> None:
        """Report the stream read by this norm and added again after it; both use the hook's result.

        The sum exists only for these two, so edits are written in place.
        """
        tokens_first = self.tokens_first

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            stream: Tensor = args[0]
            changed = _said(now, name, stream, tokens_first=tokens_first)
            if changed is not stream:
                stream.copy_(changed)
            return args, kwargs

        if name in self.points:
            self._at(norm).before.append(hear)

    def embeds(self, module: nn.Module, stack: StackName, name: str, scale: float) -> None:
        """Report embeddings of tokens, segments or positions for each text.

        Token embeddings are reported times the stack's `scale`, which is applied next, so edits are divided by it.
        """

        tokens_first = self.tokens_first

        def heard(now: Pass, output: Tensor) -> Tensor:
            if now.stack != stack:
                return output
            if tokens_first:
                return _said(now, name, output, tokens_first=True)
            said = output.expand(now.batch, *output.shape[-2:])
            if scale == 1:
                return now.hook(name, said)
            changed = now.hook(name, scaled := said * scale)
            return output if changed is scaled else changed / scale

        if name in self.points:
            self._at(module).after.append(heard)

    def _at(self, module: nn.Module) -> Listening:
        return self.listening.get(module) or self.listening.setdefault(module, Listening(module))
