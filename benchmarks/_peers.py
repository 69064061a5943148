"""Peers in environments of their own: made once in ``.peers``, run by subprocess over files."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

from benchmarks._clock import ROOT

HERE = Path(__file__).parent
CACHE = ROOT / ".peers"


class Absent(Exception):
    """A peer that cannot be run here; the message says why."""


def requirements(name: str) -> list[str]:
    """What a peer's environment holds."""
    with (HERE / "peers.toml").open("rb") as file:
        return list(tomllib.load(file)[name]["requires"])


def interpreter(name: str) -> Path:
    """The peer's Python; its environment is made on first use and when its pins change."""
    home, wanted = CACHE / name, "\n".join(requirements(name))
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = home / "ready.txt"
    if ready.exists() and ready.read_text() == wanted:
        return python
    print(f"   installing {name} into {home.relative_to(ROOT)} (once)", flush=True)
    venv.create(home, clear=True, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, *requirements(name)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise Absent(f"{name} is skipped: it could not be installed ({last})")
    ready.write_text(wanted)
    return python


def run(name: str, script: str, source: Path, out: Path, **settings: Any) -> dict[str, Any]:
    """Run ``scripts/SCRIPT`` with the peer's Python: CSV in, Parquet out, JSON back."""
    command = [str(interpreter(name)), str(HERE / "scripts" / script), str(source), str(out)]
    done = subprocess.run(
        [*command, json.dumps(settings)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Absent(f"{name} is skipped: it failed ({last})")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
