"""Fits against statsmodels' formula API, which builds designs, fits and codes by other ways."""

import sys
import warnings

import numpy as np
import pytest

from understudy.kernels import regression
from understudy.kernels.regression import fit_regression, independent_columns

sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")


@pytest.fixture(scope="module")
def fair():
    frame = sm.datasets.fair.load_pandas().data
    return frame.assign(any=(frame.affairs > 0) * 1.0, count=np.round(frame.affairs))


def columns(frame):
    """Intercept, age, religious, educ, age × religious."""
    a, r, e = frame.age.to_numpy(), frame.religious.to_numpy(), frame.educ.to_numpy()
    return np.column_stack([np.ones(len(frame)), a, r, e, a * r])


TERMS = "~ age*religious + educ"
ORDER = ["Intercept", "age", "religious", "educ", "age:religious"]
FITS = {
    "logistic": lambda frame: smf.logit("any " + TERMS, frame).fit(disp=0, tol=1e-12),
    "linear": lambda frame: smf.ols("affairs " + TERMS, frame).fit(),
    "poisson": lambda frame: smf.poisson("count " + TERMS, frame).fit(disp=0, tol=1e-12),
}
LEFT = {"logistic": "any", "linear": "affairs", "poisson": "count"}


@pytest.mark.parametrize("family", FITS)
def test_estimates_errors_and_intervals_are_those_of_statsmodels(fair, family):
    theirs = FITS[family](fair)
    ours = fit_regression(columns(fair), fair[LEFT[family]].to_numpy(), family)
    assert ours.estimate == pytest.approx(theirs.params[ORDER].to_numpy(), rel=1e-6)
    assert ours.error == pytest.approx(theirs.bse[ORDER].to_numpy(), rel=1e-6)
    low, high = theirs.conf_int().loc[ORDER].to_numpy().T
    assert ours.estimate - ours.quantile * ours.error == pytest.approx(low, rel=1e-6)
    assert ours.estimate + ours.quantile * ours.error == pytest.approx(high, rel=1e-6)
    assert ours.rows == len(fair) and ours.edge == 0 and ours.estimable.all()


@pytest.mark.parametrize("family", FITS)
def test_the_robust_covariance_is_hc1(fair, family):
    y, x = fair[LEFT[family]].to_numpy(), columns(fair)
    kinds = {"logistic": sm.families.Binomial(), "poisson": sm.families.Poisson()}
    model = sm.GLM(y, x, family=kinds.get(family, sm.families.Gaussian()))
    # statsmodels' HC0 leaves out n / (n − p).
    theirs = model.fit(cov_type="HC0", tol=1e-12).cov_params() * len(y) / (len(y) - 5)
    assert fit_regression(x, y, family).covariance == pytest.approx(np.asarray(theirs), rel=1e-5)


def test_weights_that_repeat_rows_give_the_estimates_of_repeated_rows(fair):
    frame = fair.iloc[::8]  # its rows are sorted by the response
    times = np.random.default_rng(1).integers(1, 4, len(frame))
    x, y = columns(frame), frame["any"].to_numpy()
    weighted = fit_regression(x, y, "logistic", times.astype(float))
    repeated = fit_regression(np.repeat(x, times, axis=0), np.repeat(y, times), "logistic")
    assert weighted.estimate == pytest.approx(repeated.estimate, rel=1e-6)
    # The scale of weights means nothing.
    again = fit_regression(x, y, "logistic", times * 1e6)
    assert again.error == pytest.approx(weighted.error, rel=1e-6)


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_weighted_errors_by_the_closed_form_of_a_mean(family):
    """An intercept alone is the weighted mean p; its variance is Σ w²(y − p)² / (Σ w)²."""
    rng = np.random.default_rng(2)
    w, y = rng.exponential(size=300) + 0.1, rng.integers(0, 2, 300).astype(float)
    fit = fit_regression(np.ones((300, 1)), y, family, w)
    p = np.average(y, weights=w)
    error = np.sqrt(np.sum(w**2 * (y - p) ** 2) * 300 / 299) / w.sum()
    if family == "logistic":  # of log p/(1 − p), whose slope is 1/(p(1 − p))
        p, error = np.log(p / (1 - p)), error / (p * (1 - p))
    assert fit.estimate[0] == pytest.approx(p, rel=1e-7)
    assert fit.error[0] == pytest.approx(error, rel=1e-7)


def test_units_do_not_matter(fair):
    x, y = columns(fair), fair["any"].to_numpy()
    units = np.array([1, 1e-7, 1e6, 1e4, 1e-9])
    one, other = fit_regression(x, y, "logistic"), fit_regression(x * units, y, "logistic")
    assert other.estimate * units == pytest.approx(one.estimate, rel=1e-6)
    assert other.error * units == pytest.approx(one.error, rel=1e-6)


