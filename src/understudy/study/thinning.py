"""Choose how many of the rows that are too near a distance filter takes out: from train alone.

The filter of Chapelle & Falissard takes out every row that is nearer to a person than any other
person is. So many honest rows are, too, that a release without any is further from train than
strangers are, and less like the population. How many have to go is what the search finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Evidence, Map, points
from understudy.kernels.neighbours import nearest
from understudy.protect import DistanceFilter, Protection
from understudy.seeds import stream
from understudy.synth.panel import Panel
from understudy.synth.sequence import Sequential
from understudy.tables.encode import Block

_ROWS = 40_000  # rows of train that the search looks at
_DRAWN = 40_000  # about how many rows are drawn in all
_SPLITS = 3
_TWICE = np.sqrt(0.5)  # what is left of a leak when a fit has twice as many rows, at most


@dataclass(frozen=True)
class Thinning:
    """What the search found.

    Attributes:
        share: share of the rows that are too near that is to be taken out.
        nearer: share of unfiltered rows nearer to the half learnt from.
        enough: whether taking them out makes that share one half.
    """

    share: float
    nearer: float
    enough: bool

    def say(self, rows: int) -> str:
        """The finding in words, for the receipt."""
        of = f"{min(rows, _ROWS):,} of {rows:,} rows of train"
        said = (
            f"the distance filter takes out {self.share:.1%} of the rows that are too near: on "
            f"halves of {of}, {self.nearer:.1%} of unfiltered rows were nearer to the half learnt "
            "from"
        )
        return said if self.enough else f"{said}; taking out all would not make up for it"


def settle(
    steps: Sequence[Protection],
    sequence: Sequential | Panel,
    train: Block,
    *,
    seed: int,
    map_: Map = map,
    progress: Callable[[str], None] = lambda stage: None,
) -> tuple[tuple[Protection, ...], list[str]]:
    """Put a number where a filter's share is ``auto``; the second result says how it was found."""
    result: list[Protection] = []
    said = []
    for step in steps:
        if isinstance(step, DistanceFilter) and step.share == "auto":
            assert isinstance(sequence, Sequential), "protections refuse people with several rows"
            progress("choose the filter's share")
            found = thinning(step, sequence, train, seed=seed, map_=map_)
            said.append(found.say(train.rows))
            result.append(replace(step, share=found.share))
        else:
            result.append(step)
    return tuple(result), said


def thinning(
    step: DistanceFilter,
    sequence: Sequential,
    train: Block,
    *,
    seed: int,
    map_: Map = map,
) -> Thinning:
    """The smallest share with which draws are no nearer to their own half of train.

    With s_z = 1 where row z is nearer to the half learnt from, ½ where both are as near, else 0,
    and b_z = 1 where it is too near, rows that are kept or redrawn have the law ∝ 1 − r·b_z. So

        Σ (1 − r·b_z)(s_z − ½) = 0   ⇔   r = Σ (s_z − ½) / Σ b_z (s_z − ½).

    That is for halves. A fit on twice as many rows knows each of them less: by ½ where it has a
    fixed number of parameters, and by no less than 1/√2 where it grows with the rows (the rates of
    parametric and nonparametric estimates). r/√2 is taken, the safe side of the two.
    """
    excess, among = 0.0, 0.0
    total = 0
    for near, bad in _draws(step, sequence, train, seed, map_):
        excess += float((near - 0.5).sum())
        among += float((near - 0.5)[bad].sum())
        total += len(near)
    nearer = 0.5 + excess / max(total, 1)
    if excess <= 0:
        return Thinning(0.0, nearer, enough=True)
    share = excess / among * _TWICE if among > 0 else np.inf
    return Thinning(min(share, 1.0), nearer, share <= 1.0)


def _draws(
    step: DistanceFilter,
    sequence: Sequential,
    train: Block,
    seed: int,
    map_: Map,
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """For rows drawn from each half: nearer to it (ties ½), and too near to somebody of it."""
    drawn = Evidence(train, train, train, ()).drawn
    rows = min(train.rows, _ROWS)
    splits = int(np.clip(_ROWS // max(rows, 1), 1, _SPLITS))
    for number in range(splits):
        order = stream(seed, "thinning", number).permutation(train.rows)[:rows]
        pair = train.take(order[: rows // 2]), train.take(order[rows // 2 :][: rows // 2])
        for way, (inner, other) in enumerate((pair, pair[::-1])):
            fitted = sequence.fit(inner, seed=seed, map_=map_)
            size = min(4 * inner.rows, max(inner.rows, _DRAWN // (2 * splits)))
            made = fitted.sample(size, seed=seed, replicate=-1 - 2 * number - way).block
            ours = points(made, drawn)
            to, _ = nearest(points(inner, drawn), ours, 1, map_=map_)
            fro, _ = nearest(points(other, drawn), ours, 1, map_=map_)
            closer = np.where(to[:, 0] < fro[:, 0], 1.0, (to[:, 0] == fro[:, 0]) / 2)
            yield closer, step.comparison(inner).too_near(made)


__all__ = ["Thinning", "settle", "thinning"]
