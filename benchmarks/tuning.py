"""Tuning as Bale & Quick do it (section 6.2), against the same protocol written plainly.

3,361 people; five searches of 30 trials; each trial fits a mixture of the places with five starts
and three trees, draws 20 tables, and divides their mean tree pMSE by that of 20 pairs. The plain
version uses scikit-learn and `bayesian-optimization` in one process; every tenth trial is timed, at
the values that ours had there.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from bayes_opt import BayesianOptimization
from bayes_opt.acquisition import ExpectedImprovement
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks._clock import Took, timed, verdict
from understudy.api import read, tune, workers
from understudy.plans.plan import Plan, VisitPlan
from understudy.plans.tuning import Tuning
from understudy.seeds import stream
from understudy.study.tune import Tuned
from understudy.study.tune import tune as find
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.outbreak import outbreak
from understudy.tables.table import Table

PLACE, REST = ("longitude", "latitude"), ("sex", "age", "outcome")
PEOPLE, SEARCHES, TRIALS, REPLICATES = 3_361, 5, 30, 20
Floats = NDArray[np.float64]


def people(rows: int) -> Table:
    """Twice ``rows`` people, drawn with replacement as in the paper: one half is learnt from."""
    whole = outbreak().select([*PLACE, *REST])
    drawn = np.random.default_rng(20).choice(whole.num_rows, 2 * rows)
    return read(whole.take(drawn))


def protocol(searches: int, trials: int, replicates: int, rows: int) -> Plan:
    """The paper's plan and budget."""
    tuning = Tuning(
        seeds=searches,
        trials=trials,
        replicates=replicates,
        pairs=replicates,
        rows=rows,
        swap=False,
        fresh=1,
    )
    visits = (VisitPlan("mixture", PLACE, settings={"starts": 5}), VisitPlan("cart", REST))
    return Plan(visits=visits, tune=tuning)


def ours(rows: int, searches: int, trials: int, replicates: int) -> tuple[Tuned, Took]:
    """The package, on two workers."""
    table = people(rows)
    plan = protocol(searches, trials, replicates, rows)
    block = fit_encoding(table).encode(table)
    with workers(min(os.cpu_count() or 1, 2)) as map_:
        return timed(lambda: find(plan, block, seed=1, map_=map_))


