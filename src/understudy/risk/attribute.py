"""Attribute disclosure: how much surer of a sensitive value does the release make an attacker?

See `understudy.attack` for who attacks (Bale & Quick §3.5, equations 13 to 17).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from understudy.attack import Attacker, Known, Target, tallies
from understudy.evidence import Estimate, Evidence, Judge, Map, Measure, row_numbers
from understudy.kernels.ball_counts import Tally
from understudy.risk.attribute_column import Column, correct
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Role

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LOOKS = 60_000_000  # pairs of a record and a row of its cell; where there are more, fewer records
_LEAST = 1000  # records under attack, at the least


@dataclass(frozen=True)
class Attribute(Attacker, Measure):
    """How much surer of each sensitive column's values an attacker gets, for every record.

    ratio_j(δ) = share of record j's own value among the rows in its ball / prior of that value

    - ``attribute.exceeding``: of the records whose ratio could exceed c at all (values rarer than
      1/c), the share for which it does, at some δ.
    - ``attribute.max_ratio``: the largest ratio over records and δ. An empty ball is no attack.
    - ``attribute.widened``: the same for an attacker who widens an empty ball to its nearest rows.
    - ``attribute.correct``: the share of records whose value is the most frequent one in the ball
      (R, equation 14), at the δ where that is largest; an empty ball leaves the prior's guess.
    - ``attribute.prior_correct``: the same by the prior alone.

    Fuller balls give steadier shares, so verdicts compare the holdout with as many rows of the
    release; values are those of all its rows.

    Attributes:
        widen: attack also where a ball is empty, by widening it.
    """

    names: ClassVar[tuple[str, ...]] = (
        "attribute.exceeding",
        "attribute.max_ratio",
        "attribute.widened",
        "attribute.correct",
        "attribute.prior_correct",
    )
    widen: bool = True

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> AttributeJudge:
        """Find the sensitive columns, and what an attacker knows."""
        train = evidence.train
        names = evidence.encoding.schema.with_role(Role.SENSITIVE)
        targets = {
            name: self.target(train, name, "measure.attribute")
            for name in names
            if name in evidence.drawn
        }
        held = stack([evidence.control, evidence.fresh])
        return AttributeJudge(self, evidence, Known.of(train), targets, held)


@dataclass(frozen=True, eq=False)
class AttributeJudge(Judge):
    """What an attacker knows, what is sensitive, and the holdout."""

    settings: Attribute
    evidence: Evidence
    known: Known
    targets: dict[str, Target]
    held: Block
    seen: WeakKeyDictionary[Block, dict[str, Tally]] = field(default_factory=WeakKeyDictionary)

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Five numbers for each sensitive column."""
        why = self._why_not()
        if why:
            return [Estimate.absent(name, why) for name in Attribute.names]
        found: list[Estimate] = []
        for name, target in self.targets.items():
            if target.settled:
                why = "everybody in train has the same value: there is nothing to infer"
                found += [Estimate.absent(one, why, target=name) for one in Attribute.names]
            else:
                found += Column.of(self, name, release, rng, map_).estimates()
        return found

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.evidence.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Curves over δ for each column: the largest ratio (Bale & Quick, Figure 5) and others."""
        if self._why_not():
            return {}
        names = [name for name, target in self.targets.items() if not target.settled]
        return {"attribute": [self._curves(name, rng, map_) for name in names]}

    def radii(self) -> Floats:
        """Radii of the grid."""
        return self.settings.radii(self.known)

    def tally(self, name: str, rows: Block, map_: Map) -> Tally:
        """What the balls around the records hold of the rows; counted once for each table."""
        kept = self.seen.setdefault(rows, {})
        if name not in kept:
            kept[name] = tallies(
                self.known,
                self.targets[name],
                self.evidence.train.take(self.attacked()),
                rows,
                self.radii(),
                every=self.settings.every,
                map_=map_,
            )
        return kept[name]

    def attacked(self) -> Ints:
        """Rows of train under attack: all, or evenly spread ones where pairs are too many."""
        rows = self.evidence.train.rows
        largest = max((block for block in (*self.evidence.release, self.held)), key=_rows)
        most = _LOOKS // max(self.company(np.arange(rows), largest), 1)
        if rows <= max(most, _LEAST):
            return np.arange(rows)
        return np.linspace(0, rows - 1, max(most, _LEAST)).astype(np.int64)

    def company(self, records: Ints, rows: Block) -> int:
        """Mean number of rows in a record's cell."""
        blocks = [self.evidence.train.take(records), rows]
        mine, theirs = row_numbers(blocks, self.known.levels)
        sizes = np.bincount(theirs, minlength=int(mine.max(initial=0)) + 1)
        return int(sizes[mine].mean()) if mine.size else 0

    def _why_not(self) -> str:
        if not self.targets:
            return "no synthesised column has the role sensitive"
        if not self.known.names:
            return "no column that varies has the role quasi or location: nothing to match by"
        return "" if self.held.rows else "there is no holdout to compare with"

    def _curves(self, name: str, rng: np.random.Generator, map_: Map) -> dict[str, Any]:
        target, release = self.targets[name], self.evidence.release
        records = self.evidence.train.take(self.attacked())
        own, guess = target.own(records), target.guess(records)
        size = min(release[0].rows, self.held.rows)
        tables = {
            "synthetic": list(release),
            "pooled": [stack(release)] if len(release) > 1 else [],
            "thinned": [release[0].thin(size, rng)],
            "holdout": [self.held.thin(size, rng)],
        }
        return {
            "column": name,
            "c": self.settings.c,
            "every": self.settings.every,
            "records": records.rows,
            "rows": {kind: [block.rows for block in blocks] for kind, blocks in tables.items()},
            "deltas": self.radii().tolist(),
            "prior_correct": round(float(guess.mean()), 5),
            **{
                kind: [self._curve(self.tally(name, block, map_), own, guess) for block in blocks]
                for kind, blocks in tables.items()
            },
        }

    def _curve(self, found: Tally, own: Floats, guess: Floats) -> dict[str, Any]:
        """By δ: largest ratio, records above c, empty balls, R; and the largest over every δ."""
        ratio = found.share / own[:, None]
        curve = {
            "ratio": _rounded(ratio.max(axis=0, initial=0.0)),
            "exceeding": self.settings.exceeds(ratio).sum(axis=0).tolist(),
            "empty": _rounded((found.rows == 0).mean(axis=0)),
            "correct": _rounded(correct(found, guess).mean(axis=0)),
        }
        if self.settings.every:
            curve["supremum"] = round(float((found.most / own).max(initial=0.0)), 3)
        if self.settings.widen:
            widened = found.widened(self.radii()) / own[:, None]
            curve["widened"] = _rounded(widened.max(axis=0, initial=0.0))
        return curve


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), 4) for value in values]


def _rows(block: Block) -> int:
    return block.rows
