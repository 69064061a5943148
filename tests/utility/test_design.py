"""Designs against patsy's matrices, and which rows a model may use."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table
from understudy.utility.design import Design, DesignError, check_columns
from understudy.utility.formula import parse_formula, parse_subset
from understudy.utility.grammar import FormulaError

patsy = pytest.importorskip("patsy")
SCHEMA = Schema(
    (
        Column("y", Kind.NUMBER),
        Column("x", Kind.NUMBER),
        Column("n", Kind.NUMBER),
        Column("g", Kind.CATEGORY),
        Column("h", Kind.ORDINAL, levels=("low", "mid", "top")),
        Column("day", Kind.DATETIME),
        Column("w", Kind.NUMBER),
    )
)


def frame(rows=200, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.normal(size=rows),
            "x": rng.exponential(size=rows) + 0.1,
            "n": rng.integers(0, 4, rows).astype(float),
            "g": rng.choice(["a", "b", "c"], rows, p=[0.2, 0.5, 0.3]),
            "h": rng.choice(["low", "mid", "top"], rows, p=[0.2, 0.2, 0.6]),
            "day": pd.date_range("2020-01-01", periods=rows),
            "w": rng.exponential(size=rows) + 0.1,
        }
    )


def table(people):
    return Table(pa.Table.from_pandas(people, preserve_index=False), SCHEMA)


def encoded(people, like=None):
    encoding = fit_encoding(table(people if like is None else like))
    return encoding.encode(table(people))


# Ours, and the same in patsy's words: our reference is the level with most rows.
G, H, N = "C(g, Treatment('b'))", "C(h, Treatment('top'))", "C(n, Treatment({}))"
PAIRS = [
    ("x", "x"),
    ("x - 1", "x - 1"),
    ("x*n", "x*n"),
    ("I(x^2) + log(x) + sqrt(n) + log1p(n)", "I(x**2) + np.log(x) + np.sqrt(n) + np.log1p(n)"),
    ("poly(x, 3)", "x + I(x**2) + I(x**3)"),
    ("I(x > 1) + I(g == 'a')", "I((x > 1)*1) + I((g == 'a')*1)"),
    ("g", G),
    ("g + h", f"{G} + {H}"),
    ("g*x", f"{G}*x"),
    ("g*h", f"{G}*{H}"),
    ("g*h*x", f"{G}*{H}*x"),
    ("0 + g", f"0 + {G}"),
    ("0 + g + h", f"0 + {G} + {H}"),
    ("g:x", f"{G}:x"),
    ("x + g:x", f"x + {G}:x"),
    ("g + g:h", f"{G} + {G}:{H}"),
    ("C(n) + x", N + " + x"),
    ("C(g, 'c')", "C(g, Treatment('c'))"),
]


@pytest.mark.parametrize("ours, theirs", PAIRS, ids=[pair[0] for pair in PAIRS])
def test_designs_are_those_of_patsy(ours, theirs):
    people = frame()
    design = Design.of(parse_formula("y ~ " + ours), encoded(people))
    rows = design.rows(encoded(people))
    want = np.asarray(patsy.dmatrix(theirs.format(people.n.mode()[0]), people))
    # The same columns, in an order of their own.
    key = lambda x: sorted(map(tuple, np.round(x.T, 9)))  # noqa: E731
    assert key(rows.design) == key(want)
    assert np.array_equal(rows.response, people.y) and rows.missing == rows.unseen == rows.odd == 0
    assert len(set(design.names)) == rows.design.shape[1]


@pytest.mark.parametrize("formula", ["g:h", "0 + g:h", "0 + g:x + h"])
def test_spaces_are_those_of_patsy_where_codings_differ(formula):
    """R's rule and patsy's give other columns here; what they span is the same."""
    people = frame()
    ours = Design.of(parse_formula("y ~ " + formula), encoded(people)).rows(encoded(people)).design
    theirs = np.asarray(patsy.dmatrix(formula, people))
    rank = np.linalg.matrix_rank
    assert rank(ours) == rank(theirs) == rank(np.column_stack([ours, theirs]))


def test_names_are_readable():
    design = Design.of(parse_formula("y ~ g*x + I(x^2) + log(x)"), encoded(frame()))
    assert design.names == (
        "Intercept", "g = c", "g = a", "x", "x^2", "log(x)", "g = c × x", "g = a × x",
    )  # fmt: skip


def test_ordinal_levels_have_scores():
    people = frame()
    rows = Design.of(parse_formula("y ~ score(h)"), encoded(people)).rows(encoded(people))
    assert rows.design[:, 1].tolist() == [["low", "mid", "top"].index(h) for h in people.h]


def test_the_reference_of_a_rare_response_is_where_its_cases_are():
    """`b` is the most frequent level, and no case has it: every contrast to it is infinite."""
    people = frame()
    people["g"] = np.where(np.arange(200) < 120, "b", np.where(np.arange(200) < 170, "c", "a"))
    people["y"] = (np.arange(200) > 165) * 1.0
    block = encoded(people)
    logistic = Design.of(parse_formula("y ~ g"), block, family="logistic")
    assert set(logistic.names) == {"Intercept", "g = b", "g = c"}
    linear = Design.of(parse_formula("y ~ g"), block)
    assert set(linear.names) == {"Intercept", "g = a", "g = c"}


def test_rows_that_cannot_be_used_are_counted():
    people = frame()
    block = encoded(people)
    design = Design.of(parse_formula("log(y) ~ g + x"), block, family="poisson", weights="w")
    other = people.head(20).assign(y=2.0)
    other.loc[0, "g"] = None  # missing
    other.loc[1, "g"] = "never seen"
    other.loc[2, "x"] = np.nan
    other.loc[3, "y"] = -1.0  # no logarithm
    other.loc[4, "y"] = 0.5  # a negative count
    other.loc[5, "w"] = 0.0  # nobody
    other.loc[6, ["x", "g"]] = np.nan, "never seen"  # counted once
    rows = design.rows(encoded(other, like=people))
    assert (rows.missing, rows.unseen, rows.odd) == (5, 1, 1)
    assert len(rows.design) == len(rows.response) == len(rows.weights) == 20 - 7


def test_a_subset_lets_in_what_it_says():
    people = frame()
    tests = parse_subset("x > 0.5 & g != 'a' & n <= 2")
    rows = Design.of(parse_formula("y ~ x"), encoded(people), tests=tests).rows(encoded(people))
    chosen = people.query("x > 0.5 and g != 'a' and n <= 2")
    assert np.array_equal(rows.response, chosen.y) and rows.missing == 0
    people.loc[:9, "g"] = None  # whether these belong to it is not known
    rows = Design.of(parse_formula("y ~ x"), encoded(people), tests=tests).rows(encoded(people))
    known = people.query("x > 0.5 and n <= 2 and g.isna()", engine="python")
    assert rows.missing == len(known) > 0


def test_huge_numbers_are_those_of_the_table():
    """Whole numbers beyond 2^53 are held from an offset; a model means the numbers."""
    people = pd.DataFrame({"k": [10**17 + i for i in range(50)], "y": np.arange(50.0)})
    data = pa.Table.from_pandas(people, preserve_index=False)
    big = Table(data, Schema((Column("k", Kind.NUMBER), Column("y", Kind.NUMBER))))
    block = fit_encoding(big).encode(big)
    rows = Design.of(parse_formula("y ~ k"), block).rows(block)
    assert rows.design[:, 1] == pytest.approx(people.k.to_numpy(float))


@pytest.mark.parametrize(
    "formula, said",
    [
        ("y ~ C(x)", "more than 100 different"),
        ("y ~ C(g, 'zebra')", "reference level that train lacks"),
        ("y ~ C(n)*g*h*poly(x, 9)", "more than 300 coefficients"),
    ],
)
def test_designs_that_train_cannot_give_say_why(formula, said):
    with pytest.raises(DesignError, match=said):
        Design.of(parse_formula(formula), encoded(frame()))


@pytest.mark.parametrize(
    "formula, subset, family, said",
    [
        ("y ~ nobody", "", "linear", "no column 'nobody'"),
        ("y ~ log(g)", "", "linear", r"log\(g\) needs a number"),
        ("y ~ I(g^2)", "", "linear", "needs a number"),
        ("y ~ score(g)", "", "linear", "ordinal"),
        ("y ~ day", "", "linear", "is a date"),
        ("g ~ x", "", "logistic", "g == 'level'"),
        ("g == 'a' ~ x", "", "linear", "needs family logistic"),
        ("y ~ y + x", "", "linear", "both sides"),
        ("y == 'a' ~ x", "", "logistic", "without quotes"),
        ("g > 'a' ~ x", "", "logistic", "== and != only"),
        ("y ~ x", "nobody == 1", "linear", "no column 'nobody'"),
    ],
)
def test_columns_that_do_not_fit_are_named(formula, subset, family, said):
    tests = parse_subset(subset) if subset else ()
    with pytest.raises(FormulaError, match=said):
        check_columns(parse_formula(formula), tests, family, SCHEMA)
