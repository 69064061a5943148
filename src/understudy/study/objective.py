"""What a tuning optimises: the pMSE ratio of eq. 24, or any number that a measure makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Evidence, Judge, Map, features, widths
from understudy.kernels import acquisition, propensity
from understudy.kernels.acquisition import Goal
from understudy.plans.plan import Plan
from understudy.plans.tuning import AUTO, RATIO, Tuning
from understudy.results import Better, Estimate
from understudy.seeds import stream
from understudy.study.judge import MEASURES
from understudy.tables.encode import Block

_LEAST_RATIO = 1e-3  # a copy's ratio is 0, which has no logarithm
_GOALS = {Better.LOWER: "minimise", Better.HIGHER: "maximise", Better.REFERENCE: "reference"}

Floats = NDArray[np.float64]
Place = tuple[int, int]
"""A trial, and the half it learnt from."""
Drawn = Mapping[Place, list[Block]]
Found = dict[Place, tuple[Floats, float]]


@dataclass(frozen=True)
class Aim:
    """What is wanted of the number, and how it is modelled.

    Attributes:
        name: the number.
        goal: ``ratio``, ``minimise``, ``maximise`` or ``reference``.
    """

    name: str
    goal: str

    def loss(self, number: float, reference: float) -> float:
        """What is minimised, and logged: (1 − ratio)² for (24).

        Example:
            >>> Aim("(24)", "ratio").loss(1.5, 1.0)
            0.25
        """
        gap = number - reference
        # 0 − number: −0 would be shown as such.
        return {"ratio": gap**2, "reference": gap**2, "maximise": 0 - number}.get(self.goal, number)

    def modelled(self, number: float, reference: float) -> float:
        """What the process is fitted to: a signed number, so that it crosses its goal smoothly."""
        if self.goal == "ratio":
            return float(np.log(max(number / reference, _LEAST_RATIO)))
        return number - reference if self.goal == "reference" else number

    @property
    def search(self) -> Goal:
        """The acquisition's goal."""
        known: dict[str, Goal] = {"minimise": "minimise", "maximise": "maximise"}
        return known.get(self.goal, "nearest")

    def worst(self, modelled: Floats) -> float:
        """The least wanted of some modelled numbers: what a failed trial is taken for."""
        return float(modelled[np.argmax(acquisition.loss(modelled, self.search))])


def aim_of(plan: Plan, tuning: Tuning, evidence: Evidence, *, seed: int, map_: Map) -> Aim:
    """The aim of a plan; asks measures once, on honest rows, so that a wrong name is said now."""
    if tuning.ceiling is not None and not is_share(tuning.ceiling):
        ceiling = tuning.ceiling
        tried(plan, evidence, "tune.ceiling", ceiling["measure"], ceiling.get("target"), seed, map_)
    if tuning.objective == RATIO:
        return Aim(RATIO, "ratio")
    found = tried(plan, evidence, "tune", tuning.objective, tuning.target, seed, map_)
    return Aim(tuning.objective, _GOALS[found.better] if tuning.goal == AUTO else tuning.goal)


def is_share(ceiling: Mapping[str, Any]) -> bool:
    """Whether the ceiling is on the share nearer to train, which every trial has anyway."""
    return ceiling["measure"] == "dcr.share" and ceiling.get("target") is None


def tried(
    plan: Plan,
    evidence: Evidence,
    where: str,
    name: str,
    target: str | None,
    seed: int,
    map_: Map,
) -> Estimate:
    """The number for honest rows; `PlanError` where no measure makes it here."""
    judge = judge_of(plan, evidence, where, name, seed, map_)
    estimates = judge.estimates(evidence.fresh, rng=stream(seed, "measured", name), map_=map_)
    found = picked(estimates, name, target)
    if found is None:
        targets = sorted({str(e.target) for e in estimates if e.measure == name})
        expected = f"a number that this table has; targets of {name}: {', '.join(targets)}"
        raise PlanError(f"{where}.target", target, expected)
    if not np.isfinite(found.value):
        key = "objective" if where == "tune" else "measure"
        raise PlanError(f"{where}.{key}", name, f"a number that this table has ({found.note})")
    return found


