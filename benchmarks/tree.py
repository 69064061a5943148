"""Growth of CART structure: how time grows with rows, and against a plain scikit-learn tree.

Every column of a made-up table is grown from the earlier ones and applied twice, as sequential
synthesis does. "Plain" is scikit-learn on the raw values, fitted and applied twice in this run.

    python benchmarks/tree.py [rows] [structure_rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from understudy.kernels.tree import class_target, grow

CATEGORIES = (2, 3, 5, 10, 25, 50)
BINS = 128


def table(n: int, rng: np.random.Generator) -> list[NDArray[Any]]:
    """Return six categorical columns (integers) and six skewed or two-humped ones (floats)."""
    trait = rng.normal(size=n)
    columns: list[NDArray[Any]] = []
    for k, levels in enumerate(CATEGORIES):
        mixed = 0.6 * trait + rng.normal(size=n)
        shuffled = rng.permutation(levels)
        cuts = np.quantile(mixed, np.sort(rng.random(levels - 1)))
        columns.append(shuffled[np.searchsorted(cuts, mixed)])
        hump = np.where(rng.random(n) < 0.5, 0.0, 4.0) + rng.normal(size=n) + trait
        columns.append(np.exp(0.7 * trait + rng.normal(size=n)) if k % 2 else hump)
    return columns


def binned(column: NDArray[Any]) -> NDArray[np.int32]:
    if column.dtype.kind == "i":
        return column.astype(np.int32)
    edges = np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.searchsorted(edges, column).astype(np.int32)


def ours(columns: Sequence[NDArray[Any]], structure_rows: int | None) -> Callable[[int], None]:
    codes = [binned(column) for column in columns]
    levels = [int(code.max()) + 1 for code in codes]
    nominal = [column.dtype.kind == "i" for column in columns]

    def one(j: int) -> None:
        y = class_target(codes[j], levels[j]) if nominal[j] else columns[j][:, None]
        rng = np.random.default_rng(j)
        tree = grow(codes[:j], levels[:j], nominal[:j], y, structure_rows=structure_rows, rng=rng)
        for _ in range(2):
            tree.apply(codes[:j])

    return one


def plain(columns: Sequence[NDArray[Any]]) -> Callable[[int], None]:
    def one(j: int) -> None:
        X = np.stack(columns[:j], axis=1).astype(np.float32)
        kind = DecisionTreeClassifier if columns[j].dtype.kind == "i" else DecisionTreeRegressor
        model = kind(min_samples_leaf=5, random_state=0).fit(X, columns[j])
        for _ in range(2):
            model.tree_.apply(X)

    return one


def seconds(one: Callable[[int], None], columns: int, threads: int = 2) -> float:
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(columns - 1, 0, -1)))
    return time.perf_counter() - start


def main(rows: int = 100_000, structure_rows: int | None = None) -> None:
    times = []
    for n in (rows // 4, rows // 2, rows):
        columns = table(n, np.random.default_rng(1))
        took = seconds(ours(columns, structure_rows), len(columns))
        times.append(took)
        line = f"{n:>9,} rows x {len(columns)}: {took:.2f} s"
        if n <= 100_000:
            other = seconds(plain(columns), len(columns))
            line += f"; plain scikit-learn {other:.2f} s, {other / took:.2f} times as long"
        print(line)
    print(f"doubling exponent: {np.log2(times[-1] / times[0]) / 2:.2f}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
