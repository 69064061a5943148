"""GTCAP as a measure: copies, fresh people and leaks; settings; tables that have nothing to say."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import PlanError
from understudy.evidence import Evidence
from understudy.kernels.bars import tenths
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.risk import gtcap_sight
from understudy.risk.gtcap import Gtcap
from understudy.study import Gating
from understudy.study.judge import fit_columns, judge_all, measures_of
from understudy.tables.encode import fit_encoding, stack
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

RADII = {"age": 5.0, "kids": 1.0, "pay": 3.0}
SCHEMA = Schema(
    (
        Column("town", Kind.CATEGORY, Role.QUASI),
        Column("job", Kind.CATEGORY, Role.QUASI),
        Column("age", Kind.NUMBER, Role.QUASI),
        Column("kids", Kind.NUMBER, Role.QUASI),
        Column("grade", Kind.CATEGORY, Role.SENSITIVE),
        Column("pay", Kind.NUMBER, Role.SENSITIVE),
    )
)


def per_record(evidence, settings):
    """What the owner's ledger says of every record."""
    return settings.prepare(evidence, rng=np.random.default_rng(0)).records().get("gtcap")


def arrays(rows, rng):
    """Grade and pay go with age and job."""
    town, job = rng.integers(0, 6, rows), rng.integers(0, 5, rows)
    age, kids = np.round(rng.normal(40, 12, rows)), rng.poisson(1.5, rows)
    grade = np.clip(np.round((age - 20) / 12 + rng.normal(0, 1.5, rows) + (job == 2)), 0, 6)
    pay = np.round(np.exp(rng.normal(3 + 0.02 * age + 0.2 * job, 0.5)), 1)
    words = {"town": town, "job": job, "grade": grade.astype(int)}
    named = {name: [f"{name} {code}" for code in codes] for name, codes in words.items()}
    return {**named, "age": age, "kids": kids.astype(float), "pay": pay}


def table(rows, rng):
    made = arrays(rows, rng)
    return Table(pa.table({name: made[name] for name in SCHEMA.names}), SCHEMA)


