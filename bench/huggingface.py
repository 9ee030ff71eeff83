"""Models of transformers: what listening and recording cost over the untouched model's own pass. Random weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from bench.ratios import Result, compare, cpu_seconds, measure
from viz_transformer import huggingface
from viz_transformer.analysis.inputs.embeddings import embedding_table, neighbours
from viz_transformer.analysis.inputs.vocabulary import find_entries
from viz_transformer.analysis.layers.lens import lens, rows_at_a_glance
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.hook import OFF, Hook, Recorder
from viz_transformer.model.hooked_model import Rows
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.tracing import trace as record
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary

VOCABULARY, LONG, STEPS = 1000, 1024, 32
_MIDDLE = {"hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 1024}
_PAIR = {
    side: {f"{side}_layers": 6, f"{side}_attention_heads": 8, f"{side}_ffn_dim": 1024}
    for side in ("encoder", "decoder")
}
SHAPES: dict[str, dict[str, Any]] = {
    "gpt2": {"bos_token_id": 0, "eos_token_id": 0, "n_embd": 256, "n_layer": 6, "n_head": 8, "n_positions": LONG},
    "llama": {**_MIDDLE, "num_key_value_heads": 4, "max_position_embeddings": LONG},
    "bert": {**_MIDDLE, "max_position_embeddings": LONG},
    "marian": {"d_model": 256, "decoder_start_token_id": 0, "pad_token_id": 0, **_PAIR["encoder"], **_PAIR["decoder"]},
}
"""Width 256, six layers, eight heads, by `model_type`."""
CLASSES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "bert": "BertForMaskedLM", "marian": "MarianMTModel"}
IDLE, RECORDED = {"marian": "<= 1.10"}, {"marian": "<= 1.15"}
SMALL = {"vocab_size": 50_257, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": LONG}
"""GPT-2 small."""
LARGE = {"vocab_size": 250_000, "n_embd": 64}


def huggingface_results() -> Iterator[Result | str]:
    """Ours over theirs, CPU time; a sentence without the libraries that such models need."""
    if (library := huggingface.lacking()) is not None:
        yield f"Models of transformers are not measured, because {library} is not there: {huggingface.INSTALL}"
        return
    for name in SHAPES:
        yield from _passes(name)
    yield from _long()
    yield _steps()
    yield from _large_vocabulary()


def _passes(name: str) -> Iterator[Result]:
    """Of one shape: ears that are there and say nothing, and all recorded, over eager attention without any."""
    theirs, ours = _both(name, {**SHAPES[name], "vocab_size": VOCABULARY})
    for length, rounds in ((16, 61), (64, 41), (256, 21)):
        texts, plain = _texts(ours, length)
        _check(ours.whole(*texts), theirs(**plain).logits, name)
        if length == 64:
            yield compare(
                f"{name} shape, listening without recording / none, {length} tokens",
                _pass(ours, texts),
                lambda given=plain: theirs(**given),
                rounds=rounds,
                aim=IDLE.get(name, "<= 1.05"),
            )
        yield compare(
            f"{name} shape, all recorded / eager, {length} tokens",
            _pass(ours, texts, Recorder),
            lambda given=plain: theirs(**given),
            rounds=rounds,
            aim=RECORDED.get(name, "<= 1.10"),
        )


def _long() -> Iterator[Result]:
    """A long text at the shape of GPT-2: over the fused attention, which has no weights, and over theirs with them."""
    given = {**SHAPES["gpt2"], "vocab_size": VOCABULARY}
    theirs, ours = _both("gpt2", given)
    fused = _model("gpt2", given, "sdpa")
    fused.load_state_dict(theirs.state_dict())
    texts, plain = _texts(ours, LONG)
    for other, options, what, aim in (
        (fused, {}, "sdpa", "<= 1.15"),
        (theirs, {"output_attentions": True}, "output_attentions=True", "<= 0.90"),
    ):
        yield compare(
            f"gpt2 shape, all recorded / {what}, {LONG:,} tokens",
            _pass(ours, texts, Recorder),
            lambda other=other, options=options: other(**plain, **options),
            rounds=9,
            aim=aim,
        )
    (_, rows) = texts
    assert rows is not None
    trace = record(Checkpoint("long", None, ours, None, _codec(VOCABULARY), {}, ""), rows[0])
    yield measure(
        f"gpt2 shape, weights of one head from its queries and keys, {LONG:,} tokens",
        lambda: 1000 * cpu_seconds(lambda: trace.of_head("decoder.0.self.weights", 3)),
        rounds=21,
        unit="ms",
        aim="<= 20",
    )


def _codec(size: int) -> Codec:
    return Codec(Characters(), Vocabulary(map(str, range(size))), add_bos=False, add_eos=False)


def _steps() -> Result:
    """Decoding at the size of GPT-2 small, with a token that nothing ends."""
    theirs, ours = _both("gpt2", SMALL)
    theirs.generation_config.eos_token_id = None
    ckpt = Checkpoint("small", None, ours, None, _codec(SMALL["vocab_size"]), {}, "")
    (_, source), plain = _texts(ours, 16)
    assert source is not None
    options = {"output_attentions": True, "return_dict_in_generate": True, "do_sample": False}

    def recorded() -> Run:
        return decode(ckpt, source[0], max_steps=STEPS)

    @torch.no_grad()
    def generated() -> Any:
        return theirs.generate(**plain, max_new_tokens=STEPS, **options).sequences

    if [step.token_id for step in recorded().steps] != generated()[0, -STEPS:].tolist():
        raise RuntimeError("the two do not write the same tokens: there is nothing to compare")
    return compare(
        f"GPT-2 small, recorded / generate with attentions, {STEPS} steps", recorded, generated, rounds=9, aim="<= 0.90"
    )


def _large_vocabulary() -> Iterator[Result]:
    """What pages work out of a text when they are opened, or another token is chosen."""
    _, ours = _both("gpt2", {**SHAPES["gpt2"], **LARGE})
    codec = _codec(LARGE["vocab_size"])
    ckpt = Checkpoint("large", None, ours, None, codec, {}, "")
    (_, rows), _ = _texts(ours, 32)
    assert rows is not None
    run = record(ckpt, rows[0])
    near = rows_at_a_glance(run, "decoder", 10)
    for what, gesture in (
        (f"the lens at {len(near)} tokens", lambda: lens(run, ours, rows=near)),
        ("the nearest entries", lambda: neighbours(embedding_table(ckpt, "target"), 31)),
        ("an entry looked up", lambda: find_entries(codec.names, "2499")),
        ("a step written", lambda: decode(ckpt, rows[0], max_steps=1)),
    ):
        yield measure(
            f"gpt2 shape of width {LARGE['n_embd']}, a vocabulary of {LARGE['vocab_size']:,}: {what}",
            lambda gesture=gesture: 1000 * cpu_seconds(gesture),
            rounds=9,
            unit="ms",
            aim="<= 300",
        )


def _model(name: str, settings: dict[str, Any], attention: str) -> Any:
    """A random model of this type."""
    import transformers

    cls = getattr(transformers, CLASSES[name])
    torch.manual_seed(0)
    return cls._from_config(cls.config_class(**settings), attn_implementation=attention, dtype=torch.float32).eval()


def _both(name: str, settings: dict[str, Any]) -> tuple[Any, Any]:
    """Theirs with its own eager attention, and the same weights as an instrument, proved as at opening."""
    from viz_transformer.huggingface import capture
    from viz_transformer.huggingface.families import FAMILIES
    from viz_transformer.huggingface.hooked_model import HuggingFaceModel
    from viz_transformer.huggingface.self_check import prove
    from viz_transformer.huggingface.spec import spec_of_config

    capture.register()
    theirs, mine = (_model(name, settings, attention) for attention in ("eager", capture.NAME))
    mine.load_state_dict(theirs.state_dict())
    family = FAMILIES[name]
    output = next(kind for end, kind in family.heads.items() if CLASSES[name].endswith(end))
    ours = HuggingFaceModel(mine, family, spec_of_config(mine.config.to_dict(), family, output, name))
    ours.tell(prove(ours))
    theirs.requires_grad_(False)
    return theirs, ours


def _texts(ours: Any, length: int) -> tuple[tuple[Rows | None, Rows | None], dict[str, Any]]:
    """The same text for ours, as source and target, and for theirs."""
    ids = torch.randint(1, VOCABULARY, (1, length), generator=torch.Generator().manual_seed(length))
    rows = ids.tolist()
    if ours.spec.kind == "encoder-decoder":
        return (rows, rows), {"input_ids": ids, "decoder_input_ids": ids, "use_cache": False}
    if ours.spec.has_encoder:
        return (rows, None), {"input_ids": ids}
    return (None, rows), {"input_ids": ids, "use_cache": False}


def _pass(
    ours: Any, texts: tuple[Rows | None, Rows | None], hook: Callable[[], Hook] = lambda: OFF
) -> Callable[[], Any]:
    return lambda: ours.whole(*texts, hook=hook())


def _check(ours: torch.Tensor, theirs: torch.Tensor, name: str) -> None:
    if not torch.equal(ours, theirs):
        raise RuntimeError(f"ours and theirs give other logits of the shape of {name}: there is nothing to compare")
