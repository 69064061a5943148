"""People with several rows: what is drawn is people, and its density is what it says."""

from dataclasses import replace
from itertools import pairwise, product
from math import lgamma

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import PlanError, ProtectionError
from understudy.plans.panel import synthesizer
from understudy.plans.plan import Plan
from understudy.study.people import Sides, encode_sides, find_people
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.wide import find_wide
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table


def block_of(table):
    """All rows of a table, in the order of its people."""
    people = find_people(table, "id")
    rows = people.order
    table = table.take(rows)
    own = table.drop(["id"])
    person = people.person[rows]
    encoding = fit_encoding(own, person=person)
    return replace(encoding.encode(own), person=person)


def engine(block, plan="synthesis.min_leaf = 20"):
    plan = plan if isinstance(plan, Plan) else Plan.from_toml(plan)
    visits = plan.visits_for(block.encoding, leaf=20)
    rules = parse_rules(plan.rules, block.encoding, block, "rules")
    return synthesizer(plan, block, visits, rules)


def drawn(block, plan="synthesis.min_leaf = 20", rows=None, seed=1):
    fitted = engine(block, plan).fit(block, seed=seed)
    return fitted.sample(rows or block.rows, seed=seed, replicate=1)


def rows_of(block):
    return np.bincount(np.unique(block.person, return_inverse=True)[1])


def lags(block, name):
    """Values of later rows beside those of the row before."""
    same = block.person[1:] == block.person[:-1]
    return block.values[name][1:][same], block.values[name][:-1][same]


@pytest.fixture(scope="module")
def train(panel):
    return block_of(panel(1500))


@pytest.fixture(scope="module")
def synthetic(train):
    return drawn(train).block


def test_what_never_changes_is_found(train):
    wide = find_wide(train)
    assert wide.constant == ("sex", "birth")
    assert wide.changing == ("score", "ill")
    assert wide.time == "day"
    assert wide.rows_per_person == train.rows / 1500


def test_a_column_that_changes_in_one_person_changes(train):
    codes = {**train.codes, "sex": train.codes["sex"].copy()}
    spot = int(np.flatnonzero(train.person == 1)[5])
    codes["sex"][spot] = 1 - codes["sex"][spot]
    assert find_wide(replace(train, codes=codes)).constant == ("birth",)


def test_as_many_people_as_were_asked_for(train, synthetic):
    assert synthetic.people == 1500
    assert drawn(train, rows=3 * train.rows).block.people == 4500


def test_numbers_of_rows_are_those_of_train(train, synthetic):
    ours, theirs = rows_of(synthetic), rows_of(train)
    grid = np.arange(1, 301)
    gap = np.abs(
        np.searchsorted(np.sort(ours), grid, "right")
        - np.searchsorted(np.sort(theirs), grid, "right")
    ).max()
    # Kolmogorov–Smirnov of two samples of 1,500 (drawn weights make it √1.5 times as far): beyond
    # 0.08 once in 10,000.
    assert gap / 1500 < 0.08
    assert ours.min() == 1
    assert ours.max() <= 300


def test_what_never_changes_never_changes(synthetic):
    for name in ("sex", "birth"):
        pairs = np.unique(np.stack([synthetic.person, synthetic.codes[name]]), axis=1)
        assert pairs.shape[1] == synthetic.people
    assert len(np.unique(synthetic.values["birth"][np.diff(synthetic.person, prepend=-1) > 0])) > 40


def test_rows_of_a_person_stand_together_and_times_go_up(synthetic):
    assert (np.diff(synthetic.person) >= 0).all()
    now, past = lags(synthetic, "day")
    assert (now > past).all()


def test_what_follows_from_the_row_before_still_does(train, synthetic):
    ours, theirs = (np.corrcoef(*lags(block, "score"))[0, 1] for block in (synthetic, train))
    # About 6,000 pairs: a correlation of 0.8 is known to 0.005; leaves of 20 blur it by as much.
    assert theirs == pytest.approx(0.8, abs=0.03)
    assert ours == pytest.approx(theirs, abs=0.03)


