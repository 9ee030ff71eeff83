import math

import pytest
import spacy

from viz_transformer.text import linguistics
from viz_transformer.text.linguistics import installed_pipelines, language_name, tag, text_facts, words


def test_counts_of_a_text_by_rules_alone():
    found = text_facts("en", "The dog saw the cat. It didn't bark 29 times!")
    assert (found.sentences, found.numbers, found.punctuation) == (2, 1, 2)
    assert found.tokens == 13  # The dog saw the cat . It did n't bark 29 times !
    assert (found.words, found.different) == (9, 8)  # "the" stands twice; n't is no word of letters
    assert found.letters_per_word == pytest.approx(sum(map(len, "The dog saw the cat It did bark times".split())) / 9)
    assert found.characters == 45


def test_marks_of_tokens_by_rules_alone():
    found = {word.text: word for word in words("en", "Ann paid 29,284.30 for the <b>  .")}
    assert (found["29,284.30"].kind, found["29,284.30"].shape) == ("number", "dd,ddd.dd")
    assert (found["Ann"].kind, found["Ann"].shape, found["Ann"].stop) == ("word", "Xxx", False)
    assert found["the"].stop and found["."].kind == "punctuation" and found[" "].kind == "space"


def test_a_text_of_blanks_has_nothing():
    found = text_facts("en", "  ")
    assert (found.sentences, found.tokens, found.words) == (0, 0, 0) and math.isnan(found.letters_per_word)


def test_languages_have_names_and_unknown_ones_are_an_error():
    assert (language_name("de"), language_name("it")) == ("German", "Italian")
    with pytest.raises(ValueError, match="no rules for 'qq'"):
        text_facts("qq", "a")


def test_pipelines_of_the_language_are_listed(monkeypatch):
    monkeypatch.setattr(spacy.util, "get_installed_models", lambda: ["en_core_web_sm", "de_core_news_sm", "en_own"])
    assert installed_pipelines("en") == ("en_core_web_sm", "en_own")
    assert installed_pipelines("it") == ()


@pytest.fixture
def pipeline(monkeypatch):
    """A pipeline that tags by hand: every word depends on the second."""

    @spacy.Language.component("by_hand")
    def by_hand(doc):
        for token in doc:
            token.pos_, token.tag_, token.lemma_ = ("PUNCT", ".", ".") if token.is_punct else ("NOUN", "NN", "dog")
            token.dep_, token.head = ("ROOT", token) if token.i == 1 else ("nsubj", doc[1])
        return doc

    made = spacy.blank("en")
    made.add_pipe("by_hand")
    monkeypatch.setattr(spacy, "load", lambda name: made)
    linguistics._pipeline.cache_clear()
    yield
    linguistics._pipeline.cache_clear()


def test_grammar_is_what_the_pipeline_says(pipeline):
    found = tag("en_own", "Dogs bark .")
    assert [each.text for each in found] == ["Dogs", "bark", "."]
    assert [each.part_of_speech for each in found] == ["NOUN", "NOUN", "PUNCT"]
    assert [each.head for each in found] == [1, 1, 1]
    assert [each.dependency for each in found] == ["nsubj", "ROOT", "nsubj"]
    assert found[0].explained == "noun, nominal subject" and found[0].lemma == "dog"


def test_blanks_are_left_out_and_heads_are_counted_without_them(pipeline):
    found = tag("en_own", "Dogs bark   loud")
    assert [each.text for each in found] == ["Dogs", "bark", "loud"]
    assert [each.head for each in found] == [1, 1, 1]


def test_a_pipeline_that_cannot_be_loaded_is_an_error():
    linguistics._pipeline.cache_clear()
    with pytest.raises(ValueError, match="the spaCy pipeline en_missing cannot be loaded"):
        tag("en_missing", "a")
