"""How much noise an ECAP needs: the least for a bound, the curve, its elbow, and the tails.

In the far tail no small noise helps: a person whom nobody resembles is recognised through any. So
tails are coded first, as far out as the noise allows, and then the noise is chosen for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from understudy.kernels.ecap import Spots, chances, equation
from understudy.kernels.laws import Floats, Sampled
from understudy.kernels.population import Grid, People

_FIRST = 33  # values that a search begins with
_MORE = 8  # the worst others that are added where these were not the worst
_ROUNDS = 50
_WIDEST = 64.0  # deviations of the law: more noise leaves nothing of the number
_HALVINGS = 40  # below 2⁻⁴⁰ of the law's deviation noise is none
_EXACT = 1e-4  # relative error of a deviation that is found
_WIDE = 129  # values that stand for all between two thresholds
_THIN = 257  # values that a curve looks at
_NEAR = np.linspace(0.0, 12.0, 97)  # deviations of the noise from a threshold
_CODED = 0.1  # more of the population is not coded on either side


@dataclass(frozen=True, eq=False)
class Scene:
    """An attack on membership: everything but the values and the deviation of the noise.

    Attributes:
        people: the population, with its tails coded or not.
        sample: people in the sample (n).
        discrete: the noise is a discrete Gaussian on the grid.
        replacement: people are sampled with replacement, as in Equation 1.
    """

    people: People
    sample: int
    discrete: bool = False
    replacement: bool = False

    @property
    def limit(self) -> float:
        """What the ECAP is without any release: the chance of being sampled.

        Example:
            >>> from understudy.kernels.laws import Normal
            >>> from understudy.kernels.population import Population
            >>> farmers = Population(1500, Normal(170.0, 12.0))
            >>> round(Scene(farmers, 25, replacement=True).limit, 5)
            0.01653
        """
        size = self.people.size
        if self.replacement:
            return float(-np.expm1(self.sample * np.log1p(-1.0 / size)))
        return self.sample / size

    def risk(self, values: Floats, sigma: float) -> Floats:
        """ECAP of each value under noise of this deviation."""
        return self.risks(values)(sigma)

    def risks(self, values: Floats) -> Callable[[float], Floats]:
        """ECAP of each value as a function of the deviation; neighbours are found once."""
        people = self.people
        spots = None if isinstance(people, Grid) else Spots.of(people, values)

        def at(sigma: float) -> Floats:
            if spots is None:
                found = chances(people, values, sigma, discrete=self.discrete)
            else:
                found = spots.chances(sigma)
            return equation(found, people.size, self.sample, replacement=self.replacement)

        return at

    def coded(self, bottom: float = -np.inf, top: float = np.inf) -> Scene:
        """The same attack after bottom- and top-coding."""
        return replace(self, people=self.people.coded(bottom, top))


@dataclass(frozen=True)
class Least:
    """The least noise for a bound.

    Attributes:
        sigma: its deviation; infinite where none up to the largest allowed will do.
        worst: the largest ECAP under it.
        above: the share of values whose ECAP is above the bound.
    """

    sigma: float
    worst: float
    above: float


def least_noise(scene: Scene, values: Floats, bound: float, *, most: float = np.inf) -> Least:
    """The smallest deviation from which on no value's ECAP exceeds the bound.

    A few values are solved for, all are looked at, and the worst are added until none is worse. A
    deviation counts where all larger ones do, tried by factors of two up to ``most``.
    Cost: some 100 ECAPs of a few dozen values, and two or three of all distinct ones.

    Example:
        >>> from understudy.kernels.laws import Normal
        >>> from understudy.kernels.population import Population
        >>> farmers = Scene(Population(1500, Normal(170.0, 12.0)), 25, replacement=True)
        >>> round(least_noise(farmers, np.array([170.0, 178.0]), 0.2).sigma, 3)
        0.062
    """
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    if not distinct.size:
        return Least(0.0, 0.0, 0.0)
    everybody = scene.risks(distinct)
    active = np.unique(np.linspace(0, len(distinct) - 1, _FIRST).round().astype(np.int64))
    for _ in range(_ROUNDS):
        sigma = _solved(scene, distinct[active], bound, most)
        found = everybody(min(sigma, most, _widest(scene)))
        worse = np.setdiff1d(np.argsort(-found, kind="stable")[:_MORE], active)
        worse = worse[found[worse] > bound * (1 + _EXACT)]
        if not np.isfinite(sigma) or not worse.size:
            break
        active = np.union1d(active, worse)
    above = float(counts[found > bound * (1 + _EXACT)].sum() / counts.sum())
    return Least(sigma, float(found.max()), above)


def _solved(scene: Scene, values: Floats, bound: float, most: float) -> float:
    """The smallest deviation for a few values; infinite where there is none."""
    risks = scene.risks(values)

    def holds(sigma: float) -> bool:
        return bool(risks(sigma).max() <= bound)

    if holds(0.0):
        return 0.0
    high = most if np.isfinite(most) else _wide_enough(scene, holds)
    if not holds(high):
        return float("inf")
    low = high
    for _ in range(2 * _HALVINGS):
        low = high / 2
        if not holds(low):
            break
        high = low
    while high > low * (1 + _EXACT):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)


def _wide_enough(scene: Scene, holds: Callable[[float], bool]) -> float:
    """A deviation that holds, if any does: from the law's own upwards."""
    widest = _widest(scene)
    sigma = widest / _WIDEST
    while sigma < widest and not holds(sigma):
        sigma *= 2
    return sigma


