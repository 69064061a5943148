"""What each bound costs: inference prevention over several values of c (Bale & Quick §7.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from understudy.attack import Known
from understudy.errors import ProtectionError
from understudy.evidence import Source
from understudy.protect import InferencePrevention, Protection
from understudy.protect.inference_prevention import likeness
from understudy.seeds import child, stream
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
    known, targets = Known.of(train), step.targets(train)

    def entry(c: float | None, rows: Block, rounds: int) -> dict[str, Any]:
        ratios = step.ratios(known, targets, train, rows)
        return {
            "c": c,
            "added": rows.rows - replicate.rows,
            "rounds": rounds,
            "ratio": {name: round(float(r.max(initial=0.0)), 3) for name, r in ratios.items()},
            "pmse": likeness(train, rows, child(seed, "sweep", "pmse")),
            "refused": False,
        }

    found = [entry(None, replicate, 0)]
    for c in sorted(set(values), reverse=True):
        rng = stream(seed, "sweep")
        try:
            rows, receipt = replace(step, c=c).apply(replicate, train, source, rng=rng)
        except ProtectionError:
            found.append({"c": c, "refused": True})
            continue
        found.append(entry(c, rows, receipt.rounds))
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
        if isinstance(step, InferencePrevention) and step.sweep:
            progress("sweep over c")
            values = (*step.sweep, step.c)
            points = sweep(step, values, rows, train, source, seed=seed)
            found.append({"c": step.c, "rows": rows.rows, "points": points})
        rows, _ = step.apply(rows, train, source, rng=stream(seed, "protect", 1, place))
    return {"prevention": found}


__all__ = ["sweep", "sweeps"]
