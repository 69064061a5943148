"""What surrounds a mixture: units, missing patterns, and the report of its fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import mixture
from understudy.kernels.mixture import GaussianMixture
from understudy.synth.base import Floats
from understudy.tables.encode import Block

_SHARED = 10  # an end of the range that so many rows of train share is nobody's own value


@dataclass(frozen=True, eq=False)
class Scale:
    """How columns are standardised and put back, one entry per column.

    Columns that are constant in train, or wholly missing, take no part in the mixture.

    Attributes:
        centre: the encoding's mean.
        spread: the encoding's standard deviation (1 where that is 0).
        low: smallest value of train.
        high: largest value of train.
        step: the column's grid (0 for none).
        stops: whether enough rows share the smallest, and the largest, value (2 × columns).
        varies: the column takes part in the mixture.
    """

    centre: Floats
    spread: Floats
    low: Floats
    high: Floats
    step: Floats
    stops: NDArray[np.bool_]
    varies: NDArray[np.bool_]

    @classmethod
    def of(cls, train: Block) -> Scale:
        """Read centre and spread off the frozen encoding, range off train."""
        encodings = [train.encoding[name] for name in train.names]
        values = _values(train)
        low = np.min(values, axis=0, initial=np.inf, where=~np.isnan(values))
        high = np.max(values, axis=0, initial=-np.inf, where=~np.isnan(values))
        empty = low > high
        return cls(
            np.array([encoding.mean for encoding in encodings]),
            np.array([encoding.sd or 1.0 for encoding in encodings]),
            np.where(empty, np.nan, low),
            np.where(empty, np.nan, high),
            np.array([e.cells.step if e.cells is not None else 0.0 for e in encodings]),
            np.stack([(values == end).sum(axis=0) >= _SHARED for end in (low, high)]),
            low < high,
        )

    def points(self, rows: Block) -> Floats:
        """Standardised values of the columns that vary."""
        values = (_values(rows) - self.centre) / self.spread
        return np.ascontiguousarray(values[:, self.varies])

    def complete(self, rows: Block) -> Floats:
        """Standardised values of the rows that miss none of the columns that vary."""
        points = self.points(rows)
        return points[~np.isnan(points).any(axis=1)]

    def values(self, points: Floats, *, grid: bool) -> Floats:
        """Values of all columns from standardised ones, back on the columns' grids if asked."""
        result = np.tile(self.low, (len(points), 1))
        result[:, self.varies] = points * self.spread[self.varies] + self.centre[self.varies]
        if not grid:
            return result
        for index in np.flatnonzero(self.varies):
            low, high, step = self.low[index], self.high[index], self.step[index]
            column = _inside(result[:, index], low, high, self.stops[:, index])
            if step > 0.0:
                column = np.clip(_rounded(column, low, step), low, high)
            result[:, index] = column
        return result

    def log_constant(self, rows: Block) -> Floats:
        """Zero where columns that are constant have their value (or none), −∞ elsewhere."""
        values = _values(rows)[:, ~self.varies]
        good = np.isnan(values) | (values == self.low[~self.varies])
        return np.where(good.all(axis=1), 0.0, -np.inf)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Which columns are missing together, and in how many rows of train.

    Attributes:
        missing: one row per pattern, one column per column.
        count: rows of train.
    """

    missing: NDArray[np.bool_]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, train: Block) -> Patterns:
        """Count train's patterns; without rows, one in which everything is missing."""
        gone = np.isnan(_values(train))
        if not train.rows:
            gone = np.ones((1, gone.shape[1]), dtype=bool)
        missing, count = np.unique(gone, axis=0, return_counts=True)
        return cls(missing, count)

    def find(self, rows: Block) -> NDArray[np.int32]:
        """Pattern of each row; the number of patterns where train does not have it."""
        seen, which = np.unique(np.isnan(_values(rows)), axis=0, return_inverse=True)
        known = {pattern.tobytes(): index for index, pattern in enumerate(self.missing)}
        index = [known.get(pattern.tobytes(), len(self.count)) for pattern in seen]
        return np.array(index, dtype=np.int32)[which.ravel()]

    def weights(self, rng: np.random.Generator) -> Floats:
        """One replicate's shares of the patterns, Dirichlet(count), not normalised."""
        return rng.standard_gamma(self.count.astype(np.float64))

    def draw(
        self, possible: NDArray[np.bool_], weight: Floats, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw a pattern for each row among those possible (rows × patterns); −1 if none is."""
        total = np.cumsum(possible * weight, axis=1)
        spot = rng.random(len(possible)) * total[:, -1]
        pattern = (total <= spot[:, None]).sum(axis=1)
        # Rounding may put the spot at the very end: the last pattern that is possible.
        last = possible.shape[1] - 1 - possible[:, ::-1].argmax(axis=1)
        return np.where(total[:, -1] > 0, np.minimum(pattern, last), -1)


@dataclass(frozen=True)
class FitReport:
    """How a mixture's fit went, on standardised numbers.

    Attributes:
        rows: complete rows that were fitted.
        asked: components that the plan asked for.
        components: components fitted.
        log_likelihood: of the complete rows.
        bic: Bayesian information criterion (lower is better).
        sharpest: largest −ln det Σ_k.
        flattest: smallest −ln det Σ_k.
        median: median of −ln det Σ_k.
        mean: mean of −ln det Σ_k.
        floored: components whose variance in some direction is mostly the floor.
        lone: components that own a single distinct point: people who could be singled out.
        varies: some column varies; otherwise there is nothing to mix.
        converged: EM stopped by its tolerance.
    """

    rows: int
    asked: int
    components: int
    log_likelihood: float
    bic: float
    sharpest: float
    flattest: float
    median: float
    mean: float
    floored: int
    lone: int
    varies: bool
    converged: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader should know, in words."""
        found = []
        if not self.varies:
            return ("no column varies: the mixture is not used",)
        if self.rows == 0:
            found.append("no row is complete: columns are drawn independently of each other")
        elif self.components < self.asked:
            found.append(
                f"{self.components} components instead of {self.asked}: "
                "there are no more distinct complete rows"
            )
        if self.floored:
            found.append(f"{self.floored} components are as narrow as the floor")
        if self.lone:
            found.append(f"{self.lone} components own a single point")
        if self.rows and not self.converged:
            found.append("EM was stopped before it converged")
        return tuple(found)


def report(fitted: GaussianMixture, points: Floats, asked: int, floor: float) -> FitReport:
    """Summarise a fit; ``points`` are the rows it was fitted to."""
    peaks = fitted.negative_log_determinants()
    narrow = np.linalg.eigvalsh(fitted.covariances).min(axis=1, initial=np.inf)
    distinct = np.unique(points, axis=0)
    varies = points.shape[1] > 0
    owned = np.bincount(mixture.owners(fitted, distinct), minlength=fitted.components)
    return FitReport(
        rows=len(points),
        asked=asked,
        components=fitted.components,
        log_likelihood=fitted.log_likelihood,
        bic=fitted.bic(len(points)),
        sharpest=float(peaks.max()),
        flattest=float(peaks.min()),
        median=float(np.median(peaks)),
        mean=float(peaks.mean()),
        floored=int((narrow < 2 * floor).sum()),
        lone=int((owned == 1).sum()) if varies else 0,
        varies=varies,
        converged=fitted.converged,
    )


def _values(rows: Block) -> Floats:
    columns = [rows.values[name] for name in rows.names]
    return np.stack(columns, axis=1) if columns else np.zeros((rows.rows, 0))


def _inside(values: Floats, low: float, high: float, stops: NDArray[np.bool_]) -> Floats:
    """Values back in train's range: onto an end that many people share, else mirrored at it.

    Whatever lies beyond would pile up on the ends. One person's smallest or largest value would
    then be the most frequent of all.

    Example:
        >>> ends = np.array([True, False])
        >>> _inside(np.array([-3.0, 2.0, 11.0]), 0.0, 10.0, ends).tolist()
        [0.0, 2.0, 9.0]
    """
    stopped = np.clip(values, low if stops[0] else None, high if stops[1] else None)
    width = high - low
    beyond = (stopped < low) | (stopped > high)
    mirrored = low + width - np.abs(np.mod(stopped - low, 2 * width) - width)
    return np.where(beyond, np.clip(mirrored, low, high), stopped)


def _rounded(values: Floats, low: float, step: float) -> Floats:
    """The nearest point of the grid that train's smallest value is on."""
    result = low + np.rint((values - low) / step) * step
    # A step of 0.01 is not exact in binary: remove the dust that the product leaves.
    return np.round(result, round(-np.log10(step))) if step < 1.0 else np.asarray(result)
