"""Inference prevention: then no ratio exceeds c, by brute force; or it refuses and says why."""

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from understudy import api
from understudy.cli import cli
from understudy.errors import PlanError, ProtectionError
from understudy.plans.plan import Plan
from understudy.protect import InferencePrevention
from understudy.study.maker import Maker, protections
from understudy.synth.cart import Cart
from understudy.synth.marginal import Marginal
from understudy.synth.mixture import Mixture
from understudy.synth.rule_kinds import parse_rules
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import fit_encoding, stack
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

SCHEMA = Schema(
    (
        Column("x", Kind.NUMBER, Role.LOCATION),
        Column("y", Kind.NUMBER, Role.LOCATION),
        Column("sex", Kind.CATEGORY, Role.QUASI),
        Column("ill", Kind.CATEGORY, Role.SENSITIVE),
        Column("pay", Kind.NUMBER, Role.SENSITIVE),
        Column("job", Kind.CATEGORY),
    )
)
VISITS = (
    Visit(Mixture(components=3, starts=1), ("x", "y")),
    Visit(Marginal(), ("sex",)),
    Visit(Cart(min_leaf=5), ("ill",), ("x", "sex")),
    Visit(Cart(min_leaf=5), ("pay",), ("x", "ill")),
    Visit(Cart(min_leaf=5), ("job",), ("sex", "ill", "pay")),
)


def people(rng, rows, levels=("no", "yes", "maybe"), shares=(0.8, 0.12, 0.08)):
    sex = rng.choice(["f", "m"], rows)
    x, y = rng.normal(size=(2, rows))
    arrays = {
        "x": [None if rng.random() < 0.05 else float(v) for v in x],
        "y": y,
        "sex": sex.tolist(),
        "ill": [None if rng.random() < 0.02 else v for v in rng.choice(levels, rows, p=shares)],
        "pay": np.round(np.exp(rng.normal(3 + 0.5 * x, 0.5)), 1),
        "job": np.where(sex == "f", "smith", rng.choice(["baker", "clerk"], rows)).tolist(),
    }
    return Table(pa.table(arrays), SCHEMA)


class World:
    def __init__(self, seed, rows=150, drawn=200, visits=VISITS, roles=None, rules=(), **kwargs):
        self.rng = np.random.default_rng([3, seed])
        table = people(self.rng, rows, **kwargs)
        if roles:
            changes = {name: {"role": role} for name, role in roles.items()}
            table = table.with_schema(table.schema.update(changes))
        self.encoding = fit_encoding(table)
        self.train = self.encoding.encode(table)
        parsed = parse_rules(rules, self.encoding, self.train)
        self.fitted = Sequential(visits, parsed).fit(self.train, seed=seed)
        self.drawn = self.fitted.sample(drawn, seed=seed, replicate=1).block

    def protect(self, **keys):
        step = InferencePrevention.from_settings("p", keys)
        return step.apply(self.drawn, self.train, Maker(self.fitted),
                          rng=np.random.default_rng(1))  # fmt: skip


def slow_largest(world, rows, name, deltas, group=None, prior=None):
    """Largest ratio over records and radii, pair by pair; ``deltas`` None: every radius."""
    train = world.train
    group = group or (lambda block: block.codes[name])
    own, other = group(train), group(rows)
    largest = 0.0
    for j in range(train.rows):
        apart = np.zeros(rows.rows)
        for key in ("x", "y"):
            one, all_ = train.values[key][j], rows.values[key]
            gap = (all_ - one) / world.encoding[key].sd
            both = np.isnan(one) & np.isnan(all_)
            apart += np.where(both, 0.0, np.where(np.isnan(gap), 1.0, gap * gap))
        distance = np.sqrt(apart)
        distance[rows.codes["sex"] != train.codes["sex"][j]] = np.inf
        for delta in np.unique(distance[np.isfinite(distance)]) if deltas is None else deltas:
            ball = distance <= delta
            if ball.any():
                believed = (own == own[j]).mean() if prior is None else prior[own[j]]
                largest = max(largest, (other[ball] == own[j]).mean() / believed)
    return largest


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.5, 6), st.sampled_from(["grid", "all", 0.3]))
def test_no_ratio_exceeds_c(seed, c, delta):
    """Three levels and a number in four intervals, at every declared radius; or a refusal."""
    world = World(seed, rows=60, drawn=70)
    deltas = {"grid": (0.1, 0.4), "all": None}.get(delta, (delta,))
    keys = {"c": c, "delta": delta, "deltas": [0.1, 0.4], "intervals": {"pay": 4}}
    try:
        rows, receipt = world.protect(**keys)
    except ProtectionError as error:
        assert "cannot keep every ratio" in str(error)
        return
    step = InferencePrevention.from_settings("p", keys)
    pay = step.target(world.train, "pay").groups.of
    assert slow_largest(world, rows, "ill", deltas) <= c * (1 + 1e-8)
    assert slow_largest(world, rows, "pay", deltas, pay) <= c * (1 + 1e-8)
    assert receipt.added == rows.rows - world.drawn.rows and receipt.left == 0


