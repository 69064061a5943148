"""Redraw rows that lie nearer to a person than any other person does (Chapelle & Falissard)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.errors import PlanError, ProtectionError
from understudy.evidence import Source
from understudy.protect.base import Protection, Receipt
from understudy.protect.filter_columns import (
    MISSING,
    Comparison,
    jaccard,
    mahalanobis,
    many_valued,
    require_known,
    same,
    typed,
)
from understudy.protect.filter_view import shifts, view
from understudy.settings import require_range
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Role

METRICS = ("mahalanobis", "jaccard", "typed")
_SPARE = 1.2  # rows drawn for each that is expected to be kept


@dataclass(frozen=True)
class DistanceFilter(Protection):
    """Take out rows that are nearer to a person than that person's nearest neighbour in train.

        drop z where d(z, x_j) < min over k ≠ j of d(x_j, x_k),   x_j the person nearest to z

    (Chapelle & Falissard 2023, Algorithm 1), and draw others, filtered alike, until the table is
    full. Equally near people: the lowest row counts. Somebody with a twin in train is at distance 0
    from it, and nothing is nearer than that.

    Attributes:
        columns: which columns: ``quasi`` (roles quasi and location), ``all`` (but weights), or a
            list of names.
        metric: ``mahalanobis``, ``jaccard`` (columns with two values) or ``typed``.
        missing: ``exact`` or ``paper``: what missing values can make of a distance.
        collinear: a column is left out where those before it leave at most this share of its
            variance (Mahalanobis).
        rounds: how often to redraw before it gives up.
        share: share of such rows that are taken out: 1 is the paper's filter. Strangers have such
            rows, too; ``auto`` takes out so many that rows drawn from half of train are no nearer
            to it than to the other half.
    """

    name: ClassVar[str] = "distance-filter"
    redraws: ClassVar[bool] = True
    columns: str | tuple[str, ...] | list[str] = "quasi"
    metric: str = "mahalanobis"
    missing: str = "exact"
    collinear: float = 1e-6
    rounds: int = 50
    share: float | str = 1.0

    def check(self, where: str) -> None:
        """Check names and ranges."""
        named = isinstance(self.columns, str)
        if (named and self.columns not in ("quasi", "all")) or not self.columns:
            raise PlanError(f"{where}.columns", self.columns, "'quasi', 'all' or a list of columns")
        for key, choices in (("metric", METRICS), ("missing", tuple(MISSING))):
            value = getattr(self, key)
            if value not in choices:
                raise PlanError(f"{where}.{key}", value, f"one of {', '.join(choices)}")
        require_range(f"{where}.collinear", self.collinear, 1e-9, 1.0)
        require_range(f"{where}.rounds", self.rounds, 1, whole=True)
        if isinstance(self.share, str) and self.share != "auto":
            raise PlanError(f"{where}.share", self.share, "'auto' or a number from 0 to 1")
        if not isinstance(self.share, str):
            require_range(f"{where}.share", self.share, 0.0, 1.0)

    def suits(self, where: str, train: Block) -> None:
        """Check the columns against train."""
        names = self.keys(train, where)
        if self.metric == "jaccard":
            left_out = same(train, names)
            for name in many_valued(train, [name for name in names if name not in left_out]):
                raise PlanError(
                    f"{where}.columns", name, "columns with two values each (metric = 'jaccard')"
                )

    def keys(self, train: Block, where: str = "protections") -> tuple[str, ...]:
        """The columns to compare."""
        schema = train.encoding.schema
        if self.columns == "quasi":
            return schema.with_role(Role.QUASI, Role.LOCATION)
        if self.columns == "all":
            weights = schema.with_role(Role.WEIGHT)
            return tuple(name for name in train.names if name not in weights)
        require_known(where, self.columns, train.names)
        return tuple(dict.fromkeys(self.columns))

    def comparison(self, train: Block) -> Comparison:
        """The filter, fitted to train."""
        self.suits("protections", train)
        names = self.keys(train)
        if self.metric == "mahalanobis":
            return mahalanobis(train, names, self.missing, self.collinear)
        return jaccard(train, names) if self.metric == "jaccard" else typed(train, names)

    def apply(
        self, replicate: Block, train: Block, source: Source, *, rng: np.random.Generator
    ) -> tuple[Block, Receipt]:
        """Redraw rows that are too near until the table is full; `ProtectionError` where it cannot.

        A row that is drawn takes the place of one that was taken out.
        """
        if train.rows < 2:
            raise ProtectionError(
                "distance-filter: train has fewer than two rows, so that nobody has a neighbour to "
                "compare a distance with. Give more rows, or leave the protection out"
            )
        found = self.comparison(train)
        if not found.columns:
            return replicate, Receipt(self.name, note=_nothing(found))
        bad = self._taken(replicate, found, rng)
        full, drawn, rounds = self._refilled(replicate, bad, found, source, rng)
        numbers: dict[str, float] = {}
        if found.condition is not None:
            numbers["condition number"] = float(f"{found.condition:.3g}")
        if found.skipped():
            numbers["comparisons of people with too many gaps to try all"] = found.skipped()
        moved = shifts(replicate, full)
        numbers |= {f"shift of {one['name']}": one["shift"] for one in moved}
        summary = {"columns": moved, **view(found.space, train, replicate, bad, full)}
        receipt = Receipt(
            self.name,
            dropped=int(bad.sum()),
            redrawn=drawn,
            rounds=rounds,
            note=self._note(found),
            numbers=numbers,
            summary=summary,
        )
        return full, receipt

    def _refilled(
        self,
        replicate: Block,
        bad: np.ndarray,
        found: Comparison,
        source: Source,
        rng: np.random.Generator,
    ) -> tuple[Block, int, int]:
        """The table with every row that is too near replaced; rows drawn, and how often."""
        kept = np.flatnonzero(~bad)
        parts, need = [replicate.take(kept)], int(bad.sum())
        asked, passed, drawn, rounds = replicate.rows, len(kept), 0, 0
        while need:
            if rounds == self.rounds:
                raise self._refusal(replicate.rows, need, drawn)
            rate = (passed + 1) / (asked + 1)
            size = min(math.ceil(_SPARE * need / rate), max(replicate.rows, 100))
            fresh = source.sample(size, seed=int(rng.integers(2**63)))
            fine = np.flatnonzero(~self._taken(fresh, found, rng))
            parts.append(fresh.take(fine[:need]).select(replicate.names))
            need -= min(need, len(fine))
            asked, passed = asked + size, passed + len(fine)
            drawn, rounds = drawn + size, rounds + 1
        # The order of rows says nothing: new ones go to the places of those they replace.
        place = np.argsort(np.concatenate([kept, np.flatnonzero(bad)]), kind="stable")
        return stack(parts).take(place), drawn, rounds

    def _taken(self, rows: Block, found: Comparison, rng: np.random.Generator) -> np.ndarray:
        """Rows that are too near, or the declared share of them."""
        bad = found.too_near(rows)
        assert not isinstance(self.share, str), "the walk finds the share before it protects"
        return bad if self.share == 1.0 else bad & (rng.random(len(bad)) < self.share)

    def _refusal(self, rows: int, need: int, drawn: int) -> ProtectionError:
        return ProtectionError(
            f"distance-filter: after {self.rounds} rounds and {drawn:,} rows drawn, {need:,} of "
            f"{rows:,} rows are still nearer to a person than that person's nearest neighbour. "
            "Nothing is released. Compare fewer columns, draw from larger leaves, fill or drop "
            "columns with many missing values, or raise rounds"
        )

    def _note(self, found: Comparison) -> str:
        said = f"{self.metric} distance on {', '.join(found.columns)}"
        if found.left_out:
            out = "; ".join(f"{name}: {why}" for name, why in found.left_out.items())
            said += f". Left out: {out}"
        return said


def _nothing(found: Comparison) -> str:
    if not found.left_out:
        return "no column has the role quasi or location"
    return "no column varies: " + "; ".join(f"{n}: {why}" for n, why in found.left_out.items())
