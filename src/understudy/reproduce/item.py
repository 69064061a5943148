"""What an item of a paper is: settings, and a function from streams to a result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from understudy.reproduce.peers import Peer
from understudy.reproduce.result import Claim, Grid, Picture, Result

Map = Callable[..., Iterable[Any]]
T = TypeVar("T")


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Bench:
    """What the items of one run share: the seed, the workers, and what was already made.

    Attributes:
        seed: of all streams.
        map_: maps independent jobs, perhaps over threads; results do not depend on it.
        progress: called with the name of each stage.
        made: what several items need (fits, replicates), by name.
        peers: other tools whose tables stand beside ours.
    """

    seed: int = 1
    map_: Map = map
    progress: Callable[[str], None] = _silent
    made: dict[Any, Any] = field(default_factory=dict)
    peers: tuple[Peer, ...] = ()

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What ``make`` makes; the second time it is remembered."""
        if key not in self.made:
            self.made[key] = make()
        found: T = self.made[key]
        return found

    def each(self, name: str, task: Callable[[Any], T], jobs: Sequence[Any]) -> list[T]:
        """Do all jobs, saying how many are done."""
        found: list[T] = []
        for result in self.map_(task, jobs):
            found.append(result)
            self.progress(f"{name} {len(found)} of {len(jobs)}")
        return found


@dataclass(frozen=True)
class Item(ABC):
    """Settings of one table or figure. Subclasses have the paper's settings as defaults.

    Class attributes:
        paper: name of the paper.
        name: what the command calls the item.
        title: what it is about.
        source: where the paper has it.
        unit: what is repeated.
        published: how often the paper repeated it.

    Attributes:
        repetitions: how often the experiment is repeated.
    """

    paper: ClassVar[str]
    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    unit: ClassVar[str]
    published: ClassVar[int]
    repetitions: int = 2

    def ready(self, bench: Bench) -> None:
        """Raise `InputError` where something that the item needs is not there."""

    @abstractmethod
    def run(self, bench: Bench) -> Result:
        """Recompute the item."""

    @property
    def quick(self) -> str:
        """In which way the run is smaller than the paper's."""
        if self.repetitions >= self.published:
            return ""
        return f"{self.repetitions} {self.unit} instead of the paper's {self.published:,}"

    def result(
        self,
        bench: Bench,
        claims: Sequence[Claim],
        grids: Sequence[Grid] = (),
        pictures: Sequence[Picture] = (),
        notes: Sequence[str] = (),
        **settings: Any,
    ) -> Result:
        """The result with the item's own words and settings."""
        return Result(
            self.paper,
            self.name,
            self.title,
            self.source,
            {"repetitions": self.repetitions, "seed": bench.seed, **settings},
            self.quick,
            tuple(claims),
            tuple(grids),
            tuple(pictures),
            tuple(notes),
        )
