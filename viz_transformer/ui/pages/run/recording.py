"""Records the run of the opening view: `python -m viz_transformer.ui.pages.run.recording`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from viz_transformer.checkpoint import load
from viz_transformer.checkpoint.contents import Summary, list_checkpoints
from viz_transformer.running.decoding import decode
from viz_transformer.ui.frame import maps, steps
from viz_transformer.ui.frame.judging import judgement
from viz_transformer.ui.frame.token_strip import answer_text, chip_data
from viz_transformer.ui.pages.run import site, whole_view
from viz_transformer.ui.pages.run.opening_run import FILE, Recording
from viz_transformer.ui.pages.run.question import question
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import RunView


def record() -> Recording:
    """The recording of the opening view, from a live run."""
    chosen = {**state.DEFAULTS}
    summary = next(each for each in list_checkpoints() if each.name == chosen["checkpoint"])
    assert isinstance(summary, Summary)
    ckpt = load(summary.path)
    return make_recording(RunView("A", summary, chosen["text"], ckpt, decode(ckpt, chosen["text"])), chosen)


def make_recording(shown: RunView, chosen: Mapping[str, Any]) -> Recording:
    """The recording of the Run page's payloads for a run and a selection."""
    picture = maps.picture(shown, chosen)
    asked = [question(shown, picture, position, chosen["heads"]) for position in range(len(shown.trace.tgt))]
    return Recording(
        checkpoint=shown.summary.name,
        weights_sha256=shown.trace.weights_sha256,
        text=shown.text,
        answer="".join(answer_text(shown.ckpt, shown.run)),
        chips=orjson.dumps(chip_data(shown.ckpt, shown.run, shown.text, shown.target, judgement(shown).mark)),
        matrix=picture.pack(follows=True),
        scrubber=steps.scrubber_data(shown),
        whole=whole_view.pack_whole_run(shown, site.head_of(shown.trace.spec, chosen), ""),
        questions=orjson.dumps([None if each is None else [each.asks, each.answer] for each in asked]),
    )


if __name__ == "__main__":
    record().save(FILE)
