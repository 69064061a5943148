"""Settings as a plan gives them: frozen dataclasses, made from a table of keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from math import inf, isinf
from numbers import Integral, Real
from typing import Any, Self

from understudy.errors import PlanError

LEAST_ROWS = 100  # a measure that looks at fewer rows of a table says nothing about it


class Settings:
    """What models, protections and measures have in common: a plan's table makes one.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Ball(Settings):
        ...     radius: float = 1.0
        >>> Ball.from_settings("measure.ball", {"radius": 2.0})
        Ball(radius=2.0)
    """

    @classmethod
    def from_settings(cls, where: str, settings: Mapping[str, Any]) -> Self:
        """Build from a plan's settings, naming the key that is wrong."""
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        plain = cls()
        for key, value in settings.items():
            if key not in known:
                expected = f"one of {', '.join(sorted(known))}" if known else "no settings"
                raise PlanError(f"{where}.{key}", value, expected)
            if isinstance(getattr(plain, key), bool) and not isinstance(value, bool):
                raise PlanError(f"{where}.{key}", value, "true or false")
        frozen = {key: _frozen(value) for key, value in settings.items()}
        made = replace(plain, **frozen)  # type: ignore[type-var]
        made.check(where)
        return made

    def check(self, where: str) -> None:
        """Raise `PlanError` for settings out of range. ``where`` is the plan's key."""


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down: settings are never changed."""
    if isinstance(value, Mapping):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def require_range(
    where: str, value: float, low: float, high: float = inf, *, whole: bool = False
) -> None:
    """Raise `PlanError` unless ``low <= value <= high`` (and whole, if asked).

    Example:
        >>> require_range("visits[0].min_leaf", 5, 1, whole=True)
    """
    # 5.0 is no whole number: scikit-learn and NumPy read it as a share, or refuse it, much later.
    good = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    good = good and low <= value <= high and not isinf(value)
    if not good:
        kind = "a whole number" if whole else "a number"
        limit = f"at least {low}" if isinf(high) else f"from {low} to {high}"
        raise PlanError(where, value, f"{kind} {limit}")
