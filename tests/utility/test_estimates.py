"""Findings that a user lists: against loops, the paper's table, and known cases."""

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.errors import PlanError
from understudy.evidence import Evidence
from understudy.kernels.regression import available
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.study.judge import measures_of
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.read import read
from understudy.utility.asked import Asked, Question
from understudy.utility.estimates import NAME, Estimates

HOLDS, FAILS = Verdict.HOLDS, Verdict.FAILS
regressions = pytest.mark.skipif(not available(), reason="statsmodels is not installed")


def people(rows=4000, seed=1, tie=True):
    """Pay and illness go with age, and illness with sex, unless they are untied."""
    rng = np.random.default_rng([seed, tie])
    sex = rng.choice(["f", "m"], rows)
    age = np.round(rng.normal(45, 12, rows))
    risk = 0.15 + 0.25 * (age > 50) + 0.2 * (sex == "f") if tie else np.full(rows, 0.36)
    ill = np.where(rng.random(rows) < risk, "yes", "no")
    pay = np.round((rng.gamma(4, 300, rows)) * (1 + 0.03 * (age - 45) * tie), 1)
    return {"sex": sex, "age": age, "ill": ill, "pay": pay, "w": rng.uniform(1, 3, rows)}


def table(arrays):
    looks = {"w": {"role": "weight"}}
    return read(pa.table({n: a.tolist() for n, a in arrays.items()}), schema_changes=looks)


def world(train, *release, held=None, **settings):
    whole = table(train)
    encoding = fit_encoding(whole)
    blocks = [encoding.encode(table(one)) for one in release]
    other = encoding.encode(table(held or people(2000, 99)))
    halves = (other.take(slice(0, 1000)), other.take(slice(1000, 2000)))
    return Evidence(encoding.encode(whole), *halves, tuple(blocks), **settings)


LISTED = (
    {"name": "ill", "share": "ill == 'yes'"},
    {"name": "old women ill", "share": "ill == 'yes'", "subset": "sex == 'f' & age >= 50"},
    {"name": "pay of the old", "mean": "pay", "subset": "age >= 55"},
    {"name": "ill by well", "ratio": "ill == 'yes'", "to": "ill == 'no'", "subset": "age < 40"},
    {"name": "pay by year", "ratio": "pay", "to": "age"},
    {"name": "weighted", "mean": "pay", "weights": "w", "subset": "!ill == 'yes'"},
)


def plain(a):
    """The same by loops over rows."""
    rows = [dict(zip(a, row, strict=True)) for row in zip(*a.values(), strict=True)]
    old_women = [r for r in rows if r["sex"] == "f" and r["age"] >= 50]
    old, young = [r for r in rows if r["age"] >= 55], [r for r in rows if r["age"] < 40]
    well = [r for r in rows if r["ill"] == "no"]
    return {
        "ill": sum(r["ill"] == "yes" for r in rows) / len(rows),
        "old women ill": sum(r["ill"] == "yes" for r in old_women) / len(old_women),
        "pay of the old": sum(r["pay"] for r in old) / len(old),
        "ill by well": sum(r["ill"] == "yes" for r in young) / sum(r["ill"] == "no" for r in young),
        "pay by year": sum(r["pay"] for r in rows) / sum(r["age"] for r in rows),
        "weighted": sum(r["w"] * r["pay"] for r in well) / sum(r["w"] for r in well),
    }


def estimates(evidence, listed=LISTED, **settings):
    judge = Estimates(findings=listed, **settings).prepare(evidence, rng=np.random.default_rng(0))
    found = judge.estimates(evidence.release[0], rng=np.random.default_rng(0))
    return {one.target: one for one in found}


def test_every_kind_is_what_a_loop_gives():
    train, other = people(900), people(700, 2)
    ours, theirs = plain(train), plain(other)
    evidence = world(train, other)
    found = estimates(evidence)
    assert {n: e.value for n, e in found.items()} == pytest.approx(
        {n: theirs[n] / ours[n] for n in ours}
    )
    judge = Estimates(findings=LISTED).prepare(evidence, rng=np.random.default_rng(0))
    shown = judge.summaries(rng=np.random.default_rng(0))["estimates"]["findings"]
    assert {s["name"]: s["original"]["value"] for s in shown} == pytest.approx(ours)
    assert {s["name"]: s["synthetic"][0]["value"] for s in shown} == pytest.approx(theirs)
    assert all(s["original"]["low"] < s["original"]["value"] < s["original"]["high"] for s in shown)


