"""The columns that a propensity model sees, built from numbers and codes of two stacked tables.

Every choice here looks at the pooled rows only, never at which table a row came from: so the null
distribution of a propensity score, which exchanges the two tables, holds for the choices too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from math import comb

import numpy as np
import numpy.typing as npt

from understudy.errors import InputError

Float = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

RARE = 20  # levels with fewer pooled rows are merged: they would separate by chance
DUMMIES = 50  # most frequent levels of one column that get a dummy
MAX_TERMS = 1_000
MAX_CELLS = 50_000_000  # 400 MB of float64


@dataclass(frozen=True)
class Design:
    """Columns without an intercept, and what had to be left out."""

    columns: Float
    note: str


@dataclass(frozen=True)
class _Term:
    source: int  # the column of the table it came from
    values: Float
    power: bool  # a number: its square and cube are terms of their own


def build_design(
    numbers: Float,
    codes: Codes,
    levels: Sequence[int],
    *,
    order: int = 1,
    most: int | None = None,
) -> Design:
    """Build main effects, and for ``order`` 2 or 3 every monomial up to that degree.

    A number enters standardised, with its mean where it is missing, and with an indicator of
    missing values. A nominal column enters by dummies of its levels; missing is one more level.
    Levels with fewer than 20 pooled rows, and those beyond the 50 most frequent, are merged,
    so that separation is not routine and memory stays bounded. If the monomials are more than
    ``most`` (1,000 unless told) or 400 MB, a lower order is used and the note says so.

    Source: the three-way polynomial terms and interactions of Bale & Quick, section 4.

    Example:
        >>> x = np.random.default_rng(1).normal(size=(50, 2))
        >>> build_design(x, np.zeros((50, 0), np.int32), [], order=3).columns.shape
        (50, 9)
    """
    terms = list(_main_effects(numbers, codes, levels))
    used = _affordable(len(terms), len(numbers), order, most or MAX_TERMS)
    columns = [t.values for t in terms]
    for degree in range(2, used + 1):
        columns += _monomials(terms, degree)
    note = "" if used == order else f"order {order} has too many terms, order {used} used"
    return Design(np.column_stack([np.empty((len(numbers), 0)), *columns]), note)


def merge_rare(codes: Codes, levels: int, *, rare: int, most: int | None = None) -> Codes:
    """Recode a column by falling frequency, with what is rare in one last level.

    Missing (−1) counts as a level. If all rare levels together have fewer than ``rare`` rows,
    they join the most frequent level: no model could say anything about them.

    Example:
        >>> merge_rare(np.array([2, 2, 2, 0, 0, 1, -1], np.int32), 3, rare=2).tolist()
        [0, 0, 0, 1, 1, 2, 2]
    """
    shifted = np.where(codes < 0, levels, codes)
    counts = np.bincount(shifted, minlength=levels + 1)
    order = np.argsort(-counts, kind="stable")
    kept = min(int(np.count_nonzero(counts >= rare)), most or len(counts))
    rest = len(codes) - int(counts[order[:kept]].sum())
    place = np.empty(levels + 1, np.int32)
    place[order] = np.arange(levels + 1)
    place[order[kept:]] = kept if rest >= rare else 0
    return place[shifted].astype(np.int32)


def _main_effects(numbers: Float, codes: Codes, levels: Sequence[int]) -> Iterator[_Term]:
    for j in range(numbers.shape[1]):
        missing = ~np.isfinite(numbers[:, j])
        yield _Term(j, _standardised(numbers[:, j], missing), True)
        if missing.sum() >= RARE:
            yield _Term(j, missing.astype(np.float64), False)
    for j in range(codes.shape[1]):
        merged = merge_rare(codes[:, j], levels[j], rare=RARE, most=DUMMIES)
        for level in range(1, int(merged.max(initial=0)) + 1):
            yield _Term(numbers.shape[1] + j, (merged == level).astype(np.float64), False)


def _standardised(values: Float, missing: npt.NDArray[np.bool_]) -> Float:
    """Centre and scale the observed values; 0, their mean, stands where one is missing."""
    seen = values[~missing]
    size = np.max(np.abs(seen), initial=0.0)
    if size == 0:
        return np.zeros(len(values))
    scaled = np.where(missing, 0.0, values) / size  # squares of 1e300 would overflow
    centred = np.where(missing, 0.0, scaled - (seen / size).mean())
    spread = np.sqrt(np.sum(centred**2) / len(seen))
    return np.asarray(centred / spread) if spread > 1e-14 else np.zeros(len(values))


def _affordable(terms: int, rows: int, order: int, most: int) -> int:
    """Return the highest order up to ``order`` whose monomials fit the limits."""
    for used in range(order, 1, -1):
        count = comb(terms + used, used) - 1
        if count <= most and count * rows <= MAX_CELLS:
            return used
    return 1


def _monomials(terms: list[_Term], degree: int) -> list[Float]:
    products = (
        np.prod([t.values for t in chosen], axis=0)
        for chosen in combinations_with_replacement(terms, degree)
        if _sensible(chosen)
    )
    return [p for p in products if np.count_nonzero(p) >= RARE]


def _sensible(chosen: tuple[_Term, ...]) -> bool:
    """Leave out powers of indicators, and products within one column: they add nothing."""
    for first, second in pairwise(chosen):
        same = first.source == second.source
        if same and not (first is second and first.power):
            return False
    return True


def pool(
    numbers_t: Float, codes_t: Codes, numbers_z: Float, codes_z: Codes
) -> tuple[Float, Codes, Float]:
    """Both tables in one, real rows first, with labels 0 and 1. Cost: rows.

    Example:
        >>> no = np.zeros((2, 0), np.int32)
        >>> pool(np.zeros((2, 1)), no, np.ones((2, 1)), no)[2].tolist()
        [0.0, 0.0, 1.0, 1.0]
    """
    if not (len(numbers_t) and len(numbers_z)):
        raise InputError("pMSE needs rows in both tables")
    label = np.repeat([0.0, 1.0], [len(numbers_t), len(numbers_z)])
    numbers = np.concatenate([numbers_t, numbers_z]).astype(np.float64, copy=False)
    return numbers, np.concatenate([codes_t, codes_z]), label
