"""What trials of a tuning have in common: an inner split of train, fits kept, numbers made.

Half of train is learnt from; the other half plays the holdout. The holdout that judges the release
is not here and cannot be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError, ProtectionError
from understudy.evidence import Evidence, Map, points
from understudy.kernels.neighbours import Points, nearest
from understudy.plans.plan import Plan
from understudy.plans.tuning import RATIO, Tuning
from understudy.seeds import child, stream
from understudy.study.maker import Maker, protect, protections
from understudy.study.objective import Drawn, Found, Place, is_share, judge_of, measured, ratios
from understudy.synth.base import Fitted
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.rules import Rule
from understudy.synth.sequence import FittedSequence, Sequential, Visit, fit_visit
from understudy.tables.encode import Block, stack

_QUERIES = 10_000  # synthetic rows that ask which half is nearer
_KEPT = 1_000  # fits that are remembered

Floats = NDArray[np.float64]
Visits = tuple[Visit, ...]
Job = tuple[int, Visit]


@dataclass(frozen=True)
class Outcome:
    """What one set of values gave.

    Attributes:
        number: what is optimised: the mean pMSE ratio for (24), else the measure's mean.
        error: standard error of ``number`` over the replicates.
        reference: where the number should be, if it has such a place.
        share: share of synthetic rows nearer to the half learnt from (ties ½; honest rows: ½).
        limited: the number under a ceiling (NaN without one).
        why: why the trial failed; empty if it did not.
    """

    number: float = np.nan
    error: float = np.nan
    reference: float = np.nan
    share: float = np.nan
    limited: float = np.nan
    why: str = ""

    @property
    def failed(self) -> bool:
        """Nothing can be made of it."""
        return bool(self.why)


@dataclass(frozen=True, eq=False)
class Side:
    """One half of train to learn from, the other as honest rows.

    Attributes:
        inner: rows that trials learn from.
        other: as many others.
        near: the inner rows under the one distance.
        away: the others.
    """

    inner: Block
    other: Block
    near: Points
    away: Points

    @property
    def swapped(self) -> Side:
        """The halves the other way round."""
        return Side(self.other, self.inner, self.away, self.near)


@dataclass(frozen=True, eq=False)
class Bench:
    """Where trials are made.

    Attributes:
        plan: the plan.
        tuning: its section.
        sides: halves of train; replicates take turns.
        drawn: columns that are compared.
        rules: the plan's rules.
        seed: seed of fits and draws, the same for all trials.
        known: fits by side and visit: equal settings are fitted once.
    """

    plan: Plan
    tuning: Tuning
    sides: tuple[Side, ...]
    drawn: tuple[str, ...]
    rules: tuple[Rule, ...]
    seed: int
    known: dict[Job, Fitted | PlanError] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, tuning: Tuning, train: Block, *, seed: int) -> Bench:
        """Split train in halves of at most ``tuning.rows`` rows."""
        order = stream(seed, "tune", "split").permutation(train.rows)
        size = min(train.rows // 2, tuning.rows)
        inner = train.take(np.sort(order[:size]))
        other = train.take(np.sort(order[size : 2 * size]))
        drawn = Evidence(inner, other, other, ()).drawn
        for place, entry in enumerate(plan.protections):
            if entry.get("share") == "auto":
                where = f"protections[{place}].share"
                raise PlanError(where, "auto", "a number, where a plan is tuned")
        if not drawn:
            raise PlanError("tune", "every column kept", "a plan that draws some column")
        metric = plan.distance.metric
        side = Side(inner, other, points(inner, drawn, metric), points(other, drawn, metric))
        sides = (side, side.swapped) if tuning.swap else (side,)
        rules = parse_rules(plan.rules, train.encoding, train, "rules")
        return cls(plan, tuning, sides, drawn, rules, child(seed, "tune", "trials"))

    @property
    def inner(self) -> Block:
        """The rows that are learnt from first."""
        return self.sides[0].inner

    def on(self, seed: int) -> Bench:
        """The same halves with other fits and draws."""
        return replace(self, seed=seed, known={})

    def outcomes(self, trials: Sequence[Visits], *, map_: Map = map) -> list[Outcome]:
        """Make several trials; the work is shared out by visit and by replicate."""
        wanted = {visit for visits in trials for visit in visits}
        self._fit([(side, visit) for visit in wanted for side in range(len(self.sides))], map_)
        good = [place for place, visits in enumerate(trials) if self._trouble(visits) is None]
        jobs = [(p, number) for p in good for number in range(self.tuning.replicates)]
        blocks = list(map_(partial(self._drawn, trials), jobs))
        made, drawn = self._sorted(jobs, blocks)
        if drawn:
            made |= self._numbers(drawn, map_)
        return [
            made[place] if place in made else Outcome(why=str(self._trouble(visits)))
            for place, visits in enumerate(trials)
        ]

    def _sorted(
        self, jobs: Sequence[tuple[int, int]], blocks: Sequence[Block | ProtectionError]
    ) -> tuple[dict[int, Outcome], dict[Place, list[Block]]]:
        """Trials that some protection refused, and the tables of the others, by half."""
        failed: dict[int, Outcome] = {}
        drawn: dict[Place, list[Block]] = {}
        for (place, _), block in zip(jobs, blocks, strict=True):
            if isinstance(block, ProtectionError):
                failed.setdefault(place, Outcome(why=str(block)))
        for (place, number), block in zip(jobs, blocks, strict=True):
            if place not in failed and isinstance(block, Block):
                drawn.setdefault((place, number % len(self.sides)), []).append(block)
        return failed, drawn

    def _drawn(self, trials: Sequence[Visits], job: tuple[int, int]) -> Block | ProtectionError:
        """A replicate, or why a protection refuses it: then the trial failed, not the tuning."""
        try:
            return self._draw(trials, job)
        except ProtectionError as error:
            return error

    def _fit(self, jobs: Sequence[Job], map_: Map) -> None:
        if len(self.known) > _KEPT:
            self.known.clear()
        # Dear ones first, so that two workers end together; a set has no order of its own.
        new = sorted(
            (job for job in jobs if job not in self.known),
            key=lambda job: (-_cost(job[1]), repr(job)),
        )
        self.known.update(zip(new, map_(self._fitted, new), strict=True))

    def _fitted(self, job: Job) -> Fitted | PlanError:
        side, visit = job
        try:
            return fit_visit(self.sides[side].inner, self.seed, visit)
        except PlanError as error:
            return error

    def _trouble(self, visits: Visits) -> PlanError | None:
        sides = range(len(self.sides))
        found = (self.known[side, visit] for visit in visits for side in sides)
        return next((fit for fit in found if isinstance(fit, PlanError)), None)

    def _draw(self, trials: Sequence[Visits], job: tuple[int, int]) -> Block:
        place, number = job
        visits, which = trials[place], number % len(self.sides)
        side = self.sides[which]
        fits = tuple(f for v in visits if isinstance(f := self.known[which, v], Fitted))
        fitted = FittedSequence(Sequential(visits, self.rules), fits, side.inner.encoding)
        block = fitted.sample(side.inner.rows, seed=self.seed, replicate=number + 1).block
        steps = protections(self.plan, kept=any(visit.model.fixed for visit in visits))
        seed = child(self.seed, "protect", number)
        return protect(steps, [block], side.inner, Maker(fitted), seed=seed)[0][0]

    def _numbers(self, drawn: Drawn, map_: Map) -> dict[int, Outcome]:
        tuning = self.tuning
        if tuning.objective == RATIO:
            main = self._ratios(drawn, map_)
        else:
            main = self._measured(drawn, "tune", tuning.objective, tuning.target, map_)
        near = dict(zip(drawn, map_(self.share, drawn.items()), strict=True))
        shares = {place: float(np.mean([near[key] for key in drawn if key[0] == place]))
                  for place, _ in drawn}  # fmt: skip
        limits = self._limits(drawn, shares, map_)
        return {
            place: _outcome(*_joined(main, place), shares[place], limits.get(place))
            for place in shares
        }

    def _ratios(self, drawn: Drawn, map_: Map) -> Found:
        train = self.tuning.against == "train"
        real = [side.inner if train else side.other for side in self.sides]
        return ratios(real, self.drawn, self.tuning, drawn, seed=self.seed, map_=map_)

    def _limits(self, drawn: Drawn, shares: Mapping[int, float], map_: Map) -> dict[int, float]:
        ceiling = self.tuning.ceiling
        if ceiling is None:
            return {}
        if is_share(ceiling):
            return dict(shares)
        name, target = ceiling["measure"], ceiling.get("target")
        found = self._measured(drawn, "tune.ceiling", name, target, map_)
        return {place: _mean(_joined(found, place)[0])[0] for place in shares}

    def _measured(
        self, drawn: Drawn, where: str, name: str, target: str | None, map_: Map
    ) -> Found:
        judges = [
            judge_of(self.plan, self.evidence(side), where, name, self.seed, map_)
            for side in self.sides
        ]
        return measured(judges, drawn, name, target, seed=self.seed, map_=map_)

    def evidence(self, side: Side) -> Evidence:
        """A side as measures see it: the other half is the whole holdout."""
        half = side.other.rows // 2
        control, fresh = side.other.take(slice(half)), side.other.take(slice(half, None))
        margins, distance = self.plan.margins, vars(self.plan.distance)
        return Evidence(side.inner, control, fresh, (), margins=margins, **distance)

    def share(self, item: tuple[Place, list[Block]]) -> float:
        """Share of synthetic rows that are nearer to the half learnt from than to the other."""
        (_, which), blocks = item
        side, rows = self.sides[which], max(_QUERIES // self.tuning.replicates, 1)
        # Asked together: a search over few rows costs mostly its preparation.
        some = [b.thin(rows, stream(self.seed, "share", i)) for i, b in enumerate(blocks)]
        ours = points(stack(some), self.drawn, self.plan.distance.metric)
        (to, _), (fro, _) = nearest(side.near, ours, 1), nearest(side.away, ours, 1)
        return float(np.where(to < fro, 1.0, (to == fro) / 2).mean())


def _joined(found: Found, place: int) -> tuple[Floats, float]:
    """A trial's values of both sides, and their mean reference."""
    mine = [value for key, value in found.items() if key[0] == place]
    return np.concatenate([v for v, _ in mine]), float(np.mean([r for _, r in mine]))


def _outcome(values: Floats, reference: float, share: float, limit: float | None) -> Outcome:
    number, error = _mean(values)
    why = "" if np.isfinite(number) else "the objective is not a finite number"
    if limit is not None and not np.isfinite(limit):
        why = why or "the number under the ceiling is not finite"
    return Outcome(number, error, reference, share, np.nan if limit is None else limit, why)


def _cost(visit: Visit) -> float:
    return float(getattr(visit.model, "components", 0)) + len(visit.given) / 1000


def _mean(values: Floats) -> tuple[float, float]:
    """Mean and its standard error: NaN where a value is not finite."""
    if not np.isfinite(values).all():
        return float("nan"), float("nan")
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)
