"""The posterior of records: against Bayes' rule by refits, and what moves it.

The releases are made by known synthesizers: somebody who knows how they were made is the attacker.
"""

from dataclasses import replace
from math import prod

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import PlanError
from understudy.evidence import Evidence
from understudy.results import Verdict
from understudy.risk import candidates as sets
from understudy.risk.posterior import Posterior
from understudy.risk.posterior_records import Attack, attack, likelihood
from understudy.seeds import stream
from understudy.study.ledger import ledger
from understudy.study.source import FOLDS, Maker
from understudy.synth.cart import Cart
from understudy.synth.dirichlet import DirichletMultinomial
from understudy.synth.keep import Keep
from understudy.synth.likelihood import MultinomialML
from understudy.synth.marginal import Marginal
from understudy.synth.multinomial import Multinomial
from understudy.synth.sequence import Sequential, Visit, fit_visit
from understudy.tables.encode import Block, fit_encoding, stack
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

NAMES = ("sex", "grade", "town")


def levels(make, rows, seed):
    """Three columns that depend on one another; in one of them some values are missing."""
    rng = stream(seed, "levels")
    sex = rng.choice(["f", "m"], rows)
    grade = np.where(rng.random(rows) < 0.8, np.where(sex == "f", "a", "b"), "c")
    town = rng.choice(list("wxyz"), rows, p=[0.5, 0.3, 0.15, 0.05])
    town = [None if rng.random() < 0.05 else level for level in town]
    return make.levels(sex=sex, grade=grade, town=town)


def with_roles(table, *sensitive, **roles):
    roles |= dict.fromkeys(sensitive, "sensitive")
    return table.with_schema(
        table.schema.update({name: {"role": role} for name, role in roles.items()})
    )


def made(table, visits, *, m=2, seed=1, shared=4):
    """Evidence of a release of the whole table, and its source."""
    encoding = fit_encoding(table, shared=shared)
    train = encoding.encode(table)
    fitted = Sequential(tuple(visits)).fit(train, seed=seed)
    drawn = tuple(fitted.sample(table.rows, seed=seed, replicate=r).block for r in range(1, m + 1))
    nobody = train.take(slice(0, 0))
    source = Maker(fitted, train, drawn, seed)
    return Evidence(train, nobody, nobody, drawn, source=source)


def judged(evidence, **settings):
    """The pooled estimates by name."""
    judge = Posterior(**settings).prepare(evidence, rng=stream(1))
    found = judge.pooled(evidence.release, rng=stream(2))
    return judge, {estimate.measure: estimate for estimate in found}


def by_refits(evidence, visits, columns, records, prior, *, open_=0.01):
    """Bayes' rule as it is written: refit with each candidate in each record's place."""
    train, source, rows = evidence.train, evidence.source, []
    everything = Sequential(tuple(visits))
    sizes = [train.encoding[n].size + bool((train.codes[n] == train.encoding[n].missing).any())
             for n in columns]  # fmt: skip
    for i in records:
        others = np.delete(np.arange(train.rows), i)
        likelihood, before, own = [], [], None
        rest = everything.fit(train.take(others), seed=source.seed)
        for k, combination in enumerate(np.ndindex(*sizes)):
            codes = {n: np.array([c], np.int32) for n, c in zip(columns, combination, strict=True)}
            person = train.take(np.array([i])).join(Block(train.encoding, 1, codes, {}))
            if all(train.codes[n][i] == codes[n][0] for n in columns):
                own = k
            parts = [train.take(slice(0, i)), person, train.take(slice(i + 1, None))]
            fit = everything.fit(stack(parts), seed=source.seed)
            likelihood.append(sum(fit.log_prob(z) for z in source.drawn))
            if prior == "model":
                before.append(np.exp(rest.log_density(person)[0]))
            elif prior == "frequencies":
                before.append(sum(all(train.codes[n][j] == codes[n][0] for n in columns)
                                  for j in others))  # fmt: skip
            else:
                before.append(1.0)
        p = np.array(before) / sum(before) if sum(before) else np.full(len(before), 1 / len(before))
        p = p if prior == "uniform" else (1 - open_) * p + open_ / len(p)
        with np.errstate(invalid="ignore"):
            change = np.nan_to_num(np.array(likelihood) - likelihood[own], nan=-np.inf)
        weight = p * np.exp(change - change.max())
        rows.append((p[own], weight[own] / weight.sum(), p, weight / weight.sum(), own))
    return rows


