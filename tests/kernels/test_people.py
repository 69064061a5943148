"""Rows that come in persons, against people dealt and drawn the slow way."""

import numpy as np
import pytest

from understudy.kernels import propensity
from understudy.kernels.people import least_rows, pooled, score_effects
from understudy.kernels.resample import effective_rows, interval, mean_draws, quantile_draws
from understudy.kernels.rows import hits_unique, overlap, overlap_null


def clustered(people, rng, longest=12, shared=1.0):
    """Rows of people: how many differs, and all rows of a person have something in common."""
    size = rng.integers(1, longest + 1, people)
    person = np.repeat(np.arange(people), size)
    return person, shared * rng.normal(size=people)[person] + rng.normal(size=len(person))


def test_people_of_two_tables_are_numbered_apart():
    whose, first = pooled((np.array([4, 4, 9]), np.array([4, 2])), (3, 2))
    assert whose.tolist() == [0, 0, 1, 3, 2]
    assert first == 2


def test_rows_all_alike_count_as_kish_says():
    assert least_rows(np.array([0, 0, 0, 1]), 4) == pytest.approx(16 / 10)


def test_effective_rows_give_the_deviation_that_people_drawn_anew_show():
    rng = np.random.default_rng(3)
    person, values = clustered(150, rng)
    values = (values > 0.5).astype(float)
    first = np.searchsorted(person, np.arange(150))
    rows = [np.arange(a, b) for a, b in zip(first, [*first[1:], len(person)], strict=True)]
    means = [
        values[np.concatenate([rows[p] for p in rng.integers(0, 150, 150)])].mean()
        for _ in range(4000)
    ]
    some = effective_rows(values, person)
    # 4,000 draws know a deviation to 1.1%; weighing people by rows and the ratio cost some more.
    assert np.sqrt(values.var() / some) == pytest.approx(np.std(means), rel=0.06)
    assert some < 0.6 * len(values)


def test_independent_rows_are_not_more_than_they_are():
    rng = np.random.default_rng(4)
    person, _ = clustered(300, rng)
    assert effective_rows(rng.normal(size=len(person)), person) <= len(person)
    assert effective_rows(np.array([0.0, 1.0] * 50), np.repeat(np.arange(50), 2)) == 100


def test_one_person_of_many_rows_says_little():
    values = np.zeros(400)
    person = np.concatenate([np.zeros(300, int), np.arange(1, 101)])
    assert effective_rows(values, person) == int(400**2 / (300**2 + 100))


def test_intervals_of_a_share_cover_when_people_are_drawn():
    # 95% intervals from 400 samples of 60 people; a plain interval covers about 70%. With so few
    # people 91% is what to expect; chance moves it by 1.4 points, so 0.87 fails once in 400.
    rng = np.random.default_rng(5)
    truth = 0.5
    hits = plain = 0
    for _ in range(400):
        person, values = clustered(60, rng, shared=2.0)
        values = (values > 0).astype(float)
        low, high = interval(mean_draws(values, rng, person=person), 0.95)
        hits += low <= truth <= high
        low, high = interval(mean_draws(values, rng), 0.95)
        plain += low <= truth <= high
    assert hits / 400 > 0.87
    assert plain / 400 < 0.8


def test_intervals_of_a_quantile_cover_when_people_are_drawn():
    rng = np.random.default_rng(6)
    person, values = clustered(200_000, rng, shared=2.0)
    truth = np.quantile(np.abs(values), 0.05)
    hits = 0
    for _ in range(400):
        person, values = clustered(150, rng, shared=2.0)
        low, high = interval(quantile_draws(np.abs(values), 0.05, rng, person=person), 0.95)
        hits += low <= truth <= high
    assert 0.9 < hits / 400 <= 1.0


def test_quantiles_of_people_of_one_row_are_those_of_rows():
    values = np.random.default_rng(7).random(500)
    alone = quantile_draws(values, 0.05, np.random.default_rng(1), person=np.arange(500))
    rows = quantile_draws(values, 0.05, np.random.default_rng(1))
    assert np.allclose(alone, rows)


