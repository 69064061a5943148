"""Several columns of levels drawn jointly: one multinomial with a Dirichlet prior over their cells.

The Dirichlet-multinomial synthesizer of Reiter, Wang & Zhang (§3.1, equation 4). The prior is the
agency's: it decides how often a cell that nobody is in is drawn, and so how much the release says
about somebody who is alone in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.kernels import dirichlet
from understudy.kernels.posterior import Shared
from understudy.synth import classes
from understudy.synth.base import (
    NOWHERE,
    Fitted,
    Floats,
    Model,
    Recall,
    Within,
    crossed,
    require_range,
)
from understudy.tables.encode import Block

Ints = NDArray[np.int64]
_CELLS = ("product", "observed")
_KEYS = 2**62  # what a whole number can count


@dataclass(frozen=True)
class DirichletMultinomial(Model):
    """Draw θ ~ Dirichlet(n_1 + a, …, n_K + a) once per replicate, then every row's cell from θ.

    Attributes:
        prior: a, what each cell counts beside its people.
        cells: ``product``: all combinations of the columns' levels; ``observed``: those that train
            has, so that a combination of one person is drawn only because of that person.
        max_cells: most combinations that ``product`` may lead to.
    """

    name: ClassVar[str] = "dirichlet-multinomial"
    many: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("levels",)
    beyond: ClassVar[bool] = True
    prior: float = 1.0
    cells: str = "product"
    max_cells: int = 100_000

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.prior", self.prior, 1e-9)
        require_range(f"{where}.max_cells", self.max_cells, 1, whole=True)
        if self.cells not in _CELLS:
            raise PlanError(f"{where}.cells", self.cells, f"one of {', '.join(_CELLS)}")

    @property
    def proper(self) -> bool:
        """θ is drawn anew for each replicate."""
        return True

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedDirichlet:
        """Count train by cell; the columns given are not looked at."""
        own = train.select(list(columns))
        if prod(train.encoding[name].width for name in columns) > _KEYS:
            raise PlanError(
                "visits.columns", len(columns), f"fewer columns for one visit of {self.name}"
            )
        keys = _keys(own)
        found = self._product(own) if self.cells == "product" else np.unique(keys)
        return FittedDirichlet.of(self, own, found)

    def _product(self, train: Block) -> Ints:
        """Keys of all combinations: every level, and missing where train misses values."""
        support = [_support(train, name) for name in train.names]
        size = prod(len(codes) for codes in support)
        if size > self.max_cells:
            raise PlanError(
                "cells",
                self.cells,
                f"at most {self.max_cells:,} combinations (max_cells), and {len(support)} columns "
                f'have {size:,}: draw fewer columns jointly, or set cells = "observed"',
            )
        key = np.zeros(1, dtype=np.int64)
        for name, codes in zip(train.names, support, strict=True):
            key = (key[:, None] * train.encoding[name].width + codes).ravel()
        return np.sort(key)


@dataclass(frozen=True, eq=False)
class FittedDirichlet(Fitted):
    """Train counted by cell.

    Attributes:
        settings: the model.
        train: the columns that are drawn.
        keys: the cells, ascending: codes of the columns as digits of one number.
        count: people of train in each cell.
        cell: cell of each row of train.
        recall: counts of the replicates that were asked about.
    """

    settings: DirichletMultinomial
    train: Block
    keys: Ints
    count: Floats
    cell: Ints
    given: tuple[str, ...] = ()
    recall: Recall[tuple[Ints, Floats, float]] = field(default_factory=Recall, repr=False)

    @classmethod
    def of(cls, settings: DirichletMultinomial, train: Block, keys: Ints) -> FittedDirichlet:
        """Count the rows of a table over given cells."""
        cell = _find(keys, _keys(train))
        count = np.bincount(cell[cell >= 0], minlength=len(keys)).astype(np.float64)
        return cls(settings, train, keys, count, cell)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are drawn together."""
        return self.train.names

    @property
    def fast(self) -> bool:
        """All answers are closed forms."""
        return True

    @property
    def observed(self) -> bool:
        """The cells are those that train has."""
        return self.settings.cells == "observed"

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw θ, then a cell for every row; column by column where rules restrict the draw."""
        encoding = given.encoding
        if not len(self.keys):  # train had no rows
            gone = {n: np.full(given.rows, encoding[n].missing, np.int32) for n in self.columns}
            return encoding.block(gone, {}, given.rows)
        weight = dirichlet.log_weights(self.count + self.settings.prior, rng)
        if any(name in within for name in self.columns):
            return encoding.block(self._within(weight, given.rows, rng, within), {}, given.rows)
        total = np.cumsum(np.exp(weight))
        spot = rng.random(given.rows) * total[-1]
        key = self.keys[np.minimum(np.searchsorted(total, spot, side="right"), len(total) - 1)]
        return encoding.block(
            dict(zip(self.columns, self._codes(key), strict=True)), {}, given.rows
        )

    def _codes(self, key: Ints) -> list[NDArray[np.int32]]:
        """Codes of each column for some keys."""
        codes = []
        for name in reversed(self.columns):
            key, code = np.divmod(key, self.train.encoding[name].width)
            codes.append(code.astype(np.int32))
        return codes[::-1]

    def _within(
        self, weight: Floats, rows: int, rng: np.random.Generator, within: Within
    ) -> dict[str, NDArray[np.int32]]:
        """Each column given those before it, within what rules allow: the same joint without."""
        drawn: dict[str, NDArray[np.int32]] = {}
        digits = self._codes(self.keys)
        group, mine = np.zeros(len(self.keys), np.int64), np.zeros(rows, np.int64)
        for name, digit in zip(self.columns, digits, strict=True):
            encoding = self.train.encoding[name]
            found = np.unique(digit)
            mass = np.zeros((int(group.max()) + 2, len(found)))
            np.add.at(mass, (group, np.searchsorted(found, digit)), np.exp(weight))
            # Who was left without any code goes on with the column's own distribution.
            mass[-1] = mass.sum(axis=0)
            with np.errstate(divide="ignore"):
                scores = np.log(mass / mass.sum(axis=1, keepdims=True))
            limit, spot = within.get(name), rng.random(rows)
            codes = classes.draw(scores[mine], found, spot, limit, encoding.unseen)
            drawn[name] = codes
            both = group * encoding.width + digit
            parts, group = np.unique(both, return_inverse=True)
            place = _find(parts, mine * encoding.width + codes)
            mine = np.where(place < 0, len(parts), place)
        return drawn

    def cell_of(self, rows: Block) -> Ints:
        """Cell of each row, −1 where it is none of them."""
        return _find(self.keys, _keys(rows.select(self.columns)))

    def log_density(self, rows: Block) -> Floats:
        """Log of (n_k + a) / (n + Ka): the mean of θ."""
        cell = self.cell_of(rows)
        shape = self.count + self.settings.prior
        result = np.full(rows.rows, -np.inf)
        known = cell >= 0
        result[known] = np.log(shape[cell[known]] / shape.sum())
        return result

    def log_prob(self, replicate: Block) -> float:
        """Dirichlet-multinomial probability of the replicate's cells."""
        return self.recall(replicate, self._seen)[2]

    def _seen(self, replicate: Block) -> tuple[Ints, Floats, float]:
        """Distinct keys of a replicate, how often each occurs, and its log probability."""
        keys, count = np.unique(_keys(replicate.select(self.columns)), return_counts=True)
        drawn = np.zeros(len(self.keys))
        cell = _find(self.keys, keys)
        if (cell < 0).any():
            return keys, count.astype(np.float64), -np.inf
        drawn[cell] = count
        value = dirichlet.log_marginal(self.count, drawn, self.settings.prior)
        return keys, count.astype(np.float64), value

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Log of (n_-i,k + a + z_k) / (n_-i,k + a), the candidate's cell minus the record's."""
        return self._changes(np.array([record]), candidates, 1, replicates)[:, 0]

    def swaps(
        self, rows: Block, records: Ints, candidates: Block, replicates: Sequence[Block]
    ) -> Floats:
        """The same for many records at once. Cost: replicates × records × candidates."""
        moves = self.moves(rows, records, candidates, replicates)
        if moves is not None:
            return moves.dense()
        return self._changes(records, crossed(rows, candidates), len(records), replicates)

    def _changes(
        self, records: Ints, moved: Block, each: int, replicates: Sequence[Block]
    ) -> Floats:
        """Changes for rows that stand record by record: (replicates × records × candidates)."""
        key = _keys(moved.select(self.columns)).reshape(each, -1)
        own = _keys(self.train.take(records))[:, None]
        n_own, n_new = self._count(own), self._count(key)
        result = np.empty((len(replicates), *key.shape))
        prior = self.settings.prior
        for index, replicate in enumerate(replicates):
            seen, count, _ = self.recall(replicate, self._seen)
            z_own, z_new = _count_of(seen, count, own), _count_of(seen, count, key)
            enter = dirichlet.entered(n_new, z_new, prior)
            leave = -dirichlet.entered(np.maximum(n_own - 1, 0), z_own, prior)
            if self.observed:
                enter, leave = self._opened(n_own, z_own, n_new, z_new, enter, leave)
                enter = enter + self._width(n_own, n_new, float(count.sum()))
            else:
                enter = np.where(_find(self.keys, key) < 0, -np.inf, enter)
            result[index] = np.where(key == own, 0.0, enter + leave)
        return result

    def _opened(
        self, n_own: Floats, z_own: Floats, n_new: Floats, z_new: Floats, enter: Floats,
        leave: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Cells that come and go with a person: what was drawn from them is impossible without."""
        enter = np.where(n_new == 0, np.where(z_new > 0, np.inf, 0.0), enter)
        # −∞ and +∞ meet where the replicate is impossible before and after.
        lost = np.where(np.isposinf(enter) & (z_own > 0), np.nan, -np.inf)
        leave = np.where(n_own <= 1, np.where(z_own > 0, lost, 0.0), leave)
        return enter, np.broadcast_to(leave, enter.shape)

    def _width(self, n_own: Floats, n_new: Floats, rows: float) -> Floats:
        """Change of what all cells share, when their number changes."""
        base, prior = float(self.count.sum()), self.settings.prior
        number = len(self.keys) - (n_own <= 1) + (n_new == 0)
        total, place = np.unique(number, return_inverse=True)
        shared = [dirichlet.rising(base + prior * k, rows) for k in total]
        before = dirichlet.rising(base + prior * len(self.keys), rows)
        return np.asarray(np.array(shared)[place].reshape(number.shape) - before, dtype=np.float64)

    def _count(self, key: Ints) -> Floats:
        return _count_of(self.keys, self.count, key)

    def moves(
        self, rows: Block, records: Ints, candidates: Block, replicates: Sequence[Block]
    ) -> Shared | None:
        """What each cell gains and each record's own loses, where all columns are candidates'.

        Cost: replicates × (records + candidates). None where it does not come apart so.
        """
        place = self._own_candidate(rows, candidates)
        if place is None:
            return None
        cell, own = self.cell_of(candidates), self.cell[records]
        common = np.empty((len(replicates), len(cell)))
        shift = np.empty((len(replicates), len(records)))
        for index, replicate in enumerate(replicates):
            seen, count, _ = self.recall(replicate, self._seen)
            drawn = _count_of(seen, count, self.keys)
            common[index] = dirichlet.entered(self.count, drawn, self.settings.prior)[cell]
            shift[index] = -dirichlet.entered(self.count[own] - 1, drawn[own], self.settings.prior)
        return Shared(common, np.zeros_like(shift), shift, place)

    def left_shared(self, rows: Block, records: Ints, candidates: Block) -> Shared | None:
        """Log of n_-i,k + a for all candidates: the prior that D_-i gives, up to a constant."""
        place = self._own_candidate(rows, candidates)
        if place is None:
            return None
        shape = np.log(self.count + self.settings.prior)[self.cell_of(candidates)]
        mine = np.log(self.count[self.cell[records]] - 1 + self.settings.prior)
        return Shared(shape, mine, np.zeros(len(records)), place)

    def left_out(self, rows: Block, records: Ints, candidates: Block) -> Floats:
        """Log of (n_-i,k + a): −∞ for what is no cell."""
        key = _keys(crossed(rows, candidates).select(self.columns)).reshape(len(records), -1)
        own = _keys(self.train.take(records))[:, None]
        n = self._count(key) - (key == own)
        shape = n + self.settings.prior
        inside = (n > 0) if self.observed else _find(self.keys, key) >= 0
        return np.asarray(np.where(inside, np.log(shape), -np.inf), dtype=np.float64)

    def _own_candidate(self, rows: Block, candidates: Block) -> Ints | None:
        if self.observed or set(candidates.names) != set(self.columns):
            return None
        theirs = _keys(candidates.select(self.columns))
        order = np.argsort(theirs)
        place = _find(theirs[order], _keys(rows.select(self.columns)))
        if (place < 0).any() or (self.cell_of(candidates) < 0).any():
            return None
        return np.asarray(order[place], dtype=np.int64)

    def refit(self, train: Block) -> FittedDirichlet:
        """Count another table; the cells of a product are declared, and stay."""
        own = train.select(self.columns)
        keys = np.unique(_keys(own)) if self.observed else self.keys
        return FittedDirichlet.of(self.settings, own, keys)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The cells and their counts."""
        return {"keys": self.keys, "count": self.count}


def _keys(rows: Block) -> Ints:
    """Codes of all columns as the digits of one number."""
    key = np.zeros(rows.rows, dtype=np.int64)
    for name in rows.names:
        key = key * rows.encoding[name].width + rows.codes[name]
    return key


def _support(train: Block, name: str) -> Ints:
    """Codes that a column may have: its levels, and missing where train misses some (or all)."""
    encoding = train.encoding[name]
    missing = bool((train.codes[name] == encoding.missing).any()) or encoding.size == 0
    return np.arange(encoding.size + missing)


def _find(keys: Ints, wanted: Ints) -> Ints:
    """Place of each wanted key among ascending keys, −1 where it is not there."""
    if not len(keys):
        return np.full(wanted.shape, -1, dtype=np.int64)
    spot = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[spot] == wanted, spot, -1)


def _count_of(keys: Ints, count: Floats, wanted: Ints) -> Floats:
    """Counts of some keys, 0 where a key does not occur."""
    spot = _find(keys, wanted)
    if not len(keys):
        return np.zeros(wanted.shape)
    return np.asarray(np.where(spot < 0, 0.0, count[np.maximum(spot, 0)]), dtype=np.float64)
