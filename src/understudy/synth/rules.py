"""Logic that must hold in the output: it restricts the draw, and rejection is the last resort."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.synth.base import Restriction
from understudy.tables.encode import Block


@dataclass(frozen=True)
class Rule(ABC):
    """A statement about every row of the table."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it is about."""

    @abstractmethod
    def restrict(self, column: str, known: Block) -> Restriction | None:
        """What ``column`` may be, given the columns known so far (None: anything)."""

    def settle(self, drawn: Sequence[str], block: Block) -> Block:
        """Adjust columns just drawn so that the rule holds exactly (inside a cell, or a sum)."""
        return block

    @abstractmethod
    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Rows that break the rule."""

    @abstractmethod
    def describe(self) -> str:
        """The rule in words, for messages and reports."""


def combine(limits: Sequence[Restriction]) -> Restriction | None:
    """All restrictions at once."""
    if len(limits) < 2:
        return limits[0] if limits else None
    lows = [limit.low for limit in limits if limit.low is not None]
    highs = [limit.high for limit in limits if limit.high is not None]
    low = np.maximum.reduce(lows) if lows else None
    high = np.minimum.reduce(highs) if highs else None
    allowed, group = _combine_groups(limits)
    missing = {limit.missing for limit in limits}
    return Restriction(low, high, allowed, group, missing.pop() if len(missing) == 1 else None)


def _combine_groups(
    limits: Sequence[Restriction],
) -> tuple[NDArray[np.bool_] | None, NDArray[np.int64] | None]:
    allowed: NDArray[np.bool_] | None = None
    group: NDArray[np.int64] | None = None
    for limit in limits:
        if limit.allowed is None or limit.group is None:
            continue
        if allowed is None or group is None:
            allowed, group = limit.allowed, limit.group
            continue
        pairs, group = np.unique(
            np.stack([group, limit.group], axis=1), axis=0, return_inverse=True
        )
        group = group.ravel()
        allowed = allowed[pairs[:, 0]] & limit.allowed[pairs[:, 1]]
    return allowed, group