def test_gaps_are_those_of_train(train, synthetic):
    (now, past), (theirs, before) = lags(synthetic, "day"), lags(train, "day")
    ours, gap = np.sort(now - past), np.sort(theirs - before)
    quantiles = [0.1, 0.25, 0.5, 0.75, 0.9]
    # Uniform on 1 to 89 days: a quantile of 6,000 is known to 0.6 days, and to 0.9 for drawn ones.
    assert np.quantile(ours, quantiles) == pytest.approx(np.quantile(gap, quantiles), abs=5)


def test_what_goes_with_a_constant_still_does(train, synthetic):
    def gap(block):
        first = np.diff(block.person, prepend=-1) > 0
        score, male = block.values["score"][first], block.codes["sex"][first] == 1
        return score[male].mean() - score[~male].mean()

    # 4 points on 15; the difference of 900 and 600 people is known to 0.8, drawn people double it.
    assert gap(synthetic) == pytest.approx(gap(train), abs=4.5)


def test_without_lags_what_follows_is_lost(train):
    plan = """
        [[visits]]
        model = "marginal"
        columns = ["score"]
    """
    now, past = lags(drawn(train, plan).block, "score")
    assert abs(np.corrcoef(now, past)[0, 1]) < 0.06


def test_a_visit_looks_at_the_row_before_of_what_it_may_look_at(train):
    plan = """
        [[visits]]
        model = "cart"
        columns = ["ill"]
        given = ["sex"]
        [[visits]]
        model = "cart"
        columns = ["score"]
        without = ["ill"]
    """
    steps = {v.columns[0]: v.given for v in engine(train, plan).later.visits}
    assert steps["ill"] == ("(rows)", "(row)", "(gap)", "sex", "(before) ill")
    assert not {"ill", "(before) ill"} & set(steps["score"])
    assert {"(before) score", "(before) day", "birth"} <= set(steps["score"])


def test_made_columns_get_names_that_no_column_has(make):
    table = make.levels(**{"(rows)": list("aabb"), "x": list("abab"), "(before) x": list("aaba")})
    block = replace(make.encoded(table), person=np.array([0, 0, 1, 1]))
    wide = find_wide(block)
    assert wide.count == "(rows)'"
    assert wide.before["x"] == "(before) x'"


def sequences(values, longest):
    return [s for length in range(1, longest + 1) for s in product(values, repeat=length)]


def tiny_table(records):
    """``records``: (sex, sequence of x) by person."""
    rows = [(f"p{k}", sex, x) for k, (sex, xs) in enumerate(records) for x in xs]
    names = ("id", "sex", "x")
    data = pa.table({name: pa.array([row[k] for row in rows]) for k, name in enumerate(names)})
    roles = (Role.GROUP, Role.OTHER, Role.OTHER)
    columns = [Column(n, Kind.CATEGORY, role) for n, role in zip(names, roles, strict=True)]
    return Table(data, Schema(tuple(columns)))


def tiny(records):
    return block_of(tiny_table(records))


@pytest.mark.parametrize("model", ["cart", "marginal", "boosted"])
def test_densities_of_all_people_that_there_can_be_add_up_to_one(model):
    rng = np.random.default_rng(5)
    kinds = [(sex, xs) for sex in "fm" for xs in sequences("ab", 3)]
    train = [kinds[k] for k in rng.integers(0, len(kinds), 150)]
    block = tiny([*kinds, *train])
    settings = "min_leaf = 5" if model == "cart" else ""
    fitted = engine(block, f"[synthesis]\nmodel = '{model}'\n{settings}").fit(block, seed=1)
    people = block.take(block.person < len(kinds))
    total = np.bincount(people.person, weights=fitted.log_density(people))
    assert np.exp(total).sum() == pytest.approx(1.0, abs=1e-9)


