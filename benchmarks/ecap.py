"""ECAP of 10,000 numbers and the least noise for a bound, against a plain Monte Carlo version.

The plain version does what the paper describes: neighbours from simulated populations, the chances
by drawing people and noise. It is timed on a few numbers and scaled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._clock import Took, median, timed, verdict
from understudy.kernels.ecap import Chances, equation
from understudy.kernels.ecap_sigma import Scene, least_noise, reach
from understudy.kernels.laws import Normal
from understudy.kernels.population import Population

SIZE, MEAN, SD = 60_000, 34.0, 8.0
BOUND = 0.3
SIGMA = 0.8
LIMIT = 2.0
SAMPLE = 5
WORLDS, DRAWS = 20, 400_000

Floats = NDArray[np.float64]


def plain(values: Floats, sigma: float, sample: int, rng: np.random.Generator) -> Floats:
    """ECAP of some numbers by simulation."""
    found = []
    for value in values:
        low, high = [], []
        for _ in range(WORLDS):
            others = rng.normal(MEAN, SD, SIZE - 1)
            below, above = others[others < value], others[others > value]
            low += [below.max()] if below.size else []
            high += [above.min()] if above.size else []
        left, right = np.mean(low), np.mean(high)
        ends = (left + value) / 2, (value + right) / 2
        drawn = rng.normal(MEAN, SD, DRAWS)
        apart = drawn[(drawn <= left) | (drawn >= right)]
        noisy = apart + sigma * rng.normal(size=len(apart))
        own = value + sigma * rng.normal(size=DRAWS)
        p, h = (((x > ends[0]) & (x < ends[1])).mean() for x in (noisy, own))
        chances = Chances(np.array([p]), np.array([h]))
        found.append(float(equation(chances, SIZE, sample, replacement=False)[0]))
    return np.array(found)


def one(rows: int, few: int = SAMPLE) -> dict[str, Any]:
    """Seconds of the ECAP, of the least noise, and of the plain version for as many numbers."""
    rng = np.random.default_rng(1)
    values = rng.normal(MEAN, SD, rows)
    scene = Scene(Population(SIZE, Normal(MEAN, SD)), rows)
    risk, ecap = median(lambda: scene.risk(values, SIGMA), 3)

    def search() -> Any:
        coded = scene.coded(*reach(scene, SIGMA, BOUND))
        return least_noise(coded, values, BOUND)

    least, noise = median(search, 3)
    middle = values[np.argsort(np.abs(values - MEAN))[:few]]
    slow, took = timed(lambda: plain(middle, SIGMA, rows, rng))
    gap = float(np.abs(slow - scene.risk(middle, SIGMA)).max())
    scaled = took.wall * rows / few
    return {
        "ecap": ecap,
        "noise": noise,
        "both": Took(ecap.wall + noise.wall, ecap.cpu + noise.cpu),
        "ratio": scaled / ecap.wall,
        "gap": gap,
        "worst": float(risk.max()),
        "sigma": least.sigma,
    }


def main() -> None:
    """Print seconds and ratios."""
    found = one(10_000)
    print(f"ECAP of 10,000 numbers: {found['ecap']}; {found['ratio']:,.0f} times faster than plain")
    print(f"tails and the least noise for {BOUND:g}: {found['noise']}; σ = {found['sigma']:.3g}")
    print(f"largest difference to the plain version on {SAMPLE} numbers: {found['gap']:.2g}")
    print(verdict("ECAP and σ of 10,000 numbers", found["both"].wall, LIMIT, " s"), flush=True)


if __name__ == "__main__":
    main()
