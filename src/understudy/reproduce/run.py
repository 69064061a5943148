"""Run items and write what came out: one page and one JSON for each."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.api import workers
from understudy.errors import InputError
from understudy.report.reproduced import reproduced
from understudy.reproduce import ITEMS, PAPERS
from understudy.reproduce.item import Bench, Item
from understudy.reproduce.peers import Peer

SEED = 1


def listed() -> list[dict[str, Any]]:
    """Every paper with its items: what there is to reproduce.

    Example:
        >>> listed()[0]["paper"], listed()[0]["items"][0]["item"]
        ('bale-quick', 'table1')
    """
    return [
        {
            "paper": paper,
            "title": PAPERS[paper],
            "items": [
                {"item": name, "title": kind.title, "source": kind.source}
                for name, kind in kinds.items()
            ],
        }
        for paper, kinds in ITEMS.items()
    ]


def catalogue() -> str:
    """The same for a terminal."""
    lines = []
    for paper in listed():
        lines.append(f"{paper['paper']}: {paper['title']}")
        for item in paper["items"]:
            lines.append(f"  {item['item']:8}  {item['title']} ({item['source']})")
    return "\n".join(lines)


def chosen(paper: str, item: str | None = None, repetitions: int | None = None) -> list[Item]:
    """The items of a paper, or one of them.

    Example:
        >>> [one.repetitions for one in chosen("bale-quick", "table1", 5)]
        [5]
    """
    if paper not in ITEMS:
        raise InputError(f"no paper called {paper!r}; there are: {', '.join(ITEMS)}")
    kinds = ITEMS[paper]
    if item is not None and item not in kinds:
        raise InputError(f"{paper} has no item called {item!r}; it has: {', '.join(kinds)}")
    made = [kind() for name, kind in kinds.items() if item in (None, name)]
    if repetitions is None:
        return made
    return [replace(one, repetitions=repetitions) for one in made]


def reproduce(
    paper: str,
    item: str | None = None,
    *,
    out: str | Path = "reproduce",
    seed: int | None = None,
    repetitions: int | None = None,
    jobs: int | None = None,
    peers: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[dict[str, Any], Path]]:
    """Recompute items one by one; each gives its JSON and the page that was written.

    ``peers`` are other tools, as ``NAME=FOLDER`` (see `understudy.reproduce.peers`).

    A page of the same name in ``out`` is replaced, whole: it was made by the same command.
    """
    items = chosen(paper, item, repetitions)
    beside = tuple(Peer.of(text) for text in peers)
    if len({one.name for one in beside}) < len(beside):
        raise InputError("--peer: two tools of one name")
    with workers(jobs) as map_:
        bench = Bench(SEED if seed is None else seed, map_, progress, peers=beside)
        for one in items:
            one.ready(bench)  # said now, not after the hours of the items before
        folder = _ready(Path(out))
        for one in items:
            progress(one.name)
            found = one.run(bench).to_json()
            yield found, _write(found, folder)


def _ready(folder: Path) -> Path:
    """The folder, made if it is not there, before hours are spent for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None


def _write(found: dict[str, Any], folder: Path) -> Path:
    stem = f"{found['paper']}-{found['item']}"
    text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    _replace(folder / f"{stem}.json", text)
    page = folder / f"{stem}.html"
    _replace(page, reproduced(found))
    return page


def _replace(path: Path, text: str) -> None:
    """Write a file in one step, so that an interrupt leaves the old one or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
