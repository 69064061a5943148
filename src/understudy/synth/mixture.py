"""Numbers drawn jointly from a Gaussian mixture (Bale & Quick §5.1).

The pattern of missing values is drawn first, then a point of a mixture that was fitted to the
complete rows; the values that the pattern wants missing are dropped. Values are independent of the
pattern: that numbers of people with gaps differ is not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.kernels import leaves, mixture
from understudy.kernels.mixture import GaussianMixture
from understudy.synth.base import NOWHERE, Fitted, Floats, Model, Within, require_range
from understudy.synth.mixture_parts import FitReport, Patterns, Scale, report
from understudy.synth.refit import swap_by_refit
from understudy.tables.encode import Block

_ROUNDS = 50  # draws of a row before a restriction counts as impossible


@dataclass(frozen=True)
class Mixture(Model):
    """Draw several numbers at once from Σ_k π_k N(μ_k, Σ_k).

    A visit of this model has no predictors: columns given are not looked at. Parameters are
    plugged in, not drawn; only the shares of the missing patterns are (Bayesian bootstrap).

    Attributes:
        components: K; fewer where train has fewer distinct complete rows (the report says so).
        starts: k-means++ starts, of which the likeliest fit is kept.
        max_iter: most EM steps of a start.
        tolerance: stop when the log likelihood per row rises by less.
        floor: added to every variance, on standardised numbers.
        grid: put values on the column's own grid and inside train's range.
    """

    name: ClassVar[str] = "mixture"
    dear: ClassVar[float] = 5.0
    many: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("numbers",)
    components: int = 10
    starts: int = 5
    max_iter: int = 200
    tolerance: float = 1e-3
    floor: float = 1e-6
    grid: bool = True

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.components", self.components, 1, whole=True)
        require_range(f"{where}.starts", self.starts, 1, whole=True)
        require_range(f"{where}.max_iter", self.max_iter, 1, whole=True)
        require_range(f"{where}.tolerance", self.tolerance, 0.0)
        require_range(f"{where}.floor", self.floor, 1e-10)

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedMixture:
        """Fit by EM to the complete rows; ``given`` is not looked at."""
        for name in columns:
            if not train.encoding[name].is_numeric:
                raise PlanError(name, self.name, "a model for categories: multinomial or cart")
        train = train.select(list(columns))
        scale = Scale.of(train)
        points = scale.complete(train)
        components = min(self.components, len(np.unique(points, axis=0)))
        if components == 0 or points.shape[1] == 0:
            fitted = _independent(scale.points(train), self.floor)
        else:
            fitted = mixture.fit(
                points,
                components,
                starts=self.starts,
                max_iter=self.max_iter,
                tolerance=self.tolerance,
                floor=self.floor,
                rng=rng,
            )
        return self._fitted(train, scale, fitted)

    def refit(self, train: Block, begin: GaussianMixture) -> FittedMixture:
        """Fit to a slightly different train: EM from parameters that are nearly right."""
        scale = Scale.of(train)
        points = scale.complete(train)
        if points.shape[1] != begin.means.shape[1] or len(points) < begin.components:
            return self.fit(train, train.names, (), rng=np.random.default_rng(0))
        fitted = mixture.climb(
            points, begin, max_iter=self.max_iter, tolerance=self.tolerance, floor=self.floor
        )
        return self._fitted(train, scale, fitted)

    def _fitted(self, train: Block, scale: Scale, fitted: GaussianMixture) -> FittedMixture:
        patterns = Patterns.of(train)
        return FittedMixture(self, train, scale, patterns, fitted)


@dataclass(frozen=True, eq=False)
class FittedMixture(Fitted):
    """A mixture of standardised numbers, with the patterns of missing values."""

    settings: Mixture
    train: Block
    scale: Scale
    patterns: Patterns
    mixture: GaussianMixture
    given: tuple[str, ...] = ()
    weight: Floats | None = None

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are drawn together."""
        return self.train.names

    @property
    def report(self) -> FitReport:
        """How the fit went: likelihood, BIC, determinants, components that collapsed."""
        points = self.scale.complete(self.train)
        return report(self.mixture, points, self.settings.components, self.settings.floor)

    def realised(self, rng: np.random.Generator) -> FittedMixture:
        """With one replicate's shares of the patterns."""
        return replace(self, weight=self.patterns.weights(rng))

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw rows: patterns among those that restrictions leave, then values by rejection.

        Values that a restriction forbids are drawn again, up to 50 times.
        """
        limits = {name: within[name] for name in self.columns if name in within}
        weight = self.patterns.weights(rng) if self.weight is None else self.weight
        possible = self._possible(given.rows, limits)
        pattern = self.patterns.draw(possible, weight, rng)
        # Where rules say nothing about missing values, how often they are drawn does not change.
        keep = all(limit.missing is not None for limit in limits.values())
        values = self._draw(pattern, rng)
        bad = self._forbidden(values, np.flatnonzero(pattern >= 0), limits)
        for _ in range(_ROUNDS):
            if not bad.size:
                break
            if not keep:
                pattern[bad] = self.patterns.draw(possible[bad], weight, rng)
            values[bad] = self._draw(pattern[bad], rng)
            bad = self._forbidden(values, bad, limits)
        pattern[bad] = -1
        return self._block(given, values, pattern < 0)

    def near(self, record: Block, *, rng: np.random.Generator) -> Block:
        """Draw from the component with the highest responsibility for the record (eq. 25).

        With the record's own pattern of missing values.
        """
        point = self.scale.points(record.select(self.columns).take(slice(0, 1)))
        here = np.flatnonzero(~np.isnan(point[0]))
        owner = mixture.owners(mixture.marginal(self.mixture, here), point[:, here])
        points = mixture.draw_from(self.mixture, np.repeat(owner, record.rows), rng)
        values = self.scale.values(points, grid=self.settings.grid)
        for index, name in enumerate(self.columns):
            values[np.isnan(record.values[name]), index] = np.nan
        return self._block(record, values, np.zeros(record.rows, dtype=bool))

    def _possible(self, rows: int, limits: Within) -> NDArray[np.bool_]:
        """Which patterns each row may have (rows × patterns)."""
        possible = np.ones((rows, len(self.patterns.count)), dtype=bool)
        for index, name in enumerate(self.columns):
            if name not in limits:
                continue
            limit, encoding = limits[name], self.train.encoding[name]
            lost = limit.permits(np.full(rows, encoding.missing, dtype=np.int32))
            there = np.ones(rows, dtype=bool)
            if limit.allowed is not None and limit.group is not None:
                some = np.asarray(limit.allowed[:, : encoding.size].any(axis=1))
                there = some[limit.group]
            missing = self.patterns.missing[:, index]
            possible &= np.where(missing[None, :], lost[:, None], there[:, None])
        return possible

    def _draw(self, pattern: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        points = mixture.draw(self.mixture, len(pattern), rng)
        values = self.scale.values(points, grid=self.settings.grid)
        values[self.patterns.missing[pattern]] = np.nan
        return values

    def _codes(self, values: Floats) -> dict[str, NDArray[np.int32]]:
        result = {}
        for index, name in enumerate(self.columns):
            cells = self.train.encoding[name].cells
            assert cells is not None
            result[name] = cells.of(values[:, index])
        return result

    def _forbidden(
        self, values: Floats, rows: NDArray[np.int64], limits: Within
    ) -> NDArray[np.int64]:
        """Those of ``rows`` whose values some restriction forbids."""
        good = np.ones(len(rows), dtype=bool)
        codes = self._codes(values[rows]) if limits else {}
        for name, limit in limits.items():
            good &= limit.take(rows).permits(codes[name])
        return rows[~good]

    def _block(self, given: Block, values: Floats, nothing: NDArray[np.bool_]) -> Block:
        values[nothing] = np.nan
        codes = self._codes(values)
        for name, code in codes.items():
            code[nothing] = given.encoding[name].unseen
        drawn = {name: values[:, i].copy() for i, name in enumerate(self.columns)}
        return given.encoding.block(codes, drawn, given.rows)

    def log_density(self, rows: Block) -> Floats:
        """Log share of the row's missing pattern plus log density of its values, in their units.

        The density is the mixture's: that draws are put on the grid and into train's range is not
        in it.
        """
        rows = rows.select(self.columns)
        pattern = self.patterns.find(rows)
        share = np.append(self.patterns.count, 0) / max(self.train.rows, 1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share)[pattern] + self._log_values(rows, pattern))

    def log_prob(self, replicate: Block) -> float:
        """Dirichlet-multinomial for the patterns, plug-in densities for the values.

        The mixture's parameters are not drawn, so given the patterns rows are independent.
        """
        replicate = replicate.select(self.columns)
        pattern = self.patterns.find(replicate)
        shape = (1, len(self.patterns.count) + 1)
        root = np.zeros(replicate.rows, dtype=np.int32)
        present = np.arange(len(self.patterns.count))
        donors = leaves.Tally(*shape, present, self.patterns.count)
        patterns = leaves.log_marginal(donors, leaves.tally(root, pattern, *shape))
        return patterns + float(self._log_values(replicate, pattern).sum())

    def _log_values(self, rows: Block, pattern: NDArray[np.int32]) -> Floats:
        """Log density of the present values: the mixture's marginal, pattern by pattern."""
        points = self.scale.points(rows)
        result = self.scale.log_constant(rows)
        for which in np.unique(pattern[pattern < len(self.patterns.count)]):
            part = np.flatnonzero(pattern == which)
            here = np.flatnonzero(~self.patterns.missing[which][self.scale.varies])
            if here.size:
                inner = mixture.marginal(self.mixture, here)
                units = np.log(self.scale.spread[self.scale.varies][here]).sum()
                result[part] += mixture.log_density(inner, points[np.ix_(part, here)]) - units
        return result

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Refits with EM from this fit's parameters, for the record as for each candidate."""
        return swap_by_refit(
            lambda train: self.settings.refit(train, self.mixture),
            self.train,
            record,
            candidates,
            replicates,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The mixture, the scale and the patterns."""
        return {
            "weights": self.mixture.weights,
            "means": self.mixture.means,
            "covariances": self.mixture.covariances,
            **{f"scale.{key}": value for key, value in vars(self.scale).items()},
            "patterns.missing": self.patterns.missing,
            "patterns.count": self.patterns.count,
        }


def _independent(points: Floats, floor: float) -> GaussianMixture:
    """One component with each column's own mean and variance: there is no complete row."""
    present = ~np.isnan(points)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, points, 0.0).sum(axis=0) / count
    variance = np.where(present, (points - mean) ** 2, 0.0).sum(axis=0) / count
    return GaussianMixture(np.ones(1), mean[None, :], np.diag(variance + floor)[None], 0.0)
