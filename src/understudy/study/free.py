"""The free parameters of a plan: which settings of which visits, between which ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from understudy.errors import PlanError
from understudy.plans.plan import AUTO, Plan, VisitPlan
from understudy.plans.tuning import Tuning
from understudy.synth.cart import Cart
from understudy.synth.sequence import Visit
from understudy.tables.encode import Block, Encoding

_STEP = 1.05  # whole numbers on a logarithmic scale are this far apart: fits can be used again
_UNKNOWN_LEAF = 2**30 + 7  # a leaf size that nobody asks for marks those that are automatic
_MOST_COMPONENTS = 1_000


@dataclass(frozen=True)
class Parameter:
    """One free setting, shared by one or more visits.

    Attributes:
        path: its name: the visit's columns and the setting.
        visits: places of the visits.
        setting: the setting of their models.
        low: smallest value.
        high: largest value.
        whole: whole numbers only.
        log: searched on a logarithmic scale.
    """

    path: str
    visits: tuple[int, ...]
    setting: str
    low: float
    high: float
    whole: bool = False
    log: bool = False

    def value(self, place: float) -> float:
        """The value at ``place``, 0 to 1, of the scale; whole numbers are on a grid.

        Example:
            >>> leaf = Parameter("age.min_leaf", (0,), "min_leaf", 2, 200, whole=True, log=True)
            >>> leaf.value(0.0), leaf.value(0.5), leaf.value(1.0)
            (2, 20, 200)
        """
        if not self.log:
            value = self.low + place * (self.high - self.low)
        else:
            steps = np.log(self.high / self.low) / np.log(_STEP)
            # Ends are reached exactly: the grid has a whole number of equal steps.
            fine = np.rint(place * np.ceil(steps)) / np.ceil(steps) if self.whole else place
            value = self.low * (self.high / self.low) ** float(fine)
        if self.whole:
            return min(max(round(value), self.low), self.high)
        return float(f"{value:.12g}")  # so that what the plan says comes back as it was

    def place(self, value: float) -> float:
        """Where a value stands on the scale, 0 to 1."""
        if self.log:
            found = np.log(max(value, self.low) / self.low) / np.log(self.high / self.low)
        else:
            found = (value - self.low) / (self.high - self.low)
        return float(np.clip(found, 0.0, 1.0))


def parameters(tuning: Tuning, visits: Sequence[Visit], train: Block) -> tuple[Parameter, ...]:
    """The free parameters: the plan's, or what a rule finds for each model.

    The rule: the leaf of every tree that predicts from something, from 2 to a quarter of the rows;
    the components of every mixture, from 1 to a quarter of the rows and at most 1,000; C of every
    multinomial logit, from 0.001 to 100; all on a logarithmic scale.
    """
    if tuning.free == AUTO:
        found = [item for place, visit in enumerate(visits) for item in _auto(place, visit, train)]
        if not found:
            raise PlanError("tune.free", AUTO, "a plan with a tree, a mixture or a logit to tune")
        return tuple(found)
    return tuple(
        _named(f"tune.free[{place}]", entry, visits)
        for place, entry in enumerate(tuning.free)
        if isinstance(entry, Mapping)
    )


def _auto(place: int, visit: Visit, train: Block) -> list[Parameter]:
    quarter = max(train.rows // 4, 3)
    ends: Mapping[str, tuple[str, float, float, bool]] = {
        "cart": ("min_leaf", 2, quarter, True),
        "mixture": ("components", 1, min(quarter, _MOST_COMPONENTS), True),
        "multinomial": ("C", 1e-3, 1e2, False),
    }
    name = visit.model.name
    if name not in ends or (name != "mixture" and not visit.given):
        return []
    setting, low, high, whole = ends[name]
    path = f"{visit.key}.{setting}"
    return [Parameter(path, (place,), setting, low, high, whole=whole, log=True)]


def _named(where: str, entry: Mapping[str, Any], visits: Sequence[Visit]) -> Parameter:
    column, setting = entry.get("column"), entry["setting"]
    places = tuple(
        place
        for place, visit in enumerate(visits)
        if (column is None or column in visit.columns) and setting in _settings(visit)
    )
    if not places:
        what = "a setting of some visit's model" if column is None else f"of what draws {column}"
        known = sorted({name for visit in visits for name in _settings(visit)})
        expected = f"a setting {what}" if column else what
        raise PlanError(f"{where}.setting", setting, f"{expected}: {', '.join(known)}")
    ends = (entry["low"], entry["high"])
    whole = entry.get("whole", _is_whole(getattr(visits[places[0]].model, setting), ends))
    path = setting if column is None else f"{visits[places[0]].key}.{setting}"
    if whole and any(end != int(end) for end in ends):
        raise PlanError(f"{where}.low", entry["low"], "whole ends for a whole number")
    found = Parameter(path, places, setting, *ends, whole=whole, log=entry.get("log", False))
    for end in ends:  # out of the model's range: said now, not in every trial
        changed(visits, (found,), (found.value(found.place(end)),), where)
    return found


def _is_whole(plain: Any, ends: tuple[float, float]) -> bool:
    """Whether a setting counts something: its default, or, where it has none, the ends say so."""
    said = ends if plain is None else (plain,)
    return all(isinstance(value, int) and not isinstance(value, bool) for value in said)


def _settings(visit: Visit) -> list[str]:
    return [item.name for item in fields(visit.model)]


def changed(
    visits: Sequence[Visit],
    free: Sequence[Parameter],
    values: Sequence[float],
    where: str = "tune.free",
) -> tuple[Visit, ...]:
    """The visits with the parameters at these values; `PlanError` where a model refuses one."""
    result = list(visits)
    for parameter, value in zip(free, values, strict=True):
        for place in parameter.visits:
            model = replace(result[place].model, **{parameter.setting: value})
            model.check(where)
            result[place] = replace(result[place], model=model)
    return tuple(result)


def starting(visits: Sequence[Visit], free: Sequence[Parameter]) -> tuple[float, ...]:
    """What the plan itself says, put between the ends."""
    said = [getattr(visits[parameter.visits[0]].model, parameter.setting) for parameter in free]
    return tuple(p.value(p.place(float(v or p.low))) for p, v in zip(free, said, strict=True))


def written(plan: Plan, train: Block, free: Sequence[Parameter], values: Sequence[float]) -> Plan:
    """The plan with every column in a visit of its own, and the parameters at these values.

    Leaf sizes that are automatic and not free stay automatic.
    """
    visits = changed(plan.visits_for(train.encoding, leaf=_UNKNOWN_LEAF), free, values)
    known: list[str] = []
    entries = []
    for visit in visits:
        entries.append(_entry(visit, tuple(known)))
        known += visit.columns
    # The order is that of the visits; a list of columns would be read as another one. No column is
    # left to [synthesis], so nothing there is to be searched for.
    rest = dict(plan.settings)
    if rest.get("min_leaf") == AUTO:
        rest["min_leaf"] = Cart().min_leaf
    return replace(plan, visits=tuple(entries), order="table", settings=rest)


def _entry(visit: Visit, before: tuple[str, ...]) -> VisitPlan:
    plain: Any = type(visit.model)()
    settings = {}
    for item in fields(visit.model):
        value = getattr(visit.model, item.name)
        if value == _UNKNOWN_LEAF:
            # A tree that predicts from nothing is one leaf, whatever its smallest size.
            settings[item.name] = AUTO if visit.given else plain.min_leaf
        elif value != getattr(plain, item.name) or item.name == "min_leaf":
            settings[item.name] = value
    blind = visit.model.name in ("keep", "marginal")
    given = None if visit.given == before or blind else visit.given
    return VisitPlan(visit.model.name, visit.columns, given, (), visit.strata, settings)


def open_leaves(plan: Plan, encoding: Encoding, free: Sequence[Parameter]) -> bool:
    """Whether some leaf size is automatic and not free: then it is chosen beforehand."""
    given = {place for p in free if p.setting == "min_leaf" for place in p.visits}
    visits = plan.visits_for(encoding, leaf=_UNKNOWN_LEAF)
    return any(
        getattr(visit.model, "min_leaf", None) == _UNKNOWN_LEAF
        and visit.given
        and place not in given
        for place, visit in enumerate(visits)
    )