class World:
    def __init__(self, *seed, rows=600, held=300, change=None):
        self.rng = np.random.default_rng([5, *seed, rows, held])
        self.change = change or (lambda table: table)
        made = self.change(table(rows, self.rng))
        self.encoding = fit_encoding(made)
        self.train = self.encoding.encode(made)
        self.control, self.fresh = self.draw(held // 2), self.draw(held - held // 2)

    def draw(self, rows):
        return self.encoding.encode(self.change(table(rows, self.rng)))

    def evidence(self, *release):
        return Evidence(self.train, self.control, self.fresh, release, level=0.95)

    def estimates(self, release, **settings):
        measure = Gtcap.from_settings("measure.gtcap", {"radii": RADII, **settings})
        judge = measure.prepare(self.evidence(release), rng=self.rng)
        return {e.target: e for e in judge.estimates(release, rng=self.rng)}


def test_a_copy_fails_and_fresh_people_are_calibrated():
    world = World(1)
    measures = measures_of(Plan(measures=("gtcap",), measure={"gtcap": {"radii": RADII}}))
    found, _ = judge_all(world.evidence(world.train), measures, Gating(()), seed=1)
    assert {f.estimate.target for f in found} == {"grade", "pay"}
    for item in found:
        assert item.verdict is Verdict.FAILS and item.estimate.value == 1.0
        assert item.calibration["copy"] == 1.0
        assert item.calibration["fresh"] < 0.5


@pytest.mark.parametrize(
    ("worlds", "most"), [(30, 4), pytest.param(200, 13, marks=pytest.mark.sweep)]
)
def test_a_fresh_draw_gives_strangers_and_members_the_same(worlds, most):
    """Each side of the interval may miss 0 in 2.5% of worlds, by declaration: more than 4 of 30,
    or 13 of 200, happens less than once in 1,000 runs. Sizes differ on purpose."""
    alarms, gaps = np.zeros(2), []
    for seed in range(worlds):
        world = World(seed, rows=400 + 100 * (seed % 2), held=200 + 200 * (seed % 3))
        found = world.estimates(world.draw(300), targets=["pay"])["pay"]
        alarms += [found.gap()[0] > 0, found.gap()[1] < 0]
        gaps.append(found.value - found.reference)
    assert alarms.max() <= most
    # The mean gap is 0 but for chance: 4 standard errors.
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(worlds)


def test_with_enough_people_a_fresh_draw_holds():
    world = World(3, rows=6000, held=12_000)
    found = world.estimates(world.draw(6000), keys=["job", "age"], targets=["pay"])["pay"]
    assert found.verdict() is Verdict.HOLDS


def test_one_percent_of_leaked_people_move_it_by_what_they_are():
    """Beside the very same fresh rows: those leaked give all away, others nothing new."""
    moved = []
    for seed in range(12):
        world = World(seed, rows=1000)
        fresh, rows = world.draw(1000), world.rng.choice(1000, 10, replace=False)
        leak = stack([world.train.take(rows), fresh.take(slice(10, None))])
        one, other = (world.estimates(release)["pay"] for release in (leak, fresh))
        moved.append(one.value - other.value)
        # Each of the ten can be at most one whole person more.
        assert one.value - other.value < 0.03
    # About 1% are leaked, and their GTCAP rises from 0.1 to well above a half.
    assert 0.002 < np.mean(moved) < 0.02


def test_half_of_train_fails():
    world = World(4, rows=800, held=400)
    half = stack([world.train.take(slice(400)), world.draw(400)])
    assert world.estimates(half)["pay"].verdict() is Verdict.FAILS


def test_radii_are_half_a_standard_deviation_where_none_is_given():
    world = World(5)
    measure = Gtcap(radii={"age": 3.0})
    judge = measure.prepare(world.evidence(world.train), rng=world.rng)
    radii = judge.sights["pay"].radii
    assert radii["age"] == 3.0
    assert radii["kids"] == pytest.approx(world.train.values["kids"].std() / 2)
    assert "age (radius 3)" in judge.estimates(world.train, rng=world.rng)[0].note


def test_several_targets_at_once_or_one_by_one():
    world = World(6)
    assert set(world.estimates(world.draw(300))) == {"grade", "pay"}
    (found,) = world.estimates(world.draw(300), together=True).values()
    assert found.target == "grade, pay"


def test_those_whose_own_row_says_less_than_the_base_are_counted_and_may_be_left_out():
    world = World(7)
    plain, above = (world.estimates(world.train, above_base=b)["grade"] for b in (False, True))
    assert "says less than the base" in plain.note and "left out: train itself" in above.note
    assert plain.value == above.value == 1.0
    # For a stranger with a frequent grade a release without it turns the quotient round.
    assert plain.reference > 0 and above.reference == 0.0


def test_each_record_as_the_mean_has_it():
    world = World(8)
    release = (world.draw(300), world.draw(200))
    settings = Gtcap(radii=RADII, targets=("pay",))
    found = per_record(world.evidence(*release), settings)
    judge = settings.prepare(world.evidence(*release), rng=world.rng)
    (pooled,) = judge.pooled(release, rng=world.rng)
    assert found.shape == (600,) and np.nanmean(found) == pytest.approx(pooled.value)
    both = per_record(world.evidence(*release), Gtcap(radii=RADII))
    one = per_record(world.evidence(*release), Gtcap(radii=RADII, targets=("grade",)))
    assert both == pytest.approx(np.fmax(found, one), nan_ok=True)
    assert (
        per_record(world.evidence(*release), Gtcap(targets=("town",), keys=("kids",))) is not None
    )


def test_where_pairs_are_too_many_evenly_spread_people_are_looked_at(monkeypatch):
    world = World(9)
    release = world.draw(600)
    settings = Gtcap(radii=RADII, targets=("pay",))
    whole = world.estimates(release)["pay"]
    every = per_record(world.evidence(release), settings)
    monkeypatch.setattr(gtcap_sight, "_LOOKS", 500)
    few = per_record(world.evidence(release), settings)
    found = np.isfinite(few)
    # Those that are looked at have the very number that they would have among all.
    assert 20 < found.sum() < np.isfinite(every).sum() / 2
    assert few[found] == pytest.approx(every[found])
    some = world.estimates(release)["pay"]
    assert "evenly spread over 600: a sample" in some.note and "a sample" not in whole.note
    assert some.value != whole.value and abs(some.value - whole.value) < 0.1


def test_digits_that_another_tool_adds_do_not_hide_equality():
    world = World(10)
    added = world.encoding.block(
        world.train.codes, {n: v + 1e-7 for n, v in world.train.values.items()}, 600
    )
    for release in (world.train, added):
        found = world.estimates(release, radii={"age": 0, "kids": 0}, targets=["grade"])["grade"]
        assert found.value == 1.0


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"radii": {"age": -1}}, "radii.age"),
        ({"radii": {"age": float("nan")}}, "radii.age"),
        ({"radii": {"age": float("inf")}}, "radii.age"),
        ({"radii": {"age": "5"}}, "radii.age"),
        ({"radii": {"age": True}}, "radii.age"),
        ({"radii": [5, 1]}, "radii"),
        ({"radii": {"nobody": 5}}, "radii.nobody"),
        ({"radii": {"town": 5}}, "radii.town"),
        ({"keys": ["age"], "radii": {"kids": 1}}, "radii.kids"),
        ({"keys": "age"}, "keys"),
        ({"keys": ["age", "age"]}, "keys"),
        ({"keys": ["nobody"]}, "keys[0]"),
        ({"targets": [3]}, "targets"),
        ({"targets": ["age", "gone"]}, "targets[1]"),
        ({"keys": ["town", "age"], "targets": ["grade", "age"]}, "targets[1]"),
        ({"together": "yes"}, "together"),
        ({"radius": 3}, "radius"),
    ],
)
def test_wrong_settings_are_named(settings, where):
    with pytest.raises(PlanError) as caught:
        plan = Plan(measures=("gtcap",), measure={"gtcap": settings})
        fit_columns(measures_of(plan), SCHEMA)
    assert f"measure.gtcap.{where}" in str(caught.value)


