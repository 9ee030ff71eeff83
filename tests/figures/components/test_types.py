"""What Python writes for each component has the keys and the types that parts/types.js gives to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from builders import tiny_checkpoint, tiny_config
from drawing import picture_of

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Span, Texts, numbered
from viz_transformer.analysis.attention.picture import MAX_TOKENS, Meta, Why
from viz_transformer.analysis.run.whole import whole_run
from viz_transformer.analysis.weight.weight_numbers import QueryRow
from viz_transformer.figures import components, details, whole
from viz_transformer.figures.architecture import architecture, architecture_payload
from viz_transformer.figures.components.beam_tree import beam_tree_payload
from viz_transformer.figures.components.chips import MANY, Chip, ChipRow, Editing, RowMark
from viz_transformer.figures.components.grid import GridScore, HeadMaps, grid_payload
from viz_transformer.figures.components.masks import MaskGrids, MaskWords, masks_payload
from viz_transformer.figures.components.model_maps import Looks, locator_data, rail_data
from viz_transformer.figures.components.scrubber import WrittenSteps, scrubber_payload, steps_of
from viz_transformer.figures.components.snapshots import MapsOfKind, SnapshotData, snapshots_payload
from viz_transformer.figures.components.whole import Names, RunText, whole_payload
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.model.points import attention_sites
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.ui.components import every_page, keys
from viz_transformer.ui.components.ahead import Ahead, Paragraph, ahead_payload, caught_up_payload
from viz_transformer.ui.components.pictures import Range, slider_data

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(str(files(components)))
TYPES = (FOLDER / "parts" / "types.js").read_text(encoding="utf-8")
OURS = {"Numbers", "Payload", "Made", "Context", "Ruler"}  # what the browser makes itself

TOKENS = Texts(("<s>", "a", "<unk>"), ("<s>", "a", "ä"), special={0})
ROWS = Axis("t", "query", "reads", "target", TOKENS)
WRITING = replace(ROWS, writes=TOKENS)
COLUMNS = Axis("i", "key", "keys, source", "source", TOKENS, (0, 1, 3), (1, 3, 4))
EVEN = np.full((3, 3), 1 / 3, np.float32)
HIDDEN = np.array([0.0, 0.5, 0.95])
WORDS = {"caption": "a caption", "name": "picture"}
META = Meta("a title", "a caption", "picture", scale="cross")
FEATURES = Axis(
    "", "feature", "features", None, numbered(3), blocks=True, reach=2, spans=(Span(0, 2, "bar", "of this run"),)
)
MAP = picture_of(EVEN, ROWS, COLUMNS)
MUCH = picture_of(EVEN, WRITING, COLUMNS, hidden=HIDDEN, most=2.0)


def _matrix() -> Iterator[bytes]:
    yield MAP.pack()
    yield MUCH.pack(grows=True, bare=("left",), why=("t", "i"))
    yield picture_of(EVEN, ROWS, ROWS).pack(follows=True, why=())
    yield picture_of(EVEN, ROWS, FEATURES, names=("False", "True"), notes=("a note",), digits=9, paired=True).pack()


def _lines() -> Iterator[bytes]:
    yield MUCH.pack_lines()
    many = Axis("t", "query", "reads", "target", Texts(["a"] * (MAX_TOKENS + 1)))
    yield picture_of(np.zeros((MAX_TOKENS + 1, 3)), many, COLUMNS).pack_lines()


def _grid() -> Iterator[bytes]:
    for baseline in (None, np.zeros((2, 2))):
        scores = [GridScore("entropy", np.ones((2, 2)), baseline, 3, "in words")]
        yield grid_payload(HeadMaps("encoder", np.tile(EVEN, (2, 2, 1, 1))), META, scores)


def _masks() -> Iterator[bytes]:
    grids = MaskGrids("cross", EVEN > 0, EVEN > 0, (ROWS, COLUMNS), ["c1.2"])
    whys: tuple[Why, ...] = (None, (), ("t", "i"))
    for why in whys:
        yield masks_payload(grids, MaskWords(("one", "two", "three", "four"), **WORDS), token="", why=why)


def _row() -> Iterator[bytes]:
    for writes in (None, "a"):
        row = QueryRow(np.ones(1), np.ones((3, 1)), EVEN[0], EVEN[0], EVEN[0] > 0)
        yield row.pack((ROWS, COLUMNS), 1, writes, META)


def _shading() -> Iterator[bytes]:
    yield MAP.pack_text()
    yield MUCH.pack_text(grows=True)


def _scrubber() -> Iterator[bytes]:
    run = decode(tiny_checkpoint(), "abc", strategy=Sampling(seed=0, top_k=2), max_steps=4)
    reads = Texts(run.trace.tgt.tokens[: len(run.steps)])
    for strategy in (None, "top 2"):
        written, more = WrittenSteps(steps_of(run, strategy=strategy is not None), reads, 50), strategy is not None
        yield scrubber_payload(written, strategy=strategy, takes=more, room=more, **WORDS)


def _whole() -> Iterator[bytes]:
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    for head in (None, 1):
        yield whole.run(run, head=head).data
    yield whole_payload(
        whole_run(run.trace, head=1),
        RunText(steps=steps_of(run), vocabulary=9, answer=run.text),
        Names(title="a title", caption=WORDS["caption"], file=WORDS["name"]),
        along={"first_row": 0, "steps": 5, "reads": True},
    )


def _layers_of_whole() -> Iterator[bytes]:
    yield details.pack_layer(decode(tiny_checkpoint(), "abc", max_steps=3).trace, "decoder", 1)


def _heads_of_whole() -> Iterator[bytes]:
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    yield details.pack_attention(run.trace, "cross", 1, 2)
    yield details.pack_attention(replace(run.trace, scalars={}, values={}), "cross", 1, 2)


def _snapshots() -> Iterator[bytes]:
    maps = [
        MapsOfKind("cross", "cross", EVEN[None, None, None], np.ones((3, 3), bool), (rows, COLUMNS))
        for rows in (ROWS, WRITING)
    ]
    yield snapshots_payload([SnapshotData(0, "a", complete=True, right=False, loss=1.0)], maps, **WORDS)


def _beam_tree() -> Iterator[bytes]:
    tree = decode(tiny_checkpoint(seed=1), "abc", strategy=Beam(2), max_steps=3).tree
    assert tree is not None
    for start in ("", "<s>"):
        yield beam_tree_payload(tree, start=start, **WORDS)


def _chips() -> Iterator[Any]:
    read = Chip(token="<unk>", original="ä", side="source", position=0, unknown=True)
    written = Chip(token="a", original="a", side="target", position=0, probability=0.25, differs=True)
    editing = Editing(field="text", text="ä", said="Edit the text")
    yield ChipRow(label="reads", chips=[read] * MANY, field="i", letters=True, edit=editing).data()
    yield ChipRow(label="writes", chips=[written], apart=True, mark=RowMark("right", "Right: by a rule.")).data()


def _rail() -> Iterator[Any]:
    config = tiny_config()
    sites = [*attention_sites(config), *(f"{stack}.{n}.ffn" for stack in ("encoder", "decoder") for n in range(3))]
    for share in (0.25, float("nan")):
        yield rail_data(spec_of(config), dict.fromkeys(sites, share))
    yield rail_data(spec_of(tiny_config(final_norm=False)), dict.fromkeys(sites, 0.25))


def _locator() -> Iterator[Any]:
    chosen = {"kind": "cross", "layer": 1, "part": "ffn", "input_side": "source", "pos_stack": "", "point": "logits"}
    for looks in get_args(Looks):
        yield locator_data(spec_of(tiny_config()), looks, {**chosen, "mask_kind": None})


def _keys() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        sent: list[Any] = []
        patch.setattr(keys, "_keys", lambda *, key, data: sent.append(data))
        keys.keys(projector=True, scene=1, scenes=3, rows=(0, 4))
        keys.keys(projector=False, scene=0, scenes=0, rows=None)
    yield from sent


def _saving() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        sent: list[Any] = []
        patch.setattr(every_page, "_saving", lambda *, key, data, on_table_change: sent.append(data))
        every_page.saving("curve", **WORDS)
        every_page.saving("curve", **WORDS, on_table=print)
    yield from sent


def _tour() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        sent: list[Any] = []
        patch.setattr(every_page, "_tour", lambda *, key, data, on_leave_change: sent.append(data))
        given = {
            "titles": ["one", "two"],
            "sentences": ["a", "b"],
            "ring": (".a >>> .b",),
            "onward": "Next (2 of 2): two",
        }
        every_page.tour_panel(number=1, **given, invited=True, on_leave=print)
    yield from sent


def _sheet() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        sent: list[Any] = []
        patch.setattr(every_page, "_sheet", lambda *, key, data: sent.append(data))
        every_page.sheet("a caption")
    yield from sent


def _slider() -> Iterator[Any]:
    for value in (0.5, None):
        yield slider_data(value, "0.5", Range(least=-1.0, most=1.0, step=0.1, decimals=2), label="A number")


def _ahead() -> Iterator[Any]:
    row = next(_chips())
    paragraph = Paragraph(".vt-answer", "given: ", "abc", "vt-answer")
    yield ahead_payload(Ahead("abc", 3, {"t": 0}, [row], [paragraph], {"matrix": next(_matrix())}), "token")
    yield caught_up_payload("abc")


WRITTEN: dict[str, Callable[[], Iterator[Any]]] = {
    "MatrixHeader": _matrix,
    "LinesHeader": _lines,
    "GridHeader": _grid,
    "MasksHeader": _masks,
    "RowHeader": _row,
    "ShadingHeader": _shading,
    "ScrubberHeader": _scrubber,
    "WholeHeader": _whole,
    "WholeLayer": _layers_of_whole,
    "WholeAttention": _heads_of_whole,
    "SnapshotsHeader": _snapshots,
    "BeamTreeHeader": _beam_tree,
    "DrawingHeader": lambda: iter([architecture_payload(architecture(tiny_config()), **WORDS)]),
    "ChipRow": _chips,
    "RailData": _rail,
    "LocatorData": _locator,
    "KeysData": _keys,
    "SavingData": _saving,
    "SheetData": _sheet,
    "SliderData": _slider,
    "TourData": _tour,
    "AheadHeader": _ahead,
}


# ---- types.js, read


class _Parser:
    """A type of a JSDoc comment as nested tuples: (what it is, of what)."""

    def __init__(self, text: str) -> None:
        self.signs = re.findall(r'"[^"]*"|\w+|\[\]|\S', text)

    def take(self, *wanted: str) -> str | None:
        return self.signs.pop(0) if self.signs and self.signs[0] in wanted else None

    def must(self, sign: str) -> None:
        assert self.take(sign), f"{sign} expected before {' '.join(self.signs[:5])}"

    def type(self) -> Any:
        parts = [self.both()]
        while self.take("|"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else ("any of", parts)

    def both(self) -> Any:
        parts = [self.many()]
        while self.take("&"):
            parts.append(self.many())
        return parts[0] if len(parts) == 1 else ("all of", parts)

    def many(self) -> Any:
        if self.take("?"):
            return ("nullable", self.many())
        found = self.one()
        while self.take("[]"):
            found = ("list", found)
        return found

    def one(self) -> Any:
        if self.take("{"):
            fields = {}
            while not self.take("}"):
                key = self.signs.pop(0)
                optional = self.take("?") is not None
                self.must(":")
                fields[key] = (optional, self.type())
                self.take(",")
            return ("object", fields)
        if self.take("["):
            parts = [self.type()]
            while self.take(","):
                parts.append(self.type())
            self.must("]")
            return ("tuple", parts)
        name = self.signs.pop(0)
        if name == "Record":
            self.must("<")
            assert self.type() == ("name", "string")
            self.must(",")
            values = self.type()
            self.must(">")
            return ("record", values)
        return ("name", name)


def typedefs() -> dict[str, Any]:
    """The types by name; those with functions are the browser's own."""
    text = re.sub(r"\n \*(?!/)", " ", TYPES)
    found = {}
    for body, name in re.findall(r"@typedef \{(.*?)\} (\w+)\s*(?=\*/|@typedef)", text):
        if name not in OURS:
            parser = _Parser(body)
            found[name] = parser.type()
            assert parser.signs == [], name
    assert len(found) + len(OURS) == TYPES.count("@typedef")
    return found