DM = [Visit(DirichletMultinomial(prior=0.2), NAMES)]
CHAIN = [Visit(Marginal(), (name,)) for name in NAMES]
STUMPS = [Visit(Cart(max_depth=0), (name,), NAMES[:i]) for i, name in enumerate(NAMES)]
PARTIAL = [
    Visit(Keep(), ("sex",)),
    Visit(DirichletMultinomial(prior=0.2), ("grade", "town"), (), "sex"),
]
LIKELIHOOD = [
    Visit(Keep(), ("sex",)),
    Visit(MultinomialML(ridge=0.1), ("grade",), ("sex",)),
    Visit(MultinomialML(ridge=0.1), ("town",), ("sex", "grade")),
]
LOGIT = [
    Visit(Keep(), ("sex",)),
    Visit(Marginal(), ("grade",)),
    Visit(Multinomial(C=0.5, tolerance=1e-6), ("town",), ("sex", "grade")),
]


@pytest.mark.parametrize("prior", ["model", "frequencies", "uniform"])
@pytest.mark.parametrize(
    "visits, columns",
    [(DM, NAMES), (DM, ("grade", "town")), (CHAIN, ("grade", "town")), (STUMPS, ("sex", "town")),
     (PARTIAL, ("grade", "town"))],
    ids=["joint", "joint-partly-known", "marginals", "stumps", "partial"],
)  # fmt: skip
def test_posterior_is_bayes_rule_by_refits(make, visits, columns, prior):
    """Every probability, before and after, for full and partial synthesis."""
    kept = {"sex": "keep"} if visits is PARTIAL else {}
    table = with_roles(levels(make, 14, 3), *columns, **kept)
    evidence = made(table, visits)
    judge, found = judged(evidence, prior=prior)
    result, agreed = judge.attacked(map)
    truth = by_refits(evidence, visits, columns, range(14), prior)
    np.testing.assert_allclose(result.prior.truth, [row[0] for row in truth], atol=1e-9)
    np.testing.assert_allclose(result.after.truth, [row[1] for row in truth], atol=1e-9)
    best = [
        np.mean([k == row[4] for k in np.flatnonzero(row[3] >= row[3].max() * (1 - 1e-9))])
        for row in truth
    ]
    assert found["posterior.correct"].value == pytest.approx(np.mean(best))
    assert found["posterior.max_ratio"].value == pytest.approx(
        max(row[1] / row[0] for row in truth)
    )
    assert agreed.asked and (agreed.worst < 1e-9).all() and len(agreed.worst) == 14


@pytest.mark.parametrize("prior", ["model", "uniform"])
def test_maximum_likelihood_in_a_partial_synthesis(make, prior):
    """The chain of the published application: each column given the kept one and those before."""
    table = with_roles(levels(make, 24, 3), "grade", "town", sex="keep")
    evidence = made(table, LIKELIHOOD)
    judge, _ = judged(evidence, prior=prior)
    result, agreed = judge.attacked(map)
    truth = by_refits(evidence, LIKELIHOOD, ("grade", "town"), (0, 5, 23), prior)
    for place, record in enumerate((0, 5, 23)):
        assert result.prior.truth[record] == pytest.approx(truth[place][0], abs=1e-3)
        assert result.after.truth[record] == pytest.approx(truth[place][1], abs=2e-3)
    assert agreed.decides and (agreed.worst < 0.01).all()


def test_models_that_can_only_be_refitted(make):
    """The prior is of fits without a tenth of train, so only the uniform one has an oracle."""
    table = with_roles(levels(make, 24, 4), "town", sex="keep")
    evidence = made(table, LOGIT)
    judge, _ = judged(evidence, prior="uniform", records=4)
    result, agreed = judge.attacked(map)
    truth = by_refits(evidence, LOGIT, ("town",), result.records, "uniform")
    np.testing.assert_allclose(result.after.truth, [row[1] for row in truth], atol=2e-3)
    assert not agreed.asked and agreed.decides


