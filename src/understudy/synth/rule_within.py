"""Hierarchies: a child belongs to the parents that it has in train."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.synth.base import Restriction
from understudy.synth.rules import Rule
from understudy.tables.encode import Block, ColumnEncoding

_MOST = 2 * 10**8  # pairs of codes that may be held at once


@dataclass(frozen=True, eq=False)
class Inside(Rule):
    """Only pairs of child and parent that train has; missing goes with everything.

    Attributes:
        seen: ``seen[parent, child]``: train has the pair.
    """

    child: ColumnEncoding
    parent: ColumnEncoding
    seen: NDArray[np.bool_]

    @classmethod
    def learn(cls, child: ColumnEncoding, parent: ColumnEncoding, train: Block) -> Inside:
        """Collect train's pairs. Cost: the product of the numbers of codes."""
        seen = np.zeros((parent.width, child.width), dtype=bool)
        seen[train.codes[parent.column.name], train.codes[child.column.name]] = True
        seen[parent.missing :, :] = True
        seen[:, child.missing :] = True
        return cls(child, parent, seen)

    @staticmethod
    def fits(child: ColumnEncoding, parent: ColumnEncoding) -> bool:
        """Tell whether the pairs can be held in memory."""
        return child.width * parent.width <= _MOST

    @property
    def columns(self) -> tuple[str, ...]:
        """Both columns."""
        return (self.child.column.name, self.parent.column.name)

    def restrict(self, column: str, known: Block) -> Restriction | None:
        """The partners that the other column's code has in train."""
        child, parent = self.columns
        if column == child and parent in known.codes:
            return _partners(self.seen, known.codes[parent], self.child.missing)
        if column == parent and child in known.codes:
            return _partners(self.seen.T, known.codes[child], self.parent.missing)
        return None

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Rows with a pair that train does not have."""
        child, parent = self.columns
        return np.asarray(~self.seen[block.codes[parent], block.codes[child]], dtype=bool)

    def describe(self) -> str:
        """The rule in words."""
        child, parent = self.columns
        return f"{child} within {parent}"


def _partners(seen: NDArray[np.bool_], codes: NDArray[np.int32], missing: int) -> Restriction:
    # Codes with the same partners form one group: all cities of a region, not one by one.
    used, row = np.unique(codes, return_inverse=True)
    allowed, group = np.unique(np.packbits(seen[used], axis=1), axis=0, return_inverse=True)
    wide = np.unpackbits(allowed, axis=1, count=seen.shape[1]).astype(bool)
    return Restriction(allowed=wide, group=group.ravel()[row].astype(np.int64), missing=missing)
