"""How strengths were found: the running minimum of each search, and a map of all trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.numbers import count, number

Item = Mapping[str, Any]


@dataclass(frozen=True)
class Search:
    """What the page shows of a tuning.

    Attributes:
        sentences: what was searched for, on what, and what came of it.
        running: smallest objective so far, by search and trial.
        squared: the objective is a squared distance: it is drawn on a logarithmic scale.
        points: each trial that worked: nearer share, objective, whether it was chosen.
        axis: what the objective is, in words.
        chosen: each free setting, the chosen value, and the ends of its range.
        trials: each trial as a row of texts.
        header: names of the trials' columns.
    """

    sentences: tuple[str, ...]
    running: tuple[dict[str, Any], ...]
    squared: bool
    points: tuple[dict[str, Any], ...]
    axis: str
    chosen: tuple[tuple[str, ...], ...]
    trials: tuple[tuple[str, ...], ...]
    header: tuple[str, ...]


def search(found: Item) -> Search | None:
    """The part of summaries.json that a tuning leaves, written out."""
    if not found:
        return None
    squared = found["goal"] in ("ratio", "reference")
    axis = _AXES.get(found["goal"], "{}").format(found["objective"])
    trials: Sequence[Item] = found["trials"]
    best = found["chosen"]
    paths = [item["path"] for item in found["free"]]
    return Search(
        tuple(_sentences(found)),
        tuple(dict(item) for item in found["running"]),
        squared,
        tuple(_point(trial, best) for trial in trials if trial["loss"] is not None),
        axis,
        tuple(
            (item["path"], number(best["values"][item["path"]]), _ends(item))
            for item in found["free"]
        ),
        tuple(_row(trial, paths, best) for trial in trials),
        ("Search", "Trial", *paths, _number(found), "Objective", "Nearer to train", ""),
    )


_AXES = {
    "ratio": "(1 − mean pMSE ratio)²",
    "reference": "squared distance of {} from its reference",
    "maximise": "−{}",
}


def _sentences(found: Item) -> list[str]:
    trials, best = found["trials"], found["chosen"]
    failed = sum(bool(trial["why"]) for trial in trials)
    searches = len({trial["search"] for trial in trials})
    said = [
        f"{count(len(trials), 'trial')} in {count(searches, 'search', 'searches')}"
        f"{f', {failed} of which failed' if failed else ''}. Each learnt from {found['rows']:,} of "
        f"train’s {found['of']:,} rows; the holdout had no part in it.",
        f"Chosen: trial {best['trial']} of search {best['search']}, with {_number(found)} at "
        f"{number(best['number'])}.",
        _again(found),
    ]
    if found["ceiling"]:
        said.append(_ceiling(found))
    if not found["exact"]:
        said.append("The clock ended the search, so that it cannot be repeated exactly.")
    return said


def _number(found: Item) -> str:
    """What is measured of a trial; the objective is made of it."""
    return "mean pMSE ratio" if found["goal"] == "ratio" else str(found["objective"])


def _ceiling(found: Item) -> str:
    ceiling, best = found["ceiling"], found["chosen"]
    limit = f"{ceiling['measure']} at or below {number(ceiling['most'])}"
    if found["kept"]:
        return f"It keeps {limit}: {number(best['limited'])}."
    return f"No trial kept {limit}: the nearest to it was chosen, and the gates decide."


def _again(found: Item) -> str:
    """The chosen trial on fresh seeds: its best number was partly luck."""
    numbers = [one["number"] for one in found["again"] if one["number"] is not None]
    if not numbers:
        return "It could not be measured again."
    texts = ", ".join(number(one) for one in numbers)
    return f"Measured again on {count(len(numbers), 'fresh seed')}: {texts}."


def _point(trial: Item, best: Item) -> dict[str, Any]:
    chosen = (trial["search"], trial["trial"]) == (best["search"], best["trial"])
    kind = "chosen" if chosen else "trial"
    return {"share": trial["share"], "loss": trial["loss"], "kind": kind}


def _ends(item: Item) -> str:
    return f"{number(item['low'])} to {number(item['high'])}"


def _row(trial: Item, paths: Sequence[str], best: Item) -> tuple[str, ...]:
    place = (trial["search"], trial["trial"])
    values = [number(trial["values"][path]) for path in paths]
    numbers = [number(trial[key]) for key in ("number", "loss")]
    state = "chosen" if place == (best["search"], best["trial"]) else trial["why"]
    share = number(trial["share"], share=True)
    return str(place[0]), str(place[1]), *values, *numbers, share, state
