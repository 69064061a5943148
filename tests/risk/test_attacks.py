"""Simulated attacks: what a copy gives away, what a fresh draw does not, what a leak moves.

Findings are at the confidence that the default gates ask for (98.6%), so a fresh draw *fails* in
less than 1% of runs: its share would have to exceed the control's by 0.05 and the interval. Seeds
are fixed, so nothing alarms at random.
"""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import PlanError
from understudy.evidence import Evidence
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.risk.inference import Inference
from understudy.risk.linkability import Linkability, halves
from understudy.risk.singling_out import SinglingOut
from understudy.risk.success import Success
from understudy.study.judge import measures_of
from understudy.tables.encode import fit_encoding, stack
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

FAILS, HOLDS, UNDECIDED = Verdict.FAILS, Verdict.HOLDS, Verdict.UNDECIDED
SILENT = Verdict.NOT_APPLICABLE
ATTACKS = ("singling_out", "linkability", "inference")
MEASURES = (
    "singling_out.univariate",
    "singling_out.multivariate",
    "linkability",
    "inference",
)


def rates(found):
    """Verdicts of the attacks themselves, without residual risks."""
    return {
        key: item for key, item in found.items() if key[0] in MEASURES and not left(key[1] or "")
    }


def left(target):
    return target.endswith("residual") or target.endswith("(residual)")


@pytest.mark.parametrize("process", ["continuous", "mixed"])
def test_a_copy_fails_every_attack(people, process):
    world = people(process, 1200, 1200, 1)
    found = world.findings(world.train, measures=ATTACKS)
    assert {key[0] for key in rates(found)} == set(MEASURES)
    assert {item.verdict for item in rates(found).values()} == {FAILS}
    # Where rows are unique on what is known, the copy gives everything away.
    if process == "continuous":
        values = {key: item.estimate.value for key, item in rates(found).items()}
        assert set(values.values()) == {1.0}
        residual = [i.estimate for k, i in found.items() if k[0] in MEASURES and left(k[1] or "")]
        assert all(one.value > 0.95 for one in residual) and len(residual) == 6


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fresh_draw_does_not_fail(people, process, seed):
    # Some 60 verdicts, each wrong with probability below 1%: fixed seeds.
    world = people(process, 1200, 1200, seed)
    found = rates(world.findings(world.draw(1200), measures=ATTACKS))
    assert {item.verdict for item in found.values()} <= {HOLDS, UNDECIDED, SILENT}
    if process == "continuous":  # shares near 0 or rows enough
        holding = {key[0] for key, item in found.items() if item.verdict is HOLDS}
        assert holding >= {"singling_out.univariate", "linkability", "inference"}


def wide(rows, held, seed):
    """Twelve rounded columns of one cause: many guesses on three of them are to be had."""
    rng = np.random.default_rng([seed, rows])

    def draw(count):
        shared = rng.normal(size=count)
        columns = {f"x{i}": np.round(shared + rng.normal(size=count), 1) for i in range(12)}
        schema = Schema(tuple(Column(name, Kind.NUMBER) for name in columns))
        return Table(pa.table(columns), schema)

    train = draw(rows)
    encoding = fit_encoding(train)
    tables = [encoding.encode(table) for table in (train, draw(held), draw(held), draw(rows))]
    return Evidence(*tables[:3], (tables[3],))


def test_fresh_draws_hold_where_attacks_are_many(people):
    world, rng = people("mixed", 12_000, 12_000, 3), np.random.default_rng(1)
    cases = [
        (world.evidence(world.draw(12_000)), (Linkability(4000), Inference(6000))),
        (wide(3000, 1500, 1), (SinglingOut(3000),)),
        (wide(3000, 500, 2), (SinglingOut(3000),)),
    ]
    for evidence, measures in cases:
        for measure in measures:
            judge = measure.prepare(evidence, rng=rng)
            found = judge.estimates(evidence.release[0], rng=rng)
            verdicts = {e.measure: e.verdict() for e in found if not left(e.target or "")}
            few = verdicts.pop("singling_out.univariate", None)  # guesses, since values are rounded
            assert few is not FAILS and set(verdicts.values()) == {HOLDS}, verdicts


