"""In bfloat16 a folder's numbers are those of transformers' own pass in bfloat16, and nothing takes them for others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from in_turn import every
from pretrained import KINDS, WRITING, folder

from viz_transformer.analysis.inputs.embeddings import embedding_table, input_sum
from viz_transformer.analysis.layers.experts import routing
from viz_transformer.analysis.layers.lens import lens
from viz_transformer.analysis.layers.sublayers import places
from viz_transformer.analysis.positions.in_attention import turning
from viz_transformer.checkpoint import Checkpoint, CheckpointError, devices
from viz_transformer.checkpoint.contents import find_folder, read_summary
from viz_transformer.command import main as program
from viz_transformer.huggingface import away
from viz_transformer.huggingface.folder import read_folder
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead, Edit, FixRow, Replace, Scale, SetMask
from viz_transformer.running.search import DecoderState
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace
from viz_transformer.ui.session import cached
from viz_transformer.ui.session.memoize import _of_model, summary_key

Written = Callable[[str], Path]
Opened = Callable[[str], Checkpoint]
ROUNDING = 2.0**-8
"""Of a number to the nearest that has 8 bits, as a share of it."""
REFUSED = ("deberta", "deberta/biased", "xlnet")
"""Whose code of transformers mixes float32 with bfloat16, and stops."""
RUN = [name for name in KINDS if name not in REFUSED]
SOURCE, TARGET = [5, 9, 13, 7, 20, 21, 22, 6, 8, 30], [2, 30, 12, 33, 34, 5, 36, 37]
TEXTS = ("two hundred and four", "the cat ran over", "naïve dog")
MOST = 14


@pytest.fixture(scope="module")
def rounded(written: Written) -> Opened:
    """The folder of a family's model, opened in bfloat16."""
    return cache(lambda name: load(written(name), dtype="bfloat16"))


def their_model(where: Path, name: str) -> Any:
    cls: Any = getattr(transformers, KINDS[name][0])
    return cls.from_pretrained(where, attn_implementation="eager", dtype=torch.bfloat16).eval()


def recorded(ckpt: Checkpoint, *edits: Edit) -> Trace:
    return trace(ckpt, SOURCE, TARGET if ckpt.spec.kind == "encoder-decoder" else None, edits=edits)


@pytest.mark.parametrize("name", RUN)
def test_a_recording_takes_no_more_memory_than_was_said_before(rounded: Opened, name: str) -> None:
    found = recorded(rounded(name))
    taken = {each.data_ptr(): each.untyped_storage().nbytes() for each in found.values.values()}
    said = found.spec.recorded_bytes(source=len(found.src), target=len(found.tgt))
    assert 0.5 * said < sum(taken.values()) <= said


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", [name for name in RUN if name in WRITING])
def test_a_step_says_how_many_bytes_its_cache_holds(rounded: Opened, opened: Opened, name: str, precision: str) -> None:
    ckpt = (opened if precision == "float32" else rounded)(name)
    run = decode(ckpt, "two hundred", max_steps=3)
    if not run.trace.info["cached"]:
        assert all(step.cache is None for step in run.steps)
        return
    source = [run.trace.src_ids] if ckpt.spec.has_encoder else None
    state, first = DecoderState(ckpt.hooked_model, source, edits=None), len(run.trace.tgt_ids) - len(run.steps) + 1
    read = [run.trace.tgt_ids[:first], *([token_id] for token_id in run.trace.tgt_ids[first:])]
    for step, new in zip(run.steps, read, strict=True):
        with torch.no_grad():
            state.step([new])
        cache: Any = state.decoding
        caches = [cache._cache.self_attention_cache, cache._cache.cross_attention_cache] if source else [cache._cache]
        held = [numbers for each in caches for layer in each.layers for numbers in (layer.keys, layer.values)]
        assert step.cache is not None and step.cache.bytes == sum(numbers.nbytes for numbers in held)


