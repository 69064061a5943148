"""A finding that a user lists in the plan: a share, a mean, a ratio or a coefficient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.kernels.regression import Regression
from understudy.kernels.totals import ratio_of_sums, share
from understudy.tables.encode import Block
from understudy.tables.schema import Kind, Role, Schema
from understudy.utility.coefficient_table import LEAST
from understudy.utility.condition import (
    Condition,
    check_condition,
    columns_of,
    comparisons_of,
    kind_of,
    lacks,
    numbers,
    parse_condition,
    parse_quantity,
    told,
)
from understudy.utility.grammar import FormulaError
from understudy.utility.regression_model import Known, Model

KINDS = ("share", "mean", "ratio", "coefficient")
LEVEL = 0.95
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """What one table says of a finding; or why it says nothing.

    Attributes:
        value: the estimate.
        error: its standard error.
        low: lower end of its 95% interval.
        high: upper end.
        rows: rows that it is about.
        hidden: fewer than ten people are behind it, so that the original's is not shown.
        why: why there is no estimate, or empty.
    """

    value: float = np.nan
    error: float = np.nan
    low: float = np.nan
    high: float = np.nan
    rows: int = 0
    hidden: bool = False
    why: str = ""


@dataclass(frozen=True)
class Asked:
    """One finding of a plan.

    Attributes:
        name: what findings call it (default: what is asked).
        share: a condition: the share of rows for which it is true.
        mean: a column of numbers: its mean.
        ratio: a column or condition, whose sum or count is divided by that of ``to``.
        to: the denominator of ``ratio``.
        coefficient: the name of a coefficient of ``formula``, as the report lists them.
        formula: a regression formula.
        family: of the regression: ``logistic``, ``linear`` or ``poisson``.
        subset: a condition: the rows that it is about (comparisons joined by & for a coefficient).
        weights: a column of role ``weight``: survey weights.
    """

    name: str = ""
    share: str = ""
    mean: str = ""
    ratio: str = ""
    to: str = ""
    coefficient: str = ""
    formula: str = ""
    family: str = ""
    subset: str = ""
    weights: str = ""

    @classmethod
    def of(cls, where: str, table: Any) -> Asked:
        """Read an entry of a plan, naming the key that is wrong."""
        if not isinstance(table, Mapping):
            raise PlanError(where, table, "a table of keys: [[measure.estimate.findings]]")
        known = [item.name for item in fields(cls)]
        for key, value in table.items():
            if key not in known:
                raise PlanError(f"{where}.{key}", key, f"one of {', '.join(known)}")
            if not isinstance(value, str) or not value.strip():
                raise PlanError(f"{where}.{key}", value, "a text in quotes")
        given = [kind for kind in KINDS if table.get(kind)]
        if len(given) != 1:
            raise PlanError(where, given or None, f"one of {', '.join(KINDS)}")
        made = cls(**table)
        made._check_partners(where)
        made._read(where)
        return made if made.name else replace(made, name=made.says)

    @property
    def kind(self) -> str:
        """Which kind of finding it is."""
        return next(kind for kind in KINDS if getattr(self, kind))

    @property
    def says(self) -> str:
        """What is asked, in a line."""
        if self.kind == "ratio":
            return f"{self.ratio} / {self.to}"
        rest = f" in {self.formula}" if self.kind == "coefficient" else ""
        return f"{self.kind} of {getattr(self, self.kind)}" + rest

    @property
    def model(self) -> Model:
        """The regression of a coefficient."""
        family = self.family or "linear"
        return Model(self.formula, family, self.name, self.subset, self.weights)

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where it names columns that the table lacks or cannot use."""
        if self.kind == "coefficient":
            self.model.fits(where, schema)
            return
        for key in ("share", "mean", "ratio", "to", "subset"):
            if getattr(self, key):
                self._fits_one(f"{where}.{key}", key, schema)
        weights = [n for n in schema.with_role(Role.WEIGHT) if schema[n].kind.is_numeric]
        if self.weights and self.weights not in weights:
            known = f"a number of role weight ({', '.join(weights) or 'there is none'})"
            raise PlanError(f"{where}.weights", self.weights, known)

    def quantities(self) -> dict[str, str | Condition]:
        """Its texts, read."""
        keys = [key for key in ("share", "mean", "ratio", "to", "subset") if getattr(self, key)]
        return {key: _quantity(key, getattr(self, key)) for key in keys}

    def _fits_one(self, where: str, key: str, schema: Schema) -> None:
        found = _quantity(key, getattr(self, key))
        try:
            if not isinstance(found, str):
                check_condition(found, schema)
            elif kind_of(found, schema) is not Kind.NUMBER:
                raise FormulaError(
                    f"column {found} has levels: write a condition, or C() in a model"
                )
        except FormulaError as error:
            raise PlanError(where, getattr(self, key), f"columns that fit: {error}") from None

    def _check_partners(self, where: str) -> None:
        if bool(self.ratio) != bool(self.to):
            key = "to" if self.ratio else "ratio"
            raise PlanError(f"{where}.{key}", None, "both ratio and to, or neither")
        if bool(self.coefficient) != bool(self.formula):
            key = "formula" if self.coefficient else "coefficient"
            raise PlanError(f"{where}.{key}", None, "both coefficient and formula, or neither")
        if self.family and not self.formula:
            raise PlanError(f"{where}.family", self.family, "nothing: only a formula has a family")

    def _read(self, where: str) -> None:
        if self.kind == "coefficient":
            keys = ("formula", "family", "subset", "weights")
            given = {key: getattr(self, key) for key in keys if getattr(self, key)}
            Model.of(where, given)
            return
        for key in ("share", "mean", "ratio", "to", "subset"):
            try:
                if text := getattr(self, key):
                    _quantity(key, text)
            except FormulaError as error:
                expected = "a condition" if key in ("share", "subset") else "a column or condition"
                raise PlanError(
                    f"{where}.{key}", getattr(self, key), f"{expected}: {error}"
                ) from None


