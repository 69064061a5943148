"""Measures of what a release is good for."""

from understudy.evidence import Measure
from understudy.utility.estimates import Estimates
from understudy.utility.l_function import LFunction
from understudy.utility.margins import Marginals, Pairs
from understudy.utility.pmse import Pmse
from understudy.utility.pmse_pairs import PmsePairs
from understudy.utility.regression import Regressions

MEASURES: dict[str, type[Measure]] = {
    "estimate": Estimates,
    "l_function": LFunction,
    "marginals": Marginals,
    "pairs": Pairs,
    "pmse": Pmse,
    "pmse_pairs": PmsePairs,
    "regression": Regressions,
}
