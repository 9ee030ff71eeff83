"""Training on a file of one's own: what is proposed, said, kept apart and refused, and whole trainings in a shell."""

from __future__ import annotations

import gzip
import json
import random
import re
import shlex
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch import Callback
from tokenizers import Tokenizer as Reference
from tokenizers.models import BPE
from with_settings import train_with

from viz_transformer.checkpoint import load
from viz_transformer.command import main
from viz_transformer.measuring.data import LONGEST_LINE, read_text
from viz_transformer.model.config import ModelConfig
from viz_transformer.text import SubWords
from viz_transformer.train.stopping import Stopped
from viz_transformer.train.tasks import own
from viz_transformer.train.tasks.own import learned_subwords, own_task
from viz_transformer.train.tasks.task import PairTask, Plan, TextTask
from viz_transformer.train.user_data import OwnData

WORDS = "the a dog cat sees hears, small old (very)".split()


def digits(n: int, seed: int = 0) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    texts = ["".join(draw.choices("0123456789", k=draw.randint(2, 8))) for _ in range(n)]
    return [(text, text[::-1]) for text in texts]


def sentences(n: int) -> list[tuple[str, str]]:
    draw = random.Random(1)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(2, 6))) for _ in range(n)]
    return [(text, text.upper()) for text in texts]


