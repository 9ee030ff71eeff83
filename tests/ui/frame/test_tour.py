"""The run in five stops says numbers of the run that its pages show: computed here from the trace, in other ways."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from builders import saved, tiny_checkpoint
from foreign import foreign_checkpoint, foreign_summary
from in_turn import every
from page_driver import TEXT, address, again, chosen, components, opened, script, told
from pretrained import folder as save_folder
from strangers import SRC, Reader
from streamlit.testing.v1 import AppTest

from viz_transformer import decode, load, read
from viz_transformer.analysis.layers.lens import OWN_STEP, lens, undefined_lens
from viz_transformer.analysis.layers.sublayers import flows
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.contents import list_checkpoints
from viz_transformer.checkpoint.importers.importing import Answers, import_file
from viz_transformer.figures.labels import visible
from viz_transformer.model.kinds import KINDS, SIDE_OF, SIDES
from viz_transformer.running.decoding import Run
from viz_transformer.running.strategies import Sampling
from viz_transformer.ui.frame import maps, questions
from viz_transformer.ui.frame.tour import STOPS
from viz_transformer.ui.pages.attention import page as of_attention
from viz_transformer.ui.pages.decoding import question as of_decoding
from viz_transformer.ui.session import cached, examples
from viz_transformer.ui.session.runs import RunView

PAGES = ("input", "attention", "weight", "layers", "decoding")
BUNDLED = [each.name for each in list_checkpoints()]
MOVES = ["what it reads", "where it looks", "how a weight is made", "what each layer adds", "what it writes"]


def panel(app: AppTest) -> dict[str, Any]:
    """What the panel of a stop is told."""
    found = told(app, "tour")
    found["said"] = " ".join(found["sentences"]).replace("\N{NO-BREAK SPACE}", " ")
    return found


def onward(app: AppTest) -> list[str]:
    """Where the page's links to other stops lead."""
    links = [link.proto for link in app.get("page_link") if "stop=" in link.proto.query_string]
    return [f"{link.page}?{link.query_string}" for link in links]


def percentage(value: float) -> str:
    if value == 1:
        return "100 %"
    return ">99.9 %" if value > 0.9995 else "<0.1 %" if value < 0.001 else f"{100 * value:.1f} %"


# ---- the words


@cache
def run_of(name: str) -> tuple[str, Run]:
    summary = next(each for each in list_checkpoints() if each.name == name)
    text = examples.list_examples(summary)[0]
    return text, decode(load(name), text)


def reads(run: Run, side: Any, at: int) -> str:
    tokens = SIDES[side].of(run.trace.src, run.trace.tgt)
    size = SIDES[side].vocab_size(run.trace.spec)
    return f"“{visible(tokens.tokens[at])}” is token {tokens.ids[at]:,} of {size:,} in the vocabulary"


@pytest.mark.parametrize("name", every(3, BUNDLED))
def test_each_stop_has_the_numbers_of_its_run(name: str) -> None:
    text, run = run_of(name)
    app, trace = script("app.py"), run.trace
    said: dict[str, str] = {}
    for number, page in enumerate(PAGES, start=1):
        app = opened(app, page, checkpoint=name, text=text, stop=str(number))
        found = panel(app)
        assert (found["number"], found["titles"], found["invited"]) == (number, MOVES, True)
        said[page] = found["said"]
    at: Mapping[str, Any] = chosen(app)
    side = "source" if trace.spec.has_encoder else "target"
    assert reads(run, side, at[SIDES[side].field]) in said["input"]
    assert f"its vector of {trace.spec.d_model:,} numbers" in said["input"]
    assert (f"its position, {at[SIDES[side].field]}." in said["input"]) == (
        f"{SIDES[side].stack}.embed.position" in trace
    )
    kind = KINDS[at["kind"]]
    query, key = (at[field] for field in kind.fields)
    site, head = kind.site(at["layer"]), at["heads"][0]
    row = trace[f"{site}.weights"][0, head, query]
    assert int(row.argmax()) == key
    who = f"head {head} of {kind.stack} layer {at['layer']}"
    assert who in said["attention"] and percentage(float(row[key])) in said["attention"]
    keys = kind.keys.of(trace.src_tokens, trace.tgt_tokens)
    assert f"“{visible(keys[key])[:8]}" in said["attention"]
    second = row.topk(min(2, len(row)))[0][-1]
    assert f"with {percentage(float(second))}." in said["attention"] or (row > 0).sum() == 1
    q, k = (trace[f"{site}.{part}"][0, head].double() for part in ("query", "key"))
    dot = float(q[query] @ k[key])
    assert f"= {dot:.4g};" in said["weight"] and f"weight of {percentage(float(row[key]))}." in said["weight"]
    score = float(trace[f"{site}.scores"][0, head, query, key])
    assert f"a score of {score:.4g}." in said["weight"]
    stack, place = kind.stack, at[SIDE_OF[kind.stack].field]
    most = max(flows(trace, stack), key=lambda flow: float(flow.share[place]))
    assert f"in layer {most.place.layer} adds most" in said["layers"]
    assert percentage(float(most.share[place])) in said["layers"]
    if undefined_lens(trace.spec, stack) is None:
        found_lens = lens(trace, load(name).hooked_model, own=run.per_step_rows, rows=range(place, place + 1))
        end = [station for station in found_lens.stations if station != OWN_STEP]
        assert percentage(float(found_lens.top_probs[0, len(end) - 1, 0])) in said["layers"]
    step = run.steps[0]
    own = percentage(math.exp(step.log_prob))
    for sign, word in (("<", "below "), (">", "above ")):
        own = own.replace(sign, word)
    assert f"“{visible(step.token)}”" in said["decoding"] and own in said["decoding"]
    assert f"of {trace.spec.target_vocab_size:,} tokens" in said["decoding"]


