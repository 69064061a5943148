"""A made-up table of 12 dependent columns: six factors, six skewed or many-humped numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

LEVELS = (2, 3, 5, 10, 25, 50)


def mixed(rows: int, seed: int = 1) -> Table:
    """Columns that share a hidden trait; numbers are money-like, counted, or in humps."""
    rng = np.random.default_rng(seed)
    trait = rng.normal(size=rows)
    arrays: dict[str, pa.Array] = {}
    columns: list[Column] = []
    for place, levels in enumerate(LEVELS):
        codes = factor(0.6 * trait + rng.normal(size=rows), levels, rng)
        columns.append(Column(f"factor{levels}", Kind.CATEGORY))
        arrays[columns[-1].name] = named(codes)
        values, decimals = _numbers(place, trait, codes, rng)
        columns.append(Column(f"number{place}", Kind.NUMBER, decimals=decimals))
        arrays[columns[-1].name] = pa.array(np.round(values, decimals))
    return Table(pa.table(arrays), Schema(tuple(columns)))


def factor(score: NDArray[np.float64], levels: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Levels in no order, of unequal size, that depend on a score."""
    size = 1.0 / np.arange(1, levels + 1) ** 0.7
    cuts = np.quantile(score, np.cumsum(size / size.sum())[:-1])
    return rng.permutation(levels)[np.searchsorted(cuts, score)]


def named(codes: NDArray[np.int64]) -> pa.Array:
    """Codes as text."""
    names = pa.array([f"level {code}" for code in range(int(codes.max()) + 1)])
    return names.take(pa.array(codes))


def _numbers(
    place: int, trait: NDArray[np.float64], codes: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], int]:
    noise = rng.normal(size=len(trait))
    if place % 3 == 0:  # like an income
        return 1000.0 * np.exp(0.7 * trait + 0.1 * (codes % 4) + noise), 2
    if place % 3 == 1:  # two humps
        return np.where(rng.random(len(trait)) < 0.5, 0.0, 6.0) + trait + noise, 3
    spent = np.exp(2.0 + 0.5 * trait + noise)  # mostly zero, then skewed
    return np.where(rng.random(len(trait)) < 0.6, 0.0, spent), 1
