"""The folder of a run: what is in it, what is not, and what `verify` sees."""

import errno
import json
import re
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy
from understudy import InputError, Plan, Verdict, api, folder, verify
from understudy.plans.plan import Gates
from understudy.report import page as render
from understudy.seeds import stream

PRIVATE = {
    "findings.json", "model", "plan.toml", "records.parquet", "report.html", "run.log", "seed",
    "summaries.json", "trials.csv",
}  # fmt: skip
FAST = Plan(settings={"min_leaf": 30}, measures=("closeness", "copies"), calibrate=False,
            gates=Gates(("copies",)))  # fmt: skip


def people(rows=400, seed=3):
    """Numbers and levels; the last two columns hold nothing but what tests put there."""
    rng = np.random.default_rng(seed)
    return {
        "age": [int(age) for age in rng.integers(0, 90, rows)],
        "sex": [str(sex) for sex in rng.choice(["f", "m"], rows)],
        "income": [round(float(x), 2) for x in rng.lognormal(7, 1, rows)],
    }


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """One release that every test may read and none may change."""
    out = tmp_path_factory.mktemp("run") / "out"
    plan = replace(FAST, replicates=2)
    assert api.release(pa.table(people()), out, plan, jobs=1).released
    return out


@pytest.fixture
def copy(released, tmp_path):
    """A copy of the release that a test may spoil."""
    import shutil

    return Path(shutil.copytree(released, tmp_path / "copy"))


def names(path):
    return {item.name for item in path.iterdir()}


def test_exactly_the_files_of_the_contract(released):
    assert names(released) == {"release", "private"}
    assert names(released / "private") == PRIVATE
    assert names(released / "release") == {
        "NOTE.md", "manifest.json", "synthetic-1.parquet", "synthetic-2.parquet",
    }  # fmt: skip


def test_the_manifest_has_hashes_of_public_files_only(released):
    manifest = json.loads((released / "release" / "manifest.json").read_text())
    assert set(manifest) == {"understudy", "synthetic", "plan_sha256", "forced", "files"}
    assert set(manifest["files"]) == names(released / "release") - {"manifest.json"}
    assert manifest["synthetic"] is True and manifest["forced"] is False
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in manifest["files"].values())


def test_private_is_for_the_owner_alone(released):
    assert stat.S_IMODE((released / "private").stat().st_mode) == 0o700
    assert stat.S_IMODE((released / "private" / "seed").stat().st_mode) == 0o600


def test_no_model_file_needs_pickle(released):
    for path in (released / "private" / "model").iterdir():
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype != object for name in arrays.files)


def without_factor(note):
    """The note without the factor for variances, which is a matter of sizes."""
    return re.sub(r"the variance by [\d.]+ \(standard errors by [\d.]+\)", "", note)


def test_the_note_says_synthetic_and_no_private_number(released):
    note = (released / "release" / "NOTE.md").read_text()
    findings = json.loads((released / "private" / "findings.json").read_text())
    assert "synthetic" in note and "2 files" in note
    sizes = findings["tables"]
    # How many people the rows were learnt from is what standard errors need, and no secret.
    assert f"n = {sizes['train']['rows']} people" in note
    assert not re.search(rf"\b{sizes['holdout']['rows']}\b", note)
    assert not re.search(r"\d\.\d{2,}", without_factor(note))  # no score has fewer digits
    for word in ("dcr", "nndr", "seed", "holdout"):
        assert word not in note.lower()


def test_the_note_says_what_became_of_numbers(tmp_path):
    plans = {
        "blurred": FAST,
        "exact": replace(FAST, settings={"min_leaf": 30, "smooth": False}),
        "mixture": Plan.from_dict({
            "measures": ["copies"], "gates": {"names": ["copies"]},
            "visits": [{"model": "mixture", "columns": ["age", "income"]}],
        }),
    }  # fmt: skip
    notes = {}
    for name, plan in plans.items():
        api.release(pa.table(people()), tmp_path / name, plan, jobs=1)
        notes[name] = (tmp_path / name / "release" / "NOTE.md").read_text()
    assert "were blurred" in notes["blurred"] and "No further noise" in notes["blurred"]
    assert "Values of `age`, `income` are those of the confidential" in notes["exact"]
    for name in ("exact", "mixture"):
        assert "blurred" not in notes[name] and "No noise was added" in notes[name]


