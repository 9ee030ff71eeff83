"""The way to one weight, as functions that need numpy alone: the page calls them, and the program that it copies is
their source.

Each step reads what is known of the cell so far, shows its numbers, compares them with what the run recorded, and adds
what later steps need. Which of several functions a model takes (its norm, its mask fill) is among the values.
"""

import numpy as np

IN_FULL = 64  # numbers of a vector that are printed at most; of a longer one the first four, how many, and its length
ROUNDING = 2e-6  # float32 may differ from float64 by this part of the largest number in a line (of 1, if all are less)


class Values:
    """What is known, by name: the cell, the run, the model and its choices, and what the steps so far have computed."""

    def __init__(self, **given):
        self.__dict__.update(given)

    def point(self, name):
        """A point of the run's one text."""
        return self.trace[name][0]

    def own(self, name):
        """A point of the cell's attention."""
        return self.point(f"{self.site}.{name}")


def length(vector):
    return np.sqrt((vector * vector).sum())


def digits(value):
    """Six significant digits, or all of a whole number; a negative zero is a zero."""
    whole = abs(value) < 1e15 and value == round(value)
    return f"{value + 0.0:{'.15g' if whole else '.6g'}}"


class Report:
    """Prints the lines, and knows of each comparison in them whether it agrees."""

    def __init__(self, write=print):
        self.write, self.agrees = write, {}

    def line(self, name):
        """What is shown and compared from here on belongs to this line."""
        self.agrees[name] = []
        self.write(name)

    def show(self, name, values):
        """The digits of each number; of a long vector the first four, their count, and the vector's length."""
        values = np.asarray(values, dtype=float).reshape(-1)
        numbers = [digits(value) for value in values[: 4 if len(values) > IN_FULL else None].tolist()]
        if len(values) > IN_FULL:
            numbers.append(f"... {len(values)} numbers, length {digits(float(length(values)))}")
        self.write(" ".join([f"  {name:<28}", *numbers]))

    def compare(self, computed, recorded, scale=0.0):
        """Note whether both agree up to the rounding of float32; scale: how large the numbers were that added up."""
        computed, recorded = np.asarray(computed, dtype=float), np.asarray(recorded, dtype=float)
        same = (computed == recorded) | (np.isnan(computed) & np.isnan(recorded))
        gap = np.nan_to_num(np.where(same, 0, np.abs(computed - recorded)), nan=np.inf).max()
        largest = np.abs(recorded[np.isfinite(recorded)]).max(initial=0)
        [*self.agrees.values()][-1].append(gap <= ROUNDING * max(1, largest, scale))

    def verdict(self):
        every = [each for found in self.agrees.values() for each in found]
        self.write(f"{sum(every)} of {len(every)} comparisons with the record agree up to the rounding of float32")
        if not all(every):
            self.write(f"not in the lines {', '.join(name for name, found in self.agrees.items() if not all(found))}")


# --- norms


def layer_norm(x, epsilon):
    """Mean and scale of each row of the stream [T, D]."""
    return x.mean(axis=1, keepdims=True), np.sqrt(x.var(axis=1, keepdims=True) + epsilon)


def bessel_norm(x, epsilon):
    """Mean and scale of each row of the stream [T, D], with Bessel's correction."""
    return x.mean(axis=1, keepdims=True), x.std(axis=1, ddof=1, keepdims=True) + epsilon


def norm_over_positions(x, epsilon):
    """Mean and scale of the stream [T, D], over all positions and features together."""
    return x.mean(axis=(0, 1), keepdims=True), np.sqrt(x.var(axis=(0, 1), keepdims=True) + epsilon)


def normed(at, x, norm, name):
    """Mean and scale of the stream [T, D], and the stream after the norm whose parameters have this name."""
    kind, epsilon = norm
    mean, scale = kind(x, epsilon)
    return mean, scale, (x - mean) / scale * at.model[f"{name}.gain"] + at.model[f"{name}.offset"]


# --- from the tokens to query and key


def token(at, report):
    """Each token starts as its row of the embedding table, scaled, plus the vector of its position."""
    for name, stack, place in (("query", at.stack, at.query), ("key", at.key_stack, at.key)):
        x = at.point(f"{stack}.embed.token")[place]
        report.show(f"{name}, e", x)
        if f"{stack}.embed.position" in at.trace:
            p = at.point(f"{stack}.embed.position")[place]
            report.show(f"{name}, p", p)
            x = x + p
        report.show(f"{name}, x0", x)
        report.compare(x, at.point(f"{stack}.embed.out")[place])


