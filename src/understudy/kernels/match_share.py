"""How often two samples of one normal distribution meet: the expected share of identical matches.

Bale & Quick (equations 9 to 12) take one probability p that a row meets a row, and expect
1 − (1 − p)^N. But p depends on where the row lies: rows in the middle meet many, rows at the edge
meet none. The expectation is exact only if it is taken last, over the row x:

    E[IMS] = E_x[1 − (1 − p(x))^N],   p(x) = P(|x − y| ≤ δ)

For y ~ N(0, Σ) with variances 1 and covariances ρ, Σ has the eigenvalue a = 1 + (d−1)ρ once and
b = 1 − ρ d − 1 times. Along the first axis y lies at u + t when x lies at u; what is left of δ²
is met with a noncentral chi-square:

    p(u, s) = ∫ φ(u + t; a) · F_χ'²((δ² − t²)/b; d − 1, s) dt,   |t| ≤ δ

where s·b is the squared length of the rest of x, so u ~ N(0, a) and s ~ χ²(d − 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, chndtr, ndtri

Float = npt.NDArray[np.float64]

NODES = 256  # of each outer integral
STEPS = 96  # of the integral along the first axis


@dataclass(frozen=True)
class MatchShare:
    """The expected identical match share, and what the paper's formula gives.

    Attributes:
        exact: E_x[1 − (1 − p(x))^N], the expectation taken last.
        one_probability: 1 − (1 − p)^N with p = E_x[p(x)]: equation (12) read with one p for all
            rows. Never below ``exact``, by Jensen's inequality.
        probability: p, that two independent rows lie within δ.
    """

    exact: float
    one_probability: float
    probability: float


def expected_match_share(delta: float, rows: int, dimension: int, covariance: float) -> MatchShare:
    """Expected share of rows that have one of ``rows`` independent rows within ``delta``.

    Rows are normal with mean 0, variances 1 and equal covariances, in at least two dimensions.

    Source: Bale & Quick, equations (9) to (12).
    Cost: some 25,000 values of the noncentral chi-square; the error is below 1e-6.

    Example:
        >>> share = expected_match_share(1.0, 5000, 10, 0.0)
        >>> round(share.exact, 4), share.one_probability > share.exact
        (0.0312, True)
    """
    along, across = 1 + (dimension - 1) * covariance, 1 - covariance
    u, weight_u = _unit_nodes(NODES)
    s, weight_s = _unit_nodes(NODES)
    u, s = np.sqrt(along) * ndtri(u), chdtri(dimension - 1, 1 - s)
    near = _near(delta, u, s, along, across, dimension - 1)
    weight = np.outer(weight_u, weight_s)
    probability = float(np.sum(weight * near))
    with np.errstate(divide="ignore"):  # where all rows match, log 0 is the right limit
        missed = np.exp(rows * np.log1p(-np.minimum(near, 1.0)))
    return MatchShare(
        exact=float(np.sum(weight * (1 - missed))),
        one_probability=float(-np.expm1(rows * np.log1p(-probability))),
        probability=probability,
    )


def _near(delta: float, u: Float, s: Float, along: float, across: float, rest: int) -> Float:
    """p(u, s) on a grid, by a rule in the angle: t = δ sin θ, which tames the ends."""
    angle, weight = np.polynomial.legendre.leggauss(STEPS)
    angle, weight = angle * np.pi / 2, weight * np.pi / 2
    t = delta * np.sin(angle)
    left = (delta * np.cos(angle)) ** 2 / across
    hit = chndtr(left[:, None], rest, s[None, :])
    density = np.exp(-((u[:, None] + t) ** 2) / (2 * along)) / np.sqrt(2 * np.pi * along)
    return np.asarray((density * weight * delta * np.cos(angle)) @ hit)


def _unit_nodes(count: int) -> tuple[Float, Float]:
    """Gauss-Legendre on (0, 1), in the scale of probability: nodes are quantiles afterwards."""
    x, weight = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, weight / 2
