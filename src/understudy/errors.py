"""One tree of exceptions.

::

    UnderstudyError            anything this package raises on purpose
    ├── InputError             a table or argument that cannot be used (exit status 2)
    │   ├── TableError         a file or table: unreadable, too small, contradictory
    │   ├── PlanError          a plan: names the key, what came, and the fix
    │   ├── ProtectionError    a protection that cannot keep its promise on this table
    │   └── MissingExtra       an optional library is needed and not installed
    └── GateFailed             the release was judged, and a gate failed (exit status 3)

Messages say what, where, and what to do. They never contain a cell of a confidential table:
column names, row counts and positions are allowed, values are not.
"""

from __future__ import annotations


class UnderstudyError(Exception):
    """Anything this package raises on purpose."""


class InputError(UnderstudyError):
    """A table or argument that cannot be used."""


class TableError(InputError):
    """A file or table that is unreadable, too small or contradictory."""


class PlanError(InputError):
    """A plan that names something impossible: the key, what came, and the fix.

    Example:
        >>> str(PlanError("split.train", 1.5, "a share between 0 and 1"))
        'plan key split.train: got 1.5, expected a share between 0 and 1'
    """

    def __init__(self, key: str, got: object, expected: str) -> None:
        self.key = key
        super().__init__(f"plan key {key}: got {got!r}, expected {expected}")


class ProtectionError(InputError):
    """A protection that cannot keep its promise on this table: nothing is released."""


class MissingExtra(InputError):
    """An optional library is needed and not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed: "
            f"run  pip install 'understudy[{extra}]'"
        )


class GateFailed(UnderstudyError):
    """The release was judged, and at least one gate failed."""
