"""The strength that the data ask for: small leaves leak and are refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from understudy.plans.plan import Plan, VisitPlan
from understudy.study import leaf as search
from understudy.study.leaf import LEAVES, Trial, choose_leaf
from understudy.synth.mixture import Mixture
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read


@pytest.fixture
def chosen(people):
    def choose(process, rows, **settings):
        world = people(process, rows, 8, 80)
        return choose_leaf(Plan(), world.train, world.train.names, seed=1, **settings)

    return choose


def test_tiny_leaves_leak_and_the_chosen_one_holds(people, monkeypatch):
    """Rows drawn from leaves of five come nearer to their own half of train than honest rows do."""
    monkeypatch.setattr(search, "_SPLITS", 2)
    world = people("coarse", 600, 8, 81)
    names = world.train.names
    halves = search._halves(world.train, names, 1, map)
    tiny = search._try(Plan(), LEAVES[0], halves, names, 1, map)
    leaf, trials = choose_leaf(Plan(), world.train, names, seed=1)
    kept = {trial.leaf: trial for trial in trials}
    assert not tiny.holds and leaf > LEAVES[0] and kept[leaf].holds
    assert tiny.share > kept[leaf].share + 0.02
    assert not any(trial.holds for trial in trials if trial.leaf < leaf)


def test_people_who_are_unique_are_looked_for_on_the_quasi_identifiers():
    """Ages of a leaf of five are few: its draws hit unique people more often than strangers do."""
    rng = np.random.default_rng([80, 3])
    town = rng.choice(["a", "b", "c", "d"], 400)
    data = pa.table({"town": town, "age": rng.integers(0, 90, 400), "pay": rng.lognormal(size=400)})
    other = {"town": {"role": "other"}, "age": {"role": "other"}}
    excess = {}
    for name, world in (("roles", read(data)), ("none", read(data, schema_changes=other))):
        train = fit_encoding(world).encode(world)
        halves = search._halves(train, train.names, 1, map)[:2]
        excess[name] = [
            search._try(Plan(), leaf, halves, train.names, 1, map).uniques for leaf in (5, 100)
        ]
    small, large = excess["roles"]
    assert small > 0.02 and small > large + 0.01
    assert excess["none"] == [0.0, 0.0]


def test_where_no_leaf_holds_the_largest_is_tried_and_says_so(people, monkeypatch):
    """100 rows of three numbers: with halves of 50, every leaf knows its people."""
    monkeypatch.setattr(search, "_SPLITS", 2)
    world = people("continuous", 100, 8, 81)
    leaf, trials = choose_leaf(Plan(), world.train, world.train.names, seed=1)
    assert leaf == trials[-1].leaf == 20 and not trials[-1].holds


def test_bisection_finds_what_a_full_scan_finds(people, monkeypatch):
    monkeypatch.setattr(search, "_SPLITS", 2)
    world = people("continuous", 200, 8, 82)
    names = world.train.names
    leaf, trials = choose_leaf(Plan(), world.train, names, seed=1)
    halves = search._halves(world.train, names, 1, map)
    small = [candidate for candidate in LEAVES if candidate <= 50]
    scan = [search._try(Plan(), candidate, halves, names, 1, map).holds for candidate in small]
    # Closeness falls as leaves grow: the scan must show one change only for the two to agree.
    assert scan == sorted(scan)
    assert leaf == next((c for c, holds in zip(small, scan, strict=True) if holds), 50)
    assert len(trials) <= 5


def test_search_is_deterministic_and_independent_of_the_map(chosen, monkeypatch):
    monkeypatch.setattr(search, "_SPLITS", 2)
    once = chosen("mixed", 160)
    with ThreadPoolExecutor(3) as pool:
        assert chosen("mixed", 160, map_=pool.map) == once == chosen("mixed", 160)


def test_kept_columns_are_not_drawn_and_predict_all_the_same(make, monkeypatch):
    monkeypatch.setattr(search, "_SPLITS", 1)
    table = make.mixed(120, names=["sex", "age", "income"])
    table = table.with_schema(table.schema.update({"sex": {"role": "keep"}}))
    train = fit_encoding(table).encode(table)
    leaf, trials = choose_leaf(Plan(), train, ["age", "income"], seed=1)
    assert leaf in LEAVES and trials


def test_too_few_rows_to_search(people):
    world = people("mixed", 19, 8, 83)
    assert choose_leaf(Plan(), world.train, world.train.names, seed=1) == (LEAVES[0], ())


@pytest.mark.parametrize(
    "numbers, holds",
    [
        ((0.0, 0.0, 0.0, 0.0, 0.0), True),
        ((0.02, 0.0, 0.0, 0.0, 0.0), False),
        ((0.0, 0.02, 0.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.02, 0.0, 0.0), False),
        ((0.0, 0.0, 0.0, 0.06, 0.0), False),
        ((0.0, 0.0, 0.0, 0.0, 0.06), False),
        ((-1.0, -1.0, -1.0, -1.0, -1.0), True),
        ((0.0, float("nan"), 0.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.0, 0.0, float("nan")), False),
    ],
)
def test_every_number_must_be_within_its_margin(numbers, holds):
    assert Trial(10, *numbers).holds is holds


def test_shortfall():
    far, near = np.arange(1.0, 101.0), np.arange(1.0, 101.0) / 2
    assert search._shortfall(near, far) == 0.5
    assert search._shortfall(far, far) == 0.0
    assert search._shortfall(near, np.zeros(10)) == 0.0
    assert search._shortfall(np.zeros(0), far) == 0.0


def test_what_the_leaf_size_does_not_change_is_fitted_once_per_half(people, monkeypatch):
    monkeypatch.setattr(search, "_SPLITS", 2)
    train = people("continuous", 200, 8, 83).train
    numbers = tuple(name for name in train.names if train.encoding[name].is_numeric)[:2]
    plan = Plan(visits=(VisitPlan("mixture", numbers, settings={"components": 3}),))
    fits, fit = [], Mixture.fit
    monkeypatch.setattr(Mixture, "fit", lambda *a, **k: fits.append(1) or fit(*a, **k))
    halves = search._halves(train, train.names, 1, map)
    kept = [search._try(plan, leaf, halves, train.names, 1, map) for leaf in (5, 20, 5)]
    assert len(fits) == len(halves) == 4
    for half in halves:
        half.fits.clear()
    assert search._try(plan, 5, halves, train.names, 1, map) == kept[0] == kept[2]
    assert len(fits) == 8
