"""What every model promises. A new line in `understudy.synth.MODELS` is tested from here on.

To make a suite like this for another kind of plug: parametrise one fixture over the name → class
table, derive the cases from what the class declares about itself, and state each promise once.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest

from understudy.errors import InputError, PlanError
from understudy.seeds import stream
from understudy.synth import MODELS
from understudy.synth.base import Restriction
from understudy.synth.marginal import Marginal
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import Block, fit_encoding

NUMBERS = ("age", "income", "born")
LEVELS = ("sex", "grade")
ODD = {"numbers": ("constant", "gone", "huge"), "levels": ("same", "empty")}


def variants():
    """Every model with its default settings, and with each on/off setting the other way round."""
    for name, model in sorted(MODELS.items()):
        yield name, model()
        for field in fields(model):
            if isinstance(field.default, bool):
                value = not field.default
                yield f"{name}({field.name}={value})", replace(model(), **{field.name: value})


def cases(odd=False):
    """Model, drawn columns and given columns: jointly if it can, else one column at a time."""
    for name, model in variants():
        plain = {"numbers": NUMBERS, "levels": LEVELS}
        pools = [(ODD if odd else plain)[kind] for kind in model.kinds]
        if model.many and not odd:
            yield pytest.param(model, sum(pools, ()), (), id=name)
        for column in sum(pools, ()):
            rest = tuple(c for c in (*LEVELS, *NUMBERS) if c != column)
            if odd or not model.many:
                yield pytest.param(model, (column,), rest, id=f"{name}-{column}")


PLAIN, STRANGE = list(cases()), list(cases(odd=True))
everywhere = pytest.mark.parametrize("model, columns, given", PLAIN)


def fitted(model, block, columns, given, seed):
    return model.fit(block, columns, given, rng=stream(seed, "fit"))


def drawn(model, fit, known, seed, replicate=1, rows=None, **kwargs):
    """A replicate given train's own rows (or some rows of them, where the model allows that)."""
    if rows is not None and not model.fixed:
        known = known.take(rows)
    return known.join(fit.sample(known, rng=stream(seed, "sample", replicate), **kwargs))


@everywhere
def test_draws_what_it_says_in_the_schema_of_the_original(make, seed, model, columns, given):
    table = make.mixed()
    block = make.encoded(table)
    fit = fitted(model, block, columns, given, seed)
    out = fit.sample(block.select(given), rng=stream(seed, 1))
    assert fit.columns == tuple(columns)
    assert set(out.names) == set(columns)
    assert out.rows == block.rows
    back = block.encoding.decode(out.select(columns))
    assert back.schema == table.schema.select(columns)
    assert back.data.schema.equals(table.select(columns).data.schema)
    for name in columns:
        assert out.codes[name].dtype == np.int32
        assert out.codes[name].min() >= 0 and out.codes[name].max() < block.encoding[name].width
        if block.encoding[name].is_numeric:
            assert np.array_equal(
                np.isnan(out.values[name]), out.codes[name] >= block.encoding[name].missing
            )


@everywhere
def test_codes_and_values_agree(make, seed, model, columns, given):
    """Who reads the released table sees the codes that were drawn."""
    block = make.encoded(make.mixed())
    out = drawn(model, fitted(model, block, columns, given, seed), block.select(given), seed)
    for name in (name for name in columns if name in out.values):
        assert np.array_equal(block.encoding[name].cells.of(out.values[name]), out.codes[name]), (
            name
        )


@everywhere
def test_same_stream_same_bytes(make, seed, model, columns, given):
    block = make.encoded(make.mixed())
    one, two = (
        drawn(model, fitted(model, block, columns, given, seed), block.select(given), seed)
        for _ in range(2)
    )
    assert make.same(one, two)


@everywhere
def test_another_stream_draws_another_replicate(make, seed, model, columns, given):
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    one, two = (drawn(model, fit, block.select(given), seed, replicate=r) for r in (1, 2))
    assert make.same(one, two) is model.fixed


