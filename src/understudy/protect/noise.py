"""Add noise to numbers, as much as it takes that nobody can be recognised by one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.errors import PlanError
from understudy.evidence import Source
from understudy.membership import Cover, Membership
from understudy.protect.base import Protection, Receipt
from understudy.tables.encode import Block

_KEY = 32


@dataclass(frozen=True)
class Noise(Membership, Protection):
    """Code the tails and add noise, so that no ECAP exceeds the bound.

    Noise is drawn once for each value of a column: all rows that carry the same value, in all
    synthetic tables, get the same noise, so that it does not average out. What the entry does not
    say is taken from ``[measure.ecap]``.

    Attributes:
        keep_variance: shrink towards the mean after adding, so that the variance stays.
    """

    name: ClassVar[str] = "noise"
    once: ClassVar[bool] = True
    last: ClassVar[bool] = True
    beside: ClassVar[str] = "ecap"
    keep_variance: bool = False

    def suits(self, where: str, train: Block) -> None:
        """Also: what stays on a grid cannot be shrunk."""
        super().suits(where, train)
        for name in self.columns if self.keep_variance else ():
            if self.cover(train, name, where).step:
                expected = f"false, or form = 'continuous': {name} stays on its grid"
                raise PlanError(f"{where}.keep_variance", True, expected)

    def covers(self, train: Block) -> dict[str, Cover]:
        """The noise of every column that has a stated population."""
        return {name: self._kept(train, self.cover(train, name)) for name in self.columns}

    def apply(
        self, replicate: Block, train: Block, source: Source, *, rng: np.random.Generator
    ) -> tuple[Block, Receipt]:
        """Add it; the receipt gives the law, which is public."""
        key = rng.bytes(_KEY)
        if not self.columns:
            return replicate, Receipt(self.name, note="no column has a stated population")
        covers = self.covers(train)
        unrounded = [name for name, cover in covers.items() if cover.sigma > 0 and not cover.step]
        encoding = replicate.encoding.unrounded(unrounded)
        codes, values = dict(replicate.codes), dict(replicate.values)
        for name, cover in covers.items():
            cells = encoding[name].cells
            assert cells is not None
            noisy = cover.apply(values[name], key)
            values[name] = noisy if name in unrounded else cells.on_grid(noisy)
            codes[name] = cells.of(values[name])
        numbers = {f"deviation of the noise of {name}": c.sigma for name, c in covers.items()}
        laws = tuple(f"`{name}`: {cover.law()}" for name, cover in covers.items())
        receipt = Receipt(self.name, numbers=numbers, public=laws)
        return Block(encoding, replicate.rows, codes, values), receipt

    def _kept(self, train: Block, cover: Cover) -> Cover:
        """Shrunk by 1/√(1 + σ²/sd²): the variance of number and noise is the column's own."""
        column = train.encoding[cover.name]
        if not self.keep_variance or not column.sd > 0:
            return cover
        shrink = 1 / math.sqrt(1 + (cover.sigma / column.sd) ** 2)
        return replace(cover, shrink=shrink, centre=column.mean)
