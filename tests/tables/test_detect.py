"""Kinds, roles and suspected identifiers."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from understudy.tables.detect import identifier_reason, kind_of, suspected_identifiers
from understudy.tables.read import read
from understudy.tables.schema import Kind, Role

ROWS = 200


def column(cells):
    return pa.chunked_array([pa.array(cells)])


def words(count, rows=ROWS):
    return [f"w{place % count:03d}" for place in range(rows)]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("name", words(50)),
        ("Last Name", words(50)),
        ("lastName", words(50)),
        ("patient_name", words(50)),
        ("prénom", words(50)),
        ("Nachname", words(50)),
        ("apellidos", words(50)),
        ("E-Mail", words(50)),
        ("téléphone", words(50)),
        ("Adresse", words(50)),
        ("IBAN", words(50)),
        ("ssn", list(range(10**8, 10**8 + 7 * ROWS, 7))),
        ("patient_id", [place * 3 for place in range(ROWS)]),
        ("patientId", words(150)),
        ("contact", [f"p{place}@example.org" for place in range(20)] * 10),
        ("x", list(range(1, ROWS + 1))),
        ("x", list(range(ROWS))[::-1]),
        ("code", words(ROWS)),
    ],
)
def test_suspected(name, cells):
    assert identifier_reason(name, column(cells)) is not None


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("job", words(50)),
        ("nomination", words(50)),
        ("name", words(3)),
        ("region_id", [place % 30 for place in range(ROWS)]),
        ("id", [place % 5 for place in range(ROWS)]),
        ("height", np.random.default_rng(1).normal(size=ROWS).tolist()),
        ("year", list(range(1800, 1800 + ROWS))),
        ("income", [place * 17 for place in range(ROWS)]),
        ("late", [*map(str, range(ROWS - 1)), "unknown"]),
        ("price", [f"{place}€" for place in range(ROWS)]),
        ("when", [f"0{place % 9 + 1}.01.{1800 + place}" for place in range(ROWS - 1)] + ["?"]),
        ("empty", [None] * ROWS),
        ("few", ["a", "b", "c"]),
    ],
)
def test_not_suspected(name, cells):
    assert identifier_reason(name, column(cells)) is None


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (column(["a", "b"]), Kind.CATEGORY),
        (column([1, 2]), Kind.NUMBER),
        (column([1.5, None]), Kind.NUMBER),
        (column([True, None]), Kind.CATEGORY),
        (column([None, None]), Kind.CATEGORY),
        (column([dt.date(2020, 1, 1)]), Kind.DATETIME),
        (column([f"she said that she was {place} years old" for place in range(9)]), Kind.TEXT),
        (column(["of the same few words each time"] * 99), Kind.CATEGORY),
        (column(["a", "b"]).dictionary_encode(), Kind.CATEGORY),
    ],
)
def test_kinds(cells, kind):
    assert kind_of("x", cells) is kind


def test_identifiers_get_the_role_and_a_reason():
    table = read(pa.table({"id": list(range(1, 51)), "email": words(50, 50), "age": [30, 40] * 25}))
    assert table.schema.with_role(Role.IDENTIFIER) == ("id", "email")
    assert table.schema["id"].kind is Kind.IDENTIFIER
    assert table.column("id")[0].as_py() == "1"
    assert list(suspected_identifiers(table)) == ["id", "email"]


def test_a_declared_role_wins():
    changes = {"id": {"role": "group", "kind": "number"}}
    table = read(pa.table({"id": list(range(50)), "y": [1, 2] * 25}), schema_changes=changes)
    assert (table.schema["id"].role, table.schema["id"].kind) == (Role.GROUP, Kind.NUMBER)


@pytest.mark.parametrize(
    ("names", "scale", "found"),
    [
        (("lat", "lon"), 1.0, ("lat", "lon")),
        (("home_latitude", "home_longitude"), 1.0, ("home_latitude", "home_longitude")),
        (("lat", "lon"), 1000.0, ()),
        (("long", "wide"), 1.0, ()),
        (("plateau", "balloon"), 1.0, ()),
    ],
)
def test_places_by_name_in_pairs_and_range(names, scale, found):
    cells = (np.linspace(-40, 40, 60) * scale).tolist()
    table = read(pa.table({names[0]: cells, names[1]: cells}))
    assert table.schema.with_role(Role.LOCATION) == found


@pytest.mark.parametrize(
    "name", ["weight", "poids", "finalwt", "fnlwgt", "survey_weight", "Gewicht"]
)
def test_weights_are_suggested_and_not_set(name):
    table = read(pa.table({name: [1.5, 2.25, 1.5], "y": [1, 2, 1]}))
    assert table.schema[name].role is Role.OTHER
    assert any("survey weight" in note for note in table.notes)
    declared = read(
        pa.table({name: [1.5, 2.25, 1.5], "y": [1, 2, 1]}),
        schema_changes={name: {"role": "weight"}},
    )
    assert not declared.notes


@pytest.mark.parametrize(
    ("cells", "decimals", "fixed"),
    [
        ("1 2 3", 0, False),
        ("1.50 2.25 3.00", 2, True),
        ("1.5 2.25 3", 2, False),
        ("1e3 2.25 3", None, False),
        ("0.12345678901234567 1 2", None, False),
    ],
)
def test_digits_after_the_mark(tmp_path, cells, decimals, fixed):
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "".join(f"{cell},a\n" for cell in cells.split()))
    found = read(path).schema["x"]
    assert (found.decimals, found.fixed) == (decimals, fixed)
