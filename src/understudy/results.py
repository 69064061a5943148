"""Results: numbers with an interval and a reference, findings without rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

SCHEMA = 1


class Verdict(StrEnum):
    """What a finding says about the release."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not-applicable"
    NOT_MEASURED = "not-measured"


class Better(StrEnum):
    """Which direction of a measure is better, or what it should equal."""

    HIGHER = "higher"
    LOWER = "lower"
    REFERENCE = "reference"


@dataclass(frozen=True)
class Estimate:
    """One number with its interval and what the holdout, or the null, gives for it.

    Attributes:
        measure: name of the measure, such as ``dcr.p05``.
        value: the point estimate.
        low: lower end of the interval.
        high: upper end of the interval.
        reference: the same number for the holdout, or under the null.
        gap_low: lower end of the interval of ``value − reference`` (None: from low and high).
        gap_high: upper end of it.
        better: which direction is better.
        margin: how much worse than the reference still counts as equal, in the measure's unit.
        target: the column (or pair) it is about, or None for the whole table.
        replicate: which replicate, from 1; 0 for all pooled; None where it does not apply.
        note: how it was computed, in words.
        applies: whether the question makes sense on this table; if not, the note says why.
    """

    measure: str
    value: float
    low: float
    high: float
    reference: float
    better: Better
    margin: float
    gap_low: float | None = None
    gap_high: float | None = None
    target: str | None = None
    replicate: int | None = None
    note: str = ""
    applies: bool = True

    @classmethod
    def absent(
        cls, measure: str, why: str, *, target: str | None = None, applies: bool = False
    ) -> Estimate:
        """An estimate without a number: the question makes no sense here, or could not be asked.

        Example:
            >>> Estimate.absent("nndr.p05", "0/0 for every row").verdict().value
            'not-applicable'
        """
        nan = math.nan
        better = Better.LOWER
        return cls(
            measure, nan, nan, nan, nan, better, nan, target=target, note=why, applies=applies
        )

    def gap(self) -> tuple[float, float]:
        """Interval of ``value − reference``."""
        low = self.low - self.reference if self.gap_low is None else self.gap_low
        high = self.high - self.reference if self.gap_high is None else self.gap_high
        return low, high

    def verdict(self) -> Verdict:
        """Compare the gap with the margin (METHODS, "Verdicts and gates").

        *holds*: the adverse end is better than −margin. *fails*: the favourable end is worse.

        Example:
            >>> Estimate("ims", 0.2, 0.19, 0.21, 0.2, Better.LOWER, 0.02).verdict().value
            'holds'
        """
        if not self.applies:
            return Verdict.NOT_APPLICABLE
        low, high = self.gap()
        if not all(map(math.isfinite, (low, high, self.margin))):
            return Verdict.NOT_MEASURED
        if self.better is Better.HIGHER:
            adverse, favourable = low, high
        elif self.better is Better.LOWER:
            adverse, favourable = -high, -low
        else:
            adverse = -max(abs(low), abs(high))
            favourable = 0.0 if low <= 0.0 <= high else -min(abs(low), abs(high))
        if adverse > -self.margin:
            return Verdict.HOLDS
        if favourable < -self.margin:
            return Verdict.FAILS
        return Verdict.UNDECIDED


@dataclass(frozen=True)
class Finding:
    """An estimate judged: its verdict, its calibration, and whether it gates the release."""

    estimate: Estimate
    verdict: Verdict
    gate: bool = False
    calibration: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def with_gate(self, gate: bool) -> Finding:
        """The same finding, gating or not."""
        return replace(self, gate=gate)

    def to_json(self) -> dict[str, Any]:
        """The finding as the contract's JSON object."""
        estimate = self.estimate
        return {
            "measure": estimate.measure,
            "target": estimate.target,
            "replicate": estimate.replicate,
            "value": _number(estimate.value),
            "low": _number(estimate.low),
            "high": _number(estimate.high),
            "reference": _number(estimate.reference),
            "gap_low": _number(estimate.gap()[0]),
            "gap_high": _number(estimate.gap()[1]),
            "better": estimate.better.value,
            "verdict": self.verdict.value,
            "margin": _number(estimate.margin),
            "gate": self.gate,
            "calibration": {key: _number(value) for key, value in self.calibration.items()},
            "seconds": round(self.seconds, 3),
            "note": estimate.note,
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Finding:
        """Read a finding back."""
        estimate = Estimate(
            measure=item["measure"],
            value=_float(item["value"]),
            low=_float(item["low"]),
            high=_float(item["high"]),
            reference=_float(item["reference"]),
            better=Better(item["better"]),
            margin=_float(item["margin"]),
            gap_low=_float(item["gap_low"]),
            gap_high=_float(item["gap_high"]),
            target=item["target"],
            replicate=item["replicate"],
            note=item["note"],
            applies=item["verdict"] != Verdict.NOT_APPLICABLE.value,
        )
        calibration = {key: _float(value) for key, value in item["calibration"].items()}
        return cls(estimate, Verdict(item["verdict"]), item["gate"], calibration, item["seconds"])


@dataclass(frozen=True)
class Findings:
    """All findings of a run, with what was done to the tables. Aggregates, never rows."""

    plan_sha256: str
    tables: Mapping[str, Any]
    findings: tuple[Finding, ...]
    receipts: tuple[Mapping[str, Any], ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def failed(self, *, strict: bool = False) -> tuple[Finding, ...]:
        """The gates that block the release."""
        blocking = {Verdict.FAILS, Verdict.NOT_MEASURED}
        if strict:
            blocking.add(Verdict.UNDECIDED)
        return tuple(item for item in self.findings if item.gate and item.verdict in blocking)

    def to_json(self) -> dict[str, Any]:
        """The contract's ``findings.json``."""
        from understudy import __version__

        return {
            "schema": SCHEMA,
            "understudy": __version__,
            "plan_sha256": self.plan_sha256,
            "tables": dict(self.tables),
            "findings": [item.to_json() for item in self.findings],
            "receipts": [dict(item) for item in self.receipts],
            "provenance": dict(self.provenance),
        }

    def dumps(self) -> str:
        """JSON text, stable in its order."""
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Findings:
        """Read findings back."""
        return cls(
            item["plan_sha256"],
            item["tables"],
            tuple(Finding.from_json(finding) for finding in item["findings"]),
            tuple(item.get("receipts", ())),
            item.get("provenance", {}),
        )


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The most severe of several verdicts.

    Example:
        >>> worst([Verdict.HOLDS, Verdict.UNDECIDED]).value
        'undecided'
    """
    order = [
        Verdict.FAILS,
        Verdict.NOT_MEASURED,
        Verdict.UNDECIDED,
        Verdict.HOLDS,
        Verdict.NOT_APPLICABLE,
    ]
    return min(verdicts, key=order.index, default=Verdict.NOT_APPLICABLE)


def _number(value: float | None) -> float | None:
    # JSON has no NaN: a number that could not be computed is null, and its verdict says why.
    return None if value is None or not math.isfinite(value) else float(value)


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
