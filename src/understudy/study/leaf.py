"""Choose the strength of synthesis from the data: the smallest leaf that holds on an inner split.

Leaves that are too small hand out people; leaves that are too large hand out noise. Train is split
in halves, trees are grown on one, and the closeness of what they draw, and how often it shows
people who are unique, is compared with that of the other half. Neither half is the holdout that
judges the release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Map, points, row_numbers
from understudy.kernels.neighbours import Points, nearest
from understudy.kernels.resample import quantile
from understudy.kernels.rows import hits_unique
from understudy.plans.panel import synthesizer
from understudy.plans.plan import Plan
from understudy.seeds import stream
from understudy.study.people import halves as halves_of
from understudy.synth.base import Fitted
from understudy.synth.panel import FittedPanel
from understudy.synth.sequence import FittedSequence, Sequential, Visit
from understudy.synth.wide import Wide, find_wide
from understudy.tables.encode import Block
from understudy.tables.schema import Role

LEAVES = (5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 140, 200, 300, 400, 500, 700, 1000, 1400, 2000)
_ROWS = 40_000  # rows of train that the search looks at, and rows that each trial draws
_SPLITS = 8
_SHARE = 0.01  # largest excess of a share over one half, as in the gates
_TAIL = 0.05  # largest shortfall of a distance, relative


@dataclass(frozen=True)
class Trial:
    """One leaf size, and how its draws compare with an honest half (excess: worse is larger)."""

    leaf: int
    ims: float
    share: float
    uniques: float
    dcr: float
    nndr: float

    @property
    def holds(self) -> bool:
        """Whether every number is within its margin."""
        # One by one: max() would pass over a NaN that does not come first.
        shares = all(excess <= _SHARE for excess in (self.ims, self.share, self.uniques))
        return shares and all(excess <= _TAIL for excess in (self.dcr, self.nndr))


@dataclass(frozen=True, eq=False)
class _Half:
    """One half of train to learn from, the other as honest rows, and how close those come.

    ``fits`` keeps what is the same at every leaf size: a mixture, say. ``wide`` says how people
    with several rows are taken apart.
    """

    inner: Block
    other: Block
    train: Points
    control: Points
    base: NDArray[np.float64]
    wide: Wide | None = None
    fits: dict[Visit, Fitted] = field(default_factory=dict)


def choose_leaf(
    plan: Plan,
    train: Block,
    drawn: Sequence[str],
    *,
    seed: int,
    map_: Map = map,
    progress: Callable[[str], None] = lambda stage: None,
) -> tuple[int, tuple[Trial, ...]]:
    """Find the smallest leaf size whose draws are no closer to their train than honest rows.

    Bisection over `LEAVES`: closeness falls as leaves grow. Returns the leaf and all trials. Where
    none holds it is the largest that was tried; where even that one shows unique people too often,
    it is the largest that train has, half of its rows, which halves of train cannot try.
    """
    if train.people < 4 * LEAVES[0]:
        return LEAVES[0], ()
    halves = _halves(train, drawn, seed, map_)
    candidates = [leaf for leaf in LEAVES if leaf <= max(halves[0].inner.rows // 2, LEAVES[0])]
    trials: dict[int, Trial] = {}
    low, high = 0, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        leaf = candidates[middle]
        progress(f"choose leaf {len(trials) + 1} of at most {len(candidates).bit_length()}")
        trials[leaf] = _try(plan, leaf, halves, drawn, seed, map_)
        low, high = (low, middle) if trials[leaf].holds else (middle + 1, high)
    if candidates[low] not in trials:
        trials[candidates[low]] = _try(plan, candidates[low], halves, drawn, seed, map_)
    chosen = candidates[low]
    if trials[chosen].uniques > _SHARE:
        chosen = max(chosen, train.rows // 2)
    return chosen, tuple(trials[leaf] for leaf in sorted(trials))


def searched(rows: int) -> str:
    """What the search leaves out on so many rows of train, in words for the receipt."""
    if rows <= _ROWS:
        return ""
    return f"the leaf size was searched for on {_ROWS:,} of {rows:,} rows of train"


def _halves(train: Block, drawn: Sequence[str], seed: int, map_: Map) -> list[_Half]:
    """Halves of train, each learnt from in turn; several pairs where one pair says little."""
    rows = min(train.rows, _ROWS)
    wide = None if train.person is None else find_wide(train)
    found = []
    for number in range(int(np.clip(_ROWS // rows, 1, _SPLITS))):
        sides = halves_of(train, stream(seed, "leaf", "split", number), rows)
        pair = train.take(sides[0]), train.take(sides[1])
        for inner, other in (pair, pair[::-1]):
            one, two = points(inner, drawn), points(other, drawn)
            base, _ = nearest(one, two, 5, map_=map_)
            found.append(_Half(inner, other, one, two, base, wide))
    return found


def _try(
    plan: Plan, leaf: int, halves: Sequence[_Half], drawn: Sequence[str], seed: int, map_: Map
) -> Trial:
    """Average excess of one leaf size over the halves."""
    visits = plan.visits_for(halves[0].inner.encoding, leaf=leaf)
    visits = tuple(visit for visit in visits if visit.model.name != "keep")
    known = {name for visit in visits for name in visit.columns}
    visits = tuple(_without(visit, known) for visit in visits)
    found = []
    for number, half in enumerate(halves):
        fitted = _fitted(plan, visits, half, leaf, seed, map_)
        rows = min(4 * half.inner.rows, max(half.inner.rows, _ROWS // len(halves)))
        synthetic = fitted.sample(rows, seed=seed, replicate=-1 - number).block
        found.append(_excess(half, synthetic, drawn, map_))
    return Trial(leaf, *(float(x) for x in np.mean(found, axis=0)))


def _fitted(
    plan: Plan, visits: tuple[Visit, ...], half: _Half, leaf: int, seed: int, map_: Map
) -> FittedSequence | FittedPanel:
    """Fit what the leaf size changes; a visit that it does not change is fitted once."""
    if half.inner.person is not None:
        panel = synthesizer(plan, half.inner, visits, wide=half.wide)
        return panel.fit(half.inner, seed=seed, map_=map_)
    sequence = Sequential(visits)
    new = tuple(visit for visit in sequence.visits if visit not in half.fits)
    fits = dict(zip(new, Sequential(new).fit(half.inner, seed=seed, map_=map_).fitted, strict=True))
    steady = {v: fit for v, fit in fits.items() if getattr(v.model, "min_leaf", None) != leaf}
    half.fits.update(steady)
    fits = {**half.fits, **fits}
    return FittedSequence(sequence, tuple(fits[v] for v in sequence.visits), half.inner.encoding)


def _without(visit: Visit, known: set[str]) -> Visit:
    strata = visit.strata if visit.strata in known else None
    return replace(visit, given=tuple(n for n in visit.given if n in known), strata=strata)


def _excess(half: _Half, synthetic: Block, drawn: Sequence[str], map_: Map) -> NDArray[np.float64]:
    """Excess of the synthetic half over the honest one: matches, nearer share, uniques, tails."""
    ours = points(synthetic, drawn)
    near, _ = nearest(half.train, ours, 5, map_=map_)
    away, _ = nearest(half.control, ours, 1, map_=map_)
    closer = np.where(near[:, 0] < away[:, 0], 1.0, (near[:, 0] == away[:, 0]) / 2)
    ims = float((near[:, 0] == 0).mean() - (half.base[:, 0] == 0).mean())
    tail = _shortfall(near[:, 0], half.base[:, 0])
    ratio = _shortfall(*_ratios(near, half.base))
    return np.array([ims, closer.mean() - 0.5, _uniques(half, synthetic, drawn), tail, ratio])


def _uniques(half: _Half, synthetic: Block, drawn: Sequence[str]) -> float:
    """Excess of rows whose quasi-identifiers belong to one person of the half learnt from."""
    keys = half.inner.encoding.schema.with_role(Role.QUASI, Role.LOCATION)
    keys = tuple(name for name in keys if name in drawn)
    if not keys:
        return 0.0
    train, honest, ours = row_numbers([half.inner, half.other, synthetic], keys)
    whose = half.inner.person
    return float(hits_unique(train, ours, whose).mean() - hits_unique(train, honest, whose).mean())


def _ratios(
    near: NDArray[np.float64], base: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    result = []
    for distance in (near, base):
        defined = (distance[:, -1] > 0) & np.isfinite(distance[:, -1])
        result.append(distance[defined, 0] / distance[defined, -1])
    return result[0], result[1]


def _shortfall(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """How much smaller our 5th percentile is, as a share of theirs (0 where theirs is 0)."""
    reference = quantile(theirs, 0.05)
    if not reference > 0 or not ours.size:
        return 0.0
    return 1 - quantile(ours, 0.05) / reference


__all__ = ["LEAVES", "Trial", "choose_leaf", "searched"]
