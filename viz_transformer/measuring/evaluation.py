"""Evaluates a checkpoint on pairs of texts, or a language model on a text.

Exact matches with interval, loss, accuracy, BLEU, chrF and equivalent expressions; wrong answers as a file.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

import msgspec
from msgspec import Meta

from viz_transformer import declared, numerals
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.writing import check_output, write_file
from viz_transformer.given import CALLABLE, FLAG, PAIRS, PATH, TEXT, TOKENS, WHOLE, optional, takes
from viz_transformer.measuring.answering import (
    Answer,
    Progress,
    TokenScores,
    answers_of,
    readable,
    sides,
    target_scores,
    window_scores,
)
from viz_transformer.measuring.data import (
    GENERATED,
    Pair,
    Split,
    find_data_file,
    find_data_folder,
    read_pairs,
    read_text,
)
from viz_transformer.measuring.expressions import same_expression
from viz_transformer.measuring.scores import (
    check_bleu,
    check_equivalence,
    overlap_metrics,
    plain,
    reference_lists,
    token_line,
)
from viz_transformer.running.tracing import CHECKPOINT
from viz_transformer.sentences import shorten
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Tokenizer

NO_ANSWER = Answer("", (), complete=False, ids=())
"""Answer to a source that is not run."""


def wilson(k: int, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson score interval of k successes in n trials, as fractions; 95 % by default.

    Raises ValueError unless 0 <= k <= n and n > 0. Source: Wilson (1927); 1,980 of 2,000 gives 0.985 to 0.994.
    """
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a proportion")
    share = k / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # Exact ends in spite of rounding: 0 without success, 1 without failure.
    return (centre - half) / scale if k else 0.0, (centre + half) / scale if k < n else 1.0


class OfAnswers(TypedDict, total=False):
    """What `evaluate` takes that belongs to answers: a decoder-only model, which is measured on a text, has none."""

    beam: int | None
    bleu: str | None
    group: bool
    count_too_long: bool
    errors: str | Path | None


@takes(
    ckpt=CHECKPOINT,
    pairs=PAIRS,
    beam=optional(WHOLE),
    seen_sources=optional(TOKENS),
    bleu=optional(TEXT),
    group=FLAG,
    equivalence=optional(TEXT),
    count_too_long=FLAG,
    errors=optional(PATH),
    progress=optional(CALLABLE),
)
def evaluate(
    ckpt: Checkpoint,
    pairs: Sequence[Pair],
    *,
    seen_sources: Collection[str] | None = None,
    equivalence: str | None = None,
    longest: tuple[int, int] | None = None,
    progress: Progress | None = None,
    **of_answers: Unpack[OfAnswers],
) -> dict[str, Any]:
    """Evaluate the checkpoint on the pairs; greedy unless `beam` is a width.

    pairs: their number; with `group`, of distinct sources, each with all its targets, in order.
    exact_match: share of answers that equal (one of) the target, with a 95 % Wilson interval.
    exact_match_unseen: the same for sources not in `seen_sources`; None without those.
    equivalent: with `equivalence="sympy"`, share of answers equal as expressions (see `same_expression`).
    loss: nats per target token over all targets, end token included, without label smoothing. perplexity: its
    exponential.
    token_accuracy: share of targets' tokens that are most probable; unknown words count as wrong.
    bleu: by sacrebleu, on detokenised answers with tokenizer `bleu` ("13a", "none", ...), or on the model's own tokens
    with "tokens". chrf: on detokenised answers. Both against all targets, in lower case if the model writes lower case;
    None without `bleu`.
    sentences_per_second: of decoding only.
    too_long: with `count_too_long`, pairs whose source or every target exceeds the model's limits or `longest` (source
    and target tokens without start and end). They are not run and count as wrong and empty; per-token numbers are then
    None.
    errors: file for answers that are not exact matches: source, answer, target (several joined by " | "),
    tab-separated, in order, written atomically.
    Raises ValueError for a model that is not an encoder-decoder with text, no pairs, texts too long, unknown values of
    `bleu` and `equivalence`, and, before running, for a file that cannot be written.
    """
    sides(ckpt)
    bleu, errors = of_answers.get("bleu"), of_answers.get("errors")
    check_bleu(bleu)
    if bleu == "tokens":
        tokenizer_of(ckpt)
    check_equivalence(equivalence)
    if not pairs:
        raise ValueError("there are no pairs to evaluate: give at least one")
    if errors is not None:
        check_output(errors)
    sources, targets = _joined(pairs) if of_answers.get("group") else ([s for s, _ in pairs], [[t] for _, t in pairs])
    run = list(range(len(sources)))
    if of_answers.get("count_too_long"):
        read = set(readable(ckpt, pairs, longest))
        run = [i for i in run if any((sources[i], target) in read for target in targets[i])]
    too_long = len(sources) - len(run)
    scores = None if too_long else target_scores(ckpt, pairs)
    written, seconds = answers_of(ckpt, [sources[i] for i in run], beam=of_answers.get("beam"), progress=progress)
    found = dict(zip(run, written, strict=True))
    answers = [found.get(i, NO_ANSWER) for i in range(len(sources))]
    matches = exact_matches(answers, targets, lower=writes_lower_case(ckpt))
    if errors is not None:
        wrong = zip(sources, answers, targets, matches, strict=True)
        write_file(errors, to_lines([(s, a.text, " | ".join(t)) for s, a, t, match in wrong if not match]))
    unseen = [match for match, source in zip(matches, sources, strict=True) if source not in (seen_sources or ())]
    low, high = wilson(sum(matches), len(matches))
    result = {
        "pairs": len(sources),
        "exact_match": sum(matches) / len(matches),
        "exact_match_low": low,
        "exact_match_high": high,
        "exact_match_unseen": sum(unseen) / len(unseen) if unseen and seen_sources is not None else None,
        **_per_token(scores),
        **_overlap_scores(ckpt, answers, targets, bleu),
        "sentences_per_second": len(run) / seconds if run else None,
    }
    if of_answers.get("count_too_long"):
        result["too_long"] = too_long
    if equivalence is not None:
        judged = zip(matches, answers, targets, strict=True)
        equal = [match or any(same_expression(a.text, target) for target in t) for match, a, t in judged]
        result["equivalent"] = sum(equal) / len(equal)
    return result


