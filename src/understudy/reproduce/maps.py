"""Bale & Quick, Figures 7 and 8: how clustered places are, and how they look on a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.pairs import ripley
from understudy.reproduce.application import Application, Numbers, gathered, peers_of
from understudy.reproduce.item import Bench
from understudy.reproduce.likeness import pmse
from understudy.reproduce.outbreak import DESIGNS, HELD, PLACE, TUNED, Round, rounds, style_of
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Result, Series
from understudy.tables.encode import Block
from understudy.utility.places import Places, find_places

Floats = NDArray[np.float64]
RADII = np.linspace(1.0, 30.0, 30)  # km
TRAIN = "Train"
GROUPS = ("all people", "deceased")
NEAR = 0.1  # share of L by which clustering may differ and still counts as kept


@dataclass(frozen=True)
class Figure7(Application):
    """L functions of all places and of those of the deceased."""

    name: ClassVar[str] = "figure7"
    title: ClassVar[str] = "L functions of places"
    source: ClassVar[str] = "Figure 7, section 7.2"

    def run(self, bench: Bench) -> Result:
        """Curves in both designs."""
        numbers = self.both(bench, clustering)
        disjoint = numbers["disjoint"]
        names = [name for v in TUNED for name in (v.name, v.protected)]
        return self.found(
            bench,
            [
                Claim.between(
                    f"Disjoint: places are as clustered as train's (mean L within {NEAR:.0%})",
                    {name: _relative(disjoint, name) for name in names},
                    1 - NEAR,
                    1 + NEAR,
                ),
                Claim.between(
                    "Disjoint: places cluster (L − h above 0 at every h; the smallest)",
                    {name: _smallest(disjoint, name) for name in names},
                    low=0.0,
                ),
                Claim.between(
                    "Disjoint: for the deceased, the tree's L is nearer to train's than the "
                    "logit's (mean gap, MNL minus CART)",
                    {"MNL minus CART": _nearer(disjoint)},
                    low=0.0,
                ),
                *(
                    Claim.between(
                        f"Disjoint: {peer}'s places are less clustered than those of our "
                        f"mixtures (mean L, ours minus {peer}'s, over train's)",
                        {v.name: _less(disjoint, v.name, peer) for v in TUNED},
                        low=0.0,
                    )
                    for peer in peers_of(bench)
                ),
            ],
            pictures=[
                _picture(design, group, numbers[design], k, peers_of(bench))
                for design in DESIGNS
                for k, group in enumerate(GROUPS)
            ],
            notes=[_LAID],
        )


@dataclass(frozen=True)
class Figure8(Application):
    """Maps of train and of synthetic tables."""

    name: ClassVar[str] = "figure8"
    title: ClassVar[str] = "Places of train and of synthetic tables"
    source: ClassVar[str] = "Figure 8, section 7.2"

    def run(self, bench: Bench) -> Result:
        """Maps of the first round of the paper's design; likeness of places in all rounds."""
        numbers = self.both(bench, places_score)
        first = rounds(bench, "overlapping", self.repetitions)[0]
        shown = {TRAIN: first.train, HELD: first.held, **first.made}
        names = [v.name for v in TUNED]
        return self.found(
            bench,
            [
                Claim.between(
                    "Disjoint: a tree tells synthetic places from train's no better than two "
                    "replicates from each other, but for a tenth (pMSE ratio at most 1.1)",
                    {name: _ratio(numbers["disjoint"], name) for name in names},
                    high=1.1,
                )
            ],
            [_grid(design, numbers[design], peers_of(bench)) for design in DESIGNS],
            [_map(name, block) for name, block in shown.items()],
        )


def clustering(one: Round) -> Numbers:
    """L of train and of every table, for all people and for the deceased (2 × distances)."""
    places = find_places(one.train)
    assert isinstance(places, Places)
    dead = one.train.encoding["outcome"].levels.index("deceased")
    found = {}
    for name, block in {TRAIN: one.train, **one.tables}.items():
        points, _ = places.points(block)
        groups = (points, points[block.codes["outcome"] == dead])
        found[name] = np.stack([_l(group, places) for group in groups])
    return found


def _l(points: Floats, places: Places) -> Floats:
    if len(points) < 2:
        return np.zeros(len(RADII))
    return ripley(points, RADII, places.window, divisor="squares").l


def places_score(one: Round) -> Numbers:
    """The pMSE of places alone, of every table against train and of pairs of replicates."""
    found = {name: pmse(one.train, block, PLACE) for name, block in one.tables.items()}
    pairs = {
        f"{_PAIR}{name}": pmse(one.made[name], twin, PLACE) for name, twin in one.twins.items()
    }
    return found | pairs


_PAIR = "pairs of "


def _ratio(numbers: Sequence[Numbers], name: str) -> Cell:
    null = gathered(numbers, _PAIR + name.removesuffix(", prevention")).mean()
    return Cell.mean(gathered(numbers, name) / null)


def _grid(design: str, numbers: Sequence[Numbers], peers: Sequence[str]) -> Grid:
    names = [*(name for v in TUNED for name in (v.name, v.protected)), *peers]
    rows = [(name, (_ratio(numbers, name),)) for name in names]
    head = ("Table", "pMSE ratio of places")
    return Grid(f"{design.capitalize()} design", head, tuple(rows))


def _relative(numbers: Sequence[Numbers], name: str) -> Cell:
    ours, theirs = (gathered(numbers, n)[:, 0].mean(axis=1) for n in (name, TRAIN))
    return Cell.mean(ours / theirs)


def _less(numbers: Sequence[Numbers], name: str, peer: str) -> Cell:
    ours, other, train = (gathered(numbers, n)[:, 0].mean(axis=1) for n in (name, peer, TRAIN))
    return Cell.mean((ours - other) / train)


def _smallest(numbers: Sequence[Numbers], name: str) -> Cell:
    excess = gathered(numbers, name)[:, 0] - RADII
    return Cell.mean(excess[:, int(np.argmin(excess.mean(axis=0)))])


def _nearer(numbers: Sequence[Numbers]) -> Cell:
    train = gathered(numbers, TRAIN)[:, 1]
    gaps = [np.abs(gathered(numbers, n)[:, 1] - train).mean(axis=1) for n in ("MNL", "CART")]
    return Cell.mean(gaps[0] - gaps[1])


def _picture(
    design: str, group: str, numbers: Sequence[Numbers], k: int, peers: Sequence[str]
) -> Picture:
    lines, bare = [], {HELD, *(v.name for v in TUNED), *peers}
    for name in numbers[0]:
        style: dict[str, Any] = {"role": "original"} if name == TRAIN else style_of(name)
        excess = gathered(numbers, name)[:, k] - RADII
        low, high = np.quantile(excess, [0.025, 0.975], axis=0).tolist()
        mean: Any = excess.mean(axis=0).tolist()
        bands = (low, high) if name in bare else ((), ())
        lines.append(Series(name, RADII.tolist(), mean, bands[0], bands[1], **style))
    title = f"{design.capitalize()} design, {group}: L − h, with 95% bands over rounds"
    return Picture(title, "h in km", "L − h", tuple(lines))


def _map(name: str, block: Block) -> Picture:
    style: dict[str, Any] = {"role": "original"} if name == TRAIN else style_of(name)
    across, up = (np.round(block.values[axis], 3).tolist() for axis in PLACE)
    series = (Series(name, across, up, **style),)
    return Picture(f"{name}: {block.rows:,} rows", *PLACE, series, "points")


_LAID = (
    "Degrees are laid flat in km. K is (26), with divisor n², no edge correction and the bounding "
    "box of train; L − h is (27)."
)
