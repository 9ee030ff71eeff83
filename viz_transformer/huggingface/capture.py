"""How a transformers model says its points to a hook: one attention function, one mask function, and an ear at modules.

All are there from the beginning and stay: each reads which pass it is in from a context variable, so that one model
serves many threads, some of which record and some not. The same function runs with the hook and without.
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

from viz_transformer.huggingface.experts import FirstLinear, choose_experts, shares_of
from viz_transformer.huggingface.families import AttentionPlace, LayerPlaces, StackPlaces
from viz_transformer.huggingface.functional_hook import FunctionalHookMode, with_mask
from viz_transformer.huggingface.rows import record_rows, repeat_heads
from viz_transformer.model.attention import is_fused
from viz_transformer.model.hook import OFF, Hook, Recorder
from viz_transformer.model.hooked_model import Heads
from viz_transformer.model.kinds import StackName

NAME = "viz_transformer"
"""Of the attention function and the mask function, as a config names them."""


class Pass:
    """One pass of a model: its hook, how many texts, and how many positions the cache held before it. kept: edited keys
    and values of the passes before it, of a model that makes them anew in each."""

    __slots__ = ("_added", "_open", "batch", "hook", "kept", "mask", "rules", "site", "stack", "start")

    def __init__(self, hook: Hook, batch: int, start: int = 0, kept: dict[str, Tensor] | None = None) -> None:
        self.hook, self.batch, self.start = hook, batch, start
        self.kept = {} if kept is None else kept
        self.stack: StackName | None = None
        self.site: _AttentionNames | None = None  # whose queries and keys are turned next
        self.mask: Tensor | None = None  # that of the attention which runs by itself
        self.rules: dict[int, tuple[Tensor, Any]] = {}  # that each mask was made by, which is kept, and so its id
        self._added: dict[int, tuple[Tensor, Added]] = {}
        self._open: dict[tuple[int, ...], Tensor] = {}

    def added(self, mask: Tensor, dtype: torch.dtype) -> Added:
        """What a Boolean mask adds to scores, made once for all layers that read the same mask."""
        found = self._added.get(id(mask))
        if found is None:
            found = self._added[id(mask)] = (mask, Added(mask, dtype))  # which keeps the mask, and so its id
        return found[1]

    def open_mask(self, query: Tensor, key: Tensor) -> Tensor:
        """That of an attention which is given none: [B, 1, Q, K], all True."""
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
        """The lowest number where it is closed; None where it is all open."""
        if bool(self._mask.all()):
            return None
        return torch.where(self._mask, 0.0, torch.finfo(self._dtype).min).to(self._dtype)

    @cached_property
    def is_causal(self) -> bool:
        """Whether each query may attend to exactly the keys up to its own: the fused kernel then skips the others."""
        queries, keys = self._mask.shape[-2:]
        return queries == keys and torch.equal(self._mask, torch.ones_like(self._mask).tril())


class MaskRuleRecorder(Recorder):
    """A recorder that is told by which rule each mask was made, by the name of its point: a function of text, head,
    query and key."""

    def __init__(self) -> None:
        super().__init__()
        self.rules: dict[str, Any] = {}


PASS: ContextVar[Pass | None] = ContextVar("pass of a model", default=None)
_SITE = "viz_transformer_site"
"""What a module that asks for the attention function is called by, among its own attributes."""


class _AttentionNames:
    """One attention, and the full names of its points. follows: its weights follow from its queries and keys, so those
    of a long one need not be made. keys: how many heads hold keys. latent: as its place says."""

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
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor | None]:
    """query: [B, H, Q, E], key and value: [B, G, K, E], mask: [B, 1, Q, K] True = may attend -> [B, Q, H, E], weights.

    The same operations in the same order as each family's own eager function: the numbers are equal bit by bit. A mask
    adds the lowest number to closed scores, so a row that may attend to nothing gets even weights; one that closes
    nothing adds nothing. A long attention (`is_fused`) whose weights follow from its queries and keys runs in one
    kernel, with the hook and without, unless its weights are edited.
    """
    now = PASS.get()
    if (
        attention_mask is not None and attention_mask.dtype != torch.bool
    ):  # one of the model's own making, of two numbers
        attention_mask = attention_mask == 0
    site: _AttentionNames | None = module.__dict__.get(_SITE)
    hook = OFF if now is None or site is None else now.hook
    if now is not None and site is not None and hook is not OFF:
        query = hook(site.query, query)
        if now.start == 0 or not site.is_cross:  # the memory's keys are made once
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
    """The weights [B, H, Q, K], as eager attention makes them. sink: [B, H, Q, 1], a number of no key, which takes its
    share of the softmax."""
    scores = query @ key.transpose(2, 3)  # nobody else's, so written into from here on
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
    """What the heads give out [B, H, Q, E], without their weights in memory."""
    if added is not None and bias is None and added.is_causal:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
    numbers = (
        bias if added is None or added.numbers is None else added.numbers if bias is None else bias + added.numbers
    )
    return F.scaled_dot_product_attention(query, key, value, attn_mask=numbers, scale=scaling)


def boolean_mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """The mask as transformers describes it, always Boolean; None where it closes nothing and transformers would leave
    it out, so that `Pass.open_mask` stands for it, unless its rule is asked for."""
    now = PASS.get()
    ruled = now is not None and isinstance(now.hook, MaskRuleRecorder)
    made = {"allow_is_causal_skip": False} | ({"allow_is_bidirectional_skip": False} if ruled else {})
    mask: Tensor | None = sdpa_mask(*args, **{**kwargs, **made})
    if mask is not None and now is not None and ruled:
        now.rules[id(mask)] = mask, kwargs.get("mask_function", causal_mask_function)
    return mask


def register() -> None:
    """Make both functions known to transformers under their name."""
    AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, boolean_mask)


# --- what modules are called with, and give out


class Listening:
    """What a module is listened to for, in the place of its `forward`: cheaper than hooks, of which each module with
    one pays for all. It knows the module without keeping it."""

    def __init__(self, module: nn.Module) -> None:
        self._module = ref(module)
        self.before: list[Before] = []
        self.around: list[Around] = []
        self.after: list[After] = []
        own = type(module).forward
        module.__dict__["forward"] = _forward(own, self._module, self.before, self.around, self.after)

    def remove(self) -> None:
        """The module's own `forward` again."""
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
    """Listen to a model without its head for these points."""
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
    """Hear what the function that turns queries and keys is given, in the file of this attention's class, once for all
    models of that file: it turns what comes back."""
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
    """Says what comes by head, [B, H, T, E], or by token with all heads beside each other."""

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
    """The value after the hook. Where a layer puts the rows of all texts below each other they are said text by text,
    and so where it has tokens first."""
    if tokens_first:
        changed = now.hook(name, turned := value.transpose(0, 1))
        return value if changed is turned else changed.transpose(0, 1)
    if value.dim() != 2:
        return now.hook(name, value)
    texts = value.view(now.batch, -1, value.size(-1))
    changed = now.hook(name, texts)
    return value if changed is texts else changed.flatten(0, 1)


