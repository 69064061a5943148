"""Ripley's K and L against spatstat, a double loop, closed forms and simulation."""

import csv
import shutil
import subprocess
import tracemalloc

import numpy as np
import pytest

from understudy.kernels import pairs
from understudy.kernels.pairs import CORRECTIONS, ripley, ripley_cross
from understudy.kernels.windows import Window

UNIT = Window.box([0.0, 0.0], [1.0, 1.0])
WIDE = Window.box([0.0, 0.0], [2.0, 1.0])
QUAD = Window(np.array([[-0.1, -0.1], [2.1, -0.1], [2.2, 1.2], [0.7, 1.1]]))


def sixty():
    """Sixty points of an additive sequence, denser to the left, and which of them are marked."""
    i = np.arange(1, 61)
    x, y = np.modf(i * 0.7548776662)[0], np.modf(i * 0.5698402910)[0]
    return np.stack([2 * x**2, y], axis=1), i % 3 == 0


def k_at(points, h, window, **settings):
    """K at one distance, which is the last of two."""
    return ripley(points, np.array([h / 3, h]), window, **settings).k[1]


# spatstat.explore 3.0-6: Kest(ppp(x, y, c(0, 2), c(0, 1)), r = seq(0, 0.5, length = 513)).
@pytest.mark.parametrize(
    "correction, near, far",
    [
        ("none", 0.0372881355932, 0.590960451977),
        ("border", 0.0222222222222, np.nan),
        ("isotropic", 0.0545327223864, 0.987938783961),
        ("translate", 0.0412826501828, 0.849134986175),
    ],
)
def test_k_in_a_rectangle_is_spatstats(correction, near, far):
    points, _ = sixty()
    found = ripley(points, np.array([0.125, 0.5]), WIDE, correction=correction)
    assert found.k == pytest.approx([near, far], rel=1e-10, nan_ok=True)


# The same, Kcross(X, "a", "b") at r = 0.25.
@pytest.mark.parametrize(
    "correction, k",
    [
        ("none", 0.1625),
        ("border", 0.107692307692),
        ("isotropic", 0.237047840186),
        ("translate", 0.192365361984),
    ],
)
def test_cross_k_is_spatstats(correction, k):
    points, marked = sixty()
    radii = np.array([0.1, 0.25])
    found = ripley_cross(points[~marked], points[marked], radii, WIDE, correction=correction)
    assert found[1] == pytest.approx(k, rel=1e-10)


# The same in a polygon; the set covariance of translate is read off a raster.
@pytest.mark.parametrize(
    "correction, k, precision",
    [
        ("none", 0.185675675676, 1e-10),
        ("border", 0.174093567251, 1e-10),
        ("isotropic", 0.218034502999, 1e-10),
        ("translate", 0.224949422542, 1e-3),
    ],
)
def test_k_in_a_polygon_is_spatstats(correction, k, precision):
    points, _ = sixty()
    inside = points[QUAD.holds(points)]
    assert len(inside) == 38
    assert k_at(inside, 0.25, QUAD, correction=correction) == pytest.approx(k, rel=precision)


@pytest.fixture(scope="module")
def redwood():
    """62 seedlings (Strauss 1975), from R, since spatstat's licence is not this package's."""
    rscript = shutil.which("Rscript")
    ask = "library(spatstat.data); cat(c(redwood$x, redwood$y))"
    run = [rscript, "-e", ask]
    said = rscript and subprocess.run(run, capture_output=True, text=True, check=False).stdout
    if not said:
        pytest.skip("R with spatstat.data, which has the redwood seedlings, is not here")
    return np.array([float(word) for word in said.split()]).reshape(2, 62).T


# L(0.25), h not subtracted.
@pytest.mark.parametrize(
    "correction, value",
    [
        ("none", 0.24098435),
        ("border", 0.24968340),
        ("isotropic", 0.25610823),
        ("translate", 0.2644190),
    ],
)
def test_redwood(redwood, correction, value):
    window = Window.box([0.0, -1.0], [1.0, 0.0])
    found = ripley(redwood, np.array([0.1, 0.25]), window, correction=correction)
    assert found.l[1] == pytest.approx(value, abs=1e-7)


# spatstat.explore 3.0-6 on spatstat.data's chorley: L(2.0078125) of all 1,036 cases, of the 58 of
# the larynx, and of those of the lung around these.
@pytest.mark.parametrize(
    "correction, every, larynx, cross, precision",
    [
        ("none", 3.301501239, 2.862317651, 3.135185329, 1e-8),
        ("border", 3.444177716, 2.735057306, 3.22982075, 1e-8),
        ("isotropic", 3.366368795, 2.967440261, 3.211885063, 2e-5),
        ("translate", 3.461759018, 3.008911967, 3.288219844, 5e-4),
    ],
)
def test_chorley(data, correction, every, larynx, cross, precision):
    def read(name, *columns):
        with (data / name).open(encoding="utf-8") as file:
            return [[row[column] for column in columns] for row in csv.DictReader(file)]

    window = Window(np.array(read("chorley_window.csv", "x", "y"), dtype=float))
    points = np.array(read("chorley.csv", "x", "y"), dtype=float)
    rare = np.array([mark == "larynx" for (mark,) in read("chorley.csv", "mark")])
    radii = np.array([1.0, 2.0078125])
    found = [
        ripley(points, radii, window, correction=correction).k[1],
        ripley(points[rare], radii, window, correction=correction).k[1],
        ripley_cross(points[rare], points[~rare], radii, window, correction=correction)[1],
    ]
    assert np.sqrt(np.array(found) / np.pi) == pytest.approx([every, larynx, cross], rel=precision)


