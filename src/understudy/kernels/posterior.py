"""What somebody who knows everybody else's record can conclude about the last one.

posterior(k) ∝ prior(k) · Π_l p(Z^(l) | D_-i, Y_i = k)

(Reiter, Wang & Zhang, equations 1, 6, 7 and 12.)

Likelihoods come as changes of log p(Z^(l)) against the truth, so the truth's own is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_TIE = 1e-9  # in log: values this near are guessed with equal chance
_MOST_OF = 0.5


@dataclass(frozen=True, eq=False)
class Shared:
    """Values of candidates that are the same for all records, but for each record's own candidate.

    Attributes:
        common: value of each candidate (… × candidates).
        mine: value of each record's own candidate (… × records).
        shift: added to a record's values of all other candidates (… × records).
        own: which candidate is each record's own.
    """

    common: Floats
    mine: Floats
    shift: Floats
    own: Ints

    def dense(self) -> Floats:
        """Every value (… × records × candidates). Cost: its size."""
        result: Floats = self.shift[..., :, None] + self.common[..., None, :]
        result[..., np.arange(len(self.own)), self.own] = self.mine
        return result

    def take(self, records: slice) -> Shared:
        """Some of the records."""
        mine, shift = self.mine[..., records], self.shift[..., records]
        return Shared(self.common, mine, shift, self.own[records])


@dataclass(frozen=True, eq=False)
class Answer:
    """What was concluded about each record.

    Attributes:
        truth: posterior probability of the record's own value.
        correct: chance that the most probable candidate is the record's own (a tie is a guess).
    """

    truth: Floats
    correct: Floats


def posterior(change: Floats, log_prior: Floats) -> Floats:
    """Posterior probabilities of every candidate (records × candidates).

    Impossible is impossible: −∞ in either leaves a candidate out. A likelihood of +∞ (the replicate
    cannot come from the truth, only from this candidate) takes all, unless its prior is 0. Where
    nothing is possible, nothing was learnt: the prior stands. A prior of 0 everywhere is uniform.

    Args:
        change: change of log p(Z) against the truth, summed over replicates.
        log_prior: log prior, up to a constant for each record.

    Example:
        >>> posterior(np.log([[1.0, 3.0]]), np.log([[0.5, 0.5]])).round(2).tolist()
        [[0.25, 0.75]]
        >>> posterior(np.array([[0.0, np.inf, -np.inf]]), np.zeros((1, 3))).tolist()
        [[0.0, 1.0, 0.0]]
    """
    change = np.where(np.isnan(change), -np.inf, change)
    dead = np.all(np.isneginf(log_prior), axis=1, keepdims=True)
    log_prior = np.where(dead, 0.0, log_prior)
    sure = np.isposinf(change) & ~np.isneginf(log_prior)
    change = np.where(sure, 0.0, np.where(np.any(sure, axis=1, keepdims=True), -np.inf, change))
    change = np.where(np.isposinf(change), -np.inf, change)
    score = log_prior + change
    lost = np.all(np.isneginf(score), axis=1, keepdims=True)
    score = np.where(lost, log_prior, score)
    return np.asarray(np.exp(score - logsumexp(score, axis=1, keepdims=True)), dtype=np.float64)


def answer(probability: Floats, own: Ints) -> Answer:
    """The truth's probability, and whether the best guess is the truth (R_i, equation 2).

    Example:
        >>> answer(np.array([[0.2, 0.4, 0.4]]), np.array([2])).correct.tolist()
        [0.5]
    """
    truth = probability[np.arange(len(own)), own]
    best = probability.max(axis=1)
    tied = (probability >= best[:, None] * (1 - _TIE)).sum(axis=1)
    return Answer(truth, np.where(truth >= best * (1 - _TIE), 1.0 / tied, 0.0))


def answer_shared(change: Shared, log_prior: Shared) -> Answer:
    """The same as `answer` of `posterior` where values are shared: O(records + candidates).

    Only finite changes are meant (a Dirichlet prior of more than 0); the change of the truth is 0.

    Example:
        >>> own = np.array([0])
        >>> change = Shared(np.log([9.0, 3.0]), np.zeros(1), np.zeros(1), own)
        >>> flat = Shared(np.zeros(2), np.zeros(1), np.zeros(1), own)
        >>> answer_shared(change, flat).truth.tolist()
        [0.25]
    """
    own = change.own
    value = change.common + log_prior.common
    rest = _all_but(value, own)
    ahead, tied = _best_but(value, own)
    shift = change.shift + log_prior.shift
    mine = change.mine + log_prior.mine
    with np.errstate(over="ignore", invalid="ignore"):
        truth = 1.0 / (1.0 + np.exp(np.where(np.isneginf(mine), np.inf, rest + shift - mine)))
        lead = np.where(np.isneginf(mine), -np.inf, mine - shift - ahead)
    correct = np.where(lead > _TIE, 1.0, np.where(lead >= -_TIE, 1.0 / (1 + tied), 0.0))
    return Answer(truth, correct)


def _all_but(value: Floats, own: Ints) -> Floats:
    """Log Σ exp of all values but each record's own."""
    total = logsumexp(value)
    share = np.exp(value - total)
    with np.errstate(divide="ignore"):
        result = total + np.log1p(-np.minimum(share[own], 1.0))
    for place in np.flatnonzero(share > _MOST_OF):  # at most one: there the difference is inexact
        result[own == place] = logsumexp(np.delete(value, place)) if len(value) > 1 else -np.inf
    return np.asarray(result, dtype=np.float64)


def _best_but(value: Floats, own: Ints) -> tuple[Floats, Ints]:
    """The largest of all values but each record's own, and how many have it."""
    order = np.argsort(value)[::-1]
    best = value[order[0]]
    leaders = value >= best - _TIE
    second, seconds = -np.inf, 0
    if len(value) > 1:
        second = float(np.max(value[~leaders], initial=-np.inf))
        seconds = int((value >= second - _TIE).sum() - leaders.sum())
    alone = leaders[own] & (leaders.sum() == 1)
    count = leaders.sum() - leaders[own]
    return np.where(alone, second, best), np.where(alone, seconds, count)