@everywhere
def test_input_is_not_touched(make, seed, model, columns, given):
    table = make.mixed()
    block, before = make.encoded(table), make.encoded(table)
    fit = fitted(model, block, columns, given, seed)
    replicate = drawn(model, fit, block.select(given), seed)
    fit.log_density(block)
    fit.swap(0, block.take(slice(0, 5)), [make.frozen(replicate)])
    assert make.same(block, before)
    learnt = {key: array.copy() for key, array in fit.arrays().items()}
    drawn(model, fit, block.select(given), seed, replicate=2)
    np.testing.assert_equal(fit.arrays(), learnt)


@everywhere
@pytest.mark.parametrize("rows", [0, 1, 200])
def test_any_number_of_rows(make, seed, rows, model, columns, given):
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    known = block.select(given).take(np.arange(rows) % block.rows)
    if model.fixed:
        with pytest.raises(InputError, match="were asked for"):
            fit.sample(known, rng=stream(seed, 1))
        return
    out = fit.sample(known, rng=stream(seed, 1))
    assert out.rows == rows
    assert all(len(array) == rows for array in (*out.codes.values(), *out.values.values()))


@everywhere
def test_train_of_one_row(make, seed, model, columns, given):
    block = make.encoded(make.mixed(rows=1))
    fit = fitted(model, block, columns, given, seed)
    out = drawn(model, fit, block.select(given), seed)
    for name in columns:
        assert out.codes[name][0] == block.codes[name][0] or model.beyond


@pytest.mark.parametrize("model, columns, given", STRANGE)
def test_columns_with_nothing_in_them(make, seed, model, columns, given):
    """A constant stays constant, a column without values stays without, huge numbers survive."""
    table = make.mixed()
    block = make.encoded(table)
    fit = fitted(model, block, columns, given, seed)
    out = drawn(model, fit, block.select(given), seed)
    (name,) = columns
    values = block.encoding.decode(out.select(columns)).column(name).to_pylist()
    if name == "huge":
        assert min(values) >= 10**17 and max(values) < 10**17 + 50
    else:
        assert set(values) == set(table.column(name).to_pylist())
    assert np.isfinite(fit.log_density(out)).all()


@everywhere
def test_odd_columns_may_be_given(make, seed, model, columns, given):
    block = make.encoded(make.mixed())
    given = () if model.many else (*given, "constant", "gone", "same", "empty", "huge")
    out = drawn(model, fitted(model, block, columns, given, seed), block.select(given), seed)
    assert np.isfinite(fitted(model, block, columns, given, seed).log_density(out)).all()


@everywhere
def test_missing_values_are_drawn_like_any_other(make, seed, model, columns, given):
    block = make.encoded(make.mixed(rows=400))
    out = drawn(model, fitted(model, block, columns, given, seed), block.select(given), seed)
    for name in columns:
        missing = block.encoding[name].missing
        share = np.mean(block.codes[name] == missing)
        # Shares are at most 0.12, so one replicate's has an SD (draw and bootstrap) of at most
        # 0.023: 5 SDs, false alarm below 1e-5 per column.
        assert abs(np.mean(out.codes[name] == missing) - share) < 0.115
        assert (out.codes[name] == missing).any() == bool(share)


@everywhere
def test_levels_that_train_does_not_have(make, seed, model, columns, given):
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    known = block.select(given)
    for name in given:
        unseen = np.full(block.rows, block.encoding[name].unseen, dtype=np.int32)
        known = Block(block.encoding, block.rows, {**known.codes, name: unseen}, known.values)
    out = drawn(model, fit, known, seed)
    for name in columns:
        assert (out.codes[name] < block.encoding[name].unseen).all()


@everywhere
def test_its_own_replicate_is_possible(make, seed, model, columns, given):
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    out = drawn(model, fit, block.select(given), seed)
    assert fit.log_density(out).shape == (out.rows,)
    assert np.isfinite(fit.log_density(out)).all()
    assert np.isfinite(fit.log_prob(out))


