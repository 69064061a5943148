"""The run's folder: written in one step, or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from understudy.errors import GateFailed, InputError
from understudy.manifest import write_manifest
from understudy.note import note, unresolved
from understudy.report.words import advice
from understudy.results import Finding, Findings, Verdict
from understudy.seeds import is_short
from understudy.study import Study
from understudy.study.tune import Tuned
from understudy.tables.write import write
from understudy.trials import to_csv

_SUFFIX = {"csv": ".csv", "parquet": ".parquet", "arrow": ".arrow"}


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        folder: where it was written.
        released: whether ``release/`` exists.
        reasons: why not (or what ``--force`` overrode), one sentence each.
        forced: released in spite of the reasons.
        notes: what to know all the same, one sentence each.
    """

    folder: Path
    released: bool
    reasons: tuple[str, ...]
    forced: bool
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> Path:
        """The private report."""
        return self.folder / "private" / "report.html"

    def require_released(self) -> None:
        """Raise `GateFailed` if the tables were withheld."""
        if not self.released:
            raise GateFailed("\n".join(self.reasons))


def check_target(folder: Path) -> None:
    """Refuse a folder that holds a run or cannot be written, before any work is done."""
    try:
        _check_target(folder)
    except OSError as error:  # a name too long, or a folder that may not be looked into
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None


def _check_target(folder: Path) -> None:
    for part in ("release", "private"):
        if _is_there(folder / part):
            raise InputError(
                f"{folder} already holds a run ({part}/): choose another folder, or delete it"
            )
    above = next(path for path in (folder, *folder.absolute().parents) if _is_there(path))
    if not above.is_dir():
        raise InputError(f"{above} is a file: choose a folder")
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to {folder}: no permission for {above}")


