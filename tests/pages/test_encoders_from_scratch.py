"""Run of an encoder from scratch: its labels as bars, of the text or of each token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from page_driver import words
from strangers import SRC, Reader
from streamlit.testing.v1 import AppTest

from viz_transformer.checkpoint.importers.importing import Answers, import_file

NAMES = ["animal", "place", "verb", "number", "other"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], torch.Tensor]:
    """Keeps an encoder that pools so in the library, as "mine"; returns its logits."""
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(tmp_path / "library"))

    def keep(pooling: str) -> torch.Tensor:
        torch.manual_seed(2)
        model = Reader(pooling).eval()
        torch.save(model.state_dict(), tmp_path / "m.pt")
        (tmp_path / "labels.txt").write_text("\n".join(NAMES))
        settings = {"embedding_scale": "one", "n_heads": 3, "pooling": pooling}
        answers = Answers(settings=settings, target_vocab=tmp_path / "labels.txt")
        import_file(tmp_path / "m.pt", tmp_path / "library" / "mine", answers)
        with torch.no_grad():
            return model(torch.tensor([SRC]))[0]  # type: ignore[no-any-return]

    return keep


TEXT = " ".join(map(str, SRC))


@pytest.mark.parametrize("pooling", ["mean", "none"])
def test_run_has_the_labels_of_the_text_or_of_the_chosen_token(
    pooling: str, alone: Callable[..., AppTest], kept: Callable[[str], torch.Tensor]
) -> None:
    logits = kept(pooling)
    said = words(alone("run", checkpoint="mine", text=TEXT, run_view="map", i="2"))
    best = NAMES[int((logits if pooling == "mean" else logits[2]).argmax())]
    asked = "What does the model make of" if pooling == "mean" else "Which label has “7”?"
    assert asked in said and f"“{best}”, " in said
    gives = "gives it one of 5 labels" if pooling == "mean" else "gives each token of a text one of 5 labels"
    assert gives in said and "no output layer" not in said


@pytest.mark.parametrize("pooling", ["mean", "none"])
@pytest.mark.parametrize("page", ["run", "input", "positions", "attention", "weight", "layers", "tensors", "masks"])
def test_each_page_shows_it(
    page: str, pooling: str, alone: Callable[..., AppTest], kept: Callable[[str], torch.Tensor]
) -> None:
    kept(pooling)
    alone(page, checkpoint="mine", text=TEXT)


@pytest.mark.parametrize("tab", ["card", "architecture", "doctor"])
def test_models_shows_it(tab: str, alone: Callable[..., AppTest], kept: Callable[[str], torch.Tensor]) -> None:
    kept("mean")
    said = words(alone("models", checkpoint="mine", text=TEXT, model_tab=tab))
    assert tab != "card" or "pooling mean" in said