def test_densities_with_times_that_may_be_missing_add_up_to_one():
    times = [(t,) for t in (0, 1, None)]
    times += [(0, 0), (0, 1), (1, 1), (1, 2), (0, None), (1, None), (None, None)]
    kinds = [(ts, xs) for ts in times for xs in product("ab", repeat=len(ts))]
    rng = np.random.default_rng(8)
    train = [*kinds, *(kinds[k] for k in rng.integers(0, len(kinds), 400))]
    rows = [(f"p{k}", *row) for k, one in enumerate(train) for row in zip(*one, strict=True)]
    columns = {n: pa.array([row[k] for row in rows]) for k, n in enumerate(("id", "t", "x"))}
    id_, x = Column("id", Kind.CATEGORY, Role.GROUP), Column("x", Kind.CATEGORY)
    schema = Schema((id_, Column("t", Kind.NUMBER, Role.TIME, decimals=0), x))
    block = block_of(Table(pa.table(columns), schema))
    fitted = engine(block, "synthesis.min_leaf = 1").fit(block, seed=1)
    people = block.take(block.person < len(kinds))
    total = np.bincount(people.person, weights=fitted.log_density(people))
    assert np.exp(total).sum() == pytest.approx(1.0, abs=1e-9)


def test_densities_are_shares_of_a_chain_counted_by_hand():
    rng = np.random.default_rng(6)
    records = [("f", tuple(rng.choice(["a", "b"], 3, p=[0.7, 0.3]))) for _ in range(60)]
    records += [("f", (x, x, x)) for x in "ab" * 20]
    block = tiny(records)
    plan = "[synthesis]\nmodel = 'cart'\nmin_leaf = 1\nmax_depth = 1"
    fitted = engine(block, plan).fit(block, seed=1)
    first = [xs[0] for _, xs in records]
    steps = [(a, b) for _, xs in records for a, b in pairwise(xs)]
    for person, (_, xs) in enumerate(records[:10]):
        found = fitted.log_density(block)[block.person == person]
        assert found[0] == pytest.approx(np.log(first.count(xs[0]) / len(first)))
        for k in (1, 2):
            share = steps.count((xs[k - 1], xs[k])) / sum(a == xs[k - 1] for a, _ in steps)
            assert found[k] == pytest.approx(np.log(share))


def rising(counts, few):
    """Log Dirichlet-multinomial of drawn counts given donors' counts."""

    def rise(n, z):
        return lgamma(n + z) - lgamma(n)

    return sum(rise(counts[k], z) for k, z in few.items()) - rise(
        sum(counts.values()), sum(few.values())
    )


def tallied(cells):
    return {cell: list(cells).count(cell) for cell in set(cells)}


def test_log_prob_is_that_of_drawn_weights_counted_by_hand():
    rng = np.random.default_rng(7)
    kinds = [(sex, xs) for sex in "fm" for xs in sequences("ab", 3)]
    train = [kinds[k] for k in rng.integers(0, len(kinds), 80)]
    block = tiny(train)
    fitted = engine(block, "synthesis.model = 'marginal'").fit(block, seed=1)
    some = train[3:9]
    expected = sum(
        rising(tallied(all_), tallied(few))
        for all_, few in (
            ([len(xs) for _, xs in train], [len(xs) for _, xs in some]),
            ([sex for sex, _ in train], [sex for sex, _ in some]),
            ([xs[0] for _, xs in train], [xs[0] for _, xs in some]),
            ([x for _, xs in train for x in xs[1:]], [x for _, xs in some for x in xs[1:]]),
        )
    )
    # Numbers of rows that fewer than ten share are one cell: here all three are shared by more.
    assert min(tallied([len(xs) for _, xs in train]).values()) >= 10
    people = block.take((block.person >= 3) & (block.person < 9))
    assert fitted.log_prob(people) == pytest.approx(expected)


