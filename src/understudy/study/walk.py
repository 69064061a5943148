"""The walk, once: table → prepare → split → synth → release → measures → findings.

Nothing here writes files or draws pages. `run` makes a release and judges it; `assess` judges
tables that were made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from understudy.errors import InputError, PlanError
from understudy.evidence import Evidence, Map, Measure
from understudy.plans.panel import synthesizer
from understudy.plans.plan import Plan
from understudy.results import Findings
from understudy.seeds import stream
from understudy.study.alike import alike, common, require_strangers, strange_levels
from understudy.study.crosstabs import crosstabs, worst_pairs
from understudy.study.judge import (
    Gating,
    Progress,
    fit_columns,
    judge_all,
    measures_of,
    silent,
    suit_values,
)
from understudy.study.leaf import Trial, choose_leaf
from understudy.study.ledger import ledger
from understudy.study.maker import Maker, noise_of, protect, protected, protections
from understudy.study.people import (
    assessed,
    encode_sides,
    fresh_ids,
    of_people,
    receipts_of,
    untuned,
)
from understudy.study.profile import profile
from understudy.study.provenance import approximations, provenance_of, receipt_of, sizes_of
from understudy.study.ready import Ready, make_ready, split
from understudy.study.scatter import Scatter, scatter
from understudy.study.sweep import sweeps
from understudy.study.thinning import settle
from understudy.study.tune import Tuned
from understudy.synth.panel import FittedPanel
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.sequence import FittedSequence
from understudy.tables.encode import Block, Encoding, fit_encoding, stack
from understudy.tables.schema import Role, Schema
from understudy.tables.table import Table

Tuner = Callable[..., Tuned]


@dataclass(frozen=True, eq=False)
class Study:
    """Everything a run produced, in memory.

    Attributes:
        plan: the plan as it was run.
        seed: the seed of all randomness.
        tables: the replicates, with the look of the original.
        findings: the verdicts and all numbers.
        summaries: curves and histograms for the report.
        fitted: the fitted synthesizer (None for tables made elsewhere).
        records: per-record distances of train, for the owner only.
        tuned: how the plan's strengths were found, if they were.
        points: people on a map, for the owner only (None: no map, or the plan leaves it out).
    """

    plan: Plan
    seed: int
    tables: tuple[Table, ...]
    findings: Findings
    summaries: Mapping[str, Any]
    fitted: FittedSequence | FittedPanel | None
    records: pa.Table | None = None
    tuned: Tuned | None = None
    points: Scatter | None = None


def run(
    table: Table,
    plan: Plan,
    *,
    seed: int,
    holdout: Table | None = None,
    tuner: Tuner | None = None,
    map_: Map = map,
    progress: Progress = silent,
) -> Study:
    """Synthesise a table by a plan and judge the release on the holdout.

    A ``tuner`` first finds the plan's free settings on train alone.
    """
    measures = measures_of(plan)
    ready = make_ready(table, plan, seed)
    fit_columns(measures, ready.table.schema)
    progress("split")
    sides = split(ready, plan, seed, holdout)
    train = ready.table.take(sides.rows)
    encoding = fit_encoding(train, person=sides.train_person)
    block, control, fresh = encode_sides(encoding, train, sides, seed)
    if holdout is not None:
        require_strangers(block, stack([control, fresh]))
    kept = any(visit.model.name == "keep" for visit in plan.visits_for(encoding))
    rows = _rows(plan, ready, block, kept)
    steps = protections(plan, kept=kept, grouped=ready.people is not None)
    suit_values(measures, steps, block)
    tuned = None
    if tuner is not None:
        if ready.people is not None:
            raise untuned(ready.people.column)
        tuned = tuner(plan, block, seed=seed, map_=map_, progress=progress)
        plan = tuned.plan
    leaf, trials = _leaf(plan, encoding, block, seed, map_, progress)
    progress("fit")
    visits = plan.visits_for(encoding, leaf=leaf)
    rules = parse_rules(plan.rules, encoding, block, "rules")
    engine = synthesizer(plan, block, visits, rules)
    fitted = engine.fit(block, seed=seed, map_=map_)
    progress("sample")
    drawn = [
        fitted.sample(rows, seed=seed, replicate=number) for number in range(1, plan.replicates + 1)
    ]
    maker = Maker(fitted, block, tuple(item.block for item in drawn), seed)
    steps, said = settle(steps, engine, block, seed=seed, map_=map_, progress=progress)
    release, done = protect(steps, [item.block for item in drawn], block, maker, seed=seed)
    gating = Gating(plan.gates.names, plan.gates.error, plan.gates.strict)
    evidence = Evidence(
        block,
        control,
        fresh,
        release,
        source=maker,
        level=gating.level(plan.replicates),
        margins=plan.margins,
        noise=noise_of(steps, block),
        published=ready.published,
        **vars(plan.distance),
    )
    known: dict[str, Any] = {}
    findings, summaries = _judged(evidence, plan, measures, gating, seed, map_, progress, known)
    summaries |= protected(done)
    summaries |= sweeps(steps, drawn[0].block, block, maker, seed=seed, progress=progress)
    receipts = [
        *ready.receipts,
        *receipts_of(ready.people, engine, block),
        *(
            receipt_of("rules", {"replicate": n, **item.counts})
            for n, item in enumerate(drawn, 1)
            if rules
        ),
        *approximations(visits, train.rows, plan.needs_leaf),
        *(receipt_of("protect", {"did": words}) for words in said),
        *(receipt_of("protect", {"replicate": n, **r.to_json()}) for n, r in done),
    ]
    if rules:
        broken = {rule.describe(): int(rule.broken(block).sum()) for rule in rules}
        receipts.append(receipt_of("rules broken in the original", broken))
    tables = tuple(_dressed(item, ready, seed, n) for n, item in enumerate(release, 1))
    provenance = provenance_of(plan, ready, leaf if plan.needs_leaf else None, trials, gating)
    found = Findings(plan.sha256, sizes_of(evidence, tables), findings, tuple(receipts), provenance)
    progress("records")
    records = ledger(evidence, sides.rows, known, map_=map_)
    if tuned is not None:
        summaries["tuning"] = tuned.summary()
    points = scatter(evidence, seed=seed) if plan.report.map else None
    return Study(plan, seed, tables, found, summaries, fitted, records, tuned, points)


def assess(
    original: Table,
    synthetic: Sequence[Table],
    plan: Plan,
    *,
    seed: int,
    holdout: Table | None = None,
    map_: Map = map,
    progress: Progress = silent,
) -> Study:
    """Judge tables from any tool against the original they were made from."""
    if not synthetic:
        raise InputError("no synthetic table to judge: name at least one file")
    measures = measures_of(plan)
    ready = make_ready(original, plan, seed)
    fit_columns(measures, ready.table.schema)
    shared, notes = common(ready.table, synthetic, holdout)
    train = ready.table.select(shared)
    encoding = fit_encoding(train, person=None if ready.people is None else ready.people.person)
    held = None if holdout is None else alike(holdout, train, "the holdout")
    sides = assessed(ready.people, held, holdout, train.rows)
    block, control, fresh = encode_sides(encoding, train, sides, seed)
    if holdout is not None:
        require_strangers(block, stack([control, fresh]))
    suit_values(measures, (), block)
    release = tuple(
        of_people(encoding.encode(alike(item, train, f"synthetic table {n}")), ready.people, item)
        for n, item in enumerate(synthetic, 1)
    )
    for n, item in enumerate(release, 1):
        notes += strange_levels(item, f"synthetic table {n}")
    gating = Gating(plan.gates.names, plan.gates.error, plan.gates.strict)
    evidence = Evidence(
        block,
        control,
        fresh,
        release,
        level=gating.level(len(release)),
        margins=plan.margins,
        published=ready.published,
        **vars(plan.distance),
    )
    findings, summaries = _judged(evidence, plan, measures, gating, seed, map_, progress)
    provenance = provenance_of(plan, ready, None, (), gating)
    # As many replicates as were given, whatever the plan would have drawn.
    provenance |= {"job": "assess", "notes": notes, "level": evidence.level}
    sizes = sizes_of(evidence, synthetic)
    found = Findings(plan.sha256, sizes, findings, ready.receipts, provenance)
    points = scatter(evidence, seed=seed) if plan.report.map else None
    return Study(plan, seed, tuple(synthetic), found, summaries, None, points=points)


def learnt_from(table: Table, plan: Plan, *, seed: int, holdout: Table | None = None) -> Block:
    """The rows of train, encoded, as `run` with the same seed would have them."""
    ready = make_ready(table, plan, seed)
    fit_columns(measures_of(plan), ready.table.schema)
    if ready.people is not None:
        raise untuned(ready.people.column)
    train = ready.table.take(split(ready, plan, seed, holdout).rows)
    return fit_encoding(train).encode(train)


def _leaf(
    plan: Plan, encoding: Encoding, train: Block, seed: int, map_: Map, progress: Progress
) -> tuple[int, tuple[Trial, ...]]:
    if not plan.needs_leaf:
        return 5, ()
    progress("choose leaf")
    passed = encoding.schema.with_role(Role.KEEP, Role.WEIGHT)
    drawn = [name for name in encoding.names if name not in passed]
    return choose_leaf(plan, train, drawn, seed=seed, map_=map_, progress=progress)


def _rows(plan: Plan, ready: Ready, train: Block, kept: bool) -> int:
    """Rows of each synthetic table: the plan's, else the table's; kept columns bring train's.

    Of people with several rows as many are drawn as the table has, each with rows as in train.
    """
    if ready.people is not None and plan.rows is None:
        return round(ready.people.count * train.rows / train.people)
    if kept and plan.rows not in (None, train.rows):
        expected = "nothing: kept columns have as many rows as train, so leave out --rows"
        raise PlanError("synthesis.rows", plan.rows, expected)
    return train.rows if kept else plan.rows or ready.table.rows


def _judged(
    evidence: Evidence,
    plan: Plan,
    measures: Mapping[str, Measure],
    gating: Gating,
    seed: int,
    map_: Map,
    progress: Progress,
    known: dict[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    findings, summaries = judge_all(
        evidence,
        measures,
        gating,
        seed=seed,
        calibrate=plan.calibrate,
        map_=map_,
        progress=progress,
        records=known,
    )
    progress("profile")
    holdout = stack([evidence.control, evidence.fresh]) if evidence.has_holdout else None
    summaries["columns"] = profile(evidence.train, holdout, evidence.release)
    if worst := worst_pairs(summaries):
        summaries["crossed"] = crosstabs(evidence.train, evidence.release[0], worst)
    return findings, summaries


def _dressed(block: Block, ready: Ready, seed: int, replicate: int) -> Table:
    """Back to a table in the original's order, with fresh surrogates for identifiers."""
    table = block.encoding.decode(block)
    columns = {name: table.column(name) for name in table.names}
    for name in ready.surrogate:
        rng = stream(seed, "surrogate", replicate, name)
        from understudy.tables.surrogates import surrogates

        original = ready.original.column(name)
        if ready.people is not None and name == ready.people.column:
            columns[name] = fresh_ids(original, block, rng)
        else:
            columns[name] = surrogates(original, table.rows, rng)
    names = [name for name in ready.original.names if name in columns]
    data = pa.table([columns[name] for name in names], names=names)
    # Noise that is not rounded needs all its digits, whatever the original had.
    schema = [table.schema[n] if n in table.schema else ready.original.schema[n] for n in names]
    return Table(data, Schema(tuple(schema)), ready.original.layout)


__all__ = ["Ready", "Study", "assess", "make_ready", "run", "split"]
