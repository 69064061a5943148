"""The papers' tables and figures, recomputed: ours beside theirs."""

from understudy.reproduce.closeness import Figure4, Table3
from understudy.reproduce.disclosure import Figure5
from understudy.reproduce.item import Bench, Item
from understudy.reproduce.likeness import Figure6
from understudy.reproduce.maps import Figure7, Figure8
from understudy.reproduce.regressions import Table4
from understudy.reproduce.simulation import Table1
from understudy.reproduce.stage_figures import Figure5 as StageFigure5
from understudy.reproduce.stage_figures import Figure14
from understudy.reproduce.stage_tables import Table3 as StageTable3
from understudy.reproduce.stage_tables import Table4 as StageTable4
from understudy.reproduce.tuning import Figure3, Table2

PAPERS: dict[str, str] = {
    "bale-quick": "Bale & Quick, Optimized Sequential Synthesis of Tabular Microdata",
    "open-cesp": "Chapelle & Falissard, Distance-based Fully Synthetic Data Generation",
}
ITEMS: dict[str, dict[str, type[Item]]] = {
    "bale-quick": {
        kind.name: kind
        for kind in (
            Table1,
            Table2,
            Figure3,
            Table3,
            Figure4,
            Figure5,
            Figure6,
            Figure7,
            Figure8,
            Table4,
        )
    },
    "open-cesp": {kind.name: kind for kind in (StageFigure5, StageTable3, Figure14, StageTable4)},
}

__all__ = ["ITEMS", "PAPERS", "Bench", "Item"]
