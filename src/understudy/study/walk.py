"""The walk, once: table → prepare → split → synth → release → measures → findings.

Nothing here writes files or draws pages. `run` makes a release and judges it; `assess` judges
tables that were made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.errors import InputError, PlanError, TableError
from understudy.evidence import Evidence, Map, Measure
from understudy.plans.panel import synthesizer
from understudy.plans.plan import Plan
from understudy.plans.visits import check_left
from understudy.results import Findings
from understudy.seeds import stream
from understudy.study.alike import alike, common, require_strangers, strange_levels
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
from understudy.study.maker import Maker, protect, protections
from understudy.study.people import (
    LEAST_HOLDOUT,
    People,
    Sides,
    assessed,
    brought,
    encode_sides,
    found_people,
    fresh_ids,
    group_column,
    of_people,
    receipts_of,
    split_people,
    untuned,
)
from understudy.study.profile import profile
from understudy.study.provenance import approximations, provenance_of, receipt_of, sizes_of
from understudy.study.scatter import Scatter, scatter
from understudy.study.sweep import sweeps
from understudy.study.tune import Tuned
from understudy.synth.panel import FittedPanel
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.sequence import FittedSequence
from understudy.tables.encode import Block, Encoding, fit_encoding, stack
from understudy.tables.prepare import prepare
from understudy.tables.schema import Kind, Role
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


@dataclass(frozen=True, eq=False)
class Ready:
    """A table after `prepare`, without the columns that are never synthesised.

    Attributes:
        table: what is split and learnt from.
        dropped: columns left out, with the reason.
        surrogate: identifier columns replaced by fresh ones.
        original: the table before anything was left out.
        raw: the table before `prepare`.
        receipts: what `prepare` did.
        people: whose row is which, where people have several.
    """

    table: Table
    dropped: Mapping[str, str]
    surrogate: tuple[str, ...]
    original: Table
    receipts: tuple[Mapping[str, Any], ...]
    raw: Table
    people: People | None = None


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
    ready = make_ready(table, plan)
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
    maker = Maker(fitted)
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
        **vars(plan.distance),
    )
    findings, summaries = _judged(evidence, plan, measures, gating, seed, map_, progress)
    summaries |= sweeps(steps, drawn[0].block, block, maker, seed=seed, progress=progress)
    receipts = [
        *ready.receipts,
        *receipts_of(ready.people, engine, block),
        *(
            receipt_of("rules", {"replicate": n, **item.counts})
            for n, item in enumerate(drawn, 1)
            if rules
        ),
    ]
    receipts += approximations(visits, train.rows, plan.needs_leaf)
    receipts += [receipt_of("protect", {"replicate": n, **r.to_json()}) for n, r in done]
    if rules:
        broken = {rule.describe(): int(rule.broken(block).sum()) for rule in rules}
        receipts.append(receipt_of("rules broken in the original", broken))
    tables = tuple(_dressed(item, ready, seed, n) for n, item in enumerate(release, 1))
    provenance = provenance_of(plan, ready, leaf if plan.needs_leaf else None, trials, gating)
    found = Findings(plan.sha256, sizes_of(evidence, tables), findings, tuple(receipts), provenance)
    progress("records")
    records = ledger(evidence, sides.rows, map_=map_)
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
    ready = make_ready(original, plan)
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
    ready = make_ready(table, plan)
    fit_columns(measures_of(plan), ready.table.schema)
    if ready.people is not None:
        raise untuned(ready.people.column)
    train = ready.table.take(split(ready, plan, seed, holdout).rows)
    return fit_encoding(train).encode(train)


def make_ready(table: Table, plan: Plan) -> Ready:
    """Apply the plan's schema and `prepare`, and set aside what is never synthesised."""
    plan.check(table.schema)
    table = table.with_schema(table.schema.update(plan.looks))
    if table.rows < plan.min_rows:
        raise TableError(
            f"the table has {table.rows} rows; fewer than {plan.min_rows} people cannot be "
            "protected by synthesis (plan key min_rows)"
        )
    group = group_column(table.schema, plan.prepare)
    prepared, sentences = prepare(table, plan.prepare)
    people = None if group is None else found_people(prepared, group, plan.min_rows)
    dropped, surrogate = {}, [] if group is None else [group]
    for column in prepared.schema:
        look = plan.columns.get(column.name, {})
        if column.role is Role.KEEP or column.name == group:
            continue
        if column.kind is Kind.IDENTIFIER or column.role is Role.IDENTIFIER:
            if look.get("identifier", "drop") == "surrogate":
                surrogate.append(column.name)
            else:
                dropped[column.name] = "a direct identifier"
        elif column.kind is Kind.TEXT:
            dropped[column.name] = "free text, which may name people"
    rest = [name for name in prepared.names if name not in dropped and name not in surrogate]
    if not rest:
        raise TableError(
            "no column is left to synthesise: all are identifiers or free text "
            f"({', '.join(dropped)}); set their kind in the plan if that is wrong"
        )
    if all(prepared.schema[name].role is Role.KEEP for name in rest):
        raise TableError(
            "every column is kept as it is: nothing would be synthetic; give at least "
            "one column another role than keep"
        )
    check_left(plan, rest)
    receipts = tuple(receipt_of("prepare", {"did": sentence}) for sentence in sentences)
    done = (prepared.select(rest), dropped, tuple(surrogate), prepared, receipts, table)
    return Ready(*done, people)