@pytest.mark.parametrize("held", [300, 1000, 3000])
def test_fresh_draws_are_as_far_off_as_the_interval_says(people, held):
    """Control smaller than, as large as and larger than train: no bias, and 95% inside.

    40 draws of each: the mean gap is within three of its standard errors of 0 (0.3% each, four
    measures, three sizes), and at least 33 intervals hold 0 (too few by chance in 1 of 1,000).
    """
    gaps = {name: [] for name in MEASURES}
    inside = dict.fromkeys(MEASURES, 0)
    rng = np.random.default_rng(5)
    for seed in range(40):
        world = people("mixed", 1000, held, seed, 77)
        evidence = world.evidence(world.draw(1000))
        evidence = replace(evidence, level=0.95)
        for measure in (SinglingOut(150), Linkability(300), Inference(300, columns=("town",))):
            judge = measure.prepare(evidence, rng=rng)
            for one in judge.estimates(evidence.release[0], rng=rng):
                if not left(one.target or ""):
                    low, high = one.gap()
                    gaps[one.measure].append(one.value - one.reference)
                    inside[one.measure] += low <= 0 <= high
    for name, found in gaps.items():
        error = np.std(found, ddof=1) / math.sqrt(len(found))
        assert len(found) == 40 and abs(np.mean(found)) < 3 * error + 1e-9, name
        assert inside[name] >= 33, name


def test_one_percent_of_leaked_rows_moves_every_attack(people):
    """Paired: the same release with and without the leak, in all attacks that can be made.

    Of the continuous people nobody is met by chance, so a link, a guess and a unique value come
    from the leak alone: the share moves up by 0.01.
    """
    names = ("singling_out.univariate", "linkability", "inference")
    moved = {name: [] for name in MEASURES}
    for seed in range(30):
        world = people("continuous", 1000, 400, 20, seed)
        fresh = world.draw(1000)
        taken = world.rng.choice(1000, 10, replace=False)
        leaked = stack([fresh.take(slice(10, None)), world.train.take(taken)])
        for measure in ATTACKS:
            before, after = (world.values(measure, block) for block in (fresh, leaked))
            for key in set(before):
                if not left(key[1] or ""):
                    moved[key[0]].append(after[key].value - before[key].value)
    for name in names:
        assert np.mean(moved[name]) == pytest.approx(0.01, abs=0.003), name


def test_one_percent_of_leaked_rows_moves_guesses_on_several_columns(people):
    """Up by the share of guesses that leaked rows give, less those that strangers' rows gave.

    The mean of 150 pairs would not be above 0 by chance in 1 of 1,000 cases at three errors.
    """
    moved, rng = [], np.random.default_rng(9)
    for seed in range(150):
        world = people("continuous", 400, 100, 21, seed)
        fresh = world.draw(400)
        leaked = stack([fresh.take(slice(4, None)), world.train.take(slice(0, 4))])
        judge = SinglingOut(1000).prepare(world.evidence(fresh), rng=rng)
        before, after = (
            next(e for e in judge.estimates(block, rng=rng) if "multi" in e.measure)
            for block in (fresh, leaked)
        )
        moved.append(after.value - before.value)
    error = np.std(moved, ddof=1) / math.sqrt(len(moved))
    assert 3 * error < np.mean(moved) < 0.02


