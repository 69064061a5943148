"""Every kernel at doubling sizes: the exponent of its time beside the cost that it states.

python -m benchmarks.doubling [largest size as a share of the usual]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._clock import exponent, timed
from benchmarks._mixed import factor
from benchmarks.distance_filter import fitted, marks, tables
from benchmarks.neighbours import LEVELS, census
from understudy.kernels import boosting, comb, leaves, mixture, multinomial, propensity
from understudy.kernels.attribution import Keyed, cap, judged, settled
from understudy.kernels.ball_counts import tally
from understudy.kernels.balls import Around, shells
from understudy.kernels.dealing import spread
from understudy.kernels.gtcap import Reach, Traits, uniques
from understudy.kernels.jaccard import Jaccard
from understudy.kernels.nearer import share_of_first, spread_hits
from understudy.kernels.neighbours import Points, nearest
from understudy.kernels.pair_tables import crossed
from understudy.kernels.pairs import ripley
from understudy.kernels.predicates import Columns, Index, several_columns
from understudy.kernels.propensity_view import tree_scores
from understudy.kernels.regression import fit_regression
from understudy.kernels.resample import quantile_draws
from understudy.kernels.rows import overlap_null
from understudy.kernels.tree import class_target, grow
from understudy.kernels.windows import Window
from understudy.kernels.worst_case import Exact
from understudy.tables.cells import find_cells

STEPS = 4
REPEATS = 3

Task = Callable[[], Any]


class Case(NamedTuple):
    """A kernel: what it states, its largest size, and what makes a task of a given size."""

    name: str
    states: str
    largest: int
    prepare: Callable[[int, np.random.Generator], Task]


def _codes(rows: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[int], list[bool]]:
    levels = [2, 10, 50, 128, 128, 128]
    trait = rng.normal(size=rows)
    codes = [factor(trait + rng.normal(size=rows), k, rng).astype(np.int32) for k in levels[:3]]
    for k in levels[3:]:
        score = trait + rng.normal(size=rows)
        codes.append((np.argsort(np.argsort(score)) * k // rows).astype(np.int32))
    return codes, levels, [True] * 3 + [False] * 3


def _grow(rows: int, rng: np.random.Generator) -> Task:
    codes, levels, nominal = _codes(rows, rng)
    target = class_target(factor(codes[3] + 40 * rng.normal(size=rows), 10, rng), 10)
    return lambda: grow(codes, levels, nominal, target, rng=np.random.default_rng(1))


def _apply(rows: int, rng: np.random.Generator) -> Task:
    codes, levels, nominal = _codes(rows, rng)
    target = (codes[3] + 40 * rng.normal(size=rows))[:, None]
    few = slice(0, 4096)  # one tree shape for all sizes
    tree = grow([c[few] for c in codes], levels, nominal, target[few], rng=rng)
    return lambda: tree.apply(codes)


def _donors(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    count = max(rows // 8, 1)
    leaf = rng.integers(count, size=rows).astype(np.int32)
    return leaf, rng.integers(256, size=rows).astype(np.int32), count


def _tally(rows: int, rng: np.random.Generator) -> Task:
    leaf, cell, count = _donors(rows, rng)
    return lambda: leaves.tally(leaf, cell, count, 256)


def _draw(rows: int, rng: np.random.Generator) -> Task:
    leaf, cell, count = _donors(rows, rng)
    donors = leaves.tally(leaf, cell, count, 256)
    return lambda: leaves.draw(donors, leaf, np.random.default_rng(1))


def _find_cells(rows: int, rng: np.random.Generator) -> Task:
    values = np.round(np.exp(rng.normal(size=rows)), 3)
    return lambda: find_cells(values, step=0.001)


def _cells_of(rows: int, rng: np.random.Generator) -> Task:
    values = np.round(np.exp(rng.normal(size=rows)), 3)
    cells = find_cells(values[:10_000], step=0.001)
    return lambda: cells.of(values)


def _cells_draw(rows: int, rng: np.random.Generator) -> Task:
    values = np.round(np.exp(rng.normal(size=rows)), 3)
    cells = find_cells(values[:10_000], step=0.001)
    codes = cells.of(values)
    return lambda: cells.draw(codes, np.random.default_rng(1))


def _halves(rows: int, rng: np.random.Generator) -> tuple[Points, Points]:
    """Two draws of one process."""
    both = census(rng, 2 * rows, 6.0)
    return both.take(np.arange(rows)), both.take(np.arange(rows, 2 * rows))


def _nearest(rows: int, rng: np.random.Generator) -> Task:
    train, query = _halves(rows, rng)
    return lambda: nearest(train, query, 5)


def _tables(rows: int, rng: np.random.Generator) -> tuple[Any, ...]:
    real, other = _halves(rows, rng)
    return real.numbers, real.codes, other.numbers, other.codes, LEVELS


def _logit(rows: int, rng: np.random.Generator) -> Task:
    tables = _tables(rows, rng)
    return lambda: propensity.logit(*tables)


def _cart(rows: int, rng: np.random.Generator) -> Task:
    tables = _tables(rows, rng)
    return lambda: propensity.cart(*tables, permutations=2, rng=np.random.default_rng(1))


def _mixture(rows: int, rng: np.random.Generator) -> Task:
    points = rng.normal(size=(rows, 3)) + rng.integers(4, size=(rows, 1)) * 3.0
    begin = mixture.start(points, 20, floor=1e-6, rng=rng)
    return lambda: mixture.climb(points, begin, max_iter=10, tolerance=0.0)


def _multinomial(rows: int, rng: np.random.Generator) -> Task:
    terms = rng.normal(size=(rows, 8))
    label = np.argmax(terms[:, :4] + rng.gumbel(size=(rows, 4)), axis=1)
    return lambda: multinomial.fit(terms, label, 4)


def _overlap(rows: int, rng: np.random.Generator) -> Task:
    names = rng.zipf(1.3, size=2 * rows) % rows
    return lambda: overlap_null(names[:rows], names[rows:], np.random.default_rng(1), draws=5)


def _around(rows: int, rng: np.random.Generator) -> Around:
    records, others = rng.normal(size=(500, 2)), rng.normal(size=(rows, 2))
    return Around(records, rng.integers(16, size=500), others, rng.integers(16, size=rows))


def _shells(rows: int, rng: np.random.Generator) -> Task:
    around = _around(rows, rng)
    return lambda: shells(around, np.array([0.01, 0.05, 0.2]))


def _ball_tally(rows: int, rng: np.random.Generator) -> Task:
    around = _around(rows, rng)
    levels = rng.integers(4, size=500), rng.integers(4, size=rows)
    return lambda: tally(around, *levels, np.array([0.01, 0.05, 0.2]))


def _gtcap(rows: int, rng: np.random.Generator) -> Task:
    levels, nothing = rng.integers(0, 6, (rows, 2)), np.zeros((rows, 0))
    traits = Traits(levels, rng.normal(size=(rows, 2)), rng.integers(0, 7, (rows, 1)), nothing)
    return lambda: uniques(traits, traits, Reach((0.1, 0.1)), members=True).against(traits)


def _attribution(rows: int, rng: np.random.Generator) -> Task:
    people, drawn = (Keyed(*rng.integers(0, [[rows], [7]], (2, rows))) for _ in "ab")
    return lambda: (cap(people, drawn), judged(people, settled(drawn)))


def _ripley(rows: int, rng: np.random.Generator) -> Task:
    points = rng.beta(2, 3, size=(rows, 2))
    window, radii = Window.box([0.0, 0.0], [1.0, 1.0]), np.linspace(0.01, 0.25, 24)
    return lambda: ripley(points, radii, window)


def _quantile_draws(rows: int, rng: np.random.Generator) -> Task:
    values = rng.exponential(size=rows)
    return lambda: quantile_draws(values, 0.05, np.random.default_rng(1))


def _crossed(rows: int, rng: np.random.Generator) -> Task:
    first, second = (rng.integers(12, size=rows) for _ in "ab")
    return lambda: crossed(first, second, rows // 2)


def _share_of_first(rows: int, rng: np.random.Generator) -> Task:
    nearest_row, twin = rng.integers(rows, size=rows), rng.integers(rows, size=rows)
    first = np.arange(rows) < rows // 2
    return lambda: share_of_first(spread_hits(nearest_row, twin), first)


def _comb(rows: int, rng: np.random.Generator) -> Task:
    along, low = rng.permutation(rows), rng.random(rows) * 0.5
    return lambda: comb.log_measure(along, low, low + 0.5, rows)


def _boost(rows: int, rng: np.random.Generator) -> Task:
    codes, levels, nominal = _codes(rows, rng)
    label = factor(codes[3] + 40 * rng.normal(size=rows), 3, rng).astype(np.int32)
    # Rounds are chosen from the data; held fast here, so that rows alone differ.
    growth = boosting.Growth(20, 4, 20, 0.1, 1.0, 0.0)
    return lambda: boosting.grow(codes, levels, nominal, label, growth, 1)


def _regression(rows: int, rng: np.random.Generator) -> Task:
    design = np.column_stack([np.ones(rows), rng.normal(size=(rows, 11))])
    answer = (rng.random(rows) < 1 / (1 + np.exp(-design[:, 1]))).astype(float)
    return lambda: fit_regression(design, answer, "logistic")


def _view(rows: int, rng: np.random.Generator) -> Task:
    no = np.zeros((rows, 0), np.int32)
    one, other = rng.normal(size=(2, rows, 4))
    return lambda: tree_scores(one, no, other, no, [], rng=np.random.default_rng(1))


def _filter(rows: int, rng: np.random.Generator) -> Task:
    originals, query = tables(rows, 0.05)
    return lambda: fitted(originals, Exact).too_near(query)


def _filter_marks(rows: int, rng: np.random.Generator) -> Task:
    originals, query = marks(rows)
    return lambda: Jaccard(originals).too_near(query)


def _guesses(rows: int, rng: np.random.Generator) -> Task:
    trait = rng.normal(size=rows)
    ranks = np.stack([factor(trait + rng.normal(size=rows), k, rng) for k in (2, 7, 16, 40, 90)])
    sizes = [int(column.max()) + 1 for column in ranks]
    none = np.full(len(sizes), -1)
    kinds = Columns(np.array([False, False, False, True, True]), none, none)

    def task() -> Any:
        index = Index.of(ranks, sizes)
        found, _ = several_columns(index, kinds, 100, 3, np.random.default_rng(1))
        return index.matching(found)

    return task


def _dealt(rows: int, rng: np.random.Generator) -> Task:
    matching = np.array_split(rng.integers(rows, size=rows), rows // 4)
    return lambda: spread(matching, rows, rows // 2, np.random.default_rng(1))


CASES = (
    Case("tree.grow", "rows x log rows", 160_000, _grow),
    Case("tree.apply", "rows x depth", 800_000, _apply),
    Case("leaves.tally", "rows x log rows", 1_600_000, _tally),
    Case("leaves.draw", "rows x log pairs", 1_600_000, _draw),
    Case("cells.find", "rows x log rows", 1_600_000, _find_cells),
    Case("cells.of", "rows x log cells", 1_600_000, _cells_of),
    Case("cells.draw", "rows x log pieces", 1_600_000, _cells_draw),
    Case("neighbours.nearest", "train x query at worst", 24_000, _nearest),
    Case("mahalanobis.too_near", "searches by pattern of gaps", 24_000, _filter),
    Case("jaccard.too_near", "distinct rows^2 at worst", 24_000, _filter_marks),
    Case("propensity.logit", "rows x terms^2 x steps", 80_000, _logit),
    Case("propensity.cart", "rows x log rows x permutations", 40_000, _cart),
    Case("mixture.climb", "rows x components x steps", 80_000, _mixture),
    Case("multinomial.fit", "rows x (classes x terms)^2 x steps", 80_000, _multinomial),
    Case("rows.overlap_null", "rows x draws", 800_000, _overlap),
    Case("balls.shells", "records x rows of a cell", 800_000, _shells),
    Case("ball_counts.tally", "records x rows of a cell", 800_000, _ball_tally),
    Case("gtcap.uniques", "rows x log rows", 200_000, _gtcap),
    Case("attribution.judged", "rows x log rows", 800_000, _attribution),
    Case("pairs.ripley", "rows^2", 8_000, _ripley),
    Case("comb.log_measure", "rows x log rows", 800_000, _comb),
    Case("boosting.grow", "rows x predictors x classes x rounds", 80_000, _boost),
    Case("regression.fit", "rows x terms^2 x steps", 80_000, _regression),
    Case("propensity_view.trees", "rows x log rows", 40_000, _view),
    Case("pair_tables.crossed", "rows", 1_600_000, _crossed),
    Case("nearer.share_of_first", "rows", 1_600_000, _share_of_first),
    Case("predicates.several", "rows x log rows + tries", 400_000, _guesses),
    Case("dealing.spread", "matching rows x draws", 80_000, _dealt),
    Case("resample.quantile_draws", "rows x log rows + draws", 1_600_000, _quantile_draws),
)


def measure(case: Case, share: float = 1.0) -> Iterator[tuple[int, float]]:
    """Rows and the fastest processor seconds of a few runs, at doubling sizes."""
    for step in range(STEPS):
        rows = max(int(case.largest * share) >> (STEPS - 1 - step), 64)
        task = case.prepare(rows, np.random.default_rng(1))
        yield rows, min(timed(task)[1].cpu for _ in range(REPEATS))


def main(share: float = 1.0) -> None:
    for case in CASES:
        with threadpool_limits(1):
            sizes, seconds = zip(*measure(case, share), strict=True)
        shown = ", ".join(f"{1000 * second:,.0f}" for second in seconds)
        power = exponent(sizes, [max(second, 1e-6) for second in seconds])
        print(
            f"{case.name}: rows^{power:.2f} (states {case.states}); "
            f"{sizes[0]:,} to {sizes[-1]:,} rows: {shown} ms",
            flush=True,
        )


if __name__ == "__main__":
    main(*(float(word) for word in sys.argv[1:]))