def split(ready: Ready, plan: Plan, seed: int, holdout: Table | None) -> Sides:
    """Rows of train, at random, and the rest as holdout; or all rows, and a holdout brought.

    Where people have several rows the split is by people.
    """
    table = ready.table
    if holdout is not None:
        return _prepared(holdout, ready, plan)
    if ready.people is not None:
        return split_people(table, ready.people, plan.split.train, plan.split.strata, seed)
    rng = stream(seed, "split")
    order = rng.permutation(table.rows)
    if plan.split.strata is not None:
        codes = table.column(plan.split.strata).combine_chunks().dictionary_encode().indices
        level = codes.fill_null(-1).to_numpy(zero_copy_only=False)
        # Sorted by level in random order inside: every stride takes its share of each level.
        order = order[np.argsort(level[order], kind="stable")]
        place = np.arange(table.rows) * plan.split.train
        chosen = np.floor(place + plan.split.train) > np.floor(place)
        return Sides(np.sort(order[chosen]), table.take(order[~chosen]))
    size = min(max(round(table.rows * plan.split.train), 1), table.rows - 2)
    return Sides(np.sort(order[:size]), table.take(order[size:]))


def _prepared(holdout: Table, ready: Ready, plan: Plan) -> Sides:
    """A holdout that was brought, after the same steps as the table."""
    raw = alike(holdout, ready.raw, "the holdout")
    if raw.rows < LEAST_HOLDOUT:
        raise TableError(
            f"the holdout has {raw.rows} rows: at least {LEAST_HOLDOUT} are needed to compare "
            "with; leave out --holdout to split the table instead"
        )
    held, _ = prepare(raw, plan.prepare)
    same = alike(held.select(list(ready.table.names)), ready.table, "the holdout")
    if ready.people is None:
        return Sides(np.arange(ready.table.rows), same)
    return brought(ready.people, same, held, ready.original.column(ready.people.column))


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
) -> tuple[Any, dict[str, Any]]:
    findings, summaries = judge_all(
        evidence,
        measures,
        gating,
        seed=seed,
        calibrate=plan.calibrate,
        map_=map_,
        progress=progress,
    )
    progress("profile")
    holdout = stack([evidence.control, evidence.fresh]) if evidence.has_holdout else None
    summaries["columns"] = profile(evidence.train, holdout, evidence.release)
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
    return Table(data, ready.original.schema.select(names), ready.original.layout)


__all__ = ["Ready", "Study", "assess", "make_ready", "run", "split"]
