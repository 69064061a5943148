"""Continuous laws of a number: normal, lognormal, uniform, and a sample that is joined up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]


class Law(Protocol):
    """A continuous law: probabilities on either side of a value, and values by probability."""

    @property
    def mean(self) -> float:
        """Its mean."""

    @property
    def sd(self) -> float:
        """Its standard deviation."""

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and largest value there can be."""

    def below(self, values: Floats) -> Floats:
        """P(X ≤ x)."""

    def above(self, values: Floats) -> Floats:
        """P(X > x), exact where it is tiny."""

    def from_below(self, shares: Floats) -> Floats:
        """The value that has this share below it."""

    def from_above(self, shares: Floats) -> Floats:
        """The value that has this share above it, exact for tiny shares."""


@dataclass(frozen=True)
class Normal:
    """The normal law.

    Example:
        >>> Normal(170.0, 12.0).above(np.array([170.0])).tolist()
        [0.5]
    """

    mean: float
    sd: float

    @property
    def ends(self) -> tuple[float, float]:
        """No ends."""
        return -math.inf, math.inf

    def below(self, values: Floats) -> Floats:
        """Φ."""
        return np.asarray(ndtr((values - self.mean) / self.sd))

    def above(self, values: Floats) -> Floats:
        """Φ of the mirrored value."""
        return np.asarray(ndtr((self.mean - values) / self.sd))

    def from_below(self, shares: Floats) -> Floats:
        """Inverse Φ."""
        return np.asarray(self.mean + self.sd * ndtri(shares))

    def from_above(self, shares: Floats) -> Floats:
        """The same from above."""
        return np.asarray(self.mean - self.sd * ndtri(shares))


@dataclass(frozen=True)
class LogNormal:
    """The law of a positive number whose logarithm is normal, by its own mean and deviation.

    Example:
        >>> law = LogNormal(10.0, 5.0)
        >>> round(float(law.from_above(np.array([0.5]))[0]), 3)
        8.944
    """

    mean: float
    sd: float

    @property
    def _log(self) -> Normal:
        spread = math.log1p((self.sd / self.mean) ** 2)
        return Normal(math.log(self.mean) - spread / 2, math.sqrt(spread))

    @property
    def ends(self) -> tuple[float, float]:
        """Positive."""
        return 0.0, math.inf

    def below(self, values: Floats) -> Floats:
        """Φ of the logarithm."""
        with np.errstate(divide="ignore"):
            return self._log.below(np.log(np.maximum(values, 0.0)))

    def above(self, values: Floats) -> Floats:
        """The same from above."""
        with np.errstate(divide="ignore"):
            return self._log.above(np.log(np.maximum(values, 0.0)))

    def from_below(self, shares: Floats) -> Floats:
        """Exponential of the normal value."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self._log.from_below(shares)))

    def from_above(self, shares: Floats) -> Floats:
        """The same from above."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self._log.from_above(shares)))


@dataclass(frozen=True)
class Uniform:
    """Equally likely everywhere from ``low`` to ``high``.

    Example:
        >>> Uniform(0.0, 10.0).below(np.array([-1.0, 4.0, 11.0])).tolist()
        [0.0, 0.4, 1.0]
    """

    low: float
    high: float

    @property
    def mean(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def sd(self) -> float:
        """Width over √12."""
        return (self.high - self.low) / math.sqrt(12)

    @property
    def ends(self) -> tuple[float, float]:
        """Low and high."""
        return self.low, self.high

    def below(self, values: Floats) -> Floats:
        """Share of the width."""
        return np.asarray(np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0))

    def above(self, values: Floats) -> Floats:
        """The rest of it."""
        return np.asarray(np.clip((self.high - values) / (self.high - self.low), 0.0, 1.0))

    def from_below(self, shares: Floats) -> Floats:
        """Linear."""
        return np.asarray(self.low + shares * (self.high - self.low))

    def from_above(self, shares: Floats) -> Floats:
        """Linear."""
        return np.asarray(self.high - shares * (self.high - self.low))


@dataclass(frozen=True, eq=False)
class Mirrored:
    """A law seen from the other side, so that one integral serves both.

    Example:
        >>> Mirrored(Normal(2.0, 1.0)).from_below(np.array([0.5])).tolist()
        [-2.0]
    """

    law: Law

    @property
    def mean(self) -> float:
        """The other sign."""
        return -self.law.mean

    @property
    def sd(self) -> float:
        """The same."""
        return self.law.sd

    @property
    def ends(self) -> tuple[float, float]:
        """The other way round."""
        return -self.law.ends[1], -self.law.ends[0]

    def below(self, values: Floats) -> Floats:
        """Above, of the other sign."""
        return self.law.above(-values)

    def above(self, values: Floats) -> Floats:
        """Below, of the other sign."""
        return self.law.below(-values)

    def from_below(self, shares: Floats) -> Floats:
        """From above, of the other sign."""
        return -self.law.from_above(shares)

    def from_above(self, shares: Floats) -> Floats:
        """From below, of the other sign."""
        return -self.law.from_below(shares)


@dataclass(frozen=True, eq=False)
class Sampled:
    """The law of a sample: the i-th of m values has (i − ½)/m below it, straight lines between.

    Half a gap is added at each end; nobody is thought to be further out.

    Example:
        >>> law = Sampled.of(np.array([1.0, 2.0, 3.0, 4.0]))
        >>> law.below(np.array([0.5, 2.5, 9.0])).tolist()
        [0.0, 0.5, 1.0]
    """

    knots: Floats
    shares: Floats
    mean: float
    sd: float

    @classmethod
    def of(cls, values: Floats) -> Sampled:
        """The law of the values; at least two must differ."""
        distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
        if len(distinct) < 2:
            raise ValueError("a sample of a population needs at least two different values")
        middle = (np.cumsum(counts) - counts / 2) / counts.sum()
        first = distinct[0] - (distinct[1] - distinct[0]) / 2
        last = distinct[-1] + (distinct[-1] - distinct[-2]) / 2
        knots = np.concatenate(([first], distinct, [last]))
        shares = np.concatenate(([0.0], middle, [1.0]))
        present = values[np.isfinite(values)]
        return cls(knots, shares, float(present.mean()), float(present.std()))

    @property
    def ends(self) -> tuple[float, float]:
        """Half a gap beyond the smallest and the largest."""
        return float(self.knots[0]), float(self.knots[-1])

    def below(self, values: Floats) -> Floats:
        """Straight lines between the values."""
        return np.asarray(np.interp(values, self.knots, self.shares))

    def above(self, values: Floats) -> Floats:
        """The same from above."""
        return np.asarray(np.interp(-values, -self.knots[::-1], (1.0 - self.shares)[::-1]))

    def from_below(self, shares: Floats) -> Floats:
        """Straight lines the other way round."""
        return np.asarray(np.interp(shares, self.shares, self.knots))

    def from_above(self, shares: Floats) -> Floats:
        """The same from above."""
        return np.asarray(np.interp(shares, (1.0 - self.shares)[::-1], self.knots[::-1]))
