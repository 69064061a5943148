"""Measures of what a release would disclose."""

from understudy.risk.attribute import Attribute
from understudy.risk.closeness import Closeness
from understudy.risk.copies import Copies
from understudy.risk.likeness import Likeness
from understudy.risk.nearer import Nearer
from understudy.risk.posterior import Posterior
from understudy.risk.uniques import Uniques

MEASURES = {
    "closeness": Closeness,
    "nearer": Nearer,
    "uniques": Uniques,
    "copies": Copies,
    "likeness": Likeness,
    "attribute": Attribute,
    "posterior": Posterior,
}
