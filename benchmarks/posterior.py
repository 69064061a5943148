"""The posterior of every record: against one record at a time, and against refits, in one run.

The tables are public and lie in the folder that UNDERSTUDY_DATA names; without it they are skipped.
Processor seconds stand beside seconds on the wall: on a busy machine only they compare.

``python -m benchmarks.posterior 60 3`` attacks 60 records of the partial synthesis in place of all,
and refits 3 in place of 25.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

import understudy
from benchmarks._clock import Took, timed, verdict
from understudy.evidence import Evidence
from understudy.kernels.posterior import posterior
from understudy.plans.plan import Plan
from understudy.risk.posterior import Posterior
from understudy.risk.posterior_records import Attack, attack, likelihood, log_prior
from understudy.study.source import Maker
from understudy.synth.base import crossed
from understudy.synth.dirichlet import DirichletMultinomial
from understudy.synth.keep import Keep
from understudy.synth.likelihood import MultinomialML
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

M, CHECKED, OTHERS = 5, 25, {"stratum", "psu", "facsize", "finalwt", "randgrp"}
COUNTS = {"age", "educ", "numarr", "agefirst", "probtn", "corrinst"}


def released(table: Table, visits: list[Visit], m: int) -> Evidence:
    """A release of the whole table, and how it was made."""
    train = fit_encoding(table).encode(table)
    fitted = Sequential(tuple(visits)).fit(train, seed=1)
    drawn = tuple(fitted.sample(table.rows, seed=1, replicate=r).block for r in range(1, m + 1))
    nobody = train.take(slice(0, 0))
    return Evidence(train, nobody, nobody, drawn, source=Maker(fitted, train, drawn, 1))


def cells() -> None:
    """20,000 records over 10,000 cells."""
    rng = np.random.default_rng(1)
    names = ("a", "b", "c", "d")
    levels = {n: pa.array((rng.beta(1, 2, 20_000) * 10).astype(int).astype(str)) for n in names}
    schema = Schema(tuple(Column(name, Kind.CATEGORY, Role.SENSITIVE) for name in names))
    evidence = released(Table(pa.table(levels), schema), [Visit(DirichletMultinomial(), names)], M)
    judge = Posterior(max_candidates=10_000).prepare(evidence, rng=rng)
    who = Attack(evidence.source, evidence.source.drawn)
    every, few = np.arange(20_000), np.arange(0, 20_000, 200)
    _, took = timed(lambda: attack(evidence.train, judge.candidates, who, every))
    (group,) = judge.candidates.groups
    part = group.take(few)

    def plainly() -> np.ndarray:
        change = likelihood(who.source, few, group.sets[0], part.own[0], who.replicates)
        return posterior(change.sum(axis=0), log_prior(who, part, 0))

    _, plain = timed(plainly)
    times = plain.cpu / len(few) * 20_000 / took.cpu
    print(f"posterior, 20,000 records × {judge.candidates.most:,} cells, m = {M}: {took}; "
          f"as a whole array {times:,.0f} times as long")  # fmt: skip
    print(verdict("all records", took.cpu, 1.0, " s of processors"))


def adult(folder: Path) -> None:
    """CART, sensitive column occupation, all records."""
    table = understudy.read(folder / "adult.csv")
    table = table.with_schema(table.schema.update({"occupation": {"role": "sensitive"}}))
    visits = Plan().visits_for(fit_encoding(table), leaf=20)
    evidence = released(table, list(visits), 1)
    rng = np.random.default_rng(1)
    judge = Posterior(checks=0).prepare(evidence, rng=rng)
    found, took = timed(lambda: judge.pooled(evidence.release, rng=rng))
    (group,) = judge.candidates.groups
    source, few = evidence.source, np.arange(0, table.rows, 500)
    _, quick = timed(lambda: source.swaps(few, group.sets[0], source.drawn))

    def one_by_one() -> None:
        for record in few:
            row = evidence.train.take(np.array([record]))
            source.swap(int(record), crossed(row, group.sets[0]), source.drawn)

    _, slow = timed(one_by_one)
    print(f"posterior, adult.csv, {table.rows:,} records × {judge.candidates.most}: {took}; "
          f"one record at a time {slow.cpu / quick.cpu:.0f} times as long; "
          f"R {found[0].value:.3f}, PR {found[0].reference:.3f}")  # fmt: skip
    print(verdict("all records", took.cpu, 60.0, " s of processors"))


def youth(folder: Path) -> Evidence:
    """Stratum 2 of the Survey of Youth in Custody: facility, then race, around what is kept."""
    table = understudy.read(folder / "syc.csv")
    large = np.array(table.column("stratum").to_pylist(), dtype=float) >= 6
    table = table.take(np.flatnonzero(large))
    table = table.select([name for name in table.names if name not in OTHERS])
    drawn = ("facility", "race")
    columns, arrays = [], {}
    for name in table.names:
        role = Role.SENSITIVE if name in drawn else Role.KEEP
        kind = Kind.NUMBER if name in COUNTS else Kind.CATEGORY
        columns.append(Column(name, kind, role))
        values = table.column(name).to_pylist()
        if kind is Kind.CATEGORY:
            values = [None if value is None else str(value) for value in values]
        arrays[name] = pa.array(values)
    kept = tuple(name for name in table.names if name not in drawn)
    model = MultinomialML()
    visits = [Visit(Keep(), kept), Visit(model, ("facility",), kept),
              Visit(model, ("race",), (*kept, "facility"))]  # fmt: skip
    return released(Table(pa.table(arrays), Schema(tuple(columns))), visits, M)


def partial_synthesis(folder: Path, records: int | None, checked_: int) -> None:
    """Records of stratum 2 with every candidate; exact refits of some, for time and error."""
    evidence = youth(folder)
    rng = np.random.default_rng(1)
    judge = Posterior(checks=0, records=records).prepare(evidence, rng=rng)
    with ThreadPoolExecutor(2) as pool:
        found, took = timed(lambda: judge.pooled(evidence.release, rng=rng, map_=pool.map))
    rows, most = evidence.train.rows, judge.candidates.most
    asked = min(records or rows, rows)
    print(f"posterior, stratum 2: {asked} of {rows} records × {most} candidates, m = {M}: {took}; "
          f"R {found[0].value:.4f}, PR {found[0].reference:.4f}")  # fmt: skip
    whole = took.cpu / 2 * rows / asked
    print(verdict("all records", whole, 180.0, " s on each of two quiet cores"))
    who = Attack(evidence.source, evidence.source.drawn)
    (group,) = judge.candidates.groups
    checked = np.sort(rng.choice(rows, checked_, replace=False))
    part = group.take(checked)
    (block,), (own,) = group.sets, part.own
    prior = log_prior(who, part, 0)
    change, quick = timed(lambda: likelihood(who.source, checked, block, own, who.replicates))
    exact, slow = refits(evidence, checked, block, own)
    error = np.abs(posterior(change.sum(axis=0), prior) - posterior(exact, prior)).max()
    print(verdict(f"largest error on {checked_} records", error, 0.01))
    print(verdict("refits take", slow.cpu / quick.cpu, 20.0, " times as long", least=True))


def refits(
    evidence: Evidence, records: np.ndarray, block: Block, own: np.ndarray
) -> tuple[np.ndarray, Took]:
    """Change of log p(Z) by fitting anew for every record and candidate."""
    source = evidence.source

    def task() -> np.ndarray:
        return np.array([source.refitted(int(i), block, source.drawn).sum(axis=0) for i in records])

    result, took = timed(task)
    result[np.arange(len(own)), own] = 0.0
    return result, took


def main(records: int | None = None, checked: int = CHECKED) -> None:
    with threadpool_limits(1):
        cells()
        folder = os.environ.get("UNDERSTUDY_DATA")
        if not folder:
            print("posterior: UNDERSTUDY_DATA names no folder; adult.csv and syc.csv are skipped")
            return
        adult(Path(folder))
        partial_synthesis(Path(folder), records, checked)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
