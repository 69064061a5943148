"""From a formula and encoded rows to a design matrix, coded once on train for all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.tables.encode import Block
from understudy.tables.schema import Kind, Schema
from understudy.utility.condition import all_true, check_test, kind_of, numbers
from understudy.utility.formula import NUMERIC, Factor, Formula, Term
from understudy.utility.grammar import Comparison, FormulaError

Floats = NDArray[np.float64]
MOST_COLUMNS = 300
_MOST_LEVELS = 100  # distinct values of a number in C()
_APPLY: Mapping[str, Callable[[Any], Any]] = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}


class DesignError(ValueError):
    """A design that train cannot give; the message is a reason without cells."""


def check_columns(
    formula: Formula, tests: Sequence[Comparison], family: str, schema: Schema
) -> None:
    """Raise `FormulaError` where columns are absent or of a kind that the formula cannot use."""
    for factor in formula.factors:
        _check_factor(factor, schema)
    for test in tests:
        check_test(test, schema)
    response = formula.response
    if (
        response.kind != "score"
        and response.test is None
        and not schema[response.column].kind.is_numeric
    ):
        raise FormulaError(
            f"column {response.column} has levels: compare it with one, as in "
            f"{response.column} == 'level'"
        )
    if response.test is not None and family != "logistic":
        raise FormulaError(f"a comparison on the left needs family logistic, not {family}")
    if response.column in {factor.column for term in formula.terms for factor in term}:
        raise FormulaError(f"column {response.column} stands on both sides")


def _check_factor(factor: Factor, schema: Schema) -> None:
    kind = kind_of(factor.column, schema)
    if factor.test is not None:
        check_test(factor.test, schema)
    elif factor.kind in ("power", *NUMERIC) and kind is not Kind.NUMBER:
        raise FormulaError(f"{factor} needs a number, and column {factor.column} has levels")
    elif factor.kind == "score" and kind is not Kind.ORDINAL:
        raise FormulaError(f"{factor} needs ordered levels: set the kind of the column to ordinal")


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one table that a model uses.

    Attributes:
        design: rows × coefficients.
        response: the left side.
        weights: survey weights, or None.
        missing: rows left out because a value is missing (or has no logarithm).
        unseen: rows left out because train lacks their level.
        odd: rows left out because the family does not allow their response.
    """

    design: Floats
    response: Floats
    weights: Floats | None
    missing: int
    unseen: int
    odd: int