def test_the_seed_is_fresh_and_nowhere_but_in_its_file(released, tmp_path):
    seed = (released / "private" / "seed").read_text().strip()
    assert 2**64 <= int(seed) < 2**128
    everything = [p for p in released.rglob("*") if p.is_file() and p.name != "seed"]
    for text in (seed, f"{int(seed):x}", f"{int(seed):X}"):
        assert not [path for path in everything if text.encode() in path.read_bytes()]
    api.release(pa.table(people()), tmp_path / "again", FAST, jobs=1)
    assert (tmp_path / "again" / "private" / "seed").read_text().strip() != seed


def public_bytes(out):
    return b"".join(path.read_bytes() for path in sorted((out / "release").iterdir()))


def test_canaries_of_holdout_seed_and_scores_never_sing(tmp_path, seed):
    """Sentinels planted in holdout rows alone, a long seed and every score stay private."""
    data = people()
    order = stream(seed, "split").permutation(400)
    holdout = order[300:]
    for row in holdout:
        data["sex"][row] = "SENTINEL-Ω"
        data["income"][row] = 987654.32
        data["age"][row] = 777
    path = tmp_path / "people.csv"
    lines = [",".join(map(str, row)) for row in zip(*data.values(), strict=True)]
    path.write_text("\n".join([",".join(data), *lines]) + "\n", encoding="utf-8")
    outcome = api.release(path, tmp_path / "out", FAST, seed=seed, force=True, jobs=1)
    train = json.loads((tmp_path / "out" / "private" / "findings.json").read_text())
    assert train["tables"]["holdout"]["rows"] == 100
    public = public_bytes(outcome.folder)
    for sentinel in ("SENTINEL", "987654", "777", str(seed), f"{seed:x}"):
        assert sentinel.encode() not in public
    text = (outcome.folder / "release" / "NOTE.md").read_text()
    text += (outcome.folder / "release" / "manifest.json").read_text()
    for finding in train["findings"]:
        for key in ("value", "low", "high", "reference"):
            score = f"{finding[key] or 0:.4g}"
            assert len(score) < 4 or score not in text


def test_a_score_planted_as_a_canary_stays_private(tmp_path):
    study = api.synthesize(pa.table(people()), FAST, jobs=1)
    first, *rest = study.findings.findings
    canary = replace(first, estimate=replace(first.estimate, value=0.987898789))
    study = replace(study, findings=replace(study.findings, findings=(canary, *rest)))
    folder.save(study, tmp_path / "out", "page", "log")
    assert b"987898789" not in public_bytes(tmp_path / "out")
    assert b"987898789" in (tmp_path / "out" / "private" / "findings.json").read_bytes()


# --- gates -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaking():
    """A study whose closeness gates fail: leaves of two hand out people."""
    data = pa.table(people(300, 5))
    plan = Plan(settings={"min_leaf": 2, "smooth": False}, measures=("closeness", "copies"))
    return api.synthesize(data, plan, seed=2**100 + 7, jobs=1)


def forged(study, verdict):
    """The same study with its first gate judged otherwise."""
    items = list(study.findings.findings)
    at = next(i for i, item in enumerate(items) if item.gate)
    items[at] = replace(items[at], verdict=verdict)
    others = [i if n == at else replace(i, verdict=Verdict.HOLDS) for n, i in enumerate(items)]
    return replace(study, findings=replace(study.findings, findings=tuple(others)))


def saved(study, out, *, force=False):
    study = folder.decided(study, force=force, trial=False)
    page = render(study.findings, study.summaries)
    return folder.save(study, out, page, "log\n", force=force)


def test_a_failing_gate_withholds_and_says_how_to_go_on(leaking, tmp_path):
    study = forged(leaking, Verdict.FAILS)
    outcome = saved(study, tmp_path / "out")
    assert not outcome.released and not outcome.forced
    assert names(tmp_path / "out") == {"private"}
    assert names(tmp_path / "out" / "private") == PRIVATE | {"withheld"}
    assert names(tmp_path / "out" / "private" / "withheld") == {"synthetic-1.parquet"}
    (reason,) = outcome.reasons
    gate = next(item for item in study.findings.findings if item.gate).estimate
    assert gate.measure in reason and f"{gate.value:.4g}" in reason
    assert f"{gate.reference:.4g}" in reason and "min_leaf" in reason
    with pytest.raises(understudy.GateFailed, match=gate.measure):
        outcome.require_released()