def test_the_interval_is_that_of_two_samples():
    """4,000 pairs of fresh samples: the ratio's interval misses 1 as often as it says."""
    share, misses, rng = 0.3, 0, np.random.default_rng(3)
    listed = ({"share": "c == 'y'"},)
    for _ in range(400):
        a, b = ({"c": np.where(rng.random(250) < share, "y", "n")} for _ in "ab")
        encoding = fit_encoding(read(pa.table(a)))
        train, release = encoding.encode(read(pa.table(a))), encoding.encode(read(pa.table(b)))
        evidence = Evidence(train, train, train, (release,))
        (one,) = estimates(evidence, listed).values()
        misses += not one.low <= 1 <= one.high
    # Nominal 5% of 400: 20, deviation 4.4; four of them is once in 16,000.
    assert 3 <= misses <= 38


def test_fresh_people_hold_and_shuffled_columns_fail():
    """Findings within groups do not survive a shuffle; those about one column do."""
    train = people(30_000)
    fresh, untied = people(30_000, 2), people(30_000, 3, tie=False)
    kept = {n: e.verdict() for n, e in estimates(world(train, fresh)).items()}
    assert set(kept.values()) == {HOLDS}
    lost = {n: e.verdict() for n, e in estimates(world(train, untied)).items()}
    assert {n for n, v in lost.items() if v is FAILS} >= {"old women ill", "pay of the old"}
    evidence = world(train, train)
    rng, block = np.random.default_rng(5), evidence.train
    order = {n: rng.permutation(block.rows) for n in block.names}
    shuffled = Block(
        block.encoding,
        block.rows,
        {n: c[order[n]] for n, c in block.codes.items()},
        {n: v[order[n]] for n, v in block.values.items()},
    )
    judge = Estimates(findings=LISTED).prepare(evidence, rng=rng)
    found = {e.target: e for e in judge.estimates(shuffled, rng=rng)}
    assert {n for n, e in found.items() if e.verdict() is FAILS} >= {
        "old women ill", "pay of the old", "ill by well"
    }  # fmt: skip
    assert found["ill"].value == 1.0 and found["ill"].verdict() is HOLDS


@regressions
def test_a_coefficient_is_that_of_its_regression():
    import statsmodels.formula.api as smf

    pd = pytest.importorskip("pandas")
    train, other = people(6000), people(6000, 2)
    listed = (
        {"name": "age on pay", "coefficient": "age", "formula": "pay ~ age + sex"},
        {
            "name": "women", "coefficient": "sex = f", "family": "logistic",
            "formula": "ill == 'yes' ~ C(sex, 'm') + age", "subset": "age >= 30",
        },
    )  # fmt: skip
    evidence = world(train, other)
    found = estimates(evidence, listed)
    expected = []
    for arrays in (train, other):
        frame = pd.DataFrame(arrays)
        linear = smf.ols("pay ~ age + sex", frame).fit()
        frame["y"] = (frame.ill == "yes").astype(float)
        older = frame[frame.age >= 30]
        logit = smf.logit("y ~ C(sex, Treatment('m')) + age", older).fit(disp=0)
        expected.append((linear.params["age"], logit.params["C(sex, Treatment('m'))[T.f]"]))
    assert found["age on pay"].value == pytest.approx(expected[1][0] / expected[0][0])
    assert found["women"].value == pytest.approx(expected[1][1] / expected[0][1], rel=1e-5)
    lost = estimates(world(train, people(6000, 4, tie=False)), listed)
    assert lost["age on pay"].verdict() is FAILS and lost["women"].verdict() is FAILS


def test_replicates_are_averaged_and_combined_by_their_rule():
    train, others = people(2000), [people(2000, s) for s in (2, 3, 4)]
    evidence = world(train, *others)
    judge = Estimates(findings=LISTED[:1]).prepare(evidence, rng=np.random.default_rng(0))
    (pooled,) = judge.pooled(evidence.release, rng=np.random.default_rng(0))
    shares = [np.mean(one["ill"] == "yes") for one in others]
    own = np.mean(train["ill"] == "yes")
    assert pooled.value == pytest.approx(np.mean(shares) / own)
    (one,) = judge.estimates(evidence.release[0], rng=np.random.default_rng(0))
    # Three tables have a third of the noise; train's own stays: √(4/6) of it.
    assert pooled.high - pooled.low == pytest.approx(
        (one.high - one.low) * (4 / 6) ** 0.5, rel=0.01
    )
    shown = judge.summaries(rng=np.random.default_rng(0))["estimates"]["findings"][0]
    combined = shown["combined"]
    assert combined["value"] == pytest.approx(np.mean(shares)) and combined["rule"] == "proper"
    # T = v̄(k/n + (1 + k/n)/m) with k = n and m = 3.
    v = np.mean([s * (1 - s) / 2000 for s in shares])
    assert combined["high"] - combined["low"] == pytest.approx(
        2 * 1.96 * np.sqrt(v * (1 + 2 / 3)), rel=0.01
    )


