"""The largest gap of L: sees what is shuffled, holds for fresh people, is 0 for a copy."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import PlanError
from understudy.evidence import Evidence
from understudy.kernels.plane import Equirectangular
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.study.judge import Gating, judge_all, measures_of
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table
from understudy.utility.l_function import LFunction

TOWNS = np.array([[2.0, 3.0], [7.0, 2.0], [5.0, 5.0], [3.0, 8.0], [8.0, 7.0]])
SCHEMA = Schema(
    (
        Column("x", Kind.NUMBER, Role.LOCATION),
        Column("y", Kind.NUMBER, Role.LOCATION),
        Column("state", Kind.CATEGORY, Role.SENSITIVE),
        Column("other", Kind.NUMBER),
    )
)
NAMES = (None, "state: level 1", "state: level 2")


def arrays(rng, rows):
    """People around five towns; the ill ones in two of them only."""
    ill = rng.random(rows) < 0.2
    town = np.where(ill, rng.integers(2, size=rows), rng.integers(5, size=rows))
    place = TOWNS[town] + rng.normal(0, 0.5, (rows, 2))
    state = np.where(ill, "ill-as-can-be", "well-as-can-be")
    return {"x": place[:, 0], "y": place[:, 1], "state": state, "other": rng.normal(size=rows)}


def table(columns, schema=SCHEMA):
    return Table(pa.table({n: pa.array(columns[n]) for n in schema.names}), schema)


def people(rng, rows):
    return table(arrays(rng, rows))


def shuffled(rng, found):
    columns = {n: found.column(n).to_numpy(zero_copy_only=False) for n in found.names}
    return table({n: values[rng.permutation(found.rows)] for n, values in columns.items()})


def evidence(train, *release, held=None, level=0.95, schema=SCHEMA):
    encoding = fit_encoding(train)
    blocks = [encoding.encode(one) for one in release]
    halves = [encoding.encode(train.take(np.arange(0)))] * 2
    if held is not None:
        halves = [encoding.encode(held.take(np.arange(start, held.rows, 2))) for start in (0, 1)]
    return Evidence(encoding.encode(train), *halves, tuple(blocks), level=level)


def judged(given, *, calibrate=False, **settings):
    plan = Plan(measures=("l_function",), measure={"l_function": settings} if settings else {})
    findings, summaries = judge_all(
        given, measures_of(plan), Gating(()), seed=1, calibrate=calibrate
    )
    return {(f.estimate.target, f.estimate.replicate): f for f in findings}, summaries


def one(train, release, **settings):
    """The finding about all points."""
    return judged(evidence(train, release), **settings)[0][None, 1]


@pytest.mark.parametrize("seed", range(2))
def test_a_fresh_draw_holds_a_copy_has_no_gap_and_shuffled_columns_fail(seed):
    # The margin, 5% of the largest L, makes a false alarm far rarer than the interval's 5%.
    rng = np.random.default_rng([1, seed])
    train = people(rng, 1500)
    given = evidence(train, people(rng, 1500), train, shuffled(rng, train), held=people(rng, 1000))
    found, _ = judged(given, calibrate=True)
    assert [found[name, 1].verdict for name in NAMES[:2]] == [Verdict.HOLDS] * 2
    assert found[NAMES[2], 1].verdict in (Verdict.HOLDS, Verdict.UNDECIDED)  # 300 people
    assert [found[name, 2].estimate.value for name in NAMES] == [0.0] * 3
    assert [found[name, 3].verdict for name in NAMES] == [Verdict.FAILS] * 3
    assert found[None, 1].calibration["permuted"] > 5 * found[None, 1].calibration["fresh"]


def test_a_mark_that_lost_its_place_is_found_though_all_points_hold():
    rng = np.random.default_rng(2)
    train, release = people(rng, 1500), arrays(rng, 1500)
    release["state"] = rng.permutation(release["state"])
    found, _ = judged(evidence(train, table(release)))
    assert found[None, 1].verdict is Verdict.HOLDS
    assert found["state: level 2", 1].verdict is Verdict.FAILS


def test_the_more_points_are_moved_the_larger_the_gap():
    rng = np.random.default_rng(3)
    columns = arrays(rng, 800)
    train, gaps = table(columns), []
    for share in (0.0, 0.01, 0.1, 0.5):
        moved = {n: v.copy() for n, v in columns.items()}
        away = rng.choice(800, round(share * 800), replace=False)
        moved["x"][away], moved["y"][away] = rng.uniform(0, 10, (2, len(away)))
        gaps.append(one(train, table(moved)).estimate.value)
    assert gaps[0] == 0 and np.all(np.diff(gaps) > 0)


def test_leaked_people_make_the_gap_smaller():
    """A share of copies scales the difference of the patterns: half a copy, about half a gap."""
    rng = np.random.default_rng(4)
    gaps = []
    for _ in range(12):
        train, fresh = people(rng, 400), people(rng, 400)
        half = Table(
            pa.concat_tables([t.take(np.arange(200)).data for t in (train, fresh)]), SCHEMA
        )
        gaps.append([one(train, t).estimate.value for t in (fresh, half)])
    # The mean of 12 ratios lies in here but for 1 in 1,000.
    assert 0.3 < np.mean(gaps, axis=0)[1] / np.mean(gaps, axis=0)[0] < 0.95


def test_the_reference_is_what_random_halves_show():
    """Mean gap over 40 pairs of draws against the mean reference: 25% is four standard errors."""
    rng = np.random.default_rng(5)
    found = [one(people(rng, 300), people(rng, 200)).estimate for _ in range(40)]
    told = np.mean([e.reference for e in found])
    assert told == pytest.approx(np.mean([e.value for e in found]), rel=0.25)
    # And the interval holds the true gap, 0, as often as it says: 2 misses expected, 7 at 1 in 500.
    assert sum(e.gap()[0] + e.reference > 0 for e in found) < 7


def test_the_interval_knows_the_chance_in_both_tables():
    """A small train against ten times as many: 5 of 100 miss, more than 3 of 20 at 1 in 60."""
    rng = np.random.default_rng(27)
    found = [one(people(rng, 80), people(rng, 800)).estimate for _ in range(20)]
    assert sum(e.gap()[0] + e.reference > 0 for e in found) <= 3


def test_the_gap_by_a_double_loop():
    rng = np.random.default_rng(6)
    train, release = people(rng, 40), people(rng, 30)
    most, hs = 4.0, 5

    def slow(found, area):
        x, y = (found.column(n).to_numpy() for n in ("x", "y"))
        n, curve = len(x), []
        for h in (0.8, 1.6, 2.4, 3.2, 4.0):
            near = [
                i != j and (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 <= h * h
                for i in range(n)
                for j in range(n)
            ]
            curve.append(np.sqrt(area * sum(near) / n**2 / np.pi))
        return np.array(curve)

    x, y = (train.column(n).to_numpy() for n in ("x", "y"))
    area = (x.max() - x.min()) * (y.max() - y.min())
    expected = np.abs(slow(train, area) - slow(release, area)).max()
    found = one(train, release, most=most, hs=hs, divisor="squares").estimate
    assert found.value == pytest.approx(expected)


@pytest.mark.parametrize("names", [("lon", "lat"), ("latitude", "longitude")])
def test_degrees_are_laid_flat(names):
    """The same towns in degrees at 60° north: gap and margin in km, a tenth of a degree wide."""
    rng = np.random.default_rng(7)
    flat = Equirectangular(15.0, 60.0)
    scale = flat.km(np.array([[16.0, 61.0]]))[0]
    schema = Schema(tuple(Column(n, Kind.NUMBER, Role.LOCATION) for n in names))
    east = next(n for n in names if n.startswith("lon"))

    def globe(found):
        km = {n: found.column(c).to_numpy() for n, c in ((east, "x"),)}
        north = next(n for n in names if n != east)
        return table(
            {
                east: 15 + (km[east] - 5) / scale[0],
                north: 60 + (found.column("y").to_numpy() - 5) / scale[1],
            },
            schema,
        )

    train, release = people(rng, 300), people(rng, 300)
    plane = one(train, release).estimate
    found = one(globe(train), globe(release)).estimate
    assert found.value == pytest.approx(plane.value, rel=0.01)
    assert "equirectangular projection, in km" in found.note
    assert "taken for a plane" in plane.note


def test_missing_places_are_left_out_and_counted():
    rng = np.random.default_rng(8)
    train, release = people(rng, 300), arrays(rng, 300)
    release["x"] = [None if i % 10 == 0 else float(v) for i, v in enumerate(release["x"])]
    release["y"] = [float("inf") if i == 1 else float(v) for i, v in enumerate(release["y"])]
    found = one(train, table(release)).estimate
    assert "31 of 300 rows of the release are not on the map" in found.note
    kept = [i for i in range(300) if i % 10 and i != 1]
    full = one(train, table({n: [v[i] for i in kept] for n, v in release.items()})).estimate
    assert found.value == full.value


def test_latitudes_beyond_the_pole_are_left_out():
    rng = np.random.default_rng(9)
    schema = Schema(tuple(Column(n, Kind.NUMBER, Role.LOCATION) for n in ("lon", "lat")))
    places = {"lon": rng.normal(10, 1, 200), "lat": rng.normal(50, 1, 200)}
    train = table(places, schema)
    places["lat"] = np.where(np.arange(200) < 3, 91.0, places["lat"])
    found = one(train, table(places, schema)).estimate
    assert "3 of 200 rows of the release are not on the map" in found.note


def test_everybody_at_few_places():
    rng = np.random.default_rng(10)
    columns = arrays(rng, 200)
    columns["x"], columns["y"] = np.round(columns["x"]), np.round(columns["y"])
    found = one(table(columns), table(arrays(rng, 200)))
    assert np.isfinite(found.estimate.value) and found.estimate.value > 0
    assert one(table(columns), table(columns)).estimate.value == 0


def roles(**by_name):
    return Schema(tuple(Column(c.name, c.kind, Role(by_name.get(c.name, "other"))) for c in SCHEMA))


@pytest.mark.parametrize(
    "schema, reason",
    [
        (roles(), "no column has the role location"),
        (roles(x="location"), "one column has the role location"),
        (roles(x="location", y="location", other="location"), "3 columns have the role location"),
        (roles(x="location", state="location"), "the column state of role location is no number"),
    ],
)
def test_a_table_without_a_map_says_why(schema, reason):
    found = table(arrays(np.random.default_rng(11), 60), schema)
    finding = one(found, found)
    assert finding.verdict is Verdict.NOT_APPLICABLE and reason in finding.estimate.note


def test_points_on_a_line_and_few_points_are_no_pattern():
    rng = np.random.default_rng(12)
    line = arrays(rng, 60) | {"y": np.full(60, 2.0)}
    assert "lie on a line" in one(table(line), table(line)).estimate.note
    few = arrays(rng, 60)
    few["x"] = [None if i >= 9 else float(v) for i, v in enumerate(few["x"])]
    finding = one(table(few), table(few))
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "fewer than 10 rows of train have a place" in finding.estimate.note


def test_a_release_that_lost_a_mark_is_not_measured():
    rng = np.random.default_rng(13)
    train, lost = arrays(rng, 400), arrays(rng, 400)
    lost["state"] = np.full(400, "well-as-can-be")
    found, _ = judged(evidence(table(train), table(lost)))
    finding = found["state: level 2", 1]
    assert finding.verdict is Verdict.NOT_MEASURED
    assert "fewer than 10 points of the release" in finding.estimate.note


def test_rare_levels_and_numbers_are_no_marks():
    rng = np.random.default_rng(14)
    columns = arrays(rng, 300)
    columns["state"] = np.array(["rare"] * 9 + ["often"] * 291)
    columns["other"] = rng.integers(2, size=300).astype(float)
    found, summaries = judged(evidence(table(columns), table(columns)))
    # A number with two values is one.
    expected = {None, "state: level 1", "other: level 1", "other: level 2"}
    assert {name for name, _ in found} == expected
    levels = [t["level"] for t in summaries["l_function"]["targets"]]
    assert levels == [None, "often", "0.0", "1.0"]
    columns["other"] = rng.normal(size=300)
    found, _ = judged(evidence(table(columns), table(columns)), marks=["other"])
    assert found["other", 1].verdict is Verdict.NOT_APPLICABLE


def test_findings_name_no_level():
    rng = np.random.default_rng(15)
    found, summaries = judged(evidence(people(rng, 200), people(rng, 200)))
    said = json.dumps([f.to_json() for f in found.values()])
    assert "as-can-be" not in said
    assert "ill-as-can-be" in json.dumps(summaries)


def test_bands_over_replicates():
    rng = np.random.default_rng(16)
    several = [people(rng, 300) for _ in range(5)]
    _, summaries = judged(evidence(people(rng, 300), *several, held=people(rng, 200)))
    shown = summaries["l_function"]
    assert shown["replicates"] == 5 and len(shown["grid"]) == 24
    every, *_ = shown["targets"]
    assert every["points"] == {"original": 300, "holdout": 200, "synthetic": [300] * 5}
    single = [judged(evidence(people(rng, 300), t))[1] for t in several]
    assert single[0]["l_function"]["targets"][0]["low"] is None
    for place in range(5, 24):
        low, mean, high = (every[key][place] for key in ("low", "synthetic", "high"))
        assert low < mean < high
        low, mean, high = (every["k"][key][place] for key in ("low", "synthetic", "high"))
        assert low < mean < high
        h, excess = shown["grid"][place], every["original"][place]
        assert every["k"]["original"][place] == pytest.approx(np.pi * (excess + h) ** 2, rel=1e-3)


def test_a_band_holds_95_percent_of_the_replicates_curves_around_their_mean():
    rng = np.random.default_rng(26)
    train, several = people(rng, 200), [people(rng, 200) for _ in range(9)]

    def shown(*release):
        return judged(evidence(train, *release))[1]["l_function"]["targets"][0]

    whole = shown(*several)
    each = np.array([shown(one)["synthetic"] for one in several], dtype=float)
    there = np.isfinite(each).all(axis=0)
    assert there.sum() > 12
    ordered = np.sort(each[:, there], axis=0)
    # 2.5% of the way along nine curves lies a fifth of a step beyond the lowest.
    expected = {
        "low": ordered[0] + 0.2 * (ordered[1] - ordered[0]),
        "high": ordered[-1] - 0.2 * (ordered[-1] - ordered[-2]),
        "synthetic": each[:, there].mean(axis=0),
    }
    for key, values in expected.items():
        drawn = np.array(whole[key], dtype=float)[there]
        assert drawn == pytest.approx(values, rel=1e-3, abs=1e-4), key


def test_no_curve_is_drawn_from_fewer_than_ten_pairs():
    rng = np.random.default_rng(17)
    train = people(rng, 60)
    _, summaries = judged(evidence(train, people(rng, 60)), hs=100)
    first, *_ = summaries["l_function"]["targets"]
    x, y = (train.column(n).to_numpy() for n in ("x", "y"))
    gap = np.hypot(x[:, None] - x, y[:, None] - y)[np.triu_indices(60, 1)]
    for h, value in zip(summaries["l_function"]["grid"], first["original"], strict=True):
        if abs(np.sort(gap)[9] - h) > 1e-3:  # the grid is rounded
            assert (value is None) == ((gap <= h).sum() < 10)


def test_a_gap_where_only_one_table_has_pairs():
    """Twins at one door in train, nobody near anybody in the release: seen at the first h."""
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    other = {"state": np.full(100, "well"), "other": np.arange(100.0)}
    alone = {"x": grid[:, 0], "y": grid[:, 1]}
    twins = {name: np.repeat(values[::2], 2) for name, values in alone.items()}
    found = one(table(twins | other), table(alone | other), most=0.9).estimate
    assert "apart most at h = 0.0375" in found.note
    assert found.value == pytest.approx(np.sqrt(8 * 9 * 100 / (100 * 99) / np.pi))


def test_parallel_equals_serial():
    rng = np.random.default_rng(20)
    given = evidence(people(rng, 200), people(rng, 200))
    with ThreadPoolExecutor(3) as pool:
        both = [
            judge_all(given, {"l_function": LFunction()}, Gating(()), seed=1, map_=map_)
            for map_ in (map, pool.map)
        ]
    serial, parallel = ([f.estimate for f in findings] for findings, _ in both)
    assert serial == parallel and both[0][1] == both[1][1]


def test_thinning_leaves_a_copy_without_a_gap():
    rng = np.random.default_rng(18)
    train = people(rng, 600)
    found = one(train, train, rows=200).estimate
    assert found.value == 0
    assert "at most 200 points of train at a time" in found.note


@pytest.mark.parametrize("correction", ["border", "translate", "isotropic"])
def test_corrections_and_a_window(correction):
    rng = np.random.default_rng(19)
    train, release = people(rng, 500), people(rng, 500)
    corners = [[0, 0], [10, 0], [10, 10], [5, 10], [0, 9]]
    found = one(train, release, correction=correction, window=corners).estimate
    assert f"edge correction {correction}" in found.note
    assert ("raster" in found.note) == (correction == "translate")
    assert 0 < found.value < 1
    small = one(train, release, correction=correction, window=[[0, 0], [5, 0], [5, 5], [0, 5]])
    assert "rows of train are not on the map" in small.estimate.note


@pytest.mark.parametrize(
    "settings, key",
    [
        ({"hs": 1}, "hs"),
        ({"hs": 2.5}, "hs"),
        ({"rows": 10}, "rows"),
        ({"most": 0}, "most"),
        ({"most": "far"}, "most"),
        ({"most": float("nan")}, "most"),
        ({"correction": "ripley"}, "correction"),
        ({"divisor": "n"}, "divisor"),
        ({"marks": "state"}, "marks"),
        ({"marks": [1]}, "marks"),
        ({"window": [[0, 0], [1, 1]]}, "window"),
        ({"window": [[0, 0], [1, 1], [1, "a"]]}, "window"),
        ({"window": "box"}, "window"),
        ({"distances": 3}, "distances"),
    ],
)
def test_settings_that_are_wrong_are_named(settings, key):
    with pytest.raises(PlanError, match=rf"measure\.l_function\.{key}"):
        measures_of(Plan(measure={"l_function": settings}))


def test_marks_that_the_table_lacks_are_named():
    with pytest.raises(PlanError, match=r"l_function\.marks: got 'stat'"):
        LFunction(marks=("stat",)).fits("measure.l_function", SCHEMA)
