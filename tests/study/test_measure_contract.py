"""What every measure promises. A new line in `risk.MEASURES` or `utility.MEASURES` is tested too.

A release may look like anything: each case gives findings with a number, or with a verdict and
its reason; never an exception, and never a pass because nothing ran.
"""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy.evidence import Evidence
from understudy.plans.plan import Gates, Plan
from understudy.results import Finding, Findings, Verdict
from understudy.study import MEASURES, Gating
from understudy.study.judge import judge_all, measures_of
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Role
from understudy.tables.table import Table

GATING = Gating(Gates().names)
SILENT = {Verdict.NOT_APPLICABLE, Verdict.NOT_MEASURED}
everywhere = pytest.mark.parametrize("measure", sorted(MEASURES))


def evidence_of(table, *others, held=40, **settings):
    """Evidence with the given synthetic tables (or a resample of train) and a holdout."""
    encoding = fit_encoding(table)
    rng = np.random.default_rng(1)
    halves = [encoding.encode(table.take(rng.integers(table.rows, size=held // 2))) for _ in "ab"]
    release = others or (table.take(rng.integers(table.rows, size=table.rows)),)
    blocks = tuple(encoding.encode(other) for other in release)
    return Evidence(encoding.encode(table), *halves, blocks, **settings)


def judged(evidence, measure, **settings):
    return judge_all(evidence, measures_of(Plan(measures=(measure,))), GATING, seed=1, **settings)


def plain(found):
    """Findings as JSON without their timings, and the summaries."""
    findings, summaries = found
    items = [replace(finding, seconds=0.0).to_json() for finding in findings]
    return json.dumps([items, summaries], allow_nan=False, sort_keys=True)


def renamed(table, **levels):
    """The table with other levels in some columns."""
    arrays = {n: pa.array([levels[n]] * table.rows) if n in levels else table.column(n)
              for n in table.names}  # fmt: skip
    return Table(pa.table(arrays), table.schema)


def cases(make):
    """Tables as they come: name → evidence."""
    mixed, small = make.mixed(200), make.mixed(50)
    numbers = make.numbers(np.random.default_rng(1).normal(size=60).tolist())
    kept = mixed.with_schema(mixed.schema.update({n: {"role": "keep"} for n in mixed.names}))
    return {
        "mixed": evidence_of(mixed),
        "fifty rows": evidence_of(small, held=16),
        "one number": evidence_of(numbers),
        "one level": evidence_of(make.levels(a=["x"] * 60)),
        "one binary column": evidence_of(make.levels(a=["x", "y", "y"] * 20)),
        "all missing": evidence_of(make.mixed(60, names=["gone", "empty"])),
        "constant": evidence_of(make.mixed(60, names=["constant", "same"])),
        "unseen levels": evidence_of(small, renamed(small, sex="?", grade="never seen")),
        "replicates of different sizes": evidence_of(mixed, make.mixed(90, 2), make.mixed(300, 3)),
        "one row": evidence_of(mixed, make.mixed(1, 2)),
        "no rows": evidence_of(mixed, mixed.take(np.zeros(0, dtype=np.int64))),
        "no holdout": evidence_of(mixed, held=0),
        "all kept": evidence_of(kept),
        "huge against tiny": evidence_of(small, make.mixed(2000, 2), held=8),
    }


CASES = (
    "mixed", "fifty rows", "one number", "one level", "one binary column", "all missing",
    "constant", "unseen levels", "replicates of different sizes", "one row", "no rows",
    "no holdout", "all kept", "huge against tiny",
)  # fmt: skip


@everywhere
def test_the_class_says_what_it_is(measure):
    kind = MEASURES[measure]
    assert kind.about in ("risk", "utility") and kind.names
    others = [name for other in MEASURES.values() if other is not kind for name in other.names]
    assert not set(kind.names) & set(others)


@everywhere
@pytest.mark.parametrize("case", CASES)
def test_every_release_gets_an_answer(make, measure, case):
    evidence = cases(make)[case]
    findings, summaries = judged(evidence, measure)
    answered = {finding.estimate.measure for finding in findings}
    assert answered >= set(MEASURES[measure].names)
    for finding in findings:
        estimate = finding.estimate
        if finding.verdict in SILENT:
            assert estimate.note, f"{estimate.measure} is {finding.verdict} without a reason"
        else:
            assert all(map(math.isfinite, (estimate.value, *estimate.gap(), estimate.margin)))
        if finding.verdict is Verdict.HOLDS and estimate.measure != "marginal.distance":
            assert case not in ("no rows", "all kept", "all missing", "constant", "one level")
    text = json.dumps([f.to_json() for f in findings] + [summaries], allow_nan=False)
    back = [Finding.from_json(item) for item in json.loads(text)[:-1]]
    assert [f.to_json() for f in back] == [f.to_json() for f in findings]


@everywhere
def test_nothing_that_varies_is_not_a_failure(make, measure):
    """A constant table has no one to find and nothing to lose: it is not blocked, with a reason."""
    findings, _ = judged(cases(make)["constant"], measure)
    own = [f for f in findings if f.estimate.measure in MEASURES[measure].names]
    allowed = {Verdict.NOT_APPLICABLE, Verdict.UNDECIDED}
    # A constant that stays the same constant is what the original had.
    assert {f.verdict for f in own} <= allowed | (
        {Verdict.HOLDS} if measure == "marginals" else set()
    )


@everywhere
def test_the_same_stream_gives_the_same_numbers(make, measure):
    evidence = cases(make)["replicates of different sizes"]
    assert plain(judged(evidence, measure)) == plain(judged(evidence, measure))


@everywhere
def test_results_do_not_depend_on_the_map(make, measure):
    evidence = cases(make)["mixed"]
    with ThreadPoolExecutor(3) as pool:
        assert plain(judged(evidence, measure, map_=pool.map)) == plain(judged(evidence, measure))


@everywhere
def test_input_is_not_written_to(make, measure):
    evidence = cases(make)["mixed"]
    for block in (evidence.train, evidence.control, evidence.fresh, *evidence.release):
        make.frozen(block)
    judged(evidence, measure)


@everywhere
def test_rows_of_a_release_have_no_order(make, measure):
    """Reversed rows give the same point estimates, where nothing is thinned or permuted."""
    evidence = cases(make)["mixed"]
    (block,) = evidence.release
    turned = replace(evidence, release=(block.take(slice(None, None, -1)),))
    skip = ("pmse.cart", "pmse.cart.ratio", "pmse.logit.ratio")
    for one, other in zip(judged(evidence, measure)[0], judged(turned, measure)[0], strict=True):
        if one.estimate.measure not in skip and one.verdict not in SILENT:
            assert one.estimate.value == pytest.approx(other.estimate.value, abs=1e-6)


@everywhere
def test_kept_columns_and_weights_are_left_out(make, measure):
    table = make.mixed(120, names=["sex", "age", "income", "grade"])
    roles = {"age": {"role": "keep"}, "income": {"role": "weight"}}
    evidence = evidence_of(table.with_schema(table.schema.update(roles)))
    assert evidence.drawn == ("sex", "grade")
    assert evidence.encoding.schema["age"].role is Role.KEEP
    fewer = evidence_of(table.select(["sex", "grade"]))
    skip = {"replicate", "seconds", "calibration"}
    one, other = (
        [{k: v for k, v in f.to_json().items() if k not in skip} for f in judged(e, measure)[0]]
        for e in (evidence, fewer)
    )
    assert [item["value"] for item in one] == [item["value"] for item in other]


def test_findings_are_json(make):
    found = judge_all(cases(make)["one number"], measures_of(Plan()), GATING, seed=1)[0]
    findings = Findings("0", {}, found)
    again = Findings.from_json(json.loads(findings.dumps()))
    assert again.dumps() == findings.dumps() and len(again.failed()) == len(findings.failed())
