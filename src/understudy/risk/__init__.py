"""Measures of what a release would disclose."""

from understudy.risk.attribute import Attribute
from understudy.risk.cap import Cap
from understudy.risk.closeness import Closeness
from understudy.risk.copies import Copies
from understudy.risk.ecap import Ecap
from understudy.risk.gtcap import Gtcap
from understudy.risk.inference import Inference
from understudy.risk.likeness import Likeness
from understudy.risk.linkability import Linkability
from understudy.risk.nearer import Nearer
from understudy.risk.posterior import Posterior
from understudy.risk.singling_out import SinglingOut
from understudy.risk.uniques import Uniques

MEASURES = {
    "closeness": Closeness,
    "nearer": Nearer,
    "uniques": Uniques,
    "copies": Copies,
    "likeness": Likeness,
    "attribute": Attribute,
    "gtcap": Gtcap,
    "cap": Cap,
    "singling_out": SinglingOut,
    "linkability": Linkability,
    "inference": Inference,
    "ecap": Ecap,
    "posterior": Posterior,
}
