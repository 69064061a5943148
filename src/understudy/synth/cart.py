"""Classification and regression trees with a Bayesian bootstrap in the leaves.

The tree partitions train by the columns given; a value is drawn from the donors of the row's leaf
(Reiter 2005; Bale & Quick §5.2.2). Numbers are drawn as cells of the frozen encoding and then
inside the cell, so that values few people share are smoothed and a replicate's counts stay exactly
Dirichlet-multinomial. Without smoothing every distinct value is a cell of its own: what a replicate
says about a lone donor is then counted in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import comb, leaf_moves, leaves
from understudy.kernels.tree import Tree, class_target, grow
from understudy.synth.base import (
    NOWHERE,
    Fitted,
    Floats,
    Model,
    Recall,
    Restriction,
    Within,
    crossed,
    require_range,
)
from understudy.tables.encode import Block, ColumnEncoding


@dataclass(frozen=True)
class Cart(Model):
    """Draw one column from the leaves of a tree.

    Attributes:
        min_leaf: smallest number of donors in a leaf; where people have several rows, the donors of
            a leaf are also rows of at least so many people, or of 10.
        min_split: smallest number of rows that may be split (default: twice ``min_leaf``).
        max_depth: deepest level of the tree (default: no limit).
        complexity: a split must lower the impurity by this share of the root's.
        bootstrap: draw donors' weights once per replicate (proper synthesis).
        smooth: draw numbers inside their cell; false hands out exact donors' values.
        classes: numbers of no more cells than this are split as levels are, others by their rank.
        spread: so many like rows draw from one random start, so that a replicate's counts are more
            even (see `kernels.comb`); 1 draws rows independently. More than 1 takes the place of
            the bootstrap.
        structure_rows: grow the tree on at most this many rows; all rows are donors.
    """

    name: ClassVar[str] = "cart"
    min_leaf: int = 5
    min_split: int | None = None
    max_depth: int | None = None
    complexity: float = 0.0
    bootstrap: bool = True
    smooth: bool = True
    classes: int = 12
    spread: int = 1
    structure_rows: int = 200_000

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.min_leaf", self.min_leaf, 1, whole=True)
        if self.min_split is not None:
            require_range(f"{where}.min_split", self.min_split, 2, whole=True)
        if self.max_depth is not None:
            require_range(f"{where}.max_depth", self.max_depth, 0, whole=True)
        require_range(f"{where}.classes", self.classes, 0, whole=True)
        require_range(f"{where}.spread", self.spread, 1, whole=True)
        require_range(f"{where}.complexity", self.complexity, 0.0, 1.0)
        require_range(f"{where}.structure_rows", self.structure_rows, 1000, whole=True)

    @property
    def even(self) -> bool:
        """Rows share random starts."""
        return self.spread > 1

    @property
    def weighs(self) -> bool:
        """Donors' weights are drawn: a bootstrap, unless draws are spread."""
        return self.bootstrap and not self.even

    def approximates(self, rows: int) -> str:
        """Above ``structure_rows`` the tree is grown on a sample."""
        if rows <= self.structure_rows:
            return ""
        return (
            f"trees were grown on {self.structure_rows:,} of {rows:,} rows of train, chosen at "
            "random; all rows are donors"
        )

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedCart:
        """Grow the tree and tally its donors."""
        (column,) = columns
        predictors = [train.encoding[name] for name in given]
        tree = grow(
            [train.codes[name] for name in given],
            [predictor.width for predictor in predictors],
            [predictor.is_nominal for predictor in predictors],
            _target(train, column, self.classes),
            min_leaf=self.min_leaf,
            min_split=self.min_split,
            max_depth=self.max_depth,
            complexity=self.complexity,
            structure_rows=self.structure_rows,
            person=train.person,
            rng=rng,
        )
        leaf = _full(tree.apply([train.codes[name] for name in given]), train.rows)
        return fitted_cart(self, train, column, tuple(given), tree, leaf)


