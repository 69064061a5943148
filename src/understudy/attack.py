"""An attacker who knows quasi-identifiers and wants a sensitive value.

What the measure of attribute disclosure and the protection against it share. The attacker looks at
the synthetic rows that equal a record on the quasi-identifiers with levels and lie within δ on
those with numbers, and takes the share of a sensitive value among them for its probability (Bale &
Quick §3.5, equations 13 to 17).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Map, points, row_numbers
from understudy.kernels.ball_counts import Tally, tally
from understudy.kernels.balls import Around
from understudy.settings import Settings
from understudy.tables.encode import Block
from understudy.tables.schema import Role, Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GROUPS = 12  # intervals of a sensitive number, where the plan declares none
_WHOLE = 1e-6  # how far from one a prior's shares may add up
_ROUNDING = 1e-9
_OUTSIDE = -1  # an interval that nobody of train is in


@dataclass(frozen=True)
class Attacker(Settings):
    """Settings of the attack: what is declared of the attacker and of the sensitive columns.

    Attributes:
        c: by how much a probability may be multiplied, at least 1.
        delta: ``grid`` (the radii ``deltas``), one radius, or ``all``: every radius whatever.
        deltas: radii in train's standard deviations, ascending.
        priors: shares of the levels of a column, by column; train's own where none are given.
        intervals: into how many intervals of about as many people a sensitive number is cut.
        widths: width of the intervals of a sensitive number, in its own unit.
    """

    c: float = 10.0
    delta: float | str = "grid"
    deltas: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    priors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    intervals: Mapping[str, int] = field(default_factory=dict)
    widths: Mapping[str, float] = field(default_factory=dict)

    def check(self, where: str) -> None:
        """Check ranges, and that every prior sums to one."""
        _number(f"{where}.c", self.c, 1.0, "a number, at least 1: no bound below 1 can be met")
        if self.delta not in ("grid", "all"):
            _number(f"{where}.delta", self.delta, 0.0, "'grid', 'all' or a radius, at least 0")
        _check_deltas(f"{where}.deltas", self.deltas)
        for name in ("priors", "intervals", "widths"):
            if not isinstance(getattr(self, name), Mapping):
                raise PlanError(f"{where}.{name}", getattr(self, name), "a table by column")
        for name, prior in self.priors.items():
            _check_prior(f"{where}.priors.{name}", prior)
        for name, count in self.intervals.items():
            if not isinstance(count, int) or isinstance(count, bool) or count < 2:
                raise PlanError(f"{where}.intervals.{name}", count, "a whole number from 2")
        for name, width in self.widths.items():
            _number(f"{where}.widths.{name}", width, math.nextafter(0, 1), "a width above 0")

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where the settings name columns that the table lacks."""
        for table in ("priors", "intervals", "widths"):
            for name in getattr(self, table):
                if name not in schema.names:
                    known = ", ".join(schema.names)
                    raise PlanError(f"{where}.{table}.{name}", name, f"one of {known}")
                if table != "priors" and not schema[name].kind.is_numeric:
                    raise PlanError(f"{where}.{table}.{name}", name, "a column of numbers")

    def suits(self, where: str, train: Block) -> None:
        """Raise `PlanError` where a prior misses a level that train has."""
        for name in set(self.priors) & set(train.names):
            self.target(train, name, where)

    @property
    def every(self) -> bool:
        """Whether every radius counts."""
        return self.delta == "all"

    def radii(self, known: Known) -> Floats:
        """Radii of the grid; the one radius 0 where there is no number to be near on."""
        if not known.numbers:
            return np.zeros(1)
        if isinstance(self.delta, str):
            return np.asarray(self.deltas, dtype=np.float64)
        return np.array([float(self.delta)])

    def target(self, train: Block, name: str, where: str = "priors") -> Target:
        """A sensitive column's groups and prior."""
        groups = _groups(train, name, self)
        own = groups.of(train)
        observed = np.bincount(own, minlength=groups.count)
        if name not in self.priors:
            return Target(groups, observed / max(train.rows, 1), observed > 0)
        prior = groups.declared(self.priors[name])
        lacking = int(np.count_nonzero((observed > 0) & ~(prior > 0)))
        if lacking:
            raise PlanError(
                f"{where}.priors.{name}",
                f"no share above 0 for {lacking} of the values that the column has",
                f'a share for each {groups.keys}; a missing value is ""',
            )
        return Target(groups, prior, observed > 0)

    def exceeds(self, ratio: Floats) -> NDArray[np.bool_]:
        """Which ratios are above c, whatever their last digit."""
        return np.asarray(ratio > self.c * (1 + _ROUNDING), dtype=bool)

    def worst(self, found: Tally) -> Floats:
        """Largest share of each record's own value over the radii that count."""
        return found.most if self.every else found.share.max(axis=1, initial=0.0)


