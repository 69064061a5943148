"""What commands say of what they did: lines for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from understudy.exits import GATE_FAILED


def finish(outcome: Any, as_json: bool) -> None:
    """Say what became of a release, and leave with its exit status."""
    if as_json:
        click.echo(
            json.dumps(
                {
                    "released": outcome.released,
                    "forced": outcome.forced,
                    "folder": str(outcome.folder),
                    "report": str(outcome.report),
                    "reasons": list(outcome.reasons),
                    "notes": list(outcome.notes),
                },
                ensure_ascii=False,
            )
        )
        sys.exit(0 if outcome.released else GATE_FAILED)
    for sentence in outcome.notes:
        click.echo(f"note: {sentence}", err=True)
    if outcome.released:
        for reason in outcome.reasons:
            click.echo(f"forced: {reason}", err=True)
        click.echo(f"Released to {outcome.folder / 'release'}")
        click.echo(f"Report:     {outcome.report}")
    else:
        for reason in outcome.reasons:
            click.echo(f"understudy: {reason}", err=True)
        click.echo(
            f"Withheld: the tables are in {outcome.folder / 'private' / 'withheld'}", err=True
        )
        click.echo(f"Report:   {outcome.report}", err=True)
    sys.exit(0 if outcome.released else GATE_FAILED)


def say_assessment(study: Any, out: Path, as_json: bool) -> None:
    """Say which gates fail, and where the report is."""
    from understudy.folder import describe

    failed = study.findings.failed(strict=study.plan.gates.strict)
    report = out / "private" / "report.html"
    notes = list(study.findings.provenance["notes"])
    if as_json:
        reasons = [describe(finding, ours=False) for finding in failed]
        said = {"good": not failed, "reasons": reasons, "notes": notes, "report": str(report)}
        click.echo(json.dumps(said, ensure_ascii=False))
        return
    for note in notes:
        click.echo(f"note: {note}", err=True)
    for finding in failed:
        click.echo(f"understudy: {describe(finding, ours=False)}", err=True)
    click.echo("A gate fails." if failed else "No gate fails.")
    click.echo(f"Report: {report}")


def say_tuning(tuned: Any, out: Path, as_json: bool) -> None:
    """Say what was found, and where the plan is."""
    found = tuned.summary()
    best = found["chosen"]
    plan, report = out / "private" / "plan.toml", out / "private" / "report.html"
    if as_json:
        told = {key: best[key] for key in ("values", "loss", "number", "share")}
        told |= {"trials": len(found["trials"]), "plan": str(plan), "report": str(report)}
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    failed = sum(bool(trial["why"]) for trial in found["trials"])
    click.echo(f"{len(found['trials'])} trials, {failed} failed; objective {best['loss']:.4g}")
    for name, value in best["values"].items():
        click.echo(f"  {name} = {value:.4g}")
    click.echo(f"Plan:   {plan}")
    click.echo(f"Report: {report}")
