"""What the rail is told, and what it does in a browser."""

import json

import pytest
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


# ---- what it does


def test_the_rail_draws_every_sub_layer_once_with_its_norm(browser):
    with mounted(browser, "rail", data()) as shown:
        assert names(shown).count("self-attention") == 5
        assert names(shown).count("cross-attention") == 3
        assert names(shown).count("feed-forward") == 5
        assert names(shown).count("final norm") == 2
        assert shown.page.locator(".norm").count() == 13
        assert shown.page.locator(".sum").count() == 13
        assert shown.page.locator(".end").all_text_contents() == ["embedding", "memory", "embedding", "logits"]
        assert shown.page.locator(".memoryTip").count() == 3
        shown.give(data("decoder-only", norm="post", final_norm=False))
        assert names(shown) == ["self-attention", "feed-forward"] * 3
        assert shown.page.locator(".norm.onLine").count() == 6
        assert shown.page.locator(".memory").count() == 0


def test_a_pre_norm_stands_above_its_box_and_a_post_norm_on_the_line_below_it(browser):
    for norm, above in (("pre", True), ("post", False)):
        with mounted(browser, "rail", data("decoder-only", norm=norm)) as shown:
            box = shown.page.locator(".part").first.bounding_box()
            place = shown.page.locator(".norm").first.bounding_box()
            line = shown.page.locator(".stream").first.bounding_box()
            assert (place["y"] < box["y"]) is above
            assert (place["x"] <= line["x"] <= place["x"] + place["width"]) is not above


def test_nothing_is_cut_off_or_overlaps(browser):
    with mounted(browser, "rail", data(), viewport={"width": 290, "height": 900}) as shown:
        boxes = shown.page.locator(".part").evaluate_all(
            "(all) => all.map((part) => part.getBoundingClientRect()).map((b) => [b.left, b.top, b.right, b.bottom])"
        )
        fits = shown.page.locator(".part .name").evaluate_all(
            "(names) => names.every((name) => name.offsetWidth <= name.parentElement.clientWidth)"
        )
        assert fits and all(right <= 290 for _, _, right, _ in boxes)
        for n, one in enumerate(boxes):
            for other in boxes[n + 1 :]:
                assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_a_click_selects_kind_layer_and_part(browser):
    with mounted(browser, "rail", data()) as shown:
        shown.choose(kind="cross", layer=1, part="attention")
        assert selected(shown) == ["decoder layer 1, cross-attention: mean share added 0.250"]
        titled(shown, "encoder layer 0, feed-forward").click()
        assert shown.heard() == [{"kind": "encoder", "layer": 0, "part": "ffn"}]
        assert selected(shown) == ["encoder layer 0, feed-forward: mean share added 0.250"]
        titled(shown, "final norm of the decoder").click()
        assert shown.heard(2)[1] == {"kind": "decoder", "part": "final"}  # the layer stays that of before


def test_a_feed_forward_of_the_decoder_leaves_cross_attention_the_kind(browser):
    with mounted(browser, "rail", data()) as shown:
        shown.choose(kind="cross", layer=1, part="attention")
        titled(shown, "decoder layer 2, feed-forward").click()
        assert shown.heard() == [{"kind": "cross", "layer": 2, "part": "ffn"}]
        shown.choose(kind="decoder", layer=2, part="ffn")
        assert selected(shown) == ["decoder layer 2, feed-forward: mean share added 0.250"]


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only"])
def test_the_arrow_keys_walk_along_the_stream(browser, kind):
    with mounted(browser, "rail", data(kind)) as shown:
        shown.choose(kind="decoder", layer=0, part="attention")
        shown.press("Tab", "ArrowDown", "ArrowDown")
        expected = "decoder layer 0, feed-forward" if kind != "decoder-only" else "decoder layer 1, self-attention"
        assert selected(shown)[0].startswith(expected)
        shown.press("Home", "ArrowUp")
        assert selected(shown)[0].startswith("decoder layer 0, self-attention")
        shown.press("End", "ArrowDown")
        assert selected(shown) == ["final norm of the decoder"]
        assert shown.page.locator(".part:focus").get_attribute("title") == "final norm of the decoder"
        if kind == "encoder-decoder":
            shown.press("Home", "ArrowLeft")
            assert selected(shown)[0].startswith("encoder layer 0, self-attention")
            shown.press("ArrowRight")
            assert selected(shown)[0].startswith("decoder layer 0, self-attention")


def test_the_bar_is_as_wide_as_the_share(browser):
    with mounted(browser, "rail", data()) as shown:
        widths = shown.page.locator(".share").evaluate_all("(bars) => bars.map((bar) => bar.style.width)")
        assert widths == ["25%"] * 13


def test_the_same_data_keep_the_focus_and_new_data_draw_anew(browser):
    with mounted(browser, "rail", data()) as shown:
        titled(shown, "decoder layer 2, feed-forward").click()
        shown.give(data())
        assert shown.page.locator(".part:focus").get_attribute("title").startswith("decoder layer 2, feed-forward")
        shown.give(data("decoder-only"))
        assert len(names(shown)) == 7
        shown.page.evaluate("window.remove()")
        assert shown.page.locator(".part").count() == 0