def slow(points, others, h, window, correction, same):
    """A double loop over all pairs: summed weights, and how many first points count."""
    total, counted = 0.0, 0
    for i, one in enumerate(points):
        if correction == "border" and window.border(one[None])[0] < h:
            continue
        counted += 1
        for j, other in enumerate(others):
            if (same and i == j) or np.hypot(*(one - other)) > h:
                continue
            total += 1.0
    return total, counted


@pytest.mark.parametrize("correction", ["none", "border"])
@pytest.mark.parametrize("block", [(40, 3), (1 << 19, 64)])
def test_a_double_loop_with_people_at_one_place(monkeypatch, correction, block):
    monkeypatch.setattr(pairs, "_BLOCK", block[0])
    monkeypatch.setattr(pairs, "_ROWS", block[1])
    rng = np.random.default_rng(1)
    points = rng.choice(np.round(rng.beta(2, 2, (60, 2)), 1), 90)
    others = np.round(rng.beta(2, 2, (30, 2)), 1)
    radii = np.array([0.0, 0.05, 0.15, 0.33])
    found = ripley(points, radii, UNIT, correction=correction)
    crossed = ripley_cross(points, others, radii, UNIT, correction=correction)
    for place, h in enumerate(radii):
        total, counted = slow(points, points, h, UNIT, correction, same=True)
        size = 90 if correction == "border" else 89
        assert found.k[place] == pytest.approx(total / (counted * size))
        total, counted = slow(points, others, h, UNIT, correction, same=False)
        assert crossed[place] == pytest.approx(total / (counted * 30))


def jackknife(points, radii, correction):
    """Covariance of K over its mean, leaving out one point at a time."""
    whole = ripley(points, radii, UNIT, correction=correction).k
    n = len(points)
    left = [
        ripley(np.delete(points, i, axis=0), radii, UNIT, correction=correction).k / whole
        for i in range(n)
    ]
    return np.cov(np.array(left).T) * (n - 1) ** 2 / n


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_spread_is_the_jackknifes(correction):
    """Both are linear in what a point adds; they differ by terms of order 1/n."""
    rng = np.random.default_rng(2)
    points = rng.beta(2, 3, (120, 2))
    radii = np.array([0.1, 0.2])
    found = ripley(points, radii, UNIT, correction=correction)
    assert found.spread == pytest.approx(jackknife(points, radii, correction), rel=0.06)


def clusters(rng, rows):
    """Points around five places."""
    places = np.array([[0.2, 0.3], [0.7, 0.2], [0.5, 0.5], [0.3, 0.8], [0.8, 0.7]])
    return places[rng.choice(5, rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])] + rng.normal(
        0, 0.06, (rows, 2)
    )


def test_deviations_are_what_other_draws_show():
    """SD of L over 300 draws within 15% of what one draw says (its own error is 4%: 1e-3)."""
    rng = np.random.default_rng(3)
    radii = np.array([0.03, 0.1, 0.25])
    drawn = np.array([ripley(clusters(rng, 300), radii, UNIT).l for _ in range(300)])
    one = ripley(clusters(rng, 600), radii, UNIT)
    said = one.deviations(300, 4000, rng).std(axis=0)
    assert said == pytest.approx(drawn.std(axis=0), rel=0.15)


def test_without_clusters_deviations_are_too_large_by_at_most_the_root_of_two():
    rng = np.random.default_rng(4)
    radii = np.array([0.05, 0.15])
    drawn = np.array([ripley(rng.uniform(size=(200, 2)), radii, UNIT).l for _ in range(300)])
    said = ripley(rng.uniform(size=(200, 2)), radii, UNIT).deviations(200, 4000, rng).std(axis=0)
    assert np.all(said > 0.95 * drawn.std(axis=0)) and np.all(said < 1.6 * drawn.std(axis=0))


@pytest.mark.parametrize("correction", ["border", "translate", "isotropic"])
def test_k_of_points_that_fall_anywhere_alike_is_the_discs(correction):
    """The mean of 150 patterns is within 3.5 standard errors of πh²: 1 in 1,000 by chance."""
    rng = np.random.default_rng(5)
    radii = np.array([0.05, 0.2])
    found = np.array(
        [
            ripley(rng.uniform(size=(80, 2)), radii, UNIT, correction=correction).k
            for _ in range(150)
        ]
    )
    error = found.std(axis=0) / np.sqrt(len(found))
    # The ratio estimator of the border method is biased in the order of 1/n.
    slack = 0.03 if correction == "border" else 0.0
    gap = np.abs(found.mean(axis=0) / (np.pi * radii**2) - 1)
    assert np.all(gap < 3.5 * error / (np.pi * radii**2) + slack)


def test_the_papers_divisor():
    points, _ = sixty()
    ours, papers = (k_at(points, 0.2, WIDE, divisor=divisor) for divisor in ("pairs", "squares"))
    assert papers == pytest.approx(ours * 59 / 60)


def test_two_points():
    points = np.array([[0.5, 0.5], [0.5, 0.6]])
    found = ripley(points, np.array([0.05, 0.1, 0.2]), UNIT)
    assert found.k.tolist() == [0.0, 1.0, 1.0]
    assert np.isfinite(found.deviations(2, 10, np.random.default_rng(1))).all()


def test_no_table_of_all_pairs_is_made():
    points = np.random.default_rng(6).uniform(size=(6000, 2))
    tracemalloc.start()
    ripley(points, np.linspace(0.01, 0.05, 10), UNIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6000**2 / 1.0  # bytes: an eighth of a matrix of distances