def plain(rows: int, tuned: Tuned, replicates: int, every: int) -> tuple[int, float, Took]:
    """Every so many of our trials as one would write them down, and proposing as often.

    The same values, since the cost of a mixture is that of its components. Returns how many, the
    largest difference of the mean ratio to ours, and the time.
    """
    table = people(rows)
    order = stream(1, "tune", "split").permutation(table.rows)
    whole = fit_encoding(table).encode(table)
    study = Plain(whole.take(np.sort(order[:rows])), replicates)
    some = tuned.trials[every // 2 :: every]
    names = [parameter.path for parameter in tuned.free]
    made = BayesianOptimization(
        None,
        dict.fromkeys(names, (0.0, 1.0)),
        acquisition_function=ExpectedImprovement(xi=0.01),
        random_state=1,
        verbose=0,
        allow_duplicate_points=True,
    )
    gaps = []

    def run() -> None:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            for trial in some:
                made.suggest()
                ratio = study.ratio(*map(int, trial.values))
                places = [p.place(v) for p, v in zip(tuned.free, trial.values, strict=True)]
                made.register(dict(zip(names, places, strict=True)), -((1 - ratio) ** 2))
                gaps.append(abs(ratio - trial.outcome.number))

    with threadpool_limits(1):  # more threads make scikit-learn's mixtures slower here
        _, took = timed(run)
    return len(some), float(np.max(gaps)), took


class Plain:
    """One trial in plain scikit-learn."""

    def __init__(self, block: Block, replicates: int) -> None:
        self.place = np.column_stack([block.values[name] for name in PLACE])
        self.codes = [block.codes[name].astype(float) for name in REST]
        self.replicates = replicates
        self.rng = np.random.default_rng(1)

    def ratio(self, components: int, *leaves: int) -> float:
        """The mean pMSE ratio of one trial."""
        mixture = GaussianMixture(components, n_init=5, init_params="k-means++", random_state=1)
        mixture.fit((self.place - self.place.mean(axis=0)) / self.place.std(axis=0))
        trees = self.trees(leaves)
        drawn = [self.draw(mixture, trees) for _ in range(self.replicates)]
        real = np.column_stack([self.place, *self.codes])
        above = np.mean([pmse(real, one) for one in drawn])
        below = np.mean(
            [pmse(one, two) for one, two in zip(drawn, drawn[1:] + drawn[:1], strict=True)]
        )
        return float(above / below)

    def trees(self, leaves: Sequence[int]) -> list[tuple[DecisionTreeClassifier, NDArray[Any]]]:
        """A tree for each column given those before, and the leaf of every person."""
        known, made = self.place, []
        for leaf, codes in zip(leaves, self.codes, strict=True):
            tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=1).fit(known, codes)
            made.append((tree, tree.apply(known)))
            known = np.column_stack([known, codes])
        return made

    def draw(self, mixture: GaussianMixture, trees: list[Any]) -> Floats:
        """A table: places, then each column from a Bayesian bootstrap of its leaf."""
        mixture.set_params(random_state=int(self.rng.integers(2**31)))
        known = mixture.sample(len(self.place))[0] * self.place.std(axis=0) + self.place.mean(
            axis=0
        )
        for (tree, owner), codes in zip(trees, self.codes, strict=True):
            leaf, value = tree.apply(known), np.empty(len(known))
            for one in np.unique(leaf):
                donors, rows = codes[owner == one], leaf == one
                share = self.rng.dirichlet(np.ones(len(donors)))
                value[rows] = self.rng.choice(donors, rows.sum(), p=share)
            known = np.column_stack([known, value])
        return known


def pmse(real: Floats, synthetic: Floats) -> float:
    """The tree's pMSE, in plain scikit-learn."""
    both, label = np.concatenate([real, synthetic]), np.repeat([0, 1], [len(real), len(synthetic)])
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=1).fit(both, label)
    return float(np.mean((tree.predict_proba(both)[:, 1] - 0.5) ** 2))


def adult() -> None:
    """Tuning of adult.csv with the shipped plan, where that table is at hand."""
    path = Path(os.environ.get("UNDERSTUDY_DATA", "")) / "adult.csv"
    if not path.is_file():
        print("adult.csv is not here (UNDERSTUDY_DATA): skipped")
        return
    tuned, took = timed(lambda: tune(path, plan="bale-quick", seed=1, jobs=2))
    again = np.mean([outcome.number for outcome in tuned.again])
    print(
        f"adult.csv, {len(tuned.free)} free settings, {len(tuned.trials)} trials on {tuned.rows:,} "
        f"of {tuned.of:,} rows: {took}; ratio on fresh seeds {again:.3f}"
    )
    print(verdict("tuning of adult.csv", took.wall / 60, 10, " min"))


def main(
    rows: int = PEOPLE, searches: int = SEARCHES, trials: int = TRIALS, every: int = 10
) -> None:
    """Print how long both take."""
    replicates = REPLICATES if rows == PEOPLE else 4
    tuned, mine = ours(rows, searches, trials, replicates)
    made, gap, theirs = plain(rows, tuned, replicates, every)
    whole = theirs.wall * searches * trials / made
    print(
        f"n={rows:,}, {searches} searches of {trials} trials, {replicates} tables: {mine}; "
        f"objective {tuned.loss(tuned.chosen):.2g}, ratio on a fresh seed "
        f"{tuned.again[0].number:.3f}"
    )
    print(f"plainly, {made} of these trials: {theirs}, ratios within {gap:.2f} of ours")
    print(f"all of them plainly: about {whole:.0f} s")
    print(verdict("the paper's protocol", mine.wall / 60, 6, " min"))
    print(verdict("times as fast as plainly", whole / mine.wall, 10, least=True))
    if rows == PEOPLE and "--short" not in sys.argv:
        adult()


if __name__ == "__main__":
    main()
