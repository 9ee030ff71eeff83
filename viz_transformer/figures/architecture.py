"""A model as the paper draws one: boxes from bottom to top, with this model's own sizes and its norms where they are.

`Layout` -> `Drawing`, a list of boxes, lines, signs and texts in pixels; a component paints it. After figure 1 of
Vaswani et al. (2017), drawn anew. Nothing in it is a picture from elsewhere, and no number is one of another model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from viz_transformer import payload
from viz_transformer.analysis.models.parts import layout_of, norm_word
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.layout import Block, Layer, Layout, Part, StackLayout, SubLayer

Fill = Literal["encoder", "decoder", "cross", "plain", "norm"]
Ink = Literal["text", "muted", "source-ink", "target-ink", "cross-ink"]
Align = Literal["left", "center", "right"]
HookPoint = tuple[float, float]

WIDTH = 648
COLUMNS = {"encoder": 172.0, "decoder": 470.0}
BOX, INSET, TALL, LOW, SIGN, GAP, FORK = 196, 18, 44, 22, 9, 12, 6
"""Width of a box, how much a norm is inset, heights of a sub-layer and of a norm, radius of a sum, the space between
two boxes, and where in it a stream forks."""
APART, LINE, MOST = 112, 16, 25
"""Distance of parallel sub-layers from the stream; height, and most characters, of a further line of sizes."""


@dataclass(frozen=True)
class Box:
    """A rectangle with a name, a line of sizes below it, and a tooltip. `part`: the part of the model that it shows."""

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

    points: tuple[HookPoint, ...]
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
    """A frame around a repeated layer."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Drawing:
    """A whole drawing, y from the top down."""

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
    return drawing_of(layout_of(config))


def drawing_of(model: Layout) -> Drawing:
    """The drawing of any model."""
    pen = _Pen(model.block)
    both = len(model.stacks) == 2
    for stack in model.stacks:
        pen.stack(stack, COLUMNS[stack.stack] if both else WIDTH / 2)
    last = model.stacks[-1].stack
    pen.output(model, last, COLUMNS[last] if both else WIDTH / 2)
    if model.memory is not None:
        pen.memory(model.memory)
    return pen.finished(model.spoken)


def architecture_payload(drawing: Drawing, *, caption: str, name: str) -> bytes:
    """The payload of a drawing, in the drawing's own pixels; `name` is a file name."""
    return payload.pack({**asdict(drawing), "caption": caption, "name": name})


def norm_places(config: ModelConfig) -> Drawing:
    """The drawing of pre-norm and post-norm sub-layers side by side; the model's own is named."""
    return norm_places_of(config.norm, norm_word(config.norm_kind))


def norm_places_of(own_norm: Literal["pre", "post"], word: str) -> Drawing:
    """The same drawing for any model; word: the name of its norms."""
    pen = _Pen({})
    any_part = SubLayer(
        name="f", label="sub-layer", details=("attention or feed-forward",), part="ffn", layer=0, kind=None
    )
    norm_part = Part(name="f norm", label=word)
    for norm, x in (("pre", 160.0), ("post", 484.0)):
        start = pen.bottom
        own = ", as here" if norm == own_norm else ""
        formula = "x + f(norm(x))" if norm == "pre" else "norm(x + f(x))"
        part = replace(any_part, before=norm_part) if norm == "pre" else replace(any_part, after=norm_part)
        top = pen.sublayer(x, start - 26, part, "plain")
        pen.line((x, start - 2), (x, start - 26), arrow=False)
        pen.line((x, top), (x, top - 14))
        pen.text(x, start + 12, "the stream, x")
        pen.text(x, top - 26, f"{norm}-norm{own}: {formula}", ink="text", strong=norm == own_norm)
    return pen.finished("Where the norm is: before the sub-layer in pre-norm, after the sum in post-norm")


@dataclass(frozen=True)
class _Content:
    """The content of a box: its texts, height and tooltip."""

    part: str
    label: str
    detail: str = ""
    height: float = TALL
    fill: Fill = "plain"
    tip: tuple[str, ...] = ()


