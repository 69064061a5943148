"""Open-CESP in miniature: splits of the outbreak, and tables that are known to be good or bad."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from understudy.report.reproduced import reproduced
from understudy.reproduce import stage_item
from understudy.reproduce.item import Bench
from understudy.reproduce.prison import ISLAND, LEARNT, LEFT, PRISON, ground
from understudy.reproduce.run import reproduce
from understudy.reproduce.stage_figures import Figure5, Figure14
from understudy.reproduce.stage_item import covers
from understudy.reproduce.stage_tables import (
    Table3,
    Table4,
    attacked,
    likeness,
    rounded,
    scores,
    whole,
)
from understudy.reproduce.stages import BOUND, S1, S2, S3, STAGES, noisy, rounds

SPLITS = 2


@pytest.fixture(autouse=True)
def _without_the_table_of_the_paper(monkeypatch, request):
    if "data" not in request.fixturenames:
        monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)


@pytest.fixture(scope="module")
def made():
    return rounds(Bench(1), ISLAND, SPLITS)


def ran(item, made):
    bench = Bench(1)
    bench.made["stages", ISLAND.name, len(made)] = made
    return item(repetitions=len(made)).run(bench).to_json()


def verdict(result, *words):
    (found,) = [c for c in result["claims"] if all(word in c["claim"] for word in words)]
    return found["verdict"]


def with_stages(made, **tables):
    """The same splits with other tables at some stages."""
    named = {"first": S1, "second": S2, "third": S3}
    return [
        replace(one, made={**one.made, **{named[k]: make(one) for k, make in tables.items()}})
        for one in made
    ]


def test_a_split_has_600_people_and_199_others(made):
    for one in made:
        assert (one.train.rows, one.held.rows) == (LEARNT, LEFT)
        assert {name: block.rows for name, block in one.made.items()} == dict.fromkeys(
            STAGES, LEARNT
        )
        assert one.receipts[S2].dropped > 0 and one.receipts[BOUND].public
    assert not np.array_equal(made[0].train.codes["age"], made[1].train.codes["age"])


def test_splits_do_not_depend_on_workers(made):
    with ThreadPoolExecutor(2) as pool:
        other = rounds(Bench(1, pool.map), ISLAND, SPLITS)
    for one, two in zip(made, other, strict=True):
        for name in STAGES:
            for column in one.train.names:
                mine, theirs = (each.made[name].codes[column] for each in (one, two))
                assert np.array_equal(mine, theirs)


def test_numbers_of_the_paper_do_not_stand_beside_another_table(made):
    for item in (Table3, Table4):
        found = ran(item, made)
        assert "not on this machine" in found["notes"][0]
        assert all(
            c["theirs"] is None for t in found["tables"] for r in t["rows"] for c in r["cells"]
        )
        assert not any("published" in c["claim"] for c in found["claims"])


def test_a_copy_gives_all_away_and_is_alike(made):
    evidence = replace(made[0].evidence(S1), release=(made[0].train,))
    assert scores(ISLAND, evidence).tolist() == [1.0] * len(scores(ISLAND, evidence))
    assert likeness(made[0].train, made[0].train) == 0.0
    # Not 1: people who are alike on half of the columns cannot be told apart by it.
    trees = attacked(ISLAND, made[0].evidence(S1))["linkability"]
    assert attacked(ISLAND, evidence)["linkability"] > trees + 0.2


def test_steps_that_do_nothing_are_seen_not_to(made):
    """S2 and S3 are S1: nothing is lower, nothing is raised, and noise changed nothing."""
    same = with_stages(made, second=lambda one: one.made[S1], third=lambda one: one.made[S1])
    found = ran(Table3, same)
    assert verdict(found, "lowers the mean GTCAP") != "holds"
    assert verdict(found, "costs likeness") != "holds"
    assert verdict(found, "Noise changes the mean GTCAP") == "holds"
    assert verdict(found, "Noise changes the pMSE") == "holds"


def test_a_filter_that_takes_a_copy_away_is_seen(made):
    """S1 is train, S2 people of the holdout's size drawn by trees: all disclosure falls."""
    found = ran(Table3, with_stages(made, first=lambda one: one.train))
    assert verdict(found, "lowers the mean GTCAP") == "holds"
    assert verdict(found, "by linkability less successful") == "holds"
    assert verdict(found, "costs likeness") == "holds"


