"""A table made ready: the plan's schema and `prepare`, what is set aside, and the split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.errors import PlanError, TableError
from understudy.plans import toml
from understudy.plans.plan import Plan
from understudy.plans.visits import check_left
from understudy.seeds import stream
from understudy.study.alike import alike
from understudy.study.people import (
    LEAST_HOLDOUT,
    People,
    Sides,
    brought,
    found_people,
    group_column,
    split_people,
)
from understudy.study.published import earlier, exposure, linkable, shared
from understudy.tables.prepare import prepare, prepare_beside
from understudy.tables.schema import Kind, Role, Schema
from understudy.tables.table import Table

_WANTED = ("quasi", "location", "sensitive")


@dataclass(frozen=True, eq=False)
class Ready:
    """A table after `prepare`, without the columns that are never synthesised.

    Attributes:
        table: what is split and learnt from.
        dropped: columns left out, with the reason.
        surrogate: identifier columns replaced by fresh ones.
        original: the table before anything was left out.
        raw: the table before `prepare`.
        receipts: what `prepare` did.
        published: columns left that each earlier publication shows, by its name.
        people: whose row is which, where people have several.
    """

    table: Table
    dropped: Mapping[str, str]
    surrogate: tuple[str, ...]
    original: Table
    receipts: tuple[Mapping[str, Any], ...]
    raw: Table
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    people: People | None = None


def make_ready(table: Table, plan: Plan, seed: int | None = None) -> Ready:
    """Apply the plan's schema and `prepare`, and set aside what is never synthesised.

    Columns that an earlier publication shows are quasi-identifiers unless they have a role already.
    """
    plan.check(table.schema)
    table = table.with_schema(table.schema.update(plan.looks))
    shown = earlier(plan.published, table)
    table = table.with_schema(linkable(table.schema, shown))
    _enough(table, plan, "the table has")
    group = group_column(table.schema, plan.prepare)
    prepared, sentences = prepare(table, plan.prepare, seed)
    _enough(prepared, plan, "after [[prepare]] the table has")
    people = None if group is None else found_people(prepared, group, plan.min_rows)
    dropped, surrogate = _set_aside(prepared.schema, plan, group)
    rest = [name for name in prepared.names if name not in dropped and name not in surrogate]
    if not rest:
        raise TableError(
            "no column is left to synthesise: all are identifiers or free text "
            f"({', '.join(dropped)}); set their kind in the plan if that is wrong"
        )
    if all(prepared.schema[name].role is Role.KEEP for name in rest):
        raise TableError(
            "every column is kept as it is: nothing would be synthetic; give at least "
            "one column another role than keep"
        )
    check_left(plan, rest)
    receipts: list[Mapping[str, Any]] = [
        {"step": "prepare", "did": sentence} for sentence in sentences
    ]
    kept = prepared.select(rest)
    receipts += [{"step": "published", "did": words} for words in exposure(shown, table, kept)]
    left = shared(shown, rest)
    aside = dropped, tuple(surrogate)
    return Ready(kept, *aside, prepared, tuple(receipts), table, left, people)


def _enough(table: Table, plan: Plan, what: str) -> None:
    if table.rows < plan.min_rows:
        raise TableError(
            f"{what} {table.rows} rows; fewer than {plan.min_rows} people cannot be "
            "protected by synthesis (plan key min_rows)"
        )


def _set_aside(schema: Schema, plan: Plan, group: str | None) -> tuple[dict[str, str], list[str]]:
    """Columns that are left out, with the reason, and those that get fresh identifiers.

    ``group`` says whose row each is: its values are made up, whatever their kind.
    """
    dropped, surrogate = {}, [] if group is None else [group]
    for column in schema:
        if column.name == group:
            continue
        look = plan.columns.get(column.name, {})
        named = column.kind is Kind.IDENTIFIER or column.role is Role.IDENTIFIER
        if column.role is Role.KEEP:
            if column.kind in (Kind.IDENTIFIER, Kind.TEXT):
                expected = (
                    f"another role: {column.name!r} is {column.kind.value}, which names people"
                )
                raise PlanError(f"columns.{toml.key(column.name)}.role", "keep", expected)
        elif named and look.get("identifier", "drop") == "surrogate":
            surrogate.append(column.name)
        elif named:
            dropped[column.name] = "a direct identifier"
        elif column.kind is Kind.TEXT:
            dropped[column.name] = "free text, which may name people"
        if column.name in dropped:
            _refuse_wanted(column.name, look, dropped[column.name])
    return dropped, surrogate


def _refuse_wanted(name: str, look: Mapping[str, Any], why: str) -> None:
    """Nothing would be said of a column that the plan has attacked, or attacked with."""
    role = look.get("role")
    if role in _WANTED and "kind" not in look and "identifier" not in look:
        expected = f'a kind beside it, such as kind = "category": as it reads it is dropped ({why})'
        raise PlanError(f"columns.{name}.role", role, expected)


def split(ready: Ready, plan: Plan, seed: int, holdout: Table | None) -> Sides:
    """Rows of train, at random, and the rest as holdout; or all rows, and a holdout brought.

    Where people have several rows the split is by people.
    """
    table = ready.table
    if holdout is not None:
        return _prepared(holdout, ready, plan, seed)
    if ready.people is not None:
        return split_people(table, ready.people, plan.split.train, plan.split.strata, seed)
    rng = stream(seed, "split")
    order = rng.permutation(table.rows)
    if plan.split.strata is not None:
        codes = table.column(plan.split.strata).combine_chunks().dictionary_encode().indices
        level = codes.fill_null(-1).to_numpy(zero_copy_only=False)
        # Sorted by level in random order inside: every stride takes its share of each level.
        order = order[np.argsort(level[order], kind="stable")]
        place = np.arange(table.rows) * plan.split.train
        chosen = np.floor(place + plan.split.train) > np.floor(place)
        return Sides(np.sort(order[chosen]), table.take(order[~chosen]))
    size = min(max(round(table.rows * plan.split.train), 1), table.rows - 2)
    return Sides(np.sort(order[:size]), table.take(order[size:]))


def _prepared(holdout: Table, ready: Ready, plan: Plan, seed: int) -> Sides:
    """A holdout that was brought, after the same steps as the table."""
    raw = alike(holdout, ready.raw, "the holdout")
    if raw.rows < LEAST_HOLDOUT:
        raise TableError(
            f"the holdout has {raw.rows} rows: at least {LEAST_HOLDOUT} are needed to compare "
            "with; leave out --holdout to split the table instead"
        )
    held = prepare_beside(raw, ready.raw, plan.prepare, seed)
    same = alike(held.select(list(ready.table.names)), ready.table, "the holdout")
    if ready.people is None:
        return Sides(np.arange(ready.table.rows), same)
    return brought(ready.people, same, held, ready.original.column(ready.people.column))
