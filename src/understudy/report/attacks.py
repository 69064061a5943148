"""Simulated attacks: success on people of train beside success on strangers, picked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.judged import Row, sentence
from understudy.report.numbers import interval, number

_MOST = 40  # attacks in the picture: those with the largest excess
KEYS = ("singling_out", "linkability", "inference")
_NAMES: Mapping[str, str] = {
    "singling_out.univariate": "Singling out, one column",
    "singling_out.multivariate": "Singling out, several columns",
    "linkability": "Linking two files",
    "inference": "Inference",
}


@dataclass(frozen=True)
class Attacks:
    """All attacks as a picture and as a table.

    Attributes:
        names: one for each attack, from the top.
        points: ``name``, ``who`` was attacked, ``value``, ``low``, ``high``.
        said: what the picture leaves out.
        header: heading of the table.
        table: cells of the table.
        unmade: why an attack could not be made, by attack.
        withheld: whether some attack has no residual risk.
    """

    names: tuple[str, ...]
    points: list[dict[str, Any]]
    said: str
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    unmade: tuple[tuple[str, str], ...]
    withheld: bool


def attacks(summaries: Mapping[str, Any], rows: Sequence[Row], replicates: int) -> Attacks | None:
    """The attacks that were made; None where none was."""
    found = [one for key in KEYS for one in summaries.get(key) or ()]
    if not found:
        return None
    several = replicates > 1
    named = [(_name(one["measure"], one["column"]), one) for one in found]
    first = [(name, one) for name, one in named if one["replicate"] == found[0]["replicate"]]
    shown = set(sorted((name for name, _ in first), key=dict(_gaps(first)).__getitem__)[:_MOST])
    drawn = [(name, one) for name, one in first if name in shown]
    return Attacks(
        tuple(name for name, _ in drawn),
        [point for name, one in drawn for point in _points(name, one)],
        _says(len(first) - len(drawn), several),
        (
            "Attack",
            *(("Release",) if several else ()),
            "On people of train (interval)",
            "On strangers (interval)",
            "Residual risk (interval)",
            "Attacks made",
        ),
        tuple(_cells(name, one, several) for name, one in named),
        _unmade(rows),
        any(one["residual"] is None for one in found),
    )


def _name(measure: str, column: str | None) -> str:
    name = _NAMES.get(measure, measure)
    return name if column is None else f"{name} of {column}"


def _gaps(found: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, float]]:
    """Order of the attacks: the largest excess over strangers first."""
    return [(name, one["control"][0] - one["attack"][0]) for name, one in found]


def _says(left_out: int, several: bool) -> str:
    said = ["The picture shows the first replicate, the table all."] if several else []
    if left_out:
        said.append(f"The picture shows the {_MOST} attacks with the largest excess.")
    return " ".join(said)


def _points(name: str, one: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "who": who, **dict(zip(("value", "low", "high"), one[key], strict=True))}
        for who, key in (("Train", "attack"), ("Strangers", "control"))
    ]


def _cells(name: str, one: Mapping[str, Any], several: bool) -> tuple[str, ...]:
    made = f"{one['made']:,}"
    if one["made"] != one["asked"]:
        made += f" of {one['asked']:,}"
    return (
        name,
        *((f"synthetic {one['replicate']}",) if several else ()),
        _written(one["attack"]),
        _written(one["control"]),
        "not given" if one["residual"] is None else _written(one["residual"]),
        made,
    )


def _written(ends: Sequence[float]) -> str:
    value, low, high = ends
    return f"{number(value, share=True)} ({interval(low, high, share=True)})"


def _unmade(rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    """Attacks without a number; residual risks that are not given speak for themselves."""
    found = [
        (_name(row.measure, row.target or None), sentence(row.item.get("note") or ""))
        for row in rows
        if row.measure in _NAMES and row.item["value"] is None and not _is_residual(row.target)
    ]
    return tuple(dict.fromkeys(found))


def _is_residual(target: str) -> bool:
    return target == "residual" or target.endswith(" (residual)")