def test_more_findings_share_the_confidence():
    """Six at 95% are as wide as one at 99.17%: 2.638 deviations for 1.96."""
    evidence = world(people(800), people(800, 2))
    alone, many = (estimates(evidence, listed)["ill"] for listed in (LISTED[:1], LISTED))
    assert (many.high - many.low) / (alone.high - alone.low) == pytest.approx(
        2.6383 / 1.95996, rel=1e-3
    )


def test_a_rare_share_may_move_by_a_point():
    """0.01 of all rows is the margin of shares; relative to 4% that is a quarter."""
    rng = np.random.default_rng(6)
    a = {"c": np.where(rng.random(5000) < 0.04, "y", "n")}
    encoding = fit_encoding(read(pa.table(a)))
    train = encoding.encode(read(pa.table(a)))
    listed = ({"name": "rare", "share": "c == 'y'"}, {"name": "most", "share": "c == 'n'"})
    found = estimates(Evidence(train, train, train, (train,)), listed)
    own = np.mean(a["c"] == "y")
    assert found["rare"].margin == pytest.approx(0.01 / own)
    assert found["most"].margin == 0.1
    wide = Evidence(train, train, train, (train,), margins={NAME: 0.5})
    assert estimates(wide, listed)["rare"].margin == 0.5


def asked(evidence, **entry):
    return estimates(evidence, ({"name": "it", **entry},))["it"]


@pytest.mark.parametrize(
    ("entry", "verdict", "why"),
    [
        ({"share": "ill == 'yes'", "subset": "age > 500"}, "not-measured", "no row is in its"),
        ({"share": "ill == 'maybe'"}, "not-measured", "level that it compares with"),
        ({"mean": "pay", "subset": "ill == 'maybe'"}, "not-measured", "level that it compares"),
        ({"ratio": "pay", "to": "age > 500"}, "not-measured", "denominator is 0"),
        ({"share": "age > 500"}, "not-applicable", "interval holds 0"),
        ({"mean": "flat"}, "not-applicable", "interval holds 0"),
        ({"share": "age > 95"}, "not-measured", "fewer than ten people"),
        ({"share": "age <= 95"}, "not-measured", "fewer than ten people"),
        ({"mean": "pay", "subset": "age > 95"}, "not-measured", "fewer than ten people"),
        ({"mean": "w"}, "not-applicable", "kept as they were"),
    ],
)
def test_what_cannot_be_asked_says_why(entry, verdict, why):
    arrays = people(500)
    arrays["age"][:] = np.minimum(arrays["age"], 90)
    arrays["age"][:3] = 96
    arrays["flat"] = np.zeros(500)
    held = {**people(2000, 9), "flat": np.zeros(2000)}
    found = asked(world(arrays, arrays, held=held), **entry)
    assert found.verdict().value == verdict and why in found.note


def test_what_the_release_has_lost_is_not_measured():
    gone = people(500, 2)
    gone["age"] = np.full(500, 30.0)
    found = asked(world(people(500), gone), mean="pay", subset="age > 40")
    assert found.verdict() is Verdict.NOT_MEASURED and "synthetic rows: no row" in found.note


def test_constants_are_what_they_are():
    arrays = {**people(300), "five": np.full(300, 5.0)}
    held = {**people(2000, 9), "five": np.full(2000, 5.0)}
    found = asked(world(arrays, arrays, held=held), mean="five")
    assert (found.value, found.low, found.high) == (1, 1, 1) and found.verdict() is HOLDS


def test_one_column_and_500_levels():
    rng = np.random.default_rng(7)
    arrays = {"c": rng.integers(0, 500, 20_000).astype(str)}
    encoding = fit_encoding(read(pa.table(arrays)))
    block = encoding.encode(read(pa.table(arrays)))
    found = estimates(
        Evidence(block, block, block, (block,)),
        ({"name": "a", "share": "c == '7'"}, {"name": "b", "share": "c == '7' | c == '8'"}),
    )
    assert {e.value for e in found.values()} == {1.0}


