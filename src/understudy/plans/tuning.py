"""The ``[tune]`` section of a plan: what is free, what is optimised, with which budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.errors import PlanError
from understudy.plans import checks

RATIO = "(24)"
AUTO = "auto"
GOALS = (AUTO, "minimise", "maximise", "reference")
_FREE = ("column", "setting", "low", "high", "whole", "log")
_CEILING = ("measure", "most", "target")


@dataclass(frozen=True)
class Tuning:
    """How strengths are found (Bale & Quick §5.4).

    Attributes:
        free: ``auto``, or the free settings: tables of ``setting``, ``low``, ``high`` and, if
            wanted, ``column`` (whose visit it is; without it all visits that have the setting),
            ``whole`` and ``log``.
        objective: ``(24)``, the squared deviation of the mean pMSE ratio from 1, or the name of
            any number that a measure makes.
        target: which of several numbers of that name, such as ``holdout``.
        goal: for a number by name: ``minimise``, ``maximise``, or as near as can be to its
            ``reference``; ``auto`` asks the measure.
        discriminator: ``cart`` or ``logit``, for (24).
        against: (24) compares with the rows learnt from (``train``) or with the ``other`` half.
        ceiling: a number that must stay at or below ``most``: ``measure``, ``most``, ``target``.
        seeds: independent searches.
        trials: trials of each search.
        first: random trials at the beginning of each search.
        batch: trials that a search proposes together, whatever the number of workers.
        replicates: synthetic tables of each trial.
        pairs: pairs of replicates whose mean is the null of the tree's pMSE.
        patience: a search stops after so many batches without improvement (0: never).
        minutes: stop proposing after so long; such a search cannot be repeated exactly.
        rows: most rows that a trial learns from.
        swap: both halves are learnt from in turn, by every other replicate: how near honest rows
            come to one of two halves is a matter of chance, which this takes out.
        fresh: seeds on which the winner is measured again.
    """

    free: str | tuple[Mapping[str, Any], ...] = AUTO
    objective: str = RATIO
    target: str | None = None
    goal: str = AUTO
    discriminator: str = "cart"
    against: str = "train"
    ceiling: Mapping[str, Any] | None = None
    seeds: int = 5
    trials: int = 30
    first: int = 5
    batch: int = 1
    replicates: int = 20
    pairs: int = 20
    patience: int = 0
    minutes: float | None = None
    rows: int = 5_000
    swap: bool = True
    fresh: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", _free(self.free))
        checks.is_text("tune.objective", self.objective)
        if self.target is not None:
            checks.is_text("tune.target", self.target)
        checks.one_of("tune.goal", self.goal, GOALS)
        checks.one_of("tune.discriminator", self.discriminator, ["cart", "logit"])
        checks.one_of("tune.against", self.against, ["train", "other"])
        if self.ceiling is not None:
            _check_ceiling(self.ceiling)
            object.__setattr__(self, "ceiling", checks.plain(self.ceiling))
        for name, least in _LEAST.items():
            checks.is_whole(f"tune.{name}", getattr(self, name), least)
        if self.minutes is not None and not _positive(self.minutes):
            raise PlanError("tune.minutes", self.minutes, "minutes above 0")
        checks.is_flag("tune.swap", self.swap)
        least = (2 if self.objective == RATIO and self.discriminator == "cart" else 1) << self.swap
        if self.replicates < least:
            expected = f"at least {least}: halves are swapped, or a tree's null is made of pairs"
            raise PlanError("tune.replicates", self.replicates, expected)

    def to_dict(self) -> dict[str, Any]:
        """The section as a TOML table."""
        return dict(vars(self))


_LEAST = {
    "seeds": 1,
    "trials": 1,
    "first": 1,
    "batch": 1,
    "replicates": 1,
    "pairs": 1,
    "patience": 0,
    "rows": 50,
    "fresh": 1,
}


def _free(value: Any) -> str | tuple[Mapping[str, Any], ...]:
    if isinstance(value, str):
        checks.one_of("tune.free", value, [AUTO])
        return AUTO
    entries = checks.tables("tune.free", value)
    if not entries:
        raise PlanError("tune.free", [], 'at least one setting, or "auto"')
    for place, entry in enumerate(entries):
        _check_free(f"tune.free[{place}]", entry)
    return entries


def _check_free(where: str, entry: Mapping[str, Any]) -> None:
    checks.known_keys(where, entry, _FREE)
    for key in ("setting", "low", "high"):
        if key not in entry:
            raise PlanError(f"{where}.{key}", None, "given: each free setting names its own")
    checks.is_text(f"{where}.setting", entry["setting"])
    if "column" in entry:
        checks.is_text(f"{where}.column", entry["column"])
    for key in ("whole", "log"):
        checks.is_flag(f"{where}.{key}", entry.get(key, False))
    for key in ("low", "high"):
        if not _finite(entry[key]):
            raise PlanError(f"{where}.{key}", entry[key], "a number")
    if entry["low"] >= entry["high"]:
        raise PlanError(f"{where}.high", entry["high"], f"a number above low, {entry['low']}")
    if entry.get("log") and entry["low"] <= 0:
        raise PlanError(f"{where}.low", entry["low"], "a number above 0, for a logarithmic scale")


def _check_ceiling(ceiling: Any) -> None:
    checks.is_table("tune.ceiling", ceiling)
    checks.known_keys("tune.ceiling", ceiling, _CEILING)
    for key in ("measure", "most"):
        if key not in ceiling:
            raise PlanError(f"tune.ceiling.{key}", None, "given")
    checks.is_text("tune.ceiling.measure", ceiling["measure"])
    if not _finite(ceiling["most"]):
        raise PlanError("tune.ceiling.most", ceiling["most"], "a number")
    if "target" in ceiling:
        checks.is_text("tune.ceiling.target", ceiling["target"])


def _finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _positive(value: Any) -> bool:
    return _finite(value) and value > 0
