"""The filter against Algorithm 1 as the paper writes it: all pairs, one row at a time."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from understudy.kernels import filtering
from understudy.protect import DistanceFilter
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read
from understudy.tables.schema import Kind

# Two ways to compute one distance differ in the last bits; both sides call that equal.
RELATIVE, ABSOLUTE = 1e-7, 1e-9


def equal(a, b):
    return abs(a - b) <= RELATIVE * min(a, b) + ABSOLUTE


def naive(originals, synthetic, near, far):
    """Algorithm 1, with rows told apart by index."""
    dropped, own = [], {}
    for z in synthetic:
        least, closest = -1, None
        for j, x in enumerate(originals):
            d = near(z, x)
            if least == -1 or (d < least and not equal(d, least)):
                least, closest = d, j
        if closest not in own:
            others = (x for j, x in enumerate(originals) if j != closest)
            own[closest] = min(far(originals[closest], x) for x in others)
        dropped.append(least < own[closest] and not equal(least, own[closest]))
    return dropped


class Plain:
    """Mahalanobis on raw values, with missing values tried one by one."""

    def __init__(self, rows, columns, missing):
        self.missing, self.columns = missing, columns
        self.spread = spread(rows)
        chosen = leading(self.spread)
        self.columns = [[chosen.index(t) for t in terms if t in chosen] for terms in columns]
        self.columns = [terms for terms in self.columns if terms]
        self.chosen = chosen
        rows = rows[:, chosen]
        self.spread = self.spread[np.ix_(chosen, chosen)]
        self.precision = np.linalg.inv(self.spread)
        self.low, self.high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
        self.values = []
        for terms in self.columns:
            known = rows[:, terms][~np.isnan(rows[:, terms]).any(axis=1)]
            if len(terms) == 1:
                known = np.array([known.min(axis=0), known.max(axis=0)])
            self.values.append(np.unique(known, axis=0))

    def near(self, z, x):
        gap = z - x
        seen = ~np.isnan(gap)
        block = (
            self.precision[np.ix_(seen, seen)]
            if self.missing == "paper"
            else np.linalg.inv(self.spread[np.ix_(seen, seen)])
        )
        return np.sqrt(max(gap[seen] @ block @ gap[seen], 0))

    def far(self, x, y):
        if self.missing == "paper":
            return self.substituted(x, y)
        gaps = [
            (row, terms, known)
            for row in (0, 1)
            for terms, known in zip(self.columns, self.values, strict=True)
            if np.isnan((x, y)[row][terms[0]])
        ]
        worst = 0.0
        for picked in itertools.product(*(range(len(known)) for _, _, known in gaps)):
            pair = np.array([x, y])
            for (row, terms, known), value in zip(gaps, picked, strict=True):
                pair[row, terms] = known[value]
            worst = max(worst, self.length(pair[0] - pair[1]))
        return worst

    def substituted(self, x, y):
        x, y = x.copy(), y.copy()
        for t in range(len(x)):
            if np.isnan(x[t]) and np.isnan(y[t]):
                x[t], y[t] = self.high[t], self.low[t]
            elif np.isnan(x[t]):
                x[t] = self.farther(t, y[t])
            elif np.isnan(y[t]):
                y[t] = self.farther(t, x[t])
        return self.length(x - y)

    def farther(self, t, value):
        up, down = self.high[t] - value, value - self.low[t]
        return self.high[t] if up >= down or equal(up, down) else self.low[t]

    def length(self, gap):
        return np.sqrt(max(gap @ self.precision @ gap, 0))


def spread(rows):
    """Covariance, each entry from the rows that have both, about the columns' own means."""
    p = rows.shape[1]
    off = rows - np.nanmean(rows, axis=0)
    sd = np.nanstd(rows, axis=0)
    found = np.diag(sd**2)
    for a, b in itertools.permutations(range(p), 2):
        product = off[:, a] * off[:, b]
        product = product[~np.isnan(product)]
        found[a, b] = product.mean() if len(product) else 0.0
    return found


def leading(matrix):
    """Columns, in order, that those before do not determine."""
    chosen = []
    for t in range(len(matrix)):
        rest = matrix[t, chosen]
        left = matrix[t, t] - rest @ np.linalg.solve(matrix[np.ix_(chosen, chosen)], rest)
        if left > 1e-6 * matrix[t, t]:
            chosen.append(t)
    return chosen


