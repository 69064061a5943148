"""IMS, DCR and NNDR, exact, 50,000 × 50,000 × 15 mixed, through the measure itself.

python -m benchmarks.closeness [rows]: one judgement in this process, figures as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks._clock import child, peak_megabytes, timed, verdict
from benchmarks.neighbours import census
from understudy.api import workers
from understudy.evidence import Evidence, points
from understudy.kernels.neighbours import Points, nearest
from understudy.risk.closeness import Closeness
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

ROWS = 50_000
SAMPLE = 400
PLAIN_CELLS = 1 << 20
"""Distances that the plain version holds at once."""


def people(rows: int, seed: int) -> Table:
    """Six numbers, two of them mostly zero, and nine factors of 2 to 42 levels."""
    drawn = census(np.random.default_rng(seed), rows, 6.0)
    arrays = {f"number{j}": pa.array(np.round(drawn.numbers[:, j], 2)) for j in range(6)}
    columns = [Column(name, Kind.NUMBER, decimals=2) for name in arrays]
    names = pa.array([f"level {code}" for code in range(64)])
    for j in range(drawn.codes.shape[1]):
        arrays[f"factor{j}"] = names.take(pa.array(drawn.codes[:, j]))
        columns.append(Column(f"factor{j}", Kind.CATEGORY))
    return Table(pa.table(arrays), Schema(tuple(columns)))


def evidence(rows: int, seed: int = 1) -> Evidence:
    """Train and release of ``rows`` rows, a holdout of a third of that, from one process."""
    half = rows // 6
    table = people(2 * rows + 2 * half, seed)
    parts = np.split(np.arange(table.rows), np.cumsum([rows, rows, half]))
    train = table.take(parts[0])
    encoding = fit_encoding(train)
    block, release, control, fresh = (encoding.encode(table.take(part)) for part in parts)
    return Evidence(block, control, fresh, (release,), queries=rows)


def plain(train: Points, query: Points, k: int = 5) -> NDArray[np.float64]:
    """Blocks of all distances by broadcasting, then a partition: what one writes first."""
    found = []
    step = max(1, PLAIN_CELLS // len(train))
    for begin in range(0, len(query), step):
        part = query.take(np.arange(begin, min(begin + step, len(query))))
        far = np.zeros((len(part), len(train)))
        for j in range(train.numbers.shape[1]):
            far += (part.numbers[:, j, None] - train.numbers[None, :, j]) ** 2
        for j in range(train.codes.shape[1]):
            far += part.codes[:, j, None] != train.codes[None, :, j]
        found.append(np.sort(np.partition(far, k - 1, axis=1)[:, :k], axis=1))
    return np.sqrt(np.concatenate(found))


def one(rows: int) -> dict[str, Any]:
    """Judge one release; memory counts all that the process ever held."""
    case = evidence(rows)
    with workers(2) as map_:
        judge, prepared = timed(
            lambda: Closeness().prepare(case, rng=np.random.default_rng(1), map_=map_)
        )
        rng = np.random.default_rng(2)
        (release,) = case.release
        _, judged = timed(lambda: judge.estimates(release, rng=rng, map_=map_))
        megabytes = peak_megabytes()
        sample = release.take(np.arange(min(SAMPLE, rows)))
        slow = against_plain(case.train, sample, rows)
    return {"prepared": prepared, "judged": judged, "megabytes": megabytes, **slow}


def against_plain(train: Block, sample: Block, rows: int) -> dict[str, float]:
    """Seconds of the plain version for all rows, from a sample, and how far the two differ."""
    names = tuple(train.codes)
    near, asked = points(train, names), points(sample, names)
    slow, took = timed(lambda: plain(near, asked))
    fast, _ = nearest(near, asked, 5)
    gap = float(np.abs(fast - slow).max())
    scale = rows / sample.rows
    return {
        "plain": took.wall * scale,
        "plain_cpu": took.cpu * scale,
        "sample": sample.rows,
        "gap": gap,
    }


def main(rows: int = ROWS) -> None:
    found = child("closeness", rows)
    (wall, cpu), megabytes = found["judged"], found["megabytes"]
    slow, slow_cpu = found["plain"], found["plain_cpu"]
    print(f"{rows:,} x {rows:,} x 15, with intervals: {wall:.2f} s ({cpu:.2f} s of processors)")
    print(f"   the holdout, {rows // 6 * 2:,} rows, once: {found['prepared'][0]:.2f} s")
    print(verdict("IMS, DCR and NNDR on two threads in", wall, 15.0, " s"))
    print(f"peak memory {megabytes:,.0f} MB; a full matrix would be {rows**2 * 8 / 2**20:,.0f} MB")
    print(
        f"plain blocks of broadcast distances: {slow:.0f} s (from {found['sample']} queries, one "
        f"thread), {slow / wall:.1f} times as long, {slow_cpu / cpu:.1f} in processor seconds; "
        f"largest difference {found['gap']:.1e}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
    else:
        main()
