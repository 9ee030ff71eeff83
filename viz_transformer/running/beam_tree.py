"""The tree of a beam search: every hypothesis that was expanded, what it scored, and why and when it ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from viz_transformer import numerals
from viz_transformer.numerals import nth
from viz_transformer.running.strategies import Beam

Fate = Literal["went on", "finished", "pruned", "late end", "displaced", "stopped", "cut off"]
FATES: Mapping[Fate, str] = {
    "went on": "it was extended in the next step",
    "finished": "it wrote its end token and is among the best finished ones",
    "pruned": "others had more log-probability",
    "late end": "an end token counts only among the first `width` continuations of a step",
    "displaced": "it had finished, and better ones finished later",
    "stopped": "it was still going when the search stopped",
    "cut off": "it was still going at the maximum length, where the stop rule counts it as finished",
}


@dataclass(frozen=True)
class Hypothesis:
    """The beginning of an answer, by its last token. Numbers are float64, logarithms natural.

    index: its place in the tree. parent: that of the hypothesis that it extends, None for the first tokens. step: the
    place of its last token. log_prob: of that token alone; total: of all its tokens. length: |Y|, as it is counted;
    score: total / penalty(|Y|). rank: its place among the continuations of its step, 0 = most probable. kept: whether
    the search took it up; the others were only looked at. ended: the step that decided its fate. margin: by how much it
    was beaten, as log-probability for "pruned" and "late end", else as score; None where nothing beat it: one that was
    stopped may have a better score than the answer, if that has finished.
    """

    index: int
    parent: int | None
    step: int
    token: str
    token_id: int
    log_prob: float
    total: float
    length: int
    score: float
    rank: int
    kept: bool
    fate: Fate
    ended: int
    margin: float | None


@dataclass(frozen=True)
class BeamTree:
    """All hypotheses of a search, step by step, and the answer among them. `start` is what the decoder read first."""

    beam: Beam
    nodes: tuple[Hypothesis, ...]
    answer: int
    start: tuple[int, ...]

    @property
    def steps(self) -> int:
        """How many steps the search took."""
        return self.nodes[-1].step + 1

    @cached_property
    def finished(self) -> tuple[Hypothesis, ...]:
        """The finished hypotheses, at most as many as the beam is wide, best score first; with them those that the stop
        rule counts as finished."""
        found = (n for n in self.nodes if n.fate in ("finished", "cut off"))
        return tuple(sorted(found, key=lambda n: n.score, reverse=True)[: self.beam.width])

    @cached_property
    def best(self) -> tuple[Hypothesis, ...]:
        """The `n_best` answers, best first: finished hypotheses, or those still going if none has finished."""
        going = [node for node in self.nodes if node.fate == "stopped"]
        found = self.finished or sorted(going, key=lambda node: node.score, reverse=True)
        return tuple(found[: self.beam.n_best])

    def path(self, index: int) -> tuple[Hypothesis, ...]:
        """The hypothesis and those that it extends, from the first token on. Raises ValueError for an unknown place."""
        self._check(index)
        found = [self.nodes[index]]
        while (parent := found[-1].parent) is not None:
            found.append(self.nodes[parent])
        return tuple(reversed(found))

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self.nodes):
            raise ValueError(f"there is no hypothesis {index}: the tree has 0 to {len(self.nodes) - 1}")

    def ids(self, index: int) -> tuple[int, ...]:
        """The tokens that a hypothesis has written."""
        return tuple(node.token_id for node in self.path(index))

    def children(self, index: int | None) -> tuple[Hypothesis, ...]:
        """The hypotheses that extend this one, most probable first; without an index the first tokens."""
        return self._children.get(index, ())

    @cached_property
    def _children(self) -> dict[int | None, tuple[Hypothesis, ...]]:
        found: dict[int | None, list[Hypothesis]] = {}
        for node in self.nodes:
            found.setdefault(node.parent, []).append(node)
        return {parent: tuple(nodes) for parent, nodes in found.items()}

    def why(self, index: int) -> str:
        """Why and when a hypothesis ended, in one sentence, with steps counted from 1 (`ended` counts from 0).

        Raises ValueError for an unknown place.
        """
        self._check(index)
        node = self.nodes[index]
        margin = "" if node.margin is None else f" by {numerals.number(node.margin, 2)}"
        if index == self.answer:
            ended, other = {
                "finished": ("finished", "finished "),
                "cut off": ("was still going at the maximum length, which counts as finished", "finished "),
            }.get(node.fate, ("was still going when the search stopped", ""))
            return (
                f"The answer: it {ended}, and no other {other}one scores better than {numerals.number(node.score, 2)}."
            )
        if node.fate == "went on":
            return self._why_went_on(node)
        at = nth(node.ended)
        return {
            "finished": f"It finished in step {at}; the answer scores better{margin}.",
            "pruned": f"Pruned in step {at}: the last of the {self.beam.width} that {self._kept_as(node.ended)}"
            f" had more log-probability{margin}.",
            "late end": f"Its end token came too late in step {at}: only one among the first"
            f" {self.beam.width} continuations counts; the last of those had more log-probability{margin}.",
            "displaced": f"It finished in step {nth(node.step)}, and in step {at} there were {self.beam.width}"
            f" finished ones with a better score{margin}.",
            "stopped": f"The search stopped in step {at} while it was going; "
            + (f"the answer scores better{margin}." if margin else "its score is better, but the answer has finished."),
            "cut off": f"It was still going at the maximum length, in step {at}, which counts as finished; the"
            f" answer scores better{margin}.",
        }[node.fate]

    def _kept_as(self, step: int) -> str:
        """What became of those that a step took up."""
        in_time = step < self.steps - 1 or any(node.fate == "stopped" for node in self.nodes)
        return "went on" if in_time or not self.beam.counts_unfinished else "count as finished"

    def _why_went_on(self, node: Hypothesis) -> str:
        """What became of the line that it began: the last of its extensions, and whether the answer is one of them."""
        if node.index in self._answer:
            return "It went on: the answer begins with it."
        last = self.nodes[self._last[node.index]]
        ends = {
            "finished": "finished",
            "stopped": "was still going when the search stopped",
            "cut off": "was still going at the maximum length",
            "displaced": "was displaced",
        }
        return f"It went on; the last of its extensions {ends.get(last.fate, 'was pruned')} in step {nth(last.ended)}."

    @cached_property
    def _answer(self) -> frozenset[int]:
        return frozenset(node.index for node in self.path(self.answer))

    @cached_property
    def _last(self) -> dict[int, int]:
        """For each hypothesis that went on the extension that got furthest: to the end if one did."""
        found: dict[int, int] = {}
        for node in reversed(self.nodes):  # extensions stand behind what they extend
            if node.parent is None or not node.kept:
                continue
            last = found.get(node.index, node.index)
            found[node.parent] = max(last, found.get(node.parent, last), key=self._got_to)
        return found

    def _got_to(self, index: int) -> tuple[bool, int, bool, int]:
        node = self.nodes[index]
        return node.fate in ("finished", "stopped", "cut off"), node.ended, node.fate == "finished", -index

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data: `translate --tree` writes this as JSON."""
        return {
            "format": 1,
            "strategy": str(self.beam),
            "formula": self.beam.formula(),
            "settings": asdict(self.beam),
            "start": list(self.start),
            "answer": self.answer,
            "hypotheses": [asdict(node) for node in self.nodes],
        }


