"""Attentions that call torch's functions by themselves: what is heard is theirs, and edits are what they go on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from pretrained import HEARD, folder, word_pieces
from tokenizers import processors

from viz_transformer import read
from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.huggingface.loading import load
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.running.edits import AblateHead, Edit, FixRow, Scale, SetMask
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

Opened = Callable[[str], Checkpoint]
Theirs = Callable[[str], Any]
IDS = [5, 9, 13, 7, 20, 21, 22, 6]


def recorded(ckpt: Checkpoint, *edits: Edit) -> Trace:
    return trace(ckpt, IDS, edits=edits)


def first(ckpt: Checkpoint) -> str:
    return next(iter(ckpt.spec.attentions))


@pytest.mark.parametrize("name", HEARD)
def test_edited_weights_give_what_the_untouched_model_makes_with_such_a_softmax(
    opened: Opened, theirs: Theirs, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit by bit: there torch's own softmax gives the changed weights, in the first layer."""
    row = (0.25, 0.75)
    found = recorded(opened(name), FixRow(first(opened(name)), 3, row, head=1))
    softmax, calls = torch.nn.functional.softmax, 0

    def changed(*args: Any, **kwargs: Any) -> torch.Tensor:
        nonlocal calls
        weights, calls = softmax(*args, **kwargs), calls + 1
        if calls == 1:
            weights[0, 1, 3] = torch.tensor([*row, *[0.0] * (weights.size(-1) - len(row))])
        return weights

    monkeypatch.setattr(torch.nn.functional, "softmax", changed)
    with torch.no_grad():
        segments = {"token_type_ids": torch.zeros(1, len(IDS), dtype=torch.long)} if name == "xlnet" else {}
        expected = theirs(name)(input_ids=torch.tensor([IDS]), output_attentions=True, **segments)
    assert calls == len(opened(name).spec.attentions)
    for site, weights in zip(opened(name).spec.attentions, expected.attentions, strict=True):
        assert torch.equal(found[f"{site}.weights"], weights)
    assert torch.equal(found["logits"], expected.logits)


@pytest.mark.parametrize("name", HEARD)
def test_a_changed_mask_closes_and_opens_cells(opened: Opened, name: str) -> None:
    """As the softmax over the cells that are open then, worked out from the scores."""
    ckpt = opened(name)
    site = [*ckpt.spec.attentions][1]  # of GPT-Neo the one with a window
    closed, opened_cell = SetMask(site, 5, 4, False), SetMask(site, 4, 7, True, head=2)
    found = recorded(ckpt, closed, opened_cell)
    mask = found[f"{site}.mask"]
    assert mask.shape == (1, ckpt.spec.attentions[site].query, len(IDS), len(IDS))
    assert not mask[0, :, 5, 4].any() and mask[0, 2, 4, 7]
    weights = found[f"{site}.weights"]
    assert torch.equal(weights[0, :, 5, 4], torch.zeros(len(weights[0]))) and weights[0, 2, 4, 7] > 0
    if f"{site}.scores" in found:
        scores = found[f"{site}.scores"].double().masked_fill(~mask, -torch.inf)
        torch.testing.assert_close(weights.double(), scores.softmax(dim=-1), atol=1e-6, rtol=1e-5)
    assert not torch.equal(found["logits"], recorded(ckpt)["logits"])


