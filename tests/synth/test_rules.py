import datetime

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import PlanError
from understudy.synth.cart import Cart
from understudy.synth.keep import Keep
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

ROWS = 1000
DAY = datetime.date(2020, 1, 1)


def table(columns):
    schema = []
    for name, values in columns.items():
        array = pa.array(values) if not isinstance(values, pa.Array) else values
        if pa.types.is_temporal(array.type):
            kind = Kind.DATETIME
        else:
            kind = Kind.CATEGORY if pa.types.is_string(array.type) else Kind.NUMBER
        schema.append(Column(name, kind))
    return Table(pa.table(dict(columns)), Schema(tuple(schema)))


def gaps(values, rng, share=0.1):
    return [
        None if hole else value
        for value, hole in zip(values, rng.random(ROWS) < share, strict=True)
    ]


def dates():
    """End ≥ start, both with missing values; end carries the time of day."""
    rng = np.random.default_rng(1)
    start = rng.integers(0, 300, ROWS)
    stay = np.floor(rng.exponential(8, ROWS)).astype(int)
    begin = [DAY + datetime.timedelta(int(s)) for s in start]
    end = [
        datetime.datetime.combine(b, datetime.time()) + datetime.timedelta(hours=24 * int(s) + 1)
        for b, s in zip(begin, stay, strict=True)
    ]
    return table(
        {
            "start": pa.array(gaps(begin, rng), pa.date32()),
            "end": pa.array(gaps(end, rng), pa.timestamp("us")),
        }
    )


def prices():
    """A price is at least its cost, in cents, with many ties; skewed."""
    rng = np.random.default_rng(2)
    cost = np.round(rng.lognormal(3, 1, ROWS), 2)
    price = np.round(cost * (1 + np.where(rng.random(ROWS) < 0.3, 0, rng.random(ROWS))), 2)
    return table({"cost": gaps(cost, rng), "price": gaps(price, rng)})


def giants():
    """Whole numbers beyond 2^53, whose floats are measured from different offsets."""
    rng = np.random.default_rng(3)
    low = [10**17 + int(v) for v in rng.integers(0, 500, ROWS)]
    high = [v + 3 + int(w) for v, w in zip(low, rng.integers(0, 50, ROWS), strict=True)]
    return table({"cost": pa.array(low, pa.int64()), "price": pa.array(high, pa.int64())})


def sums():
    rng = np.random.default_rng(4)
    a = np.round(rng.gamma(2, 10, ROWS), 1)
    b = np.where(rng.random(ROWS) < 0.4, 0.0, np.round(rng.gamma(1, 20, ROWS), 1))
    return table({"a": gaps(a, rng, 0.05), "b": b, "all": np.round(a + b, 1)})


def giant_sums():
    rng = np.random.default_rng(5)
    a = [10**17 + int(v) for v in rng.integers(0, 500, ROWS)]
    b = [int(v) for v in rng.integers(0, 50, ROWS)]
    return table(
        {
            "a": pa.array(a, pa.int64()),
            "b": pa.array(b, pa.int64()),
            "all": pa.array([x + y for x, y in zip(a, b, strict=True)], pa.int64()),
        }
    )


def cities():
    rng = np.random.default_rng(6)
    city = rng.integers(0, 40, ROWS)
    names = [f"city {c}" for c in city]
    regions = [f"region {c // 8}" for c in city]
    return table({"city": gaps(names, rng), "region": gaps(regions, rng)})


def people():
    rng = np.random.default_rng(7)
    age = rng.integers(0, 90, ROWS)
    states = np.array(["married", "single", "widowed"])
    marital = np.where(age < 16, "single", rng.choice(states, ROWS))
    income = np.round(rng.lognormal(8, 1, ROWS))
    pay = [None if a < 16 else float(i) for a, i in zip(age, income, strict=True)]
    old = np.where(age >= 65, "yes", "no")
    return table({"age": gaps(age, rng), "marital": gaps(marital, rng), "pay": pay, "old": old})


CASES = {
    "dates": (dates, [{"kind": "order", "low": "start", "high": "end"}]),
    "dates, strictly": (dates, [{"kind": "order", "low": "start", "high": "end", "strict": True}]),
    "prices": (prices, [{"kind": "order", "low": "cost", "high": "price"}]),
    "giants": (giants, [{"kind": "order", "low": "cost", "high": "price", "strict": True}]),
    "sums": (sums, [{"kind": "sum", "total": "all", "parts": ["a", "b"]}]),
    "giant sums": (giant_sums, [{"kind": "sum", "total": "all", "parts": ["a", "b"]}]),
    "cities": (cities, [{"kind": "within", "child": "city", "parent": "region"}]),
    "single": (
        people,
        [
            {
                "kind": "if",
                "when": {"column": "age", "below": 16},
                "then": {"column": "marital", "in": ["single"]},
            }
        ],
    ),
    "structural": (
        people,
        [
            {
                "kind": "if",
                "when": {"column": "age", "at_most": 15},
                "then": {"column": "pay", "missing": True},
            },
            {
                "kind": "if",
                "when": {"column": "age", "at_least": 16},
                "then": {"column": "pay", "missing": False},
            },
        ],
    ),
    "numbers both ways": (
        people,
        [
            {
                "kind": "if",
                "when": {"column": "old", "in": ["yes"]},
                "then": {"column": "age", "above": 64.5},
            },
            {
                "kind": "if",
                "when": {"column": "old", "in": ["no"]},
                "then": {"column": "age", "below": 65},
            },
        ],
    ),
}


