"""Tuning: the walk repeated with one number to optimise (Bale & Quick §5.4).

Several independent searches, each by expected improvement on a Gaussian process. What a search
proposes depends on its own trials alone, and a batch has the plan's size whatever the number of
workers: parallel equals serial, and a search that was interrupted goes on as if nothing had been.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Map
from understudy.kernels.acquisition import propose
from understudy.plans.plan import Plan
from understudy.plans.tuning import Tuning
from understudy.seeds import child, stream
from understudy.study.free import (
    Parameter,
    changed,
    open_leaves,
    parameters,
    starting,
    written,
)
from understudy.study.judge import Progress, silent
from understudy.study.leaf import choose_leaf
from understudy.study.objective import Aim, aim_of
from understudy.study.trial import Bench, Outcome
from understudy.synth.sequence import Visit
from understudy.tables.encode import Block

_TOGETHER = 8  # trials whose replicates are in memory at once
_PLAIN_LEAF = 20  # where a search starts if the plan leaves the leaf to the data

Floats = NDArray[np.float64]
Log = Callable[[Sequence[Parameter], Sequence["Trial"]], None]


@dataclass(frozen=True)
class Trial:
    """One set of values, and what it gave.

    Attributes:
        search: which search, from 1.
        number: which trial of it, from 1.
        values: a value for every free parameter.
        outcome: what it gave.
    """

    search: int
    number: int
    values: tuple[float, ...]
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class Tuned:
    """A plan with its strengths found, and how.

    Attributes:
        plan: the plan with every column in a visit of its own, at the chosen values.
        aim: what was optimised.
        free: the free parameters.
        trials: every trial, search by search.
        chosen: the best one.
        again: the chosen one measured on fresh seeds.
        rows: rows that trials learnt from.
        of: rows of train.
        exact: the search can be repeated: it was not ended by a clock.
    """

    plan: Plan
    aim: Aim
    free: tuple[Parameter, ...]
    trials: tuple[Trial, ...]
    chosen: Trial
    again: tuple[Outcome, ...]
    rows: int
    of: int
    exact: bool

    def loss(self, trial: Trial) -> float:
        """The objective of a trial: NaN where it failed."""
        return _loss(self.aim, trial)

    def summary(self) -> dict[str, Any]:
        """All that a report draws, as JSON: numbers of trials, never rows."""
        return {
            "objective": self.aim.name,
            "goal": self.aim.goal,
            "rows": self.rows,
            "of": self.of,
            "exact": self.exact,
            "kept": _keeps(self.plan.tune or Tuning(), self.chosen.outcome),
            "free": [{"path": p.path, "low": p.low, "high": p.high} for p in self.free],
            "ceiling": None if self.plan.tune is None else self.plan.tune.ceiling,
            "trials": [self._told(trial) for trial in self.trials],
            "running": self._running(),
            "chosen": self._told(self.chosen),
            "again": [_plain(vars(outcome)) for outcome in self.again],
        }

    def _running(self) -> list[dict[str, Any]]:
        """The smallest loss so far of each search: Figure 3 of Bale & Quick."""
        tuning, best, found = self.plan.tune or Tuning(), dict[int, float](), []
        kept = _keeps(tuning, self.chosen.outcome)  # else none does, and all are shown
        for trial in self.trials:
            loss = self.loss(trial)
            counts = _keeps(tuning, trial.outcome) or not kept
            if counts and loss < best.get(trial.search, np.inf):
                best[trial.search] = loss
            if trial.search in best:
                place = {"search": trial.search, "trial": trial.number}
                found.append({**place, "best": best[trial.search]})
        return found

    def _told(self, trial: Trial) -> dict[str, Any]:
        values = {p.path: v for p, v in zip(self.free, trial.values, strict=True)}
        place = {"search": trial.search, "trial": trial.number, "values": values}
        return {**place, **_plain(vars(trial.outcome)), "loss": _finite(self.loss(trial))}


def _plain(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _finite(value) for name, value in numbers.items()}


def _finite(value: Any) -> Any:
    """JSON has no NaN: a number that is none is absent."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def tune(
    plan: Plan,
    train: Block,
    *,
    seed: int,
    map_: Map = map,
    progress: Progress = silent,
    log: Log = lambda free, trials: None,
    known: Iterable[Trial] = (),
) -> Tuned:
    """Find the free parameters of a plan on an inner split of train.

    Args:
        plan: the plan; without a section ``tune`` the defaults hold.
        train: the rows of train; the holdout is no part of this.
        seed: seed of everything.
        map_: a map over workers; results do not depend on it.
        progress: told how far it is.
        log: given trials as they finish.
        known: trials that an earlier run, with the same arguments, has finished.
    """
    tuning = plan.tune or Tuning()
    bench = Bench.of(plan, tuning, train, seed=seed)
    visits, free = _opened(plan, tuning, bench, seed, map_, progress)
    aim = aim_of(plan, tuning, bench.evidence(bench.sides[0]), seed=seed, map_=map_)
    done = {(trial.search, trial.number): trial for trial in known}
    hunt = _Hunt(tuning, aim, bench, visits, free, seed, map_, progress, log, done)
    exact = hunt.run()
    trials = tuple(trial for search in hunt.searches for trial in search)
    chosen = choose(aim, tuning, trials)
    progress("tune: measure the chosen one again")
    best = changed(visits, free, chosen.values)
    again = tuple(
        bench.on(child(seed, "tune", "fresh", number)).outcomes([best], map_=map_)[0]
        for number in range(tuning.fresh)
    )
    found = replace(written(plan, train, free, chosen.values), tune=tuning)
    rows = bench.inner.rows
    return Tuned(found, aim, free, trials, chosen, again, rows, train.rows, exact)


