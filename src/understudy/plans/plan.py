"""The plan of a release: what is drawn how, what is measured, what blocks. Plan ⇄ TOML."""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import PlanError
from understudy.evidence import METRICS
from understudy.plans import checks, toml
from understudy.plans.tuning import Tuning
from understudy.plans.words import COMMENTS, ORDERS
from understudy.synth import MODELS
from understudy.tables.schema import Column, Kind, Schema

if TYPE_CHECKING:
    from understudy.synth.sequence import Visit
    from understudy.tables.encode import Encoding

AUTO = "auto"
MOST_ROWS = 2**31 - 1  # what positions in Arrow's and our own arrays can count
KEEP = "keep"  # the name of a model and of a role: where one is given, the other follows
_LEAST_ERROR = 1e-6  # rarer false alarms are beyond what intervals can promise
_NEEDS = {"format": "datetime", "levels": "ordinal"}  # the kind that a key makes sense for
_LOOK = ("kind", "role", "levels", "missing", "decimals", "fixed", "format", "label")
_SYNTHESIS = ("model", "order", "replicates", "rows")
_TABLES = (
    "columns",
    "split",
    "synthesis",
    "measure",
    "distance",
    "margins",
    "gates",
    "report",
)
_VISIT = ("model", "columns", "given", "without", "strata")
_GATES = (
    "ims",
    "dcr.p05",
    "nndr.p05",
    "dcr.share",
    "uniques.replicated",
    "copies",
    "likeness",
    "attribute.exceeding",
)


@dataclass(frozen=True)
class Split:
    """How the table is split: the share of train, within the levels of a column if one is named."""

    train: float = 0.75
    strata: str | None = None

    def __post_init__(self) -> None:
        checks.is_share("split.train", self.train)
        if self.strata is not None:
            checks.is_text("split.strata", self.strata)


