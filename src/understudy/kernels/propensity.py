"""Can a model tell the synthetic rows from the original ones? pMSE, its nulls, and SPECKS.

Two tables are stacked, N rows of which the share c is synthetic, and a discriminator gives every
row its probability p̂ of being synthetic. pMSE = Σ(p̂ − c)²/N (Snoke et al. 2018) means nothing by
itself: a flexible discriminator finds differences between any two samples. The *ratio* divides
it by what two samples of one process would give. Near 1 is what to hope for; well above 1 the
tables differ; well *below* 1 they are more alike than chance allows, as a copy is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit
from sklearn.tree import DecisionTreeClassifier

from understudy.errors import InputError
from understudy.kernels.binary_logit import fit_binary_logit
from understudy.kernels.people import Ints, Whose, pooled, score_effects
from understudy.kernels.propensity_design import build_design, merge_rare, pool

Float = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Map = Callable[..., Iterable[Any]]
Null = Literal["two draws", "fitted"]


@dataclass(frozen=True)
class Propensity:
    """A pMSE with its null, in one place.

    ``low`` and ``high`` hold the ratio with the asked confidence if the pMSE is a scaled
    chi-square with ν = 2(expected/sd)² degrees of freedom, noncentral by as much as the ratio
    exceeds 1; for a permutation null, its own sampling error is included. ``terms`` is the rank
    of a design, or the number of leaves or cells. ``effect`` is how many times larger the null is
    because rows come in persons. Where nothing varies, ratios are NaN.
    """

    pmse: float
    expected: float
    sd: float
    ratio: float
    specks: float
    low: float
    high: float
    null: str
    note: str
    terms: int
    effect: float = 1.0

    @property
    def z(self) -> float:
        """(pmse − expected)/sd; far below 0 means that synthetic rows are copies."""
        return (self.pmse - self.expected) / self.sd if self.sd > 0 else nan


def logit(
    numbers_t: Float,
    codes_t: Codes,
    numbers_z: Float,
    codes_z: Codes,
    levels: Sequence[int],
    *,
    order: int = 1,
    most: int | None = None,
    null: Null = "two draws",
    level: float = 0.95,
    chord: bool = False,
    people: Whose = (None, None),
) -> Propensity:
    """Score by an unpenalised logistic regression with a null in closed form.

    Null "two draws" of one process: E = (k−1)·c(1−c)/N. Null "fitted", with the original held
    fixed and the synthetic rows from a model that reproduces the propensity model's terms:
    E = (k−1)·c(1−c)²/N. SD = E·√(2/(k−1)), and k is the rank of the design with its intercept.
    Levels with fewer than 20 pooled rows are merged (see ``build_design``). With ``chord`` the fit
    takes half the time and ratios are right to 1e-5 (see ``fit_binary_logit``). Where ``people``
    says whose row each is, the null is that of two draws of people: E times the mean design effect,
    with fewer degrees of freedom (see ``score_effects``).

    Source: Snoke et al. (2018), appendix; Bale & Quick, equations (1) to (3) and (18), whose
    factor 2 is 1/(1−c) at c = ½.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> no = np.zeros((500, 0), np.int32)
        >>> far = logit(rng.normal(size=(500, 2)), no, rng.normal(1, 1, (500, 2)), no, [])
        >>> far.terms, far.null, far.ratio > 50
        (3, 'two draws: (k-1)c(1-c)/N', True)
    """
    numbers, codes, label = pool(numbers_t, codes_t, numbers_z, codes_z)
    design = build_design(numbers, codes, levels, order=order, most=most)
    fit = fit_binary_logit(design.columns, label, chord=chord)
    c, free = float(label.mean()), fit.rank - 1
    power, formula = (1, "(k-1)c(1-c)/N") if null == "two draws" else (2, "(k-1)c(1-c)^2/N")
    scale = c * (1 - c) ** power / len(label)
    effect, freedom, which = 1.0, float(free), f"{null}: {formula}"
    if free and any(person is not None for person in people):
        person, _ = pooled(people, (len(numbers_t), len(numbers_z)))
        effect, freedom = score_effects(design.columns, person)
        which = f"{null} of people: {formula}, times {effect:.3g} since rows come in persons"
    crowded = f"only {len(label)} rows for {fit.rank} terms" if len(label) < 10 * fit.rank else ""
    return _judge(
        pmse=float(np.mean((fit.probability - c) ** 2)),
        expected=free * effect * scale,
        sd=free * effect * scale * sqrt(2 / freedom) if effect != 1 else sqrt(2 * free) * scale,
        specks=specks(fit.probability[label == 0], fit.probability[label == 1]),
        null=which,
        note="; ".join(filter(None, (design.note, fit.note, crowded))),
        terms=fit.rank,
        level=level,
        effect=effect,
    )


def cart(
    numbers_t: Float,
    codes_t: Codes,
    numbers_z: Float,
    codes_z: Codes,
    levels: Sequence[int],
    *,
    min_leaf: int = 20,
    max_depth: int | None = None,
    permutations: int = 20,
    level: float = 0.95,
    rng: np.random.Generator,
    map_: Map = map,
    people: Whose = (None, None),
) -> Propensity:
    """Score by an unpruned classification tree against trees on permuted labels.

    The null is the plain mean of the permutations: right for two draws of one process. The tree
    sees numbers as pooled dense ranks (every distinct value counts, however close) and
    nominal levels in the order of their synthetic share, an order that each permutation finds
    anew from its own labels. Missing numbers rank lowest; missing is a level of its own. Levels
    with fewer pooled rows than a leaf are merged: ordered one by one they would be the answer.
    Where ``people`` says whose row each is, labels are permuted among people.

    Source: Snoke et al. (2018) section 3; Bowen, Liu & Su (2021) for SPECKS.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> no = np.zeros((500, 0), np.int32)
        >>> x = rng.normal(size=(500, 2))
        >>> copy = cart(x, no, x, no, [], permutations=5, rng=rng)
        >>> copy.pmse, copy.z < -5
        (0.0, True)
    """
    if permutations < 2:
        raise InputError(f"permutations: got {permutations}, expected at least 2")
    numbers, codes, label = pool(numbers_t, codes_t, numbers_z, codes_z)
    merged = [merge_rare(codes[:, j], levels[j], rare=min_leaf) for j in range(codes.shape[1])]
    person = None
    if any(whose is not None for whose in people):
        person, _ = pooled(people, (len(numbers_t), len(numbers_z)))
    stacked = _Stacked(_dense_ranks(numbers), merged, label, min_leaf, max_depth, person=person)
    jobs = [(stream, i > 0) for i, stream in enumerate(rng.spawn(permutations + 1))]
    original, *permuted = map_(stacked.grow, jobs)
    null = np.array([_cell_scores(*cells)[0] for cells in permuted])
    pmse, ks = _cell_scores(*original)
    return _judge(
        pmse=pmse,
        expected=float(null.mean()),
        sd=float(null.std(ddof=1)),
        specks=ks,
        null=f"permutation mean of {permutations}" + (" of people" if person is not None else ""),
        note=f"leaves of at least {min_leaf}; null known to {_relative_error(null):.1%}",
        terms=len(original[0]),
        draws=permutations,
        level=level,
    )


def cart_pmse(
    numbers_t: Float,
    codes_t: Codes,
    numbers_z: Float,
    codes_z: Codes,
    levels: Sequence[int],
    *,
    min_leaf: int = 20,
    min_split: int = 2,
    rng: np.random.Generator,
) -> float:
    """Return the pMSE of the tree of `cart` alone, without a null.

    For a null made of pairs of replicates of equal size: their mean pMSE is what two draws of one
    process give, factor 1 (Bale & Quick, section 4, with a tree in place of the logit). Fewer rows
    than ``min_split`` are not split. Cost: one tree, N log N for every column.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> x, no = rng.normal(size=(500, 2)), np.zeros((500, 0), np.int32)
        >>> cart_pmse(x, no, x, no, [], rng=rng)
        0.0
    """
    numbers, codes, label = pool(numbers_t, codes_t, numbers_z, codes_z)
    merged = [merge_rare(codes[:, j], levels[j], rare=min_leaf) for j in range(codes.shape[1])]
    stacked = _Stacked(_dense_ranks(numbers), merged, label, min_leaf, None, min_split)
    o, s = stacked.grow((rng, False))
    share = s.sum() / (o.sum() + s.sum())
    return float(np.sum((s / (o + s) - share) ** 2 * (o + s)) / (o.sum() + s.sum()))


def saturated(counts_o: npt.ArrayLike, counts_s: npt.ArrayLike) -> Propensity:
    """Score two tables of counts over the same cells, as a model with one term per cell does.

    VW = Σ (s − o·c/(1−c))² / ((s+o)·c) and pMSE = VW·c(1−c)²/N, with no model to fit. Cells that
    are empty in both tables do not count. The null is that of two draws.

    Source: Raab, Nowok & Dibben (2021), the Voas-Williamson statistic.

    Example:
        >>> saturated([10, 20, 30], [10, 20, 30]).pmse
        0.0
    """
    o, s = (np.asarray(x, np.float64).ravel() for x in (counts_o, counts_s))
    used = (o + s) > 0
    o, s = o[used], s[used]
    if o.sum() == 0 or s.sum() == 0:
        raise InputError("pMSE needs rows in both tables")
    n, free = float((o + s).sum()), len(o) - 1
    c = float(s.sum() / n)
    vw = float(np.sum((s - o * c / (1 - c)) ** 2 / ((s + o) * c)))
    return _judge(
        pmse=vw * c * (1 - c) ** 2 / n,
        expected=free * c * (1 - c) / n,
        sd=sqrt(2 * free) * c * (1 - c) / n,
        specks=_cell_scores(o, s)[1],
        null="two draws: (k-1)c(1-c)/N",
        note="",
        terms=len(o),
    )


def specks(scores_t: Float, scores_z: Float) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples of propensities.

    Scores are compared at 12 decimals: equal rows can differ in the last bits of a matrix product.

    Example:
        >>> specks(np.array([0.1, 0.2]), np.array([0.2, 0.3]))
        0.5
    """
    scores = np.concatenate([scores_t, scores_z])
    synthetic = np.repeat([0.0, 1.0], [len(scores_t), len(scores_z)])
    return _distance(scores, 1 - synthetic, synthetic)