@dataclass(frozen=True, eq=False)
class Design:
    """A formula coded on train.

    Attributes:
        formula: what is coded.
        tests: which rows belong to the model at all.
        family: of the response.
        weights: the column of survey weights, or None.
        levels: the codes or values of each factor with levels, the reference first.
        labels: their names.
        columns: for each coefficient its name and, for each factor, the level (or None: a number).
    """

    formula: Formula
    tests: tuple[Comparison, ...]
    family: str
    weights: str | None
    levels: Mapping[Factor, Floats]
    labels: Mapping[Factor, tuple[str, ...]]
    columns: tuple[tuple[str, tuple[tuple[Factor, int | None], ...]], ...] = field(default=())

    @classmethod
    def of(
        cls,
        formula: Formula,
        train: Block,
        *,
        tests: tuple[Comparison, ...] = (),
        family: str = "linear",
        weights: str | None = None,
    ) -> Design:
        """Code a formula: treatment contrasts against the level of which train tells most.

        That is the level with the most rows; with a logistic response, with the most rows of the
        rarer answer, else a level without any would leave every contrast infinite.

        A factor has all its levels where the term without it is not in the formula (Chambers &
        Hastie 1992), but for main effects after the first where there is no intercept.
        """
        levels, labels = {}, {}
        inside, _ = all_true(tests, train)
        telling = (_telling(_value(formula.response, train), family) & inside, inside)
        for factor in dict.fromkeys(f for term in formula.terms for f in term):
            if _has_levels(factor, train):
                levels[factor], labels[factor] = _levels(factor, train, telling)
        columns = tuple(_columns(formula.terms, labels))
        return cls(formula, tests, family, weights, levels, labels, columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return tuple(name for name, _ in self.columns)

    def rows(self, block: Block) -> Rows:
        """The complete rows of a table that the tests let in: O(n · p)."""
        inside, absent = all_true(self.tests, block)
        values = {
            factor: _value(factor, block)
            for factor in self.formula.factors
            if factor not in self.levels
        }
        codes = {factor: self._codes(factor, block) for factor in self.levels}
        for value in values.values():
            absent |= ~np.isfinite(value)
        weight = None if self.weights is None else numbers(block, self.weights)
        if weight is not None:
            absent |= ~(np.isfinite(weight) & (weight > 0))
        unseen = np.zeros(block.rows, dtype=np.bool_)
        for code in codes.values():
            absent |= code == -1
            unseen |= code == -2
        response = values[self.formula.response]
        allowed = _allowed(response, self.family)
        used = inside & ~absent & ~unseen & allowed
        return Rows(
            self._matrix(used, values, codes),
            response[used],
            None if weight is None else weight[used],
            int((inside & absent).sum()),
            int((inside & unseen & ~absent).sum()),
            int((inside & ~absent & ~unseen & ~allowed).sum()),
        )

    def _matrix(
        self,
        used: NDArray[np.bool_],
        values: Mapping[Factor, Floats],
        codes: Mapping[Factor, NDArray[np.int64]],
    ) -> Floats:
        design = np.ones((int(used.sum()), len(self.columns)))
        for place, (_, parts) in enumerate(self.columns):
            for factor, level in parts:
                design[:, place] *= (
                    values[factor][used] if level is None else codes[factor][used] == level
                )
        return design

    def _codes(self, factor: Factor, block: Block) -> NDArray[np.int64]:
        """Position of each row's level; −1 where missing, −2 where train lacks it."""
        if factor.column in block.values:
            value = numbers(block, factor.column)
            gone = np.isnan(value)
        else:
            value = block.codes[factor.column].astype(np.float64)
            gone = block.codes[factor.column] == block.encoding[factor.column].missing
        order = np.argsort(self.levels[factor])
        known = self.levels[factor][order]
        spot = np.minimum(np.searchsorted(known, value), len(known) - 1)
        found = np.where(known[spot] == value, order[spot], -2)
        return np.asarray(np.where(gone, -1, found), dtype=np.int64)


def _value(factor: Factor, block: Block) -> Floats:
    """A factor without levels as a number; NaN where it has none."""
    if factor.test is not None:
        true, absent = all_true((factor.test,), block)
        return np.where(absent, np.nan, true.astype(np.float64))
    if factor.kind == "score":
        codes = block.codes[factor.column]
        return np.where(codes < block.encoding[factor.column].size, codes.astype(float), np.nan)
    value = numbers(block, factor.column)
    with np.errstate(all="ignore"):  # what has no logarithm is missing
        if factor.kind == "power":
            return np.asarray(value**factor.power, dtype=np.float64)
        return np.asarray(_APPLY.get(factor.kind, np.asarray)(value), dtype=np.float64)


def _telling(response: Floats, family: str) -> NDArray[np.bool_]:
    """Rows by which a reference level is chosen: the rarer answer, counts above 0, or all."""
    if family == "poisson":
        return np.asarray(response > 0, dtype=np.bool_)
    if family == "logistic":
        rarer = np.sum(response == 1) <= np.sum(response == 0)
        return np.asarray(response == float(rarer), dtype=np.bool_)
    return np.ones(len(response), dtype=np.bool_)


def _has_levels(factor: Factor, train: Block) -> bool:
    if factor.kind == "levels":
        return True
    return factor.kind == "column" and factor.column not in train.values


def _levels(
    factor: Factor, train: Block, telling: Sequence[NDArray[np.bool_]]
) -> tuple[Floats, tuple[str, ...]]:
    """Levels of a factor, its reference first."""
    name, encoding = factor.column, train.encoding[factor.column]
    if encoding.is_numeric:
        value = numbers(train, name)
        levels = np.unique(value[~np.isnan(value)])
        labels = [f"{level:g}" for level in levels]
        if len(levels) > _MOST_LEVELS:
            raise DesignError(f"C({name}) has more than {_MOST_LEVELS} different values")
    else:
        value = train.codes[name].astype(np.float64)
        levels, labels = np.arange(encoding.size, dtype=np.float64), list(encoding.levels)
    if not len(levels):
        raise DesignError(f"column {name} has no value in train")
    ranks = [tuple(int(rows[value == one].sum()) for rows in telling) for one in levels]
    first = max(range(len(levels)), key=ranks.__getitem__)
    if factor.reference is not None:
        if factor.reference not in labels:
            raise DesignError(f"C({name}, …) names a reference level that train lacks")
        first = labels.index(factor.reference)
    order = [first, *(place for place in range(len(levels)) if place != first)]
    return levels[order].astype(np.float64), tuple(labels[place] for place in order)


def _columns(
    terms: Sequence[Term], labels: Mapping[Factor, tuple[str, ...]]
) -> Iterator[tuple[str, tuple[tuple[Factor, int | None], ...]]]:
    known = {frozenset(term) for term in terms}
    full_used, made = False, 0
    for term in terms:
        choices: list[list[int | None]] = []
        for factor in term:
            if factor not in labels:
                choices.append([None])
                continue
            full = frozenset(term) - {factor} not in known
            if full and len(term) == 1:
                full, full_used = not full_used, True
            choices.append(list(range(0 if full else 1, len(labels[factor]))))
        made += int(np.prod([len(choice) for choice in choices]))
        if made > MOST_COLUMNS:
            raise DesignError(f"the model has more than {MOST_COLUMNS} coefficients")
        for picked in product(*choices):
            parts = tuple(zip(term, picked, strict=True))
            yield _name(parts, labels), parts


def _name(
    parts: Sequence[tuple[Factor, int | None]], labels: Mapping[Factor, tuple[str, ...]]
) -> str:
    words = [
        str(factor) if level is None else f"{factor.column} = {labels[factor][level]}"
        for factor, level in parts
    ]
    return " × ".join(words) or "Intercept"


def _allowed(response: Floats, family: str) -> NDArray[np.bool_]:
    if family == "logistic":
        return np.asarray((response == 0) | (response == 1), dtype=np.bool_)
    least = 0.0 if family == "poisson" else -np.inf
    return np.asarray(response >= least, dtype=np.bool_)
