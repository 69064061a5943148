"""Bale & Quick, Table 4: does a logistic regression say the same on synthetic rows?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MissingExtra
from understudy.kernels import coefficients
from understudy.kernels.regression import available, fit_regression
from understudy.reproduce.application import Application, Numbers, gathered, peers_of
from understudy.reproduce.item import Bench
from understudy.reproduce.outbreak import DESIGNS, HELD, TUNED, Round, coordinates
from understudy.reproduce.peers import PAPERS_OWN
from understudy.reproduce.result import Cell, Claim, Grid, Result
from understudy.seeds import stream
from understudy.tables.encode import Block

Floats = NDArray[np.float64]
PRINTED: Mapping[str, tuple[float, float]] = {
    HELD: (1.32, 0.63),
    "MNL": (0.79, 0.81),
    "MNL, prevention": (1.21, 0.70),
    "CART": (1.21, 0.70),
    "CART, prevention": (1.96, 0.45),
    PAPERS_OWN: (2.13, 0.54),
}
DRAWS = 500  # of the bootstrap over rounds


@dataclass(frozen=True)
class Table4(Application):
    """Median standardised difference and interval overlap over coefficients and tables."""

    name: ClassVar[str] = "table4"
    title: ClassVar[str] = "A logistic regression on train and on synthetic rows"
    source: ClassVar[str] = "Table 4, section 7.2"

    def ready(self, bench: Bench) -> None:
        """Regressions are those of statsmodels."""
        super().ready(bench)
        if not available():
            raise MissingExtra("statsmodels", "regression", "table4")

    def run(self, bench: Bench) -> Result:
        """Medians in both designs."""
        numbers = self.both(bench, compared)
        disjoint = numbers["disjoint"]
        return self.found(
            bench,
            [
                Claim.between(
                    "Disjoint: the logit's coefficients are nearer to train's than the holdout's "
                    "are (median standardised difference, holdout minus MNL)",
                    {"MNL": _gap(disjoint, HELD, "MNL", 0)},
                    low=0.0,
                ),
                Claim.between(
                    "Disjoint: prevention raises the median standardised difference",
                    {v.name: _gap(disjoint, v.protected, v.name, 0) for v in TUNED},
                    low=0.0,
                ),
                Claim.between(
                    "Disjoint: prevention lowers the median interval overlap",
                    {v.name: _gap(disjoint, v.protected, v.name, 1) for v in TUNED},
                    high=0.0,
                ),
                *(
                    Claim.between(
                        f"Disjoint: {peer}'s coefficients are further from train's than ours "
                        f"(median standardised difference, {peer} minus ours)",
                        {v.name: _gap(disjoint, peer, v.name, 0) for v in TUNED},
                        low=0.0,
                    )
                    for peer in peers_of(bench)
                ),
            ],
            [_grid(design, numbers[design], bench.seed) for design in DESIGNS],
            notes=[_MODEL],
        )


def compared(one: Round) -> Numbers:
    """Standardised differences and overlaps of every table's coefficients (2 × coefficients)."""
    own = _fitted(one.train, one.train)
    found: dict[str, Any] = {}
    for name, block in one.tables.items():
        other = _fitted(one.train, block)
        quantiles = (own.quantile, other.quantile if np.isfinite(other.quantile) else own.quantile)
        both = coefficients.compare(own.estimate, own.error, other.estimate, other.error, quantiles)
        found[name] = np.stack([both.difference, both.overlap])
    return found


def _fitted(train: Block, rows: Block) -> Any:
    place = coordinates(train, rows)
    longitude, latitude, sex, age, _ = place.T
    dead = rows.codes["outcome"] == train.encoding["outcome"].levels.index("deceased")
    columns = [np.ones(rows.rows), latitude, longitude, age, sex, latitude * longitude, sex * age]
    return fit_regression(np.column_stack(columns), dead.astype(np.float64), "logistic")


def _gap(numbers: Sequence[Numbers], one: str, other: str, k: int) -> Cell:
    """Mean difference of two tables' medians, round by round."""
    first, second = (np.median(gathered(numbers, n)[:, k], axis=1) for n in (one, other))
    return Cell.mean(first - second)


def _grid(design: str, numbers: Sequence[Numbers], seed: int) -> Grid:
    paper = design == "overlapping"
    rows = []
    for name in numbers[0]:
        theirs = PRINTED.get(name, (None, None)) if paper else (None, None)
        values = gathered(numbers, name)
        medians = (_median(values[:, k], seed, theirs[k]) for k in (0, 1))
        rows.append((name, tuple(medians)))
    head = ("Table", "Median SD", "Median IO")
    return Grid(f"{design.capitalize()} design", head, tuple(rows))


def _median(values: Floats, seed: int, theirs: float | None) -> Cell:
    """Median over rounds and coefficients; its error by drawing rounds anew."""
    rng = stream(seed, "table4", "median")
    drawn = values[rng.integers(0, len(values), (DRAWS, len(values)))]
    error = float(np.median(drawn.reshape(DRAWS, -1), axis=1).std())
    return Cell(float(np.median(values)), error, theirs, len(values))


_MODEL = (
    "Death by latitude, longitude, age, sex, latitude × longitude and sex × age, unpenalised; "
    "place, age and sex are standardised by train. Medians are over seven coefficients and all "
    "tables; standard errors are from drawing rounds anew. SD is |β_c − β_s|/se(β_c) (29), IO "
    "the interval overlap (28), whose printed min(u_c − u_s) is read as min(u_c, u_s)."
)
