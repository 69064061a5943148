"""The private ledger, by brute force."""

import numpy as np
import pytest

from understudy.risk.gtcap import Gtcap
from understudy.seeds import stream
from understudy.study.ledger import ledger
from understudy.tables.encode import stack


def rows_of(block):
    """Rows as tuples of values (levels by code)."""
    columns = [block.values.get(name, block.codes[name]) for name in block.names]
    return [tuple(column[i].item() for column in columns) for i in range(block.rows)]


def distance(block, i, other, j):
    total = 0.0
    for name in block.names:
        if name in block.values:
            total += (
                (block.values[name][i] - other.values[name][j]) / block.encoding[name].sd
            ) ** 2
        else:
            total += block.codes[name][i] != other.codes[name][j]
    return total**0.5


def test_every_record_by_brute_force(people):
    world = people("mixed", 30, 16, 70)
    release = [stack([world.draw(20), world.train.take(slice(4))]), world.draw(25)]
    found = ledger(world.evidence(*release), np.arange(30) * 3).to_pydict()
    assert found["row"] == [3 * i for i in range(30)]
    people_, released = rows_of(world.train), rows_of(stack(release))
    quasi = [row[:2] for row in people_]  # sex and age
    pooled = stack(release)
    for i in range(30):
        near = min(distance(world.train, i, pooled, j) for j in range(pooled.rows))
        other = min(distance(world.train, i, world.train, j) for j in range(30) if j != i)
        assert found["nearest_synthetic"][i] == pytest.approx(near, abs=1e-9)
        assert found["nearest_other"][i] == pytest.approx(other, abs=1e-9)
        assert found["exact"][i] == (people_[i] in released)
        assert found["unique"][i] == (people_.count(people_[i]) == 1)
        assert found["unique_quasi"][i] == (quasi.count(quasi[i]) == 1)
    assert sum(found["exact"]) >= 4


def test_no_quasi_identifiers_no_uniques(make):
    from understudy.evidence import Evidence

    block = make.encoded(make.numbers([1.0, 2.0, 2.0, 5.0]))
    found = ledger(Evidence(block, block, block, (block,)), np.arange(4)).to_pydict()
    assert found["unique_quasi"] == [False] * 4
    assert found["unique"] == [True, False, False, True]


def test_nothing_drawn_no_ledger(make):
    from understudy.evidence import Evidence

    table = make.numbers([1.0, 2.0])
    block = make.encoded(table.with_schema(table.schema.update({"x": {"role": "keep"}})))
    assert ledger(Evidence(block, block, block, (block,)), np.arange(2)) is None


def test_what_each_record_gives_away(people):
    """A copied person gives all away; who has company in keys and target has no number."""
    world = people("sensitive", 200, 100, 71)
    release = stack([world.train.take(slice(100)), world.draw(100)])
    settings = Gtcap(radii={"age": 1.5, "pay": 1.0}, targets=("pay",))
    evidence = world.evidence(release)
    known = settings.prepare(evidence, rng=stream(1)).records()
    found = ledger(evidence, np.arange(200), known).column("gtcap")
    given = found.to_pylist()
    near = [
        sum(
            abs(world.train.values["age"][i] - world.train.values["age"][j]) < 1.5
            and world.train.codes["sex"][i] == world.train.codes["sex"][j]
            and abs(world.train.values["pay"][i] - world.train.values["pay"][j]) < 1.0
            for j in range(200)
        )
        for i in range(200)
    ]
    assert [value is not None for value in given] == [count == 1 for count in near]
    copied, others = (
        [value for value in part if value is not None] for part in (given[:100], given[100:])
    )
    assert min(map(len, (copied, others))) > 20 and np.mean(copied) > 3 * np.mean(others)


def test_no_keys_or_targets_no_column(people):
    world = people("mixed", 60, 40, 72)
    evidence = world.evidence(world.draw(60))
    assert Gtcap().prepare(evidence, rng=stream(2)).records() == {}
