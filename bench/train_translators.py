"""Trains recipes of translators beside each other on one GPU within a number of seconds, and keeps of each the best.

    python -m bench.train_translators prepare DATA PREPARED --recipe m-words m-pieces
    python -m bench.train_translators train OUT --prepared PREPARED/m-words.pt PREPARED/m-pieces.pt --seconds 300

`prepare` reads and splits the data where they are; its files are all that `train` needs. `train` runs one process for
each file, all at once, and OUT/NAME then has `weights.safetensors` (float16, of the average with the highest BLEU of
greedy answers to all validation pairs, measured as they are stored), `history.csv` and `measured.json`; with `state.pt`
a training that was stopped goes on. What is trained is the package's model, its optimiser, its loss with R-Drop, and
its rate; on a GPU in bfloat16 beside weights in float32, by passes that compute the same with the GPU's own attention.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from bench.train_recipes import Resumable
from viz_transformer.model.attention import Attention
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Stack, Transformer
from viz_transformer.train.module import adamw, divergence, rate_factor
from viz_transformer.train.tasks.task import Plan

MAX_STEPS = 1_000_000
"""Of the schedule, which goes by the share of the seconds that is over."""
CUTS = 12
"""Ways to cut a word into pieces that a training draws from."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a translator is trained. pieces: of each side at most, 0 for words; cut: BPE-dropout, the share of merges
    that are not made."""

    task: str
    pieces: tuple[int, int] = (0, 0)
    dropout: float = 0.3
    consistency: float = 5.0
    smoothing: float = 0.1
    cut: float = 0.1
    layers: tuple[int, int] = (3, 3)
    weight_decay: float = 0.01
    peak_rate: float = 1.5e-3
    warmup: float = 0.06  # share of the seconds
    averaging: float = 0.998
    batch_tokens: int = 12_000  # of source and target, each pair read twice
    seed: int = 1


MULTI30K, TATOEBA = "multi30k-de-en", "tatoeba-en-it"
RECIPES: Mapping[str, Recipe] = {
    "m-words": Recipe(task=MULTI30K),
    "m-pieces": Recipe(task=MULTI30K, pieces=(6000, 5000)),
    "t-words": Recipe(task=TATOEBA, batch_tokens=8000),
    "t-pieces": Recipe(task=TATOEBA, batch_tokens=8000, pieces=(3000, 4000)),
}


# --- words and their pieces


def learned_merges(words: Mapping[str, int], most: int) -> list[tuple[str, str]]:
    """The merges of byte-pair encoding until there are `most` pieces; each word with how often it stands there."""
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.trainers import BpeTrainer

    learner = Tokenizer(BPE())
    repeated = (word for word, count in words.items() for _ in range(count))
    learner.train_from_iterator(repeated, BpeTrainer(vocab_size=most, min_frequency=2, show_progress=False))
    return [(a, b) for a, b in json.loads(learner.to_str())["model"]["merges"]]


def cut_word(word: str, ranks: Mapping[tuple[str, str], int], drop: float, source: random.Random) -> list[str]:
    """The pieces of a word; each merge that could be made is left out with this probability, anew at every step.

    Source: BPE-dropout, Provilkov et al. (2020).
    """
    pieces = list(word)
    while found := [
        (ranks[pair], at)
        for at, pair in enumerate(pairwise(pieces))
        if pair in ranks and (not drop or source.random() >= drop)
    ]:
        _, at = min(found)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
    return pieces


@dataclass
class Side:
    """The tokens of a side, and for each of its words the ways to cut it: ids [W, cuts, P], -1 behind the last."""

    tokens: list[str]
    words: dict[str, int]
    table: Tensor
    joined: str  # what stands between two tokens

    def indices(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Words as rows of the table, [N, L], -1 behind the last."""
        longest = max(map(len, sentences))
        unknown = self.words.get("<unk>", -1)
        rows = torch.full((len(sentences), longest), -1, dtype=torch.int32)
        for row, sentence in zip(rows, sentences, strict=True):
            row[: len(sentence)] = torch.tensor([self.words.get(word, unknown) for word in sentence])
        return rows


