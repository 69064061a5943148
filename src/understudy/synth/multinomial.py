"""One column drawn by multinomial logit with an L1 penalty (Bale & Quick §5.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.kernels import multinomial
from understudy.kernels.multinomial import MultinomialLogit
from understudy.synth import classes
from understudy.synth.base import (
    NOWHERE,
    Floats,
    Model,
    Within,
    require_range,
)
from understudy.synth.refit import swap_by_refit
from understudy.synth.terms import Term, Terms
from understudy.tables.encode import Block

_MOST_CELLS = 50  # a number with more cells has too many classes


def require_few(train: Block, column: str, model: str) -> None:
    """Raise `PlanError` where a number has more cells than a model of classes can draw."""
    encoding = train.encoding[column]
    if encoding.is_numeric and encoding.size > _MOST_CELLS:
        raise PlanError(
            column,
            model,
            f"a model for numbers, cart or mixture: it has {encoding.size} cells, and "
            f"{model} draws at most {_MOST_CELLS}",
        )


@dataclass(frozen=True)
class Multinomial(Model):
    """Draw one column of few values from p(y = k | x) ∝ exp(α_k + xβ_k).

    Coefficients minimise −C·log likelihood + Σ|β|; the intercepts α are not penalised. They are
    plugged in, not drawn.

    Attributes:
        C: inverse of the penalty's strength.
        degree: 1 for main effects, 2 or 3 for products of up to so many columns and for powers.
        max_iter: most Newton steps.
        tolerance: largest violation of the optimality conditions, in units of max(1, C).
        max_terms: most terms that ``degree`` may lead to.
    """

    name: ClassVar[str] = "multinomial"
    dear: ClassVar[float] = 10.0
    C: float = 1.0
    degree: int = 1
    max_iter: int = 100
    tolerance: float = 1e-2
    max_terms: int = 2_000

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.C", self.C, 1e-9)
        require_range(f"{where}.degree", self.degree, 1, 3, whole=True)
        require_range(f"{where}.max_iter", self.max_iter, 1, whole=True)
        require_range(f"{where}.tolerance", self.tolerance, 1e-9)
        require_range(f"{where}.max_terms", self.max_terms, 1, whole=True)

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedMultinomial:
        """Fit to train. The optimum has no randomness: the stream is not used."""
        (column,) = columns
        require_few(train, column, self.name)
        return self.refit(train.select([column, *given]), None)

    def refit(self, train: Block, begin: FittedMultinomial | None) -> FittedMultinomial:
        """Fit to a table of the column and its predictors, beginning from another fit if any."""
        column, *given = train.names
        terms = Terms.of(train, given, self.degree, self.max_terms, column)
        classes, label = np.unique(train.codes[column], return_inverse=True)
        start = None if begin is None else _carried(begin, terms, classes)
        if len(classes) == 0:
            model = MultinomialLogit(np.zeros(0), np.zeros((0, len(terms.terms))), converged=True)
        else:
            model = multinomial.fit(
                terms.matrix(train),
                label,
                len(classes),
                strength=self.C,
                tolerance=self.tolerance,
                max_iter=self.max_iter,
                begin=start,
            )
        return FittedMultinomial(self, train, terms, classes, model)


@dataclass(frozen=True, eq=False)
class FittedMultinomial(classes.OfTrain):
    """Coefficients of the classes that train has.

    Attributes:
        settings: the model.
        train: the column and its predictors.
        terms: what the coefficients belong to.
        classes: codes of the classes.
        model: the coefficients.
    """

    settings: Multinomial
    train: Block
    terms: Terms
    classes: NDArray[np.int32]
    model: MultinomialLogit

    def log_probabilities(self, rows: Block) -> Floats:
        """Log probability of every class for every row."""
        return multinomial.log_probabilities(self.model, self.terms.matrix(rows))

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw a class for every row; numbers are then drawn inside their cell."""
        name = self.columns[0]
        if len(self.classes):
            scores, spot = self.log_probabilities(given), rng.random(given.rows)
            codes = classes.draw(scores, self.classes, spot, within.get(name), self.encoding.unseen)
        else:  # train had no rows
            codes = np.full(given.rows, self.encoding.missing, dtype=np.int32)
        cells = self.encoding.cells
        values = {} if cells is None else {name: cells.draw(codes, rng)}
        return given.encoding.block({name: codes}, values, given.rows)

    def log_density(self, rows: Block) -> Floats:
        """Log probability of the row's class, times the density inside the cell of a number."""
        result = self._log_class(rows)
        if self.encoding.cells is not None:
            result = result + self.encoding.cells.log_density(rows.values[self.columns[0]])
        return result

    def _log_class(self, rows: Block) -> Floats:
        result = np.full(rows.rows, -np.inf)
        if len(self.classes):
            codes = rows.codes[self.columns[0]]
            spot = np.minimum(np.searchsorted(self.classes, codes), len(self.classes) - 1)
            known = np.flatnonzero(self.classes[spot] == codes)
            result[known] = self.log_probabilities(rows)[known, spot[known]]
        return result

    def log_prob(self, replicate: Block) -> float:
        """Sum of the log probabilities of the classes: rows share no drawn parameter.

        The density inside a number's cell depends on the frozen encoding alone and is left out.
        """
        return float(self._log_class(replicate).sum())

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Refits that begin at this fit, for the record as for each candidate."""
        return swap_by_refit(
            lambda train: self.settings.refit(train, self),
            self.train,
            record,
            candidates,
            replicates,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Coefficients, the classes' codes, and each term's columns and codes (−1: the value)."""
        names = list(self.given)
        factors = np.full((len(self.terms.terms), 3, 2), -2, dtype=np.int64)
        for row, term in enumerate(self.terms.terms):
            for spot, (name, code) in enumerate(term):
                factors[row, spot] = names.index(name), code
        return {
            "classes": self.classes,
            "intercept": self.model.intercept,
            "coefficients": self.model.coefficients,
            "terms": factors,
        }


def _carried(
    begin: FittedMultinomial, terms: Terms, classes: NDArray[np.int32]
) -> MultinomialLogit | None:
    """Coefficients to begin from: the other fit's where terms agree, 0 elsewhere."""
    if not np.array_equal(begin.classes, classes):
        return None
    if begin.terms == terms:
        return begin.model
    place: dict[Term, int] = {term: index for index, term in enumerate(begin.terms.terms)}
    coefficients = np.zeros((len(classes), len(terms.terms)))
    for index, term in enumerate(terms.terms):
        if term in place:
            coefficients[:, index] = begin.model.coefficients[:, place[term]]
    return MultinomialLogit(begin.model.intercept, coefficients)
