"""The front door: what users may import, and how fast it opens."""

import subprocess
import sys
import types

import pytest

import understudy

NAMES = [
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


def test_public_names_are_frozen():
    assert sorted(understudy.__all__) == sorted(NAMES)
    assert dir(understudy) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name):
    found = getattr(understudy, name)
    assert not isinstance(found, types.ModuleType)
    assert name == "__version__" or found.__doc__


def test_nothing_else_pretends_to_be():
    for name in ("tuning", "no_such_thing"):
        with pytest.raises(AttributeError, match=name):
            getattr(understudy, name)


def test_functions_stay_functions_after_their_modules_are_imported():
    code = (
        "import understudy.api, understudy.inspection, understudy.manifest, understudy.folder\n"
        "from understudy import inspect, verify, read, release\n"
        "import understudy\n"
        "print(all(map(callable, (understudy.inspect, inspect, verify, read, release))))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_help_imports_nothing_heavy():
    """`understudy --help` answers at once: no arrays, tables or charts are loaded for it."""
    code = (
        "import sys, understudy.cli\n"
        "try: understudy.cli.cli.main(['--help'], standalone_mode=False)\n"
        "finally: print(sorted({'numpy', 'pyarrow', 'sklearn', 'scipy', 'altair', 'rich'}"
        " & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
