"""Standardised pMSE ratios of all pairs of 15 columns x 48,842 rows, against a plain version.

The plain version crosses two columns row by row in a dictionary, and finds the null by shuffling
the pooled rows 20 times. It does so for one pair; its time is scaled to all of them.

python -m benchmarks.pair_ratios [rows]
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks._clock import timed, verdict
from benchmarks._mixed import mixed
from understudy.kernels.pair_tables import Crossed, crossed
from understudy.tables.encode import fit_encoding
from understudy.utility.grouping import grouping

COLUMNS = 15
SHUFFLES = 20
SAMPLE = 1
LIMIT = 5.0


def codes(rows: int) -> tuple[list[np.ndarray], int]:
    """Grouped columns of two tables, one after the other; and the rows of the first."""
    table = mixed(2 * rows)
    encoding = fit_encoding(table)
    block = encoding.encode(table)
    rng = np.random.default_rng(1)
    found = []
    for place in range(COLUMNS):
        name = block.names[place % len(block.names)]
        counts = np.bincount(block.codes[name], minlength=encoding[name].width)
        group = grouping(encoding[name], counts[: encoding[name].size])[block.codes[name]]
        found.append(group if place < len(block.names) else rng.permutation(group))
    return found, rows


def plain_pmse(first: list[int], second: list[int], synthetic: list[bool]) -> float:
    """The mean square over rows, cell by cell in dictionaries."""
    both: Counter[tuple[int, int]] = Counter()
    made: Counter[tuple[int, int]] = Counter()
    for a, b, is_made in zip(first, second, synthetic, strict=True):
        both[a, b] += 1
        made[a, b] += is_made
    share = sum(synthetic) / len(synthetic)
    return sum(m * (made[cell] / m - share) ** 2 for cell, m in both.items()) / len(synthetic)


def plain(first: np.ndarray, second: np.ndarray, original: int) -> tuple[float, float]:
    """pMSE, and its mean when labels are shuffled."""
    a, b = first.tolist(), second.tolist()
    label = np.arange(len(a)) >= original
    rng = np.random.default_rng(2)
    null = [plain_pmse(a, b, rng.permutation(label).tolist()) for _ in range(SHUFFLES)]
    return plain_pmse(a, b, label.tolist()), float(np.mean(null))


def measure(rows: int) -> dict[str, Any]:
    """Seconds of all pairs, those of the plain version for as many, and how far they differ."""
    columns, original = codes(rows)
    pairs = list(combinations(range(COLUMNS), 2))

    def ours() -> list[Crossed]:
        return [crossed(columns[i], columns[j], original) for i, j in pairs]

    found, took = timed(ours)
    slow, plainly = timed(
        lambda: [plain(columns[i], columns[j], original) for i, j in pairs[:SAMPLE]]
    )
    fast = found[:SAMPLE]
    gap = max(abs(one.pmse - other[0]) for one, other in zip(fast, slow, strict=True))
    null = max(abs(one.expected / other[1] - 1) for one, other in zip(fast, slow, strict=True))
    ratio = plainly.wall * len(pairs) / SAMPLE / took.wall
    return {"took": took, "ratio": ratio, "gap": gap, "null": null, "pairs": len(pairs)}


def main(rows: int = 48_842) -> None:
    """Print seconds and the ratio."""
    found = measure(rows)
    print(
        f"{found['pairs']} pairs of 2 x {rows:,} rows: {found['took']}; largest difference of pMSE "
        f"{found['gap']:.1g}, of the null {found['null']:.1%} (shuffled {SHUFFLES} times)"
    )
    print(f"{found['ratio']:,.0f} times faster than a plain loop that shuffles")
    print(verdict(f"{COLUMNS} columns, {rows:,} rows", found["took"].wall, LIMIT, " s"))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
