"""What docs/tutorials.md shows is what happens, and what it names exists."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import torch

from viz_transformer.command import main
from viz_transformer.model.config import ModelConfig, tutorial
from viz_transformer.model.points import derived_points, recorded_points
from viz_transformer.model.positions import ENCODINGS

ROOT = Path(__file__).parents[1]
DOC = (ROOT / "docs" / "tutorials.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```\n", flags=re.DOTALL | re.MULTILINE)
PROSE = FENCED.sub("", DOC)
FIGURES, *PARTS = PROSE.split("\n## ")[1:]  # where each figure is, then one part a tutorial
SECTIONS = {re.findall(r'`config\.tutorial\("(.*)"\)`', part)[0]: part for part in PARTS}


def tutorial_names() -> tuple[str, ...]:
    """All that `tutorial` knows, in its own words."""
    with pytest.raises(ValueError) as unknown:
        tutorial("?")
    return tuple(re.findall("'(.*?)'", str(unknown.value).split("choose ")[1]))


NAMES = tutorial_names()


def config_of(name: str) -> ModelConfig:
    """The tutorial's config, with some vocabularies where its data decide them."""
    try:
        return tutorial(name)
    except ValueError:
        return tutorial(name, source_vocab_size=9, target_vocab_size=9)


def examples() -> Iterator[Any]:
    """Code, what follows it, and the heading that it stands under, for each Python block."""
    blocks = list(FENCED.finditer(DOC))
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] == "python":
            heading = re.findall(r"^#+ (.*)$", FENCED.sub("", DOC[: block.start()]), flags=re.MULTILINE)[-1]
            follows = after is not None and after[1] == "text" and not DOC[block.end() : after.start()].strip()
            shown = after[2] if after is not None and follows else None
            yield pytest.param(block[2], shown, id=re.sub(r"\W+", "-", heading)[:50])


def printed_by(code: str) -> str:
    """What the code prints, alone in its namespace; torch's state is as before afterwards."""
    printed, gradients = io.StringIO(), torch.is_grad_enabled()
    with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(printed):
        torch.manual_seed(20_260_101)  # no seed of the page: an example has to bring its own
        try:
            exec(compile(code, "docs/tutorials.md", "exec"), {"__name__": "__main__"})
        finally:
            torch.set_grad_enabled(gradients)
    return printed.getvalue()


@pytest.mark.parametrize(("code", "shown"), tuple(examples()))
def test_an_example_prints_what_stands_below_it(code: str, shown: str | None) -> None:
    assert shown is not None, "no text block follows"
    assert printed_by(code) == shown


def test_each_command_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [
        part for kind, text in FENCED.findall(DOC) if kind == "console" for part in re.split(r"^\$ ", text, flags=re.M)
    ]
    commands = [part.split("\n", 1) for part in shown if part]
    assert len(commands) >= 3
    for command, output in commands:
        program, *words = shlex.split(command)
        assert program == "viz-transformer"
        with pytest.raises(SystemExit) as left:
            main(words)
        assert (left.value.code, capsys.readouterr()) == (0, (output, "")), command


def test_every_block_is_an_example_its_output_or_a_command() -> None:
    kinds = [kind for kind, _ in FENCED.findall(DOC)]
    assert set(kinds) == {"python", "text", "console"}
    assert kinds.count("python") == kinds.count("text") > 25
    assert DOC.count("```") == 2 * len(kinds)


def test_each_figure_is_on_a_page_that_there_is_or_below() -> None:
    pages = set(re.findall(r'"([\w ]+)": "\w+"', (ROOT / "app.py").read_text(encoding="utf-8")))
    assert len(pages) >= 10
    rows = [line for line in FIGURES.splitlines() if line.startswith("| ") and not line.endswith("| page |")]
    assert len(rows) > 40
    for row in rows:
        place = row.rstrip(" |").rpartition(" | ")[2]
        named = set(re.findall(r"\*([A-Z][\w ]+)\*", place))
        assert named <= pages, row
        assert named or "](#" in place, row
    anchors = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", PROSE, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", PROSE)) <= anchors


