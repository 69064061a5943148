"""The first screen: the right word for each outcome, and who was left out."""

from __future__ import annotations

from typing import Any

import pytest
from report_sample import HOSTILE, finding, findings, summaries

from understudy.report.judged import gates
from understudy.report.numbers import count, interval, number
from understudy.report.summarize import View, summarize
from understudy.results import Verdict


def view(provenance: dict[str, Any] | None = None, **verdicts: Verdict) -> View:
    return summarize(findings(provenance=provenance, **verdicts).to_json(), summaries())


@pytest.mark.parametrize(
    ("provenance", "verdict", "state"),
    [
        ({}, Verdict.HOLDS, "released"),
        ({}, Verdict.UNDECIDED, "released"),
        ({"strict": True}, Verdict.UNDECIDED, "withheld"),
        ({}, Verdict.FAILS, "withheld"),
        ({}, Verdict.NOT_MEASURED, "withheld"),
        ({"job": "assess"}, Verdict.HOLDS, "assessment"),
        ({"job": "assess"}, Verdict.FAILS, "assessment-fails"),
        ({"outcome": {"state": "forced", "reasons": ["it fails"]}}, Verdict.FAILS, "forced"),
        ({"outcome": {"state": "withheld", "reasons": ["short seed"]}}, Verdict.HOLDS, "withheld"),
    ],
)
def test_the_banner_says_what_became_of_it(
    provenance: dict[str, Any], verdict: Verdict, state: str
) -> None:
    assert view(provenance, ims=verdict).banner.state == state


def test_a_withheld_release_names_the_gate_the_numbers_and_the_remedy() -> None:
    (reason,) = view(ims=Verdict.FAILS).banner.reasons
    assert reason.startswith("ims fails: 20% where the reference is 19%")
    assert "higher by 2 points" in reason
    assert "min_leaf" in reason


def test_an_assessment_gives_no_advice_about_a_synthesis_that_is_not_ours() -> None:
    (reason,) = view({"job": "assess"}, ims=Verdict.FAILS).banner.reasons
    assert "min_leaf" not in reason


def test_gates_lost_for_one_reason_are_named_together() -> None:
    lost = view(ims=Verdict.NOT_MEASURED, copies=Verdict.NOT_MEASURED).banner.reasons
    assert [one.strip() for one in lost] == ["ims, copies could not be measured."]


def test_no_sentence_of_success_stands_beside_a_failure() -> None:
    assert "No gate fails" not in view(ims=Verdict.FAILS).banner.sentence
    told = {"outcome": {"state": "forced", "reasons": ["r"]}}
    assert "No gate fails" not in view(told, ims=Verdict.FAILS).banner.sentence


def test_the_gates_are_counted() -> None:
    said = view(ims=Verdict.UNDECIDED, copies=Verdict.UNDECIDED).banner.sentence
    assert said == "No gate fails. Of 6 gates, 4 hold and 2 are undecided."


def test_attackers_without_a_measure_are_named_as_not_tested() -> None:
    seen = view()
    untested = " ".join(one.who + one.does for one in seen.untested)
    for word in ("sensitive", "membership", "singling out", "linkab", "inference"):
        assert word in untested
    assert len(seen.tested) == 3
    assert seen.sensitive == ("<script>alert(1)</script>",)


def test_an_attacker_whose_measure_could_not_run_was_not_tested() -> None:
    seen = view(uniques_replicated=Verdict.NOT_MEASURED)
    assert any("quasi" in one.who for one in seen.untested)


def test_of_several_replicates_the_worst_stands_for_the_gate() -> None:
    rows = [
        finding("ims", verdict, gate=True, replicate=number)
        for number, verdict in ((1, Verdict.HOLDS), (2, Verdict.FAILS), (0, Verdict.UNDECIDED))
    ]
    (gate,) = gates([row.to_json() for row in rows], 2)
    assert gate.worst.which == "replicate 2"
    assert [row.which for row in gate.rows][-1] == "all replicates pooled"


def test_the_calibration_puts_every_case_on_one_axis() -> None:
    cases = {item["case"]: item["value"] for item in view().gates[0].scale}
    assert cases == {
        "This release": 0.2,
        "Held-out reference": 0.19,
        "Copy of train": 1.0,
        "Fresh people (held out)": 0.19,
        "Columns shuffled": 0.0,
    }


def test_clusters_that_hold_for_all_and_fail_for_a_mark_are_a_failure() -> None:
    (use,) = [one for one in view().uses if one.title == "Clusters of people on the map"]
    assert use.state == "fails"
    assert use.sentence == (
        "Largest difference of L: 0.2 (0.19 to 0.21); 0.19 by chance. "
        f"Off for marks: {HOSTILE[0]}: level 1."
    )


def test_an_undecided_gate_says_what_would_decide() -> None:
    one = finding("ims", Verdict.UNDECIDED, gate=True, note="a; about 6.6 times would decide")
    (gate,) = gates([one.to_json()], 1)
    assert gate.worst.why == "About 6.6 times would decide."


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [
        (0.85838, True, "85.8%"),
        (0.0003, True, "0.03%"),
        (1.0, True, "100%"),
        (-0.036, True, "−3.6%"),
        (-1e-17, True, "0%"),
        (0.67604, False, "0.676"),
        (12345.6, False, "12,346"),
        (0.0, False, "0"),
        (1e-5, False, "1e-05"),
        (100.0, False, "100"),
        (float("nan"), False, "–"),
        (None, True, "–"),
    ],
)
def test_numbers_are_written_with_the_digits_that_count(
    value: float | None, share: bool, text: str
) -> None:
    assert number(value, share=share) == text


def test_intervals_and_counts() -> None:
    assert interval(-0.01, 0.02, share=True, signed=True) == "−1% to +2%"
    assert interval(None, 1.0) == interval(float("nan"), 1.0) == ""
    assert [count(1, "row"), count(6712, "row"), count(None, "row")] == [
        "1 row",
        "6,712 rows",
        "– rows",
    ]


def test_of_replicates_that_fail_alike_the_furthest_off_stands_for_the_gate() -> None:
    values = {1: 0.61, 2: 0.63, 0: 0.62}
    rows = [
        finding("ims", Verdict.FAILS, gate=True, replicate=number, value=value).to_json()
        for number, value in values.items()
    ]
    assert gates(rows, 2)[0].worst.which == "replicate 2"
    turned = [item | {"better": "higher"} for item in rows]
    assert gates(turned, 2)[0].worst.which == "replicate 1"


def test_each_gate_that_fails_is_told_once_and_the_remedy_once() -> None:
    told = [f"gate ims on replicate {n} fails: 0.61; raise min_leaf" for n in (1, 2)]
    outcome = {"state": "withheld", "reasons": ["the seed is short", *told]}
    said = view(
        {"outcome": outcome}, ims=Verdict.FAILS, dcr_share=Verdict.FAILS, copies=Verdict.FAILS
    ).banner.reasons
    assert said[0] == "the seed is short"
    assert [one.split()[0] for one in said[1:]] == ["ims", "dcr.share", "copies"]
    assert [one.count("min_leaf") for one in said[1:]] == [0, 1, 0]
    assert "never release a copy" in said[3]


def test_an_assessment_answers_in_its_heading() -> None:
    assert view({"job": "assess"}, ims=Verdict.FAILS).banner.word == "Do not release"
    assert view({"job": "assess"}).banner.word == "No gate fails"
