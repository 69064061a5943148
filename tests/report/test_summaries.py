"""Summaries that the report draws: aggregates that ten rows share, and what they mean."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from understudy.evidence import Evidence
from understudy.kernels.propensity_view import logit_scores, tree_scores
from understudy.risk.closeness import Closeness
from understudy.study.profile import LEAST, profile
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.read import read
from understudy.utility.pmse import Pmse

NO = np.zeros((400, 0), np.int32)


def blocks(rng: np.random.Generator, rows: int = 400) -> tuple[Block, Block, Block, Block]:
    """Train, two halves of a holdout, and a release whose second number is shifted."""

    def table(shift: float, size: int) -> pa.Table:
        return pa.table(
            {
                "small": rng.integers(0, 6, size),
                "wide": rng.lognormal(0, 1, size) + shift,
                "level": rng.choice(["a", "b", "c"], size, p=[0.6, 0.38, 0.02]),
            }
        )

    tables = [read(table(s, n)) for s, n in ((0, rows), (0, rows), (0, rows), (3, rows))]
    encoding = fit_encoding(tables[0])
    train, control, fresh, release = (encoding.encode(one) for one in tables)
    return train, control, fresh, release


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    train, control, fresh, release = blocks(np.random.default_rng(1))
    return Evidence(train, control, fresh, (release,))


def test_every_bin_of_a_number_holds_ten_people_and_bins_lie_in_order(evidence: Evidence) -> None:
    for column in profile(evidence.train, evidence.control, evidence.release):
        if column["ends"] is None:
            continue
        people = np.array(column["original"]) * evidence.train.rows
        assert people.min() > LEAST - 0.01
        assert people.sum() == pytest.approx(evidence.train.rows, abs=0.1)
        assert len(column["ends"]) == len(column["labels"]) + 1
        assert np.all(np.diff(column["ends"]) > 0)


def test_bins_hold_ten_people_whatever_the_encoding_keeps() -> None:
    table = read(pa.table({"x": np.repeat(np.arange(60), 4)}))
    train = fit_encoding(table, shared=1).encode(table)
    (column,) = profile(train, None, [train])
    assert min(column["original"]) * train.rows > LEAST - 0.01


def test_the_ends_of_a_column_are_not_shown(evidence: Evidence) -> None:
    (wide,) = [c for c in profile(evidence.train, None, evidence.release) if c["name"] == "wide"]
    value = evidence.train.values["wide"]
    assert wide["ends"][-2] <= np.sort(value)[-LEAST]
    assert wide["ends"][1] >= np.sort(value)[LEAST - 1]
    assert not {float(f"{value.max():.9g}"), float(f"{value.min():.9g}")} & set(wide["ends"])


def test_bins_between_the_tails_are_about_equally_wide(evidence: Evidence) -> None:
    rng = np.random.default_rng(2)
    table = read(pa.table({"x": rng.uniform(0, 1, 5000)}))
    train = fit_encoding(table).encode(table)
    (column,) = profile(train, None, [train])
    inner = np.diff(column["ends"])[1:-1]
    assert inner.max() < 1.5 * inner.min()


def test_matches_over_delta_start_at_equality_and_grow(evidence: Evidence) -> None:
    rng = np.random.default_rng(3)
    found = Closeness().prepare(evidence, rng=rng).summaries(rng=rng)["closeness"]["ims"]
    assert found["grid"][0] == 0
    for line in (found["holdout"], *found["synthetic"]):
        assert np.all(np.diff(line) >= 0)
    assert found["holdout"][-1] == pytest.approx(0.2, abs=0.02)
    copied = evidence.with_release(evidence.train)
    copy = Closeness().prepare(copied, rng=rng).summaries(rng=rng)
    assert copy["closeness"]["ims"]["synthetic"][0][0] == 1.0


def test_propensities_name_the_column_that_differs(evidence: Evidence) -> None:
    found = (
        Pmse()
        .prepare(evidence, rng=np.random.default_rng(4))
        .summaries(rng=np.random.default_rng(4))["propensity"]
    )
    assert found["share"] == 0.5
    assert max(found["used"], key=lambda name: found["used"][name]) == "wide"
    assert sum(found["used"].values()) == pytest.approx(1, abs=0.001)
    for kind in ("logit", "cart"):
        bars = found[kind]
        assert bars["ends"][0] == 0
        assert bars["ends"][-1] == 1
        assert np.all(np.diff(bars["ends"]) > 0)
        assert len(bars["real"]) == len(bars["synthetic"]) == len(bars["ends"]) - 1
        people = 400 * (np.array(bars["real"]) + bars["synthetic"])
        assert people.min() >= 10 - 0.01
        assert sum(bars["real"]) == pytest.approx(1, abs=0.001)


def test_trees_score_rows_that_they_have_not_seen() -> None:
    # Two draws of one process: a tree that scored its own rows would separate them.
    # |difference of means| has SD below 0.02 here: the false-alarm rate is under 1e-4.
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(400, 3)), rng.normal(size=(400, 3))
    scores = tree_scores(x, NO, z, NO, [], rng=rng)
    assert abs(scores.synthetic.mean() - scores.real.mean()) < 0.08
    apart = tree_scores(x, NO, z + 3, NO, [], rng=rng)
    assert apart.synthetic.mean() - apart.real.mean() > 0.8


def test_levels_that_a_half_never_saw_get_its_overall_share() -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 40, (400, 1)).astype(np.int32)
    none = np.zeros((400, 0))
    scores = tree_scores(none, codes, none, codes, [40], rng=rng)
    assert np.isfinite(scores.real).all()


def test_a_copy_has_one_propensity_by_the_logit() -> None:
    x = np.random.default_rng(7).normal(size=(400, 2))
    scores = logit_scores(x, NO, x, NO, [])
    assert np.allclose(np.append(scores.real, scores.synthetic), 0.5)
