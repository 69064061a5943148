"""Windows against closed forms and dense sampling."""

import numpy as np
import pytest

from understudy.kernels.windows import Window

BOX = Window.box([0.0, -1.0], [2.0, 0.0])
# The same rectangle with a corner that is none: it goes the way of all polygons.
LIKE_BOX = Window(np.array([[0, -1], [2, -1], [2, 0], [1, 0], [0, 0]], dtype=float))
HOOK = Window(np.array([[0, 0], [3, 0], [3, 3], [2, 3], [2, 1], [0, 1]], dtype=float))


def test_area_and_kind():
    assert (BOX.area, BOX.is_box) == (2.0, True)
    assert (LIKE_BOX.area, LIKE_BOX.is_box) == (2.0, False)
    assert (HOOK.area, HOOK.is_box) == (5.0, False)
    turned = Window(HOOK.corners[::-1])
    assert turned.area == 5.0


@pytest.mark.parametrize("window", [BOX, LIKE_BOX])
def test_inside_a_rectangle(window):
    points = np.random.default_rng(1).uniform(-2, 3, (500, 2))
    expected = (points[:, 0] > 0) & (points[:, 0] < 2) & (points[:, 1] > -1) & (points[:, 1] < 0)
    assert np.array_equal(window.holds(points), expected)


@pytest.mark.parametrize("window", [HOOK, Window(HOOK.corners[::-1])])
def test_inside_a_hook(window):
    points = np.random.default_rng(2).uniform(-1, 4, (500, 2))
    x, y = points.T
    expected = (x > 0) & (x < 3) & (y > 0) & (y < 3) & ((y < 1) | (x > 2))
    assert np.array_equal(window.holds(points), expected)


@pytest.mark.parametrize("window", [BOX, HOOK])
def test_distance_to_the_border_by_walking_along_it(window):
    share = np.linspace(0, 1, 4001)[:, None]
    corners = window.corners
    walk = np.concatenate(
        [a + share * (b - a) for a, b in zip(corners, np.roll(corners, -1, 0), strict=True)]
    )
    points = np.random.default_rng(3).uniform(-1, 3, (60, 2))
    slow = np.array([np.hypot(*(walk - point).T).min() for point in points])
    assert window.border(points) == pytest.approx(slow, abs=2e-3)


def test_area_shared_with_the_window_moved():
    shift = np.random.default_rng(4).uniform(-2.2, 2.2, (200, 2))
    exact = np.maximum(2 - np.abs(shift[:, 0]), 0) * np.maximum(1 - np.abs(shift[:, 1]), 0)
    assert BOX.shared(shift) == pytest.approx(exact)
    assert LIKE_BOX.shared(shift) == pytest.approx(exact, abs=0.01)  # the raster's cells
    assert HOOK.shared(np.zeros((1, 2)))[0] == pytest.approx(5.0, abs=0.02)
    # Moved by two to the right, the hook's foot meets its own shaft and nothing else.
    assert HOOK.shared(np.array([[2.0, 0.0]]))[0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("window", [BOX, LIKE_BOX, HOOK, Window(HOOK.corners[::-1])])
def test_share_of_a_circle_inside_by_many_points_of_it(window):
    rng = np.random.default_rng(5)
    points = rng.uniform(window.low, window.high, (80, 2))
    points = points[window.holds(points)]
    radius = rng.uniform(0.05, 2.5, len(points))
    angle = np.linspace(0, 2 * np.pi, 20_001)[:-1]
    slow = [
        window.holds(p + r * np.stack([np.cos(angle), np.sin(angle)], axis=1)).mean()
        for p, r in zip(points, radius, strict=True)
    ]
    assert window.arc(points, radius) == pytest.approx(np.array(slow), abs=5e-4)


def test_a_circle_of_no_radius_lies_inside():
    points = np.array([[1.0, -0.5], [0.0, -0.5]])
    assert BOX.arc(points, np.zeros(2))[0] == pytest.approx(1.0)
