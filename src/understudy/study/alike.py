"""Tables from elsewhere made like the original: its columns, in its order, kinds and storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import InputError, TableError
from understudy.evidence import row_numbers
from understudy.tables.encode import Block
from understudy.tables.table import Table

_EXCESS = 0.05  # share of a holdout's rows that may be in train beyond what chance explains
_KINDS = 10  # different rows above which two draws never have the same counts of all
_TOLD = 0.01  # share of rows with levels of their own that is worth a sentence


def common(
    train: Table, synthetic: Sequence[Table], holdout: Table | None
) -> tuple[list[str], list[str]]:
    """Columns that all tables have, and what differs, in words."""
    others = [*synthetic, *([] if holdout is None else [holdout])]
    shared = [name for name in train.names if all(name in other.names for other in others)]
    if not shared:
        raise InputError("the tables have no column in common: compare their headers")
    notes = []
    absent = [name for name in train.names if name not in shared]
    if absent:
        notes.append(f"not compared, since some table lacks them: {', '.join(absent)}")
    for number, other in enumerate(synthetic, 1):
        extra = [name for name in other.names if name not in train.names]
        if extra:
            notes.append(f"synthetic table {number} has columns of its own: {', '.join(extra)}")
    return shared, notes


def alike(table: Table, like: Table, what: str) -> Table:
    """The table's columns in the order, kinds and storage of another.

    Dates have several storages (days, seconds, microseconds), and distances are taken between the
    stored numbers: a copy whose dates are counted in another unit would look far away.

    Example:
        >>> import pyarrow as pa
        >>> from understudy.tables.read import read
        >>> days = read(pa.table({"d": pa.array([1, 2], pa.date32())}))
        >>> seconds = read(pa.table({"d": pa.array([86400, 172800], pa.timestamp("s"))}))
        >>> alike(seconds, days, "it").column("d").equals(days.column("d"))
        True
    """
    absent = [name for name in like.names if name not in table.names]
    if absent:
        raise InputError(f"{what} lacks columns of the original: {', '.join(absent)}")
    picked = table.select(list(like.names))
    try:
        same = picked.with_schema(like.schema)
        arrays = [_stored_as(same.column(name), name, like) for name in like.names]
    except TableError as error:
        raise TableError(f"{what}: {error}") from None
    return Table(pa.table(arrays, names=list(like.names)), like.schema, same.layout, same.notes)


def _stored_as(values: pa.ChunkedArray, name: str, like: Table) -> pa.ChunkedArray:
    stored = like.column(name).type
    if values.type == stored or not pa.types.is_temporal(stored):
        return values
    try:
        return pc.cast(values, stored, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TableError(
            f"column {name!r} holds {values.type} where the original holds {stored}: "
            "write both as dates, or both as times of day"
        ) from None


def strange_levels(block: Block, what: str) -> Iterator[str]:
    """Sentences about levels that train lacks: spelled otherwise, no row is found to be near."""
    for name, codes in block.codes.items():
        share = float(np.mean(codes == block.encoding[name].unseen)) if block.rows else 0.0
        if share >= _TOLD:
            yield (
                f"{what}: {share:.0%} of the rows have levels of {name} that the original lacks; "
                "if these are only spelled otherwise (zeros, capitals), copies are not seen there"
            )


def require_strangers(train: Block, held: Block) -> None:
    """Refuse a holdout of people whom train knows: beside them every release looks honest.

    Two draws of one process share rows by chance. A row of train that has a twin in train tells how
    often: t of train's rows have one, and h of the holdout's rows are in train, with h ≈ t for
    strangers. Refused where h − t > 0.05 + 4·√(p(1 − p)(1/n_H + 1/n_T)), p the pooled share, or
    where both hold the very same rows, of so many kinds that this is no chance.

    Cost: O(rows × columns × log rows).
    """
    known, asked = row_numbers([train, held], train.names)
    counts = np.bincount(known, minlength=max(known.max(initial=-1), asked.max(initial=-1)) + 1)
    twins, inside = float(np.mean(counts[known] > 1)), float(np.mean(counts[asked] > 0))
    pooled = (twins * train.rows + inside * held.rows) / (train.rows + held.rows)
    error = np.sqrt(pooled * (1 - pooled) * (1 / train.rows + 1 / held.rows))
    same = len(counts) > _KINDS and np.array_equal(np.sort(known), np.sort(asked))
    if same or inside - twins > _EXCESS + 4 * error:
        raise InputError(
            f"the holdout repeats the table: {inside:.0%} of its rows are in it, where strangers "
            f"would share about {twins:.0%}; give rows of people who are not in the table"
        )