def evaluate_text(
    ckpt: Checkpoint, text: str, window: int, limit: int | None = None, *, progress: Progress | None = None
) -> dict[str, Any]:
    """Evaluate a decoder-only model on a text, in consecutive windows of `window` tokens.

    Window i reads the tokens from i * window on and predicts the next token of each, so every token except the first is
    predicted once; the last window may be shorter. No start or end token is added, unless a transformers tokenizer adds
    some to each text. Keys are as in `evaluate`: pairs counts windows (the first `limit`), loss is nats per predicted
    token, and answers' metrics are None.
    Raises ValueError for a model that is not decoder-only with text, unreadable windows, and fewer than two tokens.
    """
    spec = ckpt.spec
    if spec.kind != "decoder-only" or "target" not in ckpt.codecs or not spec.writes:
        what = f"is {spec.kind}" if spec.kind != "decoder-only" else "has no vocabulary"
        what = what if spec.writes or spec.kind != "decoder-only" else "gives no next token"
        raise ValueError(f"{ckpt.name} {what}: only a decoder-only model with a vocabulary can be evaluated on a text")
    if not 1 <= window <= spec.max_target:
        raise ValueError(f"windows of {window} tokens: {ckpt.name} reads from 1 to {spec.max_target} at a time")
    declared.within("limit", limit, declared.Count | None)
    codec = ckpt.codec("target")
    ids = codec.encode(text).ids
    if isinstance(codec, Codec):
        ids = ids[codec.add_bos : len(ids) - codec.add_eos]
    if len(ids) < 2:
        raise ValueError("the text has one token, and nothing to predict after it: give a longer one")
    scores, count = window_scores(ckpt, codec, ids, window, limit, progress)
    nothing = dict.fromkeys(["exact_match", "exact_match_low", "exact_match_high", "exact_match_unseen"])
    return {
        "pairs": count,
        **nothing,
        **_per_token(scores),
        **dict.fromkeys(["bleu", "bleu_signature", "chrf", "sentences_per_second"]),
    }


