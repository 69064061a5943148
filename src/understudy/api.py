"""The same jobs as the commands, as functions."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from understudy import __version__
from understudy import study as walk
from understudy.errors import InputError, PlanError, TableError
from understudy.evidence import Map
from understudy.folder import (
    Outcome,
    check_target,
    decided,
    save,
    save_assessment,
    save_tuning,
)
from understudy.inspection import Inspection
from understudy.inspection import inspect as look
from understudy.plans import checks
from understudy.plans.plan import Plan
from understudy.plans.tuning import Tuning
from understudy.report import page
from understudy.results import Findings
from understudy.seeds import fresh_seed
from understudy.study.judge import Progress, silent
from understudy.study.tune import Tuned
from understudy.study.tune import tune as find
from understudy.tables.encode import Block
from understudy.tables.outbreak import outbreak
from understudy.tables.read import read as read_table
from understudy.tables.table import Table
from understudy.trials import TrialLog, kept_seed, key_of

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


def inspect(
    source: Any, *, plan: PlanLike = None, published: Sequence[str | Path] = ()
) -> Inspection:
    """Look at a table and propose a plan: kinds, roles, identifiers, steps, rules, cost, warnings.

    Columns that a ``published`` table about the same people has are taken for known to outsiders.

    Example:
        >>> import pyarrow as pa
        >>> inspect(pa.table({"age": [31, 49, 35], "sex": ["m", "f", "f"]})).columns[0].name
        'age'
    """
    entries = [*as_plan(plan).published]
    entries += [{"name": Path(file).name, "file": str(file)} for file in published]
    checks.publications("published", entries)
    return look(read(source, plan=plan), entries)


def synthesize(
    source: Any,
    plan: PlanLike = None,
    *,
    seed: int | None = None,
    holdout: Any = None,
    replicates: int | None = None,
    rows: int | None = None,
    tuner: walk.Tuner | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> walk.Study:
    """Synthesise and judge a table in memory; nothing is written.

    With a ``tuner``, such as `understudy.study.tune.tune`, the plan's strengths are found first.
    """
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
            tuner=tuner,
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
    tune: bool = False,
    trials: int | None = None,
    minutes: float | None = None,
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
        tune: find the plan's strengths first, on an inner split of train.
        trials: trials of each search, instead of the plan's.
        minutes: stop searching after so long.
        jobs: threads (default: all cores).
        force: release although a gate fails.
        trial: a short seed is fine.
        progress: called with the name of each stage.
    """
    folder = _named(out)
    check_target(folder)
    log = Log(progress)
    if not tune and (trials is not None or minutes is not None):
        raise InputError("trials and minutes are budgets of tuning: add --tune (tune=True)")
    chosen = _budget(as_plan(plan), trials, minutes) if tune else as_plan(plan)
    hunt = _Logged(folder) if tune else None
    study = synthesize(
        source,
        chosen,
        seed=seed if hunt is None else hunt.seed(seed),
        holdout=holdout,
        replicates=replicates,
        rows=rows,
        tuner=hunt,
        jobs=jobs,
        progress=log,
    )
    log("report")
    study = decided(study, force=force, trial=trial)
    outcome = save(study, folder, drawn(study), log.text(), force=force, trial=trial)
    if hunt is not None:
        hunt.done()
    return outcome


def tune(
    source: Any,
    out: str | Path | None = None,
    plan: PlanLike = None,
    *,
    seed: int | None = None,
    holdout: Any = None,
    trials: int | None = None,
    minutes: float | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> Tuned:
    """Find the plan's free settings on an inner split of train; with ``out``, write them there.

    The holdout is split off as `release` with the same seed does it, and is not looked at.
    """
    chosen = _budget(as_plan(plan), trials, minutes)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_target(folder)
    log, hunt = Log(progress), _Logged(folder)
    table = read(source, plan=chosen)
    held = None if holdout is None else read(holdout, plan=chosen)
    number = hunt.seed(seed)
    with workers(jobs) as map_:
        log("split")
        train = walk.learnt_from(table, chosen, seed=number, holdout=held)
        tuned = hunt(chosen, train, seed=number, map_=map_, progress=log)
    if folder is not None:
        log("report")
        provenance = {"job": "tune", "plan": chosen.name, "version": __version__}
        aside = table.rows - train.rows if held is None else held.rows
        sizes = {
            "train": {"rows": train.rows, "columns": len(train.names)},
            "holdout": {"rows": aside, "columns": len(train.names)},
        }
        found = Findings(tuned.plan.sha256, sizes, (), (), provenance)
        html = page(found, {"tuning": tuned.summary()})
        save_tuning(tuned, number, folder, html, log.text())
        hunt.done()
    return tuned


class _Logged:
    """A tuner whose trials are on disk as they finish, if there is a folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.log: TrialLog | None = None

    def seed(self, given: int | None) -> int:
        """The seed: given, else that of the tuning that was stopped here, else a fresh one."""
        kept = None if self.folder is None else kept_seed(self.folder)
        found = given if given is not None else kept
        return fresh_seed() if found is None else found

    def __call__(self, plan: Plan, train: Block, *, seed: int, **how: Any) -> Tuned:
        """Tune, from where an earlier run was stopped."""
        if self.folder is None:
            return find(plan, train, seed=seed, **how)
        there = self.folder.exists()
        self.log = TrialLog(self.folder, key_of(plan, train, seed), seed)
        known = self.log.known()
        try:
            return find(plan, train, seed=seed, log=self.log.add, known=known, **how)
        except PlanError:  # no trial worked, say: there is nothing to go on with
            self.done()
            if not there:
                with suppress(OSError):
                    self.folder.rmdir()
            raise

    def done(self) -> None:
        """What was kept to go on is no longer needed."""
        if self.log is not None:
            self.log.remove()


def _budget(plan: Plan, trials: int | None, minutes: float | None) -> Plan:
    tuning = plan.tune or Tuning()
    if trials is not None:
        tuning = replace(tuning, trials=trials)
    if minutes is not None:
        tuning = replace(tuning, minutes=minutes)
    return replace(plan, tune=tuning)


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
        save_assessment(study, folder, drawn(study), log.text())
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
    table = read_table(outbreak())
    # A file that any newcomer can open.
    table = replace(table, layout=replace(table.layout, format="csv"))
    return release(table, out, plan, seed=seed, jobs=jobs, trial=True, progress=progress)


def drawn(study: walk.Study) -> str:
    """The private report of a study, with its map if it has one."""
    points = None if study.points is None else study.points.to_json()
    return page(study.findings, study.summaries, points)


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
