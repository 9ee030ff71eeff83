"""Who looks at one model after the other leaves none of their runs behind."""

from __future__ import annotations

import gc
from collections import Counter
from random import Random

import pytest
from attack.sessions import MODELS
from in_turn import each_once
from page_driver import opened, script
from streamlit_inside import SafeSessionState

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Trace
from viz_transformer.ui.session import cached, store
from viz_transformer.ui.session.store import MAX_MODELS, MAX_RUNS

MADE = (Run, Trace)
PAGES = ["run", *"decoding input positions attention weight layers tensors masks playground".split()]
KINDS = (Checkpoint, *MADE, SafeSessionState)


def alive() -> Counter[type]:
    """How many objects there are of each of KINDS that some other object refers to, or nothing but a circle."""
    gc.collect()
    return Counter(type(each) for each in gc.get_objects() if type(each) in KINDS)


@pytest.mark.parametrize(("rounds", "max_runs"), [(4, 6), pytest.param(12, MAX_RUNS, marks=pytest.mark.slow)])
def test_six_models_in_turn_leave_no_run_model_or_session_behind(
    rounds: int, max_runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_RUNS", max_runs)
    gc.unfreeze()  # what was frozen is not counted
    cached.store().clear()
    app, draw, before, found = script("app.py"), Random(0), alive(), list[tuple[Counter[type], int]]()
    for _ in range(rounds):
        for name, text in MODELS.items():
            opened(app, "attention", checkpoint=name, text=text(draw))
        found.append((alive() - before, gc.get_freeze_count()))
    assert found[-1] == found[rounds // 2]  # by then as many runs are kept as are allowed
    kept, _ = found[-1]
    assert max_runs <= kept[Run] <= max_runs + 1 and kept[Checkpoint] <= MAX_MODELS  # and the one that is shown


ONE_MODEL = each_once("page, models", PAGES, [[name] for name in MODELS])
IN_TURN = [pytest.param(page, [*MODELS], marks=pytest.mark.slow) for page in PAGES]


@pytest.mark.parametrize(ONE_MODEL.args[0], [*ONE_MODEL.args[1], *IN_TURN])
def test_a_page_leaves_no_circle_that_holds_a_run(page: str, models: list[str]) -> None:
    """It would wait for a search through all that is alive, which is rare where much is imported."""
    cached.store().clear()
    app, draw = script("app.py"), Random(0)
    views = [(name, MODELS[name](draw)) for _ in range(2) for name in models]
    alive()
    gc.disable()
    try:
        for name, text in views:
            opened(app, page, checkpoint=name, text=text)
        seen = Counter(type(each) for each in gc.get_objects() if type(each) in MADE)
    finally:
        gc.enable()
    assert not seen - alive(), page
