"""The command line: one message on every error, interrupts, full disks, JSON, progress, help."""

import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest

from understudy import progress
from understudy.cli import cli
from understudy.plans.plan import Plan

FAST = 'measures = ["closeness", "copies"]\ncalibrate = false\ngates.names = ["copies"]\n' \
       "synthesis.min_leaf = 30\n"  # fmt: skip
COMMANDS = sorted(cli.commands)


def csv_text(rows=120, seed=3, names=("age", "sex", "income")):
    rng = np.random.default_rng(seed)
    lines = [",".join(names)]
    for _ in range(rows):
        row = (rng.integers(0, 90), rng.choice(["f", "m"]), round(float(rng.lognormal(7)), 2))
        lines.append(",".join(map(str, row)))
    return "\n".join(lines) + "\n"


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with a table, a fast plan, and what arguments may wrongly name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(csv_text())
    (tmp_path / "other.csv").write_text(csv_text(seed=4))
    (tmp_path / "small.csv").write_text(csv_text(rows=49))
    (tmp_path / "one.csv").write_text(csv_text(rows=1))
    (tmp_path / "columns.csv").write_text(csv_text(names=("a", "b", "c")))
    (tmp_path / "texts.csv").write_text(csv_text().replace(",f,", ",f,n/a"))
    (tmp_path / "ids.csv").write_text("id,uid\n" + "".join(f"{i},u{i:05}\n" for i in range(200)))
    (tmp_path / "fast.toml").write_text(FAST)
    (tmp_path / "typo.toml").write_text("splti.train = 0.5\n")
    (tmp_path / "broken.toml").write_text("split = = 1\n")
    (tmp_path / "unknown.toml").write_text("[columns.ages]\nkind = 'number'\n")
    (tmp_path / "keep.toml").write_text(FAST + "[columns.sex]\nrole = 'keep'\n")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    (tmp_path / "run" / "private").mkdir(parents=True)
    (tmp_path / "plain").write_text("a file")
    return tmp_path


