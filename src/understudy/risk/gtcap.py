"""GTCAP: how much of what a person's own row gives away does the release give away?

See `understudy.kernels.gtcap` for the formula (Chapelle & Falissard, Algorithm 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Estimate, Evidence, Judge, Map, Measure
from understudy.kernels.bars import LEAST, tenths
from understudy.kernels.gtcap import Scores, Uniques
from understudy.risk.gtcap_sight import Sight
from understudy.risk.linking import Linking, Links, differs, set_against
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Gtcap(Linking, Measure):
    """``gtcap.mean``: the mean GTCAP of train's statistical uniques.

    The reference is the mean for people of the holdout, each looked at as if it were one more row
    of train: who is unique, the base and what its own row would give away are all counted in the
    same way. A release that does not know who is in train gives both the same.

    Attributes:
        radii: how far apart numbers may be and still be near, by column, in its own unit; half of
            train's standard deviation where none is given; 0 is equality.
        together: all targets at once, as Algorithm 2 has them, not one by one.
        above_base: leave out people of whom train itself says no more than the base.
    """

    names: ClassVar[tuple[str, ...]] = ("gtcap.mean",)
    radii: Mapping[str, float] = field(default_factory=dict)
    together: bool = False
    above_base: bool = False

    def check(self, where: str) -> None:
        """Check the columns, and that radii are numbers from 0."""
        super().check(where)
        if not isinstance(self.radii, Mapping):
            raise PlanError(f"{where}.radii", self.radii, "a table: column = radius")
        for name, radius in self.radii.items():
            good = isinstance(radius, int | float) and not isinstance(radius, bool)
            if not good or not math.isfinite(radius) or radius < 0:
                expected = "a number from 0, in the column's unit (0: values must be equal)"
                raise PlanError(f"{where}.radii.{name}", radius, expected)

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where settings name absent columns, or give levels a radius."""
        super().fits(where, schema)
        used = (*self.known(schema), *self.wanted(schema))
        for name, radius in self.radii.items():
            if name not in used:
                known = ", ".join(used) or "none: no column is a key or a target"
                raise PlanError(f"{where}.radii.{name}", name, f"a key or a target: {known}")
            if radius and not schema[name].kind.is_numeric:
                expected = "0, or a column of numbers: levels are equal or not"
                raise PlanError(f"{where}.radii.{name}", radius, expected)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> GtcapJudge:
        """Choose keys, targets and radii."""
        links = Links.of(self, evidence)
        names = [links.targets] if self.together else [(name,) for name in links.targets]
        sights = {
            ", ".join(targets): Sight.of(self.radii, evidence.encoding, links.keys, targets)
            for targets in names
            if not links.why_not and evidence.train.person is None
        }
        held = stack([evidence.control, evidence.fresh])
        rows = {name: sight.attacked(evidence.train) for name, sight in sights.items()}
        return GtcapJudge(self, evidence, links, sights, rows, held)


