"""`understudy demo` end to end and `understudy --help`, as a user starts them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._clock import verdict


def command() -> list[str]:
    """The installed command, or the same through Python where it is not on the disk."""
    script = Path(sys.executable).with_name("understudy")
    if script.exists():
        return [sys.executable, str(script)]
    return [sys.executable, "-c", "from understudy.cli import main; main()"]


def seconds(*words: str) -> float:
    """Run the command; a failure is an error of the benchmark."""
    begin = time.perf_counter()
    subprocess.run([*command(), *words], check=True, capture_output=True)
    return time.perf_counter() - begin


def processors() -> float:
    """Processor seconds of all children so far."""
    times = os.times()
    return times.children_user + times.children_system


def main(*, whole: bool = True) -> None:
    seconds("--help")  # the first start compiles modules
    helped = sorted(seconds("--help") for _ in range(5))[2]
    print(verdict("understudy --help, median of 5", helped, 0.5, " s"))
    if not whole:
        return
    with tempfile.TemporaryDirectory() as folder:
        before = processors()
        took = seconds("demo", "--out", str(Path(folder) / "demo"), "--seed", "1")
        print(f"understudy demo: {took:.1f} s ({processors() - before:.1f} s of processors)")
    print(verdict("understudy demo end to end", took, 60.0, " s"))


if __name__ == "__main__":
    main()