@dataclass(frozen=True, eq=False)
class Known:
    """What an attacker knows of a record.

    Attributes:
        levels: quasi-identifiers that must be equal.
        numbers: quasi-identifiers that must be near.
    """

    levels: tuple[str, ...]
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, train: Block) -> Known:
        """Columns of role quasi or location; a number that is constant tells nothing."""
        keys = train.encoding.schema.with_role(Role.QUASI, Role.LOCATION)
        numeric = [key for key in keys if train.encoding[key].is_numeric]
        varies = tuple(key for key in numeric if train.encoding[key].sd > 0)
        return cls(tuple(key for key in keys if key not in numeric), varies)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.levels, *self.numbers)

    def around(self, records: Block, rows: Block) -> Around:
        """Cells and standardised numbers of records and rows."""
        mine, theirs = row_numbers([records, rows], self.levels)
        return Around(self.place(records), mine, self.place(rows), theirs)

    def place(self, block: Block) -> Floats:
        """Numbers in train's standard deviations."""
        return points(block, self.numbers, "typed").numbers


@dataclass(frozen=True, eq=False)
class Groups:
    """Values of a sensitive column that count as one: levels, or intervals of a number.

    Attributes:
        name: the column.
        by_code: group of each code; None where intervals are cut by value.
        width: width of the intervals.
        steps: which multiples of the width train has, ascending.
        labels: the plan's name of each group.
        keys: what the plan's names are, in words.
    """

    name: str
    by_code: Ints | None
    width: float
    steps: Ints
    labels: tuple[str, ...]
    keys: str

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.steps) + 1 if self.by_code is None else int(self.by_code.max()) + 1

    def of(self, block: Block) -> Ints:
        """Group of each row; −1 for an interval that train does not have."""
        if self.by_code is not None:
            return self.by_code[block.codes[self.name]]
        values = block.values[self.name]
        gone = np.isnan(values)
        step = np.floor(np.where(gone, 0.0, values) / self.width + _ROUNDING)
        place = np.minimum(np.searchsorted(self.steps, step), max(len(self.steps) - 1, 0))
        found = self.steps[place] == step if len(self.steps) else np.zeros(len(step), bool)
        return np.where(gone, len(self.steps), np.where(found, place, _OUTSIDE))

    def declared(self, prior: Mapping[str, float]) -> Floats:
        """The plan's shares by group; levels that train does not have fall away."""
        places = {label: place for place, label in enumerate(self.labels)}
        result = np.zeros(self.count)
        for label, share in prior.items():
            place = places.get(label if self.by_code is not None else _edge(label))
            if place is not None:
                result[place] += share
        return result


