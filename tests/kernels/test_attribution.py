"""The CAP family against loops over dictionaries, and tables small enough to read."""

from collections import Counter, defaultdict
from dataclasses import astuple

import numpy as np
import pytest

from understudy.kernels.attribution import (
    Keyed,
    cap,
    judged,
    replicated,
    settled,
    tcap,
)


def slow(people, rows):
    """CAP, DiS and DiSCO of each person; TCAP of each synthetic row in a class that settles."""
    targets = defaultdict(list)
    for k, t in rows:
        targets[k].append(t)
    sure = {k: found[0] for k, found in targets.items() if len(set(found)) == 1}
    caps = [targets[k].count(t) / len(targets[k]) if targets[k] else 0.0 for k, t in people]
    dis = [k in sure for k, _ in people]
    disco = [k in sure and sure[k] == t for k, t in people]
    found = []
    for k, t in rows:
        if k in sure:
            mine = [other for key, other in people if key == k]
            found.append(mine.count(t) / len(mine) if mine else None)
    return caps, dis, disco, found


def mean(values):
    return sum(values) / len(values) if values else float("nan")


@pytest.mark.parametrize("seed", range(10))
def test_all_of_them_as_loops_have_them(seed):
    """300 small tables."""
    rng = np.random.default_rng(seed)
    matched = 0
    for _ in range(30):
        keys, levels = rng.integers(1, 12), rng.integers(1, 4)
        people, rows = (
            [(int(rng.integers(keys)), int(rng.integers(levels))) for _ in range(n)]
            for n in rng.integers(1, 25, 2)
        )
        one, other = (Keyed(*np.array(part).T) for part in (people, rows))
        caps, dis, disco, found = slow(people, rows)
        classes = settled(other)
        assert cap(one, other).tolist() == pytest.approx(caps)
        assert [part.tolist() for part in judged(one, classes)] == [dis, disco]
        assert classes.rows.sum() == len(found)
        truth = (
            mean([right for right, sure in zip(disco, dis, strict=True) if sure]),
            mean([share or 0.0 for share in found]),
            mean([share for share in found if share is not None]),
        )
        assert astuple(tcap(one, classes)) == pytest.approx(truth, nan_ok=True)
        mine, theirs = Counter(k for k, _ in people), Counter(k for k, _ in rows)
        truth = [mine[k] == 1 and theirs[k] == 1 for k, _ in people]
        assert replicated(one.key, other.key).tolist() == truth
        matched += sum(disco)
    assert matched > 30


def test_a_stranger_is_alone_where_no_member_has_the_keys():
    members, rows = np.array([0, 0, 1]), np.array([1, 2, 3, 3])
    strangers = np.array([1, 2, 2, 3])
    assert replicated(strangers, rows, members).tolist() == [False, True, True, False]


def test_by_hand():
    """Two of four people have keys that the release settles, one of them truly."""
    people = Keyed(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    rows = Keyed(np.array([0, 0, 1, 2, 2, 9]), np.array([0, 0, 1, 0, 1, 1]))
    assert cap(people, rows).tolist() == [1.0, 0.0, 0.5, 0.0]
    classes = settled(rows)
    dis, disco = judged(people, classes)
    assert dis.mean() == 0.5 and disco.mean() == 0.25
    # Four rows are settled: two find their target, one finds another, one finds nobody. Of the two
    # people whose keys are settled, one has the target.
    assert astuple(tcap(people, classes)) == (0.5, 0.5, 2 / 3)


def test_nobody_and_nothing():
    nobody = Keyed(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    one = Keyed(np.array([4]), np.array([0]))
    assert cap(one, nobody).tolist() == [0.0] and cap(nobody, one).tolist() == []
    assert judged(one, settled(nobody))[0].tolist() == [False]
    assert tcap(nobody, settled(one)).of_rows == 0.0
