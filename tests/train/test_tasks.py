"""The table of tasks, and the numbers task against the examples of its specification."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from viz_transformer.model.transformer import Transformer
from viz_transformer.train.tasks import NUMBERS_SOURCE, NUMBERS_TARGET, TASKS, Plan, find_task, numbers_codecs


def test_an_unknown_task_names_near_ones():
    with pytest.raises(ValueError, match="there is no task 'number': did you mean 'numbers'"):
        find_task("number")


def test_numbers_have_the_ids_of_their_specification(tmp_path: Path):
    source, target = numbers_codecs(tmp_path)
    assert len(NUMBERS_SOURCE) == 17 and len(NUMBERS_TARGET) == 41
    words = "minus thirty-one thousand and thirteen point six six"
    assert source.encode("-31,013.66").ids == (0, 16, 12, 7, 5, 4, 7, 12, 6, 10, 10, 1)
    assert target.encode(words).ids == (0, 14, 23, 6, 10, 8, 4, 35, 9, 15, 15, 1)
    assert source.encode("29,284.30").ids == (0, 8, 15, 5, 8, 11, 9, 6, 12, 4, 1)


@pytest.mark.parametrize(
    "words",
    [
        "twenty-nine thousand, two hundred and eighty-four point three",
        "minus eight million, three hundred and sixty-seven thousand, four hundred and thirty-five point five",
        "zero",
    ],
)
def test_number_words_survive_encoding_and_decoding(words: str, tmp_path: Path):
    target = numbers_codecs(tmp_path)[1]
    encoded = target.encode(words)
    assert not encoded.unknown and target.decode(encoded.ids) == words


def test_another_vocabulary_in_the_data_folder_is_refused(tmp_path: Path):
    (tmp_path / "numbers").mkdir()
    lists = {"src": list(NUMBERS_SOURCE), "tgt": list(NUMBERS_TARGET)}
    stored = tmp_path / "numbers" / "vocab.json"
    stored.write_text(json.dumps(lists), encoding="utf-8")
    numbers_codecs(tmp_path)
    lists["tgt"][4:6] = reversed(lists["tgt"][4:6])
    stored.write_text(json.dumps(lists), encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab\.json is not the vocabulary"):
        numbers_codecs(tmp_path)


@pytest.mark.parametrize("name", TASKS)
def test_codecs_fit_the_model(name: str, tmp_path: Path):
    task = TASKS[name]
    source, target = task.codecs(tmp_path)
    config = task.model
    assert (len(source.vocabulary), len(target.vocabulary)) == (config.source_vocab_size, config.target_vocab_size)
    assert (source.vocabulary.pad, target.vocabulary.pad) == (config.source_pad, config.target_pad)
    Transformer(config)


def test_the_tiny_task_keeps_many_early_snapshots():
    snapshots = TASKS["numbers-tiny"].plan.snapshots
    assert len(snapshots) >= 12 and snapshots[:3] == (0, 1, 2) and sum(step <= 100 for step in snapshots) >= 8


def test_a_plan_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="row_every=0 must be at least 1"):
        Plan(epochs=1, batch_tokens=10, peak_rate=1.0, warmup=1, row_every=0)