def test_sizes_that_differ_are_no_risk(people):
    """Train of 4,000 and 200 held out: plainly counted, guesses fit one of 4,000 more often.

    That difference is of sizes, not of people. Dealt tables of equal size do not show it.
    """
    rng = np.random.default_rng(3)
    plain, dealt = [], []
    for seed in range(8):
        world = people("mixed", 4000, 200, seed, 8)
        evidence = world.evidence(world.draw(4000))
        judge = SinglingOut(300).prepare(evidence, rng=rng)
        found = {(e.measure, e.target): e for e in judge.estimates(evidence.release[0], rng=rng)}
        one = found["singling_out.multivariate", None]
        alone = float(one.note.split("in the held-out ones ")[1].split(";")[0])
        plain.append(one.value - alone)
        dealt.append(one.value - one.reference)
    assert np.mean(plain) > 0.15
    assert abs(np.mean(dealt)) < 0.03


def test_attacks_are_counted_as_made(people):
    world = people("mixed", 120, 30, 4)
    evidence = world.evidence(world.draw(120))
    rng = np.random.default_rng(1)
    for measure in (SinglingOut(5000), Linkability(5000), Inference(5000)):
        judge = measure.prepare(evidence, rng=rng)
        for one in judge.estimates(evidence.release[0], rng=rng):
            assert "of 5000 asked for" in one.note
            if one.measure in ("linkability", "inference") and not left(one.target or ""):
                assert "120 attacks made" in one.note and "30 on strangers" in one.note
                assert (one.value * 120) % 1 == pytest.approx(0, abs=1e-9) or (
                    one.value * 120
                ) % 1 == pytest.approx(1, abs=1e-9)


def world_of(arrays, kinds, held, release, **settings):
    """Evidence made by hand, of columns as given."""
    schema = Schema(tuple(Column(n, k) for n, k in kinds.items()))
    tables = [
        Table(pa.table({n: pa.array(v[part]) for n, v in arrays.items()}), schema)
        for part in (slice(0, -2 * held), slice(-2 * held, -held), slice(-held, None))
    ]
    encoding = fit_encoding(tables[0])
    train, control, fresh = (encoding.encode(table) for table in tables)
    made = encoding.encode(Table(pa.table({n: pa.array(v) for n, v in release.items()}), schema))
    return Evidence(train, control, fresh, (made,), **settings)


def guessed(evidence, column, **settings):
    rng = np.random.default_rng(1)
    judge = Inference(5000, columns=(column,), **settings).prepare(evidence, rng=rng)
    found = judge.estimates(evidence.release[0], rng=rng)
    return next(e for e in found if e.target == column)


def keyed(rows, secrets, released, kind=Kind.NUMBER):
    """People with a key of their own; the release has the keys of train, and other secrets."""
    keys = np.arange(rows, dtype=np.float64)
    held = 20
    count = rows - 2 * held
    return world_of(
        {"key": keys, "secret": secrets},
        {"key": Kind.NUMBER, "secret": kind},
        held,
        {"key": keys[:count], "secret": released},
    )


def test_negative_numbers_are_compared_by_their_size():
    """Truths are −100 to −1. Guesses 3% off are right, 30% off wrong, and the wrong sign wrong."""
    truth = -np.linspace(1, 100, 140)
    for factor, share in ((1.03, 1.0), (0.97, 1.0), (1.3, 0.0), (-1.0, 0.0), (-0.97, 0.0)):
        evidence = keyed(140, truth, truth[:100] * factor)
        assert guessed(evidence, "secret", floor=0.0).value == share
    positive = keyed(140, -truth, truth[:100])  # a negative guess of a positive number
    assert guessed(positive, "secret", floor=0.0).value == 0.0


def test_zero_has_a_floor():
    """Nothing is near 0 by a share of its size: the floor says what is."""
    spread = np.where(np.arange(140) % 2, 0.0, 50.0)
    for off, share in ((0.2, 1.0), (5.0, 0.5)):
        found = guessed(keyed(140, spread, spread[:100] + np.where(spread[:100] == 0, off, 0)),
                        "secret", floor=0.01)  # fmt: skip
        assert found.value == share


