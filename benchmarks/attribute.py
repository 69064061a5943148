"""Attribute disclosure of 6,712 people over 40 radii, against a plain double loop on a sample.

The tables are two resamples of the built-in outbreak, as in Bale & Quick; the keys are theirs
(place, sex, age), and the place alone, for which every row is compared with every person.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._clock import timed, verdict
from understudy.api import workers
from understudy.attack import Attacker, Known, Target, tallies
from understudy.kernels.ball_counts import Tally
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.outbreak import outbreak
from understudy.tables.read import read

DELTAS = tuple(np.geomspace(0.01, 2.0, 40).tolist())
SAMPLE = 20
LIMIT = 2.0
KEYS = {"place, sex and age": ("sex", "age"), "place alone": ()}


def tables(rows: int, levels: tuple[str, ...]) -> tuple[Block, Block]:
    """People to attack, and as many rows to attack them with."""
    roles = {"longitude": "location", "latitude": "location", "outcome": "sensitive"}
    names = [*roles, *levels]
    changes = {name: {"role": roles.get(name, "quasi")} for name in names}
    table = read(outbreak().select(names), schema_changes=changes)
    rng = np.random.default_rng(1)
    one, other = (table.take(rng.integers(table.rows, size=rows)) for _ in "ab")
    encoding = fit_encoding(one)
    return encoding.encode(one), encoding.encode(other)


def plain(known: Known, target: Target, people: Block, rows: Block, records: list[int]) -> Any:
    """Largest ratio by radius for some records, pair by pair."""
    here, there = known.place(people), known.place(rows)
    own, other = target.groups.of(people), target.groups.of(rows)
    largest = np.zeros(len(DELTAS))
    for j in records:
        size, hits = np.zeros(len(DELTAS)), np.zeros(len(DELTAS))
        for i in range(rows.rows):
            if any(people.codes[n][j] != rows.codes[n][i] for n in known.levels):
                continue
            distance = sum((a - b) ** 2 for a, b in zip(here[j], there[i], strict=True)) ** 0.5
            for place, delta in enumerate(DELTAS):
                if distance <= delta:
                    size[place] += 1
                    hits[place] += own[j] == other[i]
        share = np.divide(hits, size, out=np.zeros(len(DELTAS)), where=size > 0)
        largest = np.maximum(largest, share / target.prior[own[j]])
    return largest


def one(rows: int, levels: tuple[str, ...], every: bool = False) -> dict[str, Any]:
    """Seconds of all records, those of the plain version for as many, and how far they differ."""
    people, others = tables(rows, levels)
    settings = Attacker(deltas=DELTAS)
    known, target = Known.of(people), settings.target(people, "outcome")
    records = np.random.default_rng(2).choice(rows, min(SAMPLE, rows), replace=False).tolist()
    deltas = settings.radii(known)

    def ours() -> Tally:
        with workers(None) as map_:
            return tallies(known, target, people, others, deltas, every=every, map_=map_)

    found, took = timed(ours)
    slow, plainly = timed(lambda: plain(known, target, people, others, records))
    ratio = (found.share / target.own(people)[:, None])[records].max(axis=0)
    scaled = plainly.wall * rows / len(records)
    gap = float(np.abs(ratio - slow).max())
    return {"took": took, "ratio": scaled / took.wall, "gap": gap}


def main() -> None:
    """Print seconds and ratios."""
    for name, levels in KEYS.items():
        for every in (False, True):
            found = one(6712, levels, every)
            what = "40 radii" + (" and every radius" if every else "")
            line = f"{name}, {what}: {found['took']}; largest difference {found['gap']:.1g}"
            print(f"{line}; {found['ratio']:,.0f} times faster than a plain double loop")
            if not every:
                print(verdict("6,712 people", found["took"].wall, LIMIT, " s"), flush=True)


if __name__ == "__main__":
    main()
