"""How a run's answer is written, as plain values for an address and a cache's key: strategy and branch.

Nothing heavy is imported before a strategy is asked for: public names are loaded when they are first used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import viz_transformer as vt
from viz_transformer.figures import labels
from viz_transformer.model.kinds import StackName
from viz_transformer.text.codec import AS_USUAL, TokenizerOptions

if TYPE_CHECKING:
    from viz_transformer.running.strategies import Strategy
    from viz_transformer.text.rules import BeamSettings

STACKS: tuple[StackName, ...] = get_args(StackName)
STRATEGIES = ("greedy", "sampling", "beam")
Sampled = tuple[float, int, float, float, float, int]
"""temperature, top-k (0 = off), top-p, min-p, repetition penalty, seed"""
Searched = tuple[int, float, str, str, str]
"""width, length penalty, gnmt or power, whether |Y| counts the end token ("end") or not ("no-end"), stop rule"""
OWN: tuple[()] = ()
"""Settings of a beam search that nobody chose: those of the model itself."""
OWN_NAME = "own"
BOUNDS = {
    "temperature": (0.0, 100.0),
    "top-k": (0, 10**6),
    "top-p": (0.01, 1.0),
    "min-p": (0.0, 1.0),
    "repetition penalty": (0.1, 10.0),
    "seed": (0, 10**9),
}
"""The least and the most of each setting of sampling, as the page offers them."""
BEAM_BOUNDS = {"width": (1, 100), "length penalty": (0.0, 10.0)}
"""The same of a beam search: what `strategies.Beam` takes."""
SAMPLED: Sampled = (0.8, 0, 1.0, 0.0, 1.0, 0)
SEARCHED: Searched = (4, 0.6, "gnmt", "end", "none-better")
MAX_BRANCHES, MAX_IDS, LONGEST_NAME = 12, 800, 24


@dataclass(frozen=True)
class GenerationConfig:
    """A strategy with its settings, banned ids, what the answer begins with, and the tokens that a branch has to write.

    settings: of a beam search `OWN` for those that the model itself has.
    force: (step, id) in order. `branch` is what the branch is called, for captions; "" for the answer that the strategy
    writes by itself. off: the stacks whose positions are left out. masked: positions of the text that are hidden from a
    model which fills in masks. read: how the text is read, where the model leaves a choice.
    """

    strategy: str = "greedy"
    settings: Sampled | Searched | tuple[()] = ()
    ban: tuple[int, ...] = ()
    prefix: str = ""
    force: tuple[tuple[int, int], ...] = ()
    branch: str = ""
    off: tuple[StackName, ...] = ()
    masked: tuple[int, ...] = ()
    read: TokenizerOptions = AS_USUAL

    def value(self, own: BeamSettings | None = None) -> Strategy:
        """The strategy, for a model with these settings of its own. Raises ValueError with one sentence for settings
        that cannot be."""
        if self.strategy == "sampling":
            return sampling(self.settings or SAMPLED)  # type: ignore[arg-type]
        return searching(self.settings or make_default_search(own)) if self.strategy == "beam" else vt.Greedy()  # type: ignore[arg-type]

    def words(self, own: BeamSettings | None = None) -> str:
        """What a caption says of it, of a model with these settings; "" for greedy decoding without anything else."""
        parts = [] if self.strategy == "greedy" else [str(self.value(own))]
        parts += [f"{len(self.ban)} banned"] if self.ban else []
        parts += [f"begun with “{labels.sentence(self.prefix)}”"] if self.prefix else []
        parts += [f"branch “{self.branch}”"] if self.branch else []
        parts += [f"masked at {', '.join(map(str, self.masked))}"] if self.masked else []
        return ", ".join([*parts, *self.changes()])

    def changes(self) -> list[str]:
        """What a caption says of how the text is read, and of the changes to the model."""
        off = [f"without the positions of the {' and the '.join(self.off)}"] if self.off else []
        return [*self.read.words(), *off]

    def text(self) -> str:
        """All of it in one line, as `parse_how` reads it."""
        settings = OWN_NAME if (self.strategy, self.settings) == ("beam", OWN) else ",".join(map(str, self.settings))
        forced = ",".join(f"{step}:{token}" for step, token in self.force)
        strategy = "-without-".join([self.strategy, *self.off])
        strategy += f"-masked-{','.join(map(str, self.masked))}" if self.masked else ""
        strategy += f"-read-{write_how_read(self.read)}" if self.read != AS_USUAL else ""
        return "|".join([strategy, settings, ",".join(map(str, self.ban)), forced, self.branch, self.prefix])


def parse_how(given: str) -> GenerationConfig | None:
    """The How of such a line; None for any other text."""
    parts = given.split("|", 5)
    before, _, how_read = parts[0].partition("-read-")
    first, _, hidden = before.partition("-masked-")
    strategy, *off = first.split("-without-")
    if len(parts) != 6 or strategy not in STRATEGIES or len({*off} & {*STACKS}) < len(off):
        return None
    _, settings, ban, force, branch, prefix = parts
    read = {"sampling": read_sampling, "beam": read_beam}.get(strategy, lambda text: () if text == "" else None)(
        settings
    )
    pairs = [part.split(":") for part in force.split(",")] if force else []
    banned, forced = read_ids(ban), read_ids(",".join(number for pair in pairs for number in pair))
    masked, as_read = read_ids(hidden), read_how_read(how_read)
    if read is None or banned is None or forced is None or masked is None or name_of(branch) != branch:
        return None
    if as_read is None:
        return None
    if any(len(pair) != 2 for pair in pairs):
        return None
    steps = tuple(zip(forced[::2], forced[1::2], strict=True))
    stacks = tuple(stack for stack in STACKS if stack in off)
    return GenerationConfig(strategy, read, banned, prefix, steps, branch, stacks, masked, as_read)


_READ = re.compile(
    r"(?:from:(?P<source_language>\w{1,20}))?(?:,into:(?P<language>\w{1,20}))?"
    r"(?P<special_tokens>,special-tokens)?(?P<chat>,chat)?",
    re.ASCII,
)


def read_how_read(given: str) -> TokenizerOptions | None:
    """How a text is read as an address has it, such as "from:en_XX,into:de_DE"; None for anything else."""
    found = _READ.fullmatch(given if not given or given.startswith("from:") else f",{given}")
    if found is None:
        return None
    words = {name: found[name] or "" for name in ("language", "source_language")}
    return TokenizerOptions(**words, special_tokens=bool(found["special_tokens"]), chat=bool(found["chat"]))


def write_how_read(how: TokenizerOptions) -> str:
    """The same as `read_how_read` reads it."""
    parts = [f"from:{how.source_language}"] if how.source_language else []
    parts += [f"into:{how.language}"] if how.language else []
    parts += ["special-tokens"] if how.special_tokens else []
    return ",".join([*parts, *(["chat"] if how.chat else [])])


def sampling(settings: Sampled) -> Strategy:
    """The strategy with these settings. Raises ValueError for those that cannot be."""
    temperature, top_k, top_p, min_p, penalty, seed = settings
    return vt.Sampling(
        temperature=temperature,
        top_k=top_k or None,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=penalty,
        seed=seed,
    )


def searching(settings: Searched) -> Strategy:
    """The beam search with these settings. Raises ValueError for those that cannot be."""
    width, length_penalty, penalty, counted, stop = settings
    return vt.Beam(width, length_penalty=length_penalty, penalty=penalty, count_end=counted == "end", stop=stop)  # type: ignore[arg-type]


def make_default_search(own: BeamSettings | None) -> Searched:
    """The settings of a beam search that nobody chose, of a model with these of its own."""
    if own is None:
        return SEARCHED
    width = min(own.width or SEARCHED[0], BEAM_BOUNDS["width"][1])
    full = vt.Beam(int(width)).filled(own)
    return int(width), full.length_penalty or 0.0, str(full.penalty), "end", str(full.stop)


def read_sampling(given: str) -> Sampled | None:
    """Settings of sampling as an address has them; None for what is none, or cannot be."""
    parts = given.split(",")
    if len(parts) != 6:
        return None
    numbers = [_number(part) for part in parts]
    whole = [_whole(parts[1]), _whole(parts[5])]
    if None in numbers or None in whole:
        return None
    temperature, _, top_p, min_p, penalty, _ = (float(number or 0) for number in numbers)
    found: Sampled = (temperature, whole[0] or 0, top_p, min_p, penalty, whole[1] or 0)
    inside = all(low <= value <= high for value, (low, high) in zip(found, BOUNDS.values(), strict=True))
    return found if inside else None


def read_beam(given: str) -> Searched | tuple[()] | None:
    """Settings of a beam search as an address has them, "own" for the model's; None for what is none, or cannot be."""
    if given == OWN_NAME:
        return OWN
    parts = given.split(",")
    if len(parts) != 5 or parts[3] not in ("end", "no-end"):
        return None
    width, length_penalty = _whole(parts[0]), _number(parts[1].removeprefix("-"))
    if width is None or length_penalty is None:
        return None
    sign = -1 if parts[1].startswith("-") and length_penalty else 1
    found: Searched = (width, sign * length_penalty, parts[2], parts[3], parts[4])
    try:
        searching(found)
    except ValueError:
        return None
    return found


