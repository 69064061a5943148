"""Balls against a double loop over records and rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels import balls as module
from understudy.kernels.balls import balls, shells


def slow(records, record_cell, rows, row_cell, deltas, weight):
    """Sum of weights within each δ of each record, pair by pair."""
    found = np.zeros((len(records), len(deltas)))
    for i, mine in enumerate(records):
        for j, theirs in enumerate(rows):
            if record_cell[i] != row_cell[j]:
                continue
            total = 0.0
            for a, b in zip(mine, theirs, strict=True):
                one, both = np.isnan(a) or np.isnan(b), np.isnan(a) and np.isnan(b)
                total += 0.0 if both else 1.0 if one else (a - b) ** 2
            found[i] += weight[j] * (np.sqrt(total) <= deltas)
    return found


def numbers(rng, rows, columns):
    values = np.round(rng.normal(size=(rows, columns)), 1)
    values[rng.random(values.shape) < 0.2] = np.nan
    return values


@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 12), st.integers(0, 3))
def test_any_table_gives_what_a_double_loop_gives(seed, n, m, columns):
    rng = np.random.default_rng(seed)
    deltas = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
    records, rows = numbers(rng, n, columns), numbers(rng, m, columns)
    mine, theirs, weight = rng.integers(3, size=n), rng.integers(3, size=m), rng.random(m)
    at = shells(records, mine, rows, theirs, deltas)
    expected = slow(records, mine, rows, theirs, deltas, weight)
    assert np.allclose(balls(at, weight[:, None], len(deltas))[:, :, 0], expected)


@pytest.mark.parametrize("block", [1, 7, 50])
def test_blocks_do_not_matter(monkeypatch, block):
    rng = np.random.default_rng(1)
    arguments = (numbers(rng, 30, 2), rng.integers(2, size=30), numbers(rng, 40, 2),
                 rng.integers(2, size=40), np.array([0.2, 1.0]))  # fmt: skip
    whole = shells(*arguments)
    monkeypatch.setattr(module, "_BLOCK", block)
    assert (shells(*arguments) != whole).nnz == 0
