"""Tables small enough to read, with everything in them that breaks programs."""

import datetime as dt
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from understudy.cli import main
from understudy.evidence import Evidence
from understudy.plans.plan import Gates, Plan
from understudy.risk import MEASURES as RISKS
from understudy.study.judge import MEASURES, Gating, judge_all, measures_of
from understudy.tables.encode import Block, fit_encoding, stack
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table

COLUMNS = (
    Column("sex", Kind.CATEGORY),
    Column("grade", Kind.ORDINAL, levels=("low", "middle", "high", "never seen")),
    Column("age", Kind.NUMBER),
    Column("income", Kind.NUMBER, decimals=2),
    Column("born", Kind.DATETIME, format="%Y-%m-%d"),
    Column("huge", Kind.NUMBER),
    Column("constant", Kind.NUMBER),
    Column("same", Kind.CATEGORY),
    Column("gone", Kind.NUMBER),
    Column("empty", Kind.CATEGORY),
)


def mixed_arrays(rows, seed):
    """One array per column; age and income depend on sex and grade."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m", "ø divers 多", None], rows, p=[0.45, 0.4, 0.1, 0.05])
    grade = rng.choice(["low", "middle", "high"], rows, p=[0.5, 0.3, 0.2])
    age = np.round(rng.normal(30, 15, rows) + 10 * (sex == "f")).astype(int)
    income = np.round(
        rng.lognormal(3 + (grade == "high"), 1, rows) * rng.choice([0, 1, 1], rows), 2
    )
    born = [
        dt.date(1950, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 9000, rows)
    ]
    return {
        "sex": pa.array(list(sex), pa.string()),
        "grade": pa.array(list(grade), pa.string()),
        "age": pa.array([None if rng.random() < 0.1 else int(a) for a in age], pa.int64()),
        "income": pa.array([None if rng.random() < 0.1 else float(x) for x in income]),
        "born": pa.array([None if rng.random() < 0.1 else day for day in born], pa.date32()),
        "huge": pa.array([10**17 + int(k) for k in rng.integers(0, 50, rows)], pa.int64()),
        "constant": pa.array([4] * rows, pa.int64()),
        "same": pa.array(["always"] * rows, pa.string()),
        "gone": pa.array([None] * rows, pa.float64()),
        "empty": pa.array([None] * rows, pa.string()),
    }


def mixed_table(rows=80, seed=1, names=None):
    """People with ties, zeros, negative and missing values, unicode, dates and huge numbers."""
    arrays = mixed_arrays(rows, seed)
    names = tuple(arrays) if names is None else tuple(names)
    schema = Schema(COLUMNS).select(names)
    return Table(pa.table([arrays[name] for name in names], names=list(names)), schema)


def number_table(values, name="x"):
    """One numeric column."""
    return Table(pa.table({name: pa.array(values)}), Schema((Column(name, Kind.NUMBER),)))


def level_table(**columns):
    """Category columns."""
    schema = Schema(tuple(Column(name, Kind.CATEGORY) for name in columns))
    arrays = {name: pa.array(list(values), pa.string()) for name, values in columns.items()}
    return Table(pa.table(arrays), schema)


def frozen(block):
    """The same block; writing into it raises."""
    for array in (*block.codes.values(), *block.values.values()):
        array.flags.writeable = False
    return block


def encoded(table, **settings):
    """Encode a table with its own encoding; the arrays cannot be written to."""
    return frozen(fit_encoding(table, **settings).encode(table))


def same_block(a, b):
    """Tell whether two blocks hold the same bytes."""
    return (
        a.names == b.names
        and all(np.array_equal(a.codes[name], b.codes[name]) for name in a.names)
        and all(np.array_equal(a.values[n], b.values[n], equal_nan=True) for n in a.values)
    )


def replaced(block, row, other, at):
    """The block with row ``row`` replaced by row ``at`` of another block."""
    codes = {name: array.copy() for name, array in block.codes.items()}
    values = {name: array.copy() for name, array in block.values.items()}
    for name, array in codes.items():
        array[row] = other.codes[name][at]
    for name, array in values.items():
        array[row] = other.values[name][at]
    return Block(block.encoding, block.rows, codes, values)


class Make:
    """The builders above, handed to tests as one fixture (test files import no test files)."""

    mixed = staticmethod(mixed_table)
    numbers = staticmethod(number_table)
    levels = staticmethod(level_table)
    encoded = staticmethod(encoded)
    same = staticmethod(same_block)
    replaced = staticmethod(replaced)
    frozen = staticmethod(frozen)


@pytest.fixture
def make():
    return Make


@pytest.fixture
def seed():
    """A long seed: short ones block a release."""
    return 0x5EED_0123_4567_89AB_CDEF_0123_4567_89AB


@pytest.fixture(scope="session")
def data():
    """The folder of real tables; what needs it is skipped by name where it is absent."""
    folder = os.environ.get("UNDERSTUDY_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("UNDERSTUDY_DATA names no folder: the real tables are not here")
    return Path(folder)


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit status and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capfd):
    """Run a command as the shell would, in this process: every warning is an error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["understudy", *map(str, arguments)])
        monkeypatch.setattr(sys, "warnoptions", ["error"])
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        printed = capfd.readouterr()
        return Ran(left.value.code, printed.out, printed.err)

    return run


