"""Measures of what a release is good for."""

from understudy.utility.margins import Marginals, Pairs
from understudy.utility.pmse import Pmse
from understudy.utility.regression import Regressions

MEASURES = {
    "marginals": Marginals,
    "pairs": Pairs,
    "pmse": Pmse,
    "regression": Regressions,
}
