"""The release folder: written in one step, verified against its manifest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from understudy import __version__
from understudy.errors import GateFailed, InputError
from understudy.note import note
from understudy.results import Finding, Findings
from understudy.seeds import is_short
from understudy.study import Study
from understudy.tables.write import write

_SUFFIX = {"csv": ".csv", "parquet": ".parquet", "arrow": ".arrow"}


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        folder: where it was written.
        released: whether ``release/`` exists.
        reasons: why not (or what ``--force`` overrode), one sentence each.
        forced: released in spite of the reasons.
    """

    folder: Path
    released: bool
    reasons: tuple[str, ...]
    forced: bool

    @property
    def report(self) -> Path:
        """The private report."""
        return self.folder / "private" / "report.html"

    def require_released(self) -> None:
        """Raise `GateFailed` if the tables were withheld."""
        if not self.released:
            raise GateFailed("\n".join(self.reasons))


def check_target(folder: Path) -> None:
    """Refuse a folder that holds a run, before any work is done."""
    for part in ("release", "private"):
        if (folder / part).exists():
            raise InputError(
                f"{folder} already holds a run ({part}/): choose another folder, or delete it"
            )
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: choose a folder")


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
        private.mkdir()
        _write_private(study, private, page, log)
        tables = release if released else private / "withheld"
        tables.mkdir()
        _write_tables(study, tables)
        if released:
            (release / "NOTE.md").write_text(note(study, forced=forced), encoding="utf-8")
            _write_manifest(release, study, forced)
        private.rename(folder / "private")
        if released:
            release.rename(folder / "release")
    return Outcome(folder, released, reasons, forced)


def save_assessment(study: Study, folder: Path, page: str, log: str) -> Outcome:
    """Write the private files alone."""
    check_target(folder)
    with _partial(folder) as partial:
        private = partial / "private"
        private.mkdir()
        _write_private(study, private, page, log)
        private.rename(folder / "private")
    return Outcome(folder, False, tuple(blockers(study, trial=True)), False)


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


def describe(finding: Finding) -> str:
    """Say which gate failed, by how much, and what to change."""
    estimate = finding.estimate
    target = f" ({estimate.target})" if estimate.target else ""
    which = {None: "", 0: " on all replicates pooled"}.get(
        estimate.replicate, f" on replicate {estimate.replicate}"
    )
    if finding.verdict.value == "not-measured":
        return f"gate {estimate.measure}{target}{which} could not be measured: {estimate.note}"
    return (
        f"gate {estimate.measure}{target}{which} is {finding.verdict.value}: {estimate.value:.4g} "
        f"where the reference is {estimate.reference:.4g} (margin {estimate.margin:.3g}); "
        f"{_ADVICE.get(estimate.measure, _TIGHTEN)}"
    )


_TIGHTEN = "raise min_leaf in [synthesis], or coarsen columns under [[prepare]]"
_ADVICE = {
    "copies": "the release repeats train's rows: synthesise anew, never release a copy",
    "uniques.replicated": "coarsen the quasi-identifiers under [[prepare]], or raise min_leaf",
}