@pytest.mark.parametrize("name", RUN)
def test_weights_and_logits_are_theirs_bit_by_bit(rounded: Opened, opened: Opened, written: Written, name: str) -> None:
    ckpt, model = rounded(name), their_model(written(name), name)
    ids = {"input_ids": torch.tensor([SOURCE])}
    if ckpt.spec.kind == "encoder-decoder":
        ids["decoder_input_ids"] = torch.tensor([TARGET])
    with torch.no_grad():
        expected = model(**ids, output_attentions=True)
    found = recorded(ckpt)
    assert expected.logits.dtype == torch.bfloat16 and found["logits"].dtype == torch.float32
    assert torch.equal(found["logits"], expected.logits.float())
    fields = {"encoder.{}.self": "encoder_attentions", "decoder.{}.self": "decoder_attentions"}
    fields["decoder.{}.cross"] = "cross_attentions"
    if ckpt.spec.kind != "encoder-decoder":
        fields = {f"{ckpt.spec.kind.partition('-')[0]}.{{}}.self": "attentions"}
    seen = 0
    for site, field in fields.items():
        for layer, weights in enumerate(getattr(expected, field)):
            assert torch.equal(found[f"{site.format(layer)}.weights"], weights.float())
            seen += 1
    assert seen == len(ckpt.spec.attentions)
    # and the trial pass proves as much as in float32
    assert set(ckpt.spec.missing) == set(opened(name).spec.missing)


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_run_in_it_is_a_sentence(written: Written, name: str) -> None:
    with pytest.raises(CheckpointError, match=r"does not run in bfloat16 .*: choose float32"):
        load(written(name), dtype="bfloat16")


@pytest.mark.parametrize("name", [name for name in RUN if name != "gpt_oss"])  # whose sink takes a share
def test_rows_sum_to_1_but_for_the_rounding(rounded: Opened, name: str) -> None:
    found = recorded(rounded(name))
    off = max(float((found[f"{site}.weights"].sum(dim=-1) - 1).abs().max()) for site in found.spec.attentions)
    assert 1e-5 < off <= ROUNDING


@pytest.mark.parametrize("name", every(3, WRITING, first=1))
def test_greedy_answers_are_those_of_generate(rounded: Opened, written: Written, name: str) -> None:
    if name in REFUSED:
        pytest.skip("refused")
    model = their_model(written(name), name)
    for text in TEXTS:
        run = decode(rounded(name), text, max_steps=MOST)
        given = list(run.trace.src_ids or run.trace.tgt_ids[: len(run.trace.tgt) - len(run.steps) + 1])
        mask = torch.ones(1, len(given), dtype=torch.long)
        found = model.generate(torch.tensor([given]), attention_mask=mask, max_new_tokens=MOST, do_sample=False)[
            0, 1 if run.trace.src_ids else len(given) :
        ]
        assert [step.token_id for step in run.steps] == found.tolist()


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5", "bart"])
def test_how_far_it_is_from_float32_is_measured(rounded: Opened, opened: Opened, name: str) -> None:
    found = away(rounded(name), opened(name))
    assert 0 < found.output < 0.1 and 0 < found.weight < 0.5 and found.tokens == 9


