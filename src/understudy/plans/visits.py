"""From a plan to the ordered visits of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.errors import PlanError
from understudy.plans import checks, toml
from understudy.plans.plan import KEEP, Plan, VisitPlan, resolved
from understudy.plans.words import NUMBERS
from understudy.synth import MODELS
from understudy.synth.base import Model
from understudy.synth.sequence import Visit
from understudy.tables.encode import Encoding
from understudy.tables.schema import Role, Schema

_BLIND = ("keep", "marginal", "dirichlet-multinomial")  # models that look at no other column
MANY = 20  # a number with more cells than this is continuous, with fewer it is discrete


def visits_for(plan: Plan, encoding: Encoding, leaf: int) -> tuple[Visit, ...]:
    """The visits, in order, that draw every encoded column once.

    Kept columns come first; then the plan's visits, each after the columns it predicts from; then
    the other columns by the plan's order; survey weights last.
    """
    plan = selected(plan, encoding)
    walk = _Walk(plan, encoding, leaf)
    walk.keep()
    for item in _sequence(plan, encoding):
        walk.draw(item)
    return tuple(walk.visits)


def selected(plan: Plan, encoding: Encoding) -> Plan:
    """The plan with ``@numbers`` replaced by the continuous columns that no visit names.

    Continuous are numbers and dates of more than 20 cells that are neither kept nor weights.
    """
    if not any(NUMBERS in visit.columns for visit in plan.visits):
        return plan
    taken = {name for visit in plan.visits for name in visit.columns}
    schema = encoding.schema
    taken |= set(schema.with_role(Role.KEEP, Role.WEIGHT))
    found = tuple(
        name
        for name in encoding.names
        if encoding[name].is_numeric and encoding[name].size > MANY and name not in taken
    )
    visits = []
    for visit in plan.visits:
        columns = tuple(name for name in visit.columns if name != NUMBERS)
        visits.append(replace(visit, columns=columns + (found if NUMBERS in visit.columns else ())))
    return replace(plan, visits=tuple(visits))


def check(plan: Plan, schema: Schema) -> None:
    """Raise `PlanError` where the plan names a column that the table does not have."""
    names = schema.names
    for name in plan.columns:
        checks.column(f"columns.{toml.key(name)}", name, names)
    if plan.split.strata is not None:
        checks.column("split.strata", plan.split.strata, names)
    for place, entry in enumerate(plan.published):
        for name in entry.get("columns", ()):
            checks.column(f"published[{place}].columns", name, names)
    for name in () if isinstance(plan.order, str) else plan.order:
        checks.column("synthesis.order", name, names)
    roles = schema.update(plan.looks)
    seen: dict[str, str] = {}
    for place, visit in enumerate(plan.visits):
        where = f"visits[{place}]"
        _check_visit(where, visit, names)
        for name in visit.columns:
            if name in seen and name == NUMBERS:
                raise PlanError(f"{where}.columns", name, f"one visit for it; {seen[name]} has it")
            if name in seen:
                raise PlanError(f"{where}.columns", name, f"a column that {seen[name]} leaves out")
            if name != NUMBERS and roles[name].role is Role.KEEP and visit.model != KEEP:
                raise PlanError(f"{where}.columns", name, "a column whose role is not keep")
            seen[name] = where


def check_left(plan: Plan, names: Sequence[str]) -> None:
    """Raise `PlanError` where strata name a column that is not among those left to synthesise."""
    strata = {"split.strata": plan.split.strata}
    strata |= {f"visits[{place}].strata": v.strata for place, v in enumerate(plan.visits)}
    for where, name in strata.items():
        if name is not None and name not in names:
            expected = "a column that is drawn or kept: this one is left out before the split"
            raise PlanError(where, name, expected)


def _check_visit(where: str, visit: VisitPlan, names: Sequence[str]) -> None:
    for key in ("columns", "given", "without"):
        for name in getattr(visit, key) or ():
            if key == "columns" and name == NUMBERS:
                continue
            checks.column(f"{where}.{key}", name, names)
    if visit.strata is not None:
        checks.column(f"{where}.strata", visit.strata, names)


def _sequence(plan: Plan, encoding: Encoding) -> list[int | str]:
    """Visits (by number) and single columns in the order in which they are due."""
    owner = {name: place for place, visit in enumerate(plan.visits) for name in visit.columns}
    listed = [] if isinstance(plan.order, str) else [n for n in plan.order if n in encoding.names]
    due: list[int | str] = [
        place
        for place, visit in enumerate(plan.visits)
        if not any(name in listed for name in visit.columns)
    ]
    rest = [name for name in encoding.names if name not in owner and name not in listed]
    if plan.order != "table":
        rest.sort(key=lambda name: encoding[name].size)
    # Weights are functions of the design and of the other columns: they come when all are known.
    last = [name for name in rest if encoding[name].column.role is Role.WEIGHT]
    due += [owner.get(name, name) for name in listed]
    return due + [name for name in rest if name not in last] + last


@dataclass
class _Walk:
    """The visits so far."""

    plan: Plan
    encoding: Encoding
    leaf: int
    visits: list[Visit] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    begun: set[int | str] = field(default_factory=set)

    def keep(self) -> None:
        """One visit for all columns that are kept as they are."""
        kept = [n for n in self.encoding.names if self.encoding[n].column.role is Role.KEEP]
        named = {name for visit in self.plan.visits for name in visit.columns}
        kept = [name for name in kept if name not in named]
        if kept:
            self._add(Visit(MODELS["keep"](), tuple(kept)))

    def draw(self, item: int | str) -> None:
        """Add a visit or a column, unless it is drawn already; first what it needs."""
        if item in self.begun or item in self.drawn:
            return
        self.begun.add(item)
        if isinstance(item, int):
            self._named(item)
        else:
            self._plain([item])

    def _plain(self, columns: list[str]) -> None:
        model = self._model("synthesis", self.plan.model, self.plan.settings, columns)
        if model.many:  # a joint model draws all that is left in one visit
            named = {name for visit in self.plan.visits for name in visit.columns}
            taken = named | set(self.drawn)
            columns = [name for name in self.encoding.names if name not in taken]
            self._model("synthesis", self.plan.model, self.plan.settings, columns)
        self._add(Visit(model, tuple(columns), self._before(model)))

    def _named(self, place: int) -> None:
        where, visit = f"visits[{place}]", self.plan.visits[place]
        columns = [name for name in visit.columns if name in self.encoding.names]
        if not columns:
            return
        self._needs(where, visit)
        model = self._model(where, visit.model, visit.settings, columns)
        for group in [columns] if model.many else [[name] for name in columns]:
            given = self._before(model)
            if visit.given is not None:
                given = tuple(name for name in visit.given if name in self.encoding.names)
            given = tuple(name for name in given if name not in visit.without)
            self._add(Visit(model, tuple(group), given, visit.strata))

    def _needs(self, where: str, visit: VisitPlan) -> None:
        """Draw what a visit predicts from, before it."""
        owner = {name: i for i, other in enumerate(self.plan.visits) for name in other.columns}
        strata = () if visit.strata is None else (visit.strata,)
        for key, names in (("given", visit.given or ()), ("strata", strata)):
            for name in names:
                if name not in self.encoding.names or name in self.drawn:
                    continue
                if owner.get(name, name) in self.begun:
                    raise PlanError(f"{where}.{key}", name, "columns that are drawn before these")
                self.draw(owner.get(name, name))

    def _model(self, where: str, name: str, settings: Any, columns: Sequence[str]) -> Model:
        kind = MODELS[name]
        for column in columns:
            need = "numbers" if self.encoding[column].is_numeric else "levels"
            if need not in kind.kinds:
                expected = (
                    f"a model of {need} for {column} ({name} draws {' and '.join(kind.kinds)})"
                )
                raise PlanError(f"{where}.model", name, expected)
        return kind.from_settings(where, resolved(name, settings, self.leaf))

    def _before(self, model: Model) -> tuple[str, ...]:
        return () if model.name in _BLIND else tuple(self.drawn)

    def _add(self, visit: Visit) -> None:
        self.visits.append(visit)
        self.drawn += visit.columns