SPECIALS = ("<s>", "</s>", "<unk>", "<pad>")
BOS, EOS, UNK, PAD = range(4)


def side_of_words(tokens: Sequence[str]) -> Side:
    """A vocabulary of words."""
    assert tuple(tokens[:4]) == SPECIALS
    table = torch.arange(len(tokens), dtype=torch.int32)[:, None, None]
    return Side(list(tokens), {word: i for i, word in enumerate(tokens)}, table, " ")


def side_of_pieces(counts: Mapping[str, int], others: set[str], most: int, drop: float, seed: int) -> Side:
    """Pieces learned from the words of training, and how these and other words are cut. A word begins with a blank."""
    merges = learned_merges({" " + word: count for word, count in counts.items()}, most)
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    single = Counter(sign for word in counts for sign in " " + word)
    tokens = [*SPECIALS, *single, *dict.fromkeys(a + b for a, b in merges)]
    ids = {token: i for i, token in enumerate(tokens)}
    source = random.Random(seed)
    words = [*counts, *sorted(others - counts.keys())]
    cuts = [
        [[ids.get(piece, UNK) for piece in cut_word(" " + word, ranks, drop * (n > 0), source)] for n in range(CUTS)]
        for word in words
    ]
    longest = max(len(ways) for word in cuts for ways in word)
    table = torch.full((len(words), CUTS, longest), -1, dtype=torch.int16)
    for at, ways in enumerate(cuts):
        for n, way in enumerate(ways):
            table[at, n, : len(way)] = torch.tensor(way, dtype=torch.int16)
    return Side(tokens, {word: i for i, word in enumerate(words)}, table, "")


def text_of(ids: Sequence[int], tokens: Sequence[str], joined: str) -> str:
    """The words of an answer with blanks between, without what is special."""
    return joined.join(tokens[i] for i in ids if i not in (BOS, EOS, PAD)).strip()


# --- data


def read_words(data: Path, task_name: str) -> dict[str, Any]:
    """The task's pairs as words of spaCy, and its vocabularies."""
    from viz_transformer.train.tasks import find_task
    from viz_transformer.train.tasks.task import PairTask

    task = find_task(task_name)
    assert isinstance(task, PairTask)
    train, validation = task.trained_on(data), task.validation.read(data, task.tokenizers)
    codecs = task.codecs(task.tokenizers, train)

    def split(pairs: Sequence[tuple[str, str]]) -> list[list[list[str]]]:
        return [[codec.tokenizer.tokenize(pair[side]) for pair in pairs] for side, codec in enumerate(codecs)]

    return {"train": split(train), "validation": split(validation), "vocab": [c.vocabulary.tokens for c in codecs]}


def prepare(read: Mapping[str, Any], name: str, recipe: Recipe) -> dict[str, Any]:
    """All that a training of the recipe needs, as tensors and texts."""
    train, validation = read["train"], read["validation"]
    sides, rows, checked = [], [], []
    for place in (0, 1):
        counts = Counter(word for sentence in train[place] for word in sentence)
        others = {word for sentence in validation[place] for word in sentence}
        most = recipe.pieces[place]
        side = (
            side_of_pieces(counts, others, most, recipe.cut, recipe.seed)
            if most
            else side_of_words(read["vocab"][place])
        )
        sides.append(side)
        rows.append(side.indices(train[place]))
        checked.append(side.indices(validation[place]))
    config = ModelConfig(
        encoder_layers=recipe.layers[0],
        decoder_layers=recipe.layers[1],
        d_model=256,
        n_heads=4,
        d_ff=1024,
        dropout=recipe.dropout,
        tied_output=True,
        max_source=128,
        max_target=128,
        source_vocab_size=len(sides[0].tokens),
        target_vocab_size=len(sides[1].tokens),
        source_pad=PAD,
        target_pad=PAD,
    )
    return {
        "name": name,
        "recipe": asdict(recipe),
        "config": config.to_dict(),
        "tables": [side.table for side in sides],
        "rows": rows,
        "validation": checked,
        "references": [" ".join(sentence) for sentence in validation[1]],
        "tokens": [side.tokens for side in sides],
        "joined": [side.joined for side in sides],
    }