def test_places_far_from_the_origin_are_no_trouble():
    """Longitude × latitude on one island: columns that agree to five digits."""
    rng = np.random.default_rng(3)
    a, b = -33.4 + rng.normal(0, 0.1, 4000), 45.4 + rng.normal(0, 0.1, 4000)
    da, db = a - a.mean(), b - b.mean()
    y = (rng.random(4000) < 1 / (1 + np.exp(1 - 5 * da * db - da))).astype(float)
    fit = fit_regression(np.column_stack([np.ones(4000), a, b, a * b]), y, "logistic")
    centred = fit_regression(np.column_stack([np.ones(4000), da, db, da * db]), y, "logistic")
    assert fit.estimate[3] == pytest.approx(centred.estimate[3], rel=1e-4)
    assert fit.error[3] == pytest.approx(centred.error[3], rel=1e-4)


def test_columns_that_others_explain_have_no_estimate_and_change_no_other():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 2))
    y = x @ [1.0, 2.0] + rng.normal(size=200)
    full = np.column_stack([np.ones(200), x, x[:, 0] + x[:, 1], np.full(200, 3.0)])
    assert independent_columns(full).tolist() == [0, 1, 2]
    fit = fit_regression(full, y, "linear")
    # Only sums of the others are known: neither of two twins is.
    assert fit.estimable.tolist() == [False] * 5
    once = np.column_stack([np.ones(200), x, np.zeros(200)])
    fit = fit_regression(once, y, "linear")
    assert fit.estimable.tolist() == [True, True, True, False]
    assert fit.estimate[:3] == pytest.approx(np.linalg.lstsq(once[:, :3], y, rcond=None)[0])


@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_a_level_without_cases_is_infinite_and_leaves_the_others_finite(family):
    """Quasi-separation: the other coefficients are those of the rows without that level."""
    rng = np.random.default_rng(5)
    level, z = rng.integers(0, 3, 600), rng.normal(size=600)
    y = (rng.random(600) < 0.4).astype(float)
    y[level == 2] = 0.0
    x = np.column_stack([np.ones(600), level == 1, level == 2, z]).astype(float)
    fit = fit_regression(x, y, family)
    assert fit.estimable.tolist() == [True, True, False, True]
    assert fit.edge == np.count_nonzero(level == 2)
    rest = level < 2
    alone = fit_regression(x[rest][:, [0, 1, 3]], y[rest], family)
    assert fit.estimate[[0, 1, 3]] == pytest.approx(alone.estimate, rel=1e-4)
    assert fit.error[[0, 1, 3]] == pytest.approx(alone.error, rel=1e-4)


def test_complete_separation_determines_nothing():
    x = np.column_stack([np.ones(40), np.arange(40.0)])
    fit = fit_regression(x, (np.arange(40) > 19).astype(float), "logistic")
    assert not fit.estimable.any() and (fit.edge > 30 or fit.why)


def test_a_response_that_is_always_0_determines_nothing():
    x = np.column_stack([np.ones(40), np.arange(40.0)])
    for family in ("logistic", "poisson"):
        assert not fit_regression(x, np.zeros(40), family).estimable.any()


def test_fits_that_cannot_be_say_why():
    x = np.column_stack([np.ones(3), np.arange(3.0), np.arange(3.0) ** 2])
    assert "as many coefficients" in fit_regression(x, np.arange(3.0), "linear").why
    x = np.column_stack([np.ones(9), np.arange(9.0)])
    assert "exact" in fit_regression(x, 3 + 2 * np.arange(9.0), "linear").why
    assert "no column varies" in fit_regression(np.zeros((9, 1)), np.arange(9.0), "linear").why


def test_non_convergence_is_said(monkeypatch):
    monkeypatch.setattr(regression, "_STEPS", 1)
    x = np.column_stack([np.ones(50), np.arange(50.0)])
    y = (np.random.default_rng(6).random(50) < 0.3).astype(float)
    assert "did not converge in 1 steps" in fit_regression(x, y, "logistic").why


def test_no_statsmodels_is_a_reason_not_a_crash(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("statsmodels")]:
        monkeypatch.setitem(sys.modules, name, None)
    x = np.column_stack([np.ones(9), np.arange(9.0)])
    fit = fit_regression(x, np.arange(9.0) ** 2, "linear")
    assert "pip install 'understudy[regression]'" in fit.why


def test_numbers_that_break_the_fit_are_a_reason():
    x = np.column_stack([np.ones(9), np.arange(9.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit_regression(x, np.full(9, 1e300) * np.arange(9), "poisson").why
