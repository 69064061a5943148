"""How a command ends: errors and interrupts become one message and an exit status."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, NoReturn

import click

from understudy.errors import InputError, UnderstudyError

GATE_FAILED, USAGE, BUG, INTERRUPTED = 3, 2, 1, 130


def leave_with(command: click.Command) -> NoReturn:
    """Run a command; every error becomes one message and an exit status."""
    if not sys.warnoptions:  # what a library wants changed in our code is not the user's business
        warnings.simplefilter("ignore")
    _reopen()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without our letters shows others
            stream.reconfigure(errors="backslashreplace")
    interrupts = _Interrupts()
    try:
        with interrupts:
            status = _run(command)
            sys.stdout.flush()
    except BrokenPipeError:  # who read our output has left: nobody is there to be told
        _drop_output()
        sys.exit(0)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # no file's: a stream's
            _drop_output()
            error = InputError(
                f"cannot write to standard output: {error.strerror or error}; files that were "
                "written are whole"
            )
        sys.exit(_report(click.Abort() if interrupts.came else error))
    except KeyboardInterrupt:
        sys.exit(_report(click.Abort()))
    sys.exit(status)


def leave_at_once(status: int) -> NoReturn:
    """End the process without tearing its libraries down.

    Arrow's threads may outlive the read that started them; then, now and then, the end of the
    process aborts (Arrow's issues 34314 and 39862). The work is done and all files are closed: the
    exit status must say so.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody is left to be told
            stream.flush()
    os._exit(status)


def _reopen() -> None:
    """Streams that whoever started us has closed: what is said there goes nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _drop_output() -> None:
    """Forget what could not be written, or Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(command: click.Command) -> int:
    if "_UNDERSTUDY_COMPLETE" in os.environ:  # a shell asks how a line may go on
        command.main()
    try:
        with command.make_context("understudy", sys.argv[1:]) as context:
            command.invoke(context)
    except click.exceptions.Exit as left:
        return left.exit_code
    return 0


def _hang_up() -> list[int]:
    """The signal of a terminal that closes, where there is one and ``nohup`` does not ignore it."""
    if not hasattr(signal, "SIGHUP") or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return []
    return [signal.SIGHUP]


class _Interrupts:
    """Ctrl-C, a request to end, a terminal that closes: each unwinds the program, and once only.

    Cleaning up is not interrupted.
    """

    def __init__(self) -> None:
        self.came = False
        self.before: dict[int, Any] = {}

    def __enter__(self) -> _Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, *_hang_up()):
                self.before[number] = signal.signal(number, self._unwind)
        return self

    def _unwind(self, *_: object) -> None:
        if not self.came:
            self.came = True
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def _report(error: Exception) -> int:
    """Say one message, as JSON on standard output if that was asked for; returns the status."""
    status, message = _told(error)
    if "--json" in sys.argv[1:]:
        click.echo(json.dumps({"error": message, "status": status}, ensure_ascii=False))
    else:
        click.echo(f"understudy: {message}", err=True)
    return status


def _told(error: Exception) -> tuple[int, str]:
    if isinstance(error, click.Abort):
        return INTERRUPTED, "interrupted; nothing was left half-written"
    if isinstance(error, click.ClickException):
        return USAGE, _usage(error)
    if isinstance(error, UnderstudyError):
        return USAGE, str(error)
    if isinstance(error, MemoryError):
        return USAGE, "not enough memory: ask for fewer --rows or columns, or use a larger machine"
    return BUG, _bug(error)


def _usage(error: click.ClickException) -> str:
    if type(error).__name__ == "NoArgsIsHelpError":  # click has it from 8.2
        return f"no command given\n\n{error.format_message()}"
    context = error.ctx if isinstance(error, click.UsageError) else None
    more = "" if context is None else f" (see  {context.command_path} --help)"
    return f"{error.format_message().rstrip('.')}{more}"


def _bug(error: Exception) -> str:
    """An error in our program: say where, never what the data were."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno} in {last.name}"
    # The exception's own text may quote a cell, so only its kind is shown.
    return (
        f"this is a bug in understudy ({type(error).__name__} at {where}); "
        "nothing was released. Please report this line."
    )
