"""Look at a table before anything is made from it, and propose a plan. Shows no value of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from understudy.plans import toml
from understudy.plans.plan import Plan
from understudy.plans.proposals import warnings_about
from understudy.plans.suggestions import Suggestion, suggestions
from understudy.study.published import Earlier, earlier, exposed, linkable
from understudy.synth.propose import Candidate, propose
from understudy.tables.detect import suggested_group, suggested_weights, suspected_identifiers
from understudy.tables.encode import Encoding, fit_encoding
from understudy.tables.schema import Column, Kind, Role
from understudy.tables.table import Table

# Measured with the default plan (leaves of 20) on 800 to 200,000 rows of five tables, one core:
# each table's sum is within a factor of two, and nine columns of ten are. The search for the leaf,
# and the measures, come on top.
_SECONDS_PER_COMPARISON = 5.5e-10  # × rows × log2(rows) × bits of the predictors × bits drawn
_SECONDS_PER_COLUMN = 0.002
_OWN_BITS = 2  # drawing the column itself: about as dear as a predictor of three levels
_BYTES_PER_CELL = 60  # codes, values, leaves and donors of train, holdout and a replicate


@dataclass(frozen=True)
class Facts:
    """One column: what it is, without any of its values.

    Attributes:
        name: the column.
        kind: what the values are.
        role: the proposed role.
        missing: share of missing cells.
        distinct: number of different values.
        note: what to know about it, in words.
    """

    name: str
    kind: Kind
    role: Role
    missing: float
    distinct: int
    note: str = ""


@dataclass(frozen=True)
class Inspection:
    """What was found in a table.

    Attributes:
        rows: number of rows.
        plan: the proposed plan; candidate rules are not in it, since nobody has confirmed them.
        columns: facts by column.
        warnings: what may go wrong, in words.
        rules: candidate rules.
        suggestions: steps to consider before the synthesis; they are not in the plan either.
        published: what each earlier publication shows, and how many rows are unique on it.
        seconds: estimated seconds of synthesis by column, one replicate, one core.
        megabytes: estimated memory by column.
    """

    rows: int
    plan: Plan
    columns: tuple[Facts, ...]
    warnings: tuple[str, ...]
    rules: tuple[Candidate, ...]
    suggestions: tuple[Suggestion, ...]
    published: tuple[str, ...]
    seconds: Mapping[str, float]
    megabytes: Mapping[str, float]

    @property
    def total_seconds(self) -> float:
        """Estimated seconds of all columns."""
        return sum(self.seconds.values())

    @property
    def total_megabytes(self) -> float:
        """Estimated memory of all columns."""
        return sum(self.megabytes.values())

    def to_json(self) -> dict[str, Any]:
        """Everything but the plan's candidate rules, which may name levels, as JSON."""
        return {
            "rows": self.rows,
            "columns": [_fact(self, facts) for facts in self.columns],
            "warnings": list(self.warnings),
            "rules": [
                {"kind": item.rule["kind"], "rule": item.words, "holds": item.support,
                 "broken": item.broken}
                for item in self.rules
            ],
            "suggestions": [
                {"entry": dict(item.entry), "against": item.against, "why": item.why}
                for item in self.suggestions
            ],
            "published": list(self.published),
            "estimate": {
                "seconds": round(self.total_seconds, 3),
                "megabytes": round(self.total_megabytes, 3),
            },
        }  # fmt: skip

    def to_text(self) -> str:
        """The same for people."""
        return "\n".join(_lines(self)) + "\n"

    def to_toml(self) -> str:
        """The proposed plan; steps and rules are commented out until somebody confirms them."""
        steps = "".join(item.to_toml() for item in self.suggestions)
        head = "\n# Steps to consider before the split: remove the # from those you want.\n"
        rules = "".join(_commented(item) for item in self.rules)
        return self.plan.to_toml() + (head + steps if steps else "") + rules


def inspect(table: Table, published: Sequence[Mapping[str, Any]] = ()) -> Inspection:
    """Look at a table, and at what was published about its people before, and propose a plan.

    Example:
        >>> import pyarrow as pa
        >>> from understudy.tables.read import read
        >>> found = inspect(read(pa.table({"age": [31, 49, 35], "sex": ["m", "f", "f"]})))
        >>> [(facts.name, facts.kind.value, facts.role.value) for facts in found.columns]
        [('age', 'number', 'quasi'), ('sex', 'category', 'quasi')]
    """
    reasons = suspected_identifiers(table)
    weights = suggested_weights(table)
    shown = earlier(published, table)
    table = table.with_schema(linkable(table.schema, shown))
    people = _suggested_people(table)
    columns = tuple(_facts(table, one, reasons, weights, shown, people) for one in table.schema)
    never = (Role.IDENTIFIER, Role.GROUP)
    drawn = [f.name for f in columns if f.kind is not Kind.TEXT and f.role not in never]
    encoding = fit_encoding(table.select(drawn))
    block = encoding.encode(table.select(drawn))
    return Inspection(
        table.rows,
        _plan(columns, reasons, published),
        columns,
        tuple(table.notes) + tuple(warnings_about(table, block, columns)),
        propose(block),
        suggestions(table, columns),
        tuple(exposed(one, table) for one in shown),
        _seconds(table.rows, encoding),
        {name: max(table.rows * _BYTES_PER_CELL / 1e6, 0.01) for name in drawn},
    )


