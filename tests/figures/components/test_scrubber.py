"""What the scrubber is sent is what the run has, and what it shows in a browser is what it was sent."""

import math
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from builders import tiny_checkpoint
from mounted import Mounted, mounting
from playwright.sync_api import expect

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Texts
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.figures import labels
from viz_transformer.figures.components.scrubber import (
    CandidateData,
    StepData,
    WrittenSteps,
    scrubber_payload,
    steps_of,
)
from viz_transformer.running.decoding import decode
from viz_transformer.running.step import Step
from viz_transformer.running.strategies import Beam, Greedy, Sampling
from viz_transformer.ui.components import pictures

ROOT = Path(__file__).resolve().parents[3]


def mention(ckpt, step):
    """A written token in a sentence: a special one without quotation marks."""
    return step.token if step.token_id in ckpt.target_codec.vocabulary.special_ids else f"“{step.token}”"


def of_run(ckpt, run, strategy=None, **changes):
    first = step_row(run, 0)
    read = slice(first, first + len(run.steps))
    written = WrittenSteps(
        steps_of(run, strategy=strategy is not None),
        Texts(run.trace.tgt.tokens[read], run.trace.tgt.originals[read]),
        run.trace.config.target_vocab_size,
        first,
        ckpt.target_codec.vocabulary.special_ids,
    )
    return scrubber_payload(written, caption="tiny", name="tiny", strategy=strategy, **changes)


def candidate(token, token_id, probability):
    return CandidateData(token, token_id, math.log(probability))


def of_steps(*steps, **changes):
    written = {"reads": Texts(["read"] * len(steps)), "vocabulary": 50, "first_row": 0, "special": {0}}
    written |= {name: changes.pop(name) for name in written if name in changes}
    return scrubber_payload(WrittenSteps(steps, **written), **{"caption": "a caption", "name": "picture", **changes})


SURE = StepData(candidate("one", 1, 0.75), [candidate("one", 1, 0.75), candidate("two", 2, 0.125)])
MARKUP = "<b>bold</b> & <img src=x onerror=alert(1)>"
EXAMPLE = (
    SURE,
    StepData(
        candidate("</s>", 0, 0.25), [candidate(MARKUP, 5, 0.5), candidate("</s>", 0, 0.25), candidate("عالم", 6, 0.125)]
    ),
    StepData(candidate("two", 2, 1e-5), [candidate("one", 1, 0.5), candidate(" ", 3, 0.25)], forced=True),
    SURE,
)


# ---- what is sent


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only"])
def test_all_steps_are_sent_as_the_trace_has_them(kind):
    ckpt = tiny_checkpoint(kind)
    run = decode(ckpt, "abc" if kind == "encoder-decoder" else "uvw", max_steps=6)
    header, arrays = payload.unpack(of_run(ckpt, run))
    assert header["first_row"] == (0 if kind == "encoder-decoder" else 3)
    assert arrays["log_probs"].shape == (len(run.steps), 10)
    names = ckpt.target_codec.vocabulary.tokens
    for s, step in enumerate(run.steps):
        row = header["first_row"] + s
        logits = run.trace["logits"][0, row].double().numpy()
        probs = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()  # softmax, written out
        best = np.argsort(-probs)[:10]
        assert [header["tokens"][place]["text"] for place in header["candidates"][s]] == [names[i] for i in best]
        np.testing.assert_allclose(np.exp(arrays["log_probs"][s]), probs[best], rtol=1e-5)  # float32 logits of about 10
        assert arrays["rest"][s] == pytest.approx(1 - probs[best].sum(), abs=1e-6)
        assert arrays["log_probs"][s, header["written"][s]] == np.float32(step.log_prob)
        assert names[run.trace.next_ids[row]] == header["tokens"][header["candidates"][s][header["written"][s]]]["text"]
        assert header["reads"][s]["text"] == run.trace.tgt.tokens[row]


