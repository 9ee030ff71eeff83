"""Models as tutorials and libraries define them, written from their descriptions: who made a stranger's file.

None of it uses the program's own model. Every attention appends its weights to `MAPS`, in the order in which it runs:
[B, H, Q, K] float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MAPS: list[Tensor] = []


def heads(x: Tensor, n: int) -> Tensor:
    return x.view(x.size(0), x.size(1), n, -1).transpose(1, 2)


def attend(q: Tensor, k: Tensor, v: Tensor, divisor: float | Tensor, keep: Tensor | None, fill: float) -> Tensor:
    """Weights, noted, times values: [B, H, Q, E]."""
    scores = q @ k.transpose(-2, -1) / divisor
    if keep is not None:
        scores = scores.masked_fill(~keep, fill)
    weights = scores.softmax(-1)
    MAPS.append(weights.detach().clone())
    return weights @ v


def merged(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.size(0), x.size(2), -1)


def causal(n: int) -> Tensor:
    return torch.ones(n, n).tril().bool()


def sinusoid(length: int, d: int, factor: float = 1.0) -> Tensor:
    """[sin, cos, sin, cos, ...]; factor 2 is the doubled exponent."""
    position, column = torch.arange(length).double()[:, None], torch.arange(0, d, 2).double()
    angle = position / 10_000 ** (factor * column / d)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1).float()


class Four(nn.Module):
    """Four maps under any names, and what is done with them."""

    def __init__(self, d: int, h: int, names: tuple[str, str, str, str], *, bias: bool = True, fill: float = -1e10):
        super().__init__()
        self.h, self.names, self.fill = h, names, fill
        for name in names:
            self.add_module(name, nn.Linear(d, d, bias=bias))
        self.divisor: float | Tensor = math.sqrt(d / h)

    def forward(self, x: Tensor, memory: Tensor, keep: Tensor | None = None) -> Tensor:
        q, k, v, o = (getattr(self, name) for name in self.names)
        divisor = getattr(self, "scale", self.divisor)
        out = attend(heads(q(x), self.h), heads(k(memory), self.h), heads(v(memory), self.h), divisor, keep, self.fill)
        y: Tensor = o(merged(out))
        return y


# --- A: the English-Italian notebook


class ParameterNorm(nn.Module):
    """Over positions and features together."""

    def __init__(self, d: int):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.randn(d)), nn.Parameter(torch.randn(d))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean((-1, -2), keepdim=True)
        variance = ((x - mean) ** 2).mean((-1, -2), keepdim=True)
        return self.gamma * (x - mean) / (variance + 1e-5).sqrt() + self.beta


class SentenceEmbedding(nn.Module):
    def __init__(self, vocab: int, d: int, length: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d)
        self.length, self.d = length, d

    def forward(self, ids: Tensor) -> Tensor:
        x: Tensor = self.embedding(ids) + sinusoid(self.length, self.d, 2.0)
        return x


class FeedForward(nn.Module):
    def __init__(self, d: int, hidden: int, first: str = "linear1", second: str = "linear2"):
        super().__init__()
        self.add_module(first, nn.Linear(d, hidden))
        self.add_module(second, nn.Linear(hidden, d))
        self.names = first, second

    def forward(self, x: Tensor) -> Tensor:
        first, second = (getattr(self, name) for name in self.names)
        y: Tensor = second(F.relu(first(x)))
        return y


class FusedAttention(nn.Module):
    """One map for query, key and value, by head; its heads are joined without moving them back."""

    def __init__(self, d: int, h: int):
        super().__init__()
        self.h = h
        self.qkv_layer, self.linear_layer = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x: Tensor, added: Tensor) -> Tensor:
        batch, length, d = x.shape
        q, k, v = self.qkv_layer(x).reshape(batch, length, self.h, -1).permute(0, 2, 1, 3).chunk(3, -1)
        return self.linear_layer(_added(q, k, v, added).reshape(batch, length, d))  # type: ignore[no-any-return]


class FusedCross(nn.Module):
    def __init__(self, d: int, h: int):
        super().__init__()
        self.h = h
        self.kv_layer, self.q_layer, self.linear_layer = nn.Linear(d, 2 * d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, memory: Tensor, y: Tensor, added: Tensor) -> Tensor:
        batch, length, d = y.shape
        k, v = self.kv_layer(memory).reshape(batch, memory.size(1), self.h, -1).permute(0, 2, 1, 3).chunk(2, -1)
        q = self.q_layer(y).reshape(batch, length, self.h, -1).permute(0, 2, 1, 3)
        return self.linear_layer(_added(q, k, v, added).reshape(batch, length, d))  # type: ignore[no-any-return]


def _added(q: Tensor, k: Tensor, v: Tensor, added: Tensor) -> Tensor:
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
    weights = (scores.permute(1, 0, 2, 3) + added).permute(1, 0, 2, 3).softmax(-1)
    MAPS.append(weights.detach().clone())
    return weights @ v


class NotebookEncoderLayer(nn.Module):
    def __init__(self, d: int, h: int, ff: int):
        super().__init__()
        self.attention, self.norm1 = FusedAttention(d, h), ParameterNorm(d)
        self.ffn, self.norm2 = FeedForward(d, ff), ParameterNorm(d)

    def forward(self, x: Tensor, added: Tensor) -> Tensor:
        x = self.norm1(self.attention(x, added) + x)
        return self.norm2(self.ffn(x) + x)  # type: ignore[no-any-return]


class NotebookDecoderLayer(nn.Module):
    def __init__(self, d: int, h: int, ff: int):
        super().__init__()
        self.self_attention, self.layer_norm1 = FusedAttention(d, h), ParameterNorm(d)
        self.encoder_decoder_attention, self.layer_norm2 = FusedCross(d, h), ParameterNorm(d)
        self.ffn, self.layer_norm3 = FeedForward(d, ff), ParameterNorm(d)

    def forward(self, memory: Tensor, y: Tensor, added: Tensor, crossing: Tensor) -> Tensor:
        y = self.layer_norm1(self.self_attention(y, added) + y)
        y = self.layer_norm2(self.encoder_decoder_attention(memory, y, crossing) + y)
        return self.layer_norm3(self.ffn(y) + y)  # type: ignore[no-any-return]


class Part(nn.Module):
    """A stack under its names: an embedding and layers."""

    def __init__(self, layers: list[nn.Module], **named: nn.Module):
        super().__init__()
        for name, module in named.items():
            self.add_module(name, module)
        self.layers = nn.ModuleList(layers)


class Notebook(nn.Module):
    """A: reads and writes texts of one length, padded with 1."""

    def __init__(self, d: int = 24, h: int = 3, ff: int = 20, length: int = 9, source: int = 14, target: int = 13):
        super().__init__()
        self.length = length
        self.encoder = Part(
            [NotebookEncoderLayer(d, h, ff) for _ in range(2)],
            sentence_embedding=SentenceEmbedding(source, d, length),
        )
        self.decoder = Part(
            [NotebookDecoderLayer(d, h, ff) for _ in range(2)],
            sentence_embedding=SentenceEmbedding(target, d, length),
        )
        self.linear = nn.Linear(d, target)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src, tgt = (F.pad(ids, (0, self.length - ids.size(1)), value=1) for ids in (src, tgt))
        s, t = src == 1, tgt == 1
        encoder = (s[:, :, None] | s[:, None, :]).float() * -1e9
        look_ahead = ~causal(self.length)
        decoder = (t[:, :, None] | t[:, None, :] | look_ahead).float() * -1e9
        crossing = (t[:, None, :] | s[:, :, None]).float() * -1e9  # the target's on keys, the source's on queries
        x = self.encoder.sentence_embedding(src)
        for layer in self.encoder.layers:
            x = layer(x, encoder)
        y = self.decoder.sentence_embedding(tgt)
        for layer in self.decoder.layers:
            y = layer(x, y, decoder, crossing)
        return self.linear(y)  # type: ignore[no-any-return]


# --- B and E: post-norm, learned positions


class LearnedStack(nn.Module):
    def __init__(self, vocab: int, length: int, d: int, layers: list[nn.Module], multiplied: str):
        super().__init__()
        self.tok_embedding, self.pos_embedding = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.layers = nn.ModuleList(layers)
        self.multiplied = multiplied
        if multiplied == "learned":
            self.scale = nn.Parameter(torch.tensor([math.sqrt(d) + 0.3]))

    def start(self, ids: Tensor) -> Tensor:
        factor = {"one": 1.0, "sqrt": math.sqrt(self.tok_embedding.embedding_dim)}.get(self.multiplied)
        x: Tensor = self.tok_embedding(ids) * (self.scale if factor is None else factor)
        return x + self.pos_embedding(torch.arange(ids.size(1)))[None]  # type: ignore[no-any-return]


class PostLayer(nn.Module):
    """A layer of B or E: what its parts are called is all that differs."""

    def __init__(self, d: int, h: int, ff: int, maps: Any, named: dict[str, str], learned: bool = False):
        super().__init__()
        self.named = named
        for kind in ("self", "cross"):
            if kind in named:
                attention = Four(d, h, maps)
                if learned:
                    attention.scale = nn.Parameter(torch.tensor([math.sqrt(d) * 0.8]))
                self.add_module(named[kind], attention)
                self.add_module(named[f"{kind}_norm"], nn.LayerNorm(d))
        self.add_module(named["ffn"], FeedForward(d, ff, *named["linears"].split()))
        self.add_module(named["ffn_norm"], nn.LayerNorm(d))

    def part(self, name: str) -> Any:
        return getattr(self, self.named[name])

    def forward(self, x: Tensor, keep: Tensor, memory: Tensor | None = None, seen: Tensor | None = None) -> Tensor:
        x = self.part("self_norm")(x + self.part("self")(x, x, keep))
        if memory is not None:
            x = self.part("cross_norm")(x + self.part("cross")(x, memory, seen))
        return self.part("ffn_norm")(x + self.part("ffn")(x))  # type: ignore[no-any-return]


class TwoLearned(nn.Module):
    """B (`tutorial6`) or E (`fsu`); `learned` is E's later edition, with scales that are trained."""

    def __init__(self, which: str, learned: bool = False, d: int = 24, h: int = 3, ff: int = 20, pad: int = 0):
        super().__init__()
        self.pad = pad
        b = which == "tutorial6"
        maps = ("fc_q", "fc_k", "fc_v", "fc_o") if b else ("linear_Q", "linear_K", "linear_V", "linear_O")
        linears = "fc_1 fc_2" if b else "linear_1 linear_2"
        self_norm, ffn_norm = (
            ("self_attn_layer_norm", "ff_layer_norm") if b else ("self_attention_norm", "feedforward_norm")
        )
        encoder = {"self": "self_attention", "self_norm": self_norm, "linears": linears, "ffn_norm": ffn_norm}
        encoder["ffn"] = "positionwise_feedforward" if b else "feedforward"
        cross, cross_norm = ("encoder_attention", "enc_attn_layer_norm") if b else ("attention", "attention_norm")
        multiplied = "learned" if learned else "one" if b else "sqrt"
        made = [
            [PostLayer(d, h, ff, maps, named, learned) for _ in range(2)]
            for named in (encoder, {**encoder, "cross": cross, "cross_norm": cross_norm})
        ]
        self.encoder = LearnedStack(14, 12, d, [*made[0]], multiplied)
        self.decoder = LearnedStack(13, 15, d, [*made[1]], multiplied)
        self.last = "fc_out" if b else "linear"
        self.decoder.add_module(self.last, nn.Linear(d, 13))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        seen = (src != self.pad)[:, None, None, :]
        keep = (tgt != self.pad)[:, None, None, :] & causal(tgt.size(1))
        x = self.encoder.start(src)
        for layer in self.encoder.layers:
            x = layer(x, seen)
        y = self.decoder.start(tgt)
        for layer in self.decoder.layers:
            y = layer(y, keep, x, seen)
        return getattr(self.decoder, self.last)(y)  # type: ignore[no-any-return]


