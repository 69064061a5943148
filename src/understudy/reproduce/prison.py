"""The tables that Chapelle & Falissard is reproduced on, and what the paper declares of them.

The paper's own table, "Mental Health in Prison", is about real people and comes with nobody's
program. Where the folder that ``UNDERSTUDY_DATA`` names has it (smp2.csv), it is used; elsewhere
the built-in outbreak stands in, with columns of like kinds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.reproduce.item import Bench
from understudy.tables.outbreak import DECADES, outbreak
from understudy.tables.read import read
from understudy.tables.table import Table

FILE = "smp2.csv"
LEARNT, LEFT = 600, 199  # rows synthesised, and rows kept as control
SIZE = 60_000  # people of the population


@dataclass(frozen=True)
class Told:
    """A finding: a share of all rows, and what the paper's Table 4 prints of it.

    Attributes:
        name: what tables call it.
        share: the condition.
        printed: D_O, S1, S2 and S3 of the paper; empty where the table is not the paper's.
    """

    name: str
    share: str
    printed: tuple[float, ...] = ()


@dataclass(frozen=True)
class Known:
    """What is stated of a number's population, and the noise that the paper adds."""

    mean: float
    sd: float
    noise: float


@dataclass(frozen=True)
class Ground:
    """A table's columns in their parts.

    Attributes:
        name: what pages call the table.
        papers: whether it is the paper's own.
        looks: kinds of columns, where the guess would be wrong.
        columns: the columns used; all where none is named.
        keys: what an attacker knows.
        target: what it is after.
        radii: how near is near, for numbers among the keys.
        apart: columns that the filter does not compare.
        sides: the columns of the two files that linkage attacks hold.
        noise: by column, its population and noise.
        findings: what Table 4 has.
    """

    name: str
    papers: bool
    looks: Mapping[str, Mapping[str, Any]]
    keys: tuple[str, ...]
    target: str
    radii: Mapping[str, float]
    apart: tuple[str, ...]
    sides: tuple[tuple[str, ...], tuple[str, ...]]
    noise: Mapping[str, Known]
    findings: tuple[Told, ...]
    columns: tuple[str, ...] = field(default=())


def _ordered(last: int) -> dict[str, Any]:
    return {"kind": "ordinal", "levels": tuple(str(level) for level in range(1, last + 1))}


def _sick(column: str) -> str:
    return f"`{column}` == 1 & `grav.cons` >= 5"


PRISON = Ground(
    name="Mental Health in Prison",
    papers=True,
    # Equal or not, for GTCAP: the paper gives radii to the three quantitative keys alone.
    looks={"prof": {"kind": "category"}, "ecole": _ordered(5), "grav.cons": _ordered(7)},
    keys=("age", "prof", "n.enfant", "n.fratrie", "ecole"),
    target="grav.cons",
    radii={"age": 5.0, "n.enfant": 1.0, "n.fratrie": 2.0},
    # The nominal column, and the four that the paper found to be behind a singular covariance.
    apart=("prof", "suicide.hr", "suicide.s", "juge.enfant", "char"),
    sides=(
        ("age", "prof", "ecole", "n.enfant", "n.fratrie"),
        ("duree", "discip", "juge.enfant", "place"),
    ),
    noise={
        "age": Known(34, 8, 0.1),
        "n.enfant": Known(2, 2.5, 0.1),
        "n.fratrie": Known(4, 2.5, 0.2),
    },
    findings=(
        Told("Depression", _sick("dep.cons"), (0.23, 0.23, 0.20, 0.20)),
        Told("Agoraphobia", _sick("ago.cons"), (0.10, 0.05, 0.05, 0.05)),
        Told("PTSD", _sick("ptsd.cons"), (0.14, 0.14, 0.15, 0.15)),
        Told(
            "Alcohol or substance",
            "(`alc.cons` == 1 | `subst.cons` == 1) & `grav.cons` >= 5",
            (0.15, 0.13, 0.15, 0.15),
        ),
        Told("Alcohol", _sick("alc.cons"), (0.09, 0.07, 0.08, 0.08)),
        Told("Substance", _sick("subst.cons"), (0.12, 0.09, 0.11, 0.11)),
        Told("Schizophrenia", _sick("scz.cons"), (0.07, 0.03, 0.02, 0.02)),
    ),
)

ISLAND = Ground(
    name="the built-in outbreak",
    papers=False,
    looks={"age": {"kind": "ordinal", "levels": DECADES}},
    keys=("days_in_care", "region", "household_size", "age"),
    target="contact_source",
    radii={"days_in_care": 3.0, "household_size": 1.0},
    apart=("region", "contact_source"),
    sides=(("age", "sex", "region", "household_size"), ("temperature", "days_in_care", "outcome")),
    noise={"temperature": Known(38.0, 0.8, 0.1), "household_size": Known(3.0, 1.5, 0.1)},
    findings=(
        Told("Fever", "temperature >= 38"),
        Told("Fever, in a large household", "temperature >= 38 & household_size >= 4"),
        Told("Long care, infected at work", "days_in_care > 14 & contact_source == 'workplace'"),
        Told("Long care of people of 60 and more", "days_in_care > 14 & age >= '60s'"),
        Told("Women infected at home", "sex == 'female' & contact_source == 'household'"),
    ),
    columns=(
        "sex",
        "age",
        "outcome",
        "region",
        "household_size",
        "contact_source",
        "temperature",
        "days_in_care",
    ),
)


def place() -> Path | None:
    """Where the paper's table is, if it is here."""
    folder = os.environ.get("UNDERSTUDY_DATA")
    path = Path(folder) / FILE if folder else None
    return path if path is not None and path.is_file() else None


def ground() -> Ground:
    """The paper's table where it is present, else the built-in one."""
    return PRISON if place() else ISLAND


def table(bench: Bench, found: Ground) -> Table:
    """The rows of a ground, read once."""
    return bench.once(("table", found.name), lambda: _read(found))


def _read(found: Ground) -> Table:
    if found.papers:
        path = place()
        assert path is not None
        return read(path, schema_changes=found.looks)
    return read(outbreak().select(list(found.columns)), schema_changes=found.looks)
