"""From a plan's ``[[rules]]`` to rules: every mistake is named with its key."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.errors import PlanError
from understudy.synth.grid import Ruler, link
from understudy.synth.rule_if import Condition, If
from understudy.synth.rule_numbers import Order, Sum
from understudy.synth.rule_within import Inside
from understudy.synth.rules import Rule
from understudy.tables.encode import Block, ColumnEncoding, Encoding

_BOUNDS = ("below", "at_most", "above", "at_least")
_TESTS = (*_BOUNDS, "in", "missing")


def parse_rules(
    rules: Sequence[Mapping[str, Any]], encoding: Encoding, train: Block, where: str = "rules"
) -> tuple[Rule, ...]:
    """Build the rules of a plan.

    The kinds::

        {kind = "order", low = "start", high = "end", strict = false}
        {kind = "if", when = {column = "age", below = 16}, then = {column = "job", missing = true}}
        {kind = "sum", total = "all", parts = ["a", "b"], tolerance = 0}
        {kind = "within", child = "city", parent = "region"}

    A condition has ``below``, ``at_most``, ``above``, ``at_least``, ``in`` or ``missing``. Missing
    values never break a rule, unless a condition asks for them.

    Args:
        rules: the raw tables.
        encoding: the frozen encoding.
        train: encoded train: ``within`` learns its pairs from it.
        where: the plan's key, for messages.
    """
    return tuple(
        _parse(f"{where}[{place}]", rule, encoding, train) for place, rule in enumerate(rules)
    )


def _parse(where: str, rule: Mapping[str, Any], encoding: Encoding, train: Block) -> Rule:
    kind = rule.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise PlanError(f"{where}.kind", kind, f"one of {', '.join(_KINDS)}{_close(kind, _KINDS)}")
    needed, optional, build = _KINDS[kind]
    _keys(where, rule, ("kind", *needed), optional)
    return build(where, rule, encoding, train)


def _order(where: str, rule: Mapping[str, Any], encoding: Encoding, train: Block) -> Rule:
    low = _number(f"{where}.low", rule["low"], encoding)
    high = _number(f"{where}.high", rule["high"], encoding)
    _differ(f"{where}.high", [low.name, high.name])
    up, down = link(low.column, high.column), link(high.column, low.column)
    if up is None or down is None:
        raise PlanError(f"{where}.high", high.name, f"a column that compares with {low.name}")
    strict = rule.get("strict", False)
    if not isinstance(strict, bool):
        raise PlanError(f"{where}.strict", strict, "true or false")
    return Order(low, high, up, down, strict)


def _sum(where: str, rule: Mapping[str, Any], encoding: Encoding, train: Block) -> Rule:
    total, parts = _number(f"{where}.total", rule["total"], encoding), rule["parts"]
    if not isinstance(parts, list | tuple) or not parts:
        raise PlanError(f"{where}.parts", parts, "a list of columns")
    rulers = tuple(_number(f"{where}.parts", part, encoding) for part in parts)
    _differ(f"{where}.parts", [total.name, *(part.name for part in rulers)])
    for ruler in (total, *rulers):
        if ruler.column.numeric is not None and pa.types.is_temporal(ruler.column.numeric.stored):
            raise PlanError(where, ruler.name, "columns of numbers: dates do not add up")
    tolerance = rule.get("tolerance", 0)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not tolerance >= 0:
        raise PlanError(f"{where}.tolerance", tolerance, "a number from 0")
    return Sum(total, rulers, float(tolerance))


def _within(where: str, rule: Mapping[str, Any], encoding: Encoding, train: Block) -> Rule:
    child = _column(f"{where}.child", rule["child"], encoding)
    parent = _column(f"{where}.parent", rule["parent"], encoding)
    _differ(f"{where}.parent", [child.column.name, parent.column.name])
    if not Inside.fits(child, parent):
        raise PlanError(where, rule["child"], "columns with fewer levels: too many pairs to hold")
    return Inside.learn(child, parent, train)


def _if(where: str, rule: Mapping[str, Any], encoding: Encoding, train: Block) -> Rule:
    when = _condition(f"{where}.when", rule["when"], encoding)
    then = _condition(f"{where}.then", rule["then"], encoding)
    _differ(f"{where}.then.column", [when.name, then.name])
    return If(when, then)


_Builder = Callable[[str, Mapping[str, Any], Encoding, Block], Rule]
_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], _Builder]] = {
    "order": (("low", "high"), ("strict",), _order),
    "if": (("when", "then"), (), _if),
    "sum": (("total", "parts"), ("tolerance",), _sum),
    "within": (("child", "parent"), (), _within),
}


def _condition(where: str, test: Any, encoding: Encoding) -> Condition:
    if not isinstance(test, Mapping):
        raise PlanError(where, test, 'a table such as {column = "age", below = 16}')
    _keys(where, test, ("column",), _TESTS)
    column = _column(f"{where}.column", test["column"], encoding)
    asked = [name for name in _TESTS if name in test]
    if not asked:
        raise PlanError(where, test["column"], f"with a test: one of {', '.join(_TESTS)}")
    missing = test.get("missing")
    if missing is not None and not isinstance(missing, bool):
        raise PlanError(f"{where}.missing", missing, "true or false")
    if missing and len(asked) > 1:
        raise PlanError(f"{where}.missing", missing, "alone: a missing value has no size")
    words = f"{test['column']} {_words(test)}"
    if column.is_numeric:
        return _numeric(where, test, column, words, missing)
    for name in _BOUNDS:
        if name in test:
            raise PlanError(f"{where}.{name}", test[name], "in or missing: the column has levels")
    levels = _levels(f"{where}.in", test["in"], column) if "in" in test else None
    return Condition(column, words, levels=levels, missing=missing)


def _numeric(
    where: str,
    test: Mapping[str, Any],
    column: ColumnEncoding,
    words: str,
    missing: bool | None,
) -> Condition:
    bound = {k: _own(f"{where}.{k}", test[k], column) for k in _BOUNDS if k in test}
    ruler, no = Ruler(column), float("nan")
    least = [ruler.lowest(np.array([bound.get("at_least", no)])),
             ruler.lowest(np.array([bound.get("above", no)]), strict=True)]  # fmt: skip
    most = [ruler.highest(np.array([bound.get("at_most", no)])),
            ruler.highest(np.array([bound.get("below", no)]), strict=True)]  # fmt: skip
    listed = None
    if "in" in test:
        values = _list(f"{where}.in", test["in"])
        listed = np.unique([_own(f"{where}.in", value, column) for value in values])
    return Condition(
        column, words, float(max(least)[0]), float(min(most)[0]), listed, missing=missing
    )


def _own(where: str, value: Any, column: ColumnEncoding) -> float:
    """A bound in the column's own floats."""
    numeric = column.numeric
    assert numeric is not None
    try:
        if pa.types.is_temporal(numeric.stored):
            moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
            if not isinstance(moment, datetime.date | datetime.time):
                raise PlanError(where, value, "a date such as 2020-12-31")
            if not isinstance(moment, datetime.datetime) and isinstance(moment, datetime.date):
                moment = datetime.datetime.combine(moment, datetime.time())
            return float(numeric.to_float(pa.array([moment]).cast(numeric.stored))[0])
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise PlanError(where, value, "a number")
        return float(Fraction(value) - numeric.offset)
    except (ValueError, OverflowError, TypeError, pa.ArrowException):
        raise PlanError(where, value, "a value that the column can hold") from None