PLAIN = {"any": object, "string": str, "number": (int, float), "boolean": bool, "CanvasTextAlign": str}


class _Comparison:
    """What a value has that its type does not, and the reverse; and which keys were ever seen, by type."""

    def __init__(self) -> None:
        self.types = typedefs()
        self.seen: dict[str, set[str]] = {}
        self.problems: list[str] = []

    def fields(self, of: Any) -> dict[str, tuple[bool, Any]] | None:
        what, parts = of
        if what == "object":
            return dict(parts)
        if what == "name" and parts in self.types:
            return self.fields(self.types[parts])
        if what == "all of":
            return {key: field for part in parts for key, field in (self.fields(part) or {}).items()}
        return None

    def compare(self, value: Any, of: Any, place: str) -> None:
        what, parts = of
        if (fields := self.fields(of)) is not None:
            if not isinstance(value, dict):
                self.problems.append(f"{place} is {value!r}, no object")
                return
            named = parts if what == "name" else place
            self.seen.setdefault(named, set()).update(value)
            required = {key for key, (optional, _) in fields.items() if not optional}
            self.problems += [f"{place} has no {key}" for key in sorted(required - set(value))]
            self.problems += [f"{named} does not have {key}" for key in sorted(set(value) - set(fields))]
            for key in set(value) & set(fields):
                self.compare(value[key], fields[key][1], f"{named}.{key}")
        elif what == "nullable":
            if value is not None:
                self.compare(value, parts, place)
        elif what in ("list", "record"):
            kind = list if what == "list" else dict
            if not isinstance(value, kind):
                self.problems.append(f"{place} is {value!r}, no {what}")
                return
            for each in value.values() if isinstance(value, dict) else value:
                self.compare(each, parts, place)
        elif what == "tuple":
            if not isinstance(value, list) or len(value) != len(parts):
                self.problems.append(f"{place} is {value!r}, no {len(parts)} values")
                return
            for each, part in zip(value, parts, strict=True):
                self.compare(each, part, place)
        elif not isinstance(value, PLAIN[parts]) or (parts == "number" and isinstance(value, bool)):
            self.problems.append(f"{place} is {value!r}, no {parts}")


