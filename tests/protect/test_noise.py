"""Noise on a release: its law, once for each value, its form, its ends, and what it refuses."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy import stats

from understudy import api
from understudy.errors import PlanError
from understudy.kernels.noise import cell_masses
from understudy.plans.plan import Plan
from understudy.protect import Noise
from understudy.results import Better, Estimate
from understudy.risk.ecap import EcapJudge
from understudy.study.maker import protections, stream_of
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read

AGES = {"distribution": "normal", "mean": 40, "sd": 12, "size": 60_000}
HEIGHTS = {"distribution": "normal", "mean": 170, "sd": 10, "size": 60_000}


def people(rows=400, seed=1):
    rng = np.random.default_rng(seed)
    ages = np.clip(np.round(rng.normal(40, 12, rows)), 16, 95).astype(int)
    return pa.table(
        {
            "age": pa.array([None if place < 5 else int(a) for place, a in enumerate(ages)]),
            "height": rng.normal(170, 10, rows),
            "price": np.round(rng.gamma(3, 20, rows), 2),
            "sex": rng.choice(["f", "m"], rows),
            "gone": pa.array([None] * rows, pa.float64()),
        }
    )


@pytest.fixture
def train():
    table = read(people(), schema_changes={"gone": {"kind": "number"}})
    return fit_encoding(table).encode(table)


def applied(train, seed=1, replicate=None, **settings):
    step = Noise.from_settings("protections[0]", settings)
    block = train if replicate is None else replicate
    return step.apply(block, train, None, rng=stream_of(step, seed, 1, 0))


def test_continuous_noise_has_its_law(train):
    """Kolmogorov and Smirnov at 1e-3, with a fixed key."""
    noisy, receipt = applied(train, columns={"height": {**HEIGHTS, "sigma": 0.5}})
    added = noisy.values["height"] - np.clip(train.values["height"], *thresholds(receipt, "height"))
    assert stats.kstest(added, stats.norm(0, 0.5).cdf).pvalue > 1e-3
    assert receipt.numbers == {"deviation of the noise of height": 0.5}
    assert "normal noise with standard deviation 0.5" in receipt.public[0]
    assert np.array_equal(
        noisy.codes["height"], train.encoding["height"].cells.of(noisy.values["height"])
    )


def thresholds(receipt, name):
    (law,) = [one for one in receipt.public if f"`{name}`" in one]
    low, high = (re.search(rf"numbers {side} (\S+) were", law) for side in ("below", "above"))
    return (float(low[1]) if low else -np.inf), (float(high[1]) if high else np.inf)


def test_the_same_value_has_the_same_noise_in_all_rows_and_tables(train):
    twice = train.take(np.concatenate([np.arange(400), np.arange(399, -1, -1)]))
    noisy, _ = applied(train, replicate=twice, columns={"height": HEIGHTS, "age": AGES})
    for name in ("height", "age"):
        one, other = noisy.values[name][:400], noisy.values[name][:399:-1]
        assert np.array_equal(one, other, equal_nan=True)
    few, _ = applied(train, replicate=train.take(slice(7, 30)), columns={"height": HEIGHTS})
    assert np.array_equal(few.values["height"], noisy.values["height"][7:30])
    other, _ = applied(train, seed=2, columns={"height": HEIGHTS})
    assert not np.isin(other.values["height"], noisy.values["height"]).any()


def test_replicates_share_their_noise():
    """Else the mean of several tables would undo it."""
    plan = Plan(
        replicates=3,
        settings={"min_leaf": 30, "smooth": False},
        measures=("copies",),
        measure={"ecap": {"columns": {"height": {**HEIGHTS, "sigma": 0.3}}}},
        protections=({"do": "noise"},),
        calibrate=False,
    )
    made = api.synthesize(people(), plan, seed=3).tables
    shown = [set(table.column("height").to_pylist()) for table in made]
    # 300 people stand behind all values, however many tables there are.
    assert len(set().union(*shown)) <= 300
    assert not shown[0] & set(people().column("height").to_pylist())


def test_discrete_noise_stays_on_the_grid_and_has_its_law(train):
    settings = {"columns": {"price": {**HEIGHTS, "mean": 60, "sd": 35, "sigma": 0.04}}}
    noisy, receipt = applied(train, **settings, form="discrete")
    low, high = thresholds(receipt, "price")
    steps = (noisy.values["price"] - np.clip(train.values["price"], low, high)) / 0.01
    assert np.allclose(steps, np.rint(steps), atol=1e-6) and "in steps of 0.01" in receipt.public[0]
    assert [repr(v) for v in noisy.values["price"]] == [
        repr(round(v, 2)) for v in noisy.values["price"]
    ]
    masses = cell_masses(4.0, discrete=True)
    # One draw for each of some 390 different prices: the deviation within 5 errors.
    _, first = np.unique(train.values["price"], return_index=True)
    spread = np.sqrt(masses @ np.square(np.arange(len(masses)) - len(masses) // 2))
    assert steps[first].std() == pytest.approx(spread, rel=5 / np.sqrt(2 * len(first)))


def test_whole_numbers_stay_whole_unless_they_are_left_unrounded():
    plan = {"columns": {"age": {**AGES, "sigma": 0.4, "top": "none", "bottom": "none"}}}
    for form, kind in (("auto", pa.int64()), ("continuous", pa.float64())):
        entry = {"do": "noise", "form": form, **plan}
        settings = {"min_leaf": 30, "smooth": False}
        made = api.synthesize(
            people(), Plan(protections=(entry,), settings=settings, measures=("copies",)), seed=1
        )
        (table,) = made.tables
        assert table.column("age").type == kind
        ages = np.array([a for a in table.column("age").to_pylist() if a is not None])
        assert (np.rint(ages) == ages).all() == (form == "auto")
        assert table.schema["age"].decimals == (0 if form == "auto" else None)


def test_missing_stays_missing_and_all_missing_is_fine(train):
    noisy, _ = applied(train, columns={"age": AGES, "gone": HEIGHTS})
    assert np.array_equal(np.isnan(noisy.values["age"]), np.isnan(train.values["age"]))
    assert np.isnan(noisy.values["gone"]).all()
    assert (noisy.codes["gone"] == train.encoding["gone"].missing).all()


def test_other_columns_are_untouched(train):
    noisy, _ = applied(train, columns={"height": HEIGHTS})
    for name in ("age", "price", "sex"):
        assert np.array_equal(noisy.codes[name], train.codes[name])


def test_noise_is_mirrored_at_the_ends(train):
    entry = {"distribution": "uniform", "low": 100.0, "high": 300.0, "size": 50_000, "sigma": 60.0}
    noisy, receipt = applied(train, columns={"height": entry})
    inside = noisy.values["height"]
    assert (
        inside.min() >= 100
        and inside.max() <= 300
        and "mirrored at 100 and 300" in receipt.public[0]
    )
    entry = {**HEIGHTS, "sigma": 20.0, "low": 130.0, "top": "none", "bottom": "none"}
    assert applied(train, columns={"height": entry})[0].values["height"].min() >= 130


def test_where_nobody_is_beyond_nobody_is_coded(train):
    """And the noise is found for the numbers that there can be, not for train's."""
    entry = {**HEIGHTS, "low": 133.0}
    _, receipt = applied(train, columns={"height": entry})
    assert thresholds(receipt, "height")[0] == -np.inf and "mirrored at 133" in receipt.public[0]
    wide = applied(train, columns={"height": {**HEIGHTS, "low": 100.0}})[1]
    assert thresholds(wide, "height")[0] > 130
    least = Noise.from_settings("p", {"columns": {"height": {**entry, "top": 180}}})
    other = train.take(slice(0, 350))
    one, two = (
        step.columns and step.cover(t, "height") for step, t in ((least, train), (least, other))
    )
    assert one.sigma == pytest.approx(two.sigma, rel=0.02)


