"""What trials of a tuning have in common: an inner split of train, fits kept, numbers made.

Half of train is learnt from; the other half plays the holdout. The holdout that judges the release
is not here and cannot be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Evidence, Map, points
from understudy.kernels.neighbours import Points, nearest
from understudy.plans.plan import Plan
from understudy.plans.tuning import RATIO, Tuning
from understudy.seeds import child, stream
from understudy.study.maker import Maker, protect, protections
from understudy.study.objective import Found, is_share, judge_of, measured, ratios
from understudy.synth.base import Fitted
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.rules import Rule
from understudy.synth.sequence import FittedSequence, Sequential, Visit, fit_visit
from understudy.tables.encode import Block

_QUERIES = 10_000  # synthetic rows that ask which half is nearer
_KEPT = 1_000  # fits that are remembered

Floats = NDArray[np.float64]
Visits = tuple[Visit, ...]


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
class Bench:
    """Where trials are made.

    Attributes:
        plan: the plan.
        tuning: its section.
        inner: rows that trials learn from.
        other: as many others.
        drawn: columns that are compared.
        steps: the plan's protections.
        rules: its rules.
        near: the inner half under the one distance.
        away: the other half.
        seed: seed of fits and draws, the same for all trials.
        known: fits by visit: equal settings are fitted once.
    """

    plan: Plan
    tuning: Tuning
    inner: Block
    other: Block
    drawn: tuple[str, ...]
    rules: tuple[Rule, ...]
    near: Points
    away: Points
    seed: int
    known: dict[Visit, Fitted | PlanError] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, tuning: Tuning, train: Block, *, seed: int) -> Bench:
        """Split train in halves of at most ``tuning.rows`` rows."""
        order = stream(seed, "tune", "split").permutation(train.rows)
        size = min(train.rows // 2, tuning.rows)
        inner = train.take(np.sort(order[:size]))
        other = train.take(np.sort(order[size : 2 * size]))
        drawn = Evidence(inner, other, other, ()).drawn
        if not drawn:
            raise PlanError("tune", "every column kept", "a plan that draws some column")
        metric = plan.distance.metric
        return cls(
            plan,
            tuning,
            inner,
            other,
            drawn,
            parse_rules(plan.rules, train.encoding, train, "rules"),
            points(inner, drawn, metric),
            points(other, drawn, metric),
            child(seed, "tune", "trials"),
        )

    def on(self, seed: int) -> Bench:
        """The same halves with other fits and draws."""
        parts = {name: value for name, value in vars(self).items() if name not in ("seed", "known")}
        return Bench(**parts, seed=seed)

    def outcomes(self, trials: Sequence[Visits], *, map_: Map = map) -> list[Outcome]:
        """Make several trials; the work is shared out by visit and by replicate."""
        self._fit({visit for visits in trials for visit in visits}, map_)
        good = [place for place, visits in enumerate(trials) if self._trouble(visits) is None]
        numbers = range(1, self.tuning.replicates + 1)
        jobs = [(place, number) for place in good for number in numbers]
        blocks = list(map_(partial(self._draw, trials), jobs))
        drawn = {place: [b for (p, _), b in zip(jobs, blocks, strict=True) if p == place]
                 for place in good}  # fmt: skip
        made = self._numbers(drawn, map_)
        return [
            made[place] if place in made else Outcome(why=str(self._trouble(visits)))
            for place, visits in enumerate(trials)
        ]

    def _fit(self, visits: set[Visit], map_: Map) -> None:
        new = [visit for visit in visits if visit not in self.known]
        # Dear ones first, so that two workers end together; a set has no order of its own.
        new.sort(key=lambda visit: (-_cost(visit), repr(visit)))
        if len(self.known) > _KEPT:
            self.known.clear()
            new = sorted(visits, key=lambda visit: (-_cost(visit), repr(visit)))
        fits = map_(partial(_fitted, self.inner, self.seed), new)
        self.known.update(zip(new, fits, strict=True))

    def _trouble(self, visits: Visits) -> PlanError | None:
        found = (self.known[visit] for visit in visits)
        return next((fit for fit in found if isinstance(fit, PlanError)), None)

    def _draw(self, trials: Sequence[Visits], job: tuple[int, int]) -> Block:
        place, number = job
        visits = trials[place]
        fits = tuple(fit for v in visits if isinstance(fit := self.known[v], Fitted))
        fitted = FittedSequence(Sequential(visits, self.rules), fits, self.inner.encoding)
        block = fitted.sample(self.inner.rows, seed=self.seed, replicate=number).block
        steps = protections(self.plan, kept=any(visit.model.fixed for visit in visits))
        seed = child(self.seed, "protect", number)
        return protect(steps, [block], self.inner, Maker(fitted), seed=seed)[0][0]

    def _numbers(self, drawn: Mapping[int, list[Block]], map_: Map) -> dict[int, Outcome]:
        tuning = self.tuning
        if tuning.objective == RATIO:
            real = self.inner if tuning.against == "train" else self.other
            main = ratios(real, self.drawn, tuning, drawn, seed=self.seed, map_=map_)
        else:
            main = self._measured(drawn, "tune", tuning.objective, tuning.target, map_)
        shares = dict(zip(drawn, map_(self._share, drawn.values()), strict=True))
        limits = self._limits(drawn, shares, map_)
        return {
            place: _outcome(values, reference, shares[place], limits.get(place))
            for place, (values, reference) in main.items()
        }

    def _limits(
        self, drawn: Mapping[int, list[Block]], shares: Mapping[int, float], map_: Map
    ) -> dict[int, float]:
        ceiling = self.tuning.ceiling
        if ceiling is None:
            return {}
        if is_share(ceiling):
            return dict(shares)
        name, target = ceiling["measure"], ceiling.get("target")
        found = self._measured(drawn, "tune.ceiling", name, target, map_)
        return {place: _mean(values)[0] for place, (values, _) in found.items()}

    def _measured(
        self, drawn: Mapping[int, list[Block]], where: str, name: str, target: str | None, map_: Map
    ) -> Found:
        judge = judge_of(self.plan, self.evidence, where, name, self.seed, map_)
        return measured(judge, drawn, name, target, seed=self.seed, map_=map_)

    @property
    def evidence(self) -> Evidence:
        """The inner split as measures see it: the other half is the whole holdout."""
        half = self.other.rows // 2
        control, fresh = self.other.take(slice(half)), self.other.take(slice(half, None))
        margins, distance = self.plan.margins, vars(self.plan.distance)
        return Evidence(self.inner, control, fresh, (), margins=margins, **distance)

    def _share(self, blocks: Sequence[Block]) -> float:
        """Share of synthetic rows that are nearer to the half learnt from than to the other."""
        rows = max(_QUERIES // len(blocks), 1)
        nearer = []
        for number, block in enumerate(blocks):
            some = block.thin(rows, stream(self.seed, "share", number))
            ours = points(some, self.drawn, self.plan.distance.metric)
            to, _ = nearest(self.near, ours, 1)
            fro, _ = nearest(self.away, ours, 1)
            nearer.append(np.where(to < fro, 1.0, (to == fro) / 2)[:, 0])
        return float(np.concatenate(nearer).mean()) if nearer else float("nan")


def _outcome(values: Floats, reference: float, share: float, limit: float | None) -> Outcome:
    number, error = _mean(values)
    why = "" if np.isfinite(number) else "the objective is not a finite number"
    if limit is not None and not np.isfinite(limit):
        why = why or "the number under the ceiling is not finite"
    return Outcome(number, error, reference, share, np.nan if limit is None else limit, why)


def _fitted(train: Block, seed: int, visit: Visit) -> Fitted | PlanError:
    try:
        return fit_visit(train, seed, visit)
    except PlanError as error:
        return error


def _cost(visit: Visit) -> float:
    return float(getattr(visit.model, "components", 0)) + len(visit.given) / 1000


def _mean(values: Floats) -> tuple[float, float]:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)
