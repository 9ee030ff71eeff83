"""Names of before, which README and docs had, lead to the same things for one version more, and say the new name."""

from __future__ import annotations

import importlib

import pytest

import viz_transformer as vt
from viz_transformer.model import hook

OLD = [("ckpt", "anatomy", "spec"), ("ckpt", "instrument", "hooked_model"), ("trace", "anatomy", "spec")]
OLD += [("trace", "reads_ahead", "non_causal_reason"), ("run", "own_rows", "per_step_rows")]


def test_old_names_lead_to_the_same_things_and_say_the_new_ones():
    ckpt = vt.load("copy")
    run = vt.decode(ckpt, "abc")
    of = {"ckpt": ckpt, "run": run, "trace": run.trace}
    for owner, old, new in OLD:
        with pytest.warns(DeprecationWarning, match=rf"{old} is now called {new}$"):
            assert getattr(of[owner], old) is getattr(of[owner], new), old


def test_the_old_module_of_the_hook_has_all_of_its_names():
    tap = importlib.import_module("viz_transformer.model.tap")
    for old, new in (("Recorder", "Recorder"), ("OFF", "OFF"), ("Tap", "Hook")):
        with pytest.warns(DeprecationWarning, match=r"is now called viz_transformer\.model\.hook$"):
            assert getattr(tap, old) is getattr(hook, new)
    with pytest.raises(AttributeError):
        _ = tap.nothing
