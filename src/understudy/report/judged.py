"""Findings as table rows: numbers written out, verdicts as words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.numbers import interval, number
from understudy.report.words import CASES, SEVERITY, VERDICTS, Words, words

Item = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One finding as the page shows it.

    Attributes:
        item: the finding as JSON.
        words: the measure in plain words.
        which: the replicate, in words; empty where there is only one.
        value: the number, with ``interval`` beside it.
        interval: its interval, or empty.
        reference: what it is compared with.
        gap: interval of the difference to the reference.
        allowed: how much worse it may be.
        icon: the verdict as a sign.
        verdict: the verdict as a word.
        why: what is behind a verdict other than *holds*.
    """

    item: Item
    words: Words
    which: str
    value: str
    interval: str
    reference: str
    gap: str
    allowed: str
    icon: str
    verdict: str
    why: str

    @property
    def measure(self) -> str:
        """The measure's name."""
        return str(self.item["measure"])

    @property
    def target(self) -> str:
        """The column, pair or table it is about; empty for the whole table."""
        return str(self.item.get("target") or "")

    @property
    def state(self) -> str:
        """The verdict as findings spell it."""
        return str(self.item["verdict"])

    @property
    def note(self) -> str:
        """How it was computed."""
        return sentence(self.item.get("note") or "")

    @property
    def replicate(self) -> str:
        """The release in charts and tables: its replicate where there are several."""
        return self.which[:1].upper() + self.which[1:] if self.which else "This release"


@dataclass(frozen=True)
class Gate:
    """A gate: its worst row, all its rows, and the known cases."""

    worst: Row
    rows: tuple[Row, ...]
    cases: tuple[tuple[str, str, float | None], ...]
    number: int

    @property
    def scale(self) -> list[dict[str, Any]]:
        """Every case with its number, for one axis."""
        first = self.worst.item
        release = [
            {"case": row.replicate, "kind": "release", **_ends(row.item)} for row in self.rows
        ]
        reference = [
            {"case": reference_name(self.worst), "kind": "reference", "value": first["reference"]}
        ]
        known = [
            {"case": name, "kind": "known", "value": value}
            for name, _, value in self.cases
            if value is not None
        ]
        return [item for item in [*release, *reference, *known] if item["value"] is not None]


def row(item: Item, replicates: int) -> Row:
    """Write a finding out."""
    said = words(item["measure"])
    icon, verdict = VERDICTS.get(item["verdict"], ("", item["verdict"]))
    share = said.share
    return Row(
        item,
        said,
        _which(item.get("replicate"), replicates),
        number(item["value"], share=share),
        interval(item["low"], item["high"], share=share),
        number(item["reference"], share=share),
        interval(item.get("gap_low"), item.get("gap_high"), share=share, signed=True),
        _allowed(item, share),
        icon,
        verdict,
        _why(item),
    )


def gates(items: Sequence[Item], replicates: int) -> tuple[Gate, ...]:
    """Gates in the order of the findings, each with the rows of all replicates."""
    groups: dict[tuple[str, str | None], list[Row]] = {}
    for item in items:
        if item["gate"]:
            key = (item["measure"], item.get("target"))
            groups.setdefault(key, []).append(row(item, replicates))
    return tuple(_gate(rows, place) for place, rows in enumerate(groups.values(), 1))


def worst(rows: Sequence[Row]) -> Row:
    """The most severe row; of equals, the one furthest on the wrong side of its reference."""
    return min(rows, key=lambda one: (_severity(one.state), -_loss(one.item)))


def reference_name(one: Row) -> str:
    """What the reference is, as a label."""
    return {"holdout": "Held-out reference", "chance": "Chance"}.get(
        one.words.reference, "Reference"
    )


def sentence(text: str) -> str:
    """Tidy a note: parts in one line, a capital and a full stop."""
    parts = [part.strip() for part in text.split(";")]
    joined = "; ".join(part for part in parts if part)
    return joined and joined[0].upper() + joined[1:] + ("" if joined.endswith(".") else ".")


def _gate(rows: list[Row], place: int) -> Gate:
    first = worst(rows)
    share = first.words.share
    cases = tuple(
        (CASES.get(name, name), number(value, share=share), value)
        for name, value in first.item.get("calibration", {}).items()
    )
    return Gate(first, tuple(rows), cases, place)


def _severity(state: str) -> int:
    return SEVERITY.index(state) if state in SEVERITY else len(SEVERITY)


def _loss(item: Item) -> float:
    """How far the value lies on the wrong side of the reference; 0 where there is none."""
    value, reference = item["value"], item["reference"]
    if value is None or reference is None:
        return 0.0
    gap = float(value) - float(reference)
    return {"higher": -gap, "lower": gap}.get(item["better"], abs(gap))


def _ends(item: Item) -> dict[str, Any]:
    return {"value": item["value"], "low": item["low"], "high": item["high"]}


def _which(replicate: int | None, replicates: int) -> str:
    if replicate is None or replicates < 2:
        return ""
    return "all replicates pooled" if replicate == 0 else f"replicate {replicate}"


def _allowed(item: Item, share: bool) -> str:
    if item["margin"] is None:
        return number(None)
    margin = number(item["margin"], share=share).replace("%", " points")
    margin = "1 point" if margin == "1 points" else margin
    side = {"higher": "lower by", "lower": "higher by"}.get(item["better"], "off by")
    return f"{side} {margin}"


def _why(item: Item) -> str:
    note = str(item.get("note") or "")
    if item["verdict"] in ("not-measured", "not-applicable"):
        return sentence(note)
    if item["verdict"] != "undecided":
        return ""
    told = ("would decide", "blind on")
    parts = [part for part in note.split(";") if any(word in part for word in told)]
    return sentence("; ".join(parts))
