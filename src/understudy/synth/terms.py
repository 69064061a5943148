"""Terms of a linear predictor: dummies, standardised numbers, and their products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from understudy.errors import PlanError
from understudy.synth.base import Floats
from understudy.tables.encode import Block, Encoding

VALUE = -1  # stands for the standardised value of a number instead of a dummy's code

Factor = tuple[str, int]
Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Terms:
    """Products of at most three factors; a factor is a dummy or a standardised number.

    A level's dummy is left out for the encoding's first level, which is the reference; a level that
    train never had counts as the reference. A missing number is 0 with a dummy of its own.
    """

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, train: Block, given: Sequence[str], degree: int, most: int, column: str) -> Terms:
        """List the terms that train can tell something about.

        Raises:
            PlanError: there would be more than ``most``.
        """
        groups = [_factors(train, name) for name in given]
        count = _count(groups, degree)
        if count > most:
            raise PlanError(
                "degree",
                degree,
                f"at most {most} terms, and {column} would have {count} of them: lower the "
                "degree, give fewer columns, merge rare levels, or raise max_terms",
            )
        factors = [factor for group in groups for factor in group]
        return cls(
            tuple(
                term
                for size in range(1, degree + 1)
                for term in combinations_with_replacement(factors, size)
                if _possible(term)
            )
        )

    def matrix(self, rows: Block) -> Floats:
        """Rows × terms."""
        needed = {factor for term in self.terms for factor in term}
        column = {factor: _column(rows, *factor) for factor in needed}
        result = np.ones((rows.rows, len(self.terms)))
        for index, term in enumerate(self.terms):
            for factor in term:
                result[:, index] *= column[factor]
        return result


def _factors(train: Block, name: str) -> list[Factor]:
    """Dummies of the codes that train has, and the value of a number that varies."""
    encoding = train.encoding[name]
    present = {int(code) for code in np.unique(train.codes[name])}
    missing = [(name, encoding.missing)] if encoding.missing in present else []
    if encoding.is_numeric:
        varies = encoding.sd > 0 and len(present - {encoding.missing}) > 0
        return ([(name, VALUE)] if varies else []) + missing
    levels = [(name, code) for code in sorted(present) if 0 < code < encoding.size]
    return levels + missing


def _possible(term: Term) -> bool:
    """Powers of numbers, and products over different columns; no other is a term of its own."""
    codes: dict[str, int] = {}
    for name, code in term:
        if name in codes and not (code == codes[name] == VALUE):
            return False
        codes[name] = code
    return True


def _count(groups: Sequence[Sequence[Factor]], degree: int) -> int:
    """Number of terms, from the product of one polynomial per column, without listing them."""
    total = np.zeros(degree + 1, dtype=object)
    total[0] = 1
    for group in groups:
        own = [1, len(group)] + [int(VALUE in {code for _, code in group})] * (degree - 1)
        total = np.convolve(total, np.array(own, dtype=object))[: degree + 1]
    return int(sum(total[1:]))


def _column(rows: Block, name: str, code: int) -> Floats:
    if code == VALUE:
        return standardised(rows.encoding, name, rows.values[name])
    return np.asarray(rows.codes[name] == code, dtype=np.float64)


def standardised(encoding: Encoding, name: str, values: Floats) -> Floats:
    """(x − mean) / sd of the frozen encoding, 0 where missing."""
    return np.nan_to_num((values - encoding[name].mean) / (encoding[name].sd or 1.0))
