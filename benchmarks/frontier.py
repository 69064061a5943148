"""The frontier: how near to train, and how far from people never seen, by model and by peer.

A table is split in random halves. A synthesizer learns from one and draws as many rows. Two
numbers are read against the half it never saw: the share of rows nearer to train (ties one half;
0.5 is what a stranger has), and the pMSE ratio of an unpruned tree (leaves of 20; null: the plain
mean over permuted labels; 1 is what a second sample has). Either is easy without the other.

``python -m benchmarks.frontier [--splits 10] [--tables fair,adult] [--peers]`` for the whole
picture; in ``make bench`` it runs on four splits, adult on two.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from benchmarks import _peers
from benchmarks._clock import ROOT, timed, verdict
from benchmarks._frontier import Point, draw_picture, mean_and_error
from benchmarks._synthesis import conforming, data
from understudy.api import read
from understudy.evidence import features, points, widths
from understudy.kernels import propensity
from understudy.kernels.neighbours import nearest
from understudy.plans.plan import Plan
from understudy.seeds import stream
from understudy.synth.sequence import Sequential
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.table import Table

SEED = 20
SHARE, RATIO = 0.505, 1.10
PERMUTATIONS = 5
BOOST: Mapping[str, Mapping[str, Any]] = {
    "fair": {"leaves": 2, "rate": 0.2, "rounds": 80, "classes": 64, "caution": 0.5},
    "randhie": {"leaves": 4, "rate": 0.2, "rounds": 60},
    "outbreak": {"leaves": 3, "rate": 0.2, "rounds": 60},
    "adult": {"leaves": 4, "rate": 0.2, "rounds": 60},
}


@dataclass(frozen=True, eq=False)
class Split:
    """One half to learn from, the other to compare with."""

    number: int
    train: Table
    unseen: Table


def load(name: str) -> Table | None:
    """A table by name, or None where it is absent."""
    if name == "outbreak":
        from understudy.tables.outbreak import outbreak

        return read(outbreak())
    if name == "adult":
        source = data("adult.csv")
        return None if source is None else read(source)
    try:
        from statsmodels import datasets
    except ImportError:
        return None
    frame = getattr(datasets, name).load_pandas().data
    return read(pa.Table.from_pandas(frame, preserve_index=False))


def halves(table: Table, number: int) -> Split:
    """A random half to learn from and the other half, of equal size.

    Odd numbers change the halves of the number before: which half lies nearer to everybody is
    chance, and cancels in the mean of both.
    """
    order = stream(SEED, "split", number // 2).permutation(table.rows)
    half = table.rows // 2
    parts = [table.take(order[:half]), table.take(order[half : 2 * half])]
    return Split(number, parts[number % 2], parts[1 - number % 2])


def ours(model: str, **settings: Any) -> Callable[[Split], Block]:
    """A synthesizer of the house: every column by one model, in the table's order."""

    def make(split: Split) -> Block:
        encoding = fit_encoding(split.train)
        plan = Plan(model=model, settings=settings, order="table")
        fitted = Sequential(plan.visits_for(encoding)).fit(
            encoding.encode(split.train), seed=split.number
        )
        return fitted.sample(split.train.rows, seed=split.number, replicate=1).block

    return make


def peer(name: str, script: str) -> Callable[[Split], Block]:
    """A peer in an environment of its own."""

    def make(split: Split) -> Block:
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "train.csv", Path(folder) / "synthetic.parquet"
            csv.write_csv(split.train.data, source)
            _peers.run(name, script, source, out)
            return fit_encoding(split.train).encode(conforming(out, split.train))

    return make


