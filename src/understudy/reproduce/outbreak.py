"""The application of Bale & Quick (sections 6 and 7) on the built-in fictional outbreak.

A round is a train table, a holdout and synthetic tables made from train. In the paper's design
train and holdouts are drawn with replacement from the same people, so that 39% of a holdout's rows
are rows of train; in the disjoint design each round splits the people anew into two halves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.protect.inference_prevention import InferencePrevention
from understudy.reproduce.item import Bench
from understudy.reproduce.peers import Peer
from understudy.seeds import child, stream
from understudy.study.maker import Maker
from understudy.synth.cart import Cart
from understudy.synth.mixture import Mixture
from understudy.synth.multinomial import Multinomial
from understudy.synth.sequence import FittedSequence, Sequential, Visit
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.outbreak import DECADES, outbreak
from understudy.tables.read import read
from understudy.tables.table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWN = 3_361  # rows that the paper draws from 6,712
PLACE = ("longitude", "latitude")
LOOKS: dict[str, dict[str, Any]] = {
    "longitude": {"role": "location"},
    "latitude": {"role": "location"},
    "sex": {"role": "quasi"},
    "age": {"kind": "ordinal", "levels": DECADES, "role": "quasi"},
    "outcome": {"role": "sensitive"},
}
DEATHS = 152 / 9_583  # the attacker's prior: deaths and confirmed cases by 23 March 2020
PRIORS = {"outcome": {"deceased": DEATHS, "recovered": 1 - DEATHS}}
BOUND = 10.0  # c
CEILING = 0.505  # most of the rows that may be nearer to train, where tuning has a ceiling
DESIGNS = ("overlapping", "disjoint")
HELD = "Holdout"


@dataclass(frozen=True)
class Variant:
    """One synthesizer of section 6.2: its parameters, by column.

    Attributes:
        name: what tables call it.
        role: its colour in pictures.
        components: K of the mixture of places.
        sex: C of a multinomial logit, or the smallest leaf of a tree.
        age: the same for age.
        outcome: the same for the outcome ("state" in the paper).
        protect: whether prevention is applied to its tables as well.
    """

    name: str
    role: str
    components: int
    sex: float
    age: float
    outcome: float
    protect: bool = True

    @property
    def settings(self) -> dict[str, float]:
        """The parameters as the paper's Table 2 has them."""
        return {"K": self.components, "sex": self.sex, "age": self.age, "state": self.outcome}

    @property
    def protected(self) -> str:
        """Its name where inference prevention was applied."""
        return f"{self.name}, prevention"

    def visits(self) -> tuple[Visit, ...]:
        """Places jointly, then one column after another given those before."""
        found = [Visit(Mixture(components=self.components), PLACE)]
        given: tuple[str, ...] = PLACE
        for name in ("sex", "age", "outcome"):
            found.append(Visit(self._model(getattr(self, name)), (name,), given))
            given = (*given, name)
        return tuple(found)

    def _model(self, strength: float) -> Cart | Multinomial:
        if self.role == "mnl":  # with three-way interactions and polynomial terms
            return Multinomial(C=strength, degree=3)
        return Cart(min_leaf=int(strength))


# Found on these people by the paper's protocol, five searches of 30 trials with 20 replicates, and
# under the ceiling two: `understudy reproduce bale-quick table2`. Those of "CART, ceiling" are of a
# smaller search, `--repetitions 8`.
TUNED = (
    Variant("MNL", "mnl", 839, 0.001, 1.47, 100.0),
    Variant("CART", "cart", 236, 349, 3, 2),
)
CAPPED = (
    Variant("MNL, ceiling", "mnl", 21, 0.001, 0.001, 0.772, protect=False),
    Variant("CART, ceiling", "cart", 15, 177, 349, 13, protect=False),
)


@dataclass(frozen=True, eq=False)
class Round:
    """One train table, one holdout, and what each synthesizer made of train.

    Attributes:
        train: what synthesizers learnt from.
        held: people (or draws of people) that they did not learn from.
        made: a table for each way of synthesis, by name.
        twins: a second table of each synthesizer: with the first, a pair of replicates.
        added: rows that prevention added, by name.
    """

    train: Block
    held: Block
    made: Mapping[str, Block]
    twins: Mapping[str, Block]
    added: Mapping[str, int] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Block]:
        """The holdout and all that was made, by name."""
        return {HELD: self.held, **self.made}


def people() -> Table:
    """The five columns of the outbreak that the paper has, with their roles."""
    return read(outbreak().select(list(LOOKS)), schema_changes=LOOKS)


def samples(table: Table, design: str, repetitions: int, seed: int) -> list[tuple[Block, Block]]:
    """Train and holdout of every round: one train for all in the paper's design."""
    encoded = []
    for number in range(repetitions):
        train, held = _rows(table, design, number, seed)
        if number == 0 or design == "disjoint":
            part = table.take(train)
            encoding = fit_encoding(part)
            block = encoding.encode(part)
        encoded.append((block, encoding.encode(table.take(held))))
    return encoded


