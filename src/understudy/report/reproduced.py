"""Draw a reproduced item: ours beside the paper's, from its JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from understudy.report import charts, pictures
from understudy.report.bundle import bundle
from understudy.report.numbers import measured
from understudy.report.render import embedded, environment, policy, text
from understudy.report.words import VERDICTS

Item = Mapping[str, Any]


@dataclass(frozen=True)
class Shown:
    """A number as it is written: ours, its standard error, and the paper's."""

    ours: str
    error: str
    theirs: str

    @classmethod
    def of(cls, cell: Item) -> Shown:
        """Digits as the standard error allows."""
        ours, error, theirs = cell["ours"], cell["error"], cell["theirs"]
        spread = measured(error, error) if error else ""
        return cls(
            measured(ours, error), spread, "" if theirs is None else f"{theirs:g}".replace("-", "−")
        )

    def __str__(self) -> str:
        spread = f" ± {self.error}" if self.error else ""
        return f"{self.ours}{spread}" + (f" ({self.theirs})" if self.theirs else "")


def reproduced(item: Item) -> str:
    """The item's page as one HTML file, with the chart library in it where there are pictures."""
    shown = item["pictures"]
    scripts = [bundle(), text("charts.js")] if shown else []
    return (
        environment()
        .get_template("reproduced.html.jinja")
        .render(
            item=item,
            grids=[_grid(table) for table in item["tables"]],
            pictures=[(one, embedded(pictures.picture(one)), values(one)) for one in shown],
            verdicts=VERDICTS,
            settings=", ".join(f"{key} {said(v)}" for key, v in item["settings"].items()),
            config=embedded(charts.CONFIG),
            style=Markup(text("style.css")),
            scripts=[Markup(script) for script in scripts],
            policy=policy(*scripts),
        )
    )


def printed(item: Item) -> str:
    """The same for a terminal: claims, then tables."""
    lines = [f"{item['paper']} {item['item']}: {item['title']} ({item['source']})"]
    if item["quick"]:
        lines.append(f"Quick: {item['quick']}.")
    for claim in item["claims"]:
        lines += [f"{' '.join(VERDICTS[claim['verdict']])}: {claim['claim']}"]
        lines += [f"    {claim['evidence']}"]
    for table in item["tables"]:
        lines += ["", f"{table['caption']}: ours ± standard error (theirs)"]
        lines += _columns([table["head"], *map(_line, table["rows"])])
    return "\n".join(lines)


def said(value: Any) -> str:
    """A setting as a page says it.

    Example:
        >>> said({"K": 524, "age": 7}), said([0.5, 1.0])
        ('(K 524, age 7)', '0.5 1')
    """
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{key} {said(one)}" for key, one in value.items()) + ")"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(map(said, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def values(picture: Item) -> list[list[str]]:
    """A picture's numbers as rows: name, place, height. A map has too many to read."""
    if picture["kind"] == "points":
        return []
    return [
        [one["name"], measured(x, None), measured(y, None)]
        for one in picture["series"]
        for x, y in zip(one["x"], one["y"], strict=True)
    ]


def _grid(table: Item) -> Item:
    rows = [(row["name"], [Shown.of(cell) for cell in row["cells"]]) for row in table["rows"]]
    return {"caption": table["caption"], "head": table["head"], "rows": rows}


def _line(row: Item) -> list[str]:
    return [row["name"], *(str(Shown.of(cell)) for cell in row["cells"])]


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ([c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in rows)
    return ["  " + "  ".join(row).rstrip() for row in padded]
