"""A million rows of 12 mixed columns: seconds, peak memory, and growth with rows.

python -m benchmarks.synthesis_million [rows]: one synthesis in this process, figures as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks._clock import child, exponent, peak_megabytes, timed, verdict
from benchmarks._mixed import mixed
from benchmarks._synthesis import THREADS, scores, synthesize
from understudy.synth.cart import Cart

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
COMPARED = 300_000


def one(rows: int) -> dict[str, Any]:
    """Make the table, synthesise it once; memory counts all that the process ever held."""
    synthesize(mixed(500))  # loads what is imported on first use
    table = mixed(rows)
    _, took = timed(lambda: synthesize(table))
    return {"rows": rows, "wall": took.wall, "cpu": took.cpu, "megabytes": peak_megabytes()}


def sampling_error(rows: int = COMPARED, structure_rows: int = Cart().structure_rows) -> None:
    """Print the pMSE of releases whose trees grew on a sample, and on all rows."""
    table = mixed(rows)
    sampled, took = timed(lambda: synthesize(table, structure_rows=structure_rows))
    whole, other = timed(lambda: synthesize(table, structure_rows=max(rows, 1000)))
    found = scores(table, {"sampled": sampled, "whole": whole})
    print(f"{rows:,} rows, trees grown on {structure_rows:,}: {took}, on all rows: {other}")
    for place, kind in enumerate(("tree", "logit")):
        a, b = found["sampled"][place], found["whole"][place]
        times = a.pmse / b.pmse
        print(
            f"   pMSE ({kind}) {a.pmse:.6f}, on all rows {b.pmse:.6f}: {times:.3f} times; "
            f"two draws of one process have {a.expected:.6f}"
        )


def main(sizes: tuple[int, ...] = SIZES, compared: int = COMPARED) -> None:
    seconds, processors = [], []
    for rows in sizes:
        found = child("synthesis_million", rows)
        seconds.append(found["wall"])
        processors.append(found["cpu"])
        print(
            f"{rows:>9,} rows x 12: {found['wall']:.2f} s ({found['cpu']:.2f} s of processors), "
            f"peak {found['megabytes']:,.0f} MB",
            flush=True,
        )
    print(verdict(f"{sizes[-1]:,} rows on {THREADS} threads in", seconds[-1], 20.0, " s"))
    print(verdict("peak memory", found["megabytes"], 3000.0, " MB"))
    print(verdict("time grows with rows to the power", exponent(sizes, seconds), 1.1))
    print(f"   of processors: power {exponent(sizes, processors):.2f}")
    print(
        f"above {Cart().structure_rows:,} rows trees grow on a sample of that size by default; all "
        "rows are donors. Its error, measured now:"
    )
    sampling_error(compared)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
    else:
        main()
