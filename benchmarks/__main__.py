"""Run the benchmarks one after another: ``python -m benchmarks [--peers] [NAME...]``.

A benchmark is a module of this folder with a function ``main()`` that prints its ratios. Modules
whose name begins with ``peers`` compare with heavy packages that live in environments of their
own; they run with ``--peers`` only. A leading underscore marks what is no benchmark.
"""

import argparse
import importlib
import os
import pkgutil
import sys
import time
import traceback
from pathlib import Path

import benchmarks


def names(*, peers: bool) -> list[str]:
    """Names of the modules that are benchmarks."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    found = (name for name in found if not name.startswith("_"))
    return sorted(name for name in found if name.startswith("peers") is peers)


def run(name: str) -> bool:
    """Run one benchmark; a failure is shown, and the others still run."""
    module = importlib.import_module(f"benchmarks.{name}")
    if not hasattr(module, "main"):
        return True
    print(f"── {name}", flush=True)
    begin = time.perf_counter()
    try:
        module.main()
    except Exception:
        traceback.print_exc()
        return False
    print(f"   {time.perf_counter() - begin:.1f} s{busy()}", flush=True)
    return True


def busy() -> str:
    """Say how many programs wanted the processors: seconds on the wall depend on it."""
    if not hasattr(os, "getloadavg"):
        return ""
    return f", load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"


def main() -> int:
    """Run the benchmarks that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="the heavy comparisons instead")
    parser.add_argument("name", nargs="*", help="only these")
    options = parser.parse_args()
    known = names(peers=True) + names(peers=False)
    unknown = sorted(set(options.name) - set(known))
    if unknown:
        parser.error(f"no benchmark called {', '.join(unknown)}; there are: {', '.join(known)}")
    chosen = options.name or names(peers=options.peers)
    if not chosen:
        print(f"no benchmarks in {Path(benchmarks.__path__[0]).name}/ yet")
    fine = [run(name) for name in chosen]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
