"""Oracles: the saturated table model, statsmodels' GLM, scipy's KS test, simulation."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import ks_2samp
from sklearn.linear_model import LogisticRegression

from understudy.errors import InputError
from understudy.kernels import propensity_design
from understudy.kernels.binary_logit import fit_binary_logit
from understudy.kernels.propensity import (
    Propensity,
    cart,
    cart_pmse,
    logit,
    saturated,
    specks,
)


def nothing(rows):
    return np.zeros((rows, 0), np.int32)


def numeric(t, z, **options):
    return logit(t, nothing(len(t)), z, nothing(len(z)), [], **options)


def nominal(t, z, levels, **options):
    return logit(np.zeros((len(t), 0)), t, np.zeros((len(z), 0)), z, levels, **options)


def numeric_cart(t, z, **options):
    return cart(t, nothing(len(t)), z, nothing(len(z)), [], **options)


def mixed(rng, rows):
    """Two dependent numbers with missing values, and two nominal columns."""
    x = rng.normal(size=(rows, 2))
    x[:, 1] += x[:, 0]
    codes = np.column_stack([rng.integers(4, size=rows), x[:, 0] > 0.5]).astype(np.int32)
    x[rng.random(rows) < 0.1, 0] = np.nan
    codes[rng.random(rows) < 0.1, 0] = -1
    return x, codes


# The saturated table model


def test_logit_on_a_saturated_design_is_the_voas_williamson_formula():
    rng = np.random.default_rng(11)
    t = rng.integers(6, size=(700, 1)).astype(np.int32)
    z = rng.choice(6, p=[0.3, 0.1, 0.1, 0.1, 0.2, 0.2], size=(300, 1)).astype(np.int32)
    counts = [np.bincount(x[:, 0], minlength=6) for x in (t, z)]
    fitted, closed = nominal(t, z, [6]), saturated(*counts)
    for name in ("pmse", "expected", "sd", "ratio", "specks", "terms", "low", "high"):
        assert getattr(fitted, name) == pytest.approx(getattr(closed, name), rel=1e-9), name


def test_saturated_pairs_need_interactions():
    rng = np.random.default_rng(12)
    t, z = (rng.integers(3, size=(n, 2)).astype(np.int32) for n in (900, 400))
    cells = [np.bincount(3 * x[:, 0] + x[:, 1], minlength=9) for x in (t, z)]
    assert nominal(t, z, [3, 3], order=2).pmse == pytest.approx(saturated(*cells).pmse, rel=1e-9)
    assert nominal(t, z, [3, 3]).terms == 5


def test_saturated_is_the_plain_definition():
    o, s = np.array([40, 0, 25, 7, 0]), np.array([10, 3, 5, 7, 0])
    share = s.sum() / (o + s).sum()
    rows = np.repeat(s[:4] / (o + s)[:4], (o + s)[:4])
    result = saturated(o, s)
    assert result.pmse == pytest.approx(np.mean((rows - share) ** 2), rel=1e-12)
    assert result.terms == 4


# The unpenalised logit


def test_pmse_is_that_of_an_unpenalised_glm():
    rng = np.random.default_rng(13)
    t, z = rng.normal(size=(300, 4)), rng.normal(0.15, 1.1, size=(200, 4))
    label = np.repeat([0, 1], [300, 200])
    design = sm.add_constant(np.vstack([t, z]))
    glm = sm.GLM(label, design, family=sm.families.Binomial()).fit()
    ours = numeric(t, z)
    assert ours.pmse == pytest.approx(np.mean((glm.fittedvalues - 0.4) ** 2), rel=1e-8)
    shrunk = LogisticRegression(C=0.01).fit(design, label).predict_proba(design)[:, 1]
    assert np.mean((shrunk - 0.4) ** 2) < 0.9 * ours.pmse


@pytest.mark.parametrize("null", ["two draws", "fitted"])
def test_the_null_in_closed_form(null):
    rng = np.random.default_rng(14)
    result = numeric(rng.normal(size=(600, 3)), rng.normal(size=(400, 3)), null=null)
    c, k, n = 0.4, 4, 1000
    squares = 1 if null == "two draws" else 2
    assert result.expected == pytest.approx((k - 1) * c * (1 - c) ** squares / n)
    assert result.sd == pytest.approx(np.sqrt(2 * (k - 1)) * c * (1 - c) ** squares / n)
    assert result.z == pytest.approx((result.pmse - result.expected) / result.sd)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_two_draws_have_ratio_one_by_logit(share):
    # 1,000 repetitions of a ratio with sd √(2/8), 8 free terms: se 0.016. The bound of 4 se has
    # a false alarm in 1 in 10,000, and "twice (2)" would give 0.625 at c = 0.2 and 2.5 at 0.8.
    rng = np.random.default_rng(15)
    found = []
    for _ in range(1000):
        (xt, ct), (xz, cz) = mixed(rng, int(2000 * (1 - share))), mixed(rng, int(2000 * share))
        found.append(logit(xt, ct, xz, cz, [4, 2]))
    ratios = np.array([r.ratio for r in found])
    assert ratios.mean() == pytest.approx(1, abs=4 * np.sqrt(2 / 8 / 1000))
    assert {r.terms for r in found} == {9}
    # Coverage, nominally 0.95, has binomial sd 0.007; a chi-square is not normal, so 0.92.
    assert np.mean([r.low <= 1 <= r.high for r in found]) > 0.92
    # The sd of a sample of 1,000 scaled chi-squares with 8 free terms has a relative se of 0.03.
    assert np.std([r.pmse for r in found]) == pytest.approx(found[0].sd, rel=0.12)


def test_the_simulation_study_of_the_paper_in_small():
    # Table 1 of Bale & Quick: ratio 1.00 with three-way terms (10 columns there, 4 here: 34 free
    # terms; 30 repetitions of a ratio with sd 0.24 give se 0.044; 4 se, 1 false alarm in 10,000).
    rng = np.random.default_rng(16)
    cov = np.full((4, 4), 0.5) + 0.5 * np.eye(4)
    draw = lambda: rng.multivariate_normal(np.zeros(4), cov, size=2000)  # noqa: E731
    found = [numeric(draw(), draw(), order=3) for _ in range(30)]
    assert found[0].terms == 35
    assert np.mean([r.ratio for r in found]) == pytest.approx(1, abs=0.18)


def test_interactions_see_what_main_effects_do_not():
    rng = np.random.default_rng(17)
    t, z = rng.normal(size=(2, 1000, 2))
    z[:, 1] = 0.7 * z[:, 0] + np.sqrt(0.51) * z[:, 1]
    assert numeric(t, z).ratio < 3
    assert numeric(t, z, order=2).ratio > 20


def test_complete_separation_is_said_and_not_raised():
    result = numeric(np.linspace(0, 1, 50)[:, None], np.linspace(2, 3, 50)[:, None])
    assert "100 rows fitted at 0 or 1 (separation)" in result.note
    assert result.pmse == pytest.approx(0.25, abs=1e-6)
    assert result.specks == 1


def test_quasi_separation_reaches_the_limit_of_the_likelihood():
    t = np.repeat([0, 1], [100, 60]).astype(np.int32)[:, None]
    z = np.repeat([0, 2], [70, 40]).astype(np.int32)[:, None]
    result = nominal(t, z, [3])
    assert result.pmse == pytest.approx(saturated([100, 60, 0], [70, 0, 40]).pmse, rel=1e-6)
    assert "separation" in result.note


def test_a_fit_that_does_not_converge_falls_back_to_a_named_ridge(monkeypatch):
    from understudy.kernels import binary_logit

    rng = np.random.default_rng(18)
    x, label = rng.normal(size=(200, 2)), np.repeat([0.0, 1.0], 100)
    plain = binary_logit.fit_binary_logit(x, label)
    newton = binary_logit._newton

    def stubborn(design, label, gram, *, ridge, **how):
        linear, deviance, converged = newton(design, label, gram, ridge=ridge, **how)
        return linear, deviance, converged and ridge > 0

    monkeypatch.setattr(binary_logit, "_newton", stubborn)
    ridged = binary_logit.fit_binary_logit(x, label)
    assert "ridge of 0.01 used" in ridged.note
    assert plain.note == ""
    assert np.abs(ridged.probability - plain.probability).max() == pytest.approx(0, abs=1e-4)


def test_a_copy_scores_nothing_and_is_far_below_its_null():
    rng = np.random.default_rng(19)
    x, codes = mixed(rng, 1000)
    by_logit = logit(x, codes, x, codes, [4, 2], order=2)
    by_cart = cart(x, codes, x, codes, [4, 2], permutations=10, rng=rng)
    assert by_logit.pmse == pytest.approx(0, abs=1e-20)
    assert by_cart.pmse == 0
    assert by_logit.z < -2
    assert by_cart.z < -10
    assert by_logit.specks == by_cart.specks == 0


def test_dependent_constant_and_huge_columns_do_not_count():
    rng = np.random.default_rng(20)
    t, z = (
        np.column_stack([x, 3 * x + 1, np.full(400, 7.0), x * 1e300, x * np.float64(1 + 1e-8)])
        for x in rng.normal(size=(2, 400))
    )
    result, alone = numeric(t, z), numeric(t[:, :1], z[:, :1])
    assert result.terms == 2
    assert result.pmse == pytest.approx(alone.pmse, rel=1e-6)


def test_a_copy_in_single_precision_adds_no_term():
    rng = np.random.default_rng(31)
    t, z = (np.column_stack([x, x.astype(np.float32)]) for x in rng.normal(size=(2, 400)))
    assert numeric(t, z).terms == 2


@pytest.mark.parametrize("columns", [np.zeros((40, 0)), np.full((40, 2), 0.1)])
def test_where_nothing_varies_there_is_no_ratio(columns):
    results = [numeric(columns, columns)]
    if columns.size:
        results.append(numeric_cart(columns, columns, rng=np.random.default_rng(1)))
    for result in results:
        assert (result.pmse, result.expected, result.terms) == (0, 0, 1)
        assert np.isnan([result.ratio, result.z, result.low, result.high]).all()
        assert "no column varies" in result.note


@pytest.mark.parametrize("score", [numeric, numeric_cart])
def test_more_missing_values_are_seen(score):
    rng = np.random.default_rng(21)
    t, z = rng.normal(size=(2, 1000, 1))
    z[rng.random(1000) < 0.3] = np.nan
    options = {"rng": rng} if score is numeric_cart else {}
    assert score(t, z, **options).z > 10


def test_a_column_that_is_all_missing_is_harmless():
    void = np.full((60, 1), np.nan)
    assert numeric(void, void).terms == 1


def test_an_empty_table_is_an_input_error():
    with pytest.raises(InputError, match="rows in both tables"):
        numeric(np.zeros((0, 1)), np.zeros((5, 1)))
    with pytest.raises(InputError, match="rows in both tables"):
        saturated([1, 2], [0, 0])
    with pytest.raises(InputError, match="at least 2"):
        numeric_cart(np.ones((5, 1)), np.ones((5, 1)), permutations=1, rng=np.random.default_rng())


# The design


def test_five_thousand_levels_get_fifty_dummies():
    rng = np.random.default_rng(22)
    codes = rng.zipf(1.3, size=(20_000, 1)).clip(max=5000).astype(np.int32) - 1
    result = nominal(codes[:10_000], codes[10_000:], [5000])
    assert result.terms == 51
    assert result.z < 4


def test_orders_that_cannot_be_afforded_are_lowered(monkeypatch):
    monkeypatch.setattr(propensity_design, "MAX_TERMS", 20)
    rng = np.random.default_rng(23)
    t, z = rng.normal(size=(2, 200, 4))
    result = numeric(t, z, order=3)
    assert result.terms == 15
    assert "order 3 has too many terms, order 2 used" in result.note


def test_rare_levels_are_merged_and_a_rare_rest_joins_the_most_frequent():
    codes = np.repeat([0, 1, 2, 3, -1], [10, 100, 40, 9, 3]).astype(np.int32)
    merged = propensity_design.merge_rare(codes, 4, rare=20)
    assert [merged[codes == v][0] for v in (1, 2, 0, 3, -1)] == [0, 1, 2, 2, 2]
    few = propensity_design.merge_rare(codes, 4, rare=30)
    assert set(few[codes < 1]) == {0}


# The tree


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_two_draws_have_ratio_one_by_cart(share):
    # 20 repetitions; the ratio's sd is near 0.08 here (null's error included), se 0.018: 4 se,
    # 1 false alarm in 10,000. synthpop's factor 1/2 would give a ratio of 2.
    rng = np.random.default_rng(24)
    ratios = []
    for _ in range(20):
        (xt, ct), (xz, cz) = mixed(rng, int(2000 * (1 - share))), mixed(rng, int(2000 * share))
        ratios.append(cart(xt, ct, xz, cz, [4, 2], permutations=10, rng=rng).ratio)
    assert np.mean(ratios) == pytest.approx(1, abs=0.08)


def test_high_cardinality_gives_the_tree_no_advantage_over_its_null():
    rng = np.random.default_rng(25)
    t, z = rng.integers(300, size=(2, 10_000, 1)).astype(np.int32)
    none = np.zeros((10_000, 0))
    result = cart(none, t, none, z, [300], rng=rng)
    assert abs(result.z) < 4  # normal: fewer than 1 in 1,000 with 20 permutations
    assert result.terms > 100


def test_permutations_do_not_depend_on_the_map():
    rng = np.random.default_rng(26)
    (xt, ct), (xz, cz) = mixed(rng, 500), mixed(rng, 400)
    score = lambda map_: cart(  # noqa: E731
        xt, ct, xz, cz, [4, 2], permutations=6, rng=np.random.default_rng(5), map_=map_
    )
    with ThreadPoolExecutor(2) as threads:
        assert score(map) == score(threads.map)
    assert score(map) == score(lambda f, jobs: list(map(f, list(jobs)[::-1]))[::-1])
    posted = lambda f, jobs: map(pickle.loads(pickle.dumps(f)), pickle.loads(pickle.dumps(jobs)))  # noqa: E731
    assert score(map) == score(posted)  # as a pool of processes would


def test_float_dust_is_seen_by_the_tree():
    rng = np.random.default_rng(27)
    t, z = rng.integers(10, size=(2, 500, 1)).astype(float)
    dusty = z * (1 + 1e-12)
    assert numeric_cart(t, dusty, rng=rng).z > 10
    assert abs(numeric_cart(t, z, rng=rng).z) < 4


def test_tree_pmse_is_the_mean_over_rows_of_a_plain_tree():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(28)
    t, z = rng.normal(size=(300, 1)), rng.normal(0.5, 1, size=(200, 1))
    label = np.repeat([0.0, 1.0], [300, 200])
    tree = DecisionTreeRegressor(min_samples_leaf=30, random_state=0)
    scores = tree.fit(np.vstack([t, z]), label).predict(np.vstack([t, z]))
    result = numeric_cart(t, z, min_leaf=30, rng=rng)
    assert result.pmse == pytest.approx(np.mean((scores - 0.4) ** 2), rel=1e-9)
    assert result.specks == pytest.approx(ks_2samp(scores[:300], scores[300:]).statistic)


# SPECKS


@pytest.mark.parametrize("decimals", [1, 8])
def test_specks_is_the_statistic_of_scipy(decimals):
    rng = np.random.default_rng(29)
    a, b = rng.beta(2, 3, 300).round(decimals), rng.beta(2.5, 3, 170).round(decimals)
    assert specks(a, b) == pytest.approx(ks_2samp(a, b).statistic, rel=1e-12)
    assert specks(b, a) == specks(a, b)  # whichever lies higher


def test_every_result_names_its_null():
    rng = np.random.default_rng(30)
    t, z = rng.normal(size=(2, 100, 1))
    results = [numeric(t, z), numeric_cart(t, z, rng=rng), saturated([3, 4], [4, 3])]
    assert all(isinstance(r, Propensity) and r.null for r in results)


def test_the_pmse_alone_is_that_of_a_tree_grown_by_hand():
    """Leaves by scikit-learn's own tree, on values in place of ranks; ties cannot occur."""
    from sklearn.tree import DecisionTreeClassifier

    from understudy.kernels.propensity import cart_pmse

    rng = np.random.default_rng(12)
    x, z = rng.normal(size=(300, 2)), rng.normal(0.3, 1, (200, 2))
    no = [np.zeros((len(table), 0), np.int32) for table in (x, z)]
    both, label = np.concatenate([x, z]), np.repeat([0, 1], [300, 200])
    tree = DecisionTreeClassifier(min_samples_leaf=25, random_state=0).fit(both, label)
    wanted = np.mean((tree.predict_proba(both)[:, 1] - 0.4) ** 2)
    found = cart_pmse(x, no[0], z, no[1], [], min_leaf=25, rng=rng)
    assert found == pytest.approx(wanted, rel=0.05)  # midpoints differ between values and ranks


