"""One regression on arrays: estimates, standard errors, and which of them the rows determine.

statsmodels does the fitting (the extra ``regression``). What it leaves to the reader is decided
here: columns that others explain, separation, and what a robust covariance is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from understudy.kernels.resample import z_of

Float = NDArray[np.float64]
FAMILIES = ("logistic", "linear", "poisson")
LEVEL = 0.95
_DEPENDENT = 1e-8  # relative residual below which a column adds nothing
_EDGE = 1e-8  # a fitted share or count this near its limit: the likelihood has no maximum there
_STEPS = 100
_EXACT = 1e-10  # residual over response below which a fit is exact and has no standard errors


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted model, one entry for each column of the design.

    Attributes:
        estimate: coefficients; NaN where the rows do not determine one.
        error: their standard errors (robust ones with weights); NaN likewise.
        covariance: robust (sandwich) covariance of the estimates; NaN likewise.
        rows: rows of the fit.
        quantile: half-width of a 95% interval in standard errors.
        edge: rows fitted at the edge (separation).
        why: why nothing could be fitted, or empty.
    """

    estimate: Float
    error: Float
    covariance: Float
    rows: int
    quantile: float
    edge: int = 0
    why: str = ""

    @property
    def estimable(self) -> NDArray[np.bool_]:
        """Which coefficients the rows determine."""
        return np.isfinite(self.estimate) & np.isfinite(self.error) & (self.error > 0)

    @classmethod
    def nothing(cls, columns: int, rows: int, why: str) -> Regression:
        """No fit at all, and why."""
        none = np.full(columns, np.nan)
        return cls(none, none, np.full((columns, columns), np.nan), rows, np.nan, why=why)


def fit_regression(
    design: Float, response: Float, family: str, weights: Float | None = None
) -> Regression:
    """Fit by maximum likelihood, without penalty: O(n·p²) a step.

    - ``linear``: least squares, intervals by Student's t.
    - ``logistic``, ``poisson``: the canonical link, intervals by the normal law.
    - with weights: weighted score equations, standard errors by the sandwich
      A⁻¹ Σ wᵢ² rᵢ² xᵢxᵢᵀ A⁻¹ · n/(n − p), as surveys need them (strata and clusters are not known).

    A coefficient is determined if no combination of columns that vanishes on the rows has a part of
    it. Rows fitted at 0 or 1 (logistic) or at 0 (Poisson) only say that some coefficients are
    infinite: they are left out of that question, so that separation ends as "not determined".

    Example:
        >>> x = np.column_stack([np.ones(6), np.arange(6.0)])
        >>> fit = fit_regression(x, np.array([1.0, 3, 5, 7, 9, 12]), "linear")
        >>> fit.estimate.round(2).tolist()
        [0.81, 2.14]
    """
    rows, columns = design.shape
    scale, triangle = _triangle(design)
    keep = _independent(triangle)
    if rows <= len(keep):
        return Regression.nothing(columns, rows, "it has as many coefficients as rows")
    if not len(keep):
        return Regression.nothing(columns, rows, "no column varies")
    # Columns made orthonormal: steps are well conditioned whatever the units are.
    back = np.linalg.inv(np.linalg.qr(triangle[:, keep], mode="r")) * np.sqrt(rows)
    basis = (design[:, keep] / scale[keep]) @ back
    weight = np.ones(rows) if weights is None else weights / weights.mean()
    fitted, why = _fitted(basis, response, family, weight)
    if fitted is None:
        return Regression.nothing(columns, rows, why)
    back = back / scale[keep][:, None]
    inner = _inside(fitted.mean, family)
    determined = _determined(design[inner] / scale)[keep]
    model, robust = _covariances(basis, response, fitted, family, weight)
    if model is None:
        return Regression.nothing(columns, rows, "the fit is exact: there are no standard errors")
    used = robust if weights is not None else model
    degrees = rows - len(keep)
    student = family == "linear" and weights is None
    return Regression(
        _spread(back @ fitted.estimate, keep, determined, columns),
        _spread(_roots(back @ used @ back.T), keep, determined, columns),
        _spread_square(back @ robust @ back.T, keep, determined, columns),
        rows,
        float(stats.t.ppf(0.5 + LEVEL / 2, degrees)) if student else z_of(LEVEL),
        int(rows - np.count_nonzero(inner)),
    )


def independent_columns(design: Float) -> NDArray[np.intp]:
    """Positions of the columns that those before them do not explain: O(n·p²).

    Example:
        >>> independent_columns(np.array([[1.0, 2, 0], [1, 2, 1], [1, 2, 5]])).tolist()
        [0, 2]
    """
    return _independent(_triangle(design)[1])


def available() -> bool:
    """Whether statsmodels is installed (it is not imported)."""
    from importlib.util import find_spec

    return find_spec("statsmodels") is not None


