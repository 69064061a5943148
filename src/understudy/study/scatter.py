"""Points of people on a map, original and synthetic: for the data owner's eyes alone.

This is the declared exception to the rule that the private report shows no rows. The points have a
file of their own, apart from findings and summaries, and a plan can leave them out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.evidence import Evidence
from understudy.kernels.plane import Equirectangular
from understudy.seeds import stream
from understudy.tables.encode import Block
from understudy.utility.places import Places, find_places

_MOST = 2_000  # points of each table: enough to see towns, few enough to draw
_STEPS = 1_000  # of the map's longer side that coordinates are rounded to


@dataclass(frozen=True, eq=False)
class Scatter:
    """Some points of train and of the first replicate, in the table's own coordinates.

    Attributes:
        columns: names of the coordinates: east, then north.
        aspect: height over width of the map in the plane.
        points: (n × 2) by table: ``original``, ``synthetic``.
        rows: how many points each table has in all.
    """

    columns: tuple[str, str]
    aspect: float
    points: dict[str, NDArray[np.float64]]
    rows: dict[str, int]

    def to_arrow(self) -> pa.Table:
        """The file: the table's name and both coordinates of each point."""
        names = [name for name, points in self.points.items() for _ in points]
        both = np.concatenate(list(self.points.values()))
        return pa.table({"table": names, "east": both[:, 0], "north": both[:, 1]})

    def to_json(self) -> dict[str, Any]:
        """What the report draws; never part of findings or summaries."""
        return {
            "columns": list(self.columns),
            "aspect": self.aspect,
            "points": {name: points.tolist() for name, points in self.points.items()},
            "rows": dict(self.rows),
        }


def scatter(evidence: Evidence, *, seed: int) -> Scatter | None:
    """At most 2,000 random points of train and of the first replicate, rounded; None: no map."""
    places = find_places(evidence.train)
    if isinstance(places, str):
        return None
    blocks = {"original": evidence.train, "synthetic": evidence.release[0]}
    found = {name: _raw(block, places) for name, block in blocks.items()}
    shown = {name: _some(points, seed, name) for name, points in found.items()}
    step, aspect = _frame(list(shown.values()), places.flat)
    digits = max(0, -math.floor(math.log10(step))) if step > 0 else 6
    return Scatter(
        places.columns,
        aspect,
        {name: np.round(points, digits) for name, points in shown.items()},
        {name: len(points) for name, points in found.items()},
    )


def _raw(block: Block, places: Places) -> NDArray[np.float64]:
    _, there = places.points(block)
    points = np.stack([block.values[name][there] for name in places.columns], axis=1)
    if places.flat is not None:  # neighbours across the date line stay neighbours
        centre = places.flat.longitude
        points[:, 0] = centre + (points[:, 0] - centre + 180.0) % 360.0 - 180.0
    return points


def _some(points: NDArray[np.float64], seed: int, name: str) -> NDArray[np.float64]:
    """A random sample in random order, so that the place in the file says nothing."""
    order = stream(seed, "map", name).permutation(len(points))
    return points[order[:_MOST]]


def _frame(
    shown: Sequence[NDArray[np.float64]], flat: Equirectangular | None
) -> tuple[float, float]:
    """Smallest step worth drawing, and the frame's height over its width."""
    both = np.concatenate(shown)
    corners = np.stack([both.min(axis=0), both.max(axis=0)])
    step = float(np.ptp(corners, axis=0).max()) / _STEPS
    wide, high = np.ptp(corners, axis=0)
    if flat is not None:
        wide *= math.cos(math.radians(flat.latitude))
    return step, float(high / wide) if wide > 0 else 1.0