def test_a_tree_sees_noise_on_whole_numbers_and_rounding_takes_it_away(made):
    block = made[0].made[S2]
    third = noisy(block, ISLAND, np.random.default_rng(3))
    moved = third.values["household_size"] - block.values["household_size"]
    # 600 normal draws: a standard deviation beyond 4 standard errors is 1 seed in 15,000.
    assert abs(moved.std() - 0.1) < 4 * 0.1 / np.sqrt(2 * LEARNT)
    # Half a step is five deviations: 1 of 3 million rounds to a neighbour.
    back = rounded(third, ISLAND).values["household_size"]
    assert np.array_equal(back, block.values["household_size"])
    train = made[0].train
    assert likeness(train, third) > likeness(train, block) + 0.05


def test_findings_of_train_itself_are_close(made):
    found = ran(Table4, with_stages(made, first=lambda one: one.train))
    assert verdict(found, S1, "within") == "holds"
    shifted = with_stages(made, first=lambda one: one.train.take(np.zeros(LEARNT, np.int64)))
    assert verdict(ran(Table4, shifted), S1, "within") != "holds"


def test_a_published_number_lies_in_a_range_or_not():
    values = np.array([0.1, 0.2])
    assert covers("x", {"a": (values, 0.15)}).verdict.value == "holds"
    assert covers("x", {"a": (values, 0.15), "b": (values, 0.21)}).verdict.value == "fails"


def test_the_curve_of_farmers_is_the_simulated_one():
    """Values simulated by an independent program: 0.2525, 0.1645, 0.124 (± 0.005)."""
    found = Figure5().run(Bench(1)).to_json()
    named = {row["name"]: row["cells"][0]["ours"] for row in found["tables"][0]["rows"]}
    assert named["σ = 0.075"] == pytest.approx(0.1645, abs=0.005)
    assert named["σ = 0.1"] == pytest.approx(0.124, abs=0.005)
    (curve,) = [s for s in found["pictures"][0]["series"] if s["name"] == "N = 1,500"]
    assert curve["y"][5] == pytest.approx(0.2525, abs=0.005)
    assert [c["verdict"] for c in found["claims"][:4]] == ["holds"] * 4


def test_tenths_share_out_all_uniques(made):
    found = ran(Figure14, with_stages(made, first=lambda one: one.train))
    for series in found["pictures"][0]["series"]:
        assert sum(series["y"][:-1]) == pytest.approx(1.0)
    above = {row["name"]: row["cells"][0]["ours"] for row in found["tables"][0]["rows"]}
    assert above[S1] == 1.0 > above[S2]


def test_a_page_about_real_people_says_so(made, monkeypatch):
    found = ran(Table4, made)
    assert "are fictional" in reproduced(found)
    page = reproduced({**found, "fictional": False})
    assert "are real" in page and "nothing here is about anybody" not in page
    monkeypatch.setattr(stage_item, "ground", lambda: replace(ISLAND, papers=True))
    item = Table4(repetitions=1)
    assert item.found(Bench(1), []).fictional is False


def test_the_command_writes_a_page(tmp_path):
    ((found, page),) = reproduce("open-cesp", "table4", out=tmp_path, repetitions=1)
    assert (
        page.is_file()
        and found["quick"] == "1 splits instead of 20"
        and found["settings"]["repetitions"] == 1
    )


def test_shares_of_the_whole_table_are_those_of_the_study(data):
    """Counts of people with the diagnosis and a severity of 5 and more, over all people."""
    assert ground() is PRISON
    found = whole(Bench(1), PRISON)
    assert [round(value, 3) for value in found.values()] == [
        0.229,
        0.098,
        0.139,
        0.160,
        0.095,
        0.125,
        0.068,
    ]