def test_missing_is_a_value_when_searching_and_when_scoring():
    values = [None if i % 3 == 0 else float(10 * i) for i in range(140)]
    right = guessed(keyed(140, values, values[:100]), "secret")
    assert right.value == 1.0
    swapped = [5.0 if v is None else None for v in values[:100]]
    assert guessed(keyed(140, values, swapped), "secret").value == 0.0
    # A missing key is nearest to a missing key, and not to everything.
    rows = np.arange(140)
    keys = [None if i % 2 else float(i % 50) for i in rows]
    secret = ["odd" if i % 2 else "even" for i in rows]
    evidence = world_of(
        {"key": keys, "secret": secret}, {"key": Kind.NUMBER, "secret": Kind.CATEGORY}, 20,
        {"key": keys[:100], "secret": secret[:100]},
    )  # fmt: skip
    found = guessed(evidence, "secret")
    assert found.value == 1.0 == found.reference


def test_dates_are_numbers_without_a_zero():
    """Days off by less than the floor are right wherever 1970 lies."""
    day = np.timedelta64(1, "D")
    for first in ("1955-01-01", "1969-06-01", "2020-01-01"):
        dates = np.datetime64(first) + np.arange(140) * 10 * day
        sd = np.arange(100).std() * 10
        for off, share in ((2, 1.0), (30, 0.0)):
            assert off < 0.01 * sd or off > 0.05 * sd
            released = dates[:100] + off * day
            evidence = keyed(140, dates, released, kind=Kind.DATETIME)
            assert guessed(evidence, "secret", floor=0.01).value == share


def test_places_have_no_zero_either():
    """Half of the people are 2 degrees away at 60 degrees north: 3% of the number, and far away."""
    rows = np.arange(100)
    values = {"key": rows.astype(float), "north": 60 + rows % 5 / 10}
    off = {**values, "north": values["north"] + 2.0 * (rows % 2)}
    schema = Schema((Column("key", Kind.NUMBER), Column("north", Kind.NUMBER)))
    for role, share in ((Role.OTHER, 1.0), (Role.LOCATION, 0.5)):
        own = schema.update({"north": {"role": role.value}})
        encoding = fit_encoding(Table(pa.table(values), own))
        block, release = (encoding.encode(Table(pa.table(one), own)) for one in (values, off))
        evidence = Evidence(block, block, block, (release,))
        assert guessed(evidence, "north").value == share


def test_a_level_that_train_lacks_is_no_right_guess():
    secret = ["a", "b"] * 50 + ["new"] * 40
    released = ["other"] * 100
    found = guessed(keyed(140, secret, released, kind=Kind.CATEGORY), "secret")
    assert found.value == 0.0 == found.reference


def test_no_residual_risk_where_the_control_already_succeeds():
    common = Success("inference", "x", 480, 500, 500, 470, 500, None, "")
    assert common.left(0.95) is None
    _, residual = common.estimates(people_free())
    assert residual.verdict() is SILENT and "no residual risk" in residual.note
    some = Success("linkability", None, 450, 500, 500, 425, 500, None, "")
    value, half = some.left(0.95)
    assert 0.2 < value < 0.45 and 0.1 < half < 0.4
    assert some.summary(0.95)["residual"][0] == pytest.approx(value)
    below = Success("linkability", None, 5, 500, 500, 40, 500, None, "")
    assert below.estimates(people_free())[1].value == 0.0  # chance is no negative risk


def people_free():
    """Evidence of nobody: margins and level are all that is asked of it."""
    encoding = fit_encoding(Table(pa.table({"a": pa.array(["x", "y"])}), Schema(
        (Column("a", Kind.CATEGORY),))))  # fmt: skip
    block = encoding.encode(Table(pa.table({"a": pa.array(["x", "y"])}), encoding.schema))
    return Evidence(block, block, block, (block,))


