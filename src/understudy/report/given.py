"""How much of what people's own rows give away a release gives away: histograms, picked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.numbers import count, number


@dataclass(frozen=True)
class Given:
    """Histograms of GTCAP for one target, and the same as a table.

    Attributes:
        key: its place on the page.
        title: the target.
        bars: ``from``, ``to``, ``share`` (of a table's people, in a tenth) and ``table``.
        said: sentences below.
        rows: cells of the table.
    """

    key: str
    title: str
    bars: tuple[Mapping[str, Any], ...]
    said: str
    rows: tuple[tuple[str, ...], ...]


def given(found: Sequence[Mapping[str, Any]]) -> tuple[Given, ...]:
    """One for each target that has a histogram (Chapelle & Falissard, Figure 14)."""
    made = (_one(place, column) for place, column in enumerate(found))
    return tuple(one for one in made if one.bars)


def _one(place: int, column: Mapping[str, Any]) -> Given:
    tables = _tables(column)
    bars = tuple(
        {"from": low, "to": high, "share": _share(people, table) / (high - low) / 10, "table": kind}
        for _, kind, table in tables
        if kind
        for low, high, people in table["bars"]
    )
    rows = tuple(
        (name, f"{low:g} – {high:g}", f"{people:,}", number(_share(people, table), share=True))
        for name, _, table in tables
        for low, high, people in table["bars"]
    )
    return Given(f"given-{place}", str(column["column"]), bars, _said(column, tables), rows)


def _tables(column: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Name, whose bars they are (none: not drawn) and histogram, for each that is looked at."""
    synthetic = column["synthetic"]
    many = len(synthetic) > 1
    named = [
        (f"train by synthetic {n}" if many else "train", "" if n > 1 else "Train", table)
        for n, table in enumerate(synthetic, 1)
    ]
    pooled = [("train by all pooled", "", table) for table in column.get("pooled") or ()]
    return [*named, *pooled, ("strangers", "Strangers", column["holdout"])]


def _said(column: Mapping[str, Any], tables: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    radii = column["radii"]
    keys = ", ".join(
        f"{name} (radius {number(radii[name])})" if name in radii else str(name)
        for name in column["keys"]
    )
    people = count(column["records"], "person", "people")
    parts = [
        f"By {keys}, {column['uniques']:,} of {people} of train are unique together with the value."
    ]
    means = [
        f"{name}: {number(table['mean'])}"
        for name, _, table in tables
        if table.get("mean") is not None
    ]
    if means:
        parts.append(f"Mean of {'; '.join(means)}.")
    if not column["holdout"]["bars"]:
        parts.append("Too few strangers are unique for a histogram.")
    return " ".join(parts)


def _share(people: int, table: Mapping[str, Any]) -> float:
    return people / max(int(table["people"]), 1)
