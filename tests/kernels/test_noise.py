"""Noise by value: its laws, that equal values share it, and that one tells nothing of another."""

import numpy as np
import pytest
from scipy import stats

from understudy.kernels.ecap import chances, ecap
from understudy.kernels.laws import Normal
from understudy.kernels.membership import claimed, counted_claims, expected_claims
from understudy.kernels.noise import cell_masses, discrete_gaussian, mirrored, normal, uniforms
from understudy.kernels.population import Population


@pytest.mark.parametrize("sigma", [0.2, 1.0, 6.5])
def test_masses_of_cells(sigma):
    found = cell_masses(sigma, discrete=False)
    steps = np.arange(len(found)) - len(found) // 2
    plain = stats.norm.cdf((steps + 0.5) / sigma) - stats.norm.cdf((steps - 0.5) / sigma)
    assert found == pytest.approx(plain, abs=1e-15)
    weight = np.array([np.exp(-(k**2) / (2 * sigma**2)) for k in range(-200, 201)])
    far = 200 - len(cell_masses(sigma, discrete=True)) // 2
    expected = (weight / weight.sum())[far : 401 - far]
    assert cell_masses(sigma, discrete=True) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("draw", ["normal", "discrete"])
def test_draws_follow_their_law(draw):
    """Tests at 1e-4, with a fixed key."""
    shares = uniforms(np.arange(20_000.0), b"a key of the tests", "age")
    if draw == "normal":
        assert stats.kstest(normal(shares, 3.0), stats.norm(0, 3).cdf).pvalue > 1e-4
        return
    steps = discrete_gaussian(shares, 1.5)
    masses = cell_masses(1.5, discrete=True)
    counts = np.bincount((steps + len(masses) // 2).astype(int), minlength=len(masses))
    common = masses * len(shares) > 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(masses[common], masses[~common].sum()) * len(shares)
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_one_draw_for_each_value():
    values = np.array([34.0, 35.0, 34.0, -0.0, 0.0])
    found = uniforms(values, b"key", "age")
    assert found[0] == found[2] != found[1] and found[3] == found[4]
    # Which other values there are, and in which order, changes nothing.
    assert uniforms(np.array([9.0, 35.0]), b"key", "age")[1] == found[1]
    assert uniforms(values, b"yek", "age")[0] != found[0]
    assert uniforms(values, b"key", "pay")[0] != found[0]


def test_noise_of_neighbours_is_unrelated():
    """Correlation of 50,000 successive values: 4 errors of 1/√50,000, 6e-5."""
    shares = uniforms(np.arange(50_000.0), b"key", "x")
    assert abs(np.corrcoef(shares[:-1], shares[1:])[0, 1]) < 4 / np.sqrt(50_000)


def test_mirrors():
    ends = mirrored(np.array([-1.0, 0.0, 3.0, 11.0, 40.0]), 0.0, 10.0)
    assert ends.tolist() == [1.0, 0.0, 3.0, 9.0, 0.0]
    open_ = np.array([-5.0, 5.0])
    assert mirrored(open_, -np.inf, np.inf).tolist() == open_.tolist()


def test_claims_are_those_of_a_simulated_attacker():
    """Members and others asked about in equal numbers. 4 errors on 2 shares: 1.3e-4."""
    people, sample, sigma = Population(2000, Normal(170.0, 12.0)), 200, 0.5
    values = np.array([150.0, 165.0, 172.0, 190.0])
    found = chances(people, values, sigma)
    expected = expected_claims(found, sample, 0.5)
    rng, worlds = np.random.default_rng(3), 4000
    members, others = [], []
    for p, own in zip(found.others, found.own, strict=True):
        hits = rng.binomial(sample - 1, p, worlds) + (rng.random(worlds) < own)
        members.append(hits > 0)
        others.append(rng.binomial(sample, p, worlds) > 0)
    got = counted_claims(np.concatenate(members), np.concatenate(others))
    asked = len(values) * worlds
    assert abs(got.recall - expected.recall) < 4 * 0.5 / np.sqrt(asked)
    assert abs(got.precision - expected.precision) < 4 * 0.5 / np.sqrt(asked * expected.recall)
    assert got.f1 == pytest.approx(
        2 * got.precision * got.recall / (got.precision + got.recall), rel=1e-12
    )
    assert expected.naive == pytest.approx(2 / 3)


def test_ecap_is_the_precision_where_members_are_as_rare_as_they_are():
    """F1 on halves says little of it: the same attacker, far more often right."""
    people, sample = Population(60_000, Normal(34.0, 8.0)), 600
    for sigma in (0.01, 0.1, 1.0):
        found = chances(people, np.array([50.0]), sigma)
        risk = ecap(people, np.array([50.0]), sigma, sample, replacement=False)[0]
        here = expected_claims(found, sample, sample / people.size)
        assert here.precision == pytest.approx(risk)
        assert here.f1 <= 2 * risk / (1 + risk) + 1e-12
        assert expected_claims(found, sample, 0.5).precision > here.precision


def test_who_is_claimed():
    values, half = np.array([1.0, 2.0, 5.0]), np.full(3, 0.5)
    assert claimed(values, half, half, np.array([5.5, 1.6])).tolist() == [False, True, True]
    assert not claimed(values, half, half, np.zeros(0)).any()
    assert counted_claims(np.zeros(0, bool), np.zeros(0, bool)).f1 == 0
