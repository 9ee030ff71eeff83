"""Attention weights of other programs as a trace: what transformers hands out, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pretrained import model

import viz_transformer as vt
from viz_transformer.running.recorded_model import open_recording

IDS = torch.tensor([[1, 7, 11, 5, 8]])
WORDS = ["<s>", "a", "cat", "sat", "down"]


@pytest.fixture(scope="module")
def decoder() -> Any:
    return model("gpt2", 20, attn_implementation="eager")


@pytest.fixture(scope="module")
def pair() -> Any:
    return model("bart", 20, attn_implementation="eager")


def weights(*shape: int, causal: bool = False) -> torch.Tensor:
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    if causal:
        scores = scores.masked_fill(torch.ones(shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1)


def test_what_a_decoder_hands_out_is_recorded_as_it_is(decoder: Any) -> None:
    with torch.no_grad():
        out = decoder(IDS, output_attentions=True)
    trace = vt.from_attentions(out.attentions, tokens=WORDS)
    assert [*trace.spec.attentions] == ["decoder.0.self", "decoder.1.self"]
    for layer, given in enumerate(out.attentions):
        assert torch.equal(trace[f"decoder.{layer}.self.weights"], given)
        assert torch.equal(trace[f"decoder.{layer}.self.mask"][0, 0], torch.ones(5, 5).tril().bool())
    assert trace.tgt_tokens == tuple(WORDS) and trace.next_tokens == ("a", "cat", "sat", "down", None)


def test_source_target_and_cross_attention_are_told_apart_by_their_names(pair: Any) -> None:
    target = torch.tensor([[1, 4, 9]])
    with torch.no_grad():
        out = pair(IDS, decoder_input_ids=target, output_attentions=True)
    trace = vt.from_attentions(
        out.encoder_attentions,
        decoder=out.decoder_attentions,
        cross=out.cross_attentions,
        tokens=(WORDS, ["<s>", "una", "gatta"]),
    )
    assert torch.equal(trace["encoder.1.self.weights"], out.encoder_attentions[1])
    assert torch.equal(trace["decoder.1.self.weights"], out.decoder_attentions[1])
    assert torch.equal(trace["decoder.1.cross.weights"], out.cross_attentions[1])
    assert trace["decoder.0.cross.mask"].all() and trace["encoder.0.self.mask"].all()
    assert (
        trace.notes
        == vt.from_attentions(
            [each[0].tolist() for each in out.encoder_attentions],  # lists, without the text's axis
            decoder=[each.numpy() for each in out.decoder_attentions],
            cross=torch.stack(out.cross_attentions),
            tokens=(WORDS, ["<s>", "una", "gatta"]),
        ).notes
    )


def test_the_steps_of_generate_are_one_pass_and_its_last_token_is_written_and_not_read(decoder: Any, pair: Any) -> None:
    how = {"max_new_tokens": 4, "do_sample": False, "output_attentions": True, "return_dict_in_generate": True}
    how |= {"eos_token_id": None, "pad_token_id": 0}
    out = decoder.generate(IDS, **how)
    names = [f"token {each}" for each in out.sequences[0].tolist()]
    trace = vt.from_attentions(out.attentions, tokens=names)
    with torch.no_grad():
        whole = decoder(out.sequences[:, :-1], output_attentions=True).attentions
    for layer, given in enumerate(whole):
        assert trace[f"decoder.{layer}.self.weights"].numpy() == pytest.approx(given.numpy(), abs=1e-6)
    assert trace.tgt_tokens == tuple(names[:-1]) and trace.next_tokens == tuple(names[1:])

    out = pair.generate(IDS, **how, forced_bos_token_id=None)
    answer = [f"token {each}" for each in out.sequences[0].tolist()]
    trace = vt.from_attentions(
        out.encoder_attentions,
        decoder=out.decoder_attentions,
        cross=out.cross_attentions,
        tokens=(WORDS, answer),
    )
    with torch.no_grad():
        whole = pair(IDS, decoder_input_ids=out.sequences[:, :-1], output_attentions=True).cross_attentions
    assert trace["decoder.1.cross.weights"].numpy() == pytest.approx(whole[1].numpy(), abs=1e-6)
    assert trace.next_tokens == tuple(answer[1:])


def test_rows_may_be_told_by_what_they_write() -> None:
    trace = vt.from_attentions(cross=[weights(2, 3, 4)], tokens=(list("abcd"), ["una", "gatta", "</s>"]), rows="write")
    assert trace.tgt_tokens == ("(start)", "una", "gatta") and trace.next_tokens == ("una", "gatta", "</s>")


def test_one_text_is_a_decoder_s_where_no_row_looks_ahead_and_an_encoder_s_otherwise() -> None:
    for causal, site in ((True, "decoder.0.self"), (False, "encoder.0.self")):
        trace = vt.from_attentions([weights(1, 2, 3, 3, causal=causal)], tokens=["a", "b", "c"])
        assert [*trace.spec.attentions] == [site]
    half = vt.from_attentions([weights(1, 2, 3, 3).bfloat16()], tokens=["a", "b", "c"])
    assert half["encoder.0.self.weights"].dtype == torch.float32
    sums = vt.from_attentions([weights(1, 2, 3, 3) * 2], tokens=["a", "b", "c"])
    assert "rows add to 2; not a softmax over keys" in sums.notes[0]


def test_a_saved_trace_is_the_same_and_opens_as_a_recording_that_is_drawn(tmp_path: Path) -> None:
    trace = vt.from_attentions(
        cross=[weights(2, 3, 4), weights(2, 3, 4)], tokens=(list("abcd"), ["x", "y", "z"]), rows="write", name="mine"
    )
    trace.save(tmp_path / "mine.safetensors")
    read = vt.Trace.load(tmp_path / "mine.safetensors")
    assert read.next_tokens == trace.next_tokens and torch.equal(
        read["decoder.1.cross.weights"], trace["decoder.1.cross.weights"]
    )
    assert trace.spec.unseen["encoder.0.self"] == "its weights were not handed over"
    ckpt, run = open_recording(tmp_path / "mine.safetensors")
    assert ckpt.spec.attentions.keys() == {"decoder.0.cross", "decoder.1.cross"} and run.trace.checkpoint == "mine"
    assert vt.show(trace, "decoder.1.cross", head=1).title


TWO = {"tokens": (["a", "b"], ["c", "d", "e"])}
ONE = {"tokens": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ONE, "there are no attention weights: give attentions, decoder or cross"),
        ({**ONE, "attentions": []}, "attentions is not a list with the weights of each layer"),
        ({**ONE, "attentions": weights(2, 2, 3, 3)[None]}, r"attentions\[0\] has the weights of 2 texts"),
        (
            {**ONE, "attentions": [weights(2, 3, 4)]},
            r"attentions\[0\] is \[2, 3, 4\].* 3 tokens for the rows and 3 for",
        ),
        ({**ONE, "attentions": [weights(3, 3)]}, r"attentions\[0\] is \[3, 3\], and not \[1, heads, rows, keys\]"),
        ({**ONE, "attentions": [[["a"]]]}, r"attentions\[0\] holds no numbers"),
        ({**ONE, "attentions": [None]}, r"attentions\[0\] is no list, and not"),
        ({**ONE, "attentions": [torch.full((1, 3, 3), torch.inf)]}, "infinite weights"),
        ({**ONE, "cross": [weights(2, 3, 3)]}, "tokens is a pair of lists"),
        ({**TWO, "cross": [weights(2, 2, 3)]}, r"cross\[0\] is \[2, 2, 3\]"),
        ({**TWO, "decoder": [weights(2, 2, 2)], "cross": [weights(2, 3, 2)]}, r"decoder\[0\] is \[2, 2, 2\]"),
        ({**ONE, "attentions": ((weights(1, 2, 2, 2),), (weights(1, 3, 1, 3),))}, "different numbers of heads"),
        ({**ONE, "attentions": ((weights(1, 2, 2, 2),), ())}, "different numbers of layers: 0, 1"),
        ({"tokens": "abc", "attentions": [weights(2, 3, 3)]}, "not one text: give a list of strings"),
        ({**ONE, "attentions": [weights(2, 3, 3)], "rows": "both"}, 'has to be "read" or "write"'),
    ],
)
def test_what_does_not_fit_is_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        vt.from_attentions(**given)
    assert "\n" not in str(refused.value)


def test_rows_that_are_not_numbers_are_kept() -> None:
    lost = weights(2, 3, 3)
    lost[0, 1] = torch.nan
    trace = vt.from_attentions([lost], tokens=["a", "b", "c"])
    assert np.isnan(trace["encoder.0.self.weights"].numpy()[0, 0, 1]).all()


def test_the_lines_of_the_docs_print_what_was_not_handed_over(capsys: pytest.CaptureFixture[str]) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "own-models.md").read_text(encoding="utf-8")
    (example,) = [
        each for each in re.findall(r"```python\n(.*?)```", docs, flags=re.DOTALL) if "from_attentions" in each
    ]
    exec(example, {"torch": torch, "vt": vt})
    assert "decoder.0.self: not seen, its weights were not handed over" in capsys.readouterr().out
