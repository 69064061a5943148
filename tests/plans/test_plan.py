import dataclasses
import tomllib

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import PlanError
from understudy.plans import toml
from understudy.plans.plan import Gates, Plan, Split, VisitPlan, shipped_plans
from understudy.tables.encode import fit_encoding
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

names = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["a b", "", "ü.x", '"', "'", "\\", "a\nb", "#", "[a]", "="]),
)
shares = st.floats(0.01, 0.99)
values = st.recursive(
    st.one_of(
        st.booleans(), st.integers(), st.floats(allow_nan=False), names, st.dates(), st.datetimes()
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)
raw = st.lists(st.dictionaries(names, values, max_size=3), max_size=2)
looks = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from([kind.value for kind in Kind]),
        "role": st.sampled_from([role.value for role in Role]),
        "levels": st.lists(names, max_size=3, unique=True),
        "missing": st.lists(names, max_size=2),
        "decimals": st.integers(0, 15),
        "fixed": st.booleans(),
        "label": names,
        "identifier": st.sampled_from(["drop", "surrogate"]),
        "text": st.just("drop"),
    },
).map(lambda look: {**look, "kind": "ordinal"} if "levels" in look else look)
carts = st.fixed_dictionaries(
    {}, optional={"min_leaf": st.one_of(st.just("auto"), st.integers(1, 99)), "complexity": shares}
)
some_names = st.lists(names, max_size=3).map(tuple)
visits = st.builds(
    VisitPlan,
    model=st.just("cart"),
    columns=st.lists(names, min_size=1, max_size=2).map(tuple),
    given=st.one_of(st.none(), some_names),
    without=some_names,
    strata=st.one_of(st.none(), names),
    settings=carts,
)
plans = st.builds(
    Plan,
    name=names,
    columns=st.dictionaries(names, looks, max_size=3),
    missing=some_names,
    prepare=raw.map(tuple),
    split=st.builds(Split, train=shares, strata=st.one_of(st.none(), names)),
    settings=carts,
    order=st.one_of(st.sampled_from(["table", "few-levels-first"]), some_names),
    replicates=st.integers(1, 9),
    rows=st.one_of(st.none(), st.integers(1, 9)),
    visits=st.lists(visits, max_size=2).map(tuple),
    rules=raw.map(tuple),
    protections=raw.map(tuple),
    measures=st.one_of(st.none(), some_names),
    margins=st.dictionaries(names, st.floats(0, 1e9), max_size=2),
    gates=st.builds(Gates, names=some_names, strict=st.booleans(), error=shares),
    min_rows=st.integers(1, 99),
    calibrate=st.booleans(),
    notes=some_names,
)


@settings(max_examples=60, deadline=None)
@given(plans)
def test_a_plan_survives_its_toml(plan):
    again = Plan.from_toml(plan.to_toml())
    assert again == plan
    assert again.sha256 == plan.sha256


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(names, values, max_size=4))
def test_any_document_survives_its_toml(document):
    assert tomllib.loads(toml.dumps(document)) == document


def test_comments_do_not_change_the_hash():
    plan = Plan()
    assert Plan.from_toml("# nothing\n").sha256 == plan.sha256
    assert dataclasses.replace(plan, replicates=2).sha256 != plan.sha256


def test_the_default_plan_ships_as_its_own_toml():
    assert "default" in shipped_plans()
    assert Plan.read("default") == Plan()


