"""The distance filter under the Mahalanobis distance, with missing values at their worst.

    d² = (x − y)ᵀ S⁻¹ (x − y)

Between a synthetic record and an original, missing values are what makes the distance smallest;
between two originals, what makes it largest (Chapelle & Falissard 2023, "Distance-based
filtering"). `worst_case` says what that comes to. Given which columns are missing in the two, the
smallest distance is a Euclidean one in whitened columns, so that a search finds it: one for each
pattern of missing values on either side. The largest distances exceed what a missing column makes
of them alone, and hardly any is small enough to matter. No matrix of all pairs is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.filtering import (
    Flags,
    at_most,
    by_pattern,
    distinct,
    lowest_of_all,
    nearer,
    nearest_few,
)
from understudy.kernels.worst_case import WorstCase

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_FEW = 2  # neighbours asked for at first: an original finds itself
_MORE = 8


class Mahalanobis:
    """The filter for one table of originals.

    Attributes:
        skipped: comparisons of originals with too many missing values to try all of them: taken
            for far apart, which keeps fewer synthetic rows.

    Example:
        >>> from understudy.kernels.worst_case import Exact
        >>> ends = np.array([[0.0], [9.0]])
        >>> people = Mahalanobis(np.array([[0.0], [1.0], [9.0]]), Exact(np.eye(1), [[0]], [ends]))
        >>> people.too_near(np.array([[0.5], [3.0], [8.0]])).tolist()
        [True, False, True]
    """

    def __init__(self, originals: Floats, case: WorstCase) -> None:
        first, _, self._count = distinct(originals)
        self._rows = originals[first]
        self._case = case
        self._groups = by_pattern(case.missing(self._rows))
        self._roots: dict[bytes, Floats] = {}
        self._own = np.full(len(first), np.inf)
        self._reach = np.full(len(first), -1.0)
        self.skipped = 0

    def too_near(self, query: Floats) -> Flags:
        """Tell for each record whether the filter takes it out.

        Cost: a search for each pair of patterns of missing values.
        """
        if not len(query):
            return np.zeros(0, dtype=bool)
        first, place, _ = distinct(query)
        distance, row = self.nearest(query[first])
        asked, back = np.unique(row, return_inverse=True)
        reach = np.zeros(len(asked))
        np.maximum.at(reach, back, distance)
        return nearer(distance, self._others(asked, reach)[back])[place]

    def nearest(self, query: Floats) -> tuple[Floats, Rows]:
        """Smallest possible distance to an original, and which: the lowest of equally near ones."""
        distance = np.full(len(query), np.inf)
        row = np.full(len(query), len(self._rows))
        for missing, asked in by_pattern(self._case.missing(query)):
            for union, mine in self._unions(missing):
                seen = self._case.terms(~union)
                root = self._root(union)
                there = self._rows[np.ix_(mine, seen)] @ root
                d, i = lowest_of_all(there, query[np.ix_(asked, seen)] @ root)
                closer, same = nearer(d, distance[asked]), ~nearer(distance[asked], d)
                lower = np.where(closer, mine[i], np.minimum(mine[i], row[asked]))
                row[asked] = np.where(closer | same, lower, row[asked])
                distance[asked] = np.minimum(d, distance[asked])
        return distance, row

    def _unions(self, missing: Flags) -> Iterator[tuple[Flags, Rows]]:
        """Originals by what is missing in them or in the query, lowest rows first."""
        masks = np.array([mask | missing for mask, _ in self._groups])
        for union, which in by_pattern(masks):
            yield union, np.sort(np.concatenate([self._groups[group][1] for group in which]))

    def _root(self, union: Flags) -> Floats:
        key = np.packbits(union).tobytes()
        if key not in self._roots:
            self._roots[key] = self._case.near_root(union)
        return self._roots[key]

    def _others(self, asked: Rows, reach: Floats) -> Floats:
        """Largest possible distance to the nearest other original; infinite beyond the reach."""
        known = reach <= self._reach[asked]  # what lies beyond it was never looked at
        new, limit = asked[~known], at_most(reach[~known])
        self._own[new], self._reach[new] = np.inf, reach[~known]
        limits = np.zeros(len(self._own))
        limits[new] = limit
        masks = np.array([mask for mask, _ in self._groups])
        for missing, mine in by_pattern(self._case.missing(self._rows[new])):
            apart = self._case.apart(missing, masks)
            for group in np.flatnonzero(apart <= limits[new[mine]].max()):
                (mask, theirs), least = self._groups[group], apart[group]
                ask = new[mine]
                ask = ask[(limits[ask] >= least) & (self._own[ask] >= least)]
                if len(ask):
                    self._compare(missing, mask, ask, theirs, limits)
        return self._own[asked]

    def _compare(
        self, missing: Flags, mask: Flags, ask: Rows, theirs: Rows, limits: Floats
    ) -> None:
        """Bring down the distances of some originals to their nearest others by one group."""
        case, root = self._case, self._root(np.zeros_like(mask))
        size = _FEW
        while len(ask):
            one, other, more = case.stand_ins(missing, mask, self._rows[ask], self._rows[theirs])
            d, i = nearest_few(other @ root, one @ root, size)
            bound = np.sqrt(np.square(d) + more)
            reach = np.minimum(limits[ask], self._own[ask])
            here, there = np.nonzero(bound <= reach[:, None])
            them = theirs[i[here, there]]
            fine = (them != ask[here]) | (self._count[them] > 1)
            here, there, them = here[fine], there[fine], them[fine]
            far, skipped = case.farthest(
                missing, mask, self._rows[ask[here]], self._rows[them], bound[here, there]
            )
            self.skipped += skipped
            np.minimum.at(self._own, ask[here], far)
            open_ = bound[:, -1] < np.minimum(limits[ask], self._own[ask])
            ask = ask[open_ & (d.shape[1] < len(theirs))]
            size *= _MORE
