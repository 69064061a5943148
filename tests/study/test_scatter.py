"""The map's points: few, rounded, in one private file, or not at all."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy import api
from understudy.evidence import Evidence
from understudy.plans.plan import Plan
from understudy.study.scatter import scatter
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read

SECRET = 0x5EED_0123_4567_89AB_CDEF_0123_4567_89AB


def people(rows, seed=1, centre=(7.0, 51.0)):
    """Towns with coordinates of six digits, none of them twice."""
    rng = np.random.default_rng(seed)
    places = np.array(centre) + rng.normal(size=(rows, 2))
    places[:, 0] = (places[:, 0] + 180) % 360 - 180
    longitude, latitude = np.round(places, 6).T
    ill = rng.choice(["yes", "no"], rows)
    return pa.table({"longitude": longitude, "latitude": latitude, "ill": ill})


def evidence(train, release):
    encoding = fit_encoding(read(train))
    block, other = encoding.encode(read(train)), encoding.encode(read(release))
    return Evidence(block, block, block, (other,))


def test_at_most_two_thousand_points_rounded_to_a_thousandth():
    train = people(2500)
    found = scatter(evidence(train, people(300, 2)), seed=SECRET)
    assert {name: points.shape for name, points in found.points.items()} == {
        "original": (2000, 2),
        "synthetic": (300, 2),
    }
    assert found.rows == {"original": 2500, "synthetic": 300}
    shown = found.points["original"]
    exact = np.stack([train["longitude"], train["latitude"]], axis=1)
    gap = np.abs(shown[:, None, :] - exact[None, :, :]).max(axis=2).min(axis=1)
    assert gap.max() <= 0.0005 * 1.001  # 7 degrees wide: three decimals
    assert np.array_equal(shown, np.round(shown, 3))
    # Random order: the file does not say which row a point is of.
    nearest = np.abs(shown[:, None, :] - exact[None, :, :]).max(axis=2).argmin(axis=1)
    assert abs(np.corrcoef(nearest, np.arange(2000))[0, 1]) < 0.1
    # A degree of longitude is 0.63 of one of latitude here.
    wide, high = np.ptp(np.concatenate(list(found.points.values())), axis=0)
    assert found.aspect == pytest.approx(high / (wide * np.cos(np.radians(51))), rel=0.02)


def test_across_the_date_line_neighbours_stay_neighbours():
    train = people(400, centre=(179.8, -17.0))
    found = scatter(evidence(train, train), seed=1)
    assert np.ptp(found.points["original"][:, 0]) < 10


def test_a_table_without_places_has_no_map():
    train = people(60).select(["longitude", "ill"])
    assert scatter(evidence(train, train), seed=1) is None


def test_only_the_private_map_and_report_show_places(tmp_path):
    """Every point of train is a canary: six digits that stand in no other file."""
    table = people(240)
    plan = Plan.from_toml('synthesis.min_leaf = 20\nmeasures = ["l_function", "copies"]')
    api.release(table, tmp_path / "run", plan, seed=SECRET, jobs=1, force=True)
    private, public = tmp_path / "run" / "private", tmp_path / "run" / "release"
    assert {path.name for path in public.iterdir()} == {
        "synthetic-1.parquet",
        "NOTE.md",
        "manifest.json",
    }
    points = pq.read_table(private / "map.parquet")
    assert points.column_names == ["table", "east", "north"]
    assert set(points["table"].to_pylist()) == {"original", "synthetic"}
    report = (private / "report.html").read_text(encoding="utf-8")
    exact = [str(value) for value in table["longitude"].to_pylist()]
    shown = {
        str(v)
        for v in points.filter(pa.compute.equal(points["table"], "original"))["east"].to_pylist()
    }
    for name in ("findings.json", "summaries.json", "run.log", "plan.toml"):
        said = (private / name).read_text(encoding="utf-8")
        assert not [value for value in exact if value in said]
    summaries = json.loads((private / "summaries.json").read_text(encoding="utf-8"))
    assert "l_function" in summaries and "map" not in summaries
    assert sum(f'"x":{value}' in report for value in shown) == len(shown)
    for path in public.iterdir():
        assert b"map" not in path.read_bytes() or path.suffix == ".parquet"


def test_a_plan_can_leave_the_map_out(tmp_path):
    plan = Plan.from_toml(
        'report.map = false\nsynthesis.min_leaf = 20\nmeasures = ["l_function", "copies"]'
    )
    assert Plan.from_toml(plan.to_toml()) == plan
    api.release(people(120), tmp_path / "run", plan, seed=SECRET, jobs=1, force=True)
    private = tmp_path / "run" / "private"
    assert not (private / "map.parquet").exists()
    report = (private / "report.html").read_text(encoding="utf-8")
    assert 'id="spec-map-original"' not in report and 'id="clusters"' in report


def test_an_assessment_has_a_map(tmp_path):
    plan = Plan(measures=("copies",))
    api.assess(people(120), [people(100, 2)], tmp_path / "run", plan, seed=SECRET, jobs=1)
    assert (tmp_path / "run" / "private" / "map.parquet").exists()
    assert not (tmp_path / "run" / "release").exists()
