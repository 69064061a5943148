"""Checks of what a plan says: each raises `PlanError` with the key, what came, and the fix."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from understudy.errors import PlanError


def suggestion(name: str, known: Iterable[str]) -> str:
    """End of a message that names the closest known word, if one is close.

    Example:
        >>> suggestion("splti", ["split", "gates"])
        ' (did you mean split?)'
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def known_keys(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse a key that is not known, with the closest one that is."""
    names = list(known)
    for name in table:
        if name not in names:
            key = f"{where}.{name}" if where else name
            raise PlanError(key, name, f"one of {', '.join(names)}{suggestion(name, names)}")


def is_text(where: str, value: Any) -> None:
    """A text."""
    if not isinstance(value, str):
        raise PlanError(where, value, "a text in quotes")


def one_of(where: str, value: Any, known: Iterable[str]) -> None:
    """One of some words."""
    names = list(known)
    if value not in names:
        hint = suggestion(value, names) if isinstance(value, str) else ""
        raise PlanError(where, value, f"one of {', '.join(names)}{hint}")


def is_flag(where: str, value: Any) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise PlanError(where, value, "true or false")


def is_table(where: str, value: Any) -> None:
    """A table of keys."""
    if not isinstance(value, Mapping):
        raise PlanError(where, value, f"a table of keys: [{where}]")


def is_whole(where: str, value: Any, least: int, most: float = math.inf) -> None:
    """A whole number from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        end = "" if math.isinf(most) else f" to {most}"
        raise PlanError(where, value, f"a whole number from {least}{end}")


def is_share(where: str, value: Any) -> None:
    """A number strictly between 0 and 1."""
    if not _is_number(value) or not 0.0 < value < 1.0:
        raise PlanError(where, value, "a share between 0 and 1, such as 0.75")


def is_margin(where: str, value: Any) -> None:
    """A finite number that is not negative."""
    if not _is_number(value) or not math.isfinite(value) or value < 0:
        raise PlanError(where, value, "a number from 0")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def texts(where: str, value: Any) -> tuple[str, ...]:
    """A list of texts, as a tuple."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise PlanError(where, value, 'a list of texts, such as ["age", "sex"]')
    return tuple(value)


def tables(where: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    """A list of tables, as a tuple of plain mappings."""
    if not isinstance(value, list | tuple) or not all(isinstance(v, Mapping) for v in value):
        raise PlanError(where, value, f"a list of tables: [[{where}]]")
    return tuple(plain(item) for item in value)


def plain(value: Any) -> Any:
    """The value with tuples as lists and mappings as dicts, as TOML reads them back."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def publications(where: str, entries: Iterable[Mapping[str, Any]]) -> None:
    """Earlier publications: each with a name of its own, and a file, columns, or both."""
    names: list[str] = []
    for place, entry in enumerate(entries):
        here = f"{where}[{place}]"
        known_keys(here, entry, ["name", "file", "columns"])
        for key in ("name", "file"):
            if key in entry:
                is_text(f"{here}.{key}", entry[key])
        if not entry.get("file") and not entry.get("columns"):
            raise PlanError(here, None, "a file that was published, or the columns it shows")
        texts(f"{here}.columns", entry.get("columns", []))
        name = entry.get("name") or entry.get("file") or ""
        if not name or name in (*names, "quasi-identifiers", "all columns"):
            raise PlanError(f"{here}.name", entry.get("name"), "a name of its own")
        names.append(name)


def column(where: str, name: str, columns: Iterable[str]) -> None:
    """The name of a column of the table."""
    names = list(columns)
    if name not in names:
        raise PlanError(
            where,
            name,
            f"one of the table's columns: {', '.join(names)}{suggestion(name, names)}",
        )
