"""Correlations of columns with gaps, and which columns make them (nearly) singular."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Floats = NDArray[np.float64]
_PART = 0.1  # a coefficient at least this large, in standard deviations, is named


class Dependent(NamedTuple):
    """A column that others nearly determine.

    Attributes:
        column: its place.
        left: the share of its variance that the columns kept before it leave.
        on: places of the columns that determine it.
    """

    column: int
    left: float
    on: tuple[int, ...]


def correlations(standard: Floats) -> Floats:
    """Correlation matrix of standardised columns, each entry from the rows that have both.

        r_ab = Σ z_a z_b / n_ab

    Cost: rows × columns².

    Example:
        >>> correlations(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, np.nan], [-1.0, np.nan]]))
        array([[ 1., -1.],
               [-1.,  1.]])
    """
    here = ~np.isnan(standard)
    filled = np.where(here, standard, 0.0)
    both = here.astype(np.float64).T @ here.astype(np.float64)
    found = np.asarray(filled.T @ filled / np.maximum(both, 1), dtype=np.float64)
    np.fill_diagonal(found, 1.0)
    return found


def independent(correlation: Floats, least: float) -> tuple[list[int], list[Dependent]]:
    """Columns, in their order, of whose variance those before leave more than `least`.

    A Cholesky decomposition column by column: 1 − R² of column j on those kept before it is the
    square of its pivot. What the entries of a table with gaps give need not be a correlation
    matrix at all; a negative pivot is left out just so, and what is kept is one. Cost: columns³.

    Example:
        >>> twice = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
        >>> independent(twice, 1e-6)
        ([0, 1], [Dependent(column=2, left=0.0, on=(0,))])
    """
    kept: list[int] = []
    out: list[Dependent] = []
    root = np.zeros((len(correlation), len(correlation)))
    for column in range(len(correlation)):
        size = len(kept)
        row = solve_triangular(root[:size, :size], correlation[kept, column], lower=True)
        left = float(1 - row @ row)
        if left > least:
            root[size, :size], root[size, size] = row, np.sqrt(left)
            kept.append(column)
            continue
        weight = solve_triangular(root[:size, :size], row, lower=True, trans="T")
        on = tuple(kept[place] for place in np.flatnonzero(np.abs(weight) >= _PART))
        out.append(Dependent(column, max(left, 0.0), on))
    return kept, out


def condition(correlation: Floats) -> float:
    """Ratio of the largest eigenvalue to the smallest."""
    values = np.linalg.eigvalsh(correlation)
    return float(values[-1] / values[0]) if len(values) and values[0] > 0 else float("inf")
