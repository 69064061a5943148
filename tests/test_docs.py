"""The pages are true: examples run, commands parse, and nothing that exists is left out."""

import re
import runpy
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pyarrow.csv
import pytest
from click.testing import CliRunner

import understudy
from understudy import api
from understudy.cli import cli
from understudy.plans import plan as plans
from understudy.plans import toml
from understudy.plans.plan import Gates, Plan, Split
from understudy.plans.tuning import Tuning
from understudy.protect import PROTECTIONS
from understudy.reproduce import ITEMS
from understudy.results import Better, Estimate, Finding, Verdict
from understudy.study import MEASURES, leaf
from understudy.study.walk import make_ready
from understudy.synth import MODELS
from understudy.synth.rule_kinds import _KINDS, _TESTS, parse_rules
from understudy.tables import outbreak as builtin
from understudy.tables.encode import fit_encoding
from understudy.tables.prepare import STEPS
from understudy.tables.schema import Kind, Role

ROOT = Path(__file__).parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
}
SMALL = 300  # rows of the outbreak that examples run on
SECRET = 0x0123_4567_89AB_CDEF_0123_4567_89AB_CDEF
NO_CLAIM = re.compile(
    r"\banonym(ous|i[sz]ed|i[sz]es?)\b|\bcompliant\b|\bcompliance\b|\bguarantee", re.I
)
ASKS = ("Asks", "Formula", "Source", "Checked by", "To read it", "It fails to see")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")


class Fence(NamedTuple):
    """A fenced block: where it begins, its language, the words after it, and what is in it."""

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str


def fences(page):
    """All fenced blocks of a page."""
    found, opened, lines = [], None, []
    for number, line in enumerate(PAGES[page].splitlines(), start=1):
        if not line.startswith("```"):
            lines.append(line)
        elif opened is None:
            opened, lines = (number, line[3:].split()), []
        else:
            start, (language, *words) = opened
            found.append(Fence(page, start, language, tuple(words), "\n".join(lines) + "\n"))
            opened = None
    assert opened is None, f"{page}: a block is not closed"
    return found


FENCES = [fence for page in PAGES for fence in fences(page)]
COMMANDS = [
    pytest.param(shlex.split(line[2:])[1:], id=f"{fence.page}:{fence.line}:{place}")
    for fence in FENCES
    if fence.language == "console"
    for place, line in enumerate(fence.text.splitlines())
    if line.startswith("$ understudy")
]


