"""Tables that another tool made, beside ours: given as files, since peers have their own programs.

A folder holds both sides of the exchange. ``train/`` has the tables to learn from, one for the
paper's design and one for each disjoint round; ``synthetic/`` has what the peer made of them: two
tables for each round of each design, of as many rows, since a null is made of pairs.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.csv as pc_csv

from understudy.errors import InputError
from understudy.study.alike import alike
from understudy.tables.encode import Block
from understudy.tables.read import read
from understudy.tables.table import Table

PAPERS_OWN = "MOSTLY AI"  # the peer that the paper has numbers of
_TAKEN = ("holdout", "mnl", "cart", "train", "pairs of", "added")


@dataclass(frozen=True)
class Peer:
    """Another tool's tables.

    Attributes:
        name: what tables call it.
        folder: the folder with ``train`` and ``synthetic``.
    """

    name: str
    folder: Path

    @classmethod
    def of(cls, text: str) -> Peer:
        """Read ``NAME=FOLDER``.

        Example:
            >>> Peer.of("MOSTLY AI=tables").name
            'MOSTLY AI'
        """
        name, equals, folder = (part.strip() for part in text.partition("="))
        if not (name and equals and folder):
            raise InputError(f'--peer {text!r}: expected NAME=FOLDER, such as "MOSTLY AI=tables"')
        if name.lower().startswith(_TAKEN) or not name.isprintable() or len(name) > 30:
            raise InputError(f"--peer {name!r}: choose a short name that no table of ours has")
        return cls(name, Path(folder))

    def offer(self, trains: Sequence[tuple[str, Table]]) -> None:
        """Write the tables to learn from, or check that those there are the same."""
        for stem, table in trains:
            path = self.folder / "train" / f"{stem}.csv"
            text = _csv(table)
            try:
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(text)
                elif path.read_bytes() != text:
                    raise InputError(
                        f"{path} is of another seed or version: name a new folder for --peer"
                    )
            except OSError as error:
                raise InputError(f"cannot use {path}: {error.strerror or error}") from None

    def ready(self, stems: Sequence[str]) -> None:
        """Raise `InputError` where tables of the peer are not there, saying what is wanted."""
        wanted = [path for stem in stems for path in self.paths(stem)]
        absent = [path for path in wanted if not path.is_file()]
        if absent:
            raise InputError(
                f"{self.name}: {len(absent)} of {len(wanted)} tables are not in "
                f"{absent[0].parent}, the first is {absent[0].name}. Let the tool learn from each "
                f"table in {self.folder / 'train'} (overlapping.csv serves every round of that "
                "design) and write as many rows, twice, under these names; or leave out --peer"
            )

    def paths(self, stem: str) -> tuple[Path, Path]:
        """Where the two tables of a round are."""
        here = self.folder / "synthetic"
        return here / f"{stem}-1.csv", here / f"{stem}-2.csv"

    def tables(self, stem: str, train: Block, like: Table) -> Iterator[Block]:
        """The two tables of a round, encoded as train is."""
        for path in self.paths(stem):
            yield _encoded(path, train, like)


def _encoded(path: Path, train: Block, like: Table) -> Block:
    block = train.encoding.encode(alike(read(path), like, str(path)))
    for name in like.names:
        if not (block.codes[name] < train.encoding[name].size).all() or (
            name in block.values and not np.isfinite(block.values[name]).all()
        ):
            raise InputError(f"{path}: {name} has missing values, or some that train lacks")
    if block.rows != train.rows:
        raise InputError(f"{path} has {block.rows:,} rows; {train.rows:,} are compared")
    return block


def _csv(table: Table) -> bytes:
    made = io.BytesIO()
    pc_csv.write_csv(table.data, made)
    return made.getvalue()
