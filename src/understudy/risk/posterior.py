"""Posterior disclosure risk: how sure can somebody be who knows everybody else's record?

Reiter, Wang & Zhang: the intruder knows D_-i (all records but one, and of that one all columns but
the sensitive ones) and how the release was made. What the release adds is the difference between
what they guess after seeing it (R) and before (PR).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, Source
from understudy.kernels.resample import z_of
from understudy.results import Verdict
from understudy.risk import candidates as sets
from understudy.risk.candidates import Candidates
from understudy.risk.posterior_checks import RIVALS, Agreement, agreement
from understudy.risk.posterior_records import Attack, Found, apart, attack
from understudy.risk.posterior_summary import summary
from understudy.settings import require_range
from understudy.tables.encode import Block
from understudy.tables.schema import Role, Schema

Ints = NDArray[np.int64]
PRIORS = ("model", "frequencies", "uniform")
_CORRECT, _PRIOR, _RATIO = "posterior.correct", "posterior.prior_correct", "posterior.max_ratio"
_WORK = 2e7  # cells of train that refits may go through by default: some ten to thirty seconds
_FEWEST = 3  # records compared with refits, where that is affordable at all
_CHECKS = 25  # records compared with refits, at most
_PAIRS = 5_000_000  # of a record and a candidate; a minute or so
_LEAST = 20  # fewer records say nothing


@dataclass(frozen=True)
class Posterior(Measure):
    """Posterior of every record's sensitive values among candidates, given the release and D_-i.

    p(Y_i = y | Z, X, D_-i, S) ∝ p(Z | D_-i, Y_i = y, S) · p(Y_i = y | D_-i)

    - ``posterior.correct``: R, the share of records whose own values are the most probable
      candidate; its reference is PR, the same by the prior alone.
    - ``posterior.prior_correct``: PR.
    - ``posterior.max_ratio``: the largest p(truth) / prior(truth).

    Attributes:
        prior: ``model``: the synthesis model fitted to D_-i; ``frequencies`` in D_-i; ``uniform``.
        open: share of the prior spread evenly over all candidates: nothing is ruled out.
        candidates: ``product``, ``observed``, ``neighbours`` or the first that is not too large.
        max_candidates: most candidates of a record.
        within: only values that occur where a record has its own level of this column.
        c: how much a probability may be multiplied.
        records: attack so many records at random (default: all, or what refits allow).
        checks: compare so many with exact refits (default: what refits allow, at most 25).
        enough: among neighbours, stop when so many are likelier than the truth.
    """

    names: ClassVar[tuple[str, ...]] = (_CORRECT, _PRIOR, _RATIO)
    needs_holdout: ClassVar[bool] = False
    prior: str = "model"
    open: float = 0.01
    candidates: str = "auto"
    max_candidates: int = 1000
    within: str | None = None
    c: float = 10.0
    records: int | None = None
    checks: int | None = None
    enough: int = 3

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        for name, value, known in (
            ("prior", self.prior, PRIORS),
            ("candidates", self.candidates, sets.KINDS),
        ):
            if value not in known:
                raise PlanError(f"{where}.{name}", value, f"one of {', '.join(known)}")
        require_range(f"{where}.open", self.open, 0.0, 1.0)
        require_range(f"{where}.max_candidates", self.max_candidates, 2, whole=True)
        require_range(f"{where}.c", self.c, 1.0)
        require_range(f"{where}.enough", self.enough, 1, whole=True)
        if self.records is not None:
            require_range(f"{where}.records", self.records, 1, whole=True)
        if self.checks is not None:
            require_range(f"{where}.checks", self.checks, 0, whole=True)

    def fits(self, where: str, schema: Schema) -> None:
        """Raise `PlanError` where ``within`` names a column that is absent or not kept."""
        if self.within is None:
            return
        if self.within not in schema.names:
            raise PlanError(f"{where}.within", self.within, "a column of the table")
        if schema[self.within].role is Role.SENSITIVE:
            raise PlanError(f"{where}.within", self.within, "a column that is not sensitive")

    def suits(self, where: str, train: Block) -> None:
        """Raise `PlanError` where the chosen candidates are too many."""
        columns = self._columns(train)
        if columns and train.rows and self.candidates != "auto":
            self._candidates(train, columns, where)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> PosteriorJudge:
        """Find the candidates, and the records that can be afforded."""
        train, columns = evidence.train, self._columns(evidence.train)
        columns = tuple(name for name in columns if name in evidence.drawn)
        judge = PosteriorJudge(self, evidence, columns, seed=int(rng.integers(2**62)))
        if judge.why_not or evidence.source is None:
            return judge
        found = self._candidates(train, columns, "measure.posterior")
        return replace(judge, candidates=found)

    def _columns(self, train: Block) -> tuple[str, ...]:
        return train.encoding.schema.with_role(Role.SENSITIVE)

    def _candidates(self, train: Block, columns: tuple[str, ...], where: str) -> Candidates:
        return sets.find(
            train,
            columns,
            kind=self.candidates,
            most=self.max_candidates,
            within=self.within,
            where=where,
        )


@dataclass(frozen=True, eq=False)
class PosteriorJudge(Judge):
    """The candidates, and the records under attack.

    A release is looked at as it was drawn: what protections did to it afterwards is left out.
    """

    settings: Posterior
    evidence: Evidence
    columns: tuple[str, ...]
    seed: int
    candidates: Candidates | None = None
    known: dict[tuple[int, ...], tuple[Found, Agreement]] = field(default_factory=dict)

    @cached_property
    def why_not(self) -> str:
        """Why nothing can be said."""
        source, train = self.evidence.source, self.evidence.train
        if not self.columns:
            return "no synthesised column has the role sensitive"
        if train.person is not None:
            return (
                "people have several rows: one of them never comes without the others, and what "
                "the release would be with another single row is not defined"
            )
        if source is None:
            return "how the tables were made is not known: they come from elsewhere"
        if len(source.drawn) != len(self.evidence.release):
            return "the tables as they were drawn are not at hand"
        if all(len(np.unique(train.codes[name])) < 2 for name in self.columns):
            return "everybody in train has the same sensitive values: there is nothing to learn"
        return ""

    @property
    def target(self) -> str:
        """The columns that are guessed jointly."""
        return " + ".join(self.columns)

    @property
    def source(self) -> Source:
        """How the release was made."""
        assert self.evidence.source is not None
        return self.evidence.source

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Three numbers for one replicate."""
        places = [i for i, block in enumerate(self.evidence.release) if block is release]
        return self._judged(tuple(places[:1]), map_)

    def pooled(self, release: Any, *, rng: np.random.Generator, map_: Map = map) -> list[Estimate]:
        """Three numbers for all replicates together: an intruder has them all."""
        return self._judged(tuple(range(len(self.evidence.release))), map_)

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Known without computing: what differs between a copy of train and D_-i is the record.

        Columns that are shuffled one by one still add up to train's, so they give it away, too.
        Fresh rows do not depend on it: the posterior is the prior.
        """
        if self.why_not or not self._affordable().size:
            return []
        found, _ = self._found((0,), map_)
        before = found.prior.correct
        if case == "fresh":
            return self._numbers(before, before, np.ones(len(before)), 1.0, "")
        with np.errstate(divide="ignore"):
            ratio = np.where(found.prior.truth > 0, 1 / found.prior.truth, 1.0)
        return self._numbers(np.ones(len(before)), before, ratio, float(ratio.max()), "")

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Table 3's two-way table, R by number of replicates, and how ratios are spread."""
        if self.why_not or not self._affordable().size or self.candidates is None:
            return {}
        whole = tuple(range(len(self.evidence.release)))
        found, agreed = self._found(whole, map_)
        return {"posterior": summary(self, found, agreed)}

    def records(self, *, map_: Map = map) -> dict[str, NDArray[np.float64]]:
        """Probability of each record's own values before and after, and their ratio."""
        done = self.attacked(map_)
        if done is None:
            return {}
        found, rows = done[0], self.evidence.train.rows
        columns = {
            "posterior_prior": found.prior.truth,
            "posterior_truth": found.after.truth,
            "posterior_ratio": found.ratio,
        }
        result = {name: np.full(rows, np.nan) for name in columns}
        for name, value in columns.items():
            result[name][found.records] = value
        return result

    def attacked(self, map_: Map = map) -> tuple[Found, Agreement] | None:
        """What the attack with all replicates concludes about each record, if it could be made."""
        if self.why_not or not self._affordable().size:
            return None
        return self._found(tuple(range(len(self.evidence.release))), map_)

    def _affordable(self) -> Ints:
        """Rows of train under attack: all, or a random sample of as many as is affordable."""
        rows, most = self.evidence.train.rows, self.settings.records
        if most is None:
            assert self.candidates is not None
            work = self.source.effort(self.columns, slow=True) * self.candidates.most
            most = int(_WORK / work) if work else self._countable()
            most = 0 if most < min(_LEAST, rows) else most
        if most >= rows:
            return np.arange(rows)
        rng = np.random.default_rng([self.seed, 1])
        return np.sort(rng.choice(rows, most, replace=False))

    def _countable(self) -> int:
        """How many records closed forms may speak about: all, unless pairs are too many to list."""
        rows = self.evidence.train.rows
        assert self.candidates is not None
        who = Attack(self.source, self.source.drawn, self.settings.prior, self.settings.open)
        if rows * self.candidates.most <= _PAIRS or apart(self.candidates, who):
            return rows
        return max(_PAIRS // self.candidates.most, _LEAST)

    def _found(self, replicates: tuple[int, ...], map_: Map) -> tuple[Found, Agreement]:
        if replicates not in self.known:
            assert self.candidates is not None
            chosen = tuple(self.source.drawn[index] for index in replicates)
            settings = self.settings
            who = Attack(self.source, chosen, settings.prior, settings.open, settings.enough)
            train, records = self.evidence.train, self._affordable()
            found = attack(train, self.candidates, who, records, map_=map_)
            whole = len(replicates) == len(self.evidence.release)
            self.known[replicates] = found, self._agreed(who, records, whole, map_)
        return self.known[replicates]

    def _agreed(self, who: Attack, records: Ints, whole: bool, map_: Map) -> Agreement:
        """Compare with refits what closed forms said, on as many records as are affordable."""
        assert self.candidates is not None
        fast = self.source.effort(self.columns, slow=False)
        fast -= self.source.effort(self.columns, slow=True)
        if fast <= 0 or not whole:
            return Agreement(np.zeros(0), asked=False)
        most = self.settings.checks
        if most is None:
            most = min(_CHECKS, int(_WORK / (RIVALS * fast)))
            most = max(most, _FEWEST) if most else 0
        rng = np.random.default_rng([self.seed, 2])
        return agreement(self.candidates, who, records, most, rng, map_=map_)

    def _judged(self, replicates: tuple[int, ...], map_: Map) -> list[Estimate]:
        why = self.why_not
        if not why and not self._affordable().size:
            why = (
                "a model that draws or uses these columns answers by refitting only, which takes "
                "too long for as few as 20 records: set measure.posterior.records"
            )
        if why:
            return [Estimate.absent(name, why) for name in Posterior.names]
        whole = tuple(range(len(self.evidence.release)))
        found, _ = self._found(replicates or (0,), map_)
        _, agreed = self._found(whole, map_)
        assert self.candidates is not None
        note = self._note(found, agreed)
        ratio = np.nan_to_num(found.ratio, nan=0.0)
        with np.errstate(divide="ignore"):
            most = np.where(found.prior.truth > 0, 1 / found.prior.truth, 1.0)
        numbers = self._numbers(
            found.after.correct, found.prior.correct, ratio, float(most.max()), note
        )
        if not agreed.decides:
            return [_open(estimate) for estimate in numbers]
        return numbers

    def _numbers(
        self, after: Any, before: Any, ratio: Any, most: float, note: str
    ) -> list[Estimate]:
        n, evidence = len(after), self.evidence
        z = z_of(evidence.level)
        value, base = float(after.mean()), float(before.mean())
        gap = paired(after - before, z)
        centre = (value + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(value * (1 - value) / n + z * z / (4 * n * n))
        correct = Estimate(
            _CORRECT, value, float(centre - half), float(centre + half), base, Better.LOWER,
            evidence.margin(_CORRECT, 0.01), *gap, self.target, note=note,
        )  # fmt: skip
        why = "what is guessed before seeing the release: no release can change it"
        prior = Estimate.absent(_PRIOR, why, target=self.target)
        prior = replace(prior, value=base, low=base, high=base, reference=base)
        largest = float(ratio.max())
        margin = evidence.margin(_RATIO, self.settings.c - 1)
        # A sample does not show the largest ratio of all.
        high = largest if n == evidence.train.rows else max(largest, most)
        note = f"at most c = {self.settings.c:g} is asked for; {note}"
        extreme = Estimate(
            _RATIO, largest, largest, high, 1.0, Better.LOWER, margin,
            target=self.target, note=note.strip("; "),
        )  # fmt: skip
        return [correct, prior, extreme]

    def _note(self, found: Found, agreed: Agreement) -> str:
        assert self.candidates is not None
        total, settings = self.evidence.train.rows, self.settings
        n = len(found.records)
        who = f"all {total} records" if n == total else f"{n} of {total} records, a random sample"
        many = f"up to {self.candidates.most} candidates each ({self.candidates.kind})"
        m = len(found.first) if self.candidates.kind != "neighbours" else None
        parts = [f"{who}, {many}", f"prior: {settings.prior}"]
        if m is not None:
            parts.append(f"{m} replicate{'s' if m > 1 else ''}")
        if self.candidates.kind == "neighbours":
            parts.append("changes of one column: upper bounds")
        zero = int((found.prior.truth == 0).sum())
        if zero:
            parts.append(f"{zero} records whose truth the prior rules out have no ratio")
        if self.source.ruled:
            parts.append("rules restrict the draws and are left out of the likelihood")
        parts.append("the release before protections")
        parts.append(agreed.words())
        return "; ".join(parts)


def paired(difference: Any, z: float) -> tuple[float, float]:
    """Interval of a mean of paired differences, each from −1 to 1, never of no width.

    With b pairs of +1 and c of −1 among n: (b − c ± …)/(n + 2), as if half a pair more were seen of
    each kind (Agresti & Min 2005, Statistics in Medicine 24:729).

    Example:
        >>> low, high = paired(np.array([1.0] * 31 + [-1.0] * 17 + [0.0] * 774), 1.96)
        >>> round(float(low), 4), round(float(high), 4)
        (0.0004, 0.0336)
    """
    n = len(difference) + 2
    mean = float(difference.sum()) / n
    square = float((difference**2).sum()) + 1.0
    half = z * np.sqrt(max(square - n * mean**2, 0.0)) / n
    return max(mean - half, -1.0), min(mean + half, 1.0)


def _open(estimate: Estimate) -> Estimate:
    """An estimate that decides nothing: what computed it disagrees with what it stands for."""
    if estimate.verdict() is Verdict.NOT_APPLICABLE:
        return estimate
    low, high = estimate.gap()
    far = 1.1 * max(estimate.margin, abs(low), abs(high), 1.0)
    return replace(estimate, gap_low=min(low, 0.0), gap_high=max(high, far))