@dataclass(frozen=True, eq=False)
class _Fitted:
    estimate: Float
    mean: Float


def _triangle(design: Float) -> tuple[Float, Float]:
    """Column norms and the triangle of the scaled design: inner products of columns, no rows."""
    norm = np.sqrt(np.einsum("ij,ij->j", design, design))
    scale = np.where(norm > 0, norm, 1.0)
    return scale, np.asarray(np.linalg.qr(design / scale, mode="r"))


def _independent(triangle: Float) -> NDArray[np.intp]:
    basis = np.zeros((triangle.shape[0], 0))
    keep = []
    for place, column in enumerate(triangle.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)  # once more: rounding of the first pass
        size = np.linalg.norm(rest)
        if size > _DEPENDENT:
            keep.append(place)
            basis = np.column_stack([basis, rest / size])
    return np.asarray(keep, dtype=np.intp)


def _determined(scaled: Float) -> NDArray[np.bool_]:
    """Columns without a part in any combination that vanishes on these rows."""
    columns = scaled.shape[1]
    if len(scaled) == 0:
        return np.zeros(columns, dtype=np.bool_)
    triangle = np.linalg.qr(scaled, mode="r")
    full = np.zeros((columns, columns))
    full[: len(triangle)] = triangle
    _, size, right = np.linalg.svd(full)
    vanishing = right[size <= _DEPENDENT * max(float(size[0]), 1e-300)]
    return np.asarray(np.abs(vanishing).max(axis=0, initial=0.0) < 1e-6)


def _inside(mean: Float, family: str) -> NDArray[np.bool_]:
    if family == "logistic":
        return (mean > _EDGE) & (mean < 1 - _EDGE)
    return mean > _EDGE if family == "poisson" else np.ones(len(mean), dtype=np.bool_)


def _fitted(
    basis: Float, response: Float, family: str, weight: Float
) -> tuple[_Fitted | None, str]:
    """Coefficients and means by statsmodels, whose warnings and errors become sentences."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = _statsmodels(basis, response, family, weight)
            estimate = np.asarray(found.params, dtype=np.float64)
            mean = np.asarray(found.fittedvalues, dtype=np.float64)  # computed when asked for
        except ImportError:
            return None, "statsmodels is not installed: run  pip install 'understudy[regression]'"
        except (np.linalg.LinAlgError, ValueError, ArithmeticError):
            # Their messages may hold data.
            return None, "maximum likelihood broke down"
    if not getattr(found, "converged", True):
        return None, f"maximum likelihood did not converge in {_STEPS} steps"
    if not (np.isfinite(estimate).all() and np.isfinite(mean).all()):
        return None, "maximum likelihood broke down"
    return _Fitted(estimate, mean), ""


def _statsmodels(basis: Float, response: Float, family: str, weight: Float) -> Any:
    if family == "linear":
        from statsmodels.regression.linear_model import WLS

        return WLS(response, basis, weights=weight).fit()
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    kind = families.Binomial() if family == "logistic" else families.Poisson()
    return GLM(response, basis, family=kind, var_weights=weight).fit(maxiter=_STEPS, tol=1e-10)


def _covariances(
    basis: Float, response: Float, fitted: _Fitted, family: str, weight: Float
) -> tuple[Float | None, Float]:
    """The model's own covariance and the sandwich; no first one where the fit is exact."""
    rows, columns = basis.shape
    mean, residual = fitted.mean, response - fitted.mean
    curve = {"logistic": mean * (1 - mean), "poisson": mean}.get(family, np.ones(rows))
    information = basis.T @ (basis * (weight * curve)[:, None])
    bread = np.asarray(np.linalg.pinv(information, hermitian=True), dtype=np.float64)
    meat = basis.T @ (basis * ((weight * residual) ** 2)[:, None])
    robust = np.asarray(bread @ meat @ bread * (rows / (rows - columns)), dtype=np.float64)
    if family != "linear":
        return bread, robust
    noise = float(weight @ residual**2)
    total = float(weight @ response**2)
    if noise <= _EXACT**2 * total:
        return None, robust
    return np.asarray(bread * (noise / (rows - columns))), robust


def _roots(covariance: Float) -> Float:
    return np.sqrt(np.maximum(np.diag(covariance), 0))


def _spread(
    values: Float, keep: NDArray[np.intp], determined: NDArray[np.bool_], columns: int
) -> Float:
    whole = np.full(columns, np.nan)
    whole[keep[determined]] = values[determined]
    return whole


def _spread_square(
    values: Float, keep: NDArray[np.intp], determined: NDArray[np.bool_], columns: int
) -> Float:
    whole = np.full((columns, columns), np.nan)
    at = keep[determined]
    whole[np.ix_(at, at)] = values[np.ix_(determined, determined)]
    return whole