def test_a_sample_of_the_population_codes_what_lies_beyond_it(train):
    rng = np.random.default_rng(5)
    sample = np.sort(rng.normal(170, 8, 300)).tolist()
    entry = {"distribution": "sample", "values": sample, "size": 60_000}
    _, receipt = applied(train, columns={"height": entry}, most=0.3)
    low, high = thresholds(receipt, "height")
    assert sample[0] - 5 < low < high < sample[-1] + 5
    assert (train.values["height"] > high).any()
    step = Noise.from_settings("p", {"columns": {"height": entry}, "most": 0.3})
    assert step.cover(train, "height").risk(train.values["height"]).max() <= 0.2
    ages = {"distribution": "sample", "values": np.rint(sample).tolist(), "size": 60_000}
    whole = Noise.from_settings("p", {"columns": {"age": {**ages, "bottom": 150, "top": 180}}})
    assert whole.cover(train, "age").step == 1.0


def test_a_public_table_of_counts(train):
    """Everybody is counted: who is the only one with a number needs noise, or is coded."""
    ages = np.arange(10, 100)
    counts = np.rint(60_000 * stats.norm(40, 12).pdf(ages)) + 1
    entry = {"distribution": "counts", "values": ages.tolist(), "counts": counts.tolist()}
    noisy, _ = applied(train, columns={"age": entry})
    step = Noise.from_settings("p", {"columns": {"age": entry}})
    cover = step.cover(train, "age")
    assert cover.scene.people.counted and cover.scene.people.size == counts.sum()
    assert cover.risk(train.values["age"][5:]).max() <= 0.2
    assert np.nanmin(noisy.values["age"]) >= 10 and np.nanmax(noisy.values["age"]) <= 99


