"""EM for Gaussian mixtures against scikit-learn, from the same start, on one BLAS thread."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer
from threadpoolctl import threadpool_limits

from benchmarks._clock import Took, timed, verdict
from understudy.kernels import mixture

CASES = ((3_361, 730), (3_361, 100), (48_842, 10))
DEAREST, LIMIT = CASES[0], 0.7  # seconds of one start of Bale & Quick's largest mixture


def points_like_a_map(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Points around 60 towns of unequal size, standardised."""
    towns = rng.normal(0, 3, (60, 2))
    share = 1 / np.arange(1, 61)
    town = rng.choice(60, rows, p=share / share.sum())
    points = towns[town] + rng.normal(0, 0.2, (rows, 2)) * rng.gamma(1, 1, (rows, 1))
    return (points - points.mean(axis=0)) / points.std(axis=0)


def compare(rows: int, components: int) -> tuple[str, float]:
    """What both took, in words, and our seconds."""
    rng = np.random.default_rng(20)
    points = points_like_a_map(rows, rng)
    begin, first = timed(lambda: mixture.start(points, components, floor=1e-6, rng=rng))
    ours, second = timed(lambda: mixture.climb(points, begin))
    mine = Took(first.wall + second.wall, first.cpu + second.cpu)
    peer = Peer(
        components,
        weights_init=begin.weights,
        means_init=begin.means,
        precisions_init=np.linalg.inv(begin.covariances),
        init_params="random_from_data",  # not used, and cheap
        max_iter=200,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, theirs = timed(lambda: peer.fit(points))
    gap = ours.log_likelihood / rows - peer.score(points)
    said = (
        f"mixture n={rows} K={components}: {mine}, start included, {ours.iterations} steps; "
        f"scikit-learn {theirs}, {peer.n_iter_} steps: {theirs.wall / mine.wall:.1f} times as "
        f"fast, log likelihood per row {gap:+.1e}"
    )
    return said, mine.wall


def main() -> None:
    with threadpool_limits(1):
        for rows, components in CASES:
            said, seconds = compare(rows, components)
            print(said)
            if (rows, components) == DEAREST:
                print(verdict("one start with 730 components", seconds, LIMIT, " s"))


if __name__ == "__main__":
    main()
