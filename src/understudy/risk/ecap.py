"""ECAP: how sure a released number makes an attacker that a person is in the sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure
from understudy.kernels.ecap_sigma import Scene
from understudy.kernels.laws import Floats
from understudy.membership import Cover, Membership, present
from understudy.risk.ecap_curves import curves
from understudy.tables.encode import Block
from understudy.tables.schema import Kind

_PEOPLE = (
    "people have several rows: in a stated population everybody has one number, and these are more"
)
_NAMED = 12  # more columns than this are counted, not named


@dataclass(frozen=True)
class Ecap(Membership, Measure):
    """The largest ECAP of train's people, for each column with a stated population.

    Under the noise that was added, every person counts, whether hit or not: the noise's law is
    judged, not its luck. Without noise those count whose own number is in the release. A number
    that came through noise unchanged had none: it counts without.
    """

    names: ClassVar[tuple[str, ...]] = ("ecap.max",)
    needs_holdout: ClassVar[bool] = False

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> EcapJudge:
        """Compute the ECAP of every number of train, with the noise and without."""
        train = evidence.train
        known = self.columns if train.person is None else ()
        names = [name for name in known if name in evidence.drawn]
        watched = {name: Watched.of(self, evidence, name) for name in names}
        numbers = [c.name for c in train.encoding.schema if c.kind is Kind.NUMBER]
        open_ = [n for n in numbers if n in evidence.drawn and n not in (*names, *self.exempt)]
        return EcapJudge(self, evidence, watched, tuple(open_))


@dataclass(frozen=True, eq=False)
class Watched:
    """One column of train under attack.

    Attributes:
        cover: the noise that was added, if any was.
        scene: the attack without it.
        values: distinct numbers of train.
        people: how many have each.
        bare: ECAP of each without noise.
        covered: and with it.
    """

    cover: Cover | None
    scene: Scene
    values: Floats
    people: NDArray[np.int64]
    bare: Floats
    covered: Floats | None

    @classmethod
    def of(cls, settings: Ecap, evidence: Evidence, name: str) -> Watched:
        """Compute what does not depend on the release."""
        train = evidence.train
        values, people = np.unique(present(train, name), return_counts=True)
        scene = settings.scene(train, name, "measure.ecap")
        cover = evidence.noise.get(name)
        if cover is None and evidence.source is None and "sigma" in settings.columns[name]:
            cover = _declared(settings, train, name)
        covered = None if cover is None else cover.risk(values)
        return cls(cover, scene, values, people, scene.risk(values, 0.0), covered)

    def without(self) -> Watched:
        """The same column as if no noise had been added."""
        return replace(self, cover=None, covered=None)

    def risk(self, released: Floats) -> tuple[Floats, Floats]:
        """ECAP of each distinct number, and which are in the release as they are."""
        own = np.isin(self.values, released).astype(np.float64)
        if self.covered is None or self.cover is None:
            return np.where(own > 0, self.bare, self.scene.limit), own
        if self.cover.step or self.cover.sigma == 0:
            return self.covered, own
        return np.where(own > 0, self.bare, self.covered), own


@dataclass(frozen=True, eq=False)
class EcapJudge(Judge):
    """The columns under attack.

    Attributes:
        left: columns of numbers with no stated population that are not exempt.
    """

    settings: Ecap
    evidence: Evidence
    watched: Mapping[str, Watched]
    left: tuple[str, ...]

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One number for each column."""
        if not self.watched:
            several = self.settings.columns and self.evidence.train.person is not None
            why = _PEOPLE if several else "no column has a stated population (measure.ecap.columns)"
            return [Estimate.absent("ecap.max", why)]
        return [self._one(name, watched, release) for name, watched in self.watched.items()]

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Known cases have no noise."""
        bare = {name: watched.without() for name, watched in self.watched.items()}
        return replace(self, watched=bare).estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Curves by deviation of the noise (Chapelle & Falissard, Figures 5 to 7), and claims."""
        found = []
        for name, one in self.watched.items():
            if not one.values.size:
                continue
            cover = one.cover or Cover(name, one.scene, 0.0, -np.inf, np.inf, self.settings.bound)
            held = np.concatenate(
                [present(block, name) for block in (self.evidence.control, self.evidence.fresh)]
            )
            released = present(self.evidence.release[0], name)
            most = self.settings.most * one.scene.people.sd
            found.append(
                curves(cover, present(self.evidence.train, name), held, released, most)
                | {"covered": one.cover is not None}
            )
        return {"ecap": found} if found else {}

    def _one(self, name: str, watched: Watched, release: Block) -> Estimate:
        if not watched.values.size:
            why = "nobody in train has a number: there is nothing to know"
            return Estimate.absent("ecap.max", why, target=name)
        risk, own = watched.risk(present(release, name))
        worst, limit = float(risk.max()), watched.scene.limit
        bound = self.settings.bound
        people = watched.people / watched.people.sum()
        margin = self.evidence.margin("ecap.max", max(bound - limit, 0.0))
        note = (
            f"{self._noise(watched, float(own @ people))}; {float(people @ (risk > bound)):.1%} of "
            f"the people are above {bound:g}; {watched.scene.sample:,} of "
            f"{watched.scene.people.size:,} are in the sample; computed, not estimated: there is "
            f"no sampling error"
        )
        if self.left:
            named = (
                ", ".join(self.left) if len(self.left) <= _NAMED else f"{len(self.left)} columns"
            )
            note += f"; numbers with no stated population: {named}"
        return Estimate(
            "ecap.max", worst, worst, worst, limit, Better.LOWER, margin, target=name, note=note
        )

    def _noise(self, watched: Watched, own: float) -> str:
        if watched.cover is None:
            return f"no noise was added, and {own:.1%} of the people find their number"
        return watched.cover.law().replace("; ", ", ")


def _declared(settings: Ecap, train: Block, name: str) -> Cover:
    """The noise that another tool added, as the plan says: only what it names was coded."""
    entry = settings.columns[name]
    ends = {
        key: "none" if isinstance(entry.get(key, "none"), str) else entry[key]
        for key in ("top", "bottom")
    }
    given = replace(settings, columns={name: {**entry, **ends}})
    return given.cover(train, name, "measure.ecap")
