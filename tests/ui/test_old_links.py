"""A link of each page, as it was written before the pages had fields of their own, restores the same view."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from page_driver import address, opened, script

FOLLOWING = ("i", "j", "u")
"""Keys of attention that a link leaves out follow the row; no address states what nobody chose."""

# What a link asks for, and what the address states beside that once the page is drawn.
LINKS = {
    "run": (
        "checkpoint=numbers&text=1%2C984.00&kind=decoder&layer=1&heads=0,2&t=3&u=2&scale=row&shown=A-B"
        "&pin_checkpoint=numbers-tiny&pin_text=7.10",
        "i=0&j=0",
    ),
    "decoding": (
        "checkpoint=numbers&text=7.10&strategy=beam&beam=3,0.8,power,no-end,none-better&dec_tab=tree&dec_node=2"
        "&kind=cross&layer=1&heads=1&t=2&i=1",
        "j=0&u=0",
    ),
    "input": (
        "checkpoint=numbers&text=7.10&input_side=target&input_rows=all&input_entry=12&input_below=build&kind=cross"
        "&layer=0&heads=0&t=1",
        "i=0&j=0&u=0",
    ),
    "positions": (
        "checkpoint=numbers-tiny&text=7.10&pos_stack=decoder&pos_table=doubled&pos_width=16&pos_length=12"
        "&pos_columns=0,3&pos_shift=2&pos_topic=waves&pos_off=both&layer=1&heads=0",
        "kind=cross&i=0&j=0&t=0&u=0",
    ),
    "attention": (
        "checkpoint=copy&text=hello&kind=encoder&layer=1&heads=mean&i=2&j=3&options=words,hidden&scale=map"
        "&sort=entropy&panel=text",
        "t=0&u=0",
    ),
    "weight": (
        "checkpoint=numbers-any&text=42&kind=cross&layer=1&heads=2&t=2&i=3&weight_line=softmax&weight_beside=out",
        "j=0&u=0",
    ),
    "layers": ("checkpoint=shakespeare&text=KING&kind=decoder&layer=2&part=ffn&t=2&heads=1", "i=0&j=0&u=0"),
    "tensors": (
        "checkpoint=numbers&text=7.10&point=decoder.1.cross.weights&chart=histogram&seed=7&layer=1&heads=0&t=2",
        "kind=cross&i=0&j=0&u=0",
    ),
    "masks": (
        "checkpoint=numbers&text=7.10&mask_of=size&mask_size=6&mask_padded=1&mask_padding=key-or-query&mask_fill=-1e9"
        "&mask_cells=d3.1,d2&mask_query=3&mask_key=1&mask_swap=source&kind=decoder&layer=0&heads=1",
        "i=0&j=0&t=0&u=0&mask_kind=decoder",
    ),
    "playground": (
        "play=simplex&play_seed=5&play_sizes=3,4,2,2&play_options=self&play_mask=causal&play_numbers=q0.1%3D2.5"
        "&play_keys=2&play_heads=4",
        "checkpoint=numbers-any&text=29,284.30&kind=cross&layer=1&heads=2&i=0&j=0&t=0&u=0",
    ),
    "models": (
        "checkpoint=numbers-tiny&model_tab=errors&model_answers=wrong&model_find=seven&model_snapshot=100&text=7.10"
        "&layer=1&heads=0",
        "kind=cross&i=0&j=0&t=0&u=0",
    ),
}


@pytest.mark.parametrize("page", LINKS)
def test_a_link_of_before_restores_the_view_that_it_always_did(page: str) -> None:
    asked, beside = (dict(parse_qsl(query)) for query in LINKS[page])
    app = script("app.py").run()
    app.query_params.clear()
    opened(app, page, **asked)
    assert address(app) == asked | {name: value for name, value in beside.items() if name not in FOLLOWING}


@pytest.mark.parametrize("page", LINKS)
def test_a_link_as_the_app_wrote_it_before_restores_the_keys_that_it_states(page: str) -> None:
    whole = dict(parse_qsl("&".join(LINKS[page])))
    app = script("app.py").run()
    app.query_params.clear()
    opened(app, page, **whole)
    assert address(app) == whole
    assert not [sentence.value for sentence in app.markdown if "The address asks for" in sentence.value]
