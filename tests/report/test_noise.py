"""The curve of the ECAP in the report: what is picked, and what is said of it."""

from __future__ import annotations

from typing import Any

from understudy.report.charts_disclosure import lines
from understudy.report.noise import membership


def column(**changes: Any) -> dict[str, Any]:
    claims = {"precision": 0.7, "recall": 0.5, "f1": 0.58333, "naive": 0.66667}
    return {
        "column": "age",
        "bound": 0.2,
        "size": 60_000,
        "sample": 600,
        "sigma": 0.5,
        "bottom": None,
        "top": 65.0,
        "elbow": 0.25,
        "covered": True,
        "sigmas": [0.0, 0.25, 0.5],
        "curve": [1.0, 0.4, 0.2],
        "median": [0.5, 0.1, 0.05],
        "sizes": [{"size": 6000, "curve": [1.0, 0.9, 0.8]}, {"size": 60_000, "curve": [1, 1, 1]}],
        "claims": {"balanced": claims},
        **changes,
    }


def test_curve_bound_and_chosen_noise_are_drawn() -> None:
    (found,) = membership([column()])
    drawn = [(p["x"], p["y"]) for p in found.points if p["line"] == 0]
    assert drawn == [(0.0, 1.0), (0.25, 0.4), (0.5, 0.2)]
    assert {p["x"] for p in found.points if p["table"] == "Held out"} == {0.5}
    assert found.ceiling == [{"x": 0.0, "y": 0.2}, {"x": 0.5, "y": 0.2}]
    assert found.header == ("Noise", "Largest", "Middle", "Largest, N = 6,000")
    assert len(found.rows) == 3 and all(len(row) == len(found.header) for row in found.rows)
    assert lines(found)["data"]["values"] == found.points


def test_what_is_said_fits_what_was_done() -> None:
    (found,) = membership([column()])
    assert "600 of 60,000 people are in the sample" in found.said
    assert "Numbers above 65 are set to that" in found.said and "elbow at 0.25" in found.said
    assert "would get an F1 of 0.583" in found.said
    (bare,) = membership([column(covered=False, top=None, elbow=0.0)])
    assert "No noise was added" in bare.said and "set to that" not in bare.said
    assert "elbow" not in bare.said
    (none,) = membership([column(sigma=0.0)])
    assert "No noise is needed" in none.said
    assert membership([]) == ()