def test_levels_may_say_that_they_must_be_equal():
    fit_columns({"gtcap": Gtcap(radii={"town": 0, "age": 0.0})}, SCHEMA)


def replaced(made, name, values):
    """The same table with other values in a column."""
    column = pa.array(values, made.column(name).type)
    return Table(made.data.set_column(made.names.index(name), name, column), made.schema)


def constant(name):
    """One value in a column."""
    return lambda made: replaced(made, name, [made.column(name)[0].as_py()] * made.rows)


def emptied(name):
    """No value in a column."""
    return lambda made: replaced(made, name, [None] * made.rows)


@pytest.mark.parametrize("change", [constant, emptied])
def test_a_target_that_is_the_same_for_all_is_not_attacked(change):
    world = World(11, change=change("grade"))
    found = world.estimates(world.draw(100))
    assert found["grade"].verdict() is Verdict.NOT_APPLICABLE
    assert "same value" in found["grade"].note and found["pay"].value > 0


@pytest.mark.parametrize("name", ["age", "town"])
def test_a_key_without_values_tells_nothing(name):
    """It would make everybody near everybody: it is left out, and the note says so."""
    world = World(12, change=emptied(name))
    found = world.estimates(world.train, radii={"pay": 1.0})["pay"]
    assert f"left out, the same for all: {name}" in found.note and found.value == 1.0
    (alone,) = world.estimates(world.train, radii={}, keys=[name]).values()
    assert alone.verdict() is Verdict.NOT_APPLICABLE and "nothing to match by" in alone.note


def test_missing_values_are_near_one_another_only():
    """Half of the ages are missing: they are one more value, and a copy still gives all away."""

    def half(made):
        return replaced(
            made,
            "age",
            [None if i % 2 else v for i, v in enumerate(made.column("age").to_pylist())],
        )

    world = World(13, change=half)
    assert world.estimates(world.train)["pay"].value == 1.0
    assert world.estimates(world.draw(300))["pay"].value < 0.5


def test_five_hundred_levels():
    def many(made):
        return replaced(made, "grade", [f"level {k % 500}" for k in range(made.rows)])

    world = World(14, rows=1000, change=many)
    assert world.estimates(world.train)["grade"].value == 1.0
    assert world.estimates(world.draw(300))["grade"].value < 0.3


