"""The pairs of columns that fared worst, original against synthetic: shares, never rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.study.profile import LEAST, groups_of
from understudy.tables.encode import Block

_PAIRS = 6
_GROUPS = 8

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

    Example:
        >>> shared(np.array([[50, 3], [20, 30]])).tolist()
        [[False, False], [False, False]]
        >>> shared(np.array([[50, 0], [20, 30]])).tolist()
        [[True, False], [True, True]]
    """
    shown = counts >= LEAST
    while True:
        before = int(shown.sum())
        for lines, flags in ((counts, shown), (counts.T, shown.T)):
            for line, flag in zip(lines, flags, strict=True):
                while flag.any() and _betrays(line[~flag]):
                    flag[np.flatnonzero(flag)[np.argmin(line[flag])]] = False
        if int(shown.sum()) == before:
            return np.asarray(shown, dtype=np.bool_)


def _betrays(hidden: Ints) -> bool:
    """One cell left out alone, or so few people, can be worked out from the line's total."""
    cells, people = int(np.count_nonzero(hidden)), int(hidden.sum())
    return cells == 1 or 0 < people < LEAST


def _counts(first: Ints, second: Ints, shape: tuple[int, int]) -> Ints:
    both = (first >= 0) & (second >= 0)
    cell = first[both] * shape[1] + second[both]
    counts = np.bincount(cell, minlength=shape[0] * shape[1])
    return np.asarray(counts.reshape(shape), dtype=np.int64)
