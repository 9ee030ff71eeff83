from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import viz_transformer

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


SHIPPED = ("numbers-any", "numbers", "numbers-tiny", "copy", "taylor-2terms")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel, as `pip install .` leaves it in another environment."""
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)
    return folder


def run_installed(installed: Path, program: str) -> str:
    """What a program prints that sees the unpacked wheel before any other installation."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=installed.parent, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_brings_one_package_and_no_module_named_app(wheel: zipfile.ZipFile) -> None:
    version = viz_transformer.__version__
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert top == {"viz_transformer", f"viz_transformer-{version}.dist-info"}


def test_the_wheel_brings_the_types_the_app_and_the_licence(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    app = ["app.py", ".streamlit/config.toml", *(f"pages/{page.name}" for page in (ROOT / "pages").glob("*.py"))]
    assert len(app) > 2
    assert names >= {"viz_transformer/py.typed", *(f"viz_transformer/_app/{name}" for name in app)}
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]


def test_the_wheel_brings_all_files_of_the_small_checkpoints_only(wheel: zipfile.ZipFile) -> None:
    prefix = "viz_transformer/_app/checkpoints/"
    packed = {name.removeprefix(prefix) for name in wheel.namelist() if name.startswith(prefix)}
    folders = [ROOT / "checkpoints" / name for name in SHIPPED]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert packed == {file.relative_to(ROOT / "checkpoints").as_posix() for file in files}


def test_an_editable_install_copies_nothing(tmp_path: Path) -> None:
    program = "import sys, hatchling.build as build; print(build.build_editable(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as editable:
        (path,) = (name for name in editable.namelist() if ".dist-info/" not in name)
        assert path.endswith(".pth") and editable.read(path).decode().strip() == str(ROOT)


def test_the_source_package_brings_the_same_checkpoints(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as package:
        parts = [name.split("/") for name in package.getnames()]
    assert {part[2] for part in parts if part[1] == "checkpoints"} == set(SHIPPED)


def test_an_installed_app_without_the_extra_of_folders_draws_its_first_page_and_its_command_finds_its_checkpoints(
    installed: Path,
) -> None:
    program = (
        "import sys\n"
        "for name in ('transformers', 'tokenizers', 'sentencepiece', 'huggingface_hub'):\n"
        "    sys.modules[name] = None  # what is not installed\n"
        "from streamlit.testing.v1 import AppTest\n"
        "from viz_transformer.command import main\n"
        "from viz_transformer.command.server import entry_script\n"
        "app = AppTest.from_file(str(entry_script()), default_timeout=100).run()\n"
        "print(entry_script(), [error.value for error in app.exception], [title.value for title in app.title])\n"
        "import viz_transformer as vt\n"
        "print(vt.decode(vt.load('copy'), 'abc').text)\n"
        "from viz_transformer import huggingface\n"
        "print(huggingface.lacking())\n"
        "main(['list'])"
    )
    lines = run_installed(installed, program).splitlines()
    page = lines.index(f"{installed / 'viz_transformer' / '_app' / 'app.py'} [] ['Run']")
    assert lines[page + 1 : page + 3] == ["abc", "transformers"]
    assert [line.split()[0] for line in lines[page + 3 :]] == ["name", *sorted(SHIPPED)]


def test_requirements_pin_what_the_project_asks_for() -> None:
    asked = {wanted.name: wanted for wanted in map(Requirement, PROJECT["dependencies"])}
    extras = {name: [*map(Requirement, wanted)] for name, wanted in PROJECT["optional-dependencies"].items()}
    beside = [wanted for name in ("notebook", "train", "hf", "dev") for wanted in extras[name]]
    developed = {wanted.name: wanted for wanted in beside if wanted.name != PROJECT["name"]}
    for file, wanted in (("requirements.txt", asked), ("requirements-dev.txt", developed)):
        pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE))
        assert set(pins) == set(wanted)
        assert all(wanted[name].specifier.contains(version) for name, version in pins.items())


def test_every_public_name_is_found_and_stays_the_same() -> None:
    for name in viz_transformer.__all__:
        assert getattr(viz_transformer, name) is getattr(viz_transformer, name)
    assert callable(viz_transformer.trace) and callable(viz_transformer.decode)
    with pytest.raises(AttributeError, match="attribute trace_"):
        _ = viz_transformer.trace_


def test_type_checkers_see_the_public_names() -> None:
    stub = Path(viz_transformer.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    seen = re.findall(r"^from \.\S* import (\w+) as \1$", stub, flags=re.MULTILINE)
    assert {*seen, "__version__"} == set(viz_transformer.__all__)