def write(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(Path("digits.tsv"), digits(120))
    write(Path("words.tsv"), sentences(60))
    Path("plain.txt").write_text("To be, or not to be: that is the question.\nWhether 'tis nobler\n" * 12)
    return tmp_path


def command(line: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(shlex.split(line))
    assert isinstance(left.value.code, int)
    return left.value.code


SMALL = "--layers 1 --heads 2 --d-model 8 --steps 6 --snapshots 3 --device cpu"


@pytest.mark.parametrize(
    ("file", "tokens", "kind"),
    [
        ("digits.tsv", "chars", "encoder-decoder"),
        ("words.tsv", "bpe", "encoder-decoder"),
        ("plain.txt", "words", "decoder-only"),
        pytest.param("words.tsv", "words", "encoder-decoder", marks=pytest.mark.slow),
        pytest.param("plain.txt", "chars", "decoder-only", marks=pytest.mark.slow),
        pytest.param("plain.txt", "bpe", "decoder-only", marks=pytest.mark.slow),
    ],
)
def test_a_file_becomes_a_checkpoint_that_its_card_makes_and_measures_again(
    file: str, tokens: str, kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(f"train --pairs {file} --tokens {tokens} --out runs/mine {SMALL}") == 0
    out, err = capsys.readouterr()
    assert out.endswith("runs/mine\n")
    assert err.startswith(f"{file}: ") and "1 layers, d_model 8, 2 heads" in err.replace("1+1", "1")
    ckpt = load("runs/mine")
    card = ckpt.card
    assert (ckpt.config.kind, card["data"], card["data_licence"], card["weights_terms"]) == (
        kind,
        file,
        "the owner's",
        "the owner's",
    )
    assert ckpt.snapshots() and ckpt.examples() and ckpt.history()[-1]["step"] == 6
    assert str(here) not in json.dumps(card)

    (metric,) = card["metrics"]
    assert command(f"{metric['command'].removeprefix('viz-transformer ')} --json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again == {name: metric[name] for name in again} | {"sentences_per_second": again["sentences_per_second"]}
    assert metric["pairs"] and metric["loss"] > 0

    Path("runs").rename("before")
    assert command(card["training_command"].removeprefix("viz-transformer ")) == 0
    assert load("runs/mine").weights_sha256 == load("before/mine").weights_sha256
    assert load("runs/mine").card["training_command"] == card["training_command"]


def test_the_progress_bar_ends_with_the_last_validation_loss_and_quiet_says_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = SMALL.replace("--steps 6", "--steps 60")
    assert command(f"train --pairs digits.tsv --out runs/mine {longer}") == 0
    shown = re.findall(r"validation=([0-9.]+)", capsys.readouterr().out)
    last = load("runs/mine").history()[-1]["validation_loss"]
    assert float(shown[-1]) == pytest.approx(last, rel=0.005)  # three digits
    assert command(f"train --pairs digits.tsv --out runs/other --quiet {SMALL}") == 0
    assert capsys.readouterr() == ("runs/other\n", "")


def test_what_is_proposed_is_part_of_the_command(here: Path) -> None:
    proposed = own_task(OwnData(pairs="digits.tsv"), out="runs/digits")
    assert proposed.task.trained_by == tuple(
        "--pairs digits.tsv --tokens chars --layers 2 --heads 4 --d-model 64 --d-ff 256 --dropout 0.0 --out"
        " runs/digits".split()
    )
    assert proposed.folder == here
    assert any("d_model 64, 4 heads" in line for line in proposed.lines)


def test_of_whole_paths_the_card_has_the_names_alone(here: Path) -> None:
    (here / "a").mkdir()
    (here / "b").mkdir()
    given = write(here / "a" / "train.tsv", digits(40)), write(here / "b" / "test.tsv", digits(9, seed=1))
    proposed = own_task(OwnData(pairs=given[0], test=given[1]), out=here / "out" / "mine")
    assert isinstance(proposed.task, PairTask)
    assert (proposed.folder, proposed.task.test.file) == (here, "b/test.tsv")
    assert proposed.task.trained_by[:4] == ("--pairs", "train.tsv", "--test", "test.tsv")
    assert proposed.task.evaluated_by == ("mine", "--data", ".")
    assert len(proposed.task.test.read(proposed.folder)) == 9


@pytest.mark.parametrize("given", [(), ("valid",), ("test",), ("valid", "test")])
def test_no_source_is_in_two_parts_of_a_file_and_none_is_lost(given: tuple[str, ...], tmp_path: Path) -> None:
    pairs = [*digits(90), *((source, target + "0") for source, target in digits(30))]  # some sources stand twice
    file = write(tmp_path / "all.tsv", pairs)
    files: dict[str, Any] = {name: write(tmp_path / f"{name}.tsv", digits(7, seed=9)) for name in given}
    proposed = own_task(OwnData(pairs=file, **files), out=tmp_path / "out")
    task = proposed.task
    assert isinstance(task, PairTask)
    splits = {"train": task.train[0], "valid": task.validation, "test": task.test}
    parts = {name: split.read(proposed.folder) for name, split in splits.items() if name not in given}
    sources = [{source for source, _ in part} for part in parts.values()]
    assert sum(map(len, sources)) == len(set().union(*sources)) == len({source for source, _ in pairs})
    assert sorted(pair for part in parts.values() for pair in part) == sorted(pairs)
    assert len(parts["train"]) > 80
    counts = task.prepare(proposed.folder).counts
    assert counts["train"] == len(parts["train"]) and all(
        counts[{"valid": "validation"}.get(name, name)] == 7 for name in given
    )


def test_the_ends_of_a_text_are_not_trained_on(here: Path) -> None:
    text = "".join(chr(0x4E00 + i) for i in range(2000))  # every character once
    Path("text.txt").write_text(text, encoding="utf-8")
    proposed = own_task(OwnData(pairs="text.txt"), out="out")
    task = proposed.task
    assert isinstance(task, TextTask) and (task.held_out, task.skip) == (200, 1800)
    material = task.prepare(proposed.folder)
    assert material.counts == {"train": 1600, "validation": 200, "test": 200}
    codec = material.codecs[1]
    assert material.train.tgt_lengths.tolist() == [task.window] * (1600 - task.window)
    assert set(codec.names) == {"<unk>", *text[200:1800]}
    other = own_task(OwnData(pairs="text.txt", valid="plain.txt", test="plain.txt"), out="out")
    assert other.task.prepare(other.folder).counts == {
        "train": 2000,
        **dict.fromkeys(("validation", "test"), len(read_text("plain.txt"))),
    }


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"heads": 3},
        {"heads": 7, "layers": 5},
        {"d_model": 50},
        {"d_model": 6, "dropout": 0.5},
        {"longest": 12},
        {"d_ff": 10, "tokens": "words"},
    ],
)
@pytest.mark.parametrize("file", ["digits.tsv", "plain.txt"])
def test_every_proposal_is_a_model_with_what_was_asked_for(here: Path, file: str, asked: dict[str, Any]) -> None:
    proposed = own_task(OwnData(pairs=file, **asked), out="out")
    config = proposed.task.prepare(proposed.folder).model
    assert isinstance(config, ModelConfig)
    found = {"heads": config.n_heads, "layers": config.decoder_layers, "d_model": config.d_model}
    found |= {"dropout": config.dropout, "d_ff": config.d_ff}
    assert found == found | {name: value for name, value in asked.items() if name in found}
    assert config.n_heads in (asked.get("heads"), 4, 2) and config.d_model <= 72


def test_subwords_are_learned_as_the_library_learns_and_splits_them() -> None:
    texts = [text for pair in sentences(200) for text in pair] + ["don't  stop\nhere ..."]
    learned = learned_subwords(texts, 120)
    reference = Reference(BPE(vocab=pieces_of(texts, learned), merges=[(a, b) for a, b in learned.merges]))
    assert 20 < len(learned.merges) < 120
    for text in (*texts, "the oldest doghats", "catcatcat"):
        words = learned.words(text)
        wanted = [token for word in words for token in reference.encode(word).tokens]
        assert learned.split(text) == wanted and "".join(wanted) == text.strip()
    assert learned_subwords(texts, 5).merges == ()  # letters alone are more


def pieces_of(texts: list[str], learned: SubWords) -> dict[str, int]:
    pieces = sorted({*"".join(texts), *(a + b for a, b in learned.merges)})
    return {piece: i for i, piece in enumerate(pieces)}


def test_every_piece_that_can_be_left_of_known_characters_is_in_the_vocabulary(here: Path) -> None:
    proposed = own_task(OwnData(pairs="words.tsv", tokens="bpe", vocabulary=60), out="out")
    source, target = proposed.task.prepare(proposed.folder).codecs
    assert source is not None and len(target.vocabulary) == len(set(target.names)) <= 64
    for text in ("the the cat", "acts in a (small) hat", "veryold"):
        read = source.encode(text)
        assert list(read.originals[1:-1]) == source.tokenizer.split(text)
        assert all(set(read.originals[i]) - set("".join(source.names[4:])) for i in read.unknown)
        assert source.decode(read.ids) == text or read.unknown
    assert "--vocabulary 60" in " ".join(proposed.task.trained_by)


def test_more_data_propose_a_larger_model(here: Path) -> None:
    write(Path("many.tsv"), [(f"{i:08}" * 3, f"{i:08}") for i in range(12_000)])
    few, many = (own_task(OwnData(pairs=f"{name}.tsv"), out="out") for name in ("digits", "many"))
    assert "--d-model 64" in " ".join(few.task.trained_by) and "--d-model 128" in " ".join(many.task.trained_by)
    assert few.task.plan.epochs > many.task.plan.epochs >= 4


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "f.tsv is empty"),
    "one column": (b"a\tb\nab\n", "f.tsv, line 2 has 1 column, each line must be source<TAB>target"),
    "three columns": (b"a\tb\na\tb\tc\n", "f.tsv, line 2 has 3 columns"),
    "no target": (b"a\tb\nb\t \n", "f.tsv, line 2 has no target"),
    "not UTF-8": (b"a\tb\nb\t\xff\n", "f.tsv, line 2 is not UTF-8"),
    "a huge line": (b"a\tb\n" + b"x" * (LONGEST_LINE + 1), "f.tsv, line 2 has more than 64 MiB"),
    "one pair": (b"a\tb\n", "f.tsv has 1 source in line 1: give at least 3 different ones"),
    "one source": (b"a\tb\na\tc\n", "f.tsv has 1 source in line 1 to 2: give at least 3"),
    "a long pair": (
        b"a\tb\nb\tc\nc\t" + b"d" * 600 + b"\nd\te\n",
        "f.tsv, line 3: the target has 602 tokens, at most 512 are read: shorten it, remove it, or give --longest 602",
    ),
    "no tab": (b"a b\nc d\n", "f.tsv has no tab in any line, and as a plain text it is too short (8 characters)"),
    "blank": (b" \n\n", "f.tsv has no tab in any line"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence_with_the_line(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, sentence = BAD[name]
    Path("f.tsv").write_bytes(content)
    assert command("train --pairs f.tsv --out out") == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and sentence in err
    assert not Path("out").exists() and not Path("out.training").exists()


@pytest.mark.parametrize("zipped", [False, True])
def test_of_a_file_that_is_too_large_as_many_lines_are_taken_as_it_says(
    zipped: bool, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "MAX_READ", 1_000_000)
    path = write(Path("large.tsv"), [(f"{i:0499}", "0" * 499) for i in range(1100)])  # 1,000 bytes a line
    content = path.read_bytes()
    if zipped:
        path = Path("large.tsv.gz")
        path.write_bytes(gzip.compress(content))
    with pytest.raises(ValueError) as told:
        own_task(OwnData(pairs=path), out="out")
    assert str(told.value) == (
        f"{path} has more than 1 MB of text, as much as is trained on: give its first 1,000 lines, as"
        " `head -n 1000` writes them"
    )
    part = write(Path("part.tsv"), [(f"{i:04}", "0" * 4) for i in range(100)])
    with pytest.raises(ValueError, match="has more than 1 MB of text"):
        own_task(OwnData(pairs=part, test=path), out="out")
    Path("enough.tsv").write_bytes(content[:1_000_000])
    assert own_task(OwnData(pairs="enough.tsv"), out="out").config.max_source == 511


def test_of_a_line_that_is_too_large_a_part_is_asked_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "MAX_READ", 1_000_000)
    Path("line.txt").write_text("to be " * 200_000)
    with pytest.raises(ValueError, match="give a part of its first line, which is longer"):
        own_task(OwnData(pairs="line.txt"), out="out")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("train", "give a TASK, such as copy, or --pairs"),
        ("train copy --pairs digits.tsv", "not both"),
        ("train copy --layers 2", "--layers is a setting of --pairs"),
        ("train --tokens words", "--tokens is a setting of --pairs"),
        ("train copy --columns 1,2", "--columns is a setting of --pairs"),
        ("train --pairs digits.tsv --columns 1", "has to name two columns"),
        ("train --pairs digits.tsv --columns 1,3", "line 1 has 2 columns, and column 3 is asked for"),
        ("train --pairs digits.tsv --data .", "leave it out"),
        ("train --pairs none.tsv", "there is no file none.tsv"),
        ("train --pairs digits.tsv --valid none.tsv", "there is no file none.tsv"),
        ("train --pairs digits.tsv --tokens letters", "tokens='letters' is not known; choose 'chars'"),
        ("train --pairs digits.tsv --d-model 10 --heads 4", "d_model=10 cannot be split evenly"),
        ("train --pairs digits.tsv --d-model 7", "d_model=7"),
        ("train --pairs digits.tsv --dropout 1", "dropout=1.0 has to be"),
        ("train --pairs digits.tsv --epochs 0", "epochs=0 has to be a whole number of at least 1"),
        ("train --pairs digits.tsv --longest 5", "give --longest"),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(
    line: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(line) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and sentence in err


COMMAS = "".join(f"{n},{source},{target}\n" for n, (source, target) in enumerate([("source", "target"), *digits(60)]))
JSON_LINES = "".join(json.dumps({"source": source, "target": target}) + "\n" for source, target in digits(60))


@pytest.mark.parametrize(("name", "content"), [("f.csv", COMMAS), ("f.txt", COMMAS), ("f.jsonl", JSON_LINES)])
def test_a_file_of_columns_trains_on_those_that_are_named(
    name: str, content: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(content)
    assert command(f"train --pairs {name} --out runs/mine") == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and "give --columns " in err and not Path("runs").exists()

    assert command(f"train --pairs {name} --columns source,target --out runs/mine {SMALL}") == 0
    assert f"{name}, columns source,target: " in capsys.readouterr().err
    ckpt = load("runs/mine")
    assert ckpt.config.kind == "encoder-decoder" and set(ckpt.examples()) <= set(digits(60))
    (metric,) = ckpt.card["metrics"]
    assert command(f"{metric['command'].removeprefix('viz-transformer ')} --json") == 0
    assert json.loads(capsys.readouterr().out)["exact_match_unseen"] == metric["exact_match_unseen"]
    assert "--columns source,target" in ckpt.card["training_command"]


def test_a_plain_text_that_looks_like_columns_is_learned_as_a_text_where_that_is_asked_for(here: Path) -> None:
    Path("verse.txt").write_text("to be, or not\nto sleep, to dream\n" * 20)
    with pytest.raises(ValueError, match="has the same number of commas in every line"):
        own_task(OwnData(pairs="verse.txt"), out="out")
    proposed = own_task(OwnData(pairs="verse.txt", columns="none"), out="out")
    assert isinstance(proposed.task, TextTask) and "--columns none" in " ".join(proposed.task.trained_by)


def test_what_is_odd_about_pairs_is_said_before_anything_is_trained(here: Path) -> None:
    write(Path("odd.tsv"), [("source", "target"), *digits(30), ("a", "b"), ("a", "c"), ("a", "b")])
    write(Path("test.tsv"), [*digits(4, seed=9), digits(4, seed=9)[0]])
    lines = own_task(OwnData(pairs="odd.tsv", test="test.tsv"), out="out").lines
    assert "odd.tsv: line 1 looks like a header ('source', 'target'), and is learned as a pair: remove it" in lines
    assert any("odd.tsv: " in line and "line 34 repeats line 32" in line for line in lines)
    assert any("odd.tsv: 1 source has different targets" in line and "“a” in lines 32 and 33" in line for line in lines)
    assert "test.tsv: 1 pair is repeated: line 5 repeats line 1" in lines


def test_snapshots_are_spread_over_the_training() -> None:
    plan = Plan(epochs=1, batch_tokens=1, peak_rate=1e-3, warmup=1, spread=12)
    steps = plan.with_snapshots(1500).snapshots
    assert len(steps) == 13 and (steps[0], steps[-1]) == (0, 1500)
    gaps = [b - a for a, b in pairwise(steps)]
    assert gaps == sorted(gaps)
    assert Plan(epochs=1, batch_tokens=1, peak_rate=1e-3, warmup=1).with_snapshots(1500).snapshots == ()


class Interrupt(Callback):
    """Ctrl-C in step 5."""

    def on_train_batch_start(self, trainer: Any, *_: Any) -> None:
        if trainer.global_step == 4:
            signal.raise_signal(signal.SIGINT)


def test_a_training_that_is_stopped_and_resumed_for_longer_keeps_its_snapshots(here: Path) -> None:
    own = OwnData(pairs="digits.tsv", layers=1, heads=2, d_model=8, snapshots=3)
    options: dict[str, Any] = {"out": "mine", "device": "cpu", "threads": 1, "quiet": True}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever who started this ignores
    with pytest.raises(Stopped):
        train_with(own, steps=27, callbacks=[Interrupt()], **options)
    assert not Path("mine").exists()
    train_with(own, steps=64, resume=True, **options)
    ckpt = load("mine")
    assert set(ckpt.snapshots()) == {0, 1, 19, 64}  # 0, 1, 8, 27 as it began, 0, 2, 19, 64 as it went on
    assert ckpt.card["training_command"].endswith("--steps 64 --device cpu --resume")