def choose(aim: Aim, tuning: Tuning, trials: Sequence[Trial]) -> Trial:
    """The trial with the smallest loss among those that keep the ceiling; the first of equals.

    Where none keeps it, the one that comes nearest to it: the gates decide what becomes of it.
    """
    good = [trial for trial in trials if not trial.outcome.failed]
    if not good:
        why = trials[0].outcome.why if trials else "there was no time for one"
        raise PlanError("tune", f"{len(trials)} trials, all failed", f"one that works ({why})")
    kept = [trial for trial in good if _keeps(tuning, trial.outcome)]
    if not kept:
        return min(good, key=lambda trial: trial.outcome.limited)
    return min(kept, key=lambda trial: _loss(aim, trial))


def _keeps(tuning: Tuning, outcome: Outcome) -> bool:
    return tuning.ceiling is None or outcome.limited <= tuning.ceiling["most"]


def _loss(aim: Aim, trial: Trial) -> float:
    if trial.outcome.failed:
        return float("nan")
    return aim.loss(trial.outcome.number, trial.outcome.reference)


def _opened(
    plan: Plan, tuning: Tuning, bench: Bench, seed: int, map_: Map, progress: Progress
) -> tuple[tuple[Visit, ...], tuple[Parameter, ...]]:
    """The visits and what is free in them; leaves that stay automatic are chosen once."""
    encoding = bench.inner.encoding
    visits = plan.visits_for(encoding, leaf=_PLAIN_LEAF)
    free = parameters(tuning, visits, bench.inner)
    if open_leaves(plan, encoding, free):
        leaf, _ = choose_leaf(
            plan, bench.inner, bench.drawn, seed=seed, map_=map_, progress=progress
        )
        visits = plan.visits_for(encoding, leaf=leaf)
    return visits, free


