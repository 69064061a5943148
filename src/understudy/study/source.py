"""How the release was made, as protections and measures may ask it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.posterior import Shared
from understudy.seeds import stream
from understudy.synth.base import crossed
from understudy.synth.panel import FittedPanel
from understudy.synth.refit import left_out_by_folds, swap_by_refit
from understudy.synth.sequence import FittedSequence, Visit, fit_visit
from understudy.tables.encode import Block

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
FOLDS = 10


@dataclass(frozen=True, eq=False)
class Maker:
    """A fitted synthesizer behind the `Source` protocol.

    Attributes:
        fitted: the sequence of visits; where people have several rows, its parts.
        train: what it was fitted to; without it, nothing can be asked about many records.
        drawn: the replicates before protections.
        seed: the seed that it was fitted with.
    """

    fitted: FittedSequence | FittedPanel
    train: Block | None = None
    drawn: tuple[Block, ...] = ()
    seed: int = 0

    @property
    def combining(self) -> str:
        """Which rule combines estimates from replicates."""
        return self.fitted.settings.combining

    @property
    def ruled(self) -> bool:
        """Rules restrict the draws, which `log_prob` leaves out."""
        return bool(self.fitted.settings.rules)

    def sample(self, rows: int, *, seed: int) -> Block:
        """Draw rows that are not part of any replicate (rules hold for them, too)."""
        return self.fitted.sample(rows, seed=seed, replicate=0).block

    def near(self, record: Block, rows: int, columns: Sequence[str], *, seed: int) -> Block:
        """Draw these columns (and those drawn together with them) for rows like one record."""
        return self.fitted.near(record, rows, columns, seed=seed)

    def complete(
        self, rows: Block, fixed: Sequence[str], *, seed: int
    ) -> tuple[Block, NDArray[np.bool_]]:
        """Draw the columns that are not fixed, given those that are; and which rows obey rules."""
        return self.fitted.complete(rows, fixed, seed=seed)

    def log_prob(self, replicate: Block) -> float:
        """Log probability of a replicate before protections."""
        return self.fitted.log_prob(replicate)

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Any:
        """Change of `log_prob` when a row of train becomes each candidate."""
        return self.fitted.swap(record, candidates, replicates)

    def effort(self, columns: Sequence[str], *, slow: bool) -> float:
        """Rows of train × columns read, for every visit that would be refitted."""
        return sum(
            visit.model.dear * self._rows.rows * len(fitted.reads)
            for visit, fitted in self._sequence.touched(columns)
            if not visit.model.fixed and not (slow and fitted.fast)
        )

    def swaps(self, records: Ints, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Changes of `log_prob` when records take the candidates' columns."""
        return self._sequence.swaps(self._rows.take(records), records, candidates, replicates)

    def moves(self, records: Ints, candidates: Block, replicates: Sequence[Block]) -> Shared | None:
        """The same where they come apart: one visit touched, and it says so."""
        touched = self._sequence.touched(candidates.names)
        if len(touched) != 1:
            return None
        rows = self._rows.take(records)
        return touched[0][1].moves(rows, records, candidates, replicates)

    def left_out(self, records: Ints, candidates: Block) -> Floats:
        """What the models say of the candidates' columns given all others, without the record.

        Closed forms where there are some; else fits to train without the record's fold. The density
        of a whole row is the product of its visits'. Where visits after these columns predict from
        them and have no closed form, the models that draw the columns are fitted with all other
        columns as predictors instead: a product of many small shares would know less than they do.
        """
        rows, result = self._rows.take(records), np.zeros((len(records), candidates.rows))
        touched = self._sequence.touched(candidates.names)
        known = [fitted.left_out(rows, records, candidates) for _, fitted in touched]
        after = [not set(visit.columns) & set(candidates.names) for visit, _ in touched]
        turned = any(after) and any(found is None for found in known)
        before: list[str] = []
        for (visit, _), found, later in zip(touched, known, after, strict=True):
            if turned and later:
                continue
            if found is None:
                chosen = self._informed(visit, candidates.names, before) if turned else visit
                found = self._by_folds(chosen, rows, records, candidates)  # noqa: PLW2901
            before += visit.columns
            result += found
        return result

    def _informed(self, visit: Visit, hidden: Sequence[str], before: Sequence[str]) -> Visit:
        """A visit that predicts from all columns but the hidden ones that come later."""
        aside = (*visit.columns, visit.strata)
        given = [n for n in self._rows.names if n not in aside and (n not in hidden or n in before)]
        return replace(visit, given=tuple(given)) if visit.given else visit

    def _by_folds(self, visit: Visit, rows: Block, records: Ints, candidates: Block) -> Floats:
        fold = stream(self.seed, "folds").permutation(self._rows.rows) % FOLDS
        fit = partial(fit_visit, seed=self.seed, visit=visit)
        return left_out_by_folds(fit, self._rows, rows, records, candidates, fold)

    def left_shared(self, records: Ints, candidates: Block) -> Shared | None:
        """The same where it comes apart."""
        touched = self._sequence.touched(candidates.names)
        if len(touched) != 1:
            return None
        return touched[0][1].left_shared(self._rows.take(records), records, candidates)

    def refitted(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """`swaps` of one record, by fitting anew what `swaps` has closed forms for."""
        columns = candidates.names
        candidates = crossed(self._rows.take(np.array([record])), candidates)
        result = np.zeros((len(replicates), candidates.rows))
        with np.errstate(invalid="ignore"):  # −∞ + ∞: impossible before and after
            for visit, fitted in self._sequence.touched(columns):
                if not fitted.fast:
                    result += fitted.swap(record, candidates, replicates)
                    continue
                fit = partial(fit_visit, seed=self.seed, visit=visit)
                result += swap_by_refit(
                    fit, self._rows, record, candidates, replicates, base=fitted
                )
        return result

    @property
    def _sequence(self) -> FittedSequence:
        assert isinstance(self.fitted, FittedSequence), "a row of a person is no record by itself"
        return self.fitted

    @property
    def _rows(self) -> Block:
        assert self.train is not None, "the maker was not given train"
        return self.train
