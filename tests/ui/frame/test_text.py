"""Texts in widgets' labels, which Streamlit reads as Markdown, and tables of texts."""

import pytest

from viz_transformer.ui.frame import text

JOINER = "\u2060"


@pytest.mark.parametrize("words", ["Wo ist die Burg", "abc 123", "", "ü 日本"])
def test_words_stay_as_they_are(words):
    assert text.literal(words) == words


def test_every_ascii_sign_is_escaped_and_cannot_join_the_next_one():
    signs = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum())
    assert len(signs) == 32
    assert text.literal(signs) == "".join(f"\\{sign}{JOINER}" for sign in signs)


def test_without_what_is_not_seen_the_text_is_the_same():
    for words in ("cosh(a*x)**3+tanh(b*x)", ":smile: -> $x$ <b>", "\\*", "1. item"):
        shown = text.literal(words).replace(JOINER, "")
        assert "".join(shown[i] for i in range(len(shown)) if not is_escape(shown, i)) == words


def is_escape(shown, i):
    """Whether the backslash here escapes: the backslashes before it come in pairs."""
    before = len(shown[:i]) - len(shown[:i].rstrip("\\"))
    return shown[i] == "\\" and before % 2 == 0


def test_a_table_sets_what_it_gets_as_text_but_for_markup_and_each_row_may_have_a_class_and_a_hint():
    rows = [("<b>", "1 & 2"), (text.Html("<i>a</i>"), "3")]
    made = text.table(
        rows,
        head=("", "n < m"),
        style="s",
        caption="a > b",
        attributes=[{"class": "own", "title": ""}, {"title": '"x"'}],
    )
    assert made == (
        '<table class="s"><caption>a &gt; b</caption><thead><tr><th></th><th>n &lt; m</th></tr></thead><tbody>'
        '<tr class="own"><th>&lt;b&gt;</th><td>1 &amp; 2</td></tr>'
        '<tr title="&quot;x&quot;"><th><i>a</i></th><td>3</td></tr></tbody></table>'
    )
    assert text.table([("a", "b")], style="s", first="td").count("<td>") == 2
