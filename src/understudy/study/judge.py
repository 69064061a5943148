"""Run measures on a release and on known cases, and turn estimates into verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from understudy import risk, utility
from understudy.evidence import Evidence, Judge, Map, Measure
from understudy.plans import checks, toml
from understudy.plans.plan import Plan
from understudy.protect import Protection
from understudy.results import Better, Estimate, Finding, Verdict
from understudy.seeds import stream
from understudy.tables.encode import Block
from understudy.tables.schema import Schema

Progress = Callable[[str], None]
Key = tuple[str, str | None]
MEASURES: Mapping[str, type[Measure]] = {**risk.MEASURES, **utility.MEASURES}
_FAR = 1000  # so many times as many rows are more than anybody has
_WHY_NOT = {"uniques.replicated": "no column has the role quasi or location"}


def silent(stage: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Gating:
    """Which findings gate the release, and how sure each of them must be.

    Attributes:
        names: measures that gate.
        error: family-wise false-alarm rate over all gates and replicates.
        strict: undecided blocks, too.
    """

    names: tuple[str, ...]
    error: float = 0.05
    strict: bool = False

    def level(self, replicates: int) -> float:
        """Confidence of each interval, so that all gates together err at rate ``error``.

        Bonferroni over gates and replicates (singly and pooled). A gate errs on one side only, so
        each two-sided interval may miss twice the share.
        """
        tests = max(len(self.names), 1) * (replicates if replicates == 1 else replicates + 1)
        return max(1 - 2 * self.error / tests, 0.0)

    def gates(self, estimate: Estimate) -> bool:
        """Whether this estimate gates: shares over *all* columns only inform."""
        return estimate.measure in self.names and estimate.target != "all columns"


def judge_all(
    evidence: Evidence,
    measures: Mapping[str, Measure],
    gating: Gating,
    *,
    seed: int,
    calibrate: bool = True,
    map_: Map = map,
    progress: Progress = silent,
    records: dict[str, Any] | None = None,
) -> tuple[tuple[Finding, ...], dict[str, Any]]:
    """Judge a release by every measure; returns findings and summaries.

    What measures say of single records goes into ``records``, where that is given: it is private.
    """
    findings: list[Finding] = []
    summaries: dict[str, Any] = {}
    cases = known_cases(evidence, seed) if calibrate else {}
    for name, measure in measures.items():
        progress(f"measure {name}")
        if measure.needs_holdout and not evidence.has_holdout:
            findings += _unmeasured(measure, gating, "there is no holdout to compare with")
            continue
        if not evidence.drawn:
            why = "every column is kept as it was: none was synthesised"
            findings += _unmeasured(measure, gating, why, applies=False)
            continue
        if min(block.rows for block in evidence.release) == 0:
            findings += _unmeasured(measure, gating, "a synthetic table has no rows")
            continue
        begin = time.perf_counter()
        rng = stream(seed, "measure", name)
        judge = measure.prepare(evidence, rng=rng, map_=map_)
        known = {case: _keyed(judge, case, block, rng, map_) for case, block in cases.items()}
        found = _estimated(judge, evidence, rng, map_)
        seconds = (time.perf_counter() - begin) / max(len(found), 1)
        findings += [_finding(estimate, measure, gating, known, seconds) for estimate in found]
        summaries.update(judge.summaries(rng=stream(seed, "curve", name), map_=map_))
        if records is not None:
            records.update(judge.records(map_=map_))
    return (*findings, *_absent(gating, findings, measures)), summaries


def measures_of(plan: Plan) -> dict[str, Measure]:
    """The plan's measures with its settings; `PlanError` where it names what does not exist."""
    known = [name for measure in MEASURES.values() for name in measure.names]
    for place, name in enumerate(plan.measures or ()):
        checks.one_of(f"measures[{place}]", name, MEASURES)
    for place, name in enumerate(plan.gates.names):
        checks.one_of(f"gates.names[{place}]", name, known)
    for name in plan.margins:
        checks.one_of(f"margins.{toml.key(name)}", name, known)
    for name in plan.measure:
        checks.one_of(f"measure.{toml.key(name)}", name, MEASURES)
    chosen = tuple(MEASURES) if plan.measures is None else plan.measures
    return {
        name: MEASURES[name].from_settings(f"measure.{name}", plan.measure.get(name, {}))
        for name in chosen
    }


def fit_columns(measures: Mapping[str, Measure], schema: Schema) -> None:
    """Refuse settings that name absent columns now, not after the synthesis."""
    for name, measure in measures.items():
        measure.fits(f"measure.{name}", schema)


