"""Who wants to know whether a person is in the sample, and the noise that keeps it from them.

What the measure of ECAP and the protection by noise share: the population that the plan states for
a column, the noise that it needs, and how far out its tails may go. The attacker knows one
person's number, the population, the size of the sample, and the noise (Chapelle & Falissard 2023).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.kernels import noise
from understudy.kernels.ecap_sigma import Scene, between, least_noise, reach
from understudy.kernels.population import Grid, Population
from understudy.settings import Settings
from understudy.stated import KEYS, check_entry, on_grid, stated
from understudy.tables.encode import Block
from understudy.tables.schema import Kind, Role, Schema

Floats = NDArray[np.float64]
_FORMS = ("auto", "continuous", "discrete")
_WIDEST = 64  # standard deviations of the population
_HAIR = 0.99  # noise is sought for a hair less than the bound, so that rounding does not cross it


@dataclass(frozen=True)
class Membership(Settings):
    """Settings of the attack on membership: what is stated of the population, and the bound.

    Attributes:
        columns: by column, what is publicly known of the population (`understudy.stated`).
        exempt: columns of numbers that nobody could know of anybody, such as an interview's length.
        bound: largest ECAP that is tolerated.
        most: largest deviation of noise that is chosen, in the population's standard deviations.
        form: ``discrete`` noise stays on the column's grid, ``continuous`` noise leaves numbers
            unrounded; ``auto`` is discrete where train's numbers lie on a grid.
        replacement: people are sampled with replacement, as in Equation 1.
    """

    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    exempt: tuple[str, ...] = ()
    bound: float = 0.2
    most: float = 0.1
    form: str = "auto"
    replacement: bool = False

    def check(self, where: str) -> None:
        """Check names and ranges."""
        if not isinstance(self.columns, Mapping):
            raise PlanError(f"{where}.columns", self.columns, "a table by column")
        for name, entry in self.columns.items():
            check_entry(f"{where}.columns.{name}", entry)
        if not isinstance(self.exempt, tuple) or not all(isinstance(n, str) for n in self.exempt):
            raise PlanError(f"{where}.exempt", self.exempt, "a list of columns")
        for name in self.exempt:
            if name in self.columns:
                raise PlanError(f"{where}.exempt", name, f"no column of {where}.columns")
        if not _positive(self.bound) or not self.bound < 1:
            raise PlanError(f"{where}.bound", self.bound, "a probability between 0 and 1")
        if not _positive(self.most) or self.most > _WIDEST:
            raise PlanError(f"{where}.most", self.most, f"a number above 0, up to {_WIDEST}")
        if self.form not in _FORMS:
            raise PlanError(f"{where}.form", self.form, f"one of {', '.join(_FORMS)}")

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where a column is lacking, holds no numbers, or is not drawn."""
        for key, names in (("columns", tuple(self.columns)), ("exempt", self.exempt)):
            for name in names:
                if name not in schema.names:
                    raise PlanError(f"{where}.{key}", name, f"one of {', '.join(schema.names)}")
                if schema[name].kind is not Kind.NUMBER:
                    expected = f"a column of numbers, not of {schema[name].kind.value}"
                    raise PlanError(f"{where}.{key}", name, expected)
                if schema[name].role in (Role.KEEP, Role.WEIGHT):
                    raise PlanError(f"{where}.{key}", name, "a column that is drawn, not kept")

    def suits(self, where: str, train: Block) -> None:
        """Raise `PlanError` where the sample does not fit the population, or no noise the bound."""
        for name in self.columns:
            self.cover(train, name, where)

    def scene(self, train: Block, name: str, where: str = "columns") -> Scene:
        """The attack on one column, without coding."""
        key, entry = f"{where}.columns.{name}", self.columns[name]
        column = train.encoding[name]
        assert column.numeric is not None and column.cells is not None
        if column.numeric.offset:
            raise PlanError(key, name, "a column of numbers below 2^53")
        step = column.cells.step if column.cells.count else column.numeric.step
        if self.form == "discrete" and not step:
            expected = "form = 'continuous', or numbers rounded to a grid (prepare, round)"
            raise PlanError(f"{where}.form", self.form, expected)
        discrete = bool(step) and self.form != "continuous"
        start = float(column.cells.low[0]) if column.cells.count else 0.0
        people = stated(key, entry, step if discrete else 0.0, start)
        if people.size < train.rows:
            expected = (
                f"at least {train.rows}, as many people as the synthesis learns from: they are a "
                "sample of the population"
            )
            raise PlanError(f"{key}.size", people.size, expected)
        if isinstance(people, Grid) and column.cells.count:
            on_grid(key, people, column.cells.low, step)
        return Scene(people, train.rows, discrete and isinstance(people, Grid), self.replacement)

    def cover(self, train: Block, name: str, where: str = "columns") -> Cover:
        """The noise of one column, found once for each train."""
        found = _FOUND.setdefault(train, {})
        key = f"{self._basis()}/{name}"
        if key not in found:
            found[key] = self._cover(train, name, where)
        return found[key]

    def _basis(self) -> str:
        own = (self.columns, self.bound, self.most, self.form, self.replacement)
        return repr(own)

    def _cover(self, train: Block, name: str, where: str) -> Cover:
        key, entry = f"{where}.columns.{name}", self.columns[name]
        scene = self.scene(train, name, where)
        given = entry.get("sigma")
        found = given is None or "auto" in (entry.get("top", "auto"), entry.get("bottom", "auto"))
        if found and scene.limit >= _HAIR * self.bound:
            expected = (
                f"more than {scene.limit / _HAIR:.3g}: {scene.sample} of {scene.people.size} "
                "people are in the sample, and no noise hides that; or a sigma, a top and a bottom "
                "of your own"
            )
            raise PlanError(f"{where}.bound", self.bound, expected)
        if given is not None and given > _WIDEST * scene.people.sd:
            expected = f"at most {_WIDEST * scene.people.sd:.3g}: more leaves nothing of the column"
            raise PlanError(f"{key}.sigma", given, expected)
        largest = self.most * scene.people.sd if given is None else float(given)
        scene = scene.coded(*self._ends(key, entry, scene, largest))
        _require_inside(key, present(train, name), entry, scene.people)
        sigma = largest if given is not None else self._least(key, train, name, scene, largest)
        low, high = _borders(entry, scene.people)
        return Cover(name, scene, sigma, low, high, self.bound)

    def _ends(
        self, key: str, entry: Mapping[str, Any], scene: Scene, sigma: float
    ) -> tuple[float, float]:
        """Where the tails are coded: as stated, or as far out as the noise allows."""
        said = entry.get("bottom", "auto"), entry.get("top", "auto")
        found = -math.inf, math.inf
        if "auto" in said:
            try:
                found = reach(scene, sigma, _HAIR * self.bound)
            except ValueError:
                expected = (
                    f"a larger sigma or most, or a larger bound: with noise of {sigma:.3g}, more "
                    f"than a tenth of {scene.people.size} people would have to be coded on a side"
                )
                raise PlanError(
                    key, entry.get("sigma", f"most = {self.most:g}"), expected
                ) from None
        low, high = _borders(entry, scene.people)
        # Where nobody is beyond, nobody has to be coded.
        found = found[0] if found[0] > low else -math.inf, found[1] if found[1] < high else math.inf
        if entry["distribution"] == "sample":  # further out than a sample reaches nothing is known
            ends_ = _law_ends(scene.people)
            found = max(found[0], ends_[0]), min(found[1], ends_[1])
        ends = {"auto": found, "none": (-math.inf, math.inf)}
        bottom, top = (
            ends[one][side] if isinstance(one, str) else float(one) for side, one in enumerate(said)
        )
        if not bottom < top:
            raise PlanError(f"{key}.top", top, f"a number above the bottom, {bottom:g}")
        return bottom, top

    def _least(self, key: str, train: Block, name: str, scene: Scene, most: float) -> float:
        """The smallest deviation for all that may occur; for train's values if tails are open."""
        people = scene.people
        ends = _borders(self.columns[name], people)
        low, high = max(people.bottom, ends[0]), min(people.top, ends[1])
        if math.isfinite(low) and math.isfinite(high):
            values, limit = between(people, low, high, most), math.inf
        else:
            # Uncoded tails never end: then only the people who are there can be kept.
            values, limit = present(train, name), most
        found = least_noise(scene, values, _HAIR * self.bound, most=limit)
        if math.isfinite(found.sigma):
            return found.sigma
        raise PlanError(
            key,
            f"most = {self.most:g}",
            f"noise that can keep the bound of {self.bound:g}: with a deviation of {most:.3g}, "
            f"{found.above:.1%} of the people are above it, in the tails. Leave out top and bottom "
            "(tails are then coded as far as needed), or raise most or the bound",
        )


