"""What NOTE.md tells analysts: the factor by which variances computed from synthetic rows grow."""

import numpy as np
import pytest

from understudy.note import inflation
from understudy.synth import MODELS
from understudy.synth.sequence import Sequential, Visit


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(("rows", "m"), [(80, 1), (300, 1), (120, 3)])
def test_the_factor_is_the_variance_that_estimates_have(make, bootstrap, rows, m):
    """A share estimated from m tables of k rows, over 600 tables; 17% is three errors."""
    rng = np.random.default_rng([1, bootstrap, rows, m])
    learnt, share = 120, 0.4
    visit = Visit(MODELS["marginal"](bootstrap=bootstrap), ("a",))
    found, shown = [], []
    for number in range(600):
        people = rng.random(learnt) < share
        block = make.encoded(make.levels(a=np.where(people, "yes", "no").tolist()))
        fitted = Sequential((visit,)).fit(block, seed=number)
        code = block.encoding["a"].levels.index("yes")
        shares = [
            float((fitted.sample(rows, seed=number, replicate=j).block.codes["a"] == code).mean())
            for j in range(1, m + 1)
        ]
        found.append(np.mean(shares))
        shown.append(np.mean([s * (1 - s) / rows for s in shares]))
    factor = np.var(found) / np.mean(shown)
    assert factor == pytest.approx(inflation(rows, learnt, m, drawn=bootstrap), rel=0.17)
