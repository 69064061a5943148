"""The window that points on a map are seen through: a polygon, most often a rectangle.

What lies outside was not observed, so that points near the border seem to have few neighbours.
The classical corrections ask the window three things: how far the border is, how much of it stays
in sight when it is moved, and how much of a circle lies inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2
from scipy.ndimage import map_coordinates

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_CELLS = 256  # along the longer side of a polygon's raster


@dataclass(frozen=True, eq=False)
class Window:
    """A polygon without holes.

    Attributes:
        corners: its corners in order, either way round (corners × 2).

    Example:
        >>> window = Window.box([0.0, 0.0], [2.0, 1.0])
        >>> window.area, window.is_box
        (2.0, True)
    """

    corners: Floats

    @classmethod
    def box(cls, low: Floats | list[float], high: Floats | list[float]) -> Window:
        """The rectangle between two opposite corners."""
        (x0, y0), (x1, y1) = low, high
        return cls(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=np.float64))

    @cached_property
    def low(self) -> Floats:
        """The lower left corner of the bounding box."""
        return np.asarray(self.corners.min(axis=0), dtype=np.float64)

    @cached_property
    def high(self) -> Floats:
        """The upper right corner of the bounding box."""
        return np.asarray(self.corners.max(axis=0), dtype=np.float64)

    @cached_property
    def is_box(self) -> bool:
        """Whether it is a rectangle with upright sides."""
        at_low, at_high = self.corners == self.low, self.corners == self.high
        corners = {tuple(row) for row in at_high.tolist()}
        return len(self.corners) == len(corners) == 4 and bool((at_low | at_high).all())

    @cached_property
    def area(self) -> float:
        """Area by the shoelace formula."""
        x, y = self.corners.T
        return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)

    def holds(self, points: Floats) -> Flags:
        """Whether points lie inside; a rectangle's border counts. Cost: points × corners."""
        if self.is_box:
            return np.asarray(((points >= self.low) & (points <= self.high)).all(axis=1))
        inside = np.zeros(len(points), dtype=np.bool_)
        for (x0, y0), (x1, y1) in self._edges():
            if y0 == y1:
                continue
            crosses = (points[:, 1] < y0) != (points[:, 1] < y1)
            inside ^= crosses & (points[:, 0] < x0 + (points[:, 1] - y0) * (x1 - x0) / (y1 - y0))
        return inside

    def border(self, points: Floats) -> Floats:
        """Distance of points to the nearest side, exactly. Cost: points × corners."""
        nearest = np.full(len(points), np.inf)
        for start, end in self._edges():
            side = end - start
            length = float(side @ side)
            share = np.clip((points - start) @ side / length, 0, 1) if length else np.zeros(1)
            gap = points - start - np.atleast_1d(share)[:, None] * side
            nearest = np.minimum(nearest, np.hypot(*gap.T))
        return nearest

    def shared(self, shift: Floats) -> Floats:
        """Area of the window that is still inside when the window is moved by ``shift``.

        |D ∩ (D + v)|: (a − |v_x|)·(b − |v_y|) for a rectangle, exactly. For another polygon it is
        read off the autocorrelation of a raster of 256 cells along the longer side.
        """
        if self.is_box:
            return np.asarray(np.prod(np.maximum(self.high - self.low - np.abs(shift), 0), axis=1))
        table, cell = self._moved
        places = (shift / cell).T + np.array(table.shape)[:, None] // 2
        found = map_coordinates(table, places, order=1, mode="constant")
        return np.asarray(found, dtype=np.float64)

    def arc(self, points: Floats, radius: Floats) -> Floats:
        """Share of the circle around each point, with a radius of its own, that lies inside.

        Exactly, for any polygon: seen from the point, each side spans the directions α to β from
        its foot, at a distance p. It lies beyond the circle where |t| ≥ γ = arccos(p/r). Summed
        over the sides, with their signs, those angles are the arc. Cost: points × corners.
        """
        total = np.zeros(len(points))
        for start, end in self._edges():
            side = end - start
            length = float(np.hypot(*side))
            if not length:
                continue
            east, north = (start - points).T
            foot = (east * side[1] - north * side[0]) / length  # positive where the point is left
            along = (east * side[0] + north * side[1]) / length
            gone = np.abs(foot)
            gamma = np.arccos(np.clip(_ratio(gone, radius), 0, 1))
            ends = (np.arctan2(part, gone) for part in (along, along + length))
            alpha, beta = (end - np.clip(end, -gamma, gamma) for end in ends)
            total += np.sign(foot) * (beta - alpha)
        return np.abs(total) / (2 * np.pi)

    def _edges(self) -> list[tuple[Floats, Floats]]:
        return list(zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True))

    @cached_property
    def _raster(self) -> tuple[Flags, float]:
        """Which cells' middles are inside (x × y), and the side of a cell."""
        cell = float((self.high - self.low).max()) / _CELLS
        sides = [
            np.arange(low + cell / 2, high, cell)
            for low, high in zip(self.low, self.high, strict=True)
        ]
        mesh = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
        return self.holds(mesh.reshape(-1, 2)).reshape(mesh.shape[:2]), cell

    @cached_property
    def _moved(self) -> tuple[Floats, float]:
        """Area shared with the window moved by whole cells, no move in the middle."""
        mask, cell = self._raster
        shape = [2 * side for side in mask.shape]
        wave = rfft2(mask.astype(np.float64), shape)
        table = np.fft.fftshift(irfft2(np.abs(wave) ** 2, shape))
        return np.asarray(table * (self.area / max(mask.sum(), 1)), dtype=np.float64), cell


def _ratio(above: Floats, below: Floats) -> Floats:
    """Ratios; 1 where there is nothing below (a circle of no radius is hidden by no side)."""
    return np.divide(above, below, out=np.ones_like(above), where=below > 0)
