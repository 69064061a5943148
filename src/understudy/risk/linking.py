"""Who links by what: the keys that an attacker knows, and the targets that it is after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Better, Estimate, Evidence
from understudy.kernels.people import Whose
from understudy.kernels.resample import interval, mean_draws
from understudy.settings import Settings
from understudy.tables.encode import Block
from understudy.tables.schema import Role, Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Linking(Settings):
    """Settings of an attacker who links by keys.

    Attributes:
        keys: what the attacker knows; columns of role quasi and location if none is named.
        targets: what it is after; synthesised columns of role sensitive if none is named.
    """

    keys: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def check(self, where: str) -> None:
        """Check that both are lists of names, and that no column is in both."""
        for side in ("keys", "targets"):
            names: Any = getattr(self, side)
            good = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
            if not good or len(set(names)) < len(names):
                shown = list(names) if isinstance(names, tuple) else names
                raise PlanError(f"{where}.{side}", shown, "a list of different column names")
        for place, name in enumerate(self.targets):
            if name in self.keys:
                expected = "a column that is not among the keys: who knows it need not guess it"
                raise PlanError(f"{where}.targets[{place}]", name, expected)

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where the settings name columns that the table lacks."""
        for side in ("keys", "targets"):
            for place, name in enumerate(getattr(self, side)):
                if name not in schema.names:
                    known = ", ".join(schema.names)
                    raise PlanError(f"{where}.{side}[{place}]", name, f"one of {known}")

    def known(self, schema: Schema) -> tuple[str, ...]:
        """The keys: those of the plan, else by role; never one of the plan's targets."""
        keys = self.keys or schema.with_role(Role.QUASI, Role.LOCATION)
        return tuple(name for name in keys if name not in self.targets and name in schema)

    def wanted(self, schema: Schema) -> tuple[str, ...]:
        """The targets: those of the plan, else by role; never one of the plan's keys."""
        targets = self.targets or schema.with_role(Role.SENSITIVE)
        return tuple(name for name in targets if name not in self.keys and name in schema)


@dataclass(frozen=True)
class Links:
    """The columns of one attack on one table.

    Attributes:
        keys: keys that vary in train.
        same: keys that are the same for everybody of train: they tell nothing and are left out.
        targets: what the attacker is after, among the synthesised columns.
    """

    keys: tuple[str, ...]
    same: tuple[str, ...]
    targets: tuple[str, ...]

    @classmethod
    def of(cls, settings: Linking, evidence: Evidence) -> Links:
        """Choose the columns."""
        schema, train = evidence.encoding.schema, evidence.train
        keys = settings.known(schema)
        varies = tuple(name for name in keys if differs(train, name))
        same = tuple(name for name in keys if name not in varies)
        targets = settings.wanted(schema)
        return cls(varies, same, tuple(name for name in targets if name in evidence.drawn))

    @property
    def why_not(self) -> str:
        """Why there is nothing to attack; empty where there is."""
        if not self.targets:
            return "no synthesised column has the role sensitive, and the plan names no target"
        return "" if self.keys else self.no_keys

    @property
    def no_keys(self) -> str:
        """Why nobody can be linked."""
        return "no column that varies is a key (role quasi or location): nothing to match by"

    def said(self) -> str:
        """Keys that were left out, in words for a note."""
        return f"; left out, the same for all: {', '.join(self.same)}" if self.same else ""


def differs(train: Block, name: str) -> bool:
    """Whether a column has two different cells in train."""
    cells = train.values.get(name, train.codes[name])
    return len(np.unique(cells, equal_nan=cells.dtype.kind == "f")) > 1


def levels(block: Block, names: Sequence[str], *, released: bool) -> NDArray[np.int64]:
    """Codes of columns with levels; a level that train lacks is nobody's but its own table's."""
    found = np.zeros((block.rows, len(names)), dtype=np.int64)
    for place, name in enumerate(names):
        codes = block.codes[name].astype(np.int64)
        unseen = block.encoding[name].unseen
        found[:, place] = np.where(codes == unseen, unseen + released, codes)
    return found


def set_against(
    measure: str,
    ours: Floats,
    theirs: Floats,
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    target: str | None,
    several: int,
    note: str,
    people: Whose = (None, None),
) -> Estimate:
    """A mean over people of train against the same over strangers; people are resampled.

    ``several`` targets share the error of one interval, so that all of theirs hold together.
    ``people`` says whose each number is, where people have several rows.
    """
    sides = zip((ours, theirs), people, strict=True)
    draws, base = (mean_draws(values, rng, person=person) for values, person in sides)
    level = 1 - (1 - evidence.level) / several
    value, (low, high) = float(ours.mean()), interval(draws, level)
    return Estimate(
        measure,
        value,
        min(low, value),
        max(high, value),
        float(theirs.mean()),
        Better.LOWER,
        evidence.margin(measure, 0.01),
        *interval(draws - base, level),
        target=target,
        note=note,
    )
