"""Bale & Quick, Figure 5: how much surer of the outcome does a table make an attacker?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.attack import Attacker, Known, tallies
from understudy.reproduce.application import Application, Numbers, cells, gathered, peers_of
from understudy.reproduce.item import Bench
from understudy.reproduce.outbreak import BOUND, DESIGNS, HELD, PRIORS, TUNED, Round, style_of
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Result, Series

DELTAS = tuple(0.025 * step for step in range(1, 41))  # in train's standard deviations
SMALL = 0.1  # δ up to here counts as small
FEW = 300  # "less than 300 additional synthetic records"


@dataclass(frozen=True)
class Figure5(Application):
    """Largest ratio (15) over people by δ, averaged over tables."""

    name: ClassVar[str] = "figure5"
    title: ClassVar[str] = "Largest increase in inference probability by δ"
    source: ClassVar[str] = "Figure 5, section 7.1"

    def run(self, bench: Bench) -> Result:
        """Curves in both designs."""
        numbers = self.both(bench, ratios)
        pooled = [one for design in DESIGNS for one in numbers[design]]
        return self.found(
            bench,
            [
                _bounded(pooled),
                _unbounded(numbers["disjoint"]),
                _below_the_holdout(numbers["overlapping"]),
                _few_added(pooled),
                *(_above_ours(numbers["overlapping"], peer) for peer in peers_of(bench)),
            ],
            [_grid(design, numbers[design], peers_of(bench)) for design in DESIGNS],
            [_picture(design, numbers[design]) for design in DESIGNS],
            [_ATTACK],
        )


def ratios(one: Round) -> Numbers:
    """The largest ratio over people, at every δ of the grid and then at any δ whatever.

    The rows that prevention added come with it, by name.
    """
    attacker = Attacker(c=BOUND, deltas=DELTAS, priors=PRIORS)
    known, target = Known.of(one.train), attacker.target(one.train, "outcome")
    prior = target.own(one.train)
    found: dict[str, Any] = {_ADDED: dict(one.added)}
    for name, block in one.tables.items():
        tally = tallies(known, target, one.train, block, np.asarray(DELTAS), every=True)
        shares = np.column_stack([tally.share, tally.most])
        found[name] = (shares / prior[:, None]).max(axis=0)
    return found


def _bounded(numbers: Sequence[Numbers]) -> Claim:
    largest = max(float(one[v.protected].max()) for one in numbers for v in TUNED)
    return Claim.of(
        f"After prevention no ratio exceeds c = {BOUND:g}, for any person at any δ",
        largest <= BOUND * (1 + 1e-9),
        f"the largest of all tables of both designs is {largest:.4g}",
    )


def _unbounded(numbers: Sequence[Numbers]) -> Claim:
    names = [HELD, *(variant.name for variant in TUNED)]
    return Claim.between(
        f"Disjoint: without prevention the largest ratio exceeds c = {BOUND:g}, for the holdout as "
        "for synthetic tables: closeness alone does not prevent attribute disclosure",
        {name: Cell.mean(gathered(numbers, name)[:, -1]) for name in names},
        low=BOUND,
    )


def _below_the_holdout(numbers: Sequence[Numbers]) -> Claim:
    small = np.append(np.asarray(DELTAS) <= SMALL, False)
    theirs = gathered(numbers, HELD)[:, small].mean(axis=1)
    return Claim.between(
        f"Overlapping: at δ of at most {SMALL:g} a synthetic table gives less away than a holdout",
        {
            v.name: Cell.mean(theirs - gathered(numbers, v.name)[:, small].mean(axis=1))
            for v in TUNED
        },
        low=0.0,
    )


def _above_ours(numbers: Sequence[Numbers], peer: str) -> Claim:
    small = np.append(np.asarray(DELTAS) <= SMALL, False)
    theirs = gathered(numbers, peer)[:, small].mean(axis=1)
    return Claim.between(
        f"Overlapping: at δ of at most {SMALL:g} a table of {peer} gives more away than a tuned "
        "table of ours",
        {
            v.name: Cell.mean(theirs - gathered(numbers, v.name)[:, small].mean(axis=1))
            for v in TUNED
        },
        low=0.0,
    )


def _few_added(numbers: Sequence[Numbers]) -> Claim:
    most = {v.protected: max(one[_ADDED][v.protected] for one in numbers) for v in TUNED}
    return Claim.of(
        f"Prevention adds less than {FEW} rows to a table",
        max(most.values()) < FEW,
        "; ".join(f"{name}: at most {count}" for name, count in most.items()),
    )


def _grid(design: str, numbers: Sequence[Numbers], peers: Sequence[str]) -> Grid:
    shown = [DELTAS.index(delta) for delta in DELTAS[3::12]]
    rows = []
    for name in (HELD, *(n for v in TUNED for n in (v.name, v.protected)), *peers):
        columns = [*gathered(numbers, name)[:, [*shown, -1]].T]
        added = [[one[_ADDED][name] for one in numbers]] if name in numbers[0][_ADDED] else [[0, 0]]
        rows.append((name, cells([*columns, *added], [None] * (len(columns) + 1))))
    head = ("Table", *(f"δ = {DELTAS[k]:.3g}" for k in shown), "any δ", "Rows added")
    return Grid(f"{design.capitalize()} design: mean largest ratio", head, tuple(rows))


def _picture(design: str, numbers: Sequence[Numbers]) -> Picture:
    lines = []
    for name in numbers[0]:
        if name != _ADDED:
            means = gathered(numbers, name)[:, :-1].mean(axis=0).tolist()
            lines.append(Series(name, DELTAS, means, **style_of(name)))
    title = f"{design.capitalize()} design: mean largest ratio over people"
    return Picture(title, "δ in standard deviations", "largest ratio", tuple(lines))


_ADDED = "added"
_ATTACK = (
    "The attacker knows place, sex and age; a ball holds the rows of the same sex and age within δ "
    "on the standardised place. Its prior of death is 152 in 9,583, as in the paper, so that no "
    "ratio can exceed 63. An empty ball is no attack."
)
