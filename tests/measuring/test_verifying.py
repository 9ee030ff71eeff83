"""A model that is read right is proved by its own sample, a wrong setting fails; hostile samples end in a sentence."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint
from in_turn import each_once
from strangers import CASES, SRC, stranger

import viz_transformer as vt
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.measuring.sample import MAX_TEXTS, read_sample
from viz_transformer.measuring.verifying import TOLERANCE, Finding, Verification, proof, verify


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})
    return path


@each_once("name, setting", CASES, ["norm", "activation", "n_heads"])
def test_each_layout_is_proved_by_its_own_sample_and_failed_by_a_wrong_setting(
    name: str, setting: str, tmp_path: Path
) -> None:
    model, ids, logits = stranger(name)
    settings = CASES[name][2]
    torch.save(model.state_dict(), tmp_path / "model.pt")
    sides = ["source", "target"] if len(ids) == 2 else ["target"]
    sample = npz(tmp_path / "sample.npz", logits=logits, **{s: [i] for s, i in zip(sides, ids, strict=True)})
    right = vt.load(import_file(tmp_path / "model.pt", tmp_path / "right", Answers(settings=settings)))
    found = vt.verify(right, sample)
    assert found.grade == "proved", found.sentence
    assert found.proved.figures["relative"] < 1e-5
    assert found.proved.figures["compared"] == 5 * 13  # positions of the target times the vocabulary
    assert found.consistent.passed and found.texts.passed is None
    if (name, setting) == ("a lecture's GPT", "n_heads"):  # its heads are counted in the file
        return
    wrong = {"norm": "post" if right.config.norm == "pre" else "pre", "activation": "silu", "n_heads": 2}[setting]
    out = import_file(tmp_path / "model.pt", tmp_path / setting, Answers(settings={**settings, setting: wrong}))
    failed = vt.verify(vt.load(out), sample)
    assert failed.grade == "failed" and "NOT reproduced" in failed.sentence
    assert failed.proved.figures["relative"] > TOLERANCE
    assert failed.consistent.passed  # which repeats the wrong guess


@pytest.fixture
def sample(tmp_path: Path) -> dict[str, Any]:
    """What a sample of a tiny model holds."""
    run = vt.trace(tiny_checkpoint(), [4, 5, 6], [1, 9, 8, 7])
    return {"source": [[4, 5, 6]], "target": [[1, 9, 8, 7]], "logits": run["logits"].numpy()}


@pytest.mark.parametrize(
    "shaped",
    [
        lambda logits: logits,
        lambda logits: logits[0],
        lambda logits: logits[:, -1:],
        lambda logits: logits[0, -1],
        lambda logits: logits.log_softmax(-1),
        lambda logits: logits.double(),
    ],
    ids=["all", "no axis of texts", "last position", "last, flat", "log-probabilities", "float64"],
)
@pytest.mark.parametrize("ending", ["npz", "json"])
def test_logits_may_have_any_usual_form(
    shaped: Callable[[torch.Tensor], torch.Tensor], ending: str, sample: dict[str, Any], tmp_path: Path
) -> None:
    sample["logits"] = shaped(torch.from_numpy(sample["logits"]))
    path = tmp_path / f"s.{ending}"
    if ending == "npz":
        npz(path, **sample)
    else:
        path.write_text(json.dumps({**sample, "logits": sample["logits"].tolist()}))
    found = verify(tiny_checkpoint(), path)
    assert found.grade == "proved", found.sentence
    assert ("log-probabilities" in found.sentence) == (shaped(torch.eye(3)[None]).logsumexp(-1).abs().max() < 1e-3)


def test_several_texts_and_positions_first_are_read(sample: dict[str, Any], tmp_path: Path) -> None:
    ckpt = tiny_checkpoint()
    other = vt.trace(ckpt, [7, 8, 0], [1, 5, 0, 0])["logits"].numpy()
    other[0, 2:] = 99.0  # padding: what stands there is not compared
    both = {"source": [[4, 5, 6], [7, 8, 0]], "target": [[1, 9, 8, 7], [1, 5, 0, 0]]}
    path = npz(tmp_path / "two.npz", **both, logits=np.concatenate([sample["logits"], other]))
    found = verify(ckpt, path)
    assert found.grade == "proved" and found.proved.figures["compared"] == 6 * 20
    other[0, 1, 3] += 1
    path = npz(tmp_path / "two.npz", **both, logits=np.concatenate([sample["logits"], other]))
    assert "first at text 1, position 1, entry 3" in verify(ckpt, path).sentence
    turned = {name: np.swapaxes(sample[name], 0, 1) for name in sample}
    assert verify(ckpt, npz(tmp_path / "t.npz", **turned)).grade == "proved"


def test_a_difference_is_stated_and_judged_against_the_largest_logit(sample: dict[str, Any], tmp_path: Path) -> None:
    ckpt = tiny_checkpoint()
    largest = float(np.abs(sample["logits"]).max())
    for factor, grade in ((0.9, "proved"), (1.2, "failed")):
        moved = sample["logits"].copy()
        moved[0, 2, 5] += factor * TOLERANCE * largest
        found = verify(ckpt, npz(tmp_path / "s.npz", **{**sample, "logits": moved}))
        assert found.grade == grade
        assert found.proved.figures["difference"] == pytest.approx(factor * TOLERANCE * largest, rel=0.05)
    assert found.proved.figures["first"].startswith("first at position 2, entry 5: ")  # type: ignore[union-attr]


def test_what_pairs_cost_stands_beside_what_counting_costs_and_is_no_proof() -> None:
    ckpt = vt.load("copy")
    pairs = ckpt.examples()[:40]
    found = vt.verify(ckpt, texts=pairs)
    assert found.grade == "not proved" and found.texts.passed
    assert re.fullmatch(
        r"reads your texts at <?0\.\d\d nats per token"
        r" \(uniform guess \d\.\d\d, counting letters \d\.\d\d, pairs of letters \d\.\d\d\); not proved",
        found.sentence,
    )
    found = vt.verify(tiny_checkpoint(), texts=[("abc"[: 1 + i % 3], "uvw"[i % 3 :]) for i in range(12)])
    assert found.grade == "not proved" and not found.texts.passed
    assert found.sentence.endswith(
        "; these texts say nothing: it is not below counting by 0.1 nats and 5 %; not proved"
    )
    with pytest.raises(ValueError, match="3 pairs are too few"):
        vt.verify(ckpt, texts=pairs[:3])
    with pytest.raises(ValueError, match="give pairs of source and target"):
        vt.verify(ckpt, texts=["abc"] * 12)


def test_texts_of_a_decoder_are_measured_and_prove_nothing() -> None:
    ckpt = vt.load("shakespeare")
    text = "To be, or not to be, that is the question:\nWhether 'tis nobler in the mind to suffer\n"
    for given in (text, [text, text]):
        found = vt.verify(ckpt, texts=given)
        assert found.grade == "not proved" and found.texts.passed
        assert found.texts.figures["loss"] < found.texts.figures["single"]  # type: ignore[operator]
    found = vt.verify(ckpt, texts="".join(sorted(text, reverse=True)))
    assert not found.texts.passed  # the letters in order are no text of Shakespeare's
    with pytest.raises(ValueError, match="too few: give 50 or more"):
        vt.verify(ckpt, texts="To be")


def test_of_prompt_and_answer_the_answer_alone_counts() -> None:
    ckpt = vt.load("shakespeare")
    prompt, answer = "To be, or not to be, ", "that is the question:"
    found = vt.verify(ckpt, texts=[(prompt, answer)] * 5)
    ids = ckpt.codec("target").encode(prompt + answer).ids
    with torch.no_grad():
        log_probs = ckpt.model(torch.tensor([ids[:-1]]))[0].double().log_softmax(-1)
    nats = [-float(log_probs[place - 1, ids[place]]) for place in range(len(prompt), len(ids))]
    assert found.texts.figures["tokens"] == 5 * len(answer)
    assert found.texts.figures["loss"] == pytest.approx(sum(nats) / len(nats), rel=1e-5)


def test_a_reported_loss_is_evidence_where_it_is_equal_and_a_warning_where_it_is_lower() -> None:
    ckpt = vt.load("shakespeare")
    texts = [source for source, _ in ckpt.examples()[:20]]
    loss = float(vt.verify(ckpt, texts=texts).texts.figures["loss"])
    equal = vt.verify(ckpt, texts=texts, reported_loss=round(loss, 2))
    assert equal.grade == "not proved" and "which is evidence, not proof; not proved" in equal.sentence
    worse = vt.verify(ckpt, texts=texts, reported_loss=round(loss - 0.6, 2))
    assert worse.grade == "doubtful" and "WORSE by 0." in worse.sentence and worse.sentence.endswith("; not proved")
    lower = vt.verify(ckpt, texts=texts, reported_loss=round(loss + 0.9, 2))
    assert lower.grade == "not proved" and "; lower by 0." in lower.sentence


def test_grades_are_never_mixed_up() -> None:
    yes, no, none = Finding(True, "yes"), Finding(False, "no"), Finding(None, "none")
    worse, short = Finding(True, "worse", {"reported_equal": False}), Finding(True, "short", {"untold": "other heads"})
    grades = [
        (none, none, none, "not verified"),
        (none, none, yes, "not proved"),
        (none, yes, yes, "not proved"),
        (none, no, yes, "not proved"),
        (none, worse, yes, "doubtful"),
        (yes, worse, yes, "proved"),
        (yes, none, none, "proved"),
        (yes, no, yes, "proved"),
        (short, yes, yes, "reproduced"),
        (no, yes, yes, "failed"),
        (yes, yes, no, "failed"),
    ]
    for *found, grade in grades:
        assert Verification(*found, causal=None).grade == grade  # type: ignore[arg-type]
        without = Verification(*found, causal=None, left_out="1 tensor was left out")  # type: ignore[arg-type]
        assert without.grade == (grade if grade in ("failed", "doubtful") else "not verified")
        assert without.sentence == f"1 tensor was left out; {Verification(*found, causal=None).sentence}"  # type: ignore[arg-type]


def test_consistent_says_what_it_does_not_prove_and_causality_stands_beside() -> None:
    found = vt.verify(tiny_checkpoint())
    assert found.grade == "not proved" and found.sentence.endswith(
        "this repeats what was guessed about the model, and confirms none of it"
    )
    rows = dict(found.rows())
    assert list(rows) == ["verified", "proved", "texts", "consistent", "causal"]
    assert rows["proved"].startswith("not tried") and rows["causal"].startswith("yes")
    slips = tiny_checkpoint(merge="raw-reshape")
    assert dict(vt.verify(slips).rows())["causal"].startswith("no")
    assert dict(vt.verify(tiny_checkpoint("encoder-only")).rows())["causal"].startswith("an encoder")
    json.dumps(found.to_dict())


class Harm:
    def __reduce__(self) -> Any:
        return os.mkdir, ("harmed",)


def archive(path: Path, name: str, content: bytes, **more: Any) -> None:
    with zipfile.ZipFile(path, "w", **more) as file:
        file.writestr(name, content)


def header(shape: str, dtype: str = "<f4") -> bytes:
    words = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words


def in_npz(content: bytes) -> Callable[[Path], None]:
    return lambda path: archive(path, "logits.npy", content)


def arrays(**changed: Any) -> Callable[[Path], None]:
    usual = {"source": [[4, 5, 6]], "target": [[1, 9, 8, 7]], "logits": np.zeros((1, 4, 20))}
    given = {name: value for name, value in {**usual, **changed}.items() if value is not None}

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, **{name: np.asarray(value) for name, value in given.items()})

    return write


def zipped(path: Path) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, logits=np.zeros((1, 4, 20)), target=[[1, 9, 8, 7]])


def crowded(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for number in range(2000):
            file.writestr(str(number), b"")


def truncated(path: Path) -> None:
    arrays()(path)
    path.write_bytes(path.read_bytes()[:-30])


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "pickle": (lambda path: path.write_bytes(pickle.dumps(Harm())) and None, "is not UTF-8 text"),
    "pickled array": (arrays(logits=np.array([Harm()], dtype=object)), "logits is a pickle, which could run code"),
    "huge claim": (in_npz(header("(1000000, 1000000)") + b"\0" * 64), "says that its shape is (1000000, 1000000)"),
    "claim beyond 64 bits": (in_npz(header("(2**70,)") + b"\0" * 64), "not an array as numpy.savez writes it"),
    "negative claim": (in_npz(header("(-1, -16)") + b"\0" * 64), "says that its shape"),
    "no header": (in_npz(b"\x93NUMPY\x01\x00\xff\xff("), "not an array as numpy.savez writes it"),
    "deep header": (in_npz(header("(" * 5000)), "not an array as numpy.savez writes it"),
    "empty part": (in_npz(b""), "not an array as numpy.savez writes it"),
    "words": (arrays(logits=np.array([["a"]])), "has the type '<U1' instead of numbers"),
    "compressed": (zipped, "is compressed"),
    "many parts": (crowded, "is cut off or damaged"),
    "cut off": (truncated, "is cut off or damaged"),
    "NaN": (arrays(logits=np.full((1, 4, 20), np.nan)), "NaN or infinite"),
    "infinite": (arrays(logits=np.full((1, 4, 20), np.inf)), "NaN or infinite"),
    "no logits": (arrays(logits=None), "lacks logits"),
    "no ids": (arrays(source=None, target=None), "lacks source or target"),
    "one side": (arrays(target=None), "holds ids of source"),
    "ids that are fractions": (arrays(target=[[1.5, 2.0, 3.0, 4.0]]), "target is not a list of ids"),
    "too few logits": (arrays(logits=np.zeros((1, 3, 20))), "logits at 3 positions for 4 ids"),
    "another vocabulary": (arrays(logits=np.zeros((1, 4, 19))), "19 logits at each position"),
    "an unknown id": (arrays(target=[[1, 9, 8, 20]]), "20 is not an id"),
    "a negative id": (arrays(source=[[4, -1, 6]]), "-1 is not an id"),
    "too long": (arrays(source=[[4] * 21]), "21 ids of the source"),
    "padding alone": (arrays(target=[[0, 0, 0, 0]]), "padding alone"),
    "another number of texts": (arrays(source=[[4], [5]]), "logits of 1 texts, but ids of 2"),
    "too many texts": (
        arrays(source=[[4]] * 65, target=[[1, 2]] * 65, logits=np.zeros((65, 2, 20))),
        f"at most {MAX_TEXTS} are read",
    ),
    "empty arrays": (arrays(logits=np.zeros((1, 0, 20))), "logits are not numbers"),
    "JSON of another kind": (text("[1, 2]"), "no JSON object"),
    "no JSON": (text("{"), "not valid JSON"),
    "JSON of uneven lists": (text('{"target": [1, 2], "logits": [[1], [1, 2]]}'), "not equally long"),
    "JSON of words": (text('{"target": [1], "logits": [["a"]]}'), "logits are not numbers"),
    "JSON of NaN": (text('{"target": [1], "source": [4], "logits": [[NaN]]}'), "NaN or infinite"),
    "JSON of vast numbers": (text('{"target": [1e999], "logits": [[1]]}'), "target is not a list of ids"),
    "JSON of long numbers": (text(f'{{"target": [{"9" * 400}], "logits": [[1]]}}'), "target is not a list of ids"),
    "deep JSON": (text("[" * 100_000), "nested too deeply"),
    "empty": (text(""), "not valid JSON"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_sample_ends_in_one_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write, said = HOSTILE[name]
    path = tmp_path / "sample"
    write(path)
    with pytest.raises(ValueError) as caught:
        verify(tiny_checkpoint(), path)
    assert said in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 600
    assert [entry.name for entry in tmp_path.iterdir()] == ["sample"]


def test_a_sample_cut_off_or_changed_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    held = io.BytesIO()
    np.savez(held, source=[SRC], target=[[1, 9, 8, 7]], logits=np.ones((1, 4, 20), np.float32))
    whole = held.getvalue()
    path = tmp_path / "s.npz"
    generator = np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(whole)
        changed[generator.integers(len(whole))] = generator.integers(256)
        for content in (whole[: generator.integers(len(whole))], bytes(changed)):
            path.write_bytes(content)
            try:
                read_sample(path)
            except ValueError as error:
                assert str(error).startswith(str(path)) and "\n" not in str(error)


def test_a_model_of_one_stack_takes_either_name_for_its_ids(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint("decoder-only")
    logits = vt.trace(ckpt, [1, 9, 8])["logits"].numpy()
    for side in ("source", "target"):
        assert verify(ckpt, npz(tmp_path / "s.npz", logits=logits, **{side: [1, 9, 8]})).grade == "proved"
    assert proof(ckpt, read_sample(tmp_path / "s.npz").texts(ckpt.spec)).passed
