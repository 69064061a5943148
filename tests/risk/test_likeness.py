"""Likeness sees tables that follow train more closely than a second sample would."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from understudy.results import Verdict
from understudy.tables.encode import Block, stack

FAILS, HOLDS, UNDECIDED = Verdict.FAILS, Verdict.HOLDS, Verdict.UNDECIDED
KEY = ("likeness", None)


def only(world, release):
    return world.findings(release, measures=("likeness",))[KEY]


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
def test_a_copy_has_ratio_zero_and_fails(people, process):
    world = people(process, 600, 300, 1)
    found = only(world, world.train)
    assert found.verdict is FAILS and found.estimate.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
@pytest.mark.parametrize("rows", [300, 600, 1800])
def test_fresh_draws_hold_whatever_their_size(people, process, rows):
    # Each fails with probability below 1%: the level is 98.6%, and the margin is far away.
    world = people(process, 600, 300, 2)
    found = [only(world, world.draw(rows)) for _ in range(4)]
    assert {item.verdict for item in found} <= {HOLDS, UNDECIDED}


@pytest.mark.parametrize(("process", "terms"), [("continuous", 9), ("coarse", 50)])
def test_fresh_draws_follow_the_chi_square_that_the_interval_takes(people, process, terms):
    # 200 draws; a Kolmogorov–Smirnov test at 1 in 1,000, with fixed seeds.
    world = people(process, 400, 100, 6)
    ratios = []
    for _ in range(200):
        world.train = world.draw(400)
        ratios.append(world.values("likeness", world.draw(400))[KEY].value)
    assert kstest(np.array(ratios) * terms, chi2(terms).cdf).pvalue > 0.001


def test_a_model_with_trains_own_counts_does_not_fail(people):
    """Drawing rows of train with replacement comes down to 1 − c, not to 0."""
    world = people("coarse", 2000, 300, 3)
    ratios = []
    for _ in range(5):
        release = world.train.take(world.rng.integers(2000, size=2000))
        found = world.values("likeness", release)[KEY]
        assert found.verdict() is not FAILS
        ratios.append(found.value)
    assert np.mean(ratios) == pytest.approx(0.5, abs=0.12)


def test_a_copy_in_small_noise_fails(people):
    world = people("continuous", 600, 300, 4)
    jitter = {n: v + 0.02 * world.rng.normal(size=600) for n, v in world.train.values.items()}
    codes = {n: world.encoding[n].cells.of(v) for n, v in jitter.items()}
    assert only(world, Block(world.encoding, 600, codes, jitter)).verdict is FAILS


def test_half_a_copy_has_half_the_ratio(people):
    """A share λ of train's own rows brings the expectation down to 1 − λ."""
    found = []
    for seed in range(20):
        world = people("coarse", 600, 100, 5, seed)
        found.append(world.values("likeness", world.leak(0.5))[KEY].value)
    assert np.mean(found) == pytest.approx(0.5, abs=0.07)


@pytest.mark.parametrize("rows", [300, 600, 1200])
def test_a_part_of_trains_rows_comes_down_to_the_end_that_the_margin_knows(people, rows):
    """N_Z of train's rows, without replacement, have 1 − 2c; with replacement 1 − c."""
    part, drawn = [], []
    for seed in range(15):
        world = people("coarse", 1200, 100, 7, seed)
        taken = world.train.take(world.rng.permutation(1200)[:rows])
        found = world.values("likeness", taken)[KEY]
        part.append(found.value)
        drawn.append(
            world.values("likeness", world.train.take(world.rng.integers(1200, size=rows)))[KEY]
        )
    c = rows / (rows + 1200)
    assert np.mean(part) == pytest.approx(max(1 - 2 * c, 0), abs=0.06)
    assert np.mean([item.value for item in drawn]) == pytest.approx(1 - c, abs=0.09)
    assert found.margin == pytest.approx(1 - (1 - c + max(1 - 2 * c, 0)) / 2)
    assert drawn[0].verdict() is not FAILS


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
def test_one_percent_of_leaked_rows_moves_it_down(people, process):
    """Paired: the same release with and without the leak. Expected: down by the leaked share.

    A row that is swapped moves the ratio by chance, too, hence the many pairs; the bound is three
    standard errors of their mean.
    """
    moved = []
    for seed in range(150):
        world = people(process, 500, 40, 20, seed)
        fresh = world.draw(500)
        taken = world.rng.choice(500, 5, replace=False)
        leaked = stack([fresh.take(slice(5, None)), world.train.take(taken)])
        before, after = (world.values("likeness", block)[KEY].value for block in (fresh, leaked))
        moved.append(after - before)
    error = np.std(moved) / np.sqrt(len(moved))
    assert np.mean(moved) < 0
    assert np.mean(moved) == pytest.approx(-0.01, abs=3 * error)


def test_a_table_without_anything_that_varies_says_so(make):
    from understudy.evidence import Evidence
    from understudy.risk.likeness import Likeness

    block = make.encoded(make.levels(a=["same"] * 60))
    rng = np.random.default_rng(0)
    judge = Likeness().prepare(Evidence(block, block, block, (block,)), rng=rng)
    (estimate,) = judge.estimates(block, rng=rng)
    assert estimate.verdict() is Verdict.NOT_APPLICABLE and "nothing varies" in estimate.note
