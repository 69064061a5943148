"""The same jobs as the commands, as functions."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from understudy import study as walk
from understudy.errors import InputError, TableError
from understudy.evidence import Map
from understudy.folder import Outcome, check_target, decided, save, save_assessment
from understudy.inspection import Inspection
from understudy.inspection import inspect as look
from understudy.plans.plan import Plan
from understudy.report import page
from understudy.seeds import fresh_seed
from understudy.study.judge import Progress, silent
from understudy.tables.outbreak import outbreak
from understudy.tables.read import read as read_table
from understudy.tables.table import Table

PlanLike = Plan | str | Path | None


def read(source: Any, *, plan: PlanLike = None) -> Table:
    """Read a table: a path, ``-`` for standard input, or anything that speaks the Arrow C stream.

    Example:
        >>> import pyarrow as pa
        >>> read(pa.table({"age": [31, 49], "sex": ["m", "f"]}))
        <Table 2 rows × 2 columns>
    """
    chosen = as_plan(plan)
    try:
        return read_table(source, schema_changes=chosen.looks, missing=chosen.missing)
    except TableError as error:
        # Where several files are read, a message must say which one it is about.
        if isinstance(source, str | Path) and str(source) not in str(error):
            name = "standard input" if str(source) == "-" else Path(source).name
            raise TableError(f"{name}: {error}") from None
        raise


def inspect(source: Any, *, plan: PlanLike = None) -> Inspection:
    """Look at a table and propose a plan: kinds, roles, identifiers, rules, cost, warnings.

    Example:
        >>> import pyarrow as pa
        >>> inspect(pa.table({"age": [31, 49, 35], "sex": ["m", "f", "f"]})).columns[0].name
        'age'
    """
    return look(read(source, plan=plan))


def synthesize(
    source: Any,
    plan: PlanLike = None,
    *,
    seed: int | None = None,
    holdout: Any = None,
    replicates: int | None = None,
    rows: int | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> walk.Study:
    """Synthesise and judge a table in memory; nothing is written."""
    chosen = _with(as_plan(plan), replicates, rows)
    _check_seed(seed)
    table = read(source, plan=chosen)
    other = None if holdout is None else read(holdout, plan=chosen)
    with workers(jobs) as map_:
        return walk.run(
            table,
            chosen,
            seed=fresh_seed() if seed is None else seed,
            holdout=other,
            map_=map_,
            progress=progress,
        )


def release(
    source: Any,
    out: str | Path,
    plan: PlanLike = None,
    *,
    seed: int | None = None,
    holdout: Any = None,
    replicates: int | None = None,
    rows: int | None = None,
    jobs: int | None = None,
    force: bool = False,
    trial: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """The main job: split, synthesise, measure, gate, write.

    Args:
        source: the confidential table.
        out: folder to write; it must not hold a run.
        plan: a plan, its file, or the name of a shipped one.
        seed: for trials; without it 128 bits from the system's secrets.
        holdout: rows that judge the release, instead of a split.
        replicates: how many synthetic tables.
        rows: rows of each synthetic table.
        jobs: threads (default: all cores).
        force: release although a gate fails.
        trial: a short seed is fine.
        progress: called with the name of each stage.
    """
    folder = _named(out)
    check_target(folder)
    log = Log(progress)
    study = synthesize(
        source,
        plan,
        seed=seed,
        holdout=holdout,
        replicates=replicates,
        rows=rows,
        jobs=jobs,
        progress=log,
    )
    log("report")
    study = decided(study, force=force, trial=trial)
    return save(
        study, folder, page(study.findings, study.summaries), log.text(), force=force, trial=trial
    )


def assess(
    original: Any,
    synthetic: Sequence[Any],
    out: str | Path | None = None,
    plan: PlanLike = None,
    *,
    seed: int | None = None,
    holdout: Any = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> walk.Study:
    """Judge tables from any tool; with ``out``, write the private files there."""
    chosen = as_plan(plan)
    _check_seed(seed)
    folder = None if out is None else _named(out)
    if isinstance(synthetic, str | Path | Table) or hasattr(synthetic, "__arrow_c_stream__"):
        synthetic = [synthetic]  # a single table is meant, not its letters or columns
    if folder is not None:
        check_target(folder)
    log = Log(progress)
    table = read(original, plan=chosen)
    others = [read(item, plan=chosen) for item in synthetic]
    held = None if holdout is None else read(holdout, plan=chosen)
    with workers(jobs) as map_:
        study = walk.assess(
            table,
            others,
            chosen,
            seed=fresh_seed() if seed is None else seed,
            holdout=held,
            map_=map_,
            progress=log,
        )
    if folder is not None:
        log("report")
        save_assessment(study, folder, page(study.findings, study.summaries), log.text())
    return study


def demo(
    out: str | Path,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Run the main job on the built-in fictional outbreak."""
    plan = Plan.read("outbreak")
    return release(outbreak(), out, plan, seed=seed, jobs=jobs, trial=True, progress=progress)


def as_plan(plan: PlanLike) -> Plan:
    """A plan from a plan, a file, a shipped plan's name, or nothing (the default plan)."""
    if plan is None:
        return Plan()
    if not isinstance(plan, Plan | str | Path):
        raise InputError(
            f"cannot read a plan from a {type(plan).__name__}: give a Plan, the path of a plan "
            "file, or the name of a shipped plan"
        )
    return plan if isinstance(plan, Plan) else Plan.read(plan)


def _named(out: str | Path) -> Path:
    """A folder to write; an empty name would mean the current one."""
    if not str(out):
        raise InputError("the folder to write has an empty name: say which, or '.' for this one")
    return Path(out)


def _check_seed(seed: object) -> None:
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        raise InputError(f"seed: got {seed!r}, expected a whole number from 0, or None")


def _with(plan: Plan, replicates: int | None, rows: int | None) -> Plan:
    changes: dict[str, Any] = {}
    if replicates is not None:
        changes["replicates"] = replicates
    if rows is not None:
        changes["rows"] = rows
    return replace(plan, **changes) if changes else plan


@contextmanager
def workers(jobs: int | None) -> Iterator[Map]:
    """A map over threads. BLAS keeps to one thread: the pool already uses the cores."""
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise InputError(f"jobs: got {jobs!r}, expected a whole number from 1, or None")
    count = jobs or os.cpu_count() or 1
    with threadpool_limits(limits=1):
        if count == 1:
            yield map
            return
        pool = ThreadPoolExecutor(count)
        try:
            yield pool.map
        finally:  # after an interrupt, what has not begun never does
            pool.shutdown(cancel_futures=True)


class Log:
    """Times of the stages, for ``run.log``; passes them on to whoever watches."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.begin = time.perf_counter()
        self.lines: list[str] = []

    def __call__(self, stage: str) -> None:
        """Note a stage and pass it on."""
        self.lines.append(f"{time.perf_counter() - self.begin:8.2f} s  {stage}")
        self.progress(stage)

    def text(self) -> str:
        """The log."""
        return "\n".join(self.lines) + "\n"
