"""The three legal criteria on plain arrays: Bale & Quick, equations (4), (6) and (8)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.neighbours import Points, nearest
from understudy.kernels.resample import quantile

Floats = NDArray[np.float64]
TAIL = 0.05
NEIGHBOURS = 5


class Reach(NamedTuple):
    """For each row, the distance to its nearest row of train, and d1/d5 (NaN where 0/0)."""

    nearest: Floats
    ratio: Floats

    def part(self, start: int, stop: int) -> Reach:
        """Some rows of it."""
        return Reach(self.nearest[start:stop], self.ratio[start:stop])

    def matches(self, delta: float) -> float:
        """IMS: share of rows with a row of train within δ (equation 4)."""
        return float(np.mean(self.nearest <= delta))

    def dcr(self) -> float:
        """The 5th percentile of distances to the closest record (equation 6)."""
        return quantile(self.nearest, TAIL)

    def nndr(self) -> float:
        """The 5th percentile of d1/d5 (equation 8), of the rows where it is defined."""
        return quantile(self.ratio[np.isfinite(self.ratio)], TAIL)


def reach(train: Floats, rows: Floats) -> Reach:
    """Euclidean distances from rows to their nearest rows of train.

    Example:
        >>> found = reach(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]), np.array([[0.5]]))
        >>> found.dcr(), round(found.nndr(), 4)
        (0.5, 0.1429)
    """
    here, there = (Points(a, np.zeros((len(a), 0), np.int32)) for a in (train, rows))
    far, _ = nearest(here, there, NEIGHBOURS)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Reach(far[:, 0], far[:, 0] / far[:, -1])
