"""Installs what the lock files name into the environment that runs this: `python -m locks.install app`, or `dev`.

Everything is checked by its hash and nothing is compiled; the one package of `dev` without a wheel is packed by the
setuptools that `app` installs. What follows the first word goes to pip. torch has several builds: one that is there in
the right version stays; else the CPU build is taken where pip finds one (on Linux it lies in PyTorch's own index), else
PyPI's, which on Linux needs the GPU libraries.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

LOCKS = Path(__file__).resolve().parent
WITHOUT_WHEEL = "docopt"  # one file of Python, which num2words asks for
FORMATS = ("--only-binary", ":all:", "--no-binary", WITHOUT_WHEEL, "--no-build-isolation")


def torch_installed() -> str:
    """Its version, with "+" and the name of the build if it is not PyPI's; empty if there is none."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def torch_locked() -> str:
    """The version that is to be installed."""
    (version,) = re.findall(r"^torch==(\S+)", (LOCKS / "app.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return str(version)


def install(name: str, *options: str, tried: bool = False) -> None:
    """What a lock file names; one that is only tried may fail, in silence."""
    pip = [sys.executable, "-m", "pip", "install", *options, "--require-hashes", "--no-deps", *FORMATS]
    errors = subprocess.DEVNULL if tried else None
    done = subprocess.run([*pip, "-r", str(LOCKS / f"{name}.txt")], stderr=errors)
    if done.returncode and not tried:
        sys.exit(done.returncode)


def main(what: str, *options: str) -> None:
    if what == "app":
        install("build", *options)
        if torch_installed().split("+")[0] != torch_locked():
            install("cpu", *options, tried=True)
        install("app", *options)
        if "+" not in torch_installed():
            install("gpu", *options)
    else:
        install(what, *options)


if __name__ == "__main__":
    main(*sys.argv[1:])