@contextlib.contextmanager
def _partial(folder: Path) -> Iterator[Path]:
    """A scratch folder inside the target, gone whatever happens; also the target, if we made it."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder))
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from None
    done = False
    try:
        yield partial
        done = True
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if not done:
            for part in ("release", "private"):
                shutil.rmtree(folder / part, ignore_errors=True)
            if made:
                shutil.rmtree(folder, ignore_errors=True)


def _write_private(study: Study, private: Path, page: str, log: str) -> None:
    (private / "findings.json").write_text(study.findings.dumps(), encoding="utf-8")
    summaries = json.dumps(study.summaries, ensure_ascii=False, allow_nan=False)
    (private / "summaries.json").write_text(summaries + "\n", encoding="utf-8")
    (private / "report.html").write_text(page, encoding="utf-8")
    (private / "plan.toml").write_text(study.plan.to_toml(), encoding="utf-8")
    (private / "seed").write_text(f"{study.seed}\n", encoding="ascii")
    (private / "seed").chmod(0o600)
    (private / "run.log").write_text(log, encoding="utf-8")
    _write_trials(study.findings, private / "trials.csv")
    if study.records is not None:
        pq.write_table(study.records, private / "records.parquet")
    if study.fitted is not None:
        (private / "model").mkdir()
        np.savez_compressed(private / "model" / "arrays.npz", **study.fitted.arrays())


def _write_trials(findings: Findings, path: Path) -> None:
    trials = findings.provenance.get("leaf", {}).get("trials", [])
    lines = ["min_leaf,ims_excess,share_excess,dcr_shortfall,nndr_shortfall"]
    for trial in trials:
        numbers = ",".join(f"{trial[key]:.6f}" for key in ("ims", "share", "dcr", "nndr"))
        lines.append(f"{trial['leaf']},{numbers}")
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _write_tables(study: Study, folder: Path) -> None:
    for number, table in enumerate(study.tables, start=1):
        suffix = _SUFFIX[table.layout.format]
        write(table, folder / f"synthetic-{number}{suffix}", synthetic=True)


def _write_manifest(release: Path, study: Study, forced: bool) -> None:
    manifest = {
        "understudy": __version__,
        "synthetic": True,
        "plan_sha256": study.plan.sha256,
        "forced": forced,
        "files": {path.name: file_hash(path) for path in sorted(release.iterdir())},
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    (release / "manifest.json").write_text(text, encoding="utf-8")


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Verification:
    """What `verify` found: one sentence per problem, and what was checked."""

    problems: tuple[str, ...]
    checked: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Nothing is wrong."""
        return not self.problems


def verify(folder: Path) -> Verification:
    """Check a release folder against its manifest, and verdicts where ``private/`` is present."""
    release = folder / "release" if (folder / "release").is_dir() else folder
    manifest = _manifest(release / "manifest.json")
    problems = list(_compare(release, manifest["files"]))
    checked = [f"{len(manifest['files'])} files against their hashes"]
    private = folder / "private"
    if private.is_dir():
        problems += _verdicts(private, manifest)
        checked.append("plan and verdicts")
    return Verification(tuple(problems), tuple(checked))


def _manifest(path: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(manifest["files"], dict):
            raise TypeError
    except FileNotFoundError:
        raise InputError(f"no manifest at {path}: is this a release folder?") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a manifest that this version can read") from None
    return dict(manifest)


def _compare(release: Path, files: Mapping[str, str]) -> Iterator[str]:
    present = {path.name for path in release.iterdir()} - {"manifest.json"}
    for name in sorted(set(files) - present):
        yield f"{name} is missing"
    for name in sorted(present - set(files)):
        yield f"{name} is not in the manifest"
    for name in sorted(set(files) & present):
        if (release / name).is_dir() or file_hash(release / name) != files[name]:
            yield f"{name} has changed since it was released"


def _verdicts(private: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    from understudy.plans.plan import Plan

    try:
        findings = Findings.from_json(json.loads((private / "findings.json").read_text("utf-8")))
        plan = Plan.from_toml((private / "plan.toml").read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        yield "private/ lacks a readable findings.json or plan.toml"
        return
    if plan.sha256 != manifest.get("plan_sha256") or plan.sha256 != findings.plan_sha256:
        yield "the plan is not the one that made this release"
    recomputed = [
        f
        for f in findings.findings
        if f.gate and f.verdict.value == "holds" and f.estimate.verdict().value != "holds"
    ]
    for finding in recomputed:
        yield f"the verdict of {finding.estimate.measure} does not follow from its numbers"
    if findings.failed(strict=plan.gates.strict) and not manifest.get("forced"):
        yield "a gate fails, and the release does not say that it was forced"
