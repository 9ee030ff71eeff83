"""The command `viz-transformer`. User errors end in one sentence on stderr, never in a traceback.

`app` is parsed here, so that nothing unneeded is imported before its first page: typer alone would take a quarter as
long as all of Streamlit. commands.py has the other commands and every --help.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LONGEST_LINE = 2000
"""Maximum characters of a sentence on stderr: a path alone may have 4,095."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with status 0, 1 for an error, 2 for wrong usage, or 130 for Ctrl-C.

    A training ended by SIGTERM exits with 143.
    """
    for stream in (sys.stdout, sys.stderr):
        # Pipes get UTF-8 everywhere, and any token can be printed to any terminal.
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        status = 1  # the reader of our output has closed it
    except KeyboardInterrupt:
        status = 130
    except Exception as error:
        from viz_transformer.command.commands import sentence_for

        if (sentence := sentence_for(error)) is None:
            raise
        status = fail(sentence)
    try:
        sys.stdout.flush()
    except OSError:  # closed or full: Python would retry at exit, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _run(words: Sequence[str]) -> int:
    options = app_options(words)
    if options is None:
        from viz_transformer.command.commands import run

        return run(words)
    from viz_transformer.command.server import run_app

    run_app(**options)
    return 0


def app_options(words: Sequence[str]) -> dict[str, Any] | None:
    """Arguments of `app` for these options; None for other commands, and for options that need help or an error."""
    if not words or words[0] != "app":
        return None
    options: dict[str, Any] = {"port": None, "browser": True, "window": False, "checkpoints": [], "library": None}
    rest = iter(words[1:])
    for word in rest:
        if word == "--no-browser":
            options["browser"] = False
        elif word == "--window":
            options["window"] = True
        elif word == "--port" and re.fullmatch("[0-9]{1,5}", number := next(rest, "")) and int(number) < 2**16:
            options["port"] = int(number)
        elif word in ("--checkpoints", "--library") and (folder := next(rest, "")) and not folder.startswith("-"):
            if word == "--library":
                options["library"] = Path(folder)
            else:
                options["checkpoints"].append(Path(folder))
        else:
            return None
    return options


def fail(sentence: str, *, status: int = 1) -> int:
    """Print one line, shortened if needed, to stderr; return the exit status."""
    from viz_transformer.sentences import shorten

    print(shorten(" ".join(sentence.split()), LONGEST_LINE), file=sys.stderr)
    return status
