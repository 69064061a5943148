"""The multinomial logit as a model: coding, draws, rules, densities, swaps."""

from itertools import combinations_with_replacement

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from understudy.errors import PlanError
from understudy.seeds import stream
from understudy.synth import classes
from understudy.synth.base import Restriction
from understudy.synth.multinomial import Multinomial
from understudy.synth.refit import swap_by_refit
from understudy.synth.terms import VALUE, Terms
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

GIVEN = ("sex", "grade", "age")


@pytest.fixture
def block(make):
    return make.encoded(make.mixed(rows=300))


def fit(block, column="grade", given=("sex", "age"), **settings):
    return Multinomial(**settings).fit(block, (column,), given, rng=stream(1, "fit"))


def test_probabilities_are_scikit_learns_on_the_documented_coding(block):
    fitted = fit(block, C=2.0, tolerance=1e-6)
    sex, age = block.codes["sex"], block.values["age"]
    coded = np.column_stack(
        [
            *(sex == code for code in (1, 2, block.encoding["sex"].missing)),
            np.nan_to_num((age - np.nanmean(age)) / np.nanstd(age)),
            np.isnan(age),
        ]
    ).astype(float)
    peer = LogisticRegression(
        C=2.0, l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=100_000, random_state=0
    ).fit(coded, block.codes["grade"])
    assert np.allclose(
        np.exp(fitted.log_probabilities(block)), peer.predict_proba(coded), atol=1e-4
    )


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_terms_are_the_distinct_products(block, degree):
    """Slow: every product of factors, kept if its values on train are new and not all zero."""
    terms = Terms.of(block, GIVEN, degree, 10_000, "born")
    dummies = [block.codes["sex"] == c for c in (1, 2, block.encoding["sex"].missing)]
    dummies += [block.codes["grade"] == c for c in (1, 2)]
    age = block.values["age"]
    factors = [*dummies, np.isnan(age), np.nan_to_num((age - np.nanmean(age)) / np.nanstd(age))]
    seen = {}
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(factors, size):
            product = np.prod(np.array(chosen, dtype=float), axis=0)
            if product.any():
                seen[np.round(product, 9).tobytes()] = product
    matrix = terms.matrix(block)
    live = matrix[:, matrix.any(axis=0)]
    assert {np.round(column, 9).tobytes() for column in live.T} == set(seen)
    assert live.shape[1] == len(seen)


def test_too_many_terms_says_how_many_and_the_way_out(block):
    there = len(Terms.of(block, GIVEN, 3, 10_000, "born").terms)
    with pytest.raises(PlanError, match=f"would have {there} of them: lower the degree"):
        Terms.of(block, GIVEN, 3, there - 1, "born")
    with pytest.raises(PlanError, match="max_terms"):
        fit(block, given=("sex", "age", "income", "born"), degree=3, max_terms=10)


def test_powers_of_a_number_and_no_powers_of_dummies(block):
    terms = Terms.of(block, ("sex", "age"), 3, 10_000, "grade").terms
    assert (("age", VALUE),) * 3 in terms
    assert not any(term.count(("sex", 1)) > 1 for term in terms)
    assert not any({("age", VALUE), ("age", block.encoding["age"].missing)} <= {*t} for t in terms)


def test_degree_two_learns_an_interaction(make):
    rng = np.random.default_rng(0)
    a, b = rng.integers(2, size=(2, 2000))
    names = np.array(["x", "y"])
    table = make.levels(a=names[a], b=names[b], c=names[a ^ b])
    block = make.encoded(table)
    gain = [
        fit(block, "c", ("a", "b"), degree=degree).log_density(block).mean() for degree in (1, 2)
    ]
    assert gain[0] == pytest.approx(-np.log(2), abs=0.01)
    assert gain[1] > -0.05


def test_a_number_with_many_cells_is_refused(make):
    block = make.encoded(make.numbers(np.arange(2000) % 100))
    with pytest.raises(PlanError, match="cart or mixture"):
        fit(block, "x", ())


def test_draws_have_the_fitted_shares(block):
    fitted = fit(block)
    known = block.take(np.repeat(4, 40_000)).select(("sex", "age"))
    codes = fitted.sample(known, rng=stream(2, "draw")).codes["grade"]
    share = np.bincount(codes, minlength=3)[fitted.classes] / len(codes)
    # An SD is at most 0.0025: five of them, false alarm below 1e-5.
    assert np.allclose(share, np.exp(fitted.log_probabilities(known)[0]), atol=0.0125)


def test_draws_within_rules_are_the_conditional_distribution(block):
    fitted = fit(block, "sex", ("grade", "age"))
    rows = 40_000
    known = block.take(np.repeat(4, rows)).select(("grade", "age"))
    free = np.exp(fitted.log_probabilities(known.take(slice(0, 1)))[0])
    lost = block.encoding["sex"].missing
    assert fitted.classes.tolist() == [0, 1, 2, lost]
    allowed = np.array([[True, False, True, True, False]])
    group = np.zeros(rows, dtype=np.int64)
    for missing in (None, lost):
        limit = Restriction(allowed=allowed, group=group, missing=missing)
        drawn = fitted.sample(known, rng=stream(3, "draw"), within={"sex": limit})
        share = np.bincount(drawn.codes["sex"], minlength=lost + 1) / rows
        open_ = free * allowed[0, fitted.classes]
        want = open_ / open_.sum()
        if missing is not None:  # as often as without the rule
            open_[-1] = 0.0
            want = open_ / open_.sum() * (1 - free[-1])
            want[-1] = free[-1]
        # Five SDs of 0.0025.
        assert np.allclose(share[fitted.classes], want, atol=0.0125)


