"""Options that belong together are one parameter of a command, and options of their own in the shell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from viz_transformer.command.options import grouped

pytestmark = pytest.mark.quick


@dataclass(frozen=True, kw_only=True)
class Shade:
    colour: Annotated[str, typer.Option(help="Its name.")] = "red"


@dataclass(frozen=True, kw_only=True)
class Paint(Shade):
    coats: int = 1
    gloss: Annotated[bool, typer.Option("--gloss")] = False


def test_the_fields_of_a_group_are_options_in_its_place() -> None:
    seen = []

    @grouped
    def paint(*, wall: Annotated[str, typer.Argument()], look: Paint, quiet: bool = False) -> None:
        """Paint a wall."""
        seen.append((wall, look, quiet))

    cli = typer.Typer(add_completion=False, rich_markup_mode=None)
    cli.command()(paint)
    said = CliRunner().invoke(cli, ["--help"]).output
    assert "Paint a wall." in said and "Its name." in said
    places = [said.index(name) for name in ("--colour", "--coats", "--gloss", "--quiet")]
    assert places == sorted(places)
    for words, look in ((["north"], Paint()), (["north", "--coats", "2", "--gloss"], Paint(coats=2, gloss=True))):
        assert CliRunner().invoke(cli, words).exit_code == 0
        assert seen.pop() == ("north", look, False)
    assert CliRunner().invoke(cli, ["north", "--look", "x"]).exit_code == 2