def _widest(scene: Scene) -> float:
    return float(scene.people.sd or 1.0) * _WIDEST


@dataclass(frozen=True, eq=False)
class Curve:
    """ECAP by deviation of the noise.

    Attributes:
        sigmas: deviations, ascending.
        worst: largest ECAP of the values.
        median: the middle one.
        elbow: deviation at the elbow of the largest.
    """

    sigmas: Floats
    worst: Floats
    median: Floats
    elbow: float


def curve(scene: Scene, values: Floats, sigmas: Floats) -> Curve:
    """The curve of Figure 5, for the worst and the middle value.

    Of many values 257 are looked at: the smallest, the largest, and evenly spread ones between.

    Example:
        >>> from understudy.kernels.laws import Normal
        >>> from understudy.kernels.population import Population
        >>> farmers = Scene(Population(1500, Normal(170.0, 12.0)), 25, replacement=True)
        >>> found = curve(farmers, np.array([178.0]), np.linspace(0.0, 0.4, 41))
        >>> round(found.elbow, 2)
        0.07
    """
    distinct = np.unique(np.asarray(values, dtype=np.float64))
    places = np.unique(np.linspace(0, len(distinct) - 1, _THIN).round().astype(np.int64))
    risks = scene.risks(distinct[places])
    found = np.stack([risks(float(sigma)) for sigma in sigmas])
    worst = found.max(axis=1)
    return Curve(sigmas, worst, np.median(found, axis=1), elbow(sigmas, worst))


def elbow(x: Floats, y: Floats) -> float:
    """Where a falling curve bends: the point furthest below the chord from its first to its last.

    Both axes are first stretched to [0, 1] (Satopää et al. 2011, "kneedle", without smoothing).

    Example:
        >>> x = np.geomspace(0.1, 10.0, 2001)
        >>> round(elbow(x, 1 / x), 2)
        1.0
    """
    across, up = np.ptp(x), np.ptp(y)
    if not across > 0 or not up > 0:
        return float(x[0])
    chord = (y[0] - y) / up - (x - x[0]) / across * np.sign(y[0] - y[-1])
    return float(x[int(np.argmax(chord))])


