"""Conditions: read, refused, and evaluated against three-valued logic row by row."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table
from understudy.utility.condition import (
    Missing,
    check_condition,
    columns_of,
    comparisons_of,
    parse_condition,
    parse_quantity,
    told,
)
from understudy.utility.grammar import FormulaError

SCHEMA = Schema(
    (
        Column("x", Kind.NUMBER),
        Column("g", Kind.CATEGORY),
        Column("o", Kind.ORDINAL, levels=("low", "mid", "high")),
        Column("d", Kind.DATETIME),
    )
)
ROWS = [
    (x, g, o)
    for x in (None, -1.5, 0.0, 2.0)
    for g in (None, "a", "b c")
    for o in (None, "low", "mid", "high")
]


@pytest.fixture(scope="module")
def block():
    names = ("x", "g", "o")
    data = pa.table({n: [row[i] for row in ROWS] for i, n in enumerate(names)})
    return fit_encoding(Table(data, SCHEMA.select(names))).encode(Table(data, SCHEMA.select(names)))


TESTS = {
    "x > 0": lambda x, g, o: None if x is None else x > 0,
    "x == -1.5": lambda x, g, o: None if x is None else x == -1.5,
    "x != 2": lambda x, g, o: None if x is None else x != 2,
    "g == 'a'": lambda x, g, o: None if g is None else g == "a",
    "g != 'b c'": lambda x, g, o: None if g is None else g != "b c",
    "o >= 'mid'": lambda x, g, o: None if o is None else o in ("mid", "high"),
    "o < \"mid\"": lambda x, g, o: None if o is None else o == "low",
    "missing(x)": lambda x, g, o: x is None,
    "missing(o)": lambda x, g, o: o is None,
}  # fmt: skip


def negated(value):
    return None if value is None else not value


def both(a, b):
    return False if a is False or b is False else None if None in (a, b) else True


def either(a, b):
    return True if a is True or b is True else None if None in (a, b) else False


def trees(depth):
    leaf = st.sampled_from(sorted(TESTS)).map(lambda t: (t, TESTS[t]))
    if depth == 0:
        return leaf
    inner = trees(depth - 1)
    return st.one_of(
        leaf,
        inner.map(lambda a: (f"!({a[0]})", lambda *r: negated(a[1](*r)))),
        st.tuples(inner, inner).map(
            lambda p: (f"({p[0][0]}) & ({p[1][0]})", lambda *r: both(p[0][1](*r), p[1][1](*r)))
        ),
        st.tuples(inner, inner).map(
            lambda p: (f"({p[0][0]}) | ({p[1][0]})", lambda *r: either(p[0][1](*r), p[1][1](*r)))
        ),
    )


@settings(max_examples=150, deadline=None)
@given(tree=trees(3))
def test_every_condition_is_told_as_a_loop_tells_it(tree, block):
    text, plain = tree
    true, absent = told(parse_condition(text), block)
    expected = [plain(*row) for row in ROWS]
    assert true.tolist() == [value is True for value in expected]
    assert absent.tolist() == [value is None for value in expected]


def test_and_binds_tighter_than_or(block):
    loose = told(parse_condition("g == 'a' | x > 0 & o == 'low'"), block)[0]
    tight = told(parse_condition("g == 'a' | (x > 0 & o == 'low')"), block)[0]
    other = told(parse_condition("(g == 'a' | x > 0) & o == 'low'"), block)[0]
    assert loose.tolist() == tight.tolist() != other.tolist()
    first = told(parse_condition("!g == 'a' & x > 0"), block)[0]
    assert first.tolist() == told(parse_condition("(!(g == 'a')) & x > 0"), block)[0].tolist()


def test_an_unseen_level_has_no_place_in_an_order(block):
    data = pa.table({"x": [1.0], "g": ["new"], "o": ["new"]})
    other = block.encoding.encode(Table(data, SCHEMA.select(("x", "g", "o"))))
    assert [f.tolist() for f in told(parse_condition("o >= 'low'"), other)] == [[False], [True]]
    assert [f.tolist() for f in told(parse_condition("o != 'low'"), other)] == [[True], [False]]


def test_what_it_reads():
    found = parse_condition("x > 1 & (!g == 'a' | missing(`o`)) & x < 5")
    assert columns_of(found) == ("x", "g", "o") and len(comparisons_of(found)) == 3
    assert parse_quantity("dep.cons") == "dep.cons" and parse_quantity("`a b`") == "a b"
    assert parse_quantity("missing(a)") == Missing("a")


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "x", "x >", "x > 1 &", "& x > 1", "x > 1 || x < 2", "(x > 1", "x > 1)",
        "x > y", "x > 1 x < 2", "x = 1", "exp(x) > 1", "missing(x", "missing()", "missing('x')",
        "x > 1; y", "__import__('os').system('true')", "x > 1 and x < 2", "!" * 30 + "x > 1",
        "(" * 30 + "x > 1" + ")" * 30, "x > 1 & " * 200 + "x > 1", "x > - 'a'", "$x > 1",
    ],
)  # fmt: skip
def test_what_is_refused(text):
    with pytest.raises(FormulaError):
        parse_condition(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("nobody > 1", "no column 'nobody'"),
        ("missing(nobody)", "no column 'nobody'"),
        ("x == 'a'", "without quotes"),
        ("g > 'a'", "== and != only"),
        ("x > 1 | (g == 'a' & d == '2020-01-01')", "is a date"),
    ],
)
def test_columns_that_do_not_fit(text, word):
    with pytest.raises(FormulaError, match=word):
        check_condition(parse_condition(text), SCHEMA)


def test_ordinal_levels_compare_by_their_order():
    check_condition(parse_condition("o >= 'mid' & x < -1"), SCHEMA)
