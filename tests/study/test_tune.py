"""Tuning: the objective, the searches, what they survive, and what they never look at."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.api import workers
from understudy.errors import PlanError, ProtectionError
from understudy.kernels.propensity import cart_pmse
from understudy.plans.plan import Plan, VisitPlan
from understudy.plans.tuning import Tuning
from understudy.study.free import Parameter, changed, parameters, written
from understudy.study.objective import Aim, chosen_pairs, ratios
from understudy.study.trial import Bench, Outcome
from understudy.study.tune import Trial, choose, tune
from understudy.tables.encode import stack

QUICK = Tuning(seeds=2, trials=5, first=3, replicates=4, pairs=4, fresh=1)
AGE = {"column": "age", "setting": "min_leaf", "low": 2, "high": 60, "log": True}


@pytest.fixture(scope="module")
def train(people):
    return people("mixed", 400, 60, 3).train


def plan_of(**settings):
    return Plan(tune=replace(QUICK, **settings))


@pytest.fixture(scope="module")
def tuned(train):
    return tune(plan_of(), train, seed=1)


def told(tuned):
    """All that a tuning says, bit by bit."""
    return repr([(t.search, t.number, t.values, t.outcome) for t in tuned.trials])


def test_all_trials_are_made_and_the_best_is_chosen(tuned):
    places = [(trial.search, trial.number) for trial in tuned.trials]
    assert places == [(search, number) for search in (1, 2) for number in range(1, 6)]
    losses = [(1 - trial.outcome.number) ** 2 for trial in tuned.trials]
    assert tuned.loss(tuned.chosen) == min(losses)
    assert len(tuned.again) == 1 and not tuned.again[0].failed
    assert tuned.again[0].number not in [trial.outcome.number for trial in tuned.trials]
    assert (tuned.rows, tuned.of) == (200, 400)


def test_parallel_equals_serial(train, tuned):
    with workers(3) as map_:
        assert told(tune(plan_of(), train, seed=1, map_=map_)) == told(tuned)


def test_searches_are_independent(tuned):
    one, two = ([t.values for t in tuned.trials if t.search == s and t.number > 1] for s in (1, 2))
    assert not set(one) & set(two)


def test_another_seed_is_another_search(train, tuned):
    assert told(tune(plan_of(trials=1), train, seed=2)) != told(tuned)[: len(told(tuned))]


@pytest.mark.parametrize("finished", [1, 7])
def test_going_on_equals_never_having_stopped(train, tuned, finished):
    made = []
    order = sorted(tuned.trials, key=lambda trial: (trial.number > 3, trial.number, trial.search))
    again = tune(
        plan_of(),
        train,
        seed=1,
        log=lambda free, trials: made.extend(trials),
        known=order[:finished],
    )
    assert told(again) == told(tuned)
    assert len(made) == 10 - finished


def test_the_tuned_plan_draws_the_same_columns_at_the_chosen_values(train, tuned):
    visits = tuned.plan.visits_for(train.encoding)
    before = Plan().visits_for(train.encoding)
    assert [v.columns for v in visits] == [v.columns for v in before]
    assert [v.given for v in visits] == [v.given for v in before]
    leaves = {f"{visit.key}.min_leaf": visit.model.min_leaf for visit in visits}
    for parameter, value in zip(tuned.free, tuned.chosen.values, strict=True):
        assert leaves[parameter.path] == value
    assert Plan.from_toml(tuned.plan.to_toml()) == tuned.plan
    assert not tuned.plan.needs_leaf  # nothing is left to be searched for


def test_one_search_begins_at_the_plan_as_it_is(train):
    plan = replace(plan_of(trials=1, seeds=1), settings={"min_leaf": 33})
    found = tune(plan, train, seed=1)
    assert all(30 <= value <= 36 for value in found.trials[0].values)


def test_the_ratio_is_the_mean_over_replicates_by_the_mean_over_pairs(train, people):
    """Eq. 24 once more, with the propensity kernel called plainly."""
    rng = np.random.default_rng(5)
    blocks = [train.take(rng.integers(0, train.rows, 200)) for _ in range(4)]
    real = train.take(slice(200))
    found = ratios([real], ("age", "income"), QUICK, {(0, 0): blocks}, seed=1, map_=map)

    def plain(one, two):
        both = [np.stack([b.values["age"], b.values["income"]], axis=1) for b in (one, two)]
        no = np.zeros((200, 0), np.int32)
        return cart_pmse(both[0], no, both[1], no, [], rng=np.random.default_rng(0))

    pairs = [(0, 1), (1, 2), (2, 3), (3, 0)]
    below = np.mean([plain(blocks[i], blocks[j]) for i, j in pairs])
    wanted = [plain(real, block) / below for block in blocks]
    # Between equally good splits a tree decides by lot.
    assert found[0, 0][0] == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize("discriminator", ["cart", "logit"])
def test_two_draws_of_one_process_have_ratio_one(people, discriminator):
    """Twelve fresh draws: the mean ratio's SD is about 0.06, so 4 SDs fail once in 16,000."""
    world = people("mixed", 500, 60, 8)
    real, blocks = world.draw(500), [world.draw(500) for _ in range(12)]
    tuning = replace(QUICK, discriminator=discriminator, pairs=12)
    columns = world.train.names
    found = ratios([real], columns, tuning, {(0, 0): blocks}, seed=1, map_=map)[0, 0][0]
    assert found.mean() == pytest.approx(1.0, abs=0.25)


