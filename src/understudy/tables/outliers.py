"""Outliers, as rows: dropped, or perturbed among themselves.

Statistical outliers carry more risk than others: whoever knows that a person has the largest income
knows the row. Chapelle & Falissard, "Manual SDC": they "may be dropped (or their data perturbed)".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import PlanError, TableError
from understudy.tables.numeric import find_numeric
from understudy.tables.schema import Role
from understudy.tables.step import Step, is_number, known, put
from understudy.tables.table import Table

_HOW = ("drop", "swap", "draw")
_SIDES = ("both", "above", "below")
_MAD = 1.4826  # a normal law's standard deviation over its median absolute deviation
_MEAN = 1.2533  # and over its mean absolute deviation, √(π/2)
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Outliers(Step):
    """Drop the rows that are outliers in some column, or perturb what makes them outliers.

    A value is an outlier if it lies beyond a ``quantile`` (above the value below which that share
    of rows lies, or below the value above which it does), or if its robust z-score
    |x − median| / (1.4826 · MAD) exceeds ``z`` (Iglewicz & Hoaglin 1993). Where more than half of
    the values are equal, MAD is 0, and the mean absolute deviation times 1.2533 takes its place.

    ``how`` is ``drop``, ``swap`` (the outliers of one side of a column go round among their rows,
    so that nobody keeps his own and the column's values stay) or ``draw`` (each row gets the value
    of another outlier of that side, at random). A single outlier has nobody to be confused with:
    its row is dropped.
    """

    columns: Sequence[str]
    quantile: float | None = None
    z: float | None = None
    side: str = "both"
    how: str = "drop"
    do: ClassVar[str] = "outliers"

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Drop or perturb; the receipt counts rows by column and side."""
        return _perturbed(table, self, self._limits(table, key), key, rng)

    def like(self, table: Table, key: str) -> Step:
        """The limits of this table."""
        return _Beyond(self, self._limits(table, key))

    def _limits(self, table: Table, key: str) -> dict[str, tuple[float, float]]:
        self._check(table, key)
        return {
            name: self._between(present)
            for name in self.columns
            if (present := _present(table, name)).size
        }

    def _between(self, present: Floats) -> tuple[float, float]:
        """The values between which nobody is an outlier."""
        if self.quantile is not None:
            # The same limit as top_code has: a value, and only what lies beyond it counts.
            ordered, last = np.sort(present), int((len(present) - 1) * self.quantile)
            low, high = float(ordered[-1 - last]), float(ordered[last])
        else:
            assert self.z is not None
            low, high = robust_limits(present, self.z)
        return (
            low if self.side != "above" else -np.inf,
            high if self.side != "below" else np.inf,
        )

    def _check(self, table: Table, key: str) -> None:
        if isinstance(self.columns, str) or not self.columns:
            raise PlanError(f"{key}.columns", self.columns, "a list of column names")
        for name in self.columns:
            column = known(table, name, f"{key}.columns")
            if not column.kind.is_numeric:
                expected = f"columns of numbers or dates, not of {column.kind.value}"
                raise PlanError(f"{key}.columns", name, expected)
        if (self.quantile is None) == (self.z is None):
            raise PlanError(key, "both or neither", "either quantile or z")
        if self.quantile is not None and not (is_number(self.quantile) and 0.5 < self.quantile < 1):
            raise PlanError(f"{key}.quantile", self.quantile, "a share between 0.5 and 1")
        if self.z is not None and not (is_number(self.z) and self.z > 0):
            raise PlanError(f"{key}.z", self.z, "a number above 0")
        for name, value, words in (("side", self.side, _SIDES), ("how", self.how, _HOW)):
            if value not in words:
                raise PlanError(f"{key}.{name}", value, f"one of {', '.join(words)}")


