"""CART synthesis of adult.csv against SDV's Gaussian copula."""

from __future__ import annotations

from benchmarks._synthesis import data
from benchmarks.synthesis_adult import compare


def main() -> None:
    source = data("adult.csv")
    if source is None:
        print("peers_adult is skipped: no adult.csv (name its folder in UNDERSTUDY_DATA)")
        return
    compare(source, "sdv", "sdv_copula.py", allowed=1.0)


if __name__ == "__main__":
    main()