@dataclass
class _Node:
    """A hypothesis while the search goes on."""

    parent: int | None
    step: int
    token_id: int
    log_prob: float
    total: float
    rank: int
    kept: bool
    ends: bool
    fate: Fate = "pruned"
    ended: int = 0
    margin: float | None = None


class TreeRecorder:
    """Writes down what a search does with its hypotheses; `tree` is there when it is over."""

    def __init__(self, beam: Beam, ends: Collection[int], begun: int = 0, most: int | None = None) -> None:
        """most: steps at most, None for no end of them."""
        self.beam, self.ends, self.begun = beam, ends, begun
        self.most = most if beam.counts_unfinished else None
        self.nodes: list[_Node] = []
        self.alive: list[int | None] = [None]  # the nodes of the hypotheses that go on
        self.step = 0

    def grown(
        self,
        looked_at: Sequence[tuple[int, int, float, float, bool]],
        kept: Sequence[int],
        best_pruned: Mapping[int, float],
    ) -> None:
        """One step. looked_at: (parent's place, token, its log_prob, total, whether kept), most probable first.

        kept: the places in `looked_at` of those that go on. best_pruned: for each parent of which nothing was kept the
        most that an extension without the end token has.
        """
        first = len(self.nodes)
        cutoff = min((looked_at[place][3] for place in kept), default=None)
        in_width = [entry[3] for entry in looked_at[: self.beam.width]]
        if self.step + 1 == self.most:  # all of these count as finished
            cutoff = in_width[-1]
        for rank, (parent, token, log_prob, total, is_kept) in enumerate(looked_at):
            ends = token in self.ends
            node = _Node(self.alive[parent], self.step, token, log_prob, total, rank, is_kept, ends, ended=self.step)
            if ends and is_kept:
                node.fate = "finished"
            elif ends:
                node.fate, node.margin = "late end", in_width[-1] - total
            elif not is_kept and cutoff is not None:
                node.margin = cutoff - total
            self.nodes.append(node)
        for parent, place in enumerate(self.alive):
            if place is None:
                continue
            node = self.nodes[place]
            node.ended = self.step
            if parent not in best_pruned:
                node.fate = "went on"
            else:
                node.fate = "pruned"
                node.margin = None if cutoff is None else cutoff - best_pruned[parent]
        self.alive = [first + place for place in kept]
        self.step += 1

    def tree(self, vocabulary: Sequence[str], start: Sequence[int], answer: Sequence[int]) -> BeamTree:
        """The finished tree; `answer` are the ids that the search has chosen."""
        for place in self.alive:
            if place is not None:
                self.nodes[place].fate = "cut off" if self.step == self.most else "stopped"
                self.nodes[place].ended = self.step - 1
        self._follow_displaced()
        scores = [self._score(node) for node in self.nodes]
        chosen = self._find(answer)
        for node, (_, score) in zip(self.nodes, scores, strict=True):
            if node.fate in ("finished", "stopped", "cut off") and node is not self.nodes[chosen]:
                behind = scores[chosen][1] - score
                node.margin = behind if behind >= 0 else None
        nodes = []
        for index, (node, (length, score)) in enumerate(zip(self.nodes, scores, strict=True)):
            stated = {name: value for name, value in vars(node).items() if name != "ends"}
            token = vocabulary[node.token_id]
            nodes.append(Hypothesis(index=index, token=token, length=length, score=score, **stated))
        return BeamTree(self.beam, tuple(nodes), chosen, tuple(start))

    def _score(self, node: _Node) -> tuple[int, float]:
        length = self.beam.counted(self.begun + node.step + 1, ended=node.ends)
        return length, self.beam.score(node.total, length)

    def _follow_displaced(self) -> None:
        """Finished ones that better ones pushed out, step by step as the search did."""
        best: list[tuple[float, int]] = []
        for step in range(self.step):
            found = [
                (self._score(node)[1], place)
                for place, node in enumerate(self.nodes)
                if node.step == step and node.fate in ("finished", "cut off")
            ]
            ranked = sorted([*best, *found], key=lambda pair: pair[0], reverse=True)
            best, out = ranked[: self.beam.width], ranked[self.beam.width :]
            for score, place in out:
                node = self.nodes[place]
                if node.fate == "finished":
                    node.fate, node.ended, node.margin = "displaced", step, best[-1][0] - score

    def _find(self, ids: Sequence[int]) -> int:
        """The node at the end of these tokens."""
        places = {(node.parent, node.token_id): place for place, node in enumerate(self.nodes)}
        found: int | None = None
        for token in ids:
            found = places[found, token]
        assert found is not None
        return found
