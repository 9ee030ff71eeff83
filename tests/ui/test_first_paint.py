"""What the page needs before anything is painted is light."""

import json
import subprocess
import sys
from pathlib import Path

from served import serving
from visiting import visit

ROOT = Path(__file__).resolve().parents[2]
BARE = 'import streamlit as st\nst.title("bare")\n'
# Serves an app as its command does, and writes what is imported when the first heading is sent into a file.
SERVED = """
import json, sys
from pathlib import Path
from streamlit.delta_generator import DeltaGenerator

script, out = sys.argv[1:]
enqueue = DeltaGenerator._enqueue

def watched(self, kind, *given, **more):
    if kind == "heading" and not Path(out).exists():
        Path(out).write_text(json.dumps(sorted(sys.modules)))
    return enqueue(self, kind, *given, **more)

DeltaGenerator._enqueue = watched
if script:
    from viz_transformer.command import server
    listening, _ = server.bind(0)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    server.serve(Path(script), listening)
else:
    from viz_transformer.command import main
    main(["app", "--no-browser", "--port", "0"])
"""
HEAVY = ("torch", "spacy", "transformers", "tokenizers", "huggingface_hub", "lightning")


def imported_by(code: str) -> str:
    check = f"{code}\nimport sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_frame_and_pages_without_a_run_import_nothing_heavy():
    frame = "frame.frame", "frame.controls", "frame.pictures"
    folders = "models.view", "models.model_tabs", "playground.view", "run.opening_run", "run.places"
    modules = [f"viz_transformer.ui.{name}" for name in (*frame, *(f"pages.{name}" for name in folders))]
    assert imported_by(f"import {', '.join(modules)}") == "[]"


def imported_before_the_heading(script: str, folder: Path) -> set[str]:
    """The modules there are when a new server sends its first visitor a heading; "" is the app itself."""
    out = folder / "modules.json"
    with serving([sys.executable, "-c", SERVED, script, str(out)], folder / "app.log") as address:
        next(message for message in visit(address) if message.delta.new_element.HasField("heading"))
    return set(json.loads(out.read_text()))


def test_the_heading_waits_for_these_imports_and_no_others(tmp_path):
    (tmp_path / "bare.py").write_text(BARE, encoding="utf-8")
    (tmp_path / "bare").mkdir()
    bare = imported_before_the_heading(str(tmp_path / "bare.py"), tmp_path / "bare")
    ours = imported_before_the_heading("", tmp_path)
    assert {name for name in ours if name.partition(".")[0] == "viz_transformer"} == {
        "viz_transformer",
        "viz_transformer.command",
        "viz_transformer.command.batches",
        "viz_transformer.command.server",
        "viz_transformer.command.serving",
        "viz_transformer.checkpoint",
        "viz_transformer.checkpoint.folders",
        "viz_transformer.extensions",
        "viz_transformer.ui.session.memory",
        "viz_transformer.ui",
        "viz_transformer.ui.compat",
        "viz_transformer.ui.frame",
        "viz_transformer.ui.session",
        "viz_transformer.ui.frame.opening",
        "viz_transformer.ui.frame.style",
        "viz_transformer.figures",
        "viz_transformer.figures.theme",
        "viz_transformer.model",
        "viz_transformer.model.kinds",
    }
    libraries, of_bare = ({name.partition(".")[0] for name in names} for names in (ours, bare))
    assert libraries - of_bare - {"lazy_loader"} <= sys.stdlib_module_names  # ours is served by modules of ours in both
    assert not {"numpy", "pandas", "torch", "typer"} & ours


def test_title_box_and_controls_are_drawn_before_torch_is_imported(tmp_path):
    model = {"source_vocab_size": 17, "target_vocab_size": 41, "encoder_layers": 3, "decoder_layers": 3}
    config = {"format_version": 1, "model": {**model, "d_model": 256, "n_heads": 4, "d_ff": 1024}}
    (tmp_path / "numbers-any").mkdir()
    (tmp_path / "numbers-any" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "numbers-any" / "card.json").write_text(json.dumps({"task": "numbers-any"}), encoding="utf-8")
    code = f"""
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
from viz_transformer.checkpoint import contents
from viz_transformer.ui.session import cached

def stop(summary):
    assert "torch" not in sys.modules
    raise ValueError("stopped before the model")

contents.bundled_folder = lambda: Path({str(tmp_path)!r})
cached.checkpoint = stop
app = AppTest.from_file("app.py", default_timeout=30).run()
assert not app.exception, app.exception
assert [title.value for title in app.title] == ["Run"]
assert app.text_area(key="run_text").value == "29,284.30"
assert "viz_transformer_locator" in [each.proto.component_name for each in app.get("bidi_component")]
assert any("stopped before the model" in element.proto.body for element in app.get("html"))
"""
    assert imported_by(code) == "[]"
