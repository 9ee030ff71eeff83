"""What the training slider is sent is what the series has, and moving it needs no server."""

import numpy as np
import pytest
from mounted import mounted

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.figures.components.snapshots import MapsOfKind, SnapshotData, snapshots_payload

MARKUP = "<b>bold</b> & <img src=x onerror=alert(1)>"
SOURCE = Texts(("<s>", "b", "a", "</s>"), special={0, 3})
TARGET = Texts(("<s>", "b", "a"), special={0})
WRITES = Texts(("b", "a", "</s>"), special={2})
SNAPSHOTS = (
    SnapshotData(0, MARKUP, complete=False, right=False, loss=3.4622),
    SnapshotData(10, "ab", complete=True, right=False, loss=0.69070),
    SnapshotData(200, "ba", complete=True, right=True, loss=2.5e-6),
)


def maps_of(kind, rows, columns, writes=None, seed=0, **changes):
    """Three snapshots of two layers with two heads; rows sum to 1 over the allowed keys."""
    generator = np.random.default_rng(seed)
    weights = generator.random((3, 2, 2, len(rows), len(columns)), dtype=np.float32)
    mask = (
        np.tri(len(rows), len(columns), dtype=bool) if kind == "decoder" else np.ones((len(rows), len(columns)), bool)
    )
    weights = np.where(mask, weights, 0)
    weights /= weights.sum(-1, keepdims=True)
    side = {"encoder": ("i", "j"), "decoder": ("t", "u"), "cross": ("t", "i")}[kind]
    down, along = ("source", "source") if kind == "encoder" else ("target", "target" if kind == "decoder" else "source")
    return MapsOfKind(
        **{
            "kind": kind,
            "name": {"cross": "Decoder → source", "decoder": "Decoder → itself", "encoder": "Source → itself"}[kind],
            "weights": weights.astype(np.float32),
            "mask": mask,
            "axes": (
                Axis(side[0], "query", "reads", down, rows, writes=writes),
                Axis(side[1], "key", "keys", along, columns),
            ),
            **changes,
        }
    )


CROSS = maps_of("cross", TARGET, SOURCE, WRITES)
DECODER = maps_of("decoder", TARGET, TARGET, WRITES, seed=1)


def sent(snapshots=SNAPSHOTS, maps=(CROSS, DECODER)):
    return snapshots_payload(snapshots, maps, caption="a caption", name="picture")


# ---- what is sent


def test_all_snapshots_are_sent_bit_by_bit():
    header, arrays = payload.unpack(sent())
    assert [each["step"] for each in header["snapshots"]] == [0, 10, 200]
    assert np.array_equal(arrays["losses"], np.float32([3.4622, 0.6907, 2.5e-6]))
    assert np.array_equal(arrays["maps_0"], CROSS.weights) and np.array_equal(arrays["maps_1"], DECODER.weights)
    assert "mask_0" not in arrays
    assert np.array_equal(arrays["mask_1"], DECODER.mask)
    assert [each["kind"] for each in header["kinds"]] == ["cross", "decoder"]
    assert header["kinds"][0]["writes"] == WRITES.data()


def test_texts_are_visible_keep_their_blanks_and_have_an_end():
    text = "a b\n" + 500 * "x"
    header, _ = payload.unpack(sent((SnapshotData(0, text, True, False, 1.0), *SNAPSHOTS[1:])))
    shown = header["snapshots"][0]["text"]
    assert shown.startswith("a b↵xx") and shown.endswith("…") and len(shown) == 400


def test_many_weights_are_sent_in_16_bits(monkeypatch):
    monkeypatch.setattr("viz_transformer.figures.components.snapshots.MAX_EXACT", 10)
    header, arrays = payload.unpack(sent())
    assert np.abs(arrays["maps_0"] - CROSS.weights).max() < 1.6e-5
    raw = sent()
    assert b"sqrt-uint16" in raw
    assert header["kinds"][1]["kind"] == "decoder"


@pytest.mark.parametrize(
    ("snapshots", "maps", "sentence"),
    [
        ((), (CROSS,), "no snapshot"),
        (SNAPSHOTS, (), "no snapshot"),
        (SNAPSHOTS[::-1], (CROSS,), "do not go up"),
        (SNAPSHOTS[:2], (CROSS,), "do not fit 2 snapshots"),
        (SNAPSHOTS, (maps_of("cross", TARGET, SOURCE, mask=np.ones((2, 2), bool)),), "does not have the shape"),
    ],
)
def test_what_does_not_fit_is_refused(snapshots, maps, sentence):
    with pytest.raises(ValueError, match=sentence):
        sent(snapshots, maps)


# ---- in a browser


def test_the_last_snapshot_is_shown_first_and_all_stand_in_the_list(browser):
    with mounted(browser, "snapshots", sent()) as shown:
        page = shown.page
        assert page.locator(".step").text_content() == "step 200"
        assert page.locator(".answer bdi").text_content() == "ba"
        rows = page.locator(".list .row:not(.heading)")
        assert rows.locator(".at").all_text_contents() == ["0", "10", "200"]
        assert rows.locator(".loss").all_text_contents() == ["3.4622", "0.6907", "<0.0001"]
        assert rows.locator(".mark").all_text_contents() == ["", "", "✓"]
        assert rows.nth(0).locator(".text").text_content() == f"{MARKUP} …"
        assert page.locator(".list b, .list img").count() == 0
        assert rows.nth(2).get_attribute("aria-selected") == "true"