@pytest.mark.parametrize("shift", [0.0, 0.3, 3.0])
def test_chord_steps_end_where_newton_steps_do(shift):
    """Like tables, unlike ones, and ones that nearly separate."""
    rng = np.random.default_rng(6)
    numbers = np.concatenate([rng.normal(size=(800, 4)), rng.normal(shift, 1, (800, 4))])
    columns = propensity_design.build_design(
        numbers, np.zeros((1600, 0), np.int32), [], order=3
    ).columns
    label = np.repeat([0.0, 1.0], 800)
    newton, chord = (fit_binary_logit(columns, label, chord=c) for c in (False, True))
    assert chord.probability == pytest.approx(newton.probability, abs=2e-5)
    assert (chord.rank, chord.note) == (newton.rank, newton.note)


def test_a_tree_that_may_split_once_has_the_pmse_of_its_two_leaves():
    """60 zeros and 40 ones against 20 and 80, beside noise: the root alone may be split."""
    rng = np.random.default_rng(4)
    ones = np.repeat([0.0, 1.0], [60, 40]), np.repeat([0.0, 1.0], [20, 80])
    one, other = (np.column_stack([x, rng.normal(size=100)]) for x in ones)
    none = np.zeros((100, 0), np.int32)

    def told(least):
        drawn = np.random.default_rng(1)
        return cart_pmse(one, none, other, none, [], min_leaf=5, min_split=least, rng=drawn)

    # 60 and 20 of 80 rows, 40 and 80 of 120: shares ¼ and ⅔, so (80/16 + 120/36) / 200.
    assert told(200) == pytest.approx((80 / 16 + 120 / 36) / 200)
    assert told(201) == 0.0
    assert told(2) > told(200)
