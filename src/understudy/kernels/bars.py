"""Histograms in which every bar stands for enough people."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 10  # people of a bar, at the least
_BARS = 10


def tenths(values: NDArray[np.float64]) -> dict[str, Any]:
    """Counts of values from 0 to 1 in tenths; tenths of fewer than ten people join the next.

    Example:
        >>> tenths(np.repeat([0.0, 0.25, 0.3, 1.0], [30, 8, 4, 2]))["bars"]
        [[0.0, 0.1, 30], [0.1, 1.0, 14]]
    """
    found: dict[str, Any] = {"people": int(values.size), "bars": []}
    if values.size < LEAST:
        return found
    place = np.minimum((values * _BARS + 1e-9).astype(np.int64), _BARS - 1)
    counts = np.bincount(place, minlength=_BARS)
    bars, low, held = found["bars"], 0, 0
    for bar, count in enumerate(counts.tolist(), start=1):
        held += count
        if held >= LEAST:
            bars.append([low / _BARS, bar / _BARS, held])
            low, held = bar, 0
    if bars and low < _BARS:
        bars[-1] = [bars[-1][0], 1.0, bars[-1][2] + held]
    found["mean"] = round(float(values.mean()), 5)
    return found
