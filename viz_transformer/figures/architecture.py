"""A model as the paper draws one: boxes from bottom to top, with this model's own sizes and its norms where they are.

Config -> `Drawing`, a list of boxes, lines, signs and texts in pixels; a component paints it. After figure 1 of Vaswani
et al. (2017), drawn anew. Nothing in it is a picture from elsewhere, and no number is one of another model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from viz_transformer.analysis.models.parameters import Block, parameter_blocks
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import SIDE_OF, StackName, attentions_of, stacks_of

Fill = Literal["encoder", "decoder", "cross", "plain", "norm"]
Ink = Literal["text", "muted", "source-ink", "target-ink", "cross-ink"]
Align = Literal["left", "center", "right"]
Point = tuple[float, float]

WIDTH = 648
BOX, INSET, TALL, LOW, SIGN, GAP, FORK = 196, 18, 44, 22, 9, 12, 6
"""Width of a box, how much a norm is inset, heights of a sub-layer and of a norm, radius of a sum, the space between
two boxes, and where in it a stream forks."""
_WORDS = {
    "layer": "Norm",
    "bessel": "Norm (Bessel)",
    "positions-and-features": "Norm over positions too",
}


@dataclass(frozen=True)
class Box:
    """A rectangle with a name, a line of sizes under it, and what a tooltip says. `part` names what it stands for."""

    part: str
    x: float
    y: float
    width: float
    height: float
    label: str
    detail: str
    fill: Fill
    tip: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A line through points, with an arrow at its end or without."""

    points: tuple[Point, ...]
    arrow: bool = True


@dataclass(frozen=True)
class Sign:
    """A sum of two streams: a circle with a plus."""

    x: float
    y: float


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    text: str
    align: Align = "center"
    ink: Ink = "muted"
    strong: bool = False


@dataclass(frozen=True)
class Frame:
    """What is repeated, as often as its text says."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Drawing:
    """All of it, y from the top down."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    signs: tuple[Sign, ...]
    texts: tuple[Text, ...]
    frames: tuple[Frame, ...]
    label: str


def architecture(config: ModelConfig) -> Drawing:
    """The whole model: encoder left, decoder right, one layer of each with its number of repetitions."""
    blocks = {block.name: block for block in parameter_blocks(config)}
    pen = _Pen(config, blocks)
    both = config.kind == "encoder-decoder"
    columns: dict[str, float] = {"encoder": 172.0, "decoder": 470.0} if both else {}
    if config.has_encoder:
        pen.stack("encoder", columns.get("encoder", WIDTH / 2))
    if config.has_decoder:
        pen.stack("decoder", columns.get("decoder", WIDTH / 2))
    last = "decoder" if config.has_decoder else "encoder"
    pen.output(last, columns.get(last, WIDTH / 2))
    if both:
        pen.memory(columns["encoder"], columns["decoder"])
    return pen.finished(_spoken(config))


def norm_places(config: ModelConfig) -> Drawing:
    """One sub-layer with the norm before it and one with the norm behind, side by side; the model's own is named."""
    pen = _Pen(config, {})
    for norm, x in (("pre", 160.0), ("post", 484.0)):
        start = pen.bottom
        own = ", as here" if norm == config.norm else ""
        formula = "x + f(norm(x))" if norm == "pre" else "norm(x + f(x))"
        top = pen.sublayer(x, start - 26, "sub-layer", "attention or feed-forward", "plain", norm, (), "f", ())
        pen.line((x, start - 2), (x, start - 26), arrow=False)
        pen.line((x, top), (x, top - 14))
        pen.text(x, start + 12, "the stream, x")
        pen.text(x, top - 26, f"{norm}-norm{own}: {formula}", ink="text", strong=norm == config.norm)
    return pen.finished("Where the norm stands: before the sub-layer in pre-norm, behind the sum in post-norm")


