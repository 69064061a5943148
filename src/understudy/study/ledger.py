"""The private ledger: for every record of train, how near the release comes to it.

It names records by their row number in the original file and shows no values.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.evidence import Evidence, Map, points, row_numbers
from understudy.kernels.neighbours import nearest
from understudy.kernels.rows import hits_unique
from understudy.tables.encode import stack
from understudy.tables.schema import Role

_MOST = 200_000


def unlisted(rows: int) -> str:
    """Why a train table of so many rows has no ledger, in words for the receipt."""
    return f"no ledger of records: train has more than {_MOST:,} rows" if rows > _MOST else ""


def ledger(
    evidence: Evidence,
    rows: NDArray[np.int64],
    known: Mapping[str, NDArray[np.float64]] | None = None,
    *,
    map_: Map = map,
) -> pa.Table | None:
    """Distance of each record to the nearest synthetic row, and whether it is unique.

    Columns: ``row`` (from 0, in the original file), ``nearest_synthetic`` (the typed distance to
    the nearest row of any replicate), ``nearest_other`` (to the nearest *other* record of train:
    an isolated person has a large one), ``exact`` (some synthetic row equals it), ``unique_quasi``
    and ``unique`` (no other person of train has its quasi-identifiers, or all its columns). Then
    what measures say of every record (``known``), such as ``gtcap`` or ``posterior_ratio``; null
    where they say nothing of it.

    Tables of more than 200,000 rows get no ledger yet: it asks for every record.
    """
    train = evidence.train
    if train.rows > _MOST or not evidence.drawn:
        return None
    columns = evidence.drawn
    mine = points(train, columns, evidence.metric)
    pooled = points(stack(evidence.release), columns, evidence.metric)
    near, _ = nearest(pooled, mine, 1, map_=map_)
    other, _ = nearest(mine, mine, 1, exclude_self=True, map_=map_)
    quasi = [n for n in columns if n in train.encoding.schema.with_role(Role.QUASI, Role.LOCATION)]
    return pa.table(
        {
            "row": rows,
            "nearest_synthetic": near[:, 0],
            "nearest_other": other[:, 0],
            "exact": near[:, 0] == 0,
            "unique_quasi": _unique(evidence, quasi) if quasi else np.zeros(train.rows, dtype=bool),
            "unique": _unique(evidence, columns),
            **{name: pa.array(value, from_pandas=True) for name, value in (known or {}).items()},
        }
    )


def _unique(evidence: Evidence, columns: list[str] | tuple[str, ...]) -> NDArray[np.bool_]:
    (number,) = row_numbers([evidence.train], columns)
    return hits_unique(number, number, evidence.train.person) > 0
