"""Formulas: what they mean against patsy's own reading, and that nothing in them is evaluated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.utility.formula import parse_formula, parse_subset
from understudy.utility.grammar import FormulaError

patsy = pytest.importorskip("patsy")


def terms(text):
    return {frozenset(map(str, term)) for term in parse_formula("y ~ " + text).terms}


def theirs(text):
    """The terms that patsy finds (``**`` for ``^``)."""
    found = patsy.ModelDesc.from_formula(text.replace("^", "**"))
    return {frozenset(f.name() for f in term.factors) for term in found.rhs_termlist}


CASES = (
    "a", "a + b", "a*b", "a:b", "a*b*c", "(a + b + c)^2", "a - 1", "0 + a", "a + 0 + b", "-1 + a",
    "a*b - a", "a*b - a:b", "(a + b):c", "a:(b + c)", "a*(b + c)", "(a + b)*(c + d)", "1 + a",
    "a + a", "a:b + b:a", "(a + b)^2 - b", "a*b:c", "((a))", "1", "a + 1 - 1", "(a*b)^2",
    "(a + b + c + d)^3", "a - 0", "1 - a",
)  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_terms_are_those_of_patsy(text):
    assert terms(text) == theirs(text)


EXPRESSIONS = st.recursive(
    st.sampled_from("abcd"),
    lambda inner: st.builds(
        lambda one, sign, other: f"({one} {sign} {other})",
        inner,
        st.sampled_from(["+", "*", ":", "-"]),
        inner,
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
@settings(max_examples=150, deadline=None)
def test_any_nesting_means_what_it_means_to_patsy(text):
    try:
        expected = theirs(text)
    except patsy.PatsyError:  # nothing left to multiply
        return
    assert terms(text) == expected


def test_functions_and_names():
    found = parse_formula("log(`in come`) ~ poly(age, 3) + I(x^2) + C(z, 'b') + I(x >= -3) + η.1")
    assert [str(factor) for factor in found.factors] == [
        "log(in come)", "age", "age^2", "age^3", "x^2", "z", "x >= -3", "η.1",
    ]  # fmt: skip
    assert found.factors[5].reference == "b"
    assert found.columns == ("in come", "age", "x", "z", "η.1")
    assert str(parse_formula('y == "it\'s" ~ 1').response) == "y == it's"
    assert [str(t) for t in parse_subset("a == 'x' & b < 3.5e2 & `c d` != 'y'")] == [
        "a == x", "b < 3.5e2", "c d != y",
    ]  # fmt: skip


HOSTILE = (
    "y ~ __import__('os').system('true')",
    "y ~ a.__class__()",
    "y ~ eval('1')",
    "y ~ exec(a)",
    "y ~ I(open('x'))",
    "y ~ I(a + b)",
    "y ~ np.log(a)",
    "y ~ Q('a')",
    "y ~ a[0]",
    "y ~ {a}",
    "y ~ lambda: 0",
    "y ~ a; b",
    "y ~ a if b else c",
    "y ~ @a",
    "__import__('os') ~ a",
    "y == __import__ ~ a",
    "y ~ I(a**__import__)",
    "y ~ C(a, open)",
    "y ~ log(log(a))",
    "y ~ a = b",
    "y ~ `a",
    "y ~ 'a'",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_code_is_no_formula(text):
    with pytest.raises(FormulaError):
        parse_formula(text)


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "empty"),
        ("y", "ends where ~ is expected"),
        ("y ~", "ends where a column's name is expected"),
        ("~ a", "at character 1 .* a column's name"),
        ("y ~ a +", "ends where"),
        ("y ~ a b", r"at character 7 \('b'\): the end"),
        ("y ~ a^2", r"I\(a\^2\)"),
        ("y ~ (a + b)^20", "whole number from 1 to 9"),
        ("y ~ poly(a, 99)", "from 1 to 9"),
        ("y ~ 2*a", "from 1 to 1"),
        ("y ~ sin(a)", "no function 'sin'; there are log"),
        ("y ~ 0", "names nothing"),
        ("poly(y, 2) ~ a", "left side"),
        ("C(y) ~ a", "left side"),
        ("y ~ a $ b", r"'\$' has no meaning"),
        ("y ~ " + "a" * 2000, "longer than"),
        ("y ~ " + "(" * 50 + "a" + ")" * 50, "nested"),
        ("y ~ (" + "+".join(f"x{i}" for i in range(60)) + ")^4", "more than 200 terms"),
    ],
)
def test_mistakes_name_their_place(text, said):
    with pytest.raises(FormulaError, match=said):
        parse_formula(text)


@pytest.mark.parametrize("text", [
    "(" + "+".join(f"x{i}" for i in range(150)) + ")^9",
    "*".join(f"x{i}" for i in range(150)),
    "(" + "+".join(f"x{i}" for i in range(20)) + "):(" + "+".join(f"z{i}" for i in range(20)) + ")",
])  # fmt: skip
def test_products_stop_at_200_terms(text):
    """A thousand characters could say millions; none of them may be made first."""
    with pytest.raises(FormulaError, match="more than 200 terms"):
        parse_formula("y ~ " + text)


def test_powers_of_many_products_of_few_columns_end():
    """127 terms to the 9th: as products one after the other, not as choices of nine."""
    assert len(parse_formula("y ~ (a*b*c*d*e*f*g)^9").terms) == 128


@given(st.text(alphabet="ab~+-*:^()0123 'logIC,&<=>`.", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text):
    for read in (parse_formula, parse_subset):
        try:
            read(text)
        except FormulaError as error:
            assert str(error)
