"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import typer

from viz_transformer.command.commands import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_examples_print_what_their_comments_say() -> None:
    examples = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    example = "\n".join(examples)  # the second goes on with the run of the first
    wanted = [line.split("# ", 1)[1].strip() for line in example.splitlines() if line.startswith("print(")]
    assert len(examples) == 2 and len(wanted) == 5
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {})
    for line, comment in zip(printed.getvalue().splitlines(), wanted, strict=True):
        assert comment == line or comment.startswith(f"{line}: ")  # what stands behind a colon explains it


def test_the_commands_shown_exist_with_their_options() -> None:
    commands = typer.main.get_command(cli).commands  # type: ignore[attr-defined]
    lines = re.findall(r"^    viz-transformer (\S+)(.*)$", README, flags=re.MULTILINE)
    assert {name for name, _ in lines} == set(commands)
    for name, rest in lines:
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest.replace('".[train]"', ""))) <= known, name


def test_files_that_are_linked_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target