def _dense_ranks(numbers: Float) -> npt.NDArray[np.float32]:
    """Rank each column, ties equal, missing lowest; float32 holds ranks exactly up to 2^24."""
    ranks = np.empty(numbers.shape, np.float32)
    for j in range(numbers.shape[1]):
        lowest = np.where(np.isnan(numbers[:, j]), -inf, numbers[:, j])
        ranks[:, j] = np.unique(lowest, return_inverse=True)[1]
    return ranks


@dataclass(frozen=True)
class _Stacked:
    """Two stacked tables as a tree needs them; a class, so that processes can map ``grow``."""

    ranks: npt.NDArray[np.float32]
    codes: list[Codes]
    label: Float
    min_leaf: int
    max_depth: int | None
    min_split: int = 2
    person: Ints | None = None

    def permuted(self, stream: np.random.Generator) -> Float:
        """Labels dealt anew: to rows, or to people with all their rows."""
        if self.person is None:
            return stream.permutation(self.label)
        side = np.zeros(int(self.person.max()) + 1)
        side[self.person] = self.label
        return np.asarray(stream.permutation(side)[self.person])

    def grow(self, job: tuple[np.random.Generator, bool]) -> tuple[Float, Float]:
        """Grow one tree, on permuted labels if the job says so; (original, synthetic) by leaf."""
        stream, permute = job
        label = self.permuted(stream) if permute else self.label
        ordered = (_by_share(column, label) for column in self.codes)
        model = DecisionTreeClassifier(
            min_samples_leaf=self.min_leaf,
            min_samples_split=self.min_split,
            max_depth=self.max_depth,
            random_state=int(stream.integers(2**31)),  # decides between equally good splits
        )
        tree = model.fit(np.column_stack([self.ranks, *ordered]), label).tree_
        leaf = tree.children_left < 0
        size = tree.n_node_samples[leaf].astype(np.float64)
        synthetic = np.round(tree.value[leaf, 0, 1] * size)
        return size - synthetic, synthetic


