"""The built-in table: 6,712 people who never lived, of an island that never was.

Its published shape is that of the outbreak in Bale & Quick, section 6.1, whose data nobody may
have: as many people, deaths and men, ages mostly from the 20s to the 60s, many people at the
same place. Everything else is made up so that the columns depend on each other in ways that a
synthesizer can keep or lose:

- towns by Zipf's law on an island, with roads, homes and shared venues; the region is a
  function of the place (the nearest capital);
- age depends on region and venue; sex and household size on age; contact source on all of these;
- dates come in two waves that reach each region at its own time, and cluster at shared places;
- one hidden severity drives temperature, days in care and, with age and sex, death;
- values are missing where tracing was late, where two regions measured little, for the young.

All randomness is the raw bits of PCG64, whose stream numpy promises not to change, through
inverse distribution functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import expit, ndtri

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Masked = np.ma.MaskedArray[Any, Any]
Values = npt.NDArray[Any] | Masked

PEOPLE, DEATHS, MEN, PLACES = 6_712, 55, 3_101, 4_229
DAYS = 150
START = np.datetime64("2017-02-01")

LONGITUDE, LATITUDE = -33.4, 45.4  # open ocean: no town of this world is meant
KM_PER_DEGREE = np.array([78.1, 111.2])


class _Region(NamedTuple):
    name: str
    east: float  # the capital, in km from the island's centre
    north: float
    age: float  # tilt towards the old
    wave: float  # day on which the first wave arrives
    second: float  # share of cases in the second wave
    travel: float  # a port or border


REGIONS = (
    _Region("Isenport", -62, -78, -0.10, 14, 0.35, 1.0),
    _Region("Calvessa", 48, 22, -0.04, 20, 0.30, 0.2),
    _Region("Brenmoor", -78, 30, 0.06, 34, 0.20, 0.0),
    _Region("Eastmark", 118, -38, -0.06, 25, 0.60, 0.8),
    _Region("Dorrey", 22, -72, 0.02, 30, 0.45, 0.3),
    _Region("Harrowick", -8, 92, 0.10, 45, 0.15, 0.1),
    _Region("Fennholt", -22, -8, 0.04, 38, 0.40, 0.0),
    _Region("Galdren", 92, 78, 0.14, 52, 0.25, 0.1),
    _Region("Arlund", -128, -28, 0.16, 48, 0.50, 0.4),
)
TOWNS = 72

DECADES = tuple(f"{10 * d}s" for d in range(10))
AGE_WEIGHTS = np.array([2.2, 5.5, 21, 14, 14.5, 18, 13, 6.6, 3.6, 0.7])
DEATH_RISK = np.array([0.02, 0.02, 0.03, 0.07, 0.2, 0.7, 2.2, 7, 18, 30])
MALE_TILT = np.array([0.1, 0.1, 0.08, 0.12, 0, -0.05, 0, -0.1, -0.5, -0.9])

HOME, WORK, HALL, CARE = range(4)  # what kind of place
VENUES = np.repeat([WORK, HALL, CARE], [14, 10, 12])
SOURCES = ("household", "workplace", "gathering", "care home", "school", "travel")


@dataclass(frozen=True)
class _Draws:
    """Uniform numbers from raw bits, and what can be made of them."""

    bits: np.random.PCG64

    def uniform(self, *shape: int) -> Float:
        raw = self.bits.random_raw(int(np.prod(shape))).reshape(shape)
        return np.asarray(((raw >> np.uint64(11)) + 0.5) * 2.0**-53)

    def normal(self, *shape: int) -> Float:
        return np.asarray(ndtri(self.uniform(*shape)))

    def waiting(self, mean: float, size: int) -> Float:
        return np.asarray(-mean * np.log(self.uniform(size)))

    def category(self, weights: Float) -> Int:
        """One category per row of weights."""
        edges = np.cumsum(weights, axis=1)
        return np.asarray((edges < self.uniform(len(edges), 1) * edges[:, -1:]).sum(axis=1))

    def chosen(self, log_weights: Float, count: int) -> npt.NDArray[np.bool_]:
        """Exactly ``count`` rows, without replacement, the heavy ones more likely."""
        keys = log_weights - np.log(-np.log(self.uniform(len(log_weights))))
        return np.asarray(keys >= np.sort(keys)[-count])


class _Places(NamedTuple):
    where: Float
    region: Int
    kind: Int
    day: Float


def outbreak() -> pa.Table:
    """Make the table of the fictional outbreak; it is the same table every time.

    Example:
        >>> table = outbreak()
        >>> table.num_rows, table.column_names[:5]
        (6712, ['longitude', 'latitude', 'sex', 'age', 'outcome'])
    """
    draws = _Draws(np.random.PCG64(6712))
    columns = _cases(draws)
    # A case list, by date of confirmation.
    order = np.lexsort((draws.uniform(PEOPLE), columns["confirmed"]))
    return pa.table({name: _arrow(values, order) for name, values in columns.items()})


def _cases(draws: _Draws) -> dict[str, Values]:
    places = _places(draws)
    home = _visits(draws, places.kind)
    region, kind = places.region[home], places.kind[home]
    age = _ages(draws, region, kind)
    male = draws.chosen(MALE_TILT[age], MEN)
    household = _households(draws, home, kind, age)
    day = _confirmed(draws, places.day[home])
    severity = draws.normal(PEOPLE)
    dead = draws.chosen(np.log(DEATH_RISK[age]) + 0.45 * male + 0.6 * severity, DEATHS)
    return {
        "longitude": np.round(places.where[home, 0], 6),
        "latitude": np.round(places.where[home, 1], 6),
        "sex": np.where(male, "male", "female"),
        "age": np.array(DECADES)[age],
        "outcome": np.where(dead, "deceased", "recovered"),
        "region": np.array([r.name for r in REGIONS])[region],
        "household_size": household,
        "contact_source": _sources(draws, age, region, kind, household=household, day=day),
        "confirmed": START + day,
        "temperature": _temperatures(draws, region, severity),
        "days_in_care": _days_in_care(draws, age, day, severity),
    }


def _arrow(values: Values, order: Int) -> pa.Array:
    ordered = values[order]
    if isinstance(ordered, np.ma.MaskedArray):
        return pa.array(ordered.data, mask=np.ma.getmaskarray(ordered))
    return pa.array(ordered)


# The island


def _coast(angle: Float) -> Float:
    """Distance in km from the centre to the sea."""
    bays = 0.14 * np.cos(2 * angle - 0.3) + 0.09 * np.cos(3 * angle + 2) + 0.05 * np.cos(7 * angle)
    return np.asarray(145 * (1 + bays))


def _ashore(points: Float) -> Float:
    """Pull points that fell into the sea back to just behind the coast."""
    reach = np.hypot(points[:, 0], points[:, 1])
    limit = 0.985 * _coast(np.arctan2(points[:, 1], points[:, 0]))
    # A soft limit: what is beyond is squeezed into the last kilometres, not piled on a line.
    inside = limit * (1 - 0.06 * np.exp(-np.maximum(reach - 0.94 * limit, 0) / (0.06 * limit)))
    scale = np.where(reach > 0.94 * limit, inside / np.maximum(reach, 1e-9), 1)
    return np.asarray(points * scale[:, None])


def _towns(draws: _Draws) -> tuple[Float, Float]:
    """Positions in km, and shares of the population by Zipf's law; capitals come first."""
    capitals = np.array([(r.east, r.north) for r in REGIONS])
    near = draws.category(np.ones((TOWNS - len(REGIONS), len(REGIONS))))
    others = _ashore(capitals[near] + 34 * draws.normal(len(near), 2))
    size = 1 / (np.arange(TOWNS) + 1.5)
    return np.vstack([capitals, others]), size / size.sum()