@dataclass(frozen=True, eq=False)
class Target:
    """A sensitive column: its groups, what the attacker believes beforehand, what train has."""

    groups: Groups
    prior: Floats
    observed: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The column."""
        return self.groups.name

    @property
    def settled(self) -> bool:
        """Everybody has the same value, and the attacker knows it: nothing to infer."""
        return bool(self.observed.sum() < 2) and bool(self.prior[self.observed].sum() > 1 - _WHOLE)

    def own(self, block: Block) -> Floats:
        """Prior of each record's own value."""
        return np.asarray(self.prior[self.groups.of(block)], dtype=np.float64)

    def guess(self, block: Block) -> Floats:
        """Chance that the value most probable beforehand is the record's own."""
        top = self.prior == self.prior.max(initial=0.0)
        return np.where(top[self.groups.of(block)], 1.0 / max(int(top.sum()), 1), 0.0)


def tallies(
    known: Known,
    target: Target,
    records: Block,
    rows: Block,
    deltas: Floats,
    *,
    every: bool = False,
    map_: Map = map,
) -> Tally:
    """Count what the balls around the records hold of the sensitive column."""
    mine, theirs = target.groups.of(records), target.groups.of(rows)
    # Values that train never had lie outside all groups: they fill balls and never match.
    theirs = np.where(theirs < 0, target.groups.count, theirs)
    around = known.around(records, rows)
    return tally(around, mine, theirs, deltas, every=every, map_=map_)


def _groups(train: Block, name: str, settings: Attacker) -> Groups:
    encoding = train.encoding[name]
    nothing = np.zeros(0, dtype=np.int64)
    if not encoding.is_numeric:
        codes = np.arange(encoding.width, dtype=np.int64)
        return Groups(name, codes, 0.0, nothing, (*encoding.levels, ""), "level")
    if name in settings.widths:
        width = float(settings.widths[name])
        values = train.values[name]
        step = np.floor(values[~np.isnan(values)] / width + _ROUNDING).astype(np.int64)
        steps = np.unique(step)
        labels = (*(_edge(width * step) for step in steps.tolist()), "")
        return Groups(name, None, width, steps, labels, "interval, by its lower end")
    most = settings.intervals.get(name, GROUPS)
    keys = f"interval: declare its width (widths.{name}), and name it by its lower end"
    return Groups(name, _cut(train, name, most), 0.0, nothing, (), keys)


def _cut(train: Block, name: str, most: int) -> Ints:
    """Intervals of about as many people, along the cells of a number; missing is one of them."""
    encoding = train.encoding[name]
    group = np.arange(encoding.width, dtype=np.int64)
    if encoding.size > most:
        counts = np.bincount(train.codes[name], minlength=encoding.width)[: encoding.size]
        before = np.cumsum(counts) - counts
        cut = np.minimum(before * most // max(counts.sum(), 1), most - 1)
        group[: encoding.size] = cut
        group[encoding.size :] = [most, most + 1]
    return group


def _edge(value: float | str) -> str:
    """The lower end of an interval as the plan may write it: 10, 10.0 and 1e1 are one."""
    try:
        return f"{float(value):.12g}"
    except ValueError:
        return str(value)


def _number(where: str, value: Any, least: float, expected: str) -> None:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value < least:
        raise PlanError(where, value, expected)


def _check_deltas(where: str, deltas: Any) -> None:
    expected = "a list of radii from 0, ascending, such as [0.05, 0.1, 0.2]"
    if not isinstance(deltas, tuple) or not deltas:
        raise PlanError(where, deltas, expected)
    for delta in deltas:
        _number(where, delta, 0.0, expected)
    if any(one >= other for one, other in pairwise(deltas)):
        raise PlanError(where, list(deltas), expected)


def _check_prior(where: str, prior: Any) -> None:
    if not isinstance(prior, Mapping) or not prior:
        raise PlanError(where, prior, "a table: level = share")
    for level, share in prior.items():
        _number(f"{where}.{level}", share, 0.0, "a share from 0 to 1")
    total = math.fsum(prior.values())
    if abs(total - 1) > _WHOLE:
        raise PlanError(where, f"shares that add up to {total:g}", "shares that add up to 1")


__all__ = ["Attacker", "Groups", "Known", "Target", "tallies"]
