"""What the distance filter does to a table: redraws, receipts, refusals, aggregates."""

import json

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.errors import PlanError, ProtectionError
from understudy.plans.plan import Gates, Plan
from understudy.protect import DistanceFilter, filter_columns
from understudy.protect.filter_view import LEAST, _counted
from understudy.study.maker import Maker
from understudy.synth.cart import Cart
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read

ROWS = 300


def columns(rng, rows=ROWS):
    age = rng.normal(40, 12, rows)
    return {
        "age": np.round(age),
        "height": np.round(rng.normal(170, 9, rows), 1),
        "weight": np.round(age / 4 + rng.normal(65, 9, rows), 1),
        "town": rng.choice(list("pqrs"), rows),
        "ill": rng.choice(["no", "yes"], rows, p=[0.8, 0.2]),
    }


def made(data, seed, roles=("age", "height", "weight")):
    """Train, and a synthesizer of trees with small leaves."""
    changes = {name: {"role": "quasi" if name in roles else "other"} for name in data}
    table = read(pa.table(data), schema_changes=changes)
    train = fit_encoding(table).encode(table)
    names = train.names
    visits = [Visit(Cart(min_leaf=10), (n,), names[:i]) for i, n in enumerate(names)]
    return train, Maker(Sequential(tuple(visits)).fit(train, seed=seed))


@pytest.fixture
def people(seed):
    return made(columns(np.random.default_rng(seed)), seed)


def applied(people, rows=ROWS, seed=1, **settings):
    train, maker = people
    step = DistanceFilter.from_settings("protections[0]", settings)
    replicate = maker.sample(rows, seed=5)
    found, receipt = step.apply(replicate, train, maker, rng=np.random.default_rng(seed))
    return step.comparison(train), replicate, found, receipt


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"columns": "all"},
        {"columns": ["age", "town"], "missing": "paper"},
        {"columns": "all", "metric": "typed"},
        {"columns": ["town"]},
    ],
)
def test_the_table_is_full_and_no_row_is_too_near(people, settings):
    comparison, replicate, found, receipt = applied(people, **settings)
    bad = comparison.too_near(replicate)
    assert receipt.dropped == bad.sum() and receipt.left == receipt.added == 0
    assert found.rows == replicate.rows and not comparison.too_near(found).any()
    if bad.any():
        assert receipt.redrawn >= receipt.dropped and receipt.rounds >= 1


def test_rows_that_stay_stay_where_they_are(people):
    comparison, replicate, found, _ = applied(people)
    good = np.flatnonzero(~comparison.too_near(replicate))
    assert 0 < len(good) < ROWS
    for name in found.names:
        assert np.array_equal(found.codes[name][good], replicate.codes[name][good])


def test_the_order_of_rows_says_nothing(seed):
    """Rows that were put in are spread over the table like those that stayed.

    The mean place of the redrawn rows is normal about the middle: more than 4 standard errors off
    happens once in 16,000.
    """
    people = made(columns(np.random.default_rng(seed)), seed)
    comparison, replicate, found, _ = applied(people)
    changed = np.flatnonzero(comparison.too_near(replicate))
    off = changed.mean() - (ROWS - 1) / 2
    assert abs(off) < 4 * ROWS / np.sqrt(12 * len(changed))
    assert any(not np.array_equal(found.values[n], replicate.values[n]) for n in found.values)


def test_a_copy_of_train_is_taken_out_and_a_twin_is_not(people):
    train, _ = people
    comparison = DistanceFilter(columns="all").comparison(train)
    assert comparison.too_near(train).all()
    data = columns(np.random.default_rng(4), 100)
    twice = {name: np.concatenate([values, values]) for name, values in data.items()}
    train, _ = made(twice, 1)
    assert not DistanceFilter(columns="all").comparison(train).too_near(train).any()