def test_tails_are_coded_before(train):
    entry = {**HEIGHTS, "sigma": 0.2, "top": 180, "bottom": 160}
    noisy, receipt = applied(train, columns={"height": entry})
    tops = noisy.values["height"][train.values["height"] > 180]
    assert len(np.unique(tops)) == 1 and abs(tops[0] - 180) < 2
    assert thresholds(receipt, "height") == (160, 180)


def test_the_variance_is_kept(train):
    """Of 400 normal numbers and noise as large as a third of them: within 3 errors of √(1/800)."""
    entry = {**HEIGHTS, "sigma": 5.0, "top": "none", "bottom": "none"}
    kept, receipt = applied(train, columns={"height": entry}, keep_variance=True)
    plain, _ = applied(train, columns={"height": entry})
    own = train.values["height"].std()
    assert kept.values["height"].std() == pytest.approx(own, rel=0.05)
    assert plain.values["height"].std() > 1.05 * own
    assert kept.values["height"].mean() == pytest.approx(train.values["height"].mean(), abs=1.0)
    assert "drawn to their mean by the factor 0.9" in receipt.public[0]


def law(kind, **rest):
    return {"distribution": kind, "size": 9000, **rest}


ONE, SMALL = {"age": AGES}, {"age": {**AGES, "size": 4000}}
OPEN = {"top": "none", "bottom": "none"}
MISTAKES = [
    ({"columns": {"age": {**AGES, "size": 100}}}, r"columns\.age\.size: got 100.*at least 300"),
    ({"columns": {"age": {**AGES, "size": 1200}}}, r"bound: got 0.2.*300 of 1200 people"),
    ({"columns": {"age": {**AGES, "sigma": 0}}}, r"age\.sigma: got 0.*exempt"),
    ({"columns": {"age": {**AGES, "sigma": -1.0}}}, r"age\.sigma: got -1"),
    ({"columns": {"age": {**AGES, "sigma": 1e6}}}, "leaves nothing of the column"),
    ({"columns": {"age": {**AGES, "sd": 0}}}, r"age\.sd: got 0"),
    ({"columns": {"age": {**AGES, "top": "soon"}}}, r"age\.top.*'auto', or 'none'"),
    ({"columns": {"age": {**AGES, "top": 20, "bottom": 30}}}, r"age\.top.*above the bottom"),
    ({"columns": {"age": {**AGES, "shape": 2}}}, r"age\.shape.*one of mean"),
    ({"columns": {"age": {"distribution": "normal", "size": 9000}}}, r"age\.mean.*needs it"),
    ({"columns": {"age": {"mean": 3, "size": 9000}}}, r"age\.distribution.*one of normal"),
    ({"columns": {"age": 7}}, r"columns\.age: got 7"),
    ({"columns": {"age": {**AGES, "size": 2.5}}}, r"age\.size.*whole number"),
    ({"columns": {"nowhere": AGES}}, "nowhere"),
    ({"columns": {"sex": AGES}}, "a column of numbers, not of category"),
    ({"columns": ONE, "exempt": ["age"]}, r"exempt: got 'age'"),
    ({"columns": ONE, "exempt": ["nobody"]}, r"exempt: got 'nobody'"),
    ({"columns": ONE, "bound": 0}, r"bound: got 0"),
    ({"columns": ONE, "bound": 1.0}, r"bound: got 1.0"),
    ({"columns": ONE, "most": -1}, r"most: got -1"),
    ({"columns": ONE, "form": "round"}, r"form: got 'round'"),
    ({"columns": {"height": HEIGHTS}, "form": "discrete"}, "numbers rounded to a grid"),
    ({"columns": ONE, "keep_variance": True}, r"keep_variance.*form = 'continuous'"),
    ({"columns": {"height": law("poisson", mean=170)}}, "continuous distribution"),
    ({"columns": {"age": {**AGES, **OPEN, "sd": 4}}}, "in the tails. Leave out top"),
    ({"columns": SMALL, "most": 0.001, "form": "continuous"}, "more than a tenth"),
    ({"columns": {"age": law("negative-binomial", mean=40, sd=2)}}, "sd² > mean"),
    ({"columns": {"age": law("sample", values=[])}}, "a list of numbers"),
    ({"columns": {"age": law("counts", values=[1], counts=["a"])}}, "a list of numbers"),
    ({"columns": {"age": law("lognormal", mean=-1, sd=2)}}, "mean above 0"),
    ({"columns": {"age": law("poisson", mean=-1)}}, "mean above 0"),
    ({"columns": {"age": {**AGES, "low": 40}}}, r"nobody where \d+ rows of train are.*wider ends"),
    ({"columns": {"age": law("uniform", low=3, high=3)}}, r"high: got 3.*above low"),
    ({"columns": {"age": law("counts", values=[1, 2], counts=[0, 0])}}, "add up above 0"),
    ({"columns": {"age": law("counts", values=[1, 2, 3], counts=[7, 9])}}, "as many counts"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "message"), MISTAKES)