def evaluate_checkpoint(
    ckpt: Checkpoint,
    data_file: str | Path | None = None,
    *,
    limit: int | None = None,
    data_folder: str | Path | None = None,
    progress: Progress | None = None,
    **of_answers: Unpack[OfAnswers],
) -> dict[str, Any]:
    """`evaluate` on `choose_pairs`, or `evaluate_text` for a decoder-only model.

    The card gives the BLEU tokenizer (overridden by `bleu`), whether expressions are compared, and the training
    sources; exact_match_unseen is None if one of those files is missing. For a text, the card gives the file, the
    characters to skip, the window (default: the model's maximum) and the number of windows; `data_file` and `limit`
    override these. Raises ValueError as `evaluate`, `evaluate_text` and `choose_pairs`, and for options that only apply
    to answers.
    """
    settings = _settings(ckpt.card)
    if ckpt.spec.kind == "decoder-only":
        given = {name: of_answers.get(name) for name in OfAnswers.__annotations__}
        if meant := [name for name, value in given.items() if value is not None and value is not False]:
            raise ValueError(f"{ckpt.name} is decoder-only and writes no answers: leave out {' and '.join(meant)}")
        if data_file is None:
            path = find_data_file(find_data_folder(data_folder), _named_data(ckpt))
            limit = limit if limit is not None else settings.get("limit")
        else:
            path = _given_file(data_file, data_folder)
        window = settings.get("window", ckpt.spec.max_target)
        text = read_text(path)
        tested = text if data_file is not None else text[settings.get("skip", 0) :]
        return evaluate_text(ckpt, tested, window, limit, progress=progress)
    too_long = of_answers.get("count_too_long", False)
    pairs = choose_pairs(ckpt, data_file, limit=limit, too_long=too_long, data_folder=data_folder)
    if of_answers.get("bleu") is None:
        of_answers["bleu"] = card_bleu(ckpt)
    return evaluate(
        ckpt,
        pairs,
        seen_sources=_seen_sources(ckpt, data_folder),
        equivalence=settings.get("equivalence"),
        longest=settings.get("longest"),
        progress=progress,
        **of_answers,
    )


def choose_pairs(
    ckpt: Checkpoint,
    data_file: str | Path | None = None,
    *,
    limit: int | None = None,
    too_long: bool = False,
    data_folder: str | Path | None = None,
) -> list[Pair]:
    """The test pairs named by the card, or all pairs of a file; at most `limit`.

    too_long: include pairs that the card skips for their length, as in `Split.read`. data_file: a path, a name in the
    data folder, or a generated set; the card gives its separator. Raises ValueError for a model that is not an
    encoder-decoder with text, without a file in either place, and as `read_pairs` and `Split`.
    """
    sides(ckpt)
    settings = _settings(ckpt.card)
    if data_file is None:
        data = _named_data(ckpt)
        parts = ("separator", "columns", "longest", "drawn", "skip", "limit")
        named = {name: settings[name] for name in parts if name in settings}
        named |= {} if limit is None else {"limit": limit}
        tokenizers = ckpt.own_codec("source").tokenizer, ckpt.own_codec("target").tokenizer
        return Split(file=data, **named).read(data_folder, tokenizers, too_long=too_long)
    if str(data_file).startswith(GENERATED):
        return Split(file=str(data_file), limit=limit).read()
    return read_pairs(_given_file(data_file, data_folder), settings.get("separator", "\t"), limit=limit)


def card_bleu(ckpt: Checkpoint) -> str | None:
    return _settings(ckpt.card).get("bleu")


def exact_matches(answers: Sequence[Answer], targets: Sequence[Sequence[str]], *, lower: bool) -> list[bool]:
    """Whether each answer equals one of its targets after collapsing white space, optionally in lower case."""
    return [
        answer.complete and plain(answer.text, lower=lower) in {plain(target, lower=lower) for target in wanted}
        for answer, wanted in zip(answers, targets, strict=True)
    ]


def bleu_lines(
    ckpt: Checkpoint, answers: Sequence[Answer], targets: Sequence[Sequence[str]], bleu: str
) -> tuple[list[str], list[list[str]]]:
    """Answers and targets as BLEU reads them: texts, or token lines for "tokens"."""
    if bleu != "tokens":
        return [answer.text for answer in answers], [list(wanted) for wanted in targets]
    tokenize = tokenizer_of(ckpt).tokenize
    return (
        [token_line(answer.tokens) for answer in answers],
        [[token_line(tokenize(target)) for target in wanted] for wanted in targets],
    )


def tokenizer_of(ckpt: Checkpoint) -> Tokenizer:
    """Target tokenizer of one of our own models. Raises ValueError for a folder of transformers."""
    codec = ckpt.codec("target")
    if not isinstance(codec, Codec):
        raise ValueError(
            f"{ckpt.name} is a model of transformers, whose tokens are subwords: choose one of sacrebleu's"
            " tokenizers, such as 13a, for its BLEU"
        )
    return codec.tokenizer


