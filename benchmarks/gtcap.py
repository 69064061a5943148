"""GTCAP of every record: seconds, and how much faster than Algorithm 2 as it is written.

Tables of 799 and 50,000 people with keys and a target like those of Chapelle & Falissard: two keys
with levels, three with numbers and radii, a target of seven levels; then a target that is a number,
for which pairs have to be looked at one by one. The plain version compares each of a sample of
records with every row, by arrays, and is scaled to all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._clock import timed, verdict
from understudy.kernels.gtcap import Reach, Scores, Traits, uniques

SAMPLE = 100
BARS = {799: 1.0, 50_000: 60.0}


def people(rows: int, seed: int, *, number: bool = False) -> Traits:
    """Job and education; age, children and siblings; severity (and a score)."""
    rng = np.random.default_rng([3, rows, seed])
    levels = np.stack([rng.integers(0, 8, rows), rng.integers(0, 5, rows)], axis=1)
    age = np.round(rng.gamma(9.0, 4.0, rows))
    numbers = np.stack([age, rng.poisson(2.0, rows), rng.poisson(4.0, rows)], axis=1)
    target = np.digitize(rng.normal(age / 20, 1.0), [0.5, 1, 1.5, 2, 2.5, 3])[:, None]
    if number:
        return Traits(
            levels, numbers.astype(float), np.zeros((rows, 0), int), rng.normal(age, 5)[:, None]
        )
    return Traits(levels, numbers.astype(float), target, np.zeros((rows, 0)))


def plain(train: Traits, release: Traits, reach: Reach, records: list[int]) -> list[float]:
    """Algorithm 2, record by record: −1 where it is no statistical unique."""

    def near(one: Traits, i: int, rows: Traits, side: str, radii: tuple[float, ...]) -> Any:
        same = (getattr(rows, f"{side}_levels") == getattr(one, f"{side}_levels")[i]).all(axis=1)
        numbers = getattr(rows, f"{side}_numbers") - getattr(one, f"{side}_numbers")[i]
        if not radii:
            return same.astype(float)
        return same * np.maximum(0, 1 - np.abs(numbers) / np.array(radii)).mean(axis=1)

    def cap(i: int, rows: Traits) -> tuple[float, Any]:
        key, target = (
            near(train, i, rows, "key", reach.keys),
            near(train, i, rows, "target", reach.targets),
        )
        return float(key @ target / key.sum()) if key.sum() else 0.0, (key, target)

    found = []
    for i in records:
        original, (key, target) = cap(i, train)
        if np.count_nonzero(key * target) > 1:
            found.append(-1.0)
            continue
        base = float(target.mean())
        found.append(float(np.clip((cap(i, release)[0] - base) / (original - base), 0, 1)))
    return found


def one(rows: int, number: bool) -> dict[str, Any]:
    """Seconds of all records, how much faster than all pairs, and the largest difference."""
    train, release = (people(rows, seed, number=number) for seed in (1, 2))
    reach = Reach((5.0, 1.0, 2.0), (2.0,) if number else ())

    def ours() -> Scores:
        return uniques(train, train, reach, members=True).against(release)

    found, took = timed(ours)
    records = np.random.default_rng(4).choice(rows, min(SAMPLE, rows), replace=False).tolist()
    slow, plainly = timed(lambda: plain(train, release, reach, records))
    mine = np.full(rows, -1.0)
    mine[found.uniques.row] = found.value
    gap = float(np.abs(mine[records] - slow).max())
    return {"took": took, "ratio": plainly.wall * rows / len(records) / took.wall, "gap": gap}


def main() -> None:
    """Print seconds and ratios."""
    for rows, bar in BARS.items():
        for number in (False, True):
            found = one(rows, number)
            what = "a number" if number else "seven levels"
            print(
                f"{rows:,} people, target of {what}: {found['took']}; {found['ratio']:,.0f} times "
                f"faster than all pairs; largest difference {found['gap']:.1g}"
            )
            print(verdict(f"{rows:,} people", found["took"].wall, bar, " s"), flush=True)


if __name__ == "__main__":
    main()
