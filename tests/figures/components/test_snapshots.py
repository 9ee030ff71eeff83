"""What the training slider is sent is what the series has, and moving it needs no server."""

import numpy as np
import pytest
from mounted import mounted, stop_clock

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


def test_all_stand_in_the_list_the_last_is_shown_and_other_data_take_its_place(browser):
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
        shown.choose(model_snapshot=150, kind="cross", layer=0, heads="mean", t=1, i=0)
        assert page.locator(".step").text_content() == "step 10"  # from an address: the one before it
        page.locator(".stage").focus()
        shown.press("ArrowRight")
        shown.painted()
        mean = CROSS.weights[1, 0, :, 1, 1].mean(dtype=np.float64)
        assert shown.tooltip == [
            f"query 1: reads “{TARGET.tokens[1]}”, writes “{WRITES.tokens[1]}”",
            f"key 1: “{SOURCE.tokens[1]}”",
            f"weight {mean:.4f}",
            "training step 10",
        ]
        pressed = page.locator(".picks button[aria-pressed=true]").all_text_contents()
        assert pressed == ["Decoder → source", "0", "mean"]
        other = (SnapshotData(0, "x", True, False, 2.0), *SNAPSHOTS[1:])
        for _ in range(2):
            shown.give(sent(other))
            assert page.locator(".list .row").nth(1).locator(".text").text_content() == "x"
            assert page.locator(".list .row").count() == 4


def test_slider_list_and_buttons_choose_in_the_browser_and_python_hears_once_it_has_settled(browser):
    own = {"locale": "en-US"}  # a browser of its own, whose time goes on where the test says so
    with mounted(browser, "snapshots", sent(), **own) as shown:
        page = shown.page
        stop_clock(page)

        def settled():
            page.clock.run_for(2000)
            return shown.sent

        page.locator("input[type=range]").focus()
        shown.press("ArrowLeft", "ArrowLeft")
        page.clock.run_for(100)
        assert page.locator(".step").text_content() == "step 0"
        assert page.locator(".answer").text_content() == f"{MARKUP} … cut off here"
        assert shown.sent == []
        assert settled() == [{"model_snapshot": 0}]
        page.locator(".list .row").nth(2).click()
        assert settled()[1:] == [{"model_snapshot": 10}]
        page.locator(".list").focus()
        shown.press("Home")
        page.clock.run_for(100)
        assert page.locator(".step").text_content() == "step 0"
        assert "writes “<b>bold</b>" in page.locator(".list .chosen").get_attribute("aria-label")
        assert settled()[2:] == [{"model_snapshot": 0}]
        for name in ("Decoder → itself", "Layer 1", "Head 1"):
            page.get_by_role("button", name=name).click()
            page.clock.run_for(100)
        assert "Decoder → itself, layer 1, head 1" in page.locator(".stage").get_attribute("aria-label")
        assert settled()[3:] == [{"kind": "decoder", "layer": 1, "heads": [1]}]
        page.locator(".list .row").nth(3).click()
        settled()
        page.get_by_role("button", name="Play the training").click()
        page.clock.run_for(100)
        assert page.locator(".step").text_content() == "step 0"
        assert page.get_by_role("button", name="Pause").count() == 1
        assert settled()[5:] == [{"model_snapshot": 200}]
        assert page.get_by_role("button", name="Play the training").count() == 1
