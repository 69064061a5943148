"""How far the numbers of attribute disclosure would move if the rows were drawn anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from understudy.kernels.balls import Around, shells

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_DRAWS = 200
_MODES = 100


def largest_draws(
    around: Around,
    record_level: Ints,
    row_level: Ints,
    deltas: Floats | None,
    rng: np.random.Generator,
    person: Ints | None = None,
) -> tuple[Floats, Floats]:
    """Largest share over radii of each record: by all rows, then by each draw of the bootstrap.

    Rows (with ``person``, people with all their rows) are resampled with replacement, records are
    fixed (records × (1 + 200)). The second result is that of an attacker who widens empty balls to
    the rows that are nearest among all.
    """
    found = shells(around, deltas)
    # Most rows of a large table are near none of the records: they need no weight of their own.
    used, place = np.unique(found.at.indices, return_inverse=True)
    at = csr_matrix((found.at.data, place, found.at.indptr), (found.at.shape[0], len(used)))
    owner = np.repeat(record_level[found.record], np.diff(at.indptr))
    if person is None:
        weights = _weights(len(used), found.at.shape[1], rng)
    else:
        weights = _weights_of_people(person, used.astype(np.int64), rng)
    return replace(found, at=at).largest(
        row_level[used][place] == owner, weights, len(record_level)
    )


def _weights(used: int, rows: int, rng: np.random.Generator) -> Floats:
    """How often each of some rows counts: once, then as the bootstrap of all rows draws it."""
    share = np.append(np.full(used, 1 / rows), max(1 - used / rows, 0.0))
    drawn = rng.multinomial(rows, share, size=_DRAWS)[:, :used]
    return np.concatenate([np.ones((used, 1)), drawn.T], axis=1)


def _weights_of_people(person: Ints, used: Ints, rng: np.random.Generator) -> Floats:
    """The same where people are drawn, each with all rows."""
    people, whose = np.unique(person, return_inverse=True)
    drawn = rng.multinomial(len(people), np.full(len(people), 1 / len(people)), size=_DRAWS)
    return np.concatenate([np.ones((len(used), 1)), drawn.T[whose[used]]], axis=1)


def mode_spread(
    around: Around,
    record_level: Ints,
    row_level: Ints,
    delta: float,
    guess: Floats,
    rng: np.random.Generator,
    person: Ints | None = None,
) -> float:
    """Standard deviation, over 100 draws of the rows, of the share of modes that are right.

    With ``person``, people are drawn, each with all rows. Balls of one radius; ties count as the
    chance of a guess among them, an empty ball as ``guess``. At least that of half a record, since
    all draws may agree.
    """
    at = shells(around, np.array([delta]))
    inside = np.flatnonzero(at.radius == 0)
    pairs, record = at.at[inside].tocoo(), at.record[inside]
    levels, level = np.unique(np.concatenate([record_level, row_level]), return_inverse=True)
    own, size = level[: len(record_level)], (len(record_level), len(levels))
    key = record[pairs.row] * size[1] + level[len(record_level) :][pairs.col]
    rows, found = len(row_level), []
    whose = np.arange(rows) if person is None else np.unique(person, return_inverse=True)[1]
    many = int(whose.max(initial=-1)) + 1
    for _ in range(_MODES):
        weight = rng.multinomial(many, np.full(many, 1 / many))[whose][pairs.col]
        counts = np.bincount(key, weights=weight, minlength=size[0] * size[1]).reshape(size)
        top = counts.max(axis=1)
        ties = (counts == top[:, None]).sum(axis=1)
        mine = counts[np.arange(size[0]), own] == top
        found.append(float(np.where(top > 0, mine / ties, guess).mean()))
    return max(float(np.std(found, ddof=1)), 0.5 / max(size[0], 1))


def shares(exceeding: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Share of records; where all draws agree, Jeffreys' posterior for that many."""
    found = np.asarray(exceeding.mean(axis=0), dtype=np.float64)
    if found.min() < found.max():
        return found
    spread = rng.beta(0.5, len(exceeding) + 0.5, len(found) - 1)
    found[1:] += np.where(found[1:] > 0.5, -spread, spread)
    return found
