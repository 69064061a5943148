"""What each bound costs: inference prevention over several values of c (Bale & Quick §7.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from understudy.errors import ProtectionError
from understudy.evidence import Source
from understudy.protect import InferencePrevention, Protection
from understudy.protect.inference_prevention import Relieved, likeness
from understudy.seeds import child, stream
from understudy.study.maker import stream_of
from understudy.tables.encode import Block


def sweep(
    step: InferencePrevention,
    values: Sequence[float],
    replicate: Block,
    train: Block,
    source: Source,
    *,
    seed: int,
) -> list[dict[str, Any]]:
    """Rows added, largest ratios and pMSE ratio for each value of c, from the largest down.

    The first entry, without c, is the table without prevention; a bound that cannot be met is
    ``refused``. One table, one seed for all: the values differ in c alone.
    """
    likeness_seed = child(seed, "sweep", "pmse")

    def entry(c: float | None, done: Relieved) -> dict[str, Any]:
        return {
            "c": c,
            "added": done.rows.rows - replicate.rows,
            "rounds": done.rounds,
            "ratio": dict(done.after),
            "pmse": likeness(train, done.rows, likeness_seed),
            "refused": False,
        }

    found: list[dict[str, Any]] = []
    for c in (math.inf, *sorted(set(values), reverse=True)):
        rng = stream(seed, "sweep")
        try:
            done = replace(step, c=c).relieve(replicate, train, source, rng=rng)
        except ProtectionError:
            found.append({"c": c, "refused": True})
            continue
        found.append(entry(None if c == math.inf else c, done))
    return found


def sweeps(
    steps: Sequence[Protection],
    replicate: Block,
    train: Block,
    source: Source,
    *,
    seed: int,
    progress: Callable[[str], None] = lambda stage: None,
) -> dict[str, Any]:
    """Sweeps of the plan's preventions that ask for one, on the first table as each step finds it.

    The value of c that the plan chose is always among those tried.
    """
    if not any(isinstance(step, InferencePrevention) and step.sweep for step in steps):
        return {}
    found, rows = [], replicate
    for place, step in enumerate(steps):
        if isinstance(step, InferencePrevention) and step.sweep and step.able(train):
            progress("sweep over c")
            values = (*step.sweep, step.c)
            points = sweep(step, values, rows, train, source, seed=seed)
            found.append({"c": step.c, "rows": rows.rows, "points": points})
        rows, _ = step.apply(rows, train, source, rng=stream_of(step, seed, 1, place))
    return {"prevention": found}


__all__ = ["sweep", "sweeps"]