def _levels(where: str, value: Any, column: ColumnEncoding) -> np.ndarray[Any, np.dtype[np.bool_]]:
    mask = np.zeros(column.width, dtype=bool)
    for level in _list(where, value):
        if level not in column.levels:
            raise PlanError(where, level, f"levels of {column.column.name}, as texts")
        mask[column.levels.index(level)] = True
    return mask


def _list(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise PlanError(where, value, "a list of values")
    return list(value)


def _words(test: Mapping[str, Any]) -> str:
    signs = {"below": "<", "at_most": "≤", "above": ">", "at_least": "≥", "in": "in"}
    said = [f"{signs[name]} {test[name]}" for name in signs if name in test]
    if "missing" in test:
        said.append("is missing" if test["missing"] else "is present")
    return " and ".join(said)


def _column(where: str, name: Any, encoding: Encoding) -> ColumnEncoding:
    if not isinstance(name, str) or name not in encoding.names:
        known = ", ".join(encoding.names)
        raise PlanError(where, name, f"one of the columns: {known}{_close(name, encoding.names)}")
    return encoding[name]


def _number(where: str, name: Any, encoding: Encoding) -> Ruler:
    column = _column(where, name, encoding)
    if not column.is_numeric:
        raise PlanError(where, name, "a column of numbers or dates")
    return Ruler(column)


def _differ(where: str, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise PlanError(where, name, "another column: each stands in a rule once")


def _keys(
    where: str, table: Mapping[str, Any], needed: Sequence[str], optional: Sequence[str]
) -> None:
    known = [*needed, *optional]
    for key in table:
        if key not in known:
            raise PlanError(f"{where}.{key}", key, f"one of {', '.join(known)}{_close(key, known)}")
    for key in needed:
        if key not in table:
            raise PlanError(f"{where}.{key}", None, "a value: it is needed")


def _close(name: Any, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
