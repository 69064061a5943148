"""How a regression was compared, in words: counts, and names that ten rows share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.kernels.coefficients import FAR, Compared
from understudy.kernels.regression import Regression
from understudy.utility.coefficient_table import LEAST
from understudy.utility.design import Rows
from understudy.utility.regression_model import Known


def describe(
    known: Known,
    own: Regression,
    fits: Sequence[tuple[Rows, Regression]],
    compared: Sequence[Compared],
) -> str:
    """How it was computed, and what was left out: counts, and names that ten rows share."""
    assert known.rows is not None and known.design is not None
    sizes = ", ".join(f"{fit.rows}" for _, fit in fits)
    parts = [
        f"{known.model.family}, {int(own.estimable.sum())} coefficients",
        f"{own.rows} rows of train and {sizes} synthetic",
        "reference: fresh samples of that size, 2,000 normal draws, robust covariance of train",
    ]
    parts += [_left_out("train", known.rows)]
    parts += [_left_out("the synthetic tables", *(rows for rows, _ in fits))]
    superfluous = len(known.design.columns) - len(known.keep)
    if superfluous:
        rest = set(range(len(known.design.columns))) - set(known.keep.tolist())
        names = [(known.design.names[k], _cell(known.rows, k)) for k in sorted(rest)]
        parts.append(f"left out, since other columns of train explain them: {_named(names)}")
    if own.edge:
        lost = [
            (name, int(count))
            for name, count, good in zip(known.names, known.people, own.estimable, strict=True)
            if not good
        ]
        parts.append(
            f"{own.edge} rows of train are fitted at the edge (separation)"
            + (f", which leaves these without a finite estimate: {_named(lost)}" if lost else "")
        )
    parts += _losses(known, own, fits, compared)
    parts.append(_worst(known, own, compared))
    return "; ".join(part for part in parts if part)


def _worst(known: Known, own: Regression, compared: Sequence[Compared]) -> str:
    """The coefficient that is furthest off: medians do not see a single one."""
    off = np.median([one.difference for one in compared], axis=0)
    place = int(np.flatnonzero(own.estimable)[int(np.argmax(off))])
    name = known.names[place].replace(";", ",")
    shown = name if known.people[place] >= LEAST else "one of a rare level"
    return f"furthest off: {shown}, by {off.max():.3g} standard errors"


def _losses(
    known: Known,
    own: Regression,
    fits: Sequence[tuple[Rows, Regression]],
    compared: Sequence[Compared],
) -> list[str]:
    """Coefficients that synthetic tables do not determine, and why."""
    parts = [f"not fitted on a synthetic table: {fit.why}" for _, fit in fits if fit.why]
    lost = np.any([one.lost for one in compared], axis=0)
    if lost.any():
        names = [name for name, good in zip(known.names, own.estimable, strict=True) if good]
        people = known.people[own.estimable]
        pairs = [(names[k], int(people[k])) for k in np.flatnonzero(lost)]
        parts.append(
            f"not determined by the synthetic rows, counted as {FAR:g} standard "
            f"errors off: {_named(pairs)}"
        )
    return list(dict.fromkeys(parts))


def _cell(rows: Rows, column: int) -> int:
    return int(np.count_nonzero(rows.design[:, column]))


def _named(pairs: Sequence[tuple[str, int]], most: int = 5) -> str:
    """Count and names; a cell that fewer than ten people share is counted, not named."""
    # A semicolon would end the part of the note, and a level may hold one.
    shown = [name.replace(";", ",") for name, people in pairs if people >= LEAST][:most]
    rest = len(pairs) - len(shown)
    parts = [*shown, *([f"{rest} more" if shown else f"{rest} of rare levels"] if rest else [])]
    return f"{len(pairs)} ({', '.join(parts)})"


def _left_out(what: str, *tables: Rows) -> str:
    counts = {
        "a missing value": sum(rows.missing for rows in tables),
        "a level that train lacks": sum(rows.unseen for rows in tables),
        "a left side that the family does not allow": sum(rows.odd for rows in tables),
    }
    said = ", ".join(f"{count} with {why}" for why, count in counts.items() if count)
    return f"rows left out of {what}: {said}" if said else ""