class _Pen:
    """Collects the drawing's elements, upwards from y = 0; `finished` turns them into pixels from the top."""

    bottom = 0.0

    def __init__(self, blocks: Mapping[str, Block]) -> None:
        self.blocks = blocks
        self.boxes: list[Box] = []
        self.lines: list[Line] = []
        self.signs: list[Sign] = []
        self.texts: list[Text] = []
        self.frames: list[Frame] = []
        self.top: dict[str, float] = {}
        self.cross = 0.0  # the middle of the box that reads the memory

    # -- single things

    def box(self, content: _Content, x: float, y: float) -> float:
        """Add a box whose lower edge is at y, centred on x; returns the y of its upper edge."""
        width = BOX - 2 * INSET if content.fill == "norm" else BOX
        upper = y - content.height
        self.boxes.append(
            Box(
                part=content.part,
                x=x - width / 2,
                y=upper,
                width=width,
                height=content.height,
                label=content.label,
                detail=content.detail,
                fill=content.fill,
                tip=content.tip,
            )
        )
        return upper

    def above(self, content: _Content, x: float, y: float) -> float:
        """Add a box above y, with an arrow into it; returns the y of its upper edge."""
        upper = self.box(content, x, y - GAP)
        self.line((x, y), (x, y - GAP))
        return upper

    def norm(self, x: float, y: float, part: Part | None) -> float:
        """Add a norm above y, if there is one; returns the y after it."""
        if part is None:
            return y
        tip = (f"Norm: {part.holds}",) if part.holds else ()
        return self.above(_Content(part.name, part.label, height=LOW, fill="norm", tip=tip), x, y)

    def sign(self, x: float, y: float) -> float:
        """Add a sum above y, with a line into it; returns the y of its centre."""
        middle = y - GAP - SIGN
        self.signs.append(Sign(x, middle))
        self.line((x, y), (x, middle + SIGN))
        return middle

    def line(self, *points: HookPoint, arrow: bool = True) -> None:
        self.lines.append(Line(points, arrow))

    def text(
        self, x: float, y: float, text: str, *, align: Align = "center", ink: Ink = "muted", strong: bool = False
    ) -> None:
        self.texts.append(Text(x, y, text, align, ink, strong))

    # -- parts of a model

    def part(self, x: float, y: float, part: SubLayer, fill: Fill) -> float:
        """Add the box of a sub-layer above y, and the norm of its output if there is one; returns the y after both."""
        lines = _wrap(part.details)
        height = TALL + LINE * (len(lines) - 1)
        tip = self.tip(part.name, f"{part.label}, in each layer")
        upper = self.above(_Content(part.name, part.label, "\n".join(lines), height, fill, tip), x, y)
        if part.part == "cross":
            self.cross = upper + height / 2
        return self.norm(x, upper, part.added)

    def sublayer(self, x: float, y: float, part: SubLayer, fill: Fill) -> float:
        """Add a sub-layer with its residual connection, from y; returns the y at its end."""
        side = x + BOX / 2 + 14  # the way around it
        below = y - FORK
        self.line((x, y), (x, below), arrow=False)
        upper = self.part(x, self.norm(x, below, part.before), part, fill)
        middle = self.sign(x, upper)
        self.line((x, below), (side, below), (side, middle), (x + SIGN, middle))
        return self.norm(x, middle - SIGN, part.after)

    def together(self, x: float, y: float, stack: StackLayout, layer: Layer) -> float:
        """Add two parallel sub-layers, left and right of the stream, after one norm or one each; returns the y after
        the sum."""
        below = y - FORK
        self.line((x, y), (x, below), arrow=False)
        tops: list[float] = []
        fork = below
        if layer.one_norm:
            fork = self.norm(x, below, layer.sublayers[0].before) - FORK
            self.line((x, fork + FORK), (x, fork), arrow=False)
        for part, away in zip(layer.sublayers, (x - APART, x + APART), strict=True):
            self.line((x, fork), (away, fork), arrow=False)
            start = fork if layer.one_norm else self.norm(away, fork, part.before)
            tops.append(self.part(away, start, part, _fill(stack, part)))
        middle = min(tops) - GAP - SIGN
        self.signs.append(Sign(x, middle))
        for top, away, end in zip(tops, (x - APART, x + APART), (x - SIGN, x + SIGN), strict=True):
            self.line((away, top), (away, middle), (end, middle))
        if not layer.one_norm:
            self.line((x, fork), (x, middle + SIGN))
            return middle - SIGN
        side, above = x + APART + BOX / 2 + 14, middle - 2 * SIGN - GAP
        self.signs.append(Sign(x, above))
        self.line((x, middle - SIGN), (x, above + SIGN))
        self.line((x, below), (side, below), (side, above), (x + SIGN, above))
        return above - SIGN

    def stack(self, stack: StackLayout, x: float) -> None:
        name, layer = stack.stack, stack.layers[stack.typical]
        ink: Ink = stack.side.of("source-ink", "target-ink")
        y = self.bottom
        self.text(x, y, stack.reads, ink=ink)
        y = self.titled(x, y - 14, stack.embedding, "Embedding of the tokens")
        if stack.sums:
            middle = self.sign(x, y)
            away = x - BOX / 2 - 4
            self.line((away, middle), (x - SIGN, middle))
            for row, word in enumerate(stack.sums):
                self.text(away - 4, middle - 8 * (len(stack.sums) - 1) + 16 * row, word, align="right")
            y = middle - SIGN
        y = self.norm(x, y, stack.norm) - 8
        floor = y
        self.line((x, y + 8), (x, y - 10), arrow=False)
        y -= 10
        if layer.parallel:
            y = self.together(x, y, stack, layer)
        else:
            for part in layer.sublayers:
                y = self.sublayer(x, y, part, _fill(stack, part))
        ceiling = y - 10
        half = BOX / 2 + (APART if layer.parallel else 0)
        self.frames.append(Frame(x - half - 12, ceiling, 2 * half + 40, floor - ceiling))
        align: Align = "right" if name == "encoder" else "left"
        beside = x - half - 22 if name == "encoder" else x + half + 38
        self.text(beside, (floor + ceiling) / 2, f"{len(stack.layers)} ×", align=align, ink="text", strong=True)
        self.line((x, y), (x, ceiling - 8), arrow=False)
        y = ceiling - 8
        if (final := stack.final_norm) is not None:
            tip = self.tip(final.name, f"Norm after the {name}'s last layer")
            y = self.box(_Content(final.name, final.label, height=LOW, fill="norm", tip=tip), x, y)
        if stack.final_map is not None:
            y = self.titled(x, y, stack.final_map, "Map of the stream to as many features as embeddings have")
        self.top[name] = y

    def titled(self, x: float, y: float, part: Part, title: str) -> float:
        """Add the box of an embedding or of a map above y; returns the y of its upper edge. title: the first line of
        its tooltip."""
        tip = self.tip(part.name, title)
        return self.above(_Content(part.name, part.label, "".join(part.details), tip=tip), x, y)

    def output(self, model: Layout, stack: str, x: float) -> None:
        """Add the output layer and the softmax, above the last stack."""
        y = self.top[stack]
        ink: Ink = "source-ink"
        if model.output is not None:
            y = self.titled(x, y, model.output, f"Map to the {model.over}")
            ink = "target-ink"
        if (turned := model.softmax) is not None:
            tip = (f"{turned.label} over the {model.over}: no parameters",)
            y = self.above(_Content(turned.name, turned.label, height=LOW, fill="norm", tip=tip), x, y)
        reach = 16 if model.output is not None else 18
        self.line((x, y), (x, y - reach))
        self.text(x, y - reach - 10, model.result, ink=ink)

    def memory(self, width: int) -> None:
        """Add the memory: the encoder's output, which every decoder layer reads as keys and values."""
        left, right = COLUMNS["encoder"], COLUMNS["decoder"]
        y = self.top["encoder"]
        between = (left + right) / 2 + 8
        into = right - BOX / 2
        self.line((left, y), (left, y - 16), (between, y - 16), (between, self.cross), (into, self.cross))
        self.text(left, y - 28, f"memory, {width} numbers a position", ink="cross-ink")
        self.text(into - 14, self.cross - 10, "K, V", align="right", ink="cross-ink")

    def tip(self, name: str, title: str) -> tuple[str, ...]:
        """The tooltip of a box: its parameters by shape, and their number."""
        if not self.blocks:
            return ()
        block = self.blocks.get(name)
        if block is None or not block.count:
            return (title, "no parameters of its own")
        return (title, block.shapes, f"{block.count:,} parameters")

    def finished(self, label: str) -> Drawing:
        """The drawing, moved so that everything has y > 0."""
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


def _fill(stack: StackLayout, part: SubLayer) -> Fill:
    return {"self": stack.stack, "cross": "cross", "ffn": "plain"}[part.part]


def _wrap(details: Sequence[str]) -> list[str]:
    """The sizes of a box, wrapped to lines that fit into it."""
    lines = [""]
    for each in details:
        joined = f"{lines[-1]}, {each}" if lines[-1] else each
        if lines[-1] and len(joined) > MOST:
            lines.append(each)
        else:
            lines[-1] = joined
    return lines
