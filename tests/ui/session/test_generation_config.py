"""How an answer is written, as an address has it: read back as written, and refused where it cannot be."""

import subprocess
import sys

import pytest
from wording import wording

from viz_transformer.running.strategies import Beam, Greedy, Sampling
from viz_transformer.text.codec import TokenizerOptions
from viz_transformer.text.rules import BeamSettings
from viz_transformer.ui.session.generation_config import (
    MAX_BRANCHES,
    SAMPLED,
    SEARCHED,
    Branch,
    GenerationConfig,
    drop_branch,
    name_of,
    parse_how,
    read_beam,
    read_branches,
    read_ids,
    read_sampling,
    write_branches,
)

HOWS = [
    GenerationConfig(),
    GenerationConfig("sampling", (0.7, 40, 0.95, 0.02, 1.3, 7), (3, 5), "ein | Hund", ((2, 17), (5, 4)), "über 2"),
    GenerationConfig("beam", (8, 1.0, "power", "no-end", "first-finished"), branch="pin"),
    GenerationConfig("beam", branch="pin"),
    GenerationConfig("beam", (3, -0.5, "power", "end", "early_stopping=never")),
    GenerationConfig(prefix="a,b;c"),
    GenerationConfig(off=("encoder",)),
    GenerationConfig("beam", SEARCHED, off=("encoder", "decoder")),
    GenerationConfig(masked=(2, 5)),
    GenerationConfig(off=("encoder",), masked=(0,)),
    GenerationConfig(read=TokenizerOptions(language="de_DE")),
    GenerationConfig(
        "beam", SEARCHED, masked=(0,), read=TokenizerOptions("deu_Latn", "en", special_tokens=True, chat=True)
    ),
]


@pytest.mark.parametrize("how", HOWS)
def test_a_how_is_read_back_as_it_was_written(how: GenerationConfig):
    assert parse_how(how.text()) == how


@pytest.mark.parametrize(
    "line",
    [
        "",
        "greedy",
        "best|||||",
        "greedy-without-|||||",
        "greedy-without-memory|||||",
        "greedy-without-encoder-without-encoder|||||",
        "greedy|1|||",
        "sampling|1,0,1,0,1|||",
        "greedy||x|||",
        "greedy|||3|x|",
        "greedy|||3:|x|",
        "beam|||||",
        "greedy||||<b>|",
        "greedy-masked-x|||||",
        "greedy-masked-1-masked-2|||||",
        "greedy-read-into:<b>|||||",
        "greedy-read-chat,into:de|||||",
    ],
)
def test_a_line_that_is_no_how_is_refused(line: str):
    assert parse_how(line) is None


def test_settings_become_the_strategies_that_they_name():
    assert GenerationConfig().value() == Greedy()
    assert GenerationConfig("sampling", (0.7, 0, 0.95, 0.02, 1.3, 7)).value() == Sampling(
        temperature=0.7, top_p=0.95, min_p=0.02, repetition_penalty=1.3, seed=7
    )
    assert GenerationConfig("sampling", (1.0, 5, 1.0, 0.0, 1.0, 0)).value() == Sampling(top_k=5)
    assert GenerationConfig("beam", (8, 1.0, "power", "no-end", "first-finished")).value() == Beam(
        8, length_penalty=1.0, penalty="power", count_end=False, stop="first-finished"
    )
    assert GenerationConfig("beam", SEARCHED).value() == GenerationConfig("beam").value() == Beam(4).filled()
    own = BeamSettings(6, 2.0, early_stopping=True)
    assert GenerationConfig("beam").value(own) == Beam(6).filled(own)
    assert GenerationConfig("beam", SEARCHED).value(own) == Beam(4).filled()
    assert GenerationConfig("beam").value(BeamSettings(1000)) == Beam(100).filled(BeamSettings())


def test_a_beginning_of_two_lines_is_quoted_on_one():
    assert GenerationConfig(prefix="so\nit goes\n").words() == "begun with “so↵it goes↵”"


def test_a_caption_says_what_is_not_greedy():
    assert GenerationConfig().words() == ""
    assert (
        GenerationConfig(off=("encoder", "decoder")).words() == "without the positions of the encoder and the decoder"
    )
    assert GenerationConfig("beam", SEARCHED, (1,), branch="pin").words() == wording(
        "how_a_beam_was_run", 4, "0.6", 1, "pin"
    )


