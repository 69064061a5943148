"""What was done to the tables, and what made the run: as lists of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.numbers import count, number

Pair = tuple[str, str]


@dataclass(frozen=True)
class Receipts:
    """Steps, columns left out, the leaf search, and where all of it came from."""

    steps: tuple[Pair, ...]
    dropped: tuple[Pair, ...]
    surrogates: tuple[str, ...]
    leaf: str
    trials: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    provenance: tuple[Pair, ...]


def receipts(run: Mapping[str, Any]) -> Receipts:
    """Receipts of a findings file."""
    provenance = run.get("provenance") or {}
    leaf = provenance.get("leaf") or {}
    chosen = leaf.get("chosen")
    notes = [
        *provenance.get("said", ()),
        *provenance.get("read", ()),
        *provenance.get("notes", ()),
    ]
    return Receipts(
        tuple(_step(item) for item in run.get("receipts", ())),
        tuple((str(n), str(why)) for n, why in (provenance.get("dropped") or {}).items()),
        tuple(str(name) for name in provenance.get("surrogates") or ()),
        _leaf(leaf, "rows" if "people" in (run.get("tables") or {}).get("train", {}) else "people"),
        tuple(_trial(trial, chosen) for trial in leaf.get("trials", ())),
        tuple(str(note) for note in notes),
        _provenance(run, provenance),
    )


def sizes(tables: Mapping[str, Any]) -> tuple[str, ...]:
    """Rows and columns of train, holdout and the synthetic tables."""
    train, holdout = tables.get("train") or {}, tables.get("holdout") or {}
    synthetic: Sequence[Mapping[str, Any]] = tables.get("synthetic") or ()
    found = [f"Train {_size(train)}"]
    found.append(f"holdout {_rows(holdout)}" if holdout.get("rows") else "no holdout")
    if synthetic:
        many = "" if len(synthetic) == 1 else f"{len(synthetic)} tables of "
        found.append(f"synthetic {many}{_spread(synthetic)}")
    return tuple(found)


def _spread(tables: Sequence[Mapping[str, Any]]) -> str:
    """Rows from the smallest to the largest table, where a protection added some."""
    rows = sorted({int(table.get("rows") or 0) for table in tables})
    if len(rows) < 2:
        return _size(tables[0])
    return f"{rows[0]:,} to {_size({**tables[0], 'rows': rows[-1]})}"


def _size(table: Mapping[str, Any]) -> str:
    return f"{_rows(table)} × {count(table.get('columns'), 'column')}"


def _rows(table: Mapping[str, Any]) -> str:
    people = table.get("people")
    rows = count(table.get("rows"), "row")
    return rows if people is None else f"{rows} of {count(people, 'person', 'people')}"


def _step(item: Mapping[str, Any]) -> Pair:
    rest = {key: value for key, value in item.items() if key != "step"}
    if set(rest) == {"did"}:
        return str(item.get("step", "")), str(rest["did"])
    said = {k: "; ".join(map(str, v)) if isinstance(v, list) else v for k, v in rest.items()}
    return str(item.get("step", "")), "; ".join(f"{key}: {value}" for key, value in said.items())


def _leaf(leaf: Mapping[str, Any], what: str) -> str:
    """What the search for the leaf size found, in a sentence or two; leaves of people, or rows."""
    if not leaf.get("trials"):
        return ""
    found = f"Trees draw from leaves of at least {leaf.get('chosen')} {what}"
    if leaf.get("held"):
        return f"{found}: the smallest that held on an inner split of train, which no verdict uses."
    return (
        f"{found}. None of the sizes tried held on the inner splits, which have half as many "
        "people as train; the largest possible was taken, and the gates decide."
    )


def _trial(trial: Mapping[str, Any], chosen: int | None) -> tuple[str, ...]:
    shares = [number(trial.get(key), share=True, signed=True) for key in _TRIAL_KEYS]
    return str(trial.get("leaf")), *shares, "chosen" if trial.get("leaf") == chosen else ""


_TRIAL_KEYS = ("ims", "share", "uniques", "dcr", "nndr")


def _provenance(run: Mapping[str, Any], provenance: Mapping[str, Any]) -> tuple[Pair, ...]:
    error, level = provenance.get("error"), provenance.get("level")
    found = [
        ("Plan", provenance.get("plan")),
        ("Plan SHA-256", run.get("plan_sha256")),
        ("understudy", run.get("understudy") or provenance.get("version")),
        ("Python", provenance.get("python")),
        ("numpy", provenance.get("numpy")),
        (
            "Family-wise error rate of the gates",
            None if error is None else number(error, share=True),
        ),
        (
            "Confidence of each gate’s interval",
            None if level is None else number(level, share=True),
        ),
        ("Undecided blocks", "yes" if provenance.get("strict") else "no"),
    ]
    return tuple((name, str(value)) for name, value in found if value is not None)
