"""Attribute disclosure: how much surer of a sensitive value does the release make an attacker?

The attacker knows a record's quasi-identifiers, looks at the synthetic rows that agree with them
(equal levels, numbers within δ) and takes the share of a sensitive value among those for its
probability (Bale & Quick §3.5, equations 15 to 17).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from understudy.errors import PlanError
from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, points, row_numbers
from understudy.kernels.balls import balls, shells
from understudy.kernels.resample import interval
from understudy.settings import require_range
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Role

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_DRAWS = 200
_PAIRS = 2_000_000  # pairs of a record and a row of its cell; where there are more, fewer records
_GROUPS = 12  # intervals of a sensitive number
_LEAST, _MOST = 20, 1000  # records under attack


@dataclass(frozen=True)
class Attribute(Measure):
    """``attribute.exceeding`` and ``attribute.max_ratio``, for each sensitive column.

    ratio_j(δ) = share of record j's own value among the rows in its ball / prior of that value

    - ``attribute.exceeding``: of the records whose ratio could exceed c at all (values rarer than
      1/c), the share for which it does, at some δ of the grid.
    - ``attribute.max_ratio``: the largest ratio over records and δ.

    An empty ball is no attack. Priors are train's own shares. A sensitive number is cut into at
    most twelve intervals of about as many people. Fuller balls give steadier shares, so the verdict
    compares the holdout with as many rows of the release; the value is that of all its rows.

    Attributes:
        c: by how much a probability may be multiplied.
        deltas: radii, in train's standard deviations.
    """

    names: ClassVar[tuple[str, ...]] = ("attribute.exceeding", "attribute.max_ratio")
    c: float = 10.0
    deltas: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.c", self.c, 1.0)
        if not isinstance(self.deltas, tuple) or not self.deltas:
            raise PlanError(f"{where}.deltas", self.deltas, "a list of radii")
        for delta in self.deltas:
            require_range(f"{where}.deltas", delta, 0.0)
        if any(low >= high for low, high in pairwise(self.deltas)):
            raise PlanError(f"{where}.deltas", list(self.deltas), "rising radii")

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> AttributeJudge:
        """Find the sensitive columns, and what an attacker knows."""
        schema = evidence.encoding.schema
        keys = schema.with_role(Role.QUASI, Role.LOCATION)
        held = stack([evidence.control, evidence.fresh])
        targets = {
            name: _Target.of(evidence.train, name)
            for name in schema.with_role(Role.SENSITIVE)
            if name in evidence.drawn
        }
        return AttributeJudge(self, evidence, keys, targets, held)


@dataclass(frozen=True, eq=False)
class _Target:
    """A sensitive column: the group of every code, and train's shares of the groups."""

    group: Ints
    prior: Floats

    @classmethod
    def of(cls, train: Block, name: str) -> _Target:
        """Groups of a column's codes; missing is a value like others, unseen levels never match."""
        encoding = train.encoding[name]
        codes = train.codes[name]
        group = np.arange(encoding.width, dtype=np.int64)
        if encoding.is_numeric and encoding.size > _GROUPS:
            counts = np.bincount(codes, minlength=encoding.width)[: encoding.size]
            before = np.cumsum(counts) - counts
            cut = np.minimum(before * _GROUPS // max(counts.sum(), 1), _GROUPS - 1)
            group[: encoding.size] = cut
            group[encoding.size :] = [_GROUPS, _GROUPS + 1]
        prior = np.bincount(group[codes], minlength=int(group.max()) + 1) / max(len(codes), 1)
        return cls(group, np.asarray(prior, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class _Attack:
    """Records under attack by the rows of one table.

    Attributes:
        at: the shells around the records.
        match: for each entry of ``at``, whether the row has the record's own value.
        prior: of each record's own value.
    """

    at: csr_matrix
    match: csr_matrix
    prior: Floats
    deltas: int

    def ratios(self, weights: Floats) -> Floats:
        """Largest ratio over δ of each record, for each column of weights (records × weights)."""
        return np.asarray(self._by_delta(weights).max(axis=1, initial=0.0), dtype=np.float64)

    def curve(self, rows: int) -> list[float]:
        """Largest ratio over records, for each δ."""
        found = self._by_delta(np.ones((rows, 1))).max(axis=(0, 2), initial=0.0)
        return [round(float(ratio), 3) for ratio in found]

    def _by_delta(self, weights: Floats) -> Floats:
        """Ratios (records × δ × weights); 0 where a ball holds nothing: no attack."""
        rows = balls(self.at, weights, self.deltas)
        hits = balls(self.match, weights, self.deltas)
        share = np.divide(hits, rows, out=np.zeros_like(hits), where=rows > 0)
        return np.asarray(share / self.prior[:, None, None], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class AttributeJudge(Judge):
    """What an attacker knows, what is sensitive, and the holdout."""

    settings: Attribute
    evidence: Evidence
    keys: tuple[str, ...]
    targets: dict[str, _Target]
    held: Block
    seen: dict[int, dict[str, Any]] = field(default_factory=dict)

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Two numbers for each sensitive column."""
        why = self._why_not()
        if why:
            return [Estimate.absent(name, why) for name in Attribute.names]
        found: list[Estimate] = []
        for name in self.targets:
            found += self._column(name, release, rng)
        return found

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.evidence.control, seen={}) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """The largest ratio over records by δ, for each column (Bale & Quick, Figure 5)."""
        if self._why_not():
            return {}
        return {"attribute": list(self._curves(rng))}

    def _column(self, name: str, release: Block, rng: np.random.Generator) -> list[Estimate]:
        target, c = self.targets[name], self.settings.c
        records, risky = self._records(name, release, rng)
        size = min(release.rows, self.held.rows)
        whole = self._ratios(name, target, records, release, rng)
        ours, theirs = (
            self._ratios(name, target, records, block.thin(size, rng), rng)
            for block in (release, self.held)
        )
        level = 1 - (1 - self.evidence.level) / len(self.targets)
        note = self._note(records, risky, release.rows, size)
        margin = self.evidence.margin("attribute.max_ratio", 0.05)
        found = [
            _estimate(
                "attribute.max_ratio",
                name,
                [_largest(ratios) for ratios in (whole, ours, theirs)],
                max(margin * float(_largest(theirs)[0]), 0.01),
                level,
                note,
            )
        ]
        if not risky:
            why = f"no value is rarer than 1 in {c:g}: no probability can grow by more than {c:g}"
            return [Estimate.absent("attribute.exceeding", why, target=name), *found]
        exceeding = _estimate(
            "attribute.exceeding",
            name,
            [_shares(ratios > c, rng) for ratios in (whole, ours, theirs)],
            self.evidence.margin("attribute.exceeding", 0.01),
            level,
            f"ratios above c = {c:g}; {note}",
        )
        return [exceeding, *found]

    def _ratios(
        self, name: str, target: _Target, records: Ints, rows: Block, rng: np.random.Generator
    ) -> Floats:
        """Ratios of the records: first by all rows, then by each draw of the bootstrap."""
        return self._attack(name, target, records, rows).ratios(_weights(rows.rows, rng))

    def _note(self, records: Ints, risky: bool, rows: int, size: int) -> str:
        c = self.settings.c
        who = f"with a value rarer than 1 in {c:g} " if risky else ""
        radii = ", ".join(f"{delta:g}" for delta in self._deltas())
        return (
            f"{len(records)} records {who}attacked by {', '.join(self.keys)} with {rows} rows; "
            f"δ of {radii} standard deviations; the verdict compares {size} rows with {size}"
        )

    def _why_not(self) -> str:
        if not self.targets:
            return "no synthesised column has the role sensitive"
        if not self.keys:
            return "no column has the role quasi or location: nothing to match by"
        return "" if self.held.rows else "there is no holdout to compare with"

    def _curves(self, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
        for name, target in self.targets.items():
            release = self.evidence.release[0]
            records, _ = self._records(name, release, rng)
            size = min(release.rows, self.held.rows)
            ours, theirs = (
                self._attack(name, target, records, block.thin(size, rng))
                for block in (release, self.held)
            )
            yield {
                "column": name,
                "deltas": list(self._deltas()),
                "synthetic": ours.curve(size),
                "holdout": theirs.curve(size),
            }

    def _deltas(self) -> tuple[float, ...]:
        numeric = any(self.evidence.encoding[name].is_numeric for name in self.keys)
        return self.settings.deltas if numeric else (0.0,)

    def _records(self, name: str, release: Block, rng: np.random.Generator) -> tuple[Ints, bool]:
        """Rows of train to attack: those with a value rarer than 1/c, or all if there is none."""
        train, target = self.evidence.train, self.targets[name]
        own = target.prior[target.group[train.codes[name]]]
        records = np.flatnonzero(own < 1 / self.settings.c)
        risky = records.size > 0
        if not risky:
            records = np.arange(train.rows)
        most = min(_MOST, max(_PAIRS // max(self._company(records, release), 1), _LEAST))
        if len(records) > most:
            records = np.sort(rng.choice(records, most, replace=False))
        return records, risky

    def _company(self, records: Ints, release: Block) -> int:
        """Mean number of rows of the release in a record's cell."""
        mine, theirs = row_numbers([self.evidence.train.take(records), release], self._levels)
        sizes = np.bincount(theirs, minlength=int(mine.max(initial=0)) + 1)
        return int(sizes[mine].mean()) if mine.size else 0

    @property
    def _levels(self) -> list[str]:
        return [key for key in self.keys if not self.evidence.encoding[key].is_numeric]

    def _attack(self, name: str, target: _Target, records: Ints, rows: Block) -> _Attack:
        train = self.evidence.train.take(records)
        numbers = [key for key in self.keys if self.evidence.encoding[key].is_numeric]
        mine, theirs = row_numbers([train, rows], self._levels)
        # Numbers that are constant in train have no scale; they say nothing about anybody.
        here, there = (points(block, numbers, "typed") for block in (train, rows))
        deltas = np.asarray(self._deltas())
        at = shells(here.numbers, mine, there.numbers, theirs, deltas)
        own = target.group[train.codes[name]]
        other = target.group[rows.codes[name]]
        pairs = at.tocoo()
        same = other[pairs.col] == own[pairs.row // len(deltas)]
        match = csr_matrix((pairs.data[same], (pairs.row[same], pairs.col[same])), shape=at.shape)
        return _Attack(at, match, target.prior[own], len(deltas))


def _weights(rows: int, rng: np.random.Generator) -> Floats:
    """How often each row counts: once, then as the bootstrap draws it."""
    drawn = rng.multinomial(rows, np.full(rows, 1 / rows), size=_DRAWS)
    return np.concatenate([np.ones((rows, 1)), drawn.T], axis=1)


def _largest(ratios: Floats) -> Floats:
    return np.asarray(ratios.max(axis=0, initial=0.0), dtype=np.float64)


def _shares(exceeding: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Share of records; where all draws agree, Jeffreys' posterior for that many."""
    shares = np.asarray(exceeding.mean(axis=0), dtype=np.float64)
    if shares.min() < shares.max():
        return shares
    spread = rng.beta(0.5, len(exceeding) + 0.5, len(shares) - 1)
    shares[1:] += np.where(shares[1:] > 0.5, -spread, spread)
    return shares


def _estimate(
    name: str, target: str, found: list[Floats], margin: float, level: float, note: str
) -> Estimate:
    """Value by all rows of the release; the gap by as many rows of it as the holdout has."""
    whole, ours, theirs = found
    low, high = interval(whole[1:], level)
    gap_low, gap_high = interval(ours[1:] - theirs[1:], level)
    return Estimate(
        name,
        float(whole[0]),
        low,
        high,
        float(theirs[0]),
        Better.LOWER,
        margin,
        gap_low,
        gap_high,
        target=target,
        note=note,
    )