@dataclass(frozen=True)
class VisitPlan:
    """One step of the synthesis: a model that draws some columns given others.

    Attributes:
        model: the model's name.
        columns: the columns it draws (one after the other, if it draws one at a time).
        given: the columns it predicts from (None: all drawn before).
        without: columns that it must not predict from.
        strata: a column whose levels each get a model of their own.
        settings: the model's settings.
    """

    model: str
    columns: tuple[str, ...]
    given: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    strata: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("columns", "without"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.given is not None:
            object.__setattr__(self, "given", tuple(self.given))
        object.__setattr__(self, "settings", checks.plain(self.settings))

    def to_dict(self) -> dict[str, Any]:
        """The visit as a TOML table."""
        own = {name: getattr(self, name) for name in _VISIT}
        return {**own, "without": self.without or None, **self.settings}

    @classmethod
    def from_dict(cls, where: str, table: Mapping[str, Any]) -> VisitPlan:
        """Read a TOML table."""
        for name in ("model", "columns"):
            if name not in table:
                raise PlanError(f"{where}.{name}", None, "a value: each visit names its own")
        if not table["columns"]:
            raise PlanError(f"{where}.columns", table["columns"], "at least one column")
        given = table.get("given")
        if table.get("strata") is not None:
            checks.is_text(f"{where}.strata", table["strata"])
        return cls(
            table["model"],
            checks.texts(f"{where}.columns", table["columns"]),
            None if given is None else checks.texts(f"{where}.given", given),
            checks.texts(f"{where}.without", table.get("without", [])),
            table.get("strata"),
            {name: value for name, value in table.items() if name not in _VISIT},
        )


@dataclass(frozen=True)
class Distance:
    """How far apart two rows are, for all that measures closeness; how many rows ask.

    Attributes:
        metric: ``typed``, ``euclidean-codes`` (Bale & Quick) or ``hamming`` (on cells).
        queries: at most this many rows of a release ask for their neighbours; train is never
            sampled.
    """

    metric: str = "typed"
    queries: int = 20_000

    def __post_init__(self) -> None:
        checks.one_of("distance.metric", self.metric, METRICS)
        checks.is_whole("distance.queries", self.queries, 100)


@dataclass(frozen=True)
class Gates:
    """What blocks a release: which measures, how strictly, at which family-wise error rate."""

    names: tuple[str, ...] = _GATES
    strict: bool = False
    error: float = 0.05

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", checks.texts("gates.names", self.names))
        checks.is_flag("gates.strict", self.strict)
        checks.is_share("gates.error", self.error)
        if self.error < _LEAST_ERROR:
            raise PlanError("gates.error", self.error, f"a share from {_LEAST_ERROR}")


@dataclass(frozen=True)
class Report:
    """What the private report shows.

    Attributes:
        map: points of people on a map, where two columns say where they are.
    """

    map: bool = True

    def __post_init__(self) -> None:
        checks.is_flag("report.map", self.map)


@dataclass(frozen=True)
class Plan:
    """All that a release is made from, beside the table and the seed.

    Example:
        >>> plan = Plan.from_toml("split.train = 0.8")
        >>> plan.split.train, plan.model, plan.settings
        (0.8, 'cart', {'min_leaf': 'auto'})
    """

    name: str = "default"
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    published: tuple[Mapping[str, Any], ...] = ()
    prepare: tuple[Mapping[str, Any], ...] = ()
    split: Split = Split()
    model: str = "cart"
    settings: Mapping[str, Any] = field(default_factory=dict)
    order: str | tuple[str, ...] = "few-levels-first"
    replicates: int = 1
    rows: int | None = None
    visits: tuple[VisitPlan, ...] = ()
    rules: tuple[Mapping[str, Any], ...] = ()
    protections: tuple[Mapping[str, Any], ...] = ()
    measures: tuple[str, ...] | None = None
    measure: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    distance: Distance = Distance()
    margins: Mapping[str, float] = field(default_factory=dict)
    gates: Gates = Gates()
    report: Report = Report()
    min_rows: int = 50
    calibrate: bool = True
    notes: tuple[str, ...] = ()
    tune: Tuning | None = None

    def __post_init__(self) -> None:
        for name in ("missing", "notes"):
            object.__setattr__(self, name, checks.texts(name, getattr(self, name)))
        for name in ("published", "prepare", "rules", "protections"):
            object.__setattr__(self, name, checks.tables(name, getattr(self, name)))
        if self.measures is not None:
            object.__setattr__(self, "measures", checks.texts("measures", self.measures))
        if not isinstance(self.order, str):
            object.__setattr__(self, "order", checks.texts("synthesis.order", self.order))
        for name in ("columns", "settings", "measure", "margins"):
            object.__setattr__(self, name, checks.plain(getattr(self, name)))
        object.__setattr__(self, "settings", _with_auto(self.model, self.settings))
        object.__setattr__(self, "visits", tuple(self.visits))
        self._check_values()

    def _check_values(self) -> None:
        checks.is_text("name", self.name)
        _check_columns(self.columns)
        checks.publications("published", self.published)
        if isinstance(self.order, str):
            checks.one_of("synthesis.order", self.order, ORDERS)
        if self.model == KEEP:
            expected = "a model that draws; columns are kept by their role, or by a visit"
            raise PlanError("synthesis.model", self.model, expected)
        check_model("synthesis", self.model, self.settings, _SYNTHESIS)
        checks.is_whole("synthesis.replicates", self.replicates, 1)
        if self.rows is not None:
            checks.is_whole("synthesis.rows", self.rows, 1, MOST_ROWS)
        for place, visit in enumerate(self.visits):
            _check_visit(f"visits[{place}]", visit)
        for name, settings in self.measure.items():
            checks.is_table(f"measure.{toml.key(name)}", settings)
        for name, margin in self.margins.items():
            checks.is_margin(f"margins.{toml.key(name)}", margin)
        checks.is_whole("min_rows", self.min_rows, 1)
        checks.is_flag("calibrate", self.calibrate)

    @classmethod
    def from_toml(cls, text: str, where: str = "plan") -> Plan:
        """Read TOML text; ``where`` names it in messages about its syntax."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PlanError(where, f"TOML that cannot be read: {error}", "valid TOML") from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Plan:
        """Read a parsed TOML document."""
        own = [item.name for item in fields(cls) if item.name not in (*_SYNTHESIS, "settings")]
        checks.known_keys("", document, [*own, "synthesis"])
        for name in _TABLES:
            checks.is_table(name, document.get(name, {}))
        values = {name: value for name, value in document.items() if name != "synthesis"}
        synthesis = document.get("synthesis", {})
        values |= {name: value for name, value in synthesis.items() if name in _SYNTHESIS}
        values["settings"] = {k: v for k, v in synthesis.items() if k not in _SYNTHESIS}
        values["split"] = _section(Split, "split", document)
        values["distance"] = _section(Distance, "distance", document)
        values["gates"] = _section(Gates, "gates", document)
        if "tune" in document:
            checks.is_table("tune", document["tune"])
            values["tune"] = _section(Tuning, "tune", document)
        values["report"] = _section(Report, "report", document)
        values["margins"] = dict(_flat(document.get("margins", {})))
        visits = checks.tables("visits", document.get("visits", []))
        values["visits"] = [VisitPlan.from_dict(f"visits[{i}]", v) for i, v in enumerate(visits)]
        return cls(**values)

    @classmethod
    def read(cls, path_or_name: str | Path) -> Plan:
        """Read a plan file (``-``: standard input), or a plan that ships with the package."""
        if str(path_or_name) == "-" and sys.stdin is not None:
            return cls.from_toml(sys.stdin.read(), "standard input")
        path = Path(path_or_name)
        shipped = resources.files("understudy.plans").joinpath(f"{path_or_name}.toml")
        if not path.is_file() and path.name == str(path_or_name) and shipped.is_file():
            return cls.from_toml(shipped.read_text(encoding="utf-8"), str(path_or_name))
        try:
            return cls.from_toml(path.read_text(encoding="utf-8-sig"), path.name)
        except (OSError, UnicodeDecodeError, ValueError):
            expected = f"a plan file in UTF-8, or a shipped plan: {', '.join(shipped_plans())}"
            raise PlanError("plan", str(path_or_name), expected) from None

    def to_dict(self) -> dict[str, Any]:
        """The plan as a TOML document: every value, defaults included."""
        synthesis = {name: getattr(self, name) for name in _SYNTHESIS}
        return {
            "name": self.name,
            "min_rows": self.min_rows,
            "missing": self.missing,
            "measures": self.measures,
            "calibrate": self.calibrate,
            "notes": self.notes,
            "columns": self.columns,
            "published": self.published or None,
            "prepare": self.prepare or None,
            "split": vars(self.split),
            "synthesis": synthesis | dict(self.settings),
            "visits": [visit.to_dict() for visit in self.visits] or None,
            "rules": self.rules or None,
            "protections": self.protections or None,
            "measure": self.measure or None,
            "distance": vars(self.distance),
            "margins": self.margins,
            "gates": vars(self.gates),
            "tune": None if self.tune is None else self.tune.to_dict(),
            "report": vars(self.report),
        }

    def to_toml(self) -> str:
        """The plan as TOML text with comments; `from_toml` reads the same plan from it."""
        return toml.dumps(self.to_dict(), COMMENTS)

    @property
    def sha256(self) -> str:
        """Hash of the plan's values: comments and spacing do not count."""
        return hashlib.sha256(toml.dumps(self.to_dict()).encode()).hexdigest()

    @property
    def looks(self) -> dict[str, dict[str, Any]]:
        """The part of ``columns`` that `Schema.update` takes; a visit that keeps is a role."""
        looks = {name: _look(look) for name, look in self.columns.items()}
        kept = [name for v in self.visits if v.model == KEEP for name in v.columns]
        return {**looks, **{name: {**looks.get(name, {}), "role": KEEP} for name in kept}}

    @property
    def needs_leaf(self) -> bool:
        """Some leaf size is to be chosen from the data."""
        models = [(self.model, self.settings)] + [(v.model, v.settings) for v in self.visits]
        return any(_with_auto(*model).get("min_leaf") == AUTO for model in models)

    def visits_for(self, encoding: Encoding, leaf: int = 5) -> tuple[Visit, ...]:
        """The visits, in order, that draw every encoded column; ``leaf`` is the automatic size."""
        from understudy.plans.visits import visits_for

        return visits_for(self, encoding, leaf)

    def check(self, schema: Schema) -> None:
        """Raise `PlanError` where the plan does not fit the table."""
        from understudy.plans.visits import check

        check(self, schema)


def shipped_plans() -> list[str]:
    """Names of the plans that ship with the package."""
    files = resources.files("understudy.plans").iterdir()
    return sorted(item.name[:-5] for item in files if item.name.endswith(".toml"))


def check_model(
    where: str, name: str, settings: Mapping[str, Any], beside: tuple[str, ...] = ()
) -> None:
    """Check a model's name and settings; ``beside`` are keys that the same table knows."""
    checks.one_of(f"{where}.model", name, MODELS)
    model = MODELS[name]
    known = [item.name for item in fields(model)]
    checks.known_keys(where, settings, [*beside, *known])
    model.from_settings(where, resolved(name, settings, 5))


def resolved(name: str, settings: Mapping[str, Any], leaf: int) -> dict[str, Any]:
    """Settings with ``leaf`` where the leaf size is automatic."""
    full = _with_auto(name, settings)
    return {key: leaf if (key, value) == ("min_leaf", AUTO) else value
            for key, value in full.items()}  # fmt: skip


def _with_auto(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A leaf size that is not given is chosen from the data; other models than cart have none."""
    if name == "cart":
        return {"min_leaf": AUTO, **settings}
    return {key: value for key, value in settings.items() if (key, value) != ("min_leaf", AUTO)}


def _section(kind: type[Any], where: str, document: Mapping[str, Any]) -> Any:
    table = document.get(where, {})
    checks.known_keys(where, table, [item.name for item in fields(kind)])
    return kind(**table)


def _flat(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Measures by name: ``dcr.p05 = 0.1`` without quotes means the same as with them."""
    pairs: list[tuple[str, Any]] = []
    for name, value in table.items():
        pairs += _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else [
            (before + name, value)
        ]  # fmt: skip
    return pairs


def _check_columns(columns: Mapping[str, Mapping[str, Any]]) -> None:
    for name, look in columns.items():
        where = f"columns.{toml.key(name)}"
        checks.is_table(where, look)
        checks.known_keys(where, look, [*_LOOK, "identifier", "text"])
        if "identifier" in look:
            checks.one_of(f"{where}.identifier", look["identifier"], ["drop", "surrogate"])
        if "text" in look:
            checks.one_of(f"{where}.text", look["text"], ["drop"])
        kind = look.get("kind")
        for key in _NEEDS.keys() & look:
            if kind not in (None, _NEEDS[key]) or len(_NEEDS.keys() & look) > 1:
                expected = f"nothing, or kind = {_NEEDS[key]!r}: no other kind has a {key}"
                raise PlanError(f"{where}.{key}", look[key], expected)
        Schema((Column(name, Kind.NUMBER),)).update({name: _look(look)})


def _look(look: Mapping[str, Any]) -> dict[str, Any]:
    """The schema's part of a column's table; a date format or an order of levels names a kind."""
    implied = [("kind", kind) for key, kind in _NEEDS.items() if key in look]
    return dict(implied) | {key: value for key, value in look.items() if key in _LOOK}


def _check_visit(where: str, visit: VisitPlan) -> None:
    check_model(where, visit.model, visit.settings, _VISIT)
