"""Gaussian mixtures with full covariances, fitted by expectation maximisation (EM).

In few dimensions a Gaussian's log density is one product of the terms 1, x_i, x_i x_j with a vector
of coefficients, so one E-step is a matrix product, an exponential and a second product that
gives all of the M-step's sums. The rows pass in blocks that stay in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CACHED = 65_536  # responsibilities per block: half a megabyte
_FAINT = -80.0  # log responsibilities below this are cut: exp underflows slowly
_ROUNDING = 64 * np.finfo(np.float64).eps
_EMPTY = 10 * np.finfo(np.float64).eps  # keeps a component that lost all its rows finite


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """A fitted (or starting) mixture Σ_k w_k N(x; μ_k, Σ_k).

    Attributes:
        weights: w, summing to 1 (K).
        means: μ (K × P).
        covariances: Σ, the floor included (K × P × P).
        log_likelihood: of all rows, under these parameters (−∞ for a start).
        iterations: EM steps made.
        converged: the mean log likelihood rose by less than the tolerance.
    """

    weights: Floats
    means: Floats
    covariances: Floats
    log_likelihood: float = -np.inf
    iterations: int = 0
    converged: bool = False

    @property
    def components(self) -> int:
        """Number of components K."""
        return len(self.weights)

    @property
    def parameters(self) -> int:
        """Free parameters: K − 1 weights, K means, K symmetric covariances."""
        count, size = self.means.shape
        return int(count - 1 + count * size + count * size * (size + 1) // 2)

    def bic(self, rows: int) -> float:
        """Bayesian information criterion, parameters·ln n − 2·log likelihood: lower is better."""
        return self.parameters * float(np.log(max(rows, 1))) - 2.0 * self.log_likelihood

    def negative_log_determinants(self) -> Floats:
        """−ln det Σ_k: how sharply each component is peaked."""
        return np.asarray(-np.linalg.slogdet(self.covariances)[1], dtype=np.float64)


def fit(
    points: Floats,
    components: int,
    *,
    starts: int = 5,
    max_iter: int = 200,
    tolerance: float = 1e-3,
    floor: float = 1e-6,
    rng: np.random.Generator,
) -> GaussianMixture:
    """Maximise Σ_j log Σ_k w_k N(x_j; μ_k, Σ_k) by EM, the best of several k-means++ starts.

    Bale & Quick (eq. 20, 30–34). ``floor`` is added to the diagonal of every covariance.

    Args:
        points: rows (n × P), standardised.
        components: K, at most n.
        starts: independent k-means++ starts.
        max_iter: most EM steps of a start.
        tolerance: stop when the log likelihood per row rises by less.
        floor: smallest variance in any direction.
        rng: the stream.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> points = np.concatenate([rng.normal(0, 1, (300, 1)), rng.normal(9, 1, (100, 1))])
        >>> np.sort(fit(points, 2, rng=rng).weights).round(2).tolist()
        [0.25, 0.75]
    """
    best: GaussianMixture | None = None
    for _ in range(starts):
        begin = start(points, components, floor=floor, rng=rng)
        found = climb(points, begin, max_iter=max_iter, tolerance=tolerance, floor=floor)
        if best is None or found.log_likelihood > best.log_likelihood:
            best = found
    assert best is not None
    return best


def start(
    points: Floats, components: int, *, floor: float, rng: np.random.Generator
) -> GaussianMixture:
    """Centres by k-means++ (Arthur & Vassilvitskii 2007), then moments of each centre's rows."""
    owner = _spread(points, components, rng)
    terms = _terms(points)
    sums = np.zeros((components, terms.shape[1]))
    for index, term in enumerate(terms.T):
        sums[:, index] = np.bincount(owner, weights=term, minlength=components)
    return _moments(sums, floor, len(points))