def test_weights_are_drawn_once_for_all_rows_of_a_replicate():
    # Two later donors, a and b. A person's two later rows are both a with 1·2/(2·3) = 1/3 if their
    # weights are the same, with 1/4 if they were drawn anew. 3,000 replicates know it to 0.0086: 4
    # of these fail once in 16,000, and 1/4 is 10 away.
    block = tiny([("f", ("a", "a", "b"))])
    fitted = engine(block, "synthesis.model = 'marginal'").fit(block, seed=1)
    hits = 0
    for replicate in range(1, 3001):
        one = fitted.sample(3, seed=2, replicate=replicate).block
        hits += (one.codes["x"] == 0).all()
    assert hits / 3000 == pytest.approx(1 / 3, abs=0.035)


def test_a_replicate_in_which_the_constant_changes_is_impossible():
    block = tiny([("f", ("a", "b")), ("m", ("a", "a")), ("m", ("b", "a"))] * 5)
    fitted = engine(block, "synthesis.model = 'marginal'").fit(block, seed=1)
    codes = {**block.codes, "sex": block.codes["sex"].copy()}
    codes["sex"][0] = 1 - codes["sex"][0]
    assert np.isfinite(fitted.log_prob(block))
    assert fitted.log_prob(replace(block, codes=codes)) == -np.inf


def test_a_swap_of_one_row_is_not_a_number(train):
    fitted = engine(train).fit(train, seed=1)
    found = fitted.swap(0, train.take(slice(0, 4)), [train, train])
    assert found.shape == (2, 4)
    assert np.isnan(found).all()
    with pytest.raises(ProtectionError, match="several rows"):
        fitted.near(train.take(slice(0, 1)), 5, ["score"], seed=1)
    with pytest.raises(ProtectionError, match="several rows"):
        fitted.complete(train, ["sex"], seed=1)


def test_rules_hold_in_every_row(train):
    plan = """
        synthesis.min_leaf = 20
        [[rules]]
        kind = "if"
        when = { column = "sex", in = ["m"] }
        then = { column = "score", at_least = 90.0 }
    """
    found = drawn(train, plan)
    assert found.counts["unresolved"] == 0
    male = found.block.codes["sex"] == train.encoding["sex"].levels.index("m")
    assert found.block.values["score"][male].min() >= 90
    assert found.block.values["score"][~male].min() < 90


def test_times_that_are_missing_come_last_and_stay_missing(panel):
    table = panel(300)
    day = table.column("day").to_numpy(zero_copy_only=False).copy()
    gone = np.random.default_rng(2).random(table.rows) < 0.2
    arrays = {n: table.column(n) for n in table.names}
    arrays["day"] = pa.array(day, mask=gone)
    block = block_of(Table(pa.table(arrays), table.schema))
    synthetic = drawn(block).block
    for one in (block, synthetic):
        missing = np.isnan(one.values["day"])
        after = one.person[1:] == one.person[:-1]
        assert not (missing[:-1] & ~missing[1:] & after).any()
        assert missing.mean() == pytest.approx(0.2, abs=0.08)


def test_ties_in_time_keep_the_order_of_the_file_and_are_drawn(panel):
    table = panel(300, shuffled=False)
    day = table.column("day").to_numpy(zero_copy_only=False).astype("datetime64[Y]")
    arrays = {n: table.column(n) for n in table.names}
    arrays["day"] = pa.array(day.astype("datetime64[D]"))
    tied = Table(pa.table(arrays), table.schema)
    people = find_people(tied, "id")
    assert (np.diff(people.order) > 0).all()
    block = block_of(tied)
    (now, past), (ours, before) = lags(block, "day"), lags(drawn(block).block, "day")
    assert (ours >= before).all()
    assert np.mean(ours == before) == pytest.approx(np.mean(now == past), abs=0.05)


def test_without_a_time_the_file_is_the_order(panel):
    table = panel(300, shuffled=False)
    schema = table.schema.update({"day": {"role": "other"}})
    plain = Table(table.data, schema)
    assert (np.diff(find_people(plain, "id").order) > 0).all()
    block = block_of(plain.drop(["day"]))
    assert find_wide(block).time is None
    assert np.corrcoef(*lags(drawn(block).block, "score"))[0, 1] == pytest.approx(0.8, abs=0.08)