def test_what_is_very_rare_is_drawn_where_nothing_else_is_allowed(make):
    names = np.where(np.arange(4000) == 0, "rare", "usual")
    block = make.encoded(make.levels(a=names, b=np.where(np.arange(4000) < 2000, "p", "q")))
    fitted = fit(block, "a", ("b",), C=100.0)
    only = Restriction(low=np.ones(4000, dtype=np.int32))
    drawn = fitted.sample(block.select(["b"]), rng=stream(1, 1), within={"a": only})
    assert (drawn.codes["a"] == 1).all()


def test_only_missing_allowed_is_missing(block):
    fitted = fit(block, "sex", ("grade",))
    lost = block.encoding["sex"].missing
    allowed = np.arange(block.encoding["sex"].width)[None, :] == lost
    group = np.zeros(block.rows, dtype=np.int64)
    limit = Restriction(allowed=allowed, group=group, missing=lost)
    drawn = fitted.sample(block.select(["grade"]), rng=stream(1, 1), within={"sex": limit})
    assert (drawn.codes["sex"] == lost).all()


def test_log_prob_is_the_sum_of_class_probabilities(block):
    fitted = fit(block)
    chances = fitted.log_probabilities(block)
    place = [list(fitted.classes).index(code) for code in block.codes["grade"]]
    total = sum(row[spot] for row, spot in zip(chances, place, strict=True))
    assert fitted.log_prob(block) == pytest.approx(total)
    assert fitted.log_density(block).sum() == pytest.approx(total)


def test_a_class_train_lacks_is_impossible(block):
    fitted = fit(block)
    codes = np.full(block.rows, 3, dtype=np.int32)  # the declared level that nobody has
    other = Block(block.encoding, block.rows, {**block.codes, "grade": codes}, block.values)
    assert (fitted.log_density(other) == -np.inf).all()
    assert fitted.log_prob(other) == -np.inf


def test_train_without_rows_gives_missing_values(make):
    block = make.encoded(make.mixed(rows=30))
    fitted = fit(block.take(slice(0, 0)))
    codes = fitted.sample(block.select(("sex", "age")), rng=stream(1, 1)).codes["grade"]
    assert (codes == block.encoding["grade"].missing).all()


@pytest.mark.parametrize("degree", [1, 2])
def test_swap_is_a_cold_refit(make, degree):
    """Warm and cold starts end at the same optimum, up to the tolerance."""
    block = make.encoded(make.mixed(rows=60))
    model = Multinomial(C=0.5, degree=degree, tolerance=1e-7)
    given = ("sex", "age")
    fitted = model.fit(block, ("grade",), given, rng=stream(1, "fit"))
    known = block.select(given)
    replicates = [known.join(fitted.sample(known, rng=stream(1, r))) for r in range(2)]
    others = block.take(slice(0, 12))
    found = fitted.swap(5, others, replicates)
    slow = np.zeros_like(found)
    for index in range(others.rows):
        moved = model.fit(
            make.replaced(block, 5, others, index), ("grade",), given, rng=stream(1, "fit")
        )
        for which, replicate in enumerate(replicates):
            slow[which, index] = moved.log_prob(replicate) - fitted.log_prob(replicate)
    np.testing.assert_allclose(found, slow, atol=1e-4)
    assert np.ptp(found) > 0.01
    assert (found[:, 5] == 0).all()


def test_one_refit_for_each_distinct_candidate(make):
    block = make.encoded(make.mixed(rows=60))
    fits = []

    def counted(train):
        fits.append(train)
        return fit(train)

    replicate = block
    twins = block.take(np.array([5, 5, 9, 9, 9]))
    change = swap_by_refit(counted, block, 5, twins, [replicate])
    assert len(fits) == 2  # the record as it is, and one other
    assert change[0, 0] == change[0, 1] == 0.0
    assert change[0, 2] == change[0, 3] == change[0, 4] != 0.0


def test_impossible_before_and_after_is_no_number(make):
    block = make.encoded(make.mixed(rows=60))
    codes = np.full(block.rows, 3, dtype=np.int32)
    other = Block(block.encoding, block.rows, {**block.codes, "grade": codes}, block.values)
    change = swap_by_refit(fit, block, 5, block.take(np.array([5, 9])), [other])
    assert change[0, 0] == 0.0
    assert np.isnan(change[0, 1])


@pytest.mark.parametrize(
    "key, value",
    [("C", 0.0), ("degree", 4), ("degree", 0), ("max_iter", 0), ("tolerance", 0), ("max_terms", 0)],
)
def test_settings_out_of_range(key, value):
    with pytest.raises(PlanError, match=rf"visits\[1\]\.{key}"):
        Multinomial.from_settings("visits[1]", {key: value})


def test_few_valued_numbers_are_drawn_inside_their_cells():
    table = Table(
        pa.table({"children": np.arange(500) % 4}), Schema((Column("children", Kind.NUMBER),))
    )
    block = fit_encoding(table).encode(table)
    drawn = fit(block, "children", ()).sample(block.encoding.empty(500), rng=stream(1, 1))
    assert set(drawn.values["children"]) == {0.0, 1.0, 2.0, 3.0}


def test_scores_that_no_float_can_exponentiate_are_drawn_from(block):
    scores = np.array([[-np.inf, -2000.0, -2001.0], [-np.inf, -np.inf, -np.inf]])
    known = fit(block).classes
    unseen = block.encoding[fit(block).columns[0]].unseen
    picked = classes.draw(scores, known, np.array([0.5, 0.5]), None, unseen)
    assert picked.tolist() == [1, block.encoding["grade"].unseen]
