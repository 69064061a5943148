"""The Gaussian mixture as a model: units, missing patterns, grids, rules, densities, swaps."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture as Peer

from understudy.errors import PlanError
from understudy.seeds import stream
from understudy.synth.base import Restriction
from understudy.synth.mixture import Mixture
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

NAMES = ("east", "north", "fever")


def places(rows=500, seed=1, gaps=True):
    """Two towns; fever is missing for some, both coordinates for others."""
    rng = np.random.default_rng(seed)
    town = rng.random(rows) < 0.4
    east = np.round(np.where(town, 300.0, 100.0) + rng.normal(0, 10, rows), 2)
    north = np.round(np.where(town, 50.0, 80.0) + rng.normal(0, 5, rows) + 0.3 * (east - 200), 2)
    fever = np.round(37 + rng.gamma(2, 0.5, rows), 1)
    lost = rng.random((2, rows))
    no_fever, nowhere = (lost[0] < 0.2) & gaps, (lost[1] < 0.05) & gaps
    arrays = [
        pa.array(east, mask=nowhere),
        pa.array(north, mask=nowhere),
        pa.array(fever, mask=no_fever),
    ]
    schema = Schema(tuple(Column(name, Kind.NUMBER) for name in NAMES))
    table = Table(pa.table(arrays, names=list(NAMES)), schema)
    return fit_encoding(table).encode(table)


def fit(block, names=NAMES, **settings):
    settings = {"components": 2, **settings}
    return Mixture(**settings).fit(block, names, (), rng=stream(1, "fit"))


def test_density_is_scikit_learns_in_the_columns_units():
    block = places(gaps=False)
    fitted = fit(block, tolerance=1e-9, max_iter=1000)
    values = np.column_stack([block.values[name] for name in NAMES])
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    peer = Peer(2, tol=1e-9, max_iter=1000, n_init=5, random_state=0).fit(scaled)
    want = peer.score_samples(scaled) - np.log(values.std(axis=0)).sum()
    assert np.allclose(fitted.log_density(block), want, atol=1e-3)
    assert fitted.log_prob(block) == pytest.approx(want.sum(), abs=0.05)
    assert fitted.report.bic == pytest.approx(peer.bic(scaled), abs=0.05)
    assert fitted.report.log_likelihood == pytest.approx(peer.score(scaled) * 500, abs=0.05)


def test_density_of_incomplete_rows_is_the_share_of_the_pattern_times_the_marginal():
    block = places()
    fitted = fit(block)
    values = np.column_stack([block.values[name] for name in NAMES])
    gone = np.isnan(values)
    spread = fitted.scale.spread
    for row in (*np.flatnonzero(gone.any(axis=1))[:10], 0, 1, 2):
        here = np.flatnonzero(~gone[row])
        want = np.log(np.mean((gone == gone[row]).all(axis=1)))
        if here.size:
            point = ((values[row] - fitted.scale.centre) / spread)[here]
            want += logsumexp(
                [
                    np.log(w) + multivariate_normal(m[here], c[np.ix_(here, here)]).logpdf(point)
                    for w, m, c in zip(
                        fitted.mixture.weights,
                        fitted.mixture.means,
                        fitted.mixture.covariances,
                        strict=True,
                    )
                ]
            )
            want -= np.log(spread[here]).sum()
        assert fitted.log_density(block)[row] == pytest.approx(want, abs=1e-8)


def test_log_prob_integrates_the_shares_of_the_patterns_out():
    block = places()
    fitted = fit(block)
    drawn = fitted.sample(block.encoding.empty(80), rng=stream(2, 1))
    train, rep = (
        np.column_stack([np.isnan(b.values[name]) for name in NAMES]) for b in (block, drawn)
    )
    patterns = np.unique(train, axis=0)
    n, z = (
        np.array([(rows == p).all(axis=1).sum() for p in patterns], dtype=float)
        for rows in (train, rep)
    )
    shares = gammaln(n.sum()) - gammaln(n.sum() + 80) + (gammaln(n + z) - gammaln(n)).sum()
    plug_in = (z * np.log(n / n.sum())).sum()
    assert fitted.log_prob(drawn) == pytest.approx(
        fitted.log_density(drawn).sum() - plug_in + shares
    )


def test_draws_resemble_train_and_keep_its_patterns():
    block = places(rows=4000)
    drawn = fit(block, components=6).sample(block.encoding.empty(40_000), rng=stream(2, 1))
    for name in NAMES:
        real, fake = block.values[name], drawn.values[name]
        # SDs of the difference: 0.0065 for shares (the Bayesian bootstrap included) and 0.018 SDs
        # for means; five of them, false alarm below 1e-5 each.
        assert abs(np.isnan(real).mean() - np.isnan(fake).mean()) < 0.035
        assert abs(np.nanmean(real) - np.nanmean(fake)) < 0.09 * np.nanstd(real)
    both = np.isnan(drawn.values["east"]) == np.isnan(drawn.values["north"])
    assert both.all()
    assert np.isnan(drawn.values["east"]).any()


def test_values_are_on_the_columns_grid_and_in_its_range():
    block = places()
    drawn = fit(block).sample(block.encoding.empty(3000), rng=stream(2, 1))
    for name, digits in zip(NAMES, (2, 2, 1), strict=True):
        values = drawn.values[name][~np.isnan(drawn.values[name])]
        assert np.array_equal(values, np.round(values, digits))
        assert values.min() >= np.nanmin(block.values[name])
        assert values.max() <= np.nanmax(block.values[name])
    loose = fit(block, grid=False).sample(block.encoding.empty(3000), rng=stream(2, 1))
    fever = loose.values["fever"][~np.isnan(loose.values["fever"])]
    assert not np.array_equal(fever, np.round(fever, 1))
    assert fever.min() < np.nanmin(block.values["fever"])


@pytest.mark.parametrize("decimals", [0, 4])
def test_nobodys_smallest_or_largest_value_piles_up(make, decimals):
    """A skewed column: a mixture draws much below its smallest value, which one person has.

    Put on the ends, 11% of 50,000 draws were that person's value. A value of the grid is drawn by
    at most 0.2% here. An end that many people share, as zeros here, does take what lies beyond.
    """
    skewed = np.round(np.random.default_rng(8).lognormal(8, 1, 500), decimals)
    zeros = np.where(np.arange(500) < 150, 0.0, skewed)
    block = make.encoded(make.numbers(skewed)), make.encoded(make.numbers(zeros))
    lone, many = (
        fit(b, ("x",), components=2).sample(b.encoding.empty(50_000), rng=stream(1)).values["x"]
        for b in block
    )
    assert skewed.min() <= lone.min() and lone.max() <= skewed.max()
    for end in (skewed.min(), skewed.max()):
        assert (lone == end).mean() < 0.002
    assert np.unique(lone, return_counts=True)[1].max() < 0.002 * len(lone)
    assert (many == 0).mean() > 0.1 and (many == zeros.max()).mean() < 0.002


def test_shares_of_patterns_are_drawn_once_per_replicate():
    """Proper: counts vary more than those of independent rows do."""
    block = places(rows=100)
    fitted = fit(block)
    shares = [
        np.isnan(fitted.sample(block.encoding.empty(1000), rng=stream(3, r)).values["fever"]).mean()
        for r in range(200)
    ]
    p = np.isnan(block.values["fever"]).mean()
    # Variance p(1−p)(1/1000 + 1/101) against p(1−p)/1000: a ratio of 10.9. The sample variance of
    # 200 draws has an SD of 10% of it, so 5.5 is five SDs below (false alarm below 1e-5).
    assert np.var(shares) > 5.5 * p * (1 - p) / 1000


def test_report_counts_what_collapsed_and_says_what_was_reduced():
    block = places(rows=8, gaps=False)
    fitted = fit(block, components=50, floor=1e-10)
    report = fitted.report
    assert report.components == report.lone == report.floored == 8
    # −ln det of three variances of 1e-10: the published −2 ln 1e-10 = 46.0517, half as much again.
    assert report.sharpest == pytest.approx(1.5 * 46.0517, abs=1e-3)
    assert report.flattest == pytest.approx(report.median, abs=1e-3)
    assert report.mean == pytest.approx(report.median, abs=1e-3)
    assert "8 components instead of 50" in report.notes[0]
    assert any("single point" in note for note in report.notes)
    assert fit(places()).report.notes == ()


def test_no_complete_row_falls_back_to_independent_columns():
    block = places(rows=300, gaps=False)
    odd = np.arange(300) % 2 == 0
    arrays = [
        pa.array(block.values["east"], mask=odd),
        pa.array(block.values["north"], mask=~odd),
    ]
    schema = Schema((Column("east", Kind.NUMBER), Column("north", Kind.NUMBER)))
    table = Table(pa.table(arrays, names=["east", "north"]), schema)
    block = fit_encoding(table).encode(table)
    fitted = fit(block, ("east", "north"))
    assert "no row is complete" in fitted.report.notes[0]
    drawn = fitted.sample(block.encoding.empty(2000), rng=stream(1, 1))
    assert (np.isnan(drawn.values["east"]) ^ np.isnan(drawn.values["north"])).all()
    assert np.isfinite(fitted.log_density(drawn)).all()


def test_rules_hold_and_missing_values_are_as_frequent_as_without():
    block = places(rows=2000)
    fitted = fit(block)
    rows, encoding = 20_000, block.encoding["fever"]
    middle = np.full(rows, encoding.size // 2, dtype=np.int32)
    limit = Restriction(low=middle, missing=encoding.missing)
    drawn = fitted.sample(block.encoding.empty(rows), rng=stream(4, 1), within={"fever": limit})
    free = fitted.sample(block.encoding.empty(rows), rng=stream(4, 1))
    codes = drawn.codes["fever"]
    assert limit.permits(codes).all()
    # The same stream draws the same pattern for every row.
    assert np.array_equal(codes == encoding.missing, free.codes["fever"] == encoding.missing)
    strict = Restriction(low=middle, high=np.full(rows, encoding.size - 1, dtype=np.int32))
    codes = fitted.sample(
        block.encoding.empty(rows), rng=stream(4, 1), within={"fever": strict}
    ).codes["fever"]
    assert strict.permits(codes).all()


def test_only_missing_allowed_is_missing_and_nothing_allowed_is_unseen():
    block = places()
    fitted = fit(block)
    encoding = block.encoding["fever"]
    allowed = np.zeros((2, encoding.width), dtype=bool)
    allowed[0, encoding.missing] = True
    group = np.arange(100, dtype=np.int64) % 2
    limit = Restriction(allowed=allowed, group=group, missing=encoding.missing)
    drawn = fitted.sample(block.encoding.empty(100), rng=stream(4, 1), within={"fever": limit})
    assert (drawn.codes["fever"][::2] == encoding.missing).all()
    for name in NAMES:
        assert (drawn.codes[name][1::2] == block.encoding[name].unseen).all()
        assert np.isnan(drawn.values[name][1::2]).all()


def test_columns_that_do_not_vary_are_put_back_exactly(make):
    block = make.encoded(make.mixed())
    names = ("age", "constant", "gone")
    fitted = fit(block, names, grid=False)
    drawn = fitted.sample(block.encoding.empty(50), rng=stream(1, 1))
    assert (drawn.values["constant"] == 4.0).all()
    assert np.isnan(drawn.values["gone"]).all()
    other = block.take(np.array([0]))  # a copy
    other.values["constant"][0] = 5.0
    assert fitted.log_density(other)[0] == -np.inf
    assert "no column varies" in fit(block, ("constant", "gone")).report.notes[0]


def test_train_without_rows_gives_missing_values():
    block = places()
    drawn = fit(block.take(slice(0, 0))).sample(block.encoding.empty(5), rng=stream(1, 1))
    assert all(np.isnan(drawn.values[name]).all() for name in NAMES)


def test_given_columns_are_not_looked_at():
    block = places()
    with_given = Mixture(components=2).fit(block, NAMES[:2], NAMES[2:], rng=stream(1, "fit"))
    assert with_given.given == ()
    assert np.array_equal(with_given.mixture.means, fit(block, NAMES[:2]).mixture.means)


def test_categories_are_refused(make):
    block = make.encoded(make.mixed())
    with pytest.raises(PlanError, match="multinomial or cart"):
        fit(block, ("age", "sex"))


def test_swap_with_one_component_is_the_closed_form(make):
    """One component is the mean and covariance of T', however EM begins."""
    block = places(rows=40, gaps=False)
    fitted = fit(block, components=1)
    replicate = fitted.sample(block.encoding.empty(60), rng=stream(5, 1))
    others = places(rows=40, seed=9, gaps=False).take(slice(0, 6))
    others = block.encoding.encode(others.encoding.decode(others))
    found = fitted.swap(7, others, [replicate])
    drawn = np.column_stack([replicate.values[name] for name in NAMES])
    spread = np.diag(fitted.scale.spread)

    def log_prob(train):
        rows = np.column_stack([train.values[name] for name in NAMES])
        noise = 1e-6 * spread @ spread
        law = multivariate_normal(rows.mean(axis=0), np.cov(rows.T, ddof=0) + noise)
        return law.logpdf(drawn).sum()

    for index in range(others.rows):
        want = log_prob(make.replaced(block, 7, others, index)) - log_prob(block)
        assert found[0, index] == pytest.approx(want, abs=1e-6)


