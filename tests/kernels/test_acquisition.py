"""Expected improvement: its closed forms against integrals, its search against random search."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from understudy.kernels.acquisition import expected_improvement, loss, propose


@pytest.mark.parametrize("goal", ["minimise", "maximise", "nearest"])
@pytest.mark.parametrize("mean, sd, best", [(0.7, 0.4, 0.3), (-1.0, 0.1, 0.2), (0.5, 2.0, 0.01)])
def test_the_closed_form_is_the_integral(goal, mean, sd, best):
    def gain(m):
        return max(best - float(loss(np.array(m), goal, 0.5)), 0.0) * norm.pdf(m, mean, sd)

    reach = np.sqrt(best)
    ends = {"minimise": best, "maximise": -best}.get(goal)
    bends = [0.5 - reach, 0.5 + reach] if ends is None else [ends]
    bends = [x for x in bends if mean - 9 * sd < x < mean + 9 * sd]
    wanted, _ = quad(gain, mean - 9 * sd, mean + 9 * sd, points=bends or None, limit=200)
    found = expected_improvement(np.array([mean]), np.array([sd]), best, goal, 0.5)
    assert found[0] == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_nothing_improves_on_a_perfect_hit():
    flat = expected_improvement(np.zeros(2), np.ones(2), 0.0, "nearest")
    assert flat.tolist() == [0.0, 0.0]


def search(function, budget, seed, **settings):
    """Points and numbers of a search: five random points, then proposals one by one."""
    rng = np.random.default_rng(seed)
    points = rng.random((5, 2))
    numbers = function(points)
    while len(points) < budget:
        more = propose(points, numbers, 1, rng=rng, **settings)
        points, numbers = np.vstack([points, more]), np.append(numbers, function(more))
    return points, numbers


@pytest.mark.parametrize("goal", ["minimise", "nearest"])
def test_it_finds_a_minimum_better_than_random_search(goal):
    """The best of 16 random points is within r of the minimum with probability 1 − (1 − πr²)^16.

    A search that were no better than random would come so near in all three runs, each below 5%,
    with probability 0.05³ = 0.0001.
    """
    aim = np.array([0.3, 0.65])

    def function(points):
        far = np.linalg.norm(points - aim, axis=1)
        # The signed number crosses 1 on a line through the aim; the bowl is smallest there.
        return 2 * far if goal == "minimise" else 1 + 3 * (points[:, 0] - aim[0]) + far

    for seed in range(3):
        points, numbers = search(function, 16, seed, goal=goal, centre=1.0)
        best = np.argmin(loss(numbers, goal, 1.0))
        if goal == "minimise":
            r = np.linalg.norm(points[best] - aim)
            chance = 1 - (1 - np.pi * r**2) ** 16
        else:  # share of random points that hit 1 as well, by a large sample
            sample = function(np.random.default_rng(9).random((200_000, 2)))
            chance = 1 - (1 - np.mean(np.abs(sample - 1) <= abs(numbers[best] - 1))) ** 16
        assert chance < 0.05, (seed, chance)


def test_a_batch_goes_to_different_places():
    rng = np.random.default_rng(3)
    points = rng.random((8, 2))
    found = propose(points, points.sum(axis=1), 3, goal="minimise", rng=rng)
    apart = np.linalg.norm(found[:, None] - found[None], axis=2)[np.triu_indices(3, 1)]
    assert found.shape == (3, 2) and apart.min() > 1e-3
    assert ((found >= 0) & (found <= 1)).all()


def test_the_same_stream_gives_the_same_proposal():
    points = np.random.default_rng(4).random((7, 2))
    one, two = (
        propose(points, points[:, 0], 2, goal="maximise", rng=np.random.default_rng(5))
        for _ in range(2)
    )
    assert one.tobytes() == two.tobytes()


def test_a_ceiling_is_kept_away_from():
    """The number falls to the right; what has the ceiling rises: 0.4 is as far as one may go."""
    rng = np.random.default_rng(6)
    points = np.vstack([rng.random((9, 2)), [[0.1, 0.5], [0.9, 0.5]]])
    free = propose(points, -points[:, 0], 1, goal="minimise", rng=rng)
    kept = propose(
        points, -points[:, 0], 1, goal="minimise", limited=points[:, 0], most=0.4, rng=rng
    )
    assert free[0, 0] > 0.9 and kept[0, 0] < 0.5


def test_no_warning_escapes_and_nothing_is_printed(capsys):
    points = np.random.default_rng(7).integers(0, 3, (6, 1)) / 2  # some are tried again
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        propose(points, np.ones(6), 2, goal="minimise", rng=np.random.default_rng(8))
    assert capsys.readouterr() == ("", "")


def test_a_point_tried_twice_counts_once_with_its_mean():
    twice = np.array([[0.2, 0.5], [0.2, 0.5], [0.8, 0.1], [0.5, 0.9]])
    settings = {"goal": "minimise", "most": 4.0}
    rng = np.random.default_rng
    one = propose(twice, np.array([1.0, 3.0, 5.0, 4.0]), 1, limited=np.array([1.0, 9, 2, 3]),
                  rng=rng(8), **settings)  # fmt: skip
    other = propose(twice[1:], np.array([2.0, 5.0, 4.0]), 1, limited=np.array([5.0, 2, 3]),
                    rng=rng(8), **settings)  # fmt: skip
    assert one.tobytes() == other.tobytes()
