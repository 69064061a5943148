"""Exact nearest neighbours: ratio to a plain version, and growth when the table doubles."""

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from understudy.kernels.neighbours import Points, distances, nearest

LEVELS = (9, 16, 7, 15, 6, 5, 2, 42, 2)


def census(rng: np.random.Generator, n: int, grid: float | None) -> Points:
    """Six dependent numbers, two of them mostly zero, and nine codes of 2 to 42 levels."""
    hidden = rng.normal(size=(n, 3))
    numbers = hidden @ rng.normal(0, 0.6, size=(3, 6)) + rng.normal(size=(n, 6))
    numbers[:, 4:] = np.where(rng.random((n, 2)) < 0.93, 0, np.exp(numbers[:, 4:]))
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    codes = np.empty((n, len(LEVELS)), dtype=np.int32)
    for j, levels in enumerate(LEVELS):
        share = np.arange(1, levels + 1) ** -1.3
        score = 0.8 * hidden[:, j % 3] + 0.6 * rng.normal(size=n)
        place = np.argsort(np.argsort(score)) / n
        codes[:, j] = np.searchsorted(np.cumsum(share / share.sum())[:-1], place, side="right")
    return Points(np.round(numbers * grid) / grid if grid else numbers, codes)


def plain(train: Points, query: Points, k: int) -> None:
    """One query at a time against all rows of train."""
    for row in range(len(query)):
        far = distances(query.take(np.full(len(train), row)), train)
        np.argsort(far, kind="stable")[:k]


def seconds(task: Callable[..., Any], *args: Any, **settings: Any) -> float:
    start = time.perf_counter()
    task(*args, **settings)
    return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(1)
    with ThreadPoolExecutor(2) as pool:
        for name, grid in (("continuous", None), ("rounded", 6.0)):
            train, query = census(rng, 50_000, grid), census(rng, 50_000, grid)
            half = [points.take(np.arange(25_000)) for points in (train, query)]
            whole = seconds(nearest, train, query, 5, map_=pool.map)
            growth = math.log2(whole / seconds(nearest, *half, 5, map_=pool.map))
            sample = seconds(plain, train, query.take(np.arange(50)), 5) * len(query) / 50
            print(
                f"{name}: 50,000 x 50,000 in {whole:.2f} s, {sample / whole:.0f} times faster "
                f"than plain (from a sample of 50 queries), doubling exponent {growth:.2f}"
            )
        small = census(rng, 1000, None), census(rng, 1000, None)
        best = min(seconds(nearest, *small, 5) for _ in range(10))
        print(f"1,000 x 1,000 in {best * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