# --- C: The Annotated Transformer


class AnnotatedNorm(nn.Module):
    def __init__(self, d: int):
        super().__init__()
        self.a_2, self.b_2 = nn.Parameter(torch.rand(d) + 0.5), nn.Parameter(torch.randn(d))

    def forward(self, x: Tensor) -> Tensor:
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.b_2


class Clones(nn.Module):
    def __init__(self, d: int, h: int):
        super().__init__()
        self.h = h
        self.linears = nn.ModuleList(nn.Linear(d, d) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, keep: Tensor | None) -> Tensor:
        q, k, v = (heads(f(y), self.h) for f, y in zip(self.linears, (x, memory, memory), strict=False))
        return self.linears[3](merged(attend(q, k, v, math.sqrt(q.size(-1)), keep, -1e9)))  # type: ignore[no-any-return]


class Sublayer(nn.Module):
    def __init__(self, d: int):
        super().__init__()
        self.norm = AnnotatedNorm(d)


class AnnotatedLayer(nn.Module):
    def __init__(self, d: int, h: int, ff: int, crossing: bool):
        super().__init__()
        self.self_attn = Clones(d, h)
        if crossing:
            self.src_attn = Clones(d, h)
        self.feed_forward = FeedForward(d, ff, "w_1", "w_2")
        self.sublayer = nn.ModuleList(Sublayer(d) for _ in range(3 if crossing else 2))

    def forward(self, x: Tensor, keep: Tensor | None, memory: Tensor | None = None) -> Tensor:
        read = self.sublayer[0].norm(x)
        x = x + self.self_attn(read, read, keep)
        if memory is not None:
            x = x + self.src_attn(self.sublayer[1].norm(x), memory, None)
        return x + self.feed_forward(self.sublayer[-1].norm(x))  # type: ignore[no-any-return]


