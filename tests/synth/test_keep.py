"""Kept columns: nothing is drawn, so what is not train's is impossible."""

import numpy as np
import pytest

from understudy.seeds import stream
from understudy.synth.keep import Keep
from understudy.tables.encode import Block

NAMES = ("sex", "age", "income")


def people(make, rows=40):
    both = make.encoded(make.mixed(rows=2 * rows, seed=3, names=NAMES))
    return both.take(slice(0, rows)), both.take(slice(rows, 2 * rows))


def test_the_release_is_train_and_certain(make):
    block, others = people(make)
    fit = Keep().fit(block, NAMES, (), rng=stream(1))
    assert make.same(fit.sample(block, rng=stream(2)), block)
    assert fit.log_prob(block) == 0.0 and not fit.log_density(block).any()
    for other in (others, block.take(slice(None, None, -1)), block.take(slice(0, 39))):
        assert fit.log_prob(other) == -np.inf


def test_another_number_in_the_same_cell_is_impossible_too(make):
    block, _ = people(make)
    fit = Keep().fit(block, NAMES, (), rng=stream(1))
    row = int(np.flatnonzero(~np.isnan(block.values["income"]))[0])
    values = {**block.values, "income": block.values["income"].copy()}
    values["income"][row] += 1e-6
    assert fit.log_prob(Block(block.encoding, 40, block.codes, values)) == -np.inf


@pytest.mark.parametrize("record", [0, 13, 39])
def test_swap_is_a_refit(make, record):
    """log p(Z | T') − log p(Z | T), with the record replaced and the model fitted again."""
    block, others = people(make)
    fit = Keep().fit(block, NAMES, (), rng=stream(1))
    same = block.take(np.array([record]))
    lost = block.take(np.flatnonzero(np.isnan(block.values["age"]))[:2])
    for candidates in (others, same, lost):
        slow = [
            Keep().fit(make.replaced(block, record, candidates, k), NAMES, (), rng=stream(1))
            for k in range(candidates.rows)
        ]
        truth = [[one.log_prob(block) for one in slow]] * 2
        np.testing.assert_array_equal(fit.swap(record, candidates, [block, block]), truth)


def test_a_missing_value_equals_a_missing_value(make):
    block, _ = people(make)
    fit = Keep().fit(block, NAMES, (), rng=stream(1))
    record = int(np.flatnonzero(np.isnan(block.values["age"]))[0])
    assert fit.swap(record, block.take(np.array([record])), [block]).tolist() == [[0.0]]
