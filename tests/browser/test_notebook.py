"""A picture in a JupyterLab that runs: what is picked in it comes to Python, and what Python sets to the picture."""

import json
import re
import sys
from ast import literal_eval
from contextlib import contextmanager

import pytest
from browser.driving import GRID, MATRIX, drawn, expect_ring, is_ours, survey, thumbnail
from playwright.sync_api import expect
from served import ROOT, serving
from tabs import tab

TOKEN = "of-the-tests"
RUN = 'import viz_transformer as vt\nrun = vt.decode(vt.load("numbers-tiny"), "12")'
MAP = 'vt.show(run, "decoder.1.cross", head={})'


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory):
    """The address of a JupyterLab, and its folder of notebooks; it has no settings but its own."""
    own = tmp_path_factory.mktemp("jupyter")
    folder, settings = own / "notebooks", own / "JUPYTER_CONFIG_DIR"
    for each in (folder, settings / "labconfig"):
        each.mkdir(parents=True)
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (settings / "labconfig" / "page_config.json").write_text(json.dumps(quiet), encoding="utf-8")
    environment = {name: str(own / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    environment |= {"IPYTHONDIR": str(own / "ipython"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    command += [f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={TOKEN}"]
    command += ["--LabApp.extension_manager=readonly"]  # the other one asks PyPI
    with serving(command, own / "log.txt", **environment) as address:
        yield address, folder


@contextmanager
def notebook(browser, jupyter, *cells):
    """The page of a notebook with these cells, none of which has run, and its file; errors and requests to elsewhere
    fail the test."""
    address, folder = jupyter
    name = f"{len([*folder.iterdir()])}.ipynb"
    content = {
        "cells": [
            {"cell_type": "code", "id": str(n), "metadata": {}, "source": cell, "outputs": [], "execution_count": None}
            for n, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    problems = []
    with tab(browser, problems, viewport={"width": 1280, "height": 1400}) as page:
        page.on("request", lambda request: None if is_ours(request.url, address) else problems.append(request.url))
        begin(page, f"{address}/doc/tree/{name}?token={TOKEN}")
        yield page, folder / name
        assert problems == []


def begin(page, address):
    """Open a notebook, with a kernel of its own that is ready."""
    page.goto(address)
    expect(page.locator(".jp-StatusBar-Left")).to_contain_text("| Idle")


def ran(page, number):
    """The output of a cell, when it has run."""
    cell = page.locator(".jp-Cell").nth(number)
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    expect(cell.locator(".jp-InputArea-prompt")).to_have_text(re.compile(r"\[\d+\]:"))
    return cell.locator(".jp-Cell-outputArea")


def said(page, number):
    """The value that a cell says, when it has run."""
    return literal_eval(ran(page, number).locator("pre").inner_text())


def shown(output, stage=MATRIX, label=""):
    """The picture in a cell's output, or in one of its outputs."""
    return drawn(output.frame_locator("iframe"), stage, label)


def test_what_is_picked_is_known_in_the_next_cell_and_to_linked_pictures_and_what_is_set_is_shown(browser, jupyter):
    cells = (f"{RUN}\nfirst = {MAP.format(1)}\nfirst", "first.selection", 'first.selection = {"t": 3, "i": 2}', "first")
    cells += ("heard = []\nfirst.observe(heard.append, 'selection')", "len(heard)")
    cells += tuple(f"{name} = {MAP.format(head)}\n{name}" for name, head in (("second", 0), ("other", 2)))
    cells += ("vt.link(first, second)", "[each.selection for each in (first, second, other)]")
    with notebook(browser, jupyter, *cells) as (page, _):
        stage = shown(ran(page, 0), label="decoder layer 1, head 1")
        where = survey(stage)
        stage.click(position=where.at(2, 1))
        expect_ring(stage, where.at(2, 1))
        assert said(page, 1) == {"t": 2, "i": 1}
        ran(page, 2)
        expect_ring(stage, where.at(3, 2))
        again = shown(ran(page, 3))  # the same picture a second time
        expect_ring(again, where.at(3, 2))
        ran(page, 4)
        again.click(position=where.at(1, 1))
        expect_ring(stage, where.at(1, 1))
        assert said(page, 5) == 1
        second, other = (shown(ran(page, number)) for number in (6, 7))
        other.click(position=where.at(3, 3))
        ran(page, 8)
        again.click(position=where.at(1, 2))
        expect_ring(second, where.at(1, 2))
        expect_ring(other, where.at(3, 3))  # it is not linked
        second.click(position=where.at(2, 0))
        expect_ring(again, where.at(2, 0))
        assert said(page, 9) == [{"t": 2, "i": 0}, {"t": 2, "i": 0}, {"t": 3, "i": 3}]


@pytest.mark.slow
def test_a_saved_notebook_shows_the_picture_when_its_kernel_is_gone(browser, jupyter):
    address, _ = jupyter
    array = 'own = vt.show(vt.Picture.of([[0, 1], [2, 3]], title="Own", rows=["a", "b"], columns=["c", "d"]))'
    array = f"import viz_transformer as vt\n{array}\nown"
    with notebook(browser, jupyter, array, "own.selection") as (page, file):
        stage = shown(ran(page, 0))
        where = survey(stage)
        stage.click(position=where.at(1, 0))
        assert said(page, 1) == {"row": 1, "column": 0}
        with page.expect_response(lambda response: response.request.method == "PUT" and file.name in response.url):
            page.keyboard.press("Control+s")
        for kernel in page.request.get(f"{address}/api/sessions?token={TOKEN}").json():
            if kernel["path"] == file.name:
                page.request.delete(f"{address}/api/sessions/{kernel['id']}?token={TOKEN}")
        begin(page, f"{address}/doc/tree/{file.name}?token={TOKEN}")
        stage = shown(page.locator(".jp-Cell").nth(0))
        stage.click(position=where.at(1, 1))
        expect_ring(stage, where.at(1, 1))
    saved = json.loads(file.read_text(encoding="utf-8"))
    assert saved["cells"][0]["outputs"][0]["data"].keys() == {"text/plain", "text/html"}


@pytest.mark.slow
def test_heads_that_are_picked_are_those_of_a_linked_picture_of_the_whole_run(browser, jupyter):
    cells = (RUN, 'heads = vt.show(run, "cross")\nheads', 'whole = vt.show(run, "run")\nwhole', "vt.link(whole, heads)")
    cells += ("whole.selection", 'heads.selection = heads.selection | {"level": "layer"}')
    with notebook(browser, jupyter, *cells) as (page, _):
        ran(page, 0)
        grid = shown(ran(page, 1), GRID)
        whole = ran(page, 2).frame_locator("iframe")
        whole.locator(".whole .stage[data-level=run][data-painted]").wait_for()
        ran(page, 3)
        grid.click(position=thumbnail(grid, "layer 1, head 2"))
        picked = said(page, 4)
        assert (picked["kind"], picked["layer"], picked["heads"]) == ("cross", 1, [2])
        ran(page, 5)
        whole.locator(".whole .stage[data-level=layer]:not([data-moving])").wait_for()