class _Ears:
    """Where a model is listened to: for points that are not said, nowhere."""

    def __init__(self, points: Collection[str], attentions: Mapping[str, Heads]) -> None:
        self.points, self.attentions, self.listening = points, attentions, dict[nn.Module, Listening]()
        self.tokens_first = False

    def begins(self, module: nn.Module, stack: StackName) -> None:
        """Know which stack is at work: a module may embed for both."""

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            now.stack = stack
            return args, kwargs

        self._at(module).before.append(hear)

    def reads(self, module: nn.Module, *names: str) -> None:
        """Say what the module is called with; it goes on with what comes back."""
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
        """Say what the module gives out: a tensor, the first of several, or what a stack calls its last state. Where
        the model writes into it (`rewritten`), it gets a copy."""
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
        """Say queries and keys before positions turn them."""

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
        """Say what an attention makes that runs by itself."""
        heads = self.attentions[site]

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            now.mask, args, kwargs = with_mask(place, args, kwargs)
            return args, kwargs

        def around(now: Pass) -> FunctionalHookMode:
            return FunctionalHookMode(now.hook, site, attention, place, heads, mask=now.mask, start=now.start)

        self._at(attention).before.append(hear)
        self._at(attention).around.append(around)

    def makes_heads(self, attention: nn.Module, place: AttentionPlace, site: _AttentionNames) -> None:
        """Say queries and keys before positions turn a part of them, where the attention makes them: by their maps, or
        by norms of each head behind these."""
        for path, norm, name in zip(place.maps[:2], place.normed, site.unturned, strict=True):
            if name in self.points:
                made = attention.get_submodule(norm if _has(attention, norm) else path)
                self._at(made).after.append(_heads_heard(name, self.attentions[name.rpartition(".")[0]].size))

    def chooses(self, router: nn.Module, experts: nn.Module, part: str) -> None:
        """Say the router's numbers, which its first linear map makes, so that it chooses by what comes back; and what
        the output of each expert is multiplied by, so that those work that have a share then."""
        numbers, shares = f"{part}.router", f"{part}.experts"

        def hear(now: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            rows, chosen, weighed = args
            count: Any = experts.num_experts
            before = shares_of(chosen, weighed, int(count))
            changed = _said(now, shares, before)
            return (args if changed is before else (rows, *choose_experts(changed, chosen))), kwargs

        if numbers in self.points:
            self._at(router).around.append(lambda now: FirstLinear(lambda made: _said(now, numbers, made)))
        if shares in self.points:
            self._at(experts).before.append(hear)

    def stands_before(self, norm: nn.Module, name: str) -> None:
        """Say the stream that this norm reads, and that is added to again behind it: both go on with what comes back.

        The sum was made for these two alone, so an edit is written into it.
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
        """Say vectors of tokens, segments or positions, for each text; of tokens times the scale that the stack
        multiplies them by next, so an edit is divided by it."""

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
