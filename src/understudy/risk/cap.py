"""Correct attribution by equal keys: DCAP, TCAP, DiSCO and repU.

See `understudy.kernels.attribution` for the formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.attack import Attacker
from understudy.evidence import Estimate, Evidence, Judge, Map, Measure, on_grid, several
from understudy.kernels.attribution import (
    Classes,
    Keyed,
    cap,
    judged,
    replicated,
    settled,
    tcap,
)
from understudy.kernels.bars import LEAST
from understudy.kernels.people import Whose
from understudy.kernels.rows import number_rows
from understudy.risk.linking import Linking, Links, differs, levels, set_against
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cap(Linking, Measure):
    """Four numbers for an attacker who looks up the synthetic rows with a person's very keys.

    - ``dcap``: mean share of the person's own target among those rows; no such row counts 0.
    - ``disco``: share of people whose keys' rows all have one target, and it is their own.
    - ``repu``: share of people who are unique on the keys and whose keys occur exactly once in the
      release.
    - ``tcap``: of the people whose keys' rows all have one target, the share for whom it is their
      own. The denominator is these people: ``disco`` over how many they are.

    The references are the same for people of the holdout. All four ask about one person at a time,
    so the sizes of train and holdout do not matter. (Over synthetic rows, as TCAP was first
    defined, they would: few rows meet anybody in a small table.)

    Attributes:
        intervals: into how many intervals of about as many people a number is cut: 12 for a
            target; a key that is not named is compared by its value.
        widths: width of the intervals of a number, in its own unit.
    """

    names: ClassVar[tuple[str, ...]] = ("dcap", "tcap", "disco", "repu")
    intervals: Mapping[str, int] = field(default_factory=dict)
    widths: Mapping[str, float] = field(default_factory=dict)

    @property
    def cuts(self) -> Attacker:
        """The rules by which numbers are cut into intervals."""
        return Attacker(intervals=self.intervals, widths=self.widths)

    def check(self, where: str) -> None:
        """Check the columns and the intervals."""
        super().check(where)
        self.cuts.check(where)

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where settings name columns that the table lacks."""
        super().fits(where, schema)
        self.cuts.fits(where, schema)

    def prepare(self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map) -> CapJudge:
        """Choose keys and targets."""
        held = stack([evidence.control, evidence.fresh])
        return CapJudge(self, evidence, Links.of(self, evidence), held)


