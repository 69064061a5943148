"""What a distance filter did, as aggregates: shifts of columns, correlations, a projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.protect.filter_columns import Space, Term
from understudy.tables.encode import Block

Floats = NDArray[np.float64]
LEAST = 10  # rows that a bin, or a value of a term, must have to be shown
_TAIL = 0.01
_EDGES = np.arange(-3.5, 3.51, 0.5)  # in standard deviations of a principal component


def shifts(before: Block, after: Block) -> list[dict[str, Any]]:
    """How far each column moved, and whether the filter selected outliers.

    For numbers ``shift`` is the difference of the means in train's standard deviations, ``spread``
    the ratio of the standard deviations, ``outlying`` the shares of rows beyond the first and last
    hundredth of the table before. For levels ``shift`` is the total variation distance.
    """
    return [_shift(before, after, name) for name in before.names]


def _shift(before: Block, after: Block, name: str) -> dict[str, Any]:
    gone = [_share(block.codes[name] == block.encoding[name].missing) for block in (before, after)]
    found: dict[str, Any] = {"name": name, "missing": gone}
    if before.encoding[name].is_numeric:
        return found | _moved(before, after, name)
    width = before.encoding[name].width
    one, other = (
        np.bincount(block.codes[name], minlength=width) / max(block.rows, 1)
        for block in (before, after)
    )
    return found | {"shift": round(float(np.abs(one - other).sum() / 2), 4)}


def _moved(before: Block, after: Block, name: str) -> dict[str, Any]:
    scale, mean = before.encoding[name].sd, before.encoding[name].mean
    one, other = ((b.values[name][~np.isnan(b.values[name])] - mean) for b in (before, after))
    if not (len(one) and len(other) and scale > 0):
        return {"shift": 0.0}
    one, other = one / scale, other / scale
    low, high = np.quantile(one, [_TAIL, 1 - _TAIL])
    beyond = [_share((values < low) | (values > high)) for values in (one, other)]
    spread = float(other.std() / one.std()) if one.std() > 0 else 1.0
    shift = round(float(other.mean() - one.mean()), 4)
    return {"shift": shift, "spread": round(spread, 4), "outlying": beyond}


def _share(flags: NDArray[np.bool_]) -> float:
    return round(float(flags.mean()), 4) if flags.size else 0.0


def view(
    space: Space | None, train: Block, drawn: Block, bad: NDArray[np.bool_], full: Block
) -> dict[str, Any]:
    """Correlations of the terms, and where people and rows lie on the first two components."""
    if space is None:
        return {}
    found: dict[str, Any] = {"correlation": correlation(space, train)}
    if len(space.kept) > 1:
        rows = {
            "original": train,
            "kept": drawn.take(~bad),
            "dropped": drawn.take(bad),
            "released": full,
        }
        found["projection"] = projection(space, rows)
    return found


def correlation(space: Space, train: Block) -> dict[str, Any]:
    """The correlation matrix, of terms that enough rows tell from the others, and which are used.

    An entry to which fewer than ten rows contribute is None.
    """
    standard = space.standard
    shown = [place for place in range(len(space.terms)) if _is_shared(standard[:, place])]
    here = (~np.isnan(standard[:, shown])).astype(np.float64)
    both = here.T @ here
    matrix = [
        [
            round(float(space.correlation[a, b]), 3) if both[i, j] >= LEAST else None
            for j, b in enumerate(shown)
        ]
        for i, a in enumerate(shown)
    ]
    names = [_label(space.terms[place], train) for place in shown]
    used = [place in space.kept for place in shown]
    return {"terms": names, "used": used, "matrix": matrix}


def _is_shared(values: Floats) -> bool:
    """At least ten rows differ from the commonest value."""
    here = values[~np.isnan(values)]
    _, counts = np.unique(here, return_counts=True)
    return len(here) - int(counts.max(initial=0)) >= LEAST


def _label(term: Term, train: Block) -> str:
    if term.level is None:
        return term.name
    return f"{term.name} = {train.encoding[term.name].levels[term.level]}"


def projection(space: Space, rows: dict[str, Block]) -> dict[str, Any]:
    """Counts of rows on a grid of the first two principal components of the used correlations.

    A missing value stands at the mean. A cell with fewer than ten rows of a kind is added to
    ``elsewhere`` of that kind, with so many others that it holds ten.
    """
    values, vectors = np.linalg.eigh(space.used)
    axes = vectors[:, ::-1][:, :2] / np.sqrt(values[::-1][:2])
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    counts = {name: _counted(np.nan_to_num(space.of(block)) @ axes) for name, block in rows.items()}
    share = values[::-1][:2] / values.sum()
    return {
        "edges": [float(edge) for edge in _EDGES],
        "share": [round(float(part), 4) for part in share],
        "counts": {name: cells for name, (cells, _) in counts.items()},
        "elsewhere": {name: rest for name, (_, rest) in counts.items()},
    }


def _counted(scores: Floats) -> tuple[list[list[int]], int]:
    """Rows by cell: [first, second, count], and how many are elsewhere."""
    size = len(_EDGES) + 1
    place = np.searchsorted(_EDGES, scores, side="right")
    counts = np.bincount(place[:, 0] * size + place[:, 1], minlength=size * size)
    shown = _with_company(counts)
    cells = [[int(cell // size), int(cell % size), int(counts[cell])] for cell in shown]
    return cells, int(counts.sum() - counts[shown].sum())


def _with_company(counts: NDArray[np.int64]) -> Sequence[int]:
    """Cells with enough rows, but for the fewest that give those pooled company."""
    shown = [int(cell) for cell in np.argsort(counts, kind="stable") if counts[cell] >= LEAST]
    while shown and 0 < counts.sum() - counts[shown].sum() < LEAST:
        shown = shown[1:]
    return sorted(shown)
