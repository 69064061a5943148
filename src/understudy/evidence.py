"""What a measure is given, and what it must offer.

A measure sees one argument, `Evidence`: the train table, the holdout in two halves (one is the
reference, one plays the ideal release), the release itself, all under one frozen encoding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.neighbours import Points
from understudy.kernels.posterior import Shared
from understudy.results import Better, Estimate
from understudy.settings import Settings
from understudy.tables.encode import Block, Encoding, stack
from understudy.tables.schema import Role, Schema

if TYPE_CHECKING:
    from understudy.membership import Cover

METRICS = ("typed", "euclidean-codes", "hamming")
Map = Callable[..., Iterable[Any]]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Source(Protocol):
    """How the release was made: what protections and measures may ask of the synthesizer."""

    @property
    def combining(self) -> str:
        """Which rule combines estimates from its replicates: `kernels.combine.RULES`."""

    def sample(self, rows: int, *, seed: int) -> Block:
        """Draw rows that are not part of any replicate."""

    def near(self, record: Block, rows: int, columns: Sequence[str], *, seed: int) -> Block:
        """Draw these columns (and those drawn together with them) for rows like one record."""

    def complete(
        self, rows: Block, fixed: Sequence[str], *, seed: int
    ) -> tuple[Block, NDArray[np.bool_]]:
        """Draw the columns that are not fixed, given those that are; and which rows obey rules."""

    def log_prob(self, replicate: Block) -> float:
        """Log probability of a replicate, marginal over shared parameters."""

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Any:
        """Change of `log_prob` when a row of train becomes each candidate."""

    @property
    def drawn(self) -> tuple[Block, ...]:
        """The replicates as they were drawn, before protections."""

    @property
    def ruled(self) -> bool:
        """Rules restrict the draws, which `log_prob` leaves out."""

    def effort(self, columns: Sequence[str], *, slow: bool) -> float:
        """Work of refitting what draws these columns or predicts from them, in cells of train.

        With ``slow``, only what has no closed form.
        """

    def swaps(self, records: Ints, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Changes when records take the candidates' columns: replicates × records × candidates."""

    def moves(self, records: Ints, candidates: Block, replicates: Sequence[Block]) -> Shared | None:
        """`swaps` without an array of its size, where they come apart; else None."""

    def left_out(self, records: Ints, candidates: Block) -> Floats:
        """Log density of records with the candidates' columns, by a fit that has not seen them."""

    def left_shared(self, records: Ints, candidates: Block) -> Shared | None:
        """`left_out` without an array of its size, where it comes apart; else None."""

    def refitted(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """`swaps` of one record, by fitting anew what `swaps` has closed forms for."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The tables of one judgement.

    Attributes:
        train: the rows the synthesizer learnt from.
        control: half of the holdout: the reference.
        fresh: the other half: an ideal release, for calibration. No holdout: both are empty.
        release: the replicates.
        source: how the release was made, or None for tables made elsewhere.
        level: confidence of every interval (simultaneous over the gates).
        margins: margins by measure, where the plan sets them.
        metric: ``typed``, ``euclidean-codes`` or ``hamming``.
        queries: at most this many rows of a release or holdout ask for neighbours.
        noise: the noise that protections added, by column.
        published: columns that earlier publications about the same people show, by their names.
    """

    train: Block
    control: Block
    fresh: Block
    release: tuple[Block, ...]
    source: Source | None = None
    level: float = 0.95
    margins: Mapping[str, float] = field(default_factory=dict)
    metric: str = "typed"
    queries: int = 20_000
    noise: Mapping[str, Cover] = field(default_factory=dict)
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def encoding(self) -> Encoding:
        """The frozen encoding, fitted on train."""
        return self.train.encoding

    @property
    def has_holdout(self) -> bool:
        """Whether there is a reference at all."""
        return self.control.rows > 0 and self.fresh.rows > 0

    @property
    def drawn(self) -> tuple[str, ...]:
        """Columns that were synthesised: all but kept ones and weights."""
        columns = self.encoding.schema
        passed = columns.with_role(Role.KEEP, Role.WEIGHT)
        return tuple(name for name in columns.names if name not in passed)

    @property
    def combining(self) -> str:
        """Which rule combines estimates from the replicates; the wider one where none can tell."""
        if self.source is not None:
            return self.source.combining
        return "partial" if self.encoding.schema.with_role(Role.KEEP) else "proper"

    def margin(self, measure: str, default: float) -> float:
        """The plan's margin of a measure, else the default."""
        return self.margins.get(measure, default)

    def with_release(self, block: Block) -> Evidence:
        """The same evidence for another release."""
        return replace(self, release=(block,))


class Judge(ABC):
    """A measure prepared on train and holdout, ready to judge any release."""

    @abstractmethod
    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The measure's numbers for one release."""

    def pooled(
        self, release: Sequence[Block], *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The numbers for all replicates together: by default for their rows in one table."""
        return self.estimates(stack(release), rng=rng, map_=map_)

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The same numbers for a known case: ``copy``, ``fresh`` or ``permuted``.

        A cheaper null may do; ``fresh`` is half of the holdout and must not meet itself.
        """
        return self.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Curves and tables for the report: aggregates over at least ten rows, never rows."""
        return {}

    def records(self, *, map_: Map = map) -> dict[str, Floats]:
        """A number for every record of train, by name, for the owner's ledger alone."""
        return {}


@dataclass(frozen=True)
class Measure(Settings, ABC):
    """Settings of a measure.

    Class attributes:
        names: the estimates it makes, as findings call them.
        about: ``risk`` or ``utility``.
        must_catch: the known case that a measure with power refuses: ``copy`` for risk,
            ``permuted`` for utility.
        needs_holdout: without a holdout it cannot say anything.
    """

    names: ClassVar[tuple[str, ...]]
    about: ClassVar[str] = "risk"
    must_catch: ClassVar[str] = "copy"
    needs_holdout: ClassVar[bool] = True

    @abstractmethod
    def prepare(self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map) -> Judge:
        """Compute what does not depend on the release."""

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where the settings name columns or levels that the table lacks."""

    def suits(self, where: str, train: Block) -> None:
        """Raise `PlanError` where the settings do not fit the values that train has."""


def points(block: Block, columns: Sequence[str], metric: str = "typed") -> Points:
    """Rows under the package's one distance.

    ``typed``: squared differences of numbers in train's standard deviations, 1 for a different
    level, 1 where one of two values is missing. ``hamming`` compares cells; ``euclidean-codes``
    (Bale & Quick) standardises the codes of levels as if they were numbers.
    """
    numbers, codes = [], []
    for name in columns:
        column = block.encoding[name]
        if metric == "euclidean-codes" and not column.is_numeric:
            numbers.append(_scaled_codes(block, name))
        elif column.is_numeric and column.sd > 0 and metric != "hamming":
            numbers.append((block.values[name] - column.mean) / column.sd)
        elif column.is_numeric and metric != "hamming":
            # Constant in train: there is no scale, so any other value is simply different.
            other = np.where(block.values[name] == column.mean, 0, 1)
            codes.append(np.where(np.isnan(block.values[name]), -1, other))
        else:
            codes.append(np.where(block.codes[name] == column.missing, -1, block.codes[name]))
    return Points(
        np.stack(numbers, axis=1) if numbers else np.zeros((block.rows, 0)),
        np.stack(codes, axis=1).astype(np.int32) if codes else np.zeros((block.rows, 0), np.int32),
    )


def several(block: Block) -> str:
    """Words for a note where people have several rows: intervals and nulls are then by people."""
    if block.person is None:
        return ""
    return f"; rows of {block.people} people, intervals by person"


def alone(block: Block) -> str:
    """Words for a note where rows of one person are taken for independent all the same."""
    if block.person is None:
        return ""
    return "; rows of one person are taken for independent, so the interval is too narrow"


def features(block: Block, columns: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Rows as a discriminator sees them: values of numbers, codes of levels, missing NaN or −1."""
    numbers = [block.values[name] for name in columns if name in block.values]
    codes = [
        np.where(block.codes[name] == block.encoding[name].missing, -1, block.codes[name])
        for name in columns
        if name not in block.values
    ]
    return (
        np.stack(numbers, axis=1) if numbers else np.zeros((block.rows, 0)),
        np.stack(codes, axis=1).astype(np.int32) if codes else np.zeros((block.rows, 0), np.int32),
    )


def widths(encoding: Encoding, columns: Sequence[str]) -> list[int]:
    """How many codes each column without values has, in the order of `features`."""
    return [encoding[name].width for name in columns if not encoding[name].is_numeric]


def _scaled_codes(block: Block, name: str) -> Any:
    codes = block.codes[name].astype(np.float64)
    size = block.encoding[name].size
    # The scale of uniformly spread codes, so that it is frozen with the encoding.
    scale = np.sqrt((max(size, 2) ** 2 - 1) / 12)
    return np.where(codes == block.encoding[name].missing, np.nan, codes / scale)


def row_numbers(blocks: Sequence[Block], columns: Sequence[str]) -> list[NDArray[np.int64]]:
    """Number the distinct rows of several blocks together: equal rows get equal numbers.

    Numbers are compared by value, rounded to the grid (the decimals) that the column has in train;
    levels by code. Two missing values are equal.
    """
    total = sum(block.rows for block in blocks)
    number = np.zeros(total, dtype=np.int64)
    for name in columns:
        parts = [
            on_grid(block, name) if name in block.values else block.codes[name] for block in blocks
        ]
        _, code = np.unique(np.concatenate(parts), return_inverse=True, equal_nan=True)
        _, number = np.unique(number * (code.max(initial=0) + 1) + code, return_inverse=True)
    return np.split(number, np.cumsum([block.rows for block in blocks])[:-1])


def on_grid(block: Block, name: str) -> NDArray[np.float64]:
    """Values in steps of the column's grid: other tools may write digits that train lacks."""
    cells, values = block.encoding[name].cells, block.values[name]
    if cells is None or cells.step == 0 or not cells.count:
        return values
    # Whole numbers stay apart even where all of train's are multiples of five.
    return np.asarray(np.rint((values - cells.low[0]) / min(cells.step, 1.0)), dtype=np.float64)


__all__ = [
    "Better",
    "Estimate",
    "Evidence",
    "Judge",
    "Map",
    "Measure",
    "Source",
    "alone",
    "features",
    "on_grid",
    "points",
    "row_numbers",
    "several",
    "widths",
]
