"""Donors in leaves: tallies, Bayesian-bootstrap draws, and the probability of what was drawn.

Given the leaves, a Bayesian bootstrap gives the donors of a leaf Dirichlet(1, …, 1) weights, so the
cells of the leaf have Dirichlet(n_1, n_2, …) weights where n_k counts the donors in cell k, and the
counts z_k that one replicate draws are Dirichlet-multinomial (Rubin 1981; Reiter 2005). Without the
bootstrap every donor weighs the same, and the draws are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tally:
    """How many rows fall in each (leaf, cell): the pairs that occur, sorted.

    Attributes:
        leaves: number of leaves.
        cells: number of cells.
        key: ``leaf * cells + cell`` of each pair, ascending.
        count: rows of each pair.
    """

    leaves: int
    cells: int
    key: Ints
    count: Ints

    def at(self, key: Ints) -> Ints:
        """Counts of these pairs, 0 where a pair does not occur."""
        if len(self.key) == 0:
            return np.zeros(len(key), dtype=np.int64)
        spot = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[spot] == key, self.count[spot], 0)

    def leaf_totals(self) -> Ints:
        """Rows of each leaf."""
        return self._totals

    @cached_property
    def _totals(self) -> Ints:
        # Asked for once per record by whoever swaps all records.
        totals = np.bincount(self.key // self.cells, weights=self.count, minlength=self.leaves)
        return totals.astype(np.int64)


def tally(leaf: NDArray[np.int32], cell: NDArray[np.int32], leaves: int, cells: int) -> Tally:
    """Count rows by leaf and cell. Cost: one sort of the rows.

    Example:
        >>> tally(np.array([0, 0, 1], np.int32), np.array([2, 2, 0], np.int32), 2, 3).count.tolist()
        [2, 1]
    """
    key = leaf.astype(np.int64) * cells + cell
    if leaves * cells <= max(4 * len(key), 1024):
        counts = np.bincount(key, minlength=leaves * cells)
        pairs = np.flatnonzero(counts)
        return Tally(leaves, cells, pairs, counts[pairs])
    pairs, counts = np.unique(key, return_counts=True)
    return Tally(leaves, cells, pairs, counts)


def draw(
    donors: Tally,
    leaf: NDArray[np.int32],
    rng: np.random.Generator,
    *,
    bootstrap: bool = True,
    spot: NDArray[np.float64] | None = None,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.int32]:
    """Draw a donor's cell for every row from the row's leaf.

    Args:
        donors: train's tally.
        leaf: leaf of every row to draw for.
        rng: the stream.
        bootstrap: weights of the donors are drawn once (Bayesian bootstrap), else equal.
        spot: where in its leaf's weight (0 to 1) each row draws; independent and uniform if absent.
        weight: the donors' weights, where they were drawn before (`weights`).
    """
    weight = weights(donors, rng, bootstrap) if weight is None else weight
    spot = rng.random(len(leaf)) if spot is None else spot
    return _pick(donors, weight, leaf, spot, None, None)


def draw_within(
    donors: Tally,
    leaf: NDArray[np.int32],
    rng: np.random.Generator,
    *,
    bootstrap: bool = True,
    spot: NDArray[np.float64] | None = None,
    low: NDArray[np.int32] | None = None,
    high: NDArray[np.int32] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    group: Ints | None = None,
    missing: int | None = None,
    nothing: int = -1,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.int32]:
    """Draw among the donors that rules allow, else among all leaves' allowed donors.

    ``low``/``high`` bound the cell of each row; ``allowed[group[row]]`` tells which cells a row may
    have. A row for which no donor of any leaf is allowed gets ``nothing``. The bounds do not apply
    to the cell ``missing``, which is drawn as often as without them (where it is allowed).
    """
    weight = weights(donors, rng, bootstrap) if weight is None else weight
    cell = (donors.key % donors.cells).astype(np.int32)
    lost_share = _share_of(missing, donors, weight, cell)
    weight = weight if missing is None else np.where(cell == missing, 0.0, weight)
    totals = np.bincount(cell, weights=weight, minlength=donors.cells)
    seen = np.flatnonzero(totals)
    pooled = Tally(1, donors.cells, seen, np.ones(len(seen), dtype=np.int64))
    result = np.full(len(leaf), nothing, dtype=np.int32)
    groups = np.zeros(len(leaf), dtype=np.int64) if group is None else group
    spot = rng.random(len(leaf)) if spot is None else spot.copy()
    for which in np.unique(groups):
        rows = np.flatnonzero(groups == which)
        open_ = np.ones(donors.cells, dtype=bool) if allowed is None else allowed[which]
        gone = np.zeros(len(rows), dtype=bool)
        if missing is not None and open_[missing]:
            # Where nothing but missing is allowed, it is certain; else as likely as in the leaf.
            only = not open_[seen].any()
            share = np.ones(len(rows)) if only else lost_share[leaf[rows]]
            gone = spot[rows] < share
            spot[rows] = np.where(gone, 0.0, (spot[rows] - share) / np.maximum(1 - share, 1e-300))
        lowest, highest = _at(low, rows), _at(high, rows)
        mass = np.where(open_[cell], weight, 0.0)
        picked = _pick(donors, mass, leaf[rows], spot[rows], lowest, highest)
        lost = np.flatnonzero(picked < 0)
        if lost.size:
            mass = np.where(open_[seen], totals[seen], 0.0)
            root = np.zeros(lost.size, dtype=np.int32)
            again = _pick(
                pooled, mass, root, spot[rows[lost]], _at(lowest, lost), _at(highest, lost)
            )
            picked[lost] = np.where(again < 0, nothing, again)
        result[rows] = picked if missing is None else np.where(gone, missing, picked)
    return result


def _share_of(
    which: int | None, donors: Tally, weight: NDArray[np.float64], cell: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Share of each leaf's weight that one cell has."""
    leaf = donors.key // donors.cells
    whole = np.bincount(leaf, weights=weight, minlength=donors.leaves)
    part = np.bincount(leaf, weights=weight * (cell == which), minlength=donors.leaves)
    return np.asarray(part / np.where(whole > 0, whole, 1.0), dtype=np.float64)


