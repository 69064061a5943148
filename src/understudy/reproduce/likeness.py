"""Bale & Quick, Figure 6: pMSE ratios by a tree, with a null from pairs of replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.evidence import features, widths
from understudy.kernels.propensity import cart_pmse
from understudy.reproduce.application import Application, Numbers, gathered, peers_of
from understudy.reproduce.item import Bench
from understudy.reproduce.outbreak import DESIGNS, HELD, PLACE, TUNED, Round, style_of
from understudy.reproduce.peers import PAPERS_OWN
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Result, Series
from understudy.seeds import stream
from understudy.tables.encode import Block

PRINTED: Mapping[str, float | None] = {
    HELD: 0.93,
    "MNL": 1.0,
    "CART": 1.0,
    "MNL, prevention": 2.5,
    "CART, prevention": 2.5,
    PAPERS_OWN: 1.25,
}
NEAR = 0.1  # a mean ratio that lies within this of 1 counts as near 1
PAIR = "pairs of "
UNTIED = "Holdout, ties broken"
_CENTIMETRE = 1e-7  # degrees


@dataclass(frozen=True)
class Figure6(Application):
    """The pMSE of each table against train over the mean pMSE of pairs of replicates."""

    name: ClassVar[str] = "figure6"
    title: ClassVar[str] = "pMSE ratios by a tree"
    source: ClassVar[str] = "Figure 6, section 7.2"

    def run(self, bench: Bench) -> Result:
        """Ratios in both designs."""
        numbers = self.both(bench, scores)
        ratios = {design: ratios_of(numbers[design]) for design in DESIGNS}
        disjoint, overlapping = ratios["disjoint"], ratios["overlapping"]
        tuned = [variant.name for variant in TUNED]
        after = {
            f"{v.name}": Cell.mean(disjoint[v.protected][0] - disjoint[v.name][0]) for v in TUNED
        }
        apart = {
            how: _difference(disjoint[name], overlapping[name])
            for how, name in (("places as they are", HELD), ("ties broken", UNTIED))
        }
        return self.found(
            bench,
            [
                _near_one("the tuned ratio is near 1", {n: _cell(disjoint[n]) for n in tuned}),
                Claim.between("Disjoint: prevention raises the ratio", after, low=0.0),
                _near_one(
                    "the holdout's ratio is near 1, where ties of places are broken",
                    {HELD: _cell(disjoint[UNTIED])},
                ),
                Claim.between(
                    "The overlapping holdout, which shares rows with train, has a lower ratio than "
                    "the disjoint one (disjoint minus overlapping)",
                    apart,
                    low=0.0,
                ),
                *(
                    Claim.between(
                        f"Disjoint: {peer}'s ratio is larger than a tuned one ({peer} minus tuned)",
                        {n: _difference(disjoint[peer], disjoint[n]) for n in tuned},
                        low=0.0,
                    )
                    for peer in peers_of(bench)
                ),
            ],
            [_grid(design, ratios[design]) for design in DESIGNS],
            [_picture(design, ratios[design]) for design in DESIGNS],
            [_NULL, _TIES],
        )


def scores(one: Round) -> Numbers:
    """The pMSE of every table of a round against train, and of each pair of replicates."""
    found = {name: pmse(one.train, block) for name, block in one.tables.items()}
    found[UNTIED] = pmse(untied(one.train, 0), untied(one.held, 1))
    pairs = {PAIR + name: pmse(one.made[name], twin) for name, twin in one.twins.items()}
    return found | pairs


def untied(block: Block, which: int) -> Block:
    """The same people, with places moved by a centimetre: nobody stands exactly where another does.

    Places of the outbreak have steps of 0.1 m, so only the order of equal ones changes.
    """
    rng = stream(which, "untied")
    moved = {n: block.values[n] + rng.normal(0.0, _CENTIMETRE, block.rows) for n in PLACE}
    return replace(block, values={**block.values, **moved})


def pmse(one: Block, other: Block, columns: Sequence[str] | None = None) -> float:
    """The pMSE of a tree with leaves of at least 20 rows."""
    names = list(columns or one.names)
    both = (*features(one, names), *features(other, names))
    # Between equally good splits a stream decides that depends on nothing else.
    return cart_pmse(*both, widths(one.encoding, names), rng=stream(0, "tree"))


Ratio = tuple[np.ndarray, float]  # ratios of the rounds, and the relative error of the null


def ratios_of(numbers: Sequence[Numbers]) -> dict[str, Ratio]:
    """Ratios by table. The holdout, which nobody made, has the mean null of all synthesizers."""
    makers = [name.removeprefix(PAIR) for name in numbers[0] if name.startswith(PAIR)]
    nulls = {name: gathered(numbers, PAIR + name) for name in makers}
    nulls[HELD] = np.mean([nulls[variant.name] for variant in TUNED], axis=0)
    nulls[UNTIED] = nulls[HELD]
    found = {}
    for name in numbers[0]:
        if not name.startswith(PAIR):
            null = Cell.mean(nulls[name.removesuffix(", prevention")])
            error = (null.error or 0.0) / null.ours
            found[name] = (gathered(numbers, name) / null.ours, error)
    return found


def _cell(ratio: Ratio, theirs: float | None = None) -> Cell:
    """Mean ratio; the null is an estimate, too, and adds its error."""
    values, error = ratio
    mean = Cell.mean(values, theirs)
    total = np.hypot(mean.error or 0.0, mean.ours * error)
    return Cell(mean.ours, float(total), theirs, mean.count)


def _difference(one: Ratio, other: Ratio) -> Cell:
    a, b = _cell(one), _cell(other)
    return Cell(a.ours - b.ours, float(np.hypot(a.error or 0, b.error or 0)), None, a.count)


def _near_one(what: str, parts: Mapping[str, Cell]) -> Claim:
    return Claim.between(f"Disjoint: {what} (within {NEAR:g})", parts, 1 - NEAR, 1 + NEAR)


def _grid(design: str, ratios: Mapping[str, Ratio]) -> Grid:
    paper = design == "overlapping"
    rows = [(n, (_cell(r, PRINTED.get(n) if paper else None),)) for n, r in ratios.items()]
    caption = f"{design.capitalize()} design: mean pMSE ratio (the paper's as read off)"
    return Grid(caption, ("Table", "pMSE ratio"), tuple(rows))


def _picture(design: str, ratios: Mapping[str, Ratio]) -> Picture:
    lines = []
    for name, (values, _) in ratios.items():
        spots = [float(v) for v in values]
        lines.append(Series(name, list(range(len(spots))), spots, **style_of(name)))
    title = f"{design.capitalize()} design: pMSE ratio of each round"
    return Picture(title, "round", "pMSE ratio", tuple(lines), "spread")


_TIES = (
    "The holdout's null is the mean of the synthesizers'. Two real tables share places exactly, "
    "and two synthetic ones do not: a tree has fewer splits to choose from, and finds less, where "
    "ties are. “Ties broken” moves every place of train and holdout by about a centimetre."
)
_NULL = (
    "The tree has leaves of at least 20 rows. The null is the mean pMSE of pairs of replicates of "
    "one fit, factor 1; prevention adds rows, and its tables are compared with the same null."
)
