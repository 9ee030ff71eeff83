"""A text within a chat template: the tokens that the tokenizer would make, and no more than a sentence of a bad one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pretrained import byte_pieces, folder

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface import chat
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import decode

PLAIN = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] | trim }}{{ eos_token"
    " }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
TEMPLATES = {
    "plain": PLAIN,
    "with blocks": "{%- for m in messages %}\n    {%- if m.role == 'user' %}\n[{{ m.content }}]\n    {%- endif %}\n"
    "{%- endfor %}\n{% if tools %}tools{% endif %}{% generation %}A:{% endgeneration %}",
    "with more": "{% set ns = namespace(found=false) %}{% for m in messages %}{% if m['role'] == 'user' %}{% set"
    " ns.found = true %}{% else %}{% continue %}{% endif %}{{ m | tojson }}{% endfor %}{{ ns.found }}"
    "{{ dict(a=1) | tojson }}{{ strftime_now('%Y') }}",
}
HOSTILE = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}"
    "{% endfor %}",
    "memory": "{{ 'a' * 10 ** 10 }}",
    "power": "{{ 10 ** (10 ** 9) }}",
    "long": "{% for a in range(99999) %}{{ 'ab' * 100 }}{% endfor %}",
    "deep": "(" * 3000 + "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "objects": "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages.__class__.__base__.__subclasses__() }}",
    "own words": "{{ raise_exception('no\nsystem') }}",
    "syntax": "{% for %}",
    "changes": "{{ messages.append(1) }}",
}


def templated(where: Path, template: str, name: str = "gpt2") -> Path:
    """A folder with this chat template."""
    made = folder(where, name)
    path = made / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": template}))
    return made


Chatting = Callable[[str], Checkpoint]


@pytest.mark.parametrize("text", ["two hundred", "  the cat\n", "naïve ☃", "{{ 7 * 7 }} {% x %}"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_chat_is_what_the_tokenizer_renders(tmp_path: Path, name: str, text: str) -> None:
    ckpt = load(templated(tmp_path / "model", TEMPLATES[name])).read_as(chat=True)
    codec = ckpt.codec("target")
    assert codec.choices == ("special_tokens", "chat")
    said = [{"role": "user", "content": text}]
    tokenizer = codec.tokenizer  # type: ignore[attr-defined]
    theirs = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False)
    assert list(codec.encode(text).ids) == list(theirs)


@pytest.mark.parametrize("typed", ["</s>", "<s>the</s>", "<pad> x", "</s></s>"])
def test_special_tokens_that_are_typed_into_a_chat_stay_text_until_they_are_chosen(tmp_path: Path, typed: str) -> None:
    ckpt = load(templated(tmp_path / "model", PLAIN))
    codec = ckpt.read_as(chat=True).codec("target")
    tokenizer, said = codec.tokenizer, [{"role": "user", "content": typed}]  # type: ignore[attr-defined]
    specials = {*tokenizer.all_special_ids}
    theirs = tokenizer.apply_chat_template(
        said, add_generation_prompt=True, return_dict=False, sanitize_control_tokens=True
    )
    ids = codec.encode(typed).ids
    assert list(ids) == list(theirs) and [i for i in ids if i in specials] == [1, 2]
    every = ckpt.read_as(chat=True, special_tokens=True).codec("target").encode(typed).ids
    assert list(every) == list(tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False))
    assert len([i for i in every if i in specials]) > 2


def test_a_chat_is_the_prefix_of_a_run_and_the_answer_is_written_behind_it(tmp_path: Path) -> None:
    path = templated(tmp_path / "model", PLAIN) / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": 2}))
    ckpt = load(path.parent).read_as(chat=True)
    read = ckpt.codec("target").encode("the cat").ids
    run = decode(ckpt, "the cat", prefix="one", max_steps=5)
    assert run.trace.tgt_ids[: len(read)] == read and run.text.startswith("one")
    assert byte_pieces().decode(list(read)).endswith("<|assistant|>\n")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_ends_in_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "PATIENCE", 3.0)
    with pytest.raises(ValueError, match=r"^the chat template of this model cannot be used \(.+\): switch") as raised:
        chat.rendered(HOSTILE[name], "a", ())
    assert "\n" not in str(raised.value)


def test_a_template_that_is_too_long_is_not_even_read() -> None:
    with pytest.raises(ValueError, match="more than 200,000 characters"):
        chat.rendered("a" * 200_001, "a", ())


def test_a_model_without_a_template_has_no_chat(opened: Callable[[str], Checkpoint]) -> None:
    for name in ("gpt2", "bart", "bert"):
        with pytest.raises(ValueError, match="this model has no chat template"):
            opened(name).read_as(chat=True)
