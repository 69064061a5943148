"""What a plan states of a population: a table of keys becomes people with a law.

::

    size = 60000                    how many people there are
    distribution = "normal"         or lognormal, uniform, poisson, negative-binomial, sample,
                                    counts
    mean = 34, sd = 8               of the number (uniform: low and high)
    values = [...]                  a sample's values; with counts = [...], a public table
    low = 0, high = 120             nobody is beyond: noise is mirrored there
    top = "auto", bottom = "auto"   where tails are coded: a number, or "none"
    sigma = 0.5                     the noise's deviation; without it, the least for the bound
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.kernels.laws import Law, LogNormal, Normal, Sampled, Uniform
from understudy.kernels.population import (
    Grid,
    Population,
    counted,
    cut,
    negative_binomial,
    poisson,
)

Floats = NDArray[np.float64]
_NEEDED = {
    "normal": ("mean", "sd"),
    "lognormal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "poisson": ("mean",),
    "negative-binomial": ("mean", "sd"),
    "sample": ("values",),
    "counts": ("values", "counts"),
}
_DUST = 1e-6
_LISTS = ("values", "counts")
_NUMBERS = ("mean", "sd", "low", "high", "sigma")
KEYS = ("distribution", "size", *_NUMBERS, *_LISTS, "top", "bottom")


def check_entry(where: str, entry: Any) -> None:
    """Raise `PlanError` for keys that are unknown, lacking or out of range."""
    if not isinstance(entry, Mapping):
        raise PlanError(where, entry, "a table such as {distribution = 'normal', mean = …, …}")
    kind = entry.get("distribution")
    if kind not in _NEEDED:
        raise PlanError(f"{where}.distribution", kind, f"one of {', '.join(_NEEDED)}")
    for key in entry:
        beside = ("distribution", "size", "sigma", "top", "bottom", "low", "high")
        known = dict.fromkeys((*_NEEDED[kind], *beside))
        if key not in known:
            raise PlanError(f"{where}.{key}", entry[key], f"one of {', '.join(known)}")
    for key in _NEEDED[kind]:
        if key not in entry:
            raise PlanError(f"{where}.{key}", None, f"a value: {kind} needs it")
    _check_size(where, entry, kind)
    for key in {*_NUMBERS, "top", "bottom"} & set(entry):
        words = ("auto", "none") if key in ("top", "bottom") else ()
        if entry[key] not in words and not _finite(entry[key]):
            expected = "a number" + "".join(f", or '{word}'" for word in words)
            raise PlanError(f"{where}.{key}", entry[key], expected)
    for key in ("sd", "sigma"):
        if key in entry and not entry[key] > 0:
            expected = "a number above 0; for no noise leave the column out, or list it as exempt"
            raise PlanError(f"{where}.{key}", entry[key], expected if key == "sigma" else "above 0")
    if "low" in entry and "high" in entry and not entry["low"] < entry["high"]:
        raise PlanError(f"{where}.high", entry["high"], f"a number above low, {entry['low']:g}")
    for key in set(_LISTS) & set(entry):
        _check_list(f"{where}.{key}", entry[key])
    _made(where, entry, 0.0)


def stated(
    where: str, entry: Mapping[str, Any], step: float = 0.0, start: float = 0.0
) -> Population | Grid:
    """The population of an entry; on the grid of this step through ``start``, unless it is 0.

    Example:
        >>> entry = {"distribution": "normal", "mean": 34, "sd": 8, "size": 60000}
        >>> stated("age", entry).size, type(stated("age", entry, 1.0)).__name__
        (60000, 'Grid')
    """
    people = _made(where, entry, step)
    if not step or isinstance(people, Grid):
        return people
    rest = start - round(start / step) * step
    try:
        return cut(people, rest if abs(rest) > _DUST * step else 0.0, step)
    except ValueError as error:
        raise PlanError(where, entry["distribution"], str(error)) from None


def on_grid(where: str, people: Grid, values: Floats, step: float) -> None:
    """Raise `PlanError` where a column's numbers do not lie on the population's grid."""
    places = (values - people.start) / people.step
    fine = step == 0 or not math.isclose(
        step / people.step, round(step / people.step), abs_tol=1e-9
    )
    if fine or not np.allclose(places, np.rint(places), rtol=0, atol=1e-6):
        expected = (
            f"a continuous distribution, or a column on the same grid: the stated values are "
            f"{people.step:g} apart, and the column's lie between them"
        )
        raise PlanError(f"{where}.distribution", "numbers on a grid", expected)


def _made(where: str, entry: Mapping[str, Any], step: float) -> Population | Grid:
    kind, size = entry["distribution"], entry.get("size")
    try:
        if kind == "counts" or (kind == "sample" and step):
            values = np.asarray(entry["values"], dtype=np.float64)
            counts = np.asarray(entry.get("counts", np.ones(len(values))), dtype=np.float64)
            return counted(values, counts, size)
        if kind == "poisson":
            return poisson(size or 0, entry["mean"])
        if kind == "negative-binomial":
            return negative_binomial(size or 0, entry["mean"], entry["sd"])
        return Population(size or 0, _LAWS[kind](entry))
    except ValueError as error:
        raise PlanError(where, kind, f"a distribution that exists: {error}") from None


_LAWS: Mapping[str, Callable[[Mapping[str, Any]], Law]] = {
    "normal": lambda entry: Normal(float(entry["mean"]), float(entry["sd"])),
    "lognormal": lambda entry: _log_normal(float(entry["mean"]), float(entry["sd"])),
    "uniform": lambda entry: Uniform(float(entry["low"]), float(entry["high"])),
    "sample": lambda entry: Sampled.of(np.asarray(entry["values"], dtype=np.float64)),
}


def _log_normal(mean: float, sd: float) -> LogNormal:
    if not mean > 0:
        raise ValueError("a lognormal law has a mean above 0")
    return LogNormal(mean, sd)


def _check_size(where: str, entry: Mapping[str, Any], kind: str) -> None:
    if kind == "counts" and "size" not in entry:
        return
    size = entry.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 2:
        expected = "how many people the population has: a whole number, at least 2"
        raise PlanError(f"{where}.size", size, expected)


def _check_list(where: str, value: Any) -> None:
    listed = isinstance(value, list | tuple) and len(value) > 0
    if not listed or not all(_finite(item) for item in value):
        # What came may be a sample of people: it is not repeated.
        raise PlanError(where, type(value).__name__, "a list of numbers")


def _finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)
