"""What installing the core costs: packages, megabytes, seconds, in a fresh environment."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import venv
from pathlib import Path

from benchmarks._clock import ROOT, verdict

TOOLS = {"pip", "setuptools", "wheel"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "venv"
        venv.create(home, with_pip=True)
        python = str(home / "bin" / "python")
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        begin = time.perf_counter()
        done = subprocess.run(
            [*pip, "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(ROOT)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
            print(f"peers_install is skipped: the core could not be installed ({last})")
            return
        took = time.perf_counter() - begin
        listed = subprocess.run(
            [*pip, "list", "--format", "json"], capture_output=True, text=True, check=True
        )
        packages = {item["name"] for item in json.loads(listed.stdout)} - TOOLS - {"understudy"}
        files = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
        megabytes = sum(path.stat().st_size for path in files) / 1e6
    print(f"installed in {took:.0f} s: {', '.join(sorted(packages))}")
    print(verdict("packages beside understudy", len(packages), 30))
    print(verdict("installed size, pip included", megabytes, 600, " MB"))


if __name__ == "__main__":
    main()
