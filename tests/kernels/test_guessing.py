"""Links and guesses, against published numbers and obvious loops."""

import math

import numpy as np
import pytest

from understudy.kernels.guessing import linked, near_enough
from understudy.kernels.neighbours import Points, nearest


def line(values):
    return Points(np.array(values, dtype=np.float64)[:, None], np.zeros((len(values), 0), np.int32))


@pytest.mark.parametrize(("k", "share"), [(1, 0.25), (2, 1.0)])
def test_links_as_published(k, share):
    """Halves (0,0), (0,1), (4,9), (0,4) through (0,0), (1,1), (4,4), (9,9)."""
    bridge = line([0, 1, 4, 9])
    first, second = (nearest(bridge, line(half), k)[1] for half in ([0, 0, 4, 0], [0, 1, 9, 4]))
    assert linked(first, second).mean() == share


def test_no_row_is_no_link():
    none = np.array([[-1, -1]])
    assert not linked(none, none).any()


def right(guess, truth, tolerance, floor):
    """One pair, in words."""
    if math.isnan(truth) or math.isnan(guess):
        return math.isnan(truth) and math.isnan(guess)
    return abs(guess - truth) <= max(tolerance * abs(truth), floor)


def test_numbers_of_any_sign_and_missing_ones():
    rng = np.random.default_rng(1)
    values = [-1000.0, -10.0, -0.5, 0.0, 0.5, 10.0, 1000.0, math.nan, 1e300]
    truth, guess = rng.choice(values, 600), rng.choice(values, 600)
    guess = np.where(rng.random(600) < 0.5, truth * rng.uniform(0.9, 1.1, 600), guess)
    found = near_enough(guess, truth, 0.05, 0.2)
    assert found.tolist() == [right(g, t, 0.05, 0.2) for g, t in zip(guess, truth, strict=True)]


def test_a_negative_guess_is_no_joker():
    """|guess − truth| / guess ≤ tolerance holds for any negative guess; it must not be asked."""
    guess = np.array([-1.0, -1e6, -0.001])
    assert not near_enough(guess, np.array([50.0, 50.0, 50.0]), 0.05, 0.0).any()
