"""The pairs of columns that fared worst, original against synthetic: shares, never rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.study.profile import LEAST, groups_of
from understudy.tables.encode import Block

_PAIRS = 6
_GROUPS = 8
_TINY = 1e-9

Ints = NDArray[np.int64]


def worst_pairs(summaries: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The pairs furthest above chance, by the measure of pairs that was asked for."""
    scored = summaries.get("pmse_pairs", {}).get("pairs") or summaries.get("pairs") or ()
    ordered = sorted(scored, key=lambda one: -float(one["excess"]))
    return [(one["columns"][0], one["columns"][1]) for one in ordered[:_PAIRS]]


def crosstabs(
    train: Block, release: Block, pairs: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Each pair in at most 8 × 8 cells, those of fewer than ten people left out.

    Shares are of the rows that have both values. Where a cell is left out, so is another one of its
    row and of its column, with ten people or more: totals would give it away.
    """
    found = []
    for pair in pairs:
        (first, x), (second, y) = (groups_of(train, name, _GROUPS) for name in pair)
        ours = _counts(first[train.codes[pair[0]]], second[train.codes[pair[1]]], (len(x), len(y)))
        theirs = _counts(
            first[release.codes[pair[0]]], second[release.codes[pair[1]]], (len(x), len(y))
        )
        shown = shared(ours)
        total, others = max(int(ours.sum()), 1), max(int(theirs.sum()), 1)
        found.append(
            {
                "columns": list(pair),
                "x": x,
                "y": y,
                "cells": [
                    [int(i), int(j), round(ours[i, j] / total, 5), round(theirs[i, j] / others, 5)]
                    for i, j in zip(*np.nonzero(shown), strict=True)
                ],
                "hidden": round(float(ours[~shown].sum()) / total, 5),
            }
        )
    return found


def shared(counts: Ints) -> NDArray[np.bool_]:
    """Cells of ten people or more, without those by which a smaller one could be worked out.

    Whoever knows all totals and the cells shown solves linear equations for the rest. More cells
    are hidden until no cell of one to nine people has one solution, and until no row or column
    leaves out so few in all. O(cells³), for the few cells of a picture.

    Example:
        >>> shared(np.array([[50, 3], [20, 30]])).tolist()
        [[False, False], [False, False]]
        >>> shared(np.array([[50, 0], [20, 30]])).tolist()
        [[True, False], [True, True]]
    """
    shown = counts >= LEAST
    while True:
        small = [
            line
            for line, hidden in _lines(shown, counts)
            if shown[line].any() and 0 < int(hidden.sum()) < LEAST
        ]
        small = small or [line for line in _telling(shown, counts) if shown[line].any()]
        if not small:
            return shown
        line = small[0]
        places = np.flatnonzero(shown[line])
        shown[line][places[np.argmin(counts[line][places])]] = False


Line = tuple[int | slice, int | slice]


def _lines(shown: NDArray[np.bool_], counts: Ints) -> Iterator[tuple[Line, Ints]]:
    """Every row and column, with the counts that it leaves out."""
    rows, columns = counts.shape
    every: list[Line] = [(i, slice(None)) for i in range(rows)]
    every += [(slice(None), j) for j in range(columns)]
    for line in every:
        yield line, counts[line][~shown[line]]


def _telling(shown: NDArray[np.bool_], counts: Ints) -> Iterator[Line]:
    """Lines by which a hidden cell of one to nine people is solved: its own, then the others'.

    A line with one cell in all tells it by its total, whatever else is hidden: nothing helps there.
    """
    solved = _solved(shown, counts)
    alone = (counts > 0).sum(1) == 1, (counts > 0).sum(0) == 1
    small = [
        (i, j) for i, j in solved if 0 < counts[i, j] < LEAST and not (alone[0][i] or alone[1][j])
    ]
    for i, j in [*small, *(solved if small else ())]:
        yield i, slice(None)
        yield slice(None), j


def _solved(shown: NDArray[np.bool_], counts: Ints) -> list[tuple[int, int]]:
    """Hidden cells whose count follows from the totals and the cells shown."""
    cells = np.argwhere(~shown)
    equations = np.zeros((sum(counts.shape), len(cells)))
    equations[cells[:, 0], np.arange(len(cells))] = 1
    equations[counts.shape[0] + cells[:, 1], np.arange(len(cells))] = 1
    _, size, right = np.linalg.svd(equations)
    free = right[int(np.sum(size > _TINY)) :]
    return [(int(i), int(j)) for i, j in cells[~np.any(np.abs(free) > _TINY, axis=0)]]


def _counts(first: Ints, second: Ints, shape: tuple[int, int]) -> Ints:
    both = (first >= 0) & (second >= 0)
    cell = first[both] * shape[1] + second[both]
    counts = np.bincount(cell, minlength=shape[0] * shape[1])
    return np.asarray(counts.reshape(shape), dtype=np.int64)
