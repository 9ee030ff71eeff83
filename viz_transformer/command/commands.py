"""The commands of `viz-transformer`, each with its options.

Every --help is fast: what is heavy comes with names that are loaded when a command uses them (`vt.load`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

import viz_transformer as vt
from viz_transformer import __version__, analysis, checkpoint, huggingface, numerals
from viz_transformer.checkpoint import devices
from viz_transformer.checkpoint.describe import checkpoint_rows, left_out, metric, metrics, number, table, with_too_long
from viz_transformer.checkpoint.own import own_checkpoints
from viz_transformer.checkpoint.recordings import RecordingSummary
from viz_transformer.checkpoint.writing import check_output, write_file
from viz_transformer.command import fail, server
from viz_transformer.huggingface import names
from viz_transformer.huggingface.folder import recognised
from viz_transformer.measuring.sample_script import SCRIPT
from viz_transformer.sentences import quoted
from viz_transformer.train.owned import OwnData
from viz_transformer.train.stopping import Stop

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint, Summary
    from viz_transformer.running.decoding import Run
    from viz_transformer.running.strategies import Strategy

cli = typer.Typer(
    name="viz-transformer",
    help="Run trained transformers, record everything that happens inside, and look at it.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
TEXT_MAY_START_WITH_MINUS = {"ignore_unknown_options": True}  # -79.42 is a text

CheckpointArgument = Annotated[str, typer.Argument(metavar="CKPT", help="A checkpoint folder, or a bundled name.")]
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="What the model reads.")]
BeamOption = Annotated[int | None, typer.Option(metavar="N", help="Beam search of this width instead of greedy.")]
DataOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What to test on, a path or a name in the data folder, or the data folder;"
        " default: what the card names, in the data folder.",
    ),
]
LimitOption = Annotated[int | None, typer.Option(metavar="N", help="Only the first N pairs, or windows of a text.")]
BleuOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How BLEU splits texts, instead of as the card says: tokens, or one of sacrebleu's: 13a, intl, char, ...",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
LanguageOption = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="The language to answer in, of a model with several: de_DE, de, deu_Latn, ..."),
]
SourceLanguageOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="The language of the text, of a model with several.")
]
SpecialTokensOption = Annotated[
    bool,
    typer.Option("--special-tokens", help="Read a special token that is typed, such as </s>, as one, not as text."),
]
DeviceOption = Annotated[str, typer.Option(help="Where the model is computed: cpu or cuda.")]
DtypeOption = Annotated[
    str, typer.Option(help="The type that a folder of transformers is computed in: float32 or bfloat16.")
]
AllowDownloadOption = Annotated[
    bool,
    typer.Option("--allow-download", help="Fetch CKPT from the Hugging Face hub where it is a name there, not here."),
]
ChatOption = Annotated[
    bool, typer.Option("--chat", help="Put the text into the model's chat template, as what a person says.")
]


def run(words: Sequence[str]) -> int:
    """Do what the words of a command line ask for; returns the exit status."""
    try:
        return typer.main.get_command(cli).main(list(words), prog_name="viz-transformer", standalone_mode=False) or 0
    except typer.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "viz-transformer")
        return fail(f"{error.format_message().rstrip('.')}. Try '{command} --help'.", status=error.exit_code)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"viz-transformer {__version__}")
        raise typer.Exit


@cli.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@cli.command("app")
def app_command(
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where to listen; default 8501, 0 takes any free port.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only serve, open nothing.")] = False,
    window: Annotated[
        bool, typer.Option("--window", help="Open a window of its own, with Chrome, Chromium or Edge.")
    ] = False,
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="A folder of checkpoints of your own, or the saved trace of a watched module; may be repeated. ./runs"
            " is found by itself.",
        ),
    ] = None,
    library: Annotated[Path | None, typer.Option(metavar="DIR", help="Where models that you open are kept.")] = None,
    device: Annotated[
        str, typer.Option(help="Where folders of transformers are computed: cpu or cuda. Other models are on the cpu.")
    ] = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: Annotated[
        bool,
        typer.Option("--allow-download", help="Let Models fetch what is named there from the Hugging Face hub."),
    ] = False,
) -> None:
    """Open the app in the browser; it listens on this machine only."""
    if device != devices.PROCESSOR:  # the usual app needs no torch before its first page
        huggingface.check_device(device)
    devices.compute_folders(device, dtype)
    names.allow_in_the_app(allow_download)
    server.run_app(port=port, browser=not no_browser, window=window, checkpoints=checkpoints or [], library=library)


@cli.command(context_settings=TEXT_MAY_START_WITH_MINUS)
def translate(
    ckpt: CheckpointArgument,
    text: TextArgument,
    beam: BeamOption = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Of --beam: 0 for none, default 0.6; more favours long answers.")
    ] = None,
    n_best: Annotated[
        int | None, typer.Option(metavar="N", help="Of --beam: print so many answers, best first.")
    ] = None,
    tree: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of --beam: write every hypothesis of the search as JSON.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw each token instead of taking the best.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of --sample: default 1; 0 is greedy.")] = None,
    top_k: Annotated[int | None, typer.Option(metavar="N", help="Of --sample: keep the N most probable.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Of --sample: keep the fewest that have this probability together.")
    ] = None,
    min_p: Annotated[
        float | None, typer.Option(help="Of --sample: keep those at least this many times as probable as the first.")
    ] = None,
    repetition_penalty: Annotated[
        float | None, typer.Option(help="Of --sample: above 1 against tokens that were read already.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of --sample: the same seed, the same draws; default 0.")] = None,
    prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="What the answer has to begin with.")] = None,
    language: LanguageOption = None,
    source_language: SourceLanguageOption = None,
    special_tokens: SpecialTokensOption = False,
    chat: ChatOption = False,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: AllowDownloadOption = False,
    json: JsonOption = False,
) -> None:
    """Print what the model answers."""
    strategy = strategy_of(
        beam,
        sample,
        {"length_penalty": length_penalty, "n_best": n_best},
        {
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "min_p": min_p,
            "repetition_penalty": repetition_penalty,
            "seed": seed,
        },
    )
    if tree is not None and beam is None:
        raise ValueError("--tree writes the hypotheses of a beam search: give --beam N with it")
    if tree is not None:
        check_output(tree)
    model = vt.load(ckpt, device=device, dtype=dtype, allow_download=allow_download)
    if not model.anatomy.writes:
        raise ValueError(f"{model.name} writes nothing: 'viz-transformer read' prints what it makes of a text")
    model = read_as(model, language, source_language, special_tokens, chat)
    run = vt.decode(model, text, strategy=strategy, prefix=prefix)
    if tree is not None and run.tree is not None:
        about = {"checkpoint": model.name, "weights_sha256": model.weights_sha256, "source": text}
        write_file(tree, (as_json({**about, **run.tree.to_dict()}) + "\n").encode())
    answers = answer_facts(model, run)
    if json:
        print(as_json({**run_facts(run), **({} if n_best is None else {"answers": answers})}))
    else:
        print("\n".join([run.text] if n_best is None else [answer["text"] for answer in answers]))
    if not run.text.strip():
        print(f"the answer is empty: {_without_text(run)}", file=sys.stderr)


@cli.command("read", context_settings=TEXT_MAY_START_WITH_MINUS)
def read_command(
    ckpt: CheckpointArgument,
    text: TextArgument,
    special_tokens: SpecialTokensOption = False,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: AllowDownloadOption = False,
    json: JsonOption = False,
) -> None:
    """Print what a model that writes nothing makes of a text: its labels, or what it puts in the place of masks."""
    model = vt.load(ckpt, device=device, dtype=dtype, allow_download=allow_download)
    if model.anatomy.writes:
        raise ValueError(f"{model.name} writes: its answer is printed by 'viz-transformer translate'")
    model = model.read_as(special_tokens=special_tokens)
    facts = analysis.read_facts(model, vt.read(model, text), every_label=json)
    print(as_json(facts) if json else table(analysis.read_rows(facts)))


def read_as(
    model: Checkpoint, language: str | None, source_language: str | None, special_tokens: bool, chat: bool
) -> Checkpoint:
    """The model, whose texts are read so. Raises ValueError for what it does not offer, also for an empty language."""
    for name, given in (("--language", language), ("--source-language", source_language)):
        if given == "":
            raise ValueError(f"{name} is empty: name a language, or leave it out")
    return model.read_as(
        language=language or "", source_language=source_language or "", special_tokens=special_tokens, chat=chat
    )


def _without_text(run: Run) -> str:
    """The tokens that a run wrote, where they make no text."""
    if not run.tokens:
        return "there is no room for a token behind what the model was given"
    more = len(run.tokens) - 5
    listed = ", ".join(quoted(token) for token in run.tokens[:5]) + (f" and {more:,} more" if more > 0 else "")
    return f"the model wrote {listed}, which {'stands' if len(run.tokens) == 1 else 'stand'} for no text"


def strategy_of(beam: int | None, sample: bool, of_beam: Mapping[str, Any], of_sampling: Mapping[str, Any]) -> Strategy:
    """What the options ask for. Raises ValueError for those that do not belong together."""
    if beam is not None and sample:
        raise ValueError("--beam and --sample are two ways to write an answer: give one of them")
    for options, needed, is_given in ((of_beam, "--beam N", beam is not None), (of_sampling, "--sample", sample)):
        given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
        if given and not is_given:
            raise ValueError(f"{given[0]} is a setting of {needed}: give that with it")
    if beam is not None:
        return vt.Beam(beam, **{name: value for name, value in of_beam.items() if value is not None})
    drawn = {name: value for name, value in of_sampling.items() if value is not None}
    return vt.Sampling(**drawn) if sample else vt.Greedy()


def answer_facts(model: Checkpoint, run: Run) -> list[dict[str, Any]]:
    """The best answers of a beam search, best first; of any other run the one that there is."""
    if run.tree is None or model.target_codec is None:
        return [{"text": run.text, "log_prob": run.log_prob, "score": run.score}]
    best = [(node, model.target_codec.decode(run.tree.ids(node.index))) for node in run.tree.best]
    return [{"text": text, "log_prob": node.total, "score": node.score} for node, text in best]


@cli.command(context_settings=TEXT_MAY_START_WITH_MINUS)
def trace(
    ckpt: CheckpointArgument,
    text: TextArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The safetensors file to write.")],
    target: Annotated[str | None, typer.Option(help="What the decoder is given; default: the greedy answer.")] = None,
    language: LanguageOption = None,
    source_language: SourceLanguageOption = None,
    special_tokens: SpecialTokensOption = False,
    chat: ChatOption = False,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: AllowDownloadOption = False,
) -> None:
    """Record a run, and save everything that happened in it."""
    check_output(out)
    model = read_as(
        vt.load(ckpt, device=device, dtype=dtype, allow_download=allow_download),
        language,
        source_language,
        special_tokens,
        chat,
    )
    decodes = target is None and model.anatomy.output == "next token"
    recorded = vt.decode(model, text).trace if decodes else vt.trace(model, text, target)
    recorded.save(out)
    sides = {"source": recorded.src_tokens, "target": recorded.tgt_tokens}
    tokens = " and ".join(f"{len(read)} {side}" for side, read in sides.items() if read)
    print(f"{out}: {len(recorded.points())} points of {model.name}, {tokens} tokens")
    if decodes and recorded.reads_ahead:
        print(f"{recorded.reads_ahead}: each step was a pass of its own, and the rows saved are those of the last one")


@cli.command()
def train(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="numbers, copy, shakespeare, ...: the name of a bundled checkpoint."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="Your own data instead: source, tab, target in each line; or a plain text."),
    ] = None,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="Of --pairs: to choose the best weights by; else taken out of it."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="TSV", help="Of --pairs: to measure the result on; else taken out of it.")
    ] = None,
    tokens: Annotated[str | None, typer.Option(help="Of --pairs: chars, words or bpe; default chars.")] = None,
    vocabulary: Annotated[
        int | None, typer.Option(min=1, max=50_000, help="Of --pairs: different words or pieces of a side at most.")
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Of --pairs: in each stack; else by how much there is to learn.")
    ] = None,
    heads: Annotated[int | None, typer.Option(min=1, max=512, help="Of --pairs: in each layer.")] = None,
    d_model: Annotated[int | None, typer.Option(min=1, max=8192, help="Of --pairs: the width of the model.")] = None,
    d_ff: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Of --pairs: the width of the feed-forward.")
    ] = None,
    dropout: Annotated[float | None, typer.Option(help="Of --pairs: from 0 to below 1.")] = None,
    longest: Annotated[
        int | None,
        typer.Option(
            min=1, max=65536, help="Of --pairs: tokens of a text at most, start and end included; default 512."
        ),
    ] = None,
    snapshots: Annotated[
        int | None,
        typer.Option(min=0, max=200, help="Of --pairs: so many weights are kept for the replay; default 12."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder; default VIZ_TRANSFORMER_DATA, else ./data.")] = None,
    out: Annotated[Path | None, typer.Option(help="Checkpoint folder to write; default runs/TASK.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last save.")] = False,
    start_from: Annotated[
        str | None,
        typer.Option(metavar="CKPT", help="A checkpoint of the same model whose weights are learnt on from."),
    ] = None,
    peak_rate: Annotated[float | None, typer.Option(help="Highest learning rate, instead of the task's own.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data, instead of the task's own.")] = None,
    steps: Annotated[int | None, typer.Option(help="Batches, instead of epochs.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    devices: Annotated[str, typer.Option(help="How many of them, on each node.")] = "auto",
    nodes: Annotated[int, typer.Option(help="How many machines.")] = 1,
    strategy: Annotated[str, typer.Option(help="Lightning's strategy, such as ddp.")] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", help="Say neither what is proposed nor how far it is.")] = False,
) -> None:
    """Train one of the tasks, or on your own pairs, and write its checkpoint folder."""
    count: int | str = int(devices) if devices.isdecimal() else devices
    wishes = {"layers": layers, "heads": heads, "d_model": d_model, "d_ff": d_ff, "dropout": dropout}
    of_pairs = {
        "valid": valid,
        "test": test,
        "tokens": tokens,
        "vocabulary": vocabulary,
        **wishes,
        "longest": longest,
        "snapshots": snapshots,
    }
    learned = what_is_learned(task, pairs, data, of_pairs)
    with Stop(resumes=resume) as stop:
        from viz_transformer.train.run import train as run  # takes seconds, in which a signal may come

        folder = run(
            learned,
            data=data,
            out=out,
            resume=resume,
            start_from=start_from,
            peak_rate=peak_rate,
            epochs=epochs,
            steps=steps,
            device=device,
            devices=count,
            nodes=nodes,
            strategy=strategy,
            quiet=quiet,
            stop=stop,
        )
        print(folder)


def what_is_learned(
    task: str | None, pairs: Path | None, data: Path | None, of_pairs: Mapping[str, Any]
) -> str | OwnData:
    """The task or the data. Raises ValueError for none and for both, and for options that do not belong to it."""
    if task is not None and pairs is not None:
        raise ValueError("a TASK has its own data: give it or --pairs, not both")
    if pairs is not None:
        if data is not None:
            raise ValueError("--data is where the files of a TASK are: leave it out, --pairs names its file itself")
        return OwnData(pairs=pairs, **of_pairs)
    if given := [f"--{name.replace('_', '-')}" for name, value in of_pairs.items() if value is not None]:
        raise ValueError(f"{given[0]} is a setting of --pairs: give that with it")
    if task is None:
        raise ValueError("there is nothing to learn: give a TASK, such as copy, or --pairs with a file of your own")
    return task


@cli.command()
def evaluate(
    ckpt: CheckpointArgument,
    data: DataOption = None,
    limit: LimitOption = None,
    beam: BeamOption = None,
    bleu: BleuOption = None,
    group: Annotated[
        bool, typer.Option("--group", help="Join equal sources: the answer may be any of their targets.")
    ] = False,
    count_too_long: Annotated[
        bool,
        typer.Option(
            "--count-too-long", help="Also pairs that are too long, for the card's test or the model: as wrong."
        ),
    ] = False,
    errors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the wrong answers: source, answer, target, tabs between.")
    ] = None,
    language: LanguageOption = None,
    source_language: SourceLanguageOption = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: AllowDownloadOption = False,
    json: JsonOption = False,
) -> None:
    """Measure how good a checkpoint is."""
    from viz_transformer.measuring.evaluation import evaluate_checkpoint

    file, folder = file_or_folder(data)
    model = read_as(
        vt.load(ckpt, device=device, dtype=dtype, allow_download=allow_download),
        language,
        source_language,
        False,
        False,
    )
    measured = evaluate_checkpoint(
        model,
        file,
        limit=limit,
        beam=beam,
        bleu=bleu,
        group=group,
        count_too_long=count_too_long,
        errors=errors,
        data_folder=folder,
        progress=report_progress("windows" if model.anatomy.kind == "decoder-only" else "pairs"),
    )
    if errors is not None:
        wrong = measured["pairs"] - round(measured["pairs"] * measured["exact_match"])
        print(f"{errors}: {wrong:,} wrong answers", file=sys.stderr)
    if file is None and not count_too_long:
        say_left_out(model)
    print(as_json(measured) if json else table([(name, number(value)) for name, value in measured.items()]))


def say_left_out(model: Checkpoint) -> None:
    """On stderr, how many pairs the test that the card names leaves out as too long."""
    if said := left_out(model.card):
        print(f"left out: {said}; evaluate --count-too-long counts them as wrong", file=sys.stderr)


@cli.command()
def compare(
    first: CheckpointArgument,
    second: CheckpointArgument,
    data: DataOption = None,
    limit: LimitOption = None,
    beam: BeamOption = None,
    bleu: BleuOption = None,
    differences: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the pairs with different answers: source, target, both answers, which is right, a link;"
            " tabs between.",
        ),
    ] = None,
    allow_download: AllowDownloadOption = False,
    json: JsonOption = False,
) -> None:
    """Say which of two checkpoints answers the same pairs better, and whether that may be chance.

    The pairs and BLEU are those that the first one's card names. Exact matches: McNemar's exact test. BLEU and chrF:
    paired bootstrap.
    """
    from viz_transformer.measuring.comparing import compare_checkpoints, comparison_rows, verdicts

    file, folder = file_or_folder(data)
    base = vt.load(first, allow_download=allow_download)
    found = compare_checkpoints(
        base,
        vt.load(second, allow_download=allow_download),
        file,
        limit=limit,
        beam=beam,
        bleu=bleu,
        data_folder=folder,
        differences=differences,
        progress=report_progress("answers"),
    )
    if file is None:
        say_left_out(base)
    print(as_json(found) if json else "\n".join([table(comparison_rows(found)), "", *verdicts(found)]))


def file_or_folder(data: Path | None) -> tuple[Path | None, Path | None]:
    """What --data names: a file, or the data folder."""
    return (None, data) if data is not None and data.is_dir() else (data, None)


def report_progress(things: str) -> Callable[[int, int], None]:
    """Writes what is done to stderr: over and over in one line of a terminal, else a line for each tenth."""
    last = -1

    def report(done: int, total: int) -> None:
        nonlocal last
        if sys.stderr.isatty():
            print(f"\revaluated {done:,} of {total:,} {things}", end="\n" if done == total else "", file=sys.stderr)
        elif done * 10 // total > last:
            last = done * 10 // total
            print(f"evaluated {done:,} of {total:,} {things}", file=sys.stderr, flush=True)

    return report


def show_sample_script(wanted: bool) -> None:
    if wanted:
        print(SCRIPT, end="")
        raise typer.Exit


@cli.command("import")
def import_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Weights: .pt, .pth, .ckpt, .bin, .safetensors, an index.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Checkpoint folder to write.")],
    layout: Annotated[
        str | None,
        typer.Option(metavar="L", help="en-it, tutorial6, annotated, upc-lab, fsu, torch, gpt, ..."),
    ] = None,
    map_: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="Where each tensor goes, instead of a layout.")
    ] = None,
    write_map: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write where each tensor goes, to be corrected for --map.")
    ] = None,
    heads: Annotated[int | None, typer.Option(metavar="N", help="Heads of each attention; no shape tells.")] = None,
    source_vocab: Annotated[
        Path | None, typer.Option(metavar="F", help="JSON, one token a line, counted:TEXT.")
    ] = None,
    target_vocab: Annotated[Path | None, typer.Option(metavar="F", help="The target's; a decoder's own.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the model, or bos=, pad=."),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ids and logits from where it was trained (.npz, .json), to be reproduced."),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ten or more of your texts, source, tab, target (a decoder's: lines): guesses are measured.",
        ),
    ] = None,
    sample_script: Annotated[
        bool,
        typer.Option(
            "--sample-script", callback=show_sample_script, is_eager=True, help="Print lines that write such a file."
        ),
    ] = False,
) -> None:
    """Make a checkpoint folder of weights that another program wrote; runs no code of the file's."""
    from viz_transformer.command.importing import run_import

    run_import(
        file,
        out,
        words=set_ or [],
        heads=heads,
        write_map=write_map,
        layout=layout,
        mapping=map_,
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        sample=sample,
        texts=texts,
    )


