"""The attacker's settings: priors, intervals, radii; every mistake is named, no cell is shown."""

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.attack import Attacker, Known, tallies
from understudy.errors import PlanError
from understudy.plans.plan import Plan
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

SCHEMA = Schema(
    (
        Column("town", Kind.CATEGORY, Role.QUASI),
        Column("x", Kind.NUMBER, Role.LOCATION),
        Column("flat", Kind.NUMBER, Role.QUASI),
        Column("ill", Kind.CATEGORY, Role.SENSITIVE),
        Column("pay", Kind.NUMBER, Role.SENSITIVE),
    )
)


def block(rows=120, **columns):
    rng = np.random.default_rng(3)
    arrays = {
        "town": rng.choice(["a", "b"], rows).tolist(),
        "x": rng.normal(size=rows),
        "flat": np.full(rows, 7.0),
        "ill": rng.choice(["xyzzy", "no", None], rows, p=[0.1, 0.8, 0.1]).tolist(),
        "pay": rng.integers(-20, 60, rows).astype(float),
        **columns,
    }
    table = Table(pa.table(arrays), SCHEMA)
    return fit_encoding(table).encode(table)


def attacker(**settings):
    return Attacker.from_settings("a", settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"c": 0.5}, r"a\.c: got 0\.5, expected a number, at least 1"),
        ({"c": "ten"}, r"a\.c: got 'ten'"),
        ({"c": float("nan")}, r"a\.c: got nan"),
        ({"c": True}, r"a\.c: got True"),
        ({"delta": -1}, r"a\.delta: got -1"),
        ({"delta": "every"}, r"a\.delta: got 'every', expected 'grid', 'all'"),
        ({"delta": float("inf")}, r"a\.delta: got inf"),
        ({"deltas": []}, r"a\.deltas: got \(\)"),
        ({"deltas": [0.2, 0.1]}, r"ascending"),
        ({"deltas": [0.1, 0.1]}, r"ascending"),
        ({"deltas": [-0.1]}, r"a\.deltas: got -0\.1"),
        ({"priors": {"ill": {"no": 0.5, "yes": 0.4}}}, r"shares that add up to 0\.9'"),
        ({"priors": {"ill": {"no": 1.5, "yes": -0.5}}}, r"a\.priors\.ill\.yes: got -0\.5"),
        ({"priors": {"ill": {}}}, r"a\.priors\.ill"),
        ({"priors": {"ill": 0.5}}, r"a\.priors\.ill: got 0\.5"),
        ({"priors": 3}, r"a\.priors: got 3"),
        ({"intervals": {"pay": 1}}, r"a\.intervals\.pay: got 1"),
        ({"widths": {"pay": 0}}, r"a\.widths\.pay: got 0"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(PlanError, match=message):
        attacker(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"priors": {"il": {"no": 1.0}}}, r"w\.priors\.il: got 'il'"),
        ({"intervals": {"ill": 4}}, "a column of numbers"),
        ({"widths": {"town": 4}}, "a column of numbers"),
    ],
)
def test_columns_are_checked_against_the_table(settings, message):
    with pytest.raises(PlanError, match=message):
        attacker(**settings).fits("w", SCHEMA)


@pytest.mark.parametrize("where", ["measure", "protections"])
@pytest.mark.parametrize("prior", [{"no": 0.9, "": 0.1}, {"no": 0.9, "xyzzy": 0.0, "": 0.1}])
def test_a_prior_that_misses_a_value_is_refused_before_the_synthesis(where, prior):
    """And the message does not say which value it misses: that is a cell of the table."""
    plain = block()
    table = plain.encoding.decode(plain)
    own = {"priors": {"ill": prior}}
    plan = Plan(
        measure={"attribute": own} if where == "measure" else {},
        protections=({"do": "inference-prevention", **own},) if where != "measure" else (),
        columns={c.name: {"role": c.role.value} for c in SCHEMA},
    )
    stages = []
    with pytest.raises(PlanError, match=r"priors\.ill: got 'no share above 0 for 1 of") as error:
        api.synthesize(table, plan, seed=1, progress=stages.append)
    assert "xyzzy" not in str(error.value)
    assert "fit" not in stages


def test_priors_are_the_plans_or_trains_own():
    train = block()
    plain = attacker().target(train, "ill")
    codes = train.codes["ill"]
    assert np.allclose(plain.own(train), [(codes == code).mean() for code in codes])
    given = attacker(priors={"ill": {"no": 0.7, "xyzzy": 0.1, "never": 0.15, "": 0.05}})
    levels = [*train.encoding["ill"].levels, ""]
    expected = [{"no": 0.7, "xyzzy": 0.1, "": 0.05}[levels[code]] for code in codes]
    assert np.allclose(given.target(train, "ill").own(train), expected)


def test_intervals_have_a_width_or_a_number():
    train = block()
    pay = train.values["pay"]
    target = attacker(widths={"pay": 10}).target(train, "pay")
    same = target.groups.of(train)[:, None] == target.groups.of(train)[None, :]
    assert np.array_equal(same, np.floor(pay / 10)[:, None] == np.floor(pay / 10)[None, :])
    prior = {f"{10 * k}": 0.125 for k in range(-2, 6)}
    given = attacker(widths={"pay": 10}, priors={"pay": prior}).target(train, "pay")
    assert np.allclose(given.own(train), 0.125)
    with pytest.raises(PlanError, match="declare its width"):
        attacker(priors={"pay": prior}).suits("w", train)
    four = attacker(intervals={"pay": 4}).target(train, "pay").groups.of(train)
    counts = np.bincount(four)
    assert len(counts) == 4 and counts.min() > 20
    assert all(pay[four < k].max() < pay[four >= k].min() for k in (1, 2, 3))


def test_an_interval_that_nobody_has_matches_nobody():
    train = block()
    target = attacker(widths={"pay": 10}).target(train, "pay")
    other = train.encoding.encode(
        Table(pa.table({"town": ["a"], "x": [0.0], "flat": [7.0], "ill": ["no"], "pay": [999.0]}),
              SCHEMA))  # fmt: skip
    assert target.groups.of(other).tolist() == [-1]
    found = tallies(Known.of(train), target, train, other, np.array([99.0]), every=True)
    assert found.rows.max() == 1 and found.own.max() == 0 and found.most.max() == 0


@pytest.mark.parametrize(
    ("values", "settled"),
    [(["no"] * 120, True), ([None] * 120, True), ([f"v{i % 60}" for i in range(120)], False)],
)
def test_a_column_with_one_value_has_nothing_to_infer(values, settled):
    train = block(ill=pa.array(values, pa.string()))
    assert attacker().target(train, "ill").settled is settled


def test_a_constant_among_the_quasi_identifiers_tells_nothing():
    assert Known.of(block()).names == ("town", "x")
    assert attacker().radii(Known(("town",), ())).tolist() == [0.0]
    assert attacker(delta=0.3).radii(Known((), ("x",))).tolist() == [0.3]
