"""The report: numbers are collected by then; drawing never computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.results import Findings


def page(
    findings: Findings, summaries: Mapping[str, Any], points: Mapping[str, Any] | None = None
) -> str:
    """The private report as one self-contained HTML page.

    It is drawn from what findings.json and summaries.json hold, never from rows; with one declared
    exception: points on a map, for the owner of the table alone.

    Args:
        findings: the verdicts and all numbers.
        summaries: curves and histograms.
        points: the map's points, if there is one and the plan shows it.

    Example:
        >>> page(Findings("00", {}, ()), {}).startswith("<!doctype html>")
        True
    """
    from understudy.report.render import render
    from understudy.report.summarize import summarize

    return render(summarize(findings.to_json(), summaries, points))
