"""One model of a plan: as it is written, and as train has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.kernels.regression import (
    FAMILIES,
    Regression,
    fit_regression,
    independent_columns,
)
from understudy.tables.encode import Block
from understudy.tables.schema import Role, Schema
from understudy.utility.coefficient_table import LEAST
from understudy.utility.condition import lacks
from understudy.utility.design import Design, DesignError, Rows, check_columns
from understudy.utility.formula import Formula, parse_formula, parse_subset
from understudy.utility.grammar import Comparison, FormulaError


@dataclass(frozen=True)
class Model:
    """One model of a plan.

    Attributes:
        formula: what explains what.
        family: ``logistic``, ``linear`` or ``poisson``.
        name: what findings call it (default: the formula).
        subset: comparisons joined by ``&``: the rows that the model is about.
        weights: a column of role ``weight``: survey weights.
    """

    formula: str = ""
    family: str = "linear"
    name: str = ""
    subset: str = ""
    weights: str = ""

    @classmethod
    def of(cls, where: str, table: Any) -> Model:
        """Read an entry of a plan, naming the key that is wrong."""
        if not isinstance(table, Mapping):
            raise PlanError(where, table, "a table of keys: [[measure.regression.models]]")
        known = [item.name for item in fields(cls)]
        for key, value in table.items():
            if key not in known:
                raise PlanError(f"{where}.{key}", key, f"one of {', '.join(known)}")
            if not isinstance(value, str):
                raise PlanError(f"{where}.{key}", value, "a text in quotes")
        made = cls(**table)
        if made.family not in FAMILIES:
            raise PlanError(f"{where}.family", made.family, f"one of {', '.join(FAMILIES)}")
        made.read(where)
        return made if made.name else replace(made, name=made.formula)

    def read(self, where: str) -> tuple[Formula, tuple[Comparison, ...]]:
        """The formula and the subset; `PlanError` where they cannot be read."""
        try:
            formula = parse_formula(self.formula)
        except FormulaError as error:
            raise PlanError(f"{where}.formula", self.formula, f"a formula: {error}") from None
        try:
            return formula, parse_subset(self.subset) if self.subset else ()
        except FormulaError as error:
            raise PlanError(f"{where}.subset", self.subset, f"comparisons: {error}") from None

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where it names columns that the table lacks or cannot use."""
        formula, tests = self.read(where)
        try:
            check_columns(formula, tests, self.family, schema)
        except FormulaError as error:
            raise PlanError(f"{where}.formula", self.formula, f"a formula: {error}") from None
        if self.weights:
            weights = [n for n in schema.with_role(Role.WEIGHT) if schema[n].kind.is_numeric]
            if self.weights not in weights:
                known = f"a number of role weight ({', '.join(weights) or 'there is none'})"
                raise PlanError(f"{where}.weights", self.weights, known)


@dataclass(frozen=True, eq=False)
class Known:
    """A model on train: its coding and its fit; or why there is none.

    Attributes:
        model: the plan's entry.
        keep: the coefficients that train's columns do not explain by one another.
        people: rows of train in the cell of each coefficient (all for a number).
        dropped: how many coefficients the columns of train made superfluous.
        why: why there is no fit; ``applies`` is false where the question makes no sense.
    """

    model: Model
    design: Design | None = None
    rows: Rows | None = None
    fit: Regression | None = None
    keep: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    why: str = ""
    applies: bool = True

    @classmethod
    def of(cls, model: Model, train: Block, drawn: Sequence[str]) -> Known:
        """Code and fit a model on train."""
        formula, tests = model.read("measure.regression.models")
        columns = (*formula.columns, *(test.column for test in tests), model.weights)
        absent = [name for name in columns if name and name not in train.names]
        if absent:
            return cls(model, why=f"some table lacks the column {absent[0]}")
        if not set(columns) & set(drawn):
            return cls(model, why="all its columns are kept as they were", applies=False)
        compared = [factor.test for factor in formula.factors if factor.test is not None]
        if any(lacks(test, train) for test in (*compared, *tests)):
            return cls(model, why="a level that it compares with does not occur in train")
        try:
            design = Design.of(
                formula, train, tests=tests, family=model.family, weights=model.weights or None
            )
        except DesignError as error:
            return cls(model, why=str(error))
        return cls._fitted(model, design, design.rows(train))

    @classmethod
    def _fitted(cls, model: Model, design: Design, rows: Rows) -> Known:
        known = cls(model, design, rows)
        if rows.odd:
            why = f"the left side takes values that the family {model.family} does not allow"
            return replace(known, why=why)
        if len(rows.response) < LEAST:
            return replace(known, why=f"fewer than {LEAST} complete rows of train")
        if np.ptp(rows.response) == 0:
            return replace(known, why="the left side does not vary in train", applies=False)
        keep = independent_columns(rows.design)
        fit = fit_regression(rows.design[:, keep], rows.response, model.family, rows.weights)
        known = replace(known, fit=fit, keep=keep)
        if fit.why or not fit.estimable.any():
            return replace(known, why=fit.why or "train determines none of its coefficients")
        return known

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients in the fit."""
        return () if self.design is None else tuple(self.design.names[k] for k in self.keep)

    @property
    def people(self) -> NDArray[np.int64]:
        """Rows of train in the cell of each coefficient."""
        assert self.rows is not None
        return np.asarray(np.count_nonzero(self.rows.design[:, self.keep], axis=0))

    def on(self, block: Block) -> tuple[Rows, Regression]:
        """The same model on another table."""
        assert self.design is not None
        rows = self.design.rows(block)
        design = rows.design[:, self.keep]
        if not len(design):
            return rows, Regression.nothing(len(self.keep), 0, "it has no complete rows")
        return rows, fit_regression(design, rows.response, self.model.family, rows.weights)