def _places(draws: _Draws) -> _Places:
    """Scatter venues and homes over towns (most), along roads and over the countryside."""
    towns, size = _towns(draws)
    town = draws.category(np.broadcast_to(size, (PLACES, TOWNS)))
    kind = np.concatenate([VENUES, np.full(PLACES - len(VENUES), HOME)])
    spread = (1.2 + 16 * np.sqrt(size[town])) * np.where(draws.uniform(PLACES) < 0.7, 0.5, 1.3)
    points = towns[town] + spread[:, None] * draws.normal(PLACES, 2)
    rural = draws.uniform(PLACES) * np.where(kind == HOME, 1, 0)
    points = np.where((rural > 0.86)[:, None], _beside_roads(draws, towns, town), points)
    points = np.where((rural > 0.96)[:, None], 70 * draws.normal(PLACES, 2), points)
    points = _ashore(points)
    gaps = points[:, None, :] - towns[None, : len(REGIONS)]
    region = np.argmin((gaps**2).sum(axis=2), axis=1)
    where = np.array([LONGITUDE, LATITUDE]) + points / KM_PER_DEGREE
    return _Places(where, region, kind, _arrival(draws, region))


def _beside_roads(draws: _Draws, towns: Float, town: Int) -> Float:
    """Points along the road from each town to the nearest larger one."""
    gaps = ((towns[:, None] - towns[None]) ** 2).sum(axis=2)
    larger = np.tri(TOWNS, k=-1, dtype=bool)
    larger[0, 1] = True  # the largest has a road to the second
    end = np.argmin(np.where(larger, gaps, np.inf), axis=1)[town]
    along = draws.uniform(len(town), 1)
    return np.asarray(
        towns[town] * along + towns[end] * (1 - along) + 0.8 * draws.normal(len(town), 2)
    )


def _arrival(draws: _Draws, region: Int) -> Float:
    """Day on which the fever reaches a place, in the first or the second wave of its region."""
    facts = np.array([(r.wave, r.second) for r in REGIONS])[region]
    second = draws.uniform(len(region)) < facts[:, 1]
    start = np.where(second, 72 + 0.5 * facts[:, 0], facts[:, 0] - 8)
    width = np.where(second, 17, 13)
    return np.asarray(start + width * (np.exp(0.45 * draws.normal(len(region))) - 0.4))