def test_pairs_use_every_replicate_alike():
    pairs = chosen_pairs(20, 20)
    assert len(set(map(frozenset, pairs))) == 20
    assert np.bincount(np.ravel(pairs)).tolist() == [2] * 20
    assert chosen_pairs(2, 20) == [(0, 1)] and len(chosen_pairs(4, 20)) == 6


def scripted(monkeypatch, function):
    """Trials whose outcome is a function of the leaf of age."""

    def outcomes(self, trials, *, map_=map):
        leaves = [{v.columns[0]: v.model.min_leaf for v in visits} for visits in trials]
        return [function(leaf["age"]) for leaf in leaves]

    monkeypatch.setattr(Bench, "outcomes", outcomes)


def test_the_share_tells_a_copy_from_honest_rows(people):
    """Of 300 honest rows the share's SD is below 0.04: 0.15 off fails once in 5,000 runs."""
    world = people("continuous", 600, 60, 4)
    bench = Bench.of(plan_of(), QUICK, world.train, seed=1)
    one, two = bench.sides
    assert one.inner is two.other and one.other is two.inner and one.inner.rows == 300
    assert bench.share(((0, 0), [one.inner])) == 1.0 and bench.share(((0, 0), [one.other])) == 0.0
    assert bench.share(((0, 1), [one.inner])) == 0.0
    assert bench.share(((0, 0), [world.draw(300)])) == pytest.approx(0.5, abs=0.15)
    leak = stack([one.inner.take(slice(90)), world.draw(210)])
    assert bench.share(((0, 0), [leak])) > bench.share(((0, 0), [leak.take(slice(90, 300))]))


@pytest.mark.parametrize("against, half", [("train", "inner"), ("other", "other")])
def test_replicates_take_turns_at_learning_and_each_is_compared_with_its_own_half(
    train, monkeypatch, against, half
):
    """A kept column shows which half a table was made from."""
    seen = {}

    def caught(real, columns, tuning, drawn, **_):
        seen.update(real=real, drawn=drawn)
        return {place: (np.ones(2), 1.0) for place in drawn}

    monkeypatch.setattr("understudy.study.trial.ratios", caught)
    plan = replace(plan_of(), visits=(VisitPlan("keep", ("age",)),))
    bench = Bench.of(plan, replace(QUICK, against=against), train, seed=1)
    bench.outcomes([plan.visits_for(train.encoding, leaf=20)])
    assert set(seen["drawn"]) == {(0, 0), (0, 1)}
    for (_, which), blocks in seen["drawn"].items():
        assert len(blocks) == 2
        for block in blocks:
            assert np.array_equal(block.values["age"], bench.sides[which].inner.values["age"])
        assert seen["real"][which] is getattr(bench.sides[which], half)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_is_a_failed_trial(train, monkeypatch, number):
    bench = Bench.of(plan_of(), QUICK, train, seed=1)
    monkeypatch.setattr(
        "understudy.study.trial.ratios",
        lambda real, columns, tuning, drawn, **_: {p: (np.full(2, number), 1.0) for p in drawn},
    )
    (outcome,) = bench.outcomes([Plan().visits_for(train.encoding)])
    assert outcome.failed and "finite" in outcome.why


def test_failed_trials_are_passed_over(train, monkeypatch):
    def outcome(leaf):
        return Outcome(why="no") if leaf > 20 else Outcome(1 + leaf / 20, 0.1, 1.0, 0.5)

    scripted(monkeypatch, outcome)
    found = tune(plan_of(free=(AGE,), trials=8), train, seed=1)
    failed = [trial for trial in found.trials if trial.outcome.failed]
    assert failed and found.chosen.values[0] <= 4
    assert len(found.trials) == 16  # it went on
    assert found.summary()["trials"][found.trials.index(failed[0])]["loss"] is None