class Table(nn.Module):
    """A sinusoid in a buffer."""

    def __init__(self, d: int, length: int = 40, *, persistent: bool = True):
        super().__init__()
        self.register_buffer("pe", sinusoid(length, d)[None], persistent=persistent)

    def forward(self, x: Tensor) -> Tensor:
        pe: Any = self.pe
        return x + pe[:, : x.size(1)]  # type: ignore[no-any-return]


class Lut(nn.Module):
    def __init__(self, d: int, vocab: int):
        super().__init__()
        self.lut = nn.Embedding(vocab, d)

    def forward(self, ids: Tensor) -> Tensor:
        x: Tensor = self.lut(ids) * math.sqrt(self.lut.embedding_dim)
        return x


class Generator(nn.Module):
    def __init__(self, d: int, vocab: int):
        super().__init__()
        self.proj = nn.Linear(d, vocab)


class Annotated(nn.Module):
    def __init__(self, torch_norm: bool, d: int = 24, h: int = 3, ff: int = 20):
        super().__init__()
        self.encoder = Part(
            [AnnotatedLayer(d, h, ff, False) for _ in range(2)],
            norm=nn.LayerNorm(d) if torch_norm else AnnotatedNorm(d),
        )
        self.decoder = Part([AnnotatedLayer(d, h, ff, True) for _ in range(2)], norm=AnnotatedNorm(d))
        self.src_embed, self.tgt_embed = nn.Sequential(Lut(d, 14), Table(d)), nn.Sequential(Lut(d, 13), Table(d))
        self.generator = Generator(d, 13)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x, y = self.src_embed(src), self.tgt_embed(tgt)
        for layer in self.encoder.layers:
            x = layer(x, None)
        x = self.encoder.norm(x)
        for layer in self.decoder.layers:
            y = layer(y, causal(tgt.size(1)), x)
        return self.generator.proj(self.decoder.norm(y))  # type: ignore[no-any-return]


