"""What a run says of itself beside its findings: sizes, receipts, and where it came from."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from understudy import __version__
from understudy.evidence import Evidence
from understudy.plans.plan import Plan
from understudy.study.judge import Gating
from understudy.study.leaf import Trial, searched
from understudy.study.ledger import unlisted
from understudy.study.ready import Ready
from understudy.synth.sequence import Visit
from understudy.tables.table import Table


def approximations(visits: Sequence[Visit], rows: int, searches: bool) -> list[dict[str, Any]]:
    """What was done on a sample of train, said once each."""
    said = [visit.model.approximates(rows) for visit in visits]
    said += [searched(rows)] if searches else []
    said.append(unlisted(rows))
    return [receipt_of("sampled", {"did": words}) for words in dict.fromkeys(said) if words]


def sizes_of(evidence: Evidence, tables: Sequence[Table]) -> dict[str, Any]:
    """Rows and columns of all tables, and people where they have several rows."""
    train, held = evidence.train, [evidence.control, evidence.fresh]
    columns = len(train.names)
    rows = {"rows": train.rows, "columns": columns}
    others = {"rows": sum(block.rows for block in held), "columns": columns}
    synthetic = [{"rows": t.rows, "columns": len(t.schema)} for t in tables]
    if train.person is not None:
        rows["people"] = train.people
        others["people"] = sum(block.people for block in held)
        for size, block in zip(synthetic, evidence.release, strict=True):
            size["people"] = block.people
    return {"train": rows, "holdout": others, "synthetic": synthetic}


def provenance_of(
    plan: Plan, ready: Ready, leaf: int | None, trials: Sequence[Trial], gating: Gating
) -> dict[str, Any]:
    """The plan, the programs, what was left out, and the search for the leaf."""
    result: dict[str, Any] = {
        "job": "release",
        "plan": plan.name,
        "said": list(plan.notes),
        "strict": gating.strict,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "dropped": dict(ready.dropped),
        "surrogates": list(ready.surrogate),
        "read": list(ready.original.notes),
        "level": gating.level(plan.replicates),
        "error": gating.error,
        "version": __version__,
    }
    if leaf is not None:
        held = any(trial.leaf == leaf and trial.holds for trial in trials)
        tried = [vars(trial) for trial in trials]
        result["leaf"] = {"chosen": leaf, "held": held, "trials": tried}
    return result


def receipt_of(step: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a step did."""
    return {"step": step, **values}
