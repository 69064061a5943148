"""The application in miniature: rounds whose tables are known, good and bad."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import MissingExtra
from understudy.reproduce import outbreak, run
from understudy.reproduce.closeness import THRESHOLDS, Figure4, Table3, _highest
from understudy.reproduce.disclosure import DELTAS, Figure5, ratios
from understudy.reproduce.item import Bench
from understudy.reproduce.likeness import PAIR, UNTIED, Figure6, scores, untied
from understudy.reproduce.maps import RADII, Figure7, Figure8, clustering
from understudy.reproduce.outbreak import (
    BOUND,
    CAPPED,
    DEATHS,
    DESIGNS,
    HELD,
    TUNED,
    Round,
    Variant,
    coordinates,
    people,
    rounds,
    samples,
)
from understudy.reproduce.peers import Peer
from understudy.reproduce.regressions import Table4, compared
from understudy.tables.encode import fit_encoding, stack
from understudy.tables.read import read

VARIANTS = (*TUNED, *CAPPED)
NAMES = [name for v in TUNED for name in (v.name, v.protected)] + [v.name for v in CAPPED]
SIZE = 500
ROUNDS = 3


@pytest.fixture(scope="module")
def ideal():
    """Rounds in which every table holds other people: the best that anybody could release."""
    table = people()
    made = []
    for number in range(ROUNDS):
        rows = np.random.default_rng(number).permutation(table.rows)[: 12 * SIZE].reshape(12, SIZE)
        train, *parts = (table.take(np.sort(part)) for part in rows)
        encoding = fit_encoding(train)
        held, *blocks = (encoding.encode(part) for part in parts)
        twins = dict(zip([v.name for v in VARIANTS], blocks[6:], strict=True))
        added = {v.protected: 7 for v in TUNED}
        tables = dict(zip(NAMES, blocks, strict=False))
        made.append(Round(encoding.encode(train), held, tables, twins, added))
    return made


def ran(item, made, peers=()):
    """The item's JSON on these rounds, in both designs."""
    bench = Bench(1, peers=peers)
    for design in DESIGNS:
        bench.made["rounds", design, len(made), VARIANTS] = made
    return item(repetitions=len(made)).run(bench).to_json()


def with_table(made, name, change):
    """The same rounds with one table changed, and its twin where it has one."""
    found = []
    for one in made:
        tables, twins = {**one.made, name: change(one, 1)}, dict(one.twins)
        if name in twins:
            twins[name] = change(one, 2)
        found.append(replace(one, made=tables, twins=twins))
    return found


def verdict(result, *words):
    """Verdict of the one claim that contains these words."""
    (found,) = [c for c in result["claims"] if all(word in c["claim"] for word in words)]
    return found["verdict"]


