"""Coefficients of one model, side by side: what the report draws. Aggregates, never rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import coefficients
from understudy.kernels.coefficients import Compared
from understudy.kernels.combine import combine
from understudy.kernels.regression import LEVEL, Regression

LEAST = 10  # rows of train that a shown coefficient's cell must hold


def coefficient_table(
    names: Sequence[str],
    people: NDArray[np.int64],
    own: Regression,
    held: Regression,
    release: Sequence[Regression],
    rule: str,
) -> dict[str, Any]:
    """Each coefficient on train, on the holdout, on every replicate, and combined.

    Coefficients of cells that fewer than ten rows of train share are counted, not shown.

    Args:
        names: of the coefficients.
        people: rows of train in the cell of each.
        own: the fit on train.
        held: the fit on the holdout (nothing where there is none).
        release: the fits on the replicates.
        rule: how the replicates were made, for `combine`.
    """
    shown = [k for k in range(len(names)) if people[k] >= LEAST and own.estimable[k]]
    compared = [compare_fits(own, fit) for fit in release]
    place = np.cumsum(own.estimable) - 1  # where a coefficient stands among those compared
    share = float(np.mean([fit.rows for fit in release])) / own.rows
    rows = [
        {
            "name": names[k],
            "original": _one(own, k, own),
            "holdout": _one(held, k, own),
            "synthetic": [_one(fit, k, own) for fit in release],
            "combined": _combined(release, k, own, rule, share),
            "difference": float(np.median([one.difference[place[k]] for one in compared])),
            "overlap": float(np.median([one.overlap[place[k]] for one in compared])),
        }
        for k in shown
    ]
    return {
        "rows": {"train": own.rows, "holdout": held.rows, "synthetic": [f.rows for f in release]},
        "rule": rule if _combines(rule, len(release)) else "own",
        "level": LEVEL,
        "coefficients": rows,
        "hidden": int(own.estimable.sum()) - len(shown),
        "undetermined": int((~own.estimable).sum()),
        "medians": {
            "holdout": _medians(own, [held]) if held.rows else None,
            "synthetic": _medians(own, release),
        },
    }


def _one(fit: Regression, k: int, own: Regression) -> dict[str, float] | None:
    """An estimate with its interval, its SD and IO, and its place in the original's errors."""
    if not fit.estimable[k]:
        return None
    estimate, error = float(fit.estimate[k]), float(fit.error[k])
    half = fit.quantile * error
    one = slice(k, k + 1)
    compared = coefficients.compare(
        own.estimate[one],
        own.error[one],
        fit.estimate[one],
        fit.error[one],
        (own.quantile, fit.quantile),
    )
    return {
        "estimate": estimate,
        "error": error,
        "difference": float(compared.difference[0]),
        "overlap": float(compared.overlap[0]),
        **_ends(estimate, estimate - half, estimate + half, k, own),
    }


def _combined(
    release: Sequence[Regression], k: int, own: Regression, rule: str, share: float
) -> dict[str, float] | None:
    """The estimate that an analyst of all replicates has, by the rule that fits them."""
    fits = [fit for fit in release if fit.estimable[k]]
    if len(fits) < len(release):
        return None
    if not _combines(rule, len(fits)):
        return _one(fits[0], k, own)
    estimates = np.array([fit.estimate[k] for fit in fits])
    found = combine(estimates, np.array([fit.error[k] ** 2 for fit in fits]), rule, share)
    low, high = found.interval(LEVEL)
    ends = _ends(float(found.estimate), float(low), float(high), k, own)
    return {"estimate": float(found.estimate), "error": float(np.sqrt(found.variance)), **ends}


def _combines(rule: str, count: int) -> bool:
    return count > 1 or rule in ("simple", "proper")


def _ends(estimate: float, low: float, high: float, k: int, own: Regression) -> dict[str, float]:
    centre, unit = float(own.estimate[k]), float(own.error[k])
    scaled = [(value - centre) / unit for value in (estimate, low, high)]
    return {
        "low": low,
        "high": high,
        "at": scaled[0],
        "at_low": scaled[1],
        "at_high": scaled[2],
    }


def _medians(own: Regression, fits: Sequence[Regression]) -> dict[str, float]:
    found = [compare_fits(own, fit) for fit in fits]
    return {
        "difference": float(np.median([one.difference for one in found])),
        "overlap": float(np.median([one.overlap for one in found])),
    }


def compare_fits(own: Regression, other: Regression) -> Compared:
    """The coefficients that train determines, on train and on another table."""
    at = own.estimable
    return coefficients.compare(
        own.estimate[at],
        own.error[at],
        other.estimate[at],
        np.where(other.estimable, other.error, np.nan)[at],
        (own.quantile, other.quantile if np.isfinite(other.quantile) else own.quantile),
    )