def contenders(table: str, *, peers: bool) -> dict[str, Callable[[Split], Block]]:
    """What is compared on a table."""
    leaf = 200
    found = {
        f"cart, leaf {leaf}": ours("cart", min_leaf=leaf),
        "cart, no bootstrap": ours("cart", min_leaf=leaf, bootstrap=False),
        "cart, classes": ours("cart", min_leaf=leaf, bootstrap=False, classes=64),
        "cart, classes, spread": ours("cart", min_leaf=leaf, classes=64, spread=True),
        "boosted": ours("boosted", **BOOST[table]),
        "boosted, spread": ours("boosted", **BOOST[table], spread=True),
        "synthpop-py": peer("synthpop-py", "synthpop_py.py"),
    }
    return found | ({"sdv copula": peer("sdv", "sdv_copula.py")} if peers else {})


def judge(train: Block, unseen: Block, made: Block, number: int) -> tuple[float, float]:
    """Share nearer to train, ties one half, and pMSE ratio against the unseen half."""
    names = train.encoding.names
    query = points(made, names)
    near, _ = nearest(points(train, names), query, 1)
    away, _ = nearest(points(unseen, names), query, 1)
    share = (near < away).mean() + (near == away).mean() / 2
    found = propensity.cart(
        *features(unseen, names),
        *features(made, names),
        widths(train.encoding, names),
        permutations=PERMUTATIONS,
        rng=stream(SEED, "null", number),
    )
    return float(share), found.ratio


def fresh(table: Table, splits: int) -> Point:
    """A sample that nobody synthesised, by thirds: what both numbers should be."""
    scores = []
    for number in range(splits):
        order = stream(SEED, "thirds", number).permutation(table.rows)
        third = table.rows // 3
        parts = [table.take(order[k * third : (k + 1) * third]) for k in range(3)]
        encoding = fit_encoding(parts[0])
        scores.append(judge(*(encoding.encode(part) for part in parts), number))
    return point("", "fresh sample (thirds)", scores)


def point(table: str, name: str, scores: list[tuple[float, float]]) -> Point:
    """Means and standard errors over splits."""
    shares, ratios = zip(*scores, strict=True)
    return Point(table, name, *mean_and_error(shares), *mean_and_error(ratios), len(scores))


def measure(name: str, splits: int, *, peers: bool) -> Iterator[Point]:
    """All contenders on one table."""
    table = load(name)
    if table is None:
        print(f"{name} is skipped: it is not here (statsmodels, or UNDERSTUDY_DATA)")
        return
    found = fresh(table, splits)
    yield Point(name, *list(vars(found).values())[1:])
    for who, make in contenders(name, peers=peers).items():
        scores, seconds = [], 0.0
        try:
            for number in range(splits):
                split = halves(table, number)
                made, took = timed(lambda split=split, make=make: make(split))
                seconds += took.cpu
                encoding = made.encoding
                train, unseen = (encoding.encode(part) for part in (split.train, split.unseen))
                scores.append(judge(train, unseen, made, number))
        except _peers.Absent as reason:
            print(reason)
            continue
        print(f"   {who}: {seconds / splits:.1f} s of processors each", flush=True)
        yield point(name, who, scores)


def show(found: list[Point]) -> None:
    """The table, the bars of the even draws, and the picture."""
    for item in found:
        print(item)
    for item in found:
        if item.name.endswith("spread"):
            who = f"{item.table}, {item.name}"
            print(verdict(f"{who}: share nearer to train", item.share, SHARE))
            print(verdict(f"{who}: pMSE ratio, unseen half", item.ratio, RATIO))
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "frontier.svg").write_text(draw_picture(found, SHARE, RATIO), encoding="utf-8")
    print(f"picture: {(folder / 'frontier.svg').relative_to(ROOT)}")


def main(splits: int = 4, tables: tuple[str, ...] = tuple(BOOST), *, peers: bool = False) -> None:
    found: list[Point] = []
    for name in tables:
        found += measure(name, 2 if name == "adult" and splits == 4 else splits, peers=peers)
    show(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--tables", default=",".join(BOOST))
    parser.add_argument("--peers", action="store_true")
    asked = parser.parse_args()
    main(asked.splits, tuple(asked.tables.split(",")), peers=asked.peers)
