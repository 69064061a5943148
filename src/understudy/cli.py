"""The command line: thin, it parses arguments, shows progress, and translates errors."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from understudy import __version__
from understudy.errors import UnderstudyError

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
GATE_FAILED, USAGE, BUG, INTERRUPTED = 3, 2, 1, 130


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="understudy")
def cli() -> None:
    """Turn a confidential table about people into a synthetic stand-in, with evidence.

    \b
    Example:
      understudy inspect patients.csv
      understudy release patients.csv --out out
    """


def _options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options that several commands share, by name."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            command = _SHARED[name](command)
        return command

    return add


_SHARED = {
    "out": click.option("--out", type=Path, required=True, metavar="DIR", help="Folder to write."),
    "plan": click.option("--plan", metavar="PLAN", help="A plan file, or a shipped plan's name."),
    "seed": click.option(
        "--seed",
        type=click.IntRange(min=0),
        metavar="N",
        help="Seed for trials (default: 128 secret bits). A short one blocks the release.",
    ),
    "holdout": click.option(
        "--holdout", metavar="FILE", help="Rows that judge the release, instead of a split."
    ),
    "jobs": click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Threads (default: all cores)."
    ),
    "json": click.option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
}


@cli.command()
@click.argument("file", metavar="FILE")
@click.option("--plan", type=Path, metavar="FILE.toml", help="Write a starting plan here.")
@_options("json")
def inspect(file: str, plan: Path | None, as_json: bool) -> None:
    """Say what is in FILE: kinds, roles, missing values, suspected identifiers, sizes.

    \b
    Example:
      understudy inspect patients.csv --plan plan.toml
    """
    from understudy.api import read
    from understudy.inspection import inspect as look

    found = look(read(file))
    if plan is not None:
        _write_new(plan, found.to_toml())
    click.echo(json.dumps(found.to_json(), ensure_ascii=False) if as_json else found.to_text())


@cli.command()
@click.argument("file", metavar="FILE")
@_options("out", "plan", "seed", "holdout", "jobs", "json")
@click.option("--replicates", type=click.IntRange(min=1), metavar="M", help="Synthetic tables.")
@click.option("--rows", type=click.IntRange(min=1), metavar="N", help="Rows of each table.")
@click.option("--force", is_flag=True, help="Release although a gate fails; the note says so.")
def release(file: str, out: Path, as_json: bool, **options: Any) -> None:
    """Split, synthesise, measure and gate FILE, and write the release to DIR.

    \b
    Example:
      understudy release patients.csv --out out --replicates 5
    """
    from understudy import api

    with Watch(as_json) as watch:
        outcome = api.release(file, out, progress=watch, **options)
    _finish(outcome, as_json)


@cli.command()
@click.argument("original", metavar="ORIGINAL")
@click.argument("synthetic", nargs=-1, required=True, metavar="SYNTHETIC...")
@_options("out", "plan", "seed", "holdout", "jobs", "json")
def assess(
    original: str, synthetic: tuple[str, ...], out: Path, as_json: bool, **options: Any
) -> None:
    """Judge SYNTHETIC tables, from any tool, against the ORIGINAL they were made from.

    \b
    Example:
      understudy assess train.csv theirs.csv --holdout holdout.csv --out out
    """
    from understudy import api

    with Watch(as_json) as watch:
        study = api.assess(original, list(synthetic), out, progress=watch, **options)
    failed = study.findings.failed(strict=study.plan.gates.strict)
    _say_assessment(study, out, as_json)
    sys.exit(GATE_FAILED if failed else 0)


@cli.command()
@click.argument("folder", type=Path, metavar="DIR")
@_options("json")
def verify(folder: Path, as_json: bool) -> None:
    """Check a release folder against its manifest: hashes, plan, verdicts.

    \b
    Example:
      understudy verify out
    """
    from understudy.folder import verify as check

    found = check(folder)
    if as_json:
        click.echo(json.dumps({"good": found.good, "problems": list(found.problems)}))
    else:
        for problem in found.problems:
            click.echo(f"✗ {problem}")
        if found.good:
            click.echo(f"✓ checked {' and '.join(found.checked)}")
    sys.exit(0 if found.good else GATE_FAILED)


@cli.command()
@_options("out", "seed", "jobs", "json")
def demo(out: Path, as_json: bool, **options: Any) -> None:
    """Run `release` on the built-in fictional outbreak.

    \b
    Example:
      understudy demo --out demo
    """
    from understudy import api

    with Watch(as_json) as watch:
        outcome = api.demo(out, progress=watch, **options)
    _finish(outcome, as_json)


def _finish(outcome: Any, as_json: bool) -> None:
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
                },
                ensure_ascii=False,
            )
        )
    elif outcome.released:
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


def _say_assessment(study: Any, out: Path, as_json: bool) -> None:
    from understudy.folder import describe

    failed = study.findings.failed(strict=study.plan.gates.strict)
    report = out / "private" / "report.html"
    if as_json:
        reasons = [describe(finding) for finding in failed]
        click.echo(json.dumps({"good": not failed, "reasons": reasons, "report": str(report)}))
        return
    for finding in failed:
        click.echo(f"understudy: {describe(finding)}", err=True)
    click.echo("A gate fails." if failed else "No gate fails.")
    click.echo(f"Report: {report}")


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise click.UsageError(f"{path} exists: choose another name, or delete it") from None
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror}") from None


class Watch:
    """Progress on a terminal, silence in a pipe."""

    def __init__(self, quiet: bool) -> None:
        self.shown = sys.stderr.isatty() and not quiet
        self.begin = time.perf_counter()
        self.status: Any = None

    def __enter__(self) -> Watch:
        if self.shown:
            from rich.console import Console

            self.status = Console(stderr=True).status("read")
            self.status.start()
        return self

    def __call__(self, stage: str) -> None:
        """Show a stage."""
        if self.status is not None:
            self.status.update(f"{stage} ({time.perf_counter() - self.begin:.0f} s)")

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()


def main() -> NoReturn:
    """Run a command; every error becomes one message and an exit status."""
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("understudy: interrupted; nothing was left half-written", err=True)
        sys.exit(INTERRUPTED)
    except UnderstudyError as error:
        click.echo(f"understudy: {error}", err=True)
        sys.exit(USAGE)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        _bug(error)
    sys.exit(0)


def _bug(error: Exception) -> NoReturn:
    """An error in our program: say where, never what the data were."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno} in {last.name}"
    # The exception's own text may quote a cell, so only its kind is shown.
    click.echo(
        f"understudy: this is a bug in understudy ({type(error).__name__} at {where}); "
        "nothing was released. Please report this line.",
        err=True,
    )
    sys.exit(BUG)
