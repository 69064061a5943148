"""The map of a table: which two columns are places, and rows as points in a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.plane import Equirectangular
from understudy.kernels.windows import Window
from understudy.tables.detect import axis_of
from understudy.tables.encode import Block
from understudy.tables.schema import Kind, Role, Schema

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
LEAST = 10  # fewer points than this are no pattern, and nothing about them is shown
_TURN = 360.0
_SHARE, _MIDDLE = 0.25, (1.0, 99.0)
_TELLING = 0.01


def places_of(schema: Schema) -> tuple[str, str] | None:
    """The two columns that say where people are: east, then north; None unless there are two.

    Example:
        >>> from understudy.tables.schema import Column
        >>> names = ("lat", "lon")
        >>> places_of(Schema(tuple(Column(n, Kind.NUMBER, Role.LOCATION) for n in names)))
        ('lon', 'lat')
    """
    names = schema.with_role(Role.LOCATION)
    if len(names) != 2 or any(schema[name].kind is not Kind.NUMBER for name in names):
        return None
    first, second = names
    swapped = axis_of(first) == "latitude" and axis_of(second) == "longitude"
    return (second, first) if swapped else (first, second)


def why_not(schema: Schema) -> str:
    """Why a table has no map; an empty text if it has one."""
    names = schema.with_role(Role.LOCATION)
    if len(names) != 2:
        few = "no column has" if not names else f"{len(names)} columns have"
        few = "one column has" if len(names) == 1 else few
        return f"{few} the role location: a map needs two"
    odd = [name for name in names if schema[name].kind is not Kind.NUMBER]
    return f"the column {odd[0]} of role location is no number" if odd else ""


@dataclass(frozen=True, eq=False)
class Places:
    """How rows become points: frozen on train, the same for every table.

    Attributes:
        columns: east, then north.
        flat: the projection of degrees; None where the columns are a plane already.
        window: what is looked at; its bounding box if no other is given.
        given: the window was given, so that what lies outside was never meant.
        reach: a quarter of the shorter side of train's middle (1% to 99% each way).
        note: how rows became points, in words.
    """

    columns: tuple[str, str]
    flat: Equirectangular | None
    window: Window
    given: bool
    reach: float
    note: str

    @property
    def unit(self) -> str:
        """The unit of distances, or an empty text if the table does not say."""
        return "" if self.flat is None else "km"

    def points(self, block: Block) -> tuple[Floats, Flags]:
        """Points of the rows that have a place, and which rows those are."""
        raw = np.stack([block.values[name] for name in self.columns], axis=1)
        there = _valid(raw, globe=self.flat is not None)
        return _flattened(raw[there], self.flat), there


def find_places(train: Block, corners: tuple[tuple[float, float], ...] = ()) -> Places | str:
    """The map of train, or why there is none.

    Columns whose names are a latitude and a longitude are degrees. They are laid flat by a local
    equirectangular projection, in km; other columns are taken for a plane in their own unit.

    Args:
        train: the rows.
        corners: the window's corners in the table's own coordinates; none for the bounding box.
    """
    schema = train.encoding.schema
    columns = places_of(schema)
    if columns is None:
        return why_not(schema)
    globe = (axis_of(columns[0]), axis_of(columns[1])) == ("longitude", "latitude")
    raw = np.stack([train.values[name] for name in columns], axis=1)
    raw = raw[_valid(raw, globe=globe)]
    if len(raw) < LEAST:
        return f"fewer than {LEAST} rows of train have a place"
    flat = Equirectangular.around(raw) if globe else None
    points = _flattened(raw, flat)
    window = Window.box(points.min(axis=0), points.max(axis=0))
    if corners:
        window = Window(_flattened(np.array(corners, dtype=np.float64), flat))
    middle = np.percentile(points, _MIDDLE, axis=0)
    reach = _SHARE * float((middle[1] - middle[0]).min())
    if not (reach > 0 and window.area > 0):
        return "the places lie on a line: a map needs an area"
    return Places(columns, flat, window, bool(corners), reach, _note(flat, raw))


def _valid(raw: Floats, *, globe: bool) -> Flags:
    """Rows with both coordinates, and on the globe if it is one."""
    there = np.isfinite(raw).all(axis=1)
    if globe:
        there &= (np.abs(raw) <= [_TURN, 90.0]).all(axis=1)
    return np.asarray(there, dtype=np.bool_)


def _flattened(raw: Floats, flat: Equirectangular | None) -> Floats:
    return raw if flat is None else flat.km(raw)


def _note(flat: Equirectangular | None, raw: Floats) -> str:
    if flat is None:
        return "coordinates taken for a plane, in their own unit"
    stretch = flat.stretch(raw)
    off = f", distances east to west off by up to {stretch:.0%}" if stretch > _TELLING else ""
    return f"degrees laid flat by a local equirectangular projection, in km{off}"
