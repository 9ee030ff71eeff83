"""What the whole run says in sentences is true: its shares, tokens, layers and numbers are those of the trace."""

import numpy as np
import pytest
from mounted import WRITTEN, mounting

from viz_transformer import payload
from viz_transformer.analysis.layers.sublayers import flows
from viz_transformer.checkpoint import list_checkpoints, load
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.figures import run as run_figure
from viz_transformer.numerals import exponential, number, percent, share
from viz_transformer.running.decoding import decode

BUNDLED = [each for each in list_checkpoints() if isinstance(each, Summary)]
PARTS = {"self": "self-attention", "cross": "cross-attention", "ffn": "feed-forward"}
HEAD = 1


@pytest.fixture
def shown(browser):
    with mounting(browser, "whole", viewport={"width": 992, "height": 860}, reduced_motion="reduce") as mount:
        yield mount


def named(token):
    if token.get("special") and "note" not in token:
        return token["text"]
    return f"“{token['text']}”" + (f", typed “{token['note']}”" if "note" in token else "")


def of_run(run, header, row):
    """All sentences of a step."""
    stack, trace = header["stacks"][-1], run.trace
    token = named(stack["tokens"][row])
    told = []
    for part, flow in zip(stack["parts"], flows(trace, stack["name"]), strict=True):
        name = f"{stack['name'].capitalize()} layer {part['layer']}, {PARTS[part['part']]}"
        added = f"adds {percent(float(np.float32(flow.share[row])))}"
        if part["part"] == "ffn":
            told.append(f"{name}: at {token} {added} (length of the addition relative to stream + addition).")
            continue
        weights = trace[f"{flow.place.site}.weights"][0, HEAD, row]
        keys = header["stacks"][0 if part["part"] == "cross" else -1]["tokens"]
        most = int(weights.argmax())
        looks = f"puts {percent(float(weights[most]))} of its attention on {named(keys[most])}; {added}"
        told.append(f"{name}, head {HEAD}: {token} {looks if weights[most] else 'attends to nothing'}.")
    step = run.steps[row - header["first_row"]]
    probability = percent(exponential(float(np.float32(step.log_prob))))
    written = named(header["tokens"][header["candidates"][row - header["first_row"]][0]])
    told.append(f"Writes {written} ({probability}, the likeliest of {header['vocabulary']:,} tokens).")
    return told


def of_layer(run, header, row, layer):
    """Of a layer the sentences on heads, hidden units and what is added."""
    stack, trace = header["stacks"][-1], run.trace
    told = []
    for flow in flows(trace, stack["name"]):
        place = flow.place
        if place.layer != layer:
            continue
        if place.part == "ffn":
            hidden = trace[f"{place.site}.hidden"][0, row]
            active = float((hidden > 0).double().mean().float())
            told.append(f"{percent(active)} of its {len(hidden)} hidden units are above 0.")
        else:
            keys = header["stacks"][0 if place.part == "cross" else -1]["tokens"]
            for head, weights in enumerate(trace[f"{place.site}.weights"][0, :, row]):
                most = int(weights.argmax())
                looks = f"puts {percent(float(weights[most]))} of its attention on {named(keys[most])}"
                looks = looks if weights[most] else "attends to nothing"
                told.append(f"Head {head}: {named(stack['tokens'][row])} {looks}.")
        added, came, part = (float(np.float32(each[row])) for each in (flow.added, flow.came, flow.share))
        lengths = f"a vector of length {number(added, 2)} to a stream of length {number(came, 2)}"
        told.append(f"It adds {lengths}: {percent(part)} of both lengths together.")
    return told


def of_attention(weights, mask, query, keys):
    told = []
    for key, weight, open_ in zip(keys, weights, mask, strict=True):
        takes = f"puts {percent(float(weight))} of its attention on" if open_ else "may not look at"
        told.append(f"{query} {takes} {named(key)}.")
    return told


def figure_of(text):
    """The number that a text says, at the end of its scale where it says that it is beside it."""
    return float(text.lstrip("<>"))


def run_of(summary):
    """A short run of a model."""
    source = min((source for source, _ in summary.examples()[:20]), key=len)
    return decode(load(summary.name), source, max_steps=4)


def test_each_share_token_layer_and_number_is_that_of_the_trace(shown, subtests):
    view = shown(run_figure(run_of(BUNDLED[0]), head=HEAD).data)
    view.page.evaluate(WRITTEN)
    for summary in BUNDLED:
        with subtests.test(model=summary.name):
            check_sentences(view, run_of(summary))


def check_sentences(view, run):
    trace, data = run.trace, run_figure(run, head=HEAD).data
    header, _ = payload.unpack(data)
    stack = header["stacks"][-1]
    row, layer = header["first_row"] + len(run.steps) - 1, stack["layers"] - 1
    kind, field, keys = ("decoder", "u", stack["tokens"])
    if len(header["stacks"]) == 2:
        kind, field, keys = "cross", "i", header["stacks"][0]["tokens"]
    site = f"decoder.{layer}.{'cross' if kind == 'cross' else 'self'}"
    weights = trace[f"{site}.weights"][0, HEAD, row]
    mask = trace[f"{site}.mask"].expand(trace[f"{site}.weights"].shape)[0, HEAD, row]
    key = int(weights.argsort()[-2])  # the second largest: e to its score is not 1
    view.give(data)

    def told(level):
        view.page.evaluate("window.written = []")
        view.choose(t=row, kind=kind, layer=layer, heads=[HEAD], level=level, **{field: key})
        view.page.locator(f".stage[data-level={level}]:not([data-moving])").wait_for()
        view.painted()
        return view.page.locator("ol.unseen li").all_text_contents()

    assert told("run")[1:] == of_run(run, header, row)
    expected = of_layer(run, header, row, layer)
    said = [each.split(". ", 1)[-1] if each.startswith(tuple("SCF")) else each for each in told("layer")]
    assert [each for each in said if each in expected] == expected
    query = named(stack["tokens"][row])
    assert told("attention")[-len(keys) :] == of_attention(weights, mask, query, keys)
    q, k = (trace[f"{site}.{name}"][0, HEAD, at].tolist() for name, at in (("query", row), ("key", key)))
    products = [a * b for a, b in zip(q, k, strict=True)]
    score, divisor = float(trace[f"{site}.scores"][0, HEAD, row, key]), trace.scalars[f"{site}.divisor"]
    said = told("weight")
    assert said[: len(q)] == [
        f"Dimension {e}: {number(q[e])} times {number(k[e])} is {number(product)}."
        for e, product in enumerate(products)
    ]
    assert said[len(q) :] == [
        f"The products add up to {number(sum(products))}; divided by {number(divisor)} the score is {number(score)}.",
        f"Head {HEAD}: {query} puts {share(float(weights[key]))} of its attention on {named(keys[key])},"
        f" for a score of {number(score)}.",
    ]
    written = view.page.evaluate("window.written")
    start, middle = written.index("the products add up to"), written.index("divided by the sum over all keys")
    total, scored = (figure_of(written[n]) for n in (start + 1, start + 4))
    assert total / divisor == pytest.approx(scored, abs=1.5e-4)  # four digits of each are there
    power, powers, weight = (figure_of(written[n]) for n in (middle - 1, middle + 1, middle + 3))
    assert power / powers == pytest.approx(weight, abs=1.5e-4)
    assert weight == pytest.approx(float(weights[key]), abs=1e-4)
