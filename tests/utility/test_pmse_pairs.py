"""Pairs of columns: against tables counted by hand, on known cases, and on odd columns."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.evidence import Evidence
from understudy.kernels import propensity
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.study.judge import measures_of
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table
from understudy.utility.grouping import grouping
from understudy.utility.pmse_pairs import FURTHEST, LARGEST, NAME, PmsePairs

BOTH = {(NAME, LARGEST), (NAME, FURTHEST)}


def levels(**columns):
    schema = Schema(tuple(Column(n, Kind.CATEGORY) for n in columns))
    return Table(pa.table({n: pa.array(c, pa.string()) for n, c in columns.items()}), schema)


def judge_of(table, release, **settings):
    encoding = fit_encoding(table)
    train, other = encoding.encode(table), encoding.encode(release)
    evidence = Evidence(train, train, train, (other,))
    return PmsePairs(**settings).prepare(evidence, rng=np.random.default_rng(0)), other


def permuted(world):
    order = {name: world.rng.permutation(world.train.rows) for name in world.train.names}
    codes = {n: c[order[n]] for n, c in world.train.codes.items()}
    values = {n: v[order[n]] for n, v in world.train.values.items()}
    return Block(world.encoding, world.train.rows, codes, values)


def plain(a, b):
    """Ratios of two tables of texts by counting cells in dictionaries."""
    found = {}
    names = list(a)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            ours = list(zip(a[first], a[second], strict=True))
            theirs = list(zip(b[first], b[second], strict=True))
            cells = sorted(set(ours) | set(theirs))
            o, s = ([rows.count(cell) for cell in cells] for rows in (ours, theirs))
            score = propensity.saturated(o, s)
            total = len(ours) + len(theirs)
            found[first, second] = score.ratio * (total - 1) / total
    return found


def test_every_ratio_is_that_of_its_saturated_table():
    rng = np.random.default_rng(1)
    a = {n: rng.choice(list("pqr"), 90).tolist() for n in ("one", "two", "three")}
    b = {n: rng.choice(list("pqr"), 60).tolist() for n in a}
    judge, other = judge_of(levels(**a), levels(**b))
    expected = plain(a, b)
    scores = judge.scores(other)
    assert {p: s.ratio for p, s in zip(judge.pairs, scores, strict=True)} == pytest.approx(expected)
    summary = judge.summaries(rng=np.random.default_rng(0))["pmse_pairs"]
    assert {tuple(p["columns"]): p["ratio"] for p in summary["pairs"]} == pytest.approx(
        expected, abs=1e-4
    )
    largest, furthest = judge.estimates(other, rng=np.random.default_rng(0))
    assert largest.value == pytest.approx(max(expected.values()))
    assert largest.reference == furthest.reference == 1.0
    # Three pairs share the 5%: 2.394 normal deviations each, and a ratio above 1 varies more.
    worst = max(scores, key=lambda one: one.ratio)
    half = 2.394 * worst.sd / worst.expected * np.sqrt(1 + 2 * max(worst.ratio - 1, 0))
    assert largest.high - largest.value == pytest.approx(half, rel=1e-3)


def test_the_two_numbers_can_be_about_two_pairs():
    """A small cell far off has a large ratio; a table of many cells is further in pMSE."""
    rng = np.random.default_rng(2)
    many = rng.integers(0, 12, 400)
    far = np.where(rng.random(400) < 0.4, (many + 1) % 12, many)
    a = {"x": many, "y": many, "u": rng.integers(0, 2, 400), "v": np.zeros(400, int)}
    b = {"x": many, "y": far, "u": (rng.random(400) < 0.72).astype(int), "v": np.zeros(400, int)}
    judge, other = judge_of(*(levels(**{n: c.astype(str) for n, c in t.items()}) for t in (a, b)))
    largest, furthest = judge.estimates(other, rng=rng)
    assert largest.note.startswith("u × v") and furthest.note.startswith("x × y")
    assert largest.value > furthest.value
    assert largest.margin > furthest.margin


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fresh_draw_does_not_fail(people, process, seed):
    # Each interval errs at 1.7%, shared among the pairs; the margin makes it far rarer.
    world = people(process, 800, 200, 60, seed)
    found = world.findings(world.draw(800), measures=("pmse_pairs",))
    assert set(found) >= BOTH and found[NAME, FURTHEST].verdict is not Verdict.FAILS
    big = people(process, 6000, 200, 61, seed)
    found = big.findings(big.draw(6000), measures=("pmse_pairs",))
    assert {found[key].verdict for key in BOTH} == {Verdict.HOLDS}


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
def test_shuffled_columns_fail(people, process):
    world = people(process, 8000 if process == "mixed" else 3000, 400, 62)
    found = world.findings(permuted(world), measures=("pmse_pairs",))
    assert found[NAME, FURTHEST].verdict is Verdict.FAILS
    assert found[NAME, FURTHEST].calibration["copy"] == 0.0


def test_a_copy_scores_nothing(people):
    world = people("mixed", 500, 100, 63)
    values = world.values("pmse_pairs", world.train)
    assert {estimate.value for estimate in values.values()} == {0.0}


def test_one_column_of_many_moved_is_named(people):
    world = people("coarse", 2000, 400, 64)
    fresh = world.draw(2000)
    codes = {**fresh.codes, "c2": world.rng.permutation(fresh.codes["c2"])}
    found = world.findings(Block(world.encoding, 2000, codes, {}), measures=("pmse_pairs",))
    worst = found[NAME, FURTHEST].estimate
    assert "c2" in worst.note.split(";")[0] and worst.value > 3


@pytest.mark.parametrize("count", [13, 100, 500])
def test_many_levels_are_no_difference_by_themselves(count):
    """Fresh draws of 500 levels, of which train lacks a fifth: the mean of 200 ratios is 1.

    Groups are found on pooled rows; found on train's alone, its most frequent levels would be
    rarer in every fresh draw. Deviation √(2/143), over 200: 0.008; 0.05 is six errors.
    """
    rng, ratios = np.random.default_rng([5, count]), []
    table, side = levels(a=[], b=[]), rng.integers(0, count, (200, 2, 400)).astype(str)
    for draw in range(200):
        a, b = side[draw], rng.integers(0, count, (2, 400)).astype(str)
        table = levels(a=a[0], b=a[1])
        judge, other = judge_of(table, levels(a=b[0], b=b[1]))
        ratios.append(judge.scores(other)[0].ratio)
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)


def test_groups_of_a_column(make):
    encoding = fit_encoding(levels(a=[str(k) for k in range(30) for _ in range(k + 1)]))["a"]
    counts = np.arange(30)[::-1]  # codes are by frequency
    group = grouping(encoding, counts, 5)
    assert group[:4].tolist() == [0, 1, 2, 3] and set(group[4:30]) == {4}
    assert group[30] == 5 and group[31] == 4  # missing; unseen is one more rare level
    few = fit_encoding(levels(a=["x", "y"]))["a"]
    assert grouping(few, np.array([1, 1])).tolist() == [0, 1, 2, 3]
    number = fit_encoding(make.numbers(list(range(400))))["x"]
    parts = grouping(number, np.full(number.size, 10))
    assert np.all(np.diff(parts[: number.size]) >= 0) and parts[: number.size].max() == 11


@pytest.mark.parametrize(
    ("columns", "why"),
    [({"a": ["x"] * 60}, "one column"), ({"a": ["x"] * 60, "b": ["y"] * 60}, "no pair")],
)
def test_what_cannot_be_asked_says_why(columns, why):
    judge, other = judge_of(levels(**columns), levels(**columns))
    (only,) = judge.estimates(other, rng=np.random.default_rng(0))
    assert why in only.note and only.verdict() is Verdict.NOT_APPLICABLE
    assert judge.summaries(rng=np.random.default_rng(0)) == {}


def test_a_release_whose_levels_are_all_strange_fails():
    rng = np.random.default_rng(7)
    table = levels(a=rng.choice(list("pq"), 400), b=rng.choice(list("pq"), 400))
    judge, other = judge_of(table, levels(a=["?"] * 400, b=["!"] * 400))
    assert {e.verdict() for e in judge.estimates(other, rng=rng)} == {Verdict.FAILS}


def test_too_many_pairs_are_sampled_and_said():
    rng = np.random.default_rng(8)
    table = levels(**{f"c{i}": rng.choice(list("pq"), 120) for i in range(110)})
    judge, other = judge_of(table, table)
    assert len(judge.pairs) == 5000 and judge.every == 5995
    assert "5000 pairs chosen at random of 5995" in judge.estimates(other, rng=rng)[0].note


def test_rows_are_thinned_and_said(people):
    world = people("coarse", 900, 100, 65)
    evidence = world.evidence(world.draw(700))
    judge = PmsePairs(rows=300).prepare(evidence, rng=np.random.default_rng(1))
    note = judge.estimates(evidence.release[0], rng=np.random.default_rng(1))[0].note
    assert note.endswith("300 real and 300 synthetic rows")


@pytest.mark.parametrize(("key", "value"), [("groups", 1), ("groups", 2.5), ("rows", 5)])
def test_settings_out_of_range_are_refused(key, value):
    from understudy.errors import PlanError

    with pytest.raises(PlanError, match=f"measure.pmse_pairs.{key}"):
        measures_of(Plan(measures=("pmse_pairs",), measure={"pmse_pairs": {key: value}}))