def test_the_slider_moves_in_the_browser_and_python_hears_of_it_once(browser):
    with mounted(browser, "snapshots", sent()) as shown:
        page = shown.page
        page.locator("input[type=range]").focus()
        shown.press("ArrowLeft", "ArrowLeft")
        shown.painted()
        assert page.locator(".step").text_content() == "step 0"
        assert page.locator(".answer").text_content() == f"{MARKUP} … cut off here"
        assert page.evaluate("window.sent") == []  # not before it has settled
        assert shown.heard() == [{"model_snapshot": 0}]


def test_a_row_and_the_keys_of_the_list_choose_a_snapshot(browser):
    with mounted(browser, "snapshots", sent()) as shown:
        shown.page.locator(".list .row").nth(2).click()
        assert shown.heard(1) == [{"model_snapshot": 10}]
        shown.page.locator(".list").focus()
        shown.press("Home")
        shown.painted()
        assert shown.page.locator(".step").text_content() == "step 0"
        assert "writes “<b>bold</b>" in shown.page.locator(".list .chosen").get_attribute("aria-label")
        assert shown.heard(2)[-1] == {"model_snapshot": 0}


def test_a_step_from_the_address_is_found_or_the_one_before_it(browser):
    with mounted(browser, "snapshots", sent()) as shown:
        for wanted, step in ((10, 10), (150, 10), (10_000, 200), (0, 0)):
            shown.choose(model_snapshot=wanted, kind="cross", layer=0, heads=[0])
            assert shown.page.locator(".step").text_content() == f"step {step}"


def said_of(browser, r, c, **chosen):
    """What the tooltip says of a cell, reached by keyboard from the one on its left or right."""
    with mounted(browser, "snapshots", sent()) as shown:
        key, before = ("ArrowRight", c - 1) if c else ("ArrowLeft", 1)
        shown.choose(**chosen, t=r, i=before, u=before)
        shown.page.locator(".stage").focus()
        shown.press(key)
        shown.painted()
        return shown.tooltip, shown.page.locator(".picks button[aria-pressed=true]").all_text_contents()


@pytest.mark.parametrize(("snapshot", "layer", "head", "r", "c"), [(0, 0, 0, 0, 1), (2, 1, 1, 2, 2), (1, 0, 1, 1, 0)])
def test_any_heads_map_is_that_of_the_snapshot(browser, snapshot, layer, head, r, c):
    step = SNAPSHOTS[snapshot].step
    said, picks = said_of(browser, r, c, model_snapshot=step, kind="cross", layer=layer, heads=[head])
    assert said == [
        f"query {r}: reads “{TARGET.tokens[r]}”, writes “{WRITES.tokens[r]}”",
        f"key {c}: “{SOURCE.tokens[c]}”",
        f"weight {CROSS.weights[snapshot, layer, head, r, c]:.4f}",
        f"training step {step}",
    ]
    assert picks == ["Decoder → source", str(layer), str(head)]


def test_the_mean_of_all_heads_is_said_to_be_one(browser):
    said, picks = said_of(browser, 1, 1, model_snapshot=0, kind="cross", layer=0, heads="mean")
    assert said[2] == f"weight {CROSS.weights[0, 0, :, 1, 1].mean(dtype=np.float64):.4f}"
    assert picks == ["Decoder → source", "0", "mean"]


def test_a_masked_cell_is_said_to_be_masked(browser):
    said, _ = said_of(browser, 0, 2, model_snapshot=0, kind="decoder", layer=0, heads=[0])
    assert said[2] == "masked, weight 0.0000"


def test_kind_layer_and_head_are_picked_in_the_browser(browser):
    with mounted(browser, "snapshots", sent()) as shown:
        shown.choose(kind="cross", layer=0, heads=[0])
        shown.page.get_by_role("button", name="Decoder → itself").click()
        shown.page.get_by_role("button", name="Layer 1").click()
        shown.page.get_by_role("button", name="Head 1").click()
        shown.painted()
        assert "Decoder → itself, layer 1, head 1" in shown.page.locator(".stage").get_attribute("aria-label")
        assert shown.heard() == [{"kind": "decoder", "layer": 1, "heads": [1]}]


def test_playing_goes_from_the_first_to_the_last_and_python_hears_the_last_only(browser):
    with mounted(browser, "snapshots", sent()) as shown:
        shown.page.get_by_role("button", name="Play the training").click()
        shown.painted()
        assert shown.page.locator(".step").text_content() == "step 0"
        assert shown.page.get_by_role("button", name="Pause").count() == 1
        assert shown.heard() == [{"model_snapshot": 200}]
        assert shown.page.get_by_role("button", name="Play the training").count() == 1


def test_new_data_of_another_sentence_takes_the_place_of_the_old(browser):
    with mounted(browser, "snapshots", sent()) as shown:
        other = (SnapshotData(0, "x", True, False, 2.0), *SNAPSHOTS[1:])
        shown.give(sent(other))
        assert shown.page.locator(".list .row").nth(1).locator(".text").text_content() == "x"
        shown.give(sent(other))
        assert shown.page.locator(".list .row").count() == 4