def writes_lower_case(ckpt: Checkpoint) -> bool:
    """Whether the target side is known to be lower case only."""
    codec = ckpt.codec("target")
    return isinstance(codec, Codec) and bool(getattr(codec.tokenizer, "lower", False))


def _joined(pairs: Sequence[Pair]) -> tuple[list[str], list[list[str]]]:
    """Distinct sources, and the distinct targets of each, in order."""
    targets: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        targets.setdefault(source, {})[target] = None
    return list(targets), [list(wanted) for wanted in targets.values()]


def _per_token(scores: TokenScores | None) -> dict[str, Any]:
    if scores is None:
        return dict.fromkeys(["token_accuracy", "loss", "perplexity"])
    loss = -scores.log_prob / scores.tokens
    return {
        "token_accuracy": scores.right / scores.tokens,
        "loss": loss,
        "perplexity": numerals.exponential(loss) if loss < 700 else None,  # larger than a float
    }


def _overlap_scores(
    ckpt: Checkpoint, answers: Sequence[Answer], targets: Sequence[Sequence[str]], bleu: str | None
) -> dict[str, Any]:
    """Corpus BLEU with signature and chrF, 0 to 100; None without `bleu`."""
    if bleu is None:
        return {"bleu": None, "bleu_signature": None, "chrf": None}
    metric, chrf = overlap_metrics(bleu, lower=writes_lower_case(ckpt))
    lines, wanted = bleu_lines(ckpt, answers, targets, bleu)
    score = metric.corpus_score(lines, reference_lists(wanted)).score
    characters = chrf.corpus_score([answer.text for answer in answers], reference_lists(targets)).score
    return {"bleu": score, "bleu_signature": str(metric.get_signature()), "chrf": characters}


def to_lines(rows: Sequence[tuple[str, ...]]) -> bytes:
    """Rows as tab-separated lines."""
    lines = ["\t".join(_ENDS_CELL.sub(" ", cell) for cell in row) + "\n" for row in rows]
    return "".join(lines).encode("utf-8", "replace")


_ENDS_CELL = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def _settings(card: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluation settings of a card, which is untrusted, as far as their types are right."""
    named = card.get("evaluation")
    if not isinstance(named, dict):
        return {}
    right = (name for name, hint in _EVALUATION.items() if declared.fits(hint, named.get(name)))
    return {name: msgspec.convert(named[name], _EVALUATION[name]) for name in right}


_EVALUATION: Mapping[str, Any] = {
    **dict.fromkeys(("data", "separator", "columns", "bleu", "equivalence"), Annotated[str, Meta(min_length=1)]),
    **dict.fromkeys(("skip", "limit", "window"), int),
    **dict.fromkeys(("longest", "drawn"), tuple[int, int]),
}
"""The settings of a card's evaluation, each with its type."""


def _named_data(ckpt: Checkpoint) -> str:
    data = _settings(ckpt.card).get("data")
    if data is None:
        raise ValueError(f"the card of {ckpt.name} names no test data: give a file with --data")
    return str(data)


def _given_file(name: str | Path, data_folder: str | Path | None) -> Path:
    """The file, locally or in the data folder. Raises ValueError if there is none."""
    if os.path.exists(name):
        return Path(name)
    try:
        return find_data_file(find_data_folder(data_folder), str(name))
    except ValueError:
        raise ValueError(
            f"there is no file {shorten(str(name), 300)}, neither here nor in the data folder: check the name"
        ) from None


def _seen_sources(ckpt: Checkpoint, folder: str | Path | None) -> set[str] | None:
    """Training sources named by the card; None if it names none or a file is missing."""
    settings = _settings(ckpt.card)
    evaluation = ckpt.card.get("evaluation")
    named = evaluation.get("seen") if isinstance(evaluation, dict) else None
    if isinstance(named, str):
        named = [{"file": named, "separator": settings.get("separator", "\t")}]
    if not isinstance(named, list) or not named or not all(isinstance(part, dict) for part in named):
        return None
    try:
        splits = [Split.from_dict(part) for part in named]
        for split in splits:
            if not split.file.startswith(GENERATED):
                find_data_file(find_data_folder(folder), split.file)
    except ValueError:
        return None
    tokenizers = ckpt.own_codec("source").tokenizer, ckpt.own_codec("target").tokenizer
    return {source for split in splits for source in split.sources(folder, tokenizers)}
