"""Outliers against plain loops: who they are, and that they are dropped or exchanged."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import PlanError, TableError
from understudy.tables.prepare import prepare, prepare_beside
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table


def table(roles=None, **columns):
    roles = roles or {}
    schema = [
        Column(
            name,
            Kind.CATEGORY if any(isinstance(c, str) for c in cells) else Kind.NUMBER,
            role=roles.get(name, Role.OTHER),
        )
        for name, cells in columns.items()
    ]
    return Table(pa.table(columns), Schema(tuple(schema)))


def one(data, seed=1, **entry):
    done, receipts = prepare(data, [{"do": "outliers", **entry}], seed)
    return done, receipts[0]


def plain_z(values, z):
    """The modified z-score by a loop over sorted lists."""

    def median(numbers):
        ordered = sorted(numbers)
        half = len(ordered) // 2
        return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2

    centre = median(values)
    away = [abs(v - centre) for v in values]
    spread = 1.4826 * median(away) or 1.2533 * sum(away) / len(away)
    # Written as |x − m| > z·s, not as a quotient: s may be 0.
    return [abs(v - centre) > z * spread for v in values]


@given(st.lists(st.integers(-99, 99), min_size=2, max_size=40), st.sampled_from([1.0, 2.5, 3.5]))
def test_a_robust_z_score_drops_what_a_loop_finds(values, z):
    told = plain_z(values, z)
    if all(told):
        return
    done, receipt = one(table(x=values), columns=["x"], z=z)
    assert done.column("x").to_pylist() == [
        v for v, out in zip(values, told, strict=True) if not out
    ]
    assert (f"{sum(told)} rows dropped" in receipt) == any(told)


def test_where_most_values_are_equal_the_mean_deviation_takes_over():
    """MAD is 0: every other value would be an outlier, or none."""
    values = [0] * 60 + [1] * 30 + [200] * 2
    done, _ = one(table(x=values), columns=["x"], z=3.5)
    assert sorted(set(done.column("x").to_pylist())) == [0, 1]
    same, receipt = one(table(x=[4] * 9), columns=["x"], z=3.5)
    assert same.rows == 9 and receipt == "outliers: no outlier was found"


@pytest.mark.parametrize(
    ("side", "kept"),
    [("both", range(10, 91)), ("above", range(91)), ("below", range(10, 101))],
)
def test_beyond_a_quantile(side, kept):
    values = np.random.default_rng(2).permutation(101).tolist()
    done, receipt = one(table(x=values), columns=["x"], quantile=0.9, side=side)
    assert sorted(done.column("x").to_pylist()) == list(kept)
    assert f"{101 - len(kept)} rows dropped" in receipt


def test_a_row_is_dropped_once_and_missing_values_are_no_outliers():
    data = table(x=[1, 2, 3, 900, None, 2], y=[5, 5, 6, 900, 7, None], z=list("abcdef"))
    done, receipt = one(data, columns=["x", "y"], z=10)
    assert done.column("z").to_pylist() == list("abcef")
    assert receipt.endswith("1 above in 'x', 1 above in 'y'; 1 rows dropped")


@pytest.mark.parametrize("how", ["swap", "draw"])
@pytest.mark.parametrize("seed", range(5))
def test_perturbed_values_stay_on_their_side_and_with_nobody(how, seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=200), 50 + np.arange(7), -50 - np.arange(4.0)])
    values = rng.permutation(values)
    data = table(x=values.tolist(), i=list(range(len(values))))
    done, receipt = one(data, seed, columns=["x"], z=6, how=how)
    new = np.array(done.column("x").to_pylist())
    high, low = values > 40, values < -40
    assert done.column("i").to_pylist() == list(range(len(values)))
    assert np.array_equal(new[~(high | low)], values[~(high | low)])
    for group in (high, low):
        assert set(new[group]) <= set(values[group])
        assert not np.any(new[group] == values[group])
        if how == "swap":
            assert sorted(new[group]) == sorted(values[group])
    assert "7 above in 'x'" in receipt and "4 below in 'x'" in receipt


def test_a_swap_is_not_always_the_same_and_its_seed_repeats_it():
    values = [*range(100), *range(1000, 1010)]
    runs = [one(table(x=values), seed, columns=["x"], z=5, how="swap")[0] for seed in (1, 1, 2)]
    first, again, other = (run.column("x").to_pylist() for run in runs)
    assert first == again != other
    unseeded = [prepare(table(x=values), [{"do": "outliers", "columns": ["x"], "z": 5,
                                          "how": "swap"}])[0] for _ in "ab"]  # fmt: skip
    # 9! cycles: equal by chance once in 362,880.
    assert unseeded[0].column("x").to_pylist() != unseeded[1].column("x").to_pylist()


@pytest.mark.parametrize("how", ["swap", "draw"])
def test_every_other_row_is_a_possible_giver(how):
    """Four outliers: each gets each of the other three in a third of the draws."""
    values = [*range(50), 900, 901, 902, 903]
    got = np.zeros((4, 4))
    for seed in range(600):
        new = one(table(x=values), seed, columns=["x"], z=5, how=how)[0].column("x").to_pylist()
        got[np.arange(4), np.array(new[50:]) - 900] += 1
    expected = (1 - np.eye(4)) / 3
    # Twelve shares of 600 draws, standard error 0.019: 4.5 of them go wrong once in 12,000.
    np.testing.assert_allclose(got / 600, expected, atol=4.5 * 0.0193)


def test_a_lone_outlier_is_dropped_since_nobody_can_stand_in():
    done, receipt = one(table(x=[*range(20), 999]), columns=["x"], z=5, how="swap")
    assert done.rows == 20 and "1 rows dropped, whose value stood alone" in receipt


def test_all_rows_of_a_person_leave_together():
    data = table(
        {"who": Role.GROUP}, who=["a", "a", "b", "b", "c"], x=[1, 2, 3, 999, 2], y=[1, 2, 3, 4, 5]
    )
    done, receipt = one(data, columns=["x"], z=5)
    assert done.column("who").to_pylist() == ["a", "a", "c"]
    assert "2 rows dropped (all rows of a person together)" in receipt


def test_dates_huge_numbers_and_decimals():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=d) for d in range(30)] + [dt.date(1900, 1, 1)]
    huge = [10**17 + i for i in range(30)] + [10**18]
    schema = Schema((Column("d", Kind.DATETIME), Column("h", Kind.NUMBER)))
    data = Table(pa.table({"d": pa.array(days), "h": pa.array(huge, pa.int64())}), schema)
    for name in ("d", "h"):
        done, _ = one(data, columns=[name], z=8)
        assert done.rows == 30 and done.column(name).type == data.column(name).type


def test_no_receipt_quotes_a_cell():
    values = [*range(100), 98765, 98766]
    for how in ("drop", "swap", "draw"):
        assert "9876" not in one(table(x=values), columns=["x"], z=5, how=how)[1]


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({}, "columns"),
        ({"columns": []}, "columns"),
        ({"columns": "x"}, "columns"),
        ({"columns": ["nobody"], "z": 3}, "columns"),
        ({"columns": ["y"], "z": 3}, "columns"),
        ({"columns": ["x"]}, None),
        ({"columns": ["x"], "z": 3, "quantile": 0.9}, None),
        ({"columns": ["x"], "z": 0}, "z"),
        ({"columns": ["x"], "z": True}, "z"),
        ({"columns": ["x"], "quantile": 0.4}, "quantile"),
        ({"columns": ["x"], "quantile": "0.9"}, "quantile"),
        ({"columns": ["x"], "z": 3, "side": "left"}, "side"),
        ({"columns": ["x"], "z": 3, "how": "blur"}, "how"),
    ],
)
def test_impossible_entries_name_their_key(entry, key):
    with pytest.raises(PlanError) as caught:
        one(table(x=[1, 2, 3], y=["a", "b", "c"]), **entry)
    assert caught.value.key == "prepare[0]" + (f".{key}" if key else "")


def test_all_missing_has_no_outliers_and_dropping_everybody_is_refused():
    empty = Table(pa.table({"x": pa.nulls(4, pa.float64())}), Schema((Column("x", Kind.NUMBER),)))
    assert one(empty, columns=["x"], z=3)[0].rows == 4
    with pytest.raises(TableError, match="every row would be dropped"):
        one(table(x=[0, 10]), columns=["x"], z=0.1)


def test_others_are_treated_by_the_thresholds_of_the_table():
    """A holdout of the rich keeps nobody whom the table's limit would drop."""
    data = table(x=list(range(100)), c=["a"] * 90 + ["b"] * 10)
    rich = table(x=[50, 97, 98, 99, 500], c=["a", "b", "b", "a", "b"])
    entries = [
        {"do": "outliers", "columns": ["x"], "quantile": 0.98, "side": "above"},
        {"do": "top_code", "column": "x", "quantile": 0.9},
        {"do": "merge_rare", "column": "c", "fewer_than": 5},
    ]
    done = prepare_beside(rich, data, entries, seed=1)
    # Beyond 97 is dropped; of 0..97 the 90% point is 87; b is rare in the holdout, not there.
    assert done.column("x").to_pylist() == [50, 87]
    assert done.column("c").to_pylist() == ["a", "b"]
    merged = prepare_beside(rich, data, [{**entries[2], "fewer_than": 20}], seed=1)
    assert merged.column("c").to_pylist() == ["a", "other", "other", "a", "other"]
