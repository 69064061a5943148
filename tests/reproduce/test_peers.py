"""A peer's folder: what is put there, what is wanted from it, and what is refused."""

import csv

import numpy as np
import pytest

from understudy.errors import InputError
from understudy.reproduce import outbreak
from understudy.reproduce.item import Bench
from understudy.reproduce.outbreak import DESIGNS, LOOKS, Variant, offered, people, rounds, samples
from understudy.reproduce.peers import Peer
from understudy.reproduce.run import reproduce

COARSE = (Variant("MNL", "mnl", 4, 0.1, 0.1, 0.1, protect=False),)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Every twentieth person of the outbreak."""
    some = people().take(np.arange(0, 6_712, 20))
    monkeypatch.setattr(outbreak, "people", lambda: some)
    monkeypatch.setattr(outbreak, "DRAWN", 168)
    return some


def copying(folder, repetitions=2):
    """A tool that gives the train back as it is, and then the other way round."""
    (folder / "synthetic").mkdir()
    for design in DESIGNS:
        for number in range(1, repetitions + 1):
            stem = f"{design}-{number:02d}"
            train = "overlapping" if design == "overlapping" else stem
            head, *rows = (folder / "train" / f"{train}.csv").read_text().splitlines()
            for which, order in ((1, rows), (2, rows[::-1])):
                path = folder / "synthetic" / f"{stem}-{which}.csv"
                path.write_text("\n".join([head, *order]) + "\n")


@pytest.fixture
def peer(tmp_path):
    made = Peer("Copier", tmp_path / "tables")
    with pytest.raises(InputError, match=r"8 of 8 tables are not in .*overlapping-01-1\.csv"):
        offered(made, 2, seed=1)
    copying(made.folder)
    return made


def test_what_is_offered_are_the_trains_of_the_rounds(peer, few):
    offered(peer, 2, seed=1)  # all is there now
    found = sorted(path.name for path in (peer.folder / "train").iterdir())
    assert found == ["disjoint-01.csv", "disjoint-02.csv", "overlapping.csv"]
    for design in DESIGNS:
        for number, (train, _) in enumerate(samples(few, design, 2, seed=1), 1):
            name = "overlapping" if design == "overlapping" else f"{design}-{number:02d}"
            with (peer.folder / "train" / f"{name}.csv").open(newline="") as file:
                rows = list(csv.DictReader(file))
            assert list(rows[0]) == list(LOOKS)
            there = [float(row["longitude"]) for row in rows]
            assert np.array_equal(there, train.values["longitude"])


@pytest.mark.parametrize("design", DESIGNS)
def test_rounds_have_the_peers_tables_beside_ours(peer, design):
    bench = Bench(1, peers=(peer,))
    for one in rounds(bench, design, 2, COARSE):
        assert list(one.made) == ["MNL", "Copier"] and list(one.twins) == ["MNL", "Copier"]
        for name, codes in one.train.codes.items():
            assert np.array_equal(one.made["Copier"].codes[name], codes)
            assert np.array_equal(one.twins["Copier"].codes[name], codes[::-1])
    (alone, _) = rounds(Bench(1), design, 2, COARSE)
    (first, _) = rounds(bench, design, 2, COARSE)
    assert np.array_equal(alone.made["MNL"].codes["age"], first.made["MNL"].codes["age"])


def test_tables_of_another_seed_are_not_taken_for_these(peer):
    with pytest.raises(InputError, match="another seed"):
        offered(peer, 2, seed=2)


def change(path, line, text):
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "line, text, said",
    [
        (0, "longitude,latitude,sex,age,state", "lacks columns of the original: outcome"),
        (5, "1.5,2.5,canary,20s,recovered", "sex has missing values, or some that train lacks"),
        (5, "1.5,2.5,male,,recovered", "age has missing values"),
        (5, ",2.5,male,20s,recovered", "longitude has missing values"),
        (5, "canary,2.5,male,20s,recovered", "longitude"),
    ],
)
def test_a_table_that_cannot_be_compared_is_refused_before_any_work(peer, line, text, said):
    change(peer.folder / "synthetic" / "disjoint-02-1.csv", line, text)
    with pytest.raises(InputError, match=said) as caught:
        offered(peer, 2, seed=1)
    assert "disjoint-02-1.csv" in str(caught.value) and "canary" not in str(caught.value)


def test_fewer_rows_are_refused(peer):
    path = peer.folder / "synthetic" / "overlapping-02-2.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="has 167 rows; 168 are compared"):
        offered(peer, 2, seed=1)


@pytest.mark.parametrize(
    "text", ["x", "=x", "x=", "CART=x", "Holdout=x", "MNL 2=x", "a" * 31 + "=x"]
)
def test_names_and_folders_are_checked(text):
    with pytest.raises(InputError, match="--peer"):
        Peer.of(text)


def test_the_command_says_what_is_wanted_and_writes_no_page(tmp_path):
    words = {"out": tmp_path / "out", "repetitions": 2}
    with pytest.raises(InputError, match="Copier: 8 of 8"):
        list(reproduce("bale-quick", "table3", peers=[f"Copier={tmp_path / 'tables'}"], **words))
    assert not (tmp_path / "out").exists() and (tmp_path / "tables" / "train").is_dir()
    with pytest.raises(InputError, match="two tools of one name"):
        list(reproduce("bale-quick", "table3", peers=["a=x", "a=y"], **words))
