"""The columns of a distance filter as numbers: standardised, dichotomised, or 0 and 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import points
from understudy.kernels.filtering import Typed
from understudy.kernels.jaccard import Jaccard
from understudy.kernels.mahalanobis import Mahalanobis
from understudy.kernels.near_singular import Dependent, condition, correlations, independent
from understudy.kernels.worst_case import Exact, Paper
from understudy.tables.encode import Block

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MISSING = {"exact": Exact, "paper": Paper}


@dataclass(frozen=True)
class Term:
    """One number of a record.

    Attributes:
        name: its column.
        level: the code that it marks, where the column is nominal.
        mean: in train.
        sd: in train.
    """

    name: str
    level: int | None
    mean: float
    sd: float

    def of(self, block: Block) -> Floats:
        """Standardised values, NaN where missing."""
        return (raw(block, self.name, self.level) - self.mean) / self.sd


@dataclass(frozen=True, eq=False)
class Space:
    """Terms under train's correlation.

    Attributes:
        terms: those that vary in train, in the order of the columns.
        kept: places of the terms that are used.
        correlation: of all terms.
        standard: train's rows on all terms.
    """

    terms: tuple[Term, ...]
    kept: tuple[int, ...]
    correlation: Floats
    standard: Floats

    def of(self, block: Block) -> Floats:
        """Rows on the terms that are used."""
        columns = [self.terms[place].of(block) for place in self.kept]
        return np.stack(columns, axis=1) if columns else np.zeros((block.rows, 0))

    @property
    def used(self) -> Floats:
        """The correlation matrix of the terms that are used."""
        return self.correlation[np.ix_(self.kept, self.kept)]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A distance filter fitted to train.

    Attributes:
        columns: the columns that are compared.
        left_out: columns that are not (or not all of which is), and why.
        too_near: tells which rows of a block the filter takes out.
        skipped: how often two originals were taken for far apart, untried.
        space: the terms of a Mahalanobis distance.
    """

    columns: tuple[str, ...]
    left_out: Mapping[str, str]
    too_near: Callable[[Block], Flags]
    skipped: Callable[[], int] = lambda: 0
    space: Space | None = None

    @property
    def condition(self) -> float | None:
        """How far the correlation matrix is from a singular one."""
        return None if self.space is None else condition(self.space.used)


def raw(block: Block, name: str, level: int | None = None) -> Floats:
    """Values of a number, codes of an ordinal column, or whether a level is this one."""
    encoding, codes = block.encoding[name], block.codes[name]
    if encoding.is_numeric:
        return block.values[name]
    found = codes.astype(np.float64) if level is None else (codes == level).astype(np.float64)
    found[codes >= encoding.size] = np.nan  # a level that train lacks could be any
    return found


def same(train: Block, names: Sequence[str]) -> dict[str, str]:
    """Columns that tell no two people of train apart."""
    found = {}
    for name in names:
        encoding = train.encoding[name]
        here = train.codes[name] != encoding.missing
        values = train.values[name] if name in train.values else train.codes[name]
        flat = encoding.is_numeric and not encoding.sd > 0  # its spread is below the least number
        if not here.any():
            found[name] = "all missing"
        elif flat or (values[here] == values[here][0]).all():
            found[name] = "constant"
    return found


def mahalanobis(train: Block, names: Sequence[str], missing: str, collinear: float) -> Comparison:
    """Fit the Mahalanobis distance: train's correlations, without what is nearly singular."""
    left_out = same(train, names)
    terms = tuple(term for name in names if name not in left_out for term in _terms(train, name))
    if not terms:
        return Comparison((), left_out, lambda block: np.zeros(block.rows, dtype=bool))
    standard = np.stack([term.of(train) for term in terms], axis=1)
    correlation = correlations(standard)
    kept, dependent = independent(correlation, collinear)
    space = Space(terms, tuple(kept), correlation, standard)
    left_out |= _why(terms, kept, dependent)
    columns = tuple(dict.fromkeys(terms[place].name for place in kept))
    groups = [[i for i, p in enumerate(kept) if terms[p].name == name] for name in columns]
    rows = standard[:, kept]
    case = MISSING[missing](space.used, groups, [_values(rows[:, group]) for group in groups])
    originals = Mahalanobis(rows, case)
    return Comparison(
        columns,
        left_out,
        lambda block: originals.too_near(space.of(block)),
        lambda: originals.skipped,
        space,
    )