def leaky(one, _):
    """Half of the rows are people of train."""
    other = one.made["CART, prevention"]
    return stack([one.train.take(slice(0, SIZE // 2)), other.take(slice(SIZE // 2, SIZE))])


def copied(one, _):
    return one.train


def shuffled(one, seed):
    """Every column in an order of its own."""
    rng = np.random.default_rng(seed)
    orders = {name: rng.permutation(SIZE) for name in one.train.names}
    codes = {name: codes[orders[name]] for name, codes in one.train.codes.items()}
    values = {name: values[orders[name]] for name, values in one.train.values.items()}
    return replace(one.train, codes=codes, values=values)


def scattered(one, seed):
    """Places anywhere in the box, alike."""
    rng = np.random.default_rng(seed)
    ends = {n: (one.train.values[n].min(), one.train.values[n].max()) for n in outbreak.PLACE}
    return replace(one.train, values={n: rng.uniform(*e, SIZE) for n, e in ends.items()})


def test_overlapping_holdouts_share_rows_with_train_and_disjoint_ones_do_not():
    """With n = 3,361 of 6,712 drawn twice, 1 − (1 − 1/N)^n = 39.4% of a holdout lies in train."""
    count = 6_712
    columns = {
        "longitude": np.arange(count) / 1000, "latitude": np.arange(count) % 97 / 10,
        "sex": np.array(["f", "m"])[np.arange(count) % 2],
        "age": np.array(["20s", "30s"])[np.arange(count) // 2 % 2],
        "outcome": np.array(["deceased", "recovered"])[np.arange(count) // 9 % 2],
    }  # fmt: skip
    table = read(pa.table(columns), schema_changes=outbreak.LOOKS)
    for train, held in samples(table, "overlapping", 3, seed=5):
        assert train.rows == held.rows == 3_361
        inside = np.isin(held.values["longitude"], train.values["longitude"])
        assert inside.mean() == pytest.approx(0.394, abs=0.035)  # four standard deviations
    for train, held in samples(table, "disjoint", 3, seed=5):
        assert train.rows == held.rows == 3_356
        both = np.concatenate([train.values["longitude"], held.values["longitude"]])
        assert len(np.unique(both)) == 6_712
    trains = [train for train, _ in samples(table, "overlapping", 3, seed=5)]
    assert trains[0] is trains[2]


@pytest.fixture(scope="module")
def small():
    """Two real rounds with coarse synthesizers, on every third person."""
    some = people().take(np.arange(0, 6_712, 3))
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(outbreak, "people", lambda: some)
    variants = (Variant("MNL", "mnl", 8, 0.1, 0.1, 0.1), Variant("CART", "cart", 8, 200, 100, 50))
    yield variants, rounds(Bench(3), "disjoint", 2, variants)
    monkeypatch.undo()


def test_rounds_hold_what_was_made(small):
    _, made = small
    assert len(made) == 2 and made[0].train is not made[1].train
    for one in made:
        assert list(one.tables) == [HELD, "MNL", "MNL, prevention", "CART", "CART, prevention"]
        assert list(one.twins) == ["MNL", "CART"]
        for name, count in one.added.items():
            assert one.made[name].rows == one.train.rows + count
        assert not np.array_equal(one.made["CART"].codes["age"], one.twins["CART"].codes["age"])


def test_rounds_do_not_depend_on_workers(small):
    variants, made = small
    with ThreadPoolExecutor(3) as pool:
        (again,) = rounds(Bench(3, pool.map), "disjoint", 1, variants)  # nor on how many there are
    for name, block in made[0].tables.items():
        other = again.tables[name]
        for column, codes in block.codes.items():
            assert np.array_equal(other.codes[column], codes), (name, column)


def largest_ratio(train, rows):
    """By a double loop over the deceased of train and every radius at which one lies."""
    dead = train.encoding["outcome"].levels.index("deceased")
    mine, theirs = (np.column_stack([b.values[n] for n in outbreak.PLACE]) for b in (train, rows))
    scale = np.array([train.encoding[n].sd for n in outbreak.PLACE])
    found = [0.0]
    for j in np.flatnonzero(train.codes["outcome"] == dead):
        alike = (rows.codes["sex"] == train.codes["sex"][j]) & (
            rows.codes["age"] == train.codes["age"][j]
        )
        far = np.sqrt((((theirs[alike] - mine[j]) / scale) ** 2).sum(axis=1))
        same = rows.codes["outcome"][alike] == dead
        found += [same[far <= radius].mean() / DEATHS for radius in far[same]]
    return max(found)


def test_prevention_keeps_every_ratio_below_the_bound(small):
    _, made = small
    before, after = [], []
    for one in made:
        found = ratios(one)
        for name in ("MNL", "CART"):
            before.append(largest_ratio(one.train, one.made[name]))
            after.append(largest_ratio(one.train, one.made[f"{name}, prevention"]))
            if after[-1] > 1.1:  # else the largest is that of somebody who recovered
                assert found[f"{name}, prevention"][-1] == pytest.approx(after[-1])
    assert max(before) > BOUND >= max(after) / (1 + 1e-9) > 1.1


def test_distances_are_standardised_by_train_alone(ideal):
    one = ideal[0]
    mine = coordinates(one.train, one.train)
    assert mine.mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-9)
    assert mine.std(axis=0) == pytest.approx(np.ones(5))
    theirs = coordinates(one.train, one.held)
    age = one.held.codes["age"]
    assert np.corrcoef(theirs[:, 3], age)[0, 1] == pytest.approx(1.0)
    assert abs(theirs.mean()) > 1e-3  # the holdout's own means are not used


def test_other_people_are_not_closer(ideal):
    """Shares have a standard error of 1% here: claims hold or are undecided, never fail."""
    result = ran(Table3, ideal)
    assert all(c["verdict"] != "fails" for c in result["claims"] if "Disjoint" in c["claim"])
    assert result["quick"].startswith(f"{ROUNDS} holdouts")


def test_where_the_holdout_is_at_distance_0_nothing_can_be_closer(ideal):
    """A claim that could not fail is none."""
    made = [replace(one, held=one.train) for one in ideal]
    result = ran(Table3, made)
    assert verdict(result, "Disjoint", "by DCR") == "not-applicable"
    assert verdict(result, "Disjoint", "by NNDR") == "not-applicable"
    assert verdict(ran(Table3, ideal), "Disjoint", "by DCR") != "not-applicable"


def test_people_of_train_are_closer(ideal):
    result = ran(Table3, with_table(ideal, "CART", leaky))
    assert verdict(result, "Disjoint", "by (24) alone") == "fails"
    assert verdict(result, "Disjoint", "under a ceiling") != "fails"  # those tables did not change
    curves = ran(Figure4, with_table(ideal, "MNL", leaky))
    assert verdict(curves, "Disjoint", "by (24) alone") == "fails"


def test_the_largest_excess_over_the_grid_decides():
    held, made = np.zeros((3, len(THRESHOLDS))), np.zeros((3, len(THRESHOLDS)))
    made[:, 7] = [0.2, 0.21, 0.22]
    numbers = [{HELD: h, "MNL": m} for h, m in zip(held, made, strict=True)]
    ((name, cell),) = _highest(numbers, ["MNL"]).items()
    assert name == f"MNL at δ = {THRESHOLDS[7]:.3g}" and cell.ours == pytest.approx(0.21)


def test_tables_of_other_people_are_alike(ideal):
    """pMSE of 500 rows varies by 10%: the ratio of three rounds lies within 0.75 to 1.25."""
    result = ran(Figure6, ideal)
    for row in result["tables"][1]["rows"]:
        assert 0.75 < row["cells"][0]["ours"] < 1.25, row["name"]


def test_shuffled_columns_are_told_apart(ideal):
    result = ran(Figure6, with_table(ideal, "MNL", shuffled))
    assert verdict(result, "tuned ratio is near 1") == "fails"
    ratio = {row["name"]: row["cells"][0]["ours"] for row in result["tables"][1]["rows"]}
    assert ratio["MNL"] > 1.5 > ratio["CART"]


def test_a_copy_is_too_alike(ideal):
    found = scores(with_table(ideal, "MNL", copied)[0])
    assert found["MNL"] == 0.0 and found[PAIR + "CART"] > 0


def test_broken_ties_move_nobody_far(ideal):
    moved = untied(ideal[0].train, 0)
    for axis in outbreak.PLACE:
        gap = np.abs(moved.values[axis] - ideal[0].train.values[axis])
        assert 0 < gap.max() < 1e-6
        assert len(np.unique(moved.values[axis])) == SIZE
    assert scores(ideal[0])[UNTIED] != scores(ideal[0])[HELD]


def test_ratios_of_other_people_are_those_of_a_double_loop(ideal):
    one = ideal[1]
    found = ratios(one)[HELD]
    place = coordinates(one.train, one.train)[:, :2], coordinates(one.train, one.held)[:, :2]
    scale = np.array([one.train.encoding[n].sd for n in outbreak.PLACE])
    scale /= np.array([one.train.values[n].std() for n in outbreak.PLACE])
    worst = np.zeros(len(DELTAS))
    levels = one.train.encoding["outcome"].levels
    prior = np.array([DEATHS if level == "deceased" else 1 - DEATHS for level in levels])
    for j in range(SIZE):
        alike = (one.held.codes["sex"] == one.train.codes["sex"][j]) & (
            one.held.codes["age"] == one.train.codes["age"][j]
        )
        far = np.sqrt((((place[1][alike] - place[0][j]) / scale) ** 2).sum(axis=1))
        own = one.train.codes["outcome"][j]
        same = one.held.codes["outcome"][alike] == own
        for k, delta in enumerate(DELTAS):
            if (far <= delta).any():
                worst[k] = max(worst[k], same[far <= delta].mean() / prior[own])
    assert found[:-1] == pytest.approx(worst)


def test_unbounded_tables_are_said_to_be(ideal):
    result = ran(Figure5, ideal)
    bounded = max(
        float(ratios(one)[v.protected].max()) for one in ideal for v in TUNED
    )  # nothing was prevented here
    assert (verdict(result, "After prevention") == "holds") == (bounded <= BOUND)
    assert verdict(result, "adds less than 300 rows") == "holds"


def test_curves_of_places_are_those_of_all_pairs(ideal):
    one = ideal[0]
    found = clustering(one)
    raw = np.column_stack([one.held.values[n] for n in outbreak.PLACE])
    middle = np.column_stack([one.train.values[n] for n in outbreak.PLACE])
    # Kilometres of a degree at the middle latitude, on a ball of 6,371 km.
    per = np.pi / 180 * 6371.0088
    east = per * np.cos(np.radians((middle[:, 1].min() + middle[:, 1].max()) / 2))
    points, train = raw * [east, per], middle * [east, per]
    area = np.prod(train.max(axis=0) - train.min(axis=0))
    far = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.fill_diagonal(far, np.inf)
    k = np.array([(far <= h).sum() for h in RADII]) * area / SIZE**2
    assert found[HELD][0] == pytest.approx(np.sqrt(k / np.pi), rel=0.01)


def test_scattered_places_are_not_as_clustered(ideal):
    changed = with_table(ideal, "MNL", scattered)
    curves = ran(Figure7, changed)
    assert verdict(curves, "as clustered as") == "fails"
    assert verdict(curves, "places cluster") == "fails"
    assert verdict(ran(Figure8, changed), "tree tells") == "fails"
    assert verdict(ran(Figure8, ideal), "tree tells") != "fails"


def test_coefficients_are_those_of_statsmodels(ideal):
    models = pytest.importorskip("statsmodels.api")
    one = ideal[2]

    def fitted(block):
        x = coordinates(one.train, block)
        dead = block.codes["outcome"] == one.train.encoding["outcome"].levels.index("deceased")
        design = [
            np.ones(SIZE),
            x[:, 1],
            x[:, 0],
            x[:, 3],
            x[:, 2],
            x[:, 0] * x[:, 1],
            x[:, 2] * x[:, 3],
        ]
        return models.Logit(dead.astype(float), np.column_stack(design)).fit(disp=0)

    own, other = fitted(one.train), fitted(one.held)
    found = compared(one)[HELD]
    gap = np.abs(own.params - other.params) / own.bse
    assert found[0] == pytest.approx(np.minimum(gap, 100), rel=1e-3)


def test_a_missing_library_is_said_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setattr("understudy.reproduce.regressions.available", lambda: False)
    with pytest.raises(MissingExtra, match=r"table4 needs statsmodels.*understudy\[regression\]"):
        next(run.reproduce("bale-quick", out=tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_regression_of_train_itself_is_perfect(ideal):
    pytest.importorskip("statsmodels")
    result = ran(Table4, with_table(ideal, "CART", copied))
    row = next(r for r in result["tables"][0]["rows"] if r["name"] == "CART")
    assert [cell["ours"] for cell in row["cells"]] == [0.0, 1.0]
    held = next(r for r in result["tables"][0]["rows"] if r["name"] == HELD)
    assert held["cells"][0]["ours"] > 0.2 and held["cells"][1]["ours"] < 1


THEM = (Peer("MOSTLY AI", Path("nowhere")),)


def beside(made, change=None):
    """The rounds with a peer's tables: other people, or what ``change`` makes of a round."""
    plain = lambda one, which: one.twins["MNL" if which == 1 else "CART"]  # noqa: E731
    found = []
    for one in made:
        first, second = ((change or plain)(one, which) for which in (1, 2))
        twins = {**one.twins, "MOSTLY AI": second}
        found.append(replace(one, made={**one.made, "MOSTLY AI": first}, twins=twins))
    return found


def without(result, word):
    """Claims that do not name the peer: words, verdicts and evidence."""
    return [claim for claim in result["claims"] if word not in claim["claim"]]


@pytest.mark.parametrize(
    "item, printed",
    [(Table3, 0.0265), (Figure4, None), (Figure5, None), (Figure6, 1.25), (Figure7, None),
     (Figure8, None), (Table4, 2.13)],
)  # fmt: skip
def test_a_peer_stands_beside_ours_and_changes_no_claim_about_us(ideal, item, printed):
    with_it, alone = ran(item, beside(ideal), THEM), ran(item, ideal)
    assert without(with_it, "MOSTLY AI") == alone["claims"]
    shown = str(with_it["tables"]) + str([p["title"] for p in with_it["pictures"]])
    shown += str([s["name"] for p in with_it["pictures"] for s in p["series"]])
    assert "MOSTLY AI" in shown
    assert any(note.startswith("MOSTLY AI: ") for note in with_it["notes"])
    assert any("is skipped" in note for note in alone["notes"])
    if printed is not None:  # beside the paper's number, in the paper's design alone
        rows = [r for table in with_it["tables"] for r in table["rows"] if r["name"] == "MOSTLY AI"]
        theirs = [[cell["theirs"] for cell in row["cells"]] for row in rows]
        assert printed in theirs[0] and set(theirs[1]) == {None}


def test_a_peer_that_leaks_fails_its_own_claim(ideal):
    made = beside(ideal, leaky)
    result = ran(Table3, made, THEM)
    assert verdict(result, "Disjoint", "made by MOSTLY AI", "nearer") == "fails"
    assert verdict(result, "Disjoint", "by (24) alone") != "fails"
    assert verdict(ran(Figure4, made, THEM), "Disjoint", "made by MOSTLY AI") == "fails"


def test_a_peer_that_is_far_off_is_said_to_be(ideal):
    assert verdict(ran(Figure6, beside(ideal, shuffled), THEM), "MOSTLY AI's ratio") == "holds"
    assert verdict(ran(Figure7, beside(ideal, scattered), THEM), "less clustered") == "holds"
