"""The first screen: may I release this, why, what is it good for, who was considered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.judged import Gate, Row
from understudy.report.numbers import count
from understudy.report.words import ATTACKERS, VERDICTS, advice


@dataclass(frozen=True)
class Banner:
    """The answer: a word, a sign, a sentence, and what stands behind it."""

    state: str
    icon: str
    word: str
    sentence: str
    reasons: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class Use:
    """One thing the table is, or is not, good for."""

    title: str
    state: str
    icon: str
    verdict: str
    sentence: str


@dataclass(frozen=True)
class Attacker:
    """Somebody who might attack, and what was found."""

    who: str
    does: str
    found: tuple[Row, ...]


def banner(gates: Sequence[Gate], provenance: Mapping[str, Any], holdout_rows: int) -> Banner:
    """The banner of a release or of an assessment."""
    outcome = provenance.get("outcome") or {}
    blocking = {"fails", "not-measured"} | ({"undecided"} if provenance.get("strict") else set())
    stopped = [one.worst for one in gates if one.worst.state in blocking]
    # What the command line says of gates is said here in the words of the page, gate by gate.
    told = [str(one) for one in outcome.get("reasons", ()) if not str(one).startswith("gate ")]
    reasons = (*told, *_reasons(stopped, ours=not _assessed(provenance)))
    state = _state(provenance, outcome, bool(stopped), bool(gates))
    icon, word, text = _BANNERS[state]
    sentence = f"{text} {_tally(gates)}".strip()
    return Banner(state, icon, word, sentence, reasons, _cautions(gates, holdout_rows))


def _reasons(stopped: Sequence[Row], *, ours: bool) -> list[str]:
    """Why gates block, in words: those that fail one by one, others by what they share.

    What to do about it (in a synthesis of ours) is said once, after the last gate that it helps.
    """
    lost: dict[str, list[str]] = {}
    failed = []
    for row in stopped:
        if row.state == "not-measured":
            lost.setdefault(row.note, []).append(_name(row))
        else:
            failed.append(row)
    last = {advice(row.measure): place for place, row in enumerate(failed)} if ours else {}
    remedy = {place: f" To change it, {text}." for text, place in last.items()}
    found = [_reason(row) + remedy.get(place, "") for place, row in enumerate(failed)]
    return found + [f"{', '.join(n)} could not be measured. {why}" for why, n in lost.items()]


def _reason(row: Row) -> str:
    return (
        f"{_name(row)} {row.verdict}: {row.value} where the reference is {row.reference}; it may "
        f"be {row.allowed} at most."
    )


def _name(row: Row) -> str:
    where = ", ".join(part for part in (row.target, row.which) if part)
    return row.measure + (f" ({where})" if where else "")


_BANNERS = {
    "released": ("✓", "Released", "No gate fails."),
    "withheld": ("✕", "Withheld", "The tables are in private/withheld/ and nothing is public."),
    "forced": ("!", "Forced", "Released by its owner although the checks below say no."),
    "assessment": ("✓", "No gate fails", "Tables made elsewhere were assessed."),
    "assessment-fails": (
        "✕",
        "Do not release",
        "Tables made elsewhere were assessed, and at least one gate blocks.",
    ),
    "tuned": ("✓", "Tuned", "Strengths were found; nothing was released and nothing judged."),
    "ungated": ("!", "Not judged", "No measure was declared a gate, so nothing was decided."),
}


def _state(
    provenance: Mapping[str, Any], outcome: Mapping[str, Any], stopped: bool, gated: bool
) -> str:
    if outcome.get("state") in _BANNERS:
        return str(outcome["state"])
    if provenance.get("job") == "tune":
        return "tuned"
    if not gated:
        return "ungated"
    if _assessed(provenance):
        return "assessment-fails" if stopped else "assessment"
    return "withheld" if stopped else "released"


def _assessed(provenance: Mapping[str, Any]) -> bool:
    job = provenance.get("job", "assess" if "notes" in provenance else "release")
    return bool(job == "assess")


def _tally(gates: Sequence[Gate]) -> str:
    parts = []
    for state, (_, word) in VERDICTS.items():
        number = sum(one.worst.state == state for one in gates)
        if number:
            parts.append(f"{number} {_plural(word, number)}")
    return f"Of {count(len(gates), 'gate')}, {' and '.join(_commas(parts))}." if parts else ""


def _plural(word: str, number: int) -> str:
    plural = {"holds": "hold", "fails": "fail"}
    copula = "is" if number == 1 else "are"
    if word in plural:
        return word if number == 1 else plural[word]
    return f"{copula} {word}"


def _commas(parts: Sequence[str]) -> list[str]:
    return [", ".join(parts[:-1]), parts[-1]] if len(parts) > 2 else list(parts)


def _cautions(gates: Sequence[Gate], holdout_rows: int) -> tuple[str, ...]:
    found = []
    if holdout_rows == 0:
        found.append(
            "There is no holdout. How close honest rows come by chance is therefore unknown, and "
            "closeness, uniques and any excess risk cannot be judged. Bring rows that the "
            "synthesis never saw (--holdout)."
        )
    for one in gates:
        if one.worst.state == "undecided":
            found.append(f"{one.worst.words.ask} Undecided. {one.worst.why}")
    return tuple(found)


def uses(rows: Sequence[Row]) -> tuple[Use, ...]:
    """What the table is good for: columns, pairs, all columns together."""
    found = [_columns(rows), _pairs(rows), _crossed(rows), _places(rows), *_models(rows)]
    found += [_listed_findings(rows), *_regressions(rows)]
    return tuple(use for use in found if use is not None)


def attackers(rows: Sequence[Row]) -> tuple[tuple[Attacker, ...], tuple[Attacker, ...]]:
    """Attackers that some measure speaks about, and those that none does."""
    measured = [row for row in rows if row.state not in ("not-measured", "not-applicable")]
    every = [
        Attacker(who, does, tuple(row for row in measured if row.measure in names))
        for who, does, names in ATTACKERS
    ]
    return tuple(a for a in every if a.found), tuple(a for a in every if not a.found)


def _columns(rows: Sequence[Row]) -> Use | None:
    found = [row for row in rows if row.measure == "marginal.distance"]
    if not found:
        return None
    names = list(dict.fromkeys(row.target for row in found if row.state == "fails"))
    doubtful = [row.target for row in found if row.state == "undecided" and row.target not in names]
    columns = len({row.target for row in found})
    good = columns - len(names) - len(set(doubtful))
    parts = [f"{good} of {count(columns, 'column')} look like the original’s within the margin."]
    if names:
        parts.append(f"Off: {_listed(names)}.")
    if doubtful:
        parts.append(f"Undecided: {_listed(list(dict.fromkeys(doubtful)))}.")
    state = "fails" if names else "undecided" if doubtful else "holds"
    return _use("Counts and averages of single columns", state, " ".join(parts))


def _measured(rows: Sequence[Row], measure: str) -> tuple[list[Row], list[Row]]:
    """Rows of a measure that have a number: about the whole table, and about a part of it."""
    found = [row for row in rows if row.measure == measure and row.item["value"] is not None]
    return [row for row in found if not row.target], [row for row in found if row.target]


def _pairs(rows: Sequence[Row]) -> Use | None:
    overall, worst = _measured(rows, "pair.distance")
    if not overall:
        return None
    mean = overall[0]
    text = f"On average {mean.value} of rows misplaced ({mean.reference} by chance)."
    if worst:
        one = worst[0]
        text += f" Worst pair: {one.target}, {one.value} ({one.reference} by chance)."
    return _use("Cross-tables and relations of two columns", mean.state, text)


def _crossed(rows: Sequence[Row]) -> Use | None:
    _, found = _measured(rows, "pmse.pairs.max")
    if not found:
        return None
    one = next((row for row in found if row.target.startswith("furthest")), found[0])
    pair = str(one.item.get("note") or "").split(";")[0]
    text = f"Most telling pair: {pair}, ratio {one.value} (1 is chance). {one.why}"
    return _use("Telling rows apart by two columns", one.state, text.strip())


def _listed_findings(rows: Sequence[Row]) -> Use | None:
    """The findings that the plan lists, counted by verdict."""
    found = [row for row in rows if row.measure == "estimate.ratio" and row.target]
    found = [row for row in found if row.item.get("replicate") == 0] or found
    found = [row for row in found if row.state != "not-applicable"]
    if not found:
        return None
    states = [row.state for row in found]
    off = [row.target for row in found if row.state == "fails"]
    text = f"{states.count('holds')} of {count(len(found), 'finding')} come out again"
    text += f"; {states.count('undecided')} are undecided." if "undecided" in states else "."
    text += f" Off: {_listed(off)}." if off else ""
    state = next((s for s in ("fails", "not-measured", "undecided") if s in states), "holds")
    return _use("Findings that the plan lists", state, text)


def _places(rows: Sequence[Row]) -> Use | None:
    overall, marks = _measured(rows, "l_function.gap")
    if not overall:
        return None
    one = overall[0]
    text = f"Largest difference of L: {one.value} ({one.interval}); {one.reference} by chance."
    names = list(dict.fromkeys(row.target for row in marks if row.state == "fails"))
    if marks:
        text += f" Off for marks: {_listed(names)}." if names else " No mark is off for certain."
    state = "fails" if names and one.state == "holds" else one.state
    return _use("Clusters of people on the map", state, text)


def _models(rows: Sequence[Row]) -> list[Use]:
    kinds = (
        ("pmse.logit.ratio", "Models of main effects", "A logistic model"),
        ("pmse.cart.ratio", "Interactions among many columns", "A tree"),
    )
    return [use for kind in kinds if (use := _model(rows, *kind)) is not None]


def _model(rows: Sequence[Row], measure: str, title: str, who: str) -> Use | None:
    found = [row for row in rows if row.measure == measure and row.item["value"] is not None]
    if not found:
        return None
    first = found[0]
    can = {"holds": "cannot tell", "fails": "can tell"}.get(first.state, "may or may not tell")
    sides = dict.fromkeys(row.target for row in found)
    parts = [_ratio(next(row for row in found if row.target == side)) for side in sides]
    text = (
        f"{who} {can} synthetic rows from real ones beyond the margin: {'; '.join(parts)} "
        f"(1 is chance). {first.why}"
    )
    return _use(title, first.state, text.strip())


def _regressions(rows: Sequence[Row]) -> list[Use]:
    """Each model of the plan by its standardised difference, over all replicates."""
    found = [
        row
        for row in rows
        if row.measure == "regression.difference" and row.item["value"] is not None
    ]
    pooled = [row for row in found if row.item.get("replicate") == 0] or found
    overlaps = {
        (row.target, row.item.get("replicate")): row
        for row in rows
        if row.measure == "regression.overlap"
    }
    return [
        _use(f"Regression: {row.target}", row.state, _coefficients(row, overlaps)) for row in pooled
    ]


def _coefficients(row: Row, overlaps: Mapping[tuple[str, Any], Row]) -> str:
    text = (
        f"Its coefficients differ by {row.value} of the original’s standard errors in the median "
        f"({row.reference} by chance)"
    )
    other = overlaps.get((row.target, row.item.get("replicate")))
    if other is not None:
        text += f"; intervals overlap by {other.value} ({other.reference} by chance)"
    return f"{text}. {row.why}".strip()


def _ratio(row: Row) -> str:
    spread = f" ({row.interval})" if row.interval else ""
    against = {"train": "train", "holdout": "held-out rows"}.get(row.target, row.target or "train")
    return f"ratio {row.value}{spread} against {against}"


def _use(title: str, state: str, text: str) -> Use:
    icon, verdict = VERDICTS[state]
    return Use(title, state, icon, verdict, text)


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
