"""CART synthesis of adult.csv (48,842 × 15, leaves of 5) against synthpop-py's default CART."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import _peers
from benchmarks._clock import Took, median, timed, verdict
from benchmarks._synthesis import conforming, data, scores, synthesize
from understudy.api import read

FASTER = 8.0


def compare(
    source: Path, peer: str, script: str, *, allowed: float, times: int = 5, peer_times: int = 2
) -> None:
    """Time both on the same rows (ours the median, the peer its best run) and compare pMSE."""
    table = read(source)
    synthesize(table)  # loads what is imported on first use
    release, ours = median(lambda: synthesize(table), times)
    print(f"understudy: {ours}, encoding to decoding, median of {times}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peer.parquet"
        try:
            answer = _peers.run(peer, script, source, out, times=peer_times)
        except _peers.Absent as reason:
            print(reason)
            return
        other = conforming(out, table)
    theirs = Took(answer["wall"], answer["cpu"])
    print(f"{peer}: {theirs}, best of {peer_times}")
    print(verdict(f"times as fast as {peer}", theirs.wall / ours.wall, FASTER, least=True))
    print(f"   in processor seconds {theirs.cpu / ours.cpu:.1f} times as fast")
    found, _ = timed(lambda: scores(table, {"understudy": release, peer: other}))
    for place, kind in enumerate(("tree", "logit")):
        mine, his = found["understudy"][place].pmse, found[peer][place].pmse
        print(f"pMSE ({kind}): understudy {mine:.5f}, {peer} {his:.5f}")
        print(verdict(f"pMSE ({kind}) as a share of {peer}'s", mine / his, allowed))


def main() -> None:
    source = data("adult.csv")
    if source is None:
        print("synthesis_adult is skipped: no adult.csv (name its folder in UNDERSTUDY_DATA)")
        return
    compare(source, "synthpop-py", "synthpop_py.py", allowed=1.1)


if __name__ == "__main__":
    main()