def test_a_model_that_refuses_is_a_failed_trial(train):
    town = VisitPlan("multinomial", ("town",), ("sex", "age"), settings={"max_terms": 1})
    with pytest.raises(PlanError, match=r"all failed.*max_terms"):
        tune(Plan(visits=(town,), tune=replace(QUICK, trials=3)), train, seed=1)


def test_a_protection_that_refuses_is_a_failed_trial(train, monkeypatch):
    """The tuning goes on; other trials of the same round keep their numbers."""
    whole = tune(plan_of(free=(AGE,), seeds=1, trials=4), train, seed=1)
    plain = Bench._draw

    def refuses(self, trials, job):
        leaf = next(v.model.min_leaf for v in trials[job[0]] if "age" in v.columns)
        if leaf == whole.trials[1].values[0] and job[1] == 2:
            raise ProtectionError("no such rows")
        return plain(self, trials, job)

    monkeypatch.setattr(Bench, "_draw", refuses)
    found = tune(plan_of(free=(AGE,), seeds=1, trials=4), train, seed=1)
    assert [trial.outcome.failed for trial in found.trials[:3]] == [False, True, False]
    assert found.trials[1].outcome.why == "no such rows" and len(found.trials) == 4
    assert [found.trials[k].outcome for k in (0, 2)] == [whole.trials[k].outcome for k in (0, 2)]


def test_the_chosen_one_keeps_the_ceiling(train, monkeypatch):
    """The ratio is best at small leaves, which have the larger share."""
    scripted(monkeypatch, lambda leaf: Outcome(1 + leaf / 60, 0.1, 1.0, 0.5, 0.6 - leaf / 300))
    ceiling = {"measure": "dcr.share", "most": 0.5}
    free = tune(plan_of(free=(AGE,)), train, seed=1)
    kept = tune(plan_of(free=(AGE,), ceiling=ceiling, trials=8), train, seed=1)
    assert free.chosen.values[0] < 10
    assert kept.chosen.outcome.limited <= 0.5 and kept.summary()["kept"]
    assert 30 <= kept.chosen.values[0] <= 45
    none = tune(plan_of(free=(AGE,), ceiling={**ceiling, "most": 0.1}), train, seed=1)
    assert not none.summary()["kept"]
    assert none.chosen.outcome.limited == min(t.outcome.limited for t in none.trials)


def test_the_running_minimum_is_of_trials_that_keep_the_ceiling(train, monkeypatch):
    """Losses 4, 1, 9, 0.25, 2.25; the second and the fourth are above the ceiling."""
    ratios = [3.0, 2.0, 4.0, 1.5, 2.5]
    numbered(monkeypatch, lambda k: Outcome(ratios[k], 0.1, 1.0, 0.5, 0.6 if k in (1, 3) else 0.4))
    plan = plan_of(free=(AGE,), seeds=1, ceiling={"measure": "dcr.share", "most": 0.5}, first=5)
    ratios += [1.0] * 9  # the chosen one measured again
    running = tune(plan, train, seed=1).summary()["running"]
    assert [step["best"] for step in running] == [4.0, 4.0, 4.0, 4.0, 2.25]


def test_a_search_without_improvement_stops(train, monkeypatch):
    scripted(monkeypatch, lambda leaf: Outcome(2.0, 0.1, 1.0, 0.5))
    found = tune(plan_of(free=(AGE,), trials=12, patience=2), train, seed=1)
    assert [len([t for t in found.trials if t.search == s]) for s in (1, 2)] == [5, 5]


def numbered(monkeypatch, function):
    """Trials whose outcome is a function of how many were made before."""
    count = iter(range(1000))

    def outcomes(self, trials, *, map_=map):
        return [function(next(count)) for _ in trials]

    monkeypatch.setattr(Bench, "outcomes", outcomes)


def test_a_search_that_improves_goes_on(train, monkeypatch):
    numbered(monkeypatch, lambda made: Outcome(1 + 1 / (1 + made), 0.1, 1.0, 0.5))
    found = tune(plan_of(free=(AGE,), seeds=1, trials=9, patience=1), train, seed=1)
    assert len(found.trials) == 9


def test_a_search_that_comes_nearer_to_its_ceiling_goes_on(train, monkeypatch):
    """No trial keeps it, and the ratio is always the same."""
    ceiling = {"measure": "dcr.share", "most": 0.5}
    numbered(monkeypatch, lambda made: Outcome(2.0, 0.1, 1.0, 0.9, 0.9 - 0.01 * min(made, 5)))
    plan = plan_of(free=(AGE,), seeds=1, trials=12, patience=2, ceiling=ceiling)
    found = tune(plan, train, seed=1)
    assert [t.outcome.limited for t in found.trials][-1] == pytest.approx(0.85)
    assert len(found.trials) == 8  # the sixth was the last that came nearer


