"""What the page needs before anything is painted is light."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "spacy", "transformers", "lightning")


def imported_by(code: str) -> str:
    check = f"{code}\nimport sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_frame_of_the_page_imports_nothing_heavy():
    assert imported_by("import viz_transformer.ui.frame, viz_transformer.ui.model_view") == "[]"


def test_title_box_and_controls_are_drawn_before_torch_is_imported(tmp_path):
    model = {"source_vocab_size": 17, "target_vocab_size": 41, "encoder_layers": 3, "decoder_layers": 3}
    config = {"format_version": 1, "model": {**model, "d_model": 256, "n_heads": 4, "d_ff": 1024}}
    (tmp_path / "numbers").mkdir()
    (tmp_path / "numbers" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "numbers" / "card.json").write_text(json.dumps({"task": "numbers"}), encoding="utf-8")
    code = f"""
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
from viz_transformer.checkpoint import contents
from viz_transformer.ui import cached

def stop(summary):
    assert "torch" not in sys.modules
    raise ValueError("stopped before the model")

contents.bundled_folder = lambda: Path({str(tmp_path)!r})
cached.checkpoint = stop
app = AppTest.from_file("app.py", default_timeout=30).run()
assert not app.exception, app.exception
assert [title.value for title in app.title] == ["Run"]
assert app.text_input(key="run_text").value == "29,284.30"
assert any("stopped before the model" in element.proto.body for element in app.get("html"))
"""
    assert imported_by(code) == "[]"
