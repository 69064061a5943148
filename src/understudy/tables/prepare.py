"""Manual disclosure control: declared steps on a table before it is split.

The steps are those that data custodians do by hand before a release (drop columns, drop or perturb
outliers, band, top and bottom code, merge rare levels, round), as in Chapelle & Falissard's
Open-CESP procedure. Each leaves a receipt with counts, and never a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from understudy.errors import PlanError
from understudy.seeds import fresh_seed, stream
from understudy.tables.coarsen import Band, BottomCode, Drop, MergeRare, Round, TopCode
from understudy.tables.outliers import Outliers
from understudy.tables.step import Step
from understudy.tables.table import Table

STEPS: Mapping[str, type[Any]] = {
    step.do: step for step in (Drop, Outliers, Band, TopCode, BottomCode, MergeRare, Round)
}


def prepare(
    table: Table, entries: Sequence[Mapping[str, Any]], seed: int | None = None
) -> tuple[Table, list[str]]:
    """Apply the declared steps in order.

    Args:
        table: the table as read.
        entries: the plan's ``prepare`` list, such as
            ``{"do": "band", "column": "age", "width": 10}``.
        seed: of the steps that draw; each has a stream of its own. Without one, a secret one.

    Returns:
        The prepared table, and one receipt per step.

    Example:
        >>> import pyarrow as pa
        >>> from understudy.tables.schema import Column, Kind, Schema
        >>> data = pa.table({"age": [23, 27, 31]})
        >>> table = Table(data, Schema((Column("age", Kind.NUMBER, decimals=0),)))
        >>> banded, receipts = prepare(table, [{"do": "band", "column": "age", "width": 10}])
        >>> banded.column("age").to_pylist(), receipts
        (['20-29', '20-29', '30-39'], ["band: column 'age': 3 values became 2 intervals"])
    """
    receipts = []
    # All are read before the first is done: a wrong entry is refused at once.
    for step, key, rng in list(_steps(entries, fresh_seed() if seed is None else seed)):
        table, sentence = step.apply(table, key, rng)
        receipts.append(f"{step.do}: {sentence}")
    return table, receipts


def prepare_beside(
    other: Table, table: Table, entries: Sequence[Mapping[str, Any]], seed: int
) -> Table:
    """Apply the steps to other people as they were applied to the table: with its thresholds.

    A quantile, a limit for outliers or a level's rarity is the table's. Both must be of one schema.
    """
    beside = _steps(entries, seed, "holdout")
    for (step, key, rng), (_, _, others) in zip(_steps(entries, seed), beside, strict=True):
        other, _ = step.like(table, key).apply(other, key, others)
        table, _ = step.apply(table, key, rng)
    return other


def _steps(
    entries: Sequence[Mapping[str, Any]], seed: int, *which: str
) -> Iterator[tuple[Step, str, np.random.Generator]]:
    """Each step with the plan's key and the stream that is its own."""
    for place, entry in enumerate(entries):
        key = f"prepare[{place}]"
        yield parse_step(entry, key), key, stream(seed, "prepare", place, *which)


def parse_step(entry: Mapping[str, Any], key: str) -> Step:
    """One entry of the plan as a step, with its keys checked.

    Example:
        >>> parse_step({"do": "round", "column": "lat", "to": 0.01}, "prepare[0]")
        Round(column='lat', to=0.01)
    """
    if not isinstance(entry, Mapping):
        raise PlanError(key, type(entry).__name__, 'a table such as {do = "drop", columns = [...]}')
    name = entry.get("do")
    kind = STEPS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise PlanError(f"{key}.do", entry.get("do"), f"one of {', '.join(STEPS)}")
    settings = {name: value for name, value in entry.items() if name != "do"}
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for name in settings:
        if name not in known:
            raise PlanError(f"{key}.{name}", name, f"one of {', '.join(known)}")
    for name, needed in known.items():
        if needed and name not in settings:
            raise PlanError(f"{key}.{name}", None, "a value: it is needed")
    step: Step = kind(**settings)
    return step