# --- D: the lab, time first


class LabLayer(nn.Module):
    def __init__(self, d: int, h: int, ff: int, crossing: bool):
        super().__init__()
        maps = ("proj_q", "proj_k", "proj_v", "proj_o")
        self.self_attn, self.norm1 = Four(d, h, maps, fill=-math.inf), nn.LayerNorm(d)
        if crossing:
            self.encdec_attn, self.norm2 = Four(d, h, maps, fill=-math.inf), nn.LayerNorm(d)
        self.ffn = nn.Sequential(nn.Linear(d, ff), nn.Dropout(0.1), nn.ReLU(), nn.Linear(ff, d))
        self.add_module("norm3" if crossing else "norm2", nn.LayerNorm(d))

    def forward(self, x: Tensor, keep: Tensor | None, memory: Tensor | None = None) -> Tensor:
        x = self.norm1(x + self.self_attn(x, x, keep))
        if memory is not None:
            x = self.norm2(x + self.encdec_attn(x, memory, None))
        last = self.norm2 if memory is None else self.norm3
        return last(x + self.ffn(x))  # type: ignore[no-any-return]


class Lab(nn.Module):
    def __init__(self, d: int = 24, h: int = 3, ff: int = 20):
        super().__init__()
        self.encoder = Part(
            [LabLayer(d, h, ff, False) for _ in range(2)],
            embedding=nn.Embedding(14, d),
            pos_encoding=Table(d, persistent=False),
        )
        self.decoder = Part(
            [LabLayer(d, h, ff, True) for _ in range(2)],
            embedding=nn.Embedding(13, d),
            pos_encoding=Table(d, persistent=False),
            proj=nn.Linear(d, 13),
        )

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x = self.encoder.pos_encoding(self.encoder.embedding(src))
        for layer in self.encoder.layers:
            x = layer(x, None)
        y = self.decoder.pos_encoding(self.decoder.embedding(tgt))
        for layer in self.decoder.layers:
            y = layer(y, causal(tgt.size(1)), x)
        return self.decoder.proj(y)  # type: ignore[no-any-return]


