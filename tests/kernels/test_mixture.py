"""EM against scikit-learn, closed forms and its own monotony."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer

from understudy.kernels import mixture

FLOOR = 1e-6


def clusters(rows=600, size=2, seed=3):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 2, (5, size))
    points = centres[rng.integers(5, size=rows)] + rng.normal(0, 0.4, (rows, size))
    return (points - points.mean(axis=0)) / points.std(axis=0)


def slow_log_density(fitted, points):
    parts = [
        np.log(w) + multivariate_normal(m, c, allow_singular=True).logpdf(points)
        for w, m, c in zip(fitted.weights, fitted.means, fitted.covariances, strict=True)
    ]
    return logsumexp(np.array(parts).reshape(len(parts), -1), axis=0)


@pytest.mark.parametrize(("size", "components"), [(1, 3), (2, 5), (2, 40), (4, 6)])
def test_same_start_same_fit_as_scikit_learn(size, components):
    points = clusters(size=size)
    begin = mixture.start(points, components, floor=FLOOR, rng=np.random.default_rng(0))
    ours = mixture.climb(points, begin, floor=FLOOR)
    peer = Peer(
        components,
        weights_init=begin.weights,
        means_init=begin.means,
        precisions_init=np.linalg.inv(begin.covariances),
        max_iter=200,
        reg_covar=FLOOR,
    ).fit(points)
    assert ours.log_likelihood / len(points) == pytest.approx(peer.score(points), abs=1e-6)
    assert ours.iterations == peer.n_iter_
    assert np.allclose(ours.means, peer.means_, atol=1e-5)
    assert np.allclose(ours.covariances, peer.covariances_, atol=1e-5)
    assert ours.bic(len(points)) == pytest.approx(peer.bic(points), rel=1e-6)


def test_likelihood_never_falls():
    points = clusters()
    current = mixture.start(points, 8, floor=1e-10, rng=np.random.default_rng(1))
    seen = []
    for _ in range(40):
        current = mixture.climb(points, current, max_iter=1, tolerance=0.0, floor=1e-10)
        seen.append(current.log_likelihood)
    assert (np.diff(seen) > -1e-6).all()
    assert seen[-1] > seen[0]


def test_one_component_is_the_sample_mean_and_covariance():
    points = clusters(size=3)
    fitted = mixture.fit(points, 1, floor=FLOOR, rng=np.random.default_rng(0))
    assert np.allclose(fitted.means[0], points.mean(axis=0))
    assert np.allclose(
        fitted.covariances[0], np.cov(points.T, ddof=0) + FLOOR * np.eye(3), atol=1e-12
    )
    assert fitted.converged
    assert fitted.parameters == 9


def test_density_is_scipys():
    points = clusters()
    fitted = mixture.fit(points, 4, rng=np.random.default_rng(0))
    elsewhere = np.random.default_rng(1).normal(0, 5, (200, 2))
    assert np.allclose(mixture.log_density(fitted, elsewhere), slow_log_density(fitted, elsewhere))
    inner = mixture.marginal(fitted, np.array([1]))
    direct = slow_log_density(inner, elsewhere[:, [1]])
    assert np.allclose(mixture.log_density(inner, elsewhere[:, [1]]), direct)


def test_a_point_far_from_all_components_has_a_finite_density():
    fitted = mixture.fit(clusters(), 20, rng=np.random.default_rng(0))
    far = np.array([[60.0, -80.0]])
    assert np.allclose(mixture.log_density(fitted, far), slow_log_density(fitted, far), rtol=1e-6)


def test_component_on_one_point_has_the_published_log_determinant():
    # −2 ln 1e-10 = 46.0517: the maximum printed by Bale & Quick is their floor.
    points = np.concatenate([clusters(), [[9.0, 9.0]]])
    fitted = mixture.fit(points, 6, floor=1e-10, rng=np.random.default_rng(0))
    assert fitted.negative_log_determinants().max() == pytest.approx(46.0517, abs=1e-4)
    assert (np.bincount(mixture.owners(fitted, points), minlength=6) == 1).any()


def test_draws_have_the_moments_of_the_mixture():
    fitted = mixture.fit(clusters(), 5, rng=np.random.default_rng(0))
    drawn = mixture.draw(fitted, 200_000, np.random.default_rng(1))
    mean = fitted.weights @ fitted.means
    centred = fitted.means - mean
    spread = (
        np.einsum("k,kij->ij", fitted.weights, fitted.covariances)
        + (fitted.weights[:, None] * centred).T @ centred
    )
    # Standard errors are about 0.0022 and 0.003: five of them, false alarms below 1e-5.
    assert np.allclose(drawn.mean(axis=0), mean, atol=0.011)
    assert np.allclose(np.cov(drawn.T), spread, atol=0.016)


def test_owner_is_the_most_responsible_component():
    points = clusters(rows=100)
    fitted = mixture.fit(points, 4, rng=np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = Peer(4, max_iter=1).fit(points)
    peer.weights_, peer.means_ = fitted.weights, fitted.means
    peer.precisions_cholesky_ = np.linalg.cholesky(np.linalg.inv(fitted.covariances))
    assert np.array_equal(mixture.owners(fitted, points), peer.predict(points))


def test_starts_spread_over_separate_clusters():
    # Ten tight clusters far apart: k-means++ lands in a taken one with probability below 1e-6.
    rng = np.random.default_rng(0)
    centres = np.arange(10.0)[:, None] * 1000
    points = np.repeat(centres, 20, axis=0) + rng.normal(0, 0.01, (200, 1))
    begin = mixture.start(points, 10, floor=FLOOR, rng=rng)
    assert np.allclose(np.sort(begin.means[:, 0]), centres[:, 0], atol=0.05)
    assert np.allclose(begin.weights, 0.1)


def test_more_components_than_distinct_points_stays_finite():
    points = np.repeat([[0.0, 0.0], [1.0, 2.0]], 5, axis=0)
    fitted = mixture.fit(points, 4, rng=np.random.default_rng(0))
    assert np.isfinite(fitted.log_likelihood)
    assert np.isfinite(mixture.draw(fitted, 10, np.random.default_rng(1))).all()


def test_same_stream_same_fit_and_input_untouched():
    points = clusters()
    before = points.copy()
    first, second = (mixture.fit(points, 7, rng=np.random.default_rng(5)) for _ in range(2))
    assert first.means.tobytes() == second.means.tobytes()
    assert np.array_equal(points, before)


def test_best_start_is_kept():
    points = clusters()
    one = mixture.fit(points, 12, starts=1, rng=np.random.default_rng(2))
    five = mixture.fit(points, 12, starts=5, rng=np.random.default_rng(2))
    assert five.log_likelihood >= one.log_likelihood
