"""Does a model that the user writes say the same on synthetic rows as on real ones?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, alone
from understudy.kernels import coefficients
from understudy.kernels.regression import Regression, available
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Schema
from understudy.utility.coefficient_table import coefficient_table, compare_fits
from understudy.utility.regression_model import Known, Model
from understudy.utility.regression_note import describe

INSTALL = "pip install 'understudy[regression]'"
_ROWS = 100_000
_MARGIN_SD, _MARGIN_IO = 1.0, 0.25
NAMES = ("regression.difference", "regression.overlap")


@dataclass(frozen=True)
class Regressions(Measure):
    """``regression.difference`` and ``regression.overlap`` for every model of the plan.

    SD = |β̂_c − β̂_s| / se(β̂_c), and IO the mean share of each 95% interval that the other covers
    (Bale & Quick, equations 29 and 28); medians over coefficients, and over replicates in the
    pooled finding (Table 4). The reference is what a fresh sample of the release's size would
    show: the median over 2,000 draws of the normal law of the estimates, with the robust covariance
    of train's. The interval is the spread of those draws.

    Attributes:
        models: the models: ``formula``, ``family``, ``name``, ``subset``, ``weights``.
        rows: at most this many rows of each table are used; the note says so.
    """

    names: ClassVar[tuple[str, ...]] = NAMES
    about: ClassVar[str] = "utility"
    must_catch: ClassVar[str] = "permuted"
    needs_holdout: ClassVar[bool] = False
    models: tuple[Any, ...] = ()
    rows: int = _ROWS

    def check(self, where: str) -> None:
        """Read every formula; statsmodels must be there if there is one."""
        if not isinstance(self.rows, int) or isinstance(self.rows, bool) or self.rows < 100:
            raise PlanError(f"{where}.rows", self.rows, "a whole number from 100")
        if not isinstance(self.models, tuple):
            raise PlanError(f"{where}.models", self.models, f"a list of tables: [[{where}.models]]")
        names = [model.name for model in self.made(where)]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise PlanError(f"{where}.models[{place}].name", name, "a name of its own")
        if names and not available():
            raise PlanError(
                f"{where}.models",
                f"{len(names)} to fit without statsmodels",
                f"statsmodels to be installed: run  {INSTALL}",
            )

    def made(self, where: str = "measure.regression") -> tuple[Model, ...]:
        """The models, read."""
        return tuple(Model.of(f"{where}.models[{i}]", one) for i, one in enumerate(self.models))

    def fits(self, where: str, schema: Schema) -> None:
        """Refuse columns that the table lacks."""
        for place, model in enumerate(self.made(where)):
            model.fits(f"{where}.models[{place}]", schema)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> RegressionsJudge:
        """Code every formula on train, and fit it there."""
        train = evidence.train.thin(self.rows, rng)
        known = [Known.of(model, train, evidence.drawn) for model in self.made()]
        return RegressionsJudge(self, evidence, tuple(known))


@dataclass(frozen=True, eq=False)
class RegressionsJudge(Judge):
    """The models as train has them."""

    settings: Regressions
    evidence: Evidence
    known: tuple[Known, ...]

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Two numbers for each model."""
        return self._judged((release,), rng)

    def pooled(
        self, release: Sequence[Block], *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Medians over coefficients and replicates (Table 4): no table is stacked on another."""
        return self._judged(release, rng)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """A table of coefficients for each model, those of fewer than ten rows left out."""
        evidence = self.evidence
        tables = []
        for known in self.known:
            if known.why or known.fit is None:
                continue
            fits = [known.on(block.thin(self.settings.rows, rng)) for block in evidence.release]
            held = known.on(stack([evidence.control, evidence.fresh]))
            tables.append(
                {
                    "name": known.model.name,
                    "formula": known.model.formula,
                    "family": known.model.family,
                    "subset": known.model.subset,
                    "weights": known.model.weights,
                    **coefficient_table(
                        known.names,
                        known.people,
                        known.fit,
                        held[1],
                        [fit for _, fit in fits],
                        evidence.combining,
                    ),
                }
            )
        return {"regressions": tables} if tables else {}

    def _judged(self, release: Sequence[Block], rng: np.random.Generator) -> list[Estimate]:
        if not self.known:
            return [Estimate.absent(name, "the plan names no model") for name in NAMES]
        thinned = [block.thin(self.settings.rows, rng) for block in release]
        found: list[Estimate] = []
        for known in self.known:
            if known.why or known.fit is None:
                target, applies = known.model.name, known.applies
                found += [
                    Estimate.absent(name, known.why, target=target, applies=applies)
                    for name in NAMES
                ]
                continue
            found += self._compared(known, known.fit, thinned, rng)
        return found

    def _compared(
        self, known: Known, own: Regression, release: Sequence[Block], rng: np.random.Generator
    ) -> list[Estimate]:
        at = own.estimable
        fits = [known.on(block) for block in release]
        compared = [compare_fits(own, fit) for _, fit in fits]
        rows = float(np.mean([max(fit.rows, 1) for _, fit in fits]))
        spread = own.covariance[np.ix_(at, at)] / np.outer(own.error[at], own.error[at])
        chance = coefficients.by_chance(
            spread,
            own.rows / rows,
            (own.quantile, own.quantile),
            rng,
            replicates=len(release),
        )
        medians = (
            float(np.median([one.difference for one in compared])),
            float(np.median([one.overlap for one in compared])),
        )
        note = describe(known, own, fits, compared) + alone(self.evidence.train)
        # Where the model understates its errors (counts that vary more than Poisson's, say), chance
        # alone is many of them wide: the margins are, too.
        unit = max(1.0, float(np.median(np.sqrt(np.diag(spread)))))
        kinds = ((Better.LOWER, _MARGIN_SD), (Better.HIGHER, _MARGIN_IO))
        return [
            self._estimate(name, known.model.name, value, draws, better, margin, unit, note)
            for name, value, draws, (better, margin) in zip(
                NAMES, medians, chance, kinds, strict=True
            )
        ]

    def _estimate(
        self,
        name: str,
        target: str,
        value: float,
        draws: NDArray[np.float64],
        better: Better,
        margin: float,
        unit: float,
        note: str,
    ) -> Estimate:
        level = 1 - (1 - self.evidence.level) / len(self.known)
        low, middle, high = np.quantile(draws, [(1 - level) / 2, 0.5, (1 + level) / 2])
        ends = (value - float(high - middle), value + float(middle - low))
        is_share = better is Better.HIGHER
        return Estimate(
            name,
            value,
            ends[0] if is_share else max(ends[0], 0.0),
            min(ends[1], 1.0) if is_share else ends[1],
            float(middle),
            better,
            self.evidence.margin(name, margin) * unit,
            value - float(high),
            value - float(low),
            target=target,
            note=note,
        )