def test_nobody_is_unique():
    """One key of two levels, and a target of two: everybody has company."""

    def coarse(made):
        halves = ["even" if i % 4 < 2 else "odd" for i in range(made.rows)]
        return replaced(replaced(made, "town", halves), "grade", halves)

    world = World(15, change=coarse)
    found = world.estimates(world.draw(300), keys=["town"], targets=["grade"], radii={})["grade"]
    assert found.verdict() is Verdict.NOT_APPLICABLE and "nobody is unique" in found.note


def test_too_few_to_average_is_not_measured():
    world = World(16, rows=60, held=16)
    found = world.estimates(world.draw(60), keys=["town"], radii={}, targets=["grade"])["grade"]
    assert found.verdict() is Verdict.NOT_MEASURED and "fewer than 10" in found.note


def test_no_roles_no_attack(make):
    block, rng = make.encoded(make.mixed(60)), np.random.default_rng(1)
    judge = Gtcap().prepare(Evidence(block, block, block, (block,)), rng=rng)
    (found,) = judge.estimates(block, rng=rng)
    assert found.verdict() is Verdict.NOT_APPLICABLE and "role sensitive" in found.note


@pytest.mark.parametrize("seed", range(20))
def test_no_bar_stands_for_fewer_than_ten(seed):
    rng = np.random.default_rng(seed)
    values = np.clip(rng.beta(0.3, 1.5, rng.integers(0, 150)), 0, 1)
    found = tenths(values)
    assert found["people"] == len(values)
    if len(values) < 10:
        assert found["bars"] == []
        return
    bars = found["bars"]
    assert bars[0][0] == 0 and bars[-1][1] == 1
    assert all(one[1] == other[0] for one, other in itertools.pairwise(bars))
    inside = [((values >= a) & ((values < b) | (b == 1))).sum() for a, b, _ in bars]
    assert [count for _, _, count in bars] == inside and min(inside) >= 10


def test_the_histogram_is_of_the_values_behind_the_mean():
    world = World(17)
    release = world.draw(600)
    judge = Gtcap(radii=RADII).prepare(world.evidence(release, world.train), rng=world.rng)
    shown = judge.summaries(rng=world.rng)["gtcap"]
    grade = next(one for one in shown if one["column"] == "grade")
    found = {e.target: e for e in judge.estimates(release, rng=world.rng)}["grade"]
    assert grade["synthetic"][0]["mean"] == pytest.approx(found.value, abs=1e-5)
    assert grade["holdout"]["mean"] == pytest.approx(found.reference, abs=1e-5)
    # A copy gives all away: one bar would hold everybody, and so do tenths that are pooled.
    copied = grade["synthetic"][1]
    assert copied["bars"] == [[0.0, 1.0, copied["people"]]] and copied["mean"] == 1.0
    assert len(grade["synthetic"]) == 2 and len(grade["pooled"]) == 1


@pytest.mark.parametrize("measure", ["gtcap", "cap"])
@pytest.mark.parametrize("target", ["sex", "grade", "age", "income", "born", "huge", "gone"])
def test_columns_of_every_kind_as_keys_and_target(make, measure, target):
    """Dates, whole numbers beyond floats, empty columns, unseen levels: an answer for each."""
    names = ["sex", "grade", "age", "income", "born", "huge", "constant", "gone", "empty"]
    table, other = make.mixed(300, 1, names), make.mixed(200, 2, names)
    keys = [name for name in names if name != target]
    encoding = fit_encoding(table)
    block, held = encoding.encode(table), encoding.encode(other)
    half = held.take(slice(100)), held.take(slice(100, 200))
    for release in (block, held, held.take(slice(1))):
        plan = Plan(measures=(measure,), measure={measure: {"keys": keys, "targets": [target]}})
        found, _ = judge_all(
            Evidence(block, *half, (release,)), measures_of(plan), Gating(()), seed=1
        )
        for item in found:
            assert item.verdict not in (Verdict.NOT_APPLICABLE, Verdict.NOT_MEASURED) or (
                item.estimate.note
            )
            if release is block and np.isfinite(item.estimate.value):
                assert item.verdict is Verdict.FAILS, item