def engine(data, rules, order, model=None):
    encoding = fit_encoding(data)
    train = encoding.encode(data)
    visits = [
        Visit(model or Cart(min_leaf=20), (name,), tuple(order[:place]))
        for place, name in enumerate(order)
    ]
    parsed = parse_rules(rules, encoding, train)
    return train, parsed, Sequential(tuple(visits), parsed).fit(train, seed=1)


def missing_share(block, name):
    return np.mean(block.codes[name] >= block.encoding[name].missing)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_rules_that_hold_in_train_hold_in_the_draw(case, backwards):
    make, rules = CASES[case]
    data = make()
    order = data.names[::-1] if backwards else data.names
    train, parsed, fitted = engine(data, rules, order)
    assert not any(rule.broken(train).any() for rule in parsed)
    drawn = fitted.sample(ROWS, seed=1, replicate=1)
    block = drawn.block
    assert not any(rule.broken(block).any() for rule in parsed)
    assert drawn.counts["unresolved"] == 0
    assert drawn.counts["redrawn"] <= 0.05 * ROWS
    # The rule holds in the written table too, offsets and units of time included.
    again = block.encoding.encode(block.encoding.decode(block))
    assert not any(rule.broken(again).any() for rule in parsed)
    for name in data.names:
        # Restricting keeps the marginals: 0.09 is the 0.1% point of the two-sample
        # Kolmogorov-Smirnov distance at 1,000 rows; bias up to that size would pass too.
        cells = block.encoding[name].width
        mine, theirs = (
            np.cumsum(np.bincount(b.codes[name], minlength=cells)) / ROWS for b in (train, block)
        )
        assert np.abs(mine - theirs).max() < 0.09, name
        assert abs(missing_share(train, name) - missing_share(block, name)) < 0.06, name


@pytest.mark.parametrize("case", CASES)
def test_without_its_rule_the_draw_breaks_it(case):
    # Otherwise the test above would show nothing.
    make, rules = CASES[case]
    data = make()
    _, parsed, _ = engine(data, rules, data.names)
    encoding = fit_encoding(data)
    train = encoding.encode(data)
    rng = np.random.default_rng(1)
    shuffled = encoding.empty(ROWS)
    for name in data.names:
        shuffled = shuffled.join(train.select([name]).take(rng.permutation(ROWS)))
    assert any(rule.broken(shuffled).any() for rule in parsed)


def test_rows_of_the_original_that_break_a_rule_are_counted():
    data = table({"low": [1, 2, 3, None] * 10, "high": [2, 2, 2, 2] * 10})
    train, (loose,), fitted = engine(
        data, [{"kind": "order", "low": "low", "high": "high"}], data.names
    )
    assert loose.broken(train).sum() == 10
    assert not loose.broken(fitted.sample(40, seed=1, replicate=1).block).any()


def test_kept_columns_are_never_adjusted():
    data = table({"low": [1, 2, 3, 4] * 10, "high": [2, 2, 2, 2] * 10})
    encoding = fit_encoding(data)
    train = encoding.encode(data)
    rules = parse_rules([{"kind": "order", "low": "low", "high": "high"}], encoding, train)
    visits = (Visit(Keep(), ("high",)), Visit(Keep(), ("low",)))
    drawn = Sequential(visits, rules).fit(train, seed=1).sample(40, seed=1, replicate=1)
    assert np.array_equal(drawn.block.values["low"], train.values["low"])
    assert drawn.counts["unresolved"] == 20


def test_kept_values_stay_inside_their_cells():
    # Values that few share lie in wide cells, where settling would have room to move them.
    rng = np.random.default_rng(8)
    data = table({"low": rng.lognormal(0, 1, ROWS), "high": rng.lognormal(0, 1, ROWS)})
    encoding = fit_encoding(data)
    train = encoding.encode(data)
    rules = parse_rules([{"kind": "order", "low": "low", "high": "high"}], encoding, train)
    visits = (Visit(Keep(), ("high",)), Visit(Keep(), ("low",)))
    drawn = Sequential(visits, rules).fit(train, seed=1).sample(ROWS, seed=1, replicate=1)
    assert np.array_equal(drawn.block.values["low"], train.values["low"])


