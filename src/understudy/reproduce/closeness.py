"""Bale & Quick, Table 3 and Figure 4: is synthetic data closer to train than a holdout is?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.reproduce.application import (
    Application,
    Numbers,
    cells,
    differences,
    gathered,
    peers_of,
)
from understudy.reproduce.distances import reach
from understudy.reproduce.item import Bench
from understudy.reproduce.outbreak import DESIGNS, HELD, Round, coordinates, style_of
from understudy.reproduce.peers import PAPERS_OWN
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Result, Series
from understudy.results import Verdict

PRINTED: Mapping[str, tuple[float, float]] = {
    "MNL": (0.0006, 0.0145),
    "MNL, prevention": (0.0006, 0.0137),
    "CART": (0.0005, 0.0081),
    "CART, prevention": (0.0005, 0.0079),
    PAPERS_OWN: (0.0000, 0.0265),
}
MARGIN = 0.05  # of the holdout's own value: closer than that still counts as equally close
SHARE = 0.01  # margin of shares
THRESHOLDS = np.linspace(0.0, 0.2, 41)


@dataclass(frozen=True)
class Table3(Application):
    """5th percentiles of DCR and NNDR, synthetic minus holdout."""

    name: ClassVar[str] = "table3"
    title: ClassVar[str] = "Closeness to train, synthetic minus holdout"
    source: ClassVar[str] = "Table 3, section 7.1"

    def run(self, bench: Bench) -> Result:
        """Differences of 5th percentiles in both designs."""
        numbers = self.both(bench, percentiles)
        peers = peers_of(bench)
        ours = [name for name in _made(numbers["disjoint"]) if name not in peers]
        return self.found(
            bench,
            [
                *(_not_closer(numbers["disjoint"], k, ours) for k in (0, 1)),
                *_no_nearer(numbers["disjoint"], peers),
                *(_further(numbers["overlapping"], k, ours) for k in (0, 1)),
                *(_not_closer(numbers["disjoint"], k, [peer]) for peer in peers for k in (0, 1)),
                *(_further(numbers["overlapping"], k, [peer]) for peer in peers for k in (0, 1)),
            ],
            [_grid(design, numbers[design]) for design in DESIGNS],
            notes=[_DISTANCE, _NEARER],
        )


@dataclass(frozen=True)
class Figure4(Application):
    """Identical match share over a grid of δ."""

    name: ClassVar[str] = "figure4"
    title: ClassVar[str] = "Identical match share by δ"
    source: ClassVar[str] = "Figure 4, section 7.1"

    def run(self, bench: Bench) -> Result:
        """Mean shares over rounds, in both designs."""
        numbers = self.both(bench, matches)
        return self.found(
            bench,
            [
                Claim.between(
                    f"{design.capitalize()}, {how}: at no δ do synthetic rows match train "
                    f"more often than held-out rows do, by more than {SHARE:g}",
                    _highest(numbers[design], names),
                    high=SHARE,
                )
                for design in reversed(DESIGNS)
                for how, names in _groups(numbers[design], peers_of(bench)).items()
            ],
            pictures=[_picture(design, numbers[design]) for design in DESIGNS],
            notes=[_DISTANCE, "Evidence names the δ at which the difference is largest."],
        )


def percentiles(one: Round) -> Numbers:
    """DCR and NNDR of every table of a round; of those made, the share nearer to train, too."""
    train, held = (coordinates(one.train, block) for block in (one.train, one.held))
    found = {}
    for name, block in one.tables.items():
        rows = coordinates(one.train, block)
        far = reach(train, rows)
        other = reach(held, rows).nearest if name != HELD else far.nearest
        nearer = np.mean((far.nearest < other) + 0.5 * (far.nearest == other))
        found[name] = (far.dcr(), far.nndr(), float(nearer))
    return found


def matches(one: Round) -> Numbers:
    """IMS of every table of a round, at every threshold."""
    found = {}
    for name, block in one.tables.items():
        far = reach(coordinates(one.train, one.train), coordinates(one.train, block))
        found[name] = [far.matches(delta) for delta in THRESHOLDS]
    return found


def _made(numbers: Sequence[Numbers]) -> list[str]:
    return [name for name in numbers[0] if name != HELD]


def _groups(numbers: Sequence[Numbers], peers: Sequence[str]) -> dict[str, list[str]]:
    """Who made the tables, in words, and their names."""
    ours = [name for name in _made(numbers) if name not in peers]
    return {
        "tuned by (24) alone": [name for name in ours if name in PRINTED],
        "tuned under a ceiling": [name for name in ours if name not in PRINTED],
        **{f"made by {peer}": [peer] for peer in peers},
    }


def _not_closer(numbers: Sequence[Numbers], k: int, names: Sequence[str]) -> Claim:
    measure = ("DCR", "NNDR")[k]
    own = float(gathered(numbers, HELD)[:, k].mean())
    text = (
        f"Disjoint: by {measure} {_no(names)} is closer to train than the holdout, by more than "
        f"{MARGIN:.0%} of the holdout's"
    )
    if own == 0:
        return Claim(text, Verdict.NOT_APPLICABLE, "the holdout's own is 0: nothing can be closer")
    gaps = {name: Cell.mean(differences(numbers, name, HELD)[:, k]) for name in names}
    return Claim.between(text, gaps, low=-MARGIN * own)


def _no(names: Sequence[str]) -> str:
    return "no synthesis" if len(names) > 1 else f"no table of {names[0]}"


def _no_nearer(numbers: Sequence[Numbers], peers: Sequence[str]) -> list[Claim]:
    rest = (
        "rows are not nearer to train than to as many people who were left out, by more than "
        f"{SHARE:g} of the rows"
    )
    return [
        Claim.between(
            f"Disjoint, {how}: {rest}",
            {name: Cell.mean(gathered(numbers, name)[:, 2]) for name in names},
            high=0.5 + SHARE,
        )
        for how, names in _groups(numbers, peers).items()
    ]


def _further(numbers: Sequence[Numbers], k: int, names: Sequence[str]) -> Claim:
    measure = ("DCR", "NNDR")[k]
    who = "every synthesis" if len(names) > 1 else names[0]
    return Claim.between(
        f"Overlapping: by {measure} {who} is further from train than the holdout",
        {name: Cell.mean(differences(numbers, name, HELD)[:, k]) for name in names},
        low=0.0,
    )


def _grid(design: str, numbers: Sequence[Numbers]) -> Grid:
    paper = design == "overlapping"
    rows = []
    for name in _made(numbers):
        gaps = differences(numbers, name, HELD)[:, :2].T
        theirs = PRINTED.get(name, (None, None)) if paper else (None, None)
        rows.append((name, cells([*gaps, gathered(numbers, name)[:, 2]], (*theirs, None))))
    level = cells(gathered(numbers, HELD)[:, :2].T, (None, None))
    return Grid(
        f"{design.capitalize()} design: 5th percentiles, synthetic minus holdout",
        ("Synthesis", "DCR", "NNDR", "Nearer to train"),
        (*rows, ("The holdout's own", (*level, Cell(0.5)))),
    )


def _highest(numbers: Sequence[Numbers], names: Sequence[str]) -> dict[str, Cell]:
    """For each table, its largest mean excess over the holdout, by the upper end."""
    found = {}
    for name in names:
        excess = [Cell.mean(column) for column in differences(numbers, name, HELD).T]
        place = max(range(len(excess)), key=lambda k: excess[k].interval[1])
        found[f"{name} at δ = {THRESHOLDS[place]:.3g}"] = excess[place]
    return found


def _picture(design: str, numbers: Sequence[Numbers]) -> Picture:
    lines = []
    for name in numbers[0]:
        means: Any = gathered(numbers, name).mean(axis=0)
        lines.append(Series(name, THRESHOLDS.tolist(), means.tolist(), **style_of(name)))
    title = f"{design.capitalize()} design: mean identical match share"
    return Picture(title, "δ", "share of rows", tuple(lines))


_NEARER = (
    "Not in the paper: the share of rows that are nearer to train than to the holdout, ties ½; of "
    "fresh people it is ½ in the disjoint design. Many people of the outbreak share their place, "
    "sex and age, so that the holdout's own 5th percentiles may be 0; then only this share can "
    "refuse."
)
_DISTANCE = (
    "Distances are Euclidean over longitude, latitude and the codes of sex, age and outcome, all "
    "standardised by train, as in section 7; they run to train."
)
