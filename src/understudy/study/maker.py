"""How the release was made, as protections and measures may ask it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.plans.plan import Plan
from understudy.protect import PROTECTIONS, Protection, Receipt
from understudy.seeds import stream
from understudy.synth.panel import FittedPanel
from understudy.synth.sequence import FittedSequence
from understudy.tables.encode import Block


@dataclass(frozen=True, eq=False)
class Maker:
    """A fitted synthesizer behind the `Source` protocol."""

    fitted: FittedSequence | FittedPanel

    @property
    def combining(self) -> str:
        """Which rule combines estimates from replicates."""
        return self.fitted.settings.combining

    def sample(self, rows: int, *, seed: int) -> Block:
        """Draw rows that are not part of any replicate (rules hold for them, too)."""
        return self.fitted.sample(rows, seed=seed, replicate=0).block

    def near(self, record: Block, rows: int, columns: Sequence[str], *, seed: int) -> Block:
        """Draw these columns (and those drawn together with them) for rows like one record."""
        return self.fitted.near(record, rows, columns, seed=seed)

    def complete(
        self, rows: Block, fixed: Sequence[str], *, seed: int
    ) -> tuple[Block, NDArray[np.bool_]]:
        """Draw the columns that are not fixed, given those that are; and which rows obey rules."""
        return self.fitted.complete(rows, fixed, seed=seed)

    def log_prob(self, replicate: Block) -> float:
        """Log probability of a replicate before protections."""
        return self.fitted.log_prob(replicate)

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Any:
        """Change of `log_prob` when a row of train becomes each candidate."""
        return self.fitted.swap(record, candidates, replicates)


def protections(plan: Plan, *, kept: bool, grouped: bool = False) -> tuple[Protection, ...]:
    """The plan's protections, in order."""
    made = []
    for place, entry in enumerate(plan.protections):
        where = f"protections[{place}]"
        kind = PROTECTIONS[_name(where, entry)]
        if kind.redraws and kept:
            raise PlanError(where, kind.name, "no protection that redraws, since columns are kept")
        if grouped:
            expected = "no protection: none knows yet of people with several rows (role group)"
            raise PlanError(where, kind.name, expected)
        settings = {key: value for key, value in entry.items() if key != "do"}
        settings = _beside(kind, plan) | settings
        made.append(kind.from_settings(where, settings))
    return tuple(made)


def protect(
    steps: Sequence[Protection],
    replicates: Sequence[Block],
    train: Block,
    maker: Maker,
    *,
    seed: int,
) -> tuple[tuple[Block, ...], list[tuple[int, Receipt]]]:
    """Apply every protection to every replicate; receipts come with the replicate's number."""
    done: list[tuple[int, Receipt]] = []
    result = []
    for number, block in enumerate(replicates, start=1):
        current = block
        for place, step in enumerate(steps):
            rng: np.random.Generator = stream(seed, "protect", number, place)
            current, receipt = step.apply(current, train, maker, rng=rng)
            done.append((number, receipt))
        result.append(current)
    return tuple(result), done


def _beside(kind: type[Protection], plan: Plan) -> dict[str, Any]:
    """Settings that a protection shares with a measure: what its entry does not say."""
    known = {field.name for field in fields(kind)}
    shared = plan.measure.get(kind.beside, {})
    return {key: value for key, value in shared.items() if key in known}


def _name(where: str, entry: Mapping[str, Any]) -> str:
    name = entry.get("do")
    if name not in PROTECTIONS:
        raise PlanError(f"{where}.do", name, f"one of {', '.join(PROTECTIONS)}")
    return str(name)
