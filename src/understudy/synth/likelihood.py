"""One column drawn by multinomial logit, fitted by maximum likelihood with a weak ridge.

The model of partial synthesis in Reiter, Wang & Zhang (§4): coefficients are plugged in. What one
record changes is found for many candidates at once, by fits that begin at this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from understudy.errors import PlanError
from understudy.kernels import ridge_logit
from understudy.kernels.multinomial import MultinomialLogit
from understudy.kernels.ridge_logit import Change, Refits, RidgeLogit
from understudy.synth.base import (
    NOWHERE,
    Floats,
    Model,
    Recall,
    Within,
    crossed,
    require_range,
)
from understudy.synth.multinomial import FittedMultinomial, require_few
from understudy.synth.refit import distinct, swap_by_refit
from understudy.synth.terms import Terms
from understudy.tables.encode import Block

Ints = NDArray[np.int64]
_BATCH = 6_000_000  # numbers of the largest array of a batch of problems


@dataclass(frozen=True)
class MultinomialML(Model):
    """Draw one column of few values from p(y = k | x) ∝ exp(xβ_k), β_1 = 0.

    Coefficients maximise log likelihood − ridge/2 · Σβ². They are plugged in, or drawn once per
    replicate from N(β̂, H⁻¹), H the Hessian at the optimum.

    Attributes:
        draw: draw coefficients anew for each replicate.
        ridge: keeps coefficients finite where classes are separated, and collinear terms apart.
        degree: 1 for main effects, 2 or 3 for products of up to so many columns and for powers.
        max_iter: most Newton steps.
        max_terms: most terms that ``degree`` may lead to.
        max_size: most coefficients, since their Hessian is factorised.
    """

    name: ClassVar[str] = "multinomial-ml"
    dear: ClassVar[float] = 3.0
    draw: bool = False
    ridge: float = 0.01
    degree: int = 1
    max_iter: int = 100
    max_terms: int = 2_000
    max_size: int = 4_000

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.ridge", self.ridge, 1e-9)
        require_range(f"{where}.degree", self.degree, 1, 3, whole=True)
        require_range(f"{where}.max_iter", self.max_iter, 1, whole=True)
        require_range(f"{where}.max_terms", self.max_terms, 1, whole=True)
        require_range(f"{where}.max_size", self.max_size, 1, whole=True)

    @property
    def proper(self) -> bool:
        """Coefficients are drawn anew for each replicate."""
        return self.draw

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedLikelihood:
        """Fit to train. The optimum has no randomness: the stream is not used."""
        (column,) = columns
        require_few(train, column, self.name)
        return self.refit(train.select([column, *given]))

    def refit(self, train: Block) -> FittedLikelihood:
        """Fit to a table of the column and its predictors."""
        column, *given = train.names
        terms = Terms.of(train, given, self.degree, self.max_terms, column)
        classes, label = np.unique(train.codes[column], return_inverse=True)
        size = max(len(classes) - 1, 0) * (len(terms.terms) + 1)
        if size > self.max_size:
            raise PlanError(
                "max_size",
                self.max_size,
                f"at least {size:,}, the coefficients of {column} ({len(classes)} classes, "
                f"{len(terms.terms) + 1} terms): give fewer columns, merge rare levels, use the "
                "model multinomial, or raise it",
            )
        design = _design(terms, train)
        found = RidgeLogit(np.zeros((0, design.shape[1])), 0.0, 0, np.zeros((0, 0)))
        if len(classes) > 1:
            found = ridge_logit.fit(
                design, label, len(classes), ridge=self.ridge, max_iter=self.max_iter
            )
        first = np.zeros((min(len(classes), 1), design.shape[1]))
        beta = np.concatenate([first, found.beta])
        model = MultinomialLogit(beta[:, 0], beta[:, 1:], iterations=found.iterations)
        return FittedLikelihood(self, train, terms, classes, model, found)


@dataclass(frozen=True, eq=False)
class FittedLikelihood(FittedMultinomial):
    """Coefficients of the classes that train has, and the factor of their Hessian.

    Attributes:
        found: the fit.
        recall: sums of the replicates that were asked about.
    """

    settings: MultinomialML  # type: ignore[assignment]
    found: RidgeLogit
    recall: Recall[_Released] = field(default_factory=Recall, repr=False)

    @property
    def fast(self) -> bool:
        """Candidates are fitted many at a time, from this fit; not where coefficients are drawn."""
        return not self.settings.draw

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw coefficients, if they are drawn, then a class for every row."""
        if not self.settings.draw or len(self.classes) < 2:
            return super().sample(given, rng=rng, within=within)
        noise = rng.standard_normal(self.found.beta.size)
        moved = solve_triangular(self.found.root, noise, lower=True, trans="T")
        beta = np.zeros((len(self.classes), self.found.beta.shape[1]))
        beta[1:] = self.found.beta + moved.reshape(self.found.beta.shape)
        model = MultinomialLogit(beta[:, 0], beta[:, 1:])
        plain = replace(self, settings=replace(self.settings, draw=False), model=model)
        return plain.sample(given, rng=rng, within=within)

    def log_prob(self, replicate: Block) -> float:
        """Sum of the log probabilities of the classes; marginal over coefficients if drawn.

        The integral over drawn coefficients is by Laplace's method.
        """
        if not self.settings.draw or len(self.classes) < 2:
            return super().log_prob(replicate)
        if (self._label(replicate) < 0).any():
            return -np.inf
        released = self.recall(replicate, self._released)
        return ridge_logit.log_evidence(released.design, released.times, released.sums, self.found)

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Real refits, cold: what `swaps` is held against."""
        return swap_by_refit(
            self.settings.refit, self.train, record, candidates, replicates, base=self
        )

    def swaps(
        self, rows: Block, records: Ints, candidates: Block, replicates: Sequence[Block]
    ) -> Floats:
        """Fits for all records and candidates, in batches that begin at this fit.

        Candidates that agree on the model's own columns share one. Classes and terms are held;
        where a candidate brings a class or a level that train lacks, the model is fitted anew.
        """
        if self.settings.draw:
            return super().swaps(rows, records, candidates, replicates)
        names = [name for name in candidates.names if name in self.reads]
        first, same = distinct(candidates.select(names))
        some = candidates.select(names).take(first)
        moved = crossed(rows.select(self.reads), some)
        result = np.full((len(replicates), len(records) * some.rows), np.nan)
        label = self._label(moved)
        strange = (label < 0) | self._strange(moved)
        design = _design(self.terms, moved)
        each = np.repeat(records, some.rows)
        own = (label == self._labels[each]) & (design == self._design[each]).all(axis=1)
        result[:, own & ~strange] = 0.0
        todo = np.flatnonzero(~own & ~strange) if len(self.classes) > 1 else np.zeros(0, int)
        size = max(self.found.beta.shape[0] * len(self._design), self.found.beta.size * 24)
        for begin in range(0, len(todo), max(_BATCH // max(size, 1), 1)):
            part = todo[begin : begin + max(_BATCH // max(size, 1), 1)]
            result[:, part] = self._solved(each[part], design[part], label[part], replicates)
        for spot in np.flatnonzero(strange):
            one = moved.take(np.array([spot]))
            result[:, spot] = self.swap(int(each[spot]), one, replicates)[:, 0]
        return result.reshape(len(replicates), len(records), -1)[:, :, same]

    def _solved(self, each: Ints, new: Floats, label: Ints, replicates: Sequence[Block]) -> Floats:
        """Change of log p(Z) for problems in which record ``each`` becomes another."""
        old_label = self._labels[each]
        change = Change(self._design[each], old_label, new, label, np.ones(len(each)))
        beta, _ = self._refits.solve(change)
        result = np.empty((len(replicates), len(each)))
        for index, replicate in enumerate(replicates):
            released = self.recall(replicate, self._released)
            before = released.log_prob(self.found.beta[None])
            result[index] = released.log_prob(beta) - before
            # The last member of a class takes it away: whatever was drawn of it is impossible.
            gone = (self._count[old_label] == 1) & (old_label != label)
            result[index, gone & (released.count[old_label] > 0)] = -np.inf
        return result

    def left_out(self, rows: Block, records: Ints, candidates: Block) -> Floats | None:
        """Log probabilities by fits without each record."""
        if len(self.classes) < 2:
            return np.zeros((len(records), candidates.rows))
        zero = np.zeros(len(records))
        old, label = self._design[records], self._labels[records]
        moved = crossed(rows.select(self.reads), candidates)
        design = _design(self.terms, moved).reshape(len(records), candidates.rows, -1)
        place = self._label(moved).reshape(len(records), -1)
        result = np.empty(place.shape)
        width = max(self.found.beta.shape[0] * len(self._design), self.found.beta.size * 24)
        step = max(_BATCH // width, 1)
        for begin in range(0, len(records), step):
            part = slice(begin, begin + step)
            change = Change(old[part], label[part], old[part], label[part], zero[part])
            beta, _ = self._refits.solve(change)
            scores = np.einsum("bkt,bct->bkc", beta, design[part])
            scores = np.concatenate([np.zeros_like(scores[:, :1]), scores], axis=1)
            share = scores - ridge_logit.log_totals(scores[:, 1:])[:, None]
            mine = place[part]
            picked = np.take_along_axis(share, np.maximum(mine, 0)[:, None, :], axis=1)[:, 0]
            lone = self._count[label[part]] == 1
            absent = (mine < 0) | (lone[:, None] & (mine == label[part][:, None]))
            result[part] = np.where(absent, -np.inf, picked)
        return result

    @cached_property
    def _design(self) -> Floats:
        return _design(self.terms, self.train)

    @cached_property
    def _labels(self) -> Ints:
        return np.searchsorted(self.classes, self.train.codes[self.columns[0]])

    @cached_property
    def _count(self) -> Ints:
        return np.bincount(self._labels, minlength=len(self.classes))

    @cached_property
    def _refits(self) -> Refits:
        sums = ridge_logit.label_sums(self._design, self._labels, len(self.classes))
        return Refits(self._design, sums, self.found, self.settings.ridge)

    def _label(self, rows: Block) -> Ints:
        """Class of each row, −1 where train has none like it."""
        codes = rows.codes[self.columns[0]]
        spot = np.minimum(np.searchsorted(self.classes, codes), max(len(self.classes) - 1, 0))
        if not len(self.classes):
            return np.full(rows.rows, -1, dtype=np.int64)
        return np.where(self.classes[spot] == codes, spot, -1)

    def _strange(self, rows: Block) -> NDArray[np.bool_]:
        """Rows with a level that train lacks: a fit to them would have a term more."""
        result = np.zeros(rows.rows, dtype=bool)
        for name in self.given:
            result |= ~np.isin(rows.codes[name], np.unique(self.train.codes[name]))
        return result

    def _released(self, replicate: Block) -> _Released:
        design, label = _design(self.terms, replicate), self._label(replicate)
        known = label >= 0
        sums = ridge_logit.label_sums(design[known], label[known], len(self.classes))
        rows, times = np.unique(design[known], axis=0, return_counts=True)
        count = np.bincount(label[known], minlength=len(self.classes))
        return _Released(rows, times.astype(np.float64), sums, count)


@dataclass(frozen=True, eq=False)
class _Released:
    """A replicate as a logit sees it. Rows of a class that train lacks are left out: impossible.

    Attributes:
        design: distinct rows.
        times: how often each occurs.
        sums: what the labels add up to.
        count: rows of each class.
    """

    design: Floats
    times: Floats
    sums: Floats
    count: Ints

    def log_prob(self, beta: Floats) -> Floats:
        """Log probability of its labels under many coefficients."""
        problems, classes, terms = beta.shape
        scores = beta.reshape(-1, terms) @ self.design.T
        total = ridge_logit.log_totals(scores.reshape(problems, classes, -1)) @ self.times
        return np.asarray(np.tensordot(beta, self.sums, 2) - total, dtype=np.float64)


def _design(terms: Terms, rows: Block) -> Floats:
    """Rows × terms, the constant first."""
    return np.concatenate([np.ones((rows.rows, 1)), terms.matrix(rows)], axis=1)
