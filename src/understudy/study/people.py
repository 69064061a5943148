"""Tables in which a person has several rows: whose row is which, and the split by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import InputError, PlanError, TableError
from understudy.seeds import stream
from understudy.synth.panel import Panel
from understudy.synth.sequence import Sequential
from understudy.tables.encode import Block, Encoding
from understudy.tables.schema import Kind, Role, Schema
from understudy.tables.surrogates import surrogates
from understudy.tables.table import Table

LEAST_HOLDOUT = 8
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class People:
    """Whose row each row of a table is.

    Attributes:
        column: the column that says it.
        time: the column that orders a person's rows (None: the file does).
        person: number of the person of each row.
        order: the rows, those of one person together and in order; rows without a time come last,
            rows of the same time as in the file.
    """

    column: str
    time: str | None
    person: Rows
    order: Rows

    @property
    def count(self) -> int:
        """Number of people."""
        return int(self.person.max(initial=-1)) + 1

    def rows_of(self, chosen: NDArray[np.bool_]) -> Rows:
        """Rows of the chosen people, in order."""
        return self.order[chosen[self.person[self.order]]]


@dataclass(frozen=True, eq=False)
class Sides:
    """A table split in two: rows of train, the holdout, and whose rows they are.

    Attributes:
        rows: rows of train, by their place in the table.
        held: the holdout (None: there is none).
        train_person: whose row each row of train is (None: a row is a person).
        held_person: whose row each row of the holdout is.
    """

    rows: Rows
    held: Table | None
    train_person: Rows | None = None
    held_person: Rows | None = None


def find_people(table: Table, column: str, what: str = "the table") -> People:
    """Read whose row is which from the column with the role group."""
    values = table.column(column)
    if values.null_count:
        raise TableError(
            f"{what} has {values.null_count} rows without a value in column {column!r}, which says "
            "whose row each is (role group): fill it in, or leave these rows out"
        )
    person = _numbered(values)
    times = table.schema.with_role(Role.TIME)
    time = times[0] if times else None
    keys = [person] if time is None else [_ranks(table.column(time)), person]
    return People(column, time, person, np.lexsort(keys))


def group_column(schema: Schema, steps: Sequence[Mapping[str, Any]] = ()) -> str | None:
    """The column with the role group, after a check that roles and ``steps`` go together."""
    groups, times = schema.with_role(Role.GROUP), schema.with_role(Role.TIME)
    if not groups:
        return None
    for names, role in ((groups, "group"), (times, "time")):
        if len(names) > 1:
            expected = f"another role, for {names[0]} has this one: one column of a table may"
            raise PlanError(f"columns.{names[1]}.role", role, expected)
    for name in times:
        if not schema[name].kind.is_numeric:
            expected = f"a number or a date as time; {name} is read as {schema[name].kind.value}"
            raise PlanError(f"columns.{name}.role", "time", expected)
    for name in schema.with_role(Role.KEEP):
        expected = (
            f"another role: {groups[0]} has the role group, and people are drawn anew with all "
            "their rows, so that there is nobody whose cells could be kept"
        )
        raise PlanError(f"columns.{name}.role", "keep", expected)
    if schema[groups[0]].kind is Kind.DATETIME:
        expected = "another role, or another kind: whose row each is, a date cannot say"
        raise PlanError(f"columns.{groups[0]}.role", "group", expected)
    for place, step in enumerate(steps):
        if groups[0] in (step.get("column"), *(step.get("columns") or ())):
            expected = f"other columns than {groups[0]}: it says whose row each is (role group)"
            raise PlanError(f"prepare[{place}]", step.get("do"), expected)
    return groups[0]


def found_people(table: Table, column: str, least: int) -> People | None:
    """The people of a table that have several rows; None where every person has one.

    Too few people are refused, however many rows they have.
    """
    people = find_people(table, column)
    if people.count == 1:
        raise TableError(
            f"column {people.column!r} (role group) has one value in all rows: this is a table "
            "of one person, from which nothing can be released; give it another role if it is not"
        )
    if people.count < max(least, 4):
        raise TableError(
            f"the table has rows of {people.count} people; fewer than {max(least, 4)} people "
            "cannot be protected by synthesis (plan key min_rows)"
        )
    return None if people.count == table.rows else people


def split_people(
    table: Table, people: People, share: float, strata: str | None, seed: int
) -> Sides:
    """Split by people, at random: nobody has rows on both sides."""
    rng = stream(seed, "split")
    order = rng.permutation(people.count)
    if strata is None:
        size = min(max(round(people.count * share), 2), people.count - 2)
        chosen = np.zeros(people.count, dtype=bool)
        chosen[order[:size]] = True
    else:
        level = _levels(table, people, strata)
        # Sorted by level in random order inside: every stride takes its share of each level.
        order = order[np.argsort(level[order], kind="stable")]
        place = np.arange(people.count) * share
        chosen = np.zeros(people.count, dtype=bool)
        chosen[order[np.floor(place + share) > np.floor(place)]] = True
    rows, held = people.rows_of(chosen), people.rows_of(~chosen)
    return Sides(rows, table.take(held), people.person[rows], people.person[held])


def brought(people: People, held: Table, with_column: Table, ours: pa.ChunkedArray) -> Sides:
    """All rows as train, and a holdout that was brought, of other people."""
    theirs = find_people(with_column, people.column, "the holdout")
    known = pc.is_in(
        pc.cast(pc.unique(with_column.column(people.column)), pa.string()),
        value_set=pc.cast(pc.unique(ours), pa.string()),
    )
    both = int(pc.sum(known).as_py() or 0)
    if both:
        raise InputError(
            f"the holdout has rows of {both} people who are in the table, by {people.column}: give "
            "rows of other people"
        )
    rows, held_rows = people.order, theirs.order
    return Sides(rows, held.take(held_rows), people.person[rows], theirs.person[held_rows])


def assessed(
    people: People | None, held: Table | None, holdout: Table | None, rows: int
) -> Sides | None:
    """All rows of an original as train, and the holdout that came with it, each by its people."""
    whose = None if people is None else people.person
    if held is None or holdout is None:
        return None if people is None else Sides(np.arange(rows), None, whose)
    theirs = None
    if people is not None and people.column in holdout.names:
        theirs = find_people(holdout, people.column, "the holdout").person
    return Sides(np.arange(rows), held, whose, theirs)


def of_people(block: Block, people: People | None, table: Table) -> Block:
    """The block with whose row each is, if the table it came from says so."""
    if people is None or people.column not in table.names:
        return block
    return replace(block, person=find_people(table, people.column, "a synthetic table").person)


def encode_sides(
    encoding: Encoding, train: Table, sides: Sides | None, seed: int
) -> tuple[Block, Block, Block]:
    """Train, and the two halves of the holdout (empty where there is none)."""
    block = encoding.encode(train)
    nobody = block.take(np.zeros(0, dtype=np.int64))
    if sides is None:
        return block, nobody, nobody
    block = replace(block, person=sides.train_person)
    nobody = block.take(np.zeros(0, dtype=np.int64))
    if sides.held is None:
        return block, nobody, nobody
    other = replace(encoding.encode(sides.held), person=sides.held_person)
    if other.people < LEAST_HOLDOUT:
        return block, nobody, nobody
    one, two = halves(other, stream(seed, "halves"))
    return block, other.take(one), other.take(two)


def halves(block: Block, rng: np.random.Generator, rows: int | None = None) -> tuple[Rows, Rows]:
    """Rows of one half of the people and of the other, at random; at most about ``rows`` in all."""
    if block.person is None:
        order = rng.permutation(block.rows)[:rows]
        return order[: len(order) // 2], order[len(order) // 2 :]
    _, whose = np.unique(block.person, return_inverse=True)
    order = rng.permutation(int(whose.max(initial=-1)) + 1)
    if rows is not None:
        some = np.cumsum(np.bincount(whose)[order]) <= rows
        order = order[: max(int(some.sum()), 4)]
    side = np.zeros(int(whose.max(initial=-1)) + 1, dtype=np.int8)
    side[order[: len(order) // 2]], side[order[len(order) // 2 :]] = 1, 2
    return np.flatnonzero(side[whose] == 1), np.flatnonzero(side[whose] == 2)


def fresh_ids(original: pa.ChunkedArray, block: Block, rng: np.random.Generator) -> pa.Array:
    """Made-up identifiers, one a person, for each row."""
    assert block.person is not None
    people, whose = np.unique(block.person, return_inverse=True)
    return surrogates(original, len(people), rng).take(pa.array(whose))


def receipts_of(
    people: People | None, engine: Panel | Sequential, train: Block
) -> list[dict[str, Any]]:
    """What was done about people with several rows: names and counts."""
    if people is None or not isinstance(engine, Panel):
        return []
    wide = engine.wide
    return [
        {
            "step": "people",
            "column": people.column,
            "time": people.time or "the order of the file",
            "people of train": train.people,
            "rows a person": round(wide.rows_per_person, 2),
            "never change": ", ".join(wide.constant) or "no column",
        }
    ]


def untuned(column: str) -> PlanError:
    """That tuning does not know of people with several rows."""
    expected = "no role group: tuning does not know of people with several rows yet"
    return PlanError(f"columns.{column}.role", "group", expected)


def _numbered(values: pa.ChunkedArray) -> Rows:
    """Numbers of the values, in the order in which they first appear."""
    codes = values.combine_chunks().dictionary_encode()
    chunks: Sequence[Any] = codes.chunks if isinstance(codes, pa.ChunkedArray) else [codes]
    if not chunks:
        return np.zeros(0, dtype=np.int64)
    return np.asarray(chunks[0].indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _ranks(values: pa.ChunkedArray) -> Rows:
    """Ranks of times; equal times have equal ranks, missing ones the last."""
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="min")
    found = np.array(ranks.to_numpy(zero_copy_only=False), dtype=np.int64)
    found[pc.is_null(values).to_numpy(zero_copy_only=False)] = len(found) + 1
    return found


def _levels(table: Table, people: People, strata: str) -> Rows:
    """Each person's level of the column by which the split is stratified."""
    values = table.column(strata)
    codes = values.combine_chunks().dictionary_encode().indices.fill_null(-1)
    level = np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)
    found = np.zeros(people.count, dtype=np.int64)
    found[people.person] = level
    if not np.array_equal(found[people.person], level):
        expected = "a column that never changes in a person, for the split is by people"
        raise PlanError("split.strata", strata, expected)
    return found
