from dataclasses import replace

import numpy as np
import pytest
from builders import tiny_checkpoint

from viz_transformer.analysis.inputs import dataset
from viz_transformer.analysis.inputs.dataset import (
    Data,
    item_codecs,
    keep,
    length_facts,
    list_needed_files,
    measure,
    parts,
    read_part,
    shuffle_batch,
    sources,
)
from viz_transformer.checkpoint import load, save_checkpoint
from viz_transformer.measuring import data as data_sets
from viz_transformer.measuring.data import generated_pairs, generated_sources
from viz_transformer.text import Characters, Codec, Vocabulary
from viz_transformer.train.tasks import TASKS
from viz_transformer.train.tasks.task import PairTask

PAIRS = [("abc", "uv"), ("ab", "uvwxyz"), ("a?c!", "u"), ("hgfedcb", "zyx"), ("a", "u?")]


def of_task(task, kind="encoder-decoder", examples=(), **card):
    """A tiny checkpoint whose card names this task."""
    return replace(tiny_checkpoint(kind), card={"task": task, **card})


def written(folder, name, pairs, separator="\t"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{source}{separator}{target}\n" for source, target in pairs), encoding="utf-8")


@pytest.fixture
def numbers(tmp_path):
    """A data folder with the three files of the numbers task."""
    written(tmp_path, "numbers/train_full.tsv.gz", [(str(n), "one") for n in range(7)])
    written(tmp_path, "numbers/dev.tsv.gz", [("8", "two")])
    written(tmp_path, "numbers/test_full.tsv.gz", [(str(n), "two") for n in range(2003)])
    return tmp_path


# --- parts


def test_a_known_task_has_its_parts_and_names_their_files(numbers):
    ckpt = of_task("numbers")
    assert parts(ckpt) == ("train", "validation", "test")
    assert list_needed_files(ckpt, "train") == ("numbers/train_full.tsv.gz",)
    assert [len(read_part(ckpt, part, numbers).items) for part in parts(ckpt)] == [7, 1, 2000]
    assert read_part(ckpt, "test", numbers).items[3] == ("3", "two")


def test_how_many_are_in_a_file_and_used_is_said(numbers):
    found = {each.part: (each.in_files, each.too_long, each.used) for each in sources(of_task("numbers"), numbers)}
    assert found == {"train": (7, 0, 7), "validation": (1, 0, 1), "test": (2003, 0, 2000)}


def test_what_is_too_long_is_counted_as_the_task_leaves_it_out(tmp_path):
    task = TASKS["taylor-2terms"]
    fine, long = ("a*x", "x"), ("+".join("a" * 11), "x")  # 21 source tokens; the task takes 20
    written(tmp_path, task.test.file, [fine] * 11_300 + [long] * 3 + [fine] * 100, "|")
    ckpt = of_task("taylor-2terms")
    found = {each.part: each for each in sources(ckpt, tmp_path)}
    for part in ("train", "validation", "test"):
        assert (found[part].in_files, found[part].too_long) == (11_403, 3)
        assert found[part].used == len(read_part(ckpt, part, tmp_path).items)
    assert [found[part].used for part in found] == [10_072, 1_185, 143]


def test_of_a_made_set_the_first_pairs_are_looked_at_and_how_many_there_are_is_said(tmp_path):
    ckpt = of_task("numbers-any")
    for part, count in (("train", 600_000), ("test", 24_000)):
        data = read_part(ckpt, part, tmp_path)
        assert data.of == count
        assert data.items == generated_pairs(f"generated:numbers-any/{part}", dataset.FIRST_MADE)
    assert read_part(of_task("copy"), "test", tmp_path).of is None


def test_made_parts_are_counted_without_being_made(monkeypatch):
    made = {split.file for task in TASKS.values() if isinstance(task, PairTask) for split in parts_of(task)}
    for name in sorted(name for name in made if name.startswith("generated:")):
        assert len(generated_sources(name, 40)) == 40, name  # a limit is how many there are
    monkeypatch.setattr(data_sets, "generated_sources", lambda name, n: pytest.fail(f"{n} of {name} were made"))
    counts = [(each.made, each.used) for each in sources(of_task("numbers-any"))]
    assert counts == [(600_000, 600_000), (4096, 4096), (24_000, 24_000)]


def parts_of(task):
    return (*task.train, task.validation, task.test)


def test_training_pairs_that_are_test_pairs_with_other_symbols_are_left_out_and_counted(tmp_path, monkeypatch):
    whole = TASKS["taylor"]
    task = replace(whole, train=(whole.train[0], replace(whole.train[1], limit=30)), measures=whole.measures[:2])
    monkeypatch.setitem(dataset.TASKS, "taylor", task)
    for split, sources_ in zip(
        (task.train[0], task.validation, task.test),
        (["exp(a*x)", "tan(b*x)", "sin(c*x)"], ["tan(d*x)"], ["sin(f*x)", "cos(f*x)"]),
        strict=True,
    ):
        written(tmp_path, split.file, [(source, "x") for source in sources_], "|")
    ckpt = of_task("taylor")
    train, validation, test = sources(ckpt, tmp_path)
    assert (train.in_files, train.made, train.alike, train.used) == (3, 30, 2, 31)
    items = read_part(ckpt, "train", tmp_path).items
    assert items == [("exp(a*x)", "x"), *generated_pairs("generated:taylor/train", 30)]
    assert task.prepare(tmp_path).counts["train"] == train.used
    assert "renamed at random" in train.varied
    assert [(each.used, each.alike, each.varied) for each in (validation, test)] == [(1, 0, ""), (2, 0, "")]
    assert set(list_needed_files(ckpt, "train")) == {each.file for each in (task.train[0], task.validation, task.test)}


def test_data_that_are_made_need_no_files():
    ckpt = of_task("copy")
    assert all(list_needed_files(ckpt, part) == () for part in parts(ckpt))
    train = read_part(ckpt, "train")
    assert len(train.items) == 20_000 and all(source == target for source, target in train.items[:50])
    assert sources(ckpt)[0].in_files is None


def test_a_long_text_is_read_in_the_windows_that_are_trained_on(tmp_path):
    task = TASKS["shakespeare"]
    text = "x" * task.held_out + "abcd" * 65
    (tmp_path / "tinyshakespeare").mkdir()
    for name in (task.train, task.test):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ckpt = of_task("shakespeare", "decoder-only")
    assert parts(ckpt) == ("train", "test")
    train = read_part(ckpt, "train", tmp_path)
    assert train.whole_text and [len(window) for window, _ in train.items] == [128, 128, 4]
    assert "".join(window for window, _ in train.items) == "abcd" * 65
    assert sources(ckpt, tmp_path) == ()


def test_a_model_of_another_task_has_the_test_pairs_that_its_card_names(tmp_path):
    written(tmp_path, "mine/test.txt", PAIRS, "|")
    ckpt = of_task("mine", evaluation={"data": "mine/test.txt", "separator": "|", "limit": 3})
    assert parts(ckpt) == ("test",) and list_needed_files(ckpt, "test") == ("mine/test.txt",)
    assert read_part(ckpt, "test", tmp_path).items == PAIRS[:3]
    assert sources(ckpt, tmp_path) == ()
    assert parts(of_task("mine")) == () and parts(of_task("mine", evaluation=["data"])) == ()


def test_the_examples_come_with_the_model(tmp_path):
    ckpt = tiny_checkpoint()
    save_checkpoint(
        tmp_path / "own",
        state_dict=ckpt.model.state_dict(),
        config=ckpt.config,
        source_codec=ckpt.source_codec,
        target_codec=ckpt.target_codec,
        card={"task": "own"},
        examples=PAIRS[:2],
    )
    loaded = load(tmp_path / "own")
    assert parts(loaded) == ("examples",) and list_needed_files(loaded, "examples") == ()
    assert read_part(loaded, "examples").items == PAIRS[:2]


def test_a_missing_file_is_an_error_with_its_name(tmp_path):
    with pytest.raises(ValueError, match="train_full"):
        read_part(of_task("numbers"), "train", tmp_path)


# --- lengths and filters


def test_lengths_and_unknown_tokens_are_those_of_the_codecs():
    ckpt = tiny_checkpoint()
    found = measure(PAIRS, item_codecs(ckpt))
    assert found.lengths.tolist() == [[3, 2], [2, 6], [4, 1], [7, 3], [1, 2]]
    assert found.unknown.tolist() == [[0, 0], [0, 0], [2, 0], [0, 0], [0, 1]]
    assert found.known.tolist() == [True, True, False, True, False]
    for index, (source, target) in enumerate(PAIRS):
        for column, (codec, said) in enumerate(zip(item_codecs(ckpt), (source, target), strict=True)):
            assert found.lengths[index, column] == len(codec.encode(said)) - 2
            assert found.unknown[index, column] == len(codec.encode(said).unknown)


def test_a_model_of_one_stack_measures_the_first_column():
    found = measure([("uv?", "uvw")], item_codecs(tiny_checkpoint("decoder-only")))
    assert found.lengths.tolist() == [[3, 0]] and found.unknown.tolist() == [[1, 0]]


def test_a_filter_counts_each_pair_once_under_the_first_reason():
    measured = measure(PAIRS, item_codecs(tiny_checkpoint()))
    kept = keep(measured, (4, 3), known_only=True)
    # hgfedcb is too long; uvwxyz is; a?c! and u? have unknown words; abc, uv is left.
    assert (kept.source_too_long, kept.target_too_long, kept.unknown_words, kept.kept) == (1, 1, 2, 1)
    assert kept.total == len(PAIRS)
    assert keep(measured, (4, 3), known_only=False).kept == 3
    assert keep(measured, (7, 6), known_only=False).kept == 5
    assert keep(measured, (0, 0), known_only=True).source_too_long == 5


def test_lengths_in_numbers():
    found = length_facts(np.array([1, 2, 3, 6]))  # mean 3, squares 4 + 1 + 0 + 9 = 14
    assert (found.mean, found.shortest, found.longest) == (3.0, 1, 6)
    assert found.deviation == pytest.approx((14 / 4) ** 0.5)
    with pytest.raises(ValueError, match="no texts"):
        length_facts(np.array([], np.int64))


# --- batches


def test_a_batch_is_ids_with_padding_behind_and_the_same_for_the_same_seed():
    ckpt, data = tiny_checkpoint(), Data("test", PAIRS)
    made = shuffle_batch(ckpt, data, 4, 7)
    again, other = shuffle_batch(ckpt, data, 4, 7), shuffle_batch(ckpt, data, 4, 8)
    assert made.indices == again.indices and made.indices != other.indices
    assert len(set(made.indices)) == 4
    for side, column, codec in (("source", 0, ckpt.source_codec), ("target", 1, ckpt.target_codec)):
        rows = [codec.encode(PAIRS[index][column]).ids for index in made.indices]
        longest = max(map(len, rows))
        assert made.ids[side].shape == (4, longest)
        for row, ids, padding in zip(rows, made.ids[side], made.padding[side], strict=True):
            assert ids.tolist() == [*row, *[0] * (longest - len(row))]
            assert padding.tolist() == [False] * len(row) + [True] * (longest - len(row))
    filled = sum(int(mask.sum()) for mask in made.padding.values())
    assert made.padding_share == filled / sum(ids.size for ids in made.ids.values())


def test_a_model_with_a_fixed_length_pads_every_text_to_it():
    ckpt = tiny_checkpoint(pad_to=20, max_target=20)
    made = shuffle_batch(ckpt, Data("test", PAIRS), 2, 0)
    assert made.ids["source"].shape == (2, 20) and made.ids["target"].shape == (2, 21)
    assert made.padding["source"].sum() == sum(20 - len(PAIRS[index][0]) - 2 for index in made.indices)


def test_a_batch_is_never_larger_than_its_part():
    assert len(shuffle_batch(tiny_checkpoint(), Data("test", PAIRS), 99, 0).indices) == len(PAIRS)


def test_a_text_that_is_too_long_for_the_model_is_an_error():
    with pytest.raises(ValueError, match="the model reads at most 20"):
        shuffle_batch(tiny_checkpoint(), Data("test", [("a" * 30, "u")]), 1, 0)


def test_windows_of_one_length_need_no_padding_and_others_need_a_token_for_it():
    ckpt = tiny_checkpoint("decoder-only")
    made = shuffle_batch(ckpt, Data("train", [("uvw", ""), ("xyz", "")], whole_text=True), 2, 0)
    assert made.padding_share == 0 and list(made.ids) == ["target"]
    plain = Codec(Characters(), Vocabulary("uvwxyz"), add_bos=False, add_eos=False)
    ckpt = replace(ckpt, target_codec=plain)
    with pytest.raises(ValueError, match="no padding token"):
        shuffle_batch(ckpt, Data("train", [("uvw", ""), ("x", "")], whole_text=True), 2, 0)