def sections(page, level=2):
    """Text of each section by its heading."""
    parts = re.split(rf"(?m)^{'#' * level} (.+)$", PAGES[page])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def codes(text):
    """What stands between backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def named(page, level=2):
    """Sections whose heading is a name in backticks."""
    found = sections(page, level).items()
    return {title.strip("`"): text for title, text in found if title.startswith("`")}


def rows_of(text):
    """Cells of the tables of a page, by the code in the first cell."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {first.strip(" `|"): rest for first, *rest in cells}


def written(value):
    """A default as a page shows it."""
    if value is None or value in ((), {}):
        return "none"
    text = toml.dumps({"x": value})[4:-1]
    return re.sub(r",?\s*\n\s*(\])?", lambda end: end[1] or (", " if "," in end[0] else ""), text)


@pytest.fixture(scope="session")
def people():
    """Some people of the outbreak, evenly spread over it."""
    whole = builtin.outbreak()
    return whole.take(np.linspace(0, whole.num_rows - 1, SMALL).astype(np.int64))


@pytest.fixture
def workshop(people, tmp_path, monkeypatch):
    """An empty folder with the outbreak in it, small, and a secret that is always the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "outbreak", lambda: people)
    monkeypatch.setattr(builtin, "outbreak", lambda: people)
    monkeypatch.setattr(api, "fresh_seed", lambda: SECRET)
    monkeypatch.setattr(leaf, "_SPLITS", 1)  # most of a small release is the search for the leaf
    pyarrow.csv.write_csv(people, "outbreak.csv")
    return tmp_path


def run(line):
    """Output and exit status of a command line."""
    done = CliRunner().invoke(cli, shlex.split(line)[1:])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output, done.exit_code


def steps(fence):
    """Commands of a block with the output that the page shows below each."""
    found = []
    for line in fence.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def play(fence):
    """Run a block of commands; every line that is shown must come, and the exit status be right."""
    status = int(next((w[5:] for w in fence.words if w.startswith("exit=")), "0"))
    for command, shown in steps(fence):
        output, code = run(command)
        assert code == status, f"{fence.page}:{fence.line}: {command}: {code}\n{output}"
        for line in filter(None, () if "exact" in fence.words else shown):
            assert line in output.splitlines(), f"{fence.page}:{fence.line}: not printed: {line}"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(f.language == "python" or "run" in f.words for f in fences(p))]
)
def test_examples_run_from_top_to_bottom(page, workshop, capsys):
    names = {}
    for fence in fences(page):
        if fence.language == "python":
            code = compile("\n" * fence.line + fence.text, page, "exec")
            exec(code, names)
        elif fence.language == "toml" and "file" in fence.words:
            (workshop / fence.words[1]).write_text(fence.text, encoding="utf-8")
        elif fence.language == "console" and {"run", "exact"} & set(fence.words):
            play(fence)


@pytest.mark.parametrize(
    "fence", [f for f in FENCES if "exact" in f.words], ids=lambda f: f"{f.page}:{f.line}"
)
def test_output_is_what_the_page_shows(fence, tmp_path, monkeypatch):
    """On the whole outbreak."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(builtin.outbreak(), "outbreak.csv")
    for command, shown in steps(fence):
        output, code = run(command)
        assert code == 0
        assert output.rstrip() == "\n".join(shown).rstrip(), f"{command} prints now:\n{output}"


def parsed(words):
    """Parse a command line without running it; raises if it is not one."""
    context = click.Context(cli, info_name="understudy", **cli.context_settings)
    if words[0].startswith("-"):
        assert words[0] in ("--help", "--version", "-h")
        return
    name, command, rest = cli.resolve_command(context, list(words))
    if "--help" not in rest:
        command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_in_the_pages_exist(words):
    parsed(words)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_commands_have_help_with_an_example(name):
    command = cli.commands[name]
    assert command.help and "Example:" in command.help, f"{name} shows no example"
    assert "\\b" not in command.help, f"{name}: the mark for click is printed"
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.opts[0]} has no help"
    for line in command.help.split("Example:")[1].splitlines():
        if line.strip():
            assert line.split()[:2] == ["understudy", name]
            parsed(shlex.split(line)[1:])


def test_command_reference_is_fresh():
    page = runpy.run_path(str(ROOT / "docs" / "generate_cli.py"))["reference"]()
    assert PAGES["docs/cli.md"] == page, "stale: run `make docs`"


def test_every_measure_is_explained():
    found = named("docs/measures.md")
    assert set(found) == {name for measure in MEASURES.values() for name in measure.names}
    for name, text in found.items():
        for label in ASKS:
            assert f"**{label}.**" in text, f"{name}: no {label}"
        tests = re.findall(r"`(tests/[\w/]+\.py)`", text)
        assert tests and all((ROOT / path).is_file() for path in tests), f"{name}: {tests}"


def test_every_group_of_measures_is_named():
    groups = rows_of(PAGES["docs/measures.md"])
    for name, measure in MEASURES.items():
        assert set(measure.names) == codes(groups[name][0]), name


@pytest.mark.parametrize(
    "page, table",
    [
        ("docs/models.md", {name: fields(model) for name, model in MODELS.items()}),
        ("docs/plans.md", {name: fields(kind) for name, kind in {**STEPS, **PROTECTIONS}.items()}),
    ],
)
def test_every_setting_is_explained(page, table):
    found = named(page) | named(page, 3)
    if page == "docs/models.md":
        assert set(found) == set(table)
    for name, settings in table.items():
        missing = {setting.name for setting in settings} - codes(found[name])
        assert not missing, f"{page}: {name} lacks {missing}"


@pytest.mark.parametrize("name, model", MODELS.items())
def test_defaults_of_models_are_right(name, model):
    rows = rows_of(named("docs/models.md")[name])
    assert set(rows) == {field.name for field in fields(model)}
    for field in fields(model):
        assert rows[field.name][0].strip("`") == written(field.default), field.name


def plan_keys():
    """Every key of a plan with its default (None where it has none)."""
    document = Plan().to_dict()
    for name, value in document.items():
        if name in ("split", "synthesis", "distance", "gates", "report"):
            yield from ((f"{name}.{key}", inner) for key, inner in value.items())
        elif name != "columns":
            yield name, value
    yield from ((f"tune.{key}", value) for key, value in Tuning().to_dict().items())
    yield from ((f"columns.NAME.{key}", None) for key in (*plans._LOOK, "identifier", "text"))
    yield from ((f"visits.{key}", None) for key in plans._VISIT)


def test_every_key_of_a_plan_is_explained_with_its_default():
    rows = rows_of(sections("docs/plans.md")["All keys"])
    keys = dict(plan_keys())
    assert set(rows) == set(keys)
    assert {f"split.{field.name}" for field in fields(Split)} <= set(keys)
    assert {f"gates.{field.name}" for field in fields(Gates)} <= set(keys)
    for key, value in keys.items():
        assert rows[key][0].strip("`") == written(value), key


def test_the_default_plan_is_shown_as_it_is():
    shown = [f.text for f in FENCES if f.page == "docs/plans.md" and "default" in f.words]
    assert shown == [Plan().to_toml()]


def test_default_margins_are_named():
    rows = rows_of(sections("docs/plans.md")["Margins"])
    assert set(rows) == {name for measure in MEASURES.values() for name in measure.names}


