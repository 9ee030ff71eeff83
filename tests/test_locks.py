"""The lock files name everything that is installed, at the versions of the requirements, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from locks import install

ROOT = Path(__file__).resolve().parent.parent
DEV = ROOT / "locks" / "dev.txt"
NAMES = ("build", "app", "cpu", "gpu", "dev")
LOCKED = re.compile(r"([a-z0-9-]+)==([^\s;]+)((?: ; [^\\]+)?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def locked(*names: str) -> dict[str, str]:
    """The versions in these lock files, by package."""
    texts = [(ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8") for name in names]
    return {package: version for text in texts for package, version, _, _ in LOCKED.findall(text)}


def pinned(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {
        canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines) if version
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_file_has_versions_with_hashes_and_no_index_or_path(name: str) -> None:
    header, text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8").split("\n", 1)
    assert header == "# Made by `make lock`: do not edit."
    assert text and LOCKED.sub("", text) == ""
    assert all(Marker(marker.removeprefix(" ; ")) for _, _, marker, _ in LOCKED.findall(text) if marker)


def test_the_lock_files_agree_with_the_requirements() -> None:
    for file, names in (("requirements.txt", ("app",)), ("requirements-dev.txt", ("build", "app", "dev"))):
        pins = pinned(file)
        assert pins and pins == {name: version for name, version in locked(*names).items() if name in pins}


def test_the_lock_files_agree_with_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [wanted for extra in project["project"]["optional-dependencies"].values() for wanted in extra]
    versions = locked("build", "app", "dev")
    for wanted in map(Requirement, [*project["project"]["dependencies"], *extras]):
        if wanted.name != project["project"]["name"]:
            assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)])
    for wanted in map(Requirement, project["build-system"]["requires"]):
        assert wanted.specifier.contains(locked("build")[wanted.name])


def test_the_oldest_streamlit_is_tried_and_the_newest_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (supported,) = [each for each in project["project"]["dependencies"] if each.startswith("streamlit")]
    (tried,) = re.findall(r"^VERSION \?= (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    oldest, newest = re.fullmatch(r"streamlit>=(.+),<(.+)", supported).groups()  # type: ignore[union-attr]
    assert tried.startswith(f"{oldest}.")
    assert Requirement(supported).specifier.contains(locked("app")["streamlit"])
    major, minor = locked("app")["streamlit"].split(".")[:2]
    assert newest == f"{major}.{int(minor) + 1}"


@pytest.mark.parametrize("names", [("build",), ("app",), ("build", "app", "dev")])
def test_all_that_a_locked_package_needs_here_is_locked_too(names: tuple[str, ...]) -> None:
    versions = locked(*names)
    checked = 0
    for name, version in versions.items():
        if name not in INSTALLED:
            continue  # of another system
        assert INSTALLED[name].version.split("+")[0] == version
        for wanted in map(Requirement, INSTALLED[name].requires or ()):
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                needed = canonicalize_name(wanted.name)
                assert needed in versions or (name == "torch" and needed in locked("gpu")), f"{name} needs {needed}"
                checked += 1
    assert checked >= len(versions) // 2


INSTALLED = {canonicalize_name(dist.metadata["Name"]): dist for dist in metadata.distributions()}


def test_the_cpu_builds_are_those_of_the_locked_torch() -> None:
    lines = (ROOT / "locks" / "torch-cpu.sha256").read_text(encoding="utf-8").splitlines()
    version = locked("app")["torch"]
    assert locked("cpu") == {"torch": f"{version}+cpu"}
    assert all(line.split()[1].startswith(f"torch-{version}+cpu-cp3") for line in lines)
    digests = re.findall("sha256:(.{64})", (ROOT / "locks" / "cpu.txt").read_text(encoding="utf-8"))
    assert digests == [line.split()[0] for line in lines]


@pytest.mark.parametrize(
    ("there", "found", "installs"),
    [
        ("", "+cpu", ["build", "cpu", "app"]),  # pip finds a CPU build
        ("", "", ["build", "cpu", "app", "gpu"]),  # it finds PyPI's alone
        ("+cu130", "", ["build", "app"]),  # one was chosen before
        ("old", "+cpu", ["build", "cpu", "app"]),
    ],
)
def test_the_build_of_torch_that_was_chosen_stays_and_the_cpu_build_comes_first(
    there: str, found: str, installs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    version = install.torch_locked()
    torch = {"": "", "old": "2.0.0+cpu"}.get(there, version + there)
    done: list[str] = []

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        nonlocal torch
        assert command[:4] == [sys.executable, "-m", "pip", "install"] and command[4] == "--proxy=x"
        assert {"--require-hashes", "--no-deps", *install.FORMATS} < set(command)
        done.append(Path(command[-1]).stem)
        if done[-1] == "cpu" and found:
            torch = version + found
        elif done[-1] == "app" and torch.split("+")[0] != version:
            torch = version
        return subprocess.CompletedProcess(command, returncode=int(done[-1] == "cpu" and not found))

    monkeypatch.setattr(subprocess, "run", pip)
    monkeypatch.setattr(install, "torch_installed", lambda: torch)
    install.main("app", "--proxy=x")
    assert done == installs


def test_one_package_is_installed_from_its_source_by_what_is_locked() -> None:
    """Else pip would refuse it, or fetch what packs it without a hash."""
    one = install.WITHOUT_WHEEL
    formats = ["--only-binary", ":all:", "--no-binary", one, "--no-build-isolation"]
    assert list(install.FORMATS) == formats
    assert one in locked("dev") and "setuptools" in locked("app")
    (hashes,) = (hashes for name, *_, hashes in LOCKED.findall(DEV.read_text(encoding="utf-8")) if name == one)
    assert hashes.count("sha256") == 1  # the source alone: with a wheel the exception is not needed any more


def test_a_package_that_cannot_be_installed_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, returncode=1))
    with pytest.raises(SystemExit) as ended:
        install.main("dev")
    assert ended.value.code == 1
