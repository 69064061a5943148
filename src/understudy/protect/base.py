"""What a protection is: a step between drawing and release that may drop, change or redraw rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from understudy.evidence import Source
from understudy.settings import Settings
from understudy.tables.encode import Block
from understudy.tables.schema import Schema


@dataclass(frozen=True)
class Receipt:
    """What a protection did to one replicate: counts, never rows.

    Attributes:
        protection: its name.
        dropped: rows taken out.
        redrawn: rows drawn in their place.
        rounds: how often it drew.
        left: rows that still offend after the last round.
        note: what else to know.
        added: rows added to those that were asked for.
        numbers: what it cost or reached, by name.
        summary: curves and tables for the report: aggregates over at least ten rows, never rows.
        public: sentences for everybody: `NOTE.md` repeats them.
    """

    protection: str
    dropped: int = 0
    redrawn: int = 0
    rounds: int = 0
    left: int = 0
    note: str = ""
    added: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    public: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The receipt as a JSON object, without its summary."""
        apart = ("numbers", "summary", "public")
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in apart}
        return {**own, **self.numbers, **({"public": list(self.public)} if self.public else {})}


@dataclass(frozen=True)
class Protection(Settings, ABC):
    """Settings of a protection. It sees train, one replicate, and how the replicate was drawn.

    Class attributes:
        name: what plans call it.
        redraws: it asks the source for new rows (impossible where columns are kept).
        once: its draws are the same for every replicate, so that several do not average out.
        last: no rows may be drawn after it: they would not have what it gives.
        beside: a measure whose settings hold for the protection, too, unless its entry says
            otherwise.
    """

    name: ClassVar[str]
    redraws: ClassVar[bool] = False
    once: ClassVar[bool] = False
    last: ClassVar[bool] = False
    beside: ClassVar[str] = ""

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where the settings name columns or levels that the table lacks."""

    def suits(self, where: str, train: Block) -> None:
        """Raise `PlanError` where the settings do not fit the values that train has."""

    @abstractmethod
    def apply(
        self, replicate: Block, train: Block, source: Source, *, rng: np.random.Generator
    ) -> tuple[Block, Receipt]:
        """Return the protected replicate and what was done.

        It has at least as many rows; a protection that adds some says how many in its receipt,
        and its rows are in an order that does not tell which they are. One that cannot keep its
        promise raises `ProtectionError`.
        """
