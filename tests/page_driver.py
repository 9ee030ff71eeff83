"""Pages without a browser: opened by an address, moved on, and read as a visitor and a component read them."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest
from streamlit_inside import local_script_runner, manifest_scanner, script_run_context

from viz_transformer import payload
from viz_transformer.checkpoint import Checkpoint, load
from viz_transformer.running.decoding import Run, decode
from viz_transformer.ui.frame import frame
from viz_transformer.ui.frame.frame import TABLE_ASKED

ROOT = Path(__file__).resolve().parent.parent
TEXT = "29,284.30"
"""The text that the app opens with."""
STALE = (ROOT / "viz_transformer/ui/frame/stale.css").read_text(encoding="utf-8")
SITES = {"encoder": "encoder.{}.self", "decoder": "decoder.{}.self", "cross": "decoder.{}.cross"}

# Each new app reads about every installed package whether it brings components: two thirds of a short test, hence once.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# Each run would compile its scripts anew.
local_script_runner.ScriptCache = cache(local_script_runner.ScriptCache)
# A hash of each message is for a browser that keeps messages.
script_run_context.populate_hash_if_needed = lambda message: None
# There is no browser here to paint a page's picture before the rest of it.
frame.A_MOMENT = 0


# ---- opening and moving on


def script(path: str) -> AppTest:
    """A script of the repository, not yet run: the app, or a page without the app around it."""
    return AppTest.from_file(str(ROOT / path), default_timeout=120)


def drawn(function: Callable[..., None], *given: Any, **address: str) -> AppTest:
    """A function as an app of its own, run with these arguments and this address."""
    return goes_to(AppTest.from_function(function, args=given, default_timeout=120), **address)


def opener(page: str, **always: str) -> Callable[..., AppTest]:
    """What opens this page of an app with an address; `always` stands in it unless a test says otherwise."""
    return lambda app, **address: opened(app, page, **{**always, **address})


def opened(app: AppTest, page: str, **address: str) -> AppTest:
    """The app at this page, with these fields in its address."""
    return goes_to(app.switch_page(f"pages/{page}.py"), **address)


def goes_to(app: AppTest, **address: str) -> AppTest:
    """The same page with these fields in its address, as a link or the Back button gives them."""
    for name, value in address.items():
        app.query_params[name] = value
    return again(app)


def again(app: AppTest) -> AppTest:
    """The app after one more run, which must not fail."""
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def open_table(app: AppTest, key: str) -> pd.DataFrame:
    """The table of the picture, the chart or the button with this key, which opens when its menu's entry is chosen."""
    app.session_state[TABLE_ASKED] = key
    (table,) = in_dialog(again(app))
    return table


def in_dialog(app: AppTest) -> list[pd.DataFrame]:
    """The tables in the open dialog, if there is one."""
    return [table.value for table in app._tree.children[2].dataframe] if 2 in app._tree.children else []


def select(app: AppTest, **fields: Any) -> None:
    """Puts these values into the app's selection, for its next run."""
    app.session_state["selection"] = app.session_state["selection"].changed(fields)


def address(app: AppTest) -> dict[str, str]:
    """The fields that the app has written into its address."""
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


# ---- what is read


def markup(app: AppTest) -> str:
    """The page's own HTML, as it is sent."""
    return "".join(element.proto.body for element in app.get("html"))


def words(app: AppTest) -> str:
    """What a reader sees of that: without markup and style, one blank between words."""
    without_terms = re.sub(r"</?dfn\b[^>]*>", "", markup(app))  # which stand inside of sentences
    return re.sub(r"[ \n]+", " ", html.unescape(re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", without_terms))).strip()


def stale(app: AppTest) -> bool:
    """Whether the page shows another run in the place of one that cannot be made."""
    return STALE in markup(app)


def table_rows(table: str) -> list[list[str]]:
    """The cells of an HTML table, by row."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, flags=re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in rows]


def components(app: AppTest, name: str) -> list[Any]:
    """The components of this name, in their order on the page."""
    return [each.proto for each in app.get("bidi_component") if each.proto.component_name == f"viz_transformer_{name}"]


def all_sent(app: AppTest, name: str) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Header and arrays of each component of this name."""
    return [payload.unpack(component.bytes) for component in components(app, name)]


def sent(app: AppTest, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of the page's one component of this name."""
    (found,) = all_sent(app, name)
    return found


def chosen(app: AppTest) -> dict[str, Any]:
    """What the components of the page are told at the end of a run that is chosen."""
    selections = [json.loads(component.json) for component in components(app, "selection")]
    (found,) = [each["chosen"] for each in selections if "chosen" in each]
    return dict(found)


def told(app: AppTest, name: str) -> dict[str, Any]:
    """What the page's one component of this name is told as JSON."""
    (component,) = components(app, name)
    found: dict[str, Any] = json.loads(component.json)
    return found


def texts(axis: dict[str, Any]) -> list[str]:
    """The tokens along an axis of a component."""
    return [token["text"] for token in axis["tokens"]]


def figures(app: AppTest) -> list[dict[str, Any]]:
    """The charts of the page, as plotly gets them."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def numbers(sent: Any) -> np.ndarray:
    """An array as plotly sends it."""
    if not isinstance(sent, dict):
        return np.array(sent, dtype=float)
    array = np.frombuffer(base64.b64decode(sent["bdata"]), sent["dtype"])
    return array.reshape([int(size) for size in str(sent.get("shape", len(array))).split(",")])


def csv_lines(data: bytes) -> list[list[str]]:
    """The lines of a CSV file, its head first."""
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


# ---- what it must agree with


def the_run(folder: Path, text: str = TEXT, name: str = "numbers", **how: Any) -> Run:
    """A model's run, made without the app; `how` is what `decode` takes.

    The model is loaded once, and its usual run of a text made once, for all tests: both are read and never changed.
    """
    return decode(_model(folder / name), text, **how) if how else _usual_run(folder / name, text)


@cache
def _model(folder: Path) -> Checkpoint:
    return load(folder)


@cache
def _usual_run(folder: Path, text: str) -> Run:
    return decode(_model(folder), text)


def recorded(run: Run, kind: str, layer: int, head: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and mask of one head, [Q, K] each."""
    site = SITES[kind].format(layer)
    weights = run.trace[f"{site}.weights"]
    return weights[0, head].numpy(), run.trace[f"{site}.mask"].expand(weights.shape)[0, head].numpy()


def same_bits(values: np.ndarray, expected: np.ndarray) -> bool:
    """Whether what is drawn are these numbers, as float32 and bit by bit."""
    return values.shape == expected.shape and values.tobytes() == np.asarray(expected, np.float32).tobytes()