def test_swap_follows_a_warm_refit_of_several_components(make):
    block = places(rows=60)
    fitted = fit(block, components=3)
    replicates = [fitted.sample(block.encoding.empty(60), rng=stream(5, r)) for r in (1, 2)]
    others = block.take(slice(0, 8))
    found = fitted.swap(2, others, replicates)
    base = fitted.settings.refit(block, fitted.mixture)
    for index in range(others.rows):
        moved = fitted.settings.refit(make.replaced(block, 2, others, index), fitted.mixture)
        want = [moved.log_prob(rep) - base.log_prob(rep) for rep in replicates]
        np.testing.assert_allclose(found[:, index], want, atol=1e-9)
    assert (found[:, 2] == 0).all()


@pytest.mark.parametrize(
    "key, value",
    [("components", 0), ("starts", 0), ("max_iter", 0), ("tolerance", -1.0), ("floor", 0.0)],
)
def test_settings_out_of_range(key, value):
    with pytest.raises(PlanError, match=rf"visits\[1\]\.{key}"):
        Mixture.from_settings("visits[1]", {key: value})


def test_rules_about_missing_values_too_are_the_conditional_distribution():
    block = places(rows=2000)
    fitted = fit(block)
    rows, encoding = 40_000, block.encoding["fever"]
    allowed = np.ones((1, encoding.width), dtype=bool)
    allowed[0, : encoding.size // 2] = False
    limit = Restriction(allowed=allowed, group=np.zeros(rows, dtype=np.int64))
    empty = block.encoding.empty(rows)
    free = fitted.sample(empty, rng=stream(6, 1)).codes["fever"]
    bound = fitted.sample(empty, rng=stream(6, 1), within={"fever": limit}).codes["fever"]
    gone = free == encoding.missing
    want = gone.sum() / allowed[0, free].sum()
    # The same shares of the patterns; SDs of 0.0023 and 0.0029: five of the difference's 0.0037.
    assert want > gone.mean() + 0.05
    assert np.mean(bound == encoding.missing) == pytest.approx(want, abs=0.0185)


def test_bounds_that_nothing_meets_give_unseen_and_leave_missing_values():
    block = places()
    encoding = block.encoding["fever"]
    above = Restriction(low=np.full(200, encoding.width, np.int32), missing=encoding.missing)
    drawn = fit(block).sample(block.encoding.empty(200), rng=stream(6, 1), within={"fever": above})
    codes = drawn.codes["fever"]
    assert set(codes) == {encoding.missing, encoding.unseen}
    assert (drawn.codes["east"][codes == encoding.unseen] == block.encoding["east"].unseen).all()
