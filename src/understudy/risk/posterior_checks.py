"""Closed forms against exact refits, on a random sample of the records under attack."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Map
from understudy.kernels.posterior import posterior
from understudy.risk.candidates import Candidates, Group
from understudy.risk.posterior_records import Attack, likelihood, log_prior

Ints = NDArray[np.int64]
TOLERANCE = 0.01
RIVALS = 3


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far probabilities of the checked records are off.

    Attributes:
        worst: the largest difference of each record's probabilities.
        asked: there was something to check: some answers are closed forms.
        flips: records whose best guess is another by refits.
    """

    worst: NDArray[np.float64]
    asked: bool = True
    flips: int = 0

    @property
    def decides(self) -> bool:
        """Nothing had to be checked, or every probability agrees to 0.01."""
        if not self.asked:
            return True
        return bool(self.worst.size) and bool((self.worst <= TOLERANCE).all())

    def words(self) -> str:
        """How well they agree."""
        if not self.asked:
            return "every likelihood is of a refit"
        if not self.worst.size:
            return "not compared with exact refits: set measure.posterior.checks"
        n, good = len(self.worst), int((self.worst <= TOLERANCE).sum())
        if good == n:
            return f"agrees with exact refits to {self.worst.max():.4f} on {n} random records"
        return (
            f"on {n - good} of {n} random records exact refits give other probabilities (by up to "
            f"{self.worst.max():.2f}; another best guess for {self.flips}): undecided"
        )


def agreement(
    candidates: Candidates,
    who: Attack,
    records: Ints,
    checks: int,
    rng: np.random.Generator,
    *,
    map_: Map = map,
) -> Agreement:
    """Refit with each checked record's likeliest other values, and compare probabilities.

    The truth is compared with its three most probable rivals. Cost: three refits a record, of what
    draws the candidates' columns or predicts from them.
    """
    chosen = rng.choice(records, min(checks, len(records)), replace=False)
    ones = [
        (group.take(np.flatnonzero(group.records == record)), int(rng.integers(len(group.sets))))
        for record in np.sort(chosen)
        for group in candidates.groups
        if (group.records == record).any()
    ]
    found = list(map_(partial(_checked, who), ones))
    worst = np.array([one[0] for one in found])
    return Agreement(worst, flips=sum(one[1] for one in found))


def _checked(who: Attack, one: tuple[Group, int]) -> tuple[float, bool]:
    """Largest difference of a record's probabilities, and whether the best guess is another."""
    group, which = one
    block, own = group.sets[which], group.own[which]
    with np.errstate(invalid="ignore"):  # −∞ + ∞: impossible
        change = likelihood(who.source, group.records, block, own, who.replicates).sum(axis=0)
        prior = log_prior(who, group, which)
        share = posterior(change, prior)[0]
        share[own] = -1.0
        rivals = np.argsort(-share, kind="stable")[: min(RIVALS, block.rows - 1)]
        exact = who.source.refitted(int(group.records[0]), block.take(rivals), who.replicates)
        both = np.append(own, rivals)
        quick = posterior(change[:, both], prior[:, both])[0]
        slow = posterior(np.append(0.0, exact.sum(axis=0))[None], prior[:, both])[0]
    return float(np.abs(quick - slow).max()), bool(quick.argmax() != slow.argmax())