_QUASI = ("x0", "sex", "age", "c0", "c1", "c2", "b")
_SENSITIVE = ("ill", "pay")


def people_arrays(process, rows, rng):
    """Fresh rows of a known process: three numbers, mixed columns, five coarse ones, or one.

    ``sensitive`` has a rare illness and a pay that go with sex and age.
    """
    if process == "continuous":
        shared = rng.normal(size=rows)
        return {f"x{i}": shared + rng.normal(size=rows) for i in range(3)}
    if process == "mixed":
        sex = rng.choice(["f", "m", "x"], rows, p=[0.5, 0.4, 0.1])
        age = np.round(rng.normal(40, 12, rows) + 10 * (sex == "f"))
        income = np.round(rng.lognormal(age / 30, 1) * (rng.random(rows) < 0.7), 1)
        return {"sex": sex, "age": age, "income": income, "town": rng.choice(list("pqrst"), rows)}
    if process == "sensitive":
        sex, age = rng.choice(["f", "m"], rows), np.round(rng.normal(40, 12, rows))
        ill = np.where(rng.random(rows) < 0.04 + 0.04 * (age > 45), "yes", "no")
        return {"sex": sex, "age": age, "ill": ill, "pay": np.round(rng.lognormal(age / 30, 0.5))}
    if process == "coarse":
        shared = rng.normal(size=rows)
        cut = [np.digitize(shared + rng.normal(size=rows), [-0.6, 0.9]) for _ in range(5)]
        return {f"c{i}": np.array(["low", "mid", "high"])[c] for i, c in enumerate(cut)}
    if process == "number":
        return {"x0": rng.normal(size=rows)}
    return {"b": rng.choice(["no", "yes"], rows, p=[0.7, 0.3])}


def people_table(process, rows, rng):
    """The rows as a table, with quasi-identifiers declared."""
    arrays = people_arrays(process, rows, rng)
    kinds = {n: Kind.NUMBER if a.dtype.kind == "f" else Kind.CATEGORY for n, a in arrays.items()}
    roles = {**dict.fromkeys(_QUASI, Role.QUASI), **dict.fromkeys(_SENSITIVE, Role.SENSITIVE)}
    schema = [Column(n, k, roles.get(n, Role.OTHER)) for n, k in kinds.items()]
    return Table(
        pa.table({n: pa.array(a.tolist()) for n, a in arrays.items()}), Schema(tuple(schema))
    )


