"""One column from class probabilities learnt by gradient boosting (Friedman 2001)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import boosting, comb
from understudy.kernels.boosting import Boosted
from understudy.synth import classes
from understudy.synth.base import (
    NOWHERE,
    Floats,
    Model,
    Restriction,
    Within,
    require_range,
)
from understudy.synth.refit import swap_by_refit
from understudy.tables.encode import Block, ColumnEncoding

_CHUNK = 1 << 14  # rows whose probabilities are held at once


@dataclass(frozen=True)
class Boost(Model):
    """Draw one column from p(y = k | x) ∝ exp F_k(x), each F_k a sum of small trees.

    Levels and cells of numbers are joined into classes that at least ten rows share; inside its
    class a cell is drawn by train's frequencies. Probabilities are plugged in, not drawn.

    Attributes:
        rounds: most trees of each class; a fifth of the rows says when to stop before.
        caution: weight of the likelihood that fitted rows have over held ones, when stopping.
        leaves: leaves of each tree; 2 adds columns up, more lets them interact.
        min_leaf: smallest number of rows in a leaf.
        rate: share of each tree that is added.
        penalty: ridge on the leaves' values.
        classes: about how many classes at most.
        spread: so many like rows draw from one random start, as in `Cart`.
        members: fits to average, each with other rows held.
    """

    name: ClassVar[str] = "boosted"
    dear: ClassVar[float] = 10.0
    rounds: int = 100
    caution: float = 1.0
    leaves: int = 4
    min_leaf: int = 50
    rate: float = 0.1
    penalty: float = 10.0
    classes: int = 32
    spread: int = 1
    members: int = 1

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.rounds", self.rounds, 1, whole=True)
        require_range(f"{where}.caution", self.caution, 0.0)
        require_range(f"{where}.leaves", self.leaves, 2, whole=True)
        require_range(f"{where}.min_leaf", self.min_leaf, 1, whole=True)
        require_range(f"{where}.rate", self.rate, 1e-4, 1.0)
        require_range(f"{where}.penalty", self.penalty, 0.0)
        require_range(f"{where}.classes", self.classes, 2, whole=True)
        require_range(f"{where}.spread", self.spread, 1, whole=True)
        require_range(f"{where}.members", self.members, 1, whole=True)

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedBoost:
        """Join codes into classes and boost their probabilities."""
        (column,) = columns
        return self.refit(train.select([column, *given]), int(rng.integers(2**31)))

    @property
    def _growth(self) -> boosting.Growth:
        return boosting.Growth(
            self.rounds,
            self.leaves,
            self.min_leaf,
            self.rate,
            self.penalty,
            self.caution,
            self.members,
        )

    def refit(self, train: Block, seed: int) -> FittedBoost:
        """Fit to a table of the column and its predictors; the seed says which rows are held."""
        column, *given = train.names
        encoding = train.encoding[column]
        count = np.bincount(train.codes[column], minlength=encoding.width)
        joined = _classes(count, encoding, self.classes)
        model = boosting.grow(
            [train.codes[name] for name in given],
            [train.encoding[name].width for name in given],
            [train.encoding[name].is_nominal for name in given],
            joined[train.codes[column]],
            self._growth,
            seed,
        )
        return FittedBoost(self, train, seed, joined, count, model)


def _classes(count: NDArray[np.int64], encoding: ColumnEncoding, most: int) -> NDArray[np.int32]:
    """Class of every code. Missing numbers are a class of their own where enough rows have none."""
    if encoding.is_nominal or 0 < count[encoding.missing] < boosting.LEAST:
        return boosting.classes(count, most=most, ordered=not encoding.is_nominal)
    joined = boosting.classes(count[: encoding.size], most=most, ordered=True)
    gone = [joined.max(initial=-1) + 1 if count[encoding.missing] else -1, -1]
    return np.append(joined, gone).astype(np.int32)


@dataclass(frozen=True, eq=False)
class FittedBoost(classes.OfTrain):
    """Probabilities of classes, and train's frequencies inside each.

    Attributes:
        settings: the model.
        train: the column and its predictors.
        seed: which rows were held to know when to stop.
        joined: class of each code; −1 for codes that train does not have.
        count: rows of train by code.
        model: the classes' probabilities.
    """

    settings: Boost
    train: Block
    seed: int
    joined: NDArray[np.int32]
    count: NDArray[np.int64]
    model: Boosted

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw a class for every row, a code inside it, and a number inside its cell."""
        name = self.columns[0]
        spread = self.settings.spread
        even = spread > 1
        spot = comb.spots(self._along(given), rng, spread) if even else rng.random(given.rows)
        codes = np.full(given.rows, self.encoding.unseen, dtype=np.int32)
        for part, scores in self._scores(given) if self.train.rows else ():
            limit = within.get(name)
            limit = None if limit is None else limit.take(part)
            codes[part] = self._draw(scores, spot[part], limit)
        cells = self.encoding.cells
        values = {} if cells is None else {name: cells.draw(codes, rng)}
        return given.encoding.block({name: codes}, values, given.rows)

    def _draw(self, scores: Floats, spot: Floats, limit: Restriction | None) -> NDArray[np.int32]:
        return classes.draw(scores, self._codes, spot, limit, self.encoding.unseen)

    @property
    def _codes(self) -> NDArray[np.int32]:
        return np.flatnonzero(self.count).astype(np.int32)

    def _scores(self, rows: Block) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Log probability of every code that train has, some rows at a time."""
        codes, known = [rows.codes[name] for name in self.given], self._codes
        inside = self.count[known] / self._sizes[self.joined[known]]
        for begin in range(0, rows.rows, _CHUNK):
            part = np.arange(begin, min(begin + _CHUNK, rows.rows))
            found = self.model.probabilities([column[part] for column in codes], len(part))
            yield part, np.log(found[:, self.joined[known]] * inside)

    @property
    def _sizes(self) -> Floats:
        seen = self.joined >= 0
        sizes = np.bincount(self.joined[seen], weights=self.count[seen])
        return np.asarray(sizes, dtype=np.float64)

    def _along(self, rows: Block) -> NDArray[np.int64]:
        """Rows by the columns given, the last one first (see `Cart`)."""
        return comb.order([rows.codes[name] for name in reversed(self.given)], rows.rows)

    def log_density(self, rows: Block) -> Floats:
        """Log probability of the row's code, plus the log density inside the cell of a number."""
        low, high = self._parts(rows)
        with np.errstate(divide="ignore"):
            result = np.asarray(np.log(high - low), dtype=np.float64)
        if self.encoding.cells is not None:
            result = result + self.encoding.cells.log_density(rows.values[self.columns[0]])
        return result

    def _parts(self, rows: Block) -> tuple[Floats, Floats]:
        """Where each row's code begins and ends among the probabilities, 0 to 1."""
        low, high = np.zeros(rows.rows), np.zeros(rows.rows)
        known, code = self._codes, rows.codes[self.columns[0]]
        for part, scores in self._scores(rows) if self.train.rows else ():
            total = np.cumsum(np.exp(scores), axis=1)
            total = np.concatenate((np.zeros((len(part), 1)), total / total[:, -1:]), axis=1)
            mine = np.searchsorted(known, code[part])
            there = np.isin(code[part], known)
            at = np.arange(len(part))
            low[part] = total[at, mine]
            high[part] = total[at, mine + there]
        return low, high

    def log_prob(self, replicate: Block) -> float:
        """Sum of the log probabilities of the codes, or the share of starts that draw them all."""
        low, high = self._parts(replicate)
        if self.settings.spread > 1:
            return comb.log_measure(self._along(replicate), low, high, self.settings.spread)
        with np.errstate(divide="ignore"):
            return float(np.log(high - low).sum())

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Refits with the same rows held, for the record as for each candidate."""
        return swap_by_refit(
            lambda train: self.settings.refit(train, self.seed),
            self.train,
            record,
            candidates,
            replicates,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The trees, the classes of codes and their frequencies."""
        return {"classes": self.joined, "count": self.count, **self.model.arrays()}
