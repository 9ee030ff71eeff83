"""The picture of the whole run holds what the analysis found, and plays in a browser without another number."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
from builders import tiny_checkpoint
from mounted import WRITTEN, Mounted, mounting, stop_clock
from playwright.sync_api import expect

from viz_transformer import payload, show
from viz_transformer.analysis.run.whole import whole_run
from viz_transformer.checkpoint import load
from viz_transformer.figures import details
from viz_transformer.figures import run as run_figure
from viz_transformer.figures.components.scrubber import steps_of
from viz_transformer.figures.components.whole import Names, RunText, ends_in, whole_payload
from viz_transformer.figures.details import details_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import Sampling
from viz_transformer.running.tracing import trace


@pytest.fixture(scope="module")
def numbers():
    return decode(load("numbers-any"), "29,284.30")


@pytest.fixture
def shown(browser):
    with mounting(browser, "whole", viewport={"width": 992, "height": 860}) as mount:
        yield mount


# ---- what is sent


def test_the_arrays_are_those_of_the_analysis_bit_by_bit(numbers):
    whole = whole_run(numbers.trace, head=2)
    header, arrays = payload.unpack(run_figure(numbers, head=2).data)
    for each in whole.stacks:
        for name in ("token", "position", "stream"):
            np.testing.assert_array_equal(arrays[f"{name}.{each.stack}"], getattr(each, name))
        for name in ("length", "came", "added", "share"):
            np.testing.assert_array_equal(arrays[f"{name}.{each.stack}"], getattr(each, name).astype(np.float32))
    for kind, weights in whole.weights.items():
        keys, sent, starts, rest = (arrays[f"{what}.{kind}"] for what in ("keys", "weights", "starts", "rest"))
        assert rest.shape == weights.shape[:-1]
        for n, row in enumerate(weights.reshape(-1, weights.shape[-1])):
            there = slice(int(starts[n]), int(starts[n + 1]))
            strong = row >= 0.02  # and the largest, which each of these rows has above that
            np.testing.assert_array_equal(keys[there], np.flatnonzero(strong))
            np.testing.assert_array_equal(sent[there], row[strong])
            assert rest.flat[n] == pytest.approx(row[~strong].sum(dtype=np.float64), abs=1e-7)
    assert header["head"] == 2
    assert [stack["name"] for stack in header["stacks"]] == ["encoder", "decoder"]


def alone(run) -> bytes:
    """The picture of a run as a page gets it, without its deeper levels."""
    return whole_payload(
        whole_run(run.trace),
        RunText(steps=steps_of(run), vocabulary=9, answer=run.text),
        Names(caption="", file=""),
        of=details.run_id(run.trace),
    )


def test_candidates_and_what_is_written_are_those_of_the_steps():
    run = decode(tiny_checkpoint(), "abc", strategy=Sampling(seed=3, temperature=4.0), max_steps=6)
    header, arrays = payload.unpack(run_figure(run).data)
    for step, row, written, log_probs in zip(
        run.steps, header["candidates"], header["written"], arrays["log_probs"], strict=True
    ):
        expected = [each.token for each in step.candidates[:6]]
        expected += [] if step.token in expected else [step.token]
        assert [header["tokens"][place]["text"] for place in row] == expected
        assert header["tokens"][row[written]]["text"] == step.token
        np.testing.assert_array_equal(
            log_probs[: len(row)],
            np.float32([*[each.log_prob for each in step.candidates[:6]], step.log_prob][: len(row)]),
        )


def test_the_first_picture_is_small(numbers):
    data = run_figure(numbers).data
    deeper = sum(len(values) for name, values in payload.unpack(data)[1].items() if name.startswith("detail."))
    assert len(data) - deeper <= 250_000


def test_alone_it_has_its_deeper_levels_inside():
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    figure = run_figure(run, head=1)
    _, arrays = payload.unpack(figure.data)
    inside = [arrays[f"detail.{number}"].tobytes() for number in range(len(details_of(run)))]
    assert inside == details_of(run)
    assert f"detail.{len(inside)}" not in arrays
    assert figure.chosen == {"kind": "cross", "layer": 0, "heads": [1], "t": 0}
    assert run_figure(run).chosen["heads"] == "mean"


def test_of_a_large_run_it_has_the_place_that_is_shown_first(monkeypatch):
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    monkeypatch.setattr(details, "MAX_BYTES", 1000)
    _, arrays = payload.unpack(run_figure(run, head=1).data)
    found = [payload.unpack(arrays[f"detail.{number}"].tobytes())[0] for number in (0, 1)]
    assert "detail.2" not in arrays
    assert [each["remarks"][-1] for each in found] == [details.HERE_ALONE] * 2
    assert (found[1]["kind"], found[1]["layer"], found[1]["head"]) == ("cross", 0, 1)


@pytest.mark.parametrize(
    ("text", "tokens", "ends"),
    [
        ("twenty-nine", ["twenty", "-", "nine", "</s>"], [6, 7, 11, 11]),
        ("a b a", ["a", "b", "a"], [1, 3, 5]),
        ("x", ["<unk>", "x"], [0, 1]),
        ("ab", ["b", "a"], [0, 2]),  # tokens that the text does not have in this order: the whole text at the end
        ("", ["</s>"], [0]),
        ("", [], []),
    ],
)
def test_the_answer_grows_by_what_each_token_says_in_it(text, tokens, ends):
    assert ends_in(text, tokens) == ends


def test_show_draws_the_run_and_says_what_it_cannot():
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    assert show(run, "run").data == run_figure(run).data
    assert show(run, "run", head=1).data == run_figure(run, head=1).data
    with pytest.raises(ValueError, match="there is no head 99"):
        show(run, "run", head=99)
    with pytest.raises(ValueError, match="belong to one attention"):
        show(run, "run", head="max")
    with pytest.raises(ValueError, match="a run or a trace"):
        run_figure("abc")


# ---- in a browser


SAID_OVER = """(stage, { y, step }) => {
  const { left, top, width } = stage.getBoundingClientRect()
  const said = []
  for (let x = 40; x < width; x += step) {
    const at = { clientX: left + x, clientY: top + y, pointerId: 1, bubbles: true, composed: true }
    stage.dispatchEvent(new PointerEvent("pointermove", at))
    said.push([x, stage.getRootNode().querySelector(".now").textContent])
  }
  return said
}"""
"""What is said of what stands at this height, from left to right, as the pointer goes over it."""


def painted(view: Mounted) -> bytes:
    return view.page.locator(".stage").screenshot()


def test_each_step_is_told_and_the_keys_lead_through_them(shown, numbers):
    view = shown(run_figure(numbers).data)
    now = view.page.locator(".now")
    expect(now).to_contain_text("Step 1 of 14: reads “<s>”, writes “twenty” (>99.9")
    view.page.locator(".stage").focus()
    before = painted(view)
    view.press("ArrowRight", "ArrowRight", "ArrowRight")
    expect(now).to_contain_text("Step 4 of 14: reads “nine”,")
    assert painted(view) != before
    view.hears(t=3)
    view.press("End")
    expect(now).to_contain_text("Step 14 of 14: ")
    view.press("Home", "ArrowLeft")
    expect(now).to_contain_text("Step 1 of 14: ")
    assert painted(view) == before


def test_down_and_up_tell_the_step_sub_layer_by_sub_layer(shown, numbers):
    view = shown(run_figure(numbers, head=2).data)
    now = view.page.locator(".now")
    view.choose(t=3)
    view.page.locator(".stage").focus()
    view.press("ArrowDown")
    expect(now).to_have_text("“nine” becomes a vector of 64 numbers; the vector of position 3 is added to it.")
    view.press("ArrowDown", "ArrowDown")
    weights = numbers.trace["decoder.0.cross.weights"][0, 2, 3]
    most = int(weights.argmax())
    expect(now).to_contain_text(
        f"Decoder layer 0, cross-attention, head 2: “nine” puts {100 * float(weights[most]):.1f} % of its"
        f" attention on “{numbers.trace.src.tokens[most]}”"
    )
    view.press("Escape")
    expect(now).to_contain_text("Step 4 of 14: ")


@contextmanager
def clocked(browser, data, **looks):
    """In a browser of its own, with a clock that is told to go on."""
    own = {"viewport": {"width": 992, "height": 860}, "locale": "en-US"}
    with mounting(browser, "whole", **own, **looks) as mount:
        view = mount(data)
        stop_clock(view.page)
        view.page.locator(".stage").focus()
        yield view


def test_it_plays_to_the_end_and_python_hears_of_the_last_step_alone(browser):
    with clocked(browser, run_figure(decode(tiny_checkpoint(), "abc", max_steps=2)).data) as view:
        still = painted(view)
        view.press(" ")
        view.page.clock.run_for(700)
        assert view.page.get_by_role("button", name="Pause").is_visible()
        assert painted(view) != still
        view.page.clock.run_for(20_000)
        expect(view.page.get_by_role("button", name="Play the steps")).to_be_visible()
        view.hears(t=1)


def test_without_motion_a_step_is_there_at_once(browser):
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    with clocked(browser, run_figure(run).data, reduced_motion="reduce") as view:
        still = painted(view)
        view.press(" ")
        view.page.clock.run_for(500)
        assert painted(view) == still
        seen = []
        for _ in range(20):
            view.page.clock.run_for(500)
            seen.append(view.page.locator(".now").text_content())
        assert [each[:9] for each in dict.fromkeys(seen)] == ["Step 1 of", "Step 2 of", "Step 3 of"]


def test_pointing_at_a_sub_layer_says_what_it_does(shown, numbers):
    view = shown(run_figure(numbers).data)
    said = {text for _, text in view.page.locator(".stage").evaluate(SAID_OVER, {"y": 100, "step": 12})}
    for layer in range(3):
        for what in ("self-attention, mean of 4 heads", "feed-forward"):
            assert any(text.startswith(f"Encoder layer {layer}, {what}: ") for text in said), (layer, what)


def test_what_is_pointed_at_has_its_shape_and_length_beside_it(shown, numbers):
    view = shown(run_figure(numbers).data)
    box = view.page.locator(".stage").bounding_box()
    view.page.evaluate(WRITTEN)
    length = np.linalg.norm(numbers.trace["encoder.1.residual_out"][0, 0].double().numpy())
    facts = {f"stream [{len(numbers.trace.src)}, 64]", f"length {length:.2f}"}
    said = view.page.locator(".stage").evaluate(SAID_OVER, {"y": 58, "step": 4})  # in its first row
    x = next(x for x, text in said if text.startswith("The encoder's residual stream after layer 1, at"))
    view.page.evaluate("window.written = []")
    view.page.mouse.move(box["x"] + x, box["y"] + 58)
    view.painted()
    assert facts <= set(view.page.evaluate("window.written"))
    added, came = (
        np.linalg.norm(numbers.trace[point][0, 3].double().numpy())
        for point in ("decoder.0.cross.out", "decoder.0.residual_after_self")
    )
    view.page.mouse.move(0, 0)
    view.choose(t=3)
    view.page.locator(".stage").focus()
    view.page.evaluate("window.written = []")
    view.press("ArrowDown", "ArrowDown", "ArrowDown")
    view.painted()
    tokens, keys = len(numbers.trace.tgt), len(numbers.trace.src)
    facts = [f"weights [4, {tokens}, {keys}]", f"output [{tokens}, 64]", f"adds length {added:.2f} to {came:.2f}"]
    assert set(facts) <= set(view.page.evaluate("window.written"))
    expect(view.page.locator("[aria-live]")).to_contain_text(" ".join(facts))


def test_a_click_and_enter_choose_an_attention(shown, numbers):
    view = shown(run_figure(numbers).data)
    view.choose(t=0, kind="encoder", layer=0, heads="mean", level="run")  # before that it waits for what is chosen
    stage = view.page.locator(".stage")
    stage.focus()
    still = painted(view)
    view.press("ArrowDown", "ArrowDown", "ArrowDown", "Enter")
    view.hears(kind="cross", layer=0, level="layer")
    view.press("Escape")
    view.hears(kind="cross", layer=0, level="run")
    expect(stage).to_have_attribute("data-level", "run")
    assert painted(view) != still  # the ring
    box = stage.bounding_box()
    for x in range(60, int(box["width"]) // 2, 20):
        view.page.mouse.click(box["x"] + x, box["y"] + 100)
        view.page.wait_for_timeout(20)
    found = [fields for fields in view.sent if fields.get("kind") == "encoder"]
    assert {fields["layer"] for fields in found} == {0, 1, 2}


def at_level(view: Mounted, level: str) -> None:
    """The picture is at a level, and has stopped moving."""
    expect(view.page.locator(f".stage[data-level={level}]:not([data-moving])")).to_be_visible()


def test_the_keyboard_leads_down_to_one_weight_and_back(shown, numbers):
    view = shown(run_figure(numbers, head=2).data)
    now, crumbs = view.page.locator(".now"), view.page.locator(".path button")
    row = numbers.trace["decoder.1.cross.weights"][0, 2, 0]
    key, token = int(row.argmax()), numbers.trace.src.tokens[int(row.argmax())]
    view.page.emulate_media(reduced_motion="reduce")  # that it moves there: see a double click
    view.choose(t=0, i=key, kind="cross", layer=1, heads=[2], level="run")
    view.page.locator(".stage").focus()
    for pressed, level in (("+", "layer"), ("Enter", "attention"), ("+", "weight")):
        view.press(pressed)
        at_level(view, level)
        view.hears(kind="cross", layer=1, level=level)
    expect(crumbs).to_have_text(
        ["Whole run", "Decoder layer 1", "Cross-attention, head 2", f"“<s>” takes from “{token}”"]
    )
    expect(now).to_have_text(
        re.compile(rf"Head 2: “<s>” puts {float(row[key]):.4f} of its attention on “{re.escape(token)}”, for")
    )
    told = view.page.locator("ol.unseen li").all_text_contents()
    assert len(told) == 16 + 2  # the products of each dimension, their sum, and what becomes of it
    for level in ("attention", "layer", "run"):
        view.press("Escape")
        at_level(view, level)
    expect(crumbs).to_have_text(["Whole run"])


@pytest.mark.parametrize(
    ("level", "way"),
    [
        ("layer", {"ArrowLeft": "Decoder layer 0", "ArrowRight": "Decoder layer 1"}),
        ("attention", {"ArrowDown": "Cross-attention, head 3", "ArrowLeft": "Self-attention, head 3"}),
        ("weight", {"ArrowRight": "“nine” takes from “8”", "ArrowDown": "“thousand” takes from “8”"}),
    ],
)
def test_arrows_lead_to_what_is_beside_it_at_each_level(shown, numbers, level, way):
    view = shown(run_figure(numbers, head=2).data)
    view.choose(t=3, i=4, kind="cross", layer=1, heads=[2], level=level)
    view.page.locator(".stage").focus()
    for key, name in way.items():
        view.press(key)
        expect(view.page.locator(".path button").last).to_have_text(name)


def test_a_double_click_and_the_wheel_go_in_and_out(shown, numbers):
    view = shown(run_figure(numbers, head=2).data)
    view.choose(t=3, i=4, kind="cross", layer=1, heads=[2], level="layer")
    stage = view.page.locator(".stage")
    box = stage.bounding_box()
    view.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    at_level(view, "attention")
    view.page.mouse.wheel(0, 120)
    at_level(view, "layer")
    view.page.wait_for_timeout(300)  # one turn is one level
    view.page.mouse.wheel(0, 120)
    at_level(view, "run")


def test_two_fingers_and_a_turn_with_control_go_in_and_out(browser, numbers):
    with mounting(
        browser, "whole", viewport={"width": 992, "height": 860}, has_touch=True, reduced_motion="reduce"
    ) as mount:
        view = mount(run_figure(numbers, head=2).data)
        view.choose(t=3, i=4, kind="cross", layer=1, heads=[2], level="run")
        box = view.page.locator(".stage").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        fingers = view.page.context.new_cdp_session(view.page)

        def pinch(*distances):
            for n, distance in enumerate(distances):
                points = [{"x": x - distance, "y": y, "id": 0}, {"x": x + distance, "y": y, "id": 1}]
                kind = "touchMove" if n else "touchStart"
                fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        pinch(40, 44, 48)  # not far enough
        pinch(40, 60, 90)
        at_level(view, "layer")
        pinch(90, 60, 40)
        at_level(view, "run")
        view.page.mouse.move(x, y)
        view.page.keyboard.down("Control")
        view.page.mouse.wheel(0, -10)
        at_level(view, "layer")
        view.page.wait_for_timeout(300)  # one turn is one level
        view.page.mouse.wheel(0, 10)
        at_level(view, "run")
        assert view.page.evaluate("visualViewport.scale") == 1


def test_each_level_is_saved_as_a_picture(shown, numbers, subtests):
    view = shown(run_figure(numbers, head=2).data)
    where = ["Decoder layer 1", "Cross-attention, head 2", "“nine” takes from “2”"]  # in the caption, by level
    for depth, level in enumerate(("layer", "attention", "weight"), start=1):
        with subtests.test(level=level):
            view.choose(t=3, i=4, kind="cross", layer=1, heads=[2], level=level)
            at_level(view, level)
            with view.page.expect_download() as saved:
                view.pick_entry("SVG")
            text = saved.value.path().read_text()
            assert "NaN" not in text
            assert "undefined" not in text
            caption = " ".join(re.findall(">([^<]+)</text>", text))  # in one line or more
            assert [part in caption for part in where] == [n < depth for n in range(3)]
            assert not caption.rstrip().endswith((";", "undefined"))
            if level == "weight":
                row = numbers.trace["decoder.1.cross.weights"][0, 2, 3]
                assert all(f">{float(weight):.3f}<" in text for weight in row if 0.001 <= weight < 0.999)


def test_at_rest_it_asks_for_what_one_may_look_into_and_never_once_it_is_gone(browser):
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    with clocked(browser, alone(run)) as view:
        view.page.evaluate("""() => {
          window.asked = []
          vizTransformerDetails.connect((places) => { window.asked.push(...places) })
        }""")
        asked = "window.asked.map(({ stack, kind, layer }) => `${stack ?? kind} ${layer}`)"
        view.page.evaluate("vizTransformerSelection.receive({ kind: 'cross', layer: 1, t: 1, heads: 'mean' }, '')")
        view.page.clock.run_for(500)
        assert view.page.evaluate(asked) == []
        view.page.evaluate("dispatchEvent(new PointerEvent('pointermove'))")
        view.page.clock.run_for(50)
        assert view.page.evaluate(asked) == []
        view.page.clock.run_for(650)
        assert view.page.evaluate(asked) == ["decoder 1"]
        view.page.clock.run_for(10_000)  # nobody answers: twice for each
        assert view.page.evaluate(asked)[:4] == ["decoder 1", "decoder 1", "decoder 0", "decoder 0"]
        view.page.evaluate(
            "vizTransformerSelection.receive({ kind: 'cross', layer: 1, t: 1, heads: 'mean', level: 'layer' }, '')"
        )
        view.page.clock.run_for(100)
        count = len(view.page.evaluate(asked))
        view.page.evaluate("window.remove()")
        view.page.clock.run_for(20_000)
        assert len(view.page.evaluate(asked)) == count


def test_a_model_that_writes_nothing_is_read(shown):
    view = shown(run_figure(trace(tiny_checkpoint("encoder-only"), "abc")).data)
    expect(view.page.locator(".now")).to_contain_text("more tokens are read, all at the same time; nothing is written.")
    assert view.page.locator(".player").is_hidden()
    told = view.page.locator("ol.unseen li")
    expect(told.first).to_contain_text("“<s>” becomes a vector")
    assert told.count() == 1 + 2 * 2  # the input, and two sub-layers in each of two layers
    view.page.locator(".whole .stage").focus()
    view.page.keyboard.press("ArrowRight")
    expect(told.first).to_contain_text("“a” becomes a vector")
    view.page.keyboard.press("ArrowDown")
    view.page.keyboard.press("ArrowDown")
    expect(view.page.locator(".now")).to_contain_text("Encoder layer 0, self-attention, mean of 4 heads: “a” puts")


def test_alone_on_a_page_it_is_as_high_as_it_asks_for(browser, numbers, tmp_path):
    file = tmp_path / "run.html"
    run_figure(numbers).save(file)
    page = browser.new_page()
    for height in (400, 1000):
        page.set_viewport_size({"width": 992, "height": height})
        page.goto(file.as_uri())
        page.locator(".stage[data-painted]").wait_for()
        assert 560 <= page.locator(".whole").bounding_box()["height"] <= 620
    page.close()


def test_it_is_saved_as_a_picture_and_of_one_step_it_is_said_that_it_is_the_only_one(shown):
    view = shown(run_figure(decode(tiny_checkpoint(), "abc", max_steps=1)).data)
    expect(view.page.locator(".now")).to_contain_text("Step 1 of 1: reads")
    for kind, text in (("decoder-only", "uv"), ("encoder-decoder", "abc")):
        run = decode(tiny_checkpoint(kind), text, max_steps=3)
        view.give(run_figure(run).data)
        with view.page.expect_download() as saved:
            view.pick_entry("SVG")
        svg = saved.value.path().read_text()
        assert "Ribbons: attention weights of the mean of" in svg
        assert (">the answer<" in svg) == (kind == "encoder-decoder")
        assert run.text.strip()[:1] in svg
        assert "NaN" not in svg