def test_each_replicate_and_the_first_few(make):
    """R by number of replicates: the posterior after l of them is that of l alone."""
    table = with_roles(levels(make, 40, 5), "town")
    evidence = made(table, STUMPS, m=3)
    judge, _ = judged(evidence)
    result, _ = judge.attacked(map)
    who = Attack(evidence.source, evidence.source.drawn)
    for count in (1, 2, 3):
        few = replace(who, replicates=who.replicates[:count])
        alone = attack(evidence.train, judge.candidates, few, np.arange(40))
        np.testing.assert_allclose(result.first[count - 1].truth, alone.after.truth)
        one = replace(who, replicates=who.replicates[count - 1 : count])
        single = attack(evidence.train, judge.candidates, one, np.arange(40))
        np.testing.assert_allclose(result.each[count - 1].truth, single.after.truth)
        found = judge.estimates(evidence.release[count - 1], rng=stream(1))
        assert found[0].value == pytest.approx(single.after.correct.mean())
    table = judge.summaries(rng=stream(1))["posterior"]
    assert table["by_m"][-1] == pytest.approx(result.after.correct.mean(), abs=1e-5)
    assert np.sum(table["two_way"]) == pytest.approx(40, abs=1e-3)


@pytest.mark.parametrize("visits, columns", [(DM, NAMES), (STUMPS, ("sex", "town"))])
def test_results_do_not_depend_on_how_records_are_parted(make, visits, columns, monkeypatch):
    table = with_roles(levels(make, 60, 6), *columns)
    evidence = made(table, visits)
    whole, _ = judged(evidence)[0].attacked(map)
    monkeypatch.setattr("understudy.risk.posterior_records._ROOM", 100)
    monkeypatch.setattr("understudy.risk.posterior_records._shared", lambda *_: None)
    parts, _ = judged(evidence)[0].attacked(map)
    np.testing.assert_allclose(whole.after.truth, parts.after.truth, atol=1e-12)
    np.testing.assert_allclose(whole.prior.truth, parts.prior.truth, atol=1e-12)
    np.testing.assert_allclose(whole.after.correct, parts.after.correct, atol=1e-12)


def test_neighbours_bound_the_whole_product(make):
    """Changes of one column leave candidates out, so they can only make the truth more probable."""
    table = with_roles(levels(make, 60, 7), *NAMES)
    evidence = made(table, DM)
    whole, _ = judged(evidence, prior="uniform")[0].attacked(map)
    near, _ = judged(evidence, prior="uniform", candidates="neighbours", enough=100)[0].attacked(
        map
    )
    stopped, _ = judged(evidence, prior="uniform", candidates="neighbours", enough=1)[0].attacked(
        map
    )
    assert (near.after.truth >= whole.after.truth - 1e-12).all()
    assert (near.after.correct >= whole.after.correct).all()
    np.testing.assert_array_equal(stopped.after.correct, near.after.correct)
    assert (stopped.after.truth >= near.after.truth - 1e-12).all()
    # By hand: the truth's weight over that of all neighbours.
    (fitted,), train = evidence.source.fitted.fitted, evidence.train
    for record in (0, 30):
        others = []
        for name in NAMES:
            size = train.encoding[name].size + (name == "town")
            for code in range(size):
                if code != train.codes[name][record]:
                    codes = {name: np.array([code], np.int32)}
                    person = train.take(np.array([record])).join(
                        Block(train.encoding, 1, codes, {})
                    )
                    others.append(fitted.swap(record, person, evidence.source.drawn).sum())
        truth = 1 / (1 + np.exp(others).sum())
        assert near.after.truth[record] == pytest.approx(truth, rel=1e-9)


def test_candidates_are_what_they_say(make):
    table = levels(make, 50, 8)
    train = fit_encoding(table).encode(table)
    product = sets.find(train, ("grade", "town"))
    assert product.kind == "product" and product.most == 3 * 5
    observed = sets.find(train, ("grade", "town"), most=14)
    pairs = set(zip(train.codes["grade"].tolist(), train.codes["town"].tolist(), strict=True))
    assert observed.kind == "observed" and observed.most == len(pairs)
    near = sets.find(train, ("grade", "town"), most=len(pairs) - 1)
    assert near.kind == "neighbours" and near.most == 3 + 5
    inside = sets.find(train, ("grade", "town"), within="sex")
    for group in inside.groups:
        sex = np.unique(train.codes["sex"][group.records])
        assert len(sex) == 1
        rows = train.take(train.codes["sex"] == sex[0])
        assert group.sets[0].rows == prod(len(np.unique(rows.codes[n])) for n in ("grade", "town"))
    for found in (product, observed, near, inside):
        for group in found.groups:
            for block, own in zip(group.sets, group.own, strict=True):
                mine = block.take(own)
                for name in block.names:
                    assert np.array_equal(mine.codes[name], train.codes[name][group.records])