class People:
    """Train, both halves of a holdout, and as many fresh rows as asked for, of one process."""

    def __init__(self, process, rows, held, *seed):
        self.rng = np.random.default_rng([*seed, rows, held])
        self.process = process
        table = people_table(process, rows, self.rng)
        self.encoding = fit_encoding(table)
        self.train = frozen(self.encoding.encode(table))
        self.control, self.fresh = self.draw(held // 2), self.draw(held - held // 2)

    def draw(self, rows):
        return frozen(self.encoding.encode(people_table(self.process, rows, self.rng)))

    def leak(self, share, rows=None):
        """Fresh rows of which a share is replaced by different rows of train."""
        fresh = self.draw(rows or self.train.rows)
        count = round(share * fresh.rows)
        taken = self.rng.choice(self.train.rows, count, replace=False)
        return stack([self.train.take(taken), fresh.take(slice(count, None))])

    def evidence(self, *release, m=None, **settings):
        level = Gating(Gates().names).level(m or len(release))
        tables = (self.train, self.control, self.fresh, release)
        return Evidence(*tables, **{"level": level, **settings})

    def findings(self, *release, measures=tuple(RISKS), **settings):
        """Findings by measure, calibrated (of the quasi-identifiers where there are two)."""
        evidence = self.evidence(*release, **settings)
        return {
            (f.estimate.measure, f.estimate.target): f
            for f in judge_all(
                evidence, measures_of(Plan(measures=measures)), Gating(Gates().names), seed=1
            )[0]
        }

    def values(self, measure, release):
        """The estimates of one measure, uncalibrated, by name and target."""
        evidence, rng = self.evidence(release), np.random.default_rng(0)
        judge = MEASURES[measure]().prepare(evidence, rng=rng)
        return {(e.measure, e.target): e for e in judge.estimates(release, rng=rng)}


@pytest.fixture(scope="session")
def people():
    return People


def panel_arrays(people, seed, *, longest=300, sizes=None, lag=0.8):
    """Rows of people over time: sex and birth never change, a score is an AR(1), times go up.

    Geometric numbers of rows, the first three people have 1, ``longest`` and half of it.
    """
    rng = np.random.default_rng([seed, people])
    if sizes is None:
        sizes = np.minimum(rng.geometric(0.2, people), longest)
        sizes[:3] = [1, longest, max(longest // 2, 1)]
    person = np.repeat(np.arange(people), sizes)
    number = np.arange(len(person)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    score, day = np.empty(len(person)), np.empty(len(person), dtype=np.int64)
    sex, birth = rng.random(people) < 0.4, rng.integers(1930, 1990, people)
    for row, first in enumerate(number == 0):
        past = rng.normal() if first else score[row - 1]
        score[row] = past if first else lag * past + np.sqrt(1 - lag**2) * rng.normal()
        day[row] = rng.integers(0, 1000) if first else day[row - 1] + rng.integers(1, 90)
    ill = rng.random(len(person)) < 1 / (1 + np.exp(2 - score))
    return {
        "id": np.array([f"P{k}" for k in 10_000 + rng.permutation(people)])[person],
        "day": (np.datetime64("2010-01-01") + day).astype("datetime64[D]"),
        "sex": np.where(sex, "m", "f")[person],
        "birth": birth[person],
        "score": np.round(100 + 15 * score + 4 * sex[person], 1),
        "ill": np.where(ill, "yes", "no"),
    }


def panel_table(people, seed=1, *, shuffled=True, **settings):
    """The same as a table with its roles; rows are in no order unless told otherwise."""
    arrays = panel_arrays(people, seed, **settings)
    order = np.arange(len(arrays["id"]))
    order = np.random.default_rng(seed).permutation(order) if shuffled else order
    roles = {"id": Role.GROUP, "day": Role.TIME, "sex": Role.QUASI, "birth": Role.QUASI}
    kinds = {"day": Kind.DATETIME, "birth": Kind.NUMBER, "score": Kind.NUMBER}
    columns = tuple(
        Column(
            name,
            kinds.get(name, Kind.CATEGORY),
            roles.get(name, Role.OTHER),
            decimals={"birth": 0, "score": 1}.get(name),
            format="%Y-%m-%d" if name == "day" else None,
        )
        for name in arrays
    )
    data = pa.table({name: pa.array(array[order]) for name, array in arrays.items()})
    return Table(data, Schema(columns))


@pytest.fixture(scope="session")
def panel():
    """Builds a table in which a person has many rows over time."""
    return panel_table
