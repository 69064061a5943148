"""Which rows a text is about: comparisons joined by & (and), | (or) and ! (not).

Truth has three values. A comparison with a missing value cannot be told, and neither can what
depends on it; false & anything is false, true | anything is true (Kleene).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.tables.encode import Block
from understudy.tables.schema import Kind, Schema
from understudy.utility.grammar import Comparison, FormulaError, Words, comparison

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_DEEPEST = 20  # parentheses
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Missing:
    """A column has no value in a row."""

    column: str


@dataclass(frozen=True)
class Joined:
    """Conditions of which all (``&``) or one (``|``) must be true, or the only one not (``!``)."""

    sign: str
    parts: tuple[Condition, ...]


Condition = Comparison | Missing | Joined


def parse_condition(text: str) -> Condition:
    """Read a condition; & binds tighter than |.

    Example:
        >>> found = parse_condition("ill == 'yes' & (age >= 65 | missing(age))")
        >>> columns_of(found)
        ('ill', 'age')
    """
    words = Words.of(text)
    found = _either(words)
    words.end("the end, & or |")
    return found


def parse_quantity(text: str) -> str | Condition:
    """A column's name, whose numbers are meant, or a condition, which counts 0 or 1.

    Example:
        >>> parse_quantity("age"), parse_quantity("missing(age)")
        ('age', Missing(column='age'))
    """
    words = Words.of(text)
    if len(words.words) == 1 and words.kind in ("name", "quoted"):
        return words.name()
    return parse_condition(text)


def comparisons_of(condition: Condition) -> tuple[Comparison, ...]:
    """All its comparisons."""
    if isinstance(condition, Joined):
        return tuple(test for part in condition.parts for test in comparisons_of(part))
    return (condition,) if isinstance(condition, Comparison) else ()


def columns_of(condition: Condition) -> tuple[str, ...]:
    """Names of the columns it reads."""
    if isinstance(condition, Joined):
        return tuple(dict.fromkeys(n for part in condition.parts for n in columns_of(part)))
    return (condition.column,)


def check_condition(condition: Condition, schema: Schema) -> None:
    """Raise `FormulaError` where it names no column, or one that it cannot compare."""
    for test in comparisons_of(condition):
        check_test(test, schema)
    for name in columns_of(condition):
        kind_of(name, schema)


def check_test(test: Comparison, schema: Schema) -> None:
    """Raise `FormulaError` where a comparison names no column, or one that it cannot compare."""
    kind = kind_of(test.column, schema)
    if kind is Kind.NUMBER and test.quoted:
        raise FormulaError(f"column {test.column} is a number: compare it with one, without quotes")
    if kind not in (Kind.NUMBER, Kind.ORDINAL) and test.operator not in ("==", "!="):
        raise FormulaError(f"column {test.column} has levels: they compare by == and != only")


def kind_of(name: str, schema: Schema) -> Kind:
    """The kind of a column that a text may name: not a date, and there."""
    if name not in schema:
        raise FormulaError(
            f"there is no column {name!r} after preparation; there are: {', '.join(schema.names)}"
        )
    kind = schema[name].kind
    if kind is Kind.DATETIME:
        raise FormulaError(f"column {name} is a date: band it in [[prepare]] to use it as levels")
    return kind


def told(condition: Condition, block: Block) -> tuple[Flags, Flags]:
    """Rows for which it is true, and rows for which it cannot be told. O(rows × comparisons)."""
    if isinstance(condition, Missing):
        codes = block.codes[condition.column]
        gone = codes == block.encoding[condition.column].missing
        return gone, np.zeros(block.rows, dtype=np.bool_)
    if isinstance(condition, Comparison):
        return _compared(condition, block)
    true, absent = zip(*(told(part, block) for part in condition.parts), strict=True)
    if condition.sign == "!":
        return ~true[0] & ~absent[0], absent[0]
    if condition.sign == "|":
        some = np.any(true, axis=0)
        return some, np.any(absent, axis=0) & ~some
    false = np.any([~t & ~a for t, a in zip(true, absent, strict=True)], axis=0)
    return np.all(true, axis=0), np.any(absent, axis=0) & ~false


def all_true(tests: Sequence[Comparison], block: Block) -> tuple[Flags, Flags]:
    """Rows that no test excludes, and rows for which some test cannot be told."""
    inside, absent = (np.full(block.rows, value) for value in (True, False))
    for test in tests:
        true, gone = _compared(test, block)
        inside &= true | gone
        absent |= gone
    return inside, absent


def lacks(test: Comparison, train: Block) -> bool:
    """Whether a test names a level that train does not have.

    Its rows in other tables would be taken for rows of another level.
    """
    column = train.encoding[test.column]
    return test.column not in train.values and test.literal not in column.levels


def numbers(block: Block, name: str) -> Floats:
    """Values as the table has them: huge whole numbers are held from an offset."""
    numeric = block.encoding[name].numeric
    return block.values[name] + float(0 if numeric is None else numeric.offset)


def _compared(test: Comparison, block: Block) -> tuple[Flags, Flags]:
    compare = _COMPARE[test.operator]
    if test.column in block.values:
        value = numbers(block, test.column)
        gone = np.isnan(value)
        return ~gone & np.asarray(compare(value, float(test.literal))), gone
    encoding, codes = block.encoding[test.column], block.codes[test.column]
    gone = codes == encoding.missing
    if test.operator not in ("==", "!="):
        gone = gone | (codes == encoding.unseen)  # it has no place in the order
    # A level that train lacks is some other level, unless it is the one asked for.
    at = encoding.levels.index(test.literal) if test.literal in encoding.levels else -1
    return ~gone & np.asarray(compare(codes, at)), gone


def _either(words: Words) -> Condition:
    return _joined(words, "|", _both)


def _both(words: Words) -> Condition:
    return _joined(words, "&", _one)


def _joined(words: Words, sign: str, part: Callable[[Words], Condition]) -> Condition:
    parts = [part(words)]
    while words.take(sign):
        parts.append(part(words))
    return parts[0] if len(parts) == 1 else Joined(sign, tuple(parts))


def _one(words: Words) -> Condition:
    opened = words.take("!")
    if opened or words.take("("):
        words.depth += 1
        if words.depth > _DEEPEST:
            raise FormulaError(f"parentheses are nested more than {_DEEPEST} deep")
        found = Joined("!", (_one(words),)) if opened else _either(words)
        if not opened:
            words.need(")")
        words.depth -= 1
        return found
    name = words.name()
    if not words.take("("):
        return comparison(words, name)
    if name != "missing":
        raise FormulaError(f"there is no function {name!r}; there is missing(column)")
    column = words.name()
    words.need(")")
    return Missing(column)