def weights(donors: Tally, rng: np.random.Generator, bootstrap: bool) -> NDArray[np.float64]:
    """The weights of the donors of one replicate: gamma variates, or their numbers."""
    if bootstrap:
        return rng.standard_gamma(donors.count.astype(np.float64))
    return donors.count.astype(np.float64)


def _at(bound: NDArray[np.int32] | None, rows: Ints) -> NDArray[np.int32] | None:
    return None if bound is None else bound[rows]


def _pick(
    donors: Tally,
    weight: NDArray[np.float64],
    leaf: NDArray[np.int32],
    spot: NDArray[np.float64],
    low: NDArray[np.int32] | None,
    high: NDArray[np.int32] | None,
) -> NDArray[np.int32]:
    """The pair at ``spot`` (0 to 1) of the leaf's weight, by inverse cumulation; -1 if empty."""
    total = np.concatenate(([0.0], np.cumsum(weight)))
    base = leaf.astype(np.int64) * donors.cells
    if low is None and high is None:
        start = np.searchsorted(donors.key, np.arange(donors.leaves + 1) * donors.cells)
        begin, end = start[leaf], start[leaf + 1]
    else:
        least = 0 if low is None else np.maximum(low, 0)
        most = donors.cells - 1 if high is None else np.minimum(high, donors.cells - 1)
        begin = np.searchsorted(donors.key, base + least)
        end = np.searchsorted(donors.key, base + most, side="right")
    mass = total[end] - total[begin]
    found = (end > begin) & (mass > 0)
    if not found.any():
        return np.full(len(leaf), -1, dtype=np.int32)
    point = total[begin] + spot * mass
    # The spot may round up to the end of the leaf: then its last pair that has weight is meant.
    pair = _weighty(weight)[_last_up_to(point, total, begin, np.maximum(end - 1, 0))]
    return np.where(found, donors.key[pair] - base, -1).astype(np.int32)


def _last_up_to(
    point: NDArray[np.float64], total: NDArray[np.float64], first: Ints, last: Ints
) -> Ints:
    """For each point, the last place from ``first`` to ``last`` whose ascending total is <= it.

    Bisection within the leaf. One of the whole table would wander through all of its memory for
    every row: with a million pairs, five times as long.
    """
    place = np.minimum(first, last)
    for power in reversed(range(int((last - place).max(initial=0)).bit_length())):
        further = np.minimum(place + (1 << power), last)
        place = np.where(total.take(further) <= point, further, place)
    return place


def _weighty(weight: NDArray[np.float64]) -> Ints:
    """For each pair, the last one up to it that has weight (itself, mostly)."""
    return np.maximum.accumulate(np.where(weight > 0, np.arange(len(weight)), 0))