@pytest.mark.parametrize("delta", ["grid", "all", 0.2])
def test_ordinary_bounds_are_met_and_the_receipt_says_how(delta):
    world = World(1, roles={"pay": "other"})
    rows, receipt = world.protect(c=4.0, delta=delta)
    deltas = {"grid": InferencePrevention().deltas, "all": None}.get(delta, (delta,))
    numbers = receipt.numbers
    for when, block in (("before", world.drawn), ("after", rows)):
        expected = slow_largest(world, block, "ill", deltas)
        assert numbers[f"largest ratio of ill {when}"] == pytest.approx(expected, abs=1e-3)
    assert numbers["largest ratio of ill before"] > 4 >= numbers["largest ratio of ill after"]
    assert receipt.added == rows.rows - world.drawn.rows > 0 and receipt.rounds > 0
    assert "pMSE ratio (tree) after" in numbers and "c = 4" in receipt.note
    json = receipt.to_json()
    assert json["added"] == receipt.added and json["largest ratio of ill after"] <= 4


def test_the_bound_holds_in_the_table_that_is_written():
    world = World(1, roles={"pay": "other"})
    rows, _ = world.protect(c=4.0)
    again = world.encoding.encode(world.encoding.decode(rows))
    assert slow_largest(world, again, "ill", InferencePrevention().deltas) <= 4 * (1 + 1e-8)


def test_drawn_rows_stay_and_added_ones_are_synthetic():
    """No number of a person is handed on, levels are the person's, and the place tells nothing."""
    world = World(2, roles={"pay": "other"})
    rows, receipt = world.protect(c=3.0, delta="all")
    drawn = {(float(x), float(y)) for x, y in zip(world.drawn.values["x"], world.drawn.values["y"],
                                                  strict=True)}  # fmt: skip
    pairs = list(zip(rows.values["x"].tolist(), rows.values["y"].tolist(), strict=True))
    added = [place for place, pair in enumerate(pairs) if str(pair) not in set(map(str, drawn))]
    assert len(added) == receipt.added > 10
    for key in ("x", "y"):
        theirs = set(world.train.values[key][~np.isnan(world.train.values[key])].tolist())
        assert not theirs & set(rows.values[key][added].tolist())
    assert abs(np.mean(added) / rows.rows - 0.5) < 0.25  # 0.25 is six standard errors
    assert set(rows.codes["sex"][added]) <= set(world.train.codes["sex"])


def test_other_levels_come_in_proportion_to_their_priors():
    """Everybody in one ball has the rarest level: what is added has the two others, 3 to 1."""
    world = World(3, rows=200, roles={"pay": "other", "x": "other", "y": "other"})
    level = world.encoding["ill"].levels.index("yes")
    world.drawn = world.drawn.take(world.drawn.codes["ill"] == level)
    rows, receipt = world.protect(
        c=4.0, priors={"ill": {"yes": 0.1, "no": 0.6, "maybe": 0.2, "": 0.1}}, most=100.0
    )
    counts = np.bincount(rows.codes["ill"], minlength=4)
    names = [*world.encoding["ill"].levels, ""]
    added = {name: int(count) for name, count in zip(names, counts, strict=False)}
    assert receipt.added == sum(added.values()) - world.drawn.rows
    assert added["no"] == pytest.approx(3 * added["maybe"], abs=6)
    assert added[""] == pytest.approx(added["maybe"], abs=6)


