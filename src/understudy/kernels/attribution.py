"""Correct attribution by equal keys: CAP, classes that settle a target, uniques that come back.

Rows are given by two whole numbers: their keys and their target, numbered together for all tables
(`rows.number_rows`). A class is all synthetic rows with the same keys; it *settles* the target
where all of them have the same one. Everything is counted by sorting: O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Keyed:
    """Keys and target of each row of a table."""

    key: Ints
    target: Ints

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.key)


def cap(people: Keyed, rows: Keyed) -> Floats:
    """Share of each person's target among the rows with the same keys; 0 where there are none.

    CAP_j = Σ_i [t_i = t_j, k_i = k_j] / Σ_i [k_i = k_j]

    Source: Elliot (2014); Taub, Elliot, Pampaka & Smith (2018).

    Example:
        >>> rows = Keyed(np.array([0, 0, 1]), np.array([5, 6, 5]))
        >>> cap(Keyed(np.array([0, 1, 2]), np.array([5, 6, 5])), rows).tolist()
        [0.5, 0.0, 0.0]
    """
    whole = _counts(people.key, rows.key)
    own = _counts(*_joint(people, rows))
    return np.divide(own, whole, out=np.zeros(people.rows), where=whole > 0)


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of synthetic rows that settle the target.

    Attributes:
        key: keys of each class, ascending.
        target: the target that all its rows have.
        rows: how many rows it has.
    """

    key: Ints
    target: Ints
    rows: Ints


def settled(rows: Keyed) -> Classes:
    """The classes whose rows all have the same target.

    Example:
        >>> found = settled(Keyed(np.array([3, 3, 8, 8]), np.array([1, 1, 1, 2])))
        >>> found.key.tolist(), found.target.tolist(), found.rows.tolist()
        ([3], [1], [2])
    """
    key, first, count = np.unique(rows.key, return_index=True, return_counts=True)
    low, high = np.full((2, len(key)), rows.target[first])
    place = np.searchsorted(key, rows.key)
    np.minimum.at(low, place, rows.target)
    np.maximum.at(high, place, rows.target)
    one = low == high
    return Classes(key[one], low[one], count[one])


def judged(people: Keyed, classes: Classes) -> tuple[Bools, Bools]:
    """For each person: does a class settle the target for these keys, and is it the person's own?

    The mean of the first is DiS (disclosive in synthetic), of the second DiSCO (and correct in the
    original).

    Source: Raab, Nowok & Dibben (2024).

    Example:
        >>> classes = Classes(np.array([3]), np.array([1]), np.array([2]))
        >>> people = Keyed(np.array([3, 3, 4]), np.array([1, 0, 1]))
        >>> [part.tolist() for part in judged(people, classes)]
        [[True, True, False], [True, False, False]]
    """
    if not len(classes.key):
        nobody = np.zeros(people.rows, dtype=bool)
        return nobody, nobody
    place = np.minimum(np.searchsorted(classes.key, people.key), len(classes.key) - 1)
    found = classes.key[place] == people.key
    return found, found & (classes.target[place] == people.target)


@dataclass(frozen=True)
class Settled:
    """TCAP by the three denominators in use, NaN where there is nothing to divide by.

    Attributes:
        of_people: of the people whose keys a class settles, the share for whom it is right.
        of_rows: mean over the synthetic rows of these classes of the share of people with the same
            keys who have the target; nobody counts 0.
        of_met: the same over the rows that meet anybody.
    """

    of_people: float
    of_rows: float
    of_met: float


def tcap(people: Keyed, classes: Classes) -> Settled:
    """Targeted correct attribution: how often the release is right where it is sure (WEAP = 1).

    Source: Taub & Elliot (2019) for rows; DiSCO / DiS of Raab, Nowok & Dibben (2024) for people.

    Example:
        >>> classes = Classes(np.array([3, 4]), np.array([1, 1]), np.array([2, 1]))
        >>> found = tcap(Keyed(np.array([3, 3, 3]), np.array([1, 0, 0])), classes)
        >>> round(found.of_people, 3), round(found.of_rows, 3), round(found.of_met, 3)
        (0.333, 0.222, 0.333)
    """
    sure, right = judged(people, classes)
    share = cap(Keyed(classes.key, classes.target), people)
    met = _counts(classes.key, people.key) > 0
    hits = float(classes.rows @ share)
    return Settled(
        _share(float(right.sum()), float(sure.sum())),
        _share(hits, float(classes.rows.sum())),
        _share(hits, float(classes.rows[met].sum())),
    )


def replicated(people: Ints, rows: Ints, others: Ints | None = None) -> Bools:
    """For each person: alone with these keys among the people, and met by exactly one row?

    ``others``: where the people are strangers, the keys of those among whom each of them must be
    alone. The mean over the people of a table is repU.

    Source: Raab, Nowok & Dibben (2024).

    Example:
        >>> replicated(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])).tolist()
        [False, False, True, False]
    """
    alone = _counts(people, people) == 1 if others is None else _counts(people, others) == 0
    return np.asarray(alone & (_counts(people, rows) == 1), dtype=bool)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")


def _counts(wanted: Ints, among: Ints) -> Ints:
    """How often each of some numbers occurs among others."""
    ordered = np.sort(among)
    low, high = (np.searchsorted(ordered, wanted, side=side) for side in ("left", "right"))
    return np.asarray(high - low, dtype=np.int64)


def _joint(people: Keyed, rows: Keyed) -> tuple[Ints, Ints]:
    """One number for keys and target."""
    most = max(int(part.target.max(initial=0)) for part in (people, rows)) + 1
    return people.key * most + people.target, rows.key * most + rows.target