def parts(
    donors: Tally, leaf: NDArray[np.int32], cell: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each row's cell begins and ends in its leaf's weight, 0 to 1; equal if it has no donor.

    Example:
        >>> donors = tally(np.zeros(4, np.int32), np.array([0, 0, 1, 5], np.int32), 1, 6)
        >>> [x.tolist() for x in parts(donors, np.zeros(2, np.int32), np.array([1, 2], np.int32))]
        [[0.5, 0.75], [0.75, 0.75]]
    """
    total = np.concatenate(([0.0], np.cumsum(donors.count, dtype=np.float64)))
    base = leaf.astype(np.int64) * donors.cells
    begin, low, high, end = (
        total[np.searchsorted(donors.key, key)]
        for key in (base, base + cell, base + cell + 1, base + donors.cells)
    )
    whole = np.maximum(end - begin, 1.0)
    return (low - begin) / whole, (high - begin) / whole


def moved(donors: Tally, old: tuple[int, int], new: tuple[int, int]) -> Tally:
    """The tally when one donor moves from one (leaf, cell) to another. Cost: one sort of the pairs.

    Example:
        >>> donors = tally(np.zeros(3, np.int32), np.array([0, 0, 1], np.int32), 1, 2)
        >>> moved(donors, (0, 0), (0, 1)).count.tolist()
        [1, 2]
    """
    both = np.array([old, new], dtype=np.int64) @ np.array([donors.cells, 1])
    key, where = np.unique(np.concatenate((donors.key, both)), return_inverse=True)
    change = np.concatenate((donors.count, [-1, 1]))
    count = np.bincount(where, weights=change, minlength=len(key)).astype(np.int64)
    return Tally(donors.leaves, donors.cells, key[count > 0], count[count > 0])


def log_marginal(donors: Tally, drawn: Tally, *, bootstrap: bool = True) -> float:
    """Log probability of one replicate's draws, the donors' weights integrated out.

    log p = Σ_leaves [lnΓ(N) − lnΓ(N + Z)] + Σ_cells [lnΓ(n_k + z_k) − lnΓ(n_k)], and −∞ when a cell
    without donors was drawn. Without the bootstrap: Σ_cells z_k ln n_k − Σ_leaves Z ln N.

    Example:
        >>> donors = tally(np.zeros(4, np.int32), np.array([0, 0, 1, 1], np.int32), 1, 2)
        >>> drawn = tally(np.zeros(2, np.int32), np.array([0, 0], np.int32), 1, 2)
        >>> round(np.exp(log_marginal(donors, drawn)), 3)
        np.float64(0.3)
    """
    n = donors.at(drawn.key)
    if (n == 0).any():
        return -np.inf
    total, taken = donors.leaf_totals(), drawn.leaf_totals()
    used = taken > 0
    cells = _rising(n, drawn.count, bootstrap).sum()
    return float(cells - _rising(total[used], taken[used], bootstrap).sum())


def swap(
    donors: Tally,
    drawn: Tally,
    old: tuple[int, int],
    leaf: NDArray[np.int32],
    cell: NDArray[np.int32],
    *,
    bootstrap: bool = True,
) -> NDArray[np.float64]:
    """Change of `log_marginal` when one donor moves from ``old`` to each (leaf, cell).

    Every candidate is computed from the few counts that the move touches: O(1) per candidate.
    """
    cells = donors.cells
    old_leaf = np.array([old[0]])
    old_key = old_leaf * np.int64(cells) + old[1]
    new_key = leaf.astype(np.int64) * cells + cell
    n, z = donors.leaf_totals(), drawn.leaf_totals()
    leave = _change(donors.at(old_key), drawn.at(old_key), -1, bootstrap)
    enter = _change(donors.at(new_key), drawn.at(new_key), +1, bootstrap)
    # An emptied leaf adds no term of its own: that its draws are impossible, its cells say.
    from_leaf = _change(np.maximum(n[old_leaf], 2), z[old_leaf], -1, bootstrap)
    to_leaf = _change(np.maximum(n[leaf], 1), z[leaf], +1, bootstrap)
    change = leave + enter - np.where(leaf == old[0], 0.0, from_leaf + to_leaf)
    return np.where(new_key == old_key, 0.0, change)


def _change(n: Ints, z: Ints, move: int, bootstrap: bool) -> NDArray[np.float64]:
    """Change of the rising term when n becomes n + move; 0 where nothing was drawn."""
    with np.errstate(invalid="ignore"):
        value = _rising(n + move, z, bootstrap) - _rising(n, z, bootstrap)
    return np.where(z == 0, 0.0, value)


def _rising(n: Ints, z: Ints, bootstrap: bool) -> NDArray[np.float64]:
    """Log of n (n + 1) … (n + z − 1), or of n^z; −∞ at n = 0: nobody donates, nothing is drawn."""
    safe = np.maximum(n, 1)
    value = gammaln(safe + z) - gammaln(safe) if bootstrap else z * np.log(safe)
    return np.where((n <= 0) & (z > 0), -np.inf, value)
