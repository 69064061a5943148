"""From estimates to verdicts: blindness, size, absence, the family of tests."""

import math

import numpy as np
import pytest

from understudy.errors import PlanError
from understudy.evidence import Evidence, Judge, Measure
from understudy.plans.plan import Gates, Plan
from understudy.results import Better, Estimate, Finding, Findings, Verdict
from understudy.study.judge import Gating, judge_all, known_cases, measures_of, would_decide


class Says(Judge):
    """Answers with a gap for train itself and another for anything else."""

    def __init__(self, evidence, copy, other):
        self.evidence, self.copy, self.other = evidence, copy, other

    def estimates(self, release, *, rng, map_=map):
        low, high = self.copy if release is self.evidence.train else self.other
        return [Estimate("copies", (low + high) / 2, low, high, 0.0, Better.LOWER, 0.1)]


@pytest.fixture
def verdict(make):
    block = make.encoded(make.numbers(np.arange(40.0).tolist()))
    other = block.take(slice(None, None, -1))

    def judged(copy, release):
        class Fake(Measure):
            names = ("copies",)

            def prepare(self, evidence, *, rng, map_=map):
                return Says(evidence, copy, release)

        (found,), _ = judge_all(
            Evidence(block, other, other, (other,)), {"copies": Fake()}, Gating(("copies",)), seed=1
        )
        return found

    return judged


COPY = (0.8, 0.9)
BLIND = (-0.05, 0.05)


@pytest.mark.parametrize(
    "copy, release, expected, says",
    [
        (COPY, (-0.05, 0.05), Verdict.HOLDS, ""),
        (BLIND, (-0.05, 0.05), Verdict.UNDECIDED, "blind on this table: even a copy of train"),
        (BLIND, (-0.05, 0.15), Verdict.UNDECIDED, "blind on this table"),
        (BLIND, (0.2, 0.3), Verdict.FAILS, ""),
        (COPY, (0.0, 0.15), Verdict.UNDECIDED, "times as many rows would decide"),
        (COPY, (0.2, 0.3), Verdict.FAILS, ""),
        (COPY, (math.nan, math.nan), Verdict.NOT_MEASURED, ""),
    ],
)
def test_verdicts(verdict, copy, release, expected, says):
    found = verdict(copy, release)
    assert found.verdict is expected and found.gate and says in found.estimate.note
    assert "would decide" not in found.estimate.note or "blind" not in found.estimate.note


def test_size_that_would_decide():
    # The gap is 0.05 ± 0.1 and the margin 0.1: half the interval is room, so 4 times the rows.
    estimate = Estimate("ims", 0.05, -0.05, 0.15, 0.0, Better.LOWER, 0.1)
    assert would_decide(estimate) == "about 4.0 times as many rows would decide"
    near_edge = Estimate("ims", 0.0999, 0.0, 0.1998, 0.0, Better.LOWER, 0.1)
    assert would_decide(near_edge).startswith("no practical size would decide")
    far = Estimate("ims", 0.08, -0.02, 0.18, 0.0, Better.LOWER, 0.1)
    assert would_decide(far) == "about 25 times as many rows would decide"
    on_edge = Estimate("ims", 0.1, 0.0, 0.2, 0.0, Better.LOWER, 0.1)
    assert "no size would decide" in would_decide(on_edge)


def test_without_a_holdout_what_needs_one_blocks(people):
    world = people("mixed", 100, 40, 60)
    world.control = world.fresh = world.train.take(slice(0))
    found = world.findings(world.draw(100))
    for name in ("ims", "dcr.p05", "nndr.p05", "dcr.share", "uniques.replicated"):
        item = found[name, None]
        assert item.verdict is Verdict.NOT_MEASURED and "no holdout" in item.estimate.note
        assert item in Findings("", {}, (item,)).failed()
    assert found["copies", None].verdict in (Verdict.HOLDS, Verdict.UNDECIDED)


@pytest.mark.parametrize(
    "verdict, plain, strict",
    [
        (Verdict.HOLDS, False, False),
        (Verdict.NOT_APPLICABLE, False, False),
        (Verdict.UNDECIDED, False, True),
        (Verdict.FAILS, True, True),
        (Verdict.NOT_MEASURED, True, True),
    ],
)
def test_what_blocks(verdict, plain, strict):
    estimate = Estimate("ims", 0, 0, 0, 0, Better.LOWER, 1)
    findings = Findings("", {}, (Finding(estimate, verdict, gate=True),))
    assert (bool(findings.failed()), bool(findings.failed(strict=True))) == (plain, strict)
    assert not Findings("", {}, (Finding(estimate, verdict),)).failed(strict=True)


def test_several_gates_and_replicates_share_the_declared_error():
    gating = Gating(Gates().names, error=0.05)
    assert gating.level(1) == pytest.approx(1 - 2 * 0.05 / 8)
    assert gating.level(3) == pytest.approx(1 - 2 * 0.05 / 32)  # three singly and pooled
    assert Gating((), error=0.99).level(1) == 0.0


def test_known_cases(people):
    world = people("mixed", 200, 60, 61)
    cases = known_cases(world.evidence(world.draw(50)), seed=1)
    assert cases["copy"] is world.train and cases["fresh"] is world.fresh
    shuffled = cases["permuted"]
    for name, codes in shuffled.codes.items():
        assert np.array_equal(np.sort(codes), np.sort(world.train.codes[name]))
        assert not np.array_equal(codes, world.train.codes[name])
    for name, values in shuffled.values.items():
        cells = world.encoding[name].cells
        assert np.array_equal(cells.of(values), shuffled.codes[name])


def test_settings_of_measures_come_from_the_plan():
    plan = Plan.from_toml("[measure.attribute]\nc = 4.0\ndeltas = [0.1, 0.2]")
    made = measures_of(plan)["attribute"]
    assert made.c == 4.0 and made.deltas == (0.1, 0.2)
    assert Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize(
    "text, words",
    [
        ("[measure.atribute]\nc = 2.0", ("measure.atribute", "did you mean attribute?")),
        ("[measure.attribute]\nd = 2.0", ("measure.attribute.d", "deltas")),
    ],
)
def test_settings_of_measures_name_what_is_wrong(text, words):
    with pytest.raises(PlanError) as found:
        measures_of(Plan.from_toml(text))
    assert all(word in str(found.value) for word in words)


def test_settings_of_a_measure_are_a_table():
    with pytest.raises(PlanError, match=r"measure\.attribute"):
        Plan.from_toml("measure.attribute = 3")
