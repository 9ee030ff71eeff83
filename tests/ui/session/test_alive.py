"""Who looks at one model after the other leaves none of their runs behind."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from attack.sessions import MODELS
from in_turn import each_once
from page_driver import opened, script
from streamlit_inside import SafeSessionState

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Trace
from viz_transformer.ui.session import cached, memory, store
from viz_transformer.ui.session.store import MAX_MODELS, MAX_RUNS

MADE = (Run, Trace)
PAGES = ["run", *"decoding input positions attention weight layers tensors masks playground".split()]
KINDS = (Checkpoint, *MADE, SafeSessionState)


@pytest.fixture(autouse=True)
def only_what_comes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What there is already is neither counted nor searched through; what comes is."""
    cached.store().clear()
    gc.collect()
    gc.freeze()
    monkeypatch.setattr(memory, "_frozen", True)  # or the first model that is loaded would freeze what came before it
    frozen = gc.get_freeze_count()
    yield
    assert gc.get_freeze_count() <= frozen  # what is frozen later would not have been counted


def alive() -> Counter[type]:
    """How many objects there are of each of KINDS that some other object refers to, or nothing but a circle."""
    gc.collect()
    return Counter(type(each) for each in gc.get_objects() if type(each) in KINDS)


@pytest.mark.parametrize(("rounds", "max_runs"), [(3, 6), pytest.param(12, MAX_RUNS, marks=pytest.mark.slow)])
def test_six_models_in_turn_leave_no_run_model_or_session_behind(
    rounds: int, max_runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_RUNS", max_runs)
    app, draw, found = script("app.py"), Random(0), list[Counter[type]]()
    for _ in range(rounds):
        for name, text in MODELS.items():
            opened(app, "attention", checkpoint=name, text=text(draw))
        found.append(alive())
    assert found[-1] == found[rounds // 2]  # by then as many runs are kept as are allowed
    kept = found[-1]
    assert max_runs <= kept[Run] <= max_runs + 1 and kept[Checkpoint] <= MAX_MODELS  # and the one that is shown


ONE_MODEL = each_once("page, models", PAGES, [[name] for name in MODELS])
IN_TURN = [pytest.param(page, [*MODELS], marks=pytest.mark.slow) for page in PAGES]


@pytest.mark.parametrize(ONE_MODEL.args[0], [*ONE_MODEL.args[1], *IN_TURN])
def test_a_page_leaves_no_circle_that_holds_a_run(page: str, models: list[str]) -> None:
    """It would wait for a search through all that is alive, which is rare where much is imported."""
    app, draw = script("app.py"), Random(0)
    views = [(name, MODELS[name](draw)) for _ in range(2) for name in models]
    gc.disable()
    try:
        for name, text in views:
            opened(app, page, checkpoint=name, text=text)
        seen = Counter(type(each) for each in gc.get_objects() if type(each) in MADE)
    finally:
        gc.enable()
    assert not seen - alive(), page