def test_one_ball_gets_the_rows_it_needs_and_no_more():
    """By sex alone: m rows of one level among m need ⌈m / (c·p)⌉ − m others, whoever asks first."""
    world = World(3, rows=200, roles={"pay": "other", "x": "other", "y": "other"})
    level = world.encoding["ill"].levels.index("yes")
    world.drawn = world.drawn.take(world.drawn.codes["ill"] == level)
    prior = {"yes": 0.1, "no": 0.6, "maybe": 0.25, "": 0.05}
    _, receipt = world.protect(c=4.0, priors={"ill": prior}, most=100.0)
    each = np.bincount(world.drawn.codes["sex"])
    assert receipt.added == (np.ceil(each / 0.4 - 1e-9) - each).sum() > 20
    assert receipt.rounds == 1


def test_two_columns_are_both_relieved():
    keys = {"c": 2.5, "delta": 1.0, "intervals": {"pay": 4}}
    world = World(11)
    rows, receipt = world.protect(**keys)
    pay = InferencePrevention.from_settings("p", keys).target(world.train, "pay").groups.of
    for name, group in (("ill", None), ("pay", pay)):
        before, after = (slow_largest(world, b, name, (1.0,), group) for b in (world.drawn, rows))
        assert before > 2.5 * 1.01 and after <= 2.5 * (1 + 1e-8)
        assert receipt.numbers[f"largest ratio of {name} before"] == pytest.approx(before, abs=1e-3)
        assert receipt.numbers[f"largest ratio of {name} after"] == pytest.approx(after, abs=1e-3)


def test_the_receipt_compares_the_table_before_with_the_table_after(monkeypatch):
    name = "understudy.protect.inference_prevention.likeness"
    monkeypatch.setattr(name, lambda train, block, seed: float(block.rows))
    world = World(1, roles={"pay": "other"})
    rows, receipt = world.protect(c=4.0)
    assert receipt.numbers["pMSE ratio (tree) before"] == world.drawn.rows
    assert receipt.numbers["pMSE ratio (tree) after"] == rows.rows > world.drawn.rows


def test_remaining_columns_are_drawn_given_the_rest_and_rules_hold():
    """Among women everybody is a smith: also among added ones."""
    rules = ({"kind": "if", "when": {"column": "ill", "in": ["yes"]},
              "then": {"column": "pay", "at_least": 1.0}},)  # fmt: skip
    world = World(4, roles={"pay": "other"}, rules=rules)
    rows, receipt = world.protect(c=3.0)
    women = rows.codes["sex"] == world.encoding["sex"].levels.index("f")
    smith = world.encoding["job"].levels.index("smith")
    assert receipt.added > 5
    assert (rows.codes["job"][women] == smith).mean() == 1.0
    (rule,) = world.fitted.settings.rules
    assert not rule.broken(rows).any()


def test_numbers_come_near_from_any_model():
    """Without a mixture, trees draw given what the person is."""
    visits = (Visit(Marginal(), ("sex",)), Visit(Cart(min_leaf=5), ("x",), ("sex",)),
              Visit(Cart(min_leaf=5), ("y",), ("sex", "x")), *VISITS[2:])  # fmt: skip
    world = World(5, visits=visits, roles={"pay": "other"})
    rows, receipt = world.protect(c=4.0)
    assert receipt.added > 0
    assert slow_largest(world, rows, "ill", InferencePrevention().deltas) <= 4 * (1 + 1e-8)


@pytest.mark.parametrize("roles", [
    {"ill": "other", "pay": "other"},
    {"x": "other", "y": "other", "sex": "other"},
])  # fmt: skip
def test_nothing_to_protect_changes_nothing(roles):
    world = World(6, roles=roles)
    rows, receipt = world.protect()
    assert rows is world.drawn and receipt.added == 0 and receipt.note


class Far(Maker):
    """A source whose numbers come to the person's neighbourhood, but never within a ball."""

    def near(self, record, rows, columns, *, seed):
        drawn = super().near(record, rows, columns, seed=seed)
        values = {
            name: np.full(rows, record.values[name][0] + 3 * self.fitted.encoding[name].sd)
            for name in drawn.values
        }
        return drawn.encoding.block(drawn.codes, values, rows)