def jaccard(z, x, near):
    """By hand, after every missing value got the value that is best (or worst)."""
    both = differ = 0
    for a, b in zip(z, x, strict=True):
        known = [v for v in (a, b) if not np.isnan(v)]
        first = known[0] if known else 1.0
        second = b if len(known) == 2 else first if near else 1.0 - first
        both, differ = both + (first == second == 1), differ + (first != second)
    return differ / (differ + both) if differ + both else 0.0


def typed(z, x, scales):
    total = 0.0
    for a, b, sd in zip(z, x, scales, strict=True):
        if a is None or b is None:
            total += (a is None) != (b is None)
        elif sd is None:
            total += a != b
        else:
            total += ((a - b) / sd) ** 2
    return total**0.5


def random_table(rng):
    """Columns by name: lists with None, the first `n` rows original; and their kinds."""
    n, m = int(rng.integers(3, 36)), int(rng.integers(1, 22))
    p = int(rng.integers(0, 5))
    whole = rng.normal(size=(n + m, p)) @ rng.normal(size=(p, p))
    columns, kinds = {}, {}
    for c in range(p):
        shape = rng.integers(0, 6)
        values = whole[:, c]
        if shape == 1:
            values = np.round(values)
        elif shape == 2:
            values = (values > 0).astype(float)
        elif shape == 3:
            values = np.clip(np.round(values), -1, 1)
            kinds[f"c{c}"] = "ordinal"
        elif shape == 4 and c:
            values = 2 * whole[:, c - 1] - 1  # collinear
        elif shape == 5:
            values = np.full(n + m, 7.0) if rng.random() < 0.5 else np.full(n + m, np.nan)
        columns[f"c{c}"] = list(values)
    if p == 0 or rng.random() < 0.4:
        levels = int(rng.integers(2, 5))
        columns["nominal"] = [str("abcd"[k]) for k in rng.integers(0, levels, n + m)]
    if rng.random() < 0.5:
        share = rng.choice([0.05, 0.3])
        for values in columns.values():
            for row in np.flatnonzero(rng.random(n + m) < share):
                values[row] = None
    copied = [(rng.integers(0, n), rng.integers(0, n)) for _ in range(n // 4)]
    copied += [(n + rng.integers(0, m), rng.integers(0, n)) for _ in range(m // 3)]
    for values in columns.values():
        for to, source in copied if n % 2 else ():
            values[to] = values[source]
        values[:] = [None if v is None or v != v else v for v in values]
    return columns, kinds, n


def encoded(columns, kinds, n):
    """Blocks of both parts; ordinal columns as words that sort like their numbers."""
    arrays = {}
    for name, values in columns.items():
        words = (
            [None if v is None else str(int(v) + 2) for v in values] if name in kinds else values
        )
        text = name in kinds or name == "nominal"
        arrays[name] = pa.array(words, pa.string() if text else pa.float64())
    changes = {name: {"kind": "number"} for name in columns} | {"nominal": {"kind": "category"}}
    changes |= {name: {"kind": "ordinal", "levels": ["1", "2", "3"]} for name in kinds}
    table = read(pa.table(arrays), schema_changes={k: changes[k] for k in columns})
    train = table.take(np.arange(n))
    encoding = fit_encoding(train)
    rest = table.take(np.arange(n, table.rows))
    return encoding.encode(train), encoding.encode(rest)


def raw(columns, train, n):
    """The numbers that the naive version sees: dichotomised, a level of train left out."""
    terms, groups = [], []
    for name, values in columns.items():
        if name != "nominal":
            parts = [[np.nan if v is None else float(v) for v in values]]
        else:
            encoding = train.encoding[name]
            assert encoding.column.kind is Kind.CATEGORY
            parts = [
                [np.nan if v not in encoding.levels else float(v == level) for v in values]
                for level in encoding.levels[1:]
            ]
        kept = [part for part in parts if len({v for v in part[:n] if v == v}) > 1]
        if kept:
            groups.append(list(range(len(terms), len(terms) + len(kept))))
            terms += kept
    return np.array(terms, dtype=float).T, groups


def compare_mahalanobis(seed):
    columns, kinds, n = random_table(np.random.default_rng(seed))
    train, synthetic = encoded(columns, kinds, n)
    rows, groups = raw(columns, train, n)
    for missing in ("paper", "exact"):
        found = DistanceFilter(columns="all", missing=missing).comparison(train)
        got = found.too_near(synthetic)
        assert len(got) == synthetic.rows
        if not groups:
            assert not found.columns and not got.any()
            continue
        plain = Plain(rows[:n], groups, missing)
        rows_ = rows[:, plain.chosen]
        want = naive(rows_[:n], rows_[n:], plain.near, plain.far)
        assert got.tolist() == want, (seed, missing)


def compare_jaccard(seed):
    rng = np.random.default_rng(seed)
    n, m, p = (int(k) for k in rng.integers([3, 1, 1], [36, 22, 8]))
    values = (rng.random((n + m, p)) < rng.random(p)).astype(float)
    values[rng.random(values.shape) < rng.choice([0.0, 0.2])] = np.nan
    columns = {f"c{c}": [None if np.isnan(v) else float(v) for v in values[:, c]] for c in range(p)}
    train, synthetic = encoded(columns, {}, n)
    varies = [c for c in range(p) if len({v for v in values[:n, c] if v == v}) > 1]
    got = DistanceFilter(columns="all", metric="jaccard").comparison(train).too_near(synthetic)
    rows = values[:, varies]
    want = naive(
        rows[:n],
        rows[n:],
        lambda z, x: jaccard(z, x, near=True),
        lambda x, y: jaccard(x, y, near=False),
    )
    assert got.tolist() == want if varies else not got.any(), seed


def compare_typed(seed):
    columns, kinds, n = random_table(np.random.default_rng(seed))
    if not any(len(set(values[:n])) > 1 for values in columns.values()):
        return
    train, synthetic = encoded(columns, kinds, n)
    got = DistanceFilter(columns="all", metric="typed").comparison(train).too_near(synthetic)
    scales, rows = [], []
    for name, values in columns.items():
        known = [v for v in values[:n] if v is not None]
        if len(set(values[:n])) == 1:
            continue  # left out
        number = name not in kinds and name != "nominal" and len(set(known)) > 1
        scales.append(float(np.std(known)) if number else None)
        strange = set() if number else {v for v in values if v is not None} - set(known)
        rows.append([f"new {v}" if v in strange else v for v in values])
    rows = list(zip(*rows, strict=True))
    want = naive(
        rows[:n],
        rows[n:],
        lambda z, x: typed(z, x, scales),
        lambda x, y: typed(x, y, scales),
    )
    assert got.tolist() == want, seed


@pytest.fixture(params=["measured", "searched"])
def way(request, monkeypatch):
    """Small tables are measured pair by pair; the search for large ones must agree."""
    if request.param == "searched":
        monkeypatch.setattr(filtering, "FEW", 0)


@pytest.mark.parametrize("compare", [compare_mahalanobis, compare_jaccard, compare_typed])
def test_the_filter_is_the_naive_algorithm(compare, way):
    for seed in range(50):
        compare(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("compare", [compare_mahalanobis, compare_jaccard, compare_typed])
def test_the_filter_is_the_naive_algorithm_on_a_thousand_tables(compare, way):
    for seed in range(1000):
        compare(seed)


def test_the_tables_have_what_breaks_programs():
    """Gaps, twins, collinear and constant columns, a nominal column alone, drops and keeps."""
    seen = dict.fromkeys(["gaps", "twins", "left out", "nominal alone", "dropped", "kept"], 0)
    for seed in range(50):
        columns, kinds, n = random_table(np.random.default_rng(seed))
        train, synthetic = encoded(columns, kinds, n)
        found = DistanceFilter(columns="all").comparison(train)
        flags = found.too_near(synthetic)
        rows = list(zip(*(values[:n] for values in columns.values()), strict=True))
        seen["gaps"] += any(None in row for row in rows)
        seen["twins"] += len(set(rows)) < n
        seen["left out"] += bool(found.left_out)
        seen["nominal alone"] += list(columns) == ["nominal"]
        seen["dropped"] += int(flags.sum())
        seen["kept"] += int((~flags).sum())
    assert min(seen.values()) >= 3, seen


def test_which_level_is_left_out_does_not_matter(seed):
    """Without gaps: the covariance of all marks and a pseudo-inverse give the same distances."""
    rng = np.random.default_rng(seed)
    levels = list(rng.choice(list("abcd"), 300, p=[0.4, 0.3, 0.2, 0.1]))
    number = list(rng.normal(size=300) + np.array([ord(k) for k in levels]) / 3)
    train, synthetic = encoded({"nominal": levels, "x": number}, {}, 200)
    got = DistanceFilter(columns="all").comparison(train).too_near(synthetic)
    rows = np.array([[float(k == level) for level in "abcd"] for k in levels])
    rows = np.c_[rows, number]
    inverse = np.linalg.pinv(np.cov(rows[:200].T), rcond=1e-10)

    def length(x, y):
        return np.sqrt((x - y) @ inverse @ (x - y))

    assert got.tolist() == naive(rows[:200], rows[200:], length, length)
    assert 0 < got.sum() < 100
