import pytest

from viz_transformer.checkpoint.contents import bundled_folder, read_examples
from viz_transformer.text.linguistics import NAMES, other_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The dog is sleeping under the table.", "en"),
        ("Ein Mann liest eine Zeitung im Park.", "de"),
        ("Il cane dorme sotto il tavolo della cucina.", "it"),
        ("El perro duerme debajo de la mesa.", "es"),
        ("Le chien est dans la maison.", "fr"),
    ],
)
def test_a_sentence_in_another_language_is_noticed(text, language):
    for own in ("de", "en"):
        assert other_language(text, own) == (None if own == language else language), own


@pytest.mark.parametrize(
    "text", ["", "Hund", "raccoon", "29,284.30", "die", "hello world", "🙂 ☃", "in in in", "x" * 999]
)
def test_nothing_is_said_where_it_is_not_sure(text):
    assert all(other_language(text, own) is None for own in NAMES)


def test_nothing_is_said_of_a_language_that_is_not_known():
    assert other_language("The dog is sleeping under the table.", "tlh") is None


@pytest.mark.parametrize(
    ("name", "own"),
    [("multi30k-de-en", "de"), ("multi30k-tutorial6", "de"), ("tatoeba-en-it", "en"), ("en-it-slips", "en")],
)
def test_no_test_sentence_of_a_bundled_model_is_taken_for_another_language_and_most_answers_are(name, own):
    pairs = read_examples(bundled_folder() / name)
    assert [source for source, _ in pairs if other_language(source, own)] == []
    assert sum(other_language(target, own) is not None for _, target in pairs) >= len(pairs) / 2