def _quantity(key: str, text: str) -> str | Condition:
    found = parse_condition(text) if key in ("share", "subset") else parse_quantity(text)
    if key == "mean" and not isinstance(found, str):
        raise FormulaError("a mean is that of a column; for a condition say share")
    return found


@dataclass(frozen=True, eq=False)
class Question:
    """A finding as train has it: read once, asked of any table.

    Attributes:
        asked: the plan's entry.
        parts: its texts, read.
        known: the regression on train, for a coefficient.
        own: train's answer.
        applies: whether the question makes sense here.
    """

    asked: Asked
    parts: Mapping[str, str | Condition]
    known: Known | None
    own: Answer
    applies: bool = True

    @classmethod
    def of(cls, asked: Asked, train: Block, drawn: Sequence[str]) -> Question:
        """Ask train."""
        if asked.kind == "coefficient":
            return cls._of_model(asked, train, drawn)
        parts = asked.quantities()
        columns = {n for part in parts.values() for n in _names(part)}
        absent = [n for n in (*sorted(columns), asked.weights) if n and n not in train.names]
        if absent:
            return cls(asked, parts, None, Answer(why=f"some table lacks the column {absent[0]}"))
        if not columns & set(drawn):
            why = "all its columns are kept as they were"
            return cls(asked, parts, None, Answer(why=why), applies=False)
        tests = [
            t for part in parts.values() if not isinstance(part, str) for t in comparisons_of(part)
        ]
        if any(lacks(test, train) for test in tests):
            why = "a level that it compares with does not occur in train"
            return cls(asked, parts, None, Answer(why=why))
        found = cls(asked, parts, None, Answer())
        return replace(found, own=found.on(train))

    @classmethod
    def _of_model(cls, asked: Asked, train: Block, drawn: Sequence[str]) -> Question:
        known = Known.of(asked.model, train, drawn)
        why = known.why
        if not why and asked.coefficient not in known.names:
            why = "train's model has no coefficient of that name"
        if why or known.fit is None:
            return cls(asked, {}, known, Answer(why=why), known.applies)
        place = known.names.index(asked.coefficient)
        own = _of_fit(known.fit, place)
        return cls(asked, {}, known, replace(own, hidden=int(known.people[place]) < LEAST))

    def on(self, block: Block) -> Answer:
        """Ask a table."""
        if self.known is not None:
            place = self.known.names.index(self.asked.coefficient)
            return _of_fit(self.known.on(block)[1], place)
        rows = self._rows(block)
        values = {key: _value(part, block) for key, part in self.parts.items() if key != "subset"}
        for value in values.values():
            rows &= np.isfinite(value)
        weights = None
        if self.asked.weights:
            weights = numbers(block, self.asked.weights)
            rows &= np.isfinite(weights) & (weights > 0)
            weights = weights[rows]
        return _answer({key: value[rows] for key, value in values.items()}, weights, self.parts)

    def _rows(self, block: Block) -> NDArray[np.bool_]:
        subset = self.parts.get("subset")
        if subset is None or isinstance(subset, str):
            return np.ones(block.rows, dtype=np.bool_)
        return told(subset, block)[0]


def _answer(
    values: Mapping[str, Floats], weights: Floats | None, parts: Mapping[str, str | Condition]
) -> Answer:
    """The estimate from the complete rows of the subset."""
    key = next(iter(values))
    top = values[key]
    if not len(top):
        return Answer(why="no row is in its subset and complete")
    few = len(top) < LEAST or any(
        0 < min(np.sum(value), np.sum(1 - value)) < LEAST
        for name, value in values.items()
        if not isinstance(parts[name], str)
    )
    if key == "share" and weights is None:
        found = share(int(top.sum()), len(top), level=LEVEL)
    else:
        bottom = values.get("to", np.ones(len(top)))
        found = ratio_of_sums(top, bottom, weights, level=LEVEL)
    if found is None:
        return Answer(rows=len(top), why="its denominator is 0")
    return Answer(found.value, found.error, found.low, found.high, len(top), bool(few))


def _of_fit(fit: Regression, place: int) -> Answer:
    if fit.why or not fit.estimable[place]:
        return Answer(rows=fit.rows, why=fit.why or "its rows do not determine the coefficient")
    value, error = float(fit.estimate[place]), float(fit.error[place])
    half = fit.quantile * error
    return Answer(value, error, value - half, value + half, fit.rows)


def _value(part: str | Condition, block: Block) -> Floats:
    """A column's numbers, or 1 and 0 for a condition; NaN where it cannot be told."""
    if isinstance(part, str):
        return numbers(block, part)
    true, absent = told(part, block)
    return np.where(absent, np.nan, true.astype(np.float64))


def _names(part: str | Condition) -> tuple[str, ...]:
    return (part,) if isinstance(part, str) else columns_of(part)