def test_read_a_file_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('\ufeffname = "mine"\n', encoding="utf-8")
    assert Plan.read(path).name == "mine"


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlanError, match=r"shipped plan: .*default"):
        Plan.read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("splti = 1", r"splti.*did you mean split\?"),
        ("[split]\ntrian = 0.5", r"split\.trian.*did you mean train\?"),
        ("[split]\ntrain = 75", r"split\.train: got 75, expected a share"),
        ('[synthesis]\nmodel = "cat"', r"synthesis\.model: got 'cat'.*did you mean cart"),
        ("[synthesis]\nmin_leef = 2", r"synthesis\.min_leef.*did you mean min_leaf"),
        ("[synthesis]\nmin_leaf = 0", r"synthesis\.min_leaf: got 0"),
        ("[synthesis]\nreplicates = 0", r"synthesis\.replicates: got 0"),
        ("[synthesis]\nrows = 1.5", r"synthesis\.rows: got 1\.5"),
        ('[synthesis]\norder = "random"', r"synthesis\.order: got 'random'"),
        ('[[visits]]\nmodel = "cart"', r"visits\[0\]\.columns"),
        ('[[visits]]\nmodel = "cart"\ncolumns = []', r"visits\[0\]\.columns"),
        ('[[visits]]\nmodel = "cart"\ncolumns = ["a"]\nminleaf = 3', r"visits\[0\]\.minleaf"),
        ('[columns."a b"]\nkind = "num"', r"columns\.a b\.kind"),
        ('[columns.a]\nkidn = "number"', r"columns\.a\.kidn.*did you mean kind"),
        ('[columns.a]\nidentifier = "keep"', r"columns\.a\.identifier: got 'keep'"),
        ("[margins]\ndcr.p05 = -1", r'margins\."dcr\.p05": got -1'),
        ("[gates]\nstrict = 1", r"gates\.strict: got 1, expected true or false"),
        ('missing = "NA"', r"missing: got 'NA', expected a list of texts"),
        ("rules = 3", r"rules: got 3, expected a list of tables"),
        ("split = 3", r"split: got 3, expected a table of keys"),
        ("[synthesis]\nrows = 3000000000", r"synthesis\.rows: .*from 1 to 2147483647"),
        ('[synthesis]\nmodel = "keep"', r"synthesis\.model: got 'keep'.*by a visit"),
        ("[gates]\nerror = 1e-300", r"gates\.error: got 1e-300"),
        (
            '[columns.a]\nformat = "bogus"',
            r"columns\.a\.format: got 'bogus'.*a date format",
        ),
        ('[columns.a]\nkind = "number"\nformat = "%Y"', r"columns\.a\.format.*'datetime'"),
        ('[columns.a]\nkind = "category"\nlevels = ["x"]', r"columns\.a\.levels.*'ordinal'"),
        ('[columns.a]\nlevels = ["x"]\nformat = "%Y"', r"columns\.a\.(levels|format)"),
        ('[columns.a]\nlevels = ["x", "x"]', r"columns\.a\.levels.*differ"),
        ("x = ", r"cannot be read.*expected valid TOML"),
    ],
)
def test_mistakes_are_named_with_their_key(text, message):
    with pytest.raises(PlanError, match=message):
        Plan.from_toml(text)


def test_a_format_makes_a_date_and_an_order_makes_levels():
    plan = Plan(columns={"born": {"format": "%d/%m/%Y"}, "size": {"levels": ["s", "l"]}})
    assert plan.looks["born"]["kind"] == "datetime" and plan.looks["size"]["kind"] == "ordinal"


def test_a_visit_that_keeps_gives_the_role():
    plan = Plan(
        columns={"age": {"kind": "number", "role": "quasi"}},
        visits=(VisitPlan("keep", ("age", "sex")),),
    )
    assert plan.looks == {"age": {"kind": "number", "role": "keep"}, "sex": {"role": "keep"}}


def test_margins_without_quotes_mean_the_same():
    assert Plan.from_toml("[margins]\ndcr.p05 = 0.1").margins == {"dcr.p05": 0.1}


def test_an_automatic_leaf_is_cart_only():
    assert Plan().needs_leaf
    assert not Plan(settings={"min_leaf": 5}).needs_leaf
    assert not Plan(model="marginal").needs_leaf
    assert dataclasses.replace(Plan(), model="marginal").settings == {}
    visit = VisitPlan("cart", ("a",))
    assert Plan(model="marginal", visits=(visit,)).needs_leaf


def encoding(**roles):
    data = pa.table(
        {
            "many": [f"m{i}" for i in range(60)],
            "sex": ["f", "m"] * 30,
            "age": [20, 30, 40] * 20,
            "wt": [1.0, 2.0, 3.0, 4.0] * 15,
            "zone": ["a", "b", "c", "d", "e"] * 12,
        }
    )
    kinds = [Kind.CATEGORY, Kind.CATEGORY, Kind.NUMBER, Kind.NUMBER, Kind.CATEGORY]
    columns = [
        Column(name, kind, Role(roles.get(name, "other")))
        for name, kind in zip(data.column_names, kinds, strict=True)
    ]
    return fit_encoding(Table(data, Schema(tuple(columns))))


