"""A model as the paper draws one: boxes from bottom to top, with this model's own sizes and its norms where they are.

`Outline` -> `Drawing`, a list of boxes, lines, signs and texts in pixels; a component paints it. After figure 1 of
Vaswani et al. (2017), drawn anew. Nothing in it is a picture from elsewhere, and no number is one of another model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from viz_transformer.analysis.models.outline import norm_word, outline
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import SIDE_OF
from viz_transformer.model.outline import Block, Outline, OutputOutline, StackOutline, SubLayer

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
"""How far two sub-layers that read the same stream stand from it; height and characters of a further line of sizes."""


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
    return drawing_of(outline(config))


def drawing_of(model: Outline) -> Drawing:
    """The same of any model."""
    pen = _Pen(model.block)
    both = len(model.stacks) == 2
    for stack in model.stacks:
        pen.stack(stack, COLUMNS[stack.stack] if both else WIDTH / 2)
    last = model.stacks[-1].stack
    pen.output(model.output, last, COLUMNS[last] if both else WIDTH / 2)
    if model.memory is not None:
        pen.memory(model.memory)
    return pen.finished(model.spoken)


def norm_places(config: ModelConfig) -> Drawing:
    """One sub-layer with the norm before it and one with the norm behind, side by side; the model's own is named."""
    return norm_places_of(config.norm, norm_word(config.norm_kind))


def norm_places_of(own_norm: Literal["pre", "post"], word: str) -> Drawing:
    """The same of any model; word: what its norms are called."""
    pen = _Pen({})
    for norm, x in (("pre", 160.0), ("post", 484.0)):
        start = pen.bottom
        own = ", as here" if norm == own_norm else ""
        formula = "x + f(norm(x))" if norm == "pre" else "norm(x + f(x))"
        before, behind = (word, "") if norm == "pre" else ("", word)
        part = SubLayer(
            part="ffn", label="sub-layer", details=("attention or feed-forward",), before=before, behind=behind
        )
        top = pen.sublayer(x, start - 26, part, "plain", "f")
        pen.line((x, start - 2), (x, start - 26), arrow=False)
        pen.line((x, top), (x, top - 14))
        pen.text(x, start + 12, "the stream, x")
        pen.text(x, top - 26, f"{norm}-norm{own}: {formula}", ink="text", strong=norm == own_norm)
    return pen.finished("Where the norm is: before the sub-layer in pre-norm, after the sum in post-norm")


