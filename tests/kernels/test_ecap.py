"""ECAP: Equation 1 against published numbers, quadrature, plain sums and simulation."""

import numpy as np
import pytest
from scipy import integrate, stats

from understudy.kernels.ecap import Chances, chances, ecap, equation, neighbours
from understudy.kernels.laws import LogNormal, Normal, Sampled, Uniform
from understudy.kernels.noise import cell_masses
from understudy.kernels.population import (
    Population,
    counted,
    cut,
    negative_binomial,
    poisson,
)

FARMERS = Population(1500, Normal(170.0, 12.0))


def one(people, value, sigma, sample, **settings):
    return float(ecap(people, np.array([float(value)]), sigma, sample, **settings)[0])


@pytest.mark.parametrize(
    ("sigma", "expected"),
    [(0.01, 0.952), (0.05, 0.2525), (0.075, 0.1645), (0.1, 0.124), (0.2, 0.067)],
)
def test_figure_5(sigma, expected):
    assert one(FARMERS, 178, sigma, 25) == pytest.approx(expected, abs=0.005)
    low, high = neighbours(FARMERS, np.array([178.0]))
    assert 178 - low[0] == pytest.approx(0.025, abs=0.0005)
    assert high[0] - 178 == pytest.approx(0.025, abs=0.0005)


def test_without_noise_he_is_sure_and_with_endless_noise_he_knows_nothing():
    values = np.array([130.0, 178.0, 215.0])
    assert ecap(FARMERS, values, 0.0, 25).tolist() == [1, 1, 1]
    limit = 1 - (1499 / 1500) ** 25
    assert limit == pytest.approx(0.01653, abs=1e-5)
    assert ecap(FARMERS, values, 1e6, 25) == pytest.approx(limit, rel=1e-4)
    assert ecap(FARMERS, values, 1e6, 25, replacement=False) == pytest.approx(25 / 1500, rel=1e-4)
    ends = Population(1000, Uniform(0.0, 1.0))
    assert ecap(ends, np.array([0.0, 1.0]), 1e5, 100) == pytest.approx(1 - 0.999**100, rel=1e-4)


@pytest.mark.parametrize(
    ("value", "mean", "sd", "first", "at_published", "published"),
    [
        (64, 34, 8, 1, 0.99, 0.1),
        (83, 34, 8, 10, 1.0, 0.1),
        (13, 2, 2.5, 1, 1.0, 0.1),
        (21, 4, 2.5, 5, 1.0, 0.2),
    ],
)
def test_in_the_far_tail_no_small_noise_helps(value, mean, sd, first, at_published, published):
    """Prisoners: where a bound of 0.2 first holds, of the deviations tried."""
    people = Population(60_000, Normal(mean, sd))
    assert one(people, value, published, 600) == pytest.approx(at_published, abs=0.005)
    holds = [s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10) if one(people, value, s, 600) <= 0.2]
    assert holds[0] == first


def test_heights_near_the_mean_are_below_a_tenth():
    """15 farmers, noise of variance 0.09: below 0.1 within 17 cm of the mean, not beyond."""
    near = ecap(FARMERS, np.linspace(153, 187, 35), 0.3, 15)
    assert near.max() < 0.1
    assert ecap(FARMERS, np.array([150.0, 190.0]), 0.3, 15).min() > 0.1


LAWS = {
    "normal": (stats.norm(170, 12), Normal(170, 12), 1500, 25, (150, 178, 205)),
    "lognormal": (None, LogNormal(10.0, 5.0), 2000, 100, (3, 9, 30)),
    "uniform": (stats.uniform(0, 10), Uniform(0, 10), 500, 60, (0.5, 5, 9.9)),
}