# --- torch's own


class TorchSeq2Seq(nn.Module):
    """nn.Transformer with embeddings and a generator, as PyTorch's translation tutorial has it."""

    def __init__(self, norm_first: bool, d: int = 24, h: int = 3, ff: int = 20):
        super().__init__()
        self.d = d
        self.transformer = nn.Transformer(d, h, 2, 2, ff, batch_first=True, norm_first=norm_first)
        self.generator = nn.Linear(d, 13)
        self.src_tok_emb, self.tgt_tok_emb = nn.Module(), nn.Module()
        self.src_tok_emb.embedding, self.tgt_tok_emb.embedding = nn.Embedding(14, d), nn.Embedding(13, d)
        self.positional_encoding = nn.Module()
        self.positional_encoding.register_buffer("pos_embedding", sinusoid(40, d)[:, None])

    def _start(self, table: Any, ids: Tensor) -> Tensor:
        pe: Any = self.positional_encoding.pos_embedding
        return table.embedding(ids) * math.sqrt(self.d) + pe[: ids.size(1), 0]  # type: ignore[no-any-return]

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        ahead = ~causal(tgt.size(1))
        x = self.transformer(self._start(self.src_tok_emb, src), self._start(self.tgt_tok_emb, tgt), tgt_mask=ahead)
        return self.generator(x)  # type: ignore[no-any-return]