def _rows(table: Table, design: str, number: int, seed: int) -> tuple[Ints, Ints]:
    """Rows of a round's train and holdout."""
    rng = stream(seed, design, number)
    if design == "overlapping":
        train = stream(seed, design, "train").integers(0, table.rows, DRAWN)
        held = rng.integers(0, table.rows, DRAWN)
    else:
        train, held = np.split(rng.permutation(table.rows // 2 * 2), 2)
    return np.sort(train), np.sort(held)


def offered(peer: Peer, repetitions: int, seed: int) -> None:
    """Give a peer the tables to learn from, and look at all that it made of them.

    In the paper's design all rounds share one train. `InputError` where a table is not there, or
    cannot be compared.
    """
    table = people()
    trains = [("overlapping", table.take(_rows(table, "overlapping", 0, seed)[0]))]
    for number in range(repetitions):
        rows, _ = _rows(table, "disjoint", number, seed)
        trains.append((stem("disjoint", number), table.take(rows)))
    peer.offer(trains)
    peer.ready([stem(design, n) for design in DESIGNS for n in range(repetitions)])
    for design in DESIGNS:
        for n, (train, _) in enumerate(samples(table, design, repetitions, seed)):
            for _ in peer.tables(stem(design, n), train, table):
                pass


def stem(design: str, number: int) -> str:
    """Name of a round in a peer's folder.

    Example:
        >>> stem("disjoint", 0)
        'disjoint-01'
    """
    return f"{design}-{number + 1:02d}"


def rounds(
    bench: Bench, design: str, repetitions: int, variants: Sequence[Variant] = (*TUNED, *CAPPED)
) -> list[Round]:
    """All rounds of a design; made once per run of the command."""
    return bench.once(
        ("rounds", design, repetitions, tuple(variants)),
        lambda: _made(bench, design, repetitions, variants),
    )


def _made(bench: Bench, design: str, repetitions: int, variants: Sequence[Variant]) -> list[Round]:
    drawn = samples(people(), design, repetitions, bench.seed)
    seed = child(bench.seed, design)
    # Trains are the same object where they are the same table, so each is fitted once.
    trains = list(dict.fromkeys(train for train, _ in drawn))
    fits = [(train, variant) for train in trains for variant in variants]
    found = bench.each(f"{design}: fit", partial(_fit, seed), fits)
    fitted = dict(zip(fits, found, strict=True))
    jobs = [(n, v, fitted[train, v]) for n, (train, _) in enumerate(drawn) for v in variants]
    made = bench.each(f"{design}: synthesis", partial(_draw, seed, drawn), jobs)
    each = [made[n * len(variants) : (n + 1) * len(variants)] for n in range(repetitions)]
    whole = [_round(*pair, tables) for pair, tables in zip(drawn, each, strict=True)]
    return [_beside(bench.peers, design, n, one) for n, one in enumerate(whole)]


def _beside(peers: Sequence[Peer], design: str, number: int, one: Round) -> Round:
    """The round with the peers' tables beside ours."""
    made, twins = dict(one.made), dict(one.twins)
    for peer in peers:
        like = people()
        made[peer.name], twins[peer.name] = peer.tables(stem(design, number), one.train, like)
    return replace(one, made=made, twins=twins)


def _fit(seed: int, job: tuple[Block, Variant]) -> FittedSequence:
    train, variant = job
    return Sequential(variant.visits()).fit(train, seed=child(seed, variant.name))


@dataclass(frozen=True, eq=False)
class _Drawn:
    variant: Variant
    first: Block
    twin: Block
    protected: Block | None


def _draw(
    seed: int,
    drawn: Sequence[tuple[Block, Block]],
    job: tuple[int, Variant, FittedSequence],
) -> _Drawn:
    number, variant, fitted = job
    train = drawn[number][0]
    own = child(seed, variant.name, number)
    first, twin = (fitted.sample(train.rows, seed=own, replicate=r).block for r in (1, 2))
    if not variant.protect:
        return _Drawn(variant, first, twin, None)
    step = InferencePrevention(c=BOUND, delta="all", priors=PRIORS)
    rng = stream(seed, "protect", variant.name, number)
    protected, _ = step.apply(first, train, Maker(fitted), rng=rng)
    return _Drawn(variant, first, twin, protected)


def _round(train: Block, held: Block, drawn: Sequence[_Drawn]) -> Round:
    made: dict[str, Block] = {}
    added: dict[str, int] = {}
    for one in drawn:
        made[one.variant.name] = one.first
        if one.protected is not None:
            made[one.variant.protected] = one.protected
            added[one.variant.protected] = one.protected.rows - one.first.rows
    return Round(train, held, made, {one.variant.name: one.twin for one in drawn}, added)


def coordinates(train: Block, rows: Block) -> Floats:
    """Rows under the paper's distance: codes as numbers, all standardised by train.

    Source: Bale & Quick, section 7: means and standard deviations are those of the confidential
    data.
    """
    mine, theirs = (_numbers(block) for block in (train, rows))
    spread = mine.std(axis=0)
    return np.asarray((theirs - mine.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _numbers(block: Block) -> Floats:
    columns = [block.values.get(name, block.codes[name]) for name in LOOKS]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def style_of(name: str) -> dict[str, Any]:
    """Colour and dash of a table's line."""
    role = next((v.role for v in TUNED if name.startswith(v.name)), "peer")
    role = "holdout" if name.startswith(HELD) else role
    return {"role": role, "dash": _DASHES.get(name.rpartition(", ")[2], "solid")}


_DASHES = {"prevention": "dashed", "ceiling": "dotted"}