def test_columns_behind_a_singular_matrix_are_named(seed):
    data = columns(np.random.default_rng(seed))
    data["metres"] = data["height"] / 100
    data["sum"] = data["age"] + data["weight"] + np.random.default_rng(1).normal(0, 1e-4, ROWS)
    data["same"] = np.full(ROWS, 7.0)
    data["gone"] = pa.nulls(ROWS, pa.float64())
    data["village"] = data["town"]
    people = made(data, seed, roles=data)
    comparison, _, _, receipt = applied(people)
    assert comparison.left_out == {
        "same": "constant",
        "gone": "all missing",
        "metres": "it follows from height",
        "sum": "it follows from age, weight",
        "village": "it follows from town",
    }
    assert comparison.columns == ("age", "height", "weight", "town", "ill")
    assert "metres: it follows from height" in receipt.note
    assert 1 < receipt.numbers["condition number"] < 1e3
    without = made({n: data[n] for n in comparison.columns}, seed, roles=comparison.columns)
    drawn = people[1].sample(ROWS, seed=9)
    table = without[0].encoding.encode(people[0].encoding.decode(drawn))
    plain = DistanceFilter().comparison(without[0]).too_near(table)
    assert np.array_equal(comparison.too_near(drawn), plain)


def test_a_looser_bound_leaves_out_more(seed):
    data = columns(np.random.default_rng(seed))
    data["weight"] = data["age"] + np.random.default_rng(1).normal(0, 1.0, ROWS)
    people = made(data, seed)
    assert DistanceFilter().comparison(people[0]).left_out == {}
    loose = DistanceFilter(collinear=0.05).comparison(people[0])
    assert loose.left_out == {"weight": "it follows from age"}


def test_nothing_to_compare_is_said(seed):
    people = made(columns(np.random.default_rng(seed)), seed, roles=())
    _, replicate, found, receipt = applied(people)
    assert found is replicate and receipt.note == "no column has the role quasi or location"
    data = {"a": np.ones(60), "b": ["x", "y"] * 30}
    people = made(data, seed, roles=("a",))
    _, replicate, found, receipt = applied(people, rows=60)
    assert found is replicate and receipt.note == "no column varies: a: constant"


def test_all_that_is_drawn_is_too_near(seed):
    """People in two far places with nobody between: a tree hands their own places out."""
    rng = np.random.default_rng(seed)
    data = {"a": np.arange(60.0) ** 3, "b": rng.choice(["x", "y"], 60)}
    train, _ = made(data, seed, roles=("a",))

    class Copier:
        def sample(self, rows, *, seed):
            return train.take(np.random.default_rng(seed).integers(0, 60, rows))

    step = DistanceFilter(rounds=3)
    with pytest.raises(ProtectionError, match=r"3 rounds and 300 rows drawn, 60 of 60 rows"):
        step.apply(train, train, Copier(), rng=np.random.default_rng(1))


def test_one_person_has_no_neighbour(people):
    train, maker = people
    alone = DistanceFilter(columns=["age"])
    with pytest.raises(ProtectionError, match="train has fewer than two rows"):
        alone.apply(train, train.take(slice(0, 1)), maker, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": ["nowhere"]}, r"columns: got 'nowhere', expected some of age"),
        ({"columns": "most"}, r"columns: got 'most'"),
        ({"columns": []}, r"columns: got \(\)"),
        ({"metric": "euclid"}, r"metric: got 'euclid', expected one of mahalanobis"),
        ({"missing": "best"}, r"missing: got 'best', expected one of exact, paper"),
        ({"collinear": 0.0}, r"collinear: got 0.0"),
        ({"rounds": 0}, r"rounds: got 0"),
        ({"metric": "jaccard", "columns": ["ill", "age"]}, r"columns: got 'age', expected columns"),
    ],
)
def test_mistakes_are_named(settings, message):
    data = columns(np.random.default_rng(1), 120)
    entry = {"do": "distance-filter", **settings}
    plan = Plan(protections=(entry,), settings={"min_leaf": 20}, min_rows=50)
    with pytest.raises(PlanError, match=message):
        api.synthesize(pa.table(data), plan, seed=1)


def test_kept_columns_cannot_be_redrawn():
    plan = Plan(
        columns={"town": {"role": "keep"}},
        protections=({"do": "distance-filter"},),
        settings={"min_leaf": 20},
    )
    with pytest.raises(PlanError, match="since columns are kept"):
        api.synthesize(pa.table(columns(np.random.default_rng(1), 120)), plan, seed=1)


