"""What the rail is told, and what it does in a browser."""

import json
from itertools import combinations

from builders import tiny_config
from mounted import mounted

from viz_transformer.figures.components.model_maps import rail_data
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.model.points import attention_sites


def data(kind="encoder-decoder", **changes):
    config = tiny_config(kind, **changes)
    stacks = (("encoder", config.encoder_layers), ("decoder", config.decoder_layers))
    sites = [*attention_sites(config), *(f"{stack}.{layer}.ffn" for stack, count in stacks for layer in range(count))]
    return rail_data(spec_of(config), dict.fromkeys(sites, 0.25))


def names(shown):
    return shown.page.locator(".part .name").all_text_contents()


def selected(shown):
    return shown.page.locator(".part.selected").evaluate_all("(parts) => parts.map((part) => part.title)")


def titled(shown, title):
    return shown.page.get_by_role("button", name=title)


# ---- what it is told


def test_stacks_layers_and_parts_are_those_of_the_model():
    encoder, decoder = data()["stacks"]
    assert (encoder["name"], encoder["end"], len(encoder["layers"])) == ("encoder", "memory", 2)
    assert (decoder["name"], decoder["end"], len(decoder["layers"])) == ("decoder", "logits", 3)
    assert [node["name"] for node in decoder["layers"][1]] == ["self-attention", "cross-attention", "feed-forward"]
    assert [node["kinds"] for node in decoder["layers"][1]] == [["decoder"], ["cross"], ["decoder", "cross"]]
    assert json.loads(json.dumps(data())) == data()


def test_models_of_one_stack_end_in_logits_or_in_what_they_give_out():
    (decoder,) = data("decoder-only")["stacks"]
    assert ([len(layer) for layer in decoder["layers"]], decoder["end"]) == ([2, 2, 2], "logits")
    assert decoder["layers"][0][1]["kinds"] == decoder["final"]["kinds"] == ["decoder"]
    assert [stack["end"] for stack in data("encoder-only")["stacks"]] == ["logits"]
    assert [stack["end"] for stack in data("encoder-only", target_vocab_size=None)["stacks"]] == ["output"]


def test_norms_are_where_the_model_has_them():
    assert data()["norm"] == "pre" and data(norm="post")["norm"] == "post"
    assert data()["stacks"][0]["final"]["title"] == "final norm of the encoder"
    assert data(final_norm=False)["stacks"][0]["final"] is None


def test_a_share_that_is_no_number_is_left_out():
    config = tiny_config("decoder-only")
    sites = [f"decoder.{layer}.{part}" for layer in range(3) for part in ("self", "ffn")]
    (decoder,) = rail_data(spec_of(config), dict.fromkeys(sites, float("nan")))["stacks"]
    assert decoder["layers"][0][0]["share"] is None
    assert "not a number" in decoder["layers"][0][0]["title"]


# ---- what it does: tests/javascript/stacks.test.js has all that needs no browser


def test_every_sub_layer_is_drawn_whole_in_its_place(browser):
    with mounted(browser, "rail", data(), viewport={"width": 290, "height": 900}) as shown:
        counted = {name: names(shown).count(name) for name in dict.fromkeys(names(shown))}
        assert counted == {"self-attention": 5, "cross-attention": 3, "feed-forward": 5, "final norm": 2}
        assert [shown.page.locator(each).count() for each in (".norm", ".sum", ".memoryTip")] == [13, 13, 3]
        assert shown.page.locator(".end").all_text_contents() == ["embedding", "memory", "embedding", "logits"]
        widths = shown.page.locator(".share").evaluate_all("(bars) => bars.map((bar) => bar.style.width)")
        assert widths == ["25%"] * 13
        boxes = shown.page.locator(".part").evaluate_all(
            "(all) => all.map((part) => part.getBoundingClientRect()).map((b) => [b.left, b.top, b.right, b.bottom])"
        )
        fits = shown.page.locator(".part .name").evaluate_all(
            "(names) => names.every((name) => name.offsetWidth <= name.parentElement.clientWidth)"
        )
        assert fits and all(right <= 290 for _, _, right, _ in boxes)
        for one, other in combinations(boxes, 2):
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        for norm, above in (("pre", True), ("post", False)):
            shown.give(data("decoder-only", norm=norm, final_norm=False))
            assert names(shown) == ["self-attention", "feed-forward"] * 3
            assert shown.page.locator(".norm.onLine").count() == (0 if above else 6)
            assert shown.page.locator(".memory").count() == 0
            box, place, line = (shown.page.locator(each).first.bounding_box() for each in (".part", ".norm", ".stream"))
            assert (place["y"] < box["y"]) is above
            assert (place["x"] <= line["x"] <= place["x"] + place["width"]) is not above


def test_clicks_and_keys_choose_and_the_same_data_keep_the_focus(browser):
    with mounted(browser, "rail", data()) as shown:
        focused = shown.page.locator(".part:focus")
        shown.choose(kind="decoder", layer=2, part="ffn")
        assert selected(shown) == ["decoder layer 2, feed-forward: mean share added 0.250"]
        shown.choose(kind="cross", layer=1, part="attention")
        assert selected(shown) == ["decoder layer 1, cross-attention: mean share added 0.250"]
        titled(shown, "encoder layer 0, feed-forward").click()
        assert shown.heard() == [{"kind": "encoder", "layer": 0, "part": "ffn"}]
        assert selected(shown) == ["encoder layer 0, feed-forward: mean share added 0.250"]
        shown.press("ArrowRight", "Home", "ArrowDown", "ArrowDown")
        assert selected(shown)[0].startswith("decoder layer 0, feed-forward")
        shown.press("End", "ArrowDown")
        assert selected(shown) == ["final norm of the decoder"] == [focused.get_attribute("title")]
        titled(shown, "decoder layer 2, feed-forward").click()
        shown.give(data())
        assert focused.get_attribute("title").startswith("decoder layer 2, feed-forward")
        shown.give(data("decoder-only"))
        assert len(names(shown)) == 7
        shown.page.evaluate("window.remove()")
        assert shown.page.locator(".part").count() == 0
