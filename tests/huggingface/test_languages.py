"""The languages of a model that has several: chosen, read and written as `generate()` does, token by token."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import transformers
from pretrained import LANGUAGES, LINES, folder, in_languages

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.command import main as program
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace
from viz_transformer.text.rules import NotTooShort

pytest.importorskip("sentencepiece")

TEXT, MOST = "two hundred", 9
FAMILY = {"mbart": "mbart", "mbart50": "mbart", "nllb": "m2m_100", "m2m_100": "m2m_100"}
STARTS_IN_IT = ("mbart",)
"""Of these the language is the start token itself, as mbart-large-en-ro has it."""


def written_folder(where: Path, name: str, **settings: Any) -> tuple[Path, Any]:
    """A folder of a model with these languages, and its tokenizer."""
    tokenizer = in_languages(name, where / "made")
    model = folder(where / name, FAMILY[name], tokenizer=lambda: tokenizer, seed=5)
    start = tokenizer.convert_tokens_to_ids("ro_RO") if name in STARTS_IN_IT else 2
    path = model / "generation_config.json"
    ends = {"eos_token_id": [2, *range(7, 60, 5)], "decoder_start_token_id": start}
    path.write_text(json.dumps(json.loads(path.read_text()) | ends | settings))
    return model, tokenizer


@pytest.fixture(scope="module")
def multilingual(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Checkpoint, Path]]:
    def made(name: str) -> tuple[Checkpoint, Path]:
        where, _ = written_folder(tmp_path_factory.mktemp(name), name)
        return load(where), where

    return cache(made)


Multilingual = Callable[[str], tuple[Checkpoint, Path]]


def theirs(where: Path, name: str, *, source: str | None, target: str, **given: Any) -> tuple[list[int], list[int]]:
    """The ids that transformers reads, and those that `generate` gives."""
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(where)
    if source is not None:
        tokenizer.src_lang = source
    cls = (
        transformers.MBartForConditionalGeneration
        if FAMILY[name] == "mbart"
        else transformers.M2M100ForConditionalGeneration
    )
    model: Any = cls.from_pretrained(where, attn_implementation="eager").eval()
    read = tokenizer(TEXT, return_tensors="pt")
    language = languages(tokenizer)[target]
    which = "decoder_start_token_id" if name in STARTS_IN_IT else "forced_bos_token_id"
    found = model.generate(**read, **{which: language}, do_sample=False, max_new_tokens=MOST, **given)
    return read["input_ids"][0].tolist(), found[0].tolist()


def languages(tokenizer: Any) -> dict[str, int]:
    codes = getattr(tokenizer, "lang_code_to_id", None)
    return codes or {code: tokenizer.convert_tokens_to_ids(code) for code in ("eng_Latn", "deu_Latn", "ace_Arab")}


def all_written(run: Run) -> list[int]:
    """With the start token and the language, as `generate` gives it."""
    before = len(run.trace.tgt) - len(run.steps) + 1
    return [*run.trace.tgt_ids[:before], *(step.token_id for step in run.steps)]


@pytest.mark.parametrize("name", LANGUAGES)
def test_greedy_answers_in_a_language_are_theirs(multilingual: Multilingual, name: str) -> None:
    (ckpt, where), (own, other) = multilingual(name), LANGUAGES[name]
    into = [other, own]
    found = []
    for language in into:
        chosen = ckpt.read_as(language=language)
        most = MOST - len(chosen.codec("target").forced_start)
        run = decode(chosen, TEXT, max_steps=most)
        ids, answer = theirs(where, name, source=None, target=language)
        assert list(run.trace.src_ids) == ids and all_written(run) == answer
        found.append(answer)
    assert found[0] != found[1]


@pytest.mark.parametrize("penalty", [0.5, 2.0])
@pytest.mark.parametrize("name", ["mbart", "mbart50", "m2m_100"])
def test_beams_in_a_language_are_theirs(multilingual: Multilingual, name: str, penalty: float) -> None:
    (ckpt, where), (_, other) = multilingual(name), LANGUAGES[name]
    chosen = ckpt.read_as(language=other)
    most = MOST - len(chosen.codec("target").forced_start)
    beam = Beam(3, length_penalty=penalty, stop="early_stopping=True")
    run = decode(chosen, TEXT, strategy=beam, max_steps=most)
    given = {"num_beams": 3, "length_penalty": penalty, "early_stopping": True}
    answer = theirs(where, name, source=None, target=other, **given)[1]
    assert all_written(run) == answer[: len(all_written(run))] and {*answer[len(all_written(run)) :]} <= {0, 1}


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_language_of_the_text_is_read_as_theirs(multilingual: Multilingual, name: str) -> None:
    (ckpt, where), (own, other) = multilingual(name), LANGUAGES[name]
    usual = ckpt.codec("source").encode(TEXT).ids
    for source in (other, own):
        chosen = ckpt.read_as(source_language=source)
        assert list(chosen.codec("source").encode(TEXT).ids) == theirs(where, name, source=source, target=own)[0]
    assert (
        chosen.codec("source").encode(TEXT).ids
        == usual
        != ckpt.read_as(source_language=other).codec("source").encode(TEXT).ids
    )
    assert ckpt.codec("source").encode(TEXT).ids == usual  # what another one chose stays with it


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_given_answer_stands_behind_its_language_once(multilingual: Multilingual, name: str) -> None:
    (ckpt, _), (own, other) = multilingual(name), LANGUAGES[name]
    codec = ckpt.codec("target")
    language = codec.languages[other]
    words = " ".join(LINES).split()
    answer = next(
        word
        for word in words
        if not codec.ends & {*codec.encode(word).ids[:-1]} - {2} and not codec.encode(word).unknown
    )
    read = trace(ckpt.read_as(language=other), TEXT, answer).tgt_ids
    assert read.count(language) == 1 and read.index(language) == (0 if name in STARTS_IN_IT else 1)
    plain = trace(ckpt, TEXT, answer).tgt_ids
    assert not {codec.languages[own], language} & {*plain} and read[-1] == plain[-1]
    run = decode(ckpt.read_as(language=other), TEXT, target=answer)
    assert all_written(run) == [*read, 2] and run.text.strip() == answer


def test_the_token_of_a_language_can_be_forced_at_the_first_step(multilingual: Multilingual) -> None:
    ckpt, where = multilingual("m2m_100")
    run = decode(ckpt, TEXT, force={0: "__de__"}, max_steps=MOST)
    assert all_written(run) == theirs(where, "m2m_100", source=None, target="de")[1]
    assert run.steps[0].forced and ckpt.read_as(language="__de__").codec("target").how_read.language == "de"


def test_what_has_to_be_written_at_least_counts_the_language(tmp_path: Path) -> None:
    where, _ = written_folder(tmp_path, "mbart50", min_new_tokens=4)
    ckpt = load(where)
    run = decode(ckpt.read_as(language="de_DE"), TEXT, max_steps=MOST - 1)
    assert all_written(run) == theirs(where, "mbart50", source=None, target="de_DE")[1]
    least = [
        [rule.least for rule in each.codec("target").rules if isinstance(rule, NotTooShort)]
        for each in (ckpt, ckpt.read_as(language="de_DE"))
    ]
    assert least == [[4], [3]]


def test_a_language_that_is_not_there_is_a_sentence(
    multilingual: Multilingual, opened: Callable[[str], Checkpoint]
) -> None:
    with pytest.raises(ValueError, match=r"'xx' is not a language of this model: it has af_ZA, ar_AR"):
        multilingual("mbart50")[0].read_as(language="xx")
    for choice in ({"language": "de"}, {"source_language": "de"}):
        with pytest.raises(ValueError, match="no tokens of languages"):
            opened("bart").read_as(**choice)


def main(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        program(words)
    return int(ended.value.code or 0)


def test_the_shell_translates_into_a_language(multilingual: Multilingual, capsys: pytest.CaptureFixture[str]) -> None:
    ckpt, where = multilingual("m2m_100")
    assert main(["translate", str(where), TEXT, "--language", "de", "--source-language", "fr", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    run = decode(ckpt.read_as(language="de", source_language="fr"), TEXT)
    assert [step["token_id"] for step in facts["steps"]] == [step.token_id for step in run.steps]
    assert main(["translate", str(where), TEXT, "--language", "klingon"]) != 0
    assert "'klingon' is not a language of this model" in capsys.readouterr().err
