"""People with several rows against the same rows taken for strangers, at doubling sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from benchmarks._clock import exponent, timed, verdict
from understudy.plans.panel import synthesizer
from understudy.plans.plan import Plan
from understudy.study.people import find_people
from understudy.tables.encode import Block, fit_encoding
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

LARGEST = 16_000
LONGEST = 60
STEPS = 4
LIMIT = 1.3


def visits(people: int, longest: int = LONGEST) -> Table:
    """Visits of people: a geometric number, a constant, a chain, and what follows from it."""
    rng = np.random.default_rng([30, people, longest])
    sizes = np.minimum(rng.geometric(0.2, people), longest)
    sizes[0] = longest
    person = np.repeat(np.arange(people), sizes)
    number = np.arange(len(person)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    score = rng.normal(size=len(person))
    for row in range(1, len(person)):
        score[row] = 0.8 * score[row - 1] + 0.6 * score[row] if number[row] else score[row]
    sex = rng.choice(["f", "m"], people)
    return Table(
        pa.table(
            {
                "id": [f"P{k}" for k in person],
                "week": number + rng.integers(0, 200, people)[person],
                "sex": sex[person],
                "birth": rng.integers(1930, 2000, people)[person],
                "score": np.round(score, 2),
                "ill": np.where(score + rng.normal(size=len(person)) > 1.5, "yes", "no"),
            }
        ),
        Schema(
            (
                Column("id", Kind.CATEGORY, Role.GROUP),
                Column("week", Kind.NUMBER, Role.TIME, decimals=0),
                Column("sex", Kind.CATEGORY),
                Column("birth", Kind.NUMBER, decimals=0),
                Column("score", Kind.NUMBER, decimals=2),
                Column("ill", Kind.CATEGORY),
            )
        ),
    )


def encoded(table: Table) -> Block:
    """The rows of a table, those of a person together."""
    people = find_people(table, "id")
    own, person = table.take(people.order).drop(["id"]), people.person[people.order]
    return replace(fit_encoding(own, person=person).encode(own), person=person)


def seconds(block: Block) -> tuple[float, float]:
    """Processor seconds of one fit, and of one replicate of as many rows."""
    plan = Plan()
    engine = synthesizer(plan, block, plan.visits_for(block.encoding, leaf=20))
    fitted, fit = timed(lambda: engine.fit(block, seed=1))
    _, draw = timed(lambda: fitted.sample(block.rows, seed=1, replicate=1))
    return fit.cpu, draw.cpu


def main(largest: int = LARGEST) -> None:
    with threadpool_limits(1):
        seconds(encoded(visits(max(largest >> STEPS, 64))))  # what is imported on first use
        rows, fits, draws = [], [], []
        for step in range(STEPS):
            block = encoded(visits(largest >> (STEPS - 1 - step)))
            people, plain = seconds(block), seconds(replace(block, person=None))
            rows.append(block.rows)
            fits.append(people[0])
            draws.append(people[1])
            times = f"{people[0] / plain[0]:.1f} and {people[1] / plain[1]:.1f} times"
            print(
                f"{block.rows:,} rows of {block.people:,} people: fit {people[0]:.2f} s, "
                f"draw {people[1]:.2f} s; {times} what strangers take"
            )
        print(verdict("fit grows as rows^", exponent(rows, fits), LIMIT))
        print(verdict("a replicate grows as rows^", exponent(rows, draws), LIMIT))
        sizes = [LONGEST << step for step in range(STEPS)]
        longer = {size: seconds(encoded(visits(largest >> 3, size)))[1] for size in sizes}
        shown = ", ".join(f"{size}: {second:.2f} s" for size, second in longer.items())
        print(f"a replicate by the rows of the longest person, {largest >> 3:,} people: {shown}")


if __name__ == "__main__":
    main()