@dataclass(frozen=True, eq=False)
class FittedCart(Fitted):
    """A tree with its donors.

    Attributes:
        settings: the model's settings.
        encoding: the column that is drawn.
        given: the columns it predicts from.
        tree: the partition.
        donors: how many rows of train are in each leaf and place.
        train_leaf: leaf of each row of train.
        train_place: place of each row of train: its code, or its exact value's.
        exact: train's distinct values where they are handed out as they are.
        recall: tallies of the replicates that were asked about.
        weight: the donors' weights of one replicate, where they were drawn ahead of its rows.
    """

    settings: Cart
    encoding: ColumnEncoding
    given: tuple[str, ...]
    tree: Tree
    donors: leaves.Tally
    train_leaf: NDArray[np.int32]
    train_place: NDArray[np.int32]
    exact: Exact | None
    recall: Recall[leaves.Tally] = field(default_factory=Recall, repr=False)
    weight: Floats | None = None

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one column that is drawn."""
        return (self.encoding.column.name,)

    def leaf_of(self, rows: Block) -> NDArray[np.int32]:
        """Leaf of each row."""
        return _full(self.tree.apply([rows.codes[name] for name in self.given]), rows.rows)

    def realised(self, rng: np.random.Generator) -> FittedCart:
        """With the donors' weights of one replicate."""
        return replace(self, weight=leaves.weights(self.donors, rng, self.settings.weighs))

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw from the donors of each row's leaf."""
        name = self.columns[0]
        leaf = self.leaf_of(given)
        spot = None
        if self.settings.even:
            spot = comb.spots(self._along(given, leaf), rng, self.settings.spread)
        place = self._places(leaf, rng, within.get(name), spot)
        if self.exact is not None:
            codes, numbers = self.exact.code[place], self.exact.value[place]
            return given.encoding.block({name: codes}, {name: numbers}, given.rows)
        cells = self.encoding.cells
        values = {} if cells is None else {name: cells.draw(place, rng)}
        return given.encoding.block({name: place}, values, given.rows)

    def _along(self, rows: Block, leaf: NDArray[np.int32]) -> NDArray[np.int64]:
        """Rows in the order of the comb: by leaf, then by the columns given, the last one first.

        The last one must not be the last key: its rows would then stand as they stood when it was
        drawn, and this column's spots would be that column's, shifted.
        """
        keys = [self.tree.leaf_order()[leaf], *(rows.codes[name] for name in reversed(self.given))]
        return comb.order(keys, rows.rows)

    def _places(
        self,
        leaf: NDArray[np.int32],
        rng: np.random.Generator,
        limit: Restriction | None,
        spot: Floats | None,
    ) -> NDArray[np.int32]:
        bootstrap = self.settings.weighs
        if limit is None:
            return leaves.draw(
                self.donors, leaf, rng, bootstrap=bootstrap, spot=spot, weight=self.weight
            )
        if self.exact is not None:
            limit = self.exact.limit(limit)
        return leaves.draw_within(
            self.donors,
            leaf,
            rng,
            bootstrap=bootstrap,
            spot=spot,
            low=limit.low,
            high=limit.high,
            allowed=limit.allowed,
            group=limit.group,
            missing=limit.missing,
            nothing=self.donors.cells - 1,
            weight=self.weight,
        )

    def place_of(self, rows: Block) -> NDArray[np.int32]:
        """Place of each row: the code of its value, or the number of its exact value."""
        name = self.columns[0]
        return rows.codes[name] if self.exact is None else self.exact.of(rows.values[name])

    def log_density(self, rows: Block) -> Floats:
        """Log of n_k / N in the row's leaf, plus the log density inside the cell."""
        leaf = self.leaf_of(rows).astype(np.int64)
        count = self.donors.at(leaf * self.donors.cells + self.place_of(rows))
        with np.errstate(divide="ignore"):
            result = np.log(count) - np.log(self.donors.leaf_totals()[leaf])
        if self.encoding.cells is not None and self.exact is None:
            result = result + self.encoding.cells.log_density(rows.values[self.columns[0]])
        return np.asarray(result, dtype=np.float64)

    def log_prob(self, replicate: Block) -> float:
        """Dirichlet-multinomial probability of the drawn cells, leaf by leaf; or the comb's."""
        if self.settings.even:
            return self._log_comb(replicate, self.donors)
        bootstrap = self.settings.bootstrap
        return leaves.log_marginal(self.donors, self._drawn(replicate), bootstrap=bootstrap)

    def _log_comb(self, replicate: Block, donors: leaves.Tally) -> float:
        """Log of the share of starts that draw this replicate."""
        leaf = self.leaf_of(replicate)
        low, high = leaves.parts(donors, leaf, self.place_of(replicate))
        return comb.log_measure(self._along(replicate, leaf), low, high, self.settings.spread)

    def _drawn(self, replicate: Block) -> leaves.Tally:
        leaf, place = self.leaf_of(replicate), self.place_of(replicate)
        return leaves.tally(leaf, place, self.donors.leaves, self.donors.cells)

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """A change of lgamma terms: the record leaves one (leaf, cell) and enters another.

        The leaves are held: the tree is not grown again for the candidate. Spread draws are
        recounted: candidates in the same leaf and place share one count.
        """
        old = (int(self.train_leaf[record]), int(self.train_place[record]))
        leaf, place = self.leaf_of(candidates), self.place_of(candidates)
        if self.settings.even:
            return np.stack([self._recounted(old, leaf, place, rep) for rep in replicates])
        bootstrap = self.settings.bootstrap
        return np.stack(
            [
                leaves.swap(self.donors, drawn, old, leaf, place, bootstrap=bootstrap)
                for drawn in (self.recall(rep, self._drawn) for rep in replicates)
            ]
        )

    @property
    def fast(self) -> bool:
        """Spread draws are recounted, others are changes of a few terms."""
        return not self.settings.even

    def swaps(
        self,
        rows: Block,
        records: NDArray[np.int64],
        candidates: Block,
        replicates: Sequence[Block],
    ) -> Floats:
        """The same for many records at once, the leaves held."""
        if self.settings.even:
            return super().swaps(rows, records, candidates, replicates)
        leaf, place = self._moved(rows, records, candidates)
        drawn = [self.recall(replicate, self._drawn) for replicate in replicates]
        old = (self.train_leaf[records], self.train_place[records])
        bootstrap = self.settings.bootstrap
        return leaf_moves.swaps(self.donors, drawn, old, leaf, place, bootstrap=bootstrap)

    def left_out(self, rows: Block, records: NDArray[np.int64], candidates: Block) -> Floats | None:
        """Counts without the record, where no split can know of it: in a tree of one leaf.

        Any other tree was grown with the record. Held, its leaves give the record away: with a
        predictor of many levels they are as good as sorted by its own value.
        """
        if self.tree.leaves > 1:
            return None
        _, place = self._moved(rows, records, candidates)
        key = np.broadcast_to(place, (len(records), candidates.rows)).astype(np.int64)
        own = key == self.train_place[records][:, None]
        with np.errstate(divide="ignore"):
            left = np.log(self.donors.at(key.reshape(-1)).reshape(key.shape) - own)
        return np.asarray(left, dtype=np.float64)

    def _moved(
        self, rows: Block, records: NDArray[np.int64], candidates: Block
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Leaf and place of each record with each candidate's columns (records × candidates)."""
        leaf, place = self.train_leaf[records][:, None], self.train_place[records][:, None]
        if any(name in candidates.codes for name in self.given):
            both = crossed(rows.select(self.given), candidates)
            leaf = self.leaf_of(both).reshape(len(records), -1)
        if self.columns[0] in candidates.codes:
            place = self.place_of(candidates)[None, :]
        if leaf.shape[1] == 1 and place.shape[1] == 1:
            leaf = np.broadcast_to(leaf, (len(records), candidates.rows))
        return leaf, place

    def _recounted(
        self,
        old: tuple[int, int],
        leaf: NDArray[np.int32],
        place: NDArray[np.int32],
        replicate: Block,
    ) -> Floats:
        before = self._log_comb(replicate, self.donors)
        known = {old: 0.0}
        result = np.empty(len(leaf))
        for row, new in enumerate(zip(leaf.tolist(), place.tolist(), strict=True)):
            if new not in known:
                known[new] = self._log_comb(replicate, leaves.moved(self.donors, old, new)) - before
            result[row] = known[new]
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The tree and its tally."""
        return {
            **{f"tree.{key}": value for key, value in vars(self.tree).items()},
            "donors.key": self.donors.key,
            "donors.count": self.donors.count,
            **({} if self.exact is None else {"exact.value": self.exact.value}),
        }


@dataclass(frozen=True, eq=False)
class Exact:
    """Train's distinct values as places: ascending, then missing, then nothing.

    Attributes:
        value: the value of each place (NaN for the last two).
        code: the code of each place.
    """

    value: Floats
    code: NDArray[np.int32]

    def of(self, values: Floats) -> NDArray[np.int32]:
        """Place of each value; a value that train does not have is the last."""
        distinct = self.value[:-2]
        place = np.searchsorted(distinct, values).astype(np.int32)
        known = np.append(distinct, np.nan)[place] == values
        place[~known] = len(distinct) + 1
        place[np.isnan(values)] = len(distinct)
        return place

    def limit(self, codes: Restriction) -> Restriction:
        """A restriction on codes as one on places (codes ascend with places)."""
        low, high = codes.low, codes.high
        first = None if low is None else np.searchsorted(self.code, low).astype(np.int32)
        last = None
        if high is not None:
            last = (np.searchsorted(self.code, high, side="right") - 1).astype(np.int32)
        allowed = None if codes.allowed is None else codes.allowed[:, self.code]
        gone = None if codes.missing is None else int(np.searchsorted(self.code, codes.missing))
        return Restriction(first, last, allowed, codes.group, gone)


def find_exact(train: Block, column: str) -> Exact:
    """The distinct values of a numeric column of train."""
    encoding = train.encoding[column]
    assert encoding.cells is not None
    values = train.values[column]
    distinct = np.unique(values[~np.isnan(values)])
    code = np.append(encoding.cells.of(distinct), [encoding.missing, encoding.unseen])
    return Exact(np.append(distinct, [np.nan, np.nan]), code.astype(np.int32))


def fitted_cart(
    settings: Cart,
    train: Block,
    column: str,
    given: tuple[str, ...],
    tree: Tree,
    leaf: NDArray[np.int32],
) -> FittedCart:
    """Tally the donors of a grown tree."""
    encoding = train.encoding[column]
    exact = None
    place, places = train.codes[column], encoding.width
    if encoding.is_numeric and not settings.smooth:
        exact = find_exact(train, column)
        place, places = exact.of(train.values[column]), len(exact.value)
    donors = leaves.tally(leaf, place, tree.leaves, places)
    return FittedCart(settings, encoding, given, tree, donors, leaf, place, exact)


def _target(train: Block, column: str, classes: int) -> NDArray[Any]:
    """What the splits should predict: classes, or a standardised number with a missing flag."""
    encoding = train.encoding[column]
    codes = train.codes[column]
    if not encoding.is_numeric or encoding.size <= classes:
        return class_target(codes, encoding.width)
    rank = codes.astype(np.float64)
    gone = codes == encoding.missing
    if gone.all():
        return np.zeros((train.rows, 1))
    rank[gone] = rank[~gone].mean()
    spread = rank.std() or 1.0
    outputs = [rank / spread]
    if gone.any():
        outputs.append(gone / (gone.std() or 1.0))
    return np.stack(outputs, axis=1)


def _full(leaf: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    # A tree without predictors cannot know how many rows there are: all are in its one leaf.
    return leaf if len(leaf) == rows else np.zeros(rows, dtype=np.int32)
