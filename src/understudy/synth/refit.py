"""What one record changes, found the slow way: put another record in its place and fit again.

Works for every model, and is the oracle of the fast ways that some models have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.synth.base import Fitted, Floats, crossed
from understudy.tables.encode import Block


def swap_by_refit(
    fit: Callable[[Block], Fitted],
    train: Block,
    record: int,
    candidates: Block,
    replicates: Sequence[Block],
    *,
    base: Fitted | None = None,
) -> Floats:
    """Change of `log_prob` when ``record`` becomes each candidate: log p(Z | T') − log p(Z | T).

    Candidates that agree on the model's own columns share one fit; one that equals the record
    changes nothing. Where the replicate is impossible before and after, the change is NaN.

    Args:
        fit: fits on a train table. It must be a function of the table alone: random starts use
            the same numbers at every call.
        train: the table that the model was fitted on.
        record: the row that is replaced.
        candidates: what it is replaced by, one row each.
        replicates: the tables that were released.
        base: the fit on train itself, if it is at hand.

    Returns:
        An array (replicates × candidates).
    """
    base = fit(train) if base is None else base
    names = base.reads
    before = np.array([base.log_prob(replicate) for replicate in replicates])
    own = train.select(names)
    first, same = distinct(candidates.select(names))
    after = [
        before
        if _equal(own, record, candidates, int(row))
        else _log_probs(fit(with_row(own, record, candidates, int(row))), replicates)
        for row in first
    ]
    result = np.empty((len(replicates), candidates.rows))
    with np.errstate(invalid="ignore"):  # −∞ − −∞
        for index, value in enumerate(after):
            change = np.zeros(len(before)) if value is before else value - before
            result[:, same == index] = change[:, None]
    return result


def left_out_by_folds(
    fit: Callable[[Block], Fitted],
    train: Block,
    rows: Block,
    records: NDArray[np.int64],
    candidates: Block,
    fold: NDArray[np.int64],
) -> Floats:
    """Log density of records with the candidates' columns, by fits that have not seen them.

    Each record is scored by a fit to train without the record's fold: no closed form is needed, and
    the fit knows somewhat less than one without the record alone. Returns (records × candidates).
    """
    result = np.empty((len(records), candidates.rows))
    for number in np.unique(fold[records]):
        part = np.flatnonzero(fold[records] == number)
        fitted = fit(train.take(np.flatnonzero(fold != number)))
        density = fitted.log_density(crossed(rows.take(part), candidates))
        result[part] = density.reshape(len(part), -1)
    return result


def with_row(train: Block, record: int, candidates: Block, row: int) -> Block:
    """Train with row ``record`` replaced by row ``row`` of the candidates; train stays as it is."""
    codes = {n: _put(array, record, candidates.codes[n][row]) for n, array in train.codes.items()}
    values = {
        n: _put(array, record, candidates.values[n][row]) for n, array in train.values.items()
    }
    return Block(train.encoding, train.rows, codes, values)


def _put(array: NDArray[Any], record: int, value: float) -> NDArray[Any]:
    result = array.copy()
    result[record] = value
    return result


def _log_probs(fitted: Fitted, replicates: Sequence[Block]) -> Floats:
    return np.array([fitted.log_prob(replicate) for replicate in replicates])


def _columns(block: Block) -> Floats:
    """Codes and values side by side; a missing value is told by its code."""
    parts = [codes.astype(np.float64) for codes in block.codes.values()]
    parts += [np.nan_to_num(values) for values in block.values.values()]
    return np.stack(parts, axis=1)


def distinct(candidates: Block) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First row of each distinct candidate, and which of them each row is."""
    if not candidates.names:
        return np.zeros(min(candidates.rows, 1), np.int64), np.zeros(candidates.rows, np.int64)
    _, first, same = np.unique(_columns(candidates), axis=0, return_index=True, return_inverse=True)
    return first, same.ravel()


def _equal(train: Block, record: int, candidates: Block, row: int) -> bool:
    mine = _columns(train.take(np.array([record])))
    return bool(
        np.array_equal(mine, _columns(candidates.select(train.names).take(np.array([row]))))
    )