@dataclass(frozen=True, eq=False)
class Cover:
    """The noise of one column.

    Attributes:
        name: the column.
        scene: the attack; its population says where the tails are coded.
        sigma: deviation of the noise (0: none is needed).
        low: nobody is below: noise is mirrored there.
        high: nobody is above.
        bound: largest ECAP that is tolerated.
        shrink: numbers are drawn so much nearer to ``centre`` afterwards.
        centre: see above.
    """

    name: str
    scene: Scene
    sigma: float
    low: float
    high: float
    bound: float
    shrink: float = 1.0
    centre: float = 0.0

    @property
    def bottom(self) -> float:
        """Lower values are set to this one first."""
        return self.scene.people.bottom

    @property
    def top(self) -> float:
        """Higher values are set to this one first."""
        return self.scene.people.top

    @property
    def step(self) -> float:
        """The grid that the noise stays on; 0 for none."""
        people = self.scene.people
        return people.step if isinstance(people, Grid) and self.scene.discrete else 0.0

    def risk(self, values: Floats) -> Floats:
        """ECAP of each value."""
        return self.scene.risk(values, self.sigma)

    def stretched(self, values: Floats) -> Floats:
        """Released numbers before they were shrunk: anybody can undo that."""
        return self.centre + (values - self.centre) / self.shrink

    def apply(self, values: Floats, key: bytes) -> Floats:
        """Code the tails, add each value's noise, shrink, and mirror at the ends; NaN stays."""
        coded = np.clip(values, self.bottom, self.top)
        there = np.flatnonzero(~np.isnan(coded))
        result = coded.copy()
        if self.sigma > 0 and there.size:
            shares = noise.uniforms(coded[there], key, self.name)
            added = (
                self.step * noise.discrete_gaussian(shares, self.sigma / self.step)
                if self.step
                else noise.normal(shares, self.sigma)
            )
            result[there] = self.centre + self.shrink * (coded[there] + added - self.centre)
        result[there] = noise.mirrored(result[there], self.low, self.high)
        return result

    def law(self) -> str:
        """The noise in a sentence that may be published: nothing of the data is in it."""
        parts = []
        if math.isfinite(self.bottom):
            parts.append(f"numbers below {self.bottom:.6g} were set to {self.bottom:.6g}")
        if math.isfinite(self.top):
            parts.append(f"numbers above {self.top:.6g} were set to {self.top:.6g}")
        if self.sigma == 0:
            parts.append("no noise was added")
        elif self.step:
            parts.append(
                f"discrete Gaussian noise in steps of {self.step:g}, P(k) ∝ exp(−k²/(2·"
                f"{self.sigma / self.step:.4g}²)), was added"
            )
        else:
            parts.append(f"normal noise with standard deviation {self.sigma:.4g} was added")
        if self.shrink < 1 and self.sigma > 0:
            parts.append(f"then all were drawn to their mean by the factor {self.shrink:.4g}")
        ends = [f"{end:g}" for end in (self.low, self.high) if math.isfinite(end)]
        if ends and self.sigma > 0:
            parts.append(f"and mirrored at {' and '.join(ends)}")
        return ", ".join(parts)


