"""The drawing has this model's parts, in its order, with its sizes."""

from itertools import pairwise

import pytest
from builders import tiny_config

from viz_transformer.analysis.models.parameters import parameter_blocks
from viz_transformer.figures.architecture import architecture, norm_places
from viz_transformer.model.config import base, tutorial

SMALL = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 8, "n_heads": 2, "d_ff": 12}
CONFIGS = {
    "pre": tiny_config(),
    "post": tiny_config(norm="post", final_norm=False),
    "decoder-only": tiny_config("decoder-only", tied_output=True),
    "encoder-only": tiny_config("encoder-only"),
    "encoder without logits": tiny_config("encoder-only", target_vocab_size=None, positions="none"),
    "slips": tutorial("en-it", source_vocab_size=9, target_vocab_size=9, pad_to=9, **SMALL),
    "annotated": tutorial("annotated", source_vocab_size=9, target_vocab_size=9, **SMALL),
    "learned": tutorial("tutorial6"),
    "paper": base(),
}


def parts(drawing):
    return {box.part: box for box in drawing.boxes}


@pytest.mark.parametrize("name", CONFIGS)
def test_everything_lies_inside_and_no_box_covers_another(name):
    drawing = architecture(CONFIGS[name])
    for box in drawing.boxes:
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= drawing.width and box.y + box.height <= drawing.height
    for one in drawing.boxes:
        for other in drawing.boxes:
            apart = (
                one.x + one.width <= other.x
                or other.x + other.width <= one.x
                or one.y + one.height <= other.y
                or other.y + other.height <= one.y
            )
            assert one is other or apart, (one.part, other.part)
    for line in drawing.lines:
        assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in line.points)
        assert all(x0 == x1 or y0 == y1 for (x0, y0), (x1, y1) in pairwise(line.points))  # no slanted lines
    assert all(0 < text.y < drawing.height for text in drawing.texts)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_block_of_parameters_has_a_box_that_says_how_many(name):
    config = CONFIGS[name]
    boxes = parts(architecture(config))
    for block in parameter_blocks(config):
        if ".0." not in block.name and "." in block.name:
            continue  # one layer is drawn
        assert block.name in boxes
        said = boxes[block.name].tip
        assert (f"{block.count:,} parameters" in said) if block.count else ("no parameters of its own" in said)


def order(config, stack):
    """The parts of a stack from the bottom up, by the middle of their boxes."""
    boxes = [box for box in architecture(config).boxes if box.part.startswith(stack)]
    return [box.part for box in sorted(boxes, key=lambda box: -box.y)]


def test_in_pre_norm_the_norm_stands_before_its_sub_layer():
    assert order(CONFIGS["pre"], "decoder") == [
        "decoder embedding",
        "decoder.0.self norm",
        "decoder.0.self",
        "decoder.0.cross norm",
        "decoder.0.cross",
        "decoder.0.ffn norm",
        "decoder.0.ffn",
        "decoder final norm",
    ]


def test_in_post_norm_it_stands_behind_and_without_a_final_norm_there_is_none():
    assert order(CONFIGS["post"], "encoder") == [
        "encoder embedding",
        "encoder.0.self",
        "encoder.0.self norm",
        "encoder.0.ffn",
        "encoder.0.ffn norm",
    ]


def test_a_decoder_alone_reads_no_memory():
    drawing = architecture(CONFIGS["decoder-only"])
    assert not [box for box in drawing.boxes if "cross" in box.part or "encoder" in box.part]
    assert not [text for text in drawing.texts if "memory" in text.text or text.text == "K, V"]
    assert parts(drawing)["output"].detail == "tied to the embedding"


def test_sizes_are_the_configs_own():
    drawing = architecture(CONFIGS["pre"])
    boxes = parts(drawing)
    assert boxes["encoder embedding"].detail == "12 × 16, times √16"
    assert boxes["encoder.0.self"].detail == "4 heads × 4"
    assert boxes["decoder.0.ffn"].detail == "16 → 24 → 16, relu"
    assert boxes["output"].detail == "16 × 20"
    texts = [text.text for text in drawing.texts]
    assert "2 ×" in texts and "3 ×" in texts and "20 probabilities" in texts
    assert "source ids, at most 20" in texts and "target ids, at most 24" in texts


def test_what_is_unusual_is_written_on_its_box():
    boxes = parts(architecture(CONFIGS["slips"]))
    assert boxes["decoder.0.cross"].detail == "2 heads × 4, raw merge"
    assert boxes["decoder.0.cross norm"].label == "Norm over positions too"
    assert boxes["encoder embedding"].detail == "9 × 8"  # scaled by 1
    annotated = parts(architecture(CONFIGS["annotated"]))
    assert annotated["encoder final norm"].label == "Norm of torch"
    assert annotated["decoder final norm"].label == "Norm (Bessel)"


@pytest.mark.parametrize(
    ("positions", "words"),
    [("learned", ["learned", "positions"]), ("sinusoidal-doubled", ["doubled", "sines"]), ("none", [])],
)
def test_positions_are_named_or_missing(positions, words):
    drawing = architecture(tiny_config(positions=positions))
    texts = [text.text for text in drawing.texts]
    assert all(texts.count(word) == 2 for word in words)
    sums = 2 + 3  # one layer of the encoder and one of the decoder
    assert len(drawing.signs) == sums + 2 * (positions != "none")


def test_both_places_of_a_norm_are_drawn_and_the_models_own_is_named():
    for norm in ("pre", "post"):
        drawing = norm_places(tiny_config(norm=norm))
        strong = [text.text for text in drawing.texts if text.strong]
        assert len(strong) == 1 and strong[0].startswith(f"{norm}-norm, as here")
        assert {text.text.split(",")[0].split(":")[0] for text in drawing.texts} >= {"pre-norm", "post-norm"}
        assert len([box for box in drawing.boxes if box.fill == "norm"]) == 2
