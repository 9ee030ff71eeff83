"""Renders a chat template in a process of its own, which takes little memory and time, and ends in a line of JSON.

A template is a program in Jinja, from anybody's folder. It runs in Jinja's sandbox: it has the text, the names of
special tokens and the date, and reaches no file, no network and no Python object. What a sandbox does not limit, the
process does: memory and time of the processor, where the system can, and the length of what is written. Run as a file,
with nothing of this program imported.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import datetime
from typing import Any

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import Node, Scope
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MEMORY, SECONDS, LONGEST = 512 * 2**20, 5, 1_000_000
"""Bytes, seconds of the processor, and characters that a template may take."""
LIMITS = {
    "RLIMIT_AS": (MEMORY, MEMORY),
    "RLIMIT_CPU": (SECONDS, SECONDS + 1),  # the signal of the first one says that it was the time
    "RLIMIT_FSIZE": (0, 0),
    "RLIMIT_CORE": (0, 0),
}
TOO_LARGE = f"it takes more than {MEMORY // 2**20} MiB of memory"


def limited() -> None:
    """Take each limit that the system sets: Linux all of them, macOS none of memory, Windows none at all, so that only
    the length of what is written and the caller's clock count there."""
    for name, limits in LIMITS.items():
        if (which := getattr(resource, name, None)) is not None:
            with suppress(ValueError, OSError):
                resource.setrlimit(which, limits)


class Generation(Extension):
    """The tag around what a model writes, which matters in training alone: what is inside stays."""

    tags = {"generation"}  # noqa: RUF012 (as its base class has it)

    def parse(self, parser: Parser) -> Node:
        line = next(parser.stream).lineno
        return Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class Plain(Namespace):
    """A namespace without names that begin with an underscore, which lead to Python's own."""

    def __init__(*given: Any, **named: Any) -> None:  # self may be a name
        for name in dict(*given[1:], **named):
            _check(name)
        Namespace.__init__(*given, **named)

    def __setitem__(self, name: str, value: Any) -> None:
        _check(name)
        super().__setitem__(name, value)


def _check(name: object) -> None:
    if str(name).startswith("_"):
        raise jinja2.exceptions.SecurityError(f"the name {name!r:.40} begins with an underscore")


def refuse(message: object) -> None:
    """What a template calls for a chat that it does not take."""
    raise jinja2.exceptions.TemplateError(str(message))


def to_json(value: Any, **how: Any) -> str:
    """JSON whose signs are not escaped for a web page."""
    return json.dumps(value, **{"ensure_ascii": False, **how})


def today(form: str) -> str:
    """The date and the time in this form."""
    return datetime.now().strftime(form)


def made_dict(*given: Any, **named: Any) -> dict[Any, Any]:
    """A dictionary, without the class of one."""
    return dict(*given, **named)


def render(template: str, variables: dict[str, Any]) -> str:
    """What the template makes of these, in an environment as transformers has it. Raises whatever a template may."""
    if tuple(int(part) for part in jinja2.__version__.split(".")[:3]) < (3, 1, 6):
        raise ValueError("jinja2 before 3.1.6 does not keep templates in its sandbox: install a newer one")
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals |= {
        "raise_exception": refuse,
        "strftime_now": today,
        "dict": made_dict,
        "namespace": Plain,
    }
    parts, length = [], 0
    for part in environment.from_string(template).generate(variables):
        parts.append(part)
        length += len(part)
        if length > LONGEST:
            raise ValueError(f"it writes more than {LONGEST:,} characters")
    return "".join(parts)


def main() -> None:
    """One line on stdin, one on stdout."""
    limited()
    try:
        given = json.loads(sys.stdin.buffer.read())
        said = {"text": render(given["template"], given["variables"])}
    except MemoryError:
        said = {"error": TOO_LARGE}
    except RecursionError:
        said = {"error": "it is nested too deeply"}
    except Exception as error:  # a template may raise whatever there is
        said = {"error": f"{error!s:.200}" or type(error).__name__}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
