"""Steps of disclosure control that a table calls for, each with the attack that it answers.

"The entire process is guided by scenarios of attack, where plausible behaviors of attackers trying
to access sensitive outcomes are examined" (Chapelle & Falissard, "Manual SDC"). A step is proposed
by counts alone and names no value: thresholds are shares of rows, widths are round numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.plans import toml
from understudy.plans.proposals import Known
from understudy.tables.detect import axis_of, suggested_weights
from understudy.tables.numeric import EXACT
from understudy.tables.outliers import robust_limits
from understudy.tables.quasi import tells_age
from understudy.tables.schema import Kind, Role
from understudy.tables.step import floats
from understudy.tables.table import Table

_NAMES = "anybody: it names the person"
_REGISTER = "somebody with a public register who looks up births"
_EXTREME = "an acquaintance or a journalist who knows that somebody's value is extreme"
_TRAIT = "an acquaintance or a journalist who knows somebody's rare trait"
_RECORDS = "somebody with another file on these people who links exact values"
_MAP = "somebody with a map or a list of addresses"

_LEAST = 10  # people whom a group should have, as the report's bins do
_ROWS = 50  # on fewer rows, counts say nothing
_FAR = 3.5  # robust deviations (Iglewicz & Hoaglin 1993)
_MANY = 20  # values: fewer are groups already
_FEW = 5  # values: fewer have no tail
_DIGITS = 2  # decimals of a coordinate that are left: about a kilometre


@dataclass(frozen=True)
class Suggestion:
    """A step for the plan's ``prepare``.

    Attributes:
        entry: the step as the plan writes it.
        against: who is answered by it.
        why: what in the table calls for it, in counts.
    """

    entry: Mapping[str, Any]
    against: str
    why: str

    @property
    def words(self) -> str:
        """The step for people, such as ``band age (width 5)``."""
        names = self.entry.get("columns") or [self.entry["column"]]
        rest = {k: v for k, v in self.entry.items() if k not in ("do", "column", "columns")}
        how = ", ".join(f"{key} {value}" for key, value in rest.items())
        return f"{self.entry['do']} {', '.join(names)}" + (f" ({how})" if how else "")

    def to_toml(self) -> str:
        """The entry as a comment, with its reason: nobody has decided on it yet."""
        said = f"{self.why}; against {self.against}"
        lines = [said, *toml.dumps({"prepare": [dict(self.entry)]}).splitlines()]
        return "\n" + "".join(f"# {line}".rstrip() + "\n" for line in lines)


def suggestions(table: Table, columns: Sequence[Known]) -> tuple[Suggestion, ...]:
    """What to consider before the synthesis, in the order in which it is to be done."""
    named = [c.name for c in columns if c.role is Role.IDENTIFIER or c.kind is Kind.IDENTIFIER]
    found = list(_drops(named)) if len(named) < len(columns) else []
    if table.rows < _ROWS:
        return tuple(found)
    weights = suggested_weights(table)
    for column in columns:
        passed = (Role.IDENTIFIER, Role.WEIGHT, Role.KEEP, Role.GROUP)
        if column.role not in passed and column.name not in weights:
            found += _about(table, column)
    order = ("drop", "merge_rare", "top_code", "bottom_code", "round", "band")
    return tuple(sorted(found, key=lambda one: order.index(one.entry["do"])))


def _drops(named: Sequence[str]) -> Iterator[Suggestion]:
    if named:
        why = "direct identifiers: never synthesised, and dropped here nobody meets them"
        yield Suggestion({"do": "drop", "columns": list(named)}, _NAMES, why)


def _about(table: Table, column: Known) -> Iterator[Suggestion]:
    if column.distinct < 2:
        return
    if column.kind is Kind.NUMBER:
        yield from _number(table, column)
    elif column.kind is Kind.DATETIME:
        yield from _date(table, column)
    elif column.kind in (Kind.CATEGORY, Kind.ORDINAL):
        yield from _levels(table, column)


def _number(table: Table, column: Known) -> Iterator[Suggestion]:
    values = floats(table.column(column.name))
    values = values[np.isfinite(values)]
    if len(values) < _ROWS or np.abs(values).max() >= EXACT:
        return
    if column.role is Role.LOCATION or axis_of(column.name):
        if _decimals(values) > _DIGITS:
            entry = {"do": "round", "column": column.name, "to": 10.0**-_DIGITS}
            yield Suggestion(entry, _MAP, "tells places finer than a kilometre")
        return
    yield from _tails(column, values)
    if tells_age(column.name) and column.distinct > _MANY:
        entry = {"do": "band", "column": column.name, "width": 5}
        yield Suggestion(entry, _REGISTER, f"{column.distinct:,} values")
    elif column.distinct > 0.5 * len(values):
        yield from _rounded(table, column, values)


def _tails(column: Known, values: NDArray[np.float64]) -> Iterator[Suggestion]:
    """A long tail that fewer than ten people end: the share of rows it keeps holds ten."""
    if column.distinct <= _FEW:
        return
    low, high = robust_limits(values, _FAR)
    share = math.floor(1000 * (1 - max(_LEAST / len(values), 0.005))) / 1000
    for do, beyond, last, quantile in (
        ("top_code", values > high, values == values.max(), share),
        ("bottom_code", values < low, values == values.min(), round(1 - share, 3)),
    ):
        if beyond.any() and last.sum() < _LEAST:
            where = "above" if do == "top_code" else "below"
            why = f"{int(beyond.sum()):,} values far {where} the others"
            yield Suggestion({"do": do, "column": column.name, "quantile": quantile}, _EXTREME, why)


def _rounded(table: Table, column: Known, values: NDArray[np.float64]) -> Iterator[Suggestion]:
    """Nearly everybody has a value of his own: a tenth of the spread's order of magnitude."""
    spread = float(np.subtract(*np.quantile(values, [0.75, 0.25])))
    if spread <= 0:
        return
    step = 10.0 ** (math.floor(math.log10(spread)) - 1)
    whole = pa.types.is_integer(table.column(column.name).type) or _decimals(values) == 0
    if whole and step < 2:
        return
    entry = {"do": "round", "column": column.name, "to": int(step) if step >= 1 else step}
    yield Suggestion(entry, _RECORDS, f"{column.distinct:,} values in {len(values):,} rows")


def _date(table: Table, column: Known) -> Iterator[Suggestion]:
    if pa.types.is_time(table.column(column.name).type) or column.distinct <= _MANY:
        return
    born = tells_age(column.name)
    entry = {"do": "band", "column": column.name, "by": "year" if born else "month"}
    why = f"{column.distinct:,} dates"
    yield Suggestion(entry, _REGISTER if born else _RECORDS, why)


def _levels(table: Table, column: Known) -> Iterator[Suggestion]:
    counts = pc.value_counts(pc.drop_null(table.column(column.name))).field("counts").to_numpy()
    rare = counts < _LEAST
    if rare.all():
        why = f"no level has {_LEAST} people"
        yield Suggestion({"do": "drop", "columns": [column.name]}, _TRAIT, why)
    elif rare.any():
        entry = {"do": "merge_rare", "column": column.name, "fewer_than": _LEAST}
        levels = "1 level" if rare.sum() == 1 else f"{int(rare.sum()):,} levels"
        why = f"{levels} of fewer than {_LEAST} people"
        yield Suggestion(entry, _TRAIT, why)


def _decimals(values: NDArray[np.float64]) -> int:
    """Digits after the point that the values need, at most 6."""
    for digits in range(6):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return 6
