"""Listed findings, ratios of pairs and cells: what is picked, written and drawn."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
import report_sample as sample

from understudy.report.answer import uses
from understudy.report.charts_listed import cells as drawn_cells
from understudy.report.charts_listed import picture, ratio_map
from understudy.report.judged import row
from understudy.report.listed import cells, listed, ratios
from understudy.results import Verdict
from understudy.study.crosstabs import crosstabs, shared, worst_pairs
from understudy.study.profile import LEAST, groups_of
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read


def rows():
    items = sample.findings().to_json()["findings"]
    return tuple(row(item, 1) for item in items)


def test_findings_are_written_with_their_verdicts():
    found = listed(sample.estimates(), rows())
    assert found.header == (
        "Finding", "Original (95%)", "Synthetic (95%)", "Held out (95%)", "Ratio (interval)",
        "Verdict",
    )  # fmt: skip
    first, second, third = found.table
    assert first[0] == sample.HOSTILE[0] and first[2] == "20% (18% to 22%)"
    assert first[-1] == "✕ fails" and second[-1] == "? undecided" and third[-2:] == ("–", "–")
    assert second[2] == "40 (36 to 44)" and second[3] == "40.8 (36.7 to 44.9)"
    assert "where" in first[1]
    assert found.says[0].endswith("2 findings.") and "table alone" in found.says[1]


def test_the_first_screen_counts_findings_by_verdict():
    said = {use.title: use for use in uses(rows())}
    use = said["Findings that the plan lists"]
    assert use.state == "fails" and use.sentence.startswith("0 of 2 findings come out again")
    assert "1 are undecided" in use.sentence and f"Off: {sample.HOSTILE[0]}" in use.sentence
    pair = said["Telling rows apart by two columns"]
    assert pair.state == "fails" and "ratio 0.2" in pair.sentence
    none = sample.finding("estimate.ratio", Verdict.NOT_APPLICABLE, target="x", value=sample.NAN)
    assert not uses([row(none.to_json(), 1)])


def test_shares_and_multiples_are_two_pictures():
    shares, others = listed(sample.estimates(), rows()).pictures
    assert shares.names == (sample.HOSTILE[0],) and shares.domain is None
    assert others.names == (f"the mean of {sample.HOSTILE[1]}",)
    assert others.domain == pytest.approx((0.9, 1.1))
    assert {point["table"] for point in shares.points} == {"Original", "Synthetic", "Held out"}
    assert picture(shares)["layer"][0]["encoding"]["x"]["axis"]["format"] == "~%"
    assert picture(others)["layer"][0]["encoding"]["x"]["scale"]["clamp"] is True


def test_nothing_to_show_is_no_section():
    assert listed({}, ()) is None and ratios({}) is None and cells([]) == ()


def test_ratios_show_every_pair_twice_and_the_largest_in_the_list():
    found = ratios(sample.summaries()["pmse_pairs"])
    count = len(sample.HOSTILE)
    assert len(found.points) == count * (count - 1) and found.count == len(found.points) // 2
    assert found.worst[0][2] == "5.5" and found.top == 10 and found.left_out == 0
    assert ratio_map(found)["encoding"]["fillOpacity"]["scale"]["domain"] == [1, 10]
    wide = sample.summaries(tuple(f"c{i}" for i in range(60)))["pmse_pairs"]
    many = ratios(wide | {"of": 9000})
    assert len(many.names) == 40 and many.left_out == 20 and "of 9,000" in many.about


def test_cells_of_both_tables_share_a_scale():
    (found,) = cells([sample.crossed("a", "b"), {**sample.crossed("a", "b"), "cells": []}])
    assert found.top == 0.4 and found.hidden == "10%"
    assert found.table[0] == ("a low", "b low", "40%", "35%")
    for table in ("Original", "Synthetic"):
        drawn = drawn_cells(found, table)
        assert len(drawn["data"]["values"]) == 3
        assert drawn["encoding"]["fillOpacity"]["scale"]["domain"] == [0, 0.4]


def people(seed, size=600):
    rng = np.random.default_rng(seed)
    a = rng.choice(list("pqrstuvwxyz"), size, p=[0.3, 0.2, 0.2, 0.1, 0.05, 0.05, *[0.02] * 5])
    return pa.table(
        {
            "a": a.tolist(),
            "x": (rng.lognormal(0, 1, size) + (a == "p")).round(3),
            "n": [None if i % 7 == 0 else int(k) for i, k in enumerate(rng.poisson(2, size))],
        }
    )


def encoded(*seeds):
    first = read(people(seeds[0]))
    encoding = fit_encoding(first)
    return [encoding.encode(read(people(seed))) for seed in seeds]


def test_crosstabs_against_a_loop():
    train, release = encoded(1, 2)
    for one in crosstabs(train, release, [("a", "x"), ("n", "a"), ("x", "n")]):
        (first, x), (second, y) = (groups_of(train, name, 8) for name in one["columns"])
        assert (one["x"], one["y"]) == (x, y) and max(len(x), len(y)) <= 9
        counts = []
        for block in (train, release):
            both = {}
            for i, j in zip(first[block.codes[one["columns"][0]]],
                            second[block.codes[one["columns"][1]]], strict=True):  # fmt: skip
                if i >= 0 and j >= 0:
                    both[i, j] = both.get((i, j), 0) + 1
            counts.append(both)
        ours, theirs = counts
        for i, j, share, other in one["cells"]:
            assert ours[i, j] >= LEAST
            assert share == pytest.approx(ours[i, j] / sum(ours.values()), abs=1e-5)
            assert other == pytest.approx(theirs.get((i, j), 0) / sum(theirs.values()), abs=1e-5)
        left = 1 - sum(cell[2] for cell in one["cells"])
        assert one["hidden"] == pytest.approx(left, abs=1e-3)


def solutions(counts, shown):
    """Every table of two rows with the same totals and the same cells shown."""
    choices = []
    for j, total in enumerate(counts.sum(0)):
        columns = [(top, total - top) for top in range(total + 1)]
        fixed = [i for i in (0, 1) if shown[i, j]]
        choices.append([c for c in columns if all(c[i] == counts[i, j] for i in fixed)])
    tables = (np.array(columns).T for columns in product(*choices))
    return [table for table in tables if np.array_equal(table.sum(1), counts.sum(1))]


@pytest.mark.parametrize("seed", range(60))
def test_no_small_cell_can_be_worked_out(seed):
    """All tables with the totals, by trying: no hidden cell of one to nine is the same in all.

    But where a line has one cell in all, its total tells it.
    """
    rng = np.random.default_rng(seed)
    counts = rng.poisson(
        rng.choice([0, 4, 12, 15], (2, rng.integers(2, 4)), p=[0.2, 0.3, 0.3, 0.2])
    )
    shown = shared(counts)
    assert np.all(counts[shown] >= LEAST)
    found = solutions(counts, shown)
    assert any(np.array_equal(table, counts) for table in found)
    for i, j in np.argwhere(~shown & (counts > 0)):
        known = len({int(table[i, j]) for table in found}) == 1
        alone = np.count_nonzero(counts[i]) == 1 or np.count_nonzero(counts[:, j]) == 1
        assert alone or not (known and counts[i, j] < LEAST)
    for lines, flags in ((counts, shown), (counts.T, shown.T)):
        for line, flag in zip(lines, flags, strict=True):
            assert not flag.any() or line[~flag].sum() == 0 or line[~flag].sum() >= LEAST


def test_a_cell_between_two_squares_is_not_left_alone():
    """Every line leaves out two cells, and yet one of them follows: it is a bridge."""
    counts = np.array([[9, 9, 40, 40], [9, 9, 4, 40], [40, 40, 9, 9], [40, 40, 9, 9]])
    hidden = ~shared(counts)
    assert np.all(hidden[counts < LEAST]) and np.any(hidden[counts == 40])


def test_the_worst_pairs_are_those_of_the_measure_asked_for():
    pairs = [{"columns": [str(i), "b"], "excess": i, "ratio": -i} for i in range(9)]
    assert worst_pairs({"pmse_pairs": {"pairs": pairs}})[0] == ("8", "b")
    assert len(worst_pairs({"pairs": pairs})) == 6
    assert worst_pairs({}) == []


def test_groups_hold_ten_people_and_are_few():
    (train,) = encoded(3)
    for name in ("a", "x", "n"):
        group, labels = groups_of(train, name, 8)
        of = group[train.codes[name]]
        counts = np.bincount(of[of >= 0], minlength=len(labels))
        assert len(labels) <= 9 and np.all((counts >= LEAST) | (counts == 0))
        assert np.all(of[train.codes[name] == train.encoding[name].missing] == -1)