def read_ids(given: str) -> tuple[int, ...] | None:
    """Ids with commas between them; None for anything else, or too many."""
    ids = [_whole(part) for part in given.split(",")] if given else []
    known = tuple(number for number in ids if number is not None)
    return known if len(known) == len(ids) <= MAX_IDS else None


@dataclass(frozen=True)
class Branch:
    """Another way to go on: from step `step` of branch `parent` (0 is the strategy's own answer) with these ids."""

    parent: int
    step: int
    ids: tuple[int, ...]
    name: str


def read_branches(given: str) -> tuple[Branch, ...] | None:
    """Branches as an address has them, each after its parent: "0.3.17.pin;1.5.9-4.other"."""
    found: list[Branch] = []
    for word in given.split(";") if given else []:
        match = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,4})\.([0-9]{1,7}(?:-[0-9]{1,7})*)\.([^.;]+)", word)
        if match is None:
            return None
        parent, step, name = int(match[1]), int(match[2]), match[4]
        ids = tuple(map(int, match[3].split("-")))
        if parent > len(found) or name_of(name) != name or len(ids) > MAX_IDS:
            return None
        found.append(Branch(parent, step, ids, name))
    return tuple(found) if len(found) <= MAX_BRANCHES else None


def write_branches(branches: Sequence[Branch]) -> str:
    """Branches as `read_branches` reads them."""
    return ";".join(f"{b.parent}.{b.step}.{'-'.join(map(str, b.ids))}.{b.name}" for b in branches)


def name_of(text: str) -> str:
    """The text as the name of a branch: its letters, digits, blanks and hyphens, at most 24."""
    return " ".join(re.sub(r"[^\w\- ]", "", text).split())[:LONGEST_NAME].strip()


def drop_branch(branches: Sequence[Branch], closed: int) -> tuple[Branch, ...]:
    """The branches without branch `closed` (1 is the first) and those that grow from it, numbered anew."""
    places = {0: 0}
    kept: list[Branch] = []
    for number, branch in enumerate(branches, start=1):
        if number != closed and branch.parent in places:
            kept.append(Branch(places[branch.parent], branch.step, branch.ids, branch.name))
            places[number] = len(kept)
    return tuple(kept)


def _number(given: str) -> float | None:
    return float(given) if re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,20})?(e-[0-9]{2})?", given) else None


def _whole(given: str) -> int | None:
    return int(given) if re.fullmatch(r"[0-9]{1,18}", given) else None
