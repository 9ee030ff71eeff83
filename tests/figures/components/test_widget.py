"""A picture as a widget: its selection is a trait, and its page stays where no kernel runs."""

import subprocess
import sys
from importlib import import_module

import anywidget
import ipywidgets
import numpy as np
import pytest
from builders import tiny_checkpoint

import viz_transformer as vt
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.figures.components.widget import FigureWidget, Selection
from viz_transformer.payload import unpack
from viz_transformer.ui.session import state


@pytest.fixture(scope="module")
def run():
    return vt.decode(tiny_checkpoint(), "abcd", max_steps=5)


def test_show_returns_a_widget_that_is_still_the_figure(run):
    shown = vt.show(run, "decoder.1.cross", head=1)
    plain = HtmlFigure(shown.component, shown.data, shown.title, shown.chosen, shown.note, shown.tone)
    assert isinstance(shown, FigureWidget) and isinstance(shown, HtmlFigure) and isinstance(shown, anywidget.AnyWidget)
    assert shown.html == plain.html == shown.get_state()["html"]
    assert ipywidgets.HBox([shown]).children == (shown,)


def test_what_the_browser_picks_is_the_selection_and_is_observed(run):
    widget, heard = vt.show(run, "decoder.1.cross", head=1), []
    widget.observe(lambda change: heard.append((change["old"], change["new"])), "selection")
    widget.set_state({"selection": {"t": 3, "i": 1}})  # as ipywidgets hears it
    assert widget.selection == {"t": 3, "i": 1} and heard == [({}, {"t": 3, "i": 1})]


def test_what_is_set_is_json_and_what_it_leaves_out_is_as_the_picture_began(run):
    widget = vt.show(run, "run", head=1)
    began = widget.selection
    assert began == widget.chosen and began["heads"] == [1]
    widget.selection = {"t": np.argmax([0, 0, 1]), "heads": (np.int64(0), 1)}
    assert widget.selection == {**began, "t": 2, "heads": [0, 1]}
    assert {type(each) for each in (widget.selection["t"], *widget.selection["heads"])} == {int}
    widget.selection = {}
    assert widget.selection == began


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"querry": 1}, "the selection: 'querry' is not known"),
        ({"t": -1}, "the selection: t=-1 has to be a whole number of at least 0"),
        ({"t": True}, "the selection: t=True has to be a whole number"),
        ({"t": "<b>"}, "the selection: t='<b>' has to be a whole number"),
        ({"kind": "<b>"}, "the selection: kind='<b>' is not known; choose"),
        ({"heads": [0.5]}, "the selection: heads=[0.5] has to be a list, each a whole number of at least 0, or"),
    ],
)
def test_what_no_picture_has_is_refused_in_one_sentence(run, given, sentence):
    widget = vt.show(run, "decoder.1.cross", head=1)
    with pytest.raises(ValueError) as told:
        widget.selection = given
    assert str(told.value).startswith(sentence) and "\n" not in str(told.value)
    assert widget.selection == {}


def test_the_names_are_those_of_the_selection_of_the_app():
    for page in ("attention", "decoding", "run"):
        import_module(f"viz_transformer.ui.pages.{page}.fields")  # declares its own
    known = {name for name, field in state.fields().items() if field.picked}
    assert Selection.__dataclass_fields__.keys() - known == {"row", "column"}


def test_numbers_of_ones_own_have_rows_and_columns_in_the_selection():
    header, _ = unpack(vt.show(vt.Picture.of([[0, 1], [2, 3]], title="Own")).data)
    assert (header["rows"]["field"], header["columns"]["field"]) == ("row", "column")


def test_linked_pictures_share_what_is_picked_and_begin_with_that_of_the_first(run):
    first, second, other = (vt.show(run, "decoder.1.cross", head=head) for head in (0, 1, 1))
    first.selection, second.selection = {"t": 1}, {"t": 2, "i": 3}
    vt.link(first, second)
    assert first.selection == second.selection == {"t": 1, "i": 3}
    second.selection = {"t": 4}
    assert first.selection == {"t": 4} and other.selection == {}
    first.selection = {"t": 0, "i": 0}
    assert second.selection == {"t": 0, "i": 0}


def test_link_refuses_what_has_no_selection(run):
    shown = vt.show(run, "decoder.1.cross", head=0)
    with pytest.raises(ValueError, match="link takes two pictures or more"):
        vt.link(shown)
    with pytest.raises(ValueError, match=r"link takes pictures that vt\.show made, not 'map'"):
        vt.link(shown, "map")


def test_an_output_is_the_page_in_a_frame_that_the_widget_finds(run):
    first, second = vt.show(run, "decoder.1.cross", head=0), vt.show(run, "decoder.1.cross", head=0)
    data, _ = first._repr_mimebundle_()
    plain = HtmlFigure(first.component, first.data, first.title)._repr_html_()
    assert data == {"text/plain": repr(first), "text/html": plain.replace("<iframe ", f'<iframe name="{first.name}" ')}
    assert first.name != second.name and first.get_state()["name"] == first.name


def test_where_a_widget_runs_only_when_it_is_shown_the_output_has_both(run, monkeypatch):
    monkeypatch.setenv("VSCODE_PID", "1")
    widget = vt.show(run, "decoder.1.cross", head=0)
    data, _ = widget._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    assert data["text/html"] == widget._repr_html_()


def test_without_anywidget_it_is_the_figure_alone_and_link_says_what_is_lacking():
    script = (
        "import sys; sys.modules['anywidget'] = None  # what is not installed\n"
        "import viz_transformer as vt\n"
        "figure = vt.show(vt.Picture.of([[0, 1]], title='Own'))\n"
        "print(type(figure).__name__, hasattr(figure, '_repr_mimebundle_'), 'ipywidgets' in sys.modules)\n"
        "print('name=' in figure._repr_html_()[:99])\n"
        "try: vt.link(figure, figure)\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "HtmlFigure False False",
        "False",
        "pictures are linked by anywidget: install it with pip install 'viz-transformer[notebook]'",
    ]
