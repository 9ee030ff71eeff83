import re

from viz_transformer.ui.frame.glossary import TERMS, explain_terms, mark_terms


def test_each_term_is_explained_where_it_stands_first_and_once():
    found = mark_terms("Heads of a layer, and other heads.")
    assert re.findall(r'<dfn tabindex="0" title="(\w+):[^"]*">(\w+)</dfn>', found) == [
        ("Head", "Heads"),
        ("Layer", "layer"),
    ]
    assert re.sub("<[^>]*>", "", found) == "Heads of a layer, and other heads."


def test_the_longest_term_is_meant_and_parts_of_words_are_not():
    assert explain_terms("the residual stream, a sub-layer, an attention weight") == "\n".join(
        TERMS[term] for term in ("residual stream", "sub-layer", "attention weight")
    )
    assert explain_terms("keyboard, header, layered, monkey, the arrow keys") == ""


def test_what_is_quoted_is_a_persons_text_and_stays_text():
    assert mark_terms("<b> & “head <i>”") == "&lt;b&gt; &amp; “head &lt;i&gt;”"
    assert explain_terms("Where did head 2 look when it wrote “layer”?") == TERMS["head"]


def test_no_sentence_is_long_and_each_begins_with_its_term():
    for term, sentence in TERMS.items():
        assert sentence.lower().startswith(f"{term}: ") and len(sentence) <= 120