def test_a_forced_token_outside_the_ten_is_sent_behind_them_and_marked():
    ckpt = tiny_checkpoint()
    free = decode(ckpt, "abc", max_steps=1)
    last = int(free.steps[0].log_probs[4:].argmin()) + 4  # the least probable token that is not special
    run = decode(ckpt, "abc", prefix=[last], max_steps=3)
    header, arrays = payload.unpack(of_run(ckpt, run))
    assert header["forced"] == [0]
    assert header["unlisted"] == [0]
    assert [len(places) for places in header["candidates"]] == [11, 10, 10]
    assert header["written"][0] == 10
    assert header["tokens"][header["candidates"][0][10]]["text"] == ckpt.target_codec.vocabulary.tokens[last]
    assert arrays["log_probs"][0, 10] == np.float32(run.steps[0].log_probs[last])
    assert np.isnan(arrays["log_probs"][1:, 10]).all()
    probs = run.steps[0].log_probs.double().exp().numpy()
    assert arrays["rest"][0] == pytest.approx(1 - probs[np.argsort(-probs)[:10]].sum() - probs[last], abs=1e-6)


def test_a_step_shows_what_its_row_reads_and_what_was_typed_there():
    ckpt = tiny_checkpoint("decoder-only")
    header, _ = payload.unpack(of_run(ckpt, decode(ckpt, "u€", max_steps=3)))
    assert header["first_row"] == 2
    assert header["reads"][0] == {"text": "<unk>", "note": "€"}


def test_the_rest_is_one_minus_the_candidates_and_never_below_zero():
    _, arrays = payload.unpack(of_steps(SURE))
    assert arrays["rest"].tolist() == [0.125]
    over = [candidate("one", 1, 0.75), candidate("two", 2, 0.2500001)]
    _, arrays = payload.unpack(of_steps(StepData(over[0], over)))
    assert arrays["rest"].tolist() == [0]


def test_numbers_that_are_none_stay_none():
    broken = [CandidateData("one", 1, math.nan), CandidateData("two", 2, -math.inf)]
    _, arrays = payload.unpack(of_steps(StepData(broken[0], broken)))
    assert np.isnan(arrays["rest"]).all()
    assert np.isnan(arrays["log_probs"][0, 0])
    assert arrays["log_probs"][0, 1] == -np.inf


def test_a_token_that_repeats_is_sent_once():
    header, _ = payload.unpack(of_steps(*[SURE] * 500))
    assert header["tokens"] == [{"text": "one"}, {"text": "two"}]
    assert header["candidates"] == [[0, 1]] * 500


def test_special_tokens_are_known_by_their_id():
    same_text = StepData(candidate("</s>", 7, 0.5), [candidate("</s>", 7, 0.5), candidate("</s>", 0, 0.25)])
    header, _ = payload.unpack(of_steps(same_text))
    assert header["tokens"] == [{"text": "</s>"}, {"text": "</s>", "special": True}]
    assert header["written"] == [0]


@pytest.mark.parametrize(
    ("steps", "changes", "said"),
    [
        ((), {}, "at least one step"),
        ((SURE,), {"reads": Texts(["a", "b"])}, "2 tokens read do not fit 1 steps"),
        ((SURE,), {"first_row": -1}, "first_row=-1 has to be a whole number of at least 0"),
        ((SURE,), {"vocabulary": 1}, "2 candidates do not fit a vocabulary of 1 tokens"),
        ((StepData(SURE.written, [SURE.written] * 2),), {}, "is twice"),
    ],
)
def test_what_does_not_fit_is_refused(steps, changes, said):
    with pytest.raises(ValueError, match=said):
        of_steps(*steps, **changes)


