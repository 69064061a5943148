"""What is publicly known of a number in a population: its law and how many people there are.

A law is continuous (normal, lognormal, uniform, or a sample that is joined up) or lives on a grid
(Poisson, negative binomial, a continuous one cut into cells, or a table of counts). Tails may be
coded: everybody beyond a threshold then has the threshold's value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from understudy.kernels.laws import Floats, Law

Ints = NDArray[np.int64]
_TAIL = 1e-15  # a law on a grid is looked at until so little is left on either side
_LONGEST = 4_000_000  # cells of a grid


@dataclass(frozen=True, eq=False)
class Population:
    """People whose number follows a continuous law.

    Attributes:
        size: how many people there are (N).
        law: of their number.
        bottom: lower values are coded to this one.
        top: higher values are coded to this one.

    Example:
        >>> from understudy.kernels.laws import Normal
        >>> people = Population(1500, Normal(170.0, 12.0))
        >>> people.coded(top=200.0).top
        200.0
    """

    size: int
    law: Law
    bottom: float = -math.inf
    top: float = math.inf

    def coded(self, bottom: float = -math.inf, top: float = math.inf) -> Population:
        """The same people after bottom- and top-coding."""
        return replace(self, bottom=bottom, top=top)

    @property
    def sd(self) -> float:
        """Standard deviation before coding."""
        return self.law.sd


@dataclass(frozen=True, eq=False)
class Grid:
    """People whose number lies on a grid: whole numbers, or steps of a column.

    Attributes:
        size: how many people there are (N).
        start: a value of the grid.
        step: its step.
        mass: P(X = start + k · step) by k.
        first: smallest k worth looking at, and ``last`` the largest.
        last: see above.
        mean: of the number.
        sd: of the number.
        counted: the masses are counts of these very people, not a law they were drawn from.
        bottom: lower values are coded to this one.
        top: higher values are coded to this one.

    Example:
        >>> people = poisson(60_000, 2.0)
        >>> people.masses(np.array([0.0, 13.0])).round(7).tolist()
        [0.1353353, 2e-07]
    """

    size: int
    start: float
    step: float
    mass: Callable[[Ints], Floats]
    first: int
    last: int
    mean: float
    sd: float
    counted: bool = False
    bottom: float = -math.inf
    top: float = math.inf
    ends: tuple[float, float] = field(default=(-math.inf, math.inf))

    def coded(self, bottom: float = -math.inf, top: float = math.inf) -> Grid:
        """The same people after bottom- and top-coding."""
        return replace(self, bottom=bottom, top=top)

    def places(self, values: Floats) -> Ints:
        """The k nearest to each value, coded."""
        held = np.clip(values, self.bottom, self.top)
        return np.asarray(np.rint((held - self.start) / self.step), dtype=np.int64)

    def masses(self, values: Floats) -> Floats:
        """Probability of each value, after coding."""
        low, masses = self.line()
        place = self.places(values) - low
        inside = (place >= 0) & (place < len(masses))
        return np.where(inside, masses[np.clip(place, 0, len(masses) - 1)], 0.0)

    def line(self, margin: int = 0) -> tuple[int, Floats]:
        """The first k with a margin below it, and the probabilities up to a margin above, coded."""
        low, high = self.first - margin, self.last + margin
        if high - low >= _LONGEST:
            raise ValueError("the grid is too fine for its range or for such noise")
        ks = np.arange(low, high + 1)
        values = np.asarray(self.start + ks * self.step, dtype=np.float64)
        coded = np.clip(self.places(values) - low, 0, len(ks) - 1)
        masses = np.bincount(coded, self.mass(ks), minlength=len(ks))
        return low, np.asarray(masses, dtype=np.float64)


def poisson(size: int, mean: float) -> Grid:
    """Counts of rare events.

    Example:
        >>> poisson(60_000, 2.0).masses(np.array([0.0])).round(4).tolist()
        [0.1353]
    """
    if not mean > 0:
        raise ValueError("a Poisson law has a mean above 0")
    law = stats.poisson(mean)
    return _whole(size, law, (0.0, math.inf))


def negative_binomial(size: int, mean: float, sd: float) -> Grid:
    """Counts that vary more than Poisson's: by mean and standard deviation.

    Example:
        >>> people = negative_binomial(60_000, 2.0, 2.5)
        >>> round(people.mean, 6), round(people.sd, 6)
        (2.0, 2.5)
    """
    if not (mean > 0 and sd**2 > mean):
        raise ValueError("a negative binomial law has a mean above 0 and sd² > mean")
    share = mean / sd**2
    law = stats.nbinom(mean * share / (1 - share), share)
    return _whole(size, law, (0.0, math.inf))


def _whole(size: int, law: Any, ends: tuple[float, float]) -> Grid:
    last = int(law.isf(_TAIL))
    mean, sd = float(law.mean()), float(law.std())
    return Grid(size, 0.0, 1.0, law.pmf, 0, last, mean, sd, ends=ends)


def cut(people: Population, start: float, step: float) -> Grid:
    """A continuous law seen on a grid: each value stands for half a step on both sides.

    Example:
        >>> from understudy.kernels.laws import Normal
        >>> heights = cut(Population(1500, Normal(170.0, 12.0)), 0.0, 1.0)
        >>> heights.masses(np.array([170.0])).round(4).tolist()
        [0.0332]
    """
    law = people.law
    ends = law.from_below(np.array([_TAIL])), law.from_above(np.array([_TAIL]))
    first, last = (int(np.rint((end[0] - start) / step)) for end in ends)
    if last - first >= _LONGEST:
        raise ValueError("the grid is too fine for its range: take continuous noise")

    def mass(ks: Ints) -> Floats:
        edges = np.asarray(start + (np.append(ks, ks[-1:] + 1) - 0.5) * step, dtype=np.float64)
        below, above = law.below(edges), law.above(edges)
        # The smaller of the two tails keeps its digits in the difference.
        return np.where(edges[:-1] < law.mean, np.diff(below), -np.diff(above))

    grid = Grid(people.size, start, step, mass, first, last, law.mean, law.sd, ends=law.ends)
    return grid.coded(people.bottom, people.top)


def counted(values: Floats, counts: Floats, size: int | None = None) -> Grid:
    """A public table: how many people have each value.

    Without ``size`` these are all people, each counted. With it, the table is a sample of them:
    their shares are known, not who else there is.

    Example:
        >>> people = counted(np.array([0.0, 1.0, 3.0]), np.array([70.0, 25.0, 5.0]))
        >>> people.size, people.step, people.masses(np.array([2.0, 3.0])).tolist()
        (100, 1.0, [0.0, 0.05])
    """
    values, counts = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if len(values) != len(counts):
        raise ValueError("a table of counts has as many counts as values")
    distinct, place = np.unique(values, return_inverse=True)
    total = np.bincount(place, counts)
    if not total.sum() > 0 or (total < 0).any() or not np.isfinite(distinct).all():
        raise ValueError("a table of counts needs values, and counts from 0 that add up above 0")
    step = _step(distinct)
    start = float(distinct[0])
    ks = np.rint((distinct - start) / step).astype(np.int64)
    share = total / total.sum()
    mean = float(distinct @ share)
    sd = math.sqrt(max(float(np.square(distinct - mean) @ share), 0.0))
    last = int(ks[-1])
    if last >= _LONGEST:
        raise ValueError("the values of the table lie on too fine a grid: round them")
    line = np.zeros(last + 1)
    line[ks] = share

    def mass(wanted: Ints) -> Floats:
        inside = (wanted >= 0) & (wanted <= last)
        return np.where(inside, line[np.clip(wanted, 0, last)], 0.0)

    people = round(float(total.sum())) if size is None else size
    ends = start, float(distinct[-1])
    return Grid(people, start, step, mass, 0, last, mean, sd, counted=size is None, ends=ends)


def _step(distinct: Floats) -> float:
    """The largest step, of at most 6 decimals, that all differences are multiples of."""
    gaps = distinct - distinct[0]
    for digits in range(7):
        scaled = np.rint(gaps * 10**digits)
        if np.allclose(scaled, gaps * 10**digits, rtol=0, atol=1e-6):
            unit = int(np.gcd.reduce(scaled.astype(np.int64))) if len(gaps) > 1 else 1
            return float(max(unit, 1)) / 10.0**digits
    raise ValueError("the values of a table of counts lie on no grid of 6 decimals")


People = Population | Grid
