"""Recording and decoding: what looking costs, and what the cache saves. Random weights of real sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from bench.ratios import Result, compare
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.config import ModelConfig, base
from viz_transformer.model.hook import Recorder
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.search import decode_batch
from viz_transformer.running.strategies import Beam
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary
from viz_transformer.train.tasks import TASKS
from viz_transformer.train.tasks.task import PairTask

TEXT = "29,284.30"
STEPS = 64
MARIAN_STEPS, MARIAN_ENTRIES = 32, 58_101


def numbers_codecs() -> tuple[Codec, Codec]:
    task = TASKS["numbers"]
    assert isinstance(task, PairTask)
    return task.codecs(task.tokenizers, [])


def numbers_config() -> ModelConfig:
    task = TASKS["numbers"]
    assert isinstance(task, PairTask)
    return task.model(*numbers_codecs())


def endless_checkpoint(**changes: int) -> Checkpoint:
    """A model of the size of `numbers`, but for these changes, that never writes its end token."""
    source, target = numbers_codecs()
    config = replace(numbers_config(), **changes)
    torch.manual_seed(0)
    model = Transformer(config).eval()
    assert model.output is not None and model.output.bias is not None
    with torch.no_grad():
        model.output.bias[target.vocabulary.eos] = -1e9
    return Checkpoint(
        name="endless",
        path=None,
        hooked_model=model,
        source_codec=source,
        target_codec=target,
        card={},
        weights_sha256="",
    )


def naive(model: Transformer, src: list[int], bos: int, steps: int) -> list[int]:
    """As the tutorials decode: encoder and decoder run again on the whole prefix for every token."""
    ids = [bos]
    with torch.no_grad():
        for _ in range(steps):
            ids.append(int(model(torch.tensor([src]), torch.tensor([ids]))[0, -1].argmax()))
    return ids[1:]


def forward_ratios() -> Iterator[Result]:
    """A recorded pass over an unrecorded one, at three lengths."""
    config = replace(numbers_config(), max_source=256, max_target=256)
    torch.manual_seed(0)
    model = Transformer(config).eval()
    for length, rounds in ((16, 101), (64, 61), (256, 31)):
        src, tgt = torch.randint(4, 17, (1, length)), torch.randint(4, 41, (1, length))
        with torch.no_grad():
            yield compare(
                f"recorded / unrecorded forward, {length} tokens",
                lambda s=src, t=tgt: model(s, t, Recorder()),
                lambda s=src, t=tgt: model(s, t),
                rounds=rounds,
                aim="<= 1.06",
            )


def decoding_ratios() -> Iterator[Result]:
    """A recorded greedy decode over an unrecorded one, and the tutorials' way over the recorded one."""
    ckpt = endless_checkpoint()
    assert ckpt.source_codec is not None and ckpt.target_codec is not None
    src = list(ckpt.source_codec.encode(TEXT).ids)
    bos, eos = ckpt.target_codec.vocabulary.bos, ckpt.target_codec.vocabulary.eos
    assert bos is not None and eos is not None
    plain = decode_batch(ckpt.model, [src], bos=bos, eos=eos, max_steps=STEPS)[0]
    if not plain == naive(ckpt.model, src, bos, STEPS) == [step.token_id for step in decode(ckpt, TEXT).steps]:
        raise RuntimeError("the three ways to decode do not write the same tokens: there is nothing to compare")
    yield compare(
        f"recorded / unrecorded greedy step, {STEPS} steps",
        lambda: decode(ckpt, TEXT, max_steps=STEPS),
        lambda: decode_batch(ckpt.model, [src], bos=bos, eos=eos, max_steps=STEPS),
        rounds=61,
        aim="<= 1.10",
    )
    yield compare(
        f"beam of 4 / greedy, both recorded, a step, {STEPS} steps",
        lambda: decode(ckpt, TEXT, strategy=Beam(4), max_steps=STEPS),
        lambda: decode(ckpt, TEXT, max_steps=STEPS),
        rounds=21,
        aim="<= 2.2",
    )
    yield compare(
        f"naive / cached and recorded, {STEPS} steps",
        lambda: naive(ckpt.model, src, bos, STEPS),
        lambda: decode(ckpt, TEXT, max_steps=STEPS),
        rounds=21,
        aim=">= 5",
    )


def marian_checkpoint() -> Checkpoint:
    """A model of the shape of Marian base that never writes its end token: that one has the logit 0."""
    config = base(
        source_vocab_size=MARIAN_ENTRIES,
        target_vocab_size=MARIAN_ENTRIES,
        attention_bias=True,
        positions="learned",
        max_source=512,
        max_target=512,
    )
    torch.manual_seed(0)
    model = Transformer(config).eval()
    with torch.no_grad():
        model.decoder.embedding.token.weight[0] = 0
    names = ("</s>", *(f"entry{i}" for i in range(1, MARIAN_ENTRIES - 1)), "<s>")
    codec = Codec(Characters(), Vocabulary(names, {"bos": "<s>", "eos": "</s>"}))
    return Checkpoint("marian", None, model, codec, codec, {}, "")


def marian_ratios() -> Iterator[Result]:
    """Recorded decoding at the shape of Marian base, over unrecorded and over transformers with its attentions."""
    from transformers import MarianConfig, MarianMTModel

    ckpt, source = marian_checkpoint(), list(range(100, 116))
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=MARIAN_ENTRIES,
            encoder_layers=6,
            decoder_layers=6,
            d_model=512,
            encoder_attention_heads=8,
            decoder_attention_heads=8,
            encoder_ffn_dim=2048,
            decoder_ffn_dim=2048,
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=512,
            forced_eos_token_id=None,
            attn_implementation="eager",
        )
    ).eval()
    theirs.generation_config.eos_token_id = None  # as ours, it never ends

    def ours() -> Run:
        return decode(ckpt, source, max_steps=MARIAN_STEPS)

    @torch.no_grad()
    def transformers() -> torch.Tensor:
        options = {"output_attentions": True, "return_dict_in_generate": True, "do_sample": False, "num_beams": 1}
        found: torch.Tensor = theirs.generate(torch.tensor([source]), max_new_tokens=MARIAN_STEPS, **options).sequences
        return found

    if not len(ours().steps) == transformers().size(1) - 1 == MARIAN_STEPS:
        raise RuntimeError(f"one of the two did not write {MARIAN_STEPS} tokens: there is nothing to compare")
    yield compare(
        f"recorded / unrecorded greedy step, Marian base, {MARIAN_STEPS} steps",
        ours,
        lambda: decode_batch(ckpt.model, [source], bos=MARIAN_ENTRIES - 1, eos=0, max_steps=MARIAN_STEPS),
        rounds=15,
        aim="<= 1.06",
    )
    yield compare(
        f"ours recorded / transformers with attentions, Marian base, {MARIAN_STEPS} steps",
        ours,
        transformers,
        rounds=15,
        aim="<= 0.90",
    )
    yield compare(
        f"beam of 4 / greedy, both recorded, a step, Marian base, {MARIAN_STEPS} steps",
        lambda: decode(ckpt, source, strategy=Beam(4), max_steps=MARIAN_STEPS),
        ours,
        rounds=9,
        aim="<= 2.2",
    )
