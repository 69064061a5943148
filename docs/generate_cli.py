"""Write ``docs/cli.md`` from the commands' own help. A test fails when the page is stale."""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import cli

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 96
HEAD = """\
# Commands

This page is generated from the commands' own help by `docs/generate_cli.py`; do not edit it.

Every command takes `--help` and `--json`. Where a FILE is read, `-` means standard input. Progress
and the time left are shown on a terminal only. With `--json` errors are JSON as well, with the keys
`error` and `status`.

| exit status | meaning |
|---|---|
| 0 | done, and no gate fails |
| 1 | an error in `understudy` itself |
| 2 | a usage or input error: one message that says what, where, and what to do |
| 3 | a gate failed (`release`, `assess`, `demo`), or a release folder does not verify (`verify`) |
| 130 | interrupted; nothing is left half-written |
"""


def reference() -> str:
    """The whole page."""
    settings = {**cli.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    root = click.Context(cli, info_name="understudy", **settings)
    parts = [HEAD, _section("understudy", cli.get_help(root))]
    for name in sorted(cli.commands):
        command = cli.commands[name]
        context = click.Context(command, info_name=name, parent=root, **settings)
        parts.append(_section(f"understudy {name}", command.get_help(context)))
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n```text\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
