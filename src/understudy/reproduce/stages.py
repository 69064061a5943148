"""Rounds of Chapelle & Falissard: a split, and what each step of Open-CESP makes of its train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from understudy.evidence import Evidence
from understudy.protect.base import Receipt
from understudy.protect.distance_filter import DistanceFilter
from understudy.protect.noise import Noise
from understudy.reproduce.item import Bench
from understudy.reproduce.prison import LEARNT, LEFT, SIZE, Ground, table
from understudy.seeds import child, stream
from understudy.study.maker import Maker
from understudy.synth.cart import Cart
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.table import Table

S1, S2, S3 = "S1: trees", "S2: filtered", "S3: noise"
BOUND = "S2 with noise that keeps the bound"
PAPERS = (S1, S2, S3)
STAGES = (*PAPERS, BOUND)
TREE = Cart(min_leaf=33, min_split=100, smooth=False, bootstrap=False)
ROUNDS = 200  # of redraws: with many missing values one row in ten is kept


@dataclass(frozen=True, eq=False)
class Round:
    """One split with its synthetic tables.

    Attributes:
        train: the rows synthesised.
        held: the rows kept as control.
        made: the synthetic tables by stage.
        receipts: what the filter and the noise did, by stage.
    """

    train: Block
    held: Block
    made: Mapping[str, Block]
    receipts: Mapping[str, Receipt]

    def evidence(self, name: str) -> Evidence:
        """A stage's table before a judge."""
        half = self.held.rows // 2
        first, second = (self.held.take(s) for s in (slice(0, half), slice(half, None)))
        return Evidence(self.train, first, second, (self.made[name],))


def rounds(bench: Bench, ground: Ground, repetitions: int) -> list[Round]:
    """All rounds; made once per run of the command."""
    whole = table(bench, ground)
    make = partial(_round, whole, ground, bench.seed)
    return bench.once(
        ("stages", ground.name, repetitions),
        lambda: bench.each("synthesis", make, range(repetitions)),
    )


def _round(whole: Table, ground: Ground, seed: int, number: int) -> Round:
    order = stream(seed, "open-cesp", number).permutation(whole.rows)
    parts = order[:LEARNT], order[LEARNT : LEARNT + LEFT]
    rows, others = (whole.take(np.sort(part)) for part in parts)
    train = fit_encoding(rows).encode(rows)
    own = child(seed, "open-cesp", number)
    maker = Maker(Sequential(visits(train)).fit(train, seed=own))
    first = maker.fitted.sample(train.rows, seed=own, replicate=1).block
    compared = tuple(name for name in train.names if name not in ground.apart)
    # "paper": each missing value replaced in its column, as the paper describes.
    step = DistanceFilter(columns=compared, missing="paper", rounds=ROUNDS)
    second, filtered = step.apply(first, train, maker, rng=stream(seed, "filter", number))
    third = noisy(second, ground, stream(seed, "noise", number))
    kept, bounded = bound(ground).apply(second, train, maker, rng=stream(seed, "bound", number))
    tables = dict(zip(STAGES, (first, second, third, kept), strict=True))
    held = train.encoding.encode(others)
    return Round(train, held, tables, {S2: filtered, BOUND: bounded})


def visits(train: Block) -> tuple[Visit, ...]:
    """Trees in the table's order, each given all columns before."""
    return tuple(
        Visit(TREE, (name,), train.names[:place]) for place, name in enumerate(train.names)
    )


def noisy(block: Block, ground: Ground, rng: np.random.Generator) -> Block:
    """The paper's noise: normal, of its published deviation, for each row anew."""
    encoding = block.encoding.unrounded(list(ground.noise))
    codes, values = dict(block.codes), dict(block.values)
    for name, known in ground.noise.items():
        cells = encoding[name].cells
        assert cells is not None
        values[name] = values[name] + rng.normal(0.0, known.noise, block.rows)
        codes[name] = cells.of(values[name])
    return Block(encoding, block.rows, codes, values)


def stated(ground: Ground) -> dict[str, dict[str, Any]]:
    """The populations as a plan states them."""
    return {
        name: {"distribution": "normal", "mean": known.mean, "sd": known.sd, "size": SIZE}
        for name, known in ground.noise.items()
    }


def bound(ground: Ground) -> Noise:
    """The package's noise: tails coded, on the grid, so that no ECAP exceeds 0.2."""
    return Noise(columns=stated(ground))
