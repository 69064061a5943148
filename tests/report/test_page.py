"""The page as a whole: well formed, safe with any name, complete without charts."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_sample import GATES, HOSTILE, NAN, finding, findings, points, summaries

import understudy.report
from understudy.report import page
from understudy.report.bundle import bundle
from understudy.results import Findings, Verdict

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Checks that tags balance, and collects elements, texts and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.text: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.problems: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        elif not self.open or self.open[-1] != "style":
            self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _, _ in self.elements)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def html() -> str:
    return page(findings(), summaries(), points())


@pytest.fixture(scope="module")
def read(html: str) -> Reader:
    return Reader(html)


def test_tags_balance_and_there_is_one_heading_of_the_first_rank(read: Reader) -> None:
    assert read.problems == []
    assert read.open == []
    assert read.count("h1") == 1
    assert next(attrs for tag, attrs, _ in read.elements if tag == "html")["lang"] == "en"


def test_identifiers_are_unique_and_links_lead_somewhere(read: Reader) -> None:
    ids = [attrs["id"] for _, attrs, _ in read.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [str(a["href"]) for tag, a, _ in read.elements if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    named = [str(a["aria-labelledby"]) for _, a, _ in read.elements if "aria-labelledby" in a]
    assert set(named) <= set(ids)


def test_each_table_has_a_caption_and_scoped_headings(html: str, read: Reader) -> None:
    assert read.count("table") == read.count("caption") > 5
    scopes = [attrs.get("scope") for tag, attrs, _ in read.elements if tag == "th"]
    assert set(scopes) == {"col", "row"}


def test_each_chart_has_words_a_specification_and_a_table(read: Reader) -> None:
    charts = [attrs for _, attrs, _ in read.elements if "data-chart" in attrs]
    specs = {attrs.get("id"): text for attrs, text in read.scripts}
    maps, given, attacks, listed, ratios, cells = 2, 1, 1, 2, 1, 2
    drawn = len(GATES) + 3 + 1 + 3 + len(HOSTILE) + 1 + 3 + 2
    assert len(charts) == drawn + maps + given + attacks + listed + ratios + cells
    for chart in charts:
        assert chart["role"] == "img"
        assert "table" in str(chart["aria-label"])
        assert json.loads(specs[chart["data-chart"]])["data"]["values"]
    # The pairs' table stands beside their chart; the tables of L are what a map has to say.
    # So do those of ratios and of listed findings; the two charts of a pair have one table.
    assert read.count("details") == len(charts) - 1 - maps - listed - ratios - cells // 2


def test_cells_that_are_stacked_on_a_narrow_screen_say_their_column(read: Reader) -> None:
    """`display: block` takes a table's meaning away; roles and names give it back."""
    stacked = [dict(a) for tag, a, _ in read.elements if "stacks" in str(a.get("class"))]
    assert len(stacked) == 4 and all(attrs["role"] == "table" for attrs in stacked)
    names = {attrs.get("data-name") for tag, attrs, _ in read.elements if tag == "td"}
    assert names >= {"Reference", "Difference", "Allowed", "About", "Value", "This release"}


def test_a_gate_that_was_not_measured_says_why_once() -> None:
    lost = finding("ims", Verdict.NOT_MEASURED, value=NAN, gate=True, note="there is no holdout")
    made = Findings("", {"holdout": {"rows": 0}}, (lost,))
    said = Reader(page(made, {})).words
    detail = said[said.rindex("Gates in detail") : said.rindex("All findings")]
    assert detail.count("There is no holdout") == 1
    assert "held-out people, the ideal release" not in detail
    assert "The same as a table" not in detail


def test_a_map_without_a_bad_pair_does_not_look_bad(read: Reader) -> None:
    specs = {attrs.get("id"): text for attrs, text in read.scripts}
    scale = json.loads(specs["spec-pairs"])["encoding"]["fillOpacity"]["scale"]
    assert scale["domain"] == [0, 0.1] and "full colour is 10% or more" in read.words


def test_hostile_names_are_text_and_nothing_else(html: str, read: Reader) -> None:
    for name in HOSTILE:
        assert " ".join(name.split()) in read.words
    assert "<b>" not in html
    assert "alert(1)</script>" not in html
    assert not any("onmouseover" in attrs for _, attrs, _ in read.elements)
    data = [text for attrs, text in read.scripts if attrs.get("type") == "application/json"]
    assert not any(sign in text for text in data for sign in "<>&\u2028\u2029")
    assert any(HOSTILE[4] in json.dumps(json.loads(text), ensure_ascii=False) for text in data)


