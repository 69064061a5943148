"""Synthesis as the engine does it, and how good the result is: shared by several benchmarks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks._clock import ROOT
from understudy.api import workers
from understudy.kernels import propensity
from understudy.plans.plan import Plan
from understudy.synth.sequence import Sequential
from understudy.tables.encode import Encoding, fit_encoding
from understudy.tables.table import Table

THREADS = 2


def data(name: str) -> Path | None:
    """A shared data file, or None where it is absent."""
    folders = [ROOT.parent / "shared" / "data"]
    if "UNDERSTUDY_DATA" in os.environ:
        folders.insert(0, Path(os.environ["UNDERSTUDY_DATA"]))
    found = [folder / name for folder in folders if (folder / name).exists()]
    return found[0] if found else None


def synthesize(table: Table, *, seed: int = 1, threads: int = THREADS, **settings: Any) -> Table:
    """Encode, fit CART on every column, sample as many rows, decode."""
    encoding = fit_encoding(table)
    block = encoding.encode(table)
    visits = Plan(settings={"min_leaf": 5, **settings}).visits_for(encoding)
    with workers(threads) as map_:
        fitted = Sequential(visits).fit(block, seed=seed, map_=map_)
        drawn = fitted.sample(table.rows, seed=seed, replicate=1)
    return encoding.decode(drawn.block)


def conforming(path: Path, like: Table) -> Table:
    """A peer's Parquet file with the types of the original."""
    raw = pq.read_table(path).select(list(like.names))
    columns = []
    for name in like.names:
        kind = like.column(name).type
        column = raw.column(name)
        if pa.types.is_floating(column.type) and pa.types.is_integer(kind):
            column = pa.chunked_array([np.rint(column.to_numpy())])
        columns.append(column.cast(kind))
    return Table(pa.table(columns, names=list(like.names)), like.schema, like.layout)


def scores(
    original: Table, synthetic: Mapping[str, Table]
) -> dict[str, tuple[propensity.Propensity, ...]]:
    """PMSE by a tree and by a logit on the actual values, for each synthetic table."""
    encoding = fit_encoding(original)
    numbers, codes = _arrays(encoding, original)
    levels = [c.width for c in encoding.columns.values() if not c.is_numeric]
    found = {}
    for name, table in synthetic.items():
        both = (numbers, codes, *_arrays(encoding, table))
        rng = np.random.default_rng(1)
        tree = propensity.cart(*both, levels, permutations=2, rng=rng)
        found[name] = tree, propensity.logit(*both, levels)
    return found


def _arrays(encoding: Encoding, table: Table) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    block = encoding.encode(table)
    names = encoding.names
    numbers = [block.values[name] for name in names if encoding[name].is_numeric]
    codes = [
        np.where(block.codes[name] == encoding[name].missing, -1, block.codes[name])
        for name in names
        if not encoding[name].is_numeric
    ]
    empty = np.zeros((0, table.rows))
    return (
        np.ascontiguousarray(np.array(numbers or empty, dtype=np.float64).T),
        np.ascontiguousarray(np.array(codes or empty, dtype=np.int32).T),
    )
