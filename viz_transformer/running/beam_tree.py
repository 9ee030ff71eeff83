"""The tree of a beam search: every hypothesis, its score, and when and why it ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from viz_transformer import numerals
from viz_transformer.numerals import nth
from viz_transformer.running.strategies import Beam

Fate = Literal["went on", "finished", "pruned", "late end", "displaced", "stopped", "cut off"]


@dataclass(frozen=True)
class Hypothesis:
    """The beginning of an answer, identified by its last token. Numbers are float64, logarithms natural."""

    index: int
    """Index in the tree."""
    parent: int | None
    """Index of the hypothesis that it extends; None for a first token."""
    step: int
    """Step of its last token."""
    token: str
    token_id: int
    log_prob: float
    """Log-probability of its last token."""
    total: float
    """Sum over all its tokens."""
    length: int
    """|Y|, as the beam counts it."""
    score: float
    """total / penalty(|Y|)."""
    rank: int
    """Among the continuations of its step; 0 = most probable."""
    kept: bool
    """False if the search only considered it."""
    fate: Fate
    ended: int
    """Step that decided its fate."""
    margin: float | None
    """How far it lost: in log-probability for "pruned" and "late end", else in score; None if nothing beat it."""


@dataclass(frozen=True)
class BeamTree:
    """All hypotheses of a search, step by step. `answer` indexes the best; `start` is what the decoder read first."""

    beam: Beam
    nodes: tuple[Hypothesis, ...]
    answer: int
    start: tuple[int, ...]

    @property
    def steps(self) -> int:
        """Number of steps of the search."""
        return self.nodes[-1].step + 1

    @cached_property
    def finished(self) -> tuple[Hypothesis, ...]:
        """The best finished hypotheses, at most `width`, including those that the stop rule counts as finished."""
        found = (n for n in self.nodes if n.fate in ("finished", "cut off"))
        return tuple(sorted(found, key=lambda n: n.score, reverse=True)[: self.beam.width])

    @cached_property
    def best(self) -> tuple[Hypothesis, ...]:
        """The `n_best` answers, best first: finished hypotheses, or unfinished ones if none has finished."""
        going = [node for node in self.nodes if node.fate == "stopped"]
        found = self.finished or sorted(going, key=lambda node: node.score, reverse=True)
        return tuple(found[: self.beam.n_best])

    def path(self, index: int) -> tuple[Hypothesis, ...]:
        """The hypothesis and its ancestors, from the first token on. Raises ValueError for an unknown index."""
        self._check(index)
        found = [self.nodes[index]]
        while (parent := found[-1].parent) is not None:
            found.append(self.nodes[parent])
        return tuple(reversed(found))

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self.nodes):
            raise ValueError(f"there is no hypothesis {index}: the tree has 0 to {len(self.nodes) - 1}")

    def ids(self, index: int) -> tuple[int, ...]:
        return tuple(node.token_id for node in self.path(index))

    def children(self, index: int | None) -> tuple[Hypothesis, ...]:
        """Extensions of a hypothesis, most probable first; without an index, the first tokens."""
        return self._children.get(index, ())

    @cached_property
    def _children(self) -> dict[int | None, tuple[Hypothesis, ...]]:
        found: dict[int | None, list[Hypothesis]] = {}
        for node in self.nodes:
            found.setdefault(node.parent, []).append(node)
        return {parent: tuple(nodes) for parent, nodes in found.items()}

    def why(self, index: int) -> str:
        """One sentence on why and when a hypothesis ended, with steps counted from 1 (`ended` counts from 0).

        Raises ValueError for an unknown index.
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
        """What happened to the hypotheses that a step kept, in words."""
        in_time = step < self.steps - 1 or any(node.fate == "stopped" for node in self.nodes)
        return "went on" if in_time or not self.beam.counts_unfinished else "count as finished"

    def _why_went_on(self, node: Hypothesis) -> str:
        """What happened to a hypothesis' descendants: how far they got, and whether the answer is one of them."""
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
        """For each hypothesis that went on, its furthest extension: a finished one if there is one."""
        found: dict[int, int] = {}
        for node in reversed(self.nodes):  # extensions come after what they extend
            if node.parent is None or not node.kept:
                continue
            last = found.get(node.index, node.index)
            found[node.parent] = max(last, found.get(node.parent, last), key=self._got_to)
        return found

    def _got_to(self, index: int) -> tuple[bool, int, bool, int]:
        node = self.nodes[index]
        return node.fate in ("finished", "stopped", "cut off"), node.ended, node.fate == "finished", -index

    def to_dict(self) -> dict[str, Any]:
        """The tree as plain data, which `translate --tree` writes as JSON."""
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
    """A hypothesis while the search is running."""

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
    """Records the hypotheses of a search; call `tree` when it is over."""

    def __init__(self, beam: Beam, ends: Collection[int], begun: int = 0, most: int | None = None) -> None:
        """most: maximum steps, None for no limit."""
        self.beam, self.ends, self.begun = beam, ends, begun
        self.most = most if beam.counts_unfinished else None
        self.nodes: list[_Node] = []
        self.alive: list[int | None] = [None]  # the nodes of the live hypotheses
        self.step = 0

    def grown(
        self,
        looked_at: Sequence[tuple[int, int, float, float, bool]],
        kept: Sequence[int],
        best_pruned: Mapping[int, float],
    ) -> None:
        """Record one step.

        looked_at: (index of the parent, token, log_prob, total, whether kept), most probable first. kept: indices in
        `looked_at` of the hypotheses that go on. best_pruned: for each parent without an extension that goes on, the
        best total of one without the end token.
        """
        first = len(self.nodes)
        cutoff = min((looked_at[place][3] for place in kept), default=None)
        in_width = [entry[3] for entry in looked_at[: self.beam.width]]
        if self.step + 1 == self.most:  # all live hypotheses count as finished
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
        """The finished tree; `answer` are the ids that the search chose."""
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
        """Mark finished hypotheses that better ones displaced, step by step as in the search."""
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
        """Index of the node with these tokens."""
        places = {(node.parent, node.token_id): place for place, node in enumerate(self.nodes)}
        found: int | None = None
        for token in ids:
            found = places[found, token]
        assert found is not None
        return found
