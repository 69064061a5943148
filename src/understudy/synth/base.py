"""What a synthesizer is: a density that can be fitted, sampled, scored, and asked "what if?".

Settings (`Model`) are frozen dataclasses; `Model.fit` returns another object (`Fitted`). All rows
travel as `Block`s of the one frozen encoding; a fitted model knows which columns it draws and
which it needs given, and ignores the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from understudy.settings import Settings
from understudy.settings import require_range as require_range  # noqa: PLC0414 (models take it from here)
from understudy.tables.encode import Block

Floats = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Restriction:
    """What rules allow one column to be, row by row.

    Attributes:
        low: smallest code allowed for each row (or None).
        high: largest code allowed for each row (or None).
        allowed: for each group of rows, which codes are allowed: ``allowed[group[row], code]``.
        group: group of each row.
        missing: the code of a missing value, where the rules say nothing about it: bounds do not
            apply to it, and how often it is drawn does not change (unless ``allowed`` forbids it).
    """

    low: NDArray[np.int32] | None = None
    high: NDArray[np.int32] | None = None
    allowed: NDArray[np.bool_] | None = None
    group: NDArray[np.int64] | None = None
    missing: int | None = None

    def permits(self, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell for each row whether its code is allowed."""
        good = np.ones(len(codes), dtype=bool)
        if self.low is not None:
            good &= codes >= self.low
        if self.high is not None:
            good &= codes <= self.high
        if self.missing is not None:
            good |= codes == self.missing
        if self.allowed is not None and self.group is not None:
            good &= self.allowed[self.group, codes]
        return good

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Restriction:
        """The restriction of these rows alone."""
        return Restriction(
            None if self.low is None else self.low[rows],
            None if self.high is None else self.high[rows],
            self.allowed,
            None if self.group is None else self.group[rows],
            self.missing,
        )


Within = Mapping[str, Restriction]
NOWHERE: Within = {}


@dataclass(frozen=True)
class Model(Settings, ABC):
    """Settings of a synthesizer. Subclasses add their own fields, each with a default.

    Class attributes:
        name: what plans call it.
        many: it draws several columns jointly.
        kinds: what it can draw: ``numbers``, ``levels`` or both.
        fixed: it hands out train's own rows, in their order: nothing is drawn.
    """

    name: ClassVar[str]
    many: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("numbers", "levels")
    fixed: ClassVar[bool] = False

    @abstractmethod
    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> Fitted:
        """Learn to draw ``columns`` given ``given`` from train."""

    def approximates(self, rows: int) -> str:
        """What a fit on so many rows leaves out, in words for the receipt; mostly nothing."""
        return ""


class Fitted(ABC):
    """A fitted synthesizer of ``columns`` given ``given``."""

    columns: tuple[str, ...]
    given: tuple[str, ...]

    @abstractmethod
    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw the columns for every row of ``given``: one replicate, with its own parameters.

        ``within`` restricts the draw by rules. A row for which nothing is allowed gets the code
        ``unseen``; the engine counts those rows and deals with them.
        """

    def realised(self, rng: np.random.Generator) -> Fitted:
        """The same with one replicate's parameters drawn, for a replicate drawn in several calls.

        A model that draws parameters in `sample` has them drawn here instead, once.
        """
        return self

    def near(self, record: Block, *, rng: np.random.Generator) -> Block:
        """Draw the columns for rows that are all like one record (``record`` repeats its row).

        Given what the record is beside these columns; models that can come nearer do.
        """
        return self.sample(record, rng=rng)

    @abstractmethod
    def log_density(self, rows: Block) -> Floats:
        """Plug-in log density of each row's columns given the others."""

    @abstractmethod
    def log_prob(self, replicate: Block) -> float:
        """Log probability of a replicate, marginal over the parameters that its rows share.

        Up to a constant that does not depend on train.
        """

    @abstractmethod
    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Change of `log_prob` when row ``record`` of train becomes each candidate.

        Returns an array (replicates × candidates).
        """

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learnt, as plain arrays (saved without pickle)."""


class Recall(Generic[T]):
    """What a fitted model worked out from a replicate, kept while the replicate lives.

    Asking every record of train "what if?" visits each replicate once per record; its tallies are
    the same each time. Nothing of this is saved or sent to another process.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Block, T] = WeakKeyDictionary()

    def __call__(self, replicate: Block, compute: Callable[[Block], T]) -> T:
        """The result for this replicate, computed at most once."""
        known = self._known.get(replicate)
        if known is None:
            known = self._known[replicate] = compute(replicate)
        return known

    def __reduce__(self) -> tuple[type[Recall[T]], tuple[()]]:
        return type(self), ()
