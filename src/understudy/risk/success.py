"""What simulated attacks have in common: success on train and on strangers, and what is left.

An attack is made on people of train and, in the same way, on people whom the synthesis never saw.
What succeeds on strangers is knowledge about everybody; only the excess is about people of train
(Giomi et al. 2023). Shares are of attacks really made, with Wilson's intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.evidence import Better, Estimate, Evidence, row_numbers
from understudy.kernels.rates import difference, residual, wilson, wilson_ends
from understudy.kernels.resample import z_of
from understudy.tables.encode import Block

ENOUGH = 0.9  # a control that may succeed this often leaves no room to divide by
MARGIN = 0.05  # about twice the half width that a thousand attacks give
LEFT = "residual"


@dataclass(frozen=True)
class Success:
    """Attacks of one kind: how many were made, and how many succeeded.

    Attributes:
        measure: the measure's name.
        target: the column under attack, or None.
        hits: attacks on train that succeeded.
        made: attacks on train.
        asked: attacks that the plan asks for.
        control_hits: the same for strangers (an expectation where tables were dealt).
        control_made: attacks on strangers.
        spread: standard deviation of the control's share, where tables were dealt from train and
            strangers together; None where strangers alone were attacked.
        how: how the attack was made, in words.
    """

    measure: str
    target: str | None
    hits: float
    made: int
    asked: int
    control_hits: float
    control_made: int
    spread: float | None
    how: str

    @property
    def attack(self) -> tuple[float, float]:
        """Successes and attacks on train."""
        return self.hits, self.made

    @property
    def control(self) -> tuple[float, float]:
        """Successes and attacks on strangers."""
        return self.control_hits, self.control_made

    def ends(self, level: float) -> tuple[float, float]:
        """Interval of the control's share."""
        if self.spread is None:
            return wilson_ends(*self.control, level)
        share, half = self.control_hits / self.control_made, z_of(level) * self.spread
        return max(share - half, 0.0), min(share + half, 1.0)

    def gap(self, level: float) -> tuple[float, float]:
        """Interval of the attack's share less the control's."""
        if self.spread is None:
            return difference(self.attack, self.control, level)
        gap = self.hits / self.made - self.control_hits / self.control_made
        half = z_of(level) * self.spread
        return gap - half, gap + half

    def left(self, level: float) -> tuple[float, float] | None:
        """Residual risk and its error; None where the control already succeeds."""
        if self.ends(level)[1] >= ENOUGH:
            return None
        if self.spread is None:
            return residual(wilson(*self.attack, level), wilson(*self.control, level))
        share = self.control_hits / self.control_made
        low, high = self.gap(level)
        return (low + high) / 2 / (1 - share), (high - low) / 2 / (1 - share)

    def estimates(self, evidence: Evidence) -> list[Estimate]:
        """The attack's share against the control's, and the residual risk."""
        level, margin = evidence.level, evidence.margin(self.measure, MARGIN)
        left = self.left(level)
        found = Estimate(
            self.measure,
            self.hits / self.made,
            *wilson_ends(*self.attack, level),
            self.control_hits / self.control_made,
            Better.LOWER,
            margin,
            *self.gap(level),
            target=self.target,
            note=f"{self._counted()}; {self.how}; {_said(left)}",
        )
        return [found, self._residual(left, margin)]

    def summary(self, level: float) -> dict[str, Any]:
        """The same for the report: shares with their intervals."""
        left = self.left(level)
        return {
            "measure": self.measure,
            "column": self.target,
            "attack": [self.hits / self.made, *wilson_ends(*self.attack, level)],
            "control": [self.control_hits / self.control_made, *self.ends(level)],
            "residual": None if left is None else [_share(left[0]), *_ends(*left)],
            "made": self.made,
            "asked": self.asked,
        }

    def _residual(self, left: tuple[float, float] | None, margin: float) -> Estimate:
        target = LEFT if self.target is None else f"{self.target} ({LEFT})"
        if left is None:
            why = f"no residual risk is given: {_ALREADY}"
            return Estimate.absent(self.measure, why, target=target)
        value, half = left
        room = 1 - self.control_hits / self.control_made
        return Estimate(
            self.measure,
            _share(value),
            *_ends(value, half),
            0.0,
            Better.LOWER,
            margin / room,
            value - half,
            value + half,
            target=target,
            note=f"(attack − control) / (1 − control); {self._counted()}",
        )

    def _counted(self) -> str:
        asked = "" if self.made == self.asked else f" of {self.asked} asked for"
        text = f"{self.made} attacks made{asked}"
        if self.spread is None and self.control_made != self.made:
            text += f", {self.control_made} on strangers"
        return text


_ALREADY = (
    f"the control attack may succeed in {ENOUGH:.0%} of cases or more, so there is next to no room "
    "to divide by"
)


def _said(left: tuple[float, float] | None) -> str:
    if left is None:
        return f"no residual risk: {_ALREADY}"
    low, high = _ends(*left)
    return f"residual risk {_share(left[0]):.3f} ({low:.3f} to {high:.3f})"


def _ends(value: float, half: float) -> tuple[float, float]:
    return _share(value - half), _share(value + half)


def _share(value: float) -> float:
    """A risk is a share: chance may take the ratio below 0, which is no risk."""
    return min(max(value, 0.0), 1.0)


def absent(measure: str, why: str, target: str | None = None) -> list[Estimate]:
    """An attack that could not be made."""
    left = LEFT if target is None else f"{target} ({LEFT})"
    return [Estimate.absent(measure, why, target=name) for name in (target, left)]


def one_each(block: Block, rng: np.random.Generator) -> Block:
    """One row of each person, at random: attacks on rows of one person are no independent ones."""
    if block.person is None:
        return block
    order = rng.permutation(block.rows)
    _, first = np.unique(block.person[order], return_index=True)
    return block.take(np.sort(order[first]))


def of_each(block: Block) -> str:
    """Words for a note where `one_each` has chosen."""
    return "" if block.person is None else "; one row of each person, at random, is attacked"


def mixed(release: Block, columns: tuple[str, ...], rng: np.random.Generator) -> Block:
    """Rows of a release in random order, whatever order they came in.

    Neighbours at equal distance are ranked by their place in the table, and the order of a table
    made elsewhere may be that of train.
    """
    if not release.rows:
        return release
    (number,) = row_numbers([release], columns)
    return release.take(np.argsort(number, kind="stable")[rng.permutation(release.rows)])