def test_strict_orders_are_broken_by_equality():
    rules = [{"kind": "order", "low": "a", "high": "b", "strict": s} for s in (True, False)]
    train, (strict, loose), _ = engine(table({"a": [1, 2], "b": [1, 3]}), rules, ["a", "b"])
    assert strict.broken(train).tolist() == [True, False]
    assert not loose.broken(train).any()


def test_order_compares_true_values_not_offsets():
    low = pa.array([10**17 + 5, 10**17 + 9], pa.int64())
    high = pa.array([10**17 + 7, 10**17 + 7], pa.int64())
    train, (rule,), _ = engine(
        table({"low": low, "high": high}),
        [{"kind": "order", "low": "low", "high": "high"}],
        ["low", "high"],
    )
    assert rule.broken(train).tolist() == [False, True]


def test_a_condition_on_a_missing_value_is_neither_true_nor_false():
    data = table({"age": [10, None, 10, 40], "job": [None, "a", "a", "a"]})
    rule = {
        "kind": "if",
        "when": {"column": "age", "below": 16},
        "then": {"column": "job", "missing": True},
    }
    train, (parsed,), _ = engine(data, [rule], data.names)
    assert parsed.broken(train).tolist() == [False, False, True, False]
    assert parsed.describe() == "if age < 16 then job is missing"


def test_listed_numbers_and_dates_as_bounds():
    data = table({"code": [1, 2, 3, 4], "day": [DAY] * 4})
    rules = [
        {
            "kind": "if",
            "when": {"column": "code", "in": [2, 3]},
            "then": {"column": "day", "above": bound},
        }
        for bound in (DAY, "2020-01-01", datetime.datetime(2019, 12, 31))
    ]
    train, parsed, _ = engine(data, rules, data.names)
    broken = [rule.broken(train).tolist() for rule in parsed]
    assert broken == [[False, True, True, False]] * 2 + [[False] * 4]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, r"rules\[0\]\.kind: got None"),
        ({"kind": "oder"}, r"rules\[0\]\.kind.*did you mean order"),
        ({"kind": "order", "low": "age"}, r"rules\[0\]\.high"),
        ({"kind": "order", "low": "age", "high": "agee"}, r"rules\[0\]\.high.*did you mean age"),
        ({"kind": "order", "low": "age", "high": "age"}, r"each stands in a rule once"),
        ({"kind": "order", "low": "age", "high": "job"}, r"numbers or dates"),
        ({"kind": "order", "low": "age", "high": "day"}, r"compares with age"),
        ({"kind": "order", "low": "age", "high": "n", "strikt": True}, r"did you mean strict"),
        ({"kind": "order", "low": "age", "high": "n", "strict": 1}, r"true or false"),
        ({"kind": "sum", "total": "age", "parts": []}, r"rules\[0\]\.parts"),
        ({"kind": "sum", "total": "age", "parts": ["day"]}, r"dates do not add up"),
        ({"kind": "sum", "total": "age", "parts": ["n"], "tolerance": -1}, r"tolerance: got -1"),
        ({"kind": "within", "child": "x", "parent": "job"}, r"rules\[0\]\.child: got 'x'"),
        ({"kind": "if", "when": 3, "then": 3}, r"rules\[0\]\.when: got 3"),
        ({"kind": "if", "when": {"column": "age"}, "then": {}}, r"with a test"),
    ],
)
def test_mistakes_name_their_key(rule, message):
    data = table({"age": [1, 2], "n": [1, 2], "job": ["a", "b"], "day": [DAY, DAY]})
    with pytest.raises(PlanError, match=message):
        engine(data, [rule], data.names)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ({"column": "age", "bellow": 3}, r"when\.bellow.*did you mean below"),
        ({"column": "age", "below": "x"}, r"when\.below: got 'x', expected a number"),
        ({"column": "age", "missing": True, "below": 3}, r"alone"),
        ({"column": "age", "missing": 1}, r"when\.missing: got 1"),
        ({"column": "job", "below": 3}, r"in or missing"),
        ({"column": "job", "in": ["z"]}, r"when\.in: got 'z', expected levels of job"),
        ({"column": "job", "in": "a"}, r"when\.in: got 'a', expected a list"),
        ({"column": "day", "below": "soon"}, r"a value that the column can hold"),
    ],
)
def test_mistakes_in_conditions_name_their_key(test, message):
    data = table({"age": [1, 2], "n": [1, 2], "job": ["a", "b"], "day": [DAY, DAY]})
    rule = {"kind": "if", "when": test, "then": {"column": "n", "missing": False}}
    with pytest.raises(PlanError, match=message):
        engine(data, [rule], data.names)
