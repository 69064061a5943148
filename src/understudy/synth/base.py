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

from understudy.kernels.posterior import Shared
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
        beyond: it may draw what nobody in train has.
        dear: about how many times as long as a tree a fit to the same table takes.
    """

    name: ClassVar[str]
    many: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("numbers", "levels")
    fixed: ClassVar[bool] = False
    beyond: ClassVar[bool] = False
    dear: ClassVar[float] = 1.0

    @property
    def proper(self) -> bool:
        """Parameters, or donors' weights, are drawn anew for each replicate."""
        return bool(getattr(self, "bootstrap", False))

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

    @property
    def fast(self) -> bool:
        """`swaps` is a closed form, not a refit for each record and candidate."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of train that it learnt from."""
        return (*self.columns, *self.given)

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

    def swaps(
        self,
        rows: Block,
        records: NDArray[np.int64],
        candidates: Block,
        replicates: Sequence[Block],
    ) -> Floats:
        """`swap` for many records, each of which becomes itself with the candidates' columns.

        Args:
            rows: the records' own rows of train.
            records: their row numbers.
            candidates: values of some columns; a record keeps its own in the others.
            replicates: the tables that were released.

        Returns:
            An array (replicates × records × candidates). Models with a closed form do all at once.
        """
        result = np.empty((len(replicates), len(records), candidates.rows))
        for place, record in enumerate(records):
            moved = crossed(rows.take(slice(place, place + 1)), candidates)
            result[:, place] = self.swap(int(record), moved, replicates)
        return result

    def moves(
        self,
        rows: Block,
        records: NDArray[np.int64],
        candidates: Block,
        replicates: Sequence[Block],
    ) -> Shared | None:
        """`swaps` without an array of its size, where they come apart; None where they do not."""
        return None

    def left_out(self, rows: Block, records: NDArray[np.int64], candidates: Block) -> Floats | None:
        """Log density of each record with the candidates' columns, under the fit without it.

        Up to a constant for each record (records × candidates). None: there is no closed form.
        """
        return None

    def left_shared(
        self, rows: Block, records: NDArray[np.int64], candidates: Block
    ) -> Shared | None:
        """`left_out` without an array of its size, where it comes apart; None where it does not."""
        return None

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learnt, as plain arrays (saved without pickle)."""


def crossed(rows: Block, candidates: Block) -> Block:
    """Every row with every candidate's columns in place of its own, row by row.

    Cost: rows × candidates × columns.
    """
    each = np.repeat(np.arange(rows.rows), candidates.rows)
    every = np.tile(np.arange(candidates.rows), rows.rows)
    kept = [name for name in rows.names if name not in candidates.codes]
    return rows.select(kept).take(each).join(candidates.take(every))


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
