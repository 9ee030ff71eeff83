"""A tiny model that is not our Transformer: it says of itself what the protocols ask, as other programs' models can.

A decoder alone without positions, RMS norms before each sub-layer, a gated feed-forward; four query heads over two key
heads in its first layer, six over three of other sizes in its second, where keys reach back four tokens. Two tokens end
an answer. It tells no parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from builders import TARGET
from torch import Tensor
from torch.nn.functional import silu

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.model.hook import OFF, Hook
from viz_transformer.model.hook_point import Growth, HookPoint
from viz_transformer.model.hooked_model import AttentionParameters, Heads, ModelSpec, Rows, TableName, Unavailable
from viz_transformer.model.kinds import StackName
from viz_transformer.text.codec import AS_USUAL, Encoded, TokenizerOptions, check_choices
from viz_transformer.text.rules import BeamSettings, TokenRule

D, F, V = 12, 20, len(TARGET)
LAYERS = (Heads(4, 2, 3, 5), Heads(6, 3, 2, 2, window=4))
UNTOLD = "this model keeps its parameters to itself"


def points() -> tuple[HookPoint, ...]:
    def of(name: str, *shape: str, grows: Growth = "rows") -> HookPoint:
        return HookPoint(f"decoder.{name}", ("B", *shape), f"as the other program names it: {name}", grows)

    found = [of("embed.token", "T", "D"), of("embed.out", "T", "D")]
    for layer in range(len(LAYERS)):
        a, f = f"{layer}.self", f"{layer}.ffn"
        found += [of(f"{layer}.residual_in", "T", "D"), of(f"{a}.in", "Q", "D"), of(f"{a}.query", "H", "Q", "E")]
        found += [of(f"{a}.key", "G", "K", "E"), of(f"{a}.value", "G", "K", "U")]
        found += [
            of(f"{a}.mask", "1", "Q", "K", grows="rows and keys"),
            of(f"{a}.weights", "H", "Q", "K", grows="rows and keys"),
        ]
        found += [
            of(f"{a}.head_out", "H", "Q", "U"),
            of(f"{a}.out", "Q", "D"),
            of(f"{layer}.residual_after_self", "T", "D"),
        ]
        found += [
            of(f"{f}.in", "T", "D"),
            of(f"{f}.hidden", "T", "F"),
            of(f"{f}.out", "T", "D"),
            of(f"{layer}.residual_out", "T", "D"),
        ]
    return (*found, of("out", "T", "D"), HookPoint("logits", ("B", "T", "V"), "one number for each token", "rows"))


SPEC = ModelSpec(
    kind="decoder-only",
    encoder_layers=0,
    decoder_layers=len(LAYERS),
    d_model=D,
    d_ff=F,
    attentions={f"decoder.{layer}.self": heads for layer, heads in enumerate(LAYERS)},
    recorded=points(),
    derived=tuple(
        HookPoint(f"decoder.{i}.self.scores", ("B", "H", "Q", "K"), "before the mask", "rows and keys")
        for i in range(2)
    ),
    missing={
        "decoder.embed.position": "this model adds no positions to its embeddings",
        **{f"decoder.{layer}.self.contribution": UNTOLD for layer in range(len(LAYERS))},
    },
    output="next token",
    norm="pre",
    final_norm=True,
    target_vocab_size=V,
    max_source=24,
    max_target=24,
)


class Foreign:
    """The instrument. Its numbers are drawn from the seed."""

    def __init__(self, seed: int = 0) -> None:
        drawn = torch.Generator().manual_seed(seed)

        def matrix(rows: int, columns: int) -> Tensor:
            return torch.randn(rows, columns, generator=drawn) * 1.5 / math.sqrt(columns)

        self._embedding, self._head = matrix(V, D) * 3, matrix(V, D)
        self._layers = [
            {
                "query": matrix(heads.query * heads.size, D),
                "key": matrix(heads.key * heads.size, D),
                "value": matrix(heads.key * heads.value_size, D),
                "out": matrix(D, heads.query * heads.value_size),
                "gate": matrix(F, D),
                "up": matrix(F, D),
                "down": matrix(D, F),
            }
            for heads in LAYERS
        ]

    @property
    def spec(self) -> ModelSpec:
        return SPEC

    @property
    def parameter_count(self) -> int:
        raise Unavailable(UNTOLD)

    def begin(self, sources: Rows | None, *, cached: bool = True, hook: Hook = OFF) -> Written:
        assert sources is None
        return Written(self, hook, [] if cached else None)

    def whole(self, sources: Rows | None, targets: Rows | None, *, hook: Hook = OFF) -> Tensor:
        assert sources is None and targets is not None
        return self.read(torch.tensor([list(row) for row in targets]), hook, None)

    def read_out(self, stream: Tensor, stack: StackName) -> Tensor:
        return _norm(stream) @ self._head.T

    def parameters_of(self, site: str) -> AttentionParameters:
        raise Unavailable(UNTOLD)

    def table(self, what: TableName, stack: StackName) -> Tensor:
        raise Unavailable(UNTOLD)

    def frequencies(self) -> dict[str, Tensor]:
        return {}

    def scalars(self) -> dict[str, float]:
        return {f"decoder.{layer}.self.divisor": math.sqrt(heads.size) for layer, heads in enumerate(LAYERS)}

    def read(self, ids: Tensor, hook: Hook, cache: list[tuple[Tensor, Tensor]] | None) -> Tensor:
        """ids: [B, T] -> logits [B, T, V]; keys and values of each layer are kept in the cache."""
        hook_d = hook.scope("decoder")
        x = hook_d.scope("embed")("out", hook_d.scope("embed")("token", self._embedding[ids]))
        held = list(cache or [])
        for layer, (heads, maps) in enumerate(zip(LAYERS, self._layers, strict=True)):
            at = hook_d.scope(str(layer))
            x = at("residual_in", x)
            x = at("residual_after_self", x + self._attend(x, heads, maps, at.scope("self"), held, layer))
            ffn = at.scope("ffn")
            read = ffn("in", _norm(x))
            hidden = ffn("hidden", silu(read @ maps["gate"].T) * (read @ maps["up"].T))
            x = at("residual_out", x + ffn("out", hidden @ maps["down"].T))
        if cache is not None:
            cache[:] = held
        return hook("logits", hook_d("out", _norm(x)) @ self._head.T)

    def _attend(
        self,
        x: Tensor,
        heads: Heads,
        maps: dict[str, Tensor],
        hook: Hook,
        held: list[tuple[Tensor, Tensor]],
        layer: int,
    ) -> Tensor:
        read = hook("in", _norm(x))
        query = hook("query", _split(read @ maps["query"].T, heads.query))
        key = hook("key", _split(read @ maps["key"].T, heads.key))
        value = hook("value", _split(read @ maps["value"].T, heads.key))
        if layer < len(held):
            key, value = (torch.cat(both, dim=2) for both in zip(held[layer], (key, value), strict=True))
            held[layer] = key, value
        else:
            held.append((key, value))
        new, all_keys = query.size(2), key.size(2)
        behind = torch.arange(all_keys - new, all_keys)[:, None] - torch.arange(all_keys)
        mask = hook("mask", ((behind >= 0) & (behind < (heads.window or all_keys)))[None, None])
        shared = heads.query // heads.key
        scores = query @ key.repeat_interleave(shared, dim=1).transpose(2, 3) / math.sqrt(heads.size)
        weights = hook("weights", scores.masked_fill(~mask, -torch.inf).softmax(dim=-1))
        mixed = hook("head_out", weights @ value.repeat_interleave(shared, dim=1))
        return hook("out", mixed.transpose(1, 2).flatten(2) @ maps["out"].T)


class Written:
    """Its decoder in the middle of an answer."""

    def __init__(self, model: Foreign, hook: Hook, cache: list[tuple[Tensor, Tensor]] | None) -> None:
        self._model, self._hook, self._cache = model, hook, cache
        self._read: list[list[int]] = []

    @property
    def length(self) -> int:
        return self._cache[0][0].size(2) if self._cache else 0

    def step(self, new: Sequence[Sequence[int]]) -> Tensor:
        if self._cache is None:
            self._read = [[*old, *row] for old, row in zip(self._read or [[] for _ in new], new, strict=True)]
            new = self._read
        return self._model.read(torch.tensor([list(row) for row in new]), self._hook, self._cache)[:, -1]

    def select(self, rows: Sequence[int]) -> None:
        if self._cache is None:
            self._read = [self._read[row] for row in rows]
        else:
            self._cache[:] = [(key[list(rows)], value[list(rows)]) for key, value in self._cache]


class ForeignCodec:
    """Letters, as another program cuts and names them: a text begins with "<s>", "</s>" and "z" end one."""

    names = TARGET
    special_ids = frozenset({0, 1, 2})
    start: int | None = 1
    forced_start: tuple[int, ...] = ()
    banned = frozenset[int]()
    rules: tuple[TokenRule, ...] = ()
    beam_settings: BeamSettings | None = None
    ends = frozenset({2, TARGET.index("z")})
    padding: int | None = None
    unknown: int | None = 3
    mask: int | None = None
    adds_end = False
    splits_characters = True
    reads_pairs = False
    choices: tuple[str, ...] = ()
    how_read = AS_USUAL

    @property
    def languages(self) -> Mapping[str, int]:
        return {}

    def read_as(self, how: TokenizerOptions) -> ForeignCodec:
        check_choices(how, ())
        return self

    def second(self, ids: Sequence[int]) -> int | None:
        return None

    def continuation(self, id: int) -> str | None:
        return None

    def encode(self, text: str) -> Encoded:
        if not text.strip():
            raise ValueError("the text is empty: type at least one character")
        known = [TARGET.index(each) if each in TARGET else 3 for each in text]
        ids = (1, *known)
        originals = ("<s>", *text)
        unknown = tuple(place for place, i in enumerate(ids) if i == 3)
        return Encoded(ids, tuple(TARGET[i] for i in ids), originals, unknown)

    def encode_ids(self, ids: Iterable[int]) -> Encoded:
        given = tuple(ids)
        if not given or not all(0 <= i < len(TARGET) for i in given):
            raise ValueError(f"ids go from 0 to {len(TARGET) - 1}, and at least one is needed")
        tokens = tuple(TARGET[i] for i in given)
        return Encoded(given, tokens, tokens, ())

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(TARGET[i] for i in ids if i not in self.special_ids)


def foreign_checkpoint(seed: int = 0) -> Checkpoint:
    return Checkpoint(
        name="foreign",
        path=None,
        hooked_model=Foreign(seed),
        source_codec=None,
        target_codec=ForeignCodec(),
        card={},
        weights_sha256=f"foreign-{seed}",
    )


def foreign_summary(folder: Path) -> Summary:
    return Summary("foreign", folder, SPEC, {"source": None, "target": None}, {})


def _norm(x: Tensor) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()


def _split(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)
