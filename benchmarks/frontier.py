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
from collections import Counter
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
from understudy.evidence import Evidence, features, points, widths
from understudy.kernels import propensity
from understudy.kernels.neighbours import nearest
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.risk import Closeness, Nearer
from understudy.seeds import stream
from understudy.study.maker import Maker, protect, protections
from understudy.study.thinning import settle
from understudy.synth.sequence import Sequential
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.table import Table

SEED = 2026  # not the splits on which the plan was made
SHARE, RATIO = 0.505, 1.10
MARGIN = 0.01  # of the gate dcr.share
FAILS = Verdict.FAILS
PERMUTATIONS = 5
BARRED = ("fair", "adult")
TABLES = ("fair", "randhie", "outbreak", "adult")
OURS = "plan boosted"
LIKE_OURS: Mapping[str, Any] = {
    key: value for key, value in Plan.read("boosted").settings.items() if key != "spread"
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


def by_plan(name: str) -> Callable[[Split], Block]:
    """A shipped plan, with its protections: nothing of it was chosen for the table at hand."""

    def make(split: Split) -> Block:
        encoding = fit_encoding(split.train)
        plan, train = Plan.read(name), encoding.encode(split.train)
        fitted = Sequential(plan.visits_for(encoding)).fit(train, seed=split.number)
        drawn = fitted.sample(train.rows, seed=split.number, replicate=1).block
        steps, said = settle(
            protections(plan, kept=False), fitted.settings, train, seed=split.number
        )
        print(f"   {'; '.join(said)}", flush=True)
        (block,), _ = protect(steps, [drawn], train, Maker(fitted), seed=split.number)
        return block

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


def contenders(*, peers: bool) -> dict[str, Callable[[Split], Block]]:
    """What is compared on a table."""
    found = {
        OURS: by_plan("boosted"),
        "boosted, rows independent": ours("boosted", **LIKE_OURS),
        "cart, leaf 200": ours("cart", min_leaf=200, bootstrap=False),
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


def verdicts(train: Block, unseen: Block, made: Block, number: int) -> dict[str, Verdict]:
    """What the closeness gates say, the unseen half being the holdout."""
    half = unseen.rows // 2
    control, other = unseen.take(slice(half)), unseen.take(slice(half, None))
    evidence = Evidence(train, control, other, (made,))
    found = {}
    for measure in (Closeness(), Nearer()):
        rng = stream(SEED, "verdicts", number)
        for estimate in measure.prepare(evidence, rng=rng).estimates(made, rng=rng):
            found[estimate.measure] = estimate.verdict()
    return found


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
    for who, make in contenders(peers=peers).items():
        scores, seconds, said = [], 0.0, Counter[str]()
        try:
            for number in range(splits):
                split = halves(table, number)
                made, took = timed(lambda split=split, make=make: make(split))
                seconds += took.cpu
                encoding = made.encoding
                train, unseen = (encoding.encode(part) for part in (split.train, split.unseen))
                scores.append(judge(train, unseen, made, number))
                found_out = verdicts(train, unseen, made, number)
                said.update(name for name, verdict in found_out.items() if verdict is FAILS)
        except _peers.Absent as reason:
            print(reason)
            continue
        failed = ", ".join(f"{name} in {times}" for name, times in said.items()) or "none"
        print(f"   {who}: {seconds / splits:.1f} s of processors each; gates failed: {failed}")
        yield point(name, who, scores)


def show(found: list[Point]) -> None:
    """The table, the bars of our plan, and the picture."""
    for item in found:
        print(item)
    for item in found:
        if item.name == OURS and item.table in BARRED:
            who = f"{item.table}, {item.name}"
            print(verdict(f"{who}: share nearer to train", item.share, SHARE))
            print(verdict(f"{who}: pMSE ratio, unseen half", item.ratio, RATIO))
            high = item.share + 1.96 * item.share_error
            print(verdict(f"{who}: upper 95% limit of that share", high, 0.5 + MARGIN))
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "frontier.svg").write_text(draw_picture(found, SHARE, RATIO), encoding="utf-8")
    print(f"picture: {(folder / 'frontier.svg').relative_to(ROOT)}")


def main(splits: int = 4, tables: tuple[str, ...] = TABLES, *, peers: bool = False) -> None:
    found: list[Point] = []
    for name in tables:
        found += measure(name, 2 if name == "adult" and splits == 4 else splits, peers=peers)
    show(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--peers", action="store_true")
    asked = parser.parse_args()
    main(asked.splits, tuple(asked.tables.split(",")), peers=asked.peers)