@pytest.mark.parametrize(
    ("keys", "source", "reason"),
    [
        ({"c": 1.0, "rounds": 3, "most": 1e6}, Maker, "3 rounds"),
        ({"c": 1.2, "most": 0.001}, Maker, "most = 0.001 times"),
        ({"c": 2.0}, Far, "none of which fell into the ball"),
    ],
)
def test_what_cannot_be_met_is_refused(keys, source, reason):
    world = World(7, roles={"pay": "other"})
    step = InferencePrevention.from_settings("p", keys)
    with pytest.raises(ProtectionError, match=reason) as error:
        step.apply(world.drawn, world.train, source(world.fitted), rng=np.random.default_rng(1))
    said = str(error.value)
    assert f"c = {keys['c']:g}" in said and "records of ill" in said and "Raise c" in said


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"c": 0.9}, r"p\.c: got 0\.9, expected a number, at least 1"),
        ({"rounds": 0}, r"p\.rounds: got 0"),
        ({"candidates": 2.5}, r"p\.candidates: got 2\.5"),
        ({"most": 0}, r"p\.most: got 0"),
        ({"sweep": [0.5]}, r"p\.sweep"),
        ({"delta": -0.1}, r"p\.delta"),
    ],
)
def test_mistakes_are_named(keys, message):
    with pytest.raises(PlanError, match=message):
        InferencePrevention.from_settings("p", keys)


PLAN = """
measures = ["attribute"]
gates.names = ["attribute.exceeding"]
synthesis.min_leaf = 20
[columns.place]
role = "location"
[columns.sex]
role = "quasi"
[columns.ill]
role = "sensitive"
[measure.attribute]
c = {c}
deltas = [0.05, 0.2]
[[protections]]
do = "inference-prevention"
rounds = 4
"""


def written(tmp_path, c):
    rng = np.random.default_rng(4)
    ill = np.where(rng.random(300) < 0.08, "yes", "no")
    table = pa.table(
        {"place": rng.normal(size=300), "sex": rng.choice(["f", "m"], 300), "ill": ill}
    )
    (tmp_path / "plan.toml").write_text(PLAN.format(c=c), encoding="utf-8")
    csv.write_csv(table, tmp_path / "people.csv")
    words = ["release", f"{tmp_path}/people.csv", "--plan", f"{tmp_path}/plan.toml",
             "--out", f"{tmp_path}/out", "--seed", str(2**100), "--jobs", "1"]  # fmt: skip
    return CliRunner().invoke(cli, words)


def test_a_refusal_leaves_nothing(tmp_path):
    done = written(tmp_path, 1.0)
    assert isinstance(done.exception, ProtectionError)  # the command exits with 2
    assert not (tmp_path / "out").exists()


def test_the_note_says_that_rows_were_added_without_numbers(tmp_path):
    done = written(tmp_path, 4.0)
    note = (tmp_path / "out" / "release" / "NOTE.md").read_text(encoding="utf-8")
    assert done.exit_code == 0, done.output
    assert "rows were added" in note and "`ill`" in note
    findings = (tmp_path / "out" / "private" / "findings.json").read_text(encoding="utf-8")
    assert "largest ratio of ill after" in findings
    assert "largest ratio" not in note


def test_what_the_entry_does_not_say_is_the_measures():
    plan = Plan.from_toml(PLAN.format(c=4.0))
    (step,) = protections(plan, kept=False)
    assert step.c == 4.0 and step.deltas == (0.05, 0.2) and step.rounds == 4


def test_a_plan_with_priors_is_written_and_read_again():
    entry = {
        "do": "inference-prevention",
        "priors": {"ill": {"yes": 0.1, "no": 0.9}},
        "widths": {"pay": 5.0},
    }
    plan = Plan(protections=(entry,), measure={"attribute": {"priors": entry["priors"]}})
    assert Plan.from_toml(plan.to_toml()) == plan


def test_kept_columns_cannot_be_added_to():
    table = pa.table({"a": np.arange(80) % 7, "b": np.arange(80) % 3})
    entry = {"do": "inference-prevention"}
    plan = Plan(columns={"a": {"role": "keep"}}, protections=(entry,), settings={"min_leaf": 20})
    with pytest.raises(PlanError, match="since columns are kept"):
        api.synthesize(table, plan, seed=1)


def test_replicates_pooled_hold_as_well():
    """Each share is at most c·p, so is their mean."""
    world = World(9, roles={"pay": "other"})
    blocks = []
    for number in (1, 2):
        world.drawn = world.fitted.sample(150, seed=9, replicate=number).block
        blocks.append(world.protect(c=4.0, delta="all")[0])
    assert slow_largest(world, stack(blocks), "ill", None) <= 4 * (1 + 1e-8)
