"""Add rows near people whose sensitive value the release would give away (Bale & Quick §5.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.attack import Attacker, Known, Target, tallies
from understudy.errors import PlanError, ProtectionError
from understudy.evidence import Source, features, widths
from understudy.kernels import propensity
from understudy.protect.base import Protection, Receipt
from understudy.protect.relief import Relief
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Role

Floats = NDArray[np.float64]
_COMPARED = 5000  # rows of each table that the pMSE of a receipt looks at
_PERMUTATIONS = 4


@dataclass(frozen=True, eq=False)
class Relieved:
    """A table after prevention.

    Attributes:
        rows: all of its rows.
        before: the largest ratio of each column before.
        after: and after.
        rounds: how often people had to be looked at again.
    """

    rows: Block
    before: Mapping[str, float]
    after: Mapping[str, float]
    rounds: int


@dataclass(frozen=True)
class InferencePrevention(Attacker, Protection):
    """Bound how much surer of anybody's sensitive value the release makes an attacker.

    Algorithm 1 for any number of levels: a person of train whose ratio exceeds c gets new rows
    nearby, with the other levels in proportion to their priors, until the ratio of every person
    is at most c at every δ that is declared. New rows have the person's own quasi-identifiers where
    those are levels; their numbers are draws of the synthesizer near the person, and what is left
    is drawn given these. What the entry does not say is taken from ``[measure.attribute]``.

    Attributes:
        rounds: how often all people are looked at before it gives up.
        most: rows that may be added, as a share of the rows of the table.
        candidates: draws from which the nearest are taken, for each row that is needed.
        sweep: other values of c that are tried on the first table, to show what each would cost.
    """

    name: ClassVar[str] = "inference-prevention"
    redraws: ClassVar[bool] = True
    beside: ClassVar[str] = "attribute"
    rounds: int = 50
    most: float = 1.0
    candidates: int = 200
    sweep: tuple[float, ...] = ()

    def check(self, where: str) -> None:
        """Check ranges."""
        super().check(where)
        for name in ("rounds", "candidates"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise PlanError(f"{where}.{name}", value, "a whole number, at least 1")
        if not _is_number(self.most) or not 0 < self.most < math.inf:
            raise PlanError(f"{where}.most", self.most, "a share above 0")
        if not isinstance(self.sweep, tuple) or not all(
            _is_number(c) and 1 <= c < math.inf for c in self.sweep
        ):
            raise PlanError(f"{where}.sweep", self.sweep, "a list of numbers, each at least 1")

    def targets(self, train: Block) -> dict[str, Target]:
        """The sensitive columns that there is something to infer of."""
        names = train.encoding.schema.with_role(Role.SENSITIVE)
        found = {name: self.target(train, name, "protections") for name in names}
        return {name: target for name, target in found.items() if not target.settled}

    def able(self, train: Block) -> bool:
        """Whether there is anything to infer, and anything to infer it from."""
        return bool(self.targets(train)) and bool(Known.of(train).names)

    def apply(
        self, replicate: Block, train: Block, source: Source, *, rng: np.random.Generator
    ) -> tuple[Block, Receipt]:
        """Add rows until no ratio exceeds c; `ProtectionError` where that cannot be reached."""
        known, targets = Known.of(train), self.targets(train)
        why = _nothing_to_do(known, targets, replicate)
        if why:
            return replicate, Receipt(self.name, note=why)
        done = self.relieve(replicate, train, source, rng=rng)
        numbers = {f"largest ratio of {name} before": r for name, r in done.before.items()}
        numbers |= {f"largest ratio of {name} after": r for name, r in done.after.items()}
        added = done.rows.rows - replicate.rows
        if added:
            seed = int(rng.integers(2**63))
            for when, block in (("before", replicate), ("after", done.rows)):
                numbers[f"pMSE ratio (tree) {when}"] = likeness(train, block, seed)
        note = self._note(known)
        receipt = Receipt(self.name, rounds=done.rounds, note=note, added=added, numbers=numbers)
        return done.rows, receipt

    def relieve(
        self, replicate: Block, train: Block, source: Source, *, rng: np.random.Generator
    ) -> Relieved:
        """Add rows, without a receipt."""
        known, targets = Known.of(train), self.targets(train)
        before = ratios = self.ratios(known, targets, train, replicate)
        rows, rounds = replicate, 0
        relief = Relief(self, known, train, source, rng, self.candidates)
        while self._over(ratios):
            if rounds == self.rounds:
                raise self._refusal(ratios, rows.rows - replicate.rows, f"{rounds} rounds")
            rounds, size = rounds + 1, rows.rows
            for target in targets.values():
                rows = stack([rows, relief.rows_for(target, rows)])
            if rows.rows == size:
                raise self._refusal(ratios, size - replicate.rows, relief.why)
            ratios = self.ratios(known, targets, train, rows)
            added = rows.rows - replicate.rows
            if added > self.most * replicate.rows and self._over(ratios):
                raise self._refusal(ratios, added, f"most = {self.most:g} times the table's rows")
        if rounds:
            # The place of a row in the table must not tell that it was added.
            rows = rows.take(rng.permutation(rows.rows))
        return Relieved(rows, _largest(before), _largest(ratios), rounds)

    def ratios(
        self, known: Known, targets: Mapping[str, Target], train: Block, rows: Block
    ) -> dict[str, Floats]:
        """Largest ratio of every record of train over the radii that count, by column."""
        radii = self.radii(known)
        return {
            name: self.worst(tallies(known, target, train, rows, radii, every=self.every))
            / target.own(train)
            for name, target in targets.items()
        }

    def _over(self, ratios: Mapping[str, Floats]) -> int:
        return sum(int(self.exceeds(ratio).sum()) for ratio in ratios.values())

    def _refusal(self, ratios: Mapping[str, Floats], added: int, limit: str) -> ProtectionError:
        left = "; ".join(
            f"{int(self.exceeds(ratio).sum())} records of {name} (largest ratio {ratio.max():.3g})"
            for name, ratio in ratios.items()
            if self.exceeds(ratio).any()
        )
        return ProtectionError(
            f"inference-prevention cannot keep every ratio at c = {self.c:g}: with {added} rows "
            f"added it stopped at {limit}, and these still exceed it: {left}. Nothing is released. "
            'Raise c, take larger radii (deltas; delta = "all" is the hardest), coarsen the '
            "quasi-identifiers (prepare), or merge rare values of the sensitive column"
        )

    def _note(self, known: Known) -> str:
        radii = ", ".join(f"{delta:g}" for delta in self.radii(known))
        return f"c = {self.c:g} at " + ("every δ" if self.every else f"δ of {radii}")


def likeness(train: Block, rows: Block, seed: int) -> float:
    """The tree's pMSE ratio against train, on at most 5,000 rows of each table."""
    rng = np.random.default_rng(seed)
    columns = train.names
    one, other = train.thin(_COMPARED, rng), rows.thin(_COMPARED, rng)
    tables = (*features(one, columns), *features(other, columns))
    levels = widths(train.encoding, columns)
    found = propensity.cart(*tables, levels, permutations=_PERMUTATIONS, rng=rng)
    return round(found.ratio, 3) if math.isfinite(found.ratio) else 0.0


def _nothing_to_do(known: Known, targets: Mapping[str, Target], replicate: Block) -> str:
    if not targets:
        return "no column of role sensitive has anything to infer"
    if not known.names:
        return "no column that varies has the role quasi or location: nothing to match by"
    return "" if replicate.rows else "the table has no rows"


def _largest(ratios: Mapping[str, Floats]) -> dict[str, float]:
    return {name: round(float(ratio.max(initial=0.0)), 3) for name, ratio in ratios.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