def test_names_never_become_fields_or_expressions(read: Reader) -> None:
    for attrs, text in read.scripts:
        if attrs.get("type") == "application/json" and str(attrs.get("id")).startswith("spec-"):
            spec = json.loads(text)
            spec.pop("data")
            names = [json.dumps(name)[1:-1] for name in HOSTILE]
            rest = re.sub(r'"domain": \[[^]]*\]', "", json.dumps(spec))
            assert not any(name in rest for name in names)
            assert '"sort": [' not in rest  # Vega-Lite compiles such a list into an expression


def test_the_library_is_in_it_once_and_nothing_is_loaded(html: str, read: Reader) -> None:
    assert html.count(bundle()) == 1
    assert not any({"src", "href"} & set(a) for tag, a, _ in read.elements if tag != "a")
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_exactly_the_scripts_of_the_page(read: Reader) -> None:
    content = next(str(a["content"]) for t, a, _ in read.elements if a.get("http-equiv"))
    running = [text for attrs, text in read.scripts if attrs.get("type") != "application/json"]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in running]
    assert len(hashes) == 2
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    assert f"script-src {allowed};" in content
    assert content.startswith("default-src 'none'")
    assert "unsafe-eval" not in content


def test_the_page_is_the_same_from_json() -> None:
    made = findings()
    read = Findings.from_json(json.loads(made.dumps()))
    again = json.loads(json.dumps(summaries()))
    assert page(read, again) == page(made, summaries())


def test_clusters_are_named_by_their_level_and_judged(read: Reader) -> None:
    assert f"{HOSTILE[0]} = {HOSTILE[1]}" in read.words
    assert "mean of 3 replicates, the band holds 95% of them" in read.words
    assert "L − h and K of All points" in read.words and "K: 95% band" in read.words
    assert "12.5 to 13.9" in read.words
    spec = next(text for a, text in read.scripts if a.get("id") == "spec-l-1")
    band, lines = json.loads(spec)["layer"]
    assert [point["low"] for point in band["data"]["values"]] == [1.0, 1.1]
    assert band["mark"]["type"] == "area" and lines["mark"]["type"] == "line"
    # Three lines of three distances; at the first there is nothing to draw.
    assert len(json.loads(spec)["data"]["values"]) == 6


def test_the_map_says_what_it_is_and_has_one_frame(read: Reader) -> None:
    assert "Confidential. The first map shows where people of the original table are." in read.words
    assert "2 points of 5,000, at random" in read.words
    assert "places of single people" in read.words
    specs = [json.loads(t) for a, t in read.scripts if str(a.get("id")).startswith("spec-map-")]
    assert len(specs) == 2
    assert specs[0]["encoding"] == specs[1]["encoding"]
    assert specs[0]["encoding"]["x"]["scale"]["domain"] == [1.0, 9.0]
    assert specs[0]["data"]["values"] == [{"x": 1.0, "y": 2.0}, {"x": 3.0, "y": 4.0}]


def test_without_points_there_is_no_map() -> None:
    read = Reader(page(findings(), summaries()))
    assert not any("map-" in str(attrs.get("id")) for attrs, _ in read.scripts)
    assert "Confidential" not in read.words
    assert "(never rows)" in read.words
    lost = points()
    lost["points"]["synthetic"] = []  # no row of the release has a place
    assert "Confidential" not in Reader(page(findings(), summaries(), lost)).words


def test_no_word_promises_what_no_check_can_give(read: Reader) -> None:
    said = read.words.lower()
    for word in ("anonymous", "anonymised", "compliant", "gdpr", "overall score"):
        assert word not in said
    assert said.count("anonymity") == said.count("not proof of anonymity") == 1


def test_a_table_of_a_hundred_columns_stays_small() -> None:
    names = tuple(f"column_{i}" for i in range(100))
    text = page(findings(names), summaries(names, 26))
    assert len(text.encode()) < 5_000_000


def test_inference_and_what_preventing_it_costs_are_told(read: Reader) -> None:
    for said in (
        "Over every δ the largest ratio is 12.5.",
        "300 people of train attacked",
        "Refused, since it could not be met: c = 1.",
        "1,400",
        "refused",
        "100 held-out rows",
    ):
        assert said in read.words
    specs = {attrs.get("id"): text for attrs, text in read.scripts}
    drawn = json.loads(specs["spec-inference-0"])
    assert {point["table"] for point in drawn["data"]["values"]} == {
        "Synthetic",
        "Thinned",
        "Held out",
    }
    assert drawn["layer"][1]["data"]["values"] == [{"x": 0.05, "y": 10.0}, {"x": 1.0, "y": 10.0}]
    bounds = json.loads(specs["spec-sweep-0-ratio"])["layer"][1]["data"]["values"]
    assert bounds == [{"x": 10.0, "y": 10.0}, {"x": 5.0, "y": 5.0}]


