"""Points of the frontier, and their picture: one panel per table, lower left is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, HEIGHT, EDGE = 380, 300, 46
SHARES, RATIOS = (0.49, 0.64), (0.9, 8.0)
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8e5ea2", "#c77d0a", "#555555", "#00838f")


@dataclass(frozen=True)
class Point:
    """One synthesizer on one table: means over splits, with their standard errors."""

    table: str
    name: str
    share: float
    share_error: float
    ratio: float
    ratio_error: float
    splits: int

    def __str__(self) -> str:
        return (
            f"{self.table:9s} {self.name:28s} nearer to train {self.share:.4f} ± "
            f"{self.share_error:.4f}   pMSE ratio {self.ratio:.3f} ± {self.ratio_error:.3f}"
            f"   ({self.splits} splits)"
        )


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error over splits; no error is known from one.

    Example:
        >>> mean_and_error([1.0, 3.0])
        (2.0, 1.0)
    """
    found = np.asarray(values, dtype=np.float64)
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return float(found.mean()), float(error)


def draw_picture(points: Sequence[Point], share: float, ratio: float) -> str:
    """An SVG with a panel per table; the dashed lines are the limits.

    Example:
        >>> draw_picture([Point("fair", "cart", 0.5, 0.0, 1.0, 0.0, 3)], 0.505, 1.1)[:4]
        '<svg'
    """
    tables = list(dict.fromkeys(point.table for point in points))
    names = list(dict.fromkeys(point.name for point in points))
    parts = [
        f'<g transform="translate({WIDTH * i} 0)">{_panel(table, points, names, share, ratio)}</g>'
        for i, table in enumerate(tables)
    ]
    legend = "".join(
        f'<text x="{EDGE}" y="{HEIGHT + 18 * (i + 1)}" fill="{_colour(i)}">● {escape(name)}</text>'
        for i, name in enumerate(names)
    )
    size = f'width="{WIDTH * len(tables)}" height="{HEIGHT + 18 * (len(names) + 1)}"'
    style = 'font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(parts)}{legend}</svg>'


def _panel(
    table: str, points: Sequence[Point], names: Sequence[str], share: float, ratio: float
) -> str:
    x, y = _across(share), _up(ratio)
    right, bottom = WIDTH - 8, HEIGHT - EDGE
    parts = [
        f'<rect x="{EDGE}" y="24" width="{right - EDGE}" height="{bottom - 24}" fill="none" '
        'stroke="#999"/>',
        f'<text x="{EDGE}" y="16" font-weight="bold">{escape(table)}</text>',
        f'<text x="{EDGE}" y="{HEIGHT - 12}">share nearer to train</text>',
        f'<text transform="rotate(-90) translate({-bottom} 14)">pMSE ratio, unseen half</text>',
        f'<path d="M{x} 24V{bottom}M{EDGE} {y}H{right}" stroke="#999" stroke-dasharray="4 3"/>',
    ]
    parts += [
        f'<text x="{_across(tick)}" y="{bottom + 14}" text-anchor="middle">{tick:.2f}</text>'
        for tick in (0.5, 0.55, 0.6)
    ]
    parts += [
        f'<text x="{EDGE - 4}" y="{_up(tick) + 4}" text-anchor="end">{tick:g}</text>'
        for tick in (1, 1.5, 2, 4)
    ]
    parts += [
        _dot(point, _colour(names.index(point.name))) for point in points if point.table == table
    ]
    return "".join(parts)


def _dot(point: Point, colour: str) -> str:
    x, y = _across(point.share), _up(point.ratio)
    label = escape(str(point))
    return f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"><title>{label}</title></circle>'


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _across(share: float) -> float:
    part = (np.clip(share, *SHARES) - SHARES[0]) / (SHARES[1] - SHARES[0])
    return round(float(EDGE + part * (WIDTH - 8 - EDGE)), 1)


def _up(ratio: float) -> float:
    low, high = np.log(RATIOS)
    part = (np.log(np.clip(ratio, *RATIOS)) - low) / (high - low)
    return round(float(HEIGHT - EDGE - part * (HEIGHT - EDGE - 24)), 1)