ALONE = [case for case in PLAIN if len(case.values[1]) == 1 and case.values[1][0] in LEVELS]


@pytest.mark.parametrize("model, columns, given", ALONE)
def test_density_of_levels_sums_to_one(make, seed, model, columns, given):
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    (name,) = columns
    total = np.zeros(block.rows)
    for code in range(block.encoding[name].width):
        codes = {**block.codes, name: np.full(block.rows, code, dtype=np.int32)}
        total += np.exp(fit.log_density(Block(block.encoding, block.rows, codes, block.values)))
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


@everywhere
def test_swap_has_its_shape_and_the_truth_changes_nothing(make, seed, model, columns, given):
    block = make.encoded(make.mixed(rows=40))
    fit = fitted(model, block, columns, given, seed)
    replicates = [drawn(model, fit, block.select(given), seed, replicate=r) for r in (1, 2, 3)]
    for record in (0, 17):
        change = fit.swap(record, block.take(np.array([record, 3, 5, 8])), replicates)
        assert change.shape == (3, 4)
        np.testing.assert_array_equal(change[:, 0], 0.0)
        assert not np.isnan(change).any()


@everywhere
def test_arrays_are_saved_without_pickle(make, seed, tmp_path, model, columns, given):
    block = make.encoded(make.mixed())
    arrays = fitted(model, block, columns, given, seed).arrays()
    assert arrays
    np.savez(tmp_path / "model.npz", **arrays)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as back:
        assert set(back.files) == set(arrays)
        for key, array in arrays.items():
            assert back[key].dtype == array.dtype
            np.testing.assert_array_equal(back[key], array)


@everywhere
def test_survives_the_way_to_another_process(make, seed, model, columns, given):
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    one = drawn(model, fit, block.select(given), seed)
    fit.swap(3, block.take(slice(0, 5)), [one])
    back = pickle.loads(pickle.dumps(fit))
    assert make.same(drawn(model, back, block.select(given), seed), one)
    assert back.log_prob(one) == fit.log_prob(one)


