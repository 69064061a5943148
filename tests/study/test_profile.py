"""Shares for the report: no level, and no bin, that fewer than ten people share."""

import math

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy.study.profile import LEAST, profile

# The fixture hands out pure functions: it need not be new for every example.
SETTINGS = settings(
    deadline=None,
    max_examples=80,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
numbers = st.lists(
    st.one_of(
        st.none(), st.integers(0, 8).map(float), st.floats(-1e6, 1e6, allow_nan=False, width=32)
    ),
    min_size=1,
    max_size=120,
)
levels = st.lists(
    st.sampled_from([*"aaaaabbbbcccdd", "rare", "rarer", None]), min_size=1, max_size=90
)


def shown(make, table):
    block = make.encoded(table)
    (column,) = profile(block, None, [block])
    codes = block.codes[table.names[0]]
    present = int((codes != block.encoding[table.names[0]].missing).sum())
    return column, present


def in_company(column, present):
    """Every bin holds no one, at least ten people, or everybody."""
    counts = [round(share * present) for share in column["original"]]
    assert sum(counts) == present and column["synthetic"] == [column["original"]]
    assert all(count == 0 or count >= LEAST or count == present for count in counts), counts
    return counts


@settings(SETTINGS)
@given(values=numbers)
def test_bins_of_numbers_are_shared(make, values):
    table = make.numbers(np.array([math.nan if v is None else v for v in values]).tolist())
    column, present = shown(make, table)
    in_company(column, present)
    assert column["shape"] == "bins"


@settings(SETTINGS)
@given(values=levels)
def test_levels_are_shared(make, values):
    column, present = shown(make, make.levels(a=values))
    counts = in_company(column, present)
    for label, count in zip(column["labels"], counts, strict=True):
        if label in values:
            assert values.count(label) == count >= LEAST


def test_a_few_rare_people_are_pooled_with_the_rarest_of_the_frequent(make):
    values = ["a"] * 40 + ["b"] * 20 + ["c"] * 3
    column, present = shown(make, make.levels(x=values))
    assert column["labels"] == ["a", "2 rarer levels"]
    assert in_company(column, present) == [40, 23]


def test_missing_values_and_levels_that_train_lacks(make):
    from understudy.tables.encode import fit_encoding

    encoding = fit_encoding(make.levels(x=["a"] * 30 + ["b"] * 10))
    train = encoding.encode(make.levels(x=["a"] * 30 + ["b"] * 10))
    other = encoding.encode(make.levels(x=["a", "new", None, None]))
    (column,) = profile(train, other, [other])
    assert column["labels"] == ["a", "b", "levels not in the original"]
    assert column["original"] == [0.75, 0.25, 0.0]
    assert column["synthetic"] == [[0.5, 0.0, 0.5]] == [column["holdout"]]
    assert column["missing"] == {"original": 0.0, "synthetic": [0.5]}


def test_a_bin_that_is_one_value_is_called_by_it(make):
    """Half of the columns of a questionnaire are 0 and 1: "up to 0" and "above 0" say less."""
    column, _ = shown(make, make.numbers([0.0] * 30 + [1.0] * 20))
    assert column["labels"] == ["0", "1"]
    column, _ = shown(make, make.numbers([0.0] * 30 + [1.0] * 20 + [2.0] * 15 + [7.0, 8.0] * 6))
    assert column["labels"][:3] == ["0", "1", "2"]
    assert column["labels"][3].startswith("above")
    column, _ = shown(make, make.numbers([0.0] * 30 + [float(n) for n in range(1, 13)]))
    assert column["labels"][0] == "0" and column["labels"][1].startswith("above")
