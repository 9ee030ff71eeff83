"""Describes a checkpoint and its quality, in lines for a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from viz_transformer import numerals
from viz_transformer.sentences import count_of, put_on_one_line, quote
from viz_transformer.text.codec import Codec

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.model.config import ModelConfig
    from viz_transformer.model.hooked_model import Heads, ModelSpec
    from viz_transformer.text.codec import TextCodec


LONGEST_LOSS_ON = 100
UNUSED = "unused"
"""Card key: tensors in a folder's files that a run does not use."""
SHORT = 64
"""Length of a short text, in tokens."""
IMPORTED, LEFT_OUT = "imported", "left_out"
"""Card key written by an import, and its key for tensors left out by choice, with their shapes."""
NAMED = 4
"""Number of left-out tensors to name."""
NOT_VERIFIED = "`viz-transformer import --sample FILE` compares it with logits from where it was trained"


def checkpoint_rows(model: Checkpoint) -> list[tuple[str, str]]:
    """Everything that `viz-transformer inspect` prints, as names and values."""
    card = model.card
    rows = [("name", model.name), ("folder", str(model.path))]
    rows += [(name, str(card[name])) for name in ("title", "task") if name in card]
    rows += [
        ("architecture", architecture_of(model.spec)),
        ("parameters", f"{model.parameter_count:,}"),
        *([] if (left := describe_unused(card)) is None else [("not used", left[0])]),
        ("source vocabulary", vocabulary(model.codecs.get("source"))),
        ("target vocabulary", vocabulary(model.codecs.get("target"))),
        ("snapshots", snapshots(model.snapshots())),
        ("memory of a run", memory(model.spec)),
    ]
    if IMPORTED in card or "verified" in card:
        rows.append(("verified", ": ".join(describe_verification(card) or ("no", NOT_VERIFIED))))
    if without := without_tensors(card):
        rows.append(("left out", without))
    rows += [("metrics", metric(entry)) for entry in metrics(card)]
    if losses := losses_on(card):
        rows.append(("curves", losses))
    stated = ("data", "data_licence", "weights_terms", "date", "seed", "training_command")
    rows += [(name.replace("_", " "), str(card[name])) for name in stated if name in card]
    if model.spec.config is None or IMPORTED in card:
        rows += [("note", str(note)) for note in card.get("notes") or ()]
    rows.append(("weights' sha256", model.weights_sha256))
    return rows


def describe_unused(card: Mapping[str, Any]) -> tuple[str, str] | None:
    """Tensors of the folder that a run does not use, in short and in full; None if it uses all."""
    stated = card.get(UNUSED)
    return (str(stated["short"]), str(stated["sentence"])) if isinstance(stated, dict) else None


def memory(spec: ModelSpec) -> str:
    """Maximum memory of a recorded run, for a short text and for the longest."""

    def taken(length: int) -> str:
        source, target = min(length, spec.max_source), min(length, spec.max_target)
        size = spec.recorded_bytes(source=source, target=target, written=spec.writes)
        return numerals.binary_size(size)

    longest = max(spec.max_source if spec.has_encoder else 0, spec.max_target if spec.has_decoder else 0)
    short = min(SHORT, longest)
    more = f", {taken(longest)} of {longest:,}" if longest > short else ""
    return f"up to {taken(short)} of {short} tokens{more}"


def describe_verification(card: Mapping[str, Any]) -> tuple[str, str] | None:
    """Grade and sentence of the card's verification, if it is of the folder's present files.

    Obsolete grades become "not proved"; with tensors left out by choice, the model is not verified.
    """
    noted = card.get("verified")
    if not isinstance(noted, dict) or noted.get("of") != card.get("sha256"):
        return None
    grade, sentence = noted.get("grade"), noted.get("sentence")
    if not isinstance(grade, str) or not isinstance(sentence, str):
        return None
    grade = "not proved" if grade in EARLIER else grade
    if grade not in WORSE and (without := without_tensors(card)) and without not in sentence:
        grade, sentence = "not verified", f"{without}; {sentence}"
    return put_on_one_line(grade), put_on_one_line(sentence)


WORSE = ("failed", "doubtful", "not verified")
"""Grades that are no better than an unproved one."""
EARLIER = ("plausible", "consistent")
"""Obsolete grades, from when texts or a second computation counted as evidence for a reading."""


