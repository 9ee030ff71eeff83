"""A component's page of its own: one file that needs nothing else, whatever text is in it."""

import re
import zlib
from base64 import b64decode
from importlib.resources import files

import numpy as np
import pytest

from viz_transformer.figures import attention_heatmap, components
from viz_transformer.figures.components import source
from viz_transformer.figures.components.standalone import HtmlFigure

HOSTILE = "</script><script>alert(1)</script><!--\u2028\u2029\"'&<img src=x onerror=alert(1)>"
DRAWN = sorted(path.name.removesuffix(".js") for path in files(components).iterdir() if path.name.endswith(".js"))


def hostile():
    return attention_heatmap(
        [[0.25, 0.75]], [HOSTILE], ["a", HOSTILE], title=HOSTILE, caption=HOSTILE, selected_query=0
    )


def given(page):
    """The bytes that a page holds."""
    (packed,) = re.findall(r'<script type="text/plain" id="payload">([A-Za-z0-9+/=]*)</script>', page)
    planes = np.frombuffer(zlib.decompress(b64decode(packed)), np.uint8)
    return planes.reshape(4, -1).T.tobytes()


def test_the_page_holds_every_byte_of_the_payload():
    figure = hostile()
    assert given(figure.html) == figure.data


def test_no_text_becomes_markup_or_script():
    page = hostile().html
    assert "alert(1)</script>" not in page and "<img" not in page and "\u2028" not in page.split("<style>")[1]
    assert re.findall(r"<script\b[^>]*>", page) == ['<script type="text/plain" id="payload">', '<script type="module">']
    assert page.count("</script>") == 2 and "<!--" not in page


@pytest.mark.parametrize("name", DRAWN)
def test_no_script_or_style_could_end_its_element(name):
    script = source.standalone_javascript(name)
    assert not re.search(r"</script|<!--|<script", script, flags=re.IGNORECASE)
    assert script.count("const component = ") == 1 and "export" not in re.findall(r"^\w+", script, flags=re.MULTILINE)
    declared = re.findall(r"^(?:const|let|class|(?:async )?function) (\w+)", script, flags=re.MULTILINE)
    assert len(declared) == len(set(declared))


def test_nothing_is_fetched_and_the_browser_would_refuse_it():
    page = hostile().html
    assert re.findall(r"<[^>]*\b(?:src|href)=", page) == []
    assert "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:" in page


def test_a_map_of_1024_by_1024_tokens_takes_at_most_5_mb_and_keeps_every_bit(tmp_path):
    scores = np.random.default_rng(0).normal(scale=2, size=(1024, 1024))
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)  # nothing masked: the most that it can take
    tokens = [f"word{i}" for i in range(1024)]
    figure = attention_heatmap(weights, tokens, tokens, title="A thousand tokens", kind="decoder")
    figure.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").stat().st_size <= 5_000_000
    assert weights.astype(np.float32).tobytes() in given((tmp_path / "map.html").read_text(encoding="utf-8"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        hostile().save(tmp_path / "none" / "map.html")
    assert [*tmp_path.iterdir()] == []


def test_a_notebook_shows_it_in_a_frame():
    figure = HtmlFigure("matrix", hostile().data, "a & b")
    frame = figure._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and frame.count("<") == 2 and 'title="a &amp; b"' in frame
