"""The papers' tables and figures, recomputed: ours beside theirs."""

from understudy.reproduce.item import Bench, Item
from understudy.reproduce.simulation import Table1

PAPERS: dict[str, str] = {
    "bale-quick": "Bale & Quick, Optimized Sequential Synthesis of Tabular Microdata",
}
ITEMS: dict[str, dict[str, type[Item]]] = {
    "bale-quick": {kind.name: kind for kind in (Table1,)},
}

__all__ = ["ITEMS", "PAPERS", "Bench", "Item"]
