"""Table 1 of Bale & Quick: what 300 repetitions take, against the same numbers written plainly.

The plain version is what a user would write: scikit-learn's nearest neighbours, polynomial terms
and unpenalised logistic regression, one setting after another in one process.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks._clock import timed, verdict
from understudy.api import workers
from understudy.reproduce.item import Bench
from understudy.reproduce.simulation import COVARIANCES, Table1
from understudy.seeds import stream

OURS, PLAIN = 12, 1  # repetitions of ten settings
MINUTES = 10.0  # bar for 300 repetitions


class Plain(Table1):
    """The same numbers from the same samples, written with scikit-learn."""

    def once(self, seed: int, job: tuple[int, int]) -> np.ndarray:
        """One repetition of one setting."""
        repetition, setting = job
        rng = stream(seed, "table1", repetition, setting)
        train, *others = self._samples(rng, COVARIANCES[setting])
        search = NearestNeighbors(n_neighbors=5).fit(train)
        found = []
        for rows in others:
            far, _ = search.kneighbors(rows)
            ratio = far[:, 0] / far[:, 4]
            low = partial(np.quantile, q=0.05, method="inverted_cdf")
            found += [np.mean(far[:, 0] <= self.delta), low(far[:, 0]), low(ratio)]
        return np.array([*found, self._ratio(train, others[0])])

    def _ratio(self, train: np.ndarray, synthetic: np.ndarray) -> float:
        rows = np.concatenate([train, synthetic])
        label = np.repeat([0, 1], [len(train), len(synthetic)])
        model = make_pipeline(
            PolynomialFeatures(self.order, include_bias=False),
            StandardScaler(),
            LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-6),
        )
        p = model.fit(rows, label).predict_proba(rows)[:, 1]
        terms = model[-1].coef_.size
        return float(np.mean((p - 0.5) ** 2) / (terms * 0.25 / len(rows)))


def main() -> None:
    with workers(None) as map_:
        ours, took = timed(lambda: Table1(repetitions=OURS).run(Bench(1, map_)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        jobs = [(0, k) for k in range(len(COVARIANCES))]
        theirs, plain = timed(lambda: [Plain().once(1, job) for job in jobs])
    mine = np.array([Table1().once(1, job) for job in jobs])
    off = float(np.max(np.abs(mine - np.array(theirs))))
    each, other = took.wall / OURS, plain.wall / PLAIN
    print(f"table1: {OURS} repetitions of ten settings took {took}: {each:.2f} s each")
    print(f"plainly with scikit-learn in one process: {other:.2f} s each ({plain})")
    print(f"{other / each:.1f} times as fast; numbers differ by at most {off:.1e}")
    print(verdict("300 repetitions", 300 * each / 60, MINUTES, " min"))
    print("; ".join(claim.verdict.value for claim in ours.claims))


if __name__ == "__main__":
    main()