def test_jaccard_takes_the_last_word_for_presence(seed):
    rng = np.random.default_rng(seed)
    data = {
        "ill": rng.choice(["no", "yes"], 80, p=[0.2, 0.8]),
        "smokes": rng.integers(0, 2, 80),
        "always": np.ones(80),
    }
    people = made(data, seed, roles=data)
    comparison, _, _, receipt = applied(people, rows=80, metric="jaccard")
    assert comparison.columns == ("ill", "smokes")
    assert comparison.left_out == {"always": "constant"}
    # All four kinds of people have twins: nothing is nearer.
    assert receipt.dropped == 0 and receipt.note.startswith("jaccard distance on ill, smokes")


def test_presence_is_what_sorts_last(seed):
    """The commoner "yes", the larger number; unknown words and gaps could be either."""
    data = {"ill": ["yes"] * 40 + ["no"] * 20, "smokes": [1] * 15 + [2] * 45}
    train, _ = made(data, seed, roles=data)
    ones = {name: filter_columns._presence(train, name) for name in data}
    table = read(pa.table({"ill": ["no", "yes", "maybe", None], "smokes": [2, 1, 1, None]}))
    marks = filter_columns._marks(train.encoding.encode(table), ones)
    assert np.array_equal(marks, [[0, 1], [1, 0], [np.nan, 0], [np.nan] * 2], equal_nan=True)


def test_a_nominal_column_can_be_its_levels_and_nothing_else(seed):
    data = {"town": ["p"] * 30 + ["q"] * 20 + ["r"] * 10, "x": [k % 30 / 4 for k in range(60)]}
    train, _ = made(data, seed, roles=data)
    space = DistanceFilter().comparison(train).space
    assert [(term.name, term.level) for term in space.terms] == [
        ("town", 1),
        ("town", 2),
        ("x", None),
    ]
    rows = space.of(train)
    levels = filter_columns._values(rows[:, :2])
    assert sorted(map(tuple, levels)) == sorted({tuple(row) for row in rows[:, :2]})
    ends = filter_columns._values(rows[:, 2:])
    assert ends.ravel().tolist() == [rows[:, 2].min(), rows[:, 2].max()]
    table = read(pa.table({"town": ["z", None, "p"], "x": [1.25, None, 2.5]}))
    gaps = np.isnan(space.of(train.encoding.encode(table)))
    assert gaps.tolist() == [[True, True, False], [True] * 3, [False] * 3]


def test_receipts_show_the_pull_towards_outliers(seed):
    """The paper's null durations: an anomalous value makes a row far from everybody."""
    rng = np.random.default_rng(seed)
    data = columns(rng)
    data["age"][:12] = 0.0
    people = made(data, seed)
    _, replicate, found, receipt = applied(people, columns="all")
    entry = next(one for one in receipt.summary["columns"] if one["name"] == "age")
    assert receipt.numbers["shift of age"] == entry["shift"]
    sd = people[0].encoding["age"].sd
    want = (found.values["age"].mean() - replicate.values["age"].mean()) / sd
    assert entry["shift"] == pytest.approx(want, abs=1e-4)
    ratio = found.values["age"].std() / replicate.values["age"].std()
    assert entry["spread"] == pytest.approx(ratio, abs=1e-4)
    low, high = np.quantile(replicate.values["age"], [0.01, 0.99])
    beyond = (found.values["age"] < low) | (found.values["age"] > high)
    assert entry["outlying"][1] == pytest.approx(beyond.mean(), abs=1e-4)
    town = next(one for one in receipt.summary["columns"] if one["name"] == "town")
    shares = [np.bincount(b.codes["town"], minlength=4)[:4] / ROWS for b in (replicate, found)]
    assert town["shift"] == pytest.approx(abs(shares[0] - shares[1]).sum() / 2, abs=1e-4)
    assert receipt.to_json()["shift of town"] == town["shift"]
    assert "summary" not in receipt.to_json()