def test_a_ratio_that_crosses_one_is_found(train, monkeypatch):
    """It rises with the leaf from 0.1 to 3, and is 1 at 20: one end is no better than the other.

    Of 12 trials at random the best is within 1 of 20 in about a third of all runs (the scale has 70
    steps); here both searches must find it.
    """
    scripted(monkeypatch, lambda leaf: Outcome(leaf / 20, 0.1, 1.0, 0.5))
    found = tune(plan_of(free=(AGE,), trials=12), train, seed=1)
    for search in (1, 2):
        leaves = [t.values[0] for t in found.trials if t.search == search]
        assert min(abs(leaf - 20) for leaf in leaves) <= 1, leaves
    assert abs(found.chosen.values[0] - 20) <= 1


def test_each_outcome_belongs_to_its_values(train, monkeypatch):
    """Models refuse leaves from 10 to 30 before any work, others are made: none is mixed up."""

    def refuses(visits, free, values, where="tune.free"):
        if 10 <= values[0] <= 30:
            raise PlanError("leaf", values[0], "another")
        return changed(visits, free, values, where)

    monkeypatch.setattr("understudy.study.tune.changed", refuses)
    scripted(monkeypatch, lambda leaf: Outcome(1 + leaf, 0.1, 1.0, 0.5))
    found = tune(plan_of(free=(AGE,), seeds=3, trials=6, first=6), train, seed=1)
    assert {trial.outcome.failed for trial in found.trials} == {True, False}
    for trial in found.trials:
        leaf = trial.values[0]
        assert trial.outcome.failed == (10 <= leaf <= 30)
        assert trial.outcome.failed or trial.outcome.number == 1 + leaf


def test_what_failed_counts_as_the_worst_of_both_numbers(train, monkeypatch):
    asked = {}

    def caught(points, numbers, count, **settings):
        asked.update(numbers=numbers, limited=settings["limited"])
        return points[:count]

    monkeypatch.setattr("understudy.study.tune.propose", caught)
    made = [Outcome(2.0, 0.1, 1.0, 0.5, 0.6), Outcome(why="no"), Outcome(1.1, 0.1, 1.0, 0.5, 0.4)]
    numbered(monkeypatch, lambda k: made[min(k, 2)])
    ceiling = {"measure": "dcr.share", "most": 0.5}
    tune(plan_of(free=(AGE,), seeds=1, trials=4, ceiling=ceiling), train, seed=1)
    assert asked["numbers"] == pytest.approx(np.log([2.0, 2.0, 1.1]))
    assert asked["limited"].tolist() == [0.6, 0.6, 0.4]


@pytest.mark.parametrize("halves, pairs", [(1, 6), (2, 3)])
def test_halves_share_the_pairs(train, monkeypatch, halves, pairs):
    """A mean over ``pairs`` pairs in all, whether one half is learnt from or two."""
    asked = []

    def counted(size, count):
        asked.append(count)
        return chosen_pairs(size, count)

    monkeypatch.setattr("understudy.study.objective.chosen_pairs", counted)
    blocks = [train.take(slice(i * 50, 50 + i * 50)) for i in range(4)]
    drawn = {(0, half): blocks for half in range(halves)}
    real = [train.take(slice(50))] * halves
    ratios(real, ("age", "income"), replace(QUICK, pairs=6), drawn, seed=1, map_=map)
    assert asked == [pairs] * halves


def test_a_clock_ends_it_and_it_says_so(train, monkeypatch):
    scripted(monkeypatch, lambda leaf: Outcome(2.0, 0.1, 1.0, 0.5))
    found = tune(plan_of(free=(AGE,), trials=12, minutes=1e-9), train, seed=1)
    assert not found.exact and found.summary()["exact"] is False and found.trials


@pytest.mark.parametrize(
    "objective, target, goal",
    [("pmse.logit", "train", "minimise"), ("dcr.p05", None, "maximise")],
)
def test_any_number_can_be_optimised(train, objective, target, goal):
    settings = {"free": (AGE,), "seeds": 1, "trials": 2, "replicates": 2}
    found = tune(plan_of(objective=objective, target=target, **settings), train, seed=1)
    assert found.aim.goal == goal
    sign = 1 if goal == "minimise" else -1
    numbers = [sign * trial.outcome.number for trial in found.trials]
    assert sign * found.chosen.outcome.number == min(numbers)
    forced = tune(plan_of(objective=objective, goal="reference", **settings), train, seed=1)
    gaps = [(t.outcome.number - t.outcome.reference) ** 2 for t in forced.trials]
    assert forced.loss(forced.chosen) == min(gaps)


