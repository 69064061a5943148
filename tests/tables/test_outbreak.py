"""The fictional outbreak: its published shape, and the dependences worth synthesising."""

import hashlib
import time

import numpy as np
import pyarrow as pa
import pytest

from understudy.tables.outbreak import DEATHS, DECADES, MEN, PEOPLE, REGIONS, outbreak


@pytest.fixture(scope="module")
def people():
    return outbreak().to_pandas()


@pytest.fixture(scope="module")
def decade(people):
    return people["age"].map({name: 10 * d for d, name in enumerate(DECADES)})


def test_columns_and_types():
    schema = outbreak().schema
    assert {f.name: f.type for f in schema} == {
        "longitude": pa.float64(),
        "latitude": pa.float64(),
        "sex": pa.string(),
        "age": pa.string(),
        "outcome": pa.string(),
        "region": pa.string(),
        "household_size": pa.int64(),
        "contact_source": pa.string(),
        "confirmed": pa.date32(),
        "temperature": pa.float64(),
        "days_in_care": pa.int64(),
    }
    assert schema.names[:5] == ["longitude", "latitude", "sex", "age", "outcome"]


def test_published_shape(people, decade):
    # Bale & Quick, section 6.1: 6,712 people, 46.2% male, 55 deceased, ages mostly 20s to 60s.
    assert len(people) == PEOPLE == 6712
    assert (people["outcome"] == "deceased").sum() == DEATHS == 55
    assert (people["sex"] == "male").sum() == MEN
    assert (people["sex"] == "male").mean() == pytest.approx(0.462, abs=0.0005)
    assert set(people["age"]) == set(DECADES)
    assert decade.between(20, 60).mean() > 0.75


def test_many_people_share_a_place(people):
    places = people.groupby(["longitude", "latitude"]).size()
    assert 0.55 < len(places) / len(people) < 0.70
    assert (places >= 15).sum() > 15
    assert places.max() < 80


def test_no_column_identifies_people(people):
    distinct = people.nunique()
    assert (distinct < 0.7 * len(people)).all()


def test_every_call_gives_the_same_bytes():
    first, second = outbreak(), outbreak()
    assert first.equals(second)
    sums = [hashlib.sha256(t.to_pandas().to_csv().encode()).hexdigest() for t in (first, second)]
    assert sums[0] == sums[1]


def test_the_table_stays_what_it_was(people):
    # Pinned so that published figures about the demo stay true: change both together.
    assert people["household_size"].sum() == 19_488
    assert people["days_in_care"].sum() == 96_372
    assert people["longitude"].sum() == pytest.approx(-225_043.824223, abs=1e-6)


def test_it_is_made_quickly():
    start = time.perf_counter()
    outbreak()
    assert time.perf_counter() - start < 1.5  # 0.1 s on an idle core


def test_coordinates_have_six_decimals(people):
    for name in ("longitude", "latitude"):
        assert np.array_equal(people[name], people[name].round(6))
        assert people[name].std() > 0.4


def test_the_place_decides_the_region(people):
    assert set(people["region"]) == {r.name for r in REGIONS}
    assert people.groupby(["longitude", "latitude"])["region"].nunique().max() == 1


def test_the_dead_were_old_ill_and_long_in_care(people, decade):
    dead = people["outcome"] == "deceased"
    assert decade[dead].mean() > decade[~dead].mean() + 25
    assert people["days_in_care"][dead].mean() > people["days_in_care"][~dead].mean() + 2
    assert people["temperature"][dead].mean() > people["temperature"][~dead].mean() + 0.1
    old = decade >= 60
    risk = dead[old].groupby(people["sex"][old]).mean()
    assert risk["male"] > risk["female"]


def test_missing_values_depend_on_something(people, decade):
    missing = people.isna()
    assert set(missing.columns[missing.any()]) == {"contact_source", "temperature", "days_in_care"}
    late = people["confirmed"] > people["confirmed"].sort_values().iloc[len(people) // 2]
    untraced = missing["contact_source"].groupby(late).mean()
    assert untraced[True] > 1.5 * untraced[False]
    unmeasured = missing["temperature"].groupby(people["region"]).mean()
    assert unmeasured.max() > 3 * unmeasured.min()
    unknown = missing["days_in_care"].groupby(decade < 30).mean()
    assert unknown[True] > 1.5 * unknown[False]


def test_contact_source_depends_on_age_and_household(people, decade):
    source = people["contact_source"].dropna()
    assert source.nunique() == 6
    assert decade[source.index][source == "care home"].mean() > 60
    assert decade[source.index][source == "school"].mean() < 30
    assert (people["household_size"][source.index][source == "household"] > 1).all()


def test_waves_reach_regions_at_different_times(people):
    dates = people["confirmed"].astype("datetime64[s]")
    first = dates.groupby(people["region"]).quantile(0.1)
    assert (first.max() - first.min()).days > 20
    assert (dates.max() - dates.min()).days < 150


def test_a_home_holds_no_more_cases_than_people(people):
    places = people.groupby(["longitude", "latitude"])["household_size"].agg(["size", "min", "max"])
    homes = places[places["min"] == places["max"]]
    small = homes[homes["size"] <= 6]
    assert (small["max"] >= small["size"]).mean() > 0.99
    assert people["household_size"].between(1, 9).all()


def test_people_met_at_one_venue_share_their_source(people):
    places = people.groupby(["longitude", "latitude"])["contact_source"]
    busy = places.agg(lambda s: s.value_counts(normalize=True).max())[places.size() >= 15]
    assert busy.median() > 0.8