def limits(encoding, name, rows):
    """Each restriction that a rule can make, for one column."""
    half = np.full(rows, encoding[name].size // 2, dtype=np.int32)
    last = np.full(rows, encoding[name].size - 1, dtype=np.int32)
    allowed = np.ones((2, encoding[name].width), dtype=bool)
    allowed[0, ::2] = False
    group = np.arange(rows, dtype=np.int64) % 2
    yield Restriction(low=half, high=last)
    yield Restriction(high=half)
    yield Restriction(allowed=allowed, group=group)
    yield Restriction(low=half, allowed=allowed, group=group)


@everywhere
def test_restrictions_hold(make, seed, model, columns, given):
    if model.fixed:
        pytest.skip("kept columns are not drawn")
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    for name in columns:
        for limit in limits(block.encoding, name, block.rows):
            out = drawn(model, fit, block.select(given), seed, within={name: limit})
            fine = limit.permits(out.codes[name]) | (out.codes[name] == block.encoding[name].unseen)
            assert fine.all(), name
            # Half of the rows of "grade" may only be the level that train declares and lacks.
            assert (out.codes[name] != block.encoding[name].unseen).mean() >= 0.5


@everywhere
def test_nothing_allowed_gives_the_code_unseen(make, seed, model, columns, given):
    if model.fixed:
        pytest.skip("kept columns are not drawn")
    block = make.encoded(make.mixed())
    fit = fitted(model, block, columns, given, seed)
    for name in columns:
        allowed = np.ones((2, block.encoding[name].width), dtype=bool)
        allowed[1] = False
        group = (np.arange(block.rows) == 7).astype(np.int64)
        within = {name: Restriction(allowed=allowed, group=group)}
        out = drawn(model, fit, block.select(given), seed, within=within)
        assert out.codes[name][7] == block.encoding[name].unseen
        if name in out.values:
            assert np.isnan(out.values[name][7])


def whole(model, strata=None):
    """A synthesizer of the mixed table that uses the model wherever it can."""
    if model.many:
        pools = {"numbers": NUMBERS, "levels": LEVELS}
        first = sum((pools[kind] for kind in model.kinds), ())
        visits = [Visit(model, first)]
    else:
        first, visits = (), []
    for column in (*LEVELS, *NUMBERS):
        if column in first:
            continue
        kind = "numbers" if column in NUMBERS else "levels"
        before = tuple(name for visit in visits for name in visit.columns)
        able = not model.many and kind in model.kinds
        visits.append(Visit(model if able else Marginal(), (column,), before))
    if strata:
        visits = [
            Visit(v.model, v.columns, v.given, strata if i else None) for i, v in enumerate(visits)
        ]
    return Sequential(tuple(visits))


each_model = pytest.mark.parametrize(
    "model", [MODELS[name]() for name in sorted(MODELS)], ids=sorted(MODELS)
)


@each_model
def test_pool_gives_the_same_fit(make, seed, model):
    table = make.mixed()
    block = make.encoded(table)
    pickle.dumps(whole(model))
    serial = whole(model).fit(block, seed=seed)
    with ThreadPoolExecutor(3) as pool:
        pooled = whole(model).fit(block, seed=seed, map_=pool.map)
    one, two = serial.arrays(), pooled.arrays()
    assert list(one) == list(two)
    np.testing.assert_equal(one, two)
    draws = [fit.sample(block.rows, seed=seed, replicate=1).block for fit in (serial, pooled)]
    assert make.same(*draws)


@each_model
def test_one_more_replicate_leaves_the_others_as_they_were(make, seed, model):
    block = make.encoded(make.mixed())
    fit = whole(model).fit(block, seed=seed)
    few = [fit.sample(block.rows, seed=seed, replicate=r).block for r in (1, 2)]
    more = [fit.sample(block.rows, seed=seed, replicate=r).block for r in (3, 2, 1)]
    assert make.same(few[0], more[2]) and make.same(few[1], more[1])
    if not model.fixed:
        assert not make.same(few[0], few[1]) and not make.same(few[0], more[0])


@each_model
def test_sequence_is_a_density_too(make, seed, model):
    block = make.encoded(make.mixed())
    fit = whole(model).fit(block, seed=seed)
    out = fit.sample(block.rows, seed=seed, replicate=1).block
    assert np.isfinite(fit.log_density(out)).all()
    assert np.isfinite(fit.log_prob(out))
    change = fit.swap(4, block.take(np.array([4, 5])), [out])
    assert change.shape == (1, 2) and change[0, 0] == 0.0 and not np.isnan(change).any()


def test_settings_are_checked_by_name():
    for model in MODELS.values():
        with pytest.raises(PlanError, match=r"visits\[0\]\.no_such_key"):
            model.from_settings("visits[0]", {"no_such_key": 1})
        assert model.from_settings("visits[0]", {}) == model()
        for field in fields(model):
            if isinstance(field.default, bool):
                with pytest.raises(PlanError, match="true or false"):
                    model.from_settings("visits[0]", {field.name: "no"})
            elif isinstance(field.default, int):
                with pytest.raises(PlanError, match=rf"visits\[0\]\.{field.name}"):
                    model.from_settings("visits[0]", {field.name: field.default + 0.5})


def test_encoding_is_the_one_of_train(make, seed):
    """Rows of another table are read in train's codes, and its new levels as unseen."""
    encoding = fit_encoding(make.mixed(names=["sex"]))
    other = encoding.encode(make.levels(sex=["f", "x", None]))
    assert other.codes["sex"].tolist() == [
        encoding["sex"].levels.index("f"),
        encoding["sex"].unseen,
        encoding["sex"].missing,
    ]
