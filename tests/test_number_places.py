"""Places that once said 0.0000, 1.0000, -0.00 or 100 % of numbers that are not."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import pytest

from viz_transformer.checkpoint import describe
from viz_transformer.figures.curves import loss_curves
from viz_transformer.figures.number_grids import full
from viz_transformer.figures.positions import Marks, dimension_curves, row_lengths
from viz_transformer.measuring.comparing import comparison_rows, verdicts
from viz_transformer.running.edits import Scale
from viz_transformer.running.strategies import Sampling
from viz_transformer.ui.frame import number_columns
from viz_transformer.ui.pages.models import card_rows
from viz_transformer.ui.pages.models import view as model_view
from viz_transformer.ui.pages.positions.choices import short

LOSS = {"loss": 3.44e-6, "perplexity": 1.00000344, "split": "test"}


def compared(first: float, second: float, p: float) -> dict[str, object]:
    exact = {"first": first, "second": second, "both": 1, "only_first": 1, "only_second": 1, "neither": 1, "p": p}
    return {"pairs": 10**6, "first": "A", "second": "B", "exact_match": exact, "bleu": None, "chrf": None}


def test_a_small_p_is_not_0_above_the_sentence_that_states_it() -> None:
    result = compared(0.99999, 0.999985, 9.5e-7)
    assert comparison_rows(result)[1] == ("exact match", ">99.99%", ">99.99%", "<+0.01 points", "<0.0001")
    assert "(p = 9.5e-07, " in verdicts(result)[1]
    assert comparison_rows(compared(0.3, 0.3, 0.99999))[1][-2:] == ("0.00 points", ">0.9999")


def test_a_card_has_no_loss_of_0_and_no_perplexity_of_1() -> None:
    assert describe.metric(LOSS) == "loss <0.0001 nats per token, perplexity <1.01, test"
    assert model_view._loss_lines(LOSS)[:2] == ["<0.01 nats per token", "loss, perplexity <1.01"]
    assert card_rows._number(LOSS, "perplexity", LOSS["perplexity"]) == "1.000003"
    assert describe.number(0.99999) == ">0.9999" and describe.number(1.0) == "1.0000"
    assert model_view.percent(0.000001) == "<0.01 %" and model_view.percent(0.0) == "0 %"


def test_a_setting_beside_1_is_not_called_1() -> None:
    assert "temperature 0.9999999" in str(Sampling(temperature=0.9999999))
    assert "1.0000001" in Scale("decoder.0.self.weights", 1.0000001).caption()


def test_the_tooltips_of_a_loss_and_of_a_table_of_positions_round_to_no_0_and_no_1() -> None:
    losses = loss_curves({"training": ([1, 2], [0.5, 3.4e-6])}, title="")
    assert list(losses.data[0].text) == ["0.5000", "&lt;0.0001"]
    table = np.array([[0.0, 1.0], [1e-8, 0.99999994], [-1e-8, -0.99999994]], np.float32)
    curves = dimension_curves(table, [0, 1], ["0", "1"], Marks(position=0, read=3), title="")
    said = [[html.unescape(each) for each in trace.customdata] for trace in curves.data if trace.customdata is not None]
    assert said == [["0.000000", "<0.000001", ">-0.000001"], ["1.000000", ">0.999999", "<-0.999999"]]
    lengths = row_lengths([1e-9, 2.0], Marks(position=0, read=2), title="")
    assert [html.unescape(each) for each in lengths.data[0].customdata] == ["<0.0001", "2.0000"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (1.00003, "1.00003"), (0.99996, "0.99996"), (1e-9, "1e-09"), (-0.5, "-0.5"), (-0.0, "0")],
)
def test_a_number_of_the_playground_keeps_the_digits_that_tell_it_from_0_and_1(value: float, text: str) -> None:
    assert full(value) == text
    assert short(value) == text.replace("1e-09", "1.0\u00a0·\u00a010⁻⁹")


@pytest.mark.parametrize("values", [[0.5, 0.25], [0.999999999, 1.0], [1 - 2**-53], [1 + 2**-52, 3.0], [-0.9999999, 0]])
def test_a_column_has_the_digits_that_tell_its_numbers_from_1(values: list[float]) -> None:
    digits = number_columns.enough(values, 6)
    assert [abs(float(f"{value:.{digits}g}")) == 1 for value in values] == [abs(value) == 1 for value in values]
    assert (digits == 6) == (values == [0.5, 0.25])


def test_a_table_formats_its_fractions_and_nothing_else() -> None:
    frame = pd.DataFrame({"step": [0, 1], "p": [0.5, 0.99999999], 0: np.array([1, 2], np.float32), "token": ["a", "b"]})
    assert set(number_columns.number_columns(frame)) == {"p", "0"}
    assert number_columns.number_columns(frame)["p"]["type_config"]["format"] == "%.9g"
