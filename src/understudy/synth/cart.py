"""Classification and regression trees with a Bayesian bootstrap in the leaves.

The tree partitions train by the columns given; a value is drawn from the donors of the row's leaf
(Reiter 2005; Bale & Quick §5.2.2). Numbers are drawn as cells of the frozen encoding and then
inside the cell, so that values few people share are smoothed and a replicate's counts stay exactly
Dirichlet-multinomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import leaves
from understudy.kernels.tree import Tree, class_target, grow
from understudy.synth.base import NOWHERE, Fitted, Floats, Model, Restriction, Within, require_range
from understudy.tables.encode import Block, ColumnEncoding

_FEW_VALUES = 12  # numbers with no more cells than this are split as classes


@dataclass(frozen=True)
class Cart(Model):
    """Draw one column from the leaves of a tree.

    Attributes:
        min_leaf: smallest number of donors in a leaf.
        min_split: smallest number of rows that may be split (default: twice ``min_leaf``).
        max_depth: deepest level of the tree (default: no limit).
        complexity: a split must lower the impurity by this share of the root's.
        bootstrap: draw donors' weights once per replicate (proper synthesis).
        smooth: draw numbers inside their cell; false hands out exact donors' values.
        structure_rows: grow the tree on at most this many rows; all rows are donors.
    """

    name: ClassVar[str] = "cart"
    min_leaf: int = 5
    min_split: int | None = None
    max_depth: int | None = None
    complexity: float = 0.0
    bootstrap: bool = True
    smooth: bool = True
    structure_rows: int = 200_000

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.min_leaf", self.min_leaf, 1, whole=True)
        if self.min_split is not None:
            require_range(f"{where}.min_split", self.min_split, 2, whole=True)
        if self.max_depth is not None:
            require_range(f"{where}.max_depth", self.max_depth, 0, whole=True)
        require_range(f"{where}.complexity", self.complexity, 0.0, 1.0)
        require_range(f"{where}.structure_rows", self.structure_rows, 1000, whole=True)

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
        encoding = train.encoding[column]
        predictors = [train.encoding[name] for name in given]
        tree = grow(
            [train.codes[name] for name in given],
            [predictor.width for predictor in predictors],
            [predictor.is_nominal for predictor in predictors],
            _target(train, column),
            min_leaf=self.min_leaf,
            min_split=self.min_split,
            max_depth=self.max_depth,
            complexity=self.complexity,
            structure_rows=self.structure_rows,
            rng=rng,
        )
        leaf = tree.apply([train.codes[name] for name in given])
        leaf = _full(leaf, train.rows)
        cell = train.codes[column]
        donors = leaves.tally(leaf, cell, tree.leaves, encoding.width)
        exact = None if self.smooth or not encoding.is_numeric else train.values[column]
        return FittedCart(self, encoding, tuple(given), tree, donors, leaf, cell, exact)


@dataclass(frozen=True, eq=False)
class FittedCart(Fitted):
    """A tree with its donors."""

    settings: Cart
    encoding: ColumnEncoding
    given: tuple[str, ...]
    tree: Tree
    donors: leaves.Tally
    train_leaf: NDArray[np.int32]
    train_cell: NDArray[np.int32]
    exact: Floats | None

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one column that is drawn."""
        return (self.encoding.column.name,)

    def leaf_of(self, rows: Block) -> NDArray[np.int32]:
        """Leaf of each row."""
        return _full(self.tree.apply([rows.codes[name] for name in self.given]), rows.rows)

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw from the donors of each row's leaf."""
        name = self.columns[0]
        leaf = self.leaf_of(given)
        codes = self._cells(leaf, rng, within.get(name))
        values = {}
        if self.encoding.cells is not None:
            if self.exact is None:
                values[name] = self.encoding.cells.draw(codes, rng)
            else:
                values[name] = self._donor_values(leaf, codes, rng)
        return given.encoding.block({name: codes}, values, given.rows)

    def _cells(
        self, leaf: NDArray[np.int32], rng: np.random.Generator, limit: Restriction | None
    ) -> NDArray[np.int32]:
        draw = self.settings.bootstrap
        if limit is None:
            return leaves.draw(self.donors, leaf, rng, bootstrap=draw)
        return leaves.draw_within(
            self.donors,
            leaf,
            rng,
            bootstrap=draw,
            low=limit.low,
            high=limit.high,
            allowed=limit.allowed,
            group=limit.group,
            missing=limit.missing,
            nothing=self.encoding.unseen,
        )

    def _donor_values(
        self, leaf: NDArray[np.int32], codes: NDArray[np.int32], rng: np.random.Generator
    ) -> Floats:
        """Exact values of donors who share the leaf and the cell."""
        assert self.exact is not None
        return leaves.donor_values(
            self.train_leaf, self.train_cell, self.exact, leaf, codes, self.encoding.width, rng
        )

    def log_density(self, rows: Block) -> Floats:
        """Log of n_k / N in the row's leaf, times the density inside the cell."""
        name = self.columns[0]
        leaf = self.leaf_of(rows).astype(np.int64)
        count = self.donors.at(leaf * self.donors.cells + rows.codes[name])
        with np.errstate(divide="ignore"):
            result = np.log(count) - np.log(self.donors.leaf_totals()[leaf])
        if self.encoding.cells is not None:
            result = result + self.encoding.cells.log_density(rows.values[name])
        return np.asarray(result, dtype=np.float64)

    def log_prob(self, replicate: Block) -> float:
        """Dirichlet-multinomial probability of the drawn cells, leaf by leaf."""
        return leaves.log_marginal(self.donors, self._drawn(replicate))

    def _drawn(self, replicate: Block) -> leaves.Tally:
        cells = replicate.codes[self.columns[0]]
        return leaves.tally(self.leaf_of(replicate), cells, self.donors.leaves, self.donors.cells)

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """A change of lgamma terms: the record leaves one (leaf, cell) and enters another.

        The leaves are held: the tree is not grown again for the candidate.
        """
        old = (int(self.train_leaf[record]), int(self.train_cell[record]))
        leaf, cell = self.leaf_of(candidates), candidates.codes[self.columns[0]]
        return np.stack(
            [leaves.swap(self.donors, self._drawn(rep), old, leaf, cell) for rep in replicates]
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The tree and its tally."""
        return {
            **{f"tree.{key}": value for key, value in vars(self.tree).items()},
            "donors.key": self.donors.key,
            "donors.count": self.donors.count,
        }


def _target(train: Block, column: str) -> NDArray[Any]:
    """What the splits should predict: classes, or a standardised number with a missing flag."""
    encoding = train.encoding[column]
    codes = train.codes[column]
    if not encoding.is_numeric or encoding.size <= _FEW_VALUES:
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
