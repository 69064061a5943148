"""What the benchmarks measure: seconds, processor seconds, peak memory; and how they say it."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]


class Took(NamedTuple):
    """Seconds on the wall, and seconds of all processors together."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.cpu:.2f} s of processors)"


def timed(task: Callable[[], Any]) -> tuple[Any, Took]:
    """Run a task once; processor seconds tell a slow program from a busy machine."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = task()
    return result, Took(time.perf_counter() - wall, time.process_time() - cpu)


def median(task: Callable[[], Any], times: int) -> tuple[Any, Took]:
    """Run a task several times; the run with the middle time on the wall."""
    runs = sorted((timed(task) for _ in range(times)), key=lambda run: run[1].wall)
    result, took = runs[len(runs) // 2]
    return result, took


def peak_megabytes() -> float:
    """Largest resident memory of this process.

    ``ru_maxrss`` survives ``exec`` on Linux, so that a child would begin with its parent's peak;
    the kernel's own high-water mark does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        marks = [line for line in lines if line.startswith("VmHWM:")]
        if marks:
            return int(marks[0].split()[1]) / 1024
    scale = 2**20 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def child(name: str, *words: Any) -> dict[str, Any]:
    """Run a benchmark's module in a process of its own; its last line is JSON."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} {' '.join(map(str, words))} failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of log seconds on log size, by least squares: the p of size^p.

    Example:
        >>> round(exponent([10, 100, 1000], [1, 10, 100]), 6)
        1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def verdict(what: str, value: float, limit: float, unit: str = "", *, least: bool = False) -> str:
    """Return one line: the bar, what was measured, and whether it is met.

    Example:
        >>> verdict("time", 12.0, 20.0, " s")
        'bar met: time 12 s, at most 20 s'
    """
    good = value >= limit if least else value <= limit
    word = "met" if good else "NOT MET"
    side = "at least" if least else "at most"
    return f"bar {word}: {what} {value:.3g}{unit}, {side} {limit:.4g}{unit}"
