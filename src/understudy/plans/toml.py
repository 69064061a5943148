"""Write TOML: the little of it that plans need (the standard library only reads it)."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDE = 100


def dumps(document: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """Write a document as TOML text; ``None`` is left out.

    Args:
        document: plain values, lists and mappings. A list of mappings directly under the document
            becomes ``[[name]]`` tables, mappings become ``[name]`` tables, deeper ones inline.
        comments: a comment by dotted key, written above it (``"split"``, ``"split.train"``).

    Example:
        >>> print(dumps({"name": "a", "split": {"train": 0.75}}), end="")
        name = "a"
        <BLANKLINE>
        [split]
        train = 0.75
    """
    said = comments or {}
    plain = {key: value for key, value in document.items() if not _is_section(value)}
    lines = list(_pairs(plain, "", said))
    for name, value in document.items():
        if _is_section(value):
            lines.extend(_section(name, value, said))
    return "\n".join(lines).lstrip("\n") + "\n"


def key(name: str) -> str:
    """A key, quoted where it must be.

    Example:
        >>> key("age"), key("a b")
        ('age', '"a b"')
    """
    return name if _BARE.fullmatch(name) else _text(name)


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) or _is_tables(value)


def _is_tables(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(item, Mapping) for item in value)
    )


def _section(name: str, value: Any, said: Mapping[str, str]) -> Iterator[str]:
    yield from ["", *_comment(name, said)]
    if _is_tables(value):
        for place, item in enumerate(value):
            yield from ([""] if place else [])
            yield f"[[{key(name)}]]"
            yield from _pairs(item, name, said)
        return
    tables = {inner: item for inner, item in value.items() if isinstance(item, Mapping)}
    rest = {inner: item for inner, item in value.items() if inner not in tables}
    if rest or not tables:
        yield f"[{key(name)}]"
        yield from _pairs(rest, name, said)
    for place, (inner, item) in enumerate(tables.items()):
        yield from ([""] if place or rest else [])
        yield f"[{key(name)}.{key(inner)}]"
        yield from _pairs(item, f"{name}.{inner}", said)


def _pairs(table: Mapping[str, Any], where: str, said: Mapping[str, str]) -> Iterator[str]:
    for name, value in table.items():
        if value is not None:
            yield from _comment(f"{where}.{name}" if where else name, said)
            yield f"{key(name)} = {_value(value)}"


def _comment(where: str, said: Mapping[str, str]) -> list[str]:
    return [f"# {line}" for line in said[where].splitlines()] if where in said else []


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = [f"{key(name)} = {_value(v)}" for name, v in value.items() if v is not None]
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return _array([_value(item) for item in value])
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value)
    raise TypeError(f"TOML has no {type(value).__name__}")


def _array(items: list[str]) -> str:
    short = "[" + ", ".join(items) + "]"
    if len(short) <= _WIDE:
        return short
    return "[\n" + "".join(f"  {item},\n" for item in items) + "]"


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def _text(value: str) -> str:
    return '"' + "".join(_character(c) for c in value) + '"'


def _character(c: str) -> str:
    if c in _SHORT:
        return _SHORT[c]
    return f"\\u{ord(c):04X}" if ord(c) < 32 or ord(c) == 127 else c


_WRITERS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",  # before int: a bool is one
    str: _text,
    int: lambda value: str(int(value)),
    float: lambda value: _float(float(value)),
    datetime.date: lambda value: value.isoformat(),
    datetime.time: lambda value: value.isoformat(),
}