_FOUND: WeakKeyDictionary[Block, dict[str, Cover]] = WeakKeyDictionary()


def present(block: Block, name: str) -> Floats:
    """The numbers of a column that are there."""
    values = block.values[name]
    return values[~np.isnan(values)]


def _require_inside(
    key: str, values: Floats, entry: Mapping[str, Any], people: Population | Grid
) -> None:
    """Raise `PlanError` where train has people whom the stated population does not have."""
    low, high = _borders(entry, people)
    coded = np.clip(values, people.bottom, people.top)
    outside = int(((coded < low) | (coded > high)).sum())
    if outside:
        raise PlanError(
            key,
            f"a population with nobody where {outside} rows of train are",
            "wider ends (low, high, values), or a top or bottom inside them",
        )


def _law_ends(people: Population | Grid) -> tuple[float, float]:
    return people.ends if isinstance(people, Grid) else people.law.ends


def _borders(entry: Mapping[str, Any], people: Population | Grid) -> tuple[float, float]:
    """Where noise is mirrored: as stated, or where the law has nobody."""
    ends = (-math.inf, math.inf) if entry["distribution"] == "sample" else _law_ends(people)
    return float(entry.get("low", ends[0])), float(entry.get("high", ends[1]))


def _positive(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < math.inf


__all__ = ["KEYS", "Cover", "Membership", "present"]