def _terms(train: Block, name: str) -> list[Term]:
    """A number or ordinal column as it is; a nominal one as a mark for each level but the first."""
    encoding = train.encoding[name]
    if encoding.is_numeric:
        return [Term(name, None, encoding.mean, encoding.sd)]
    levels = range(1, encoding.size) if encoding.is_nominal else [None]
    found = []
    for level in levels:
        values = raw(train, name, level)
        mean, sd = float(np.nanmean(values)), float(np.nanstd(values))
        if sd > 0:
            found.append(Term(name, level, mean, sd))
    return found


def _values(rows: Floats) -> Floats:
    """What a column can be: the ends of its range, or all of its levels."""
    here = rows[~np.isnan(rows).any(axis=1)]
    if rows.shape[1] == 1:
        return np.array([here.min(axis=0), here.max(axis=0)])
    return np.unique(here, axis=0)


def _why(
    terms: Sequence[Term], kept: Sequence[int], dependent: Sequence[Dependent]
) -> dict[str, str]:
    """Names of the columns behind a nearly singular matrix, by the one that is left out."""
    part = {terms[place].name for place in kept}
    found: dict[str, list[str]] = {}
    for one in dependent:
        on = [terms[place].name for place in one.on]
        found.setdefault(terms[one.column].name, []).extend(on)
    return {
        name: ("some of its levels follow" if name in part else "it follows")
        + (f" from {', '.join(dict.fromkeys(on))}" if on else " from the others together")
        for name, on in found.items()
    }


def typed(train: Block, names: Sequence[str]) -> Comparison:
    """Fit the package's mixed metric, for which missing is a value like any other."""
    left_out = {name: why for name, why in same(train, names).items() if _no_gaps(train, name, why)}
    columns = tuple(name for name in names if name not in left_out)
    if not columns:
        return Comparison((), left_out, lambda block: np.zeros(block.rows, dtype=bool))
    originals = Typed(points(train, columns))
    return Comparison(columns, left_out, lambda block: originals.too_near(points(block, columns)))


def _no_gaps(train: Block, name: str, why: str) -> bool:
    """A constant column with gaps tells people apart after all: missing is a value."""
    return why == "all missing" or not (train.codes[name] == train.encoding[name].missing).any()


def jaccard(train: Block, names: Sequence[str]) -> Comparison:
    """Fit the Jaccard distance of columns with two values each."""
    left_out = same(train, names)
    columns = tuple(name for name in names if name not in left_out)
    if not columns:
        return Comparison((), left_out, lambda block: np.zeros(block.rows, dtype=bool))
    ones = {name: _presence(train, name) for name in columns}
    originals = Jaccard(_marks(train, ones))
    return Comparison(columns, left_out, lambda block: originals.too_near(_marks(block, ones)))


def many_valued(train: Block, names: Sequence[str]) -> list[str]:
    """Columns with more than two values."""
    counts = {}
    for name in names:
        values = raw(train, name)
        counts[name] = len(np.unique(values[~np.isnan(values)]))
    return [name for name, count in counts.items() if count > 2]


def _presence(train: Block, name: str) -> float:
    """Which of two values is "has it": the larger number or level, the last word by alphabet."""
    encoding = train.encoding[name]
    if encoding.is_nominal:
        return float(max(range(encoding.size), key=lambda code: encoding.levels[code]))
    values = raw(train, name)
    return float(np.nanmax(values))


def _marks(block: Block, ones: Mapping[str, float]) -> Floats:
    """1 where a row has it, 0 where it has not, NaN where nobody knows."""
    columns = []
    for name, one in ones.items():
        values = raw(block, name)
        columns.append(np.where(np.isnan(values), np.nan, values == one))
    return np.stack(columns, axis=1).astype(np.float64)


def require_known(where: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise `PlanError` for a column that the table lacks."""
    for name in names:
        if name not in known:
            raise PlanError(f"{where}.columns", name, f"some of {', '.join(known)}")