def test_inspect_says_it(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        program(["inspect", str(written("llama")), "--dtype", "bfloat16"])
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert "Computed in bfloat16: every result is rounded to 8 bits" in said
    assert "against float32" in said and "in a text of 9 tokens its logits are off by at most" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inspect", "numbers-tiny", "--dtype", "bfloat16"], "numbers-tiny is one of this program's own models"),
        (["translate", "numbers-tiny", "1.00", "--dtype", "float16"], "dtype='float16' is not known; choose"),
        (["app", "--no-browser", "--dtype", "int8"], "dtype='int8' is not known; choose"),
    ],
)
def test_another_type_is_a_sentence(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as left:
        program(words)
    lines = capsys.readouterr().err.strip().splitlines()
    assert left.value.code == 1 and len(lines) == 1 and said in lines[0]


def test_a_trace_keeps_its_type_in_its_file_and_is_told_apart(rounded: Opened, opened: Opened, tmp_path: Path) -> None:
    found, exact = recorded(rounded("gpt2")), recorded(opened("gpt2"))
    found.save(tmp_path / "rounded.safetensors")
    again = Trace.load(tmp_path / "rounded.safetensors")
    assert again.spec.precision == "bfloat16" and exact.spec.precision == "float32"
    assert again.id == found.id != exact.id
    assert not any(found.diff(again).values()) and found.diff(exact)["logits"] > 0
    for point in found.points(derived=True):  # made again, of maps that lie otherwise in memory
        torch.testing.assert_close(again[point], found[point])
        assert again[point].dtype in (torch.float32, torch.bool)


def test_what_is_kept_of_one_type_is_not_taken_for_the_other(
    rounded: Opened, opened: Opened, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_of_the_app", devices.Computed())
    assert _of_model(rounded("gpt2")) != _of_model(opened("gpt2"))
    summary, before = read_folder(written("gpt2")), summary_key(read_folder(written("gpt2")))
    own = read_summary(find_folder("numbers-tiny"))
    devices.compute_folders("cpu", "bfloat16")
    assert summary_key(summary) != before
    cached.store().clear()
    assert cached.checkpoint(summary).spec.precision == "bfloat16"
    assert cached.checkpoint(own).spec.precision == "float32"
    cached.store().clear()


@pytest.mark.parametrize("name", ["gpt2", "llama", "gptj", "bloom", "falcon", "bert", "deberta-v2", "t5", "bart"])
def test_edits_are_made_in_it(rounded: Opened, name: str) -> None:
    ckpt = rounded(name)
    plain = recorded(ckpt)
    site = f"{'decoder' if ckpt.spec.has_decoder else 'encoder'}.0.self"
    size = plain[f"{site}.head_out"].size(-1)
    edits: list[Edit] = [
        *(AblateHead(site, 1, how) for how in ("zero", "mean", "uniform")),
        *(FixRow(site, 3, (0.7, 0.3)), SetMask(site, 3, 1, False), Scale(f"{site}.head_out", 1.5)),
        Replace(f"{site}.head_out", (0.3,) * size, (1, 2)),
    ]
    for edit in edits:
        changed = recorded(ckpt, edit)
        assert not torch.equal(changed["logits"], plain["logits"]), edit
        for point in changed.points():
            value = changed[point]
            assert value.dtype == torch.bool or torch.equal(value.bfloat16().float(), value), point


@pytest.mark.parametrize("name", ["gpt2", "gemma", "gemma2", "bert", "bart", "marian"])
def test_inputs_are_the_sums_of_the_embeddings_in_it(rounded: Opened, name: str) -> None:
    ckpt = rounded(name)
    for side in ckpt.codecs:
        made = input_sum(recorded(ckpt), embedding_table(ckpt, side), side)
        assert made.exact and made.precision == "bfloat16"


@pytest.mark.parametrize("name", ["llama", "gemma3_text", "phi", "gpt_neox", "modernbert"])
def test_the_frequencies_that_turn_are_found_in_it(rounded: Opened, opened: Opened, name: str) -> None:
    ckpt, exact = rounded(name), opened(name)
    for site in ckpt.spec.attentions:
        found, expected = (turning(recorded(each), site, each.hooked_model.frequencies()) for each in (ckpt, exact))
        assert found is not None and expected is not None
        assert found.named == expected.named and found.pairs.tolist() == expected.pairs.tolist()


@pytest.mark.parametrize("name", ["mixtral", "qwen2_moe", "olmoe", "deepseek_v2", "deepseek_v3"])
def test_the_rule_of_a_router_is_found_in_it(rounded: Opened, opened: Opened, name: str) -> None:
    seen = 0
    for place in places(rounded(name).spec, "decoder"):
        found, expected = (routing(recorded(each), place) for each in (rounded(name), opened(name)))
        if expected is None:
            continue
        assert found is not None and found.rule is not None and expected.rule is not None
        assert (found.rule.measure, found.rule.among) == (expected.rule.measure, expected.rule.among)
        seen += 1
    assert seen


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bloom"])
def test_the_lens_ends_with_the_runs_own_logits(rounded: Opened, name: str) -> None:
    found = recorded(rounded(name))
    assert lens(found, rounded(name).hooked_model).gap == 0


def test_weights_of_a_long_text_follow_from_queries_and_keys(tmp_path: Path) -> None:
    where = folder(tmp_path / "long", "llama", max_position_embeddings=600)
    ckpt, model = load(where, dtype="bfloat16"), their_model(where, "llama")
    ids = [(7 * place + place // 5) % 280 + 3 for place in range(512)]
    found = trace(ckpt, ids)
    with torch.no_grad():
        expected = model(torch.tensor([ids]), output_attentions=True)
    assert "decoder.0.self.weights" not in found.points()
    first = expected.attentions[0].float()
    # made of float32 scores, where the model rounds these, and weights; of the second layer the input is another one
    torch.testing.assert_close(found["decoder.0.self.weights"], first, rtol=0.1, atol=1e-3)
