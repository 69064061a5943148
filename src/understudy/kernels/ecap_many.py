r"""ECAP of an attacker who knows several numbers of a person at once.

In units of the noise the noise is the same in all directions, so that only distances to the person
count. With H(r) the share of the population within r of the person,

    P(S' + B ∈ I₁) = ∫_{r₂}^∞ Q(r) dH(r) / (1 − H(r₂)),    P(B ∈ I₂) = Q(0),

where I₁ is the ball of radius r₁ = r₂/2 that holds one person on average, H(r₁) = 1/N, nobody else
is within r₂, and Q(r) is the chance that noise carries somebody from distance r into I₁ (a
noncentral χ² distribution). With one number this is Equation 1 with neighbours at equal distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp, ndtri
from scipy.stats import chi2, ncx2, qmc

from understudy.kernels.ecap import Chances, equation
from understudy.kernels.laws import Floats

Rows = NDArray[np.float64]
Density = Callable[[Rows], Floats]
_DIRECTIONS = 256
_RADII = 96
_REACH = 9.0


@dataclass(frozen=True, eq=False)
class Joint:
    """People of whom several numbers follow a joint normal law.

    Attributes:
        size: how many people there are (N).
        mean: mean of each number.
        covariance: of the numbers.
    """

    size: int
    mean: Floats
    covariance: Rows

    def log_density(self, rows: Rows) -> Floats:
        """Log density of each row (any leading axes)."""
        root = np.linalg.cholesky(self.covariance)
        away = np.moveaxis(rows - self.mean, -1, 0)
        flat = np.linalg.solve(root, away.reshape(len(root), -1)).reshape(away.shape)
        volume = np.log(np.diag(root)).sum() + len(root) / 2 * np.log(2 * np.pi)
        return np.asarray(-np.square(flat).sum(axis=0) / 2 - volume)


def ecap_of_several(
    people: Joint, rows: Rows, sigmas: Floats, sample: int, *, replacement: bool = False
) -> Floats:
    """ECAP of each row of known numbers, under normal noise of these deviations.

    The population's density is averaged over 256 directions (a Sobol sequence, always the same).
    Cost: some 500,000 densities for each row.

    Noise that is far wider than the population in one direction and far narrower in another needs
    more directions than these: leave a number out that such noise hides anyway.

    Example:
        >>> from understudy.kernels.ecap import ecap
        >>> from understudy.kernels.laws import Normal
        >>> from understudy.kernels.population import Population
        >>> law = Joint(60_000, np.array([34.0, 4.0]), np.diag([64.0, 6.25]))
        >>> prisoners = Population(60_000, Normal(34.0, 8.0))
        >>> ecap(prisoners, np.array([50.0]), 0.1, 600).round(2).tolist()
        [0.02]
        >>> row, noise = np.array([[50.0, 4.0]]), np.array([0.1, 0.2])
        >>> ecap_of_several(law, row, noise, 600).round(2).tolist()
        [0.16]
    """
    found = chances_of_several(people, rows, sigmas)
    return equation(found, people.size, sample, replacement=replacement)


def chances_of_several(people: Joint, rows: Rows, sigmas: Floats) -> Chances:
    """What decides the ECAP of each row."""
    found = [_chances(people, row, np.asarray(sigmas, dtype=np.float64)) for row in rows]
    others, own = (np.array(one) for one in zip(*found, strict=True))
    return Chances(np.clip(others, 0.0, 1.0), own)


def radius(people: Joint, row: Floats, sigmas: Floats) -> float:
    """Radius of the ball I₁ around a row, in deviations of the noise: H(r₁) = 1/N."""
    around = _Around(people, row, sigmas)

    def missing(log: float) -> float:
        return float(np.log(max(around.share(np.exp(log)), 1e-300) * people.size))

    last = float(np.log(around.farthest))
    return float(np.exp(brentq(missing, last - 60.0, last, xtol=1e-9)))


def _chances(people: Joint, row: Floats, sigmas: Floats) -> tuple[float, float]:
    around = _Around(people, row, sigmas)
    inner = radius(people, row, sigmas)
    outer, size = 2 * inner, len(sigmas)
    own = float(chi2.cdf(inner**2, size))
    radii, weights = _panels(outer, min(outer + _REACH, max(around.farthest, outer * 1.01)))
    lands = ncx2.cdf(inner**2, size, np.square(radii))
    inside = around.share(outer)
    if not inside < 1:
        return 0.0, own
    return float((weights * lands * around.shell(radii)).sum() / (1 - inside)), own


class _Around:
    """The population by distance from one row, in deviations of the noise."""

    def __init__(self, people: Joint, row: Floats, sigmas: Floats) -> None:
        self.people, self.row, self.sigmas = people, row, sigmas
        self.directions = _directions(len(sigmas))
        away = np.sqrt(np.square((row - people.mean) / sigmas).sum())
        spread = np.sqrt(np.square(np.sqrt(np.diag(people.covariance)) / sigmas).sum())
        self.farthest = float(away + 10 * spread)

    def shell(self, radii: Floats) -> Floats:
        """Density of the distance: surface times the mean density over the directions."""
        size = len(self.sigmas)
        spots = self.row + radii[:, None, None] * self.directions * self.sigmas
        mean = logsumexp(self.people.log_density(spots), axis=1) - np.log(len(self.directions))
        surface = np.log(2) + size / 2 * np.log(np.pi) - gammaln(size / 2)
        with np.errstate(divide="ignore", under="ignore"):
            log = mean + surface + (size - 1) * np.log(radii) + np.log(self.sigmas).sum()
            return np.asarray(np.exp(log))

    def share(self, radius: float) -> float:
        """H: share of the population within a radius."""
        radii, weights = _panels(0.0, radius)
        return float(min((weights * self.shell(radii)).sum(), 1.0))


def _panels(low: float, high: float) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre's rule."""
    x, w = np.polynomial.legendre.leggauss(_RADII)
    return low + (x + 1) / 2 * (high - low), w / 2 * (high - low)


def _directions(size: int) -> Rows:
    """Directions spread evenly: both of a line, all round a circle, Sobol's points beyond."""
    if size == 1:
        return np.array([[-1.0], [1.0]])
    if size == 2:
        angle = 2 * np.pi * (np.arange(_DIRECTIONS) + 0.5) / _DIRECTIONS
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = qmc.Sobol(size, scramble=True, rng=np.random.default_rng(0)).random(_DIRECTIONS)
    spots = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    return np.asarray(spots / np.linalg.norm(spots, axis=1, keepdims=True))