@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_what_cannot_be_attacked_says_why(make, columns):
    varied = ["x", "y", "y"] * 20
    table = make.levels(**dict(zip(columns, [varied, ["same"] * 60], strict=False)))
    block = make.encoded(table)
    evidence, rng = Evidence(block, block, block, (block,)), np.random.default_rng(0)
    told = {}
    for measure in (SinglingOut(), Linkability(), Inference()):
        for one in measure.prepare(evidence, rng=rng).estimates(block, rng=rng):
            told.setdefault(one.measure, {})[one.target] = one
    if len(columns) == 1:
        assert "no two files" in told["linkability"][None].note
        assert "nothing is known" in told["inference"]["a"].note
        assert "one column alone" in told["singling_out.multivariate"][None].note
    else:
        assert "same value" in told["inference"]["b"].note
        assert "no guess" in told["singling_out.univariate"][None].note
    every = [one for found in told.values() for one in found.values()]
    assert all(one.verdict() is SILENT for one in every if not math.isfinite(one.value))


def test_several_replicates_are_attacked_together(people):
    """The copy is hidden in one of three replicates, twice over: the pool still shows it."""
    world = people("continuous", 300, 300, 6)
    releases = (world.draw(300), world.train, world.train)
    evidence = world.evidence(*releases)
    rng = np.random.default_rng(2)
    judge = SinglingOut(300).prepare(evidence, rng=rng)
    found = {e.measure: e for e in judge.pooled(releases, rng=rng) if e.target is None}
    assert found["singling_out.univariate"].value > 0.5
    assert found["singling_out.univariate"].verdict() is FAILS


def test_columns_are_dealt_by_their_values(people):
    world = people("mixed", 300, 60, 1)
    sizes = {name: world.encoding[name].size for name in world.encoding.names}
    first, second = halves(world.encoding, world.encoding.names)
    ranked = sorted(sizes, key=sizes.get, reverse=True)
    assert first == (ranked[0], ranked[3]) and second == (ranked[1], ranked[2])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"singling_out": {"attacks": 0}}, "singling_out.attacks"),
        ({"singling_out": {"columns": 1}}, "singling_out.columns"),
        ({"linkability": {"columns": "first"}}, "two lists of columns"),
        ({"linkability": {"columns": ["a", "b"]}}, "two lists of columns"),
        ({"linkability": {"columns": [["a"], []]}}, "two lists of columns"),
        ({"linkability": {"columns": [["a"], ["a"]]}}, "each column in one list only"),
        ({"linkability": {"columns": [["a"], [3]]}}, "two lists of columns"),
        ({"linkability": {"neighbours": 0}}, "linkability.neighbours"),
        ({"inference": {"tolerance": -0.1}}, "inference.tolerance"),
        ({"inference": {"floor": -1}}, "inference.floor"),
        ({"inference": {"columns": []}}, 'inference.columns: got (), expected "all" or a list'),
        ({"inference": {"known": "some"}}, '"others" or a list'),
    ],
)
def test_settings_out_of_range_are_refused(settings, said):
    with pytest.raises(PlanError) as refused:
        measures_of(Plan(measure=settings))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "measure",
    [
        Linkability(columns=(("a",), ("nobody",))),
        Inference(columns=("nobody",)),
        Inference(known=("nobody",)),
    ],
)
def test_unknown_columns_are_refused(make, measure):
    schema = make.levels(a=["x"], b=["y"]).schema
    with pytest.raises(PlanError, match="nobody"):
        measure.fits("measure", schema)


def test_declared_columns_are_used(people):
    world = people("mixed", 300, 100, 2)
    evidence, rng = world.evidence(world.train), np.random.default_rng(0)
    link = Linkability(columns=(("age", "town"), ("income",))).prepare(evidence, rng=rng)
    assert "age, town against income" in link.estimates(world.train, rng=rng)[0].note
    infer = Inference(columns=("town",), known=("income",)).prepare(evidence, rng=rng)
    found = infer.estimates(world.train, rng=rng)
    assert {e.target for e in found} == {"town", "town (residual)"}
    assert "nearest row on income" in found[0].note
