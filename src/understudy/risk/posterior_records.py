"""The posterior of every record under attack, from what the synthesizer says of its candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from understudy.evidence import Map, Source
from understudy.kernels.posterior import Answer, Shared, answer, answer_shared, posterior
from understudy.risk.candidates import Candidates, Group, typical
from understudy.tables.encode import Block

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_ROOM = 4_000_000  # numbers held at once
_CREDIBLE = 0.9


@dataclass(frozen=True, eq=False)
class Attack:
    """Who attacks: what is known of the release, and what is believed before seeing it.

    Attributes:
        source: how the release was made.
        replicates: its tables before protections.
        prior: ``model``, ``frequencies`` or ``uniform``.
        open: share of the prior that is spread evenly over all candidates.
        enough: stop looking at neighbours when so many are likelier than the truth.
    """

    source: Source
    replicates: tuple[Block, ...]
    prior: str = "model"
    open: float = 0.01
    enough: int = 3


@dataclass(frozen=True, eq=False)
class Found:
    """What the attack concludes about each record.

    Attributes:
        records: rows of train.
        prior: probability of the truth beforehand, and whether it is the best guess then.
        each: the same after seeing one replicate, for every replicate.
        first: the same after seeing the first l replicates, for l = 1 to m.
        numbers: by numeric column, what is expected of each record's value.
    """

    records: Ints
    prior: Answer
    each: tuple[Answer, ...]
    first: tuple[Answer, ...]
    numbers: dict[str, Numbers] = field(default_factory=dict)

    @property
    def after(self) -> Answer:
        """After seeing all replicates."""
        return self.first[-1]

    @property
    def ratio(self) -> Floats:
        """p(truth | Z, D_-i) / p(truth | D_-i); NaN where the prior rules the truth out."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = self.after.truth / self.prior.truth
        return np.where(self.prior.truth > 0, ratio, np.nan)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Of a numeric column: E_i of equation (3), before and after, and credible intervals (90%).

    Attributes:
        before: E(y | D_-i) − y_i.
        after: E(y | Z, D_-i) − y_i.
        low: lower end of the interval after.
        high: upper end of it.
        width_before: width of the interval before.
        inside: the truth's cell lies in the interval after.
    """

    before: Floats
    after: Floats
    low: Floats
    high: Floats
    width_before: Floats
    inside: NDArray[np.bool_]


def attack(
    train: Block, candidates: Candidates, who: Attack, records: Ints, *, map_: Map = map
) -> Found:
    """Posterior of the records' own values. Cost: replicates × records × candidates.

    Deterministic: likelihoods are closed forms or refits, never simulated.
    """
    wanted = np.zeros(train.rows, dtype=bool)
    wanted[records] = True
    found = []
    for group in candidates.groups:
        part = group.take(np.flatnonzero(wanted[group.records]))
        if not len(part.records):
            continue
        if candidates.kind == "neighbours":
            one = partial(_neighbours, who=who)
        else:
            shared = _shared(part, who)
            if shared is not None:
                found.append(shared)
                continue
            one = partial(_whole, train=train, who=who)
        found += list(map_(one, _chunks(part, len(who.replicates))))
    return _joined(found)


def _chunks(group: Group, replicates: int) -> Iterator[Group]:
    """Parts of a group that fit into memory."""
    width = max(part.rows for part in group.sets) * (replicates + 2)
    size = max(_ROOM // width, 1)
    for begin in range(0, len(group.records), size):
        yield group.take(np.arange(begin, min(begin + size, len(group.records))))


def apart(candidates: Candidates, who: Attack) -> bool:
    """Tell whether candidates gain the same for every record, so that no pair is looked at."""
    first = np.zeros(1, dtype=np.int64)
    return candidates.kind != "neighbours" and all(
        _shared(group.take(first), who) is not None for group in candidates.groups
    )


def _shared(group: Group, who: Attack) -> Found | None:
    """Where candidates gain the same for every record, no array of records × candidates is made."""
    (block,), (own,), records = group.sets, group.own, group.records
    change = who.source.moves(records, block, who.replicates)
    prior = _shared_prior(group, who)
    if change is None or prior is None:
        return None
    m = len(who.replicates)
    still = Shared(np.zeros(block.rows), np.zeros(len(records)), np.zeros(len(records)), own)

    def after(chosen: slice) -> Answer:
        common, mine, shift = (
            part[chosen].sum(axis=0) for part in (change.common, change.mine, change.shift)
        )
        return answer_shared(Shared(common, mine, shift, own), prior)

    each = tuple(after(slice(index, index + 1)) for index in range(m))
    first = tuple(after(slice(0, index + 1)) for index in range(m))
    return Found(records, answer_shared(still, prior), each, first)


def _shared_prior(group: Group, who: Attack) -> Shared | None:
    (block,), (own,), records = group.sets, group.own, group.records
    zero = np.zeros(len(records))
    if who.prior == "uniform":
        return Shared(np.zeros(block.rows), zero, zero, own)
    if who.prior == "frequencies":
        count = group.count[0].astype(np.float64)
        return _opened(Shared(count, count[own] - 1, zero, own), who.open)
    found = who.source.left_shared(records, block)
    if found is None:
        return None
    weights = Shared(np.exp(found.common), np.exp(found.mine), found.shift, found.own)
    return _opened(weights, who.open)


def _opened(weights: Shared, share: float) -> Shared | None:
    """Weights as log probabilities, some of them spread evenly; all records' add up to the same."""
    if weights.shift.any():
        return None
    total = weights.common.sum() - weights.common[weights.own] + weights.mine
    even = share / len(weights.common)
    if total.size and np.ptp(total) > 1e-9 * total.max():
        return None
    whole = max(float(total[0]), 1e-300) if total.size else 1.0
    with np.errstate(divide="ignore"):
        common = np.log((1 - share) * weights.common / whole + even)
        mine = np.log((1 - share) * np.maximum(weights.mine, 0.0) / whole + even)
    return Shared(common, mine, weights.shift, weights.own)


