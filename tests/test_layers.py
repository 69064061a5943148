"""The way through the house: a module imports only from layers below its own."""

import ast
from pathlib import Path

import pytest

import understudy

SOURCE = Path(understudy.__file__).parent
LAYERS = (
    ("errors", "seeds"),
    ("tables", "results", "settings"),
    ("kernels",),
    ("evidence", "attack", "membership", "stated"),
    ("synth", "protect", "risk", "utility"),
    ("plans", "study", "tune", "execute", "inspection", "combining", "note"),
    ("report", "manifest"),
    ("trials",),
    ("folder",),
    ("api",),
    ("reproduce",),
    ("progress",),
    ("exits",),
    ("replies",),
    ("cli", "studio"),
    ("__main__",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
SIBLINGS = ("synth", "protect", "risk", "utility")
MODULES = sorted(SOURCE.rglob("*.py"))


def room(parts):
    """The folder or file below ``understudy`` that a module belongs to."""
    return Path(parts[0]).stem


def imports(path):
    """Rooms that a module imports from, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative imports hide the layer"
            module = (node.module or "").split(".")
            if module == ["understudy"]:
                yield from (alias.name for alias in node.names if alias.name != "__version__")
            elif module[0] == "understudy":
                yield module[1]
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (name[1] for name in names if name[0] == "understudy" and len(name) > 1)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downwards(path):
    here = room(path.relative_to(SOURCE).parts)
    if here == "__init__":
        return  # the front door shows what is inside
    assert here in LEVEL, f"{here} has no layer yet: add it to LAYERS"
    for there in imports(path):
        assert LEVEL[there] <= LEVEL[here], f"{here} must not import {there}: it lies above"
        siblings = here in SIBLINGS and there in SIBLINGS and here != there
        assert not siblings, f"{here} and {there} are siblings: move what they share down"
        assert (here, there) != ("kernels", "tables"), "kernels know arrays alone"


def test_nothing_is_called_utils():
    assert not [path for path in MODULES if path.stem in ("utils", "util", "helpers", "common")]


def test_kernels_are_arithmetic_alone():
    """No Table, no file: Arrow does not appear, nor does a path."""
    for path in SOURCE.glob("kernels/*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pyarrow" not in text and "pathlib" not in text and "open(" not in text, path.name


def test_files_fit_on_a_few_screens():
    longest = max(MODULES, key=lambda path: path.read_text(encoding="utf-8").count("\n"))
    assert longest.read_text(encoding="utf-8").count("\n") <= 450, longest.name