def drawn(plan, **roles):
    return [visit.columns for visit in plan.visits_for(encoding(**roles))]


def test_few_levels_come_first_and_each_predicts_the_next():
    visits = Plan().visits_for(encoding(), leaf=7)
    assert [visit.columns for visit in visits] == [
        ("sex",),
        ("age",),
        ("wt",),
        ("zone",),
        ("many",),
    ]
    assert visits[0].given == ()
    assert visits[3].given == ("sex", "age", "wt")
    assert {visit.model.min_leaf for visit in visits} == {7}


def test_orders():
    assert drawn(Plan(order="table"))[0] == ("many",)
    assert drawn(Plan(order=("zone", "wt"))) == [("zone",), ("wt",), ("sex",), ("age",), ("many",)]


def test_weights_come_last_and_kept_columns_first():
    assert drawn(Plan(), wt="weight")[-1] == ("wt",)
    visits = Plan().visits_for(encoding(zone="keep", many="keep"))
    assert visits[0].columns == ("many", "zone")
    assert visits[0].model.name == "keep"
    assert visits[1].given == ("many", "zone")


def test_named_visits_come_after_what_they_need():
    visit = VisitPlan("cart", ("zone", "many"), given=("age",), settings={"min_leaf": 9})
    visits = Plan(visits=(visit,)).visits_for(encoding())
    assert [v.columns for v in visits] == [("age",), ("zone",), ("many",), ("sex",), ("wt",)]
    assert [v.given for v in visits[1:3]] == [("age",), ("age",)]
    assert visits[1].model.min_leaf == 9


def test_named_visits_may_leave_predictors_out_and_have_strata():
    visit = VisitPlan("cart", ("wt",), without=("sex",), strata="sex")
    visits = Plan(visits=(visit,)).visits_for(encoding())
    assert [v.columns for v in visits[:2]] == [("sex",), ("wt",)]
    assert visits[1].given == ()
    assert visits[1].strata == "sex"


def test_visits_that_need_one_another_are_refused():
    pair = (
        VisitPlan("cart", ("sex",), given=("age",)),
        VisitPlan("cart", ("age",), given=("sex",)),
    )
    with pytest.raises(PlanError, match="drawn before"):
        Plan(visits=pair).visits_for(encoding())


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(columns={"agee": {}}), r"columns\.agee.*many, sex, age.*did you mean age"),
        (Plan(order=("ag",)), r"synthesis\.order: got 'ag'"),
        (Plan(split=Split(strata="x")), r"split\.strata: got 'x'"),
        (Plan(visits=(VisitPlan("cart", ("x",)),)), r"visits\[0\]\.columns"),
        (Plan(visits=(VisitPlan("cart", ("age",), given=("x",)),)), r"visits\[0\]\.given"),
        (Plan(visits=(VisitPlan("cart", ("age",), strata="x"),)), r"visits\[0\]\.strata"),
        (Plan(visits=(VisitPlan("cart", ("age", "age")),)), r"visits\[0\]\.columns: got 'age'"),
        (
            Plan(columns={"age": {"role": "keep"}}, visits=(VisitPlan("cart", ("age",)),)),
            r"visits\[0\]\.columns: got 'age'.*not keep",
        ),
    ],
)
def test_a_plan_that_does_not_fit_the_table(plan, message):
    with pytest.raises(PlanError, match=message):
        plan.check(encoding().schema)


def test_the_default_plan_fits_every_table():
    Plan().check(encoding().schema)


def test_the_distance_is_the_plans():
    plan = Plan.from_toml('[distance]\nmetric = "hamming"\nqueries = 500')
    assert plan.distance.metric == "hamming" and Plan.from_toml(plan.to_toml()) == plan
    with pytest.raises(PlanError, match=r"distance\.metric.*did you mean hamming"):
        Plan.from_toml('distance.metric = "haming"')
    with pytest.raises(PlanError, match=r"distance\.queries"):
        Plan.from_toml("distance.queries = 5")
