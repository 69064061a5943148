"""The F1 score of an attacker who claims that people were in the sample, beside the ECAP.

He claims a person whenever some released value lies in the person's I₁. With p and h as in
`understudy.kernels.ecap`, a person who was sampled is claimed with probability
1 − (1−h)(1−p)ⁿ⁻¹, and one who was not with probability 1 − (1−p)ⁿ. How often claims are right
depends on how many of those he asks about were sampled: with n of N it is the ECAP, with the half
that F1 is usually computed on it is far more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.ecap import Chances
from understudy.kernels.laws import Floats


@dataclass(frozen=True)
class Claims:
    """How good an attacker's claims of membership are.

    Attributes:
        precision: share of the claims that are right.
        recall: share of the members who are claimed.
        f1: their harmonic mean.
        naive: F1 of claiming everybody.
    """

    precision: float
    recall: float
    f1: float
    naive: float


def expected_claims(found: Chances, sample: int, share: float) -> Claims:
    """What the attacker can expect if a share of those he asks about are members.

    Example:
        >>> from understudy.kernels.ecap import chances, equation
        >>> from understudy.kernels.laws import Normal
        >>> from understudy.kernels.population import Population
        >>> found = chances(Population(1500, Normal(170.0, 12.0)), np.array([178.0]), 0.1)
        >>> claims = expected_claims(found, 25, 25 / 1500)
        >>> ecap = equation(found, 1500, 25, replacement=False)[0]
        >>> bool(np.isclose(claims.precision, ecap))
        True
        >>> round(expected_claims(found, 25, 0.5).precision, 2)
        0.89
    """
    p, own, n = found.others, found.own, float(sample)
    with np.errstate(divide="ignore"):
        miss = np.exp((n - 1) * np.log1p(-p)) if n > 1 else np.ones(len(p))
        recall = float((1 - (1 - own) * miss).mean())
        false = float((1 - miss * (1 - p)).mean())
    return _claims(share * recall, (1 - share) * false, share)


def counted_claims(members: NDArray[np.bool_], others: NDArray[np.bool_]) -> Claims:
    """What an attacker got: which members and which others he claimed; both count alike.

    Example:
        >>> counted_claims(np.array([True, True, False, True]), np.array([True, False]))
        Claims(precision=0.6, recall=0.75, f1=0.6666666666666665, naive=0.6666666666666666)
    """
    recall = float(members.mean()) if members.size else 0.0
    false = float(others.mean()) if others.size else 0.0
    return _claims(recall / 2, false / 2, 0.5)


def claimed(values: Floats, left: Floats, right: Floats, released: Floats) -> NDArray[np.bool_]:
    """Which people have a released value in their interval, ends included.

    Cost: a search in the sorted release for each.

    Example:
        >>> ends = np.array([0.5, 0.5])
        >>> claimed(np.array([3.0, 8.0]), ends, ends, np.array([2.6, 9.0])).tolist()
        [True, False]
    """
    ordered = np.sort(released)
    first = np.searchsorted(ordered, values - left, side="left")
    return np.asarray(np.searchsorted(ordered, values + right, side="right") > first)


def _claims(right: float, wrong: float, share: float) -> Claims:
    precision = right / (right + wrong) if right + wrong > 0 else 0.0
    recall = right / share if share > 0 else 0.0
    both = precision + recall
    naive = 2 * share / (1 + share)
    return Claims(precision, recall, 2 * precision * recall / both if both > 0 else 0.0, naive)
