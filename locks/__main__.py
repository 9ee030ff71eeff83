"""Writes the lock files from requirements.txt, requirements-dev.txt and pyproject.toml: `make lock` does it.

What is locked stays at its version as long as the requirements allow; `make lock ARGS=--upgrade` takes the newest. The
files are in pip's own format, for Linux, macOS and Windows and each Python that has wheels. They name no index.

    build.txt  what builds this package
    app.txt    what the app runs on
    cpu.txt    torch's CPU builds for Linux, which are not on PyPI
    gpu.txt    what torch needs on Linux where it is PyPI's build
    dev.txt    tests, checks and training, on top of the app

The hashes of the CPU builds are kept in torch-cpu.sha256 as PyTorch's index states them, for x86-64 and ARM; when
torch's version changes, that file has to be written anew.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
HEADER = "# Made by `make lock`: do not edit.\n"
GPU = re.compile(r"nvidia-|cuda-|triton$")  # needed by torch alone, on Linux alone
NOT_HERE = "sys_platform == 'emscripten'"  # Python in a browser
ELSEWHERE = re.compile(r"{0} and | and {0}| ; {0}(?! and)".format("sys_platform != 'emscripten'"))
COMPILE = "pip compile -q --universal --python-version 3.11 --fork-strategy fewest --generate-hashes"
Blocks = dict[str, str]  # package -> its line with version and marker, and its hashes


def compiled(requirements: Path, out: Path, *options: str) -> Blocks:
    """All packages that these requirements need, by name; what `out` has already keeps its version."""
    command = [sys.executable, "-m", "uv", *COMPILE.split(), "--no-annotate", "--no-header", *options]
    subprocess.run([*command, str(requirements), "-o", str(out)], check=True, cwd=ROOT)
    blocks: Blocks = {}
    for block in re.split(r"^(?=\S)", out.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name = block.split("==")[0]
        if name in blocks:
            raise SystemExit(f"{name} would need two versions: pin it in the requirements")
        if NOT_HERE not in block:
            blocks[name] = ELSEWHERE.sub("", block)
    return blocks


def cpu_builds(torch: str) -> Blocks:
    """torch's CPU builds for Linux, by the block of PyPI's."""
    version = torch.split()[0].removeprefix("torch==")
    block = f"torch=={version}+cpu ; sys_platform == 'linux'"
    for line in (LOCKS / "torch-cpu.sha256").read_text(encoding="utf-8").splitlines():
        digest, file = line.split()
        if not file.startswith(f"torch-{version}+cpu-"):
            raise SystemExit(
                f"torch-cpu.sha256 has {file}, torch is {version}: write down the hashes of its CPU builds"
            )
        block += f" \\\n    --hash=sha256:{digest}"
    return {"torch": block + "\n"}


def main() -> None:
    files = {name: LOCKS / f"{name}.txt" for name in ("build", "app", "cpu", "gpu", "dev")}
    with tempfile.TemporaryDirectory() as folder:
        everything, some, build = (Path(folder) / name for name in ("everything.txt", "some.txt", "build.in"))
        kept = [file.read_text(encoding="utf-8") for name, file in files.items() if name != "cpu" and file.is_file()]
        pins = re.findall(r"^[^\s#].*(?= \\$)", "".join(kept), flags=re.MULTILINE)  # the hashes are asked for anew
        everything.write_text("\n".join(pins), encoding="utf-8")
        needed = compiled(ROOT / "requirements-dev.txt", everything, *sys.argv[1:])
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        build.write_text("\n".join([*project["build-system"]["requires"], "editables"]), encoding="utf-8")
        locks = {"build": compiled(build, some, "-c", str(everything))}
        app = compiled(ROOT / "requirements.txt", some, "-c", str(everything))
    locks["cpu"] = cpu_builds(app["torch"])
    locks["gpu"] = {name: block for name, block in app.items() if GPU.match(name)}
    locks["app"] = {name: block for name, block in app.items() if name not in locks["gpu"]}
    before = {**locks["build"], **app}
    locks["dev"] = {name: block for name, block in needed.items() if before.get(name) != block}
    for name, blocks in locks.items():
        files[name].write_text(HEADER + "".join(blocks.values()), encoding="utf-8")
        print(f"{files[name].relative_to(ROOT)}: {len(blocks)} packages")


if __name__ == "__main__":
    main()