def reach(scene: Scene, sigma: float, bound: float) -> tuple[float, float]:
    """How far out the tails may go: beyond these two values they must be coded.

    The largest value such that, with everybody above it coded to it, no value from the middle of
    the population up to it has an ECAP above the bound; and the smallest likewise. Infinite where
    nothing needs coding. Nothing of the data is used: the thresholds may be published.
    ``ValueError`` where more than a tenth would have to be coded on a side. Cost: some 30 ECAPs of
    230 values.

    Example:
        >>> from understudy.kernels.laws import Normal
        >>> from understudy.kernels.population import Population
        >>> farmers = Scene(Population(1500, Normal(170.0, 12.0)), 25)
        >>> low, high = reach(farmers, 1.2, 0.2)
        >>> round(low, 1), round(high, 1)
        (136.8, 203.2)
    """
    low = -_reach(scene, sigma, bound, -1)
    return low, _reach(scene, sigma, bound, 1)


def _reach(scene: Scene, sigma: float, bound: float, side: int) -> float:
    middle, tails = _tails(scene.people, side)

    def holds(place: int) -> bool:
        end = tails[place]
        coded = scene.coded(top=end) if side > 0 else scene.coded(bottom=-end)
        values = side * _towards(coded.people, middle, end, sigma, side)
        return bool(coded.risk(values, sigma).max() <= bound)

    if not holds(0):
        raise ValueError(f"more than {_CODED:.0%} of the population would have to be coded")
    good, bad = 0, len(tails) - 1
    if holds(bad):
        # At the end of the law nobody is beyond: nothing needs coding.
        return float("inf") if tails[bad] == side * _end(scene.people, side) else float(tails[bad])
    while bad - good > 1:
        between_ = (good + bad) // 2
        good, bad = (between_, bad) if holds(between_) else (good, between_)
    return float(tails[good])


def _end(people: People, side: int) -> float:
    ends = people.ends if isinstance(people, Grid) else people.law.ends
    return float(ends[side > 0])


def _tails(people: People, side: int) -> tuple[float, Floats]:
    """The middle, and candidates for a threshold outwards; mirrored numbers if side is −1."""
    if isinstance(people, Grid):
        low, masses = people.line()
        ks = low + np.arange(len(masses))
        if side < 0:
            ks, masses = ks[::-1], masses[::-1]
        passed = np.cumsum(masses)
        places = np.asarray(side * (people.start + ks * people.step), dtype=np.float64)
        return float(places[np.searchsorted(passed, 0.5)]), places[passed >= 1 - _CODED - 1e-12]
    shares = np.append(0.5, np.geomspace(_CODED, 1e-3 / people.size, 2001))
    outer = people.law.from_above(shares) if side > 0 else people.law.from_below(shares)
    end = _end(people, side)
    places = side * np.append(outer, end if np.isfinite(end) else [])
    return float(places[0]), places[1:]


def _towards(people: People, middle: float, end: float, sigma: float, side: int) -> Floats:
    """Values that stand for all from the middle to a threshold: evenly spread, and near it.

    All are those of the mirrored number if side is −1.
    """
    values = np.concatenate([np.linspace(middle, end, _WIDE), end - _NEAR * max(sigma, 1e-9)])
    if isinstance(people, Grid):
        steps = np.rint((values - middle) / people.step)
        values = np.unique(middle + steps * people.step)
    elif isinstance(people.law, Sampled):  # as rough as the sample: each of its gaps may be worst
        values = np.concatenate([values, side * people.law.knots])
    return np.asarray(values[(values >= middle) & (values <= end)])


def between(people: People, low: float, high: float, sigma: float) -> Floats:
    """Values that stand for all between two thresholds."""
    middle = (low + high) / 2
    if isinstance(people, Grid):
        middle = float(people.start + np.rint((middle - people.start) / people.step) * people.step)
    lower = -_towards(people, -middle, -low, sigma, -1)[::-1]
    return np.concatenate([lower, _towards(people, middle, high, sigma, 1)])