@dataclass(frozen=True, eq=False)
class GtcapJudge(Judge):
    """The attacks, by target, and the people of the holdout.

    ``attacked`` are the rows of train that each looks at. ``found`` keeps who is unique in each
    table of people: no release changes it.
    """

    settings: Gtcap
    evidence: Evidence
    links: Links
    sights: dict[str, Sight]
    attacked: dict[str, Ints]
    held: Block
    found: WeakKeyDictionary[Block, dict[str, Uniques]] = field(default_factory=WeakKeyDictionary)

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One mean for each target."""
        if why := self.links.why_not or _PEOPLE * (self.evidence.train.person is not None):
            return [Estimate.absent("gtcap.mean", why)]
        return [self._one(name, release, rng) for name in self.sights]

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.evidence.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Histograms of GTCAP over statistical uniques (Chapelle & Falissard, Figure 14)."""
        shown = [self._shown(name) for name in self.sights if self._varies(name)]
        return {"gtcap": shown} if shown else {}

    def records(self, *, map_: Map = map) -> dict[str, Floats]:
        """GTCAP of every record against all replicates together; NaN where it is not unique.

        With several targets the largest one.
        """
        if not self.sights:
            return {}
        train, release = self.evidence.train, stack(self.evidence.release)
        found = np.full(train.rows, np.nan)
        for name in self.sights:
            scores = self.scores(name, train, release)
            row = scores.uniques.row
            found[row] = np.fmax(found[row], scores.value)
        return {"gtcap": found}

    def scores(self, name: str, people: Block, release: Block) -> Scores:
        """GTCAP of the statistical uniques among train, or among strangers."""
        kept = self.found.setdefault(people, {})
        sight, train = self.sights[name], self.evidence.train
        if name not in kept:
            mine = people is train
            found = sight.exposed(train, self.attacked[name]) if mine else None
            kept[name] = found or sight.strangers(people, train)
        drawn = sight.traits(release, released=True)
        return kept[name].against(drawn, above_base=self.settings.above_base)

    def _varies(self, name: str) -> bool:
        return any(differs(self.evidence.train, target) for target in self.sights[name].targets)

    def _one(self, name: str, release: Block, rng: np.random.Generator) -> Estimate:
        evidence = self.evidence
        if not self._varies(name):
            why = "everybody in train has the same value: there is nothing to infer"
            return Estimate.absent("gtcap.mean", why, target=name)
        ours, theirs = (self.scores(name, p, release) for p in (evidence.train, self.held))
        who = self._who(name, ours)
        if not len(ours.uniques.row):
            why = f"nobody is unique on keys and target: {who}"
            return Estimate.absent("gtcap.mean", why, target=name)
        if min(ours.used.size, theirs.used.size) < LEAST:
            why = (
                f"fewer than {LEAST} statistical uniques to average: {who}; {self._others(theirs)}"
            )
            return Estimate.absent("gtcap.mean", why, target=name, applies=True)
        return set_against(
            "gtcap.mean",
            ours.used,
            theirs.used,
            evidence,
            rng,
            target=name,
            several=len(self.sights),
            note=f"{who}; {_means(ours)}{self._odd(ours)}; {self._others(theirs)}",
        )

    def _who(self, name: str, scores: Scores) -> str:
        sight, total = self.sights[name], self.evidence.train.rows
        looked = len(self.attacked[name])
        some = f" (of {looked} evenly spread over {total}: a sample)" if looked < total else ""
        return (
            f"{len(scores.uniques.row)} statistical uniques of {looked} records{some} by "
            f"{sight.said()}{self.links.said()}"
        )

    def _others(self, scores: Scores) -> str:
        return (
            f"reference: {scores.used.size} of {self.held.rows} held-out people, each as one more "
            "row of train"
        )

    def _odd(self, scores: Scores) -> str:
        """Who is left out, and whose quotient turns round."""
        above, parts = self.settings.above_base, []
        if scores.left_out:
            why = "train itself says no more than the base" if above else "0/0"
            parts.append(f"; {scores.left_out} left out: {why}")
        if scores.turned and not above:
            parts.append(
                f"; for {scores.turned} train itself says less than the base, so that a release "
                "that says less counts as more (above_base = true leaves them out)"
            )
        return "".join(parts)

    def _shown(self, name: str) -> dict[str, Any]:
        evidence, sight = self.evidence, self.sights[name]
        release = evidence.release
        ours = [self.scores(name, evidence.train, block) for block in release]
        pooled = [self.scores(name, evidence.train, stack(release))] if len(release) > 1 else []
        return {
            "column": name,
            "keys": list(sight.keys),
            "radii": dict(sight.radii),
            "records": evidence.train.rows,
            "uniques": len(ours[0].uniques.row),
            "synthetic": [tenths(scores.used) for scores in ours],
            "pooled": [tenths(scores.used) for scores in pooled],
            "holdout": tenths(self.scores(name, self.held, release[0]).used),
            "strangers": self.held.rows,
        }


_PEOPLE = (
    "people have several rows: who is unique, and what train says of them, would be decided by "
    "their own other rows, which strangers do not have in train"
)


def _means(scores: Scores) -> str:
    known = scores.uniques
    means = (known.base.mean(), known.original.mean(), scores.synthetic.mean())
    return "mean CAP: {:.3g} base, {:.3g} by train itself, {:.3g} by the release".format(*means)


__all__ = ["Gtcap"]
