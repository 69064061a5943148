"""Settings from a plan: the key that is wrong is named, lists are frozen."""

from dataclasses import dataclass, field

import pytest

from understudy.errors import PlanError
from understudy.settings import Settings


@dataclass(frozen=True)
class Ball(Settings):
    radius: float = 1.0
    open: bool = False
    colours: tuple = ()
    prior: dict = field(default_factory=dict)

    def check(self, where):
        if self.radius < 0:
            raise PlanError(f"{where}.radius", self.radius, "a number from 0")


def test_lists_become_tuples_all_the_way_down():
    ball = Ball.from_settings("b", {"colours": [["red"], "blue"], "prior": {"x": [1, 2]}})
    assert ball.colours == (("red",), "blue") and ball.prior == {"x": (1, 2)}


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"radus": 1}, ("b.radus", "radius")),
        ({"open": 1}, ("b.open", "true or false")),
        ({"radius": -1}, ("b.radius", "from 0")),
    ],
)
def test_what_is_wrong_is_named(settings, words):
    with pytest.raises(PlanError) as found:
        Ball.from_settings("b", settings)
    assert all(word in str(found.value) for word in words)