def stream(at, report):
    """The stream: what both tokens have become before this sub-layer."""
    at.stream = at.point(at.reads)
    report.show("query, x", at.stream[at.query])
    report.compare(at.point(at.before)[at.query], at.stream[at.query])
    report.show("key, x", at.stream[at.key])


def stream_and_memory(at, report):
    """The query's stream before this sub-layer, and the memory, which is what the key has become in the encoder."""
    at.stream = at.point(at.reads)
    report.show("query, x", at.stream[at.query])
    came = at.point(f"{at.layer}.residual_in")[at.query] + at.point(f"{at.layer}.self.out")[at.query]
    report.compare(came, at.point(at.stream_sum)[at.query])
    at.memory = at.point("encoder.out")
    report.show("key, m", at.memory[at.key])
    last = at.point(at.last)
    if at.encoder_norm is not None:
        last = normed(at, last, at.encoder_norm, "encoder.norm")[2]
    report.compare(last[at.key], at.memory[at.key])


def norm_before(at, report):
    """The norm in front of the sub-layer."""
    mean, scale, n = normed(at, at.stream, at.norm, at.norm_name)
    at.nth = at.query if len(mean) > 1 else 0
    at.mean, at.scale = mean[at.nth], scale[at.nth]
    report.show("mean", at.mean)
    report.show("scale", at.scale)
    report.show("(x - mean) / scale", (at.stream[at.query] - at.mean) / at.scale)
    report.show("gain", at.model[f"{at.norm_name}.gain"])
    report.show("offset", at.model[f"{at.norm_name}.offset"])
    report.show("n", n[at.query])
    report.compare(at.mean, at.own("norm_mean")[at.nth], np.abs(at.stream).max())
    report.compare(at.scale, at.own("norm_scale")[at.nth], np.abs(at.stream).max())
    report.compare(n[at.query], at.own("in")[at.query])
    if at.key_stream == at.reads:
        report.compare(n[at.key], at.own("in")[at.key])


def no_norm(at, report):
    """Post-norm: the sub-layer reads the stream as it is; the norm comes after the sum."""
    report.show("n", at.stream[at.query])
    report.compare(at.stream[at.query], at.own("in")[at.query])


def parameters(at, part):
    """W [D, D] and b [D] of one of the four maps; zeros where the model has no biases."""
    name = f"{at.attention}.to_{part}"
    weight = at.model[f"{name}.weight"]
    return weight, at.model[f"{name}.bias"] if f"{name}.bias" in at.model else np.zeros(len(weight))


def maps(at, report):
    """The head's rows of W_Q and W_K, and one dimension of both in full: the one with the largest product."""
    (at.w_q, at.b_q), (at.w_k, at.b_k) = parameters(at, "query"), parameters(at, "key")
    (at.w_v, at.b_v), (at.w_o, at.b_o) = parameters(at, "value"), parameters(at, "out")
    at.q = at.own("query")[at.head, at.query]  # [E], as recorded
    at.keys = at.own("key")[at.head]  # [K, E]
    at.values = at.own("value")[at.head]  # [K, E]
    at.heads, at.queries, at.size = at.own("head_out").shape
    at.rows = slice(at.head * at.size, (at.head + 1) * at.size)  # of W_Q, W_K and W_V that this head owns
    at.n = at.own("in")[at.query]
    at.n_key = at.point(at.key_reads)[at.key]
    terms = np.abs(at.q * at.keys[at.key])
    at.d = int(np.nanargmax(terms)) if np.isfinite(terms).any() else 0
    at.row = at.rows.start + at.d
    report.show("d, row", [at.d, at.row])
    for letter, weight, bias, read, name, place in (
        ("Q", at.w_q, at.b_q, at.n, "query", at.query),
        ("K", at.w_k, at.b_k, at.n_key, "key", at.key),
    ):
        products = weight[at.row] * read
        report.show(f"W_{letter}, rows of the head", weight[at.rows])
        report.show(f"W_{letter}[row]", weight[at.row])
        report.show(f"W_{letter}[row] x what it reads", products)
        report.show("sum", products.sum())
        report.show("bias", bias[at.row])
        report.show(f"{name}[d]", products.sum() + bias[at.row])
        recorded = at.own(f"{name}{at.unplaced}")[at.head, place, at.d]
        report.compare(products.sum() + bias[at.row], recorded, np.abs(products).sum())


