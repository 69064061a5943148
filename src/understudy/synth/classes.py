"""Draw a class for every row from a matrix of log probabilities, within what rules allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.synth.base import Fitted, Floats, Restriction
from understudy.tables.encode import Block, ColumnEncoding

Codes = NDArray[np.int32]


class OfTrain(Fitted):
    """A fit that keeps what it was fitted to: the first column is drawn, the others predict."""

    train: Block

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one column that is drawn."""
        return self.train.names[:1]

    @property
    def given(self) -> tuple[str, ...]:  # type: ignore[override]
        """The predictors."""
        return self.train.names[1:]

    @property
    def encoding(self) -> ColumnEncoding:
        """The encoding of the column."""
        return self.train.encoding[self.columns[0]]


def draw(
    scores: Floats, classes: Codes, spot: Floats, limit: Restriction | None, unseen: int
) -> Codes:
    """The code of the class at ``spot`` (0 to 1) of each row; ``unseen`` where none is allowed.

    Args:
        scores: log probability of every class for every row.
        classes: codes of the classes, ascending.
        spot: where each row draws.
        limit: what rules allow.
        unseen: the code for rows that may have none of the classes.

    Example:
        >>> scores = np.log([[0.5, 0.25, 0.25]] * 2)
        >>> draw(scores, np.array([3, 5, 8], np.int32), np.array([0.1, 0.9]), None, 9).tolist()
        [3, 8]
    """
    if limit is None:
        return _pick(scores, classes, spot, unseen)
    scores, spot = scores.copy(), spot.copy()
    gone = _gone(scores, classes, spot, limit)
    for index, code in enumerate(classes):
        column = np.full(len(spot), code, dtype=np.int32)
        scores[~limit.permits(column), index] = -np.inf
    if limit.missing is not None:
        scores[:, classes == limit.missing] = -np.inf
    picked = _pick(scores, classes, spot, unseen)
    return np.where(gone, np.int32(limit.missing or 0), picked)


def _pick(scores: Floats, classes: Codes, spot: Floats, unseen: int) -> Codes:
    peak = scores.max(axis=1, keepdims=True)
    # Relative to the likeliest class allowed: a rule may leave only what is very rare.
    share = np.exp(scores - np.where(np.isinf(peak), 0.0, peak))
    total = np.cumsum(share, axis=1)
    picked = (total <= (spot * total[:, -1])[:, None]).sum(axis=1)
    # Rounding may put the spot at the very end: the last class that is possible.
    last = share.shape[1] - 1 - (share[:, ::-1] > 0).argmax(axis=1)
    codes = classes[np.minimum(picked, last)]
    return np.where(total[:, -1] > 0, codes, unseen).astype(np.int32)


def _gone(scores: Floats, classes: Codes, spot: Floats, limit: Restriction) -> NDArray[np.bool_]:
    """Rows drawn as missing where rules say nothing about it; ``spot`` is spread anew, in place.

    It is as likely as without the rules, and certain where no other class is allowed.
    """
    share = np.zeros(len(spot))
    for index in np.flatnonzero(classes == limit.missing):
        here = limit.permits(np.full(len(spot), limit.missing, dtype=np.int32))
        share = np.where(here, np.exp(scores[:, index]), 0.0)
        if limit.allowed is not None and limit.group is not None:
            others = classes[classes != limit.missing]
            only = ~np.asarray(limit.allowed[:, others].any(axis=1))
            share[here & only[limit.group]] = 1.0
    gone = spot < share
    spot -= np.where(gone, 0.0, share)
    spot /= np.where(gone, 1.0, np.maximum(1.0 - share, 1e-300))
    return np.asarray(gone)
