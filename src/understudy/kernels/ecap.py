r"""ECAP: how sure a value near a person's own makes an attacker that the person is in the sample.

The attacker knows one person's number x, the size N of the population, the law of its numbers, the
size n of the sample and the law of the noise B. He looks for a released value nearer to x than to
the neighbours that x has in such a population:

    ECAP = P(the person was sampled | some released value lies in I₁)
         = 1 − [((N−1)/N)ⁿ − (P(S'+B ∉ I₁) − P(B ∉ I₂)/N)ⁿ] / [1 − P(S'+B ∉ I₁)ⁿ]

with I₁ from halfway to the neighbour below to halfway to the one above, I₂ = I₁ − x, and S' the
person with probability 1/N and else somebody beyond the neighbours (Chapelle & Falissard 2023,
Equation 1). On a grid others may have the very same value: I₁ is its cell, and nobody is left out.

All integrals are numerical and deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.special import ndtr

from understudy.kernels.laws import Floats, Law, Mirrored
from understudy.kernels.noise import cell_masses
from understudy.kernels.population import Grid, People, Population

_CHUNK = 4096  # values at once: a few hundred numbers each
_FAR = 45.0  # e⁻⁴⁵ is nothing
_REACH = 9.0  # standard deviations of noise that are looked at
_SMALL = 0.5  # noise below this share of the law's deviation sees a smooth law
_QUANTILES = np.array([1e-6, 1e-3, 0.02, 0.16, 0.5, 0.84, 0.98, 1 - 1e-3, 1 - 1e-6])


@dataclass(frozen=True, eq=False)
class Chances:
    """What decides the ECAP of each value.

    Attributes:
        others: probability that another person's released value lies in I₁ (p).
        own: probability that the person's own does (P(B ∈ I₂)).
    """

    others: Floats
    own: Floats


def ecap(
    people: People,
    values: Floats,
    sigma: float,
    sample: int,
    *,
    discrete: bool = False,
    replacement: bool = True,
) -> Floats:
    """ECAP of each value. Cost: some 150 evaluations of the law for each.

    Args:
        people: the population.
        values: numbers that attackers know (all present).
        sigma: standard deviation of the noise; 0 for none.
        sample: people in the sample.
        discrete: the noise is a discrete Gaussian on the grid, not a normal.
        replacement: the sample is drawn with replacement, as in Equation 1. Real samples are
            drawn without: see `equation`.

    Example:
        >>> from understudy.kernels.laws import Normal
        >>> farmers = Population(1500, Normal(170.0, 12.0))
        >>> ecap(farmers, np.array([178.0]), 0.1, 25).round(3).tolist()
        [0.124]
    """
    found = chances(people, values, sigma, discrete=discrete)
    return equation(found, people.size, sample, replacement=replacement)


def equation(found: Chances, size: int, sample: int, *, replacement: bool = True) -> Floats:
    """Equation 1; or, without replacement, the same for a person who is sampled at most once.

    With p and h the chances of another's and of one's own value to lie in I₁, and a sample without
    replacement: P(sampled) = n/N, P(some value in I₁ | sampled) = 1 − (1−h)(1−p)ⁿ⁻¹, and
    1 − (1−p)ⁿ for somebody who is not.

    Example:
        >>> equation(Chances(np.array([0.0]), np.array([1.0])), 100, 10).tolist()
        [1.0]
    """
    p, own, n = found.others, found.own, float(sample)
    with np.errstate(divide="ignore", invalid="ignore"):
        none = -np.expm1(n * np.log1p(-p))
        if replacement:
            out = n * np.log1p(-1.0 / size)
            some = -np.expm1(n * np.log1p(-(p + (own - p) / size)))
            risk, base = 1.0 - np.exp(out) * none / some, -np.expm1(out)
        else:
            base = n / size
            mine = -np.expm1(np.log1p(-own) + (n - 1) * np.log1p(-p if n > 1 else p * 0))
            risk = base * mine / (base * mine + (1 - base) * none)
    # Where no value can lie in I₁ at all, nothing is learnt.
    return np.asarray(np.where(np.isfinite(risk), np.clip(risk, 0.0, 1.0), base))


def chances(people: People, values: Floats, sigma: float, *, discrete: bool = False) -> Chances:
    """What decides the ECAP: by integrals of the law, or by sums over the grid."""
    values = np.asarray(values, dtype=np.float64)
    if isinstance(people, Grid):
        return _on_grid(people, values, sigma, discrete)
    return Spots.of(people, values).chances(sigma)


@dataclass(frozen=True, eq=False)
class Spots:
    """Values among the people of a continuous law: what does not depend on the noise.

    Attributes:
        people: the population.
        values: the values, coded.
        low: the neighbour below, and ``high`` the one above.
        high: see above.
        left: from the lower end of I₁ to the value, and ``right`` from it to the upper one.
        right: see above.
        inside: probability of being between the neighbours.
    """

    people: Population
    values: Floats
    low: Floats
    high: Floats
    left: Floats
    right: Floats
    inside: Floats

    @classmethod
    def of(cls, people: Population, values: Floats) -> Spots:
        """Find the neighbours and the interval of each value."""
        law, held = people.law, np.clip(values, people.bottom, people.top)
        low, high = neighbours(people, held)
        # A coded value is shared by all beyond it: nobody is left out on that side, and the
        # interval is as wide there as on the other.
        top, bottom = held >= people.top, held <= people.bottom
        left, right = (held - low) / 2, (high - held) / 2
        left, right = np.where(bottom, right, left), np.where(top, left, right)
        first, last = np.where(bottom, held, low), np.where(top, held, high)
        below = law.below(last) - law.below(first)
        inside = np.where(held < law.mean, below, law.above(first) - law.above(last))
        return cls(people, held, low, high, left, right, inside)

    def take(self, rows: NDArray[np.int64] | slice) -> Spots:
        """Only these values."""
        own = (self.values, self.low, self.high, self.left, self.right, self.inside)
        return Spots(self.people, *(one[rows] for one in own))

    def chances(self, sigma: float) -> Chances:
        """What decides the ECAP under normal noise."""
        size = max(len(self.values), 1)
        parts = [self.take(slice(at, at + _CHUNK))._chances(sigma) for at in range(0, size, _CHUNK)]
        return Chances(*(np.concatenate(one) for one in zip(*parts, strict=True)))

    def _chances(self, sigma: float) -> tuple[Floats, Floats]:
        people, law = self.people, self.people.law
        ends = (people.top, law.above), (people.bottom, law.below)
        others = np.zeros(len(self.values))
        for end, beyond in ends:
            if np.isfinite(end):
                others += float(beyond(np.array([end]))[0]) * self._lands(end - self.values, sigma)
        if sigma > 0:
            others += _beyond(law, self.values, self.high, self.left, self.right, sigma, people.top)
            others += _beyond(
                Mirrored(law), -self.values, -self.low, self.right, self.left, sigma,
                -people.bottom,
            )  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.where(self.inside < 1, others / (1 - self.inside), 0.0)
        return np.clip(others, 0.0, 1.0), self._lands(np.zeros(len(self.values)), sigma)

    def _lands(self, offset: Floats, sigma: float) -> Floats:
        """Chance that a value so far away comes to lie in the interval."""
        if sigma == 0:
            return np.where((offset >= -self.left) & (offset <= self.right), 1.0, 0.0)
        return np.asarray(ndtr((self.right - offset) / sigma) - ndtr((-self.left - offset) / sigma))


def neighbours(people: Population, values: Floats) -> tuple[Floats, Floats]:
    """Where the next person below and above each value is expected.

    Given x, and that somebody is above, the next one of the N − 1 others lies on average at

        ∫ Q̄(F̄(x) − g(e)) e⁻ᵉ de / ∫ e⁻ᵉ de,   g(e) = 1 − e^(−e/(N−1)),   0 ≤ e ≤ −(N−1) log F(x)

    (Chapelle & Falissard simulate the same mean). Where the law has nobody on a side, that side is
    infinite. Cost: some 40 inverses of the law for each value.

    Example:
        >>> from understudy.kernels.laws import Normal
        >>> low, high = neighbours(Population(1500, Normal(170.0, 12.0)), np.array([178.0]))
        >>> (178 - low).round(3).tolist(), (high - 178).round(3).tolist()
        ([0.025], [0.025])
    """
    law, others = people.law, people.size - 1
    held = np.clip(values, people.bottom, people.top)
    low = -_next_above(Mirrored(law), -held, others)
    high = _next_above(law, held, others)
    low, high = np.maximum(low, people.bottom), np.minimum(high, people.top)
    return np.where(held <= people.bottom, -np.inf, low), np.where(held >= people.top, np.inf, high)


def _next_above(law: Law, values: Floats, others: int) -> Floats:
    above, below = law.above(values)[:, None], law.below(values)[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        all_of_it = np.where(above > 0.5, -np.log(below), -np.log1p(-above)) * others
        share, rest, weight = _DOUBLE
        span = np.minimum(all_of_it, _FAR)
        passed = span * share
        left = np.where(all_of_it > _FAR, all_of_it - passed, span * rest)
        high = np.where(
            above > 0.5, above + np.expm1(-passed / others), below * np.expm1(left / others)
        )
        weights = weight * np.exp(-passed)
        spots = law.from_above(np.clip(high, 1e-300, 1.0))
        # A law with heavy tails may put the outermost node beyond the largest float.
        weights = np.where(np.isfinite(spots), weights, 0.0)
        mean = (weights * np.where(weights > 0, spots, 0.0)).sum(axis=1) / weights.sum(axis=1)
    return np.where(above[:, 0] > 0, mean, np.inf)


def _double_exponential(step: float = 0.16, reach: float = 3.2) -> tuple[Floats, Floats, Floats]:
    """Nodes on (0, 1), their distances from 1, and weights (Takahasi & Mori 1974)."""
    t = np.arange(-reach, reach + step / 2, step)
    share = 1 / (1 + np.exp(-np.pi * np.sinh(t)))
    rest = 1 / (1 + np.exp(np.pi * np.sinh(t)))
    return share, rest, step * np.pi * np.cosh(t) * share * rest


_DOUBLE = _double_exponential()


def _beyond(
    law: Law, values: Floats, edge: Floats, left: Floats, right: Floats, sigma: float, top: float
) -> Floats:
    """Chance that a person from ``edge`` up to ``top`` comes to lie in the interval.

    ∫ w dF = w(end)·(F(end) − F(edge)) − ∫ (F − F(edge)) w', with w the chance by place: the law's
    distribution function is enough, and no term is negative. Gauss and Legendre's rule on panels
    of the noise's scale, and of the law's where the noise is wide.
    """
    found = np.zeros(len(values))
    upper, there = edge >= law.mean, np.isfinite(edge) & (edge < top)
    for side in (True, False):
        rows = np.flatnonzero((upper == side) & there)
        if rows.size:
            found[rows] = _integrals(
                law, values[rows], edge[rows], left[rows], right[rows], sigma, top, upper=side
            )
    return found


def _integrals(
    law: Law, values: Floats, edge: Floats, left: Floats, right: Floats, sigma: float, top: float,
    upper: bool,
) -> Floats:  # fmt: skip
    stop = min(top, law.ends[1])
    breaks = _breaks(law, edge, sigma, stop)
    width = np.diff(breaks, axis=1)[:, :, None]
    t = (breaks[:, :-1, None] + width * _NODES).reshape(len(edge), -1)
    weight = (width * _WEIGHTS).reshape(len(edge), -1)

    def grown(x: Floats) -> Floats:
        # In the upper half the small tails keep their digits in the difference.
        start = edge.reshape(-1, *[1] * (x.ndim - 1))
        return law.above(start) - law.above(x) if upper else law.below(x) - law.below(start)

    place = ((edge - values) / sigma)[:, None] + t
    near, far = place - (right / sigma)[:, None], place + (left / sigma)[:, None]
    falls = np.exp(-np.square(near) / 2) - np.exp(-np.square(far) / 2)
    found = (weight * grown(edge[:, None] + sigma * t) * falls).sum(axis=1) / _ROOT
    if np.isfinite(stop):
        last = (stop - values) / sigma
        ends = ndtr(right / sigma - last) - ndtr(-left / sigma - last)
        found = found + ends * grown(np.full(len(edge), stop))
    return np.asarray(np.maximum(found, 0.0))


def _breaks(law: Law, edge: Floats, sigma: float, stop: float) -> Floats:
    """Ends of the panels, from the edge in standard deviations of the noise."""
    own = np.broadcast_to(_PANELS, (len(edge), len(_PANELS)))
    if sigma > _SMALL * law.sd:
        spots = (law.from_below(_QUANTILES)[None, :] - edge[:, None]) / sigma
        own = np.concatenate([own, spots], axis=1)
    last = np.clip((stop - edge) / sigma, 0.0, _REACH)[:, None]
    return np.sort(np.clip(own, 0.0, last), axis=1)


_PANELS = np.array([0.0, 0.75, 1.5, 2.5, 4.0, 6.0, _REACH])
_ROOT = np.sqrt(2 * np.pi)
_X, _W = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (_X + 1) / 2, _W / 2


def _on_grid(people: Grid, values: Floats, sigma: float, discrete: bool) -> Chances:
    kernel = cell_masses(sigma / people.step, discrete=discrete)
    reach = len(kernel) // 2
    low, masses = people.line(reach)
    spread = fftconvolve(masses, kernel)[reach : reach + len(masses)] if reach else masses
    place = people.places(values) - low
    inside = (place >= 0) & (place < len(masses))
    place = np.clip(place, 0, len(masses) - 1)
    # Beyond the law's last value, and further than noise carries, nobody else can be.
    others, own = np.where(inside, spread[place], 0.0), np.full(len(place), kernel[reach])
    if people.counted:
        # The person is one of those counted: the others are one fewer.
        has = inside & (masses[place] > 0)
        without = (others * people.size - own) / (people.size - 1)
        others = np.where(has, without, others)
    return Chances(np.clip(others, 0.0, 1.0), own)
