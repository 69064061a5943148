"""Rows like one record, and rows completed around fixed columns."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.kernels.mixture import GaussianMixture
from understudy.synth.cart import Cart
from understudy.synth.marginal import Marginal
from understudy.synth.mixture import Mixture
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

SCHEMA = Schema(
    (
        Column("x", Kind.NUMBER),
        Column("y", Kind.NUMBER),
        Column("a", Kind.CATEGORY),
        Column("b", Kind.CATEGORY),
    )
)


@pytest.fixture
def block():
    """Two clusters; b says nearly the same as a; some x are missing."""
    rng = np.random.default_rng(5)
    side = rng.random(400) < 0.3
    x = np.where(side, 10.0, 0.0) + rng.normal(size=400)
    table = pa.table(
        {
            "x": pa.array(x, mask=rng.random(400) < 0.1),
            "y": np.where(side, 10.0, 0.0) + rng.normal(size=400),
            "a": np.where(side, "right", "left").tolist(),
            "b": np.where(rng.random(400) < 0.1, "other", np.where(side, "r", "l")).tolist(),
        }
    )
    table = Table(table, SCHEMA)
    return fit_encoding(table).encode(table)


VISITS = (
    Visit(Mixture(components=2, starts=2), ("x", "y")),
    Visit(Marginal(), ("a",)),
    Visit(Cart(min_leaf=5), ("b",), ("a", "x")),
)


def test_a_mixture_draws_from_the_component_that_is_most_responsible(block):
    """Equation 25 by the densities written out, and the draws' mean against that component's."""
    fitted = Sequential(VISITS, ()).fit(block, seed=1)
    mixture: GaussianMixture = fitted.fitted[0].mixture
    scale = fitted.fitted[0].scale
    whole = np.flatnonzero(~np.isnan(block.values["x"]))[:20]
    for record in whole:
        point = scale.points(block.take(np.array([record])).select(["x", "y"]))[0]
        dense = []
        for weight, mean, cov in zip(
            mixture.weights, mixture.means, mixture.covariances, strict=True
        ):
            gap = point - mean
            power = -0.5 * gap @ np.linalg.inv(cov) @ gap
            dense.append(weight * np.exp(power) / np.sqrt(np.linalg.det(2 * np.pi * cov)))
        best = int(np.argmax(dense))
        drawn = fitted.near(block.take(np.array([record])), 300, ["x"], seed=int(record))
        assert drawn.names == ("x", "y")
        # The mean of 300 draws lies within 5 standard errors: false alarm below 1e-5 in all.
        apart = scale.points(drawn).mean(axis=0) - mixture.means[best]
        assert np.all(np.abs(apart) < 5 * np.sqrt(np.diag(mixture.covariances[best]) / 300))


def test_what_a_record_misses_its_neighbours_miss(block):
    fitted = Sequential(VISITS, ()).fit(block, seed=1)
    record = int(np.flatnonzero(np.isnan(block.values["x"]) & (block.values["y"] > 8))[0])
    drawn = fitted.near(block.take(np.array([record])), 50, ["x", "y"], seed=1)
    assert np.isnan(drawn.values["x"]).all()
    assert (drawn.codes["x"] == block.encoding["x"].missing).all()
    assert drawn.values["y"].min() > 4


def test_other_models_draw_given_what_the_record_is(block):
    fitted = Sequential(VISITS, ()).fit(block, seed=1)
    right = block.encoding["a"].levels.index("right")
    record = int(np.flatnonzero(block.codes["a"] == right)[0])
    drawn = fitted.near(block.take(np.array([record])), 200, ["b"], seed=1)
    shares = np.bincount(drawn.codes["b"], minlength=3) / 200
    levels = block.encoding["b"].levels
    assert shares[levels.index("l")] < 0.05 < 0.7 < shares[levels.index("r")]


def test_a_stratum_draws_from_its_own_model(block):
    visits = (VISITS[1], Visit(Mixture(components=1, starts=1), ("x", "y"), ("a",), strata="a"))
    fitted = Sequential(visits, ()).fit(block.select(["x", "y", "a"]), seed=1)
    for level, middle in (("left", 0.0), ("right", 10.0)):
        codes = block.codes["a"] == block.encoding["a"].levels.index(level)
        record = block.take(np.flatnonzero(codes & ~np.isnan(block.values["x"]))[:1])
        assert fitted.near(record, 200, ["y"], seed=2).values["y"].mean() == pytest.approx(
            middle, abs=0.5
        )


def test_fixed_columns_stay_and_the_others_follow_them(block):
    fitted = Sequential(VISITS, ()).fit(block, seed=1)
    rows = block.take(np.arange(200)).select(["x", "y", "a"])
    whole, good = fitted.complete(rows, ["x", "a"], seed=3)
    assert good.all() and set(whole.names) == {"x", "y", "a", "b"}
    for name in ("x", "y", "a"):
        assert np.array_equal(whole.codes[name], rows.codes[name])
    levels = block.encoding
    right = rows.codes["a"] == levels["a"].levels.index("right")
    assert (whole.codes["b"][right] == levels["b"].levels.index("r")).mean() > 0.7
    assert (whole.codes["b"][~right] == levels["b"].levels.index("l")).mean() > 0.7
    again, _ = fitted.complete(rows, ["x", "a"], seed=3)
    assert all(np.array_equal(whole.codes[n], again.codes[n]) for n in whole.names)


def test_a_joint_draw_with_one_fixed_column_keeps_that_one(block):
    fitted = Sequential(VISITS, ()).fit(block, seed=1)
    rows = block.take(np.arange(50)).select(["y", "a"])
    whole, _ = fitted.complete(rows, ["y", "a"], seed=3)
    assert np.array_equal(whole.values["y"], rows.values["y"])
    assert "x" in whole.names


def test_rows_that_cannot_obey_a_rule_are_told(block):
    """Where b must be "r" on the right, and b is fixed to "l", no draw helps."""
    rules = parse_rules(
        ({"kind": "if", "when": {"column": "a", "in": ["right"]},
          "then": {"column": "b", "in": ["r"]}},), block.encoding, block)  # fmt: skip
    fitted = Sequential(VISITS, rules).fit(block, seed=1)
    levels = block.encoding
    rows = block.take(np.arange(100)).select(["x", "y", "a"])
    whole, good = fitted.complete(rows, ["x", "y", "a"], seed=1)
    assert good.all() and not rules[0].broken(whole).any()
    left = np.full(100, levels["b"].levels.index("l"), dtype=np.int32)
    fixed = rows.join(levels.block({"b": left}, {}, 100))
    _, good = fitted.complete(fixed, ["x", "y", "a", "b"], seed=1)
    assert np.array_equal(good, rows.codes["a"] != levels["a"].levels.index("right"))
