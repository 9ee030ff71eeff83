"""A text within a chat template: the tokens that the tokenizer would make, and no more than a sentence of a bad one."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pretrained import byte_pieces, folder

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface import chat, chat_worker
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import decode
from viz_transformer.text.codec import AS_USUAL

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
DAY = date(2026, 3, 1)
LOOPS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}"
    "{% endfor %}"
)
HOSTILE = {  # with the reason that is given
    "memory": ("{{ 'a' * 10 ** 10 }}", "it takes more than 512 MiB of memory"),
    "long": ("{% for a in range(99999) %}{{ 'ab' * 100 }}{% endfor %}", "it writes more than 1,000,000 characters"),
    "deep": ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "it is nested too deeply"),
    "class": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "attribute '__class__' of 'str' object is unsafe"),
    "base": ("{{ messages.__class__.__base__ }}", "attribute '__class__' of 'list' object is unsafe"),
    "own words": ("{{ raise_exception('no\nsystem') }}", "no system"),
    "syntax": ("{% for %}", "Expected an expression, got 'end of statement block'"),
    "changes": ("{{ messages.append(1) }}", "attribute 'append' of 'list' object is unsafe"),
    "length": ("a" * 200_001, "it has more than 200,000 characters"),
}


def templated(where: Path, template: str, name: str = "gpt2") -> Path:
    """A folder with this chat template."""
    made = folder(where, name)
    path = made / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": template}))
    return made


Chatting = Callable[[str], Checkpoint]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_chat_is_what_the_tokenizer_renders(tmp_path: Path, name: str) -> None:
    ckpt = load(templated(tmp_path / "model", TEMPLATES[name])).read_as(chat=True)
    codec = ckpt.codec("target")
    assert codec.choices == ("special_tokens", "chat")
    tokenizer = codec.tokenizer  # type: ignore[attr-defined]
    for text in ("two hundred", "  the cat\n", "naïve ☃", "{{ 7 * 7 }} {% x %}"):
        said = [{"role": "user", "content": text}]
        theirs = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False)
        assert list(codec.encode(text).ids) == list(theirs), text


def test_special_tokens_that_are_typed_into_a_chat_stay_text_until_they_are_chosen(tmp_path: Path) -> None:
    ckpt = load(templated(tmp_path / "model", PLAIN))
    codec = ckpt.read_as(chat=True).codec("target")
    chosen = ckpt.read_as(chat=True, special_tokens=True).codec("target")
    tokenizer = codec.tokenizer  # type: ignore[attr-defined]
    specials = {*tokenizer.all_special_ids}
    for typed in ("</s>", "<s>the</s>", "<pad> x", "</s></s>"):
        said = [{"role": "user", "content": typed}]
        theirs = tokenizer.apply_chat_template(
            said, add_generation_prompt=True, return_dict=False, sanitize_control_tokens=True
        )
        ids = codec.encode(typed).ids
        assert list(ids) == list(theirs) and [i for i in ids if i in specials] == [1, 2], typed
        every = chosen.encode(typed).ids
        theirs = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False)
        assert list(every) == list(theirs) and len([i for i in every if i in specials]) > 2, typed


def test_a_chat_is_the_prefix_of_a_run_and_the_answer_is_written_behind_it(tmp_path: Path) -> None:
    path = templated(tmp_path / "model", PLAIN) / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": 2}))
    ckpt = load(path.parent).read_as(chat=True)
    read = ckpt.codec("target").encode("the cat").ids
    run = decode(ckpt, "the cat", prefix="one", max_steps=5)
    assert run.trace.tgt_ids[: len(read)] == read and run.text.startswith("one")
    assert byte_pieces().decode(list(read)).endswith("<|assistant|>\n")


def refused(template: str, text: str = "a", day: date = DAY) -> str:
    """Why the template cannot be used."""
    with pytest.raises(ValueError, match=r"^the chat template of this model cannot be used \(.+\): switch") as raised:
        chat.render_chat(template, text, (), day)
    return str(raised.value).partition("used (")[2].rpartition("): switch")[0]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each process that was started to render a template; none of before is kept."""
    started, run = [], subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *given, **named: (started.append(given), run(*given, **named))[1])
    chat._tried.cache_clear()
    return started


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_ends_in_its_own_sentence(name: str) -> None:
    template, why = HOSTILE[name]
    assert why in refused(template) and "\n" not in refused(template)


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="this system has no limit of the processor's time")
def test_a_template_may_take_little_of_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here with a limit of one second."""
    program, seconds = Path(chat_worker.__file__).read_text(encoding="utf-8"), "SECONDS, LONGEST = 512 * 2**20, {}, "
    assert chat_worker.SECONDS == 5 and seconds.format(5) in program
    (tmp_path / "worker.py").write_text(program.replace(seconds.format(5), seconds.format(1)), encoding="utf-8")
    monkeypatch.setattr(chat_worker, "__file__", str(tmp_path / "worker.py"))
    monkeypatch.setattr(chat_worker, "SECONDS", 1)
    monkeypatch.setattr(chat, "PATIENCE", 300.0)
    assert refused(LOOPS) == "it takes more than 1 seconds of the processor"


@pytest.mark.parametrize(("template", "patience"), [("a", 0.001), ("{{ 10 ** (10 ** 9) }}", 1.5)])
def test_a_template_may_take_little_time(
    template: str, patience: float, monkeypatch: pytest.MonkeyPatch, processes: list[object]
) -> None:
    """Also where it takes it before it is rendered: constants are worked out when it is compiled."""
    monkeypatch.setattr(chat, "PATIENCE", patience)
    assert refused(template, "b") == f"it takes longer than {patience} seconds"
    chat._tried.cache_clear()


class System:
    """Stands for the module of limits, of a system that does not take some of them."""

    RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_CORE = "memory", "time", "files", "dumps"

    def __init__(self, takes: set[str]) -> None:
        self.takes, self.taken = takes, dict[str, tuple[int, int]]()

    def setrlimit(self, which: str, limits: tuple[int, int]) -> None:
        if which not in self.takes:
            raise (ValueError if which == "memory" else OSError)("current limit exceeds maximum limit")
        self.taken[which] = limits


@pytest.mark.parametrize("refuses", ["memory", "time", "files", "dumps"])
def test_each_limit_is_set_where_the_system_takes_it(refuses: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = System({"memory", "time", "files", "dumps"} - {refuses})
    monkeypatch.setattr(chat_worker, "resource", system)
    chat_worker.limited()
    wanted = {"memory": 2**29, "time": 5, "files": 0, "dumps": 0}
    assert {which: least for which, (least, _) in system.taken.items()} == {
        which: least for which, least in wanted.items() if which != refuses
    }


def test_a_system_without_limits_sets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_worker, "resource", None)
    chat_worker.limited()


def test_a_process_that_does_not_run_is_not_the_templates_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[object]
) -> None:
    (tmp_path / "worker.py").write_text("raise OSError('no limits here')")
    monkeypatch.setattr(chat_worker, "__file__", str(tmp_path / "worker.py"))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"does not run here \(.*OSError: no limits here\): switch “Chat” off$"):
            chat.render_chat("a", "a", (), DAY)
    assert len(processes) == 2  # it may run the next time


def test_what_a_template_makes_is_kept_for_the_day_and_so_is_that_it_cannot_be_used(processes: list[object]) -> None:
    for day in (DAY, DAY, date(2026, 3, 2)):
        assert chat.render_chat("{{ strftime_now('%Y') }}", "a", (), day).startswith("2")
        assert refused("{{ raise_exception('no') }}", day=day) == "no"
    assert len(processes) == 4


def test_the_day_is_todays_and_the_tokenizer_is_free_while_a_template_is_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = load(templated(tmp_path / "model", PLAIN)).read_as(chat=True).codec("target")
    seen = []

    def watched(template: str, text: str, named: object, day: date) -> str:
        seen.append((day, codec.lock.locked()))  # type: ignore[attr-defined]
        return "one"

    monkeypatch.setattr(chat, "render_chat", watched)
    before = date.today()
    assert codec.encode("the cat").ids == codec.read_as(AS_USUAL).encode("one").ids
    ((day, locked),) = seen
    assert before <= day <= date.today() and not locked


def test_a_model_without_a_template_has_no_chat(opened: Callable[[str], Checkpoint]) -> None:
    for name in ("gpt2", "bart", "bert"):
        with pytest.raises(ValueError, match="this model has no chat template"):
            opened(name).read_as(chat=True)
