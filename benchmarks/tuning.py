"""Tuning as Bale & Quick do it (section 6.2), against the same protocol written plainly.

3,361 people; five searches of 30 trials; each trial fits a mixture of the places with five starts
and three trees, draws 20 tables, and divides their mean tree pMSE by that of 20 pairs. The plain
version uses scikit-learn and `bayesian-optimization` in one process, with the same ranges on the
same logarithmic scale; a tenth of its trials are timed.
"""

from __future__ import annotations

import os
import sys
import warnings
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
from understudy.study.tune import Tuned
from understudy.study.tune import tune as find
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.outbreak import outbreak
from understudy.tables.table import Table

PLACE, REST = ("longitude", "latitude"), ("sex", "age", "outcome")
PEOPLE, SEARCHES, TRIALS, REPLICATES = 3_361, 5, 30, 20
CEILINGS = {"K": (1, 840), "b": (2, 840)}
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


def plain(rows: int, trials: int, replicates: int) -> tuple[float, Took]:
    """The same, as one would write it down; the smallest objective and the time."""
    table = people(rows)
    block = fit_encoding(table).encode(table).take(slice(rows))
    study = Plain(block, replicates)
    ends = {"K": CEILINGS["K"], **dict.fromkeys(REST, CEILINGS["b"])}
    model = BayesianOptimization(
        lambda **x: -study.objective({k: scaled(v, *ends[k]) for k, v in x.items()}),
        dict.fromkeys(ends, (0.0, 1.0)),
        acquisition_function=ExpectedImprovement(xi=0.01),
        random_state=1,
        verbose=0,
        allow_duplicate_points=True,
    )
    first = min(5, trials)

    def run() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.maximize(init_points=first, n_iter=trials - first)
        return float(-model.max["target"])

    with threadpool_limits(1):  # more threads make scikit-learn's mixtures slower here
        return timed(run)


def scaled(place: float, low: int, high: int) -> int:
    """A whole number on a logarithmic scale."""
    return round(low * (high / low) ** place)


class Plain:
    """One trial in plain scikit-learn."""

    def __init__(self, block: Block, replicates: int) -> None:
        self.place = np.column_stack([block.values[name] for name in PLACE])
        self.codes = [block.codes[name].astype(float) for name in REST]
        self.replicates = replicates
        self.rng = np.random.default_rng(1)

    def objective(self, values: dict[str, int]) -> float:
        """(1 − mean pMSE ratio)²."""
        mixture = GaussianMixture(values["K"], n_init=5, init_params="k-means++", random_state=1)
        mixture.fit(self.place)
        trees = self.trees([values[name] for name in REST])
        drawn = [self.draw(mixture, trees) for _ in range(self.replicates)]
        real = np.column_stack([self.place, *self.codes])
        above = np.mean([pmse(real, one) for one in drawn])
        below = np.mean(
            [pmse(one, two) for one, two in zip(drawn, drawn[1:] + drawn[:1], strict=True)]
        )
        return float((1 - above / below) ** 2)

    def trees(self, leaves: list[int]) -> list[tuple[DecisionTreeClassifier, NDArray[Any]]]:
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
        known = mixture.sample(len(self.place))[0]
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


def main(rows: int = PEOPLE, searches: int = SEARCHES, trials: int = TRIALS) -> None:
    """Print how long both take."""
    replicates = REPLICATES if rows == PEOPLE else 4
    tuned, mine = ours(rows, searches, trials, replicates)
    sample = max(searches * trials // 10, 3)
    best, theirs = plain(rows, sample, replicates)
    whole = theirs.wall * searches * trials / sample
    print(
        f"n={rows:,}, {searches} searches of {trials} trials, {replicates} tables: {mine}; "
        f"objective {tuned.loss(tuned.chosen):.2g}, ratio on a fresh seed "
        f"{tuned.again[0].number:.3f}"
    )
    print(f"plainly, {sample} trials: {theirs}, objective {best:.2g}; in all about {whole:.0f} s")
    print(verdict("the paper's protocol", mine.wall / 60, 6, " min"))
    print(verdict("times as fast as plainly", whole / mine.wall, 10, least=True))
    if rows == PEOPLE and "--short" not in sys.argv:
        adult()


if __name__ == "__main__":
    main()