@pytest.mark.parametrize("given", ["0.8,0,1.0,0.0,1.0,0", "0,40,0.5,1,10,1000000000"])
def test_settings_of_sampling_are_read(given: str):
    found = read_sampling(given)
    assert found is not None and ",".join(f"{number:g}" for number in found) == ",".join(
        f"{float(number):g}" for number in given.split(",")
    )
    assert (type(found[1]), type(found[5])) == (int, int)


@pytest.mark.parametrize(
    "given",
    [
        "",
        "1",
        "nan,0,1,0,1,0",
        "inf,0,1,0,1,0",
        "-1,0,1,0,1,0",
        "101,0,1,0,1,0",
        "1,0.5,1,0,1,0",
        "1,0,0,0,1,0",
        "1,0,1.1,0,1,0",
        "1,0,1,2,1,0",
        "1,0,1,0,0,0",
        "1,0,1,0,1,x",
        "1e9,0,1,0,1,0",
        "٣,0,1,0,1,0",
    ],
)
def test_settings_of_sampling_that_cannot_be_are_refused(given: str):
    assert read_sampling(given) is None


def test_settings_of_a_beam_are_read_or_refused():
    assert read_beam("4,0.6,gnmt,end,none-better") == SEARCHED
    assert read_beam("own") == ()
    assert read_beam("100,10,power,no-end,width-finished") == (100, 10.0, "power", "no-end", "width-finished")
    assert read_beam("3,-0.5,power,end,early_stopping=True") == (3, -0.5, "power", "end", "early_stopping=True")
    wrong = ["0,0.6,gnmt,end,none-better", "1000,0.6,gnmt,end,none-better", "4,nan,gnmt,end,none-better"]
    wrong += ["4,0.6,other,end,none-better", "4,0.6,gnmt,yes,none-better", "4,0.6,gnmt,end,never", "4,0.6,gnmt,end", ""]
    wrong += ["4,-0.5,power,end,none-better", "4,--0.5,power,end,early_stopping=True"]
    assert [read_beam(each) for each in wrong] == [None] * len(wrong)


def test_ids_are_read_or_refused():
    assert read_ids("") == () and read_ids("3,0,12") == (3, 0, 12)
    assert read_ids("3,") is None and read_ids("-1") is None and read_ids(",".join(["1"] * 801)) is None


GROWN = (
    Branch(0, 3, (17,), "pin"),
    Branch(1, 5, (9, 4), "über 2"),
    Branch(0, 0, (1,), "other"),
    Branch(2, 7, (2,), "x"),
)


def test_branches_are_read_back_as_they_were_written():
    assert read_branches(write_branches(GROWN)) == GROWN
    assert read_branches("") == ()


@pytest.mark.parametrize(
    "given",
    [
        "1.0.3.a",
        "0.0.3",
        "0.0..a",
        "0.0.3.<b>",
        "0.0.3.a;",
        "0.x.3.a",
        "0.0.3. a",
        ";".join(["0.0.1.a"] * (MAX_BRANCHES + 1)),
    ],
)
def test_branches_that_cannot_be_are_refused(given: str):
    assert read_branches(given) is None


def test_a_closed_branch_takes_along_what_grows_from_it():
    assert drop_branch(GROWN, 1) == (Branch(0, 0, (1,), "other"),)
    assert drop_branch(GROWN, 2) == (GROWN[0], GROWN[2])
    assert drop_branch(GROWN, 3) == (GROWN[0], GROWN[1], GROWN[3])  # which grows from the second still
    assert drop_branch((*GROWN, Branch(3, 2, (5,), "y")), 2) == (GROWN[0], GROWN[2], Branch(2, 2, (5,), "y"))


def test_a_name_has_letters_digits_blanks_and_hyphens():
    assert name_of(" a.b;c|<b>  d-é ") == "abcb d-é" and name_of("...") == "" and len(name_of("a" * 99)) == 24


def test_nothing_heavy_is_imported_for_a_greedy_address():
    program = (
        "import sys; from viz_transformer.ui.session import generation_config as how;"
        "how.parse_how('greedy|||||'); how.read_sampling('1,0,1,0,1,0'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr
    assert read_sampling(",".join(map(str, SAMPLED))) == SAMPLED
