"""Progress on a terminal, with an honest guess of the time left; silence in a pipe."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import Any

# Shares of a run by stage, in order, as seen in logs of runs on 300 to 49,000 rows. Stages that
# a run leaves out count as done when a later one begins.
SHARES = {
    "read": 1.0,
    "split": 0.5,
    "choose leaf": 45.0,
    "fit": 2.0,
    "sample": 2.0,
    "measure closeness": 14.0,
    "measure nearer": 5.0,
    "measure uniques": 1.0,
    "measure copies": 3.0,
    "measure likeness": 2.0,
    "measure attribute": 4.0,
    "measure gtcap": 1.0,
    "measure cap": 0.5,
    "measure singling_out": 3.0,
    "measure linkability": 1.0,
    "measure inference": 6.0,
    "measure ecap": 0.0,
    "measure estimate": 0.0,
    "measure posterior": 5.0,
    "measure l_function": 0.0,
    "measure marginals": 1.0,
    "measure pairs": 2.0,
    "measure pmse": 24.0,
    "measure pmse_pairs": 0.5,
    "measure regression": 0.0,
    "profile": 0.5,
    "records": 1.0,
    "report": 1.0,
}
_ENOUGH = 0.1  # share of the work after which its speed says something about the rest
_STEP = re.compile(r" (\d+) of at most (\d+)$")


class TimeLeft:
    """Time left, from the stages behind us and their usual shares of a run.

    The stages behind us took t seconds and usually make up a share d of a run: the whole takes
    about t / d. No guess is made before a tenth is done.

    Example:
        >>> left = TimeLeft()
        >>> left.begin("choose leaf", 0.0)
        >>> left.left(3.0) is None
        True
        >>> left.begin("fit", 46.5)
        >>> round(left.left(46.5), 1)
        79.5
    """

    def __init__(self) -> None:
        self.done = 0.0
        self.since = 0.0
        self.tuned: float | None = None

    def begin(self, stage: str, now: float) -> None:
        """Note that a stage (or a step of one) begins after ``now`` seconds."""
        step = _STEP.search(stage)
        name = stage[: step.start()] if step else stage
        if name == "tune" and step:
            # Trials take far longer than all else together: they are their own measure.
            self.tuned = now / int(step[1]) * int(step[2])
            return
        if not name.startswith("tune"):
            self.tuned = None
        if name not in SHARES:
            return
        names = list(SHARES)
        before = sum(SHARES[other] for other in names[: names.index(name)])
        if step:
            before += SHARES[name] * (int(step[1]) - 1) / int(step[2])
        self.done = max(self.done, before / sum(SHARES.values()))
        self.since = now

    def left(self, now: float) -> float | None:
        """Seconds left after ``now`` seconds, or None while nobody can know."""
        if self.tuned is not None:
            return max(self.tuned - now, 0.0)
        if self.done < _ENOUGH:
            return None
        return max(self.since / self.done - now, 0.0)


class Watch:
    """Progress on a terminal, silence in a pipe."""

    def __init__(self, quiet: bool, clock: Callable[[], float] = time.perf_counter) -> None:
        self.shown = sys.stderr.isatty() and not quiet
        self.clock = clock
        self.start = clock()
        self.stage = "read"
        self.guess = TimeLeft()
        self.status: Any = None

    def __enter__(self) -> Watch:
        if self.shown:
            from rich.console import Console

            self.status = Console(stderr=True).status(self)
            self.status.start()
        return self

    def __call__(self, stage: str) -> None:
        """Show a stage."""
        self.stage = stage
        self.guess.begin(stage, self.clock() - self.start)

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def __rich__(self) -> str:
        """The line that the terminal shows, made anew at every refresh."""
        return self.line(self.clock() - self.start)

    def line(self, now: float) -> str:
        """Stage, seconds since the start and, where it can be guessed, the time left."""
        left = self.guess.left(now)
        guess = "" if left is None or now < 2.0 else f", about {_spoken(left)} left"
        return f"{self.stage} ({now:.0f} s{guess})"


def _spoken(seconds: float) -> str:
    """A duration no finer than the guess is."""
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
