"""EM for Gaussian mixtures against scikit-learn, from the same start, on one BLAS thread."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer
from threadpoolctl import threadpool_limits

from understudy.kernels import mixture

CASES = ((3_361, 730), (3_361, 100), (48_842, 10))


def points_like_a_map(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Points around 60 towns of unequal size, standardised."""
    towns = rng.normal(0, 3, (60, 2))
    share = 1 / np.arange(1, 61)
    town = rng.choice(60, rows, p=share / share.sum())
    points = towns[town] + rng.normal(0, 0.2, (rows, 2)) * rng.gamma(1, 1, (rows, 1))
    return (points - points.mean(axis=0)) / points.std(axis=0)


def compare(rows: int, components: int) -> str:
    rng = np.random.default_rng(20)
    points = points_like_a_map(rows, rng)
    clock = time.perf_counter()
    begin = mixture.start(points, components, floor=1e-6, rng=rng)
    ours = mixture.climb(points, begin)
    mine = time.perf_counter() - clock
    peer = Peer(
        components,
        weights_init=begin.weights,
        means_init=begin.means,
        precisions_init=np.linalg.inv(begin.covariances),
        init_params="random_from_data",  # not used, and cheap
        max_iter=200,
    )
    clock = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(points)
    theirs = time.perf_counter() - clock
    gap = ours.log_likelihood / rows - peer.score(points)
    return (
        f"mixture n={rows} K={components}: {mine:.2f} s (start included, {ours.iterations} steps), "
        f"scikit-learn {theirs:.2f} s ({peer.n_iter_} steps): {theirs / mine:.1f} times as fast, "
        f"log likelihood per row {gap:+.1e}"
    )


def main() -> None:
    with threadpool_limits(1):
        for rows, components in CASES:
            print(compare(rows, components))


if __name__ == "__main__":
    main()