def test_each_tutorial_has_a_section() -> None:
    assert set(SECTIONS) == set(NAMES)
    for name, section in SECTIONS.items():
        assert f'`tutorial("{name}")`' in PROSE
        assert "Its slips:" in section and section.count("\n### ") >= 4, name


@pytest.mark.parametrize("name", NAMES)
def test_every_point_that_a_section_names_is_one(name: str) -> None:
    config, others = config_of(name), [config_of(other) for other in NAMES]
    own, known = ({p.name for c in cs for p in (*recorded_points(c), *derived_points(c))} for cs in ([config], others))
    named = re.findall(r"`((?:encoder|decoder)\.[\w.]+|logits)`", SECTIONS[name])
    assert len(named) >= 10
    assert set(named) <= known
    rows = [line for line in SECTIONS[name].splitlines() if line.startswith("| ")]
    assert set(re.findall(r"`((?:encoder|decoder)\.[\w.]+)`", "".join(rows))) <= own, "the table is about this tutorial"


def test_every_point_in_the_tables_of_figures_is_one():
    """A layer may be written N there."""
    known = {p.name for config in map(config_of, NAMES) for p in recorded_points(config)}
    named = re.findall(r"`((?:encoder|decoder)\.[\w.]+)`", FIGURES)
    assert named and {name.replace(".N.", ".0.") for name in named} <= known


@pytest.mark.parametrize("name", NAMES)
def test_every_config_word_of_a_section_is_one_and_those_of_its_table_and_slips_are_its_own(name: str) -> None:
    config, hints = config_of(name), get_type_hints(ModelConfig)
    found = 0
    for line in SECTIONS[name].splitlines():
        for stated in re.finditer(r'`(\w+)=("[^"`]+"|True|False|[\d.e-]+)`', line):
            field, value = stated[1], ast.literal_eval(stated[2])
            assert field in hints, line
            assert not isinstance(value, str) or value in (get_args(hints[field]) or ENCODINGS), line
            another = re.search("clean|later edition", line[: stated.start()])
            if line.startswith(("| ", "- ")) and not another:
                assert getattr(config, field) == value, line
                found += 1
    assert found >= 5


def test_the_files_and_headings_that_it_names_exist() -> None:
    def anchor(heading: str) -> str:
        return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")

    anchors = {anchor(heading) for heading in re.findall(r"^#+ (.*)$", PROSE, flags=re.MULTILINE)}
    links = re.findall(r"\]\(([^)]+)\)", PROSE)
    assert len(links) >= 8
    for link in links:
        file, _, heading = link.partition("#")
        assert heading in anchors if not file else (ROOT / "docs" / file).exists(), link
    for row in re.findall(r"^\| .* \| (.*) \|$", PROSE, flags=re.MULTILINE):
        for file in re.findall(r"[\w/]+\.py", row):
            assert (ROOT / "viz_transformer" / file).is_file(), file


def test_the_table_of_slips_beside_no_slips_states_the_cards() -> None:
    section = SECTIONS["en-it"].split("### What do all the slips together do")[1]
    columns = [
        [f"{of['loss']:.2f}", f"{100 * of['token_accuracy']:.1f} %", f"{of['bleu']:.1f}", f"{of['chrf']:.1f}"]
        for of in (greedy_metrics("en-it-slips"), greedy_metrics("tatoeba-en-it"))
    ]
    ends = [f"{float(last_row(name)[2]):.2f}" for name in ("en-it-slips", "tatoeba-en-it")]
    stated = re.findall(
        r"^\| (?:teacher-forced|free|its training).*?\| ([\d.]+(?: %)?) \| ([\d.]+(?: %)?) \|$", section, flags=re.M
    )
    assert stated == [*zip(*columns, strict=True), tuple(ends)]


def greedy_metrics(name: str) -> dict[str, float]:
    card = json.loads((ROOT / "checkpoints" / name / "card.json").read_text(encoding="utf-8"))
    return next(entry for entry in card["metrics"] if entry["command"] == f"viz-transformer evaluate {name}")


def last_row(name: str) -> list[str]:
    return (ROOT / "checkpoints" / name / "history.csv").read_text(encoding="utf-8").splitlines()[-1].split(",")
