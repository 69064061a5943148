"""The chart library as one offline script, made once per machine and version."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

_EXPORT = "window.vegaEmbed = vegaEmbed;"


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script.

    Putting it together takes seconds, so it is kept in the user's cache folder; a file there
    that is not what its name's hash says is ignored. A cache that cannot be written costs only
    time.
    """
    folder = _folder()
    if folder is None:
        return vl_convert.javascript_bundle(_EXPORT)
    kept = _kept(folder)
    if kept is not None:
        return kept
    made = vl_convert.javascript_bundle(_EXPORT)
    _keep(folder, made)
    return made


def _folder() -> Path | None:
    """The user's own cache folder: a shared one could be filled by somebody else."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with contextlib.suppress(RuntimeError):  # a user without a home
        return (Path(base) if base else Path.home() / ".cache") / "understudy"
    return None


def _stem() -> str:
    return f"charts-{version('vl-convert-python')}-"


def _kept(folder: Path) -> str | None:
    with contextlib.suppress(OSError, ValueError):
        for path in sorted(folder.glob(f"{_stem()}*.js")):
            data = path.read_bytes()
            if path.stem == _stem() + hashlib.sha256(data).hexdigest():
                return data.decode("utf-8")
    return None


def _keep(folder: Path, script: str) -> None:
    data = script.encode("utf-8")
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(folder / f"{_stem()}{hashlib.sha256(data).hexdigest()}.js")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
