"""Counts over cells whose weights have a Dirichlet prior: drawn, scored, one person moved.

With n_k people in cell k and a prior of a in each of K cells, the weights are Dirichlet(n_k + a),
and the counts z_k of one replicate of M rows are Dirichlet-multinomial (Reiter, Wang & Zhang §3.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def log_weights(shape: Floats, rng: np.random.Generator) -> Floats:
    """Log of one draw from Dirichlet(shape); right for shapes near 0, where a gamma is 0.

    log Gamma(a) is drawn as log Gamma(a + 1) + log(U) / a (Marsaglia & Tsang 2000). Cost: K.

    Example:
        >>> w = np.exp(log_weights(np.array([1e-4, 5.0, 5.0]), np.random.default_rng(1)))
        >>> bool(w[0] < 1e-9), round(float(w.sum()), 9)
        (True, 1.0)
    """
    if not shape.size:
        return np.zeros(0)
    raw = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.size)) / shape
    return np.asarray(raw - logsumexp(raw), dtype=np.float64)


def log_marginal(n: Floats, z: Floats, prior: float) -> float:
    """Log probability of one replicate's rows, the weights integrated out.

    lnΓ(A) − lnΓ(A + M) + Σ_k [lnΓ(n_k + a + z_k) − lnΓ(n_k + a)], with A = Σ_k (n_k + a).

    Example:
        >>> round(float(np.exp(log_marginal(np.array([3.0, 2.0]), np.array([2.0, 1.0]), 0.0))), 4)
        0.1143
    """
    shape = n + prior
    used = z > 0
    cells = float((gammaln(shape[used] + z[used]) - gammaln(shape[used])).sum())
    return cells + rising(float(shape.sum()), float(z.sum()))


def rising(total: float, rows: float) -> float:
    """lnΓ(total) − lnΓ(total + rows): what all cells share."""
    return float(gammaln(total) - gammaln(total + rows)) if rows else 0.0


def entered(n: Floats, z: Floats, prior: float) -> Floats:
    """Change of `log_marginal` when one more person is in a cell of n others, A held.

    lnΓ(n+a+1+z) − lnΓ(n+a+1) − lnΓ(n+a+z) + lnΓ(n+a) = ln (n + a + z) / (n + a). A person who
    leaves changes it by minus this, n being the others. So with the person's own cell left out,

    posterior(k) ∝ prior(k) · Π_l (n_-i,k + a + z_k^(l)) / (n_-i,k + a).

    Example:
        >>> np.exp(entered(np.array([0.0, 4.0]), np.array([3.0, 5.0]), 1.0)).tolist()
        [4.0, 2.0]
    """
    return np.asarray(np.log1p(z / (n + prior)), dtype=np.float64)