class _Pen:
    """Collects what is drawn, upwards from y = 0; `finished` turns it into pixels from the top."""

    bottom = 0.0

    def __init__(self, config: ModelConfig, blocks: dict[str, Block]) -> None:
        self.config = config
        self.blocks = blocks
        self.boxes: list[Box] = []
        self.lines: list[Line] = []
        self.signs: list[Sign] = []
        self.texts: list[Text] = []
        self.frames: list[Frame] = []
        self.top: dict[str, float] = {}
        self.cross = 0.0  # the middle of the box that reads the memory

    # -- single things

    def box(
        self, part: str, x: float, y: float, height: float, label: str, detail: str, fill: Fill, tip: Sequence[str]
    ) -> float:
        """A box whose lower edge is at y, around x; the y of its upper edge."""
        width = BOX - 2 * INSET if fill == "norm" else BOX
        self.boxes.append(Box(part, x - width / 2, y - height, width, height, label, detail, fill, tuple(tip)))
        return y - height

    def above(
        self, part: str, x: float, y: float, height: float, label: str, detail: str, fill: Fill, tip: Sequence[str]
    ) -> float:
        """A box over y, with an arrow into it; the y of its upper edge."""
        upper = self.box(part, x, y - GAP, height, label, detail, fill, tip)
        self.line((x, y), (x, y - GAP))
        return upper

    def line(self, *points: Point, arrow: bool = True) -> None:
        self.lines.append(Line(points, arrow))

    def text(
        self, x: float, y: float, text: str, *, align: Align = "center", ink: Ink = "muted", strong: bool = False
    ) -> None:
        self.texts.append(Text(x, y, text, align, ink, strong))

    # -- parts of a model

    def sublayer(
        self,
        x: float,
        y: float,
        label: str,
        detail: str,
        fill: Fill,
        norm: str,
        tip: Sequence[str],
        part: str,
        norm_tip: Sequence[str],
    ) -> float:
        """A sub-layer in its place in the stream, which enters at y; the y at which it leaves."""
        word = _WORDS[self.config.norm_kind]
        side = x + BOX / 2 + 14  # the way around it
        below = y - FORK
        self.line((x, y), (x, below), arrow=False)
        y = below
        if norm == "pre":
            y = self.above(f"{part} norm", x, y, LOW, word, "", "norm", norm_tip)
        upper = self.above(part, x, y, TALL, label, detail, fill, tip)
        middle = upper - GAP - SIGN
        self.signs.append(Sign(x, middle))
        self.line((x, upper), (x, middle + SIGN))
        self.line((x, below), (side, below), (side, middle), (x + SIGN, middle))
        y = middle - SIGN
        return self.above(f"{part} norm", x, y, LOW, word, "", "norm", norm_tip) if norm == "post" else y

    def stack(self, stack: StackName, x: float) -> None:
        config = self.config
        side = SIDE_OF[stack]
        ink: Ink = side.of("source-ink", "target-ink")
        y = self.bottom
        self.text(x, y, f"{side.name} ids, at most {side.most(config):,}", ink=ink)
        y -= 14
        upper = self.box(
            f"{stack} embedding",
            x,
            y - GAP,
            TALL,
            "Embedding",
            f"{side.vocab_size(config):,} × {config.d_model}{_scaled(config)}",
            "plain",
            self.tip(f"{stack} embedding", "Embedding of the tokens"),
        )
        self.line((x, y), (x, y - GAP))
        y = upper
        if config.encoding.adds:
            middle = y - GAP - SIGN
            self.signs.append(Sign(x, middle))
            self.line((x, y), (x, middle + SIGN))
            away = x - BOX / 2 - 4
            self.line((away, middle), (x - SIGN, middle))
            for row, word in enumerate(config.encoding.box):
                self.text(away - 4, middle - 8 + 16 * row, word, align="right")
            y = middle - SIGN
        y -= 8
        floor = y
        self.line((x, y + 8), (x, y - 10), arrow=False)
        y -= 10
        fill: Fill = stack
        for part in (*(kind.attention for kind in attentions_of(stack, config)), "ffn"):
            y = self._part(stack, part, x, y, fill)
        ceiling = y - 10
        self.frames.append(Frame(x - BOX / 2 - 12, ceiling, BOX + 40, floor - ceiling))
        align: Align = "right" if stack == "encoder" else "left"
        beside = x - BOX / 2 - 22 if stack == "encoder" else x + BOX / 2 + 38
        self.text(beside, (floor + ceiling) / 2, f"{side.layers(config)} ×", align=align, ink="text", strong=True)
        self.line((x, y), (x, ceiling - 8), arrow=False)
        y = ceiling - 8
        if config.final_norm:
            same = stack == "decoder" or config.encoder_final_norm == "same"
            word = _WORDS[config.norm_kind] if same else "Norm of torch"
            tip = self.tip(f"{stack} final norm", f"Norm behind the {stack}'s last layer")
            y = self.box(f"{stack} final norm", x, y, LOW, word, "", "norm", tip)
        self.top[stack] = y

    def _part(self, stack: str, part: str, x: float, y: float, fill: Fill) -> float:
        config = self.config
        name = f"{stack}.0.{part}"
        if part == "ffn":
            label = "Feed-forward"
            detail = f"{config.d_model} → {config.d_ff:,} → {config.d_model}, {config.activation}"
            fill = "plain"
        else:
            masked = stack == "decoder" and part == "self"
            label = {"self": "Self-attention", "cross": "Cross-attention"}[part]
            label = f"Masked {label.lower()}" if masked else label
            merged = ", raw merge" if config.merge == "raw-reshape" else ""
            acting = part == "self" and config.encoding.in_attention
            places = "".join(f", {word}" for word in config.encoding.box) if acting else ""
            detail = f"{config.n_heads} heads × {config.head_dim}{merged}{places}"
            fill = "cross" if part == "cross" else fill
        tip, norm_tip = self.tip(name, f"{label}, in each layer"), (f"Norm: gain and offset, 2 × {config.d_model}",)
        top = self.sublayer(x, y, label, detail, fill, config.norm, tip, name, norm_tip)
        if part == "cross":
            box = next(box for box in reversed(self.boxes) if box.part == name)
            self.cross = box.y + box.height / 2
        return top

    def output(self, stack: str, x: float) -> None:
        """The linear map to the vocabulary and the softmax, above the last stack."""
        config = self.config
        y = self.top[stack]
        if config.target_vocab_size is None:
            self.line((x, y), (x, y - 18))
            self.text(x, y - 28, f"memory, {config.d_model} numbers a position", ink="source-ink")
            return
        tied = "tied to the embedding" if config.tied_output else f"{config.d_model} × {config.target_vocab_size:,}"
        y = self.above("output", x, y, TALL, "Linear", tied, "plain", self.tip("output", "Map to the vocabulary"))
        tip = ("Softmax over the vocabulary: no parameters",)
        upper = self.above("softmax", x, y, LOW, "Softmax", "", "norm", tip)
        self.line((x, upper), (x, upper - 16))
        self.text(x, upper - 26, f"{config.target_vocab_size:,} probabilities", ink="target-ink")

    def memory(self, left: float, right: float) -> None:
        """The encoder's output, which every decoder layer reads as keys and values."""
        y = self.top["encoder"]
        between = (left + right) / 2 + 8
        into = right - BOX / 2
        self.line((left, y), (left, y - 16), (between, y - 16), (between, self.cross), (into, self.cross))
        self.text(left, y - 28, f"memory, {self.config.d_model} numbers a position", ink="cross-ink")
        self.text(into - 14, self.cross - 10, "K, V", align="right", ink="cross-ink")

    def tip(self, name: str, title: str) -> tuple[str, ...]:
        """What is behind a box: its parameters by shape, and their number."""
        block = self.blocks.get(name)
        if block is None or not block.count:
            return (title, "no parameters of its own")
        return (title, block.shapes, f"{block.count:,} parameters")

    def finished(self, label: str) -> Drawing:
        """Moved so that everything has y > 0."""
        margin = 18
        highest = min([box.y for box in self.boxes] + [text.y - 8 for text in self.texts] + [f.y for f in self.frames])
        lowest = max([box.y + box.height for box in self.boxes] + [text.y + 8 for text in self.texts])
        down = margin - highest
        return Drawing(
            width=WIDTH,
            height=lowest + down + margin,
            boxes=tuple(replace(box, y=box.y + down) for box in self.boxes),
            lines=tuple(Line(tuple((x, y + down) for x, y in line.points), line.arrow) for line in self.lines),
            signs=tuple(replace(sign, y=sign.y + down) for sign in self.signs),
            texts=tuple(replace(text, y=text.y + down) for text in self.texts),
            frames=tuple(replace(frame, y=frame.y + down) for frame in self.frames),
            label=label,
        )


def _scaled(config: ModelConfig) -> str:
    """What embeddings are multiplied by, as the box says it."""
    return {"sqrt": f", times √{config.d_model}", "one": "", "learned": ", times a learned number"}[
        config.embedding_scale
    ]


def _spoken(config: ModelConfig) -> str:
    """The drawing in words, for those who do not see it."""
    stacks = " and ".join(f"{SIDE_OF[stack].layers(config)} {stack} layers" for stack in stacks_of(config))
    final = "with" if config.final_norm else "without"
    sizes = f"d_model {config.d_model}, {config.n_heads} heads"
    return f"Architecture: {stacks}, {config.norm}-norm, {final} a final norm, {sizes}"