def cut_rows(rows: Tensor, table: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Ids [N, T] with start and end, padded, and their lengths; words cut as drawn, or without a generator as usual."""
    words = rows.clamp(min=0).long()
    way = torch.zeros_like(words)
    if generator is not None and table.size(1) > 1:
        way = torch.randint(table.size(1), words.shape, generator=generator, device=words.device)
    pieces = table[words, way].masked_fill((rows < 0)[..., None], -1).flatten(1)
    there = pieces >= 0
    lengths = there.sum(1)
    ids = torch.full((len(rows), int(lengths.max()) + 2), PAD, dtype=torch.int16, device=rows.device)
    ids[:, 0] = BOS
    where = there.nonzero()
    ids[where[:, 0], there.cumsum(1)[there]] = pieces[there].to(torch.int16)
    ids[torch.arange(len(rows), device=rows.device), lengths + 1] = EOS
    return ids, lengths + 2


def cut_batches(
    lengths: tuple[Tensor, Tensor], tokens: int, generator: torch.Generator | None, longest: int = 128
) -> list[Tensor]:
    """Indices of all pairs, in batches of similar length and of at most so many padded tokens."""
    src, tgt = lengths
    order = torch.arange(len(src))
    order = order[(src <= longest) & (tgt <= longest)]
    if generator is not None:
        order = order[torch.randperm(len(order), generator=generator)]
    order = order[torch.argsort(src[order] * 1000 + tgt[order], stable=True)]
    found, start = [], 0
    sizes = list(zip(src[order].tolist(), tgt[order].tolist(), strict=True))
    while start < len(sizes):
        stop, most = start, [0, 0]
        while stop < len(sizes):
            most = [max(a, b) for a, b in zip(most, sizes[stop], strict=True)]
            if stop > start and (stop + 1 - start) * sum(most) > tokens:
                break
            stop += 1
        found.append(order[start:stop])
        start = stop
    if generator is None:
        return found
    return [found[i] for i in torch.randperm(len(found), generator=generator).tolist()]


# --- passes


class Passes:
    """The package's pre-norm encoder-decoder, its passes written for a GPU's own attention, with dropout."""

    def __init__(self, model: Transformer) -> None:
        wanted = {
            "kind": "encoder-decoder",
            "norm": "pre",
            "norm_kind": "layer",
            "final_norm": True,
            "activation": "relu",
            "merge": "concatenate",
            "divisor": "sqrt-head-dim",
            "embedding_scale": "sqrt",
            "padding_mask": "key",
            "ffn_dropout": "after-activation",
            "decoder_ffn_dropout": "output",
            "encoder_final_norm": "same",
            "positions": "sinusoidal",
            "pad_to": None,
        }
        if other := [name for name, value in wanted.items() if getattr(model.config, name) != value]:
            raise ValueError(f"the passes for a GPU don't know this model's {', '.join(other)}")
        self.model, self.dropout = model, 0.0

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, training=True) if self.dropout else x

    def _attended(self, attention: Attention, x: Tensor, read: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        def heads(found: Tensor) -> Tensor:
            return found.view(*found.shape[:2], attention.n_heads, -1).transpose(1, 2)

        found = F.scaled_dot_product_attention(
            heads(attention.to_query(x)),
            heads(attention.to_key(read)),
            heads(attention.to_value(read)),
            attn_mask=mask,
            dropout_p=self.dropout,
            is_causal=causal,
        )
        out: Tensor = attention.to_out(found.transpose(1, 2).flatten(2))
        return out

    def _embedded(self, stack: Stack, ids: Tensor) -> Tensor:
        embedding = stack.embedding
        assert embedding.position is not None
        return self._drop(embedding.token(ids) * embedding.scale + embedding.position.table[: ids.size(1)])

    def _fed(self, layer: Any, x: Tensor) -> Tensor:
        inner = layer.feed_forward
        return x + self._drop(inner.to_out(self._drop(F.relu(inner.to_hidden(normed(layer.ffn_residual.norm, x))))))

    def memory(self, src: Tensor, keep: Tensor | None) -> Tensor:
        """[B, S] -> [B, S, D]. keep: which are tokens, [B, 1, 1, S]; None for sources without padding."""
        x = self._embedded(self.model.encoder, src)
        for layer in self.model.encoder.layers:
            read = normed(layer.self_residual.norm, x)
            x = x + self._drop(self._attended(layer.self_attention, read, read, keep, False))
            x = self._fed(layer, x)
        return normed(self.model.encoder.norm, x)

    def logits(self, memory: Tensor, keep: Tensor | None, tgt: Tensor, *, last: bool = False) -> Tensor:
        """[B, T, V] for targets with padding behind their end alone, which the causal mask hides."""
        x = self._embedded(self.model.decoder, tgt)
        for layer in self.model.decoder.layers:
            read = normed(layer.self_residual.norm, x)
            x = x + self._drop(self._attended(layer.self_attention, read, read, None, True))
            read = normed(layer.cross_residual.norm, x)
            x = x + self._drop(self._attended(layer.cross_attention, read, memory, keep, False))
            x = self._fed(layer, x)
        assert self.model.output is not None
        out: Tensor = self.model.output(normed(self.model.decoder.norm, x[:, -1:] if last else x))
        return out


def normed(norm: Any, x: Tensor) -> Tensor:
    """The layer norm, by the fused kernel."""
    return F.layer_norm(x, x.shape[-1:], norm.gain, norm.offset, norm.epsilon)


def kept(src: Tensor) -> Tensor | None:
    """Which are tokens, [B, 1, 1, S]; None where all are."""
    keep = src != PAD
    return None if bool(keep.all()) else keep[:, None, None, :]


@torch.no_grad()
def answered(passes: Passes, src: Tensor) -> Tensor:
    """Ids of the likeliest next token after each until all have ended: [B, T] with the start, padded."""
    keep = kept(src)
    memory = passes.memory(src, keep)
    limit = min(passes.model.config.max_target - 1, src.size(1) * 2 + 10)
    found = torch.full((len(src), 1), BOS, device=src.device)
    ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
    for step in range(limit):
        logits = passes.logits(memory, keep, found, last=True)[:, -1].float()
        logits[:, [BOS, PAD]] = -torch.inf
        following = logits.argmax(-1).masked_fill(ended, PAD)
        found = torch.cat([found, following[:, None]], 1)
        ended |= following == EOS
        if step % 4 == 3 and bool(ended.all()):
            break
    return found


# --- training


class Training(Resumable):
    """One recipe's training as it goes on."""

    def __init__(self, prepared: Mapping[str, Any], folder: Path, device: torch.device) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.prepared, self.folder, self.device = prepared, folder, device
        self.recipe = Recipe(**{k: tuple(v) if isinstance(v, list) else v for k, v in prepared["recipe"].items()})
        self.config = ModelConfig.from_dict(prepared["config"])
        recipe = self.recipe
        self.plan = Plan(
            epochs=1,
            batch_tokens=recipe.batch_tokens,
            peak_rate=recipe.peak_rate,
            warmup=1,
            smoothing=recipe.smoothing,
            weight_decay=recipe.weight_decay,
            seed=recipe.seed,
        )
        torch.manual_seed(recipe.seed)
        self.model = Transformer(self.config).to(device)
        kind = torch.bfloat16 if device.type == "cuda" else torch.float32
        passing = Transformer(self.config).to(device, kind)  # what computes gradients
        self.average = Transformer(self.config).to(device).requires_grad_(False)
        self.passes = Passes(passing)
        self.own, self.passed, self.averaged = (list(each.parameters()) for each in (self.model, passing, self.average))
        with torch.no_grad():
            torch._foreach_copy_(self.passed, self.own)
            torch._foreach_copy_(self.averaged, self.own)
        for p in self.own:
            p.grad = torch.zeros_like(p)
        self.optimiser = adamw(self.model, self.plan)
        self.tables = [table.to(device) for table in prepared["tables"]]
        self.rows = [rows.to(device) for rows in prepared["rows"]]
        self.validation = [
            cut_rows(rows.to(device), table, None)[0].long()
            for rows, table in zip(prepared["validation"], self.tables, strict=True)
        ]
        self.generator = torch.Generator(device).manual_seed(recipe.seed)
        self.step = self.epoch = self.pairs = self.tokens = 0
        self.seconds = 0.0
        self.history: list[dict[str, float]] = []
        if (folder / "state.pt").is_file():
            self._load()

    def run(self, seconds: float, measured_each: float) -> None:
        """Learn for so long, measurements included; the rate falls to 0 at the end."""
        began = since = time.monotonic()
        before, total = self.seconds, self.seconds + seconds
        for src, tgt in self._batches():
            elapsed = time.monotonic() - began
            if self.over(elapsed, seconds):
                break
            self._learn(src, tgt, (before + elapsed) / total)
            if time.monotonic() - since >= measured_each:
                self.seconds = before + time.monotonic() - began
                self.measure()
                self.save()
                since = time.monotonic()
        self.seconds = before + time.monotonic() - began
        self.measure()
        self.save()

    def over(self, elapsed: float, seconds: float) -> bool:
        """Whether the time is over."""
        return elapsed >= seconds

    def _batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            plan = torch.Generator().manual_seed(self.recipe.seed * 1_000_003 + self.epoch)
            cut = [cut_rows(rows, table, self.generator) for rows, table in zip(self.rows, self.tables, strict=True)]
            src, tgt = cut[0][0], cut[1][0]
            lengths = (cut[0][1].cpu(), cut[1][1].cpu())
            for places in cut_batches(lengths, self.recipe.batch_tokens, plan):
                longest = [int(each[places].max()) for each in lengths]
                where = places.to(self.device, non_blocking=True)
                yield src[where, : longest[0]].long(), tgt[where, : longest[1]].long()
            self.epoch += 1

    def _learn(self, src: Tensor, tgt: Tensor, share: float) -> None:
        recipe, wanted = self.recipe, tgt[:, 1:]
        self.passes.dropout = recipe.dropout
        weight = recipe.consistency
        if weight:
            src, tgt = torch.cat([src, src]), torch.cat([tgt, tgt])
        keep = (src != PAD)[:, None, None, :]
        logits = self.passes.logits(self.passes.memory(src, keep), keep, tgt[:, :-1]).float()
        loss = F.cross_entropy(
            logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD, label_smoothing=recipe.smoothing
        )
        if weight:
            first, second = logits.chunk(2)
            loss = loss + weight / 2 * divergence(first, second, wanted != PAD)
        loss.backward()
        torch._foreach_copy_([p.grad for p in self.own], [p.grad for p in self.passed])  # type: ignore[misc]
        for p in self.passed:
            p.grad = None
        torch.nn.utils.clip_grad_norm_(self.own, self.plan.clip)
        warmup = max(1, round(recipe.warmup * MAX_STEPS))
        rate = recipe.peak_rate * rate_factor(round(share * MAX_STEPS), warmup=warmup, total=MAX_STEPS)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        decay = min(recipe.averaging, self.step / (self.step + 10))
        with torch.no_grad():
            torch._foreach_copy_(self.passed, self.own)
            torch._foreach_lerp_(self.averaged, self.own, 1 - decay)
        self.step += 1
        self.pairs += len(wanted)
        self.tokens += src.numel() + tgt.numel()
        self.loss = loss.detach()

    def stored(self) -> Passes:
        """The average as it is stored."""
        model = Transformer(self.config).to(self.device).requires_grad_(False)
        with torch.no_grad():
            torch._foreach_copy_(list(model.parameters()), [p.half().float() for p in self.averaged])
        return Passes(model)

    @torch.no_grad()
    def measure(self) -> None:
        """Loss and BLEU of greedy answers on all validation pairs; what has the highest BLEU is kept."""
        from sacrebleu.metrics.bleu import BLEU

        passes, (src, tgt) = self.stored(), self.validation
        keep, wanted = kept(src), tgt[:, 1:]
        logits = passes.logits(passes.memory(src, keep), keep, tgt[:, :-1])
        total = float(F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, reduction="sum"))
        count = int((wanted != PAD).sum())
        found = answered(passes, src).tolist()
        lines = [text_of(ids, self.prepared["tokens"][1], self.prepared["joined"][1]) for ids in found]
        bleu = BLEU(tokenize="none", force=True).corpus_score(lines, [self.prepared["references"]]).score
        row = {
            "step": self.step,
            "seconds": round(self.seconds, 1),
            "epoch": self.epoch,
            "pairs": self.pairs,
            "tokens": self.tokens,
            "train_loss": round(float(self.loss), 4),
            "validation_loss": round(total / count, 5),
            "loss_per_pair": round(total / len(src), 4),
            "bleu": round(bleu, 3),
        }
        weights = {name: value.half().cpu().contiguous() for name, value in passes.model.state_dict().items()}
        if not self.history or bleu >= max(each["bleu"] for each in self.history):
            save_file(weights, self.folder / "weights.safetensors")
        self.history.append(row)
        print(self.prepared["name"], " ".join(f"{name}={value}" for name, value in row.items()), flush=True)
        with (self.folder / "history.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerows(self.history)
        measured = {
            "recipe": self.prepared["recipe"],
            "model": self.prepared["config"],
            "training_pairs": len(self.rows[0]),
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "torch": torch.__version__,
            "best": max(self.history, key=lambda each: each["bleu"]),
            "last": row,
        }
        (self.folder / "measured.json").write_text(json.dumps(measured, indent=1), encoding="utf-8")


def train(path: Path, out: Path, seconds: float, device: str, measured_each: float) -> None:
    """Train one prepared recipe."""
    began = time.monotonic()
    chosen = torch.device("cuda" if device == "auto" and torch.cuda.is_available() else device.replace("auto", "cpu"))
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for each shape of a batch
    torch.set_float32_matmul_precision("high")
    prepared = torch.load(path, weights_only=False)  # a file of one's own
    training = Training(prepared, out / prepared["name"], chosen)
    training.run(seconds - (time.monotonic() - began), measured_each)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = reader.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare")
    first.add_argument("data", type=Path)
    first.add_argument("out", type=Path, help="a folder")
    first.add_argument("--recipe", choices=[*RECIPES], required=True, nargs="+")
    second = commands.add_parser("train")
    second.add_argument("out", type=Path)
    second.add_argument("--prepared", type=Path, nargs="+", required=True)
    second.add_argument("--seconds", type=float, required=True)
    second.add_argument("--measured-each", type=float, default=30.0)
    second.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    given = reader.parse_args()
    if given.command == "prepare":
        given.out.mkdir(parents=True, exist_ok=True)
        read: dict[str, Any] = {}
        for name in given.recipe:
            recipe = RECIPES[name]
            read[recipe.task] = read.get(recipe.task) or read_words(given.data, recipe.task)
            torch.save(prepare(read[recipe.task], name, recipe), given.out / f"{name}.pt")
        return
    if len(given.prepared) == 1:
        train(given.prepared[0], given.out, given.seconds, given.device, given.measured_each)
        return
    options = ["--seconds", str(given.seconds), "--device", given.device, "--measured-each", str(given.measured_each)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.train_translators", "train", given.out, "--prepared", path, *options]
        )
        for path in given.prepared
    ]
    sys.exit(max(each.wait() for each in started))


if __name__ == "__main__":
    main()