def judge_of(plan: Plan, evidence: Evidence, where: str, name: str, seed: int, map_: Map) -> Judge:
    """The measure that makes a number, with the plan's settings, prepared."""
    for group, kind in MEASURES.items():
        if name in kind.names:
            measure = kind.from_settings(f"measure.{group}", plan.measure.get(group, {}))
            measure.fits(f"measure.{group}", evidence.encoding.schema)
            return measure.prepare(evidence, rng=stream(seed, "measure", name), map_=map_)
    known = sorted(number for kind in MEASURES.values() for number in kind.names)
    key = "objective" if where == "tune" else "measure"
    raise PlanError(f"{where}.{key}", name, f"{RATIO} or one of {', '.join(known)}")


def measured(
    judges: Sequence[Judge], drawn: Drawn, name: str, target: str | None, *, seed: int, map_: Map
) -> Found:
    """A measure's number for every replicate, and its mean reference; a judge for each half."""
    jobs = [(place, block) for place, blocks in drawn.items() for block in blocks]

    def one(job: tuple[Place, Block]) -> Estimate | None:
        (_, side), block = job
        rng = stream(seed, "measured", name)
        return picked(judges[side].estimates(block, rng=rng), name, target)

    found: dict[Place, list[Estimate | None]] = {place: [] for place in drawn}
    for (place, _), estimate in zip(jobs, map_(one, jobs), strict=True):
        found[place].append(estimate)
    return {place: _numbers_of(estimates) for place, estimates in found.items()}


def ratios(
    real: Sequence[Block],
    columns: tuple[str, ...],
    tuning: Tuning,
    drawn: Drawn,
    *,
    seed: int,
    map_: Map,
) -> Found:
    """PMSE of every replicate over its expectation for two draws of one process (eq. 24).

    With a tree the expectation is the mean over pairs of replicates of equal size; with a logit it
    is (k − 1)·c·(1 − c)/N, which is E/(1 − c) of eq. 2. ``real`` has the rows to compare with, for
    each half that was learnt from.
    """
    jobs = [(place, real[place[1]], block) for place, blocks in drawn.items() for block in blocks]
    if tuning.discriminator == "logit":
        grouped = _grouped(jobs, map_(partial(_logit, columns), jobs))
        return {place: (values, 1.0) for place, values in grouped.items()}
    pairs = [
        (place, blocks[i], blocks[j])
        for place, blocks in drawn.items()
        for i, j in chosen_pairs(len(blocks), max(tuning.pairs // len(real), 1))
    ]
    scores = list(map_(partial(_tree, columns, seed), [*jobs, *pairs]))
    above, below = _grouped(jobs, scores[: len(jobs)]), _grouped(pairs, scores[len(jobs) :])
    with np.errstate(divide="ignore", invalid="ignore"):
        return {place: (above[place] / below[place].mean(), 1.0) for place in drawn}


def chosen_pairs(size: int, count: int) -> list[tuple[int, int]]:
    """Pairs of replicates, each replicate as often as the others: neighbours first.

    Example:
        >>> chosen_pairs(4, 5)
        [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    """
    found = [(i, (i + step) % size) for step in range(1, size // 2 + 1) for i in range(size)]
    distinct = dict.fromkeys(tuple(sorted(pair)) for pair in found)
    kept = {tuple(sorted(pair)): pair for pair in reversed(found)}
    return [kept[pair] for pair in distinct][:count]


def picked(estimates: Sequence[Estimate], name: str, target: str | None) -> Estimate | None:
    """The estimate of that name (and target, if one is asked for); the first of several."""
    fits = (e for e in estimates if e.measure == name and target in (None, e.target))
    return next(fits, None)


def _tree(drawn: tuple[str, ...], seed: int, job: tuple[Place, Block, Block]) -> float:
    _, real, block = job
    levels = widths(real.encoding, drawn)
    both = (*features(real, drawn), *features(block, drawn))
    return propensity.cart_pmse(*both, levels, rng=stream(seed, "tree"))


def _logit(drawn: tuple[str, ...], job: tuple[Place, Block, Block]) -> float:
    _, real, block = job
    both = (*features(real, drawn), *features(block, drawn))
    return propensity.logit(*both, widths(real.encoding, drawn)).ratio


def _grouped(jobs: Sequence[tuple[Any, ...]], values: Any) -> dict[Place, Floats]:
    found: dict[Place, list[float]] = {}
    for (place, *_), value in zip(jobs, values, strict=True):
        found.setdefault(place, []).append(value)
    return {place: np.array(numbers) for place, numbers in found.items()}


def _numbers_of(estimates: Sequence[Estimate | None]) -> tuple[Floats, float]:
    good = [e for e in estimates if e is not None]
    if len(good) < len(estimates):
        return np.full(1, np.nan), float("nan")
    return np.array([e.value for e in good]), float(np.mean([e.reference for e in good]))