def states_dropout(card: Mapping[str, Any]) -> bool:
    """Whether the config's dropout is the one used in training; for imports, only if the file or a person says so."""
    told = card.get(IMPORTED)
    if not isinstance(told, dict):
        return True
    settings = told.get("settings")
    known = [each for each in settings if isinstance(each, dict)] if isinstance(settings, list) else []
    return any(each.get("name") == "dropout" and each.get("origin") in ("given", "from the file") for each in known)


def tensors_left_out(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the tensors that a person left out at import."""
    told = card.get(IMPORTED)
    names = told.get(LEFT_OUT) if isinstance(told, dict) else None
    return tuple(map(str, names)) if isinstance(names, dict | list) else ()


def without_tensors(card: Mapping[str, Any]) -> str:
    """A clause on tensors left out at import; "" if none."""
    return left_out_in_words(tensors_left_out(card))


def left_out_in_words(names: Sequence[str]) -> str:
    """A clause that these tensors were left out by choice, naming the first; "" for none."""
    if not names:
        return ""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    listed = ", ".join(quote(name) for name in names[:NAMED])
    were = "tensor of the file was" if len(names) == 1 else "tensors of the file were"
    return f"{len(names):,} trained {were} left out by choice: {listed}{more}"


def architecture_of(spec: ModelSpec) -> str:
    """What the model is made of, as far as its spec goes."""
    layers = {"encoder": spec.encoder_layers, "decoder": spec.decoder_layers}
    heads = dict.fromkeys(heads_words(each, site) for site, each in spec.attentions.items())
    reads = {"source": spec.has_encoder and spec.max_source, "target": spec.has_decoder and spec.max_target}
    if (config := spec.config) is not None:
        rest = [f"{config.norm}-norm, {config.activation}, {config.positions} positions", *unusual(config)]
    else:
        rest = [*([f"{len(spec.labels):,} labels"] if spec.labels else []), f"{spec.norm}-norm"]
    return ", ".join(
        [
            spec.kind,
            " + ".join(count_of(count, f"{stack} layer") for stack, count in layers.items() if count),
            f"d_model {spec.d_model}",
            " or ".join(heads),
            *([] if spec.d_ff is None else [f"d_ff {spec.d_ff}"]),
            *rest,
            "at most " + " and ".join(f"{most} {side}" for side, most in reads.items() if most) + " tokens",
        ]
    )


def heads_words(heads: Heads, site: str) -> str:
    """Head count, key sharing and reach of an attention, in words."""
    shared = "" if heads.key == heads.query else f" that share {heads.key} of keys and values"
    window = "" if heads.window is None else f", back to {count_of(heads.window, 'key')}"
    if heads.window is not None and site.startswith("encoder."):
        window = f", up to {count_of(heads.window, 'key')} to each side"
    return f"{count_of(heads.query, 'head')}{shared}{window}"


def unusual(config: ModelConfig) -> list[str]:
    """Settings that differ from the usual model and affect its numbers."""
    return [f"{name} {value}" for name, value in unusual_settings(config)]


def unusual_settings(config: ModelConfig) -> list[tuple[str, str]]:
    """The same as (name, value) pairs."""
    defaults = {field.name: field.default for field in fields(config)}
    settings = ((name, getattr(config, name)) for name in _TELLING)
    return [(name.replace("_", " "), str(value)) for name, value in settings if value != defaults[name]]


_TELLING = "norm_kind encoder_final_norm embedding_scale divisor merge mask_fill padding_mask pad_to pooling".split()


def vocabulary(codec: TextCodec | None) -> str:
    if codec is None:
        return "none"
    if not isinstance(codec, Codec):
        return f"{len(codec.names):,} tokens"
    return f"{len(codec.vocabulary):,} tokens, {codec.tokenizer.to_dict()['kind']}"


def snapshots(steps: Sequence[int]) -> str:
    return f"{len(steps)}, of steps {steps[0]:,} to {steps[-1]:,}" if steps else "none"


def metrics(card: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Measurements in a card, which is untrusted."""
    entries = card.get("metrics")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def metric(entry: Mapping[str, Any]) -> str:
    """One measurement in one line: its best-known metric with interval, pairs and split; loss only as a last resort."""
    parts = []
    if (bleu := read_measurement(entry, "bleu")) is not None:
        tokenizer = bleu_tokenizer(entry)
        parts.append(f"BLEU {numerals.score(bleu)}" + (f" ({tokenizer})" if tokenizer else ""))
        if (chrf := read_measurement(entry, "chrf")) is not None:
            parts.append(f"chrF {numerals.score(chrf)}")
    if (exact := read_measurement(entry, "exact_match")) is not None:
        low, high = (read_measurement(entry, f"exact_match_{end}") for end in ("low", "high"))
        interval = "" if low is None or high is None else f" ({_percent(low)} to {_percent(high)})"
        parts.append(f"exact match {_percent(exact)}{interval}")
    if (equivalent := read_measurement(entry, "equivalent")) is not None:
        parts.append(f"{_percent(equivalent)} equal as expressions")
    if (unseen := read_measurement(entry, "exact_match_unseen")) is not None:
        parts.append(f"{_percent(unseen)} of sources not trained on")
    if not parts and (loss := read_measurement(entry, "loss")) is not None:
        parts.append(f"loss {numerals.number(loss)} nats per token")
        if (perplexity := read_measurement(entry, "perplexity")) is not None:
            parts.append(f"perplexity {numerals.share(perplexity, 2)}")
    if too_long(entry):
        parts.append(f"{too_long(entry):,} too long counted as wrong")
    if width := beam(entry):
        parts.append(f"beam {width}")
    if what := count_texts(entry):
        parts.append(what)
    return ", ".join([*parts, str(entry.get("split", "split not stated"))])


def loss_on(card: Mapping[str, Any], part: Literal["train", "validation"]) -> str:
    """How many of how many examples the losses of a history were measured on; "" if not in the card."""
    stated = card.get("losses_on")
    said = stated.get(part) if isinstance(stated, dict) else None
    return said[:LONGEST_LOSS_ON] if isinstance(said, str) else ""


def losses_on(card: Mapping[str, Any]) -> str:
    """The same for both losses, in words; "" if neither is in the card."""
    both = (("training", loss_on(card, "train")), ("validation", loss_on(card, "validation")))
    return ", ".join(f"{name} loss on {said}" for name, said in both if said)


def _percent(share: float) -> str:
    return numerals.percent(share, 2, "%")


def read_measurement(entry: Mapping[str, Any], name: str) -> float | None:
    """A number of a measurement; None if missing, not applicable or not finite."""
    value = entry.get(name)
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if known else None


def count_texts(entry: Mapping[str, Any]) -> str:
    """Number of measured pairs, or of windows for a language model; "" if unknown or already in the split's name."""
    pairs, split = entry.get("pairs"), str(entry.get("split"))
    if type(pairs) is not int:
        return ""
    count = f"{pairs:,} {'windows' if entry.get('exact_match', 0) is None else 'pairs'}"
    return "" if split.startswith(f"{pairs:,} ") or count in split else count


def too_long(entry: Mapping[str, Any]) -> int:
    """Number of pairs that were too long to run and counted as wrong."""
    count = entry.get("too_long")
    return count if type(count) is int else 0


def with_too_long(card: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A later measurement that counts the pairs which the first one skipped as too long; None if there is none."""
    entries = metrics(card)
    counts = (entry for entry in entries[1:] if too_long(entry) and type(entry.get("pairs")) is int)
    return next((entry for entry in counts if read_measurement(entry, "exact_match") is not None), None)


def broken(card: Mapping[str, Any]) -> str:
    """Known faults of a model that is wrong on purpose; "" for any other."""
    return str(card.get("broken") or "")


def count_left_out(card: Mapping[str, Any]) -> str:
    """How many test pairs the first measurement skips as too long; "" if unknown."""
    entry = with_too_long(card)
    return "" if entry is None else f"{too_long(entry):,} of {entry['pairs']:,} pairs, too long"


def beam(entry: Mapping[str, Any]) -> int | None:
    """Beam width in the measurement's command; None for greedy decoding."""
    found = re.search(r"(?:^|\s)--beam[\s=](\d{1,3})(?:\s|$)", str(entry.get("command")))
    return int(found[1]) if found else None


def bleu_tokenizer(entry: Mapping[str, Any]) -> str | None:
    """BLEU tokenizer from sacrebleu's signature ("tok:13a")."""
    found = re.search(r"(?:^|\|)(tok:[\w.-]{1,40})(?:\||$)", str(entry.get("bleu_signature")))
    return found[1] if found else None


def number(value: object) -> str:
    """An evaluation number for display; a dash if not applicable."""
    if value is None:
        return "–"
    return numerals.share(value) if isinstance(value, float) else str(value)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with aligned columns, except the last."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[-1] = 0
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