def _suggested_people(table: Table) -> dict[str, Role]:
    """The columns that seem to say whose row each is, and when it was: roles by name."""
    group = suggested_group(table)
    if group is None or table.schema.with_role(Role.GROUP):
        return {}
    rows = pc.count_distinct(table.column(group)).as_py()
    times = [
        column.name
        for column in table.schema
        if column.kind is Kind.DATETIME
        and table.data.select([group, column.name])
        .group_by([group, column.name])
        .aggregate([])
        .num_rows
        > rows
    ]
    return {group: Role.GROUP, **({times[0]: Role.TIME} if len(times) == 1 else {})}


def _facts(
    table: Table,
    column: Column,
    reasons: Mapping[str, str],
    weights: list[str],
    shown: Sequence[Earlier],
    people: Mapping[str, Role],
) -> Facts:
    array = table.column(column.name)
    distinct = int(pc.count_distinct(array, mode="only_valid").as_py())
    role, notes = column.role, []
    published = [one.name for one in shown if column.name in one.columns]
    if column.name in reasons:
        role = Role.IDENTIFIER
        notes.append(f"looks like an identifier: {reasons[column.name]}")
    elif column.name in people:
        role = people[column.name]
        what = "say whose row each is" if role is Role.GROUP else "order the rows of a person"
        notes.append(f"may {what}: then its role is {role.value}")
    elif role is Role.QUASI and not published:
        notes.append("quasi-identifier, by its name")
    if published and column.name not in reasons:
        notes.append(f"published before: {', '.join(published)}")
    if column.name in weights:
        notes.append('may be a survey weight: then set role = "weight"')
    if column.kind is Kind.TEXT:
        notes.append("free text is dropped")
    missing = array.null_count / max(table.rows, 1)
    return Facts(column.name, column.kind, role, missing, distinct, "; ".join(notes))


def _plan(
    columns: tuple[Facts, ...],
    reasons: Mapping[str, str],
    published: Sequence[Mapping[str, Any]],
) -> Plan:
    looks: dict[str, dict[str, Any]] = {}
    for facts in columns:
        look: dict[str, Any] = {"kind": facts.kind.value, "role": facts.role.value}
        looks[facts.name] = look
        if facts.role is Role.GROUP:
            continue  # its values are made up, whatever their kind
        if facts.role is Role.IDENTIFIER or facts.kind is Kind.IDENTIFIER:
            look["identifier"] = _replacement(reasons.get(facts.name, ""))
        if facts.kind is Kind.TEXT:
            look["text"] = "drop"
    return Plan(name="proposed", columns=looks, published=tuple(published))


def _replacement(reason: str) -> str:
    """Numbers of rows get fresh ones; names, addresses and the like have no innocent stand-in."""
    keys = ("(id)", "(uid)", "(uuid)", "(guid)", "(key)", "(rowid)", "(index)", "numbers the rows")
    return "surrogate" if any(key in reason for key in keys) else "drop"


def _seconds(rows: int, encoding: Encoding) -> dict[str, float]:
    """Cost of a tree per column: each predictor sorts every row once per level of the tree.

    Sorting is dearer the more values a predictor has, and the tree deeper the more the column has:
    both grow like the logarithm of their number.
    """
    order = sorted(encoding.names, key=lambda name: encoding[name].size)
    bits = np.array([np.log2(encoding[name].size + 1) for name in order])
    before = np.cumsum(bits) - bits + _OWN_BITS
    seconds = _SECONDS_PER_COMPARISON * rows * np.log2(max(rows, 2)) * before * bits
    return {
        name: _SECONDS_PER_COLUMN + float(cost) for name, cost in zip(order, seconds, strict=True)
    }


def _fact(found: Inspection, facts: Facts) -> dict[str, Any]:
    return {
        "name": facts.name,
        "kind": facts.kind.value,
        "role": facts.role.value,
        "missing": round(facts.missing, 4),
        "distinct": facts.distinct,
        "note": facts.note,
        "seconds": round(found.seconds.get(facts.name, 0.0), 3),
        "megabytes": round(found.megabytes.get(facts.name, 0.0), 3),
    }


def _lines(found: Inspection) -> Iterator[str]:
    yield f"{found.rows:,} rows, {len(found.columns)} columns"
    yield ""
    width = min(max([len(facts.name) for facts in found.columns], default=6), 32)
    yield f"{'column':{width}}  {'kind':10}  {'role':10}  missing  distinct  seconds  note"
    for facts in found.columns:
        seconds = found.seconds.get(facts.name)
        time = "   left out" if seconds is None else f"{_short(seconds):>9}"
        yield (
            f"{facts.name:{width}}  {facts.kind.value:10}  {facts.role.value:10}  "
            f"{facts.missing:6.1%}  {facts.distinct:9,}{time}  {facts.note}"
        ).rstrip()
    for title, lines in (
        ("Warnings", list(found.warnings)),
        ("Published before", list(found.published)),
        ("Steps to consider (written into the plan as comments)",
         [f"{s.words}: {s.why}; against {s.against}" for s in found.suggestions]),
        ("Candidate rules (written into the plan as comments; confirm those that must hold)",
         [f"{r.words}: holds in {r.support:,} rows, broken in {r.broken:,}" for r in found.rules]),
    ):  # fmt: skip
        if lines:
            yield from ["", title, *(f"- {line}" for line in lines)]
    yield ""
    yield (
        f"Estimate for one replicate: {found.total_seconds:.1f} s on one core, "
        f"{found.total_megabytes:.0f} MB (measures and the search for the leaf size come on top)"
    )


def _short(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds >= 0.005 else "<0.01"


def _commented(item: Candidate) -> str:
    text = toml.dumps({"rules": [dict(item.rule)]})
    head = f"holds in {item.support} rows, broken in {item.broken}: remove the # to confirm"
    return "\n" + "".join(f"# {line}\n" for line in [head, *text.splitlines()])
