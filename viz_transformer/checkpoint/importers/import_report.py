"""The report of an import, line by line: what was found, guessed, and does not fit."""

from __future__ import annotations

import math

from viz_transformer import numerals
from viz_transformer.checkpoint.ignoring import summarize_names
from viz_transformer.checkpoint.importers.importing import (
    Opened,
    all_settings,
    codecs_of,
    without_start,
    without_tokens,
)
from viz_transformer.checkpoint.importers.plan import Setting, is_place
from viz_transformer.text.vocabulary import ROLES

SHOWN = (
    *("encoder_layers", "decoder_layers", "d_model", "n_heads", "d_ff", "norm", "norm_kind", "activation", "positions"),
    *("embedding_scale", "divisor", "norm_epsilon", "mask_fill", "tied_output", "max_source", "max_target", "pad_to"),
    *("causal", "pooling", "qkv_order", "rotary_pairs"),
    *(f"{side}_{role}" for side in ("source", "target") for role in ROLES),
)
MAX_LEFT_OUT = 40


def report_rows(opened: Opened) -> list[tuple[str, str]]:
    """The report as names and values, for a terminal. Raises CheckpointError for vocabularies that do not fit."""
    plan, weights = opened.plan, opened.weights
    count = sum(math.prod(stored.shape) for stored in weights.tensors.values())
    layout = "none that is known: places are inferred from names and shapes; --write-map writes them to be corrected"
    layout = layout if opened.answers.mapping is None else "given by --map"
    rows = [
        ("file", str(opened.found.path)),
        ("tensors", f"{len(weights.tensors):,}, {count:,} numbers"),
        ("layout", layout if plan.layout is None else f"{plan.layout.name}: {plan.layout.title}"),
    ]
    if len(weights.copies) > 1:
        rows.append(("weights", f"{opened.answers.weights or weights.copies[0]} (or {', '.join(weights.copies)})"))
    rows += [
        (each.name, describe_setting(each))
        for each in all_settings(opened)
        if each.name in SHOWN or is_place(each.name)
    ]
    if (reported := opened.reported_loss) is not None:
        rows.append(("reported loss", f"{numerals.significant(reported.nats)} ({reported.name or 'given'})"))
    codecs = {} if plan.config is None else codecs_of(opened)[1]
    rows += [
        ("no token", f"the {said}; give --{side}-vocab a whole one, if there is one")
        for side, said in without_tokens(codecs).items()
    ]
    if plan.config is not None and (lacking := without_start(opened)):
        rows.append(("start token", f"{lacking}: --set target_bos=TOKEN names it"))
    tensors = weights.tensors
    rows += [("left out", f"{name} {list(tensors[name].shape)}, by choice") for name in plan.left_out[:MAX_LEFT_OUT]]
    if len(plan.left_out) > MAX_LEFT_OUT:
        rows.append(("left out", f"and {len(plan.left_out) - MAX_LEFT_OUT:,} more, by choice"))
    rows += [("left", f"{name}: {why}") for name, why in list(weights.left.items())[:4]]
    if len(weights.left) > 4:
        rows.append(("left", f"and {len(weights.left) - 4:,} more that are none of the model's weights"))
    rows += [("note", note) for note in plan.notes]
    if plan.zeros:
        rows.append(("zeros", f"for {len(plan.zeros):,} biases that the model does not have, such as {plan.zeros[0]}"))
    rows += [("ignored", f"{pattern}: {summarize_names(names)}") for pattern, names in plan.ignored.items() if names][
        :10
    ]
    rows += [("unused", name) for name in plan.unused[:10]]
    rows += [("missing", name) for name in plan.missing[:10]]
    rows += [
        ("shape", f"{name}: {list(found)} in the file, {list(wanted)} by the settings")
        for name, (found, wanted) in list(plan.wrong.items())[:10]
    ]
    return rows


def describe_setting(setting: Setting) -> str:
    """A setting's value and origin; for a guess, also how to override it."""
    if setting.origin == "open":
        return f"nothing in the file tells: --set {setting.name}=... says it"
    if not setting.asked:
        return f"{setting.value} ({setting.origin})"
    if setting.why:
        return f"{setting.value} (usual answer: {setting.why}; --set {setting.name}=... for another)"
    if setting.origin == "best on the texts":
        return f"{setting.value} (best on the texts, which do not tell it; --set {setting.name}=... for another)"
    if setting.name == "positions":
        others = ", ".join(str(option) for option in setting.options if option != setting.value)
        return f"{setting.value} (a guess: the file has no table of positions; --set positions=... for {others})"
    return f"{setting.value} (usual answer: nothing in the file tells; --set {setting.name}=... for another)"
