"""Closeness against closed forms, brute force and simulation."""

import numpy as np
import pytest

from understudy.evidence import Evidence
from understudy.results import Verdict
from understudy.risk.closeness import Closeness
from understudy.risk.nearer import Nearer
from understudy.tables.encode import stack


def judged(train, control, fresh, release, **settings):
    evidence, rng = (
        Evidence(train, control, fresh, (release,), **settings),
        np.random.default_rng(0),
    )
    judges = [measure().prepare(evidence, rng=rng) for measure in (Closeness, Nearer)]
    return {e.measure: e for judge in judges for e in judge.estimates(release, rng=rng)}


def test_expected_matches_in_closed_form(people):
    """E[IMS] = Σ_z p(z)·(1 − (1 − p(z))^N), Bale & Quick (9)–(12), on one binary column.

    The mean only: rows of one release share train, so the paper's binomial variance is wrong.
    """
    share = {"no": 0.7, "yes": 0.3}
    expected = sum(p * (1 - (1 - p) ** 5) for p in share.values())
    found = []
    for seed in range(150):
        world = people("binary", 5, 8, 30, seed)
        found.append(judged(world.train, world.control, world.fresh, world.draw(40))["ims"].value)
    # 150 trains: |mean − E| < 4 SE fails with probability 6e-5.
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / 150**0.5


def test_expected_matches_on_many_cells(people):
    """The same with cells whose probabilities are counted from 200,000 rows."""
    world = people("coarse", 200, 100, 31)
    cells = np.stack(list(world.draw(200_000).codes.values()))
    many = np.unique(cells, axis=1, return_counts=True)[1]
    p = many / many.sum()
    found = []
    for seed in range(60):
        one = people("coarse", 200, 100, 32, seed)
        found.append(judged(one.train, one.control, one.fresh, one.draw(200))["ims"].value)
    assert abs(np.mean(found) - np.sum(p * (1 - (1 - p) ** 200))) < 4 * np.std(found) / 60**0.5


def test_numbers_by_brute_force(people):
    world = people("continuous", 120, 80, 33)
    release = world.leak(0.1, 100)

    def points(block):
        cells = [
            (block.values[n] - world.encoding[n].mean) / world.encoding[n].sd for n in block.names
        ]
        return np.stack(cells, axis=1)

    def reach(block, other):
        gaps = points(block)[:, None] - points(other)[None]
        return np.sort(np.sqrt((gaps**2).sum(axis=2)), axis=1)

    held = stack([world.control, world.fresh])
    near, away = reach(release, world.train), reach(release, held)
    found = judged(world.train, world.control, world.fresh, release)
    assert found["ims"].value == 0.1
    assert found["dcr.p05"].value == pytest.approx(np.sort(near[:, 0])[4], abs=1e-9)
    assert found["nndr.p05"].value == pytest.approx(np.sort(near[:, 0] / near[:, 4])[4], abs=1e-9)
    assert found["dcr.share"].value == np.mean(near[:, 0] < away[:, 0])
    honest = reach(held, world.train)
    assert found["dcr.p05"].reference == pytest.approx(np.sort(honest[:, 0])[3], abs=1e-9)
    assert found["dcr.share"].reference == 120 / 200


def test_undefined_ratios_are_left_out_and_reported(make):
    train = make.encoded(make.numbers([1.0] * 6 + [2.0, 3.0, 4.0, 7.0]))
    release = train.take(np.array([0, 0, 0, 7]))
    found = judged(train, train, train, release)["nndr.p05"]
    said = "d1/d5 undefined for 75.0% of rows, 60.0% of the holdout's"
    assert found.value == 0.0 and said in found.note


def test_a_ratio_undefined_everywhere_does_not_apply(people):
    world = people("binary", 100, 40, 34)
    found = judged(world.train, world.control, world.fresh, world.draw(100))["nndr.p05"]
    assert found.verdict() is Verdict.NOT_APPLICABLE and "0/0" in found.note


def test_ties_count_one_half(make):
    train = make.encoded(make.numbers([0.0, 1.0]))
    half = train.take(np.array([0])), train.take(np.array([1]))
    assert judged(train, *half, train)["dcr.share"].value == 0.5


@pytest.mark.parametrize("control", [40, 400])
def test_unequal_sizes_are_no_bias_of_the_nearer_share(people, control):
    """Value − reference averages 0 although train is far larger, or smaller, than control."""
    gaps = []
    for seed in range(60):
        world = people("continuous", 200, 2 * control, 35, seed)
        found = judged(world.train, world.control, world.fresh, world.draw(100))["dcr.share"]
        gaps.append(found.value - found.reference)
    # False alarm: 6e-5.
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / 60**0.5


def test_queries_are_thinned_and_train_never_is(people):
    world = people("mixed", 300, 100, 36)
    found = judged(world.train, world.control, world.fresh, world.train, queries=50)
    assert found["ims"].value == 1.0 and "50 of 300 rows asked" in found["ims"].note


@pytest.mark.parametrize("metric", ["typed", "hamming", "euclidean-codes"])
def test_every_metric_knows_a_copy(people, metric):
    world = people("mixed", 200, 100, 37)
    found = judged(world.train, world.control, world.fresh, world.train, metric=metric)
    assert found["ims"].value == 1.0 and metric in found["ims"].note


@pytest.mark.parametrize("held, runs", [(60, 120), (400, 60)])
def test_intervals_cover(people, held, runs):
    """Share of runs in which the gap's 90% interval holds the true gap of a fresh draw, 0.

    Coverage of at least 0.84 with 120 runs (0.80 with 60): below 90% by 2.2 SE and more.
    """
    hits = {"dcr.p05": 0, "dcr.share": 0}
    for seed in range(runs):
        world = people("continuous", 150, held, 38, seed)
        found = judged(world.train, world.control, world.fresh, world.draw(200), level=0.9)
        for name in hits:
            low, high = found[name].gap()
            hits[name] += low <= 0 <= high
    least = 0.84 if runs == 120 else 0.80
    assert all(count / runs >= least for count in hits.values()), hits
