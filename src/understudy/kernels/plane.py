"""Longitude and latitude laid flat, for distances within a country."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RADIUS = 6371.0088  # mean radius of the earth in km


@dataclass(frozen=True)
class Equirectangular:
    """A local equirectangular projection: kilometres east and north of a centre.

    east = R·cos(φ₀)·(λ − λ₀),  north = R·(φ − φ₀), in radians, on a sphere of R = 6371.0088 km.

    Distances along the centre's parallel and along every meridian are those of the sphere; east to
    west they are off by cos(φ₀)/cos(φ) elsewhere, see `stretch`.

    Attributes:
        longitude: the centre's, in degrees.
        latitude: the centre's, in degrees.

    Example:
        >>> flat = Equirectangular(10.0, 60.0)
        >>> flat.km(np.array([[10.0, 60.0], [11.0, 61.0]])).round(1).tolist()
        [[0.0, 0.0], [55.6, 111.2]]
    """

    longitude: float
    latitude: float

    @classmethod
    def around(cls, degrees: Floats) -> Equirectangular:
        """Centred on points (n × 2: longitude, latitude), wherever the date line is."""
        angle = np.radians(degrees[:, 0])
        longitude = np.degrees(np.arctan2(np.sin(angle).mean(), np.cos(angle).mean()))
        low, high = degrees[:, 1].min(), degrees[:, 1].max()
        return cls(float(longitude), float((low + high) / 2))

    def km(self, degrees: Floats) -> Floats:
        """Kilometres east and north of the centre. Cost: points."""
        east = (degrees[:, 0] - self.longitude + 180.0) % 360.0 - 180.0
        north = degrees[:, 1] - self.latitude
        scale = np.pi / 180 * RADIUS
        shrink = np.cos(np.radians(self.latitude))
        return np.asarray(scale * np.stack([east * shrink, north], axis=1), dtype=np.float64)

    def stretch(self, degrees: Floats) -> float:
        """By what share east-west distances are off at worst among the points.

        Example:
            >>> round(Equirectangular(0.0, 50.0).stretch(np.array([[0.0, 51.0]])), 3)
            0.021
        """
        there = np.cos(np.radians(np.clip(degrees[:, 1], -89.9, 89.9)))
        return float(np.abs(np.cos(np.radians(self.latitude)) / there - 1).max(initial=0.0))