def test_mistakes_are_named(settings, message):
    plan = Plan(
        protections=({"do": "noise", **settings},), settings={"min_leaf": 30}, measures=("copies",)
    )
    with pytest.raises(PlanError, match=message):
        api.synthesize(people(), plan, seed=1)


def test_a_message_shows_no_value_of_a_sample():
    entry = {"distribution": "sample", "values": [71.25, "x"], "size": 900}
    with pytest.raises(PlanError) as caught:
        Noise.from_settings("p", {"columns": {"age": entry}})
    assert "71.25" not in str(caught.value)


def test_no_rows_are_drawn_after_it():
    entries = ({"do": "noise"}, {"do": "replicated-uniques"})
    with pytest.raises(PlanError, match="a step before noise"):
        protections(Plan(protections=entries), kept=False)
    assert len(protections(Plan(protections=entries[::-1]), kept=False)) == 2
    with pytest.raises(PlanError, match="a step before noise"):
        protections(Plan(protections=({"do": "noise"}, {"do": "noise"})), kept=False)


def test_kept_columns_get_no_noise():
    plan = Plan(
        columns={"age": {"role": "keep"}},
        protections=({"do": "noise", "columns": {"age": AGES}},),
        settings={"min_leaf": 30},
    )
    with pytest.raises(PlanError, match="drawn, not kept"):
        api.synthesize(people(), plan, seed=1)


PLAN = """
measures = ["copies", "ecap"]
calibrate = false
gates.names = ["copies"]
synthesis.min_leaf = 30
measure.ecap.exempt = ["price"]
measure.ecap.columns.age = {distribution = "normal", mean = 40, sd = 12, size = 60000}
measure.ecap.columns.height = {distribution = "normal", mean = 170, sd = 10, size = 60000}
protections = [{do = "noise"}]
"""


def test_the_note_gives_the_law_and_no_ecap_reaches_the_release(tmp_path, monkeypatch):
    def canary(self, release, *, rng, map_=map):
        score = 0.123454321
        return [Estimate("ecap.max", score, score, score, 0.0, Better.LOWER, 1.0, target="age",
                         note="0.987656789")]  # fmt: skip

    monkeypatch.setattr(EcapJudge, "estimates", canary)
    seed = 2**100 + 12345678987654321
    api.release(people(), tmp_path / "out", Plan.from_toml(PLAN), seed=seed, jobs=1)
    public = "".join(
        path.read_text("utf-8", "replace") for path in (tmp_path / "out" / "release").iterdir()
    )
    private = (tmp_path / "out" / "private" / "findings.json").read_text()
    assert "0.123454321" in private and "0.987656789" in private
    assert not re.search(r"123454321|987656789|ecap|ECAP|12345678987654321", public)
    note = (tmp_path / "out" / "release" / "NOTE.md").read_text()
    assert "Noise was drawn once for each value" in note and "further noise" not in note
    assert "- `age`: numbers below" in note and "discrete Gaussian noise in steps of 1" in note
    assert "- `height`: numbers below" in note and "normal noise with standard deviation" in note
    assert "`noise` took out" not in note and "price" not in note.split("drawn once")[1]


@pytest.mark.parametrize("bound", [0.1, 0.2])
def test_nobody_who_can_be_is_above_the_bound_and_somebody_is_near_it(train, bound):
    step = Noise.from_settings("p", {"columns": {"height": HEIGHTS}, "bound": bound})
    cover = step.cover(train, "height")
    risk = cover.risk(np.linspace(cover.bottom - 9, cover.top + 9, 4001))
    assert 0.9 * bound < risk.max() <= bound


def test_the_law_says_nothing_of_the_data():
    """Two tables of as many people: the same noise and thresholds. Nobody can compute back."""
    laws = []
    for seed in (1, 2):
        table = read(people(seed=seed))
        train = fit_encoding(table).encode(table)
        laws.append(applied(train, columns={"age": AGES, "height": HEIGHTS})[1].public)
    assert laws[0] == laws[1]
