"""ECAP as a measure: known releases, a known leak, another tool's noise, and what is not stated."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.evidence import Evidence
from understudy.kernels.ecap import ecap
from understudy.kernels.laws import Normal
from understudy.kernels.population import Population
from understudy.plans.plan import Plan
from understudy.protect import Noise
from understudy.results import Verdict
from understudy.study import Gating
from understudy.study.judge import judge_all, measures_of
from understudy.tables.encode import Block, fit_encoding, stack
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

STATED = {"x": {"distribution": "normal", "mean": 170, "sd": 10, "size": 60_000}}
AGES = {"age": {"distribution": "normal", "mean": 40, "sd": 12, "size": 60_000}}
SCHEMA = Schema((Column("x", Kind.NUMBER), Column("age", Kind.NUMBER, decimals=0)))


def people(rows, rng):
    ages = np.clip(np.round(rng.normal(40, 12, rows)), 16, 95)
    return Table(pa.table({"x": rng.normal(170, 10, rows), "age": ages.astype(int)}), SCHEMA)


class World:
    def __init__(self, seed, rows=600):
        self.rng = np.random.default_rng([11, seed])
        table = people(rows, self.rng)
        self.encoding = fit_encoding(table)
        self.train = self.encoding.encode(table)
        self.control, self.fresh = self.draw(100), self.draw(100)

    def draw(self, rows):
        return self.encoding.encode(people(rows, self.rng))

    def found(self, release, noise=None, source=None, columns=STATED, **settings):
        covers = {} if noise is None else noise.covers(self.train)
        made = (self.train, self.control, self.fresh, (release,))
        evidence = Evidence(*made, source=source, noise=covers)
        plan = Plan(measures=("ecap",), measure={"ecap": {"columns": columns, **settings}})
        found, summaries = judge_all(evidence, measures_of(plan), Gating(("ecap.max",)), seed=1)
        return {f.estimate.target: f for f in found}, summaries


def noise(columns=STATED, **settings):
    return Noise.from_settings("p", {"columns": columns, **settings})


def noisy(world, step, block=None):
    block = world.train if block is None else block
    return step.apply(block, world.train, None, rng=np.random.default_rng(1))[0]


def test_a_copy_fails_a_fresh_draw_holds_and_noise_holds():
    world, step = World(1), noise()
    copy = world.found(world.train)[0]["x"]
    assert copy.verdict is Verdict.FAILS and copy.estimate.value == 1.0 and copy.gate
    fresh = world.found(world.draw(600))[0]["x"]
    assert fresh.verdict is Verdict.HOLDS and fresh.estimate.value == pytest.approx(0.01)
    held = world.found(noisy(world, step), step, source=object())[0]["x"]
    assert held.verdict is Verdict.HOLDS and 0.011 < held.estimate.value <= 0.2
    assert held.estimate.reference == 0.01 and held.estimate.margin == pytest.approx(0.19)
    assert held.calibration == {"copy": 1.0, "fresh": pytest.approx(0.01), "permuted": 1.0}


@pytest.mark.parametrize("seed", [2, 3])
def test_one_in_a_hundred_without_noise_is_seen(seed):
    world, step = World(seed), noise()
    release = noisy(world, step)
    values = release.values["x"].copy()
    leaked = world.rng.choice(600, 6, replace=False)
    values[leaked] = world.train.values["x"][leaked]
    leak = Block(release.encoding, 600, release.codes, {**release.values, "x": values})
    before, after = (world.found(block, step, source=object())[0]["x"] for block in (release, leak))
    assert before.verdict is Verdict.HOLDS and after.verdict is Verdict.FAILS
    assert after.estimate.value == 1.0
    fresh = world.draw(594)
    mixed = stack([fresh, world.train.take(leaked)])
    assert world.found(mixed)[0]["x"].verdict is Verdict.FAILS


def test_the_number_is_the_largest_ecap_of_train():
    world = World(4)
    entry = {"x": {**STATED["x"], "sigma": 0.05, "top": "none", "bottom": "none"}}
    step = noise(entry)
    found = world.found(noisy(world, step), step, source=object(), columns=entry)[0]["x"]
    law = Population(60_000, Normal(170.0, 10.0))
    risk = ecap(law, world.train.values["x"], 0.05, 600, replacement=False)
    assert found.estimate.value == pytest.approx(risk.max())
    assert found.verdict is Verdict.FAILS
    assert f"{(risk > 0.2).mean():.1%} of the people are above 0.2" in found.estimate.note
    plain = world.found(noisy(world, step), step, source=object(), columns=entry, replacement=True)
    assert plain[0]["x"].estimate.reference == pytest.approx(1 - (1 - 1 / 60_000) ** 600)


def test_noise_of_another_tool_counts_if_the_plan_says_what_it_was():
    world = World(5)
    entry = {"x": {**STATED["x"], "sigma": 2.0}}
    other = noisy(world, noise({"x": {**entry["x"], "top": "none", "bottom": "none"}}))
    found = world.found(other, columns=entry)[0]["x"]
    law = Population(60_000, Normal(170.0, 10.0))
    risk = ecap(law, world.train.values["x"], 2.0, 600, replacement=False)
    assert found.estimate.value == pytest.approx(risk.max())
    # A release of our own knows its noise: what the plan says of it does not count.
    assert world.found(world.train, source=object(), columns=entry)[0]["x"].verdict is Verdict.FAILS


def test_on_whole_numbers_that_many_share_the_measure_is_blind_and_says_so():
    world = World(6)
    common = world.train.take(np.abs(world.train.values["age"] - 40) < 20)
    world.train = common
    found = world.found(common, columns=AGES)[0]["age"]
    assert found.verdict is Verdict.UNDECIDED and "blind" in found.estimate.note
    world = World(6)
    step = noise(AGES, form="continuous")
    held = world.found(noisy(world, step), step, source=object(), columns=AGES, form="continuous")
    assert held[0]["age"].verdict is Verdict.HOLDS


def test_nothing_stated_nothing_said():
    world = World(7)
    found, summaries = world.found(world.train, columns={})
    assert found[None].verdict is Verdict.NOT_APPLICABLE and "stated" in found[None].estimate.note
    assert summaries == {}
    found, _ = world.found(world.draw(50))
    assert "numbers with no stated population: age" in found["x"].estimate.note
    found, _ = world.found(world.draw(50), exempt=["age"])
    assert "no stated population" not in found["x"].estimate.note


def test_all_missing_is_not_applicable():
    table = Table(pa.table({"x": pa.array([None] * 80, pa.float64())}), SCHEMA.select(["x"]))
    block = fit_encoding(table).encode(table)
    evidence = Evidence(block, block, block, (block,))
    measures = measures_of(Plan(measures=("ecap",), measure={"ecap": {"columns": STATED}}))
    (found,), summaries = judge_all(evidence, measures, Gating(()), seed=1)
    assert found.verdict is Verdict.NOT_APPLICABLE and summaries == {}


def test_curves_and_claims():
    world, step = World(8), noise()
    release = noisy(world, step)
    _, summaries = world.found(release, step, source=object())
    (one,) = summaries["ecap"]
    assert one["column"] == "x" and one["covered"] and one["above"] == 0
    assert one["curve"][0] == 1.0 and one["curve"][10] == pytest.approx(one["worst"], rel=1e-3)
    assert one["sigmas"][10] == pytest.approx(one["sigma"], rel=1e-3)
    assert [item["size"] for item in one["sizes"]] == [6000, 60_000, 600_000]
    assert one["sizes"][1]["curve"] == one["curve"] == one["spreads"][1]["curve"]
    assert one["sizes"][0]["curve"][20] > one["curve"][20] > one["sizes"][2]["curve"][20]
    claims = one["claims"]
    assert claims["balanced"]["naive"] == pytest.approx(2 / 3, rel=1e-4)
    assert claims["population"]["precision"] < claims["balanced"]["precision"]
    bare = world.found(world.train)[1]["ecap"][0]["claims"]
    assert not world.found(world.train)[1]["ecap"][0]["covered"]
    # Without noise all members are claimed, with it hardly any more than others.
    assert bare["counted"]["recall"] == 1.0 and bare["counted"]["f1"] > 0.99
    assert claims["counted"]["f1"] < 0.67 < bare["balanced"]["f1"]


def test_claims_that_came_are_those_expected():
    """Of 1,500 members and 3,000 others: shares within 5 errors of 0.013."""
    world = World(9, rows=1500)
    world.control, world.fresh = world.draw(1500), world.draw(1500)
    entry = {"x": {**STATED["x"], "size": 6000, "sigma": 0.02, "top": "none", "bottom": "none"}}
    step = noise(entry)
    release = noisy(world, step)
    claims = world.found(release, step, source=object(), columns=entry)[1]["ecap"][0]["claims"]
    for name in ("precision", "recall"):
        assert claims["counted"][name] == pytest.approx(claims["balanced"][name], abs=0.065)
    assert 0.3 < claims["counted"]["recall"] < 0.95


def test_shrunk_numbers_are_stretched_before_they_are_compared():
    world = World(10, rows=1500)
    entry = {"x": {**STATED["x"], "sigma": 3.0, "top": "none", "bottom": "none"}}
    step = noise(entry, keep_variance=True)
    cover = step.covers(world.train)["x"]
    plain = replace(cover, shrink=1.0)
    values = world.train.values["x"]
    shrunk = cover.apply(values, b"key")
    assert np.allclose(cover.stretched(shrunk), plain.apply(values, b"key"))
    assert shrunk.std() < plain.apply(values, b"key").std()
    both = [
        world.found(noisy(world, one), one, source=object(), columns=entry)[1]["ecap"][0]["claims"]
        for one in (step, noise(entry))
    ]
    assert both[0]["counted"] == both[1]["counted"] and both[0]["counted"]["recall"] > 0


def test_the_walk_passes_the_noise_on():
    rng = np.random.default_rng(12)
    plan = Plan(
        measures=("ecap",),
        measure={"ecap": {"columns": STATED}},
        settings={"min_leaf": 30, "smooth": False},
        protections=({"do": "noise"},),
        gates=replace(Plan().gates, names=("ecap.max",)),
    )
    table = people(800, rng).data
    study = api.synthesize(table, plan, seed=1)
    (found,) = study.findings.findings
    assert found.verdict is Verdict.HOLDS and found.gate and "normal noise" in found.estimate.note
    bare = api.synthesize(table, replace(plan, protections=()), seed=1)
    assert bare.findings.findings[0].verdict is Verdict.FAILS
    assert "no noise was added" in bare.findings.findings[0].estimate.note
