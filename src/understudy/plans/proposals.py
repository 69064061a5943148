"""What a person should be told about a table before anything is made from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.plans.plan import Plan
from understudy.synth.propose import in_line
from understudy.tables.encode import Block
from understudy.tables.schema import Kind, Role
from understudy.tables.table import Table

_LISTED = 8
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_PAIRS = 80  # most columns that are compared with one another


class Known(Protocol):
    """What is known of a column."""

    @property
    def name(self) -> str:
        """The column."""
        ...

    @property
    def kind(self) -> Kind:
        """What its values are."""
        ...

    @property
    def role(self) -> Role:
        """What it is for."""
        ...

    @property
    def missing(self) -> float:
        """Share of missing cells."""
        ...

    @property
    def distinct(self) -> int:
        """Number of different values."""
        ...


def warnings_about(table: Table, block: Block, columns: Sequence[Known]) -> Iterator[str]:
    """Sentences about what may go wrong; they name columns and counts, never values."""
    least = Plan().min_rows
    if table.rows < least:
        yield (
            f"{table.rows} rows: fewer than {least} people cannot be protected, "
            "release will refuse this table"
        )
    if len(columns) > table.rows:
        yield f"more columns ({len(columns)}) than rows ({table.rows}): nothing can be learnt"
    for facts in columns:
        # Reading has said it already where a column has no values.
        if not any(f"'{facts.name}' has no values" in note for note in table.notes):
            yield from _about(table, facts)
    for group in _twins(block):
        yield f"{', '.join(group)} say nearly the same: one of them would do"


def _about(table: Table, facts: Known) -> Iterator[str]:
    if facts.distinct == 0:
        yield f"{facts.name} is always missing: drop it"
    elif facts.distinct == 1:
        also = " or missing" if facts.missing else ""
        yield f"{facts.name} is constant{also}"
    elif facts.missing > 0.9:
        yield f"{facts.name} is missing in {facts.missing:.0%} of the rows"
    if facts.role is Role.GROUP:
        yield (
            f"{facts.name} seems to say whose row each is: with the role group the rows of a "
            "person stay together, and its values are made up; give it another role if it does not"
        )
    elif facts.kind is Kind.TEXT:
        yield f"{facts.name} is text that differs by row and may name people: it is dropped"
    elif facts.role is Role.IDENTIFIER:
        yield f"{facts.name} looks like a direct identifier: it is never synthesised"
    elif facts.kind in (Kind.CATEGORY, Kind.ORDINAL) and facts.distinct > 1:
        yield from _rare(table, facts)


def _rare(table: Table, facts: Known) -> Iterator[str]:
    counts = np.array([item["counts"].as_py() for item in pc.value_counts(
        pc.drop_null(table.column(facts.name)))])  # fmt: skip
    lone = int((counts == 1).sum())
    if lone == len(counts):
        yield (
            f"{facts.name} has one person per level ({lone} levels): drop it, or set its kind to "
            "identifier"
        )
    elif lone:
        levels = "1 level" if lone == 1 else f"{lone} levels"
        yield (
            f"{facts.name} has {levels} of one person each, which a synthetic table can repeat: "
            "merge rare levels with prepare"
        )


def _twins(block: Block) -> list[list[str]]:
    """Groups of columns that determine one another, judged on 2,000 rows."""
    spots = np.unique(np.linspace(0, max(block.rows - 1, 0), min(block.rows, 2000)).astype(int))
    fine = {name: _fine(block, name)[spots] for name in block.names[:_PAIRS]}
    coded = {name: np.unique(values, return_inverse=True) for name, values in fine.items()}
    codes = {n: (i.astype(np.int64), len(seen)) for n, (seen, i) in coded.items() if len(seen) > 1}
    groups: list[list[str]] = []
    for name, (index, size) in codes.items():
        for group in groups:
            numbers = [block.values[n][spots] for n in (group[0], name) if n in block.values]
            if _one_to_one(*codes[group[0]], index, size) or in_line(numbers):
                group.append(name)
                break
        else:
            groups.append([name])
    return [group for group in groups if len(group) > 1][:_LISTED]


def _one_to_one(a: Ints, many: int, b: Ints, most: int) -> bool:
    """Levels go together. With few rows for each value they do so by chance: not judged."""
    larger = max(many, most)
    if abs(many - most) > 0.05 * larger or larger > 0.5 * len(a):
        return False
    return len(np.unique(a * most + b)) <= 1.02 * larger


def _fine(block: Block, name: str) -> Floats:
    """Values where there are values, else codes."""
    column = block.values[name] if name in block.values else block.codes[name]
    return np.nan_to_num(np.asarray(column, dtype=np.float64), nan=-1e300)