def test_what_is_forced_says_so_without_scores(leaking, tmp_path):
    outcome = saved(forged(leaking, Verdict.FAILS), tmp_path / "out", force=True)
    assert outcome.released and outcome.forced and len(outcome.reasons) == 1
    note = (tmp_path / "out" / "release" / "NOTE.md").read_text()
    assert "was forced" in note and not re.search(r"\d\.\d{2,}", without_factor(note))
    assert "Forced" in outcome.report.read_text()
    assert json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())["forced"]


def test_undecided_blocks_only_where_the_plan_is_strict(leaking, tmp_path):
    study = forged(leaking, Verdict.UNDECIDED)
    assert not list(folder.blockers(study, trial=False))
    strict = replace(study, plan=replace(study.plan, gates=replace(study.plan.gates, strict=True)))
    (reason,) = folder.blockers(strict, trial=False)
    assert "undecided" in reason


def test_not_measured_blocks_and_names_the_way_out(leaking):
    (reason,) = folder.blockers(forged(leaking, Verdict.NOT_MEASURED), trial=False)
    assert "could not be measured" in reason and "gates.names" in reason


def test_a_short_seed_blocks_a_release_and_not_a_trial(tmp_path):
    data = pa.table(people())
    outcome = api.release(data, tmp_path / "short", FAST, seed=7, jobs=1)
    assert not outcome.released and "seed is short" in outcome.reasons[0]
    assert api.release(data, tmp_path / "forced", FAST, seed=7, force=True, jobs=1).forced
    trial = api.release(data, tmp_path / "trial", FAST, seed=7, trial=True, jobs=1)
    assert trial.released and not trial.forced


# --- verify --------------------------------------------------------------------------------------


def change(path, *pairs):
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")


def test_an_untouched_release_is_good_with_and_without_private(released):
    assert verify(released).good
    assert verify(released).checked == ("3 files against their hashes", "plan and verdicts")
    assert verify(released / "release").checked == ("3 files against their hashes",)


def flip_a_byte(out):
    path = out / "release" / "synthetic-1.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def add_a_finding(out, **changes):
    path = out / "private" / "findings.json"
    found = json.loads(path.read_text())
    at = next(i for i, item in enumerate(found["findings"]) if item["gate"])
    if changes:
        found["findings"][at].update(changes)
    else:
        del found["findings"][at:]
    path.write_text(json.dumps(found))


def remove_a_replicate(out, number):
    path = out / "private" / "findings.json"
    found = json.loads(path.read_text())
    found["findings"] = [item for item in found["findings"] if item["replicate"] != number]
    path.write_text(json.dumps(found))


