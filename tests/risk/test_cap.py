"""DCAP, TCAP, DiSCO and repU as measures: by hand, copies, fresh people, leaks, settings."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import PlanError
from understudy.evidence import Evidence
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.risk.cap import Cap, _by_class
from understudy.study import Gating
from understudy.study.judge import fit_columns, judge_all, measures_of
from understudy.tables.encode import fit_encoding, stack
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

NAMES = ("dcap", "tcap", "disco", "repu")
SCHEMA = Schema(
    (
        Column("town", Kind.CATEGORY, Role.QUASI),
        Column("age", Kind.NUMBER, Role.QUASI),
        Column("ill", Kind.CATEGORY, Role.SENSITIVE),
        Column("pay", Kind.NUMBER, Role.SENSITIVE),
    )
)


def table(rows, rng, towns=12):
    """Illness goes with age, pay with both."""
    town, age = rng.integers(0, towns, rows), np.round(rng.normal(40, 10, rows))
    ill = (rng.random(rows) < 1 / (1 + np.exp((45 - age) / 5))).astype(int) + (town == 3)
    pay = np.round(np.exp(rng.normal(3 + 0.02 * age, 0.4)))
    words = {"town": [f"town {x}" for x in town], "ill": [f"ill {x}" for x in ill]}
    found = {**words, "age": age, "pay": pay}
    return Table(pa.table({name: found[name] for name in SCHEMA.names}), SCHEMA)


class World:
    def __init__(self, *seed, rows=600, held=300, towns=12):
        self.rng, self.towns = np.random.default_rng([9, *seed, rows, held]), towns
        made = table(rows, self.rng, towns)
        self.encoding = fit_encoding(made)
        self.train = self.encoding.encode(made)
        self.control, self.fresh = self.draw(held // 2), self.draw(held - held // 2)

    def draw(self, rows):
        return self.encoding.encode(table(rows, self.rng, self.towns))

    def evidence(self, *release):
        return Evidence(self.train, self.control, self.fresh, release, level=0.95)

    def estimates(self, release, **settings):
        measure = Cap.from_settings("measure.cap", settings)
        judge = measure.prepare(self.evidence(release), rng=self.rng)
        return {(e.measure, e.target): e for e in judge.estimates(release, rng=self.rng)}


def cells(block, *names):
    """Rows as tuples of values; levels by name, so that nothing is shared with the encoding."""
    decoded = block.encoding.decode(block)
    return list(zip(*(decoded.column(name).to_pylist() for name in names), strict=True))


def slow(world, release, people):
    """The four numbers of some people, one after the other; strangers are alone in train."""
    seen, mine = defaultdict(list), Counter(cells(world.train, "town", "age"))
    for *keys, target in cells(release, "town", "age", "ill"):
        seen[tuple(keys)].append(target)
    caps, sure, right, unique = [], [], [], []
    for *keys, target in cells(people, "town", "age", "ill"):
        found = seen[tuple(keys)]
        caps.append(found.count(target) / len(found) if found else 0.0)
        sure.append(len(set(found)) == 1)
        right.append(set(found) == {target})
        alone = mine[tuple(keys)] == (1 if people is world.train else 0)
        unique.append(alone and len(found) == 1)
    return {
        "dcap": np.mean(caps),
        "tcap": np.mean(np.array(right)[sure]),
        "disco": np.mean(right),
        "repu": np.mean(unique),
    }


@pytest.mark.parametrize("seed", range(3))
def test_all_four_as_a_loop_over_people_has_them(seed):
    world = World(seed)
    release = stack([world.draw(300), world.train.take(slice(60))])
    found = world.estimates(release)
    held = stack([world.control, world.fresh])
    ours, theirs = (slow(world, release, people) for people in (world.train, held))
    for name in NAMES:
        estimate = found[name, None if name == "repu" else "ill"]
        assert estimate.value == pytest.approx(ours[name])
        assert estimate.reference == pytest.approx(theirs[name])
        assert estimate.low <= estimate.value <= estimate.high


def test_the_note_names_the_denominator_and_the_other_two():
    world = World(4)
    note = world.estimates(world.train)["tcap", "ill"].note
    assert "denominator: the" in note and "people whose keys the release settles" in note
    assert "synthetic rows that settle something 1 (nobody counts 0)" in note
    assert "that meet anybody 1;" in note


def test_a_copy_fails_all_four_and_is_calibrated():
    world = World(5, rows=900, held=900)
    measures = measures_of(Plan(measures=("cap",)))
    found, _ = judge_all(world.evidence(world.train), measures, Gating(()), seed=1)
    found = {(f.estimate.measure, f.estimate.target): f for f in found}
    assert set(found) == {("repu", None), *((n, t) for n in NAMES[:3] for t in ("ill", "pay"))}
    for key, item in found.items():
        assert item.verdict is Verdict.FAILS, key
        assert item.calibration["copy"] > item.calibration["fresh"], key
    assert found["tcap", "ill"].estimate.value == 1.0


@pytest.mark.parametrize(
    ("worlds", "most"), [(40, 5), pytest.param(300, 18, marks=pytest.mark.sweep)]
)
def test_a_fresh_draw_says_as_much_of_strangers(worlds, most):
    """Each interval may miss 0 on either side in 2.5% of worlds, by declaration: more than 5 of 40,
    or 18 of 300, happens less than once in 2,000 tests of one number."""
    alarms = Counter()
    for seed in range(worlds):
        world = World(seed, rows=300 + 100 * (seed % 3), held=200 + 150 * (seed % 2))
        for key, item in world.estimates(world.draw(400), targets=["ill"]).items():
            low, high = item.gap()
            alarms[*key, "above"] += low > 0
            alarms[*key, "below"] += high < 0
    assert len(alarms) == 8 and max(alarms.values()) <= most, alarms


def test_with_enough_people_a_fresh_draw_holds():
    """Of 12,000 people 1,000 are settled: TCAP is known to 0.03, and its margin is as wide here."""
    world = World(1, rows=12_000, held=60_000)
    release = world.draw(12_000)
    evidence = replace(world.evidence(release), margins={"tcap": 0.05})
    judge = Cap(targets=("ill",)).prepare(evidence, rng=world.rng)
    for item in judge.estimates(release, rng=world.rng):
        assert item.verdict() is Verdict.HOLDS, item


def test_one_percent_of_leaked_people_move_them_up():
    """Paired: the same fresh release, and with 1% of its rows taken from train. In DCAP and DiSCO a
    leaked person whom no other row meets is one person more; repU counts those who are unique."""
    moved = defaultdict(list)
    for seed in range(20):
        world = World(seed, rows=1000, towns=40)
        fresh, rows = world.draw(1000), world.rng.choice(1000, 10, replace=False)
        leak = stack([world.train.take(rows), fresh.take(slice(10, None))])
        one, other = (world.estimates(release, targets=["ill"]) for release in (leak, fresh))
        for key, item in one.items():
            moved[key[0]].append(item.value - other[key].value)
    for name in ("dcap", "disco", "repu"):
        assert 0.0005 < np.mean(moved[name]) < 0.011, name
    # TCAP is a share of those who are settled: it moves up on average, by no fixed amount.
    assert 0 < np.mean(moved["tcap"]) < 0.03


def test_unseen_levels_and_values_meet_nobody():
    world = World(6)
    far = table(100, world.rng)
    names = {"town": pa.array(["elsewhere"] * 100)}
    arrays = [names.get(name, far.column(name)) for name in far.names]
    release = world.encoding.encode(Table(pa.table(arrays, names=list(far.names)), SCHEMA))
    found = world.estimates(release)
    assert found["dcap", "ill"].value == found["repu", None].value == 0.0
    assert found["tcap", "ill"].verdict() is Verdict.NOT_APPLICABLE
    # Strangers from the same unseen place are no match, either: nobody knows that it is the same.
    judge = Cap().prepare(Evidence(world.train, release, release, (release,)), rng=world.rng)
    assert all(not e.reference > 0 for e in judge.estimates(release, rng=world.rng))


def test_strangers_with_the_same_keys_are_resampled_together():
    """The mean stays; two who are hit together weigh as one who counts twice."""
    hits = _by_class(np.array([True, True, False, True]), np.array([1, 1, 2, 3]))
    assert hits.tolist() == [2.0, 0.0, 0.0, 1.0]
    # So strangers who are all there twice are no surer a reference than when they are there once.
    world = World(12, towns=40)
    release = world.draw(600)
    judge = Cap().prepare(world.evidence(release), rng=world.rng)
    widths = []
    for held in (world.control, stack([world.control, world.control])):
        estimates = replace(judge, held=held).estimates(release, rng=np.random.default_rng(1))
        (low, high), *_ = (e.gap() for e in estimates if e.measure == "repu")
        widths.append(high - low)
    assert widths[1] > 0.9 * widths[0]


def test_too_few_who_are_settled_are_not_averaged():
    world = World(10, rows=600, held=10)
    found = world.estimates(world.draw(300), targets=["ill"])["tcap", "ill"]
    assert found.verdict() is Verdict.NOT_MEASURED and "fewer than 10 are too few" in found.note


def test_numbers_outside_all_intervals_of_train_are_nobodys():
    """Pay in steps of 20 from train, and a release that pays a million more."""
    world = World(11)
    values = {n: v + (1e6 if n == "pay" else 0) for n, v in world.train.values.items()}
    release = world.encoding.block(world.train.codes, values, 600)
    for table, all_right in ((world.train, True), (release, False)):
        found = world.estimates(table, targets=["pay"], widths={"pay": 20.0})
        assert (found["tcap", "pay"].value == 1.0) is all_right
        assert (found["dcap", "pay"].value > 0) is all_right


def test_keys_may_be_cut_into_intervals():
    world = World(7)
    release = world.draw(600)
    exact = world.estimates(release)["dcap", "ill"]
    for settings in ({"widths": {"age": 10.0}}, {"intervals": {"age": 4}}):
        wide = world.estimates(release, **settings)["dcap", "ill"]
        assert wide.value > exact.value + 0.1


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"keys": ["town", "nobody"]}, "keys[1]"),
        ({"targets": "ill"}, "targets"),
        ({"keys": ["ill"], "targets": ["ill"]}, "targets[0]"),
        ({"intervals": {"age": 1}}, "intervals.age"),
        ({"widths": {"age": 0}}, "widths.age"),
        ({"widths": {"town": 5}}, "widths.town"),
        ({"radii": {"age": 5}}, "radii"),
    ],
)
def test_wrong_settings_are_named(settings, where):
    with pytest.raises(PlanError) as caught:
        fit_columns(measures_of(Plan(measures=("cap",), measure={"cap": settings})), SCHEMA)
    assert f"measure.cap.{where}" in str(caught.value)


def test_a_key_of_the_plan_is_no_target_and_a_target_no_key():
    world = World(8)
    assert {t for _, t in world.estimates(world.train, keys=["town", "ill"])} == {None, "pay"}
    found = world.estimates(world.train, targets=["age"])
    assert {t for _, t in found} == {None, "age"} and "by town;" in found["repu", None].note


def test_without_keys_or_targets():
    world = World(9)
    found = judge_all(
        world.evidence(world.train), measures_of(Plan(measures=("cap",))), Gating(()), seed=1
    )[0]
    assert len(found) == 7
    targets, keys = ("ill", "pay"), ("town", "age")
    for others, left in ((targets, {"repu"}), (keys, set())):
        made = table(200, world.rng)
        made = made.with_schema(made.schema.update({name: {"role": "other"} for name in others}))
        block = fit_encoding(made).encode(made)
        judge = Cap().prepare(Evidence(block, block, block, (block,)), rng=world.rng)
        answers = judge.estimates(block, rng=world.rng)
        assert {e.measure for e in answers} == set(NAMES)
        assert {e.measure for e in answers if e.applies} == left
        assert all(e.note for e in answers)
