"""Verdicts, and results that go to JSON and come back."""

import json
import math

import pytest

from understudy.results import Better, Estimate, Finding, Findings, Verdict, worst

HIGHER, LOWER, EQUAL = Better.HIGHER, Better.LOWER, Better.REFERENCE
HOLDS, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED


def estimate(low, high, better, margin=0.1, reference=1.0, **more):
    return Estimate("m", (low + high) / 2, low, high, reference, better, margin, **more)


@pytest.mark.parametrize(
    "low, high, better, verdict",
    [
        # the reference is 1, the margin 0.1
        (1.2, 1.4, HIGHER, HOLDS),
        (0.95, 1.4, HIGHER, HOLDS),
        (0.89, 1.4, HIGHER, UNDECIDED),
        (0.5, 0.95, HIGHER, UNDECIDED),
        (0.5, 0.89, HIGHER, FAILS),
        (0.6, 0.8, LOWER, HOLDS),
        (0.6, 1.05, LOWER, HOLDS),
        (0.6, 1.11, LOWER, UNDECIDED),
        (1.05, 1.4, LOWER, UNDECIDED),
        (1.11, 1.4, LOWER, FAILS),
        (0.95, 1.05, EQUAL, HOLDS),
        (1.02, 1.05, EQUAL, HOLDS),
        (0.8, 1.05, EQUAL, UNDECIDED),
        (0.95, 1.2, EQUAL, UNDECIDED),
        (0.5, 1.5, EQUAL, UNDECIDED),
        (1.05, 1.2, EQUAL, UNDECIDED),
        (1.11, 1.2, EQUAL, FAILS),
        (0.8, 0.89, EQUAL, FAILS),
        (1.0, 1.0, HIGHER, HOLDS),
        (1.0, 1.0, LOWER, HOLDS),
        (1.0, 1.0, EQUAL, HOLDS),
        (math.nan, 1.0, HIGHER, Verdict.NOT_MEASURED),
        (1.0, math.nan, LOWER, Verdict.NOT_MEASURED),
        (1.0, math.inf, EQUAL, Verdict.NOT_MEASURED),
    ],
)
def test_verdict(low, high, better, verdict):
    assert estimate(low, high, better).verdict() is verdict


@pytest.mark.parametrize("better", list(Better))
def test_mirror(better):
    """Higher is better for x where lower is better for −x; 'equal' does not mind the sign."""
    mirrored = {HIGHER: LOWER, LOWER: HIGHER, EQUAL: EQUAL}[better]
    for low in (-1.0, -0.2, -0.05, 0.0, 0.05, 0.2):
        for width in (0.0, 0.04, 0.3):
            one = estimate(low, low + width, better, reference=0.0)
            other = estimate(-low - width, -low, mirrored, reference=0.0)
            assert one.verdict() is other.verdict()


def test_an_interval_of_the_gap_counts_before_the_two_ends():
    """Value and reference that share rows: their difference is known better than each."""
    wide = estimate(0.0, 2.0, HIGHER)
    assert wide.verdict() is UNDECIDED
    assert wide.gap() == (-1.0, 1.0)
    paired = estimate(0.0, 2.0, HIGHER, gap_low=-0.05, gap_high=0.05)
    assert paired.verdict() is HOLDS
    assert estimate(0.0, 2.0, HIGHER, gap_low=-0.3, gap_high=-0.2).verdict() is FAILS


@pytest.mark.parametrize("margin", [math.nan, math.inf])
def test_without_a_margin_nothing_is_measured(margin):
    assert estimate(0.9, 1.1, HIGHER, margin=margin).verdict() is Verdict.NOT_MEASURED


def test_a_reference_that_is_not_a_number_is_not_measured():
    assert estimate(0.9, 1.1, HIGHER, reference=math.nan).verdict() is Verdict.NOT_MEASURED


@pytest.mark.parametrize(
    "verdicts, most_severe",
    [
        ([], Verdict.NOT_APPLICABLE),
        ([HOLDS, Verdict.NOT_APPLICABLE], HOLDS),
        ([HOLDS, UNDECIDED], UNDECIDED),
        ([UNDECIDED, Verdict.NOT_MEASURED], Verdict.NOT_MEASURED),
        (list(Verdict), FAILS),
    ],
)
def test_worst(verdicts, most_severe):
    assert worst(verdicts) is most_severe


def finding(verdict=None, gate=False, **more):
    one = estimate(0.5, 0.8, HIGHER, **more)
    return Finding(one, verdict or one.verdict(), gate, {"copy": 0.0, "fresh": math.nan}, 0.12345)


def findings(*items):
    tables = {"train": {"rows": 600, "columns": 26}, "synthetic": [{"rows": 600}]}
    return Findings(
        "ab" * 32, tables, items, ({"protection": "filter", "dropped": 3},), {"seed": 1}
    )


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("gate", [True, False])
def test_gates_block(verdict, gate):
    """Only gates block; 'undecided' only where the plan is strict."""
    all_ = findings(finding(HOLDS, gate=True), finding(verdict, gate=gate))
    blocks = gate and verdict in (FAILS, Verdict.NOT_MEASURED)
    assert len(all_.failed()) == blocks
    assert len(all_.failed(strict=True)) == (blocks or (gate and verdict is UNDECIDED))


def test_json_and_back():
    text = findings(finding(target="âge", replicate=2, note="why"), finding(gap_low=-0.1)).dumps()
    again = Findings.from_json(json.loads(text))
    assert again.dumps() == text
    assert again.findings[0].estimate.target == "âge"
    assert again.findings[0].estimate.verdict() is again.findings[0].verdict


def test_json_has_the_keys_of_the_contract():
    item = json.loads(findings(finding()).dumps())
    assert {"schema", "understudy", "plan_sha256", "tables", "findings"} <= set(item)
    assert item["schema"] == 1
    promised = (
        "measure target replicate value low high reference better verdict margin gate calibration"
        " seconds note"
    )
    assert set(promised.split()) <= set(item["findings"][0])


def test_what_is_no_number_becomes_null():
    nothing = Estimate("m", math.nan, -math.inf, math.inf, math.nan, HIGHER, 0.1)
    text = findings(Finding(nothing, nothing.verdict())).dumps()
    assert "NaN" not in text and "Infinity" not in text
    (item,) = json.loads(text)["findings"]
    assert [item[key] for key in ("value", "low", "high", "reference")] == [None] * 4
    back = Findings.from_json(json.loads(text)).findings[0]
    assert math.isnan(back.estimate.value) and back.verdict is Verdict.NOT_MEASURED


def test_findings_hold_aggregates_and_never_rows():
    """One finding is single numbers and words: nothing in it could carry a column or a table."""
    for key, value in finding().to_json().items():
        assert value is None or isinstance(value, str | int | float | bool) or key == "calibration"
    assert all(isinstance(v, float | None) for v in finding().to_json()["calibration"].values())


def test_with_gate():
    plain = finding()
    assert plain.with_gate(True).gate and not plain.gate
    assert plain.with_gate(False) == plain
