"""GTCAP: how much of what its own row gives away about a person does a synthetic table give away?

Chapelle & Falissard, Algorithm 2. With x the keys and t the targets of a record j, the proximity of
a row i is

    key(j, i)    = mean over key numbers of max(0, 1 − |x_j − x_i| / radius),  0 if a level differs
    target(j, i) = the same over the targets;   1 where there is no number and the levels are equal
    CAP_D(j)     = Σ_i key(j, i) · target(j, i) / Σ_i key(j, i) over the rows of D;  0/0 is 0
    base(j)      = mean over the original rows of target(j, i)
    GTCAP(j)     = (CAP_synthetic − base) / (CAP_original − base), clipped to [0, 1]

for the *statistical uniques*: records that no other original row is near to on keys and targets
both (key · target = 0). Where the quotient is 0/0, the record is left out.

Two missing values are near (1), one missing and one present are not (0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.proximity import coordinates, near_products, near_sums, windows
from understudy.kernels.rows import number_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Radii = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Traits:
    """Keys and targets of the rows of a table.

    Attributes:
        key_levels: codes of the keys with levels (rows × columns).
        key_numbers: values of the keys with numbers, NaN where missing.
        target_levels: codes of the targets with levels.
        target_numbers: values of the targets with numbers.
    """

    key_levels: Ints
    key_numbers: Floats
    target_levels: Ints
    target_numbers: Floats

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.key_levels)

    def take(self, rows: Ints) -> Traits:
        """Only these rows."""
        return Traits(
            self.key_levels[rows],
            self.key_numbers[rows],
            self.target_levels[rows],
            self.target_numbers[rows],
        )


@dataclass(frozen=True)
class Reach:
    """Radii of the numbers among the keys and among the targets, in the columns' own units."""

    keys: Radii = ()
    targets: Radii = ()

    @property
    def own(self) -> int:
        """How many pairs of a key number and a target number a record itself is near on."""
        return max(len(self.keys), 1) * max(len(self.targets), 1)


@dataclass(frozen=True, eq=False)
class Near:
    """What is near each record: Σ key, Σ key · target, and how many products are above 0."""

    keys: Floats
    both: Floats
    hits: Ints

    @property
    def cap(self) -> Floats:
        """Correct attribution probability: 0 where nobody is near."""
        found = np.zeros(len(self.keys))
        return np.divide(self.both, self.keys, out=found, where=self.keys > 0)


def near(records: Traits, rows: Traits, reach: Reach) -> Near:
    """Sums of proximities of each record over the rows.

    Cost: O(n log n) for each number, where only the keys or only the targets have numbers; for a
    key number with a target number, the pairs near on one of them. Nothing of size n × n is stored.

    Example:
        >>> nobody = np.zeros((3, 0))
        >>> people = Traits(np.zeros((3, 1), int), np.array([[30.0], [31.0], [60.0]]),
        ...                 np.array([[0], [1], [1]]), nobody)
        >>> near(people, people, Reach(keys=(5.0,))).cap.round(3).tolist()
        [0.556, 0.556, 1.0]
    """
    axes = _Axes.of(records, rows, reach)
    size, both_size = len(axes.keys), len(axes.keys) * len(axes.targets)
    keys = np.zeros(records.rows)
    for mine, theirs in axes.keys:
        keys += near_sums(axes.cell[0], mine, axes.cell[1], theirs)[0]
    both, hits = np.zeros(records.rows), np.zeros(records.rows, dtype=np.int64)
    for key in axes.keys:
        for target in axes.targets:
            sums, count = axes.products(key, target)
            both, hits = both + sums, hits + count
    return Near(keys / size, both / both_size, hits)


def pairs_within(records: Traits, rows: Traits, reach: Reach) -> int:
    """Pairs that `near` has to look at one by one."""
    if not reach.keys or not reach.targets:
        return 0
    axes = _Axes.of(records, rows, reach)
    looks = [
        [int(windows(axes.cells[0], a, axes.cells[1], b).hits.sum()) for a, b in side]
        for side in (axes.keys, axes.targets)
    ]
    return sum(min(key, target) for key in looks[0] for target in looks[1])


def base_rate(records: Traits, rows: Traits, reach: Reach) -> Floats:
    """Mean proximity of each record's targets to those of all rows: O(n log n)."""
    axes = _Axes.of(records, rows, reach)
    total = np.zeros(records.rows)
    for mine, theirs in axes.targets:
        total += near_sums(axes.level[0], mine, axes.level[1], theirs)[0]
    return total / len(axes.targets) / max(rows.rows, 1)


