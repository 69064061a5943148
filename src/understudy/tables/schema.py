"""What a column is (kind), what it is for (role), and how it looked when it was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from understudy.errors import PlanError, TableError


class Kind(StrEnum):
    """What a column's values are."""

    NUMBER = "number"
    CATEGORY = "category"
    ORDINAL = "ordinal"
    DATETIME = "datetime"
    TEXT = "text"
    IDENTIFIER = "identifier"

    @property
    def is_numeric(self) -> bool:
        """Numbers and dates have distances; everything else has levels."""
        return self in (Kind.NUMBER, Kind.DATETIME)


class Role(StrEnum):
    """What a column is for."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    LOCATION = "location"
    GROUP = "group"
    TIME = "time"
    WEIGHT = "weight"
    KEEP = "keep"
    OTHER = "other"


@dataclass(frozen=True)
class Column:
    """One column: its name, kind and role, and the look it is written back with.

    Attributes:
        name: the column's name, as in the input.
        kind: what the values are.
        role: what the column is for.
        levels: declared order of an ordinal column's levels (or None: numbers by size, words by
            alphabet).
        missing: words that mean "missing" beside the empty cell.
        decimals: digits after the decimal mark (0 for whole numbers, None for full precision).
        fixed: every number is written with exactly ``decimals`` digits, trailing zeros included.
        format: ``strftime`` format of dates and times.
        label: a human label, where the input format has one.
    """

    name: str
    kind: Kind
    role: Role = Role.OTHER
    levels: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    decimals: int | None = None
    fixed: bool = False
    format: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    Example:
        >>> schema = Schema((Column("age", Kind.NUMBER), Column("sex", Kind.CATEGORY)))
        >>> schema["age"].kind.value, schema.names
        ('number', ('age', 'sex'))
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise TableError(f"column names must differ; given twice: {', '.join(doubled)}")

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise TableError(f"no column named {name!r}; there are: {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def with_role(self, *roles: Role) -> tuple[str, ...]:
        """Names of the columns that have one of ``roles``."""
        return tuple(column.name for column in self.columns if column.role in roles)

    def select(self, names: tuple[str, ...] | list[str]) -> Schema:
        """The columns called ``names``, in that order."""
        return Schema(tuple(self[name] for name in names))

    def update(self, changes: Mapping[str, Mapping[str, Any]]) -> Schema:
        """Change attributes of some columns, as a plan's ``[columns]`` section does.

        Example:
            >>> schema = Schema((Column("age", Kind.NUMBER),))
            >>> schema.update({"age": {"role": "quasi"}})["age"].role.value
            'quasi'
        """
        for name in changes:
            if name not in self:
                raise PlanError(
                    f"columns.{name}", name, f"one of the table's columns: {', '.join(self.names)}"
                )
        return Schema(tuple(_changed(column, changes.get(column.name, {})) for column in self))


def _changed(column: Column, change: Mapping[str, Any]) -> Column:
    fields: dict[str, Any] = {}
    for key, value in change.items():
        fields[key] = _checked(f"columns.{column.name}.{key}", key, value)
    return replace(column, **fields)


def _checked(where: str, key: str, value: Any) -> Any:
    if key in ("kind", "role"):
        choices: type[Kind] | type[Role] = Kind if key == "kind" else Role
        if value not in [item.value for item in choices]:
            raise PlanError(where, value, f"one of {', '.join(item.value for item in choices)}")
        return choices(value)
    if key in ("levels", "missing"):
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise PlanError(where, value, "a list of texts")
        if key == "levels" and len(set(value)) < len(value):
            raise PlanError(where, list(value), "texts that differ")
        return tuple(value)
    if key == "decimals":
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 15:
            raise PlanError(where, value, "a whole number from 0 to 15")
        return value
    if key == "fixed":
        if not isinstance(value, bool):
            raise PlanError(where, value, "true or false")
        return value
    if key in ("format", "label"):
        if not isinstance(value, str):
            raise PlanError(where, value, "a text")
        if key == "format" and not _tells_dates(value):
            raise PlanError(where, value, "a date format such as '%d/%m/%Y'")
        return value
    known = "kind, role, levels, missing, decimals, fixed, format, label"
    raise PlanError(where, key, f"one of {known}")


def _tells_dates(form: str) -> bool:
    """Two dates that differ in everything are written differently."""
    dates = datetime(1999, 12, 31, 23, 59, 58), datetime(2001, 2, 3, 4, 5, 6)
    try:
        one, two = (date.strftime(form) for date in dates)
    except ValueError:
        return False
    return one != two


@dataclass(frozen=True)
class Layout:
    """How the file looked: what is needed to write a table back in the same dress.

    Attributes:
        format: ``csv``, ``parquet`` or ``arrow``.
        delimiter: the field separator of a CSV file.
        decimal: the decimal mark of a CSV file, ``.`` or ``,``.
        encoding: the text encoding of a CSV file.
        bom: the file began with a byte-order mark.
        newline: line end of a CSV file.
        final_newline: the last line has a line end.
        quote_all: every cell was quoted.
        quote_header: the column names were quoted.
        quoted: names of the columns whose cells were all quoted.
        point_zero: whole values of fractional columns look like ``3.0``, not ``3``.
        metadata: key-value metadata of the file, where the format has it.
    """

    format: str = "csv"
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    bom: bool = False
    newline: str = "\n"
    final_newline: bool = True
    quote_all: bool = False
    quote_header: bool = False
    quoted: tuple[str, ...] = ()
    point_zero: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