def quadrature(dist, size, sample, x, sigma):
    """Equation 1 with every integral by scipy's adaptive quadrature, as the paper writes it."""
    below, above, others = dist.cdf(x), dist.sf(x), size - 1
    first, last = dist.ppf(1e-14), dist.isf(1e-14)
    scale = 1 / (others * dist.pdf(x))

    def gap(passed, most, tail):
        def rest(d):
            return (1 - passed(d)) ** others - (1 - tail) ** others

        kinks = [k * scale for k in (0.5, 1, 3, 10) if k * scale < most]
        found = integrate.quad(rest, 0, most, limit=500, points=kinks)[0]
        return found / (1 - (1 - tail) ** others)

    low = x - gap(lambda d: below - dist.cdf(x - d), x - first, below)
    high = x + gap(lambda d: dist.cdf(x + d) - below, last - x, above)
    ends = np.array([(low + x) / 2, (x + high) / 2])

    def lands(y):
        return dist.pdf(y) * np.diff(stats.norm.cdf((ends - y) / sigma))[0]

    p = integrate.quad(lands, high, min(last, high + 12 * sigma), limit=500)[0]
    p += integrate.quad(lands, max(first, low - 12 * sigma), low, limit=500)[0]
    p /= 1 - (dist.cdf(high) - dist.cdf(low))
    own = np.diff(stats.norm.cdf((ends - x) / sigma))[0]
    miss = 1 - p * (size - 1) / size - own / size
    top = ((size - 1) / size) ** sample - (miss - (1 - own) / size) ** sample
    return 1 - top / (1 - miss**sample)


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("name", LAWS)
def test_integrals_are_those_of_an_adaptive_quadrature(name):
    dist, law, size, sample, values = LAWS[name]
    if dist is None:
        spread = np.log1p(0.25)
        dist = stats.lognorm(s=np.sqrt(spread), scale=10 * np.exp(-spread / 2))
    people = Population(size, law)
    for x in values:
        for sigma in (0.05, 0.4, 4.0, 40.0):
            slow = quadrature(dist, size, sample, float(x), sigma)
            assert one(people, x, sigma, sample) == pytest.approx(slow, rel=2e-4), (x, sigma)


def test_neighbours_are_where_simulated_people_are():
    """As the paper finds them: draw the others, again and again. 5 errors, 6 numbers: 4e-6."""
    rng, size = np.random.default_rng(4), 40
    values = np.array([1.0, 9.0, 30.0])
    low, high = neighbours(Population(size, LogNormal(10.0, 5.0)), values)
    spread = np.log1p(0.25)
    drawn = rng.lognormal(np.log(10) - spread / 2, np.sqrt(spread), (20_000, size - 1))
    for value, below, above in zip(values, low, high, strict=True):
        for expected, beyond in (
            (below, np.where(drawn < value, drawn, -np.inf).max(axis=1)),
            (above, np.where(drawn > value, drawn, np.inf).min(axis=1)),
        ):
            there = beyond[np.isfinite(beyond)]
            if len(there) > 100:
                error = there.std() / np.sqrt(len(there))
                assert abs(there.mean() - expected) < 5 * error


def simulated(rng, draws, own, sample, size, replacement):
    """Share of the worlds with a value in I₁ in which the person was sampled, and its error."""
    worlds, hits = 0, 0
    for _ in range(40):
        count = rng.binomial(sample, 1 / size, 5000) if replacement else (
            rng.random(5000) < sample / size
        ).astype(int)  # fmt: skip
        others = rng.random((5000, sample)) < draws
        others &= np.arange(sample) < (sample - count)[:, None]
        mine = rng.random(5000) < 1 - (1 - own) ** count
        seen = others.any(axis=1) | mine
        worlds += seen.sum()
        hits += (seen & (count > 0)).sum()
    share = hits / worlds
    return share, np.sqrt(share * (1 - share) / worlds)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("p", "own", "sample", "size"),
    [(0.02, 0.4, 15, 30), (0.3, 0.9, 8, 12), (1e-3, 0.05, 25, 200)],
)
def test_the_equation_is_the_share_of_simulated_worlds(replacement, p, own, sample, size):
    """Each of 6 cases is off by 4 errors with probability 6e-5."""
    rng = np.random.default_rng([3, sample, replacement])
    share, error = simulated(rng, p, own, sample, size, replacement)
    found = equation(Chances(np.array([p]), np.array([own])), size, sample, replacement=replacement)
    assert abs(found[0] - share) < 4 * error


TABLE = np.array([0.0, 1, 2, 5, 9]), np.array([900.0, 80, 15, 4, 1])
GRIDS = {
    "poisson": poisson(5000, 2.0),
    "negative binomial": negative_binomial(5000, 2.0, 2.5),
    "normal in whole numbers": cut(Population(5000, Normal(34.0, 8.0)), 0.0, 1.0),
    "table": counted(*TABLE),
    "table of a sample": counted(*TABLE, 9000),
}


