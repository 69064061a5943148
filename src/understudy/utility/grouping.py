"""Columns in few groups: enough to see how two of them go together, few enough to count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.tables.encode import ColumnEncoding

GROUPS = 12


def grouping(
    encoding: ColumnEncoding, counts: NDArray[np.int64], groups: int = GROUPS
) -> NDArray[np.int64]:
    """Group of each code: neighbouring cells together, rare levels in one group.

    Missing is a group of its own. So are levels that train lacks, unless there is a group of rare
    levels: then they are in that one.

    Args:
        encoding: the column's.
        counts: rows of each proper code, by which cells are shared out and levels called rare.
        groups: most groups.
    """
    if encoding.size <= groups:
        group = np.arange(encoding.size)
    elif encoding.is_nominal:
        group = np.minimum(np.argsort(np.argsort(-counts, kind="stable")), groups - 1)
    else:
        before = np.cumsum(counts) - counts
        group = np.minimum(before * groups // max(int(counts.sum()), 1), groups - 1)
    last = int(group.max(initial=-1)) + 1
    strange = groups - 1 if encoding.is_nominal and encoding.size > groups else last + 1
    return np.append(group, [last, strange]).astype(np.int64)
