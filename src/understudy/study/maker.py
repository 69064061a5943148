"""The protections of a plan, made and applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from understudy.errors import PlanError
from understudy.membership import Cover
from understudy.plans.plan import Plan
from understudy.protect import PROTECTIONS, Noise, Protection, Receipt
from understudy.seeds import stream
from understudy.study.source import Maker as Maker  # noqa: PLC0414 (what protections ask)
from understudy.tables.encode import Block


def protections(plan: Plan, *, kept: bool, grouped: bool = False) -> tuple[Protection, ...]:
    """The plan's protections, in order."""
    made: list[Protection] = []
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
        step = kind.from_settings(where, settings)
        before = next((one.name for one in made if one.last), "")
        if before and (step.redraws or step.last):
            expected = f"a step before {before}: rows drawn after it would lack what it adds"
            raise PlanError(f"{where}.do", kind.name, expected)
        made.append(step)
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
            rng = stream_of(step, seed, number, place)
            current, receipt = step.apply(current, train, maker, rng=rng)
            done.append((number, receipt))
        result.append(current)
    return tuple(result), done


def protected(done: Sequence[tuple[int, Receipt]]) -> dict[str, Any]:
    """What protections have to show beside their receipts, by replicate."""
    found = [
        {"protection": receipt.protection, "replicate": number, **receipt.summary}
        for number, receipt in done
        if receipt.summary
    ]
    return {"protections": found} if found else {}


def stream_of(step: Protection, seed: int, number: int, place: int) -> np.random.Generator:
    """The stream of a protection for one replicate; the same for all where it draws once."""
    return stream(seed, "protect", *(() if step.once else (number,)), place)


def noise_of(steps: Sequence[Protection], train: Block) -> dict[str, Cover]:
    """The noise that the steps add, by column."""
    found: dict[str, Cover] = {}
    for step in steps:
        if isinstance(step, Noise):
            found |= step.covers(train)
    return found


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
