import math

import numpy as np
import pytest

from viz_transformer.figures import candidate_bars
from viz_transformer.payload import unpack

GIVEN = {"chosen": [0, 1], "reads": ["<s>", "a"], "vocabulary": 41, "title": "Candidates"}


def test_each_step_has_its_candidates_the_one_written_and_what_is_left_to_the_others():
    log_probs = [[math.log(0.75), math.log(0.125)], [math.log(0.5), math.log(0.25)]]
    figure = candidate_bars([["a", "<b>"], ["c", "a"]], log_probs, **GIVEN)
    header, arrays = unpack(figure.data)
    words = [token["text"] for token in header["tokens"]]
    assert [[words[place] for place in step] for step in header["candidates"]] == [["a", "<b>"], ["c", "a"]]
    assert header["written"] == [0, 1] and header["vocabulary"] == 41
    assert [token["text"] for token in header["reads"]] == ["<s>", "a"]
    assert np.array_equal(arrays["log_probs"], np.array(log_probs, dtype=np.float32))
    assert arrays["rest"].tolist() == [0.125, 0.25]
    assert (figure.component, figure.chosen, header["name"]) == ("scrubber", {"t": 0}, "candidates")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chosen": [0]}, "2 steps do not fit 2 log-probabilities and 1 chosen"),
        ({"chosen": [0, 2]}, "step 1: there is no candidate 2: candidates go from 0 to 1"),
        ({"reads": ["<s>"]}, "1 tokens read do not fit 2 steps"),
        ({"vocabulary": 1}, "2 candidates do not fit a vocabulary of 1 tokens"),
        ({"tokens": [["a", "a"], ["c", "a"]]}, "a token is twice among the candidates"),
        ({"tokens": [["a"], ["c", "a"]]}, "step 0: 1 tokens do not fit 2 log-probabilities"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message):
    given = {"tokens": [["a", "b"], ["c", "a"]], "log_probs": [[-1.0, -2.0], [-1.0, -2.0]], **GIVEN, **changes}
    with pytest.raises(ValueError, match=message):
        candidate_bars(**given)
