"""What a protection is: a step between drawing and release that may drop, change or redraw rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from understudy.evidence import Source
from understudy.settings import Settings
from understudy.tables.encode import Block


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
    """

    protection: str
    dropped: int = 0
    redrawn: int = 0
    rounds: int = 0
    left: int = 0
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The receipt as a JSON object."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Protection(Settings, ABC):
    """Settings of a protection. It sees train, one replicate, and how the replicate was drawn.

    Class attributes:
        name: what plans call it.
        redraws: it asks the source for new rows (impossible where columns are kept).
    """

    name: ClassVar[str]
    redraws: ClassVar[bool] = False

    @abstractmethod
    def apply(
        self, replicate: Block, train: Block, source: Source, *, rng: np.random.Generator
    ) -> tuple[Block, Receipt]:
        """Return the protected replicate, with as many rows, and what was done."""