def _whole(group: Group, train: Block, who: Attack) -> Found:
    """Every combination for every record of a chunk."""
    (block,), (own,), records = group.sets, group.own, group.records
    change = likelihood(who.source, records, block, own, who.replicates)
    prior = log_prior(who, group, 0)
    before = np.exp(prior)
    each = tuple(answer(posterior(one, prior), own) for one in change)
    total, first = np.zeros_like(change[0]), []
    shares = before
    for one in change:
        with np.errstate(invalid="ignore"):  # −∞ + ∞ over replicates: impossible
            total = total + one
        shares = posterior(total, prior)
        first.append(answer(shares, own))
    numbers = {name: _numbers(train, name, block, records, before, shares) for name in block.values}
    return Found(records, answer(before, own), each, tuple(first), numbers)


def likelihood(
    source: Source, records: Ints, block: Block, own: Ints, replicates: Sequence[Block]
) -> Floats:
    """Change of log p(Z) against the truth; the truth's own is 0.

    A replicate that is impossible whoever the record is (NaN for all others) says nothing.
    """
    change = source.swaps(records, block, replicates)
    nothing = np.isnan(change)
    nothing[:, np.arange(len(own)), own] = True
    change = np.where(nothing.all(axis=2, keepdims=True), 0.0, change)
    # A number's candidate stands for its cell; the record's own candidate is the record itself.
    change[:, np.arange(len(own)), own] = 0.0
    return np.asarray(change, dtype=np.float64)