@dataclass(frozen=True, eq=False)
class CapJudge(Judge):
    """The columns of the attack, and the people of the holdout."""

    settings: Cap
    evidence: Evidence
    links: Links
    held: Block

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Three numbers for each target, and one for the keys alone."""
        if not self.links.keys:
            return [Estimate.absent(name, self.links.no_keys) for name in Cap.names]
        tables = (self.evidence.train, self.held, release)
        keys = self._numbered(tables, self.links.keys)
        found = [self._repu([_once(*one) for one in zip(keys, tables, strict=True)], rng)]
        if self.links.why_not:
            return [*found, *(Estimate.absent(n, self.links.why_not) for n in Cap.names[:3])]
        for name in self.links.targets:
            if not differs(self.evidence.train, name):
                why = "everybody in train has the same value: there is nothing to infer"
                found += [Estimate.absent(one, why, target=name) for one in Cap.names[:3]]
                continue
            targets = self._numbered(tables, (name,))
            sides = [Keyed(*pair) for pair in zip(keys, targets, strict=True)]
            found += self._guessed(name, sides, rng)
        return found

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.evidence.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def _numbered(self, tables: tuple[Block, ...], names: tuple[str, ...]) -> list[Ints]:
        """Rows of train, holdout and release, numbered together by some columns."""
        parts = [self._coded(tables, name) for name in names]
        return number_rows([np.stack(columns, axis=1) for columns in zip(*parts, strict=True)])

    def _coded(self, tables: tuple[Block, ...], name: str) -> list[Ints]:
        """One column: levels by code, targets and cut keys by interval, other numbers by value."""
        train, settings = tables[0], self.settings
        if not train.encoding[name].is_numeric:
            last = len(tables) - 1
            return [levels(t, [name], released=i == last)[:, 0] for i, t in enumerate(tables)]
        if name in self.links.targets or name in settings.intervals or name in settings.widths:
            groups = settings.cuts.target(train, name).groups
            found = [groups.of(table) for table in tables]
            # A value of the release outside all intervals of train is nobody's.
            return [*found[:-1], np.where(found[-1] < 0, groups.count + 1, found[-1])]
        values = np.concatenate([on_grid(table, name) for table in tables])
        _, code = np.unique(values, return_inverse=True, equal_nan=True)
        return np.split(code, np.cumsum([table.rows for table in tables])[:-1])

    def _guessed(self, name: str, sides: list[Keyed], rng: np.random.Generator) -> list[Estimate]:
        """DCAP, TCAP and DiSCO."""
        train, held, release = sides
        ours, theirs = cap(train, release), cap(held, release)
        base = float((np.bincount(train.target) / train.rows)[train.target].mean())
        matched = float(np.isin(train.key, release.key).mean())
        note = (
            f"by {self._keys()}; {base:.4g} by train's shares alone, "
            f"{cap(train, train).mean():.4g} by train itself; {matched:.1%} of people find a row "
            "with their keys, the others count 0"
        )
        classes = settled(release)
        (sure, right), (_, control) = (judged(people, classes) for people in (train, held))
        said = f"by {self._keys()}; for {sure.mean():.1%} of people the release settles the target"
        whose = self.evidence.train.person, self.held.person
        disco = right.astype(float), control.astype(float)
        return [
            self._means("dcap", ours, theirs, note, rng, name, whose),
            self._tcap(name, sides, classes, rng),
            self._means("disco", *disco, said, rng, name, whose),
        ]

    def _repu(self, once: list[tuple[Ints, Ints | None]], rng: np.random.Generator) -> Estimate:
        """Of people with several rows each counts once for every combination of keys."""
        (train, ours_of), (held, theirs_of), (release, _) = once
        ours = replicated(train, release).astype(float)
        # Strangers with the same keys are hit together: each such class is one draw.
        theirs = _by_class(replicated(held, release, train), held)
        alone = np.bincount(train)[train] == 1
        note = f"by {self._keys()}; {alone.mean():.1%} of train are unique on them"
        return self._means("repu", ours, theirs, note, rng, None, (ours_of, theirs_of))

    def _means(
        self,
        measure: str,
        ours: Floats,
        theirs: Floats,
        note: str,
        rng: np.random.Generator,
        target: str | None,
        people: Whose,
    ) -> Estimate:
        train = self.evidence.train
        strangers = "people" if train.person is None else "rows"
        return set_against(
            measure,
            ours,
            theirs,
            self.evidence,
            rng,
            target=target,
            several=len(self.links.targets) if target is not None else 1,
            note=f"{note}; reference: {theirs.size} held-out {strangers}{several(train)}",
            people=people,
        )

    def _tcap(
        self, name: str, sides: list[Keyed], classes: Classes, rng: np.random.Generator
    ) -> Estimate:
        train, held, _ = sides
        (sure, right), (held_sure, control) = (judged(side, classes) for side in (train, held))
        if not sure.any():
            why = f"the release settles nobody's target, by {self._keys()}"
            return Estimate.absent("tcap", why, target=name)
        if min(sure.sum(), held_sure.sum()) < LEAST:
            why = (
                f"by {self._keys()} the release settles the target of {sure.sum()} people of train "
                f"and {held_sure.sum()} of the holdout: fewer than {LEAST} are too few"
            )
            return Estimate.absent("tcap", why, target=name, applies=True)
        found = tcap(train, classes)
        note = (
            f"by {self._keys()}; denominator: the {sure.sum()} people whose keys the release "
            f"settles; of the {classes.rows.sum()} synthetic rows that settle something "
            f"{found.of_rows:.4g} (nobody counts 0), of those that meet anybody {found.of_met:.4g}"
        )
        ours, theirs = right[sure].astype(float), control[held_sure].astype(float)
        whose = _part(self.evidence.train.person, sure), _part(self.held.person, held_sure)
        return self._means("tcap", ours, theirs, note, rng, name, whose)

    def _keys(self) -> str:
        return ", ".join(self.links.keys) + self.links.said()


def _once(key: Ints, table: Block) -> tuple[Ints, Ints | None]:
    """Keys, each once for every person who has them, and whose they are."""
    if table.person is None:
        return key, None
    pairs = np.unique(np.stack([key, table.person], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _part(person: Ints | None, chosen: NDArray[np.bool_]) -> Ints | None:
    return None if person is None else person[chosen]


def _by_class(hits: NDArray[np.bool_], key: Ints) -> Floats:
    """Hits of people with the same keys added up at the first of them; the same mean."""
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    found = np.zeros(len(key))
    found[first] = np.bincount(place, weights=hits, minlength=len(first))
    return found
