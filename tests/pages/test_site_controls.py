"""Layer and head are chosen by one control: the same kind of widget, label and order on every page that has it."""

import pytest
from builders import saved, tiny_checkpoint
from page_driver import opened

# page -> how the keys of its controls begin, what it shows of all heads together, and what its address has besides
PAGES = {
    "run": ("run", ["mean"], {"run_view": "map"}),
    "run, whole": ("run", ["mean"], {}),
    "decoding": ("decoding", ["mean"], {}),
    "positions": ("pos", [], {"pos_stack": "decoder"}),
    "attention": ("attention", ["mean", "maximum", "rollout"], {}),
    "weight": ("weight", [], {}),
    "masks": ("masks", ["mean", "maximum"], {"mask_view": "weights", "mask_kind": "decoder"}),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    for heads in (3, 8):
        saved(tiny_checkpoint("encoder-decoder", positions="rotary", n_heads=heads, d_model=48), folder / f"{heads}")
    return folder


def opened_at(app, models_in, models, page, model, **address):
    models_in(models)
    own = PAGES[page][2]
    return opened(app, page.partition(",")[0], checkpoint=model, text="abcd", kind="decoder", **{**own, **address})


def controls_of(app, page):
    """Kind, label, options and value of the controls of layer and head, as they follow each other on a page."""
    keys = [f"{PAGES[page][0]}_{of}" for of in ("layer", "head")]
    found = [each for each in app.main if getattr(each, "key", None) in keys]
    return [(each.type, each.label, list(each.options), each.value) for each in found]


@pytest.mark.parametrize("page", PAGES)
def test_layer_and_head_are_buttons_in_this_order(app, models_in, models, page):
    opened_at(app, models_in, models, page, "3", layer="1", heads="2")
    assert controls_of(app, page) == [
        ("button_group", "Layer", ["0", "1", "2"], 1),
        ("button_group", "Head", ["0", "1", "2", *PAGES[page][1]], 2),
    ]


@pytest.mark.parametrize("page", PAGES)
def test_many_heads_are_a_list_on_every_page(app, models_in, models, page):
    opened_at(app, models_in, models, page, "8", heads="7")
    assert [(kind, label) for kind, label, *_ in controls_of(app, page)] == [
        ("button_group", "Layer"),
        ("selectbox", "Head"),
    ]
    assert controls_of(app, page)[1][2:] == ([*map(str, range(8)), *PAGES[page][1]], 7)


@pytest.mark.parametrize("page", [each for each in PAGES if each != "run, whole"])
def test_heads_joined_on_another_page_stay_chosen_where_heads_are_joined(app, models_in, models, page):
    opened_at(app, models_in, models, page, "3", heads="max")
    (_, _, options, value) = controls_of(app, page)[1]
    joined = PAGES[page][1]
    assert options == ["0", "1", "2", *(dict.fromkeys([*joined, "maximum"]) if joined else ())]
    assert value == ("max" if joined else 0)  # a page of single heads says that it shows the first


def test_a_head_chosen_on_a_page_is_chosen_on_the_next(app, models_in, models):
    opened_at(app, models_in, models, "attention", "3")
    app.button_group(key="attention_layer").set_value(0).run()
    app.button_group(key="attention_head").set_value(2).run()
    opened(app, "weight")
    assert [value for *_, value in controls_of(app, "weight")] == [0, 2]
    app.button_group(key="weight_head").set_value(1).run()
    opened(app, "decoding")
    assert [value for *_, value in controls_of(app, "decoding")] == [0, 1]


@pytest.mark.parametrize("heads", ["max", "rollout", "0,2"])
def test_the_whole_run_says_that_it_draws_the_mean(app, models_in, models, heads):
    opened_at(app, models_in, models, "run, whole", "3", heads=heads)
    assert controls_of(app, "run, whole")[1][2:] == (["0", "1", "2", "mean"], "mean")


@pytest.mark.parametrize("level", ["attention", "weight"])
def test_deep_in_the_whole_run_one_head_is_looked_at(app, models_in, models, level):
    opened_at(app, models_in, models, "run, whole", "3", heads="mean", level=level)
    assert controls_of(app, "run, whole")[1][2:] == (["0", "1", "2"], 0)
    app.button_group(key="run_head").set_value(2).run()
    assert app.query_params["heads"] in ("2", ["2"])


def test_of_one_head_the_whole_run_offers_no_mean(app, models_in, tmp_path):
    saved(tiny_checkpoint("encoder-decoder", n_heads=1), tmp_path / "1")
    models_in(tmp_path)
    opened(app, "run", checkpoint="1", text="abcd")
    assert controls_of(app, "run, whole")[1][2:] == (["0"], 0)
