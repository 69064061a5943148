"""What the items of Bale & Quick's application share: 20 rounds of two designs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from understudy.reproduce.item import Bench, Item
from understudy.reproduce.outbreak import (
    BOUND,
    CAPPED,
    DESIGNS,
    TUNED,
    Round,
    offered,
    rounds,
)
from understudy.reproduce.peers import PAPERS_OWN
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Result

Numbers = Mapping[str, Any]  # one round's numbers, by the name of a table


@dataclass(frozen=True)
class Application(Item):
    """A table or figure of sections 6 and 7, in the paper's design and in a disjoint one."""

    paper: ClassVar[str] = "bale-quick"
    unit: ClassVar[str] = "holdouts and replicates"
    published: ClassVar[int] = 20
    repetitions: int = 20

    def ready(self, bench: Bench) -> None:
        """Peers have what they learn from, and have made something of it."""
        for peer in bench.peers:
            key = ("offered", peer, self.repetitions)
            bench.once(key, partial(offered, peer, self.repetitions, bench.seed))

    def both(self, bench: Bench, task: Callable[[Round], Numbers]) -> dict[str, list[Numbers]]:
        """A task's numbers for every round of both designs."""
        return {
            design: bench.each(
                f"{design}: {self.name}", task, rounds(bench, design, self.repetitions)
            )
            for design in DESIGNS
        }

    def found(
        self,
        bench: Bench,
        claims: Sequence[Claim],
        grids: Sequence[Grid] = (),
        pictures: Sequence[Picture] = (),
        notes: Sequence[str] = (),
    ) -> Result:
        """The result, with the synthesizers' parameters and what all items have to say."""
        parameters = {variant.name: variant.settings for variant in (*TUNED, *CAPPED)}
        said = [*notes, *_NOTES, *map(_about, peers_of(bench))]
        said += [] if bench.peers else [_NO_PEER]
        return self.result(bench, claims, grids, pictures, said, c=BOUND, **parameters)


def peers_of(bench: Bench) -> list[str]:
    """Names of the other tools whose tables stand beside ours."""
    return [peer.name for peer in bench.peers]


def _about(peer: str) -> str:
    return (
        f"{peer}: two tables for each round, made by that tool from the same train and given as "
        "files. Nothing of it was tuned here, and nothing is known of its settings."
    )


def gathered(numbers: Sequence[Numbers], name: str) -> Any:
    """One table's numbers over the rounds, as an array."""
    return np.array([each[name] for each in numbers])


def differences(numbers: Sequence[Numbers], name: str, other: str) -> Any:
    """Differences of two tables' numbers, round by round."""
    return gathered(numbers, name) - gathered(numbers, other)


def cells(columns: Sequence[Any], theirs: Sequence[float | None]) -> tuple[Cell, ...]:
    """Means of several columns of repetitions beside the paper's numbers."""
    return tuple(Cell.mean(c, paper) for c, paper in zip(columns, theirs, strict=True))


_NO_PEER = (
    f"The paper's peer, {PAPERS_OWN}'s engine, is skipped: no tables of it were given (--peer)."
)
_NOTES = (
    "The people are those of the built-in fictional outbreak, which has the size and the shape of "
    "the paper's table and none of its rows: directions are compared, not decimals.",
    "Overlapping: the paper's design. Train and each holdout are drawn with replacement from the "
    "same 6,712 people, so that 39% of a holdout's rows are rows of train.",
    "Disjoint: each round splits the people into two halves, train and holdout; the synthesizers "
    "are fitted anew. Claims about closeness and likeness rest on this design. Rounds share "
    "people, so that standard errors are those of splits of these people, not of other people.",
    "Parameters are those that table2's protocol found on these people. “Ceiling” is not in the "
    "paper: there the share of rows nearer to those learnt from had a ceiling. Those of the tree "
    "under it are of a smaller search, with 8 replicates.",
    'Prevention bounds the ratio at every δ (delta = "all").',
)
