"""Inference: is a person's unknown value that of the nearest synthetic row?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Estimate, Evidence, Judge, Map, Measure, points
from understudy.kernels.guessing import near_enough
from understudy.kernels.neighbours import arranged, nearest
from understudy.risk.success import Success, absent, mixed, of_each, one_each
from understudy.settings import require_range
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Kind, Role, Schema

NAME = "inference"


@dataclass(frozen=True)
class Inference(Measure):
    """Who knows all columns but one guesses it from the synthetic row that is nearest on them.

    A level is right if it is the same, a missing value if it is missing, a number if
    |guess − truth| ≤ max(tolerance · |truth|, floor · sd), with train's standard deviation. Dates
    and places have no zero that a share could be taken of: for them the floor alone counts. The
    control does the same for people whom the synthesis never saw; a control with fewer people is
    less exact and no less right.

    Attributes:
        attacks: people under attack, for each column.
        columns: the columns to guess, or ``"all"``.
        known: what the attacker knows, or ``"others"``: all columns but the one that is guessed.
        tolerance: how far a number may be off, as a share of its size.
        floor: how far it may be off at least, in train's standard deviations.
    """

    names: ClassVar[tuple[str, ...]] = (NAME,)
    attacks: int = 1000
    columns: str | tuple[str, ...] = "all"
    known: str | tuple[str, ...] = "others"
    tolerance: float = 0.05
    floor: float = 0.01

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.attacks", self.attacks, 1, whole=True)
        require_range(f"{where}.tolerance", self.tolerance, 0.0, 1.0)
        require_range(f"{where}.floor", self.floor, 0.0)
        for key, every in (("columns", "all"), ("known", "others")):
            value = getattr(self, key)
            listed = isinstance(value, tuple) and value and all(isinstance(v, str) for v in value)
            if value != every and not listed:
                raise PlanError(f"{where}.{key}", value, f'"{every}" or a list of columns')

    def fits(self, where: str, schema: Schema) -> None:
        """Refuse columns that the table lacks."""
        for key in ("columns", "known"):
            value = getattr(self, key)
            for name in () if isinstance(value, str) else value:
                if name not in schema.names:
                    known = ", ".join(schema.names)
                    raise PlanError(f"{where}.{key}", name, f"columns of the table: {known}")

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> InferenceJudge:
        """Choose who is attacked, and what is guessed."""
        both = stack([evidence.control, evidence.fresh])
        people, held, control = (
            one_each(block, rng).thin(self.attacks, rng)
            for block in (evidence.train, both, evidence.control)
        )
        drawn = evidence.drawn
        secrets = [name for name in drawn if self.columns == "all" or name in self.columns]
        return InferenceJudge(self, evidence, tuple(secrets), people, held, control)


@dataclass(frozen=True, eq=False)
class InferenceJudge(Judge):
    """What is guessed, and about whom."""

    settings: Inference
    evidence: Evidence
    secrets: tuple[str, ...]
    people: Block
    held: Block
    control: Block
    seen: WeakKeyDictionary[Block, list[Success]] = field(default_factory=WeakKeyDictionary)

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """For each column the share of right guesses, and the residual risk."""
        if not self.secrets:
            return absent(NAME, "the columns to guess are kept as they were: none was synthesised")
        rows = mixed(release, self.evidence.drawn, rng)
        leaf = arranged(points(rows, self.evidence.drawn, self.evidence.metric))
        told = [self._one(name, rows, leaf, map_) for name in self.secrets]
        self.seen[release] = [one for one in told if isinstance(one, Success)]
        found: list[Estimate] = []
        for name, one in zip(self.secrets, told, strict=True):
            found += (
                absent(NAME, one, name) if isinstance(one, str) else one.estimates(self.evidence)
            )
        return found

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Shares with their intervals, for each column and replicate."""
        level, release = self.evidence.level, self.evidence.release
        return {
            "inference": [
                {**one.summary(level), "replicate": number}
                for number, block in enumerate(release, start=1)
                for one in self.seen.get(block, [])
            ]
        }

    def _one(self, name: str, rows: Block, leaf: NDArray[np.int64], map_: Map) -> Success | str:
        """Guesses of one column; where none can be made, why."""
        known = self._known(name)
        if not known:
            return "nothing is known to guess it from: no other column was synthesised"
        if _settled(self.evidence.train, name):
            return "everybody in train has the same value: there is nothing to infer"
        people, metric = stack([self.people, self.held]), self.evidence.metric
        train, query = points(rows, known, metric), points(people, known, metric)
        guess = rows.take(nearest(train, query, 1, leaf=leaf, map_=map_)[1][:, 0])
        hits = self._right(name, guess, people)
        mine, theirs = hits[: self.people.rows], hits[self.people.rows :]
        return Success(
            NAME,
            name,
            int(mine.sum()),
            len(mine),
            self.settings.attacks,
            int(theirs.sum()),
            len(theirs),
            None,
            f"from the nearest row on {_listed(known)}{of_each(self.people)}",
        )

    def _known(self, name: str) -> tuple[str, ...]:
        known = self.settings.known
        drawn = self.evidence.drawn
        return tuple(n for n in drawn if n != name and (known == "others" or n in known))

    def _right(self, name: str, guess: Block, people: Block) -> NDArray[np.bool_]:
        column = self.evidence.encoding[name]
        if not column.is_numeric:
            same = guess.codes[name] == people.codes[name]
            # Levels that train lacks share a code, and are not therefore the same.
            return np.asarray(same & (people.codes[name] != column.unseen), dtype=np.bool_)
        zero = column.column.kind is not Kind.DATETIME and column.column.role is not Role.LOCATION
        tolerance = self.settings.tolerance if zero else 0.0
        floor = self.settings.floor * column.sd
        return near_enough(guess.values[name], people.values[name], tolerance, floor)


def _settled(train: Block, name: str) -> bool:
    """Whether everybody has the same value."""
    values = train.values[name] if name in train.values else train.codes[name]
    return len(np.unique(values)) < 2


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names) if len(names) <= most else f"{len(names)} other columns"