def suit_values(measures: Mapping[str, Measure], steps: Sequence[Protection], train: Block) -> None:
    """The same for protections, and for settings that do not fit the columns' values."""
    for place, step in enumerate(steps):
        step.fits(f"protections[{place}]", train.encoding.schema)
        step.suits(f"protections[{place}]", train)
    for name, measure in measures.items():
        measure.suits(f"measure.{name}", train)


def _absent(
    gating: Gating, findings: Sequence[Finding], measures: Mapping[str, Measure]
) -> Iterator[Finding]:
    """A gate that no finding answers: not applicable if it was asked, else not measured."""
    answered = {finding.estimate.measure for finding in findings if finding.gate}
    asked = {name for measure in measures.values() for name in measure.names}
    for name in gating.names:
        if name in answered:
            continue
        why = _WHY_NOT.get(name, "there is nothing to compare")
        note = why if name in asked else "the plan gates on it and does not measure it"
        estimate = Estimate.absent(name, note, applies=name not in asked)
        yield Finding(estimate, estimate.verdict(), gate=True)


def known_cases(evidence: Evidence, seed: int) -> dict[str, Block]:
    """A copy of train, a fresh draw (half of the holdout), and train with columns shuffled."""
    rng = stream(seed, "calibration")
    train = evidence.train
    cases = {"copy": train}
    if evidence.fresh.rows:
        cases["fresh"] = evidence.fresh
    order = {name: rng.permutation(train.rows) for name in train.names}
    codes = {name: train.codes[name][order[name]] for name in train.codes}
    values = {name: train.values[name][order[name]] for name in train.values}
    cases["permuted"] = Block(train.encoding, train.rows, codes, values)
    return cases


def _estimated(
    judge: Judge, evidence: Evidence, rng: np.random.Generator, map_: Map
) -> list[Estimate]:
    """Every replicate, and all pooled (0): an intruder has them all."""
    found = [
        replace(estimate, replicate=number)
        for number, block in enumerate(evidence.release, start=1)
        for estimate in judge.estimates(block, rng=rng, map_=map_)
    ]
    if len(evidence.release) < 2:
        return found
    pooled = judge.pooled(evidence.release, rng=rng, map_=map_)
    return [*found, *(replace(estimate, replicate=0) for estimate in pooled)]


def _keyed(
    judge: Judge, case: str, block: Block, rng: np.random.Generator, map_: Map
) -> dict[Key, Estimate]:
    found = judge.calibration(case, block, rng=rng, map_=map_)
    return {(estimate.measure, estimate.target): estimate for estimate in found}


def _finding(
    estimate: Estimate,
    measure: Measure,
    gating: Gating,
    known: Mapping[str, Mapping[Key, Estimate]],
    seconds: float,
) -> Finding:
    key = (estimate.measure, estimate.target)
    calibration = {case: found[key].value for case, found in known.items() if key in found}
    verdict = estimate.verdict()
    bad = known.get(measure.must_catch, {}).get(key)
    open_ = verdict in (Verdict.HOLDS, Verdict.UNDECIDED)
    if open_ and bad is not None and bad.verdict() is Verdict.HOLDS:
        verdict = Verdict.UNDECIDED
        what = "a copy of train" if measure.must_catch == "copy" else "train with columns shuffled"
        blind = f"blind on this table: even {what} would hold"
        estimate = replace(estimate, note=f"{estimate.note}; {blind}".strip("; "))
    elif verdict is Verdict.UNDECIDED:
        size = f"{estimate.note}; {would_decide(estimate)}".strip("; ")
        estimate = replace(estimate, note=size)
    return Finding(estimate, verdict, gating.gates(estimate), calibration, seconds)


def would_decide(estimate: Estimate) -> str:
    """Say how much larger the tables must be for the interval to clear the margin.

    Intervals shrink with the square root of the number of rows.
    """
    low, high = estimate.gap()
    half = (high - low) / 2
    centre = (high + low) / 2
    loss = {Better.HIGHER: -centre, Better.LOWER: centre}.get(estimate.better, abs(centre))
    room = abs(estimate.margin - loss)
    if room <= 0 or not np.isfinite(half / room):
        return "no size would decide: the difference is the margin itself"
    times = max((half / room) ** 2, 1.1)
    if times >= _FAR:
        return "no practical size would decide: the difference is close to the margin"
    # Known to a digit or so: the difference that it rests on is an estimate, too.
    return f"about {times:.{1 if times < 10 else 0}f} times as many rows would decide"


def _unmeasured(
    measure: Measure, gating: Gating, why: str, *, applies: bool = True
) -> list[Finding]:
    found = [Estimate.absent(name, why, applies=applies) for name in measure.names]
    return [Finding(estimate, estimate.verdict(), gating.gates(estimate)) for estimate in found]
