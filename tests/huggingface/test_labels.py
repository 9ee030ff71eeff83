"""Models with a head that gives labels: to a text, and to each of its tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pretrained import LABELLED, folder

from viz_transformer import read
from viz_transformer.analysis.layers.lens import lens, undefined_lens
from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.huggingface.folder import read_folder
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import Scale
from viz_transformer.running.labels import Labels, holding
from viz_transformer.running.trace import Trace
from viz_transformer.ui.pages.run import labels_view

CLASSIFIES = 2  # the id of [CLS]
TEXT = "the cat sat on the mat"
Opened = Callable[[str], Checkpoint]


@pytest.mark.parametrize("name", LABELLED)
def test_logits_and_weights_are_theirs_bit_by_bit(opened: Opened, theirs: Callable[[str], Any], name: str) -> None:
    trace = read(opened(name), TEXT).trace
    given = torch.tensor([trace.src_ids])
    with torch.no_grad():
        ends = (given == CLASSIFIES) * 2  # XLNet's tokenizers give that token a segment of its own
        segments = {"token_type_ids": ends} if name.startswith("xlnet") else {}
        expected = theirs(name)(input_ids=given, output_attentions=True, **segments)
    assert torch.equal(trace["logits"], expected.logits)
    for layer, weights in enumerate(expected.attentions):
        assert torch.equal(trace[f"encoder.{layer}.self.weights"], weights)
    assert not [why for why in opened(name).spec.missing.values() if "trial pass" in why]


@pytest.mark.parametrize("name", LABELLED)
def test_labels_are_the_softmax_of_their_logits_by_name(opened: Opened, name: str) -> None:
    run = read(opened(name), TEXT)
    names = opened(name).spec.labels
    rows = run.trace["logits"][0].double().reshape(-1, len(names)).softmax(dim=-1).numpy()
    assert len(run.labels) == len(rows) == (len(run.trace.src) if name.endswith("tags") else 1)
    for place, (found, row) in enumerate(zip(run.labels, rows, strict=True)):
        assert found.position == (place if name.endswith("tags") else None)
        assert [label.name for label in found.scores] == [names[i] for i in np.argsort(-row)]
        assert np.allclose([label.probability or 0 for label in found.scores], np.sort(row)[::-1], rtol=1e-12)


def test_an_edit_reaches_the_labels(opened: Opened) -> None:
    for name in ("bert/labels", "electra/tags"):
        edited = read(opened(name), TEXT, edits=[Scale("encoder.0.self.value", 2.0)])
        assert not torch.equal(read(opened(name), TEXT).trace["logits"], edited.trace["logits"])


def scored(where: Path, **changes: Any) -> Checkpoint:
    """A classifier whose config has these settings."""
    path = folder(where, "bert/labels") / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return load(where)


def test_labels_of_which_each_holds_by_itself_are_sigmoids(tmp_path: Path) -> None:
    run = read(scored(tmp_path / "many", problem_type="multi_label_classification"), TEXT)
    logits = np.sort(run.trace["logits"][0].double().numpy())[::-1]
    (found,) = run.labels
    assert np.allclose([label.probability or 0 for label in found.scores], 1 / (1 + np.exp(-logits)), rtol=1e-12)
    assert len(holding(found, "each")) == max(1, int((logits > 0).sum()))


def test_labels_that_hold_stand_before_those_that_do_not_and_each_is_named_or_counted() -> None:
    logits = torch.tensor([0.3, -2.0, 0.6, 0.1, -1.0, 0.5, 0.2, 0.4, -3.0])
    found = Labels(None, tuple("abcdefghi"), logits, "each")
    best, others, more = labels_view._split_labels(found, "each")
    assert ["".join(label.name for label in part) for part in (best, others)] == ["cfha", "gde"] and more == 2
    assert len(holding(found, "each")) == 6


def test_a_tagger_makes_the_best_label_of_each_token_and_the_others_when_they_are_asked_for(opened: Opened) -> None:
    for found in read(opened("bert/tags"), TEXT).labels:
        assert holding(found, "one") == (found.best,) and "scores" not in vars(found)
        assert found.best == found.scores[0] and len(found.scores) == len(opened("bert/tags").spec.labels)


def test_a_regression_gives_numbers_and_no_probabilities(tmp_path: Path) -> None:
    (found,) = read(scored(tmp_path / "number", problem_type="regression"), TEXT).labels
    assert [label.probability for label in found.scores] == [None] * 3
    assert [label.name for label in found.scores] == ["bad", "so-so", "good"]


def test_a_config_without_names_has_two_labels_by_number(tmp_path: Path) -> None:
    where = folder(tmp_path / "two", "bert/labels", num_labels=2, id2label=None)
    assert "id2label" not in json.loads((where / "config.json").read_text())
    assert read_folder(where).spec.labels == load(where).spec.labels == ("LABEL_0", "LABEL_1")


@pytest.mark.parametrize("wrong", [{"0": "a", "2": "b", "3": "c"}, {"0": 1, "1": "b", "2": "c"}, ["a", "b", "c"], {}])
def test_labels_without_an_order_are_a_sentence(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(CheckpointError, match="id2label"):
        scored(tmp_path / "wrong", id2label=wrong)


def test_fewer_names_than_the_weights_have_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"other sizes|has the shape"):
        scored(tmp_path / "wrong", id2label={"0": "a", "1": "b"})


def test_the_lens_reads_labels_of_tokens_and_says_why_not_of_texts(opened: Opened) -> None:
    tags, ckpt = read(opened("bert/tags"), TEXT), opened("bert/tags")
    found = lens(tags.trace, ckpt.hooked_model)
    assert found.top_ids[:, -1, 0].tolist() == tags.trace["logits"][0].argmax(dim=-1).tolist()
    assert found.gap <= 1e-5 * float(tags.trace["logits"].abs().max())
    assert "computed from the whole text" in (undefined_lens(opened("bert/labels").spec, "encoder") or "")


def test_nothing_is_written_and_nothing_masked(opened: Opened) -> None:
    with pytest.raises(ValueError, match="does not generate text"):
        decode(opened("bert/labels"), TEXT)
    with pytest.raises(ValueError, match="no mask token"):
        read(opened("bert/labels"), TEXT, masked=[2])
    assert read(opened("bert"), TEXT).labels == ()


def test_a_discriminator_says_of_each_token_whether_it_was_replaced(
    opened: Opened, theirs: Callable[[str], Any], tmp_path: Path
) -> None:
    """By one number: its sigmoid is the probability of "replaced", and what is left that of "original"."""
    ckpt = opened("electra/replaced")
    run = read(ckpt, TEXT)
    with torch.no_grad():
        expected = theirs("electra/replaced")(input_ids=torch.tensor([run.trace.src_ids]), output_attentions=True)
    assert torch.equal(run.trace["logits"][..., 0], expected.logits)
    assert torch.equal(run.trace["encoder.1.self.weights"], expected.attentions[1])
    numbers = expected.logits[0].double().numpy()
    assert ckpt.spec.labels == ("original", "replaced") and len(run.labels) == len(numbers)
    assert {label.best.name for label in run.labels} == {"original", "replaced"}
    for found, number in zip(run.labels, numbers, strict=True):
        by_name = {label.name: label for label in found.scores}
        assert np.isclose(by_name["replaced"].probability or 0, 1 / (1 + np.exp(-number)), rtol=1e-12)
        assert np.isclose(sum(label.probability or 0 for label in found.scores), 1)
        assert (by_name["replaced"].logit, by_name["original"].logit) == (number, -number)
        assert found.best == found.scores[0] == by_name["replaced" if number > 0 else "original"]
        assert holding(found, "either") == (found.best,)
    assert "one for both" in (undefined_lens(ckpt.spec, "encoder") or "")
    run.trace.save(tmp_path / "run.safetensors")
    assert Trace.load(tmp_path / "run.safetensors").spec.scoring == "either"
