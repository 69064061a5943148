"""What columns are: kinds and roles, and which ones look as if they name a person."""

from __future__ import annotations

import re
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import TableError
from understudy.tables.dates import share_of_dates
from understudy.tables.schema import Column, Kind, Role
from understudy.tables.table import Table


def _word_list(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that stand in column names: what people are called, how they are reached, and numbers
# that are given to one person.
_PERSONAL = _word_list(
    """
    name surname firstname lastname fullname forename maiden nom prenom prenoms vorname nachname
    familienname nombre apellido apellidos nome cognome sobrenome naam voornaam achternaam
    imie nazwisko username login
    email mail courriel correo phone telephone telefon telefono telefoon tel mobile portable cell
    fax address adresse direccion direccao indirizzo adres street strasse rue calle
    ssn nss nir iban passport passeport pasaporte reisepass nino dni nif cpf bsn ahv pesel ip mrn
    nhs insee securite licence license
    """
)
_KEYS = _word_list("id ident identifier identifiant kennung uid uuid guid key rowid index")
_WHO = _word_list(
    """
    patient patients person persona personne subject sujet subjekt participant respondent proband
    member client individual individu pupil student pid
    """
)
_LATITUDE = frozenset(("lat", "latitude", "breite", "latitud"))
_LONGITUDE = frozenset(("lon", "lng", "long", "longitude", "laenge", "longitud"))
_WEIGHTS = re.compile(r"^(.*weight|poids.*|gewicht|peso|.*wgt|.*wt|pond.*)$")
_NEARLY_ALL = 0.9
_FEW = 20
_EMAIL = r"^[^\s@]+@[^\s@]+\.[A-Za-z]{2,}$"


def kind_of(name: str, values: pa.ChunkedArray) -> Kind:
    """The kind of one Arrow column, by its type and, for text and whole numbers, its content.

    Example:
        >>> import pyarrow as pa
        >>> kind_of("sex", pa.chunked_array([["m", "f", "m"]])).value
        'category'
    """
    stored = values.type
    if pa.types.is_dictionary(stored):
        return Kind.ORDINAL if stored.ordered else Kind.CATEGORY
    if pa.types.is_boolean(stored) or pa.types.is_null(stored):
        return Kind.CATEGORY
    if is_moment(stored):
        return Kind.DATETIME
    if _is_number(stored):
        return Kind.IDENTIFIER if identifier_reason(name, values) else Kind.NUMBER
    if not _is_string(stored):
        raise unusable(name, stored)
    if is_prose(values):
        return Kind.TEXT
    return Kind.IDENTIFIER if identifier_reason(name, values) else Kind.CATEGORY


def unusable(name: str, stored: pa.DataType) -> TableError:
    """The error for a column of a type that has no kind."""
    return TableError(
        f"column {name!r} has cells of type {stored}, which is not a number, text or date: "
        "spread it over plain columns or drop it"
    )


def is_moment(stored: pa.DataType) -> bool:
    """Dates, times of day, and instants; not lengths of time, which Arrow calls temporal too."""
    types = pa.types
    return bool(types.is_date(stored) or types.is_time(stored) or types.is_timestamp(stored))


def suspected_identifiers(table: Table) -> dict[str, str]:
    """Columns that look as if they name a person, each with the reason.

    Example:
        >>> from understudy.tables.schema import Schema
        >>> data = pa.table({"email": ["a@b.org", "c@d.org"]})
        >>> table = Table(data, Schema((Column("email", Kind.CATEGORY),)))
        >>> suspected_identifiers(table)
        {'email': 'its name says so (email)'}
    """
    reasons = {name: identifier_reason(name, table.column(name)) for name in table.names}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def suggested_weights(table: Table) -> list[str]:
    """Number columns whose names look like survey weights: suggested, never set."""
    return [
        column.name
        for column in table.schema
        if column.kind is Kind.NUMBER and _WEIGHTS.match(plain(column.name))
    ]


def suggested_group(table: Table) -> str | None:
    """The column that seems to say whose row each is: named like a key, and repeated by row.

    Suggested to whoever knows the table. It has more than 20 values, two rows a value on average.
    None where no column does, or several do.

    Example:
        >>> from understudy.tables.schema import Schema
        >>> data = pa.table({"patient_id": [str(row // 3) for row in range(90)]})
        >>> suggested_group(Table(data, Schema((Column("patient_id", Kind.CATEGORY),))))
        'patient_id'
    """
    found = [c.name for c in table.schema if _is_repeated_key(c, table.column(c.name))]
    return found[0] if len(found) == 1 else None


def _is_repeated_key(column: Column, values: pa.ChunkedArray) -> bool:
    if not words_of(column.name) & (_KEYS | _WHO) or column.kind is Kind.DATETIME:
        return False
    if not (_is_string(values.type) or pa.types.is_integer(values.type)) or values.null_count:
        return False
    if is_prose(values):
        return False
    return _FEW < int(pc.count_distinct(values).as_py()) <= len(values) // 2


def identifier_reason(name: str, values: pa.ChunkedArray) -> str | None:
    """Why a column looks like an identifier, or None."""
    texts = _is_string(values.type)
    present = len(values) - values.null_count
    if present == 0 or not (texts or pa.types.is_integer(values.type)):
        return None
    distinct = pc.count_distinct(values, mode="only_valid").as_py()
    word = _telling_word(name)
    if word is not None and _is_named(word, texts, distinct, present) and not is_prose(values):
        return f"its name says so ({word})"
    if not texts:
        return "it numbers the rows" if _numbers_rows(values, distinct) else None
    return _text_reason(values, distinct, present)


def _is_named(word: str, texts: bool, distinct: int, present: int) -> bool:
    """A telling name counts if the column has enough different values to tell people apart."""
    if word in _PERSONAL and texts:
        return distinct > min(_FEW, present // 2)
    least = _NEARLY_ALL if word in _PERSONAL else 0.5
    return distinct > max(least * present, 1)


def _text_reason(values: pa.ChunkedArray, distinct: int, present: int) -> str | None:
    if _share(values, _EMAIL) >= _NEARLY_ALL:
        return "its cells look like e-mail addresses"
    if present <= _FEW or distinct < _NEARLY_ALL * present or _is_mixed(values):
        return None
    return None if is_prose(values) else "nearly every row has a value of its own"


def is_prose(values: pa.ChunkedArray) -> bool:
    """Free text: many different cells, of several words or very long."""
    if not _is_string(values.type) or values.null_count == len(values):
        return False
    present = len(values) - values.null_count
    if pc.max(pc.binary_length(values)).as_py() < _FEW:
        return False
    distinct = pc.count_distinct(values, mode="only_valid").as_py()
    if distinct <= max(0.1 * present, 1):
        return False
    some = pc.drop_null(values).slice(0, 10_000)
    spaces = pc.mean(pc.count_substring(some, pattern=" ")).as_py()
    length = pc.mean(pc.utf8_length(some)).as_py()
    return bool(spaces >= 3 or length > 100)


def locations(names: list[str], arrays: dict[str, pa.ChunkedArray]) -> list[str]:
    """Latitude and longitude columns: by name, in pairs, and within the range of the globe."""
    latitudes = [n for n in names if axis_of(n) == "latitude" and _within(arrays[n], 90.0)]
    longitudes = [n for n in names if axis_of(n) == "longitude" and _within(arrays[n], 180.0)]
    return latitudes + longitudes if latitudes and longitudes else []


def axis_of(name: str) -> str:
    """Which coordinate on the globe a column's name says that it holds, or an empty text.

    Example:
        >>> axis_of("home_lat"), axis_of("Longitude"), axis_of("x")
        ('latitude', 'longitude', '')
    """
    words = words_of(name)
    return "latitude" if words & _LATITUDE else "longitude" if words & _LONGITUDE else ""


def with_role(column: Column, values: pa.ChunkedArray) -> Column:
    """The column with the identifier role where it is suspected."""
    if column.kind is Kind.IDENTIFIER or identifier_reason(column.name, values):
        return Column(**{**vars(column), "role": Role.IDENTIFIER})
    return column


def plain(name: str) -> str:
    """A name in lower case without accents."""
    folded = unicodedata.normalize("NFKD", name)
    return "".join(c for c in folded if not unicodedata.combining(c)).lower()


def words_of(name: str) -> frozenset[str]:
    """The words of a column's name, in lower case without accents."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return frozenset(re.split(r"[^a-z]+", plain(spaced)))


def _telling_word(name: str) -> str | None:
    words = words_of(name) | {plain(name).replace("_", "").replace(" ", "")}
    for group in (_PERSONAL, _KEYS):
        for word in sorted(words & group):
            return word
    return None


def _numbers_rows(values: pa.ChunkedArray, distinct: int) -> bool:
    """All of 0..n-1 or 1..n, in any order: a running number, not a measurement."""
    if distinct != len(values) or distinct < _FEW:
        return False
    both = pc.min_max(values)
    low, high = both["min"].as_py(), both["max"].as_py()
    return low in (0, 1) and high - low == distinct - 1


def _is_mixed(values: pa.ChunkedArray) -> bool:
    """Mostly numbers, amounts or dates: a spoilt measurement, not an identifier."""
    amounts = _share(values, r"^[€$£¥%\s]*-?(0|[1-9]\d*)([.,]\d+)?[€$£¥%\s]*$")
    return amounts >= 0.5 or share_of_dates(values, same=False) >= 0.5


def _share(values: pa.ChunkedArray, pattern: str) -> float:
    some = pc.drop_null(values).slice(0, 10_000)
    return float(pc.mean(pc.match_substring_regex(some, pattern)).as_py() or 0.0)


def _within(values: pa.ChunkedArray, bound: float) -> bool:
    if not _is_number(values.type) or values.null_count == len(values):
        return False
    inside = pc.less_equal(pc.abs(pc.cast(values, pa.float64())), bound)
    return bool(pc.mean(inside).as_py() >= 0.99)


def _is_number(stored: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(stored) or types.is_floating(stored) or types.is_decimal(stored))


def _is_string(stored: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(stored) or types.is_large_string(stored) or types.is_string_view(stored)
    )
