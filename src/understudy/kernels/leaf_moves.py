"""What `leaves.swap` answers, for many people and many places at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.leaves import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32] | NDArray[np.int64]


def swaps(
    donors: Tally,
    drawn: Sequence[Tally],
    old: tuple[Codes, Codes],
    leaf: Codes,
    cell: Codes,
    *,
    bootstrap: bool = True,
) -> Floats:
    """Change of `leaves.log_marginal` when each person moves to each (leaf, cell).

    Every change is a sum of looked-up terms: with n donors and z draws, one more donor changes
    lnΓ(n + z) − lnΓ(n) by ln (n + z)/n, and one less by −ln (n − 1 + z)/(n − 1). Cost: one search
    per (person, place), one addition per replicate more.

    Args:
        donors: train's tally.
        drawn: one tally per replicate.
        old: leaf and cell of each person.
        leaf: leaves they may move to (people × places, or with one column).
        cell: cells they may move to (people × places, or with one row).
        bootstrap: as for `leaves.log_marginal`.

    Returns:
        An array (replicates × people × places).

    Example:
        >>> from understudy.kernels.leaves import tally
        >>> one, two = np.zeros(3, np.int32), np.array([0, 0, 1], np.int32)
        >>> donors, drawn = tally(one, two, 1, 2), tally(one, two, 1, 2)
        >>> place = np.array([[0]]), np.array([[0, 1]])
        >>> swaps(donors, [drawn], (np.array([0]), np.array([0])), *place).round(3).tolist()
        [[[0.0, -0.405]]]
    """
    known = np.unique(np.concatenate([donors.key, *(tally.key for tally in drawn)]))
    old_leaf, old_cell = old[0].astype(np.int64), old[1].astype(np.int64)
    old_key = old_leaf * donors.cells + old_cell
    new_key = leaf.astype(np.int64) * donors.cells + cell
    mine, place = _find(known, old_key), _find(known, new_key)
    same, home = new_key == old_key[:, None], leaf == old_leaf[:, None]
    count = np.append(donors.at(known), 0).astype(np.float64)
    total = donors.leaf_totals().astype(np.float64)
    result = np.empty((len(drawn), *new_key.shape))
    for index, tally in enumerate(drawn):
        z = np.append(tally.at(known), 0).astype(np.float64)
        taken = tally.leaf_totals().astype(np.float64)
        enter, leave = _more(count, z, bootstrap), _less(count, z, bootstrap)
        # An emptied leaf adds no term of its own: that its draws are impossible, its cells say.
        to_leaf = _more(np.maximum(total, 1), taken, bootstrap)
        from_leaf = _less(np.maximum(total, 2), taken, bootstrap)
        with np.errstate(invalid="ignore"):  # −∞ + ∞: impossible before and after
            change = enter[place] + leave[mine][:, None]
            change -= np.where(home, 0.0, to_leaf[leaf] + from_leaf[old_leaf][:, None])
        result[index] = np.where(same, 0.0, change)
    return result


def _find(known: Ints, wanted: Ints) -> Ints:
    """Place of each key, or one past the end."""
    if not len(known):
        return np.zeros(wanted.shape, dtype=np.int64)
    spot = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[spot] == wanted, spot, len(known))


def _more(n: Floats, z: Floats, bootstrap: bool) -> Floats:
    """What one more donor adds; ∞ where draws came from nobody, 0 where there were none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log((n + z) / n) if bootstrap else z * np.log((n + 1) / n)
    return np.where(z == 0, 0.0, value)


def _less(n: Floats, z: Floats, bootstrap: bool) -> Floats:
    """What one less donor adds; −∞ where nobody is left to whom draws could be due."""
    return np.where((n <= 1) & (z > 0), -np.inf, -_more(np.maximum(n - 1, 1), z, bootstrap))
