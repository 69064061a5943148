"""Kilometres on a flat map against great circles."""

import numpy as np
import pytest

from understudy.kernels.plane import RADIUS, Equirectangular


def great_circle(one, other):
    """Haversine distance in km."""
    (a, b), (c, d) = np.radians(one), np.radians(other)
    inner = np.sin((d - b) / 2) ** 2 + np.cos(b) * np.cos(d) * np.sin((c - a) / 2) ** 2
    return 2 * RADIUS * np.arcsin(np.sqrt(inner))


@pytest.mark.parametrize("centre", [(10.0, 0.0), (-33.4, 45.4), (25.0, 68.0), (179.9, -17.8)])
def test_distances_within_a_region(centre):
    """Within ±1 degree no distance is off by more than the stretch that is told."""
    rng = np.random.default_rng(1)
    degrees = np.array(centre) + rng.uniform(-1, 1, (200, 2))
    degrees[:, 0] = (degrees[:, 0] + 180) % 360 - 180  # across the date line for the last
    flat = Equirectangular.around(degrees)
    km = flat.km(degrees)
    told = flat.stretch(degrees)
    assert told < 0.06
    for i in range(0, 200, 2):
        true = great_circle(degrees[i], degrees[i + 1])
        assert np.hypot(*(km[i] - km[i + 1])) == pytest.approx(true, rel=told + 1e-3)


def test_longitudes_up_to_360_are_the_same_places():
    flat = Equirectangular(-170.0, 10.0)
    assert flat.km(np.array([[190.0, 10.0]]))[0] == pytest.approx([0.0, 0.0])


def test_a_degree_of_latitude():
    flat = Equirectangular(0.0, 30.0)
    assert np.diff(flat.km(np.array([[0.0, 30.0], [0.0, 31.0]]))[:, 1])[0] == pytest.approx(111.195)


def test_the_centre_is_among_points_on_both_sides_of_the_date_line():
    degrees = np.array([[179.0, 10.0], [179.5, 10.0], [-179.5, 10.0], [-179.0, 10.0]])
    flat = Equirectangular.around(degrees)
    assert abs(flat.longitude) == pytest.approx(180.0)
    assert np.ptp(flat.km(degrees)[:, 0]) == pytest.approx(2 * 111.195 * np.cos(np.radians(10)))