def compared(written: dict[str, list[Any]]) -> _Comparison:
    found = _Comparison()
    for name, values in written.items():
        for value in values:
            found.compare(value, ("name", name), name)
    return found


def _as_sent(given: Any) -> Any:
    return payload.unpack(given)[0] if isinstance(given, bytes) else json.loads(json.dumps(given))


# ---- the two compared


def test_python_writes_what_the_types_say_and_nothing_else():
    found = compared({name: [_as_sent(each) for each in written()] for name, written in WRITTEN.items()})
    assert found.problems == []
    for name, of in found.types.items():
        if name in found.seen:  # each key of the type is one that Python writes here, now and then
            assert set(found.fields(of) or ()) == found.seen[name], name
    assert set(found.types) - set(found.seen) == {"Picture"}  # which only stands in others


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "x", "explanation": "", "order": [], "short": [], "values": [], "n": []}, "Score has no baselines"),
        ({"name": "x", "note": 1}, "Score does not have note"),
        ({"name": 3}, "Score.name is 3, no string"),
        ({"n": [True]}, "Score.n is True, no number"),
        ({"order": None}, "Score.order is None, no list"),
    ],
)
def test_what_does_not_fit_its_type_is_found(value, problem):
    assert problem in compared({"Score": [value]}).problems


def test_all_javascript_is_checked_strictly() -> None:
    config = json.loads((ROOT / "tsconfig.json").read_text())
    assert config["compilerOptions"]["strict"] is True
    assert "viz_transformer/figures/components/**/*.js" in config["include"]
    checks = (ROOT / "Makefile").read_text().split("\njavascript:")[1].split("\n\n")[0]
    assert "bin/tsc\n" in checks
    left_out = [
        path.name for path in FOLDER.rglob("*.js") if re.search(r"@ts-(nocheck|ignore|expect)", path.read_text())
    ]
    assert left_out == []


def test_a_type_is_read_with_all_its_parts():
    assert _Parser('A & {a?: ?B[], b: [number, "c"][]} | Record<string, d>').type() == (
        "any of",
        [
            (
                "all of",
                [
                    ("name", "A"),
                    (
                        "object",
                        {
                            "a": (True, ("nullable", ("list", ("name", "B")))),
                            "b": (False, ("list", ("tuple", [("name", "number"), ("name", '"c"')]))),
                        },
                    ),
                ],
            ),
            ("record", ("name", "d")),
        ],
    )
