import re
import uuid

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import TableError
from understudy.tables.surrogates import surrogates


def fresh(values, rows, seed=1):
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return surrogates(array, rows, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        ([f"P-{i:05d}" for i in range(200)], r"P-\d{5}"),
        ([f"{i:06d}" for i in range(200)], r"\d{6}"),
        ([f"P{i}" for i in range(9000)], r"P[1-9]\d{3,}"),
        ([str(uuid.UUID(int=i)) for i in range(50)], r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ([uuid.UUID(int=10**30 + i).hex.upper() for i in range(50)], r"[0-9A-F]{32}"),
        (["ann", "bob", None], r"S\d+"),
        ([], r"S\d+"),
    ],
)
def test_texts_keep_their_look(values, pattern):
    new = fresh(pa.array(values, pa.string()), 300).to_pylist()
    assert all(re.fullmatch(pattern, item) for item in new)
    assert len(set(new)) == 300
    assert not set(new) & set(values)


def test_a_name_is_never_a_prefix():
    # One person's name before a digit must not become the prefix of everybody.
    new = fresh(["ann1", *[f"bob{i}" for i in range(30)]], 5).to_pylist()
    assert not any("ann" in item or "bob" in item for item in new)


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint16(), pa.float64()])
def test_numbers_stay_numbers_of_as_many_digits(kind):
    values = pa.array(range(10_000, 20_000), kind)
    new = fresh(values, 5000)
    assert new.type == kind or kind == pa.uint16()
    whole = [int(v) for v in new.to_pylist()]
    assert len(set(whole)) == 5000
    assert not set(whole) & set(range(10_000, 20_000))
    assert all(v >= 10_000 for v in whole)


def test_all_numbers_of_the_width_are_taken():
    new = fresh(list(range(10)), 8).to_pylist()
    assert not set(new) & set(range(10))
    assert len(set(new)) == 8


def test_the_stream_decides():
    ids = [f"P-{i:05d}" for i in range(200)]
    assert fresh(ids, 9).equals(fresh(ids, 9))
    assert not fresh(ids, 9).equals(fresh(ids, 9, seed=2))


def test_no_rows():
    assert len(fresh(["a"], 0)) == 0


def test_dates_have_none():
    with pytest.raises(TableError, match="drop the column"):
        fresh(pa.array([1], pa.date32()), 3)