RELEASE = ("release", "t.csv", "--plan", "fast.toml", "--out", "out")
# What is wrong: the arguments, and what the one message must say.
WRONG = {
    "no command": ((), "no command given"),
    "no such command": (("relaese", "t.csv"), "No such command 'relaese'"),
    "no such option": ((*RELEASE, "--colour"), "No such option.*release --help"),
    "no file": (("release", "--out", "out"), "Missing argument 'FILE'"),
    "no out": (("release", "t.csv"), "Missing option '--out'"),
    "missing file": (("release", "no.csv", "--out", "out"), "no file 'no.csv'"),
    "missing file to inspect": (("inspect", "no.csv"), "no file 'no.csv'"),
    "folder as file": (("release", "folder", "--out", "out"), "cannot read 'folder'"),
    "plan missing": (("release", "t.csv", "--plan", "no.toml", "--out", "out"), "no.toml.*a plan"),
    "plan is a folder": (("release", "t.csv", "--plan", "folder", "--out", "out"), "plan"),
    "plan not text": (("release", "t.csv", "--plan", "binary.toml", "--out", "out"), "UTF-8"),
    "plan not TOML": (("release", "t.csv", "--plan", "broken.toml", "--out", "out"), "valid TOML"),
    "plan misspelt": (
        ("release", "t.csv", "--plan", "typo.toml", "--out", "out"), r"splti.*did you mean split\?",
    ),
    "plan names no column": (
        ("release", "t.csv", "--plan", "unknown.toml", "--out", "out"), "columns.ages.*age",
    ),
    "rows 0": ((*RELEASE, "--rows", "0"), "--rows.*0 is not in the range"),
    "rows text": ((*RELEASE, "--rows", "many"), "--rows"),
    "rows beyond counting": ((*RELEASE, "--rows", str(10**23)), "synthesis.rows.*2147483647"),
    "an empty folder name": (("release", "t.csv", "--out", ""), "--out.*an empty name"),
    "plan and table from one input": (("release", "-", "--plan", "-", "--out", "o"), "read once"),
    "replicates 0": ((*RELEASE, "--replicates", "0"), "--replicates.*0 is not in the range"),
    "jobs 0": ((*RELEASE, "--jobs", "0"), "--jobs"),
    "seed negative": ((*RELEASE, "--seed", "-1"), "--seed"),
    "kept column and rows": (
        ("release", "t.csv", "--plan", "keep.toml", "--rows", "500", "--out", "out"),
        "synthesis.rows.*leave out --rows",
    ),
    "out holds a run": (("release", "t.csv", "--out", "run"), "already holds a run"),
    "out is a file": (("release", "t.csv", "--out", "plain"), "plain is a file"),
    "out below a file": (("release", "t.csv", "--out", "plain/x/y"), "plain is a file"),
    "out too long": (("release", "t.csv", "--out", "x" * 300), "cannot write"),
    "out below a system folder": (("release", "t.csv", "--out", "/proc/out"), "cannot write"),
    "too few rows": (("release", "small.csv", "--out", "out"), "49 rows; fewer than 50"),
    "one row": (("release", "one.csv", "--out", "out"), "one.csv: the table has 1 row"),
    "all identifiers": (("release", "ids.csv", "--out", "out"), "no column is left"),
    "holdout missing": ((*RELEASE, "--holdout", "no.csv"), "no file 'no.csv'"),
    "holdout with other columns": (
        (*RELEASE, "--holdout", "columns.csv"), "the holdout lacks columns.*age, sex, income",
    ),
    "holdout with other types": (
        (*RELEASE, "--holdout", "texts.csv"), "the holdout: column 'income' cannot be read",
    ),
    "holdout of one row": ((*RELEASE, "--holdout", "one.csv"), "one.csv: the table has 1 row"),
    "standard input twice": (("release", "-", "--holdout", "-", "--out", "out"), "read once"),
    "demo into a run": (("demo", "--out", "run"), "already holds a run"),
    "assess nothing": (("assess", "t.csv", "--out", "out"), "SYNTHETIC"),
    "assess other columns": (
        ("assess", "t.csv", "columns.csv", "--out", "out"), "no column in common",
    ),
    "assess other types": (
        ("assess", "t.csv", "texts.csv", "--out", "out"), "synthetic table 1: column 'income'",
    ),
    "assess one row": (("assess", "t.csv", "one.csv", "--out", "out"), "one.csv: .* 1 row"),
    "assess a small original": (("assess", "small.csv", "t.csv", "--out", "out"), "49 rows"),
    "assess into a run": (("assess", "t.csv", "other.csv", "--out", "run"), "already holds a run"),
    "verify nothing": (("verify", "no"), "no manifest"),
    "verify a file": (("verify", "plain"), "no manifest"),
    "verify a folder": (("verify", "folder"), "no manifest"),
    "inspect writes over": (("inspect", "t.csv", "--plan", "plain"), "plain exists"),
    "inspect writes nowhere": (("inspect", "t.csv", "--plan", "no/p.toml"), "cannot write"),
}  # fmt: skip