def log_prior(who: Attack, group: Group, which: int) -> Floats:
    """Normalised log prior of every candidate of a set (records × candidates)."""
    block, own = group.sets[which], group.own[which]
    shape = (len(group.records), block.rows)
    if who.prior == "uniform":
        return np.full(shape, -np.log(block.rows))
    if who.prior == "frequencies":
        count = np.tile(group.count[which].astype(np.float64), (shape[0], 1))
        count[np.arange(shape[0]), own] -= 1
        with np.errstate(divide="ignore"):
            raw = np.log(count)
    else:
        raw = who.source.left_out(group.records, block)
    lost = np.all(np.isneginf(raw), axis=1, keepdims=True)
    raw = np.where(lost, 0.0, raw)
    share = np.exp(raw - logsumexp(raw, axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log((1 - who.open) * share + who.open / block.rows), dtype=np.float64)


def _neighbours(group: Group, who: Attack) -> Found:
    """All that differs in one column, until enough of it is likelier than the truth.

    What is left out could only make the truth less probable: its probability and the guesses are
    upper bounds.
    """
    size = len(group.records)
    better = np.zeros(size, dtype=np.int64)
    rest = np.full((2, size), -np.inf)  # log of all others together: before, after
    ahead = np.zeros((2, size), dtype=bool)
    open_ = np.arange(size)
    for which, block in enumerate(group.sets):
        part = group.take(open_)
        own = part.own[which]
        here = np.arange(len(open_))
        with np.errstate(invalid="ignore"):
            change = likelihood(who.source, part.records, block, own, who.replicates).sum(axis=0)
            prior = log_prior(who, part, which)
            prior = prior - prior[here, own][:, None]
        for index, raw in enumerate((prior, prior + change)):
            score = np.where(np.isnan(raw), -np.inf, raw)
            score[here, own] = -np.inf
            rest[index, open_] = np.logaddexp(rest[index, open_], logsumexp(score, axis=1))
            ahead[index, open_] |= (score > 0).any(axis=1)
            if index:
                better[open_] += (score > 0).sum(axis=1)
        open_ = np.flatnonzero(better < who.enough)
        if not open_.size:
            break
    with np.errstate(over="ignore"):
        truth = 1.0 / (1.0 + np.exp(rest))
    before, after = (Answer(truth[i], (~ahead[i]).astype(np.float64)) for i in range(2))
    return Found(group.records, before, (after,), (after,))


def _numbers(
    train: Block, name: str, block: Block, records: Ints, before: Floats, after: Floats
) -> Numbers:
    """Expectations and central intervals over a number's cells; a missing value has none."""
    codes, value = block.codes[name], typical(train, name)
    known = np.flatnonzero(codes != train.encoding[name].missing)
    order = known[np.argsort(codes[known], kind="stable")]
    point = value[codes[order]]
    truth = train.values[name][records]
    mean, low, high = {}, {}, {}
    for key, share in (("before", before), ("after", after)):
        part = share[:, order]
        whole = part.sum(axis=1, keepdims=True)
        part = part / np.where(whole > 0, whole, 1.0)
        mean[key] = part @ point
        total = np.cumsum(part, axis=1)
        tail = (1 - _CREDIBLE) / 2
        last = len(order) - 1
        low[key] = point[np.minimum((total < tail - 1e-12).sum(axis=1), last)]
        high[key] = point[np.minimum((total < 1 - tail - 1e-12).sum(axis=1), last)]
    own = value[train.codes[name][records]]
    inside = (own >= low["after"]) & (own <= high["after"])
    return Numbers(
        mean["before"] - truth,
        mean["after"] - truth,
        low["after"],
        high["after"],
        high["before"] - low["before"],
        inside,
    )


def _joined(found: Sequence[Found]) -> Found:
    """Chunks together, in the order of the records."""
    records = np.concatenate([one.records for one in found])
    order = np.argsort(records, kind="stable")

    def both(parts: Sequence[Answer]) -> Answer:
        return Answer(
            np.concatenate([part.truth for part in parts])[order],
            np.concatenate([part.correct for part in parts])[order],
        )

    def columns(parts: Sequence[Numbers]) -> Numbers:
        return Numbers(
            *(np.concatenate([vars(part)[key] for part in parts])[order] for key in vars(parts[0]))
        )

    return Found(
        records[order],
        both([one.prior for one in found]),
        tuple(map(both, zip(*(one.each for one in found), strict=True))),
        tuple(map(both, zip(*(one.first for one in found), strict=True))),
        {name: columns([one.numbers[name] for one in found]) for name in found[0].numbers},
    )