STRATEGIES = {
    "greedy": Greedy(),
    "top-k": Sampling(temperature=1.5, top_k=4, seed=2),
    "top-p": Sampling(top_p=0.6, seed=1),
    "min-p": Sampling(min_p=0.3),
    "penalty": Sampling(temperature=0.9, repetition_penalty=4.0),
    "beam": Beam(3),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_the_strategy_made_of_each_candidate_is_sent_as_the_steps_have_it(name):
    ckpt = tiny_checkpoint()
    run = decode(ckpt, "abc", strategy=STRATEGIES[name], max_steps=6, ban=["<pad>", "z", "3"])
    header, arrays = payload.unpack(of_run(ckpt, run, strategy=name))
    about, names = header["strategy"], ckpt.target_codec.vocabulary.tokens
    assert about["name"] == name
    for s, step in enumerate(run.steps):
        listed = [names.index(header["tokens"][place]["text"]) for place in header["candidates"][s]]
        for i, token_id in enumerate(listed):
            found = step.candidate(token_id)
            assert arrays["log_probs"][s, i] == np.float32(found.log_prob)
            assert arrays["strategy_log_probs"][s, i] == np.float32(found.strategy_log_prob)
            assert [None, *about["reasons"]][about["removed"][s][i]] == found.removed
            assert (step.log_probs > step.log_probs[token_id]).sum() == about["ranks"][s][i]
        left = np.exp(step.distribution.log_probs.numpy())
        others = [token_id for token_id in range(len(left)) if token_id not in listed]
        assert arrays["strategy_rest"][s] == pytest.approx(left[others].sum(), rel=1e-6)  # sent as a float32
        assert arrays["entropy"][s] == np.float32(step.entropy)
        assert listed[:10] == [each.token_id for each in step.candidates]
        assert {*np.argsort(-left, kind="stable")[: min(10, (left > 0).sum())]} | {step.token_id} <= {*listed}
        assert listed[header["written"][s]] == step.token_id
    assert set(about["reasons"]) == ({name} & {"greedy", "top-k", "top-p", "min-p"}) | {"banned"}


def test_a_repetition_penalty_brings_tokens_that_the_model_ranks_below_its_ten():
    ckpt = tiny_checkpoint()
    run = decode(ckpt, "abc", strategy=STRATEGIES["penalty"], max_steps=8)
    header, _ = payload.unpack(of_run(ckpt, run, strategy="penalty"))
    extra = [rank for ranks in header["strategy"]["ranks"] for rank in ranks[10:]]
    assert extra and min(extra) >= 10


def test_without_the_strategy_nothing_of_it_is_sent():
    ckpt = tiny_checkpoint()
    header, arrays = payload.unpack(of_run(ckpt, decode(ckpt, "abc", strategy=STRATEGIES["top-k"], max_steps=2)))
    assert set(arrays) == {"log_probs", "rest"}
    assert not {"strategy", "ids"} & set(header)


def test_a_candidate_that_can_be_taken_is_known_by_its_id():
    header, _ = payload.unpack(of_steps(*EXAMPLE, takes=True))
    texts = [token["text"] for token in header["tokens"]]
    assert dict(zip(texts, header["ids"], strict=True)) == {
        "one": 1, "two": 2, "</s>": 0, labels.visible(MARKUP): 5, "عالم": 6, "␣": 3
    }  # fmt: skip


def test_steps_that_do_not_say_what_the_strategy_made_of_them_are_refused():
    with pytest.raises(ValueError, match="step 0 does not say what the strategy made of it"):
        of_steps(SURE, strategy="greedy")


TAKES = {
    (1, 7): {"step": 1, "token_id": 7},
    (0, 0): {"step": 0, "token_id": 0},
    None: None,
    "word": "take",
    "step": {"step": 1},
    "below": {"step": -1, "token_id": 7},
    "truth": {"step": True, "token_id": 7},
    "text": {"step": "1", "token_id": 7},
}


@pytest.mark.parametrize("wanted", TAKES)
def test_python_hears_which_token_is_taken_at_which_step_and_nothing_else(monkeypatch, wanted):
    heard, called = [], []
    state = {"place": SimpleNamespace(take=TAKES[wanted])}
    monkeypatch.setattr(pictures, "st", SimpleNamespace(session_state=state))
    monkeypatch.setattr(pictures, "_component", lambda name: lambda **given: called.append(given))
    pictures.scrubber(b"data", key="place", on_take=lambda *take: heard.append(take))
    called[0]["on_take_change"]()
    assert heard == ([wanted] if isinstance(wanted, tuple) else [])
    pictures.scrubber(b"data", key="place")
    assert called[1] == {"key": "place", "data": b"data"}


def test_a_recorded_run_is_drawn_without_torch():
    code = """
import sys
from itertools import pairwise
from viz_transformer.analysis.attention.axes import Texts
from viz_transformer.figures.components.scrubber import CandidateData, StepData, WrittenSteps, scrubber_payload
one = CandidateData("one", 1, -0.5)
steps = [StepData(one, [one])]
scrubber_payload(WrittenSteps(steps, Texts(["<s>"]), 9), caption="", name="")
print([name for name in ("torch", "spacy", "transformers") if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


# ---- what is shown

ROWS = """([rows, text]) => [...document.querySelector("#host").shadowRoot.querySelectorAll(rows)]
  .filter((row) => getComputedStyle(row).visibility === "visible")
  .map((row) => [row.querySelector(text).innerText, row.querySelector(".value").innerText,
                 parseFloat(row.querySelector(".part").style.width)])"""


class RunView(Mounted):
    """The scrubber alone on a page."""

    def __init__(self, page, name, data):
        super().__init__(page, name, data)
        self.slider = page.get_by_role("slider", name="Step")
        self.stage = page.get_by_role("listbox")

    def choose(self, row):
        super().choose(t=row)

    @property
    def says(self):
        lines = self.page.locator(".says > div:visible").all_text_contents()
        return " ".join(lines)

    @property
    def bars(self):
        """Token, value and width in percent of each candidate that is shown."""
        return self.rows(".candidate", ".token")

    @property
    def rest(self):
        (row,) = self.rows(".rest", ".others")
        return row

    def rows(self, rows, text):
        return [tuple(row) for row in self.page.evaluate(ROWS, [rows, text])]


@pytest.fixture
def shown(browser):
    with mounting(browser, "scrubber", RunView, viewport={"width": 380, "height": 720}) as mount:
        yield mount


def test_each_step_shows_the_numbers_of_the_run(shown):
    ckpt = tiny_checkpoint("decoder-only")
    run = decode(ckpt, "uv", max_steps=5)
    view = shown(of_run(ckpt, run))
    view.slider.focus()
    for s, step in enumerate(run.steps):
        assert view.says == (
            f"Step {s + 1} of {len(run.steps)}: reads “{run.trace.tgt.tokens[2 + s]}”, writes {mention(ckpt, step)}, "
            f"probability {labels.share(math.exp(step.log_prob))}"
        )
        assert [(token, value) for token, value, _ in view.bars] == [
            (each.token, labels.share(math.exp(each.log_prob))) for each in step.candidates
        ]
        for (_, _, percent), each in zip(view.bars, step.candidates, strict=True):
            assert percent == pytest.approx(100 * math.exp(each.log_prob), rel=1e-4)  # CSS keeps six digits
        written = view.page.locator(".candidate.written .token").all_text_contents()
        assert written == [step.token]
        left = step.log_probs.double().exp().sort(descending=True).values[10:].sum().item()
        others, value, percent = view.rest
        assert others == f"other {run.trace.config.target_vocab_size - 10} tokens together"
        assert value == labels.share(left)
        assert percent == pytest.approx(100 * left, rel=1e-4, abs=1e-3)
        view.page.keyboard.press("ArrowRight")
        view.painted()


def test_only_the_settled_step_goes_to_python_as_its_row(shown):
    view = shown(of_steps(*EXAMPLE, first_row=3))
    view.slider.focus()
    for _ in range(3):
        view.page.keyboard.press("ArrowRight")
    assert view.page.evaluate("window.vizTransformerSelection.chosen.t") == 6
    assert view.sent == []
    view.page.wait_for_function("window.sent.length > 0")
    view.page.keyboard.press("Home")
    view.page.wait_for_function("window.sent.length > 1")
    assert view.sent == [{"t": 6}, {"t": 3}]


def test_a_row_chosen_elsewhere_moves_the_scrubber(shown):
    view = shown(of_steps(*EXAMPLE, first_row=3))
    assert view.says.startswith("Step 1 of 4")  # nothing is chosen yet
    assert view.page.locator(".forced:visible").count() == 0
    view.choose(5)
    assert view.says.startswith("Step 3 of 4")
    assert view.page.locator(".forced:visible").all_text_contents() == ["given"]
    assert view.slider.input_value() == "2"
    assert view.slider.get_attribute("aria-valuetext") == (
        "Step 3 of 4, given: reads “read”, writes “two”, probability <0.0001"
    )
    assert view.sent == []


def test_a_row_that_writes_nothing_says_so_and_leads_back_to_the_answer(shown):
    view = shown(of_steps(*EXAMPLE, first_row=3))
    view.choose(1)
    assert view.says == "This row reads what was given: it writes nothing of the answer."
    assert view.bars == []
    view.slider.focus()
    view.page.keyboard.press("ArrowLeft")
    view.painted()
    assert view.page.evaluate("window.vizTransformerSelection.chosen.t") == 1
    view.page.keyboard.press("ArrowRight")
    view.painted()
    assert view.says.startswith("Step 1 of 4")
    view.page.evaluate("window.vizTransformerSelection.pick({ t: 8 })")
    view.painted()
    assert view.says == "This row reads padding: it writes nothing of the answer."
    view.page.get_by_role("button", name="Previous step").click()
    view.painted()
    assert view.says.startswith("Step 4 of 4")


def test_the_candidates_can_be_read_by_keyboard_alone(shown):
    view = shown(of_steps(*EXAMPLE))
    view.stage.focus()
    view.page.keyboard.press("ArrowDown")
    assert view.tooltip == ["candidate 1: “one”", "probability 0.7500", "log-probability -0.29", "written"]
    view.page.keyboard.press("ArrowRight")
    view.painted()
    assert view.says.startswith("Step 2 of 4")
    assert view.tooltip[1:] == ["probability 0.5000", "log-probability -0.69"]
    view.page.keyboard.press("ArrowUp")
    for _ in range(3):
        view.page.keyboard.press("ArrowDown")
    assert view.tooltip == ["other 47 tokens together", "probability 0.1250"]
    active = view.stage.get_attribute("aria-activedescendant")
    assert view.page.locator(f"#{active}").get_attribute("aria-label") == ", ".join(view.tooltip)
    view.page.keyboard.press("Escape")
    assert view.tooltip == []


def test_playing_goes_to_the_end_and_python_hears_once(shown):
    view = shown(of_steps(*EXAMPLE))
    view.page.evaluate("""() => {
      const store = window.vizTransformerSelection
      window.went = []
      store.listen(() => {
        if (store.chosen.t !== window.went.at(-1)?.[0]) window.went.push([store.chosen.t, window.sent.length])
      })
    }""")
    view.page.get_by_role("button", name="Play the steps").focus()
    view.page.keyboard.press("Space")
    view.page.wait_for_function("window.sent.length > 0")
    view.painted()
    assert view.page.evaluate("window.went") == [[1, 0], [2, 0], [3, 0]]
    assert view.says.startswith("Step 4 of 4")
    assert view.sent == [{"t": 3}]
    assert view.page.get_by_role("button", name="Play the steps").count() == 1


def test_playing_stops_when_a_row_is_chosen_or_pause_is_pressed(shown):
    view = shown(of_steps(*[SURE] * 9))
    play = view.page.get_by_role("button", name="Play the steps")
    pause = view.page.get_by_role("button", name="Pause")
    play.click()
    pause.click()
    view.page.wait_for_function("window.sent.length > 0")
    assert view.sent == [{"t": 1}]
    play.click()
    view.page.evaluate("window.vizTransformerSelection.pick({ t: 7 })")
    play.wait_for()
    play.click()
    view.give(of_steps(*EXAMPLE, first_row=5))  # another run
    view.painted()
    assert pause.count() == 0


TURNED = (
    StepData(candidate("one", 1, 0.5), [candidate(*each) for each in (("one", 1, 0.5), ("two", 2, 0.25))]),
    StepData(candidate("two", 2, 0.625), [candidate(*each) for each in (("two", 2, 0.625), ("three", 3, 0.125))]),
)
MOTION = """() => [...document.querySelector("#host").shadowRoot.querySelectorAll(".places *")].flatMap((each) =>
  each.getAnimations().map((one) => [each.className, each.querySelector(".token")?.textContent,
    Object.fromEntries(["transform", "opacity", "width"].map((of) => [of, one.effect.getKeyframes()[0][of]])
      .filter(([, value]) => value !== undefined))]))"""


@pytest.mark.parametrize("preference", ["reduce", "no-preference"])
def test_while_playing_a_candidate_moves_to_its_new_place_and_its_number_is_there_at_once(shown, preference):
    view = shown(of_steps(*TURNED, SURE))
    view.page.emulate_media(reduced_motion=preference)
    view.page.get_by_role("button", name="Next step").click()
    view.painted()
    assert view.page.evaluate(MOTION) == []
    view.page.get_by_role("button", name="Previous step").click()
    view.painted()
    found = view.page.get_by_role("button", name="Play the steps").evaluate(
        f"(play) => {{ play.click(); return ({MOTION})() }}"
    )
    moved = {(name.split()[0], token): before for name, token, before in found}
    assert view.bars == [("two", "0.6250", 62.5), ("three", "0.1250", 12.5)]
    if preference == "reduce":
        assert moved == {}
        return
    assert moved["candidate", "two"] == {"transform": "translateY(26px)"}  # from the second line to the first
    assert moved["candidate", "three"] == {"opacity": "0"}
    assert moved["part", None]["width"] in ("25%", "0%")  # of "two" and of all others
    view.page.wait_for_function("window.sent.at(-1)?.t === 2")
    view.page.wait_for_function(f"({MOTION})().length === 0")
    assert [token for token, _, _ in view.bars] == ["one", "two"]


def test_page_keys_are_left_to_the_scenes_of_the_page(shown):
    view = shown(of_steps(*EXAMPLE))
    view.page.evaluate("window.heard = []; document.addEventListener('keydown', ({ key }) => window.heard.push(key))")
    view.slider.focus()
    view.page.keyboard.press("PageDown")
    view.page.keyboard.press("PageUp")
    assert view.page.evaluate("window.heard") == ["PageDown", "PageUp"]
    assert view.slider.input_value() == "0"
    assert view.page.evaluate("window.vizTransformerSelection.chosen.t") is None


def test_in_a_narrow_panel_bars_keep_room_and_labels_of_the_axis_stay_apart(shown, browser):
    view = shown(of_steps(*EXAMPLE, vocabulary=123_456))
    view.page.set_viewport_size({"width": 213, "height": 720})
    view.painted()
    ticks = view.page.locator(".ticks > * > *:visible")
    boxes = [ticks.nth(i).bounding_box() for i in range(ticks.count())]
    assert [ticks.nth(i).text_content() for i in range(ticks.count())] == ["0", "1"]
    assert all(a["x"] + a["width"] + 4 < b["x"] for a, b in pairwise(boxes))
    assert view.page.locator(".candidate .bar").first.bounding_box()["width"] > 40
    others = view.page.locator(".others").evaluate("(box) => [box.scrollWidth - box.clientWidth, box.offsetHeight]")
    assert others[0] <= 0 and others[1] <= 50


# ---- what the strategy made of it, and taking another token


def left(token, token_id, probability, final, removed=None, rank=0):
    strategy = math.log(final) if final else -math.inf
    return CandidateData(token, token_id, math.log(probability), strategy, removed, rank)


CHOSEN = left("one", 1, 0.5, 0.75)
SAMPLED = (
    StepData(
        CHOSEN,
        [CHOSEN, left("two", 2, 0.25, 0.25, None, 1), left(MARKUP, 5, 0.125, 0, "top-p", 2)],
        entropy=1.25,
        strategy_rest=0.0,
    ),
    StepData(
        left("two", 2, 0.0625, 0, "top-p", 11),
        [left("</s>", 0, 0.5, 0, "banned"), CHOSEN, left("two", 2, 0.0625, 0, "top-p", 11)],
        forced=True,
        entropy=0.5,
        strategy_rest=0.25,
    ),
)


def sampled(**changes):
    return of_steps(*SAMPLED, **{"strategy": "sampling, top-p 0.7", "takes": True, **changes})


def taken(view):
    return [value for name, value in view.page.evaluate("window.triggers") if name == "take"]


def test_each_candidate_shows_its_probability_before_and_after_the_strategy_and_why_it_was_removed(shown, subtests):
    ckpt = tiny_checkpoint()
    view = shown(of_steps(*EXAMPLE))
    for name, strategy in STRATEGIES.items():
        with subtests.test(strategy=name):
            run = decode(ckpt, "abc", strategy=strategy, max_steps=4, ban=["<pad>", "z", "3"])
            view.give(of_run(ckpt, run, strategy=name))
            size = run.trace.config.target_vocab_size
            for s, step in enumerate(run.steps):
                view.choose(s)
                assert view.says == (
                    f"Step {s + 1} of {len(run.steps)}: reads “{run.trace.tgt.tokens[s]}”, "
                    f"writes {mention(ckpt, step)} "
                    f"entropy {labels.number(step.entropy, 2)} nats (uniform: ln {size} = {math.log(size):.2f}) "
                    f"log-probability: model {labels.number(step.log_prob, 2)}, "
                    f"after the strategy {labels.number(step.strategy_log_prob, 2)}"
                )
                rows = view.page.locator(".candidate:not(.empty)")
                listed = [step.candidate(step.vocabulary.index(token)) for token, _, _ in view.bars]
                assert len(listed) >= 10 and step.token in [each.token for each in listed]
                after = [math.exp(each.strategy_log_prob) for each in listed]
                wanted = [each.removed or labels.share(final) for each, final in zip(listed, after, strict=True)]
                assert rows.locator(".final").all_text_contents() == wanted
                assert [value for _, value, _ in view.bars] == [
                    labels.share(math.exp(each.log_prob)) for each in listed
                ]
                widths = rows.locator(".final-part").evaluate_all(
                    "(all) => all.map((one) => parseFloat(one.style.width))"
                )
                assert widths == pytest.approx([100 * final for final in after], rel=1e-4)
                hatched = rows.locator(".part").evaluate_all(
                    "(all) => all.map((one) => one.classList.contains('removed'))"
                )
                assert hatched == [each.removed is not None for each in listed]
                others = [i for i in range(size) if step.vocabulary[i] not in [each.token for each in listed]]
                final = float(step.distribution.log_probs.exp()[others].sum())
                assert view.page.locator(".rest .final").text_content() == labels.share(final)
    view.give(of_steps(*EXAMPLE))
    assert view.page.locator(".candidate .final, .rest .final, .take, .legend:visible").count() == 0
    view.choose(0)
    assert view.says == "Step 1 of 4: reads “read”, writes “one”, probability 0.7500"
    assert view.bars == [("one", "0.7500", 75), ("two", "0.1250", 12.5)]


def test_a_candidate_is_taken_by_mouse(shown):
    view = shown(sampled(first_row=2))
    rows = view.page.locator(".candidate")
    take = rows.nth(2).get_by_role("button")
    opacity = "(one) => getComputedStyle(one).opacity"
    assert take.evaluate(opacity) == "0"
    rows.nth(2).hover()
    assert take.evaluate(opacity) == "1"
    assert take.get_attribute("aria-label") == f"Take “{labels.visible(MARKUP)}” instead of “one”"
    take.dblclick()
    assert taken(view) == [{"step": 0, "token_id": 5}]  # a double click is one
    assert view.page.locator("[aria-live]").text_content() == (
        f"Step 1 is to write “{labels.visible(MARKUP)}” instead of “one”"
    )
    assert view.page.evaluate("window.vizTransformerSelection.chosen.t") is None
    view.page.keyboard.press("ArrowRight")  # the keys go on from the candidates
    view.painted()
    assert view.says.startswith("Step 2 of 2")


def test_a_candidate_is_taken_by_keyboard_alone(shown):
    view = shown(sampled())
    view.page.get_by_role("grid").focus()
    view.page.keyboard.press("Enter")  # nothing is pointed at yet
    view.press("ArrowDown", "Enter")  # the one that is written
    assert taken(view) == []
    view.press("ArrowDown", "Enter")
    assert taken(view) == [{"step": 0, "token_id": 2}]
    assert view.page.locator("[aria-live]").text_content() == "Step 1 is to write “two” instead of “one”"
    stage = view.page.get_by_role("grid")
    active = view.page.locator(f"#{stage.get_attribute('aria-activedescendant')}")
    assert active.get_attribute("aria-label").endswith("Enter takes it instead")
    assert "Enter takes the one shown" in stage.get_attribute("aria-label")
    view.press("ArrowDown", "ArrowDown", "Enter")  # all others together are no token
    assert len(taken(view)) == 1


def test_on_a_touch_screen_the_buttons_are_always_seen(browser):
    with mounting(browser, "scrubber", RunView, has_touch=True, is_mobile=True) as mount:
        view = mount(sampled())
        take = view.page.locator(".candidate").nth(1).get_by_role("button")
        assert take.evaluate("(one) => getComputedStyle(one).opacity") == "1"
        take.tap()
        assert taken(view) == [{"step": 0, "token_id": 2}]


def test_where_there_is_room_the_numbers_stand_side_by_side_and_ten_candidates_fit_a_projector(shown):
    ckpt = tiny_checkpoint()
    run = decode(ckpt, "abc", strategy=STRATEGIES["top-p"], max_steps=3)
    view = shown(of_run(ckpt, run, strategy="top-p", takes=True))
    row = view.page.locator(".candidate").nth(1)

    def middles():
        boxes = [row.locator(part).bounding_box() for part in (".value", ".final", ".take")]
        return [box["y"] + box["height"] / 2 for box in boxes], [box["x"] for box in boxes]

    (value, final, _), _ = middles()
    assert final == pytest.approx(value, abs=3)
    view.page.set_viewport_size({"width": 280, "height": 720})
    expect(view.page.locator(".scrubber.beside")).to_have_count(0)
    (value, final, _), _ = middles()
    assert final > value + 10
    view.page.set_viewport_size({"width": 1200, "height": 720})
    view.page.locator("#host").evaluate("(host) => host.style.setProperty('--vt-zoom', 1.4)")
    view.choose(1)
    assert len(view.bars) == 10
    (value, final, take), lefts = middles()
    assert (final, take) == (pytest.approx(value, abs=3), pytest.approx(value, abs=3))
    assert lefts == sorted(lefts)
    assert view.page.locator("#host").bounding_box()["height"] < 630  # of 720, below what stands above it
    view = shown(of_run(ckpt, run))
    view.page.set_viewport_size({"width": 1200, "height": 720})
    view.page.locator("#host").evaluate("(host) => host.style.setProperty('--vt-zoom', 1.4)")
    view.choose(1)
    reads, writes = (view.page.locator(".says > div").nth(i).bounding_box() for i in (0, 1))
    assert reads["y"] == writes["y"] and len(view.bars) == 10
    assert view.page.locator("#host").bounding_box()["height"] < 590  # the answer stands above it too


@pytest.mark.parametrize("strategy", [None, Sampling(repetition_penalty=4.0)])
def test_the_most_probable_tokens_of_a_step_are_looked_for_once(monkeypatch, strategy):
    """Of a large vocabulary that takes as long as a layer, and a step has ten candidates or more."""
    looked, find = [], Step.most_probable
    monkeypatch.setattr(Step, "most_probable", lambda step, count: looked.append(step.index) or find(step, count))
    run = decode(tiny_checkpoint(), "abc", max_steps=3, strategy=strategy or Greedy())
    looked.clear()
    steps_of(run, strategy=True)
    assert looked == [0, 1, 2]


def test_nothing_jumps_whether_a_strategy_is_shown_or_not(shown):
    view = shown(of_steps(*EXAMPLE, first_row=1))
    for data, rows in ((of_steps(*EXAMPLE, first_row=1), 7), (sampled(first_row=1), 4)):
        view.give(data)
        heights = set()
        for row in range(rows):
            view.choose(row)
            heights.add(view.page.locator("#host").bounding_box()["height"])
        assert len(heights) == 1


def test_the_picture_of_a_step_is_saved(shown):
    view = shown(of_steps(*EXAMPLE))

    def saved(kind, step):
        with view.page.expect_download() as download:
            view.pick_entry(kind)
        assert download.value.suggested_filename == f"picture-step-{step}.{kind.lower()}"
        return Path(download.value.path()).read_bytes()

    view.choose(1)
    png = saved("PNG", 2)
    assert png.startswith(b"\x89PNG") and len(png) > 5000
    text = saved("SVG", 2).decode()
    for part in ("Step 2 of 4", "writes &lt;/s&gt;", "0.5000", "0.2500", "عالم", "other 47 tokens", "a caption"):
        assert part in text
    assert view.page.locator("img").count() == 0
    view.give(sampled())
    view.choose(0)
    svg = saved("SVG", 1).decode()
    words = " ".join(re.findall(">([^<]+)</text>", svg))
    for part in ("one 0.5000 0.7500 two 0.2500 0.2500", "strategy: sampling, top-p 0.7"):
        assert part in words
    assert "<img" not in svg
    assert view.page.locator("img").count() == 0


PAIR = ".says > div:nth-child(1) > :last-child", ".says > div:nth-child(2) > :first-child"


def test_words_stand_apart_from_bars_and_one_space_from_each_other(shown):
    view = shown(of_steps(*EXAMPLE))
    for width, data in ((380, of_steps(*EXAMPLE)), (380, sampled()), (900, of_steps(*SAMPLED)), (900, sampled())):
        view.page.set_viewport_size({"width": width, "height": 720})
        view.give(data)
        if width == 380:
            words, bar = (view.page.locator(f".rest .{part}").bounding_box() for part in ("others", "bar"))
            assert words["x"] + words["width"] <= bar["x"]
        writes, entropy = (view.page.locator(f".says > div:nth-child({n})") for n in (2, 4))
        if data == sampled() and width == 900:  # in two columns
            expect(view.page.locator(".says .comma")).to_be_hidden()
            assert abs(entropy.bounding_box()["x"] - writes.bounding_box()["x"]) < 1
        elif data != of_steps(*EXAMPLE):
            comma, word = (view.page.locator(each).bounding_box() for each in PAIR)
            assert abs(comma["y"] - word["y"]) < 2
            assert 2 <= word["x"] - comma["x"] - comma["width"] <= 5
