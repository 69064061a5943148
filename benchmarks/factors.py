"""A factor of 10, 300 or 5,000 levels in a table of 48,000 rows, as target and as predictor.

python -m benchmarks.factors [rows]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks._clock import Took, timed, verdict
from benchmarks._mixed import factor, mixed, named
from benchmarks._synthesis import synthesize
from understudy.seeds import stream
from understudy.synth.cart import Cart
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

LEVELS = (10, 300, 5_000)
REPEATS = 3


def with_factor(rows: int, levels: int) -> Table:
    """The mixed table and one more factor that depends on a number of it."""
    base = mixed(rows)
    rng = np.random.default_rng(2)
    score = np.log1p(base.column("number0").to_numpy()) + rng.normal(size=rows)
    data = base.data.append_column("wide", named(factor(score, levels, rng)))
    return Table(data, Schema((*base.schema, Column("wide", Kind.CATEGORY))))


def visit(table: Table, target: str, given: tuple[str, ...]) -> Took:
    """Fit and sample one column; the fastest of a few runs."""
    block = fit_encoding(table).encode(table)

    def once() -> Any:
        fitted = Cart(min_leaf=5).fit(block, [target], given, rng=stream(1, "fit", target))
        return fitted.sample(block, rng=stream(1, "sample", target))

    return min((timed(once)[1] for _ in range(REPEATS)), key=lambda took: took.cpu)


def costs(rows: int, levels: int) -> dict[str, Took]:
    """Seconds of the factor as target, as predictor of a factor and of a number, of the table."""
    table = with_factor(rows, levels)
    others = tuple(name for name in table.names if name != "wide")
    rest = tuple(name for name in others if name not in ("factor10", "number3"))
    whole = min((timed(lambda: synthesize(table))[1] for _ in range(2)), key=lambda took: took.cpu)
    return {
        "target": visit(table, "wide", others),
        "predictor of a factor": visit(table, "factor10", (*rest, "wide")),
        "predictor of a number": visit(table, "number3", (*rest, "wide")),
        "whole table": whole,
    }


def main(rows: int = 48_000, levels: tuple[int, ...] = LEVELS) -> None:
    found = {k: costs(rows, k) for k in levels}
    first = found[levels[0]]
    for k in levels:
        print(
            f"{k:>5} levels: " + ", ".join(f"{what} {t.cpu:.2f} s" for what, t in found[k].items())
        )
    for k in levels[1:]:
        for what, took in found[k].items():
            ratio = took.cpu / first[what].cpu
            print(verdict(f"{k} levels, {what}, times {levels[0]} levels", ratio, 3.0))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
