"""Renders a chat template in a process with limited memory and time, and prints one line of JSON.

A template is an untrusted Jinja program. It runs in Jinja's sandbox with the text, special tokens and date, without
files, network or Python objects. The process limits what the sandbox does not: memory, CPU time (where the system can)
and output length. Run as a file, importing nothing of this program.
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
"""Maximum memory in bytes, CPU seconds, and output characters of a template."""
LIMITS = {
    "RLIMIT_AS": (MEMORY, MEMORY),
    "RLIMIT_CPU": (SECONDS, SECONDS + 1),  # the first limit's signal identifies a timeout
    "RLIMIT_FSIZE": (0, 0),
    "RLIMIT_CORE": (0, 0),
}
TOO_LARGE = f"it takes more than {MEMORY // 2**20} MiB of memory"


def limited() -> None:
    """Apply the limits that the system supports.

    Linux has all, macOS none for memory, Windows none at all: there only output length and the caller's timeout count.
    """
    for name, limits in LIMITS.items():
        if (which := getattr(resource, name, None)) is not None:
            with suppress(ValueError, OSError):
                resource.setrlimit(which, limits)


class Generation(Extension):
    """The generation tag, which matters only in training: its content is kept."""

    tags = {"generation"}  # noqa: RUF012 (as its base class has it)

    def parse(self, parser: Parser) -> Node:
        line = next(parser.stream).lineno
        return Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class Plain(Namespace):
    """A namespace without underscore names, which lead to Python internals."""

    def __init__(*given: Any, **named: Any) -> None:  # self may be a name in the template
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
    """Called by a template that rejects a chat."""
    raise jinja2.exceptions.TemplateError(str(message))


def to_json(value: Any, **how: Any) -> str:
    """JSON without HTML escapes."""
    return json.dumps(value, **{"ensure_ascii": False, **how})


def today(form: str) -> str:
    """Date and time in this format."""
    return datetime.now().strftime(form)


def made_dict(*given: Any, **named: Any) -> dict[Any, Any]:
    """A dictionary, without exposing the class."""
    return dict(*given, **named)


def render(template: str, variables: dict[str, Any]) -> str:
    """Render a template in the same environment as transformers. Raises anything."""
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
    """Read one line from stdin, write one to stdout."""
    limited()
    try:
        given = json.loads(sys.stdin.buffer.read())
        said = {"text": render(given["template"], given["variables"])}
    except MemoryError:
        said = {"error": TOO_LARGE}
    except RecursionError:
        said = {"error": "it is nested too deeply"}
    except Exception as error:  # a template may raise anything
        said = {"error": f"{error!s:.200}" or type(error).__name__}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
