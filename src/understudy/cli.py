"""The command line: thin, it parses arguments, shows progress, and translates errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from understudy import __version__, exits, replies
from understudy.errors import InputError
from understudy.progress import Watch

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Command(click.Command):
    r"""A command whose docstring is raw: there ``\b`` (keep these lines) is two characters."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        settings["help"] = (settings.get("help") or "").replace("\\b", "\b")
        # On each command, not on the group alone: click keeps the first help option that was made.
        settings.setdefault("context_settings", _CONTEXT)
        super().__init__(*arguments, **settings)


class _Group(_Command, click.Group):
    command_class = _Command


@click.group(cls=_Group)
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


def _folder(context: click.Context, option: click.Parameter, name: str) -> Path:
    """A folder's name: an empty one (``--out $FORGOTTEN``) would mean the current folder."""
    if not name.strip():
        raise click.BadParameter("an empty name: say which folder, or . for this one")
    return Path(name)


_OUT: dict[str, Any] = {"metavar": "DIR", "callback": _folder}
_SHARED = {
    "out": click.option("--out", required=True, help="Folder to write.", **_OUT),
    "demo's out": click.option(
        "--out", default="demo", show_default=True, help="Folder to write.", **_OUT
    ),
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
    "strangers": click.option(
        "--holdout",
        metavar="FILE",
        help="Rows that the tables were not made from. Without them closeness is not measured.",
    ),
    "draws": click.option(
        "--seed", type=click.IntRange(min=0), metavar="N", help="Seed of the measures' samples."
    ),
    "trials": click.option(
        "--trials", type=click.IntRange(min=1), metavar="N", help="Trials of each search."
    ),
    "minutes": click.option(
        "--minutes",
        type=click.FloatRange(min=0, min_open=True),
        metavar="M",
        help="Stop searching after so long; such a search cannot be repeated exactly.",
    ),
    "jobs": click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Threads (default: all cores)."
    ),
    "json": click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON object on standard output, for errors too.",
    ),
}


@cli.command()
@click.argument("file", metavar="FILE")
@click.option("--plan", type=Path, metavar="FILE.toml", help="Write a starting plan here.")
@click.option(
    "--published",
    multiple=True,
    metavar="TABLE",
    help="A table about the same people that is public already; may be given several times.",
)
@_options("json")
def inspect(file: str, plan: Path | None, published: tuple[str, ...], as_json: bool) -> None:
    """Say what is in FILE: kinds, roles, identifiers, sizes, and what to do before a release.

    \b
    Example:
      understudy inspect patients.csv --plan plan.toml
    """
    from understudy import api

    found = api.inspect(file, published=published)
    if plan is not None:
        _write_new(plan, found.to_toml())
    click.echo(json.dumps(found.to_json(), ensure_ascii=False) if as_json else found.to_text())


@cli.command()
@click.argument("file", metavar="FILE")
@_options("out", "plan", "seed", "holdout", "jobs", "json")
@click.option("--replicates", type=click.IntRange(min=1), metavar="M", help="Synthetic tables.")
@click.option("--rows", type=click.IntRange(min=1), metavar="N", help="Rows of each table.")
@click.option("--tune", is_flag=True, help="Find the plan's free settings first.")
@_options("trials", "minutes")
@click.option("--force", is_flag=True, help="Release although a gate fails; the note says so.")
def release(file: str, out: Path, as_json: bool, **options: Any) -> None:
    """Split, synthesise, measure and gate FILE, and write the release to DIR.

    \b
    Example:
      understudy release patients.csv --out out --replicates 5
    """
    from understudy import api

    _one_stdin(file, options["holdout"], options["plan"])
    with Watch(as_json) as watch:
        outcome = api.release(file, out, progress=watch, **options)
    replies.finish(outcome, as_json)


@cli.command()
@click.argument("file", metavar="FILE")
@_options("out", "plan", "seed", "holdout", "trials", "minutes", "jobs", "json")
def tune(file: str, out: Path, as_json: bool, **options: Any) -> None:
    """Find the plan's free settings for FILE; write the tuned plan and every trial to DIR.

    Trials see an inner split of the rows that the synthesis learns from, never the holdout. When
    stopped, the same command goes on where it was.

    \b
    Example:
      understudy tune patients.csv --plan bale-quick --trials 30 --out tuned
    """
    from understudy import api

    _one_stdin(file, options["holdout"])
    with Watch(as_json) as watch:
        tuned = api.tune(file, out, progress=watch, **options)
    replies.say_tuning(tuned, out, as_json)