@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("name", GRIDS)
def test_on_a_grid_sums_are_plain_sums(name, discrete):
    people = GRIDS[name]
    for sigma in (0.0, 0.3, 1.7):
        kernel = cell_masses(sigma, discrete=discrete)
        reach = len(kernel) // 2
        for x in (0, 2, 5, 9):
            p = 0.0
            for y in range(-60, 120):
                mass = float(people.mass(np.array([y - round(people.start)]))[0])
                if abs(x - y) <= reach:
                    p += mass * kernel[x - y + reach]
            own = kernel[reach]
            if people.counted:
                p = (p * people.size - own) / (people.size - 1)
            found = chances(people, np.array([float(x)]), sigma, discrete=discrete)
            assert found.others[0] == pytest.approx(p, abs=1e-12)
            assert found.own[0] == pytest.approx(own)


def test_who_shares_a_value_with_many_needs_no_noise_and_who_has_it_alone_is_found():
    people = GRIDS["table"]
    risk = ecap(people, np.array([0.0, 9.0]), 0.0, 100, replacement=False)
    # Of those with 0, whichever of 900 it is: the sample's share of all people, nearly.
    assert risk[0] == pytest.approx(0.1, abs=0.01) and risk[1] == 1.0


def test_noise_that_is_rounded_away_protects_nobody():
    """σ = 0.1 on whole numbers: every released number is the true one."""
    people = GRIDS["normal in whole numbers"]
    values = np.array([34.0, 64.0])
    bare = ecap(people, values, 0.0, 600)
    assert ecap(people, values, 0.1, 600) == pytest.approx(bare, rel=1e-4)
    assert ecap(people, values, 1.0, 600, discrete=True)[1] < 0.8 * bare[1]


@pytest.mark.parametrize("sigma", [0.0, 0.3, 3.0, 30.0])
def test_coded_tails_are_those_of_simulated_people(sigma):
    """p by drawing the others: 4 errors on 5 values, at 3e-4 for each deviation."""
    people = FARMERS.coded(150.0, 185.0)
    values = np.array([150.0, 151.0, 170.0, 184.0, 185.0])
    found = chances(people, values, sigma)
    rng = np.random.default_rng(5)
    drawn = rng.normal(170, 12, 1_000_000)
    low, high = neighbours(people, values)
    noise = rng.normal(0, 1, len(drawn)) * sigma
    for k, value in enumerate(values):
        left, right = (value - low[k]) / 2, (high[k] - value) / 2
        left, right = (right, right) if value == 150 else (left, left if value == 185 else right)
        edge = np.where(value == 150, -np.inf, low[k]), np.where(value == 185, np.inf, high[k])
        kept = np.clip(drawn, 150, 185)
        tied = (kept == value) & (value in (150, 185))
        apart = (kept <= edge[0]) | (kept >= edge[1]) | tied
        apart |= (value == 150) & (kept >= high[k])
        apart |= (value == 185) & (kept <= low[k])
        lands = np.abs(kept + noise - value - (right - left) / 2) <= (right + left) / 2
        share = (lands & apart).sum() / apart.sum()
        error = np.sqrt(max(share, 1e-6) / apart.sum())
        assert abs(found.others[k] - share) < 4 * error, (value, sigma)


def test_a_sample_of_the_population_stands_for_its_law():
    drawn = Normal(170.0, 12.0).from_below((np.arange(4000) + 0.5) / 4000)
    sampled = Population(1500, Sampled.of(drawn))
    values = np.array([150.0, 170.0, 190.0])
    expected = ecap(FARMERS, values, 0.3, 25)
    assert ecap(sampled, values, 0.3, 25) == pytest.approx(expected, rel=0.02)


def test_many_values_are_looked_at_in_parts():
    values = np.random.default_rng(1).normal(170, 12, 9000)
    whole = ecap(FARMERS, values, 0.2, 25)
    assert np.array_equal(whole[5000:5010], ecap(FARMERS, values[5000:5010], 0.2, 25))
    assert ecap(FARMERS, values[:0], 0.2, 25).size == 0


def test_populations_that_cannot_be():
    with pytest.raises(ValueError, match="two different values"):
        Sampled.of(np.array([3.0, 3.0]))
    with pytest.raises(ValueError, match="sd² > mean"):
        negative_binomial(100, 2.0, 1.0)
    with pytest.raises(ValueError, match="counts from 0"):
        counted(np.array([1.0]), np.array([0.0]))
    with pytest.raises(ValueError, match="no grid"):
        counted(np.array([0.0, np.pi / 1e5]), np.array([1.0, 1.0]))