def test_settings_of_measures_are_explained_with_their_defaults():
    rows = rows_of(sections("docs/plans.md")["Settings of measures"])
    made = {name: measure() for name, measure in MEASURES.items()}
    known = {
        f"{name}.{field.name}": getattr(measure, field.name)
        for name, measure in made.items()
        for field in fields(measure)
    }
    assert set(rows) == set(known)
    for key, value in known.items():
        assert rows[key][0].strip("`") == written(value), key


def test_rules_are_explained():
    found = named("docs/plans.md", 3)
    for kind, (needed, optional, _) in _KINDS.items():
        assert {*needed, *optional} <= codes(found[kind]), kind
    assert set(_TESTS) <= codes(found["if"])


TOML = [f for f in FENCES if f.language == "toml"]


@pytest.mark.parametrize("fence", TOML, ids=lambda f: f"{f.page}:{f.line}")
def test_plans_in_the_pages_fit_the_outbreak(fence, people):
    plan = Plan.from_toml(fence.text)
    ready = make_ready(api.read(people, plan=plan), plan)
    encoding = fit_encoding(ready.table)
    assert plan.visits_for(encoding)
    parse_rules(plan.rules, encoding, encoding.encode(ready.table))
    for entry in plan.protections:
        kind = PROTECTIONS[entry["do"]]
        kind.from_settings("protections", {k: v for k, v in entry.items() if k != "do"})


def test_kinds_and_roles_are_explained():
    rows = rows_of(PAGES["docs/tables.md"])
    assert {kind.value for kind in Kind} | {role.value for role in Role} <= set(rows)


def test_reproduced_items_are_explained():
    assert set(named("docs/reproduce.md")) == set(ITEMS)
    for paper, text in named("docs/reproduce.md").items():
        assert set(re.findall(r"(?m)^### `(.+)`$", text)) == set(ITEMS[paper])


def test_public_names_are_explained():
    rows = rows_of(PAGES["docs/python.md"])
    assert set(rows) == set(understudy.__all__)


def test_verdicts_and_keys_of_findings_are_explained():
    estimate = Estimate("ims", 0, 0, 0, 0, Better.LOWER, 0)
    said = codes(PAGES["docs/reading-the-report.md"])
    assert set(Finding(estimate, Verdict.HOLDS).to_json()) <= said
    assert {verdict.value for verdict in Verdict} <= said


def test_what_is_written_is_listed(workshop):
    output, code = run("understudy demo --out demo --seed 7")
    assert code == 0, output
    said = PAGES["README.md"] + PAGES["docs/reading-the-report.md"]
    for path in [*workshop.glob("demo/release/*"), *workshop.glob("demo/private/*")]:
        name = path.name.replace(".parquet", "") if path.parent.name == "release" else path.name
        assert name in said, f"nothing says what {path.name} is"


def test_dependencies_are_justified():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [r for n, e in project["optional-dependencies"].items() if n != "lint" for r in e]
    needed = {re.split(r"[>=<]", r)[0] for r in (*project["dependencies"], *extras)}
    assert needed <= codes(PAGES["docs/dependencies.md"])
    rows = rows_of(sections("docs/dependencies.md")["Core"])
    assert set(rows) == {re.split(r"[>=<]", r)[0] for r in project["dependencies"]}


def test_every_room_of_the_house_is_drawn():
    source = Path(understudy.__file__).parent
    rooms = {p.name for p in source.iterdir() if p.suffix == ".py" and p.name[0] != "_"}
    rooms |= {f"{p.name}/" for p in source.iterdir() if list(p.glob("*.py")) and p.name[0] != "_"}
    filled = {r for r in rooms if r.endswith(".py") or _has_code(source / r)}
    drawn = "".join(f.text for f in fences("docs/architecture.md"))
    missing = {room for room in filled if room.removesuffix(".py") not in drawn}
    assert not missing, f"docs/architecture.md does not draw {missing}"


def _has_code(folder):
    return any(path.read_text(encoding="utf-8").strip() for path in folder.glob("*.py"))


def anchors(page):
    """Anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", PAGES[page]))
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in LINK.findall(PAGES[page]):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page}: {link}"
        if anchor:
            there = str(target.resolve().relative_to(ROOT))
            assert anchor in anchors(there), f"{page}: {link}"


def test_every_page_can_be_reached():
    linked = {link.partition("#")[0] for link in LINK.findall(PAGES["docs/index.md"])}
    assert {Path(page).name for page in PAGES if page.startswith("docs/")} - {"index.md"} <= linked


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_claimed_that_numbers_cannot_say(page):
    assert not NO_CLAIM.search(PAGES[page]), NO_CLAIM.search(PAGES[page])
    assert "/" + "tmp/" not in PAGES[page] and "localhost:" not in PAGES[page]


def test_the_version_has_its_changes():
    assert f"## {understudy.__version__}" in PAGES["CHANGELOG.md"]
    assert "## Unreleased" in PAGES["CHANGELOG.md"]