def projected(at, report, name, place, read, linear, recorded):
    """A vector by the head's rows of its map; positions may act on it before it is the query or the key."""
    weight, bias = linear
    made = read @ weight[at.rows].T + bias[at.rows]
    largest = (np.abs(weight[at.rows]) @ np.abs(read)).max()
    if at.unplaced:
        report.show(at.placing, made)
        for label, of_place in at.of_places.items():
            report.show(label, of_place(place, at.size))
        report.compare(made, at.own(f"{name}{at.unplaced}")[at.head, place], largest)
        made = recorded if at.placed is None else at.placed(made, place)
    report.show(name[0], made)
    report.show("length", length(made))
    report.compare(made, recorded, largest)


def query(at, report):
    projected(at, report, "query", at.query, at.n, (at.w_q, at.b_q), at.q)


def key(at, report):
    projected(at, report, "key", at.key, at.n_key, (at.w_k, at.b_k), at.keys[at.key])


# --- from query and key to the weight


def products(at, report):
    """From here to the head's output the float64 numbers go on from line to line."""
    at.dots = (at.keys * at.q).sum(axis=1)
    report.show("q x k, by dimension", at.q * at.keys[at.key])
    report.show("sum", at.dots[at.key])


def divisor(at, report):
    """The scores of the row."""
    at.divisor = at.scalars[f"{at.site}.divisor"]
    at.scores = at.dots / at.divisor
    report.show("divisor", at.divisor)
    report.show("score", at.scores[at.key])
    report.show("scores of the row", at.scores)


def divisor_and_bias(at, report):
    """The scores of the row, and what positions add to them."""
    at.divisor = at.scalars[f"{at.site}.divisor"]
    at.bias = at.own("bias")[at.head, at.query]
    at.scores = at.dots / at.divisor + at.bias
    report.show("divisor", at.divisor)
    if at.bias_of is not None:  # of how far each key is behind the query
        report.compare(at.bias_of(at.query - np.arange(len(at.keys)), at.slope), at.bias)
    report.show("bias", at.bias[at.key])
    report.show("score", at.scores[at.key])
    report.show("scores of the row", at.scores)


def kept(ids, pad):
    """True where an id is a token, and not padding."""
    return np.ones(len(ids), dtype=bool) if pad is None else np.array(ids) != pad


def padded_keys_masked(keys, queries, query):
    return keys


def padded_keys_and_queries_masked(keys, queries, query):
    return keys & queries[query]


def padding_masked_with_its_sides_swapped(keys, queries, query):
    """A slip: what is padding among the keys is taken from the queries."""
    return queries & keys[query]


def mask(at, report):
    """True = may attend: padding is masked by the model's rule, and in a causal attention keys after the query are."""
    at.mask = np.broadcast_to(at.own("mask")[None], (1, at.heads, at.queries, len(at.keys)))[0, at.head, at.query]
    ruled = at.rule(kept(at.ids[at.key_side], at.key_pad), kept(at.ids[at.query_side], at.query_pad), at.query)
    if at.causal:
        ruled = ruled & (np.arange(len(at.keys)) <= at.query)
    report.compare(ruled, at.mask)
    report.show("may attend", at.mask[at.key])
    report.show("row of the mask", at.mask)
    report.show("open keys", at.mask.sum())


def minus_infinity(scores, mask):
    """Masked scores are minus infinity; a row that may attend to nothing is not a number, or set to zeros."""
    return np.where(mask, scores, -np.inf)


def minus_1e9(scores, mask):
    """Masked scores are -1e9; a row that may attend to nothing is even."""
    return np.where(mask, scores, -1e9)


def minus_1e10(scores, mask):
    """Masked scores are -1e10; a row that may attend to nothing is even."""
    return np.where(mask, scores, -1e10)


def less_1e9(scores, mask):
    """-1e9 is added to masked scores, in float32 as the model does it, in steps of 64."""
    return np.where(mask, scores, (scores.astype(np.float32) + np.float32(-1e9)).astype(np.float64))