def _by_share(codes: Codes, label: Float) -> npt.NDArray[np.float32]:
    """Replace each level by its place when levels are ordered by their share of synthetic rows."""
    size = np.bincount(codes)
    share = np.bincount(codes, weights=label) / np.maximum(size, 1)
    return np.unique(share, return_inverse=True)[1].astype(np.float32)[codes]


def _cell_scores(o: Float, s: Float) -> tuple[float, float]:
    """Return pMSE and SPECKS when all rows of a cell share their propensity s/(o+s)."""
    size = o + s
    score = s / size
    pmse = np.sum(size * (score - s.sum() / size.sum()) ** 2) / size.sum()
    return float(pmse), _distance(score, o, s)


def _distance(scores: Float, o: Float, s: Float) -> float:
    """Largest gap between the weighted distribution functions of equal scores."""
    place = np.unique(np.round(scores, 12), return_inverse=True)[1]
    original = np.bincount(place, weights=o) / o.sum()
    synthetic = np.bincount(place, weights=s) / s.sum()
    return float(np.max(np.abs(np.cumsum(original - synthetic))))


def _relative_error(null: Float) -> float:
    return float(null.std(ddof=1) / sqrt(len(null)) / null.mean()) if null.mean() > 0 else 0.0


def _judge(
    *,
    pmse: float,
    expected: float,
    sd: float,
    specks: float,
    null: str,
    note: str,
    terms: int,
    draws: int = 0,
    level: float = 0.95,
    effect: float = 1.0,
) -> Propensity:
    """Divide by the null and put an interval around the ratio (see ``Propensity``)."""
    if not (expected > 0 and sd > 0):
        note = "; ".join(filter(None, (note, "no column varies: no ratio")))
        return Propensity(pmse, expected, sd, nan, specks, nan, nan, null, note, terms)
    ratio = pmse / expected
    freedom = 2 * (expected / sd) ** 2
    variance = (2 + 4 * max(0.0, ratio - 1)) / freedom
    quantile = float(ndtri(0.5 + level / 2))
    if draws:
        variance += (ratio * sd / expected) ** 2 / draws
        quantile = float(stdtrit(draws - 1, 0.5 + level / 2))
    half = quantile * sqrt(variance)
    low, high = max(0.0, ratio - half), ratio + half
    return Propensity(pmse, expected, sd, ratio, specks, low, high, null, note, terms, effect)
