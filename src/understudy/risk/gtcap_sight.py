"""What an attacker by GTCAP compares: keys and targets, and how near counts as near."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import on_grid
from understudy.kernels.gtcap import Reach, Traits, Uniques, pairs_within, uniques
from understudy.risk.linking import levels
from understudy.tables.encode import Block, Encoding

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHARE_OF_SD = 0.5  # of train's standard deviation: the radius of a number that the plan gives none
_LOOKS = 200_000_000  # pairs that are looked at one by one; where there are more, fewer people


@dataclass(frozen=True)
class Sight:
    """What an attacker compares: keys, targets, and radii of the numbers among them."""

    keys: tuple[str, ...]
    targets: tuple[str, ...]
    radii: Mapping[str, float]

    @classmethod
    def of(
        cls,
        declared: Mapping[str, float],
        encoding: Encoding,
        keys: tuple[str, ...],
        targets: tuple[str, ...],
    ) -> Sight:
        """Radii of the plan, else half of train's standard deviation."""
        radii = {
            name: float(declared.get(name, SHARE_OF_SD * encoding[name].sd))
            for name in (*keys, *targets)
            if encoding[name].is_numeric
        }
        return cls(keys, targets, radii)

    @property
    def reach(self) -> Reach:
        """The radii in the order of the columns."""
        sides = (self.keys, self.targets)
        return Reach(*(tuple(self.radii[n] for n in side if n in self.radii) for side in sides))

    def traits(self, block: Block, *, released: bool = False) -> Traits:
        """Keys and targets of rows."""
        (key_levels, key_numbers), (levels_of, numbers) = (
            (
                levels(block, [name for name in side if name not in self.radii], released=released),
                self._numbers(block, [name for name in side if name in self.radii]),
            )
            for side in (self.keys, self.targets)
        )
        return Traits(key_levels, key_numbers, levels_of, numbers)

    def _numbers(self, block: Block, names: list[str]) -> Floats:
        # Equality is by the decimals that train has, as everywhere: other tools may add some.
        columns = [
            block.values[name] if self.radii[name] > 0 else on_grid(block, name) for name in names
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((block.rows, 0))

    def attacked(self, train: Block) -> Ints:
        """Rows of train that are looked at: all, or evenly spread ones where pairs are too many."""
        own = self.traits(train)
        most = train.rows * _LOOKS // max(pairs_within(own, own, self.reach), 1)
        if most >= train.rows:
            return np.arange(train.rows)
        return np.unique(np.linspace(0, train.rows - 1, max(most, 1)).astype(np.int64))

    def exposed(self, train: Block, rows: Ints) -> Uniques:
        """The statistical uniques among some rows of train, by their number in train."""
        own = self.traits(train)
        found = uniques(own.take(rows), own, self.reach, members=True)
        return replace(found, row=rows[found.row])

    def strangers(self, people: Block, train: Block) -> Uniques:
        """Those among people who are not in train, each as if one more row of it."""
        return uniques(self.traits(people), self.traits(train), self.reach, members=False)

    def said(self) -> str:
        """Keys with their radii, in words for a note."""
        return ", ".join(
            f"{name} (radius {self.radii[name]:.4g})" if name in self.radii else name
            for name in (*self.keys, *(name for name in self.targets if name in self.radii))
        )
