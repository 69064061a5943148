"""Pairs of columns as tables of counts: how well a saturated model tells two samples apart.

A saturated model has one term for each cell of two columns crossed, and needs no fitting: every
row's propensity is its cell's synthetic share. Its null under exchange of the two samples is known
exactly, however few rows a cell has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Crossed:
    """The pMSE of one pair, and what two draws of one process would show.

    Attributes:
        pmse: Σ (s/(o+s) − c)² (o + s) / N over the cells.
        expected: its mean when the pooled rows are dealt out at random.
        sd: its standard deviation then.
        cells: cells that some row is in.
    """

    pmse: float
    expected: float
    sd: float
    cells: int

    @property
    def ratio(self) -> float:
        """The standardised ratio, near 1 for two draws of one process; NaN where nothing varies."""
        return self.pmse / self.expected if self.expected > 0 else float("nan")


def crossed(first: Ints, second: Ints, original: int) -> Crossed:
    """Score two columns of a pooled table, the first ``original`` rows real, the others synthetic.

    With s synthetic rows of m in a cell, n of N in all and c = n/N, pMSE = (Σ s²/m − n²/N) / N. If
    the n are any of the N with equal probability (multivariate hypergeometric), its mean is
    (k − 1)·c·(1 − c)/(N − 1) for k cells; its variance follows from the factorial moments
    E[s⁽ᵃ⁾ t⁽ᵇ⁾] = m⁽ᵃ⁾ l⁽ᵇ⁾ n⁽ᵃ⁺ᵇ⁾ / N⁽ᵃ⁺ᵇ⁾. Cost: O(rows + cells).

    Source: Raab, Nowok & Dibben (2021) for the saturated table; the mean is equation 2 of Snoke et
    al. (2018) over 1 − c, for two draws, with N − 1 in place of N.

    Example:
        >>> a = np.array([0, 0, 1, 1, 0, 0, 1, 1])
        >>> found = crossed(a, a, 4)
        >>> found.pmse, found.cells, round(found.expected, 4)
        (0.0, 2, 0.0357)
    """
    width = int(second.max(initial=0)) + 1
    cell = first * width + second
    size = int(cell.max(initial=0)) + 1
    synthetic = np.bincount(cell[original:], minlength=size)
    both = np.bincount(cell[:original], minlength=size) + synthetic
    used = both > 0
    s, m = synthetic[used].astype(np.float64), both[used].astype(np.float64)
    total, drawn = float(m.sum()), float(s.sum())
    if not 0 < drawn < total:
        return Crossed(0.0, 0.0, 0.0, len(m))
    share = drawn / total
    pmse = float(np.sum((s / m - share) ** 2 * m)) / total
    expected = (len(m) - 1) * share * (1 - share) / (total - 1)
    variance = _variance(m, drawn) if len(m) > 1 else 0.0
    return Crossed(pmse, expected, float(np.sqrt(max(variance, 0.0))) / total, len(m))


def _variance(m: Floats, drawn: float) -> float:
    """Variance of Σ s²/m when ``drawn`` rows are taken from cells of m rows without replacement."""
    total, cells = float(m.sum()), len(m)
    f1, f2, f3, f4 = np.cumprod([max(drawn - i, 0.0) / max(total - i, 1.0) for i in range(4)])
    more = total - cells  # Σ (m − 1)
    mean = f2 * more + f1 * cells
    own = f4 * (m - 1) * (m - 2) * (m - 3) + 6 * f3 * (m - 1) * (m - 2) + 7 * f2 * (m - 1) + f1
    square = float(np.sum(own / m))
    square += f4 * (more**2 - float(np.sum((m - 1) ** 2)))
    square += f3 * 2 * (cells - 1) * more + f2 * cells * (cells - 1)
    return float(square - mean**2)
