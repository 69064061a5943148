"""The attack on all records in aggregates: two-way table, R by replicates, spread of the ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.risk.posterior_checks import Agreement
from understudy.risk.posterior_records import Found, Numbers

if TYPE_CHECKING:
    from understudy.risk.posterior import PosteriorJudge

Floats = NDArray[np.float64]
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_POOLED = 10  # quantiles beyond which fewer records lie are left out


def summary(judge: PosteriorJudge, found: Found, agreed: Agreement) -> dict[str, Any]:
    """Numbers for the report; none of them is about fewer than ten records."""
    assert judge.candidates is not None
    before, after = found.prior.correct, found.after.correct
    right = after > 0.5
    return {
        "columns": list(judge.columns),
        "candidates": judge.candidates.kind,
        "most": judge.candidates.most,
        "prior": judge.settings.prior,
        "records": len(found.records),
        "of": judge.evidence.train.rows,
        "correct": round(float(after.mean()), 5),
        "prior_correct": round(float(before.mean()), 5),
        "difference": round(float((after - before).mean()), 5),
        "two_way": two_way(before, after),
        "replicates": [round(float(one.correct.mean()), 5) for one in found.each],
        "by_m": [round(float(one.correct.mean()), 5) for one in found.first],
        "truth": [round(float(one.truth.mean()), 5) for one in (found.prior, found.after)],
        "ratio": quantiles(found.ratio),
        "ratio_where_right": quantiles(found.ratio[right]),
        "numbers": {name: _about(one) for name, one in found.numbers.items()},
        "checks": {
            "records": len(agreed.worst),
            "worst": round(float(agreed.worst.max(initial=0.0)), 5),
            "flips": agreed.flips,
        },
    }


def two_way(before: Floats, after: Floats) -> list[list[float]]:
    """Table 3 of Reiter, Wang & Zhang: rows, the prior's guess right or wrong; columns, after.

    A tie counts by its chance.

    Example:
        >>> two_way(np.array([1.0, 1.0, 0.0, 0.5]), np.array([1.0, 0.0, 1.0, 0.5]))
        [[1.25, 1.25], [1.25, 0.25]]
    """
    return [
        [round(float((b * a).sum()), 4) for a in (after, 1 - after)] for b in (before, 1 - before)
    ]


def quantiles(ratio: Floats) -> dict[str, float]:
    """Quantiles of p(truth | Z) / p(truth), as far as ten records lie beyond them."""
    ratio = ratio[np.isfinite(ratio)]
    shares = [s for s in _SHARES if min(s, 1 - s) * ratio.size >= _POOLED]
    return {f"{share:g}": round(float(np.quantile(ratio, share)), 4) for share in shares}


def _about(one: Numbers) -> dict[str, float]:
    """Mean |E_i| before and after, mean width of credible intervals, how often they are right."""
    known = np.isfinite(one.after)
    if known.sum() < _POOLED:
        return {}
    return {
        "error_before": round(float(np.abs(one.before[known]).mean()), 5),
        "error_after": round(float(np.abs(one.after[known]).mean()), 5),
        "width_before": round(float(one.width_before[known].mean()), 5),
        "width_after": round(float((one.high - one.low)[known].mean()), 5),
        "inside": round(float(one.inside[known].mean()), 5),
    }
