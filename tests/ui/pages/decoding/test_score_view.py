"""A given answer, as it is drawn and said."""

import math
import re

import pytest
from builders import tiny_checkpoint
from page_driver import drawn, words
from showing import shown_of
from wording import wording

from viz_transformer.analysis.decoding.scoring import ScoredToken, TargetScore, run_score, target_score
from viz_transformer.running.decoding import decode
from viz_transformer.ui.pages.decoding import score_view


@pytest.fixture(scope="module")
def scored():
    return shown_of(tiny_checkpoint(), "abc", "u€w")


def score(*log_probs, ranks=None):
    ranks = ranks or [0] * len(log_probs)
    tokens = [
        ScoredToken(i, "u", 4, p, rank, *(("v", 5, -0.1) if rank else ("u", 4, p)))
        for i, (p, rank) in enumerate(zip(log_probs, ranks, strict=True))
    ]
    return TargetScore(tuple(tokens), ended=True)


def rows_of(page):
    return re.findall(r'<tr class="([^"]*)"><th>(.*?)</tr>', page)


def test_each_token_has_its_numbers_and_what_the_model_would_have_written(scored):
    found = target_score(scored.run)
    rows = rows_of(score_view.tokens_html(found, scored))
    assert len(rows) == len(found.tokens) == 4
    for (style, row), token in zip(rows, found.tokens, strict=True):
        values = re.findall(r"<td[^>]*>(.*?)</td>", row)
        assert values[:3] == [f"{token.probability:.4f}", f"{token.log_prob:.2f}", str(token.rank + 1)]
        assert f"--p: {token.probability:.4f}" in row
        if token.rank:
            best = token.best.replace("<", "&lt;").replace(">", "&gt;")
            assert style == "vt-scored-missed" and values[3] == f"<b>{best}</b> ({token.best_probability:.4f})"
        else:
            assert style == "" and values[3] == "the same"
    assert any(token.rank for token in found.tokens)


def test_unknown_text_is_shown_as_it_was_typed_and_as_the_model_reads_it(scored):
    rows = rows_of(score_view.tokens_html(target_score(scored.run), scored))
    assert [("€" in row, "&lt;unk&gt;" in row.split("</th>")[0]) for _, row in rows] == [
        (False, False),
        (True, True),
        (False, False),
        (False, False),
    ]


def test_totals_stand_beside_those_of_the_models_answer():
    found, own = score(math.log(0.5), math.log(0.125), ranks=[0, 2]), score(math.log(0.25))
    page = score_view.totals_html(("your text", found), ("the <model>", own))
    assert "the &lt;model&gt;" in page
    rows = {name: values for name, *values in re.findall(r"<th>([^<]*)</th><td>([^<]*)</td><td>([^<]*)</td>", page)}
    assert rows == {
        "tokens": ["2", "1"],
        "log-probability": ["-2.77", "-1.39"],
        "per token": ["-1.39", "-1.39"],
        "perplexity per token": ["4.00", "4.00"],
        wording("not_the_models_first_choice"): ["1 of 2", "0 of 1"],
    }


def test_sums_of_different_lengths_are_said_not_to_compare():
    said = " ".join(score_view.score_sentences(score(-0.1, -0.2), score(-0.1)))
    assert wording("texts_of_different_lengths_do_not_compare", 2, 1) in said
    assert "compare" not in " ".join(score_view.score_sentences(score(-0.1), score(-0.2)))
    assert wording("finds_your_text_more_probable") in " ".join(score_view.score_sentences(score(-0.1), score(-0.2)))
    assert "more probable" not in " ".join(score_view.score_sentences(score(-0.3), score(-0.2)))


def test_the_first_other_choice_is_said():
    assert wording("first_at_step_instead_of", 2, "v", "u") in " ".join(
        score_view.score_sentences(score(-0.1, -3, ranks=[0, 4]), score(-1))
    )
    assert wording("greedy_decoding_writes_this_text") in " ".join(score_view.score_sentences(score(-0.1), score(-1)))


