"""What the locator is told of a model, and what it does in a browser."""

import foreign
import pytest
from builders import tiny_config
from mounted import mounted
from watched import watched_trace

from viz_transformer.figures.components.model_maps import locator_data
from viz_transformer.model.hooked_model import spec_of

CHOSEN = {"kind": "cross", "layer": 1, "part": "attention", "point": "", "heads": (0,), "text": "abc"}


def data(kind="encoder-decoder", looks="kind", **changes):
    return locator_data(spec_of(tiny_config(kind, **changes)), looks, CHOSEN)


def parts(stack):
    return [part["part"] for part in stack["parts"]]


# ---- what it is told


def test_stacks_and_the_parts_of_their_layers_are_those_of_the_model():
    encoder, decoder = data()["stacks"]
    assert (encoder["name"], encoder["side"], encoder["layers"], parts(encoder)) == (
        "encoder",
        "source",
        2,
        ["self", "ffn"],
    )
    assert (decoder["name"], decoder["side"], decoder["layers"], parts(decoder)) == (
        "decoder",
        "target",
        3,
        ["self", "cross", "ffn"],
    )
    assert [part.get("kind") for part in decoder["parts"]] == ["decoder", "cross", None]
    (alone,) = data("decoder-only")["stacks"]
    assert (alone["name"], parts(alone)) == ("decoder", ["self", "ffn"])
    assert [stack["name"] for stack in data("encoder-only")["stacks"]] == ["encoder"]


def test_the_last_stack_has_an_output_where_the_model_has_one_and_all_have_a_final_norm_or_none():
    assert [(stack["final"], stack["output"]) for stack in data()["stacks"]] == [(True, False), (True, True)]
    assert [stack["final"] for stack in data(final_norm=False)["stacks"]] == [False, False]
    assert data("encoder-only")["stacks"][0]["output"] is True
    assert data("encoder-only", target_vocab_size=None)["stacks"][0]["output"] is False


def test_a_recording_has_the_attentions_that_were_recorded_and_another_program_s_model_its_layers():
    encoder, decoder = locator_data(watched_trace(name="mine").spec, "kind", CHOSEN)["stacks"]
    assert (parts(encoder), parts(decoder)) == (["self"], ["self", "cross"])
    assert not any(stack["final"] or stack["output"] for stack in (encoder, decoder))
    (stack,) = locator_data(foreign.SPEC, "kind", CHOSEN)["stacks"]
    assert (stack["layers"], parts(stack), stack["final"], stack["output"]) == (2, ["self", "ffn"], True, True)


@pytest.mark.parametrize(
    ("looks", "fields"),
    [("kind", {"kind", "layer"}), ("part", {"part", "kind", "layer"}), ("output", {"kind", "layer"})],
)
def test_of_the_selection_it_is_told_what_says_where_the_page_looks(looks, fields):
    assert data(looks=looks)["chosen"].keys() == fields


# ---- what it does


def marked(shown):
    return shown.page.locator("[aria-current=location]").evaluate_all("(all) => all.map((each) => each.title)")


def titled(shown, title):
    return shown.page.get_by_role("button", name=title, exact=True)


def focused(shown):
    return shown.page.locator(".block:focus").get_attribute("title")


def words(shown):
    return shown.page.locator(".words").text_content()


def test_pointer_keys_and_the_selection_mark_a_part_which_is_said_in_words(browser):
    with mounted(browser, "locator", data()) as shown:
        cross, attention = "decoder layer 1, cross-attention", "decoder layer 0, self-attention"
        assert shown.page.get_by_role("toolbar", name="Map of the model").count() == 1
        assert marked(shown) == [words(shown)] == [cross]  # before the page has said what is chosen
        shown.give(data(looks=""))
        assert marked(shown) == [] and words(shown) == "" and shown.page.locator(".ring").is_hidden()
        shown.choose(kind="cross", layer=2, point="decoder.2.residual_in")
        shown.give(data(looks="point"))
        assert len(marked(shown)) == 3 and words(shown) == "decoder layer 2"
        shown.give(data("decoder-only"))
        assert marked(shown) == [] and shown.page.locator(".block").count() == 9
        shown.give(data())
        shown.choose(kind="cross", layer=1)
        stops = shown.page.locator(".block[tabindex='0']")
        assert stops.count() == 1
        shown.press("Tab")
        assert focused(shown) == cross
        outline = shown.page.locator(".block:focus").evaluate("(block) => getComputedStyle(block).outline")
        assert "solid 2px" in outline
        shown.give(data(looks="part"))
        assert focused(shown) == cross  # of the same model
        shown.give(data())
        shown.press("ArrowUp", "ArrowUp")
        assert focused(shown) == words(shown) == "decoder layer 0, feed-forward"
        assert marked(shown) == [cross]  # arrows look around, nothing is chosen yet
        shown.press("ArrowLeft", "Home")
        assert focused(shown) == "input of the encoder" and stops.count() == 1
        shown.press("ArrowDown", "Enter")
        assert shown.heard() == [{"kind": "encoder", "layer": 0}]
        shown.press("Tab")
        assert shown.page.locator(".block:focus").count() == 0
        assert marked(shown) == [words(shown)] == ["encoder layer 0, self-attention"]
        ring, block = (shown.page.locator(part).bounding_box() for part in (".ring", "[aria-current]"))
        assert ring == block
        titled(shown, attention).hover()
        assert words(shown) == attention
        titled(shown, attention).click()
        assert shown.heard(2)[1] == {"kind": "decoder", "layer": 0}
        shown.page.mouse.move(400, 400)
        assert marked(shown) == [words(shown)] == [attention]
        shown.page.evaluate("window.remove()")
        assert shown.page.locator(".block").count() == 0
