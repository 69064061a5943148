"""Trials on disk: whole lines, the right run, numbers bit by bit."""

import json
import stat
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.errors import InputError, PlanError
from understudy.plans.plan import Plan
from understudy.plans.tuning import Tuning
from understudy.study.free import Parameter
from understudy.study.trial import Bench, Outcome
from understudy.study.tune import Trial
from understudy.trials import TrialLog, kept_seed, key_of, parsed

FREE = (
    Parameter("a,b.min_leaf", (0,), "min_leaf", 2, 9, whole=True),
    Parameter("x.C", (1,), "C", 0, 1),
)
GOOD = Trial(1, 1, (7, 0.1 + 0.2), Outcome(1 / 3, 0.1, 1.0, 0.5))
BAD = Trial(1, 2, (3, 1e-300), Outcome(why='plan key "C": got\n3, expected less'))
PLAN = Plan.from_dict({
    "measures": ["copies"],
    "gates": {"names": ["copies"]},
    "calibrate": False,
    "tune": {"seeds": 1, "trials": 3, "first": 2, "replicates": 4, "pairs": 4, "fresh": 1},
})  # fmt: skip


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    age = rng.integers(18, 90, 240)
    return pa.table({"age": age, "sex": np.where(rng.random(240) < age / 108, "f", "m")})


def same(one, two):
    return repr(one) == repr(two)  # NaN is not equal to itself


def test_trials_come_back_bit_by_bit(tmp_path):
    log = TrialLog(tmp_path, "key", 2**100)
    assert log.known() == ()
    log.add(FREE, [GOOD])
    log.add(FREE, [BAD])
    assert same(log.known(), (GOOD, BAD))
    assert kept_seed(tmp_path) == 2**100
    assert stat.S_IMODE(log.place.stat().st_mode) == 0o700
    assert stat.S_IMODE((log.place / "seed").stat().st_mode) == 0o600
    log.remove()
    assert not list(tmp_path.iterdir()) and kept_seed(tmp_path) is None


def test_half_a_line_is_no_trial_and_is_written_over(tmp_path):
    log = TrialLog(tmp_path, "key", 1)
    log.add(FREE, [GOOD])
    with (log.place / "trials.csv").open("a") as file:
        file.write("1,2,3,0.")
    assert same(log.known(), (GOOD,))
    log.add(FREE, [BAD])
    assert same(log.known(), (GOOD, BAD))


def test_trials_of_another_run_are_refused(tmp_path):
    TrialLog(tmp_path, "key", 1).add(FREE, [GOOD])
    with pytest.raises(InputError, match="another plan, table or seed"):
        TrialLog(tmp_path, "other", 1).known()


def test_the_key_is_of_plan_rows_and_seed(people):
    train = people("mixed", 60, 20, 3).train
    keys = {
        key_of(Plan(), train, 1),
        key_of(Plan(), train, 2),
        key_of(Plan(tune=Tuning()), train, 1),
        key_of(Plan(), train.take(np.arange(59)), 1),
        key_of(Plan(), replace(train, codes={**train.codes, "sex": train.codes["sex"] + 1}), 1),
    }
    assert len(keys) == 5 and key_of(Plan(), train, 1) in keys


def test_a_tuning_writes_its_files_and_leaves_nothing_else(table, tmp_path):
    tuned = api.tune(table, tmp_path / "out", PLAN, seed=5, jobs=1)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"private"}
    private = tmp_path / "out" / "private"
    assert {p.name for p in private.iterdir()} == {
        "plan.toml", "trials.csv", "summaries.json", "report.html", "seed", "run.log",
    }  # fmt: skip
    assert Plan.read(private / "plan.toml") == tuned.plan
    lines = (private / "trials.csv").read_text().splitlines()
    assert len(lines) == 4 and sum(line.endswith(",chosen") for line in lines) == 2  # and a head
    page = (private / "report.html").read_text()
    assert "How strengths were found" in page and "Tuned" in page
    assert json.loads((private / "summaries.json").read_text())["tuning"]["trials"]


class Stop(Exception):
    """Stands for Ctrl-C."""


def stopped(after):
    """Progress that stops the run after so many trials."""

    def watch(stage):
        if stage.startswith("tune ") and int(stage.split()[1]) >= after:
            raise Stop

    return watch


def test_what_was_stopped_goes_on(table, tmp_path, monkeypatch):
    """Seed and trials are taken up; the plan is the same as if nothing had happened."""
    whole = api.tune(table, tmp_path / "whole", PLAN, seed=2**70 + 1, jobs=1)
    out = tmp_path / "out"
    with pytest.raises(Stop):
        api.tune(table, out, PLAN, seed=2**70 + 1, jobs=1, progress=stopped(2))
    assert {p.name for p in out.iterdir()} == {".tuning"}
    with pytest.raises(InputError, match="unfinished tuning"):
        api.tune(table, out, PLAN, seed=7, jobs=1)
    again = api.tune(table, out, PLAN, jobs=1)  # the seed is in the folder
    assert same(again.trials, whole.trials) and again.plan == whole.plan
    names = ("plan.toml", "trials.csv", "summaries.json", "seed")
    for name in names:
        one, two = (folder / "private" / name for folder in (out, tmp_path / "whole"))
        assert one.read_bytes() == two.read_bytes(), name
    assert {p.name for p in out.iterdir()} == {"private"}


def test_stopped_before_the_first_trial_leaves_nothing(table, tmp_path):
    def watch(stage):
        raise Stop

    with pytest.raises(Stop):
        api.tune(table, tmp_path / "out", PLAN, seed=5, jobs=1, progress=watch)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("there", [False, True])
def test_where_every_trial_failed_nothing_is_left(table, tmp_path, monkeypatch, there):
    """There is nothing to go on with; another plan may have the folder at once."""
    out = tmp_path / "out"
    if there:
        out.mkdir()
    with monkeypatch.context() as patched:
        failed = lambda self, trials, **_: [Outcome(why="no") for _ in trials]  # noqa: E731
        patched.setattr(Bench, "outcomes", failed)
        with pytest.raises(PlanError, match="all failed"):
            api.tune(table, out, PLAN, seed=5, jobs=1)
    assert out.exists() == there and not list(tmp_path.glob("out/*"))
    assert api.tune(table, out, replace(PLAN, name="other"), seed=6, jobs=1).trials


def test_a_release_is_tuned_on_train_alone(table, tmp_path):
    """Holdout rows that change everything but the holdout change no trial."""
    outcome = api.release(table, tmp_path / "a", PLAN, seed=5, tune=True, trials=2, trial=True)
    assert outcome.released
    tuned = Plan.read(tmp_path / "a" / "private" / "plan.toml")
    assert all(visit.settings.get("min_leaf") != "auto" for visit in tuned.visits)
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"private", "release"}
    assert len((tmp_path / "a" / "private" / "trials.csv").read_text().splitlines()) == 3
    texts = []
    for name, rows in (("b", slice(200, 220)), ("c", slice(220, 240))):
        held = table.take(np.arange(240)[rows])
        api.release(
            table.slice(0, 200), tmp_path / name, PLAN, seed=5, tune=True, trials=2, trial=True,
            holdout=held, force=True,
        )  # fmt: skip
        texts.append((tmp_path / name / "private" / "trials.csv").read_text())
    assert texts[0] == texts[1]


def test_a_budget_without_tuning_is_refused(table, tmp_path):
    with pytest.raises(InputError, match="--tune"):
        api.release(table, tmp_path / "out", PLAN, trials=3)


def test_nothing_to_read_is_nothing_known():
    assert parsed("") == ()
