"""Numbers, claims and their verdicts; what is written is whole and needs no network."""

import json
import re

import numpy as np
import pytest
from scipy.stats import norm, t

from understudy.errors import InputError
from understudy.report.pictures import picture
from understudy.report.reproduced import printed, reproduced
from understudy.reproduce import ITEMS, run
from understudy.reproduce.item import Bench, Item
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Series, errors
from understudy.reproduce.tuning import _DASHES

KINDS = ("lines", "spread", "points")


class Sample(Item):
    """An item that is quick: means of a few normal numbers."""

    paper, name, title = "bale-quick", "sample", "Means <of> normal numbers"
    source, unit, published = "nowhere", "draws", 50

    def run(self, bench):
        values = np.random.default_rng(bench.seed).normal(size=self.repetitions)
        lines = [
            Series("MNL", [0, 1], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], "mnl"),
            Series("CART </script>", [0, 1], [2.0, float("nan")], role="cart", dash="dotted"),
        ]
        return self.result(
            bench,
            [Claim.between("The mean is above −9", {"all": Cell.mean(values)}, -9.0)],
            [Grid("Means", ("What", "Mean"), (("all", (Cell.mean(values, 0.5),)),))],
            [Picture("Lines", "x", "y", tuple(lines), kind) for kind in KINDS],
            ["A note."],
        )  # fmt: skip


@pytest.fixture
def sample(monkeypatch):
    monkeypatch.setitem(ITEMS, "bale-quick", {"sample": Sample})
    return Sample(repetitions=9).run(Bench(4)).to_json()


def test_standard_error_of_a_mean():
    values = [1.0, 4.0, 4.0, 7.0]
    cell = Cell.mean(values)
    assert cell.ours == 4.0
    assert cell.error == pytest.approx(np.sqrt(6.0 / 4))  # variance 6 of four values


def test_repetitions_that_agree_have_no_error():
    assert Cell.mean([0.1 + 0.2, 0.3, 0.3]).error == 0.0


@pytest.mark.parametrize(
    "ours, error, verdict",
    [
        (1.0, 0.4, "holds"),
        (0.5, 0.4, "undecided"),
        (-1.0, 0.4, "fails"),
        (1.0, np.nan, "not-measured"),
        (9.0, 0.4, "fails"),
    ],
)
def test_a_range_is_claimed_by_an_interval(ours, error, verdict):
    assert Claim.between("in between", {"one": Cell(ours, error)}, 0.0, 5.0).verdict == verdict


def test_the_worst_part_decides():
    parts = {"good": Cell(1.0, 0.1), "bad": Cell(-1.0, 0.1)}
    claim = Claim.between("all above 0", parts, 0.0)
    assert (
        claim.verdict == "fails" and "good: 1 (" in claim.evidence and "bad: −1 (" in claim.evidence
    )


def test_intervals_of_few_repetitions_are_those_of_student():
    values = np.array([1.0, 4.0, 4.0, 7.0])
    assert Cell.mean(values).interval == pytest.approx(
        t.interval(0.95, 3, values.mean(), values.std(ddof=1) / 2)
    )


def test_few_repetitions_allow_more_standard_errors():
    for repetitions in (3, 10, 400):
        chance = t.sf(errors(4, repetitions), repetitions - 1)
        assert chance == pytest.approx(norm.sf(4), rel=1e-6)


def test_json_has_no_nan_and_comes_back(sample):
    assert json.loads(json.dumps(sample, allow_nan=False)) == sample
    assert sample["pictures"][0]["series"][1]["y"] == [2.0, None]


def test_page_is_one_file_without_network(sample):
    page = reproduced(sample)
    assert not re.search(r"""(src|href)=["'](https?:|//)""", page.split("<script>")[0])
    assert "Means &lt;of&gt; normal numbers" in page and "CART </script>" not in page
    assert "Quick: 9 draws instead of the paper&#39;s 50." in page
    assert page.count('data-chart="') == 3 and "paper 0.5" in page