DAMAGE = {
    "changed byte": (flip_a_byte, "synthetic-1.parquet has changed"),
    "missing file": (lambda o: (o / "release" / "synthetic-2.parquet").unlink(), "2.* is missing"),
    "extra file": (lambda o: (o / "release" / "x").write_text("x"), "x is not in the manifest"),
    "hidden file": (lambda o: (o / "release" / ".x").write_text("x"), ".x is not in the manifest"),
    "file became a folder": (
        lambda o: ((o / "release" / "NOTE.md").unlink(), (o / "release" / "NOTE.md").mkdir()),
        "NOTE.md has changed",
    ),
    "changed note": (
        lambda o: change(o / "release" / "NOTE.md", ("synthetic", "real")), "NOTE.md has changed",
    ),
    "changed plan": (
        lambda o: change(o / "private" / "plan.toml", ("min_rows = 50", "min_rows = 5")),
        "the plan is not the one",
    ),
    "changed hash of the plan": (
        lambda o: change(o / "release" / "manifest.json", ('plan_sha256": "', 'plan_sha256": "0')),
        "the plan is not the one",
    ),
    "better verdict": (
        lambda o: add_a_finding(o, value=0.9, low=0.9, high=0.9, gap_low=0.9, gap_high=0.9),
        "verdict of copies does not follow",
    ),
    "failed and not forced": (
        lambda o: add_a_finding(
            o, value=0.9, low=0.9, high=0.9, gap_low=0.9, gap_high=0.9, verdict="fails"
        ),
        "a gate fails, and the release does not say",
    ),
    "failure called undecided": (
        lambda o: add_a_finding(
            o, value=0.9, low=0.9, high=0.9, gap_low=0.9, gap_high=0.9, verdict="undecided"
        ),
        "verdict of copies does not follow",
    ),
    "gate switched off": (lambda o: add_a_finding(o, gate=False), "copies is not a gate"),
    "finding removed": (add_a_finding, "the gate copies has no finding"),
    "forced flag": (
        lambda o: change(o / "release" / "manifest.json", ('"forced": false', '"forced": true')),
        "differ on whether the release was forced",
    ),
    "one replicate's finding removed": (
        lambda o: remove_a_replicate(o, 2), "copies has no finding for replicate 2",
    ),
    "findings nested without end": (
        lambda o: (o / "private" / "findings.json").write_text("[" * 100_000), "lacks a readable",
    ),
    "findings are no JSON": (
        lambda o: (o / "private" / "findings.json").write_text("{"), "lacks a readable",
    ),
    "plan is no plan": (
        lambda o: (o / "private" / "plan.toml").write_text("min_row = 5"), "lacks a readable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_verify_sees(what, copy):
    damage, message = DAMAGE[what]
    damage(copy)
    found = verify(copy)
    assert not found.good
    assert any(re.search(message, problem) for problem in found.problems), found.problems


def test_verify_sees_that_a_forced_release_claims_not_to_be(leaking, tmp_path):
    saved(forged(leaking, Verdict.FAILS), tmp_path / "out", force=True)
    change(tmp_path / "out" / "release" / "manifest.json", ('"forced": true', '"forced": false'))
    assert any("does not say that it was forced" in p for p in verify(tmp_path / "out").problems)


def test_what_cannot_be_verified_is_an_error_that_says_why(copy, leaking, tmp_path):
    saved(forged(leaking, Verdict.FAILS), tmp_path / "withheld")
    with pytest.raises(InputError, match="withheld"):
        verify(tmp_path / "withheld")
    with pytest.raises(InputError, match="no manifest"):
        verify(tmp_path)
    with pytest.raises(InputError, match="no manifest"):
        verify(copy / "release" / "NOTE.md")
    for text in ("[]", "[" * 100_000):
        (copy / "release" / "manifest.json").write_text(text)
        with pytest.raises(InputError, match="not a manifest"):
            verify(copy)


# --- written in one step, or not at all ----------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    return api.synthesize(pa.table(people(120)), FAST, seed=2**100 + 9, jobs=1)


STEPS = ["_write_private", "_write_trials", "_write_arrays", "_write_tables", "write_manifest",
         "_move", "note"]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"),
                                   KeyboardInterrupt(), RuntimeError("bug")])  # fmt: skip
@pytest.mark.parametrize("present", [False, True])
def test_whatever_breaks_leaves_nothing_behind(step, error, present, study, tmp_path, monkeypatch):
    def breaks(*args, **kwargs):
        raise error

    out = tmp_path / "a" / "b" / "out"
    if present:
        out.mkdir(parents=True)
        (out / "mine.txt").write_text("mine")
    monkeypatch.setattr(folder, step, breaks)
    expected = InputError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        saved(study, out)
    assert names(tmp_path) == ({"a"} if present else set())
    assert not present or names(out) == {"mine.txt"}


def test_an_interrupt_between_the_two_renames_takes_the_first_back(study, tmp_path, monkeypatch):
    rename = Path.rename

    def second_breaks(self, target):
        if Path(target) == tmp_path / "out" / "release":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", second_breaks)
    with pytest.raises(KeyboardInterrupt):
        saved(study, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_that_came_first_is_never_touched(study, tmp_path, monkeypatch):
    """Two runs into one folder: the later one fails and leaves the other's files alone."""
    move = folder._move

    def other_first(partial, target, parts):
        for part in ("private", "release"):
            (target / part).mkdir()
            (target / part / "theirs").write_text("theirs")
        move(partial, target, parts)

    monkeypatch.setattr(folder, "_move", other_first)
    with pytest.raises(InputError, match="cannot write"):
        saved(study, tmp_path / "out")
    for part in ("private", "release"):
        assert (tmp_path / "out" / part / "theirs").read_text() == "theirs"
    assert names(tmp_path / "out") == {"private", "release"}


def test_parquet_says_synthetic_in_its_metadata(released):
    stored = pq.read_schema(released / "release" / "synthetic-1.parquet")
    assert stored.metadata[b"understudy"] == b"synthetic"


def test_a_folder_that_may_not_be_looked_into_is_no_bug(released, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    for name in ("is_dir", "read_text", "iterdir"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, name, refused)
            with pytest.raises(InputError, match=r"cannot read .*Permission denied"):
                verify(released)
