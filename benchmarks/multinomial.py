"""The penalised multinomial logit against scikit-learn's saga, to the same objective."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from understudy.kernels import multinomial

ROWS, TERMS, CLASSES = 3_361, 60, 10


def labelled(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Dummies and correlated numbers, classes of unequal size."""
    dummies = rng.random((ROWS, 40)) < rng.beta(1, 6, 40)
    numbers = rng.normal(size=(ROWS, 20)) + 0.5 * rng.normal(size=(ROWS, 1))
    terms = np.concatenate([dummies, numbers], axis=1)
    effect = rng.normal(0, 0.8, (TERMS, CLASSES)) * (rng.random((TERMS, CLASSES)) < 0.4)
    scores = terms @ effect + np.log(rng.dirichlet(np.full(CLASSES, 0.7)) + 1e-3)
    return terms, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def main() -> None:
    terms, label = labelled(np.random.default_rng(20))
    classes, label = np.unique(label, return_inverse=True)
    with threadpool_limits(1):
        multinomial.fit(terms[:200, :3], label[:200] % 2, 2)  # imports
        for strength in (0.05, 1.0):
            clock = time.perf_counter()
            ours = multinomial.fit(terms, label, len(classes), strength=strength)
            mine = time.perf_counter() - clock
            peer = LogisticRegression(
                C=strength, l1_ratio=1.0, solver="saga", tol=1e-4, max_iter=1000, random_state=0
            )
            clock = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                peer.fit(terms, label)
            theirs = time.perf_counter() - clock
            loss = -peer.predict_log_proba(terms)[np.arange(ROWS), label].sum()
            gap = strength * loss + np.abs(peer.coef_).sum() - ours.objective
            print(
                f"multinomial n={ROWS} terms={TERMS} classes={len(classes)} C={strength}: "
                f"{mine:.2f} s, scikit-learn {theirs:.2f} s: {theirs / mine:.1f} times as fast, "
                f"its objective is {gap:+.1e} from ours"
            )


if __name__ == "__main__":
    main()