@dataclass(frozen=True)
class _Beyond(Step):
    """Limits that another table gave."""

    step: Outliers
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    do: ClassVar[str] = "outliers"

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Drop or perturb what lies beyond them."""
        return _perturbed(table, self.step, self.limits, key, rng)


def _perturbed(
    table: Table,
    step: Outliers,
    limits: Mapping[str, tuple[float, float]],
    key: str,
    rng: np.random.Generator,
) -> tuple[Table, str]:
    found = {
        (name, side): rows
        for name, ends in limits.items()
        for side, rows in zip(("below", "above"), _beyond(table, name, ends), strict=True)
        if len(rows)
    }
    counts = ", ".join(f"{len(rows)} {side} in {name!r}" for (name, side), rows in found.items())
    gone = np.zeros(table.rows, dtype=np.bool_)
    moved = table
    for (name, _), rows in found.items():
        if step.how == "drop" or len(rows) == 1:
            gone[rows] = True
        else:
            moved = _exchanged(moved, name, rows, step.how, rng)
    gone = _whole_people(table, gone)
    if gone.all() and table.rows:
        raise TableError(f"{key}: every row would be dropped as an outlier; raise its limit")
    kept = moved.take(np.flatnonzero(~gone)) if gone.any() else moved
    return kept, _said(step.how, counts, int(gone.sum()), len(table.schema.with_role(Role.GROUP)))


def _said(how: str, counts: str, gone: int, groups: int) -> str:
    if not counts:
        return "no outlier was found"
    verb = {"swap": "; their values went round among them", "draw": "; each got another's value"}
    dropped = f"; {gone} rows dropped" if gone else ""
    if gone and how != "drop":
        dropped += ", whose value stood alone on its side"
    people = " (all rows of a person together)" if gone and groups else ""
    return f"values beyond the limit: {counts}{verb.get(how, '')}{dropped}{people}"


def _exchanged(
    table: Table, name: str, rows: NDArray[np.int64], how: str, rng: np.random.Generator
) -> Table:
    """The rows' values in one column, handed to other rows among them."""
    count = len(rows)
    if how == "swap":
        order = rng.permutation(count)  # one cycle through all rows in random order
        givers = np.empty(count, dtype=np.int64)
        givers[order] = np.roll(order, 1)
    else:
        givers = (np.arange(count) + rng.integers(1, count, size=count)) % count
    source = np.arange(table.rows)
    source[rows] = rows[givers]
    return put(table, table.schema[name], table.column(name).take(pa.array(source)))


def _whole_people(table: Table, gone: Flags) -> Flags:
    """Rows of one person over time leave together: a visit alone would be a gap that tells."""
    for name in table.schema.with_role(Role.GROUP):
        column = table.column(name)
        people = pc.unique(pc.drop_null(column.filter(pa.array(gone))))
        with_them = pc.is_in(column, value_set=people)
        gone = gone | np.asarray(with_them.to_numpy(), dtype=np.bool_)
    return gone


def _beyond(
    table: Table, name: str, ends: tuple[float, float]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows below and above; a missing value is neither."""
    values = _values(table, name)
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(values < ends[0]), np.flatnonzero(values > ends[1])


def _values(table: Table, name: str) -> Floats:
    array = table.column(name)
    numeric = find_numeric(array, table.schema[name])
    # Not from the offset: limits hold for another table, too.
    return np.asarray(numeric.to_float(array) + float(numeric.offset), dtype=np.float64)


def _present(table: Table, name: str) -> Floats:
    values = _values(table, name)
    return values[~np.isnan(values)]


def robust_limits(present: Floats, z: float) -> tuple[float, float]:
    """Median ± z robust deviations: 1.4826 · MAD, or where that is 0, 1.2533 · mean deviation.

    Source: Iglewicz & Hoaglin (1993), How to detect and handle outliers.

    Example:
        >>> low, high = robust_limits(np.array([1.0, 2.0, 3.0, 4.0, 99.0]), 2.0)
        >>> round(low, 4), round(high, 4)
        (0.0348, 5.9652)
    """
    centre = float(np.median(present))
    away = np.abs(present - centre)
    spread = _MAD * float(np.median(away))
    spread = spread if spread > 0 else _MEAN * float(away.mean())
    return centre - z * spread, centre + z * spread
