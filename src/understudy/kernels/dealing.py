"""Tables of equal size: how often a predicate would match exactly one row of them.

A predicate that singles out one of 10,000 rows may match none of 1,000, so tables of different
sizes cannot be compared. Tables of one size are dealt from the rows at hand instead. If M of n rows
match, s rows dealt without replacement hold exactly one of them with probability

    P(M) = M · C(n − M, s − 1) / C(n, s)

which is the mean over all tables that could be dealt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS = 200


def exactly_one(matches: Ints, rows: int, size: int) -> Floats:
    """P(M): the chance that one of the matching rows is among ``size`` of ``rows`` rows.

    Source: the hypergeometric distribution. Cost: O(predicates).

    Example:
        >>> exactly_one(np.array([0, 1, 2]), 4, 2).round(3).tolist()
        [0.0, 0.5, 0.667]
        >>> exactly_one(np.array([0, 1, 2]), 4, 4).tolist()
        [0.0, 1.0, 0.0]
    """
    possible = (matches >= 1) & (rows - matches >= size - 1)
    m = np.where(possible, matches, 1).astype(np.float64)
    log = np.log(m) + _choose(rows - m, size - 1.0) - _choose(float(rows), float(size))
    return np.where(possible, np.exp(log), 0.0)


def _choose(n: Floats | float, k: float) -> Floats:
    # Where n < k the answer is not used: any finite number will do.
    n = np.maximum(n, k)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def spread(
    matching: Sequence[NDArray[np.integer]],
    rows: int,
    size: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> float:
    """Standard deviation of the share of predicates that match exactly one row, table by table.

    Predicates that match the same rows succeed and fail together: counting them as independent
    would promise too much. Tables of ``size`` rows are dealt ``draws`` times. Predicates with more
    than 200 matches are taken to fail; with at least half of the rows dealt, they do.

    Cost: O(draws × matching rows).

    Example:
        >>> rng = np.random.default_rng(1)
        >>> both = [np.array([0]), np.array([0])]  # the same row twice: all or nothing
        >>> round(spread(both, 2, 1, rng, 2000), 1)
        0.5
    """
    few = [found for found in matching if 0 < len(found) <= DRAWS]
    if not few:
        return 0.0
    known, place = np.unique(np.concatenate(few), return_inverse=True)
    starts = np.concatenate(([0], np.cumsum([len(found) for found in few])[:-1]))
    shares = []
    for _ in range(draws):
        dealt = int(rng.hypergeometric(size, rows - size, len(known)))
        inside = rng.permutation(len(known)) < dealt
        hits = np.add.reduceat(inside[place].astype(np.int64), starts)
        shares.append(np.count_nonzero(hits == 1) / len(matching))
    return float(np.std(shares, ddof=1))
