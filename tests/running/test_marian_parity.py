"""Our decoder beside that of transformers: the same weights write the same tokens with the same numbers.

A random tiny Marian, with ReLU, no bias of the final logits, and its table of positions as our learned ones.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from in_turn import each_once

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import GENERATE_RULES, Beam, StopRule
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary

transformers = pytest.importorskip("transformers")  # offline: conftest sees to it

START, END, ENTRIES, MOST = 29, 0, 30, 24
NAMES = ("</s>", *(chr(97 + i) if i < 26 else str(i) for i in range(28)), "<s>")
TOWARDS_THE_END = 4.8  # added to the end token's logit, by way of the last norm: Marian has no bias that is learned
SOURCES = [[5, 9, 3, 7], [11, 2], [20, 21, 22, 23, 1, 6, 8], [4]]


def marian(seed: int) -> Any:
    """Theirs, random, with an end token that is written now and then."""
    torch.manual_seed(seed)
    config = transformers.MarianConfig(
        vocab_size=ENTRIES,
        encoder_layers=2,
        decoder_layers=3,
        d_model=32,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=40,
        init_std=0.25,
        pad_token_id=START,
        bos_token_id=START,
        decoder_start_token_id=START,
        eos_token_id=END,
        forced_eos_token_id=None,
        attn_implementation="eager",
    )
    model = transformers.MarianMTModel(config).eval()
    assert not model.final_logits_bias.any()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1 and parameter.requires_grad:  # biases and norms away from 0 and 1
                parameter.add_(0.1 * torch.randn_like(parameter))
        end = model.model.shared.weight[END]
        model.model.decoder.layers[-1].final_layer_norm.bias.add_(end * TOWARDS_THE_END / end.square().sum())
    return model


def ours(theirs: Any) -> Checkpoint:
    """A checkpoint with the same weights."""
    given = theirs.state_dict()
    config = ModelConfig(
        source_vocab_size=ENTRIES,
        target_vocab_size=ENTRIES,
        encoder_layers=2,
        decoder_layers=3,
        d_model=32,
        n_heads=4,
        d_ff=48,
        norm="post",
        final_norm=False,
        positions="learned",
        tied_output=True,
        output_bias=False,
        max_source=40,
        max_target=40,
    )
    copied = {}
    for stack in ("encoder", "decoder"):
        copied[f"{stack}.embedding.token.weight"] = given["model.shared.weight"]
        copied[f"{stack}.embedding.position.table"] = given[f"model.{stack}.embed_positions.weight"]
    renamed = {
        "self_attn.q_proj": "self_attention.to_query",
        "self_attn.k_proj": "self_attention.to_key",
        "self_attn.v_proj": "self_attention.to_value",
        "self_attn.out_proj": "self_attention.to_out",
        "self_attn_layer_norm": "self_residual.norm",
        "encoder_attn.q_proj": "cross_attention.to_query",
        "encoder_attn.k_proj": "cross_attention.to_key",
        "encoder_attn.v_proj": "cross_attention.to_value",
        "encoder_attn.out_proj": "cross_attention.to_out",
        "encoder_attn_layer_norm": "cross_residual.norm",
        "fc1": "feed_forward.to_hidden",
        "fc2": "feed_forward.to_out",
        "final_layer_norm": "ffn_residual.norm",
    }
    for name, value in given.items():
        if ".layers." not in name:
            continue
        _, stack, _, layer, rest = name.split(".", 4)
        part, kind = rest.rsplit(".", 1)
        if part.endswith("norm"):
            kind = {"weight": "gain", "bias": "offset"}[kind]
        copied[f"{stack}.layers.{layer}.{renamed[part]}.{kind}"] = value
    model = Transformer(config)
    model.load_state_dict(copied)  # strict: nothing is missing, nothing is left
    vocabulary = Vocabulary(NAMES, {"bos": "<s>", "eos": "</s>"})
    codec = Codec(Characters(), vocabulary)
    return Checkpoint("marian", None, model.eval(), codec, codec, {}, "random")


@torch.no_grad()
def generated(theirs: Any, source: list[int], **options: Any) -> Any:
    return theirs.generate(
        torch.tensor([source]),
        attention_mask=torch.ones(1, len(source), dtype=torch.long),
        max_new_tokens=MOST,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        **options,
    )


@pytest.mark.parametrize(("seed", "source"), list(product(range(4), SOURCES)))
def test_greedy_tokens_log_probabilities_and_attention_are_those_of_marian(seed: int, source: list[int]) -> None:
    theirs = marian(seed)
    found = generated(theirs, source, num_beams=1, output_attentions=True)
    run = decode(ours(theirs), source, max_steps=MOST)
    assert [step.token_id for step in run.steps] == found.sequences[0, 1:].tolist()
    largest = max(row.abs().max().item() for row in found.logits)
    assert largest > 1
    for step, row, crosses in zip(run.steps, found.logits, found.cross_attentions, strict=True):
        # float32 sums in another order: correct code has differed by 1e-6 of the largest logit
        torch.testing.assert_close(step.logits, row[0], atol=3e-6 * largest, rtol=0)
        expected = row[0].double().log_softmax(-1)[step.token_id].item()
        assert step.log_prob == pytest.approx(expected, abs=6e-6 * largest)
        for layer, weights in enumerate(crosses):
            torch.testing.assert_close(step.rows[f"decoder.{layer}.cross.weights"], weights, atol=1e-5, rtol=0)


RULES: list[tuple[StopRule, bool | str]] = [("none-better", False), ("width-finished", True), *GENERATE_RULES.items()]


@each_once("seed, width, penalty, rule", range(3), [2, 4], [0.0, 0.6, 1.0, 2.0], RULES)
def test_beams_have_marians_tokens_and_scores(
    seed: int, width: int, penalty: float, rule: tuple[StopRule, bool | str]
) -> None:
    """transformers divides by the number of tokens written to the power of the penalty, the end token among them.

    At the maximum length it counts what is still going as finished, as our own rules do not: of these only searches
    that end before.
    """
    stop, early = rule
    theirs = marian(seed)
    ckpt, counted = ours(theirs), 0
    for source in SOURCES:
        options = {"num_beams": width, "num_return_sequences": width, "length_penalty": penalty}
        found = generated(theirs, source, early_stopping=early, **options)
        if len(found.logits) >= MOST and stop not in GENERATE_RULES:
            continue
        beam = Beam(width, penalty="power", length_penalty=penalty, stop=stop, n_best=width)
        run = decode(ckpt, source, strategy=beam, max_steps=MOST)
        assert run.tree is not None
        scale = max(row.abs().max().item() for row in found.logits) * len(run.steps)  # as many logits are added up
        assert run.tree.steps == len(found.logits)
        for node, ids, score in zip(run.tree.best, found.sequences.tolist(), found.sequences_scores, strict=True):
            written = list(run.tree.ids(node.index))
            assert written == ids[1 : 1 + len(written)] and set(ids[1 + len(written) :]) <= {END, START}
            assert node.score == pytest.approx(score.item(), abs=3e-6 * scale)
        assert [step.token_id for step in run.steps] == list(run.tree.ids(run.tree.answer))
        counted += 1
    assert counted, "no search ended in time: nothing was compared"
