"""understudy: synthetic stand-ins for confidential tables about people, with evidence.

The public names are below; each is imported when it is first used, so that the command line
starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.api import assess, demo, inspect, read, release, synthesize, tune
    from understudy.combining import Combined, combine
    from understudy.errors import (
        GateFailed,
        InputError,
        MissingExtra,
        PlanError,
        TableError,
        UnderstudyError,
    )
    from understudy.folder import Outcome
    from understudy.inspection import Inspection
    from understudy.manifest import Verification, verify
    from understudy.plans.plan import Plan
    from understudy.results import Estimate, Finding, Findings, Verdict
    from understudy.study import Study
    from understudy.study.tune import Tuned
    from understudy.tables.schema import Column, Kind, Role, Schema
    from understudy.tables.table import Table
    from understudy.tables.write import write

__version__ = "0.1.0"
__all__ = [
    "Column",
    "Combined",
    "Estimate",
    "Finding",
    "Findings",
    "GateFailed",
    "InputError",
    "Inspection",
    "Kind",
    "MissingExtra",
    "Outcome",
    "Plan",
    "PlanError",
    "Role",
    "Schema",
    "Study",
    "Table",
    "TableError",
    "Tuned",
    "UnderstudyError",
    "Verdict",
    "Verification",
    "__version__",
    "assess",
    "combine",
    "demo",
    "inspect",
    "read",
    "release",
    "synthesize",
    "tune",
    "verify",
    "write",
]

_HOMES = {
    "api": ("assess", "demo", "inspect", "read", "release", "synthesize", "tune"),
    "combining": ("Combined", "combine"),
    "errors": (
        "GateFailed",
        "InputError",
        "MissingExtra",
        "PlanError",
        "TableError",
        "UnderstudyError",
    ),
    "folder": ("Outcome",),
    "inspection": ("Inspection",),
    "manifest": ("Verification", "verify"),
    "plans.plan": ("Plan",),
    "results": ("Estimate", "Finding", "Findings", "Verdict"),
    "study": ("Study",),
    "study.tune": ("Tuned",),
    "tables.schema": ("Column", "Kind", "Role", "Schema"),
    "tables.table": ("Table",),
    "tables.write": ("write",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"understudy.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'understudy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