@dataclass(frozen=True, eq=False)
class Uniques:
    """Statistical uniques of some people, and what the original rows say of them.

    Attributes:
        people: keys and targets of the uniques alone.
        row: which of the people they are.
        base: probability of their targets among all original rows.
        original: probability by the original rows near them.
        reach: the radii.
    """

    people: Traits
    row: Ints
    base: Floats
    original: Floats
    reach: Reach

    def against(self, release: Traits, *, above_base: bool = False) -> Scores:
        """What the rows of a release say of them.

        ``above_base`` leaves out those of whom the original says no more than the base: for them
        the quotient turns round, and a release that says nothing counts as 1.
        """
        cap = near(self.people, release, self.reach).cap
        value = normalised(cap, self.base, self.original)
        return Scores(self, cap, np.where(self.above | (not above_base), value, np.nan))

    @property
    def above(self) -> Bools:
        """Whether the original says more of them than the base."""
        return np.asarray(_apart(self.original, self.base) > 0, dtype=bool)


@dataclass(frozen=True, eq=False)
class Scores:
    """GTCAP of each statistical unique; NaN where it is left out."""

    uniques: Uniques
    synthetic: Floats
    value: Floats

    @property
    def used(self) -> Floats:
        """The values that there are."""
        return self.value[~np.isnan(self.value)]

    @property
    def left_out(self) -> int:
        """How many are left out."""
        return int(np.isnan(self.value).sum())

    @property
    def turned(self) -> int:
        """For how many the original says less than the base, so that less counts as more."""
        known = self.uniques
        return int((_apart(known.original, known.base) < 0).sum())


def uniques(people: Traits, train: Traits, reach: Reach, *, members: bool) -> Uniques:
    """The statistical uniques among people, by the rows of train.

    People who are no ``members`` of train are looked at as if each alone were one more row of it:
    so strangers can be compared with members.

    Example:
        >>> nobody = np.zeros((3, 0))
        >>> people = Traits(np.zeros((3, 1), int), np.array([[30.0], [31.0], [60.0]]),
        ...                 np.array([[0], [1], [1]]), nobody)
        >>> found = uniques(people, people, Reach(keys=(5.0,)), members=True)
        >>> found.row.tolist(), found.against(people).value.tolist()
        ([0, 1, 2], [1.0, 1.0, 1.0])
    """
    found, base = near(people, train, reach), base_rate(people, train, reach)
    if not members:
        found = Near(found.keys + 1, found.both + 1, found.hits + reach.own)
        base = (train.rows * base + 1) / (train.rows + 1)
    row = np.flatnonzero(found.hits == reach.own)
    return Uniques(people.take(row), row, base[row], found.cap[row], reach)


def normalised(synthetic: Floats, base: Floats, original: Floats) -> Floats:
    """(synthetic − base) / (original − base), clipped to [0, 1]; NaN where it is 0/0.

    A number above 0 over 0 is 1, one below is 0: the limits of the clipped quotient.

    Example:
        >>> base, original = np.array([0.2, 0.5]), np.array([0.6, 0.5])
        >>> normalised(np.array([0.3, 0.5]), base, original).round(3).tolist()
        [0.25, nan]
    """
    above, whole = _apart(synthetic, base), _apart(original, base)
    sure = np.where(above > 0, 1.0, np.where(above < 0, 0.0, np.nan))
    share = np.divide(above, whole, out=sure, where=whole != 0)
    return np.clip(share, 0.0, 1.0)


def _apart(first: Floats, second: Floats) -> Floats:
    """The difference; 0 where it is nothing but rounding."""
    gap = first - second
    return np.where(np.abs(gap) > 1e-12, gap, 0.0)


@dataclass(frozen=True, eq=False)
class _Axes:
    """Records and rows numbered together: cells of key levels, of target levels and of both."""

    cell: list[Ints]
    level: list[Ints]
    cells: list[Ints]
    keys: list[list[Floats]]
    targets: list[list[Floats]]
    plain: tuple[bool, bool]

    @classmethod
    def of(cls, records: Traits, rows: Traits, reach: Reach) -> _Axes:
        both = records, rows
        cell = number_rows([part.key_levels for part in both])
        level = number_rows([part.target_levels for part in both])
        joint = [np.stack(pair, axis=1) for pair in zip(cell, level, strict=True)]
        keys = _axes([part.key_numbers for part in both], reach.keys)
        targets = _axes([part.target_numbers for part in both], reach.targets)
        plain = not reach.keys, not reach.targets
        return cls(cell, level, number_rows(joint), keys, targets, plain)

    def products(self, key: list[Floats], target: list[Floats]) -> tuple[Floats, Ints]:
        """Σ of proximity on a key number times that on a target number, and the products above 0.

        Where one side has no number, its proximity is 1 all through the cell.
        """
        mine, theirs = self.cells
        if any(self.plain):
            one = target if self.plain[0] else key
            sums, window = near_sums(mine, one[0], theirs, one[1])
            return sums, window.hits
        return near_products(mine, (key[0], target[0]), theirs, (key[1], target[1]))


def _axes(parts: list[Floats], radii: Radii) -> list[list[Floats]]:
    """Coordinates of each number; without numbers all lie at one place."""
    if not radii:
        return [[np.zeros(len(part)) for part in parts]]
    return [
        coordinates([part[:, place] for part in parts], radius)
        for place, radius in enumerate(radii)
    ]
