"""One answer from several synthetic tables: the rule that fits how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.kernels.combine import RULES
from understudy.kernels.combine import combine as _combine
from understudy.plans.plan import Plan
from understudy.study import Study
from understudy.synth import MODELS
from understudy.tables.schema import Role

Floats = NDArray[np.float64]
_SEVERAL = ("partial", "full")
_NOTES = {
    "simple": "rows drawn from fitted parameters: T = v̄(k/n + 1/m) (Raab, Nowok & Dibben 2016)",
    "proper": "parameters drawn anew for each table: T = v̄(k/n + (1 + k/n)/m) (Raab, Nowok & "
    "Dibben 2016)",
    "partial": "some columns kept: T = v̄ + b/m (Reiter 2003)",
    "full": "from the spread of proper tables: T = (1 + 1/m)b − v̄ (Raghunathan, Reiter & Rubin "
    "2003); conservative with few tables",
}


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates combined over tables, one entry each (arrays of the estimates' shape).

    Attributes:
        estimate: mean over the tables.
        error: standard error.
        low: lower end of the interval.
        high: upper end of it.
        degrees: degrees of freedom of Student's t; infinite for the normal law.
        rule: the rule that was used.
        note: the rule in words, and where a fallback was needed.
    """

    estimate: Floats
    error: Floats
    low: Floats
    high: Floats
    degrees: Floats
    rule: str
    note: str


def combine(
    estimates: ArrayLike,
    errors: ArrayLike,
    made: Study | Plan | str | Path = "simple",
    *,
    share: float | None = None,
    level: float = 0.95,
) -> Combined:
    """Combine estimates from m synthetic tables, each analysed as if it were the original.

    Args:
        estimates: one estimate, or a row of several, from each table.
        errors: their standard errors. With survey weights: those of the weighted analysis.
        made: how the tables were made: the `Study` or the plan (or its file), which knows the rule;
            or the rule itself: ``simple``, ``proper``, ``partial`` or ``full``.
        share: k/n, synthetic rows of a table over the people learnt from (people over people where
            they have several rows). A study knows it; for a plan the default is that of as many
            rows as the whole table has; for a rule it is 1.
        level: confidence of the interval.

    Example:
        >>> found = combine([0.12182, 0.13209], [0.02121, 0.02516], "partial")
        >>> round(float(found.estimate), 5), round(float(found.error) ** 2, 7)
        (0.12696, 0.0005678)
    """
    rule, known = _how(made)
    q, u = _table(estimates, "estimates"), _table(errors, "errors")
    if q.shape != u.shape:
        raise InputError(
            f"estimates have the shape {q.shape} and errors {u.shape}: give one error for each"
        )
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise InputError("estimates and errors must be finite numbers, and errors not negative")
    if not 0 < level < 1:
        raise InputError(f"level is {level}: it must lie between 0 and 1, such as 0.95")
    if rule in _SEVERAL and len(q) < 2:
        raise InputError(
            f"one table cannot be combined by the rule {rule}: its variance is only seen between "
            "tables, so make at least two (--replicates)"
        )
    used = known if share is None else float(share)
    if not (np.isfinite(used) and used > 0):
        raise InputError(f"share is {used}: it must be a positive number, such as 1.0")
    found = _combine(q, u**2, rule, used)
    low, high = found.interval(level)
    note = _NOTES[rule]
    if found.repaired.any():
        note += f"; negative for {int(found.repaired.sum())}, where v̄·k/n stands instead"
    return Combined(found.estimate, np.sqrt(found.variance), low, high, found.degrees, rule, note)


def _how(made: Study | Plan | str | Path) -> tuple[str, float]:
    """The rule, and k/n."""
    if isinstance(made, Study):
        if made.fitted is None:
            raise InputError(
                "these tables were made elsewhere, so nobody here knows how: name the rule, one "
                f"of {', '.join(RULES)}"
            )
        sizes = made.findings.tables
        train, first = sizes["train"], sizes["synthetic"][0]
        unit = "people" if "people" in train else "rows"  # people with several rows are the sample
        return made.fitted.settings.combining, int(first[unit]) / int(train[unit])
    if isinstance(made, str) and made in RULES:
        return made, 1.0
    plan = made if isinstance(made, Plan) else Plan.read(made)
    return _rule_of(plan), 1 / plan.split.train


def _rule_of(plan: Plan) -> str:
    """What the plan's models will do, before they are fitted (see `Sequential.combining`)."""
    models = [(visit.model, visit.settings) for visit in plan.visits]
    models.append((plan.model, plan.settings))
    kept = any(look.get("role") == Role.KEEP.value for look in plan.columns.values())
    if kept or any(MODELS[name].fixed for name, _ in models):
        return "partial"
    drawn = any(settings.get("bootstrap", MODELS[name]().proper) for name, settings in models)
    return "proper" if drawn else "simple"


def _table(values: Any, what: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers, one row for each table") from None
    if array.ndim not in (1, 2) or array.shape[0] == 0:
        raise InputError(f"{what} must have one entry, or one row, for each table")
    return array