def test_the_projection_is_of_all_rows_in_company(people):
    comparison, replicate, _, receipt = applied(people, columns="all")
    seen = receipt.summary["projection"]
    bad = int(comparison.too_near(replicate).sum())
    totals = {"original": ROWS, "kept": ROWS - bad, "dropped": bad, "released": ROWS}
    for kind, total in totals.items():
        cells, rest = seen["counts"][kind], seen["elsewhere"][kind]
        assert sum(count for *_, count in cells) + rest == total
        assert all(count >= LEAST for *_, count in cells) and (rest == 0 or rest >= LEAST)
    # The grid is where an ordinary principal component analysis of the correlations puts people.
    rows = np.stack([term.of(people[0]) for term in comparison.space.terms], axis=1)
    scores = (rows - rows.mean(axis=0)) @ np.linalg.svd(rows - rows.mean(axis=0))[2][:2].T
    scores /= scores.std(axis=0)
    edges = np.array(seen["edges"])
    best = 0
    for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
        place = np.searchsorted(edges, scores * signs, side="right")
        counts = {tuple(p): int((place == p).all(axis=1).sum()) for p in np.unique(place, axis=0)}
        best = max(best, sum(counts.get((a, b)) == n for a, b, n in seen["counts"]["original"]))
    assert best >= len(seen["counts"]["original"]) - 2
    json.dumps(receipt.summary)


def test_cells_that_few_rows_share_get_company():
    """Three rows alone would show where they are: the twelve nearest in number join them."""
    places = [[0.1, 0.1]] * 50 + [[1.1, 0.1]] * 12 + [[2.1, 2.1]] * 3
    cells, rest = _counted(np.array(places))
    assert [count for *_, count in cells] == [50] and rest == 15
    cells, rest = _counted(np.array(places[:62]))
    assert [count for *_, count in cells] == [50, 12] and rest == 0


def test_no_correlation_shows_a_person(seed):
    """A level or value that fewer than ten people have is not a row of the matrix."""
    data = columns(np.random.default_rng(seed))
    data["town"][:4] = "z"
    data["rare"] = (np.arange(ROWS) < 9).astype(float)
    people = made(data, seed, roles=data)
    shown = applied(people, columns="all")[3].summary["correlation"]
    assert "town = z" not in shown["terms"] and "rare" not in shown["terms"]
    assert {"age", "height", "ill = yes"} <= set(shown["terms"])
    place = [shown["terms"].index(name) for name in ("age", "weight")]
    want = np.corrcoef(data["age"], data["weight"])[0, 1]
    assert shown["matrix"][place[0]][place[1]] == pytest.approx(want, abs=1e-3)
    assert all(shown["used"])


def test_missing_values_make_it_harder_to_stay(seed):
    """Ages unknown for a fifth: what is known of them is near to everybody's."""
    rng = np.random.default_rng(seed)
    data = columns(rng)
    for name in ("age", "height"):
        data[name] = pa.array(data[name], mask=rng.random(ROWS) < 0.1)
    train, maker = made(data, seed)
    drawn = maker.sample(ROWS, seed=5)
    shares = {
        missing: DistanceFilter(missing=missing).comparison(train).too_near(drawn)
        for missing in ("paper", "exact")
    }
    full = made(columns(np.random.default_rng(seed)), seed)
    whole = DistanceFilter().comparison(full[0]).too_near(full[1].sample(ROWS, seed=5))
    assert whole.mean() + 0.1 < shares["paper"].mean()
    assert shares["paper"].mean() <= shares["exact"].mean() + 0.02


def test_the_walk_shows_what_it_did(seed):
    data = columns(np.random.default_rng(seed))
    plan = Plan(
        columns={"age": {"role": "quasi"}, "height": {"role": "quasi"}},
        protections=({"do": "distance-filter"},),
        settings={"min_leaf": 20},
        replicates=2,
        measures=("copies",),
        gates=Gates(names=("copies",)),
    )
    study = api.synthesize(pa.table(data), plan, seed=seed)
    shown = study.summaries["protections"]
    assert [(one["protection"], one["replicate"]) for one in shown] == [
        ("distance-filter", 1),
        ("distance-filter", 2),
    ]
    assert all({"columns", "correlation", "projection"} <= set(one) for one in shown)
    receipts = [item for item in study.findings.receipts if item["step"] == "protect"]
    assert [item["replicate"] for item in receipts] == [1, 2]
    assert all(item["dropped"] <= item["redrawn"] for item in receipts)
