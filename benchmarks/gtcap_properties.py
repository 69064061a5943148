"""How GTCAP moves with radii, sample size and the number of keys, on the built-in outbreak.

Each line is the mean of a few random splits. Beside the mean GTCAP of train's statistical uniques
stands that of strangers: people who were held out, each taken for one more row of train. Three
releases are judged: fresh people (an ideal release), fresh people of whom one in twenty is of train
(a known leak), and CART with leaves of five. A copy of train gives 1 always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from understudy.evidence import Evidence
from understudy.risk.gtcap import Gtcap
from understudy.synth.cart import Cart
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import Block, fit_encoding, stack
from understudy.tables.outbreak import outbreak
from understudy.tables.read import read

SPLITS = 5
ROWS = 1500
LEAK = 0.05
LEVELS = ("sex", "age", "region")
NUMBERS = ("longitude", "latitude", "household_size")
TARGET = "contact_source"
COLUMNS = ("region", "sex", "age", "longitude", "latitude", "household_size", TARGET)


@dataclass(frozen=True, eq=False)
class World:
    """Train, strangers, and three releases of one split."""

    train: Block
    held: Block
    releases: dict[str, Block]

    @classmethod
    def of(cls, rows: int, seed: int) -> World:
        """Deal the outbreak out: train, strangers, and as many fresh people."""
        table = read(outbreak().select(list(COLUMNS)))
        order = np.random.default_rng([6, seed]).permutation(table.rows)
        parts = [table.take(order[at : at + rows]) for at in (0, rows, 2 * rows)]
        encoding = fit_encoding(parts[0])
        train, held, fresh = (encoding.encode(part) for part in parts)
        taken = round(LEAK * rows)
        leak = stack([train.take(slice(taken)), fresh.take(slice(taken, None))])
        visits = tuple(Visit(Cart(), (n,), COLUMNS[:at]) for at, n in enumerate(COLUMNS))
        cart = Sequential(visits).fit(train, seed=seed).sample(rows, seed=seed, replicate=1).block
        return cls(train, held, {"fresh": fresh, "leak": leak, "CART": cart})


class Seen(NamedTuple):
    """Means of one split: share of uniques, share of turned ones, GTCAP of train and strangers."""

    uniques: float
    turned: float
    fresh: float
    leak: float
    cart: float
    strangers: float


def look(world: World, keys: tuple[str, ...], radii: dict[str, float], above: bool) -> Seen:
    """GTCAP of one split under some settings; radii are shares of train's standard deviation."""
    encoding = world.train.encoding
    wide = {name: share * encoding[name].sd for name, share in radii.items() if name in keys}
    evidence = Evidence(world.train, world.held, world.held, tuple(world.releases.values()))
    settings = Gtcap(keys=keys, targets=(TARGET,), radii=wide, above_base=above)
    judge = settings.prepare(evidence, rng=np.random.default_rng(1))
    ours = {
        name: judge.scores(TARGET, world.train, block) for name, block in world.releases.items()
    }
    theirs = judge.scores(TARGET, world.held, world.releases["fresh"])
    first = ours["fresh"]
    means = [float(one.used.mean()) if one.used.size else np.nan for one in ours.values()]
    strangers = float(theirs.used.mean()) if theirs.used.size else np.nan
    count = len(first.uniques.row)
    return Seen(count / world.train.rows, first.turned / max(count, 1), *means, strangers)


def line(
    name: str,
    rows: int,
    keys: tuple[str, ...],
    radii: dict[str, float],
    *,
    above: bool = False,
    splits: int = SPLITS,
) -> str:
    """One line: means over the splits."""
    seen = [look(World.of(rows, seed), keys, radii, above) for seed in range(splits)]
    found = Seen(*np.mean(seen, axis=0))
    return (
        f"{name:<34} uniques {found.uniques:6.1%}  turned {found.turned:6.1%}  "
        f"fresh {found.fresh:.3f} (strangers {found.strangers:.3f})  leak {found.leak:.3f}  "
        f"CART {found.cart:.3f}"
    )


def study(rows: int = ROWS, splits: int = SPLITS) -> list[str]:
    """All lines."""
    keys = ("sex", "age", "longitude", "latitude")
    lines = [f"Radii of {', '.join(keys[2:])}, in standard deviations ({rows} people):"]
    for share in (0.0, 0.01, 0.03, 0.1, 0.3, 1.0):
        radii = dict.fromkeys(NUMBERS, share)
        lines.append(line(f"  radius {share:g}", rows, keys, radii, splits=splits))
    radii = dict.fromkeys(NUMBERS, 0.03)
    lines.append("The same, only people of whom train says more than the base:")
    for share in (0.1, 1.0):
        wide = dict.fromkeys(NUMBERS, share)
        lines.append(line(f"  radius {share:g}", rows, keys, wide, above=True, splits=splits))
    lines.append("Sample size (radius 0.03):")
    for size in (rows // 6, rows // 3, rows * 2 // 3, rows * 4 // 3):
        lines.append(line(f"  {size} people", size, keys, radii, splits=splits))
    lines.append("Keys with levels, one after the other:")
    for count in range(1, len(LEVELS) + 1):
        lines.append(
            line(f"  {', '.join(LEVELS[:count])}", rows, LEVELS[:count], {}, splits=splits)
        )
    lines.append("Keys with numbers beside these (radius 0.03):")
    for count in range(1, len(NUMBERS) + 1):
        some = (*LEVELS, *NUMBERS[:count])
        name = f"  + {', '.join(NUMBERS[:count])}"
        lines.append(line(name, rows, some, radii, splits=splits))
    return lines


def main() -> None:
    """Print the study."""
    print("\n".join(study()), flush=True)


if __name__ == "__main__":
    main()