@pytest.mark.parametrize("name", HEARD)
def test_an_edit_of_values_and_heads_is_what_the_output_is_made_of(opened: Opened, name: str) -> None:
    ckpt = opened(name)
    site = first(ckpt)
    found = recorded(ckpt, Scale(f"{site}.value", 3.0, at=(0, 2, None)), AblateHead(site, 1))
    value = found[f"{site}.value"]
    assert torch.equal(value[:, 0, 2], recorded(ckpt)[f"{site}.value"][:, 0, 2] * 3)
    heads = ckpt.spec.attentions[site]
    made = found[f"{site}.weights"].double() @ value.double().repeat_interleave(heads.query // heads.key, dim=1)
    made[:, 1] = 0
    torch.testing.assert_close(found[f"{site}.head_out"].double(), made, atol=1e-5, rtol=1e-5)
    out = ckpt.hooked_model.parameters_of(site).out
    merged = torch.nn.functional.linear(found[f"{site}.head_out"].transpose(1, 2).flatten(2), out.weight, out.bias)
    torch.testing.assert_close(merged, found[f"{site}.out"], atol=1e-5, rtol=1e-5)


def test_a_window_closes_cells_and_is_known_before(opened: Opened) -> None:
    ckpt = opened("gpt_neo")
    assert [heads.window for heads in ckpt.spec.attentions.values()] == [None, 3]
    mask = recorded(ckpt)["decoder.1.self.mask"][0, 0]
    far = torch.arange(len(IDS))[:, None] - torch.arange(len(IDS))
    assert torch.equal(mask, (far >= 0) & (far < 3))


def test_the_bias_of_bloom_is_a_slope_for_each_head_by_the_place_of_the_key(opened: Opened) -> None:
    found = recorded(opened("bloom"))["decoder.0.self.bias"][0]
    slopes = torch.tensor([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8])  # of four heads, Press et al. (2022)
    expected = slopes[:, None, None] * torch.arange(len(IDS))
    assert torch.equal(found, expected.expand(-1, len(IDS), -1))


def test_heads_of_falcon_that_share_keys_and_values_have_them_once(opened: Opened, theirs: Theirs) -> None:
    """In its newer layers each head has a copy of its own, so an edit has to reach the copies of all that share it."""
    ckpt = opened("falcon/grouped")
    found = recorded(ckpt, Scale("decoder.0.self.value", 2.0, at=(1, None, None)))
    assert found["decoder.0.self.key"].shape == found["decoder.0.self.key_unrotated"].shape == (1, 2, len(IDS), 8)
    before = recorded(ckpt)["decoder.0.self.head_out"]
    assert torch.equal(found["decoder.0.self.head_out"][:, :2], before[:, :2])
    torch.testing.assert_close(found["decoder.0.self.head_out"][:, 2:], before[:, 2:] * 2)


@pytest.mark.parametrize("name", ["deberta", "deberta-v2", "xlnet"])
def test_scores_with_terms_for_distances_are_a_sentence(opened: Opened, name: str) -> None:
    found = recorded(opened(name))
    with pytest.raises(KeyError, match="terms for distances"):
        found["encoder.0.self.scores"]
    assert "for how far a key is from the query" in opened(name).spec.missing["encoder.embed.position"]


def changed(where: Path, name: str, **settings: Any) -> Path:
    path = folder(where, name) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    return where


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("falcon", {"alibi": True}, "adds its slopes twice"),
        ("deberta", {"talking_head": True}, "mixes the weights of its heads"),
        ("xlnet", {"bi_data": True}, "bi_data to True, which is not read"),
        ("xlnet", {"attn_type": "uni"}, "another model"),
    ],
)
def test_settings_that_are_not_read_are_a_sentence(
    tmp_path: Path, name: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(CheckpointError, match=said):
        load(changed(tmp_path / "model", name, **settings))


def test_falcons_slopes_are_added_twice_by_the_pinned_transformers() -> None:
    """Why it is refused: the day this fails, Falcon with slopes can be opened."""
    sizes = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    config = transformers.FalconConfig(**sizes, alibi=True, initializer_range=0.3)
    logits = []
    model = transformers.FalconForCausalLM(config).eval()
    for how in ("eager", "sdpa"):
        model.config._attn_implementation = how
        with torch.no_grad():
            logits.append(model(torch.tensor([IDS])).logits)
    assert float((logits[0] - logits[1]).abs().max()) > 1e-3


def test_a_convolution_between_two_layers_is_said(tmp_path: Path) -> None:
    """Of DeBERTa v2's large models: what the first layer gives out is not what the second reads."""
    ckpt = load(folder(tmp_path / "model", "deberta-v2", conv_kernel_size=3))
    assert "the next layer read other vectors" in ckpt.spec.missing["encoder.0.residual_out"]
    found = recorded(ckpt)
    assert "encoder.0.residual_out" not in found and "encoder.1.residual_out" in found


def test_xlnets_predictions_are_left_out_and_its_vectors_are_theirs(tmp_path: Path, theirs: Theirs) -> None:
    """The head of the folder predicts by a second stream of vectors."""
    where = folder(tmp_path / "model", "xlnet", cls="XLNetLMHeadModel")
    ckpt = load(where)
    found = recorded(ckpt)
    assert ckpt.spec.output == "none" and "logits" not in found
    assert "second stream" in ckpt.spec.missing["logits"]
    with pytest.raises(Unavailable, match="second stream"):
        ckpt.hooked_model.read_out(found["encoder.out"], "encoder")
    model = transformers.XLNetModel.from_pretrained(where)
    with torch.no_grad():
        expected = model(torch.tensor([IDS]), token_type_ids=torch.zeros(1, len(IDS), dtype=torch.long))
    assert torch.equal(found["encoder.out"], expected.last_hidden_state)


def closing_pieces() -> Any:
    """Word pieces with what XLNet's tokenizers put around texts, and their segments."""
    pieces = word_pieces()
    own = transformers.PreTrainedTokenizerFast(
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        tokenizer_object=type(pieces.backend_tokenizer).from_str(pieces.backend_tokenizer.to_str()),
        **{name: pieces.special_tokens_map[name] for name in ("pad_token", "unk_token", "cls_token", "sep_token")},
    )
    own.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0 [SEP]:0 [CLS]:2",
        pair="$A:0 [SEP]:0 $B:1 [SEP]:1 [CLS]:2",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return own


@pytest.mark.parametrize("pair", [None, "a dog ran"])
def test_segments_of_xlnet_are_those_of_its_tokenizer(tmp_path: Path, pair: str | None) -> None:
    where = folder(tmp_path / "model", "xlnet/labels", tokenizer=closing_pieces)
    run = read(load(where), "the cat sat", pair=pair)
    given = closing_pieces()("the cat sat", pair, return_tensors="pt")
    assert given["token_type_ids"].max() == 2 and run.trace.src_ids == tuple(given["input_ids"][0].tolist())
    with torch.no_grad():
        expected = transformers.XLNetForSequenceClassification.from_pretrained(where)(**given, output_attentions=True)
    assert torch.equal(run.trace["logits"], expected.logits)
    assert torch.equal(run.trace["encoder.1.self.weights"], expected.attentions[1])
