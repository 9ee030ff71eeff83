"""Folders of transformers, gesture by gesture and without a browser: opened by their path, read, masked, edited, taken
from, and keys of a mask closed and opened.

One decoder, one encoder and one with two stacks are walked through by mouse: `browser/test_family_gestures.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from browser.expected import mask_of, weights_of
from page_driver import address, again, all_sent, open_table, opened, select, sent, told, words
from streamlit.testing.v1 import AppTest
from wording import wording

pytest.importorskip("transformers")
from pretrained import ending, folder

from viz_transformer import decode, load, read, trace
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.checkpoint import Checkpoint, folders
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.decoding import Run
from viz_transformer.running.edits import SetMask

FAMILIES: dict[str, KindName] = {
    "gpt2": "decoder",
    "bert": "encoder",
    "t5": "cross",
    "gemma3_text": "decoder",
    "mixtral": "decoder",
    "bloom": "decoder",
}
"""Learned positions, masked tokens, gates and biases in two stacks, windows, experts, and slopes."""
OF_ITS_OWN = {
    "gemma3_text": ("masks", "a query reads the 4 keys that end at its own place, a sliding window"),
    "mixtral": ("layers", "Router: the experts of"),
    "bloom": ("positions", "by a slope for each head"),
}
"""A page that shows what only such a family has, and what stands there."""
TEXT, EDITED = "the cat ran", "a dog"


def made(where: Path, name: str, seed: int) -> Path:
    found = folder(where / name, name, seed=seed)
    return ending(found) if name not in ("gpt2", "bert") else found


@pytest.mark.parametrize("name", FAMILIES)
def test_a_folder_of_each_family_takes_every_gesture(
    app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    other = made(tmp_path / "elsewhere", name, seed=1)
    monkeypatch.setenv(folders.CHECKPOINTS_VARIABLE, str(made(tmp_path / "models", name, seed=0)))
    monkeypatch.setenv(folders.LIBRARY_VARIABLE, str(tmp_path / "library"))
    ckpt, kind = load(other), FAMILIES[name]
    run = decode(ckpt, TEXT) if ckpt.spec.writes else read(ckpt, TEXT)
    opened_by_its_path(app, other, tmp_path / "library")
    opened(app, "attention", text=TEXT, kind=kind, layer="0", heads="1", part="ffn")
    weights, mask = weights_of(run, kind, 0)[1], mask_of(run, kind, 0)
    _, arrays = sent(app, "matrix")
    assert np.array_equal(arrays["values"], weights)
    assert np.array_equal(arrays.get("mask", np.ones_like(mask)), mask)
    table = open_table(app, "attention_matrix").to_numpy()[:, : mask.shape[1]].astype(np.float32)
    assert np.array_equal(table, weights)
    if ckpt.spec.heads(kind, 0).shared > 1:
        app.button(key="attention_shared").click()
        again(app)
        assert address(app)["heads"] == "0,1" and len(all_sent(app, "matrix")) == 2
    if name in OF_ITS_OWN:
        page, said = OF_ITS_OWN[name]
        assert said in words(opened(app, page))
    closed_and_opened(app, ckpt, run)
    if ckpt.spec.writes:
        taken_and_edited(app, ckpt)
    else:
        masked(app, ckpt)


def opened_by_its_path(app: AppTest, other: Path, library: Path) -> None:
    """The other folder of this family, by its path, under a name of its own."""
    name = other.name
    opened(app, "models", model_tab="open", checkpoint=name)
    app.text_input(key="open_weights_path").set_value(str(other))
    again(app)
    box = app.text_input(key="open_name")
    assert box.value == f"{name}-2"  # the app has one of this name already
    box.set_value(f"my-{name}")
    app.button(key="open_button").click()
    again(app)
    assert address(app)["checkpoint"] == f"my-{name}" and (library / f"my-{name}").is_symlink()


def closed_and_opened(app: AppTest, ckpt: Checkpoint, run: Run) -> None:
    """A key is closed to a query, and a later one opened where there is one that is closed: what the rows write or
    fill in then is what they do in Python. Where both are taken back, nothing is changed."""
    read_ids, stack = (run.trace.tgt_ids, "decoder") if ckpt.spec.has_decoder else (run.trace.src_ids, "encoder")
    kind = KINDS[cast(KindName, stack)]
    changes = {(2, 1): False} | ({(1, 2): True} if stack == "decoder" else {})
    sites = [kind.site(layer) for layer in range(kind.layers(ckpt.spec))]
    edits = [SetMask(site, *cell, allowed=allowed) for site in sites for cell, allowed in changes.items()]
    given = [run.trace.src_ids, read_ids] if ckpt.spec.has_encoder and stack == "decoder" else [read_ids]
    before, after = (trace(ckpt, *given, edits=made)["logits"][0].double() for made in ([], edits))
    cells = ",".join(f"{kind.letter}{query}.{key}" for query, key in changes)
    opened(app, "masks", mask_kind=stack, mask_cells=cells)
    header, arrays = sent(app, "masks")
    open_before = arrays["padding"] & arrays["causal"]
    assert header["cells"] == cells.split(",") and {cell: not open_before[cell] for cell in changes} == changes
    moved = float((after - before).abs().max())
    assert moved > 0 and f"{wording('the_largest_change_of_a_logit_is')} {labels.number(moved)}" in words(app)
    select(app, mask_cells=())
    assert "No cell has been changed." in words(again(app)) and "mask_cells" not in address(app)


def taken_and_edited(app: AppTest, ckpt: Checkpoint) -> None:
    """Another candidate of the first step is taken, then the text is edited; what is written follows each time."""
    trunk = decode(ckpt, TEXT)
    other = trunk.steps[0].candidates[2]
    branch = decode(ckpt, TEXT, force={0: other.token_id})
    opened(app, "decoding", branches=f"0.0.{other.token_id}.other", branch="1")
    assert written(app) == [labels.visible(step.token) for step in branch.steps]
    select(app, text=EDITED, t=None, branches=(), branch=0)
    again(app)
    run = decode(ckpt, EDITED)
    assert written(app) == [labels.visible(step.token) for step in run.steps]
    assert address(app)["t"] == str(step_row(run, most_doubtful(run.steps)))  # nobody chooses one


def written(app: AppTest) -> list[str]:
    header, _ = sent(app, "scrubber")
    places = zip(header["candidates"], header["written"], strict=True)
    return [header["tokens"][candidates[place]]["text"] for candidates, place in places]


def masked(app: AppTest, ckpt: Checkpoint) -> None:
    """A token is masked and shown again: what fills it is what the model has there."""
    opened(app, "run", run_view="map", masked="2")
    logits = read(ckpt, TEXT, masked=[2]).trace["logits"][0, 2]
    reads, fills = told(app, "chips")["rows"]
    assert reads["chips"][2]["text"] == "[MASK]"
    assert [chip["text"] for chip in fills["chips"]] == [ckpt.codec("source").names[int(logits.argmax())]]
    select(app, masked=())
    assert len(told(again(app), "chips")["rows"]) == 1
