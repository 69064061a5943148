"""The least noise, the curve and its elbow, and how far out tails may go."""

import numpy as np
import pytest

from understudy.kernels.ecap import ecap
from understudy.kernels.ecap_sigma import Scene, between, curve, elbow, least_noise, reach
from understudy.kernels.laws import LogNormal, Normal, Sampled, Uniform
from understudy.kernels.population import Population, cut, negative_binomial, poisson

PEOPLE = {
    "normal": Population(60_000, Normal(34.0, 8.0)),
    "small": Population(2500, Normal(34.0, 8.0)),
    "skewed": Population(60_000, LogNormal(10.0, 8.0)),
    "ends": Population(60_000, Uniform(0.0, 10.0)),
    "sample": Population(20_000, Sampled.of(np.random.default_rng(1).gamma(3.0, 2.0, 400))),
    "whole numbers": cut(Population(60_000, Normal(34.0, 8.0)), 0.0, 1.0),
    "children": negative_binomial(60_000, 2.0, 2.5),
}


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("name", PEOPLE)
def test_between_the_thresholds_nobody_is_above_the_bound_and_beyond_somebody_is(name, share):
    people = PEOPLE[name]
    scene = Scene(people, 30, discrete=not isinstance(people, Population))
    sigma, bound = share * people.sd, 0.25
    low, high = reach(scene, sigma, bound)
    coded = scene.coded(low, high)
    law = people.ends if not isinstance(people, Population) else people.law.ends
    ends = [max(low, law[0]), min(high, law[1])]
    mean = getattr(people, "law", people).mean
    wide = [end if np.isfinite(end) else mean + 12 * people.sd for end in ends]
    values = np.linspace(*wide, 1501)
    if not isinstance(people, Population):
        values = np.unique(np.rint(values))
    # Between the points that are looked at a rough law may be a little worse.
    slack = 1.3 if name == "sample" else 1.01
    assert coded.risk(values, sigma).max() <= slack * bound
    step = getattr(people, "step", 0.02 * people.sd)
    for end, side in ((low, -1), (high, 1)):
        if np.isfinite(end) and law[0] < end < law[1]:
            further = end + side * step
            loose = scene.coded(further if side < 0 else -np.inf, further if side > 0 else np.inf)
            values = further - side * (
                np.arange(9) if step == 1 else np.linspace(0, 9, 400) * sigma
            )
            assert loose.risk(values, sigma).max() > 0.99 * bound, side


def test_where_more_than_a_tenth_would_be_coded():
    with pytest.raises(ValueError, match="more than 10%"):
        reach(Scene(PEOPLE["small"], 30), 0.001, 0.2)


@pytest.mark.parametrize("name", PEOPLE)
def test_the_least_noise_against_a_fine_grid(name):
    people = PEOPLE[name]
    mean = getattr(people, "law", people).mean
    scene = Scene(people, 30, discrete=not isinstance(people, Population)).coded(
        mean - people.sd, mean + 2 * people.sd
    )
    values = np.random.default_rng(2).normal(mean, people.sd, 300)
    if not isinstance(people, Population):
        values = np.rint(values)
    bound = max(0.15, 1.5 * scene.limit)
    found = least_noise(scene, values, bound)
    grid = np.geomspace(1e-4, 4, 400) * people.sd
    worst = np.array([scene.risk(values, sigma).max() for sigma in grid])
    fine = grid[np.flatnonzero(worst > bound)[-1] + 1] if (worst > bound).any() else 0.0
    assert found.sigma <= fine * 1.001 and found.sigma >= fine / 1.03
    assert found.worst <= bound * 1.001


def test_no_noise_is_sought_for_nobody_nor_where_none_will_do():
    scene = Scene(PEOPLE["normal"], 600)
    assert least_noise(scene, np.zeros(0), 0.2).sigma == 0
    # 1% are in the sample: that much is known beforehand, whatever the noise.
    assert least_noise(scene, np.array([34.0]), 0.005).sigma == np.inf
    children = Scene(poisson(60_000, 2.0), 600, discrete=True)
    assert least_noise(children, np.array([0.0, 1.0, 2.0]), 0.2).sigma == 0


def test_the_curve_is_the_ecap():
    scene = Scene(Population(1500, Normal(170.0, 12.0)), 25, replacement=True)
    sigmas = np.linspace(0.0, 0.4, 9)
    values = np.array([160.0, 171.0, 178.0])
    found = curve(scene, values, sigmas)
    slow = np.array([ecap(scene.people, values, s, 25) for s in sigmas])
    assert found.worst == pytest.approx(slow.max(axis=1))
    assert found.median == pytest.approx(np.median(slow, axis=1))
    assert (np.diff(found.worst) <= 1e-12).all()


def test_figures_6_and_7_large_populations_and_their_spread_change_little():
    """At the same noise: ten times as many people lower the curve; the spread hardly moves it."""

    def at(size, sd, sigma=0.3):
        return float(ecap(Population(size, Normal(170.0, sd)), np.array([178.0]), sigma, 25)[0])

    assert at(150, 12) > 3 * at(1500, 12) > at(15_000, 12)
    assert at(15_000, 12) - at(150_000, 12) < 0.005
    assert abs(at(1500, 12) - at(1500, 16)) < 0.02


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_elbow_of_a_hyperbola_is_its_vertex(scale):
    """Between a and b, 1/x is furthest below its chord at √(ab)."""
    x = np.linspace(1.0, 9.0, 8001)
    assert elbow(x * scale, 5 / x) == pytest.approx(3.0 * scale, rel=1e-3)


def test_a_flat_curve_has_no_elbow():
    assert elbow(np.array([0.0, 1.0, 2.0]), np.full(3, 0.5)) == 0.0


def test_values_between_thresholds_lie_between():
    for people in (PEOPLE["normal"], PEOPLE["whole numbers"]):
        values = between(people, 20.0, 60.0, 0.5)
        assert values.min() == 20 and values.max() == 60
