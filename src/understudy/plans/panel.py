"""From the visits of a plan to those of people with several rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from understudy.errors import PlanError
from understudy.plans.plan import Plan
from understudy.synth import MODELS
from understudy.synth.panel import Panel
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

    Columns that never change in a person, and the first time, are drawn before all that changes,
    and may be predicted from the number of rows. What changes is also predicted from the values of
    the row before, the row's number and the time since: of the columns that the visit may look at.
    """
    whole = set(wide.known)
    person = [Visit(MODELS["marginal"](), (wide.count,))]
    first, gap, later = [], [], []
    for visit in visits:
        _suits(visit, wide)
        seen, blind = _seen(plan, wide, visit), visit.model.name in _BLIND
        once = tuple(name for name in visit.columns if name in whole)
        if once:
            given = (wide.count, *(name for name in visit.given if name in whole))
            person.append(replace(visit, columns=once, given=() if blind else given))
        fixed = [name for name in wide.known if name in seen]
        lags = [new for name, new in wide.before.items() if name in seen or name in visit.columns]
        if wide.time in visit.columns:
            given = (wide.count, wide.number, *(n for n in fixed if n != wide.time), *lags)
            strata = visit.strata if visit.strata in wide.constant else None
            gap.append(Visit(visit.model, (wide.gap,), () if blind else given, strata))
        rest = tuple(name for name in visit.columns if name in wide.changing)
        if rest:
            beside = [name for name in visit.given if name in wide.changing]
            start = () if blind else (wide.count, *fixed, *beside)
            made = (wide.count, wide.number, *([wide.gap] if wide.time else []))
            after = () if blind else (*made, *fixed, *beside, *lags)
            first.append(replace(visit, columns=rest, given=start))
            later.append(replace(visit, columns=rest, given=after))
    of_people = tuple(rule for rule in rules if set(rule.columns) <= whole)
    of_rows = tuple(rule for rule in rules if rule not in of_people)
    return Panel(
        wide,
        tuple(visits),
        Sequential(tuple(person), of_people),
        Sequential(tuple(first), of_rows),
        Sequential(tuple(gap)),
        Sequential(tuple(later), of_rows),
        tuple(rules),
    )


def _seen(plan: Plan, wide: Wide, visit: Visit) -> set[str]:
    """Columns that a visit may look at, now or in the row before."""
    named = [item for item in plan.visits if set(item.columns) & set(visit.columns)]
    if not named:
        return set(wide.own)
    allowed = set(wide.own) if named[0].given is None else set(named[0].given)
    return allowed - set(named[0].without)


def _suits(visit: Visit, wide: Wide) -> None:
    """Refuse what would draw rows of one person without one another."""
    if getattr(visit.model, "spread", False):
        raise PlanError(
            "synthesis.spread",
            True,
            "false: even draws make all rows at once, and the rows of a person come one by one",
        )
    early = [n for n in visit.columns if n in wide.constant or n == wide.time]
    if visit.strata is not None and early and visit.strata not in wide.constant:
        raise PlanError(
            "visits.strata",
            visit.strata,
            f"a column that never changes in a person, for {early[0]} is drawn once a person",
        )


__all__ = ["synthesizer"]
