"""Do the findings of a study come out again? The user's own list, original against synthetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.errors import PlanError
from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, alone
from understudy.kernels.combine import combine
from understudy.kernels.regression import available
from understudy.kernels.resample import z_of
from understudy.settings import LEAST_ROWS, require_range
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Schema
from understudy.utility.asked import LEVEL, Answer, Asked, Question
from understudy.utility.regression import INSTALL

NAME = "estimate.ratio"
_ROWS = 100_000
_MARGIN = 0.1
_SHARE = 0.01  # a share that moves by this much is the same one, however small it is
_NUMBERLESS = "the original's interval holds 0, where a ratio says nothing"
_FEW = "fewer than ten people of train are behind it, or behind its opposite"


@dataclass(frozen=True)
class Estimates(Measure):
    """``estimate.ratio``: each finding on synthetic rows over the same finding on train's.

    The findings are the plan's: shares, means, ratios and coefficients, each of a subset if wanted
    (Purdam & Elliot 2007; Taub et al. 2017; Chapelle & Falissard, Table 4). The reference is 1. The
    interval is that of the difference between two samples of one population, over train's estimate:
    (q_s − q_o ± z·√(v_s + v_o)) / |q_o|, with v_s at least v_o·n_o/n_s.

    Attributes:
        findings: the findings: one of ``share``, ``mean``, ``ratio`` and ``to``, ``coefficient``
            and ``formula``; ``name``, ``subset``, ``weights``, ``family``.
        rows: at most this many rows of each table are used; the note says so.
    """

    names: ClassVar[tuple[str, ...]] = (NAME,)
    about: ClassVar[str] = "utility"
    must_catch: ClassVar[str] = "other"  # a finding about one column survives shuffling
    needs_holdout: ClassVar[bool] = False
    findings: tuple[Any, ...] = ()
    rows: int = _ROWS

    def check(self, where: str) -> None:
        """Read every entry; statsmodels must be there if one is a coefficient."""
        require_range(f"{where}.rows", self.rows, LEAST_ROWS, whole=True)
        if not isinstance(self.findings, tuple):
            expected = f"a list of tables: [[{where}.findings]]"
            raise PlanError(f"{where}.findings", self.findings, expected)
        made = self.made(where)
        names = [one.name for one in made]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise PlanError(f"{where}.findings[{place}].name", name, "a name of its own")
        if any(one.coefficient for one in made) and not available():
            raise PlanError(
                f"{where}.findings",
                "a coefficient without statsmodels",
                f"statsmodels to be installed: run  {INSTALL}",
            )

    def made(self, where: str = "measure.estimate") -> tuple[Asked, ...]:
        """The findings, read."""
        return tuple(Asked.of(f"{where}.findings[{i}]", one) for i, one in enumerate(self.findings))

    def fits(self, where: str, schema: Schema) -> None:
        """Refuse columns that the table lacks."""
        for place, one in enumerate(self.made(where)):
            one.fits(f"{where}.findings[{place}]", schema)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> EstimatesJudge:
        """Ask train."""
        train = evidence.train.thin(self.rows, rng)
        asked = tuple(Question.of(one, train, evidence.drawn) for one in self.made())
        return EstimatesJudge(self, evidence, asked)


@dataclass(frozen=True, eq=False)
class EstimatesJudge(Judge):
    """The questions, and train's answers."""

    settings: Estimates
    evidence: Evidence
    questions: tuple[Question, ...]

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One number for each finding."""
        return self._judged((release,), rng)

    def pooled(
        self, release: Sequence[Block], *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The mean over replicates: no table is stacked on another."""
        return self._judged(release, rng)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Every finding on train, holdout and each replicate; none that ten people do not share."""
        evidence = self.evidence
        release = [block.thin(self.settings.rows, rng) for block in evidence.release]
        held = stack([evidence.control, evidence.fresh])
        shown = [
            self._summary(question, release, held)
            for question in self.questions
            if not question.own.why and not question.own.hidden
        ]
        asked = len(self.questions)
        return {"estimates": {"findings": shown, "hidden": asked - len(shown)}} if shown else {}

    def _summary(self, question: Question, release: Sequence[Block], held: Block) -> dict[str, Any]:
        own, answers = question.own, [question.on(block) for block in release]
        # Shares have an axis in common; all else is drawn as a multiple of the original's.
        unit = 1.0 if question.asked.kind == "share" else _unit(own)
        beside = question.on(held) if held.rows else Answer(why="there is no holdout")
        shares = [one.rows for one in answers]
        return {
            "name": question.asked.name,
            "kind": question.asked.kind,
            "says": question.asked.says,
            "subset": question.asked.subset,
            "weights": question.asked.weights,
            "original": _written(own, unit),
            "holdout": None if beside.hidden else _written(beside, unit),
            "synthetic": [_written(one, unit) for one in answers],
            "combined": _combined(
                answers, self.evidence.combining, float(np.mean(shares)) / own.rows, unit
            ),
        }

    def _judged(self, release: Sequence[Block], rng: np.random.Generator) -> list[Estimate]:
        if not self.questions:
            return [Estimate.absent(NAME, "the plan lists no finding")]
        thinned = [block.thin(self.settings.rows, rng) for block in release]
        return [self._one(question, thinned) for question in self.questions]

    def _one(self, question: Question, release: Sequence[Block]) -> Estimate:
        target, own = question.asked.name, question.own
        if own.why or own.hidden:
            why = own.why or _FEW
            return Estimate.absent(NAME, why, target=target, applies=question.applies)
        if own.value == 0 or (question.asked.kind != "share" and own.low <= 0 <= own.high):
            return Estimate.absent(NAME, _NUMBERLESS, target=target)
        answers = [question.on(block) for block in release]
        if lost := next((one.why for one in answers if one.why), ""):
            return Estimate.absent(NAME, f"synthetic rows: {lost}", target=target, applies=True)
        return self._compared(question, own, answers)

    def _compared(self, question: Question, own: Answer, answers: Sequence[Answer]) -> Estimate:
        value = float(np.mean([one.value for one in answers]))
        chance = [own.error**2 * own.rows / max(one.rows, 1) for one in answers]
        noise = [max(one.error**2, least) for one, least in zip(answers, chance, strict=True)]
        spread = np.sqrt(own.error**2 + np.mean(noise) / len(answers))
        level = 1 - (1 - self.evidence.level) / len(self.questions)
        half = float(z_of(level) * spread / abs(own.value))
        margin = self.evidence.margin(NAME, _MARGIN)
        if question.asked.kind == "share":
            margin = max(margin, _SHARE / own.value)
        rows = ", ".join(f"{one.rows}" for one in answers)
        return Estimate(
            NAME,
            value / own.value,
            value / own.value - half,
            value / own.value + half,
            1.0,
            Better.REFERENCE,
            margin,
            target=question.asked.name,
            note=f"{question.asked.kind}; {own.rows} rows of train and {rows} synthetic"
            + alone(self.evidence.train),
        )


def _written(answer: Answer, unit: float | None) -> dict[str, Any] | None:
    if answer.why:
        return None
    ends = (answer.value, answer.low, answer.high)
    return {"value": ends[0], "low": ends[1], "high": ends[2], "rows": answer.rows} | _at(
        ends, unit
    )


def _unit(own: Answer) -> float | None:
    return None if own.low <= 0 <= own.high else own.value


def _at(ends: tuple[float, float, float], unit: float | None) -> dict[str, Any]:
    """Where it lies in the picture; nowhere if the original has no multiples."""
    if unit is None:
        return {}
    value, *others = (end / unit for end in ends)
    return {"at": value, "at_low": min(others), "at_high": max(others)}


def _combined(
    answers: Sequence[Answer], rule: str, share: float, unit: float | None
) -> Mapping[str, Any] | None:
    """The estimate that an analyst of all replicates has, by the rule that fits them."""
    if any(one.why for one in answers):
        return None
    if len(answers) == 1 and rule not in ("simple", "proper"):
        return _written(answers[0], unit)
    values = np.array([one.value for one in answers])
    found = combine(values, np.array([one.error**2 for one in answers]), rule, share)
    low, high = (float(end) for end in found.interval(LEVEL))
    value = float(found.estimate)
    return {"value": value, "low": low, "high": high, "rule": rule} | _at((value, low, high), unit)
