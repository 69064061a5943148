"""From the visits of a plan to those of people with several rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from understudy.errors import PlanError
from understudy.plans.plan import Plan
from understudy.synth import MODELS
from understudy.synth.grid import Link, Ruler
from understudy.synth.panel import PARTS, Panel
from understudy.synth.rule_numbers import Order
from understudy.synth.rules import Rule
from understudy.synth.sequence import Sequential, Visit
from understudy.synth.wide import Wide, find_wide
from understudy.tables.encode import Block

_BLIND = ("keep", "marginal")  # models that look at no other column


def synthesizer(
    plan: Plan,
    train: Block,
    visits: Sequence[Visit],
    rules: Sequence[Rule] = (),
    wide: Wide | None = None,
) -> Sequential | Panel:
    """The synthesizer of a table: row by row, or, where people have several rows, by people."""
    if train.person is None:
        return Sequential(tuple(visits), tuple(rules))
    return _panel(plan, find_wide(train) if wide is None else wide, visits, rules)


def _panel(plan: Plan, wide: Wide, visits: Sequence[Visit], rules: Sequence[Rule]) -> Panel:
    """Each visit once for people, once for first rows, once for later ones: as its columns need.

    Columns that never change in a person, and times, are drawn before all that changes, and may be
    predicted from the number of rows. What changes is also predicted from the values of the row
    before, the row's number and the time since: of the columns that the visit may look at.
    """
    steps: dict[str, list[Visit]] = {part: [] for part in (*PARTS, "untimed")}
    steps["person"].append(Visit(MODELS["marginal"](), (wide.count,)))
    for visit in visits:
        _suits(visit, wide)
        for part, columns, given in _due(plan, wide, visit):
            blind = visit.model.name in _BLIND
            steps[part].append(replace(visit, columns=columns, given=() if blind else given))
    steps["person"] += steps.pop("untimed")
    about = _rules(wide, rules)
    parts = {part: Sequential(tuple(steps[part]), about[part]) for part in PARTS}
    return Panel(wide, tuple(visits), rules=tuple(rules), **parts)


def _due(
    plan: Plan, wide: Wide, visit: Visit
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The parts that a visit is for, with its columns there and what they are predicted from."""
    seen = _seen(plan, wide, visit)
    steady = tuple(name for name in wide.constant if name in seen)
    lags = tuple(n for name, n in wide.before.items() if name in seen or name in visit.columns)
    once = tuple(name for name in visit.columns if name in wide.constant)
    if once:
        beside = tuple(name for name in visit.given if name in wide.constant)
        yield "person", once, (wide.count, *beside)
    if wide.time is not None and wide.time in visit.columns:
        yield "start", (wide.time,), (wide.count, *steady)
        yield "gap", (wide.gap,), (wide.count, wide.number, *steady, *lags)
        if wide.untimed is not None:
            yield "untimed", (wide.untimed,), (wide.count, *steady)
    rest = tuple(name for name in visit.columns if name in wide.changing)
    if rest:
        known = tuple(name for name in wide.known if name in seen)
        beside = tuple(name for name in visit.given if name in wide.changing)
        made = (wide.count, wide.number, *((wide.gap,) if wide.time else ()))
        yield "first", rest, (wide.count, *known, *beside)
        yield "later", rest, (*made, *known, *beside, *lags)


def _rules(wide: Wide, rules: Sequence[Rule]) -> dict[str, tuple[Rule, ...]]:
    """The rules by the part that first draws all their columns."""
    found: dict[str, list[Rule]] = {part: [] for part in PARTS}
    for rule in rules:
        about = set(rule.columns)
        if about <= set(wide.constant):
            found["person"].append(rule)
        elif about <= set(wide.known):
            found["start"].append(rule)
        else:
            found["first"].append(rule)
            found["later"].append(rule)
    if wide.untimed is not None:
        same = Link(1.0, 0.0)
        lost, rows = Ruler(wide.encoding[wide.untimed]), Ruler(wide.encoding[wide.count])
        found["person"].append(Order(lost, rows, same, same))
    return {part: tuple(some) for part, some in found.items()}


def _seen(plan: Plan, wide: Wide, visit: Visit) -> set[str]:
    """Columns that a visit may look at, now or in the row before."""
    named = [item for item in plan.visits if set(item.columns) & set(visit.columns)]
    if not named:
        return set(wide.own)
    allowed = set(wide.own) if named[0].given is None else set(named[0].given)
    return allowed - set(named[0].without)


def _suits(visit: Visit, wide: Wide) -> None:
    """Refuse what would draw rows of one person without one another."""
    if (spread := getattr(visit.model, "spread", 1)) > 1:
        raise PlanError(
            "synthesis.spread",
            spread,
            "1: even draws make all rows at once, and the rows of a person come one by one",
        )
    early = [n for n in visit.columns if n in wide.constant or n == wide.time]
    if visit.strata is not None and early and visit.strata not in wide.constant:
        raise PlanError(
            "visits.strata",
            visit.strata,
            f"a column that never changes in a person, for {early[0]} is drawn once a person",
        )


__all__ = ["synthesizer"]
