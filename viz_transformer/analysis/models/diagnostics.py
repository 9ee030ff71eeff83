"""Checks of a loaded model, each computed on the spot, with the finding as a sentence.

A verdict is "ok", "bad", or "note" for what is neither: a property, or a question that cannot be answered and why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from viz_transformer.analysis.attention.maps import attention_kinds, layer_count, layer_weights, step_row
from viz_transformer.analysis.models.parameters import both_totals
from viz_transformer.checkpoint import Checkpoint, describe
from viz_transformer.checkpoint.files import CARD, WEIGHTS, sha256
from viz_transformer.measuring.answering import target_scores
from viz_transformer.model.causality import is_causal, padding_matters
from viz_transformer.model.hook import OFF, Hook, Recorder
from viz_transformer.model.kinds import SIDE_OF, SideName, stacks_of
from viz_transformer.numerals import scientific, significant
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.tracing import trace
from viz_transformer.text.codec import Codec, TextCodec

Verdict = Literal["ok", "bad", "note"]
Progress = Callable[[int, int], None]

PAIRS = 20
"""Example pairs on which the loss is measured."""
TEXTS = 6
"""Example pairs whose runs are searched for hidden units that never fire."""
NAMED = 8
"""Tokens that a sentence names."""
ROUNDING = 1e-4
"""The tolerance as a share of the largest logit: float32 sums in another order differ by less than a tenth of it."""


@dataclass(frozen=True)
class Check:
    """One check of a model: its name, verdict and sentence."""

    name: str
    verdict: Verdict
    sentence: str


def examine(
    ckpt: Checkpoint,
    text: str,
    pairs: Sequence[tuple[str, str]],
    *,
    progress: Progress = lambda done, all: None,
) -> tuple[Check, ...]:
    """All checks that this kind of model can have, in a fixed order.

    `text` is read by the checks that need a run, `pairs` are example pairs. Raises ValueError if the model cannot
    decode `text`.
    """
    if not ckpt.spec.writes:
        raise ValueError("the checks follow an answer while it is written, and this model only reads")
    run = decode(ckpt, text)
    checks: list[Callable[[], Iterator[Check]]] = [
        lambda: _check_file(ckpt),
        lambda: _check_finite(ckpt),
        lambda: _check_sizes(ckpt),
        lambda: _check_tied(ckpt),
        lambda: _check_embeddings(ckpt),
        lambda: _check_trained_rows(ckpt),
        lambda: _check_recording(ckpt, run),
        lambda: _check_dropout(ckpt, run),
        lambda: _check_causal(ckpt),
        lambda: _check_steps(ckpt, run),
        lambda: _check_padding(ckpt),
        lambda: _check_rows(run),
        lambda: _check_units(ckpt, _select_readable(ckpt, pairs, TEXTS)),
        lambda: _check_specials(ckpt),
        lambda: _check_unreachable(ckpt),
        lambda: _check_seen(ckpt, pairs),
        lambda: _check_guessing(ckpt, _select_readable(ckpt, pairs, PAIRS)),
    ]
    found: list[Check] = []
    for done, check in enumerate(checks, start=1):
        found += check()
        progress(done, len(checks))
    return tuple(found)


def _decide(name: str, fine: bool, said: str, otherwise: str, verdict: Verdict = "bad") -> Check:
    """The check of a yes-or-no question: ok with one sentence, or else the verdict with the other."""
    return Check(name, "ok" if fine else verdict, said if fine else otherwise)


# ---- the parameters


def _check_file(ckpt: Checkpoint) -> Iterator[Check]:
    name = "weights file"
    if ckpt.path is None:
        digest = ckpt.weights_sha256[:12]
        yield Check(name, "note", f"There is none: these parameters were made in memory, digest {digest}.")
        return
    digests, found = ckpt.card.get("sha256"), sha256(ckpt.path / WEIGHTS)
    yield _decide(
        name,
        isinstance(digests, dict) and digests.get(WEIGHTS) == found,
        f"Its SHA-256 is the one that {CARD} states ({found[:12]}…).",
        f"Its SHA-256 is not the one that {CARD} states: the file was changed since.",
    )


def _check_finite(ckpt: Checkpoint) -> Iterator[Check]:
    wrong = {name: int((~torch.isfinite(p)).sum()) for name, p in ckpt.model.named_parameters()}
    wrong = {name: count for name, count in wrong.items() if count}
    which = ", ".join(f"{name} ({count:,})" for name, count in [*wrong.items()][:NAMED])
    largest = max(float(p.detach().abs().max()) for p in ckpt.model.parameters())
    yield _decide(
        "numbers",
        not wrong,
        f"All {ckpt.parameter_count:,} parameters are finite; the largest is {significant(largest, 3)}.",
        f"{sum(wrong.values()):,} of the parameters are NaN or infinite: {which}.",
    )


def _check_sizes(ckpt: Checkpoint) -> Iterator[Check]:
    found = both_totals(ckpt.config, {name: tuple(p.shape) for name, p in ckpt.model.named_parameters()})
    yield _decide(
        "sizes",
        found.agree,
        f"The config asks for {found.blocks:,} parameters, block by block: the model has them.",
        f"The config asks for {found.blocks:,} parameters, the model has {found.model:,}:"
        f" {', '.join(found.wrong[:NAMED])}.",
    )


def _check_tied(ckpt: Checkpoint) -> Iterator[Check]:
    model, stack = ckpt.model, "decoder" if ckpt.config.has_decoder else "encoder"
    if model.output is None:
        return
    embedding = getattr(model, stack).embedding.token.weight
    if model.output.weight is None:
        said = f"It is tied: it reads the {stack}'s embedding itself, {embedding.numel():,} parameters fewer."
    else:
        apart = "" if not torch.equal(model.output.weight, embedding) else ", though the two are equal now"
        said = f"It is not tied: it has a matrix of its own beside the {stack}'s embedding{apart}."
    yield Check("output layer", "note", said)


def _list_tables(ckpt: Checkpoint) -> Iterator[tuple[str, Tensor, tuple[str, ...]]]:
    """Each embedding with the names of its rows; those of learned positions are their numbers."""
    for stack in stacks_of(ckpt.spec):
        embedding = getattr(ckpt.model, stack).embedding
        rows = embedding.token.weight.detach()
        codec = ckpt.codecs.get(SIDE_OF[stack].name)
        yield f"{stack} embedding", rows, codec.names if codec else tuple(map(str, range(len(rows))))
        if ckpt.config.encoding.trained:
            table = embedding.position.table.detach()
            yield f"{stack} positions", table, tuple(map(str, range(len(table))))


def _check_embeddings(ckpt: Checkpoint) -> Iterator[Check]:
    for name, rows, names in _list_tables(ckpt):
        zero = (rows == 0).all(dim=1)
        empty = [names[i] for i in zero.nonzero().flatten().tolist()]
        alike: dict[bytes, list[int]] = {}
        for i in (~zero).nonzero().flatten().tolist():
            alike.setdefault(rows[i].numpy().tobytes(), []).append(i)
        twins = [i for places in alike.values() if len(places) > 1 for i in places]
        problems = []
        if twins:
            problems.append(f"{len(twins)} of them equal another one: {_name_tokens([names[i] for i in twins])}")
        if empty:
            problems.append(f"{len(empty)} {'is' if len(empty) == 1 else 'are'} zero: {_name_tokens(empty)}")
        fine = f"Its {len(rows):,} rows are all different, and none is zero."
        wrong = f"Of {len(rows):,} rows, {'; '.join(problems)}."
        yield _decide(name, not problems, fine, wrong, "bad" if twins else "note")


def _check_trained_rows(ckpt: Checkpoint) -> Iterator[Check]:
    """The check for rows that never had a gradient: equal to their start up to a common factor (weight decay)."""
    if ckpt.path is None:
        yield Check("rows never trained", "note", "No row was ever trained: the parameters are as they were drawn.")
        return
    if 0 not in ckpt.snapshots():
        untold = "no snapshot from before the first step was kept to compare the embeddings with"
        yield Check("rows never trained", "note", f"This cannot be checked: {untold}.")
        return
    before = {name: rows for name, rows, _ in _list_tables(ckpt.at_snapshot(0))}
    for name, rows, names in _list_tables(ckpt):
        start = before[name]
        cosine = torch.nn.functional.cosine_similarity(rows.double(), start.double(), dim=1)
        still = cosine > 1 - 1e-6  # stored as float16: rounding turns a row by about 1e-4, its cosine falls by 1e-8
        still |= (rows == start).all(dim=1)
        which = [names[i] for i in still.nonzero().flatten().tolist()]
        is_output = ckpt.config.tied_output and name == f"{stacks_of(ckpt.spec)[-1]} embedding"
        tied = " (tied, so the output layer trained the others)" if is_output else ""
        yield _decide(
            f"{name}, rows never trained",
            not which,
            f"All {len(rows):,} rows were turned since the first step.",
            f"{len(which)} of {len(rows):,} rows point as they did before the first step{tied}: {_name_tokens(which)}.",
            "note",
        )


# ---- the forward pass


def _logits(ckpt: Checkpoint, run: Run, hook: Hook) -> Tensor:
    inputs = [torch.tensor([side.ids]) for side in (run.trace.src, run.trace.tgt) if len(side)]
    with torch.no_grad():
        logits: Tensor = ckpt.model(*inputs, hook=hook)
    return logits


def _check_recording(ckpt: Checkpoint, run: Run) -> Iterator[Check]:
    recorder = Recorder()
    yield _decide(
        "looking",
        torch.equal(_logits(ckpt, run, OFF), _logits(ckpt, run, recorder)),
        f"With {len(recorder.values)} points recorded and with none, every bit is the same in the logits.",
        "The logits differ when points are recorded: recording changes the run.",
    )


def _check_dropout(ckpt: Checkpoint, run: Run) -> Iterator[Check]:
    off = not any(module.training for module in ckpt.model.modules())
    same = torch.equal(_logits(ckpt, run, OFF), _logits(ckpt, run, OFF))
    rate, told = ckpt.config.dropout, describe.states_dropout(ckpt.card)
    dropout = f"Dropout, {significant(rate, 6)} in training, is off" if rate else "There is no dropout"
    dropout = dropout if told else "Dropout is off"
    what = "Two runs of the same text differ" if off else "The model is in training mode"
    fine = f"{dropout}, and two runs are the same bit by bit."
    yield _decide("repeating", off and same, fine, f"{what}: its numbers are not one run's.")


def _check_causal(ckpt: Checkpoint) -> Iterator[Check]:
    if ckpt.spec.has_decoder:
        yield _decide(
            "causality",
            is_causal(ckpt.model),
            "No later token that was exchanged changed a bit of an earlier row's logits.",
            "A later token changes earlier rows: this decoder reads the future.",
        )


def _check_steps(ckpt: Checkpoint, run: Run) -> Iterator[Check]:
    """The check that the logits of the steps equal those of one pass over the whole answer."""
    logits = _logits(ckpt, run, OFF)[0]
    first = step_row(run, 0)
    steps = torch.stack([step.logits for step in run.steps]).float()
    apart = float((logits[first : first + len(steps)] - steps).abs().nan_to_num(nan=math.inf).max())
    share = apart / max(float(steps.abs().nan_to_num().max()), 1e-30)
    said = f"The logits of {len(steps)} step{'s' * (len(steps) != 1)} and of one whole pass differ by"
    causal = is_causal(ckpt.model)
    why = "" if causal else ", as a model must that is not causal"
    wrong = f"{said} up to {significant(apart, 3)}{why}."
    fine = f"{said} at most {scientific(apart)}, by rounding."
    yield _decide("steps", share <= ROUNDING, fine, wrong, "bad" if causal else "note")


def _check_padding(ckpt: Checkpoint) -> Iterator[Check]:
    config = ckpt.config
    if config.pad_to is not None:
        yield Check("padding", "note", f"It always reads {config.pad_to} tokens: its padding is part of every run.")
    elif SIDE_OF[stacks_of(ckpt.spec)[-1]].pad(ckpt.spec) is None:
        yield Check("padding", "note", "It has no padding token: texts of several lengths are run one by one.")
    else:
        said = "Padding after a text changes the logits of its tokens"
        yield _decide("padding", not padding_matters(ckpt.model), f"{said} by no more than rounding.", f"{said}.")


def _check_rows(run: Run) -> Iterator[Check]:
    """The check that rows of weights sum to 1, and fully masked rows are as the mask fill makes them."""
    made = run.trace
    furthest, count, empty = 0.0, 0, 0
    for kind in attention_kinds(made):
        for layer in range(layer_count(made, kind)):
            weights, mask = layer_weights(made, kind, layer)
            some = mask.any(axis=-1)
            sums = weights.astype("float64").sum(axis=-1)[some]
            furthest = max(furthest, float(abs(sums - 1).max(initial=0)))
            count, empty = count + int(some.sum()), empty + int((~some).sum())
    without = f"; {empty:,} rows may read nothing" if empty else ""
    yield _decide(
        "rows of weights",
        furthest <= 1e-5,
        f"All {count:,} sum to 1, the furthest is {scientific(furthest)} away{without}.",
        f"Of {count:,} rows, one is {significant(furthest, 3)} away from a sum of 1{without}.",
    )


def _select_readable(ckpt: Checkpoint, pairs: Sequence[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """The first pairs that are not too long for the model, at most `most` of them."""
    found: list[tuple[str, str]] = []
    for source, target in pairs:
        if len(found) == most:
            break
        sides = [
            (ckpt.source_codec, source, ckpt.spec.max_source),
            (ckpt.target_codec, target, ckpt.spec.max_target),
        ]
        if ckpt.spec.kind != "encoder-decoder":
            sides = [(ckpt.target_codec or ckpt.source_codec, source, ckpt.spec.max_target)]
        if all(codec is not None and 0 < len(_ids(codec, text)) <= longest for codec, text, longest in sides):
            found.append((source, target))
    return found


def _check_units(ckpt: Checkpoint, pairs: Sequence[tuple[str, str]]) -> Iterator[Check]:
    """The check for hidden units that ReLU left at 0 at every position of these pairs."""
    if ckpt.config.activation != "relu" or not pairs:
        return
    fired: dict[str, Tensor] = {}
    positions = 0
    for source, target in pairs:
        run = trace(ckpt, source, target if ckpt.spec.kind == "encoder-decoder" else None)
        positions += len(run.src) + len(run.tgt)
        for name in run.points():
            if name.endswith(".ffn.hidden"):
                on = (run[name][0] > 0).any(dim=0)
                fired[name] = fired[name] | on if name in fired else on
    silent = {name.removesuffix(".ffn.hidden"): int((~on).sum()) for name, on in fired.items()}
    total, units = sum(silent.values()), sum(len(on) for on in fired.values())
    texts = f"in the texts of {len(pairs)} example pair{'s' * (len(pairs) != 1)} ({positions:,} positions)"
    most = max(silent, key=lambda name: silent[name])
    yield _decide(
        "hidden units",
        not total,
        f"Each of {units:,} feed-forward units fired somewhere {texts}.",
        f"{total:,} of {units:,} feed-forward units never fired {texts}, most of them in {most} ({silent[most]:,}).",
        "note",
    )


# ---- the vocabularies


def _list_codecs(ckpt: Checkpoint) -> list[tuple[SideName, Codec]]:
    return [(side, ckpt.own_codec(side)) for side in ckpt.codecs]


def _check_specials(ckpt: Checkpoint) -> Iterator[Check]:
    roles = {"bos": "start", "eos": "end", "pad": "padding", "unk": "unknown text"}
    for side, codec in _list_codecs(ckpt):
        lacking = [word for role, word in roles.items() if role not in codec.vocabulary.specials]
        needed = ckpt.spec.kind == "encoder-decoder" and side == "target" and {"start", "end"} & {*lacking}
        fine = "There are tokens for start, end, padding and unknown text."
        wrong = f"There is no token for {', '.join(lacking)}."
        yield _decide(f"{side} specials", not lacking, fine, wrong, "bad" if needed else "note")


def _check_unreachable(ckpt: Checkpoint) -> Iterator[Check]:
    for side, codec in _list_codecs(ckpt):
        vocabulary = codec.vocabulary
        plain = [i for i in range(len(vocabulary)) if i not in vocabulary.special_ids]
        lost = [vocabulary.tokens[i] for i in plain if i not in _ids(codec, vocabulary.tokens[i])]
        which = "does not come back when its" if len(lost) == 1 else "do not come back when their"
        yield _decide(
            f"{side} vocabulary",
            not lost,
            f"Each of its {len(plain):,} tokens comes back when its text is typed.",
            f"{len(lost):,} of {len(plain):,} tokens {which} text is typed alone: {_name_tokens(lost)}.",
            "note",
        )


def _check_seen(ckpt: Checkpoint, pairs: Sequence[tuple[str, str]]) -> Iterator[Check]:
    if not pairs:
        return
    for side, codec in _list_codecs(ckpt):
        texts = [pair[0 if side == "source" else 1] for pair in pairs]
        if ckpt.spec.kind == "decoder-only":
            texts = [text for pair in pairs for text in pair]
        used: set[int] = set()
        for text in filter(None, texts):
            used.update(_ids(codec, text))
        vocabulary = codec.vocabulary
        plain = {i for i in range(len(vocabulary)) if i not in vocabulary.special_ids}
        unused = sorted(plain - used)
        which = f"; not in them: {_name_tokens([vocabulary.tokens[i] for i in unused])}" if unused else ""
        yield Check(
            f"{side} vocabulary in use",
            "note" if unused else "ok",
            f"{len(plain) - len(unused):,} of {len(plain):,} tokens occur in the {len(pairs)} example pairs{which}.",
        )


def _ids(codec: TextCodec, text: str) -> tuple[int, ...]:
    try:
        return codec.encode(text).ids
    except ValueError:
        return ()


# ---- what it has learned


def _check_guessing(ckpt: Checkpoint, pairs: Sequence[tuple[str, str]]) -> Iterator[Check]:
    size = ckpt.spec.target_vocab_size
    if not pairs or size is None:
        return
    if ckpt.spec.kind == "encoder-decoder":
        scores = target_scores(ckpt, pairs)
        loss, tokens, what = -scores.log_prob / scores.tokens, scores.tokens, f"{len(pairs)} example pairs"
    else:
        loss, tokens = _text_loss(ckpt, [source for source, _ in pairs])
        what = f"{len(pairs)} example texts"
    even = math.log(size)
    guess = f"a uniform guess among {size:,} has {significant(even)}"
    said = f"loss is {significant(loss)} nats per token on {what} ({tokens:,} tokens); {guess}."
    yield _decide("better than guessing", loss < even, f"Its {said}", f"No: its {said}")


def _text_loss(ckpt: Checkpoint, texts: Sequence[str]) -> tuple[float, int]:
    """The mean negative log-likelihood of each next token of these texts, cut where the model cannot read more."""
    codec = ckpt.codec("target" if ckpt.target_codec else "source")
    total, count = 0.0, 0
    for text in texts:
        ids = _ids(codec, text)[: ckpt.spec.max_target]
        if len(ids) < 2:
            continue
        with torch.no_grad():
            log_probs = ckpt.model(torch.tensor([ids[:-1]]))[0].double().log_softmax(dim=-1)
        total -= float(log_probs[range(len(ids) - 1), list(ids[1:])].sum())
        count += len(ids) - 1
    return total / max(count, 1), count


def _name_tokens(tokens: Sequence[str]) -> str:
    """The first tokens as a list, quoted, white space by name."""
    shown = ", ".join(
        f"“{repr(token)[1:-1] if token.isspace() or not token.isprintable() else token}”" for token in tokens[:NAMED]
    )
    return shown + (f" and {len(tokens) - NAMED:,} more" if len(tokens) > NAMED else "")