def _is_there(path: Path) -> bool:
    """Whether anything has this name; raises where nobody can tell."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def save(
    study: Study, folder: Path, page: str, log: str, *, force: bool = False, trial: bool = False
) -> Outcome:
    """Write a release: ``private/`` first, then ``release/`` in one step if no gate fails.

    Args:
        study: what to write.
        folder: where; it must not hold a run.
        page: the report's HTML.
        log: the run's log.
        force: release although a gate fails.
        trial: a short seed is fine (the demo's people are fictional).
    """
    check_target(folder)
    reasons = tuple(blockers(study, trial=trial))
    released = force or not reasons
    forced = bool(reasons) and force
    with _partial(folder) as partial:
        private, release = partial / "private", partial / "release"
        private.mkdir(mode=0o700)
        _write_private(study, private, page, log)
        tables = release if released else private / "withheld"
        tables.mkdir()
        _write_tables(study, tables)
        if released:
            (release / "NOTE.md").write_text(note(study, forced=forced), encoding="utf-8")
            write_manifest(release, study.plan.sha256, forced=forced)
        _move(partial, folder, ["private", "release"] if released else ["private"])
    notes = (f"{sentence}: see the receipts" for sentence in unresolved(study.findings))
    return Outcome(folder, released, reasons, forced, tuple(notes))


def save_assessment(study: Study, folder: Path, page: str, log: str) -> Outcome:
    """Write the private files alone."""
    check_target(folder)
    with _partial(folder) as partial:
        private = partial / "private"
        private.mkdir(mode=0o700)
        _write_private(study, private, page, log)
        _move(partial, folder, ["private"])
    return Outcome(folder, False, tuple(blockers(study, trial=True)), False)


def save_tuning(tuned: Tuned, seed: int, folder: Path, page: str, log: str) -> None:
    """Write a tuning: the tuned plan, every trial, the page, and the seed of its split."""
    check_target(folder)
    with _partial(folder) as partial:
        private = partial / "private"
        private.mkdir(mode=0o700)
        (private / "plan.toml").write_text(tuned.plan.to_toml(), encoding="utf-8")
        (private / "trials.csv").write_text(to_csv(tuned), encoding="utf-8")
        summaries = json.dumps({"tuning": tuned.summary()}, ensure_ascii=False, allow_nan=False)
        (private / "summaries.json").write_text(summaries + "\n", encoding="utf-8")
        (private / "report.html").write_text(page, encoding="utf-8")
        _write_secret(private / "seed", f"{seed}\n")
        (private / "run.log").write_text(log, encoding="utf-8")
        _move(partial, folder, ["private"])


def blockers(study: Study, *, trial: bool) -> Iterator[str]:
    """Why the release must be withheld, one sentence each."""
    if is_short(study.seed) and not trial:
        yield (
            "the seed is short, so that draws could be repeated by trying seeds: leave out --seed, "
            "or use --force for a trial"
        )
    for finding in study.findings.failed(strict=study.plan.gates.strict):
        yield describe(finding)


def decided(study: Study, *, force: bool, trial: bool) -> Study:
    """The study with its outcome in the findings, so that the report can say it."""
    reasons = list(blockers(study, trial=trial))
    state = "released" if not reasons else "forced" if force else "withheld"
    outcome = {"state": state, "reasons": reasons}
    provenance = {**study.findings.provenance, "outcome": outcome}
    return replace(study, findings=replace(study.findings, provenance=provenance))


def describe(finding: Finding, *, ours: bool = True) -> str:
    """Say which gate failed, by how much, and (of a synthesis of ours) what to change."""
    estimate = finding.estimate
    target = f" ({estimate.target})" if estimate.target else ""
    which = {None: "", 0: " on all replicates pooled"}.get(
        estimate.replicate, f" on replicate {estimate.replicate}"
    )
    gate = f"gate {estimate.measure}{target}{which}"
    if finding.verdict is Verdict.NOT_MEASURED:
        return f"{gate} could not be measured: {estimate.note}; {_UNMEASURED}"
    word = "fails" if finding.verdict is Verdict.FAILS else "is undecided, which the plan refuses"
    remedy = f"; {advice(estimate.measure)}" if ours else ""
    return (
        f"{gate} {word}: {estimate.value:.4g} where the reference is {estimate.reference:.4g} "
        f"(margin {estimate.margin:.3g}){remedy}"
    )


_UNMEASURED = (
    "leave it out of gates.names in the plan if the table cannot have it, and say why in notes"
)


@contextlib.contextmanager
def _partial(folder: Path) -> Iterator[Path]:
    """A scratch folder inside the target, gone whatever happens; so are folders made for it."""
    made = [path for path in (folder, *folder.absolute().parents) if not _is_there(path)]
    # The name is known before the folder exists: no interrupt falls between making and knowing.
    partial = folder / f".partial-{secrets.token_hex(8)}"
    try:
        partial.mkdir(mode=0o700, parents=True)
        yield partial
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror or error}; nothing was left there"
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        _remove_empty(made)


def _move(partial: Path, folder: Path, parts: list[str]) -> None:
    """Move finished parts into place, ``release`` last; what was moved goes back if one fails."""
    try:
        for part in parts:
            (partial / part).rename(folder / part)
    except BaseException:
        for part in parts:
            if not (partial / part).exists():  # this run moved it: nobody else's is touched
                (folder / part).rename(partial / part)
        raise


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders that hold nothing, the deepest first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _write_private(study: Study, private: Path, page: str, log: str) -> None:
    (private / "findings.json").write_text(study.findings.dumps(), encoding="utf-8")
    summaries = json.dumps(study.summaries, ensure_ascii=False, allow_nan=False)
    (private / "summaries.json").write_text(summaries + "\n", encoding="utf-8")
    (private / "report.html").write_text(page, encoding="utf-8")
    (private / "plan.toml").write_text(study.plan.to_toml(), encoding="utf-8")
    _write_secret(private / "seed", f"{study.seed}\n")
    (private / "run.log").write_text(log, encoding="utf-8")
    if study.tuned is None:
        _write_trials(study.findings, private / "trials.csv")
    else:
        (private / "trials.csv").write_text(to_csv(study.tuned), encoding="utf-8")
    if study.records is not None:
        pq.write_table(study.records, private / "records.parquet")
    if study.points is not None:
        pq.write_table(study.points.to_arrow(), private / "map.parquet")
    if study.fitted is not None:
        (private / "model").mkdir()
        _write_arrays(private / "model" / "arrays.npz", study.fitted.arrays())


def _write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Arrays as npz, packed in memory: a disk that is full meets one plain write."""
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    path.write_bytes(packed.getbuffer())


def _write_secret(path: Path, text: str) -> None:
    """A file that nobody else could read at any moment."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(text)


def _write_trials(findings: Findings, path: Path) -> None:
    trials = findings.provenance.get("leaf", {}).get("trials", [])
    lines = ["min_leaf,ims_excess,share_excess,uniques_excess,dcr_shortfall,nndr_shortfall"]
    for trial in trials:
        keys = ("ims", "share", "uniques", "dcr", "nndr")
        numbers = ",".join(f"{trial[key]:.6f}" for key in keys)
        lines.append(f"{trial['leaf']},{numbers}")
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _write_tables(study: Study, folder: Path) -> None:
    for number, table in enumerate(study.tables, start=1):
        suffix = _SUFFIX[table.layout.format]
        write(table, folder / f"synthetic-{number}{suffix}", synthetic=True)
