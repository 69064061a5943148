"""Keep columns as they are: partial synthesis releases them and draws the others around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.synth.base import NOWHERE, Fitted, Floats, Model, Within
from understudy.tables.encode import Block


@dataclass(frozen=True)
class Keep(Model):
    """Release columns unchanged, row by row."""

    name: ClassVar[str] = "keep"
    many: ClassVar[bool] = True
    fixed: ClassVar[bool] = True

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedKeep:
        """Remember the columns."""
        return FittedKeep(tuple(columns), train.select(list(columns)))


@dataclass(frozen=True, eq=False)
class FittedKeep(Fitted):
    """Train's own columns."""

    columns: tuple[str, ...]
    kept: Block
    given: tuple[str, ...] = ()

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Train's rows, in train's order."""
        if given.rows != self.kept.rows:
            raise InputError(
                f"columns are kept as they are, so the release has train's {self.kept.rows} rows; "
                f"{given.rows} were asked for: leave out --rows, or keep no column"
            )
        return self.kept

    def log_density(self, rows: Block) -> Floats:
        """Zero: nothing is random here."""
        return np.zeros(rows.rows)

    def log_prob(self, replicate: Block) -> float:
        """Zero if the columns are train's, −∞ otherwise."""
        same = replicate.rows == self.kept.rows and all(
            np.array_equal(replicate.codes[name], self.kept.codes[name])
            and (
                name not in self.kept.values
                or np.array_equal(replicate.values[name], self.kept.values[name], equal_nan=True)
            )
            for name in self.columns
        )
        return 0.0 if same else -np.inf

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """−∞ for a candidate whose kept columns differ from the ones that were released."""
        same = np.ones(candidates.rows, dtype=bool)
        for name in self.columns:
            same &= candidates.codes[name] == self.kept.codes[name][record]
            if name in self.kept.values:
                mine = self.kept.values[name][record]
                theirs = candidates.values[name]
                same &= (theirs == mine) | (np.isnan(theirs) & np.isnan(mine))
        return np.tile(np.where(same, 0.0, -np.inf), (len(replicates), 1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The kept columns: values of numbers, codes of all."""
        codes = {f"kept.{name}": codes for name, codes in self.kept.codes.items()}
        return codes | {f"kept.{name}.value": values for name, values in self.kept.values.items()}