@pytest.mark.parametrize(
    "settings, key",
    [
        ({"objective": "pmse"}, "tune.objective"),
        ({"objective": "pmse.logit", "target": "moon"}, "tune.target"),
        ({"ceiling": {"measure": "moon", "most": 1}}, "tune.ceiling.measure"),
        ({"objective": "attribute.max_ratio"}, "tune.objective"),  # nothing is sensitive here
        ({"ceiling": {"measure": "attribute.correct", "most": 1}}, "tune.ceiling.measure"),
        ({"free": ({**AGE, "column": "moon"},)}, "tune.free[0].setting"),
        ({"free": ({**AGE, "setting": "moon"},)}, "tune.free[0].setting"),
        ({"free": ({**AGE, "low": 0.5, "high": 9.5, "whole": True},)}, "tune.free[0].low"),
        ({"free": ({**AGE, "setting": "complexity", "high": 3},)}, "tune.free[0].complexity"),
    ],
)
def test_what_cannot_be_tuned_is_said_at_once(train, settings, key):
    with pytest.raises(PlanError) as caught:
        tune(plan_of(**settings), train, seed=1)
    assert caught.value.key == key


def test_what_is_free_is_found_by_model(train):
    mixture, logit = VisitPlan("mixture", ("age", "income")), VisitPlan("multinomial", ("town",))
    visits = Plan(visits=(mixture, logit)).visits_for(train.encoding)
    found = {p.path: p for p in parameters(QUICK, visits, train)}
    assert set(found) == {"age+income.components", "town.C", "sex.min_leaf"}
    assert found["age+income.components"].high == 100 and not found["town.C"].whole


def test_the_grid_reaches_both_ends_and_comes_back():
    leaf = Parameter("age.min_leaf", (0,), "min_leaf", 3, 777, whole=True, log=True)
    places = np.linspace(0, 1, 2000)
    values = [leaf.value(place) for place in places]
    assert (values[0], values[-1]) == (3, 777) and len(set(values)) < 130
    assert all(leaf.value(leaf.place(value)) == value for value in set(values))
    straight = Parameter("x.C", (0,), "C", -1.0, 3.0)
    assert straight.value(0.5) == 1.0 and straight.place(1.0) == 0.5


def test_what_is_automatic_and_not_free_stays_so(train):
    plan, tuning = Plan(), replace(QUICK, free=(AGE,))
    visits = plan.visits_for(train.encoding)
    free = parameters(tuning, visits, train)
    again = written(plan, train, free, (17,))
    leaves = {v.columns[0]: v.settings["min_leaf"] for v in again.visits}
    assert leaves["age"] == 17 and leaves["income"] == "auto" and again.needs_leaf
    assert [v.model.min_leaf for v in changed(visits, free, (9,)) if "age" in v.columns] == [9]


def test_ties_go_to_the_first_trial():
    aim, outcome = Aim("(24)", "ratio"), Outcome(1.5, 0.1, 1.0, 0.5)
    trials = [Trial(1, 1, (2.0,), outcome), Trial(1, 2, (3.0,), outcome)]
    assert choose(aim, QUICK, trials) is trials[0]


def test_the_tuned_ratio_is_nearer_one_than_the_defaults(outbreak_train):
    """On the outbreak, one tree per column, measured on seeds that no trial saw.

    The leaf that closeness alone asks for is 300 and more: a ratio near 1.6. Eight random trials
    and two proposed ones come within half of that but for a mean over two seeds whose SD is 0.04.
    """
    plan = plan_of(seeds=1, trials=10, first=8, rows=1500, replicates=8, pairs=8, fresh=2)
    found = tune(plan, outbreak_train, seed=1)
    bench = Bench.of(plan, plan.tune, outbreak_train, seed=1).on(99)
    (before,) = bench.outcomes([Plan().visits_for(outbreak_train.encoding, leaf=300)])
    assert abs(np.mean([one.number for one in found.again]) - 1) < abs(before.number - 1) / 2


@pytest.fixture(scope="module")
def outbreak_train():
    from understudy.api import read
    from understudy.study import learnt_from
    from understudy.tables.outbreak import outbreak

    columns = ["sex", "age", "outcome", "contact_source", "longitude", "latitude"]
    return learnt_from(read(outbreak().select(columns)), Plan(), seed=1)
