"""docs/gallery.py runs, and shows everything that there is."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import plotly.graph_objects as go
import pytest

import viz_transformer as vt
from viz_transformer.figures.components.standalone import HtmlFigure

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "docs" / "gallery.py"
PACKAGES = (vt.figures, vt.analysis)
# Modules without a public name here: what figures are made with, `vt.show`, and what so far only a page needs.
INNER = {
    "figures": {
        *("architecture", "details", "distances", "embeddings", "enlarged", "filling", "labels", "layers", "legend"),
        *("lengths", "number_grids", "one_weight", "playground", "positions", "showing", "template", "theme"),
    },
    "analysis": {
        *("attention.axes", "attention.picture"),
        *(
            "decoding.doubt",
            "decoding.series",
            "inputs.dataset",
            "inputs.embeddings",
            "inputs.round_trip",
            "inputs.vocabulary",
        ),
        *(
            "attention.sharing",
            "layers.experts",
            "layers.lens",
            "layers.sublayers",
        ),
        *("masks.influence", "masks.parts", "masks.mask_rules"),
        *("models.counting", "models.diagnostics", "models.parameters", "models.parts"),
        *("models.snapshots", "models.untrained"),
        *("playground.background", "playground.by_hand", "playground.experiments"),
        *("positions.in_attention", "positions.orders", "positions.pictures", "positions.table"),
        *("tensors.pictures", "tensors.trace_files"),
        *("run.attention", "run.checking", "run.filling", "run.layer", "run.remarks", "run.whole"),
        *("weight.cell_facts", "weight.fused_projection", "weight.ladder", "weight.python_copy"),
        *("weight.row_difference", "weight.step_source", "weight.derivation"),
        *("weight.torch_attention", "weight.weight_numbers"),
    },
}

PRINTED = {f"{vt.analysis.__name__}.{name}" for name in ("hidden_texts", "read_facts", "read_rows")}
"""What a shell prints: of models that the gallery’s is none of, and of texts with unknown words."""


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functions_of(package: ModuleType) -> list[str]:
    return [f"{package.__name__}.{name}" for name in package.__all__]


def test_every_figure_and_every_analysis_is_in_the_gallery(
    gallery: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: set[str] = set()

    def noted(name: str, function: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            used.add(name)
            return function(*arguments, **named)

        return call

    for package in PACKAGES:
        for name in package.__all__:
            monkeypatch.setattr(package, name, noted(f"{package.__name__}.{name}", getattr(package, name)))
    ckpt = vt.load("numbers-tiny")
    run = vt.decode(ckpt, gallery.TEXT)
    shown = [pair for section in gallery.SECTIONS for pair in section(ckpt, run)]
    names = [name for name, _ in shown]
    assert len(set(names)) == len(names) and all(isinstance(figure, go.Figure | HtmlFigure) for _, figure in shown)
    assert all(figure.title if isinstance(figure, HtmlFigure) else figure.layout.title.text for _, figure in shown)
    assert used == {name for package in PACKAGES for name in functions_of(package)} - PRINTED


def test_every_section_of_the_gallery_is_run(gallery: ModuleType) -> None:
    sections = [
        node.name
        for node in ast.parse(SCRIPT.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or ast.Constant(0)) == "Figures"
    ]
    assert [section.__name__ for section in gallery.SECTIONS] == sections


def test_the_script_writes_each_figure_as_a_page_that_needs_no_network(
    gallery: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gallery.main([str(tmp_path / "new")])
    printed = capsys.readouterr().out
    pages = sorted((tmp_path / "new").glob("*.html"))
    assert len(pages) > 10
    assert sorted(line for line in printed.splitlines() if line.endswith(".html")) == [str(page) for page in pages]
    assert (tmp_path / "new" / "plotly.min.js").stat().st_size > 1e6
    for page in pages:
        text = page.read_text(encoding="utf-8")
        stands_alone = 'id="payload"' in text
        needs = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"([^\"]*)", text)
        assert needs == ([] if stands_alone else ["plotly.min.js"])


def test_without_a_folder_it_makes_one(gallery: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(gallery, "SECTIONS", gallery.SECTIONS[-1:])
    gallery.main([])
    assert [page.name for page in tmp_path.glob("gallery-*/*.html")] == ["loss.html"]


def homes(package: ModuleType) -> dict[str, str]:
    """The module of each public name, by the stub that type checkers read."""
    stub = Path(str(package.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: module for module, name in re.findall(r"^from \.([\w.]+) import (\w+) as \2$", stub, re.MULTILINE)}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__.split(".")[-1])
def test_every_module_has_something_public(package: ModuleType) -> None:
    part = package.__name__.split(".")[-1]
    folder = ROOT / "viz_transformer" / part
    found = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")]
    modules = {".".join(each.parts) for each in found if each.name != "__init__" and each.parts[0] != "components"}
    assert modules - INNER[part] == {*homes(package).values()}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__.split(".")[-1])
def test_every_public_name_is_what_its_module_has_and_type_checkers_see_it(package: ModuleType) -> None:
    module_of = homes(package)
    assert set(package.__all__) == set(module_of)
    for name, module in module_of.items():
        assert getattr(package, name).__module__ == f"{package.__name__}.{module}"
        assert getattr(package, name).__name__ == name and name in dir(package)
    with pytest.raises(AttributeError, match="attribute everything"):
        _ = package.everything


def test_a_function_with_its_module_s_name_stays_the_function_when_the_module_is_imported() -> None:
    program = (
        "import viz_transformer as vt\n"
        "import viz_transformer.analysis.attention.rollout, viz_transformer.analysis.attention.head_scores\n"
        "from viz_transformer.analysis.attention.rollout import rollout_view\n"
        "from viz_transformer.analysis import rollout, head_scores\n"
        "assert vt.analysis.rollout is rollout and vt.analysis.head_scores is head_scores\n"
        "print(rollout.__name__, head_scores.__name__, vt.analysis.rollout_view is rollout_view)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.stdout == "rollout head_scores True\n", done.stderr


def test_importing_analysis_and_figures_loads_neither_torch_nor_plotly() -> None:
    program = (
        "import sys, viz_transformer as vt\n"
        "names = [*vt.analysis.__all__, *dir(vt.analysis), *vt.figures.__all__, *dir(vt.figures)]\n"
        "print(len(names) > 60, {'torch', 'plotly', 'numpy', 'spacy', 'streamlit'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.stdout == "True set()\n", done.stderr