def test_a_token_that_shares_its_place_with_the_one_of_greedy_decoding_is_said_to(scored):
    tied = TargetScore((ScoredToken(0, "w", 6, -0.7, 0, "u", 4, -0.7),), ended=True)
    said = " ".join(score_view.score_sentences(tied, score(-1)))
    assert wording("only_as_probable_as", 1, "w", "u") in said
    assert wording("greedy_decoding_writes_this_text") not in said
    assert "<b>u</b> (equally probable)" in score_view.tokens_html(tied, scored)


def test_the_end_token_is_said_to_be_counted():
    assert wording("the_end_token_is_one_of_them") in score_view.score_sentences(score(-0.1), score(-1))[0]
    unended = TargetScore(score(-0.1).tokens, ended=False)
    assert wording("no_room_for_an_end_token") in score_view.score_sentences(unended, score(-1))[0]


@pytest.mark.parametrize(
    ("log_prob", "said"), [(-1.0, "2.72"), (-12.0, "162,754.79"), (-30.0, "1.1e+13"), (-math.inf, "infinite")]
)
def test_perplexity_is_readable(log_prob, said):
    assert score_view.perplexity(score(log_prob)) == said


def test_the_table_has_every_number(scored):
    found = target_score(scored.run)
    table = score_view.score_table(found)
    assert table["token"].tolist() == [token.token for token in found.tokens]
    assert table.index.tolist() == [*range(1, len(found.tokens) + 1)]
    assert table["log-probability"].tolist() == [token.log_prob for token in found.tokens]
    assert table["rank"].tolist() == [token.rank for token in found.tokens]
    assert table["most probable"].tolist() == [token.best for token in found.tokens]


def test_the_other_column_is_named_after_what_it_is():
    ckpt = tiny_checkpoint()
    own = shown_of(ckpt, "abc", max_steps=3)
    assert score_view.own_name(own) == "the model’s answer"
    branch = shown_of(ckpt, "abc", branch="pin", max_steps=3)
    assert score_view.own_name(branch) == "branch pin"
    assert score_view.own_name(shown_of(ckpt, "abc", "uv")) == "the given answer"
    assert run_score(own.run).total == pytest.approx(own.run.log_prob)


def page(target):
    from builders import tiny_checkpoint
    from showing import put, shown_of

    from viz_transformer.ui.frame import frame
    from viz_transformer.ui.pages.decoding import score_view

    frame.start_page()
    ckpt = tiny_checkpoint()
    shown, scored = shown_of(ckpt, "abc", max_steps=5), shown_of(ckpt, "abc", target) if target is not None else None
    put([score_view.draw_score(shown, scored)], shown)


def test_one_can_go_on_from_any_step_behind_the_first():
    app = drawn(page, "zxyu")
    box = app.selectbox(key="score_step")
    assert len(box.options) == 4 and box.options[2] == "step 4, after “y”"
    missed = target_score(decode(tiny_checkpoint(), "abc", target="zxyu")).missed
    assert box.value == missed[0] + 1
    box.select(3).run()
    assert app.button(key="score_continue_button").label == "Continue from step 4"
    app.button(key="score_continue_button").click().run()
    (branch,) = app.session_state["selection"]["branches"]
    written = [step.token_id for step in decode(tiny_checkpoint(), "abc", max_steps=5).steps]
    typed = [step.token_id for step in decode(tiny_checkpoint(), "abc", target="zxyu").steps]
    assert [*written[: branch.step], *branch.ids] == typed[:3]


def test_without_a_text_the_models_own_answer_is_scored():
    app = drawn(page, None)
    assert not app.button and not app.selectbox
    said, own = words(app), run_score(shown_of(tiny_checkpoint(), "abc", max_steps=5).run)
    assert "Type an answer" in said and "your text" not in said
    assert all(f"{token.probability:.4f}" in said for token in own.tokens) and f"{own.total:.2f}" in said


def test_the_end_token_alone_has_nothing_to_go_on_from():
    app = drawn(page, "")
    assert not app.selectbox