def test_what_own_rows_give_away_is_drawn_and_told(read: Reader) -> None:
    for said in (
        "90 of 300 people of train are unique together with the value.",
        "(radius 2.5)",
        "Mean of train by synthetic 1: 0.21; train by all pooled: 0.21; strangers: 0.19.",
        "0.1 – 0.4",
    ):
        assert said in read.words
    specs = {attrs.get("id"): text for attrs, text in read.scripts}
    values = json.loads(specs["spec-given-0"])["data"]["values"]
    # Only the first table is drawn; areas are shares: 18 of 90 over six tenths.
    assert [point["table"] for point in values] == ["Train"] * 3 + ["Strangers"] * 2
    assert values[2]["share"] == pytest.approx(0.2 / 6)


def test_attacks_stand_beside_strangers_and_say_what_was_not_made(read: Reader) -> None:
    for said in (
        "Singling out, one column 25% (21% to 29%) 10% (8% to 13%) 16.7% (11% to 22%) 1 of 500",
        "25% (21% to 29%) 95% (93% to 97%) not given 500",
        "Singling out, several columns was not attacked. No guess is left.",
        "It is not given where strangers are attacked with success in nearly all cases",
    ):
        assert said in read.words
    assert "(residual) was not attacked" not in read.words
    specs = {attrs.get("id"): text for attrs, text in read.scripts}
    drawn = json.loads(specs["spec-attacks"])
    assert len(drawn["data"]["values"]) == 2 * (2 + len(HOSTILE))
    assert drawn["layer"][0]["encoding"]["yOffset"]["field"] == "who"


def test_attacks_of_several_replicates_name_theirs() -> None:
    made, shown = findings(), summaries()
    shown["linkability"].append({**shown["linkability"][0], "replicate": 2})
    tables = {**made.tables, "synthetic": [{"rows": 400, "columns": 3}] * 2}
    read = Reader(page(Findings("", tables, made.findings), shown))
    assert "Linking two files synthetic 2 25%" in read.words and read.problems == []
    assert "The picture shows the first replicate, the table all." in read.words


def test_the_picture_of_attacks_stops_at_forty() -> None:
    names = tuple(f"column {i}" for i in range(60))
    shown = summaries(names)
    shown["inference"][59]["attack"] = [0.9, 0.8, 1.0]
    read = Reader(page(findings(names), shown))
    specs = {attrs.get("id"): text for attrs, text in read.scripts}
    drawn = [point["name"] for point in json.loads(specs["spec-attacks"])["data"]["values"]]
    assert len(drawn) == 80 and "Inference of column 59" in drawn
    assert "the 40 attacks with the largest excess" in read.words
    assert "Inference of column 58" in read.words  # in the table


@pytest.mark.parametrize("shown", [{}, {"columns": [], "pairs": [], "closeness": {}}])
def test_empty_summaries_leave_the_answer(shown: dict[str, object]) -> None:
    read = Reader(page(findings(), shown))
    assert read.problems == []
    assert "Released" in read.words


def test_nothing_measured_and_nothing_known() -> None:
    lost = tuple(
        finding(n, Verdict.NOT_MEASURED, value=NAN, gate=True, note="no holdout") for n in GATES
    )
    read = Reader(page(Findings("", {}, lost), {}))
    assert read.problems == []
    assert "Withheld" in read.words
    assert "There is no holdout" in read.words
    assert "nan" not in read.words.lower().split()
    assert Reader(page(Findings("", {}, ()), {})).problems == []


def test_a_number_that_is_not_finite_in_summaries_is_left_out() -> None:
    shown = summaries()
    shown["columns"][1]["original"][0] = NAN
    assert "NaN" not in "".join(text for a, text in Reader(page(findings(), shown)).scripts[:-2])


def test_drawing_imports_no_arithmetic() -> None:
    folder = Path(understudy.report.__file__).parent
    banned = {"numpy", "scipy", "sklearn", "pyarrow", "pandas", "polars"}
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            assert not banned & {name.split(".")[0] for name in names}, path.name
            ours = [name for name in names if name.startswith("understudy")]
            assert all(n.startswith(("understudy.report", "understudy.results")) for n in ours)