def test_missing_values_are_left_out_where_they_matter():
    train = {"a": [1, 1, None, 0] * 20, "b": ["y", None, "y", "n"] * 20}
    encoding = fit_encoding(read(pa.table(train)))
    block = encoding.encode(read(pa.table(train)))
    rows = {
        "b == 'y'": (40, 60),
        "a == 1 & b == 'y'": (20, 40),  # the second and third cannot be told
        "a == 0 | b == 'y'": (60, 60),  # but a missing a with b is true
        "missing(b)": (20, 80),
    }
    for text, (hits, told) in rows.items():
        answer = Question.of(Asked.of("it", {"share": text}), block, ("a", "b")).own
        assert (answer.value, answer.rows) == (hits / told, told), text


def test_findings_of_few_people_are_not_shown():
    arrays = people(500)
    arrays["age"][:4] = 200
    listed = ({"share": "age > 150"}, {"share": "age > 40"})
    judge = Estimates(findings=listed).prepare(world(arrays, arrays), rng=np.random.default_rng(0))
    shown = judge.summaries(rng=np.random.default_rng(0))["estimates"]
    assert shown["hidden"] == 1 and [s["says"] for s in shown["findings"]] == ["share of age > 40"]


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({}, ""),
        ({"share": "ill == 'yes'", "mean": "pay"}, ""),
        ({"mean": ""}, ".mean"),
        ({"mean": 3}, ".mean"),
        ({"mean": "pay", "median": "pay"}, ".median"),
        ({"ratio": "pay"}, ".to"),
        ({"mean": "pay", "to": "age"}, ".ratio"),
        ({"coefficient": "age"}, ".formula"),
        ({"mean": "pay", "formula": "pay ~ age"}, ".coefficient"),
        ({"mean": "pay", "family": "linear"}, ".family"),
        ({"share": "ill = 'yes'"}, ".share"),
        ({"mean": "pay + 1"}, ".mean"),
        ({"mean": "pay > 1"}, ".mean"),
        ({"mean": "pay", "subset": "__import__('os')"}, ".subset"),
        ({"mean": "nobody"}, ".mean"),
        ({"mean": "sex"}, ".mean"),
        ({"ratio": "sex", "to": "age"}, ".ratio"),
        ({"ratio": "pay", "to": "nobody > 1"}, ".to"),
        ({"share": "sex > 'a'"}, ".share"),
        ({"mean": "pay", "weights": "age"}, ".weights"),
        ({"mean": "pay", "weights": "nobody"}, ".weights"),
    ],
)
def test_entries_that_cannot_be_read_name_their_key(entry, key):
    plan = Plan(measures=("estimate",), measure={"estimate": {"findings": [entry]}})
    with pytest.raises(PlanError) as caught:
        measure = measures_of(plan)["estimate"]
        measure.fits("measure.estimate", table(people(60)).schema)
    assert caught.value.key == f"measure.estimate.findings[0]{key}"


def test_two_of_one_name_and_no_list():
    for findings, key in (([{"mean": "pay"}] * 2, "findings[1].name"), ("pay", "findings")):
        plan = Plan(measures=("estimate",), measure={"estimate": {"findings": findings}})
        with pytest.raises(PlanError) as caught:
            measures_of(plan)
        assert caught.value.key == f"measure.estimate.{key}"


def test_a_plan_is_refused_before_anything_is_drawn(tmp_path):
    plan = Plan.from_toml('[[measure.estimate.findings]]\nmean = "nobody"\n')
    with pytest.raises(PlanError, match="nobody"):
        api.release(table(people(200)), tmp_path / "out", plan, seed=1)
    assert not (tmp_path / "out").exists()


TABLE_4 = {
    "Major depressive disorder": ("dep.cons == 1", 0.229),
    "Agoraphobia": ("ago.cons == 1", 0.098),
    "Post traumatic stress disorder": ("ptsd.cons == 1", 0.139),
    "Alcohol or substance dependence": ("(alc.cons == 1 | subst.cons == 1)", 0.160),
    "Alcohol dependence": ("alc.cons == 1", 0.095),
    "Substance dependence": ("subst.cons == 1", 0.125),
    "Schizophrenia": ("scz.cons == 1", 0.068),
}


def test_the_prevalences_of_the_paper(data):
    """Table 4 of Chapelle & Falissard, column D_O, on all 799 rows: to three digits."""
    listed = tuple(
        {"name": name, "share": f"{text} & grav.cons >= 5"} for name, (text, _) in TABLE_4.items()
    )
    original = api.read(data / "smp2.csv")
    block = fit_encoding(original).encode(original)
    judge = Estimates(findings=listed).prepare(
        Evidence(block, block, block, (block,)), rng=np.random.default_rng(0)
    )
    shown = judge.summaries(rng=np.random.default_rng(0))["estimates"]["findings"]
    found = {one["name"]: round(one["original"]["value"], 3) for one in shown}
    assert found == {name: value for name, (_, value) in TABLE_4.items()}
