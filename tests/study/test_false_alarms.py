"""How often an ideal release is blocked: at most as often as declared (5%), all gates together.

One binary column is the exception, since a copy must always be refused: a release with exactly
train's counts is refused even where chance makes it so (see `understudy.risk.copies`).
"""

from collections import Counter

import pytest

from understudy.plans.plan import Gates, Plan
from understudy.results import Verdict
from understudy.risk import MEASURES
from understudy.study import Gating
from understudy.study.judge import judge_all, measures_of

BLOCKS = {Verdict.FAILS, Verdict.NOT_MEASURED}
SIZES = ((60, 20, 80), (150, 50, 200), (375, 125, 500), (375, 125, 375))


def blocked(people, process, sizes, m, run):
    """Names of the gates that block m fresh draws, judged singly and pooled."""
    rows, held, released = sizes
    world = people(process, rows, held, 50, m, run)
    evidence = world.evidence(*(world.draw(released) for _ in range(m)))
    gating = Gating(Gates().names)
    gating_ones = (name for name, kind in MEASURES.items() if set(kind.names) & set(gating.names))
    names = measures_of(Plan(measures=tuple(gating_ones)))
    findings, _ = judge_all(evidence, names, gating, seed=run, calibrate=False)
    gates = [item for item in findings if item.gate]
    numbers = {item.estimate.replicate for item in gates}
    assert numbers == ({1} if m == 1 else {*range(m + 1)})
    return {item.estimate.measure for item in gates if item.verdict in BLOCKS}


def rate(people, process, sizes, m, runs):
    which = Counter()
    for run in range(runs):
        names = blocked(people, process, sizes, m, run)
        which.update([*names, "any"] if names else [])
    return which["any"] / runs, which


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse", "sensitive"])
def test_fresh_draws_are_rarely_blocked(people, process, m):
    # 30 (or 10) runs at 5%: more than 5 (or 3) has probability 0.003 (or 0.001). Seeds are fixed.
    runs, most = (30, 5) if m == 1 else (10, 3)
    found, which = rate(people, process, (150, 50, 200), m, runs)
    assert found <= most / runs, which


@pytest.mark.parametrize("process", ["continuous", "mixed", "binary"])
def test_few_rows_are_rarely_blocked(people, process):
    """Ten rows of control: here quantiles by the bootstrap blocked one fresh draw in three."""
    found, which = rate(people, process, (60, 20, 80), 1, 25)
    assert found <= 5 / 25, which


@pytest.mark.sweep
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse", "sensitive", "binary"])
def test_the_declared_rate_is_kept(people, process, sizes, m):
    """At most 5% and three standard errors of 400 runs (8.3%).

    Seen with 120 to 200 runs: 0 to 3% on three numbers, mixed and coarse columns, at m = 1 and 3.
    One binary column: 6% at 150 rows against 150, 8% at 60 against 80 with m = 3, all of it
    equal counts by chance, which rise with the number of comparisons.
    """
    found, which = rate(people, process, sizes, m, 400)
    print(f"{process} {sizes} m={m}: {found:.3f} {dict(which)}")
    assert found <= (0.15 if process == "binary" else 0.083), which