def _spread(points: Floats, components: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Nearest of ``components`` rows, each drawn in proportion to squared distance."""
    columns = np.ascontiguousarray(points.T)
    chosen = int(rng.integers(len(points)))
    owner = np.zeros(len(points), dtype=np.int64)
    nearest = np.full(len(points), np.inf)
    for index in range(components):
        distance = np.zeros(len(points))
        for column in columns:
            gap = column - column[chosen]
            distance += gap * gap
        closer = distance < nearest
        owner[closer] = index
        np.minimum(nearest, distance, out=nearest)
        total = np.cumsum(nearest)
        # Once every distinct row is a centre, any row will do: its component stays empty.
        spot = np.searchsorted(total, rng.random() * total[-1], side="right")
        chosen = min(int(spot), len(points) - 1)
    return owner


def climb(
    points: Floats,
    begin: GaussianMixture,
    *,
    max_iter: int = 200,
    tolerance: float = 1e-3,
    floor: float = 1e-6,
) -> GaussianMixture:
    """EM from one start until the log likelihood per row rises by less than ``tolerance``."""
    terms = _terms(points)
    mixture, before, converged, iteration = begin, -np.inf, False, 0
    while iteration < max_iter and not converged:
        likelihood, sums = _expect(terms, _coefficients(mixture))
        mixture = _moments(sums, floor, len(points))
        converged = abs(likelihood - before) < tolerance * len(points)
        before, iteration = likelihood, iteration + 1
    likelihood = float(log_density(mixture, points).sum())
    return replace(mixture, log_likelihood=likelihood, iterations=iteration, converged=converged)


def log_density(mixture: GaussianMixture, points: Floats) -> Floats:
    """Log density of each row under the mixture."""
    coefficients = _coefficients(mixture)
    terms = _terms(points)
    result = np.empty(len(points))
    for part in _blocks(len(points), mixture.components):
        scores = terms[part] @ coefficients
        peak = scores.max(axis=1)
        result[part] = peak + np.log(np.exp(scores - peak[:, None]).sum(axis=1))
    return result


def owners(mixture: GaussianMixture, points: Floats) -> NDArray[np.int64]:
    """The component with the largest responsibility for each row (eq. 25)."""
    coefficients = _coefficients(mixture)
    terms = _terms(points)
    result = np.empty(len(points), dtype=np.int64)
    for part in _blocks(len(points), mixture.components):
        result[part] = (terms[part] @ coefficients).argmax(axis=1)
    return result


def draw(mixture: GaussianMixture, rows: int, rng: np.random.Generator) -> Floats:
    """Draw rows: a component by its weight, then a point of that component."""
    total = np.cumsum(mixture.weights)
    component = np.searchsorted(total, rng.random(rows) * total[-1], side="right")
    return draw_from(mixture, np.minimum(component, mixture.components - 1), rng)


def draw_from(
    mixture: GaussianMixture, component: NDArray[np.int64], rng: np.random.Generator
) -> Floats:
    """Draw one point of each row's component."""
    root = np.linalg.cholesky(mixture.covariances)
    noise = rng.standard_normal((len(component), mixture.means.shape[1]))
    moved = np.einsum("nij,nj->ni", root[component], noise)
    return np.asarray(mixture.means[component] + moved, dtype=np.float64)


def marginal(mixture: GaussianMixture, columns: NDArray[np.int64]) -> GaussianMixture:
    """The mixture of some of the columns, the others integrated out."""
    inner = mixture.covariances[:, columns[:, None], columns[None, :]]
    return GaussianMixture(mixture.weights, mixture.means[:, columns], inner)


def _blocks(rows: int, components: int) -> list[slice]:
    size = max(_CACHED // components, 16)
    return [slice(begin, begin + size) for begin in range(0, rows, size)]


def _terms(points: Floats) -> Floats:
    """The columns 1, x_i, x_i x_j (i ≤ j)."""
    first, second = np.triu_indices(points.shape[1])
    one = np.ones((len(points), 1))
    return np.concatenate([one, points, points[:, first] * points[:, second]], axis=1)


def _coefficients(mixture: GaussianMixture) -> Floats:
    """Log w_k N(x; μ_k, Σ_k) as coefficients of the terms (terms × K)."""
    size = mixture.means.shape[1]
    first, second = np.triu_indices(size)
    precision = np.linalg.inv(mixture.covariances)
    linear = np.einsum("kij,kj->ki", precision, mixture.means)
    quadratic = precision[:, first, second] * np.where(first == second, -0.5, -1.0)
    with np.errstate(divide="ignore"):
        constant = np.log(mixture.weights) + 0.5 * (
            mixture.negative_log_determinants()
            - size * np.log(2 * np.pi)
            - np.einsum("ki,ki->k", linear, mixture.means)
        )
    return np.ascontiguousarray(np.concatenate([constant[:, None], linear, quadratic], axis=1).T)


def _expect(terms: Floats, coefficients: Floats) -> tuple[float, Floats]:
    """Log likelihood, and Σ_j r_jk · terms_j for every component (K × terms)."""
    count = coefficients.shape[1]
    sums = np.zeros((count, terms.shape[1]))
    likelihood = 0.0
    for part in _blocks(len(terms), count):
        rows = terms[part]
        scores = rows @ coefficients
        peak = scores.max(axis=1)
        scores -= peak[:, None]
        np.maximum(scores, _FAINT, out=scores)
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        likelihood += float((peak + np.log(total)).sum())
        # Dividing the few terms instead of the many responsibilities by their total.
        sums += scores.T @ (rows / total[:, None])
    return likelihood, sums


def _moments(sums: Floats, floor: float, rows: int) -> GaussianMixture:
    """The M-step (eq. 32–34): weights, means and covariances from the sums of the terms."""
    size = int((np.sqrt(8 * sums.shape[1] + 1) - 3) // 2)
    first, second = np.triu_indices(size)
    share = sums[:, 0] + _EMPTY
    means = sums[:, 1 : 1 + size] / share[:, None]
    raw = sums[:, 1 + size :] / share[:, None]
    products = raw - means[:, first] * means[:, second]
    # What is left of a difference of squares below their rounding is noise, not variance.
    diagonal = np.flatnonzero(first == second)
    noise = products[:, diagonal] < _ROUNDING * raw[:, diagonal]
    products[noise[:, first] | noise[:, second]] = 0.0
    covariances = np.empty((len(sums), size, size))
    covariances[:, first, second] = products
    covariances[:, second, first] = products
    covariances += floor * np.eye(size)
    return GaussianMixture(share / share.sum(), means, covariances)
