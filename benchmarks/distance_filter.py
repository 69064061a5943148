"""The distance filter on 50,000 people: bars, ratios to all pairs, growth when the table doubles.

python -m benchmarks.distance_filter [rows of the largest table]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from benchmarks._clock import exponent, timed, verdict
from understudy.kernels.filtering import Typed, at_most
from understudy.kernels.jaccard import Jaccard
from understudy.kernels.mahalanobis import Mahalanobis
from understudy.kernels.near_singular import correlations
from understudy.kernels.neighbours import Points
from understudy.kernels.worst_case import Exact, Paper

Floats = NDArray[np.float64]
COLUMNS = 10
ASKED = 60  # queries of the plain version
OTHERS = 200  # rows that the plain version with gaps looks at for a query


def people(rows: int, rng: np.random.Generator) -> Floats:
    """Ten correlated columns: five continuous, a count, a grade, a skewed number and two marks."""
    hidden = rng.normal(size=(rows, 3))
    found = hidden @ rng.normal(0, 0.6, size=(3, COLUMNS)) + rng.normal(size=(rows, COLUMNS))
    found[:, 5] = np.floor(found[:, 5] * 4)
    found[:, 6:8] = found[:, 6:8] > [0.5, 1.0]
    found[:, 8] = np.clip(np.round(found[:, 8] * 1.3), -2, 2)
    found[:, 9] = np.round(np.exp(found[:, 9] / 2))
    return found


def tables(rows: int, share: float) -> tuple[Floats, Floats]:
    """Originals and as many others of one process, in the originals' standard deviations."""
    rng = np.random.default_rng(1)
    both = people(2 * rows, rng)
    both[rng.random(both.shape) < share] = np.nan
    both = (both - np.nanmean(both[:rows], axis=0)) / np.nanstd(both[:rows], axis=0)
    return both[:rows], both[rows:]


def fitted(originals: Floats, case: type[Paper] | type[Exact]) -> Mahalanobis:
    """The filter for originals."""
    ends = [np.array([[np.nanmin(column)], [np.nanmax(column)]]) for column in originals.T]
    columns = [[column] for column in range(originals.shape[1])]
    return Mahalanobis(originals, case(correlations(originals), columns, ends))


def ours(rows: int, share: float, case: type[Paper] | type[Exact] = Exact) -> tuple[Any, float]:
    """What is dropped, and processor seconds: from originals to answers."""
    originals, query = tables(rows, share)
    found, took = timed(lambda: fitted(originals, case).too_near(query))
    return found, took.cpu


def plain(rows: int, asked: int) -> tuple[Any, float]:
    """All pairs, without gaps: seconds for all rows, from those of a few."""
    originals, query = tables(rows, 0.0)
    root = cholesky(np.linalg.inv(np.cov(originals.T, ddof=0)), lower=True)
    white, query = originals @ root, query[:asked] @ root

    def task() -> list[bool]:
        dropped = []
        for z in query:
            far = np.square(white - z).sum(axis=1)
            near = int(np.flatnonzero(far <= at_most(np.sqrt(far.min())) ** 2)[0])
            own = np.square(white - white[near]).sum(axis=1)
            own[near] = np.inf
            dropped.append(bool(at_most(np.sqrt(far[near])) < np.sqrt(own.min())))
        return dropped

    found, took = timed(task)
    return found, took.cpu * rows / asked


def plain_with_gaps(rows: int, asked: int) -> float:
    """All pairs, with gaps: seconds for the smallest distances alone, from those of a few pairs."""
    originals, query = tables(rows, 0.05)
    matrix = correlations(originals)

    def task() -> None:
        for z in query[:asked]:
            for x in originals[:OTHERS]:
                gap = z - x
                seen = ~np.isnan(gap)
                np.sqrt(gap[seen] @ np.linalg.inv(matrix[np.ix_(seen, seen)]) @ gap[seen])

    return timed(task)[1].cpu * (rows / asked) * (rows / min(OTHERS, rows))


def growth(task: Callable[[int], float], largest: int) -> tuple[float, list[float]]:
    """Exponent of the seconds at an eighth, a quarter, a half and all of the rows; and these."""
    sizes = [largest // 8, largest // 4, largest // 2, largest]
    seconds = [task(size) for size in sizes]
    return exponent(sizes, [max(second, 1e-6) for second in seconds]), seconds


def typed_seconds(rows: int) -> float:
    """Processor seconds of the filter under the typed metric, five columns being levels."""
    originals, query = tables(rows, 0.05)
    blocks = []
    for block in (originals, query):
        codes = np.nan_to_num(np.round(block[:, 5:] * 2), nan=-99).astype(np.int32)
        blocks.append(Points(block[:, :5], np.where(codes == -99, -1, codes + 50)))
    return timed(lambda: Typed(blocks[0]).too_near(blocks[1]))[1].cpu


def marks(rows: int) -> tuple[Floats, Floats]:
    """Originals and as many others: forty marks that three hidden traits explain."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(2 * rows, 3))
    score = hidden @ rng.normal(size=(3, 40)) + rng.normal(size=(2 * rows, 40))
    found = (score > rng.uniform(0, 2, size=40)).astype(np.float64)
    return found[:rows], found[rows:]


def jaccard_seconds(rows: int) -> float:
    """Processor seconds of the filter for forty marks."""
    originals, query = marks(rows)
    return timed(lambda: Jaccard(originals).too_near(query))[1].cpu


def main(largest: int = 50_000) -> None:
    """Processor seconds: what the wall shows on a quiet machine with one thread."""
    asked = min(ASKED, largest)
    for share, bar in ((0.0, 5.0), (0.05, 30.0)):
        power, seconds = growth(lambda rows, share=share: ours(rows, share)[1], largest)
        slow = plain(largest, asked)[1] if not share else plain_with_gaps(largest, min(asked, 20))
        print(
            f"{largest:,} x {COLUMNS}, {share:.0%} missing: {seconds[-1]:.2f} s, "
            f"{slow / seconds[-1]:,.0f} times faster than all pairs (from a sample), "
            f"{', '.join(f'{second:.2f}' for second in seconds)} s at doubling sizes"
        )
        print(verdict("seconds", seconds[-1], bar, " s"))
        print(verdict("rows to the power of", power, 1.3))
        print(f"the last doubling alone: rows^{np.log2(seconds[-1] / seconds[-2]):.2f}")
    found = ours(largest, 0.0)[0][:asked]
    print(f"same answers as all pairs: {int((found == plain(largest, asked)[0]).sum())} of {asked}")
    print(f"paper's substitution, 5% missing: {ours(largest, 0.05, Paper)[1]:.2f} s")
    for name, task in (
        ("typed, 5% missing", typed_seconds),
        ("jaccard, 40 marks", jaccard_seconds),
    ):
        power, seconds = growth(task, largest)
        print(f"{name}: {seconds[-1]:.2f} s, rows^{power:.2f}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
