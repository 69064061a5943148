"""How far the numbers of attribute disclosure would move if the rows were drawn anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Map
from understudy.kernels.balls import Around, shells, tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_DRAWS = 200
_MODES = 30


def largest_draws(
    around: Around,
    record_level: Ints,
    row_level: Ints,
    deltas: Floats | None,
    rng: np.random.Generator,
    *,
    nearest: bool,
) -> Floats:
    """Largest share over radii of each record: by all rows, then by each draw of the bootstrap.

    Rows are resampled with replacement, records are fixed (records × (1 + 200)).
    """
    at = shells(around, deltas, nearest=nearest)
    pairs = at.at.tocoo()
    same = row_level[pairs.col] == record_level[at.record[pairs.row]]
    return at.largest(same, _weights(at.at.shape[1], rng), len(record_level))


def _weights(rows: int, rng: np.random.Generator) -> Floats:
    """How often each row counts: once, then as the bootstrap draws it."""
    drawn = rng.multinomial(rows, np.full(rows, 1 / rows), size=_DRAWS)
    return np.concatenate([np.ones((rows, 1)), drawn.T], axis=1)


def mode_spread(
    around: Around,
    record_level: Ints,
    row_level: Ints,
    deltas: Floats,
    guess: Floats,
    rng: np.random.Generator,
    *,
    map_: Map = map,
) -> float:
    """Standard deviation, over 30 draws of the rows, of the share of modes that are right.

    At least that of one record, since 30 draws may all agree.
    """
    found = []
    for _ in range(_MODES):
        drawn = rng.integers(len(row_level), size=len(row_level))
        there = Around(
            around.records, around.record_cell, around.rows[drawn], around.row_cell[drawn]
        )
        counted = tally(there, record_level, row_level[drawn], deltas, map_=map_)
        right = np.where(counted.rows > 0, counted.guess, guess[:, None])
        found.append(float(right.mean(axis=0).max()))
    return max(float(np.std(found, ddof=1)), 0.5 / max(len(record_level), 1))


def shares(exceeding: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Share of records; where all draws agree, Jeffreys' posterior for that many."""
    found = np.asarray(exceeding.mean(axis=0), dtype=np.float64)
    if found.min() < found.max():
        return found
    spread = rng.beta(0.5, len(exceeding) + 0.5, len(found) - 1)
    found[1:] += np.where(found[1:] > 0.5, -spread, spread)
    return found
