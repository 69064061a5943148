"""Replicated uniques: rows of the release that match a person who is unique in train."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.evidence import (
    Better,
    Estimate,
    Evidence,
    Judge,
    Map,
    Measure,
    row_numbers,
    several,
)
from understudy.kernels.resample import interval, mean_draws
from understudy.kernels.rows import hits_unique
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Role

_NAMED = 12  # more columns than this are counted, not named


@dataclass(frozen=True)
class Uniques(Measure):
    """Share of rows whose quasi-identifiers (or all columns) are unique in train.

    The reference is the same share among the holdout: honest people whose combination happens to
    be unique in train. A share of rows, unlike a count, does not depend on sizes. What an earlier
    publication about the same people shows is a set of its own: its readers know just that.
    """

    names: ClassVar[tuple[str, ...]] = ("uniques.replicated",)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> UniquesJudge:
        """Find which sets of columns to look at."""
        schema = evidence.encoding.schema
        keys = schema.with_role(Role.QUASI, Role.LOCATION)
        keys = tuple(name for name in keys if name in evidence.drawn)
        sets = {"quasi-identifiers": keys} if keys else {}
        for name, shown in evidence.published.items():
            columns = tuple(one for one in shown if one in evidence.drawn)
            if columns and set(columns) not in map(set, sets.values()):
                sets[f"published: {name}"] = columns
        held = stack([evidence.control, evidence.fresh])
        # The gates' confidence is shared among the sets, so that more of them err no more often.
        gates = max(len(sets), 1)
        level = 1 - (1 - evidence.level) / gates
        judged = replace(evidence, level=level)
        return UniquesJudge(judged, {**sets, "all columns": evidence.drawn}, held)


@dataclass(frozen=True, eq=False)
class UniquesJudge(Judge):
    """The sets of columns, by the name findings give them, and the honest people."""

    evidence: Evidence
    sets: dict[str, tuple[str, ...]]
    held: Block

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One share for each set of columns."""
        return [self._one(target, keys, release, rng) for target, keys in self.sets.items()]

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.evidence.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def _one(
        self, target: str, keys: tuple[str, ...], release: Block, rng: np.random.Generator
    ) -> Estimate:
        evidence = self.evidence
        train, held, ours = row_numbers([evidence.train, self.held, release], keys)
        whose = evidence.train.person
        hit, base = hits_unique(train, ours, whose), hits_unique(train, held, whose)
        draws = mean_draws(hit, rng, person=release.person)
        base_draws = mean_draws(base, rng, person=self.held.person)
        low, high = interval(draws, evidence.level)
        gap_low, gap_high = interval(draws - base_draws, evidence.level)
        unique = hits_unique(train, train, whose).mean() if train.size else 0.0
        return Estimate(
            "uniques.replicated",
            float(hit.mean()),
            low,
            high,
            float(base.mean()),
            Better.LOWER,
            evidence.margin("uniques.replicated", 0.01),
            gap_low,
            gap_high,
            target=target,
            note=f"by {_listed(keys)}; {unique:.1%} of train's rows are unique on them"
            + ("" if whose is None else ": their combination is one person's")
            + several(release),
        )


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(keys) if len(keys) <= _NAMED else f"{len(keys)} columns"