@cli.command()
def inspect(
    ckpt: CheckpointArgument,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    allow_download: AllowDownloadOption = False,
) -> None:
    """Print what a checkpoint is, after checking all its files and putting it on the device."""
    model = vt.load(ckpt, device=device, dtype=dtype, allow_download=allow_download)
    rows = [*checkpoint_rows(model), ("device", device)]
    if dtype != devices.FLOAT32:
        found = huggingface.away(model, vt.load(ckpt, device=device, allow_download=allow_download))
        given = "logits" if "logits" in model.anatomy.point else "outputs"
        rows.append(
            (
                "beside float32",
                f"in a text of {found.tokens} tokens its {given} are off by at most"
                f" {numerals.percent(found.output, 2, ' %')} of the largest one, its attention weights by"
                f" {numerals.number(found.weight)}",
            )
        )
    print(table(rows))


@cli.command("list")
def list_command() -> None:
    """List the checkpoints that come with the program, and your own: in ./runs and in the library."""
    rows, broken = [], []
    bundled = checkpoint.list_checkpoints()
    for entry in (*bundled, *recognised(own_checkpoints({each.name for each in bundled}))):
        try:
            if not isinstance(entry, checkpoint.Summary):
                raise checkpoint.CheckpointError(entry.error)
            rows.append(listed(entry))
        except checkpoint.CheckpointError as error:
            broken.append(str(error))
    if rows:
        print(table([("name", "task", "parameters", "metric"), *rows]))
    if broken:
        raise checkpoint.CheckpointError("; ".join(broken))
    if not rows:
        raise checkpoint.CheckpointError("no checkpoints came with this program: install it again")


def listed(entry: Summary) -> tuple[str, ...]:
    if isinstance(entry, RecordingSummary):
        return entry.name, "a recording of one call", "none", "not measured"
    first, all_pairs = next(iter(metrics(entry.card)), None), with_too_long(entry.card)
    said = ["not measured" if first is None else metric(first)]
    if all_pairs is not None:
        said += [f"left out {left_out(entry.card)}", f"with them {metric(all_pairs)}"]
    return entry.name, str(entry.card.get("task", "")), f"{entry.parameter_count:,}", "; ".join(said)


def run_facts(run: Run) -> dict[str, Any]:
    """A run for `translate --json`."""
    return {
        "text": run.text,
        "tokens": run.tokens,
        "log_prob": run.log_prob,
        "score": run.score,
        "stopped": run.stopped,
        "steps": [
            {
                "index": step.index,
                "token": step.token,
                "token_id": step.token_id,
                "log_prob": step.log_prob,
                "forced": step.forced,
                "candidates": [
                    {"token": c.token, "token_id": c.token_id, "log_prob": c.log_prob} for c in step.candidates
                ],
            }
            for step in run.steps
        ],
    }


def as_json(value: Mapping[str, Any]) -> str:
    """One JSON object, indented; NaN and infinities become null."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
