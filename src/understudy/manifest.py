"""The manifest of a release, and `verify`, which checks a folder against it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy import __version__
from understudy.errors import InputError, PlanError
from understudy.plans.plan import Plan
from understudy.results import Finding, Findings, Verdict
from understudy.study.judge import Gating

NAME = "manifest.json"
# What a measure's blindness may make of a verdict that its numbers give (METHODS, "Verdicts").
_FOLLOWS = {
    Verdict.HOLDS: {Verdict.HOLDS, Verdict.UNDECIDED},
    Verdict.NOT_MEASURED: {Verdict.NOT_MEASURED, Verdict.NOT_APPLICABLE},
}
_UNREADABLE = (ValueError, KeyError, TypeError, RecursionError)
_UNMEASURED = (Verdict.NOT_MEASURED, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True)
class Verification:
    """What `verify` found: one sentence per problem, and what was checked."""

    problems: tuple[str, ...]
    checked: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Nothing is wrong."""
        return not self.problems


def write_manifest(release: Path, plan_sha256: str, *, forced: bool) -> None:
    """Write the hashes of all files that ``release`` holds; nothing of ``private`` is in it."""
    manifest = {
        "understudy": __version__,
        "synthetic": True,
        "plan_sha256": plan_sha256,
        "forced": forced,
        "files": {path.name: file_hash(path) for path in sorted(release.iterdir())},
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    (release / NAME).write_text(text, encoding="utf-8")


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(folder: str | Path) -> Verification:
    """Check a release folder against its manifest, and verdicts where ``private/`` is present."""
    folder = Path(folder)
    try:
        return _verified(folder)
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror or error}") from None


def _verified(folder: Path) -> Verification:
    private = folder / "private"
    release = folder / "release" if (folder / "release").is_dir() else folder
    if private.is_dir() and release == folder:
        raise InputError(f"{folder} holds no release to verify: its tables were withheld")
    manifest = _manifest(release / NAME)
    problems = list(_compare(release, manifest["files"]))
    checked = [f"{len(manifest['files'])} files against their hashes"]
    if private.is_dir():
        problems += _private(private, manifest)
        checked.append("plan and verdicts")
    return Verification(tuple(problems), tuple(checked))


def _manifest(path: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(manifest["files"], dict):
            raise TypeError
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"no manifest at {path}: is this a release folder?") from None
    except _UNREADABLE:
        raise InputError(f"{path} is not a manifest that this version can read") from None
    return dict(manifest)


def _compare(release: Path, files: Mapping[str, str]) -> Iterator[str]:
    present = {path.name for path in release.iterdir()} - {NAME}
    for name in sorted(set(files) - present):
        yield f"{name} is missing"
    for name in sorted(present - set(files)):
        yield f"{name} is not in the manifest"
    for name in sorted(set(files) & present):
        if (release / name).is_dir() or file_hash(release / name) != files[name]:
            yield f"{name} has changed since it was released"


def _private(private: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Plan, verdicts and the forced flag, against each other and against the numbers."""
    try:
        findings = Findings.from_json(json.loads((private / "findings.json").read_text("utf-8")))
        plan = Plan.from_toml((private / "plan.toml").read_text("utf-8"))
    except (OSError, *_UNREADABLE, AttributeError, PlanError):
        yield "private/ lacks a readable findings.json or plan.toml"
        return
    if plan.sha256 != manifest.get("plan_sha256") or plan.sha256 != findings.plan_sha256:
        yield "the plan is not the one that made this release"
    yield from _verdicts(findings, plan)
    yield from _forced(findings, plan, bool(manifest.get("forced")))


def _verdicts(findings: Findings, plan: Plan) -> Iterator[str]:
    gating = Gating(plan.gates.names, plan.gates.error, plan.gates.strict)
    for finding in findings.findings:
        name = _title(finding)
        if not _follows(finding):
            yield f"the verdict of {name} does not follow from its numbers"
        if finding.gate != gating.gates(finding.estimate):
            yield f"{name} is {'' if finding.gate else 'not '}a gate, and the plan says otherwise"
    for measure in plan.gates.names:
        yield from _answered(measure, findings, plan.replicates)


def _answered(measure: str, findings: Findings, replicates: int) -> Iterator[str]:
    """Every gate has a finding, and one for each replicate if it was measured at all."""
    own = [f for f in findings.findings if f.gate and f.estimate.measure == measure]
    if not own:
        yield f"the gate {measure} has no finding"
    if any(finding.verdict not in _UNMEASURED for finding in own):
        judged = {finding.estimate.replicate for finding in own}
        for number in sorted(set(range(1, replicates + 1)) - judged):
            yield f"the gate {measure} has no finding for replicate {number}"


def _follows(finding: Finding) -> bool:
    computed = finding.estimate.verdict()
    return finding.verdict in _FOLLOWS.get(computed, {computed})


def _title(finding: Finding) -> str:
    target = finding.estimate.target
    return finding.estimate.measure + (f" ({target})" if target else "")


def _forced(findings: Findings, plan: Plan, forced: bool) -> Iterator[str]:
    if findings.failed(strict=plan.gates.strict) and not forced:
        yield "a gate fails, and the release does not say that it was forced"
    outcome = findings.provenance.get("outcome")
    state = outcome.get("state") if isinstance(outcome, Mapping) else None
    if state != ("forced" if forced else "released"):
        yield "the manifest and the findings differ on whether the release was forced"