def test_claims_that_cannot_be_asked_are_not_counted_as_held(sample):
    claims = [{"claim": "c", "verdict": v, "evidence": "e"} for v in ("holds", "not-applicable")]
    page = reproduced({**sample, "claims": claims})
    assert "1 of 1 claim holds. 1 cannot be asked here." in page
    assert "cannot be asked" not in reproduced(sample)


def test_terminal_shows_ours_beside_theirs(sample):
    text = printed(sample)
    assert "Quick: 9 draws instead of the paper's 50." in text
    assert "holds: The mean is above −9" in text
    assert re.search(r"all +−?0\.\d+ ± 0\.\d+ \(0\.5\)", text)


def test_each_item_gets_a_page_and_json(sample, tmp_path):
    (tmp_path / "bale-quick-sample.html").write_text("an old page")
    done = list(run.reproduce("bale-quick", out=tmp_path, repetitions=9, seed=4))
    assert [found for found, _ in done] == [sample]
    assert json.loads((tmp_path / "bale-quick-sample.json").read_text()) == sample
    assert done[0][1].read_text() == reproduced(sample)
    assert len(list(tmp_path.iterdir())) == 2  # nothing else stays behind


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="no paper called 'bale'; there are: bale-quick"):
        list(run.reproduce("bale", out=tmp_path / "new"))
    with pytest.raises(InputError, match="no item called 'table9'; it has: table1"):
        list(run.reproduce("bale-quick", "table9", out=tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write to"):
        list(run.reproduce("bale-quick", out=tmp_path / "file"))


def test_every_item_is_listed_under_its_own_name():
    for paper in run.listed():
        assert [one["item"] for one in paper["items"]] == list(ITEMS[paper["paper"]])
        for one in run.chosen(paper["paper"]):
            assert one.paper == paper["paper"] and one.repetitions >= one.published
            assert one.quick == ""


def test_work_is_shared_between_items():
    bench, calls = Bench(1), []
    for _ in range(2):
        assert bench.once("fit", lambda: calls.append(1) or len(calls)) == 1


def command(monkeypatch, *words):
    """Exit status and output of the command line, with the errors that a user would see."""
    from understudy import cli

    monkeypatch.setattr("sys.argv", ["understudy", "reproduce", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code or 0


def test_command_lists_papers_and_items(monkeypatch, capsys):
    assert command(monkeypatch) == 0
    shown = capsys.readouterr().out
    for paper, kinds in ITEMS.items():
        assert paper in shown
        assert all(kind.name in shown and kind.source in shown for kind in kinds.values())
    assert command(monkeypatch, "--json") == 0
    listed = json.loads(capsys.readouterr().out)["papers"]
    assert [one["item"] for one in listed[0]["items"]] == list(ITEMS["bale-quick"])


def test_command_writes_and_prints(sample, monkeypatch, capsys, tmp_path):
    words = ("bale-quick", "sample", "--repetitions", "9", "--seed", "4", "--out", str(tmp_path))
    assert command(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    assert "holds: The mean is above −9" in shown and "bale-quick-sample.html" in shown
    assert command(monkeypatch, *words, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"items": [sample]}


@pytest.mark.parametrize(
    "words, said",
    [
        (("bale",), "no paper called 'bale'"),
        (("bale-quick", "table0"), "no item called 'table0'"),
        (("bale-quick", "table1", "--repetitions", "1"), "--repetitions"),
        (("bale-quick", "table1", "--out", "file"), "cannot write to file"),
    ],
)
def test_command_says_what_is_wrong(words, said, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert command(monkeypatch, *words) == 2
    seen = capsys.readouterr()
    assert said in seen.err and "Traceback" not in seen.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_searches_are_told_apart_and_a_minimum_goes_down_in_steps():
    lines = [{"name": f"search {k}", "x": [1, 2], "y": [2.0, 1.0], "low": [], "high": [],
              "role": "mnl", "dash": dash} for k, dash in enumerate(_DASHES, 1)]  # fmt: skip
    spec = picture({"kind": "steps", "across": "trial", "up": "best", "series": lines})
    _, line = spec["layer"]
    assert line["mark"]["interpolate"] == "step-after"
    dashes = line["encoding"]["strokeDash"]["scale"]["range"]
    assert len({tuple(dash) for dash in dashes}) == 5
