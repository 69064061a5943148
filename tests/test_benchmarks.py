"""The benchmarks run, at sizes that take no time; none of their figures is asserted here."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.{name}")


def test_every_benchmark_has_a_main() -> None:
    runner = module("__main__")
    for peers in (False, True):
        for name in runner.names(peers=peers):
            assert callable(module(name).main), name
    assert "synthesis_adult" in runner.names(peers=False)
    assert runner.names(peers=True) == ["peers_adult", "peers_install"]


def test_peers_are_pinned_and_their_scripts_are_there() -> None:
    peers = module("_peers")
    with (ROOT / "benchmarks" / "peers.toml").open("rb") as file:
        for name in tomllib.load(file):
            assert "==" in peers.requirements(name)[0]
    for script in ("synthpop_py.py", "sdv_copula.py", "anonymeter_attacks.py"):
        compile((ROOT / "benchmarks" / "scripts" / script).read_text(), script, "exec")


def test_a_peer_that_cannot_be_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = module("_peers")
    monkeypatch.setattr(peers, "CACHE", tmp_path)
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    monkeypatch.setattr(peers.venv, "create", lambda *args, **settings: None)
    # An interpreter that refuses whatever it is asked stands for a machine without a registry.
    home = tmp_path / "sdv" / ("Scripts" if sys.platform == "win32" else "bin")
    home.mkdir(parents=True)
    (home / "python").write_text("#!/bin/sh\necho 'no matching distribution' >&2\nexit 1\n")
    (home / "python").chmod(0o755)
    with pytest.raises(peers.Absent, match=r"sdv is skipped.*no matching distribution"):
        peers.interpreter("sdv")


def test_a_bar_says_whether_it_is_met() -> None:
    clock = module("_clock")
    assert clock.verdict("time", 21.0, 20.0, " s") == "bar NOT MET: time 21 s, at most 20 s"
    assert clock.verdict("ratio", 9.0, 8.0, least=True) == "bar met: ratio 9, at least 8"
    assert clock.exponent([1, 2, 4], [3, 6, 12]) == pytest.approx(1.0)
    assert clock.peak_megabytes() > 10


def test_synthesis_and_its_scores() -> None:
    table = module("_mixed").mixed(600)
    made = module("_synthesis").synthesize(table)
    assert made.rows == 600 and sorted(made.names) == sorted(table.names)
    found = module("_synthesis").scores(table, {"copy": table, "made": made})
    assert [kind.pmse for kind in found["copy"]] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert found["made"][0].pmse > 0
    assert module("synthesis_million").one(600)["megabytes"] > 10


def test_a_peers_table_gets_the_types_of_the_original(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from understudy.api import read

    table = read(pa.table({"age": [31, 49, 50] * 20, "sex": ["m", "f", "f"] * 20}))
    floats = pa.table({"sex": pa.array(["f", "m"], pa.large_string()), "age": [31.0, 48.7]})
    pq.write_table(floats, tmp_path / "peer.parquet")
    other = module("_synthesis").conforming(tmp_path / "peer.parquet", table)
    assert other.data.schema.types == table.data.schema.types
    assert other.column("age").to_pylist() == [31, 49]


def test_structure_sampling_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    module("synthesis_million").sampling_error(1500, 1000)
    assert re.search(r"pMSE \(tree\) .* on all rows \d", capsys.readouterr().out)


def test_wide_factors() -> None:
    factors = module("factors")
    assert set(factors.costs(400, 30)) >= {"target", "predictor of a factor", "whole table"}


def test_closeness_agrees_with_plain() -> None:
    closeness = module("closeness")
    found = closeness.one(300)
    assert found["gap"] < 1e-9 and found["plain"] > 0


def test_the_distance_filter_agrees_with_all_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    module("distance_filter").main(240)
    assert "same answers as all pairs: 60 of 60" in capsys.readouterr().out


def test_attribute_disclosure_agrees_with_a_double_loop() -> None:
    attribute = module("attribute")
    for levels in attribute.KEYS.values():
        assert attribute.one(150, levels, every=True)["gap"] < 1e-9


def test_gtcap_agrees_with_algorithm_2() -> None:
    gtcap = module("gtcap")
    for number in (False, True):
        assert gtcap.one(300, number)["gap"] < 1e-9


def test_gtcap_properties() -> None:
    lines = module("gtcap_properties").study(120, 1)
    assert len(lines) == 23 and "uniques" in lines[1]


def test_attacks_are_timed_and_rates_compared(capsys: pytest.CaptureFixture[str]) -> None:
    attacks, table = module("attacks"), module("_mixed").mixed(900)
    parts = attacks.tables(table, 300)
    assert [part.rows for part in parts.values()] == [300, 300, 300]
    found = attacks.ours(parts, 50, threads=1)
    families = {attacks.family(name) for name in found}
    assert families == {"singling_out", "linkability", "inference"}
    assert set(attacks.seconds(found, "wall")) == families
    name = next(name for name in found if name.startswith("inference"))
    same, other = {"attack": 0.2, "made": 1000}, {"attack": 0.5, "made": 1000}
    assert (
        attacks.agree(same, same, "attack") == "" and attacks.agree(same, other, "attack") == "  *"
    )
    attacks.show({name: found[name]}, {name: found[name]})
    assert name in capsys.readouterr().out


def test_doubling(monkeypatch: pytest.MonkeyPatch) -> None:
    doubling = module("doubling")
    monkeypatch.setattr(doubling, "STEPS", 2)
    monkeypatch.setattr(doubling, "REPEATS", 1)
    with threadpool_limits(1):
        for case in doubling.CASES:
            sizes = [rows for rows, _ in doubling.measure(case, 400 / case.largest)]
            assert sizes == [200, 400], case.name


def test_the_frontier_knows_a_copy_from_a_stranger() -> None:
    frontier, table = module("frontier"), module("_mixed").mixed(900)
    fresh = frontier.fresh(table, 2)
    assert abs(fresh.share - 0.5) < 0.1 and abs(fresh.ratio - 1.0) < 0.3
    split = frontier.halves(table, 0)
    assert split.train.rows == split.unseen.rows == 450
    made = frontier.ours("cart", min_leaf=50)(split)
    train, unseen = (made.encoding.encode(part) for part in (split.train, split.unseen))
    assert frontier.judge(train, unseen, train, 0)[0] == 1.0
    share, ratio = frontier.judge(train, unseen, made, 0)
    assert 0.4 < share < 0.8 and ratio > 0.5
    point = frontier.point("mixed", "cart", [(share, ratio)] * 2)
    assert module("_frontier").draw_picture([point], 0.505, 1.1).count("<circle") == 1


def test_help_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    module("demo").main(whole=False)
    assert "understudy --help" in capsys.readouterr().out


def test_tuning_is_compared_with_the_plain_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    module("tuning").main(rows=120, searches=1, trials=3, every=1)
    out = capsys.readouterr().out
    assert "plainly, 3 of these trials" in out and "times as fast as plainly" in out


def test_ecap_agrees_with_simulated_people() -> None:
    """Simulated neighbours are off by a quarter of their distance: so is the plain ECAP."""
    found = module("ecap").one(300, 2)
    assert found["gap"] < 0.02 and found["sigma"] < 1.0


def test_ratios_of_pairs_agree_with_a_plain_loop() -> None:
    found = module("pair_ratios").measure(300)
    assert found["gap"] < 1e-12 and found["null"] < 0.5 and found["pairs"] == 105


def test_visits_are_compared_with_strangers(capsys: pytest.CaptureFixture[str]) -> None:
    module("visits").main(largest=512)
    out = capsys.readouterr().out
    assert "times what strangers take" in out and "grows as rows^" in out