@dataclass(eq=False)
class _Hunt:
    """All searches of one tuning."""

    tuning: Tuning
    aim: Aim
    bench: Bench
    visits: tuple[Visit, ...]
    free: tuple[Parameter, ...]
    seed: int
    map_: Map
    progress: Progress
    log: Log
    known: Mapping[tuple[int, int], Trial]

    def __post_init__(self) -> None:
        self.searches: list[list[Trial]] = [[] for _ in range(self.tuning.seeds)]

    def run(self) -> bool:
        """Search until the budget is spent; whether it was not the clock that ended it."""
        begin = time.monotonic()
        while any(self._going(search) for search in self.searches):
            minutes = (time.monotonic() - begin) / 60
            # Random trials are always made: without any there is nothing to choose from.
            if any(self.searches) and minutes >= (self.tuning.minutes or np.inf):
                return False
            wanted = [
                (number, place, values)
                for number, search in enumerate(self.searches, 1)
                if self._going(search)
                for place, values in enumerate(self._next(number, search), len(search) + 1)
            ]
            for start in range(0, len(wanted), _TOGETHER):
                self._make(wanted[start : start + _TOGETHER])
        return True

    def _going(self, search: Sequence[Trial]) -> bool:
        left = self.tuning.trials - len(search)
        return left > 0 and not self._stuck(search)

    def _stuck(self, search: Sequence[Trial]) -> bool:
        """No improvement in the last ``patience`` batches."""
        late = self.tuning.patience * self.tuning.batch
        early = len(search) - late
        if not late or early < self.tuning.first:
            return False
        return not self._best(search) < self._best(search[:early])

    def _best(self, search: Sequence[Trial]) -> tuple[float, float]:
        """How far above the ceiling the best trial is, then its loss: less is better."""
        good = [trial for trial in search if not trial.outcome.failed]
        return min((self._rank(trial) for trial in good), default=(np.inf, np.inf))

    def _rank(self, trial: Trial) -> tuple[float, float]:
        kept = _keeps(self.tuning, trial.outcome)
        return (-np.inf, _loss(self.aim, trial)) if kept else (trial.outcome.limited, 0.0)

    def _next(self, number: int, search: Sequence[Trial]) -> list[tuple[float, ...]]:
        """Values of a search's next trials: random ones first, then by expected improvement."""
        tuning, size = self.tuning, len(self.free)
        count = tuning.batch if search else tuning.first
        count = min(count, tuning.trials - len(search))
        there = [self.known.get((number, len(search) + step + 1)) for step in range(count)]
        if all(trial is not None for trial in there):
            return [trial.values for trial in there if trial is not None]
        rng = stream(self.seed, "tune", "search", number, len(search))
        if not search:
            places = rng.random((count, size))
            first = [self._values(place) for place in places]
            # One search begins at the plan as it stands.
            return [starting(self.visits, self.free), *first[1:]] if number == 1 else first
        if all(trial.outcome.failed for trial in search):
            return [self._values(place) for place in rng.random((count, size))]
        return [self._values(place) for place in self._proposed(search, count, rng)]

    def _proposed(self, search: Sequence[Trial], count: int, rng: np.random.Generator) -> Floats:
        places = [
            [p.place(v) for p, v in zip(self.free, trial.values, strict=True)] for trial in search
        ]
        made = [trial.outcome for trial in search]
        good = [self.aim.modelled(o.number, o.reference) for o in made if not o.failed]
        # What failed counts as the worst that was seen, so that it is not proposed for ever.
        bad = self.aim.worst(np.array(good))
        numbers = [bad if o.failed else self.aim.modelled(o.number, o.reference) for o in made]
        limited, most = None, np.inf
        if self.tuning.ceiling is not None:
            worst = max(o.limited for o in made if not o.failed)
            limited = np.array([worst if o.failed else o.limited for o in made])
            most = float(self.tuning.ceiling["most"])
        return propose(
            np.array(places),
            np.array(numbers),
            count,
            goal=self.aim.search,
            limited=limited,
            most=most,
            rng=rng,
        )

    def _values(self, places: Floats) -> tuple[float, ...]:
        return tuple(p.value(float(x)) for p, x in zip(self.free, places, strict=True))

    def _make(self, wanted: Sequence[tuple[int, int, tuple[float, ...]]]) -> None:
        """Make some trials, but those that are known already, and log them."""
        new = [item for item in wanted if item[:2] not in self.known]
        outcomes = self._outcomes([values for _, _, values in new])
        made = [Trial(*item, outcome) for item, outcome in zip(new, outcomes, strict=True)]
        self.log(self.free, made)
        found = {(trial.search, trial.number): trial for trial in made}
        for search, number, _ in wanted:
            place = (search, number)
            self.searches[search - 1].append(found.get(place) or self.known[place])
        done = sum(map(len, self.searches))
        self.progress(f"tune {done} of at most {self.tuning.seeds * self.tuning.trials}")

    def _outcomes(self, values: Sequence[tuple[float, ...]]) -> list[Outcome]:
        """Outcomes in order; values that a model refuses are failed trials."""
        found: dict[int, Outcome] = {}
        trials: dict[int, tuple[Visit, ...]] = {}
        for place, one in enumerate(values):
            try:
                trials[place] = changed(self.visits, self.free, one)
            except PlanError as error:
                found[place] = Outcome(why=str(error))
        made = self.bench.outcomes(list(trials.values()), map_=self.map_)
        found |= dict(zip(trials, made, strict=True))
        return [found[place] for place in range(len(values))]
