"""Trials of a tuning on disk: each is added as it finishes, and a tuning that was stopped goes on.

While a tuning runs its trials are in ``DIR/.tuning``; when it is done they become
``private/trials.csv``. The key there says for which plan, rows, seed and version they hold.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from understudy import __version__
from understudy.errors import InputError
from understudy.plans.plan import Plan
from understudy.study.free import Parameter
from understudy.study.trial import Outcome
from understudy.study.tune import Trial, Tuned
from understudy.tables.encode import Block

_OUTCOME = tuple(item.name for item in fields(Outcome))
_PLACE = ("search", "trial")


@dataclass(frozen=True)
class TrialLog:
    """The folder of an unfinished tuning.

    Attributes:
        folder: where the run writes.
        key: what the trials belong to.
        seed: the run's seed, kept so that it goes on without being given again.
    """

    folder: Path
    key: str
    seed: int

    @property
    def place(self) -> Path:
        """The hidden folder of the trials."""
        return self.folder / ".tuning"

    def known(self) -> tuple[Trial, ...]:
        """Trials that finished before; `InputError` where they are another run's."""
        if not self.place.is_dir():
            return ()
        if _text(self.place / "key").strip() != self.key:
            raise InputError(
                f"{self.folder} holds an unfinished tuning of another plan, table or seed: "
                f"give the same ones to go on, or delete {self.place}"
            )
        text = _text(self.place / "trials.csv")
        # Whoever was stopped while writing left half a line, which is no trial.
        return parsed(text[: text.rfind("\n") + 1])

    def add(self, free: Sequence[Parameter], trials: Sequence[Trial]) -> None:
        """Add finished trials: one write, after what is whole."""
        if not trials:
            return
        try:
            self._begin(free)
            text = "".join(_line(trial) for trial in trials)
            with (self.place / "trials.csv").open("ab") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot write to {self.place}: {reason}") from None

    def _begin(self, free: Sequence[Parameter]) -> None:
        path = self.place / "trials.csv"
        if path.exists():
            whole = path.read_bytes()
            if not whole.endswith(b"\n"):
                os.truncate(path, whole.rfind(b"\n") + 1)
            return
        self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.place / "seed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{self.seed}\n")
        path.write_text(_header(free), encoding="utf-8")
        (self.place / "key").write_text(self.key + "\n", encoding="ascii")

    def remove(self) -> None:
        """Remove what is no longer needed."""
        shutil.rmtree(self.place, ignore_errors=True)


def kept_seed(folder: Path) -> int | None:
    """The seed of an unfinished tuning in this folder, if there is one."""
    text = _text(folder / ".tuning" / "seed").strip()
    return int(text) if text.isdecimal() else None


def key_of(plan: Plan, train: Block, seed: int) -> str:
    """What trials depend on, as one hash: plan, rows of train, seed, version.

    Example:
        >>> from understudy.tables.encode import Encoding
        >>> from understudy.tables.schema import Layout
        >>> nobody = Encoding({}, Layout()).empty(0)
        >>> key_of(Plan(), nobody, 1) == key_of(Plan(), nobody, 2)
        False
    """
    found = hashlib.sha256(f"{__version__}|{plan.sha256}|{seed}|{train.rows}".encode())
    for name in train.names:
        found.update(name.encode())
        found.update(train.codes[name].tobytes())
        if name in train.values:
            found.update(train.values[name].tobytes())
    return found.hexdigest()


def to_csv(tuned: Tuned) -> str:
    """All trials as CSV, with the objective and which of them was chosen."""
    rows = [_row(t, tuned.loss(t), "chosen" if t is tuned.chosen else "") for t in tuned.trials]
    head = [*_heads(tuned.free), "objective", "chosen"]
    return _csv([head, *rows])


def parsed(text: str) -> tuple[Trial, ...]:
    """Trials of a log; numbers come back bit by bit."""
    lines = list(csv.reader(io.StringIO(text)))
    return tuple(_trial(line) for line in lines[1:])


def _trial(line: Sequence[str]) -> Trial:
    end = len(line) - len(_OUTCOME)
    values = tuple(_number(cell) for cell in line[len(_PLACE) : end])
    number, error, reference, share, limited = map(float, line[end:-1])
    outcome = Outcome(number, error, reference, share, limited, why=line[-1])
    return Trial(int(line[0]), int(line[1]), values, outcome)


def _number(cell: str) -> float:
    return int(cell) if cell.lstrip("-").isdecimal() else float(cell)


def _heads(free: Sequence[Parameter]) -> list[str]:
    return [*_PLACE, *(parameter.path for parameter in free), *_OUTCOME]


def _header(free: Sequence[Parameter]) -> str:
    return _csv([_heads(free)])


def _row(trial: Trial, *more: Any) -> list[Any]:
    outcome = [getattr(trial.outcome, name) for name in _OUTCOME]
    return [trial.search, trial.number, *trial.values, *outcome, *more]


def _line(trial: Trial) -> str:
    return _csv([_row(trial)])


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    # Python writes floats with as many digits as bring them back.
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(rows)
    return made.getvalue()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