def listing(folder):
    return sorted(str(path) for path in folder.rglob("*"))


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments(what, work, command):
    arguments, message = WRONG[what]
    before = listing(work)
    ran = command(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert re.match(f"understudy: .*{message}", ran.err, re.S), ran.err
    assert ran.err.count("\n") == 1 or what == "no command"
    assert "Traceback" not in ran.err
    assert listing(work) == before


@pytest.mark.parametrize("what", ["missing file", "rows 0", "assess nothing", "verify nothing"])
def test_errors_are_json_for_programs(what, work, command):
    arguments, message = WRONG[what]
    ran = command(*arguments, "--json")
    found = json.loads(ran.out)
    assert (ran.status, ran.err, found["status"]) == (2, "", 2)
    assert re.search(message, found["error"], re.S)


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not hold for root")
def test_no_permission(work, command):
    (work / "t.csv").chmod(0)
    ran = command(*RELEASE)
    assert ran.status == 2 and "cannot read 't.csv'" in ran.err
    (work / "t.csv").chmod(0o600)
    (work / "folder").chmod(0o500)
    ran = command("release", "t.csv", "--out", "folder/out")
    assert ran.status == 2 and "no permission" in ran.err


def test_a_folder_without_permission_is_refused_before_any_work(work, command, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    ran = command(*RELEASE)
    assert (ran.status, ran.out) == (2, "") and "no permission" in ran.err


def test_a_bug_names_its_line_and_no_cell(work, command, monkeypatch):
    def breaks(*args, **kwargs):
        raise ValueError("cell 2057.6 of Somebody")

    monkeypatch.setattr("understudy.study.walk.fit_encoding", breaks)
    ran = command(*RELEASE)
    assert (ran.status, ran.out) == (1, "")
    assert "ValueError at test_cli.py" in ran.err and "2057.6" not in ran.err
    assert ran.err.count("\n") == 1 and not (work / "out").exists()


# --- what works ----------------------------------------------------------------------------------


def test_release_verify_inspect_assess(work, command):
    ran = command(*RELEASE)
    assert ran.status == 0 and ran.err == "" and "Report:" in ran.out
    ran = command("verify", "out")
    assert ran.status == 0 and "✓" in ran.out
    assert json.loads(command("verify", "out", "--json").out) == {"good": True, "problems": []}
    (work / "out" / "release" / "x").touch()
    assert command("verify", "out").status == 3
    ran = command("inspect", "t.csv", "--plan", "new.toml")
    assert ran.status == 0 and ran.err == "" and (work / "new.toml").is_file()
    assert json.loads(command("inspect", "t.csv", "--json").out)["rows"] == 120
    ran = command("assess", "t.csv", "other.csv", "--holdout", "other.csv", "--plan", "fast.toml",
                  "--out", "judged")  # fmt: skip
    assert ran.status in (0, 3) and "Report:" in ran.out
    assert {path.name for path in (work / "judged").iterdir()} == {"private"}


def test_a_copy_is_refused_with_the_gate_named(work, command):
    ran = command("assess", "t.csv", "t.csv", "--holdout", "other.csv", "--out", "judged")
    assert ran.status == 3 and "gate copies on replicate 1 fails" in ran.err
    # How another tool's table was made is not ours to advise on.
    assert "min_leaf" not in ran.err and "synthesise anew" not in ran.err


def test_json_is_one_object_on_standard_output(work, command):
    ran = command(*RELEASE, "--json")
    found = json.loads(ran.out)
    assert (ran.status, ran.err) == (0, "")
    assert found["released"] is True and Path(found["report"]).is_file()
    ran = command("release", "t.csv", "--plan", "fast.toml", "--out", "short", "--seed", "1",
                  "--json")  # fmt: skip
    found = json.loads(ran.out)
    assert (ran.status, ran.err, found["released"]) == (3, "", False)
    assert "seed is short" in found["reasons"][0]


def test_standard_input(work):
    with (work / "t.csv").open("rb") as table:
        run = start(["release", "-", "--plan", "fast.toml", "--out", "out"], work, stdin=table)
        run.communicate(timeout=60)
    assert run.returncode == 0
    assert (work / "out" / "release" / "synthetic-1.csv").is_file()
    run = start(["inspect", "-"], work, stdin=subprocess.DEVNULL)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (2, b"") and b"standard input: the file is empty" in err


def test_a_plan_from_standard_input(work):
    with (work / "fast.toml").open("rb") as plan:
        run = start(["release", "t.csv", "--plan", "-", "--out", "out"], work, stdin=plan)
        run.communicate(timeout=60)
    assert run.returncode == 0
    assert Plan.read(work / "out" / "private" / "plan.toml") == Plan.from_toml(FAST)


def closed(number):
    return lambda: os.close(number)


@pytest.mark.parametrize("number, status", [(0, 0), (1, 0), (2, 0)])
def test_a_stream_that_is_closed_is_no_bug(number, status, work):
    run = start(["inspect", "t.csv"], work, setup=closed(number))
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (status, b"")
    run = start([*RELEASE], work, setup=closed(number))
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (status, b"")


def test_no_standard_input_to_read(work):
    run = start(["inspect", "-"], work, setup=closed(0))
    _, err = run.communicate(timeout=60)
    assert run.returncode == 2 and b"standard input is closed" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [RELEASE, ("inspect", "t.csv"), ("--help",)])
def test_output_that_cannot_be_written_is_said_without_untruth(arguments, work):
    with Path("/dev/full").open("wb") as full:
        run = start(arguments, work, stdout=full)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 2
    assert err.startswith(b"understudy: cannot write to standard output") and err.count(b"\n") == 1
    if arguments is RELEASE:
        assert (work / "out" / "release" / "manifest.json").is_file()


def test_unicode_and_spaces_in_paths(work, command):
    name = "Tâble of péople 多.csv"
    (work / name).write_text(csv_text())
    ran = command("release", name, "--plan", "fast.toml", "--out", "ein Ördner/ünd mehr")
    assert ran.status == 0 and "ein Ördner/ünd mehr" in ran.out
    assert command("verify", "ein Ördner/ünd mehr").status == 0


def test_a_terminal_without_our_letters_is_no_error(work):
    environment = {"PYTHONIOENCODING": "ascii"}
    (work / "é.csv").write_text("ä,b\n")
    run = start(["inspect", "é.csv"], work, **environment)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 2 and err.startswith(b"understudy: ") and err.count(b"\n") == 1


def test_a_reader_that_leaves_makes_no_noise(work):
    read, write = os.pipe()
    os.close(read)
    run = start(["inspect", "t.csv"], work, stdout=write)
    _, err = run.communicate(timeout=60)
    os.close(write)
    assert err == b""


# --- interrupts and full disks -------------------------------------------------------------------


def start(arguments, folder, stdin=None, stdout=subprocess.PIPE, setup=None, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        cwd=folder, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, preexec_fn=setup,  # noqa: PLW1509
        env={**os.environ, **environment},
    )  # fmt: skip


ABORTS = """
import atexit, os, runpy, sys
atexit.register(os.abort)
sys.argv = ["understudy", *{arguments!r}]
runpy.run_module("understudy", run_name="__main__")
"""


@pytest.mark.parametrize(
    "arguments, status, out",
    [
        (["inspect", "t.csv"], 0, b"120 rows"),
        (["verify", "absent"], 2, b""),
        (["assess", "t.csv", "t.csv", "--out", "at-once"], 3, b"A gate fails"),
    ],
)
def test_the_end_of_a_library_does_not_change_the_status(work, arguments, status, out):
    """Arrow's threads abort some processes when they end, after all was done and said."""
    code = ABORTS.format(arguments=arguments)
    run = subprocess.run([sys.executable, "-c", code], cwd=work, capture_output=True, check=False)
    assert run.returncode == status and out in run.stdout


HOOK = """
import os, signal, sys
from understudy import cli, folder, api
def at(stage):
    if stage.startswith({stage!r}):
        os.kill(os.getpid(), signal.{number})
class Hit(cli.Watch):
    def __call__(self, stage):
        super().__call__(stage)
        at(stage)
cli.Watch = Hit
for name in ("_write_private", "_write_tables", "_move", "note"):
    def wrap(inner, name=name):
        def wrapped(*a, **k):
            at(name)
            result = inner(*a, **k)
            at("after " + name)
            return result
        return wrapped
    setattr(folder, name, wrap(getattr(folder, name)))
cli.main()
"""
MOMENTS = [("choose leaf 2", "SIGINT"), ("fit", "SIGTERM"), ("measure closeness", "SIGINT"),
           ("report", "SIGTERM"), ("after _write_private", "SIGINT"), ("_write_tables", "SIGTERM"),
           ("note", "SIGINT"), ("_move", "SIGTERM"), ("_write_tables", "SIGHUP")]  # fmt: skip


@pytest.mark.parametrize(("moment", "number"), MOMENTS)
def test_an_interrupt_leaves_nothing(moment, number, work):
    code = HOOK.format(stage=moment, number=number)
    run = subprocess.run(
        [sys.executable, "-c", code, "release", "t.csv", "--out", "a/out", "--jobs", "2"],
        cwd=work, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (130, b"")
    assert run.stderr == b"understudy: interrupted; nothing was left half-written\n"
    assert not (work / "a").exists()


def test_a_second_key_does_not_interrupt_the_cleaning(work):
    second = "import shutil\nremove = shutil.rmtree\n" \
             "def again(*a, **k):\n    os.kill(os.getpid(), signal.SIGINT)\n    remove(*a, **k)\n" \
             "folder.shutil.rmtree = again\n"  # fmt: skip
    code = HOOK.format(stage="note", number="SIGINT").replace("cli.main()", second + "cli.main()")
    run = subprocess.run(
        [sys.executable, "-c", code, "release", "t.csv", "--plan", "fast.toml", "--out", "out"],
        cwd=work, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 130 and run.stderr.count(b"\n") == 1
    assert not (work / "out").exists()


def test_a_key_pressed_while_threads_work_ends_soon(work):
    """Asked to stop in the middle of the leaf search, it does so within seconds."""
    (work / "big.csv").write_text(csv_text(rows=20_000))
    run = start(["release", "big.csv", "--out", "out", "--jobs", "2"], work)
    time.sleep(4)
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130 and err.count(b"\n") == 1
    assert not (work / "out").exists()


@pytest.mark.parametrize("most", [0, 3_000, 500_000])
def test_a_full_disk_is_one_message(most, work):
    """No file may be longer than ``most`` bytes: what a full disk does, at several moments."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    cache = work / "cache"
    run = start([*RELEASE], work, setup=limit, XDG_CACHE_HOME=str(cache))
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (2, b""), err
    assert re.fullmatch(rb"understudy: cannot write to out: .*; nothing was left there\n", err)
    assert not (work / "out").exists()
    assert not [path for path in cache.rglob("*") if path.is_file()]


# --- progress and help ---------------------------------------------------------------------------


def on_a_terminal(arguments, folder):
    """What a command shows on a terminal."""
    main, side = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "understudy", *arguments], cwd=folder, stdin=side, stdout=side,
        stderr=side, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(side)
    seen = b""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if select.select([main], [], [], 0.5)[0]:
            try:
                part = os.read(main, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not part:
                break
            seen += part
    os.close(main)
    assert run.wait(60) in (0, 3)
    return seen.decode(errors="replace")


def test_a_terminal_sees_stages_and_time_left(work):
    (work / "big.csv").write_text(csv_text(rows=6_000))
    seen = on_a_terminal(["release", "big.csv", "--out", "out"], work)
    assert re.search(r"choose leaf \d of at most \d \(\d+ s", seen)
    assert re.search(r"\(\d+ s, about (a second|\d+ (s|min)) left\)", seen)


def test_a_pipe_hears_nothing(work):
    run = start([*RELEASE], work)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (0, b"")


def test_time_left_is_learnt_from_the_stages_behind():
    """A run whose stages take exactly their shares: every guess is right; early, there is none."""
    left = progress.TimeLeft()
    total = sum(progress.SHARES.values())
    now, guesses = 0.0, []
    for stage, share in progress.SHARES.items():
        left.begin(stage, now)
        guesses.append((now, left.left(now)))
        now += share
    known = [(at, guess) for at, guess in guesses if guess is not None]
    assert guesses[0][1] is None and len(known) >= 10
    assert all(guess == pytest.approx(total - at) for at, guess in known)


def test_time_left_never_runs_backwards_and_knows_steps():
    left = progress.TimeLeft()
    left.begin("choose leaf 3 of at most 5", 10.0)
    share = left.done
    left.begin("choose leaf", 11.0)
    left.begin("some stage that nobody foresaw", 12.0)
    assert left.done == share and left.left(10_000.0) == 0.0


def test_stages_are_those_of_a_run(work, command):
    """A stage without a share would make the guess wrong without anybody noticing."""
    command("release", "t.csv", "--out", "out")
    log = (work / "out" / "private" / "run.log").read_text()
    stages = {re.sub(r" \d+ of at most \d+$", "", line[12:]) for line in log.splitlines()}
    assert stages | {"read"} == set(progress.SHARES)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_parses(name):
    command_ = cli.commands[name]
    # With its own settings: click keeps the first help option that was made, for all tests.
    context = click.Context(command_, info_name=f"understudy {name}", **command_.context_settings)
    text = command_.get_help(context)
    examples = re.findall(rf"^ +understudy ({name} .+)$", text, re.M)
    assert examples, text
    for example in examples:
        cli.commands[name].make_context(name, example.split()[1:])
    assert "--json" in text
