"""GTCAP against Algorithm 2 as it is written: every record with every row, in loops."""

import math

import numpy as np
import pytest

from understudy.kernels import proximity
from understudy.kernels.gtcap import Reach, Traits, base_rate, near, normalised, uniques
from understudy.kernels.proximity import coordinates, near_sums


def proximity_of(one, other, place, levels, numbers, radii):
    """getKeysProxCoef and getTargetsProxCoef; radius 0 is equality, NaN is near NaN alone."""
    if any(a != b for a, b in zip(one[levels][place[0]], other[levels][place[1]], strict=True)):
        return 0.0
    found = []
    for a, b, r in zip(one[numbers][place[0]], other[numbers][place[1]], radii, strict=True):
        if math.isnan(a) or math.isnan(b):
            found.append(float(math.isnan(a) and math.isnan(b)))
        elif r == 0:
            found.append(float(a == b))
        else:
            share = 1 - abs(a - b) / r
            found.append(share if share > 1e-9 else 0.0)
    return sum(found) / len(found) if found else 1.0


def slow(people, train, release, reach, members=True):
    """Row of each statistical unique: base, original CAP, synthetic CAP and GTCAP."""
    people, train, release = vars(people), vars(train), vars(release)

    def key(one, i, other, j):
        return proximity_of(one, other, (i, j), "key_levels", "key_numbers", reach.keys)

    def target(one, i, other, j):
        return proximity_of(one, other, (i, j), "target_levels", "target_numbers", reach.targets)

    def cap(i, pairs):
        weights = [key(people, i, table, j) for table, j in pairs]
        hits = [
            k * target(people, i, table, j) for k, (table, j) in zip(weights, pairs, strict=True)
        ]
        return sum(hits) / sum(weights) if sum(weights) > 0 else 0.0

    rows = [(train, j) for j in range(len(train["key_levels"]))]
    drawn = [(release, j) for j in range(len(release["key_levels"]))]
    found = {}
    for i in range(len(people["key_levels"])):
        others = [pair for pair in rows if not (members and pair[1] == i)]
        if any(key(people, i, t, j) * target(people, i, t, j) > 0 for t, j in others):
            continue
        whole = [*others, (people, i)]
        base = sum(target(people, i, t, j) for t, j in whole) / len(whole)
        original, synthetic = cap(i, whole), cap(i, drawn)
        above, below = synthetic - base, original - base
        if abs(below) < 1e-12:
            value = math.nan if abs(above) < 1e-12 else float(above > 0)
        else:
            value = min(max(above / below, 0.0), 1.0)
        found[i] = (base, original, synthetic, value)
    return found


def table(rng, rows, shape, kind):
    """Few levels, numbers with ties on a grid or none at all, one in ten missing."""

    def numbers(columns):
        if kind == "grid":
            made = rng.integers(-3, 12, (rows, columns)) * 0.1
        elif kind == "far":
            made = rng.integers(0, 6, (rows, columns)) + rng.choice([0, 1e9], (rows, columns))
        else:
            made = rng.normal(size=(rows, columns))
        return np.where(rng.random((rows, columns)) < 0.1, np.nan, made)

    levels = [rng.integers(0, 3, (rows, columns)) for columns in (shape[0], shape[2])]
    return Traits(levels[0], numbers(shape[1]), levels[1], numbers(shape[3]))


@pytest.mark.parametrize("kind", ["grid", "smooth", "far"])
@pytest.mark.parametrize("seed", range(5))
def test_every_record_as_algorithm_2_has_it(kind, seed):
    """300 small tables: 20 for each case here, with all mixes of levels, numbers and radii."""
    rng = np.random.default_rng([seed, len(kind)])
    seen = 0
    for _ in range(20):
        shape = tuple(rng.integers(0, 3, 4))
        if shape[2] + shape[3] == 0:
            shape = (*shape[:2], 1, 0)
        radii = [float(r) for r in rng.choice([0.0, 0.1, 0.3, 1.0, 2.5], shape[1] + shape[3])]
        reach = Reach(tuple(radii[: shape[1]]), tuple(radii[shape[1] :]))
        train, release, held = (table(rng, n, shape, kind) for n in rng.integers(1, 25, 3))
        for people, members in ((train, True), (held, False)):
            found = uniques(people, train, reach, members=members)
            scores = found.against(release)
            truth = slow(people, train, release, reach, members)
            assert found.row.tolist() == list(truth)
            ours = np.stack([found.base, found.original, scores.synthetic, scores.value], axis=1)
            theirs = np.array(list(truth.values())).reshape(-1, 4)
            assert ours == pytest.approx(theirs, abs=1e-9, nan_ok=True)
            seen += len(truth)
    assert seen > 60


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_sums_are_the_same_pair_by_pair(block, monkeypatch):
    """Running sums, and the pairs that are taken where these would lose digits."""
    rng = np.random.default_rng(3)
    group, row_group = rng.integers(0, 4, 200), rng.integers(0, 4, 300)
    at, row_at = rng.random(200) * 9, rng.random(300) * 9
    truth = [sum(max(0.0, 1 - abs(a - b)) for b, h in zip(row_at, row_group, strict=True) if h == g)
             for a, g in zip(at, group, strict=True)]  # fmt: skip
    monkeypatch.setattr(proximity, "_BLOCK", block)
    for rough in (0.0, np.inf):
        monkeypatch.setattr(proximity, "_ROUGH", rough)
        assert near_sums(group, at, row_group, row_at)[0] == pytest.approx(truth, rel=1e-10)


