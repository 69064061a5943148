"""The program: ``understudy`` and ``python -m understudy``."""

from __future__ import annotations

from typing import NoReturn

from understudy import cli, exits


def main() -> NoReturn:
    """Run a command, and leave at once when it is done."""
    try:
        cli.main()
    except SystemExit as left:
        status = 0 if left.code is None else left.code
        exits.leave_at_once(status if isinstance(status, int) else exits.BUG)


if __name__ == "__main__":
    main()