def test_too_many_candidates_are_refused_with_their_number_and_the_way_out(make):
    table = with_roles(levels(make, 50, 8), "grade", "town")
    train = fit_encoding(table).encode(table)
    with pytest.raises(PlanError, match=r'at most 9 candidates .* 15: candidates = "neighbours"'):
        Posterior(candidates="product", max_candidates=9).suits("measure.posterior", train)
    with pytest.raises(PlanError, match="raise max_candidates"):
        Posterior(candidates="neighbours", max_candidates=2).suits("measure.posterior", train)
    Posterior(max_candidates=9).suits("measure.posterior", train)
    for settings, key in (
        ({"prior": "none"}, "prior"),
        ({"candidates": "all"}, "candidates"),
        ({"open": 2}, "open"),
        ({"records": 0}, "records"),
        ({"checks": -1}, "checks"),
    ):
        with pytest.raises(PlanError, match=rf"measure\.posterior\.{key}"):
            Posterior.from_settings("measure.posterior", settings)
    with pytest.raises(PlanError, match="within"):
        Posterior(within="nowhere").fits("measure.posterior", table.schema)


def test_a_number_is_guessed_by_cell(make):
    """E_i and credible intervals, from the posterior written out."""
    table = with_roles(make.mixed(60, 3, names=("sex", "age")), "age")
    visits = [Visit(Marginal(), ("sex",)), Visit(Marginal(), ("age",))]
    evidence = made(table, visits)
    judge, _ = judged(evidence, prior="uniform")
    result, _ = judge.attacked(map)
    age, train = result.numbers["age"], evidence.train
    encoding = train.encoding["age"]
    point = np.array(
        [np.quantile(train.values["age"][train.codes["age"] == code], 0.5, method="lower")
         for code in range(encoding.size)]
    )  # fmt: skip
    for record in range(0, 60, 7):
        n = np.bincount(np.delete(train.codes["age"], record), minlength=encoding.size + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = prod(
                np.where(z == 0, 1.0, (n + z) / n)
                for z in (
                    np.bincount(block.codes["age"], minlength=encoding.size + 1)
                    for block in evidence.source.drawn
                )
            )
        if np.isinf(ratio).any():
            ratio = np.isinf(ratio).astype(float)
        share = ratio[: encoding.size] / ratio[: encoding.size].sum()
        if np.isnan(train.values["age"][record]):
            assert np.isnan(age.after[record])
            continue
        assert age.after[record] == pytest.approx(share @ point - train.values["age"][record])
        total = np.cumsum(share)
        assert age.low[record] == point[np.searchsorted(total, 0.05 - 1e-12)]
        assert age.high[record] == point[np.searchsorted(total, 0.95 - 1e-12)]
    assert "age" in judge.summaries(rng=stream(1))["posterior"]["numbers"]


def test_the_records_own_number_changes_nothing(make):
    """Where exact values are handed out, a cell's candidate is another value than the record's."""
    table = with_roles(make.mixed(60, 3, names=("sex", "income")), "income")
    visits = [Visit(Marginal(), ("sex",)), Visit(Marginal(smooth=False), ("income",))]
    evidence = made(table, visits, m=1, shared=10)
    judge, _ = judged(evidence, prior="uniform", checks=0)
    (group,) = judge.candidates.groups
    change = likelihood(evidence.source, group.records, group.sets[0], group.own[0],
                        evidence.source.drawn)  # fmt: skip
    assert (change[:, np.arange(60), group.own[0]] == 0.0).all()
    raw = evidence.source.swaps(group.records, group.sets[0], evidence.source.drawn)
    assert (raw[:, np.arange(60), group.own[0]] != 0.0).any()


def test_the_prior_where_later_columns_predict_from_the_sensitive_one(make):
    """Trees of the sensitive column given all others, each record scored by a fit without it."""
    table = with_roles(levels(make, 120, 12), "sex")
    visits = [Visit(Marginal(), ("town",)), Visit(Cart(min_leaf=10), ("sex",), ("town",)),
              Visit(Cart(min_leaf=10), ("grade",), ("town", "sex"))]  # fmt: skip
    evidence = made(table, visits, m=1)
    judge, found = judged(evidence, checks=0)
    result, _ = judge.attacked(map)
    fold = stream(1, "folds").permutation(120) % FOLDS
    informed, train = replace(visits[1], given=("grade", "town")), evidence.train
    for number in (0, 7):
        part = np.flatnonzero(fold == number)
        fit = fit_visit(train.take(np.flatnonzero(fold != number)), 1, informed)
        share = 0.99 * np.exp(fit.log_density(train.take(part))) + 0.01 / 2
        np.testing.assert_allclose(result.prior.truth[part], share, rtol=1e-9)
    # Sex and grade go together in 80%, which only grade tells.
    assert found["posterior.prior_correct"].value > 0.75


def test_the_largest_ratio_of_a_sample_is_not_that_of_all(make):
    evidence = made(with_roles(levels(make, 200, 9), "town"), STUMPS, m=1)
    _, some = judged(evidence, records=30, c=1.5)
    _, whole = judged(evidence)
    assert whole["posterior.max_ratio"].high == whole["posterior.max_ratio"].value
    assert some["posterior.max_ratio"].high > some["posterior.max_ratio"].value


# --- a synthesizer that copies fails, one of large leaves holds, a leak moves it ---------------


def town_of(rows, seed, make, streets, lone=0):
    """People by street, some alone in one, and an illness that goes with nothing."""
    rng = stream(seed, "town of")
    street = rng.permutation(rows) % streets
    street[:lone] = streets + np.arange(lone)
    ill = rng.choice(list("abcde"), rows)
    return with_roles(make.levels(street=[f"s{k:03}" for k in street], ill=ill), "ill")


def by_number(rows, seed):
    """A number of one's own, which is kept, and an illness that goes with nothing."""
    rng = stream(seed, "by number")
    arrays = {"key": rng.permutation(rows).astype(float), "ill": rng.choice(list("abcde"), rows)}
    schema = Schema((Column("key", Kind.NUMBER, Role.KEEP),
                     Column("ill", Kind.CATEGORY, Role.SENSITIVE)))  # fmt: skip
    return Table(pa.table(arrays), schema)


@pytest.mark.parametrize("size, verdict", [(1, Verdict.FAILS), (130, Verdict.HOLDS)])
def test_leaves_of_one_fail_and_large_leaves_hold(size, verdict):
    """A leaf of two copies one of them or the other; among 130, one person hardly counts.

    Cells of the key hold two people, so these are the smallest leaves. Of 400 records a gap has a
    standard deviation of up to 0.02, so the margin here is 0.1; the smallest leaves have 0.5.
    """
    table = by_number(400, 1)
    visits = [Visit(Keep(), ("key",)), Visit(Cart(min_leaf=size), ("ill",), ("key",))]
    evidence = replace(made(table, visits, m=1, shared=2), margins={"posterior.correct": 0.1})
    judge, found = judged(evidence, checks=12)
    _, agreed = judge.attacked(map)
    estimate, before = found["posterior.correct"], found["posterior.prior_correct"].value
    plain = replace(estimate, gap_low=None, gap_high=None)
    assert plain.verdict() is verdict
    assert (estimate.value - before > 0.3) if size == 1 else abs(estimate.value - before) < 0.08
    # Trees grown again differ where leaves are small; whatever they say, it is said.
    assert (f"{len(agreed.worst)} random records") in estimate.note


def test_a_copy_in_the_splits_is_not_decided(make):
    """Splits that sort streets by illness give it away, not the leaves: refits tell, it is said.

    Everybody has a street, and all streets of one illness are one leaf. Held, that leaf says
    nothing about one person in it; grown again, the tree puts the street elsewhere.
    """
    table = with_roles(town_of(600, 1, make, 600), "ill", street="keep")
    visits = [Visit(Keep(), ("street",)), Visit(Cart(min_leaf=1), ("ill",), ("street",))]
    evidence = replace(made(table, visits, m=1), margins={"posterior.correct": 0.1})
    judge, found = judged(evidence, checks=5)
    _, agreed = judge.attacked(map)
    assert agreed.flips > 0
    assert found["posterior.correct"].verdict() is Verdict.UNDECIDED
    assert "exact refits give other probabilities" in found["posterior.correct"].note


def test_one_percent_of_lone_donors_moves_it_by_one_percent(make):
    """12 of 1,200 people are leaves of their own; streets are kept, so each of them is drawn.

    They are found at once, and everybody else is guessed as before: the same tree, the same draws.
    """
    table = with_roles(town_of(1200, 2, make, 10, lone=12), "ill", street="keep")
    result = {}
    for kind in (Cart, Leaky):
        visits = [Visit(Keep(), ("street",)), Visit(kind(min_leaf=300), ("ill",), ("street",))]
        evidence = made(table, visits, m=1)
        result[kind] = judged(evidence, checks=0)[0].attacked(map)[0]
    alone = Leaky.alone(evidence.train)
    plain, leaky = result[Cart].after, result[Leaky].after
    assert len(alone) == 12
    assert (leaky.truth[alone] > 0.99).all() and (leaky.correct[alone] == 1.0).all()
    assert (plain.truth[alone] < 0.9).all()
    gained = (leaky.correct - result[Leaky].prior.correct).mean()
    before = (plain.correct - result[Cart].prior.correct).mean()
    # The 12 gain 1 − PR each; the others are drawn anew: two gaps with an SD of 0.005 each.
    assert abs(gained - before - 0.01 * (1 - plain.correct[alone].mean())) < 0.02
    assert gained > before


class Leaky(Cart):
    """Leaves as of `Cart`, but twelve people who are alone in their street are leaves of one."""

    @staticmethod
    def alone(train):
        """Their rows."""
        codes = train.codes["street"]
        lone = np.flatnonzero(np.bincount(codes, minlength=train.encoding["street"].width) == 1)
        return np.flatnonzero(np.isin(codes, lone[:12]))

    def fit(self, train, columns, given, *, rng):
        from understudy.synth.cart import fitted_cart

        fit = super().fit(train, columns, given, rng=rng)
        tree = Split(fit.tree, train.codes["street"][self.alone(train)])
        leaf = tree.apply([train.codes["street"]])
        return fitted_cart(self, train, columns[0], tuple(given), tree, leaf)


class Split:
    """A tree with some codes of its first predictor split off."""

    def __init__(self, tree, alone):
        self.tree, self.alone, self.leaves = tree, alone, tree.leaves + len(alone)

    def apply(self, codes):
        leaf = self.tree.apply(codes)
        for place, code in enumerate(self.alone):
            leaf[codes[0] == code] = self.tree.leaves + place
        return leaf


def test_the_ledger_has_every_record(make):
    """Probabilities of each record; null where it was not attacked."""
    evidence = made(with_roles(levels(make, 60, 9), "town"), STUMPS, m=1)
    judge, _ = judged(evidence, records=20)
    result, _ = judge.attacked(map)
    found = ledger(evidence, np.arange(60), judge.records()).to_pydict()
    told = [i for i in range(60) if found["posterior_truth"][i] is not None]
    assert told == result.records.tolist() and len(told) == 20
    for place, record in enumerate(told):
        assert found["posterior_truth"][record] == result.after.truth[place]
        assert found["posterior_prior"][record] == result.prior.truth[place]
        assert found["posterior_ratio"][record] == pytest.approx(
            result.after.truth[place] / result.prior.truth[place]
        )


# --- what cannot be said, and what must not be decided -------------------------------------------


def test_tables_from_elsewhere_and_without_a_sensitive_column(make):
    evidence = made(with_roles(levels(make, 30, 9), "town"), STUMPS)
    _, found = judged(replace(evidence, source=None))
    assert {e.verdict() for e in found.values()} == {Verdict.NOT_APPLICABLE}
    assert "come from elsewhere" in found["posterior.correct"].note
    _, found = judged(made(levels(make, 30, 9), STUMPS))
    assert "no synthesised column has the role sensitive" in found["posterior.correct"].note
    table = with_roles(make.levels(a=["x", "y"] * 10, b=["z"] * 20), "b")
    visits = [Visit(Marginal(), ("a",)), Visit(Marginal(), ("b",))]
    _, found = judged(made(table, visits))
    assert "same sensitive values" in found["posterior.correct"].note


def test_disagreement_with_refits_decides_nothing(make, monkeypatch):
    """If closed forms were off by a nat, the finding would say so and decide nothing."""
    evidence = made(with_roles(levels(make, 60, 9), "town"), STUMPS, m=1)
    wide = {"margins": {"posterior.correct": 0.9}}
    evidence = replace(evidence, **wide)
    _, good = judged(evidence)
    assert good["posterior.correct"].verdict() is Verdict.HOLDS
    assert "agrees with exact refits" in good["posterior.correct"].note
    real = Maker.swaps
    monkeypatch.setattr(Maker, "swaps", lambda *a: real(*a) + stream(1).normal(0, 1, 5))
    _, bad = judged(evidence)
    assert bad["posterior.correct"].verdict() is Verdict.UNDECIDED
    assert bad["posterior.max_ratio"].verdict() is Verdict.UNDECIDED
    assert "exact refits give other probabilities" in bad["posterior.correct"].note
    monkeypatch.setattr(Maker, "swaps", real)
    _, unsure = judged(evidence, checks=0)
    assert unsure["posterior.correct"].verdict() is Verdict.UNDECIDED


def test_what_is_dear_is_sampled_or_refused_with_the_way_out(make):
    table = with_roles(levels(make, 80, 4), "town", sex="keep")
    evidence = made(table, LOGIT, m=1)
    _, found = judged(evidence, records=3)
    assert "3 of 80 records, a random sample" in found["posterior.correct"].note
    huge = 10**6

    class Dear(Maker):
        def effort(self, columns, *, slow):
            return huge * super().effort(columns, slow=slow)

    dear = replace(evidence, source=Dear(**vars(evidence.source)))
    _, found = judged(dear)
    assert found["posterior.correct"].verdict() is Verdict.NOT_APPLICABLE
    assert "set measure.posterior.records" in found["posterior.correct"].note


def test_too_many_pairs_are_sampled_unless_none_is_looked_at(make, monkeypatch):
    monkeypatch.setattr("understudy.risk.posterior._PAIRS", 5 * 30)
    stumps = made(with_roles(levels(make, 60, 9), "town"), STUMPS, m=1)
    joint = made(with_roles(levels(make, 60, 9), *NAMES), DM, m=1)
    assert "30 of 60 records" in judged(stumps)[1]["posterior.correct"].note
    assert "all 60 records" in judged(joint)[1]["posterior.correct"].note


def test_a_prior_that_rules_the_truth_out(make):
    """With open = 0 a lone value has no prior: no ratio, counted in the note; with it, it has."""
    table = levels(make, 60, 10)
    town = ["only here", *table.column("town").to_pylist()[1:]]
    table = with_roles(make.levels(sex=table.column("sex").to_pylist(), town=town), "town")
    visits = [Visit(Marginal(), ("sex",)), Visit(Marginal(), ("town",))]
    evidence = made(table, visits, m=5)
    strict, found = judged(evidence, prior="frequencies", open=0)
    assert "1 records whose truth the prior rules out" in found["posterior.correct"].note
    assert np.isnan(strict.attacked(map)[0].ratio[0])
    wide = judged(evidence, prior="frequencies")[0].attacked(map)[0]
    lone = evidence.train.codes["town"][0]
    shown = any((block.codes["town"] == lone).any() for block in evidence.release)
    assert shown and wide.after.truth[0] == 1.0 and wide.ratio[0] > 100


def test_a_synthetic_value_that_no_candidate_could_have_produced(make):
    """Some rows are impossible whoever the record is: they say nothing about anybody."""
    for visits, settings in ((STUMPS, {}), (LOGIT, {"records": 5})):
        kept = {"sex": "keep"} if visits is LOGIT else {}
        evidence = made(with_roles(levels(make, 30, 11), "town", **kept), visits, m=1)
        (block,) = evidence.source.drawn
        strange = np.full(30, block.encoding["town"].unseen, dtype=np.int32)
        odd = block.join(Block(block.encoding, 30, {"town": strange}, {}))
        source = replace(evidence.source, drawn=(odd,))
        judge, _ = judged(replace(evidence, source=source, release=(odd,)), **settings)
        result, _ = judge.attacked(map)
        np.testing.assert_allclose(result.after.truth, result.prior.truth, rtol=1e-9)


def test_calibration_is_what_must_be(make):
    """A copy gives everybody away, fresh rows nobody."""
    evidence = made(with_roles(levels(make, 60, 9), "town"), STUMPS, m=1)
    judge, found = judged(evidence)
    copy = judge.calibration("copy", evidence.train, rng=stream(1))
    fresh = judge.calibration("fresh", evidence.train, rng=stream(1))
    assert [e.measure for e in copy] == list(Posterior.names)
    assert copy[0].value == 1.0 and copy[0].verdict() is Verdict.FAILS
    assert fresh[0].value == fresh[0].reference == found["posterior.correct"].reference
    assert fresh[2].value == 1.0