def test_a_row_at_the_very_edge_keeps_its_digits():
    """Among a hundred thousand rows, the only one near is near by 10⁻⁷: its digits are not lost."""
    rows = np.concatenate([np.full(100_000, 50.3), [61 - 1e-7]])
    zeros = np.zeros(len(rows), dtype=np.int64)
    sums, window = near_sums(zeros[:1], np.array([60.0]), zeros, rows)
    assert window.hits.tolist() == [1]
    assert sums[0] == pytest.approx(1e-7, rel=1e-6, abs=0)


@pytest.mark.parametrize("radius", [0.0, 1e-300, 0.5, 1e300])
def test_no_number_is_too_large(radius):
    values = np.array([-1.7e308, -5.0, 0.0, 5e-324, 0.25, np.nan, 1.7e308])
    (found,) = coordinates([values], radius)
    apart = np.abs(found[:, None] - found[None, :])
    for i in range(7):
        for j in range(7):
            a, b = values[i], values[j]
            if i == j:
                assert apart[i, j] == 0
            elif math.isnan(a) or math.isnan(b) or abs(a / 2 - b / 2) > radius / 2:
                assert apart[i, j] >= 1
            elif radius > 1e-300:
                assert apart[i, j] == pytest.approx(abs(a - b) / radius, abs=1e-12)


def test_decimal_fractions_a_radius_apart_are_not_near():
    """0.3 − 0.1 is below 0.2 in floats, by rounding alone."""
    first, second = coordinates([np.array([0.1]), np.array([0.3])], 0.2)
    zero = np.zeros(1, dtype=np.int64)
    assert near_sums(zero, first, zero, second)[1].hits.tolist() == [0]


def test_by_hand():
    """Two of three share the level: ages 30, 34 and 60 with radius 5, and three diagnoses."""
    nothing = np.zeros((3, 0))
    train = Traits(np.zeros((3, 1), int), np.array([[30.0], [34.0], [60.0]]),
                   np.array([[0], [1], [0]]), nothing)  # fmt: skip
    release = Traits(
        np.zeros((2, 1), int), np.array([[32.0], [33.0]]), np.array([[0], [1]]), nothing[:2]
    )
    reach = Reach(keys=(5.0,))
    found = uniques(train, train, reach, members=True)
    assert found.row.tolist() == [0, 1, 2]
    assert found.base == pytest.approx([2 / 3, 1 / 3, 2 / 3])
    assert found.original == pytest.approx([1 / 1.2, 1 / 1.2, 1.0])
    scores = found.against(release)
    # Proximities of 30: 3/5 and 2/5; of 34: 3/5 and 4/5; 60 is near nobody, which counts 0.
    assert scores.synthetic == pytest.approx([3 / 5, 4 / 7, 0.0])
    assert scores.value == pytest.approx([0.0, (4 / 7 - 1 / 3) / (1 / 1.2 - 1 / 3), 0.0])


def test_a_copy_gives_everything_and_others_nothing():
    rng = np.random.default_rng(5)
    train, held = (table(rng, 200, (2, 1, 1, 0), "smooth") for _ in "ab")
    reach = Reach(keys=(0.2,))
    own = uniques(train, train, reach, members=True).against(train)
    others = uniques(held, train, reach, members=False).against(train)
    assert own.used.size > 20 and set(own.used) == {1.0}
    assert others.used.size > 20 and others.synthetic.max() == 0.0


def test_no_rows_and_no_numbers():
    rng = np.random.default_rng(1)
    train = table(rng, 30, (1, 1, 1, 1), "smooth")
    reach, nobody = Reach((1.0,), (1.0,)), train.take(np.zeros(0, dtype=np.int64))
    assert near(train, nobody, reach).cap.tolist() == [0.0] * 30
    assert base_rate(train, nobody, reach).tolist() == [0.0] * 30
    assert uniques(nobody, train, reach, members=False).against(train).used.size == 0


def test_a_quotient_of_nothing_is_left_out():
    base = np.array([0.5, 0.5, 0.5, 0.1])
    original, synthetic = np.array([0.5, 0.5, 0.5, 0.9]), np.array([0.5, 0.7, 0.1, 0.5])
    assert normalised(synthetic, base, original) == pytest.approx([np.nan, 1, 0, 0.5], nan_ok=True)
