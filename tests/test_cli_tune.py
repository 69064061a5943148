"""`understudy tune` and `release --tune` on the command line."""

import json

import numpy as np
import pytest

from understudy.plans.plan import Plan
from understudy.progress import TimeLeft

PLAN = """
measures = ["copies"]
gates.names = ["copies"]
calibrate = false
[tune]
seeds = 2
trials = 3
first = 2
replicates = 4
pairs = 4
fresh = 1
"""


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    """A folder with a table and a plan whose tuning is short."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    age = rng.integers(18, 90, 200)
    sex = np.where(rng.random(200) < age / 108, "f", "m")
    rows = "\n".join(f"{a},{s}" for a, s in zip(age, sex, strict=True))
    (tmp_path / "t.csv").write_text(f"age,sex\n{rows}\n")
    (tmp_path / "p.toml").write_text(PLAN)
    return tmp_path


def test_tune_says_what_was_chosen(command, work):
    ran = command("tune", "t.csv", "--plan", "p.toml", "--out", "out", "--seed", 3)
    assert (ran.status, ran.err) == (0, "")
    first, *_ = ran.out.splitlines()
    assert first.startswith("6 trials, 0 failed; objective ")
    assert "age.min_leaf = " in ran.out and "out/private/plan.toml" in ran.out
    assert Plan.read(work / "out" / "private" / "plan.toml").tune is not None


def test_json_is_all_there_is_on_standard_output(command):
    ran = command("tune", "t.csv", "--plan", "p.toml", "--out", "out", "--trials", 2, "--json")
    found = json.loads(ran.out)
    assert found["trials"] == 4 and set(found["values"]) == {"age.min_leaf"} and not ran.err


def test_release_is_tuned_first(command, work):
    ran = command(
        "release", "t.csv", "--plan", "p.toml", "--out", "out", "--tune", "--trials", 2, "--json"
    )
    assert json.loads(ran.out)["released"] is True
    trials = (work / "out" / "private" / "trials.csv").read_text().splitlines()
    assert len(trials) == 5 and trials[0].startswith("search,trial,age.min_leaf,number")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("release", "t.csv", "--out", "out", "--trials", 3), "add --tune"),
        (("tune", "t.csv", "--out", "out", "--plan", "bad.toml"), "tune.objective"),
        (("tune", "t.csv", "--out", "work"), "already holds a run"),
        (("tune", "t.csv", "--out", "out", "--minutes", 0), "--minutes"),
        (("tune", "t.csv"), "--out"),
    ],
)
def test_what_is_wrong_is_one_message(command, work, arguments, said):
    (work / "bad.toml").write_text("tune.objective = 'nice'")
    (work / "work" / "private").mkdir(parents=True)
    ran = command(*arguments)
    assert ran.status == 2 and said in ran.err and "Traceback" not in ran.err
    assert not (work / "out").exists()


def test_the_time_left_of_a_tuning_is_its_own():
    left = TimeLeft()
    left.begin("tune 10 of at most 40", 20.0)
    assert left.left(25.0) == 55.0
    left.begin("fit", 80.0)
    assert left.left(80.0) != 0.0