# The people


def _visits(draws: _Draws, kind: Int) -> Int:
    """The place of each person: one for every place, and more at shared homes and venues."""
    rank = np.arange(len(VENUES))
    pull = np.where(kind == HOME, draws.waiting(1, PLACES) ** 0.8, 0)
    pull *= 0.68 / pull.sum()
    pull[: len(VENUES)] = 0.32 * (12.0 / (rank + 12)) / (12.0 / (rank + 12)).sum()
    extra = np.searchsorted(np.cumsum(pull), draws.uniform(PEOPLE - PLACES) * pull.sum())
    return np.concatenate([np.arange(PLACES), extra])


def _ages(draws: _Draws, region: Int, kind: Int) -> Int:
    tilt = np.array([r.age for r in REGIONS])[region]
    decade = np.arange(10)
    weights = AGE_WEIGHTS * np.exp(tilt[:, None] * (decade - 4))
    residents = np.array([0, 0, 6, 6, 8, 9, 6, 18, 32, 12.0])
    workers = np.array([0, 0.5, 26, 24, 22, 20, 7, 0.5, 0, 0])
    weights[kind == CARE] = residents
    weights[kind == WORK] = workers
    return draws.category(weights)


def _households(draws: _Draws, home: Int, kind: Int, age: Int) -> Int:
    """One size per home, at least the number of cases there; venues have people of many homes."""
    young = np.array([0, 6, 26, 40, 19, 6, 3.0])
    adult = np.array([22, 26, 22, 20, 7, 2, 1.0])
    old = np.array([40, 46, 8, 3, 2, 1, 0.0])
    table = np.vstack([young, young, *[adult] * 5, *[old] * 3])
    own = 1 + draws.category(table[age])
    shared = np.bincount(home, minlength=PLACES)[home]
    size = np.where(kind == HOME, np.maximum(own[home], shared), own)  # row i < PLACES is place i's
    return np.where((kind == CARE) & (age >= 7), 1, size)


def _confirmed(draws: _Draws, arrival: Float) -> Int:
    """Day of confirmation: some days after arrival, seldom on a Sunday."""
    day = arrival + draws.waiting(3.5, PEOPLE)
    day = np.where((day < 0) | (day >= DAYS), DAYS * draws.uniform(PEOPLE), day).astype(np.int64)
    sunday = (day + START.astype(np.int64)) % 7 == 3  # 1970 began on a Thursday
    late = sunday & (draws.uniform(PEOPLE) < 0.6) & (day < DAYS - 1)
    return np.asarray(day + late)


def _sources(
    draws: _Draws, age: Int, region: Int, kind: Int, *, household: Int, day: Int
) -> Masked:
    """Where the infection was caught, if the tracers found out; late cases often not traced."""
    weights = np.tile(np.array([30, 16, 14, 1, 0.5, 6.0]), (PEOPLE, 1))
    weights[:, 0] *= 0.35 * (household - 1)
    weights[:, 1] *= np.array([0, 0.1, 1.2, 1.5, 1.5, 1.3, 0.6, 0.05, 0, 0])[age]
    weights[:, 3] += np.array([0, 0, 0, 0, 0, 0, 1, 7, 16, 22])[age]
    weights[:, 4] += np.array([14, 26, 5, 0.5, 1, 0.5, 0, 0, 0, 0])[age]
    weights[:, 5] *= 0.4 + 3 * np.array([r.travel for r in REGIONS])[region]
    weights[:, 2] *= np.where(region == 4, 2.5, 1)  # one region had the large gatherings
    for venue, source in ((WORK, 1), (HALL, 2), (CARE, 3)):
        weights[kind == venue, source] += 400
    found = np.array(SOURCES)[draws.category(weights)]
    untraced = expit(-2.9 + 0.014 * day + 0.5 * (age == 2) + 0.6 * (region == 0))
    return np.ma.MaskedArray(found, draws.uniform(PEOPLE) < untraced)


def _temperatures(draws: _Draws, region: Int, severity: Float) -> Masked:
    """Highest temperature in °C at one decimal; two regions measured less."""
    value = 37.7 + 0.42 * severity + 0.45 * draws.normal(PEOPLE)
    unmeasured = np.where(np.isin(region, [2, 8]), 0.16, 0.03)
    rounded = np.round(np.clip(value, 35.8, 41.2), 1)
    return np.ma.MaskedArray(rounded, draws.uniform(PEOPLE) < unmeasured)


def _days_in_care(draws: _Draws, age: Int, day: Int, severity: Float) -> Masked:
    """Whole days, skewed, longer for the old and the severe; unknown more often for the young."""
    log_days = 2.6 + 0.07 * (age - 4) + 0.38 * severity + 0.32 * draws.normal(PEOPLE)
    value = np.clip(np.round(np.exp(log_days)), 1, 120).astype(np.int64)
    unknown = expit(-2.6 - 0.25 * (age - 4) + 0.006 * (day - 60))
    return np.ma.MaskedArray(value, draws.uniform(PEOPLE) < unknown)
