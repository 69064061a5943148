"""How clustered points on a map are: Ripley's K and L, by counting pairs.

K(h) is the area times the mean number of other points within h of a point, over their number. It is
πh² where points fall anywhere alike; L = √(K/π) is then h.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.windows import Window

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CORRECTIONS = ("none", "border", "translate", "isotropic")
DIVISORS = ("pairs", "squares")
_BLOCK, _ROWS = 1 << 19, 64  # pairs that are looked at together, and at least so many points
_TINY = 1e-300
_HEAVIEST = 100.0  # weight of a pair that the window nearly hides


@dataclass(frozen=True, eq=False)
class Ripley:
    """K of some points over several distances, and how it would vary with other points.

    Attributes:
        radii: distances h.
        k: K at each of them.
        spread: covariance matrix of K/E(K) over the distances, for as many points.
        pairs: weight of the pairs within each h, each pair counted once.
        points: how many points there were.
    """

    radii: Floats
    k: Floats
    spread: Floats
    pairs: Floats
    points: int

    @property
    def l(self) -> Floats:  # noqa: E743 (its name in the literature)
        """L = √(K/π); h is not subtracted."""
        return np.asarray(np.sqrt(self.k / np.pi), dtype=np.float64)

    def deviations(self, points: int, draws: int, rng: np.random.Generator) -> Floats:
        """What chance adds to L when ``points`` points are drawn (draws × distances).

        K* = K·max(1 + e, 0) with e normal, of covariance ``spread`` scaled to the number of points;
        the bootstrap of a statistic that is nearly a mean, without drawing rows. Cost: distances³ +
        draws × distances².
        """
        size, axes = np.linalg.eigh(self.spread * (self.points / max(points, 1)))
        normal = rng.standard_normal((draws, len(size)))
        # Not by BLAS: for so little, waking its threads takes longer than the work.
        error = np.einsum("da,ha->dh", normal * np.sqrt(np.maximum(size, 0)), axes)
        return np.asarray(self.l * (np.sqrt(np.maximum(1 + error, 0)) - 1), dtype=np.float64)


def ripley(
    points: Floats,
    radii: Floats,
    window: Window,
    *,
    correction: str = "none",
    divisor: str = "pairs",
) -> Ripley:
    """K of one set of points.

    K(h) = |D| / n² · Σ_i Σ_{j≠i} w_ij · 1(|x_i − x_j| ≤ h)         (Bale & Quick eq. 26: w = 1)

    - ``none``: w = 1. Points near the border lack neighbours, so K is too small there.
    - ``border``: only points i that are at least h from the border count, over their number.
    - ``translate``: w = |D| / |D ∩ (D + x_i − x_j)|.
    - ``isotropic`` (Ripley 1977): one over the share of the circle around x_i through x_j that is
      in D, at most 100.

    The divisor ``squares`` is n², as in the paper; ``pairs`` is n(n − 1), under which more points
    of one process do not change what is expected. ``border`` divides by n and the points that
    count either way; K is NaN where none does. But for ``none``, all points must lie in the window.

    The spread is that of a sum over points: how much of all counted pairs each point has a part in
    (Hájek's projection; for points that do not cluster at all it is up to √2 too large).

    Cost: pairs of points whose first coordinates are within the largest h, at most n²/2, each
    looked up among the distances if it is near; memory: n × distances, and 2^19 pairs or 64·n.

    Args:
        points: coordinates (n × 2), two at least.
        radii: ascending distances.
        window: the window D.
        correction: one of `CORRECTIONS`.
        divisor: one of `DIVISORS`.

    Example:
        >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> found = ripley(corners, np.array([0.5, 1.0, 1.5]), Window.box([0, 0], [1, 1]))
        >>> found.k.round(3).tolist()
        [0.0, 0.667, 1.0]
    """
    n = len(points)
    points = points[np.argsort(points[:, 0], kind="stable")]
    out, into = _sums(points, points, radii, window, correction, same=True)
    core = np.ones((n, len(radii)), dtype=np.bool_)
    if correction == "border":
        core = window.border(points)[:, None] >= radii
        out, into = out * core, _seen_by(points, radii, core)
    total, counted = out.sum(axis=0), core.sum(axis=0)
    size = n if correction == "border" or divisor == "squares" else n - 1
    k = np.where(counted > 0, window.area * _over(total, size * counted), np.nan)
    # A point has a part in the pairs it sees, in those it is seen in, and in both numbers.
    part = _over(out + into, total) - _over(core, counted) - 1 / n
    part[:, total == 0] = 0
    return Ripley(radii, k, np.asarray(part.T @ part, dtype=np.float64), total / 2, n)


def ripley_cross(
    points: Floats,
    others: Floats,
    radii: Floats,
    window: Window,
    *,
    correction: str = "none",
) -> Floats:
    """K of points of one kind around those of another.

    K_ab(h) = |D| / (n_a·n_b) · Σ_{i in a} Σ_{j in b} w_ij · 1(|x_i − x_j| ≤ h), with the weights of
    `ripley`. Under random labels it equals K of all points. Cost: as for `ripley`, n_a × n_b.

    Example:
        >>> one, two = np.array([[0.5, 0.5]]), np.array([[0.5, 0.6], [0.9, 0.9]])
        >>> ripley_cross(one, two, np.array([0.2, 0.6]), Window.box([0, 0], [1, 1])).tolist()
        [0.5, 1.0]
    """
    points, others = (part[np.argsort(part[:, 0], kind="stable")] for part in (points, others))
    out, _ = _sums(points, others, radii, window, correction, same=False)
    core = np.ones(out.shape, dtype=np.bool_)
    if correction == "border":
        core = window.border(points)[:, None] >= radii
    counted = core.sum(axis=0)
    k = window.area * _over((out * core).sum(axis=0), len(others) * counted)
    return np.where(counted > 0, k, np.nan)


class _Near(NamedTuple):
    """Pairs of some neighbouring points with those in their reach.

    Attributes:
        first: where the first points begin and end.
        second: where the second ones do.
        i: the first point of each pair.
        j: the second.
        shell: the first distance that holds the pair.
        gap: how far apart the two are.
    """

    first: slice
    second: slice
    i: Ints
    j: Ints
    shell: Ints
    gap: Floats


def _sums(
    points: Floats, others: Floats, radii: Floats, window: Window, correction: str, *, same: bool
) -> tuple[Floats, Floats]:
    """Summed weights of the pairs within each h, by the first point and by the second."""
    wide = len(radii)
    out, into = np.zeros((len(points), wide)), np.zeros((len(others), wide))
    for near in _sweep(points, others, radii, same=same):
        ahead = _weights(points, near.i, others, near.j, near.gap, window, correction)
        _add(out, near.first, near.i, near.shell, ahead)
        _add(into, near.second, near.j, near.shell, ahead)
        if same and correction == "isotropic":  # each pair was met once, and counts both ways
            back = _weights(others, near.j, points, near.i, near.gap, window, correction)
            _add(out, near.second, near.j, near.shell, back)
            _add(into, near.first, near.i, near.shell, back)
    if same and correction != "isotropic":
        out = into = out + into
    return np.cumsum(out, axis=1), np.cumsum(into, axis=1)


def _weights(
    points: Floats,
    i: Ints,
    others: Floats,
    j: Ints,
    gap: Floats,
    window: Window,
    correction: str,
) -> Floats | None:
    """Weights of pairs, as the first point sees the second; None where all are 1."""
    if correction == "translate":
        area = window.shared(points[i] - others[j])
        return np.minimum(window.area / np.maximum(area, _TINY), _HEAVIEST)
    if correction == "isotropic":
        share = window.arc(points[i], gap)
        return np.asarray(1 / np.maximum(share, 1 / _HEAVIEST), dtype=np.float64)
    return None


def _sweep(points: Floats, others: Floats, radii: Floats, *, same: bool) -> Iterator[_Near]:
    """Pairs within the largest distance, each once; both sets in order of the first coordinate.

    A block of points meets only those that this coordinate does not put out of reach.
    """
    reach = float(radii[-1])
    (x, y), (u, v) = points.T, others.T
    step = max(_BLOCK // max(len(u), 1), _ROWS)
    for start in range(0, len(x), step):
        first = slice(start, min(start + step, len(x)))
        low = start if same else int(np.searchsorted(u, x[start] - reach, side="left"))
        second = slice(low, int(np.searchsorted(u, x[first][-1] + reach, side="right")))
        square = np.square(x[first, None] - u[None, second])
        square += np.square(y[first, None] - v[None, second])
        near = square <= reach * reach * (1 + 1e-12)
        if same:
            near &= np.arange(second.start, second.stop) > np.arange(start, first.stop)[:, None]
        found = np.flatnonzero(near)  # flat: several times as fast as by row and column
        i, j = np.divmod(found, near.shape[1])
        gap = np.sqrt(square.ravel()[found])
        shell = np.searchsorted(radii, gap, side="left")
        kept = shell < len(radii)
        yield _Near(first, second, i[kept] + start, j[kept] + low, shell[kept], gap[kept])


def _seen_by(points: Floats, radii: Floats, core: NDArray[np.bool_]) -> Floats:
    """For each point and h, how many points of the core see it within h."""
    seen = np.zeros((len(points), len(radii) + 1))
    last = core.sum(axis=1)  # a point leaves the core for good: it sees up to its own last h
    for near in _sweep(points, points, radii, same=True):
        ends = (near.i, near.j, near.second), (near.j, near.i, near.first)
        for viewer, viewed, where in ends:
            kept = near.shell < last[viewer]
            _add(seen, where, viewed[kept], near.shell[kept], None)
            _add(seen, where, viewed[kept], last[viewer][kept], np.full(kept.sum(), -1.0))
    return np.cumsum(seen, axis=1)[:, :-1]


def _add(total: Floats, where: slice, row: Ints, column: Ints, weight: Floats | None) -> None:
    """Add weights (1 if there are none) to the cells of some rows of a table."""
    part = total[where]
    place = (row - where.start) * part.shape[1] + column
    part += np.bincount(place, weight, minlength=part.size).reshape(part.shape)


def _over(above: Floats | NDArray[np.bool_], below: Floats | Ints) -> Floats:
    """Ratios; 0 where there is nothing below."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)