# ---- other models


def walk(name: str, text: str, **fields: str) -> list[dict[str, Any]]:
    """The panels of a model's stops, each reached by the link of the one before."""
    app, found = script("app.py").run(), []
    opened(app, "input", checkpoint=name, text=text, stop="1", **fields)
    while True:
        found.append(panel(app))
        page, _, query = onward(app)[-1].partition("?")
        number = int(re.findall(r"stop=(\d)", query)[0])
        if not number:
            assert found[-1]["onward"] == "Back to Run" and page == ""
            return found
        assert found[-1]["onward"].startswith(f"Next ({number} of 5): ")
        opened(app, page or "run", stop=str(number))


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose models the app shows."""
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(tmp_path / "library"))
    (tmp_path / "library").mkdir()
    return tmp_path / "library"


def test_an_encoder_alone_ends_on_run_with_what_it_makes_of_the_text(library: Path) -> None:
    ckpt = saved(tiny_checkpoint("encoder-only"), library / "mine")
    text, spec = "abc", load(ckpt).spec
    *_, last = walk("mine", text, kind="encoder", layer="0")
    assert last["number"] == 5 and last["titles"][-1] == "what it makes of the text"
    count = len(read(load(ckpt), text).trace.src)
    assert f"{count} vectors of {spec.d_model} numbers" in last["said"] or spec.output != "none"


@pytest.mark.parametrize("pooling", ["mean", "none"])
def test_an_encoder_with_labels_says_which_it_gives(pooling: str, library: Path, tmp_path: Path) -> None:
    torch.manual_seed(2)
    model = Reader(pooling).eval()
    torch.save(model.state_dict(), tmp_path / "m.pt")
    names = ["animal", "place", "verb", "number", "other"]
    (tmp_path / "labels.txt").write_text("\n".join(names))
    settings = {"embedding_scale": "one", "n_heads": 3, "pooling": pooling}
    answers = Answers(settings=settings, target_vocab=tmp_path / "labels.txt")
    import_file(tmp_path / "m.pt", library / "mine", answers)
    with torch.no_grad():
        logits = model(torch.tensor([SRC]))[0]
    row = logits if pooling == "mean" else logits[2]
    *_, last = walk("mine", " ".join(map(str, SRC)), i="2", kind="encoder", layer="0")
    best = int(row.argmax())
    assert f"“{names[best]}”, {percentage(float(row.softmax(-1)[best]))}" in last["said"]


@pytest.mark.parametrize(
    ("name", "text", "kind"), [("gpt2", "two hundred", "decoder"), ("bert", "the [MASK] ran", "encoder")]
)
def test_a_folder_of_another_library_is_walked_to_its_end(
    name: str, text: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_folder(tmp_path / "theirs" / name, name)
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(folder))
    reads, looks, computes, adds, ends = walk(name, text, kind=kind, layer="0", heads="1")
    assert "in the vocabulary" in reads["said"] and f"head 1 of {kind} layer 0" in looks["said"]
    assert computes["said"].startswith("This model does not tell that: ")
    assert "adds most at" in adds["said"]
    assert ("The model gave" in ends["said"]) == (name == "gpt2")
    if name == "bert":
        run = read(load(folder), text)
        place = run.trace.src_tokens.index("[MASK]")
        best = float(run.trace["logits"][0, place].softmax(-1).max())
        assert f"of the mask at position {place} it gives “" in ends["said"] and percentage(best) in ends["said"]


def test_a_model_that_tells_little_has_five_stops_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "card.json").write_text("{}")
    summary, ckpt = foreign_summary(tmp_path), foreign_checkpoint()
    monkeypatch.setattr(cached, "summaries", lambda: (summary,))
    monkeypatch.setattr(cached, "checkpoint", lambda _: ckpt)
    found = walk("foreign", "uvw0", kind="decoder", layer="0")
    assert [each["number"] for each in found] == [1, 2, 3, 4, 5] and all(each["said"] for each in found)


# ---- single sentences


def shown_of(ckpt: Checkpoint, text: str, **how: Any) -> RunView:
    summary = next(each for each in list_checkpoints() if each.name == "numbers-any")
    return RunView("A", summary, text, ckpt, decode(ckpt, text, **how))


def test_a_token_that_was_given_or_not_the_likeliest_is_said_to_be() -> None:
    ckpt = tiny_checkpoint()
    given = shown_of(ckpt, "abc", prefix="ab")
    first = given.run.steps[0]
    said = of_decoding.at_stop(given, 0)[0]
    assert said.startswith(f"“{first.token}” was given, not chosen; the model gave it a probability ")
    assert f"number {first.rank + 1}" in said or first.rank == 0
    drawn = shown_of(ckpt, "abc", strategy=Sampling(seed=3), max_steps=8)
    rows = {step.rank: index for index, step in enumerate(drawn.run.steps)}
    rank = max(rows)
    assert rank > 0
    told = of_decoding.at_stop(drawn, rows[rank])
    step = drawn.run.steps[rows[rank]]
    likeliest = step.candidates[0]
    assert told[0].startswith(f"The model wrote “{step.token}”, ") and f"number {rank + 1} of " in told[0]
    assert told[1] == f"The likeliest, “{likeliest.token}”, had {percentage(math.exp(likeliest.log_prob))}."


def test_a_row_with_one_key_an_even_one_and_a_mean_are_said_as_they_are() -> None:
    shown = shown_of(tiny_checkpoint("decoder-only"), "uvw", max_steps=3)
    picture = maps.picture(shown, {"kind": "decoder", "layer": 0, "heads": (0,), "options": ()})
    alone = of_attention.describe_row(shown, picture, "decoder", 0, (0,), 0)
    assert len(alone) == 1 and "could look only at" in alone[0] and alone[0].endswith("got 100 % of its attention.")
    even = replace(picture, values=np.full_like(picture.values, 1 / 4))
    said = of_attention.describe_row(shown, even, "decoder", 0, (0,), 3)
    assert "almost evenly over all 4 tokens; the most, 25.0 %, went to " in said[0]
    mean = maps.picture(shown, {"kind": "decoder", "layer": 0, "heads": "mean", "options": ()})
    asked = questions.where(shown, mean, 3, "mean")
    assert asked is not None
    assert of_attention.describe_row(shown, mean, "decoder", 0, "mean", 3) == (f"{asked.asks} {asked.answer}",)
    broken = replace(picture, values=np.full_like(picture.values, np.nan))
    assert "ot a number" in of_attention.describe_row(shown, broken, "decoder", 0, (0,), 3)[0]


# ---- where it is offered, where it begins and ends


def offered(app: AppTest) -> list[str]:
    return [
        link.proto.label.replace("\u2060", "") for link in app.get("page_link") if "stop=1" in link.proto.query_string
    ]


def test_the_tour_is_offered_beside_the_heading_and_not_once_it_is_hidden() -> None:
    app = script("app.py").run()
    assert offered(app) == ["This run in five stops"]
    app.button(key="tour_over").click().run()
    assert offered(app) == [] and offered(again(app)) == []


def test_the_tour_begins_by_itself_where_the_app_is_opened_without_an_address() -> None:
    app = script("app.py").run()
    found = panel(app)
    assert (found["number"], found["invited"], found["onward"]) == (1, False, "Next (2 of 5): where it looks")
    run = run_of("numbers-any")[1]
    assert chosen(app)["i"] == 1 and reads(run, "source", 1) in found["said"]
    assert "stop" not in address(app)
    assert components(opened(app, "layers"), "tour") == []
    assert components(app.switch_page("pages/run.py").run(), "tour") == []
    other = script("app.py")
    other.query_params["text"] = TEXT
    assert components(again(other), "tour") == []


def test_each_stop_leads_on_and_back() -> None:
    app = script("app.py")
    for number, page in enumerate(PAGES, start=1):
        opened(app, page, stop=str(number))
        back = [f"{PAGES[number - 2]}?stop={number - 1}"] if number > 1 else []
        on = f"{PAGES[number]}?stop={number + 1}" if number < 5 else "?stop=0"
        assert onward(app) == [*back, on]
    assert onward(opened(app, "decoding", stop="5", projector="on")) == ["layers?stop=4&scene=0", "?stop=0&scene=0"]
    assert [each.page for each in STOPS] == ["Input", "Attention", "One weight", "Layers", "Decoding"]


def test_who_goes_to_another_page_than_the_next_stop_has_left_the_tour() -> None:
    app = script("app.py")
    assert panel(opened(app, "input", stop="1"))["number"] == 1
    assert components(app.switch_page("pages/positions.py").run(), "tour") == []
    assert components(app.switch_page("pages/input.py").run(), "tour") == []
    for strange in ("9", "-1", "x"):
        assert components(opened(app, "attention", stop=strange), "tour") == []
        assert "stop" not in address(app)


def test_a_text_that_cannot_be_read_has_the_stop_of_what_is_shown_instead() -> None:
    app = script("app.py")
    found = panel(opened(app, "decoding", text="9" * 90, stop="5"))
    assert "The model gave" in found["said"]


def test_markup_in_a_token_stays_text(library: Path) -> None:
    ckpt = tiny_checkpoint()
    saved(ckpt, library / "mine")
    found = walk("mine", "<b>", kind="cross", layer="0", i="1")
    assert "“<b>” is not in the vocabulary" in found[0]["said"] or "“<" in found[0]["said"]