def test_uniques_are_people_not_rows():
    rng = np.random.default_rng(8)
    person, other = rng.integers(0, 50, 200), rng.integers(0, 80, 100)
    train = (7 * person + rng.integers(0, 2, 200)) % 60  # a person has the same row many times
    slow = [float(len(set(person[train == value])) == 1) for value in other]
    assert hits_unique(train, other, person).tolist() == slow
    assert 0 < hits_unique(train, other).sum() < sum(slow) < 100


def test_the_overlap_of_people_dealt_is_what_dealing_them_gives():
    rng = np.random.default_rng(9)
    one, two = clustered(40, rng)[0], clustered(30, rng)[0]
    first, second = one % 7, two % 7
    mean, sd = overlap_null(first, second, rng, draws=600, people=(one, two))
    slow = []
    whole = [(first[one == p]) for p in range(40)] + [second[two == p] for p in range(30)]
    for _ in range(600):
        order = rng.permutation(70)
        a = np.concatenate([whole[p] for p in order[:40]])
        b = np.concatenate([whole[p] for p in order[40:]])
        slow.append(overlap(a, b))
    # Two means of 600 draws: 5 standard errors apart once in two million.
    assert mean == pytest.approx(np.mean(slow), abs=5 * np.std(slow) * np.sqrt(2 / 600))
    assert sd == pytest.approx(np.std(slow), rel=0.2)
    assert mean < overlap_null(first, second, rng, draws=600)[0]


def test_the_null_of_the_logit_is_that_of_people():
    # 500 pairs of tables of one process, 80 people each. Ratios have about 3 degrees of freedom:
    # their mean is known to 3.7%, their variance to 15%; both fail once in 10,000 or less.
    rng = np.random.default_rng(10)
    plain, people = [], []
    for _ in range(500):
        tables = []
        for _side in range(2):
            person, x = clustered(80, rng, shared=2.5)
            own = rng.normal(size=(len(x), 3))  # nothing in common in a person
            tables.append((person, np.column_stack([x, np.abs(x), own])))
        (one, a), (two, b) = tables
        empty = [np.zeros((len(t), 0), np.int32) for t in (a, b)]
        plain.append(propensity.logit(a, empty[0], b, empty[1], []).ratio)
        people.append(propensity.logit(a, empty[0], b, empty[1], [], people=(one, two)))
    ratios = np.array([found.ratio for found in people])
    assert ratios.mean() == pytest.approx(1.0, abs=0.15)
    assert np.mean(plain) > 1.8
    # The degrees of freedom say how the ratio strays: Var = 2/ν. Five terms alone would say 0.4.
    freedom = np.mean([2 * (f.expected / f.sd) ** 2 for f in people])
    assert freedom < 4
    assert ratios.var() == pytest.approx(2 / freedom, rel=0.4)


def test_effects_of_people_of_one_row_are_none():
    x = np.random.default_rng(11).normal(size=(50, 3))
    assert score_effects(x, np.arange(50)) == pytest.approx((1.0, 3.0))
    assert score_effects(np.ones((5, 2)), np.arange(5)) == (1.0, 0.0)


def test_labels_of_trees_are_dealt_to_people():
    rng = np.random.default_rng(12)
    person, other = clustered(60, rng)[0], clustered(60, rng)[0]
    x, z = rng.normal(size=60)[person], rng.normal(size=60)[other]
    empty = [np.zeros((len(t), 0), np.int32) for t in (x, z)]
    both = (x[:, None], empty[0], z[:, None], empty[1], [])
    rows = propensity.cart(*both, permutations=20, rng=rng)
    people = propensity.cart(*both, permutations=20, rng=rng, people=(person, other))
    assert people.expected > 2 * rows.expected
    assert people.null == "permutation mean of 20 of people"