class _Pen:
    """Collects what is drawn, upwards from y = 0; `finished` turns it into pixels from the top."""

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

    def norm(self, name: str, x: float, y: float, word: str, holds: str) -> float:
        """A norm over y, if there is one; the y behind it."""
        if not word:
            return y
        return self.above(f"{name} norm", x, y, LOW, word, "", "norm", (f"Norm: {holds}",) if holds else ())

    def sign(self, x: float, y: float) -> float:
        """A sum over y, with a line into it; its middle."""
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

    def part(self, x: float, y: float, part: SubLayer, fill: Fill, name: str) -> float:
        """The box of a sub-layer over y, and the norm that what it adds goes through; the y behind both."""
        lines = _wrapped(part.details)
        height = TALL + LINE * (len(lines) - 1)
        tip = self.tip(name, f"{part.label}, in each layer")
        upper = self.above(name, x, y, height, part.label, "\n".join(lines), fill, tip)
        if part.part == "cross":
            self.cross = upper + height / 2
        return self.norm(f"{name} added", x, upper, part.added, part.holds)

    def sublayer(self, x: float, y: float, part: SubLayer, fill: Fill, name: str) -> float:
        """A sub-layer in its place in the stream, which enters at y; the y at which it leaves."""
        side = x + BOX / 2 + 14  # the way around it
        below = y - FORK
        self.line((x, y), (x, below), arrow=False)
        upper = self.part(x, self.norm(name, x, below, part.before, part.holds), part, fill, name)
        middle = self.sign(x, upper)
        self.line((x, below), (side, below), (side, middle), (x + SIGN, middle))
        return self.norm(name, x, middle - SIGN, part.behind, part.holds)

    def together(self, x: float, y: float, stack: StackOutline, names: Sequence[str]) -> float:
        """Two sub-layers that read the same stream, left and right of it, behind one norm or behind one each; the y at
        which the sum leaves."""
        below = y - FORK
        self.line((x, y), (x, below), arrow=False)
        tops: list[float] = []
        fork = below
        if stack.one_norm:
            first = stack.sublayers[0]
            fork = self.norm(names[0], x, below, first.before, first.holds) - FORK
            self.line((x, fork + FORK), (x, fork), arrow=False)
        for part, name, away in zip(stack.sublayers, names, (x - APART, x + APART), strict=True):
            self.line((x, fork), (away, fork), arrow=False)
            start = fork if stack.one_norm else self.norm(name, away, fork, part.before, part.holds)
            tops.append(self.part(away, start, part, _fill(stack, part), name))
        middle = min(tops) - GAP - SIGN
        self.signs.append(Sign(x, middle))
        for top, away, end in zip(tops, (x - APART, x + APART), (x - SIGN, x + SIGN), strict=True):
            self.line((away, top), (away, middle), (end, middle))
        if not stack.one_norm:
            self.line((x, fork), (x, middle + SIGN))
            return middle - SIGN
        side, above = x + APART + BOX / 2 + 14, middle - 2 * SIGN - GAP
        self.signs.append(Sign(x, above))
        self.line((x, middle - SIGN), (x, above + SIGN))
        self.line((x, below), (side, below), (side, above), (x + SIGN, above))
        return above - SIGN

    def stack(self, stack: StackOutline, x: float) -> None:
        name = stack.stack
        ink: Ink = SIDE_OF[name].of("source-ink", "target-ink")
        y = self.bottom
        self.text(x, y, stack.reads, ink=ink)
        tip = self.tip(f"{name} embedding", "Embedding of the tokens")
        y = self.above(f"{name} embedding", x, y - 14, TALL, "Embedding", stack.embedding, "plain", tip)
        if stack.sums:
            middle = self.sign(x, y)
            away = x - BOX / 2 - 4
            self.line((away, middle), (x - SIGN, middle))
            for row, word in enumerate(stack.sums):
                self.text(away - 4, middle - 8 * (len(stack.sums) - 1) + 16 * row, word, align="right")
            y = middle - SIGN
        y = self.norm(f"{name} embedding", x, y, stack.norm, "of the sum that the first layer reads") - 8
        floor = y
        self.line((x, y + 8), (x, y - 10), arrow=False)
        y -= 10
        names = [f"{name}.{stack.layer}.{part.part}" for part in stack.sublayers]
        if stack.parallel:
            y = self.together(x, y, stack, names)
        else:
            for part, place in zip(stack.sublayers, names, strict=True):
                y = self.sublayer(x, y, part, _fill(stack, part), place)
        ceiling = y - 10
        half = BOX / 2 + (APART if stack.parallel else 0)
        self.frames.append(Frame(x - half - 12, ceiling, 2 * half + 40, floor - ceiling))
        align: Align = "right" if name == "encoder" else "left"
        beside = x - half - 22 if name == "encoder" else x + half + 38
        self.text(beside, (floor + ceiling) / 2, f"{stack.layers} ×", align=align, ink="text", strong=True)
        self.line((x, y), (x, ceiling - 8), arrow=False)
        y = ceiling - 8
        if stack.final_norm:
            tip = self.tip(f"{name} final norm", f"Norm after the {name}'s last layer")
            y = self.box(f"{name} final norm", x, y, LOW, stack.final_norm, "", "norm", tip)
        if stack.final_map:
            tip = self.tip(f"{name} final map", "Map of the stream to as many features as embeddings have")
            y = self.above(f"{name} final map", x, y, TALL, "Linear", stack.final_map, "plain", tip)
        self.top[name] = y

    def output(self, output: OutputOutline, stack: str, x: float) -> None:
        """The map of the output and what turns it into probabilities, above the last stack."""
        y = self.top[stack]
        ink: Ink = "source-ink"
        if output.label:
            tip = self.tip("output", f"Map to the {output.over}")
            y = self.above("output", x, y, TALL, output.label, output.sizes, "plain", tip)
            ink = "target-ink"
        if output.turned:
            y = self.above(
                "softmax",
                x,
                y,
                LOW,
                output.turned,
                "",
                "norm",
                (f"{output.turned} over the {output.over}: no parameters",),
            )
        reach = 16 if output.label else 18
        self.line((x, y), (x, y - reach))
        self.text(x, y - reach - 10, output.gives, ink=ink)

    def memory(self, width: int) -> None:
        """The encoder's output, which every decoder layer reads as keys and values."""
        left, right = COLUMNS["encoder"], COLUMNS["decoder"]
        y = self.top["encoder"]
        between = (left + right) / 2 + 8
        into = right - BOX / 2
        self.line((left, y), (left, y - 16), (between, y - 16), (between, self.cross), (into, self.cross))
        self.text(left, y - 28, f"memory, {width} numbers a position", ink="cross-ink")
        self.text(into - 14, self.cross - 10, "K, V", align="right", ink="cross-ink")

    def tip(self, name: str, title: str) -> tuple[str, ...]:
        """What is behind a box: its parameters by shape, and their number."""
        if not self.blocks:
            return ()
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


def _fill(stack: StackOutline, part: SubLayer) -> Fill:
    return {"self": stack.stack, "cross": "cross", "ffn": "plain"}[part.part]


def _wrapped(details: Sequence[str]) -> list[str]:
    """The sizes of a box in lines that fit into it."""
    lines = [""]
    for each in details:
        joined = f"{lines[-1]}, {each}" if lines[-1] else each
        if lines[-1] and len(joined) > MOST:
            lines.append(each)
        else:
            lines[-1] = joined
    return lines
