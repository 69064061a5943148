"""Where to try next: expected improvement on a Gaussian process, over the unit cube.

The process and the search for the acquisition's maximum are those of `bayesian-optimization`. The
acquisition is ours, since what is modelled is the *signed* number m and what is wanted is that it
be near a goal g: the improvement of (m − g)² has an expectation in closed form, while a process
fitted to the square itself would have to learn a cusp.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float64]
Goal = Literal["minimise", "maximise", "nearest"]
_NAMES = "{:04d}"


def expected_improvement(
    mean: Floats, sd: Floats, best: float, goal: Goal, centre: float = 0.0
) -> Floats:
    """Expectation of max(best − loss(m), 0) for m ~ N(mean, sd²).

    The loss is m (minimise), −m (maximise) or (m − centre)² (nearest); ``best`` is the smallest
    loss so far. With d = √best, a and b the ends centre ∓ d in units of sd from the mean,

        EI = (best − (mean − centre)² − sd²)(Φ(b) − Φ(a)) + 2(mean − centre)·sd·(φ(b) − φ(a))
             + sd²·(b·φ(b) − a·φ(a)).

    Source: Jones, Schonlau & Welch (1998) for the first two; the third is their integral for a
    squared deviation.

    Example:
        >>> one, zero = np.ones(1), np.zeros(1)
        >>> expected_improvement(zero, one, 0.0, "minimise").round(4).item()
        0.3989
    """
    sd = np.maximum(sd, 1e-12)
    if goal != "nearest":
        gain = best - (mean if goal == "minimise" else -mean)
        z = gain / sd
        return np.asarray(gain * ndtr(z) + sd * _density(z))
    if best <= 0:
        return np.zeros_like(mean)
    gap, reach = mean - centre, np.sqrt(best)
    low, high = (-reach - gap) / sd, (reach - gap) / sd
    inside = (best - gap**2 - sd**2) * (ndtr(high) - ndtr(low))
    slope = 2 * gap * sd * (_density(high) - _density(low))
    curve = sd**2 * (high * _density(high) - low * _density(low))
    return np.asarray(np.maximum(inside + slope + curve, 0.0))


def _density(z: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * np.square(z)) / np.sqrt(2 * np.pi))


def loss(number: Floats, goal: Goal, centre: float = 0.0) -> Floats:
    """What is minimised: the number, its negative, or its squared distance from the centre.

    Example:
        >>> loss(np.array([0.5, 2.0]), "nearest", 1.0).tolist()
        [0.25, 1.0]
    """
    if goal == "nearest":
        return np.square(number - centre)
    return number if goal == "minimise" else -number


def propose(
    points: Floats,
    numbers: Floats,
    count: int,
    *,
    goal: Goal,
    centre: float = 0.0,
    limited: Floats | None = None,
    most: float = np.inf,
    rng: np.random.Generator,
) -> Floats:
    """Return ``count`` points of the unit cube to try next.

    A batch is made by believing: each proposal is entered with the process's own mean, so that the
    next one goes elsewhere (Ginsbourger, Le Riche & Carraro 2010). Under a ceiling the expected
    improvement is multiplied by the probability of keeping it (Gardner et al. 2014). Cost: about
    0.2 s for each, of 10,000 candidates and ten local searches.

    Args:
        points: points tried so far (n × d), in the unit cube.
        numbers: what each gave (n).
        count: how many points are wanted.
        goal: what is better.
        centre: the goal of ``nearest``.
        limited: for each point, the number that has a ceiling.
        most: the ceiling.
        rng: the stream.
    """
    model = _optimiser(points, numbers, goal, centre, limited, most, rng)
    found: list[Floats] = []
    # One BLAS thread: matrices are small, and sums in another order would be other proposals.
    with warnings.catch_warnings(), threadpool_limits(1):
        # Length scales at the end of their range, and early stops, are of no concern here.
        warnings.simplefilter("ignore")
        while len(found) < count:
            chosen = model.suggest()
            point = np.clip([chosen[name] for name in model.space.keys], 0.0, 1.0)
            found.append(point)
            if len(found) < count and point not in model.space:
                mean = float(np.asarray(model.predict(chosen, fit_gp=False)))
                limit = None if limited is None else float(model.constraint.approx(point[None])[0])
                model.register(point, mean, limit)
    return np.stack(found)


def _optimiser(
    points: Floats,
    numbers: Floats,
    goal: Goal,
    centre: float,
    limited: Floats | None,
    most: float,
    rng: np.random.Generator,
) -> Any:
    """The library's optimiser, told all that is known."""
    from bayes_opt import BayesianOptimization
    from scipy.optimize import NonlinearConstraint
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    size = points.shape[1]
    ceiling = None if limited is None else NonlinearConstraint(_nothing, -np.inf, most)
    model = BayesianOptimization(
        None,
        {_NAMES.format(place): (0.0, 1.0) for place in range(size)},
        acquisition_function=_acquisition(goal, centre),
        constraint=ceiling,
        random_state=int(rng.integers(2**31)),
        verbose=0,
        allow_duplicate_points=True,
    )
    # A length scale for every parameter, and noise: a trial is a mean over few replicates.
    kernel = ConstantKernel(1.0, (0.05, 20.0)) * Matern(np.full(size, 0.5), (0.05, 5.0), nu=2.5)
    noisy = kernel + WhiteKernel(1e-2, (1e-6, 1.0))
    model.set_gp_params(kernel=noisy, n_restarts_optimizer=2)
    # Points that were tried twice count once, with their mean: the library prints a line for each
    # that it meets again, whatever it is asked to say.
    distinct, place = np.unique(points, axis=0, return_inverse=True)
    many = np.bincount(place)
    means = np.bincount(place, weights=numbers) / many
    limits = None if limited is None else np.bincount(place, weights=limited) / many
    for row, point in enumerate(distinct):
        model.register(point, float(means[row]), None if limits is None else float(limits[row]))
    return model


def _nothing(*_: Any, **__: Any) -> Any:
    """Stands where the library wants a function: values are registered, never computed here."""
    return 0.0


def _acquisition(goal: Goal, centre: float) -> Any:
    from bayes_opt.acquisition import AcquisitionFunction

    class Improvement(AcquisitionFunction):
        """Expected improvement over the best that the process believes of a tried point."""

        best = np.inf

        def suggest(self, gp: Any, target_space: Any, *args: Any, **settings: Any) -> Any:
            self._fit_gp(gp, target_space)
            believed = loss(gp.predict(target_space.params), goal, centre)
            kept = target_space.mask
            # Where nothing keeps the ceiling yet, any point that keeps it is an improvement.
            self.best = float(believed[kept].min() if kept.any() else believed.max())
            settings["fit_gp"] = False
            return super().suggest(gp, target_space, *args, **settings)

        def base_acq(self, mean: Floats, std: Floats) -> Floats:
            return expected_improvement(mean, std, self.best, goal, centre)

    return Improvement()