def softmax(at, report):
    """The softmax of the row, whose masked scores are as the model has them."""
    at.seen = at.fill(at.scores, at.mask)
    at.below = at.seen - at.seen.max()
    at.exponentials = np.exp(at.below)
    at.weights = at.exponentials / at.exponentials.sum()
    if at.zero_rows and not at.mask.any():  # a row that may attend to nothing is all zeros
        at.exponentials, at.weights = 0 * at.scores, np.zeros(len(at.scores))
    report.show("score as it is seen", at.seen[at.key])
    report.show("largest", at.seen.max())
    report.show("below the largest", at.below)
    report.show("exponentials", at.exponentials)
    report.show("their sum", at.exponentials.sum())
    report.show("weights", at.weights)
    report.show("sum of the weights", at.weights.sum())
    if f"{at.site}.weights" in at.trace:  # a long attention that ran fused recorded none
        report.compare(at.weights, at.own("weights")[at.head, at.query])


def weight(at, report):
    report.show("weight", at.weights[at.key])
    report.show("if it were even", 1 / at.mask.sum() if at.mask.any() else np.nan)
    report.show("rank in the row", 1 + (at.weights > at.weights[at.key]).sum())
    if f"{at.site}.weights" in at.trace:
        report.compare(at.weights[at.key], at.own("weights")[at.head, at.query, at.key])


# --- from the weight to the stream


def value(at, report):
    """What the key offers, and what the weight lets through."""
    made = at.n_key @ at.w_v[at.rows].T + at.b_v[at.rows]
    at.part = at.weights[at.key] * at.values[at.key]
    report.show("v", at.values[at.key])
    report.show("weight x v", at.part)
    report.show("length of v", length(at.values[at.key]))
    report.show("length of weight x v", length(at.part))
    report.compare(made, at.values[at.key], (np.abs(at.w_v[at.rows]) @ np.abs(at.n_key)).max())


def head(at, report):
    at.head_out = (at.weights[:, None] * at.values).sum(axis=0)
    report.show("from this key", at.part)
    report.show("from all other keys", at.head_out - at.part)
    report.show("head_out", at.head_out)
    report.show("length", length(at.head_out))
    report.compare(at.head_out, at.own("head_out")[at.head, at.query])


def concatenated(at, report):
    """The heads are concatenated: this one is in the slot of its number."""
    at.row, at.slot = at.query, at.head
    at.merged = at.own("head_out")[:, at.query].reshape(-1)
    report.show("row, slot", [at.row, at.slot])
    report.show("merged row", at.merged)


def reshaped(at, report):
    """The merge is a raw reshape: positions and heads mix."""
    at.row, at.slot = divmod(at.head * at.queries + at.query, at.heads)
    at.merged = at.own("head_out").reshape(at.queries, -1)[at.row]
    report.show("row, slot", [at.row, at.slot])
    report.show("merged row", at.merged)


def output(at, report):
    """W_O: its columns of the slot are this head's."""
    columns = slice(at.slot * at.size, (at.slot + 1) * at.size)
    out = at.merged @ at.w_o.T + at.b_o
    report.show("from this key", at.w_o[:, columns] @ at.part)
    report.show("from this head", at.w_o[:, columns] @ at.head_out)
    report.show("out", out)
    report.show("length from this key", length(at.w_o[:, columns] @ at.part))
    report.show("length from this head", length(at.w_o[:, columns] @ at.head_out))
    report.show("length of out", length(out))
    report.compare(out, at.own("out")[at.row], (np.abs(at.w_o) @ np.abs(at.merged)).max())


def residual(at, report):
    """Into the stream."""
    x, y = at.stream[at.row], at.own("out")[at.row]
    report.show("x", x)
    report.show("y", y)
    report.show("x + y", x + y)
    report.show("length of x", length(x))
    report.show("length of y", length(y))
    report.show("length of x + y", length(x + y))
    report.compare(x + y, at.point(at.added)[at.row])


def residual_and_norm(at, report):
    """Into the stream, and the norm behind the sum of a post-norm model."""
    residual(at, report)
    total = at.point(at.added)
    mean, scale, n = normed(at, total, at.norm, at.norm_name)
    at.nth = at.row if len(mean) > 1 else 0
    at.mean, at.scale = mean[at.nth], scale[at.nth]
    report.show("mean", at.mean)
    report.show("scale", at.scale)
    report.show("after the norm", n[at.row])
    report.compare(at.mean, at.own("norm_mean")[at.nth], np.abs(total).max())
    report.compare(at.scale, at.own("norm_scale")[at.nth], np.abs(total).max())
    report.compare(n[at.row], at.point(at.left)[at.row])