def test_a_value_that_one_person_has_many_times_is_not_shared(panel):
    table = panel(200)
    block = block_of(table)
    cells = block.encoding["birth"].cells
    # 200 people over 60 years: hardly a year has ten people, though one person has 300 rows.
    assert (cells.weight.sum(), (cells.low < cells.high).any()) == (200, True)
    rows = fit_encoding(table.drop(["id"]))["birth"].cells
    assert (rows.low == rows.high).sum() > 3 * (cells.low == cells.high).sum()


def test_even_draws_and_strata_that_change_are_refused(train):
    with pytest.raises(PlanError, match="spread"):
        engine(train, "[synthesis]\nmodel = 'cart'\nspread = 10\nmin_leaf = 20")
    with pytest.raises(PlanError, match="never changes in a person"):
        engine(
            train,
            """
            [[visits]]
            model = "cart"
            columns = ["birth"]
            given = []
            strata = "ill"
            min_leaf = 20
        """,
        )


def test_strata_that_never_change_are_models_of_their_own(train):
    plan = """
        [[visits]]
        model = "cart"
        columns = ["score", "ill"]
        strata = "sex"
        min_leaf = 20
    """
    assert np.corrcoef(*lags(drawn(train, plan).block, "score"))[0, 1] > 0.7


def test_the_same_seed_gives_the_same_rows_and_people_alone_do_not_matter(train, make):
    plan = "synthesis.min_leaf = 50"
    assert make.same(drawn(train, plan).block, drawn(train, plan).block)
    assert not make.same(drawn(train, plan).block, drawn(train, plan, seed=2).block)


def test_halves_are_encoded_with_people(train):
    table = encode_sides(train.encoding, train.encoding.decode(train), Sides(
        np.arange(train.rows), None, train.person), 1)[0]  # fmt: skip
    assert table.people == train.people


def test_leaves_hold_people_not_rows_of_one(panel):
    sizes = np.array([300, 250, 200] + [3] * 200)
    block = block_of(panel(203, sizes=sizes))
    fitted = engine(block, "synthesis.min_leaf = 15").fit(block, seed=1)
    later = fitted.settings.wide.lay(block).later
    seen = 0
    for part, rows in ((fitted.later, later), (fitted.gap, later)):
        for fit in part.fitted:
            leaf = fit.leaf_of(rows)
            people = [len(np.unique(later.person[leaf == k])) for k in range(fit.tree.leaves)]
            assert min(people) >= 10
            seen += fit.tree.leaves > 3
    assert seen == 3


@pytest.mark.parametrize(
    "names", [("id", "sex"), ("id", "day"), ("id", "day", "sex"), ("id", "ill")]
)
def test_few_columns_are_enough(panel, names):
    block = block_of(panel(100, longest=9).select(names))
    synthetic = drawn(block).block
    assert synthetic.people == 100
    assert set(synthetic.names) == set(names) - {"id"}


def test_people_of_train_who_all_have_one_row_give_such_people(panel):
    # A person with two rows may be in the holdout alone.
    block = block_of(panel(60, longest=1))
    synthetic = drawn(block).block
    assert synthetic.people == synthetic.rows == 60


@pytest.mark.parametrize(
    "visit",
    ['model = "mixture"\ncolumns = ["birth", "score"]\ncomponents = 2',
     'model = "multinomial"\ncolumns = ["ill"]', 'model = "boosted"\ncolumns = ["score"]',
     'model = "mixture"\ncolumns = ["day"]\ncomponents = 1'],
)  # fmt: skip
def test_other_models_draw_people_too(panel, visit):
    block = block_of(panel(150, longest=12))
    plan = f"synthesis.min_leaf = 20\n[[visits]]\n{visit}"
    fitted = engine(block, plan).fit(block, seed=1)
    synthetic = fitted.sample(block.rows, seed=1, replicate=1).block
    assert find_wide(synthetic).constant == ("sex", "birth")
    now, past = lags(synthetic, "day")
    assert (now > past).all() or "day" in visit
    assert np.isfinite(fitted.log_density(block)).all()
