"""Candidate rules: what seems to hold in the table, found on a sample, verified on all rows.

A candidate is a guess for a person to confirm: a rule that holds in the data may be chance, and a
rule that should hold may be broken by typing errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.synth.grid import link
from understudy.synth.rule_if import If
from understudy.synth.rule_kinds import parse_rules
from understudy.tables.encode import Block, ColumnEncoding

_SAMPLE = 2000
_HOLDS = 0.999
_FEWEST = 20  # rows that a rule must be about
_CHANCE = 0.05  # of independent pairs that would break it: fewer make a rule trivial
_NUMBERS, _LEVELS, _ADDENDS = 60, 60, 30  # most columns that are compared with one another
_SHARED = 10  # rows that share every level that a rule names
_UNLIKELY = 1e-6
_MOST = 40  # candidates: nobody confirms more

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Candidate:
    """A rule as a plan writes it, with the rows that obey and break it.

    ``words`` describe it without any value of the table; the rule itself may name levels that at
    least 10 rows share.
    """

    rule: Raw
    words: str
    support: int
    broken: int


def propose(rows: Block) -> tuple[Candidate, ...]:
    """Find candidate rules of an encoded table.

    Cost: pairs of columns (triples for sums, of at most 30) × 2,000 rows, then all rows once for
    each candidate.
    """
    spots = np.unique(np.linspace(0, max(rows.rows - 1, 0), min(rows.rows, _SAMPLE)).astype(int))
    sample = rows.take(spots)
    found: list[Candidate] = []
    for finder in (_orders, _sums, _gaps):
        tried = (_verified(raw, words, rows) for raw, words in finder(sample, rows))
        found += [candidate for candidate in tried if candidate is not None]
    found += _hierarchies(sample, rows)
    return tuple(_reduced(found))[:_MOST]


def _verified(raw: Raw, words: str, rows: Block) -> Candidate | None:
    (rule,) = parse_rules([raw], rows.encoding, rows)
    about = np.ones(rows.rows, dtype=bool)
    if raw["kind"] == "if":
        assert isinstance(rule, If)
        about = rule.when.true(rows)
    else:
        for name in rule.columns:
            about &= rows.codes[name] < rows.encoding[name].missing
    broken = int(rule.broken(rows).sum())
    support = int(about.sum()) - broken
    if support < _FEWEST or broken > (1 - _HOLDS) * (support + broken):
        return None
    return Candidate(raw, words, support, broken)


def _numeric(rows: Block, most: int) -> list[str]:
    encoding = rows.encoding
    varied = [n for n in rows.names if encoding[n].is_numeric and encoding[n].sd > 0]
    return varied[:most]


def _orders(sample: Block, rows: Block) -> Iterator[tuple[Raw, str]]:
    """Pairs of dates, or numbers of similar scale: one is hardly ever above the other."""
    encoding = sample.encoding
    for low, high in permutations(_numeric(rows, _NUMBERS), 2):
        up = link(encoding[low], encoding[high])
        if up is None:
            continue
        a, b = up(sample.values[low]), sample.values[high]
        both = ~np.isnan(a) & ~np.isnan(b)
        a, b = a[both], b[both]
        if both.sum() < _FEWEST or np.mean(a <= b) < _HOLDS or not _alike(a, b):
            continue
        yield {"kind": "order", "low": low, "high": high}, f"{low} ≤ {high}"


def _alike(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """The order is worth a rule: scales are similar, and unrelated columns would break it."""
    largest = max(np.abs(a).max(), np.abs(b).max(), 1e-300)
    a, b = a / largest, b / largest
    spread = sorted((a.std(), b.std()))
    if spread[0] == 0 or spread[1] > 10 * spread[0] or in_line([a, b]):
        return False
    above = np.searchsorted(np.sort(b), a, side="left")  # values of b below each of a
    return bool(above.mean() / len(b) >= _CHANCE)


def in_line(numbers: Sequence[NDArray[np.float64]]) -> bool:
    """Tell whether two columns of numbers lie on one line, nearly: one of them would do.

    Example:
        >>> in_line([np.arange(50.0), 3 - 2 * np.arange(50.0)])
        True
    """
    if len(numbers) != 2:
        return False
    there = ~np.isnan(numbers[0]) & ~np.isnan(numbers[1])
    a, b = (_unit(values[there]) for values in numbers)
    if len(a) < _FEWEST or min(a.std(), b.std()) < 1e-6:
        return False
    return bool(abs(np.corrcoef(a, b)[0, 1]) > 0.9999)


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # From 0 to 1, halved first: the range of numbers near 1e308 does not fit a float.
    halves = values / 2
    spread = float(np.ptp(halves)) if len(halves) else 0.0
    return (halves - halves.min()) / spread if spread > 0 else np.zeros(len(halves))


def _sums(sample: Block, rows: Block) -> Iterator[tuple[Raw, str]]:
    """Pairs of numbers that add up to a third."""
    names = _addends(sample, rows)
    for a, b in combinations(names, 2):
        both = sample.values[a] + sample.values[b]
        for total in names:
            if total in (a, b):
                continue
            gap = np.abs(both - sample.values[total])
            there = ~np.isnan(gap)
            dust = 1e-9 * max(1.0, float(np.nanmax(np.abs(both), initial=0.0)))
            if there.sum() >= _FEWEST and np.mean(gap[there] <= dust) >= _HOLDS:
                raw = {"kind": "sum", "total": total, "parts": [a, b]}
                yield raw, f"{total} = {a} + {b}"


def _addends(sample: Block, rows: Block) -> list[str]:
    """Plain numbers that are not nearly always zero: a zero adds nothing, so any sum would hold."""
    names = []
    for name in _numeric(rows, _NUMBERS):
        numeric = rows.encoding[name].numeric
        varied = np.mean(np.nan_to_num(sample.values[name]) != 0) >= _CHANCE
        if numeric is not None and numeric.offset == 0 and _plain(numeric.stored) and varied:
            names.append(name)
    return names[:_ADDENDS]


def _levelled(rows: Block, most: int) -> list[str]:
    encoding = rows.encoding
    return [n for n in rows.names if not encoding[n].is_numeric and encoding[n].size > 1][:most]


def _hierarchies(sample: Block, rows: Block) -> list[Candidate]:
    """Pairs of columns with levels of which one determines the other."""
    found = []
    for child, parent in permutations(_levelled(rows, _LEVELS), 2):
        small, large = rows.encoding[parent].size, rows.encoding[child].size
        if not small < large <= rows.rows / 5:
            continue
        if _exceptions(sample, child, parent)[1] > (1 - _HOLDS) * sample.rows:
            continue
        support, broken, common = _exceptions(rows, child, parent)
        if support >= _FEWEST and broken <= (1 - _HOLDS) * support and common <= 0.95:
            raw = {"kind": "within", "child": child, "parent": parent}
            found.append(Candidate(raw, f"{child} within {parent}", support, broken))
    return found


def _exceptions(rows: Block, child: str, parent: str) -> tuple[int, int, float]:
    """Rows that obey, rows off their child's most common parent, share of the top parent."""
    inner, outer = rows.encoding[child], rows.encoding[parent]
    a, b = rows.codes[child], rows.codes[parent]
    both = (a < inner.missing) & (b < outer.missing)
    pairs, counts = np.unique(a[both].astype(np.int64) * outer.width + b[both], return_counts=True)
    best = np.zeros(inner.width, dtype=np.int64)
    np.maximum.at(best, pairs // outer.width, counts)
    total, top = int(counts.sum()), np.bincount(b[both], minlength=1).max()
    return int(best.sum()), total - int(best.sum()), float(top / max(total, 1))


def _gaps(sample: Block, rows: Block) -> Iterator[tuple[Raw, str]]:
    """Values that are missing by design: always where another column is so."""
    encoding = rows.encoding
    for name in rows.names:
        gone = rows.codes[name] == encoding[name].missing
        if not 0.001 <= gone.mean() <= 0.99:
            continue
        for other in rows.names:
            if other != name and (test := _reason(encoding[other], rows, other, gone)) is not None:
                yield from _both_ways(name, other, test, rows, gone)


def _both_ways(
    name: str, other: str, test: Raw, rows: Block, gone: NDArray[np.bool_]
) -> Iterator[tuple[Raw, str]]:
    reason = {"column": other, **test}
    missing = {"column": name, "missing": True}
    kind = "levels" if "in" in test else "values"
    yield (
        {"kind": "if", "when": reason, "then": missing},
        (f"{name} is missing for certain {kind} of {other}"),
    )
    raw = {"kind": "if", "when": missing, "then": reason}
    yield raw, f"{name} is missing only for certain {kind} of {other}"


def _reason(
    encoding: ColumnEncoding, rows: Block, other: str, gone: NDArray[np.bool_]
) -> Raw | None:
    """The test of the other column that goes with missing, if it explains most of it."""
    codes, size = rows.codes[other], encoding.size
    if size == 0 or (not encoding.is_numeric and size > 200):
        return None
    all_ = np.bincount(codes, minlength=encoding.width)[:size]
    without = np.bincount(codes[gone], minlength=encoding.width)[:size]
    closed = (without == all_) & (all_ >= _SHARED)
    explained = float(without[closed].sum())
    # A level of n rows is all missing by chance with probability share^n.
    if explained < 0.5 * gone.sum() or gone.mean() ** explained > _UNLIKELY or closed.all():
        return None
    if not encoding.is_numeric:
        return {"in": [encoding.levels[code] for code in np.flatnonzero(closed)]}
    return _threshold(encoding, closed, without, all_)


def _threshold(
    encoding: ColumnEncoding,
    closed: NDArray[np.bool_],
    without: NDArray[np.int64],
    all_: NDArray[np.int64],
) -> Raw | None:
    """A bound below or above which all is missing; only at a value that many people share."""
    cells, numeric = encoding.cells, encoding.numeric
    assert cells is not None
    assert numeric is not None
    if numeric.offset or not _plain(numeric.stored):
        return None
    used = np.flatnonzero(all_ > 0)
    open_ = np.flatnonzero(without < all_)
    first, last = open_[0], open_[-1]
    atom = (cells.low[cells.first[:-1]] == cells.high[cells.first[1:] - 1]) & (all_ >= _SHARED)
    value = cells.low[cells.first[:-1]]
    if used[0] < first and atom[first] and all_[used[used < first]].sum() >= _SHARED:
        return {"below": _short(value[first])}
    if used[-1] > last and atom[last] and all_[used[used > last]].sum() >= _SHARED:
        return {"above": _short(value[last])}
    return None


def _short(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)


def _plain(stored: Any) -> bool:
    return not any(word in str(stored) for word in ("date", "time"))


def _reduced(found: Sequence[Candidate]) -> Iterator[Candidate]:
    """Without the orders and hierarchies that follow from others (a ≤ b ≤ c, a ≤ a + b)."""
    edges = {_edge(item.rule) for item in found}
    sums = [item.rule for item in found if item.rule["kind"] == "sum"]
    parts = {("order", part, rule["total"]) for rule in sums for part in rule["parts"]}
    for item in found:
        kind, small, large = _edge(item.rule)
        if (kind, small, large) in parts:
            continue
        middles = {b for k, a, b in edges if k == kind and a == small and b != large}
        implied = any((kind, middle, large) in edges for middle in middles)
        if item.rule["kind"] not in ("order", "within") or not implied:
            yield item


def _edge(rule: Raw) -> tuple[str, str, str]:
    if rule["kind"] == "order":
        return "order", rule["low"], rule["high"]
    if rule["kind"] == "within":
        return "within", rule["child"], rule["parent"]
    return rule["kind"], "", ""
