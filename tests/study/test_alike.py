"""Tables from elsewhere: the same dates and levels, however they are written."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy import Plan
from understudy.errors import InputError, TableError
from understudy.study.alike import alike, require_strangers
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read

DAY = dt.datetime(2020, 1, 1)


def people(seed, rows=300):
    rng = np.random.default_rng(seed)
    days = [DAY + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, rows)]
    codes = rng.choice(["007", "012", "100"], rows)
    return {
        "day": pa.array(days, pa.timestamp("s")),
        "code": pa.array(codes),
        "pay": rng.normal(size=rows),
    }


def under(stored, seed=1):
    columns = people(seed)
    return pa.table({**columns, "day": columns["day"].cast(stored)})


STORED = [
    pa.date32(),
    pa.date64(),
    pa.timestamp("s"),
    pa.timestamp("ms"),
    pa.timestamp("us"),
    pa.timestamp("ns"),
    pa.timestamp("us", "UTC"),
]


@pytest.mark.parametrize("theirs", STORED, ids=str)
@pytest.mark.parametrize("ours", [pa.date32(), pa.timestamp("us")], ids=str)
def test_dates_are_compared_whatever_they_are_counted_in(ours, theirs):
    original, other = read(under(ours)), read(under(theirs))
    assert alike(other, original, "it").column("day").equals(original.column("day"))


def test_a_copy_with_dates_in_another_unit_is_still_a_copy():
    plan = Plan.from_toml('measures = ["closeness", "copies"]\ngates.names = ["copies", "ims"]')
    study = understudy.assess(
        under(pa.date32()),
        [under(pa.timestamp("us"))],
        plan=plan,
        holdout=under(pa.timestamp("ms"), seed=2),
        seed=1,
        jobs=1,
    )
    failed = {finding.estimate.measure for finding in study.findings.failed(strict=False)}
    assert failed == {"copies", "ims"}


def test_times_of_day_are_not_dates():
    times = pa.table({"day": pa.array([dt.time(1), dt.time(2)])})
    days = pa.table({"day": pa.array([DAY.date(), DAY.date()])})
    with pytest.raises(TableError, match=r"column .day. holds .* where the original holds"):
        alike(read(times), read(days), "it")
    with pytest.raises(InputError, match="it lacks columns of the original: day"):
        alike(read(pa.table({"x": [1, 2]})), read(days), "it")


def test_levels_spelled_otherwise_are_pointed_out():
    other = people(3)
    other["code"] = pa.array([code.lstrip("0") for code in other["code"].to_pylist()])
    study = understudy.assess(
        pa.table(people(1)), [pa.table(other), pa.table(people(4))], plan=Plan(measures=("copies",),
        calibrate=False), holdout=pa.table(people(2)), seed=1, jobs=1
    )  # fmt: skip
    notes = study.findings.provenance["notes"]
    assert [note for note in notes if "levels of code that the original lacks" in note] == notes
    assert len(notes) == 1 and notes[0].startswith("synthetic table 1: 6")


def coarse(seed, rows=400):
    levels = np.random.default_rng(seed).integers(0, 3, (3, rows))
    return {name: row.astype(str) for name, row in zip("abc", levels, strict=True)}


JUDGES = {
    "the table itself": lambda table, other: table,
    "a part of it": lambda table, other: table.slice(0, 60),
    "partly": lambda table, other: pa.concat_tables([table.slice(0, 50), other.slice(0, 100)]),
}


@pytest.mark.parametrize("what", JUDGES)
def test_a_holdout_of_people_in_the_table_judges_nothing(what):
    table, other = pa.table(people(1)), pa.table(people(2))
    holdout = JUDGES[what](table, other)
    with pytest.raises(InputError, match="the holdout repeats the table"):
        understudy.assess(table, [other], holdout=holdout, seed=1, jobs=1)
    with pytest.raises(InputError, match="the holdout repeats the table"):
        understudy.synthesize(table, holdout=holdout, seed=1, jobs=1)


def test_strangers_who_share_coarse_rows_by_chance_may_judge():
    """None of 60 honest pairs is refused; a false alarm needs five points and four errors."""
    for seed in range(30):
        for make, rows in ((coarse, 50), (people, 40)):
            train = fit_encoding(read(pa.table(make(seed, 150))))
            block = train.encode(read(pa.table(make(seed, 150))))
            held = alike(read(pa.table(make(1000 + seed, rows))), read(pa.table(make(seed))), "it")
            require_strangers(block, train.encode(held))
    table = pa.table(coarse(3))
    with pytest.raises(InputError, match="100% of its rows"):
        understudy.assess(table, [table], holdout=table, seed=1, jobs=1)
    binary = pa.table({"sex": ["f", "m"] * 60})
    understudy.assess(
        binary, [binary], holdout=binary, seed=1, jobs=1
    )  # strangers may have the same counts
