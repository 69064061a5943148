"""One sensitive column under attack: five numbers, each with an interval and the holdout's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.attack import Target
from understudy.evidence import Better, Estimate, Map, several
from understudy.kernels.ball_counts import Tally
from understudy.kernels.resample import interval, z_of
from understudy.risk.attribute_draws import largest_draws, mode_spread, shares
from understudy.tables.encode import Block

if TYPE_CHECKING:
    from understudy.risk.attribute import Attribute, AttributeJudge

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_PAIRS = (
    2_000_000  # pairs that intervals look at, 200 times each; where there are more, fewer records
)
_MODES = 400_000  # and, with levels, for the interval of the share guessed correctly
_LEAST, _MOST = 20, 1000  # records that intervals come from


@dataclass(frozen=True, eq=False)
class Column:
    """One sensitive column under attack by one release, and by the holdout.

    Attributes:
        ours: as many rows of the release as the holdout has.
        theirs: the holdout, at most as many rows as the release has.
        sample: the records that intervals come from, among those attacked.
        risky: those of the records attacked whose ratio could exceed c.
    """

    judge: AttributeJudge
    name: str
    release: Block
    ours: Block
    theirs: Block
    records: Block
    sample: Ints
    risky: Ints
    rng: np.random.Generator
    map_: Map

    @classmethod
    def of(
        cls, judge: AttributeJudge, name: str, release: Block, rng: np.random.Generator, map_: Map
    ) -> Column:
        """Thin the tables to equal sizes and choose the records for intervals."""
        size = min(release.rows, judge.held.rows)
        attacked = judge.attacked()
        records = judge.evidence.train.take(attacked)
        own = judge.targets[name].own(records)
        risky = np.flatnonzero(own < 1 / judge.settings.c)
        sample = risky if risky.size else np.arange(records.rows)
        most = _PAIRS // max(judge.company(attacked[sample], release), 1)
        most = min(_MOST, max(most, _LEAST))
        if len(sample) > most:
            sample = np.sort(rng.choice(sample, most, replace=False))
        ours = release.thin(size, rng)
        theirs = judge.held.thin(size, rng)
        return cls(judge, name, release, ours, theirs, records, sample, risky, rng, map_)

    @property
    def target(self) -> Target:
        """The column's groups and prior."""
        return self.judge.targets[self.name]

    @property
    def settings(self) -> Attribute:
        """The measure's settings."""
        return self.judge.settings

    @property
    def level(self) -> float:
        """Confidence of an interval, so that those of all columns hold together."""
        return 1 - (1 - self.judge.evidence.level) / len(self.judge.targets)

    def estimates(self) -> list[Estimate]:
        """All numbers of the column."""
        whole, theirs = self._tally(self.release), self._tally(self.theirs)
        own = self.target.own(self.records)
        plain, widened = zip(*(self._draws(block) for block in self._tables), strict=True)
        ratios = [self.settings.worst(found) / own for found in (whole, theirs)]
        found = [self._exceeding(ratios[0], plain), self._largest(ratios, plain)]
        if not self.settings.widen:
            why = "the plan says widen = false"
            found.append(Estimate.absent("attribute.widened", why, target=self.name))
        else:
            radii = self.judge.radii()
            wide = [np.maximum(ratio, table.widened(radii).max(axis=1) / own)
                    for ratio, table in zip(ratios, (whole, theirs), strict=True)]  # fmt: skip
            far = int((whole.near > radii[-1]).sum()), int(np.isinf(whole.near).sum())
            found.append(self._largest(wide, widened, "attribute.widened", far))
        return [*found, *self._guessing(whole, theirs)]

    @property
    def _tables(self) -> tuple[Block, Block, Block]:
        return self.release, self.ours, self.theirs

    def _tally(self, rows: Block) -> Tally:
        return self.judge.tally(self.name, rows, self.map_)

    def _draws(self, rows: Block) -> tuple[Floats, Floats]:
        """Ratios of the sampled records: first by all rows, then by each draw of the bootstrap."""
        records = self.records.take(self.sample)
        deltas = None if self.settings.every else self.judge.radii()
        around = self.judge.known.around(records, rows)
        groups = self.target.groups
        levels = groups.of(records), groups.of(rows)
        own = self.target.own(records)[:, None]
        plain, widened = largest_draws(around, *levels, deltas, self.rng, rows.person)
        return plain / own, widened / own

    def _exceeding(self, ratio: Floats, draws: Sequence[Floats]) -> Estimate:
        name, c = "attribute.exceeding", self.settings.c
        if not self.risky.size:
            why = f"no value is rarer than 1 in {c:g}: no probability can grow by more than {c:g}"
            return Estimate.absent(name, why, target=self.name)
        value = float(self.settings.exceeds(ratio[self.risky]).mean())
        whole, ours, theirs = (shares(self.settings.exceeds(one), self.rng) for one in draws)
        who = self._note(self.risky.size, f"with a value rarer than 1 in {c:g}")
        note = f"ratios above c = {c:g}; {who}"
        margin = self.judge.evidence.margin(name, 0.01)
        found = self._estimate(name, value, float(theirs[0]), whole, ours - theirs, margin, note)
        if value > 0:
            return found
        # Nobody exceeds c in the very rows that an attacker would have: nothing is left to exceed.
        low, _ = found.gap()
        note = f"{note}; no record exceeds c in all rows of this release"
        return replace(found, gap_low=min(low, 0.0), gap_high=0.0, note=note)

    def _largest(
        self,
        ratios: list[Floats],
        draws: Sequence[Floats],
        name: str = "attribute.max_ratio",
        far: tuple[int, int] | None = None,
    ) -> Estimate:
        value, reference = (float(ratio.max(initial=0.0)) for ratio in ratios)
        whole, ours, theirs = (one.max(axis=0, initial=0.0) for one in draws)
        share = self.judge.evidence.margin(name, 0.05)
        note = self._note(self.records.rows)
        if far is not None:
            note += f"; {far[0]} of them had no row within the largest δ, {far[1]} none in all"
        margin = max(share * reference, 0.01)
        return self._estimate(name, value, reference, whole, ours - theirs, margin, note)

    def _guessing(self, whole: Tally, theirs: Tally) -> list[Estimate]:
        name, evidence = "attribute.correct", self.judge.evidence
        guess = self.target.guess(self.records)
        base = float(guess.mean())
        tables = (whole, self._tally(self.ours), theirs)
        by_delta = [correct(found, guess).mean(axis=0) for found in tables]
        value, ours, reference = (float(right.max()) for right in by_delta)
        best = [float(self.judge.radii()[right.argmax()]) for right in by_delta]
        spread = [self._spread(rows, at) for rows, at in zip(self._tables, best, strict=True)]
        z, apart = z_of(self.level), float(np.hypot(spread[1], spread[2]))
        note = (
            f"the prior alone guesses {base:.4g} correctly; an empty ball leaves that guess; "
            f"at the best δ of {self._radii()}; {self._note(self.records.rows)}"
        )
        found = Estimate(
            name,
            value,
            max(value - z * spread[0], 0.0),
            min(value + z * spread[0], 1.0),
            reference,
            Better.LOWER,
            evidence.margin(name, 0.01),
            ours - reference - z * apart,
            ours - reference + z * apart,
            target=self.name,
            note=note,
        )
        why = "the base rate of attribute.correct: no release can change it"
        absent = Estimate.absent("attribute.prior_correct", why, target=self.name)
        return [found, replace(absent, value=base, low=base, high=base, reference=base)]

    def _spread(self, rows: Block, delta: float) -> float:
        """Standard deviation of the share guessed correctly, as rows are drawn anew."""
        cost = self.judge.company(self.judge.attacked(), rows) + self.target.groups.count
        records = self.records.thin(min(_MOST, max(_MODES // cost, _LEAST)), self.rng)
        around = self.judge.known.around(records, rows)
        mine, theirs = (self.target.groups.of(block) for block in (records, rows))
        guess = self.target.guess(records)
        return mode_spread(around, mine, theirs, delta, guess, self.rng, rows.person)

    def _estimate(
        self,
        name: str,
        value: float,
        reference: float,
        whole: Floats,
        gap: Floats,
        margin: float,
        note: str,
    ) -> Estimate:
        """Value by all rows of the release; the gap by as many rows of it as the holdout has."""
        low, high = interval(whole[1:], self.level)
        ends = interval(gap[1:], self.level)
        # Where intervals come from some of the records, the largest of all may lie outside.
        low, high = min(low, value), max(high, value)
        return Estimate(
            name, value, low, high, reference, Better.LOWER, margin, *ends, self.name, note=note
        )

    def _note(self, attacked: int, who: str = "") -> str:
        total = self.judge.evidence.train.rows
        some = self.records.rows < total
        parts = [f"{attacked} records {who}".strip()]
        if some:
            parts[0] += f" (of {self.records.rows} evenly spread over {total}: a sample)"
        keys = ", ".join(self.judge.known.names)
        parts[0] += f" attacked by {keys} with {self.release.rows} rows"
        radii = "every δ" if self.settings.every else f"δ of {self._radii()} standard deviations"
        parts.append(radii)
        if len(self.sample) < attacked:
            parts.append(f"interval from {len(self.sample)} records at random")
        parts.append(f"the verdict compares {self.ours.rows} rows with {self.theirs.rows}")
        if self.name in self.settings.priors:
            parts.append("prior from the plan")
        return "; ".join(parts) + several(self.release)

    def _radii(self) -> str:
        return ", ".join(f"{delta:g}" for delta in self.judge.radii())


def correct(found: Tally, guess: Floats) -> Floats:
    """Chance of guessing each record's value at each δ; an empty ball leaves the prior's guess."""
    return np.where(found.rows > 0, found.guess, guess[:, None])