@cli.command()
@click.argument("original", metavar="ORIGINAL")
@click.argument("synthetic", nargs=-1, required=True, metavar="SYNTHETIC...")
@_options("out", "plan", "draws", "strangers", "jobs", "json")
def assess(
    original: str, synthetic: tuple[str, ...], out: Path, as_json: bool, **options: Any
) -> None:
    """Judge SYNTHETIC tables, from any tool, against the ORIGINAL they were made from.

    \b
    Example:
      understudy assess train.csv theirs.csv --holdout holdout.csv --out out
    """
    from understudy import api

    _one_stdin(original, *synthetic, options["holdout"], options["plan"])
    with Watch(as_json) as watch:
        study = api.assess(original, list(synthetic), out, progress=watch, **options)
    failed = study.findings.failed(strict=study.plan.gates.strict)
    replies.say_assessment(study, out, as_json)
    sys.exit(exits.GATE_FAILED if failed else 0)


@cli.command()
@click.argument("folder", type=Path, metavar="DIR")
@_options("json")
def verify(folder: Path, as_json: bool) -> None:
    """Check a release folder against its manifest: hashes, plan, verdicts.

    \b
    Example:
      understudy verify out
    """
    from understudy.manifest import verify as check

    found = check(folder)
    if as_json:
        click.echo(json.dumps({"good": found.good, "problems": list(found.problems)}))
    else:
        for problem in found.problems:
            click.echo(f"✗ {problem}")
        if found.good:
            click.echo(f"✓ checked {' and '.join(found.checked)}")
    sys.exit(0 if found.good else exits.GATE_FAILED)


@cli.command()
@_options("demo's out", "seed", "jobs", "json")
def demo(out: Path, as_json: bool, **options: Any) -> None:
    """Run `release` on the built-in fictional outbreak.

    \b
    Example:
      understudy demo --out demo
    """
    from understudy import api

    with Watch(as_json) as watch:
        outcome = api.demo(out, progress=watch, **options)
    replies.finish(outcome, as_json)


@cli.command()
@click.argument("paper", required=False, metavar="[PAPER")
@click.argument("item", required=False, metavar="[ITEM]]")
@click.option(
    "--out",
    type=Path,
    default=Path("reproduce"),
    metavar="DIR",
    show_default=True,
    help="Folder to write; pages of the same items are replaced.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=2),
    metavar="N",
    help="Fewer (or more) repetitions than the paper; the output says so.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Seed of all streams (default: always the same; nothing here is confidential).",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Tables that another tool made, beside ours; what to make of is put there.",
)
@_options("jobs", "json")
def reproduce(paper: str | None, item: str | None, as_json: bool, **options: Any) -> None:
    """Recompute a paper's tables and figures; without PAPER, list them.

    \b
    Example:
      understudy reproduce
      understudy reproduce bale-quick table1 --repetitions 20
    """
    from understudy.reproduce import run

    if paper is None:
        papers = json.dumps({"papers": run.listed()}, ensure_ascii=False)
        click.echo(papers if as_json else run.catalogue())
        return
    from understudy.report.reproduced import printed

    found = []
    with Watch(as_json) as watch:
        for result, page in run.reproduce(paper, item, progress=watch, **options):
            found.append(result)
            if not as_json:
                click.echo(f"{printed(result)}\n\nPage: {page}\n")
    if as_json:
        click.echo(json.dumps({"items": found}, ensure_ascii=False))


def _one_stdin(*files: str | None) -> None:
    if files.count("-") > 1:
        raise InputError("standard input (-) can be read once: give the other as a file")


def _write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet: whole, or not at all."""
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise InputError(f"{path} exists: choose another name, or delete it") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def main() -> NoReturn:
    """Run a command; every error becomes one message and an exit status."""
    exits.leave_with(cli)
