"""What the items of Chapelle & Falissard share: 20 splits of one table, and words about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from understudy.reproduce.item import Bench, Item
from understudy.reproduce.prison import LEARNT, LEFT, Ground, ground
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Result
from understudy.reproduce.stages import Round, rounds

Numbers = Mapping[str, Any]  # one round's numbers, by name


@dataclass(frozen=True)
class Staged(Item):
    """A table or figure of the paper over several splits, where the paper has one."""

    paper: ClassVar[str] = "open-cesp"
    unit: ClassVar[str] = "splits"
    published: ClassVar[int] = 1
    repetitions: int = 20

    @property
    def quick(self) -> str:
        """In which way there are fewer splits than by default: the paper has one."""
        usual = type(self).repetitions
        if self.repetitions >= usual:
            return ""
        return f"{self.repetitions} {self.unit} instead of {usual}"

    def over(self, bench: Bench, task: Callable[[Ground, Round], Numbers]) -> list[Numbers]:
        """A task's numbers for every split."""
        found = ground()
        made = rounds(bench, found, self.repetitions)
        return bench.each(self.name, lambda one: task(found, one), made)

    def found(
        self,
        bench: Bench,
        claims: Sequence[Claim],
        grids: Sequence[Grid] = (),
        pictures: Sequence[Picture] = (),
        notes: Sequence[str] = (),
    ) -> Result:
        """The result, with what all items have to say of the table and the steps."""
        here = ground()
        said = [about(here), *notes, *_NOTES]
        keys = " ".join(here.keys)
        made = self.result(bench, claims, grids, pictures, said, keys=keys, target=here.target)
        return replace(made, fictional=not here.papers)


def about(here: Ground) -> str:
    """Which table this is, and how it stands to the paper's."""
    if here.papers:
        return (
            f"The table is the paper's own, {here.name}. Each split synthesises {LEARNT} of its "
            f"799 rows and keeps {LEFT} as control. The paper has one split and one synthesis with "
            "a seed that nobody knows, so ranges over splits are compared with its numbers, not "
            "decimals. Splits share people: standard errors are those of splits of these people."
        )
    return (
        "The paper's table is not on this machine (UNDERSTUDY_DATA names no folder with smp2.csv). "
        f"This is {here.name}: {LEARNT} of its people are synthesised and {LEFT} kept as control, "
        "drawn anew for each split, with columns of like kinds in the parts of the paper's. Its "
        "numbers are not shown as if they were comparable; only directions can be asked of them. "
        f"Attackers know {', '.join(here.keys)} and are after {here.target}."
    )


def gathered(numbers: Sequence[Numbers], name: str) -> Any:
    """One number over the splits; those that could not be computed are left out."""
    values = np.array([one[name] for one in numbers], dtype=np.float64)
    return values[np.isfinite(values)]


def apart(numbers: Sequence[Numbers], name: str, other: str) -> Cell:
    """Mean difference of two numbers, split by split."""
    pairs = np.array([[one[name], one[other]] for one in numbers], dtype=np.float64)
    return mean(pairs[:, 0] - pairs[:, 1])


def mean(values: Any, theirs: float | None = None) -> Cell:
    """Mean of those that there are."""
    here = np.asarray(values, dtype=np.float64)
    here = here[np.isfinite(here)]
    return Cell.mean(here, theirs) if len(here) else Cell(np.nan, np.nan, theirs, 0)


def ranged(values: Any, theirs: float | None = None) -> tuple[Cell, Cell, Cell]:
    """Mean beside the paper's number, then the lowest and the highest split."""
    here = np.asarray(values, dtype=np.float64)
    here = here[np.isfinite(here)]
    ends = (float(here.min()), float(here.max())) if len(here) else (np.nan, np.nan)
    return mean(here, theirs), Cell(ends[0]), Cell(ends[1])


def covers(text: str, parts: Mapping[str, tuple[Any, float]]) -> Claim:
    """The paper's numbers lie between the lowest and the highest of our splits."""
    good, said = True, []
    for name, (values, theirs) in parts.items():
        low, high = float(np.min(values)), float(np.max(values))
        good &= low <= theirs <= high
        said.append(f"{name}: {low:.3f} to {high:.3f}, the paper {theirs:g}")
    return Claim.of(text, good, "; ".join(said))


_NOTES = (
    "S1: trees in the table's order, no leaf below 33 rows, no split of fewer than 100, values of "
    "donors as they are. S2: the distance filter (Mahalanobis; missing values replaced column by "
    "column, as the paper describes). S3: normal noise of the published deviations for every row "
    "anew. “Noise that keeps the bound” is the package's: tails coded, once for each value, on the "
    "column's grid, as much as keeps every ECAP below 0.2.",
)
