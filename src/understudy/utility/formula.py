"""Regression formulas, read by a small grammar of their own. Nothing in them is ever evaluated.

Libraries for formulas evaluate Python that stands in them, and plans may come from strangers. So a
formula is read into these frozen records or refused: it names columns, levels and numbers, and five
functions; there is nothing else that it could say.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.utility.grammar import OPERATORS, Comparison, FormulaError, Words, comparison

_DEEPEST = 20  # parentheses
_MOST_TERMS = 200
_MOST_POWER = 9
NUMERIC = ("log", "log1p", "sqrt")
_CALLS = (*NUMERIC, "score")


@dataclass(frozen=True)
class Factor:
    """One ingredient of a term.

    Attributes:
        kind: ``column``, ``levels`` (``C``), ``power``, ``score``, a numeric function, or ``test``.
        column: the column it reads.
        power: exponent of a ``power``.
        reference: reference level of ``levels``, if one is named.
        test: the comparison of a ``test``.
    """

    kind: str
    column: str
    power: int = 1
    reference: str | None = None
    test: Comparison | None = None

    def __str__(self) -> str:
        if self.kind == "power":
            return f"{self.column}^{self.power}"
        if self.test is not None:
            return str(self.test)
        return f"{self.kind}({self.column})" if self.kind in _CALLS else self.column


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """A response and the terms that explain it; the empty term is the intercept."""

    response: Factor
    terms: tuple[Term, ...]

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All ingredients, the response first."""
        inside = (factor for term in self.terms for factor in term)
        return tuple(dict.fromkeys((self.response, *inside)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads."""
        return tuple(dict.fromkeys(factor.column for factor in self.factors))


def parse_formula(text: str) -> Formula:
    """Read ``response ~ terms``.

    Terms are joined by ``+`` and ``-``; ``a:b`` is an interaction, ``a*b`` is ``a + b + a:b``,
    ``(a + b)^2`` all interactions up to two. ``1`` and ``0`` set the intercept (there is one unless
    ``0`` or ``-1`` says otherwise). Beside columns there are ``I(x^2)``, ``poly(x, 2)`` (raw powers
    x + x²), ``log(x)``, ``log1p(x)``, ``sqrt(x)``, ``score(x)`` (place of an ordinal level: 0, 1,
    2, …), ``C(x)`` (levels, also of a number), ``C(x, 'reference')`` and ``I(x > 3)``. Names with
    other signs stand in backticks.

    Example:
        >>> found = parse_formula("outcome == 'deceased' ~ sex*age")
        >>> found.columns, [":".join(map(str, term)) for term in found.terms]
        (('outcome', 'sex', 'age'), ['', 'sex', 'age', 'sex:age'])
    """
    words = Words.of(text)
    response = _response(words)
    words.need("~")
    terms = _sum(words, [()])
    words.end()
    ordered = tuple(sorted(terms, key=len))  # main effects first, else as written
    if not ordered:
        raise FormulaError("the right side names nothing: at least an intercept or one term")
    return Formula(response, ordered)


def parse_subset(text: str) -> tuple[Comparison, ...]:
    """Read comparisons joined by ``&``: all must be true.

    Example:
        >>> [str(test) for test in parse_subset("age >= 18 & sex == 'f'")]
        ['age >= 18', 'sex == f']
    """
    words = Words.of(text)
    tests = [comparison(words, words.name())]
    while words.take("&"):
        tests.append(comparison(words, words.name()))
    words.end("the end, or &")
    return tuple(tests)


def _response(words: Words) -> Factor:
    """The left side: a number, a function of one, or a comparison."""
    if words.kind == "name" and words.words[words.place + 1 : words.place + 2]:
        following = words.words[words.place + 1]
        if following[:2] == ("sign", "("):
            made = _call(words)
            if len(made) > 1 or made[0].kind == "levels":
                raise FormulaError("the left side is a number, or a comparison such as y == 'yes'")
            return made[0]
    name = words.name()
    return _compared(comparison(words, name)) if words.text in OPERATORS else Factor("column", name)


def _compared(test: Comparison) -> Factor:
    return Factor("test", test.column, test=test)


def _sum(words: Words, start: list[Term]) -> list[Term]:
    """Terms joined by + and −."""
    terms = list(start)
    minus = words.take("-")
    if not minus:
        words.take("+")
    while True:
        zero = words.kind == "number" and words.text == "0"
        if zero:  # + 0 leaves the intercept out, − 0 puts it in
            words.place += 1
        found: list[Term] = [()] if zero else _product(words)
        if minus != zero:
            gone = {frozenset(term) for term in found}
            terms = [term for term in terms if frozenset(term) not in gone]
        else:
            terms = _joined(terms, found)
        if not (words.kind == "sign" and words.text in ("+", "-")):
            return terms
        minus = words.text == "-"
        words.place += 1


def _product(words: Words) -> list[Term]:
    """``a*b*c``: all products of some of them."""
    terms = _crossed(words)
    while words.take("*"):
        right = _crossed(words)
        terms = _joined(_joined(terms, right), _pairs(terms, right))
    return terms


def _crossed(words: Words) -> list[Term]:
    """``a:b:c``."""
    terms = _raised(words)
    while words.take(":"):
        terms = _pairs(terms, _raised(words))
    return terms


def _raised(words: Words) -> list[Term]:
    """``(a + b)^2``."""
    terms = _atom(words)
    if not words.take("^", "**"):
        return terms
    degree = words.whole(1, _MOST_POWER)
    if len(terms) == 1:
        raise FormulaError(f"the square of a column is I({terms[0][0]}^{degree})")
    raised = terms
    for _ in range(degree - 1):
        raised = _joined(raised, _pairs(raised, terms))
    return raised


def _atom(words: Words) -> list[Term]:
    if words.take("("):
        words.depth += 1
        if words.depth > _DEEPEST:
            raise FormulaError(f"parentheses are nested more than {_DEEPEST} deep")
        terms = _sum(words, [])
        words.need(")")
        words.depth -= 1
        return terms
    if words.kind == "number":
        words.whole(1, 1)
        return [()]
    following = words.words[words.place + 1 : words.place + 2]
    if words.kind == "name" and following and following[0][:2] == ("sign", "("):
        return [(factor,) for factor in _call(words)]
    return [(Factor("column", words.name()),)]


def _call(words: Words) -> list[Factor]:
    """A function of one column; ``poly`` gives several factors."""
    name = words.name()
    words.need("(")
    if name not in (*_CALLS, "I", "C", "poly"):
        known = ", ".join((*_CALLS, "I", "C", "poly"))
        raise FormulaError(f"there is no function {name!r}; there are {known}")
    column = words.name()
    made = [Factor("column", column)]
    if name in _CALLS:
        made = [Factor(name, column)]
    elif name == "C":
        made = [Factor("levels", column, reference=_reference(words))]
    elif name == "poly":
        words.need(",")
        degree = words.whole(1, _MOST_POWER)
        made = [_power(column, power) for power in range(1, degree + 1)]
    elif words.take("^", "**"):
        made = [_power(column, words.whole(1, _MOST_POWER))]
    elif words.text in OPERATORS:
        made = [_compared(comparison(words, column))]
    words.need(")")
    return made


def _power(column: str, power: int) -> Factor:
    return Factor("power", column, power) if power > 1 else Factor("column", column)


def _reference(words: Words) -> str | None:
    if not words.take(","):
        return None
    if words.kind not in ("string", "number"):
        words.wrong("the reference level in quotes")
    words.place += 1
    return words.words[words.place - 1][1]


def _merged(*terms: Term) -> Term:
    return tuple(dict.fromkeys(factor for term in terms for factor in term))


def _pairs(left: list[Term], right: list[Term]) -> list[Term]:
    return _joined([], [_merged(a, b) for a in left for b in right])


def _joined(terms: list[Term], more: list[Term]) -> list[Term]:
    """Both lists without repetition: ``a:b`` and ``b:a`` are one term."""
    known = {frozenset(term) for term in terms}
    joined = list(terms)
    for term in more:
        if frozenset(term) not in known:
            known.add(frozenset(term))
            joined.append(term)
    if len(joined) > _MOST_TERMS:
        raise FormulaError(f"it has more than {_MOST_TERMS} terms")
    return joined
