"""Four families of attacks on adult.csv, 1,000 attacks each, against anonymeter in the same run.

Train and control have 24,000 rows each, the release as many. Both begin with tables in memory and
attack train and control. Rates stand side by side. Where definitions are equal they must agree:

- Singling out: anonymeter's median and its extremes are the release's, as here; its guesses are
  drawn anew, so rates agree within their errors.
- Inference and linkability: the distances differ (ours is squared, in standard deviations; theirs
  Gower's, in ranges), so rates are compared and need not be equal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
from threadpoolctl import threadpool_limits

from benchmarks import _peers
from benchmarks._clock import Took, timed, verdict
from benchmarks._synthesis import data, synthesize
from understudy.api import read, workers
from understudy.evidence import Evidence
from understudy.kernels.rates import difference
from understudy.risk.inference import Inference
from understudy.risk.linkability import Linkability, halves
from understudy.risk.singling_out import SinglingOut
from understudy.tables.encode import fit_encoding
from understudy.tables.table import Table

ROWS = 24_000
ATTACKS = 1000
FASTER = 10.0
THREADS = 2
Found = dict[str, dict[str, float]]


def tables(table: Table, rows: int) -> dict[str, Table]:
    """Train, control and a release of train, of as many rows each."""
    order = np.random.default_rng(1).permutation(table.rows)
    train, control = table.take(order[:rows]), table.take(order[rows : 2 * rows])
    return {"train": train, "control": control, "synthetic": synthesize(train)}


def ours(parts: Mapping[str, Table], attacks: int, threads: int = THREADS) -> Found:
    """Rates and seconds of each family; the first includes the encoding."""
    found: Found = {}
    rng = np.random.default_rng(2)

    def encoded() -> Evidence:
        encoding = fit_encoding(parts["train"])
        train, control, release = (encoding.encode(part) for part in parts.values())
        none = control.take(slice(0))
        return Evidence(train, control, none, (release,))

    evidence, first = timed(encoded)
    with workers(threads) as map_:
        for measure in (SinglingOut(attacks), Linkability(attacks), Inference(attacks)):

            def attack(measure: Any = measure) -> Any:
                judge = measure.prepare(evidence, rng=rng, map_=map_)
                return judge.estimates(evidence.release[0], rng=rng, map_=map_)

            estimates, took = timed(attack)
            told = [
                e for e in estimates if not (e.target or "").endswith(("residual", "residual)"))
            ]
            for one in told:
                name = one.measure + (f" {one.target}" if one.target else "")
                found[name] = {
                    "attack": one.value,
                    "control": one.reference,
                    "made": float(one.note.split()[0]) if one.note[:1].isdigit() else 0.0,
                    "wall": (took.wall + first.wall) / len(told),
                    "cpu": (took.cpu + first.cpu) / len(told),
                }
            first = Took(0.0, 0.0)
    return found


def family(name: str) -> str:
    """What a time belongs to: both kinds of singling out are timed together here."""
    return name.split(maxsplit=1)[0].split(".", maxsplit=1)[0]


def seconds(found: Found, which: str) -> dict[str, float]:
    """Seconds of each family."""
    total: dict[str, float] = {}
    for name, one in found.items():
        total[family(name)] = total.get(family(name), 0.0) + one[which]
    return total


def agree(mine: Mapping[str, float], his: Mapping[str, float], key: str) -> str:
    """Whether two rates differ by chance: 0 within their 99.9% interval."""
    counts = [(one[key] * one["made"], one["made"]) for one in (mine, his)]
    if min(count[1] for count in counts) == 0:
        return "  none made"
    low, high = difference(*counts, level=0.999)
    return "" if low <= 0 <= high else "  *"


def show(mine: Found, his: Found) -> None:
    """Rates side by side; a star marks a difference beyond chance."""
    print(f"   {'attack':34} {'ours':>16} {'anonymeter':>16}   (train, control)")
    for name, one in mine.items():
        other = his.get(name)
        if other is None:
            continue
        star = agree(one, other, "attack") or agree(one, other, "control")
        print(
            f"   {name:34} {one['attack']:8.3f}{one['control']:8.3f} "
            f"{other['attack']:8.3f}{other['control']:8.3f}{star}"
        )


def main() -> None:
    source = data("adult.csv")
    if source is None:
        print("attacks is skipped: no adult.csv (name its folder in UNDERSTUDY_DATA)")
        return
    parts = tables(read(source), ROWS)
    with threadpool_limits(1):
        mine = ours(parts, ATTACKS)
    wall = seconds(mine, "wall")
    print("understudy: " + ", ".join(f"{name} {took:.2f} s" for name, took in wall.items()))
    encoding = fit_encoding(parts["train"])
    with tempfile.TemporaryDirectory() as folder:
        for name, part in parts.items():
            pyarrow.csv.write_csv(part.data, Path(folder) / f"{name}.csv")
        try:
            his = _peers.run(
                "anonymeter", "anonymeter_attacks.py", Path(folder), Path(folder) / "out.json",
                attacks=ATTACKS, sides=halves(encoding, encoding.names), jobs=THREADS, warm=True,
                numbers=[n for n in encoding.names if encoding[n].is_numeric],
            )  # fmt: skip
        except _peers.Absent as reason:
            print(reason)
            return
    theirs = seconds(his, "wall")
    print("anonymeter: " + ", ".join(f"{name} {took:.2f} s" for name, took in theirs.items()))
    show(mine, his)
    for name, took in theirs.items():
        print(f"   {name}: {took / wall[name]:.1f} times as fast")
    ratio = sum(theirs.values()) / sum(wall.values())
    print(verdict("times as fast as anonymeter, all four", ratio, FASTER, least=True))


if __name__ == "__main__":
    main()
