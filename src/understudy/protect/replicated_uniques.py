"""Redraw rows that show a person who is unique in train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Source, row_numbers
from understudy.kernels.rows import hits_unique
from understudy.protect.base import Protection, Receipt
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Role


@dataclass(frozen=True)
class ReplicatedUniques(Protection):
    """Take out rows that equal a record unique in train on some columns, and draw others instead.

    A release in which *no* row ever meets a unique person is itself unlike a second sample: use it
    where an exact match would be read as a person, and read the receipt.

    Attributes:
        columns: which columns: ``quasi`` (roles quasi and location), ``all``, or a list of names.
        rounds: how often to redraw before the rows that are left are counted and kept.
    """

    name: ClassVar[str] = "replicated-uniques"
    redraws: ClassVar[bool] = True
    columns: str | tuple[str, ...] | list[str] = "quasi"
    rounds: int = 50

    def check(self, where: str) -> None:
        """Check names and ranges."""
        named = isinstance(self.columns, str)
        if (named and self.columns not in ("quasi", "all")) or not self.columns:
            raise PlanError(f"{where}.columns", self.columns, "'quasi', 'all' or a list of columns")
        whole = isinstance(self.rounds, int) and not isinstance(self.rounds, bool)
        if not whole or self.rounds < 1:
            raise PlanError(f"{where}.rounds", self.rounds, "a whole number, at least 1")

    def keys(self, block: Block) -> tuple[str, ...]:
        """The columns to compare."""
        if not isinstance(self.columns, str):
            for name in self.columns:
                if name not in block.names:
                    known = ", ".join(block.names)
                    raise PlanError("protections.columns", name, f"some of {known}")
            return tuple(self.columns)
        if self.columns == "all":
            return block.names
        return block.encoding.schema.with_role(Role.QUASI, Role.LOCATION)

    def apply(
        self, replicate: Block, train: Block, source: Source, *, rng: np.random.Generator
    ) -> tuple[Block, Receipt]:
        """Redraw offending rows until none is left, or the rounds are used up."""
        keys = self.keys(train)
        if not keys:
            return replicate, Receipt(self.name, note="no column has the role quasi or location")
        good, redrawn, rounds = replicate, 0, 0
        bad = _offending(train, good, keys)
        dropped = int(bad.size)
        while bad.size and rounds < self.rounds:
            rounds += 1
            redrawn += int(bad.size)
            fresh = source.sample(int(bad.size), seed=int(rng.integers(2**63)))
            keep = np.setdiff1d(np.arange(good.rows), bad)
            # The order of rows says nothing: new ones go to the places of those they replace.
            place = np.argsort(np.concatenate([keep, bad]), kind="stable")
            good = stack([good.take(keep), fresh]).take(place)
            bad = bad[_offending(train, good.take(bad), keys)]
        return good, Receipt(self.name, dropped, redrawn, rounds, int(bad.size))


def _offending(train: Block, block: Block, keys: tuple[str, ...]) -> NDArray[np.int64]:
    mine, theirs = row_numbers([train, block], keys)
    return np.flatnonzero(hits_unique(mine, theirs))