class TorchLanguageModel(nn.Module):
    """nn.TransformerEncoder with a causal mask, as PyTorch's language-modelling tutorial has it."""

    def __init__(self, d: int = 24, h: int = 3, ff: int = 20):
        super().__init__()
        self.d = d
        self.pos_encoder = Table(d)
        layer = nn.TransformerEncoderLayer(d, h, ff, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.embedding = nn.Embedding(13, d)
        self.linear = nn.Linear(d, 13)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.pos_encoder(self.embedding(ids) * math.sqrt(self.d))
        return self.linear(self.transformer_encoder(x, mask=~causal(ids.size(1))))  # type: ignore[no-any-return]


# --- GPTs


class GptAttention(nn.Module):
    def __init__(self, d: int, h: int, bias: bool):
        super().__init__()
        self.h = h
        self.c_attn, self.c_proj = nn.Linear(d, 3 * d, bias=bias), nn.Linear(d, d, bias=bias)
        self.register_buffer("bias", torch.ones(16, 16).tril().view(1, 1, 16, 16))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (heads(part, self.h) for part in self.c_attn(x).chunk(3, -1))
        keep = causal(x.size(1))
        return self.c_proj(merged(attend(q, k, v, math.sqrt(q.size(-1)), keep, -math.inf)))  # type: ignore[no-any-return]


class NormWithoutBias(nn.Module):
    def __init__(self, d: int, bias: bool):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(d) + 0.5)
        self.bias = nn.Parameter(torch.randn(d)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class GptBlock(nn.Module):
    def __init__(self, d: int, h: int, bias: bool, activation: Any):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = NormWithoutBias(d, bias), GptAttention(d, h, bias), NormWithoutBias(d, bias)
        self.mlp = nn.Module()
        self.mlp.c_fc, self.mlp.c_proj = nn.Linear(d, 4 * d, bias=bias), nn.Linear(4 * d, d, bias=bias)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp.c_proj(self.activation(self.mlp.c_fc(self.ln_2(x))))  # type: ignore[no-any-return]


class Gpt(nn.Module):
    """nanoGPT (tied, exact GELU) or minGPT (untied, GELU by tanh)."""

    def __init__(self, mini: bool, bias: bool = True, d: int = 24, h: int = 3):
        super().__init__()
        activation = nn.GELU(approximate="tanh" if mini else "none")
        named = {"wte": nn.Embedding(13, d), "wpe": nn.Embedding(16, d), "ln_f": NormWithoutBias(d, bias)}
        self.transformer = nn.ModuleDict(
            {**named, "h": nn.ModuleList(GptBlock(d, h, bias, activation) for _ in range(2))}
        )
        self.lm_head = nn.Linear(d, 13, bias=False)
        if not mini:
            self.lm_head.weight = named["wte"].weight  # type: ignore[assignment]

    def forward(self, ids: Tensor) -> Tensor:
        parts: Any = self.transformer
        x = parts["wte"](ids) + parts["wpe"](torch.arange(ids.size(1)))
        for block in parts["h"]:
            x = block(x)
        return self.lm_head(parts["ln_f"](x))  # type: ignore[no-any-return]


class LectureHead(nn.Module):
    def __init__(self, d: int, size: int):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(d, size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.ones(16, 16).tril())


class Lecture(nn.Module):
    """A GPT with one map for each head, as it is written in a lecture."""

    def __init__(self, d: int = 24, h: int = 3):
        super().__init__()
        self.h, self.d = h, d
        self.token_embedding_table, self.position_embedding_table = nn.Embedding(13, d), nn.Embedding(16, d)
        self.blocks = nn.Sequential(*(self._block() for _ in range(2)))
        self.ln_f, self.lm_head = nn.LayerNorm(d), nn.Linear(d, 13)

    def _block(self) -> nn.Module:
        block: Any = nn.Module()
        block.sa = nn.Module()
        block.sa.heads = nn.ModuleList(LectureHead(self.d, self.d // self.h) for _ in range(self.h))
        block.sa.proj = nn.Linear(self.d, self.d)
        block.ffwd = nn.Module()
        block.ffwd.net = nn.Sequential(nn.Linear(self.d, 4 * self.d), nn.ReLU(), nn.Linear(4 * self.d, self.d))
        block.ln1, block.ln2 = nn.LayerNorm(self.d), nn.LayerNorm(self.d)
        return block  # type: ignore[no-any-return]

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token_embedding_table(ids) + self.position_embedding_table(torch.arange(ids.size(1)))
        for block in self.blocks:
            read = block.ln1(x)
            q, k, v = (
                torch.stack([getattr(head, name)(read) for head in block.sa.heads], 1)
                for name in ("query", "key", "value")
            )
            out = attend(q, k, v, math.sqrt(q.size(-1)), causal(ids.size(1)), -math.inf)
            x = x + block.sa.proj(merged(out))
            x = x + block.ffwd.net(block.ln2(x))
        return self.lm_head(self.ln_f(x))  # type: ignore[no-any-return]


def without_last_norm(folder: Path) -> Path:
    """A whole training's file m.pt in this folder: a lecture's GPT whose last norm has a name of its own, ln_last, and
    the state of the optimizer."""
    torch.manual_seed(0)
    model = Lecture()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.tensor([[1, 2, 3]])).sum().backward()
    optimizer.step()
    state = {name.replace("ln_f", "ln_last"): tensor for name, tensor in model.state_dict().items()}
    torch.save({"model": state, "optimizer": optimizer.state_dict()}, folder / "m.pt")
    return folder


class Reader(nn.Module):
    """An encoder alone that gives one of 5 labels to each token, or to the text: as a tutorial writes one."""

    def __init__(self, pooling: str, d: int = 24, h: int = 3, ff: int = 20):
        super().__init__()
        self.pooling = pooling
        self.embedding, self.pos_embedding = nn.Embedding(14, d), nn.Embedding(16, d)
        layer = nn.TransformerEncoderLayer(d, h, ff, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classifier = nn.Linear(d, 5)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.encoder(self.embedding(ids) + self.pos_embedding(torch.arange(ids.size(1))))
        x = {"none": x, "mean": x.mean(1), "first": x[:, 0], "last": x[:, -1]}[self.pooling]
        return self.classifier(x)  # type: ignore[no-any-return]


# --- fairseq and OpenNMT-py


class FairLayer(nn.Module):
    def __init__(self, d: int, h: int, ff: int, crossing: bool, pre: bool):
        super().__init__()
        maps = ("q_proj", "k_proj", "v_proj", "out_proj")
        self.pre = pre
        self.self_attn, self.self_attn_layer_norm = Four(d, h, maps, fill=-math.inf), nn.LayerNorm(d)
        if crossing:
            self.encoder_attn, self.encoder_attn_layer_norm = Four(d, h, maps, fill=-math.inf), nn.LayerNorm(d)
        self.fc1, self.fc2, self.final_layer_norm = nn.Linear(d, ff), nn.Linear(ff, d), nn.LayerNorm(d)

    def _around(self, norm: nn.Module, x: Tensor, inner: Any) -> Tensor:
        return x + inner(norm(x)) if self.pre else norm(x + inner(x))  # type: ignore[no-any-return]

    def forward(self, x: Tensor, keep: Tensor | None, memory: Tensor | None = None) -> Tensor:
        x = self._around(self.self_attn_layer_norm, x, lambda y: self.self_attn(y, y, keep))
        if memory is not None:
            x = self._around(self.encoder_attn_layer_norm, x, lambda y: self.encoder_attn(y, memory, None))
        return self._around(self.final_layer_norm, x, lambda y: self.fc2(F.relu(self.fc1(y))))


class Fairseq(nn.Module):
    """Its sinusoid: sines, then cosines, exponents over half - 1, the first token at 2."""

    def __init__(self, pre: bool, d: int = 24, h: int = 3, ff: int = 20):
        super().__init__()
        self.d, self.pre = d, pre
        for name, vocab in (("encoder", 14), ("decoder", 13)):
            layers = [FairLayer(d, h, ff, name == "decoder", pre) for _ in range(2)]
            norm = {"layer_norm": nn.LayerNorm(d)} if pre else {}
            stack = Part([*layers], embed_tokens=nn.Embedding(vocab, d), **norm)
            stack.register_buffer("version", torch.tensor([3.0]))
            self.add_module(name, stack)
        self.decoder.output_projection = nn.Linear(d, 13, bias=False)

    def _start(self, stack: Any, ids: Tensor) -> Tensor:
        half = self.d // 2
        frequency = torch.exp(torch.arange(half).double() * -(math.log(10_000) / (half - 1)))
        angle = torch.arange(2, ids.size(1) + 2).double()[:, None] * frequency
        return stack.embed_tokens(ids) * math.sqrt(self.d) + torch.cat((angle.sin(), angle.cos()), 1).float()  # type: ignore[no-any-return]

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        encoder: Any = self.encoder
        decoder: Any = self.decoder
        x, y = self._start(encoder, src), self._start(decoder, tgt)
        for layer in encoder.layers:
            x = layer(x, None)
        x = encoder.layer_norm(x) if self.pre else x
        for layer in decoder.layers:
            y = layer(y, causal(tgt.size(1)), x)
        return decoder.output_projection(decoder.layer_norm(y) if self.pre else y)  # type: ignore[no-any-return]


class OpenNmtLayer(nn.Module):
    def __init__(self, d: int, h: int, ff: int, crossing: bool):
        super().__init__()
        maps = ("linear_query", "linear_keys", "linear_values", "final_linear")
        self.self_attn = Four(d, h, maps, fill=-1e18)
        self.feed_forward: Any = nn.Module()
        self.feed_forward.w_1, self.feed_forward.w_2 = nn.Linear(d, ff), nn.Linear(ff, d)
        self.feed_forward.layer_norm = nn.LayerNorm(d, eps=1e-6)
        self.first = "layer_norm_1" if crossing else "layer_norm"
        self.add_module(self.first, nn.LayerNorm(d, eps=1e-6))
        if crossing:
            self.context_attn, self.layer_norm_2 = Four(d, h, maps, fill=-1e18), nn.LayerNorm(d, eps=1e-6)

    def forward(self, x: Tensor, keep: Tensor | None, memory: Tensor | None = None) -> Tensor:
        read = getattr(self, self.first)(x)
        x = x + self.self_attn(read, read, keep)
        if memory is not None:
            x = x + self.context_attn(self.layer_norm_2(x), memory, None)
        part = self.feed_forward
        return x + part.w_2(F.relu(part.w_1(part.layer_norm(x))))  # type: ignore[no-any-return]


class OpenNmt(nn.Module):
    def __init__(self, d: int = 24, h: int = 3, ff: int = 20):
        super().__init__()
        self.d = d
        for name, layers, vocab in (("encoder", "transformer", 14), ("decoder", "transformer_layers", 13)):
            stack: Any = nn.Module()
            stack.embeddings = nn.Module()
            stack.embeddings.make_embedding = nn.Sequential()
            stack.embeddings.make_embedding.emb_luts = nn.ModuleList([nn.Embedding(vocab, d)])
            stack.embeddings.make_embedding.pe = Table(d)
            stack.add_module(layers, nn.ModuleList(OpenNmtLayer(d, h, ff, name == "decoder") for _ in range(2)))
            stack.layer_norm = nn.LayerNorm(d, eps=1e-6)
            self.add_module(name, stack)
        self.generator = nn.Sequential(nn.Linear(d, 13))

    def _start(self, stack: Any, ids: Tensor) -> Tensor:
        table = stack.embeddings.make_embedding
        return table.pe(table.emb_luts[0](ids) * math.sqrt(self.d))  # type: ignore[no-any-return]

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        encoder: Any = self.encoder
        decoder: Any = self.decoder
        x, y = self._start(encoder, src), self._start(decoder, tgt)
        for layer in encoder.transformer:
            x = layer(x, None)
        x = encoder.layer_norm(x)
        for layer in decoder.transformer_layers:
            y = layer(y, causal(tgt.size(1)), x)
        return self.generator(decoder.layer_norm(y))  # type: ignore[no-any-return]


# --- all of them

SRC, TGT = [5, 8, 7, 3, 9, 4], [2, 7, 11, 5, 8]
# name -> the model, the layout's name, and the settings that nothing tells
CASES: dict[str, tuple[Callable[[], nn.Module], str, dict[str, Any]]] = {
    "A": (Notebook, "en-it", {"n_heads": 3, "pad_to": 9, "max_source": 9, "max_target": 9}),
    "B": (lambda: TwoLearned("tutorial6"), "tutorial6", {"n_heads": 3}),
    "C": (lambda: Annotated(False), "annotated", {"n_heads": 3}),
    "C with nn.LayerNorm": (lambda: Annotated(True), "annotated", {"n_heads": 3}),
    "D": (Lab, "upc-lab", {"n_heads": 3}),
    "E": (lambda: TwoLearned("fsu"), "fsu", {"n_heads": 3}),
    "E, later edition": (lambda: TwoLearned("fsu", learned=True), "fsu", {"n_heads": 3}),
    "nn.Transformer": (lambda: TorchSeq2Seq(False), "torch", {"n_heads": 3, "norm": "post"}),
    "nn.Transformer, norm first": (lambda: TorchSeq2Seq(True), "torch", {"n_heads": 3, "norm": "pre"}),
    "nn.TransformerEncoder": (TorchLanguageModel, "torch", {"n_heads": 3, "causal": True}),
    "nanoGPT": (lambda: Gpt(mini=False), "gpt", {"n_heads": 3}),
    "nanoGPT without biases": (lambda: Gpt(mini=False, bias=False), "gpt", {"n_heads": 3}),
    "minGPT": (lambda: Gpt(mini=True), "gpt", {"n_heads": 3, "activation": "gelu-tanh"}),
    "a lecture's GPT": (Lecture, "gpt", {}),
    "fairseq": (lambda: Fairseq(False), "fairseq", {"n_heads": 3}),
    "fairseq, norm first": (lambda: Fairseq(True), "fairseq", {"n_heads": 3}),
    "OpenNMT-py": (OpenNmt, "opennmt", {"n_heads": 3}),
}


def stranger(name: str) -> tuple[nn.Module, list[list[int]], Tensor]:
    """The model of this name, the ids that it reads, and its logits [1, T, V]; its maps are then in `MAPS`."""
    torch.manual_seed(3)
    model = CASES[name][0]().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # nothing is 0 or 1 by its initialisation
            parameter.add_(0.05 * torch.randn_like(parameter))
        MAPS.clear()
        single = name in ("nn.TransformerEncoder", "a lecture's GPT") or "GPT" in name
        ids = [TGT] if single else [SRC, TGT]
        logits: Tensor = model(*(torch.tensor([each]) for each in ids))
    return model, ids, logits
