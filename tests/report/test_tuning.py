"""What the page shows of a tuning: picked, ordered, written out; never computed."""

from __future__ import annotations

from typing import Any

import pytest
from report_sample import findings

from understudy.report import page
from understudy.report.tuning import search
from understudy.results import Findings


def trial(number: int, loss: float | None, share: float, why: str = "") -> dict[str, Any]:
    value = {"<b>age.min_leaf": 7 * number}
    made = {"number": 1.1, "error": 0.1, "reference": 1.0, "share": share, "limited": share}
    place = {"search": 1, "trial": number, "values": value}
    return {**place, **made, "why": why, "loss": loss}


def found(**changes: Any) -> dict[str, Any]:
    trials = [trial(1, 0.04, 0.5), trial(2, None, 0.6, "refused"), trial(3, 0.01, 0.52)]
    return {
        "objective": "(24)",
        "goal": "ratio",
        "rows": 1200,
        "of": 2500,
        "exact": True,
        "kept": True,
        "free": [{"path": "<b>age.min_leaf", "low": 2, "high": 600}],
        "ceiling": {"measure": "dcr.share", "most": 0.51},
        "trials": trials,
        "running": [
            {"search": 1, "trial": 1, "best": 0.04},
            {"search": 1, "trial": 3, "best": 0.01},
        ],
        "chosen": trials[2],
        "again": [{"number": 1.05}, {"number": None}, {"number": 1.2}],
        **changes,
    }  # fmt: skip


def test_no_tuning_no_section() -> None:
    assert search({}) is None
    assert "How strengths were found" not in page(findings(), {})


def test_trials_are_points_and_rows_and_one_is_marked() -> None:
    view = search(found())
    assert view is not None
    assert [point["kind"] for point in view.points] == ["trial", "chosen"]  # one failed
    assert [row[-1] for row in view.trials] == ["", "refused", "chosen"]
    assert view.chosen == (("<b>age.min_leaf", "21", "2 to 600"),)
    text = " ".join(view.sentences)
    assert "3 trials in 1 search, 1 of which failed" in text
    assert "1,200 of train’s 2,500 rows" in text
    assert "2 fresh seeds: 1.05, 1.2" in text
    assert "with mean pMSE ratio at 1.1" in text and "mean pMSE ratio" in view.header
    assert "It keeps dcr.share at or below 0.51: 0.52." in text  # as the trial says
    assert "No trial kept" not in text and "clock" not in text
    assert "dcr.share" not in " ".join(search(found(ceiling=None)).sentences)


@pytest.mark.parametrize(
    "change, said",
    [({"kept": False}, "No trial kept dcr.share at or below 0.51"), ({"exact": False}, "clock")],
)
def test_what_went_otherwise_is_said(change: dict[str, Any], said: str) -> None:
    view = search(found(**change))
    assert view is not None and said in " ".join(view.sentences)


def test_the_page_draws_both_charts_and_takes_any_name() -> None:
    html = page(findings(), {"tuning": found()})
    assert html.count('data-chart="spec-tuning-running"') == 1
    assert html.count('data-chart="spec-tuning-map"') == 1
    assert "<b>age" not in html


def test_a_tuning_alone_is_a_page_that_judges_nothing() -> None:
    html = page(Findings("00", {}, (), (), {"job": "tune", "plan": "x"}), {"tuning": found()})
    assert "nothing was released and nothing judged" in html
