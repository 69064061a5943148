"""Linkability: can two files about one person be joined through the release?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from understudy.errors import PlanError
from understudy.evidence import Estimate, Evidence, Judge, Map, Measure, points
from understudy.kernels.guessing import linked
from understudy.kernels.neighbours import nearest
from understudy.risk.success import Success, absent, mixed, of_each, one_each
from understudy.settings import require_range
from understudy.tables.encode import Block, Encoding, stack
from understudy.tables.schema import Schema

NAME = "linkability"
Sides = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Linkability(Measure):
    """Two files hold different columns of the same people; the release is the bridge.

    For each person the k nearest synthetic rows are found on the columns of the first file, and
    again on those of the second. If one row is among both, the two halves are linked. The control
    does the same for people whom the synthesis never saw. Each attack is about one person, so a
    control with fewer people is less exact and no less right: the mean over all its subsamples of
    any size is its own share.

    Attributes:
        attacks: people under attack.
        neighbours: k.
        columns: the two lists of columns, or ``"auto"``: columns with the most values are dealt to
            the two files in turn.
    """

    names: ClassVar[tuple[str, ...]] = (NAME,)
    attacks: int = 1000
    neighbours: int = 1
    columns: str | tuple[tuple[str, ...], ...] = "auto"

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.attacks", self.attacks, 1, whole=True)
        require_range(f"{where}.neighbours", self.neighbours, 1, whole=True)
        if self.columns == "auto":
            return
        wanted = '"auto" or two lists of columns'
        two = isinstance(self.columns, tuple) and len(self.columns) == 2
        if not two or not all(isinstance(side, tuple) and side for side in self.columns):
            raise PlanError(f"{where}.columns", self.columns, wanted)
        names = [name for side in self.columns for name in side]
        if not all(isinstance(name, str) for name in names):
            raise PlanError(f"{where}.columns", self.columns, wanted)
        if len(set(names)) < len(names):
            raise PlanError(f"{where}.columns", self.columns, "each column in one list only")

    def fits(self, where: str, schema: Schema) -> None:
        """Refuse columns that the table lacks."""
        for name in () if isinstance(self.columns, str) else sum(self.columns, ()):
            if name not in schema.names:
                known = ", ".join(schema.names)
                raise PlanError(f"{where}.columns", name, f"columns of the table: {known}")

    def sides(self, evidence: Evidence) -> Sides | str:
        """The columns of both files; where there are none, why."""
        drawn = evidence.drawn
        if isinstance(self.columns, str):
            if len(drawn) < 2:
                return "one column alone was synthesised: there are no two files to link"
            return halves(evidence.encoding, drawn)
        first, second = (tuple(n for n in side if n in drawn) for side in self.columns)
        if not first or not second:
            return "the columns of one file are all kept as they were: none was synthesised"
        return first, second

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> LinkabilityJudge:
        """Choose who is attacked."""
        both = stack([evidence.control, evidence.fresh])
        people, held, control = (
            one_each(block, rng).thin(self.attacks, rng)
            for block in (evidence.train, both, evidence.control)
        )
        return LinkabilityJudge(self, evidence, self.sides(evidence), people, held, control)


def halves(encoding: Encoding, names: Sequence[str]) -> Sides:
    """Deal columns to two files, those with the most values first: A, B, B, A, A, B and so on."""
    ranked = sorted(names, key=lambda name: -encoding[name].size)  # equals stay in their order
    first = [name for place, name in enumerate(ranked) if place % 4 in (0, 3)]
    second = [name for place, name in enumerate(ranked) if place % 4 in (1, 2)]
    return tuple(first), tuple(second)


@dataclass(frozen=True, eq=False)
class LinkabilityJudge(Judge):
    """The files, and whom they are about."""

    settings: Linkability
    evidence: Evidence
    sides: Sides | str
    people: Block
    held: Block
    control: Block
    seen: WeakKeyDictionary[Block, Success] = field(default_factory=WeakKeyDictionary)

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The share of links, and the residual risk."""
        if isinstance(self.sides, str):
            return absent(NAME, self.sides)
        k = self.settings.neighbours
        if release.rows <= k:
            return absent(
                NAME, f"the release has no more than k = {k} rows: they are near to everybody"
            )
        rows = mixed(release, self.evidence.drawn, rng)
        people = stack([self.people, self.held])
        first, second = (self._nearest(side, rows, people, map_) for side in self.sides)
        hits = linked(first, second)
        mine, theirs = hits[: self.people.rows], hits[self.people.rows :]
        found = Success(
            NAME,
            None,
            int(mine.sum()),
            len(mine),
            self.settings.attacks,
            int(theirs.sum()),
            len(theirs),
            None,
            self._how(self.sides),
        )
        self.seen[release] = found
        return found.estimates(self.evidence)

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Shares with their intervals, for each replicate."""
        level, release = self.evidence.level, self.evidence.release
        return {
            "linkability": [
                {**self.seen[block].summary(level), "replicate": number}
                for number, block in enumerate(release, start=1)
                if block in self.seen
            ]
        }

    def _nearest(self, names: Sequence[str], rows: Block, people: Block, map_: Map) -> Any:
        metric = self.evidence.metric
        train, query = points(rows, names, metric), points(people, names, metric)
        return nearest(train, query, self.settings.neighbours, map_=map_)[1]

    def _how(self, sides: Sides) -> str:
        first, second = (", ".join(side) for side in sides)
        if sum(map(len, sides)) > _NAMED:
            first, second = (f"{len(side)} columns" for side in sides)
        return f"k = {self.settings.neighbours}, {first} against {second}{of_each(self.people)}"


_NAMED = 20  # more columns than this are counted, not named
